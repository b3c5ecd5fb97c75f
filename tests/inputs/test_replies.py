"""Replies of servers and engines: the text, its own tokens, and calls that failed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from math import exp, log
from pathlib import Path
from typing import Any

import pytest

from sensecheck import calibrated, correct, diverse
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.replies import own_tokens
from sensecheck.report.instrument import NothingScored
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions

NONE = IntervalOptions(method="none")
HALF, STOP = log(0.5), log(0.8)


def tokens(*logprobs: float) -> list[dict[str, Any]]:
    return [{"token": t, "logprob": p} for t, p in zip(["Pa", "ris", "\n"], logprobs, strict=False)]


def choice(**fields: Any) -> dict[str, Any]:
    return {"logprobs": {"content": tokens(HALF, HALF, STOP)}, "finish_reason": "stop", **fields}


CHAT = {"id": "c", "choices": [choice(message={"role": "assistant", "content": "Paris"})]}
SHAPES: dict[str, dict[str, Any]] = {
    "chat": CHAT,
    "chat in parts": {"choices": [choice(message={"content": [{"type": "text", "text": "Paris"}]})]},
    "completions": {
        "choices": [
            {"text": "Paris", "logprobs": {"tokens": ["Pa", "ris", "\n"], "token_logprobs": [HALF, HALF, STOP]}}
        ]
    },
    "responses": {
        "object": "response",
        "status": "completed",
        "output": [
            {"type": "reasoning", "content": None},
            {
                "type": "message",
                "content": [{"type": "output_text", "text": "Paris", "logprobs": tokens(HALF, HALF, STOP)}],
            },
        ],
    },
    "batch": {"custom_id": "c", "response": {"status_code": 200, "body": CHAT}, "error": None},
    "wrapped": {"id": "x", "response": CHAT},
    "vllm": {
        "request_id": "0",
        "outputs": [
            {
                "text": "Paris",
                "token_ids": [5, 6, 7],
                "finish_reason": "stop",
                "logprobs": [
                    {"5": {"logprob": HALF, "decoded_token": "Pa"}, "9": {"logprob": -3.0, "decoded_token": "Lo"}},
                    {"6": {"logprob": HALF, "decoded_token": "ris"}},
                    {"7": {"logprob": STOP, "decoded_token": "\n"}},
                ],
            }
        ],
    },
    "vllm, the stop token told": {
        "outputs": [
            {
                "text": "Paris",
                "token_ids": [5, 6, 2],
                "finish_reason": "stop",
                "stop_reason": 2,
                "logprobs": [{"5": {"logprob": HALF}}, {"6": {"logprob": HALF}}, {"2": {"logprob": STOP}}],
            }
        ]
    },
    "llama.cpp": {
        "content": "Paris",
        "completion_probabilities": [{"token": "Pa", "logprob": HALF}, {"token": "ris", "logprob": HALF},
                                     {"token": "\n", "logprob": STOP}],
    },
    "llama.cpp after sampling": {
        "content": "Paris",
        "completion_probabilities": [{"token": "Pa", "prob": 0.5}, {"token": "ris", "prob": 0.5},
                                     {"token": "\n", "prob": 0.8}],
    },
    "llama.cpp of old": {
        "content": "Paris",
        "completion_probabilities": [
            {"content": "Pa", "probs": [{"tok_str": "Lo", "prob": 0.4}, {"tok_str": "Pa", "prob": 0.5}]},
            {"content": "ris", "probs": [{"tok_str": "ris", "prob": 0.5}]},
            {"content": "\n", "probs": [{"tok_str": "\n", "prob": 0.8}]},
        ],
    },
    "tgi": {
        "generated_text": "Paris",
        "details": {
            "prefill": [{"id": 1, "logprob": None, "text": "Q"}],
            "tokens": [
                {"id": 5, "text": "Pa", "logprob": HALF, "special": False},
                {"id": 6, "text": "ris", "logprob": HALF, "special": False},
                {"id": 2, "text": "</s>", "logprob": STOP, "special": True},
            ],
        },
    },
    "sglang": {
        "text": "Paris",
        "meta_info": {
            "finish_reason": {"type": "stop", "matched": 2},
            "output_token_logprobs": [[HALF, 5, None], [HALF, 6, None], [STOP, 2, None]],
        },
    },
    "gemini": {
        "candidates": [
            {
                "content": {"parts": [{"text": "hm", "thought": True}, {"text": "Paris"}]},
                "avgLogprobs": -0.1,
                "logprobsResult": {
                    "chosenCandidates": [
                        {"token": "Pa", "logProbability": HALF}, {"token": "ris", "logProbability": HALF},
                        {"token": "\n", "logProbability": STOP},
                    ]
                },
            }
        ]
    },
    "transformers": {
        "text": " Paris",
        "tokens": ["ĠPa", "ris", "Ċ"],
        "transition_scores": [HALF, HALF, STOP],
    },
}  # fmt: skip


def evaluated(path: Path, *records: Any, **options: Any) -> Result:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return calibrated.evaluate(path, options=NONE, **options)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_answers_own_tokens_count(tmp_path: Path, shape: str) -> None:
    reply = {**SHAPES[shape], "gold": "Paris"}
    rows = evaluated(tmp_path / "a.jsonl", reply, reply).measurements
    assert rows["confidence"].to_list() == [pytest.approx(0.25)] * 2
    assert rows["correct"].to_list() == [True, True]
    with_stop = evaluated(tmp_path / "a.jsonl", reply, with_stop=True)
    assert with_stop.measurements["confidence"].to_list() == [pytest.approx(0.2)]
    assert "with-stop:yes" in with_stop.signature.short


@pytest.mark.parametrize("shape", SHAPES)
def test_in_memory_as_in_a_file(tmp_path: Path, shape: str) -> None:
    replies = [{**SHAPES[shape], "gold": gold} for gold in ("Paris", "Rome")]
    of_file = evaluated(tmp_path / "a.jsonl", *replies)
    of_list = calibrated.evaluate(replies, options=NONE)
    assert of_list.measurements.equals(of_file.measurements)
    document = tmp_path / "all.json"
    document.write_text(json.dumps(replies))
    assert calibrated.evaluate(document, options=NONE).measurements.equals(of_file.measurements)


def test_one_reply_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**CHAT, "correct": True}, indent=2))
    assert calibrated.evaluate(path, options=NONE)["mean_confidence"].value == pytest.approx(0.25)


def test_lines_that_are_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    long = {**CHAT, "gold": "Paris", "prompt": "x" * 1_200_000}
    assert evaluated(tmp_path / "a.jsonl", long, long)["accuracy"].n == 2
    assert evaluated(tmp_path / "a.jsonl", long)["accuracy"].n == 1
    path = tmp_path / "a.json"
    path.write_text(json.dumps(long, indent=1))
    assert calibrated.evaluate(path, options=NONE)["accuracy"].n == 1


@pytest.mark.parametrize(
    ("text", "pieces", "own"),
    [
        ("Paris", [b"Pa", b"ris"], 2),
        ("Paris", [b"Pa", b"ris", b"</s>"], 2),
        ("Paris", [b" Pa", b"ris", b"\n"], 2),
        ("Paris", [b"  ", b"Pa", b"ris", b"\n", b"\n"], 3),
        (" Paris\n", [b" Pa", b"ris", b"\n", b"</s>"], 3),
        ("é", [b"\xc3", b"\xa9", b"!"], 2),
        ("Café", ["ĠCaf".encode(), "Ã©".encode(), "Ċ".encode()], 2),
        ("Paris", ["▁Paris".encode(), b"</s>"], 1),
        ("Paris", [b"Lon", b"don"], None),
        ("Paris", [b"Pa", None], None),
        ("Paris", [], None),
        ("", [b"</s>"], 0),
        ("", [], None),
    ],
)
def test_which_tokens_spell_a_text(text: str, pieces: list[bytes | None], own: int | None) -> None:
    assert own_tokens(text, pieces) == (None if own is None else (0, own))


def test_tokens_of_a_reasoning_are_not_the_answers(tmp_path: Path) -> None:
    steps = [("Is it ", -1.0), ("Paris?", -2.0), ("</think>\n\n", -0.5), ("Pa", HALF), ("ris", HALF), ("</s>", STOP)]
    reply = {
        "choices": [
            {
                "message": {"content": "Paris", "reasoning_content": "Is it Paris?"},
                "logprobs": {"content": [{"token": token, "logprob": value} for token, value in steps]},
            }
        ],
        "gold": "Paris",
    }
    assert evaluated(tmp_path / "a.jsonl", reply)["mean_confidence"].value == pytest.approx(0.25)
    made = evaluated(tmp_path / "a.jsonl", reply, with_stop=True)
    assert made["mean_confidence"].value == pytest.approx(0.2)
    assert not any("do not spell" in note for note in made.notes)


def test_tokens_that_do_not_spell_the_text_all_count_and_are_told(tmp_path: Path) -> None:
    reply = {"choices": [choice(message={"content": "London"})], "gold": "London"}
    made = evaluated(tmp_path / "a.jsonl", reply)
    assert made["mean_confidence"].value == pytest.approx(0.2)
    assert any(note.startswith("1 answer has tokens that do not spell the text") for note in made.notes)


def test_log_probabilities_that_are_all_zero_stand_for_none(tmp_path: Path) -> None:
    zeros = {"choices": [{"message": {"content": "Paris"}, "logprobs": {"content": tokens(0.0, 0.0)}}], "gold": "Paris"}
    made = evaluated(tmp_path / "a.jsonl", zeros, zeros)
    assert (made["accuracy"].n, made["mean_confidence"].n) == (2, 0)
    assert any(note.startswith("every log-probability is 0.0") for note in made.notes)
    made = evaluated(tmp_path / "a.jsonl", zeros, {**CHAT, "gold": "Paris"})
    assert made.measurements["confidence"].to_list() == [1.0, pytest.approx(0.25)]


def test_an_answer_of_nothing_is_the_token_that_ended_it(tmp_path: Path) -> None:
    reply = {"choices": [{"message": {"content": ""}, "logprobs": {"content": [{"token": "</s>", "logprob": STOP}]}}]}
    assert evaluated(tmp_path / "a.jsonl", reply)["mean_confidence"].value == pytest.approx(0.8)


FAILED = {
    "status": ({"custom_id": "b", "response": {"status_code": 404, "body": None}, "error": {"code": 404}},
               "call failed: status 404"),
    "error in the body": (
        {"custom_id": "b", "response": {"status_code": 429, "body": {"error": {"type": "rate_limit"}}}},
        "call failed: status 429"),
    "expired": ({"custom_id": "b", "response": None, "error": {"code": "batch_expired", "message": "…"}},
                "call failed: batch_expired"),
    "anthropic": ({"custom_id": "b", "result": {"type": "errored", "error": {"type": "invalid_request"}}},
                  "call failed: errored (invalid_request)"),
    "anthropic, expired": ({"custom_id": "b", "result": {"type": "expired"}}, "call failed: expired"),
    "gemini, blocked": ({"id": "b", "response": {"promptFeedback": {"blockReason": "SAFETY"}}},
                        "call failed: no candidate (SAFETY)"),
    "responses": ({"id": "b", "object": "response", "status": "failed", "output": [{"type": "reasoning"}],
                   "error": {"code": "server_error"}}, "call failed: server_error"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILED)
@pytest.mark.parametrize("first", [True, False])
def test_a_failed_call_is_unscored_with_its_reason(tmp_path: Path, kind: str, first: bool) -> None:
    failed, why = FAILED[kind]
    good = {"custom_id": "a", "response": {"status_code": 200, "body": CHAT}, "gold": "Paris"}
    made = evaluated(tmp_path / "a.jsonl", *([failed, good] if first else [good, failed]))
    assert (made["accuracy"].value, made["accuracy"].n, made["accuracy"].unscored) == (1.0, 1, {why: 1})
    assert made.measurements.filter("scored").height == 1


def test_a_failed_call_is_not_missed_among_golds(tmp_path: Path) -> None:
    replies = [{"custom_id": f"q{i}", "response": {"status_code": 200, "body": CHAT}} for i in range(3)]
    replies.insert(1, {"custom_id": "bad", "response": {"status_code": 500, "body": None}})
    for golds in ("q0,q1,q2", "q2,bad,q1,q0"):  # with and without a gold of its own
        gold = tmp_path / "gold.csv"
        gold.write_text("custom_id,gold\n" + "".join(f"{name},Paris\n" for name in golds.split(",")))
        made = evaluated(tmp_path / "a.jsonl", *replies, gold=gold)
        assert (made["accuracy"].n, made["accuracy"].unscored) == (3, {"call failed: status 500": 1})
    gold.write_text("gold\n" + "Paris\nnothing\nParis\nParis\n")  # line by line it has a place
    made = evaluated(tmp_path / "a.jsonl", *replies, gold=gold)
    assert (made["accuracy"].value, made["accuracy"].n) == (1.0, 3)


def test_all_calls_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(FAILED["status"][0]) + "\n")
    assert main(["calibrated", str(path)]) == 2
    assert "call failed: status 404 (1)" in capsys.readouterr().err


def test_requests_beside_replies(tmp_path: Path) -> None:
    requests = tmp_path / "in.jsonl"
    asked = [{"role": "system", "content": "s"}, {"role": "user", "content": "Where?"}]
    requests.write_text(
        "".join(
            json.dumps(
                {"custom_id": n, "method": "POST", "url": "/v1", "body": {"messages": asked, "metadata": {"k": n}}}
            )
            + "\n"
            for n in "abc"
        )
    )
    path = tmp_path / "out.jsonl"
    path.write_text(
        "".join(json.dumps({"custom_id": n, "response": {"status_code": 200, "body": CHAT}}) + "\n" for n in "ba")
    )
    gold = tmp_path / "gold.csv"
    gold.write_text("custom_id,gold\na,Paris\nb,Rome\nc,Oslo\n")
    made = calibrated.evaluate([path, requests], gold=gold, slices="k", options=NONE)
    assert (made["accuracy"].value, made["accuracy"].n, made["accuracy"].unscored) == (0.5, 2, {"no reply": 1})
    assert {figures[0].slice["k"] for figures in made.slices("k")} >= {"a", "b"}
    with pytest.raises(InputError, match="holds what a batch asked, and no replies"):
        calibrated.evaluate(requests)


def test_several_answers_with_golds_elsewhere(tmp_path: Path) -> None:
    several = {"choices": [choice(message={"content": text}) for text in ("Paris", "Paris", "Rome")]}
    replies = [{"custom_id": n, "response": {"status_code": 200, "body": several}} for n in "ab"]
    gold = tmp_path / "gold.csv"
    gold.write_text("custom_id,gold\nb,Paris\na,Paris\n")
    made = evaluated(tmp_path / "a.jsonl", *replies, gold=gold)
    assert made["accuracy"].n == 6 and made["accuracy"].value == pytest.approx(2 / 3)
    assert "repeat:sample" in made.signature.short
    assert made["pass@2"].value == pytest.approx(1.0)


def test_a_mean_log_probability_is_a_figure_of_the_sequence(tmp_path: Path) -> None:
    reply: dict[str, Any] = {"candidates": [{"content": {"parts": [{"text": "Paris"}]}, "avgLogprobs": HALF}]}
    path = tmp_path / "a.jsonl"
    made = evaluated(path, {**reply, "gold": "Paris"}, aggregate="mean-logprob")
    assert made["mean_confidence"].value == pytest.approx(0.5)
    counted = {**reply, "usageMetadata": {"candidatesTokenCount": 3}, "gold": "Paris"}
    assert evaluated(path, counted)["mean_confidence"].value == pytest.approx(0.125)
    made = evaluated(path, {**reply, "gold": "Paris"})
    assert (made["accuracy"].n, made["mean_confidence"].n) == (1, 0)
    assert any("--aggregate mean-logprob" in note for note in made.notes)
    with pytest.warns(NothingScored, match="aggregate mean-logprob"):
        evaluated(path, reply)


def test_a_server_without_log_probabilities_is_told(tmp_path: Path) -> None:
    def message(text: str, gold: str) -> dict[str, Any]:
        return {"type": "message", "content": [{"type": "text", "text": text}], "gold": gold}

    path = tmp_path / "a.jsonl"
    made = evaluated(path, message("Paris", "Paris"), message("Rome", "Oslo"))
    assert (made["accuracy"].value, made["accuracy"].n, made["ece"].n) == (0.5, 2, 0)
    assert "Anthropic gives no log-probabilities: no confidence is known" in made.notes
    assert made.verdict()[0].startswith("Whether the answers are right is known")
    made = evaluated(path, message("Paris\nConfidence: 60%", "Paris"), message("Rome\n\nConfidence: 0.9.", "Rome"))
    assert made.measurements["confidence"].to_list() == [0.6, 0.9]
    assert made["accuracy"].value == 1.0
    assert "scale:verbalised" in made.signature.short


@dataclass
class Logprob:
    logprob: float
    decoded_token: str | None = None


class Output:
    """As vLLM's: a plain object."""

    def __init__(self) -> None:
        self.text, self.token_ids, self.finish_reason, self.stop_reason = "Paris", (5, 6, 7), "stop", None
        self.logprobs = [{5: Logprob(HALF, "Pa")}, {6: Logprob(HALF, "ris")}, {7: Logprob(STOP, "\n")}]


