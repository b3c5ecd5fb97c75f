"""`python -m tests.fuzz.hostile_run`: runs of many good predictions with one hostile one in a hundred.

Every question is asked as a user asks it, by its command. The run has to end with 0, score what is good as if the bad
ones were not there, and name each bad one: unscored with a reason, or wrong with one.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import random
import sqlite3
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.report.hostile import HOSTILE

import sensecheck
from sensecheck.cli import main as sensecheck_main

HERE = Path(__file__).parent
BROKEN_LINES = ["{", "[1, 2", '{"id": 5', "not json at all", '{"a": NaN', "5", "null", '"text"', "\x00\x01", "[" * 5000]


def texts() -> list[str]:
    """Texts of the corpora: those that attack pages, and what broke a reader once."""
    found = [path.read_bytes()[:4000].decode("utf-8", "surrogateescape") for path in sorted(HERE.glob("corpus/*/*"))]
    extra = ["a\ud800b", "9" * 6000, "(" * 20_000, "a." * 60_000, "not " * 20_000, "1e999999999", "'" * 5000]
    return [*HOSTILE.values(), *extra, *found]


def attacks() -> list[str]:
    """The hostile SQL of the stores' tests, as it is written there."""
    listed = tomllib.loads((HERE.parent / "stores" / "hostile.toml").read_text("utf-8"))["sql"]
    return [
        case.get("query") or case.get("head", "") + case.get("unit", "") * case.get("times", 0) + case.get("tail", "")
        for case in listed
    ]


def sql() -> Iterator[dict[str, Any]]:
    doubling = "SELECT 1 AS a0" + "".join(f", a{i}+a{i} AS a{i + 1}" for i in range(30)) + " FROM p GROUP BY a30"
    for text in itertools.chain([doubling], attacks(), texts()):
        yield {"gold": "SELECT name FROM p WHERE age = 1", "prediction": text, "db_id": "town"}


def sentences() -> Iterator[dict[str, Any]]:
    for text in texts():
        yield {"query": "SELECT name FROM p WHERE age > 30", "sentence": text}
        yield {"query": text, "sentence": "the names of people older than 30"}


def responses() -> Iterator[dict[str, Any]]:
    for text in texts():
        yield {"query": "how are you", "hypotheses": [text, text[::-1]], "references": [["fine"], ["not well"]]}
    yield {"query": "how are you", "hypotheses": ["a b c"] * 5000 + ["x" * 11_000_000], "references": [["fine"]]}


def pairs() -> Iterator[dict[str, Any]]:
    for text in texts():
        yield {"premise": text, "hypothesis": "A man is asleep.", "label": "neutral"}
        yield {"premise": "A man sleeps.", "hypothesis": text, "label": "contradiction"}
        yield {"premise": "A man sleeps.", "hypothesis": "A man is asleep.", "label": text}


def confidences() -> Iterator[dict[str, Any]]:
    for value in (-1, 1.5, 1e308, None):
        yield {"confidence": value, "correct": 1}
    for value in (-1, 2, 0.5, None):
        yield {"confidence": 0.5, "correct": value}


