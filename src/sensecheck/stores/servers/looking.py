"""Statements of ours that ask a server what a database holds. They pass the gate like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Looking:
    tables: str
    """The names of tables and views."""
    columns: str
    """Table, column and type of every column, in the order of their declaration."""
    keys: str
    """Table, column, referenced table, referenced column of every foreign key."""
    primary: str
    """Table and column of every primary key, in the order of its columns."""
    some_rows: Callable[[str, Sequence[str], int], str]
    """So many rows of a table, of its name and columns; which, is the server's choice."""
    declared: str
    """Table, its comment, column, type, whether it may be empty, its comment; of every column, those of views too."""
    contents: str
    """Schema, table, column and type of every column that a query may name, in whatever schema."""
    rows: Callable[[str, str, Sequence[str]], str]
    """How many rows a table has, and a sum over what they hold; of its schema, its name and its columns."""
    writable: str = ""
    """How many tables the role may write to; "" where that is known from the start."""


_PG_TABLES = """
SELECT c.relname FROM pg_class c WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(c.oid)
AND c.relnamespace <> 'pg_catalog'::regnamespace AND has_table_privilege(c.oid, 'SELECT')
"""
_PG_COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'm', 'f') AND pg_table_is_visible(c.oid) AND c.relnamespace <> 'pg_catalog'::regnamespace
AND has_table_privilege(c.oid, 'SELECT') ORDER BY c.relname, a.attnum
"""
_PG_DECLARED = """
SELECT c.relname, obj_description(c.oid, 'pg_class'), a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
  col_description(c.oid, a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(c.oid)
AND c.relnamespace <> 'pg_catalog'::regnamespace AND has_table_privilege(c.oid, 'SELECT') ORDER BY c.relname, a.attnum
"""
_PG_CONTENTS = """
SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'm', 'f') AND has_schema_privilege(n.oid, 'USAGE')
AND has_table_privilege(c.oid, 'SELECT') ORDER BY n.nspname, c.relname, a.attnum
"""
_PG_WRITABLE = """
SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND c.relkind IN ('r', 'p')
AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
"""
_PG_KEYS = """
SELECT f.relname, fa.attname, t.relname, ta.attname FROM pg_constraint k
JOIN pg_class f ON f.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS pair (ours, theirs, place)
JOIN pg_attribute fa ON fa.attrelid = k.conrelid AND fa.attnum = pair.ours
JOIN pg_attribute ta ON ta.attrelid = k.confrelid AND ta.attnum = pair.theirs
WHERE k.contype = 'f' AND pg_table_is_visible(f.oid) ORDER BY f.relname, k.conname, pair.place
"""
_PG_PRIMARY = """
SELECT t.relname, a.attname FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid
CROSS JOIN LATERAL unnest(k.conkey) WITH ORDINALITY AS own (number, place)
JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = own.number
WHERE k.contype = 'p' AND pg_table_is_visible(t.oid) ORDER BY t.relname, own.place
"""
_MYSQL_PRIMARY = """
SELECT table_name, column_name FROM information_schema.key_column_usage
WHERE table_schema = DATABASE() AND constraint_name = 'PRIMARY' ORDER BY table_name, ordinal_position
"""
_MYSQL_TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
_MYSQL_COLUMNS = """
SELECT c.table_name, c.column_name, c.column_type FROM information_schema.columns c
JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = DATABASE() AND t.table_type <> 'VIEW' ORDER BY c.table_name, c.ordinal_position
"""
_MYSQL_DECLARED = """
SELECT c.table_name, CASE WHEN t.table_type = 'VIEW' THEN '' ELSE t.table_comment END, c.column_name, c.column_type,
  c.is_nullable = 'YES', c.column_comment
FROM information_schema.columns c
JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = DATABASE() ORDER BY c.table_name, c.ordinal_position
"""
_MYSQL_CONTENTS = """
SELECT c.table_schema, c.table_name, c.column_name, c.column_type FROM information_schema.columns c
JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name
WHERE c.table_schema = DATABASE() AND t.table_type <> 'VIEW' ORDER BY c.table_name, c.ordinal_position
"""
_MYSQL_KEYS = """
SELECT table_name, column_name, referenced_table_name, referenced_column_name FROM information_schema.key_column_usage
WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL
ORDER BY table_name, constraint_name, ordinal_position
"""


def _pg_some_rows(table: str, columns: Sequence[str], most: int) -> str:
    listed = ", ".join(_in_marks(column, '"') for column in columns)
    name = _in_marks(table, '"')
    return f"SELECT {listed} FROM {name} ORDER BY 1 LIMIT {most}"


def _mysql_some_rows(table: str, columns: Sequence[str], most: int) -> str:
    listed = ", ".join(_in_marks(column, "`") for column in columns)
    return f"SELECT {listed} FROM {_in_marks(table, '`')} ORDER BY 1 LIMIT {most}"


def _in_marks(name: str, mark: str) -> str:
    return mark + name.replace(mark, mark * 2) + mark


def _pg_rows(schema: str, table: str, columns: Sequence[str]) -> str:
    name = ".".join(_in_marks(part, '"') for part in (schema, table))
    row = "held"
    while row in columns:  # the name of a column stands for that alone
        row += "_"
    return f"SELECT count(*), sum(hashtextextended({row}::text, 0)::numeric) FROM {name} AS {row}"


def _mysql_rows(schema: str, table: str, columns: Sequence[str]) -> str:
    name = ".".join(_in_marks(part, "`") for part in (schema, table))
    # NULL, and where one cell ends, must count too.
    cells = ", ".join(f"COALESCE(HEX({_in_marks(column, '`')}), '-')" for column in columns)
    return f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', {cells}))) FROM {name}"


# Views that most engines have; where they are not, nothing is known.
_USUAL_TABLES = "SELECT table_name FROM information_schema.tables"
_USUAL_COLUMNS = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema NOT IN ('information_schema', 'INFORMATION_SCHEMA', 'pg_catalog')
ORDER BY table_name, ordinal_position
"""
_NOTHING = "SELECT 1 WHERE 1 = 0"


def _no_some_rows(table: str, columns: Sequence[str], most: int) -> str:
    return _NOTHING


def _no_rows(schema: str, table: str, columns: Sequence[str]) -> str:
    return "SELECT 1"


_LOOKING = {
    "postgresql": Looking(
        _PG_TABLES,
        _PG_COLUMNS,
        _PG_KEYS,
        _PG_PRIMARY,
        _pg_some_rows,
        _PG_DECLARED,
        _PG_CONTENTS,
        _pg_rows,
        _PG_WRITABLE,
    ),
    "connection": Looking(
        _USUAL_TABLES, _USUAL_COLUMNS, _NOTHING, _NOTHING, _no_some_rows, _NOTHING, _NOTHING, _no_rows
    ),
    "mysql": Looking(
        _MYSQL_TABLES,
        _MYSQL_COLUMNS,
        _MYSQL_KEYS,
        _MYSQL_PRIMARY,
        _mysql_some_rows,
        _MYSQL_DECLARED,
        _MYSQL_CONTENTS,
        _mysql_rows,
    ),
}


def looking(engine: str) -> Looking:
    return _LOOKING[engine]
