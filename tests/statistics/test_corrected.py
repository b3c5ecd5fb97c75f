"""Rates corrected by labels: against ppi-python, against the labels by themselves, and where there is almost nothing."""

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sensecheck.statistics.corrected import (
    LabelledUnits,
    OtherUnits,
    RowSums,
    corrected,
    corrected_difference,
    normal_interval,
)
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.measurements import Frames
from sensecheck.statistics.statistic import mean_of

RECORDED = json.loads((Path(__file__).parent / "ppi_python.json").read_text())


def simulated(seed, *, weighted, numbers, labels=80, rows=900):
    """The inputs behind the recorded outputs: verdicts and labels of one sample, verdicts of another."""
    draw = np.random.default_rng(seed)
    f = draw.random(labels + rows)
    f = f if numbers else (f < 0.8) * 1.0
    y = (draw.random(labels) < 0.05 + 0.9 * f[:labels]) * 1.0
    w = draw.exponential(1, labels + rows) if weighted else np.ones(labels + rows)
    return y, f[:labels], f[labels:], w[:labels], w[labels:]


def ours(y, f, unlabelled, w, w_unlabelled):
    found = normal_interval(RowSums.of(f, y, w), RowSums.of(unlabelled, 0 * unlabelled, w_unlabelled), 0.95)
    return [float(found.value), float(found.low), float(found.high)]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["name"])
def test_the_normal_interval_is_that_of_ppi_python(case):
    assert ours(*simulated(case["seed"], **case["of"])) == pytest.approx(case["outputs"], abs=1e-6)


@pytest.mark.skipif(find_spec("ppi_py") is None, reason="ppi-python is not installed (pip install ppi-python)")
@pytest.mark.parametrize("seed", range(12))
def test_the_normal_interval_is_that_of_the_package_itself(seed):
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    y, f, unlabelled, w, w_unlabelled = simulated(
        seed, weighted=bool(seed % 2), numbers=bool(seed % 3), labels=10 + 15 * seed, rows=200
    )
    of = {"w": w, "w_unlabeled": w_unlabelled}
    value = float(np.ravel(ppi_mean_pointestimate(y, f, unlabelled, **of))[0])
    low, high = (float(np.ravel(end)[0]) for end in ppi_mean_ci(y, f, unlabelled, alpha=0.05, **of))
    assert ours(y, f, unlabelled, w, w_unlabelled) == pytest.approx([value, low, high], abs=1e-6)


def units_of(y, f, weight, rows=None, owner=None):
    """Rows one by one; `weight` is 0 of rows without a label."""
    y, f, weight = (np.asarray(x, dtype=float) for x in (y, f, weight))
    rows = np.ones_like(f) if rows is None else np.asarray(rows, dtype=float)
    there, called = (weight > 0) * 1.0, f >= 0.5
    columns = [rows, rows * f, weight, weight * y, weight * f, weight * called, weight**2, weight**2 * called, there]
    if owner is not None:
        columns = [np.bincount(owner, weights=column) for column in columns]
    held = columns[2] > 0
    d, v = (columns[i][~held] for i in (0, 1))
    units = LabelledUnits(held[held] * 1.0, *(column[held] for column in columns))
    return units, OtherUnits(*(np.asarray(x.sum()) for x in (d, v, d * d, d * v, v * v)))


def found_of(y, f, weight, level=0.95, clustered=False, **more):
    return corrected(*units_of(y, f, weight, **more), level, clustered=clustered)


def rows_of(number=600, labels=60, rate=0.8, agree=0.9, seed=5):
    draw = np.random.default_rng(seed)
    y = (draw.random(number) < rate) * 1.0
    f = np.where(draw.random(number) < agree, y, 1 - y)
    weight = np.zeros(number)
    weight[draw.permutation(number)[:labels]] = number / labels
    return y, f, weight


