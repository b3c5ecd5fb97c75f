"""One exchange: it ends in time whatever the server does, and what is not a whole answer is one kind of error."""

from __future__ import annotations

import math
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.network.raw_server import Caller, RawServer, Script, always, once, reply

from sensecheck import stores
from sensecheck.models.by_prompt import EndpointClassifier
from sensecheck.models.classifiers import Answer
from sensecheck.models.endpoint import Endpoint
from sensecheck.network.address import Address
from sensecheck.network.exchange import ExchangeError, Exchanges, Fault, Reply

LIMIT = 0.6


def exchanges(server: RawServer, scheme: str = "http", **options: Any) -> Exchanges:
    address = Address(f"{scheme}://127.0.0.1:{server.port}/sparql")
    return Exchanges(address, **{"connect_seconds": 5.0, "most_bytes": 100_000, **options})


def ask(script: Script, *, scheme: str = "http", body: bytes = b"q", seconds: float = LIMIT) -> Reply | ExchangeError:
    with RawServer(script) as server:
        try:
            return exchanges(server, scheme).post(body, {}, seconds)
        except ExchangeError as error:
            return error


# ---- servers that take their time


def _drip_status(caller: Caller) -> None:
    caller.request()
    caller.drip(b"HTTP/1.1 200 " + b"O" * 1000)


def _drip_headers(caller: Caller) -> None:
    caller.request()
    caller.send(b"HTTP/1.1 200 OK\r\n", *(b"X-%d: y\r\n" % i for i in range(90)), pause=0.05)


def _drip_one_header(caller: Caller) -> None:
    caller.request()
    caller.send(b"HTTP/1.1 200 OK\r\nX: ")
    caller.drip(b"y" * 1000)


def _continue_for_ever(caller: Caller) -> None:
    caller.request()
    while True:
        caller.send(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.05)


def _drip_body(caller: Caller) -> None:
    caller.request()
    caller.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    caller.drip(b" " * 1000)


def _drip_chunk_size(caller: Caller) -> None:
    caller.request()
    caller.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    caller.drip(b"0" * 1000)


def _drip_trailers(caller: Caller) -> None:
    caller.request()
    caller.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n")
    while True:
        caller.send(b"X: y\r\n", pause=0.05)


def _silence(caller: Caller) -> None:
    caller.wait()


def _drip_tls(caller: Caller) -> None:
    caller.socket.recv(65536)
    caller.send(b"\x16\x03\x03\x40\x00")  # a record of 16 KiB, one byte at a time
    caller.drip(b"\x02" * 16384)


SLOW = [
    _drip_status,
    _drip_headers,
    _drip_one_header,
    _continue_for_ever,
    _drip_body,
    _drip_chunk_size,
    _drip_trailers,
    _silence,
]


@pytest.mark.parametrize("script", SLOW, ids=lambda script: script.__name__)
def test_a_slow_server_ends_with_the_limit(script: Script) -> None:
    started = time.monotonic()
    error = ask(script)
    assert LIMIT * 0.9 < time.monotonic() - started < LIMIT + 1
    assert isinstance(error, ExchangeError) and error.fault is Fault.TIMEOUT


@pytest.mark.parametrize("script", [_silence, _drip_tls], ids=lambda script: script.__name__)
def test_a_handshake_that_never_ends(script: Script) -> None:
    started = time.monotonic()
    error = ask(script, scheme="https")
    assert time.monotonic() - started < LIMIT + 1
    assert isinstance(error, ExchangeError) and error.fault is Fault.NO_CONNECTION


def test_a_server_that_never_reads() -> None:
    started = time.monotonic()
    error = ask(_silence, body=b"x" * 50_000_000)
    assert time.monotonic() - started < LIMIT + 1
    assert isinstance(error, ExchangeError) and error.fault is Fault.TIMEOUT


def test_a_limit_may_be_infinite() -> None:
    assert isinstance(ask(once(reply(b"{}")), seconds=math.inf), Reply)


def test_a_name_that_nobody_looks_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **named: over.wait(20) and [])
    before = threading.active_count()
    started = time.monotonic()
    with pytest.raises(ExchangeError) as raised:
        Exchanges(Address("http://slow.example/"), connect_seconds=5, most_bytes=1).post(b"", {}, LIMIT)
    assert time.monotonic() - started < LIMIT + 1
    assert raised.value.fault is Fault.NO_CONNECTION
    over.set()
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before


# ---- servers that say what is no HTTP

