"""From whatever a user calls a schema to schemas: each form goes to the reader that knows it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sensecheck.faithful.schema import duckdb_file, sqlite_file
from sensecheck.faithful.schema.bird import FOLDER, from_descriptions, is_data
from sensecheck.faithful.schema.ddl import from_create_table
from sensecheck.faithful.schema.model import Schema, merged
from sensecheck.faithful.schema.nested import from_nested, is_nested
from sensecheck.faithful.schema.spider import from_spider, spider_entry
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.json_arrays import read_document
from sensecheck.inputs.reasons import Reason

_ENDINGS = (".sqlite", ".sqlite3", ".db", ".duckdb")
_HINT = (
    "Give tables.json, a SQLite or DuckDB file, a folder of them (with BIRD's descriptions or without), or a .sql file "
    "with CREATE TABLE."
)


def load_schemas(given: Any, dialect: str | None = None) -> dict[str, Schema] | Schema | None:
    """Schemas from files or objects of any form that is known; several are put together, the first in charge.

    The first that knows a database says which tables and columns it has; what the others know of it is added.
    """
    if given is None or isinstance(given, Schema):
        return given
    if isinstance(given, Mapping):
        if "table_names_original" in given:
            return _spider([given], "schema")
        return from_nested(given) if is_nested(given) else _named(given)
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], Mapping):
        return _spider(given, "schema")
    if isinstance(given, (list, tuple)):
        return _together(given, dialect)
    if not os.fspath(given):
        raise InputError(field="schema", expected="a file or folder", got="''", hint=_HINT, reason=Reason.BAD_OPTION)
    path = Path(given)
    return _folder(path) if path.is_dir() else _file(path, dialect)


def _named(given: Mapping[Any, Any]) -> dict[str, Schema]:
    """Schemas that are there already, by their names."""
    for name, schema in given.items():
        if not isinstance(schema, Schema):
            raise InputError(
                field="schema", expected="a Schema for every name, or an object as in Spider's tables.json",
                got=f"{shown(name, 40)}: {shown(schema, 60)}", reason=Reason.BAD_SCHEMA,
            )  # fmt: skip
    return dict(given)


def _together(given: Sequence[Any], dialect: str | None) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    # Descriptions alone are never in charge, wherever they stand: they leave columns out, and have typing errors.
    for item in sorted(given, key=_describes):
        part = load_schemas(item, dialect)
        for name, schema in ({part.db_id: part} if isinstance(part, Schema) else part or {}).items():
            home = name
            if _describes(item) and name not in schemas:
                home = _described_by(schema, schemas) or name
            schemas[home] = merged(schemas[home], schema) if home in schemas else schema
    return schemas


def _describes(given: Any) -> bool:
    """Whether this is a folder of descriptions and nothing else."""
    return isinstance(given, (str, os.PathLike)) and Path(given).resolve().name == FOLDER


def _described_by(descriptions: Schema, schemas: Mapping[str, Schema]) -> str | None:
    """The one schema that has all tables of some descriptions, where the folder around them is called otherwise."""
    fitting = [name for name, schema in schemas.items() if descriptions.tables.keys() <= schema.tables.keys()]
    return fitting[0] if len(fitting) == 1 else None


def _folder(path: Path) -> dict[str, Schema] | Schema:
    """A folder of databases, one database's folder, or one of BIRD's descriptions."""
    if path.resolve().name == FOLDER:
        return from_descriptions(path)
    found = [file for file in sorted(path.rglob("*")) if is_data(file.relative_to(path))]
    databases = [file for file in found if file.suffix in _ENDINGS and file.is_file()]
    schemas = {file.stem: from_database(file) for file in databases}
    homes = {file.parent for file in databases}
    for folder in found:
        if folder.name == FOLDER and folder.parent not in homes and folder.is_dir():
            schema = from_descriptions(folder)
            schemas[schema.db_id] = schema
    if not schemas:
        raise InputError(
            path=str(path), expected="SQLite or DuckDB files, or BIRD's descriptions, in this folder", got="none",
            reason=Reason.NO_SCHEMA,
        )  # fmt: skip
    return schemas


def _file(path: Path, dialect: str | None) -> dict[str, Schema] | Schema:
    try:
        with path.open("rb") as stream:
            start = stream.read(16)
        if start == sqlite_file.MAGIC or start[8:12] == duckdb_file.MAGIC:
            return from_database(path)
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None
    if path.suffix == ".json":
        document = read_document(content, str(path), "Spider's tables.json (a list of schemas)")
        if is_nested(document):
            return from_nested(document, str(path))
        return _spider(document if isinstance(document, list) else [document], str(path))
    schema = from_create_table(content.decode("utf-8", "replace"), path.stem, dialect)
    if not schema.tables:
        raise InputError(
            path=str(path), field="schema", expected="CREATE TABLE statements", got="text that holds none", hint=_HINT,
            reason=Reason.BAD_SCHEMA,
        )  # fmt: skip
    return schema


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(
        f"cannot be read ({error.strerror})", path=str(path), field="schema", hint=_HINT, reason=Reason.NO_SCHEMA
    )


def _spider(entries: Sequence[Any], path: str) -> dict[str, Schema]:
    schemas: dict[str, Schema] = {}
    if not entries:
        raise InputError(
            path=path, expected="a schema as in Spider's tables.json, or a list of them", got="an empty list",
            reason=Reason.BAD_SCHEMA,
        )  # fmt: skip
    for record, entry in enumerate(entries, 1):
        schema = from_spider(spider_entry(entry, path, record), path, record)
        schemas[schema.db_id] = schema
    return schemas


def from_database(path: Path) -> Schema:
    """A database file, and the descriptions that lie beside it."""
    try:
        with path.open("rb") as stream:
            is_duckdb = stream.read(12)[8:] == duckdb_file.MAGIC
    except OSError as error:
        raise _unreadable(path, error) from None
    schema = duckdb_file.from_duckdb(path) if is_duckdb else _sqlite(path)
    beside = path.parent / FOLDER
    return merged(schema, from_descriptions(beside)) if beside.is_dir() else schema


def _sqlite(path: Path) -> Schema:
    try:
        return sqlite_file.from_sqlite(path)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if "locked" in str(error):
            raise InputError(
                path=str(path), expected="a SQLite database that can be read", got="one that another program locks",
                hint="Wait until that is done, or give a copy.", reason=Reason.BAD_SCHEMA,
            ) from None  # fmt: skip
        raise InputError(
            path=str(path), expected="a SQLite database", got="a damaged one, or another kind of file",
            hint="Test it with: sqlite3 FILE 'PRAGMA integrity_check'.", reason=Reason.BAD_SCHEMA,
        ) from None  # fmt: skip
