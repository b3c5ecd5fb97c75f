"""Debiased estimates and honest intervals for binned calibration figures, and the noise floor beneath them.

A binned figure takes the absolute value (or the maximum, or the positive part) of noisy gaps, so it is biased
upward, most of all where the model is well calibrated: there the figure shows nothing but noise. A percentile
bootstrap adds the same bias once more. What is done here instead:

1. *The sampling model.* ``gap_b = confidence_b - accuracy_b`` of bin ``b`` is taken as normal around the true gap
   ``g_b``, with the binomial variance *at the hypothesised accuracy* ``a = confidence_b - g_b`` (as in Wilson's
   interval, so that a bin with no error has not zero variance), times a design effect read off the bootstrap
   replicates; the correlation between bins and the variation of the bin shares come from the replicates too, so
   clusters are respected. The number of clusters follows from the spread of the replicates' total count
   (``N**2 / Var(N*)``); few clusters give Student's heavier tails.
2. *Test inversion.* ``low`` is the smallest true figure under which a value as large as the observed one still has
   probability 2.5 %, ``high`` the largest under which one as small has. The true gaps are not determined by the
   figure alone, so each end walks a one-parameter family through the data that leans to the cautious side:
   ``low`` scales the observed gaps (``s * gap``: ``s = 0`` is perfect calibration, so that exact calibration is
   covered by construction); ``high`` moves all standardised gaps, shrunken to their mean, by one amount (gaps
   equal in units of their noise hide best, as they have the least bias for their size).
3. *The maximum* (``mce``) is bounded bin by bin: a true maximum sits in some bin, so the largest pointwise upper
   limit covers it; the lower limit is the largest simultaneous one over the bins that may hold the maximum.

``value`` is the figure of the family's middle (50 %), a median-unbiased estimate. Everything is a function of
per-bin sums and their replicates; the same seed gives the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Kind = Literal["ece", "rmsce", "mce", "over", "under"]
KINDS: tuple[Kind, ...] = ("ece", "rmsce", "mce", "over", "under")
Array = NDArray[np.float64]

DRAWS = 1000  # rows of noise: a 2.5 % point is then exact to half a percentage point
PRIOR = 2.0  # rows' worth of "no design effect" given to each bin, which decides in bins that say nothing
STEPS = 12  # of each root search, at most; four to six are the rule
FARTHEST = 64.0  # standard errors, or multiples of the observed gaps: the end of a search that finds no root
STANDS_OUT = 2.0  # standard errors from which a gap counts as seen


@dataclass(frozen=True, slots=True)
class Debiased:
    """A debiased figure with its interval; where there is none, ``reason`` says why."""

    value: float | None
    low: float | None
    high: float | None
    method: str
    reason: str | None = None


def binned_figure(kind: Kind, n: ArrayLike, conf: ArrayLike, correct: ArrayLike) -> Array:
    """The plain (biased) figure from per-bin sums; bins on the last axis, any leading axes; no rows give nan."""
    count = np.asarray(n, dtype=np.float64)
    share = count / _positive(count.sum(-1, keepdims=True))
    gap = (np.asarray(conf, dtype=np.float64) - np.asarray(correct, dtype=np.float64)) / _positive(count)
    return np.where(count.sum(-1) > 0, _figure(_known(kind), gap, share), np.nan)


def debiased_interval(
    kind: Kind,
    n: ArrayLike,
    conf: ArrayLike,
    correct: ArrayLike,
    replicates: tuple[ArrayLike, ArrayLike, ArrayLike],
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> Debiased:
    """Debiased value and interval of one figure from per-bin sums (length B) and their replicates (each R x B).

    ``replicates`` are the bootstrap's sums ``(n, conf, correct)`` under Poisson(1) (or multinomial) weights on
    rows or on clusters. The target is the population figure over the bins that hold data.
    """
    found = debiased_intervals((kind,), n, conf, correct, replicates, level=level, seed=seed, draws=draws)
    return found[kind]


def debiased_intervals(
    kinds: Sequence[Kind],
    n: ArrayLike,
    conf: ArrayLike,
    correct: ArrayLike,
    replicates: tuple[ArrayLike, ArrayLike, ArrayLike],
    *,
    level: float = 0.95,
    seed: int = 0,
    draws: int = DRAWS,
) -> dict[Kind, Debiased]:
    """`debiased_interval` for several figures of the same sums: they share one sampling model."""
    for kind in kinds:
        _known(kind)
    if not 0.5 <= level < 1:
        raise ValueError(f"level: expected a number from 0.5 to below 1, came {level!r}")
    sums = [np.asarray(part, dtype=np.float64) for part in (n, conf, correct)]
    resampled = [np.asarray(part, dtype=np.float64) for part in replicates]
    if any(part.ndim != 1 or part.shape != sums[0].shape for part in sums):
        raise ValueError(f"n, conf, correct: expected three vectors of one length, came {[s.shape for s in sums]}")
    if any(part.ndim != 2 or part.shape != (len(resampled[0]), len(sums[0])) for part in resampled):
        raise ValueError(
            f"replicates: expected three R x {len(sums[0])} arrays, came {[part.shape for part in resampled]}"
        )
    full = sums[0] > 0
    if not full.any():
        return _none(kinds, "no rows: every bin is empty")
    if len(resampled[0]) < 50:
        return _none(kinds, f"{len(resampled[0])} replicates: at least 50 are needed")
    model = _model([part[full] for part in sums], [part[:, full] for part in resampled], draws, seed)
    if model.clusters < 2:
        return _none(kinds, "one cluster: its rows vary together, so nothing tells how another sample would differ")
    tail = (1 - level) / 2
    return {kind: _maximum(model, tail) if kind == "mce" else _inverted(kind, model, tail) for kind in kinds}


def _none(kinds: Sequence[Kind], reason: str) -> dict[Kind, Debiased]:
    return {kind: Debiased(None, None, None, "none", reason) for kind in kinds}


# --- the sampling model -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Model:
    size: Array  # rows per bin
    share: Array
    confidence: Array
    gap: Array
    effect: Array  # design effect per bin
    clusters: float  # effective number of clusters (of rows where there are none)
    noise: Array  # draws x B, unit variance (before Student's factor), correlated as the replicates are
    shares: Array  # draws x B, the bin shares of resampled data, as ratios to their mean

    def sd(self, gap: Array) -> Array:
        """Standard deviation of each observed gap if ``gap`` were the true one."""
        accuracy = np.clip(self.confidence - gap, 0.0, 1.0)
        return np.asarray(np.sqrt(self.effect * accuracy * (1 - accuracy) / self.size))

    def reference(self) -> Array:
        """A standard deviation that serves as a unit: at the observed accuracy, drawn a little to calibration."""
        pulled = self.gap * self.size / (self.size + PRIOR)
        return np.maximum(self.sd(pulled), 1e-9)

    def possible(self, gap: Array) -> Array:
        """The nearest gaps that leave every accuracy within 0 and 1."""
        return np.clip(gap, self.confidence - 1, self.confidence)


def _model(sums: list[Array], resampled: list[Array], draws: int, seed: int) -> _Model:
    size, conf, correct = sums
    sizes, confs, corrects = resampled
    total = size.sum()
    confidence = np.clip(conf / size, 0.0, 1.0)
    accuracy = np.clip(correct / size, 0.0, 1.0)
    gap = confidence - accuracy
    # Poisson weights w on clusters of m rows: Var(sum of w*m) = sum of m**2, which is N**2 / G for G equal clusters.
    spread = float(np.var(sizes.sum(1)))
    clusters = total**2 / spread if spread > 0 else 1.0
    within = size**2 / np.maximum(sizes.var(0), size)
    # The linearised error of each replicate's gap: no division by a replicate's own count, which may be 0.
    residual = confs - corrects - sizes * gap
    variance = residual.var(0)
    few = np.where(within > 1, within / np.maximum(within - 1, 0.5), 2.0) * (size - 1) / size
    calibrated = np.maximum(confidence * (1 - confidence), 1e-6)
    effect = (variance * few + PRIOR * calibrated) / (size * accuracy * (1 - accuracy) + PRIOR * calibrated)
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((draws // 2, len(size)))
    noise = np.concatenate([half, -half]) @ _root(residual, variance).T
    freedom = max(clusters - 1, 1.0)
    chi = rng.chisquare(freedom, draws // 2) / freedom
    noise /= np.sqrt(np.concatenate([chi, chi]))[:, None]
    shares = sizes / _positive(sizes.sum(1, keepdims=True))
    shares = shares / _positive(shares.mean(0))
    return _Model(
        size, size / total, confidence, gap, effect, clusters, noise, np.resize(shares, (len(noise), len(size)))
    )


def _root(residual: Array, variance: Array) -> Array:
    """A square root of the replicates' correlation matrix; a bin whose residual never varies stands alone."""
    live = variance > 1e-12
    scaled = np.where(live, residual - residual.mean(0), 0.0) / np.sqrt(np.where(live, variance, 1.0))
    correlation = scaled.T @ scaled / len(residual)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root / np.sqrt((root**2).sum(1, keepdims=True)))


