"""The HTTP client against a server that misbehaves in every way servers do."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from sensecheck.stores import Answer, Endpoint, EndpointDeadError, Failure, Limits, Reason, Request, Term

ROWS = {
    "head": {"vars": ["x"]},
    "results": {
        "bindings": [
            {"x": {"type": "uri", "value": "http://e/a"}},
            {"x": {"type": "typed-literal", "value": "7", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}},
            {"x": {"type": "literal", "value": "sept", "xml:lang": "FR"}},
            {},
        ]
    },
}


INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def results(*bindings: object, names: object = ("x",)) -> dict[str, object]:
    return {"head": {"vars": names}, "results": {"bindings": list(bindings)}}


def literal(**parts: object) -> dict[str, object]:
    return {"x": {"type": "literal", "value": "7", **parts}}


ODD_RESULTS: dict[str, object] = {
    "a list": [],
    "a number": 5,
    "null": None,
    "nothing": {},
    "no results": {"head": {"vars": ["x"]}},
    "no head": {"results": {"bindings": []}},
    "head is a list": {"head": ["x"], "results": {"bindings": []}},
    "results is a list": {"head": {"vars": ["x"]}, "results": []},
    "bindings is an object": {"head": {"vars": ["x"]}, "results": {"bindings": {}}},
    "vars is text": results(names="x"),
    "vars of numbers": results(names=[5]),
    "vars twice": results(names=["x", "x"]),
    "a binding that is text": results("x"),
    "a binding that is null": results(None),
    "a term that is text": results({"x": "7"}),
    "a value that is a number": results(literal(value=7)),
    "a value that is null": results(literal(value=None)),
    "a value that is a term": results({"x": {"type": "triple", "value": {"subject": {}}}}),
    "no value": results({"x": {"type": "literal"}}),
    "no type": results({"x": {"value": "7"}}),
    "an unknown type": results({"x": {"type": "number", "value": "7"}}),
    "a type that is a list": results({"x": {"type": ["uri"], "value": "7"}}),
    "a datatype that is a number": results(literal(datatype=5)),
    "a datatype that is a list": results(literal(datatype=[INTEGER])),
    "a language that is a number": results(literal(**{"xml:lang": 5})),
    "a language that is an object": results(literal(**{"xml:lang": {"en": 1}})),
    "boolean is text": {"head": {}, "boolean": "false"},
    "boolean is a number": {"head": {}, "boolean": 1},
    "boolean is null": {"head": {}, "boolean": None},
    "boolean and rows": {**results(), "boolean": True},
    "old ask with a number": results({"__ASK_RETVAL": {"value": 1}}, names=["__ASK_RETVAL"]),
    "old ask with text": results("1", names=["__ASK_RETVAL"]),
}
ODD_BODIES: dict[str, bytes] = {
    "deep": b"[" * 100_000,
    "deep and closed": b'{"boolean": ' + b"[" * 2000 + b"]" * 2000 + b"}",
    "no UTF-8": b'{"head": {"vars": ["\xff"]}, "results": {"bindings": []}}',
    "half a character": b'{"head": {"vars": ["\\ud800"]}, "results": {"bindings": []}}',
    "a huge number": b'{"head": {}, "boolean": ' + b"9" * 50_000 + b"}",
    "infinity": b'{"head": {}, "boolean": 1e999}',
    "cut off": b'{"head": {"vars": ["x"]}, "results": {"bindings": [',
    "empty": b"",
}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.connections = 0
        self.refusing = 0  # the status with which all queries are turned away
        self.said: tuple[Any, dict[str, str]] | None = None  # what all queries are answered

    def handle_error(self, *_: object) -> None:
        """A client that gave up is what is tested here."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/sparql"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, status: int, body: Any, **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(raw)

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        query = parse_qs(self.rfile.read(length).decode())["query"][0]
        self.server.asked.append(query)
        seen = self.server.asked.count(query)
        if self.server.said is not None:
            self.reply(200, self.server.said[0], **self.server.said[1])
        elif self.server.refusing:
            self.reply(self.server.refusing, b"who are you?")
        elif "too_often" in query and seen == 1:
            self.reply(429, b"slow down", Retry_After="0")
        elif "forbidden" in query:
            self.reply(403, b"not this one")
        elif "once" in query and seen == 1:
            self.reply(503, b"busy")
        elif "never" in query:
            self.reply(500, b"internal error")
        elif "partial" in query:
            self.reply(200, ROWS, X_SQL_State="S1TAT", X_SQL_Message="Returning incomplete results")
        elif "virtuoso_timeout" in query:
            self.reply(500, b"Virtuoso S1T00 Error SR171: Transaction timed out")
        elif "syntax" in query:
            self.reply(400, b"Virtuoso 37000 Error SP030: SPARQL compiler, line 1: syntax error")
        elif "elsewhere" in query:
            self.reply(302, b"", Location="http://127.0.0.1:1/")
        elif "garbage" in query:
            self.reply(200, b"<html>")
        elif "slow" in query:
            time.sleep(3)
            self.reply(200, ROWS)
        elif "drip" in query:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            for _ in range(40):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.1)
        elif "huge" in query:
            self.reply(200, b" " * 3_000_000)
        elif "capped" in query:
            self.reply(200, ROWS, X_SPARQL_MaxRows="4")
        elif "old_ask" in query:
            value = {"type": "typed-literal", "value": "1"}
            self.reply(200, {"head": {"vars": ["__ASK_RETVAL"]}, "results": {"bindings": [{"__ASK_RETVAL": value}]}})
        elif query.startswith("ASK"):
            self.reply(200, {"head": {}, "boolean": True})
        else:
            self.reply(200, ROWS)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def client(server: Server, **options: Any) -> Endpoint:
    limits = Limits(seconds=0.7, bytes=1_000_000)
    return Endpoint(server.url, limits=limits, pause=0.02, retries=2, concurrency=2, **options)


