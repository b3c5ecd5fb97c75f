"""Conditions that compare something with a value: what they compare, how, with what, and how two of them differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sensecheck.correct.reasons.kinds import Why
from sensecheck.correct.reasons.reading import Query, conjuncts, plain_key, sql_of

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.Glob, exp.Is)
_KINDS = (*_COMPARISONS, exp.Between, exp.In)
_NUMBERED = re.compile(r"__\d+\b")
_LETTERS = re.compile(r"[^\w]+|_")
LONGEST_SPELLING = 200


@dataclass(slots=True)
class Leaf:
    """`singer.age > 20`: a comparison with a value, with the NOT before it."""

    node: Any
    left: Any
    left_key: str
    """Without the numbers of tables that occur more than once."""
    operator: str
    value: str
    place: str
    """where, having or on."""

    @property
    def asks_for_null(self) -> bool:
        return self.operator in ("IS", "NOT IS") and self.value == "null"


def leaves(query: Query) -> list[Leaf]:
    """All of a query, in its subqueries too."""
    if "leaves" not in query.kept:
        query.kept["leaves"] = _leaves(query.nodes(*_KINDS), query.dialect)
    return query.kept["leaves"]


def leaves_in(condition: Any, dialect: str) -> list[Leaf]:
    return _leaves(condition.find_all(*_KINDS), dialect)


def _leaves(nodes: Iterable[Any], dialect: str) -> list[Leaf]:
    found = [_leaf(node, dialect) for node in nodes]
    return [leaf for leaf in found if leaf is not None]


def _leaf(node: Any, dialect: str) -> Leaf | None:
    if isinstance(node, exp.In):
        values = node.expressions
        if not values or node.args.get("query") is not None:
            return None
    elif isinstance(node, exp.Between):
        values = [node.args.get("low"), node.args.get("high")]
    else:
        values = [node.expression]
    if any(value is None or not _is_value(value) for value in values):
        return None
    if not isinstance(node.this, exp.Column) and (
        node.this.find(exp.Column, exp.Star) is None or node.this.find(exp.Query) is not None
    ):
        return None
    operator = type(node).__name__.upper()
    whole = node
    while isinstance(whole.parent, exp.Paren) and isinstance(whole.parent.parent, exp.Not):
        whole = whole.parent
    if isinstance(whole.parent, exp.Not):
        whole, operator = whole.parent, f"NOT {operator}"
    texts = [plain_key(sql_of(value, dialect)) for value in values]
    if isinstance(node, exp.In):
        texts.sort()
        if len(texts) == 1:
            operator = operator.replace("IN", "EQ")
    left_key = _NUMBERED.sub("", plain_key(sql_of(node.this, dialect)))
    return Leaf(whole, node.this, left_key, operator, ", ".join(texts), _place(node))


def _is_value(node: Any) -> bool:
    return isinstance(node, exp.Literal) or node.find(exp.Column, exp.Query) is None


def _place(node: Any) -> str:
    while node is not None:
        if isinstance(node, exp.Where):
            return "where"
        if isinstance(node, exp.Having):
            return "having"
        if isinstance(node, exp.Join):
            return "on"
        node = node.parent
    return "select"


def superlative(condition: Any) -> tuple[Any, Any] | None:
    """Of `age = (SELECT MAX(age) FROM …)` the column and the aggregate."""
    if not isinstance(condition, exp.EQ | exp.In) or not isinstance(condition.this, exp.Column):
        return None
    query = condition.args.get("query") or condition.args.get("expression")
    select = query.this if isinstance(query, exp.Subquery) else query
    if isinstance(select, exp.Select) and len(select.expressions) == 1:
        item = select.expressions[0]
        if isinstance(item, exp.Max | exp.Min) and isinstance(item.this, exp.Column):
            return condition.this, item
    return None


def is_joining(condition: Any) -> bool:
    """Whether a condition ties two tables together."""
    return (
        isinstance(condition, exp.EQ)
        and isinstance(condition.this, exp.Column)
        and isinstance(condition.expression, exp.Column)
        and condition.this.table != condition.expression.table
    )


def filters(select: Any, clause: str = "where") -> list[Any]:
    """The conditions of WHERE or HAVING, without those that tie tables together."""
    node = select.args.get(clause)
    return [] if node is None else [part for part in conjuncts(node.this) if not is_joining(part)]


def joining(select: Any) -> list[Any]:
    """The conditions that tie tables together, in ON and in WHERE."""
    where = select.args.get("where")
    parts = [] if where is None else conjuncts(where.this)
    for join in select.args.get("joins") or []:
        parts += conjuncts(join.args.get("on"))
    return [part for part in parts if is_joining(part)]


def equalities(query: Query) -> list[tuple[Any, Any]]:
    """Columns that a query sets equal: in ON and WHERE, by IN (SELECT …), INTERSECT and EXCEPT."""
    if "equalities" not in query.kept:
        query.kept["equalities"] = list(_equalities(query))
    return query.kept["equalities"]


def _equalities(whole: Query) -> Iterator[tuple[Any, Any]]:
    for node in whole.nodes(exp.EQ):
        if is_joining(node):
            yield node.this, node.expression
    for node in whole.nodes(exp.In):
        query = node.args.get("query")
        select = query.this if isinstance(query, exp.Subquery) else query
        items = select.expressions if isinstance(select, exp.Select) else []
        if len(items) == 1 and isinstance(items[0], exp.Column) and isinstance(node.this, exp.Column):
            yield node.this, items[0]
    for node in whole.nodes(exp.Intersect, exp.Except):
        sides = [side.expressions if isinstance(side, exp.Select) else [] for side in (node.this, node.expression)]
        for left, right in zip(*sides, strict=False):
            if isinstance(left, exp.Column) and isinstance(right, exp.Column):
                yield left, right


# ---- two of them


_INVERSE = {"EQ": "NEQ", "GT": "LTE", "LT": "GTE", "LIKE": "NOT LIKE", "IN": "NOT IN"}
_INVERSE |= {other: operator for operator, other in _INVERSE.items()}


def is_excluding(wrong: Leaf, right: Leaf) -> bool:
    """Whether a condition keeps rows that are not so, where the gold leaves out those that have one that is."""
    inverse = _INVERSE.get(right.operator, "") == wrong.operator or (
        {wrong.operator, right.operator} in ({"NEQ", "LIKE"}, {"NOT LIKE", "EQ"})
    )
    return inverse and _is_left_out(right.node) and not _is_left_out(wrong.node)


def _is_left_out(node: Any) -> bool:
    """Whether a condition stands in what NOT IN, NOT EXISTS or EXCEPT takes away."""
    while node.parent is not None:
        if isinstance(node, exp.Query) and (
            (isinstance(node.parent, exp.Except) and node.arg_key == "expression")
            or isinstance(node.find_ancestor(exp.Not, exp.Where), exp.Not)
        ):
            return True
        node = node.parent
    return False


def leaf_kind(wrong: Leaf, right: Leaf) -> Why:
    """How a condition differs from the one it should be."""
    in_having = "having" in (wrong.place, right.place)
    if is_excluding(wrong, right):
        return Why.WRONG_CONDITION
    if wrong.left_key != right.left_key:
        if _bare_left(wrong) == _bare_left(right) != "" and _same_letters(wrong.value, right.value):
            return Why.SPELLING if wrong.operator == right.operator else Why.WRONG_OPERATOR
        if in_having:
            return Why.HAVING
        same = wrong.value == right.value or _same_letters(wrong.value, right.value)
        return Why.OTHER_WHERE if same else Why.WRONG_CONDITION
    if wrong.operator == right.operator:
        return Why.SPELLING if alike(wrong.value, right.value) else Why.WRONG_VALUE
    if wrong.value == right.value or _same_letters(wrong.value, right.value):
        return Why.WRONG_OPERATOR
    return Why.WRONG_CONDITION


def _bare_left(leaf: Leaf) -> str:
    """The column of `LOWER(column)`."""
    column = leaf.left.find(exp.Column)
    return "" if column is None or leaf.left.find(exp.AggFunc) else f"{column.table}.{column.name}"


def _same_letters(left: str, right: str) -> bool:
    return _LETTERS.sub("", left).casefold() == _LETTERS.sub("", right).casefold() != ""


def alike(left: str, right: str) -> bool:
    """Whether two texts are spellings of one thing: numbers and lists are none."""
    if "'" not in left or "'" not in right or len(left) + len(right) > LONGEST_SPELLING:
        return False
    a, b = (_LETTERS.sub("", text).casefold() for text in (left, right))
    if a == b:
        return True
    if not a or not b or a.isdigit() or b.isdigit():
        return False
    shorter, longer = sorted((a, b), key=len)
    return _distance_is_small(shorter, longer, 1 if len(shorter) < 8 else 2) and len(shorter) > 3


def _distance_is_small(left: str, right: str, most: int) -> bool:
    """Whether so many letters put in, left out or exchanged make one text the other."""
    if abs(len(left) - len(right)) > most:
        return False
    row = list(range(len(right) + 1))
    for i, letter in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(right, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (letter != other))
    return row[-1] <= most
