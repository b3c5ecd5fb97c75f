"""From measurements to figures: one pass to count, one to sum and resample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.stages import stage
from sensecheck.statistics.arrays import Floats, Indexes
from sensecheck.statistics.census import Census
from sensecheck.statistics.closed import ClosedIntervals, has_closed_form, needs_units
from sensecheck.statistics.counted import (
    COUNTED_ABOVE,
    TOO_COARSE,
    Counted,
    GroupedDraws,
    PoissonDraws,
    Resampled,
    Stretches,
    counted_numbers,
    counted_slices,
    is_crowded,
    like_units,
    replicated,
    tells,
)
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.intervals import Interval, acceleration, bca, percentile, why_no_interval
from sensecheck.statistics.measurements import Measurements
from sensecheck.statistics.resample import Drawing
from sensecheck.statistics.row_figures import (
    CURVE_OF_A_SLICE,
    MOST_ROWS,
    Pending,
    SettledFigures,
    SliceRows,
    area_of_rows,
    needs_no_replicates,
    row_figures,
    row_groups,
    row_interval,
)
from sensecheck.statistics.row_states import RowStates, WeightedRows
from sensecheck.statistics.statistic import Anchors, AnyStatistic, RowStatistic, Statistic, why_infinite
from sensecheck.statistics.summing import Layout, Summed, sum_distinct, sum_once, sum_rows
from sensecheck.statistics.table import Slice, Table, scored_rows
from sensecheck.statistics.units import Units, as_matrix

# Bootstrap sums of one slicing are held for as many slice values at a time as fit in this many numbers.
_MOST_NUMBERS = 24_000_000


@dataclass
class Estimates:
    """All figures of a set of measurements: overall, and by slice."""

    overall: list[Figure]
    slices: dict[Slice, list[list[Figure]]] = field(default_factory=dict)
    anchors: dict[str, Floats] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What a reader should know of how they were made."""
    counted: bool = False
    """Whether rows were counted on a grid."""

    def figure(self, name: str) -> Figure:
        for figure in self.overall:
            if figure.name == name:
                return figure
        raise KeyError(name)


def estimate(
    measurements: Measurements,
    statistics: Sequence[AnyStatistic],
    *,
    slices: Sequence[Slice] = (),
    options: IntervalOptions | None = None,
    anchors: Anchors | None = None,
) -> Estimates:
    """Every statistic, overall and for every value of every slicing, with intervals.

    >>> from sensecheck.statistics.measurements import Frames
    >>> from sensecheck.statistics.statistic import mean_of
    >>> rows = pl.DataFrame({"id": list("abcd"), "em": [True, True, False, True], "kind": ["x", "x", "y", "y"]})
    >>> estimates = estimate(Frames(rows), [mean_of("em")], slices=[("kind",)])
    >>> em = estimates.figure("em")
    >>> em.value, em.n, em.low <= em.value <= em.high
    (0.75, 4, True)
    >>> [(figure.slice, figure.value) for (figure,) in estimates.slices["kind",]]
    [({'kind': 'x'}, 1.0), ({'kind': 'y'}, 0.5)]
    """
    options = (options or IntervalOptions()).of_rows
    table = Table(measurements, statistics, slices)
    fixed = dict(anchors or {})
    if table.keeps_rows:
        fixed.update(compute_anchors(table, statistics, known=fixed))
        table.cut_at(fixed)
    table.choose(MOST_ROWS, counts_do=options.method != "bca" and not (table.keeps_rows and options.method == "none"))
    fixed.update(compute_anchors(table, statistics, known=fixed))
    # The slices first: what they add up to is the whole.
    censuses = [Census(table, tuple(by)) for by in (*slices, ())]
    with stage("resampling", total=sum(len(census.values) for census in censuses), unit="slices") as advance:
        *by_slice, (overall,) = [_slicing(table, census, fixed, options, advance) for census in censuses]
    by = {tuple(s): figures for s, figures in zip(slices, by_slice, strict=True)}
    return Estimates(overall, by, fixed, _notes(table), table.pair is not None and not table.keeps_rows)


