"""Which literals of a query find nothing in its database, and what would be found instead."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from sensecheck.faithful.languages.sql_outline import ColumnUse, LiteralUse, Outline
from sensecheck.faithful.stored import MAX_LETTERS, Literal, StoredValues, squeezed

MAX_LITERALS = 40
"""Literals of one query that are looked up."""
MAX_SEARCHED = 80
"""Columns that are searched for a literal which its own column lacks."""


class Lack(NamedTuple):
    """A literal that finds nothing where the query looks for it.

    kind: otherwise, the column has it in another spelling; beside or elsewhere, another column of the query's tables or
    of the database has it; nowhere, no column of text has it; number, it is a number that the column lacks; unlike, no
    value is LIKE it.
    """

    literal: LiteralUse
    kind: str
    instead: str = ""  # the value as it is stored, or the column that holds it


def lacks_of(outline: Outline, stored: StoredValues, name: str) -> list[Lack]:
    """What the literals of a query find nothing of. `name`: the database."""
    stored.check(name)
    lacks: list[Lack] = []
    texts: set[str] = set()  # literals that were found,
    columns: set[tuple[str, str]] = set()  # and columns that hold one of them
    for use in islice(filter(_is_looked_up, outline.literals), MAX_LITERALS):
        column = use.column
        assert column is not None
        lack = _unlike(stored, name, use, column) if use.op == "LIKE" else _lacking(outline, stored, name, use, column)
        if lack is not None:
            lacks.append(lack)
        else:
            texts.add(squeezed(use.text))
            columns.add(column.key)
    return [lack for lack in lacks if not _is_hedged(lack, texts, columns)]


def _is_looked_up(use: LiteralUse) -> bool:
    if use.column is None or not use.direct or use.column.aggregate or use.role not in ("where", "having", "join"):
        return False
    if use.op not in ("=", "!=") and (use.op != "LIKE" or use.negated):
        return False
    return 0 < len(use.text) <= MAX_LETTERS


def _is_hedged(lack: Lack, texts: set[str], columns: set[tuple[str, str]]) -> bool:
    """Of `maker = 'amc' OR model = 'amc'` and `state = 'VA' OR state = 'Virginia'` one is meant to find something."""
    if squeezed(lack.literal.text) in texts:
        return True
    column = lack.literal.column
    return lack.kind in ("nowhere", "number", "unlike") and column is not None and column.key in columns


def _lacking(outline: Outline, stored: StoredValues, name: str, use: LiteralUse, column: ColumnUse) -> Lack | None:
    """A literal that a column is held to be equal to, and does not have."""
    table, place = column.table.name, column.column.name
    values = stored.values(name, table, place)
    if values is None or not values.texts:
        return None
    if stored.holds(name, table, place, Literal(use.text, use.numeric), use.number) is not False:
        return None
    if use.number is not None:
        return Lack(use, "number")
    respelled = values.respelled(use.text)
    if respelled is not None:
        return Lack(use, "otherwise", respelled)
    for other_table, other in islice(_other_columns(outline, column), MAX_SEARCHED):
        held = stored.values(name, other_table, other)
        if held is not None and held.holds(use.text):
            kind = "beside" if other_table.lower() in outline.table_names else "elsewhere"
            return Lack(use, kind, f"{other_table}.{other}")
    return Lack(use, "nowhere")


def _other_columns(outline: Outline, column: ColumnUse) -> Iterator[tuple[str, str]]:
    """Columns of text, those of the query's tables first."""
    tables = sorted(outline.schema.tables.values(), key=lambda table: table.name.lower() not in outline.table_names)
    for table in tables:
        for other in table.columns.values():
            if other.type == "text" and (table.name.lower(), other.name.lower()) != column.key:
                yield table.name, other.name


def _unlike(stored: StoredValues, name: str, use: LiteralUse, column: ColumnUse) -> Lack | None:
    """A pattern that no value of a column fits."""
    table, place = column.table.name, column.column.name
    values = stored.values(name, table, place)
    if values is None or not values.texts:
        return None
    like = stored.is_like(name, table, place, Literal(use.text, use.numeric))
    return Lack(use, "unlike") if like is False else None
