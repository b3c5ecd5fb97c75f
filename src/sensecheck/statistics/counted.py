"""Very many rows of a number from 0 to 1 and a true/false, counted on a fixed grid: every figure of them follows.

Figures of the order of rows (AUROC, a risk–coverage curve) see the cells as rows that weigh as much as they hold.
Resampling sees stretches of neighbouring cells: rows that are drawn anew with replacement fall into a stretch in a
number that is Poisson distributed about what it holds, so that a replicate costs as much as there are stretches,
however many rows there are. Rows that belong together are drawn in random groups of their clusters.

Counts of any split of the rows add up to the same, whatever the order, and with them every digit here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.arrays import U64, Flags, Floats, Indexes, Ints
from sensecheck.statistics.binning import bin_index
from sensecheck.statistics.grid import Grid
from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.quantile_draws import QuantileDraws
from sensecheck.statistics.resample import Drawing
from sensecheck.statistics.row_states import RowStates
from sensecheck.statistics.statistic import ONE, AnyStatistic, RowStatistic, Statistic

if TYPE_CHECKING:
    from sensecheck.statistics.census import Census
    from sensecheck.statistics.measurements import Measurements
    from sensecheck.statistics.summing import Layout
    from sensecheck.statistics.table import Table

COUNTED_ABOVE = 200_000
"""With fewer rows, every figure is that of the rows themselves."""
RESAMPLED_ABOVE = 20_000
"""With fewer rows, each of them is resampled by itself."""
# Counts are held for as many slices at a time as fit into so many cells.
_MOST_CELLS = 1 << 24
_STRETCHES, _FEWEST_STRETCHES, _ROWS_A_STRETCH = 1024, 128, 4096
_MANY = 16
# Places of so many rows are held and sorted; of more, slices are counted cell by cell.
_MOST_PLACES = 20_000_000
# A product of so many terms stays on one thread (OpenBLAS begins others from 262,144 on).
_ONE_THREAD = 200_000
# A Poisson number of a mean below that is smaller, but for one in 10^16.
_MOST_OF_FEW = 64
_GROUPS, _OWN_GROUPS = 2048, 4096
# Weights of groups × stretches are held for as many slices at a time as fit.
_MOST_GROUPED = 12_000_000
# Neighbouring cells so many of which still differ too little to show in how much rows vary.
_ALIKE_CELLS = 4
TOO_COARSE = 1e-4
"""Where the order within cells could change a figure by more, rows are looked at themselves if they can be held."""
CROWDED = 1e-3
"""The same for the AUROC of one slice, whose rows may lie in fewer cells than those of the run."""


@dataclass(frozen=True)
class Pair:
    """The two columns that are counted: a number in [0, 1], and a true/false."""

    number: str
    flag: str

    @classmethod
    def of(cls, statistics: Sequence[AnyStatistic]) -> Pair | None:
        """What figures of the order of rows look at, where all look at the same."""
        ordered = {(s.sorted_by, s.columns) for s in statistics if isinstance(s, RowStatistic) and s.on_grid}
        if len(ordered) != 1:
            return None
        by, columns = ordered.pop()
        (flag,) = (column for column in columns if column != by)
        return cls(by, flag)


def pair_of(measurements: Measurements, statistics: Sequence[AnyStatistic]) -> Pair | None:
    """The pair that is counted on a grid, where there are so many rows: of the whole run, not of a part of it."""
    pair = Pair.of(statistics) if measurements.height > min(RESAMPLED_ABOVE, COUNTED_ABOVE) else None
    schema = measurements.schema
    # Weights may differ a millionfold, which counts do not hold: weighted rows are looked at one by one.
    if pair is None or "weight" in schema:
        return None
    return pair if schema.get(pair.number) == pl.Float64 and schema.get(pair.flag) == pl.Boolean else None


@dataclass(frozen=True)
class Counted:
    """The rows of one slice: how many are in which cell of the grid, told apart by the flag."""

    grid: Grid
    cell: Indexes
    """Ascending; of equal ones the false come first. Only those that hold rows."""
    flag: Flags
    rows: Ints

    @property
    def weight(self) -> Floats:
        return self.rows.astype(np.float64)

    @property
    def number(self) -> Floats:
        return self.grid.middles[self.cell]

    @property
    def kinds(self) -> tuple[float, float]:
        """How many true and false rows there are."""
        return float(self.rows[self.flag].sum()), float(self.rows[~self.flag].sum())

    def of_numbers(self) -> Counted:
        """The same with true and false together."""
        cell, at = np.unique(self.cell, return_inverse=True)
        rows = np.bincount(at, weights=self.rows, minlength=len(cell)).astype(np.int64)
        return Counted(self.grid, cell, np.zeros(len(cell), dtype=np.bool_), rows)

    def columns(self, pair: Pair) -> dict[str, NDArray[np.generic]]:
        return {pair.number: self.number, pair.flag: self.flag}

    def values(self, table: Table, column: str) -> Floats:
        """A column that follows from the pair, for every entry."""
        return table.of_cells(column)[self.cell * 2 + self.flag]


def most_off(counts: Counts, pair: Pair, statistics: Sequence[RowStatistic]) -> dict[str, float]:
    """By name: how far figures of the order of rows may be from those of the rows themselves, with all true rows of
    every cell before its false ones, and after them, but for cells of equals.
    """
    counted, off = counts.of_slice(0), dict.fromkeys((s.name for s in statistics), 0.0)
    if not statistics or not len(counted.cell):
        return off
    values = RowStates(statistics, counted.columns(pair)).values(counted.weight[None, :])
    mixed = counts.mixed[counted.cell] if counts.held is not None else np.ones(len(counted.cell), dtype=np.bool_)
    for first in (False, True):
        number = counted.cell * 2 + (mixed & (counted.flag == first))
        order = np.argsort(number, kind="stable")
        columns = {pair.number: number[order] / (2 * counted.grid.size), pair.flag: counted.flag[order]}
        extremes = RowStates(statistics, columns).values(counted.weight[order][None, :])
        for statistic, value, extreme in zip(statistics, values, extremes, strict=True):
            change = np.abs(extreme - value)
            off[statistic.name] = max(off[statistic.name], float(change[np.isfinite(change)].max(initial=0.0)))
    return off


def is_crowded(counted: Counted, mixed: Flags | None) -> bool:
    """Whether a slice holds so many pairs of a true and a false row in one cell that their order matters.

    mixed: which cells hold different numbers; all may, where nobody looked.
    """
    cell, at = np.unique(counted.cell, return_inverse=True)
    true, false = (
        np.bincount(at, weights=np.where(counted.flag == kind, counted.rows, 0), minlength=len(cell))
        for kind in (True, False)
    )
    pairs = true * false if mixed is None else true * false * mixed[cell]
    return bool(pairs.sum() > 2 * CROWDED * true.sum() * false.sum())


def portions(chosen: range, table: Table) -> Iterator[range]:
    """Slices whose counts are held at a time."""
    step = max(1, _MOST_CELLS // (2 * table.grid.size))
    for start in range(chosen.start, chosen.stop, step):
        yield range(start, min(start + step, chosen.stop))


class Counts:
    """The counts of some slices, cell by cell."""

    def __init__(self, table: Table, grid: Grid, slices: int) -> None:
        self.grid, self.slices = grid, slices
        cells = slices * grid.size * 2
        self.rows: NDArray[Any] = np.zeros(cells, dtype=np.uint32 if table.measurements.height < 1 << 32 else np.int64)
        self.held: Floats | None = None
        """Of each cell, a number that it holds …"""
        self.mixed = np.zeros(0, dtype=np.bool_)
        """… and whether it holds others too: where it does not, its rows are equals, and nothing is lost."""

    def look_for_equals(self) -> None:
        """Have it seen, from here on, which cells hold one number alone."""
        self.held, self.mixed = np.full(self.grid.size, np.nan), np.zeros(self.grid.size, dtype=np.bool_)

    def _look(self, cell: Indexes, number: Floats) -> None:
        assert self.held is not None
        fresh = np.isnan(self.held[cell])
        if fresh.any():
            self.held[cell[fresh]] = number[fresh]
        self.mixed[cell[self.held[cell] != number]] = True

    def add(self, codes: Indexes | None, number: Floats, flag: Flags) -> None:
        place = self.grid.cell_of(number)
        if self.held is not None:
            self._look(place, number)
        if codes is not None:
            place += codes * self.grid.size
        place *= 2
        place += flag
        np.add.at(self.rows, place, self.rows.dtype.type(1))

    def of_slice(self, at: int) -> Counted:
        cells = slice(at * self.grid.size * 2, (at + 1) * self.grid.size * 2)
        place = np.flatnonzero(self.rows[cells])
        rows = self.rows[cells][place].astype(np.int64)
        return Counted(self.grid, place >> 1, (place & 1).astype(np.bool_), rows)


def counted_slices(table: Table, census: Census) -> Iterator[tuple[range, Callable[[int], Counted]]]:
    """All slices, some at a time; and what tells the counts of one of these by its place among them."""
    chosen = range(len(census.values))
    if census.by and table.measurements.height <= _MOST_PLACES:
        places = _sorted_places(table, census)
        for some in portions(chosen, table):
            yield some, partial(_of_places, places, table.grid, some)
        return
    for some in portions(chosen, table):
        yield some, _counted_rows(table, census, some).of_slice


def _counted_rows(table: Table, census: Census, chosen: range) -> Counts:
    """Count the rows of some slices that have both columns of the pair."""
    assert table.pair is not None
    if not census.by and table.counts is not None:
        return table.counts
    counts = Counts(table, table.grid, len(chosen))
    for batch in table.scored([table.pair.number, table.pair.flag], census.by):
        codes, batch = census.within(batch, chosen)
        if len(batch):
            counts.add(codes, *_of_batch(batch, table.pair))
    if not census.by:
        table.counts = counts
    return counts


def _sorted_places(table: Table, census: Census) -> NDArray[Any]:
    """Of every row that has both columns its slice, cell and flag in one number: one pass for all slices."""
    assert table.pair is not None
    cells = len(census.values) * table.grid.size * 2
    parts: list[NDArray[Any]] = [np.empty(0, dtype=np.uint32 if cells < 1 << 32 else np.uint64)]
    for batch in table.scored([table.pair.number, table.pair.flag], census.by):
        codes = census.codes(batch)
        assert codes is not None
        number, flag = _of_batch(batch, table.pair)
        place = (codes * table.grid.size + table.grid.cell_of(number)) * 2 + flag
        parts.append(place.astype(parts[0].dtype))
    places = np.concatenate(parts)
    places.sort()
    return places


def _of_places(places: NDArray[Any], grid: Grid, some: range, at: int) -> Counted:
    begin = some[at] * grid.size * 2
    first, last = np.searchsorted(places, np.array([begin, begin + grid.size * 2], dtype=places.dtype))
    of_slice = places[first:last]
    is_new = np.ones(len(of_slice), dtype=np.bool_)
    np.not_equal(of_slice[1:], of_slice[:-1], out=is_new[1:])
    starts = np.flatnonzero(is_new)
    place = of_slice[starts].astype(np.intp) - begin
    rows = np.diff(np.append(starts, len(of_slice)))
    return Counted(grid, place >> 1, (place & 1).astype(np.bool_), rows)


def _of_batch(batch: pl.DataFrame, pair: Pair) -> tuple[Floats, Flags]:
    return batch[pair.number].to_numpy(), batch[pair.flag].to_numpy()


class Stretches:
    """Counted rows in stretches of neighbouring cells, none of which lies in two bins: entries are stretch × flag."""

    def __init__(self, counted: Counted, edges: Sequence[Floats]) -> None:
        self.counted = counted
        grid = counted.grid
        cuts = [grid.cell_of(inner[1:-1]) for inner in edges if len(inner) > 2]
        self.starts = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *cuts]))
        upto = np.cumsum(counted.rows)
        number = int(np.clip(upto[-1] // _ROWS_A_STRETCH, _FEWEST_STRETCHES, _STRETCHES))
        even = counted.cell[np.searchsorted(upto, np.arange(1, number) * (upto[-1] / number)).clip(max=len(upto) - 1)]
        # Where edges of bins lie close enough, nothing needs to be cut between them.
        edges_before = np.searchsorted(self.starts, even, side="right")
        self.starts = np.union1d(self.starts, even[np.diff(edges_before, prepend=0) == 0])
        """The cells at which stretches begin, but for the first."""
        self.size = 2 * (len(self.starts) + 1)
        self.entry = self.entry_of(counted.cell, counted.flag)
        self.weight = self._sum(counted.weight)
        self.flag = np.arange(self.size) % 2 == 1
        both = self.weight[::2] + self.weight[1::2]
        total = self._sum(counted.weight * counted.number)
        held = np.flatnonzero(both > 0)
        middle = np.interp(np.arange(len(both)), held, (total[::2] + total[1::2])[held] / both[held])
        self.number = np.repeat(middle, 2)
        """The mean number of a stretch; what lies between its neighbours' where it holds nothing."""

    def entry_of(self, cell: Indexes, flag: Flags) -> Indexes:
        return np.searchsorted(self.starts, cell, side="right") * 2 + flag

    def _sum(self, of_cells: Floats) -> Floats:
        return np.asarray(np.bincount(self.entry, weights=of_cells, minlength=self.size), dtype=np.float64)

    def mean(self, of_cells: Floats) -> Floats:
        """Of a column of the counted entries: its mean in each stretch and flag."""
        total = self._sum(self.counted.weight * of_cells)
        return np.divide(total, self.weight, out=np.zeros(self.size), where=self.weight > 0)


