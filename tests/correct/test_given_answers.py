"""Answers in the file, in the place of queries: predicted, gold or both."""

from __future__ import annotations

import json
import math
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sensecheck import correct
from sensecheck.correct.examples import example_page
from sensecheck.correct.spider2 import spider2_equal
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.spider2 import read_gold, read_submission, read_table
from sensecheck.language.answers import Answer, Term
from sensecheck.language.sparql.results import as_json, read_results
from sensecheck.statistics.figure import IntervalOptions

XSD = "http://www.w3.org/2001/XMLSchema#"


def rows_of(records: Any, **options: Any) -> pl.DataFrame:
    result = correct.evaluate(records, options=IntervalOptions(method="none"), **options)
    return result.measurements


def results(*values: str, name: str = "x") -> dict[str, Any]:
    """SPARQL results with one column of IRIs."""
    bindings = [{name: {"type": "uri", "value": f"http://e/{value}"}} for value in values]
    return {"head": {"vars": [name]}, "results": {"bindings": bindings}}


def literal(value: str, **told: str) -> dict[str, Any]:
    return {"head": {"vars": ["c"]}, "results": {"bindings": [{"c": {"type": "literal", "value": value, **told}}]}}


# ---- SPARQL


@pytest.mark.parametrize(
    ("predicted", "gold", "right"),
    [
        (results("a", "b"), [results("b", "a", name="uri")], True),
        (results("a"), [results("a", "b")], False),
        (results(), [results()], True),
        (results(), results("a"), False),
        (results("a"), ["a"], True),  # a list of bare values
        (["a", "b"], [results("b", "a")], True),
        (["http://e/a"], ["a"], True),
        (["a"], ["b"], False),
        ([], [], True),
        ([["a", 1], ["b", 2]], [["b", 2.0], ["a", 1]], True),
        ({"boolean": True, "head": {}}, [{"head": {}, "results": {}, "boolean": True}], True),
        ({"boolean": False}, [{"boolean": True}], False),
        (True, [{"boolean": True}], True),
        ([False], [{"boolean": True}], False),
        ("yes", [{"boolean": True}], True),
        (results("a"), [{"boolean": True}], False),
        (literal("8", datatype=XSD + "integer"), [literal("8")], True),  # QALD's golds have no types
        (literal("8.0", datatype=XSD + "decimal"), [literal("8", datatype=XSD + "integer")], True),
        (literal("8", datatype=XSD + "integer"), [literal("8", **{"xml:lang": "en"})], False),
        (literal("Anna", **{"xml:lang": "de"}), [literal("Anna", **{"xml:lang": "en"})], False),
        (results("a"), [results("b"), results("a")], True),  # each of several is allowed
        (json.dumps(results("a")), json.dumps([results("a")]), True),  # as a cell of CSV has them
        ('["a", "b"]', '["b", "a"]', True),
        ([3], literal("3"), True),
    ],
)
def test_two_answers_need_no_store(predicted, gold, right):
    (row,) = rows_of([{"id": 1, "predicted_answers": predicted, "answers": gold}]).to_dicts()
    assert (row["scored"], row["correct"], row["outcome"]) == (True, right, "answered")
    assert row["em"] is None and row["em_normalised"] is None


@pytest.mark.parametrize("name", ["predicted_answers", "predicted_results", "pred_answers", "prediction"])
@pytest.mark.parametrize("field", ["results", "answers", "gold_answers"])
def test_names_of_fields(name, field):
    (row,) = rows_of([{name: results("a"), field: [results("a")]}]).to_dicts()
    assert row["correct"] is True


def test_an_answer_that_is_missing_is_no_prediction():
    rows = rows_of([{"predicted_answers": None, "answers": ["a"]}, {"predicted_answers": ["a"], "answers": ["a"]}])
    assert rows["outcome"].to_list() == ["no prediction", "answered"]
    assert rows["correct"].to_list() == [False, True]


def test_empty_results_are_vacuous():
    (row,) = rows_of([{"predicted_answers": results(), "answers": [results()]}]).to_dicts()
    assert row["correct"] is True and row["vacuous"] is True and row["f1"] == 1.0


def test_without_a_store_queries_stay_unscored():
    rows = rows_of(
        [
            {"predicted_answers": ["a"], "gold": "SELECT ?x { ?x ?y ?z }"},
            {"prediction": "SELECT ?x {}", "gold": "SELECT ?x {}"},
            {"prediction": ["a"], "answers": ["a"]},
        ]
    )
    assert rows["reason"].to_list() == ["no store to run its queries on"] * 2 + [None]
    assert rows["em"].to_list() == [None, True, None]  # an exact match is one all the same


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyoxigraph")
    path = tmp_path_factory.mktemp("graph") / "g.ttl"
    path.write_text("@prefix : <http://e/> . :a a :T ; :age 8 . :b a :T .\n")
    return path