@pytest.mark.parametrize("kind", ["equal", "weighted", "clustered"])
def test_labels_by_themselves_have_the_interval_that_a_table_of_labels_has(kind):
    """Verdicts that never vary tell nothing: what is left is the interval of statistics for the labels."""
    y, _, weight = rows_of()
    owner = np.arange(len(y)) // 3 if kind == "clustered" else None
    if kind == "weighted":
        weight = weight * np.random.default_rng(1).uniform(0.9, 1.1, len(y))
    found = found_of(y, np.ones(len(y)), weight, owner=owner, clustered=kind == "clustered")
    kept = weight > 0
    table = {"id": [str(k) for k in np.flatnonzero(kept)], "x": y[kept] > 0.5}
    if kind == "weighted":
        table["weight"] = weight[kept]
    if kind == "clustered":
        table["cluster"] = [str(k) for k in owner[kept]]
    alone = estimate(Frames(pl.DataFrame(table)), [mean_of("x")]).figure("x")
    assert float(found.believed) == 0.0
    assert float(found.value) == pytest.approx(alone.value, abs=1e-12)
    near = 0.02 if kind == "clustered" else 1e-3 if kind == "weighted" else 1e-9
    assert float(found.of_alone.low) == pytest.approx(alone.low, abs=near)
    assert float(found.of_alone.high) == pytest.approx(alone.high, abs=near)


def test_good_verdicts_make_the_interval_shorter_and_useless_ones_do_not_make_it_longer():
    y, f, weight = rows_of(agree=0.97)
    good = found_of(y, f, weight)
    assert good.worth > 1.5 * good.labels
    assert good.limits.high - good.limits.low < 0.85 * (good.of_alone.high - good.of_alone.low)
    none = found_of(y, np.random.default_rng(0).permutation(f), weight)
    assert none.limits.high - none.limits.low <= 1.05 * (none.of_alone.high - none.of_alone.low)


def test_where_labels_and_verdicts_all_agree_the_interval_is_open_and_the_normal_one_is_not():
    y, f, weight = rows_of(number=100_000, labels=100, agree=1.0)
    found = found_of(y, f, weight)
    assert float(found.limits.high - found.limits.low) > 0.02
    assert float(found.limits.low) <= f.mean() <= float(found.limits.high)
    kept = weight > 0
    value, low, high = ours(y[kept], f[kept], f[~kept], np.ones(100), np.ones(99_900))
    assert high - low < 0.6 * float(found.limits.high - found.limits.low) and low <= value <= high


def test_all_right_is_no_proof_of_all_right():
    found = found_of(np.ones(50), np.ones(50), [1.0] * 20 + [0.0] * 30)
    assert float(found.value) == 1.0 and 0.8 < float(found.limits.low) < 0.9 and float(found.believed) == 0.0


@pytest.mark.parametrize("labels", [1, 2, 3])
def test_with_one_two_or_three_labels_the_labels_stand_alone(labels):
    y, f, _ = rows_of(number=50)
    weight = np.r_[np.ones(labels), np.zeros(50 - labels)]
    found = found_of(y, f, weight)
    assert float(found.believed) == 0.0 and float(found.value) == pytest.approx(y[:labels].mean())
    assert 0 <= float(found.limits.low) < float(found.limits.high) <= 1


def test_without_labels_there_is_no_value():
    found = found_of([1, 0, 1], [1, 1, 0], [0, 0, 0])
    assert np.isnan(found.value) and np.isnan(found.limits.low) and float(found.labels) == 0


def test_where_everything_is_labelled_the_verdicts_are_not_asked():
    y, f, _ = rows_of(number=200)
    found = found_of(y, f, np.ones(200))
    assert float(found.believed) == 0.0 and float(found.value) == pytest.approx(y.mean())
    assert float(found.worth) == pytest.approx(200)


def test_the_scale_of_weights_does_not_matter():
    y, f, weight = rows_of()
    plain, tiny = found_of(y, f, weight), found_of(y, f, 1e-9 * weight, rows=1e-9 * np.ones(len(y)))
    for one, other in zip(plain.limits, tiny.limits, strict=True):
        assert float(one) == pytest.approx(float(other), abs=1e-9)


