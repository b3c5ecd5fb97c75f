"""SQL → facts, with or without a schema."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

from sensecheck.faithful.facts import NO_NAME, Fact, Name, Reading, Span, UnreadableQueryError, name_of, unreadable
from sensecheck.faithful.languages.context import Context
from sensecheck.faithful.languages.sql_names import parts_of, settle
from sensecheck.faithful.languages.sql_outline import Outline
from sensecheck.faithful.languages.sql_syntax import Expr, Query, UnreadableError, read_sql
from sensecheck.faithful.schema import Column, Schema, Table
from sensecheck.inputs.reasons import Reason
from sensecheck.language.numbers import as_number

_AGGREGATES = {"COUNT": "count", "SUM": "sum", "AVG": "avg", "MAX": "max", "MIN": "min", "TOTAL": "sum"}
_NEGATED = {"=": "!=", "!=": "=", ">": "<=", "<": ">=", ">=": "<", "<=": ">", "LIKE": "NOT LIKE"}
_DIRECTION = {">": 1, ">=": 1, "<": -1, "<=": -1}
_EXTREME = {"max": 1, "min": -1}
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}

Scope = dict[str, Table | None]  # tables by alias; None for what the schema does not hold


class _Thing(NamedTuple):
    """What a fact is about: its natural name, other names of it, and the table where a column was found."""

    name: Name = NO_NAME
    also: tuple[Name, ...] = ()
    table: Name = NO_NAME


_NOTHING = _Thing()


def _read(text: str) -> Query:
    """A query with what its names stand for in their place."""
    query = read_sql(text)
    settle(query)
    return query


def _through_sqlglot(text: str, dialect: str | None) -> Query:
    """Read with sqlglot and rewrite in plain SQL, for dialects and forms that the fast reader does not know."""
    from sqlglot.errors import SqlglotError

    from sensecheck.language.sql_parsing import parse_sql

    try:
        plain = parse_sql(text, dialect)[0].sql(dialect="sqlite")
    except (SqlglotError, RecursionError, ValueError, AssertionError, AttributeError, TypeError, IndexError) as error:
        raise unreadable(f"not SQL that can be read: {str(error)[:200]}") from error
    try:
        return _read(plain)
    except UnreadableError as error:
        raise UnreadableQueryError(Reason.UNSUPPORTED_QUERY, f"read, but outside what is checked: {error}") from error


class _Facts:
    def __init__(self, schema: Schema | None, placed: bool) -> None:
        self.schema = schema
        self.placed = placed  # whether offsets point into the user's text
        self.facts: list[Fact] = []
        self.used_tables: list[Table] = []
        self.used_columns: set[str] = set()
        self.names: list[Name] = []
        self.joined: list[tuple[Name, Name]] = []
        self.ends: dict[str, str] = {}  # alias → from or to
        self.textual: set[Name] = set()
        self.timed: set[Name] = set()
        self.scopes: dict[int, Scope] = {}  # of queries, for columns that are used outside of them

    def add(self, kind: str, text: str, span: Span | None, thing: _Thing = _NOTHING, **fields: Any) -> None:
        self.facts.append(Fact(kind, text, span if self.placed else None, *thing, **fields))

    # ------------------------------------------------------------------------------------------- names

    def column(self, expr: Expr, scope: Scope) -> tuple[Table, Column] | None:
        """The schema's column that an expression names; None when it has none of that name in reach."""
        low = expr.text.lower()
        for table in (scope.get(expr.table.lower()),) if expr.table else scope.values():
            if table is not None and low in table.columns:
                return table, table.columns[low]
        return None

    def use(self, expr: Expr, scope: Scope, role: str) -> _Thing:
        """A column, noted as used; one that its table lacks is a misfit."""
        found = self.column(expr, scope)
        thing = _thing(expr, found)
        if found is not None:
            column = found[1]
            self.used_columns.add(column.name.lower())
            if column.type in ("text", "time"):
                (self.textual if column.type == "text" else self.timed).add(column.natural)
        elif self.lacks(expr, scope):
            self.add("misfit", expr.text, expr.span, _Thing(thing.name), role=role)
        self.names.append(thing.name)
        for name in thing.also:
            if name.words != thing.name.words:
                self.names.append(name)
        return thing

    def lacks(self, expr: Expr, scope: Scope) -> bool:
        """Whether all tables in reach are known, and none has such a column."""
        if self.schema is None or expr.quoted or (expr.table and expr.table.lower() not in scope):
            return False
        return bool(scope) and all(table is not None for table in scope.values())

    # ----------------------------------------------------------------------------------------- queries

    def query(self, query: Query, outer: Scope, depth: int, told: bool = False) -> None:
        """Facts of a query. `told`: what it selects is told by the query around it, where that uses it."""
        if query.op:
            assert query.left is not None and query.right is not None
            self.add("setop", query.op, query.op_span, op=query.op.lower())
            if query.op == "EXCEPT":
                self.add("negation", query.op, query.op_span, op="except")
            self.query(query.left, outer, depth)
            self.query(query.right, outer, depth + 1)
            self.tail(query, {})
            return
        reachable = self.tables(query, outer, depth)
        for alias, table in outer.items():  # behind them: a bare column is looked for in the query's own tables first
            reachable.setdefault(alias, table)
        self.scopes[id(query)] = reachable
        join_columns = self.joins(query, reachable)
        if query.distinct:
            self.add("distinct", "DISTINCT", query.distinct_span, optional=True)
        for item in query.items:
            if told:
                self.note(item, reachable)
            else:
                self.value_expr(item, reachable, "select" if depth == 0 else "inner")
        if query.where is not None:
            self.condition(query.where, reachable, "where", False, query, depth)
        for key in query.group:
            if key.kind == "column":
                thing, optional = self.use(key, reachable, "group"), key.text.lower() in join_columns
                self.add("group", key.text, key.span, thing, role="group", optional=optional)
        if query.having is not None:
            self.condition(query.having, reachable, "having", False, query, depth)
        self.tail(query, reachable)

    def tables(self, query: Query, outer: Scope, depth: int) -> Scope:
        """Facts of what stands in FROM; its tables by alias, None for what the schema does not hold."""
        scope: Scope = {}
        behind: Scope = {}  # tables of queries in FROM, which columns that come from there are found in
        for ref in query.tables:
            if ref.source is not None or ref.derived:
                if ref.query is not None:
                    shown = not ref.inlined and any(item.kind == "star" for item in query.items)
                    self.query(ref.query, outer, depth if shown else depth + 1, told=ref.inlined)
                if ref.inlined and ref.source is not None:
                    behind.update(self.scope_of(ref.source))
                scope[ref.alias.lower()] = None
                continue
            table = self.schema.tables.get(ref.name.lower()) if self.schema else None
            natural = table.natural if table else name_of(ref.name)
            if table is not None and table not in self.used_tables:
                self.used_tables.append(table)
            if self.schema is not None and table is None:
                self.add("misfit", ref.name, ref.span, _Thing(natural), role="table")
            self.names.append(natural)
            thing = _Thing(natural, (name_of(ref.name),))
            self.add("table", ref.name, ref.span, thing, optional=len(query.tables) > 1)
            scope[ref.alias.lower()] = table
        return {**scope, **{alias: table for alias, table in behind.items() if alias not in scope}} if behind else scope

    def scope_of(self, query: Query) -> Scope:
        """The tables of a query that was read before; of several, those of the one that names the columns."""
        while query.op and query.left is not None:
            query = query.left
        return self.scopes.get(id(query), {})

    def note(self, item: Expr, scope: Scope) -> None:
        """The columns of a select item whose facts are told where it is used."""
        for part in parts_of(item):
            if part.kind == "column":
                self.use(part, scope, "inner")
            elif part.query is not None:
                self.query(part.query, scope, 1)

    def joins(self, query: Query, scope: Scope) -> set[str]:
        """The columns by which tables are joined, noted as used, with the ends of journeys that they name."""
        columns: set[str] = set()
        for condition in query.joins:
            for part in parts_of(condition):
                if part.kind == "column":
                    columns.add(part.text.lower())
                    self.use(part, scope, "join")
                elif part.kind == "call":  # of a query in FROM: joined with the largest of each group
                    self.taken(part, "join")
                elif part.kind == "binary" and part.text == "=" and all(a.kind == "column" for a in part.args):
                    left, right = (_thing(side, self.column(side, scope)).name for side in part.args)
                    self.joined.append((left, right))
                    # An alias stands for the end of the journey that the other side of its join names.
                    for side, opposite in (part.args, part.args[::-1]):
                        if journey_end(opposite.text) and side.table:
                            self.ends[side.table.lower()] = journey_end(opposite.text)
        return columns

    def tail(self, query: Query, scope: Scope) -> None:
        limit = as_number(query.limit.text) if query.limit is not None and query.limit.kind == "number" else None
        if query.limit is not None and limit is not None:
            self.add(
                "limit", f"LIMIT {query.limit.text}", (query.limit.start, query.limit.end),
                number=limit, optional=limit == 1,
            )  # fmt: skip
        for position, key in enumerate(query.order):
            aggregate, thing, expr = "", _NOTHING, key.expr
            self.arithmetic(expr)
            for part in parts_of(expr):
                if part.kind == "call" and part.text in _AGGREGATES:
                    aggregate = aggregate or _AGGREGATES[part.text]
                elif part.kind == "column":
                    thing = self.use(part, scope, "order") if scope else _Thing(name_of(part.text))
            self.add(
                "order", ("DESC" if key.descending else "ASC") + " " + (thing.name.text or aggregate), key.span, thing,
                aggregate=aggregate, direction=1 if key.descending else -1, limited=limit is not None, number=limit,
                role="order", optional=not key.explicit or position > 0, op="explicit" if key.explicit else "",
            )  # fmt: skip

    def value_expr(self, expr: Expr, scope: Scope, role: str) -> None:
        """Facts of an expression in a select list or on a side of a comparison."""
        if expr.kind == "column":
            if expr.quoted and self.column(expr, scope) is None and self.schema is not None:
                return
            self.add("column", expr.text, expr.span, self.use(expr, scope, role), role=role)
        elif expr.kind == "call":
            aggregate = _AGGREGATES.get(expr.text, "")
            thing = _NOTHING
            for part in expr.args:
                for inner in parts_of(part):
                    if inner.kind == "column":
                        thing = self.use(inner, scope, role)
                    elif inner.query is not None:
                        self.query(inner.query, scope, 1)
                    elif _is_condition(inner):
                        self.condition(inner, scope, "case", False, Query(), 1)
                    else:
                        self.arithmetic(inner)
            if aggregate:
                text, direction = f"{expr.text.lower()}({thing.name.text})", _EXTREME.get(aggregate, 0)
                self.add("aggregate", text, expr.span, thing, aggregate=aggregate, role=role, direction=direction)
                if expr.distinct:
                    self.add("distinct", "DISTINCT", expr.op_span, optional=True)
            if thing is not _NOTHING:
                place = "inner" if role != "select" or aggregate == "count" else "aggregate" if aggregate else role
                self.add("column", thing.name.text, expr.span, thing, role=place)
        elif expr.query is not None:
            self.query(expr.query, scope, 1)
        elif _is_condition(expr):  # of CASE
            self.condition(expr, scope, "case", False, Query(), 1)
        else:
            self.arithmetic(expr)
            for part in expr.args:
                self.value_expr(part, scope, role)

    def arithmetic(self, expr: Expr) -> None:
        """Columns added up: people call that a total. One by another: a rate, a percentage."""
        if expr.kind == "binary" and expr.text == "+":
            self.add("aggregate", "+", expr.op_span, aggregate="sum", role="arithmetic", optional=True)
        elif expr.kind == "binary" and expr.text == "/":
            self.add("aggregate", "/", expr.op_span, aggregate="ratio", role="arithmetic", optional=True)

    # -------------------------------------------------------------------------------------- conditions

    def condition(self, expr: Expr, scope: Scope, role: str, negated: bool, query: Query, depth: int) -> None:
        kind = expr.kind
        if kind == "binary" and expr.text in ("AND", "OR"):
            if expr.text == "OR" and not negated:
                self.add("connective", "OR", expr.op_span, op="or")
            for part in expr.args:
                self.condition(part, scope, role, negated, query, depth)
        elif kind == "not":
            self.condition(expr.args[0], scope, role, not negated, query, depth)
        elif kind == "binary" and expr.text in _NEGATED:
            self.comparison(expr, scope, role, negated != expr.negated)
        elif kind == "in":
            self.membership(expr, scope, role, negated != expr.negated, depth)
        elif kind == "between":
            thing = self.named(expr.args[0], scope, role)
            for member in expr.args[1:]:
                self.literal(member, thing, "between", role, expr)
            if negated != expr.negated:
                self.add("negation", "NOT BETWEEN", expr.op_span, op="!=")
        elif kind == "isnull":
            self.named(expr.args[0], scope, role)
            if negated == expr.negated:
                self.add("negation", "IS NULL", expr.op_span, op="null", optional=not query.outer_join)
        elif kind == "exists":
            if negated:
                self.add("negation", "NOT EXISTS", expr.op_span, op="not in")
            if expr.query is not None:
                self.query(expr.query, scope, depth + 1)
        else:
            self.value_expr(expr, scope, role)

    def named(self, expr: Expr, scope: Scope, role: str) -> _Thing:
        """The column that a condition is about, with its fact."""
        if expr.kind != "column":
            return _NOTHING
        thing = self.use(expr, scope, role)._replace(also=())
        self.add("column", thing.name.text, expr.span, thing, role=role)
        return thing

    def membership(self, expr: Expr, scope: Scope, role: str, negated: bool, depth: int) -> None:
        """IN, with a sub-query or a list."""
        if negated:
            self.add("negation", "NOT IN", expr.op_span, op="not in")
        thing = _NOTHING
        if expr.args[0].kind == "column":
            thing = self.use(expr.args[0], scope, role if expr.query is None else "join")._replace(also=())
        if expr.query is not None:
            self.query(expr.query, scope, depth + 1)
            return
        if len(expr.args) > 2:
            self.add("connective", "IN", expr.op_span, op="or", optional=True)
        for member in expr.args[1:]:
            self.literal(member, thing, "!=" if negated else "=", role, expr, denies=False)

    def comparison(self, expr: Expr, scope: Scope, role: str, negated: bool) -> None:
        left, right = expr.args
        op = expr.text
        if left.kind in ("number", "string") and right.kind not in ("number", "string"):
            left, right = right, left
            op = _FLIPPED.get(op, op)
        turned_round = negated and op in _DIRECTION
        if negated:
            op = _NEGATED[op]
        thing, aggregate = self.compared(left, scope, role)
        if aggregate and role == "where":  # of a query in FROM: a condition on groups
            role = "having"
        stored = right.kind == "column" and not self.is_value(right, scope)
        if thing is not _NOTHING and not stored:
            self.add("column", thing.name.text, left.span, thing, role="inner" if aggregate else role)
        if turned_round:
            self.add("negation", "NOT", expr.op_span, op="!=", optional=True)
        if right.kind in ("number", "string", "bool") or (right.kind == "column" and not stored):
            at_end = left.kind == "column"
            way = journey_end(left.text) or self.ends.get(left.table.lower(), "") if at_end else ""
            self.literal(right, thing, op, role, expr, aggregate, way)
            return
        about = self.use(right, scope, "join") if stored else thing
        if stored and op == "=":
            self.joined.append((thing.name, about.name))
        if op == "!=":
            self.add("negation", "!=", expr.op_span, op="!=", optional=stored)
        elif op in _DIRECTION:
            place = "columns" if stored else "subquery"
            about = about._replace(also=())
            self.add("comparison", op, expr.op_span, about, op=op, role=place, direction=_DIRECTION[op])
        if not stored:
            self.value_expr(right, scope, role)

    def compared(self, expr: Expr, scope: Scope, role: str) -> tuple[_Thing, str]:
        """The column on one side of a comparison, and the aggregate that is taken of it."""
        thing, aggregate = _NOTHING, ""
        for part in parts_of(expr):
            if part.kind == "call" and part.text in _AGGREGATES:
                taken = self.taken(part, role)
                aggregate = aggregate or taken
            elif part.kind == "column":
                thing = self.use(part, scope, role)
            elif part.query is not None:
                self.query(part.query, scope, 1)
        return thing, aggregate

    def taken(self, call: Expr, role: str) -> str:
        """The aggregate that is compared with something; a fact of its own, where it is no count."""
        aggregate = _AGGREGATES.get(call.text, "")
        if aggregate and aggregate != "count":
            inner = _Thing(name_of(call.args[0].text)) if call.args else _NOTHING
            text, direction = call.text.lower(), _EXTREME.get(aggregate, 0)
            self.add("aggregate", text, call.span, inner, aggregate=aggregate, role=role, direction=direction)
        return aggregate

    def is_value(self, expr: Expr, scope: Scope) -> bool:
        """Whether a double-quoted identifier is a string after all."""
        return expr.quoted and (self.schema is None or self.column(expr, scope) is None)

    def literal(
        self,
        value: Expr,
        thing: _Thing,
        op: str,
        role: str,
        whole: Expr,
        aggregate: str = "",
        way: str = "",
        denies: bool = True,
    ) -> None:
        """A literal that a column is held against. `denies`: a != is a negation of its own, not that of a list."""
        if value.kind == "null":
            return
        if value.query is not None:
            self.query(value.query, {}, 1)
            return
        text, op = value.text, op.lower()
        if op in ("like", "not like"):
            text = text.replace("%", " ").strip()
        number = as_number(text) if value.kind in ("number", "string") or value.quoted else None
        self.add(
            "comparison", f"{thing.name.text} {op} {text}".strip(), value.span, thing, op=op, role=role, value=text,
            aggregate=aggregate, number=number, direction=_DIRECTION.get(op, 0), way=way,
            whole=whole.kind == "binary" and "column" in (whole.args[0].kind, whole.args[1].kind),
            integral=aggregate == "count" or (number is not None and number.is_integer()),
        )  # fmt: skip
        if op in ("!=", "not like") and denies:
            self.add("negation", op.upper(), whole.op_span, op="!=", value=text)


