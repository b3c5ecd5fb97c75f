"""Values, slices, intervals and weights from one mechanism."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck.statistics import row_figures, summing, units
from sensecheck.statistics import table as rows_table
from sensecheck.statistics.binning import bin_index
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.measurements import Frames
from sensecheck.statistics.statistic import ONE, Anchor, Bins, RowStatistic, Statistic, mean_of, ratio
from sensecheck.statistics.table import SliceError

F1 = Statistic("f1", ("tp", "fp", "fn"), lambda tp, fp, fn: ratio(2 * tp, 2 * tp + fp + fn), direction="higher")
RATIO = Statistic("ratio", ("x", "y"), ratio)
ECE = Statistic(
    "ece",
    ("confidence", "correct", ONE),
    lambda c, y, n: np.abs(c - y).sum(-1) / n.sum(-1),
    bins=Bins("confidence", tuple(np.linspace(0, 1, 11).tolist())),
)


def table(n: int = 500, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    confidence = rng.beta(4, 2, n)
    return pl.DataFrame(
        {
            "id": [f"q{i}" for i in range(n)],
            "x": rng.gamma(2.0, 1.0, n),
            "y": rng.gamma(3.0, 1.0, n),
            "em": rng.random(n) < 0.7,
            "tp": rng.integers(0, 5, n),
            "fp": rng.integers(0, 3, n),
            "fn": rng.integers(0, 3, n),
            "confidence": confidence,
            "correct": rng.random(n) < confidence,
            "kind": rng.choice(["a", "b", "c"], n),
            "turn": rng.choice(["1", "2"], n),
        }
    )


ALL = [F1, RATIO, ECE, mean_of("x"), mean_of("em")]


def test_values_are_what_a_plain_computation_gives():
    frame = table()
    found = estimate(Frames(frame), ALL, slices=[("kind",), ("kind", "turn")])
    tp, fp, fn = (frame[c].sum() for c in ("tp", "fp", "fn"))
    assert found.figure("f1").value == pytest.approx(2 * tp / (2 * tp + fp + fn), abs=1e-15)
    assert found.figure("x").value == pytest.approx(frame["x"].mean(), abs=1e-14)
    index = bin_index(frame["confidence"].to_numpy(), np.linspace(0, 1, 11))
    gaps = np.bincount(index, frame["confidence"].to_numpy() - frame["correct"].to_numpy(), 10)
    assert found.figure("ece").value == pytest.approx(np.abs(gaps).sum() / len(frame), abs=1e-14)
    by_kind = {f[0].slice["kind"]: f for f in found.slices[("kind",)]}
    for kind, figures in by_kind.items():
        part = frame.filter(pl.col("kind") == kind)
        assert figures[3].value == pytest.approx(part["x"].mean(), abs=1e-14)
        assert figures[3].n == len(part)
    assert len(found.slices[("kind", "turn")]) == 6


@given(st.integers(1, 6), st.randoms(use_true_random=False), st.integers(1, 3))
@settings(max_examples=15, deadline=None)
def test_any_order_split_and_number_of_threads_gives_the_same_digits(parts, random, jobs):
    frame = table(300)
    whole = estimate(Frames(frame), ALL, slices=[("kind",)], options=IntervalOptions(replicates=100))
    rows = list(range(len(frame)))
    random.shuffle(rows)
    shuffled = frame[rows]
    cuts = sorted(random.sample(range(1, len(frame)), parts - 1)) if parts > 1 else []
    frames = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(frame)], strict=True)]
    split = estimate(Frames(frames), ALL, slices=[("kind",)], options=IntervalOptions(replicates=100, jobs=jobs))
    assert split.overall == whole.overall
    assert split.slices == whole.slices


def test_another_seed_moves_intervals_and_no_value():
    frame = Frames(table())
    a = estimate(frame, ALL, options=IntervalOptions(seed=1))
    b = estimate(frame, ALL, options=IntervalOptions(seed=2))
    assert [f.value for f in a.overall] == [f.value for f in b.overall]
    resampled = [(x, y) for x, y in zip(a.overall, b.overall, strict=True) if "bootstrap" in x.method]
    assert resampled and all(x.low != y.low for x, y in resampled)
    closed = [(x, y) for x, y in zip(a.overall, b.overall, strict=True) if "bootstrap" not in x.method]
    assert closed and all(x.low == y.low for x, y in closed)


def test_a_constant_column_has_an_interval_of_no_width():
    frame = table().with_columns(x=pl.lit(0.3), em=pl.lit(True))
    for method in ("percentile", "bca"):
        found = estimate(Frames(frame), [mean_of("x"), mean_of("em")], options=IntervalOptions(method=method))
        assert [(f.low, f.high) for f in found.overall] == [(pytest.approx(0.3), pytest.approx(0.3)), (1.0, 1.0)]
        assert found.overall[0].high - found.overall[0].low < 1e-12


def test_clusters_are_resampled_as_wholes():
    rng = np.random.default_rng(3)
    effect = np.repeat(rng.normal(0, 1, 100), 20)
    frame = pl.DataFrame(
        {"id": np.arange(2000), "cluster": np.repeat(np.arange(100), 20), "x": effect + rng.normal(0, 0.1, 2000)}
    )
    clustered = estimate(Frames(frame), [mean_of("x")]).overall[0]
    plain = estimate(Frames(frame.drop("cluster")), [mean_of("x")]).overall[0]
    assert clustered.clusters == 100
    assert (clustered.high - clustered.low) > 3 * (plain.high - plain.low)
    means = frame.group_by("cluster").agg(pl.col("x").mean())["x"].to_numpy()
    assert clustered.high - clustered.low == pytest.approx(2 * 1.96 * means.std() / 10, rel=0.15)


def test_whole_weights_are_like_repeated_rows():
    frame = table(60).with_columns(weight=pl.Series([1, 2, 3] * 20))
    repeated = frame.select(pl.all().repeat_by("weight")).explode(pl.all()).drop("weight")
    weighted = estimate(Frames(frame), ALL).overall
    plain = estimate(Frames(repeated), ALL).overall
    for a, b in zip(weighted, plain, strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-12)


def test_tiny_weights_lose_no_precision():
    frame = table(400)
    tiny = frame.with_columns(weight=pl.lit(1e-9))
    a, b = estimate(Frames(frame), [mean_of("x")]).overall[0], estimate(Frames(tiny), [mean_of("x")]).overall[0]
    assert a.value == pytest.approx(b.value, rel=1e-12)
    assert a.low == pytest.approx(b.low, rel=1e-6)


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="weights must be"):
        estimate(Frames(table(10).with_columns(weight=pl.lit(-1.0))), [mean_of("x")])


def test_unscored_rows_are_counted_with_their_reasons():
    frame = table(100).with_columns(
        scored=pl.Series([False] * 10 + [True] * 90),
        reason=pl.Series(["timeout"] * 4 + ["syntax"] * 6 + [None] * 90),
        x=pl.Series([None] * 15 + [1.0] * 85),
        y=pl.Series([float("nan")] * 12 + [1.0] * 88),
    )
    found = estimate(Frames(frame), [mean_of("x"), mean_of("y"), mean_of("em")], slices=[("kind",)])
    x, y, em = found.overall
    assert (x.n, y.n, em.n) == (85, 88, 90)
    assert x.unscored == {"timeout": 4, "syntax": 6, "no x": 5}
    assert y.unscored == {"timeout": 4, "syntax": 6, "no y": 2}
    assert em.unscored == {"timeout": 4, "syntax": 6}
    by_row = mean_of("x", absent_column="why")
    told = estimate(Frames(frame.with_columns(why=pl.lit("late"))), [by_row, mean_of("y", absent="no answer")])
    assert [f.unscored for f in told.overall] == [
        {"timeout": 4, "syntax": 6, "late": 5},
        {"timeout": 4, "syntax": 6, "no answer": 2},
    ]
    assert x.value == 1.0
    assert sum(f[0].n for f in found.slices[("kind",)]) == 85


def test_no_interval_says_why():
    one = estimate(Frames(table(1)), [mean_of("x")]).overall[0]
    assert one.low is None and one.absent == "only one row"
    none = estimate(Frames(table(3)), [mean_of("x")], options=IntervalOptions(method="none")).overall[0]
    assert none.absent == "intervals were turned off"
    single = table(5).with_columns(cluster=pl.lit("c"))
    assert "one cluster" in estimate(Frames(single), [mean_of("x")]).overall[0].absent
    empty = estimate(Frames(table(0)), [mean_of("x")]).overall[0]
    assert empty.n == 0 and math.isnan(empty.value)


def test_discrete_scores_use_the_exact_multinomial_and_continuous_ones_do_not():
    resampled = IntervalOptions(method="percentile")
    found = estimate(Frames(table()), [F1, mean_of("em"), mean_of("x")], options=resampled).overall
    assert [f.method.split(",")[0] for f in found] == ["multinomial", "multinomial", "bootstrap"]
    n, p = 500, found[1].value
    spread = math.sqrt(p * (1 - p) / n)
    assert found[1].high - found[1].low == pytest.approx(2 * 1.96 * spread, rel=0.1)


def test_anchors_come_from_one_pass_and_stay_fixed():
    halves = Statistic(
        "upper_share",
        ("x", ONE),
        lambda x, n: ratio(n[..., 1], n.sum(-1)),
        bins=Bins("x", "median_edges"),
        anchors=(Anchor("median_edges", ("x",), lambda c: np.array([0, np.median(c["x"]), c["x"].max()])),),
    )
    fixed = Statistic(
        "upper_share", halves.sums, lambda x, n, anchors: halves.finish(x, n), bins=halves.bins, anchors=halves.anchors
    )
    found = estimate(Frames(table(501)), [fixed])
    assert found.overall[0].value == pytest.approx(0.5, abs=0.01)
    assert found.overall[0].low < 0.5 < found.overall[0].high
    other = estimate(Frames(table(200, seed=9)), [fixed], anchors=found.anchors)
    assert other.anchors["median_edges"].tolist() == found.anchors["median_edges"].tolist()


def test_a_row_statistic_takes_the_same_weights_as_a_sum():
    by_rows = RowStatistic("x", ("x",), lambda c: c["x"], lambda x, w: (w @ x) / w.sum(1))
    frame = Frames(table())
    resampled = IntervalOptions(method="percentile")
    rows = estimate(frame, [by_rows], slices=[("kind",)], options=resampled)
    sums = estimate(frame, [mean_of("x")], slices=[("kind",)], options=resampled)
    for a, b in zip([rows.overall, *rows.slices[("kind",)]], [sums.overall, *sums.slices[("kind",)]], strict=True):
        assert a[0].value == pytest.approx(b[0].value, abs=1e-12)
        assert (a[0].low, a[0].high) == (pytest.approx(b[0].low, abs=1e-8), pytest.approx(b[0].high, abs=1e-8))


def test_a_vector_has_an_interval_for_each_entry():
    curve = Statistic("curve", ("correct", ONE), ratio, bins=Bins("confidence", (0.0, 0.5, 0.75, 1.0)), vector=True)
    found = estimate(Frames(table(2000)), [curve]).overall[0]
    assert len(found.value) == len(found.low) == 3
    assert all(low < v < high for low, v, high in zip(found.low, found.value, found.high, strict=True))


def test_slices_that_are_no_slices_are_refused():
    with pytest.raises(SliceError, match="no such column"):
        estimate(Frames(table()), [mean_of("x")], slices=[("nope",)])
    with pytest.raises(SliceError, match="1,500 values"):
        estimate(Frames(table(1500)), [mean_of("x")], slices=[("id",)])


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("statistic", [mean_of("x"), RATIO])
def test_agrees_with_scipy(method, statistic):
    frame = table(400, seed=11).with_columns(x=pl.col("x") ** 2)
    mine = estimate(Frames(frame), [statistic], options=IntervalOptions(method=method, replicates=4000)).overall[0]
    x, y = frame["x"].to_numpy(), frame["y"].to_numpy()
    data, value = ((x,), np.mean) if statistic.name == "x" else ((x, y), lambda a, b, axis: a.mean(axis) / b.mean(axis))
    theirs = scipy.stats.bootstrap(
        data, value, n_resamples=4000, method={"bca": "BCa"}.get(method, method), paired=True, axis=-1, rng=1
    ).confidence_interval
    width = theirs.high - theirs.low
    assert mine.low == pytest.approx(theirs.low, abs=0.08 * width)
    assert mine.high == pytest.approx(theirs.high, abs=0.08 * width)


@pytest.mark.parametrize("bins", [1, 2, 3, 7, 10, 15, 20, 100])
def test_bins_are_those_of_the_edges_also_beside_them(bins):
    edges = np.linspace(0, 1, bins + 1)
    beside = np.concatenate(
        [edges, np.nextafter(edges, -1), np.nextafter(edges, 2), np.random.default_rng(0).random(999)]
    )
    beside = beside[(beside >= 0) & (beside <= 1)]
    expected = np.clip(np.searchsorted(edges, beside, side="right") - 1, 0, bins - 1)
    assert bin_index(beside, edges).tolist() == expected.tolist()


def test_ids_hash_the_same_in_every_process_and_version():
    text = hash_ids(pl.Series(["", "a", "q1", "q2", "日本"]))
    assert [int(h) for h in text] == EXPECTED_TEXT
    assert len({*map(int, hash_ids(pl.Series([f"id{i}" for i in range(50_000)])))}) == 50_000
    repeated = hash_ids(pl.Series(["x", "y"] * 500))
    assert repeated[0] == hash_ids(pl.Series(["x"]))[0]
    assert [int(h) for h in hash_ids(pl.Series([0, 1, 2**40]))] == EXPECTED_NUMBERS


# Recorded once: a change here would change every interval ever reported.
EXPECTED_TEXT = [0, 4508369457481259482, 3233265827734671650, 5051237747148895065, 11102019347903052565]
EXPECTED_NUMBERS = [16294208416658607535, 7960286522194355700, 1816945705467351922]


def test_very_many_rows_are_resampled_in_random_groups_with_the_same_spread():
    rng = np.random.default_rng(13)
    n = 400_000
    values = rng.gamma(2.0, 1.0, n)
    frame = pl.DataFrame({"id": np.arange(n), "x": values, "kind": rng.choice(["a", "b"], n)})
    found = estimate(Frames(frame), [mean_of("x")], slices=[("kind",)])
    truth = 2 * 1.96 * values.std() / np.sqrt(n)
    assert found.overall[0].high - found.overall[0].low == pytest.approx(truth, rel=0.1)
    for figures in found.slices[("kind",)]:
        assert figures[0].high - figures[0].low == pytest.approx(truth * np.sqrt(2), rel=0.1)
    turned = estimate(Frames([frame[150_000:], frame[:150_000]]), [mean_of("x")], slices=[("kind",)])
    assert turned.overall == found.overall and turned.slices == found.slices


def clustered_table(n: int, seed: int = 0) -> pl.DataFrame:
    return table(n, seed).with_columns(cluster=pl.format("s{}", pl.int_range(n) // 5))


@pytest.mark.parametrize("places", [0, 4096 * 3, 1 << 20])
def test_groups_with_places_of_their_own_and_sorted_ones_give_the_same_digits(monkeypatch, places):
    frame = clustered_table(60_000, seed=3)
    monkeypatch.setattr(rows_table, "_UNGROUPED_ROWS", 1000)
    expected = estimate(Frames(frame), ALL, slices=[("kind",)], options=IntervalOptions(replicates=40))
    monkeypatch.setattr(units, "_MOST_PLACES", places)
    split = Frames([frame[41_000:], frame[:20_500], frame[20_500:41_000]])
    found = estimate(split, ALL, slices=[("kind",)], options=IntervalOptions(replicates=40))
    assert found.overall == expected.overall and found.slices == expected.slices
    assert found.overall[0].clusters == 12_000


def test_figures_that_score_different_rows_keep_their_own_sums():
    rng = np.random.default_rng(8)
    n = 3000
    frame = table(n, seed=8).with_columns(
        y=pl.when(pl.Series(rng.random(n) < 0.1)).then(None).otherwise(pl.col("y")),
        scored=pl.Series(rng.random(n) < 0.9),
        reason=pl.lit("late"),
    )
    together = estimate(Frames(frame), [RATIO, mean_of("x"), mean_of("y"), ECE], slices=[("kind",)])
    for i, statistic in enumerate([RATIO, mean_of("x"), mean_of("y"), ECE]):
        alone = estimate(Frames(frame), [statistic], slices=[("kind",)])
        assert alone.overall[0] == together.overall[i]
        assert [row[0] for row in alone.slices[("kind",)]] == [row[i] for row in together.slices[("kind",)]]
    used = frame.filter(pl.col("scored"))
    assert together.overall[1].n == len(used)
    assert together.overall[0].n == together.overall[2].n == len(used.drop_nulls("y"))
    assert together.overall[0].unscored == {"late": n - len(used), "no x/y": used["y"].null_count()}


MEDIAN = RowStatistic("median", ("x",), lambda c: c["x"], lambda x, w: np.full(len(w), np.median(x)), sorted_by="x")


def test_rows_of_slices_are_held_a_few_slices_at_a_time(monkeypatch):
    frame = table(3000, seed=4)
    expected = estimate(Frames(frame), [MEDIAN], slices=[("kind", "turn")], options=IntervalOptions(replicates=20))
    monkeypatch.setattr(row_figures, "MOST_ROWS", 1100)
    found = estimate(
        Frames(frame), [MEDIAN], slices=[("kind", "turn"), ("turn",)], options=IntervalOptions(replicates=20)
    )
    assert found.slices[("kind", "turn")] == expected.slices[("kind", "turn")]
    assert len(found.slices[("kind", "turn")]) == 6
    for figure in [found.overall[0], *(row[0] for row in found.slices[("turn",)])]:
        assert math.isnan(figure.value) and "at most 1,100 rows" in figure.absent


def test_ids_in_runs_hash_like_ids_alone():
    runs = pl.Series(["a"] * 5 + ["b"] * 9 + ["a"] * 7 + [None] * 3 + [""] * 2 + ["c"] * 8)
    assert hash_ids(runs).tolist() == [int(hash_ids(pl.Series([x], dtype=pl.String))[0]) for x in runs]


def test_discrete_slices_and_the_whole_come_from_one_count(monkeypatch):
    frame = table(4000, seed=6)
    chosen = [F1, mean_of("em")]
    found = estimate(Frames(frame), chosen, slices=[("kind",), ("turn",)])
    assert found.overall == estimate(Frames(frame), chosen).overall
    monkeypatch.setattr(rows_table, "MAX_DISTINCT", 3)
    assert estimate(Frames(frame), chosen, slices=[("kind",), ("turn",)]) == found


@pytest.mark.parametrize("crossed", [True, False])
def test_too_many_distinct_rows_are_resampled_as_rows(monkeypatch, crossed):
    frame = table(4000, seed=6)
    chosen = [F1, mean_of("em")]
    percentile = IntervalOptions(method="percentile")
    few = estimate(Frames(frame), chosen, slices=[("kind",)], options=percentile)
    closed = estimate(Frames(frame), chosen, slices=[("kind",)])
    monkeypatch.setattr(summing, "_MOST_DRAWN", 3000)
    monkeypatch.setattr(summing, "MAX_DISTINCT", 3)
    if not crossed:
        monkeypatch.setattr(rows_table, "MAX_DISTINCT", 3)
    many = estimate(Frames(frame), chosen, slices=[("kind",)], options=percentile)
    for ours, theirs in zip(many.overall, few.overall, strict=True):
        assert (ours.value, ours.n) == (theirs.value, theirs.n)
        assert (ours.method, theirs.method) == ("bootstrap, percentile", "multinomial, percentile")
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.006)
    assert estimate(Frames(frame), chosen, slices=[("kind",)]) == closed


def test_very_many_rows_sorted_as_whole_numbers_are_the_same_rows(monkeypatch):
    frame = table(5000, seed=2).select("confidence", "correct")
    hostile = pl.DataFrame({"confidence": [0.0, -0.0, 5e-324, 1.0, 1.0, 1e300], "correct": [True, False] * 3})
    rows = pl.concat([frame, hostile, frame[:100]])
    ranked = RowStatistic("r", ("confidence", "correct"), lambda c: c, lambda c, w: w.sum(1), sorted_by="confidence")
    by_table = row_figures.sorted_for([ranked], rows)
    monkeypatch.setattr(row_figures, "MOST_RESAMPLED_ROWS", 10)
    packed = row_figures.sorted_for([ranked], rows)
    assert packed.columns == rows.columns
    assert packed["confidence"].equals(by_table["confidence"])
    count = [pl.len(), pl.col("correct").sum()]
    assert packed.group_by("confidence").agg(count).sort("confidence").equals(
        by_table.group_by("confidence").agg(count).sort("confidence")
    )  # fmt: skip
    below = rows.with_columns(confidence=pl.col("confidence") - 0.5)
    assert row_figures.sorted_for([ranked], below).equals(below.sort("confidence", maintain_order=True))
