"""Why wrong predictions are wrong: the column `why`, the repaired query, and where they are told."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck.correct import evaluate
from sensecheck.correct.answer_sets import Overlap
from sensecheck.correct.examples import example_page
from sensecheck.correct.plots import plots
from sensecheck.correct.question import verdict
from sensecheck.correct.reasons.answers import rows_reason, sparql_reason, table_reason
from sensecheck.correct.reasons.failures import failure_reason
from sensecheck.correct.reasons.kinds import MEANINGS, Why
from sensecheck.correct.reasons.reading import parsed, resolved, shown, sql_of
from sensecheck.correct.sql_compare import GoldPlan
from sensecheck.inputs.errors import InputError
from sensecheck.report.result import Result
from sensecheck.runs.writing import RunError
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer, Databases, Failure, Limits, Reason, Request, ResultCache, answers

NO_INTERVALS = IntervalOptions(method="none")
SCHEMA = """
CREATE TABLE boat (id INTEGER PRIMARY KEY, name TEXT, port TEXT, length REAL, built INTEGER);
CREATE TABLE trip (id INTEGER PRIMARY KEY, boat_id INTEGER, captain_id INTEGER, fish TEXT, weight REAL);
CREATE TABLE captain (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, port TEXT);
INSERT INTO boat VALUES (1,'Alma','Skagen',12.5,1990),(2,'Berta','Skagen',9.25,2001),(3,'Carla','Thyborøn',20.0,2010),
  (4,'Dora','Hanstholm',15.75,1985),(5,'Elsa','Hanstholm',11.0,2001);
INSERT INTO captain VALUES (1,'Ib',61,'Skagen'),(2,'Bo',34,'Skagen'),(3,'Eva',45,'Hanstholm'),(4,'Alma',29,'Thyborøn');
INSERT INTO trip VALUES (1,1,1,'cod',120.5),(2,1,2,'cod',80.0),(3,2,1,'herring',300.0),(4,3,3,'cod',55.5),
  (5,3,3,'plaice',20.0),(6,4,4,'herring',410.0),(7,4,2,'plaice',35.0),(8,1,1,'herring',99.0);
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _made(tmp_path_factory.mktemp("boats") / "boats.sqlite")


def _made(file: Path, more: str = "") -> Path:
    connection = sqlite3.connect(file)
    connection.executescript(SCHEMA + more)
    connection.close()
    return file


def _result(database: Path, *pairs: tuple[str | None, str], **options: Any) -> Result:
    records = [{"id": str(i), "prediction": told, "gold": gold} for i, (told, gold) in enumerate(pairs)]
    return evaluate(records, database=database, language="sql", options=NO_INTERVALS, **options)


def _told(result: Result) -> list[dict[str, Any]]:
    return sorted(result.examples(1000).to_dicts(), key=lambda row: int(row["id"]))


