"""Figures that need every row at once, in order: no sums stand for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.arrays import U64, Floats
from sensecheck.statistics.census import Census
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.intervals import Interval, percentile, why_no_interval
from sensecheck.statistics.limits import Limits, area_limits, area_variance, bounded_limits
from sensecheck.statistics.measurements import present
from sensecheck.statistics.resample import Drawing
from sensecheck.statistics.row_states import RowStates, WeightedRows
from sensecheck.statistics.squeezing import MOST_SQUEEZED_ROWS, Groups, squeezable, squeezed_replicates
from sensecheck.statistics.statistic import AnyStatistic, RowStatistic
from sensecheck.statistics.table import PIECE, Table, scored_batches

# A figure of single rows holds them all in memory …
MOST_ROWS = 20_000_000
CURVE_OF_A_SLICE = "curves have intervals over all rows, not in slices"
# … and each replicate passes over all of them.
MOST_RESAMPLED_ROWS = 1_000_000
_TOO_FEW_REPLICATES = "the figure has a value in too few replicates"


def row_groups(statistics: Sequence[AnyStatistic]) -> list[list[RowStatistic]]:
    """Row statistics that want the same rows in the same order."""
    groups: dict[tuple[Any, ...], list[RowStatistic]] = {}
    for statistic in statistics:
        if isinstance(statistic, RowStatistic):
            groups.setdefault((statistic.columns, statistic.sorted_by), []).append(statistic)
    return list(groups.values())


def columns_for(statistics: Sequence[RowStatistic], rows: pl.DataFrame) -> dict[str, NDArray[Any]]:
    """The columns that these statistics (of one group) are computed from."""
    return {c: rows[c].to_numpy() for c in statistics[0].columns}


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
        piece = packed[start : start + PIECE]
        np.bitwise_and(piece, np.uint64(1), out=flag[start : start + PIECE], casting="unsafe")
        np.right_shift(piece, np.uint64(1), out=piece)
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
        piece = keys[start : start + PIECE]
        np.left_shift(values.view(np.uint64), np.uint64(1), out=piece)
        np.bitwise_or(piece, part[beside[0]].to_numpy().view(np.uint8), out=piece)
    return keys


def base_weights(rows: pl.DataFrame) -> Floats:
    if "weight" in rows.columns:
        return rows["weight"].to_numpy().astype(np.float64)
    # One number seen len(rows) times.
    return np.broadcast_to(np.ones(1), (len(rows),))


def weighted_rows(statistics: Sequence[RowStatistic], rows: pl.DataFrame) -> WeightedRows:
    """Rows, already sorted for them, as these statistics see them."""
    return WeightedRows(RowStates(statistics, columns_for(statistics, rows)), base_weights(rows))


def row_figures(
    table: Table, census: Census, chosen: range, statistics: Sequence[RowStatistic], options: IntervalOptions
) -> dict[str, list[Figure]]:
    """By name: the figure of each chosen slice, for statistics that want the same rows in the same order."""
    figures = SettledFigures(census, statistics, options.level)
    rows: pl.DataFrame | None = None
    codes_in_rows: list[int] = []
    portions = iter(_portions(census, chosen, statistics[0]))
    units = census.units(statistics[0])
    for code in chosen:
        of_slice = census.values[code]
        n = census.n(statistics[0], of_slice)
        values = [np.empty(0) if s.vector else np.asarray(float("nan")) for s in statistics]
        spreads: dict[str, Floats] = {}
        weighted: WeightedRows | None = None
        absent = _row_interval_absent(n, census.clusters(statistics[0], of_slice), options, most_resampled(statistics))
        if 0 < n <= MOST_ROWS:
            if code not in codes_in_rows:
                rows = None
                codes_in_rows = next(portions)
                rows = _rows_of(table, census, codes_in_rows, statistics, options)
            assert rows is not None
            slice_rows = rows
            if census.by:
                slice_rows = rows.filter(pl.col("_slice") == code)
            else:
                rows = None
            weighted = weighted_rows(statistics, slice_rows)
            ids = None
            if not absent:
                ids = slice_rows["_key"].to_numpy() if table.cluster else hash_ids(pl.Series(np.arange(n)))
            del slice_rows
            values = weighted.values
            if ids is not None:
                spreads = _replicates_by_name(weighted, ids, options, curves=not census.by)
        resampling = "cluster bootstrap" if table.clustered else "bootstrap"
        for i, statistic in enumerate(statistics):
            interval: Interval | Pending = Interval(absent=absent or CURVE_OF_A_SLICE)
            if statistic.name in spreads and weighted is not None:
                there = SliceRows(n, units[code], kinds_of(statistic, weighted))
                interval = row_interval(statistic, there, values[i], spreads[statistic.name], options, resampling)
            figures.add(statistic, code, np.asarray(values[i]), interval)
    return figures.by_name()


class SettledFigures:
    """Figures slice by slice, whose intervals are found together at the end."""

    def __init__(
        self,
        census: Census,
        statistics: Sequence[RowStatistic],
        level: float,
        off_by: Mapping[str, float] | None = None,
    ) -> None:
        """off_by: how far each value may be off, by its name; its interval is so much wider."""
        self.census, self.statistics, self.level, self.off_by = census, statistics, level, off_by or {}
        self.found: dict[str, list[tuple[int, Floats, Interval | Pending]]] = {s.name: [] for s in statistics}

    def add(self, statistic: RowStatistic, code: int, value: Floats, interval: Interval | Pending) -> None:
        self.found[statistic.name].append((code, value, interval))

    def by_name(self) -> dict[str, list[Figure]]:
        figures = {}
        for statistic in self.statistics:
            found = self.found[statistic.name]
            intervals = settled([interval for _, _, interval in found], self.level)
            figures[statistic.name] = [
                self.census.figure(statistic, self.census.values[code], value, self._widened(statistic, interval))
                for (code, value, _), interval in zip(found, intervals, strict=True)
            ]
        return figures

    def _widened(self, statistic: RowStatistic, interval: Interval) -> Interval:
        off, (least, most) = self.off_by.get(statistic.name, 0.0), statistic.range
        if not off or not isinstance(interval.low, float) or not isinstance(interval.high, float):
            return interval
        low, high = max(interval.low - off, least), min(interval.high + off, most)
        bounds = None if interval.bounds is None else (min(interval.bounds[0], low), max(interval.bounds[1], high))
        return replace(interval, low=low, high=high, bounds=bounds)


def kinds_of(statistic: RowStatistic, rows: WeightedRows) -> tuple[float, float] | None:
    """How many rows of either kind there are, of an area under a ROC curve."""
    if statistic.kinds is None:
        return None
    return statistic.kinds(rows.states.states[rows.states.statistics.index(statistic)], rows.weights)


class SliceRows(NamedTuple):
    """How many rows there are, how many independent units; and of either kind, for an area under a ROC curve."""

    rows: int
    units: float
    kinds: tuple[float, float] | None


def needs_no_replicates(statistic: RowStatistic, options: IntervalOptions, clustered: bool) -> bool:
    """Whether the numbers of right and wrong rows alone tell how far an area under a ROC curve varies."""
    return statistic.kinds is not None and options.method == "auto" and not clustered


def area_of_rows(there: SliceRows, value: Floats) -> Interval | Pending:
    """The interval of such an area."""
    assert there.kinds is not None
    right, wrong = there.kinds
    # Half of all replicates would be without a row of either kind.
    if not np.isfinite(value) or -np.expm1(-right) * -np.expm1(-wrong) < 0.5:
        return Interval(absent=_TOO_FEW_REPLICATES)
    return Area(float(value), right, wrong, 1.0)


def row_interval(
    statistic: RowStatistic,
    there: SliceRows,
    value: Floats,
    spread: Floats,
    options: IntervalOptions,
    resampling: str,
) -> Interval | Pending:
    """From the replicates' variance where the figure is bounded, else from their percentiles."""  # fmt: skip
    level = options.level
    if statistic.noise_power:
        denoised = without_noise(spread, float(value), statistic.noise_power, statistic.range)
        return _of_some_width(Interval.of_ends(percentile(denoised, level), f"{resampling}, noise taken out"))
    defined = spread[np.isfinite(spread)]
    # Rounding may carry a share of all rows a last digit beyond 1.
    is_bounded = statistic.range == (0.0, 1.0) and bool((defined > -1e-9).all() and (defined < 1 + 1e-9).all())
    if options.method != "auto" or statistic.vector or not is_bounded:
        return Interval.of_ends(percentile(spread, level), f"{resampling}, percentile")
    if not np.isfinite(value) or len(defined) < len(spread) / 2:
        return Interval(absent=_TOO_FEW_REPLICATES)
    variance = float(defined.var(ddof=1))
    if there.kinds is None:
        within = min(max(float(value), 0.0), 1.0)
        return Varying(within, variance, max(there.units * statistic.part, 1.0), f"mid-P, variance by {resampling}")
    return _area(there.kinds, float(value), variance, there.units, there.rows)


