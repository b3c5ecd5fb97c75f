"""Right answers that show little: which pairs are marked, and as what."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sensecheck.cli import main
from sensecheck.correct import evaluate
from sensecheck.correct.vacuity import CONDITION_IDLE, EMPTY, METHOD, NOTHING_COUNTED, counts_nothing, without_condition
from sensecheck.report.result import Result
from sensecheck.statistics.compare import ComparisonError
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer

FEW = IntervalOptions(replicates=60)
NO_INTERVALS = IntervalOptions(method="none")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Boats, all of them sailing boats, and their crews, none of whom is old."""
    path = tmp_path / "harbour.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE boat (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, length REAL, debt INTEGER);
            INSERT INTO boat VALUES (1, 'Ada', 'sail', 9, 0), (2, 'Bo', 'sail', 12, 0), (3, 'Cy', 'sail', 12, 0);
            CREATE TABLE crew (id INTEGER PRIMARY KEY, boat INTEGER, name TEXT, age INTEGER);
            INSERT INTO crew VALUES (1, 1, 'Ann', 30), (2, 1, 'Ben', 40), (3, 2, 'Cem', 50);
            """
        )
    connection.close()
    return path


def evaluated(database: Path, *golds: str, prediction: str | None = None, **options: Any) -> Result:
    records = [{"id": str(n), "gold": gold, "prediction": prediction or gold} for n, gold in enumerate(golds)]
    return evaluate(records, database=database, options=NO_INTERVALS, normalise=False, **options)


@pytest.mark.parametrize(
    ("gold", "kind"),
    [
        ("SELECT name FROM crew WHERE age > 90", EMPTY),
        ("SELECT count(*) FROM crew WHERE age > 90", NOTHING_COUNTED),
        ("SELECT count(*), max(age) FROM crew WHERE age > 90", NOTHING_COUNTED),
        ("SELECT avg(age), sum(age) FROM crew WHERE age > 90", NOTHING_COUNTED),
        ("SELECT count(*) FROM (SELECT 1 FROM crew GROUP BY boat HAVING count(*) > 9)", NOTHING_COUNTED),
        ("SELECT name FROM boat WHERE kind = 'sail'", CONDITION_IDLE),
        ("SELECT max(length) FROM boat WHERE name <> 'Ada'", CONDITION_IDLE),
        ("SELECT name FROM crew WHERE age >= 30 ORDER BY age DESC LIMIT 1", CONDITION_IDLE),
        ("SELECT b.name FROM boat AS b, crew AS c WHERE b.id = c.boat AND b.kind = 'sail'", CONDITION_IDLE),
        # What was found shows something, be it 0 or NULL.
        ("SELECT sum(debt) FROM boat WHERE length > 10", CONDITION_IDLE),
        ("SELECT sum(debt) FROM boat", None),
        ("SELECT debt FROM boat WHERE id = 1", None),
        ("SELECT count(*) FROM boat WHERE length > 10", None),
        ("SELECT name FROM boat WHERE length > 10", None),
        ("SELECT boat, count(*) FROM crew WHERE age > 40 GROUP BY boat", None),
        # Only the condition that joins: without it there would be another query.
        ("SELECT b.name FROM boat AS b, crew AS c WHERE b.id = c.boat", None),
        ("SELECT name FROM boat", None),
        # Two queries in one have no one condition.
        ("SELECT name FROM boat WHERE kind = 'sail' INTERSECT SELECT name FROM boat WHERE length > 0", None),
    ],
)
def test_kinds(database: Path, gold: str, kind: str | None) -> None:
    (row,) = evaluated(database, gold).measurements.to_dicts()
    assert row["correct"] is True
    assert (row["vacuous"], row["vacuous_kind"]) == (kind is not None, kind)


def test_a_wrong_pair_is_never_marked(database: Path) -> None:
    result = evaluated(database, "SELECT name FROM boat WHERE kind = 'sail'", prediction="SELECT id FROM boat")
    assert result.measurements["vacuous"].to_list() == [False]
    assert result.measurements["vacuous_kind"].to_list() == [None]


def test_a_prediction_without_the_condition_passes_and_is_marked(database: Path) -> None:
    result = evaluated(database, "SELECT name FROM boat WHERE kind = 'sail'", prediction="SELECT name FROM boat")
    assert result["accuracy"].value == result["vacuous"].value == 1


def test_the_table_without_its_condition_is_not_shown_whole(tmp_path: Path) -> None:
    """One row more than the gold's is enough; with 100,000 rows and room for 50, the answer is still told."""
    path = tmp_path / "long.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", ((n,) for n in range(100_000)))
    connection.close()
    from sensecheck.stores import Limits

    result = evaluated(
        path, "SELECT a FROM t WHERE a < 20", "SELECT a FROM t WHERE a >= 0 LIMIT 9", limits=Limits(rows=50)
    )
    assert result["accuracy"].value == 1
    assert result.measurements["vacuous_kind"].to_list() == [None, CONDITION_IDLE]


