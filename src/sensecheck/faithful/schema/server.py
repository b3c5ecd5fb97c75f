"""The tables of a database on a server, with its keys and comments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensecheck.faithful.facts import name_of
from sensecheck.faithful.schema.describing import describe
from sensecheck.faithful.schema.model import Column, Schema, Table, plain_type

if TYPE_CHECKING:
    from sensecheck.stores import ServerDatabases


def from_server(store: ServerDatabases, file: str, db_id: str) -> Schema:
    """The tables and views of a database that the role may read."""
    tables: dict[str, Table] = {}
    for name, said, column_name, declared, nullable, comment in store.declared(file):
        table = tables.get(name.lower())
        if table is None:
            table = tables[name.lower()] = Table(name, name_of(name))
            describe(table, said)
        column = Column(column_name, name_of(column_name), _kind(declared), nullable=bool(nullable))
        describe(column, comment)
        table.columns[column_name.lower()] = column
    for name, primary in store.primary_keys(file).items():
        if name.lower() in tables:
            tables[name.lower()].primary_key = tuple(column.lower() for column in primary)
    told = store.schema(file)
    return Schema(db_id, tables, foreign_keys=frozenset(() if told is None else told.foreign_keys)).finish()


def _kind(declared: str) -> str:
    plain = declared.partition("(")[0].lower()  # the members of an ENUM say nothing of the type
    if plain.startswith("interval"):
        return "time"
    return "text" if plain.endswith(("range", "]")) or "point" in plain else plain_type(plain)
