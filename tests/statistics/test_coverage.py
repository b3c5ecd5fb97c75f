"""Do 95 % intervals cover 95 %? Two thousand simulated data sets each."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sensecheck.statistics.compare import compare
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import Frames
from sensecheck.statistics.statistic import Statistic, mean_of, ratio

DATA_SETS = 2000
N = 250
pytestmark = pytest.mark.slow


def covered(simulate, statistic, truth: float, rows: int = N) -> float:
    """The share of data sets whose interval holds the truth; every data set is one slice of a table."""
    hits = 0
    rng = np.random.default_rng(20)
    for half in range(2):
        sets = DATA_SETS // 2
        frame = pl.DataFrame(simulate(rng, rows * sets)).with_columns(
            data_set=pl.Series(np.repeat(np.arange(sets), rows)).cast(pl.String)
        )
        frame = frame.insert_column(0, pl.Series("id", np.arange(len(frame)) + half * len(frame)))
        found = estimate(Frames(frame), [statistic], slices=[("data_set",)])
        hits += sum(f[0].low <= truth <= f[0].high for f in found.slices[("data_set",)])
    return hits / DATA_SETS


def test_a_mean_of_continuous_scores():
    assert 0.93 <= covered(lambda rng, n: {"x": rng.normal(1, 2, n)}, mean_of("x"), 1.0) <= 0.97


def test_a_mean_of_true_and_false():
    assert 0.93 <= covered(lambda rng, n: {"x": rng.random(n) < 0.7}, mean_of("x"), 0.7) <= 0.97


def test_a_ratio_of_sums():
    share = Statistic("share", ("x", "y"), ratio)

    def simulate(rng, n):
        y = rng.gamma(3, 1, n)
        return {"x": y * rng.beta(3, 2, n), "y": y}

    assert 0.93 <= covered(simulate, share, 0.6) <= 0.97


def test_a_ratio_with_bca():
    share = Statistic("share", ("x", "y"), ratio)
    hits = 0
    rng = np.random.default_rng(23)
    for i in range(DATA_SETS):
        y = rng.gamma(1, 1, N)
        frame = pl.DataFrame({"id": np.arange(N), "x": y * rng.beta(3, 2, N), "y": y})
        options = IntervalOptions(method="bca", replicates=500, seed=i)
        figure = estimate(Frames(frame), [share], options=options).overall[0]
        hits += figure.low <= 0.6 <= figure.high
    assert 0.93 <= hits / DATA_SETS <= 0.97


def test_a_mean_over_clusters():
    def simulate(rng, n):
        cluster = np.arange(n) // 4
        return {"cluster": cluster, "x": rng.normal(0, 1, n // 4)[cluster] + rng.normal(0, 1, n)}

    assert 0.93 <= covered(simulate, mean_of("x"), 0.0, rows=800) <= 0.97


def test_a_paired_difference():
    hits, columns = 0, [f"x{k}" for k in range(10)]  # ten data sets are the columns of one run: a call costs most
    rng = np.random.default_rng(22)
    for i in range(DATA_SETS // len(columns)):
        shared = {name: rng.normal(0, 1, N) for name in columns}
        sides = [
            Frames(
                pl.DataFrame({"id": np.arange(N)} | {c: x + shift + rng.normal(0, 0.5, N) for c, x in shared.items()})
            )
            for shift in (0, 0.3)
        ]
        found = compare(*sides, [mean_of(c) for c in columns], options=IntervalOptions(replicates=500, seed=i))
        hits += sum(difference.low <= 0.3 <= difference.high for difference in found)
    assert 0.93 <= hits / DATA_SETS <= 0.97
