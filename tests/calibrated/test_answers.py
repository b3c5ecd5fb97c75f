"""Log-probabilities of answers, in the forms that servers write; confidences in words; kinds of tokens; distributions."""

from __future__ import annotations

import json
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sensecheck
from sensecheck.calibrated.token_kinds import TokenKinds
from sensecheck.calibrated.verbalised import CONTESTED, PHRASES, spoken
from sensecheck.cli import main
from sensecheck.statistics.figure import IntervalOptions

NONE = IntervalOptions(method="none")


def chat(text: str, *probabilities: float, **around: Any) -> dict[str, Any]:
    content = [{"token": "x", "logprob": log(p), "bytes": [120], "top_logprobs": []} for p in probabilities]
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "logprobs": {"content": content}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], **around}


def completion(text: str, *probabilities: float | None, **around: Any) -> dict[str, Any]:
    logprobs = {
        "tokens": ["x"] * len(probabilities),
        "token_logprobs": [None if p is None else log(p) for p in probabilities],
        "top_logprobs": None,
    }
    return {"id": "cmpl-1", "choices": [{"text": text, "index": 0, "logprobs": logprobs}], **around}


def rows_of(tmp_path: Path, items: Any, lines: bool = True, **options: Any) -> list[dict[str, Any]]:
    path = tmp_path / "answers.json"
    path.write_text("\n".join(map(json.dumps, items)) if lines else json.dumps(items, indent=1))
    return sensecheck.calibrated.evaluate(path, options=NONE, **options).measurements.to_dicts()


def test_chat_answers_with_gold_or_a_mark(tmp_path: Path) -> None:
    items = [
        chat("Paris", 0.5, 0.8, gold=" Paris\n", id="a"),
        chat("Lyon", 0.9, gold="Paris", id="b"),
        chat("?", 0.25, 0.5, correct=True, gold="no", id="c"),
    ]
    rows = rows_of(tmp_path, items)
    assert [r["id"] for r in rows] == ["a", "b", "c"]
    np.testing.assert_allclose([r["confidence"] for r in rows], [0.4, 0.9, 0.125])
    assert [r["correct"] for r in rows] == [True, False, True]
    rows = rows_of(tmp_path, items, lines=False, aggregate="min")
    np.testing.assert_allclose([r["confidence"] for r in rows], [0.5, 0.9, 0.25])
    rows = rows_of(tmp_path, items[:1], lines=False, aggregate="mean-logprob")
    assert rows[0]["confidence"] == pytest.approx(0.4**0.5)


def test_completions_echo_batch_lines_and_llama(tmp_path: Path) -> None:
    echoed = completion("Paris", None, 0.5, 0.5, target="Paris", id="e")
    batched = {"custom_id": "q7", "response": {"status_code": 200, "body": chat("yes", 0.75)}, "gold": "yes"}
    new = {"id": "n", "content": "ab", "gold": "ab",
           "completion_probabilities": [{"token": "a", "logprob": log(0.5)}, {"token": "b", "logprob": log(0.2)}]}  # fmt: skip
    old = {"id": "o", "content": "ab", "gold": "ac", "completion_probabilities": [
        {"content": "a", "probs": [{"tok_str": "z", "prob": 0.1}, {"tok_str": "a", "prob": 0.9}]}]}  # fmt: skip
    rows = rows_of(tmp_path, [echoed, batched, new, old])
    assert [r["id"] for r in rows] == ["e", "q7", "n", "o"]
    np.testing.assert_allclose([r["confidence"] for r in rows], [0.25, 0.75, 0.1, 0.9])
    assert [r["correct"] for r in rows] == [True, True, True, False]


def test_several_answers_to_one_request_vary_together(tmp_path: Path) -> None:
    one = chat("a", 0.5, gold="a", id="r")
    one["choices"] = [one["choices"][0], chat("b", 0.4)["choices"][0]]
    rows = rows_of(tmp_path, [one, chat("c", 0.9, gold="d", id="s")])
    assert [(r["id"], r["sample"], r["cluster"], r["correct"]) for r in rows] == [
        ("r", "0", "r", True), ("r", "1", "r", False), ("s", None, "s", False),
    ]  # fmt: skip


def test_without_gold_only_confidence_is_known(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(chat("x", 0.5, id=str(i))) for i in range(4)))
    made = sensecheck.calibrated.evaluate(path)
    assert made["mean_confidence"].value == pytest.approx(0.5) and made["mean_confidence"].n == 4
    for name in ("ece", "nll", "auroc", "accuracy", "brier"):
        assert made[name].n == 0 and made[name].unscored_total == 4
    assert "not whether the answers are right" in made.verdict()[0]
    assert any("neither a gold text" in n for n in made.notes)
    assert made.signature.method["level"] == "answer"


