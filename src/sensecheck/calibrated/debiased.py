"""Debiased estimates and honest intervals for binned calibration figures, and the noise floor beneath them.

A binned figure takes the absolute value (or the maximum, or the positive part) of noisy gaps, so it is biased
upward, most of all where the model is well calibrated: there the figure shows nothing but noise. A percentile
bootstrap adds the same bias once more. What is done here instead:

1. *The sampling model.* The observed gap of a bin, ``confidence - accuracy``, varies around the true gap
   ``g`` with the variance and skewness of a binomial *at the hypothesised accuracy* ``confidence - g`` (as in
   Wilson's interval, so that a bin without errors is not taken for certain), times a design effect read off
   the bootstrap replicates. The correlation between bins and the variation of the bins' shares come from the
   replicates too, so clusters are respected. The number of clusters follows from the spread of the
   replicates' total count (``N**2 / Var(N*)``); few clusters give Student's heavier tails.
2. *Test inversion.* ``low`` is the smallest true figure under which one as large as the observed has
   probability 2.5 %, ``high`` the largest under which one as small has. The figure alone does not say how the
   true gaps lie, so each end walks a one-parameter family through the data that leans to its cautious side.
   ``low`` starts at perfect calibration and lets the gaps that stand out grow first, the others after them:
   concentrated gaps leave the most noise elsewhere, so the most bias. ``high`` moves all standardised gaps,
   shrunken to their mean, by one amount: gaps equal in units of their noise have the least bias for their
   size.
3. *The maximum* (``mce``) is bounded bin by bin: a true maximum sits in some bin, so the largest pointwise
   upper limit covers it; the lower limit is the largest simultaneous one over the bins that may hold it.
4. *Certain bins.* Where the model says 0 or 1, or nearly, and next to no error was seen, no normal model
   serves: the upper end is at least Clopper and Pearson's limit of the rate of surprises.

``value`` is the middle (50 %) of the two families, a nearly median-unbiased estimate. What users see as the
debiased value is `figures.debiased`, which needs no replicates. Everything is a function of per-bin sums and
their replicates; the same seed gives the same digits. Coverage: docs/ece-interval.md.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sensecheck.statistics.distributions import log_gamma, near_beta_quantile
from sensecheck.statistics.limits import share_limits, student_factor
from sensecheck.statistics.quantile_draws import QuantileDraws

Kind = Literal["ece", "rmsce", "mce", "over", "under"]
KINDS: tuple[Kind, ...] = ("ece", "rmsce", "mce", "over", "under")
Array = NDArray[np.float64]
Draws = NDArray[np.float32]
"""Many draws need no more digits than single precision has."""

DRAWS = 1000  # rows of noise: a 2.5 % point is then exact to half a percentage point
FLOOR_DRAWS = 4000
_NORMAL_FROM = 100.0
PRIOR = 2.0  # rows' worth of "no design effect" given to each bin, which decides in bins that say nothing
STEPS = 12  # of each root search, at most; four to six are the rule
CLOSE = 3e-3  # of the observed figure: a root search ends, well within the error of the draws
FARTHEST = 64.0  # multiples of the observed gaps: the end of a search that finds no root
CLUSTERED = 0.7  # clusters per row below which rows count as clustered (the number is read off the replicates)
TOGETHER = 1.4  # leeway of the mean gap's own limit, which few clusters leave uncertain (set by simulation)
CERTAIN = 0.05  # how far from 0 or 1 a bin's mean confidence may be and count as certain, …
EXPECTED = 3.0  # … if calibration expects fewer surprises than these in it
_MANY_BINS = 40  # beyond, bins of independent rows are taken for the independent ones that they are
STANDS_OUT = 2.0  # standard errors from which a gap counts as seen
_NO_NOISE = 1e-7  # a standard error that single precision does not show beside a gap …
_ROUNDED = 1e-5  # … and what it may change in a figure


@dataclass(frozen=True, slots=True)
class Debiased:
    """A debiased figure with its interval; where there is none, ``reason`` says why."""

    value: float | None
    low: float | None
    high: float | None
    method: str
    reason: str | None = None


def binned_figure(kind: Kind, n: ArrayLike, conf: ArrayLike, correct: ArrayLike) -> Array:
    """The plain (biased) figure from per-bin sums: bins on the last axis, any before it; nan without rows."""
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
    clusters: float | None = None,
    units: float | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    valued: bool = True,
) -> Debiased:
    """Debiased value and interval of a figure from per-bin sums (length B) and their replicates (each R x B).

    ``replicates`` are the bootstrap's sums ``(n, conf, correct)`` under Poisson(1) weights on rows or
    clusters, or under a multinomial over rows; under a multinomial over clusters, say how many ``clusters``
    there are (otherwise the spread of the replicates' totals tells). ``units`` is how many independent units
    (clusters, or rows) there are: no more are ever read off the replicates, and so many are taken where the
    replicates are all alike. The target is the population figure over the bins that hold data.
    """
    return debiased_intervals(
        (kind,), n, conf, correct, replicates, level=level, clusters=clusters, units=units, seed=seed, draws=draws,
        valued=valued,
    )[kind]  # fmt: skip


def debiased_intervals(
    kinds: Sequence[Kind],
    n: ArrayLike,
    conf: ArrayLike,
    correct: ArrayLike,
    replicates: tuple[ArrayLike, ArrayLike, ArrayLike],
    *,
    level: float = 0.95,
    clusters: float | None = None,
    units: float | None = None,
    seed: int = 0,
    draws: int = DRAWS,
    valued: bool = True,
) -> dict[Kind, Debiased]:
    """`debiased_interval` for several figures of the same sums: they share one sampling model.

    valued: with the middle of the two families; it costs as much as the interval.
    """
    for kind in kinds:
        _known(kind)
    if not 0.5 <= level < 1:
        raise ValueError(f"level: expected a number from 0.5 to below 1, got {level!r}")
    sums = [np.asarray(part, dtype=np.float64) for part in (n, conf, correct)]
    resampled = [np.asarray(part, dtype=np.float64) for part in replicates]
    if any(part.ndim != 1 or part.shape != sums[0].shape for part in sums):
        raise ValueError(f"n, conf, correct: expected three vectors of the same length, got {[s.shape for s in sums]}")
    if any(part.ndim != 2 or part.shape != (len(resampled[0]), len(sums[0])) for part in resampled):
        raise ValueError(
            f"replicates: expected three R x {len(sums[0])} arrays, got {[part.shape for part in resampled]}"
        )
    full = sums[0] > 0
    if not full.any():
        return _none(kinds, "no rows: every bin is empty")
    if len(resampled[0]) < 50:
        return _none(kinds, f"{len(resampled[0])} replicates: at least 50 are needed")
    model = _MODELS.of(sums, resampled, draws, seed, clusters, units)
    if model.clusters < 1.5:  # the number may be read off replicates, so not quite whole
        return _none(
            kinds,
            "one cluster (or nearly): its rows vary together, so nothing tells how another would differ",
        )
    tail = (1 - level) / 2
    found = {}
    with model.alone:
        for kind in kinds:
            asked = kind, tail, valued
            if asked not in model.found:
                model.found[asked] = _maximum(model, tail) if kind == "mce" else _inverted(kind, model, tail, valued)
            found[kind] = model.found[asked]
    return found


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
    noise: Draws  # B x draws, unit variance (before Student's factor), correlated as the replicates are
    shares: Draws  # B x draws, the bin shares of resampled data
    sizes: Array  # replicates x B, the bins' rows in each
    together: float  # design effect of all bins' gaps together
    scratch: Draws  # B x draws, in which one set of draws is made after the other
    found: dict[tuple[Kind, float, bool], Debiased] = field(default_factory=dict)  # by what was asked
    alone: threading.Lock = field(default_factory=threading.Lock)  # whoever has it may use the scratch

    def sd(self, gap: Array) -> Array:
        """Standard deviation of each observed gap if ``gap`` were the true one."""
        accuracy = np.clip(self.confidence - gap, 0.0, 1.0)
        return np.asarray(np.sqrt(self.effect * accuracy * (1 - accuracy) / self.size))

    def figures(self, kind: Kind, gap: Array) -> Draws:
        """Draws of the figure if ``gap`` were the true gaps."""
        seen = self._seen(gap)
        if kind == "ece":
            np.abs(seen, out=seen)
        elif kind == "rmsce":
            np.multiply(seen, seen, out=seen)
        else:
            np.maximum(seen if kind == "over" else np.negative(seen, out=seen), 0.0, out=seen)
        sums: Draws = np.einsum("bd,bd->d", self.shares, seen)
        return np.asarray(np.sqrt(sums)) if kind == "rmsce" else sums

    def _seen(self, gap: Array) -> Draws:
        """Draws of the observed gaps if ``gap`` were the true ones: normal with the binomial's skewness."""
        accuracy = np.clip(self.confidence - gap, 0.0, 1.0)
        sd = self.sd(gap)
        skew = (2 * accuracy - 1) * self.effect / (self.size * np.maximum(sd, 1e-9))
        # Cornish and Fisher's first term; the bound keeps it rising in the noise down to three deviations.
        bend = sd * np.clip(skew, -1.0, 1.0) / 6
        bend_of, sd_of, rest = np.stack([bend, sd, gap - bend]).astype(np.float32)[:, :, None]
        seen: Draws = np.multiply(self.noise, bend_of, out=self.scratch)
        seen += sd_of
        seen *= self.noise
        seen += rest
        return seen

    def varies(self, chosen: NDArray[np.bool_] | slice = slice(None)) -> float:
        """The variance, over the replicates, of how many rows the chosen bins hold together."""
        return float(self.sizes[:, chosen].sum(1).var(ddof=1))

    def reference(self) -> Array:
        """Standard deviations to serve as units: at the observed accuracy, drawn a little to calibration."""
        pulled = self.gap * self.size / (self.size + PRIOR)
        return np.maximum(self.sd(pulled), 1e-9)

    def possible(self, gap: Array) -> Array:
        """The nearest gaps that leave every accuracy within 0 and 1."""
        return np.clip(gap, self.confidence - 1, self.confidence)


class _Models:
    """The last few sampling models: the figures of one slice have the same sums, one after the other."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.kept: dict[bytes, _Model] = {}
        self._alone = threading.Lock()

    def of(
        self,
        sums: list[Array],
        resampled: list[Array],
        draws: int,
        seed: int,
        clusters: float | None,
        units: float | None,
    ) -> _Model:
        told = hashlib.blake2b(repr((draws, seed, clusters, units, resampled[0].shape)).encode())
        # Some of the replicates tell whose they are.
        for part in (*sums, *(all_of[:: max(1, len(all_of) // 8)] for all_of in resampled)):
            told.update(np.ascontiguousarray(part).data)
        key = told.digest()
        known = self.kept.get(key)
        if known is not None:
            return known
        full = sums[0] > 0
        resampled = resampled if full.all() else [part[:, full] for part in resampled]
        if clusters is None:
            clusters = _clusters(float(sums[0].sum()), resampled[0], resampled[2], units)
        model = _model([part[full] for part in sums], resampled, draws, seed, clusters)
        with self._alone:
            while len(self.kept) >= self.most:
                self.kept.pop(next(iter(self.kept)))
            return self.kept.setdefault(key, model)


_MODELS = _Models(4)


def _model(sums: list[Array], resampled: list[Array], draws: int, seed: int, clusters: float) -> _Model:
    size, conf, correct = sums
    sizes, confs, corrects = resampled
    total = size.sum()
    confidence = np.clip(conf / size, 0.0, 1.0)
    accuracy = np.clip(correct / size, 0.0, 1.0)
    gap = confidence - accuracy
    within = size**2 / np.maximum(sizes.var(0), size)
    # The linearised error of each replicate's gap: no division by a replicate's own count, which may be 0.
    residual = confs - corrects - sizes * gap
    variance = residual.var(0)
    small_sample = np.where(within > 1, within / np.maximum(within - 1, 0.5), 2.0) * (size - 1) / size
    calibrated = np.maximum(confidence * (1 - confidence), 1e-6)
    effect = (variance * small_sample + PRIOR * calibrated) / (size * accuracy * (1 - accuracy) + PRIOR * calibrated)
    noise = _standard_noise(draws // 2, len(size), seed)
    rng = np.random.default_rng([seed, 1])
    if len(size) <= _MANY_BINS or clusters < CLUSTERED * total:
        noise = np.einsum("bc,cd->bd", _root(residual, variance), noise)  # too little for the threads of `@`
    freedom = max(clusters - 1, 1.0)
    chi = rng.chisquare(freedom, draws // 2) / freedom
    # Student's tails; and, as in the jackknife, a cluster is measured against means that it has pulled along.
    noise = noise * (clusters / max(clusters - 1, 1.0) / np.sqrt(np.concatenate([chi, chi])))
    shares = sizes / _positive(sizes.sum(1, keepdims=True))
    shares = shares * (size / total / _positive(shares.mean(0)))
    if len(shares) != noise.shape[1]:
        shares = np.resize(shares, (noise.shape[1], len(size)))
    return _Model(
        size,
        size / total,
        confidence,
        gap,
        effect,
        clusters,
        noise.astype(np.float32),
        np.ascontiguousarray(shares.T, dtype=np.float32),
        sizes,
        _design_effect(size, accuracy, residual, clusters),
        np.empty(noise.shape, dtype=np.float32),
    )


@lru_cache(maxsize=8)
def _standard_noise(half: int, bins: int, seed: int) -> Array:
    """Bins x draws, each with its opposite; of all slices the same."""
    drawn = np.random.default_rng(seed).standard_normal((half, bins))
    noise = np.ascontiguousarray(np.concatenate([drawn, -drawn]).T)
    noise.flags.writeable = False
    return noise


def _design_effect(size: Array, accuracy: Array, residual: Array, clusters: float) -> float:
    """How many rows it takes to know as much as from one that stands alone, for all gaps together.

    A tenth of a cluster that varies as one is added to what was seen: where no answer surprised, nothing shows how
    far clusters vary as one, and each then counts as one row.
    """
    total = float(size.sum())
    if clusters >= CLUSTERED * total:
        return 1.0
    squared = total**2 / clusters  # the sum of squared cluster sizes
    added = 0.1 * squared / clusters
    seen = float(residual.sum(1).var()) * clusters / max(clusters - 1, 1.0)
    alike = float(size @ (accuracy * (1 - accuracy))) / total * squared
    return max(1.0, squared / total * (seen + added) / (alike + added))


def _clusters(total: float, sizes: Array, corrects: Array, units: float | None) -> float:
    """The effective number of clusters (or rows) behind the replicates."""
    most = math.inf if units is None else units
    spread = float(np.var(sizes.sum(1)))
    if spread > 1e-9 * total:
        # Poisson weights on clusters of m rows: the total varies by the sum of m**2, N**2 / G if all are
        # equal (Kish's effective number otherwise).
        return min(total**2 / spread, most)
    # A total that never varies is a multinomial over rows, if anything varies at all; rows that are all alike
    # give replicates that are.
    varies = bool((np.ptp(sizes, axis=0) > 0).any() or (np.ptp(corrects, axis=0) > 0).any())
    return min(total, most) if varies or units is not None else 1.0


def _root(residual: Array, variance: Array) -> Array:
    """A square root of the replicates' correlation matrix; a bin whose residual never varies stands alone."""
    live = variance > 1e-12
    scaled = np.where(live, residual - residual.mean(0), 0.0) / np.sqrt(np.where(live, variance, 1.0))
    correlation = np.einsum("rb,rc->bc", scaled, scaled) / len(residual)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root / np.sqrt((root**2).sum(1, keepdims=True)))


