"""Nothing is written, nothing of the host is read, each query ends in time, and the next is answered."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Any

import pytest
from tests.servers.attacks import ANSWER, CASES, QUESTION, Ground, suite
from tests.servers.conftest import CANARY, Listener
from tests.servers.running import PASSWORD, MariaDb, Postgres, Server

from sensecheck.stores import Answer, Limits, Request, ServerDatabases

LIMITS = Limits(seconds=1.5, memory=512 << 20, rows=10_000, bytes=8 << 20)


def cases_of(server: Server) -> list[dict[str, object]]:
    cases = CASES["postgresql" if isinstance(server, Postgres) else "mysql"]
    assert len(cases) >= 40
    return list(cases)


@pytest.fixture
def ground(server: Server, listener: Listener) -> Ground:
    if isinstance(server, Postgres):
        server.execute("CREATE EXTENSION IF NOT EXISTS dblink", database="shop")
    return Ground(server, listener.port)


@pytest.mark.servers
@pytest.mark.parametrize("user", ["owner", "reader"])
def test_hostile_queries(ground: Ground, listener: Listener, user: str) -> None:
    """As somebody who may do everything the gate stands alone; as a reader, so does what both refuse."""
    print(f"\n{ground.server.name} as {user}: limit {LIMITS.seconds:g} s")
    wrong = suite(ground, cases_of(ground.server), user, LIMITS)
    assert not wrong, "\n".join(wrong)
    assert not listener.knocks


@pytest.mark.servers
def test_the_watch_sees_what_an_owner_can_do(ground: Ground) -> None:
    """The suite is worth something only if the same attacks succeed without a gate."""
    before = ground.state()
    if isinstance(ground.server, MariaDb):
        read = ground.server.execute(f"SELECT LOAD_FILE('{ground.secret}')", database="shop")
        ground.server.execute(f"SELECT 1 INTO OUTFILE '{ground.out}/written'", database="shop")
        written = ground.out / "written"
    else:
        read = ground.server.execute(f"SELECT pg_read_file('{ground.secret}')", database="shop")
        ground.server.execute(f"COPY (SELECT 1) TO '{ground.out}/written'", database="shop")
        written = ground.out / "written"
    assert CANARY in str(read)
    assert ground.state() != before
    written.unlink()
    assert ground.state() == before


@pytest.mark.servers
def test_the_role_alone(ground: Ground, listener: Listener) -> None:
    """As the reader of docs/databases.md, without any gate of ours: what is refused by us is refused by the server, or
    does no harm."""
    before = ground.state()
    quick = [case for case in cases_of(ground.server) if "ends" not in case]
    told: list[str] = []
    for case in quick:
        text = ground.text_of(case)
        with suppress(Exception), closing(reader_of(ground.server)) as connection, connection.cursor() as cursor:
            cursor.execute(text)
            told.append(str(cursor.fetchall()))
    assert not [rows for rows in told if CANARY in rows]
    assert ground.state() == before
    assert not listener.knocks
    print(f"{ground.server.name}: {len(quick)} queries, of which the server ran {len(told)} to their end")


def reader_of(server: Server) -> Any:
    """A reader's connection by the driver itself, with a limit of one second that a query may take back."""
    if isinstance(server, MariaDb):
        import pymysql

        return pymysql.connect(
            host="127.0.0.1", port=server.port, user="reader", password=PASSWORD, database="shop", read_timeout=3,
            init_command="SET max_statement_time = 1",
        )  # fmt: skip
    import psycopg

    return psycopg.connect(
        host="127.0.0.1", port=server.port, user="reader", password=PASSWORD, dbname="shop", autocommit=True,
        options="-c statement_timeout=1000",
    )  # fmt: skip


def test_some_hostile_queries(ground: Ground, listener: Listener) -> None:
    """A smoke of the suite: every third case that takes no time, and one that does."""
    quick = [case for case in cases_of(ground.server) if "ends" not in case][::3]
    slow = [case for case in cases_of(ground.server) if "timeout" in case.get("ends", ())][:1]
    wrong = suite(ground, quick + slow, "owner", LIMITS)
    assert not wrong, "\n".join(wrong)
    assert not listener.knocks


def test_what_only_reads_is_answered(server: Server) -> None:
    """A gate that refuses everything is safe and useless."""
    asked = [
        QUESTION,
        "select count(*), max(price), min(name) from item i join sale s on s.item = i.id where (i.price) in (1.5, 2) ;",
        "WITH t (a, b) AS (SELECT id, name FROM item), u (c) AS (SELECT a FROM t) SELECT * FROM u, t WHERE a = c",
        "(SELECT 1) UNION ALL (SELECT 2) ORDER BY 1 LIMIT 1",
        "SELECT 'DROP TABLE item; -- ' AS a, 'it''s' AS b, 1 AS \"share\" -- done",
        "SELECT row_number() OVER (PARTITION BY name ORDER BY id), coalesce(name, 'none') FROM item",
        "SELECT CAST(price AS decimal(10, 1)), substring(name, 1, 2), extract(year from day) FROM item, sale",
        "SELECT x.n FROM (SELECT id AS n FROM item) AS x (n) WHERE EXISTS (SELECT 1 FROM sale WHERE item = n)",
        "SELECT table_name FROM information_schema.tables",
        "VALUES (1, 'a'), (2, 'b')",
        "SELECT random() < 2, count(*) FILTER (WHERE id > 1), string_agg(name, ',') FROM item"
        if isinstance(server, Postgres)
        else "SELECT rand() < 2, group_concat(name SEPARATOR ','), if(1 > 0, 'a', 'b') FROM item",
        "SELECT generate_series(1, 3), to_char(now(), 'YYYY'), now() - interval '1 day', array[1, 2], '{}'::jsonb"
        if isinstance(server, Postgres)
        else "SELECT date_format(now(), '%Y'), now() - interval 1 day, `name`, 5 div (2), 7 mod (4) FROM item",
    ]
    with ServerDatabases(server.address(), workers=1) as store:
        told = [store.execute(Request(text, "shop")) for text in asked]
    failed = [(text, outcome) for text, outcome in zip(asked, told, strict=True) if not isinstance(outcome, Answer)]
    known = {"SELECT x.n FROM (SELECT id AS n FROM item) AS x (n) WHERE EXISTS (SELECT 1 FROM sale WHERE item = n)"}
    assert not [one for one in failed if one[0] not in known or isinstance(server, Postgres)]
    first = told[0]
    assert isinstance(first, Answer)
    assert first.rows == ANSWER
