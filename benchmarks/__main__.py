"""Run the benchmarks one after the other, each in a process of its own.

python -m benchmarks                   all of them
python -m benchmarks NAME [OPTION …]   one of them, with options of its own (`--help` lists them)
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from benchmarks.golden import SHARED

# What each of them needs besides sensecheck and its peers, which are left out where they are not installed.
BENCHMARKS = {
    "resampling": "", "interval_cost": "", "calibration": "", "calibration_figures": "", "adaptive_binning": "",
    "read_logits": "", "scale": "", "large_runs": "", "spreading": "distributed",
    "diverse_bench": "golden", "faithful_bench": "golden", "correct_bench": "",
    "recognition": "", "endpoint_throughput": "",
    "nli_throughput": "transformers", "statements": "golden",
}  # fmt: skip
# They take long or a GPU, and are run by name.
BY_NAME = ("agreement", "collect_logits", "corrected_rates", "interval_coverage", "proving", "verdicts")


def main(argv: list[str]) -> int:
    name, *options = argv or [""]
    if name and name not in (*BENCHMARKS, *BY_NAME):
        print(__doc__)
        print(f"Names: {', '.join(BENCHMARKS)}; by name alone: {', '.join(BY_NAME)}")
        return 0 if name in ("-h", "--help") else 2
    if name:
        return _run(name, options)
    failed = []
    for each in BENCHMARKS:
        print(f"\n== {each}", flush=True)
        lacking = _lacking(BENCHMARKS[each])
        if lacking:
            print(f"left out: {lacking}")
        elif _run(each, []):
            failed.append(each)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


def _lacking(need: str) -> str:
    if need == "golden":
        return "" if SHARED.is_dir() else "no ../shared beside the repository: golden data is not here"
    return f"{need} is not installed" if need and find_spec(need) is None else ""


def _run(name: str, options: list[str]) -> int:
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options]).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
