"""Sums over rows, by slice and bin, and their bootstrap replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.stages import SUMMING, at_work
from sensecheck.statistics.arrays import U64, Flags, Floats, Indexes, Ints
from sensecheck.statistics.binning import bin_index
from sensecheck.statistics.census import Census
from sensecheck.statistics.exact import ExactSums
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.resample import Drawing, ReplicateSums, multinomial_counts, on_grid, replicate_sums
from sensecheck.statistics.statistic import ONE, Anchors, Bins, Statistic
from sensecheck.statistics.table import MAX_DISTINCT, Table, added_up, is_defined, lacks
from sensecheck.statistics.units import RandomGroups, UnitRows, Units, as_matrix, within_units

_MOST_DRAWN = 20_000_000
"""How often distinct rows were drawn in replicates, in numbers held at a time."""


@dataclass
class Layout:
    """Which columns are summed, with which rows masked, kept apart by which bins."""

    statistics: list[Statistic]
    bins: list[tuple[Bins | None, Floats | None]]
    columns: list[tuple[str, tuple[str, ...]]]
    resampled: bool = True
    """Whether intervals are made, and so the sums that only they need."""
    alike: Mapping[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    """Sets of needed columns that leave out the same rows as another one, which then stands for them."""

    @classmethod
    def of(
        cls,
        statistics: Sequence[Statistic],
        anchors: Anchors,
        resampled: bool = True,
        alike: Mapping[tuple[str, ...], tuple[str, ...]] | None = None,
    ) -> Layout:
        bins: list[tuple[Bins | None, Floats | None]] = []
        # Of alike sets, the one that stands for the others is one that is read here anyway.
        standing: dict[tuple[str, ...], tuple[str, ...]] = {}
        masks = {s.columns: standing.setdefault((alike or {}).get(s.columns, s.columns), s.columns) for s in statistics}
        layout = cls(list(statistics), bins, [], resampled, masks)
        for s in statistics:
            if s.bins not in [b for b, _ in bins]:
                bins.append((s.bins, None if s.bins is None else s.bins.resolve(anchors)))
            layout.columns.extend(layout.key(c, s) for c in layout.sums_of(s))
        layout.columns = list(dict.fromkeys(layout.columns))
        return layout

    def key(self, column: str, statistic: Statistic) -> tuple[str, tuple[str, ...]]:
        return column, self.alike.get(statistic.columns, statistic.columns)

    def sums_of(self, statistic: Statistic) -> tuple[str, ...]:
        return (*statistic.sums, *(statistic.interval_sums if self.resampled else ()))

    def sizes(self) -> list[int]:
        """How many bins each binning has."""
        return [1 if edges is None else len(edges) - 1 for _, edges in self.bins]

    @cached_property
    def columns_by_binning(self) -> list[list[int]]:
        """The columns that are summed within each binning."""
        used: dict[Bins | None, set[tuple[str, tuple[str, ...]]]] = {bins: set() for bins, _ in self.bins}
        for s in self.statistics:
            used[s.bins].update(self.key(c, s) for c in self.sums_of(s))
        return [[i for i, c in enumerate(self.columns) if c in used[bins]] for bins, _ in self.bins]

    def pick(self, statistic: Statistic) -> tuple[int, list[int]]:
        """The binning of a statistic, and the places of its sums among the columns of that binning."""
        return self._picked[statistic.name]

    @cached_property
    def _picked(self) -> dict[str, tuple[int, list[int]]]:
        binnings = {bins: which for which, (bins, _) in enumerate(self.bins)}
        places = [{self.columns[c]: at for at, c in enumerate(columns)} for columns in self.columns_by_binning]
        return {
            s.name: (which := binnings[s.bins], [places[which][self.key(c, s)] for c in self.sums_of(s)])
            for s in self.statistics
        }

    def read(
        self, batch: pl.DataFrame, weight_scale: float, complete: bool = False
    ) -> tuple[list[NDArray[Any] | None], list[Indexes | None]]:
        """The columns to sum (masked and weighted; None: all ones) and the bin of each row for every binning.

        `complete` says that every row is known to be scored and to have every value.
        """
        indexes = [
            None if bins is None or edges is None else bins_of(batch, bins.column, edges, complete)
            for bins, edges in self.bins
        ]
        return self.values(batch, weight_scale, complete), indexes

    def values(self, batch: pl.DataFrame, weight_scale: float, complete: bool) -> list[NDArray[Any] | None]:
        scored = batch["scored"].to_numpy() if "scored" in batch.columns and not complete else None
        if scored is not None and scored.all():
            scored = None
        weight = batch["weight"].to_numpy().astype(np.float64) * weight_scale if "weight" in batch.columns else None
        masks: dict[tuple[str, ...], Flags | None] = {}
        for _, needed in self.columns:
            if needed not in masks:
                masks[needed] = None if complete else _mask(batch, needed, scored)
        values: list[NDArray[Any] | None] = []
        for column, needed in self.columns:
            mask = masks[needed]
            if column == ONE and mask is None and weight is None:
                values.append(None)
                continue
            if column == ONE:
                x: NDArray[Any] = np.ones(len(batch), dtype=bool) if mask is None else mask
            else:
                series = batch[column]
                if series.null_count():
                    series = series.fill_null(False if series.dtype == pl.Boolean else 0)
                x = series.to_numpy()
                if mask is not None:
                    x = np.where(mask, x, np.zeros((), dtype=x.dtype))
            values.append(x if weight is None else x.astype(np.float64) * weight)
        return values

    def inputs(self) -> list[str]:
        """The measurement columns that all this is read from."""
        needed = [c for s in self.statistics for c in (*s.columns, *(c for c in self.sums_of(s) if c != ONE))]
        return list(dict.fromkeys([*needed, "scored", "weight"]))

    def inputs_by_unit(self, table: Table, census: Census) -> list[str]:
        """The same with what tells slices and units apart."""
        return [*self.inputs(), *census.by, *([table.cluster] if table.cluster else [])]


def bins_of(batch: pl.DataFrame, column: str, edges: Floats, complete: bool) -> Indexes:
    series = batch[column]
    if series.dtype != pl.Float64:
        series = series.cast(pl.Float64)
    # Rows without a value have all their sums masked to zero: the bin they fall in does not matter.
    if not complete and lacks(batch, column):
        series = series.fill_null(0.0).fill_nan(0.0)
    return bin_index(series.to_numpy(), edges)


def _mask(batch: pl.DataFrame, needed: tuple[str, ...], scored: Flags | None) -> Flags | None:
    missing = [c for c in needed if lacks(batch, c)]
    if not missing:
        return scored
    defined = batch.select(pl.all_horizontal([is_defined(c, batch.schema) for c in missing])).to_series().to_numpy()
    return defined if scored is None else defined & scored


@dataclass
class Summed:
    """Sums of the chosen slices: points, and replicates where there are any; by binning, then slice × bin."""

    points: list[Floats]
    replicates: list[Floats] | None
    units: Units | None = None


def sum_rows(
    table: Table,
    census: Census,
    chosen: range,
    layout: Layout,
    drawing: Drawing | None,
    with_units: bool = False,
    groups: int | None = None,
) -> Summed:
    """Sums over rows; replicates by weights drawn from the rows' or clusters' ids, where there is a drawing.

    `groups`: into how many random groups units are put, where another table's must be the same.
    """
    slices, sizes, used = len(chosen), layout.sizes(), layout.columns_by_binning
    points = [ExactSums.zeros(slices * size, len(columns)) for size, columns in zip(sizes, used, strict=True)]
    resampled = None if drawing is None else _ResampledRows(table, layout, slices, drawing, groups)
    by_unit = _RowsByUnit(table, layout, slices, groups) if with_units else None
    for batch in table.batches(layout.inputs_by_unit(table, census)):
        codes, batch = census.within(batch, chosen)
        if not len(batch):
            continue
        columns, indexes = layout.read(batch, table.weight_scale, census.complete)
        for i, index in enumerate(indexes):
            cell = index
            if codes is not None:
                cell = codes if index is None else codes * sizes[i] + index
            points[i].add(cell, [columns[j] for j in used[i]], len(batch))
        for collected in (resampled, by_unit):
            if collected is not None:
                collected.add(batch, codes, columns, indexes)
    # A power of two: the way back to the weights' own unit loses nothing.
    unit = 1 / table.weight_scale
    return Summed(
        [sums.floats().reshape(slices, size, -1) * unit for sums, size in zip(points, sizes, strict=True)],
        None if resampled is None else [sums * unit if unit != 1 else sums for sums in resampled.floats()],
        None if by_unit is None else by_unit.units(),
    )


def sum_once(table: Table, census: Census, layout: Layout) -> list[Floats]:
    """Sums over the rows of all slices, by binning, slice and bin: in one pass, whatever the number of binnings.

    The bins of all binnings together cut the rows into finer ones, whose sums are exact and so may be put together.
    """
    slices = len(census.values)
    named = [(bins.column, edges) for bins, edges in layout.bins if bins is not None and edges is not None]
    number = named[0][0] if named else None
    assert all(column == number for column, _ in named)
    finest = np.unique(np.concatenate([[0.0, 1.0], *(edges for _, edges in named)]))
    size = len(finest) - 1 if named else 1
    summed = tuple(layout.columns), finest.tobytes() if named else b""
    if not census.by and summed in table.sums:
        of_slices = table.sums[summed]
        blocks = len(of_slices.high) // size
        sums = of_slices.added_up(np.tile(np.arange(size), blocks), size)
    else:
        sums = table.sums[summed] = _summed_once(table, census, layout, number, finest, size)
    points = []
    unit = 1 / table.weight_scale
    for (_, edges), bins, used in zip(layout.bins, layout.sizes(), layout.columns_by_binning, strict=True):
        target = np.zeros(size, dtype=np.intp) if edges is None else bin_index(finest[:-1], edges)
        merged = sums.added_up(target, bins, slices)
        points.append(merged.floats().reshape(slices, bins, -1)[:, :, used] * unit)
    return points


def _summed_once(
    table: Table, census: Census, layout: Layout, number: str | None, finest: Floats, size: int
) -> ExactSums:
    slices = len(census.values)
    sums = ExactSums.zeros(slices * size, len(layout.columns))
    everywhere = range(slices)
    needed = {columns for _, columns in layout.columns}
    # Where all figures look at the same rows, others are left out before anything is computed of them.
    whole = census.complete or len(needed) == 1
    inputs = [c for c in layout.inputs() if c not in ("scored", "weight")]
    read = [*layout.inputs(), *census.by]
    batches = table.scored(inputs, census.by) if whole and not census.complete else table.batches(read)
    # Once for every slicing: the sums of all rows follow.
    advance = at_work(SUMMING, table.measurements.height * max(1, len(table.slices)), "rows")
    for batch in batches:
        codes, batch = census.within(batch, everywhere)
        columns = layout.values(batch, table.weight_scale, whole)
        cell = None if number is None else bins_of(batch, number, finest, whole)
        if codes is not None:
            cell = codes if cell is None else codes * size + cell
        sums.add(cell, columns, len(batch))
        advance(len(batch))
    return sums


class _RowsByUnit:
    """Rows with the unit that each belongs to, batch by batch, for every binning at once."""

    def __init__(self, table: Table, layout: Layout, slices: int, groups: int | None = None) -> None:
        self.table = table
        self.slices = slices
        self.sizes = layout.sizes()
        self.groups = table.groups(slices * sum(self.sizes)) if groups is None else groups
        self.gathered = RandomGroups(self.groups, slices * prod(self.sizes))
        self.rows = 0
        self.columns = len(layout.columns)

    def add(
        self,
        batch: pl.DataFrame,
        codes: Indexes | None,
        columns: Sequence[NDArray[Any] | None],
        indexes: Sequence[Indexes | None],
    ) -> None:
        cluster, rows = self.table.cluster, len(batch)
        ids = hash_ids(batch[cluster] if cluster else pl.Series(np.arange(self.rows, self.rows + rows)))
        self.rows += rows
        # Slice and bins in one number: bins of one column are nested or interleaved, so few of them occur.
        code = np.zeros(rows, dtype=np.int64) if codes is None else codes.astype(np.int64)
        for size, index in zip(self.sizes, indexes, strict=True):
            code = code * size + (0 if index is None else index)
        self.keep(ids, code, columns)

    def keep(self, ids: U64, code: Ints, columns: Sequence[NDArray[Any] | None]) -> None:
        self.gathered.add(ids, code, columns)

    def units(self) -> Units:
        if not self.gathered.rows:
            nothing = np.empty(0)
            return Units(
                nothing.astype(np.int64), nothing.astype(np.uint64), np.empty((0, self.columns)), nothing, self.groups
            )
        ids, code, values = self.gathered.all()
        return Units(code, ids, values / self.table.weight_scale, np.ones(len(ids)), self.groups)


class _ResampledRows(_RowsByUnit):
    """The replicates of the sums of rows."""

    def __init__(self, table: Table, layout: Layout, slices: int, drawing: Drawing, groups: int | None = None) -> None:
        super().__init__(table, layout, slices, groups)
        self.drawing = drawing
        self.used = layout.columns_by_binning
        self.sums = [
            ReplicateSums.zeros(slices * size, drawing.replicates, len(columns))
            for size, columns in zip(self.sizes, self.used, strict=True)
        ]

    def keep(self, ids: U64, code: Ints, columns: Sequence[NDArray[Any] | None]) -> None:
        if self.groups:
            super().keep(ids, code, columns)
            return
        units = UnitRows(ids, code, on_grid(as_matrix(columns, len(ids))))
        self._resample(within_units(units) if self.table.clustered else units)

    def _resample(self, units: UnitRows) -> None:
        """Add weighted sums to every binning at once: the weights, which cost most, are drawn once a row."""
        distinct, segment = np.unique(units.code, return_inverse=True)
        local = replicate_sums(units.ids, segment.astype(np.intp), units.values, self.drawing, len(distinct))
        below = prod(self.sizes)
        slices = distinct // below
        for sums, size, columns in zip(self.sums, self.sizes, self.used, strict=True):
            below //= size
            target = slices * size + distinct // below % size
            for s, cell in enumerate(target.tolist()):
                sums.units[cell] += local.units[s][:, columns]

    def floats(self) -> list[Floats]:
        """By binning: slices × replicates × bins × columns."""
        if self.groups and self.gathered.rows:
            self._resample(self.gathered.all())
        return [
            sums.floats().reshape(self.slices, size, self.drawing.replicates, -1).transpose(0, 2, 1, 3)
            for sums, size in zip(self.sums, self.sizes, strict=True)
        ]


def sum_distinct(
    table: Table, census: Census, chosen: range, layout: Layout, options: IntervalOptions | None
) -> Summed | None:
    """Sums over distinct rows; replicates by an exact multinomial over them, where there are options.

    None where the rows are too many for that, as few of them are equal.
    """
    slices, sizes, used = len(chosen), layout.sizes(), layout.columns_by_binning
    counts_of_batches = _distinct_by_batch(table, census, layout, options.replicates if options else 1)
    if counts_of_batches is None:
        return None
    distinct, slice_of = _distinct_rows(counts_of_batches, table, census, chosen, layout)
    columns, indexes = layout.read(distinct.drop("len"), table.weight_scale)
    counts = distinct["len"].to_numpy().astype(np.int64)
    matrix = as_matrix(columns, len(distinct)) / table.weight_scale
    points, replicates = [], []
    code = slice_of.astype(np.int64)
    for size, index in zip(sizes, indexes, strict=True):
        code = code * size + (0 if index is None else index)
    # A row's place among the distinct rows names it well enough: equal rows stand for as many units as they are.
    units = Units(code, np.arange(len(code), dtype=np.uint64), matrix, counts.astype(np.float64), 0)
    for size, summed in zip(sizes, used, strict=True):
        points.append(np.zeros((slices, size, len(summed))))
        if options:
            replicates.append(np.zeros((slices, options.replicates, size, len(summed))))
    for s in range(slices):
        of_slice = np.flatnonzero(slice_of == s)
        stream = "multinomial:" + "\x1f".join([*census.by, *map(str, census.values[chosen[s]])])
        draws = multinomial_counts(counts[of_slice], options.replicates, options.seed, stream) if options else None
        for i, index in enumerate(indexes):
            for b in range(sizes[i]):
                of_bin = of_slice if index is None else of_slice[index[of_slice] == b]
                if not len(of_bin):
                    continue
                x = matrix[of_bin][:, used[i]]
                points[i][s, b] = counts[of_bin] @ x
                if draws is not None:
                    of_bin_draws = draws if index is None else draws[:, np.flatnonzero(index[of_slice] == b)]
                    replicates[i][s, :, b] = of_bin_draws @ x
    return Summed(points, replicates if options else None, units)


def _distinct_by_batch(table: Table, census: Census, layout: Layout, replicates: int) -> list[pl.DataFrame] | None:
    """Tables that count (`len`) the distinct rows, several of them the same; None where there are too many."""
    groups = [c for c in dict.fromkeys([*census.by, *layout.inputs()]) if c in table.schema]
    counts: list[pl.DataFrame] = []
    most = min(MAX_DISTINCT, max(1, _MOST_DRAWN // replicates))
    for batch in table.distinct_by_batch(groups) if census.cross is None else [census.cross]:
        counts.append(batch)
        if sum(map(len, counts)) > most:
            counts = [added_up(counts, groups)]
            if len(counts[0]) > most:
                return None
    return counts


def _distinct_rows(
    counts: Sequence[pl.DataFrame], table: Table, census: Census, chosen: range, layout: Layout
) -> tuple[pl.DataFrame, Indexes]:
    """The distinct rows of the chosen slices with how often each occurs (`len`), sorted; and the slice of each."""
    keys = [c for c in layout.inputs() if c in table.schema]
    distinct = added_up(counts, list(dict.fromkeys([*census.by, *keys])))
    # Slices are told apart only now, on the few distinct rows.
    codes, distinct = census.within(distinct, chosen)
    distinct = distinct.select([*keys, "len"])
    if codes is not None:
        distinct = distinct.with_columns(pl.Series("_slice", codes))
    names = [c for c in distinct.columns if c != "len"]
    # Sorted, so that the draws fall on the same rows whatever the order of the data.
    distinct = added_up([distinct], names).sort(names)
    if codes is None:
        return distinct, np.zeros(len(distinct), dtype=np.intp)
    return distinct, distinct["_slice"].to_numpy()
