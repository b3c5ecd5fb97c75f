"""Two runs on the same units: is the difference real?

Everything is over the rows that could be scored in both runs: a system that leaves its hardest rows out must not look
better for it. What each unit adds to a figure in either run gives the difference's interval and test, which agree. A
figure with an interval of its own (a calibration error, an area under a curve) is compared by those intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import lgamma, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

from sensecheck.stages import COMPARING, at_work
from sensecheck.statistics.arrays import Floats
from sensecheck.statistics.census import Census
from sensecheck.statistics.closed import gradients
from sensecheck.statistics.estimate import columns_of, compute_anchors, finished
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.intervals import percentile
from sensecheck.statistics.limits import Judged, Measured, Powers, difference_of_measured, mean_limits
from sensecheck.statistics.measurements import Measurements, concatenated
from sensecheck.statistics.resample import Drawing
from sensecheck.statistics.row_figures import (
    MOST_ROWS,
    SliceRows,
    keyed,
    kinds_of,
    most_resampled,
    row_groups,
    row_interval,
    row_replicates,
    settled,
    sorted_for,
    weighted_rows,
)
from sensecheck.statistics.shared_rows import ComparisonError as ComparisonError
from sensecheck.statistics.shared_rows import KeptRows, PairedRuns
from sensecheck.statistics.statistic import ONE, Anchors, AnyStatistic, RowStatistic, Statistic, mean_of
from sensecheck.statistics.summing import Layout, sum_rows
from sensecheck.statistics.table import Table, scored_rows

ALPHA = 0.05
POWER = 0.8
_NORMAL = NormalDist()
_MOST_UNITS = 1e12
# Sums of the same numbers in another grouping may differ in the last digit: a tie is a tie.
_SLACK = 1e-9
DEBIASED = "the difference is that of the debiased errors, since noise pushes the plain ones up unequally"
# To find the rows that two runs share takes about as long as so many figures of them.
_SHARING_STEPS = 3
_RAREST = 3
"""An area under a ROC curve is compared where the rarer kind of answer has at least so many."""


@dataclass(frozen=True)
class Difference:
    """B minus A for one figure, over the rows that could be scored in both."""

    name: str
    title: str
    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    p: float | None
    """That the two systems have the same figure; it agrees with the interval."""
    p_mcnemar: float | None
    p_corrected: float | None
    """Holm's correction over the directed headline figures that these data can tell apart; None: exploratory."""
    detectable: float | None
    """The smallest difference found with power 0.8 at the level that the correction leaves."""
    units_needed: int | None
    """About how many units it would take to tell the observed difference from none after Holm's correction."""
    n_a: int
    n_b: int
    units: int
    """Independent units: clusters where there are clusters."""
    direction: str = "none"
    note: str = ""
    standard_error: float | None = None
    differing: int | None = None
    """Units on which the runs differ; None where that is no matter of single units."""
    repeats: str = ""
    """The figure of the family that this one repeats, value for value."""

    def to_dict(self) -> dict[str, Any]:
        plain = {k: (None if isinstance(v, float) and not np.isfinite(v) else v) for k, v in vars(self).items()}
        return {**plain, "exploratory": self.exploratory}

    @property
    def exploratory(self) -> bool:
        """Whether no verdict is drawn from it."""
        return self.p_corrected is None

    @property
    def least_p(self) -> float:
        """What p could be at best: so few units that differ could all fall on one side by chance."""
        return 0.0 if self.differing is None else min(1.0, 2.0 ** (1 - self.differing))

    @property
    def better(self) -> str:
        """'a', 'b', or '' where no difference can be told."""
        p = self.p_corrected
        if p is None or p >= ALPHA or self.direction == "none" or self.difference == 0:
            return ""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return ""
        return "b" if (self.difference > 0) == (self.direction == "higher") else "a"


