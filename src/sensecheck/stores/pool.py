"""A pool of killable workers: queries in, outcomes out, whatever the queries do."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Generator, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import orjson

from .limits import Limits
from .messages import LENGTH, MessageError, receive
from .outcomes import (
    HALF_CHARACTER,
    EndpointDeadError,
    Failure,
    Outcome,
    Reason,
    Request,
    decode_outcome,
    too_many_bytes,
)

_NURSERY_PROGRAM = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from sensecheck.stores.worker import main
main(int(sys.argv[1]))
"""
# What a query may take beyond its limit before the worker is killed: time to send what it found.
GRACE_SECONDS = 0.25
_START_SECONDS = 60.0
# A crash at less than one in so many of the bytes allowed is not for want of memory.
_SHARE_AT_CRASH = 16
_OUT_OF_MEMORY_STATUS = 12  # as in `worker`, which cannot be imported everywhere


class StoreError(ValueError):
    """A store that cannot be opened: which, and why."""


@dataclass(slots=True)
class _Worker:
    pid: int
    channel: socket.socket
    received: bytearray = field(default_factory=bytearray)
    job: int = -1  # the number of the request it works on, or -1
    started: float = 0.0
    served: int = 0
    retiring: bool = False  # it holds so much memory that the next query would pay for it
    broken: Failure | None = None  # what it sent cannot be an answer: why
    resident: int = 0  # bytes of memory it held before its first query


