"""Any SPARQL 1.1 endpoint over HTTP: connections kept alive, queries side by side, every wait bounded."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import orjson

from sensecheck.language.sparql.results import TooLargeError, json_part, json_parts, json_rows
from sensecheck.network.address import Address, public_address, with_variables
from sensecheck.network.exchange import ExchangeError, Exchanges, Fault, Reply
from sensecheck.network.scrubbing import REPEATED

from .limits import Limits
from .outcomes import Answer, EndpointDeadError, Failure, Outcome, Reason, Request
from .sparql_gate import STANDARD_PREFIXES, admit, prefixes_print

_MEDIA_TYPE = "application/sparql-results+json"
_CONNECT_SECONDS = 5.0
_SECONDS_AFTER_INTERRUPT = 1.0


class Endpoint:
    """A SPARQL endpoint.

    A 5xx answer, "too many requests" (429) and a lost connection are tried again with growing pauses. When they
    persist, a trivial query decides whether this query or the server is to blame: the first is an `endpoint error`,
    the second raises EndpointDeadError, so that a run stops instead of scoring zeros. The same goes for a server that
    is there and refuses: no rights, nothing at that address, a redirect. User and password in the address are sent as
    a header; `url` is the address without them and without secret parameters.
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
        url = with_variables(url)
        try:
            address = Address(url)
        except ValueError:
            shown = public_address(url)
            raise ValueError(f"endpoint {shown!r}: expected an address like http://localhost:8890/sparql") from None
        self.url = address.public
        self.limits = limits or Limits()
        self.prefixes = STANDARD_PREFIXES if prefixes is None else dict(prefixes)
        self.concurrency = max(1, concurrency)
        self.retries = retries
        self.pause = pause
        self.tolerant = tolerant
        self.services = frozenset(services)
        self.sent = 0  # requests that reached the wire, retries and probes included
        self._headers = {
            "Accept": _MEDIA_TYPE,
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "sensecheck",
            **(headers or {}),
        }
        self._exchanges = Exchanges(address, connect_seconds=_CONNECT_SECONDS, most_bytes=self.limits.bytes)
        self._lock = threading.Lock()
        self._timeouts_in_a_row = 0
        self._answered = False
        self._understood = False  # whether SPARQL results ever came

    @property
    def fingerprint(self) -> str:
        # A query that was refused for its SERVICE is asked once that is allowed.
        services = f" services {' '.join(sorted(self.services))}" if self.services else ""
        return f"endpoint {self.url}{prefixes_print(self.prefixes)}{services}"

    def content(self) -> str:
        """The address without what is nobody's business: nothing shorter tells what an endpoint holds.

        >>> Endpoint("https://me:pw@Example.org:8890/sparql?default-graph-uri=urn:g&api_key=1").content()
        'https://example.org:8890/sparql?default-graph-uri=urn%3Ag'
        """
        parts = urlsplit(self.url)
        kept = urlencode(parse_qsl(parts.query))
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{host}{port}{parts.path}" + (f"?{kept}" if kept else "")

    # ---- one exchange

    def _exchange(self, text: str, seconds: float) -> Reply:
        with self._lock:
            self.sent += 1
        return self._exchanges.post(urlencode({"query": text}).encode(), self._headers, seconds)

    def _probe(self) -> int | None:
        for attempt in range(2):
            try:
                return self._exchange("ASK {}", min(_CONNECT_SECONDS, self.limits.seconds)).status
            except ExchangeError as error:
                if error.fault is Fault.TOO_LARGE:
                    return 200  # there is somebody, whatever it says
                time.sleep(self.pause * (attempt + 1))
        return None

    def _speaks_sparql(self) -> bool:
        """Whether the simplest query is answered otherwise: a page for every query is no endpoint's."""
        try:
            reply = self._exchange("ASK {}", min(_CONNECT_SECONDS, self.limits.seconds))
        except ExchangeError:
            return True  # it is somebody else's turn to say so
        return reply.status != 200 or not _is_page(reply)

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
                reply = self._exchange(admitted.text, self.limits.seconds)
            except ExchangeError as error:
                if error.fault is Fault.TIMEOUT:
                    return self._timed_out(time.monotonic() - started)
                if error.fault is Fault.TOO_LARGE:
                    return Failure(Reason.TOO_LARGE, str(error), time.monotonic() - started)
                last_failure = str(error)
                if error.fault is Fault.NO_SERVER and not self._answered and attempt:
                    raise EndpointDeadError(f"{self.url} {self._silence_in_words()} ({last_failure})") from None
                continue
            status = reply.status
            if status == 429 or (status >= 500 and not _ran_out_of_time(reply.body)):
                last_failure = f"HTTP {status}: {reply.start()}"
                asked_pause = reply.pause() if status == 429 else asked_pause
                continue
            if _is_refusal(status) and _is_refusal(self._probe() or 0):
                refusal = f"HTTP {status}: {reply.start()}".rstrip(": ")
                if 300 <= status < 400:
                    refusal = f"HTTP {status} to {reply.header('Location') or 'nowhere'}; redirects are not followed"
                raise EndpointDeadError(f"{self.url} refuses every query ({refusal})")
            self._timeouts_in_a_row = 0
            self._answered = True
            outcome = _interpret(reply, self.limits)
            if isinstance(outcome, Answer):
                self._understood = True
            elif status == 200 and not self._understood and _is_page(reply) and not self._speaks_sparql():
                raise EndpointDeadError(
                    f"{self.url} answers, but not with SPARQL results ({outcome.message}); is the address right?"
                )
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
        jobs = iter(list(enumerate(requests)))  # of a list: threads may take from it at the same time
        outcomes: queue.SimpleQueue[tuple[int, Outcome] | BaseException | None] = queue.SimpleQueue()
        stopping = threading.Event()

        def serve() -> None:
            try:
                for index, request in jobs:
                    if stopping.is_set():
                        break
                    outcomes.put((index, self.execute(request)))
            except BaseException as error:
                stopping.set()
                outcomes.put(error)
            finally:
                outcomes.put(None)

        threads = [threading.Thread(target=serve, daemon=True) for _ in range(self.concurrency)]
        for thread in threads:
            thread.start()
        running = len(threads)
        first_error: BaseException | None = None
        until: float | None = None
        try:
            while running:
                try:
                    # Not for ever: a signal that another thread was given is heard between two waits.
                    outcome = outcomes.get(timeout=0.1)
                except queue.Empty:
                    if until is not None and time.monotonic() > until:
                        break
                    continue
                except KeyboardInterrupt as stop:
                    # What the server is at work on was asked for: what comes within a second is kept.
                    stopping.set()
                    until = time.monotonic() + _SECONDS_AFTER_INTERRUPT
                    first_error = stop
                    continue
                if outcome is None:
                    running -= 1
                elif isinstance(outcome, BaseException):
                    first_error = first_error or outcome
                else:
                    yield outcome
        finally:
            stopping.set()
            self._exchanges.close()
        if first_error is not None:
            raise first_error

    def execute_many(self, requests: Iterable[Request]) -> list[Outcome]:
        outcomes = dict(self.run(requests))
        return [outcomes[index] for index in range(len(outcomes))]

    def close(self) -> None:
        self._exchanges.close()


