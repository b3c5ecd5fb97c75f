"""The tables of a DuckDB file, with its keys and comments (COMMENT ON)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sensecheck.faithful.facts import name_of
from sensecheck.faithful.schema.ddl import declared_keys
from sensecheck.faithful.schema.describing import describe
from sensecheck.faithful.schema.model import Column, Schema, Table, plain_type, resolved
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason

MAGIC = b"DUCK"
"""What a file has from its ninth byte on."""

_OURS = "database_name = current_database()"
_OBJECTS = f"""
    SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal AND {_OURS}
    UNION ALL
    SELECT view_name, comment FROM duckdb_views() WHERE NOT internal AND {_OURS}
"""
_COLUMNS = f"""
    SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()
    WHERE NOT internal AND {_OURS} ORDER BY schema_name, table_name, column_index
"""
_KEYS = f"""
    SELECT table_name, constraint_text FROM duckdb_constraints()
    WHERE {_OURS} AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
    ORDER BY schema_name, table_name, constraint_index
"""


def from_duckdb(path: str | Path, db_id: str | None = None) -> Schema:
    """The tables and views of a DuckDB file, opened read-only."""
    duckdb = _duckdb(path)
    try:
        connection = duckdb.connect(
            str(path),
            read_only=True,
            config={
                "threads": 1, "memory_limit": "256MB", "temp_directory": "", "autoinstall_known_extensions": False,
                "autoload_known_extensions": False, "python_enable_replacements": False,
            },
        )  # fmt: skip
        try:
            objects, columns, keys = (connection.execute(query).fetchall() for query in (_OBJECTS, _COLUMNS, _KEYS))
        finally:
            connection.close()
    except (duckdb.Error, RuntimeError, UnicodeDecodeError) as error:
        newer = "newer" in str(error)  # DuckDB says so of files that a later version has written
        raise InputError(
            path=str(path), expected="a DuckDB database",
            got="one of a newer version than the DuckDB that is installed" if newer else "a damaged one, or one in use",
            hint="Test it with: duckdb -readonly FILE 'SHOW TABLES'.", reason=Reason.BAD_SCHEMA,
        ) from None  # fmt: skip
    return _schema(db_id or Path(path).stem, objects, columns, keys)


def _duckdb(path: str | Path) -> Any:
    try:
        import duckdb
    except ImportError:
        raise InputError(
            "reading a DuckDB file needs the extra `duckdb`: pip install 'sensecheck[duckdb]'", path=str(path),
            field="schema", reason=Reason.BAD_SCHEMA,
        ) from None  # fmt: skip
    return duckdb


def _schema(db_id: str, objects: list[Any], columns: list[Any], keys: list[Any]) -> Schema:
    tables: dict[str, Table] = {}
    for name, comment in objects:
        table = tables[name.lower()] = Table(name, name_of(name))
        describe(table, comment)
    for name, column_name, declared, nullable, comment in columns:
        owner = tables.get(name.lower())
        if owner is not None:
            column = Column(column_name, name_of(column_name), _kind(declared), nullable=nullable is not False)
            describe(column, comment)
            owner.columns[column_name.lower()] = column
    read = [(name, *declared_keys(text or "")) for name, text in keys]  # older versions have it as text alone
    for name, primary, _ in read:
        if primary and name.lower() in tables:
            tables[name.lower()].primary_key = primary
    pairs = {pair for name, _, foreign in read for pair in resolved(name, foreign, tables)}
    return Schema(db_id, tables, foreign_keys=frozenset(pairs)).finish()


def _kind(declared: str | None) -> str:
    return plain_type((declared or "").partition("(")[0])  # the members of an ENUM say nothing of the type
