"""Any SPARQL 1.1 endpoint over HTTP: connections kept alive, queries side by side, every wait bounded."""

from __future__ import annotations

import http.client
import queue
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson

from sensecheck.language.sparql.tree import RDF, XSD

from .limits import Limits
from .outcomes import Answer, Cell, EndpointDeadError, Failure, Outcome, Reason, Request, Term
from .sparql_gate import STANDARD_PREFIXES, admit, prefixes_print

_MEDIA_TYPE = "application/sparql-results+json"
_CONNECT_SECONDS = 5.0
# Parameters of an address that say who asks, not what is asked.
_SECRET = re.compile(r"key|token|secret|passw|pwd|auth|credential|sig(nature)?$|user|login|session", re.IGNORECASE)


class _GoneError(Exception):
    """The connection failed before an answer came."""


class Endpoint:
    """A SPARQL endpoint.

    A 5xx answer, "too many requests" (429) and a lost connection are tried again with growing pauses. When they
    persist, a trivial query decides whether this query or the server is to blame: the first is an `endpoint error`,
    the second raises EndpointDeadError, so that a run stops instead of scoring zeros. The same goes for a server that
    is there and refuses: no rights, nothing at that address, a redirect.
    """

    language = "sparql"

    def __init__(
        self,
        url: str,
        *,
        limits: Limits | None = None,
        prefixes: Mapping[str, str] | None = None,
        concurrency: int = 4,
        retries: int = 4,
        pause: float = 0.5,
        tolerant: bool = True,
        services: Iterable[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"endpoint {url!r}: expected an address like http://localhost:8890/sparql")
        self.url = url
        self.limits = limits or Limits()
        self.prefixes = STANDARD_PREFIXES if prefixes is None else dict(prefixes)
        self.concurrency = max(1, concurrency)
        self.retries = retries
        self.pause = pause
        self.tolerant = tolerant
        self.services = frozenset(services)
        self.sent = 0  # requests that reached the wire, retries and probes included
        self._host, self._port = parts.hostname, parts.port
        self._secure = parts.scheme == "https"
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._headers = {
            "Accept": _MEDIA_TYPE,
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "sensecheck",
            **(headers or {}),
        }
        self._local = threading.local()
        self._connections: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._timeouts_in_a_row = 0
        self._answered = False

    @property
    def fingerprint(self) -> str:
        return f"endpoint {self.url}{prefixes_print(self.prefixes)}"

    def content(self) -> str:
        """The address without what is nobody's business: nothing shorter tells what an endpoint holds.

        >>> Endpoint("https://me:pw@Example.org:8890/sparql?default-graph-uri=urn:g&api_key=1").content()
        'https://example.org:8890/sparql?default-graph-uri=urn%3Ag'
        """
        parts = urlsplit(self.url)
        kept = urlencode([(name, value) for name, value in parse_qsl(parts.query) if not _SECRET.search(name)])
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{host}{port}{parts.path}" + (f"?{kept}" if kept else "")

    # ---- one exchange

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection_class = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = connection_class(self._host, self._port, timeout=min(_CONNECT_SECONDS, self.limits.seconds))
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    def _exchange(self, text: str, seconds: float) -> tuple[int, http.client.HTTPMessage, bytes]:
        """Status, headers and body, within `seconds` in all."""
        deadline = time.monotonic() + seconds
        connection = self._connection()
        with self._lock:
            self.sent += 1
        try:
            if connection.sock is None:
                connection.timeout = min(_CONNECT_SECONDS, seconds)
                connection.connect()
            assert connection.sock is not None
            connection.sock.settimeout(seconds)
            connection.request("POST", self._target, urlencode({"query": text}).encode(), self._headers)
            response = connection.getresponse()
            pieces: list[bytes] = []
            size = 0
            while True:
                seconds_left = deadline - time.monotonic()
                if seconds_left <= 0:
                    raise TimeoutError
                if connection.sock is not None:
                    connection.sock.settimeout(seconds_left)
                piece = response.read1(1 << 18)
                if not piece:
                    break
                pieces.append(piece)
                size += len(piece)
                if size > self.limits.bytes:
                    connection.close()
                    return 413, response.headers, b""
            if response.length not in (None, 0):
                raise http.client.IncompleteRead(b"")
            response.close()  # read to its end: the connection itself stays for the next query
            return response.status, response.headers, b"".join(pieces)
        except TimeoutError:
            connecting = connection.sock is None
            connection.close()
            if connecting:
                raise _GoneError("no connection in time") from None
            raise
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _GoneError(f"{type(error).__name__}: {error}") from error

    def _probe(self) -> int | None:
        for attempt in range(2):
            try:
                status, _, _ = self._exchange("ASK {}", min(_CONNECT_SECONDS, self.limits.seconds))
            except (_GoneError, TimeoutError):
                time.sleep(self.pause * (attempt + 1))
                continue
            return status
        return None

    def _alive(self) -> bool:
        status = self._probe()
        return status is not None and status < 500

    # ---- queries

    def execute(self, request: Request) -> Outcome:
        """The outcome of one query. Raises EndpointDeadError when the server is gone."""
        admitted = admit(request.text, self.prefixes, self.limits, tolerant=self.tolerant, services=self.services)
        if isinstance(admitted, Failure):
            return admitted
        started = time.monotonic()
        last_failure = ""
        asked_pause = 0.0  # what a server that is asked too often wants
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(min(max(asked_pause, self.pause * 2 ** (attempt - 1)), 30.0))
            try:
                status, headers, body = self._exchange(admitted.text, self.limits.seconds)
            except _GoneError as gone:
                last_failure = str(gone)
                continue
            except TimeoutError:
                return self._timed_out(time.monotonic() - started)
            if status >= 500 and not _ran_out_of_time(body):
                last_failure = f"HTTP {status}: {_start_of(body)}"
                continue
            if status == 429:
                last_failure = f"HTTP {status}: {_start_of(body)}"
                retry_after = headers.get("Retry-After", "")
                asked_pause = float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
                continue
            if _is_refusal(status) and _is_refusal(self._probe() or 0):
                refusal = f"HTTP {status}: {_start_of(body)}".rstrip(": ")
                raise EndpointDeadError(f"{self.url} refuses every query ({refusal})")
            self._timeouts_in_a_row = 0
            self._answered = True
            outcome = _interpret(status, headers, body, self.limits)
            outcome.seconds = time.monotonic() - started
            return outcome
        if not self._alive():
            raise EndpointDeadError(f"{self.url} {self._silence_in_words()} ({last_failure})")
        return Failure(Reason.ENDPOINT_ERROR, last_failure, time.monotonic() - started)

    def _silence_in_words(self) -> str:
        return "does not answer any more" if self._answered else "does not answer; is the address right?"

    def _timed_out(self, seconds: float) -> Failure:
        # One slow query is the query's fault; several in a row may be a server that hangs.
        self._timeouts_in_a_row += 1
        if self._timeouts_in_a_row >= 3 and not self._alive():
            raise EndpointDeadError(f"{self.url} {self._silence_in_words()} (three queries in a row ran out of time)")
        return Failure(Reason.TIMEOUT, f"no answer within {self.limits.seconds:g} s", seconds)

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, Outcome]]:
        """Outcomes as they come, each with the number of its request.

        When the server dies, what was answered before is yielded first, then EndpointDeadError is raised.
        """
        jobs: queue.SimpleQueue[tuple[int, Request] | None] = queue.SimpleQueue()
        outcomes: queue.SimpleQueue[tuple[int, Outcome | BaseException] | None] = queue.SimpleQueue()
        stopping = threading.Event()
        for job in enumerate(requests):
            jobs.put(job)

        def serve() -> None:
            try:
                while not stopping.is_set() and not jobs.empty():
                    try:
                        job = jobs.get_nowait()
                    except queue.Empty:
                        break
                    assert job is not None
                    try:
                        outcomes.put((job[0], self.execute(job[1])))
                    except BaseException as error:
                        stopping.set()
                        outcomes.put((job[0], error))
            finally:
                connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
                if connection is not None:
                    connection.close()
                outcomes.put(None)

        threads = [threading.Thread(target=serve, daemon=True) for _ in range(self.concurrency)]
        for thread in threads:
            thread.start()
        running = len(threads)
        first_error: BaseException | None = None
        try:
            while running:
                numbered_outcome = outcomes.get()
                if numbered_outcome is None:
                    running -= 1
                elif isinstance(numbered_outcome[1], BaseException):
                    first_error = first_error or numbered_outcome[1]
                else:
                    yield numbered_outcome[0], numbered_outcome[1]
        finally:
            stopping.set()
        if first_error is not None:
            raise first_error

    def execute_many(self, requests: Iterable[Request]) -> list[Outcome]:
        outcomes = dict(self.run(requests))
        return [outcomes[index] for index in range(len(outcomes))]

    def close(self) -> None:
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()


