"""HELM's runs: what was asked and answered, with the verdicts beside it."""

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
from sensecheck.report.looking import look
from sensecheck.statistics.figure import IntervalOptions

NO_INTERVALS = IntervalOptions(method="none")
ROBUST = {"name": "robustness", "robustness": True}


def state(
    name: str, text: str = " B", logprob: float = -0.5, perturbation: Any = None, trial: int = 0, **more: Any
) -> dict[str, Any]:
    instance = {
        "input": {"text": f"q {name}"}, "split": "test", "id": name,
        "references": [{"output": {"text": "Oslo"}, "tags": []}, {"output": {"text": "Lima"}, "tags": ["correct"]}],
    }  # fmt: skip
    if perturbation is not None:
        instance["perturbation"] = perturbation
    return {
        "instance": instance, "train_trial_index": trial, "output_mapping": {"A": "Oslo", "B": "Lima"},
        "request": {"prompt": "p", "echo_prompt": False},
        "result": {"success": True, "completions": [
            {"text": text, "logprob": logprob, "tokens": [{"text": text, "logprob": logprob}]}]}, **more,
    }  # fmt: skip


def stats(name: str, perturbation: Any = None, trial: int = 0, **means: float) -> dict[str, Any]:
    item = {"instance_id": name, "train_trial_index": trial, "stats": [
        {"name": {"name": metric, "split": "test"}, "count": 1, "sum": value, "mean": value}
        for metric, value in means.items()]}  # fmt: skip
    return item if perturbation is None else {**item, "perturbation": perturbation}


def saved(folder: Path, states: list[Any], judged: list[Any] | None) -> Path:
    run = folder / "run"
    run.mkdir()
    (run / "scenario_state.json").write_text(json.dumps({"adapter_spec": {"method": "m"}, "request_states": states}))
    if judged is not None:
        (run / "per_instance_stats.json").write_text(json.dumps(judged))
    return run


TWO = [state("a"), state("b", " A", -0.1)]
JUDGED = [stats("a", num_bytes=9, exact_match=1, f1_score=1), stats("b", num_bytes=9, exact_match=0, f1_score=0.5)]


def read(data: Any, question: str = "calibrated", **chosen: Any) -> Any:
    return gathered(data, Needs(question, nested=True), selection=Selection(question, **chosen))


def evaluated(data: Any, **options: Any) -> Any:
    return sensecheck.calibrated.evaluate(data, options=NO_INTERVALS, **options)


@pytest.mark.parametrize("part", ["", "scenario_state.json"])
def test_a_folder_or_its_state(tmp_path, part):
    result = evaluated(saved(tmp_path, TWO, JUDGED) / part, slices=["split"])
    assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)
    assert result["mean_confidence"].value == pytest.approx((2.718281828**-0.5 + 2.718281828**-0.1) / 2)
    assert result.signature.method["scorer"] == "exact_match"


def test_rows(tmp_path):
    first, second = read(saved(tmp_path, TWO, JUDGED)).dictionaries()
    assert (first["id"], first["prediction"], first["completion"], first["gold"]) == ("a", "Lima", " B", ["Lima"])
    assert (first["question"], first["split"], first["correct"]) == ("q a", "test", 1.0)
    assert (second["prediction"], second["correct"], second["token_logprobs"]) == ("Oslo", 0.0, [-0.1])


def test_zeros_are_no_confidence(tmp_path):
    result = evaluated(saved(tmp_path, [state("a", logprob=0.0), state("b", logprob=0.0)], JUDGED))
    assert (result["accuracy"].value, result["mean_confidence"].n) == (0.5, 0)
    assert any("every token's log-probability is 0.0" in note for note in result.notes)


def test_scorers(tmp_path):
    run = saved(tmp_path, TWO, JUDGED)
    assert evaluated(run, scorer="f1_score")["accuracy"].value == 0.75
    with pytest.raises(InputError, match="one of the scorers of this log: exact_match, f1_score, got 'num_bytes'"):
        evaluated(run, scorer="num_bytes")


def test_perturbed_instances_are_left_out(tmp_path):
    states = [*TWO, state("a", " A", perturbation=ROBUST)]
    run = saved(tmp_path, states, [*JUDGED, stats("a", ROBUST, exact_match=0)])
    result = evaluated(run)
    assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)
    assert any(note.startswith("1 of 3 are left out, perturbed otherwise: robustness") for note in result.notes)
    assert evaluated(run, filter="robustness")["accuracy"].value == 0
    assert len(read(run, "")) == 3


def test_two_stats_of_one_name_are_no_verdict(tmp_path):
    both = [{**one, "stats": [*one["stats"], *stats("x", f1_score=0.25)["stats"]]} for one in JUDGED]
    with pytest.raises(InputError, match="'f1_score' is no verdict on an answer"):
        evaluated(saved(tmp_path, TWO, both), scorer="f1_score")


