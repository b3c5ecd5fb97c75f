"""What models really say, and the right reading of it: answers.jsonl, which anybody may extend."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sensecheck.models.classifiers import Answer
from sensecheck.models.nli_words import reader
from sensecheck.models.prompts import FLAN_PROMPT, NLI_PROMPT
from sensecheck.models.reading_answers import label_scores
from sensecheck.models.said import CUT_SHORT, FILTERED, Said, Unreadable

LABELS = ("entailment", "neutral", "contradiction")
PROMPTS = {
    "nli": NLI_PROMPT,
    "yes-no": FLAN_PROMPT,
    "letters": "Choose one: (A) entailment (B) neutral (C) contradiction\n<premise>\n<hypothesis>",
    "numbers": "0 = entailment, 1 = neutral, 2 = contradiction\n<premise>\n<hypothesis>",
    "two classes": "entailment or not_entailment?\n<premise>\n<hypothesis>",
}
FINISHES = {"content_filter": FILTERED, "refusal": FILTERED}
EXCEPTIONS = 1
"""Answers that are known to be read otherwise than they should be; each says so in the file."""
CORPUS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "answers.jsonl").read_text("utf-8").splitlines()
]


def read(answer: dict[str, Any]) -> str:
    finish = answer.get("finish", "stop")
    said = Said(answer["answer"] or "", answer.get("reasoning", ""), FINISHES.get(finish, finish))
    reading = reader(PROMPTS[answer.get("prompt", "nli")])(said)
    if reading.label is None:
        assert reading.why is not None
        return reading.why.name.lower()
    assert reading.why is None
    return LABELS[reading.label]


def test_the_corpus_is_read_as_people_read_it() -> None:
    exceptions = [answer for answer in CORPUS if "exception" in answer]
    wrong = [
        (number, answer["expected"], read(answer), answer["answer"])
        for number, answer in enumerate(CORPUS, start=1)
        if "exception" not in answer and read(answer) != answer["expected"]
    ]
    assert wrong == []
    assert len(exceptions) == EXCEPTIONS
    assert all(read(answer) != answer["expected"] for answer in exceptions), "mended: take the mark away"


def test_the_corpus_is_as_wide_as_it_says() -> None:
    assert len(CORPUS) >= 300
    assert len({(a["answer"], a.get("reasoning"), a.get("finish"), a.get("prompt")) for a in CORPUS}) == len(CORPUS)
    refused = {a.get("language", "en") for a in CORPUS if a["expected"] == "refused"}
    assert len(refused) >= 8, "refusals in eight languages"
    assert len({a.get("language", "en") for a in CORPUS if a["expected"] in LABELS}) >= 8, "and preambles"
    counts = Counter(a["expected"] for a in CORPUS)
    assert set(counts) >= {*LABELS, "cut_off", "refused", "several", "none", "empty"} and min(counts.values()) >= 5


def test_words_of_the_users_stand_for_labels() -> None:
    words = reader(NLI_PROMPT, {"矛盾": 2, "Folgerung": 0})
    assert [words(Said(text)).label for text in ("矛盾", "答案：矛盾", "Folgerung.", "neutral")] == [2, 2, 0, 1]
    assert words.name != reader(NLI_PROMPT).name, "the signature tells them apart"


@pytest.mark.parametrize(
    "piece",
    [
        "<think>", "</think>", "<think></think>", "<  ", "<|channel|>analysis", "not ", "entailment ", "answer for ",
        '{"label": ', "\x1b[", "\\boxed{", "\n", " ", "(a) or ", "i am ", "\npremise:", "<answer>", "\ufdfa",
        "neutral: ", "is answer", "\u202e", "İ", "\n- neutral", "neither ", "**", "＜think＞",
    ],
)  # fmt: skip
def test_an_answer_of_any_length_is_read(piece: str) -> None:
    """What hostile models write over and over; what took more than linear time would not come back."""
    text = piece * (2_000_000 // len(piece))
    for prompt in (NLI_PROMPT, PROMPTS["letters"]):
        reading = reader(prompt)(Said(text))
        assert (reading.label is None) == (reading.why is not None)


def test_label_scores_are_those_of_the_word_that_decides() -> None:
    told = {"ent": math.log(0.7), " neutral": math.log(0.2), "contr": math.log(0.05), "The": math.log(0.05)}
    tokens = [("The", {"The": -0.1}), (" answer", {}), (" is", {}), (" ", {}), ("ent", told), ("ailment", {"x": -1.0})]
    reading = reader(NLI_PROMPT)(Said("The answer is entailment", finish="stop", tokens=tokens))
    assert reading.label == 0 and reading.scores is not None
    assert [math.exp(score) for score in reading.scores] == pytest.approx([0.7, 0.2, 0.05], rel=1e-5)
    # A reasoning model's tokens come with those of its reasoning, which names other labels.
    thought = [("neutral", {"neutral": -0.1, "ent": -5.0}), ("</think>", {}), *tokens]
    said = Said("The answer is entailment", reasoning="neutral", tokens=thought)
    assert reader(NLI_PROMPT)(said).scores == reading.scores
    # Within JSON a token may begin with what stands before the word.
    in_json = [('{"', {}), ("label", {}), ('":', {}), (' "ne', {' "ne': -0.2, ' "ent': -2.0}), ('utral"}', {})]
    scores = reader(NLI_PROMPT)(Said('{"label": "neutral"}', tokens=in_json)).scores
    assert scores == (-2.0, -0.2, -2.0), "contradiction is at most as likely as the least likely token told"


def test_tokens_that_tell_nothing_give_no_scores() -> None:
    words = reader(NLI_PROMPT)
    assert words(Said("neutral", tokens=[("neutral", {"neutral": -0.1})])).scores is None, "one token tells no others"
    assert words(Said("neutral", tokens=[("something else", {"a": -1.0, "b": -2.0})])).scores is None
    assert words(Said("neutral")).scores is None
    assert label_scores({}, LABELS) is None
    assert label_scores({"e": float("-inf"), "n": -1.0}, LABELS) is not None


@pytest.mark.parametrize("long", ["x " * 30_000, "neutral? entailment? " * 3_000])
def test_a_kept_answer_is_read_as_it_was_when_it_was_new(long: str) -> None:
    words = reader(NLI_PROMPT)
    for text in (
        f"<think>{long}</think>contradiction", f"<think>{long}", f"{long}<think>", f"contradiction\n\n{long}",
        f"<think>hm</think>contradiction\n{long}", f"{long}\nAnswer: contradiction", long, f"{long}</think>contradiction",
    ):  # fmt: skip
        new = Answer.of(Said(text, finish="stop"), words)
        kept = Answer.restored(json.loads(json.dumps(new.stored())))
        assert kept is not None and kept.read_again(words) == new
        assert len(new.text or "") < 50_000
        whole = words(Said(text, finish="stop"))
        assert (new.label, new.unread) == (whole.label, whole.why), text[:20]


def test_reasons_are_words_for_people() -> None:
    assert reader(NLI_PROMPT)(Said("", "thinking", CUT_SHORT)).why is Unreadable.CUT_OFF
    assert all(why.value and why.value == why.value.lower() for why in Unreadable)
