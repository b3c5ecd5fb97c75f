"""Sums over rows, by slice and bin, and their bootstrap replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.arrays import U64, Flags, Floats, Indexes, Ints
from sensecheck.statistics.binning import bin_index
from sensecheck.statistics.census import Census
from sensecheck.statistics.exact import ExactSums
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.resample import Drawing, ReplicateSums, multinomial_counts, on_grid, replicate_sums
from sensecheck.statistics.statistic import ONE, Anchors, Bins, Statistic
from sensecheck.statistics.table import Table, added_up, is_defined, lacks

# Sums of groups × cells have a place each, up to so many.
_MOST_PLACES = 1 << 20


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

    def columns_by_binning(self) -> list[list[int]]:
        """The columns that are summed within each binning."""
        return [self._columns_of(bins) for bins, _ in self.bins]

    def _columns_of(self, bins: Bins | None) -> list[int]:
        used = {self.key(c, s) for s in self.statistics if s.bins == bins for c in self.sums_of(s)}
        return [i for i, c in enumerate(self.columns) if c in used]

    def pick(self, statistic: Statistic) -> tuple[int, list[int]]:
        """The binning of a statistic, and the places of its sums among the columns of that binning."""
        columns = self._columns_of(statistic.bins)
        places = [columns.index(self.columns.index(self.key(c, statistic))) for c in self.sums_of(statistic)]
        return [b for b, _ in self.bins].index(statistic.bins), places

    def read(
        self, batch: pl.DataFrame, weight_scale: float, complete: bool = False
    ) -> tuple[list[NDArray[Any] | None], list[Indexes | None]]:
        """The columns to sum (masked and weighted; None: all ones) and the bin of each row for every binning.

        `complete` says that every row is known to be scored and to have every value.
        """
        indexes = [
            None if bins is None or edges is None else _bins_of(batch, bins.column, edges, complete)
            for bins, edges in self.bins
        ]
        return self._values(batch, weight_scale, complete), indexes

    def _values(self, batch: pl.DataFrame, weight_scale: float, complete: bool) -> list[NDArray[Any] | None]:
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


def _bins_of(batch: pl.DataFrame, column: str, edges: Floats, complete: bool) -> Indexes:
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


def _slices_of(rows: pl.DataFrame, census: Census, chosen: range) -> tuple[Indexes | None, Flags | None]:
    """The slices of rows, counted from the first chosen one, and which rows belong to a chosen slice at all."""
    codes = census.codes(rows)
    if codes is None or len(chosen) == len(census.values):
        return codes, None
    inside = (codes >= chosen.start) & (codes < chosen.stop)
    return codes - chosen.start, inside


def sum_rows(table: Table, census: Census, chosen: range, layout: Layout, drawing: Drawing | None) -> Summed:
    """Sums over rows; replicates by weights drawn from the rows' or clusters' ids, where there is a drawing."""
    slices, sizes, used = len(chosen), layout.sizes(), layout.columns_by_binning()
    points = [ExactSums.zeros(slices * size, len(columns)) for size, columns in zip(sizes, used, strict=True)]
    resampled = None if drawing is None else _ResampledRows(table, layout, slices, drawing)
    for batch in table.batches(layout.inputs_by_unit(table, census)):
        codes, inside = _slices_of(batch, census, chosen)
        if inside is not None and not inside.all():
            batch, codes = batch.filter(pl.Series(inside)), codes[inside] if codes is not None else None
        if not len(batch):
            continue
        columns, indexes = layout.read(batch, table.weight_scale, census.complete)
        for i, index in enumerate(indexes):
            cell = index
            if codes is not None:
                cell = codes if index is None else codes * sizes[i] + index
            points[i].add(cell, [columns[j] for j in used[i]], len(batch))
        if resampled is not None:
            resampled.add(batch, codes, columns, indexes)
    # A power of two: the way back to the weights' own unit loses nothing.
    unit = 1 / table.weight_scale
    return Summed(
        [sums.floats().reshape(slices, size, -1) * unit for sums, size in zip(points, sizes, strict=True)],
        None if resampled is None else [sums * unit for sums in resampled.floats()],
    )


class UnitRows(NamedTuple):
    """Values to resample: whose each row is, by a hash; which slice and bins it is in, as one number; its columns."""

    ids: U64
    code: Ints
    values: Floats


class _ResampledRows:
    """The replicates of the sums of rows, batch by batch, for every binning at once."""

    def __init__(self, table: Table, layout: Layout, slices: int, drawing: Drawing) -> None:
        self.table = table
        self.slices = slices
        self.drawing = drawing
        self.sizes = layout.sizes()
        self.used = layout.columns_by_binning()
        self.sums = [
            ReplicateSums.zeros(slices * size, drawing.replicates, len(columns))
            for size, columns in zip(self.sizes, self.used, strict=True)
        ]
        groups = table.groups(slices * sum(self.sizes))
        self.grouped = RandomGroups(groups, slices * prod(self.sizes)) if groups else None
        self.rows = 0

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
        if self.grouped is not None:
            self.grouped.add(ids, code, columns)
            return
        units = UnitRows(ids, code, on_grid(as_matrix(columns, rows)))
        self._resample(_within_clusters(units) if self.table.clustered else units)

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
        if self.grouped is not None and self.grouped.rows:
            self._resample(self.grouped.all())
        return [
            sums.floats().reshape(self.slices, size, self.drawing.replicates, -1).transpose(0, 2, 1, 3)
            for sums, size in zip(self.sums, self.sizes, strict=True)
        ]


class RandomGroups:
    """Rows of many clusters, added up in random groups before they are resampled.

    A group is chosen by the hash of the cluster's id, so it is a random union of clusters, and resampling groups is
    as good as resampling clusters: with G groups the standard error is off by 1/√(2G), which for 2,048 and more is
    below what 1,000 replicates leave open. Time and memory then depend on the groups, not on the rows.

    Values lie on a grid on which float64 adds without rounding, so neither order nor kind of keeping shows. While
    groups × cells are few, each has a place of its own; of many, those that occur are kept sorted.
    """

    def __init__(self, groups: int, codes: int) -> None:
        self.groups = groups
        self.parts: list[UnitRows] = []
        self.rows = 0
        # Where the sums of each code are, by the code: −1 for those not seen yet.
        self.places = np.full(codes, -1, dtype=np.intp) if codes <= _MOST_PLACES else None
        self.codes: list[int] = []
        self.sums: list[Floats] = []
        """By place × group, for each column."""
        self.occurs = np.empty(0, dtype=np.bool_)

    def add(self, ids: U64, code: Ints, columns: Sequence[NDArray[Any] | None]) -> None:
        group = ids & np.uint64(self.groups - 1)
        if self.places is None:
            self._add_sorted(UnitRows(group, code, on_grid(as_matrix(columns, len(ids)))))
            return
        place = self.places[code]
        if place.min() < 0:
            fresh = np.unique(code[place < 0])
            if (len(self.codes) + len(fresh)) * self.groups > _MOST_PLACES:
                self._give_up_places()
                self.add(ids, code, columns)
                return
            self.places[fresh] = np.arange(len(self.codes), len(self.codes) + len(fresh))
            self.codes.extend(fresh.tolist())
            place = self.places[code]
        cells = len(self.codes) * self.groups
        if cells > len(self.occurs):
            more = np.zeros(max(cells, 2 * len(self.occurs)) - len(self.occurs), dtype=np.bool_)
            self.occurs = np.concatenate([self.occurs, more])
            empty = np.zeros(len(more))
            self.sums = [np.concatenate([s, empty]) for s in self.sums] or [empty.copy() for _ in columns]
        place *= self.groups
        place += group.view(np.int64)
        self.occurs[place] = True
        for total, column in zip(self.sums, columns, strict=True):
            np.add.at(total, place, 1.0 if column is None else on_grid(column.astype(np.float64, copy=False)))
        self.rows = len(self.codes)

    def _add_sorted(self, units: UnitRows) -> None:
        self.parts.append(_within_clusters(units))
        self.rows += len(self.parts[-1].ids)
        if self.rows > 600_000:
            merged = self.all()
            self.parts, self.rows = [merged], len(merged.ids)

    def _give_up_places(self) -> None:
        """More codes than there is room for: go on with those that occur."""
        if self.codes:
            self.parts = [self._placed()]
            self.rows = len(self.parts[0].ids)
        self.places, self.codes, self.sums = None, [], []
        self.occurs = np.empty(0, dtype=np.bool_)

    def _placed(self) -> UnitRows:
        filled = np.flatnonzero(self.occurs)
        codes = np.asarray(self.codes, dtype=np.int64)
        values = np.stack([total[filled] for total in self.sums], axis=1)
        return UnitRows((filled % self.groups).astype(np.uint64), codes[filled // self.groups], values)

    def all(self) -> UnitRows:
        """One row for every group and cell."""
        if self.places is not None:
            return self._placed()
        ids, code, values = (np.concatenate([part[i] for part in self.parts]) for i in range(3))
        return _within_clusters(UnitRows(ids, code, values))


def as_matrix(columns: Sequence[NDArray[Any] | None], rows: int) -> Floats:
    """The columns side by side as float64; a column that is None is all ones."""
    matrix = np.empty((rows, len(columns)))
    for j, column in enumerate(columns):
        matrix[:, j] = 1.0 if column is None else column
    return matrix


def _within_clusters(units: UnitRows) -> UnitRows:
    """Add up the rows of one cluster in one cell first: they share their weight."""
    order = np.lexsort((units.code, units.ids))
    ids, code, values = units.ids[order], units.code[order], units.values[order]
    starts = np.flatnonzero(np.r_[True, (ids[1:] != ids[:-1]) | (code[1:] != code[:-1])])
    return UnitRows(ids[starts], code[starts], np.add.reduceat(values, starts, axis=0))


def sum_distinct(
    table: Table, census: Census, chosen: range, layout: Layout, options: IntervalOptions | None
) -> Summed:
    """Sums over distinct rows; replicates by an exact multinomial over them, where there are options."""
    slices, sizes, used = len(chosen), layout.sizes(), layout.columns_by_binning()
    distinct, slice_of = _distinct_rows(table, census, chosen, layout)
    columns, indexes = layout.read(distinct.drop("len"), table.weight_scale)
    counts = distinct["len"].to_numpy().astype(np.int64)
    matrix = as_matrix(columns, len(distinct)) / table.weight_scale
    points, replicates = [], []
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
    return Summed(points, replicates if options else None)


def _distinct_rows(table: Table, census: Census, chosen: range, layout: Layout) -> tuple[pl.DataFrame, Indexes]:
    """The distinct rows of the chosen slices with how often each occurs (`len`), sorted; and the slice of each."""
    keys = [c for c in layout.inputs() if c in table.schema]
    groups = list(dict.fromkeys([*census.by, *keys]))
    counts = [census.cross] if census.cross is not None else table.distinct_by_batch(groups)
    distinct = added_up(counts, groups)
    # Slices are told apart only now, on the few distinct rows.
    codes, inside = _slices_of(distinct, census, chosen)
    distinct = distinct.select([*keys, "len"])
    if codes is not None:
        distinct = distinct.with_columns(pl.Series("_slice", codes))
    if inside is not None:
        distinct = distinct.filter(pl.Series(inside))
    names = [c for c in distinct.columns if c != "len"]
    # Sorted, so that the draws fall on the same rows whatever the order of the data.
    distinct = added_up([distinct], names).sort(names)
    if codes is None:
        return distinct, np.zeros(len(distinct), dtype=np.intp)
    return distinct, distinct["_slice"].to_numpy()