# --- test inversion: ece, rmsce, over, under ----------------------------------------------------------------


def _inverted(kind: Kind, model: _Model, tail: float, valued: bool) -> Debiased:
    observed = float(_figure(kind, model.gap, model.share))

    # Answers come whole and draws do not: a gap of exactly 0 stands for all up to half a row.
    half = (-0.5 if kind == "under" else 0.5) / model.size
    widest = float(_figure(kind, np.where(np.abs(model.gap) * model.size < 1e-6, half, model.gap), model.share))

    # Where no bin varies, the search for the lower end must not take the observed gaps, which have no noise, for it,
    # nor what single precision makes of them: they are just over.
    is_certain = bool((model.sd(model.gap) <= _NO_NOISE).all())

    def at(family: Callable[[float], Array], probability: float, floor: float, ceiling: float) -> float:
        """The figure of that member of the family under which the observed one sits at this probability."""
        most = observed if family is cautious else widest

        def excess(s: float) -> float:
            over = _point(model.figures(kind, family(s)), probability) - most
            return 1e-9 if is_certain and family is cautious and abs(over) <= _ROUNDED * most else over

        return float(_figure(kind, family(_rising(excess, floor, ceiling, CLOSE * most)), model.share))

    cautious, generous = _concentrated(model), _spread(kind, model, tail)
    least = -8.0 - float(np.abs(model.gap / model.reference()).max())
    low = at(cautious, 1 - tail, 0.0, FARTHEST)
    high = max(low, *(at(family, tail, least, most) for family, most in generous))
    high = max(high, _surprises(kind, model, tail), _of_the_whole(kind, model, tail))
    if not valued:
        return Debiased(None, low, high, "test inversion")
    value = (at(cautious, 0.5, 0.0, FARTHEST) + at(generous[0][0], 0.5, least, generous[0][1])) / 2
    return Debiased(min(max(value, low), high), low, high, "test inversion")


