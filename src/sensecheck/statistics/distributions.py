"""The beta and Student's distributions over whole arrays: what closed-form intervals and tests read off.

Written here, and not taken from SciPy, because that is twice the size of everything else that is installed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from sensecheck.statistics.arrays import Flags, Floats

_NORMAL = NormalDist()
_TINY = 1e-300
_CLOSE = 1e-13
_MOST_TERMS = 500
_FEW = 16
_STEPS = 60
# From so many of both kinds on, cube roots give a quantile to more digits than are ever shown.
_MANY = 2_000.0


def log_gamma(x: ArrayLike) -> Floats:
    """log Γ for x > 0: Stirling's series, after stepping up to where it is exact to 12 digits.

    >>> log_gamma([3.0, 0.5, 11.0]).round(9).tolist()
    [0.693147181, 0.572364943, 15.104412573]
    """
    x = np.asarray(x, dtype=np.float64)
    up = x + 8
    shift = np.log(x * (x + 1) * (x + 2) * (x + 3)) + np.log((x + 4) * (x + 5) * (x + 6) * (x + 7))
    series = 1 / (12 * up) - 1 / (360 * up**3) + 1 / (1260 * up**5) - 1 / (1680 * up**7)
    return np.asarray((up - 0.5) * np.log(up) - up + 0.5 * math.log(2 * math.pi) + series - shift)


def beta_cdf(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Floats:
    """P(B ≤ x) of B ~ Beta(a, b), a and b over 0: Lentz's continued fraction.

    >>> beta_cdf([2.0, 0.5], [3.0, 0.5], [0.4, 0.5]).round(6).tolist()
    [0.5248, 0.5]
    """
    a, b, x = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (a, b, x)))
    shape = x.shape
    a, b, x = a.ravel(), b.ravel(), x.ravel()
    # The fraction converges quickly below the mean; above it, the other tail is taken.
    flip = x > (a + 1) / (a + b + 2)
    p, q = np.where(flip, b, a), np.where(flip, a, b)
    y = np.clip(np.where(flip, 1 - x, x), _TINY, 1 - 1e-16)
    log_front = log_gamma(p + q) - log_gamma(p) - log_gamma(q) + p * np.log(y) + q * np.log1p(-y)
    if len(y) <= _FEW:
        fraction = np.array([_fraction_of_one(*one) for one in zip(p.tolist(), q.tolist(), y.tolist(), strict=True)])
    else:
        fraction = _fraction(p, q, y)
    below = np.exp(log_front) / p * fraction
    cdf = np.where(flip, 1 - below, below)
    return np.clip(np.where(x <= 0, 0.0, np.where(x >= 1, 1.0, cdf)), 0.0, 1.0).reshape(shape)


def _fraction(p: Floats, q: Floats, y: Floats) -> Floats:
    c = np.ones_like(y)
    d = _inverse(1 - (p + q) * y / (p + 1))
    h = d.copy()
    live = np.arange(len(y))
    for m in range(1, _MOST_TERMS):
        pl, ql, yl, cl, dl, hl = (v[live] for v in (p, q, y, c, d, h))
        for term in (
            m * (ql - m) * yl / ((pl + 2 * m - 1) * (pl + 2 * m)),
            -(pl + m) * (pl + ql + m) * yl / ((pl + 2 * m) * (pl + 2 * m + 1)),
        ):
            dl = _inverse(1 + term * dl)
            cl = 1 + term / np.where(np.abs(cl) < _TINY, _TINY, cl)
            hl = hl * dl * cl
        c[live], d[live], h[live] = cl, dl, hl
        live = live[np.abs(dl * cl - 1) > _CLOSE]
        if not len(live):
            break
    return h


def _fraction_of_one(p: float, q: float, y: float) -> float:
    """The same of single numbers: of a few, quicker than arrays."""
    c, d = 1.0, 1 - (p + q) * y / (p + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    h = d
    for m in range(1, _MOST_TERMS):
        for term in (
            m * (q - m) * y / ((p + 2 * m - 1) * (p + 2 * m)),
            -(p + m) * (p + q + m) * y / ((p + 2 * m) * (p + 2 * m + 1)),
        ):
            d = 1 + term * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + term / (c if abs(c) > _TINY else _TINY)
            h *= d * c
        if abs(d * c - 1) <= _CLOSE:
            break
    return h


def _inverse(x: Floats) -> Floats:
    return np.asarray(1 / np.where(np.abs(x) < _TINY, _TINY, x))


def student_tail(t: ArrayLike, freedom: ArrayLike) -> Floats:
    """P(T > |t|) of Student's T.

    >>> student_tail([0.0, 2.0, 2.0], [5.0, 10.0, 1e6]).round(5).tolist()
    [0.5, 0.03669, 0.02275]
    """
    t, freedom = np.broadcast_arrays(np.abs(np.asarray(t, dtype=np.float64)), np.asarray(freedom, dtype=np.float64))
    tail = np.empty(t.shape)
    far = freedom > 1e5  # the normal distribution, to six digits and more
    tail[far] = [_NORMAL.cdf(-float(v)) for v in t[far]]
    near = ~far
    tail[near] = 0.5 * beta_cdf(freedom[near] / 2, 0.5, freedom[near] / (freedom[near] + t[near] ** 2))
    return tail


def student_quantile(probability: float, freedom: ArrayLike) -> Floats:
    """The t below which Student's T stays with this probability (of at least one half).

    >>> student_quantile(0.975, [1.0, 4.0, 30.0, 1e9]).round(4).tolist()
    [12.7062, 2.7764, 2.0423, 1.96]
    """
    freedom = np.asarray(freedom, dtype=np.float64)
    distinct, place = np.unique(np.where(freedom > 1e5, 1e6, freedom), return_inverse=True)
    quantiles = np.array([_one_student_quantile(probability, df) for df in distinct.tolist()])
    return np.asarray(quantiles[place].reshape(freedom.shape))


_MUCH_FREEDOM = 500.0


def _fisher_expansion(z: float, freedom: float) -> float:
    """Student's quantile from the normal one, to twelve digits from 500 degrees of freedom on (Fisher 1926)."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom ** (k + 1) for k, term in enumerate(terms))


