"""The Slurm script of the documentation, with stand-ins for sbatch and srun that run at once what they are given."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.runs.five_questions import evaluate

from sensecheck import demo

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "slurm_shards.sh"
SBATCH = r"""
import os, subprocess, sys
given = sys.argv[1:]
if "--wrap" in given:
    sys.exit(subprocess.run(["bash", "-c", given[given.index("--wrap") + 1]]).returncode)
first, last = map(int, next(one for one in given if one.startswith("--array=")).partition("=")[2].split("-"))
at = next(i for i, one in enumerate(given) if not one.startswith("--"))
for task in range(first, last + 1):
    array = {"ID": task, "COUNT": last - first + 1, "MIN": first, "MAX": last, "STEP": 1}
    variables = {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in array.items()}
    subprocess.run(["bash", *given[at:]], env={**os.environ, **variables}, check=True, stdout=sys.stderr)
print("4711;cluster")
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_script_runs_as_it_stands(tmp_path: Path) -> None:
    programs = {
        "sbatch": f'exec "{sys.executable}" "{tmp_path}/sbatch.py" "$@"',
        "srun": 'exec "$@"',
        "sensecheck": f'exec "{sys.executable}" -m sensecheck "$@"',
    }
    (tmp_path / "sbatch.py").write_text(SBATCH)
    for name, what in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{what}\n")
        (tmp_path / name).chmod(0o755)
    shutil.copy(demo.path("sentences_a.jsonl"), tmp_path / "pairs.jsonl")
    shutil.copy(demo.path("tables.json"), tmp_path / "tables.json")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SLURM_")},
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path), "SHARDS": "2",
    }  # fmt: skip
    command = [
        "bash",
        str(SCRIPT),
        "faithful",
        "pairs.jsonl",
        "--schema",
        "tables.json",
        "--resamples",
        "60",
        "--quiet",
    ]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "shard 2 of 2 (task 2 of the Slurm array)" in done.stderr
    summary = json.loads((tmp_path / "sensecheck-run" / "run" / "summary.json").read_text(encoding="utf-8"))
    whole = evaluate("faithful", data=tmp_path / "pairs.jsonl", schema=tmp_path / "tables.json")
    assert summary["figures"] == whole.to_dict()["figures"]
