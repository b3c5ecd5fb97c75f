"""Harmless reads are answered, and no answer or message tells where on the machine the store lies."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from sensecheck.stores import Answer, Databases, Failure, Graph, Limits, Reason, Request

FOLDER = "a-folder-nobody-names"


@pytest.fixture(scope="module")
def sqlite_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    path = tmp_path_factory.mktemp(FOLDER) / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("""
        CREATE VIRTUAL TABLE "some ""notes" USING fts5(title, body);
        INSERT INTO "some ""notes" VALUES ('tea', 'green and black'), ('coffee', 'black');
        CREATE VIRTUAL TABLE terms USING fts5vocab('some "notes', row);
        CREATE VIRTUAL TABLE old USING fts4(body);
        INSERT INTO old VALUES ('green tea'), ('black tea');
        CREATE VIRTUAL TABLE oldest USING fts3(body);
        INSERT INTO oldest VALUES ('green tea');
        CREATE TABLE page (id INTEGER PRIMARY KEY, body);
        INSERT INTO page VALUES (7, 'red tea');
        CREATE VIRTUAL TABLE outside USING fts5(body, content=page, content_rowid=id);
        INSERT INTO outside(outside) VALUES ('rebuild');
        CREATE VIRTUAL TABLE boxes USING rtree(id, low, high);
        INSERT INTO boxes VALUES (1, 0, 1), (2, 3, 4);
    """)
    connection.close()
    with Databases(path, limits=Limits(seconds=10), workers=1) as store:
        assert isinstance(store, Databases)
        yield store


@pytest.fixture(scope="module")
def duckdb_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Databases]:
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path_factory.mktemp(FOLDER) / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE item (id INTEGER, name TEXT, price DOUBLE)")
        connection.execute("INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 2), (3, 'a', 4)")
    with Databases(path, limits=Limits(seconds=10), workers=1) as store:
        assert isinstance(store, Databases)
        yield store


def rows(store: Databases, text: str) -> list[tuple[object, ...]]:
    outcome = store.execute(Request(text, str(store.path)))
    assert isinstance(outcome, Answer), (text, outcome)
    return list(outcome.rows)


def failure(store: Databases, text: str) -> Failure:
    outcome = store.execute(Request(text, str(store.path)))
    assert isinstance(outcome, Failure), (text, outcome)
    return outcome


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("""SELECT title FROM "some ""notes" WHERE "some ""notes" MATCH 'black' ORDER BY rank""", ["coffee", "tea"]),
        ("""SELECT title FROM "some ""notes" WHERE body MATCH 'gre*'""", ["tea"]),
        ("""SELECT title FROM "some ""notes"('green AND black')""", ["tea"]),
        (
            """SELECT highlight("some ""notes", 1, '<', '>') FROM "some ""notes" WHERE "some ""notes" MATCH 'green'""",
            ["<green> and black"],
        ),
        (
            """SELECT snippet("some ""notes", 1, '<', '>', '…', 2) FROM "some ""notes"('green')""",
            ["<green> and…"],
        ),
        ("""SELECT bm25("some ""notes") < 0 FROM "some ""notes"('green')""", [1]),
        ("""SELECT count(*) FROM "some ""notes" """, [2]),
        ("SELECT term FROM terms WHERE doc = 2", ["black"]),
        ("SELECT body FROM old WHERE old MATCH 'green'", ["green tea"]),
        ("SELECT offsets(old) FROM old WHERE old MATCH 'black'", ["0 0 0 5"]),
        ("SELECT snippet(old) FROM old WHERE old MATCH 'black'", ["<b>black</b> tea"]),
        ("SELECT body FROM oldest WHERE oldest MATCH 'tea'", ["green tea"]),
        ("SELECT rowid FROM outside WHERE outside MATCH 'red'", [7]),
        ("SELECT id FROM boxes WHERE low > 2", [2]),
        ("SELECT p.body FROM page p JOIN outside o ON o.rowid = p.id WHERE outside MATCH 'tea'", ["red tea"]),
        ("SELECT value FROM json_each('[3, 4]')", [3, 4]),
        ("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 3) SELECT x FROM r", [1, 2, 3]),
        ("SELECT row_number() OVER (ORDER BY id) FROM page", [1]),
        ("VALUES (1), (2)", [1, 2]),
    ],
)
def test_sqlite_answers(sqlite_store: Databases, query: str, expected: list[object]) -> None:
    assert [row[0] for row in rows(sqlite_store, query)] == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("PIVOT item ON name USING sum(price) ORDER BY id", [(1, 1, None), (2, None, 2), (3, 4, None)]),
        ("PIVOT item ON name USING sum(price) GROUP BY id ORDER BY id DESC LIMIT 1;", [(3, 4, None)]),
        ("PIVOT item ON name IN ('a') USING count(*) GROUP BY id ORDER BY id", [(1, 1), (2, 0), (3, 1)]),
        ("WITH x AS (SELECT name, price FROM item) PIVOT x ON name USING sum(price)", [(5, 2)]),
        ("SELECT a + b FROM (PIVOT (SELECT name, price FROM item) ON name USING sum(price))", [(7,)]),
        ("SELECT * FROM (SELECT name, price FROM item) PIVOT (max(price) FOR name IN ('a', 'b'))", [(4, 2)]),
        (
            "UNPIVOT (SELECT id, price FROM item WHERE id = 2) ON id, price INTO NAME n VALUE v",
            [("id", 2), ("price", 2)],
        ),
        ("FROM item SELECT name WHERE id = 2", [("b",)]),
        ("FROM item WHERE id = 2", [(2, "b", 2)]),
        ("TABLE item LIMIT 1", [(1, "a", 1)]),
        ("VALUES (1), (2)", [(1,), (2,)]),
        ("SELECT column_name FROM (DESCRIBE item)", [("id",), ("name",), ("price",)]),
        ("SELECT max FROM (SUMMARIZE item)", [("3",), ("b",), ("4.0",)]),
        ("SHOW TABLES", [("item",)]),
        ("SELECT count(*) FROM generate_series(1, 3)", [(3,)]),
        ("SELECT regexp_matches(name, 'b') FROM item WHERE id = 2", [(True,)]),
        (
            "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 3) SELECT sum(x)::INT FROM r",
            [(6,)],
        ),
        ("SELECT id FROM item QUALIFY row_number() OVER (ORDER BY price DESC) = 1", [(3,)]),
        ("SELECT list_sum([1, 2])::INT, [x + 1 FOR x IN [1]]", [(3, "[2]")]),
        # A time with its zone, for which DuckDB asks for a package that nobody has to have.
        (
            "SELECT epoch(timestamptz '2024-01-01 00:00:00+02')::INT, now() > '2020-01-01'::TIMESTAMPTZ",
            [(1704060000, True)],
        ),
        # Names that only look like those that are refused.
        ("SELECT query FROM (SELECT 1 AS query)", [(1,)]),
        ("SELECT 'query (1)', 'it''s' AS current", [("query (1)", "it's")]),
        ("SELECT current_database()", [("shop",)]),
    ],
)
def test_duckdb_answers(duckdb_store: Databases, query: str, expected: list[tuple[object, ...]]) -> None:
    assert rows(duckdb_store, query) == expected


def test_a_time_with_its_zone_is_handed_out(duckdb_store: Databases) -> None:
    ((moment, inside),) = rows(duckdb_store, "SELECT x, [x] FROM (SELECT timestamptz '2024-01-01 00:00:00+00' AS x)")
    assert str(moment).startswith(("2024-01-01", "2023-12-31"))
    assert "2024" in str(inside) or "2023" in str(inside)


def test_a_pivot_leaves_nothing_to_the_next_query(duckdb_store: Databases) -> None:
    rows(duckdb_store, "PIVOT item ON name USING sum(price)")
    assert rows(duckdb_store, "SELECT count(*) FROM duckdb_types() WHERE database_name = 'temp' AND NOT internal") == [
        (0,)
    ]


def test_what_is_still_refused(sqlite_store: Databases, duckdb_store: Databases) -> None:
    """A plan or a setting is no answer to a question about data; both engines' DESCRIBE-like tables are enough."""
    for query in ("EXPLAIN SELECT 1", "EXPLAIN QUERY PLAN SELECT 1", "PRAGMA table_info(page)", "ANALYZE"):
        assert failure(sqlite_store, query).reason == Reason.REFUSED
    for query in ("EXPLAIN SELECT 1", "PRAGMA table_info('item')", "CALL pragma_version()", "CHECKPOINT"):
        assert failure(duckdb_store, query).reason == Reason.REFUSED


