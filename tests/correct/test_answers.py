"""What counts as the same answer: by value and kind, in one column or several."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sensecheck.correct import evaluate

COUNT = "Quantitative Reasoning (Count) (All)"
BOOLEAN = "Verification (Boolean) (All)"
GRAPH = """
@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :code "007" ; :isbn "9780306406157" ; :n 9780306406157 ; :more 9780306406158 ; :b true ; :d 7.0 ; :i 7 ; :db 7.0e0 ;
   :l "Hi"@EN ; :date "2020-01-01"^^xsd:date ; :name "AC/DC" ; :pair :x , :y ; :same <http://o/x> ; :empty "" .
:x :v 1 . :y :v 2 .
"""
PAIRS = "SELECT ?x ?v {?x :v ?v}"
CASES: list[tuple[str, bool | None, dict[str, Any]]] = [
    ("SELECT ?x {:a :code ?x}", True, {"results": ["007"]}),
    ("SELECT ?x {:a :isbn ?x}", False, {"results": ["9780306406158"]}),
    ("SELECT ?x {:a :n ?x}", True, {"results": ["9780306406157"]}),
    ("SELECT ?x {:a :n ?x}", True, {"results": [9780306406157]}),
    ("SELECT ?x {:a :n ?x}", False, {"results": ["9780306406158"]}),
    ("SELECT ?x {:a :n ?x}", False, {"gold": "SELECT ?x {:a :more ?x}"}),
    ("SELECT ?x {:a :d ?x}", True, {"gold": "SELECT ?x {:a :i ?x}"}),
    ("SELECT ?x {:a :db ?x}", True, {"gold": "SELECT ?x {:a :i ?x}"}),
    ("SELECT (STR(?y) AS ?x) {:a :i ?y}", False, {"gold": "SELECT ?x {:a :i ?x}"}),
    ("SELECT (STR(?y) AS ?x) {:a :pair ?y}", False, {"gold": "SELECT ?x {:a :pair ?x}"}),
    ("SELECT ?x {:a :same ?x}", False, {"gold": "SELECT ?x {?x :v 1}"}),
    ("SELECT ?x {:a :l ?x}", True, {"gold": "SELECT ('Hi'@en AS ?x) {}"}),
    ("SELECT ('2020-01-01' AS ?x) {}", False, {"gold": "SELECT ?x {:a :date ?x}"}),
    ("SELECT ?x {:a :name ?x}", True, {"results": ["AC/DC"]}),
    ("SELECT ?x {:a :empty ?x}", True, {"results": [""]}),
    # rows
    (PAIRS, True, {"results": [["x", 1], ["y", 2]]}),
    (PAIRS, True, {"results": [["1", "http://e/x"], ["2", "http://e/y"]]}),
    (PAIRS, True, {"results": [{"x": "http://e/x", "v": "1"}, {"x": "http://e/y", "v": 2}]}),
    (PAIRS, False, {"results": [["x", 2], ["y", 1]]}),
    (PAIRS, False, {"results": ["x", "y"]}),
    ("SELECT ?v ?x {?x :v ?v}", True, {"gold": PAIRS}),
    ("SELECT ?x ?v {?x :v ?w . ?y :v ?v FILTER(?w != ?v)}", False, {"gold": PAIRS}),
    ("SELECT ?x {:a :pair ?x}", True, {"results": [{"type": "uri", "value": "http://e/x"}, ["y"], None]}),
    # yes or no
    ("ASK {:a :i 7}", True, {"results": [True]}),
    ("ASK {:a :i 8}", False, {"results": [True]}),
    ("ASK {:a :i 7}", True, {"answer": "yes"}),
    ("ASK {:a :i 7}", True, {"answer": True, "question_type": BOOLEAN}),
    ("SELECT ?b {:a :b ?b}", True, {"gold": "ASK {:a :i 7}"}),
    # one answer, without a list or a query
    ("SELECT ?x {:a :i ?x}", True, {"answer": 7}),
    ("SELECT ?x {:a :code ?x}", True, {"answer": "007"}),
    ("SELECT ?x {:a :code ?x}", False, {"answer": "008"}),
    # counts
    ("SELECT (COUNT(?x) AS ?c) {:a :pair ?x}", True, {"answer": 2, "question_type": COUNT}),
    ("SELECT ?x {:a :pair ?x}", True, {"answer": "2", "question_type": COUNT}),
    ("ASK {:a :i 7}", False, {"answer": "1", "question_type": COUNT}),
]


def test_answers_by_value_and_kind(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    (tmp_path / "graph.ttl").write_text(GRAPH)
    records = [{"id": str(i), "prediction": text, **gold} for i, (text, _, gold) in enumerate(CASES)]
    result = evaluate(records, graph=tmp_path / "graph.ttl", prefixes={"": "http://e/"})
    found = dict(result.measurements.select("id", "correct").iter_rows())
    wrong = [CASES[int(name)] for name, correct in found.items() if correct is not CASES[int(name)][1]]
    assert wrong == []


def test_a_gold_query_that_was_asked_for_and_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("pyoxigraph")
    (tmp_path / "graph.ttl").write_text(GRAPH)
    records = [{"id": "1", "prediction": "ASK {:a :i 7}", "answer": "1", "question_type": COUNT}]
    result = evaluate(records, graph=tmp_path / "graph.ttl", gold="query", prefixes={"": "http://e/"})
    assert result.measurements["reason"].to_list() == ["no gold query"]


def test_failures_on_later_databases_and_missing_ones_are_told(tmp_path: Path) -> None:
    for name, rows in (("two", 3), ("two_more", 4)):
        (tmp_path / "two").mkdir(exist_ok=True)
        made = sqlite3.connect(tmp_path / "two" / f"{name}.sqlite")
        made.execute("create table t (a integer)")
        made.executemany("insert into t values (?)", [(i,) for i in range(rows)])
        made.commit()
        made.close()
    overflow = "select a + case when (select count(*) from t) > 3 then abs(-9223372036854775808) else 0 end from t"
    records = [
        {"id": "lucky", "db_id": "two", "gold": "select count(*) from t", "prediction": "select 3"},
        {"id": "fails", "db_id": "two", "gold": "select a from t", "prediction": overflow},
        {"id": "missing", "db_id": "nope", "gold": "select 1", "prediction": "select 1"},
        {"id": "bad gold", "db_id": "two", "gold": "select b from t", "prediction": "selec"},
    ]
    result = evaluate(records, database=tmp_path)
    outcomes = dict(result.measurements.select("id", "outcome").iter_rows())
    assert outcomes == {"lucky": "answered", "fails": "engine error", "missing": "not run", "bad gold": "syntax"}
    messages = dict(result.examples(worst=4).select("id", "message").iter_rows())
    assert messages["lucky"] == "right on two.sqlite, other rows on two_more.sqlite"
    assert "overflow" in messages["fails"]
    assert any("'nope'" in note for note in result.notes)