def test_given_predictions_against_gold_queries(graph):
    gold = "SELECT ?x { ?x a <http://e/T> }"
    rows = rows_of(
        [
            {"gold": gold, "predicted_answers": results("b", "a")},
            {"gold": gold, "predicted_answers": ["a"]},
            {"gold": gold, "predicted_answers": ["a", "b"], "prediction": "this is never run {"},
            {"gold": "ASK { <http://e/a> a <http://e/T> }", "predicted_answers": {"boolean": True}},
            {"gold": "SELECT ?n { <http://e/a> <http://e/age> ?n }", "predicted_answers": [8]},
            {"gold": "SELECT ?n { <http://e/c> <http://e/age> ?n }", "predicted_answers": []},
        ],
        graph=graph,
    )
    assert rows["correct"].to_list() == [True, False, True, True, True, True]
    assert rows["outcome"].to_list() == ["answered"] * 6
    assert rows["em"].to_list() == [None, None, False, None, None, None]
    assert rows["f1"].to_list()[1] == pytest.approx(2 / 3)


def test_queries_against_given_golds(graph):
    rows = rows_of(
        [
            {"prediction": "SELECT ?x { ?x a <http://e/T> }", "answers": [results("a", "b", name="uri")]},
            {"prediction": "ASK { <http://e/a> a <http://e/T> }", "answers": [{"boolean": True}]},
            {"prediction": "SELECT ?n { <http://e/a> <http://e/age> ?n }", "answers": [literal("8")]},
            {"prediction": "SELECT ?n { <http://e/c> <http://e/age> ?n }", "answers": [results()]},
            {"prediction": "SELECT ?n { <http://e/c> <http://e/age> ?n }", "answers": [results("a")]},
        ],
        graph=graph, conventions=["text2sparql"],
    )  # fmt: skip
    assert rows["correct"].to_list() == [True, True, True, True, False]
    assert rows["text2sparql"].to_list() == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_csv_answers_are_compared_leniently_and_it_is_said():
    exact = Answer(["x", "n"], [(Term("iri", "http://e/a"), Term("literal", "8", XSD + "integer"))])
    plain = read_results(b"x,n\r\nhttp://e/a,8.0\r\n")
    other = read_results(b"x,n\r\nhttp://f/a,8.0\r\n")
    records = [
        {"id": n, "predicted_answers": as_json(p), "answers": as_json(exact)} for n, p in enumerate((plain, other))
    ]
    result = correct.evaluate(records, options=IntervalOptions(method="none"))
    assert result.measurements["correct"].to_list() == [True, False]  # an IRI counts in full
    untold = (
        "2 records bring answers without types and languages (CSV has none): values are then compared by their text"
    )
    assert f"{untold} and as numbers" in result.notes
    assert any("2 predictions are answers in the file" in note for note in result.notes)
    assert "execute:nothing" in str(result.signature)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"predicted_answers": {"head": {}, "results": {"bindings": 5}}, "answers": ["a"]}, "no bindings"),
        ({"predicted_answers": [results("a"), results("b")], "answers": ["a"]}, "2 answers where one is expected"),
        ({"predicted_answers": {"columns": ["a"], "rows": [[1, 2]]}, "answers": ["a"]}, "row 1 has 2 values"),
        ({"predicted_answers": ["a"], "answers": [results("a"), "b"]}, "among other values"),
        ({"predicted_answers": ["a"], "answers": [{"results": {"bindings": [{"x": {"type": "triple"}}]}}]}, "RDF-star"),
        ({"prediction": ["SELECT ?x {}", "ASK {}"], "gold": "ASK {}"}, "expected one query"),
        ({"prediction": 5, "gold": "ASK {}"}, "expected text"),
    ],
)
def test_what_is_no_answer_has_a_message(record, words):
    good = {"predicted_answers": ["a"], "answers": ["a"]}
    with pytest.raises(InputError, match=f"record 2: .*{words}"):
        rows_of([good, record])
    rows = rows_of([good, record], skip_bad=True)
    assert rows["scored"].to_list() == [True, False]