class Varying(NamedTuple):
    """What the interval of a figure in [0, 1] follows from: those of many slices are found together."""

    value: float
    variance: float
    units: float
    method: str


class Area(NamedTuple):
    """The same of an area under a ROC curve."""

    value: float
    right: float
    wrong: float
    effect: float
    method: str = "Newcombe"


Pending: TypeAlias = Varying | Area


def settled(found: Sequence[Interval | Pending], level: float) -> list[Interval]:
    """All of them as intervals."""
    varying = [one for one in found if isinstance(one, Varying)]
    areas = [one for one in found if isinstance(one, Area)]
    value, variance, units = np.array([one[:3] for one in varying]).reshape(-1, 3).T
    of_varying = _ends(bounded_limits(value, variance, units, level)) if varying else iter(())
    area, right, wrong, effect = np.array([one[:4] for one in areas]).reshape(-1, 4).T
    of_areas = _ends(area_limits(area, right, wrong, effect, level)) if areas else iter(())
    intervals = []
    for one in found:
        if isinstance(one, Interval):
            intervals.append(one)
        else:
            low, high, surely_low, surely_high = next(of_varying if isinstance(one, Varying) else of_areas)
            intervals.append(Interval(low, high, one.method, bounds=(surely_low, surely_high)))
    return intervals


