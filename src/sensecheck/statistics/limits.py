"""Limits in closed form: shares, bounded figures, means, areas under a ROC curve, and differences of two runs.

Every function takes arrays (slices, figures) and needs sums over independent units only: clusters, or rows where there
are none. The constants were chosen by simulation; docs/statistics.md has how often each rule holds the truth.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sensecheck.statistics.arrays import Floats
from sensecheck.statistics.distributions import beta_quantile, middle_quantile, student_quantile, student_tail

_NORMAL = NormalDist()
DISTRUST = 0.1
"""Of one unit's largest variance, added to both sides of a design effect: units that do not vary prove little."""
UNSEEN_DIFFERENCES = 2.0
"""Differences as large as those seen that are added to the variance (after Bonett and Price 2012)."""
_NONE = 1e-9


class Limits(NamedTuple):
    """Both ends of an interval, and the wider ones by which a gate judges."""

    low: Floats
    high: Floats
    surely_low: Floats
    surely_high: Floats


def share_limits(share: ArrayLike, number: ArrayLike, level: float) -> Limits:
    """Of a share of so many (effective) observations: mid-P, and for gates Clopper and Pearson's.

    >>> limits = share_limits([1.0, 0.5], [8.0, 100.0], 0.95)
    >>> limits.low.round(4).tolist(), limits.high.round(4).tolist()
    ([0.6877, 0.4027], [1.0, 0.5973])
    """
    share, number = np.broadcast_arrays(np.asarray(share, dtype=np.float64), np.asarray(number, dtype=np.float64))
    shape = share.shape
    share, number = np.atleast_1d(share), np.atleast_1d(number)
    ends = np.full((4, *share.shape), np.nan)
    defined = np.isfinite(share) & np.isfinite(number) & (number > 0)
    x, y = np.clip(share[defined], 0, 1) * number[defined], (1 - np.clip(share[defined], 0, 1)) * number[defined]
    tail = (1 - level) / 2
    none, all_of_them = x <= _NONE, y <= _NONE
    ends[0][defined] = np.where(none, 0.0, middle_quantile(tail, x, y))
    ends[1][defined] = np.where(all_of_them, 1.0, middle_quantile(1 - tail, x, y))
    ends[2][defined] = np.where(none, 0.0, beta_quantile(tail, np.maximum(x, _NONE), y + 1))
    ends[3][defined] = np.where(all_of_them, 1.0, beta_quantile(1 - tail, x + 1, np.maximum(y, _NONE)))
    return Limits(*(end.reshape(shape) for end in ends))


class ShareSums(NamedTuple):
    """What the units of a share ΣX/ΣD tell of its spread; an array over slices each."""

    share: Floats
    """f = ΣX / ΣD"""
    total: Floats
    """ΣD"""
    squares: Floats
    """ΣD²"""
    spread: Floats
    """(G − 1)/G · Σ[(X − f·D) / (1 − D/ΣD)]², as the jackknife has it."""
    units: Floats
    """G: units that have a D."""


def effective_number(sums: ShareSums) -> Floats:
    """Of how many independent observations a share in [0, 1] tells as much as it does.

    One observation a unit where all units are alike; more where units vary less than all or nothing.
    """
    even = sums.share * (1 - sums.share)
    with np.errstate(divide="ignore", invalid="ignore"):
        distrust = DISTRUST * sums.squares / sums.units
        effect = (sums.spread + distrust) / (np.maximum(even, 0.0) * sums.squares + distrust)
        return np.asarray(sums.total**2 / sums.squares / effect)


def at_most_by_pairs(number: Floats, sums: ShareSums, failing_pairs: Floats) -> Floats:
    """The effective number of true/false rows in clusters, bounded by how alike the rows of a cluster are.

    `failing_pairs` is the share of pairs of rows of one cluster that both fail. Where all rows are right (or wrong),
    nothing tells whether clusters matter, so each cluster counts once.
    """
    even = sums.share * (1 - sums.share)
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.clip((failing_pairs - (1 - sums.share) ** 2) / even, 0.0, 1.0)
        alike = np.where(even > 0, np.where(np.isfinite(alike), alike, 0.0), 1.0)
        return np.minimum(number, sums.total / (1 + np.maximum(sums.squares / sums.total - 1, 0.0) * alike))


def student_factor(units: Floats, level: float) -> Floats:
    """What Student's tails leave of an effective number when its variance was estimated from so many units."""
    z = _NORMAL.inv_cdf((1 + level) / 2)
    return np.asarray((z / student_quantile((1 + level) / 2, np.maximum(units - 1, 1.0))) ** 2)


def bounded_limits(value: Floats, variance: Floats, units: Floats, level: float) -> Limits:
    """Of any figure in [0, 1] with this variance: as a share of the number of observations that it would take."""
    even = np.maximum(value * (1 - value), 0.0)
    distrust = DISTRUST / units
    number = units * (even + distrust) / (units * variance + distrust)
    return share_limits(value, number * student_factor(units, level), level)


def mean_of_shares_limits(value: Floats, within: Floats, sizes: Floats, clustered: Floats, level: float) -> Limits:
    """Of the mean of the groups' shares: each group counts the same, however few its rows.

    `within`: each group's sum of squares around its share; `sizes`: its rows (groups on the last axis, 0 where it has
    none). `clustered`: the variance of the figure by its clusters, 0 where there are none.
    """
    groups = np.maximum((sizes > 0).sum(-1), 1)
    even = np.maximum(value * (1 - value), 0.0)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(sizes > 0, (within + 2 * even) / (sizes + 1) / sizes, 0.0).sum(-1) / groups**2
        one = np.where(sizes > 0, 1 / sizes, 0.0).sum(-1) / groups**2
    distrust = DISTRUST * one / np.maximum(sizes.sum(-1), 1)
    number = (even[..., 0] * one + distrust) / (np.maximum(each, clustered) + distrust) / one
    return share_limits(value, number * student_factor(np.maximum(1 / one, 2.0), level), level)


