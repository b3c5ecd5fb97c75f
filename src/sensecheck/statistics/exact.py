"""Sums that do not depend on the order of their terms.

Floating-point addition is not associative, so the same rows in other shards would give other last digits. Every
term is therefore split on a fixed grid into parts whose sums are exact in float64, and the parts are added up as
integers. Partial sums of any split of the rows then merge to the same value, digit for digit.

A sum by cell costs one pass for each part, so the parts carry what else is to be counted: how many rows fell in the
cell rides on the finer part, and true/false columns double the cells. `_packed` says how, and why it is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensecheck.statistics.arrays import Floats, Indexes, Ints
from sensecheck.statistics.scratch import scratch

CHUNK = 1 << 14
"""Rows are added so many at a time: they stay in a core's cache, and their sums within float64's 53 bits."""
_HIGH_BITS = 26
_LOW_BITS = 56
# Adding and subtracting 1.5·2^(52-b) rounds a float64 of moderate size to a multiple of 2^-b.
_TO_HIGH = 1.5 * 2.0 ** (52 - _HIGH_BITS)
_TO_LOW = 1.5 * 2.0 ** (52 - _LOW_BITS)
# |x| below 2^10 keeps a chunk's sum of high parts below 2^27, where multiples of 2^-26 are exact.
_WIDE_LIMIT = 2.0**10

# The grid of the packed parts, and what a row weighs in the count that rides on the finer one.
_PACKED_BITS = 33
_TO_PACKED = 1.5 * 2.0 ** (52 - _PACKED_BITS)
_ROW_BITS = 18
_ROW = 2.0**-_ROW_BITS
# From a sixteenth on, a float64 is a multiple of 2^-56 as it is.
_ON_GRID = 2.0**-4
_PACKED_LIMIT, _PACKED_TOTAL = 2.0**6, 2.0**17
# True/false columns are counted by doubling the cells as long as those stay few.
_MOST_CELLS = 4096
_MOST_PENDING_CHUNKS = 64
# Sums twice as large would not fit.
_MOST = 2.0**36
_TOO_LARGE = "a sum is too large to be told exactly (its size must stay below 6.8e10): measure in a larger unit"
# Low parts of so many rows stay below 2^63.
_MOST_UNCARRIED = 1 << 30


@dataclass
class ExactSums:
    """Integer sums for `size` cells and several columns: `high` in units of 2^-26, `low` of 2^-56.

    A value is rounded to the grid of 2^-56 (nothing is lost for numbers from a sixteenth on), then added exactly.
    """

    high: Ints
    low: Ints
    _pending: _PackedChunks | None = field(default=None, repr=False)
    _uncarried: int = 0
    """How many rows were added to the low parts since these were last carried."""

    @classmethod
    def zeros(cls, size: int, columns: int) -> ExactSums:
        # Of very many cells, a column's lie side by side: it is added to as it is.
        high, low = (np.zeros((size, columns), np.int64, order="F" if size > _MOST_CELLS else "C") for _ in range(2))
        return cls(high, low)

    def add(self, cell: Indexes | None, columns: Sequence[NDArray[np.generic] | None], rows: int) -> None:
        """Add rows; `cell` says where each row's values go (None: all to cell 0). A column that is None is all ones."""
        if cell is None:
            self._add_to_one(columns, rows)
            return
        size = len(self.high)
        if size > _MOST_CELLS:
            self._add_to_many(cell, columns, rows)
            return
        ones, numbers, folds = _sorted_out(columns, size)
        flags = [f[0] for f in folds]
        key = (tuple(ones), tuple(tuple(f[1]) for f in folds))
        if self._pending is None or self._pending.key != key:
            self._decode()
            self._pending = _PackedChunks(key)
        pending = self._pending
        # What is not finite is found afterwards, and refused.
        with np.errstate(invalid="ignore"):
            for start in range(0, rows, CHUNK):
                where = cell[start : start + CHUNK]
                cells = _folded(where, [f[start : start + CHUNK] for f in flags], size) if flags else where
                counted = not (ones or folds)
                for j, column in numbers:
                    x = column[start : start + CHUNK]
                    parts = _packed(cells, x, size << len(folds))
                    if parts is None:
                        self._add_wide(where, x, j)
                        continue
                    pending.parts.setdefault(j, []).append(parts)
                    if not counted:
                        counted = True
                        pending.counts.append(np.asarray(parts[0].imag, dtype=np.float64))
                if not counted:
                    pending.counts.append(
                        np.asarray(np.bincount(cells, minlength=size << len(folds)) * _ROW, dtype=np.float64)
                    )
                pending.chunks += 1
        if pending.chunks >= _MOST_PENDING_CHUNKS:
            self._decode()

    def _add_to_one(self, columns: Sequence[NDArray[np.generic] | None], rows: int) -> None:
        for j, x in enumerate(columns):
            if x is None or x.dtype == np.bool_:
                self.high[0, j] += (rows if x is None else int(np.count_nonzero(x))) << _HIGH_BITS
                continue
            values = x.astype(np.float64, copy=False)
            for start in range(0, rows, CHUNK):
                self._add_wide(None, values[start : start + CHUNK], j)

    def _add_to_many(self, cell: Indexes, columns: Sequence[NDArray[np.generic] | None], rows: int) -> None:
        """To so many cells that sums of every chunk would take more room and time than its rows."""
        size = len(self.high)
        shift = _LOW_BITS - _HIGH_BITS
        for j, x in enumerate(columns):
            if x is None or x.dtype == np.bool_:
                counts = np.bincount(cell if x is None else cell[x], minlength=size)
                self.high[:, j] += counts.astype(np.int64) << _HIGH_BITS
                continue
            values = x.astype(np.float64, copy=False)
            if not (values.min(initial=0.0) > -_PACKED_LIMIT and values.max(initial=0.0) < _PACKED_LIMIT):
                for start in range(0, rows, CHUNK):
                    self._add_wide(cell[start : start + CHUNK], values[start : start + CHUNK], j)
                continue
            units = np.rint(values * 2.0**_LOW_BITS).astype(np.int64)
            np.add.at(self.high[:, j], cell, units >> shift)
            np.add.at(self.low[:, j], cell, units & ((1 << shift) - 1))
        self._uncarried += rows
        if self._uncarried >= _MOST_UNCARRIED:
            self._carry_all()

    def _carry_all(self) -> None:
        self._uncarried = 0
        for j in range(self.high.shape[1]):
            self._carry(j)

    def _carry(self, j: int) -> None:
        """What fills a unit of the high part moves there, so that no number of rows is too many."""
        carry = self.low[:, j] >> (_LOW_BITS - _HIGH_BITS)
        self.high[:, j] += carry
        self.low[:, j] -= carry << (_LOW_BITS - _HIGH_BITS)

    def _add_wide(self, where: Indexes | None, values: Floats, j: int) -> None:
        """Part by part and without the counts: signed or larger numbers, or all rows in one cell."""
        size = len(self.high)
        if not (values.min(initial=0.0) > -_WIDE_LIMIT and values.max(initial=0.0) < _WIDE_LIMIT):
            self._add_large(where, values, j)
            return
        high, low = scratch("coarse", len(values)), scratch("fine", len(values))
        np.add(values, _TO_HIGH, out=high)
        np.subtract(high, _TO_HIGH, out=high)
        self.high[:, j] += np.rint(_sum_cells(where, high, size) * 2.0**_HIGH_BITS).astype(np.int64)
        if self._largest(j) >= _MOST:
            raise OverflowError(_TOO_LARGE)
        np.subtract(values, high, out=low)
        if low.any():
            np.add(low, _TO_LOW, out=low)
            np.subtract(low, _TO_LOW, out=low)
            self.low[:, j] += np.rint(_sum_cells(where, low, size) * 2.0**_LOW_BITS).astype(np.int64)

    def _largest(self, j: int) -> float:
        """The size of the largest sum of a column."""
        return float(np.abs(self.high[:, j]).max(initial=0)) * 2.0**-_HIGH_BITS

    def _add_large(self, where: Indexes | None, values: Floats, j: int) -> None:
        if not np.isfinite(values).all():
            raise ValueError("a sum was given a number that is not finite; unscored rows must be left out first")
        whole = np.trunc(values)
        if np.abs(whole).max(initial=0.0) >= _MOST:
            raise OverflowError("a measurement is too large to be summed exactly (its size must stay below 6.8e10)")
        if float(np.abs(values).sum()) + self._largest(j) >= _MOST:
            raise OverflowError(_TOO_LARGE)
        cells = np.zeros(len(values), dtype=np.intp) if where is None else where
        fraction = values - whole
        high = (fraction + _TO_HIGH) - _TO_HIGH
        low = ((fraction - high) + _TO_LOW) - _TO_LOW
        units = (whole.astype(np.int64) << _HIGH_BITS) + np.rint(high * 2.0**_HIGH_BITS).astype(np.int64)
        np.add.at(self.high[:, j], cells, units)
        np.add.at(self.low[:, j], cells, np.rint(low * 2.0**_LOW_BITS).astype(np.int64))

    def _decode(self) -> None:
        """Turn the packed sums that wait into integers: many chunks at once, since each step costs a call."""
        if self._uncarried:
            self._carry_all()
        pending, self._pending = self._pending, None
        if pending is None:
            return
        size = len(self.high)
        ones, folds = pending.key
        if pending.counts:
            rows = np.rint(np.array(pending.counts) * 2.0**_ROW_BITS).astype(np.int64).sum(axis=0)
            # Cell c with the flags f is at c + size·f.
            rows = rows.reshape(-1, size)
            for j in ones:
                self.high[:, j] += rows.sum(axis=0) << _HIGH_BITS
            for bit, columns in enumerate(folds):
                true = rows[np.flatnonzero(np.arange(len(rows)) >> bit & 1)].sum(axis=0) << _HIGH_BITS
                for j in columns:
                    self.high[:, j] += true
        for j, parts in pending.parts.items():
            sums = np.array([p[0] for p in parts])
            coarse, fine = sums.real.copy(), sums.imag.copy()
            lift = np.array([p[1] for p in parts])[:, None]
            number = np.rint(fine * 2.0**_ROW_BITS)
            fine -= number * _ROW
            coarse += number * lift
            upper = np.rint(coarse * 2.0**_PACKED_BITS).astype(np.int64).sum(axis=0).reshape(-1, size).sum(axis=0)
            lower = np.rint(fine * 2.0**_LOW_BITS).astype(np.int64).sum(axis=0).reshape(-1, size).sum(axis=0)
            extra = _PACKED_BITS - _HIGH_BITS
            self.high[:, j] += upper >> extra
            self.low[:, j] += ((upper & ((1 << extra) - 1)) << (_LOW_BITS - _PACKED_BITS)) + lower
            self._carry(j)

    def added_up(self, target: Indexes, size: int, blocks: int = 1) -> ExactSums:
        """Cells put together: `target` says where each cell of a block goes, among `size` of them."""
        self._decode()
        sums = ExactSums.zeros(blocks * size, self.high.shape[1])
        for ours, theirs in ((sums.high, self.high), (sums.low, self.low)):
            for block in range(blocks):
                part = theirs[block * len(target) : (block + 1) * len(target)]
                np.add.at(ours[block * size : (block + 1) * size], target, part)
        return sums

    def merge(self, other: ExactSums) -> None:
        self._decode()
        other._decode()
        for j in range(self.high.shape[1]):
            if self._largest(j) + other._largest(j) >= _MOST:
                raise OverflowError(_TOO_LARGE)
        self.high += other.high
        self.low += other.low

    def floats(self) -> Floats:
        """The sums as float64, each rounded once."""
        self._decode()
        # Both parts are floats without loss where they are below 2^53, and their sum is rounded once.
        sums = self.high * 2.0**-_HIGH_BITS + self.low * 2.0**-_LOW_BITS
        for at in zip(*np.nonzero((np.abs(self.high) >> 53) | (np.abs(self.low) >> 53)), strict=True):
            sums[at] = ((int(self.high[at]) << (_LOW_BITS - _HIGH_BITS)) + int(self.low[at])) / (1 << _LOW_BITS)
        return np.ascontiguousarray(sums)