@dataclass
class RequestOutput:
    request_id: str
    outputs: list[Output] = field(default_factory=lambda: [Output()])


class Pydantic:
    """As the clients of OpenAI and others give it."""

    def model_dump(self) -> dict[str, Any]:
        return dict(CHAT)


def test_objects_of_clients_and_engines() -> None:
    for replies in ([RequestOutput("0"), RequestOutput("1")], [Pydantic(), Pydantic()], (Pydantic(),), Pydantic()):
        made = calibrated.evaluate(replies, options=NONE)
        assert made["mean_confidence"].value == pytest.approx(0.25)
    golds = [{"gold": "Paris"}, {"gold": "Rome"}]
    made = calibrated.evaluate([RequestOutput("0"), RequestOutput("1")], gold=golds, options=NONE)
    assert made["accuracy"].value == 0.5


@pytest.mark.parametrize(
    "text",
    ["RequestOutput(request_id=0, prompt='a')\n", "[ChatCompletion(id='x', choices=[])]\n", "Generate(sequences=1)"],
)
def test_a_printed_object_is_refused_with_what_to_save(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=r"is what Python prints of an object .* Instead, .*save"):
        calibrated.evaluate(path)


def test_a_piece_of_a_stream_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected whole replies, got a piece of a stream"):
        evaluated(tmp_path / "a.jsonl", {"choices": [{"delta": {"content": "P"}, "finish_reason": None}]})


