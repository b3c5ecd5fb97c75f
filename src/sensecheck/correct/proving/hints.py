"""What two queries ask about: their constants by column, their joins, groups and counts. A reading that helps to find
databases; what it misses costs a find and never a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

from sqlglot import exp

from sensecheck.inputs.guarding import Fault, guarded
from sensecheck.language.sql_parsing import parse_sql

from .schema import Schema, Table, Value

Operator: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "like", "null"]
MOST_HINTS = 400
"""Of each sort that are kept from one query."""
MOST_LIMITED = 8


class Slot(NamedTuple):
    """One use of a table in a query: two uses may be two rows."""

    scope: int
    alias: str
    table: str


class Test(NamedTuple):
    """A column is held against a constant."""

    slot: Slot
    column: int
    operator: Operator
    value: Value


class Join(NamedTuple):
    """Two columns are held against each other."""

    left: Slot
    left_column: int
    right: Slot
    right_column: int


class Limited(NamedTuple):
    """A query that keeps some of its rows."""

    text: str
    whole: str
    """The same without its LIMIT."""
    kept: int
    """Rows up to its last one."""
    sorts: bool


@dataclass(slots=True)
class Hints:
    """Of one query."""

    slots: list[Slot] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    groups: list[tuple[str, int]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    limited: list[Limited] = field(default_factory=list)
    repeated: set[tuple[str, int]] = field(default_factory=set)
    """Columns that make sense in the query only where rows share a value: it counts the rows of their table by them,
    or wants a value of rows that cannot be one row."""
    read: bool = True


_OPERATORS: Mapping[type[Any], Operator] = {
    exp.EQ: "=", exp.NEQ: "!=", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.Is: "=",
    exp.NullSafeEQ: "=", exp.NullSafeNEQ: "!=",
}  # fmt: skip
_TURNED: Mapping[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def read_hints(text: str, schema: Schema, dialect: str) -> Hints:
    """What a query asks about; of one that cannot be read, nothing."""
    hints = guarded("reading the query", _read, text, schema, dialect)
    return Hints(read=False) if isinstance(hints, Fault) else hints


def _read(text: str, schema: Schema, dialect: str) -> Hints:
    hints = Hints()
    statements = [tree for tree in parse_sql(text, dialect) if tree is not None]
    reader = _Reader(hints, schema, dialect)
    for tree in statements:
        reader.read(tree)
        for name in sorted({table.name.lower() for table in tree.find_all(exp.Table)} & set(schema.views)):
            for view in parse_sql(schema.views[name], dialect):
                if view is not None and view.expression is not None:
                    reader.read(view.expression)
    return hints


class _Reader:
    def __init__(self, hints: Hints, schema: Schema, dialect: str) -> None:
        self.hints = hints
        self.tables = {name.lower(): table for name, table in schema.tables.items()}
        self.dialect = dialect
        self.scopes: dict[int, dict[str, Slot]] = {}
        """The sources of every SELECT, by the identity of its node."""
        self.number = 0

    def read(self, tree: Any) -> None:
        for select in tree.find_all(exp.Select):
            self._sources(select)
        for node in tree.walk():
            if len(self.hints.tests) > MOST_HINTS or len(self.hints.joins) > MOST_HINTS:
                return
            self._look(node)

    def _sources(self, select: Any) -> None:
        sources: dict[str, Slot] = {}
        parts = [select.args.get("from_") or select.args.get("from"), *(select.args.get("joins") or ())]
        for part in parts:
            for table in _tables(part):
                known = self.tables.get(table.name.lower())
                if known is not None and len(self.hints.slots) < MOST_HINTS:
                    alias = (table.alias or table.name).lower()
                    slot = Slot(self.number, alias, known.name)
                    sources[alias] = slot
                    self.hints.slots.append(slot)
        self.scopes[id(select)] = sources
        self.number += 1

    def _column(self, node: Any) -> tuple[Slot, int] | None:
        """The column of a table that an expression shows, through what leaves values comparable."""
        while isinstance(
            node, exp.Paren | exp.Cast | exp.Lower | exp.Upper | exp.Trim | exp.Alias | exp.Collate | exp.Abs
        ):
            node = node.this
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        name, qualifier = node.name, node.table.lower()
        select = node.find_ancestor(exp.Select)
        while select is not None:
            sources = self.scopes.get(id(select), {})
            for alias, slot in sources.items():
                if qualifier in ("", alias):
                    place = self._table(slot).place(name)
                    if place is not None:
                        return slot, place
            select = select.find_ancestor(exp.Select)
        return None

    def _table(self, slot: Slot) -> Table:
        return self.tables[slot.table.lower()]

    def _constant(self, node: Any) -> tuple[Value] | None:
        while isinstance(node, exp.Paren | exp.Cast | exp.Lower | exp.Upper):
            node = node.this
        if isinstance(node, exp.Neg):
            inner = self._constant(node.this)
            if inner is not None and isinstance(inner[0], int | float):
                return (-inner[0],)
            return None
        if isinstance(node, exp.Literal):
            return (str(node.this),) if node.is_string else _number(str(node.this))
        if isinstance(node, exp.Boolean):
            return (int(bool(node.this)),)
        if isinstance(node, exp.Null):
            return (None,)
        if (
            isinstance(node, exp.Column)
            and not node.table
            and node.this.args.get("quoted")
            and self.dialect == "sqlite"
        ):
            # SQLite takes a name in double quotes for text where no column is called so.
            return (node.name,) if self._column(node) is None else None
        return None

    def _look(self, node: Any) -> None:
        operator = _OPERATORS.get(type(node))
        if operator is not None:
            self._compared(node, operator)
        elif isinstance(node, exp.Between):
            for bound, side in (("low", ">="), ("high", "<=")):
                self._test(node.this, side, node.args.get(bound))  # type: ignore[arg-type]
        elif isinstance(node, exp.In):
            for item in node.expressions:
                self._test(node.this, "=", item)
            inner = node.args.get("query")
            if inner is not None:
                self._match(node.this, _shown(inner.unnest() if isinstance(inner, exp.Subquery) else inner, 0))
        elif isinstance(node, exp.Like | exp.ILike | exp.Glob):
            self._test(node.this, "like", node.expression)
        elif isinstance(node, exp.SetOperation):
            left, right = _first_select(node.left), _first_select(node.right)
            if left is not None and right is not None:
                for one, other in zip(left.expressions, right.expressions, strict=False):
                    self._match(one, other)
                self._apart(left, right)
        elif isinstance(node, exp.Group):
            columns = [found for item in node.expressions if (found := self._column(item)) is not None]
            self.hints.groups += [(slot.table, place) for slot, place in columns]
            single = len(columns) == len(node.expressions) == 1 and node.parent.find(exp.AggFunc) is not None
            if single and self._only_source(node.parent) is columns[0][0]:
                self.hints.repeated.add((columns[0][0].table, columns[0][1]))
        elif isinstance(node, exp.Join) and node.args.get("using"):
            self._using(node)
        if isinstance(node, exp.Query) and node.args.get("limit") is not None:
            self._limited(node)
        if isinstance(node, exp.Offset):
            number = self._constant(node.expression)
            if number is not None and isinstance(number[0], int):
                self.hints.limits.append(number[0])

    def _only_source(self, select: Any) -> Slot | None:
        """The use of a table that is all that a SELECT reads from."""
        sources = list(self.scopes.get(id(select), {}).values())
        return sources[0] if len(sources) == 1 and not select.args.get("joins") else None

    def _apart(self, left: Any, right: Any) -> None:
        """Two arms show one column of one table, of rows that no row is both of: `x < 3` and `x > 10`."""
        one, other = self._only_source(left), self._only_source(right)
        if one is None or other is None or one.table != other.table or len(left.expressions) != 1:
            return
        shown = [self._column(arm.expressions[0]) for arm in (left, right) if arm.expressions]
        if len(shown) == 2 and shown[0] is not None and shown[1] is not None and shown[0][1] == shown[1][1]:
            tests = [list(self._conditions(arm)) for arm in (left, right)]
            if any(_exclude(first, second) for first in tests[0] for second in tests[1]):
                self.hints.repeated.add((one.table, shown[0][1]))
                self.hints.groups.append((one.table, shown[0][1]))

    def _conditions(self, select: Any) -> Iterator[Test]:
        """The tests of columns that every row of a SELECT passes."""
        where = select.args.get("where")
        for node in where.this.flatten() if where is not None and isinstance(where.this, exp.And) else [where]:
            test = node.this if isinstance(node, exp.Where) else node
            operator = _OPERATORS.get(type(test))
            found = self._column(test.this) if operator is not None else None
            value = self._constant(test.expression) if operator is not None else None
            if operator is not None and found is not None and value is not None:
                yield Test(found[0], found[1], operator, value[0])

    def _limited(self, query: Any) -> None:
        number = self._constant(query.args["limit"].expression)
        if number is None or not isinstance(number[0], int):
            return
        self.hints.limits.append(number[0])
        if len(self.hints.limited) < MOST_LIMITED:
            whole = query.copy()
            whole.set("limit", None)
            offset = query.args.get("offset")
            skipped = self._constant(offset.expression) if offset is not None else None
            kept = number[0] + (skipped[0] if skipped is not None and isinstance(skipped[0], int) else 0)
            sorts = query.args.get("order") is not None
            self.hints.limited.append(
                Limited(query.sql(dialect=self.dialect), whole.sql(dialect=self.dialect), kept, sorts)
            )

    def _using(self, join: Any) -> None:
        select = join.find_ancestor(exp.Select)
        slots = list(self.scopes.get(id(select), {}).values())
        for name in join.args["using"]:
            holders = [(slot, self._table(slot).place(name.name)) for slot in slots]
            places = [(slot, place) for slot, place in holders if place is not None]
            for (left, left_column), (right, right_column) in pairwise(places):
                self.hints.joins.append(Join(left, left_column, right, right_column))

    def _compared(self, node: Any, operator: Operator) -> None:
        left, right = node.this, node.expression
        if self._count(left, right) or self._count(right, left):
            return
        constant = self._constant(right)
        if constant is not None:
            self._test(left, operator, right)
            return
        if self._constant(left) is not None:
            self._test(right, _TURNED.get(operator, operator), left)
            return
        inner = right.unnest() if isinstance(right, exp.Subquery) else None
        self._match(left, _shown(inner, 0) if inner is not None else right)

    def _count(self, counted: Any, against: Any) -> bool:
        """Whether rows are counted and held against a number; other aggregates test their column."""
        if not any(isinstance(node, exp.Count) for node in counted.walk()):
            return False
        constant = self._constant(against)
        if constant is not None and isinstance(constant[0], int):
            self.hints.counts.append(constant[0])
        return True

    def _test(self, column: Any, operator: Operator, constant: Any) -> None:
        if isinstance(column, exp.AggFunc):
            column = column.this
        found = self._column(column)
        value = self._constant(constant) if constant is not None else None
        if found is not None and value is not None:
            if value[0] is None:
                operator = "null"
            self.hints.tests.append(Test(found[0], found[1], operator, value[0]))

    def _match(self, left: Any, right: Any) -> None:
        if left is None or right is None:
            return
        left = left.this if isinstance(left, exp.AggFunc) else left
        right = right.this if isinstance(right, exp.AggFunc) else right
        one, other = self._column(left), self._column(right)
        if one is not None and other is not None:
            self.hints.joins.append(Join(*one, *other))


def _exclude(one: Test, other: Test) -> bool:
    """Whether no value passes both tests."""
    if one.column != other.column or one.value is None or type(one.value) is not type(other.value):
        return False
    if one.operator == other.operator == "=":
        return one.value != other.value
    if one.operator in (">", ">=") and other.operator in ("<", "<="):
        one, other = other, one
    return one.operator in ("<", "<=") and other.operator in (">", ">=") and one.value < other.value  # type: ignore[operator]


def _tables(part: Any) -> Iterator[Any]:
    """The tables that a FROM or JOIN names, not those of queries inside it."""
    if part is None:
        return
    todo = [part.this, *part.expressions] if isinstance(part, exp.From) else [part.this]
    while todo:
        node = todo.pop()
        if isinstance(node, exp.Table):
            if isinstance(node.this, exp.Identifier):
                yield node
            todo += [join.this for join in node.args.get("joins") or ()]
        elif isinstance(node, exp.Paren):
            todo.append(node.this)


def _first_select(node: Any) -> Any:
    while isinstance(node, exp.SetOperation | exp.Subquery):
        node = node.left if isinstance(node, exp.SetOperation) else node.this
    return node if isinstance(node, exp.Select) else None


def _shown(query: Any, place: int) -> Any:
    select = _first_select(query)
    return select.expressions[place] if select is not None and len(select.expressions) > place else None


def _number(text: str) -> tuple[Value] | None:
    if re.fullmatch(r"\d{1,19}", text) and int(text) < 2**63:
        return (int(text),)
    try:
        number = float(text)
    except ValueError:
        return None
    return (number,) if number - number == 0 else None
