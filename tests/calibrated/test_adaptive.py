"""The fast adaptive bins against the same rule as a plain loop; the default's indifference to order."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.calibrated.adaptive import (
    AdaptiveBins,
    adaptive_bins,
    adaptive_bins_in_input_order,
    adaptive_edges,
    adaptive_edges_of_cells,
    greedy_sizes,
    lent,
)
from sensecheck.calibrated.figures import _counted_mass_edges, _mass_edges
from sensecheck.statistics.counted import Counted
from sensecheck.statistics.grid import WIDEST, Grid


def plain_loop(confidence: list[float], correct: list[Any]) -> list[tuple[float, float, int]]:
    """The mended rule sample by sample: (mean confidence, accuracy, count) per bin, high to low."""
    pairs = sorted(zip(confidence, correct, strict=True), key=lambda pair: pair[0], reverse=True)
    n, lowest = len(pairs), pairs[-1][0]
    sizes: list[int] = []
    held: list[float] = []
    need = math.inf
    for i, (p, _) in enumerate(pairs):
        if held and len(held) > need and n - i > 40 and held[-1] - lowest > 0.05:
            sizes.append(len(held))
            held = []
        held.append(p)
        span = held[0] - held[-1]
        need = 0.25 * (1.645 / span) * (1.645 / span) if span else math.inf
    sizes.append(len(held))
    last = sizes[-1]
    if need > last and len(sizes) > 1 and math.isfinite(need):
        each = int((need - last) * last / n)
        if all(size > each for size in sizes[:-1]):
            sizes = [size - each for size in sizes[:-1]] + [last + each * (len(sizes) - 1)]
    bins, start = [], 0
    for size in sizes:
        part = pairs[start : start + size]
        bins.append((math.fsum(p for p, _ in part) / size, sum(bool(c) for _, c in part) / size, size))
        start += size
    return bins


def assert_same_as_loop(confidence: np.ndarray, correct: np.ndarray) -> AdaptiveBins:
    bins = adaptive_bins_in_input_order(confidence, correct)
    loop = plain_loop(confidence.astype(float).tolist(), correct.tolist())[::-1]
    assert bins.count.tolist() == [count for _, _, count in loop]
    assert bins.accuracy.tolist() == [accuracy for _, accuracy, _ in loop]
    np.testing.assert_allclose(bins.mean_confidence, [model for model, _, _ in loop], rtol=1e-13, atol=0)
    return bins


@st.composite
def drawn_samples(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Large enough for several bins; rounding makes ties, a share at one value makes long runs of them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 1500))
    confidence = rng.beta(draw(st.floats(0.2, 30)), draw(st.floats(0.2, 10)), n)
    confidence = np.round(confidence, draw(st.sampled_from([1, 2, 3, 17])))
    run = rng.random(n) < draw(st.sampled_from([0.0, 0.0, 0.3, 0.9]))
    confidence[run] = draw(st.sampled_from([0.0, 0.5, 0.95, 1.0]))
    confidence = np.where(confidence == 0, rng.choice([0.0, -0.0], n), confidence)
    if draw(st.booleans()):
        confidence = confidence.astype(np.float32)
    return confidence, rng.random(n) < draw(st.floats(0, 1))


short_lists = st.lists(
    st.tuples(st.floats(0, 1) | st.sampled_from([0.0, -0.0, 5e-324, 0.5, 1.0]), st.booleans()),
    min_size=1,
    max_size=60,
).map(lambda pairs: (np.array([p for p, _ in pairs]), np.array([c for _, c in pairs])))


@settings(max_examples=300, deadline=None)
@given(drawn_samples() | short_lists)
def test_bisection_finds_what_the_loop_finds(samples: tuple[np.ndarray, np.ndarray]) -> None:
    assert_same_as_loop(*samples)


@settings(max_examples=300, deadline=None)
@given(drawn_samples() | short_lists, st.integers(0, 2**32 - 1))
def test_the_default_does_not_depend_on_order(samples: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    confidence, correct = samples
    order = np.random.default_rng(seed).permutation(len(confidence))
    bins, shuffled = adaptive_bins(confidence, correct), adaptive_bins(confidence[order], correct[order])
    for column in ("lowest", "mean_confidence", "accuracy", "count"):
        assert np.array_equal(getattr(bins, column), getattr(shuffled, column)), column


@settings(max_examples=300, deadline=None)
@given(drawn_samples() | short_lists)
def test_the_default_cuts_at_values_and_its_edges_give_the_same_bins(
    samples: tuple[np.ndarray, np.ndarray],
) -> None:
    confidence, correct = samples
    bins, edges = adaptive_bins(confidence, correct), adaptive_edges(confidence)
    assert edges[0] == 0
    assert edges[-1] == 1
    assert len(edges) == len(bins) + 1
    assert (np.diff(edges[:-1]) > 0).all()
    assert np.array_equal(edges[1:-1], bins.lowest[1:])
    index = np.searchsorted(edges[1:-1], confidence, side="right")
    assert np.array_equal(np.bincount(index, minlength=len(bins)), bins.count)
    assert np.array_equal(np.bincount(index, weights=correct) / bins.count, bins.accuracy)
    mean = np.bincount(index, weights=confidence.astype(float)) / bins.count
    np.testing.assert_allclose(mean, bins.mean_confidence, rtol=1e-12, atol=0)
    in_order = adaptive_bins_in_input_order(confidence, correct)
    if len(np.unique(confidence)) == len(confidence):
        for column in ("lowest", "accuracy", "count"):
            assert np.array_equal(getattr(bins, column), getattr(in_order, column)), column
        np.testing.assert_allclose(in_order.mean_confidence, bins.mean_confidence, rtol=1e-13, atol=0)


def test_a_cut_among_equal_confidences_moves_to_the_nearer_end() -> None:
    # The loop closes the bin of 1.0 after one 0.9, and that of 0.9 after one 0.5.
    confidence = np.repeat([1.0, 0.9, 0.5, 0.1], [200, 300, 400, 500])
    correct = np.ones(1400, dtype=bool)
    assert adaptive_bins_in_input_order(confidence, correct).count.tolist() == [899, 300, 201]
    bins = adaptive_bins(confidence, correct)
    assert bins.count.tolist() == [900, 300, 200]
    assert bins.mean_confidence.tolist() == pytest.approx([(0.5 * 4 + 0.1 * 5) / 9, 0.9, 1.0])
    assert adaptive_edges(confidence).tolist() == [0.0, 0.9, 1.0, 1.0]


def test_fractional_correctness_is_averaged_by_default_and_truth_in_input_order() -> None:
    confidence, correct = np.array([0.2, 0.4, 0.9]), np.array([0.0, 0.25, 1.0])
    assert adaptive_bins(confidence, correct).accuracy.tolist() == pytest.approx([1.25 / 3])
    assert adaptive_bins_in_input_order(confidence, correct).accuracy.tolist() == pytest.approx([2 / 3])


def test_integers_and_lists_are_read_too() -> None:
    assert adaptive_bins([0, 1, 1], [0, 1, 0]).accuracy.tolist() == pytest.approx([1 / 3])
    assert adaptive_bins([0.5], [True]).count.tolist() == [1]


@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ([0.5, 1.5], [0, 1], r"from 0 to 1, got 1.5 at position 1"),
        ([-0.5, 0.5], [0, 1], r"from 0 to 1, got -0.5 at position 0"),
        ([0.5, math.nan], [0, 1], r"got nan at position 1"),
        ([0.5], [0, 1], r"shapes \(1,\) and \(2,\)"),
        ([[0.5]], [[1]], r"shapes \(1, 1\)"),
        ([], [], r"no confidences"),
    ],
)
def test_bad_input_says_what_is_wrong(confidence: Any, correct: Any, message: str) -> None:
    for bins in (adaptive_bins, adaptive_bins_in_input_order):
        with pytest.raises(ValueError, match=message):
            bins(confidence, correct)


def test_never_more_than_one_bin_up_to_42_samples() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 43):
        assert len(greedy_sizes(n, np.sort(rng.random(n))[::-1].__getitem__)[0]) == 1
    assert len(greedy_sizes(43, np.linspace(1, 0, 43).__getitem__)[0]) == 1
    apart = np.concatenate([[1.0], np.linspace(0.4, 0.0, 42)])
    assert greedy_sizes(43, apart.__getitem__)[0] == [2, 41]


def test_a_bin_closes_when_it_holds_more_than_it_needs() -> None:
    span = 1.645 / 4  # needs 4, to the bit
    values = [span, span, span, 0.0, 0.0, *np.linspace(-1, -2, 60)]
    assert greedy_sizes(len(values), values.__getitem__)[0][0] == 5


def test_the_last_bin_borrows_only_what_the_others_can_lend() -> None:
    assert lent([11, 100], 111.0, 110) == 10
    assert lent([10, 100], 111.0, 110) == 0
    assert lent([10, 100], 100.0, 110) == 0
    assert lent([10, 100], math.inf, 110) == 0
    assert lent([110], 500.0, 110) == 0


@pytest.mark.golden
def test_the_same_samples_in_two_orders(golden: Path) -> None:
    errors: dict[str, set[float]] = {"default": set(), "input order": set()}
    for name in ("tie_order_a", "tie_order_b"):
        case = json.loads((golden / f"calibrated/metrics/{name}.json").read_text())
        for label, rule in (("default", adaptive_bins), ("input order", adaptive_bins_in_input_order)):
            bins = rule(case["conf"], case["correct"])
            gaps = np.abs(bins.mean_confidence - bins.accuracy)
            errors[label].add(round(float(np.sum(gaps * bins.count) / bins.count.sum()), 4))
    assert errors["input order"] == {0.0677, 0.0637}
    assert len(errors["default"]) == 1


def test_edges_from_counted_cells_are_those_of_the_samples_up_to_their_width():
    for seed, (a, b) in enumerate([(5, 2), (30, 0.6), (0.5, 0.5), (2, 8)]):
        values = np.random.default_rng(seed).beta(a, b, 200_000)
        counted = _counted(values)
        exact = adaptive_edges(values)
        coarse = adaptive_edges_of_cells(counted.grid.lower_ends[counted.cell], counted.rows)
        assert abs(len(exact) - len(coarse)) <= 1
        if len(exact) == len(coarse):
            assert np.abs(exact - coarse).max() < 3e-3
    assert adaptive_edges_of_cells(np.array([0.7]), np.array([5000])).tolist() == [0.0, 1.0]


def test_edges_of_equal_mass_from_counted_cells():
    values = np.random.default_rng(3).beta(5, 2, 100_000)
    exact, counted = _mass_edges(15, {"confidence": values}), _counted_mass_edges(15, _counted(values))
    assert len(exact) == len(counted)
    assert np.abs(exact - counted).max() < 2 * WIDEST
    # Rows that are cut off from those below: no cell is in two bins.
    assert all(edge in Grid().lower_ends for edge in counted[1:-1])
    assert _counted_mass_edges(15, _counted(np.empty(0))).tolist() == [0.0, 1.0]
    sure = _counted_mass_edges(10, _counted(np.r_[np.linspace(0, 0.9, 100), np.ones(900)]))
    assert sure[-2] == 1.0 < sure[-1]


def _counted(values: np.ndarray) -> Counted:
    grid = Grid()
    cell, rows = np.unique(grid.cell_of(values), return_counts=True)
    return Counted(grid, cell, np.zeros(len(cell), dtype=np.bool_), rows)