@pytest.mark.parametrize(
    "reply",
    [
        {"choices": [1]},
        {"other": 1},
        {},
        {"choices": [{"message": {"content": "a"}, "logprobs": {"content": [{"token": "a", "logprob": "x"}]}}]},
        {"choices": [{"message": {"content": "a"}, "logprobs": {"content": [{"token": "a", "logprob": 2}]}}]},
        {"outputs": [{"text": "a", "token_ids": [1], "logprobs": [{"2": {"logprob": -1}}]}]},
        {"text": "a", "meta_info": {"output_token_logprobs": [3]}},
        {"candidates": [{"content": {}, "avgLogprobs": 7}]},
        {"generated_text": "a", "details": {"tokens": [1]}},
        {"candidates": [{"content": {"parts": [{"text": "a"}]}, "logprobsResult": {"chosenCandidates": [1]}}]},
    ],
)
def test_odd_parts_are_named_and_counted(tmp_path: Path, reply: dict[str, Any]) -> None:
    path = tmp_path / "a.jsonl"
    good = {**CHAT, "gold": "Paris"}
    path.write_text(json.dumps(good) + "\n" + json.dumps({**reply, "gold": "a"}) + "\n")
    with pytest.raises(InputError, match=r"a.jsonl: record 2"):
        calibrated.evaluate(path)
    made = calibrated.evaluate(path, skip_bad=True, options=NONE)
    assert (made["accuracy"].n, made["accuracy"].unscored_total) == (1, 1)


