"""The figures of `calibrated`, all from sums over (confidence, correct)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.calibrated.adaptive import adaptive_edges, adaptive_edges_of_histogram
from sensecheck.calibrated.debiased import Kind, debiased_interval, noise_floor
from sensecheck.statistics.statistic import (
    ONE,
    Anchor,
    AnyStatistic,
    Bins,
    Explanation,
    OwnInterval,
    Statistic,
    mean_of,
    ratio,
)

Floats = NDArray[np.float64]

DEFAULT_BINS = 20

_CONFIDENCE = pl.col("confidence")
_CORRECT = pl.col("correct").cast(pl.Float64)
DERIVED: dict[str, pl.Expr] = {
    # How much a perfectly calibrated row varies: its share of the noise floor.
    "variance": _CONFIDENCE * (1 - _CONFIDENCE),
    "brier": (_CONFIDENCE - _CORRECT) ** 2,
    # Certain and wrong costs infinitely much: such rows have no log loss, and are counted as unscored for it.
    "nll": (
        pl.when(_CORRECT > 0).then(-_CORRECT * _CONFIDENCE.log()).otherwise(0.0)
        + pl.when(_CORRECT < 1).then(-(1 - _CORRECT) * (-_CONFIDENCE).log1p()).otherwise(0.0)
    ).pipe(lambda loss: pl.when(loss.is_finite()).then(loss).otherwise(None)),
}


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
        found = np.where(length > 1e-14, (x * y).sum(-1) / length, np.nan)
    return np.where(count[..., 0] >= 2, np.clip(found, -1, 1), np.nan)


def _interval(
    kind: Kind, sums: Sequence[Floats], replicates: Sequence[Floats], *, level: float, seed: int
) -> OwnInterval:
    """A debiased interval, beside the noise floor; absolute gaps grow with noise, so percentiles do not cover."""
    confidence, correct, n, variance = sums
    floor = float(noise_floor(kind, n, confidence, variance))
    drawn = (replicates[2], replicates[0], replicates[1])
    found = debiased_interval(kind, n, confidence, correct, drawn, level=level, seed=seed)
    beside = {"debiased": found.value if found.value is not None else float("nan"), "noise floor": floor}
    if found.low is None or found.high is None:
        return OwnInterval(float("nan"), float("nan"), "", beside, found.reason or "no interval")
    return OwnInterval(found.low, found.high, found.method, beside)


_BINNED = ("confidence", "correct", ONE)
_STENGEL = (
    "Stengel-Eskin and Van Durme 2023, Calibrated Interpretation: Confidence Estimation in Semantic Parsing, TACL"
)
_GUO = "Guo, Pleiss, Sun and Weinberger 2017, On Calibration of Modern Neural Networks, ICML"


def _binned(name: str, kind: Kind, finish: Any, bins: int, title: str, explanation: Explanation) -> Statistic:
    return Statistic(
        name, _BINNED, finish, title, "lower", (0.0, 1.0), Bins("confidence", uniform_edges(bins)),
        derived=DERIVED, interval=partial(_interval, kind), interval_sums=("variance",), explanation=explanation,
    )  # fmt: skip


def statistics(method: Mapping[str, str]) -> list[AnyStatistic]:
    """All figures under a signature's choices."""
    bins = int(method.get("bins", str(DEFAULT_BINS)))
    edges = Bins("confidence", uniform_edges(bins))
    return [
        _binned("ece", "ece", _ece, bins, "ECE", Explanation(
            f"Σ_b (n_b/N) · |mean confidence_b − accuracy_b|, {bins} equal-width bins on [0, 1]",
            "Expected calibration error: how far confidence is from the rate of being right, on average over rows.",
            "Few rows per bin push it up even for a perfect model: read it beside the noise floor. More bins, "
            "more noise.",
            _GUO)),
        _binned("rmsce", "rmsce", _rmsce, bins, "RMSCE", Explanation(
            "sqrt(Σ_b (n_b/N) · (mean confidence_b − accuracy_b)²)",
            "Root-mean-square calibration error: like ECE, but large gaps weigh more.",
            "As ECE; never smaller than ECE.",
            "Kumar, Liang and Ma 2019, Verified Uncertainty Calibration, NeurIPS")),
        _binned("mce", "mce", _mce, bins, "MCE", Explanation(
            "max_b |mean confidence_b − accuracy_b| over bins that hold rows",
            "Maximum calibration error: the worst bin, however few rows it holds.",
            "Nearly empty bins: a single row can make it 1.",
            "Naeini, Cooper and Hauskrecht 2015, Obtaining Well Calibrated Probabilities Using Bayesian Binning, "
            "AAAI")),
        _binned("overconfidence", "over", _over, bins, "over-confidence", Explanation(
            "Σ_b (n_b/N) · max(mean confidence_b − accuracy_b, 0)",
            "The part of ECE where the model is surer than right; with under-confidence it adds up to ECE.",
            "As ECE.",
            _STENGEL)),
        _binned("underconfidence", "under", _under, bins, "under-confidence", Explanation(
            "Σ_b (n_b/N) · max(accuracy_b − mean confidence_b, 0)",
            "The part of ECE where the model is more often right than it says; with over-confidence it adds up to "
            "ECE.",
            "As ECE.",
            _STENGEL)),
        Statistic(
            "adaptive_ece", _BINNED, _ece, "adaptive ECE", "lower", (0.0, 1.0), Bins("confidence", "adaptive_edges"),
            (Anchor("adaptive_edges", ("confidence",), _edges, _streamed_edges),),
            DERIVED, interval=partial(_interval, "ece"), interval_sums=("variance",),
            explanation=Explanation(
                "ECE over bins closed from the top once they hold more than 0.25·(1.645/width)² rows",
                "ECE with as many rows in each bin as its width needs: fine bins where confidences crowd.",
                "The bins follow the data, so two systems are binned differently. Equal confidences share a bin.",
                "Ding, Liu, Xiong and Shi 2020, Revisiting the Evaluation of Uncertainty Estimation, CVPR Workshops")),
        Statistic(
            "pearson", ("confidence", "correct", ONE), _pearson, "Pearson r over bins", "higher", (-1.0, 1.0), edges,
            explanation=Explanation(
                "correlation of mean confidence_b and accuracy_b over the bins that hold rows, unweighted",
                "Whether accuracy rises with confidence, whatever the scale.",
                "A nearly empty bin counts like a full one.",
                _STENGEL)),
        mean_of("brier", title="Brier score", direction="lower", derived=DERIVED, explanation=Explanation(
            "mean of (confidence − correct)²",
            "A proper score: calibration and sharpness together. 0.25 is what always saying one half gets.",
            "Accuracy as much as calibration: compare it between systems on the same rows only.",
            "Brier 1950, Verification of Forecasts Expressed in Terms of Probability, Monthly Weather Review")),
        mean_of("nll", title="NLL", direction="lower", range=(0.0, float("inf")), derived=DERIVED,
            explanation=Explanation(
                "mean of −ln(confidence) where right, −ln(1 − confidence) where wrong",
                "Log loss of the confidence as a forecast of being right.",
                "Certain and wrong costs infinitely much; such rows are counted as unscored for it.",
                "Good 1952, Rational Decisions, Journal of the Royal Statistical Society B")),
        mean_of("correct", "accuracy", title="accuracy", direction="higher", explanation=Explanation(
            "mean of correct", "How often the model is right.", "The task.", "")),
        mean_of("confidence", "mean_confidence", title="mean confidence", explanation=Explanation(
            "mean of confidence", "How sure the model is.", "", "")),
        Statistic("confidence_gap", ("confidence", "correct", ONE), lambda c, y, n: ratio(c - y, n),
            "confidence − accuracy", range=(-1.0, 1.0), explanation=Explanation(
                "mean confidence − accuracy",
                "Over-confident on the whole above 0, under-confident below; needs no bins and is not biased.",
                "Over- and under-confidence cancel: 0 does not mean calibrated.", "")),
        curve(bins),
    ]  # fmt: skip