@dataclass
class _PackedChunks:
    """Packed sums of some chunks, all with the same columns of ones and the same folded flags (`key`)."""

    key: tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]
    chunks: int = 0
    counts: list[Floats] = field(default_factory=list)
    """How many rows each cell holds, in units of `_ROW` and with less than half a unit beside."""
    parts: dict[int, list[tuple[NDArray[np.complex128], float]]] = field(default_factory=dict)


def _sorted_out(
    columns: Sequence[NDArray[np.generic] | None], size: int
) -> tuple[list[int], list[tuple[int, Floats]], list[tuple[NDArray[np.generic], list[int]]]]:
    """Which columns are ones, which are numbers, and which flags are folded into the cells (each with its columns)."""
    ones: list[int] = []
    numbers: list[tuple[int, Floats]] = []
    folds: list[tuple[NDArray[np.generic], list[int]]] = []
    for j, x in enumerate(columns):
        if x is None:
            ones.append(j)
        elif x.dtype != np.bool_:
            numbers.append((j, x.astype(np.float64, copy=False)))
        else:
            same = next((f for f in folds if f[0] is x), None)
            if same is not None:
                same[1].append(j)
            elif size << (len(folds) + 1) <= _MOST_CELLS:
                folds.append((x, [j]))
            else:
                numbers.append((j, x.astype(np.float64)))
    return ones, numbers, folds


