"""What a gold query does with which columns: compared with what, joined on what, sorted by what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot import exp

from sensecheck.correct.audit.schema import Place, Schema
from sensecheck.inputs.guarding import guarded
from sensecheck.language.sql_parsing import parse_sql

_EQUAL = (exp.EQ, exp.NEQ, exp.In)
_ORDERED = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


class Compared(NamedTuple):
    """A text that a column is held against by equality."""

    place: Place
    text: str


@dataclass(slots=True)
class Outline:
    tree: exp.Expression
    tables: set[str] = field(default_factory=set)
    compared: list[Compared] = field(default_factory=list)
    joins: list[tuple[Place, Place]] = field(default_factory=list)
    by_size: dict[Place, list[exp.Column]] = field(default_factory=dict)
    """Columns that are sorted by, held against something by size, or of which the least or greatest is taken."""
    bare: list[exp.Column] = field(default_factory=list)
    """Shown columns that are neither grouped by nor aggregated, where rows are put together."""

    @property
    def select(self) -> exp.Select | None:
        return self.tree if isinstance(self.tree, exp.Select) else None

    @property
    def lists_rows(self) -> bool:
        """Whether the outer query lists what it finds, row by row."""
        select = self.select
        return (
            select is not None
            and not any(select.args.get(part) for part in ("group", "distinct", "limit"))
            and not (_aggregates(select))
        )


def outline_of(sql: str, schema: Schema, dialect: str) -> Outline | None:
    """None where the query cannot be read."""
    found = guarded("reading the gold query", _outline, sql, schema, dialect)
    return found if isinstance(found, Outline) else None


def _outline(sql: str, schema: Schema, dialect: str) -> Outline | None:
    tree = next(iter(parse_sql(sql, dialect)), None)
    if tree is None:
        return None
    outline = Outline(tree)
    places: dict[int, Place] = {}
    for column in tree.find_all(exp.Column):
        place = _place(column, schema)
        if place is not None:
            places[id(column)] = place
    outline.tables = {t.name.lower() for t in tree.find_all(exp.Table) if t.name.lower() in schema.tables}
    for condition in tree.find_all(*_EQUAL):
        _add_equality(outline, condition, places)
    for part in tree.find_all(*_ORDERED, exp.Min, exp.Max, exp.Ordered):
        for side in (part.args.get("this"), part.args.get("expression")):
            if isinstance(side, exp.Column) and id(side) in places:
                outline.by_size.setdefault(places[id(side)], []).append(side)
    if outline.select is not None:
        outline.bare = list(_bare(outline.select))
    return outline


def _add_equality(outline: Outline, condition: exp.Expression, places: dict[int, Place]) -> None:
    left = condition.this
    if isinstance(condition, exp.In):
        others = list(condition.expressions)
    else:
        others = [condition.args.get("expression")]
        if not (isinstance(left, exp.Column) and id(left) in places):
            left, others = others[0], [left]
    if not (isinstance(left, exp.Column) and id(left) in places):
        return
    place = places[id(left)]
    for other in others:
        if isinstance(other, exp.Column) and id(other) in places:
            if isinstance(condition, exp.EQ) and left.table.lower() != other.table.lower():
                outline.joins.append((place, places[id(other)]))
        elif (text := _text_of(other)) is not None:
            outline.compared.append(Compared(place, text))


def _text_of(part: Any) -> str | None:
    """The text of a literal; SQLite takes a quoted name that is no column for one."""
    if isinstance(part, exp.Literal) and part.is_string:
        return str(part.this)
    if isinstance(part, exp.Column) and not part.table and isinstance(part.this, exp.Identifier) and part.this.quoted:
        return str(part.name)
    return None


def _place(column: exp.Column, schema: Schema) -> Place | None:
    """The column of the schema that is meant: by its table's name or alias, or the only one of that name in reach."""
    name = column.name.lower()
    scope = column.find_ancestor(exp.Select)
    while scope is not None:
        sources = dict(_sources(scope))
        if column.table:
            table = sources.get(column.table.lower())
            if table is not None:
                return (table, name) if table in schema.tables and name in schema.tables[table].columns else None
        else:
            held = [t for t in sources.values() if t in schema.tables and name in schema.tables[t].columns]
            if held:
                return (held[0], name)
        scope = scope.find_ancestor(exp.Select)
    return None


def _sources(select: exp.Select) -> Iterator[tuple[str, str]]:
    start = select.args.get("from") or select.args.get("from_")
    for part in [start, *(select.args.get("joins") or ())]:
        table = part.this if part is not None else None
        if isinstance(table, exp.Table):
            yield (table.alias or table.name).lower(), table.name.lower()


def _aggregates(select: exp.Select) -> list[exp.AggFunc]:
    return [found for shown in select.expressions for found in shown.find_all(exp.AggFunc)]


def _bare(select: exp.Select) -> Iterator[exp.Column]:
    """Columns that show whichever row of their group comes first. With one MIN or MAX it is that row, in SQLite."""
    group, aggregates = select.args.get("group"), _aggregates(select)
    having = select.args.get("having")
    if not group and not aggregates:
        return
    sized = [*aggregates, *(having.find_all(exp.AggFunc) if having else ())]
    if sum(isinstance(one, exp.Min | exp.Max) for one in sized) == 1:
        return
    grouped = {(key.table.lower(), key.name.lower()) for key in (group.expressions if group else ()) if
               isinstance(key, exp.Column)}  # fmt: skip
    for shown in select.expressions:
        column = shown.unalias()
        shows = isinstance(column, exp.Column) and not isinstance(column.this, exp.Star)
        if shows and (column.table.lower(), column.name.lower()) not in grouped:
            yield column
