"""Which database a record asks, what a suite is on a server, and what is told of the role."""

from __future__ import annotations

from typing import Any

import pytest
from tests.servers.running import PASSWORD, MariaDb, Postgres, Server

from sensecheck.correct import evaluate
from sensecheck.inputs.errors import InputError
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import concatenated
from sensecheck.stores import ServerDatabases, StoreError
from sensecheck.stores.pool import _missing_extra

NO_INTERVALS = IntervalOptions(method="none")


def asked(
    database: str, place: str, gold: str = "SELECT max(id) FROM item", prediction: str = "SELECT count(*) FROM item"
) -> Any:
    records = [{"id": "1", "db_id": database, "gold": gold, "prediction": prediction}]
    return evaluate(records, database=place, options=NO_INTERVALS, workers=1, reasons=False)


@pytest.fixture
def suite(server: Server) -> Server:
    """A database and a variant of it, on which a count is no maximum."""
    if not server.execute(
        "SELECT 1 FROM pg_database WHERE datname = 'farmv1'"
        if isinstance(server, Postgres)
        else "SELECT 1 FROM information_schema.schemata WHERE schema_name = 'farmv1'"
    ):
        for name, row in (("farm", 1), ("farmv1", 7)):
            server.create(name)
            server.execute("CREATE TABLE item (id int)", f"INSERT INTO item VALUES ({row})", database=name)
    return server


def test_suites(suite: Server) -> None:
    place = suite.address(rest="/{db_id}")
    with ServerDatabases(place, workers=1) as store:
        assert store.files("farm") == ["farm", "farmv1"]
        assert store.files("FARM")[0] == "farm"
        with pytest.raises(StoreError, match="there is no database 'nowhere'"):
            store.files("nowhere")
    assert asked("farm", place)["accuracy"].value == 0.0  # equal on the first, different on the second
    assert asked("farm", suite.address(rest="/farm"))["accuracy"].value == 1.0
    assert asked("rm", suite.address(rest="/fa{db_id}"))["accuracy"].value == 0.0
    with pytest.raises(ValueError, match="the records name another one"):
        asked("other", suite.address(rest="/farm"))
    with pytest.raises(ValueError, match="none of the databases that the records name is there"):
        asked("other", place)


def test_the_dialect_follows_the_server(server: Server) -> None:
    """Normal forms and hardness read what only this server's dialect has."""
    gold, prediction = (
        ("SELECT price::int FROM item WHERE name ~~ 'a%'", "SELECT CAST(price AS int) FROM item WHERE name LIKE 'a%'")
        if isinstance(server, Postgres)
        else ('SELECT `name` FROM item WHERE name = "apple"', "SELECT name FROM item WHERE name = 'apple'")
    )
    hardness = "medium" if isinstance(server, Postgres) else "easy"  # a pattern is a component
    result = asked("shop", server.address(), gold, prediction)
    (row,) = concatenated(result.rows, ["correct", "em", "em_normalised", "hardness"]).iter_rows(named=True)
    assert row == {"correct": True, "em": False, "em_normalised": True, "hardness": hardness}


def test_schemas(postgres: Server) -> None:
    postgres.execute(
        "CREATE SCHEMA IF NOT EXISTS barn", "GRANT USAGE ON SCHEMA barn TO reader",
        "CREATE TABLE IF NOT EXISTS barn.item (id int)", "INSERT INTO barn.item VALUES (1)",
        "GRANT SELECT ON barn.item TO reader", database="shop",
    )  # fmt: skip
    place = postgres.address(rest="/shop?schema={db_id}")
    with ServerDatabases(place, workers=1) as store:
        assert "barn" in store.names()
        assert store.tables("barn") == {"item"}
    assert asked("barn", place)["accuracy"].value == 1.0


def test_what_is_told_of_the_role(server: Server) -> None:
    with ServerDatabases(server.address("owner"), workers=1) as store:
        (told,) = store.warnings()
        assert "owner" in told
        assert ("superuser" in told) or ("ALL PRIVILEGES" in told)
    with ServerDatabases(server.address("reader"), workers=1) as store:
        assert store.warnings() == []