JOINED = "FROM boat JOIN trip ON boat.id = trip.boat_id"
# gold, prediction, reason, and whether one change repairs it
CASES = [
    ("SELECT name FROM boat", "SELECT name, id FROM boat", Why.EXTRA_COLUMN, True),
    ("SELECT name FROM boat", "SELECT * FROM boat", Why.EXTRA_COLUMN, True),
    ("SELECT name, port FROM boat", "select b.name from boat b", Why.MISSING_COLUMN, True),
    ("SELECT name FROM boat", "SELECT port FROM boat", Why.OTHER_SELECT, True),
    ("SELECT DISTINCT port FROM boat", "SELECT port FROM boat", Why.DUPLICATES, True),
    ("SELECT port FROM boat", "SELECT DISTINCT port FROM boat", Why.DUPLICATES, True),
    ("SELECT count(DISTINCT port) FROM boat", "SELECT count(port) FROM boat", Why.DUPLICATES, True),
    ("SELECT name FROM boat ORDER BY length", "SELECT name FROM boat ORDER BY length DESC", Why.ORDER, True),
    ("SELECT name FROM boat ORDER BY length", "SELECT name FROM boat", Why.ORDER, True),
    ("SELECT name FROM boat ORDER BY length", "SELECT name FROM boat ORDER BY built", Why.OTHER_ORDER, True),
    ("SELECT name FROM boat ORDER BY length LIMIT 2", "SELECT name FROM boat ORDER BY length LIMIT 3", Why.LIMIT, True),
    ("SELECT name FROM boat ORDER BY length LIMIT 2", "SELECT name FROM boat", Why.LIMIT, True),
    ("SELECT name FROM boat WHERE port = 'Skagen'", "SELECT name FROM boat WHERE port = 'skagen'", Why.SPELLING, True),
    ("SELECT name FROM boat WHERE port = 'Skagen'", "SELECT name FROM boat WHERE port = 'Skaagen'", Why.SPELLING, True),
    (
        "SELECT name FROM boat WHERE port = 'Skagen'",
        "SELECT name FROM boat WHERE port = 'Hanstholm'",
        Why.WRONG_VALUE,
        True,
    ),
    ("SELECT name FROM boat WHERE built > 2001", "SELECT name FROM boat WHERE built >= 2001", Why.WRONG_OPERATOR, True),
    (
        "SELECT name FROM boat WHERE port = 'Skagen'",
        "SELECT name FROM boat WHERE port LIKE '%s%'",
        Why.WRONG_CONDITION,
        True,
    ),
    (
        "SELECT name FROM boat WHERE port = 'Skagen'",
        "SELECT name FROM boat WHERE name = 'Skagen'",
        Why.OTHER_WHERE,
        True,
    ),
    (
        "SELECT name FROM boat WHERE port = 'Skagen' AND built > 1995",
        "SELECT name FROM boat WHERE port = 'Skagen'",
        Why.CONDITION_MISSING,
        True,
    ),
    (
        "SELECT name FROM boat WHERE port = 'Skagen'",
        "SELECT name FROM boat WHERE port = 'Skagen' AND built > 1995",
        Why.CONDITION_ADDED,
        True,
    ),
    (
        "SELECT name FROM boat WHERE port = 'Skagen' OR built = 2010",
        "SELECT name FROM boat WHERE port = 'Skagen' AND built = 2010",
        Why.WRONG_OPERATOR,
        True,
    ),
    ("SELECT max(length) FROM boat", "SELECT min(length) FROM boat", Why.WRONG_AGGREGATE, True),
    ("SELECT count(*) FROM boat", "SELECT name FROM boat", Why.WRONG_AGGREGATE, True),
    (
        "SELECT name FROM boat WHERE length > (SELECT avg(length) FROM boat)",
        "SELECT name FROM boat WHERE length > (SELECT min(length) FROM boat)",
        Why.WRONG_AGGREGATE,
        True,
    ),
    (
        "SELECT port, count(*) FROM boat GROUP BY port",
        "SELECT port, count(*) FROM boat GROUP BY port, built",
        Why.GROUP,
        True,
    ),
    (
        "SELECT port, count(*) FROM boat GROUP BY port HAVING count(*) > 1",
        "SELECT port, count(*) FROM boat GROUP BY port",
        Why.HAVING,
        True,
    ),
    (
        "SELECT port FROM boat GROUP BY port HAVING avg(length) > 12",
        "SELECT port FROM boat WHERE length > 12 GROUP BY port",
        Why.HAVING,
        False,
    ),
    ("SELECT name FROM captain", "SELECT name FROM boat", Why.OTHER_TABLE, True),
    (
        f"SELECT DISTINCT boat.name {JOINED}",
        "SELECT DISTINCT boat.name FROM boat",
        Why.MISSING_JOIN,
        True,
    ),
    ("SELECT name FROM boat", f"SELECT boat.name {JOINED}", Why.EXTRA_JOIN, True),
    (
        f"SELECT boat.name, fish {JOINED}",
        "SELECT T1.name, T2.fish FROM boat AS T1 JOIN trip AS T2 ON T1.id = T2.captain_id",
        Why.WRONG_JOIN,
        True,
    ),
    (
        f"SELECT boat.name, count(*) {JOINED} GROUP BY boat.id",
        "SELECT boat.name, count(trip.id) FROM boat LEFT JOIN trip ON boat.id = trip.boat_id GROUP BY boat.id",
        Why.WRONG_JOIN,
        True,
    ),
    (
        f"SELECT name {JOINED} WHERE fish = 'cod' INTERSECT SELECT name {JOINED} WHERE fish = 'plaice'",
        f"SELECT name {JOINED} WHERE fish = 'cod' AND fish = 'plaice'",
        Why.SET_OPERATION,
        False,
    ),
    (
        "SELECT port FROM boat UNION SELECT port FROM captain",
        "SELECT port FROM boat EXCEPT SELECT port FROM captain",
        Why.SET_OPERATION,
        True,
    ),
    # A subquery in the one and a join in the other are no difference: the value is.
    (
        "SELECT DISTINCT boat.name FROM boat JOIN trip ON boat.id = trip.boat_id WHERE trip.fish = 'cod'",
        "SELECT name FROM boat WHERE id IN (SELECT boat_id FROM trip WHERE fish = 'Cod')",
        Why.SPELLING,
        True,
    ),
    # Two clauses: the column comes from a table that is missing.
    (
        "SELECT captain.name FROM trip JOIN captain ON trip.captain_id = captain.id WHERE trip.fish = 'plaice'",
        "SELECT captain_id FROM trip WHERE fish = 'plaice'",
        Why.MISSING_JOIN,
        False,
    ),
    ("SELECT avg(built) / 7 FROM boat", "SELECT round(avg(built) / 7, 1) FROM boat", Why.ROUNDING, True),
]