class PoissonDraws:
    """Poisson numbers of any means."""

    def __init__(self, drawing: Drawing) -> None:
        self.draws = QuantileDraws(drawing.replicates, drawing.seed, "counted")

    def of(self, means: Floats) -> Floats:
        """The means themselves and then their replicates × means; those of each lie side by side."""
        normal = self.draws.normal
        table = np.empty((len(means), len(normal) + 1))
        table[:, 0] = means
        quantiles = table[:, 1:]
        # Normal with the Poisson numbers' own skewness: the same for so many.
        np.multiply(np.sqrt(means)[:, None], normal, out=quantiles)
        quantiles += (normal**2 - 1) / 6
        quantiles += means[:, None]
        few = np.flatnonzero(means < _MANY)
        numbers = np.arange(_MOST_OF_FEW)
        ratios = np.where(numbers == 0, 1.0, means[few, None] / np.maximum(numbers, 1))
        quantiles[few] = self.draws.whole_numbers(np.exp(-means[few])[:, None] * np.cumprod(ratios, axis=1))
        return self.draws.shuffled(table, first=1).T


def counted_numbers(table: Table, *, equals: bool = False) -> Counted:
    """All rows that have the number, whether or not they have the flag; those that have it are kept in `table.counts`.

    equals: see which cells hold one number alone; it takes as long as counting.
    """
    assert table.pair is not None
    counts, others = Counts(table, table.grid, 1), Counts(table, table.grid, 1)
    if equals:
        counts.look_for_equals()
    flag = pl.col(table.pair.flag)
    for batch in table.scored([table.pair.number], [table.pair.flag]):
        if batch[table.pair.flag].null_count():
            without = batch.filter(flag.is_null()).with_columns(flag.fill_null(False))
            others.add(None, *_of_batch(without, table.pair))
            batch = batch.filter(flag.is_not_null())
        counts.add(None, *_of_batch(batch, table.pair))
    table.counts = counts
    others.rows += counts.rows
    return others.of_slice(0).of_numbers()


