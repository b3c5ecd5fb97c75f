"""What a database file declares."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sensecheck.stores import Databases
from sensecheck.stores.schemas import Schema

TABLES = [
    "CREATE TABLE Shop (Id INTEGER PRIMARY KEY, Name TEXT)",
    "CREATE TABLE Sale (Shop_Id INTEGER REFERENCES Shop (Id), Day TEXT)",
]
WANTED = Schema({"shop": ("id", "name"), "sale": ("shop_id", "day")}, ((("sale", "shop_id"), ("shop", "id")),))


def test_sqlite(tmp_path: Path) -> None:
    file = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(file)
    for statement in TABLES:
        connection.execute(statement)
    connection.execute("CREATE VIEW named AS SELECT name FROM shop")
    connection.close()
    with Databases(file) as store:
        assert isinstance(store, Databases)
        assert store.schema(str(file)) == WANTED
        assert store.schema(str(tmp_path / "none.sqlite")) is None


def test_keys_that_name_no_column_mean_the_primary_key_and_odd_names_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    connection = sqlite3.connect(file)
    connection.execute('CREATE TABLE "a""b; --" (x INTEGER, y INTEGER, PRIMARY KEY (x, y))')
    connection.execute(
        'CREATE TABLE c (p INTEGER, q INTEGER, r INTEGER REFERENCES nowhere, FOREIGN KEY (p, q) REFERENCES "A""B; --")'
    )
    connection.close()
    with Databases(file) as store:
        assert isinstance(store, Databases)
        schema = store.schema(str(file))
    assert schema is not None
    assert set(schema.foreign_keys) == {(("c", "p"), ('a"b; --', "x")), (("c", "q"), ('a"b; --', "y"))}


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "a.sqlite"
    file.write_bytes(b"SQLite format 3\0" + b"x" * 600)
    with Databases(file) as store:
        assert isinstance(store, Databases)
        assert store.schema(str(file)) is None


def test_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs sensecheck[duckdb]")
    file = tmp_path / "shop.duckdb"
    with duckdb.connect(str(file)) as connection:
        for statement in TABLES:
            connection.execute(statement)
    with Databases(file) as store:
        assert isinstance(store, Databases)
        assert store.schema(str(file)) == WANTED