def test_tables_with_choices_are_no_replies(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"choices": ["a", "b"], "confidence": 0.5, "correct": true}\n' * 3)
    assert calibrated.evaluate(path, options=NONE).signature.method["level"] == "row"


def test_replies_for_other_questions(tmp_path: Path) -> None:
    several = {"id": "q", "choices": [choice(message={"content": text}) for text in ("a b", "a c")]}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(several) + "\n")
    assert diverse.evaluate(path, options=NONE)["distinct_1"].value == pytest.approx(0.75)


def test_white_space_around_a_query_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"choices": [choice(message={"content": " SELECT 1\n"})], "gold": "SELECT 1"}) + "\n")
    assert correct.evaluate(path, language="sql", options=NONE)["em"].value == 1.0


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "accuracy", "confidence", "n"),
    [
        ("openai/vllm_chat_geo_a.jsonl", 8 / 12, 0.601880, 12),
        ("openai/vllm_completions_geo_a.jsonl", 8 / 12, 0.601880, 12),
        ("openai/vllm_responses_geo_a.jsonl", 8 / 12, 0.597587, 12),  # here the text ends in the stop itself
        ("vllm/request_outputs.jsonl", 8 / 12, 0.601880, 12),
        ("llamacpp/native_completion_n_probs.jsonl", 8 / 12, 0.601904, 12),
        ("llamacpp/oai_v1_completions_n_probs.jsonl", 8 / 12, 0.601904, 12),
        ("llamacpp/chat_logprobs.jsonl", 8 / 12, 0.597611, 12),
        ("llamacpp/old_names_derived.jsonl", 6 / 8, 0.592555, 8),
        ("sglang/generate_meta_info_derived.jsonl", 6 / 8, 0.592514, 8),
        ("gemini_anthropic/gemini_logprobsResult_derived.jsonl", 6 / 8, 0.592514, 8),
        ("gemini_anthropic/anthropic_messages.jsonl", 4 / 6, 0.725, 6),
        ("hf_generate/geo_a.jsonl", 8 / 12, 0.601880, 12),
    ],
)
def test_files_of_servers(shared: Path, name: str, accuracy: float, confidence: float, n: int) -> None:
    made = calibrated.evaluate(shared / "data/formats" / name, options=NONE)
    assert made["accuracy"].value == pytest.approx(accuracy)
    assert made["accuracy"].n == n
    assert made["mean_confidence"].value == pytest.approx(confidence, abs=1e-6)