def test_files_of_every_kind(tmp_path):
    records = [{"id": str(n), "predicted_answers": results("a"), "answers": [results("a")]} for n in range(3)]
    (tmp_path / "r.json").write_text(json.dumps(records))
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "one.json").write_text(json.dumps(records[0]))
    pl.DataFrame(records).write_parquet(tmp_path / "r.parquet")
    texts = [{key: json.dumps(value) for key, value in record.items()} for record in records]
    pl.DataFrame(texts).write_csv(tmp_path / "r.csv")
    for name, count in (("r.json", 3), ("r.jsonl", 3), ("one.json", 1), ("r.parquet", 3), ("r.csv", 3)):
        assert rows_of(str(tmp_path / name))["correct"].to_list() == [True] * count, name


def test_a_run_is_resumed_and_reported(tmp_path):
    records = [{"id": str(n), "predicted_answers": ["a"], "answers": ["a" if n else "b"]} for n in range(3)]
    file = tmp_path / "r.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    first = correct.evaluate(str(file), out=tmp_path / "run")
    again = correct.evaluate(str(file), out=tmp_path / "run", resume=True)
    assert again["accuracy"].value == first["accuracy"].value == pytest.approx(2 / 3)
    assert (tmp_path / "run" / "report.html").stat().st_size
    row = {
        "id": "1",
        "gold": None,
        "prediction": None,
        "outcome": "answered",
        "gold_answer": "a",
        "predicted_answer": "b",
    }
    (page,) = example_page(pl.DataFrame([row]))
    assert ["(an answer, without a query)", "muted"] in page["parts"][1]["spans"]


# ---- SQL


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t (n INTEGER, s TEXT); INSERT INTO t VALUES (2, 'b'), (1, 'a'), (1, 'a');")
    connection.close()
    return path


@pytest.mark.parametrize(
    ("prediction", "gold", "right"),
    [
        ("SELECT n, s FROM t", [[1, "a"], [2, "b"], [1, "a"]], True),
        ("SELECT s, n FROM t", [[1, "a"], [2, "b"], [1, "a"]], True),
        ("SELECT DISTINCT n, s FROM t", [[1, "a"], [2, "b"], [1, "a"]], False),  # a bag, not a set
        ("SELECT n, s FROM t", [{"n": 1, "s": "a"}, {"n": 2, "s": "b"}, {"n": 1, "s": "a"}], True),
        ("SELECT count(*) FROM t", [3], True),
        ("SELECT count(*) FROM t", [[3.0]], True),
        ("SELECT count(*) FROM t", ["3"], False),
        ("SELECT n FROM t WHERE n > 9", [], True),
        ("SELECT n FROM t", [], False),
        ("SELECT n, s FROM t", {"columns": ["x", "y"], "rows": [[1, "a"], [1, "a"], [2, "b"]]}, True),
        ("SELECT n FROM t WHERE n = 2", [{"columns": ["n"], "rows": [[5]]}, {"columns": ["n"], "rows": [[2]]}], True),
        ("SELECT nothing FROM t", [3], False),
    ],
)
def test_sql_against_gold_answers(database, prediction, gold, right):
    (row,) = rows_of([{"prediction": prediction, "results": gold}], database=database).to_dicts()
    assert (row["scored"], row["reason"], row["correct"]) == (True, None, right)
    assert row["em"] is None


def test_sql_against_one_value(database):
    records = [{"prediction": "SELECT count(*) FROM t", "answer": value} for value in (3, 4)]
    assert rows_of(records, database=database)["correct"].to_list() == [True, False]


def test_sql_text_that_is_a_number_is_coerced_where_asked(database):
    records = [{"prediction": "SELECT count(*) FROM t", "results": ["3"]}]
    assert rows_of(records, database=database, coerce=True)["correct"].to_list() == [True]


def test_sql_order_counts_where_the_gold_query_sorts(database):
    answer = {"columns": ["n"], "rows": [[1], [2]]}
    turned = {"columns": ["n"], "rows": [[2], [1]]}
    sorted_gold, gold = "SELECT DISTINCT n FROM t ORDER BY n", "SELECT DISTINCT n FROM t"
    records = [
        {"predicted_answers": given, "gold": query, "gold_answers": answers}
        for given, query, answers in [
            (answer, sorted_gold, None), (turned, sorted_gold, None), (turned, gold, None),
            (turned, sorted_gold, answer), (turned, gold, answer),
        ]
    ]  # fmt: skip
    rows = rows_of(records, database=database)
    assert rows["correct"].to_list() == [True, False, True, False, True]
    assert rows["em"].to_list() == [None] * 5


