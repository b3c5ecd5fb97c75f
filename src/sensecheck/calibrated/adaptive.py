"""Adaptive bins: as many samples in each bin as its width needs, after Ding et al. (2020).

A bin of width r holds enough samples once their number exceeds 0.25 · (1.645 / r)²: then the standard error
of its accuracy is small against its width. Bins are closed greedily from the highest confidence down. The
number of bins follows from the data; nobody chooses it.

Two variants, which differ in nothing but rounding on confidences without ties:

`adaptive_bins` (the default)
    Equal confidences always share a bin. A cut that would fall among equal confidences moves to the nearer
    end of that run, so the bins depend on the samples and not on the order in which they were listed, and
    every bin is an interval of values: `adaptive_edges` gives the same bins as edges, for use on other
    samples.
`adaptive_bins_in_input_order`
    Cuts may fall among equal confidences; those listed first go to the higher bin. This is the rule of
    calibration_metric with its two failures mended: the last bin borrows from the others only if that is
    possible (finite need, no bin emptied).

Both cost one sort. Inside a bin the count grows and the needed count shrinks, so a bin's end is found by
bisection, and the correctness travels through the sort in a bit that confidences in [0, 1] leave unused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "AdaptiveBins",
    "adaptive_bins",
    "adaptive_bins_in_input_order",
    "adaptive_edges",
    "adaptive_edges_of_cells",
    "greedy_sizes",
    "lent",
    "needed",
]

Z_90 = 1.645
"""The normal quantile of a two-sided 90 % interval."""
SAMPLES_LEFT = 40
"""A bin is closed only if more samples than these remain."""
SPAN_LEFT = 0.05
"""A bin is closed only if the confidences below it span more than this."""

CHUNK = 1 << 16  # samples handled at a time, so that temporaries stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveBins:
    """Bins from the lowest confidence to the highest; one entry per bin in each column."""

    lowest: NDArray[np.float64]
    """The smallest confidence in the bin."""
    mean_confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.count)


def adaptive_bins(confidence: ArrayLike, correct: ArrayLike) -> AdaptiveBins:
    """Adaptive bins that keep equal confidences together: the order of the samples makes no difference.

    `confidence` lies in [0, 1]; `correct` is bool or 0/1, or fractional (then accuracy is its mean).
    """
    values, truth = _checked(confidence, correct)
    certain = truth if truth.dtype == bool else truth != 0
    fractional = truth.dtype != bool and not np.array_equal(truth, certain)
    keys = _sorted_keys(values, certain)
    cuts = _off_ties(keys, _cuts(keys))
    bins = _summed(keys, cuts)
    if not fractional:
        return bins
    index = np.searchsorted(bins.lowest[1:], values, side="right")
    total = np.bincount(index, weights=truth, minlength=len(bins))
    return AdaptiveBins(bins.lowest, bins.mean_confidence, total / bins.count, bins.count)


def adaptive_bins_in_input_order(confidence: ArrayLike, correct: ArrayLike) -> AdaptiveBins:
    """Adaptive bins whose cuts may separate equal confidences: those listed first go to the higher bin.

    Any correctness other than 0 counts as correct, NaN included, and confidences are added up one by one
    from the highest down, as in calibration_metric: where that succeeds on float64, this gives its bins to
    the bit.
    """
    values, truth = _checked(confidence, correct)
    certain = truth if truth.dtype == bool else truth != 0
    keys = _sorted_keys(values, certain)
    cuts = _cuts(keys)
    bins = _summed(keys, cuts, one_by_one=True)
    gained = _gained_by_input_order(keys, cuts, values, certain)
    if not gained.any():
        return bins
    hits = np.rint(bins.accuracy * bins.count)
    hits[1:] += gained  # what a cut gives to the bin above it, the bin below loses
    hits[:-1] -= gained
    return AdaptiveBins(bins.lowest, bins.mean_confidence, hits / bins.count, bins.count)


def adaptive_edges(confidence: ArrayLike) -> NDArray[np.float64]:
    """The edges, from 0 to 1, of the bins that `adaptive_bins` makes of these confidences.

    A bin holds edge[b] <= x < edge[b+1], the last one x == 1 too:
    `numpy.searchsorted(edges[1:-1], x, side="right")` is the bin of x.
    """
    values = np.asarray(confidence)
    values, truth = _checked(values, np.zeros(values.shape, dtype=bool))
    keys = _sorted_keys(values, truth)
    inner = map(_reader(keys), _off_ties(keys, _cuts(keys)))
    return np.array([0.0, *inner, 1.0])


def adaptive_edges_of_cells(ends: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Edges as `adaptive_edges`, from how many confidences lie in each of some cells, ascending, that all hold some.

    Every confidence is taken for its cell's lower end, and a cell is never split.
    """
    filled = ends[::-1]  # from the highest confidence down
    below = np.cumsum(counts[::-1])
    n = int(below[-1])
    sizes, need = greedy_sizes(n, lambda i: float(filled[np.searchsorted(below, i, side="right")]))
    each = lent(sizes, need, n)
    inner: list[float] = []
    for cut in np.cumsum([size - each for size in sizes[:-1]], dtype=np.int64):
        at = int(np.searchsorted(below, cut, side="left"))  # the cell that the cut ends in
        begin = int(below[at - 1]) if at else 0
        last = at if cut - begin > int(below[at]) - cut else at - 1  # the lowest cell above the cut
        if 0 <= last < len(filled) - 1:
            edge = float(filled[last])
            if not inner or edge < inner[-1]:
                inner.append(edge)
    return np.array([0.0, *reversed(inner), 1.0])


