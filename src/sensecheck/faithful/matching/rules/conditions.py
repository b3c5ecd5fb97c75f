"""Conditions that cannot mean what anybody asks: they hold for no row, for every row, or for others than they say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sensecheck.faithful.languages.sql_names import parts_of
from sensecheck.faithful.languages.sql_outline import AGGREGATES, Outline
from sensecheck.faithful.languages.sql_syntax import Expr, Query
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.ruling import Finding, against, rule

_YEAR = re.compile(r"(?:1[89]|20)\d\d")
_COMPARED = frozenset(("=", "!=", "<", ">", "<=", ">="))


@rule("weighed")
def date_against_year(a: Alignment) -> Iterator[Finding]:
    """A date compared with a bare year: no date equals one, and dates in text sort beside it, not by it."""
    for literal in a.outline.literals:
        if literal.column is None or not literal.direct or literal.op not in _COMPARED:
            continue
        column = literal.column.column
        if _is_date(column.type, column.name) and _YEAR.fullmatch(literal.text):
            yield against("condition", "date_against_year", f"{column.name} {literal.op} {literal.text}", literal.span)


def _is_date(kind: str, name: str) -> bool:
    return kind == "time" or name.lower() in ("dob", "birthday", "birth_date", "birthdate", "date")


@rule("weighed")
def wildcards(a: Alignment) -> Iterator[Finding]:
    """`= 'x%'` looks for a per cent sign, `LIKE 'x'` for the whole text."""
    for literal in a.outline.literals:
        if literal.column is None or len(literal.text) < 3:
            continue
        if literal.op in ("=", "!=") and literal.text.strip("%") != literal.text:
            yield against("condition", "wildcard_compared", literal.text, literal.span)
        elif literal.op == "LIKE" and "%" not in literal.text and "_" not in literal.text:
            yield against("condition", "wildcard_missing", literal.text, literal.span)


@rule("weighed")
def or_beside_and(a: Alignment) -> Iterator[Finding]:
    """`x OR y AND z` without brackets: AND binds first, which few mean."""
    for query in a.outline.queries():
        for part in parts_of(query.where) if query.where is not None else ():
            if part.kind == "binary" and part.text == "OR":
                joined = [side.kind == "binary" and side.text == "AND" for side in part.args]
                if any(joined) and not all(joined):
                    yield against("condition", "or_beside_and", "OR beside AND", part.op_span)


@rule("weighed")
def impossible(a: Alignment) -> Iterator[Finding]:
    """Conditions that hold for no row or for every row, and sums of what is only a name."""
    outline = a.outline
    for query in outline.queries():
        for part in _fixed_twice(query):
            yield against("condition", "impossible", f"{part.args[0].text} = {part.args[1].text}", part.span)
        if query.limit is not None and not query.order and query.limit.text == "1" and not query.op:
            yield against("condition", "limit_without_order", "LIMIT 1", query.limit.span)
        if query.order and not query.op and _gives_one_row(query):
            yield against("order", "one_row_ordered", "ORDER BY", query.order[0].span)
    for part, _ in outline.parts:
        if part.kind == "binary" and part.text in _COMPARED and all(s.kind in ("string", "number") for s in part.args):
            yield against("condition", "impossible", f"{part.args[0].text} {part.text} {part.args[1].text}", part.span)
        elif part.kind == "binary" and part.text == "-" and _same(part.args[0], part.args[1]):
            yield against("condition", "impossible", "a difference of the same", part.span)
    for use in outline.columns:
        if use.aggregate in ("SUM", "AVG") and (
            use.column.name.lower() in use.table.primary_key or _is_key(outline, use.key)
        ):
            yield against("aggregate", "key_added_up", f"{use.aggregate}({use.column.name})", use.span)
    nulls = {part.args[0].text.lower() for part, _ in outline.parts if part.kind == "isnull" and not part.negated}
    for use in outline.columns:
        if use.aggregate == "COUNT" and use.column.name.lower() in nulls:
            yield against("aggregate", "nothing_counted", f"COUNT({use.column.name}) where it is NULL", use.span)


def _gives_one_row(query: Query) -> bool:
    """Whether all rows are taken together: SELECT COUNT(name) … ORDER BY name puts one row in order."""
    if query.group or any(order.expr.kind != "column" for order in query.order):
        return False
    return all(any(p.kind == "call" and p.text in AGGREGATES for p in parts_of(item)) for item in query.items)


def _fixed_twice(query: Query) -> Iterator[Expr]:
    """A column that must be equal to two different values at once."""
    fixed: dict[tuple[str, str], str] = {}
    for part in _required(query.where) if query.where is not None else ():
        if part.kind == "binary" and part.text == "=" and not part.negated and part.args[0].kind == "column":
            value, column = part.args[1], (part.args[0].table.lower(), part.args[0].text.lower())
            if value.kind in ("string", "number") and fixed.setdefault(column, value.text) != value.text:
                yield part


def _required(expr: Expr) -> Iterator[Expr]:
    """The conditions that all must hold."""
    waiting = [expr]
    for part in waiting:
        if part.kind == "binary" and part.text == "AND":
            waiting.extend(part.args)
        else:
            yield part


def _same(left: Expr, right: Expr) -> bool:
    return left.kind in ("column", "call") and _spelled(left) == _spelled(right)


def _spelled(expr: Expr) -> list[tuple[str, str, str]]:
    return [(part.kind, part.table.lower(), part.text.lower()) for part in parts_of(expr)]


def _is_key(outline: Outline, key: tuple[str, str]) -> bool:
    return any(key in pair for pair in outline.schema.foreign_keys)


@rule("weighed")
def number_of_name(a: Alignment) -> Iterator[Finding]:
    """`A15 = 1995` where A15 holds the crimes of 1995: the number tells which column is meant, not its value."""
    for literal in a.outline.literals:
        if literal.column is None or literal.number is None or len(literal.text) < 4:
            continue
        column = literal.column.column
        if any(literal.text in name.text for name in (column.natural, *column.described)):
            yield against("condition", "number_of_name", f"{column.name} {literal.op} {literal.text}", literal.span)


@rule("weighed")
def bare_condition(a: Alignment) -> Iterator[Finding]:
    """A column that stands alone as a condition: true where it is no zero."""
    for query in a.outline.queries():
        for part in _required(query.where) if query.where is not None else ():
            if part.kind == "column" and not part.quoted:
                yield against("condition", "bare_condition", part.text, part.span)


@rule("weighed")
def ascending_nulls(a: Alignment) -> Iterator[Finding]:
    """The smallest of a column that may be empty, and empty comes first."""
    outline = a.outline
    excluded = {
        inner.text.lower()
        for part, _ in outline.parts
        if part.kind == "isnull" and part.negated
        for inner in parts_of(part)
    }
    if not outline.limited:
        return
    for order, _ in outline.orders:
        if order.descending or any(part.kind == "call" for part in parts_of(order.expr)):
            continue
        for use in outline.columns:
            ordered = use.role == "order" and use.span == order.expr.span
            if ordered and use.column.nullable and use.column.name.lower() not in excluded:
                yield against("order", "ascending_nulls", use.column.name, use.span)
