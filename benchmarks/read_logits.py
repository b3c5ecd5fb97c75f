"""How fast and how lean `.logits` files are read: json, orjson and sensecheck in one run, by CPU time.

    python benchmarks/read_logits.py                 # 17 MB, other shapes, and 175 MB, under a minute
    python benchmarks/read_logits.py --tokens 1e7    # 1.5 GB for the memory and scaling part

The file is made like a real one: float32 softmax scores of the five best tokens, as json.dumps prints them.
Readers take turns on the same pieces of the file, and each piece counts with its fastest turn, so that a busy
machine disturbs the ratios little. Peak memory is read in a child process.

Most of the time is simdjson's: parsing these lines and nothing more ("simdjson alone") bounds what any reader that
is built on it can reach, and the SHA-256 of the input comes on top.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import orjson
import simdjson

from sensecheck.calibrated.logits import LogitsReader

K = 5
VOCABULARY = 400
UNIT_TOKENS = 100_000
RATIO_TOKENS = 100_000
PIECE_BYTES = 8 * 1024 * 1024
SHAPES = {
    "k = 1": (60_000, 1, (8, 60)),
    "k = 20": (15_000, 20, (8, 60)),
    "1 to 3 tokens a line": (20_000, 5, (1, 4)),
    "1,000 to 3,000 tokens a line": (30_000, 5, (1000, 3000)),
}
"""Tokens, scores per token and tokens per line of the other files."""


def lines(tokens: int, k: int = K, lengths: tuple[int, int] = (8, 60), seed: int = 7) -> Iterator[bytes]:
    """JSON lines with about so many tokens in all."""
    rng = np.random.default_rng(seed)
    made = number = 0
    while made < tokens:
        number += 1
        n = int(rng.integers(*lengths))
        logits = rng.gumbel(size=(n, VOCABULARY)).astype(np.float32) * 2
        logits[np.arange(n), rng.integers(0, VOCABULARY, n)] += 8
        scores = np.exp(logits - logits.max(axis=1, keepdims=True))
        scores /= scores.sum(axis=1, keepdims=True)
        best = np.argsort(scores, axis=1)[:, -k:]
        labels = np.where(rng.random(n) < 0.8, best[:, -1], rng.integers(0, VOCABULARY, n))
        shift = int(rng.integers(0, 120)) * VOCABULARY
        record = {
            "top_logits": np.take_along_axis(scores, best, axis=1).tolist(),
            "top_logit_idxs": (best + shift).tolist(),
            "logit_at_label": logits[np.arange(n), labels].tolist(),
            "labels": (labels + shift).tolist(),
            "input_str": f"turn {number}: move my 3 pm meeting with Dana to Friday, and tell her why </s>",
        }
        made += n
        yield json.dumps(record).encode() + b"\n"


def write_file(path: Path, tokens: int) -> None:
    """A file of about so many tokens; beyond UNIT_TOKENS the same lines come again."""
    unit = b"".join(lines(min(tokens, UNIT_TOKENS)))
    with path.open("wb") as file:
        for _ in range(max(1, round(tokens / UNIT_TOKENS))):
            file.write(unit)


def by_loop(loads: Callable[[bytes], dict[str, list[list[float]]]]) -> Callable[[bytes], tuple[int, float]]:
    """The reader that everyone writes first: parse a line, make arrays, compare."""

    def read(data: bytes) -> tuple[int, float]:
        confidences, corrects = [], []
        for line in io.BytesIO(data):
            record = loads(line)
            scores = np.array(record["top_logits"])
            tokens = np.array(record["top_logit_idxs"])
            best = scores.argmax(axis=1)
            confidences.append(scores.max(axis=1))
            corrects.append(tokens[np.arange(len(best)), best] == np.array(record["labels"]))
        correct = np.concatenate(corrects)
        return int(correct.sum()), float(np.concatenate(confidences).sum())

    return read


def by_sensecheck(digest: bool, with_input_str: bool = False) -> Callable[[bytes], tuple[int, float]]:
    def read(data: bytes) -> tuple[int, float]:
        parts = list(LogitsReader(io.BytesIO(data), digest=digest, with_input_str=with_input_str))
        correct = sum(int(part.correct.sum()) for part in parts)
        return correct, float(np.concatenate([part.confidence for part in parts]).sum())

    return read


def parse_only(data: bytes) -> None:
    """What no reader built on simdjson can do without."""
    parse = simdjson.Parser().parse
    for line in io.BytesIO(data):
        parse(line)


def pieces_of(data: bytes) -> list[bytes]:
    pieces, start = [], 0
    while start < len(data):
        stop = data.find(b"\n", min(start + PIECE_BYTES, len(data) - 1)) + 1
        pieces.append(data[start:stop])
        start = stop
    return pieces


def seconds(readers: Mapping[str, Callable[[bytes], object]], pieces: list[bytes], turns: int) -> dict[str, float]:
    """CPU seconds of each reader; all that answer must agree with the first."""
    fastest = {name: [float("inf")] * len(pieces) for name in readers}
    for turn in range(turns):
        for at, piece in enumerate(pieces):
            reference: object = None
            for name, read in readers.items():
                begun = time.process_time()
                answer = read(piece)
                fastest[name][at] = min(fastest[name][at], time.process_time() - begun)
                reference = reference or answer
                if turn == 0 and answer is not None and answer != reference:
                    raise SystemExit(f"{name} reads something else than {next(iter(readers))}")
    return {name: sum(times) for name, times in fastest.items()}


def compare(path: Path, turns: int) -> None:
    data = path.read_bytes()
    tokens = sum(len(part) for part in LogitsReader(path))
    taken = seconds(
        {
            "json + numpy": by_loop(json.loads),
            "orjson + numpy": by_loop(orjson.loads),
            "sensecheck": by_sensecheck(digest=True),
            "sensecheck, no SHA-256": by_sensecheck(digest=False),
            "simdjson alone": parse_only,
        },
        pieces_of(data),
        turns,
    )
    print(f"{len(data) / 1e6:.1f} MB, {tokens:,} tokens, k = {K}; CPU seconds, best of {turns} turns per piece")
    print(f"{'reader':24}{'MB/s':>8}{'tokens/s':>12}{'ratio':>8}")
    for name, total in taken.items():
        print(f"{name:24}{len(data) / total / 1e6:8.0f}{tokens / total:12,.0f}{taken['json + numpy'] / total:8.1f}")


def compare_shapes(turns: int) -> None:
    print("\nother files: how many times as fast as json + numpy, with SHA-256")
    print(f"{'file':32}{'MB':>6}{'ratio':>8}{'with input_str':>16}")
    for name, (tokens, k, lengths) in SHAPES.items():
        data = b"".join(lines(tokens, k, lengths))
        readers = {"json": by_loop(json.loads), "plain": by_sensecheck(True), "text": by_sensecheck(True, True)}
        taken = seconds(readers, [data], turns)
        ratios = [taken["json"] / taken[reader] for reader in ("plain", "text")]
        print(f"{name:32}{len(data) / 1e6:6.1f}{ratios[0]:8.1f}{ratios[1]:16.1f}")


def child(path: Path) -> None:
    """Stream a file and report tokens, CPU seconds and peak memory of this process."""
    before = peak_megabytes()
    begun = time.process_time()
    tokens = sum(len(part) for part in LogitsReader(path))
    taken = time.process_time() - begun
    print(json.dumps([tokens, taken, before, peak_megabytes()]))


def peak_megabytes() -> float:
    """Peak resident memory; from /proc where there is one, since getrusage inherits the parent's peak."""
    status = Path("/proc/self/status")
    if status.exists():
        found = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(found.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stream(path: Path, tokens: int) -> None:
    write_file(path, tokens)
    answer = subprocess.run(
        [sys.executable, __file__, "--child", str(path)], check=True, capture_output=True, text=True
    )
    read, taken, before, peak = json.loads(answer.stdout)
    size = path.stat().st_size / 1e6
    print(
        f"{read:>12,} tokens {size:10,.1f} MB {taken:8.2f} s {taken / read * 1e9:8.0f} ns/token "
        f"{peak:7.0f} MB peak ({before:.0f} MB after imports)"
    )


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=float, default=1e6, help="size of the largest streamed file")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        child(options.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.logits"
        write_file(path, RATIO_TOKENS)
        compare(path, options.turns)
        compare_shapes(options.turns)
        print("\nstreaming, each in a process of its own")
        for tokens in sorted({100_000, int(options.tokens)}):
            stream(path, tokens)


if __name__ == "__main__":
    main()