def _ends(limits: Limits) -> Iterator[tuple[float, ...]]:
    return iter(zip(*(end.tolist() for end in limits), strict=True))


def _area(kinds: tuple[float, float], value: float, variance: float, units: float, rows: int) -> Area:
    """Newcombe's limits; clusters count by how much more the replicates vary than independent rows would."""
    effect = 1.0
    if units < rows:
        independent = float(area_variance(np.asarray(value), np.asarray(kinds[0]), np.asarray(kinds[1])))
        # Where everything is in order, nothing varies, and each cluster counts once.
        effect = rows / units
        if independent > 0 and variance > 0:
            effect = min(max(variance / independent, 1.0), effect)
    return Area(value, *kinds, effect)


def _of_some_width(interval: Interval) -> Interval:
    """No interval where all replicates agree: that nothing was seen to vary does not make a figure certain."""
    if isinstance(interval.low, float) and isinstance(interval.high, float) and interval.high - interval.low < 1e-12:
        return Interval(absent="every replicate has the same value, which says nothing about other rows")
    return interval


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
        batches = scored_batches(table.measurements, columns, table.derived, identity)
        return sorted_for(statistics, pl.concat([keyed(b, identity) for b in batches], how="vertical_relaxed"))
    is_chosen = np.zeros(len(census.values), dtype=np.bool_)
    is_chosen[list(codes)] = True
    parts = []
    for batch in scored_batches(table.measurements, columns, table.derived, [*census.by, *identity]):
        slice_codes = census.codes(batch)
        assert slice_codes is not None
        part = keyed(batch.select(present([*columns, "weight", *identity], batch.schema)), identity).with_columns(
            pl.Series("_slice", slice_codes.astype(np.uint16))
        )
        parts.append(part.filter(pl.Series(is_chosen[slice_codes])))
    return sorted_for(statistics, pl.concat(parts, how="vertical_relaxed"))