def _surprises(kind: Kind, model: _Model, tail: float) -> float:
    """The least that the upper end must be, from how often the model may be wrong where it is all but certain.

    There the normal model of a gap fails: with all answers right at a confidence of 1 no error was seen, and no
    noise. A certain bin's gap is the rate of its surprises less its doubt, so Clopper and Pearson's limit of that
    rate, over all such bins together, bounds their part of the figure.
    """
    doubt = np.minimum(model.confidence, 1 - model.confidence)
    sure = (doubt <= CERTAIN) & (doubt * model.size < EXPECTED)
    if kind == "over":
        sure &= model.confidence > 0.5
    elif kind == "under":
        sure &= model.confidence < 0.5
    rows = float(model.size[sure].sum())
    if not rows > 0:
        return 0.0
    accuracy = model.confidence - model.gap
    rates = np.where(model.confidence > 0.5, 1 - accuracy, accuracy)
    rate = min(max(float(model.size[sure] @ rates[sure]) / rows, 0.0), 1.0)
    alone = rows**2 / max(model.varies(sure), rows)
    effective = max(alone, rows / model.together)
    clustered = model.clusters < CLUSTERED * model.size.sum()
    z = _student(1 - tail, max(model.clusters - 1, 1.0)) if clustered else NormalDist().inv_cdf(1 - tail)
    right = np.array([(1 - rate) * effective])
    most = float(near_beta_quantile(np.array([rate * effective + 1]), right, z)[0]) if rate < 1 else 1.0
    gap = max(most - float(model.size[sure] @ doubt[sure]) / rows, 0.0)
    share = float(model.share[sure].sum())
    return gap * (math.sqrt(share) if kind == "rmsce" else share)