def compute_anchors(
    table: Table, statistics: Sequence[AnyStatistic], *, known: Anchors | None = None
) -> dict[str, Floats]:
    """The anchors that some statistics of the table need and that are not known yet."""
    computed: dict[str, Floats] = {}
    read: tuple[tuple[str, ...], dict[str, NDArray[Any]]] | None = None
    for statistic in statistics:
        if isinstance(statistic, RowStatistic):
            continue
        for anchor in statistic.anchors:
            if anchor.name in computed or (known is not None and anchor.name in known):
                continue
            pair = None if table.keeps_rows else table.pair
            if anchor.counted is not None and pair is not None and anchor.columns == (pair.number,):
                quantity = anchor.counted(table.numbers if table.numbers is not None else counted_numbers(table))
            else:
                # Anchors one after the other mostly look at the same column.
                if read is None or read[0] != anchor.columns or any(c in statistic.derived for c in anchor.columns):
                    read = None
                    rows = scored_rows(table.measurements, anchor.columns, statistic.derived)
                    read = (anchor.columns, {c: rows[c].to_numpy() for c in rows.columns})
                    del rows
                quantity = anchor.compute(read[1])
            computed[anchor.name] = np.asarray(quantity, dtype=np.float64)
    return computed


def _notes(table: Table) -> list[str]:
    """Where rows were counted on a grid: what that may have changed."""
    if table.pair is None or table.keeps_rows:
        return []
    off = f"the error is at most {table.off:.1g}" if table.off else "nothing is lost by that"
    return [
        f"more than {COUNTED_ABOVE:,} rows: AUROC, AURC, E-AURC and accuracy at coverages are computed from counts of "
        f"{table.pair.number}s in {table.grid.size:,} narrow cells ({off}); the edges of bins that follow the rows "
        "(ACE, adaptive ECE) lie between cells"
    ]


