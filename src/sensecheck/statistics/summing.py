"""Sums over rows, by slice and bin, and their bootstrap replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.binning import bin_index
from sensecheck.statistics.census import Census
from sensecheck.statistics.exact import ExactSums
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.hashing import U64, hash_ids
from sensecheck.statistics.resample import (
    Draw,
    ReplicateSums,
    multinomial_counts,
    on_grid,
    poisson_weights,
    replicate_sums,
)
from sensecheck.statistics.statistic import ONE, Anchors, Bins, Statistic
from sensecheck.statistics.table import Table, is_defined, lacks

Floats = NDArray[np.float64]

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
        mine = {s.columns: standing.setdefault((alike or {}).get(s.columns, s.columns), s.columns) for s in statistics}
        made = cls(list(statistics), bins, [], resampled, mine)
        for s in statistics:
            if s.bins not in [b for b, _ in bins]:
                bins.append((s.bins, None if s.bins is None else s.bins.resolve(anchors)))
            made.columns.extend(made.key(c, s) for c in made.sums_of(s))
        made.columns = list(dict.fromkeys(made.columns))
        return made

    def key(self, column: str, statistic: Statistic) -> tuple[str, tuple[str, ...]]:
        return column, self.alike.get(statistic.columns, statistic.columns)

    def sums_of(self, statistic: Statistic) -> tuple[str, ...]:
        return (*statistic.sums, *(statistic.interval_sums if self.resampled else ()))

    def size(self, which: int) -> int:
        edges = self.bins[which][1]
        return 1 if edges is None else len(edges) - 1

    def of_bins(self, which: int) -> list[int]:
        """The columns that are summed within this binning."""
        mine = self.bins[which][0]
        used = {self.key(c, s) for s in self.statistics if s.bins == mine for c in self.sums_of(s)}
        return [i for i, c in enumerate(self.columns) if c in used]

    def pick(self, statistic: Statistic) -> tuple[int, list[int]]:
        which = [b for b, _ in self.bins].index(statistic.bins)
        mine = self.of_bins(which)
        return which, [mine.index(self.columns.index(self.key(c, statistic))) for c in self.sums_of(statistic)]

    def read(
        self, batch: pl.DataFrame, weight_scale: float, complete: bool = False
    ) -> tuple[list[NDArray[Any] | None], list[NDArray[np.intp] | None]]:
        """The columns to sum (masked and weighted; None: all ones) and the bin of each row for every binning.

        `complete` says that every row is known to be scored and to have every value.
        """
        scored = batch["scored"].to_numpy() if "scored" in batch.columns and not complete else None
        if scored is not None and scored.all():
            scored = None
        weight = batch["weight"].to_numpy().astype(np.float64) * weight_scale if "weight" in batch.columns else None
        masks: dict[tuple[str, ...], NDArray[np.bool_] | None] = {}
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
        indexes: list[NDArray[np.intp] | None] = []
        for bins, edges in self.bins:
            if bins is None or edges is None:
                indexes.append(None)
                continue
            series = batch[bins.column]
            if series.dtype != pl.Float64:
                series = series.cast(pl.Float64)
            # Rows without a value have all their sums masked to zero: the bin they fall in does not matter.
            if not complete and lacks(batch, bins.column):
                series = series.fill_null(0.0).fill_nan(0.0)
            indexes.append(bin_index(series.to_numpy(), edges))
        return values, indexes

    def inputs(self) -> list[str]:
        needed = [c for s in self.statistics for c in (*s.columns, *(c for c in self.sums_of(s) if c != ONE))]
        return list(dict.fromkeys([*needed, "scored", "weight"]))


def _mask(batch: pl.DataFrame, needed: tuple[str, ...], scored: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
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


def _local(
    codes: NDArray[np.intp] | None, chosen: range, whole: bool
) -> tuple[NDArray[np.intp] | None, NDArray[np.bool_] | None]:
    """Slice codes counted from the first chosen one, and which rows belong to a chosen slice at all."""
    if codes is None:
        return None, None
    if whole:
        return codes, None
    inside = (codes >= chosen.start) & (codes < chosen.stop)
    return codes - chosen.start, inside


def sum_rows(
    table: Table,
    census: Census,
    chosen: range,
    layout: Layout,
    options: IntervalOptions | None,
    draw: Draw = poisson_weights,
    stream: str = "bootstrap",
) -> Summed:
    """Sums over rows; replicates by weights drawn from the rows' or clusters' ids."""
    slices = len(chosen)
    widths = [layout.of_bins(i) for i in range(len(layout.bins))]
    points = [ExactSums.zeros(slices * layout.size(i), len(widths[i])) for i in range(len(layout.bins))]
    held = (
        [
            ReplicateSums.zeros(slices * layout.size(i), options.replicates, len(widths[i]))
            for i in range(len(layout.bins))
        ]
        if options
        else None
    )
    wanted = [*layout.inputs(), *census.by, *([table.cluster] if table.cluster else [])]
    sizes = [layout.size(i) for i in range(len(layout.bins))]
    waiting = Waiting(table.groups(slices * sum(sizes)) if held is not None else 0, slices * prod(sizes))
    seen = 0
    for batch in table.batches(wanted):
        codes, inside = _local(census.codes(batch), chosen, len(chosen) == len(census.values))
        if inside is not None and not inside.all():
            batch, codes = batch.filter(pl.Series(inside)), codes[inside] if codes is not None else None
        if not len(batch):
            continue
        columns, indexes = layout.read(batch, table.weight_scale, census.complete)
        for i, index in enumerate(indexes):
            cell = index
            if codes is not None:
                cell = codes if index is None else codes * sizes[i] + index
            points[i].add(cell, [columns[j] for j in widths[i]], len(batch))
        if held is not None and options is not None:
            ids = (
                hash_ids(batch[table.cluster])
                if table.cluster
                else hash_ids(pl.Series(np.arange(seen, seen + len(batch))))
            )
            # Slice and bins in one number: bins of one column are nested or interleaved, so few of them occur.
            code = np.zeros(len(batch), dtype=np.int64) if codes is None else codes.astype(np.int64)
            for size, index in zip(sizes, indexes, strict=True):
                code = code * size + (0 if index is None else index)
            if waiting.groups:
                waiting.add(ids, code, columns)
            else:
                matrix = on_grid(as_matrix(columns, len(batch)))
                _resample(ids, code, matrix, sizes, widths, held, options, draw, stream, aggregate=table.clustered)
        seen += len(batch)
    if waiting.groups and held is not None and options is not None and waiting.rows:
        ids, code, matrix = waiting.all()
        _resample(ids, code, matrix, sizes, widths, held, options, draw, stream, aggregate=False)
    return Summed(
        [p.floats().reshape(slices, layout.size(i), -1) for i, p in enumerate(points)],
        None
        if held is None
        else [
            h.floats().reshape(slices, layout.size(i), h.units.shape[1], -1).transpose(0, 2, 1, 3)
            for i, h in enumerate(held)
        ],
    )


class Waiting:
    """Rows of many clusters, added up in random groups before they are resampled.

    A group is chosen by the hash of the cluster's id, so it is a random union of clusters, and resampling groups is
    as good as resampling clusters: with G groups the standard error is off by 1/√(2G), which for 2,048 and more is
    below what 1,000 replicates leave open. Time and memory then depend on the groups, not on the rows.

    Values lie on a grid on which float64 adds without rounding, so neither order nor kind of keeping shows. While
    groups × cells are few, each has a place of its own; of many, those that occur are kept sorted.
    """

    def __init__(self, groups: int, codes: int) -> None:
        self.groups = groups
        self.parts: list[tuple[U64, NDArray[np.int64], Floats]] = []
        self.rows = 0
        # Where the sums of each code are, by the code: −1 for those not seen yet.
        self.places = np.full(codes, -1, dtype=np.intp) if groups and codes <= _MOST_PLACES else None
        self.codes: list[int] = []
        self.sums: list[Floats] = []
        """By place × group, for each column."""
        self.seen = np.empty(0, dtype=np.bool_)

    def add(self, ids: U64, code: NDArray[np.int64], columns: Sequence[NDArray[Any] | None]) -> None:
        group = ids & np.uint64(self.groups - 1)
        if self.places is None:
            self._keep(group, code, on_grid(as_matrix(columns, len(ids))))
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
        if cells > len(self.seen):
            more = np.zeros(max(cells, 2 * len(self.seen)) - len(self.seen), dtype=np.bool_)
            self.seen = np.concatenate([self.seen, more])
            empty = np.zeros(len(more))
            self.sums = [np.concatenate([s, empty]) for s in self.sums] or [empty.copy() for _ in columns]
        place *= self.groups
        place += group.view(np.int64)
        self.seen[place] = True
        for total, column in zip(self.sums, columns, strict=True):
            np.add.at(total, place, 1.0 if column is None else on_grid(column.astype(np.float64, copy=False)))
        self.rows = len(self.codes)

    def _keep(self, group: U64, code: NDArray[np.int64], matrix: Floats) -> None:
        self.parts.append(_within_clusters(group, code, matrix))
        self.rows += len(self.parts[-1][0])
        if self.rows > 600_000:
            merged = self.all()
            self.parts, self.rows = [merged], len(merged[0])

    def _give_up_places(self) -> None:
        """More codes than there is room for: go on with those that occur."""
        if self.codes:
            self.parts = [self._placed()]
            self.rows = len(self.parts[0][0])
        self.places, self.codes, self.sums = None, [], []
        self.seen = np.empty(0, dtype=np.bool_)

    def _placed(self) -> tuple[U64, NDArray[np.int64], Floats]:
        filled = np.flatnonzero(self.seen)
        codes = np.asarray(self.codes, dtype=np.int64)
        matrix = np.stack([total[filled] for total in self.sums], axis=1)
        return (filled % self.groups).astype(np.uint64), codes[filled // self.groups], matrix

    def all(self) -> tuple[U64, NDArray[np.int64], Floats]:
        """One row for every group and cell."""
        if self.places is not None:
            return self._placed()
        ids, code, matrix = (np.concatenate([part[i] for part in self.parts]) for i in range(3))
        return _within_clusters(ids, code, matrix)


def _resample(
    ids: U64,
    code: NDArray[np.int64],
    matrix: Floats,
    sizes: Sequence[int],
    widths: Sequence[Sequence[int]],
    held: Sequence[ReplicateSums],
    options: IntervalOptions,
    draw: Draw,
    stream: str,
    *,
    aggregate: bool,
) -> None:
    """Add rows' weighted sums to every binning at once: the weights, which cost most, are drawn once a row."""
    if aggregate:
        ids, code, matrix = _within_clusters(ids, code, matrix)
    distinct, segment = np.unique(code, return_inverse=True)
    local = replicate_sums(
        ids,
        segment.astype(np.intp),
        matrix,
        segments=len(distinct),
        replicates=options.replicates,
        seed=options.seed,
        draw=draw,
        stream=stream,
        jobs=options.jobs,
    )
    below = 1
    for size in sizes:
        below *= size
    slices = distinct // below
    for i, total in enumerate(held):
        below //= sizes[i]
        target = slices * sizes[i] + distinct // below % sizes[i]
        for s, cell in enumerate(target.tolist()):
            total.units[cell] += local.units[s][:, list(widths[i])]


