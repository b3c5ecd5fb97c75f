"""AUROC, AURC and the risk–coverage curve: definitions, ties, weights, intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sensecheck
from sensecheck.calibrated import ranking
from sensecheck.calibrated.ranking import (
    Ranked,
    accuracy_at,
    aurc,
    aurc_of,
    auroc,
    auroc_of,
    excess_aurc_of,
    least_aurc,
)
from sensecheck.calibrated.smooth_ece import smooth_ece_of
from sensecheck.statistics.figure import IntervalOptions

ROWS = st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0]), st.booleans()), min_size=1, max_size=30)


def by_pairs(p: np.ndarray, y: np.ndarray) -> float:
    right, wrong = p[y], p[~y]
    wins = (right[:, None] > wrong).sum() + 0.5 * (right[:, None] == wrong).sum()
    return float(wins / (len(right) * len(wrong)))


def by_thresholds(p: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean([1 - y[p >= mine].mean() for mine in p]))


@given(ROWS)
def test_both_ways_of_computing_are_the_definitions(rows: list[tuple[float, bool]]) -> None:
    p, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    order = np.argsort(p, kind="stable")
    state, ones = Ranked(p[order], y[order]), np.ones((1, len(p)))
    assert aurc(p, y) == pytest.approx(by_thresholds(p, y))
    assert aurc_of(state, ones)[0] == pytest.approx(by_thresholds(p, y))
    if 0 < y.sum() < len(y):
        assert auroc(p, y) == pytest.approx(by_pairs(p, y))
        assert auroc_of(state, ones)[0] == pytest.approx(by_pairs(p, y))
        assert excess_aurc_of(state, ones)[0] == pytest.approx(by_thresholds(p, y) - least_aurc(1 - y.mean()))
    else:
        assert np.isnan(auroc(p, y)) and np.isnan(auroc_of(state, ones)[0])


@given(ROWS, st.data())
def test_a_weight_is_a_row_that_repeats(rows: list[tuple[float, bool]], data: st.DataObject) -> None:
    rows = sorted(rows)
    p, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(p), max_size=len(p))))
    if not times.sum():
        return
    weighted = Ranked(p, y)
    repeated = Ranked(np.repeat(p, times), np.repeat(y, times))
    for of in (auroc_of, aurc_of, excess_aurc_of):
        a = of(weighted, times[None, :].astype(float))[0]
        b = of(repeated, np.ones((1, int(times.sum()))))[0]
        assert a == pytest.approx(b, nan_ok=True)


def test_keys_that_span_blocks_of_equals() -> None:
    rng = np.random.default_rng(0)
    for n in (65_536, 65_537, 140_000):
        for digits in (1, 4, 12):
            p = np.round(rng.random(n), digits)
            y = rng.random(n) < p
            order = np.argsort(p, kind="stable")
            state, ones = Ranked(p[order], y[order]), np.ones((1, n))
            assert auroc(p, y) == pytest.approx(auroc_of(state, ones)[0], abs=1e-12)
            assert aurc(p, y) == pytest.approx(aurc_of(state, ones)[0], abs=1e-12)


def test_replicates_over_groups_are_near_those_over_rows() -> None:
    rng = np.random.default_rng(1)
    p = np.sort(rng.beta(5, 1.5, 20_000))
    state = Ranked(p, rng.random(20_000) < p)
    weights = rng.poisson(1, (4, 20_000)).astype(float)
    assert len(state.coarse) < len(state.groups)
    for of in (auroc_of, aurc_of):
        many = of(state, weights)
        single = np.concatenate([of(state, weights[i : i + 1].copy()) for i in range(4)])
        np.testing.assert_allclose(many, single, atol=5e-5)  # an interval is some hundred times as wide


def test_a_perfect_ranking_has_no_excess() -> None:
    p = np.linspace(0, 1, 4001)
    y = p > 0.3
    assert auroc(p, y) == 1
    assert excess_aurc_of(Ranked(p, y), np.ones((1, len(p))))[0] == pytest.approx(0, abs=2e-4)
    assert float(least_aurc(1.0)) == 1 and float(least_aurc(0.0)) == 0


def test_accuracy_at_coverage_runs_straight_within_equals() -> None:
    state = Ranked(np.array([0.1, 0.5, 0.5, 0.9]), np.array([False, True, False, True]))
    found = accuracy_at(state, np.ones((1, 4)), [0.125, 0.25, 0.5, 0.75, 1.0])[0]
    np.testing.assert_allclose(found, [1.0, 1.0, 0.75, 2 / 3, 0.5])


@pytest.mark.parametrize(("p", "told"), [([0.5, 1.2], "lie in"), ([], "no rows"), ([[0.5]], "same length")])
def test_bad_input(p: list[float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        auroc(p, [True] * len(p))


def test_intervals_cover_and_comparison_is_paired() -> None:
    rng = np.random.default_rng(5)
    n = 1500
    p = rng.beta(4, 1.5, n)
    y = rng.random(n) < p
    a = sensecheck.calibrated.evaluate(confidence=p, correct=y)
    for name in ("auroc", "aurc", "e_aurc", "accuracy_at_50", "smooth_ece", "ace", "debiased_ece", "brier_resolution"):
        assert a[name].low <= a[name].value <= a[name].high, name
    assert a["auroc"].low < by_pairs(p, y) < a["auroc"].high
    noisy = np.clip(p + rng.normal(0, 0.25, n), 0, 1)
    b = sensecheck.calibrated.evaluate(confidence=noisy, correct=y)
    change = a.compare(b)["auroc"]
    assert change.difference < 0 and change.high < 0 and change.p < 0.05
    nothing = a.compare(sensecheck.calibrated.evaluate(confidence=p, correct=y))["auroc"]
    assert nothing.difference == 0 and -0.01 < nothing.low < 0 < nothing.high < 0.01


def test_coverages_of_ones_own(tmp_path: object) -> None:
    p = np.linspace(0.01, 0.99, 99)
    made = sensecheck.calibrated.evaluate(
        confidence=p, correct=p > 0.5, coverages=[0.25, 1], options=IntervalOptions(method="none")
    )
    assert made["accuracy_at_25"].value == 1 and made["accuracy_at_100"].value == pytest.approx(49 / 99)
    with pytest.raises(sensecheck.InputError, match="coverages"):
        sensecheck.calibrated.evaluate(confidence=p, correct=p > 0.5, coverages=[0])


def test_too_many_rows_are_refused_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from sensecheck.statistics import row_figures

    monkeypatch.setattr(row_figures, "MOST_RESAMPLED_ROWS", 50)
    p = np.linspace(0.01, 0.99, 99)
    made = sensecheck.calibrated.evaluate(confidence=p, correct=p > 0.5)
    assert made["auroc"].value == 1 and made["auroc"].low is None and "at most 50 rows" in made["auroc"].absent
    assert made["ece"].low is not None
    monkeypatch.setattr(row_figures, "MOST_ROWS", 50)
    made = sensecheck.calibrated.evaluate(confidence=p, correct=p > 0.5)
    assert np.isnan(made["auroc"].value) and "at most 50 rows" in made["auroc"].absent


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 16])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("decimals", [1, 3, 17])
def test_block_by_block_is_what_all_rows_at_once_give(monkeypatch, block, weighted, decimals):
    rng = np.random.default_rng(decimals)
    p = np.sort(np.round(rng.random(500), decimals))
    y = rng.random(500) < p
    w = rng.gamma(1.0, 1.0, 500) * (rng.random(500) < 0.9) if weighted else np.broadcast_to(np.ones(1), (500,))
    monkeypatch.setattr(ranking, "_BLOCK", block)
    state = ranking.Ranked(p, y)
    # Two replicates go the other way; their groups are the same as long as they are few.
    both = np.stack([w, w])
    for figure in (ranking.auroc_of, ranking.aurc_of, ranking.excess_aurc_of):
        assert figure(state, w[None, :])[0] == figure(ranking.Ranked(p, y), both)[1]
    at = [0.001, 0.01, 0.3, 0.5, 0.8, 1.0]
    one, two = ranking.accuracy_at(state, w[None, :], at), ranking.accuracy_at(ranking.Ranked(p, y), both, at)
    assert one[0].tolist() == two[1].tolist()
    smooth = [smooth_ece_of(ranking.Ranked(p, y), w[None, :])]
    monkeypatch.setattr(ranking, "_BLOCK", 1 << 16)
    smooth.append(smooth_ece_of(ranking.Ranked(p, y), w[None, :]))
    assert smooth[0].tolist() == smooth[1].tolist()


def test_equal_mass_bins_tell_the_top_value_from_the_rest() -> None:
    made = sensecheck.calibrated.evaluate(confidence=[0.0, 1.0] * 50, correct=[1, 0] * 50)
    assert made["ace"].value == 1.0
    crowded = sensecheck.calibrated.evaluate(confidence=[1.0] * 60 + [0.9] * 40, correct=[1] * 60 + [0] * 40)
    assert crowded["ace"].value == pytest.approx(0.4 * 0.9)
