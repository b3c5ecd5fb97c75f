"""Any server of a language model: many calls at once, patient, within a budget. What is asked is the caller's affair.

An endpoint answers 429 and 500, hangs up and stalls; none of that may stop a run or cost an answer twice. What can pass
(429, 5xx, a broken or late connection) is tried again after a growing, jittered pause, and a 429 holds every worker
back; a field that the server does not take is left out or called otherwise (`adapting`); what is refused for good (400,
401, 404) ends the run with the endpoint's own words.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from sensecheck.models.adapting import Adapting
from sensecheck.models.dialects import NotSaidError, Question, dialect_of
from sensecheck.models.said import FINISHES, Said
from sensecheck.models.spending import Budget, SpentError
from sensecheck.network.address import Address, public_address, with_variables
from sensecheck.network.exchange import ExchangeError, Exchanges, Fault, Reply
from sensecheck.network.scrubbing import REPEATED, without_secrets

Item = TypeVar("Item")
Value = TypeVar("Value")

_RETRIED_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_MOST_ANSWER_BYTES = 8 * 1024 * 1024
_CONNECT_SECONDS = 10.0
"""An address that swallows connections is found out sooner than an answer that takes its time."""
_SECONDS_AFTER_INTERRUPT = 1.0
_PROMPT_STATUSES = frozenset((400, 413, 422))
"""What may be wrong with one prompt alone; a run ends when nothing else comes."""
_CONNECTION_TRIES = 3
"""How often a server that has never answered is tried when nobody listens at its address."""
_MOST_MANNERS = 12
"""Ways in which one call is asked; a server that refuses one after the other is not understood."""
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


class EndpointError(OSError):
    """The endpoint refused in a way that asking again cannot mend, or is not there at all."""


class EndpointGoneError(EndpointError):
    """Nobody answers, or nothing but faults: it may be back later, and the run can go on then."""


class BudgetError(EndpointGoneError):
    """As much was spent as the user allows: the run can go on."""


class CallError(Exception):
    """One call got no answer that can be kept, for good."""


class _PassingError(CallError):
    """A fault that may pass: try again, not before `pause` seconds."""

    def __init__(self, reason: str, pause: float = 0.0, no_server: bool = False) -> None:
        super().__init__(reason)
        self.pause = pause
        self.no_server = no_server
        """there is no server at the address at all"""


class _PromptError(CallError):
    """The endpoint takes no exception to us but to what it is asked: too long, filtered, malformed."""


class _SecretError(CallError):
    """The answer repeats a key."""


@dataclass
class Endpoint:
    """Where to ask and how. `url` says by its ending how the server is spoken to (`dialects`), or is the base (…/v1) of
    a chat API, or of what `api` names.

    User and password in it are sent in place of the key, and left out of `url` afterwards, as are secret parameters.
    """

    url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    """the environment variable that holds the key; the key itself is never stored or shown"""
    key_option: str = "--key-variable"
    """by which the user names another one"""
    concurrency: int = 8
    timeout: float = 60.0
    tries: int = 8
    per_minute: float | None = None
    longest_pause: float = 60.0
    patience: int = 16
    """calls in a row that may fail for good before the endpoint is taken for dead"""
    temperature: float = 0.0
    max_tokens: int = 512
    seed: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """fields of the body beside ours, which they replace"""
    api: str = ""
    """chat, completions, responses or messages"""
    structured: str = "auto"
    """how answers are held to a few choices: a structure of the dialect, `auto` (the first that is taken) or `off`"""
    likely: bool = False
    """whether log-probabilities are asked for, where there are choices"""
    budget: Budget = field(default_factory=Budget, repr=False)

    def __post_init__(self) -> None:
        self.url = with_variables(self.url)
        try:
            address = Address(self.url)
        except ValueError:
            raise ValueError(
                f"{public_address(self.url)!r} is not an http(s) URL of an OpenAI-compatible endpoint"
            ) from None
        self.url = address.public
        self.dialect, address.path = dialect_of(address.path, self.api)
        self.path = address.path
        self.adapting = Adapting(self.dialect, self.structured, self.likely)
        self.spending = self.budget.opened()
        self._exchanges = Exchanges(address, connect_seconds=_CONNECT_SECONDS, most_bytes=_MOST_ANSWER_BYTES)
        self._exchanges.secrets.add_settings(self.extra)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        """set while a run ends before its calls do: nobody waits to try again for an answer that nobody takes"""
        self._next_call_at = 0.0
        self._answered = False
        self._failures_in_a_row = 0

    @property
    def settings(self) -> str:
        """What an answer depends on besides the model and the prompt; the address is not of it."""
        extra = f" {json.dumps(without_secrets(self.extra), sort_keys=True)}" if self.extra else ""
        seed = "" if self.seed is None else f" seed={self.seed}"
        likely = " logprobs" if self.likely else ""
        return f"{self.dialect.name} temperature={self.temperature} max_tokens={self.max_tokens}{seed}{likely}{extra}"

    # -- one call ---------------------------------------------------------------------------------------------

    def ask(
        self, prompt: str, *, choices: tuple[str, ...] = (), temperature: float | None = None, seed: int | None = None,
        explained: bool = False,
    ) -> Said:  # fmt: skip
        """The answer to a prompt, after as many tries as it takes; a CallError where there is none."""
        question = self._question(prompt, choices, temperature, seed, explained)
        manners, attempt = 0, 0
        while True:
            manner = self.adapting.manner
            body = json.dumps(self.body(manner.of(question))).encode()
            self._wait_for_turn()
            try:
                return self._said(self._post(body))
            except _PromptError as refusal:
                manners += 1
                if manners >= _MOST_MANNERS or not self.adapting.refused(str(refusal), manner):
                    raise
                self.spending.failed("a field was refused")
            except _PassingError as fault:
                attempt += 1
                self.spending.failed(str(fault))
                if fault.no_server and not self._answered and attempt >= _CONNECTION_TRIES:
                    raise EndpointGoneError(
                        f"{self.url} cannot be reached: {fault}; check its address, and that the server is running"
                    ) from None
                if attempt >= self.tries:
                    raise
                pause = min(self.longest_pause, 0.25 * 2 ** (attempt - 1)) * (0.5 + random.random() / 2)
                if self._stopping.wait(max(pause, min(fault.pause, self.longest_pause))):
                    raise

    def body_of(
        self, prompt: str, *, choices: tuple[str, ...] = (), temperature: float | None = None, seed: int | None = None
    ) -> dict[str, Any]:
        """What would be sent for a prompt, as far as the server has not refused it."""
        return self.body(self.adapting.manner.of(self._question(prompt, choices, temperature, seed)))

    def _question(
        self, prompt: str, choices: tuple[str, ...], temperature: float | None, seed: int | None,
        explained: bool = False,
    ) -> Question:  # fmt: skip
        return Question(
            prompt, self.max_tokens, self.temperature if temperature is None else temperature,
            self.seed if seed is None else seed, choices, explained=explained,
        )  # fmt: skip

    def body(self, question: Question) -> dict[str, Any]:
        """What is sent for a question, in the manner that it has."""
        body = self.dialect.body(self.model, question)
        if any(name in self.extra for name in _LIMITS):
            body = {name: value for name, value in body.items() if name not in _LIMITS}
        return body | dict(self.extra)

    def _wait_for_turn(self) -> None:
        """Keeps to the asked rate, and waits while the endpoint wants to be left alone."""
        with self._lock:
            now = time.monotonic()
            call_at = max(now, self._next_call_at)
            if self.per_minute:
                self._next_call_at = call_at + 60.0 / self.per_minute
        if call_at > now:
            self._stopping.wait(call_at - now)

    def _post(self, body: bytes) -> Reply:
        """The endpoint's answer; what it may not give at once, or for good, is raised."""
        key = "" if self._exchanges.address.authorization else os.environ.get(self.key_variable, "").strip()
        headers = {"Content-Type": "application/json", "Accept": "application/json", **self.dialect.headers(key)}
        self.budget.take(self.spending)
        try:
            reply = self._exchanges.post(body, headers, self.timeout)
        except ExchangeError as error:
            if error.fault is Fault.UNTRUSTED:
                raise EndpointError(f"{self.url}: its certificate is not trusted here: {error}") from None
            reason = {
                Fault.TIMEOUT: "timed out",
                Fault.NO_CONNECTION: "no connection in time",
                Fault.NO_SERVER: str(error),
                Fault.TOO_LARGE: f"answered with more than {_MOST_ANSWER_BYTES} bytes",
            }.get(error.fault, f"connection failed ({error.name})")
            no_server = error.fault in (Fault.NO_SERVER, Fault.NO_CONNECTION)
            raise _PassingError(reason, no_server=no_server) from error
        if reply.status != 200:
            self._refused(reply.status, reply)
        return reply

    def _refused(self, status: int, reply: Reply) -> None:
        if status in _RETRIED_STATUSES:
            pause = reply.pause()
            if status == 429:
                with self._lock:
                    self._next_call_at = max(self._next_call_at, time.monotonic() + min(pause, self.longest_pause))
            raise _PassingError(f"HTTP {status}", pause)
        if 300 <= status < 400:
            where = f" to {place}" if (place := reply.header("Location", 200)) else ""
            words = f"HTTP {status}: it sends calls elsewhere{where}, and redirects are not followed"
            raise EndpointError(f"{self.url} refused the call: {words}")
        words = f"HTTP {status}: {reply.start(500)}{self._advice(status)}"
        if status in _PROMPT_STATUSES:
            raise _PromptError(words)
        raise EndpointError(f"{self.url} refused the call: {words}")

    def _advice(self, status: int) -> str:
        if status in (401, 403):
            key_state = "is set" if os.environ.get(self.key_variable) else "is not set"
            return (
                f" (the key is read from ${self.key_variable}, which {key_state}; "
                f"{self.key_option} names another variable)"
            )
        if status == 404:
            return f" (is {self.path} the right path, and {self.model!r} the model's name there?)"
        return ""

    def _said(self, reply: Reply) -> Said:
        try:
            value = json.loads(reply.body)
        except (ValueError, RecursionError) as fault:
            raise _PassingError("answered with something that is not JSON") from fault
        if not isinstance(value, dict):
            raise _PassingError("answered with something that is not a JSON object")
        error = value.get("error")
        if error:
            # Brokers of other servers' models say 200 and put what those said into the body.
            code = error.get("code") if isinstance(error, dict) else None
            if type(code) is int and 400 <= code < 600:
                self._refused(code, reply)
            raise _PassingError("answered with an error in place of an answer")
        self._answered = True
        try:
            said = self.dialect.said(value)
        except NotSaidError as fault:
            raise _PassingError(f"answered {fault}") from fault
        self.spending.answered(self.dialect.tokens(value))
        if reply.has_secrets and reply.repeats_secret(said.text):
            raise _SecretError(REPEATED)
        known = not said.finish or said.finish in FINISHES
        return said if known else replace(said, finish=reply.words(said.finish, 40))

    def _lose_patience(self, errors: Sequence[Exception]) -> None:
        """End it all when nothing but faults comes."""
        failures = self._failures_in_a_row
        refused = next((error for error in errors if isinstance(error, _PromptError)), None)
        # One prompt may be refused, be it the first; an endpoint that refuses before it ever answered is set up wrong.
        if refused is not None and failures >= (self.patience if self._answered else min(self.patience, 3)):
            raise EndpointError(f"{self.url} refused {failures} calls in a row, the last one with {refused}")
        if failures >= self.patience:
            fault = next(error for error in errors if isinstance(error, _PassingError | _PromptError))
            raise EndpointGoneError(
                f"{self.url} has failed {failures} calls in a row, each tried {self.tries} times: {fault}"
            )

    # -- many calls -------------------------------------------------------------------------------------------

    def each(
        self, items: Sequence[Item], ask: Callable[[Item], Value]
    ) -> Iterator[list[tuple[int, Value | CallError]]]:
        """Ask about every item, `concurrency` at a time; answers come in the order they arrive, and no call waits
        for a slower one. A call without an answer becomes the item's value; a refusal of all calls ends it. When the
        budget is spent, the calls under way are still waited for: what they bring was paid for.
        """
        workers = _Workers(min(self.concurrency, len(items)), lambda index: ask(items[index]))
        waiting = iter(range(len(items)))
        spent: SpentError | None = None
        interrupted: KeyboardInterrupt | None = None
        try:
            workers.begin(waiting)
            while workers.running:
                batch: list[tuple[int, Value | CallError]] = []
                try:
                    come = workers.done()
                except KeyboardInterrupt as stop:
                    # What is under way was paid for: what comes within a second is kept.
                    interrupted = stop
                    self._stopping.set()
                    come = workers.within(_SECONDS_AFTER_INTERRUPT)
                for index, value in come:
                    if isinstance(value, SpentError):
                        spent = value
                    elif isinstance(value, BaseException) and not isinstance(value, CallError):
                        raise value
                    else:
                        batch.append((index, value))
                        failed = isinstance(value, _PassingError | _PromptError)
                        self._failures_in_a_row = self._failures_in_a_row + 1 if failed else 0
                if batch:
                    yield batch
                if interrupted is not None:
                    raise interrupted
                self._lose_patience([value for _, value in batch if isinstance(value, CallError)])
                # Only now: whoever takes the answers has put them on disk, so what a kill can cost is never more
                # than the calls that may run at once.
                if spent is None:
                    workers.begin(waiting)
            if spent is not None:
                raise BudgetError(str(spent))
        finally:
            self._stopping.set()
            workers.end()
            self._stopping.clear()
            self._exchanges.close()


