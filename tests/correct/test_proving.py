"""Databases that tell two queries apart: what is found, what is fair, what is left out, and what hostile queries get."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sensecheck.correct import evaluate, tell_apart
from sensecheck.correct.examples import example_page
from sensecheck.correct.proving.agreements import file_name
from sensecheck.correct.proving.schema import Link, Table, parents_before
from sensecheck.correct.proving.telling import Pair, Prover, Telling
from sensecheck.correct.proving.writing import comment, literal
from sensecheck.inputs.errors import InputError
from sensecheck.stores import Limits

SCHOOL = """
CREATE TABLE class (id INTEGER PRIMARY KEY, room TEXT NOT NULL, floor INTEGER);
CREATE TABLE pupil (
    id INTEGER PRIMARY KEY, name TEXT, age INTEGER, town TEXT, class INTEGER REFERENCES class (id)
);
INSERT INTO class VALUES (1, 'Red', 1), (2, 'Blue', 1), (3, 'Green', 2), (4, 'Grey', 2);
INSERT INTO pupil VALUES
    (1, 'Ann', 9, 'Ulm', 1), (2, 'Ben', 10, 'Bonn', 1), (3, 'Cleo', 11, 'Ulm', 2), (4, 'Dan', 12, 'Kiel', 2),
    (5, 'Eve', 13, 'Bonn', 3), (6, 'Finn', 14, 'Ulm', 3), (7, 'Gus', 15, 'Kiel', 3), (8, 'Hal', 16, 'Bonn', 1);
"""


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("school") / "school.sqlite", SCHOOL)


def made(path: Path, script: str) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


@pytest.fixture(scope="module")
def prover() -> Iterator[Prover]:
    with Prover(workers=1) as prover:
        yield prover


def tell(prover: Prover, gold: str, prediction: str, database: Path | None = None, schema: str = "") -> Telling:
    return prover.tell_apart(Pair(gold, prediction, str(database or ""), schema))


def replayed(telling: Telling, gold: str, prediction: str) -> None:
    """The find, loaded by SQLite itself with foreign keys on, shows what it says."""
    found = telling.counterexample
    assert found is not None, telling
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(found.script(gold, prediction, ["a find"]))
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert connection.execute(gold).fetchall() == found.gold.rows
    assert connection.execute(prediction).fetchall() == found.prediction.rows
    connection.close()


# ---- what is found

APART = [
    ("SELECT name FROM pupil WHERE age > 12", "SELECT name FROM pupil WHERE age > 12 AND age <> 99", None),
    ("SELECT name FROM pupil WHERE age >= 9", "SELECT name FROM pupil WHERE age > 8 AND town <> 'Bremen'", None),
    ("SELECT COUNT(*) FROM pupil WHERE age >= 16", "SELECT COUNT(*) FROM pupil WHERE age > 15 AND class = 1", "different rows"),
    ("SELECT name FROM pupil WHERE town = 'Ulm' AND age < 9", "SELECT town FROM pupil WHERE age < 9", "different rows"),
    ("SELECT name FROM pupil WHERE town = 'Ulm' AND age < 9", "SELECT name, age FROM pupil WHERE town = 'Ulm' AND age < 9", "other columns"),
    ("SELECT c.room FROM class c JOIN pupil p ON p.class = c.id WHERE p.town = 'Kiel'", "SELECT DISTINCT c.room FROM class c JOIN pupil p ON p.class = c.id WHERE p.town = 'Kiel'", "repeated rows"),
    ("SELECT name FROM pupil ORDER BY id", "SELECT name FROM pupil ORDER BY age", "order"),
    ("SELECT class FROM pupil GROUP BY class HAVING COUNT(*) > 2", "SELECT class FROM pupil GROUP BY class HAVING COUNT(*) = 3", "different rows"),
    ("SELECT class FROM pupil WHERE town = 'Ulm' INTERSECT SELECT class FROM pupil WHERE town = 'Rome'", "SELECT class FROM pupil WHERE town = 'Ulm' AND town = 'Rome'", "different rows"),
    ("SELECT name FROM pupil WHERE class = (SELECT id FROM class WHERE room = 'Blue')", "SELECT name FROM pupil WHERE class = 2", "different rows"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "prediction", "difference"), APART)
def test_queries_that_agree_by_chance_are_told_apart(
    prover: Prover, school: Path, gold: str, prediction: str, difference: str | None
) -> None:
    telling = tell(prover, gold, prediction, school)
    if difference is None:
        # What the prediction's own constants say is not in the data: no fair database shows it.
        assert telling.status == "not told apart" and telling.databases == 300
        return
    assert telling.status == "told apart", telling
    assert telling.counterexample is not None and telling.counterexample.difference == difference
    replayed(telling, gold, prediction)


EQUAL = [
    ("SELECT name FROM pupil WHERE age BETWEEN 10 AND 12", "SELECT p.name FROM pupil p WHERE p.age >= 10 AND 12 >= p.age"),
    ("SELECT COUNT(*) FROM pupil", "SELECT COUNT(id) FROM pupil"),
    ("SELECT name FROM pupil ORDER BY age DESC LIMIT 1", "SELECT name FROM pupil WHERE age = (SELECT MAX(age) FROM pupil)"),
    ("SELECT town FROM pupil GROUP BY town ORDER BY COUNT(*) DESC LIMIT 1", "SELECT town FROM pupil GROUP BY town ORDER BY COUNT(id) DESC, town LIMIT 1"),
    ("SELECT name FROM pupil WHERE class IN (SELECT id FROM class WHERE floor = 1)", "SELECT name FROM pupil JOIN class ON class.id = pupil.class WHERE floor = 1"),
    ("SELECT DISTINCT town FROM pupil", "SELECT town FROM pupil GROUP BY town"),
    ("SELECT name FROM pupil GROUP BY name", "SELECT DISTINCT name FROM pupil"),
    ("SELECT p.name FROM pupil p JOIN class c ON p.class = c.id", "SELECT name FROM pupil WHERE class IN (SELECT id FROM class)"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "prediction"), EQUAL)
def test_equal_queries_and_those_that_differ_by_ties_alone_are_not_told_apart(
    prover: Prover, school: Path, gold: str, prediction: str
) -> None:
    telling = tell(prover, gold, prediction, school)
    assert telling.status == "not told apart", (telling, telling.counterexample)
    assert str(telling) == "not told apart by 300 databases"


def test_a_parent_without_children_is_marked_where_the_data_have_none(prover: Prover, tmp_path: Path) -> None:
    path = made(tmp_path / "full.sqlite", SCHOOL + "DELETE FROM class WHERE id = 4;")
    gold = "SELECT COUNT(DISTINCT class) FROM pupil"
    telling = tell(prover, gold, "SELECT COUNT(*) FROM class", path)
    assert telling.counterexample is not None
    assert telling.counterexample.marks == ["a row of class without one of pupil, which the data do not have"]
    replayed(telling, gold, "SELECT COUNT(*) FROM class")


def test_a_constant_that_the_data_lack_is_marked(prover: Prover, school: Path) -> None:
    telling = tell(
        prover, "SELECT name FROM pupil WHERE town = 'Mainz'", "SELECT name FROM pupil WHERE town = 'Mayence'", school
    )
    assert telling.counterexample is not None
    assert telling.counterexample.marks == ["constant absent from the data: pupil.town"]
    assert [row[3] for row in telling.counterexample.tables["pupil"].rows] == ["Mainz"]


SHOPS = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, district TEXT, goods INT);
INSERT INTO shop VALUES (1, 'Old Town', 900), (2, 'Harbour', 20000), (3, 'West', 2500), (4, 'Park', 12000), (5, 'Hill', 7000);
"""
SHARED = [
    ("SELECT district FROM shop WHERE goods < 3000 INTERSECT SELECT district FROM shop WHERE goods > 10000", "SELECT district FROM shop WHERE goods < 3000 AND goods > 10000"),
    ("SELECT district FROM shop WHERE 3 < goods GROUP BY district HAVING COUNT(*) > 1", "SELECT district FROM shop GROUP BY district HAVING COUNT(*) > 2"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "prediction"), SHARED)
