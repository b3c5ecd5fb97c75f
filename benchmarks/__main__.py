"""Run the benchmarks one after the other; each is a module of this package with a `main(argv)`."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = (
    "resampling",
    "calibration",
    "adaptive_binning",
    "read_logits",
    "scale",
    "diverse_bench",
    "faithful_bench",
    "correct_bench",
)


def run(names: list[str]) -> int:
    for name in names or BENCHMARKS:
        print(f"\n== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main([])
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
