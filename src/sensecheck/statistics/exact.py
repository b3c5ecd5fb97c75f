"""Sums that do not depend on the order of their terms.

Floating-point addition is not associative, so the same rows in other shards would give other last digits. Every
term is therefore split on a fixed grid into parts whose sums are exact in float64, and the parts are added up as
integers. Partial sums of any split of the rows then merge to the same value, digit for digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CHUNK = 1 << 16
_HIGH_BITS = 26
_LOW_BITS = 52
# Adding and subtracting 1.5·2^(52-b) rounds a float64 of moderate size to a multiple of 2^-b.
_TO_HIGH = 1.5 * 2.0 ** (52 - _HIGH_BITS)
_TO_LOW = 1.5
# |x| below 2^10 keeps a chunk's sum of high parts below 2^27, where multiples of 2^-26 are exact.
_FAST_LIMIT = 2.0**10


@dataclass
class ExactSums:
    """Integer sums for `size` cells and several columns: `high` in units of 2^-26, `low` of 2^-52.

    A value is rounded to the grid of 2^-52 (nothing is lost for numbers from 0.5 to 1), then added exactly.
    """

    high: Ints
    low: Ints

    @classmethod
    def zeros(cls, size: int, columns: int) -> ExactSums:
        return cls(np.zeros((size, columns), dtype=np.int64), np.zeros((size, columns), dtype=np.int64))

    def add(self, cell: NDArray[np.intp] | None, columns: Sequence[NDArray[np.generic]]) -> None:
        """Add rows; `cell` says where each row's values go (None: all to cell 0)."""
        size = len(self.high)
        rows = len(columns[0]) if columns else 0
        for start in range(0, rows, CHUNK):
            part = slice(start, start + CHUNK)
            where = None if cell is None else cell[part]
            for j, column in enumerate(columns):
                self._add_chunk(where, column[part], j, size)

    def _add_chunk(self, where: NDArray[np.intp] | None, x: NDArray[np.generic], j: int, size: int) -> None:
        if x.dtype == np.bool_:
            counts = _sum_cells(where, x.astype(np.float64), size) if where is not None else float(x.sum())
            self.high[:, j] += np.asarray(counts).astype(np.int64) << _HIGH_BITS
            return
        values = x.astype(np.float64, copy=False)
        biggest = float(np.abs(values).max(initial=0.0))
        if not biggest < _FAST_LIMIT:
            self._add_large(where, values, j)
            return
        high = (values + _TO_HIGH) - _TO_HIGH
        self.high[:, j] += np.rint(_sum_cells(where, high, size) * 2.0**_HIGH_BITS).astype(np.int64)
        rest = values - high
        if rest.any():
            low = (rest + _TO_LOW) - _TO_LOW
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


def _sum_cells(where: NDArray[np.intp] | None, values: Floats, size: int) -> Floats:
    if where is None:
        return np.array([values.sum()])
    return np.asarray(np.bincount(where, weights=values, minlength=size), dtype=np.float64)


def exact_sum(values: NDArray[np.generic]) -> float:
    """The sum of one column, independent of its order."""
    sums = ExactSums.zeros(1, 1)
    sums.add(None, [values])
    return float(sums.floats()[0, 0])
