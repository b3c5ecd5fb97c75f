"""The outline of a SQL query over its schema: which column stands where, compared with what, and joined by what.

Facts say what a sentence must say; the outline holds what only the schema can judge. It is made when a rule asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from sensecheck.faithful.facts import Span
from sensecheck.faithful.languages.sql_names import expressions_of, parts_of
from sensecheck.faithful.languages.sql_syntax import Expr, OrderKey, Query
from sensecheck.faithful.schema import Column, Schema, Table
from sensecheck.language.numbers import as_number

AGGREGATES = frozenset(("COUNT", "SUM", "AVG", "MAX", "MIN", "TOTAL", "GROUP_CONCAT"))
_COMPARISONS = frozenset(("=", "!=", "<", ">", "<=", ">=", "LIKE"))
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


class TableUse(NamedTuple):
    """A table in a FROM clause."""

    alias: str
    table: Table
    clause: int  # the SELECT that it belongs to, by number


class ColumnUse(NamedTuple):
    """A column of the schema where the query has it."""

    table: Table
    column: Column
    role: str  # select, inner, where, group, having, order, join
    aggregate: str  # COUNT, SUM, …, or nothing
    alias: str
    span: Span

    @property
    def key(self) -> tuple[str, str]:
        return self.table.name.lower(), self.column.name.lower()


class LiteralUse(NamedTuple):
    """A literal, and the column that it is held against."""

    text: str
    number: float | None
    column: ColumnUse | None
    op: str  # =, !=, <, …, LIKE, BETWEEN; nothing where it is compared with no column
    role: str
    direct: bool  # the column itself is compared, not something made of it
    span: Span
    numeric: bool = False  # written as a number, without quotes
    negated: bool = False  # NOT LIKE, NOT IN, NOT BETWEEN


@dataclass(slots=True, eq=False)
class _Found:
    tables: list[TableUse] = field(default_factory=list)
    columns: list[ColumnUse] = field(default_factory=list)
    literals: list[LiteralUse] = field(default_factory=list)
    joins: list[tuple[ColumnUse, ColumnUse, Span]] = field(default_factory=list)
    expressions: list[tuple[Expr, str]] = field(default_factory=list)  # every expression, whole, with its role
    orders: list[tuple[OrderKey, int]] = field(default_factory=list)  # with the number of its SELECT
    unknown: list[Expr] = field(default_factory=list)  # names that the schema does not have
    selects: int = 0


class Outline:
    """What stands where in a query, and what follows from it."""

    def __init__(self, query: Query, schema: Schema) -> None:
        self.query = query
        self.schema = schema
        found = self._found = _Found()
        self._scopes: dict[int, dict[str, Table | None]] = {}  # of queries, for columns that are used outside of them
        self._query(query, {}, 0)
        self.tables, self.columns, self.literals = found.tables, found.columns, found.literals
        self.joins, self.orders, self.unknown = found.joins, found.orders, found.unknown

    # ------------------------------------------------------------------------------------------ what follows

    @cached_property
    def parts(self) -> list[tuple[Expr, str]]:
        """Every expression and everything in it, with its role."""
        return [(part, role) for whole, role in self._found.expressions for part in parts_of(whole)]

    @cached_property
    def calls(self) -> frozenset[str]:
        """The functions that are called anywhere."""
        return frozenset(part.text for part, _ in self.parts if part.kind == "call")

    @cached_property
    def used(self) -> frozenset[str]:
        """Names of all columns, in lower case, known to the schema or not."""
        known = (use.column.name.lower() for use in self.columns)
        return frozenset((*known, *(expr.text.lower() for expr in self.unknown)))

    @cached_property
    def table_names(self) -> frozenset[str]:
        return frozenset(use.table.name.lower() for use in self.tables)

    @cached_property
    def selected(self) -> list[ColumnUse]:
        """Columns of the outermost select list."""
        return [use for use in self.columns if use.role == "select"]

    @property
    def nested(self) -> bool:
        return self._found.selects > 1

    @cached_property
    def limited(self) -> bool:
        return any(query.limit is not None for query in self.queries())

    def queries(self) -> Iterator[Query]:
        """The query and all queries in it."""
        waiting = [self.query]
        for query in waiting:
            waiting.extend(part for part in (query.left, query.right) if part is not None)
            waiting.extend(ref.query for ref in query.tables if ref.query is not None)
            for expr in expressions_of(query):
                waiting.extend(part.query for part in parts_of(expr) if part.query is not None)
            yield query

    def divides(self) -> bool:
        return any(part.kind == "binary" and part.text == "/" for part, _ in self.parts)

    def subtracts(self) -> bool:
        return any(part.kind == "binary" and part.text == "-" for part, _ in self.parts)

    # -------------------------------------------------------------------------------------------- reading

    def _query(self, query: Query, outer: dict[str, Table | None], depth: int) -> None:
        if query.op:
            for side in (query.left, query.right):
                if side is not None:
                    self._query(side, outer, depth)
            return
        found = self._found
        clause = found.selects
        found.selects += 1
        scope: dict[str, Table | None] = {}  # a bare column is looked for in the query's own tables first
        behind: dict[str, Table | None] = {}  # tables of queries in FROM, whose columns may be used here
        for ref in query.tables:
            if ref.query is not None:
                self._query(ref.query, outer, depth + 1)
            if ref.inlined and ref.source is not None:
                behind.update(self._scope_of(ref.source))
            table = None if ref.source is not None or ref.derived else self.schema.tables.get(ref.name.lower())
            scope[ref.alias.lower()] = table
            if table is not None:
                found.tables.append(TableUse(ref.alias.lower(), table, clause))
        for alias, table in (*behind.items(), *outer.items()):
            scope.setdefault(alias, table)
        self._scopes[id(query)] = scope
        for condition in query.joins:
            self._expression(condition, scope, "join")
        for item in query.items:
            self._expression(item, scope, "select" if depth == 0 else "inner")
        if query.where is not None:
            self._expression(query.where, scope, "where")
        for key in query.group:
            self._expression(key, scope, "group")
        if query.having is not None:
            self._expression(query.having, scope, "having")
        for order in query.order:
            found.orders.append((order, clause))
            self._expression(order.expr, scope, "order")

    def _scope_of(self, query: Query) -> dict[str, Table | None]:
        while query.op and query.left is not None:
            query = query.left
        return self._scopes.get(id(query), {})

    def _expression(self, expr: Expr, scope: dict[str, Table | None], role: str) -> None:
        self._found.expressions.append((expr, role))
        self._walk(expr, scope, role, "")

    def _walk(self, expr: Expr, scope: dict[str, Table | None], role: str, aggregate: str) -> None:
        if expr.kind == "column":
            use = self._use(expr, scope, role, aggregate)
            if use is not None:
                self._found.columns.append(use)
            elif expr.quoted:
                self._literal(expr, None, "", role, False)
            else:
                self._found.unknown.append(expr)
            return
        if expr.kind in ("string", "number"):
            self._literal(expr, None, "", role, False)
            return
        if expr.kind == "call" and expr.text in AGGREGATES:
            aggregate = expr.text
        compares = (expr.kind == "binary" and expr.text in _COMPARISONS) or expr.kind in ("in", "between")
        if compares and expr.args:
            self._comparison(expr, scope, role, aggregate)
        else:
            for part in expr.args:
                self._walk(part, scope, role, aggregate)
        if expr.query is not None:
            self._query(expr.query, scope, 1)

    def _comparison(self, expr: Expr, scope: dict[str, Table | None], role: str, aggregate: str) -> None:
        left, *others = expr.args
        op = {"in": "=", "between": "BETWEEN"}.get(expr.kind, expr.text)
        if _is_literal(left) and others and not _is_literal(others[0]):
            left, others, op = others[0], [left], _FLIPPED.get(op, op)
        columns = (self._use(part, scope, role, aggregate) for part in parts_of(left) if part.kind == "column")
        column = next((use for use in columns if use is not None), None)
        self._walk(left, scope, role, aggregate)
        for other in others:
            if _is_literal(other) or (
                other.kind == "column" and other.quoted and self._use(other, scope, role, "") is None
            ):
                self._literal(other, column, op, role, left.kind == "column", expr.negated)
                continue
            if op == "=" and column is not None and left.kind == other.kind == "column":
                opposite = self._use(other, scope, role, "")
                if opposite is not None:
                    self._found.joins.append((column, opposite, (expr.start, expr.end)))
            self._walk(other, scope, role, aggregate)

    def _literal(
        self, expr: Expr, column: ColumnUse | None, op: str, role: str, direct: bool, negated: bool = False
    ) -> None:
        number, numeric = as_number(expr.text), expr.kind == "number"
        self._found.literals.append(
            LiteralUse(expr.text, number, column, op, role, direct, expr.span, numeric, negated)
        )

    def _use(self, expr: Expr, scope: dict[str, Table | None], role: str, aggregate: str) -> ColumnUse | None:
        low = expr.text.lower()
        for alias in (expr.table.lower(),) if expr.table else scope:
            table = scope.get(alias)
            if table is not None and low in table.columns:
                return ColumnUse(table, table.columns[low], role, aggregate, alias, expr.span)
        return None


def _is_literal(expr: Expr) -> bool:
    return expr.kind in ("string", "number")
