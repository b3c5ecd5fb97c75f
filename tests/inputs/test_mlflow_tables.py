"""MLflow's evaluation tables: columns and data apart, verdicts in NAME/score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sensecheck
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.registry import Selection, recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.gathering import gathered
from sensecheck.inputs.needs import Needs
from sensecheck.statistics.figure import IntervalOptions

NO_INTERVALS = IntervalOptions(method="none")
COLUMNS = ["inputs", "ground_truth", "predictions", "right/score"]
DATA = [["q0", "Paris", "Paris", 1], ["q1", "Lima", "Rome", 0]]


def table(columns: list[str] = COLUMNS, data: list[Any] = DATA) -> dict[str, Any]:
    return {"columns": columns, "data": data}


def saved(folder: Path, value: Any) -> Path:
    path = folder / "eval_results_table.json"
    path.write_text(json.dumps(value))
    return path


def evaluated(data: Any, **options: Any) -> Any:
    return sensecheck.calibrated.evaluate(data, options=NO_INTERVALS, **options)


@pytest.mark.parametrize("scorer", [None, "right", "right/score"])
def test_a_table(tmp_path, scorer):
    for data in (saved(tmp_path, table()), table()):
        result = evaluated(data, scorer=scorer, slices=["inputs"])
        assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)
        assert result.signature.method["scorer"] == "right"


def test_rows():
    first = gathered(table(), Needs("correct", nested=True), selection=Selection("correct")).dictionaries()[0]
    assert (first["id"], first["prediction"], first["gold"], first["inputs"]) == ("1", "Paris", "Paris", "q0")
    assert "correct" not in first


def test_several_metrics():
    columns = [*COLUMNS, "toxicity/v1/score", "similarity/v1/score", "toxicity/v1/justification", "kind/value"]
    data = [[*row, 0.25, 4, "because", mark] for row, mark in zip(DATA, ["yes", "no"], strict=True)]
    with pytest.raises(InputError, match="holds several scorers: 'right', 'toxicity/v1', 'kind'"):
        evaluated(table(columns, data))
    assert evaluated(table(columns, data), scorer="toxicity/v1")["accuracy"].value == 0.25
    assert evaluated(table(columns, data), scorer="kind")["accuracy"].value == 0.5
    with pytest.raises(
        InputError, match=r"similarity/v1/score: expected verdicts.*got a score of 4. Verdicts here: right"
    ):
        evaluated(table(columns, data), scorer="similarity/v1")


def test_scores_on_another_scale_alone_are_told():
    with pytest.raises(InputError, match=r"judge/score: expected verdicts.*got a score of 5. Verdicts here: none"):
        evaluated(table(["outputs", "judge/score"], [["a", 1], ["b", 5]]))


def test_without_scores_the_texts_decide():
    result = evaluated(table(COLUMNS[:3], [row[:3] for row in DATA]))
    assert (
        result["accuracy"].value == 0.5
        and "an answer is right where predictions equals ground_truth, but for white space at the ends" in result.notes
    )


@pytest.mark.parametrize(
    ("said", "gold", "right"),
    [(1, 1.0, 1), (1, "1.0", 1), ("4 ", 4.0, 1), (True, 1, 1), (2, 1.0, 0), ("1", "1.0", 0), ("one", 1, 0),
     (2**53 + 1, 2**53, 0)],
)  # fmt: skip
def test_numbers_are_compared_as_numbers(said, gold, right):
    assert evaluated(table(COLUMNS[:3], [["q", gold, said]]))["accuracy"].value == right


def test_measures_of_texts_are_no_verdicts():
    columns = [*COLUMNS[:3], "toxicity/v1/score", "ari_grade_level/v1/score"]
    result = evaluated(table(columns, [[*row[:3], 0.001, 4.5] for row in DATA]))
    assert result["accuracy"].value == 0.5 and "scorer" not in result.signature.method
    with pytest.raises(InputError, match="judge/score: expected verdicts"):
        evaluated(table([*columns, "judge/score"], [[*row[:3], 0.001, 4.5, 5] for row in DATA]))


def test_rows_of_several_tables_are_other_examples(tmp_path):
    places = [tmp_path / name for name in "ab"]
    for place in places:
        place.mkdir()
    result = evaluated([saved(place, table()) for place in places])
    assert result.measurements["id"].n_unique() == 4


@pytest.mark.parametrize("column", ["id", "ground_truth", "predictions"])
def test_a_number_that_cannot_be_written_out_is_told(column):
    row = {"id": 1, "ground_truth": 1, "predictions": 1, column: 10**5000}
    with pytest.raises(InputError, match=f"record 1: {column}: expected a text or a number that can be written out"):
        evaluated(table(list(row), [list(row.values())]))


def test_a_confidence_of_the_tables_own():
    result = evaluated(table(["id", "confidence", "right/score"], [["a", 0.9, 1], ["b", 0.7, 0]]))
    assert (result["mean_confidence"].value, result["accuracy"].value) == (0.8, 0.5)


def test_a_row_of_another_length(tmp_path):
    path = saved(tmp_path, table(data=[*DATA, ["q2", "x"], 7]))
    with pytest.raises(InputError, match="record 3: expected 4 values, one a column, got 2 of them"):
        evaluated(path)
    assert evaluated(path, skip_bad=True)["accuracy"].n == 2


def test_a_column_twice(tmp_path):
    with pytest.raises(InputError, match="the column 'a' is there twice"):
        evaluated(saved(tmp_path, table(["a", "a"], [[1, 2]])))


@pytest.mark.parametrize(
    "value",
    [
        {"columns": ["a"], "data": [[1]], "rows": 3},
        {"columns": ["a"], "data": [{"a": 1}]},
        {"columns": {"a": 1}, "data": [[1]]},
        {"columns": [1], "data": [[1]]},
        {"data": [[1]]},
    ],
)
def test_nothing_else_is_taken_for_a_table(value):
    found = recognised(Start.of_bytes("x.json", json.dumps(value).encode()))
    assert found is None or found.format.name != "mlflow"


@pytest.mark.golden
def test_a_real_table(shared):
    path = shared / "data" / "formats" / "trackers" / "mlflow_eval_results_table.json"
    if not path.exists():
        pytest.skip("no ../shared/data/formats/trackers: needs files that may not be copied into the repository")
    result = evaluated(path)
    assert (round(result["accuracy"].value * 12), result["accuracy"].n) == (8, 12)
