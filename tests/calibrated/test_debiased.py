"""Intervals of binned calibration figures hold the truth, the noise floor is what calibrated data show."""

from __future__ import annotations

import math
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

from sensecheck.calibrated import debiased
from sensecheck.calibrated.debiased import (
    KINDS,
    Kind,
    binned_figure,
    debiased_interval,
    debiased_intervals,
    noise_floor,
    noise_floor_quantile,
)
from sensecheck.statistics.quantile_draws import QuantileDraws

Array = NDArray[np.float64]
BINS = 20
POINTS = (np.arange(100) + 0.5) / 100
FOLD = np.eye(BINS)[(POINTS * BINS).astype(int)]


def _sums(right: Array, wrong: Array) -> tuple[Array, Array, Array]:
    """Per-bin sums from counts over the grid of confidences, any leading axes."""
    return (right + wrong) @ FOLD, (right + wrong) * POINTS @ FOLD, right @ FOLD


def _resampled(
    right: Array, wrong: Array, rng: np.random.Generator, replicates: int = 300
) -> tuple[Array, Array, Array]:
    shape = (replicates, len(POINTS))
    return _sums(rng.poisson(right, shape).astype(float), rng.poisson(wrong, shape).astype(float))


def _dataset(
    mass: Array, accuracy: Array, n: int, rng: np.random.Generator
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    count = rng.multinomial(n, mass)
    right = rng.binomial(count, accuracy)
    wrong = (count - right).astype(float)
    return _sums(right.astype(float), wrong), _resampled(right.astype(float), wrong, rng)


def _beta(a: float, b: float) -> Array:
    density = POINTS ** (a - 1) * (1 - POINTS) ** (b - 1)
    return density / density.sum()


SCENARIOS = {
    "calibrated, top-heavy": (_beta(30, 0.6), POINTS),
    "mild": (
        _beta(1, 1),
        np.clip(POINTS + 0.08 * np.where((POINTS * 20).astype(int) % 2, -1, 1), 0.01, 0.99),
    ),
    "over-confident at the top": (_beta(5, 2), np.where(POINTS > 0.85, POINTS - 0.2, POINTS)),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_interval_holds_the_truth_where_the_percentile_bootstrap_does_not(name: str) -> None:
    mass, accuracy = SCENARIOS[name]
    rng = np.random.default_rng(20)
    datasets = 300
    kinds: tuple[Kind, ...] = ("ece", "rmsce", "over")
    truth = {kind: float(binned_figure(kind, *_sums(mass * accuracy, mass * (1 - accuracy)))) for kind in kinds}
    held = dict.fromkeys(kinds, 0)
    plain = 0
    for _ in range(datasets):
        sums, replicates = _dataset(mass, accuracy, 500, rng)
        for kind, found in debiased_intervals(kinds, *sums, replicates, draws=400).items():
            assert found.low is not None and found.high is not None
            held[kind] += found.low - 1e-9 <= truth[kind] <= found.high + 1e-9
        low, high = np.quantile(binned_figure("ece", *replicates), [0.025, 0.975])
        plain += low <= truth["ece"] <= high
    # 95 % less three standard errors of 300 trials, and less the point that 400 draws cost.
    assert {kind: count / datasets for kind, count in held.items() if count / datasets < 0.902} == {}
    assert plain / datasets < 0.7, "the scenario is too easy to tell the two apart"


def test_a_strong_effect_has_a_short_interval_that_excludes_0() -> None:
    rng = np.random.default_rng(3)
    accuracy = 1 / (1 + np.exp(-0.35 * np.log(POINTS / (1 - POINTS)) + 0.3))
    sums, replicates = _dataset(_beta(1, 1), accuracy, 5000, rng)
    plain = np.quantile(binned_figure("ece", *replicates), [0.025, 0.975])
    found = debiased_interval("ece", *sums, replicates)
    assert found.low is not None and found.high is not None and found.value is not None
    assert 0.1 < found.low < found.value < found.high
    assert found.high - found.low < 1.25 * (plain[1] - plain[0])


def test_clusters_widen_the_interval() -> None:
    """Every row five times over, all copies in one cluster: no more is known than from the single rows."""
    rng = np.random.default_rng(5)
    accuracy = np.clip(POINTS - 0.15, 0, 1)
    count = rng.multinomial(2000, _beta(5, 2))
    right = rng.binomial(count, accuracy).astype(float)
    wrong = count - right
    single = debiased_interval("ece", *_sums(right, wrong), _resampled(right, wrong, rng, 1000))
    copies = _resampled(right, wrong, rng, 1000)
    five = debiased_interval(
        "ece", *(5 * part for part in _sums(right, wrong)), (5 * copies[0], 5 * copies[1], 5 * copies[2])
    )
    spaced = debiased_interval("ece", *_sums(5 * right, 5 * wrong), _resampled(5 * right, 5 * wrong, rng, 1000))
    width = {name: d.high - d.low for name, d in (("single", single), ("five", five), ("spaced", spaced))}  # type: ignore[operator]
    assert width["five"] == pytest.approx(width["single"], rel=0.2)
    assert width["spaced"] < 0.6 * width["five"]


def test_the_same_seed_gives_the_same_digits() -> None:
    rng = np.random.default_rng(9)
    sums, replicates = _dataset(_beta(5, 2), np.clip(POINTS - 0.05, 0, 1), 400, rng)
    for kind in KINDS:
        one = debiased_interval(kind, *sums, replicates, seed=4)
        assert one == debiased_interval(kind, *sums, replicates, seed=4)
        assert one == debiased_intervals(KINDS, *sums, replicates, seed=4)[kind]
        assert one.low is not None and one.value is not None and one.high is not None
        assert 0 <= one.low <= one.value <= one.high <= 1


def test_threads_that_ask_for_the_same_at_once_get_its_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """They share the model of their sums with its scratch, and the draws of the floor."""
    kinds: tuple[Kind, ...] = ("ece", "rmsce", "over", "under")
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for trial in range(12):
            rng = np.random.default_rng(trial)
            sums, replicates = _dataset(_beta(5, 2), np.clip(POINTS - 0.05, 0, 1), 400, rng)
            debiased._MODELS.kept.clear()
            debiased_intervals(("ece",), *sums, replicates, draws=20_000, level=0.8)  # the model is there
            together = threading.Barrier(4)

            def ask(number: int) -> dict[Kind, debiased.Debiased]:
                together.wait()  # noqa: B023 - all are done before the next
                order = kinds[number:] + kinds[:number]
                return debiased_intervals(order, *sums, replicates, draws=20_000)  # noqa: B023

            with ThreadPoolExecutor(4) as threads:
                found = list(threads.map(ask, range(4)))
            debiased._MODELS.kept.clear()
            assert all(one == debiased_intervals(kinds, *sums, replicates, draws=20_000) for one in found)
            draws, together = QuantileDraws(50, trial, "test"), threading.Barrier(4)

            def orders(_: int) -> NDArray[np.intp]:
                together.wait()  # noqa: B023
                return draws._orders_of(500)  # noqa: B023

            with ThreadPoolExecutor(4) as threads:
                shuffled = list(threads.map(orders, range(4)))
            alone = QuantileDraws(50, trial, "test")._orders_of(500)
            assert all(np.array_equal(one, alone) for one in shuffled)
    finally:
        sys.setswitchinterval(often)


def test_a_lower_level_gives_a_shorter_interval() -> None:
    rng = np.random.default_rng(10)
    sums, replicates = _dataset(_beta(5, 2), np.clip(POINTS - 0.2, 0, 1), 2000, rng)
    for kind in KINDS:
        wide, narrow = (debiased_interval(kind, *sums, replicates, level=level) for level in (0.95, 0.5))
        assert wide.low is not None and wide.high is not None and narrow.low is not None and narrow.high is not None
        assert wide.low <= narrow.low and narrow.high <= wide.high
        assert wide.high - wide.low > narrow.high - narrow.low


@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_data(kind: Kind) -> None:
    rng = np.random.default_rng(1)
    nothing = np.zeros(100)
    constant = np.where(np.arange(100) == 72, 60.0, 0.0)
    for right, wrong in (
        (constant, nothing),  # one confidence, all correct: one bin, no variation but in its count
        (nothing, constant),  # all wrong
        (constant, constant),  # constant confidence
        (np.ones(100), nothing),  # one row at each confidence, all correct
        (np.eye(100)[3] + np.eye(100)[97], nothing),  # two rows
    ):
        found = debiased_interval(kind, *_sums(right, wrong), _resampled(right, wrong, rng))
        assert found.reason is None
        assert found.low is not None and found.value is not None and found.high is not None
        assert 0 <= found.low <= found.value <= found.high <= 1
    certain = debiased_interval(kind, *_sums(nothing, constant), _resampled(nothing, constant, rng))
    assert certain.low is not None and certain.high is not None
    if kind == "under":
        assert certain.high == 0
    else:
        assert certain.low > 0.5  # confidence 0.725, never right in 60


def test_no_interval_comes_with_a_reason() -> None:
    rng = np.random.default_rng(2)
    right = np.ones(100)
    sums = _sums(right, right)
    weight = rng.poisson(1.0, (300, 1)).astype(float)
    single = debiased_interval("ece", *sums, (weight * sums[0], weight * sums[1], weight * sums[2]))
    assert (single.value, single.low, single.high) == (None, None, None)
    assert single.reason is not None and "one cluster" in single.reason
    empty = np.zeros(BINS)
    none = debiased_interval("mce", empty, empty, empty, (empty[None], empty[None], empty[None]))
    assert none.reason is not None and "no rows" in none.reason
    few = debiased_interval("ece", *sums, _resampled(right, right, rng, 10))
    assert few.reason is not None and "10 replicates" in few.reason


def test_an_observed_0_is_not_taken_for_certain() -> None:
    """60 rows at 0.725, 43 right: no under-confidence was seen, but a little may well be there."""
    rng = np.random.default_rng(8)
    right, wrong = np.eye(100)[72] * 43, np.eye(100)[72] * 17
    found = debiased_interval("under", *_sums(right, wrong), _resampled(right, wrong, rng))
    assert binned_figure("under", *_sums(right, wrong)) == 0
    assert found.low == found.value == 0
    assert found.high is not None and 0.05 < found.high < 0.15


def test_multinomial_replicates_have_a_total_that_never_varies() -> None:
    rng = np.random.default_rng(12)
    count = rng.multinomial(1000, _beta(5, 2))
    right = rng.binomial(count, np.clip(POINTS - 0.1, 0, 1)).astype(float)
    wrong = count - right
    drawn = rng.multinomial(1000, np.concatenate([right, wrong]) / 1000, 1000).astype(float)
    sums = _sums(right, wrong)
    replicates = _sums(drawn[:, :100], drawn[:, 100:])
    exact = debiased_interval("ece", *sums, replicates)
    poisson = debiased_interval("ece", *sums, _resampled(right, wrong, rng, 1000))
    assert exact.low == pytest.approx(poisson.low, rel=0.1)
    assert exact.high == pytest.approx(poisson.high, rel=0.1)
    few = debiased_interval("ece", *sums, replicates, clusters=4)
    assert few.high is not None and exact.high is not None and few.high > exact.high
    assert debiased_interval("ece", *sums, replicates, clusters=1).reason is not None


def test_bad_arguments_say_what_was_expected() -> None:
    three = (np.ones(3), np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="one of ece, rmsce, mce, over, under; got 'ace'"):
        debiased_interval("ace", *three, (np.ones((60, 3)),) * 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="level"):
        debiased_interval("ece", *three, (np.ones((60, 3)),) * 3, level=95)
    with pytest.raises(ValueError, match="R x 3"):
        debiased_interval("ece", *three, (np.ones((60, 4)),) * 3)


def test_bins_that_are_empty_change_nothing() -> None:
    rng = np.random.default_rng(6)
    sums, replicates = _dataset(_beta(30, 0.6), POINTS, 300, rng)
    full = sums[0] > 0
    assert not full.all()
    for kind in KINDS:
        packed = debiased_interval(
            kind,
            *(s[full] for s in sums),
            (replicates[0][:, full], replicates[1][:, full], replicates[2][:, full]),
        )
        assert packed == debiased_interval(kind, *sums, replicates)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "a", "b"), [(30, 1, 1), (500, 1, 1), (60, 30, 0.6), (1000, 30, 0.6), (400, 5, 2)])
