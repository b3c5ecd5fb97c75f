"""`python -m tests.fuzz`: many damaged inputs to every target, and a table of what came."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

# One thread in every library: several children share the machine, and a forked one must not inherit a pool.
for _variable in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from tests.fuzz.running import PROCESS_MUTATIONS, Outcome, guarded, keep  # noqa: E402
from tests.fuzz.targets import TARGETS  # noqa: E402


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--mutations", type=int, default=100_000, help="inputs for every target in process")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument(
        "--only", action="append", metavar="TARGET", help="a target, or the part of the package it is about"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bare", action="store_true", help="no heading above the table")
    parser.add_argument("--keep", action="store_true", help="write the smallest form of every finding to the corpus")
    args = parser.parse_args(argv)
    chosen = [t.name for t in TARGETS.values() if not args.only or t.name in args.only or t.owner in args.only]
    if not chosen:
        parser.error(f"the targets are: {', '.join(TARGETS)}")
    counts = {
        name: min(args.mutations, PROCESS_MUTATIONS) if TARGETS[name].process else args.mutations for name in chosen
    }
    if not args.bare:
        print(f"{'target':22} {'inputs':>8} {'inputs/s':>9} {'findings':>9} {'slowest':>9}", flush=True)
    if args.jobs > 1:
        return _in_processes(chosen, args)
    found = 0
    for name in chosen:
        outcome = guarded(name, counts[name], args.seed)
        found += len(outcome.findings)
        _tell(outcome, args.keep)
    return 1 if found else 0


def _in_processes(chosen: Sequence[str], args: argparse.Namespace) -> int:
    """Each target in a process of its own: one that has threads must not fork, as `guarded` does."""
    shared = [
        "--mutations",
        str(args.mutations),
        "--seed",
        str(args.seed),
        "--bare",
        *(["--keep"] if args.keep else []),
    ]

    def run(name: str) -> int:
        command = [sys.executable, "-m", "tests.fuzz", *shared, "--only", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        print(done.stdout, end="", flush=True)
        return done.returncode

    with ThreadPoolExecutor(args.jobs) as pool:
        return max(pool.map(run, chosen))


def _tell(outcome: Outcome, kept: bool) -> None:
    rate = outcome.inputs / outcome.seconds if outcome.seconds else 0.0
    print(
        f"{outcome.target:22} {outcome.inputs:8,} {rate:9,.0f} {len(outcome.findings):9,} {outcome.slowest:7.2f} s",
        flush=True,
    )
    for finding, case, times in outcome.findings.values():
        print(
            f"    {finding.kind} × {times:,}  {finding.place}\n        {finding.words}\n        {case.name}: {case.data[:160]!r}",
            flush=True,
        )
        if kept:
            keep(outcome.target, case)


if __name__ == "__main__":
    sys.exit(main())
