"""The rows of a set of measurements with the derived columns of its statistics, and what is known before summing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sensecheck.statistics import counted
from sensecheck.statistics.arrays import U64, Flags, Floats
from sensecheck.statistics.counted import Counts
from sensecheck.statistics.exact import ExactSums
from sensecheck.statistics.grid import Grid
from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.measurements import Measurements, present
from sensecheck.statistics.statistic import ONE, Anchors, AnyStatistic, RowStatistic, Statistic

Slice = tuple[str, ...]

MAX_DISTINCT = 200_000
NO_VALUE = "(none)"
# Rows are worked on in pieces that stay in a core's cache.
PIECE = 1 << 16
# Of more rows than this, units are put into random groups before they are resampled: see `units.RandomGroups`.
_UNGROUPED_ROWS = 262_144
MOST_GROUPS, FEWEST_GROUPS = 16_384, 2_048
_GROUPED_ROWS = 262_144


class SliceError(ValueError):
    """A slice that cannot be made: no such column, or a column that is no category."""


class Table:
    """Measurements with the derived columns of a set of statistics, and what can be said before summing."""

    def __init__(self, measurements: Measurements, statistics: Sequence[AnyStatistic], slices: Sequence[Slice]) -> None:
        self.measurements = measurements
        self.statistics = list(statistics)
        self.schema = measurements.schema
        self.derived: dict[str, pl.Expr] = {}
        for statistic in statistics:
            self.derived.update(statistic.derived)
            for marks, quicker in statistic.derived_of_marks.items() if isinstance(statistic, Statistic) else ():
                if self.schema.get(marks) == pl.Boolean:
                    self.derived.update(quicker)
        whole = {c for s in statistics if isinstance(s, Statistic) and s.derived_whole for c in s.derived}
        self.told_by = {c: _roots([c], self.derived) if c in whole else [c] for c in [*self.derived, *self.schema]}
        """By column: those that tell whether a row has a value there."""
        for statistic in statistics:
            extra = statistic.interval_sums if isinstance(statistic, Statistic) else ()
            for column in _roots([*statistic.columns, *extra], self.derived):
                if column not in self.schema:
                    raise KeyError(f"figure {statistic.name} needs the column {column!r}, which was not measured")
        for columns in slices:
            for column in columns:
                if column not in self.schema:
                    raise SliceError(f"cannot slice by {column!r}: the measurements have no such column")
        self.cluster = next((c for c in ("cluster", "unit", "id") if c in self.schema), None)
        self.clustered = self.cluster in ("cluster", "unit")
        self.weight_scale = self._weight_scale()
        self.counts: Counts | None = None
        """All rows of the pair as they were counted once, if they were."""
        self.sums: dict[Any, ExactSums] = {}
        """Sums of all slices of some slicing, by what was summed in which bins: those of all rows follow."""
        self.numbers: counted.Counted | None = None
        """All rows that have the pair's number, as they were counted."""
        self.off_by: dict[str, float] = {}
        """How far figures of the order of rows can be off at most."""
        self._of_cells: dict[str, Floats] = {}
        self.pair = counted.pair_of(measurements, statistics)
        """The columns that are counted on a grid, where there are so many rows."""
        self.keeps_rows = measurements.height <= counted.COUNTED_ABOVE
        """Whether figures are those of the rows themselves, and counts are only resampled."""
        self._edges_of_rows: list[float] = []
        self._many_units: bool | None = None
        self.slices = [tuple(by) for by in slices]
        self._crosses: dict[Slice, pl.DataFrame | None] = {}
        self.absences = list(
            dict.fromkeys(s.absent_column for s in statistics if isinstance(s, Statistic) and s.absent_column)
        )

    def _weight_scale(self) -> float:
        """A power of two that brings the mean weight near 1, where the exact grids are finest."""
        if "weight" not in self.schema:
            return 1.0
        total = rows = 0.0
        for batch in self.measurements.batches(["weight"]):
            weights = batch["weight"]
            if weights.null_count() or bool((weights < 0).any()) or not bool(weights.is_finite().all()):
                raise ValueError("weights must be numbers of at least 0, with none missing")
            total += float(weights.sum())
            rows += len(weights)
        return 2.0 ** -round(np.log2(total / rows)) if total > 0 else 1.0

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Batches with all columns of `columns` that exist, derived ones included."""
        stored = present([*_roots(columns, self.derived)], self.schema)
        computed = _computed(columns, self.derived)
        for batch in self.measurements.batches(stored):
            for start in range(0, max(len(batch), 1), PIECE):
                piece = batch.slice(start, PIECE)
                # Lazily, what several columns are computed from is computed once.
                yield piece.lazy().with_columns(**computed).collect() if computed else piece

    @cached_property
    def grid(self) -> Grid:
        """What the pair's number is counted on: cut at the edges of all bins that are known beforehand."""
        fixed = [s.bins.edges for s in self.statistics if isinstance(s, Statistic) and s.bins is not None]
        known = [edge for edges in fixed if not isinstance(edges, str) for edge in edges]
        return Grid([*known, *self._edges_of_rows])

    def cut_at(self, anchors: Anchors) -> None:
        """Have the grid cut at edges that follow from the rows, too; before anything is counted."""
        binned = [s.bins for s in self.statistics if isinstance(s, Statistic) and s.bins is not None]
        self._edges_of_rows = [float(edge) for b in binned if isinstance(b.edges, str) for edge in b.resolve(anchors)]

    def choose(self, most_rows: int, *, counts_do: bool) -> None:
        """Count the rows, or not: a run whose confidences crowd within cells of the grid is not counted if it can be
        held, nor one whose intervals need the rows.
        """
        if not counts_do:
            self.pair = None
        if self.pair is None:
            return
        self.numbers = counted.counted_numbers(self)
        if self.counts is None:
            return
        ordered = [
            s for s in self.statistics
            if isinstance(s, RowStatistic) and s.on_grid and not s.vector and not s.noise_power
        ]  # fmt: skip
        self.off_by = counted.most_off(self.counts, self.pair, ordered)
        if self.off > counted.TOO_COARSE:
            # Rounded confidences are equals, among which there is no order to lose.
            self.numbers = counted.counted_numbers(self, equals=True)
            self.off_by = counted.most_off(self.counts, self.pair, ordered)
        if not len(self.numbers.cell) or (self.off > counted.TOO_COARSE and self.measurements.height <= most_rows):
            self.pair = self.counts = None
        if self.keeps_rows:
            self.off_by = {}

    @property
    def off(self) -> float:
        return max(self.off_by.values(), default=0.0)

    def of_cells(self, column: str) -> Floats:
        """What a column that follows from the pair is in each cell of the grid, false and true one after the other."""
        assert self.pair is not None
        if column not in self._of_cells:
            self._of_cells[column] = self.columns_of_cells([column])[:, 0]
        return self._of_cells[column]

    def columns_of_cells(self, columns: Sequence[str]) -> Floats:
        """The same of several columns side by side; it is not kept."""
        assert self.pair is not None
        pair = {
            self.pair.number: np.repeat(self.grid.middles, 2),
            self.pair.flag: np.tile([False, True], self.grid.size),
        }
        cells = pl.DataFrame(pair)
        values = np.ones((len(cells), len(columns)))
        for j, column in enumerate(columns):
            if column != ONE:
                computed = self.derived.get(column, pl.col(column)).cast(pl.Float64)
                values[:, j] = cells.select(computed.alias(column)).to_series().to_numpy()
        return values

    def scored(self, columns: Sequence[str], extra: Sequence[str] = ()) -> Iterator[pl.DataFrame]:
        """Batches of the rows that are scored and have all these columns."""
        for batch in scored_batches(self.measurements, columns, self.derived, extra):
            for start in range(0, len(batch), PIECE):
                yield batch.slice(start, PIECE)

    def roots(self, columns: Sequence[str]) -> set[str]:
        """The measurement columns that these are computed from."""
        return set(_roots(columns, self.derived))

    def cluster_keys(self, most: int) -> U64 | None:
        """The hashes of all clusters, sorted; None where there are more than so many."""
        assert self.cluster is not None
        keys = np.empty(0, dtype=np.uint64)
        for batch in self.measurements.batches([self.cluster]):
            keys = np.union1d(keys, hash_ids(batch[self.cluster]))
            if len(keys) > most:
                return None
        return keys

    def many_units(self) -> bool:
        """Whether there are so many units to resample (rows, or clusters) that groups of them do as well."""
        if self._many_units is None:
            enough = 4 * FEWEST_GROUPS
            self._many_units = self.measurements.height > enough
            if self._many_units and self.clustered and self.cluster is not None:
                self._many_units = self.cluster_keys(enough) is None
        return self._many_units

    def crossed(self, by: Slice) -> pl.DataFrame | None:
        """The distinct rows and how often each occurs, where all figures are discrete: the rows are read once."""
        if by not in self._crosses:
            self._crosses[by] = self._cross(by)
        return self._crosses[by]

    def _cross(self, by: Slice) -> pl.DataFrame | None:
        if not self.statistics or not all(self.discrete(s) for s in self.statistics):
            return None
        columns = dict.fromkeys(c for s in self.statistics for c in s.columns)
        keys = present([*by, *columns, "scored", "reason", "weight", *self.absences], self.schema)
        # The rows of all slices together are all rows: no need to read them again.
        finer = self.crossed(self.slices[0]) if not by and self.slices else None
        counts: list[pl.DataFrame] = []
        for of_batch in self.distinct_by_batch(keys) if finer is None else [finer]:
            counts.append(of_batch)
            if sum(map(len, counts)) > MAX_DISTINCT:
                return None
        return added_up(counts, keys)

    def distinct_by_batch(self, keys: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The distinct rows of each batch, and how often each occurs there (`len`)."""
        return (batch.group_by(keys).len() for batch in self.measurements.batches(keys))

    def groups(self, cells: int) -> int:
        """Into how many random groups so many units are put before resampling; 0 where each stands for itself."""
        if self.measurements.height <= _UNGROUPED_ROWS or not self.many_units():
            return 0
        groups = MOST_GROUPS
        while groups > FEWEST_GROUPS and groups * cells > _GROUPED_ROWS:
            groups //= 2
        return groups

    def is_true_false(self, column: str) -> bool:
        """Whether a column, stored or derived, holds true and false."""
        if column in self.derived:
            return bool(pl.DataFrame(schema=self.schema).select(self.derived[column]).dtypes[0] == pl.Boolean)
        return self.schema.get(column) == pl.Boolean

    def discrete(self, statistic: AnyStatistic) -> bool:
        """True where the statistic's rows repeat by nature: whole numbers and true/false, unclustered."""
        if self.clustered or isinstance(statistic, RowStatistic):
            return False
        columns = [*statistic.columns, *(["weight"] if "weight" in self.schema else [])]
        if any(c in self.derived for c in columns):
            return False
        return all(self.schema[c] == pl.Boolean or self.schema[c].is_integer() for c in columns)


def scored_rows(
    measurements: Measurements,
    columns: Sequence[str],
    derived: Mapping[str, pl.Expr],
    extra: Sequence[str] = (),
) -> pl.DataFrame:
    return pl.concat(list(scored_batches(measurements, columns, derived, extra)), how="vertical_relaxed")


def scored_batches(
    measurements: Measurements, columns: Sequence[str], derived: Mapping[str, pl.Expr], extra: Sequence[str] = ()
) -> Iterator[pl.DataFrame]:
    stored = present([*_roots(columns, derived), "scored", "weight", *extra], measurements.schema)
    computed = _computed(columns, derived)
    for batch in measurements.batches(stored):
        rows = batch
        if "scored" in batch.columns and not batch["scored"].all():
            rows = batch.filter(pl.col("scored"))
        rows = rows.lazy().with_columns(**computed).collect() if computed else rows
        lacking = [c for c in columns if lacks(rows, c)]
        if lacking:
            rows = rows.filter(pl.all_horizontal([is_defined(c, rows.schema) for c in lacking]))
        yield rows.select(present([*columns, "weight", *extra], rows.schema))


def defined_mask(measurements: Measurements, columns: Sequence[str], derived: Mapping[str, pl.Expr]) -> Flags:
    """Which rows are scored and have all of these columns."""
    stored = present([*_roots(columns, derived), "scored"], measurements.schema)
    computed = _computed(columns, derived)
    masks: list[Flags] = []
    for batch in measurements.batches(stored or ["id"]):
        rows = batch.with_columns(**computed) if computed else batch
        mask = rows["scored"].to_numpy() if "scored" in rows.columns else np.ones(len(rows), dtype=np.bool_)
        for column in columns:
            if lacks(rows, column):
                mask = mask & defined_rows(rows, column)
        masks.append(mask)
    return np.concatenate(masks) if masks else np.empty(0, dtype=np.bool_)


def _roots(columns: Sequence[str], derived: Mapping[str, pl.Expr]) -> list[str]:
    roots: list[str] = []
    for column in columns:
        roots.extend(derived[column].meta.root_names() if column in derived else [column])
    return roots


def _computed(columns: Sequence[str], derived: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    return {c: derived[c] for c in columns if c in derived}


def added_up(counts: Sequence[pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """Tables that count (`len`) what has the same keys, as one."""
    return pl.concat(counts, how="vertical_relaxed").group_by(keys).agg(pl.col("len").sum())


def is_defined(column: str, schema: pl.Schema) -> pl.Expr:
    expr = pl.col(column).is_not_null()
    return expr & pl.col(column).is_not_nan() if schema[column].is_float() else expr


def defined_rows(batch: pl.DataFrame, column: str) -> Flags:
    return batch.select(is_defined(column, batch.schema)).to_series().to_numpy()


def lacks(batch: pl.DataFrame, column: str) -> bool:
    series = batch[column]
    if series.null_count():
        return True
    # The smallest of numbers among which one is NaN is NaN: quicker than asking each of them.
    return series.dtype.is_float() and len(series) > 0 and bool(np.isnan(series.to_numpy().min()))


def slice_text(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null(NO_VALUE)
