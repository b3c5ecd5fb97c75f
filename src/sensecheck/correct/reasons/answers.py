"""Reasons that follow from two answers alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

from sensecheck.correct.answer_sets import Overlap
from sensecheck.correct.reasons.kinds import MEANINGS, Explanation, Why
from sensecheck.correct.sql_compare import GoldPlan, compare
from sensecheck.stores import Answer

MOST_CELLS = 200_000
"""Of an answer that is looked at for more than its size."""
MOST_CHOICES = 24
"""Ways of leaving columns out that are tried."""


def _told(why: Why, more: str = "") -> Explanation:
    words = MEANINGS[why]
    return Explanation(why, f"{words[:1].upper()}{words[1:]}{more}.")


# ---- tables


def table_reason(gold: Answer, predicted: Answer, plan: GoldPlan) -> Explanation:
    """The reason of a wrong table. What explains the whole difference comes first, then which rows are there."""
    if not predicted.rows:
        return _told(Why.EMPTY)
    if _cells(gold) + _cells(predicted) <= MOST_CELLS:
        whole = whole_reason(gold, predicted, plan)
        if whole is not None:
            return whole
    return rows_reason(gold, predicted)


def _cells(answer: Answer) -> int:
    return len(answer.rows) * max(1, len(answer.columns))


def whole_reason(gold: Answer, predicted: Answer, plan: GoldPlan) -> Explanation | None:
    """What makes the two answers equal once it is taken away, if one thing does."""
    if not gold.rows or not predicted.rows:
        return None
    wide, narrow = len(predicted.columns), len(gold.columns)
    unsorted = GoldPlan()
    if wide > narrow:
        kept = kept_columns(gold, predicted, plan)
        return None if kept is None else _told(Why.EXTRA_COLUMN)
    if wide < narrow:
        return None if kept_columns(predicted, gold, GoldPlan(sorts=plan.sorts)) is None else _told(Why.MISSING_COLUMN)
    if plan.sorts and compare(gold, predicted, unsorted).equal:
        return _told(Why.ORDER)
    if _once(gold) == _once(predicted) or compare(_distinct(gold), _distinct(predicted), unsorted).equal:
        return _told(Why.DUPLICATES)
    if len(gold.rows) != len(predicted.rows):
        return None
    if compare(gold, predicted, plan, coerce=True).equal:
        return _told(Why.NUMBER_AS_TEXT)
    if compare(_levelled(gold), _levelled(predicted), plan).equal:
        return _told(Why.SPELLING)
    rounded = _rounded(gold, predicted)
    if rounded is not None and compare(gold, rounded, plan).equal:
        return _told(Why.ROUNDING)
    return None


def kept_columns(narrow: Answer, wide: Answer, plan: GoldPlan) -> tuple[int, ...] | None:
    """Which columns of the wider table are the narrower one, if any are."""
    if len(narrow.rows) != len(wide.rows):
        return None
    for chosen in islice(_choices(narrow, wide), MOST_CHOICES):
        cut = Answer([wide.columns[i] for i in chosen], [tuple([row[i] for i in chosen]) for row in wide.rows])
        if compare(narrow, cut, plan).equal:
            return tuple(sorted(chosen))
    return None


def _choices(narrow: Answer, wide: Answer) -> Iterator[tuple[int, ...]]:
    """For every column of the narrower table one of the wider that holds the same values."""
    bags = [_bag(wide, place) for place in range(len(wide.columns))]
    fitting = []
    for place in range(len(narrow.columns)):
        wanted = _bag(narrow, place)
        fitting.append([other for other, bag in enumerate(bags) if bag == wanted])
    return (chosen for chosen in islice(product(*fitting), 10 * MOST_CHOICES) if len(set(chosen)) == len(chosen))


def _bag(answer: Answer, place: int) -> Counter[Any]:
    return Counter([_near(row[place]) for row in answer.rows])


def _near(cell: Any) -> Any:
    if cell != cell:
        return "not a number"
    return float(f"{cell:.8g}") if isinstance(cell, float) and abs(cell) < 1e300 else cell


def _once(answer: Answer) -> set[Any]:
    return {tuple([_near(cell) for cell in row]) for row in answer.rows}


def _distinct(answer: Answer) -> Answer:
    return Answer(answer.columns, list(dict.fromkeys(answer.rows)))


def _levelled(answer: Answer) -> Answer:
    """Without case and space."""
    rows = [tuple(["".join(c.casefold().split()) if isinstance(c, str) else c for c in row]) for row in answer.rows]
    return Answer(answer.columns, rows)


def _decimals(number: float) -> int:
    text = repr(number)
    if "e" in text or "n" in text:
        return 17
    return len(text.partition(".")[2].rstrip("0"))


def _is_rounded(left: float, right: float) -> bool:
    """Whether one is the other with fewer decimals: rounded, or cut off."""
    rough, fine = sorted((left, right), key=_decimals)
    places = _decimals(rough)
    if places >= 12:
        return False
    half = 0.5 * 10.0**-places
    cut = math.trunc(fine * 10**places) / 10**places
    return rough == cut or abs(rough - fine) <= half * (1 + 1e-9)


def _rounded(gold: Answer, predicted: Answer) -> Answer | None:
    """The prediction with numbers in place of which the gold has one that differs only by rounding."""
    wanted = sorted({c for row in gold.rows for c in row if isinstance(c, int | float) and abs(c) < 1e15})
    if not wanted:
        return None
    moved: dict[float, float] = {}
    numbers = {c for row in predicted.rows for c in row if isinstance(c, int | float) and abs(c) < 1e15}
    for number in numbers - set(wanted):
        nearest = min(wanted, key=lambda other: abs(other - number)) if len(wanted) <= 1000 else None
        if nearest is None or (isinstance(nearest, int) and isinstance(number, int)):
            continue
        if _is_rounded(float(nearest), float(number)):
            moved[number] = nearest
    if not moved:
        return None
    rows = [tuple([moved.get(c, c) if isinstance(c, int | float) else c for c in row]) for row in predicted.rows]
    return Answer(predicted.columns, rows)


def rows_reason(gold: Answer, predicted: Answer) -> Explanation:
    """Which of the gold's rows are there."""
    if not predicted.rows:
        return _told(Why.EMPTY)
    if len(gold.columns) < len(predicted.columns) and gold.rows:
        return _told(Why.EXTRA_COLUMN)
    if len(gold.columns) > len(predicted.columns) and gold.rows:
        return _told(Why.MISSING_COLUMN)
    if _is_number(gold) and _is_number(predicted):
        return _told(Why.NUMBER_OFF)
    wanted, shown = Counter(_plain(gold.rows)), Counter(_plain(predicted.rows))
    common = (wanted & shown).total()
    if common == wanted.total():
        return _told(Why.EXTRA_ROWS)
    if common == shown.total():
        return _told(Why.MISSING_ROWS)
    return _told(Why.SOME_OTHER_ROWS if common else Why.OTHER_ROWS)