def test_rows_share_a_value_where_the_gold_is_about_such_rows(prover: Prover, gold: str, prediction: str) -> None:
    telling = tell(prover, gold, prediction, schema=SHOPS)
    assert telling.counterexample is not None
    assert telling.counterexample.marks == ["two rows with one shop.district, which the data do not have"]
    replayed(telling, gold, prediction)


def test_rows_share_no_value_that_is_unique_where_the_gold_is_about_single_rows(prover: Prover) -> None:
    whole, declared = (
        "SELECT district FROM shop WHERE goods < 3000",
        SHOPS.replace("district TEXT", "district TEXT UNIQUE"),
    )
    for gold, prediction, schema in (
        (whole, whole.replace("district", "DISTINCT district"), SHOPS),
        (f"{whole} INTERSECT SELECT district FROM shop WHERE id > 1", f"{whole} AND id > 1", SHOPS),
        (f"{whole} GROUP BY district", whole, SHOPS),
        (SHARED[0][0], SHARED[0][1], declared),
    ):
        assert tell(prover, gold, prediction, schema=schema).status == "not told apart"


def test_nothing_goes_below_zero_for_want_of_a_constant() -> None:
    schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT); INSERT INTO t VALUES (1, 0), (2, 3), (3, 5), (4, 9)"
    assert tell_apart("SELECT id FROM t WHERE n > 0", "SELECT id FROM t WHERE n <> 0", schema=schema).databases == 300
    telling = tell_apart("SELECT id FROM t WHERE n >= 9", "SELECT id FROM t WHERE n = 9", schema=schema)
    assert telling.counterexample is not None and telling.counterexample.tables["t"].rows[0][1] == 10


def test_a_find_is_small_typed_and_keeps_to_what_the_data_keep(prover: Prover, school: Path) -> None:
    telling = tell(
        prover, "SELECT name FROM pupil WHERE age > 8", "SELECT name FROM pupil WHERE age > 8 AND class <> 4", school
    )
    found = telling.counterexample
    assert found is not None
    pupils = found.tables["pupil"].rows
    assert len(pupils) == 1 and len(found.tables["class"].rows) == 1
    assert all(isinstance(row[2], int) and 9 <= row[2] <= 16 and isinstance(row[1], str) for row in pupils)


def test_queries_that_differ_on_the_database_itself_are_said_to(prover: Prover, school: Path) -> None:
    telling = tell(prover, "SELECT name FROM pupil", "SELECT town FROM pupil", school)
    assert telling.status == "differ already" and str(telling) == "they differ on the given database"


def test_the_same_arguments_give_the_same_find(school: Path) -> None:
    gold, prediction = APART[7][:2]
    first = tell_apart(gold, prediction, database=school, seed=3)
    assert first == tell_apart(gold, prediction, database=str(school), seed=3)
    pairs = [Pair(gold, prediction, str(school)) for _ in range(6)]
    with Prover(seed=3, workers=2) as prover:
        assert [telling for _, telling in prover.run(pairs)] == [first] * 6


# ---- schemas


def test_a_schema_alone_is_enough() -> None:
    schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, price REAL NOT NULL, state TEXT CHECK (state IN ('on', 'off')));"
    gold, prediction = "SELECT id FROM t WHERE price >= 5", "SELECT id FROM t WHERE price > 5"
    telling = tell_apart(gold, prediction, schema=schema)
    assert telling.counterexample is not None
    assert telling.counterexample.tables["t"].rows[0][1] == 5.0
    assert telling.notes == ["table t has no rows: its rows are invented"]
    replayed(telling, gold, prediction)
    gold, prediction = "SELECT id FROM t WHERE state = 'on'", "SELECT id FROM t WHERE state <> 'off'"
    assert tell_apart(gold, prediction, schema=schema).status == "not told apart"


def test_invented_rows_share_a_part_of_a_key_of_several_columns() -> None:
    schema = """
    CREATE TABLE part (maker INT, number TEXT, PRIMARY KEY (maker, number));
    CREATE TABLE stock (amount INT, maker INT, number TEXT, FOREIGN KEY (maker, number) REFERENCES part (maker, number));
    """
    gold = "SELECT amount FROM stock JOIN part ON part.maker = stock.maker AND part.number = stock.number"
    prediction = "SELECT amount FROM stock JOIN part ON part.maker = stock.maker"
    replayed(tell_apart(gold, prediction, schema=schema), gold, prediction)


