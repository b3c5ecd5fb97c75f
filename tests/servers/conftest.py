"""Servers that all tests of a process share. The long tests run under `make test-servers` alone."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.servers.running import PASSWORD, MariaDb, Postgres, Server

LONG = "SENSECHECK_TEST_SERVERS"
CANARY = "CANARY-8d1f"
"""What nobody may read: in a file of the server, and in its password for another."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("servers"))  # one process starts them
            if item.get_closest_marker("servers") and not os.environ.get(LONG):
                item.add_marker(pytest.mark.skip(reason="takes minutes: make test-servers"))


@pytest.fixture(autouse=True)
def passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where drivers look for them; nothing else of the developer's own settings is read."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    monkeypatch.setenv("PGPASSFILE", "/nonexistent")
    monkeypatch.setenv("HOME", "/nonexistent")


def _running(server: Server) -> Iterator[Server]:
    try:
        server.start()
        server.create("shop")
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    for server in _running(Postgres()):
        server.execute(
            "CREATE TABLE item (id int PRIMARY KEY, name text, price numeric(10, 2))",
            "INSERT INTO item VALUES (1, 'apple', 1.50), (2, 'pear', 2.00), (3, NULL, NULL)",
            "CREATE TABLE sale (item int REFERENCES item (id), day date)",
            "INSERT INTO sale VALUES (1, '2026-01-01'), (1, '2026-01-02'), (2, '2026-01-02')",
            "CREATE SEQUENCE counter",
            "CREATE FUNCTION wipe() RETURNS int LANGUAGE sql AS 'DELETE FROM item; SELECT 1'",
            # Ways to call a function that a list of names followed by a bracket does not see.
            "CREATE FUNCTION wipe_row(item) RETURNS int LANGUAGE sql AS 'SELECT wipe()'",
            "CREATE FUNCTION Écrire() RETURNS int LANGUAGE sql AS 'SELECT wipe()'",
            f"CREATE FUNCTION {'w' * 63}() RETURNS int LANGUAGE sql AS 'SELECT wipe()'",
            "CREATE FUNCTION timeofday(int) RETURNS int LANGUAGE sql AS 'SELECT wipe()'",
            "CREATE FUNCTION step(int, int) RETURNS int LANGUAGE sql AS 'SELECT wipe()'",
            "CREATE AGGREGATE wiped(int) (SFUNC = step, STYPE = int, INITCOND = '0')",
            "CREATE SCHEMA tools",
            "CREATE FUNCTION tools.wipe_all() RETURNS int LANGUAGE sql AS 'SELECT wipe()'",
            "CREATE PROCEDURE wipe_it() LANGUAGE sql AS 'DELETE FROM item'",
            "CREATE EXTENSION postgres_fdw",
            "CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw",
            f"CREATE USER MAPPING FOR owner SERVER far OPTIONS (user 'far', password '{CANARY}')",
            database="shop",
        )
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Server]:
    for server in _running(MariaDb()):
        server.execute(
            "CREATE TABLE item (id int PRIMARY KEY, name varchar(20), price decimal(10, 2))",
            "INSERT INTO item VALUES (1, 'apple', 1.50), (2, 'pear', 2.00), (3, NULL, NULL)",
            "CREATE TABLE sale (item int, day date, FOREIGN KEY (item) REFERENCES item (id))",
            "INSERT INTO sale VALUES (1, '2026-01-01'), (1, '2026-01-02'), (2, '2026-01-02')",
            "CREATE SEQUENCE counter",
            "CREATE FUNCTION wipe() RETURNS int BEGIN DELETE FROM item; RETURN 1; END",
            "CREATE PROCEDURE wipe_all() DELETE FROM item",
            # Functions of a database that are called as what other servers compute, or as a number.
            "CREATE FUNCTION regexp_like(a text, b text) RETURNS int RETURN wipe()",
            "CREATE FUNCTION `1left`(a int) RETURNS int RETURN wipe()",
            "CREATE FUNCTION `1e5`() RETURNS int RETURN wipe()",
            database="shop",
        )
        yield server


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    """Each kind of server in turn."""
    found: Server = request.getfixturevalue(request.param)
    return found


class Listener:
    """A port on which nobody may knock."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.socket.getsockname()[1])
        self.knocks: list[Any] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                connection, address = self.socket.accept()
            except OSError:
                return
            self.knocks.append(address)
            connection.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.socket.close()
