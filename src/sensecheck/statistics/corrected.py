"""A true rate from all verdicts and a few labels: the prediction-powered estimate (PPI++, Angelopoulos, Duchi and Zrnic
2023), from sums over independent units alone.

    value = rate among the labels + λ · (verdicts of all rows − verdicts of the labelled rows)

λ says how far the verdicts are believed. It is chosen from the data, between 0 and 1: 0 where verdicts tell nothing,
and the labels stand alone. Each label weighs as many rows as it stands for. docs/statistics.md has how often the
intervals hold the truth.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from sensecheck.statistics.arrays import Flags, Floats
from sensecheck.statistics.limits import (
    Judged,
    Limits,
    Measured,
    ShareSums,
    at_most_by_pairs,
    difference_of_measured,
    effective_number,
    share_limits,
    student_factor,
)

UNSEEN_DISAGREEMENTS = 1.0
"""Labels against the verdict that are added on either side, those called right and those called wrong: that all labels
agree with the verdicts does not say that all others would."""
FEWEST = 4
"""With fewer labelled units nothing is said of how far verdicts may be believed: the labels stand alone."""
_SAME = 1e-9
_NORMAL = NormalDist()


class LabelledUnits(NamedTuple):
    """Units that hold a labelled row, on the last axis: what each adds to the sums."""

    alike: Floats
    """How many units are like this one."""
    rows: Floats
    """Weight of all its rows that have a verdict."""
    verdicts: Floats
    """Their verdicts, weighted."""
    labelled: Floats
    """Weight of its labelled rows, each times the rows that it stands for."""
    right: Floats
    """What the labels say, weighted so."""
    judged: Floats
    """What the verdicts say of the labelled rows, weighted so."""
    called_right: Floats
    """Weight of its labelled rows whose verdict is at least one half."""
    squares: Floats
    """Squared weights of its labelled rows."""
    called_right_squares: Floats
    labels: Floats
    """Its labelled rows."""


class OtherUnits(NamedTuple):
    """Units without a labelled row: sums over them, and of their squares and products."""

    rows: Floats
    verdicts: Floats
    rows_squared: Floats
    rows_by_verdicts: Floats
    verdicts_squared: Floats


class Correction(NamedTuple):
    """A rate corrected by labels, for every slice (the leading axes)."""

    value: Floats
    raw: Floats
    """What the verdicts say of all rows."""
    alone: Floats
    """What the labels say by themselves."""
    believed: Floats
    """λ: how far the verdicts are believed."""
    labels: Floats
    worth: Floats
    """So many labels would tell as much by themselves."""
    variance: Floats
    limits: Limits
    of_alone: Limits
    """The interval of the labels by themselves."""
    influence: Floats
    """What each labelled unit adds to the value's error."""
    per_verdict: Floats
    """How much a verdict of weight 1 among the other units moves the value: λ / weight of all rows."""


