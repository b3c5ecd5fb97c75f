"""Spider 2.0-lite's comparison of tables, which asks only that the gold's columns are among the predicted ones.

Every wanted column of the gold must have its values in some predicted column: in the same order, or sorted by how they
are written where order makes no difference. Numbers are equal within 0.01; nothing counts as 0. Further columns do
no harm, and columns are looked at one by one, so that rows need not hang together.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TypeAlias

from sensecheck.inputs.guarding import OverBudgetError
from sensecheck.language.answers import Answer, Cell

_NEAR = 1e-2
_ROUNDING = 1e-8  # of a sum: more than adding up millions of cells loses, and than `math.isclose` allows each
_MOST_STEPS = 20_000_000  # pairs of cells that are compared: a few seconds

_Sums: TypeAlias = "tuple[float, float]"  # of the numbers of a column, and of their sizes


def spider2_equal(gold: Answer, predicted: Answer, *, ignore_order: bool) -> bool:
    """Whether a prediction holds all columns of a gold (which has those that are asked for alone)."""
    wanted = _columns(gold)
    shown = _columns(predicted)
    if not wanted:
        return False
    # Most columns of a right answer are there digit for digit, which takes no comparing one by one.
    # Nor sorting: 1 and 1.0 are written otherwise, which may sort them otherwise, so that kinds must be the same too.
    exact = set(map(_exactly, shown))
    wanted = [column for column in wanted if _exactly(column) not in exact]
    return not wanted or _all_held(wanted, shown, ignore_order)


def _all_held(wanted: Sequence[Sequence[Cell]], shown: Sequence[Sequence[Cell]], ignore_order: bool) -> bool:
    if ignore_order:
        # By how values are written, as the evaluator sorts them: 9.99 comes after 10.0.
        wanted, shown = ([sorted(column, key=_written) for column in columns] for columns in (wanted, shown))
    exact = set(map(tuple, shown))
    alike: dict[Hashable, list[tuple[Sequence[Cell], _Sums]]] = {}
    for column in shown:
        alike.setdefault(_kinds(column), []).append((column, _sums(column)))
    steps = 0
    for column in wanted:
        if tuple(column) in exact:
            continue
        sums = _sums(column)
        for other, other_sums in alike.get(_kinds(column), ()):
            same, looked_at = _same(column, other) if _may_be_near(sums, other_sums, len(column)) else (False, 1)
            steps += looked_at
            if steps > _MOST_STEPS:
                raise OverBudgetError("tables too wide to compare column by column")
            if same:
                break
        else:
            return False
    return True


def _exactly(column: Sequence[Cell]) -> Hashable:
    return tuple(column), tuple(map(type, column))


def _kinds(column: Sequence[Cell]) -> Hashable:
    """What columns that hold the same have in common, whichever numbers near each other stand in them: how long they
    are, which cells are numbers, and what the others are."""
    return len(column), hash(tuple([None if isinstance(cell, int | float) else cell for cell in column]))


def _sums(column: Sequence[Cell]) -> _Sums:
    numbers = [_float(cell) for cell in column if isinstance(cell, int | float)]
    return sum(numbers), sum(map(abs, numbers))


def _may_be_near(left: _Sums, right: _Sums, cells: int) -> bool:
    """Whether numbers may be near each other one by one, by their sums (which rounding may have moved a little)."""
    apart = abs(left[0] - right[0])
    return not apart > cells * _NEAR + _ROUNDING * (left[1] + right[1])  # what is not finite may be anything


def _columns(answer: Answer) -> list[list[Cell]]:
    if answer.rows:
        columns: Sequence[Sequence[Cell]] = list(zip(*answer.rows, strict=True))
    else:
        columns = [()] * len(answer.columns)
    return [_filled(column) for column in columns]


def _filled(column: Sequence[Cell]) -> list[Cell]:
    """With 0 for nothing; a column that holds anything but whole numbers holds no whole ones, as in a data frame."""
    filled: list[Cell] = [0 if cell is None or cell != cell else cell for cell in column]
    numbers = all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in filled)
    if numbers and any(isinstance(cell, float) or cell is None for cell in column):
        return [_float(cell) for cell in filled if isinstance(cell, int | float)]
    return filled


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _written(cell: Cell) -> tuple[str, bool]:
    return str(cell), isinstance(cell, int | float)


def _same(left: Sequence[Cell], right: Sequence[Cell]) -> tuple[bool, int]:
    """Whether two columns hold the same, and how many cells were looked at."""
    if len(left) != len(right):
        return False, 1
    for place, (a, b) in enumerate(zip(left, right, strict=True), 1):
        if isinstance(a, int | float) and isinstance(b, int | float):
            if a != b and not math.isclose(_float(a), _float(b), abs_tol=_NEAR):
                return False, place
        elif a != b:
            return False, place
    return True, len(left)
