"""Run the benchmarks one after the other, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = (
    "resampling", "calibration", "adaptive_binning", "read_logits", "scale", "diverse_bench", "faithful_bench",
    "correct_bench",
)  # fmt: skip


def run(names: list[str]) -> int:
    failed = []
    for name in names or BENCHMARKS:
        print(f"\n== {name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
