"""One HTTP exchange after another, each within its time and size, over connections that are kept alive.

Every wait (for the connection, the TLS handshake, room to send, the next piece of the answer) is for what is left of
one deadline, so that no server can stretch an exchange by dripping. Whatever a server does wrong is an `ExchangeError`.
What it says is taken out of a `Reply` without the secrets that were sent to it.
"""

from __future__ import annotations

import enum
import http.client
import io
import math
import queue
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sensecheck.inputs.errors import escaped
from sensecheck.network.address import Address
from sensecheck.network.scrubbing import Secrets

_HEAD_BYTES = 1 << 18
"""Bytes that may come before an answer's body: status lines and headers."""
_PIECE = 1 << 18
_LONGEST_WAIT = 1e6
"""Seconds; a socket takes no infinite number of them."""
_DIGITS = re.compile(r"[0-9]{1,18}", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?", re.ASCII)
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_CHUNK_LINE = 1 << 12
"""Bytes that may say how long a chunk is."""
_STATUS = re.compile(rb"HTTP/1\.([0-9])[ \t]+([1-9][0-9]{2})(?![0-9])")
_LONGEST_LINE = 1 << 16
_MOST_HEADERS = 100
_UNBOUNDED = 0.01
"""Seconds for which a socket need not be told anew how long it may wait."""
_IN_HEADER = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


class Fault(enum.Enum):
    NO_SERVER = "nobody listens at the address"
    NO_CONNECTION = "no connection in time"
    UNTRUSTED = "the certificate is not trusted"
    TIMEOUT = "no whole answer in time"
    TOO_LARGE = "an answer over the limit"
    BROKEN = "the connection broke, or what came is no HTTP"


class ExchangeError(Exception):
    """No whole answer came; `fault` says of which kind, `name` in a word what happened."""

    def __init__(self, fault: Fault, message: str, name: str = "") -> None:
        super().__init__(message)
        self.fault = fault
        self.name = name


@dataclass(frozen=True)
class Reply:
    """A whole answer. Its words are for people: without secrets, in one line, short, harmless on a terminal."""

    status: int
    body: bytes
    _headers: Headers
    _secrets: Secrets

    def header(self, name: str, limit: int = 300) -> str:
        """A header's words; empty where it is missing."""
        return self.words(str(self._headers.get(name, "")), limit)

    def number(self, name: str) -> int | None:
        """A header that counts something; None where it is missing. ValueError where it is no number."""
        value = self._headers.get(name)
        if value is None:
            return None
        if not _DIGITS.fullmatch(str(value).strip()):
            raise ValueError(f"{name}: {self.header(name, 40)}")
        return int(value)

    def start(self, limit: int = 300) -> str:
        """The first words of the body."""
        # A secret that the cut would leave half of must be seen whole before it.
        window = 20 * limit + self._secrets.longest
        text = self._secrets.out_of_bytes(self.body[:window])
        if len(self.body) > window:
            text = text[: -self._secrets.longest]
        return self.words(text, limit)

    def words(self, text: str, limit: int = 300) -> str:
        """What the server, or a parser of its answer, said."""
        return _words(text, limit, self._secrets)

    def pause(self) -> float:
        """Seconds to wait before the next try, as far as the server says so."""
        value = str(self._headers.get("Retry-After", "0")).strip()
        return float(value) if _NUMBER.fullmatch(value) else 1.0  # a date: rare, and a second is polite

    @property
    def has_secrets(self) -> bool:
        return self._secrets.any_in_answers

    def repeats_secret(self, text: str) -> bool:
        """Whether a text out of the answer itself holds what nobody may keep."""
        return self._secrets.are_repeated_in(text)


class Headers:
    """The headers of an answer, by name in any case."""

    def __init__(self) -> None:
        self._values: dict[str, list[str]] = {}
        self._last: list[str] = []

    def add(self, line: str) -> None:
        """One line; one that begins with a space goes on with the value of the one before."""
        if line[0] in " \t" and self._last:
            self._last[-1] += f" {line.strip()}"
            return
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise http.client.HTTPException(f"a header that is none: {line!r}")
        self._last = self._values.setdefault(name.strip().lower(), [])
        self._last.append(value.strip())

    def get(self, name: str, missing: str | None = None) -> str | None:
        """The first value of that name."""
        values = self._values.get(name.lower())
        return values[0] if values else missing

    def get_all(self, name: str) -> list[str]:
        return self._values.get(name.lower(), [])


@dataclass(frozen=True)
class _Response:
    """An answer of which the head was read."""

    status: int
    headers: Headers
    fp: io.BufferedReader
    length: int | None
    will_close: bool


def _words(text: str, limit: int, secrets: Secrets) -> str:
    return escaped(" ".join(secrets.out_of(text).split())[:limit])[:limit]


class Exchanges:
    """POSTs to one address, from as many threads as like to; connections are kept for the next exchange."""

    def __init__(self, address: Address, *, connect_seconds: float, most_bytes: int) -> None:
        self.address = address
        self.secrets = Secrets(address.secrets, address.names)
        self._first_lines = (f"POST {address.target} HTTP/1.1", f"Host: {address.host_header}")
        self._connect_seconds = connect_seconds
        self._most_bytes = most_bytes
        self._idle: list[_Connection] = []
        self._says_more_than_asked = False
        self._tls: ssl.SSLContext | None = None
        self._lock = threading.Lock()

    def post(self, body: bytes, headers: Mapping[str, str], seconds: float) -> Reply:
        """The whole answer within `seconds`. User and password of the address go along, unless `headers` say others."""
        deadline = time.monotonic() + seconds
        if self.address.authorization is not None and "authorization" not in map(str.lower, headers):
            headers = {**headers, "Authorization": self.address.authorization}
        self.secrets.add_headers(headers)
        request = self._head(len(body), headers) + body
        connection: _Connection | None = None
        is_reusable = False
        try:
            connection = self._kept_connection() or self._connected(deadline)
            response = connection.ask(request, deadline)
            content = _body(response, self._most_bytes)
            self._says_more_than_asked |= connection.has_read_too_much(response)
            # Whether it is quiet is looked at when it is used again.
            is_reusable = not response.will_close and not self._says_more_than_asked
        except TimeoutError:
            raise ExchangeError(Fault.TIMEOUT, f"no answer within {seconds:g} s", "TimeoutError") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._broken(error) from None
        finally:
            if is_reusable and connection is not None:
                self._idle.append(connection)
            elif connection is not None:
                connection.hang_up()
        return Reply(response.status, content, response.headers, self.secrets)

    def close(self) -> None:
        """Close the connections that no exchange uses."""
        while self._idle:
            self._idle.pop().hang_up()

    def _head(self, length: int, headers: Mapping[str, str]) -> bytes:
        lines = [*self._first_lines, "Accept-Encoding: identity", f"Content-Length: {length}"]
        for name, value in headers.items():
            if not _IN_HEADER.fullmatch(name + value):
                # Not what it holds: it may be a key.
                raise ValueError(f"the header {name!r} cannot be sent: it has signs that no header may have")
            lines.append(f"{name}: {value}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def _broken(self, error: Exception) -> ExchangeError:
        if isinstance(error, ssl.SSLCertVerificationError):
            return ExchangeError(Fault.UNTRUSTED, error.verify_message, type(error).__name__)
        if isinstance(error, ConnectionRefusedError):
            return ExchangeError(Fault.NO_SERVER, "nobody listens there", type(error).__name__)
        if isinstance(error, socket.gaierror | UnicodeError):
            return ExchangeError(Fault.NO_SERVER, "there is no such host", type(error).__name__)
        words = _words(f"{type(error).__name__}: {error}", 300, self.secrets)
        return ExchangeError(Fault.BROKEN, words, type(error).__name__)

    # ---- connections

    def _kept_connection(self) -> _Connection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if self._is_still_usable(connection):
                return connection
            connection.hang_up()

    def _is_still_usable(self, connection: _Connection) -> bool:
        """Whether the next thing to come will be the answer to the next question, as far as can be told.

        HTTP does not say which question a reply belongs to. Where a server was ever seen to say more than it was
        asked, each question gets a connection of its own.
        """
        if connection.is_quiet():
            return not self._says_more_than_asked
        self._says_more_than_asked |= connection.has_unasked_words()
        return False

    def _connected(self, deadline: float) -> _Connection:
        until = min(deadline, time.monotonic() + self._connect_seconds)
        try:
            sock = self._reached(min(self._connect_seconds, _seconds_until(deadline)))
            if self.address.secure:
                sock.settimeout(_seconds_until(until))
                # Where the handshake fails, this closes the socket.
                sock = self._tls_context().wrap_socket(sock, server_hostname=self.address.host)
        except TimeoutError:
            raise ExchangeError(Fault.NO_CONNECTION, "no connection in time", "TimeoutError") from None
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Connection(sock)

    def _reached(self, seconds: float) -> socket.socket:
        """A connected socket. Nothing bounds the time that looking up a name takes, so a thread of its own does that.

        The thread ends by itself; a socket that it finds too late is closed with the queue that nobody holds any more.
        """
        found: queue.SimpleQueue[socket.socket | Exception] = queue.SimpleQueue()

        def reach() -> None:
            try:
                found.put(socket.create_connection((self.address.host, self.address.port), seconds))
            except Exception as error:
                found.put(error)

        threading.Thread(target=reach, name="connecting", daemon=True).start()
        try:
            reached = found.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(reached, Exception):
            raise reached
        return reached

    def _tls_context(self) -> ssl.SSLContext:
        with self._lock:
            self._tls = self._tls or ssl.create_default_context()
        return self._tls


class _Connection(io.RawIOBase):
    """A socket that waits for no longer than the deadline of the exchange at hand. http.client reads from it."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._deadline = math.inf
        self._bounded_at = -math.inf
        """When the socket was last told how long it may wait."""
        self._head_left = 0.0
        self._is_over = False

    def ask(self, request: bytes, deadline: float) -> _Response:
        """Send, and read the answer up to its body."""
        self._deadline, self._head_left, self._is_over = deadline, _HEAD_BYTES, False
        self._bounded_at = -math.inf
        unsent = memoryview(request)
        while unsent:
            self._bound()
            unsent = unsent[self._socket.send(unsent[:_PIECE]) :]
        response = _head(io.BufferedReader(self))
        self._head_left = math.inf
        return response

    def _bound(self) -> None:
        """Wait no longer than is left. To tell the socket takes a call of the system: once every few milliseconds will
        do.
        """
        now = time.monotonic()
        if now - self._bounded_at > _UNBOUNDED:
            self._socket.settimeout(_seconds_until(self._deadline))
            self._bounded_at = now

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        if self._is_over:
            return None
        self._bound()
        received = self._socket.recv_into(buffer)
        self._head_left -= received
        if self._head_left < 0:
            raise http.client.HTTPException(f"more than {_HEAD_BYTES:,} bytes of headers")
        return received

    def is_quiet(self) -> bool:
        """Whether nothing has come since the last answer: neither the end nor words that nobody asked for."""
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return False
        if not hasattr(select, "poll"):
            return not select.select([self._socket], [], [], 0)[0]
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return not waiting.poll(0)

    def has_read_too_much(self, response: _Response) -> bool:
        """Whether more than the answer came with it."""
        self._is_over = True  # what was read is looked at; nothing is waited for
        return bool(response.fp.peek(1))

    def has_unasked_words(self) -> bool:
        """Whether the server said more after its answer."""
        if isinstance(self._socket, ssl.SSLSocket):
            return self._socket.pending() > 0
        self._socket.settimeout(0)
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except OSError:
            return False  # nothing there, or a broken connection, which is not quiet

    def close(self) -> None:
        """The stream of one answer ends: the socket stays for the next."""

    def hang_up(self) -> None:
        self._socket.close()


def _head(reader: io.BufferedReader) -> _Response:
    """The status line and the headers of an answer; interim ones (100) are passed over."""
    while True:
        line = _line(reader)
        if not line:
            raise http.client.RemoteDisconnected("the server hung up before it answered")
        found = _STATUS.match(line)
        if found is None:
            raise http.client.BadStatusLine(line.decode("latin-1"))
        status, headers = int(found[2]), Headers()
        for _ in range(_MOST_HEADERS):
            line = _line(reader)
            if line in (b"\r\n", b"\n", b""):
                break
            headers.add(line.decode("latin-1").rstrip("\r\n"))
        else:
            raise http.client.HTTPException(f"more than {_MOST_HEADERS} headers")
        if status != 100:
            break
    if status < 200:
        raise http.client.HTTPException(f"HTTP {status} is no answer")
    length = _length(headers)
    has_chunks = bool(headers.get_all("Transfer-Encoding"))
    if status in (204, 304):
        length, has_chunks = 0, False
    stays = "keep-alive" if found[1] == b"0" else "close"
    says = any(stays in value.lower() for value in headers.get_all("Connection"))
    closes = not says if stays == "keep-alive" else says
    return _Response(status, headers, reader, length, closes or (length is None and not has_chunks))


def _line(reader: io.BufferedReader) -> bytes:
    line = reader.readline(_LONGEST_LINE + 1)
    if len(line) > _LONGEST_LINE:
        raise http.client.LineTooLong("head")
    return line


def _length(headers: Headers) -> int | None:
    """What a body's length is said to be; refused is what would leave the connection with half an answer in it."""
    lengths = headers.get_all("Content-Length")
    if not all(map(_DIGITS.fullmatch, lengths)) or len(set(lengths)) > 1:
        raise http.client.HTTPException(f"a length that is none: {', '.join(lengths)}")
    encodings = headers.get_all("Transfer-Encoding")
    if encodings and [encoding.lower() for encoding in encodings] != ["chunked"]:
        raise http.client.HTTPException(f"an encoding that is not known: {', '.join(encodings)}")
    if encodings and lengths:
        raise http.client.HTTPException("both a length and chunks")
    return int(lengths[0]) if lengths else None


def _body(response: _Response, most_bytes: int) -> bytes:
    reader = response.fp
    if response.headers.get("Transfer-Encoding") is not None and response.status not in (204, 304):
        pieces = _chunks(reader, most_bytes)
    elif response.length is not None:
        pieces = _exactly(reader, response.length, most_bytes)
    else:
        pieces = iter(lambda: reader.read1(_PIECE), b"")
    body, size = [], 0
    for piece in pieces:
        body.append(piece)
        size += len(piece)
        _check_size(size, most_bytes)
    return b"".join(body)


def _chunks(reader: io.BufferedReader, most_bytes: int) -> Iterator[bytes]:
    while True:
        line = reader.readline(_CHUNK_LINE)
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise http.client.HTTPException(f"a chunk without its size: {line[:40]!r}")
        size = int(found[1], 16)
        if size == 0:
            break
        yield from _exactly(reader, size, most_bytes)
        if reader.read(2) != b"\r\n":
            raise http.client.HTTPException("a chunk that is longer or shorter than it says")
    left = _HEAD_BYTES
    # Some servers hang up without the empty line: all of the answer is there.
    while (line := reader.readline(left)) not in (b"\r\n", b"\n", b""):
        left -= len(line)
        if left <= 0:
            raise http.client.HTTPException(f"more than {_HEAD_BYTES:,} bytes after the last chunk")


def _exactly(reader: io.BufferedReader, size: int, most_bytes: int) -> Iterator[bytes]:
    _check_size(size, most_bytes)  # what is announced is believed at once
    while size:
        piece = reader.read(min(size, _PIECE))
        if not piece:
            raise http.client.IncompleteRead(b"", size)
        size -= len(piece)
        yield piece


def _check_size(size: int, most_bytes: int) -> None:
    if size > most_bytes:
        raise ExchangeError(Fault.TOO_LARGE, f"an answer of more than {most_bytes:,} bytes")


def _seconds_until(deadline: float) -> float:
    seconds = deadline - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return min(seconds, _LONGEST_WAIT)