def _town(folder: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(folder / "town.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE p(name TEXT, age INT)")
        connection.executemany("INSERT INTO p VALUES (?, ?)", [(f"name {i}", i) for i in range(200)])
    return ["--database", str(folder / "town.sqlite"), "--timeout", "2"]


QUESTIONS: dict[str, tuple[Callable[[int], dict[str, Any]], Callable[[], Iterator[dict[str, Any]]]]] = {
    "correct": (
        lambda i: {
            "gold": f"SELECT name FROM p WHERE age = {i % 200}",
            "prediction": f"SELECT p.name FROM p WHERE p.age = {i % 200 + i % 2}",
            "db_id": "town",
        },
        sql,
    ),
    "faithful": (
        lambda i: {
            "query": f"SELECT name FROM singer WHERE age > {i}",
            "sentence": f"the names of singers older than {i + i % 2}",
        },
        sentences,
    ),
    "diverse": (
        lambda i: {
            "query": f"how is day {i}",
            "hypotheses": [f"day {i} is fine", "it is raining"],
            "references": [[f"day {i} is quite fine"], ["the sun shines"]],
        },
        responses,
    ),
    "robust": (
        lambda i: {
            "premise": f"A man and {i % 50 + 2} dogs run in the park.",
            "hypothesis": f"A man is running with {i % 50 + 2} dogs.",
            "label": "entailment",
        },
        pairs,
    ),
    "calibrated": (lambda i: {"confidence": (i * 37 % 100) / 100, "correct": i % 3 % 2}, confidences),
}


def lines(question: str, rows: int, seed: int = 1) -> tuple[list[str], set[str]]:
    """The lines of a file, and the ids of those that are hostile; a tenth of them are no JSON, and have no id."""
    good, hostile = QUESTIONS[question]
    rng = random.Random(seed)
    bad = list(hostile())
    rng.shuffle(bad)
    places = set(rng.sample(range(rows), rows // 100))
    supply = itertools.cycle(bad)
    written, ids = [], set()
    for number in range(rows):
        if number not in places:
            written.append(json.dumps({"id": f"g{number}", **good(number)}))
        elif question != "robust" and len(ids) % 10 == 9 and number % 2:
            written.append(rng.choice(BROKEN_LINES))
        else:
            ids.add(f"b{number}")
            written.append(json.dumps({"id": f"b{number}", **next(supply)}))
    return written, ids


def run(question: str, rows: int, folder: Path) -> dict[str, Any]:
    """One run; what it counted, and what is wrong with that."""
    written, ids = lines(question, rows)
    path, out = folder / f"{question}.jsonl", folder / f"{question}-run"
    path.write_text("\n".join(written) + "\n", encoding="utf-8")
    arguments = [
        question,
        str(path),
        "--skip-bad",
        "--out",
        str(out),
        *(_town(folder) if question == "correct" else []),
    ]
    begin, shown, told = time.perf_counter(), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(told):
        code = sensecheck_main(arguments)
    seconds = time.perf_counter() - begin
    problems = [] if code == 0 else [f"exit {code}: {told.getvalue()[:500]}"]
    named: Counter[str] = Counter()
    if code == 0:
        result = sensecheck.load(out)
        seen = 0
        for batch in result.rows.batches():
            for row in batch.iter_rows(named=True):
                seen += 1
                hostile = row["id"] in ids or not row["id"].startswith("g")
                if not hostile and not row["scored"] and question != "robust":
                    problems.append(f"{row['id']} is good, and unscored: {row['reason']}")
                if hostile:
                    name = _name(row)
                    named[name] += 1
                    if name == "unnamed":
                        problems.append(f"{row['id']} is hostile and neither wrong nor unscored")
        if seen < rows:
            problems.append(f"{seen} rows of {rows}")
    return {"question": question, "rows": rows, "seconds": seconds, "named": dict(named), "problems": problems}


def _name(row: dict[str, Any]) -> str:
    """What became of a hostile row."""
    if not row["scored"]:
        return f"unscored: {row['reason']}"
    if row.get("reason"):
        return f"wrong: {row['reason']}"
    if row.get("outcome") not in (None, "answered"):
        return f"wrong: {row['outcome']}"
    return "measured as any other"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.hostile_run", description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--only", action="append", choices=list(QUESTIONS))
    args = parser.parse_args(argv)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for question in args.only or QUESTIONS:
            found = run(question, args.rows, Path(folder))
            print(f"{question}: {found['rows']:,} rows in {found['seconds']:.1f} s")
            for name, count in sorted(found["named"].items(), key=lambda item: -item[1]):
                print(f"    {count:5,}  {name}")
            for problem in found["problems"][:20]:
                print(f"    PROBLEM {problem}")
            failed = failed or bool(found["problems"])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