def _of_the_whole(kind: Kind, model: _Model, tail: float) -> float:
    """The least that the upper end must be, from the gap of all rows together: no figure is below that gap.

    Few rows that are nearly all right or all wrong may come from a gap of the other sign, which no bin shows; where
    there are more of both kinds, the bins' own noise says it better.
    """
    rows = float(model.size.sum())
    accuracy = float(model.size @ (model.confidence - model.gap)) / rows
    confidence = float(model.size @ model.confidence) / rows
    effective = max(rows**2 / max(model.varies(), rows), rows / model.together)
    if min(accuracy, 1 - accuracy) * effective >= EXPECTED:
        return 0.0
    level = 1 - 2 * tail
    if model.clusters < CLUSTERED * rows:
        effective *= float(student_factor(np.array([model.clusters]), level)[0])
    limits = share_limits([min(max(accuracy, 0.0), 1.0)], [effective], level)
    over, under = confidence - float(limits.low[0]), float(limits.high[0]) - confidence
    return max(over if kind != "under" else 0.0, under if kind != "over" else 0.0, 0.0)


def _concentrated(model: _Model) -> Callable[[float], Array]:
    """0 to 1: the gaps that stand out grow from 0 to what was observed; 1 to 2: the others; beyond: all."""
    strong = np.abs(model.gap / model.reference()) > STANDS_OUT

    def family(s: float) -> Array:
        grown = np.where(strong, min(s, 1.0), min(max(s - 1, 0.0), 1.0)) * max(s - 1, 1.0)
        return model.possible(model.gap * grown)

    return family


