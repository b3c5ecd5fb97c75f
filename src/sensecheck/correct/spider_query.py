"""A SQL query as Spider's evaluator reads it: its clauses, over the tables and columns of one schema.

The evaluator reads a part of SQL only, and what it cannot read it counts as an empty query. So what it reads, and
what it stumbles over, is part of the measure: names after AS in SELECT, aliases without AS, LEFT JOIN, lists after IN,
IS NULL, `a=1` without spaces, names in backticks. It stops where the query seems to be over, and disregards the rest.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from sensecheck.inputs.guarding import OverBudgetError

ALL = "*"
AGGREGATES = frozenset(("max", "min", "count", "sum", "avg"))
COMPARISONS = frozenset(("not", "between", "=", ">", "<", ">=", "<=", "!=", "in", "like", "is", "exists"))
SET_OPERATIONS = ("intersect", "union", "except")
_OPERATORS = frozenset("-+*/")
_CLAUSES = frozenset(("select", "from", "where", "group", "order", "limit", *SET_OPERATIONS))
_JOINS = frozenset(("join", "on", "as"))
_CONNECTIVES = frozenset(("and", "or"))
_ENDS = frozenset((")", ";"))
_SAID = {"(": "an opening bracket", ")": "a closing bracket"}
_DEEPEST = 100
"""Queries within queries."""

Tables: TypeAlias = Mapping[str, Collection[str]]
"""The tables of a schema by name, with their columns, in small letters."""


class UnreadableError(ValueError):
    """The evaluator does not read this query."""


class ColumnUse(NamedTuple):
    """A column, perhaps under an aggregate. `column` is `table.column`, or `*`."""

    aggregate: str
    column: str
    distinct: bool = False


class Term(NamedTuple):
    """One column, or two with an operator between them."""

    operator: str
    left: ColumnUse
    right: ColumnUse | None = None


class Selected(NamedTuple):
    """What a query selects: a term, perhaps under an aggregate."""

    aggregate: str
    term: Term


Value: TypeAlias = "str | float | ColumnUse | SpiderQuery | None"


class Condition(NamedTuple):
    negated: bool
    comparison: str
    term: Term
    value: Value = None
    second: Value = None
    """The upper end of BETWEEN."""


@dataclass(slots=True, frozen=True)
class Conditions:
    """Conditions and the words that connect them, which are one fewer."""

    units: tuple[Condition, ...] = ()
    connectives: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.units)


@dataclass(slots=True, frozen=True)
class SpiderQuery:
    """The clauses of a query. Two are equal where the evaluator's own structures are."""

    select: tuple[Selected, ...] = ()
    distinct: bool = False
    tables: tuple[str | SpiderQuery, ...] = ()
    joins: Conditions = Conditions()
    where: Conditions = Conditions()
    group: tuple[ColumnUse, ...] = ()
    having: Conditions = Conditions()
    order: tuple[Term, ...] = ()
    direction: str = ""
    """Of the last sort key that says one; empty where nothing is sorted."""
    limit: bool = False
    """Whether there is one: how much it lets through is not looked at."""
    intersect: SpiderQuery | None = None
    union: SpiderQuery | None = None
    other: SpiderQuery | None = None
    """What EXCEPT takes away."""


NOTHING = SpiderQuery()
"""What stands for a prediction that cannot be read."""


# ---- tokens

_SIGNS = re.compile(r"[;@#$%&?!*\[\](){}<>`«»“”‘„]|--|\.{2,}|[:,](?!\d)")
_LAST_DOT = re.compile(r"(?<!\.)\.([\])}> ]*)\Z")
_MERGED = frozenset("!><")


def spider_tokens(text: str) -> list[str]:
    """The words and signs of a query in small letters, its texts in one piece.

    Signs are told apart as an English tokeniser does: `=`, `+` and `-` only by the spaces around them, a comma not
    where a digit follows. An apostrophe is a quotation mark like any other.
    """
    pieces = text.replace("'", '"').split('"')
    if not len(pieces) % 2:
        raise UnreadableError("a quotation mark is missing")
    # A text becomes a word that no query has, so that what is glued to it stays glued.
    texts = {f"\x00{number}\x00": f'"{piece}"' for number, piece in enumerate(pieces[1::2])}
    marks = [*texts, ""]
    plain = "".join([part + mark for part, mark in zip(pieces[::2], marks, strict=True)])
    words = _LAST_DOT.sub(r" . \1", _SIGNS.sub(r" \g<0> ", plain)).split()
    tokens: list[str] = []
    for word in words:
        if word == "=" and tokens and tokens[-1] in _MERGED:
            tokens[-1] += word
        else:
            tokens.append(texts.get(word) or word.lower())
    return tokens


