"""A database that cannot be the right one, or that cannot be read now, is told before anything is scored."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sensecheck.cli import main
from sensecheck.correct import evaluate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import StoreError

NO_INTERVALS = IntervalOptions(method="none")


def database(path: Path, *tables: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as connection:
        for table in tables:
            connection.execute(f'CREATE TABLE "{table}" (a INTEGER)')
            connection.execute(f'INSERT INTO "{table}" VALUES (1)')
        connection.execute("CREATE VIEW seen AS SELECT 1 AS a")
    connection.close()
    return path


def records(*golds: str, db_id: str | None = None) -> list[dict[str, Any]]:
    named = {} if db_id is None else {"db_id": db_id}
    return [{"id": str(i), "gold": gold, "prediction": gold, **named} for i, gold in enumerate(golds)]


def evaluated(rows: list[dict[str, Any]], path: Path) -> list[Any]:
    return evaluate(rows, database=path, options=NO_INTERVALS, workers=1).measurements["correct"].to_list()


def test_tables_that_are_not_there(tmp_path: Path) -> None:
    world = database(tmp_path / "world.sqlite", "city", "country")
    golds = ["SELECT a FROM singer", "SELECT a FROM concert JOIN singer", "SELECT a FROM city"]
    with pytest.raises(StoreError) as told:
        evaluated(records(*golds), world)
    message = str(told.value)
    assert str(world) in message
    assert "2 of 3 gold queries looked at ask for tables that are not there (singer, concert)" in message
    assert "it has city, country, seen" in message


def test_a_few_missing_tables_leave_their_records_unscored(tmp_path: Path) -> None:
    world = database(tmp_path / "world.sqlite", "city", "country")
    golds = ["SELECT a FROM singer", "SELECT a FROM CITY", "SELECT a FROM main.country"]
    assert evaluated(records(*golds), world) == [None, True, True]


def test_what_a_query_makes_itself_is_there(tmp_path: Path) -> None:
    path = database(tmp_path / "d.sqlite", "t", "odd name")
    golds = [
        "WITH x AS (SELECT a FROM t), y AS (SELECT a FROM x) SELECT a FROM y",
        "SELECT a FROM seen",
        "SELECT value FROM json_each('[1]')",
        "SELECT name FROM sqlite_master WHERE type = 'index'",
        'SELECT s.a FROM (SELECT a FROM "odd name") AS s',
        "SELECT a FROM [odd name]",
        "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n WHERE a < 3) SELECT a FROM n",
    ]
    assert evaluated(records(*golds), path) == [True] * 7


def test_golds_that_cannot_be_read_say_nothing(tmp_path: Path) -> None:
    path = database(tmp_path / "d.sqlite", "t")
    assert evaluated(records("SELEKT x FROM nowhere", "SELECT FROM FROM", "SELECT 1"), path) == [None, None, True]


def test_a_name_that_is_not_the_file(tmp_path: Path) -> None:
    world = database(tmp_path / "world.sqlite", "city")
    with pytest.raises(StoreError) as told:
        evaluated(records("SELECT a FROM city", db_id="concert_singer"), world)
    assert "the records name another one (concert_singer)" in str(told.value)
    assert str(world) in str(told.value)
    # No name, the file's name, one of a suite, and records of which one names it
    for rows in (records("SELECT a FROM city"), records("SELECT a FROM city", db_id="World"),
                 records("SELECT a FROM city", db_id="wor"),
                 [*records("SELECT a FROM city", db_id="world"), *records("SELECT 1", db_id="other")]):  # fmt: skip
        assert set(evaluated(rows, world)) == {True}


def test_a_folder_without_the_databases(tmp_path: Path) -> None:
    database(tmp_path / "dbs" / "world" / "world.sqlite", "city")
    with pytest.raises(StoreError) as told:
        evaluated(records("SELECT a FROM city", db_id="concert_singer"), tmp_path / "dbs")
    assert "none of the databases that the records name is there (concert_singer); it holds world" in str(told.value)
    assert evaluated(records("SELECT a FROM city"), tmp_path / "dbs") == [True]  # there is nothing to choose
    database(tmp_path / "dbs" / "atlas.sqlite", "city")
    with pytest.raises(StoreError, match="do not say which database in it they ask"):
        evaluated(records("SELECT a FROM city"), tmp_path / "dbs")
    some = [*records("SELECT a FROM city", db_id="world"), *records("SELECT 1", db_id="other")]
    assert evaluated(some, tmp_path / "dbs") == [True, None]


def test_the_command_ends_with_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = database(tmp_path / "world.sqlite", "city")
    file = tmp_path / "predictions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in records("SELECT a FROM singer")))
    assert main(["correct", str(file), "--database", str(world)]) == 2
    said = capsys.readouterr().err
    assert "singer" in said
    assert len(said.strip().splitlines()) == 1


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(sys.argv[2])
print("locked", flush=True)
sys.stdin.read()
"""


def test_a_locked_database_says_so(tmp_path: Path) -> None:
    path = database(tmp_path / "d.sqlite", "t")
    rows = records("SELECT a FROM t")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), "BEGIN EXCLUSIVE"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(StoreError) as told:
            evaluated(rows, path)
        assert f"database {path}: it is locked" in str(told.value)
    finally:
        holder.communicate()
    assert evaluated(rows, path) == [True]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["d.sqlite"]


def test_a_lock_in_the_same_process(tmp_path: Path) -> None:
    path = database(tmp_path / "d.sqlite", "t")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="it is locked"):
        evaluated(records("SELECT a FROM t"), path)
    holder.close()


def test_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "d.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    connection.close()
    program = HOLDER.replace("sqlite3", "duckdb").replace(", isolation_level=None", "")
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(path), "SELECT 1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(StoreError, match="it is locked"):
            evaluated(records("SELECT a FROM t"), path)
    finally:
        holder.communicate()
    assert evaluated(records("SELECT a FROM t", "FROM t SELECT a", "SELECT * FROM range(3)"), path) == [True] * 3
    with pytest.raises(StoreError, match=r"not there \(nope\); it has t\b"):
        evaluated(records("SELECT a FROM nope"), path)