Resampled: TypeAlias = tuple[Stretches, Floats] | tuple[None, None]
"""The stretches of a slice; and what each entry weighs, first in the slice itself and then in every replicate, with
those of an entry side by side in memory. Nothing where there is no interval."""


class GroupedDraws:
    """The same where rows belong together: random groups of clusters are drawn, and what is in them weighs alike."""

    def __init__(self, table: Table, drawing: Drawing) -> None:
        self.table = table
        own = table.cluster_keys(_OWN_GROUPS)
        self.own: U64 | None = own
        self.keys: U64 = np.arange(_GROUPS, dtype=np.uint64) if own is None else own
        drawn = drawing.weights(drawing.keys(self.keys), drawing.replicates, 0)
        self.drawn = np.concatenate([np.ones((len(drawn), 1)), drawn], axis=1)

    def by_slice(self, census: Census, chosen: range, slices: Mapping[int, Stretches]) -> Callable[[int], Resampled]:
        """The draws of slices by their place among the chosen ones, asked for in order; none of those left out."""
        held: dict[int, Floats] = {}

        def one(at: int) -> Resampled:
            if at not in slices:
                return None, None
            if at not in held:
                held.clear()
                places = self._portion([place for place in slices if place >= at], slices)
                # Slices between those that are resampled are counted as well: it does no harm.
                some = range(chosen[places[0]], chosen[places[-1]] + 1)
                stretches = [slices.get(place, slices[at]) for place in range(places[0], places[-1] + 1)]
                weights = self._weights(census, some, stretches)
                held.update((place, weights[place - places[0]]) for place in places)
            return slices[at], (held[at].T @ self.drawn).T

        return one

    def _portion(self, places: Sequence[int], slices: Mapping[int, Stretches]) -> list[int]:
        """So many of the places, from the first on, as are held together."""
        sizes = np.cumsum([slices[place].size * len(self.keys) for place in places])
        return list(places[: max(1, int(np.searchsorted(sizes, _MOST_GROUPED, side="right")))])

    def _weights(self, census: Census, chosen: range, stretches: Sequence[Stretches]) -> list[Floats]:
        """Of some slices: what each group weighs in every entry, groups × entries."""
        table, pair = self.table, self.table.pair
        assert pair is not None and table.cluster is not None
        sizes = np.array([one.size for one in stretches])
        offsets = np.concatenate([[0], np.cumsum(sizes * len(self.keys))])
        sums = np.zeros(int(offsets[-1]), dtype=np.int64)
        grid = stretches[0].counted.grid
        cells = np.arange(grid.size)
        entries = np.stack([one.entry_of(cells, np.zeros(1, dtype=np.bool_)).astype(np.int32) for one in stretches])
        for batch in table.scored([pair.number, pair.flag], [*census.by, table.cluster]):
            codes, batch = census.within(batch, chosen)
            if not len(batch):
                continue
            number, flag = _of_batch(batch, pair)
            at = np.zeros(len(batch), dtype=np.intp) if codes is None else codes
            place = entries[at, grid.cell_of(number)] + flag
            group = self._group(hash_ids(batch[table.cluster]))
            place = place + offsets[at] + group * sizes[at]
            np.add.at(sums, place, 1)
        parts = (sums[offsets[i] : offsets[i + 1]] for i in range(len(stretches)))
        return [part.reshape(len(self.keys), -1).astype(np.float64) for part in parts]

    def _group(self, ids: U64) -> Indexes:
        if self.own is None:
            return (ids & np.uint64(_GROUPS - 1)).astype(np.intp)
        return np.searchsorted(self.own, ids)