@pytest.mark.golden
def test_files_of_servers_with_the_token_that_ends(shared: Path) -> None:
    for name in ("openai/vllm_chat_geo_a.jsonl", "vllm/request_outputs.jsonl"):
        made = calibrated.evaluate(shared / "data/formats" / name, with_stop=True, options=NONE)
        assert made["mean_confidence"].value == pytest.approx(0.597586, abs=2e-6)


@pytest.mark.golden
def test_batches_and_samples(shared: Path) -> None:
    folder = shared / "data/formats"
    gold = folder / "openai/batch_gold.csv"
    for data in ([folder / "openai/batch_output.jsonl"],
                 [folder / "openai/batch_output.jsonl", folder / "openai/batch_input.jsonl"]):  # fmt: skip
        made = calibrated.evaluate(data, gold=gold, options=NONE)
        assert (made["accuracy"].value, made["accuracy"].n) == (0.75, 8)
        assert made["accuracy"].unscored == {"call failed: status 404": 1}
    anthropic = folder / "gemini_anthropic"
    made = calibrated.evaluate(
        anthropic / "anthropic_batch_results.jsonl", gold=anthropic / "anthropic_batch_gold.csv", options=NONE
    )
    assert (made["accuracy"].value, made["accuracy"].n) == (0.8, 5)
    made = calibrated.evaluate(folder / "openai/vllm_chat_n3_geo_a.jsonl")
    assert (made["accuracy"].n, made["accuracy"].clusters) == (36, 12)
    only = folder / "gemini_anthropic/gemini_avgLogprobs_only.json"
    made = calibrated.evaluate(only, aggregate="mean-logprob", options=NONE)
    assert made["mean_confidence"].value == pytest.approx(exp(-0.6608115907699342))
    for name, n in (("test_bloom_560m", 1), ("test_flash_llama_simple", 1), ("test_flash_llama_load", 4)):
        made = calibrated.evaluate(folder / f"tgi/{name}.json", options=NONE)
        assert (made["mean_confidence"].n, made["accuracy"].n) == (n, 0)
    with pytest.raises(InputError, match="prints of an object"):
        calibrated.evaluate(folder / "vllm/request_outputs_repr.txt")


