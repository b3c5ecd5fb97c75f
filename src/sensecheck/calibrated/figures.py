"""The figures of `calibrated`: from sums over (confidence, correct), and from their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.calibrated.adaptive import adaptive_edges, adaptive_edges_of_cells
from sensecheck.calibrated.classwise import classwise_figure, distribution_scores, infinite_mean
from sensecheck.calibrated.debiased import Kind, binned_figure, debiased_interval, noise_floor
from sensecheck.calibrated.ranking import (
    Ranked,
    accuracy_at,
    aurc_of,
    auroc_of,
    curve_coverages,
    excess_aurc_of,
    right_and_wrong,
)
from sensecheck.calibrated.smooth_ece import smooth_ece_of
from sensecheck.runs.signature import Method
from sensecheck.statistics.counted import Counted
from sensecheck.statistics.statistic import (
    ONE,
    Anchor,
    AnyStatistic,
    Bins,
    Explanation,
    OwnInterval,
    RowStatistic,
    Share,
    Statistic,
    mean_of,
    ratio,
)

Floats = NDArray[np.float64]

DEFAULT_BINS = 20
DEFAULT_COVERAGES = (0.5, 0.8, 0.9)
DEFAULT_NLL_CLIP = 1e-6
"""Files with six decimals write 1 from 0.9999995 on, float32 holds nothing between 0.99999994 and 1: finer differences
are those of formats, not of models. A row that is certain and wrong then costs 13.8, as much as 20 coin tosses."""
RAW = "raw-logits"
"""The scale of a run whose numbers put answers in order and are no probabilities."""

_CONFIDENCE = pl.col("confidence")
_CORRECT = pl.col("correct").cast(pl.Float64)


def _log_loss(confidence: pl.Expr) -> pl.Expr:
    """−ln(confidence) where right, −ln(1 − confidence) where wrong; of each its share where correctness is a share."""
    # ln(1 − c) is off by less than 2·10^-16 of log1p(−c), which takes ten times as long.
    right = pl.when(_CORRECT > 0).then(_CORRECT * confidence.log()).otherwise(0.0 * _CORRECT)
    wrong = pl.when(_CORRECT < 1).then((1 - _CORRECT) * (1 - confidence).log()).otherwise(0.0 * _CORRECT)
    return -(right + wrong)


def _log_loss_of_marks(confidence: pl.Expr) -> pl.Expr:
    """The same where every answer is right or wrong: one logarithm a row."""
    right = pl.col("correct")
    return -pl.when(right).then(confidence).when(~right).then(1 - confidence).log()


_CERTAIN_AND_WRONG = pl.when(_CORRECT.is_not_null()).then(
    ((_CONFIDENCE == 0) & (_CORRECT > 0)) | ((_CONFIDENCE == 1) & (_CORRECT < 1))
)
DERIVED: dict[str, pl.Expr] = {
    # How much a perfectly calibrated row varies: its share of the noise floor.
    "variance": _CONFIDENCE * (1 - _CONFIDENCE),
    "brier": (_CONFIDENCE - _CORRECT) ** 2,
    # Certain and wrong costs infinitely much: sums hold what is finite, and how many rows are not.
    "nll": pl.when(_CERTAIN_AND_WRONG).then(0.0).otherwise(_log_loss(_CONFIDENCE)),
    "certain_wrong": _CERTAIN_AND_WRONG,
}
_NLL_OF_MARKS = pl.when(_CERTAIN_AND_WRONG).then(0.0).otherwise(_log_loss_of_marks(_CONFIDENCE))


def uniform_edges(bins: int) -> tuple[float, ...]:
    return tuple(float(e) for e in np.linspace(0.0, 1.0, bins + 1))


def _gaps(confidence: Floats, correct: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Mean confidence minus accuracy of each bin (0 where empty), and each bin's share of the rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.where(n > 0, (confidence - correct) / n, 0.0)
        share = n / n.sum(-1, keepdims=True)
    return gap, share


def _ece(confidence: Floats, correct: Floats, n: Floats, *_: Any, **__: Any) -> Floats:
    gap, share = _gaps(confidence, correct, n)
    return np.asarray((np.abs(gap) * share).sum(-1))


def _rmsce(confidence: Floats, correct: Floats, n: Floats, *_: Any) -> Floats:
    gap, share = _gaps(confidence, correct, n)
    return np.asarray(np.sqrt((gap**2 * share).sum(-1)))


def _mce(confidence: Floats, correct: Floats, n: Floats, *_: Any) -> Floats:
    gap, share = _gaps(confidence, correct, n)
    return np.where(np.isfinite(share).all(-1), np.abs(gap).max(-1), np.nan)


def _over(confidence: Floats, correct: Floats, n: Floats, *_: Any) -> Floats:
    gap, share = _gaps(confidence, correct, n)
    return np.asarray((np.maximum(gap, 0) * share).sum(-1))


def _under(confidence: Floats, correct: Floats, n: Floats, *_: Any) -> Floats:
    gap, share = _gaps(confidence, correct, n)
    return np.asarray((np.maximum(-gap, 0) * share).sum(-1))


def debiased(figure: Floats, floor: Floats) -> Floats:
    """A figure less what noise adds to it: the two add up in squares, as the sides of a right angle do."""
    return np.asarray(np.sqrt(np.maximum(figure**2 - floor**2, 0.0)))


def _debiased_ece(confidence: Floats, correct: Floats, n: Floats, variance: Floats, *weights: Floats) -> Floats:
    floor = _noise_floor("ece", confidence, n, variance, weights, counted=True)
    return debiased(_ece(confidence, correct, n), floor)


def _noise_floor(
    kind: Kind, confidence: Floats, n: Floats, variance: Floats, weights: Sequence[Floats], *, counted: bool = False
) -> Floats:
    """The floor of the effective number of rows; `counted`: weights that are all whole stand for so many rows."""
    if not weights:
        return noise_floor(kind, n, confidence, variance)
    squares, weighed_variance, part = weights
    kish = ratio(n, squares)  # what one unit of weight is worth, in rows
    kish = np.where(n > 0, kish, 0.0)
    of_mean = kish**2 * weighed_variance
    if counted:
        whole = (part.sum(-1) == 0)[..., None]
        kish, of_mean = np.where(whole, 1.0, kish), np.where(whole, variance, of_mean)
    share = ratio(n, n.sum(-1, keepdims=True))
    return noise_floor(kind, n * kish, confidence * kish, of_mean, share=share)


def _reliability(confidence: Floats, correct: Floats, n: Floats, *_: Any) -> Floats:
    gap, share = _gaps(confidence, correct, n)
    return np.asarray((gap**2 * share).sum(-1))


def _uncertainty(correct: Floats, n: Floats) -> Floats:
    rate = ratio(correct, n)
    return np.asarray(rate * (1 - rate))


def _uncertainty_ends(low: Floats, high: Floats, *_: Floats) -> tuple[Floats, Floats]:
    """From the ends of the accuracy: uncertainty is largest at one half."""
    ends = low * (1 - low), high * (1 - high)
    return np.minimum(*ends), np.where((low < 0.5) & (high > 0.5), 0.25, np.maximum(*ends))


def _gap(confidence: Floats, correct: Floats, n: Floats) -> Floats:
    return confidence - correct


def _accuracy_of_gap(confidence: Floats, correct: Floats, n: Floats) -> tuple[Floats, Floats]:
    return correct, n


def _gap_ends(low: Floats, high: Floats, confidence: Floats, correct: Floats, n: Floats) -> tuple[Floats, Floats]:
    """From the ends of the accuracy."""
    return ratio(confidence, n) - high, ratio(confidence, n) - low


def _resolution(confidence: Floats, correct: Floats, n: Floats, brier: Floats) -> Floats:
    """What is left of reliability + uncertainty once the Brier score is taken away."""
    score = ratio(brier.sum(-1), n.sum(-1))
    return _reliability(confidence, correct, n) + _uncertainty(correct.sum(-1), n.sum(-1)) - score


def _squared_interval(
    sums: Sequence[Floats], replicates: Sequence[Floats], *, level: float, seed: int, units: float
) -> OwnInterval:
    """Reliability is RMSCE squared, and so is its interval."""
    of_rmsce = _interval("rmsce", sums, replicates, level=level, seed=seed, units=units)
    beside = {name: value**2 for name, value in of_rmsce.beside.items()}
    return OwnInterval(of_rmsce.low**2, of_rmsce.high**2, of_rmsce.method, beside, of_rmsce.absent)


def _pearson(confidence: Floats, correct: Floats, n: Floats) -> Floats:
    """Correlation of mean confidence and accuracy over the bins that hold rows."""
    full = n > 0
    count = full.sum(-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(full, confidence / n, 0.0)
        y = np.where(full, correct / n, 0.0)
        x = np.where(full, x - x.sum(-1, keepdims=True) / count, 0.0)
        y = np.where(full, y - y.sum(-1, keepdims=True) / count, 0.0)
        length = np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
        # A side that varies by rounding alone has no correlation.
        correlation = np.where(length > 1e-14, (x * y).sum(-1) / length, np.nan)
    return np.where(count[..., 0] >= 2, np.clip(correlation, -1, 1), np.nan)


def _interval(
    kind: Kind, sums: Sequence[Floats], replicates: Sequence[Floats], *, level: float, seed: int, units: float
) -> OwnInterval:
    """The interval of the true error, beside the noise floor and the debiased value.

    Absolute gaps grow with noise, so percentiles do not cover, and the figure itself may lie above the interval.
    """
    confidence, correct, n, variance, *weights = sums
    floor = _noise_floor(kind, confidence, n, variance, weights)
    without_noise = _noise_floor(kind, confidence, n, variance, weights, counted=True) if weights else floor
    figure = binned_figure(kind, n, confidence, correct)
    beside = {"debiased": float(debiased(figure, without_noise)), "noise floor": float(floor)}
    # Weights that are all the same change nothing: sums are brought to the effective number of rows.
    unit = float(n.sum() / weights[0].sum()) if weights else 1.0
    found = debiased_interval(
        kind, n * unit, confidence * unit, correct * unit,
        (replicates[2] * unit, replicates[0] * unit, replicates[1] * unit), level=level, seed=seed, units=units,
        valued=False,
    )  # fmt: skip
    if found.low is None or found.high is None:
        return OwnInterval(float("nan"), float("nan"), "", beside, found.reason or "no interval")
    return OwnInterval(found.low, found.high, f"of the true error, {found.method}", beside)


def _mass_edges(bins: int, rows: Mapping[str, NDArray[Any]]) -> Floats:
    """Edges that part the rows (or their weight) evenly; equal confidences stay together."""
    values, weights = _weighed(rows)
    if not len(values):
        return np.array([0.0, 1.0])
    if weights is None:
        values = np.sort(values)
        cuts = values[(np.arange(1, bins) * len(values)) // bins]
    else:
        order = np.argsort(values, kind="stable")
        values, upto = values[order], np.cumsum(weights[order]) * bins
        places = np.searchsorted(upto, np.arange(1, bins) * (upto[-1] / bins), side="right")
        cuts = values[np.minimum(places, len(values) - 1)]
    # A cut at the smallest value would leave nothing below it.
    inner = np.unique(cuts[cuts > values[0]])
    low, high = min(0.0, float(values[0])), max(1.0, float(values[-1]))
    if len(inner) and inner[-1] == high:
        # So many are at the top that they have a bin of their own, which must end above it.
        high = float(np.nextafter(high, np.inf))
    return np.concatenate([[low], inner[(inner > low) & (inner < high)], [high]])


def _counted_mass_edges(bins: int, counted: Counted) -> Floats:
    """The same from rows counted on a grid, for more of them than are held at once: a cell is never split."""
    ends = counted.grid.lower_ends[counted.cell]
    if not len(ends):
        return np.array([0.0, 1.0])
    upto = np.cumsum(counted.rows)
    cuts = ends[np.searchsorted(upto, (np.arange(1, bins) * int(upto[-1])) // bins, side="right")]
    inner = np.unique(cuts[cuts > ends[0]])
    # So many may be at the top that they have a bin of their own, which must end above it.
    high = float(np.nextafter(1.0, np.inf)) if len(inner) and inner[-1] == 1 else 1.0
    return np.concatenate([[0.0], inner[inner > 0], [high]])


def _weighed(rows: Mapping[str, NDArray[Any]]) -> tuple[Floats, Floats | None]:
    """Confidences and weights of the rows that count; no weights where all are the same and no counts.

    Whole weights stay as they are, and so are counts; of others only their ratios matter.
    """
    values = rows["confidence"]
    if "weight" not in rows:
        return values, None
    weights = rows["weight"].astype(np.float64)
    values, weights = values[weights > 0], weights[weights > 0]
    if not len(weights) or bool((weights == np.floor(weights)).all()):
        return values, weights
    weights = weights / weights.min()
    return values, None if bool((weights == 1).all()) else weights


def _stand_ins(values: Floats, weights: Floats) -> Floats:
    """As many confidences, all of weight 1, as the weighted rows are worth: repeated rows, where weights are counts."""
    total = float(weights.sum())
    whole = bool((weights == np.floor(weights)).all())
    if whole and total <= _MOST_STAND_INS:
        return np.asarray(np.repeat(values, weights.astype(np.int64)))
    worth = total if whole else total**2 / float((weights**2).sum())
    number = max(1, round(min(worth, _MOST_STAND_INS)))
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order])
    places = np.searchsorted(upto, (np.arange(number) + 0.5) * (upto[-1] / number), side="right")
    return np.asarray(values[order][np.minimum(places, len(order) - 1)])


def _adaptive_edges(rows: Mapping[str, NDArray[Any]]) -> Floats:
    """Adaptive edges; one bin where no row has a confidence."""
    values, weights = _weighed(rows)
    if not len(values):
        return np.array([0.0, 1.0])
    return adaptive_edges(values if weights is None else _stand_ins(values, weights))


def _counted_adaptive_edges(counted: Counted) -> Floats:
    """The same from rows counted on a grid."""
    ends = counted.grid.lower_ends[counted.cell]
    return adaptive_edges_of_cells(ends, counted.rows) if len(ends) else np.array([0.0, 1.0])


def _stacked(confidence: Floats, correct: Floats, n: Floats, variance: Floats) -> Floats:
    """Accuracy, mean confidence, rows and their variance, bin after bin."""
    return np.concatenate([ratio(correct, n), ratio(confidence, n), n, variance], axis=-1)


def _ranked_scores(columns: Mapping[str, NDArray[Any]]) -> Ranked:
    return Ranked(columns["score"], columns["correct"])


def _accuracy_at(coverage: float, state: Ranked, weights: Floats) -> Floats:
    return accuracy_at(state, weights, [coverage])[:, 0]


def _risk_curve(state: Ranked, weights: Floats) -> Floats:
    return 1 - accuracy_at(state, weights, curve_coverages())


_MOST_STAND_INS = 20_000_000
_GAP_SUMS = ("confidence", "correct", ONE)
_WEIGHT = pl.col("weight")
_OF_WEIGHTS: dict[str, pl.Expr] = {
    # Sums are weighted already: these become sums over squared weights, and tell whether all weights are whole.
    "weight_squared": _WEIGHT,
    "weight_variance": _WEIGHT * _CONFIDENCE * (1 - _CONFIDENCE),
    "weight_part": _WEIGHT - _WEIGHT.floor(),
}
_EQUAL_WIDTH = Bins("confidence", "equal_width_edges")
_EQUAL_MASS = Bins("confidence", "mass_edges")
_ADAPTIVE = Bins("confidence", "adaptive_edges")
"""How the table below names its bins; `_for_bins` puts edges, or what computes them from the rows, in their place."""

_STENGEL = (
    "Stengel-Eskin and Van Durme 2023, Calibrated Interpretation: Confidence Estimation in Semantic Parsing, TACL"
)
_MURPHY = "Murphy 1973, A New Vector Partition of the Probability Score, Journal of Applied Meteorology"
_GEIFMAN = "Geifman, Uziel and El-Yaniv 2019, Bias-Reduced Uncertainty Estimation for Deep Neural Classifiers, ICLR"
_GUO = "Guo, Pleiss, Sun and Weinberger 2017, On Calibration of Modern Neural Networks, ICML"
_ROELOFS = "Roelofs, Cain, Shlens and Mozer 2022, Mitigating Bias in Calibration Error Estimation, AISTATS"
_GOOD = "Good 1952, Rational Decisions, Journal of the Royal Statistical Society B"
_KUMAR = "Kumar, Liang and Ma 2019, Verified Uncertainty Calibration, NeurIPS"


def _calibration_error(
    name: str, kind: Kind, finish: Any, title: str, explanation: Explanation, bins: Bins = _EQUAL_WIDTH
) -> Statistic:
    """A figure of the gaps between confidence and accuracy, with the interval that such figures need."""
    return Statistic(
        name, _GAP_SUMS, finish, title, "lower", (0.0, 1.0), bins, derived=DERIVED,
        interval=partial(_interval, kind), interval_sums=("variance",), explanation=explanation,
    )  # fmt: skip


FIGURES: tuple[AnyStatistic, ...] = (
    _calibration_error("ece", "ece", _ece, "ECE", Explanation(
        "Σ_b (n_b/N) · |mean confidence_b − accuracy_b|, {bins} equal-width bins on [0, 1]",
        "Expected calibration error: how far confidence is from the rate of being right, on average over rows.",
        "Few rows per bin push it up even for a perfectly calibrated model: read it beside the noise floor. "
        "More bins, more noise.",
        _GUO)),
    _calibration_error("rmsce", "rmsce", _rmsce, "RMSCE", Explanation(
        "sqrt(Σ_b (n_b/N) · (mean confidence_b − accuracy_b)²)",
        "Root-mean-square calibration error: like ECE, but large gaps weigh more.",
        "What moves ECE; it is never smaller than ECE.",
        _KUMAR)),
    _calibration_error("mce", "mce", _mce, "MCE", Explanation(
        "max_b |mean confidence_b − accuracy_b| over bins that hold rows",
        "Maximum calibration error: the worst bin, however few rows it holds.",
        "Nearly empty bins: a single row can make it 1.",
        "Naeini, Cooper and Hauskrecht 2015, Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI")),
    _calibration_error("overconfidence", "over", _over, "over-confidence", Explanation(
        "Σ_b (n_b/N) · max(mean confidence_b − accuracy_b, 0)",
        "The part of ECE from bins where confidence is above accuracy; with under-confidence it adds up to ECE.",
        "What moves ECE.",
        _STENGEL)),
    _calibration_error("underconfidence", "under", _under, "under-confidence", Explanation(
        "Σ_b (n_b/N) · max(accuracy_b − mean confidence_b, 0)",
        "The part of ECE from bins where accuracy is above confidence; with over-confidence it adds up to ECE.",
        "What moves ECE.",
        _STENGEL)),
    _calibration_error("adaptive_ece", "ece", _ece, "adaptive ECE", Explanation(
        "ECE over bins closed from the top once they hold more than 0.25·(1.645/width)² rows",
        "ECE with as many rows in each bin as its width needs: narrow bins where confidences crowd.",
        "The bins follow the data, so two systems are binned differently. Equal confidences share a bin.",
        "Ding, Liu, Xiong and Shi 2020, Revisiting the Evaluation of Uncertainty Estimation, CVPR Workshops"),
        _ADAPTIVE),
    _calibration_error("ace", "ece", _ece, "ACE (equal mass)", Explanation(
        "ECE over {bins} bins that hold the same number of rows each; equal confidences share a bin",
        "Adaptive calibration error: ECE that looks as closely where confidences crowd as where they are rare.",
        "What moves ECE. Where many confidences are equal there are fewer bins than asked for.",
        "Nixon, Dusenberry, Zhang, Jerfel and Tran 2019, Measuring Calibration in Deep Learning, CVPR Workshops"),
        _EQUAL_MASS),
    Statistic(
        "debiased_ece", (*_GAP_SUMS, "variance"), _debiased_ece, "debiased ECE", "lower", (0.0, 1.0), _EQUAL_WIDTH,
        derived=DERIVED, interval=partial(_interval, "ece"), explanation=Explanation(
            "sqrt(max(ECE² − noise floor², 0))",
            "ECE less what noise alone adds to it: noise and error add up in squares, nearly. It stands beside ECE, "
            "too, and the interval of both is that of the true error.",
            "What moves ECE, less. Of a calibrated model it is 0 in about half of all samples.",
            _ROELOFS)),
    RowStatistic(
        "smooth_ece", ("confidence", "correct"), Ranked.of, smooth_ece_of, "smooth ECE", "lower",
        sorted_by="confidence", of_neighbours=True, on_grid=True, noise_power=3, explanation=Explanation(
            "∫ |K_σ ∗ (confidence − correct)|, K_σ a reflected Gaussian of the width σ at which the integral is σ",
            "Calibration error without bins: small changes of confidences change it little.",
            "Noise pushes it up, but less than ECE.",
            "Błasiok and Nakkiran 2024, Smooth ECE: Principled Reliability Diagrams via Kernel Smoothing, ICLR")),
    Statistic(
        "pearson", _GAP_SUMS, _pearson, "Pearson r over bins", "higher", (-1.0, 1.0), _EQUAL_WIDTH,
        explanation=Explanation(
            "correlation of mean confidence_b and accuracy_b over the bins that hold rows, unweighted",
            "Whether accuracy rises with confidence, whatever the scale.",
            "A nearly empty bin counts like a full one.",
            _STENGEL)),
    mean_of("brier", title="Brier score", direction="lower", derived=DERIVED, explanation=Explanation(
        "mean of (confidence − correct)²",
        "A proper score: calibration and sharpness together. Always saying one half scores 0.25.",
        "Accuracy as much as calibration: compare it between systems on the same rows only.",
        "Brier 1950, Verification of Forecasts Expressed in Terms of Probability, Monthly Weather Review")),
    Statistic(
        "brier_reliability", _GAP_SUMS, _reliability, "Brier: reliability", "lower", (0.0, 1.0), _EQUAL_WIDTH,
        derived=DERIVED, interval=_squared_interval, interval_sums=("variance",), explanation=Explanation(
            "Σ_b (n_b/N) · (mean confidence_b − accuracy_b)²",
            "The part of the Brier score that miscalibration costs. Brier = reliability − resolution + uncertainty.",
            "What moves RMSCE, which is its square root.",
            _MURPHY)),
    Statistic(
        "brier_resolution", (*_GAP_SUMS, "brier"), _resolution, "Brier: resolution", "none", (-1.0, 1.0),
        _EQUAL_WIDTH, derived=DERIVED, explanation=Explanation(
            "reliability + uncertainty − Brier",
            "How well confidence tells right from wrong: the part of the uncertainty that it takes away.",
            "The uncertainty that there is to take away, so it ranks no systems of different accuracy. Within a bin it "
            "includes how confidence varies with the outcome, so that the three parts add up.",
            "Stephenson, Coelho and Jolliffe 2008, Two Extra Components in the Brier Score Decomposition, "
            "Weather and Forecasting")),
    Statistic(
        "brier_uncertainty", ("correct", ONE), _uncertainty, "Brier: uncertainty", "none", (0.0, 0.25),
        share=Share(image=_uncertainty_ends),
        explanation=Explanation(
            "accuracy · (1 − accuracy)",
            "How hard it is to say which answers are right: the Brier score of always saying the accuracy.",
            "Nothing but the task and the system's accuracy.",
            _MURPHY)),
    Statistic(
        "nll", ("nll", ONE, "certain_wrong"), infinite_mean, "NLL", "lower", (0.0, float("inf")), derived=DERIVED,
        derived_of_marks={"correct": {"nll": _NLL_OF_MARKS}},
        out_of="certain and wrong", infinite="rows that are certain and wrong cost infinitely much", compared=False,
        explanation=Explanation(
            "mean of −ln(confidence) where right, −ln(1 − confidence) where wrong",
            "Log loss of the confidence as a forecast of being right. One answer that is certain and wrong makes it "
            "infinite: how many there are stands beside it.",
            "A single row can decide it. Comparisons take nll_clipped.",
            _GOOD)),
    Statistic(
        "nll_clipped", ("nll_clipped", ONE), ratio, "NLL, clipped at {clip}", "lower", (0.0, float("inf")),
        explanation=Explanation(
            "mean of −ln(c) where right, −ln(1 − c) where wrong, c the confidence brought into [{clip}, 1 − {clip}]",
            "Log loss where no single answer costs infinitely much: certain and wrong costs −ln({clip}).",
            "Where some answers are certain and wrong, the choice of the clip (--nll-clip) as much as the system.",
            _GOOD)),
    mean_of("correct", "accuracy", title="accuracy", direction="higher", explanation=Explanation(
        "mean of correct", "How often the model is right.", "The task.")),
    mean_of("confidence", "mean_confidence", title="mean confidence", explanation=Explanation(
        "mean of confidence", "How sure the model is.")),
    Statistic("confidence_gap", _GAP_SUMS, lambda c, y, n: ratio(c - y, n), "confidence − accuracy", range=(-1.0, 1.0),
        share=Share(_accuracy_of_gap, _gap, _gap_ends), explanation=Explanation(
            "mean confidence − accuracy",
            "Above 0: over-confident on the whole; below 0: under-confident. It needs no bins and is not biased.",
            "Over- and under-confidence cancel: 0 does not mean calibrated.")),
    # What the reliability diagram draws: sums by bin, kept as a vector.
    Statistic("reliability", (*_GAP_SUMS, "variance"), _stacked, "reliability curve", bins=_EQUAL_WIDTH,
        derived=DERIVED, vector=True),
)  # fmt: skip
"""Figures of probabilities. `{bins}` stands for the number of bins."""

_RANKED: dict[str, Any] = {
    "needs": ("confidence", "correct"), "prepare": Ranked.of, "sorted_by": "confidence", "of_neighbours": True,
    "on_grid": True,
}  # fmt: skip

RANKING: tuple[RowStatistic, ...] = (
    RowStatistic("auroc", value=auroc_of, title="AUROC", direction="higher", kinds=right_and_wrong, **_RANKED,
        explanation=Explanation(
        "P(a right answer is surer than a wrong one), ties counting half",
        "Whether confidence tells right answers from wrong ones; 0.5 is a coin toss. It says nothing about "
        "calibration.",
        "The mix of easy and hard questions: compare systems on the same questions.",
        "Hanley and McNeil 1982, The Meaning and Use of the Area under a ROC Curve, Radiology")),
    RowStatistic("aurc", value=aurc_of, title="AURC", direction="lower", **_RANKED, explanation=Explanation(
        "mean over answers of the error rate among all answers at least as sure",
        "The area under the risk–coverage curve: the error rate when only the surest answers are given, averaged.",
        "Accuracy as much as ranking: E-AURC takes accuracy out.",
        _GEIFMAN)),
    RowStatistic("e_aurc", value=excess_aurc_of, title="E-AURC", direction="lower", **_RANKED, explanation=Explanation(
        "AURC − (r + (1 − r)·ln(1 − r)), r the error rate",
        "How much lower AURC would be with a perfect ranking of the same answers.",
        "Small at high accuracy, where little can be ranked wrongly.",
        _GEIFMAN)),
)  # fmt: skip
"""Figures that need the order of the confidences alone."""
RISK_COVERAGE = RowStatistic("risk_coverage", value=_risk_curve, title="risk–coverage curve", vector=True, **_RANKED)


def statistics(method: Method) -> list[AnyStatistic]:
    """All figures under a signature's choices."""
    bins = cast(int, method.get("bins", DEFAULT_BINS))
    coverages = cast(Sequence[float], method.get("coverages", DEFAULT_COVERAGES))
    ranking = [*RANKING, *map(_accuracy_at_coverage, coverages), RISK_COVERAGE]
    if method.get("scale") == RAW:
        ranking = [_of_raw_scores(figure) for figure in ranking]
    clip = cast(float, method.get("nll-clip", DEFAULT_NLL_CLIP))
    of_probabilities = [_for_clip(_for_bins(figure, bins), clip) for figure in FIGURES]
    if method.get("weight") is not None:
        of_probabilities = [_for_weights(figure) for figure in of_probabilities]
    # No confidence and no verdict leaves any of the columns that are computed from them without a value.
    of_probabilities = [replace(f, derived_whole=True) if isinstance(f, Statistic) else f for f in of_probabilities]
    return [*of_probabilities, *_of_distributions(method, bins, clip), *ranking]


