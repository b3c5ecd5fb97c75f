"""Very many rows are counted on a grid: the same figures, in any split of the rows, within what is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

from sensecheck.calibrated.figures import statistics
from sensecheck.statistics import counted
from sensecheck.statistics.estimate import Estimates, estimate
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.grid import WIDEST, Grid
from sensecheck.statistics.measurements import Frames

# Of single rows: what the order within cells may change. docs/calibrated.md says so.
ORDER = ("auroc", "aurc", "e_aurc", "accuracy_at_50", "accuracy_at_80", "accuracy_at_90", "smooth_ece")
NO_INTERVALS = IntervalOptions(method="none")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count from 100 rows on."""
    monkeypatch.setattr(counted, "COUNTED_ABOVE", 100)


def rows_of(n: int, seed: int = 0, *, sure: bool = False, decimals: int | None = None) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    confidence = 1 - rng.random(n) ** 8 if sure else rng.beta(4, 1.5, n)
    if decimals is not None:
        confidence = confidence.round(decimals)
    return pl.DataFrame(
        {
            "id": [str(i) for i in range(n)],
            "scored": [True] * n,
            "reason": pl.Series([None] * n, dtype=pl.String),
            "confidence": confidence,
            "correct": rng.random(n) < confidence**1.3,
            "kind": [f"k{i}" for i in rng.integers(0, 5, n)],
        }
    )


