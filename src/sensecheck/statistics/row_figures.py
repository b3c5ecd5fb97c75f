"""Figures that need every row at once, in order: no sums stand for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.census import Census
from sensecheck.statistics.figure import Figure, IntervalOptions, as_number
from sensecheck.statistics.hashing import U64, hash_ids, scramble, seed_key
from sensecheck.statistics.intervals import End, percentile
from sensecheck.statistics.measurements import Measurements, concatenated, present
from sensecheck.statistics.resample import poisson_weights
from sensecheck.statistics.squeezing import MOST_SQUEEZED_ROWS, squeezable, squeezed_replicates
from sensecheck.statistics.statistic import AnyStatistic, RowStatistic
from sensecheck.statistics.table import PIECE, Table, scored_batches

Floats = NDArray[np.float64]

# A figure of single rows holds them all in memory …
MOST_ROWS = 20_000_000
# … and each replicate passes over all of them.
MOST_RESAMPLED_ROWS = 1_000_000


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


def row_figures(
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
                    statistic.name, statistic.label, as_number(np.asarray(values[i])), n, clusters,
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
        batches = scored_batches(table.measurements, columns, table.derived, identity)
        return sorted_for(statistics, pl.concat([keyed(b, identity) for b in batches], how="vertical_relaxed"))
    wanted = np.zeros(len(census.values), dtype=np.bool_)
    wanted[list(codes)] = True
    parts = []
    for batch in scored_batches(table.measurements, columns, table.derived, [*census.by, *identity]):
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