class WorkerPool:
    """Workers around one engine. They start with the first query; `close` or leaving `with` ends them."""

    def __init__(self, config: dict[str, Any], limits: Limits, workers: int | None = None) -> None:
        self.limits = limits
        self.size = workers or _cores()
        self._config = {**config, "limits": asdict(limits)}
        self._nursery: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._workers: list[_Worker] = []
        self._finalizer: weakref.finalize[..., Any] | None = None
        self.facts: dict[str, Any] = {}
        self.replaced = 0  # workers that had to be killed or died
        self.not_set: dict[str, None] = {}  # bounds that this system did not let the workers have, in words

    # ---- processes

    def open(self) -> dict[str, Any]:
        """Start the nursery and load the store; what it says of the store."""
        if self._control is not None:
            return self.facts
        if not hasattr(os, "fork"):
            raise StoreError(
                "queries on a graph file or a database need Linux or macOS, where a query can be bounded and stopped; "
                "a SPARQL endpoint can be asked from everywhere"
            )
        our_end, their_end = socket.socketpair()
        self._nursery = subprocess.Popen(
            [sys.executable, "-c", _NURSERY_PROGRAM, str(their_end.fileno()), json.dumps(sys.path)],
            pass_fds=(their_end.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={
                "PATH": os.environ.get("PATH", ""),
                "LANG": "C.UTF-8",
                "PYTHONDONTWRITEBYTECODE": "1",
                # One arena, not one a thread: the cap is on address space, and arenas reserve it by the gigabyte.
                "MALLOC_ARENA_MAX": "1",
            },
            cwd="/",
        )
        their_end.close()
        self._control = our_end
        self._finalizer = weakref.finalize(self, _stop_nursery, self._nursery, our_end)
        body = orjson.dumps(self._config)
        try:
            our_end.sendall(LENGTH.pack(len(body)) + body)
            reply = receive(our_end)
        except (ConnectionError, MessageError):
            reply = None
        if reply is None:
            self.close()
            raise StoreError("the worker process ended before the store was loaded")
        if "error" in reply:
            self.close()
            if reply["kind"] in ("ModuleNotFoundError", "ImportError"):
                raise ModuleNotFoundError(_missing_extra(reply["error"]))
            if reply["kind"] == "LostError":
                raise EndpointDeadError(reply["error"])
            raise StoreError(reply["error"])
        self.facts = reply["ready"]
        self.not_set |= dict.fromkeys(reply["not_set"])
        return self.facts

    def close(self) -> None:
        for worker in self._workers:
            worker.channel.close()
        self._workers.clear()
        if self._finalizer is not None:
            self._finalizer()
        self._control = self._nursery = self._finalizer = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def pids(self) -> list[int]:
        """The processes of this pool, for those who want to watch them."""
        nursery = [self._nursery.pid] if self._nursery else []
        return nursery + [worker.pid for worker in self._workers]

    def _command(self, command: str, descriptor: int | None = None) -> dict[str, Any]:
        assert self._control is not None
        socket.send_fds(self._control, [command.encode()], [] if descriptor is None else [descriptor])
        try:
            reply = receive(self._control)
        except (ConnectionError, MessageError):
            reply = None
        if reply is None:
            raise StoreError("the process that starts workers has died")
        return reply  # type: ignore[no-any-return]

    def _start_worker(self) -> _Worker:
        our_end, their_end = socket.socketpair()
        with their_end:
            pid = self._command("fork", their_end.fileno())["pid"]
        # What a worker needs to start is not charged to its first query.
        our_end.settimeout(_START_SECONDS)
        try:
            ready = receive(our_end)
        except (OSError, MessageError):
            ready = None
        if ready is None:
            self._command(f"kill {pid}")
            our_end.close()
            raise StoreError("a worker process did not start")
        our_end.setblocking(False)
        self.not_set |= dict.fromkeys(ready["not_set"])
        worker = _Worker(pid, our_end, resident=ready["resident"])
        self._workers.append(worker)
        return worker

    def _end_worker(self, worker: _Worker, verb: str) -> dict[str, Any]:
        """End a worker; how it ended: its status (negative: by that signal) and the most memory it held."""
        self._workers.remove(worker)
        ending = self._command(f"{verb} {worker.pid}")
        worker.channel.close()
        self.replaced += 1
        return ending

    # ---- queries

    def run(
        self, requests: Iterable[Request], seconds: float | None = None
    ) -> Generator[tuple[int, Outcome], None, None]:
        """Outcomes as they come, each with the number of its request. The order is that of finishing.

        `seconds`: a shorter time for each query than the limits allow.
        """
        self.open()
        most = self.limits.seconds if seconds is None else min(seconds, self.limits.seconds)
        pending = _Pending(enumerate(requests))
        exhausted = False
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                selector.register(worker.channel, selectors.EVENT_READ, worker)
            try:
                while True:
                    if not exhausted or pending.again:
                        exhausted = yield from self._hand_out(pending, selector)
                    if self._busy():
                        yield from self._collect_replies(selector, most, pending)
                        yield from self._end_overdue(selector, most)
                    elif exhausted:
                        return
            finally:
                # The caller may stop half-way: what still runs for nobody is ended.
                for worker in self._busy():
                    self._end_worker(worker, "kill")

    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.job >= 0]

    def _hand_out(
        self, pending: _Pending, selector: selectors.BaseSelector
    ) -> Generator[tuple[int, Outcome], None, bool]:
        """Give every free worker a request, and start workers up to the size of the pool; whether none is left to
        give. What no worker took has its outcome at once.
        """
        idle = [worker for worker in self._workers if worker.job < 0]
        while idle or len(self._workers) < self.size:
            numbered_request = pending.next()
            if numbered_request is None:
                return True
            number, request = numbered_request
            refusal = self._refusal(request)
            if refusal is not None:
                yield number, refusal
                continue
            if idle:
                worker = idle.pop()
            else:
                worker = self._start_worker()
                selector.register(worker.channel, selectors.EVENT_READ, worker)
            failure = self._send_request(worker, number, request)
            if failure is not None:
                selector.unregister(worker.channel)
                self._end_worker(worker, "kill")
                if not pending.once_more(number):
                    yield number, failure
        return False

    def _collect_replies(
        self, selector: selectors.BaseSelector, most: float, pending: _Pending
    ) -> Iterator[tuple[int, Outcome]]:
        """Wait until a worker says something or the longest at work is overdue; the outcomes that are whole."""
        first_start = min(worker.started for worker in self._busy())
        seconds_left = first_start + most + GRACE_SECONDS - time.monotonic()
        for key, _ in selector.select(max(0.0, seconds_left)):
            worker = key.data
            number = worker.job
            outcome = self._read_reply(worker)
            if outcome is None:
                continue
            if worker.broken is not None:
                selector.unregister(worker.channel)
                self._end_worker(worker, "kill")
            elif worker.job >= 0:  # it died over this job
                selector.unregister(worker.channel)
                killed, outcome = self._why_it_died(worker)
                if killed and pending.once_more(number):
                    continue
            elif worker.retiring:
                selector.unregister(worker.channel)
                self._end_worker(worker, "kill")
            if number >= 0:
                yield number, outcome

    def _end_overdue(self, selector: selectors.BaseSelector, most: float) -> Iterator[tuple[int, Outcome]]:
        """Kill the workers that are at one query for too long."""
        now = time.monotonic()
        for worker in self._busy():
            seconds = now - worker.started
            if seconds > most + GRACE_SECONDS:
                selector.unregister(worker.channel)
                number = worker.job
                self._end_worker(worker, "kill")
                yield number, _timeout(most, seconds)

    def execute(self, request: Request) -> Outcome:
        for _, outcome in self.run([request]):
            return outcome
        raise AssertionError("a request without an outcome")

    def execute_many(self, requests: Iterable[Request]) -> list[Outcome]:
        """Outcomes in the order of the requests."""
        outcomes = dict(self.run(requests))
        return [outcomes[index] for index in range(len(outcomes))]

    def _refusal(self, request: Request) -> Failure | None:
        """Text that no engine needs to see."""
        try:
            size = len(request.text.encode())
        except UnicodeEncodeError:
            return Failure(Reason.SYNTAX, HALF_CHARACTER)
        if size > self.limits.query_bytes:
            most = self.limits.query_bytes
            return Failure(Reason.REFUSED, f"the query is too long: {size:,} bytes; at most {most:,} are allowed")
        return None

    def _send_request(self, worker: _Worker, job: int, request: Request) -> Failure | None:
        message = {"text": request.text, "database": request.database}
        body = orjson.dumps({**message, "timed": True} if request.timed else message)
        worker.job = job
        worker.started = time.monotonic()
        worker.received.clear()
        try:
            worker.channel.setblocking(True)
            worker.channel.settimeout(self.limits.seconds)
            worker.channel.sendall(LENGTH.pack(len(body)) + body)
        except OSError as error:
            worker.job = -1
            return Failure(Reason.ENGINE_ERROR, f"the worker process did not take the query: {error}")
        finally:
            worker.channel.setblocking(False)
        return None

    def _read_reply(self, worker: _Worker) -> Outcome | None:
        """What arrived; None while the answer is not whole. A worker that closed keeps its job."""
        received = worker.received
        try:
            while True:
                piece = worker.channel.recv(1 << 20)
                if not piece:
                    return Failure(Reason.ENGINE_ERROR, "the worker process ended")
                received += piece
                if len(received) >= LENGTH.size:
                    size = LENGTH.unpack_from(received)[0]
                    if size > self.limits.message_bytes:
                        worker.broken = too_many_bytes(self.limits)
                        return worker.broken
                    if len(received) >= LENGTH.size + size:
                        return self._whole_reply(worker)
        except BlockingIOError:
            return None
        except ConnectionError:
            return Failure(Reason.ENGINE_ERROR, "the worker process ended")

    def _whole_reply(self, worker: _Worker) -> Outcome:
        try:
            reply = orjson.loads(memoryview(worker.received)[LENGTH.size :])
            outcome = decode_outcome(reply)
            retiring = bool(reply.get("retire"))
        except (ValueError, TypeError, KeyError, AttributeError):
            # Workers send nothing of the kind; one that an engine's fault has overwritten might.
            worker.broken = Failure(Reason.ENGINE_ERROR, "the worker process sent something that is no answer")
            return worker.broken
        worker.retiring = retiring or (isinstance(outcome, Failure) and outcome.reason == Reason.MEMORY)
        worker.job = -1
        worker.served += 1
        worker.received = bytearray()
        return outcome

    def _why_it_died(self, worker: _Worker) -> tuple[bool, Failure]:
        """Whether somebody killed it within its time, and the outcome that its end stands for."""
        seconds = time.monotonic() - worker.started
        ending = self._end_worker(worker, "end")
        status = int(ending["status"])
        if status == -signal.SIGXCPU or (status == -signal.SIGKILL and seconds > self.limits.seconds):
            return False, _timeout(self.limits.seconds, seconds)
        # An allocation that failed aborts, or its missing result is used as if it were there; the kernel kills.
        no_memory = status in (-signal.SIGABRT, -signal.SIGKILL, _OUT_OF_MEMORY_STATUS)
        if status in (-signal.SIGSEGV, -signal.SIGBUS):
            no_memory = (int(ending["resident"]) - worker.resident) * _SHARE_AT_CRASH > self.limits.memory
        if no_memory:
            why = Failure(Reason.MEMORY, f"more than {self.limits.memory:,} bytes of memory", seconds)
        else:
            why = Failure(Reason.ENGINE_ERROR, f"the engine crashed (status {status})", seconds)
        return status == -signal.SIGKILL, why


