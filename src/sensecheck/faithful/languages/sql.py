"""SQL → facts, with or without a schema."""

from __future__ import annotations

from sensecheck.faithful.facts import NO_NAME, Fact, Name, Reading, Span, UnreadableQueryError, name_of, unique_names
from sensecheck.faithful.languages.context import Context
from sensecheck.faithful.languages.sql_syntax import Expr, Query, UnreadableError, read_sql
from sensecheck.faithful.schema import Column, Schema, Table
from sensecheck.inputs.reasons import Reason
from sensecheck.language.numbers import as_number

_AGGREGATES = {"COUNT": "count", "SUM": "sum", "AVG": "avg", "MAX": "max", "MIN": "min", "TOTAL": "sum"}
_NEGATED = {"=": "!=", "!=": "=", ">": "<=", "<": ">=", ">=": "<", "<=": ">", "LIKE": "NOT LIKE"}
_DIRECTION = {">": 1, ">=": 1, "<": -1, "<=": -1}
_FLIPPED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


def _through_sqlglot(text: str, dialect: str | None) -> Query:
    """Read with sqlglot and rewrite in plain SQL, for dialects and forms that the fast reader does not know."""
    from sqlglot.errors import SqlglotError

    from sensecheck.language.sql_parsing import parse_sql

    try:
        plain = parse_sql(text, dialect)[0].sql(dialect="sqlite")
    except (SqlglotError, RecursionError, ValueError, AssertionError, AttributeError, TypeError, IndexError) as error:
        raise UnreadableQueryError(Reason.UNREADABLE_QUERY, f"not SQL that can be read: {str(error)[:200]}") from error
    try:
        return read_sql(plain)
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
        self.ends: dict[str, str] = {}  # alias → from or to
        self.textual: set[Name] = set()
        self.timed: set[Name] = set()

    def add(self, kind: str, text: str, span: Span | None, **fields: object) -> Fact:
        fact = Fact(kind, text, span if self.placed else None, **fields)  # type: ignore[arg-type]
        self.facts.append(fact)
        return fact

    # ------------------------------------------------------------------------------------------- names

    def column(self, expr: Expr, scope: dict[str, Table | None]) -> Column | None:
        """The schema's column that an expression names; None when it has none of that name in reach."""
        low = expr.text.lower()
        if expr.table:
            table = scope.get(expr.table.lower())
            if table is not None:
                return table.columns.get(low)
            return None
        for table in scope.values():
            if table is not None and low in table.columns:
                return table.columns[low]
        return None

    def name(self, expr: Expr, scope: dict[str, Table | None], role: str) -> Name:
        """The natural name of a column expression, noted as used; a column that its table lacks is a misfit."""
        column = self.column(expr, scope)
        if column is not None:
            natural = column.natural
            self.used_columns.add(column.name.lower())
            if column.type == "text":
                self.textual.add(natural)
            elif column.type == "time":
                self.timed.add(natural)
        else:
            natural = name_of(expr.text)
            if self.schema is not None and all(t is not None for t in scope.values()) and scope:
                in_reach = not expr.table or expr.table.lower() in scope
                if in_reach and not expr.quoted:
                    self.add("misfit", expr.text, (expr.start, expr.end), name=natural, role=role)
        self.names.append(natural)
        original = name_of(expr.text)
        if original.words != natural.words:
            self.names.append(original)
        return natural

    # ----------------------------------------------------------------------------------------- queries

    def query(self, query: Query, outer: dict[str, Table | None], depth: int) -> None:
        if query.op:
            assert query.left is not None and query.right is not None
            self.add("setop", query.op, query.op_span, op=query.op.lower())
            if query.op == "EXCEPT":
                self.add("negation", query.op, query.op_span, op="except")
            self.query(query.left, outer, depth)
            self.query(query.right, outer, depth + 1)
            self.tail(query, {})
            return
        reachable = {**outer, **self.tables(query, outer, depth)}
        join_columns = self.joins(query, reachable)
        if query.distinct:
            self.add("distinct", "DISTINCT", query.distinct_span, optional=True)
        for item in query.items:
            self.value_expr(item, reachable, "select" if depth == 0 else "inner", query)
        if query.where is not None:
            self.condition(query.where, reachable, "where", False, query, depth)
        for key in query.group:
            if key.kind == "column":
                natural = self.name(key, reachable, "group")
                self.add(
                    "group", key.text, (key.start, key.end), name=natural, role="group", also=name_of(key.text),
                    optional=key.text.lower() in join_columns,
                )  # fmt: skip
        if query.having is not None:
            self.condition(query.having, reachable, "having", False, query, depth)
        self.tail(query, reachable)

    def tables(self, query: Query, outer: dict[str, Table | None], depth: int) -> dict[str, Table | None]:
        """Facts of what stands in FROM; its tables by alias, None for what the schema does not hold."""
        scope: dict[str, Table | None] = {}
        for ref in query.tables:
            if ref.query is not None or ref.derived:
                if ref.query is not None:
                    self.query(ref.query, outer, depth)
                scope[ref.alias.lower()] = None
                continue
            table = self.schema.tables.get(ref.name.lower()) if self.schema else None
            natural = table.natural if table else name_of(ref.name)
            if table is not None and table not in self.used_tables:
                self.used_tables.append(table)
            if self.schema is not None and table is None:
                self.add("misfit", ref.name, ref.span, name=natural, role="table")
            self.names.append(natural)
            self.add("table", ref.name, ref.span, name=natural, optional=len(query.tables) > 1, also=name_of(ref.name))
            scope[ref.alias.lower()] = table
        return scope

    def joins(self, query: Query, scope: dict[str, Table | None]) -> set[str]:
        """The columns by which tables are joined, noted as used, with the ends of journeys that they name."""
        columns: set[str] = set()
        for condition in query.joins:
            for part in _parts(condition):
                if part.kind == "column":
                    columns.add(part.text.lower())
                    self.name(part, scope, "join")
                elif part.kind == "binary" and part.text == "=" and all(a.kind == "column" for a in part.args):
                    # An alias stands for the end of the journey that the other side of its join names.
                    for side, opposite in (part.args, part.args[::-1]):
                        if journey_end(opposite.text) and side.table:
                            self.ends[side.table.lower()] = journey_end(opposite.text)
        return columns

    def tail(self, query: Query, scope: dict[str, Table | None]) -> None:
        limit = as_number(query.limit.text) if query.limit is not None and query.limit.kind == "number" else None
        if query.limit is not None and limit is not None:
            self.add(
                "limit", f"LIMIT {query.limit.text}", (query.limit.start, query.limit.end),
                number=limit, optional=limit == 1,
            )  # fmt: skip
        for position, key in enumerate(query.order):
            aggregate, natural, also = "", NO_NAME, NO_NAME
            self.arithmetic(key.expr)
            for part in _parts(key.expr):
                if part.kind == "call" and part.text in _AGGREGATES:
                    aggregate = aggregate or _AGGREGATES[part.text]
                elif part.kind == "column":
                    also = name_of(part.text)
                    natural = self.name(part, scope, "order") if scope else also
            self.add(
                "order", ("DESC" if key.descending else "ASC") + " " + (natural.text or aggregate), key.span,
                name=natural, aggregate=aggregate, direction=1 if key.descending else -1, limited=limit is not None,
                role="order", optional=not key.explicit or position > 0, op="explicit" if key.explicit else "",
                number=limit, also=also,
            )  # fmt: skip

    def value_expr(self, expr: Expr, scope: dict[str, Table | None], role: str, query: Query) -> None:
        """Facts of an expression in a select list or on a side of a comparison."""
        if expr.kind == "column":
            if expr.quoted and self.column(expr, scope) is None and self.schema is not None:
                return
            natural = self.name(expr, scope, role)
            self.add("column", expr.text, (expr.start, expr.end), name=natural, role=role, also=name_of(expr.text))
        elif expr.kind == "call":
            aggregate = _AGGREGATES.get(expr.text, "")
            natural = also = NO_NAME
            for part in expr.args:
                for inner in _parts(part):
                    if inner.kind == "column":
                        natural, also = self.name(inner, scope, role), name_of(inner.text)
                    elif inner.query is not None:
                        self.query(inner.query, scope, 1)
            if aggregate:
                direction = {"max": 1, "min": -1}.get(aggregate, 0)
                self.add(
                    "aggregate", expr.text.lower() + "(" + natural.text + ")", (expr.start, expr.end),
                    name=natural, aggregate=aggregate, role=role, direction=direction, also=also,
                )  # fmt: skip
                if expr.distinct:
                    self.add("distinct", "DISTINCT", expr.op_span, optional=True)
            if natural is not NO_NAME:
                place = "inner" if role != "select" or aggregate == "count" else "aggregate" if aggregate else role
                self.add("column", natural.text, (expr.start, expr.end), name=natural, role=place, also=also)
        elif expr.query is not None:
            self.query(expr.query, scope, 1)
        else:
            self.arithmetic(expr)
            for part in expr.args:
                self.value_expr(part, scope, role, query)

    def arithmetic(self, expr: Expr) -> None:
        """Columns added up: people call that a total."""
        if expr.kind == "binary" and expr.text == "+":
            self.add("aggregate", "+", expr.op_span, aggregate="sum", role="arithmetic", optional=True)

    # -------------------------------------------------------------------------------------- conditions

    def condition(
        self, expr: Expr, scope: dict[str, Table | None], role: str, negated: bool, query: Query, depth: int
    ) -> None:
        kind = expr.kind
        if kind == "binary" and expr.text in ("AND", "OR"):
            if expr.text == "OR" and not negated:
                self.add("connective", "OR", expr.op_span, op="or")
            self.condition(expr.args[0], scope, role, negated, query, depth)
            self.condition(expr.args[1], scope, role, negated, query, depth)
        elif kind == "not":
            self.condition(expr.args[0], scope, role, not negated, query, depth)
        elif kind == "binary" and expr.text in _NEGATED:
            self.comparison(expr, scope, role, negated != expr.negated, query)
        elif kind == "in":
            negated = negated != expr.negated
            if expr.query is not None:
                if negated:
                    self.add("negation", "NOT IN", expr.op_span, op="not in")
                if expr.args[0].kind == "column":
                    self.name(expr.args[0], scope, "join")
                self.query(expr.query, scope, depth + 1)
            else:
                natural = self.name(expr.args[0], scope, role) if expr.args[0].kind == "column" else NO_NAME
                if negated:
                    self.add("negation", "NOT IN", expr.op_span, op="not in")
                if len(expr.args) > 2:
                    self.add("connective", "IN", expr.op_span, op="or", optional=True)
                for member in expr.args[1:]:
                    self.literal(member, natural, "!=" if negated else "=", role, "", expr)
        elif kind == "between":
            natural = self.name(expr.args[0], scope, role) if expr.args[0].kind == "column" else NO_NAME
            if natural is not NO_NAME:
                self.add("column", natural.text, (expr.args[0].start, expr.args[0].end), name=natural, role=role)
            for member in expr.args[1:]:
                self.literal(member, natural, "between", role, "", expr)
            if negated != expr.negated:
                self.add("negation", "NOT BETWEEN", expr.op_span, op="!=")
        elif kind == "isnull":
            natural = self.name(expr.args[0], scope, role) if expr.args[0].kind == "column" else NO_NAME
            if natural is not NO_NAME:
                self.add("column", natural.text, (expr.args[0].start, expr.args[0].end), name=natural, role=role)
            if negated == expr.negated:
                self.add("negation", "IS NULL", expr.op_span, op="null", optional=not query.outer_join)
        elif kind == "exists":
            if negated:
                self.add("negation", "NOT EXISTS", expr.op_span, op="not in")
            if expr.query is not None:
                self.query(expr.query, scope, depth + 1)
        else:
            self.value_expr(expr, scope, role, query)

    def comparison(self, expr: Expr, scope: dict[str, Table | None], role: str, negated: bool, query: Query) -> None:
        left, right = expr.args
        op = expr.text
        if left.kind in ("number", "string") and right.kind not in ("number", "string"):
            left, right = right, left
            op = _FLIPPED.get(op, op)
        turned_round = negated and op in _DIRECTION
        if negated:
            op = _NEGATED[op]
        aggregate, natural, also, span = "", NO_NAME, NO_NAME, (left.start, left.end)
        integral = False
        for part in _parts(left):
            if part.kind == "call" and part.text in _AGGREGATES:
                aggregate = aggregate or _AGGREGATES[part.text]
                integral = aggregate == "count"
                if aggregate not in ("count", ""):
                    direction = {"max": 1, "min": -1}.get(aggregate, 0)
                    self.add(
                        "aggregate", part.text.lower(), (part.start, part.end), aggregate=aggregate, role=role,
                        direction=direction, name=name_of(part.args[0].text) if part.args else NO_NAME,
                    )  # fmt: skip
            elif part.kind == "column":
                natural, also = self.name(part, scope, role), name_of(part.text)
            elif part.query is not None:
                self.query(part.query, scope, 1)
        if natural is not NO_NAME and not (right.kind == "column" and not self.is_value(right, scope)):
            self.add("column", natural.text, span, name=natural, role=role if not aggregate else "inner", also=also)
        facts_before = len(self.facts)
        if turned_round:
            self.add("negation", "NOT", expr.op_span, op="!=", optional=True)
        if right.kind in ("number", "string", "bool") or (right.kind == "column" and self.is_value(right, scope)):
            self.literal(right, natural, op, role, aggregate, expr, integral, also)
            if left.kind == "column":
                way = journey_end(left.text) or self.ends.get(left.table.lower(), "")
                for fact in self.facts[facts_before:]:
                    fact.way = way if fact.kind == "comparison" else ""
        elif right.kind == "column":
            right_name = self.name(right, scope, "join")
            if op == "!=":
                self.add("negation", "!=", expr.op_span, op="!=", optional=True)
            elif op in _DIRECTION:
                self.add(
                    "comparison", op, expr.op_span, name=right_name, op=op, role="columns", direction=_DIRECTION[op]
                )
        else:
            if op in _DIRECTION:
                self.add("comparison", op, expr.op_span, name=natural, op=op, role="subquery", direction=_DIRECTION[op])
            elif op == "!=":
                self.add("negation", "!=", expr.op_span, op="!=")
            self.value_expr(right, scope, role, query)

    def is_value(self, expr: Expr, scope: dict[str, Table | None]) -> bool:
        """Whether a double-quoted identifier is a string after all."""
        if not expr.quoted:
            return False
        return self.schema is None or self.column(expr, scope) is None

    def literal(
        self, value: Expr, name: Name, op: str, role: str, aggregate: str, whole: Expr, integral: bool = False,
        also: Name = NO_NAME,
    ) -> None:  # fmt: skip
        if value.kind == "null":
            return
        if value.query is not None:
            self.query(value.query, {}, 1)
            return
        text = value.text
        op = op.lower()
        negative = op in ("!=", "not like")
        if op in ("like", "not like"):
            text = text.replace("%", " ").strip()
        number = as_number(text) if value.kind == "number" or value.quoted or value.kind == "string" else None
        self.add(
            "comparison", f"{name.text} {op} {text}".strip(), (value.start, value.end), name=name, op=op, role=role,
            aggregate=aggregate, value=text, number=number, direction=_DIRECTION.get(op, 0),
            integral=integral or (number is not None and number.is_integer()), also=also,
        )  # fmt: skip
        if negative:
            self.add("negation", op.upper(), whole.op_span, op="!=", value=text)


