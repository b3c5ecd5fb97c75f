"""A server of bare sockets that says exactly what a test wants it to say, right or wrong, and ends by itself."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType

Script = Callable[["Caller"], None]


class Caller:
    """One connection, as the script of a test sees it."""

    def __init__(self, server: RawServer, sock: socket.socket) -> None:
        self.server, self.socket = server, sock
        self._rest = b""

    def request(self) -> bytes:
        """The next request, head and body; empty when the client hangs up."""
        while b"\r\n\r\n" not in self._rest:
            if not self._more():
                return b""
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        length = next(int(x[15:]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:"))
        while len(self._rest) < length and self._more():
            pass
        body, self._rest = self._rest[:length], self._rest[length:]
        self.server.requests.append(head + b"\r\n\r\n" + body)
        return self.server.requests[-1]

    def _more(self) -> bool:
        piece = self.socket.recv(65536)
        self._rest += piece
        return bool(piece)

    def send(self, *pieces: bytes, pause: float = 0.0) -> None:
        for piece in pieces:
            self.socket.sendall(piece)
            if pause:
                self.wait(pause)

    def drip(self, text: bytes, pause: float = 0.05) -> None:
        self.send(*(bytes([byte]) for byte in text), pause=pause)

    def wait(self, seconds: float = 20.0) -> None:
        """Do nothing, for as long as the test or the server's own time runs at most."""
        if self.server.over.wait(seconds) or time.monotonic() > self.server.ends_at:
            raise ConnectionError


class RawServer:
    """Runs the script once for every connection, in a thread of its own."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = int(self._listener.getsockname()[1])
        self.requests: list[bytes] = []
        self.connections = 0
        self.over = threading.Event()
        self.ends_at = time.monotonic() + 20
        self._listener.settimeout(0.2)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/sparql"

    def _accept(self) -> None:
        while not self.over.is_set() and time.monotonic() < self.ends_at:
            try:
                sock, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self.connections += 1
            sock.settimeout(30)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        with sock:
            try:
                self._script(Caller(self, sock))
            except OSError:
                return  # the client gave up: that is what is tested

    def __enter__(self) -> RawServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.over.set()
        self._listener.close()
        self._thread.join(5)


def reply(body: bytes, status: bytes = b"200 OK", *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def always(text: bytes) -> Script:
    """The same answer to every request; the connection stays open after it."""

    def script(caller: Caller) -> None:
        while caller.request():
            caller.send(text)

    return script


def once(text: bytes) -> Script:
    """The answer, and then the end of the connection."""

    def script(caller: Caller) -> None:
        caller.request()
        caller.send(text)

    return script