def test_a_long_row_of_parents_has_room() -> None:
    tables = "CREATE TABLE t0 (a INTEGER PRIMARY KEY);" + "".join(
        f"CREATE TABLE t{n} (a INTEGER PRIMARY KEY, p INT NOT NULL REFERENCES t{n - 1} (a));" for n in range(1, 120)
    )
    telling = tell_apart("SELECT a FROM t119 WHERE a > 3", "SELECT a FROM t119 WHERE a >= 3", schema=tables)
    assert telling.counterexample is not None and len(telling.counterexample.tables) == 120
    replayed(telling, "SELECT a FROM t119 WHERE a > 3", "SELECT a FROM t119 WHERE a >= 3")


def test_the_largest_number_is_a_number_like_any(prover: Prover) -> None:
    schema = f"CREATE TABLE t (a INT); INSERT INTO t VALUES ({2**63 - 2}), (1), ({-(2**63)});"
    gold, prediction = f"SELECT a FROM t WHERE a >= {2**63 - 1}", f"SELECT a FROM t WHERE a > {2**63 - 1}"
    replayed(tell(prover, gold, prediction, schema=schema), gold, prediction)


def test_a_schema_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "schema.sql"
    path.write_text("CREATE TABLE t (a INT, b INT)")
    assert tell_apart("SELECT a FROM t", "SELECT b FROM t", schema=path).status == "told apart"
    assert tell_apart("SELECT a FROM t", "SELECT b FROM t", schema=str(path)).status == "told apart"
    with pytest.raises(InputError, match="no such file; expected CREATE TABLE"):
        tell_apart("SELECT a FROM t", "SELECT b FROM t", schema=tmp_path / "other.sql")
    with pytest.raises(InputError, match="one of the three"):
        tell_apart("SELECT a FROM t", "SELECT b FROM t")
    with pytest.raises(InputError, match=r"database .*: no such file"):
        tell_apart("SELECT a FROM t", "SELECT b FROM t", database=tmp_path / "no.sqlite")
    with pytest.raises(InputError, match="budget 0"):
        tell_apart("SELECT a FROM t", "SELECT b FROM t", schema=path, budget=0)


def test_tables_that_name_each_other_in_a_circle() -> None:
    schema = """
    CREATE TABLE team (id INTEGER PRIMARY KEY, captain INTEGER NOT NULL REFERENCES player (id));
    CREATE TABLE player (id INTEGER PRIMARY KEY, goals INTEGER, team INTEGER NOT NULL REFERENCES team (id));
    CREATE TABLE staff (id INTEGER PRIMARY KEY, age INTEGER, boss INTEGER REFERENCES staff (id));
    """
    gold = "SELECT id FROM player WHERE goals > 10"
    prediction = "SELECT p.id FROM player p JOIN team t ON t.captain = p.id WHERE p.goals > 10"
    telling = tell_apart(gold, prediction, schema=schema)
    assert telling.counterexample is not None and telling.counterexample.circular
    replayed(telling, gold, prediction)
    gold, prediction = "SELECT id FROM staff WHERE age > 20", "SELECT id FROM staff WHERE age > 20 AND boss <> id"
    telling = tell_apart(gold, prediction, schema=schema)
    assert telling.status == "told apart"
    replayed(telling, gold, prediction)


def test_tables_without_rowids_generated_columns_views_and_triggers() -> None:
    schema = """
    CREATE TABLE item (code TEXT PRIMARY KEY, price INT NOT NULL, twice INT AS (price * 2)) WITHOUT ROWID;
    CREATE TABLE log (id INTEGER PRIMARY KEY, what TEXT);
    CREATE VIEW dear AS SELECT code, price FROM item WHERE price >= 50;
    CREATE TRIGGER note AFTER INSERT ON item BEGIN INSERT INTO log (what) VALUES (new.code); END;
    INSERT INTO item (code, price) VALUES ('a', 10), ('b', 40), ('c', 70), ('d', 90);
    """
    gold, prediction = "SELECT code FROM dear", "SELECT code FROM item WHERE twice > 100"
    telling = tell_apart(gold, prediction, schema=schema)
    assert telling.counterexample is not None, telling
    assert telling.counterexample.tables["item"].columns == ["code", "price"]
    assert telling.counterexample.tables["item"].rows[0][1] == 50
    assert telling.notes == ["triggers are not run: note"]
    replayed(telling, gold, prediction)


def test_a_virtual_table_is_left_out_by_its_name() -> None:
    schema = "CREATE VIRTUAL TABLE note USING fts5(body); CREATE TABLE t (a INT);"
    telling = tell_apart("SELECT body FROM note", "SELECT a FROM t", schema=schema)
    assert str(telling) == "left out: gold: table note is a virtual one"


def test_foreign_keys_that_data_break_are_kept_and_those_that_name_nothing_are_said(tmp_path: Path) -> None:
    script = """
    CREATE TABLE town (code TEXT PRIMARY KEY, name TEXT);
    CREATE TABLE trip (id INTEGER PRIMARY KEY, start TEXT REFERENCES town (code), goal TEXT REFERENCES town (code));
    INSERT INTO town VALUES ('U', 'Ulm'), ('B', 'Bonn'), ('K', 'Kiel'), ('M', 'Mainz');
    INSERT INTO trip VALUES (1, ' U', ' B'), (2, ' K', ' U'), (3, ' B', ' K'), (4, ' K', ' B');
    """
    path = made(tmp_path / "trips.sqlite", script)
    gold = "SELECT t.id FROM trip t JOIN town a ON a.code = t.start WHERE a.name = 'Ulm'"
    prediction = "SELECT t.id FROM trip t JOIN town a ON a.code = t.goal WHERE a.name = 'Ulm'"
    telling = tell_apart(gold, prediction, database=path)
    assert telling.counterexample is not None
    replayed(telling, gold, prediction)
    assert all(row[1] != row[2] for row in telling.counterexample.tables["trip"].rows)  # nor do the data
    loose = "CREATE TABLE a (x INT); CREATE TABLE b (y INT REFERENCES a (x)); INSERT INTO a VALUES (1); INSERT INTO b VALUES (1)"
    telling = tell_apart("SELECT COUNT(*) FROM b WHERE y = 1", "SELECT COUNT(*) FROM b", schema=loose)
    assert telling.notes == ["some foreign keys name no key of their parent: they are kept to, but not by the engine"]