def test_it_must_show_little_on_every_database(tmp_path: Path) -> None:
    folder = tmp_path / "suite" / "shop"
    folder.mkdir(parents=True)
    for name, values in (("shop", [1, 2]), ("shop-2", [1, 2, 30])):
        with sqlite3.connect(folder / f"{name}.sqlite") as connection:
            connection.execute("CREATE TABLE t (a INTEGER)")
            connection.executemany("INSERT INTO t VALUES (?)", [(v,) for v in values])
        connection.close()
    golds = {"SELECT a FROM t WHERE a < 9": None, "SELECT a FROM t WHERE a < 99": CONDITION_IDLE,
             "SELECT count(*) FROM t WHERE a > 9": None, "SELECT count(*) FROM t WHERE a > 99": NOTHING_COUNTED,
             "SELECT a FROM t WHERE a > 99": EMPTY, "SELECT a FROM t WHERE a > 9": None}  # fmt: skip
    records = [{"id": str(n), "db_id": "shop", "gold": g, "prediction": g} for n, g in enumerate(golds)]
    result = evaluate(records, database=tmp_path / "suite", options=NO_INTERVALS, normalise=False)
    assert result["accuracy"].value == 1
    assert dict(zip(golds, result.measurements["vacuous_kind"].to_list(), strict=True)) == golds


@pytest.mark.parametrize(
    "text",
    ["", "where", "SELECT", "SELECT a FROM t WHERE", "(" * 5000 + " where", "SELECT a FROM t; SELECT b FROM u WHERE a = 1",
     "DELETE FROM t WHERE a = 1", "\x00 where \ud800", "SELECT 'where' FROM t"],
)  # fmt: skip
def test_what_cannot_be_written_is_no_query(text: str) -> None:
    assert without_condition(text) == ""
    assert not counts_nothing(Answer(["a"], [(0,)]), text)


def test_answers_in_the_file_say_nothing_of_a_condition() -> None:
    rows = evaluate(
        [
            {"id": "1", "predicted_answers": {"columns": ["n"], "rows": []}, "gold_answers": [{"columns": ["n"], "rows": []}]},
            {"id": "2", "predicted_answers": {"columns": ["n"], "rows": [[0]]},
             "gold_answers": [{"columns": ["n"], "rows": [[0]]}]},
        ],
        options=NO_INTERVALS,
    ).measurements  # fmt: skip
    assert rows["correct"].to_list() == [True, True]
    assert rows["vacuous_kind"].to_list() == [EMPTY, None]


def test_sparql_counts_of_nothing(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    graph = tmp_path / "kg.nt"
    graph.write_text("<urn:a> <urn:p> <urn:b> .\n")
    golds = {"SELECT (COUNT(?x) AS ?n) { ?x <urn:q> ?y }": NOTHING_COUNTED, "SELECT (COUNT(?x) AS ?n) { ?x <urn:p> ?y }": None,
             "SELECT ?x { ?x <urn:q> ?y }": EMPTY, "SELECT ?x { VALUES ?x { 0 } }": None,
             "ASK { <urn:a> <urn:q> ?y }": None}  # fmt: skip
    records = [{"id": str(n), "gold": g, "prediction": g} for n, g in enumerate(golds)]
    rows = evaluate(records, graph=graph, options=NO_INTERVALS, normalise=False).measurements
    assert rows["correct"].all()
    assert dict(zip(golds, rows["vacuous_kind"].to_list(), strict=True)) == golds
    typed = [{"id": "1", "question_type": "Quantitative Reasoning (Count) (All)", "answer": 0,
              "prediction": "SELECT (COUNT(?x) AS ?n) { ?x <urn:q> ?y }"}]  # fmt: skip
    (row,) = evaluate(typed, graph=graph, options=NO_INTERVALS, normalise=False).measurements.to_dicts()
    assert (row["kind"], row["correct"], row["vacuous_kind"]) == ("count", True, NOTHING_COUNTED)


def test_the_kinds_make_slices_a_note_and_a_sentence(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    golds = ["SELECT name FROM crew WHERE age > 90", "SELECT count(*) FROM crew WHERE age > 90",
             "SELECT name FROM boat WHERE kind = 'sail'", "SELECT name FROM crew"]  # fmt: skip
    result = evaluated(database, *golds, slices="vacuous_kind")
    assert (
        "right, but showing little: 1 empty, 1 nothing counted, 1 condition idle (column vacuous_kind)" in result.notes
    )
    sizes = {figures[0].slice["vacuous_kind"]: figures[0].n for figures in result.slices("vacuous_kind")}
    assert sizes == {EMPTY: 1, NOTHING_COUNTED: 1, CONDITION_IDLE: 1, "(none)": 1}
    assert any("75.0% are right where that shows little" in sentence for sentence in result.verdict())
    assert main(["explain", "vacuous"]) == 0
    shown = capsys.readouterr().out
    assert all(kind in shown for kind in (EMPTY, NOTHING_COUNTED, CONDITION_IDLE))


def test_a_run_from_before_there_were_kinds_is_not_compared(database: Path) -> None:
    result = evaluated(database, *(f"SELECT name FROM crew WHERE age > {n}" for n in range(8)))
    assert result.signature.method["vacuous"] == METHOD and METHOD not in result.signature.short
    from dataclasses import replace

    method = {name: choice for name, choice in result.signature.method.items() if name not in ("vacuous", "ties")}
    before = replace(result, signature=replace(result.signature, method=method))
    with pytest.raises(ComparisonError, match="vacuous"):
        before.compare(result)


@pytest.mark.golden
def test_real_predictions(shared: Path) -> None:
    folder = shared / "data" / "sql"
    result = evaluate(
        folder / "predictions.jsonl.gz", database=folder / "databases", options=NO_INTERVALS, normalise=False
    )
    counts = Counter(result.measurements["vacuous_kind"].drop_nulls().to_list())
    # All 143 that passed with a count of nothing were counted as if they showed something.
    assert counts == {EMPTY: 248, NOTHING_COUNTED: 143, CONDITION_IDLE: 124}