def compare(
    a: Measurements,
    b: Measurements,
    statistics: Sequence[AnyStatistic],
    *,
    options: IntervalOptions | None = None,
    headline: Sequence[str] = (),
    names: tuple[str, str] = ("A", "B"),
    paired: PairedRuns | None = None,
) -> list[Difference]:
    """B minus A for every statistic, with interval, p-value and the smallest detectable difference.

    Holm's correction is over the directed figures of `headline`; over all directed ones where it names none.

    >>> from sensecheck.statistics.measurements import Frames
    >>> from sensecheck.statistics.statistic import mean_of
    >>> ids = [f"q{i}" for i in range(40)]
    >>> a = Frames(pl.DataFrame({"id": ids, "em": [i % 4 == 0 for i in range(40)]}))
    >>> b = Frames(pl.DataFrame({"id": ids, "em": [i % 4 != 1 for i in range(40)]}))
    >>> (em,) = compare(a, b, [mean_of("em", direction="higher")])
    >>> em.a, em.b, em.difference, em.units, em.better
    (0.25, 0.75, 0.5, 40, 'b')
    """
    options = (options or IntervalOptions()).of_rows
    paired = paired or PairedRuns(a, b, names)
    scalar = [s for s in statistics if not s.vector]
    differences: dict[str, Difference] = {}
    # Most figures share their rows: those are passed over once for all of them.
    derived = {c: expr for s in scalar for c, expr in s.derived.items()}
    by_rows: dict[tuple[bytes, bytes], tuple[tuple[KeptRows, KeptRows], list[AnyStatistic]]] = {}
    for columns in dict.fromkeys(s.columns for s in scalar):
        shared = paired.shared(columns, derived)
        same_rows = by_rows.setdefault((shared[0].digest, shared[1].digest), (shared, []))
        same_rows[1].extend(s for s in scalar if s.columns == columns)
        at_work(COMPARING)(_SHARING_STEPS)
    for shared, alike in by_rows.values():
        differences.update(_SharedRows(shared, alike, options).differences())
    return holm(_without_repeats([differences[s.name] for s in scalar], headline), headline)


def steps(statistics: Sequence[AnyStatistic]) -> int:
    """How many steps `compare` tells of."""
    scalar = [s for s in statistics if not s.vector]
    return _SHARING_STEPS * len({s.columns for s in scalar}) + len(scalar)


def scored_differences(
    paired: PairedRuns, statistics: Sequence[AnyStatistic], headline: Sequence[str], options: IntervalOptions
) -> list[Difference]:
    """What could be scored in one run and not in the other, for the headline figures that lost rows: each its test."""
    options = options.of_rows
    by_columns: dict[tuple[str, ...], list[AnyStatistic]] = {}
    for s in statistics:
        if s.name in headline:
            by_columns.setdefault(s.columns, []).append(s)
    found: list[Difference] = []
    for columns, alike in by_columns.items():
        derived = {c: expr for s in alike for c, expr in s.derived.items()}
        a, b = paired.could_be_scored(columns, derived)
        if all(bool(batch["scored_here"].all()) for run in (a, b) for batch in run.batches(["scored_here"])):
            continue
        share = mean_of("scored_here", f"scored:{alike[0].name}", title="could be scored")
        (difference,) = _SharedRows((a, b), [share], options).differences().values()
        if difference.differing == 0:
            continue  # both runs scored the same
        title = f"could be scored ({', '.join(s.label for s in alike)})"
        numbers = (difference.a, difference.b, difference.n_a)
        same = next((i for i, d in enumerate(found) if (d.a, d.b, d.n_a) == numbers), None)
        if same is None:
            found.append(replace(difference, title=title))
        else:
            more = f"{found[same].title[:-1]}, {', '.join(s.label for s in alike)})"
            found[same] = replace(found[same], title=more)
    return [_at_level(d, ALPHA, 1) for d in found]


@dataclass(frozen=True)
class _SharedRows:
    """Rows that could be scored in both runs, and statistics that need the same columns of them."""

    runs: tuple[Measurements, Measurements]
    statistics: Sequence[AnyStatistic]
    options: IntervalOptions

    def differences(self) -> dict[str, Difference]:
        """By the name of the statistic."""
        sides = (Table(self.runs[0], self.statistics, ()), Table(self.runs[1], self.statistics, ()))
        if not all(run.height for run in self.runs):
            return {s.name: _without_test(s, "no row is scored in both runs") for s in self.statistics}
        censuses = (Census(sides[0], ()), Census(sides[1], ()))
        found: dict[str, Difference] = {}
        of_sums = [s for s in self.statistics if isinstance(s, Statistic)]
        for alike in _by_binning(of_sums, self.options):
            pair = _SummedRuns(sides, censuses, alike, self.options)
            found.update((s.name, pair.difference(s)) for s in alike)
            at_work(COMPARING)(len(alike))
        for group in row_groups(self.statistics):
            found.update(_of_rows(group, sides, censuses, self.options))
            at_work(COMPARING)(len(group))
        return found