def _packed(cells: Indexes, x: Floats, size: int) -> tuple[NDArray[np.complex128], float] | None:
    """A chunk's sums by cell, `coarse` and `fine` side by side; None where the numbers are too large for that.

    A term x is hi + lo: hi a multiple of 2^-33, |lo| at most 2^-34 and a multiple of 2^-56 (once rounded). The terms
    of `fine` are lo + 2^-18. Of at most 2^14 rows, all lo together stay within 2^-20, so the sum shows both the number
    of rows (its multiple of 2^-18) and their lo, and it stays below 2^-3 = 2^53·2^-56: no bit is lost. The terms of
    `coarse` are hi, less 2^-18 where `lift` (the second result) says so: then the parts take three steps and not five.

    The two parts are the real and the imaginary part of one number, for they are then added in one pass.
    """
    least = float(x.min(initial=np.inf))
    coarse = scratch("coarse", len(x))
    both = scratch("both", len(x), np.complex128)
    if least >= _ON_GRID:
        np.add(x, _TO_PACKED, out=coarse)
        np.subtract(coarse, _TO_PACKED + _ROW, out=coarse)
        np.subtract(x, coarse, out=both.imag)
        lift = _ROW
    elif least >= 0 or (least > -_PACKED_LIMIT and float(x.max()) < _PACKED_LIMIT):
        fine = scratch("fine", len(x))
        np.add(x, _TO_PACKED, out=coarse)
        np.subtract(coarse, _TO_PACKED, out=coarse)
        np.subtract(x, coarse, out=fine)
        np.add(fine, _TO_LOW, out=fine)
        np.subtract(fine, _TO_LOW - _ROW, out=both.imag)
        lift = 0.0
    else:
        return None
    both.real = coarse
    sums = np.zeros(size, dtype=np.complex128)
    np.add.at(sums, cells, both)
    # Terms from 0 on are no larger than their sum: looking at that spares a pass for the largest.
    if least >= 0 and not float(sums.real.sum()) < _PACKED_TOTAL:
        return None
    return sums, lift


