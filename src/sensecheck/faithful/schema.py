"""Schemas: which tables and columns a database has, and how people call them.

Read from Spider's tables.json, a SQLite file, or CREATE TABLE text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensecheck.faithful.facts import Name, name_of
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason


@dataclass(slots=True)
class Column:
    name: str
    natural: Name
    type: str = ""


@dataclass(slots=True, eq=False)
class Table:
    name: str
    natural: Name
    columns: dict[str, Column] = field(default_factory=dict)


@dataclass(slots=True)
class Schema:
    """Tables by lower-cased name."""

    db_id: str
    tables: dict[str, Table] = field(default_factory=dict)
    vocabulary: frozenset[str] = frozenset()  # stems of all words in all names
    entities: frozenset[str] = frozenset()  # stems of the words that name tables

    def finish(self) -> Schema:
        stems: set[str] = set()
        for table in self.tables.values():
            stems.update(table.natural.stems, name_of(table.name).stems)
            for column in table.columns.values():
                stems.update(column.natural.stems, name_of(column.name).stems)
        self.vocabulary = frozenset(stems)
        self.entities = frozenset(s for table in self.tables.values() for s in table.natural.stems)
        return self


def _plain_type(declared: str) -> str:
    low = declared.lower()
    if any(word in low for word in ("int", "num", "real", "float", "double", "dec", "money")):
        return "number"
    if "date" in low or "time" in low:
        return "time"
    if "bool" in low or low == "bit":
        return "boolean"
    return "text"


def spider_entry(entry: Any, path: str = "schema", record: int = 1) -> Mapping[str, Any]:
    """An entry of Spider's tables.json, once everything in it is as it should be; else an InputError."""

    def bad(expected: str, got: Any, field: str | None = None) -> InputError:
        return InputError(
            path=path, record=record, field=field, expected=expected, got=shown(got, 60), reason=Reason.BAD_SCHEMA
        )

    if not isinstance(entry, Mapping):
        raise bad("a schema as in Spider's tables.json (an object)", entry)
    for key in ("table_names_original", "column_names_original"):
        if key not in entry:
            raise InputError(
                path=path, record=record,
                expected=f"a schema as in Spider's tables.json (db_id, {key}, …)",
                got=f"the keys {', '.join(shown(name, 30) for name in list(entry)[:8])}" if entry else "no keys",
                reason=Reason.BAD_SCHEMA,
            )  # fmt: skip
    tables = entry["table_names_original"]
    lists: list[tuple[str, int | None]] = [("table_names_original", None), ("column_names_original", None)]
    lists += [("table_names", len(tables))] if "table_names" in entry and isinstance(tables, list) else []
    columns = entry["column_names_original"]
    if isinstance(columns, list):
        lists += [("column_names", len(columns))] if "column_names" in entry else []
        lists += [("column_types", len(columns))] if entry.get("column_types") else []
    for key, length in lists:
        is_pairs = key.startswith("column_names")
        items = entry[key]
        what = "[number of the table, name]" if is_pairs else "a text"
        if not isinstance(items, list):
            raise bad(f"a list, each item {what}", items, key)
        for item in items:
            right = _is_column(item, len(tables)) if is_pairs else isinstance(item, str)
            if not right:
                raise bad(
                    f"{what} for every item" + (f", tables 0 to {len(tables) - 1}" if is_pairs else ""), item, key
                )
        if length is not None and len(items) != length:
            raise InputError(
                path=path, record=record, field=key, expected=f"{length} items, as many as in {key}_original"
                if key != "column_types" else f"{length} items, one for each column", got=str(len(items)),
                reason=Reason.BAD_SCHEMA,
            )  # fmt: skip
    return entry


def _is_column(item: Any, tables: int) -> bool:
    if not isinstance(item, list | tuple) or len(item) != 2:
        return False
    table, name = item
    return isinstance(table, int) and not isinstance(table, bool) and -1 <= table < tables and isinstance(name, str)


def from_spider(entry: Mapping[str, Any]) -> Schema:
    """One entry of Spider's tables.json."""
    originals = entry["table_names_original"]
    naturals = entry.get("table_names", originals)
    tables = [Table(o, name_of(n)) for o, n in zip(originals, naturals, strict=True)]
    types = entry.get("column_types") or ["text"] * len(entry["column_names_original"])
    rows = zip(
        entry["column_names_original"], entry.get("column_names", entry["column_names_original"]), types, strict=True
    )
    for (index, original), (_, natural), kind in rows:
        if index >= 0:
            tables[index].columns[original.lower()] = Column(original, name_of(natural), kind)
    return Schema(str(entry.get("db_id", "")), {t.name.lower(): t for t in tables}).finish()


def from_tables(db_id: str, tables: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> Schema:
    """From (table, [(column, declared type), …])."""
    tables_by_name: dict[str, Table] = {}
    for name, columns in tables:
        table = Table(name, name_of(name))
        for column, declared in columns:
            table.columns[column.lower()] = Column(column, name_of(column), _plain_type(declared))
        tables_by_name[name.lower()] = table
    return Schema(db_id, tables_by_name).finish()


def from_sqlite(path: str | Path, db_id: str | None = None) -> Schema:
    """The tables of a SQLite file, opened read-only."""
    uri = Path(path).resolve().as_uri() + "?mode=ro"
    connection = sqlite3.connect(uri, uri=True)
    try:
        names = [
            row[0]
            for row in connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table','view') AND name NOT LIKE 'sqlite_%'"
            )
        ]
        tables = []
        for name in names:
            quoted = name.replace('"', '""')
            columns = [(row[1], row[2] or "") for row in connection.execute(f'PRAGMA table_info("{quoted}")')]
            tables.append((name, columns))
    finally:
        connection.close()
    return from_tables(db_id or Path(path).stem, tables)


def from_create_table(text: str, db_id: str = "", dialect: str | None = None) -> Schema:
    """From CREATE TABLE statements in any dialect that sqlglot reads."""
    import sqlglot
    from sqlglot import exp

    tables = []
    for statement in sqlglot.parse(text, read=dialect):
        if not isinstance(statement, exp.Create) or statement.kind != "TABLE":
            continue
        columns = [
            (c.name, c.args["kind"].sql() if c.args.get("kind") else "") for c in statement.find_all(exp.ColumnDef)
        ]
        table = statement.find(exp.Table)
        if table is not None:
            tables.append((table.name, columns))
    return from_tables(db_id, tables)