def test_sql_with_gold_query_and_answers_runs_the_query(database):
    record = {"prediction": "SELECT 3", "gold": "SELECT count(*) FROM t", "results": [99]}
    assert rows_of([record], database=database)["correct"].to_list() == [True]
    assert rows_of([record], database=database, gold="answers")["correct"].to_list() == [False]


# ---- tables under Spider 2.0's rules


def table(columns: list[str], *rows: list[Any]) -> dict[str, Any]:
    return {"columns": columns, "rows": [list(row) for row in rows]}


@pytest.mark.parametrize(
    ("predicted", "golds", "columns", "ignore_order", "theirs", "ours"),
    [
        (table(["a"], [1]), [table(["b"], [1.005])], [], True, True, False),
        (table(["a"], [1]), [table(["b"], [1.02])], [], True, False, False),
        (table(["a", "more"], [1, "x"]), [table(["b"], [1])], [], True, True, False),  # further columns do no harm
        (table(["a"], [1]), [table(["b", "c"], [1, 2])], [0], True, True, True),
        (table(["a"], [1]), [table(["b", "c"], [1, 2])], [], True, False, False),
        (table(["a"], [2], [1]), [table(["b"], [1], [2])], [], True, True, True),
        (table(["a"], [2], [1]), [table(["b"], [1], [2])], [], False, False, False),
        (table(["a"], [None]), [table(["b"], [0])], [], True, True, False),  # nothing counts as 0
        (table(["a"], [None]), [table(["b"], [math.nan])], [], True, True, False),
        (table(["a"], ["x"]), [table(["b"], ["y"]), table(["b"], ["x"])], [], True, True, True),
        (table(["a"], ["x"]), [table(["b", "c"], ["x", "y"]), table(["b"], ["z"])], [[0], [0]], True, True, True),
        (table(["a"], ["x"]), [table(["b", "c"], ["x", "y"]), table(["b"], ["z"])], [[1], [0]], True, False, False),
        # Columns one by one: rows need not hang together.
        (table(["a", "b"], [1, "y"], [2, "x"]), [table(["a", "b"], [1, "x"], [2, "y"])], [], True, True, False),
        # Sorted by how they are written, as the evaluator does: 9.999 comes after 10.0.
        (table(["a"], [9.999], [5.0]), [table(["a"], [10.0], [5.0])], [], True, False, False),
        (table(["a"], [9.999], [5.0]), [table(["a"], [10.0], [5.0])], [], False, True, False),
        (table(["a"]), [table(["b"])], [], True, True, True),
        (table([]), [table(["b"], [1])], [], True, False, False),
        (table(["a"], ["1"]), [table(["b"], [1])], [], True, False, False),
    ],
)  # fmt: skip
def test_spider2(predicted, golds, columns, ignore_order, theirs, ours):
    record = {"id": "q", "predicted_answers": predicted, "gold_answers": golds, "condition_cols": columns,
              "ignore_order": ignore_order}  # fmt: skip
    (row,) = rows_of([record], conventions=["spider2"]).to_dicts()
    assert (row["spider2"], row["correct"]) == (theirs, ours)


@pytest.mark.parametrize(
    ("columns", "words"),
    [([3], "column 3 of a gold that has 1"), ([[0], [0]], "2 lists of columns for 1 golds"), (["a"], "neither column"), (7, "no list")],
)  # fmt: skip
def test_columns_that_are_not_there(columns, words):
    record = {"predicted_answers": table(["a"], [1]), "gold_answers": [table(["a"], [1])], "condition_cols": columns}
    with pytest.raises(InputError, match=f"condition_cols: .*{words}"):
        rows_of([record])


def test_spider2_of_queries(database):
    record = {"prediction": "SELECT n, s FROM t", "gold": "SELECT s FROM t"}
    rows = rows_of(
        [record, {"prediction": "SELECT", "gold": "SELECT s FROM t"}], database=database, conventions=["spider2"]
    )
    assert rows["spider2"].to_list() == [True, False] and rows["correct"].to_list() == [False, False]


def test_other_conventions_on_tables():
    record = {"predicted_answers": table(["a"], [1], [1]), "gold_answers": [table(["a"], [1])]}
    names = ["bird", "test-suite", "test-suite-keep-distinct"]
    (row,) = rows_of([record], conventions=names).to_dicts()
    assert (row["bird"], row["test_suite"], row["test_suite_keep_distinct"]) == (True, None, False)


