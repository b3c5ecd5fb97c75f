"""Is the table that a predicted SQL query returns the table that the gold query returns?

The default compares bags of rows under some permutation of columns, numbers by value; rows in order only
where the gold's outer query sorts, and then only as far as its sort keys decide. What the field's evaluators do
instead is there under their names, quirk by quirk.
"""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp

from sensecheck.correct.column_orders import fits_pool, same_blocks, same_columns
from sensecheck.inputs.guarding import guarded
from sensecheck.language.sql_parsing import parse_sql
from sensecheck.stores import Answer

Row: TypeAlias = "tuple[Any, ...]"

_NEAR = 1e-9  # numbers that differ by less, relative to their size, are equal
_NEAR_ZERO = 1e-12  # and so are these, whatever their size: what is left of 0.1 + 0.2 - 0.3
_NAN = ("not a number",)
_NUMBER = re.compile(r"\s*[+-]?(?:\d{1,15}(?:\.\d{0,15})?|\.\d{1,15})\s*")


# ---- bags of rows under a permutation of columns


def _cell_key(value: Any) -> Hashable:
    """Python's own equality has 3 = 3.0 = True and keeps text, blobs and NULL apart; NaN is to equal itself."""
    return _NAN if value != value else value


def _keyed(rows: Sequence[Row]) -> list[Row]:
    return [tuple([_cell_key(cell) for cell in row]) for row in rows]


def _numbers(rows: Iterable[Row]) -> set[float]:
    return {cell for row in rows for cell in row if isinstance(cell, int | float) and abs(cell) != math.inf}


def _near(gold: Sequence[Row], predicted: Sequence[Row]) -> list[Row]:
    """The predicted rows with each number that is no gold number in place of the nearest one, where that is near.

    Whole numbers are near to themselves alone: 1600000001 is not 1600000002. Both tables come from `_keyed`.
    """
    wanted = _numbers(gold)
    others = _numbers(predicted) - wanted
    if not wanted or not others:
        return list(predicted)
    ranked = sorted(wanted)
    moved: dict[float, float] = {}
    for number in others:
        place = bisect.bisect_left(ranked, number)
        for other in ranked[max(0, place - 1) : place + 1]:
            if _are_near(number, other) and (number not in moved or abs(other - number) < abs(moved[number] - number)):
                moved[number] = other
    if not moved:
        return list(predicted)
    return [
        tuple([moved.get(cell, cell) if isinstance(cell, int | float) else cell for cell in row]) for row in predicted
    ]


def _are_near(left: float, right: float) -> bool:
    if isinstance(left, int) and isinstance(right, int):
        return False
    try:
        return abs(left - right) <= max(_NEAR * max(abs(left), abs(right)), _NEAR_ZERO)
    except OverflowError:  # a whole number beyond all floats
        return False


def _same_shape(gold: Sequence[Row], predicted: Sequence[Row]) -> bool:
    return len(gold) == len(predicted) and (not gold or len(gold[0]) == len(predicted[0]))


def same_bag(gold: Sequence[Row], predicted: Sequence[Row]) -> bool:
    """The same rows, as often, in any order, under some permutation of columns."""
    if not _same_shape(gold, predicted):
        return False
    return Counter(gold) == Counter(predicted) or same_blocks(gold, predicted)


def same_list(gold: Sequence[Row], predicted: Sequence[Row]) -> bool:
    """The same rows in the same order under some permutation of columns."""
    if not _same_shape(gold, predicted):
        return False
    return list(gold) == list(predicted) or same_columns(gold, predicted)


def _block_numbers(keys: Sequence[Row]) -> list[int]:
    """Rows with equal sort keys are one block."""
    numbers, number = [], 0
    for row, key in enumerate(keys):
        number += row > 0 and key != keys[row - 1]
        numbers.append(number)
    return numbers


def _same_order(gold: Sequence[Row], keys: Sequence[Row], predicted: Sequence[Row]) -> bool:
    """The same order as far as the sort keys decide it: rows with equal keys may change places."""
    return bool(gold) and _same_shape(gold, predicted) and same_blocks(gold, predicted, _block_numbers(keys))


def _within_ties(everything: Sequence[Row], keys: Sequence[Row], kept: int, predicted: Sequence[Row]) -> bool:
    """Is `predicted` another choice among the rows that tie at the cut of LIMIT, or all of them?

    `everything` is the gold without its LIMIT, sorted; rows above the tie must all be there, and in their order.
    """
    if not predicted or len(everything) <= kept or keys[kept - 1] != keys[kept]:
        return False
    if len(predicted[0]) != len(everything[0]):
        return False
    cut = keys[kept - 1]
    first = next(i for i, key in enumerate(keys) if key == cut)
    last = max(i for i, key in enumerate(keys) if key == cut)
    if len(predicted) not in (kept, last + 1):
        return False
    return fits_pool(everything[: last + 1], predicted, _block_numbers(keys[:first]))


# ---- the gold query, looked at


@dataclass(slots=True)
class GoldPlan:
    """What the gold's outer query says about order: `keyed` is the gold with its sort keys as further columns
    and without its LIMIT, or empty where that cannot be written."""

    sorts: bool = False
    limit: int | None = None
    keyed: str = ""
    keys: int = 0


