"""Interval ends from bootstrap replicates: percentile and BCa (Efron 1987)."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
End = float | tuple[float, ...] | None

_NORMAL = NormalDist()
# With more than half of the replicates undefined, the rest are no picture of the figure's spread.
_NEEDED_SHARE = 0.5


def percentile(spread: Floats, level: float) -> tuple[End, End]:
    """The central `level` of the replicates (first axis)."""
    tail = (1 - level) / 2
    return _quantiles(spread, tail, 1 - tail)


def bca(value: Floats, spread: Floats, accelerated: Floats, level: float) -> tuple[End, End]:
    """Bias-corrected and accelerated: the percentiles are moved by bias and skewness."""
    if spread.ndim > 1:
        ends = [
            bca(np.asarray(value[i]), spread[:, i], np.asarray(accelerated[i]), level) for i in range(spread.shape[1])
        ]
        nan = float("nan")
        lows = tuple(nan if e[0] is None else float(e[0]) for e in ends)  # type: ignore[arg-type]
        highs = tuple(nan if e[1] is None else float(e[1]) for e in ends)  # type: ignore[arg-type]
        return lows, highs
    known = spread[np.isfinite(spread)]
    if len(known) < _NEEDED_SHARE * len(spread) or not len(known):
        return None, None
    below = float((np.sum(known < value) + 0.5 * np.sum(known == value)) / len(known))
    if below <= 0 or below >= 1 or not np.isfinite(accelerated):
        # All replicates on one side: the correction is infinite, the percentile interval is what is left.
        return percentile(spread, level)
    bias = _NORMAL.inv_cdf(below)
    a = float(accelerated)
    ends_of = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        z = bias + _NORMAL.inv_cdf(tail)
        ends_of.append(_NORMAL.cdf(bias + z / (1 - a * z)))
    return _quantiles(spread, ends_of[0], ends_of[1])


def acceleration(left_out: Floats) -> Floats:
    """Skewness of the leave-one-out values over six: how fast the spread changes with the value."""
    known = np.sum(~np.isnan(left_out), axis=0)  # none where a part of a vector (an empty bin) has no value at all
    deviation = np.nansum(left_out, axis=0) / np.maximum(known, 1) - left_out
    square = np.nansum(deviation**2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        a = np.nansum(deviation**3, axis=0) / (6 * square**1.5)
    return np.where(square > 0, a, 0.0)


def _quantiles(spread: Floats, low: float, high: float) -> tuple[End, End]:
    if spread.ndim > 1:
        ends = [_quantiles(spread[:, i], low, high) for i in range(spread.shape[1])]
        nan = float("nan")
        return (
            tuple(nan if a is None else float(a) for a, _ in ends),  # type: ignore[arg-type]
            tuple(nan if b is None else float(b) for _, b in ends),  # type: ignore[arg-type]
        )
    known = spread[np.isfinite(spread)]
    if not len(known) or len(known) < _NEEDED_SHARE * len(spread):
        return None, None
    a, b = np.quantile(known, [low, high])
    return float(a), float(b)