_FROM = ("source", "src", "origin", "depart", "departure", "sending", "start")
_TO = ("destination", "dest", "dst", "arrive", "arrival", "receiving")


@lru_cache(maxsize=4096)
def journey_end(column: str) -> str:
    """Whether a column names the end that things come from or go to."""
    low = column.lower()
    if any(word in low for word in _TO):
        return "to"
    return "from" if low.startswith(_FROM) else ""


def _thing(expr: Expr, found: tuple[Table, Column] | None) -> _Thing:
    """A column by the names that it goes by, as the schema has it or as it is written."""
    original = name_of(expr.text)
    also = (original,) if original.words else ()
    if found is None:
        return _Thing(original, also)
    table, column = found
    return _Thing(column.natural, (*also, *column.described), table.natural)


def _is_condition(expr: Expr) -> bool:
    return (expr.kind == "binary" and expr.text in _NEGATED) or expr.kind in ("in", "between")


def _parsed(text: str, dialect: str | None) -> tuple[Query, bool]:
    """The query, and whether its offsets point into the text."""
    try:
        return _read(text), True
    except UnreadableError:
        return _through_sqlglot(text, dialect), False


def _outline(text: str, dialect: str | None, schema: Schema) -> Outline:
    # Read again: thousands of trees kept for the few that are asked would keep the garbage collector busy.
    return Outline(_parsed(text, dialect)[0], schema)


