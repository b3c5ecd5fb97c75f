"""Two named ways to compare the tables of SQL queries: BIRD's soft F1, and equality once extra columns are dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TypeAlias

from sensecheck.correct.sql_compare import GoldPlan, compare
from sensecheck.inputs.guarding import Fault, OverBudgetError, guarded
from sensecheck.language.answers import Cell
from sensecheck.stores import Answer

Column: TypeAlias = "tuple[Cell, ...]"

SOFT_F1 = "soft-f1"
PROJECTION = "projection"
_MOST_CHOICES = 2_000
"""Choices of columns that are tried,"""
_MOST_CELLS = 20_000_000
"""and cells that are compared for them."""


def soft_f1(gold: Answer, predicted: Answer) -> float:
    """BIRD mini-dev's soft F1: rows are held against each other in their order, as sets of cells.

    Repeated rows count once, where they come first. Of the n-th rows of both, the cells that are in the other too, and
    those of either that are not, are counted as shares of the gold's columns; a row without a counterpart is one, of
    what only the gold or only the prediction has. NULL is a value like any other. Nothing against nothing is 1.

    >>> gold = Answer(["fruit", "grams"], [("Apple", 325), ("Banana", 119)])
    >>> soft_f1(gold, Answer(["grams", "fruit"], [(325, "Apple"), (0, "Banana")]))
    0.75
    """
    wanted, shown = (list(dict.fromkeys(answer.rows)) for answer in (gold, predicted))
    if not wanted and not shown:
        return 1.0
    both = only_shown = only_wanted = 0.0
    for right, told in zip(wanted, shown, strict=False):
        cells, given = set(right), set(told)
        matched = sum(cell in cells for cell in told)
        both += matched / len(right)
        only_shown += (len(told) - matched) / len(right)
        only_wanted += sum(cell not in given for cell in right) / len(right)
    only_shown += max(0, len(shown) - len(wanted))
    only_wanted += max(0, len(wanted) - len(shown))
    # The harmonic mean of both/(both + only_shown) and both/(both + only_wanted).
    return 2 * both / (2 * both + only_shown + only_wanted)


def equal_after_projection(
    gold: Answer, predicted: Answer, plan: GoldPlan, keyed: Answer | None = None, *, coerce: bool = False
) -> bool | None:
    """Whether some of the predicted columns are the gold's table, by the usual comparison.

    A prediction with too many choices of columns counts as wrong; None is for faults that are not its own.
    """
    same = guarded("choosing columns", _projected, gold, predicted, plan, keyed, coerce)
    if isinstance(same, Fault):
        return False if same.over_budget else None
    return same


def _projected(gold: Answer, predicted: Answer, plan: GoldPlan, keyed: Answer | None, coerce: bool) -> bool:
    if compare(gold, predicted, plan, keyed, coerce=coerce).equal:
        return True
    width = len(gold.columns)
    if not gold.rows or not predicted.rows or len(predicted.columns) <= width:
        return False
    if keyed is None and len(predicted.rows) != len(gold.rows):
        return False
    # What the gold might have shown: all rows that tie at its LIMIT may stand for each other.
    pool = [*gold.rows, *([row[:width] for row in keyed.rows] if keyed is not None else [])]
    candidates = _candidates(list(zip(*pool, strict=True)), list(zip(*predicted.rows, strict=True)), coerce)
    cells = 0
    for number, chosen in enumerate(combinations(candidates, width)):
        cells += len(predicted.rows) * width
        if number >= _MOST_CHOICES or cells > _MOST_CELLS:
            raise OverBudgetError("too many choices of columns")
        rows = [tuple([row[place] for place in chosen]) for row in predicted.rows]
        if compare(gold, Answer(gold.columns, rows), plan, keyed, coerce=coerce).equal:
            return True
    return False


def _candidates(wanted: Sequence[Column], shown: Sequence[Column], coerce: bool) -> list[int]:
    """The predicted columns that hold no text but what some column of the gold may hold."""
    there = [_kinds(column, coerce) for column in wanted]
    alike: Counter[Column] = Counter()
    candidates = []
    for place, column in enumerate(shown):
        # Columns that are the same cell by cell need not be tried one for the other.
        alike[column] += 1
        if alike[column] <= len(wanted) and any(_kinds(column, coerce) <= kinds for kinds in there):
            candidates.append(place)
    return candidates


def _kinds(column: Column, coerce: bool) -> set[Cell]:
    """The values of a column, with 0 for all numbers: which of them are near each other, the comparison says."""
    return {0 if isinstance(cell, int | float) or (coerce and isinstance(cell, str)) else cell for cell in column}