def corrected(units: LabelledUnits, others: OtherUnits, level: float, *, clustered: bool = False) -> Correction:
    """The rate of right among all rows, with an interval.

    Of 100 verdicts, 80 say right; 20 are labelled and all agree, 16 of them right:

    >>> like = lambda *values: np.array(values, dtype=float)
    >>> units = LabelledUnits(
    ...     alike=like(16, 4), rows=like(1, 1), verdicts=like(1, 0), labelled=like(5, 5), right=like(5, 0),
    ...     judged=like(5, 0), called_right=like(5, 0), squares=like(25, 25), called_right_squares=like(25, 0),
    ...     labels=like(1, 1),
    ... )
    >>> found = corrected(units, OtherUnits(*like(80, 64, 80, 64, 64)), 0.95)
    >>> [round(float(end), 3) for end in (found.value, found.limits.low, found.limits.high, found.of_alone.low)]
    [0.8, 0.631, 0.914, 0.585]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        weight, rows = _total(units, units.labelled), _total(units, units.rows) + others.rows
        raw = (_total(units, units.verdicts) + others.verdicts) / rows
        alone, judged = _total(units, units.right) / weight, _total(units, units.judged) / weight
        number = np.asarray(units.alike.sum(-1), dtype=np.float64)
        # What each unit adds to the error of the labels by themselves, and how much of that its verdicts account for.
        of_labels = (units.right - _each(alone) * units.labelled) / _each(weight)
        of_verdicts = (units.judged - _each(judged) * units.labelled) / _each(weight)
        of_verdicts = of_verdicts - (units.verdicts - _each(raw) * units.rows) / _each(rows)
        unlabelled = others.verdicts_squared - 2 * raw * others.rows_by_verdicts + raw**2 * others.rows_squared
        labels_vary, together = _total(units, of_labels**2), _total(units, of_labels * of_verdicts)
        verdicts_vary = _total(units, of_verdicts**2) + np.maximum(unlabelled, 0.0) / rows**2
        verdicts_vary = verdicts_vary + UNSEEN_DISAGREEMENTS * _one_disagreement(units, weight)
        believed = np.where((number >= FEWEST) & (verdicts_vary > 0), together / verdicts_vary, 0.0)
        believed = np.clip(np.where(np.isfinite(believed), believed, 0.0), 0.0, 1.0)
        value = np.clip(alone + np.where(believed > 0, believed * (raw - judged), 0.0), 0.0, 1.0)
        variance = np.maximum(labels_vary - 2 * believed * together + believed**2 * verdicts_vary, 0.0)
        # Labels that all say the same do not vary, and no verdict can better that.
        gain = np.where((labels_vary > 0) & (variance > 0), labels_vary / variance, 1.0)
        tell, even = labels_tell(units, of_labels, alone, weight, level, clustered)
        heaviest = _heaviest(units, weight)
        fitted = np.where((believed > 0) | ~even, np.maximum(number - 2, 1.0) / np.maximum(number - 1, 1.0), 1.0)
        limits = share_limits(value, _at_most(tell * gain * fitted, value, variance, heaviest), level)
        of_alone = share_limits(alone, _at_most(tell, alone, labels_vary, heaviest), level)
        labels = _total(units, units.labels)
        influence = of_labels - _each(believed) * of_verdicts
        return Correction(
            value, raw, alone, believed, labels, labels * gain, variance, limits, of_alone, influence, believed / rows
        )


def _total(units: LabelledUnits, of_unit: Floats) -> Floats:
    return np.asarray((units.alike * of_unit).sum(-1), dtype=np.float64)


def _each(of_slice: Floats) -> Floats:
    return np.asarray(of_slice)[..., None]


def _one_disagreement(units: LabelledUnits, weight: Floats) -> Floats:
    """What one unit against its verdict, on either side that has labels, would add to the variance."""
    added = np.zeros_like(weight)
    for side in (units.called_right, units.labelled - units.called_right):
        added = added + _typical(_total(units, side**2), _total(units, side), weight) ** 2
    return added


def _heaviest(units: LabelledUnits, weight: Floats) -> Floats:
    """The part of all that a label stands for, on the side where it stands for more."""
    called = _typical(_total(units, units.called_right_squares), _total(units, units.called_right), weight)
    other_squares = _total(units, units.squares - units.called_right_squares)
    other = _typical(other_squares, _total(units, units.labelled - units.called_right), weight)
    return np.asarray(np.maximum(called, other))


def _typical(squares: Floats, side: Floats, weight: Floats) -> Floats:
    """Of the weights of one side: the mean that they give themselves, as a part of the weight of all."""
    there = side > _SAME * weight
    return np.asarray(np.where(there, np.maximum(squares, 0.0) / np.where(there, side, 1.0), 0.0) / weight)


def labels_tell(
    units: LabelledUnits, of_labels: Floats, alone: Floats, weight: Floats, level: float, clustered: bool
) -> tuple[Floats, Flags]:
    """As how many observations the labels count by themselves, by the rule of any share; whether all weigh alike."""
    number, labels = np.asarray(units.alike.sum(-1), dtype=np.float64), _total(units, units.labels)
    left = 1 - units.labelled / _each(weight)
    jackknifed = np.where(left > 1e-12, of_labels / np.where(left > 1e-12, left, 1.0), 0.0) * _each(weight)
    spread = (number - 1) / number * _total(units, jackknifed**2)
    sums = ShareSums(alone, weight, _total(units, units.labelled**2), spread, number)
    kish = weight**2 / _total(units, units.squares)
    even = kish > labels * (1 - _SAME)
    if not clustered:
        return np.where(even, labels, np.minimum(effective_number(sums), kish)), even
    # Rows of the mean weight in each unit, and how often two of them fail together.
    per_row = _each(labels / weight)
    size, failing = units.labelled * per_row, (units.labelled - units.right) * per_row
    several = size > 1 + _SAME
    both = np.where(several, failing * (failing - 1) / np.where(several, size - 1, 1.0), 0.0)
    pairs = _total(units, both) / _total(units, np.where(several, size, 0.0))
    scaled = sums._replace(total=labels, squares=sums.squares * (labels / weight) ** 2)
    found = at_most_by_pairs(np.minimum(effective_number(sums), labels), scaled, pairs) * student_factor(number, level)
    return np.where(number >= labels, labels, found), even


def _at_most(number: Floats, value: Floats, variance: Floats, heaviest: Floats) -> Floats:
    """An effective number, and no more than one label that stands for so much leaves open.

    Where labels stand for very different numbers of rows, the heaviest decide, and that they happen to be right says
    little (as for rates that are standardised: Fay and Feuer 1997). Where all stand for as many, it changes nothing.
    """
    spread = np.maximum(value * (1 - value), 0.0)
    return np.minimum(number, (spread + heaviest) / (variance + heaviest**2))


def corrected_difference(a: Correction, b: Correction, covariance: float, level: float) -> Judged:
    """B − A of two corrected rates (of one slice each) over the same units: from both intervals, with p.

    `covariance`: the sum over units of the products of what each adds to either rate's error.
    """
    spread = float(np.sqrt(a.variance * b.variance))
    correlation = float(np.clip(covariance / spread, -1.0, 1.0)) if spread > 0 else 0.0
    first, second = (Measured(float(x.value), float(x.limits.low), float(x.limits.high)) for x in (a, b))
    return difference_of_measured(first, second, correlation, level, from_zero=False)


# ---- as ppi-python has it


class RowSums(NamedTuple):
    """Sums over rows: weights w, verdicts f, labels y (0 of rows without a label)."""

    number: Floats
    weight: Floats
    """Σw"""
    verdicts: Floats
    """Σwf"""
    squares: Floats
    """Σw²"""
    squares_verdicts: Floats
    """Σw²f"""
    squares_verdicts_squared: Floats
    """Σw²f²"""
    right: Floats
    """Σwy"""
    squares_right: Floats
    """Σw²y"""
    squares_right_squared: Floats
    """Σw²y²"""
    squares_both: Floats
    """Σw²yf"""

    @classmethod
    def of(cls, verdicts: Floats, labels: Floats, weights: Floats) -> RowSums:
        """Of rows on the last axis."""
        f, y, w = verdicts, labels, weights
        sums = (np.ones_like(w), w, w * f, w**2, w**2 * f, w**2 * f**2, w * y, w**2 * y, w**2 * y**2, w**2 * y * f)
        return cls(*(np.asarray(column.sum(-1)) for column in sums))

    def scaled(self) -> RowSums:
        """With weights whose mean is 1."""
        by = self.number / self.weight
        powers = (0, 1, 1, 2, 2, 2, 1, 2, 2, 2)
        return RowSums(*(value * by**power for value, power in zip(self, powers, strict=True)))


class Normal(NamedTuple):
    value: Floats
    low: Floats
    high: Floats
    believed: Floats


def normal_interval(labelled: RowSums, unlabelled: RowSums, level: float) -> Normal:
    """The estimate and the normal interval of `ppi_mean_ci` of ppi-python: two samples that do not know of each other.

    Few labels that all agree with the verdicts make it far too short, as they do there.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        own, other = labelled.scaled(), unlabelled.scaled()
        n, number = own.number, other.number
        others = np.where(number > 0, other.verdicts / number, 0.0)
        at = others + (own.right - own.verdicts) / n

        def product(both: Floats, first: Floats, second: Floats, of: RowSums) -> Floats:
            """Σ w(x − at) · w(z − at)"""
            return np.asarray(both - at * (first + second) + at**2 * of.squares)

        slopes = [side.verdicts - at * side.weight for side in (own, other)]
        covariance = product(own.squares_both, own.squares_right, own.squares_verdicts, own) / n
        covariance = covariance - (own.right - at * own.weight) * slopes[0] / n**2
        squares = sum(
            product(s.squares_verdicts_squared, s.squares_verdicts, s.squares_verdicts, s) for s in (own, other)
        )
        spread = (squares - (slopes[0] + slopes[1]) ** 2 / (n + number)) / (n + number - 1)
        believed = covariance / ((1 + n / number) * spread)
        # A verdict that never varies tells nothing, whatever it is multiplied by.
        believed = np.clip(np.where(np.isfinite(believed) & (spread > 1e-15), believed, 0.0), 0.0, 1.0)
        residual = own.right - believed * own.verdicts
        residual_squares = (
            own.squares_right_squared - 2 * believed * own.squares_both + believed**2 * own.squares_verdicts_squared
        )
        value = believed * others + residual / n
        imputed = np.where(number > 0, other.squares_verdicts_squared / number - others**2, 0.0)
        rectified = residual_squares / n - (residual / n) ** 2
        of_others = np.where(number > 0, believed**2 * imputed / number, 0.0)
        error = np.sqrt(np.maximum(of_others, 0.0) + np.maximum(rectified / n, 0.0))
        z = _NORMAL.inv_cdf((1 + level) / 2)
        return Normal(value, value - z * error, value + z * error, believed)
