"""Resampled sums: Poisson weights drawn from ids, and an exact multinomial where rows repeat.

`replicate_sums` is the one loop behind every interval and test on continuous or clustered measurements. Rows are
grouped into segments (a slice, a bin of a slice); the result holds, for every replicate and segment, the weighted
sums of the columns. They are exact integers inside, like the sums of `exact`, so that neither the batch size nor
the number of threads nor the order of shards can move a digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import exp, factorial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sensecheck.statistics.arrays import U64, Floats, Indexes, Ints
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.hashing import random_halfwords, scramble, seed_key

# 128 rows × 1000 replicates of float64 stay inside a core's second-level cache.
_ROWS_AT_A_TIME = 128
# The weights of so many keys, a byte each, as well.
_KEYS_AT_A_TIME = 512
_COARSE_BITS = 12
_GRID_BITS = 32
_TO_COARSE = 1.5 * 2.0 ** (52 - _COARSE_BITS)
_TO_GRID = 1.5 * 2.0 ** (52 - _GRID_BITS)
_LARGEST = 2.0**19
_SINGLE_THREADED = 200_000


def _poisson_thresholds() -> list[np.uint16]:
    """The smallest 16-bit number that stands for a weight of at least 1, 2, 3 …"""
    thresholds = []
    below = 0.0
    for k in range(9):
        below += exp(-1.0) / factorial(k)
        cut = round(below * 65536)
        if cut < 65536:
            thresholds.append(np.uint16(cut))
    return thresholds


_THRESHOLDS = _poisson_thresholds()


def poisson_weights(keys: U64, replicates: int, first: int = 0) -> NDArray[np.uint8]:
    """Poisson(1) weights of every key in every replicate, from the `first` replicate on (a multiple of 4)."""
    u = random_halfwords(keys, replicates, first)
    weights = np.greater_equal(u, _THRESHOLDS[0]).view(np.uint8)
    for cut in _THRESHOLDS[1:]:
        weights += np.greater_equal(u, cut).view(np.uint8)
    return weights


@dataclass(frozen=True)
class Drawing:
    """How units are resampled: which weights, under which seed, how often."""

    weights: Callable[[U64, int, int], NDArray[np.uint8]]
    """Of keys, so many replicates, from the first on: one number for each key and replicate."""
    stream: str
    replicates: int
    seed: int
    jobs: int = 1

    @classmethod
    def bootstrap(cls, options: IntervalOptions) -> Drawing:
        """Units drawn anew with replacement: the weights of intervals."""
        return cls(poisson_weights, "bootstrap", options.replicates, options.seed, options.jobs)

    def keys(self, ids: U64) -> U64:
        """What the weights of the units with these (hashed) ids are drawn by."""
        return scramble(ids ^ seed_key(self.seed, self.stream))


@dataclass
class ReplicateSums:
    """Sums by segment, replicate and column, kept as integers in units of 2^-32."""

    units: Ints

    @classmethod
    def zeros(cls, segments: int, replicates: int, columns: int) -> ReplicateSums:
        return cls(np.zeros((segments, replicates, columns), dtype=np.int64))

    def merge(self, other: ReplicateSums) -> None:
        self.units += other.units

    def floats(self) -> Floats:
        """An array of segments × replicates × columns."""
        return np.asarray(self.units * 2.0**-_GRID_BITS)


def on_grid(columns: Floats) -> Floats:
    """Round to multiples of 2^-32, so that sums within a cluster are exact in any order."""
    if columns.size and float(np.abs(columns).max(initial=0.0)) >= _LARGEST:
        raise OverflowError("a measurement is too large to be resampled exactly (its size must stay below 524,288)")
    return np.asarray((columns + _TO_GRID) - _TO_GRID)


def replicate_sums(
    ids: U64, segment: Indexes | None, columns: Floats, drawing: Drawing, segments: int = 1
) -> ReplicateSums:
    """Weighted sums of `columns` (rows × columns) by segment, for every replicate.

    `ids` are the 64-bit hashes of the clusters (or rows): equal ids get equal weights.
    """
    rows, width = columns.shape
    total = ReplicateSums.zeros(segments, drawing.replicates, width)
    if rows == 0:
        return total
    columns = on_grid(columns)
    # 128 rows of weights up to 8 multiply the grid's 2^-32 out of float64's exact range, so a column is split
    # in two; one that lies on the coarse grid already (counts, 0/1) needs no second part.
    coarse = (columns + _TO_COARSE) - _TO_COARSE
    rest = columns - coarse
    fine = np.flatnonzero(rest.any(axis=0))
    parts = np.concatenate([coarse * 2.0**_COARSE_BITS, rest[:, fine] * 2.0**_GRID_BITS], axis=1)
    keys = drawing.keys(ids)
    distinct, place = np.unique(keys, return_inverse=True)
    if segment is not None and 2 * len(distinct) <= rows:
        products = _by_key(distinct, place, segment, parts, drawing)
    else:
        products = _by_segment(keys, segment, parts, drawing)

    def add(first: int, last: int, sums: ReplicateSums) -> ReplicateSums:
        for at, replicates, weighted in products(first, last):
            target = sums.units[at][replicates]
            units = weighted.astype(np.int64)
            target += units[:, :width] << (_GRID_BITS - _COARSE_BITS)
            if len(fine):
                target[:, fine] += units[:, width:]
        return sums

    def add_apart(first: int, last: int) -> ReplicateSums:
        return add(first, last, ReplicateSums.zeros(segments, drawing.replicates, width))

    if drawing.jobs <= 1 or rows < 4 * _ROWS_AT_A_TIME:
        return add(0, rows, total)
    edges = np.linspace(0, rows, drawing.jobs + 1).astype(int)
    with ThreadPoolExecutor(drawing.jobs) as pool:
        for partial in pool.map(add_apart, edges[:-1].tolist(), edges[1:].tolist()):
            total.merge(partial)
    return total


# From the first row to the last: a segment, which replicates, and their weighted sums (replicates × parts).
_Products: TypeAlias = Callable[[int, int], Iterator[tuple[int, slice, Floats]]]


def _steps(rows: int, parts: int, replicates: int) -> list[slice]:
    """Products so small that the linear algebra library stays on this thread: its own would wait for each other."""
    step = max(32, _SINGLE_THREADED // (rows * parts))
    return [slice(first, first + step) for first in range(0, replicates, step)]


def _by_segment(keys: U64, segment: Indexes | None, parts: Floats, drawing: Drawing) -> _Products:
    """Rows in the order of their segments, each with weights drawn for it."""
    rows, width = parts.shape
    if segment is None:
        cuts, present = np.array([0, rows], dtype=np.intp), np.zeros(1, dtype=np.intp)
    else:
        order = np.argsort(segment, kind="stable")
        segment, keys, parts = segment[order], keys[order], parts[order]
        starts = np.flatnonzero(np.r_[True, segment[1:] != segment[:-1]])
        cuts, present = np.r_[starts, rows], segment[starts]
    steps = _steps(_ROWS_AT_A_TIME, width, drawing.replicates)

    def products(first: int, last: int) -> Iterator[tuple[int, slice, Floats]]:
        at = int(np.searchsorted(cuts, first, side="right")) - 1
        for start in range(first, last, _ROWS_AT_A_TIME):
            stop = min(start + _ROWS_AT_A_TIME, last)
            weights = drawing.weights(keys[start:stop], drawing.replicates, 0).astype(np.float64)
            begin = start
            while begin < stop:
                end = min(int(cuts[at + 1]), stop)
                of_segment = weights[begin - start : end - start].T
                for step in steps:
                    yield int(present[at]), step, of_segment[step] @ parts[begin:end]
                begin = end
                if end == cuts[at + 1]:
                    at += 1

    return products


def _by_key(distinct: U64, place: Indexes, segment: Indexes, parts: Floats, drawing: Drawing) -> _Products:
    """Some keys at a time, with weights drawn once for all of a key's rows; within them by segment."""
    block = place // _KEYS_AT_A_TIME
    order = np.lexsort((segment, block))
    block, segment, place, parts = block[order], segment[order], place[order], parts[order]
    rows, width = parts.shape
    starts = np.flatnonzero(np.r_[True, (segment[1:] != segment[:-1]) | (block[1:] != block[:-1])])
    cuts = np.r_[starts, rows]

    def products(first: int, last: int) -> Iterator[tuple[int, slice, Floats]]:
        drawn_for = -1
        at = int(np.searchsorted(cuts, first, side="right")) - 1
        begin = first
        while begin < last:
            end = min(int(cuts[at + 1]), last, begin + _ROWS_AT_A_TIME)
            if block[begin] != drawn_for:
                drawn_for = int(block[begin])
                base = drawn_for * _KEYS_AT_A_TIME
                of_keys = drawing.weights(distinct[base : base + _KEYS_AT_A_TIME], drawing.replicates, 0)
            weights = of_keys[place[begin:end] - base].astype(np.float64).T
            for step in _steps(end - begin, width, drawing.replicates):
                yield int(segment[begin]), step, weights[step] @ parts[begin:end]
            begin = end
            if end == cuts[at + 1]:
                at += 1

    return products


def multinomial_counts(counts: Ints, replicates: int, seed: int, stream: str) -> Ints:
    """How often each distinct row is drawn when all rows are drawn anew with replacement: replicates × rows.

    This is the plain bootstrap, not an approximation of it: rows that are equal need not be told apart.
    """
    n = int(counts.sum())
    generator = np.random.Generator(np.random.Philox(key=int(seed_key(seed, stream))))
    if n == 0:
        return np.zeros((replicates, len(counts)), dtype=np.int64)
    return generator.multinomial(n, counts / n, size=replicates)
