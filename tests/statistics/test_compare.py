"""Two runs: paired by unit, honest under the null, in agreement with what others compute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from sensecheck.statistics.compare import (
    ComparisonError,
    Difference,
    compare,
    flips,
    holm,
    mcnemar,
    scored_differences,
)
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import Frames
from sensecheck.statistics.shared_rows import PairedRuns
from sensecheck.statistics.statistic import RowStatistic, Statistic, mean_of

QUICK = IntervalOptions(replicates=400)


def run(values: np.ndarray, name: str = "x", **columns: object) -> Frames:
    return Frames(pl.DataFrame({"id": np.arange(len(values)), name: values, **columns}))


def test_differences_are_paired():
    rng = np.random.default_rng(1)
    hard = rng.normal(0, 3, 400)
    a, b = hard + rng.normal(0, 0.1, 400), hard + 0.05 + rng.normal(0, 0.1, 400)
    found = compare(run(a), run(b), [mean_of("x", direction="higher")])[0]
    truth = scipy.stats.ttest_rel(b, a)
    interval = truth.confidence_interval()
    assert found.difference == pytest.approx((b - a).mean(), abs=1e-12)
    assert found.low == pytest.approx(interval.low, abs=0.004)
    assert found.high == pytest.approx(interval.high, abs=0.004)
    assert found.p == pytest.approx(truth.pvalue, rel=0.5) and found.p < 0.01
    assert found.better == "b"


def test_the_smallest_detectable_difference_is_that_of_the_normal_test():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, 500), rng.normal(0, 1, 500)
    found = compare(run(a), run(b), [mean_of("x")])[0]
    error = (b - a).std(ddof=1) / np.sqrt(500)
    assert found.detectable == pytest.approx((1.95996 + 0.84162) * error, rel=0.08)
    assert found.units == 500
    assert found.units_needed == pytest.approx(500 * (found.detectable / found.difference) ** 2, rel=0.01)


def test_the_units_needed_are_told_at_the_corrected_level():
    rng = np.random.default_rng(2)
    a, b = rng.normal(0, 1, 500), rng.normal(0.05, 1, 500)
    alone = compare(run(a), run(b), [mean_of("x", direction="higher", range=(-9, 9))])[0]

    def units(tests: int) -> float:
        shown = (scipy.stats.norm.ppf(1 - 0.05 / tests / 2) + scipy.stats.norm.ppf(0.8)) * alone.standard_error
        return 500 * (shown / alone.difference) ** 2

    ten = holm([alone] * 10)
    assert alone.better == "" and {d.better for d in ten} == {""}
    assert alone.units_needed == pytest.approx(units(1), rel=0.01)
    for found in (*ten, *holm(ten)):
        assert found.units_needed == pytest.approx(units(10), rel=0.01)
        assert found.detectable == pytest.approx(alone.detectable * np.sqrt(units(10) / units(1)))
    # What has passed leaves the others fewer to be corrected for.
    sure = replace(alone, p=1e-6)
    left = holm([sure] * 4 + [alone] * 6)
    assert left[-1].units_needed == pytest.approx(units(6), rel=0.01)
    assert left[0].units_needed > left[3].units_needed


def test_clusters_count_as_units():
    rng = np.random.default_rng(3)
    effect_a, effect_b = np.repeat(rng.normal(0, 1, 40), 50), np.repeat(rng.normal(0, 1, 40), 50)
    cluster = np.repeat(np.arange(40), 50)
    a, b = run(effect_a, cluster=cluster), run(effect_b, cluster=cluster)
    found = compare(a, b, [mean_of("x")])[0]
    means = effect_b.reshape(40, 50).mean(1) - effect_a.reshape(40, 50).mean(1)
    assert found.units == 40
    assert found.p == pytest.approx(scipy.stats.ttest_1samp(means, 0).pvalue, abs=0.05)
    plain = compare(run(effect_a), run(effect_b), [mean_of("x")])[0]
    assert plain.detectable < found.detectable / 3


def test_mcnemar_is_the_exact_binomial_test():
    for only_a, only_b in [(0, 0), (3, 9), (10, 10), (40, 71), (500, 430)]:
        n = only_a + only_b
        expected = scipy.stats.binomtest(only_a, n).pvalue if n else 1.0
        assert mcnemar(only_a, only_b) == pytest.approx(expected, rel=1e-9)
    rng = np.random.default_rng(4)
    a, b = rng.random(300) < 0.6, rng.random(300) < 0.7
    found = compare(run(a), run(b), [mean_of("x")])[0]
    assert found.p_mcnemar == pytest.approx(mcnemar(int((a & ~b).sum()), int((~a & b).sum())))
    clustered = compare(run(a, cluster=np.arange(300) // 3), run(b, cluster=np.arange(300) // 3), [mean_of("x")])[0]
    assert clustered.p_mcnemar is None


def null_differences(draw, seed: int) -> list[Difference]:
    """600 comparisons where nothing differs; ten at a time are the columns of one pair of runs, as a call costs most."""
    rng = np.random.default_rng(seed)
    columns = [f"x{k}" for k in range(10)]
    found = []
    for i in range(60):
        sides = [Frames(pl.DataFrame({"id": np.arange(200)} | {c: draw(rng) for c in columns})) for _ in range(2)]
        options = IntervalOptions(replicates=200, seed=i)
        found += compare(*sides, [mean_of(c) for c in columns], options=options)
    assert len(found) == 600
    return found


def test_p_values_under_the_null_are_uniform_for_continuous_scores():
    found = null_differences(lambda rng: rng.normal(0, 1, 200), 5)
    p = [difference.p for difference in found]
    assert scipy.stats.kstest(p, "uniform").pvalue > 0.01
    assert 0.03 < np.mean(np.array(p) <= 0.05) < 0.075
    assert all((d.p < 0.05) == (not d.low <= 0 <= d.high) for d in found), "interval and test agree"


def test_p_values_under_the_null_are_never_too_small_for_discrete_scores():
    found = null_differences(lambda rng: rng.random(200) < 0.8, 6)
    p = np.array([difference.p for difference in found])
    for alpha in (0.01, 0.05, 0.1, 0.2, 0.5):
        limit = alpha + 2.6 * np.sqrt(alpha * (1 - alpha) / len(p))
        assert np.mean(p <= alpha) <= limit, alpha


def test_the_same_run_twice_differs_by_nothing():
    x = np.random.default_rng(7).random(100)
    found = compare(run(x), run(x), [mean_of("x")])[0]
    assert (found.difference, found.p, found.differing) == (0.0, 1.0, 0)
    assert -0.05 < found.low < 0 < found.high < 0.05, "that these rows agree does not make the systems one"
    assert found.better == ""


def test_holm_corrects_over_the_figures():
    rng = np.random.default_rng(8)
    n = 300
    a = {f"x{i}": rng.normal(0, 1, n) for i in range(4)}
    b = {k: v + s for (k, v), s in zip(a.items(), (0.0, 0.15, 0.2, 0.001), strict=True)}
    b = {k: v + rng.normal(0, 1, n) for k, v in b.items()}
    side = [Frames(pl.DataFrame({"id": np.arange(n), **d})) for d in (a, b)]
    found = compare(*side, [mean_of(k, direction="higher") for k in a], options=QUICK)
    p = np.array([d.p for d in found])
    order = np.argsort(p)
    expected, largest = np.empty(4), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, p[i] * (4 - rank)))
        expected[i] = largest
    assert [d.p_corrected for d in found] == pytest.approx(expected.tolist())


def test_row_statistics_are_compared_like_sums():
    rng = np.random.default_rng(9)
    a, b = rng.random(150), rng.random(150) + 0.05
    by_rows = RowStatistic("x", ("x",), lambda c: c["x"], lambda x, w: (w @ x) / w.sum(1))
    resampled = replace(QUICK, method="percentile")
    rows, sums = (compare(run(a), run(b), [s], options=resampled)[0] for s in (by_rows, mean_of("x")))
    assert rows.difference == pytest.approx(sums.difference, abs=1e-12)
    assert (rows.low, rows.high) == (pytest.approx(sums.low, abs=1e-8), pytest.approx(sums.high, abs=1e-8))
    assert rows.p == pytest.approx(sums.p, rel=1e-6)
    closed = compare(run(a), run(b), [by_rows], options=QUICK)[0]
    assert (closed.low, closed.high) == (pytest.approx(rows.low, abs=0.02), pytest.approx(rows.high, abs=0.02))


def test_rows_of_both_runs_are_compared_and_no_others():
    x = np.random.default_rng(10).random(50)
    found = compare(run(x), Frames(run(x).frames[0][7:]), [mean_of("x")])[0]
    assert (found.n_a, found.n_b, found.units, found.a) == (43, 43, 43, pytest.approx(x[7:].mean()))
    with pytest.raises(ComparisonError, match=r"no rows in common \(old has '0', '1', '2'; new has '50'"):
        other = run(x).frames[0].with_columns(pl.col("id") + 50)
        compare(run(x), Frames(other), [mean_of("x")], names=("old", "new"))


def test_a_run_that_leaves_its_hardest_rows_unscored_is_not_better_for_it():
    rng = np.random.default_rng(13)
    chance = rng.random(400)
    a, b = rng.random(400) < chance, rng.random(400) < chance
    left_out = {"scored": chance > 0.3, "reason": pl.Series(np.where(chance > 0.3, "", "too hard"))}
    sides = (run(a, "right"), run(b, "right", **left_out))
    right = mean_of("right", direction="higher")
    (found,) = compare(*sides, [right])
    kept = chance > 0.3
    assert (found.a, found.b) == (pytest.approx(a[kept].mean()), pytest.approx(b[kept].mean()))
    assert found.n_a == found.n_b == found.units == int(kept.sum())
    assert found.better == "" and found.p > 0.05
    (scored,) = scored_differences(PairedRuns(*sides), [right], ["right"], IntervalOptions())
    assert (scored.a, scored.b) == (1.0, pytest.approx(kept.mean()))
    assert scored.p < 0.001 and scored.high < 0, "that it scored less is told, with a test of its own"


def test_the_family_is_the_headline_and_nothing_that_cannot_pass():
    rng = np.random.default_rng(14)
    n = 200
    base = rng.random(n) < 0.5
    better = base | (rng.random(n) < 0.4)
    few = base.copy()
    few[np.flatnonzero(~base)[:3]] = True
    columns = ("x", "copy", "few", "other", "words")
    a = Frames(pl.DataFrame({"id": np.arange(n), **dict.fromkeys(columns, base)}))
    b = Frames(pl.DataFrame({"id": np.arange(n), **dict.fromkeys(columns, better), "few": few}))
    directed = [mean_of(c, direction="higher") for c in ("x", "copy", "few", "other")]
    found = compare(a, b, [*directed, mean_of("words")], headline=["x", "copy", "few", "words"])
    x, copy, three, other, words = found
    assert x.p_corrected == x.p and x.better == "b", "alone in its family"
    assert copy.repeats == "x" and copy.exploratory and not copy.better
    assert three.exploratory and three.differing == 3 and three.p == 0.25 and three.low <= 0 <= three.high
    assert other.exploratory and words.exploratory


def test_an_obvious_difference_is_told_however_few_replicates_are_asked_for():
    rng = np.random.default_rng(15)
    a, b = rng.random(400) < 0.2, rng.random(400) < 0.75
    for options in (IntervalOptions(replicates=20, seed=3), IntervalOptions(replicates=5000)):
        (found,) = compare(run(a), run(b), [mean_of("x", direction="higher")], options=options)
        assert found.better == "b" and found.p_corrected < 1e-6


def test_flips_are_listed_largest_first():
    a, b = run(np.array([0.1, 0.9, 0.5, 0.5])), run(np.array([0.2, 0.1, 0.5, 0.4]))
    assert flips(a, b, "x")["id"].to_list() == ["1", "0", "3"]


def test_agrees_with_sacrebleus_significance_test():
    """BLEU as a statistic of its ten sentence sums gives sacrebleu's score, interval and p-values."""
    rng = np.random.default_rng(12)
    words = [f"w{i}" for i in range(60)]
    references = [" ".join(rng.choice(words, rng.integers(8, 20))) for _ in range(250)]

    def corrupted(share: float) -> list[str]:
        return [" ".join(w if rng.random() > share else rng.choice(words) for w in r.split()) for r in references]

    systems = [corrupted(0.18), corrupted(0.20)]
    metric = BLEU()
    sums = [np.array(metric._extract_corpus_statistics(s, [references]), dtype=np.int64) for s in systems]
    names = [f"s{i}" for i in range(10)]

    def bleu(*columns: np.ndarray) -> np.ndarray:
        system, reference, *counts = (np.asarray(c, dtype=float) for c in columns)
        with np.errstate(divide="ignore"):
            logs = sum(np.log(counts[i] / counts[i + 4]) for i in range(4)) / 4
        return 100 * np.minimum(1.0, np.exp(1 - reference / system)) * np.exp(logs)

    statistic = Statistic("bleu", tuple(names), bleu, range=(0, 100))
    runs = [Frames(pl.DataFrame({"id": np.arange(250), **{n: s[:, i] for i, n in enumerate(names)}})) for s in sums]
    mine = compare(*runs, [statistic])[0]
    resampled = compare(*runs, [statistic], options=IntervalOptions(method="percentile", replicates=3000))[0]
    assert mine.a == pytest.approx(metric.corpus_score(systems[0], [references]).score, abs=1e-9)
    theirs = {}
    for kind in ("bs", "ar"):
        test = PairedTest(
            [("a", systems[0]), ("b", systems[1])], {"BLEU": BLEU()}, [references], test_type=kind, n_samples=3000
        )
        theirs[kind] = test()[1]["BLEU"]
    assert mine.p == pytest.approx(theirs["ar"][1].p_value, abs=0.03)
    # sacrebleu's bootstrap p follows Moses: it counts one side only, where ours counts both.
    assert resampled.p / 2 == pytest.approx(theirs["bs"][1].p_value, abs=0.03)
    for run_of_one, their in zip(runs, theirs["bs"], strict=True):
        figure = estimate(run_of_one, [statistic], options=IntervalOptions(replicates=3000)).overall[0]
        assert (figure.high - figure.low) / 2 == pytest.approx(their.ci, rel=0.1)