def test_every_clause_has_its_reason(database: Path) -> None:
    result = _result(database, *[(told, gold) for gold, told, _, _ in CASES])
    rows = _told(result)
    for row, (gold, told, why, repairable) in zip(rows, CASES, strict=True):
        assert row["correct"] is False, (gold, told)
        assert row["why"] == why, (gold, told, row["why"], row["because"])
        assert row["repairable"] is repairable, (gold, told, row["why"], row["repaired"])
        assert (row["several"] is None) == repairable, (gold, told, row["several"])
        assert row["because"].endswith(".")
    # What is shown as repaired is right.
    repaired = [(row["repaired"], gold) for row, (gold, *_) in zip(rows, CASES, strict=True) if row["repaired"]]
    assert set(_result(database, *repaired).measurements["correct"]) == {True}


def test_the_repaired_query_keeps_the_names_of_the_prediction(database: Path) -> None:
    gold = "SELECT T2.name FROM trip AS T1 JOIN boat AS T2 ON T1.boat_id = T2.id WHERE T1.fish = 'cod'"
    told = "SELECT b.Name FROM Boat b JOIN Trip AS t ON b.id = t.boat_id WHERE t.Fish = 'COD'"
    (row,) = _told(_result(database, (told, gold)))
    assert row["repaired"] == "SELECT b.Name FROM Boat AS b JOIN Trip AS t ON b.id = t.boat_id WHERE t.Fish = 'cod'"
    assert "trip.fish = 'COD' stands where the gold has trip.fish = 'cod'" in row["because"]