class _Workers:
    """Threads that each ask one thing after another. A queue each way: to wait for any of many futures takes time that
    grows with their number, for every answer.
    """

    def __init__(self, count: int, ask: Callable[[int], Any]) -> None:
        self._ask = ask
        self._count = count
        self._threads: list[threading.Thread] = []
        self._asked: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._answered: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.running = 0

    def begin(self, items: Iterator[int]) -> None:
        """As many calls as may run at once."""
        while self.running < self._count and (index := next(items, None)) is not None:
            self.running += 1
            if len(self._threads) < self.running:
                thread = threading.Thread(target=self._work, name="endpoint", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._asked.put(index)

    def done(self) -> list[tuple[int, Any]]:
        """What has come since the last look; at least one."""
        found: list[tuple[int, Any]] = []
        while not found:
            with contextlib.suppress(queue.Empty):
                # Not for ever: a signal that another thread was given is heard between two waits.
                found.append(self._answered.get(timeout=0.1))
        while len(found) < self.running:
            try:
                found.append(self._answered.get_nowait())
            except queue.Empty:
                break
        self.running -= len(found)
        return found

    def within(self, seconds: float) -> list[tuple[int, Any]]:
        """What comes in this time."""
        until = time.monotonic() + seconds
        found: list[tuple[int, Any]] = []
        while len(found) < self.running and (left := until - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                found.append(self._answered.get(timeout=left))
        self.running -= len(found)
        return found

    def end(self) -> None:
        for _ in self._threads:
            self._asked.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (index := self._asked.get()) is not None:
            try:
                value = self._ask(index)
            except BaseException as error:  # whoever takes the answers raises it
                value = error
            self._answered.put((index, value))