def test_the_noise_floor_is_what_calibrated_data_show(kind: Kind, n: int, a: float, b: float) -> None:
    rng = np.random.default_rng(n)
    conf = rng.beta(a, b, n)
    fold = np.eye(BINS)[np.minimum((conf * BINS).astype(int), BINS - 1)]
    right = (rng.random((8000, n)) < conf) @ fold
    sums = fold.sum(0), conf @ fold
    shown = binned_figure(kind, *sums, right)
    variance = conf * (1 - conf) @ fold
    assert float(noise_floor(kind, *sums, variance)) == pytest.approx(shown.mean(), rel=0.04)
    above = float(np.mean(shown > noise_floor_quantile(kind, *sums, variance) * (1 + 1e-9)))
    assert above <= 0.065  # few distinct values: the figure may jump over 5 %, never far
    beyond = float(np.mean(shown >= noise_floor_quantile(kind, *sums, variance) * 0.93))
    assert beyond >= 0.035


def test_the_noise_floor_of_equal_confidences_is_exact_and_takes_leading_axes() -> None:
    # Binomial(4, 0.3): sum over k of pmf * |k - 1.2| / 4
    pmf = np.array([0.2401, 0.4116, 0.2646, 0.0756, 0.0081])
    exact = float(pmf @ np.abs(np.arange(5) - 1.2)) / 4
    n, conf, var = np.array([4.0, 0.0]), np.array([1.2, 0.0]), np.array([0.84, 0.0])
    assert float(noise_floor("ece", n, conf, var)) == pytest.approx(exact, rel=1e-9)
    assert float(noise_floor("over", n, conf, var)) == pytest.approx(exact / 2, rel=1e-9)
    for kind in KINDS:
        slices = noise_floor(
            kind,
            np.stack([n, n[::-1], 0 * n]),
            np.stack([conf, conf[::-1], 0 * n]),
            np.stack([var, var[::-1], 0 * n]),
        )
        assert slices.shape == (3,)
        assert slices[0] == pytest.approx(float(noise_floor(kind, n, conf, var)), rel=1e-9)
        assert np.isnan(slices[2])
    large = noise_floor("ece", [1e6], [5e5], [2.5e5])
    assert float(large) == pytest.approx(np.sqrt(2 / np.pi * 2.5e5) / 1e6, rel=1e-5)