def plan_gold(sql: str, dialect: str = "sqlite") -> GoldPlan:
    plan = guarded("reading the gold query", _plan, sql, dialect)
    if isinstance(plan, GoldPlan):
        return plan
    return GoldPlan(sorts=bool(re.search(r"\border\s+by\b", sql, re.I)))


def _plan(sql: str, dialect: str) -> GoldPlan:
    if "order" not in sql.lower():
        return GoldPlan()  # a query that sorts says so: the others need not be read for it
    tree = next(iter(parse_sql(sql, dialect)), None)
    if tree is None:
        return GoldPlan()
    order = tree.args.get("order")
    if order is None:
        return GoldPlan()
    plan = GoldPlan(sorts=True)
    limit = tree.args.get("limit")
    if limit is not None:
        count = limit.expression
        if not isinstance(count, exp.Literal) or not str(count.this).isdigit():
            return plan
        plan.limit = int(count.this)
    if not isinstance(tree, exp.Select) or tree.args.get("distinct") or tree.args.get("offset"):
        return plan
    named = {item.alias.lower(): item.this for item in tree.expressions if isinstance(item, exp.Alias) and item.alias}
    keys: list[exp.Expression] = []
    for ordered in order.expressions:
        key = ordered.this if isinstance(ordered, exp.Ordered) else ordered
        if isinstance(key, exp.Literal) and not key.is_string:
            index = int(key.this) - 1 if str(key.this).isdigit() else -1
            if not 0 <= index < len(tree.expressions):
                return plan
            key = tree.expressions[index].unalias()
        elif isinstance(key, exp.Column) and not key.table and key.name.lower() in named:
            key = named[key.name.lower()]
        keys.append(key.copy())
    if any(isinstance(item, exp.Star) for item in tree.expressions) and tree.args.get("group"):
        return plan
    keyed = tree.copy()
    keyed.set("limit", None)
    for number, key in enumerate(keys):
        keyed.append("expressions", exp.alias_(key, f"sort_key_{number}", quoted=True))
    plan.keyed = keyed.sql(dialect=dialect)
    plan.keys = len(keys)
    return plan


# ---- verdicts


@dataclass(slots=True)
class Verdict:
    equal: bool
    vacuous: bool = False  # both are empty: equal, but nothing was shown
    tie: bool = False  # equal only because rows that tie under ORDER BY may change places


def as_numbers(answer: Answer) -> Answer:
    """Text that is a number, as a number."""

    def cell(value: Any) -> Any:
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            return float(value)
        return value

    return Answer(answer.columns, [tuple([cell(value) for value in row]) for row in answer.rows])


def compare(
    gold: Answer,
    predicted: Answer,
    plan: GoldPlan,
    keyed: Answer | None = None,
    *,
    coerce: bool = False,
    strict_ties: bool = False,
) -> Verdict:
    """The default comparison. `keyed` is the outcome of `plan.keyed`, where that ran.

    With `coerce`, text that is a number equals that number ('3' and 3). With `strict_ties`, of the rows that tie where
    LIMIT cuts, only those that the gold shows are right; their order stays free.
    """
    if coerce:
        gold, predicted = as_numbers(gold), as_numbers(predicted)
        keyed = as_numbers(keyed) if keyed is not None else None
    if not gold.rows and not predicted.rows:
        return Verdict(True, vacuous=True)
    if gold.rows and predicted.rows and len(gold.columns) != len(predicted.columns):
        return Verdict(False)
    wanted = _keyed(gold.rows)
    rows = _keyed(predicted.rows)
    shown = _near(wanted, rows)
    if same_list(wanted, shown) if plan.sorts else same_bag(wanted, shown):
        return Verdict(True)
    if plan.sorts and keyed is not None and plan.keys and len(keyed.columns) == len(gold.columns) + plan.keys:
        width = len(gold.columns)
        everything = _keyed([row[:width] for row in keyed.rows])
        keys = _keyed([row[width:] for row in keyed.rows])
        shown = _near(everything, rows)
        kept = len(gold.rows)
        same = not strict_ties or same_bag(wanted, _near(wanted, rows))
        if same and _same_order(everything[:kept], keys[:kept], shown):
            return Verdict(True, tie=True)
        cut = plan.limit is not None and kept == plan.limit and not strict_ties
        if cut and _within_ties(everything, keys, kept, shown):
            return Verdict(True, tie=True)
    return Verdict(False)


_PIECES = re.compile(r"""('(?:[^']|'')*+'|"(?:[^"]|"")*+"|`[^`]*+`|--[^\n]*+)|\bdistinct\b""", re.I)


def without_distinct(sql: str) -> str:
    """The query with every DISTINCT taken out, inside aggregates too, as test-suite evaluation does."""
    return _PIECES.sub(lambda piece: piece.group(1) or "", sql)


def suite_equal(gold: Answer, predicted: Answer, gold_sql: str) -> bool:
    """test-suite-sql-eval: bags under column permutation; in order if the gold says ORDER BY anywhere.

    Numbers are equal as Python compares them. DISTINCT is the caller's business: the evaluator strips it from
    both queries unless told to keep it.
    """
    if not gold.rows and not predicted.rows:
        return True
    if "order by" in gold_sql.lower():
        return same_list(gold.rows, predicted.rows)
    return same_bag(gold.rows, predicted.rows)


def bird_equal(gold: Answer, predicted: Answer) -> bool:
    """BIRD's execution accuracy: equal sets of rows, columns in place, order and repetition ignored."""
    return set(gold.rows) == set(predicted.rows)
