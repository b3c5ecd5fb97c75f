"""Several gold queries of one question, in one cell divided by semicolons or as a list: any of them is right."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sensecheck.correct import evaluate
from sensecheck.inputs.errors import InputError
from sensecheck.statistics.figure import IntervalOptions

NO_INTERVALS = IntervalOptions(method="none")
NAMES = "SELECT name FROM author"
IDS = "SELECT aid FROM author"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "academic.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE author (aid INTEGER, name TEXT)")
        connection.executemany("INSERT INTO author VALUES (?, ?)", [(1, "a; b"), (2, "c"), (2, "d")])
    connection.close()
    return path


def record(name: str, gold: Any, prediction: str | None) -> dict[str, Any]:
    return {"id": name, "gold": gold, "prediction": prediction}


def test_any_gold_is_right(database: Path) -> None:
    both = f"{NAMES};{IDS};"
    records = [
        record("first", both, NAMES),
        record("second", both, IDS.lower()),
        record("another", both, "SELECT count(*) FROM author"),
        record("set", f"{NAMES}; SELECT DISTINCT aid FROM author", IDS),
        record("failing", f"SELECT nope FROM author; {IDS}", IDS),
        record("all failing", "SELECT nope FROM author; SELECT no FROM author", IDS),
        record("none", both, None),
        record("literal", "SELECT name FROM author WHERE name = 'a; b'", "SELECT name FROM author WHERE aid = 1"),
        record("end", f"{NAMES}; ", NAMES),
        record("list", [NAMES, IDS], "SELECT a.aid FROM author AS a"),
        record("list of one", [IDS], IDS),
    ]
    result = evaluate(records, database=database, options=NO_INTERVALS, conventions=["test-suite", "bird"])
    rows = {row["id"]: row for row in result.measurements.to_dicts()}
    right = {name: row["correct"] for name, row in rows.items()}
    assert right == {
        "first": True, "second": True, "another": False, "set": False, "failing": True, "all failing": None,
        "none": False, "literal": True, "end": True, "list": True, "list of one": True,
    }  # fmt: skip
    assert [name for name, row in rows.items() if row["em"]] == ["first", "second", "failing", "list of one"]
    assert rows["list"]["em_normalised"] is True
    assert rows["set"]["test_suite"] is True
    assert rows["set"]["bird"] is True  # sets of rows
    assert rows["all failing"]["reason"] == "gold query: engine error"
    assert "8 questions have several gold queries: any of them is right" in result.notes
    assert "several-golds:any" in result.signature.short
    plain = evaluate(records[7:9], database=database, options=NO_INTERVALS)
    assert not any("several" in note for note in plain.notes)
    assert "several" not in plain.signature.long


def test_without_a_store_and_in_sparql() -> None:
    result = evaluate([record("1", f"{NAMES};{IDS}", IDS), record("2", NAMES, IDS)], options=NO_INTERVALS)
    assert result.measurements["em"].to_list() == [True, False]
    assert "1 question has several gold queries: any of them is right" in result.notes
    asks = ["ASK { <a:a> <a:b> <a:c> }", "SELECT ?x { ?x <a:b> <a:c> }"]
    result = evaluate([record("1", asks, "select ?y { ?y <a:b> <a:c> }")], options=NO_INTERVALS)
    assert result.measurements["em_normalised"].to_list() == [True]


def test_a_graph_with_several_golds(tmp_path: Path) -> None:
    graph = tmp_path / "g.nt"
    graph.write_text("<a:1> <a:p> <a:x> .\n<a:2> <a:q> <a:x> .\n")
    golds = ["SELECT ?x { ?x <a:p> <a:x> }", "SELECT ?x { ?x <a:q> <a:x> }"]
    records = [record(str(i), golds, text) for i, text in enumerate([*golds, "SELECT ?x { <a:1> <a:p> ?x }"])]
    rows = evaluate(records, graph=graph, options=NO_INTERVALS, conventions=["text2sparql"], workers=1).measurements
    assert rows["correct"].to_list() == [True, True, False]
    assert rows["f1"].to_list() == [1.0, 1.0, 0.0]
    assert rows["text2sparql"].to_list() == [1.0, 1.0, 0.0]


def test_a_list_of_other_things_is_refused() -> None:
    for gold in ([], [1], ["SELECT 1", None], {"a": "SELECT 1"}):
        with pytest.raises(InputError, match="expected text"):
            evaluate([record("1", gold, NAMES)], options=NO_INTERVALS)


def test_a_run_that_goes_on_counts_all_golds(database: Path, tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(record(str(i), f"{NAMES};{IDS}", IDS)) + "\n" for i in range(5)))
    first = evaluate(path, database=database, options=NO_INTERVALS, out=tmp_path / "run")
    again = evaluate(path, database=database, options=NO_INTERVALS, out=tmp_path / "run", resume=True)
    assert first.signature.short == again.signature.short
    assert [note for note in again.notes if "several" in note] == [note for note in first.notes if "several" in note]


def test_the_golds_of_defog(shared: Path) -> None:
    with (shared / "data" / "formats" / "sql_csv" / "defog_sql_eval_derived.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    records = [record(str(i), row["query"], row["generated_query"]) for i, row in enumerate(rows)]
    result = evaluate(records, options=NO_INTERVALS)
    several = sum(";" in row["query"].rstrip("; \n") for row in rows)
    assert several > 5
    assert f"{several} questions have several gold queries: any of them is right" in result.notes
    # Four predictions are no SQL; all others are one of their golds, as the column `correct` of the file says.
    assert result["em_normalised"].value == sum(row["correct"] == "1" for row in rows) / len(rows) == 20 / 24