# ---- where the store lies


def test_no_table_or_function_of_duckdb_tells_the_folder(duckdb_store: Databases) -> None:
    """Every one that this version has, whatever it is called."""
    duckdb = pytest.importorskip("duckdb")
    place = str(duckdb_store.path)
    with duckdb.connect(":memory:") as connection:
        views = connection.execute(
            "SELECT DISTINCT schema_name || '.' || view_name FROM duckdb_views() WHERE internal"
        ).fetchall()
        tables = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE 'table%'"
        ).fetchall()
        settings = connection.execute("SELECT name FROM duckdb_settings()").fetchall()
        scalars = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('scalar', 'macro')"
            " AND len(parameters) = 0"
        ).fetchall()
    assert len(views) > 20 and len(tables) > 30 and len(settings) > 50 and len(scalars) > 10
    queries = [f"SELECT * FROM {name}" for (name,) in views]
    queries += [f'SELECT * FROM "{name}"({argument})' for (name,) in tables for argument in ("", "'item'")]
    queries += [f"SHOW {name}" for (name,) in settings]
    queries += [f"SELECT current_setting('{name}')" for (name,) in settings]
    queries += [f'SELECT "{name}"()' for (name,) in scalars]
    outcomes = duckdb_store.execute_many([Request(query, place) for query in queries])
    assert sum(isinstance(outcome, Answer) for outcome in outcomes) > 50
    assert [query for query, outcome in zip(queries, outcomes, strict=True) if FOLDER in repr(outcome)] == []