def _spread(kind: Kind, model: _Model, tail: float) -> list[tuple[Callable[[float], Array], float]]:
    """All standardised gaps that count, shrunken to their mean, move by the same amount, up to a largest one.

    For ``over`` and ``under`` the gaps of the other sign move too in the first family, and in a second one
    stay where they were seen: there they add the least bias. Where clusters share noise between bins, one
    more family shrinks and moves the gaps by sign, not by size: gaps of one sign rise and fall together, so
    they hide better than gaps of mixed signs.

    No family moves farther than noise would carry any bin (or the mean of all, where all move one way): that
    the figure does not tell a truth from the observed gaps does not mean that the gaps do not.
    """
    unit = model.reference()
    standard = model.gap / unit
    most = _point(np.abs(model.noise).max(0), 1 - tail)
    families: list[tuple[Callable[[float], Array], float]]
    if kind == "over" or kind == "under":
        side = 1.0 if kind == "over" else -1.0
        signed = side * standard
        counts = signed > 0
        signed[counts] = _toward_mean(signed[counts])
        families = [(lambda u: model.possible(side * (signed + u) * unit), most)]
        if counts.any():
            families.append((lambda u: model.possible(side * (signed + np.where(counts, u, 0.0)) * unit), most))
    else:
        side = 1.0 if float(model.share @ model.gap) >= 0 else -1.0
        sizes = _toward_mean(np.abs(standard))
        signs = np.where(model.gap < 0, -1.0, 1.0)
        families = [(lambda u: model.possible(signs * np.maximum(sizes + u, 0.0) * unit), most)]
    if model.clusters < CLUSTERED * model.size.sum():
        pulled = _toward_mean(side * standard)
        together = TOGETHER * _point(np.abs(model.noise.mean(0)), 1 - tail / 2)
        families.append((lambda u: model.possible(side * (pulled + u) * unit), together))
    return families