OK = b"HTTP/1.1 200 OK\r\n"
MALFORMED = {
    "length ²": OK + "Content-Length: ²\r\n\r\n{}".encode("latin-1"),
    "length ² in UTF-8": OK + "Content-Length: ²\r\n\r\n{}".encode(),
    "negative length": OK + b"Content-Length: -5\r\n\r\n{}",
    "length of words": OK + b"Content-Length: many\r\n\r\n{}",
    "endless length": OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "no length": OK + b"Content-Length:\r\n\r\n{}",
    "short body": OK + b"Content-Length: 10\r\n\r\n{}",
    "negative chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n{}\r\n0\r\n\r\n",
    "chunk of words": OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "endless chunk size": OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * 100_000,
    "chunk without end": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}",
    "a chunk that is not closed": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n",
    "a chunk closed otherwise": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n",
    "a chunk that is longer": OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
    "chunk +2": OK + b"Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n",
    "chunk 0_2": OK + b"Transfer-Encoding: chunked\r\n\r\n0_2\r\n{}\r\n0\r\n\r\n",
    "chunk 0x2": OK + b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "chunk of no size": OK + b"Transfer-Encoding: chunked\r\n\r\n\r\n{}\r\n0\r\n\r\n",
    "huge chunk": OK + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}",
    "two encodings": OK + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n2\r\n{}\r\n0\r\n\r\n",
    "an encoding and chunked": OK + b"Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "empty encoding": OK + b"Transfer-Encoding:\r\n\r\n{}",
    "length and chunks": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "many trailers": OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 100_000,
    "unknown encoding": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n{}",
    "no status": b"hello\r\n\r\n",
    "status ²": "HTTP/1.1 2²0 OK\r\n\r\n{}".encode("latin-1"),
    "status of one digit": b"HTTP/1.1 2 OK\r\n\r\n{}",
    "early hints": b"HTTP/1.1 103 Early Hints\r\n\r\n" + reply(b"{}"),
    "switching": b"HTTP/1.1 101 Switching Protocols\r\n\r\n{}",
    "long line": OK + b"X: " + b"y" * 100_000 + b"\r\n\r\n{}",
    "many headers": OK + b"X: y\r\n" * 1000 + b"\r\n{}",
    "many continues": b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000,
    "nothing": b"",
    "zeros": b"\x00" * 1000,
}


@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_no_answer_is_one_kind_of_error(case: str) -> None:
    error = ask(once(MALFORMED[case]), seconds=5)
    assert isinstance(error, ExchangeError), error
    assert error.fault is Fault.BROKEN, error
    assert str(error).isprintable() and len(str(error)) < 500


@pytest.mark.parametrize("size", [b"-5\r\n", b"-1\r\n", b"f" * 16 + b"\r\n", b"1" * 100_000])
def test_a_chunk_size_that_is_none_is_not_waited_for(size: bytes) -> None:
    def stay(caller: Caller) -> None:
        caller.request()
        caller.send(OK + b"Transfer-Encoding: chunked\r\n\r\n" + size)
        caller.wait()

    started = time.monotonic()
    error = ask(stay, seconds=5)
    assert isinstance(error, ExchangeError) and error.fault is Fault.BROKEN
    assert time.monotonic() - started < 2


def test_chunks_and_an_answer_without_length() -> None:
    whole = ask(once(OK + b"Transfer-Encoding: chunked\r\n\r\n1;x=y\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n"))
    assert isinstance(whole, Reply) and whole.body == b"{}"
    whole = ask(once(b"HTTP/1.0 200 OK\r\n\r\n{}"))
    assert isinstance(whole, Reply) and whole.body == b"{}"
    whole = ask(once(b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\n" + reply(b"{}")))
    assert isinstance(whole, Reply) and whole.body == b"{}"


def test_mutated_answers_are_answers_or_that_error() -> None:
    chunked = OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    rng = random.Random(1)
    texts = []
    for _ in range(1000):
        text = bytearray(rng.choice([reply(b'{"a": 1}', b"200 OK", b"Retry-After: 3"), chunked]))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text))
            text[at : at + rng.choice([0, 1, 1, 5])] = bytes(rng.choices(range(256), k=rng.choice([0, 1, 3])))
        texts.append(bytes(text))
    kinds = set()
    remaining = iter(texts)
    with RawServer(lambda caller: once(next(remaining))(caller)) as server:
        client = exchanges(server)
        for _ in texts:
            try:
                got = client.post(b"q", {}, 5)
                kinds.add("answer")
                assert 0 <= got.pause() < 1e19
                got.start(), got.header("Retry-After")
            except ExchangeError as error:
                assert error.fault in (Fault.BROKEN, Fault.TIMEOUT), error
                kinds.add(error.fault)
        client.close()
    assert {"answer", Fault.BROKEN} <= kinds


@pytest.mark.parametrize(
    "text", [reply(b" " * 100_001), OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 100_001]
)
def test_too_much_is_told_while_it_comes(text: bytes) -> None:
    error = ask(once(text), seconds=5)
    assert isinstance(error, ExchangeError) and error.fault is Fault.TOO_LARGE
    assert isinstance(ask(once(reply(b" " * 100_000)), seconds=5), Reply)


