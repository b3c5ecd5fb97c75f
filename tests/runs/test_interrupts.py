"""Ctrl-C while a server is asked: answers that come within a second are kept, and are not asked for again."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import sensecheck
from sensecheck.robust.systems import Access


class Slow(ThreadingHTTPServer):
    """Answers every call alike, some time after it came, and tells when so many are under way."""

    daemon_threads = True
    body = b""
    seconds = 0.5
    asked: list[bytes]
    when: int = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Slow

    def log_message(self, *args: Any) -> None:
        return

    def do_POST(self) -> None:
        self.server.asked.append(self.rfile.read(int(self.headers["Content-Length"])))
        if len(self.server.asked) == self.server.when:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        time.sleep(self.server.seconds)
        self.send_response(200)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)


@pytest.fixture
def slow() -> Iterator[Slow]:
    server = Slow(("127.0.0.1", 0), _Handler)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def test_answers_of_a_model_that_are_under_way_are_kept(slow: Slow, tmp_path: Path) -> None:
    slow.body, slow.when = json.dumps({"choices": [{"message": {"content": "neutral"}}]}).encode(), 4
    pairs = [{"premise": f"a {i}", "hypothesis": f"b {i}", "label": "entailment"} for i in range(12)]
    call: dict[str, Any] = {
        "model": f"http://127.0.0.1:{slow.server_port}/v1#m", "check_labels": False, "out": tmp_path / "run",
        "access": Access(concurrency=4), "polarity": "positive",
    }  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        sensecheck.robust.evaluate(pairs, **call)
    assert len(slow.asked) == 4
    slow.when, slow.seconds = 0, 0
    sensecheck.robust.evaluate(pairs, **call, resume=True)
    assert len(slow.asked) == len(set(slow.asked)), "an answer that came within a second was asked for again"


def test_answers_of_a_store_that_are_under_way_are_kept(slow: Slow, tmp_path: Path) -> None:
    value = {"x": {"type": "literal", "value": "1"}}
    slow.body, slow.when = json.dumps({"head": {"vars": ["x"]}, "results": {"bindings": [value]}}).encode(), 4
    queries = [f"SELECT ?x WHERE {{ ?x <urn:p> {i} }}" for i in range(12)]
    records = [{"gold": query, "prediction": query} for query in queries]
    call: dict[str, Any] = {"endpoint": f"http://127.0.0.1:{slow.server_port}/sparql", "out": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        sensecheck.correct.evaluate(records, **call)
    assert len(slow.asked) == 4
    slow.when, slow.seconds = 0, 0
    sensecheck.correct.evaluate(records, **call, resume=True)
    assert len(slow.asked) == len(set(slow.asked)), "an answer that came within a second was asked for again"
