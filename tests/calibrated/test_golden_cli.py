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
from pathlib import Path
from typing import Any

import pytest

from sensecheck.compat.calibration_metric.main import main

pytestmark = pytest.mark.golden

SOURCE = Path(__file__).resolve().parents[2] / "src"


def recorded(shared: Path) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = json.loads((shared / "golden/calibrated/readers/cli_expected.json").read_text())
    assert len(calls) == 43
    return calls


def check(call: dict[str, Any], code: int, out: str, last: str) -> None:
    where = f"{call['file']} {call['args']}"
    assert code == call["rc"], f"{where}: {last}"
    assert out == call["stdout"], where
    if code == 1:
        assert last == call["stderr_last"], where


def test_every_recorded_call(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared / "golden/calibrated/readers")
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    for call in recorded(shared):
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
def test_a_process_ends_as_recorded(shared: Path, chosen: int) -> None:
    call = recorded(shared)[chosen]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sensecheck.compat.calibration_metric.main",
            "--logit_file",
            call["file"],
            *call["args"],
        ],
        cwd=shared / "golden/calibrated/readers",
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.strip().splitlines()
    check(call, done.returncode, done.stdout, lines[-1] if lines else "")
    assert ("Traceback (most recent call last):" in done.stderr) == (call["rc"] == 1)
