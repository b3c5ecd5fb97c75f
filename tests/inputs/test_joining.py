"""Predictions in one file, golds in another: what belongs together, and what is said where it does not."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path

import polars as pl
import pytest

import sensecheck
from sensecheck.calibrated.recalibrated import recalibrate
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.gathering import gathered
from sensecheck.inputs.needs import Needs

CORRECT = Needs("correct", nested=True, predicted={"prediction": ("prediction", "query", "sql")})
TABLE = Needs("calibrated")


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def joined(predictions, gold, needs=CORRECT, **options) -> list[dict]:
    together = gathered(predictions, needs, gold=gold, **options)
    assert isinstance(together, Gathered)
    return list(together.dictionaries())


def numbered(count: int, **fields) -> list[dict]:
    return [{"id": f"q{number}", **fields} for number in range(count)]


# ---- by key


def test_a_shared_key_joins_in_any_order(tmp_path):
    predictions = write(tmp_path / "p.jsonl", [{"id": "b", "query": "SELECT 2"}, {"id": "a", "query": "SELECT 1"}])
    golds = write(
        tmp_path / "g.jsonl",
        [{"id": "a", "query": "gold a", "db_id": "x"}, {"id": "b", "query": "gold b", "db_id": "y"}],
    )
    assert joined(predictions, golds) == [
        {"id": "b", "prediction": "SELECT 2", "query": "gold b", "db_id": "y"},
        {"id": "a", "prediction": "SELECT 1", "query": "gold a", "db_id": "x"},
    ]


@pytest.mark.parametrize("needs", [CORRECT, TABLE])
def test_numbers_and_texts_are_the_same_key(tmp_path, needs):
    predictions = write(tmp_path / "p.jsonl", [{"id": "1", "prediction": "x"}, {"id": "2", "prediction": "y"}])
    golds = tmp_path / "g.csv"
    golds.write_text("id,gold\n2,y\n1,x\n")
    assert [row["gold"] for row in joined(predictions, golds, needs)] == ["x", "y"]
    frame = pl.DataFrame({"id": [2.0, 1.0], "gold": ["y", "x"]})
    assert [row["gold"] for row in joined(predictions, frame, needs)] == ["x", "y"]


def test_differently_named_keys_are_joined_by_their_values(tmp_path):
    predictions = write(tmp_path / "p.jsonl", [{"id": "b", "prediction": "2"}, {"id": "a", "prediction": "1"}])
    golds = write(tmp_path / "g.jsonl", [{"question_id": "a", "gold": "A"}, {"question_id": "b", "gold": "B"}])
    assert [row["gold"] for row in joined(predictions, golds)] == ["B", "A"]
    assert [row["gold"] for row in joined(predictions, golds, on="id=question_id")] == ["B", "A"]


def test_names_that_differ_ask_and_are_not_taken_line_by_line(tmp_path):
    predictions = write(tmp_path / "p.jsonl", [{"id": "x1", "prediction": "1"}, {"id": "x2", "prediction": "2"}])
    golds = write(tmp_path / "g.jsonl", [{"question_id": "a", "gold": "A"}, {"question_id": "b", "gold": "B"}])
    with pytest.raises(InputError, match=r"named by 'id' and golds by 'question_id'.*--on id=question_id.*--on line"):
        joined(predictions, golds)
    assert [row["gold"] for row in joined(predictions, golds, on="line")] == ["A", "B"]


def test_several_fields_can_be_the_key(tmp_path):
    predictions = write(
        tmp_path / "p.jsonl", [{"pair": 1, "lang": tongue, "prediction": tongue} for tongue in ("de", "en")]
    )
    golds = write(tmp_path / "g.jsonl", [{"pair": 1, "lang": tongue, "gold": tongue} for tongue in ("en", "de")])
    assert [row["gold"] for row in joined(predictions, golds, on="pair,lang")] == ["de", "en"]


@pytest.mark.parametrize("side", ["predictions", "golds"])
@pytest.mark.parametrize("needs", [CORRECT, TABLE])
def test_a_key_that_is_there_twice_is_told_with_both_places(tmp_path, side, needs):
    good, twice = (
        [{"id": 1, "prediction": "x"}, {"id": 2, "prediction": "y"}],
        [{"id": 1, "gold": "x"}, {"id": 1, "gold": "y"}],
    )
    if side == "predictions":
        good, twice = [{**row, "gold": "z"} for row in good], [{**row, "prediction": "z"} for row in twice]
    first = write(tmp_path / "first.jsonl", twice if side == "predictions" else good)
    second = write(tmp_path / "second.jsonl", good if side == "predictions" else twice)
    with pytest.raises(
        InputError, match=r"(first|second)\.jsonl:2: id: the key '1' is there twice: first in line 1\. A key names one"
    ):
        joined(first, second, needs)


def test_samples_of_one_example_share_a_key(tmp_path):
    predictions = write(tmp_path / "p.jsonl", [{"id": "a", "sample": s, "prediction": s} for s in (1, 2)])
    golds = write(tmp_path / "g.jsonl", [{"id": "a", "gold": "A"}])
    assert [row["gold"] for row in joined(predictions, golds, samples=True)] == ["A", "A"]


@pytest.mark.parametrize("needs", [CORRECT, TABLE])
def test_a_few_without_a_partner_are_named_and_unscored(tmp_path, needs):
    predictions = write(tmp_path / "p.jsonl", numbered(200, prediction="x"))
    golds = write(tmp_path / "g.jsonl", [*numbered(199, gold="x"), {"id": "extra", "gold": "y"}])
    together = gathered(predictions, needs, gold=golds)
    assert len(together) == 199
    assert [(one.id, one.reason) for one in together.bad] == [
        ("q199", "no gold for its key"), ("extra", "no prediction for its key"),
    ]  # fmt: skip
    assert "1 predictions without a gold, unscored: 'q199'" in together.notes
    assert "1 golds without a prediction, unscored: 'extra'" in together.notes


def test_more_than_one_in_a_hundred_is_refused(tmp_path):
    golds = write(tmp_path / "g.jsonl", numbered(200, gold="x"))
    with pytest.raises(
        InputError,
        match=r"3 of 200 golds have no prediction \('q197', 'q198', 'q199'\)\. Up to 1 in 100 may lack a partner",
    ):
        joined(write(tmp_path / "p.jsonl", numbered(197, prediction="x")), golds)
    assert len(joined(write(tmp_path / "p.jsonl", numbered(198, prediction="x")), golds)) == 198


@pytest.mark.parametrize(
    ("theirs", "ours", "what"),
    [("1", "01", "leading zeros"), ("Q1", "q1", "case"), ("q1 ", "q1", "white space"), ("1.0", "1", "decimals")],
)
def test_keys_that_only_look_alike_are_told(tmp_path, theirs, ours, what):
    predictions = write(tmp_path / "p.jsonl", [{"id": theirs, "prediction": "x"}])
    golds = write(tmp_path / "g.jsonl", [{"id": ours, "gold": "x"}])
    with pytest.raises(InputError, match=f"'{theirs}' and '{ours}' differ in {what}: write the keys alike"):
        joined(predictions, golds)


def test_a_number_and_a_text_with_a_zero_before_it(tmp_path):
    predictions = write(tmp_path / "p.jsonl", [{"id": 1, "prediction": "x"}])
    with pytest.raises(InputError, match="'1' and '01' differ in leading zeros"):
        joined(predictions, write(tmp_path / "g.jsonl", [{"id": "01", "gold": "x"}]))


def test_a_record_without_its_key_is_told(tmp_path):
    predictions = write(tmp_path / "p.jsonl", [{"id": 1, "prediction": "x"}, {"prediction": "y"}])
    golds = write(tmp_path / "g.jsonl", [{"id": 1, "gold": "x"}])
    with pytest.raises(
        InputError, match=r"p\.jsonl:2: id: expected a key in every record of the predictions, got none"
    ):
        joined(predictions, golds)


def test_a_key_that_is_in_neither_file(tmp_path):
    predictions, golds = (
        write(tmp_path / "p.jsonl", numbered(2, prediction="x")),
        write(tmp_path / "g.jsonl", numbered(2, gold="x")),
    )
    with pytest.raises(
        InputError,
        match=r"p\.jsonl: on: expected a field 'idd' in the predictions, got the fields 'id', 'prediction'\. Did you mean 'id'\?",
    ):
        joined(predictions, golds, on="idd")
    with pytest.raises(InputError, match=r"--on .on=. says by which field golds are joined: it needs --gold"):
        gathered(predictions, CORRECT, on="id")


# ---- by line


def test_without_keys_line_by_line(tmp_path):
    predictions = write(tmp_path / "p.jsonl", [{"prediction": "1"}, {"prediction": "2"}])
    assert [row["gold"] for row in joined(predictions, [{"gold": "A"}, {"gold": "B"}])] == ["A", "B"]
    with pytest.raises(
        InputError, match=r"p\.jsonl has 2 predictions and the golds has 1 golds, and no key joins them"
    ):
        joined(predictions, [{"gold": "A"}])


def statements(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def test_statements_with_carriage_returns_and_no_last_line_end(tmp_path):
    predictions = statements(tmp_path / "p.sql", "SELECT 1\r\nSELECT 2\r\n")
    golds = statements(tmp_path / "g.sql", "SELECT 1\tworld\nSELECT  3\tworld")
    assert joined(predictions, golds) == [
        {"prediction": "SELECT 1", "query": "SELECT 1", "db_id": "world"},
        {"prediction": "SELECT 2", "query": "SELECT  3", "db_id": "world"},
    ]


def test_blank_lines_part_conversations(tmp_path):
    golds = statements(tmp_path / "g.sql", "SELECT 1\ta\nSELECT 2\ta\n\nSELECT 3\tb\n")
    for predicted in (
        "select 1\nselect 2\n\nselect 3\n",
        "select 1\nselect 2\nselect 3\n",
        "select 1\nselect 2\n\nselect 3\n\n\n",
    ):
        rows = joined(statements(tmp_path / "p.sql", predicted), golds)
        assert [(row["prediction"], row["conversation"]) for row in rows] == [
            ("select 1", "1"),
            ("select 2", "1"),
            ("select 3", "2"),
        ]


@pytest.mark.parametrize("predicted", ["SELECT 1\n\nSELECT 3\n", "SELECT 1\n\nSELECT 3"])
def test_a_blank_line_where_a_gold_stands_is_a_prediction_of_nothing(tmp_path, predicted):
    golds = statements(tmp_path / "g.sql", "SELECT 1\ta\nSELECT 2\ta\nSELECT 3\ta\n")
    rows = joined(statements(tmp_path / "p.sql", predicted), golds)
    assert [row["prediction"] for row in rows] == ["SELECT 1", None, "SELECT 3"]
    assert all("conversation" not in row for row in rows)


def test_the_last_prediction_may_be_of_nothing(tmp_path):
    golds = statements(tmp_path / "g.sql", "SELECT 1\ta\nSELECT 2\ta\n")
    assert [row["prediction"] for row in joined(statements(tmp_path / "p.sql", "SELECT 1\n\n"), golds)] == [
        "SELECT 1",
        None,
    ]


def test_a_prediction_where_the_golds_have_a_blank_line(tmp_path):
    golds = statements(tmp_path / "g.sql", "SELECT 1\ta\n\nSELECT 3\ta\n")
    with pytest.raises(InputError, match=r"p\.sql:2: expected a blank line, as the golds have there, got a prediction"):
        joined(statements(tmp_path / "p.sql", "SELECT 1\nSELECT 2\nSELECT 3\n"), golds)


def test_lines_of_other_databases_are_not_the_same_questions(tmp_path):
    golds = statements(tmp_path / "g.sql", "SELECT 1\ta\nSELECT 2\tb\n")
    predictions = tmp_path / "p.json"
    predictions.write_text(json.dumps({"0": "SELECT 1\t----- bird -----\ta", "1": "SELECT 2\t----- bird -----\tc"}))
    with pytest.raises(
        InputError,
        match=r"p\.json: record 2: db_id: expected the database 'b', as the gold in the same place, got 'c'\. Are the two",
    ):
        joined(predictions, golds)


# ---- BIRD


def test_queries_by_position(tmp_path):
    predictions = tmp_path / "predict_dev.json"
    predictions.write_text(json.dumps({"1": 0, "0": "SELECT 1\t----- bird -----\tx", "2": "SELECT\t3"}))
    golds = tmp_path / "dev.json"
    golds.write_text(
        json.dumps(
            [{"question_id": n, "db_id": "x", "question": "?", "SQL": f"SELECT {n}"} for n in (1471, 1472, 1473)]
        )
    )
    rows = joined(predictions, golds)
    assert [(row["question_id"], row["prediction"]) for row in rows] == [
        (1471, "SELECT 1"),
        (1472, None),
        (1473, "SELECT\t3"),
    ]


def test_queries_by_the_questions_own_numbers(tmp_path):
    predictions = tmp_path / "p.json"
    predictions.write_text(json.dumps({"1472": "SELECT 2", "1471": "SELECT 1"}))
    golds = tmp_path / "dev.json"
    golds.write_text(json.dumps([{"question_id": n, "SQL": f"SELECT {n}"} for n in (1471, 1472)]))
    assert [row["SQL"] for row in joined(predictions, golds)] == ["SELECT 1472", "SELECT 1471"]


# ---- every question


@pytest.fixture
def world(tmp_path) -> Path:
    path = tmp_path / "world.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE city(name TEXT)")
        database.executemany("INSERT INTO city VALUES (?)", [("Lima",), ("Oslo",)])
    return path


def test_correct_from_end_to_end(tmp_path, world):
    predictions = statements(tmp_path / "p.sql", "SELECT name FROM city\nSELECT 1\n")
    golds = statements(tmp_path / "g.sql", "SELECT name FROM city\tworld\nSELECT count(*) FROM city\tworld\n")
    result = sensecheck.correct.evaluate(predictions, gold=golds, database=world)
    assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)
    assert result.signature.method["on"] == "line"
    other = statements(tmp_path / "other.sql", "SELECT name FROM city\tworld\nSELECT 1\tworld\n")
    again = sensecheck.correct.evaluate(predictions, gold=other, database=world)
    assert again["accuracy"].value == 1 and again.signature.method["gold-file"] != result.signature.method["gold-file"]


def test_what_was_called_gold_is_still_understood(tmp_path, world):
    records = [{"id": 1, "prediction": "SELECT 1", "gold": "SELECT 1"}]
    result = sensecheck.correct.evaluate(records, gold="query", database=world)
    assert result.signature.method["gold"] == "query"
    assert (
        result.signature.method
        == sensecheck.correct.evaluate(records, gold_from="query", database=world).signature.method
    )


def test_a_prediction_without_a_partner_is_unscored_in_every_question(tmp_path):
    ids = [f"q{number}" for number in range(150)]
    golds = [{"id": name, "gold": "SELECT 1"} for name in [*ids[:-1], "other"]]
    result = sensecheck.correct.evaluate([{"id": name, "query": "SELECT 1"} for name in ids], gold=golds)
    assert (result["em"].n, sum(result["em"].unscored.values())) == (149, 2)
    marks = [{"id": name, "correct": True} for name in [*ids[:-1], "other"]]
    result = sensecheck.calibrated.evaluate([{"id": name, "confidence": 0.9} for name in ids], gold=marks)
    assert (result["accuracy"].n, sum(result["accuracy"].unscored.values())) == (149, 2)
    sentences = [{"id": name, "sentence": "What is the name of the city?"} for name in ids]
    queries = [{"id": name, "query": "SELECT name FROM city"} for name in [*ids[:-1], "other"]]
    result = sensecheck.faithful.evaluate(sentences, gold=queries)
    assert (result["consistent"].n, sum(result["consistent"].unscored.values())) == (149, 2)
    responses = [{"id": name, "hypotheses": ["a b", "c d"]} for name in ids]
    references = [{"id": name, "references": [["a b"], ["e f"]]} for name in [*ids[:-1], "other"]]
    result = sensecheck.diverse.evaluate(responses, gold=references)
    assert (result["mds"].n, sum(result["mds"].unscored.values())) == (149, 2)
    pairs = [
        {"id": name, "premise": "A man sleeps.", "hypothesis": "A man is asleep.", "label": "neutral"} for name in ids
    ]
    labels = [{"id": name, "label": "entailment"} for name in [*ids[:-1], "other"]]
    result = sensecheck.robust.evaluate(pairs, gold=labels, polarity="positive")
    assert result["accuracy"].n == 149 and set(result.measurements["label"].drop_nulls()) <= {"entailment", "none"}


def test_confidences_beside_answers_and_golds_elsewhere():
    answers = [{"id": n, "answer": a, "confidence": c} for n, a, c in ((1, "Lima ", 0.9), (2, "Rome", 0.4))]
    golds = [{"id": 2, "answer": "Oslo"}, {"id": 1, "answer": "Lima"}]
    result = sensecheck.calibrated.evaluate(answers, gold=golds)
    assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)
    assert result.signature.method["correct"] == "answer=gold_answer"


def test_replies_of_a_server_and_golds_elsewhere(tmp_path):
    replies = write(tmp_path / "out.jsonl", [
        {"custom_id": name, "response": {"body": {"choices": [{"message": {"content": text}, "logprobs": {"content": [{"token": text, "logprob": -0.1}]}}]}}}
        for name, text in (("b", "Oslo"), ("a", "Rome"))
    ])  # fmt: skip
    golds = tmp_path / "gold.csv"
    golds.write_text("custom_id,gold\na,Lima\nb,Oslo\n")
    result = sensecheck.calibrated.evaluate(replies, gold=golds)
    assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)


def test_tokens_take_no_golds(tmp_path):
    logits = write(tmp_path / "x.logits", [{"top_logits": [[0.9, 0.1]], "top_logit_idxs": [[1, 2]], "labels": [1]}])
    with pytest.raises(InputError, match="is read as logits, to which no golds can be joined"):
        sensecheck.calibrated.evaluate(logits, gold=[{"id": 1, "gold": 1}])


def test_originals_take_no_golds_from_elsewhere(tmp_path):
    with pytest.raises(InputError, match="--gold has no meaning with --as spice"):
        sensecheck.correct.evaluate([{"prediction": "x"}], gold=[{"gold": "x"}], parity="spice")


def test_a_run_with_golds_elsewhere_resumes_and_notices_other_golds(tmp_path, world):
    predictions = statements(tmp_path / "p.sql", "SELECT name FROM city\nSELECT 1\n")
    golds = statements(tmp_path / "g.sql", "SELECT name FROM city\tworld\nSELECT count(*) FROM city\tworld\n")
    options = {"gold": golds, "database": world, "out": tmp_path / "run"}
    first = sensecheck.correct.evaluate(predictions, **options)
    inputs = json.loads((tmp_path / "run" / "manifest.json").read_text())["inputs"]
    assert [(Path(one["path"]).name, one.get("role")) for one in inputs] == [("p.sql", None), ("g.sql", "gold")]
    again = sensecheck.correct.evaluate(predictions, **options, resume=True)
    assert again["accuracy"].value == first["accuracy"].value
    statements(tmp_path / "g.sql", "SELECT name FROM city\tworld\nSELECT 1\tworld\n")
    with pytest.raises(Exception, match=r"gold-file|inputs|changed|differ"):
        sensecheck.correct.evaluate(predictions, **options, resume=True)


def test_predictions_from_a_stream(tmp_path):
    golds = write(tmp_path / "g.jsonl", [{"id": "a", "gold": "x"}])
    stream = io.BufferedReader(io.BytesIO(b'{"id": "a", "prediction": "x"}\n'))
    assert joined(stream, golds) == [{"id": "a", "prediction": "x", "gold": "x"}]


def test_a_recalibration_takes_golds_from_elsewhere():
    answers = [{"id": n, "answer": "a" if n % 3 else "b", "confidence": 0.5 + n / 1000} for n in range(200)]
    golds = [{"id": n, "gold": "a"} for n in range(200)]
    done = recalibrate(answers, gold=golds, split=0.5)
    assert done.before.signature.method["on"] == "id"


def test_an_original_refuses_a_format(tmp_path):
    with pytest.raises(InputError, match="--input-format has no meaning with --as blec"):
        sensecheck.faithful.evaluate([{"query": "x", "sentence": "y"}], parity="blec", input_format="csv")


def test_the_name_of_a_tables_format_is_heeded(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("query\tsentence\nSELECT name FROM city\tWhat are the names, of all, the cities?\n")
    assert sensecheck.faithful.evaluate(path, input_format="tsv")["consistent"].n == 1
    with pytest.raises(InputError):
        sensecheck.faithful.evaluate(path, input_format="csv")


# ---- what places cannot say


@pytest.mark.parametrize("needs", [CORRECT, TABLE])
@pytest.mark.parametrize(
    ("theirs", "ours", "words"),
    [
        ([{"id": n} for n in (1, 2, 3)], [{"nr": n} for n in (3, 1, 2)], r"'id' of the predictions and 'nr' of the golds hold the same values in another order\. Join by them: --on id=nr"),
        ([{"task": n} for n in "abc"], [{"task": n} for n in "bca"], r"'task' of the predictions and 'task' of the golds hold the same values in another order\. Join by them: --on task"),
        ([{"id": n, "x": 1} for n in (2, 1, 3)], [{"gold": n} for n in "abc"], r"'id' numbers the predictions, and they stand in another order or with gaps"),
        ([{"id": n, "x": 1} for n in (1, 2, 4)], [{"gold": n} for n in "abc"], r"'id' numbers the predictions, and they stand in another order or with gaps"),
        ([{"question": f"How many {n}?", "x": n} for n in range(4)], [{"question": f"Which {n}?", "y": n} for n in range(4)], r"question: expected 'Which 0\?', as the gold in the same place, got 'How many 0\?'"),
    ],
)  # fmt: skip
def test_places_are_not_trusted_where_the_files_speak_against_them(theirs, ours, words, needs):
    with pytest.raises(InputError, match=words):
        joined(theirs, ours, needs)


def test_numbers_that_are_off_by_one_are_no_key():
    with pytest.raises(InputError, match="named by 'idx' and golds by 'id', and these differ"):
        joined([{"idx": n, "prediction": n} for n in range(300)], [{"id": n + 1, "gold": n} for n in range(300)])


def test_predictions_from_many_files_need_a_key(tmp_path):
    for name in ("1", "10", "2"):
        (tmp_path / f"{name}.json").write_text('[{"prediction": "x"}]')
    with pytest.raises(InputError, match=r"the predictions come from 3 files, and no key says which golds"):
        joined(str(tmp_path / "*.json"), [{"gold": "x"}] * 3)


def test_swapped_files(tmp_path):
    golds, predictions = (
        statements(tmp_path / "g.sql", "SELECT 1\tworld\n"),
        statements(tmp_path / "p.sql", "SELECT 1\n"),
    )
    with pytest.raises(InputError, match=r"g\.sql: names databases, and the golds do not: are the two files swapped\?"):
        joined(golds, predictions)


def test_a_bad_line_is_not_left_out_where_places_join(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text('{"prediction": "1"}\n{bad\n{"prediction": "3"}\n')
    with pytest.raises(InputError, match="1 records of the predictions cannot be read, and without a key nobody knows"):
        joined(path, [{"gold": "1"}, {"gold": "3"}], skip_bad=True)


# ---- golds decide


@pytest.mark.parametrize(
    ("predicted", "gold", "columns"),
    [
        ({"prediction": "SELECT 1", "gold": "SELECT 1"}, {"gold": "SELECT 0"}, None),
        ({"prediction": "SELECT 1", "query": "SELECT 1"}, {"sql": "SELECT 0"}, None),
        ({"prediction": "SELECT 1", "sql": "SELECT 1"}, {"SQL": "SELECT 0"}, None),
        ({"prediction": "SELECT 1", "sql": "SELECT 1"}, {"sql": "SELECT 0"}, {"gold": "sql"}),
        ({"sql": "SELECT 1"}, {"sql": "SELECT 0"}, {"prediction": "sql"}),
        ({"sql": "SELECT 1", "gold_sql": "SELECT 1"}, {"sql": "SELECT 0"}, None),
        ({"draft": "SELECT 0", "prediction": "SELECT 0", "final": "SELECT 1"}, {"gold": "SELECT 0"}, {"prediction": "final"}),
    ],
)  # fmt: skip
def test_golds_in_a_file_of_their_own_are_the_golds(predicted, gold, columns):
    result = sensecheck.correct.evaluate([{"id": 1, **predicted}], gold=[{"id": 1, **gold}], columns=columns)
    assert result["em"].value == 0


def test_another_column_of_the_golds_is_another_yardstick():
    predicted, gold = [{"id": 1, "prediction": "SELECT 1"}], [{"id": 1, "query": "SELECT 0", "alt": "SELECT 1"}]
    first = sensecheck.correct.evaluate(predicted, gold=gold)
    second = sensecheck.correct.evaluate(predicted, gold=gold, columns={"gold": "alt"})
    assert (first["em"].value, second["em"].value) == (0, 1)
    assert str(first.signature) != str(second.signature)


def test_one_column_is_not_prediction_and_gold_at_once():
    with pytest.raises(InputError, match=r"expected a gold query or a gold answer, got neither\..*--gold FILE"):
        sensecheck.correct.evaluate([{"query": "SELECT 1"}], columns={"prediction": "query"})


def test_marks_references_and_labels_of_golds_decide():
    answers = [{"id": 1, "answer": "Rome", "confidence": 0.5, "correct": True}]
    assert sensecheck.calibrated.evaluate(answers, gold=[{"id": 1, "gold": "Lima"}])["accuracy"].value == 0
    assert sensecheck.calibrated.evaluate(answers, gold=[{"id": 1, "correct": False}])["accuracy"].value == 0
    sets = [{"id": n, "hypotheses": ["a b"], "references": [["x y"]]} for n in (1, 2)]
    golds = [{"id": n, "references": [["a b"]]} for n in (1, 2)]
    assert sensecheck.diverse.evaluate(sets, gold=golds)["mds"].value == 1
    pairs = [
        {"id": 1, "premise": "A man sleeps.", "hypothesis": "A man sleeps.", "label": "neutral", "predicted_label": "x"}
    ]
    result = sensecheck.robust.evaluate(pairs, gold=[{"id": 1, "gold_label": "entailment"}], polarity="positive")
    assert set(result.measurements["label"].drop_nulls()) == {"entailment"}


def test_odd_keys():
    frame = pl.DataFrame({"id": [1e20, 2.0], "confidence": [0.1, 0.9]})
    marks = pl.DataFrame({"id": [1e20, 2.0], "correct": [True, False]})
    assert sensecheck.calibrated.evaluate(frame, gold=marks)["accuracy"].n == 2
    bytes_ = pl.DataFrame({"id": [b"\xff", b"\xfe"], "confidence": [0.1, 0.9], "correct": [True, False]})
    with pytest.raises(InputError, match="expected a text or a number, got bytes"):
        sensecheck.calibrated.evaluate(bytes_.select("id", "confidence"), gold=bytes_.select("id", "correct"))


def test_of_several_gold_texts_any_is_right():
    answers = [{"id": n, "prediction": text, "confidence": 0.5} for n, text in enumerate(["paris ", "Rome"])]
    golds = [{"id": n, "answer": ["Paris", "paris"]} for n in (0, 1)]
    assert sensecheck.calibrated.evaluate(answers, gold=golds)["accuracy"].value == 0.5
    with pytest.raises(InputError, match="answer: expected a text, a number or a list of them, got"):
        sensecheck.calibrated.evaluate(answers, gold=[{"id": n, "answer": {"a": 1}} for n in (0, 1)])


def test_numbers_are_equal_as_numbers():
    answers = [{"id": 1, "prediction": 1, "confidence": 0.5}]
    assert sensecheck.calibrated.evaluate(answers, gold=[{"id": 1, "answer": 1.0}])["accuracy"].value == 1


def test_a_separator_in_a_key_joins_nothing_else():
    left, right = [{"a": "x\x1fy", "b": "z", "prediction": 1}], [{"a": "x", "b": "y\x1fz", "gold": 1}]
    with pytest.raises(InputError, match="1 of 1 predictions have no gold"):
        joined(left, right, on="a,b")


def test_the_key_may_be_a_mapping():
    assert joined([{"x": 1, "prediction": "a"}], [{"y": 1, "gold": "b"}], on={"x": "y"})[0]["gold"] == "b"
    assert joined([{"x": 1, "prediction": "a"}], [{"x": 1, "gold": "b"}], on=["x"])[0]["gold"] == "b"


def test_weights_where_some_have_no_partner():
    ids = range(200)
    result = sensecheck.correct.evaluate(
        [{"id": n, "prediction": "SELECT 1"} for n in ids], weight="w",
        gold=[{"id": n + 1, "gold": "SELECT 1", "w": 2} for n in ids],
    )  # fmt: skip
    assert result["em"].n == 199


def test_nothing_to_join(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_text("")
    with pytest.raises(InputError, match=r"p\.jsonl: expected at least one record of the predictions, got none"):
        joined(path, [{"gold": 1}])
    with pytest.raises(InputError, match="standard input can be predictions or golds, not both"):
        joined("-", "-")


def test_a_named_index_of_pandas_is_a_column():
    pandas = pytest.importorskip("pandas")
    left = pandas.DataFrame({"id": [1, 2], "prediction": ["a", "b"]}).set_index("id")
    right = pandas.DataFrame({"id": [2, 1], "gold": ["b", "a"]}).set_index("id")
    assert [row["gold"] for row in joined(left, right)] == ["a", "b"]
