"""Rows that tie at the LIMIT of a gold: their number, and what becomes of the verdict."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sensecheck.correct import evaluate
from sensecheck.correct.examples import example_page
from sensecheck.correct.sql_compare import compare, plan_gold
from sensecheck.correct.ties import EVERY_ROW_TIES, TieAtCut, tie_at_cut, widest
from sensecheck.inputs.errors import InputError
from sensecheck.report.result import Result, load
from sensecheck.statistics.compare import ComparisonError
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer

NO_INTERVALS = IntervalOptions(method="none")
PLAN = plan_gold("SELECT name FROM t ORDER BY score DESC LIMIT 2")


def table(*rows: tuple[Any, ...]) -> Answer:
    return Answer([f"c{i}" for i in range(len(rows[0]))] if rows else ["c0"], list(rows))


@pytest.mark.parametrize(
    ("keyed", "expected"),
    [
        ([("a", 9), ("b", 8), ("c", 7)], TieAtCut(1)),
        ([("a", 9), ("b", 8), ("c", 8), ("d", 8), ("e", 1)], TieAtCut(3)),
        ([("a", 8), ("b", 8), ("c", 7)], TieAtCut(1)),  # LIMIT takes both: it cuts between two keys
        ([("a", 8), ("b", 8), ("c", 8), ("d", 7)], TieAtCut(3)),
        ([("a", 8), ("b", 8), ("c", 8)], TieAtCut(3, True)),
        ([("a", None), ("b", None), ("c", None)], TieAtCut(3, True)),
        ([("a", 8), ("b", 8)], TieAtCut(1)),  # no more than LIMIT
        ([("a", 8), ("a", 8), ("a", 8)], TieAtCut(3)),  # whichever is shown, it is the same
    ],
)
def test_the_width(keyed: list[tuple[Any, ...]], expected: TieAtCut) -> None:
    gold = table(*[(row[0],) for row in keyed[:2]])
    assert tie_at_cut(gold, PLAN, table(*keyed)) == expected


def test_where_nothing_is_known_nothing_is_said() -> None:
    gold = table(("a",), ("b",))
    assert tie_at_cut(gold, PLAN, None) is None
    assert tie_at_cut(gold, plan_gold("SELECT name FROM t ORDER BY score"), table(("a", 1), ("b", 1))) is None
    assert tie_at_cut(table(), PLAN, table()) is None
    assert tie_at_cut(table(("a",)), PLAN, table(("a", 1))) is None  # fewer than LIMIT: nothing is cut
    assert tie_at_cut(gold, PLAN, table(("a",), ("b",))) is None  # an answer to another query
    assert widest([]) is None and widest([None]) is None


def test_several_databases_decide_together() -> None:
    assert widest([TieAtCut(3, True), TieAtCut(5, True)]) == TieAtCut(5, True)
    assert widest([TieAtCut(3, True), TieAtCut(1)]) == TieAtCut(3)
    assert widest([TieAtCut(3, True), None]) == TieAtCut(3)


def test_strict_ties_leave_the_order_free() -> None:
    keyed = table(("a", 9), ("b", 8), ("c", 8))
    gold = table(("a",), ("b",))
    assert compare(gold, table(("a",), ("c",)), PLAN, keyed).equal
    assert not compare(gold, table(("a",), ("c",)), PLAN, keyed, strict_ties=True).equal
    assert not compare(gold, table(("a",), ("b",), ("c",)), PLAN, keyed, strict_ties=True).equal
    both = table(("a", 8), ("b", 8), ("c", 7))
    assert compare(gold, table(("b",), ("a",)), PLAN, both, strict_ties=True).tie
    # The server sorts ties otherwise without a LIMIT: what the gold shows is what counts.
    other = table(("c", 8), ("b", 8), ("a", 8))
    assert not compare(gold, table(("b",), ("c",)), PLAN, other, strict_ties=True).equal


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "fair.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript(
            """
            CREATE TABLE stall (name TEXT, town TEXT, price INTEGER);
            INSERT INTO stall VALUES ('figs', 'Ulm', 1), ('nuts', 'Bonn', 2), ('tea', 'Jena', 2), ('wool', 'Kiel', 3);
            """
        )
    connection.close()
    return path


EVERY = "SELECT name FROM stall GROUP BY name ORDER BY count(*) DESC LIMIT 1"
SOME = "SELECT name FROM stall ORDER BY price LIMIT 2"
PAIRS = [
    (EVERY, EVERY),
    (EVERY, "SELECT 'wool'"),
    (EVERY, "SELECT nonsense FROM stall"),
    (EVERY, None),
    (SOME, "SELECT name FROM stall WHERE name IN ('figs', 'tea') ORDER BY price"),
    (SOME, SOME),
    (SOME, "SELECT name FROM stall ORDER BY price DESC LIMIT 2"),
    ("SELECT name FROM stall ORDER BY price DESC LIMIT 1", "SELECT 'wool'"),
]


def evaluated(database: Path, **options: Any) -> Result:
    records = [{"id": str(n), "gold": gold, "prediction": told} for n, (gold, told) in enumerate(PAIRS)]
    return evaluate(records, database=database, options=NO_INTERVALS, normalise=False, **options)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("undecided", [None, None, None, None, True, True, False, True]),
        ("right", [True, True, False, False, True, True, False, True]),
        ("strict", [True, False, False, False, False, True, False, True]),
    ],
)
def test_what_a_tie_counts_as(database: Path, ties: Any, expected: list[bool | None]) -> None:
    result = evaluated(database, ties=ties)
    rows = result.measurements
    settled = rows["correct"].to_list()
    if ties == "strict":  # which of four equal names SQLite shows is its own affair
        settled[1] = False
    assert settled == expected
    assert rows["scored"].all()  # exact match and the conventions count these rows as ever
    assert rows["tie_width"].to_list() == [4, 4, 4, 4, 2, 2, 2, 1]
    undecided = sum(one is None for one in expected)
    assert result["accuracy"].n == len(PAIRS) - undecided
    assert result["accuracy"].unscored == ({EVERY_ROW_TIES: undecided} if undecided else {})
    assert result["em"].n == result["answered"].n == result["vacuous"].n == len(PAIRS)
    assert (f"ties:{ties}" in result.signature.short) == (ties != "undecided")


def test_conventions_do_not_know_of_ties(database: Path) -> None:
    names = ["test-suite", "test-suite-keep-distinct", "bird", "spider2"]
    per_choice = [
        evaluated(database, ties=ties, conventions=names).measurements.select(n.replace("-", "_") for n in names)
        for ties in ("right", "undecided", "strict")
    ]
    assert per_choice[0].equals(per_choice[1]) and per_choice[1].equals(per_choice[2])
    assert per_choice[0]["bird"].null_count() == 0


def test_runs_with_other_ties_are_not_compared(database: Path) -> None:
    with pytest.raises(ComparisonError, match="ties: undecided against right"):
        evaluated(database).compare(evaluated(database, ties="right"))


def test_what_is_no_choice_is_refused(database: Path) -> None:
    with pytest.raises(InputError, match="one of right, undecided, strict"):
        evaluated(database, ties="maybe")


def test_examples_and_pages_say_how_many_tie(database: Path, tmp_path: Path) -> None:
    result = evaluated(database, out=tmp_path / "run")
    frame = result.examples(20)
    parts = dict(zip(frame["id"].to_list(), example_page(frame), strict=True))
    assert parts["1"]["title"] == f"1 · {EVERY_ROW_TIES} of 4 rows"
    assert "by a tie of 2 rows" in parts["4"]["title"]
    told = [part["spans"] for part in parts["4"]["parts"] if part["label"] == "tie"]
    assert told == [[["2 rows tie where the gold's LIMIT cuts", "muted"]]]
    assert not [part for part in parts["7"]["parts"] if part["label"] == "tie"]
    assert "undecided: 4" in str([chart.svg() for chart in result.charts()])
    again = load(tmp_path / "run")
    assert again["accuracy"].unscored == {EVERY_ROW_TIES: 4}
    assert evaluated(database).compare(again).differences


def test_given_answers_to_a_gold_query(database: Path) -> None:
    told = {"columns": ["name"], "rows": [["wool"]]}
    records = [
        {"id": "1", "gold": EVERY, "predicted_answers": told},
        {"id": "2", "gold": SOME, "predicted_answers": told},
    ]
    rows = evaluate(records, database=database, options=NO_INTERVALS, normalise=False).measurements
    assert rows["correct"].to_list() == [None, False]
    assert rows["tie_width"].to_list() == [4, 2]


def test_any_of_several_golds_may_decide(database: Path) -> None:
    other = "SELECT name FROM stall ORDER BY price DESC LIMIT 1"
    records = [{"id": "1", "gold": [EVERY, other], "prediction": "SELECT 'wool'"},
               {"id": "2", "gold": [other, EVERY], "prediction": "SELECT 'figs'"}]  # fmt: skip
    rows = evaluate(records, database=database, options=NO_INTERVALS, normalise=False).measurements
    assert rows["correct"].to_list() == [True, None]


@pytest.mark.golden
def test_real_predictions(shared: Path) -> None:
    folder = shared / "data" / "sql"

    def of(ties: Any) -> Any:
        return evaluate(
            folder / "predictions.jsonl.gz", database=folder / "databases", options=NO_INTERVALS, normalise=False,
            ties=ties,
        ).measurements["correct"]  # fmt: skip

    right, undecided, strict = of("right"), of("undecided"), of("strict")
    assert int(right.sum()) == 4529
    assert undecided.null_count() == 84 and int(right.filter(undecided.is_null()).sum()) == 50
    assert undecided.drop_nulls().to_list() == right.filter(undecided.is_not_null()).to_list()
    assert int(right.sum()) - int(strict.sum()) == 59


def test_ties_are_of_sql_alone() -> None:
    record = {"id": "1", "gold": "SELECT ?x { ?x a ?y }", "prediction": "SELECT ?x { ?x a ?y }"}
    with pytest.raises(InputError, match="ties: expected SQL"):
        evaluate([record], ties="strict", language="sparql")
