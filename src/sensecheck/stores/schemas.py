"""What a database file declares: the tables in it with their columns, and its foreign keys."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from .outcomes import Answer, Outcome, Request
from .sql_gate import quoted

Place: TypeAlias = "tuple[str, str]"
"""A column of a table, both in small letters."""


@dataclass(slots=True, frozen=True)
class Schema:
    """Tables by name with their columns, all in small letters, in the order in which the file declares them."""

    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    foreign_keys: tuple[tuple[Place, Place], ...] = ()
    """(What refers, what it refers to)."""


def sqlite_schema(file: str) -> Schema | None:
    """Of a SQLite file, opened read-only; None where it cannot be read. Views are no tables."""
    try:
        with closing(sqlite3.connect(f"{Path(file).resolve().as_uri()}?mode=ro", uri=True)) as connection:
            names = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            columns = {name: _sqlite_columns(connection, name) for name in names}
            keys = [key for name in names for key in _sqlite_keys(connection, name, columns)]
    except (sqlite3.Error, OSError, UnicodeDecodeError):
        return None
    tables = {name.lower(): tuple([column for column, _ in own]) for name, own in columns.items()}
    return Schema(tables, tuple(keys))


def _sqlite_columns(connection: sqlite3.Connection, table: str) -> list[tuple[str, int]]:
    """The columns of a table, each with its place in the primary key, or 0."""
    rows = connection.execute(f"PRAGMA table_info({quoted(table)})")
    return [(str(row[1]).lower(), int(row[5])) for row in rows]


def _sqlite_keys(
    connection: sqlite3.Connection, table: str, columns: Mapping[str, list[tuple[str, int]]]
) -> list[tuple[Place, Place]]:
    keys = []
    # The last one declared comes first.
    rows = sorted(connection.execute(f"PRAGMA foreign_key_list({quoted(table)})"), key=lambda row: (-row[0], row[1]))
    for _, place, other, column, target, *_ in rows:
        if target is None:  # the primary key is meant
            own = next((each for name, each in columns.items() if name.lower() == other.lower()), [])
            primary = sorted([(rank, name) for name, rank in own if rank])
            if place >= len(primary):
                continue
            target = primary[place][1]
        keys.append(((table.lower(), str(column).lower()), (str(other).lower(), str(target).lower())))
    return keys


_DUCKDB_COLUMNS = (
    "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal ORDER BY table_oid, column_index"
)
_DUCKDB_KEYS = """
SELECT table_name, unnest(constraint_column_names), referenced_table, unnest(referenced_column_names)
FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' ORDER BY table_oid, constraint_index
"""


def duckdb_schema(execute: Callable[[Request], Outcome], file: str) -> Schema | None:
    """Of a DuckDB file, asked like any other question; None where it does not say."""
    columns = execute(Request(_DUCKDB_COLUMNS, file))
    if not isinstance(columns, Answer):
        return None
    tables: dict[str, tuple[str, ...]] = {}
    for table, column in columns.rows:
        name = str(table).lower()
        tables[name] = (*tables.get(name, ()), str(column).lower())
    keys = execute(Request(_DUCKDB_KEYS, file))
    rows = keys.rows if isinstance(keys, Answer) else []
    named = [tuple([str(cell).lower() for cell in row]) for row in rows]
    return Schema(tables, tuple([((row[0], row[1]), (row[2], row[3])) for row in named]))