# --- test inversion: ece, rmsce, over, under ----------------------------------------------------------------


def _inverted(kind: Kind, model: _Model, tail: float) -> Debiased:
    observed = float(_figure(kind, model.gap, model.share))
    weights = model.share * model.shares

    def at(family: Callable[[float], Array], probability: float, floor: float) -> float:
        """The figure of that member of the family under which the observed one sits at this probability."""

        def excess(s: float) -> float:
            gap = family(s)
            figures = _figure(kind, gap + model.noise * model.sd(gap), weights)
            return float(np.quantile(figures, probability)) - observed

        return float(_figure(kind, family(_rising(excess, floor, 1e-3 * observed)), model.share))

    cautious, generous = _concentrated(model), _spread(kind, model)
    least = -8.0 - float(np.abs(model.gap / model.reference()).max())
    low = at(cautious, 1 - tail, 0.0)
    high = max(low, at(generous, tail, least))
    value = (at(cautious, 0.5, 0.0) + at(generous, 0.5, least)) / 2
    return Debiased(min(max(value, low), high), low, high, "test inversion")


def _concentrated(model: _Model) -> Callable[[float], Array]:
    """0 to 1: the gaps that stand out grow from 0 to what was observed; 1 to 2: the others do; beyond: all."""
    strong = np.abs(model.gap / model.reference()) > STANDS_OUT

    def family(s: float) -> Array:
        grown = np.where(strong, min(s, 1.0), min(max(s - 1, 0.0), 1.0)) * max(s - 1, 1.0)
        return model.possible(model.gap * grown)

    return family


