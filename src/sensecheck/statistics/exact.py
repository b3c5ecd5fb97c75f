"""Sums that do not depend on the order of their terms.

Floating-point addition is not associative, so the same rows in other shards would give other last digits. Every
term is therefore split on a fixed grid into parts whose sums are exact in float64, and the parts are added up as
integers. Partial sums of any split of the rows then merge to the same value, digit for digit.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK = 1 << 15
_HIGH_BITS = 26
_LOW_BITS = 56
# Adding and subtracting 1.5·2^(52-b) rounds a float64 of moderate size to a multiple of 2^-b.
_TO_HIGH = 1.5 * 2.0 ** (52 - _HIGH_BITS)
_TO_LOW = 1.5 * 2.0 ** (52 - _LOW_BITS)
# |x| below 2^10 keeps a chunk's sum of high parts below 2^27, where multiples of 2^-26 are exact.
_FAST_LIMIT = 2.0**10


@dataclass
class ExactSums:
    """Integer sums for `size` cells and several columns: `high` in units of 2^-26, `low` of 2^-56.

    A value is rounded to the grid of 2^-56 (nothing is lost for numbers from a sixteenth on), then added exactly.
    """

    high: Ints
    low: Ints

    @classmethod
    def zeros(cls, size: int, columns: int) -> ExactSums:
        return cls(np.zeros((size, columns), dtype=np.int64), np.zeros((size, columns), dtype=np.int64))

    def add(self, cell: NDArray[np.intp] | None, columns: Sequence[NDArray[np.generic] | None], rows: int) -> None:
        """Add rows; `cell` says where each row's values go (None: all to cell 0). A column that is None is all ones."""
        size = len(self.high)
        for start in range(0, rows, CHUNK):
            count = min(CHUNK, rows - start)
            where = None if cell is None else cell[start : start + count]
            for j, column in enumerate(columns):
                if column is None:
                    ones = np.array([count]) if where is None else np.bincount(where, minlength=size)
                    self.high[:, j] += ones.astype(np.int64) << _HIGH_BITS
                else:
                    self._add_chunk(where, column[start : start + count], j, size)

    def _add_chunk(self, where: NDArray[np.intp] | None, x: NDArray[np.generic], j: int, size: int) -> None:
        if x.dtype == np.bool_:
            counts = np.array([x.sum()]) if where is None else np.bincount(where, weights=x, minlength=size)
            self.high[:, j] += counts.astype(np.int64) << _HIGH_BITS
            return
        values = x.astype(np.float64, copy=False)
        if not (values.min(initial=0.0) > -_FAST_LIMIT and values.max(initial=0.0) < _FAST_LIMIT):
            self._add_large(where, values, j)
            return
        high, low = _scratch(len(values))
        np.add(values, _TO_HIGH, out=high)
        np.subtract(high, _TO_HIGH, out=high)
        self.high[:, j] += np.rint(_sum_cells(where, high, size) * 2.0**_HIGH_BITS).astype(np.int64)
        np.subtract(values, high, out=low)
        if low.any():
            np.add(low, _TO_LOW, out=low)
            np.subtract(low, _TO_LOW, out=low)
            self.low[:, j] += np.rint(_sum_cells(where, low, size) * 2.0**_LOW_BITS).astype(np.int64)

    def _add_large(self, where: NDArray[np.intp] | None, values: Floats, j: int) -> None:
        if not np.isfinite(values).all():
            raise ValueError("a sum was given a number that is not finite; unscored rows must be left out first")
        whole = np.trunc(values)
        if np.abs(whole).max(initial=0.0) >= 2.0**36:
            raise OverflowError("a measurement is too large to be summed exactly (its size must stay below 6.8e10)")
        cells = np.zeros(len(values), dtype=np.intp) if where is None else where
        fraction = values - whole
        high = (fraction + _TO_HIGH) - _TO_HIGH
        low = ((fraction - high) + _TO_LOW) - _TO_LOW
        units = (whole.astype(np.int64) << _HIGH_BITS) + np.rint(high * 2.0**_HIGH_BITS).astype(np.int64)
        np.add.at(self.high[:, j], cells, units)
        np.add.at(self.low[:, j], cells, np.rint(low * 2.0**_LOW_BITS).astype(np.int64))

    def merge(self, other: ExactSums) -> None:
        self.high += other.high
        self.low += other.low

    def floats(self) -> Floats:
        """The sums as float64, each rounded once."""
        shift = _LOW_BITS - _HIGH_BITS
        out = np.empty(self.high.shape)
        flat = out.reshape(-1)
        for i, (h, low) in enumerate(zip(self.high.reshape(-1).tolist(), self.low.reshape(-1).tolist(), strict=True)):
            flat[i] = ((h << shift) + low) / (1 << _LOW_BITS)
        return out


_LOCAL = threading.local()


def _scratch(size: int) -> tuple[Floats, Floats]:
    """Two buffers of this thread's own: fresh memory would cost more than the arithmetic."""
    if not hasattr(_LOCAL, "buffers"):
        _LOCAL.buffers = (np.empty(CHUNK), np.empty(CHUNK))
    first, second = _LOCAL.buffers
    return first[:size], second[:size]


def _sum_cells(where: NDArray[np.intp] | None, values: Floats, size: int) -> Floats:
    if where is None:
        return np.array([values.sum()])
    return np.asarray(np.bincount(where, weights=values, minlength=size), dtype=np.float64)


def exact_sum(values: NDArray[np.generic]) -> float:
    """The sum of one column, independent of its order."""
    sums = ExactSums.zeros(1, 1)
    sums.add(None, [values], len(values))
    return float(sums.floats()[0, 0])
