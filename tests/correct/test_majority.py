"""The answer that most samples of a question give, and the keys by which equal answers are known."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck.cli import main
from sensecheck.correct import evaluate
from sensecheck.correct.answer_keys import sparql_key, sql_key
from sensecheck.correct.sql_compare import GoldPlan, compare
from sensecheck.report.result import Result, load
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.stores import Answer, Term

NO_INTERVALS = IntervalOptions(method="none")
XSD = "http://www.w3.org/2001/XMLSchema#"


def table(*rows: tuple[Any, ...]) -> Answer:
    return Answer([f"c{i}" for i in range(len(rows[0]))] if rows else ["c0"], list(rows))


def key(*rows: tuple[Any, ...], coerce: bool = False) -> str:
    return sql_key([table(*rows)], coerce=coerce)


# ---- keys


def test_rows_and_columns_in_any_order() -> None:
    rows = [(1, "a", 1), (2, "b", 1), (3, "a", 2)]
    keys = {key(*[tuple(row[i] for i in order) for row in turned])
            for order in permutations(range(3)) for turned in permutations(rows)}  # fmt: skip
    assert len(keys) == 1
    assert keys.isdisjoint({key(*rows[:2]), key(*rows, rows[0]), key((1, "b", 1), (2, "a", 1), (3, "a", 2)), key()})


def test_what_is_equal_by_value() -> None:
    assert key((3,)) == key((3.0,)) == key((2.9999999999999996,)) and key((1,)) == key((True,))
    assert key((0.1 + 0.2,)) == key((0.3,)) and key((1e18,)) == key((10**18,))
    assert key((0,)) == key((0.1 + 0.2 - 0.3,))
    assert len({key((3,)), key(("3",)), key((None,)), key(("",)), key((b"3",)), key(("None",)), key((3.1,))}) == 7
    assert key(("3",), coerce=True) == key((3,), coerce=True) and key((float("nan"),)) == key((float("nan"),))
    assert key((2**53,)) != key((2**53 + 1,))


def test_text_cannot_forge_another_table() -> None:
    parts = ["\x1e", "\x1f", "'", "=", "\ud800", "a\x1fb", "',"]
    keys = [key((a, b)) for a in parts for b in parts if a <= b]
    assert len(set(keys)) == len(keys)
    assert key(("a", "b"), ("c", "d")) != key(("a\x1f'b'",), ("c\x1f'd'",))


def test_columns_that_hold_the_same_values_are_told_apart() -> None:
    """All columns hold a and b once each: only the rows tell these tables apart."""
    assert key(("a", "b"), ("b", "a")) != key(("a", "a"), ("b", "b"))
    one = [("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b")]
    other = [("a", "b", "c"), ("b", "a", "c"), ("c", "c", "b")]
    assert key(*one) == key(*[row[::-1] for row in one][::-1]) != key(*other)


def test_keys_agree_with_the_comparison() -> None:
    draw = random.Random(20261118)
    agreed = equal = 0
    for _ in range(1500):
        width, height = draw.randint(1, 3), draw.randint(0, 4)
        a, b = ([tuple(draw.choice([1, 2, "1", None]) for _ in range(width)) for _ in range(height)] for _ in "ab")
        if draw.random() < 0.5 and a:
            order = draw.sample(range(width), width)
            b = [tuple(row[i] for i in order) for row in draw.sample(a, height)]
        same = compare(table(*a), table(*b), GoldPlan()).equal
        equal += same
        agreed += same == (key(*a) == key(*b))
    assert agreed == 1500 and 400 < equal < 1400


def test_many_rows_take_their_time_and_no_more() -> None:
    rows = [(n % 7, n % 7, f"name {n}") for n in range(100_000)]
    assert key(*rows) == key(*[(c, a, b) for a, b, c in reversed(rows)])


def test_sparql_answers() -> None:
    def literal(text: str, kind: str = "integer") -> Term:
        return Term("literal", text, XSD + kind)

    one = Answer(["x"], [(literal("1"),), (literal("2"),)])
    assert sparql_key(one, "set") == sparql_key(
        Answer(["y"], [(literal("2.0", "decimal"),), (literal("1"),)] * 2), "set"
    )
    assert sparql_key(one, "set") != sparql_key(Answer(["x"], [(Term("literal", "1"),), (literal("2"),)]), "set")
    assert sparql_key(one, "count") == sparql_key(Answer(["n"], [(literal("2"),)]), "count")
    assert sparql_key(Answer(boolean=True), "boolean") != sparql_key(Answer(boolean=False), "boolean")
    assert sparql_key(Answer(["x"], [(None,)]), "set") == sparql_key(Answer(["x"], []), "set")


# ---- the figure


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(5)])
    connection.close()
    return path


def sampled(samples: dict[str, list[str | None]], gold: str = "SELECT 1") -> list[dict[str, Any]]:
    return [
        {"id": name, "sample": n, "gold": gold, "prediction": told}
        for name, all_told in samples.items()
        for n, told in enumerate(all_told)
    ]


def majority(records: list[dict[str, Any]], database: Path, **options: Any) -> Result:
    return evaluate(records, database=database, normalise=False, **{"options": NO_INTERVALS, **options})


@pytest.mark.parametrize(
    ("told", "right"),
    [
        (["SELECT 1"], True),
        (["SELECT 2"], False),
        (["SELECT 2", "SELECT 1", "SELECT 1.0"], True),
        (["SELECT 1", "SELECT 2", "SELECT 2"], False),
        (["SELECT 1", "SELECT 2"], True),  # a tie goes to the first
        (["SELECT 2", "SELECT 1"], False),
        (["SELECT 2", "SELECT 1", "SELECT 1", "SELECT 2"], False),
        (["nonsense", "nonsense", None, "SELECT 1"], True),  # failures do not win
        (["nonsense", "nonsense", None, "SELECT 2"], False),
        (["nonsense", None], False),  # unless all fail
        (["SELECT a FROM t WHERE a < 0", "SELECT a FROM t WHERE a > 9", "SELECT 1"], False),  # nothing is an answer
    ],
)
def test_who_wins(database: Path, told: list[str | None], right: bool) -> None:
    result = majority(sampled({"q": told, "other": ["SELECT 1", "SELECT 1"]}), database)
    assert result["majority"].name == "accuracy.majority"
    assert result["majority"].value == (1.0 if right else 0.5) and result["majority"].n == 2


def test_unscored_questions_have_no_majority(database: Path) -> None:
    records = [*sampled({"a": ["SELECT 1", "SELECT 1"]}), *sampled({"b": ["SELECT 1", "SELECT 1"]}, "SELECT nonsense")]
    figure = majority(records, database)["majority"]
    assert (figure.value, figure.n, figure.unscored) == (1.0, 1, {"no scored sample": 1})


def test_samples_in_other_batches_and_saved_runs(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sensecheck.correct.records.BATCH_RECORDS", 7)
    draw = random.Random(3)
    samples = {f"q{n}": [f"SELECT {draw.choice([1, 1, 2, 3])}" for _ in range(5)] for n in range(40)}
    records = sorted(sampled(samples), key=lambda record: (record["sample"], record["id"]))
    result = majority(records, database, out=tmp_path / "run", options=IntervalOptions(replicates=60))

    def wins(told: list[str]) -> bool:
        return max(told, key=lambda text: (told.count(text), -told.index(text))) == "SELECT 1"

    assert result["majority"].value == pytest.approx(sum(map(wins, samples.values())) / 40)
    assert result["majority"].low < result["majority"].value < result["majority"].high  # type: ignore[operator]
    again = load(tmp_path / "run")
    assert again["accuracy.majority"].to_dict() == result["majority"].to_dict()
    assert again.measurements["answer_key"].n_unique() == 3
    assert main(["report", str(tmp_path / "run")]) == 0
    assert "the answer that most samples of an example give" in (tmp_path / "run" / "report.html").read_text()
    assert main(["explain", "majority"]) == 0
    assert "Self-consistency" in capsys.readouterr().out


def test_one_sample_a_question_costs_no_key(database: Path) -> None:
    result = majority([{"id": "1", "gold": "SELECT 1", "prediction": "SELECT 1"}], database)
    assert "answer_key" not in result.measurements.columns and "majority" not in result.names


def test_sparql_and_given_answers(tmp_path: Path) -> None:
    given = [{"id": "q", "sample": n, "predicted_answers": told, "answers": ["Q1", "Q2"]}
             for n, told in enumerate([["Q2", "Q1"], ["Q3"], ["Q1", "Q2"]])]  # fmt: skip
    assert evaluate(given, options=NO_INTERVALS)["majority"].value == 1
    pytest.importorskip("pyoxigraph")
    graph = tmp_path / "kg.nt"
    graph.write_text("<urn:a> <urn:p> <urn:b> .\n<urn:c> <urn:p> <urn:d> .\n")
    gold = "SELECT ?x { ?x <urn:p> ?y }"
    told = ["SELECT ?y { ?x <urn:p> ?y }", "SELECT DISTINCT ?z { ?z <urn:p> [] }", gold, "SELECT ?x { ?x"]
    records = [{"id": "q", "sample": n, "gold": gold, "prediction": text} for n, text in enumerate(told)]
    result = evaluate(records, graph=graph, options=NO_INTERVALS)
    assert result["majority"].value == 1 and result["accuracy"].value == 0.5


@pytest.mark.golden
def test_six_systems_as_samples(shared: Path) -> None:
    """Right answers to one question have one key; only the order of rows is no part of it."""
    folder = shared / "data" / "sql"
    with gzip.open(folder / "predictions.jsonl.gz") as stream:
        pairs = [json.loads(line) for line in stream]
    records = [{"id": p["id"].partition(":")[2], "sample": p["model"], "db_id": p["db_id"], "gold": p["gold"],
                "prediction": p["pred"]} for p in pairs]  # fmt: skip
    result = evaluate(records, database=folder / "databases", options=NO_INTERVALS, normalise=False, ties="strict")
    rows = result.measurements
    right = rows.filter(rows["correct"]).group_by("id").agg(keys=pl.col("answer_key").n_unique())
    assert right["keys"].max() == 1
    assert result["majority"].value > result["accuracy.pass@1"].value  # type: ignore[operator]
