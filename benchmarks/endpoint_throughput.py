"""Calls a second to a server of a language model that answers in 50 ms, beside a bare client in the same run.

    python -m benchmarks endpoint_throughput [--turns 5] [--at 8 32 128 256] [--profile 128]

The server is a process of its own and does nothing but wait. The bare client is threads with `http.client`, connections
that are kept, a body made and an answer parsed: what one would write by hand. Ours does all that it does in a run:
prompt, deadline, secrets, retries, reading the answer, and each answer on disk before the next call goes out. Both take
turns, so that what else the machine does meets both alike.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import http.client
import json
import pstats
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sensecheck.models.by_prompt import EndpointClassifier
from sensecheck.models.calls import CallCache
from sensecheck.models.classifiers import Asked, Pair
from sensecheck.models.endpoint import Endpoint
from sensecheck.models.prompts import NLI_PROMPT, fill

SECONDS = 0.05
REPLY = json.dumps({
    "id": "1", "object": "chat.completion", "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "neutral"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 60, "completion_tokens": 1, "total_tokens": 61},
}).encode()  # fmt: skip


class _Waiting(asyncio.Protocol):
    """Answers each request after the time it takes, and looks at nothing but its length."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._seen = b""

    def data_received(self, data: bytes) -> None:
        self._seen += data
        head, end, rest = self._seen.partition(b"\r\n\r\n")
        length = next(
            (int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length")), 0
        )
        if end and len(rest) >= length:
            self._seen = rest[length:]
            asyncio.get_running_loop().call_later(SECONDS, self._answer)

    def _answer(self) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(REPLY)}\r\n\r\n"
        self._transport.write(head.encode() + REPLY)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Waiting, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    # It ends with whoever started it.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def bare(port: int, pairs: Sequence[Pair], concurrency: int) -> None:
    left, lock = iter(pairs), threading.Lock()
    answers: list[str] = []

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while True:
            with lock:
                pair = next(left, None)
            if pair is None:
                break
            message = {"role": "user", "content": fill(NLI_PROMPT, *pair)}
            body = json.dumps({"model": "m", "messages": [message], "temperature": 0.0, "max_tokens": 64})
            connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
            answers.append(json.loads(connection.getresponse().read())["choices"][0]["message"]["content"])
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == len(pairs)


def ours(port: int, pairs: Sequence[Pair], concurrency: int) -> None:
    with tempfile.TemporaryDirectory() as folder, CallCache(Path(folder) / "calls.sqlite") as cache:
        endpoint = Endpoint(f"http://127.0.0.1:{port}/v1", "m", concurrency=concurrency)
        assert set(Asked(EndpointClassifier(endpoint), cache).labels(pairs)) == {1}


def rate(way: Callable[[int, Sequence[Pair], int], None], port: int, pairs: Sequence[Pair], concurrency: int) -> float:
    began = time.perf_counter()
    way(port, pairs, concurrency)
    return len(pairs) / (time.perf_counter() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--turns", type=int, default=5, help="turns of each (default: 5)")
    parser.add_argument("--at", type=int, nargs="+", default=[8, 32, 128, 256], help="calls at once")
    parser.add_argument("--profile", type=int, metavar="N", help="where our main thread spends its time at N at once")
    args = parser.parse_args()
    if args.serve:
        asyncio.run(_serve())
        return 0
    command = [sys.executable, "-m", "benchmarks.endpoint_throughput", "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stdin is not None
        port = int(server.stdout.readline())
        if args.profile:
            _profile(port, args.profile)
        else:
            _table(port, args.at, args.turns)
        server.stdin.close()
    return 0


def _pairs(count: int) -> list[Pair]:
    return [(f"A man plays guitar number {i}.", f"A man plays instrument {i}.") for i in range(count)]


def _table(port: int, at: Sequence[int], turns: int) -> None:
    print(f"calls a second, a server that answers in {1000 * SECONDS:.0f} ms; medians of {turns} turns")
    print(f"{'at once':>8} {'possible':>9} {'bare':>8} {'ours':>8} {'ours / bare':>12} {'each turn':>24}")
    for concurrency in at:
        pairs = _pairs(max(160, min(12 * concurrency, 3_000)))
        rates: dict[str, list[float]] = {"bare": [], "ours": []}
        for turn in range(turns):
            ways = (("bare", bare), ("ours", ours))
            for name, way in ways if turn % 2 else ways[::-1]:
                rates[name].append(rate(way, port, pairs, concurrency))
        ratios = [o / b for o, b in zip(rates["ours"], rates["bare"], strict=True)]
        print(
            f"{concurrency:>8} {concurrency / SECONDS:>9,.0f} {statistics.median(rates['bare']):>8,.0f} "
            f"{statistics.median(rates['ours']):>8,.0f} {statistics.median(ratios):>12.0%} "
            f"{' '.join(f'{ratio:.0%}' for ratio in ratios):>24}",
            flush=True,
        )


def _profile(port: int, concurrency: int) -> None:
    """Of all threads: each has a profiler of its own, and the sums are one."""
    total = pstats.Stats()
    lock = threading.Lock()
    usual = threading.Thread.run

    def run(thread: threading.Thread) -> None:
        profiler = cProfile.Profile(time.thread_time)
        profiler.runcall(usual, thread)
        with lock:
            total.add(profiler)

    threading.Thread.run = run  # type: ignore[method-assign]
    profiler = cProfile.Profile(time.thread_time)
    profiler.runcall(ours, port, _pairs(20 * concurrency), concurrency)
    total.add(profiler)
    total.sort_stats("tottime").print_stats(35)


if __name__ == "__main__":
    sys.exit(main())