class _RepeatedSecretError(Exception):
    """An answer that holds a key may neither be kept nor be changed: figures would follow from the change."""


def _is_page(reply: Reply) -> bool:
    return reply.body.lstrip()[:1] == b"<"


def _is_refusal(status: int) -> bool:
    return 300 <= status < 400 or status in (401, 403, 404, 405, 407)


def _ran_out_of_time(body: bytes) -> bool:
    """Whether an error page says that the server's own limit was reached: no fault of the server."""
    # Virtuoso may break off in the middle of its rows, so the words can stand at either end.
    lowered = (body[:2000] + body[-2000:]).lower()
    signs = (b"s1t00", b"timeout", b"timed out", b"estimated execution time", b"query interrupted")
    return any(sign in lowered for sign in signs)


def _interpret(reply: Reply, limits: Limits) -> Outcome:
    if reply.status != 200:
        return _failure(reply, limits)
    # Virtuoso says 200 and sends what it had when its own time was up.
    sql_state = reply.header("X-SQL-State")
    if sql_state.startswith("S1TAT"):
        return Failure(Reason.TIMEOUT, f"partial result: {reply.header('X-SQL-Message') or sql_state}")
    try:
        return _read_results(orjson.loads(reply.body), reply, limits)
    except _RepeatedSecretError:
        return Failure(Reason.ENDPOINT_ERROR, REPEATED)
    except ValueError as error:
        why = reply.words(str(error), 100)
        return Failure(Reason.ENDPOINT_ERROR, f"the answer is not SPARQL results in JSON ({why}): {reply.start()}")


def _failure(reply: Reply, limits: Limits) -> Failure:
    text = reply.start()
    told = f"HTTP {reply.status}: {text}"
    if reply.status == 413:
        return Failure(Reason.TOO_LARGE, f"an answer of more than {limits.bytes:,} bytes")
    if 300 <= reply.status < 400:
        where = reply.header("Location") or "nowhere"
        return Failure(Reason.ENDPOINT_ERROR, f"HTTP {reply.status} to {where}: redirects are not followed")
    if reply.status == 408 or _ran_out_of_time(reply.body):
        return Failure(Reason.TIMEOUT, told)
    syntax_signs = ("syntax", "pars", "malformed", "expected", "sp030")
    if reply.status == 400 and any(sign in text.lower() for sign in syntax_signs):
        return Failure(Reason.SYNTAX, text)
    return Failure(Reason.ENDPOINT_ERROR, told)


def _read_results(data: Any, reply: Reply, limits: Limits) -> Outcome:
    """SPARQL results in JSON. ValueError where they are not what the standard says."""

    def keep_secret(text: str) -> None:
        if reply.repeats_secret(text):
            raise _RepeatedSecretError

    parts = json_parts(data)
    if isinstance(parts, bool):
        return Answer(boolean=parts)
    columns, bindings = parts
    if reply.has_secrets:
        keep_secret("\n".join(columns))
    if columns in (["__ASK_RETVAL"], ["__ask_retval"]):
        # Virtuoso answers ASK as a SELECT over this variable.
        value = json_part(json_part(bindings[0], columns[0], dict), "value", str) if bindings else "0"
        return Answer(boolean=value in ("1", "true"))
    most_rows = reply.number("X-SPARQL-MaxRows")
    if most_rows is not None and len(bindings) >= most_rows:
        return Failure(Reason.TOO_LARGE, f"the endpoint sends at most {most_rows} rows")
    if len(bindings) > limits.rows:
        return Failure(Reason.TOO_LARGE, f"more than {limits.rows:,} rows")
    try:
        return Answer(columns, json_rows(columns, bindings, limits.bytes, keep_secret if reply.has_secrets else None))
    except TooLargeError as error:
        return Failure(Reason.TOO_LARGE, str(error))