@pytest.mark.parametrize("kind", ["ece", "rmsce"])
@pytest.mark.parametrize("accuracy", [0.6, 0.65, 0.75, 0.8])
def test_a_confidence_met_exactly_is_no_proof_of_calibration(kind: Kind, accuracy: float) -> None:
    """All rows with one confidence: the coverage over every number of right answers, weighed by its probability."""
    n, confidence = 40, 0.7
    rng = np.random.default_rng(0)
    covered = 0.0
    for right in range(1, n):
        drawn = rng.binomial(n, right / n, (500, 1)).astype(float)
        sizes = np.full((500, 1), float(n))
        found = debiased_interval(kind, [n], [n * confidence], [right], (sizes, sizes * confidence, drawn))
        assert found.low is not None and found.high is not None
        chance = math.comb(n, right) * accuracy**right * (1 - accuracy) ** (n - right)
        covered += chance * (found.low <= abs(confidence - accuracy) <= found.high)
        if right == round(n * confidence):
            assert found.high > 0.1
    assert covered > 0.93


# -- where the model is certain -------------------------------------------------------------------------------


def _certain(confidence: Array, right: Array, wrong: Array, rng: np.random.Generator, replicates: int = 200):
    """Sums and replicates of a few confidences, each with so many right and wrong rows."""
    fold = np.eye(BINS)[np.minimum((confidence * BINS).astype(int), BINS - 1)]
    shape = (replicates, len(confidence))

    def sums(right: Array, wrong: Array) -> tuple[Array, Array, Array]:
        return (right + wrong) @ fold, (right + wrong) * confidence @ fold, right @ fold

    drawn = sums(rng.poisson(right, shape).astype(float), rng.poisson(wrong, shape).astype(float))
    return sums(right, wrong), drawn