def _resampled(statistic: Statistic, options: IntervalOptions) -> bool:
    return statistic.interval is not None or options.method in ("percentile", "bca")


def _by_binning(statistics: Iterable[Statistic], options: IntervalOptions) -> list[list[Statistic]]:
    alike: dict[Any, list[Statistic]] = {}
    for s in statistics:
        alike.setdefault((s.bins, _resampled(s, options)), []).append(s)
    return list(alike.values())


class _SummedRuns:
    """The sums of both runs for statistics of one binning, what each unit adds to them, and replicates if needed."""

    def __init__(
        self,
        sides: tuple[Table, Table],
        censuses: tuple[Census, Census],
        statistics: Sequence[Statistic],
        options: IntervalOptions,
    ) -> None:
        self.sides, self.censuses, self.options = sides, censuses, options
        self.anchors: list[Anchors] = [compute_anchors(side, statistics) for side in sides]
        resampled = _resampled(statistics[0], options)
        self.layouts = [Layout.of(statistics, anchors, resampled) for anchors in self.anchors]
        cells = max(sum(layout.sizes()) for layout in self.layouts)
        groups = max(side.groups(cells) for side in sides)
        drawing = Drawing.bootstrap(options) if resampled else None
        self.summed = [
            sum_rows(side, census, range(1), layout, drawing, with_units=not resampled, groups=groups)
            for side, census, layout in zip(sides, censuses, self.layouts, strict=True)
        ]

    def _points(self, run: int, statistic: Statistic) -> list[Floats]:
        which, columns = self.layouts[run].pick(statistic)
        return columns_of(self.summed[run].points[which][0], columns, statistic)

    def _replicates(self, run: int, statistic: Statistic) -> list[Floats]:
        which, columns = self.layouts[run].pick(statistic)
        replicates = self.summed[run].replicates
        assert replicates is not None
        return columns_of(replicates[which][0], columns, statistic)

    def difference(self, statistic: Statistic) -> Difference:
        values = [float(finished(statistic, self._points(run, statistic), self.anchors[run])) for run in (0, 1)]
        found = _observed(statistic, (values[0], values[1]), self.censuses)
        if not all(np.isfinite(values)) or found.units < 2:
            return found
        if statistic.interval is not None:
            return self._of_own_intervals(statistic, found)
        if _resampled(statistic, self.options):
            drawn = [finished(statistic, self._replicates(run, statistic), self.anchors[run]) for run in (0, 1)]
            found = _by_percentiles(found, drawn[1] - drawn[0], self.options.level)
        else:
            found = self._of_units(statistic, found)
        return replace(found, p_mcnemar=_mcnemar_of(statistic, self.sides))

    def _of_own_intervals(self, statistic: Statistic, found: Difference) -> Difference:
        assert statistic.interval is not None
        measured, spreads = [], []
        of_errors = False
        for run in (0, 1):
            points, replicates = self._points(run, statistic), self._replicates(run, statistic)
            units = self.censuses[run].independent(statistic, ())
            own = statistic.interval(points, replicates, level=self.options.level, seed=self.options.seed, units=units)
            if own.absent:
                return replace(found, note=own.absent)
            of_errors = "debiased" in own.beside
            measured.append(Measured(own.beside.get("debiased", found.b if run else found.a), own.low, own.high))
            spreads.append(finished(statistic, replicates, self.anchors[run]))
        a, b = measured
        judged = difference_of_measured(a, b, _correlation(*spreads), self.options.level, from_zero=of_errors)
        note = DEBIASED if of_errors else found.note
        return _judged(replace(found, difference=b.value - a.value, note=note), judged)

    def _of_units(self, statistic: Statistic, found: Difference) -> Difference:
        sides = [self._influences(run, statistic) for run in (0, 1)]
        ids = np.union1d(sides[0].ids, sides[1].ids)
        places = [np.searchsorted(ids, side.ids) for side in sides]
        influence = np.zeros(len(ids))
        part = np.zeros(len(ids))
        values = [np.zeros((len(ids), side.values.shape[1])) for side in sides]
        for sign, side, place, value in zip((-1, 1), sides, places, values, strict=True):
            np.add.at(influence, place, sign * side.influence)
            np.add.at(value, place, side.values)
            whole = np.zeros(len(ids))
            np.add.at(whole, place, side.part)
            part = np.maximum(part, whole)
        differs = np.abs(values[0] - values[1]).max(axis=1) > _SLACK if values[0].shape == values[1].shape else part > 0
        units = float(np.count_nonzero(part > 0))
        groups = self.summed[0].units.groups if self.summed[0].units is not None else 0
        left = np.where(part < 1 - 1e-12, 1 - part, 1.0)
        width = statistic.range[1] - statistic.range[0]
        one = float(np.sqrt((part**2).sum() / units)) * width if np.isfinite(width) else np.nan
        second, third, fourth = (float((influence**k).sum()) for k in (2, 3, 4))
        jackknifed = (units - 1) / units * float(((influence / left) ** 2).sum())
        powers = Powers(*(np.asarray(x) for x in (second, third, fourth, jackknifed, units, one)))
        judged = mean_limits(np.asarray(found.difference), powers, self.options.level)
        differing = int(np.count_nonzero(differs))
        if not differing:
            # The same answers throughout: whatever else would come, these rows speak for no difference.
            judged = judged._replace(p=np.asarray(1.0))
        judged = judged._replace(low=np.clip(judged.low, -width, width), high=np.clip(judged.high, -width, width))
        found = _judged(replace(found, differing=None if groups else differing), judged)
        if found.p is None or found.low is None or found.high is None or found.p >= found.least_p:
            return found
        # No test can pass on so few units that differ, and so the interval may not leave out 0 either.
        few = found.least_p >= 1 - self.options.level
        low, high = (min(found.low, 0.0), max(found.high, 0.0)) if few else (found.low, found.high)
        return replace(found, p=found.least_p, low=low, high=high)

    def _influences(self, run: int, statistic: Statistic) -> _Influences:
        units, layout, points = self.summed[run].units, self.layouts[run], self._points(run, statistic)
        assert units is not None
        anchors = {"anchors": self.anchors[run]} if statistic.anchors else {}
        columns = [units.values[:, layout.columns.index(layout.key(c, statistic))] for c in statistic.sums]
        gradient = gradients_by_bin(statistic, points, anchors)
        bins = units.code.astype(np.intp) if statistic.bins is not None else np.zeros(len(units.code), dtype=np.intp)
        influence = sum(g[bins] * column for g, column in zip(gradient, columns, strict=True))
        if statistic.as_share is not None:
            weight = statistic.as_share.parts(*columns)[1]
        else:
            weight = columns[statistic.sums.index(ONE) if ONE in statistic.sums else -1]
        total = float(weight.sum())
        return _Influences(units.ids, np.asarray(influence), weight / total, np.stack(columns, axis=1))