def test_bad_answers_are_named_or_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    broken = chat("x", 0.5, correct=True)
    broken["choices"][0]["logprobs"]["content"][0]["logprob"] = 3.0
    path.write_text(json.dumps(chat("x", 0.5, correct=True)) + "\n" + json.dumps(broken) + "\n{torn\n")
    with pytest.raises(
        sensecheck.InputError, match=r"a.jsonl: record 2: logprobs: expected a log-prob.*at most 0 .*, got 3"
    ):
        sensecheck.calibrated.evaluate(path)
    made = sensecheck.calibrated.evaluate(path, skip_bad=True, options=NONE)
    assert made.rows.height == 3 and made["accuracy"].n == 1
    assert made["accuracy"].unscored == {"bad_logprobs": 1, "bad_json": 1}
    path.write_text(json.dumps(chat("x", 0.5, correct="perhaps")))
    with pytest.raises(sensecheck.InputError, match="true/false, 1/0"):
        sensecheck.calibrated.evaluate(path)
    empty = chat("x", correct=True)
    path.write_text(json.dumps(empty))
    made = sensecheck.calibrated.evaluate(path, options=NONE)
    assert (made["accuracy"].value, made["accuracy"].n) == (1.0, 1)
    assert made["mean_confidence"].unscored == {"no confidence": 1}
    assert "there are no log-probabilities: no confidence is known" in made.notes
    path.write_text(json.dumps(empty) + "\n" + json.dumps(chat("y", 0.5, correct=False)))
    made = sensecheck.calibrated.evaluate(path, options=NONE)
    assert (made["accuracy"].value, made["accuracy"].n) == (0.5, 2)
    assert made["mean_confidence"].unscored == {"no confidence": 1}
    assert "1 answer without a confidence: no log-probabilities" in made.notes


def test_slices_and_limits_of_answers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps(chat("x", 0.5, id=i, correct=i % 2, kind="ab"[i % 2])) for i in range(6)))
    made = sensecheck.calibrated.evaluate(path, slices=["kind"], limit=5, options=NONE)
    assert made.rows.height == 5
    assert {f[0].slice["kind"]: f[0].n for f in made.slices("kind")} == {"a": 3, "b": 2}
    with pytest.raises(sensecheck.InputError, match="colour"):
        sensecheck.calibrated.evaluate(path, slices=["colour"])


@pytest.mark.golden
def test_real_files(shared: Path) -> None:
    data = shared / "data" / "calibration"
    judge = sensecheck.calibrated.evaluate(data / "gpt4_top_logprobs.jsonl", slices=["dataset"], options=NONE)
    assert judge["mean_confidence"].n == judge.rows.height == 805
    assert judge["mean_confidence"].value == pytest.approx(0.9713, abs=1e-4)
    assert len(judge.slices("dataset")) == 5
    raw = json.loads((data / "openai_chat_logprobs").read_text())
    tokens = [t["logprob"] for t in raw["choices"][0]["logprobs"]["content"]]
    one = sensecheck.calibrated.evaluate(data / "openai_chat_logprobs", options=NONE)
    assert one["mean_confidence"].value == pytest.approx(exp(sum(tokens)))
    other = sensecheck.calibrated.evaluate(data / "openai_completion_logprobs.json", options=NONE)
    assert 0 < other["mean_confidence"].value < 1e-6
    first = sensecheck.calibrated.evaluate(str(data / "llama13b_arc" / "*norm_logits_first*"), options=NONE)
    assert first["accuracy"].n == 2590 and first["ece"].value == pytest.approx(0.2478, abs=1e-4)
    unscaled = sensecheck.calibrated.evaluate(str(data / "llama13b_arc" / "*raw_logits_first*"))
    assert unscaled["ece"].n == 0 and unscaled["auroc"].value == pytest.approx(0.6187, abs=1e-4)
    assert unscaled["auroc"].low > 0.5 and unscaled.signature.method["scale"] == "raw-logits"
    assert "AUROC" in unscaled.verdict()[0]
    with pytest.raises(sensecheck.InputError, match="some raw logits"):
        sensecheck.calibrated.evaluate(str(data / "llama13b_arc" / "*q0to500*first*"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("85%", 0.85), ("0.85", 0.85), ("Confidence: 85", 0.85), ("about 90 percent", 0.9), ("8/10", 0.8),
        ("7 out of 10", 0.7), ("Very likely.", 0.9), ("I am almost certain", 0.95), ("very unlikely", 0.1),
        ("unlikely", 0.2), ("100%", 1.0), ("confidence = .7", 0.7), ("1", 1.0), ("probably not", 0.25),
    ],
)  # fmt: skip
def test_confidence_in_words(text: str, value: float) -> None:
    found = spoken(text)
    assert found is not None and found[0] == pytest.approx(value)