def _is_refusal(status: int) -> bool:
    return 300 <= status < 400 or status in (401, 403, 404, 405, 407)


def _start_of(body: bytes) -> str:
    return " ".join(body[:300].decode("utf-8", "replace").split())


def _ran_out_of_time(body: bytes) -> bool:
    """Whether an error page says that the server's own limit was reached: no fault of the server."""
    # Virtuoso may break off in the middle of its rows, so the words can stand at either end.
    lowered = (body[:2000] + body[-2000:]).lower()
    signs = (b"s1t00", b"timeout", b"timed out", b"estimated execution time", b"query interrupted")
    return any(sign in lowered for sign in signs)


def _interpret(status: int, headers: http.client.HTTPMessage, body: bytes, limits: Limits) -> Outcome:
    if status == 413:
        return Failure(Reason.TOO_LARGE, f"an answer of more than {limits.bytes:,} bytes")
    if 300 <= status < 400:
        location = headers.get("Location")
        return Failure(Reason.ENDPOINT_ERROR, f"HTTP {status} to {location}: redirects are not followed")
    if status == 408:
        return Failure(Reason.TIMEOUT, f"HTTP {status}: {_start_of(body)}")
    if status != 200:
        text = _start_of(body)
        lowered = text.lower()
        if _ran_out_of_time(body):
            return Failure(Reason.TIMEOUT, f"HTTP {status}: {text}")
        if status == 400 and any(sign in lowered for sign in ("syntax", "pars", "malformed", "expected", "sp030")):
            return Failure(Reason.SYNTAX, text)
        return Failure(Reason.ENDPOINT_ERROR, f"HTTP {status}: {text}")
    # Virtuoso says 200 and sends what it had when its own time was up.
    sql_state = headers.get("X-SQL-State", "")
    if sql_state.startswith("S1TAT"):
        return Failure(Reason.TIMEOUT, f"partial result: {headers.get('X-SQL-Message', sql_state)}")
    try:
        data = orjson.loads(body)
        answer = _read_results(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return Failure(Reason.ENDPOINT_ERROR, f"the answer is not SPARQL results in JSON ({error}): {_start_of(body)}")
    max_rows = headers.get("X-SPARQL-MaxRows", "")
    if max_rows.isdigit() and len(answer.rows) >= int(max_rows):
        return Failure(Reason.TOO_LARGE, f"the endpoint sends at most {max_rows} rows")
    if len(answer.rows) > limits.rows:
        return Failure(Reason.TOO_LARGE, f"more than {limits.rows:,} rows")
    return answer


def _read_results(data: Any) -> Answer:
    if "boolean" in data:
        return Answer(boolean=bool(data["boolean"]))
    columns = list(data["head"]["vars"])
    bindings = data["results"]["bindings"]
    if columns == ["__ASK_RETVAL"] or columns == ["__ask_retval"]:
        # Virtuoso answers ASK as a SELECT over this variable.
        value = bindings[0][columns[0]]["value"] if bindings else "0"
        return Answer(boolean=value in ("1", "true"))
    rows: list[tuple[Cell, ...]] = [tuple([_term(b.get(column)) for column in columns]) for b in bindings]
    return Answer(columns, rows)


def _term(binding: dict[str, str] | None) -> Term | None:
    if binding is None:
        return None
    kind = binding["type"]
    if kind == "uri":
        return Term("iri", binding["value"])
    if kind == "bnode":
        return Term("blank", binding["value"])
    language = binding.get("xml:lang", "").lower()
    datatype = binding.get("datatype") or (RDF + "langString" if language else XSD + "string")
    return Term("literal", binding["value"], datatype, language)