def test_a_row_that_weighs_next_to_nothing_changes_nothing():
    y, f, weight = rows_of()
    more = found_of(np.r_[y, 0], np.r_[f, 1], np.r_[weight, 1e-9], rows=np.r_[np.ones(len(y)), 1e-9])
    assert float(more.value) == pytest.approx(float(found_of(y, f, weight).value), abs=1e-6)


def test_a_unit_for_many_and_the_units_one_by_one_are_the_same():
    """Sums over units: shards and slices may put them together as they like."""
    y, f, weight = rows_of()
    kinds, alike = np.unique(np.stack([y, f, weight])[:, weight > 0], axis=1, return_counts=True)
    units, others = units_of(y, f, weight)
    of_kinds, _ = units_of(*kinds)
    together = corrected(of_kinds._replace(alike=alike.astype(float)), others, 0.95)
    for one, other in zip(corrected(units, others, 0.95).limits, together.limits, strict=True):
        assert float(one) == pytest.approx(float(other), abs=1e-12)


def test_labels_of_heavy_strata_decide_where_strata_are_drawn_unequally():
    """90 labels for two thirds of the rows, 10 for the rest: that all are right says what the 10 say."""
    f = np.r_[np.ones(665), np.zeros(335)]
    weight = np.r_[np.full(90, 665 / 90), np.zeros(575), np.full(10, 33.5), np.zeros(325)]
    found = found_of(np.ones(1000), f, weight)
    assert float(found.limits.low) < 0.92


@pytest.mark.parametrize(
    "cell", [(0.8, 0.95, 0.9, 100), (0.95, 0.6, 0.4, 40), (0.5, 1.0, 1.0, 40), (0.9, 1.0, 0.3, 100)]
)
def test_the_interval_holds_the_truth(cell):
    """A quick look at four cells of benchmarks/corrected_rates.py; 93 % less three standard errors of 300 sets."""
    rate, found, refused, labels = cell
    draw = np.random.default_rng(7)
    shape = (300, 500)
    y = (draw.random(shape) < rate) * 1.0
    f = (draw.random(shape) < np.where(y > 0, found, 1 - refused)) * 1.0
    there = np.zeros(shape)
    there[:, :labels] = 1.0
    ones = np.ones(shape)
    columns = (ones, f, there, there * y, there * f, there * f, there, there * f, there)
    rest = ((1 - there) * f).sum(-1)
    free = (1 - there).sum(-1)
    got = corrected(LabelledUnits(there, *columns), OtherUnits(free, rest, free, rest, rest), 0.95)
    held = ((got.limits.low <= rate) & (rate <= got.limits.high)).mean()
    assert held > 0.93 - 3 * 0.015
    assert (got.limits.high - got.limits.low).mean() <= 1.05 * (got.of_alone.high - got.of_alone.low).mean()


def test_a_difference_is_told_where_it_is_and_not_where_only_the_verdicts_differ():
    draw = np.random.default_rng(3)
    y = (draw.random(1000) < 0.7) * 1.0
    better = np.where(draw.random(1000) < 0.15, 1.0, y)
    weight = np.r_[np.full(200, 5.0), np.zeros(800)]
    kind = np.where(draw.random(1000) < 0.5, 1.0, y)  # verdicts of B that say right too easily

    def judged(y_b, f_b):
        sides = [found_of(y, y, weight), found_of(y_b, f_b, weight)]
        errors = [
            np.r_[one.influence, one.per_verdict * (f[200:] - one.raw)] for one, f in zip(sides, (y, f_b), strict=True)
        ]
        return corrected_difference(*sides, float((errors[0] * errors[1]).sum()), 0.95)

    same, differs = judged(y, kind), judged(better, better)
    assert float(same.p) > 0.05 and float(same.low) <= 0 <= float(same.high)
    assert float(differs.p) < 0.05 and float(differs.low) > 0
