"""A loopback server of a language model that answers by a script: a function from (body, number of the call) to a reply."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Reply:
    status: int = 200
    body: Any = b""
    """bytes as they are; anything else as JSON"""
    headers: Mapping[str, str] = field(default_factory=dict)
    drip: float = 0.0
    """seconds between two bytes"""
    resets: bool = False


Script = Callable[[dict[str, Any], int], Reply]


def prompt_of(body: Mapping[str, Any]) -> str:
    if "messages" in body:
        return str(body["messages"][0]["content"])
    return str(body.get("prompt", body.get("input", "")))


def chat(content: str | None, finish: str = "stop", usage: bool = True, **message: Any) -> Reply:
    """What a chat answers."""
    value: dict[str, Any] = {
        "choices": [{"message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}]
    }
    if usage:
        value["usage"] = {"prompt_tokens": 50, "completion_tokens": 3}
    return Reply(body=value)


def refused(words: str) -> Reply:
    return Reply(400, {"error": {"message": words, "type": "invalid_request_error"}})


class Scripted(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.heads: list[dict[str, str]] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Scripted

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            return

    def log_message(self, *args: Any) -> None:
        return

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.paths.append(self.path)
            self.server.heads.append(dict(self.headers))
            number = len(self.server.bodies)
        reply = self.server.script(body, number)
        if reply.resets:
            self.close_connection = True
            return
        data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(data)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if not reply.drip:
            self.wfile.write(data)
            return
        for byte in data:
            self.wfile.write(bytes([byte]))
            time.sleep(reply.drip)


@contextmanager
def serving(script: Script) -> Iterator[Scripted]:
    server = Scripted(script)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