def both(rows: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> tuple[Estimates, Estimates]:
    """Figures of the rows as they are, and of the rows counted."""
    method = asked.pop("method", {"bins": 20})
    asked.setdefault("options", IntervalOptions(replicates=400))
    exact = estimate(Frames(rows), statistics(method), **asked)
    monkeypatch.setattr(counted, "COUNTED_ABOVE", 1)
    return exact, estimate(Frames(rows), statistics(method), **asked)


def pairs(exact: Estimates, from_counts: Estimates) -> list[tuple[Figure, Figure]]:
    there = [*exact.overall, *(f for slices in exact.slices.values() for of_slice in slices for f in of_slice)]
    here = [
        *from_counts.overall, *(f for slices in from_counts.slices.values() for of_slice in slices for f in of_slice),
    ]  # fmt: skip
    return list(zip(there, here, strict=True))


# -- the grid -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("edges", [[], np.linspace(0, 1, 21), np.linspace(0, 1, 8), [0.25, 0.3, 0.5]])
def test_cells_follow_the_order_of_numbers(edges: Sequence[float]) -> None:
    grid = Grid(edges)
    places = np.arange(grid.size)
    assert (np.diff(grid.lower_ends) > 0).all() and (np.diff(grid.middles) > 0).all()
    assert np.array_equal(grid.cell_of(grid.lower_ends), places)
    assert np.array_equal(grid.cell_of(grid.middles), places)
    assert np.array_equal(grid.cell_of(np.nextafter(grid.lower_ends[1:], -1)), places[:-1])
    rng = np.random.default_rng(1)
    values = np.sort(np.concatenate([rng.random(10_000), rng.random(5000) ** 9, 1 - rng.random(5000) ** 9]))
    cells = grid.cell_of(values)
    assert (np.diff(cells) >= 0).all()
    assert np.abs(grid.middles[cells] - values).max() <= WIDEST / 2
    # Near the ends a cell is as narrow as its distance from them, and the ends are alone.
    near = values[(values < 1e-3) & (values > 2.0**-24)]
    assert (np.abs(grid.middles[grid.cell_of(near)] - near) <= near / 4096).all()
    assert grid.cell_of(np.array([-0.0, 5e-324, 1 - 2.0**-53, 1.0])).tolist() == [0, 1, grid.size - 2, grid.size - 1]


def test_no_cell_is_in_two_bins() -> None:
    edges = np.linspace(0, 1, 21)
    grid = Grid(edges)
    low, high = grid.lower_ends[:-1], np.nextafter(grid.lower_ends[1:], -1)
    assert np.array_equal(np.searchsorted(edges, low, side="right"), np.searchsorted(edges, high, side="right"))


# -- figures --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [{}, {"sure": True}, {"decimals": 2}, {"decimals": 0}])
def test_figures_are_those_of_the_rows(shape: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    exact, from_counts = both(rows_of(30_000, **shape), monkeypatch, slices=[("kind",)], options=NO_INTERVALS)
    for one, other in pairs(exact, from_counts):
        assert (one.n, one.unscored, one.slice) == (other.n, other.unscored, other.slice)
        # Rounded confidences are equal or in different cells: nothing is lost, but that a cell stands for its middle.
        within = {"smooth_ece": 4e-5, "risk_coverage": 3e-4}.get(one.name, 5e-5 if "decimals" not in shape else 1e-12)
        if one.name in ORDER or one.name == "risk_coverage":
            np.testing.assert_allclose(other.value, one.value, rtol=0, atol=within * (10 if one.slice else 1))
        elif one.name in ("ace", "adaptive_ece"):
            np.testing.assert_allclose(other.value, one.value, rtol=0, atol=2e-3)  # edges lie between cells
        else:
            np.testing.assert_array_equal(other.value, one.value)


@pytest.mark.parametrize("shape", [{}, {"sure": True}, {"decimals": 1}])
def test_intervals_are_those_of_the_rows(shape: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    exact, from_counts = both(rows_of(20_000, **shape), monkeypatch, options=IntervalOptions(replicates=1000))
    for one, other in pairs(exact, from_counts):
        if not isinstance(one.low, float) or not isinstance(other.low, float):
            assert one.absent == other.absent
            continue
        assert isinstance(one.high, float) and isinstance(other.high, float)
        assert one.method == other.method
        wide = one.high - one.low
        # Ends of 1,000 replicates are off by 8 % of half the width themselves.
        share = 0.3 if one.name in ("pearson", "underconfidence") else 0.15  # of nearly empty bins; of a figure at 0
        assert abs(other.low - one.low) <= share * wide + 1e-9, one.name
        assert abs(other.high - one.high) <= share * wide + 1e-9, one.name


def test_any_split_of_the_rows_gives_the_same_digits(few: None) -> None:
    rows = rows_of(20_000, sure=True)
    options = IntervalOptions(replicates=100)
    for table in (rows, rows.with_columns(cluster=pl.int_range(pl.len()) // 4)):
        whole = estimate(Frames(table), statistics({"bins": 20}), slices=[("kind",)], options=options)
        split = Frames([table[15_000:], table[:1], table[1:15_000]])
        parts = estimate(split, statistics({"bins": 20}), slices=[("kind",)], options=options)
        for one, other in pairs(whole, parts):
            assert one.to_dict() == other.to_dict()


def test_slices_are_resampled_within_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice whose confidences lie in one bin of the run; and slices of a few rows."""
    rows = rows_of(20_000)
    rng = np.random.default_rng(4)
    narrow = pl.int_range(pl.len()) < 3000
    rank = pl.Series(rng.random(20_000))
    rows = rows.with_columns(
        confidence=pl.when(narrow).then(0.9 + 0.004 * rank).otherwise("confidence"),
        correct=pl.when(narrow).then(pl.Series(rng.random(20_000)) < rank).otherwise("correct"),
        kind=pl.when(narrow)
        .then(pl.lit("narrow"))
        .when(pl.int_range(pl.len()) < 6000)
        .then(pl.lit("g") + (pl.int_range(pl.len()) // 20).cast(pl.String))
        .otherwise(pl.lit("rest")),
    )
    exact, from_counts = both(rows, monkeypatch, slices=[("kind",)], options=IntervalOptions(replicates=1000))
    for one, other in pairs(exact, from_counts):
        assert other.absent == one.absent
        if one.name in ORDER and isinstance(other.low, float) and isinstance(other.high, float):
            assert isinstance(one.low, float) and isinstance(one.high, float)
            assert 0 <= other.low <= other.high <= 1
            if one.n == 3000:
                assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.15), one.name
            elif one.name != "smooth_ece":
                assert abs(other.low - one.low) < 0.25 and abs(other.high - one.high) < 0.25, one.name


def test_weighted_rows_are_not_counted(few: None) -> None:
    """Weights may differ a millionfold: 2,000 rows, of which a slice weighs next to nothing."""
    rows = rows_of(2000).with_columns(weight=pl.when(pl.col("kind") == "k1").then(1e-6).otherwise(1.0))
    found = estimate(Frames(rows), statistics({"bins": 20, "weight": "weight"}), slices=[("kind",)])
    assert not found.counted and not found.notes


@pytest.mark.parametrize("clusters", [300, 6000])
def test_rows_of_a_cluster_are_drawn_together(clusters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    owner = np.repeat(np.arange(clusters), 30_000 // clusters)
    easy = rng.random(clusters)[owner]
    rows = rows_of(30_000).with_columns(
        cluster=pl.Series(owner).cast(pl.String), correct=pl.Series(rng.random(30_000) < easy)
    )
    exact, from_counts = both(rows, monkeypatch, slices=[("kind",)], options=IntervalOptions(replicates=1000))
    for one, other in pairs(exact, from_counts):
        assert one.clusters == other.clusters
        if isinstance(one.low, float) and isinstance(one.high, float) and not one.slice:
            assert isinstance(other.low, float) and isinstance(other.high, float)
            wide = one.high - one.low
            assert abs(other.low - one.low) <= 0.25 * wide + 1e-9, one.name
            assert abs(other.high - one.high) <= 0.25 * wide + 1e-9, one.name
    rows_alone = estimate(Frames(rows.drop("cluster")), statistics({"bins": 20}), options=IntervalOptions())
    narrow, wide = rows_alone.figure("aurc"), from_counts.figure("aurc")
    assert isinstance(wide.high, float) and isinstance(wide.low, float)
    assert isinstance(narrow.high, float) and isinstance(narrow.low, float)
    assert wide.high - wide.low > narrow.high - narrow.low


def test_rows_without_a_verdict_or_a_confidence(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(5000).with_columns(
        correct=pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("correct"),
        confidence=pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("confidence"),
        scored=pl.int_range(pl.len()) % 11 != 0,
        reason=pl.when(pl.int_range(pl.len()) % 11 == 0).then(pl.lit("no answer")),
    )
    exact, from_counts = both(rows, monkeypatch, slices=[("kind",)])
    for one, other in pairs(exact, from_counts):
        assert (one.n, one.unscored) == (other.n, other.unscored)
        np.testing.assert_allclose(other.value, one.value, rtol=0, atol=3e-3)


@pytest.mark.parametrize("confidence", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("correct", [True, False])
def test_all_rows_alike(confidence: float, correct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(300).with_columns(confidence=pl.lit(confidence), correct=pl.lit(correct))
    exact, from_counts = both(rows, monkeypatch)
    for one, other in pairs(exact, from_counts):
        np.testing.assert_allclose(other.value, one.value, rtol=0, atol=1e-12)
        if one.name == "nll_clipped":
            continue  # of single rows, rounding to their exact grid is taken for variation
        assert one.absent == other.absent
        if isinstance(one.low, float):
            np.testing.assert_allclose([other.low, other.high], [one.low, one.high], rtol=0, atol=2e-3)


def test_rows_of_a_slice_that_are_all_alike_do_not_vary(few: None) -> None:
    """Three right answers of the same confidence, which is no middle of a cell: nothing tells how far NLL varies."""
    rows = rows_of(500).with_columns(kind=pl.Series(["a"] * 497 + ["b"] * 3))
    alike = pl.col("kind") == "b"
    rows = rows.with_columns(
        confidence=pl.when(alike).then(0.7).otherwise("confidence"), correct=pl.col("correct") | alike
    )
    figures = estimate(Frames(rows), statistics({"bins": 20}), slices=[("kind",)]).slices["kind",][1]
    (nll,) = (figure for figure in figures if figure.name == "nll")
    assert nll.value == pytest.approx(-np.log(0.7)) and nll.low is None
    assert nll.absent == "every unit has the same value, which says nothing about others"


@pytest.mark.parametrize("n", [2, 3, 10])
def test_few_rows_in_a_slice(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(500).with_columns(kind=pl.Series(["a"] * (500 - n - 1) + ["b"] * n + ["c"]))
    exact, from_counts = both(rows, monkeypatch, slices=[("kind",)])
    for one, other in pairs(exact, from_counts):
        assert (one.n, one.absent == "only one row") == (other.n, other.absent == "only one row")
        if one.name not in ("ace", "adaptive_ece"):
            np.testing.assert_allclose(
                other.value, one.value, rtol=0, atol=3e-3 if one.name == "risk_coverage" else 2e-4
            )


def test_no_row_is_scored(few: None) -> None:
    rows = rows_of(200).with_columns(scored=pl.lit(False), reason=pl.lit("no answer"))
    for figure in estimate(Frames(rows), statistics({"bins": 20}), slices=[("kind",)]).overall:
        assert figure.n == 0 and figure.unscored == {"no answer": 200}


def test_more_slices_than_are_counted_at_a_time(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, options = rows_of(3000), IntervalOptions(replicates=100)
    at_once = estimate(Frames(rows), statistics({"bins": 20}), slices=[("kind",)], options=options)
    monkeypatch.setattr(counted, "_MOST_CELLS", 1)
    one_by_one = estimate(Frames(rows), statistics({"bins": 20}), slices=[("kind",)], options=options)
    for one, other in pairs(at_once, one_by_one):
        assert one.to_dict() == other.to_dict()
    clustered = rows.with_columns(cluster=pl.int_range(pl.len()) // 5)
    at_once = estimate(Frames(clustered), statistics({"bins": 20}), slices=[("kind",)], options=options)
    monkeypatch.setattr(counted, "_MOST_GROUPED", 1)
    one_by_one = estimate(Frames(clustered), statistics({"bins": 20}), slices=[("kind",)], options=options)
    for one, other in pairs(at_once, one_by_one):
        assert one.to_dict() == other.to_dict()


def test_raw_scores_and_shares_are_not_counted(few: None) -> None:
    shares = rows_of(500).with_columns(correct=pl.col("correct").cast(pl.Float64) * 0.5)
    raw = rows_of(500).with_columns(score=pl.col("confidence") * 30 - 10)
    for rows, method in ((shares, {"bins": 20}), (raw, {"bins": 20, "scale": "raw-logits"})):
        found = {f.name: f for f in estimate(Frames(rows), statistics(method)).overall}
        assert 0 < found["auroc"].value < 1


def test_confidences_that_crowd_within_cells_are_not_counted(few: None) -> None:
    """Within a millionth of each other, or of 1: the grid would take rows for equals that are not."""
    rng = np.random.default_rng(3)
    rank = rng.random(3000)
    for confidence in (0.9 + 1e-6 * rank, 1 - 10 ** -(1 + 11 * rank)):
        rows = rows_of(3000).with_columns(confidence=pl.Series(confidence), correct=pl.Series(rng.random(3000) < rank))
        found = estimate(Frames(rows), statistics({"bins": 20}), options=NO_INTERVALS)
        assert not found.counted and not found.notes
        assert abs(found.figure("auroc").value - 0.83) < 0.02


def test_more_of_them_than_can_be_held_have_no_interval(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sensecheck.statistics.estimate.MOST_ROWS", 1000)
    rows = rows_of(3000).with_columns(confidence=0.9 + 1e-6 * pl.col("confidence"))
    found = estimate(Frames(rows), statistics({"bins": 20}), options=IntervalOptions(replicates=100))
    assert found.counted and "the error is at most 0." in found.notes[0]
    assert "the order within cells of the grid may change it" in found.figure("auroc").absent
    assert found.figure("ece").low is not None


@pytest.mark.parametrize("decimals", [0, 1, 2, 3])
def test_equals_lose_nothing(decimals: int, few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(3000, decimals=decimals)
    found = estimate(Frames(rows), statistics({"bins": 20}), options=NO_INTERVALS)
    assert found.counted and "nothing is lost by that" in found.notes[0]
    monkeypatch.undo()
    exact = estimate(Frames(rows), statistics({"bins": 20}), options=NO_INTERVALS)
    for name in ("auroc", "aurc", "e_aurc", "accuracy_at_80"):
        assert found.figure(name).value == pytest.approx(exact.figure(name).value, rel=1e-12)


def test_some_rows_that_are_not_scored_change_nothing_for_the_others(few: None) -> None:
    rows = rows_of(2000)
    with_some = pl.concat([rows, rows[:50].with_columns(scored=pl.lit(False), reason=pl.lit("no answer"))])
    options = IntervalOptions(replicates=100)
    a, b = (
        estimate(Frames(r), statistics({"bins": 20}), slices=[("kind",)], options=options) for r in (rows, with_some)
    )
    for one, other in pairs(a, b):
        assert one.to_dict() == {**other.to_dict(), "unscored": {}}


@pytest.mark.parametrize("lacking", [False, True])
def test_one_slice_crowds_within_a_cell(lacking: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousandth of the rows, within a millionth of each other: the run does not show it, the slice would read 0.5."""
    rng = np.random.default_rng(5)
    rank = pl.Series(rng.random(60_000))
    crowds = pl.int_range(pl.len()) < 60
    rows = rows_of(60_000).with_columns(
        confidence=pl.when(crowds).then(0.35 + 1e-6 * rank).otherwise("confidence"),
        correct=pl.when(crowds).then(pl.Series(rng.random(60_000)) < rank).otherwise("correct"),
        kind=pl.when(crowds).then(pl.lit("crowd")).otherwise("kind"),
    )
    if lacking:
        rows = rows.with_columns(correct=pl.when(pl.int_range(pl.len()) % 10 == 9).then(None).otherwise("correct"))
    exact, from_counts = both(rows, monkeypatch, slices=[("kind",)], options=NO_INTERVALS)
    assert from_counts.counted and "the error is at most" in from_counts.notes[0]
    for one, other in pairs(exact, from_counts):
        if one.slice == {"kind": "crowd"} and one.name in ORDER:
            assert other.value == one.value


def test_crowded_rows_of_which_some_lack_a_verdict(few: None) -> None:
    rows = rows_of(3000).with_columns(
        confidence=0.9 + 1e-6 * pl.col("confidence"),
        correct=pl.when(pl.int_range(pl.len()) % 10 == 0).then(None).otherwise("correct"),
    )
    assert not estimate(Frames(rows), statistics({"bins": 20}), options=NO_INTERVALS).counted


def test_places_that_are_sorted_tell_the_same_as_cells_that_are_counted(
    few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(3000).with_columns(pl.when(pl.col("kind") != "k1").then("confidence").otherwise(0.0))
    asked: dict[str, Any] = {"slices": [("kind",)], "options": IntervalOptions(replicates=100)}
    placed = estimate(Frames(rows), statistics({"bins": 20}), **asked)
    monkeypatch.setattr(counted, "_MOST_PLACES", 0)
    for one, other in pairs(placed, estimate(Frames(rows), statistics({"bins": 20}), **asked)):
        assert one.to_dict() == other.to_dict()


@pytest.mark.parametrize("shape", [{}, {"sure": True}, {"decimals": 1}, {"clusters": 700}])
def test_rows_that_are_kept_and_only_resampled_by_counts(
    shape: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(6000, **{name: value for name, value in shape.items() if name != "clusters"})
    if "clusters" in shape:
        rows = rows.with_columns(cluster=pl.int_range(pl.len()) % shape["clusters"])
    asked: dict[str, Any] = {"slices": [("kind",)], "options": IntervalOptions(replicates=1000)}
    by_rows = estimate(Frames(rows), statistics({"bins": 20}), **asked)
    monkeypatch.setattr(counted, "RESAMPLED_ABOVE", 1000)
    by_counts = estimate(Frames(rows), statistics({"bins": 20}), **asked)
    assert not by_counts.counted and not by_counts.notes
    differ = 0
    for one, other in pairs(by_rows, by_counts):
        np.testing.assert_array_equal(one.value, other.value)
        assert (one.n, one.absent, one.method) == (other.n, other.absent, other.method), one.name
        assert one.beside == other.beside
        if isinstance(one.low, float) and isinstance(one.high, float):
            assert isinstance(other.low, float) and isinstance(other.high, float)
            # Near an end of their range (0, or 1 of the surest half) ends hang on few replicates.
            share = 0.6 if one.name in ("pearson", "underconfidence", "smooth_ece", "accuracy_at_50") else 0.3
            assert abs(other.low - one.low) <= share * (one.high - one.low) + 1e-9, one.name
            assert abs(other.high - one.high) <= share * (one.high - one.low) + 1e-9, one.name
            differ += one.low != other.low
    assert differ, "some are resampled"


def test_rows_that_are_kept_give_the_same_digits_in_any_order_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "RESAMPLED_ABOVE", 1000)
    rows = rows_of(3000)
    asked: dict[str, Any] = {"slices": [("kind",)], "options": IntervalOptions(replicates=100)}
    at_once = estimate(Frames(rows), statistics({"bins": 20}), **asked)
    mixed = rows.sample(fraction=1.0, shuffle=True, seed=1)
    parts = Frames([mixed[:7], mixed[7:1500], mixed[1500:]])
    for one, other in pairs(at_once, estimate(parts, statistics({"bins": 20}), **asked)):
        assert one.to_dict() == other.to_dict()
