"""kill -9 at chosen moments of a run against a server, and the books of what was asked before and after.

Every process of the run gets a key of its own, so the books know which process asked, however late a request is read.
A moment is a number of calls and a point in the life of a call; whoever serves the call pulls the trigger, so the
machine's load decides nothing.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PHASES = ("asked", "answered", "passed on")


@dataclass(frozen=True)
class Moment:
    """After so many different calls of the whole run, at this point of the next call, and this much later."""

    calls: int
    phase: str
    delay: float

    def __str__(self) -> str:
        return f"call {self.calls:>4} {self.phase:<9} +{1000 * self.delay:4.1f} ms"


def moments(seed: int, calls: int, n: int = 10, keep_back: int = 12) -> list[Moment]:
    """n seeded moments spread over a run of so many calls; one to each tenth, never among the last few calls."""
    rng = random.Random(seed)
    last = calls - keep_back
    assert last >= 2 * n, f"a run of {calls} calls is too short for {n} kills"
    edges = [1 + round(i * (last - 1) / n) for i in range(n + 1)]
    return [Moment(rng.randrange(a, z), rng.choice(PHASES), rng.random() * 0.02) for a, z in itertools.pairwise(edges)]


class Books:
    """What was asked, by whom; and the trigger."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.asked: dict[str, list[str]] = {}
        self._different: set[str] = set()
        self._armed: tuple[int, Moment] | None = None

    def arm(self, pid: int, moment: Moment | None) -> None:
        with self._lock:
            self._armed = None if moment is None else (pid, moment)

    def note(self, phase: str, key: str, prompt: str) -> None:
        with self._lock:
            if phase == "asked":
                self.asked.setdefault(key, []).append(prompt)
                self._different.add(prompt)
            armed = self._armed
            if armed is None or armed[1].phase != phase or len(self._different) < armed[1].calls:
                return
            self._armed = None
        if armed[1].delay:
            time.sleep(armed[1].delay)
        os.kill(armed[0], signal.SIGKILL)


@dataclass
class Fault:
    """One line of the fault table."""

    moment: Moment
    recorded: set[str]
    asked: set[str]
    """by the process that was killed"""
    again: set[str]
    """asked by the next process, though an earlier one had asked"""

    @property
    def in_flight(self) -> set[str]:
        return self.asked - self.recorded


def killed_run(
    books: Books,
    planned: Sequence[Moment],
    command: Callable[[bool], list[str]],
    recorded: Callable[[], set[str]],
    out: Path,
) -> list[Fault]:
    """The run, killed at each moment and taken up again, and at last let to its end."""
    faults: list[Fault] = []
    for number, moment in enumerate([*planned, None]):
        key = f"process-{number}"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENAI_API_KEY": key}
        process = subprocess.Popen(
            command((out / "manifest.json").exists()), env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        books.arm(process.pid, moment)
        said = process.communicate(timeout=240)[1]
        if moment is None:
            assert process.returncode == 0, said
        else:
            assert process.returncode == -signal.SIGKILL, f"{moment} never came: {process.returncode} {said}"
            faults.append(Fault(moment, recorded(), set(), set()))
    for number, fault in enumerate(faults):
        # Only now: a request that was in a socket when its process died is read whenever the server comes to it.
        before = {prompt for earlier in range(number + 1) for prompt in books.asked.get(f"process-{earlier}", [])}
        fault.asked = set(books.asked.get(f"process-{number}", []))
        fault.again = before & set(books.asked.get(f"process-{number + 1}", []))
        later = {p for k in range(number + 1, len(faults) + 1) for p in books.asked.get(f"process-{k}", [])}
        assert not fault.recorded & later, f"{fault.moment}: an answer that was recorded was asked for again"
    return faults


def fault_table(faults: Sequence[Fault]) -> str:
    head = f"{'kill':>4}  {'moment':<32}{'recorded':>9}{'in flight':>11}{'asked again':>13}{'recorded and asked again':>26}"
    return "\n".join(
        [head]
        + [
            f"{i:>4}  {f.moment!s:<32}{len(f.recorded):>9}{len(f.in_flight):>11}{len(f.again):>13}"
            f"{len(f.recorded & f.again):>26}"
            for i, f in enumerate(faults, 1)
        ]
    )


def recorded_texts(out: Path) -> list[str]:
    """The texts of every call whose answer is on disk."""
    path = out / "calls.sqlite"
    if not path.exists():
        return []
    database = sqlite3.connect(path)
    try:
        return [str(text) for (text,) in database.execute("SELECT text FROM calls")]
    except sqlite3.OperationalError:  # killed before the table was there
        return []
    finally:
        database.close()


class Proxy(ThreadingHTTPServer):
    """Stands before a server that keeps no books of its own."""

    daemon_threads = True
    books: Books
    upstream: tuple[str, int]


class _Forward(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the client died: that is what the test is about
            return

    def log_message(self, *args: Any) -> None:
        return

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        prompt = json.loads(body)["messages"][0]["content"]
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.server.books.note("asked", key, prompt)
        connection = http.client.HTTPConnection(*self.server.upstream, timeout=60)
        connection.request("POST", self.path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.server.books.note("answered", key, prompt)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type") or "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        self.server.books.note("passed on", key, prompt)


def before(host: str, port: int) -> Proxy:
    """A proxy on a free port before host:port, with empty books."""
    proxy = Proxy(("127.0.0.1", 0), _Forward)
    proxy.books, proxy.upstream = Books(), (host, port)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    return proxy
