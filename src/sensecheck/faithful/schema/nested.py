"""Schemas as nested JSON: `{database: {"tables": {table: {"columns": [{"name", "type", "notnull"}, …], "primary_keys",
"foreign_keys", "ddl", "enhanced_ddl"}}}}`, as NL2SQL-BUGs has them.

Descriptions are the comments in the DDL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sensecheck.faithful.facts import name_of
from sensecheck.faithful.schema.ddl import comments_of
from sensecheck.faithful.schema.describing import describe
from sensecheck.faithful.schema.model import Column, ForeignKey, Schema, Table, plain_type, resolved
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason

Bad = Callable[[str, str, Any], InputError]


def is_nested(document: Any) -> bool:
    """Whether a JSON document is one such schema, or an object of them by their names."""
    if not isinstance(document, Mapping) or "table_names_original" in document:
        return False
    return _is_entry(document) or any(_is_entry(entry) for entry in document.values())


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "tables" in entry and "table_names_original" not in entry


def from_nested(document: Mapping[str, Any], path: str = "schema") -> dict[str, Schema]:
    """All schemas of such a document, by name."""
    entries = {str(document.get("db_id") or ""): document} if _is_entry(document) else document
    schemas: dict[str, Schema] = {}
    for record, (name, entry) in enumerate(entries.items(), 1):

        def bad(field: str, expected: str, got: Any, record: int = record) -> InputError:
            return InputError(
                path=path, record=record, field=field, expected=expected, got=shown(got, 60), reason=Reason.BAD_SCHEMA
            )

        if not _is_entry(entry) or not isinstance(entry["tables"], Mapping):
            got = entry.get("tables", entry) if isinstance(entry, Mapping) else entry
            raise bad(name, "a schema: an object with `tables`, an object of tables by their names", got)
        schemas[name] = _schema(name, entry["tables"], bad)
    return schemas


def _schema(db_id: str, given: Mapping[str, Any], bad: Bad) -> Schema:
    tables: dict[str, Table] = {}
    keys: list[tuple[str, list[ForeignKey]]] = []
    for name, entry in given.items():
        where = f"{db_id}.{name}" if db_id else name
        if not isinstance(entry, Mapping):
            raise bad(where, "a table (an object with `columns`)", entry)
        table = tables[name.lower()] = Table(name, name_of(name))
        for column in _list(entry, "columns", where, bad, needed=True):
            if not isinstance(column, Mapping) or not isinstance(column.get("name"), str):
                raise bad(f"{where}.columns", "an object with `name` (and `type`) for every column", column)
            declared = column.get("type")
            if declared is not None and not isinstance(declared, str):
                raise bad(f"{where}.columns", "`type` as a text", declared)
            text = column["name"]
            table.columns[text.lower()] = Column(
                text, name_of(text), plain_type(declared or ""), nullable=column.get("notnull") is not True
            )
        table.primary_key = tuple(key.lower() for key in _primary_key(entry, where, bad))
        keys.append((name, [_foreign_key(key, where, bad) for key in _list(entry, "foreign_keys", where, bad)]))
        _describe(table, entry)
    pairs = frozenset(pair for name, own in keys for pair in resolved(name, own, tables))
    return Schema(db_id, tables, foreign_keys=pairs).finish()


def _list(entry: Mapping[str, Any], key: str, where: str, bad: Bad, *, needed: bool = False) -> list[Any]:
    items = entry.get(key)
    if items is None and not needed:
        return []
    if not isinstance(items, list):
        raise bad(f"{where}.{key}", "a list", items)
    return items


def _primary_key(entry: Mapping[str, Any], where: str, bad: Bad) -> list[str]:
    key = _list(entry, "primary_keys", where, bad)
    for column in key:
        if not isinstance(column, str):
            raise bad(f"{where}.primary_keys", "the name of a column for every item", column)
    return key


def _foreign_key(key: Any, where: str, bad: Bad) -> ForeignKey:
    parts = [key.get(part) for part in ("from", "to_table", "to_column")] if isinstance(key, Mapping) else [None] * 3
    column, table, to = parts
    if not isinstance(column, str) or not isinstance(table, str) or not (to is None or isinstance(to, str)):
        raise bad(f"{where}.foreign_keys", "an object with `from`, `to_table` and `to_column` for every item", key)
    return ForeignKey((column,), table, (to,) if to else ())


def _describe(table: Table, entry: Mapping[str, Any]) -> None:
    """From comments in the CREATE TABLE text of a table, and from descriptions beside its columns."""
    if isinstance(entry.get("description"), str):
        describe(table, entry["description"])
    for column in entry["columns"]:
        if isinstance(column.get("description"), str):
            describe(table.columns[column["name"].lower()], column["description"])
    texts = (entry[key] for key in ("enhanced_ddl", "ddl") if isinstance(entry.get(key), str))
    said = comments_of(next(texts, "")).get(table.name.lower())
    if said is not None:
        describe(table, *said[0])
        for key, words in said[1].items():
            if key in table.columns:
                describe(table.columns[key], words)
