"""Predictions in fences or prose, from the file to the figures, the notes, the signature and the page."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sensecheck.cli import main
from sensecheck.correct import evaluate
from sensecheck.correct.examples import example_page
from sensecheck.report.result import load
from sensecheck.statistics.figure import IntervalOptions

NO_INTERVALS = IntervalOptions(method="none")
GOLD = "SELECT name FROM singer"
FENCED = f"Here it is:\n```sql\n{GOLD};\n```\nThis query returns the names."


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "concert.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE singer (name TEXT)")
        connection.executemany("INSERT INTO singer VALUES (?)", [("a",), ("b",)])
    connection.close()
    return path


def records() -> list[dict[str, Any]]:
    predictions = [
        FENCED,
        GOLD,
        "There is no answer.",
        None,
        json.dumps({"sql": GOLD}),
        "```sql\nSELECT name FORM singer\n```",
    ]
    return [{"id": str(i), "gold": GOLD, "prediction": text} for i, text in enumerate(predictions)]


def test_what_was_taken_is_marked_counted_and_scored(database: Path) -> None:
    result = evaluate(records(), database=database, options=NO_INTERVALS, conventions=["bird"])
    rows = result.measurements
    assert rows["extracted"].to_list() == [True, False, False, False, True, True]
    for name in ("correct", "em", "em_normalised", "bird"):
        assert rows[name].to_list() == [True, True, False, False, True, False], name
    assert rows["outcome"].to_list()[2:4] == ["syntax", "no prediction"]
    note = "3 predictions were taken out of fences, prose or JSON (column extracted; --no-extract)"
    assert note in result.notes
    assert "extract" not in result.signature.short
    assert "extract:yes" in result.signature.long


def test_it_can_be_turned_off(database: Path) -> None:
    result = evaluate(records(), database=database, options=NO_INTERVALS, extract=False)
    assert "extracted" not in result.measurements.columns
    assert result.measurements["correct"].to_list() == [False, True, False, False, False, False]
    assert not any("taken out" in note for note in result.notes)
    assert "extract:no" in result.signature.short


def test_nothing_is_said_where_nothing_was_taken(database: Path) -> None:
    result = evaluate(records()[1:2], database=database, options=NO_INTERVALS)
    assert result.measurements["extracted"].to_list() == [False]
    assert not any("taken out" in note for note in result.notes)


def test_the_command(database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "predictions.jsonl", tmp_path / "run"
    file.write_text("".join(json.dumps(record) + "\n" for record in records()))
    assert main(["correct", str(file), "--database", str(database), "--out", str(out)]) == 0
    assert "3 predictions were taken out of fences, prose or JSON" in capsys.readouterr().out
    assert FENCED in load(out).examples()["prediction"].to_list()
    assert main(["correct", str(file), "--database", str(database), "--no-extract"]) == 0
    assert "extract:no" in capsys.readouterr().out


def test_an_example_shows_both_texts(database: Path) -> None:
    result = evaluate(records(), database=database, options=NO_INTERVALS)
    pages = {page["title"].split(" ")[0]: page for page in example_page(result.examples())}
    fenced, bare = pages["0"], pages["1"]
    parts = {part["label"]: part for part in fenced["parts"]}
    assert parts["prediction"]["spans"] == [[GOLD, ""]]
    assert parts["as written"]["spans"] == [[FENCED, "muted"]]
    assert "as written" not in {part["label"] for part in bare["parts"]}


def test_sparql(tmp_path: Path) -> None:
    graph = tmp_path / "g.nt"
    graph.write_text("<a:1> <a:p> <a:x> .\n")
    query = "SELECT ?x WHERE { ?x <a:p> <a:x> }"
    wrapped = [f"```sparql\n{query}\n```", f"<think>ASK {{}}?</think>{query}", f"{query}\n\nIt finds all of them."]
    rows = [{"id": str(i), "gold": query, "prediction": text} for i, text in enumerate(wrapped)]
    result = evaluate(rows, graph=graph, options=NO_INTERVALS, workers=1)
    assert result.measurements["correct"].to_list() == [True] * 3
    assert result.measurements["em"].to_list() == [True] * 3


def test_never_under_the_original() -> None:
    query = "SELECT ?x WHERE { ?x wdt:P47 wd:Q9 . }"
    record = {
        "question_type": "Simple Question (Direct)", "description": "Simple Question|Single Entity", "question": "?",
        "answer": "", "actions": f"```sparql\n{query}\n```", "results": ["Q1"], "sparql_delex": query,
        "turnID": "test#QA_1#QA_1#0",
    }  # fmt: skip
    as_spice = evaluate([record], parity="spice")
    assert {figure.value for figure in as_spice.figures if figure.name.endswith("/em")} == {0.0}
    assert evaluate([record], options=NO_INTERVALS)["em"].value == 1.0


def test_ten_wrappings_score_as_the_bare_queries(shared: Path) -> None:
    formats = shared / "data" / "formats"
    result = evaluate(
        formats / "sql_csv" / "concert_singer_fenced_derived.jsonl", database=formats / "spider" / "database",
        conventions=["test-suite"], options=NO_INTERVALS,
    )  # fmt: skip
    assert result["test_suite"].value == 37 / 45
    assert result.measurements["extracted"].sum() == 41
    bare = (formats / "spider" / "concert_singer_pred_DIN-SQL.sql").read_text().splitlines()
    golds = (formats / "spider" / "concert_singer_gold.sql").read_text().splitlines()
    rows = [
        {"id": f"concert_singer-{i}", "db_id": "concert_singer", "gold": gold.split("\t")[0], "prediction": text}
        for i, (gold, text) in enumerate(zip(golds, bare, strict=True))
    ]
    plain = evaluate(rows, database=formats / "spider" / "database", conventions=["test-suite"], options=NO_INTERVALS)
    same = ["correct", "em_normalised", "test_suite", "outcome"]
    assert result.measurements.select(same).equals(plain.measurements.select(same))
