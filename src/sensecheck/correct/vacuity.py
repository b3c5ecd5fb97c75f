"""Right answers that show little: both are empty, both count nothing, or the gold's condition makes no difference.

A wrong query finds nothing as easily as a right one, and where the gold answers the same without its WHERE, so does a
prediction that leaves the condition out or writes another one. Such pairs are right, and marked with the kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

from sqlglot import exp

from sensecheck.correct.answer_sets import number_of
from sensecheck.correct.sql_compare import GoldPlan, Verdict, compare
from sensecheck.inputs.guarding import guarded
from sensecheck.language.sparql import Query
from sensecheck.language.sparql.tree import Call
from sensecheck.language.sql_parsing import parse_sql
from sensecheck.stores import Answer, Outcome, Request, Term

EMPTY = "empty"
NOTHING_COUNTED = "nothing counted"
CONDITION_IDLE = "condition idle"
KINDS = (EMPTY, NOTHING_COUNTED, CONDITION_IDLE)
METHOD = "empty+nothing-counted+condition-idle"
"""What the signature says of the mark: runs from before there were kinds meant empty answers alone."""
KEPT = 50_000
"""Gold queries of which what they say without their condition is kept."""

_LIMITED = re.compile(r"\bLIMIT \S+(?: OFFSET \S+)?$")  # as sqlglot writes it
_COUNTING = (exp.Count, exp.CountIf, exp.ApproxDistinct)


class RightPair(NamedTuple):
    """A gold that some prediction met, and where it ran."""

    gold: str
    files: tuple[str, ...]


def counts_nothing(answer: Answer, sql: str, dialect: str = "sqlite") -> bool:
    """Whether an answer is what aggregates give of no rows: COUNT is 0, SUM, AVG, MIN and MAX are NULL.

    A sum or a minimum of 0 was made of something, and a NULL that stands in a row was found there.
    """
    if len(answer.rows) != 1 or not all(cell is None or _is_zero(cell) for cell in answer.rows[0]):
        return False
    return guarded("reading the gold query", _aggregates_nothing, answer, sql, dialect) is True


def _is_zero(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool) and cell == 0


def _aggregates_nothing(answer: Answer, sql: str, dialect: str) -> bool:
    tree = next(iter(parse_sql(sql, dialect)), None)
    if not isinstance(tree, exp.Select) or tree.args.get("group") or len(tree.expressions) != len(answer.rows[0]):
        return False
    for shown, cell in zip(tree.expressions, answer.rows[0], strict=True):
        aggregates = list(shown.find_all(exp.AggFunc))
        if not aggregates or (cell is not None and not any(isinstance(one, _COUNTING) for one in aggregates)):
            return False
    return True


def sparql_counts_nothing(answer: Answer, query: Query) -> bool:
    """The same of SPARQL: one row of counts, all of them 0."""
    if len(answer.rows) != 1 or query.form != "SELECT" or query.group_by or not query.projection:
        return False
    counted = all(
        isinstance(shown.expression, Call) and shown.expression.name.upper() == "COUNT" for shown in query.projection
    )
    return counted and all(isinstance(cell, Term) and number_of(cell.value) == 0 for cell in answer.rows[0])


def without_condition(sql: str, dialect: str = "sqlite") -> str:
    """The query without the WHERE of its outermost SELECT; empty where it has none or that cannot be written.

    Where tables stand side by side (`FROM a, b`), the conditions that join them stay.
    """
    if "where" not in sql.lower():
        return ""
    text = guarded("reading the gold query", _without_condition, sql, dialect)
    return text if isinstance(text, str) else ""


def _without_condition(sql: str, dialect: str) -> str:
    tree = next(iter(parse_sql(sql, dialect)), None)
    where = tree.args.get("where") if isinstance(tree, exp.Select) else None
    if not isinstance(tree, exp.Select) or where is None:
        return ""
    conditions = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    beside = any(not join.args.get("on") and not join.args.get("using") for join in tree.args.get("joins") or ())
    joining = [condition for condition in conditions if beside and _joins(condition)]
    if len(joining) == len(conditions):
        return ""
    tree.set("where", exp.Where(this=exp.and_(*joining, copy=False)) if joining else None)
    return str(tree.sql(dialect=dialect))


def _joins(condition: exp.Expression) -> bool:
    """Whether a condition sets columns of two tables equal."""
    left, right = condition.args.get("this"), condition.args.get("expression")
    both = isinstance(left, exp.Column) and isinstance(right, exp.Column)
    return isinstance(condition, exp.EQ) and both and left.table.lower() != right.table.lower()


class Vacuity:
    """Says of right SQL pairs in which way they show little; each gold is asked without its condition once."""

    def __init__(self, dialect: str, ask: Callable[[list[Request]], Mapping[Request, Outcome]]) -> None:
        self.dialect = dialect
        self.ask = ask
        self._without_condition = lru_cache(maxsize=KEPT)(partial(without_condition, dialect=dialect))

    def kinds(
        self, pairs: Iterable[RightPair], outcomes: Mapping[Request, Outcome], plans: Mapping[str, GoldPlan]
    ) -> dict[RightPair, str]:
        """The kind of each pair that shows little; it must do so on every database."""
        kinds: dict[RightPair, str] = {}
        asked: dict[RightPair, list[tuple[Answer, Request]]] = {}
        for pair in dict.fromkeys(pairs):
            golds = [outcomes.get(Request(pair.gold, file)) for file in pair.files]
            answers = [gold for gold in golds if isinstance(gold, Answer)]
            if not answers or len(answers) < len(golds):
                continue
            if not any(answer.rows for answer in answers):
                kinds[pair] = EMPTY
            elif all(not answer.rows or counts_nothing(answer, pair.gold, self.dialect) for answer in answers):
                kinds[pair] = NOTHING_COUNTED
            elif text := self._without_condition(pair.gold):
                files = zip(answers, pair.files, strict=True)
                asked[pair] = [(answer, Request(with_room(text, len(answer.rows)), file)) for answer, file in files]
        requests = list(dict.fromkeys(request for whole in asked.values() for _, request in whole))
        found = self.ask(requests) if requests else {}
        for pair, whole in asked.items():
            plan = plans.get(pair.gold, GoldPlan())
            if all(_same(answer, found.get(request), plan) for answer, request in whole):
                kinds[pair] = CONDITION_IDLE
        return kinds


def with_room(text: str, rows: int) -> str:
    """The query cut one row behind those of the gold: that it has more says enough, and a table of millions is not
    shown."""
    return text if _LIMITED.search(text) else f"{text} LIMIT {rows + 1}"


def _same(gold: Answer, found: Outcome | None, plan: GoldPlan) -> bool:
    if not isinstance(found, Answer) or len(gold.rows) != len(found.rows):
        return False
    verdict = guarded("comparing answers", compare, gold, found, plan)
    return isinstance(verdict, Verdict) and verdict.equal