@dataclass(frozen=True)
class _Influences:
    """What each unit of a run adds to a figure, which part of the run it is, and its sums."""

    ids: Any
    influence: Floats
    part: Floats
    values: Floats


def gradients_by_bin(statistic: Statistic, points: Sequence[Floats], anchors: Any) -> list[Floats]:
    """How fast the figure changes with each of its sums in each bin: one array over bins a sum."""
    if statistic.bins is None:
        return [np.atleast_1d(g) for g in gradients(statistic, [np.asarray(p) for p in points], **anchors)]
    slopes = []
    scale = max(float(np.abs(p).max(initial=0.0)) for p in points) or 1.0
    for j, point in enumerate(points):
        step = 1e-6 * np.where(point != 0, np.abs(point), scale)
        moved = np.diag(step)
        up, down = ([*points[:j], point + side * moved, *points[j + 1 :]] for side in (1, -1))
        wide = [[np.broadcast_to(p, moved.shape) for p in sums] for sums in (up, down)]
        slope = np.asarray(statistic.finish(*wide[0], **anchors)) - np.asarray(statistic.finish(*wide[1], **anchors))
        slope = slope / (2 * step)
        slopes.append(np.where(np.isfinite(slope) & (points[-1] != 0), slope, 0.0))
    return slopes


