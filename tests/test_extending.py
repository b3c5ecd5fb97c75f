"""docs/extending.md from its first block to its last: a package with a question of its own, in a clean environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "extending.md"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.M | re.S)
BROKEN = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "sensecheck-broken"
version = "0.1"
[project.entry-points."sensecheck.instruments"]
broken = "broken"
[tool.hatch.build.targets.wheel]
only-include = ["broken.py"]
"""


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with sensecheck and pytest and nothing else."""
    folder = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    _said(folder, folder, f"pip install --quiet --disable-pip-version-check pytest '{ROOT}'")
    return folder


def _said(clean: Path, work: Path, command: str, code: int = 0) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST", "VIRTUAL_ENV"))}
    environment["PATH"] = f"{clean / 'bin'}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=work, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    words = done.stdout + done.stderr
    if code == 0 and command.startswith("pip install") and re.search(r"No matching distribution|Connection", words):
        pytest.skip("no package registry can be reached: the package of docs/extending.md cannot be installed")
    assert done.returncode == code, f"{command}\n--- gave {done.returncode}\n{words[-4000:]}"
    return words


def test_the_page_from_first_to_last(clean: Path, tmp_path: Path) -> None:
    blocks = [(m[1], m[2].strip(), m[3]) for m in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]
    files = {mark.removeprefix("file="): text for _, mark, text in blocks if mark.startswith("file=")}
    code = [line for name in ("concise.py", "test_concise.py") for line in files[name].splitlines() if line.strip()]
    assert len(code) < 100, f"a question and its test take {len(code)} lines"
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    said: dict[str, str] = {}
    for language, mark, text in blocks:
        assert mark or language == "console", f"a block in {language} is neither a file nor run"
        for line in text.splitlines() if language == "console" else []:
            command, _, expected = line.removeprefix("$ ").partition("  # exit ")
            said[command] = _said(clean, tmp_path, command, int(expected or 0))
    assert "--most N" in said["sensecheck concise --help"] and "(default: 20)" in said["sensecheck concise --help"]
    assert "concise answers" in said["sensecheck compare run-a run-b --report comparison.html"]
    assert (tmp_path / "runs" / "index.html").is_file() and (tmp_path / "comparison.html").is_file()
    assert "does the answer say it in few words? (the package sensecheck-concise)" in _said(
        clean, tmp_path, "sensecheck --help"
    )
    assert "Did you mean 'concise'" in _said(clean, tmp_path, "sensecheck concize answers_a.jsonl", 2)
    assert "error: --most" not in _said(clean, tmp_path, "sensecheck init --schema")


def test_a_broken_package_is_named_and_left_out(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(BROKEN)
    (tmp_path / "broken.py").write_text("import a_package_that_is_not_there\n")
    _said(clean, tmp_path, "pip install --quiet --disable-pip-version-check .")
    try:
        words = _said(clean, tmp_path, "sensecheck explain ece")
        assert "note: the question 'broken' of the package sensecheck-broken cannot be used" in words
        assert "lower is better" in words
        words = _said(clean, tmp_path, "sensecheck broken file.jsonl", 2)
        assert words.startswith("sensecheck: error: the question 'broken' of the package") and "Traceback" not in words
        (tmp_path / "evaluation.toml").write_text('[[evaluate]]\nquestion = "broken"\ndata = "x.jsonl"\n')
        words = _said(clean, tmp_path, "sensecheck run evaluation.toml", 2)
        assert "evaluation.toml:2" in words and "cannot be used" in words
    finally:
        _said(clean, tmp_path, "pip uninstall --quiet --yes sensecheck-broken")
