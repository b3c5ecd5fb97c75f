"""Closed-form intervals at the edges: no zero width, nothing certain from few rows, the same from sums as from rows."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import scipy.stats

from sensecheck.statistics.distributions import beta_cdf, beta_quantile, middle_quantile, student_quantile, student_tail
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.limits import Measured, difference_of_measured
from sensecheck.statistics.measurements import Frames
from sensecheck.statistics.statistic import ONE, Bins, Share, Statistic, mean_of, ratio

X = mean_of("x")


def figure(statistic: Statistic = X, **columns: object) -> Figure:
    size = max(len(c) for c in columns.values() if hasattr(c, "__len__"))
    frame = pl.DataFrame({"id": [f"q{i}" for i in range(size)], **columns})
    return estimate(Frames(frame), [statistic]).overall[0]


def test_distributions_are_scipys() -> None:
    rng = np.random.default_rng(1)
    a, b = 10 ** rng.uniform(-0.5, 4, 300), 10 ** rng.uniform(-0.5, 4, 300)
    x = scipy.stats.beta.rvs(a, b, random_state=2)
    assert beta_cdf(a, b, x) == pytest.approx(scipy.stats.beta.cdf(x, a, b), abs=1e-9)
    one_by_one = [float(beta_cdf(*each)) for each in zip(a, b, x, strict=True)]
    assert beta_cdf(a, b, x) == pytest.approx(one_by_one, abs=1e-12)
    for p in (0.005, 0.025, 0.5, 0.975):
        assert beta_quantile(p, a, b) == pytest.approx(scipy.stats.beta.ppf(p, a, b), rel=1e-5, abs=1e-9)
    freedom = np.array([1.0, 2.0, 3.5, 10.0, 1000.0, 1e7])
    assert student_quantile(0.975, freedom) == pytest.approx(scipy.stats.t.ppf(0.975, freedom), rel=1e-6)
    assert student_tail(2.1, freedom) == pytest.approx(scipy.stats.t.sf(2.1, freedom), rel=1e-6)


def test_mid_p_limits_by_their_definition() -> None:
    for x, n in ((0, 5), (1, 5), (8, 8), (37, 90)):
        for tail in (0.025, 0.975):
            (p,) = middle_quantile(tail, float(x), float(n - x))
            if (x == 0 and tail < 0.5) or (x == n and tail > 0.5):
                continue  # the end of the range
            beyond = scipy.stats.binom.sf(x, n, p) + scipy.stats.binom.pmf(x, n, p) / 2
            assert beyond == pytest.approx(tail, abs=1e-9)


def test_eight_of_eight_is_not_certain() -> None:
    found = figure(x=[True] * 8)
    assert (found.value, found.high) == (1.0, 1.0) and found.low == pytest.approx(0.05 ** (1 / 8))
    assert found.bounds == (pytest.approx(0.025 ** (1 / 8)), 1.0)
    nothing = figure(x=[False] * 5)
    assert nothing.bounds == (0.0, pytest.approx(1 - 0.025 ** (1 / 5))), "what a gate judges by"
    scores = figure(x=[1.0] * 8)
    assert found.low - 0.15 < scores.low < found.low, "Student's tails as well"
    ones = figure(Statistic("kept", ("x", "d"), ratio), x=[3, 2, 4, 1], d=[3, 2, 4, 1])
    assert 0.05 < ones.low < 0.6 and ones.high == 1.0


def test_clusters_that_agree_count_once_each() -> None:
    apart = figure(x=[True] * 40)
    together = figure(x=[True] * 40, cluster=np.repeat(np.arange(10), 4))
    assert together.clusters == 10 and together.low < figure(x=[True] * 10).low + 1e-9 < apart.low


def test_weights_of_one_constant_change_nothing() -> None:
    x = np.random.default_rng(2).random(60) < 0.9
    plain = figure(x=x)
    for weight in (1.0, 0.3, 7.0):
        weighted = figure(x=x, weight=np.full(60, weight))
        assert (weighted.low, weighted.high) == (pytest.approx(plain.low), pytest.approx(plain.high))
    unequal = figure(x=x, weight=np.where(np.arange(60) < 5, 10.0, 1.0))
    assert unequal.high - unequal.low > 1.5 * (plain.high - plain.low)


def test_nothing_that_varies_in_a_figure_without_bounds_has_no_interval() -> None:
    found = figure(mean_of("x", range=(0.0, float("inf"))), x=[7.0, 7.0, 7.0])
    assert found.value == 7.0 and found.low is None and "same value" in found.absent


def test_numbers_beyond_the_declared_range_are_means_like_any_other() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(5, 1, 400)
    found = figure(x=x)
    assert found.low == pytest.approx(x.mean() - 1.97 * x.std() / 20, abs=0.01)
    assert found.high == pytest.approx(x.mean() + 1.97 * x.std() / 20, abs=0.01)


@pytest.mark.parametrize("groups", [0, 2048])
def test_random_groups_of_units_tell_the_same(monkeypatch: pytest.MonkeyPatch, groups: int) -> None:
    from sensecheck.statistics import table

    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(20_000), 3)
    chance = rng.beta(9, 1, 20_000)[cluster]
    columns = {"x": rng.random(60_000) < chance, "cluster": cluster}
    expected = figure(**columns)
    if groups:
        monkeypatch.setattr(table, "_UNGROUPED_ROWS", 1000)
    found = figure(**columns)
    assert found.high - found.low == pytest.approx(expected.high - expected.low, rel=0.08)
    assert found.clusters == expected.clusters == 20_000


def test_n_and_clusters_belong_to_the_figure() -> None:
    frame = pl.DataFrame(
        {
            "id": [f"q{i}" for i in range(40)],
            "cluster": [f"c{i // 2}" for i in range(40)],
            "x": [True] * 40,
            "y": [1.0] + [None] * 39,
            "z": [float(i) if i < 10 else None for i in range(40)],
        }
    )
    x, y, z = estimate(Frames(frame), [X, mean_of("y"), mean_of("z")]).overall
    assert (x.n, x.clusters, y.n, y.clusters, z.n, z.clusters) == (40, 20, 1, 1, 10, 5)
    assert y.low is None and y.absent == "only one row"


def test_a_mean_of_bins_needs_no_bootstrap_and_small_bins_make_it_wide() -> None:
    def mean_of_bins(total: np.ndarray, n: np.ndarray) -> np.ndarray:
        return np.where(n > 0, total / np.where(n > 0, n, 1), 0).sum(-1) / (n > 0).sum(-1)

    macro = Statistic("macro", ("x", ONE), mean_of_bins, bins=Bins("kind", (0.0, 1.0, 2.0, 3.0)), means_of_bins=True)
    rng = np.random.default_rng(5)
    even = figure(macro, x=rng.random(300) < 0.8, kind=np.repeat([0.0, 1.0, 2.0], 100))
    uneven = figure(macro, x=rng.random(300) < 0.8, kind=np.repeat([0.0, 1.0, 2.0], [2, 98, 200]))
    assert even.high - even.low == pytest.approx(2 * 1.96 * 0.4 / np.sqrt(300), rel=0.15)
    assert uneven.high - uneven.low > 2 * (even.high - even.low)


def test_f1_as_a_share_is_as_wide_as_its_bootstrap_where_that_is_right() -> None:
    rng = np.random.default_rng(6)
    gold = rng.integers(1, 9, 400)
    tp = rng.binomial(gold, 0.7)
    parts = {"tp": tp, "fp": rng.poisson(1, 400), "fn": gold - tp}
    frame = pl.DataFrame({"id": np.arange(400), **parts})
    f1 = Statistic(
        "f1", ("tp", "fp", "fn"), lambda tp, fp, fn: ratio(2 * tp, 2 * tp + fp + fn),
        share=Share(lambda tp, fp, fn: (2 * tp, 2 * tp + fp + fn)),
    )  # fmt: skip
    closed, drawn = (
        estimate(Frames(frame), [f1], options=IntervalOptions(method=method)).overall[0]
        for method in ("auto", "percentile")
    )
    assert closed.high - closed.low == pytest.approx(drawn.high - drawn.low, rel=0.1)
    assert closed.method == "mid-P" and closed.low == pytest.approx(drawn.low, abs=0.01)


def test_differences_of_figures_with_intervals_of_their_own() -> None:
    a, b = Measured(0.05, 0.02, 0.09), Measured(0.15, 0.11, 0.2)
    found = difference_of_measured(a, b, 0.0, 0.95, from_zero=False)
    assert float(found.low) == pytest.approx(0.1 - np.hypot(0.04, 0.04))
    assert float(found.high) == pytest.approx(0.1 + np.hypot(0.05, 0.03))
    assert (float(found.p) < 0.05) == (float(found.low) > 0)
    calibrated = Measured(0.0, 0.0, 0.04)
    nothing = difference_of_measured(calibrated, Measured(0.03, 0.0, 0.06), 0.5, 0.95, from_zero=True)
    assert float(nothing.low) <= -0.04 and float(nothing.high) >= 0.06 and float(nothing.p) > 0.05