def _of_rows(
    statistics: Sequence[RowStatistic],
    sides: tuple[Table, Table],
    censuses: tuple[Census, Census],
    options: IntervalOptions,
) -> dict[str, Difference]:
    n = [side.measurements.height for side in sides]
    if sum(n) > MOST_ROWS:
        return {s.name: _without_test(s, f"figures of single rows take at most {MOST_ROWS:,} rows") for s in statistics}
    runs, spreads = [], []
    most = most_resampled(statistics)
    for side in sides:
        assert side.cluster is not None
        scored = scored_rows(side.measurements, statistics[0].columns, side.derived, [side.cluster])
        rows = sorted_for(statistics, keyed(scored, [side.cluster]))
        runs.append(weighted_rows(statistics, rows))
        if max(n) <= most:
            spreads.append(row_replicates(runs[-1], rows["_key"].to_numpy(), Drawing.bootstrap(options)))
    differences = {}
    for i, statistic in enumerate(statistics):
        a, b = (float(run.values[i]) for run in runs)
        found = _observed(statistic, (a, b), censuses)
        if not spreads:
            found = replace(found, note=f"figures of single rows are resampled up to {most:,} rows: no interval")
        elif np.isfinite(a) and np.isfinite(b) and found.units >= 2:
            found = _of_row_intervals(statistic, found, runs, [of_run[i] for of_run in spreads], censuses, options)
        differences[statistic.name] = found
    return differences


def _of_row_intervals(
    statistic: RowStatistic,
    found: Difference,
    runs: Sequence[Any],
    spreads: Sequence[Floats],
    censuses: tuple[Census, Census],
    options: IntervalOptions,
) -> Difference:
    if statistic.kinds is not None:
        rarest = min(min(kinds_of(statistic, run) or (0.0,)) for run in runs)
        if rarest < _RAREST:
            return replace(found, note=f"fewer than {_RAREST} answers of one kind: no interval of the difference")
    if options.method != "auto" and not statistic.noise_power:
        return _by_percentiles(found, spreads[1] - spreads[0], options.level)
    measured = []
    for run, value, spread, census in zip(runs, (found.a, found.b), spreads, censuses, strict=True):
        units = float(census.independent(statistic, ()))
        closed = replace(options, method="auto")
        there = SliceRows(len(run.weights), units, kinds_of(statistic, run))
        (own,) = settled([row_interval(statistic, there, np.asarray(value), spread, closed, "bootstrap")], closed.level)
        if not isinstance(own.low, float) or not isinstance(own.high, float):
            return replace(found, note=own.absent)
        if statistic.noise_power:
            power, defined = statistic.noise_power, spread[np.isfinite(spread)]
            value = max(2 * value**power - float((defined**power).mean()), 0.0) ** (1 / power)
            value = min(max(value, own.low), own.high)
        measured.append(Measured(value, own.low, own.high))
    from_zero = bool(statistic.noise_power)
    judged = difference_of_measured(measured[0], measured[1], _correlation(*spreads), options.level, from_zero)
    note = DEBIASED if from_zero else ""
    return _judged(replace(found, difference=measured[1].value - measured[0].value, note=note), judged)


def _correlation(a: Floats, b: Floats) -> float:
    """Of the two runs' replicates, drawn with the same weights."""
    both = np.isfinite(a) & np.isfinite(b)
    x, y = a[both], b[both]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])


def _observed(statistic: AnyStatistic, values: tuple[float, float], censuses: tuple[Census, Census]) -> Difference:
    """What both runs show, before any test."""
    n = [census.n(statistic, ()) for census in censuses]
    units = min(census.independent(statistic, ()) for census in censuses)
    return replace(_without_test(statistic, ""), a=values[0], b=values[1], difference=values[1] - values[0], n_a=n[0],
                   n_b=n[1], units=units)  # fmt: skip