# ---- what an attack found


def test_places_of_failed_calls_hold_over_several_files(tmp_path: Path) -> None:
    def answer(name: str, text: str) -> dict[str, Any]:
        reply = {
            "choices": [{"message": {"content": text}, "logprobs": {"content": [{"token": text, "logprob": -0.1}]}}]
        }
        return {"custom_id": name, "response": {"status_code": 200, "body": reply}}

    failed = {"custom_id": "f", "response": {"status_code": 500, "body": None}}
    gold = tmp_path / "g.csv"
    gold.write_text("gold\nx\ny\nz\n")
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    two.write_text(json.dumps(answer("r2", "z")) + "\n")
    for lines in ([failed, answer("r1", "y")], [answer("r0", "x"), failed]):
        one.write_text("".join(json.dumps(line) + "\n" for line in lines))
        made = calibrated.evaluate([one, two], gold=gold, on="line", options=NONE)
        assert (made["accuracy"].value, made["accuracy"].n) == (1.0, 2)
    requests = tmp_path / "in.jsonl"
    requests.write_text(
        "".join(json.dumps({"custom_id": n, "method": "POST", "body": {"prompt": n}}) + "\n" for n in ("r0", "f", "r2"))
    )
    one.write_text("".join(json.dumps(line) + "\n" for line in (answer("r0", "x"), failed, answer("r2", "z"))))
    made = calibrated.evaluate([one, requests], gold=gold, on="line", options=NONE)
    assert (made["accuracy"].value, made["accuracy"].n) == (1.0, 2)
    one.write_text("".join(json.dumps(line) + "\n" for line in (answer("r0", "x"), answer("r2", "z"))))
    with pytest.raises(InputError, match="1 requests have no reply, and without a key"):
        calibrated.evaluate([one, requests], gold=gold, on="line")


@pytest.mark.parametrize(
    "column",
    [
        {"choices": [{"text": "A"}, {"text": "B"}]},
        {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]},
        {"error": 0.25},
        {"error": "boom"},
        {"error": {"code": 5}},
        {"response": {"status_code": 500}},
        {"result": {"type": "succeeded"}},
        {"promptFeedback": "x"},
        {"outputs": [{"text": "a"}]},
        {"candidates": [{"content": "x"}]},
        {"logprobs": {"content": []}},
        {"logprobs": [-0.1, -0.2]},
        {"transition_scores": [-0.1]},
        {"unscored_because": "no"},
    ],
)
def test_a_table_of_confidences_is_a_table_whatever_else_it_holds(tmp_path: Path, column: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"confidence": 0.9, "correct": True, **column}, {"confidence": 0.8, "correct": False}]))
    made = calibrated.evaluate(path, options=NONE)
    assert (made["accuracy"].value, made["accuracy"].n) == (0.5, 2)
    assert made["mean_confidence"].value == pytest.approx(0.85)


@pytest.mark.parametrize(
    "reply",
    [
        {"outputs": [{"text": "x", "token_ids": [1], "cumulative_logprob": False}]},
        {"outputs": [{"text": "x", "token_ids": 5, "cumulative_logprob": -1.0}]},
        {"outputs": [{"text": "x", "token_ids": [1], "cumulative_logprob": -(10**400)}]},
        {"candidates": [{"content": {"parts": [{"text": "x"}]}, "avgLogprobs": False, "tokenCount": 3}]},
        {"candidates": [{"content": {"parts": 5}, "avgLogprobs": True}]},
        {"token_logprobs": 5, "choices": [{"message": {"content": "x"}}]},
        {"token_logprobs": "abc", "stop_logprobs": ["a"], "choices": [{"message": {"content": "x"}}]},
    ],
)
def test_odd_values_are_no_confidence(reply: dict[str, Any]) -> None:
    made = calibrated.evaluate([{**reply, "gold": "x"}, {**CHAT, "gold": "Paris"}], options=NONE)
    assert (made["accuracy"].n, made["mean_confidence"].n) == (2, 1)