@lru_cache(maxsize=4096)
def _one_student_quantile(probability: float, freedom: float) -> float:
    """Newton's steps from where few degrees of freedom give too little: the density falls, so none goes too far."""
    t = _NORMAL.inv_cdf(probability)
    if freedom > 1e5:
        return t
    if freedom > _MUCH_FREEDOM:
        return _fisher_expansion(t, freedom)
    log_constant = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    for _ in range(_STEPS):
        over = float(student_tail(t, freedom)) - (1 - probability)
        density = math.exp(log_constant - (freedom + 1) / 2 * math.log1p(t * t / freedom))
        t += over / density
        if abs(over / density) <= 1e-13 * t:
            break
    return t


def beta_quantile(probability: float, a: ArrayLike, b: ArrayLike) -> Floats:
    """The x with P(B ≤ x) = probability for B ~ Beta(a, b).

    >>> beta_quantile(0.025, [8.0], [1.0]).round(6).tolist()
    [0.630583]
    """
    a, b = (np.atleast_1d(v) for v in np.broadcast_arrays(np.asarray(a, dtype=float), np.asarray(b, dtype=float)))

    def chance(x: Floats, of: Flags) -> tuple[Floats, Floats]:
        one, other = a[of], b[of]
        log_density = (
            log_gamma(one + other) - log_gamma(one) - log_gamma(other)
            + (one - 1) * np.log(x) + (other - 1) * np.log1p(-x)
        )  # fmt: skip
        return beta_cdf(one, other, x), np.exp(np.clip(log_density, -700, 700))

    return _root(chance, probability, a, b)


def middle_quantile(probability: float, successes: ArrayLike, failures: ArrayLike) -> Floats:
    """The chance p under which P(X > x) + ½P(X = x) of a binomial X is this probability: an end of a mid-P interval.

    Numbers of successes and failures need not be whole.
    """
    numbers = np.broadcast_arrays(np.asarray(successes, dtype=float), np.asarray(failures, dtype=float))
    x, y = (np.atleast_1d(v) for v in numbers)

    def chance(p: Floats, of: Flags) -> tuple[Floats, Floats]:
        right, wrong = x[of], y[of]
        n = right + wrong
        log_mass = log_gamma(n + 1) - log_gamma(right + 1) - log_gamma(wrong + 1)
        mass = np.exp(np.clip(log_mass + right * np.log(p) + wrong * np.log1p(-p), -700, 0))
        more = np.where(wrong > 0, beta_cdf(right + 1, np.maximum(wrong, 1e-12), p), 0.0)
        return more + mass / 2, mass * (wrong / (1 - p) + right / p) / 2

    # With half an observation on either side, a beta distribution says nearly the same: it serves where both are many.
    return _root(chance, probability, x + 0.5, y + 0.5)


def _root(chance: Callable[[Floats, Flags], tuple[Floats, Floats]], probability: float, a: Floats, b: Floats) -> Floats:
    """Where a rising function of x in (0, 1), near that of Beta(a, b), has this value: Newton's steps in a bracket."""
    x = np.clip(near_beta_quantile(a, b, _NORMAL.inv_cdf(probability)), 1e-12, 1 - 1e-12)
    live = (a < _MANY) | (b < _MANY)
    low, high = np.zeros_like(x), np.ones_like(x)
    for _ in range(_STEPS):
        if not live.any():
            break
        at = x[live]
        value, slope = chance(at, live)
        over = value > probability
        high[live] = np.where(over, at, high[live])
        low[live] = np.where(over, low[live], at)
        with np.errstate(divide="ignore", invalid="ignore"):
            stepped = at - (value - probability) / slope
        middle = (low[live] + high[live]) / 2
        inside = np.isfinite(stepped) & (stepped > low[live]) & (stepped < high[live])
        x[live] = np.where(inside, stepped, middle)
        still = live.copy()
        still[live] = (np.abs(x[live] - at) > 1e-12 * at) & (high[live] - low[live] > 1e-14)
        live = still
    return x


def near_beta_quantile(a: Floats, b: Floats, z: float) -> Floats:
    """The quantile of Beta(a, b) at the probability of a standard normal up to `z`, nearly.

    Paulson's cube-root approximation; where that has no root, the end of the range.
    """
    one, two = 1 / (9 * a), 1 / (9 * b)
    square = (1 - two) ** 2 - z * z * two
    cross = (1 - one) * (1 - two)
    constant = (1 - one) ** 2 - z * z * one
    root = np.sqrt(np.maximum(cross**2 - square * constant, 0.0))
    if z < 0:
        cube_root = np.maximum(constant, 0.0) / (cross + root)
    else:
        cube_root = np.where(square > 0, (cross + root) / np.where(square > 0, square, 1.0), np.inf)
    odds = a / b * cube_root**3
    return np.asarray(np.where(np.isinf(odds), 1.0, odds / (1 + np.where(np.isinf(odds), 0.0, odds))))