def _spread(kind: Kind, model: _Model) -> Callable[[float], Array]:
    """All standardised gaps, shrunken to their mean, move by the same amount."""
    unit = model.reference()
    standard = model.gap / unit
    if kind == "over" or kind == "under":
        sign = 1.0 if kind == "over" else -1.0
        signed = sign * standard
        # A gap of the other sign adds no bias: left as far out as it was seen, it hides the most.
        signed[signed > 0] = _toward_mean(signed[signed > 0])
        return lambda u: model.possible(sign * (signed + u) * unit)
    sizes = _toward_mean(np.abs(standard))
    signs = np.where(model.gap < 0, -1.0, 1.0)
    return lambda u: model.possible(signs * np.maximum(sizes + u, 0.0) * unit)


def _toward_mean(standard: Array) -> Array:
    """Standardised gaps shrunken to their mean by the part of their spread that noise alone would give."""
    if len(standard) < 2:
        return standard
    mean = standard.mean()
    spread = float(standard.var(ddof=1))
    keep = max(0.0, 1 - 1 / spread) if spread > 0 else 0.0
    return np.asarray(mean + keep * (standard - mean))


def _rising(function: Callable[[float], float], floor: float, close: float) -> float:
    """Where a rising function crosses 0, from ``floor`` on (false position, Illinois); ``floor`` if it is over 0 there."""
    left, right = max(floor, 0.0), max(floor, 0.0) + 1
    at_left = function(left)
    if at_left > 0:
        step = 1.0
        right, at_right = left, at_left
        while at_left > 0 and left > floor:
            right, at_right = left, at_left
            left = max(floor, left - step)
            at_left, step = function(left), step * 2
        if at_left > 0:
            return floor
    else:
        at_right = function(right)
        while at_right <= 0 and right < FARTHEST:
            left, at_left = right, at_right
            right *= 2
            at_right = function(right)
        if at_right <= 0:
            return right
    for _ in range(STEPS):
        middle = left + (right - left) * at_left / (at_left - at_right)
        at_middle = function(middle)
        if abs(at_middle) <= close:
            return middle
        if at_middle > 0:
            right, at_right, at_left = middle, at_middle, at_left / 2
        else:
            left, at_left, at_right = middle, at_middle, at_right / 2
    return (left + right) / 2


# --- the maximum --------------------------------------------------------------------------------------------


def _maximum(model: _Model, tail: float) -> Debiased:
    freedom = max(model.clusters - 1, 1.0)
    one_sided = 2 * (1 - NormalDist().cdf(_student(1 - tail, freedom)))
    lower, upper = _limits(model, one_sided)
    high = float(np.maximum(np.abs(lower), np.abs(upper)).max())
    low = _least_maximum(model, 1 - tail)
    value = _least_maximum(model, 0.5)
    return Debiased(min(max(value, low), max(low, high)), low, max(low, high), "bin-wise limits")