def test_a_gold_that_is_a_number_is_that_number() -> None:
    replies = [{"choices": [choice(message={"content": " 1 "})], "gold": gold} for gold in (1.0, 1, 2, 1.5)]
    marks = calibrated.evaluate(replies, options=NONE).measurements["correct"].to_list()
    assert marks == [True, True, False, False]


class Holds:
    """An object that holds itself, several times."""

    def __init__(self) -> None:
        self.choices, self.me, self.again = CHAT["choices"], [self, self, self], self


class Broken:
    def model_dump(self) -> dict[str, Any]:
        raise RuntimeError("no")


def test_objects_that_hold_themselves_or_fail() -> None:
    assert calibrated.evaluate([Holds()], options=NONE)["mean_confidence"].value == pytest.approx(0.25)
    error: dict[str, Any] = {"message": "x"}
    error["error"] = error
    made = calibrated.evaluate([{"id": 1, "error": error}, CHAT], options=NONE)
    assert made["mean_confidence"].n == 1
    with pytest.raises(InputError, match="record 1: the object cannot be read: RuntimeError: no"):
        calibrated.evaluate([Broken()])
    made = calibrated.evaluate([{**CHAT, "id": 10**5000}, {**CHAT, "id": 10**30}], options=NONE)
    assert made["mean_confidence"].n == 2


def test_objects_within_records_and_one_after_the_other() -> None:
    for replies in ([{"response": Pydantic(), "gold": "Paris"}], iter([{"response": Pydantic(), "gold": "Paris"}] * 5)):
        made = calibrated.evaluate(replies, options=NONE)
        assert made["mean_confidence"].value == pytest.approx(0.25) and made["accuracy"].value == 1.0
    rows = ({"confidence": 0.5, "correct": True} for _ in range(7))
    assert calibrated.evaluate(rows, options=NONE)["accuracy"].n == 7


def test_files_of_other_kinds_are_not_put_together(tmp_path: Path) -> None:
    one, two = tmp_path / "1.jsonl", tmp_path / "2.csv"
    one.write_text(json.dumps(CHAT) + "\n")
    two.write_text("confidence,correct\n0.5,1\n")
    with pytest.raises(InputError, match=r"expected files of one kind, got .* is read as replies"):
        calibrated.evaluate([one, two])


# ---- what a stranger found


def test_reasoning_within_the_text_is_no_part_of_it(tmp_path: Path) -> None:
    steps = [
        ("<think>", -1.0),
        ("Rome?", -2.0),
        ("</think>", -0.5),
        ("\n\n", -0.1),
        ("Pa", HALF),
        ("ris", HALF),
        ("</s>", STOP),
    ]
    for text in ("<think>Rome?</think>\n\nParis", "Rome?</think>\n\nParis"):
        reply = {
            "choices": [
                {
                    "message": {"content": text},
                    "logprobs": {"content": [{"token": token, "logprob": value} for token, value in steps]},
                }
            ],
            "gold": "Paris",
        }
        made = evaluated(tmp_path / "a.jsonl", reply)
        assert (made["accuracy"].value, made["mean_confidence"].value) == (1.0, pytest.approx(0.25))


@pytest.mark.parametrize("filler", ["<pad>", "[PAD]", "<|pad|>", "</s>"])
def test_padding_never_counts(tmp_path: Path, filler: str) -> None:
    reply = {"text": "Paris", "tokens": ["Pa", "ris", "</s>", filler, filler], "gold": "Paris"}
    reply["transition_scores"] = [HALF, HALF, STOP, -12.0, -12.0]
    assert evaluated(tmp_path / "a.jsonl", reply)["mean_confidence"].value == pytest.approx(0.25)
    assert evaluated(tmp_path / "a.jsonl", reply, with_stop=True)["mean_confidence"].value == pytest.approx(0.2)


def test_what_is_no_text_is_no_wrong_answer(tmp_path: Path) -> None:
    good = {**CHAT, "gold": "Paris"}
    called = {"choices": [choice(message={"content": None, "tool_calls": [{"id": "1"}]})], "gold": "Paris"}
    refused = {"choices": [choice(message={"content": None, "refusal": "Paris"})], "gold": "Paris"}
    nothing = {"object": "chat.completion", "choices": [], "gold": "Paris"}
    made = evaluated(tmp_path / "a.jsonl", nothing, good, called, refused)
    assert (made["accuracy"].value, made["accuracy"].n) == (1.0, 2)
    assert made["accuracy"].unscored == {"no text: a tool was called": 1, "call failed: no choices": 1}


