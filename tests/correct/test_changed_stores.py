"""Answers of yesterday's store, or under other prefixes, are not today's."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from sensecheck.correct import evaluate
from sensecheck.correct.records import Reader
from sensecheck.runs.directory import RunError

ASKED = [{"id": "1", "prediction": "SELECT ?x {ex:a ex:p ?x}", "results": ["1"]}]


def outcome_and_verdict(**options: object) -> tuple[str, bool]:
    row = evaluate(ASKED, **options).measurements.row(0, named=True)  # type: ignore[arg-type]
    return row["outcome"], row["correct"]


def test_prefixes_are_part_of_what_was_asked(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    graph, cache = tmp_path / "graph.nt", tmp_path / "answers.db"
    graph.write_text('<http://a/a> <http://a/p> "1" .\n<http://b/a> <http://b/p> "2" .\n')
    assert outcome_and_verdict(graph=graph, cache=cache) == ("unknown prefix", False)
    assert outcome_and_verdict(graph=graph, cache=cache, prefixes={"ex": "http://a/"}) == ("answered", True)
    assert outcome_and_verdict(graph=graph, cache=cache, prefixes={"ex": "http://b/"}) == ("answered", False)


def test_what_waits_in_a_write_ahead_log_counts(tmp_path: Path) -> None:
    file, cache = tmp_path / "d.sqlite", tmp_path / "answers.db"
    writer = sqlite3.connect(file, isolation_level=None)
    writer.execute("pragma journal_mode = wal")
    writer.execute("create table t (a)")
    writer.execute("insert into t values (1)")
    writer.execute("pragma wal_checkpoint(truncate)")
    records = [{"id": "1", "gold": "select 1", "prediction": "select max(a) from t"}]
    assert evaluate(records, database=file, cache=cache).measurements["correct"].to_list() == [True]
    writer.execute("update t set a = 2")
    assert evaluate(records, database=file, cache=cache).measurements["correct"].to_list() == [False]
    writer.close()


@pytest.mark.parametrize("kind", ["graph", "database"])
def test_a_run_is_not_resumed_on_a_store_that_changed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = tmp_path / "records.jsonl", tmp_path / "run"
    if kind == "graph":
        pytest.importorskip("pyoxigraph")
        store = tmp_path / "graph.nt"
        store.write_text('<http://a/a> <http://a/p> "1" .\n')
        record = {"prediction": "SELECT ?x {<http://a/a> <http://a/p> ?x}", "results": ["1"]}
    else:
        store = tmp_path / "d.sqlite"
        with sqlite3.connect(store) as writer:
            writer.execute("create table t as select 1 as a")
        record = {"prediction": "select a from t", "gold": "select 1"}
    data.write_text("".join(json.dumps({"id": str(i), **record}) + "\n" for i in range(9000)))
    options = {kind: store, "out": out}
    whole = Reader.batches

    def broken(self: Reader, done: int = 0):  # type: ignore[no-untyped-def]
        batches = whole(self, done)
        yield next(batches)
        raise KeyboardInterrupt

    monkeypatch.setattr(Reader, "batches", broken)
    with pytest.raises(KeyboardInterrupt):
        evaluate(data, **options)  # type: ignore[arg-type]
    monkeypatch.undo()
    if kind == "graph":
        store.write_text('<http://a/a> <http://a/p> "2" .\n')
    else:
        with sqlite3.connect(store) as writer:
            writer.execute("insert into t values (2)")
    with pytest.raises(RunError, match="store was"):
        evaluate(data, resume=True, **options)  # type: ignore[arg-type]
