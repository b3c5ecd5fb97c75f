"""Spider 2.0-lite's comparison of tables, which asks only that the gold's columns are among the predicted ones.

Every wanted column of the gold must have its values in some predicted column: in the same order, or sorted by how they
are written where order makes no difference. Numbers are equal within 0.01; nothing counts as 0. Further columns do
no harm, and columns are looked at one by one, so that rows need not hang together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sensecheck.inputs.guarding import OverBudgetError
from sensecheck.language.answers import Answer, Cell

_NEAR = 1e-2
_MOST_STEPS = 20_000_000  # pairs of cells that are compared: a few seconds


def spider2_equal(gold: Answer, predicted: Answer, *, ignore_order: bool) -> bool:
    """Whether a prediction holds all columns of a gold (which has those that are asked for alone)."""
    wanted = _columns(gold, ignore_order)
    shown = _columns(predicted, ignore_order)
    steps = 0
    for column in wanted:
        for other in shown:
            same, looked_at = _same(column, other)
            steps += looked_at
            if steps > _MOST_STEPS:
                raise OverBudgetError("tables too wide to compare column by column")
            if same:
                break
        else:
            return False
    return bool(wanted)


def _columns(answer: Answer, ignore_order: bool) -> list[list[Cell]]:
    if answer.rows:
        columns: Sequence[Sequence[Cell]] = list(zip(*answer.rows, strict=True))
    else:
        columns = [()] * len(answer.columns)
    filled = [_filled(column) for column in columns]
    # By how values are written, as the evaluator sorts them: 9.99 comes after 10.0.
    return [sorted(column, key=_written) for column in filled] if ignore_order else filled


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
