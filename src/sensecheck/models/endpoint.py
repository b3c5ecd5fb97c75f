"""Any OpenAI-compatible URL: chat or completions, many calls at once, patient.

An endpoint answers 429 and 500, hangs up and stalls; none of that may stop a run or cost an answer twice. What can pass
(429, 5xx, a broken or late connection) is tried again after a growing, jittered pause, and a 429 holds every worker
back; what cannot (400, 401, 404) ends the run with the endpoint's own words.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sensecheck.models.calls import Identity
from sensecheck.models.classifiers import Answer, Batch, Pair, read_answer
from sensecheck.models.generators import Request, StatementBatch
from sensecheck.models.listing import statements_in
from sensecheck.models.prompts import LIST_PROMPTS, NLI_PROMPT, fill
from sensecheck.network.address import Address, public_address
from sensecheck.network.exchange import ExchangeError, Exchanges, Fault, Reply
from sensecheck.network.scrubbing import REPEATED, without_secrets

Item = TypeVar("Item")
Value = TypeVar("Value")

_RETRIED_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_MOST_ANSWER_BYTES = 8 * 1024 * 1024
_CONNECT_SECONDS = 10.0
"""An address that swallows connections is found out sooner than an answer that takes its time."""
_PROMPT_STATUSES = frozenset((400, 413, 422))
"""What may be wrong with one prompt alone; a run ends when nothing else comes."""
_CONNECTION_TRIES = 3
"""How often a server that has never answered is tried when nobody listens at its address."""


class EndpointError(OSError):
    """The endpoint refused in a way that asking again cannot mend, or is not there at all."""


class EndpointGoneError(EndpointError):
    """Nobody answers, or nothing but faults: it may be back later, and the run can go on then."""


class _PassingError(Exception):
    """A fault that may pass: try again, not before `pause` seconds."""

    def __init__(self, reason: str, pause: float = 0.0, no_server: bool = False) -> None:
        super().__init__(reason)
        self.pause = pause
        self.no_server = no_server
        """there is no server at the address at all"""


class _PromptError(Exception):
    """The endpoint takes no exception to us but to what it is asked: too long, filtered, malformed."""


class _NoTextError(Exception):
    """The model answered, but not in words that can be kept: it refused, called a tool, spent all its tokens before the
    answer, or repeated a key."""


@dataclass
class Endpoint:
    """Where to ask and how. `url` ends in /chat/completions or /completions, or is the base (…/v1) of a chat API.

    User and password in it are sent in place of the key, and left out of `url` afterwards, as are secret parameters.
    """

    url: str
    model: str
    key_variable: str = "OPENAI_API_KEY"
    """the environment variable that holds the key; the key itself is never stored or shown"""
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
    extra: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        try:
            address = Address(self.url)
        except ValueError:
            raise ValueError(
                f"{public_address(self.url)!r} is not an http(s) URL of an OpenAI-compatible endpoint"
            ) from None
        self.url = address.public
        address.path = address.path.rstrip("/")
        if not address.path.endswith("/completions"):
            address.path += "/chat/completions"
        self.chat = address.path.endswith("/chat/completions")
        self._exchanges = Exchanges(address, connect_seconds=_CONNECT_SECONDS, most_bytes=_MOST_ANSWER_BYTES)
        self._exchanges.secrets.add_settings(self.extra)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        """set while a run ends before its calls do: nobody waits to try again for an answer that nobody takes"""
        self._next_call_at = 0.0
        self._answered = False
        self._failures_in_a_row = 0
        self.requests = 0
        self.retries: dict[str, int] = {}

    @property
    def settings(self) -> str:
        """What an answer depends on besides the model and the prompt; the address is not of it."""
        extra = f" {json.dumps(without_secrets(self.extra), sort_keys=True)}" if self.extra else ""
        seed = "" if self.seed is None else f" seed={self.seed}"
        kind = "chat" if self.chat else "completions"
        return f"{kind} temperature={self.temperature} max_tokens={self.max_tokens}{seed}{extra}"

    # -- one call ---------------------------------------------------------------------------------------------

    def complete(
        self, prompt: str, *, n: int = 1, temperature: float | None = None, seed: int | None = None
    ) -> list[str]:
        """The endpoint's texts for a prompt, after as many tries as it takes; _PassingError when they ran out, and
        _PromptError where the prompt is refused."""
        body = self._body(prompt, n, temperature, seed)
        for attempt in range(self.tries):
            self._wait_for_turn()
            try:
                return self._texts(self._post(body))
            except _PassingError as fault:
                with self._lock:
                    self.retries[str(fault)] = self.retries.get(str(fault), 0) + 1
                if fault.no_server and not self._answered and attempt + 1 >= _CONNECTION_TRIES:
                    raise EndpointGoneError(
                        f"{self.url} cannot be reached: {fault}; check its address, and that the server is running"
                    ) from None
                if attempt + 1 == self.tries:
                    raise
                pause = min(self.longest_pause, 0.25 * 2**attempt) * (0.5 + random.random() / 2)
                if self._stopping.wait(max(pause, min(fault.pause, self.longest_pause))):
                    raise
        raise AssertionError("unreachable")

    def _body(self, prompt: str, n: int, temperature: float | None, seed: int | None) -> bytes:
        body: dict[str, Any] = {
            "model": self.model, "max_tokens": self.max_tokens,
            "temperature": self.temperature if temperature is None else temperature,
        }  # fmt: skip
        if self.chat:
            body["messages"] = [{"role": "user", "content": prompt}]
        else:
            body["prompt"] = prompt
        if n > 1:
            body["n"] = n
        if seed is not None or self.seed is not None:
            body["seed"] = self.seed if seed is None else seed
        return json.dumps(body | self.extra).encode()

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
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        key = os.environ.get(self.key_variable, "").strip()
        if key and self._exchanges.address.authorization is None:
            headers["Authorization"] = f"Bearer {key}"
        with self._lock:
            self.requests += 1
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
        if reply.status == 200:
            return reply
        if reply.status in _RETRIED_STATUSES:
            pause = reply.pause()
            if reply.status == 429:
                with self._lock:
                    self._next_call_at = max(self._next_call_at, time.monotonic() + min(pause, self.longest_pause))
            raise _PassingError(f"HTTP {reply.status}", pause)
        words = f"HTTP {reply.status}: {reply.start(500)}{self._advice(reply.status)}"
        if reply.status in _PROMPT_STATUSES:
            raise _PromptError(words)
        raise EndpointError(f"{self.url} refused the call: {words}")

    def _advice(self, status: int) -> str:
        if status in (401, 403):
            key_state = "is set" if os.environ.get(self.key_variable) else "is not set"
            return (
                f" (the key is read from ${self.key_variable}, which {key_state}; "
                "--key-variable names another variable)"
            )
        if status == 404:
            return f" (is {self._exchanges.address.path} the right path, and {self.model!r} the model's name there?)"
        return ""

    def _texts(self, reply: Reply) -> list[str]:
        try:
            value = json.loads(reply.body)
        except (ValueError, RecursionError) as fault:
            raise _PassingError("answered with something that is not JSON") from fault
        if not isinstance(value, dict):
            raise _PassingError("answered with something that is not a JSON object")
        self._answered = True
        choices = value.get("choices")
        if not isinstance(choices, list) or not choices:
            raise _PassingError("answered without choices")
        return [self._text(choice, reply) for choice in choices]

    def _text(self, choice: Any, reply: Reply) -> str:
        said = choice.get("message", choice) if isinstance(choice, dict) else None
        if not isinstance(said, dict):
            raise _PassingError("answered with a choice that is no object")
        text = said.get("content", said.get("text"))
        if text is None:
            why = "refused" if said.get("refusal") else choice.get("finish_reason")
            raise _NoTextError(f"answered without text ({reply.words(str(why or 'no reason given'), 40)})")
        if not isinstance(text, str):
            raise _PassingError("answered with a text that is none")
        # Half a character (a lone surrogate) can be said in JSON, and be written nowhere.
        whole = text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if reply.has_secrets and reply.repeats_secret(whole):
            raise _NoTextError(REPEATED)
        return whole

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
    ) -> Iterator[list[tuple[int, Value | Exception]]]:
        """Ask about every item, `concurrency` at a time; answers come in the order they arrive, and no call waits
        for a slower one. A fault that would not pass becomes the item's value; a refusal ends it all."""
        queue = iter(range(len(items)))
        with ThreadPoolExecutor(self.concurrency, thread_name_prefix="endpoint") as pool:
            running: dict[Future[Value], int] = {}

            def fill_up() -> None:
                while len(running) < self.concurrency:
                    index = next(queue, None)
                    if index is None:
                        return
                    running[pool.submit(ask, items[index])] = index

            try:
                fill_up()
                while running:
                    completed, _ = wait(running, return_when=FIRST_COMPLETED)
                    batch: list[tuple[int, Value | Exception]] = []
                    for future in completed:
                        index = running.pop(future)
                        error = future.exception()
                        if isinstance(error, _PassingError | _PromptError | _NoTextError):
                            batch.append((index, error))
                            failures = self._failures_in_a_row + 1
                            self._failures_in_a_row = 0 if isinstance(error, _NoTextError) else failures
                        elif error is not None:
                            raise error
                        else:
                            batch.append((index, future.result()))
                            self._failures_in_a_row = 0
                    yield batch
                    self._lose_patience([error for _, error in batch if isinstance(error, Exception)])
                    # Only now: whoever takes the answers has put them on disk, so what a kill can cost is never more
                    # than the calls that may run at once.
                    fill_up()
            finally:
                for future in running:
                    self._stopping.set()
                    future.cancel()
                pool.shutdown()
                self._stopping.clear()
                self._exchanges.close()


