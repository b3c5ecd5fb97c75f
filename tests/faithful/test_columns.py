"""Which columns are judged, where a file holds a question, a gold query and what a system predicted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sensecheck
from sensecheck import faithful
from sensecheck.cli import main
from sensecheck.faithful.examples import example_page
from sensecheck.inputs.errors import InputError
from sensecheck.report.result import NothingScored, load

GOLD = "SELECT name FROM boat WHERE length > 20"
WRONG = "SELECT name FROM boat WHERE length < 20"
QUESTION = "Names of boats longer than 20."
FENCED = f"Here is the query:\n```sql\n{GOLD}\n```\nIt returns the names."


def judged(rows: Any, **options: Any) -> tuple[list[bool | None], list[str]]:
    result = faithful.evaluate(rows, **options)
    return result.measurements["consistent"].to_list(), result.notes


@pytest.mark.parametrize("name", ["prediction", "predicted_sql", "PREDICTED SQL", "output", "generated_query"])
def test_what_was_predicted_is_judged_and_not_the_gold(name: str) -> None:
    rows = [{"question": QUESTION, "query": GOLD, name: text} for text in (WRONG, GOLD)]
    verdicts, notes = judged(rows)
    assert verdicts == [False, True]
    assert any(f"queries in {name!r}" in note and "'query'" in note for note in notes)
    result = faithful.evaluate(rows)
    assert result.signature.method["judged"] == f"{name}/question"
    assert judged(rows, columns={"query": "query"})[0] == [True, True]


def test_a_sentence_that_was_predicted_for_a_query_is_judged() -> None:
    rows = [
        {"query": GOLD, "question": QUESTION, "prediction": "Names of boats shorter than 20."},
        {"query": GOLD, "question": QUESTION, "prediction": QUESTION},
    ]
    verdicts, notes = judged(rows)
    assert verdicts == [False, True]
    assert any("sentences in 'prediction'" in note and "'question'" in note for note in notes)


def test_english_that_begins_like_a_query_is_a_sentence() -> None:
    rows = [{"query": GOLD, "question": "x", "prediction": "Select the names of boats longer than 20 from the list."}]
    assert faithful.evaluate(rows).signature.method["judged"] == "query/prediction"


def test_a_model_that_refuses_three_times_of_four_still_writes_queries() -> None:
    texts = [WRONG, "I cannot answer this.", "The schema has no such table.", "Sorry."]
    result = faithful.evaluate([{"question": QUESTION, "query": GOLD, "prediction": text} for text in texts])
    assert result.signature.method["judged"] == "prediction/question"
    assert result["consistent"].n == 1
    assert result["consistent"].unscored == {"unreadable_query": 3}


def test_two_columns_leave_no_choice() -> None:
    for rows in ([{"question": QUESTION, "prediction": GOLD}], [{"query": GOLD, "prediction": QUESTION}]):
        result = faithful.evaluate(rows)
        assert result["consistent"].value == 1.0
        assert "judged" not in result.signature.method
        assert not result.notes


def test_two_columns_of_queries_are_refused() -> None:
    with pytest.raises(InputError, match="sentence: expected a column of this name"):
        faithful.evaluate([{"query": GOLD, "prediction": WRONG}])


def test_nothing_predicted_does_not_end_a_run() -> None:
    rows = [{"question": QUESTION, "query": GOLD, "predicted_sql": text} for text in (GOLD, None, "", "  ")]
    result = faithful.evaluate(rows)
    assert result["consistent"].n == 1
    assert result["consistent"].unscored == {"missing_query": 1, "empty_query": 2}
    with pytest.warns(NothingScored, match=r"missing_query \(1\)"):
        faithful.evaluate([{"question": QUESTION, "predicted_sql": None}])


def test_a_query_that_was_given_must_be_there() -> None:
    with pytest.raises(InputError, match="record 2: query: expected a text"):
        faithful.evaluate([{"query": GOLD, "prediction": QUESTION}, {"query": None, "prediction": QUESTION}])


# ---- golds in a file of their own


@pytest.fixture
def golds(tmp_path: Path) -> Path:
    path = tmp_path / "dev.json"
    rows = [{"question_id": n, "db_id": "port", "question": QUESTION, "SQL": GOLD, "evidence": ""} for n in range(3)]
    path.write_text(json.dumps(rows))
    return path


def predictions(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("predict_dev.json", json.dumps({"0": f"{WRONG}\t----- bird -----\tport", "1": GOLD, "2": 0})),
        ("predicted.sql", f"{WRONG}\n{GOLD}\n\n"),
        ("p.jsonl", "".join(json.dumps({"question_id": n, "sql": q}) + "\n" for n, q in enumerate((WRONG, GOLD, None)))),
        ("q.jsonl", "".join(json.dumps({"question_id": n, "output": q}) + "\n" for n, q in enumerate((WRONG, GOLD, None)))),
        ("r.csv", f"question_id,predicted_sql\n0,{WRONG}\n1,{GOLD}\n2,\n"),
    ],
)  # fmt: skip
def test_predictions_beside_golds(tmp_path: Path, golds: Path, name: str, text: str) -> None:
    result = faithful.evaluate(predictions(tmp_path, name, text), gold=golds)
    assert result.measurements["consistent"].to_list() == [False, True, None]
    assert result["consistent"].unscored == {"missing_query": 1}


def test_golds_say_which_database(tmp_path: Path, golds: Path) -> None:
    path = predictions(tmp_path, "p.jsonl", "".join(
        json.dumps({"question_id": n, "sql": GOLD, "db_id": "elsewhere", "evidence": "longer means shorter"}) + "\n"
        for n in range(3)
    ))  # fmt: skip
    schema = tmp_path / "port.sql"
    schema.write_text("CREATE TABLE boat (name TEXT, length INT);")
    result = faithful.evaluate(path, gold=golds, schema=[{"db_id": "port", **_spider()}, {"db_id": "b", **_spider()}])
    assert result["consistent"].n == 3


def _spider() -> dict[str, Any]:
    return {
        "table_names_original": ["boat"], "table_names": ["boat"],
        "column_names_original": [[-1, "*"], [0, "name"], [0, "length"]],
        "column_names": [[-1, "*"], [0, "name"], [0, "length"]], "column_types": ["text", "text", "number"],
        "primary_keys": [], "foreign_keys": [],
    }  # fmt: skip


# ---- queries among other things


def test_a_query_is_taken_out_of_what_stands_around_it() -> None:
    texts = [
        GOLD, FENCED, f"<think>length < 20?</think>{GOLD}", json.dumps({"sql": GOLD}), f"```sql\n{WRONG}\n```", "nothing",
    ]  # fmt: skip
    rows = [{"question": QUESTION, "predicted_sql": text} for text in texts]
    result = faithful.evaluate(rows)
    assert result.measurements["consistent"].to_list() == [True, True, True, True, False, None]
    assert result.measurements["extracted"].to_list() == [False, True, True, True, True, False]
    assert any(note.startswith("4 queries were taken out of") for note in result.notes)
    assert dict(result.examples().select("id", "written").iter_rows())["2"] == FENCED
    plain = faithful.evaluate(rows, extract=False)
    assert plain["consistent"].n == 1
    assert "extract:no" in plain.signature.short
    assert "extract" not in result.signature.short


def test_sparql_in_fences() -> None:
    query = "SELECT ?c WHERE { ?c <http://x/country> <http://x/Peru> }"
    rows = [{"question": "Which country is Peru?", "prediction": text} for text in (query, f"```sparql\n{query}\n```")]
    result = faithful.evaluate(rows, language="sparql")
    verdicts = result.measurements["consistent"].to_list()
    assert verdicts[0] is not None
    assert verdicts[0] == verdicts[1]


def test_the_page_shows_what_was_written() -> None:
    written = f"<script>alert(1)</script>\n```sql\n{WRONG}\n```"
    result = faithful.evaluate([{"question": QUESTION, "prediction": written}])
    (page,) = example_page(result.examples())
    parts = {part["label"]: part.get("spans") for part in page["parts"]}
    assert "".join(text for text, _ in parts["query"]) == WRONG
    assert parts["as written"] == [[written, ""]]


def test_shards_of_a_file_with_a_choice(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text("".join(
        json.dumps({"id": str(n), "question": QUESTION, "query": GOLD, "prediction": FENCED if n % 3 else WRONG}) + "\n"
        for n in range(20)
    ))  # fmt: skip
    whole = faithful.evaluate(path, out=tmp_path / "whole")
    for part in (1, 2, 3):
        faithful.evaluate(path, out=tmp_path / f"s{part}", shard=f"{part}/3")
    merged = sensecheck.merge([tmp_path / f"s{part}" for part in (1, 2, 3)], out=tmp_path / "merged")
    assert merged.signature.short == whole.signature.short
    assert [repr(f.value) for f in merged.figures] == [repr(f.value) for f in whole.figures]
    assert sorted(merged.notes) == sorted(whole.notes)
    assert load(tmp_path / "merged")["consistent"].value == whole["consistent"].value


def test_the_command_refuses_runs_that_judged_other_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"id": "1", "question": QUESTION, "query": GOLD, "prediction": WRONG}) + "\n")
    faithful.evaluate(path, out=tmp_path / "a")
    faithful.evaluate(path, columns={"query": "query"}, out=tmp_path / "b")
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "judged" in capsys.readouterr().err


def test_look_says_which_columns_would_be_judged(tmp_path: Path) -> None:
    from sensecheck.report.looking import look

    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"id": "1", "question": QUESTION, "gold": GOLD, "prediction": FENCED}) + "\n")
    (fit,) = [fit for fit in look(str(path)).fits if fit.question == "faithful"]
    assert fit.fields["query"] == "prediction"
    assert fit.fields["sentence"] == "question"


def test_no_rows_and_one_row() -> None:
    with pytest.raises(InputError, match="at least one record"):
        faithful.evaluate(pl.DataFrame({"query": [], "question": [], "prediction": []}))
    with pytest.warns(NothingScored, match=r"missing_sentence \(1\)"):
        faithful.evaluate([{"query": GOLD, "question": QUESTION, "prediction": None}])
