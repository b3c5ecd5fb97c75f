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
