"""A SQL query as a tree in which only what matters is left, for comparing queries by meaning rather than spelling.

What is levelled: names of table and column aliases; case of identifiers and keywords; spacing; the order of
conjuncts, of inner joins, of IN lists, of GROUP BY; `a > b` and `b < a`; `a = b` and `b = a`; ON against WHERE for
inner joins; UNION, INTERSECT. A column without its table belongs to the only table there is. What stays: the
order of columns and sort keys, DISTINCT, constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlglot
from sqlglot import exp

from .isomorphism import Node, Shape, Tree, bag, node


class _Scope:
    """The tables in reach of a query, innermost first."""

    def __init__(self, counter: list[int], outer: _Scope | None) -> None:
        self.counter = counter
        self.outer = outer
        self.tables: dict[str, int] = {}
        self.aliases: dict[str, Any] = {}  # column alias → its expression

    def new(self) -> int:
        self.counter[0] += 1
        return self.counter[0] - 1

    def find(self, name: str) -> int | None:
        if name in self.tables:
            return self.tables[name]
        return self.outer.find(name) if self.outer else None


def sql_normal_form(text: str, dialect: str = "sqlite") -> Shape | None:
    """The normal form of a query, or None where the text cannot be read."""
    try:
        statements = sqlglot.parse(text, read=dialect)
        if len(statements) != 1 or not isinstance(statements[0], exp.Query):
            return None
        return Shape(_query(statements[0], _Scope([0], None)))
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        return None


def _query(tree: Any, outer: _Scope) -> Tree:
    while isinstance(tree, exp.Paren | exp.Subquery) and not tree.args.get("alias"):
        tree = tree.this
    if isinstance(tree, exp.SetOperation):
        label = type(tree).__name__.upper() + ("" if tree.args.get("distinct", True) else " ALL")
        sides = [_query(tree.left, outer), _query(tree.right, outer)]
        both = node(label, *sides) if isinstance(tree, exp.Except) else bag(label, *sides)
        return node("sorted", both, *_modifiers(tree, _Scope(outer.counter, outer)))
    if not isinstance(tree, exp.Select):
        return _generic(tree, _Scope(outer.counter, outer))
    scope = _Scope(outer.counter, outer)
    with_ = tree.args.get("with") or tree.args.get("with_")
    parts: list[Tree] = []
    if with_ is not None:
        for cte in with_.expressions:
            number = scope.new()
            parts.append(node("cte", number, _query(cte.this, scope)))
            scope.tables[f"cte {cte.alias.lower()}"] = number
    tables: list[Tree] = []
    conditions: list[Tree] = []
    outer_joins: list[Tree] = []
    from_ = tree.args.get("from") or tree.args.get("from_")
    sources = [] if from_ is None else [(None, from_.this)]
    sources += [(join, join.this) for join in tree.args.get("joins") or ()]
    # Names first, so that conditions can refer to later tables.
    numbered = [(join, source, _declare(source, scope)) for join, source in sources]
    for join, source, number in numbered:
        table = _table(source, number, scope)
        on = join.args.get("on") if join is not None else None
        using: list[str] = [c.name.lower() for c in join.args.get("using") or ()] if join is not None else []
        side = (join.side or "").upper() if join is not None else ""
        if side or (join is not None and (join.method or "").upper() == "NATURAL"):
            extra: list[Tree] = (
                [] if on is None else [bag("on", *(_expression(part, scope) for part in _parts(on, exp.And)))]
            )
            kind = f"{side} {(join.method or '').upper()} join" if join is not None else "join"
            outer_joins.append(node(kind, table, *extra, *using))
        else:
            tables.append(table)
            if on is not None:
                conditions += [_expression(part, scope) for part in _parts(on, exp.And)]
            conditions += [node("using", number, name) for name in using]
    where = tree.args.get("where")
    if where is not None:
        conditions += [_expression(part, scope) for part in _parts(where.this, exp.And)]
    shown: list[Tree] = []
    for item in tree.expressions:
        inner = item.unalias()
        if isinstance(item, exp.Alias):
            scope.aliases[item.alias.lower()] = inner
        shown.append(_expression(inner, scope))
    parts += [node("columns", *shown), bag("tables", *tables)]
    if outer_joins:
        parts.append(node("outer joins", *outer_joins))
    if conditions:
        parts.append(bag("where", *conditions))
    group = tree.args.get("group")
    if group is not None:
        parts.append(bag("group", *(_expression(key, scope) for key in group.expressions)))
    having = tree.args.get("having")
    if having is not None:
        parts.append(bag("having", *(_expression(part, scope) for part in _parts(having.this, exp.And))))
    if tree.args.get("distinct"):
        parts.append("distinct")
    return node("select", *parts, *_modifiers(tree, scope))


def _modifiers(tree: Any, scope: _Scope) -> Iterator[Tree]:
    order = tree.args.get("order")
    if order is not None:
        keys = []
        for key in order.expressions:
            descending = isinstance(key, exp.Ordered) and key.args.get("desc")
            inner = key.this if isinstance(key, exp.Ordered) else key
            keys.append(node("desc" if descending else "asc", _expression(inner, scope)))
        yield node("order", *keys)
    for name in ("limit", "offset"):
        found = tree.args.get(name)
        if found is not None:
            yield node(name, _expression(found.expression, scope))


def _declare(source: Any, scope: _Scope) -> int:
    number = scope.new()
    alias = source.alias_or_name if hasattr(source, "alias_or_name") else ""
    scope.tables[alias.lower()] = number
    return number


def _table(source: Any, number: int, scope: _Scope) -> Tree:
    if isinstance(source, exp.Subquery):
        return node("table", number, _query(source.this, scope))
    if isinstance(source, exp.Table):
        name = source.name.lower()
        common = scope.find(f"cte {name}")
        return node("table", number, name if common is None else common)
    return node("table", number, _generic(source, scope))


def _parts(expression: Any, kind: Any) -> Iterator[Any]:
    while isinstance(expression, exp.Paren):
        expression = expression.this
    if isinstance(expression, kind):
        yield from _parts(expression.this, kind)
        yield from _parts(expression.expression, kind)
    else:
        yield expression


def _expression(expression: Any, scope: _Scope) -> Tree:
    while isinstance(expression, exp.Paren):
        expression = expression.this
    if isinstance(expression, exp.Column):
        return _column(expression, scope)
    if isinstance(expression, exp.Literal):
        return _literal(expression)
    if isinstance(expression, exp.And | exp.Or):
        kind = type(expression)
        return bag(kind.__name__, *(_expression(part, scope) for part in _parts(expression, kind)))
    if isinstance(expression, exp.GT | exp.GTE):
        label = "LT" if isinstance(expression, exp.GT) else "LTE"
        return node(label, _expression(expression.expression, scope), _expression(expression.this, scope))
    if isinstance(expression, exp.LT | exp.LTE):
        label = "LT" if isinstance(expression, exp.LT) else "LTE"
        return node(label, _expression(expression.this, scope), _expression(expression.expression, scope))
    if isinstance(expression, exp.EQ | exp.NEQ | exp.Add | exp.Mul):
        sides = (_expression(expression.this, scope), _expression(expression.expression, scope))
        return bag(type(expression).__name__, *sides)
    if isinstance(expression, exp.In):
        inside = expression.args.get("query")
        if inside is not None:
            return node("In", _expression(expression.this, scope), _query(inside, scope))
        listed = [_expression(item, scope) for item in expression.expressions]
        return node("In", _expression(expression.this, scope), bag("list", *listed))
    if isinstance(expression, exp.Subquery | exp.Select | exp.SetOperation):
        return _query(expression, scope)
    if isinstance(expression, exp.Star):
        return "*"
    return _generic(expression, scope)


def _column(column: Any, scope: _Scope) -> Tree:
    name = "*" if isinstance(column.this, exp.Star) else column.name.lower()
    table = column.table.lower()
    if table:
        number = scope.find(table)
        return node("column", table if number is None else number, name)
    # SQLite reads an unknown name in double quotes as text; so do the data sets' queries.
    if isinstance(column.this, exp.Identifier) and column.this.quoted:
        return f"text {column.name!r}"
    if name in scope.aliases:
        return _expression(scope.aliases[name], scope)
    real = [number for alias, number in scope.tables.items() if not alias.startswith("cte ")]
    if len(real) == 1:
        return node("column", real[0], name)
    return node("column", "?", name)


def _literal(literal: Any) -> Tree:
    if literal.is_string:
        return f"text {literal.this!r}"
    try:
        return f"number {float(literal.this):.15g}"
    except ValueError:
        return f"number {literal.this}"


def _generic(expression: Any, scope: _Scope) -> Tree:
    """Any other node: its kind and its parts, in their places."""
    if not isinstance(expression, exp.Expression):
        return repr(expression).lower()
    children: list[Tree] = []
    label = type(expression).__name__
    for name, value in sorted(expression.args.items()):
        if value is None or value is False or value == []:
            continue
        if isinstance(value, exp.Expression):
            children.append(node(name, _expression(value, scope)))
        elif isinstance(value, list):
            children.append(node(name, *(_expression(item, scope) for item in value)))
        else:
            children.append(f"{name}={str(value).lower()}")
    return Node(label, tuple(children))