class Powers(NamedTuple):
    """Sums over units of powers of what each adds to a figure, u, and what it takes to judge them."""

    second: Floats
    third: Floats
    fourth: Floats
    jackknifed: Floats
    """(G − 1)/G · Σ[u / (1 − the unit's share of all)]²"""
    units: Floats
    unit: Floats
    """How much one unit could move the figure at most, where nothing varies; NaN where nothing says."""


class Judged(NamedTuple):
    """An interval, the p of the test that agrees with it, and the standard error."""

    low: Floats
    high: Floats
    p: Floats
    error: Floats


def mean_limits(value: Floats, powers: Powers, level: float) -> Judged:
    """Of a mean, or anything near linear in sums: Student's t, bent by the skewness (Hall 1992); p that it is 0.

    The interval holds exactly those values that the test would not reject.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Where no bounds say how far a unit could move the figure, its part of the value tells rounding from variation.
        one = np.where(np.isfinite(powers.unit), powers.unit, np.abs(value) / powers.units)
        still = ~(powers.second > 1e-14 * one**2)
        typical = np.where(still, powers.unit**2, powers.fourth / np.where(still, 1.0, powers.second))
        variance = powers.jackknifed + UNSEEN_DIFFERENCES * typical
        error = np.sqrt(variance)
        skew = np.where(variance > 0, powers.third / variance**1.5, 0.0)
        t = student_quantile((1 + level) / 2, np.maximum(powers.units - 1, 1.0))
        bent = _bent(np.where(value == 0, 0.0, value / error), skew)
        p = 2 * student_tail(np.where(np.isfinite(bent), bent, 0.0), np.maximum(powers.units - 1, 1.0))
        p = np.where(np.isfinite(bent), p, np.nan)
    return Judged(value - _straight(t, skew) * error, value - _straight(-t, skew) * error, np.minimum(p, 1.0), error)


def _bent(t: Floats, skew: Floats) -> Floats:
    return t + skew * t * t / 3 + skew**2 * t**3 / 27 + skew / 6


def _straight(q: Floats, skew: Floats) -> Floats:
    """The t that is bent to q."""
    some = np.where(np.abs(skew) < 1e-6, 1.0, skew)
    return np.where(np.abs(skew) < 1e-6, q, 3 / some * (np.cbrt(1 + some * (q - some / 6)) - 1))


def area_limits(area: ArrayLike, right: ArrayLike, wrong: ArrayLike, effect: ArrayLike, level: float) -> Limits:
    """Of an area under a ROC curve: Newcombe (2006), method 5, with the variance times a design effect.

    >>> area_limits([1.0], [20.0], [5.0], [1.0], 0.95).low.round(2).tolist()
    [0.76]
    """
    area, right, wrong, effect = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.float64) for v in (area, right, wrong, effect))
    )
    z = _NORMAL.inv_cdf((1 + level) / 2)
    low, high = (_area_end(area, right, wrong, effect, z, side) for side in (-1, 1))
    return Limits(low, high, low, high)


def area_variance(area: Floats, right: Floats, wrong: Floats) -> Floats:
    half = (right + wrong) / 2 - 1
    return np.asarray(
        area * (1 - area) * (1 + half * (1 - area) / (2 - area) + half * area / (1 + area)) / (right * wrong)
    )


def _area_end(area: Floats, right: Floats, wrong: Floats, effect: Floats, z: float, side: int) -> Floats:
    inner = area.copy()
    outer = np.full_like(area, 0.0 if side < 0 else 1.0)
    for _ in range(50):
        middle = (inner + outer) / 2
        holds = np.abs(area - middle) <= z * np.sqrt(effect * area_variance(middle, right, wrong))
        inner, outer = np.where(holds, middle, inner), np.where(holds, outer, middle)
    return np.where(np.isfinite(area), (inner + outer) / 2, np.nan)


class Measured(NamedTuple):
    """A figure of one run, with its interval."""

    value: float
    low: float
    high: float


def difference_of_measured(a: Measured, b: Measured, correlation: float, level: float, from_zero: bool) -> Judged:
    """B − A where each run has an interval of its own: MOVER (Zou and Donner 2008), with p at the same limits.

    `from_zero`: figures that noise pushes up from 0. What two of them share is uncertain, so that half of a positive
    correlation counts; and a run whose interval reaches 0 is measured from there.
    """
    d = b.value - a.value
    rho = 0.0 if not np.isfinite(correlation) else correlation
    if from_zero and rho > 0:
        rho /= 2
    x, y = b.value - b.low, a.high - a.value
    low = d - np.sqrt(max(x * x + y * y - 2 * rho * x * y, 0.0))
    x, y = b.high - b.value, a.value - a.low
    high = d + np.sqrt(max(x * x + y * y - 2 * rho * x * y, 0.0))
    if from_zero:
        low = min(low, -a.high) if b.low <= _NONE else low
        high = max(high, b.high) if a.low <= _NONE else high
    z = _NORMAL.inv_cdf((1 + level) / 2)
    reach = d - low if d > 0 else high - d
    p = 1.0 if d == 0 else 0.0 if reach <= 0 else 2 * _NORMAL.cdf(-z * abs(d) / reach)
    error = (high - low) / (2 * z)
    return Judged(np.asarray(low), np.asarray(high), np.asarray(p), np.asarray(error))