# ---- clauses


def read_query(text: str, tables: Tables) -> SpiderQuery:
    """What the evaluator reads of a query; UnreadableError where it gives up."""
    tokens = spider_tokens(text)
    names = {tokens[place + 1]: tokens[place - 1] for place, token in enumerate(tokens[:-1]) if token == "as" and place}
    if not names.keys().isdisjoint(tables):
        raise UnreadableError("an alias is the name of a table")
    reader = _Reader(tokens, names | {name: name for name in tables}, tables)
    try:
        return reader.query(0)
    except IndexError:
        raise UnreadableError("the query breaks off") from None


class _Reader:
    """Goes through the tokens from left to right. Positions are kept in `at`."""

    def __init__(self, tokens: Sequence[str], names: Mapping[str, str], tables: Tables) -> None:
        self.tokens = tokens
        self.names = names
        """Aliases and tables, each with the table that it stands for."""
        self.tables = tables
        self.at = 0
        self.depth = 0

    # ---- single tokens

    @property
    def token(self) -> str:
        """The next one; IndexError where there is none."""
        return self.tokens[self.at]

    def is_at(self, *words: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at] in words

    def skip(self, *words: str) -> bool:
        """Whether one of these comes next; it is then passed."""
        found = self.is_at(*words)
        self.at += found
        return found

    def expect(self, word: str) -> None:
        if not self.skip(word):
            raise UnreadableError(f"{_SAID.get(word, word.upper())} is expected")

    def _is_over(self) -> bool:
        return self.at >= len(self.tokens) or self.token in _CLAUSES or self.token in _ENDS

    # ---- queries

    def query(self, start: int) -> SpiderQuery:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise OverBudgetError("queries nested too deeply")
        self.at = start
        in_brackets = self.skip("(")
        start = self.at
        tables, joins, own = self._from(start)
        after = self.at
        self.at = start
        distinct, select = self._select(own)
        self.at = after
        where = self._conditions(own) if self.skip("where") else Conditions()
        group = self._group(own)
        having = self._conditions(own) if self.skip("having") else Conditions()
        direction, order = self._order(own)
        limit = self.skip("limit")
        self.at += limit
        self._skip_semicolons()
        if in_brackets:
            self.expect(")")
            self._skip_semicolons()
        operation = self.token if self.is_at(*SET_OPERATIONS) else ""
        further = self.query(self.at + 1) if operation else None
        self.depth -= 1
        return SpiderQuery(
            select, distinct, tables, joins, where, group, having, order, direction, limit,
            intersect=further if operation == "intersect" else None,
            union=further if operation == "union" else None,
            other=further if operation == "except" else None,
        )  # fmt: skip

    def _skip_semicolons(self) -> None:
        while self.skip(";"):
            pass

    def _select(self, own: Sequence[str]) -> tuple[bool, tuple[Selected, ...]]:
        self.expect("select")
        distinct = self.skip("distinct")
        selected = []
        while self.at < len(self.tokens) and self.token not in _CLAUSES:
            aggregate = self.token if self.token in AGGREGATES else ""
            self.at += bool(aggregate)
            selected.append(Selected(aggregate, self._term(own)))
            self.skip(",")
        return distinct, tuple(selected)

    def _from(self, start: int) -> tuple[tuple[str | SpiderQuery, ...], Conditions, list[str]]:
        """The tables of FROM, the conditions of their joins, and the names of those that are tables."""
        try:
            self.at = self.tokens.index("from", start) + 1
        except ValueError:
            raise UnreadableError("there is no FROM") from None
        tables: list[str | SpiderQuery] = []
        own: list[str] = []
        units: list[Condition] = []
        connectives: list[str] = []
        while self.at < len(self.tokens):
            in_brackets = self.skip("(")
            if self.token == "select":
                tables.append(self.query(self.at))
            else:
                self.skip("join")
                own.append(self._table())
                tables.append(own[-1])
            if self.skip("on"):
                conditions = self._conditions(own)
                connectives += ["and"] * bool(units) + list(conditions.connectives)
                units += conditions.units
            if in_brackets:
                self.expect(")")
            if self._is_over():
                break
        return tuple(tables), Conditions(tuple(units), tuple(connectives)), own

    def _table(self) -> str:
        name = self.names.get(self.token, "")
        if name not in self.tables:
            raise UnreadableError("a table that the database does not have, or a join that is not read")
        self.at += 1
        if self.is_at("as"):
            self.at += 2
        return name

    def _group(self, own: Sequence[str]) -> tuple[ColumnUse, ...]:
        group: list[ColumnUse] = []
        if not self.skip("group"):
            return ()
        self.expect("by")
        while not self._is_over():
            group.append(self._use(own))
            if not self.skip(","):
                break
        return tuple(group)

    def _order(self, own: Sequence[str]) -> tuple[str, tuple[Term, ...]]:
        if not self.skip("order"):
            return "", ()
        self.expect("by")
        direction = "asc"
        order: list[Term] = []
        while not self._is_over():
            order.append(self._term(own))
            if self.is_at("asc", "desc"):
                direction = self.token
                self.at += 1
            if not self.skip(","):
                break
        return direction, tuple(order)

    # ---- conditions and values

    def _conditions(self, own: Sequence[str]) -> Conditions:
        units: list[Condition] = []
        connectives: list[str] = []
        while self.at < len(self.tokens):
            term = self._term(own)
            negated = self.skip("not")
            comparison = self.token
            if comparison not in COMPARISONS:
                raise UnreadableError("a comparison that is not read")
            self.at += 1
            value, second = self._value(own), None
            if comparison == "between":
                self.expect("and")
                second = self._value(own)
            units.append(Condition(negated, comparison, term, value, second))
            if self._is_over() or self.token in _JOINS:
                break
            if self.token in _CONNECTIVES:
                connectives.append(self.token)
                self.at += 1
        return Conditions(tuple(units), tuple(connectives))

    def _value(self, own: Sequence[str]) -> Value:
        start = self.at
        in_brackets = self.skip("(")
        value: Value
        if self.token == "select":
            value = self.query(self.at)
        elif '"' in self.token:
            value = self.token
            self.at += 1
        else:
            try:
                value = float(self.token)
                self.at += 1
            except ValueError:
                value = self._value_of_column(start, own)
        if in_brackets:
            self.expect(")")
        return value

    def _value_of_column(self, start: int, own: Sequence[str]) -> ColumnUse:
        """A column on the right of a comparison. What follows it up to the next AND or clause is disregarded."""
        end = start
        while end < len(self.tokens) and not (
            self.tokens[end] in (",", ")", "and") or self.tokens[end] in _CLAUSES or self.tokens[end] in _JOINS
        ):
            end += 1
        part = _Reader(self.tokens[start:end], self.names, self.tables)
        value = part._use(own)
        self.at = end
        return value

    def _term(self, own: Sequence[str]) -> Term:
        in_brackets = self.skip("(")
        left = self._use(own)
        operator, right = "", None
        if self.at < len(self.tokens) and self.token in _OPERATORS:
            operator = self.token
            self.at += 1
            right = self._use(own)
        if in_brackets:
            self.expect(")")
        return Term(operator, left, right)

    def _use(self, own: Sequence[str]) -> ColumnUse:
        in_brackets = self.skip("(")
        if self.token in AGGREGATES:
            aggregate = self.token
            self.at += 1
            self.expect("(")
            distinct = self.skip("distinct")
            column = self._column(own)
            self.expect(")")
            return ColumnUse(aggregate, column, distinct)
        distinct = self.skip("distinct")
        column = self._column(own)
        if in_brackets:
            self.expect(")")
        return ColumnUse("", column, distinct)

    def _column(self, own: Sequence[str]) -> str:
        token = self.token
        self.at += 1
        if token == ALL:
            return ALL
        if "." in token:
            alias, _, column = token.partition(".")
            table = self.names.get(alias, "")
        else:
            column = token
            table = next((name for name in own if column in self.tables[name]), "")
        if column not in self.tables.get(table, ()):
            raise UnreadableError("something in the place of a column")
        return f"{table}.{column}"
