"""every_eval_ever's samples: a line for every sample and metric."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sensecheck
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.registry import Selection
from sensecheck.inputs.gathering import gathered
from sensecheck.inputs.needs import Needs
from sensecheck.statistics.figure import IntervalOptions

NO_INTERVALS = IntervalOptions(method="none")
CHOICES = ["Oslo", "Lima"]


def sample(name: Any, metric: str, score: Any, said: str = "Lima", reference: Any = "1", **more: Any) -> dict[str, Any]:
    return {
        "schema_version": "0.3.0", "evaluation_id": "e", "model_id": "org/m", "evaluation_name": "geo",
        "evaluation_result_id": metric, "sample_id": name, "interaction_type": "single_turn",
        "input": {"raw": f"q{name}", "formatted": None, "reference": [reference], "choices": CHOICES},
        "output": {"raw": [said]}, "messages": None, "answer_attribution": [],
        "evaluation": {"score": score, "is_correct": score == 1}, "error": None, "metadata": {"subject": "geo"}, **more,
    }  # fmt: skip


TWO = [sample(name, metric, score) for name, score in (("0", 1.0), ("1", 0.0)) for metric in ("acc", "acc_norm")]


def saved(folder: Path, rows: list[Any], figures: list[dict[str, Any]] | None = None) -> Path:
    path = folder / "x_samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    if figures is not None:
        whole = {"schema_version": "0.3.0", "evaluation_id": "e", "model_info": {}, "evaluation_results": figures}
        (folder / "x.json").write_text(json.dumps(whole, indent=1))
    return path


def figure(metric: str, score: float, n: int, falls: bool = False) -> dict[str, Any]:
    return {
        "evaluation_result_id": metric, "evaluation_name": "geo", "metric_config": {"lower_is_better": falls},
        "score_details": {"score": score, "uncertainty": {"num_samples": n}},
    }  # fmt: skip


def rows_of(data: Any, question: str = "calibrated", **chosen: Any) -> list[dict[str, Any]]:
    read = gathered(data, Needs(question, nested=True), selection=Selection(question, **chosen))
    return [dict(row) for row in read.dictionaries()]


def evaluated(data: Any, **options: Any) -> Any:
    return sensecheck.calibrated.evaluate(data, options=NO_INTERVALS, **options)


def test_lines_are_not_samples(tmp_path):
    result = evaluated(saved(tmp_path, TWO, [figure("acc", 0.5, 2)]), slices=["subject"])
    assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)
    assert result.signature.method["scorer"] == "acc"
    assert "agrees with x.json: acc 0.5000 over 2" in result.notes


def test_a_reference_among_choices_is_its_place():
    first = rows_of(TWO)[0]
    assert (first["id"], first["prediction"], first["gold"], first["correct"]) == ("0", "Lima", "Lima", 1.0)
    assert (first["confidence"], first["question"], first["subject"]) == (None, "q0", "geo")


@pytest.mark.parametrize(
    ("choices", "reference", "said", "score", "gold"),
    [
        (["1", "2", "3"], "2", "3", 1.0, "3"),  # a place, which the verdict bears out
        (["1", "2", "3"], "2", "2", 1.0, "2"),
        (["Oslo", "Lima"], "Lima", "Oslo", 0.0, "Lima"),
        (["Oslo", "Lima"], "B", "A", 0.0, "B"),
        (["Oslo", "Lima"], "7", "Oslo", 0.0, "7"),
        (["Oslo", "Lima"], "9" * 5000, "Oslo", 0.0, "9" * 5000),
        (None, "1", "1", 1.0, "1"),
    ],
)
def test_what_a_reference_says(choices, reference, said, score, gold):
    line = sample("0", "acc", score, said)
    line["input"] = {"raw": "q", "reference": [reference], "choices": choices}
    assert rows_of([line])[0]["gold"] == gold


def test_several_metrics_without_a_usual_one_are_asked_for():
    lines = [{**line, "evaluation_result_id": f"em:{line['evaluation_result_id']}"} for line in TWO]
    with pytest.raises(InputError, match="holds several scorers: 'em:acc', 'em:acc_norm'"):
        evaluated(lines)
    assert evaluated(lines, scorer="em:acc_norm")["accuracy"].n == 2
    assert len(rows_of(lines, "")) == 2 and len(rows_of(lines, "diverse")) == 2


def test_where_less_is_better_nothing_is_a_verdict(tmp_path):
    lines = [sample(str(at), "brier", 0.1) for at in range(2)]
    path = saved(tmp_path, lines, [figure("brier", 0.1, 2, falls=True)])
    with pytest.raises(InputError, match="'brier': no verdict on answers"):
        evaluated(path)


def test_scores_outside_the_unit_interval_are_no_verdict():
    with pytest.raises(InputError, match=r"'judge': no verdict on answers.*Verdicts here: none"):
        evaluated([sample("0", "judge", 4.0), sample("1", "judge", 5.0)])


def test_figures_alone_name_the_samples(tmp_path):
    saved(tmp_path, TWO, [figure("acc", 0.5, 2)])
    with pytest.raises(InputError, match=r"x\.json: holds the figures .* Give its samples: x_samples\.jsonl"):
        evaluated(tmp_path / "x.json")


def test_a_figure_that_differs_is_told(tmp_path):
    notes = evaluated(saved(tmp_path, TWO, [figure("acc", 0.75, 4)])).notes
    assert "differs from x.json, which says acc 0.7500 over 4: here it is 0.5000 over 2" in notes


def test_a_sample_that_failed_is_no_part_of_the_figure_that_agrees(tmp_path):
    failed = sample("1", "acc", 0.0, output=None, error="timeout")
    result = evaluated(saved(tmp_path, [TWO[0], failed], [figure("acc", 0.5, 2)]))
    assert (result["accuracy"].value, result["accuracy"].n) == (1.0, 1)
    assert "differs from x.json, which says acc 0.5000 over 2: here it is 1.0000 over 1" in result.notes


def test_samples_under_another_metric_are_told():
    other = sample("0", "exact_match", 1.0, evaluation_name="sums")
    assert "1 of 3 samples (of 'sums') have no line of the metric acc and are left out (--scorer)" in (
        evaluated([*TWO, other]).notes
    )


def test_a_score_that_is_the_contrary_of_its_mark_is_told():
    odd = sample("2", "acc", 0.0, evaluation={"score": 0.0, "is_correct": True})
    assert "1 of 3 scores (acc) are the contrary of is_correct beside them: the scores are taken" in (
        evaluated([*TWO, odd]).notes
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [({"sample_id": 10**5000}, "sample_id"), ({"input": {"reference": [10**5000]}}, "reference"),
     ({"model_id": 10**5000}, "model_id"), ({"metadata": {"epoch": 10**5000}}, "epoch")],
)  # fmt: skip
def test_a_number_that_cannot_be_written_out_is_told(change, field):
    with pytest.raises(InputError, match=f"{field}: expected a text or a number that can be written out"):
        evaluated([{**TWO[0], **change}])


def test_the_same_sample_twice(tmp_path):
    with pytest.raises(InputError, match=r":5: the sample '0' is there twice with the metric 'acc', first in line 1"):
        evaluated(saved(tmp_path, [*TWO, TWO[0]]))


def test_epochs_are_repeats():
    lines = [sample("0", "acc", score, metadata={"epoch": str(at)}) for at, score in enumerate([1.0, 0.0, 0.0])]
    assert [(row["id"], row["epoch"]) for row in rows_of(lines)] == [("0", "0"), ("0", "1"), ("0", "2")]


def test_samples_of_several_tasks_have_names_of_their_own():
    lines = [sample("0", "acc", 1.0), sample("0", "acc", 0.0, evaluation_name="law")]
    assert [row["id"] for row in rows_of(lines)] == ["geo/0", "law/0"]


def test_files_of_several_tasks(tmp_path):
    paths = []
    for task in ("geo", "law"):
        (tmp_path / task).mkdir()
        paths.append(saved(tmp_path / task, [{**line, "evaluation_name": task} for line in TWO]))
    assert [row["id"] for row in rows_of(paths)] == ["geo/0", "geo/1", "law/0", "law/1"]


def test_several_models_are_told():
    with pytest.raises(InputError, match="holds answers of several models: 'org/m', 'org/n'"):
        evaluated([TWO[0], {**TWO[2], "model_id": "org/n"}])


def test_failed_samples_are_unscored_with_their_reason():
    failed = sample("1", "acc", 0.0, output=None, error="timeout")
    result = evaluated([TWO[0], failed])
    assert (result["accuracy"].n, result["accuracy"].unscored) == (1, {"sample ended in an error": 1})


def test_of_several_turns_the_last_answer_is_the_prediction():
    turns = [
        {"turn_idx": 0, "role": "assistant", "content": "wait"},
        {"turn_idx": 1, "role": "assistant", "content": "Lima"},
    ]
    assert rows_of([sample("0", "acc", 1.0, output=None, messages=turns)])[0]["prediction"] == "Lima"


@pytest.mark.parametrize("change", [{"sample_id": None}, {"evaluation_result_id": 3}, {"sample_id": [1]}])
def test_a_bad_line_is_told_with_its_place(tmp_path, change):
    path = saved(tmp_path, [TWO[0], {**TWO[2], **change}])
    with pytest.raises(InputError, match=r"x_samples\.jsonl:2: "):
        evaluated(path)
    assert evaluated(path, skip_bad=True)["accuracy"].n == 1


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "chosen", "accuracy", "n"),
    [
        ("tiny_geo_a", {}, 0.6667, 12),
        ("tiny_geo_a", {"scorer": "acc_norm"}, 0.6667, 12),
        ("tiny_nli", {}, 0.6667, 9),
        ("tiny_sum_a", {"scorer": "exact_match:strict-match"}, 0.75, 8),
        ("tiny_sum_a", {"scorer": "exact_match:flexible-extract"}, 0.75, 8),
        ("arc_qwen", {}, 0.3333, 3),
        ("demo", {}, 1.0, 1),
    ],
)
def test_the_figures_of_real_files(shared, name, chosen, accuracy, n):
    folder = shared / "data" / "formats" / "every_eval_ever"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/formats/every_eval_ever: needs files that may not be copied into the repository")
    result = evaluated(folder / f"{name}_samples.jsonl", **chosen)
    assert (round(result["accuracy"].value, 4), result["accuracy"].n) == (accuracy, n)
    with pytest.raises(InputError, match=f"Give its samples: {name}_samples.jsonl"):
        evaluated(folder / f"{name}.json")
