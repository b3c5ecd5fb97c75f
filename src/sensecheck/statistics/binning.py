"""Which bin a value falls in: always the one that a search among the edges would find, mostly without searching."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from sensecheck.statistics.arrays import Floats, Indexes
from sensecheck.statistics.scratch import scratch

_BLOCK = 1 << 14
# Uneven edges on [0, 1] are looked up in a table of so many cells; a power of two, so that scaling is exact.
_CELLS = 1 << 14


def bin_index(values: Floats, edges: Floats, out: Indexes | None = None) -> Indexes:
    """The bin of each value: [edge, next edge), the last one closed; values outside go to the nearest bin.

    >>> bin_index(np.array([0.0, 0.25, 0.5, 1.0, 7.0]), np.array([0.0, 0.5, 1.0])).tolist()
    [0, 0, 1, 1, 1]
    """
    bins = np.empty(len(values), dtype=np.intp) if out is None else out
    cuts = tuple(edges.tolist())
    if _multiplies(cuts):
        for start in range(0, len(values), _BLOCK):
            _by_multiplying(values[start : start + _BLOCK], edges, bins[start : start + _BLOCK])
        return bins
    table = _table(cuts) if len(values) >= 1024 else None
    if table is None:
        bins[:] = _searched(values, edges)
        return bins
    for start in range(0, len(values), _BLOCK):
        _by_table(values[start : start + _BLOCK], edges, table, bins[start : start + _BLOCK])
    return bins


def _searched(values: Floats, edges: Floats) -> Indexes:
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


def _by_multiplying(part: Floats, edges: Floats, bins: Indexes) -> None:
    count, size = len(edges) - 1, len(part)
    # The names are those of `exact`: what is still warm from its last chunk serves here.
    scaled, floor = scratch("coarse", size), scratch("both", size)
    on_edge = scratch("on edge", size, np.bool_)
    np.multiply(part, float(count), out=scaled)
    np.floor(scaled, out=floor)
    np.copyto(bins, floor, casting="unsafe")
    # Rounding can lift a value just below an edge onto it, and nowhere else: look those few up.
    np.equal(scaled, floor, out=on_edge)
    if on_edge.any():
        doubtful = np.flatnonzero(on_edge)
        bins[doubtful] = np.searchsorted(edges, part[doubtful], side="right") - 1
    if size and not (part.min() >= 0 and part.max() < 1):
        np.clip(bins, 0, count - 1, out=bins)


def _by_table(part: Floats, edges: Floats, table: Indexes, bins: Indexes) -> None:
    scaled = scratch("coarse", len(part))
    np.multiply(part, float(_CELLS), out=scaled)
    cells = scratch("cells", len(part), np.intp)
    np.copyto(cells, scaled, casting="unsafe")
    if not (part.min(initial=0.0) >= 0 and part.max(initial=0.0) <= 1):
        bins[:] = _searched(part, edges)
        return
    np.take(table, cells, out=bins, mode="clip")
    if bins.min() < 0:
        doubtful = np.flatnonzero(bins < 0)
        bins[doubtful] = _searched(part[doubtful], edges)


@lru_cache(maxsize=64)
def _multiplies(edges: tuple[float, ...]) -> bool:
    """Whether multiplying by the number of bins finds the bin: even edges on [0, 1], none of which falls short."""
    bins = len(edges) - 1
    if bins < 1 or not np.array_equal(edges, np.linspace(0.0, 1.0, bins + 1)):
        return False
    return all(edge * bins >= k for k, edge in enumerate(edges))


@lru_cache(maxsize=16)
def _table(edges: tuple[float, ...]) -> Indexes | None:
    """The bin of each cell [k, k + 1)/_CELLS, −1 where an edge falls inside; None unless they span [0, 1]."""
    if len(edges) < 2 or edges[0] != 0.0 or edges[-1] < 1.0:
        return None
    cuts = np.asarray(edges)
    starts = np.arange(_CELLS + 1) / _CELLS
    first = _searched(starts, cuts)
    last = _searched(np.nextafter(starts + 1 / _CELLS, 0.0), cuts)
    return np.where(first == last, first, -1)