def _toward_mean(standard: Array) -> Array:
    """Standardised gaps shrunken to their mean by the part of their spread that noise alone would give."""
    if len(standard) < 2:
        return standard
    mean = standard.mean()
    spread = float(standard.var(ddof=1))
    keep = max(0.0, 1 - 1 / spread) if spread > 0 else 0.0
    return np.asarray(mean + keep * (standard - mean))


def _rising(function: Callable[[float], float], floor: float, ceiling: float, close: float) -> float:
    """The last place where a rising function is not over 0 (false position, Illinois rule), within limits."""
    left = max(floor, 0.0)
    at_left = function(left)
    step = 1.0
    if at_left > 0:
        right, at_right = left, at_left
        while at_left > 0:
            if left <= floor:
                return floor
            right, at_right = left, at_left
            left = max(floor, left - step)
            at_left, step = function(left), step * 2
    else:
        right = min(left + step, ceiling)
        at_right = function(right)
        while at_right <= 0:
            if right >= ceiling:
                return ceiling
            left, at_left, step = right, at_right, step * 2
            right = min(right + step, ceiling)
            at_right = function(right)
    for _ in range(STEPS):
        # On a level stretch at 0 (a figure of 0 was observed) false position would not move.
        slope = at_left < 0 and at_right > 1e-6
        middle = left + (right - left) * (at_left / (at_left - at_right) if slope else 0.5)
        at_middle = function(middle)
        if 0 < abs(at_middle) <= close:
            return middle
        if at_middle > 0:
            right, at_right, at_left = middle, at_middle, at_left / 2
        else:
            left, at_left, at_right = middle, at_middle, at_right / 2
    return left


# --- the maximum --------------------------------------------------------------------------------------------


def _maximum(model: _Model, tail: float) -> Debiased:
    freedom = max(model.clusters - 1, 1.0)
    high = float(_outer(_limits(model, _student(1 - tail, freedom))).max())
    low = _least_maximum(model, 1 - tail)
    # Half-way between an estimate that leans down (exact limits) and one that leans up (the largest of many).
    largest = float((np.abs(model.gap) - NormalDist().inv_cdf(0.75) * model.reference()).max())
    value = (_least_maximum(model, 0.5) + max(largest, 0.0)) / 2
    return Debiased(min(max(value, low), max(low, high)), low, max(low, high), "bin-wise limits")


def _least_maximum(model: _Model, confidence: float) -> float:
    """A lower limit of the largest absolute gap: simultaneous over those bins that may hold the largest."""
    extreme = np.abs(model.noise)
    ceiling = _outer(_limits(model, _point(extreme.max(0), 1 - (1 - confidence) / 10)))
    holders = np.ones(len(model.size), dtype=bool)
    low = 0.0
    for _ in range(3):
        left, right = _limits(model, _point(extreme[holders].max(0), confidence))
        low = max(low, float(np.maximum(left, -right).max()))
        if not (ceiling >= low).any():
            break
        holders = ceiling >= low
    return low


def _outer(limits: tuple[Array, Array]) -> Array:
    return np.asarray(np.maximum(np.abs(limits[0]), np.abs(limits[1])))


def _limits(model: _Model, z: float) -> tuple[Array, Array]:
    """Clopper and Pearson's limits of each bin's gap, on the rows that the design effect leaves."""
    rows = model.size / np.maximum(model.effect, 1e-6)
    right = np.clip(model.confidence - model.gap, 0.0, 1.0) * rows
    wrong = rows - right
    lowest = np.where(right > 1e-9, near_beta_quantile(np.maximum(right, 1e-9), wrong + 1, -z), 0.0)
    highest = np.where(wrong > 1e-9, near_beta_quantile(right + 1, np.maximum(wrong, 1e-9), z), 1.0)
    return model.confidence - highest, model.confidence - lowest


def _student(probability: float, freedom: float) -> float:
    """Student's quantile by its expansion around the normal one; good to 1 % from 4 degrees of freedom on."""
    z = NormalDist().inv_cdf(probability)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


# --- the noise floor ----------------------------------------------------------------------------------------


