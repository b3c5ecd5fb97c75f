"""A loopback OpenAI-compatible server that misbehaves on purpose, and keeps a log of every prompt it answered.

    python faulty_server.py LOG [SEED [FAULTS]]

Prints its port. Its answers depend on the prompt alone, so a disturbed run and an undisturbed one must agree. With
FAULTS (a share of the requests) it answers 429 and 500, hangs up before or in the middle of an answer, and stalls.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LABELS = ("entailment", "neutral", "contradiction")


def answer(prompt: str) -> str:
    """Statements for a request of a list, otherwise a label; both from a hash of the prompt."""
    digest = hashlib.sha256(prompt.encode()).digest()
    if "numbered list" in prompt:
        last = prompt.strip().splitlines()[-1].rstrip(".")
        kind = "not so" if "contradicts" in prompt else "so"
        return "Sure, here they are:\n\n" + "\n".join(f"{i}. {last}, {kind} {i}." for i in range(1, 21))
    if prompt.count("so ") and "Premise" in prompt:
        # a statement and its hypothesis: as meant, most of the time, so that pairs get through the filter
        intended = "contradiction" if "not so" in prompt else "entailment"
        return intended if digest[0] < 230 else LABELS[digest[1] % 3]
    return LABELS[digest[0] % 3]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    log: Path
    faults: float
    rng: random.Random
    books: Any = None
    """what of kill_moments watches the calls, if anything does"""
    lock = threading.Lock()

    def note(self, phase: str, key: str, prompt: str) -> None:
        if self.books is not None:
            self.books.note(phase, key, prompt)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:  # the client died: that is what the test is about
            return

    def log_message(self, *args: Any) -> None:
        return

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"] if "messages" in body else body["prompt"]
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        call = prompt if "seed" not in body else f"{prompt}\n[seed {body['seed']}]"
        self.server.note("asked", key, call)
        with self.server.lock:
            luck = self.server.rng.random()
            pause = self.server.rng.random() * 0.004
        time.sleep(pause)
        share = self.server.faults
        if luck < share * 0.3:
            return self._send(429, b'{"error": "slow down"}', {"Retry-After": "0.02"})
        if luck < share * 0.6:
            return self._send(500, b"oops")
        if luck < share * 0.75:
            self.close_connection = True
            return None
        text = answer(prompt)
        if self.path.endswith("/chat/completions"):
            choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}}
        else:
            choice = {"text": text}
        data = json.dumps({"choices": [choice]}).encode()
        if luck < share * 0.9:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return None
        stalled = luck < share
        if stalled:
            time.sleep(1.5)
        with self.server.lock, self.server.log.open("a") as log:
            log.write(json.dumps(prompt) + "\n")
        self.server.note("answered", key, call)
        self._send(200, data)
        return self.server.note("passed on", key, call)

    def _send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True


def serve(log: Path, seed: int = 0, faults: float = 0.0) -> Server:
    server = Server(("127.0.0.1", 0), Handler)
    server.log, server.faults, server.rng = log, faults, random.Random(seed)
    log.touch()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    running = serve(
        Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, float(sys.argv[3]) if len(sys.argv) > 3 else 0
    )
    print(running.server_address[1], flush=True)
    threading.Event().wait()