def as_matrix(columns: Sequence[NDArray[Any] | None], rows: int) -> Floats:
    """The columns side by side as float64; a column that is None is all ones."""
    matrix = np.empty((rows, len(columns)))
    for j, column in enumerate(columns):
        matrix[:, j] = 1.0 if column is None else column
    return matrix


def _within_clusters(ids: U64, code: NDArray[np.int64], matrix: Floats) -> tuple[U64, NDArray[np.int64], Floats]:
    """Add up the rows of one cluster in one cell first: they share their weight."""
    order = np.lexsort((code, ids))
    ids, code, matrix = ids[order], code[order], matrix[order]
    starts = np.flatnonzero(np.r_[True, (ids[1:] != ids[:-1]) | (code[1:] != code[:-1])])
    return ids[starts], code[starts], np.add.reduceat(matrix, starts, axis=0)


def sum_distinct(
    table: Table, census: Census, chosen: range, layout: Layout, options: IntervalOptions | None
) -> Summed:
    """Sums over distinct rows; replicates by an exact multinomial over them."""
    slices = len(chosen)
    keys = [c for c in layout.inputs() if c in table.schema]
    groups = list(dict.fromkeys([*census.by, *keys]))
    if census.cross is not None:
        distinct = census.cross.group_by(groups).agg(pl.col("len").sum())
    else:
        counted = [batch.group_by(groups).len() for batch in table.measurements.batches(groups)]
        distinct = pl.concat(counted, how="vertical_relaxed").group_by(groups).agg(pl.col("len").sum())
    # Slices are told apart only now, on the few distinct rows.
    codes, inside = _local(census.codes(distinct), chosen, len(chosen) == len(census.values))
    distinct = distinct.select([*keys, "len"])
    if codes is not None:
        distinct = distinct.with_columns(pl.Series("_slice", codes))
    if inside is not None:
        distinct = distinct.filter(pl.Series(inside))
    names = [c for c in distinct.columns if c != "len"]
    # Sorted, so that the draws fall on the same rows whatever the order of the data.
    distinct = distinct.group_by(names).agg(pl.col("len").sum()).sort(names)
    at = distinct["_slice"].to_numpy() if "_slice" in distinct.columns else np.zeros(len(distinct), dtype=np.intp)
    columns, indexes = layout.read(distinct.drop("len"), table.weight_scale)
    counts = distinct["len"].to_numpy().astype(np.int64)
    matrix = as_matrix(columns, len(distinct))
    points, replicates = [], []
    for i in range(len(layout.bins)):
        used = layout.of_bins(i)
        points.append(np.zeros((slices, layout.size(i), len(used))))
        if options:
            replicates.append(np.zeros((slices, options.replicates, layout.size(i), len(used))))
    for s in range(slices):
        mine = np.flatnonzero(at == s)
        stream = "multinomial:" + "\x1f".join([*census.by, *map(str, census.values[chosen[s]])])
        drawn = multinomial_counts(counts[mine], options.replicates, options.seed, stream) if options else None
        for i, index in enumerate(indexes):
            used = layout.of_bins(i)
            for b in range(layout.size(i)):
                there = mine if index is None else mine[index[mine] == b]
                if not len(there):
                    continue
                local = there if index is None else np.flatnonzero(index[mine] == b)
                x = matrix[there][:, used]
                points[i][s, b] = counts[there] @ x
                if drawn is not None:
                    replicates[i][s, :, b] = (drawn if index is None else drawn[:, local]) @ x
    return Summed(points, replicates if options else None)