@pytest.mark.parametrize(
    ("confidence", "accuracy"),
    [([1.0], [0.98]), ([0.999], [0.98]), ([0.0], [0.02]), ([1.0, 0.6], [0.98, 0.6]), ([1.0, 0.0], [0.98, 0.02])],
)
@pytest.mark.parametrize("n", [15, 50])
def test_the_interval_covers_where_the_model_is_certain(confidence: list[float], accuracy: list[float], n: int) -> None:
    """`benchmarks/interval_coverage.py --edges` has more cells and data sets."""
    rng = np.random.default_rng(8)
    kinds: tuple[Kind, ...] = ("ece", "rmsce", "mce")
    c, truth = np.array(confidence), np.array(accuracy)
    gap = np.abs(c - truth)
    wanted = {"ece": gap.mean(), "rmsce": float(np.sqrt((gap**2).mean())), "mce": gap.max()}
    held = dict.fromkeys(kinds, 0)
    for _ in range(120):
        count = rng.multinomial(n, np.full(len(c), 1 / len(c)))
        right = rng.binomial(count, truth).astype(float)
        sums, replicates = _certain(c, right, count - right, rng)
        for kind, found in debiased_intervals(kinds, *sums, replicates, draws=200, units=n).items():
            assert found.low is not None and found.high is not None and found.high > found.low
            held[kind] += found.low - 1e-9 <= wanted[kind] <= found.high + 1e-9
    assert min(held.values()) >= 0.9 * 120, held  # 95 % less 2.5 standard errors