def _least_maximum(model: _Model, confidence: float) -> float:
    """A lower limit of the largest absolute gap: simultaneous over those bins that may hold the largest."""
    extreme = np.abs(model.noise)
    ceiling = _outer(_limits(model, _two_sided(np.quantile(extreme.max(1), 1 - (1 - confidence) / 10))))
    holders = np.ones(len(model.size), dtype=bool)
    low = 0.0
    for _ in range(3):
        critical = np.quantile(extreme[:, holders].max(1), confidence)
        left, right = _limits(model, _two_sided(critical))
        low = max(low, float(np.maximum(left, -right).max()))
        if not (ceiling >= low).any():
            break
        holders = ceiling >= low
    return low


def _outer(limits: tuple[Array, Array]) -> Array:
    return np.asarray(np.maximum(np.abs(limits[0]), np.abs(limits[1])))


def _two_sided(z: float) -> float:
    """The chance of a standard normal beyond ``z`` on either side."""
    return math.erfc(z / math.sqrt(2))


def _limits(model: _Model, miss: float) -> tuple[Array, Array]:
    """Exact (Clopper-Pearson) limits of each bin's gap, on the rows' worth of information the design effect leaves."""
    rows = model.size / np.maximum(model.effect, 1e-6)
    right = np.clip(model.confidence - model.gap, 0.0, 1.0) * rows
    wrong = rows - right
    lowest = np.where(right > 1e-9, _beta_quantile(np.maximum(right, 1e-9), wrong + 1, miss / 2), 0.0)
    highest = np.where(wrong > 1e-9, _beta_quantile(right + 1, np.maximum(wrong, 1e-9), 1 - miss / 2), 1.0)
    return model.confidence - highest, model.confidence - lowest


def _beta_quantile(a: Array, b: Array, probability: float) -> Array:
    """Quantiles of Beta(a, b) by Paulson's cube-root approximation; where it has no root, the end of the range."""
    z = NormalDist().inv_cdf(probability)
    one, two = 1 / (9 * a), 1 / (9 * b)
    square = (1 - two) ** 2 - z * z * two
    cross = (1 - one) * (1 - two)
    constant = (1 - one) ** 2 - z * z * one
    root = np.sqrt(np.maximum(cross**2 - square * constant, 0.0))
    if z < 0:
        ratio = np.maximum(constant, 0.0) / (cross + root)
    else:
        ratio = np.where(square > 0, (cross + root) / np.where(square > 0, square, 1.0), np.inf)
    odds = a / b * ratio**3
    return np.asarray(np.where(np.isinf(odds), 1.0, odds / (1 + np.where(np.isinf(odds), 0.0, odds))))


def _student(probability: float, freedom: float) -> float:
    """Student's quantile by its expansion around the normal one; good to 1 % from 4 degrees of freedom on."""
    z = NormalDist().inv_cdf(probability)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def _log_gamma(x: Array) -> Array:
    """log Gamma for x > 0: Stirling's series, after stepping up to where it is exact to 12 digits."""
    up = x + 8
    shift = x * (x + 1) * (x + 2) * (x + 3)
    rest = (x + 4) * (x + 5) * (x + 6) * (x + 7)
    series = 1 / (12 * up) - 1 / (360 * up**3) + 1 / (1260 * up**5) - 1 / (1680 * up**7)
    return np.asarray(
        (up - 0.5) * np.log(up) - up + 0.5 * math.log(2 * math.pi) + series - np.log(shift) - np.log(rest)
    )


# --- shared -------------------------------------------------------------------------------------------------


def _figure(kind: Kind, gap: Array, share: Array) -> Array:
    if kind == "ece":
        return np.einsum("...b,...b", share, np.abs(gap))
    if kind == "rmsce":
        return np.asarray(np.sqrt(np.einsum("...b,...b,...b", share, gap, gap)))
    if kind == "over":
        return np.einsum("...b,...b", share, np.maximum(gap, 0.0))
    if kind == "under":
        return np.einsum("...b,...b", share, np.maximum(-gap, 0.0))
    return np.asarray(np.where(share > 0, np.abs(gap), 0.0).max(-1))


def _known(kind: Kind) -> Kind:
    if kind not in KINDS:
        raise ValueError(f"kind: expected one of {', '.join(KINDS)}; came {kind!r}")
    return kind


def _positive(x: Array) -> Array:
    return np.where(x > 0, x, 1.0)


def noise_floor(kind: Kind, n: ArrayLike, conf: ArrayLike, var: ArrayLike) -> Array:
    v = np.asarray(var)
    N = np.asarray(n)
    return np.asarray(np.sqrt(2 * v / np.pi).sum(-1) / N.sum(-1))
