"""Every recorded call of the original's command: stdout, return code, last line of stderr."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.golden_files import THEIR_FILE

from sensecheck.compat.calibration_metric.main import main

pytestmark = pytest.mark.golden

SOURCE = Path(__file__).resolve().parents[2] / "src"


def recorded(golden: Path) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = json.loads((golden / "calibrated/readers/cli_expected.json").read_text())
    assert len(calls) == 43
    return calls


def check(call: dict[str, Any], code: int, out: str, last: str) -> None:
    where = f"{call['file']} {call['args']}"
    assert code == call["rc"], f"{where}: {last}"
    assert out == call["stdout"], where
    if code == 1:
        assert last == call["stderr_last"], where


@pytest.mark.parametrize(("theirs", "calls"), [(False, 37), (True, 6)], ids=["our files", "the original's own file"])
def test_every_recorded_call(
    readers_of: Callable[[str], Path], golden: Path, monkeypatch: pytest.MonkeyPatch, theirs: bool, calls: int
) -> None:
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    chosen = [call for call in recorded(golden) if (call["file"] == THEIR_FILE) == theirs]
    assert len(chosen) == calls
    for call in chosen:
        monkeypatch.chdir(readers_of(call["file"]))
        out, err, code, last = io.StringIO(), io.StringIO(), 0, ""
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                main(["--logit_file", call["file"], *call["args"]])
            except SystemExit as stop:
                code = int(stop.code or 0)
            except Exception as failure:
                code, last = 1, traceback.format_exception_only(failure)[-1].strip()
        check(call, code, out.getvalue(), last)


@pytest.mark.parametrize("chosen", [0, 14, 15, 20, 41, 42])
def test_a_process_ends_as_recorded(readers_of: Callable[[str], Path], golden: Path, chosen: int) -> None:
    call = recorded(golden)[chosen]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sensecheck.compat.calibration_metric.main",
            "--logit_file",
            call["file"],
            *call["args"],
        ],
        cwd=readers_of(call["file"]),
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.strip().splitlines()
    check(call, done.returncode, done.stdout, lines[-1] if lines else "")
    assert ("Traceback (most recent call last):" in done.stderr) == (call["rc"] == 1)