@pytest.mark.parametrize(
    "text", ["", "no idea", "between 60% and 80%", "150%", "1.7", "likely or unlikely", "-0.5x", "x" * 10_000]
)
def test_what_states_no_confidence(text: str) -> None:
    assert spoken(text) is None


def test_the_scale_is_in_order() -> None:
    assert set(PHRASES) >= CONTESTED
    likely = ["impossible", "very unlikely", "unlikely", "possible", "about even", "likely", "very likely", "certain"]
    values = [PHRASES[p] for p in likely]
    assert values == sorted(values) and len(set(values)) == len(values)


def test_a_table_of_words(tmp_path: Path) -> None:
    path = tmp_path / "said.csv"
    path.write_text("confidence,correct\n85%,1\nvery likely,1\nlikely,0\n0.5,0\n")
    made = sensecheck.calibrated.evaluate(path, options=NONE)
    np.testing.assert_allclose(made.measurements["confidence"], [0.85, 0.9, 0.7, 0.5])
    assert made.signature.method["scale"].startswith("verbalised")
    assert any("very differently: likely" in n for n in made.notes)
    path.write_text("confidence,correct\n85%,1\nbeats me,1\n")
    with pytest.raises(sensecheck.InputError, match=r"said.csv:3: confidence: expected a confidence such as"):
        sensecheck.calibrated.evaluate(path)
    made = sensecheck.calibrated.evaluate(path, skip_bad=True, options=NONE)
    assert made["accuracy"].n == 1 and made.rows.height == 2


def test_kinds_of_tokens() -> None:
    kinds = TokenKinds.of("sql")
    said = {t: kinds(t) for t in ("SELECT", "▁from", "42", "'", "name", "Ġt1.id", "</s>", ",", "count")}
    assert said == {
        "SELECT": "keyword", "▁from": "keyword", "42": "literal", "'": "literal", "name": "identifier",
        "Ġt1.id": "identifier", "</s>": "end", ",": "symbol", "count": "keyword",
    }  # fmt: skip
    assert TokenKinds.of({"a": "vowel"})("a") == "vowel" and TokenKinds.of({"a": "vowel"})("b") == "other"
    assert TokenKinds.of({"classes": {"digit": "[0-9]"}})("7") == "digit"
    for bad in ({}, {"a": 1}, [1]):
        with pytest.raises(sensecheck.InputError):
            TokenKinds._from(bad, "x", "x")
    with pytest.raises(sensecheck.InputError, match="regular expression"):
        TokenKinds.of({"classes": {"broken": "("}})


def logits_file(path: Path) -> Path:
    rng = np.random.default_rng(0)
    words = ["SELECT", "name", "7", ","]
    with path.open("w") as stream:
        for i in range(30):
            labels = rng.integers(0, 4, 6)
            best = rng.uniform(0.4, 0.99, 6)
            chosen = np.where(rng.random(6) < best, labels, (labels + 1) % 4)
            line = {"id": f"s{i}", "labels": labels.tolist(), "tokens": [words[t] for t in labels],
                    "top_logits": [[1 - b, b] for b in best],
                    "top_logit_idxs": [[int((c + 2) % 4), int(c)] for c in chosen]}  # fmt: skip
            stream.write(json.dumps(line) + "\n")
    return path


def test_tokens_by_kind_and_by_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = logits_file(tmp_path / "dev.logits")
    made = sensecheck.calibrated.evaluate(path, token_kinds="sql", slices=["position_range"], options=NONE)
    counts = {f[0].slice["token_kind"]: f[0].n for f in made.slices("token_kind")}
    assert set(counts) == {"keyword", "identifier", "literal", "symbol"} and sum(counts.values()) == 180
    places = {f[0].slice["position_range"]: f[0].n for f in made.slices("position_range")}
    assert places == {"000": 30, "001": 30, "002–003": 60, "004–007": 60}
    (tmp_path / "kinds.json").write_text(json.dumps({"SELECT": "first", "7": "number"}))
    assert main(["calibrated", str(path), "--token-kinds", str(tmp_path / "kinds.json"), "--no-ci"]) == 0
    assert "by token_kind" in capsys.readouterr().out