def _for_bins(figure: AnyStatistic, bins: int) -> AnyStatistic:
    """A figure of the table with what follows from the number of bins: its edges, and the number in its formula."""
    if figure.explanation is not None:
        formula = figure.explanation.formula.replace("{bins}", str(bins))
        figure = replace(figure, explanation=replace(figure.explanation, formula=formula))
    if isinstance(figure, RowStatistic):
        return figure
    if figure.bins == _EQUAL_WIDTH:
        return replace(figure, bins=Bins("confidence", uniform_edges(bins)))
    if figure.bins == _EQUAL_MASS:
        name = f"mass_edges_{bins}"
        edges = Anchor(name, ("confidence",), partial(_mass_edges, bins), partial(_counted_mass_edges, bins))
        return replace(figure, bins=Bins("confidence", name), anchors=(edges,))
    if figure.bins == _ADAPTIVE:
        edges = Anchor("adaptive_edges", ("confidence",), _adaptive_edges, _counted_adaptive_edges)
        return replace(figure, anchors=(edges,))
    return figure


def _for_clip(figure: AnyStatistic, clip: float) -> AnyStatistic:
    """The clipped log loss with its clip: in its columns, its title and its formula."""
    if isinstance(figure, RowStatistic) or figure.name != "nll_clipped" or figure.explanation is None:
        return figure
    confidence = _CONFIDENCE.clip(clip, 1 - clip)
    clipped = {"nll_clipped": _log_loss(confidence)}
    of_marks = {"correct": {"nll_clipped": _log_loss_of_marks(confidence)}}
    said = {part: text.replace("{clip}", f"{clip:g}") for part, text in vars(figure.explanation).items()}
    title = figure.title.replace("{clip}", f"{clip:g}")
    return replace(figure, title=title, derived=clipped, derived_of_marks=of_marks, explanation=Explanation(**said))


