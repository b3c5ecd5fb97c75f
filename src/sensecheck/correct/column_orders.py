"""Is one table another with its columns in some other order?

Columns are placed one after the other, the one with the fewest candidates first; a start is given up as soon as some
column has no place where the rows, cut off there, agree. Cells are numbers and rows are hashes here, so that each look
is a few passes over the rows; a yes is checked cell by cell in the end. Tables can be built that have very many starts
all the same: the steps are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sensecheck.inputs.guarding import OverBudgetError

Row: TypeAlias = "tuple[Any, ...]"
Codes: TypeAlias = NDArray[np.int64]
Hashes: TypeAlias = NDArray[np.uint64]
Rows: TypeAlias = tuple[Hashes, int]

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
        starts = [self._start(len(columns[0])) for columns in (self.gold, self.predicted)]
        return self._placed({}, starts[0], starts[1])

    def _start(self, rows: int) -> Hashes:
        start = np.zeros(rows, dtype=np.uint64)
        start[: self.fixed] = self.blocks
        return start

    def _placed(self, placed: dict[int, int], wanted: Hashes, shown: Hashes) -> bool:
        """Whether the other columns find their places too. `placed`: the gold's column → the predicted one; the hashes
        are of the rows cut off at these columns."""
        if len(placed) == self.width:
            return self._proved(placed)
        golds = self._cut_off(wanted, self.gold, placed.keys())
        others = self._cut_off(shown, self.predicted, set(placed.values()))
        if sorted(bag for _, bag in golds.values()) != sorted(bag for _, bag in others.values()):
            return False  # some column is left over on either side
        fitting = {i: self._fitting(golds[i], others) for i in golds}
        # The column with the fewest candidates goes first: one without any ends the matter here.
        place = min(fitting, key=lambda i: len(fitting[i]))
        return any(self._placed({**placed, place: j}, golds[place][0], others[j][0]) for j in fitting[place])

    def _cut_off(self, hashes: Hashes, columns: Sequence[Codes], placed: Collection[int]) -> dict[int, Rows]:
        """The rows cut off behind each of the columns that have no place yet, and the bag of those that are fixed."""
        self.steps -= len(hashes) * (len(columns) - len(placed))
        if self.steps < 0:
            raise OverBudgetError(f"columns that look alike could be in too many orders ({self.width} columns)")
        longer = {i: _joined(hashes, column) for i, column in enumerate(columns) if i not in placed}
        return {i: (rows, _bag(rows[: self.fixed])) for i, rows in longer.items()}

    def _fitting(self, wanted: Rows, others: Mapping[int, Rows]) -> list[int]:
        """The columns behind which the rows may be the gold's; of those that are the same cell by cell, one."""
        fitting: dict[int, int] = {}
        for j, shown in others.items():
            if self.kinds[j] not in fitting and self._agree(wanted, shown):
                fitting[self.kinds[j]] = j
        return list(fitting.values())

    def _agree(self, wanted: Rows, shown: Rows) -> bool:
        if wanted[1] != shown[1]:
            return False
        rest = shown[0][self.fixed :]
        return not len(rest) or _is_part(rest, wanted[0][self.fixed :])

    def _proved(self, placed: Mapping[int, int]) -> bool:
        gold = self._rows([self.gold[i] for i in placed])
        shown = self._rows([self.predicted[j] for j in placed.values()])
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
