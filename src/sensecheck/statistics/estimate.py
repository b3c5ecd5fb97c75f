"""From measurements to figures: one pass to count, one to sum and resample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.binning import bin_index
from sensecheck.statistics.exact import ExactSums
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.hashing import U64, hash_ids, scramble, seed_key
from sensecheck.statistics.intervals import End, acceleration, bca, percentile
from sensecheck.statistics.measurements import Measurements, concatenated, present
from sensecheck.statistics.resample import (
    Draw,
    ReplicateSums,
    multinomial_counts,
    on_grid,
    poisson_weights,
    replicate_sums,
)
from sensecheck.statistics.squeezing import MOST_SQUEEZED_ROWS, squeezable, squeezed_replicates
from sensecheck.statistics.statistic import (
    ONE,
    Anchors,
    AnyStatistic,
    Bins,
    RowStatistic,
    Statistic,
)

Floats = NDArray[np.float64]
Slice = tuple[str, ...]

MAX_SLICE_VALUES = 1000
MAX_DISTINCT = 200_000
NO_VALUE = "(none)"
# More rows than this are never held side by side where there is another way.
MANY_ROWS = 20_000_000
# Rows are worked on in pieces that stay in a core's cache.
PIECE = 1 << 16
# Of more rows than this, units are put into random groups before they are resampled: see `Waiting`.
_UNGROUPED_ROWS = 262_144
MOST_GROUPS, FEWEST_GROUPS = 16_384, 2_048
_GROUPED_ROWS = 262_144
# Sums of groups × cells have a place each, up to so many.
_MOST_PLACES = 1 << 20
# Bootstrap sums of one slicing are held for as many slice values at a time as fit in this many numbers.
_HELD_NUMBERS = 24_000_000
# A figure of single rows holds them all in memory …
MOST_ROWS = 20_000_000
# … and each replicate passes over all of them.
MOST_RESAMPLED_ROWS = 1_000_000


class SliceError(ValueError):
    """A slice that cannot be made: no such column, or a column that is no category."""


@dataclass
class Estimates:
    """All figures of a set of measurements: overall, and by slice."""

    overall: list[Figure]
    slices: dict[Slice, list[list[Figure]]] = field(default_factory=dict)
    anchors: dict[str, Floats] = field(default_factory=dict)

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
    """Every statistic, overall and for every value of every slicing, with intervals."""
    options = options or IntervalOptions()
    table = Table(measurements, statistics, slices)
    fixed = dict(anchors or {})
    fixed.update(compute_anchors(measurements, statistics, known=fixed))
    overall = _slicing(table, (), fixed, options)[0]
    by = {tuple(s): _slicing(table, tuple(s), fixed, options) for s in slices}
    return Estimates(overall, by, fixed)


def compute_anchors(
    measurements: Measurements, statistics: Sequence[AnyStatistic], *, known: Anchors | None = None
) -> dict[str, Floats]:
    """The anchors that the statistics need and that are not known yet."""
    found: dict[str, Floats] = {}
    read: tuple[tuple[str, ...], dict[str, NDArray[Any]]] | None = None
    for statistic in statistics:
        if isinstance(statistic, RowStatistic):
            continue
        for anchor in statistic.anchors:
            if anchor.name in found or (known is not None and anchor.name in known):
                continue
            if anchor.streamed is not None and measurements.height > MANY_ROWS:
                batches = _scored_batches(measurements, anchor.columns, statistic.derived)
                made = anchor.streamed({c: b[c].to_numpy() for c in b.columns} for b in batches)
            else:
                # Anchors one after the other mostly look at the same column.
                if read is None or read[0] != anchor.columns or any(c in statistic.derived for c in anchor.columns):
                    read = None
                    rows = scored_rows(measurements, anchor.columns, statistic.derived)
                    read = (anchor.columns, {c: rows[c].to_numpy() for c in rows.columns})
                    del rows
                made = anchor.compute(read[1])
            found[anchor.name] = np.asarray(made, dtype=np.float64)
    return found


def scored_rows(
    measurements: Measurements,
    columns: Sequence[str],
    derived: Mapping[str, pl.Expr],
    extra: Sequence[str] = (),
) -> pl.DataFrame:
    return pl.concat(list(_scored_batches(measurements, columns, derived, extra)), how="vertical_relaxed")


def _scored_batches(
    measurements: Measurements, columns: Sequence[str], derived: Mapping[str, pl.Expr], extra: Sequence[str] = ()
) -> Iterator[pl.DataFrame]:
    needed = present([*_roots(columns, derived), "scored", "weight", *extra], measurements.schema)
    for batch in measurements.batches(needed):
        rows = batch
        if "scored" in batch.columns and not batch["scored"].all():
            rows = batch.filter(pl.col("scored"))
        wanted = {c: derived[c] for c in columns if c in derived}
        rows = rows.with_columns(**wanted) if wanted else rows
        lacking = [c for c in columns if _missing(rows, c)]
        if lacking:
            rows = rows.filter(pl.all_horizontal([_defined(c, rows.schema) for c in lacking]))
        yield rows.select(present([*columns, "weight", *extra], rows.schema))


def _roots(columns: Sequence[str], derived: Mapping[str, pl.Expr]) -> list[str]:
    roots: list[str] = []
    for column in columns:
        roots.extend(derived[column].meta.root_names() if column in derived else [column])
    return roots


def _defined(column: str, schema: pl.Schema) -> pl.Expr:
    expr = pl.col(column).is_not_null()
    return expr & pl.col(column).is_not_nan() if schema[column].is_float() else expr


class Table:
    """Measurements with the derived columns of a set of statistics, and what can be said before summing."""

    def __init__(self, measurements: Measurements, statistics: Sequence[AnyStatistic], slices: Sequence[Slice]) -> None:
        self.measurements = measurements
        self.statistics = list(statistics)
        self.schema = measurements.schema
        self.derived: dict[str, pl.Expr] = {}
        for statistic in statistics:
            self.derived.update(statistic.derived)
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
        self._many: bool | None = None
        self._slices = [tuple(by) for by in slices]
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
        needed = present([*_roots(columns, self.derived)], self.schema)
        wanted = {c: self.derived[c] for c in columns if c in self.derived}
        for batch in self.measurements.batches(needed):
            for start in range(0, max(len(batch), 1), PIECE):
                piece = batch.slice(start, PIECE)
                yield piece.with_columns(**wanted) if wanted else piece

    def many_units(self) -> bool:
        """Whether there are so many units to resample (rows, or clusters) that groups of them do as well."""
        if self._many is None:
            enough = 4 * FEWEST_GROUPS
            self._many = self.measurements.height > enough
            if self._many and self.clustered and self.cluster is not None:
                seen = np.empty(0, dtype=np.uint64)
                for batch in self.measurements.batches([self.cluster]):
                    seen = np.union1d(seen, hash_ids(batch[self.cluster]))
                    if len(seen) > enough:
                        break
                self._many = len(seen) > enough
        return self._many

    def crossed(self, by: Slice) -> pl.DataFrame | None:
        """The distinct rows and how often each occurs, where all figures are discrete: the rows are read once."""
        if by not in self._crosses:
            self._crosses[by] = self._cross(by)
        return self._crosses[by]

    def _cross(self, by: Slice) -> pl.DataFrame | None:
        if not self.statistics or not all(self.discrete(s) for s in self.statistics):
            return None
        columns = dict.fromkeys(c for s in self.statistics for c in s.columns)
        groups = present([*by, *columns, "scored", "reason", "weight", *self.absences], self.schema)
        # The rows of all slices together are all rows: no need to read them again.
        finer = self.crossed(self._slices[0]) if not by and self._slices else None
        if finer is not None:
            counted = [finer]
        else:
            counted = [batch.group_by(groups).len() for batch in self.measurements.batches(groups)]
        if sum(map(len, counted)) > MAX_DISTINCT:
            return None
        return pl.concat(counted, how="vertical_relaxed").group_by(groups).agg(pl.col("len").sum())

    def groups(self, cells: int) -> int:
        """Into how many random groups so many units are put before resampling; 0 where each stands for itself."""
        if self.measurements.height <= _UNGROUPED_ROWS or not self.many_units():
            return 0
        groups = MOST_GROUPS
        while groups > FEWEST_GROUPS and groups * cells > _GROUPED_ROWS:
            groups //= 2
        return groups

    def discrete(self, statistic: AnyStatistic) -> bool:
        """True where the statistic's rows repeat by nature: whole numbers and true/false, unclustered."""
        if self.clustered or isinstance(statistic, RowStatistic):
            return False
        columns = [*statistic.columns, *(["weight"] if "weight" in self.schema else [])]
        if any(c in self.derived for c in columns):
            return False
        return all(self.schema[c] == pl.Boolean or self.schema[c].is_integer() for c in columns)