CELLS = st.none() | st.integers(-5, 5) | st.text("ab", max_size=2) | st.sampled_from([0.5, 1.25])


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[CELLS] * n), min_size=1, max_size=6)), st.randoms())
def test_a_shuffled_table_is_the_same(rows: list[tuple[Any, ...]], chance: random.Random) -> None:
    order = list(range(len(rows[0])))
    chance.shuffle(order)
    turned = [tuple(row[place] for place in order) for row in rows]
    chance.shuffle(turned)
    names = [f"c{place}" for place in range(len(order))]
    gold, predicted = Answer(names, list(rows)), Answer(names, turned)
    assert spider2_equal(gold, predicted, ignore_order=True)
    record = {"predicted_answers": table(names, *turned), "gold_answers": [table(names, *rows)]}
    (row,) = rows_of([record], conventions=["spider2"]).to_dicts()
    assert row["correct"] is True and row["spider2"] is True
    fewer = {"predicted_answers": table(names, *turned[1:]), "gold_answers": [table(names, *rows)]}
    assert rows_of([fewer])["correct"].to_list() == [False]


# ---- Spider 2.0-lite's folders


def spider2_files(folder: Path) -> tuple[Path, Path]:
    submission, golds = folder / "submission", folder / "gold" / "exec_result"
    submission.mkdir()
    golds.mkdir(parents=True)
    (submission / "q1.csv").write_text("name,n\nAnna,1\n\nBen,\n")
    (submission / "q2.sql").write_text("SELECT 1\n")
    (submission / "notes.txt").write_text("no answer")
    (golds / "q1_a.csv").write_text("n\n7\n")
    (golds / "q1_b.csv").write_text('who,n\n"Anna",1.0\nBen,NaN\n')
    (golds / "q2.csv").write_text("v\ntrue\n")
    listed = folder / "spider2lite_eval.jsonl"
    listed.write_text(
        '{"instance_id": "q1", "condition_cols": [[0], [0, 1]], "ignore_order": true, "toks": "5"}\n'
        '{"instance_id": "q2", "condition_cols": [], "ignore_order": false}\n'
    )
    return submission, listed


def test_spider2_folders(tmp_path):
    submission, listed = spider2_files(tmp_path)
    assert list(read_submission(submission)) == [
        {"id": "q1", "predicted_answers": {"columns": ["name", "n"], "rows": [["Anna", 1], ["Ben", None]]}},
        {"id": "q2", "prediction": "SELECT 1"},
    ]
    golds = list(read_gold(listed))
    assert [gold["id"] for gold in golds] == ["q1", "q2"]
    assert golds[0]["condition_cols"] == [[0], [0, 1]] and golds[0]["ignore_order"] is True
    assert [one["columns"] for one in golds[0]["gold_answers"]] == [["n"], ["who", "n"]]
    assert golds[1]["gold_answers"] == [{"columns": ["v"], "rows": [[True]]}]
    assert list(read_gold(listed, tmp_path / "gold" / "exec_result")) == golds
    rows = rows_of([{**next(read_submission(submission)), **golds[0]}], conventions=["spider2"])
    assert rows["spider2"].to_list() == [True]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a\n1\n02\n", [1, 2]), ("a\n1\n2.5\n", [1.0, 2.5]), ("a\n1\nx\n", ["1", "x"]), ("a\n1\nNULL\n", [1, None]),
        ("a\n1e3\ninf\n", [1000.0, math.inf]), ('a\n"1,5"\n', ["1,5"]), ("a\r\n \r\n", [" "]), ("a\nTrue\nfalse\n", [True, False]),
        ("a\n1_000\n", ["1_000"]), ("a\n١\n", ["١"]), ("a\n" + "9" * 30 + "\n", [int("9" * 30)]),
    ],
)  # fmt: skip
def test_columns_of_numbers_are_numbers(tmp_path, text, values):
    (tmp_path / "t.csv").write_text(text, newline="")
    assert [row[0] for row in read_table(tmp_path / "t.csv")["rows"]] == values


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("spider2lite_eval.jsonl", "{", "expected an object of JSON"),
        ("spider2lite_eval.jsonl", "[1]", "expected an object of JSON"),
        ("spider2lite_eval.jsonl", '{"id": 1}', "instance_id"),
        ("spider2lite_eval.jsonl", '{"instance_id": "q9"}', "among the golds, got none for 'q9'"),
        ("spider2lite_eval.jsonl", '{"instance_id": "q2"}\n{"instance_id": "q2"}', "each question once"),
        ("gold/exec_result/q2.csv", 'a\n"open', "never ends"),
        ("gold/exec_result/q2.csv", "a\n1,2", "1 values in every row"),
        ("gold/exec_result/q2.csv", b"\xff\xfe", "UTF-8"),
    ],
)
def test_broken_spider2_files(tmp_path, name, content, words):
    _, listed = spider2_files(tmp_path)
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=words):
        list(read_gold(listed))