def test_several_splits_are_told(tmp_path):
    other = state("b", " A")
    other["instance"]["split"] = "valid"
    result = evaluated(saved(tmp_path, [TWO[0], other], JUDGED))
    assert "instances of several splits are measured together: test, valid (--slice split)" in result.notes


def test_a_number_of_too_many_digits_is_told(tmp_path):
    run = saved(tmp_path, TWO, JUDGED)
    place = run / "scenario_state.json"
    place.write_text(place.read_text().replace('"id": "a"', f'"id": {"7" * 5000}'))
    with pytest.raises(InputError, match="too many digits"):
        evaluated(run)


def test_trials_are_repeats(tmp_path):
    states = [state(name, trial=trial) for name in "ab" for trial in (0, 1)]
    judged = [stats(name, trial=trial, exact_match=float(trial)) for name in "ab" for trial in (0, 1)]
    rows = read(saved(tmp_path, states, judged)).dictionaries()
    assert [(row["id"], row["sample"], row["correct"]) for row in rows] == [
        ("a", 0, 0),
        ("a", 1, 1),
        ("b", 0, 0),
        ("b", 1, 1),
    ]


def test_runs_side_by_side(tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        saved(tmp_path / name, TWO, JUDGED).rename(tmp_path / name / f"run-{name}")
    result = evaluated(str(tmp_path / "*" / "*" / "scenario_state.json"), slices=["run"])
    assert result.measurements["id"].to_list() == ["run-x/a", "run-x/b", "run-y/a", "run-y/b"]


def test_the_same_instance_twice(tmp_path):
    with pytest.raises(InputError, match="record 2: the instance 'a' is there twice, first as record 1"):
        evaluated(saved(tmp_path, [TWO[0], TWO[0]], JUDGED))


def test_a_request_for_every_reference(tmp_path):
    states = [state(name, reference_index=at) for name in "ab" for at in (0, 1)]
    result = evaluated(saved(tmp_path, states, JUDGED))
    assert (result["accuracy"].value, result["accuracy"].n, result["mean_confidence"].n) == (0.5, 2, 0)


def test_failed_requests_are_unscored(tmp_path):
    result = evaluated(saved(tmp_path, [TWO[0], state("b", result={"success": False, "completions": []})], JUDGED))
    assert (result["accuracy"].n, result["accuracy"].unscored) == (1, {"request failed": 1})


def test_without_stats_the_references_decide(tmp_path):
    run = saved(tmp_path, TWO, None)
    result = evaluated(run)
    assert result["accuracy"].value == 0.5 and any(
        "no per_instance_stats.json is beside" in note for note in result.notes
    )
    with pytest.raises(InputError, match=r"has no per_instance_stats\.json beside it"):
        evaluated(run, scorer="exact_match")


def test_stats_alone_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"per_instance_stats\.json: holds no answers.*Give the folder of the run"):
        evaluated(saved(tmp_path, TWO, JUDGED) / "per_instance_stats.json")


def test_all_completions_are_responses(tmp_path):
    many = [{"text": text, "logprob": 0, "tokens": []} for text in (" x", " y")]
    (row,) = read(saved(tmp_path, [state("a", result={"completions": many})], None), "diverse").dictionaries()
    assert (row["id"], row["query"], row["responses"]) == ("a", "q a", [" x", " y"])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (7, "instance: expected an object with an instance"),
        ({"instance": {"id": None}}, "id: expected what the instance is called"),
        (state("b", result={"completions": [7]}), "completions: expected a list of completions"),
        (state("b", result={"completions": [{"text": 3}]}), "completions: expected completions with a text"),
    ],
)
def test_a_bad_state_is_told_with_its_place(tmp_path, bad, message):
    run = saved(tmp_path, [TWO[0], bad], JUDGED)
    with pytest.raises(InputError, match=f"record 2: {message}"):
        evaluated(run)
    assert evaluated(run, skip_bad=True)["accuracy"].n == 1


def test_impossible_logprobs_are_told(tmp_path):
    with pytest.raises(InputError, match="record 2: logprob: expected a log-probability of at most 0"):
        evaluated(saved(tmp_path, [TWO[0], state("b", logprob=2.5)], JUDGED))


@pytest.mark.golden
@pytest.mark.parametrize("part", ["hellaswag", "hellaswag/scenario_state.json"])
def test_a_real_run(shared, part):
    place = shared / "data" / "formats" / "helm" / part
    if not place.exists():
        pytest.skip("no ../shared/data/formats/helm: needs files that may not be copied into the repository")
    result = evaluated(place)
    assert (result["accuracy"].value, result["accuracy"].n, result["mean_confidence"].n) == (0.3, 10, 0)
    assert any("every token's log-probability is 0.0" in note for note in result.notes)
    assert look(str(place)).format == "helm"