def _slicing(table: Table, by: Slice, anchors: Anchors, options: IntervalOptions) -> list[list[Figure]]:
    census = Census(table, by)
    if census.rows == 0 and not by:
        return [[_empty(s) for s in table.statistics]]
    numbers = max(1, sum(_numbers(s, anchors) for s in table.statistics) * options.replicates)
    step = max(1, _HELD_NUMBERS // numbers)
    out: list[list[Figure]] = []
    for start in range(0, len(census.values), step):
        chosen = range(start, min(start + step, len(census.values)))
        out.extend(_figures(table, census, chosen, anchors, options))
    return out


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


class Census:
    """Which values a slicing has, how many rows each figure scores there, and why others are not scored."""

    def __init__(self, table: Table, by: Slice) -> None:
        self.table = table
        self.by = by
        self.masks = list(dict.fromkeys(s.columns for s in table.statistics))
        self.keys = [f"_by{i}" for i in range(len(by))]
        columns = list(dict.fromkeys(c for mask in self.masks for c in mask))
        owner = [table.cluster] if table.clustered and table.cluster else []
        self.cross = table.crossed(by)
        counts: list[pl.DataFrame] = []
        clusters: list[pl.DataFrame] = []
        complete = 0
        # In words, or by a column that says it row by row; figures of the same columns lack them for the same reason.
        self.absent = {s.columns: (s.absent, s.absent_column) for s in table.statistics if isinstance(s, Statistic)}
        self.whys = [f"_why {c}" for c in table.absences]
        wanted = [*by, "scored", "reason", *columns, *owner, *table.absences]
        for batch in table.batches(wanted) if self.cross is None else [self.cross]:
            missing = {c: ~_present(batch, c) for c in columns if _missing(batch, c)}
            all_scored = "scored" not in batch.columns or bool(batch["scored"].all())
            told = pl.DataFrame()
            if by:
                told = batch.select([_slice_text(c).alias(k) for c, k in zip(by, self.keys, strict=True)])
            if self.cross is None and not missing and all_scored:
                # The usual case, at little cost: every row of the piece is scored for every figure.
                complete += len(batch)
                if by:
                    counts.append(told.group_by(self.keys).len())
            else:
                counts.append(self._counted(batch, told, columns, missing))
            if owner:
                # Hashes of eight bytes rather than names: there may be very many clusters.
                told = pl.DataFrame([*told.get_columns(), pl.Series("_owner", hash_ids(batch[owner[0]]))])
                told = told if all_scored else told.filter(batch["scored"])
                clusters.append(told.unique())
        if complete and not by:
            counts.append(pl.DataFrame({"len": [complete]}, schema={"len": pl.UInt64}))
        merged = self._merged(counts)
        self.rows = int(merged["len"].sum()) if len(merged) else 0
        self.complete = complete == self.rows > 0
        self.values = [tuple(row) for row in merged.select(self.keys).unique().sort(self.keys).rows()] if by else [()]
        if len(self.values) > MAX_SLICE_VALUES:
            raise SliceError(
                f"cannot slice by {'×'.join(by)}: it has {len(self.values):,} values; a slice is a category with "
                f"at most {MAX_SLICE_VALUES:,}. Bin it, or choose another column."
            )
        self.code = (
            pl.DataFrame(self.values, schema=dict.fromkeys(self.keys, pl.String), orient="row").with_row_index("_code")
            if by
            else None
        )
        self.cluster_counts: dict[tuple[Any, ...], int] = {}
        if clusters:
            distinct = pl.concat(clusters).unique()
            if by:
                grouped = distinct.group_by(self.keys).len()
                self.cluster_counts = {tuple(r[:-1]): int(r[-1]) for r in grouped.rows()}
            else:
                self.cluster_counts = {(): len(distinct)}
        # One small dictionary a slice, rather than a filter for every figure of every slice.
        self.scored_rows: dict[tuple[Any, ...], dict[str, int]] = {}
        self.unscored_rows: dict[tuple[Any, ...], dict[str, dict[str, int]]] = {}
        for line in merged.iter_rows(named=True):
            value = tuple(line[k] for k in self.keys)
            absent = set((line["_missing"] or "").split("\x1f"))
            for i, mask in enumerate(self.masks):
                flag = f"_ok{i}"
                if line["_scored"] and absent.isdisjoint(mask):
                    per = self.scored_rows.setdefault(value, {})
                    per[flag] = per.get(flag, 0) + line["len"]
                else:
                    why = (line["_reason"] or "no reason given") if not line["_scored"] else self._absence(mask, line)
                    reasons = self.unscored_rows.setdefault(value, {}).setdefault(flag, {})
                    reasons[why] = reasons.get(why, 0) + line["len"]
        self.alike = self._alike()

    def _absence(self, mask: tuple[str, ...], line: Mapping[str, Any]) -> str:
        """Why rows that are scored have nothing for a figure."""
        words, column = self.absent.get(mask, ("", ""))
        return words or (column and line[f"_why {column}"]) or f"no {'/'.join(mask)}"

    def _counted(
        self, batch: pl.DataFrame, told: pl.DataFrame, columns: Sequence[str], missing: Mapping[str, NDArray[np.bool_]]
    ) -> pl.DataFrame:
        """How often each slice, reason and set of missing columns occurs."""
        sets = np.zeros(len(batch), dtype=np.int64)
        names = [""]
        for column in columns:
            if column not in missing:
                continue
            # Few sets occur: they are numbered anew after each column, so that any number of columns will do.
            found, sets = np.unique(2 * sets + missing[column], return_inverse=True)
            names = [f"{names[k // 2]}\x1f{column}" if k & 1 else names[k // 2] for k in found.tolist()]
        nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(batch))
        scored = batch["scored"] if "scored" in batch.columns else pl.repeat(True, len(batch), eager=True)
        reason = batch["reason"].cast(pl.String) if "reason" in batch.columns else nothing
        keyed = pl.DataFrame(
            [
                *told.get_columns(),
                scored.alias("_scored"),
                # Why a row is not scored; of rows that are, nobody asks.
                nothing.zip_with(scored, reason).alias("_reason"),
                *(batch[c].cast(pl.String).alias(why) for c, why in zip(self.table.absences, self.whys, strict=True)),
                pl.Series("_set", sets.astype(np.int64)),
            ]
        )
        keys = [*self.keys, "_scored", "_reason", *self.whys, "_set"]
        if "len" in batch.columns and batch is self.cross:
            grouped = keyed.with_columns(batch["len"]).group_by(keys).agg(pl.col("len").sum())
        else:
            grouped = keyed.group_by(keys).len()
        return grouped.with_columns(
            pl.Series("_missing", [names[k] for k in grouped["_set"].to_list()], dtype=pl.String)
        ).drop("_set")

    def _merged(self, counts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """All counts together; where a piece does not say, its rows are scored and lack nothing."""
        known = {
            **dict.fromkeys(self.keys, pl.String()), "_scored": pl.Boolean(), "_reason": pl.String(),
            **dict.fromkeys(self.whys, pl.String()), "_missing": pl.String(), "len": pl.UInt64(),
        }  # fmt: skip
        usual = {"_scored": True, "_reason": None, "_missing": "", **dict.fromkeys(self.whys)}
        full = [
            f.select([
                (pl.col(c) if c in f.columns else pl.lit(usual[c])).cast(kind).alias(c) for c, kind in known.items()
            ])
            for f in counts
        ] or [pl.DataFrame(schema=known)]  # fmt: skip
        keys = [c for c in known if c != "len"]
        return pl.concat(full).group_by(keys).agg(pl.col("len").sum()).sort(keys)

    def _alike(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Figures that need more columns and yet score as many rows score the same ones: one mask serves them all."""
        scored = [
            sum(per.get(f"_ok{i}", 0) for per in self.scored_rows.values()) for i, _ in enumerate(self.masks)
        ]  # fmt: skip
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        kept: list[int] = []
        for i in sorted(range(len(self.masks)), key=lambda i: len(self.masks[i])):
            mine = set(self.masks[i])
            # Fewer columns can only score more rows. Rows that all are scored need no mask to be compared.
            same = (
                k for k in kept if scored[k] == scored[i] and (scored[i] == self.rows or set(self.masks[k]) <= mine)
            )
            first = next(same, None)
            if first is None:
                kept.append(i)
            else:
                found[self.masks[i]] = self.masks[first]
        return found

    def n(self, statistic: AnyStatistic, value: tuple[Any, ...]) -> int:
        return self.scored_rows.get(value, {}).get(self._flag(statistic), 0)

    def unscored(self, statistic: AnyStatistic, value: tuple[Any, ...]) -> dict[str, int]:
        return self.unscored_rows.get(value, {}).get(self._flag(statistic), {})

    def clusters(self, value: tuple[Any, ...]) -> int | None:
        return self.cluster_counts.get(value, 0) if self.table.clustered else None

    def _flag(self, statistic: AnyStatistic) -> str:
        return f"_ok{self.masks.index(statistic.columns)}"

    def codes(self, batch: pl.DataFrame) -> NDArray[np.intp] | None:
        if self.code is None:
            return None
        text = batch.select([_slice_text(c) for c in self.by]).rename({c: f"_by{i}" for i, c in enumerate(self.by)})
        joined = text.join(self.code, on=self.keys, how="left", maintain_order="left")
        return joined["_code"].to_numpy().astype(np.intp)


def _present(batch: pl.DataFrame, column: str) -> NDArray[np.bool_]:
    return batch.select(_defined(column, batch.schema)).to_series().to_numpy()


def _missing(batch: pl.DataFrame, column: str) -> bool:
    series = batch[column]
    if series.null_count():
        return True
    # The smallest of numbers among which one is NaN is NaN: quicker than asking each of them.
    return series.dtype.is_float() and len(series) > 0 and bool(np.isnan(series.to_numpy().min()))


def _slice_text(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String).fill_null(NO_VALUE)


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
            if not complete and _missing(batch, bins.column):
                series = series.fill_null(0.0).fill_nan(0.0)
            indexes.append(bin_index(series.to_numpy(), edges))
        return values, indexes

    def inputs(self) -> list[str]:
        needed = [c for s in self.statistics for c in (*s.columns, *(c for c in self.sums_of(s) if c != ONE))]
        return list(dict.fromkeys([*needed, "scored", "weight"]))


def _mask(batch: pl.DataFrame, needed: tuple[str, ...], scored: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    missing = [c for c in needed if _missing(batch, c)]
    if not missing:
        return scored
    defined = batch.select(pl.all_horizontal([_defined(c, batch.schema) for c in missing])).to_series().to_numpy()
    return defined if scored is None else defined & scored


@dataclass
class Summed:
    """Sums of the chosen slices: points, and replicates where there are any; by binning, then slice × bin."""

    points: list[Floats]
    replicates: list[Floats] | None


def _figures(
    table: Table, census: Census, chosen: range, anchors: Anchors, options: IntervalOptions
) -> list[list[Figure]]:
    sums = [s for s in table.statistics if isinstance(s, Statistic)]
    groups = [[s for s in sums if table.discrete(s)], [s for s in sums if not table.discrete(s)]]
    made: dict[str, list[Figure]] = {}
    for discrete, group in zip((True, False), groups, strict=True):
        if not group:
            continue
        resample = options.method != "none"
        layout = Layout.of(group, anchors, resample, census.alike)
        if discrete:
            summed = _sum_distinct(table, census, chosen, layout, options if resample else None)
        else:
            summed = sum_rows(table, census, chosen, layout, options if resample else None)
        for statistic in group:
            which, columns = layout.pick(statistic)
            made[statistic.name] = [
                _figure(table, census, statistic, code, at, summed, which, columns, anchors, options, discrete)
                for at, code in enumerate(chosen)
            ]
    for together in row_groups(table.statistics):
        made.update(_row_figures(table, census, chosen, together, options))
    return [[made[s.name][at] for s in table.statistics] for at in range(len(chosen))]


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
                matrix = on_grid(_matrix(columns, len(batch)))
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
            self._keep(group, code, on_grid(_matrix(columns, len(ids))))
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


def _matrix(columns: Sequence[NDArray[Any] | None], rows: int) -> Floats:
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


def _sum_distinct(
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
    matrix = _matrix(columns, len(distinct))
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


def _figure(
    table: Table,
    census: Census,
    statistic: Statistic,
    code: int,
    at: int,
    summed: Summed,
    which: int,
    columns: Sequence[int],
    anchors: Anchors,
    options: IntervalOptions,
    discrete: bool,
) -> Figure:
    value_of_slice = census.values[code]
    point = summed.points[which][at]
    sums = [shaped(point[:, c], statistic) for c in columns]
    extra = {"anchors": anchors} if statistic.anchors else {}
    used = len(statistic.sums)
    value = np.asarray(statistic.finish(*sums[:used], **extra), dtype=np.float64)
    n = census.n(statistic, value_of_slice)
    clusters = census.clusters(value_of_slice)
    low: End = None
    high: End = None
    method = absent = ""
    beside: dict[str, float] = {}
    independent = clusters if clusters is not None else n
    if summed.replicates is None:
        absent = "intervals were turned off"
    elif n == 0:
        absent = "no scored rows"
    elif independent < 2:
        absent = "one cluster alone says nothing about the others" if clusters is not None else "one row alone"
    else:
        drawn = summed.replicates[which][at]
        replicated = [shaped(drawn[:, :, c], statistic) for c in columns]
        kind = "multinomial" if discrete else "cluster bootstrap" if table.clustered else "bootstrap"
        if statistic.interval is not None:
            own = statistic.interval(sums, replicated, level=options.level, seed=options.seed)
            low, high, method, absent, beside = own.low, own.high, own.method, own.absent, dict(own.beside)
            if absent:
                low = high = None
        else:
            spread = np.asarray(statistic.finish(*replicated[:used], **extra), dtype=np.float64)
            if options.method == "bca":
                units = _unit_sums(table, census, statistic, code, anchors)
                left_out = _leave_one_out(statistic, sums[:used], units, extra)
                low, high = bca(value, spread, acceleration(left_out), options.level)
            else:
                low, high = percentile(spread, options.level)
            method = f"{kind}, {options.method}"
            if low is None:
                absent = "the figure does not exist in enough replicates"
    if statistic.out_of:
        total = float(sums[used - 1])
        beside[statistic.out_of] = int(total) if total.is_integer() else total
    return Figure(
        statistic.name,
        statistic.label,
        _number(value),
        n,
        clusters,
        census.unscored(statistic, value_of_slice),
        low,
        high,
        method if low is not None else "",
        absent,
        beside,
        statistic.direction,
        statistic.range,
        dict(zip(census.by, value_of_slice, strict=True)),
    )


def shaped(x: Floats, statistic: Statistic) -> Floats:
    """Binned sums keep their last axis of bins; plain ones lose it."""
    return x if statistic.bins is not None else x[..., 0]


def _number(value: Floats) -> float | tuple[float, ...]:
    return float(value) if value.ndim == 0 else tuple(float(v) for v in value)


def _unit_sums(
    table: Table, census: Census, statistic: Statistic, code: int, anchors: Anchors
) -> tuple[NDArray[np.intp], Floats, NDArray[np.intp], int]:
    """What every row contributes: its column values, its bin and its cluster (for leaving clusters out)."""
    layout = Layout.of([statistic], anchors, resampled=False)
    wanted = [*layout.inputs(), *census.by, *([table.cluster] if table.cluster else [])]
    values, bins, owners = [], [], []
    for batch in table.batches(wanted):
        codes = census.codes(batch)
        if codes is not None:
            batch = batch.filter(pl.Series(codes == code))
        columns, indexes = layout.read(batch, table.weight_scale)
        picked = [columns[layout.columns.index((c, statistic.columns))] for c in statistic.sums]
        values.append(_matrix(picked, len(batch)))
        index = indexes[0]
        bins.append(np.zeros(len(batch), dtype=np.intp) if index is None else index)
        if table.clustered and table.cluster:
            owners.append(hash_ids(batch[table.cluster]))
    matrix, index = np.concatenate(values), np.concatenate(bins)
    if owners:
        _, owner = np.unique(np.concatenate(owners), return_inverse=True)
    else:
        owner = np.arange(len(matrix))
    return index, matrix, owner, int(owner.max()) + 1 if len(owner) else 0


def _leave_one_out(
    statistic: Statistic,
    sums: Sequence[Floats],
    units: tuple[NDArray[np.intp], Floats, NDArray[np.intp], int],
    extra: Mapping[str, Any],
) -> Floats:
    """The statistic with each cluster left out in turn."""
    index, matrix, owner, count = units
    bins = 1 if statistic.bins is None else sums[0].shape[-1]
    order = np.argsort(owner, kind="stable")
    index, matrix, owner = index[order], matrix[order], owner[order]
    values = []
    step = max(1, 4_000_000 // (bins * matrix.shape[1]))
    for start in range(0, count, step):
        stop = min(start + step, count)
        a, b = np.searchsorted(owner, [start, stop])
        cell = (owner[a:b] - start) * bins + index[a:b]
        left = []
        for j in range(matrix.shape[1]):
            part = np.bincount(cell, weights=matrix[a:b, j], minlength=(stop - start) * bins)
            part = part.reshape(stop - start, bins)
            left.append(np.asarray(sums[j]) - (part if statistic.bins is not None else part[:, 0]))
        values.append(np.asarray(statistic.finish(*left, **extra), dtype=np.float64))
    return np.concatenate(values)


def row_groups(statistics: Sequence[AnyStatistic]) -> list[list[RowStatistic]]:
    """Row statistics that want the same rows in the same order."""
    groups: dict[tuple[Any, ...], list[RowStatistic]] = {}
    for statistic in statistics:
        if isinstance(statistic, RowStatistic):
            groups.setdefault((statistic.columns, statistic.sorted_by), []).append(statistic)
    return list(groups.values())


class RowStates:
    """What each statistic of a group prepared; those that prepare alike share it."""

    def __init__(self, statistics: Sequence[RowStatistic], rows: pl.DataFrame) -> None:
        self.statistics = list(statistics)
        self.columns = columns = {c: rows[c].to_numpy() for c in statistics[0].columns}
        made: dict[Any, Any] = {}
        for s in statistics:
            if s.prepare not in made:
                made[s.prepare] = s.prepare(columns)
        self.states = [made[s.prepare] for s in statistics]

    def values(self, weights: Floats) -> list[Floats]:
        """One array of values a statistic, replicates first."""
        return [np.asarray(s.value(state, weights)) for s, state in zip(self.statistics, self.states, strict=True)]


def sorted_for(statistics: Sequence[RowStatistic], rows: pl.DataFrame) -> pl.DataFrame:
    by = statistics[0].sorted_by
    if not by:
        return rows
    packed = _packed_rows(rows, by) if len(rows) > MOST_RESAMPLED_ROWS else None
    if packed is None:
        return rows.sort(by, maintain_order=True)
    del rows
    packed.sort()
    flag = np.empty(len(packed), dtype=np.bool_)
    for start in range(0, len(packed), PIECE):
        some = packed[start : start + PIECE]
        np.bitwise_and(some, np.uint64(1), out=flag[start : start + PIECE], casting="unsafe")
        np.right_shift(some, np.uint64(1), out=some)
    return pl.DataFrame({by: packed.view(np.float64), _flag_beside(statistics, by): flag})


def _flag_beside(statistics: Sequence[RowStatistic], by: str) -> str:
    return next(c for c in statistics[0].columns if c != by)


def _packed_rows(rows: pl.DataFrame, by: str) -> U64 | None:
    """Very many rows of a number from 0 on and a true/false, as one whole number each that sorts like the number.

    It takes a quarter of the room of sorting a table. None for other rows.
    """
    beside = [c for c in rows.columns if c != by]
    if len(beside) != 1 or rows.schema[by] != pl.Float64 or rows.schema[beside[0]] != pl.Boolean:
        return None
    keys = np.empty(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), PIECE):
        part = rows.slice(start, PIECE)
        values = part[by].to_numpy()
        if not values.min() >= 0:
            return None
        # The sign's place is free: the bits move up by one.
        some = keys[start : start + PIECE]
        np.left_shift(values.view(np.uint64), np.uint64(1), out=some)
        np.bitwise_or(some, part[beside[0]].to_numpy().view(np.uint8), out=some)
    return keys


def base_weights(rows: pl.DataFrame) -> Floats:
    if "weight" in rows.columns:
        return rows["weight"].to_numpy().astype(np.float64)
    # One number seen len(rows) times.
    return np.broadcast_to(np.ones(1), (len(rows),))


def _row_figures(
    table: Table, census: Census, chosen: range, statistics: Sequence[RowStatistic], options: IntervalOptions
) -> dict[str, list[Figure]]:
    made: dict[str, list[Figure]] = {s.name: [] for s in statistics}
    rows: pl.DataFrame | None = None
    held: list[int] = []
    portions = iter(_portions(census, chosen, statistics[0]))
    for code in chosen:
        value_of_slice = census.values[code]
        n = census.n(statistics[0], value_of_slice)
        clusters = census.clusters(value_of_slice)
        values = [np.empty(0) if s.vector else np.asarray(float("nan")) for s in statistics]
        spreads: list[Floats] | None = None
        independent = clusters if clusters is not None else n
        absent = _row_interval_absent(n, independent, clusters is not None, options, most_resampled(statistics))
        if 0 < n <= MOST_ROWS:
            if code not in held:
                rows = None
                held = next(portions)
                rows = _rows_of(table, census, held, statistics, options)
            assert rows is not None
            mine = rows
            if census.by:
                mine = rows.filter(pl.col("_slice") == code)
            else:
                rows = None
            base = base_weights(mine)
            states = RowStates(statistics, mine)
            ids = None
            if not absent:
                ids = mine["_key"].to_numpy() if table.cluster else hash_ids(pl.Series(np.arange(n)))
            del mine
            values = [v[0] for v in states.values(base[None, :])]
            if ids is not None:
                spreads = _row_replicates(states, base, ids, values, options)
            del states, base
        for i, statistic in enumerate(statistics):
            low: End = None
            high: End = None
            method, why = "", absent
            if spreads is not None:
                spread = spreads[i]
                if statistic.noise_power:
                    spread = without_noise(spread, float(values[i]), statistic.noise_power, statistic.range)
                low, high = percentile(spread, options.level)
                method = ("cluster bootstrap" if table.clustered else "bootstrap") + (
                    ", noise taken out" if statistic.noise_power else ", percentile"
                )
                if low is None:
                    why = "the figure does not exist in enough replicates"
            made[statistic.name].append(
                Figure(
                    statistic.name, statistic.label, _number(np.asarray(values[i])), n, clusters,
                    census.unscored(statistic, value_of_slice), low, high, method if low is not None else "", why, {},
                    statistic.direction, statistic.range, dict(zip(census.by, value_of_slice, strict=True)),
                )
            )  # fmt: skip
    return made


def _portions(census: Census, chosen: range, statistic: RowStatistic) -> Iterator[list[int]]:
    """Slices whose rows are held together: as many as stay within what one slice may have."""
    together: list[int] = []
    total = 0
    for code in chosen:
        n = census.n(statistic, census.values[code])
        if not 0 < n <= MOST_ROWS:
            continue
        if together and total + n > MOST_ROWS:
            yield together
            together, total = [], 0
        together.append(code)
        total += n
    if together:
        yield together


def _rows_of(
    table: Table, census: Census, codes: Sequence[int], statistics: Sequence[RowStatistic], options: IntervalOptions
) -> pl.DataFrame:
    """The scored rows of some slices, sorted; which slice each belongs to is in `_slice`."""
    # Names take more room than all else: they are read where some slice is resampled.
    resampled = options.method != "none" and any(
        census.n(statistics[0], census.values[code]) <= most_resampled(statistics) for code in codes
    )
    identity = [table.cluster] if table.cluster and resampled else []
    columns = statistics[0].columns
    if not census.by:
        batches = _scored_batches(table.measurements, columns, table.derived, identity)
        return sorted_for(statistics, pl.concat([keyed(b, identity) for b in batches], how="vertical_relaxed"))
    wanted = np.zeros(len(census.values), dtype=np.bool_)
    wanted[list(codes)] = True
    parts = []
    for batch in _scored_batches(table.measurements, columns, table.derived, [*census.by, *identity]):
        found = census.codes(batch)
        assert found is not None
        part = keyed(batch.select(present([*columns, "weight", *identity], batch.schema)), identity).with_columns(
            pl.Series("_slice", found.astype(np.uint16))
        )
        parts.append(part.filter(pl.Series(wanted[found])))
    return sorted_for(statistics, pl.concat(parts, how="vertical_relaxed"))


def keyed(rows: pl.DataFrame, identity: Sequence[str]) -> pl.DataFrame:
    """The hash of the units' names in their place, in `_key`: names take more room than all else."""
    if not identity:
        return rows
    return rows.with_columns(pl.Series("_key", hash_ids(rows[identity[0]]))).drop(identity)


def most_resampled(statistics: Sequence[RowStatistic]) -> int:
    """How many rows may be resampled for these figures."""
    return MOST_SQUEEZED_ROWS if squeezable(statistics, MOST_RESAMPLED_ROWS) else MOST_RESAMPLED_ROWS


def _row_interval_absent(n: int, independent: int, clustered: bool, options: IntervalOptions, most: int) -> str:
    if n > MOST_ROWS:
        return f"figures of single rows are made up to {MOST_ROWS:,} rows: slice, or use --limit (limit=)"
    if options.method == "none":
        return "intervals were turned off"
    if n == 0:
        return "no scored rows"
    if independent < 2:
        return "one cluster alone says nothing about the others" if clustered else "one row alone"
    if n > most:
        return f"figures of single rows are resampled up to {most:,} rows: slice, or use --limit (limit=)"
    return ""


def without_noise(spread: Floats, value: float, power: int, limits: tuple[float, float]) -> Floats:
    """Replicates of a figure from 0 on with their noise and the value's own taken out, within the figure's range.

    Noise adds to such a figure in a power of it (`RowStatistic.noise_power`). Taken out of the figure itself, it would
    leave something of a figure that is truly 0.
    """
    known = spread[np.isfinite(spread)]
    if not len(known):
        return spread
    left = spread**power - 2 * (float((known**power).mean()) - value**power)
    return np.clip(np.maximum(left, 0.0) ** (1 / power), *limits)


def recentred(spread: Floats, value: float, limits: tuple[float, float]) -> Floats:
    """Replicates with their noise and the value's own taken out, within the figure's range."""
    known = spread[np.isfinite(spread)]
    if not len(known):
        return spread
    return np.clip(spread - 2 * (float(known.mean()) - value), *limits)


def replicate_steps(rows: int, replicates: int) -> list[tuple[int, int]]:
    """Replicates from … to, as many at a time as keep their weights near the cache; draws come in fours."""
    step = max(4, min(replicates, 1_000_000 // max(rows, 1)) // 4 * 4)
    return list(pairwise([*range(0, replicates, step), replicates]))


def _row_replicates(
    states: RowStates, base: Floats, ids: U64, values: Sequence[Floats], options: IntervalOptions
) -> list[Floats]:
    if squeezable(states.statistics, len(ids)):
        return squeezed_replicates(
            states.statistics, states.columns, base, ids, values, options.replicates, options.seed
        )
    keys = scramble(ids ^ seed_key(options.seed, "bootstrap"))
    out: list[list[Floats]] = []
    for first, last in replicate_steps(len(ids), options.replicates):
        out.append(states.values(poisson_weights(keys, last - first, first=first).T * base))
    return [np.concatenate([part[i] for part in out]) for i in range(len(states.statistics))]


def rows_of(measurements: Measurements, columns: Sequence[str]) -> pl.DataFrame:
    """Chosen columns of all rows, in one table."""
    return concatenated(measurements, present(columns, measurements.schema))