def test_missing_spider2_folders(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        list(read_submission(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="a CSV or SQL file for every question"):
        list(read_submission(tmp_path))
    (tmp_path / "spider2lite_eval.jsonl").write_text("{}")
    with pytest.raises(InputError, match="no such folder"):
        list(read_gold(tmp_path / "spider2lite_eval.jsonl"))


def test_no_prediction_is_wrong_whatever_the_gold_has(tmp_path):
    tables = {"gold_answers": [table(["a"], [1])], "gold": "SELECT 1"}
    rows = rows_of([{"predicted_answers": table(["a"], [1]), **tables}, {"predicted_answers": None, **tables}])
    assert rows["correct"].to_list() == [True, False]
    assert rows["outcome"].to_list() == ["answered", "no prediction"]


def test_order_counts_without_a_store_too():
    record = {"predicted_answers": table(["a"], [2], [1]), "gold_answers": [table(["a"], [1], [2])]}
    for gold, right in (("SELECT a FROM t ORDER BY a", False), ("SELECT a FROM t", True), (None, True)):
        assert rows_of([{**record, "gold": gold}])["correct"].to_list() == [right]


# ---- rows by name, and what is a term


@pytest.mark.parametrize(
    ("predicted", "gold", "right"),
    [
        ([{"a": 1, "b": 2}, {"b": 3, "a": 4}], [table(["a", "b"], [1, 2], [3, 4])], False),
        ([{"a": 1, "b": 2}, {"b": 3, "a": 4}], [table(["a", "b"], [1, 2], [4, 3])], True),
        ([[1, 2], [3, 4]], [{"a": 1, "b": 2}, {"b": 3, "a": 4}], False),
        ([[1, 2], [4, 3]], [{"a": 1, "b": 2}, {"b": 3, "a": 4}], True),
        ([{"b": 2, "a": 1}, {"a": 4, "b": 3}], [{"a": 1, "b": 2}, {"b": 3, "a": 4}], True),
        ([{"type": "city", "value": 3}], [3], False),
        ([3], [{"type": "city", "value": 3}], False),
        ([{"type": "city", "value": 3}], [["city", 3]], True),
    ],
)
@pytest.mark.parametrize("language", ["sql", "sparql"])
def test_rows_by_name(predicted, gold, right, language):
    (row,) = rows_of([{"predicted_answers": predicted, "results": gold}], language=language).to_dicts()
    assert (row["scored"], row["correct"]) == (True, right)


@pytest.mark.parametrize("kind", ["literal", "typed-literal", "uri", "bnode"])
def test_terms_in_a_list_are_their_values(kind):
    term = {"type": kind, "value": "3"}
    assert rows_of([{"predicted_answers": [term], "results": [3]}])["correct"].to_list() == [True]
    assert rows_of([{"predicted_answers": [3], "results": [term]}])["correct"].to_list() == [True]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"a": 1}, {"b": 1}], "row 2 has other names than the first"),
        ([{"a": 1}, {"a": 1, "b": 1}], "row 2 has other names than the first"),
        ([{"type": "triple", "value": {}}], "RDF-star"),
        ([{"columns": ["a"], "rows": [{"a": 1}, {"b": 1}]}], "row 2 has other names than its columns"),
    ],
)
@pytest.mark.parametrize("field", ["predicted_answers", "results"])
def test_rows_by_name_that_are_none_have_a_message(rows, words, field):
    record = {"predicted_answers": [1], "results": [1], field: rows}
    with pytest.raises(InputError, match=f"record 1: {field}: .*{words}"):
        rows_of([record])


def test_columns_of_a_table_may_be_anything_that_has_a_name():
    table = {"columns": ["a", {"b": 1}], "rows": [{"a": 1}]}
    assert rows_of([{"predicted_answers": table, "results": [[1, None]]}])["correct"].to_list() == [True]


def test_bindings_that_the_head_does_not_name_are_refused():
    def bound(name: str) -> dict[str, Any]:
        return {"head": {"vars": ["x"]}, "results": {"bindings": [{name: {"type": "literal", "value": name}}]}}

    with pytest.raises(InputError, match="a variable that the head does not name"):
        rows_of([{"predicted_answers": bound("y"), "answers": [bound("w")]}])
    with pytest.raises(InputError, match="a variable that the head does not name"):
        rows_of([{"predicted_answers": bound("x"), "answers": [bound("w")]}])
    assert rows_of([{"predicted_answers": bound("x"), "answers": [bound("x")]}])["correct"].to_list() == [True]