def _slicing(
    table: Table, census: Census, anchors: Anchors, options: IntervalOptions, advance: Callable[[int], None]
) -> list[list[Figure]]:
    """All figures of a slicing; `advance` is told how many slices are done."""
    if census.rows == 0 and not census.by:
        return [[_empty(s) for s in table.statistics]]
    slicing = _Slicing(table, census, anchors, options)
    by_name = slicing.counted_figures(advance)
    others = [s for s in table.statistics if s.name not in by_name]
    numbers = max(1, sum(_numbers(s, anchors) for s in others) * options.replicates)
    step = max(1, _MOST_NUMBERS // numbers)
    for start in range(0, len(census.values) if others else 0, step):
        some = range(start, min(start + step, len(census.values)))
        for name, figures in slicing.figures(others, some).items():
            by_name.setdefault(name, []).extend(figures)
        if table.pair is None:
            advance(len(some))
    return [[by_name[s.name][code] for s in table.statistics] for code in range(len(census.values))]


def _numbers(statistic: AnyStatistic, anchors: Anchors) -> int:
    if isinstance(statistic, RowStatistic):
        return 1
    bins = 1 if statistic.bins is None else len(statistic.bins.resolve(anchors)) - 1
    return bins * (len(statistic.sums) + len(statistic.interval_sums))


def _empty(statistic: AnyStatistic) -> Figure:
    return Figure(
        statistic.name,
        statistic.label,
        float("nan"),
        0,
        absent="no rows",
        direction=statistic.direction,
        range=statistic.range,
    )


@dataclass(frozen=True)
class _Sums:
    """The sums of one statistic in one slice, and their replicates where they are resampled."""

    points: list[Floats]
    replicates: list[Floats] | None

    @classmethod
    def by_slice(cls, statistic: Statistic, layout: Layout, summed: Summed) -> list[_Sums]:
        replicates = summed.replicates
        return [
            cls.of(statistic, layout, [p[at] for p in summed.points], replicates and [r[at] for r in replicates])
            for at in range(len(summed.points[0]))
        ]

    @classmethod
    def of(
        cls, statistic: Statistic, layout: Layout, points: Sequence[Floats], replicates: Sequence[Floats] | None
    ) -> _Sums:
        """Of one slice, from the sums of each binning."""
        which, columns = layout.pick(statistic)
        drawn = None if replicates is None else columns_of(replicates[which], columns, statistic)
        return cls(columns_of(points[which], columns, statistic), drawn)


@dataclass(frozen=True)
class _Contributions:
    """What every row adds to a statistic's sums: its bin, its values, and the number of the unit it belongs to."""

    bins: Indexes
    values: Floats
    owners: Indexes


@dataclass(frozen=True)
class _Slicing:
    """What all figures of one slicing share."""

    table: Table
    census: Census
    anchors: Anchors
    options: IntervalOptions

    def figures(self, statistics: Sequence[AnyStatistic], chosen: range) -> dict[str, list[Figure]]:
        """By name: the figure of each of the chosen slices."""
        by_name: dict[str, list[Figure]] = {}
        for alike in self._alike(statistics):
            by_name.update(self._figures_of_sums(alike, chosen))
        for together in row_groups(statistics):
            by_name.update(row_figures(self.table, self.census, chosen, together, self.options))
        return by_name

    # -- very many rows --------------------------------------------------------------------------------------

    def counted_figures(self, advance: Callable[[int], None]) -> dict[str, list[Figure]]:
        """By name: the figures of all slices that follow from rows counted on a grid, where there are so many rows."""
        table, census = self.table, self.census
        if table.pair is None:
            return {}
        ordered = [s for s in table.statistics if isinstance(s, RowStatistic) and s.on_grid]
        summed = [s for s in table.statistics if isinstance(s, Statistic) and self._follows(s, ordered[0])]
        alike_rows = dict.fromkeys((s.columns for s in summed), ordered[0].columns)
        layout = Layout.of(summed, self.anchors, self.options.method != "none", alike_rows)
        points = sum_once(table, census, layout) if summed else []
        closed = [s for s in summed if self._is_closed(s) and self.options.method != "none"]
        drawn = [s for s in summed if s not in closed]
        by_name: dict[str, list[Figure]] = {s.name: [] for s in drawn}
        of_order = SettledFigures(census, ordered, self.options.level, table.off_by)
        mixed = None if table.counts is None or table.counts.held is None else table.counts.mixed
        crowded: list[int] = []
        by_name |= {s.name: [] for s in closed}
        exact: dict[str, list[Figure]] = {}
        if table.keeps_rows:
            without_intervals = replace(self.options, method="none")
            exact = row_figures(table, census, range(len(census.values)), ordered, without_intervals)
        of_cells = table.columns_of_cells([column for column, _ in layout.columns] if closed else [])
        for some, counted_in in counted_slices(table, census):
            alike: list[tuple[Floats, Floats]] = []
            draws = self._draws(layout, counted_in, some, ordered[0])
            for at, code in enumerate(some):
                rows = counted_in(at)
                if census.by and is_crowded(rows, mixed):
                    crowded.append(code)
                own = [of_binning[code] for of_binning in points]
                resampled = draws(at, rows)
                self._add_drawn(by_name, drawn, layout, own, code, resampled)
                known = [np.asarray(exact[s.name][code].value) for s in ordered] if exact else None
                self._add_ordered(of_order, rows, code, resampled, known)
                if closed:
                    values, number = like_units(rows, of_cells)
                    # Nothing is seen to vary among rows that are all alike, and their mean is no cell's middle.
                    alike.append((_column_sums(layout, own) / number if len(number) == 1 else values, number))
                advance(1)
            if closed:
                for name, figures in self._closed_figures(closed, some, layout, points, alike).items():
                    by_name[name] += figures
        by_order = of_order.by_name()
        for code in crowded:
            # The grid does for the run and not for this slice: its rows are looked at one by one.
            for name, of_rows in row_figures(table, census, range(code, code + 1), ordered, self.options).items():
                by_order[name][code] = of_rows[0]
        return by_name | by_order

    def _follows(self, statistic: Statistic, ordered: RowStatistic) -> bool:
        """Whether a figure's sums follow from the counted rows: it looks at all of them and at nothing else."""
        closed = self.options.method == "auto" and has_closed_form(statistic)
        # What a cluster adds is no function of the two columns; and rows that are kept tell it themselves.
        if closed and (self.table.clustered or self.table.keeps_rows):
            return False
        if not tells(self.table, statistic):
            return False
        # Fewer columns can only score more rows: with as many, they are the same.
        return all(self.census.n(statistic, value) == self.census.n(ordered, value) for value in self.census.values)

    def _draws(
        self, layout: Layout, counted_in: Callable[[int], Counted], some: range, ordered: RowStatistic
    ) -> Callable[[int, Counted], Resampled]:
        """Of each slice, by its place among some: its stretches, and how much each weighs in every replicate."""
        table, census, options = self.table, self.census, self.options
        wanted = [not self._absent(ordered, code) for code in some]
        edges = [edges for _, edges in layout.bins if edges is not None]
        nothing: Resampled = (None, None)
        if not any(wanted):
            return lambda at, rows: nothing
        if not table.clustered:

            def one(at: int, rows: Counted) -> Resampled:
                if not wanted[at]:
                    return nothing
                stretches = Stretches(rows, edges)
                return stretches, self._poisson.of(stretches.weight)

            return one
        groups = GroupedDraws(table, Drawing.bootstrap(options))
        slices = {at: Stretches(counted_in(at), edges) for at in range(len(some)) if wanted[at]}
        by_slice = groups.by_slice(census, some, slices)
        return lambda at, rows: by_slice(at)

    @cached_property
    def _poisson(self) -> PoissonDraws:
        return PoissonDraws(Drawing.bootstrap(self.options))

    def _add_drawn(
        self,
        by_name: dict[str, list[Figure]],
        statistics: Sequence[Statistic],
        layout: Layout,
        points: Sequence[Floats],
        code: int,
        resampled: Resampled,
    ) -> None:
        stretches, draws = resampled
        replicates = None
        if stretches is not None and draws is not None:
            replicates = replicated(self.table, stretches, draws, layout, self._resampled_columns(layout), points)
        kind = "cluster bootstrap" if self.table.clustered else "bootstrap"
        for s in statistics:
            sums = _Sums.of(s, layout, points, replicates)
            value = finished(s, sums.points, self.anchors)
            absent = why_infinite(s, value) or self._absent(s, code)
            by_name[s.name].append(self._figure(s, code, sums, value, absent, None, kind))

    def _resampled_columns(self, layout: Layout) -> list[set[int]]:
        """By binning: the columns of which some interval is made by resampling."""
        needed: list[set[int]] = [set() for _ in layout.bins]
        for s in layout.statistics:
            if not self._is_closed(s) and not (s.vector and self.census.by):
                which, columns = layout.pick(s)
                needed[which].update(columns[: len(s.sums)])
        return needed

    def _add_ordered(
        self, figures: SettledFigures, rows: Counted, code: int, resampled: Resampled, known: list[Floats] | None
    ) -> None:
        """`known`: the figures of the rows themselves, where these are kept."""
        statistics = figures.statistics
        pair, of_slice = self.table.pair, self.census.values[code]
        assert pair is not None
        n = self.census.n(statistics[0], of_slice)
        values: list[Floats] = [np.empty(0) if s.vector else np.asarray(float("nan")) for s in statistics]
        if known is not None:
            values = known
        elif n:
            values = WeightedRows(RowStates(statistics, rows.columns(pair)), rows.weight).values
        stretches, draws = resampled
        spreads: dict[str, Floats] = {}
        if stretches is not None and draws is not None:
            shown = [
                s
                for s in statistics
                if not (s.vector and self.census.by) and not needs_no_replicates(s, self.options, self.table.clustered)
            ]
            states = RowStates(shown, {pair.number: stretches.number, pair.flag: stretches.flag})
            own = {s.name: value for s, value in zip(statistics, values, strict=True)}
            moved = (
                (s, drawn[1:] + (own[s.name] - drawn[0])) for s, drawn in zip(shown, states.values(draws), strict=True)
            )
            spreads = {s.name: np.clip(spread, *s.range) for s, spread in moved}
        kind = "cluster bootstrap" if self.table.clustered else "bootstrap"
        units = self.census.independent(statistics[0], of_slice)
        for i, s in enumerate(statistics):
            absent = self._absent(s, code)
            interval: Interval | Pending = Interval(absent=absent)
            there = SliceRows(n, units, None if s.kinds is None else rows.kinds)
            by_kinds = not absent and needs_no_replicates(s, self.options, self.table.clustered)
            if (by_kinds or s.name in spreads) and self.table.off > TOO_COARSE:
                interval = Interval(absent=f"the order within cells of the grid may change it by {self.table.off:.1g}")
            elif s.name in spreads:
                interval = row_interval(s, there, values[i], spreads[s.name], self.options, kind)
            elif by_kinds:
                interval = area_of_rows(there, values[i])
            figures.add(s, code, np.asarray(values[i]), interval)

    def _closed_figures(
        self,
        statistics: Sequence[Statistic],
        some: range,
        layout: Layout,
        points: Sequence[Floats],
        alike: Sequence[tuple[Floats, Floats]],
    ) -> dict[str, list[Figure]]:
        """Figures whose intervals need no resampling, of some slices at once."""
        sizes = [len(number) for _, number in alike]
        units = Units(
            np.repeat(np.arange(len(some)), sizes),
            np.arange(sum(sizes), dtype=np.uint64),
            np.concatenate([values for values, _ in alike]),
            np.concatenate([number for _, number in alike]),
            0,
        )
        summed = Summed([of_binning[some.start : some.stop] for of_binning in points], None, units)
        return self._made(statistics, some, layout, summed, True, "bootstrap")

    # -- all others ------------------------------------------------------------------------------------------

    def _is_closed(self, statistic: Statistic) -> bool:
        return self.options.method == "auto" and has_closed_form(statistic)

    def _alike(self, statistics: Sequence[AnyStatistic]) -> list[list[Statistic]]:
        """Figures that are summed in the same way."""
        ways: dict[Any, list[Statistic]] = {}
        for s in statistics:
            if isinstance(s, Statistic):
                closed = self._is_closed(s)
                ways.setdefault((closed, self.table.discrete(s), s.bins if closed else None), []).append(s)
        return list(ways.values())

    def _figures_of_sums(self, statistics: Sequence[Statistic], chosen: range) -> dict[str, list[Figure]]:
        """By name: the figure of each chosen slice, of statistics that are summed in the same way."""
        discrete, closed = self.table.discrete(statistics[0]), self._is_closed(statistics[0])
        options = self.options if not closed and self.options.method != "none" else None
        layout = Layout.of(statistics, self.anchors, options is not None, self.census.alike)
        summed = sum_distinct(self.table, self.census, chosen, layout, options) if discrete else None
        kind = "multinomial"
        if summed is None:
            drawing = None if options is None else Drawing.bootstrap(options)
            with_units = closed and any(needs_units(s, self.table) for s in statistics)
            summed = sum_rows(self.table, self.census, chosen, layout, drawing, with_units)
            kind = "cluster bootstrap" if self.table.clustered else "bootstrap"
        return self._made(statistics, chosen, layout, summed, closed, kind)

    def _made(
        self,
        statistics: Sequence[Statistic],
        chosen: range,
        layout: Layout,
        summed: Summed,
        closed: bool,
        kind: str,
    ) -> dict[str, list[Figure]]:
        """By name: the figure of each chosen slice, from its sums."""
        intervals = None
        if closed:
            intervals = ClosedIntervals(self.table, self.census, chosen, layout, summed, self.options.level)
        figures = {}
        for s in statistics:
            by_slice = _Sums.by_slice(s, layout, summed)
            values = [finished(s, sums.points, self.anchors) for sums in by_slice]
            absences = [why_infinite(s, v) or self._absent(s, code) for code, v in zip(chosen, values, strict=True)]
            made: list[Interval | None] = [None] * len(values)
            if intervals is not None:
                points = [np.stack([sums.points[j] for sums in by_slice]) for j in range(len(s.sums))]
                made = list(intervals.of(s, np.stack(values), points))
            figures[s.name] = [
                self._figure(s, code, sums, value, absent, interval, kind)
                for code, sums, value, absent, interval in zip(chosen, by_slice, values, absences, made, strict=True)
            ]
        return figures

    def _absent(self, statistic: AnyStatistic, code: int) -> str:
        of_slice = self.census.values[code]
        absent = why_no_interval(
            self.options, self.census.n(statistic, of_slice), self.census.clusters(statistic, of_slice)
        )
        return absent or (CURVE_OF_A_SLICE if statistic.vector and self.census.by else "")

    def _figure(
        self, statistic: Statistic, code: int, sums: _Sums, value: Floats, absent: str, made: Interval | None, kind: str
    ) -> Figure:
        if absent:
            interval = Interval(absent=absent)
        elif made is not None:
            interval = made
        else:
            interval = self._resampled(statistic, code, sums, value, kind)
        if statistic.out_of:
            total = float(sums.points[len(statistic.sums) - 1])
            shown = int(total) if total.is_integer() else total
            interval = replace(interval, beside={**interval.beside, statistic.out_of: shown})
        return self.census.figure(statistic, self.census.values[code], value, interval)

    def _resampled(self, statistic: Statistic, code: int, sums: _Sums, value: Floats, kind: str) -> Interval:
        if sums.replicates is None:
            return Interval()
        level = self.options.level
        if statistic.interval is not None:
            units = self.census.independent(statistic, self.census.values[code])
            own = statistic.interval(sums.points, sums.replicates, level=level, seed=self.options.seed, units=units)
            if own.absent:
                return Interval(absent=own.absent, beside=dict(own.beside))
            return Interval(own.low, own.high, own.method, beside=dict(own.beside))
        spread = finished(statistic, sums.replicates, self.anchors)
        if self.options.method == "bca":
            left_out = self._leave_one_out(statistic, sums.points, self._contributions(statistic, code))
            ends, method = bca(value, spread, acceleration(left_out), level), "bca"
        else:
            ends, method = percentile(spread, level), "percentile"
        return Interval.of_ends(ends, f"{kind}, {method}")

    def _contributions(self, statistic: Statistic, code: int) -> _Contributions:
        """What every row of a slice contributes (for leaving clusters out)."""
        table, layout = self.table, Layout.of([statistic], self.anchors, resampled=False)
        values, bins, owners = [], [], []
        for batch in table.batches(layout.inputs_by_unit(table, self.census)):
            codes = self.census.codes(batch)
            if codes is not None:
                batch = batch.filter(pl.Series(codes == code))
            columns, indexes = layout.read(batch, table.weight_scale)
            picked = [columns[layout.columns.index((c, statistic.columns))] for c in statistic.sums]
            values.append(as_matrix(picked, len(batch)))
            index = indexes[0]
            bins.append(np.zeros(len(batch), dtype=np.intp) if index is None else index)
            if table.clustered and table.cluster:
                owners.append(hash_ids(batch[table.cluster]))
        matrix, index = np.concatenate(values), np.concatenate(bins)
        if owners:
            _, owner = np.unique(np.concatenate(owners), return_inverse=True)
        else:
            owner = np.arange(len(matrix))
        return _Contributions(index, matrix, owner)

    def _leave_one_out(self, statistic: Statistic, sums: Sequence[Floats], rows: _Contributions) -> Floats:
        """The statistic with each cluster left out in turn."""
        owners = int(rows.owners.max()) + 1 if len(rows.owners) else 0
        width = rows.values.shape[1]
        bins = 1 if statistic.bins is None else sums[0].shape[-1]
        order = np.argsort(rows.owners, kind="stable")
        index, matrix, owner = rows.bins[order], rows.values[order], rows.owners[order]
        values = []
        step = max(1, 4_000_000 // (bins * width))
        for start in range(0, owners, step):
            stop = min(start + step, owners)
            a, b = np.searchsorted(owner, [start, stop])
            cell = (owner[a:b] - start) * bins + index[a:b]
            remaining = []
            for j in range(width):
                part = np.bincount(cell, weights=matrix[a:b, j], minlength=(stop - start) * bins)
                part = part.reshape(stop - start, bins)
                remaining.append(np.asarray(sums[j]) - (part if statistic.bins is not None else part[:, 0]))
            values.append(finished(statistic, remaining, self.anchors))
        return np.concatenate(values)


def _column_sums(layout: Layout, points: Sequence[Floats]) -> Floats:
    """The sums of all columns over one slice, as one line, from those of each binning."""
    sums = np.zeros((1, len(layout.columns)))
    for columns, point in zip(layout.columns_by_binning, points, strict=True):
        sums[0, columns] = point.sum(axis=0)
    return sums


def finished(statistic: Statistic, sums: Sequence[Floats], anchors: Anchors) -> Floats:
    """What the statistic makes of its sums; those that only its interval needs may follow them."""
    extra = {"anchors": anchors} if statistic.anchors else {}
    return np.asarray(statistic.finish(*sums[: len(statistic.sums)], **extra), dtype=np.float64)


def columns_of(sums: Floats, columns: Sequence[int], statistic: Statistic) -> list[Floats]:
    """Some columns (last axis) of sums by bin; a statistic without bins gets no axis of bins."""
    return [sums[..., c] if statistic.bins is not None else sums[..., 0, c] for c in columns]
