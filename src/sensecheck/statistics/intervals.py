"""Interval ends from bootstrap replicates: percentile and BCa (Efron 1987)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

from sensecheck.statistics.arrays import Floats
from sensecheck.statistics.figure import IntervalOptions

End = float | tuple[float, ...] | None

_NORMAL = NormalDist()
# With more than half of the replicates undefined, the rest are no picture of the figure's spread.
_NEEDED_SHARE = 0.5


@dataclass(frozen=True)
class Interval:
    """The ends of an interval and how it was made, or why there is none."""

    low: End = None
    high: End = None
    method: str = ""
    absent: str = ""
    beside: Mapping[str, float] = field(default_factory=dict)
    """Figures that its rule shows beside it."""
    bounds: tuple[float, float] | None = None
    """Wider ends, for gates."""

    @classmethod
    def of_ends(cls, ends: tuple[End, End], method: str) -> Interval:
        """The interval with these ends; without one where too few replicates had a value."""
        if ends[0] is None:
            return cls(absent="the figure has a value in too few replicates")
        return cls(*ends, method)


def why_no_interval(options: IntervalOptions, n: int, clusters: int | None) -> str:
    """Why there is no interval before any replicate is looked at; empty where there can be one."""
    if options.method == "none":
        return "intervals were turned off"
    if n == 0:
        return "no scored rows"
    if n < 2:
        return "only one row"
    return "only one cluster, which says nothing about others" if clusters is not None and clusters < 2 else ""


def percentile(spread: Floats, level: float) -> tuple[End, End]:
    """The central `level` of the replicates (first axis).

    >>> percentile(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    tail = (1 - level) / 2
    return _quantiles(spread, tail, 1 - tail)


def bca(value: Floats, spread: Floats, accelerated: Floats, level: float) -> tuple[End, End]:
    """Bias-corrected and accelerated: the percentiles are moved by bias and skewness."""
    if spread.ndim > 1:
        return _side_by_side(
            [bca(np.asarray(value[i]), spread[:, i], np.asarray(accelerated[i]), level) for i in range(spread.shape[1])]
        )
    defined = _defined(spread)
    if defined is None:
        return None, None
    below = float((np.sum(defined < value) + 0.5 * np.sum(defined == value)) / len(defined))
    if below <= 0 or below >= 1 or not np.isfinite(accelerated):
        # All replicates on one side: the correction is infinite, the percentile interval is what is left.
        return percentile(spread, level)
    bias = _NORMAL.inv_cdf(below)
    a = float(accelerated)
    moved = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + _NORMAL.inv_cdf(tail)
        moved.append(_NORMAL.cdf(bias + z / (1 - a * z)))
    return _quantiles(spread, moved[0], moved[1])


def acceleration(left_out: Floats) -> Floats:
    """Skewness of the leave-one-out values over six: how fast the spread changes with the value."""
    # none where a part of a vector (an empty bin) has no value at all
    values = np.sum(~np.isnan(left_out), axis=0)
    deviation = np.nansum(left_out, axis=0) / np.maximum(values, 1) - left_out
    square = np.nansum(deviation**2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        a = np.nansum(deviation**3, axis=0) / (6 * square**1.5)
    return np.where(square > 0, a, 0.0)


def _quantiles(spread: Floats, low: float, high: float) -> tuple[End, End]:
    if spread.ndim > 1:
        whole = np.asarray(np.isfinite(spread).all(axis=0) & (len(spread) > 0))
        ends = [_quantiles(spread[:, i], low, high) if not whole[i] else (None, None) for i in range(spread.shape[1])]
        if whole.any():
            together = np.quantile(spread[:, whole], [low, high], axis=0).T.tolist()
            for i, (a, b) in zip(np.flatnonzero(whole).tolist(), together, strict=True):
                ends[i] = a, b
        return _side_by_side(ends)
    defined = _defined(spread)
    if defined is None:
        return None, None
    a, b = np.quantile(defined, [low, high])
    return float(a), float(b)


def _defined(spread: Floats) -> Floats | None:
    """The replicates that have a value; None where those are too few."""
    defined = spread[np.isfinite(spread)]
    return None if not len(defined) or len(defined) < _NEEDED_SHARE * len(spread) else defined


def _side_by_side(ends: Sequence[tuple[End, End]]) -> tuple[End, End]:
    """The ends of a vector from those of its parts: NaN where a part has none."""
    nan = float("nan")
    return (
        tuple(nan if low is None else float(low) for low, _ in ends),  # type: ignore[arg-type]
        tuple(nan if high is None else float(high) for _, high in ends),  # type: ignore[arg-type]
    )