def test_a_role_that_may_write(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told of one database and of one for each db_id; a right to read some columns lets nobody write."""
    if not isinstance(server, MariaDb):
        server.execute("DROP ROLE IF EXISTS writer")
    server.execute(
        f"CREATE ROLE writer LOGIN PASSWORD '{PASSWORD}'" if isinstance(server, Postgres)
        else f"CREATE OR REPLACE USER writer@'%' IDENTIFIED BY '{PASSWORD}'",
        "GRANT SELECT (id, name, price), UPDATE (name, price) ON item TO writer" if isinstance(server, Postgres)
        else "GRANT SELECT (id, name, price) ON item TO writer@'%'",
        "GRANT INSERT ON sale TO writer" if isinstance(server, Postgres) else "GRANT SELECT ON sale TO writer@'%'",
        database="shop",
    )  # fmt: skip
    try:
        for rest in ("/shop", "/{db_id}"):
            result = asked("shop", server.address("writer", rest), "SELECT 1", "SELECT 1")
            told = [note for note in result.notes if "the role writer" in note]
            if isinstance(server, Postgres):
                assert len(told) == 1
                assert "may write to 1 table:" in told[0]
            else:
                assert not told
        if isinstance(server, MariaDb):
            server.execute("GRANT UPDATE (name), DELETE ON item TO writer@'%'", database="shop")
            result = asked("shop", server.address("writer"), "SELECT 1", "SELECT 1")
            assert any("has the rights DELETE, UPDATE" in note or "UPDATE, DELETE" in note for note in result.notes)
    finally:
        if isinstance(server, Postgres):
            server.execute("DROP OWNED BY writer", "DROP ROLE writer", database="shop")
        else:
            server.execute("DROP USER writer@'%'")


def test_what_the_fingerprint_sees(server: Server) -> None:
    """Tables of other schemas, which queries may name; a column called as our word for a row; an edit that keeps the
    number of rows; and nothing else."""
    server.create("seen")
    in_schema = "CREATE TABLE held_by (held int, other int)"
    server.execute(in_schema, "INSERT INTO held_by VALUES (1, 2)", database="seen")
    if isinstance(server, Postgres):
        server.execute(
            "CREATE SCHEMA hr", "CREATE TABLE hr.staff (id int)", "INSERT INTO hr.staff VALUES (1)",
            "GRANT USAGE ON SCHEMA hr TO reader", "GRANT SELECT ON hr.staff TO reader", database="seen",
        )  # fmt: skip
    prints = []
    edits = ["SELECT 1", "UPDATE held_by SET other = 3", "UPDATE held_by SET other = 2"]
    if isinstance(server, Postgres):
        edits += ["UPDATE hr.staff SET id = 2"]
    for edit in edits:
        server.execute(edit, database="seen")
        with ServerDatabases(server.address(rest="/seen"), workers=1) as store:
            prints.append(store.file_print("seen"))
    assert prints[0] == prints[2] != prints[1]
    assert len({prints[0], *prints[3:]}) == len(edits) - 2


def test_parts_audit_and_timing(server: Server) -> None:
    """What asks a store for more than answers asks a server alike."""
    records = [
        {
            "id": "1",
            "db_id": "shop",
            "gold": "SELECT name FROM item WHERE id = 1",
            "prediction": "SELECT name FROM item",
        },
        {"id": "2", "db_id": "shop", "gold": "SELECT count(*) FROM sale", "prediction": "SELECT count(*) FROM sale"},
        {"id": "3", "db_id": "shop", "gold": "SELECT name FROM item WHERE name = 'aple'", "prediction": "SELECT 1"},
    ]
    result = evaluate(
        records, database=server.address(), parts=True, audit=True, conventions=["test-suite", "bird", "ves", "spider-exact"],
        ves_runs=1, workers=1, options=NO_INTERVALS,
    )  # fmt: skip
    assert result["accuracy"].value == pytest.approx(1 / 3)
    assert result["bird"].value == pytest.approx(1 / 3)
    assert any("aple" in str(row) for row in result.extra.values())


def test_a_missing_driver_names_its_extra() -> None:
    assert _missing_extra("No module named 'psycopg'").endswith("pip install 'sensecheck[postgresql]'")
    assert _missing_extra("No module named 'pymysql'").endswith("pip install 'sensecheck[mysql]'")


def test_wrong_passwords_and_databases(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"database .*nowhere"):
        asked("nowhere", server.address(rest="/nowhere"))
    monkeypatch.setenv("PGPASSWORD", "wrong")
    monkeypatch.setenv("MYSQL_PWD", "wrong")
    words = "Access denied" if isinstance(server, MariaDb) else "password authentication failed"
    with pytest.raises((StoreError, InputError), match=words):
        asked("shop", server.address())