def noise_floor(
    kind: Kind,
    n: ArrayLike,
    conf: ArrayLike,
    var: ArrayLike,
    *,
    share: ArrayLike | None = None,
    seed: int = 0,
    draws: int = FLOOR_DRAWS,
) -> Array:
    """The figure that a perfectly calibrated model with these confidences would show on average.

    ``var`` is the sum of ``c * (1 - c)`` over each bin's rows; bins on the last axis, any leading axes
    (slices, replicates). Rows are taken as independent: clustered rows have a higher floor. Of weighted rows,
    ``n`` is each bin's effective number, which need not be whole, ``conf`` and ``var`` are for so many rows, and
    ``share`` is each bin's share of the weight.

    ``ece``: de Moivre's mean absolute deviation of Binomial(n, p), exact for equal confidences in a bin,
    ``E|S - np| = 2 k C(n, k) p**k (1 - p)**(n - k + 1)`` with ``k = floor(np) + 1``, times
    ``sqrt(var / (n p (1 - p)))`` for confidences that differ. ``over`` and ``under`` are half of it, as the
    mean gap is 0. ``rmsce``: the mean square is ``sum(var / n) / N`` exactly; the mean of its root is that of
    a gamma variable with the same mean and variance (seeded draws where so few errors are expected that this
    is off). ``mce``: seeded draws, as a maximum has no short formula.
    """
    size, mean, variance = _floor_input(kind, n, conf, var)
    total = _positive(size.sum(-1))
    part = size / total[..., None] if share is None else np.asarray(share, dtype=np.float64)
    if kind == "mce":
        floor = np.mean(_floor_draws(kind, size, mean, variance, part, seed, draws), axis=0)
    elif kind == "rmsce":
        floor = _root_mean_square_floor(size, mean, variance, part, seed, draws)
    else:
        deviation = _mean_deviation(size, mean, variance)
        if share is None:
            both_sides = deviation.sum(-1) / total
        else:
            both_sides = (part * deviation / _positive(size)).sum(-1)
        floor = both_sides if kind == "ece" else both_sides / 2
    return np.asarray(np.where(size.sum(-1) > 0, floor, np.nan))


def _root_mean_square_floor(size: Array, mean: Array, variance: Array, share: Array, seed: int, draws: int) -> Array:
    """The mean root of a gamma variable with the mean and the variance of the mean square."""
    each = variance / _positive(size)
    square = (share * each / _positive(size)).sum(-1)
    fourth = 2 * variance**2 + variance * np.maximum(1 - 6 * each, -1.0)
    spread = np.maximum((share**2 * fourth / _positive(size) ** 4).sum(-1), 0.0)
    shape = np.where(spread > 0, square**2 / _positive(spread), 1e12)
    shape = np.clip(shape, 1e-9, 1e12)
    # Gamma(k + 1/2) / (Gamma(k) sqrt(k)); its series where a difference of logarithms would lose digits.
    safe = np.minimum(shape, 1e4)
    exact = np.exp(log_gamma(safe + 0.5) - log_gamma(safe)) / np.sqrt(safe)
    floor = np.sqrt(square) * np.where(shape > 1e4, 1 - 1 / (8 * shape), exact)
    # So few errors are expected that the mean square is mostly 0 with rare jumps: no gamma variable.
    rare = (shape < 4) & (square > 0)
    if rare.any():
        simulated = _floor_draws("rmsce", size[rare], mean[rare], variance[rare], share[rare], seed, draws).mean(0)
        floor = np.where(rare, 0.0, floor)
        floor[rare] = simulated
    return np.asarray(floor)


def noise_floor_quantile(
    kind: Kind,
    n: ArrayLike,
    conf: ArrayLike,
    var: ArrayLike,
    *,
    probability: float = 0.95,
    seed: int = 0,
    draws: int = FLOOR_DRAWS,
) -> Array:
    """What a perfectly calibrated model stays at or below with this probability: a figure above is not noise.

    Seeded draws of each bin's number correct, from the binomial with its mean and variance.
    """
    size, mean, variance = _floor_input(kind, n, conf, var)
    share = size / _positive(size.sum(-1, keepdims=True))
    figures = _floor_draws(kind, size, mean, variance, share, seed, draws)
    return np.asarray(np.where(size.sum(-1) > 0, np.quantile(figures, probability, axis=0, method="higher"), np.nan))


def _floor_input(kind: Kind, n: ArrayLike, conf: ArrayLike, var: ArrayLike) -> tuple[Array, Array, Array]:
    _known(kind)
    size = np.asarray(n, dtype=np.float64)
    mean = np.clip(np.asarray(conf, dtype=np.float64) / _positive(size), 0.0, 1.0)
    # Rounding aside, the variance of differing confidences is never over that of equal ones.
    return size, mean, np.clip(np.asarray(var, dtype=np.float64), 0.0, size * mean * (1 - mean))