def test_several_names_what_differs(database: Path) -> None:
    gold = "SELECT captain.name FROM trip JOIN captain ON trip.captain_id = captain.id WHERE trip.fish = 'plaice'"
    (row,) = _told(_result(database, ("SELECT captain_id FROM trip WHERE fish = 'plaice'", gold)))
    assert (row["why"], row["several"], row["repairable"]) == ("missing join", "select, from", False)
    assert row["repaired"] is None


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (None, "no prediction"),
        ("SELECT nme FROM boat", "no such column"),
        ("SELECT name FROM boats", "no such table"),
        ("SELECT id FROM boat JOIN trip ON boat.id = boat_id", "ambiguous column"),
        ("SELECT year(built) FROM boat", "unknown function"),
        ("SELECT name FROM boat WHERE max(length) > 3", "misused aggregate"),
        ("SELECT FROM WHERE", "syntax error"),
        ("DROP TABLE boat", "refused"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", "timeout"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 500) SELECT i FROM n", "too large"),
    ],
)
def test_a_prediction_without_an_answer_has_its_reason(database: Path, told: str | None, why: str) -> None:
    result = _result(database, (told, "SELECT name FROM boat"), limits=Limits(seconds=1, rows=100), extract=False)
    (row,) = _told(result)
    assert row["why"] == why
    assert row["repairable"] is False and row["several"] is None
    assert row["because"].endswith(".")


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ('Binder Error: Referenced column "nme" not found in FROM clause!', Why.NO_COLUMN),
        ("Catalog Error: Table with name boats does not exist!", Why.NO_TABLE),
        ('Binder Error: Ambiguous reference to column name "id"', Why.AMBIGUOUS_COLUMN),
        ("Catalog Error: Scalar Function with name foo does not exist!", Why.UNKNOWN_FUNCTION),
        ("Binder Error: No function matches the given name and argument types 'sum(VARCHAR)'.", Why.UNKNOWN_FUNCTION),
        ('Binder Error: column "name" must appear in the GROUP BY clause', Why.MISUSED_AGGREGATE),
        ("Conversion Error: Could not convert string 'x' to INT32", Why.WRONG_TYPES),
        ("something that nobody has ever said", Why.ENGINE_ERROR),
    ],
)
def test_duckdb_says_it_in_other_words(message: str, why: Why) -> None:
    assert failure_reason("engine error", message).why == why


def test_right_and_unscored_rows_have_no_reason(database: Path) -> None:
    result = _result(
        database,
        ("select name from boat", "SELECT name FROM boat"),
        ("SELECT name FROM boat", "SELECT nme FROM boat"),
        ("SELECT port FROM boat", "SELECT name FROM boat"),
    )
    assert result.measurements["why"].to_list() == [None, None, "other column in SELECT"]
    assert result.measurements["repairable"].to_list() == [None, None, True]
    assert result.extra["reasons"] == [{"why": "other column in SELECT", "wrong": 1, "repairable": 1}]


def test_where_all_is_right_nothing_is_said(database: Path) -> None:
    result = _result(database, ("select name from boat", "SELECT name FROM boat"))
    assert result.measurements["why"].to_list() == [None]
    assert "reasons" not in result.extra
    assert not any("wrong" in sentence for sentence in verdict(result))
    assert not [chart for chart in plots(result) if chart.name == "reasons"]


def test_without_reasons_every_figure_is_the_same(database: Path) -> None:
    pairs = [(told, gold) for gold, told, _, _ in CASES[:8]]
    with_reasons, without = _result(database, *pairs), _result(database, *pairs, reasons=False)
    assert "why" not in without.measurements.columns and "reasons" not in without.extra
    assert str(with_reasons.signature) == str(without.signature)
    told = [{figure.name: figure.value for figure in result.figures} for result in (with_reasons, without)]
    assert told[0] == told[1]
    with pytest.raises(InputError, match="why"):
        _result(database, *pairs, reasons=False, slices=["why"])


def test_a_slice_by_reason(database: Path) -> None:
    pairs = [(told, gold) for gold, told, _, _ in CASES[:8]]
    slices = {row[0].slice["why"]: row[0].n for row in _result(database, *pairs, slices=["why"]).slices("why")}
    assert slices == {"extra column": 2, "missing column": 1, "other column in SELECT": 1, "duplicates": 3, "order": 1}