# ---- what is left out

LEFT_OUT = {
    "SELECT name FROM pupil ORDER BY random()": "it calls random, which does not follow from the database",
    "SELECT name FROM pupil WHERE age > date('now')": "it asks for the current time",
    "SELECT name FROM pupil WHERE age > strftime('%Y', 'NOW')": "it asks for the current time",
    "SELECT name FROM pupil WHERE age > strftime('%Y')": "it asks for the current time",
    "SELECT name FROM pupil WHERE age > unixepoch(/* today, or */ )": "it asks for the current time",
    "SELECT name FROM pupil WHERE age > strftime('%Y', name, '+1 day') -- not 'now'": "",
    "SELECT current_timestamp FROM pupil": "it calls current_timestamp, which does not follow from the database",
    "SELECT name FROM class, pupil ORDER BY class.rowid": "",  # a key by another name
    "SELECT name FROM nobody": "it does not run on the database: no such table: nobody",
    "SELECT name FROM": "it does not run on the database: incomplete input",
    "": "it does not run on the database: no statement",
    "SELECT 1; SELECT 2": "it does not run on the database: more than one statement",
    "DROP TABLE pupil": "it does not run on the database: only SELECT, WITH and VALUES statements are run, not DROP",
    "SELECT load_extension('x')": "it does not run on the database: not allowed: function load_extension",
    "SELECT sql FROM sqlite_master": "it reads sqlite_master, which is no table of the data",
}


@pytest.mark.parametrize(("query", "why"), LEFT_OUT.items())
def test_what_is_no_function_of_the_database_is_left_out_by_name(
    prover: Prover, school: Path, query: str, why: str
) -> None:
    telling = prover.tell_apart(Pair("SELECT name FROM pupil", query, str(school)))
    if telling.status == "differ already":
        telling = prover.tell_apart(Pair("SELECT name FROM pupil", query, str(school), agreed=True))
    if why:
        assert str(telling) == f"left out: prediction: {why}"
    else:
        assert telling.status != "left out"


def test_what_a_view_calls_is_looked_at_as_what_a_query_calls(prover: Prover) -> None:
    views = """
    CREATE VIEW grown AS SELECT name FROM pupil WHERE age + 0 < date('now');
    CREATE VIEW all_grown AS SELECT name FROM grown;
    CREATE VIEW some AS SELECT name FROM pupil WHERE random() > 0;
    """
    for view, why in (("all_grown", "it asks for the current time"), ("some", "it calls random, which")):
        told = tell(prover, f"SELECT name FROM {view}", "SELECT name FROM pupil WHERE age > 9", schema=SCHOOL + views)
        assert str(told).startswith(f"left out: gold: {why}")


def test_the_same_text_is_searched_for_nothing_but_may_be_left_out(prover: Prover, school: Path) -> None:
    text = "SELECT name FROM pupil WHERE town = 'Ulm'"
    telling = prover.tell_apart(Pair(text, f"{text}\n", str(school), agreed=True))
    assert (str(telling), telling.databases) == ("not told apart: they are the same text", 0)
    drawn = "SELECT name FROM pupil ORDER BY random()"
    assert prover.tell_apart(Pair(drawn, drawn, str(school), agreed=True)).reason.startswith("gold: it calls random")


def test_the_number_of_a_row_is_not_its_content(prover: Prover) -> None:
    schema = "CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2), (3)"
    telling = tell(prover, "SELECT a FROM t", "SELECT rowid FROM t", schema=schema)
    assert str(telling) == "left out: prediction: it reads t.ROWID, the place of a row rather than its content"
    telling = tell(prover, "SELECT 1", "SELECT 1", schema=schema)
    assert str(telling) == "left out: neither query reads a table"


def test_rows_that_no_table_takes_are_not_counted_as_tried(prover: Prover) -> None:
    schema = "CREATE TABLE t (a INT, s TEXT CHECK (s GLOB '[0-9]*'))"
    telling = tell(prover, "SELECT a FROM t WHERE a > 1", "SELECT a FROM t WHERE a >= 1", schema=schema)
    assert str(telling) == "left out: no database could be made: CHECK constraint failed: s GLOB '[0-9]*'"
    strict = "CREATE TABLE t (a INTEGER PRIMARY KEY, b REAL NOT NULL, d BLOB) STRICT"
    telling = tell(prover, "SELECT a FROM t WHERE b > 2", "SELECT a FROM t WHERE b >= 2", schema=strict)
    assert telling.status == "told apart"


def test_half_a_character_is_no_query(prover: Prover) -> None:
    telling = tell(prover, "SELECT a FROM t", "SELECT '\ud800' FROM t", schema="CREATE TABLE t (a INT)")
    assert str(telling) == "left out: prediction: the query contains half a character (a lone surrogate)"


def test_a_schema_that_cannot_be_built_is_told() -> None:
    telling = tell_apart("SELECT 1", "SELECT 2", schema="CREATE TABLE t (")
    assert str(telling) == "left out: the schema cannot be built in memory: incomplete input"


# ---- hostile queries

