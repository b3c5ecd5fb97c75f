"""The tables of a SQLite file, with its keys and the comments that its CREATE TABLE texts have kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sensecheck.faithful.facts import name_of
from sensecheck.faithful.schema.ddl import comments_of
from sensecheck.faithful.schema.describing import describe
from sensecheck.faithful.schema.model import Column, ForeignKey, Schema, Table, plain_type, resolved

MAGIC = b"SQLite format 3\x00"


def from_sqlite(path: str | Path, db_id: str | None = None) -> Schema:
    """The tables and views of a SQLite file, opened read-only."""
    uri = Path(path).resolve().as_uri() + "?mode=ro"
    connection = sqlite3.connect(uri, uri=True)
    tables: dict[str, Table] = {}
    keys: dict[str, list[ForeignKey]] = {}
    try:
        rows = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type IN ('table','view') AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for name, text in rows:
            try:
                tables[name.lower()] = _table(connection, name, text)
                keys[name] = _foreign_keys(connection, name)
            except sqlite3.OperationalError as error:
                # A view of a table that is gone, a table of a module that is not there: SQLite has no columns of it.
                if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                    raise
    finally:
        connection.close()
    pairs = frozenset(pair for name, own in keys.items() for pair in resolved(name, own, tables))
    return Schema(db_id or Path(path).stem, tables, foreign_keys=pairs).finish()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _table(connection: sqlite3.Connection, name: str, text: str | None) -> Table:
    table = Table(name, name_of(name))
    ranks: dict[str, int] = {}
    for _, column, declared, needed, _, rank in connection.execute(f"PRAGMA table_info({_quoted(name)})"):
        table.columns[column.lower()] = Column(column, name_of(column), plain_type(declared or ""), nullable=not needed)
        if rank:
            ranks[column.lower()] = rank
    table.primary_key = tuple(sorted(ranks, key=ranks.__getitem__))
    for of_table, of_columns in comments_of(text, "sqlite").values() if isinstance(text, str) else ():
        describe(table, *of_table)
        for key, said in of_columns.items():
            if key in table.columns:
                describe(table.columns[key], said)
    return table


def _foreign_keys(connection: sqlite3.Connection, name: str) -> list[ForeignKey]:
    parts: dict[int, tuple[str, list[str], list[str]]] = {}
    for number, _, other, column, to, *_ in connection.execute(f"PRAGMA foreign_key_list({_quoted(name)})"):
        _, columns, targets = parts.setdefault(number, (other, [], []))
        columns.append(column)
        if to is not None:  # the primary key is meant
            targets.append(to)
    return [ForeignKey(tuple(columns), other, tuple(targets)) for other, columns, targets in parts.values()]