def replicated(
    table: Table,
    stretches: Stretches,
    draws: Floats,
    layout: Layout,
    needed: Sequence[set[int]],
    points: Sequence[Floats],
) -> list[Floats]:
    """The sums of one slice in every replicate, by binning: replicates × bins × columns of the binning.

    `needed`: which columns of each binning are wanted; others are NaN. `points` are the slice's own sums:
    a stretch has the mean of its rows, and what that leaves out of a bin's sum (the width of cells) is put back.
    """
    names = [column for column, _ in layout.columns]
    used = layout.columns_by_binning
    wanted = {columns[k] for columns, some in zip(used, needed, strict=True) for k in some}
    known = {ONE, table.pair.number, table.pair.flag} if table.pair is not None else {ONE}
    means = {
        j: np.ones(stretches.size) if name == ONE else stretches.mean(stretches.counted.values(table, name))
        for j, name in enumerate(names)
        if j in wanted and (name == ONE or table.roots([name]) <= known)
    }
    entries = draws.T
    begins = np.concatenate([[0.0], stretches.counted.grid.lower_ends[stretches.starts]])
    sums = []
    for (_, edges), size, columns, point, some in zip(layout.bins, layout.sizes(), used, points, needed, strict=True):
        of_binning = np.full((len(columns), size, len(draws) - 1), np.nan)
        summed = [k for k in sorted(some) if columns[k] in means]
        sums.append(of_binning.transpose(2, 1, 0))
        if not summed:
            continue
        target = np.zeros(len(begins), dtype=np.intp) if edges is None else bin_index(begins, edges)
        firsts = np.flatnonzero(np.concatenate([[True], target[1:] != target[:-1]]))
        filled = target[firsts]
        # How many rows there are, and each column that is summed.
        of_rows = np.stack([np.ones(stretches.size), *(means[columns[k]] for k in summed)])
        totals = np.empty((len(filled), len(of_rows), entries.shape[1]))
        # Larger products wake threads in `matmul`, which then wait at the processor's cost.
        largest = int(np.diff(2 * firsts, append=stretches.size).max()) * of_rows.size // stretches.size * len(draws)
        multiply = np.matmul if largest <= _ONE_THREAD else partial(np.einsum, "ce,er->cr")
        for at, (begin, end) in enumerate(pairwise([*(2 * firsts).tolist(), stretches.size])):
            multiply(of_rows[:, begin:end], entries[begin:end], out=totals[at])
        rows = totals[:, 0]
        for place, k in enumerate(summed, start=1):
            total = totals[:, place]
            short = np.divide(
                point[filled, k] - total[:, 0], rows[:, 0], out=np.zeros(len(filled)), where=rows[:, 0] > 0
            )
            of_binning[k] = 0.0
            of_binning[k][filled] = total[:, 1:] + rows[:, 1:] * short[:, None] if short.any() else total[:, 1:]
    return sums