_FROM = ("source", "src", "origin", "depart", "departure", "sending", "start")
_TO = ("destination", "dest", "dst", "arrive", "arrival", "receiving")


def journey_end(column: str) -> str:
    """Whether a column names the end that things come from or go to."""
    low = column.lower()
    if any(word in low for word in _TO):
        return "to"
    return "from" if any(low.startswith(word) for word in _FROM) else ""


def _parts(expr: Expr) -> list[Expr]:
    """An expression and everything inside it, sub-queries not entered."""
    parts = [expr]
    for part in parts:
        parts.extend(part.args)
    return parts


def read(text: str, context: Context) -> Reading:
    """The facts of a SQL query. Raises UnreadableQueryError with a reason."""
    schema = context.schema
    if not text or not text.strip():
        raise UnreadableQueryError(Reason.EMPTY_QUERY, "the query is empty")
    placed = True
    try:
        query = read_sql(text)
    except UnreadableError:
        query = _through_sqlglot(text, context.dialect)
        placed = False
    collector = _Facts(schema, placed)
    collector.query(query, {}, 0)
    reading = Reading(collector.facts, unique_names(collector.names))
    reading.entities = frozenset(s for f in collector.facts if f.kind == "table" for s in f.name.stems)
    reading.textual, reading.timed = frozenset(collector.textual), frozenset(collector.timed)
    if schema is not None:
        reading.vocabulary = schema.vocabulary
        reading.entities = schema.entities
        reading.other_tables = [t.natural for t in schema.tables.values() if t not in collector.used_tables]
        reading.other_names = [
            (column.natural, table.natural)
            for table in collector.used_tables
            for key, column in table.columns.items()
            if key not in collector.used_columns
        ]
    return reading
