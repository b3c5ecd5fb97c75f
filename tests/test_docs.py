"""Every code block of README and docs is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# This page's blocks make a package and install it: tests/test_extending.py runs them in an environment of its own.
ELSEWHERE = ROOT / "docs" / "extending.md"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.M | re.S)
# Blocks in these languages are shown, not run: output, configuration, formulas.
SHOWN = {"text", "json", "toml", "yaml", "html", "jsonl", "csv", "bibtex", "make"}


def blocks(page: Path) -> list[tuple[str, str, str]]:
    return [(m.group(1), m.group(2).strip(), m.group(3)) for m in BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", [p for p in PAGES if p != ELSEWHERE], ids=lambda p: p.name)
def test_the_blocks_of_a_page_run_one_after_the_other(page, tmp_path):
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
    }
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    (tmp_path / "sensecheck").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sensecheck "$@"\n')
    (tmp_path / "sensecheck").chmod(0o755)
    environment["PATH"] = f"{tmp_path}{os.pathsep}{environment['PATH']}"
    work = tmp_path / "work"
    work.mkdir()
    python: list[str] = []
    for language, mark, text in blocks(page):
        if language in SHOWN:
            continue
        if mark == "skip-torch" and not _has("torch"):
            continue
        if language == "python":
            # The blocks of a page are one program: later ones use what earlier ones made.
            python.append(text)
            _run([sys.executable, "-c", "\n".join(python)], work, environment, text, 0)
        elif language == "console":
            for line in text.splitlines():
                if line.startswith("$ "):
                    command, _, said = line[2:].partition("  # exit ")
                    _run(["bash", "-c", command], work, environment, command, int(said or 0))
        else:
            raise AssertionError(f"{page.name}: a block in {language!r} is neither run nor listed as shown")


def _run(argv: list[str], work: Path, environment: dict[str, str], shown: str, expected: int) -> None:
    done = subprocess.run(argv, cwd=work, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == expected, (
        f"{shown}\n--- gave {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    )


def _has(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None


def test_readme_opens_with_the_two_commands():
    start = (ROOT / "README.md").read_text(encoding="utf-8")[:1500]
    assert "make demo" in start and "make test" in start


def test_every_figure_is_in_the_docs():
    from sensecheck.instruments import OWN

    told = "\n".join(p.read_text(encoding="utf-8") for p in PAGES)
    for name, room in OWN.items():
        for statistic in room.QUESTION.statistics({}):
            assert f"`{statistic.name}`" in told, f"the docs do not name the figure {statistic.name} of {name}"