def test_of_several_golds_the_nearest_gives_the_reason(database: Path) -> None:
    golds = [
        "SELECT captain.name FROM captain WHERE age > (SELECT avg(age) FROM captain)",
        "SELECT name, port FROM boat",
    ]
    records = [{"id": "1", "prediction": "SELECT name FROM boat", "gold": golds}]
    result = evaluate(records, database=database, language="sql", options=NO_INTERVALS)
    assert result.measurements["why"].to_list() == ["missing column"]


def test_a_repair_holds_on_every_database_of_a_schema(tmp_path: Path) -> None:
    folder = tmp_path / "boats"
    folder.mkdir()
    _made(folder / "boats.sqlite")
    _made(folder / "boats_2.sqlite", "INSERT INTO boat VALUES (6,'Fie','Skagen',30.0,2020);")
    gold = "SELECT name FROM boat WHERE port = 'Skagen' AND built < 2015"
    told = "SELECT name FROM boat WHERE port = 'Skagen'"  # right on the first, where no such boat was built later
    records = [{"id": "1", "prediction": told, "gold": gold, "db_id": "boats"}]
    result = evaluate(records, database=tmp_path, language="sql", options=NO_INTERVALS)
    (row,) = _told(result)
    assert row["why"] == "condition missing" and "built < 2015" in row["repaired"]
    assert row["message"] == "right on boats.sqlite, other rows on boats_2.sqlite"


def test_what_repairs_one_database_and_not_the_other_is_no_repair(tmp_path: Path) -> None:
    folder = tmp_path / "boats"
    folder.mkdir()
    _made(folder / "boats.sqlite")
    _made(folder / "boats_2.sqlite", "INSERT INTO boat VALUES (6,'Fie','Esbjerg',30.0,2020);")
    # On the first database, DISTINCT alone repairs it; on the second, the missing condition shows.
    gold = "SELECT DISTINCT port FROM boat WHERE built < 2015"
    records = [{"id": "1", "prediction": "SELECT port FROM boat", "gold": gold, "db_id": "boats"}]
    (row,) = _told(evaluate(records, database=tmp_path, language="sql", options=NO_INTERVALS))
    assert row["repaired"] is None and row["repairable"] is False
    assert row["why"] == "duplicates"


def test_answers_in_the_file_have_reasons_too(database: Path) -> None:
    records = [
        {"id": "1", "prediction": "SELECT name FROM boat WHERE id < 3", "answers": [["Alma"], ["Berta"], ["Carla"]]},
        {"id": "2", "predicted_answers": [["Alma", 1]], "answers": [["Alma"]]},
        {"id": "3", "predicted_answers": [["alma "]], "answers": [["Alma"]]},
        {"id": "4", "predicted_answers": [[13.7]], "answers": [[13.6999]]},
        {"id": "5", "prediction": None, "answers": [["Alma"]]},
    ]
    result = evaluate(records, database=database, language="sql", gold_from="answers", options=NO_INTERVALS)
    assert result.measurements["why"].to_list() == [
        "missing rows", "extra column", "spelling", "rounding", "no prediction",
    ]  # fmt: skip


def test_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "boats.duckdb"
    connection = duckdb.connect(str(file))
    connection.execute(
        "CREATE TABLE boat AS SELECT * FROM (VALUES (1, 'Alma', 'Skagen'), (2, 'Dora', 'Ribe')) t(id, name, port)"
    )
    connection.close()
    result = _result(
        file,
        ("SELECT name, id FROM boat", "SELECT name FROM boat"),
        ("SELECT name FROM boat WHERE port = 'skagen'", "SELECT name FROM boat WHERE port = 'Skagen'"),
        ("SELECT nme FROM boat", "SELECT name FROM boat"),
        ("SELECT name FROM boats", "SELECT name FROM boat"),
        ("SELECT name, count(*) FROM boat", "SELECT name FROM boat"),
    )
    assert result.measurements["why"].to_list() == [
        "extra column", "spelling", "no such column", "no such table", "misused aggregate",
    ]  # fmt: skip
    assert result.measurements["repairable"].to_list()[:2] == [True, True]