def test_whole_distributions(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=(800, 3))
    p = np.exp(1.5 * z) / np.exp(1.5 * z).sum(1, keepdims=True)
    labels = rng.integers(0, 3, 800)
    names = ["yes", "no", "maybe"]
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(json.dumps({"probabilities": dict(zip(names, q.tolist(), strict=True)), "label": names[k]})
                              for q, k in zip(p, labels, strict=True)))  # fmt: skip
    made = sensecheck.calibrated.evaluate(path, bins=10, out=tmp_path / "run")
    wanted = 0.0
    for k in range(3):
        b = np.minimum((p[:, k] * 10).astype(int), 9)
        wanted += sum(abs((p[b == i, k] - (labels[b == i] == k)).sum()) for i in range(10)) / 800 / 3
    assert made["classwise_ece"].value == pytest.approx(wanted)
    assert made["accuracy"].value == pytest.approx((p.argmax(1) == labels).mean())
    assert made["classwise_ece"].low <= wanted <= made["classwise_ece"].high
    assert sensecheck.load(tmp_path / "run")["classwise_ece"].value == pytest.approx(wanted)
    path.write_text('{"probabilities": [0.5, 0.6], "label": 0}')
    with pytest.raises(sensecheck.InputError, match="sum to 1"):
        sensecheck.calibrated.evaluate(path)
    path.write_text('{"probabilities": [0.5, 0.5], "label": 2}')
    with pytest.raises(sensecheck.InputError, match="one of the classes 0, 1"):
        sensecheck.calibrated.evaluate(path)


def test_scores_of_whole_distributions_are_scikit_learns(tmp_path: Path) -> None:
    """Its log_loss and its brier_score_loss(scale_by_half=False), by their formulas."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet([0.8, 1.0, 1.5], 300)
    labels = rng.integers(0, 3, 300)
    path = tmp_path / "d.jsonl"

    def written(p: Any) -> sensecheck.Result:
        lines = [{"probabilities": q.tolist(), "label": int(k)} for q, k in zip(p, labels, strict=True)]
        path.write_text("\n".join(map(json.dumps, lines)))
        return sensecheck.calibrated.evaluate(path)

    made = written(p)
    of_gold = p[np.arange(300), labels]
    assert made["nll_multiclass"].value == pytest.approx(-np.log(of_gold).mean())
    assert made["nll_multiclass_clipped"].value == pytest.approx(-np.log(np.clip(of_gold, 1e-6, 1 - 1e-6)).mean())
    assert made["brier_multiclass"].value == pytest.approx(((p - np.eye(3)[labels]) ** 2).sum(1).mean())
    assert made["nll_multiclass"].low < made["nll_multiclass"].value < made["nll_multiclass"].high
    assert made["brier_multiclass"].low < made["brier_multiclass"].value < made["brier_multiclass"].high
    p[0] = np.eye(3)[(labels[0] + 1) % 3]
    made = written(p)
    assert made["nll_multiclass"].value == float("inf") and made["nll_multiclass"].low is None
    assert made["nll_multiclass"].beside == {"gold class at 0": 1}
    of_gold = p[np.arange(300), labels]
    assert made["nll_multiclass_clipped"].value == pytest.approx(-np.log(np.clip(of_gold, 1e-6, 1 - 1e-6)).mean())


@pytest.mark.parametrize(
    ("steps", "confidence"),
    [
        ([{"content": "a", "probs": [{"tok_str": "a", "prob": 0.5}, {"tok_str": "b", "prob": 0.5}]}], 0.5),
        ([{"content": "a", "probs": [{"tok_str": "a", "prob": 0}]}], 0.0),
        (
            [{"content": "a", "probs": [{"tok_str": "b", "prob": 0.9}]}],
            "probability of the token 'a' among its `probs`",
        ),
        ([{"content": "a", "probs": [3]}], "`probs` with objects"),
        ([{"content": "a", "probs": None}], "`probs` with objects"),
        ([1, 2], "an object for every token"),
    ],
)
def test_older_llama_cpp(tmp_path: Path, steps: list[Any], confidence: float | str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"completion_probabilities": steps, "correct": "yes"}) + "\n")
    if isinstance(confidence, float):
        made = sensecheck.calibrated.evaluate(path).measurements
        assert made.select("confidence", "correct").rows() == [(pytest.approx(confidence), True)]
        return
    with pytest.raises(sensecheck.InputError, match=f"record 1: completion_probabilities: .*{confidence}"):
        sensecheck.calibrated.evaluate(path)
    assert sensecheck.calibrated.evaluate(path, skip_bad=True).unscored() == {"bad_logprobs": 1}


@pytest.mark.parametrize("mark", [True, 1, 1.0, "1", "yes", "True", "Correct"])
def test_answers_are_marked_as_tables_are(tmp_path: Path, mark: Any) -> None:
    path = tmp_path / "a.jsonl"
    made = {"choices": [{"text": "a", "logprobs": {"tokens": None, "token_logprobs": [-0.1]}}], "correct": mark}
    path.write_text(json.dumps(made) + "\n")
    assert sensecheck.calibrated.evaluate(path).measurements["correct"].to_list() == [True]