def _for_weights(figure: AnyStatistic) -> AnyStatistic:
    """A figure of gaps with the sums from which the noise of weighted rows is told."""
    if isinstance(figure, RowStatistic) or figure.interval is None:
        return figure
    if figure.name == "debiased_ece":
        figure = replace(figure, sums=(*figure.sums, *_OF_WEIGHTS))
    else:
        figure = replace(figure, interval_sums=(*figure.interval_sums, *_OF_WEIGHTS))
    return replace(figure, derived={**figure.derived, **_OF_WEIGHTS})


def _of_distributions(method: Method, bins: int, clip: float) -> list[AnyStatistic]:
    """Where distributions were given; and without a method, to explain them."""
    if method and "classes" not in method:
        return []
    classes = cast(list[str], method.get("classes", []))
    return [classwise_figure(classes, bins), *distribution_scores(classes, clip)]


def _accuracy_at_coverage(coverage: float) -> RowStatistic:
    return RowStatistic(
        f"accuracy_at_{coverage * 100:g}", value=partial(_accuracy_at, coverage),
        title=f"accuracy at {coverage:.0%} coverage", direction="higher", part=coverage, **_RANKED,
        explanation=Explanation(
            f"accuracy of the {coverage:.0%} surest answers",
            "How often the system is right when it may abstain from its least sure answers.",
            "Where confidences are equal at the cut, all of them count in proportion.",
            "El-Yaniv and Wiener 2010, On the Foundations of Noise-free Selective Classification, JMLR"),
    )  # fmt: skip


def _of_raw_scores(figure: RowStatistic) -> RowStatistic:
    """The same figure where rows have a score that puts them in order and no confidence."""
    return replace(figure, needs=("score", "correct"), prepare=_ranked_scores, sorted_by="score", on_grid=False)