# --------------------------------------------------------------------------------------------------
# The rule


def needed(span: Any) -> Any:
    """How many samples a bin of this span must exceed before it may be closed."""
    if span == 0:
        return math.inf
    ratio = Z_90 / span
    return 0.25 * ratio * ratio


def greedy_sizes(n: int, value: Callable[[int], Any]) -> tuple[list[int], Any]:
    """The sizes of the bins, from the highest confidence down, and how many samples the last one needs.

    `value(i)` is the i-th highest confidence, 0 <= i < n. The arithmetic is that of the numbers it returns.
    """
    lowest = value(n - 1)
    # The two conditions on what is left hold up to some place and fail from there on.
    limit = _first(lambda i: not value(i - 1) - lowest > SPAN_LEFT, 1, n - SAMPLES_LEFT) - 1
    sizes: list[int] = []
    start, step = 0, 64
    while True:
        top = value(start)

        def full(i: int, start: int = start, top: Any = top) -> bool:
            return bool(i - start > needed(top - value(i - 1)))

        end = _first(full, start + 1, limit + 1, step)
        if end > limit:
            break
        step = end - start
        sizes.append(step)
        start = end
    sizes.append(n - start)
    return sizes, needed(value(start) - lowest)


def _first(holds: Callable[[int], bool], low: int, stop: int, step: int = 1) -> int:
    """The first i in [low, stop) from which `holds` is true, or `stop`: doubles its steps, then halves."""
    if low >= stop:
        return stop
    high = low
    while high < stop and not holds(high):
        low = high + 1
        high += step
        step *= 2
    high = min(high, stop)
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


def lent(sizes: list[int], need: float, n: int) -> int:
    """How many samples each other bin lends to a last bin that is too small; 0 where that cannot be done."""
    last = sizes[-1]
    if len(sizes) == 1 or not last < need < math.inf:
        return 0
    each = int((need - last) * last / n)
    return each if each < min(sizes[:-1]) else 0


# --------------------------------------------------------------------------------------------------
# Sorted samples: one unsigned integer each, the bits of the confidence followed by the bit of its correctness