def test_several_choices_without_a_name_are_samples_of_one_example() -> None:
    reply = {"choices": [choice(message={"content": "Paris"}), choice(message={"content": "Rome"})], "gold": "Paris"}
    made = calibrated.evaluate([reply] * 3)
    assert (made["accuracy"].n, made["accuracy"].clusters) == (6, 3)
    assert "repeat:sample" in made.signature.short


def test_the_servers_own_id_names_no_example(tmp_path: Path) -> None:
    runs = []
    for run, gold in (("x", "Paris"), ("y", "Rome")):
        replies = [{**CHAT, "id": f"chatcmpl-{run}{at}", "gold": gold} for at in range(3)]
        runs.append(calibrated.evaluate(replies, options=NONE))
    assert runs[0].compare(runs[1]).differences


@pytest.mark.parametrize(
    "said",
    [
        "\nConfidence: 85%",
        "\n\n**Confidence: 85%**",
        " (confidence: 85%)",
        "\nConfidence level: 0.85.",
        "\nconfidence = 85 %",
    ],
)
def test_how_confidence_is_stated(tmp_path: Path, said: str) -> None:
    silent = {"type": "message", "content": [{"type": "text", "text": f"Paris{said}"}], "gold": "Paris"}
    made = evaluated(tmp_path / "a.jsonl", silent)
    assert (made["accuracy"].value, made["mean_confidence"].value) == (1.0, 0.85)
    told = {"choices": [choice(message={"content": f"Paris{said}"})], "gold": "Paris"}
    made = evaluated(tmp_path / "a.jsonl", told)
    assert made["accuracy"].value == 1.0
    assert any("is not judged" in note for note in made.notes)


def test_names_of_geminis_python_client() -> None:
    candidate = {
        "content": {"parts": [{"text": "Paris"}]},
        "avg_logprobs": -0.1,
        "logprobs_result": {"chosen_candidates": [{"token": "Paris", "log_probability": HALF}]},
    }
    assert calibrated.evaluate([{"candidates": [candidate]}], options=NONE)["mean_confidence"].value == pytest.approx(
        0.5
    )
    del candidate["logprobs_result"]
    counted = {"candidates": [candidate], "usage_metadata": {"candidates_token_count": 2}}
    made = calibrated.evaluate([counted], options=NONE)
    assert made["mean_confidence"].value == pytest.approx(exp(-0.2))
    assert any("the token that ended the text is in it" in note for note in made.notes)


@dataclass
class Row:
    confidence: float
    correct: bool


def test_rows_that_are_objects_and_calls_that_gave_nothing() -> None:
    assert calibrated.evaluate([Row(0.5, True), Row(0.7, False)], options=NONE)["accuracy"].value == 0.5
    made = calibrated.evaluate([Pydantic(), None, Pydantic()], options=NONE)
    assert (made["mean_confidence"].n, made["mean_confidence"].unscored) == (2, {"call failed: no reply": 1})


def test_long_white_space_is_read_in_no_time(tmp_path: Path) -> None:
    for text in (" " * 300_000, "\n" * 300_000, "(" * 300_000, "<think>" + " " * 300_000):
        silent = {"type": "message", "content": [{"type": "text", "text": text}], "gold": "x"}
        assert evaluated(tmp_path / "a.jsonl", silent)["accuracy"].value == 0.0


def test_names_of_files_that_are_not_there_are_no_golds() -> None:
    with pytest.raises(InputError, match="no such file"):
        calibrated.evaluate([Pydantic()], gold=["golds.jsonl"])


def test_golds_that_are_a_list_of_texts() -> None:
    made = calibrated.evaluate([Pydantic(), Pydantic()], gold=["Paris", "Rome"], options=NONE)
    assert made["accuracy"].value == 0.5


def test_what_may_be_a_classifiers_probability_is_told() -> None:
    made = calibrated.evaluate({"probability": [0.2, 0.9], "label": [0, 1]}, options=NONE)
    assert any("--columns probability=probability --columns label=label" in note for note in made.notes)
    named = {"probability": "probability", "label": "label"}
    made = calibrated.evaluate({"probability": [0.2, 0.9], "label": [0, 1]}, columns=named, options=NONE)
    assert made["accuracy"].value == 1.0


def test_replies_of_several_models_are_told(tmp_path: Path) -> None:
    made = evaluated(
        tmp_path / "a.jsonl", *({"id": str(i), "response": {**CHAT, "model": m}} for i, m in enumerate("aab"))
    )
    assert "replies of 2 models are read together: 'a', 'b' (--slice model)" in made.notes
    sliced = evaluated(tmp_path / "a.jsonl", {**CHAT, "model": "a", "gold": "Paris"}, slices="model")
    assert sliced.slices("model") and not any("models are read together" in note for note in sliced.notes)