def test_repeated_ids_are_paired_one_by_one():
    a = pl.DataFrame({"id": ["x", "x", "y", "y"], "right": [True, False, True, True]})
    b = pl.DataFrame({"id": ["x", "x", "y", "y"], "right": [True, True, True, False]})
    found = flips(Frames(a), Frames(b), "right")
    assert sorted(found.rows()) == [("x", False, True), ("y", True, False)]


@pytest.mark.parametrize(
    ("role", "mine", "theirs", "words"),
    [
        (
            "weight",
            [1.0, 2.0, 1.0, 1.0],
            [1.0, 3.0, 1.0, 1.0],
            "different weights for 1 of the same units: 'b' has 2.0 in A",
        ),
        (
            "cluster",
            ["x", "x", "y", "y"],
            ["x", "y", "x", "y"],
            "different clusters for 2 of the same units: 'b' has 'x' in A",
        ),
    ],
)
def test_other_weights_or_clusters_of_the_same_units_are_refused(role, mine, theirs, words):
    rows = pl.DataFrame({"id": ["a", "b", "c", "d"], "right": [True, False, True, True]})
    a, b = (Frames(rows.with_columns(pl.Series(role, held))) for held in (mine, theirs))
    compare(a, a, [mean_of("right")])
    with pytest.raises(ComparisonError, match=words):
        compare(a, b, [mean_of("right")])
    if role == "weight":
        with pytest.raises(ComparisonError, match="only A has weights"):
            compare(a, Frames(rows), [mean_of("right")])