def ask(server: Server, word: str) -> Any:
    return client(server).execute(Request(f"SELECT ?x WHERE {{ ?x ?{word} ?y }}"))


def test_terms_keep_their_kind(server: Server) -> None:
    answer = ask(server, "p")
    assert isinstance(answer, Answer)
    assert answer.rows == [
        (Term("iri", "http://e/a"),),
        (Term("literal", "7", "http://www.w3.org/2001/XMLSchema#integer"),),
        (Term("literal", "sept", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", "fr"),),
        (None,),
    ]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("partial", Reason.TIMEOUT),
        ("virtuoso_timeout", Reason.TIMEOUT),
        ("slow", Reason.TIMEOUT),
        ("drip", Reason.TIMEOUT),
        ("syntax", Reason.SYNTAX),
        ("elsewhere", Reason.ENDPOINT_ERROR),
        ("garbage", Reason.ENDPOINT_ERROR),
        ("never", Reason.ENDPOINT_ERROR),
        ("forbidden", Reason.ENDPOINT_ERROR),
        ("huge", Reason.TOO_LARGE),
        ("capped", Reason.TOO_LARGE),
    ],
)
def test_failures_have_names(server: Server, word: str, reason: Reason) -> None:
    started = time.monotonic()
    outcome = ask(server, word)
    assert isinstance(outcome, Failure), outcome
    assert outcome.reason == reason, outcome
    assert time.monotonic() - started < 2.5


def test_a_busy_server_is_asked_again(server: Server) -> None:
    assert isinstance(ask(server, "once"), Answer)
    assert len(server.asked) == 2


def test_a_server_that_is_asked_too_often_is_asked_again(server: Server) -> None:
    assert isinstance(ask(server, "too_often"), Answer)
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [302, 401, 403, 404, 405])
def test_a_server_that_refuses_every_query_stops_the_run(server: Server, status: int) -> None:
    server.refusing = status
    with pytest.raises(
        EndpointDeadError,
        match=f"refuses every query .HTTP {status}(: who are you| to nowhere; redirects are not followed)",
    ):
        ask(server, "x")
    assert len(server.asked) == 2  # the query, and a trivial one to be sure


def test_a_timeout_of_the_server_is_not_asked_again(server: Server) -> None:
    ask(server, "virtuoso_timeout")
    assert len(server.asked) == 1


def test_virtuoso_answers_ask_with_a_table(server: Server) -> None:
    answer = client(server).execute(Request("ASK { ?old_ask ?b ?c }"))
    assert isinstance(answer, Answer)
    assert answer.boolean is True


def test_connections_are_kept_and_shared(server: Server) -> None:
    requests = [Request(f"SELECT ?x WHERE {{ ?x <http://e/{i}> ?y }}") for i in range(30)]
    outcomes = client(server).execute_many(requests)
    assert all(isinstance(outcome, Answer) for outcome in outcomes)
    assert server.connections == 2


def test_refused_queries_never_leave(server: Server) -> None:
    for text in ("DROP ALL", "SELECT * WHERE { SERVICE <http://e/> { ?s ?p ?o } }", "SELECT ?x WHERE { ?x nope:y 1 }"):
        assert isinstance(client(server).execute(Request(text)), Failure)
    assert not server.asked


def test_a_named_service_may_be_allowed(server: Server) -> None:
    label = "SELECT ?x WHERE { ?x ?p ?o SERVICE <http://wikiba.se/ontology#label> { ?x ?q ?l } }"
    assert isinstance(client(server).execute(Request(label)), Failure)
    allowed = client(server, services=["http://wikiba.se/ontology#label"])
    assert isinstance(allowed.execute(Request(label)), Answer)


def test_a_dead_server_stops_the_run(server: Server) -> None:
    endpoint = client(server)
    assert isinstance(endpoint.execute(Request("ASK { ?a ?b ?c }")), Answer)
    server.shutdown()
    server.server_close()
    endpoint.close()
    with pytest.raises(EndpointDeadError, match="does not answer"):
        endpoint.execute_many([Request("ASK { ?a ?b ?c }"), Request("ASK { ?d ?e ?f }")])


def test_an_address_must_be_one() -> None:
    with pytest.raises(ValueError, match="expected an address"):
        Endpoint("localhost:8890")


