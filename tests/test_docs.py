"""Every code block of README and docs is run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from typing import Self

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# This page's blocks make a package and install it: tests/test_extending.py runs them in an environment of its own.
ELSEWHERE = ROOT / "docs" / "extending.md"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.M | re.S)
# Blocks in these languages are shown, not run: output, configuration, formulas.
# Commands of ours without anything that a shell does: they run in the page's own process, which has loaded all already.
PLAIN = re.compile(r"sensecheck (?:(?!- )[^|<>&;$`*?~\\#]|'[^']*')*(?<! -)")
IN_PROCESS = """
from sensecheck.cli import main as _main
try:
    _code = _main({argv!r})
except SystemExit as _end:
    _code = _end.code or 0
assert _code == {said}, f"gave {{_code}}"
"""
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
    with Program(work, environment) as program:
        for language, mark, text in blocks(page):
            if language in SHOWN:
                continue
            if mark == "skip-torch" and not _has("torch"):
                continue
            if language == "python":
                program.run(text)
            elif language == "console":
                for line in text.splitlines():
                    if line.startswith("$ "):
                        command, _, said = line[2:].partition("  # exit ")
                        if PLAIN.fullmatch(command):
                            program.run(IN_PROCESS.format(argv=shlex.split(command)[1:], said=int(said or 0)))
                        else:
                            _run(["bash", "-c", command], work, environment, command, int(said or 0))
            else:
                raise AssertionError(f"{page.name}: a block in {language!r} is neither run nor listed as shown")


class Program:
    """The Python blocks of a page are one program in one process: later ones use what earlier ones made."""

    DONE = "\x1e\n"
    LOOP = (
        "import json as _json, sys as _sys\n"
        "for _block in _sys.stdin:\n"
        "    exec(compile(_json.loads(_block), '<block>', 'exec'), globals())\n"
        "    print('\\x1e', flush=True)\n"
    )

    def __init__(self, work: Path, environment: dict[str, str]) -> None:
        self.work, self.environment = work, environment
        self.process: subprocess.Popen[str] | None = None

    def run(self, text: str) -> None:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", self.LOOP], cwd=self.work, env=self.environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        assert self.process.stdin is not None and self.process.stdout is not None
        late = threading.Timer(300, self.process.kill)
        late.start()
        said: list[str] = []
        try:
            self.process.stdin.write(json.dumps(text) + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                if line.endswith(self.DONE):
                    return
                said.append(line)
        finally:
            late.cancel()
        raise AssertionError(f"{text}\n--- gave {self.process.wait()}\n{''.join(said)[-4500:]}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if self.process is None:
            return
        if kind is not None:
            self.process.kill()
        said, _ = self.process.communicate(timeout=60)
        assert kind is not None or self.process.returncode == 0, f"at its end the program gave\n{said[-3000:]}"


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


def test_the_first_example_of_robust_shows_what_is_printed(tmp_path):
    """Figures on a page go out of date with the rules that make statements."""
    page = (ROOT / "docs" / "robust.md").read_text(encoding="utf-8")
    shown = next(text for language, _, text in blocks(ROOT / "docs" / "robust.md") if language == "console")
    assert shown in page
    program = [sys.executable, "-m", "sensecheck"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    printed = ""
    for line in shown.splitlines():
        if line.startswith("$ sensecheck "):
            command = [*program, *shlex.split(line.removeprefix("$ sensecheck "))]
            done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
            printed = done.stdout
    lines = {" ".join(line.split()) for line in printed.splitlines()}
    wanted = [" ".join(line.split()) for line in shown.splitlines() if line.startswith("  ") and line.strip() != "..."]
    assert len(wanted) > 5
    assert [line for line in wanted if line not in lines] == []
