"""A fast reader for the everyday subset of SQL that keeps the place of every part in the text.

What it does not know raises `UnreadableError`; `sql.py` then asks sqlglot, which knows every dialect but no places.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from sensecheck.faithful.facts import Span

T = TypeVar("T")

MAX_DEPTH = 60


class UnreadableError(ValueError):
    """The text is not SQL, or not the subset read here."""


@dataclass(slots=True)
class Expr:
    """kind: column, string, number, star, call, binary, not, in, between, isnull, exists, subquery, case, null, neg,
    bool."""

    kind: str
    start: int
    end: int
    text: str = ""  # column name, literal, function name or operator, upper-cased for the last two
    table: str = ""
    args: list[Expr] = field(default_factory=list)
    query: Query | None = None
    negated: bool = False
    distinct: bool = False
    quoted: bool = False
    op_span: Span = (0, 0)

    @property
    def span(self) -> Span:
        return self.start, self.end


@dataclass(slots=True)
class OrderKey:
    expr: Expr
    descending: bool
    explicit: bool
    span: Span


@dataclass(slots=True)
class TableRef:
    name: str
    alias: str
    span: Span
    query: Query | None = None  # a query in FROM, or the first time that a WITH query is named
    derived: bool = False  # the name of a WITH query: no table of the schema
    source: Query | None = None  # the query that it stands for, however often it is named
    columns: tuple[str, ...] = ()  # what WITH name (a, b) calls its columns, lower-cased
    inlined: bool = False  # whether the query around it uses its columns: what they are is told there

    def outputs(self) -> list[tuple[str, Expr]]:
        """Its columns: what each is called, and what it is; none of a table."""
        outputs = self.source.outputs() if self.source is not None else []
        if not self.columns:
            return outputs
        return [(name, expr) for name, (_, expr) in zip(self.columns, outputs, strict=False)]


@dataclass(slots=True)
class Query:
    """A SELECT, or a set operation over two queries."""

    op: str = ""  # UNION, INTERSECT, EXCEPT for a set operation
    op_span: Span = (0, 0)
    left: Query | None = None
    right: Query | None = None
    distinct: bool = False
    distinct_span: Span = (0, 0)
    items: list[Expr] = field(default_factory=list)
    tables: list[TableRef] = field(default_factory=list)
    joins: list[Expr] = field(default_factory=list)
    where: Expr | None = None
    group: list[Expr] = field(default_factory=list)
    having: Expr | None = None
    order: list[OrderKey] = field(default_factory=list)
    limit: Expr | None = None
    outer_join: bool = False
    names: list[str] = field(default_factory=list)  # what each select item is called, lower-cased; empty if nothing
    settled: bool = False  # whether names have been replaced by what they stand for

    def outputs(self) -> list[tuple[str, Expr]]:
        """The columns of the result: what each is called, and what it is."""
        if self.op:
            return self.left.outputs() if self.left is not None else []
        named = zip(self.names, self.items, strict=True)
        return [(name or (item.text.lower() if item.kind == "column" else ""), item) for name, item in named]


_TOKEN = re.compile(
    r"""\s+|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/
    |(?P<string>'(?:[^']|'')*')|(?P<quoted>"(?:[^"]|"")*")|(?P<tick>`[^`]*`|\[[^\]\n]*\])
    |(?P<number>\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)|(?P<word>[^\W\d]\w*)
    |(?P<op><>|!=|>=|<=|==|\|\||[-+*/%=<>(),.;])""",
    re.VERBOSE,
)
_RESERVED = frozenset((
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "ORDER", "LIMIT", "OFFSET", "UNION", "INTERSECT", "EXCEPT",
    "MINUS", "JOIN", "ON", "INNER", "LEFT", "RIGHT", "OUTER", "CROSS", "NATURAL", "FULL", "AND", "OR", "NOT", "IN",
    "BETWEEN", "LIKE", "ILIKE", "GLOB", "IS", "NULL", "EXISTS", "DISTINCT", "AS", "ASC", "DESC", "CASE", "WHEN", "THEN",
    "ELSE", "END", "USING", "ALL", "WITH",
))  # fmt: skip
_VALUE_WORDS = frozenset(("EXISTS", "NULL", "TRUE", "FALSE", "CASE"))
_LOGIC = {"OR": 1, "AND": 2}
_ARITHMETIC = {"+": 1, "-": 1, "||": 1, "*": 2, "/": 2, "%": 2}
_COMPARE = frozenset(("=", "==", "!=", "<>", "<", ">", "<=", ">=", "LIKE", "ILIKE", "GLOB", "REGEXP"))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.kinds: list[str] = []
        self.values: list[str] = []
        self.upper: list[str] = []
        self.spans: list[Span] = []
        position = 0
        for match in _TOKEN.finditer(text):
            span = match.span()
            if span[0] != position:
                self._fail(position)
            position = span[1]
            kind = match.lastgroup
            if kind is None:
                continue
            value = match.group()
            self.kinds.append(kind)
            self.values.append(value)
            self.upper.append(value.upper() if kind == "word" else value if kind == "op" else "")
            self.spans.append(span)
        if position != len(text):
            self._fail(position)
        self.n = len(self.values)
        while self.n and self.upper[self.n - 1] == ";":
            self.n -= 1
        # Look-ahead never runs off the end.
        self.kinds[self.n :], self.values[self.n :], self.upper[self.n :] = ["end"] * 3, [""] * 3, [""] * 3
        self.spans[self.n :] = [(len(text), len(text))] * 3
        self.i = 0
        self.depth = 0
        self.with_queries: dict[str, tuple[Query | None, tuple[str, ...]]] = {}  # with the names of their columns
        self.handed_out: set[str] = set()  # WITH queries that stand in a FROM already
        self.names_things = False  # whether a name or a number may stand for an expression

    def _fail(self, position: int) -> NoReturn:
        raise UnreadableError(f"unexpected text at character {position}: {self.text[position : position + 20]!r}")

    def fail(self) -> NoReturn:
        self._fail(self.spans[self.i][0])

    def at(self, word: str) -> bool:
        return self.upper[self.i] == word

    def take(self, word: str) -> bool:
        if self.upper[self.i] == word:
            self.i += 1
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.take(word):
            self.fail()

    def end(self) -> int:
        return self.spans[self.i - 1][1]

    def past(self) -> Span:
        """The place of the token that is left behind."""
        self.i += 1
        return self.spans[self.i - 1]

    def listed(self, part: Callable[[], T]) -> list[T]:
        """One or more parts with commas between them."""
        parts = [part()]
        while self.take(","):
            parts.append(part())
        return parts

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnreadableError("nested too deeply")

    def in_brackets(self) -> Query:
        """The query up to the bracket that closes it."""
        query = self.query()
        self.expect(")")
        return query

    # ------------------------------------------------------------------------------------------- queries

    def query(self) -> Query:
        self.deeper()
        if self.take("WITH"):
            self.take("RECURSIVE")
            self.listed(self.common_table)
        left = self.operand()
        while self.upper[self.i] in ("UNION", "INTERSECT", "EXCEPT", "MINUS"):
            op, span = self.upper[self.i], self.past()
            if not self.take("ALL"):
                self.take("DISTINCT")
            right = self.operand()
            left = Query("EXCEPT" if op == "MINUS" else op, span, left, right)
            # A trailing ORDER BY belongs to the whole, and the last operand has read it.
            left.order, right.order = right.order, []
            left.limit, right.limit = right.limit, None
        self.tail(left)
        self.depth -= 1
        return left

    def common_table(self) -> None:
        name = self.identifier().lower()
        columns: tuple[str, ...] = ()
        if self.take("("):
            columns = tuple(column.lower() for column in self.listed(self.identifier))
            self.expect(")")
        self.expect("AS")
        self.expect("(")
        self.handed_out.discard(name)
        self.with_queries[name] = None, ()  # a recursive query may speak of itself
        self.with_queries[name] = self.in_brackets(), columns

    def skip_brackets(self) -> None:
        """Past a pair of brackets and all that stands in it."""
        depth = 0
        while True:
            if self.kinds[self.i] == "end":
                self.fail()
            depth += (self.upper[self.i] == "(") - (self.upper[self.i] == ")")
            self.i += 1
            if depth == 0:
                return

    def operand(self) -> Query:
        return self.in_brackets() if self.take("(") else self.select()

    def select(self) -> Query:
        query = Query()
        self.expect("SELECT")
        if self.at("DISTINCT"):
            query.distinct, query.distinct_span = True, self.past()
        else:
            self.take("ALL")
        items = self.listed(self.item)
        query.items = [expr for expr, _ in items]
        query.names = [name for _, name in items]
        if self.take("FROM"):
            self.sources(query)
        if self.take("WHERE"):
            query.where = self.expr()
        if self.take("GROUP"):
            self.expect("BY")
            query.group = self.listed(self.expr)
            self.names_things = self.names_things or any(key.kind == "number" for key in query.group)
        if self.take("HAVING"):
            query.having = self.expr()
        self.tail(query)
        return query

    def tail(self, query: Query) -> None:
        if self.take("ORDER"):
            self.expect("BY")
            query.order += self.listed(self.order_key)
        if self.take("LIMIT"):
            query.limit = self.primary()
            if self.take("OFFSET"):
                self.primary()
            elif self.take(","):  # the offset comes first
                query.limit = self.primary()

    def order_key(self) -> OrderKey:
        first = self.spans[self.i][0]
        expr = self.expr()
        self.names_things = self.names_things or expr.kind == "number"
        descending = self.take("DESC")
        explicit = descending or self.take("ASC")
        return OrderKey(expr, descending, explicit, (first, self.end()))

    def item(self) -> tuple[Expr, str]:
        """An expression of a select list, and the name that it is given."""
        expr, name = self.expr(), ""
        if self.take("AS") or (
            self.kinds[self.i] in ("word", "quoted", "tick") and self.upper[self.i] not in _RESERVED
        ):
            name = self.values[self.i].strip('"`[]').lower()
            self.i += 1
            self.names_things = True
        return expr, name

    def sources(self, query: Query) -> None:
        query.tables.append(self.source())
        while True:
            if self.take(","):
                query.tables.append(self.source())
                continue
            start = self.i
            while self.upper[self.i] in ("INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "NATURAL"):
                if self.upper[self.i] in ("LEFT", "RIGHT", "FULL"):
                    query.outer_join = True
                self.i += 1
            if not self.take("JOIN"):
                self.i = start
                return
            query.tables.append(self.source())
            if self.take("ON"):
                query.joins.append(self.expr())
            elif self.take("USING"):
                self.expect("(")
                while not self.take(")"):
                    if self.kinds[self.i] == "end":
                        self.fail()
                    self.i += 1

    def source(self) -> TableRef:
        first = self.spans[self.i][0]
        inner: Query | None = None
        name = ""
        if self.take("("):
            inner = self.in_brackets()
        else:
            name = self.identifier()
            while self.take("."):
                name = self.identifier()
            name = name.rpartition(".")[2] or name  # `project.data.table` in one pair of backticks
        span = (first, self.end())
        alias = name
        if self.take("AS") or (self.kinds[self.i] in ("word", "tick") and self.upper[self.i] not in _RESERVED):
            alias = self.identifier()
        key = name.lower()
        if inner is None and key in self.with_queries:
            source, columns = self.with_queries[key]
            inner = None if key in self.handed_out else source
            self.handed_out.add(key)
            self.names_things = True
            return TableRef(name, alias, span, inner, True, source, columns)
        self.names_things = self.names_things or inner is not None
        return TableRef(name, alias, span, inner, source=inner)

    def identifier(self) -> str:
        kind, value = self.kinds[self.i], self.values[self.i]
        if kind not in ("word", "quoted", "tick"):
            self.fail()
        self.i += 1
        return value if kind == "word" else value[1:-1]

    # --------------------------------------------------------------------------------------- expressions

    def expr(self) -> Expr:
        self.deeper()
        expr = self.chain(_LOGIC, self.negation)
        self.depth -= 1
        return expr

    def chain(self, ranks: dict[str, int], operand: Callable[[], Expr], least: int = 1) -> Expr:
        """Operands with operators of this rank and higher ones between them."""
        left = operand()
        while (rank := ranks.get(self.upper[self.i], 0)) >= least:
            op, span = self.upper[self.i], self.past()
            right = self.chain(ranks, operand, rank + 1)
            left = Expr("binary", left.start, right.end, op, args=[left, right], op_span=span)
        return left

    def negation(self) -> Expr:
        if not self.at("NOT"):
            return self.comparison()
        span = self.past()
        self.deeper()
        inner = self.negation()
        self.depth -= 1
        return Expr("not", span[0], inner.end, "NOT", args=[inner], op_span=span)

    def comparison(self) -> Expr:
        left = self.operation()
        while True:
            word, span = self.upper[self.i], self.spans[self.i]
            negated = False
            if word == "NOT" and self.upper[self.i + 1] in ("IN", "LIKE", "ILIKE", "BETWEEN", "GLOB", "REGEXP"):
                negated = True
                self.i += 1
                word = self.upper[self.i]
                span = (span[0], self.spans[self.i][1])
            if word in _COMPARE:
                self.i += 1
                if self.upper[self.i] in ("ALL", "ANY", "SOME"):
                    self.i += 1
                right = self.operation()
                op = {"==": "=", "<>": "!=", "ILIKE": "LIKE", "GLOB": "LIKE"}.get(word, word)
                left = Expr("binary", left.start, right.end, op, args=[left, right], negated=negated, op_span=span)
            elif word == "IN":
                self.i += 1
                left = self.membership(left, negated, span)
            elif word == "BETWEEN":
                self.i += 1
                low = self.operation()
                self.expect("AND")
                high = self.operation()
                left = Expr(
                    "between", left.start, high.end, "BETWEEN", args=[left, low, high], negated=negated, op_span=span
                )
            elif word == "IS":
                self.i += 1
                left = self.identity(left, span)
            else:
                return left

    def membership(self, left: Expr, negated: bool, span: Span) -> Expr:
        """What follows IN: a query, or a list of members."""
        self.expect("(")
        inner: Query | None = None
        members: list[Expr] = []
        if self.upper[self.i] in ("SELECT", "("):
            inner = self.query()
        else:
            members = self.listed(self.expr)
        self.expect(")")
        return Expr(
            "in", left.start, self.end(), "IN", args=[left, *members], query=inner, negated=negated, op_span=span
        )

    def identity(self, left: Expr, span: Span) -> Expr:
        """What follows IS: NULL, NOT NULL, or a value to be equal to or not."""
        negated = self.take("NOT")
        if self.take("NULL"):
            op_span = (span[0], self.end())
            return Expr("isnull", left.start, self.end(), "IS NULL", args=[left], negated=negated, op_span=op_span)
        right = self.operation()
        return Expr("binary", left.start, right.end, "!=" if negated else "=", args=[left, right], op_span=span)

    def operation(self) -> Expr:
        return self.chain(_ARITHMETIC, self.primary)

    def primary(self) -> Expr:
        i = self.i
        kind, value, (start, end) = self.kinds[i], self.values[i], self.spans[i]
        if kind == "string":
            self.i += 1
            return Expr("string", start, end, value[1:-1].replace("''", "'"), quoted=True)
        if kind == "number":
            self.i += 1
            return Expr("number", start, end, value)
        if kind == "op":
            return self.bracket_or_sign()
        if kind == "word":
            upper = self.upper[i]
            if upper in _VALUE_WORDS and (upper not in ("TRUE", "FALSE") or self.upper[i + 1] != "."):
                return self.value_word()
            if self.upper[i + 1] == "(" and upper not in _RESERVED:
                return self.call()
            if upper in _RESERVED:
                self.fail()
        elif kind not in ("quoted", "tick"):
            self.fail()
        self.i += 1
        name = value if kind == "word" else value[1:-1]
        table = ""
        while self.at("."):
            self.i += 1
            table = name
            if self.take("*"):
                return Expr("star", start, self.end(), "*", table=table)
            if self.kinds[self.i] == "word":  # a column may be spelled like a keyword after a dot
                name = self.values[self.i]
                self.i += 1
            else:
                name = self.identifier()
        return Expr("column", start, self.end(), name, table=table, quoted=kind == "quoted" and not table)

    def bracket_or_sign(self) -> Expr:
        """A query or an expression in brackets, a star, or a sign with its operand."""
        sign, (start, end) = self.values[self.i], self.spans[self.i]
        if sign == "(":
            self.i += 1
            if self.upper[self.i] == "SELECT":
                inner = self.in_brackets()
                return Expr("subquery", start, self.end(), query=inner)
            expr = self.expr()
            self.expect(")")
            return expr
        if sign == "*":
            self.i += 1
            return Expr("star", start, end, "*")
        if sign not in "+-":
            self.fail()
        self.i += 1
        operand = self.primary()
        if operand.kind == "number":
            return Expr("number", start, operand.end, ("-" if sign == "-" else "") + operand.text)
        return Expr("neg", start, operand.end, sign, args=[operand])

    def value_word(self) -> Expr:
        """EXISTS, NULL, TRUE, FALSE or CASE."""
        word, (start, end) = self.upper[self.i], self.spans[self.i]
        if word == "CASE":
            return self.case()
        self.i += 1
        if word == "EXISTS":
            self.expect("(")
            inner = self.in_brackets()
            return Expr("exists", start, self.end(), "EXISTS", query=inner)
        return Expr("null" if word == "NULL" else "bool", start, end, word)

    def call(self) -> Expr:
        start = self.spans[self.i][0]
        name = self.upper[self.i]
        name_span = self.spans[self.i]
        self.i += 2
        args: list[Expr] = []
        distinct = self.take("DISTINCT")
        if not self.take(")"):
            args = self.listed(self.expr)
            if self.take("AS"):  # CAST: the type is no column
                while not self.at(")"):
                    if self.kinds[self.i] == "end":
                        self.fail()
                    if self.at("("):
                        self.skip_brackets()
                    else:
                        self.i += 1
            self.expect(")")
        if self.take("OVER"):
            self.skip_brackets()
        return Expr("call", start, self.end(), name, args=args, distinct=distinct, op_span=name_span)

    def case(self) -> Expr:
        start = self.spans[self.i][0]
        self.i += 1
        args: list[Expr] = []
        if not self.at("WHEN"):
            args.append(self.expr())
        while self.take("WHEN"):
            args.append(self.expr())
            self.expect("THEN")
            args.append(self.expr())
        if self.take("ELSE"):
            args.append(self.expr())
        self.expect("END")
        return Expr("case", start, self.end(), "CASE", args=args)


def read_sql(text: str) -> Query:
    """Read one query; raises UnreadableError."""
    reader = _Reader(text)
    query = reader.query()
    if reader.i != reader.n:
        reader.fail()
    query.settled = not reader.names_things
    return query
