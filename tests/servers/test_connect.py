"""`--connect`: any DB-API connection. sqlite3 is the driver here, since it needs no server."""

from __future__ import annotations

import sqlite3
import textwrap
from pathlib import Path
from typing import Any

import pytest

from sensecheck.cli import main
from sensecheck.correct import evaluate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer, ConnectedDatabases, Failure, Limits, Request, StoreError
from sensecheck.stores.servers.connection import reading_only

NO_INTERVALS = IntervalOptions(method="none")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module that connects and a database to connect to."""
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.executescript("CREATE TABLE item (id, name); INSERT INTO item VALUES (1, 'apple'), (2, 'pear');")
    (tmp_path / "warehouse.py").write_text(
        textwrap.dedent(
            """
            import os, sqlite3, time
            FOLDER = os.path.dirname(os.path.abspath(__file__))

            def connect(name):
                return sqlite3.connect(f"{FOLDER}/{name}.db")

            def only():
                return sqlite3.connect(f"{FOLDER}/shop.db")

            def slow(name):
                connection = sqlite3.connect(f"{FOLDER}/{name}.db")
                connection.create_function("wait", 0, lambda: time.sleep(60))
                return connection

            def broken():
                raise RuntimeError("no such account")

            def nothing(name):
                return None

            number = 7
            """
        )
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(prediction: str, **more: Any) -> dict[str, Any]:
    return {"id": "1", "db_id": "shop", "gold": "SELECT name FROM item", "prediction": prediction, **more}


def test_figures_notes_and_signature(folder: Path) -> None:
    records = [record("select name from item"), record("select id from item", id="2")]
    result = evaluate(records, connect="warehouse:connect", dialect="sqlite", options=NO_INTERVALS, workers=1)
    assert result["accuracy"].value == 0.5
    assert any("limits are the server's" in note for note in result.notes)
    assert "the server's" in str(result.signature)
    assert "sqlite through warehouse:connect" in str(result.signature)


def test_the_dialect_follows_the_driver(folder: Path) -> None:
    with ConnectedDatabases("warehouse:only", workers=1) as store:
        assert store.dialect == "sqlite"
        assert store.execute(Request("SELECT id FROM item", "")).rows == [(1,), (2,)]  # type: ignore[union-attr]
    with pytest.raises(StoreError, match="name the dialect"):
        ConnectedDatabases("warehouse:connect")


@pytest.mark.parametrize(
    ("connect", "dialect", "words"),
    [
        ("warehouse", None, "expected module:function"),
        ("nowhere:connect", "sqlite", "there is no module nowhere"),
        ("warehouse:absent", "sqlite", "has no function absent"),
        ("warehouse:number", "sqlite", "no function but int"),
        ("warehouse:broken", None, "RuntimeError: no such account"),
        ("warehouse:connect", "sqlight", "sqlite"),
    ],
)
def test_what_cannot_be_opened(
    folder: Path, capsys: pytest.CaptureFixture[str], connect: str, dialect: str | None, words: str
) -> None:
    file = folder / "one.jsonl"
    file.write_text('{"id": "1", "db_id": "shop", "gold": "SELECT 1", "prediction": "SELECT 1"}\n')
    chosen = ["--dialect", dialect] if dialect else []
    assert main(["correct", str(file), "--connect", connect, *chosen]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told


def test_limits_of_ours(folder: Path) -> None:
    limits = Limits(seconds=1, rows=100, bytes=1 << 20)
    many = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    with ConnectedDatabases("warehouse:slow", dialect="sqlite", limits=limits, workers=1) as store:
        ends = [
            store.execute(Request(text, "shop"))
            for text in (
                many,
                f"{many} WHERE i < 0",
                "SELECT wait()",
                "SELECT printf('%9999999d', 1)",
                "SELECT id FROM item",
            )
        ]
    reasons = [str(outcome.reason) if isinstance(outcome, Failure) else outcome.rows for outcome in ends]
    assert reasons == ["too large", "timeout", "timeout", "too large", [(1,), (2,)]]


HOSTILE = [
    ("sqlite", "DELETE FROM item"), ("sqlite", "SELECT 1; DELETE FROM item"), ("sqlite", "PRAGMA writable_schema = 1"),
    ("sqlite", "ATTACH 'x.db' AS x"), ("sqlite", "VACUUM INTO 'x.db'"), ("sqlite", "SELECT load_extension('x')"),
    ("sqlite", "SELECT writefile('x', 'y')"), ("sqlite", "CREATE TABLE x (a)"), ("sqlite", "REPLACE INTO item VALUES (1)"),
    ("sqlite", "EXPLAIN DELETE FROM item"), ("sqlite", "WITH x AS (SELECT 1) DELETE FROM item"),
    ("snowflake", "PUT file:///etc/passwd @~"), ("snowflake", "COPY INTO @stage FROM t"), ("snowflake", "CALL p()"),
    ("snowflake", "SELECT system$wait(60)"), ("snowflake", "ALTER SESSION SET x = 1"), ("snowflake", "USE ROLE accountadmin"),
    ("snowflake", "TRUNCATE TABLE t"), ("snowflake", "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE"),
    ("bigquery", "EXPORT DATA OPTIONS (uri='gs://x') AS SELECT 1"), ("bigquery", "EXECUTE IMMEDIATE 'DROP TABLE t'"),
    ("bigquery", "SELECT * FROM EXTERNAL_QUERY('c', 'DELETE FROM t')"), ("bigquery", "DECLARE x INT64; SELECT x"),
    ("bigquery", "INSERT INTO t VALUES (1)"),
    ("trino", "SELECT * FROM TABLE(system.query(query => 'DROP TABLE t'))"), ("trino", "CREATE TABLE x AS SELECT 1"),
    ("trino", "DROP SCHEMA x"), ("trino", "PREPARE p FROM DELETE FROM t"),
    ("tsql", "EXEC xp_cmdshell 'dir'"), ("tsql", "SELECT * INTO x FROM t"), ("tsql", "WAITFOR DELAY '00:01'"),
    ("tsql", "SELECT * FROM OPENROWSET('SQLNCLI', 'x', 'y')"), ("tsql", "SELECT * FROM OPENQUERY(srv, 'DELETE t')"),
    ("tsql", "SELECT 1 DELETE FROM t"), ("tsql", "SELECT @@SERVERNAME"), ("tsql", "SHUTDOWN"),
    ("oracle", "BEGIN DELETE FROM t; END;"), ("oracle", "SELECT utl_http.request('http://x') FROM dual"),
    ("oracle", "SELECT dbms_lock.sleep(60) FROM dual"), ("oracle", "SELECT * FROM t FOR UPDATE"),
    ("postgres", "SELECT pg_read_file('/etc/passwd')"), ("postgres", "SELECT dblink('x', 'y')"),
    ("postgres", "COPY t TO PROGRAM 'x'"), ("postgres", "SELECT pg_sleep(60)"),
    ("mysql", "SELECT 1 INTO OUTFILE '/x'"), ("mysql", "SELECT sleep(60)"), ("mysql", "SELECT load_file('/x')"),
    ("mysql", "SELECT 1 /*! INTO OUTFILE '/x' */"), ("duckdb", "SELECT * FROM read_csv('/etc/passwd')"),
    ("duckdb", "COPY t TO 'x'"), ("duckdb", "INSTALL httpfs"), ("clickhouse", "SELECT * FROM url('http://x', CSV)"),
    ("clickhouse", "SELECT * FROM file('/etc/passwd')"), ("clickhouse", "SYSTEM SHUTDOWN"),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "text"), HOSTILE)
def test_what_does_more_than_read(dialect: str, text: str) -> None:
    failure = reading_only(text, dialect)
    assert failure is not None
    assert str(failure.reason) in ("refused", "syntax")


def test_deep_and_long(folder: Path) -> None:
    with ConnectedDatabases("warehouse:only", workers=1) as store:
        for text in ("SELECT " + "(" * 20_000 + "1", "SELECT 1" + " + 1" * 20_000, "SELECT '", "", "\0"):
            assert isinstance(store.execute(Request(text)), Failure)
        assert isinstance(store.execute(Request("SELECT 1")), Answer)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("sqlite", "SELECT name, count(*) FROM item GROUP BY 1 HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 3"),
        (
            "snowflake",
            "SELECT a:b::string, date_trunc('month', d) FROM db.s.t QUALIFY row_number() OVER (ORDER BY a) = 1",
        ),
        (
            "bigquery",
            "WITH x AS (SELECT 1 AS a) SELECT DATE_DIFF(d, e, DAY), ARRAY_AGG(a) FROM `p.d.t`, x UNION ALL SELECT 1, []",
        ),
        ("trino", "SELECT approx_distinct(a), json_extract_scalar(b, '$.c') FROM c.s.t CROSS JOIN UNNEST(d) AS u (e)"),
        ("tsql", "SELECT TOP 3 [name], DATEADD(day, 1, d), ISNULL(a, 0) FROM dbo.t ORDER BY a"),
        ("mysql", "SELECT insert('abc', 1, 2, 'x'), truncate(1.5, 0), t.`update`, 'delete' FROM t"),
        ("oracle", "SELECT a, NVL(b, 0), TO_CHAR(d, 'YYYY') FROM t WHERE ROWNUM <= 5"),
    ],
)
def test_what_only_reads(dialect: str, text: str) -> None:
    assert reading_only(text, dialect) is None