STRING = {"datatype": XSD + "string"}
ENGLISH = {"xml:lang": "en"}


@pytest.mark.parametrize(
    ("predicted", "gold", "right"),
    [
        (literal("7"), literal("007", **STRING), False),
        (literal("7"), literal("007", **ENGLISH), False),
        (literal("7", **STRING), literal("007", **STRING), False),
        (literal("007", **STRING), literal("7"), False),
        (["7"], literal("007", **STRING), False),
        ([7], literal("007", **ENGLISH), False),
        (literal("7"), literal("7", **STRING), True),
        (["7"], literal("7", **ENGLISH), True),
        (literal("7"), literal("007"), True),  # neither says that it is a string
        (["7"], ["007"], True),
        (literal("7"), literal("7.0", datatype=XSD + "decimal"), True),
        (as_json(read_results(b"c\r\n7\r\n")), literal("007", **STRING), False),
        (as_json(read_results(b"c\r\n7\r\n")), literal("7.0", datatype=XSD + "decimal"), True),
    ],
)
def test_text_is_compared_as_text(predicted, gold, right):
    (row,) = rows_of(
        [{"predicted_answers": predicted, "answers": [gold] if isinstance(gold, dict) else gold}]
    ).to_dicts()
    assert (row["scored"], row["correct"]) == (True, right)


@pytest.mark.parametrize("form", ["xml", "tsv"])
def test_a_type_that_is_written_is_heeded_in_other_forms(form):
    texts = {
        "xml": '<sparql><head><variable name="c"/></head><results><result><binding name="c"><literal{}>7</literal>'
        "</binding></result></results></sparql>",
        "tsv": '?c\n"7"{}\n',
    }
    written = {"xml": f' datatype="{XSD}string"', "tsv": f"^^<{XSD}string>"}
    assert read_results(texts[form].format("").encode(), form).detail == "plain"
    assert read_results(texts[form].format(written[form]).encode(), form).detail == "full"


def test_strings_of_a_graph_are_text(tmp_path):
    pytest.importorskip("pyoxigraph")
    (tmp_path / "g.ttl").write_text('<http://e/a> <http://e/code> "007" ; <http://e/age> 7 .')
    queries = {name: f"SELECT ?c {{ ?x <http://e/{name}> ?c }}" for name in ("code", "age")}
    records = [
        {"prediction": queries[name], "answers": [listed]}
        for name, listed in (("code", "7"), ("code", "007"), ("age", "7"), ("age", 7.0), ("age", "007"))
    ]
    rows = rows_of(records, graph=tmp_path / "g.ttl")
    assert rows["correct"].to_list() == [False, True, True, True, True]


def test_a_row_with_nothing_in_it_answers_nothing(graph):
    """An aggregate over no rows gives one with nothing bound: what it answers is nothing, run or written down."""
    most = "SELECT (MAX(?n) AS ?m) { <http://e/c> <http://e/age> ?n }"
    none = "SELECT ?n { <http://e/c> <http://e/age> ?n }"
    rows = rows_of([{"prediction": most, "gold": none}, {"predicted_answers": [], "answers": [None]}], graph=graph)
    assert rows["correct"].to_list() == rows["vacuous"].to_list() == [True, True]
    # In a table of SQL, a row with nothing in it is a row.
    rows = rows_of([{"predicted_answers": table(["n"]), "gold_answers": [table(["n"], [None])]}], language="sql")
    assert rows["correct"].to_list() == [False]


# ---- Spider 2.0: wide tables, and what stands in its folders