def test_no_table_or_function_of_sqlite_tells_the_folder(sqlite_store: Databases) -> None:
    with sqlite3.connect(":memory:") as connection:
        modules = [name for (name,) in connection.execute("SELECT name FROM pragma_module_list")]
        pragmas = [name for (name,) in connection.execute("SELECT name FROM pragma_pragma_list")]
        functions = [name for (name,) in connection.execute("SELECT DISTINCT name FROM pragma_function_list")]
    connection.close()
    assert len(pragmas) > 30 and len(functions) > 50
    queries = [f'SELECT * FROM "{name}"' for name in [*modules, *(f"pragma_{name}" for name in pragmas)]]
    queries += [f"PRAGMA {name}" for name in pragmas]
    queries += [f'SELECT "{name}"({argument})' for name in functions for argument in ("", "0", "'main'")]
    requests = [Request(query, str(sqlite_store.path)) for query in queries]
    outcomes = sqlite_store.execute_many(requests)
    assert [query for query, outcome in zip(queries, outcomes, strict=True) if FOLDER in repr(outcome)] == []
    refused = [o for q, o in zip(queries, outcomes, strict=True) if q.startswith("PRAGMA") and isinstance(o, Failure)]
    assert len(refused) == len(pragmas)


def test_messages_do_not_tell_the_folder(tmp_path: Path, duckdb_store: Databases, sqlite_store: Databases) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    torn = folder / "torn.db"
    torn.write_bytes(b"SQLite format 3\0" + b"\xff" * 3000)
    for store in (duckdb_store, sqlite_store):
        place = store.path.parent
        for file in (place / "none.db", torn, folder / "none.db"):
            outcome = store.execute(Request("SELECT * FROM nothing", str(file)))
            assert isinstance(outcome, Failure)
            assert FOLDER not in outcome.message, outcome
        # Also where the query itself names a file beside the store, and where a message is cut.
        for query in (f"SELECT * FROM '{place}/beside.csv'", f"SELECT '{'x' * 480}' FROM '{place}/beside.csv'"):
            assert FOLDER not in failure(store, query).message


def test_a_torn_graph_store_does_not_tell_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER / "store"
    folder.mkdir(parents=True)
    (folder / "CURRENT").write_text("MANIFEST-000001\n")
    with Graph(folder, workers=1) as store:
        outcome = store.execute(Request("ASK { ?s ?p ?o }"))
    assert isinstance(outcome, Failure)
    assert "could not be opened" in outcome.message
    assert FOLDER not in outcome.message