@pytest.mark.parametrize("case", [*ODD_RESULTS, *ODD_BODIES])
def test_odd_results_are_errors_of_the_endpoint(server: Server, case: str) -> None:
    server.said = (ODD_BODIES[case] if case in ODD_BODIES else ODD_RESULTS[case], {})
    outcome = ask(server, "x")
    assert isinstance(outcome, Failure), outcome
    assert outcome.reason == Reason.ENDPOINT_ERROR
    assert "not SPARQL results in JSON" in outcome.message
    assert outcome.message.isprintable() and len(outcome.message) < 600
    assert len(server.asked) == 1


def test_what_is_missing_may_be_null(server: Server) -> None:
    server.said = (results(literal(datatype=None), literal(**{"xml:lang": None}), {"x": None}), {})
    answer = ask(server, "x")
    assert isinstance(answer, Answer)
    assert [cell for (cell,) in answer.rows] == [
        Term("literal", "7", "http://www.w3.org/2001/XMLSchema#string"),
        Term("literal", "7", "http://www.w3.org/2001/XMLSchema#string"),
        None,
    ]


@pytest.mark.parametrize("value", ["²", "many", "-1", "1e3", "9" * 5000])
def test_a_row_limit_that_is_no_number(server: Server, value: str) -> None:
    server.said = (results(), {"X_SPARQL_MaxRows": value})
    outcome = ask(server, "x")
    assert isinstance(outcome, Failure)
    assert outcome.reason == Reason.ENDPOINT_ERROR


def test_a_pause_that_is_no_number(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("sensecheck.stores.endpoint.time.sleep", pauses.append)
    post = Handler.do_POST
    for value in ("²", "inf", "nan", "1e308", "-1"):

        def slow_down(self: Handler, value: str = value) -> None:
            if b"ASK" in self.rfile.peek():
                post(self)
                return
            self.rfile.read(int(self.headers["Content-Length"]))
            self.reply(429, b"", Retry_After=value)

        monkeypatch.setattr(Handler, "do_POST", slow_down)
        outcome = ask(server, "x")
        assert isinstance(outcome, Failure)
        assert outcome.reason == Reason.ENDPOINT_ERROR
    assert pauses and all(0 <= pause <= 30 for pause in pauses)


@pytest.mark.parametrize(
    "parts", [{"datatype": "urn:" + "d" * 200_000}, {"xml:lang": "l" * 200_000}, {"value": "v" * 200_000}]
)
def test_the_size_of_an_answer_counts_datatypes_and_languages(server: Server, parts: dict[str, str]) -> None:
    from sensecheck.stores.endpoint import _read_results

    reply: Any = type("Reply", (), {"has_secrets": False, "number": lambda self, name: None})()
    rows = [literal(**parts) for _ in range(4)]
    assert isinstance(_read_results(results(*rows, names=["x"]), reply, Limits(bytes=900_000)), Answer)
    cut = _read_results(results(*rows, names=["x"]), reply, Limits(bytes=700_000))
    assert isinstance(cut, Failure)
    assert cut.reason == Reason.TOO_LARGE
    server.said = (results(*rows, *rows), {})
    outcome = ask(server, "x")
    assert isinstance(outcome, Failure)
    assert outcome.reason == Reason.TOO_LARGE


def test_a_short_answer_that_is_a_large_table(server: Server) -> None:
    server.said = (results(*[{}] * 10_000, names=[f"x{i}" for i in range(10_000)]), {})
    outcome = ask(server, "x")
    assert isinstance(outcome, Failure)
    assert outcome.reason == Reason.TOO_LARGE


def test_words_of_a_server_are_short_and_harmless(server: Server) -> None:
    text = b"\x1b[31mred " + "\u202e".encode() + b"x" * 10_000

    def say(self: Handler) -> None:
        self.reply(400, text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Handler, "do_POST", say)
        outcome = ask(server, "x")
    assert isinstance(outcome, Failure)
    assert outcome.message.isprintable() and "\\x1b[31mred" in outcome.message and len(outcome.message) < 400


@pytest.mark.parametrize(
    "url", ["http://u:hunter2x/sparql", "http://u:hunter2x@/sparql", "ftp://u:hunter2x@h/", "http://[hunter2x@h"]
)
def test_an_address_that_is_none_is_told_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="expected an address") as raised:
        Endpoint(url)
    assert "hunter2x" not in str(raised.value)


def test_a_server_that_shows_a_page_for_every_query_stops_the_run(server: Server) -> None:
    server.said = (b"<!doctype html><title>Welcome</title>", {})
    with pytest.raises(EndpointDeadError, match=r"answers, but not with SPARQL results .*; is the address right\?"):
        ask(server, "x")
    assert len(server.asked) == 2


def test_an_address_where_nobody_listens_is_told_soon() -> None:
    begin = time.monotonic()
    with pytest.raises(EndpointDeadError, match=r"does not answer; is the address right\? \(nobody listens there\)"):
        Endpoint("http://127.0.0.1:9/sparql").execute(Request("ASK {}"))
    assert time.monotonic() - begin < 5