def _checked(confidence: ArrayLike, correct: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    values, truth = np.asarray(confidence), np.asarray(correct)
    if values.dtype not in (np.float64, np.float32):
        values = values.astype(np.float64)
    if values.ndim != 1 or values.shape != truth.shape:
        raise ValueError(
            f"confidence and correct must be two lists of the same length, got shapes {values.shape} and {truth.shape}"
        )
    if len(values) == 0:
        raise ValueError("there are no confidences to put into bins")
    low, high = values.min(), values.max()
    if not (low >= 0 and high <= 1):
        at = int(np.flatnonzero(~((values >= 0) & (values <= 1)))[0])
        raise ValueError(
            f"a confidence must be a number from 0 to 1, got {values[at]} at position {at}; "
            "raw logits need a softmax over the full vocabulary first"
        )
    return values, truth


def _sorted_keys(values: NDArray[Any], certain: NDArray[np.bool_]) -> NDArray[Any]:
    # Floats in [0, 1] order as their bits do, and of those bits the two highest are 0 (the sign of −0.0
    # aside, which the shift drops): there is room for the correctness below the confidence, and not a digit
    # is lost.
    unsigned = np.uint64 if values.dtype == np.float64 else np.uint32
    bits = np.ascontiguousarray(values).view(unsigned)
    keys = np.empty(len(bits), dtype=unsigned)
    for i in range(0, len(bits), CHUNK):
        part = keys[i : i + CHUNK]
        np.left_shift(bits[i : i + CHUNK], unsigned(1), out=part)
        np.bitwise_or(part, certain[i : i + CHUNK], out=part)
    keys.sort()
    return keys


def _float_of(keys: NDArray[Any]) -> Any:
    return np.float64 if keys.dtype == np.uint64 else np.float32


def _reader(keys: NDArray[Any]) -> Callable[[int], float]:
    """Reads the confidence of one key. Bisection reads single values, which numpy's own scalars make slow."""
    key_at = memoryview(keys.data)
    as_integer, as_float = (Struct("=Q"), Struct("=d")) if keys.dtype == np.uint64 else (Struct("=I"), Struct("=f"))

    def value(i: int) -> float:
        number: float = as_float.unpack(as_integer.pack(key_at[i] >> 1))[0]
        return number

    return value


def _cuts(keys: NDArray[Any]) -> list[int]:
    """Where the sorted samples are cut, ascending: the rule, with what the last (lowest) bin borrows."""
    n = len(keys)
    value = _reader(keys)
    sizes, need = greedy_sizes(n, lambda i: value(n - 1 - i))
    each = lent(sizes, need, n)
    cuts = n - np.cumsum([size - each for size in sizes[:-1]], dtype=np.int64)
    return [int(cut) for cut in cuts[::-1]]


def _run(keys: NDArray[Any], i: int) -> tuple[int, int]:
    """Where the run of confidences equal to the i-th begins and ends."""
    one = keys.dtype.type(1)
    low = (keys[i] >> one) << one
    return int(np.searchsorted(keys, low, side="left")), int(np.searchsorted(keys, low | one, side="right"))


def _off_ties(keys: NDArray[Any], cuts: list[int]) -> list[int]:
    """The cuts, each moved to the nearer end of a run of equal confidences; those that meet become one."""
    moved: list[int] = []
    for cut in cuts:
        begin, end = _run(keys, cut)
        nearer = begin if cut - begin <= end - cut else end
        if 0 < nearer < len(keys) and (not moved or nearer > moved[-1]):
            moved.append(nearer)
    return moved


def _summed(keys: NDArray[Any], cuts: list[int], *, one_by_one: bool = False) -> AdaptiveBins:
    """The bins between the cuts; `one_by_one` adds confidences in descending order, not in pairs."""
    one, floating = keys.dtype.type(1), _float_of(keys)
    bounds = [0, *cuts, len(keys)]
    count = np.diff(bounds).astype(np.int64)
    confidence, hits = np.zeros(len(count)), np.zeros(len(count))
    running = np.empty(CHUNK + 1)
    for b, (begin, end) in enumerate(pairwise(bounds)):
        for stop in range(end, begin, -CHUNK):
            part = keys[max(begin, stop - CHUNK) : stop]
            hits[b] += np.sum(part & one)
            values = (part >> one).view(floating)
            if one_by_one:
                running[0] = confidence[b]
                running[1 : len(part) + 1] = values[::-1]
                confidence[b] = np.add.accumulate(running[: len(part) + 1])[-1]
            else:
                confidence[b] += np.sum(values, dtype=np.float64)
    lowest = np.array([*map(_reader(keys), bounds[:-1])])
    return AdaptiveBins(lowest, confidence / count, hits / count, count)


def _gained_by_input_order(
    keys: NDArray[Any], cuts: list[int], values: NDArray[Any], certain: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """For each cut: how many more correct samples lie above it with ties in input order than as sorted."""
    gained = np.zeros(len(cuts), dtype=np.int64)
    runs = [(c, *_run(keys, cut)) for c, cut in enumerate(cuts)]
    split = [(c, begin, end) for c, begin, end in runs if begin < cuts[c] < end]
    if not split:
        return gained
    value = _reader(keys)
    tied = np.unique(np.array([value(begin) for _, begin, _ in split], dtype=values.dtype))
    members = _equal_to_any(values, tied)
    slot = np.searchsorted(tied, values[members]).astype(np.uint16)  # numpy sorts 16-bit integers by radix
    members = members[np.argsort(slot, kind="stable")]
    first = np.concatenate([[0], np.cumsum(np.bincount(slot, minlength=len(tied)))])
    one = keys.dtype.type(1)
    for c, begin, end in split:
        above = end - cuts[c]  # so many of the run belong to the higher bin: those listed first
        run = first[np.searchsorted(tied, value(begin))]
        correct_listed_first = np.count_nonzero(certain[members[run : run + above]])
        gained[c] = correct_listed_first - int(np.sum(keys[cuts[c] : end] & one))
    return gained


def _equal_to_any(values: NDArray[Any], targets: NDArray[Any]) -> NDArray[np.int64]:
    """Where the values equal one of the targets. A table of hashes rejects nearly all others at once.

    0.0 is never a target, whose bits are not those of −0.0: no cut falls among the lowest confidences.
    """
    unsigned, factor = (np.uint64, 0x9E3779B97F4A7C15) if values.dtype == np.float64 else (np.uint32, 0x9E3779B1)
    multiplier, shift = unsigned(factor), unsigned(np.dtype(unsigned).itemsize * 8 - 16)

    def hashed(part: NDArray[Any]) -> NDArray[Any]:
        keys: NDArray[Any] = np.multiply(part.view(unsigned), multiplier)
        np.right_shift(keys, shift, out=keys)
        return keys

    table = np.zeros(1 << 16, dtype=bool)
    table[hashed(targets)] = True
    values = np.ascontiguousarray(values)
    places = []
    for i in range(0, len(values), CHUNK):
        part = values[i : i + CHUNK]
        near = np.flatnonzero(table[hashed(part)])
        slot = np.searchsorted(targets, part[near]).clip(max=len(targets) - 1)
        places.append(i + near[targets[slot] == part[near]])
    return np.concatenate(places)
