"""What answers at an address may be no database at all: one message, and never a wait beyond the time to connect."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from sensecheck.stores import EndpointDeadError, Limits, ServerDatabases, StoreError

WEB = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n" + b"x" * 100
SHELL = b"SSH-2.0-OpenSSH_9.2p1\r\n"
GREETING = b"\x05\x00\x00\x00\x0aabc\x00"
"""As MySQL begins, and then nothing that belongs there."""


@pytest.fixture
def stranger() -> Iterator[Callable[[bytes], int]]:
    """A port that says some bytes to everybody and hangs up."""
    listeners: list[socket.socket] = []

    def listen(listener: socket.socket, words: bytes) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.sendall(words)
                connection.settimeout(0.5)
                connection.recv(1000)

    def opened(words: bytes) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=listen, args=(listener, words), daemon=True).start()
        return int(listener.getsockname()[1])

    yield opened
    for listener in listeners:
        listener.close()


@pytest.mark.parametrize("words", [WEB, SHELL, GREETING, b""], ids=["web", "shell", "greeting", "nothing"])
@pytest.mark.parametrize(("scheme", "driver"), [("postgresql", "psycopg"), ("mysql", "pymysql")])
def test_another_protocol(stranger: Callable[[bytes], int], scheme: str, driver: str, words: bytes) -> None:
    pytest.importorskip(driver)
    port, started = stranger(words), time.monotonic()
    address = f"{scheme}://me:s3cret@127.0.0.1:{port}/shop"
    with (
        ServerDatabases(address, limits=Limits(seconds=1), workers=1) as store,
        pytest.raises(EndpointDeadError, match=rf"^{scheme}://127.0.0.1:{port}/shop does not answer") as told,
    ):
        _ = store.facts
    assert time.monotonic() - started < 30
    assert "s3cret" not in str(told.value)
    if scheme == "mysql" and words == GREETING:
        assert "does not speak as MySQL does" in str(told.value)


@pytest.mark.parametrize(
    ("url", "driver", "words"),
    [
        ("mysql://h/x?defaults_file=/nowhere/my.cnf", "pymysql", "defaults_file: there is no file /nowhere/my.cnf"),
        ("mysql://h/x?ssl_ca=/nowhere/ca.pem", "pymysql", "ssl_ca: there is no file /nowhere/ca.pem"),
        ("postgresql://127.0.0.1:9/x?sslmode=sometimes", "psycopg", "sslmode"),
    ],
)
def test_options_that_cannot_be_used(url: str, driver: str, words: str) -> None:
    """A mistake in the address is told as one, and not as a server that is away."""
    pytest.importorskip(driver)
    with ServerDatabases(url, workers=1) as store, pytest.raises(StoreError, match=words):
        _ = store.facts
