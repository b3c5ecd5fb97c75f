"""What a judge says, read strictly: a verdict that is marked as one, or the reason why there is none."""

from __future__ import annotations

import json
from math import exp

from sensecheck.inputs.half_characters import whole
from sensecheck.judges.opinion import Opinion
from sensecheck.models.classifiers import Answer
from sensecheck.models.dialects import EXPLANATION, FIELD
from sensecheck.models.reading_answers import AnswerReader, Reading, Vocabulary
from sensecheck.models.said import Said, Unreadable, answer_of, cleaned

WRONG, RIGHT = 0, 1
CHOICES = ("right", "wrong")
LONGEST_REASON = 2_000
"""Characters of a judge's reason that are kept to be shown."""

_WORDS = Vocabulary(
    "verdict",
    names=((r"incorrect(?:ly)?|wrong(?:ly)?|not right|not correct", WRONG), (r"right|correct", RIGHT)),
    labels=2,
    starts=("wrong", "right"),
    choices=CHOICES,
)
_FIELDS = (FIELD, "verdict", "answer")
_REASONS = (EXPLANATION, "explanation", "rationale", "reasoning")


class VerdictReader:
    """The rule by which a judge's answers are read: JSON as it was asked for, else what is marked as the verdict.
    Running words are no verdict: a judge weighs both before it says one.
    """

    def __init__(self) -> None:
        self._marked = AnswerReader(_WORDS, strict=True)
        self.name = self._marked.name
        self.choices = CHOICES

    def __call__(self, said: Said) -> Reading:
        answer = answer_of(said)
        if isinstance(answer, Unreadable):
            return Reading(None, answer)
        told = _object(answer)
        if told is None:
            return self._marked(said)
        verdicts = [told[name] for name in _FIELDS if name in told]
        label = _label(verdicts[0])
        if {_label(verdict) for verdict in verdicts} >= {RIGHT, WRONG} or verdicts[0] is _TWICE:
            return Reading(None, Unreadable.SEVERAL)
        if label is None:
            return Reading(None, Unreadable.NONE)
        marked = self._marked(said) if said.tokens else None
        # Probabilities are those of the token where the verdict stands, if that is where they are looked for.
        return Reading(label, None, marked.scores if marked is not None and marked.label == label else None)


def reason_in(text: str) -> str:
    """Why a judge decided so, as far as it says; as people may be shown it.

    >>> reason_in('{"reason": "Nothing was asked of age.", "label": "wrong"}')
    'Nothing was asked of age.'
    """
    answer = answer_of(Said(text))
    if isinstance(answer, Unreadable):
        return ""
    told = _object(answer)
    if told is not None:
        reason = next((reason for name in _REASONS if isinstance(reason := told.get(name), str)), "")
        return whole(" ".join(cleaned(reason).split()))[:LONGEST_REASON]
    words = whole(" ".join(cleaned(answer).split()))
    return "" if words.strip("*_#.\"'` ").lower() in CHOICES else words[:LONGEST_REASON]


def _label(verdict: object) -> int | None:
    word = verdict.strip(" \t\r\n*_.!").lower() if isinstance(verdict, str) else verdict
    return (
        {"right": RIGHT, "correct": RIGHT, "wrong": WRONG, "incorrect": WRONG}.get(word)
        if isinstance(word, str)
        else None
    )


def _object(answer: str) -> dict[str, object] | None:
    """The JSON object that an answer is, be it in a fence; its names in lower case."""
    text = answer.strip(" \t\r\n\ufeff\u200b")
    if text.startswith("```") and text.endswith("```"):
        text = text.strip("`")
        text = text[text.find("{") :]
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        value = json.loads(text, strict=False, object_pairs_hook=_named)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and any(name in value for name in _FIELDS) else None


_TWICE = object()
"""Stands for what a field holds that is there twice, with different values."""


def _named(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        key = name.strip().lower()
        found[key] = value if key not in found or found[key] == value else _TWICE
    return found


UNDECIDED, NO_ANSWER = "the judge's votes are divided", "the judge gave no answer"
UNREAD = {
    Unreadable.CUT_OFF: "the judge was cut off before its verdict",
    Unreadable.REFUSED: "the judge refused",
    Unreadable.SEVERAL: "the judge named both verdicts",
    Unreadable.NONE: "the judge named no verdict",
    Unreadable.EMPTY: "the judge said nothing",
    Unreadable.TOOL: "the judge called a tool instead",
}


def counted(votes: list[Answer]) -> Opinion:
    """One opinion of all votes on an example: what more than half of them say. A vote that cannot be read is none."""
    labels = [vote.label for vote in votes]
    read = [label for label in labels if label in (WRONG, RIGHT)]
    label = next((one for one in (RIGHT, WRONG) if 2 * read.count(one) > len(votes)), None)
    share = _share(votes, read)
    if label is None:
        return Opinion(None, _why_not(votes, read), share, _said(votes, None))
    return Opinion(label == RIGHT, "", share, _said(votes, label))


def _why_not(votes: list[Answer], read: list[int]) -> str:
    unread = [vote for vote in votes if vote.label is None]
    if len(read) > len(unread):
        return UNDECIDED
    first = next((vote for vote in unread if vote.unread is not None), None)
    return NO_ANSWER if first is None or first.unread is None else UNREAD[first.unread]


def _share(votes: list[Answer], read: list[int]) -> float | None:
    if not read:
        return None
    sure = [_probability(vote.logits) for vote in votes if vote.logits is not None and vote.label is not None]
    if len(sure) == len(read):
        return sum(sure) / len(sure)
    return read.count(RIGHT) / len(read) if len(votes) > 1 else None


def _probability(scores: tuple[float, ...]) -> float:
    wrong, right = scores[WRONG], scores[RIGHT]
    top = max(wrong, right)
    return exp(right - top) / (exp(right - top) + exp(wrong - top))


def _said(votes: list[Answer], label: int | None) -> str:
    told = [vote.text for vote in votes if vote.text and (label is None or vote.label == label)]
    return next((reason for reason in map(reason_in, told) if reason), "")