def test_an_announced_size_is_believed_at_once() -> None:
    def announce(caller: Caller) -> None:
        caller.request()
        caller.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        caller.wait()

    started = time.monotonic()
    error = ask(announce, seconds=5)
    assert isinstance(error, ExchangeError) and error.fault is Fault.TOO_LARGE
    assert time.monotonic() - started < 1


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ExchangeError) as raised:
        Exchanges(Address(f"http://127.0.0.1:{port}/"), connect_seconds=5, most_bytes=1).post(b"", {}, 5)
    assert raised.value.fault is Fault.NO_SERVER
    for host in ("a..b", "nul\0host.invalid", "x" * 70 + ".invalid"):
        with pytest.raises(ExchangeError):
            Exchanges(Address(f"http://{host}/"), connect_seconds=5, most_bytes=1).post(b"", {}, 5)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3), ("0.5", 0.5), ("²", 1), ("inf", 1), ("nan", 1), ("1e308", 1), ("-1", 1), ("9" * 5000, 1), ("Mon, 1", 1)],
)
def test_how_long_to_wait(value: str, seconds: float) -> None:
    got = ask(once(reply(b"", b"429 Slow", f"Retry-After: {value}".encode())))
    assert isinstance(got, Reply) and got.pause() == seconds
    assert isinstance(nothing := ask(once(reply(b""))), Reply) and nothing.pause() == 0


# ---- connections


def test_connections_are_kept_until_something_else_comes() -> None:
    with RawServer(always(reply(b"{}"))) as server:
        client = exchanges(server)
        for _ in range(5):
            client.post(b"q", {}, LIMIT)
        assert server.connections == 1
        client.close()
        client.post(b"q", {}, LIMIT)
        assert server.connections == 2
        client.close()


def test_words_that_nobody_asked_for_are_no_answer_to_the_next_question() -> None:
    def chatty(caller: Caller) -> None:
        while caller.request():
            caller.send(reply(b"{}"))
            caller.wait(0.05)
            caller.send(reply(b"wrong"))

    with RawServer(chatty) as server:
        client = exchanges(server)
        for _ in range(3):
            assert client.post(b"q", {}, LIMIT).body == b"{}"
            time.sleep(0.2)
        assert server.connections == 3
        client.close()


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_who_once_said_too_much_is_asked_on_new_connections(pause: float) -> None:
    def chatty(caller: Caller) -> None:
        while request := caller.request():
            body = request[-1:]
            caller.send(reply(body) + (b"" if pause else reply(b"wrong")))
            caller.wait(pause)
            if pause:
                caller.send(reply(b"wrong"))

    with RawServer(chatty) as server:
        client = exchanges(server)
        assert client.post(b"0", {}, LIMIT).body == b"0"
        time.sleep(0.2)
        for question in b"12345":
            assert client.post(bytes([question]), {}, LIMIT).body == bytes([question])
        assert server.connections == 6
        client.close()


def test_a_connection_that_the_server_closed_costs_no_call() -> None:
    with RawServer(once(reply(b"{}"))) as server:  # without saying so
        client = exchanges(server)
        for _ in range(3):
            assert client.post(b"q", {}, LIMIT).body == b"{}"
            time.sleep(0.1)
        client.close()


def test_256_at_once() -> None:
    def later(caller: Caller) -> None:
        while caller.request():
            caller.wait(0.5)
            caller.send(reply(b"{}"))

    with RawServer(later) as server:
        client = exchanges(server)
        before = threading.active_count()
        started = time.monotonic()
        with ThreadPoolExecutor(256) as pool:
            got = list(pool.map(lambda _: client.post(b"q", {}, 20).body, range(512)))
        taken = time.monotonic() - started
        client.close()
    assert got == [b"{}"] * 512
    assert 1.0 < taken < 10
    assert server.connections <= 256
    assert threading.active_count() <= before + 256  # the server's own


def test_a_header_that_cannot_be_sent_is_not_repeated() -> None:
    with RawServer(always(reply(b"{}"))) as server:
        client = exchanges(server)
        for value in ("sk-secret\r\nX: y", "sk-secret€"):
            with pytest.raises(ValueError, match="'Authorization' cannot be sent") as raised:
                client.post(b"q", {"Authorization": value}, LIMIT)
            assert "sk-secret" not in str(raised.value)
        assert not server.requests


def test_an_idle_client_keeps_nothing_alive() -> None:
    before = threading.active_count()
    with RawServer(always(reply(b"{}"))) as server:
        client = exchanges(server)
        client.post(b"q", {}, LIMIT)
        assert not [thread for thread in threading.enumerate() if thread.name == "connecting"]
        client.close()
    assert threading.active_count() <= before + 1  # the server's own, on its way out


@pytest.mark.parametrize("script", [_drip_headers, _continue_for_ever, _drip_body], ids=lambda script: script.__name__)
def test_both_endpoints_keep_to_their_limit(script: Script) -> None:
    with RawServer(script) as server:
        started = time.monotonic()
        store = stores.Endpoint(server.url, limits=stores.Limits(seconds=LIMIT))
        outcome = store.execute(stores.Request("ASK { ?s ?p ?o }"))
        assert time.monotonic() - started < LIMIT + 1
        assert isinstance(outcome, stores.Failure) and outcome.reason == stores.Reason.TIMEOUT
        started = time.monotonic()
        model = EndpointClassifier(Endpoint(f"http://127.0.0.1:{server.port}/v1", "m", timeout=LIMIT, tries=1))
        assert list(model.stream([("a", "b")])) == [[(0, Answer(None, failure="endpoint: timed out"))]]
        assert time.monotonic() - started < LIMIT + 1
