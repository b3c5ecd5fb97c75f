"""1,000 resamples of 1e6 rows in 20 slices: sensecheck beside NumPy's index resampling and SciPy, in one run."""

from __future__ import annotations

import argparse

import numpy as np
import polars as pl
import scipy.stats

from benchmarks.timing import in_turns, peak_megabytes
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import Frames
from sensecheck.statistics.statistic import mean_of

SLICES = 20


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--peer-resamples", type=int, default=40, help="peers do this many; their time is scaled up")
    parser.add_argument("--turns", type=int, default=4, help="every way takes so many, and its fastest counts")
    args = parser.parse_args(argv)
    rng = np.random.default_rng(0)
    slices = rng.integers(0, SLICES, args.rows)
    data = {"discrete": rng.random(args.rows) < 0.7, "continuous": rng.gamma(2.0, 0.2, args.rows)}
    ids = np.arange(args.rows)
    print(f"{args.rows:,} rows, {args.resamples:,} resamples, {SLICES} slices and the whole; CPU seconds")
    for kind, values in data.items():
        frame = Frames(pl.DataFrame({"id": ids, "x": values, "slice": slices.astype(str)}))
        options = IntervalOptions(replicates=args.resamples)
        parts = [values[slices == s].astype(float) for s in range(SLICES)]
        scale = args.resamples / args.peer_resamples

        def our_way(frame=frame, options=options) -> None:
            estimate(frame, [mean_of("x")], slices=[("slice",)], options=options)

        def numpy_way(parts=parts) -> None:
            generator = np.random.default_rng(1)
            for part in parts:
                for _ in range(args.peer_resamples):
                    part[generator.integers(0, len(part), len(part))].mean()

        def scipy_way(parts=parts) -> None:
            for part in parts:
                scipy.stats.bootstrap(
                    (part,), np.mean, n_resamples=args.peer_resamples, method="percentile", batch=10, rng=1
                )

        taken = in_turns({"ours": our_way, "numpy": numpy_way, "scipy": scipy_way}, args.turns)
        mine, numpy_time, scipy_time = taken["ours"], taken["numpy"] * scale, taken["scipy"] * scale
        print(
            f"{kind:<11} sensecheck {mine:8.3f}   numpy {numpy_time:8.2f} ({numpy_time / mine:6.1f}x)   "
            f"scipy {scipy_time:8.2f} ({scipy_time / mine:6.1f}x)"
        )
    print(f"peak memory {peak_megabytes():,.0f} MB (the peers do the slices only; sensecheck the whole as well)")


if __name__ == "__main__":
    main()
