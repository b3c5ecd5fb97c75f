"""Replicates of figures of single rows without the rows: neighbours are taken together.

AUROC, AURC and their like see the rows in the order of one column. Where there are very many, a thousand stretches of
neighbours tell the same of how a figure varies: a replicate then needs the weights of the stretches, not of the rows.
The units that are resampled are put into groups, each group's weight in every stretch is added up once, and all
replicates together are one matrix product. Time and memory no longer grow with rows × replicates.

Nothing here depends on the order of rows or threads: weights lie on a grid on which all sums are exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensecheck.statistics.arrays import U64, Flags, Floats, Indexes
from sensecheck.statistics.resample import Drawing
from sensecheck.statistics.row_states import RowStates, WeightedRows
from sensecheck.statistics.statistic import RowStatistic

SQUEEZED_ABOVE = 32_768
"""With fewer rows every row has a weight of its own."""
MOST_SQUEEZED_ROWS = 5_000_000
_STRETCHES = 1024
_GROUPS = 2048
# Up to so many units, each is a group of its own: the bootstrap of units, to the letter.
_OWN_GROUPS = 4096
# A Poisson(1) weight above this does not occur: `poisson_weights` ends there.
_LARGEST_WEIGHT = 16
_BLOCK = 1 << 18


def squeezable(statistics: Sequence[RowStatistic], rows: int) -> bool:
    return rows > SQUEEZED_ABOVE and all(s.of_neighbours for s in statistics)


class Groups:
    """The units to resample, in groups: which group each row is in, and the key that draws the group's weights."""

    def __init__(self, ids: U64) -> None:
        # Sixteen bits of the hash show many units without sorting them.
        hashes_seen = np.zeros(1 << 16, dtype=np.bool_)
        for start in range(0, len(ids), _BLOCK):
            hashes_seen[(ids[start : start + _BLOCK] >> np.uint64(40)) & np.uint64(0xFFFF)] = True
        self._own: U64 | None = None
        if np.count_nonzero(hashes_seen) <= _OWN_GROUPS:
            own = np.unique(ids)
            self._own = own if len(own) <= _OWN_GROUPS else None
        self.keys: U64 = np.arange(_GROUPS, dtype=np.uint64) if self._own is None else self._own

    def of(self, ids: U64) -> Indexes:
        if self._own is None:
            return (ids & np.uint64(_GROUPS - 1)).astype(np.intp)
        return np.searchsorted(self._own, ids)

    def weights(self, drawing: Drawing) -> Floats:
        """Replicates × groups."""
        return drawing.weights(drawing.keys(self.keys), drawing.replicates, 0).T.astype(np.float64)


class Squeezed:
    """Rows sorted for a group of statistics, as stretches of neighbours."""

    def __init__(self, statistics: Sequence[RowStatistic], columns: Mapping[str, NDArray[Any]]) -> None:
        by = statistics[0].sorted_by
        values = columns[by]
        rows = len(values)
        runs = np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])
        starts = runs
        if len(runs) > _STRETCHES:
            even = np.linspace(0, rows, _STRETCHES, endpoint=False).astype(np.intp)
            # Equal values stay together.
            starts = np.unique(runs[np.searchsorted(runs, even).clip(max=len(runs) - 1)])
        sizes = np.diff(starts, append=rows)
        (flag,) = (c for c in columns if c != by)
        self.cell = np.repeat(np.arange(len(starts), dtype=np.int32) * 2, sizes)
        self.cell += np.asarray(columns[flag], dtype=np.bool_)
        self.cells = 2 * len(starts)
        middles = np.add.reduceat(values, starts) / sizes
        by_cell = {by: np.repeat(middles, 2), flag: np.tile([False, True], len(starts))}
        self.states = RowStates(statistics, by_cell)

    def weights(self, groups: Groups, ids: U64, base: Floats, chosen: Flags | None = None) -> Floats:
        """The weight of each group's rows (or the chosen ones) in every cell: groups × cells, on an exact grid."""
        sums = np.zeros(len(groups.keys) * self.cells)
        total = float(base.sum()) if len(base) else 0.0
        bits = min(40, 52 - ceil(log2(max(total * _LARGEST_WEIGHT, 1.0))))
        for start in range(0, len(ids), _BLOCK):
            part = slice(start, start + _BLOCK)
            weight = np.ldexp(np.rint(np.ldexp(base[part], bits)), -bits)
            if chosen is not None:
                weight = weight * chosen[part]
            place = groups.of(ids[part]) * self.cells + self.cell[part]
            np.add.at(sums, place, weight)
        return sums.reshape(-1, self.cells)

    def values(self, weights: Floats) -> list[Floats]:
        """One array of values a statistic, replicates first. `weights`: replicates × cells."""
        return self.states.values(weights)


def squeezed_replicates(rows: WeightedRows, ids: U64, groups: Groups, group_weights: Floats) -> list[Floats]:
    """Replicates of each statistic, moved by what taking neighbours together does to its value.

    `ids` are the hashes of the rows' units; `group_weights` has replicates × groups.
    """
    squeezed = Squeezed(rows.states.statistics, rows.states.columns)
    cells = squeezed.weights(groups, ids, rows.weights)
    approximate = squeezed.values(cells.sum(axis=0)[None, :])
    spreads = squeezed.values(group_weights @ cells)
    return [spread + (value - near[0]) for spread, value, near in zip(spreads, rows.values, approximate, strict=True)]
