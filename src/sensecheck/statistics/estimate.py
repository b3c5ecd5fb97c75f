"""From measurements to figures: one pass to count, one to sum and resample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.census import Census
from sensecheck.statistics.figure import Figure, IntervalOptions, as_number
from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.intervals import End, acceleration, bca, percentile
from sensecheck.statistics.measurements import Measurements
from sensecheck.statistics.row_figures import row_figures, row_groups
from sensecheck.statistics.statistic import Anchors, AnyStatistic, RowStatistic, Statistic
from sensecheck.statistics.summing import Layout, Summed, as_matrix, sum_distinct, sum_rows
from sensecheck.statistics.table import Slice, Table, scored_batches, scored_rows

Floats = NDArray[np.float64]

# More rows than this are never held side by side where there is another way.
MANY_ROWS = 20_000_000
# Bootstrap sums of one slicing are held for as many slice values at a time as fit in this many numbers.
_HELD_NUMBERS = 24_000_000


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
                batches = scored_batches(measurements, anchor.columns, statistic.derived)
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
            summed = sum_distinct(table, census, chosen, layout, options if resample else None)
        else:
            summed = sum_rows(table, census, chosen, layout, options if resample else None)
        for statistic in group:
            which, columns = layout.pick(statistic)
            made[statistic.name] = [
                _figure(table, census, statistic, code, at, summed, which, columns, anchors, options, discrete)
                for at, code in enumerate(chosen)
            ]
    for together in row_groups(table.statistics):
        made.update(row_figures(table, census, chosen, together, options))
    return [[made[s.name][at] for s in table.statistics] for at in range(len(chosen))]


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
        as_number(value),
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