def _without_test(statistic: AnyStatistic, note: str) -> Difference:
    nan = float("nan")
    return Difference(
        statistic.name, statistic.label, nan, nan, nan, None, None, None, None, None, None, None, 0, 0, 0,
        statistic.direction, note,
    )  # fmt: skip


def _judged(found: Difference, judged: Judged) -> Difference:
    low, high, p, error = (float(x) for x in judged)
    if not np.isfinite(low) or not np.isfinite(high):
        return replace(found, note=found.note or "every unit has the same value, which says nothing about others")
    return replace(found, low=low, high=high, p=p if np.isfinite(p) else None, standard_error=error)


def _by_percentiles(found: Difference, spread: Floats, level: float) -> Difference:
    """The paired bootstrap: p is the level at which its percentile interval would just reach 0."""
    defined = spread[np.isfinite(spread)]
    if len(defined) <= len(spread) / 2:
        return replace(found, note="the difference has a value in too few replicates")
    low, high = percentile(spread, level)
    # Where 0 lies among the replicates, by the interpolation that quantiles take, so that p and interval agree; that
    # none lies beyond it says only that fewer than one in so many do.
    below = float(np.interp(0.0, np.sort(defined), np.linspace(0, 1, len(defined))))
    tied = float((defined == 0).mean())
    p = min(1.0, max(2 * min(below, 1 - below), 2 * tied, 2 / (len(defined) + 1)))
    return replace(found, low=low, high=high, p=p, standard_error=float(defined.std(ddof=1)))  # type: ignore[arg-type]


def _power_factor(level: float) -> float:
    """So many standard errors a difference must be, to be found at this level as often as the power says."""
    return _NORMAL.inv_cdf(1 - level / 2) + _NORMAL.inv_cdf(POWER)


def _at_level(d: Difference, level: float, tests: int) -> Difference:
    """The difference with what a test at this level (of as many tests) could tell."""
    if d.standard_error is None or not np.isfinite(d.standard_error):
        return d
    detectable = _power_factor(ALPHA / tests) * d.standard_error
    needed: int | None = None
    if d.difference != 0 and np.isfinite(d.difference):
        wanted = _power_factor(level) * d.standard_error
        units = d.units * (wanted / d.difference) ** 2 if wanted > 0 else float(d.units)
        # Where the difference is rounding noise, no number of units that anyone could collect would do.
        needed = int(np.ceil(units)) if units < _MOST_UNITS else None
    return replace(d, detectable=detectable, units_needed=needed)


def mcnemar(only_a: int, only_b: int) -> float:
    """The exact two-sided McNemar test: how likely so uneven a split of the units on which the systems differ is.

    >>> round(mcnemar(1, 8), 4), mcnemar(5, 5)
    (0.0391, 1.0)
    """
    total = only_a + only_b
    if total == 0:
        return 1.0
    fewer = min(only_a, only_b)
    if total > 100_000:
        z = (abs(only_a - only_b) - 1) / sqrt(total)
        return min(1.0, 2 * (1 - _NORMAL.cdf(max(z, 0.0))))
    k = np.arange(fewer + 1)
    of_total = lgamma(total + 1)
    terms = np.array([of_total - lgamma(i + 1) - lgamma(total - i + 1) - total * log(2) for i in k.tolist()])
    top = terms.max()
    return float(min(1.0, 2 * np.exp(top) * np.exp(terms - top).sum()))


def _mcnemar_of(statistic: Statistic, sides: tuple[Table, Table]) -> float | None:
    """McNemar's p where it applies: the mean of a true/false column, one unclustered row a unit."""
    if len(statistic.sums) != 2 or statistic.sums[1] != ONE or statistic.bins is not None:
        return None
    column = statistic.sums[0]
    runs = (sides[0].measurements, sides[1].measurements)
    for run in runs:
        if run.schema.get(column) != pl.Boolean or {"cluster", "unit", "weight"} & set(run.schema):
            return None
    joined = _joined(runs, column)
    only_a = int((joined["_a"] & ~joined["_b"]).sum())
    only_b = int((~joined["_a"] & joined["_b"]).sum())
    return mcnemar(only_a, only_b)


