"""Spider's tables.json, and BIRD's, which is the same with keys of several columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sensecheck.faithful.facts import name_of
from sensecheck.faithful.schema.model import Column, Place, Schema, Table
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason


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


def from_spider(entry: Mapping[str, Any], path: str = "schema", record: int = 1) -> Schema:
    """One entry of Spider's tables.json that `spider_entry` has found right; its keys are checked here."""
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
    columns: list[Place | None] = [
        (originals[index].lower(), name.lower()) if index >= 0 else None
        for index, name in entry["column_names_original"]
    ]
    by_name = {table.name.lower(): table for table in tables}
    for table, column in _primary_keys(entry.get("primary_keys"), columns, path, record):
        if column not in by_name[table].primary_key:
            by_name[table].primary_key += (column,)
    keys = frozenset(_foreign_keys(entry.get("foreign_keys"), columns, path, record))
    return Schema(str(entry.get("db_id", "")), by_name, foreign_keys=keys).finish()


def _primary_keys(given: Any, columns: list[Place | None], path: str, record: int) -> Iterator[Place]:
    what = "a number of a column, or a list of them for a key of several"
    for item in _items(given, "primary_keys", what, path, record):
        numbers = item if isinstance(item, list) else [item]
        places = [_column(number, columns) for number in numbers]
        if None in places:
            raise _bad_key("primary_keys", what, columns, item, path, record)
        yield from (place for place in places if place is not None)


def _foreign_keys(given: Any, columns: list[Place | None], path: str, record: int) -> Iterator[tuple[Place, Place]]:
    what = "[number of a column, number of the column that it refers to]"
    for item in _items(given, "foreign_keys", what, path, record):
        places = [_column(number, columns) for number in item] if isinstance(item, list) and len(item) == 2 else [None]
        if None in places:
            raise _bad_key("foreign_keys", what, columns, item, path, record)
        refers, to = places
        if refers is not None and to is not None:
            yield refers, to


def _items(given: Any, field: str, what: str, path: str, record: int) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, list):
        raise InputError(
            path=path, record=record, field=field, expected=f"a list, each item {what}", got=shown(given, 60),
            reason=Reason.BAD_SCHEMA,
        )  # fmt: skip
    return given


def _column(number: Any, columns: list[Place | None]) -> Place | None:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(columns):
        return None
    return columns[number]  # None of `*`, which is of no table


def _bad_key(field: str, what: str, columns: list[Place | None], got: Any, path: str, record: int) -> InputError:
    first = next((i for i, column in enumerate(columns) if column is not None), 0)
    return InputError(
        path=path, record=record, field=field, expected=f"{what} for every item, columns {first} to {len(columns) - 1}",
        got=shown(got, 60), reason=Reason.BAD_SCHEMA,
    )  # fmt: skip