def _edges(rows: Mapping[str, NDArray[Any]]) -> Floats:
    """Adaptive edges; one bin where no row has a confidence."""
    values = rows["confidence"]
    return adaptive_edges(values) if len(values) else np.array([0.0, 1.0])


def _streamed_edges(batches: Iterator[Mapping[str, NDArray[Any]]]) -> Floats:
    """The same from a fine histogram, for more rows than are held at once: edges within 1/4,194,304."""
    counts = np.zeros(1 << 22, dtype=np.int64)
    for rows in batches:
        cell = np.minimum((rows["confidence"] * len(counts)).astype(np.intp), len(counts) - 1)
        np.add.at(counts, cell, 1)
    return adaptive_edges_of_histogram(counts) if counts.any() else np.array([0.0, 1.0])


def curve(bins: int) -> Statistic:
    """What the reliability diagram draws: sums by bin, kept as a vector."""
    return Statistic(
        "reliability", (*_BINNED, "variance"), _stacked, "reliability curve",
        bins=Bins("confidence", uniform_edges(bins)), derived=DERIVED, vector=True,
    )  # fmt: skip


def _stacked(confidence: Floats, correct: Floats, n: Floats, variance: Floats) -> Floats:
    """Accuracy, mean confidence, rows and their variance, bin after bin."""
    return np.concatenate([ratio(correct, n), ratio(confidence, n), n, variance], axis=-1)