def test_sparql_reasons_follow_from_the_answers() -> None:
    two = Answer(["x"], [("a",), ("b",)])
    assert sparql_reason("boolean", None, Answer(boolean=True), None).why == Why.FLIPPED
    assert sparql_reason("boolean", None, two, None).why == Why.OTHER_KIND
    assert sparql_reason("set", Overlap(0, 0, 2), Answer(boolean=True), None).why == Why.OTHER_KIND
    assert sparql_reason("count", None, two, None).why == Why.NUMBER_OFF
    assert sparql_reason("set", Overlap(0, 0, 2), Answer(["x"], []), 1).why == Why.EMPTY
    assert sparql_reason("set", Overlap(2, 1, 0), two, 1).why == Why.EXTRA_ROWS
    assert sparql_reason("set", Overlap(2, 0, 1), two, 1).why == Why.MISSING_ROWS
    assert sparql_reason("set", Overlap(1, 1, 1), two, 1).why == Why.SOME_OTHER_ROWS
    assert sparql_reason("set", Overlap(0, 2, 1), two, None).why == Why.OTHER_ROWS
    assert sparql_reason("set", Overlap(0, 2, 1), two, 2).why == Why.MISSING_COLUMN


def test_a_run_over_a_graph_has_the_column(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    graph = tmp_path / "g.nt"
    graph.write_text("".join(f"<http://e/{s}> <http://e/p> <http://e/{o}> .\n" for s, o in ("ax", "bx", "cy")))
    gold = "SELECT ?s { ?s <http://e/p> <http://e/x> }"
    told = [gold, "SELECT ?s { ?s <http://e/p> ?o }", "SELECT ?s { ?s <http://e/q> ?o }", "SELECT ?s {", None]
    told.append("SELECT ?s { ?s <http://e/p> <http://e/y> }")
    records = [{"id": str(i), "prediction": text, "gold": gold} for i, text in enumerate(told)]
    result = evaluate(records, graph=graph, options=NO_INTERVALS)
    assert result.measurements["why"].to_list() == [
        None, "extra rows", "empty answer", "syntax error", "no prediction", "all other rows",
    ]  # fmt: skip
    assert "repairable" not in result.measurements.columns
    assert result.extra["reasons"][0]["repairable"] is None


@pytest.mark.parametrize(
    ("gold", "predicted", "why"),
    [
        ([(1,)], [(2,)], Why.NUMBER_OFF),
        ([("a",)], [], Why.EMPTY),
        ([], [("a",)], Why.EXTRA_ROWS),
        ([("a",), ("b",)], [("a",)], Why.MISSING_ROWS),
        ([("a",)], [("a",), ("b",)], Why.EXTRA_ROWS),
        ([("a",), ("b",)], [("a",), ("c",)], Why.SOME_OTHER_ROWS),
        ([("a",)], [("c",)], Why.OTHER_ROWS),
        ([("a",), ("a",)], [("a",)], Why.DUPLICATES),
        ([(1.25,)], [(1.3,)], Why.ROUNDING),
        ([(1.25,)], [(1,)], Why.ROUNDING),
        ([(1.25,)], [(1.5,)], Why.NUMBER_OFF),
        ([(1,)], [("1",)], Why.NUMBER_AS_TEXT),
        ([("Ann Lee",)], [("ANN  lee",)], Why.SPELLING),
        ([("a", 1)], [("a",)], Why.MISSING_COLUMN),
        ([("a",)], [("b", "a")], Why.EXTRA_COLUMN),
    ],
)
def test_tables_alone(gold: list[Any], predicted: list[Any], why: Why) -> None:
    width = [len(rows[0]) if rows else 1 for rows in (gold, predicted)]
    tables = [Answer([f"c{i}" for i in range(w)], rows) for w, rows in zip(width, (gold, predicted), strict=True)]
    assert table_reason(tables[0], tables[1], GoldPlan()).why == why


def test_a_large_table_is_looked_at_by_its_rows_alone() -> None:
    gold = Answer(["x"], [(i,) for i in range(100_000)])
    predicted = Answer(["x", "y"], [(i, i) for i in range(100_000)])
    started = time.process_time()
    assert table_reason(gold, predicted, GoldPlan()).why == Why.EXTRA_COLUMN
    assert rows_reason(gold, gold).why == Why.EXTRA_ROWS
    assert time.process_time() - started < 10


def test_names_are_resolved_and_put_back() -> None:
    columns = {"boat": ["id", "name", "port"], "trip": ["id", "boat_id", "fish"]}
    text = (
        'SELECT T1.Name AS n, count(*) AS c FROM boat AS T1 JOIN trip T2 ON T1.id = T2.boat_id WHERE Fish = "cod" '
        "AND T1.id IN (SELECT id FROM boat WHERE 3 < id AND port = T1.port) GROUP BY n HAVING c > 2 ORDER BY 2 DESC"
    )
    query = resolved(parsed(text, "sqlite"), "sqlite", columns)
    assert query is not None
    assert sql_of(query.tree, "sqlite") == (
        "SELECT boat.name, COUNT(*) FROM boat JOIN trip ON boat.id = trip.boat_id WHERE trip.fish = 'cod' "
        "AND boat.id IN (SELECT boat__2.id FROM boat AS boat__2 WHERE boat__2.id > 3 AND boat__2.port = boat.port) "
        "GROUP BY boat.name HAVING COUNT(*) > 2 ORDER BY COUNT(*) DESC"
    )
    assert shown(query, query.tree.copy()).startswith(
        "SELECT T1.Name, COUNT(*) FROM boat AS T1 JOIN trip AS T2 ON T1.id = T2.boat_id WHERE T2.Fish = 'cod'"
    )


def _hostile() -> Iterator[str]:
    yield "SELECT name FROM boat WHERE " + " AND ".join(f"length <> {i}.5" for i in range(3000))
    yield "SELECT name FROM boat WHERE " + " AND ".join(f"length <> {i}.5" for i in range(300))
    yield "SELECT name FROM boat WHERE " + " OR ".join(f"length = {i}.5" for i in range(300))
    yield "SELECT " + ", ".join(["name"] * 300) + " FROM boat"
    yield "SELECT name FROM boat WHERE id = " + "(" * 200 + "1" + ")" * 200
    yield "SELECT name FROM boat WHERE id IN (SELECT id FROM boat WHERE " * 25 + "id = 1" + ")" * 25
    yield "SELECT name FROM boat " + "CROSS JOIN (SELECT 1) " * 40
    yield " UNION ".join([f"SELECT {i} AS x" for i in range(200)])
    yield "SELECT '" + "'' AND '' \ue000 " * 50 + "' FROM boat"
    yield 'SELECT "<script>alert(1)</script>" FROM boat'
    yield "WITH boat AS (SELECT 1 AS id), t AS (SELECT * FROM boat) SELECT id FROM t"
    yield "SELECT name FROM boat AS a(b) WHERE 1"
    yield "VALUES (1), (2)"


def test_hostile_predictions_have_a_reason_in_bounded_time(database: Path) -> None:
    golds = [
        "SELECT name FROM boat WHERE port = 'Skagen' AND built > 1995",
        f"SELECT DISTINCT fish {JOINED} ORDER BY fish",
    ]
    pairs = [(told, gold) for told in _hostile() for gold in golds]
    started = time.process_time()
    result = _result(database, *pairs, extract=False)
    assert time.process_time() - started < 60
    wrong = result.measurements.filter(result.measurements["correct"].not_())
    assert len(wrong) >= len(pairs) - 2
    assert wrong["why"].null_count() == 0


def test_a_change_that_takes_long_is_given_up(database: Path, tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    request = Request(endless, str(database))
    with Databases(database, limits=Limits(seconds=30)) as store, ResultCache(tmp_path / "a.db") as cache:
        started = time.monotonic()
        ((_, outcome),) = answers(store, [request], cache, 0.2)
        assert time.monotonic() - started < 10
        assert isinstance(outcome, Failure) and outcome.reason == Reason.TIMEOUT
        assert len(cache) == 1
    # It counts as over that time alone: under the limits of the store it is asked again.
    with Databases(database, limits=Limits(seconds=1)) as store, ResultCache(tmp_path / "a.db") as cache:
        ((_, outcome),) = answers(store, [request], cache)
        assert isinstance(outcome, Failure) and outcome.message == "no answer within 1 s"


def test_pages_show_the_reason_and_the_repaired_query(database: Path) -> None:
    gold = "SELECT captain.name FROM trip JOIN captain ON trip.captain_id = captain.id WHERE trip.fish = 'plaice'"
    result = _result(
        database,
        ("select name, id from boat", "SELECT name FROM boat"),
        ("SELECT captain_id FROM trip WHERE fish = 'plaice'", gold),
        ("SELECT nme FROM boat", "SELECT name FROM boat"),
    )
    pages = [{part["label"]: part for part in page["parts"]} for page in example_page(pl.DataFrame(_told(result)))]
    assert ["".join(span[0] for span in page["why"]["spans"]) for page in pages] == [
        "extra column: It returns boat.id too.",
        "missing join: The table captain is missing. No single change repairs it; what differs: select, from.",
        "no such column: It names a column that is not there (no such column: nme).",
    ]
    assert pages[0]["repaired"]["spans"] == [["SELECT name FROM boat", ""]]
    assert "repaired" not in pages[1] and "message" not in pages[2]


def test_the_verdict_and_the_picture_count_the_reasons(database: Path) -> None:
    result = _result(database, *[(told, gold) for gold, told, _, _ in CASES])
    (sentence,) = [text for text in verdict(result) if text.startswith("Why ")]
    assert sentence.startswith(f"Why {len(CASES)} wrong predictions are wrong: ")
    assert "; one change of a clause repairs " in sentence
    (chart,) = [chart for chart in plots(result) if chart.name == "reasons"]
    assert sum(entry["predictions"] for entry in chart.data) == len(CASES)
    assert sum(entry["repairable"] for entry in chart.data) == sum(repairable for *_, repairable in CASES)


def test_every_reason_has_its_meaning_and_its_line_in_the_documentation() -> None:
    documented = (Path(__file__).parents[2] / "docs" / "correct.md").read_text(encoding="utf-8")
    assert set(MEANINGS) == set(Why)
    for why in Why:
        assert f"`{why}`" in documented, why


def test_a_run_is_resumed_only_with_the_same_columns(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps({"id": "1", "prediction": "SELECT port FROM boat", "gold": "SELECT name FROM boat"}))
    out = tmp_path / "run"
    evaluate(file, database=database, language="sql", options=NO_INTERVALS, out=out)
    with pytest.raises((InputError, RunError), match="reasons"):
        evaluate(file, database=database, language="sql", options=NO_INTERVALS, out=out, resume=True, reasons=False)


def test_the_command_line_tells_and_can_be_told_not_to(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps({"id": "1", "prediction": "SELECT port FROM boat", "gold": "SELECT name FROM boat"}))
    command = [sys.executable, "-m", "sensecheck", "correct", str(file), "--database", str(database)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Why 1 wrong prediction is wrong: other column in SELECT 100%; one change of a clause repairs 100%." in told
    silent = subprocess.run([*command, "--no-reasons"], capture_output=True, text=True, check=True).stdout
    assert "other column" not in silent
