"""Databases of Spider, brought from SQLite to a server as somebody would who moves an application there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.servers.running import Postgres, Server

_TYPES = {"postgresql": ("bigint", "double precision", "text"), "mariadb": ("bigint", "double", "text")}


def bring(server: Server, file: Path, name: str) -> int:
    """Make a database of that name with the tables and rows of a SQLite file; how many rows it has.

    Names are in small letters. A column is of whole numbers where all its values are, of numbers where all are, or of
    text: SQLite lets a column hold anything, servers do not.
    """
    server.create(name)
    rows = 0
    connection = server.connect(name)
    source = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    source.text_factory = lambda raw: raw.decode("utf-8", "replace")
    with closing(source), closing(connection), connection.cursor() as cursor:
        for statement, values in _tables(source, server):
            cursor.execute(statement[0])
            if values:
                cursor.executemany(statement[1], values)
                rows += len(values)
    return rows


def _tables(source: sqlite3.Connection, server: Server) -> Iterator[tuple[tuple[str, str], list[tuple[Any, ...]]]]:
    mark = '"' if isinstance(server, Postgres) else "`"
    names = [row[0] for row in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in names:
        if table.startswith("sqlite_"):
            continue
        quoted = '"' + table.replace('"', '""') + '"'
        columns = [str(row[1]) for row in source.execute(f"PRAGMA table_info({quoted})")]
        values = source.execute(f"SELECT * FROM {quoted}").fetchall()
        types = [_type([row[place] for row in values], server.name) for place in range(len(columns))]
        text = _TYPES[server.name][2]
        declared = ", ".join(
            f"{mark}{column.lower()}{mark} {kind}" for column, kind in zip(columns, types, strict=True)
        )
        told = f"{mark}{table.lower()}{mark}"
        kept = [
            tuple([cell if cell is None or kind != text else str(cell) for cell, kind in zip(row, types, strict=True)])
            for row in values
        ]
        marks = ", ".join(["%s"] * len(columns))
        yield (f"CREATE TABLE {told} ({declared})", f"INSERT INTO {told} VALUES ({marks})"), kept


def _type(values: list[Any], server: str) -> str:
    whole, real, text = _TYPES[server]
    there = [value for value in values if value is not None]
    if there and all(isinstance(value, int) for value in there):
        return whole
    return real if there and all(isinstance(value, int | float) for value in there) else text
