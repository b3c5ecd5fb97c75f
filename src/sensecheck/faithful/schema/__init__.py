"""Schemas: which tables and columns a database has, how people call them, and what connects them.

`model` is what a schema knows; each other module reads one form of it, and `loading` picks the reader.
"""

from sensecheck.faithful.schema.ddl import from_create_table
from sensecheck.faithful.schema.duckdb_file import from_duckdb
from sensecheck.faithful.schema.loading import from_database, load_schemas
from sensecheck.faithful.schema.model import Column, Place, Schema, Table
from sensecheck.faithful.schema.nested import from_nested
from sensecheck.faithful.schema.spider import from_spider, spider_entry
from sensecheck.faithful.schema.sqlite_file import from_sqlite

__all__ = [
    "Column",
    "Place",
    "Schema",
    "Table",
    "from_create_table",
    "from_database",
    "from_duckdb",
    "from_nested",
    "from_spider",
    "from_sqlite",
    "load_schemas",
    "spider_entry",
]