def _folded(where: Indexes, flags: Sequence[NDArray[Any]], size: int) -> Indexes:
    """Cells told apart by flags as well: c + size·(first flag + 2·second flag …)."""
    cells: Indexes = scratch("cells", len(where), np.intp)
    for bit, flag in enumerate(flags):
        step = size << bit
        # Scaled as the narrow numbers they are, true/false cost little more than one widening.
        narrow: type[np.generic] = np.uint8 if step < 256 else np.uint16
        scaled = scratch("narrow flag", len(where), narrow)
        np.multiply(flag.view(np.uint8), narrow(step), out=scaled)
        wide = scratch("coarse", len(where), np.intp)
        np.copyto(wide, scaled)
        np.add(where if bit == 0 else cells, wide, out=cells)
    return cells


def _sum_cells(where: Indexes | None, values: Floats, size: int) -> Floats:
    if where is None:
        return np.array([values.sum()])
    return np.asarray(np.bincount(where, weights=values, minlength=size), dtype=np.float64)


def exact_sum(values: NDArray[np.generic]) -> float:
    """The sum of one column, independent of its order.

    >>> exact_sum(np.array([0.1, 0.2, 0.3])) == exact_sum(np.array([0.3, 0.2, 0.1]))
    True
    """
    sums = ExactSums.zeros(1, 1)
    sums.add(None, [values], len(values))
    return float(sums.floats()[0, 0])