@pytest.mark.parametrize("ignore_order", [True, False])
def test_spider2_wide_tables_are_compared_in_time(ignore_order):
    columns = [[place * 7 + row % 11 for row in range(1000)] for place in range(400)]
    names = [f"c{place}" for place in range(400)]
    gold = Answer(names, list(zip(*columns, strict=True)))
    turned = Answer(names, list(zip(*reversed(columns), strict=True)))
    near = Answer(names, [tuple([cell + 0.004 for cell in row]) for row in turned.rows])
    begun = time.perf_counter()
    assert spider2_equal(gold, turned, ignore_order=ignore_order)
    assert time.perf_counter() - begun < 2  # 0.3 s on an idle core; over 7 s cell by cell
    assert spider2_equal(gold, near, ignore_order=False)
    other = Answer(names, [(*row[:-1], -1) for row in turned.rows])
    assert not spider2_equal(gold, other, ignore_order=ignore_order)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from([0, 1, 1.0, 1.004, 1.02, "1", "a", None, math.inf, -math.inf, True, 10**400]),
                      min_size=3, max_size=3), min_size=1, max_size=4),
    st.lists(st.lists(st.sampled_from([0, 1, 1.0, 1.004, 1.02, "1", "a", None, math.inf, -math.inf, True, 10**400]),
                      min_size=3, max_size=3), min_size=1, max_size=4),
)  # fmt: skip
def test_spider2_leaves_no_column_out(wanted, shown):
    """Against every column compared with every other."""
    gold, predicted = (Answer([str(n) for n in range(len(c))], list(zip(*c, strict=True))) for c in (wanted, shown))
    each = [
        any(
            spider2_equal(
                Answer(["a"], [(v,) for v in column]), Answer(["b"], [(v,) for v in other]), ignore_order=False
            )
            for other in shown
        )
        for column in wanted
    ]
    assert spider2_equal(gold, predicted, ignore_order=False) == all(each)


def test_a_question_of_its_own_is_no_variant(tmp_path):
    _, listed = spider2_files(tmp_path)
    golds = tmp_path / "gold" / "exec_result"
    (golds / "q2_b.csv").write_text("v\n5\n")
    assert [len(gold["gold_answers"]) for gold in read_gold(listed)] == [2, 2]
    with listed.open("a") as stream:
        stream.write('{"instance_id": "q2_b", "condition_cols": []}\n')
    tables = {gold["id"]: gold["gold_answers"] for gold in read_gold(listed)}
    assert tables["q2"] == [{"columns": ["v"], "rows": [[True]]}]
    assert tables["q2_b"] == [{"columns": ["v"], "rows": [[5]]}]


@pytest.mark.parametrize(
    ("written", "read"), [('"false"', False), ('"True"', True), ("true", True), ("null", False), ("false", False)]
)
def test_ignore_order_may_be_written_as_text(tmp_path, written, read):
    _, listed = spider2_files(tmp_path)
    listed.write_text(f'{{"instance_id": "q2", "condition_cols": [], "ignore_order": {written}}}')
    assert [gold["ignore_order"] for gold in read_gold(listed)] == [read]


@pytest.mark.parametrize("written", ['"maybe"', "2", "[]"])
def test_ignore_order_that_is_neither_has_a_message(tmp_path, written):
    _, listed = spider2_files(tmp_path)
    listed.write_text(f'{{"instance_id": "q2", "condition_cols": [], "ignore_order": {written}}}')
    with pytest.raises(InputError, match="ignore_order: expected true or false"):
        list(read_gold(listed))


def test_links_out_of_spider2_folders_are_refused(tmp_path):
    submission, listed = spider2_files(tmp_path)
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (submission / "q3.csv").symlink_to(submission / "q1.csv")
    assert [record["id"] for record in read_submission(submission)] == ["q1", "q2", "q3"]
    (submission / "q4.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(InputError, match=r"q4\.csv: expected a file of this folder, got a link to a file outside it"):
        list(read_submission(submission))
    (tmp_path / "gold" / "exec_result" / "q1_c.csv").symlink_to("../../secret.csv")
    with pytest.raises(InputError, match=r"q1_c\.csv: expected a file of this folder, got a link to a file outside it"):
        list(read_gold(listed))


def test_endings_in_capitals(tmp_path):
    submission, listed = spider2_files(tmp_path)
    for file in (submission / "q1.csv", submission / "q2.sql", tmp_path / "gold" / "exec_result" / "q2.csv"):
        file.rename(file.with_suffix(file.suffix.upper()))
    assert [record["id"] for record in read_submission(submission)] == ["q1", "q2"]
    assert [gold["id"] for gold in read_gold(listed)] == ["q1", "q2"]
    (submission / "q1.csv").write_text("a\n1\n")
    if len(list(submission.glob("q1.*"))) == 2:  # where capitals make another file
        with pytest.raises(InputError, match="one file for each question"):
            list(read_submission(submission))


def test_an_order_that_is_neither_ignored_nor_not():
    table = {"columns": ["a"], "rows": [[1]]}
    record = {"predicted_answers": table, "gold_answers": [table], "ignore_order": "maybe"}
    with pytest.raises(InputError, match="ignore_order: expected true or false, got 'maybe'"):
        correct.evaluate([record])
