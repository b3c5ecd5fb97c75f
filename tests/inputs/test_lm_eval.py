"""Samples of lm-evaluation-harness: what each line becomes, and what is said of what cannot be read."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sensecheck
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.registry import Selection, recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.gathering import gathered
from sensecheck.inputs.needs import Needs
from sensecheck.report.looking import look
from sensecheck.statistics.figure import IntervalOptions

NO_INTERVALS = IntervalOptions(method="none")
TIME = "2026-01-02T03-04-05.678901"


def choice(
    at: int, values: list[float], target: Any, acc: Any, choices: tuple[str, ...] = ("yes", "no"), **more: Any
) -> dict[str, Any]:
    """A line of a multiple-choice task, as 0.4.13 writes it."""
    return {
        "doc_id": at, "doc": {"question": f"q{at}", "region": "north" if at % 2 else "south"}, "target": str(target),
        "arguments": {f"gen_args_{i}": {"arg_0": f"Q: q{at}\nA:", "arg_1": f" {text}"} for i, text in enumerate(choices)},
        "resps": [[[str(value), "False"]] for value in values], "filtered_resps": [[str(value), "False"] for value in values],
        "filter": "none", "metrics": ["acc"], "doc_hash": "d", "prompt_hash": "p", "target_hash": "t", "acc": acc, **more,
    }  # fmt: skip


def generated(
    at: int, texts: list[str], kept: Any, match: Any, filter: str = "none", target: str = "5", **more: Any
) -> dict[str, Any]:
    return {
        "doc_id": at, "doc": {"id": f"d{at}", "question": f"q{at}"}, "target": target,
        "arguments": {"gen_args_0": {"arg_0": f"Q: q{at}", "arg_1": {"until": ["\n"]}}}, "resps": [texts],
        "filtered_resps": [kept], "filter": filter, "metrics": ["exact_match"], "exact_match": match, **more,
    }  # fmt: skip


def saved(folder: Path, rows: list[Any], task: str = "t") -> Path:
    path = folder / f"samples_{task}_{TIME}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def rows_of(data: Any, question: str = "calibrated", skip_bad: bool = False, **chosen: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in read(data, question, skip_bad, **chosen).dictionaries()]


def read(data: Any, question: str = "calibrated", skip_bad: bool = False, **chosen: Any) -> Any:
    needs = Needs(question, nested=True)
    return gathered(data, needs, skip_bad=skip_bad, selection=Selection(question, **chosen))


def evaluated(data: Any, **options: Any) -> Any:
    return sensecheck.calibrated.evaluate(data, options=NO_INTERVALS, **options)


LOG_3 = math.log(3)
TWO = [choice(0, [-1.0, -1.0 - LOG_3], 0, 1.0), choice(1, [-1.0, -1.0 - LOG_3], 1, 0.0)]


# ---- multiple choice


def test_the_same_choices_are_classes(tmp_path):
    result = evaluated(saved(tmp_path, TWO), slices=["region"])
    assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)
    assert result["mean_confidence"].value == pytest.approx(0.75)
    assert result["brier_multiclass"].value == pytest.approx((2 * 0.25**2 + 2 * 0.75**2) / 2)
    assert result.signature.method["scorer"] == "acc" and result.signature.method["filter"] == "none"


def test_different_choices_are_a_confidence_and_a_verdict(tmp_path):
    other = choice(1, [-2.0, -2.0], "1", 0.0, ("red", "blue"))
    first, second = rows_of(saved(tmp_path, [TWO[0], other]))
    assert (first["id"], first["prediction"], first["gold"], first["correct"]) == ("0", "yes", "yes", 1.0)
    assert first["confidence"] == pytest.approx(0.75) and "probabilities" not in first
    assert (second["prediction"], second["gold"], second["confidence"], second["correct"]) == ("red", "blue", 0.5, 0.0)
    assert (first["region"], second["region"], first["task"]) == ("south", "north", "t")


@pytest.mark.parametrize(
    ("target", "gold"),
    [("1", "no"), (1, "no"), ("no", "no"), (" no", "no"), ("[1]", "no"), ("['no']", "no"), ([1], "no")],
)
def test_targets_in_all_their_forms(target, gold):
    line = {**choice(0, [-2.0, -1.0], 0, 1.0), "target": target}
    (row,) = rows_of([line])
    assert (row["label"], row["gold"]) == (gold, gold)


def test_choices_that_are_numbers():
    """Targets of digits are places, unless the verdicts say that they are texts."""
    texts = [
        choice(at, [-1.0 - (text != said) for text in "123"], "2", float(said == "2"), ("1", "2", "3"))
        for at, said in enumerate("213")
    ]
    assert [(row["label"], row["prediction"]) for row in rows_of(texts)] == [("2", "2"), ("2", "1"), ("2", "3")]
    places = [{**line, "acc": float(said == "3")} for line, said in zip(texts, "213", strict=True)]
    assert [row["label"] for row in rows_of(places)] == ["3", "3", "3"]


def test_several_right_choices_are_no_class():
    line = {**choice(0, [-2.0, -1.0, -3.0], 0, 1.0, ("a", "b", "c")), "target": "[1, 2]"}
    (row,) = rows_of([line])
    assert (row["gold"], row["correct"], row["prediction"]) == (["b", "c"], 1.0, "b")


def test_a_target_outside_the_choices_is_wrong_and_no_class():
    (row,) = rows_of([choice(0, [-1.0, -2.0], -100, 0.0)])
    assert (row["gold"], row["correct"]) == ([], 0.0) and row["confidence"] == pytest.approx(1 / (1 + math.exp(-1)))


def test_without_a_verdict_a_target_outside_the_choices_is_unscored():
    lines = [{**choice(at, [-1.0, -2.0], target, 1.0), "metrics": []} for at, target in enumerate((2, -1, 0))]
    result = evaluated(lines)
    assert (result["accuracy"].value, result["accuracy"].n) == (1.0, 1)
    assert result["accuracy"].unscored == {"target is none of the choices": 2}
    assert result["brier_multiclass"].n == 1


def test_a_field_of_the_document_never_takes_our_names():
    line = choice(0, [-1.0, -2.0], 0, 1.0)
    line["doc"] = {
        "id": "x",
        "label": 3,
        "correct": "maybe",
        "confidence": "high",
        "cluster": 1,
        "subject": "law",
        "odd": [1],
    }
    (row,) = rows_of([line])
    assert (row["id"], row["doc_id"], row["doc_label"], row["doc_correct"]) == ("0", "x", 3, "maybe")
    assert (row["doc_confidence"], row["doc_cluster"], row["subject"]) == ("high", 1, "law") and "odd" not in row


def test_several_contexts_before_one_continuation():
    """As in winogrande: the choices stand in the prompts, and the target is the continuation of all."""
    line = choice(0, [-1.0, -3.0], 0, 0.0)
    line["arguments"] = {
        f"gen_args_{i}": {"arg_0": f"{name} was tall", "arg_1": " so she won"} for i, name in enumerate(["Ann", "Eve"])
    }
    line["target"] = "so she won"
    (row,) = rows_of([line])
    assert (row["prediction"], row["gold"], row["correct"]) == ("Ann was tall", None, 0.0)
    assert row["confidence"] == pytest.approx(1 / (1 + math.exp(-2)))


def test_requests_without_a_context_are_no_choices():
    """With acc_mutual_info every choice is asked twice, the second time without its prompt."""
    line = choice(0, [-1.0, -2.0, -1.0, -4.0], 1, 0.0, metrics=["acc", "acc_mutual_info"], acc_mutual_info=1.0)
    line["arguments"] = {
        f"gen_args_{i}": {"arg_0": "Q" if i < 2 else "", "arg_1": [" yes", " no"][i % 2]} for i in range(4)
    }
    (row,) = rows_of([line])
    assert row["probabilities"] == pytest.approx({"yes": 1 / (1 + math.exp(-1)), "no": 1 / (1 + math.exp(1))})
    (row,) = rows_of([line], scorer="acc_mutual_info")
    assert (row["prediction"], row["correct"]) == ("no", 1.0) and row["confidence"] == pytest.approx(
        1 / (1 + math.exp(1))
    )


def test_acc_norm_takes_the_choice_that_it_picked():
    # -3 / 2 letters is less than -4 / 8 letters: the second choice is taken, though it is the less likely.
    line = choice(0, [-3.0, -4.0], 1, 0.0, ("no", "possibly"), metrics=["acc", "acc_norm"], acc_norm=1.0)
    (row,) = rows_of([line], scorer="acc_norm")
    assert (row["prediction"], row["correct"]) == ("possibly", 1.0)
    assert row["confidence"] == pytest.approx(1 / (1 + math.exp(1)))


def test_lengths_without_the_space_before_a_choice():
    # Of " ab" and " abcdef": by 2 and 6 letters the second is taken, by 3 and 7 the first.
    line = choice(0, [-2.0, -5.9], 0, 1.0, ("ab", "abcdef"), metrics=["acc_norm"], acc_norm=0.0)
    assert -2.0 / 2 < -5.9 / 6 and -2.0 / 3 > -5.9 / 7
    (row,) = rows_of([line], scorer="acc_norm")
    assert row["prediction"] == "abcdef" and row["confidence"] is not None


def test_a_verdict_that_the_log_does_not_bear_out_has_no_confidence():
    read_rows = read([TWO[0], choice(1, [-1.0, -2.0], 1, 0.4)])
    assert [row["confidence"] is None for row in read_rows.dictionaries()] == [False, True]
    assert any("1 of 2 verdicts (acc) are not what log-likelihoods and targets say" in note for note in read_rows.notes)


def test_a_metric_that_is_no_number_is_no_verdict():
    brier = {"metrics": ["acc", "brier_score"], "brier_score": [0, "[0.7 0.3]"]}
    lines = [{**line, **brier} for line in TWO]
    with pytest.raises(InputError, match=r"'brier_score' is no verdict on an answer.*Verdicts of this log: acc"):
        evaluated(lines, scorer="brier_score")
    assert evaluated(lines)["accuracy"].value == 0.5


def test_without_a_verdict_the_target_decides():
    lines = [{**line, "metrics": ["brier_score"], "brier_score": [0, "[0.7 0.3]"]} for line in TWO]
    result = evaluated(lines)
    assert (result["accuracy"].value, result["accuracy"].n) == (0.5, 2)
    assert any("no metric here is a verdict ('brier_score')" in note for note in result.notes)


@pytest.mark.parametrize("odd", ["-inf", -math.inf])
def test_an_impossible_choice(odd):
    (row,) = rows_of([choice(0, [odd, -1.0], 1, 1.0)])
    assert row["probabilities"] == {"yes": 0.0, "no": 1.0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"doc_id": None}, "doc_id: expected the number of the document, got None"),
        ({"filtered_resps": []}, "filtered_resps: expected a list with a response for every request"),
        ({"filtered_resps": [["-1", "False"], ["much", "False"]]}, "expected .log-likelihood, whether it is greedy. for every"),
        ({"filtered_resps": [["-1", "False"], ["nan", "False"]]}, "expected .log-likelihood, whether it is greedy. for every"),
        ({"filtered_resps": [["-inf", "False"], ["-inf", "False"]]}, "expected a choice that is possible"),
        ({"filtered_resps": [["5", "False"], ["-1", "False"]]}, "expected log-likelihoods, which are at most 0, got '5'"),
        ({"arguments": {}}, "arguments: expected a prompt and a choice for each of 2 responses, got 0 of them"),
    ],
)  # fmt: skip
def test_a_bad_line_is_told_with_its_place(tmp_path, change, message):
    path = saved(tmp_path, [TWO[0], {**TWO[1], **change}])
    with pytest.raises(InputError, match=rf"samples_t_.*\.jsonl:2: .*{message}"):
        evaluated(path)
    assert evaluated(path, skip_bad=True)["accuracy"].n == 1


# ---- generated answers


def test_a_generated_answer_has_a_verdict_and_no_confidence():
    (row,) = rows_of([generated(0, [" 5\n"], "5", 1.0)])
    assert (row["prediction"], row["gold"], row["correct"], row["confidence"]) == ("5", "5", 1.0, None)
    assert (row["id"], row["doc_id"], row["prompt"]) == ("0", "d0", "Q: q0")


FILTERED = [generated(at, ["5", "6"], kept, float(kept == "5"), name) for name in ("strict", "loose") for at, kept in enumerate(["5", "6" if name == "strict" else "5"])]  # fmt: skip


def test_filters_are_chosen(tmp_path):
    path = saved(tmp_path, FILTERED)
    with pytest.raises(InputError, match=r"holds several filters: 'strict', 'loose'.* --filter strict"):
        evaluated(path)
    with pytest.raises(InputError, match="Did you mean 'loose'"):
        evaluated(path, filter="lose")
    strict, loose = (evaluated(path, filter=name)["accuracy"] for name in ("strict", "loose"))
    assert (strict.value, strict.n, loose.value, loose.n) == (0.5, 2, 1.0, 2)


def test_diverse_takes_all_responses_whatever_filters_there_are():
    rows = rows_of(FILTERED, "diverse")
    assert [(row["id"], row["responses"], row["query"]) for row in rows] == [
        ("0", ["5", "6"], "Q: q0"),
        ("1", ["5", "6"], "Q: q1"),
    ]
    with pytest.raises(InputError, match="nothing was generated"):
        rows_of(TWO, "diverse")


def test_looking_asks_nothing(tmp_path):
    rows = rows_of(FILTERED, "")
    assert [(row["id"], row["prediction"]) for row in rows] == [("0", "5"), ("1", "6")]
    seen = look(str(saved(tmp_path, FILTERED)))
    assert (seen.format, seen.examples) == ("lm-eval", 2)
    assert "several filters: strict, loose (--filter)" in seen.notes
    assert "scorer: exact_match" in seen.notes


def test_several_responses_that_a_filter_kept_are_samples():
    line = generated(0, ["SELECT 1", "SELECT 2"], ["SELECT 1", "SELECT 2"], 1.0)
    rows = rows_of([line], "correct")
    assert [(row["id"], row["sample"], row["prediction"]) for row in rows] == [
        ("0", 0, "SELECT 1"),
        ("0", 1, "SELECT 2"),
    ]
    assert len(rows_of([line])) == 1  # the verdict is one on the document


def test_other_questions_find_the_documents_own_fields():
    line = choice(0, [-1.0, -2.0], 0, 1.0)
    line["doc"] = {"premise": "A man sleeps.", "hypothesis": "He is awake.", "label": 2}
    (row,) = rows_of([line], "robust")
    assert (row["premise"], row["label"], row["prediction"]) == ("A man sleeps.", 2, "yes")


def test_gold_lists_of_generated_answers():
    rows = rows_of(
        [generated(0, ["a"], "a", 1.0, target="['a', \"b's\"]"), generated(1, ["c"], "c", 0.0, target="[1, 2]")]
    )
    assert [row["gold"] for row in rows] == [["a", "b's"], ["[1, 2]"]]


def test_several_metrics_are_asked_for():
    both = {"metrics": ["f1", "rouge"], "f1": 0.5, "rouge": 0.25}
    lines = [{**generated(0, ["a"], "a", None), **both}]
    with pytest.raises(InputError, match="holds several scorers: 'f1', 'rouge'"):
        evaluated(lines)
    assert evaluated(lines, scorer="rouge")["accuracy"].value == 0.25
    assert evaluated([{**lines[0], "metrics": ["exact_match", "f1"], "exact_match": 1}])["accuracy"].value == 1


# ---- other kinds of task


def test_the_golds_likelihood_is_no_confidence():
    lines = [
        {"doc_id": at, "doc": {"text": "t"}, "target": "dog", "arguments": [["a", " dog"]], "resps": [[[-3.5, True]]],
         "filtered_resps": [[-3.5, True]], "filter": "none", "metrics": ["perplexity", "acc"], "perplexity": -3.5, "acc": at}
        for at in (0, 1)
    ]  # fmt: skip
    result = evaluated(lines)
    assert (result["accuracy"].value, result["accuracy"].n, result["mean_confidence"].n) == (0.5, 2, 0)
    assert any("no confidence in an answer of the model" in note for note in result.notes)


def test_perplexities_are_no_answers():
    line = {
        "doc_id": 0, "doc": {"page": "long"}, "target": "long", "arguments": {"gen_args_0": {"arg_0": "long"}},
        "resps": [["-123.5"]], "filtered_resps": ["-123.5"], "filter": "none", "metrics": ["word_perplexity"],
        "word_perplexity": [-123.5, 40],
    }  # fmt: skip
    with pytest.raises(InputError, match="holds no verdict on answers: 'word_perplexity': no numbers from 0 to 1"):
        evaluated([line])
    assert len(rows_of([line], "")) == 1


# ---- files and objects


def test_in_memory_with_tuples_and_numpy_numbers():
    def held(line: dict[str, Any]) -> dict[str, Any]:
        values = [float(pair[0]) for pair in line["filtered_resps"]]
        texts = [tuple(one.values()) for one in line["arguments"].values()]
        return {**line, "target": int(line["target"]), "arguments": texts, "acc": np.float64(line["acc"]),
                "filtered_resps": [(np.float32(value), False) for value in values]}  # fmt: skip

    samples = [held(line) for line in TWO]
    for data in (samples, {"t": samples}, {"results": {"t": {"acc,none": 0.5}}, "samples": {"t": samples}}):
        result = evaluated(data)
        assert (result["accuracy"].value, round(result["mean_confidence"].value, 6)) == (0.5, 0.75)


def test_every_object_of_several_has_documents_of_its_own(tmp_path):
    three = choice(1, [-1.0, -3.0, -0.1], 2, 1.0, ("x", "y", "z"))
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps({"t": [line]}) + "\n" for line in (TWO[0], three)))
    assert [(row["prediction"], row["confidence"]) for row in rows_of(path)] == [
        ("yes", pytest.approx(0.75)),
        ("z", pytest.approx(math.exp(-0.1) / (math.exp(-0.1) + math.exp(-1) + math.exp(-3)))),
    ]


def test_results_of_several_runs_in_a_list(tmp_path):
    runs = [{"results": {}, "samples": {task: [TWO[0]]}} for task in "ab"]
    (tmp_path / "s.json").write_text(json.dumps(runs))
    for data in (runs, tmp_path / "s.json"):
        assert [row["id"] for row in rows_of(data)] == ["a/0", "b/0"]
    with pytest.raises(
        InputError, match="record 2: doc_id '0' with the filter 'none' is there twice, first in record 1"
    ):
        evaluated([runs[0], runs[0]])
    with pytest.raises(InputError, match="samples of 'b': expected a list of samples, got 7"):
        evaluated([runs[0], {"samples": {"b": 7}}])


@pytest.mark.parametrize("field", ["doc_id", "target"])
def test_a_number_that_cannot_be_written_out_is_told(field):
    """Python writes no integer of over 4,300 digits."""
    line = {**generated(0, ["x"], "x", 1.0), field: 10**5000}
    with pytest.raises(InputError, match=f"record 1: {field}: expected a text or a number that can be written out"):
        evaluated([line])


def test_versions_that_name_neither_filter_nor_metrics():
    old = [{name: value for name, value in line.items() if name not in ("filter", "metrics")} for line in TWO]
    for line in old:
        line["arguments"] = [list(one.values()) for one in line["arguments"].values()]
    assert evaluated(old)["accuracy"].value == 0.5


def test_the_same_document_twice_is_told(tmp_path):
    with pytest.raises(
        InputError, match=r"\.jsonl:3: doc_id '0' with the filter 'none' is there twice, first in line 1"
    ):
        evaluated(saved(tmp_path, [*TWO, TWO[0]]), skip_bad=True)


@pytest.mark.parametrize("question", ["calibrated", "diverse", "correct"])
def test_two_runs_of_one_task_are_not_one(tmp_path, question):
    (tmp_path / "2").mkdir()
    rows = [generated(0, ["5"], "5", 1.0), generated(1, ["5"], "5", 1.0)]
    files = [saved(tmp_path, rows), saved(tmp_path / "2", rows)]
    told = r"2/samples_t_.*:1: doc_id '0' of 't' with the filter 'none' is in "
    with pytest.raises(InputError, match=told) as error:
        read([str(file) for file in files], question)
    assert f"read one file at a time, or `sensecheck compare {files[0]} {files[1]}`" in str(error.value)
    saved(tmp_path / "2", [generated(2, ["5"], "5", 0.0)])  # other documents of the same task
    assert len(rows_of([str(file) for file in files], question)) == 3


def summary(folder: Path, acc: float, n: int, name: str = f"results_{TIME}.json") -> Path:
    path = folder / name
    path.write_text(json.dumps({"results": {"t": {"sample_len": n, "acc,none": acc}}, "configs": {"t": {}}}))
    return path


@pytest.mark.parametrize(
    ("acc", "n", "said"),
    [
        (0.5, 2, f"agrees with results_{TIME}.json: acc 0.5000 over 2"),
        (0.5, 3, f"differs from results_{TIME}.json, which says acc 0.5000 over 3: here it is 0.5000 over 2"),
        (0.75, 2, f"differs from results_{TIME}.json, which says acc 0.7500 over 2: here it is 0.5000 over 2"),
    ],
)
def test_the_runs_own_results_are_compared(tmp_path, acc, n, said):
    summary(tmp_path, acc, n)
    path = saved(tmp_path, TWO)
    assert said in evaluated(path).notes
    # A part of the records is not compared with the figure of all.
    assert not any(note.startswith(("agrees with", "differs from")) for note in evaluated(path, limit=1).notes)


def test_a_verdict_without_a_confidence_is_part_of_the_figure_that_agrees(tmp_path):
    summary(tmp_path, 0.5, 2)
    result = evaluated(saved(tmp_path, [TWO[0], choice(1, [-1.0, -2.0], 0, 0.0)]))
    assert (result["accuracy"].value, result["accuracy"].n, result["mean_confidence"].n) == (0.5, 2, 1)
    assert f"agrees with results_{TIME}.json: acc 0.5000 over 2" in result.notes


def test_results_of_another_time_or_unreadable_are_left_alone(tmp_path):
    summary(tmp_path, 0.9, 2, "results_2025-01-01T00-00-00.000000.json")
    (tmp_path / f"results_{TIME}.json").write_text("{")
    assert not any("results_" in note for note in evaluated(saved(tmp_path, TWO)).notes)


def test_where_less_is_better_nothing_is_a_verdict(tmp_path):
    lines = [{**generated(0, ["x"], "x", 1.0), "metrics": ["wer"], "wer": 0.25}]
    whole = {"results": {"t": {"wer,none": 0.25}}, "configs": {}, "higher_is_better": {"t": {"wer": False}}}
    (tmp_path / f"results_{TIME}.json").write_text(json.dumps(whole))
    for data in (saved(tmp_path, lines), {**whole, "samples": {"t": lines}}):
        with pytest.raises(InputError, match=r"holds no verdict on answers: 'wer': .* of which less is better"):
            evaluated(data)
        with pytest.raises(InputError, match="'wer' is no verdict on an answer: less of it is better"):
            evaluated(data, scorer="wer")


def test_documents_without_a_line_of_the_filter_are_told():
    lines = [generated(at, ["x"], "x", 1.0, name) for at, name in ((0, "loose"), (1, "loose"), (1, "strict"))]
    result = evaluated(lines, filter="strict")
    assert result["accuracy"].n == 1
    assert "1 of 2 documents have no line of the filter strict and are left out" in result.notes


def test_results_alone_are_refused_and_the_samples_named(tmp_path):
    saved(tmp_path, TWO)
    with pytest.raises(InputError, match=rf"none of its answers. .*--log_samples. Beside it: samples_t_{TIME}.jsonl"):
        evaluated(summary(tmp_path, 0.5, 2))


def test_several_tasks_side_by_side(tmp_path):
    other = [choice(at, [-1.0, -2.0], 0, 1.0, ("left", "right")) for at in (0, 1)]
    other[0]["doc"]["question"] = 4  # a number where the other task has texts
    result = evaluated([saved(tmp_path, TWO, "a"), saved(tmp_path, other, "b_c")], slices=["task"])
    assert result.measurements["id"].to_list() == ["a/0", "a/1", "b_c/0", "b_c/1"]
    assert result["accuracy"].value == 0.75
    with_filters = saved(tmp_path, FILTERED, "d")
    result = evaluated([saved(tmp_path, TWO, "a"), with_filters], filter="loose")
    assert result.signature.method["filter"] == "none+loose"
    assert result.signature.method["scorer"] == "acc+exact_match"
    with pytest.raises(InputError, match="--filter absent"):
        evaluated([saved(tmp_path, TWO, "a"), saved(tmp_path, other, "b_c")], filter="absent")


def test_a_named_scorer_is_never_replaced(tmp_path):
    files = [saved(tmp_path, TWO, "a"), saved(tmp_path, [generated(0, ["5"], "5", 1.0)], "b")]
    told = r"samples_b_.*scorer: expected one of the scorers of this log: exact_match, got 'acc'"
    with pytest.raises(InputError, match=told):
        evaluated(files, scorer="acc")
    bare = {**choice(0, [-1.0, -2.0], 0, None), "metrics": []}
    with pytest.raises(InputError, match=r"samples_b_.*scorer: expected a metric that this log holds, got 'acc'"):
        evaluated([files[0], saved(tmp_path, [bare], "b")], scorer="acc")


@pytest.mark.parametrize(
    "row",
    [
        {"doc_id": 1, "doc": {"a": 1}, "prediction": "x"},
        {"results": {"a": {"acc": 0.5}}, "configs": {}},
        {"resps": [], "id": 1},
        {"results": [1], "versions": {}},
    ],
)
def test_nothing_else_is_taken_for_samples(row):
    found = recognised(Start.of_bytes("x.jsonl", json.dumps(row).encode()))
    assert found is None or found.format.name != "lm-eval"


# ---- the files of real runs


@pytest.fixture
def files(shared):
    folder = shared / "data" / "formats" / "lm_eval"
    if not folder.is_dir():
        pytest.skip("no ../shared/data/formats/lm_eval: needs files that may not be copied into the repository")
    return {path.name.rsplit("_", 1)[0].removeprefix("samples_tiny_"): path for path in folder.glob("*.json*")}


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "chosen", "accuracy", "n", "confidence"),
    [
        ("geo_a", {}, 0.6667, 12, 0.932318),
        ("geo_a", {"scorer": "acc_norm"}, 0.6667, 12, 0.932318),
        ("nli", {}, 0.6667, 9, 0.996436),
        ("sum_a", {"filter": "strict-match"}, 0.75, 8, None),
        ("sum_a", {"filter": "flexible-extract"}, 0.75, 8, None),
        ("sum_repeats_a", {"filter": "score-first"}, 0.625, 8, None),
        ("sum_repeats_a", {"filter": "maj@4"}, 0.75, 8, None),
    ],
)
def test_the_figures_of_real_runs(files, name, chosen, accuracy, n, confidence):
    result = evaluated(files[name], **chosen)
    assert (round(result["accuracy"].value, 4), result["accuracy"].n) == (accuracy, n)
    assert any(note.startswith("agrees with results_") for note in result.notes)
    if confidence is None:
        assert result["mean_confidence"].n == 0
    else:
        assert (round(result["mean_confidence"].value, 6), result["mean_confidence"].n) == (confidence, n)


@pytest.mark.golden
def test_the_brier_score_is_the_harness_own(files):
    own = json.loads(files["results"].read_text())["results"]["tiny_nli"]["brier_score,none"]
    assert round(own, 4) == 0.6609
    assert evaluated(files["nli"])["brier_multiclass"].value == pytest.approx(own, abs=1e-9)


@pytest.mark.golden
def test_repeats_are_responses(files):
    rows = rows_of(files["sum_repeats_a"], "diverse")
    assert [len(row["responses"]) for row in rows] == [4] * 8