def _plain(rows: Sequence[tuple[Any, ...]]) -> list[frozenset[Any]]:
    """Rows whose columns may stand in any order."""
    return [frozenset(Counter(map(_near, row)).items()) for row in rows]


def _is_number(answer: Answer) -> bool:
    return len(answer.rows) == 1 and len(answer.rows[0]) == 1 and isinstance(answer.rows[0][0], int | float)


# ---- SPARQL


def sparql_reason(kind: str, sets: Overlap | None, predicted: Answer, width: int | None) -> Explanation:
    """The reason of a wrong answer of SPARQL; `width`: how many columns the gold has, where that is known."""
    if kind == "boolean":
        return _told(Why.FLIPPED if predicted.boolean is not None else Why.OTHER_KIND)
    if predicted.boolean is not None:
        return _told(Why.OTHER_KIND)
    if not predicted.rows and kind != "count":
        return _told(Why.EMPTY)
    if kind == "count" or sets is None:
        return _told(Why.NUMBER_OFF)
    if width is not None and width != len(predicted.columns):
        return _told(Why.EXTRA_COLUMN if len(predicted.columns) > width else Why.MISSING_COLUMN)
    shares = f": {sets.tp:,} of {sets.tp + sets.fn:,}, and {sets.fp:,} others"
    if not sets.tp:
        return _told(Why.OTHER_ROWS if sets.fn else Why.EXTRA_ROWS)
    if not sets.fp:
        return _told(Why.MISSING_ROWS, shares)
    return _told(Why.SOME_OTHER_ROWS if sets.fn else Why.EXTRA_ROWS, shares)