HOSTILE = [
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n, pupil",
    "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n",
    "SELECT zeroblob(2000000000), name FROM pupil",
    "SELECT printf('%.*c', 2000000000, 'x') FROM pupil",
    "SELECT replace(hex(zeroblob(99000)), '0', hex(zeroblob(99000))) FROM pupil",
    "SELECT name FROM pupil WHERE " + "(" * 3000 + "1" + ")" * 3000,
    "SELECT name FROM pupil WHERE " + " OR ".join(f"age = {n}" for n in range(20_000)),
    "SELECT " + "-" * 5000 + "1 FROM pupil",
    "SELECT a.name FROM pupil a, pupil b, pupil c, pupil d, pupil e, pupil f, pupil g, pupil h, pupil i, pupil j",
    "SELECT name FROM pupil JOIN class" + " JOIN class" * 60,
    "SELECT name FROM pupil WHERE name LIKE '" + "%a" * 400 + "'",
    "SELECT name FROM pupil WHERE name = '\ud800'",
    "SELECT name FROM pupil\0; DROP TABLE pupil",
    "SELECT name FROM pupil -- \n; ATTACH 'x' AS y",
    "SELECT name FROM pupil -- " + "x" * 300_000,
]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_queries_end(school: Path, query: str) -> None:
    before = school.read_bytes()
    with Prover(budget=40, workers=1, limits=Limits(seconds=3, query_bytes=4 << 20)) as prover:
        for pair in (
            Pair("SELECT name FROM pupil", query, str(school), agreed=True),
            Pair(query, "SELECT name FROM pupil", str(school), agreed=True),
        ):
            telling = prover.tell_apart(pair)
            assert telling.status in ("left out", "not told apart", "told apart")
        # The next search is as ever.
        calm = prover.tell_apart(Pair("SELECT age FROM pupil", "SELECT age + 0 FROM pupil", str(school)))
        assert calm.status == "not told apart"
    assert school.read_bytes() == before


def test_a_query_without_end_is_given_up_by_steps_not_by_the_clock(prover: Prover, school: Path) -> None:
    telling = prover.tell_apart(Pair("SELECT name FROM pupil", HOSTILE[0], str(school), agreed=True))
    assert telling.reason == "prediction: it does not run: takes more than 400,000 steps on a database with a few rows"


def test_a_search_over_its_time_is_reported_as_such(school: Path) -> None:
    with Prover(budget=10_000_000, workers=1, limits=Limits(seconds=1.0)) as prover:
        telling = prover.tell_apart(Pair("SELECT name FROM pupil", "SELECT name FROM pupil WHERE 1", str(school)))
    assert telling.status == "left out" and telling.reason == "the search ended: no answer within 1 s"


# ---- as text


def test_hostile_text_stays_in_its_comment_and_its_literal() -> None:
    assert literal("x'); DROP TABLE t; --") == "'x''); DROP TABLE t; --'"
    assert literal("a\0b") == "CAST(X'610062' AS TEXT)"
    lines = comment("a\n; DROP TABLE t\r\x1b[2J\u2028SELECT 1\tx")
    assert lines == ["-- a", "-- ; DROP TABLE t", "-- \\x1b[2J", "-- SELECT 1    x"]
    assert all(line.startswith("--") for line in lines)


def test_a_script_with_hostile_rows_loads() -> None:
    schema = 'CREATE TABLE "a b;--" ("x""y" TEXT, n INT);'
    rows = "INSERT INTO \"a b;--\" VALUES ('it''s; DROP', 1), (char(10) || '-- no', 2), ('ü', 3), ('', 4);"
    gold = 'SELECT "x""y" FROM "a b;--" WHERE n > 1'
    prediction = 'SELECT "x""y" FROM "a b;--" WHERE n >= 2 -- \n/* ; */'
    telling = tell_apart(gold, prediction, schema=schema + rows)
    assert telling.status == "not told apart"
    prediction = 'SELECT "x""y" FROM "a b;--" WHERE n >= 2 AND n <> 5 -- \n/* ; */'
    telling = tell_apart('SELECT "x""y" FROM "a b;--" WHERE n IN (2, 3, 4, 5)', prediction, schema=schema + rows)
    replayed(telling, 'SELECT "x""y" FROM "a b;--" WHERE n IN (2, 3, 4, 5)', prediction)


def test_long_tables_are_read_in_part(tmp_path: Path) -> None:
    script = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, n INT);
    WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 100000)
    INSERT INTO t SELECT x, x % 1000 FROM c;
    """
    path = made(tmp_path / "long.sqlite", script)
    telling = tell_apart("SELECT COUNT(*) FROM t WHERE n > 998", "SELECT COUNT(*) FROM t WHERE n = 999", database=path)
    assert telling.status == "not told apart" and telling.seconds < 5  # 999 is the greatest that the data know
    telling = tell_apart(
        "SELECT id FROM t WHERE n = 7 AND id < 5", "SELECT id FROM t WHERE id < 5 AND n = 8", database=path
    )
    assert telling.status == "told apart"


# ---- DuckDB

DUCKS = """
CREATE TABLE class (id INTEGER PRIMARY KEY, room VARCHAR NOT NULL, floor INTEGER);
CREATE TABLE pupil (
    id INTEGER PRIMARY KEY, name VARCHAR, born DATE, fee DECIMAL(8, 2), here BOOLEAN,
    class INTEGER REFERENCES class (id)
);
CREATE VIEW dear AS SELECT name, fee FROM pupil WHERE fee > 20;
INSERT INTO class VALUES (1, 'Red', 1), (2, 'Blue', 1), (3, 'Green', 2), (4, 'Grey', 2);
INSERT INTO pupil VALUES
    (1, 'Ann', '2010-01-01', 10.5, true, 1), (2, 'Ben', '2009-02-01', 20, false, 1),
    (3, 'Cleo', '2008-03-01', 30, true, 2), (4, 'Dan', '2007-01-01', 25, true, 2), (5, 'Eve', '2006-01-01', 12, false, 3);
