"""Intervals in closed form, for all slices at once: from what each unit adds to a figure, without resampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sensecheck.statistics.arrays import Flags, Floats, Indexes
from sensecheck.statistics.census import Census
from sensecheck.statistics.intervals import Interval
from sensecheck.statistics.limits import (
    Limits,
    Powers,
    ShareSums,
    at_most_by_pairs,
    bounded_limits,
    effective_number,
    mean_limits,
    mean_of_shares_limits,
    share_limits,
    student_factor,
)
from sensecheck.statistics.statistic import ONE, Share, Statistic
from sensecheck.statistics.summing import Layout, Summed
from sensecheck.statistics.table import Table
from sensecheck.statistics.units import Units

NOTHING_VARIES = "every unit has the same value, which says nothing about others"
_STEP = 1e-6


def has_closed_form(statistic: Statistic) -> bool:
    """Whether an interval can be had without resampling."""
    if statistic.vector or statistic.interval is not None:
        return False
    return statistic.bins is None or statistic.means_of_bins


def needs_units(statistic: Statistic, table: Table) -> bool:
    """Whether the sums alone do not say how much units vary: they do for unweighted true/false rows."""
    return table.clustered or "weight" in table.schema or not is_share_of_rows(statistic, table)


def is_share_of_rows(statistic: Statistic, table: Table) -> bool:
    """Whether a figure is the share of rows for which a true/false column is true."""
    share = statistic.as_share
    plain = share is not None and share.parts is Share().parts and share.residual is None
    return plain and statistic.sums[1] == ONE and table.is_true_false(statistic.sums[0])


@dataclass(frozen=True)
class ClosedIntervals:
    """What the intervals of one set of sums are made from."""

    table: Table
    census: Census
    chosen: range
    layout: Layout
    summed: Summed
    level: float

    def of(self, statistic: Statistic, values: Floats, points: Sequence[Floats]) -> list[Interval]:
        """The interval of each chosen slice; `points` are the statistic's sums, slices first."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if statistic.means_of_bins:
                return self._intervals(self._mean_of_shares(statistic, values, points), "mid-P", statistic.range)
            share = statistic.as_share
            if share is None:
                return self._smooth(statistic, values, points, statistic.range)
            limits, outside = self._share(statistic, share, points)
            intervals = self._intervals(limits, "mid-P", statistic.range)
            if outside.any():
                # Numbers beyond what a share can be: the figure is a mean like any other, whatever was declared.
                others = self._smooth(statistic, values, points, (-np.inf, np.inf))
                intervals = [o if out else i for i, o, out in zip(intervals, others, outside, strict=True)]
            return intervals

    def _intervals(self, limits: Limits, method: str, within: tuple[float, float]) -> list[Interval]:
        named = f"{method}, clusters" if self.table.clustered else method
        intervals = []
        for low, high, sure_low, sure_high in zip(*(np.clip(end, *within).tolist() for end in limits), strict=True):
            if low == low and high == high:
                intervals.append(Interval(low, high, named, bounds=(sure_low, sure_high)))
            else:
                intervals.append(Interval(absent=NOTHING_VARIES))
        return intervals

    # -- shares ----------------------------------------------------------------------------------------------

    def _share(self, statistic: Statistic, share: Share, points: Sequence[Floats]) -> tuple[Limits, Flags]:
        numerator, denominator = share.parts(*points)
        value = np.clip(numerator / denominator, 0.0, 1.0)
        outside = np.zeros(len(value), dtype=np.bool_)
        true_false = is_share_of_rows(statistic, self.table)
        rows = np.array([self.census.n(statistic, self.census.values[code]) for code in self.chosen], dtype=np.float64)
        if self.summed.units is None or not needs_units(statistic, self.table):
            number = rows
        else:
            by_slice = self._by_slice(statistic)
            x, d = share.parts(*by_slice.columns)
            slack = 1e-6 * (np.abs(d) + (float(np.abs(d).mean()) if len(d) else 0.0))
            outside[by_slice.slices[(x < -slack) | (x > d + slack)]] = True
            residual = x if share.residual is None else share.residual(*by_slice.columns)
            of_residual = numerator if share.residual is None else share.residual(*points)
            sums = by_slice.share_sums(value, residual, of_residual / denominator, d, denominator)
            number = effective_number(sums)
            if true_false:
                number = self._at_most_rows(number, sums, by_slice, (x, d), rows)
            if self.table.clustered or not true_false:
                number = number * student_factor(sums.units, self.level)
            if true_false and "weight" not in self.table.schema:
                # Clusters of one row each are rows.
                number = np.where(sums.units >= rows, rows, number)
        limits = share_limits(value, number, self.level)
        if share.image is not None:
            inner = share.image(limits.low, limits.high, *points)
            outer = share.image(limits.surely_low, limits.surely_high, *points)
            limits = Limits(*inner, *outer)
        return limits, outside

    def _at_most_rows(
        self, number: Floats, sums: ShareSums, by_slice: _BySlice, parts: tuple[Floats, Floats], rows: Floats
    ) -> Floats:
        """True/false rows tell no more than as many rows; in clusters, less where rows of a cluster are alike."""
        x, d = parts
        if not self.table.clustered:
            kish = sums.total**2 / sums.squares
            return np.where(kish > rows * (1 - 1e-9), rows, np.minimum(number, kish))
        number = np.minimum(number, rows)
        # Rows in each unit, of the mean weight.
        per_row = (rows / sums.total)[by_slice.slices]
        size, failing = d * per_row, (d - x) * per_row
        several = size > 1 + 1e-9
        if by_slice.units.groups:
            # Groups of clusters do not show pairs of rows: only where nothing varies is anything known of them.
            pairs = np.full(len(number), np.nan)
        else:
            both = np.where(several, failing * (failing - 1) / np.where(several, size - 1, 1.0), 0.0)
            pairs = by_slice.sum(both) / by_slice.sum(np.where(several, size, 0.0))
        scaled = sums._replace(total=rows, squares=sums.squares * (rows / sums.total) ** 2)
        return at_most_by_pairs(number, scaled, pairs)

    def _mean_of_shares(self, statistic: Statistic, values: Floats, points: Sequence[Floats]) -> Limits:
        """`points`: slices × bins."""
        total, size = points
        means = np.where(size > 0, total / size, 0.0)
        bins = size.shape[1]
        units = self.summed.units
        assert units is not None
        x, d = (units.values[:, self._column(c, statistic)] for c in statistic.sums)
        residual = x - means.reshape(-1)[units.code] * d
        cells = len(size) * bins

        def by_cell(of_unit: Floats) -> Floats:
            sums = np.bincount(units.code, weights=units.count * of_unit, minlength=cells)
            return np.asarray(sums, dtype=np.float64).reshape(-1, bins)

        squares = by_cell(d**2)
        rows = np.where(squares > 0, size**2 / squares, 0.0)
        within = np.where(squares > 0, by_cell(residual**2) * rows / squares, 0.0)
        clustered = np.zeros(len(size))
        if self.table.clustered:
            groups = np.maximum((size > 0).sum(1), 1)
            share_of_bin = residual / size.reshape(-1)[units.code]
            owners = np.stack([units.code // bins, units.ids.view(np.int64)])
            owner, place = np.unique(owners, axis=1, return_inverse=True)
            influence = np.bincount(place.reshape(-1), weights=share_of_bin)
            slices = owner[0].astype(np.intp)
            count = np.bincount(slices, minlength=len(size))
            clustered = np.bincount(slices, weights=influence**2, minlength=len(size)) / groups**2
            clustered = clustered * count / np.maximum(count - 1, 1)
        return mean_of_shares_limits(values, within, rows, clustered, self.level)

    # -- anything smooth -------------------------------------------------------------------------------------

    def _smooth(
        self, statistic: Statistic, values: Floats, points: Sequence[Floats], within: tuple[float, float]
    ) -> list[Interval]:
        by_slice = self._by_slice(statistic)
        if statistic.as_share is not None:
            d, of_all = statistic.as_share.parts(*by_slice.columns)[1], statistic.as_share.parts(*points)[1]
        else:
            which = statistic.sums.index(ONE) if ONE in statistic.sums else len(statistic.sums) - 1
            d, of_all = by_slice.columns[which], points[which]
        gradient = gradients(statistic, points)
        influence = sum(g[by_slice.slices] * column for g, column in zip(gradient, by_slice.columns, strict=True))
        least, most = within
        powers = by_slice.powers(np.asarray(influence), d, of_all, most - least)
        if (least, most) == (0.0, 1.0) and statistic.as_share is None:
            limits = bounded_limits(values, powers.jackknifed, powers.units, self.level)
            return self._intervals(limits, "mid-P", within)
        judged = mean_limits(values, powers, self.level)
        limits = Limits(judged.low, judged.high, judged.low, judged.high)
        return self._intervals(limits, "t with skewness", within)

    def _by_slice(self, statistic: Statistic) -> _BySlice:
        units = self.summed.units
        assert units is not None
        columns = [units.values[:, self._column(c, statistic)] for c in statistic.sums]
        own = self.census.units(statistic)[self.chosen.start : self.chosen.stop]
        return _BySlice(units, columns, len(self.chosen), own)

    def _column(self, column: str, statistic: Statistic) -> int:
        return self.layout.columns.index(self.layout.key(column, statistic))


@dataclass(frozen=True)
class _BySlice:
    """The units of one statistic, and sums over those of each slice."""

    units: Units
    columns: list[Floats]
    number: int
    independent: Floats
    """How many units each slice has, where these are groups of them."""

    @cached_property
    def slices(self) -> Indexes:
        return self.units.code.astype(np.intp)

    def sum(self, of_unit: Floats) -> Floats:
        weights = of_unit if self.units.groups else self.units.count * of_unit
        return np.asarray(np.bincount(self.slices, weights=weights, minlength=self.number), dtype=np.float64)

    def sizes(self, d: Floats, of_all: Floats) -> tuple[Floats, Floats]:
        """How many units have a D, and ΣD² over them.

        Of random groups the squares say how D varies between groups, and that is what ΣD² over their units makes.
        """
        squares = self.sum(d**2)
        groups = self.units.groups
        if groups:
            return self.independent, np.maximum(squares - of_all**2 / groups, 0.0) * groups / (groups - 1)
        return self.sum((d > 0).astype(np.float64)), squares

    def jackknifed(self, residual: Floats, d: Floats, of_all: Floats, units: Floats) -> Floats:
        groups = self.units.groups
        if groups:
            return self.sum(residual**2) * groups / (groups - 1)
        left = 1 - d / of_all[self.slices]
        out = np.where(left > 1e-12, residual / np.where(left > 1e-12, left, 1.0), 0.0)
        return (units - 1) / units * self.sum(out**2)

    def share_sums(self, value: Floats, x: Floats, centre: Floats, d: Floats, of_all: Floats) -> ShareSums:
        units, squares = self.sizes(d, of_all)
        spread = self.jackknifed(x - centre[self.slices] * d, d, of_all, units)
        return ShareSums(value, of_all, squares, spread, units)

    def powers(self, influence: Floats, d: Floats, of_all: Floats, width: float) -> Powers:
        units, squares = self.sizes(d, of_all)
        one = np.sqrt(squares / units) / of_all * width if np.isfinite(width) else np.full(self.number, np.nan)
        second, third, fourth = (self.sum(influence**k) for k in (2, 3, 4))
        if self.units.groups:
            # A group's fourth power holds its many units'; what it says of one of them is taken from the second.
            fourth = second**2 / units
        return Powers(second, third, fourth, self.jackknifed(influence, d, of_all, units), units, one)


def gradients(statistic: Statistic, points: Sequence[Floats], **anchors: object) -> list[Floats]:
    """How fast the figure changes with each of its sums."""
    scale = np.maximum.reduce([np.abs(p) for p in points])
    found = []
    for j, point in enumerate(points):
        step = _STEP * np.where(point != 0, np.abs(point), np.where(scale > 0, scale, 1.0))
        up, down = ([*points[:j], point + side * step, *points[j + 1 :]] for side in (1, -1))
        rise = np.asarray(statistic.finish(*up, **anchors)) - np.asarray(statistic.finish(*down, **anchors))
        found.append(np.where(np.isfinite(rise), rise / (2 * step), 0.0))
    return found
