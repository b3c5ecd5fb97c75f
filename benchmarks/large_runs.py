"""What `sensecheck calibrated` costs on many rows, with and without intervals and slices, beside Polars."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

KINDS, MANY = 12, 200
RUNS: dict[str, list[str]] = {
    "without intervals": ["--no-ci"],
    "with intervals": [],
    f"and {KINDS} slices": ["--slice", "kind"],
    f"and {MANY} slices": ["--slice", "many"],
}
POLARS = """
import sys, polars as pl
print(pl.scan_parquet(sys.argv[1]).select(pl.col("confidence", "correct").sum()).collect())
"""


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 5e6])
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="sensecheck-bench-") as folder:
        few = Path(folder) / "few.parquet"
        write(few, 10)
        start, _ = cost([sys.executable, "-m", "sensecheck", "calibrated", str(few), "--no-ci"])
        print(f"start-up: {start:.2f} CPU s, in all figures below")
        print(f"{'rows':>12}  {'':24} {'CPU s':>7} {'× with intervals':>17} {'peak MB':>8}")
        for rows in map(int, args.rows):
            path = Path(folder) / "rows.parquet"
            write(path, rows)
            costs = {
                name: cost([sys.executable, "-m", "sensecheck", "calibrated", str(path), "--quiet", *options])
                for name, options in RUNS.items()
            }
            costs["Polars: read and add up"] = cost([sys.executable, "-c", POLARS, str(path)])
            usual = costs["with intervals"][0]
            for name, (cpu, peak) in costs.items():
                print(f"{rows:>12,}  {name:24} {cpu:>7.2f} {cpu / usual:>17.2f} {peak:>8,.0f}", flush=True)


def write(path: Path, rows: int) -> None:
    """Confidences that claim too much, with two columns to slice by."""
    rng = np.random.default_rng(1)
    confidence = rng.beta(4, 1.5, rows)
    kinds = pl.Series([f"kind {i}" for i in range(KINDS)]).gather(rng.integers(0, KINDS, rows))
    many = pl.Series([f"slice {i}" for i in range(MANY)]).gather(rng.integers(0, MANY, rows))
    table = pl.DataFrame(
        {"confidence": confidence, "correct": rng.random(rows) < confidence**1.2, "kind": kinds, "many": many}
    )
    table.write_parquet(path, row_group_size=250_000)


def cost(command: list[str]) -> tuple[float, float]:
    """CPU seconds and peak megabytes of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wrapper = (
        "import resource, subprocess, sys\ncode = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\nsys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", wrapper, *command], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, int(done.stdout.split()[-1]) / 1024


if __name__ == "__main__":
    main()
