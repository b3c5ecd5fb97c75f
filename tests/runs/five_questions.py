"""One small call of every question, for tests that carry the same run out in different ways."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

import sensecheck
from sensecheck import demo
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions

FEW = IntervalOptions(replicates=60)


def calls(folder: Path) -> dict[str, dict[str, Any]]:
    """Question → the keywords of its `evaluate`; what it reads lies in that folder or comes with the package."""
    database = demo_database(folder)
    return {
        "faithful": {"data": demo.path("sentences_a.jsonl"), "schema": demo.path("tables.json")},
        "correct": {"data": database / "pairs.jsonl", "database": database / "db.sqlite", "workers": 1},
        "diverse": {"data": demo.path("dialogue_a.txt"), "references": demo.path("dialogue_refs.json")},
        "robust": {"data": demo.path("nli.jsonl"), "slices": ["phenomenon"], "limit": 60},
        "calibrated": {"data": demo.path("parser_a.logits.gz"), "slices": ["novelty"], "limit": 150},
    }


def demo_database(folder: Path) -> Path:
    """Two tables and queries about them; some samples share an id, some predictions fail."""
    import sqlite3

    if (folder / "db.sqlite").exists():
        return folder
    with sqlite3.connect(folder / "db.sqlite") as db:
        db.execute("CREATE TABLE ship (name TEXT, tons INTEGER, port TEXT)")
        db.executemany("INSERT INTO ship VALUES (?, ?, ?)", [(f"s{i}", i * 7 % 50, "abc"[i % 3]) for i in range(60)])
    with (folder / "pairs.jsonl").open("w") as pairs:
        for i in range(90):
            gold = f"SELECT name FROM ship WHERE tons > {i % 40}"
            wrong = ("SELECT nme FROM ship", f"SELECT name FROM ship WHERE tons >= {i % 40}", gold)[i % 3]
            row = {"id": f"q{i // 2}", "gold": gold, "prediction": wrong, "kind": "ab"[i % 2], "question": f"ships {i}"}
            pairs.write(json.dumps(row) + "\n")
    return folder


def evaluate(name: str, **given: Any) -> Result:
    result: Result = getattr(sensecheck, name).evaluate(**{"options": FEW, **given})
    return result


def digits(result: Result) -> str:
    """All that a reader is told in numbers: figures with intervals, slices, repeats, the signature; no notes."""
    told: Mapping[str, Any] = {k: v for k, v in result.to_dict().items() if k != "notes"}
    return orjson.dumps(told, option=orjson.OPT_SORT_KEYS).decode()