def _mean_deviation(size: Array, mean: Array, variance: Array) -> Array:
    """E|S - E S| of a bin's number correct; between whole numbers of rows, between those of the two nearest."""
    live = size * mean * (1 - mean) > 0
    whole = np.round(size)
    size = np.where(np.abs(size - whole) <= 1e-9 * size, whole, size)
    p = np.where(live, mean, 0.5)
    below = np.where(live, np.maximum(np.floor(size), 1.0), 1.0)
    above = np.where(live, np.maximum(np.ceil(size), 1.0), 1.0)
    deviation = _of_whole_rows(below, p, variance)
    if (above > below).any():
        deviation = deviation + (size - below) * (_of_whole_rows(above, p, variance) - deviation)
    return np.asarray(np.where(live, deviation, 0.0))


def _of_whole_rows(n: Array, p: Array, variance: Array) -> Array:
    k = np.minimum(np.floor(n * p) + 1, n)
    choose = log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1)
    deviation = 2 * k * np.exp(choose + k * np.log(p) + (n - k + 1) * np.log1p(-p))
    return np.asarray(deviation * np.sqrt(variance / (n * p * (1 - p))))


def _floor_draws(kind: Kind, size: Array, mean: Array, variance: Array, share: Array, seed: int, draws: int) -> Array:
    """draws x leading axes: figures of calibrated data, one place of the leading axes at a time."""
    total = size * mean
    rarer = np.minimum(total, size - total)
    # The binomial with this mean and variance, of right or of wrong answers, whichever are rarer: it stays on
    # whole numbers as the figure does, where scaled draws would fall between.
    trials = np.round(rarer**2 / _positive(rarer - variance))
    trials = np.where(rarer > 0, np.clip(trials, np.ceil(rarer), np.maximum(np.round(size), 1)), 0.0)
    chance = np.clip(rarer / _positive(trials), 0.0, 1.0)
    flip = np.where(rarer < total, -1.0, 1.0)
    lead = size.shape[:-1]
    figures = np.empty((draws, *lead))
    drawn = _floor_draws_of(draws, seed)
    for at in np.ndindex(*lead):
        count = trials[at].astype(np.int64)
        off = (flip[at] * rarer[at])[:, None] - flip[at][:, None] * _binomial(drawn, count, chance[at])
        figures[(slice(None), *at)] = _figure(kind, (off / _positive(size[at])[:, None]).T, share[at])
    return figures


def _binomial(drawn: QuantileDraws, count: NDArray[np.int64], chance: Array) -> Array:
    """Bins x draws; where very many are expected of either kind, whole numbers no longer show, and normal ones do."""
    mean, spread = count * chance, count * chance * (1 - chance)
    quantiles = mean[:, None] + np.sqrt(spread)[:, None] * drawn.normal
    few = np.flatnonzero(spread < _NORMAL_FROM)
    if len(few):
        # Twelve deviations from the mean nothing is drawn any more.
        most = int((mean[few] + 12 * np.sqrt(spread[few])).max()) + 20
        k = np.arange(most)
        odds = (chance[few] / (1 - chance[few]))[:, None]
        ratios = np.where(k == 0, 1.0, np.maximum(count[few, None] - k + 1, 0) / np.maximum(k, 1) * odds)
        chances = (1 - chance[few, None]) ** count[few, None] * np.cumprod(ratios, axis=1)
        quantiles[few] = drawn.whole_numbers(chances)
    return drawn.shuffled(quantiles)


@lru_cache(maxsize=2)
def _floor_draws_of(draws: int, seed: int) -> QuantileDraws:
    """The same for each slice, so that a slice's floor knows no other slice."""
    return QuantileDraws(draws, seed, "floor")


# --- shared -------------------------------------------------------------------------------------------------


def _figure(kind: Kind, gap: Array, share: Array) -> Array:
    if kind == "ece":
        return np.asarray(np.einsum("...b,...b", share, np.abs(gap)))
    if kind == "rmsce":
        return np.asarray(np.sqrt(np.einsum("...b,...b,...b", share, gap, gap)))
    if kind == "over":
        return np.asarray(np.einsum("...b,...b", share, np.maximum(gap, 0.0)))
    if kind == "under":
        return np.asarray(np.einsum("...b,...b", share, np.maximum(-gap, 0.0)))
    return np.asarray(np.where(share > 0, np.abs(gap), 0.0).max(-1))


def _point(values: Array | Draws, probability: float) -> float:
    """The quantile of a sample, at the next member up."""
    rank = min(int(probability * len(values)), len(values) - 1)
    return float(np.partition(values, rank)[rank])


def _known(kind: Kind) -> Kind:
    if kind not in KINDS:
        raise ValueError(f"kind: expected one of {', '.join(KINDS)}; got {kind!r}")
    return kind


def _positive(x: Array) -> Array:
    return np.where(x > 0, x, 1.0)
