"""What all intervals of a run with 500 slices cost: closed forms (`--ci auto`) beside bootstraps and none at all."""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl

from benchmarks.timing import in_turns
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import IntervalMethod, IntervalOptions
from sensecheck.statistics.measurements import Frames
from sensecheck.statistics.statistic import Statistic, mean_of, ratio

METHODS: tuple[IntervalMethod, ...] = ("auto", "percentile", "none")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--slices", type=int, default=500)
    parser.add_argument("--turns", type=int, default=3)
    args = parser.parse_args(argv)
    rng = np.random.default_rng(0)
    n = args.rows
    facts = rng.integers(1, 9, n)
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            "right": rng.random(n) < 0.8,
            "score": rng.beta(8, 1, n),
            "kept": rng.binomial(facts, 0.9),
            "facts": facts,
            "words": rng.gamma(4, 4, n),
            "slice": rng.integers(0, args.slices, n).astype(str),
        }
    )
    figures = [
        mean_of("right"),
        mean_of("score"),
        Statistic("facts kept", ("kept", "facts"), ratio),
        mean_of("words", range=(0.0, float("inf"))),
    ]
    for kind, data in (("rows", frame), ("clusters of 5", frame.with_columns(cluster=pl.col("id") // 5))):
        ways = {
            method: lambda method=method, data=data: estimate(
                Frames(data), figures, slices=[("slice",)], options=IntervalOptions(method=method)
            )
            for method in METHODS
        }
        seconds = in_turns(ways, args.turns)
        made = seconds["percentile"] - seconds["none"], seconds["auto"] - seconds["none"]
        print(
            f"{n:,} {kind}, {args.slices} slices, {len(figures)} figures; CPU s: no intervals {seconds['none']:.2f}, "
            f"closed {seconds['auto']:.2f}, bootstrap {seconds['percentile']:.2f}: intervals cost "
            f"{made[0] / made[1]:.1f}x less"
        )


if __name__ == "__main__":
    main()
