"""What the names in a SQL query stand for: ORDER BY total is ORDER BY COUNT(*), where that is what total was given for.

Names of select items (in ORDER BY, HAVING and GROUP BY), their numbers (ORDER BY 2), and columns of queries in FROM and
WITH are replaced by the expressions behind them, so that facts and outline see what is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sensecheck.faithful.languages.sql_syntax import Expr, Query, TableRef

MAX_PARTS = 64
"""Parts of an expression that takes the place of its name: names of names of names may stand for any number."""

Names = Mapping[tuple[str, str], tuple[Expr, TableRef | None]]
"""(alias of the table or nothing, name) → what it stands for, and the query in FROM that gives it."""


def parts_of(expr: Expr) -> list[Expr]:
    """An expression and everything inside it, sub-queries not entered."""
    parts = [expr]
    for part in parts:
        parts.extend(part.args)
    return parts


def expressions_of(query: Query) -> Iterator[Expr]:
    """Every expression of a SELECT, whole."""
    yield from query.joins
    yield from query.items
    yield from query.group
    for part in (query.where, query.having):
        if part is not None:
            yield part
    for key in query.order:
        yield key.expr


def settle(query: Query) -> None:
    """Put what names stand for in their place, in a query and all queries in it."""
    if query.settled:
        return
    query.settled = True
    for side in (query.left, query.right):
        if side is not None:
            settle(side)
    for ref in query.tables:
        if ref.source is not None:
            settle(ref.source)
    for expr in expressions_of(query):
        for part in parts_of(expr):
            if part.query is not None:
                settle(part.query)
    given = _given(query.tables)
    if given:
        _spread(query)
        query.items = [_meant(item, given) for item in query.items]
        query.joins = [_meant(condition, given) for condition in query.joins]
        query.where = None if query.where is None else _meant(query.where, given)
    outputs = query.outputs()
    own: Names = {("", name): (expr, None) for name, expr in outputs if _is_renamed(name, expr)}
    # Where a name is that of a column too, ORDER BY takes the select item, GROUP BY and HAVING the column.
    grouping = {**given, **{key: found for key, found in own.items() if not _holds(found[0], key[1])}}
    if grouping:
        query.having = None if query.having is None else _meant(query.having, grouping)
    query.group = [_numbered(_meant(key, grouping), outputs) for key in query.group]
    ordering = {**given, **own}
    for order in query.order:
        order.expr = _numbered(_meant(order.expr, ordering), outputs)


def _given(tables: list[TableRef]) -> Names:
    """The columns of queries in FROM. A name without a table can only be theirs, or the query would be ambiguous."""
    given: dict[tuple[str, str], tuple[Expr, TableRef | None]] = {}
    for ref in tables:
        for name, expr in ref.outputs():
            if name and _is_short(expr):
                for alias in (ref.alias.lower(), ""):
                    given.setdefault((alias, name), (expr, ref))
    return given


def _spread(query: Query) -> None:
    """Spell out the stars that stand for the columns of queries in FROM."""
    items: list[Expr] = []
    names: list[str] = []
    for item, name in zip(query.items, query.names, strict=True):
        refs = [ref for ref in query.tables if not item.table or ref.alias.lower() == item.table.lower()]
        outputs = [pair for ref in refs for pair in ref.outputs()]
        spelled_out = item.kind == "star" and all(ref.source is not None for ref in refs)
        if spelled_out and 0 < len(outputs) <= MAX_PARTS and all(_is_short(expr) for _, expr in outputs):
            items += [expr for _, expr in outputs]
            names += [output for output, _ in outputs]
            for ref in refs:
                ref.inlined = True
        else:
            items.append(item)
            names.append(name)
    query.items, query.names = items, names


def _meant(expr: Expr, names: Names) -> Expr:
    """An expression with names replaced by what they stand for."""
    if expr.kind == "column":
        found = names.get((expr.table.lower(), expr.text.lower()))
        if found is None:
            return expr
        if found[1] is not None:
            found[1].inlined = True
        return found[0]
    if not names or not expr.args:
        return expr
    args = [_meant(part, names) for part in expr.args]
    return replace(expr, args=args) if any(new is not old for new, old in zip(args, expr.args, strict=True)) else expr


def _numbered(expr: Expr, outputs: list[tuple[str, Expr]]) -> Expr:
    """The select item that a bare number stands for."""
    if expr.kind != "number" or not expr.text.isdecimal() or len(expr.text) > 3:
        return expr
    place = int(expr.text)
    item = outputs[place - 1][1] if 0 < place <= len(outputs) else expr
    return item if _is_short(item) and item.kind != "star" else expr


def _is_renamed(name: str, expr: Expr) -> bool:
    return bool(name) and not (expr.kind == "column" and expr.text.lower() == name) and _is_short(expr)


def _is_short(expr: Expr) -> bool:
    """Whether an expression may stand in several places: its parts are few, and no query is in it."""
    parts = [expr]
    for part in parts:
        parts.extend(part.args)
        if part.query is not None or len(parts) > MAX_PARTS:
            return False
    return True


def _holds(expr: Expr, name: str) -> bool:
    return any(part.kind == "column" and part.text.lower() == name for part in parts_of(expr))