def like_units(counted: Counted, of_cells: Floats) -> tuple[Floats, Floats]:
    """Rows that differ too little to matter, taken together: the mean of each column, and how many rows there are.

    `of_cells`: cells × flags, then columns: the columns of every cell, of false and of true rows.
    """
    if not len(counted.cell):
        return np.empty((0, of_cells.shape[1])), np.empty(0)
    order = np.concatenate([np.flatnonzero(~counted.flag), np.flatnonzero(counted.flag)])
    cell, flag, rows = counted.cell[order], counted.flag[order], counted.weight[order]
    kind = (cell >> _ALIKE_CELLS) * 2 + flag
    starts = np.flatnonzero(np.concatenate([[True], kind[1:] != kind[:-1]]))
    number = np.add.reduceat(rows, starts)
    values = of_cells.take(cell * 2 + flag, axis=0)
    values *= rows[:, None]
    return np.add.reduceat(values, starts, axis=0) / number[:, None], number


def tells(table: Table, statistic: Statistic) -> bool:
    """Whether the sums of a figure follow from the pair: it looks at nothing else, in bins of the number."""
    if table.pair is None or (statistic.bins is not None and statistic.bins.column != table.pair.number):
        return False
    of_rule = statistic.interval_sums if statistic.interval is None else ()
    known = {table.pair.number, table.pair.flag}
    return known.issuperset(table.roots([*statistic.columns, *of_rule]))