class _Pending:
    """Requests that no worker has yet. One whose worker was killed from outside is handed out once more: only where
    that happens again is it the query's doing (the kernel kills what takes too much memory).
    """

    def __init__(self, requests: Iterator[tuple[int, Request]]) -> None:
        self._requests = requests
        self._given: dict[int, Request] = {}
        self._repeated: set[int] = set()
        self.again: list[int] = []

    def next(self) -> tuple[int, Request] | None:
        if self.again:
            number = self.again.pop()
            return number, self._given[number]
        numbered_request = next(self._requests, None)
        if numbered_request is not None:
            number, request = numbered_request
            self._given[number] = request
        return numbered_request

    def once_more(self, number: int) -> bool:
        """Put a request back, unless it was put back before."""
        if number in self._repeated:
            return False
        self._repeated.add(number)
        self.again.append(number)
        return True


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _timeout(most: float, seconds: float) -> Failure:
    return Failure(Reason.TIMEOUT, f"no answer within {most:g} s", seconds)


def _stop_nursery(nursery: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    try:
        nursery.wait(1.0)
    except subprocess.TimeoutExpired:
        nursery.kill()
        nursery.wait()


def _missing_extra(message: str) -> str:
    for module, (package, extra) in _EXTRAS.items():
        if module in message:
            return f"{package} is not installed: pip install 'sensecheck[{extra}]'"
    return message


_EXTRAS = {
    "pyoxigraph": ("pyoxigraph", "sparql"), "duckdb": ("duckdb", "duckdb"), "psycopg": ("psycopg", "postgresql"),
    "pymysql": ("PyMySQL", "mysql"), "cryptography": ("cryptography", "mysql"),
}  # fmt: skip
"""Modules, each with its package and the extra that brings it."""