def test_replicates_that_are_all_alike_still_have_their_rows() -> None:
    """50 right of 50 at a confidence of 1: Clopper and Pearson's limit is 1 − 0.025^(1/50) = 0.071."""
    fifty = np.where(np.arange(BINS) == BINS - 1, 50.0, 0.0)
    alike = np.tile(fifty, (200, 1))
    found = debiased_interval("ece", fifty, fifty, fifty, (alike, alike, alike), units=50)
    assert found.low == 0 and found.high == pytest.approx(0.0711, abs=5e-4)
    none = debiased_interval("ece", fifty, fifty, fifty, (alike, alike, alike), units=1)
    assert none.low is None and "one cluster" in str(none.reason)
    # Ten clusters of five rows: no more is known than from ten rows.
    drawn = 5.0 * np.random.default_rng(1).poisson(10, (2000, 1)) * (fifty > 0)
    ten = debiased_interval("ece", fifty, fifty, fifty, (drawn, drawn, drawn), units=10)
    assert ten.high is not None and 0.3 < ten.high < 0.4


@pytest.mark.parametrize("rows", [50, 2000])
@pytest.mark.parametrize("confidence", [0.05, 0.3, 1 / 3, 0.7, 0.95])
@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_answers_that_are_all_alike_are_no_proof_of_their_rate(rows: int, confidence: float, accuracy: float) -> None:
    """No answer surprised: the lower end must still leave room for those that were not seen."""
    total = np.random.default_rng(1).poisson(rows, (1000, 1)).astype(float)
    kinds: tuple[Kind, ...] = ("ece", "rmsce", "over" if accuracy == 0 else "under")
    found = debiased_intervals(
        kinds,
        [rows],
        [rows * confidence],
        [rows * accuracy],
        (total, total * confidence, total * accuracy),
        units=rows,
    )
    for kind in kinds:
        low, high = found[kind].low, found[kind].high
        assert low is not None and high is not None
        assert low < abs(confidence - accuracy) - 1 / rows
        assert high == pytest.approx(abs(confidence - accuracy))
