"""Small runs of every question, and ways to damage their files."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sensecheck import demo
from sensecheck.cli import main

FEW = ["--limit", "8", "--resamples", "20"]
TEXTS = {
    "empty": b"",
    "a list": b"[]",
    "a number": b"5",
    "an empty object": b"{}",
    "not UTF-8": b'{"schema": "\xff\xfe"}',
    "nested": b'{"schema":' + b"[" * 100_000,
    "binary": bytes(range(256)) * 8,
}
VALUES: list[Any] = [None, 5, "x", "", [], {}, True, -1, 1e308, [[[]]], ["x", None], {"x": 5}]


def command(question: str, out: Path, folder: Path) -> list[str]:
    """The command line of a small run."""
    options = {
        "faithful": [str(demo.path("sentences_a.jsonl")), "--schema", str(demo.path("tables.json"))],
        "correct": [str(demo.path("sql_a.jsonl.gz")), "--database", str(folder / "databases")],
        "diverse": [str(demo.path("dialogue_a.txt")), "--references", str(demo.path("dialogue_refs.json"))],
        "robust": [str(demo.path("nli.jsonl")), "--slice", "phenomenon"],
        "calibrated": [str(_answers(folder)), "--slice", "kind"],
    }[question]
    return [question, *options, *FEW, "--out", str(out)]


def _answers(folder: Path) -> Path:
    path = folder / "answers.csv"
    if not path.exists():
        path.write_text("confidence,correct,kind\n0.9,1,x\n0.8,1,y\n0.6,0,x\n0.95,1,y\n0.3,0,x\n0.4,1,y\n")
    return path


def make_runs(folder: Path, questions: list[str]) -> None:
    from sensecheck.demo.story import _build_databases

    _build_databases(folder / "databases")
    for question in questions:
        assert main(command(question, folder / question, folder)) == 0


def places(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON document, the whole one too."""
    yield place
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from places(content[key], (*place, key))


def changed(content: Any, place: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    """The document with a change to what is at that place."""
    copy = json.loads(json.dumps(content))
    if not place:
        holder = [copy]
        change(holder, 0)
        return holder[0] if holder else None
    owner = copy
    for key in place[:-1]:
        owner = owner[key]
    change(owner, place[-1])
    return copy


def _deleted(owner: Any, key: Any) -> None:
    del owner[key]


def document_damage(path: Path, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Ways to damage a JSON file: what was done, and what it then holds."""
    whole = path.read_bytes()
    yield from TEXTS.items()
    for share in (0.1, 0.5, 0.99):
        yield f"cut at {share:.0%}", whole[: int(len(whole) * share)]
    content, drawn = json.loads(whole), random.Random(seed)
    # Some of every kind of place, not of the many figures alone.
    kinds: dict[tuple[str, ...], list[tuple[Any, ...]]] = {}
    for place in places(content):
        kinds.setdefault(tuple("#" if isinstance(k, int) else k for k in place), []).append(place)
    for number in range(count):
        place = drawn.choice(kinds[drawn.choice(sorted(kinds))])
        value = drawn.choice([_deleted, *VALUES])
        if value is _deleted:
            yield f"{number}: {place} deleted", json.dumps(changed(content, place, _deleted)).encode()
        else:

            def put(owner: Any, key: Any, value: Any = value) -> None:
                owner[key] = value

            yield f"{number}: {place} = {value!r}", json.dumps(changed(content, place, put)).encode()


def file_damage(path: Path, count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Ways to damage any file: cuts, and bytes that are changed."""
    whole, drawn = path.read_bytes(), random.Random(seed)
    yield "empty", b""
    yield "text", b"no such thing\n"
    for _ in range(count):
        if drawn.random() < 0.3:
            at = drawn.randrange(len(whole))
            yield f"cut at {at}", whole[:at]
        else:
            broken = bytearray(whole)
            spots = [drawn.randrange(len(whole)) for _ in range(drawn.choice([1, 4, 64]))]
            for at in spots:
                broken[at] = drawn.randrange(256)
            yield f"bytes changed at {spots[:4]}", bytes(broken)


def copied(run: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(run, target)
    return target
