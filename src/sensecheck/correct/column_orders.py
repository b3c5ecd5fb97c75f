"""Is one table another with its columns in some other order?

Columns are placed one after the other; a start is given up as soon as the rows cut off at the columns placed so far do
not agree. Cells are numbers and rows are hashes here, so that each try is a few passes over the rows; a yes is checked
cell by cell in the end. Tables made of columns that look alike have very many starts: the steps are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sensecheck.inputs.guarding import OverBudgetError

Row: TypeAlias = "tuple[Any, ...]"
Codes: TypeAlias = NDArray[np.int64]
Hashes: TypeAlias = NDArray[np.uint64]

MOST_STEPS = 30_000_000
"""Rows looked at while orders of columns are tried: about a second."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MIX, _SECOND_MIX = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def same_columns(gold: Sequence[Row], predicted: Sequence[Row]) -> bool:
    """The same rows in the same order: then every column is one of the other's columns, cell by cell."""
    return Counter(zip(*gold, strict=True)) == Counter(zip(*predicted, strict=True))


def same_blocks(gold: Sequence[Row], predicted: Sequence[Row], blocks: Sequence[int] | None = None) -> bool:
    """The same rows, as often, under some order of columns; `blocks` numbers the rows that may change places."""
    return _Search(gold, predicted, blocks, len(gold)).found()


def fits_pool(gold: Sequence[Row], predicted: Sequence[Row], blocks: Sequence[int]) -> bool:
    """The first rows as `same_blocks`, as many as there are blocks; the others are among the gold's others."""
    return _Search(gold, predicted, blocks, len(blocks)).found()


class _Search:
    """Tables of equal width; of equal length too, unless `fixed` rows alone have to be the same."""

    def __init__(self, gold: Sequence[Row], predicted: Sequence[Row], blocks: Sequence[int] | None, fixed: int) -> None:
        numbers: dict[Hashable, int] = {}
        self.gold = [_codes(column, numbers) for column in zip(*gold, strict=True)]
        self.predicted = [_codes(column, numbers) for column in zip(*predicted, strict=True)]
        self.width = len(self.gold)
        self.fixed = fixed
        self.blocks = np.zeros(fixed, dtype=np.uint64) if blocks is None else np.array(blocks, dtype=np.uint64)
        # Columns that are the same cell by cell need not be tried one after the other.
        kinds: dict[bytes, int] = {}
        self.kinds = [kinds.setdefault(column.tobytes(), len(kinds)) for column in self.predicted]
        self.steps = max(MOST_STEPS, 4 * len(gold) * self.width**2)

    def found(self) -> bool:
        gold_start, start = (self._start(len(columns[0])) for columns in (self.gold, self.predicted))
        shown = [_joined(start, column) for column in self.predicted]
        candidates = []
        for column in self.gold:
            wanted = _joined(gold_start, column)
            candidates.append([j for j, hashes in enumerate(shown) if self._agree(wanted, hashes)])
        # The gold's columns in the order of their number of candidates: where there is one, nothing is tried.
        self.places = sorted(range(self.width), key=lambda i: len(candidates[i]))
        self.candidates = [candidates[i] for i in self.places]
        if not all(self.candidates):
            return False
        self.wanted = []
        hashes = gold_start
        for place in self.places:
            hashes = _joined(hashes, self.gold[place])
            self.wanted.append(hashes)
        return self._placed([], start)

    def _start(self, rows: int) -> Hashes:
        start = np.zeros(rows, dtype=np.uint64)
        start[: self.fixed] = self.blocks
        return start

    def _agree(self, wanted: Hashes, shown: Hashes) -> bool:
        """Whether rows cut off behind some column may be the gold's rows cut off there."""
        self.steps -= len(shown)
        if self.steps < 0:
            raise OverBudgetError(f"columns that look alike could be in too many orders ({self.width} columns)")
        if _bag(wanted[: self.fixed]) != _bag(shown[: self.fixed]):
            return False
        return not len(shown) > self.fixed or _is_part(shown[self.fixed :], wanted[self.fixed :])

    def _placed(self, chosen: list[int], hashes: Hashes) -> bool:
        depth = len(chosen)
        if depth == self.width:
            return self._proved(chosen)
        tried: set[int] = set()
        for j in self.candidates[depth]:
            if j in chosen or self.kinds[j] in tried:
                continue
            tried.add(self.kinds[j])
            longer = _joined(hashes, self.predicted[j])
            if self._agree(self.wanted[depth], longer) and self._placed([*chosen, j], longer):
                return True
        return False

    def _proved(self, chosen: Sequence[int]) -> bool:
        gold = self._rows([self.gold[place] for place in self.places])
        shown = self._rows([self.predicted[j] for j in chosen])
        if Counter(gold[: self.fixed]) != Counter(shown[: self.fixed]):
            return False
        return Counter(shown[self.fixed :]) <= Counter(gold[self.fixed :])

    def _rows(self, columns: Sequence[Codes]) -> list[Row]:
        start = self._start(len(columns[0]))
        return list(zip(start.tolist(), *(column.tolist() for column in columns), strict=True))


def _codes(column: Iterable[Hashable], numbers: dict[Hashable, int]) -> Codes:
    """A number for each distinct cell; the same in every column that shares `numbers`."""
    return np.array([numbers.setdefault(cell, len(numbers)) for cell in column], dtype=np.int64)


def _mixed(values: Hashes) -> Hashes:
    """Values spread over all 64 bits, so that sums of them tell bags apart."""
    values = (values ^ (values >> np.uint64(30))) * _FIRST_MIX
    values = (values ^ (values >> np.uint64(27))) * _SECOND_MIX
    return values ^ (values >> np.uint64(31))


def _joined(hashes: Hashes, column: Codes) -> Hashes:
    """The hashes of rows with one more cell."""
    return _mixed(hashes * _ODD + column.astype(np.uint64) + np.uint64(1))


def _bag(hashes: Hashes) -> int:
    """Equal for equal bags of hashes, whatever their order."""
    return int(hashes.sum(dtype=np.uint64))


def _is_part(some: Hashes, everything: Hashes) -> bool:
    """Whether each hash is there at least as often."""
    values, counts = np.unique(some, return_counts=True)
    pool, pool_counts = np.unique(everything, return_counts=True)
    at = np.minimum(np.searchsorted(pool, values), len(pool) - 1)
    return len(pool) > 0 and bool(np.all((pool[at] == values) & (pool_counts[at] >= counts)))