def read(text: str, context: Context) -> Reading:
    """The facts of a SQL query. Raises UnreadableQueryError with a reason."""
    schema = context.schema
    if not text or not text.strip():
        raise UnreadableQueryError(Reason.EMPTY_QUERY, "the query is empty")
    query, placed = _parsed(text, context.dialect)
    collector = _Facts(schema, placed)
    collector.query(query, {}, 0)
    reading = Reading(
        collector.facts, collector.names, joins=collector.joined,
        surroundings=schema.surroundings if schema is not None else frozenset(),
        make_outline=partial(_outline, text, context.dialect, schema) if schema is not None else None,
    )  # fmt: skip
    reading.entities = frozenset(s for f in collector.facts if f.kind == "table" for s in f.name.stems)
    reading.textual, reading.timed = frozenset(collector.textual), frozenset(collector.timed)
    if schema is not None:
        reading.vocabulary = schema.vocabulary
        reading.entities = schema.entities
        reading.labelled = tuple([(t.natural, t.labels) for t in collector.used_tables])
        reading.other_tables = [t.natural for t in schema.tables.values() if t not in collector.used_tables]
        reading.other_names = [
            column.natural
            for table in collector.used_tables
            for key, column in table.columns.items()
            if key not in collector.used_columns
        ]
    return reading
