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

from sensecheck.statistics.hashing import U64, scramble, seed_key
from sensecheck.statistics.resample import Draw, poisson_weights
from sensecheck.statistics.statistic import RowStatistic

Floats = NDArray[np.float64]

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
        seen = np.zeros(1 << 16, dtype=np.bool_)
        for start in range(0, len(ids), _BLOCK):
            seen[(ids[start : start + _BLOCK] >> np.uint64(40)) & np.uint64(0xFFFF)] = True
        self._own: U64 | None = None
        if np.count_nonzero(seen) <= _OWN_GROUPS:
            own = np.unique(ids)
            self._own = own if len(own) <= _OWN_GROUPS else None
        self.keys: U64 = np.arange(_GROUPS, dtype=np.uint64) if self._own is None else self._own

    def of(self, ids: U64) -> NDArray[np.intp]:
        if self._own is None:
            return (ids & np.uint64(_GROUPS - 1)).astype(np.intp)
        return np.searchsorted(self._own, ids)

    def drawn(self, replicates: int, seed: int, stream: str, draw: Draw = poisson_weights) -> Floats:
        """Weights: replicates × groups."""
        with np.errstate(over="ignore"):
            keys = scramble(self.keys ^ seed_key(seed, stream))
        return draw(keys, replicates).T.astype(np.float64)


class Squeezed:
    """Rows sorted for a group of statistics, as stretches of neighbours."""

    def __init__(self, statistics: Sequence[RowStatistic], columns: Mapping[str, NDArray[Any]]) -> None:
        self.statistics = list(statistics)
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
        few = {by: np.repeat(middles, 2), flag: np.tile([False, True], len(starts))}
        made = {s.prepare: s.prepare(few) for s in statistics}
        self.states = [made[s.prepare] for s in statistics]

    def weights(self, groups: Groups, ids: U64, base: Floats, chosen: NDArray[np.bool_] | None = None) -> Floats:
        """The weight of each group's rows (or the chosen ones) in every cell: groups × cells, on an exact grid."""
        out = np.zeros(len(groups.keys) * self.cells)
        total = float(base.sum()) if len(base) else 0.0
        bits = min(40, 52 - ceil(log2(max(total * _LARGEST_WEIGHT, 1.0))))
        for start in range(0, len(ids), _BLOCK):
            part = slice(start, start + _BLOCK)
            weight = np.ldexp(np.rint(np.ldexp(base[part], bits)), -bits)
            if chosen is not None:
                weight = weight * chosen[part]
            place = groups.of(ids[part]) * self.cells + self.cell[part]
            np.add.at(out, place, weight)
        return out.reshape(-1, self.cells)

    def values(self, weights: Floats) -> list[Floats]:
        """One array of values a statistic, replicates first. `weights`: replicates × cells."""
        return [np.asarray(s.value(state, weights)) for s, state in zip(self.statistics, self.states, strict=True)]


def squeezed_replicates(
    statistics: Sequence[RowStatistic],
    columns: Mapping[str, NDArray[Any]],
    base: Floats,
    ids: U64,
    values: Sequence[Floats],
    replicates: int,
    seed: int,
) -> list[Floats]:
    """Bootstrap replicates of each statistic, moved by what taking neighbours together does to its value."""
    squeezed, groups = Squeezed(statistics, columns), Groups(ids)
    cells = squeezed.weights(groups, ids, base)
    plain = squeezed.values(cells.sum(axis=0)[None, :])
    drawn = squeezed.values(groups.drawn(replicates, seed, "bootstrap") @ cells)
    return [found + (exact - here[0]) for found, exact, here in zip(drawn, values, plain, strict=True)]