class EndpointClassifier:
    """An LLM behind a URL as M, by prompt."""

    def __init__(
        self,
        endpoint: Endpoint,
        prompt: str = NLI_PROMPT,
        read: Callable[[str], int | None] = read_answer,
        revision: str = "",
    ) -> None:
        self.endpoint, self._prompt, self._read = endpoint, prompt, read
        settings = f"{prompt}\n[{read.__name__} {endpoint.settings}]"
        self.identity = Identity(endpoint.model, revision, settings)

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        def ask(pair: Pair) -> Answer:
            text = self.endpoint.complete(fill(self._prompt, *pair))[0]
            return Answer(self._read(text), text=text)

        for batch in self.endpoint.each(pairs, ask):
            yield [
                (i, value if isinstance(value, Answer) else Answer(None, failure=f"endpoint: {value}"))
                for i, value in batch
            ]


class EndpointGenerator:
    """An LLM behind a URL as G: it is asked for a list of n statements."""

    samples = True

    def __init__(self, endpoint: Endpoint, prompts: dict[bool, str] | None = None, revision: str = "") -> None:
        self.endpoint = endpoint
        self._prompts = prompts or LIST_PROMPTS
        settings = f"{self._prompts[True]}\n{self._prompts[False]}\n[{endpoint.settings}]"
        self.identity = Identity(endpoint.model, revision, settings)

    def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]:
        def ask(request: Request) -> list[str]:
            prompt = (
                self._prompts[request.positive].replace("<n>", str(request.n)).replace("<hypothesis>", request.text)
            )
            temperature = 0.9 if request.mode == "sample" else None
            text = self.endpoint.complete(prompt, temperature=temperature, seed=request.seed)[0]
            return statements_in(text)[: request.n]

        for batch in self.endpoint.each(requests, ask):
            yield [(i, value if isinstance(value, list) else None) for i, value in batch]