def _joined(runs: tuple[Measurements, Measurements], column: str) -> pl.DataFrame:
    sides = []
    for run, name in zip(runs, ("_a", "_b"), strict=True):
        rows = concatenated(run, ["id", column, *(["scored"] if "scored" in run.schema else [])])
        # Where ids repeat, the first of one run goes with the first of the other, and so on.
        rows = rows.with_columns(pl.int_range(pl.len()).over("id").alias("_nth"))
        if "scored" in rows.columns:
            rows = rows.filter(pl.col("scored"))
        sides.append(rows.select("id", "_nth", pl.col(column).alias(name)).drop_nulls())
    return sides[0].join(sides[1], on=["id", "_nth"], how="inner", maintain_order="left").drop("_nth")


def flips(a: Measurements, b: Measurements, column: str) -> pl.DataFrame:
    """Rows on which the two runs differ in `column`: id, a, b; the largest changes first.

    >>> from sensecheck.statistics.measurements import Frames
    >>> a = Frames(pl.DataFrame({"id": ["x", "y", "z"], "score": [0.5, 0.5, 0.5]}))
    >>> b = Frames(pl.DataFrame({"id": ["x", "y", "z"], "score": [0.5, 0.25, 1.0]}))
    >>> flips(a, b, "score").rows()
    [('z', 0.5, 1.0), ('y', 0.5, 0.25)]
    """
    joined = _joined((a, b), column).rename({"_a": "a", "_b": "b"})
    changed = joined.filter(pl.col("a") != pl.col("b"))
    size = (pl.col("b").cast(pl.Float64) - pl.col("a").cast(pl.Float64)).abs()
    return changed.sort([size, pl.col("id")], descending=[True, False], maintain_order=True)


def holm(differences: Sequence[Difference], headline: Sequence[str] = ()) -> list[Difference]:
    """Holm's step-down correction over one family: the directed headline figures that these data can tell apart.

    A figure that repeats another, or on which so few units differ that no test could pass, is not in the family; it
    and all others are exploratory. The units needed are told at the level that a figure meets here.
    """
    candidates = [i for i, d in enumerate(differences) if d.p is not None and not d.repeats and _leads(d, headline)]
    # The largest family in which each figure could reach what the correction asks for at first.
    by_reach = sorted(candidates, key=lambda i: differences[i].least_p)
    family = [i for k, i in enumerate(by_reach, start=1) if differences[i].least_p <= ALPHA / k]
    ranked = sorted((differences[i].p or 0.0, i) for i in family)
    corrected: dict[int, float] = {}
    levels: dict[int, float] = {}
    largest = 0.0
    passed = 0
    for rank, (p, i) in enumerate(ranked):
        largest = max(largest, min(1.0, p * (len(ranked) - rank)))
        corrected[i] = largest
        # What has not passed would, if it did, pass next.
        levels[i] = ALPHA / (len(ranked) - passed)
        passed += largest < ALPHA
    tests = max(len(ranked), 1)
    return [
        _at_level(replace(d, p_corrected=corrected.get(i)), levels.get(i, ALPHA / tests), tests)
        for i, d in enumerate(differences)
    ]


def _leads(d: Difference, headline: Sequence[str]) -> bool:
    """Whether a verdict may be drawn from a figure: it has a better direction and is among the first."""
    return d.direction != "none" and (not headline or d.name in headline)


def _without_repeats(differences: Sequence[Difference], headline: Sequence[str]) -> list[Difference]:
    """Figures that repeat another of the same runs, value for value, say which."""
    first: dict[Any, str] = {}
    marked = []
    for d in differences:
        numbers = (d.a, d.b, d.difference, d.low, d.high, d.n_a, d.n_b, d.units, d.differing)
        if d.p is not None and _leads(d, headline):
            d = replace(d, repeats=first.get(numbers, ""))
            first.setdefault(numbers, d.title)
        marked.append(d)
    return marked
