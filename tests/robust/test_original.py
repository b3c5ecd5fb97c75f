"""Parity with BreakNLI: every golden file, every case."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensecheck.robust import original

pytestmark = pytest.mark.golden


def recorded(golden: Path, name: str) -> Any:
    return json.loads((golden / "robust" / f"{name}.json").read_text())


def test_scoring(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for case in recorded(golden, "scoring"):
        strings = original.show_results(case["labels"], case["pred_labels"], case["positive"])
        assert strings == case["result_strings"], case["id"]
        assert capsys.readouterr().out == case["stdout"], case["id"]
        counts = original.count_inequalities(case["labels"], case["pred_labels"], case["positive"])
        assert counts == case["counts"], case["id"]


def test_scoring_truth_table(golden: Path) -> None:
    for row in recorded(golden, "scoring_truth_table"):
        marks = original.pair_marks(row["label"], row["labels_present"], row["positive"])
        assert marks == (row["inequal"], row["relaxed_inequal"]), row


def test_scoring_of_odd_labels() -> None:
    assert original.show_results([0, 2, -1], [[0] * 5, [0] * 5, [1] * 5], True, echo=False) == [
        "0.0%/0.0%",
        "100.0%/100.0%",
        "33.33%/33.33%",
    ]
    with pytest.raises(ZeroDivisionError):
        original.show_results([], [], True, echo=False)


@pytest.mark.parametrize(("version", "key"), [("2023-06", "current"), ("2023-04", "april_2023")])
def test_filter(golden: Path, version: original.Version, key: str) -> None:
    for case in recorded(golden, "filter"):
        kept = original.select(
            case["gold"], case["pred_ph"], case["pred_h_g"], case["pred_g_h"], case["positive"], version
        )
        assert kept == case[key]["selected"], case["id"]
        predicted = [[case["pred_p_g"][row["pair"]][j] for j in row["statements"]] for row in kept]
        assert predicted == case[key]["pred_labels"], case["id"]
        gold = [case["gold"][row["pair"]] for row in kept]
        assert original.show_results(gold, predicted, case["positive"], echo=False) == case[key]["results"]


@pytest.mark.parametrize(("version", "key"), [("2023-06", "current"), ("2023-04", "april_2023")])
def test_evaluation_end_to_end(golden: Path, version: original.Version, key: str) -> None:
    for case in recorded(golden, "filter"):
        n = len(case["gold"])
        premises, hypotheses = [f"p{i}" for i in range(n)], [f"h{i}" for i in range(n)]
        texts = np.array([[f"g{i}-{j}" for j in range(10)] for i in range(n)])

        def predict(a: Sequence[str], b: Sequence[str], case: Any = case) -> list[int]:
            labels = []
            for x, y in zip(a, b, strict=True):
                if "new" in (x, y):
                    labels.append(1)
                elif x[0] == "p" and y[0] == "h":
                    labels.append(case["pred_ph"][int(x[1:])])
                else:
                    table = {"hg": "pred_h_g", "gh": "pred_g_h", "pg": "pred_p_g"}[x[0] + y[0]]
                    i, j = map(int, (x if x[0] == "g" else y)[1:].split("-"))
                    labels.append(case[table][i][j])
            return labels

        result = original.evaluate(
            premises, hypotheses, case["gold"], texts, predict, case["positive"], version=version,
            sample=lambda prompt, h: "new",
        )  # fmt: skip
        assert result["pairs"] == [row["pair"] for row in case[key]["selected"]]
        assert result["slots"] == [row["statements"] for row in case[key]["selected"]]
        assert result["pred_labels"] == case[key]["pred_labels"]
        if version == "2023-06":
            assert result["regeneration_attempts"] == case[key]["regeneration_attempts"]


def test_regeneration(golden: Path) -> None:
    for case in recorded(golden, "regeneration"):
        n = len(case["gold"])
        texts = np.array([[f"statement {i}-{j}." for j in range(10)] for i in range(n)])
        calls, kept = 0, []
        for i in original.pair_order(case["gold"], case["positive"]):
            queue: Iterator[str] = iter(case["generator_script"][str(i)])
            slots, used = original.regenerate(
                texts[i],
                case["passing_slots"][i],
                lambda q=queue: next(q),
                case["accepts"].__getitem__,
            )
            calls += used
            if len(slots) >= 5:
                kept.append({"pair": i, "statements": [str(texts[i][j]) for j in slots[:5]]})
        assert kept == case["original"], case["id"]
        assert calls == case["original_attempts"], case["id"]
        assert case["original_prompts"] == [original.REGENERATION_PROMPT]


def test_regeneration_that_never_ends_is_said_so() -> None:
    row = np.array(["a", "b", "c", "d", "e", "f"])
    with pytest.raises(original.EndlessRegenerationError):
        original.regenerate(row, [0], lambda: "a", lambda text: True, guard=500)


def test_distances(golden: Path) -> None:
    def number(value: Any) -> float:
        return float("nan") if value is None else float(value)

    for case in recorded(golden, "distance"):
        for key, expected in case["expected"].items():
            metric, ordered = key.removesuffix("_sorted"), key.endswith("_sorted")
            summary = original.overall_analysis(case, metric, sorted=ordered)
            np.testing.assert_array_equal(summary, [number(v) for v in expected["summary"]], err_msg=key)
            each = original.statement_distances(case, metric, ordered)
            wanted = [[number(v) for v in row] for row in expected["per_statement"]]
            np.testing.assert_allclose(each, wanted, rtol=0, atol=1e-10, err_msg=key)
            if metric == "variance":
                assert summary[0] == expected["original_mean_std"]
        assert original.overall_analysis(case, "no such metric") == pytest.approx(
            original.overall_analysis(case, "kl_divergence"), nan_ok=True
        )


def test_unique_and_placeholder(golden: Path) -> None:
    for case in recorded(golden, "unique_placeholder"):
        calls: list[list[Any]] = []

        def generate(prompt: str, hypothesis: str, n: int, stricter: bool, case: Any = case, calls: Any = calls) -> Any:
            calls.append([prompt, n, stricter])
            return case["candidates"][14:] if stricter else case["candidates"][:14]

        negative, positive, repeated = original.draw_statements(
            [case["hypothesis"]], generate, np.random.default_rng(0),
            negative_prompt="NEG <hypothesis>", positive_prompt="POS <hypothesis>",
        )  # fmt: skip
        assert calls == case["calls"]
        assert repeated == case["repeat_idx"]
        for row in (negative[0].tolist(), positive[0].tolist()):
            assert len(row) == case["n_returned"]
            if case["placeholder"]:
                assert row == [original.PLACEHOLDER] * 10
            else:
                assert len(set(row)) == 10
                assert set(row) <= set(case["candidates"]) - {case["hypothesis"]}


def test_text_rules(golden: Path) -> None:
    rules = recorded(golden, "text_rules")
    texts = [rule["in"] for rule in rules["standardise"]]
    assert original.standardise(texts) is texts
    assert texts == [rule["out"] for rule in rules["standardise"]]
    for name, case in rules["gpt3_parse"].items():
        if "error" in case:
            with pytest.raises(ValueError, match="inhomogeneous"):
                original.parse_numbered_lists(case["choices"])
        else:
            assert original.parse_numbered_lists(case["choices"]).tolist() == case["parsed"], name
    for text, label in rules["flan_answer"].items():
        assert original.flan_answer(text) == label, text
    for case in rules["batch"]:
        if case["out"] == "IndexError":
            with pytest.raises(IndexError):
                original.batch_it(range(case["n"]), case["batch_size"], case["keep_tail"])
        else:
            out = original.batch_it(range(case["n"]), case["batch_size"], case["keep_tail"])
            assert out == case["out"]
    for case in rules["label_map"]:
        assert original.label_converter(case["label2id"]) == case["original_maps_argmax_0_1_2_to"]


def test_prompt_is_filled_in_turn() -> None:
    assert original.fill("<premise>|<hypothesis>", "a <hypothesis> b", "H") == "a H b|H"