def keyed(rows: pl.DataFrame, identity: Sequence[str]) -> pl.DataFrame:
    """The hash of the units' names in their place, in `_key`: names take more room than all else."""
    if not identity:
        return rows
    return rows.with_columns(pl.Series("_key", hash_ids(rows[identity[0]]))).drop(identity)


def most_resampled(statistics: Sequence[RowStatistic]) -> int:
    """How many rows may be resampled for these figures."""
    return MOST_SQUEEZED_ROWS if squeezable(statistics, MOST_RESAMPLED_ROWS) else MOST_RESAMPLED_ROWS


def _row_interval_absent(n: int, clusters: int | None, options: IntervalOptions, most: int) -> str:
    if n > MOST_ROWS:
        return f"figures that need all rows at once take at most {MOST_ROWS:,} rows: slice, or use --limit (limit=)"
    absent = why_no_interval(options, n, clusters)
    if not absent and n > most:
        return f"figures that need all rows at once resample at most {most:,} rows: slice, or use --limit (limit=)"
    return absent


def without_noise(spread: Floats, value: float, power: int, limits: tuple[float, float]) -> Floats:
    """Replicates of a figure from 0 on with their noise and the value's own taken out, within the figure's range.

    Noise adds to such a figure in a power of it (`RowStatistic.noise_power`). Taken out of the figure itself, it would
    leave something of a figure that is truly 0.
    """
    defined = spread[np.isfinite(spread)]
    if not len(defined):
        return spread
    remaining = spread**power - 2 * (float((defined**power).mean()) - value**power)
    return np.clip(np.maximum(remaining, 0.0) ** (1 / power), *limits)


def replicate_steps(rows: int, replicates: int) -> list[tuple[int, int]]:
    """Replicates from … to, as many at a time as keep their weights near the cache; draws come in fours."""
    step = max(4, min(replicates, 1_000_000 // max(rows, 1)) // 4 * 4)
    return list(pairwise([*range(0, replicates, step), replicates]))


def _replicates_by_name(rows: WeightedRows, ids: U64, options: IntervalOptions, *, curves: bool) -> dict[str, Floats]:
    """Replicates of each statistic by its name; of curves only where they are asked for."""
    shown = [s for s in rows.states.statistics if curves or not s.vector]
    if not shown:
        return {}
    states = rows.states if len(shown) == len(rows.states.statistics) else RowStates(shown, rows.states.columns)
    replicates = row_replicates(WeightedRows(states, rows.weights), ids, Drawing.bootstrap(options))
    return {s.name: spread for s, spread in zip(shown, replicates, strict=True)}


def joined_steps(steps: Sequence[Sequence[Floats]]) -> list[Floats]:
    """All replicates of each statistic, from some replicates of all statistics at a time."""
    return [np.concatenate(parts) for parts in zip(*steps, strict=True)]


def row_replicates(rows: WeightedRows, ids: U64, drawing: Drawing) -> list[Floats]:
    statistics = rows.states.statistics
    if squeezable(statistics, len(ids)):
        groups = Groups(ids)
        return squeezed_replicates(rows, ids, groups, groups.weights(drawing))
    keys = drawing.keys(ids)
    steps: list[list[Floats]] = []
    for first, last in replicate_steps(len(ids), drawing.replicates):
        steps.append(rows.states.values(drawing.weights(keys, last - first, first).T * rows.weights))
    return joined_steps(steps)