"""


@pytest.mark.parametrize(
    ("gold", "prediction", "status"),
    [
        ("SELECT name FROM pupil WHERE born < '2007-01-02'", "SELECT name FROM pupil WHERE born <= '2007-01-02'", "told apart"),
        ("SELECT name FROM dear", "SELECT name FROM pupil WHERE fee >= 25", "told apart"),
        ("SELECT name FROM pupil WHERE here", "SELECT name FROM pupil WHERE here AND class < 3", "told apart"),
        ("SELECT COUNT(*) FROM pupil", "SELECT COUNT(id) FROM pupil", "not told apart"),
        ("SELECT name FROM pupil ORDER BY fee LIMIT 1", "SELECT name FROM pupil WHERE fee = (SELECT MIN(fee) FROM pupil)", "not told apart"),
        ("SELECT name FROM pupil", "SELECT name FROM pupil ORDER BY random()", "left out"),
        ("SELECT name FROM pupil", "SELECT name FROM pupil WHERE born < today()", "left out"),
        ("SELECT name FROM pupil", "SELECT * FROM read_text('/etc/passwd')", "left out"),
        ("SELECT name FROM pupil", "CREATE TABLE x AS SELECT 1", "left out"),
    ],
)  # fmt: skip
def test_duckdb(gold: str, prediction: str, status: str, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    telling = tell_apart(gold, prediction, schema=DUCKS, dialect="duckdb")
    assert telling.status == status, telling
    if telling.counterexample is not None:
        connection = duckdb.connect(":memory:")
        connection.execute(telling.counterexample.script(gold, prediction))
        answers = [connection.execute(text).fetchall() for text in (gold, prediction)]
        assert answers == [telling.counterexample.gold.rows, telling.counterexample.prediction.rows]
        connection.close()
    path = tmp_path / "school.duckdb"
    connection = duckdb.connect(str(path))
    connection.execute(DUCKS)
    connection.close()
    again = tell_apart(gold, prediction, database=path, dialect="duckdb")
    assert again.status in (status, "differ already") and telling == tell_apart(
        gold, prediction, schema=DUCKS, dialect="duckdb"
    )


def test_duckdb_columns_may_be_called_as_functions_are() -> None:
    pytest.importorskip("duckdb")
    rows = """
    CREATE TABLE t (version INT, today INT, sample INT);
    INSERT INTO t VALUES (1, 1, 1), (3, 3, 3), (7, 7, 7);
    CREATE VIEW drawn AS SELECT version FROM t WHERE random() < 2;
    CREATE VIEW drawn_again AS SELECT version FROM drawn;
    """
    gold = "SELECT version FROM t WHERE today > 3 AND t.sample > 0"
    expected = {
        "SELECT version FROM t WHERE today >= 3 AND t.sample > 0": "told apart",
        "SELECT version FROM t WHERE today > 3 USING SAMPLE 1": "left out: prediction: it calls sample",
        "SELECT version FROM t WHERE version /* */ () > ''": "left out: prediction: it calls version",
        "SELECT version FROM t WHERE today < current_date": "left out",
        "SELECT version FROM Drawn_Again": "left out: prediction: it calls random",
    }
    for prediction, status in expected.items():
        telling = tell_apart(gold, prediction, schema=rows, dialect="duckdb")
        assert str(telling).startswith(status), (prediction, telling)


DUCK_TABLES = {
    "generated": "CREATE TABLE t(a INT, b VARCHAR, c VARCHAR GENERATED ALWAYS AS (concat(b, '), x (', a))); INSERT INTO t VALUES (1, 'x'), (4, 'y')",
    "sequence": "CREATE SEQUENCE q; CREATE TABLE t(id INT DEFAULT nextval('q'), a INT); INSERT INTO t(a) VALUES (3), (6), (9)",
    "tree": "CREATE TABLE t(id INT PRIMARY KEY, a INT, boss INT REFERENCES t(id)); INSERT INTO t VALUES (1, 9, NULL); INSERT INTO t VALUES (2, 5, 1), (3, 4, 1)",
    "types": "CREATE TABLE t(id UUID PRIMARY KEY, a INT, m ENUM('it''s', 'no'), d TIME, i INTERVAL, b BLOB)",
}  # fmt: skip


@pytest.mark.parametrize("schema", DUCK_TABLES.values(), ids=DUCK_TABLES)
def test_duckdb_tables_of_every_kind(schema: str) -> None:
    duckdb = pytest.importorskip("duckdb")
    gold, prediction = "SELECT a FROM t WHERE a > 3", "SELECT a FROM t WHERE a >= 3"
    telling = tell_apart(gold, prediction, schema=schema, dialect="duckdb")
    assert telling.counterexample is not None, telling
    connection = duckdb.connect(":memory:")
    connection.execute(telling.counterexample.script(gold, prediction))
    assert connection.execute(prediction).fetchall() == telling.counterexample.prediction.rows
    connection.close()


def test_rows_of_a_tree_go_in_after_the_row_that_they_hang_below() -> None:
    table = Table("t", [], "", links=[Link("t", (1,), "t", (0,))])
    assert parents_before(table, [[3, 2], [2, 1], [1, None]]) == [(1, None), (2, 1), (3, 2)]
    assert parents_before(table, [[1, 2], [2, 1]]) == [(1, 2), (2, 1)]


def test_duckdb_without_end_is_ended_by_the_clock() -> None:
    pytest.importorskip("duckdb")
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n, pupil"
    limits = Limits(seconds=2, query_bytes=1 << 20)
    telling = tell_apart("SELECT COUNT(*) FROM pupil", endless, schema=DUCKS, dialect="duckdb", limits=limits)
    assert telling.status == "left out" and telling.reason.startswith("the search ended")


# ---- runs


def records() -> list[dict[str, str]]:
    """Right by chance twice, right, wrong, and a gold that does not run."""
    by_chance = "SELECT name FROM pupil WHERE age < 9 AND town = 'Ulm'"
    pairs = [
        (by_chance, "SELECT name FROM pupil WHERE age < 9 AND town = 'Bonn'"),
        ("SELECT class FROM pupil GROUP BY class HAVING COUNT(*) > 2", "SELECT class FROM pupil GROUP BY class HAVING COUNT(*) = 3"),
        ("SELECT COUNT(*) FROM pupil", "SELECT COUNT(id) FROM pupil"),
        ("SELECT name FROM pupil", "SELECT town FROM pupil"),
        ("SELECT nothing FROM pupil", "SELECT name FROM pupil"),
        ("SELECT name FROM pupil WHERE age > 20", "SELECT name FROM pupil WHERE age > 20 AND random() IS NOT NULL"),
    ]  # fmt: skip
    return [{"id": f"../q:{n}", "gold": g, "prediction": p} for n, (g, p) in enumerate(pairs)]


def test_agreements_of_a_run_are_proven_different(school: Path, tmp_path: Path) -> None:
    result = evaluate(records(), database=school, prove="all", out=tmp_path / "run")
    assert result["accuracy"].value == 4 / 5 and result["accuracy_proven"].value == 2 / 5
    assert (result["proven_different"].value, result["proven_different"].n) == (2 / 3, 3)
    classes = ("proven_rows", "proven_columns", "proven_repeats", "proven_order")
    assert sum(result[name].value for name in classes) == result["proven_different"].value
    assert (result["proven_absent"].value, result["proven_childless"].value, result["proven_shared"].value) == (0, 0, 0)
    rows = result.measurements
    assert rows["proven_different"].to_list() == [True, True, False, None, None, None]
    why = rows["not_searched"].to_list()
    assert why[3] == why[4] == "that do not agree"
    assert why[5] == "left out (prediction: it calls random, which does not follow from the database)"
    assert "prove:all 300" in str(result.signature)
    assert any(note.startswith("2 of 3 agreements proven different") for note in result.notes)
    files = sorted((tmp_path / "run" / "counterexamples").iterdir())
    assert len(files) == 2 and all(file.name.startswith("_q_") for file in files)
    for file, record in zip(files, records(), strict=False):
        text = file.read_text()
        connection = sqlite3.connect(":memory:")
        connection.executescript(text)
        assert connection.execute(record["gold"]).fetchall() != connection.execute(record["prediction"]).fetchall()
        assert record["prediction"] in text
    page = {part["title"].split(" · ")[0]: part for part in example_page(result.examples(6))}
    first, third = page["../q:0"], page["../q:2"]
    assert first["title"].endswith("right, both empty, but proven another query")
    assert first["parts"][-1]["label"] == "a database on which they differ"
    assert first["parts"][-2]["spans"][0][0] == "proven another query: "
    assert first["parts"][-1]["spans"][0][0].startswith("different rows\nclass (id, room, floor)\n")
    assert third["title"].endswith("right") and third["parts"][-1]["label"] == "answers"
    # A run in its place leaves nothing of it.
    evaluate(records()[2:4], database=school, prove="all", out=tmp_path / "run", overwrite=True)
    assert not list((tmp_path / "run" / "counterexamples").iterdir())


def test_finds_with_what_the_data_never_show_are_counted(school: Path, tmp_path: Path) -> None:
    full = made(tmp_path / "full.sqlite", SCHOOL + "DELETE FROM class WHERE id = 4;")
    pairs = [
        ("SELECT COUNT(DISTINCT class) FROM pupil", "SELECT COUNT(*) FROM class"),
        ("SELECT name FROM pupil WHERE town = 'Rome'", "SELECT name FROM pupil WHERE town = 'Oslo'"),
        ("SELECT name FROM pupil WHERE age >= 16", "SELECT name FROM pupil WHERE age > 15 AND class = 1"),
        ("SELECT name FROM pupil", "SELECT name FROM pupil"),
    ]
    data = [{"id": str(n), "gold": gold, "prediction": prediction} for n, (gold, prediction) in enumerate(pairs)]
    result = evaluate(data, database=full, prove="all")
    rows = result.measurements
    assert rows["proven_different"].to_list() == [True, True, True, False]
    assert rows["proven_childless"].to_list() == [True, False, False, False]
    assert rows["proven_absent"].to_list() == [False, True, False, False]
    assert rows["proven_shared"].to_list() == [False] * 4 and result["proven_absent"].value == 0.25


def test_a_suite_tells_apart_what_was_proven_different(
    school: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = tmp_path / "suite"
    named = [{**record, "database": "school"} for record in records()]
    result = evaluate(named, database=school, prove="all", make_suite=suite)
    assert any("new databases tell 2 pairs apart" in note for note in result.notes)
    files = sorted(path.name for path in (suite / "school").iterdir())
    assert files[0] == "school.sqlite" and 2 <= len(files) <= 3
    monkeypatch.chdir(tmp_path)
    nearby = evaluate(named, database=school, prove="all", make_suite="nearby")
    assert sorted(path.name for path in (tmp_path / "nearby" / "school").iterdir()) == files
    assert any("nearby" in note for note in nearby.notes)
    again = evaluate(named, database=suite)
    assert again.measurements["correct"].to_list() == [False, False, True, False, None, True]
    with pytest.raises(InputError, match="make_suite: expected a folder that is empty or not there yet"):
        evaluate(named, database=school, prove="all", make_suite=suite)
    with pytest.raises(InputError, match="it needs --prove"):
        evaluate(named, database=school, make_suite=tmp_path / "other")


def shelf(folder: Path, *names: str) -> Path:
    """Databases by these names, the first of which has two."""
    rows = "CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (1, 'x'), (3, 'y'), (5, 'z'), (7, 'x y'), (9, 'w');"
    for name in names:
        (folder / name).mkdir(parents=True)
        made(folder / name / f"{name}.db", rows)
    made(folder / names[0] / f"{names[0]}v1.sqlite", rows + "DELETE FROM t WHERE a = 9;")
    return folder


def test_a_suite_holds_all_that_was_given(tmp_path: Path) -> None:
    given = shelf(tmp_path / "given", "one", "two")
    told = [
        ("one", "a > 5", "a >= 6 AND b <> 'y'"),
        ("two", "a > 3", "3 < a"),
        ("one", "b = 'x  y'", "b = 'x y' AND 0"),
    ]
    named = [
        {
            "id": str(n),
            "database": name,
            "gold": f"SELECT a FROM t WHERE {g}",
            "prediction": f"SELECT a FROM t WHERE {p}",
        }
        for n, (name, g, p) in enumerate(told)
    ]
    suite = tmp_path / "suite"
    result = evaluate(named, database=given, prove="all", make_suite=suite)
    assert result.measurements["proven_different"].to_list() == [True, False, True]
    files = sorted(str(path.relative_to(suite)) for path in suite.rglob("*.*"))
    assert files[:2] == ["one/one.sqlite", "one/onev1.sqlite"] and files[-1] == "two/two.sqlite"
    assert (suite / "one" / "onev1.sqlite").read_bytes() == (given / "one" / "onev1.sqlite").read_bytes()
    again = evaluate(named, database=suite)
    assert again.measurements["correct"].to_list() == [False, True, False]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["given", "suite"]


def test_a_suite_of_one_database_needs_no_names(tmp_path: Path) -> None:
    file = shelf(tmp_path / "given", "one") / "one" / "one.db"
    record = {
        "id": "1",
        "gold": "SELECT a FROM t WHERE a > 5",
        "prediction": "SELECT a FROM t WHERE a > 5 AND b <> 'y'",
    }
    result = evaluate([record], database=file, prove="all", make_suite=tmp_path / "suite")
    assert any("1 new database tells 1 pair apart" in note for note in result.notes)
    assert evaluate([record], database=tmp_path / "suite").measurements["correct"].to_list() == [False]
    named = {**record, "database": "on"}  # `one.db` may be one of several for `on`
    evaluate([named], database=file, prove="all", make_suite=tmp_path / "named")
    assert evaluate([named], database=tmp_path / "named").measurements["correct"].to_list() == [False]


def test_a_suite_that_cannot_be_written_is_refused_before_the_search(tmp_path: Path) -> None:
    file = shelf(tmp_path / "given", "one") / "one" / "one.db"
    with pytest.raises(InputError, match="make_suite: expected a folder that can be made"):
        evaluate([{"gold": "SELECT 1", "prediction": "SELECT 1"}], database=file, prove="all", make_suite=file / "x")


def test_two_samples_of_one_question_have_a_file_each(school: Path, tmp_path: Path) -> None:
    one, other = records()[:2]
    twice = [one, {**other, "id": one["id"]}, {**one, "id": one["id"].upper()}]
    result = evaluate(twice, database=school, prove="all", out=tmp_path / "run")
    assert result.measurements["proven_different"].to_list() == [True, True, True]
    texts = [path.read_text() for path in (tmp_path / "run" / "counterexamples").iterdir()]
    assert len(texts) == 3 and sum(other["prediction"] in text for text in texts) == 1


def test_spaces_in_a_text_are_no_spacing(school: Path) -> None:
    pair = {
        "gold": "SELECT name FROM pupil WHERE town = 'Bad  Ems'",
        "prediction": "SELECT name FROM pupil WHERE town = 'Bad Ems'",
    }
    assert evaluate([pair], database=school, prove="all").measurements["proven_different"].to_list() == [True]


def test_a_run_that_goes_on_tells_of_all_agreements(school: Path, tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records()))
    first = evaluate(path, database=school, prove="all", out=tmp_path / "run")
    again = evaluate(path, database=school, prove="all", out=tmp_path / "run", resume=True)
    assert again.notes == first.notes and "2 of 3 agreements proven different" in again.notes[0]
    assert len(list((tmp_path / "run" / "counterexamples").iterdir())) == 2


def test_finds_of_an_earlier_run_do_not_stay_and_links_are_not_followed(school: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    evaluate(records(), database=school, prove="all", out=out)
    evaluate(records(), database=school, out=out, overwrite=True)
    assert not list((out / "counterexamples").iterdir())
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "schema.sql").write_text("-- dear")
    (out / "counterexamples").rmdir()
    (out / "counterexamples").symlink_to(theirs)
    with pytest.raises(ValueError, match="is no folder of its own"):
        evaluate(records(), database=school, prove="all", out=out, overwrite=True)
    assert (theirs / "schema.sql").read_text() == "-- dear" and len(list(theirs.iterdir())) == 1


def test_vacuous_agreements_alone(school: Path) -> None:
    result = evaluate(records(), database=school, prove="vacuous", prove_databases=200)
    assert result.measurements["proven_different"].to_list() == [True, None, None, None, None, None]
    assert "prove:vacuous 200" in str(result.signature)


def test_without_prove_nothing_changes(school: Path) -> None:
    result = evaluate(records(), database=school)
    assert "prove" not in str(result.signature) and "accuracy_proven" not in {f.name for f in result.figures}
    assert "correct_proven" not in result.measurements.columns


def test_prove_needs_sqlite(school: Path) -> None:
    with pytest.raises(InputError, match="it needs --database"):
        evaluate(records(), prove="all")
    with pytest.raises(InputError, match="expected one of all, vacuous, got 'some'"):
        evaluate(records(), database=school, prove="some")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected sqlite or duckdb, got 'mysql'"):
        tell_apart("SELECT 1", "SELECT 2", database=school, dialect="mysql")


def test_places_that_are_none_are_told(school: Path, tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("no database")
    (tmp_path / "bad.sql").write_bytes(b"CREATE TABLE t (a INT); -- \xff")
    (tmp_path / "some.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 8)
    calls: list[tuple[dict[str, Any], str]] = [
        ({"database": tmp_path / "text.sqlite"}, "neither an SQLite nor a DuckDB file"),
        ({"database": tmp_path / "some.duckdb"}, "give dialect='duckdb'"),
        ({"database": school, "dialect": "duckdb"}, "give dialect='sqlite'"),
        ({"database": tmp_path}, "no such file"),
        ({"schema": tmp_path / "bad.sql"}, "no text in UTF-8"),
        ({"schema": ""}, "no such file; expected CREATE TABLE statements"),
        ({"schema": b"CREATE TABLE t (a INT)"}, "schema: expected CREATE TABLE statements"),
        ({"schema": "CREATE TABLE t (a INT)", "prediction": None}, "prediction: expected a query as text"),
    ]
    for call, message in calls:
        with pytest.raises(InputError, match=message):
            tell_apart(**{"gold": "SELECT 1", "prediction": "SELECT 2", **call})
    assert str(Telling("not told apart", 1)) == "not told apart by 1 database"


def test_file_names_of_records_stay_in_their_folder() -> None:
    names = ["../../etc/passwd", "a/b", "a_b", "", ".", "..", "x" * 300, "q-1", "\ud800", "a\nb"]
    made_names = [file_name(name) for name in names]
    assert len(set(made_names)) == len(names)
    assert all("/" not in name and not name.startswith(".") and len(name) < 100 for name in made_names)
    assert file_name("q-1") == "q-1.sql"
