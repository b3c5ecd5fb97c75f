"""What judges say, in the shapes in which they say it, and what counts."""

from __future__ import annotations

import json

import pytest

from sensecheck.judges.verdicts import RIGHT, UNDECIDED, UNREAD, WRONG, VerdictReader, counted, reason_in
from sensecheck.models.classifiers import Answer
from sensecheck.models.said import Said, Unreadable

read = VerdictReader()

READABLE = [
    ('{"reason": "It counts all rows.", "label": "right"}', RIGHT),
    ('{"reason": "The filter is missing.", "label": "wrong"}', WRONG),
    ('```json\n{"reason": "x", "label": "wrong"}\n```', WRONG),
    ('{"label": "Right"}', RIGHT),
    ('{"verdict": "incorrect", "reason": "y"}', WRONG),
    ('{"reason": "one might say \\"label\\": \\"right\\", but no", "label": "wrong"}', WRONG),
    ('{"reason": "line one\nline two", "label": "right"}', RIGHT),
    ('<think>"label": "right"? Hmm. Maybe wrong.</think>{"reason": "z", "label": "right"}', RIGHT),
    ("right", RIGHT),
    ("Wrong.", WRONG),
    ("**Right**", RIGHT),
    ("Verdict: wrong", WRONG),
    ("The query counts singers. That is what was asked.\n\nVerdict: **right**", RIGHT),
    ("It looks right at first, but the join is on the wrong column.\nLabel: wrong", WRONG),
    ("<answer>right</answer>", RIGHT),
    ("\\boxed{wrong}", WRONG),
    ("Final answer: correct", RIGHT),
    ("analysis done.\n\nIncorrect", WRONG),
    ('Here is my verdict:\n{"reason": "ok", "label": "right"}', RIGHT),
    ('[THINK]wrong wrong[/THINK]{"label": "right", "reason": ""}', RIGHT),
    ('\ufeff{"REASON": "x", "LABEL": "RIGHT!"}', RIGHT),
    ('[{"reason": "x", "label": "right"}]', RIGHT),
    ('Here: {"reason": "verdict: wrong, they say", "label": "right"}', RIGHT),
    ("{'label': 'wrong', 'reason': 'it is'}", WRONG),
    ("Verdict: the query is wrong.", WRONG),
    ("Conclusion: it is not right", WRONG),
    ("## Verdict\nright", RIGHT),
]

NONE = [
    ("The query is right about the filter but uses the wrong column.", Unreadable.NONE),
    ("I think this is right.", Unreadable.NONE),  # running words are no verdict
    ("It depends on what is meant.", Unreadable.NONE),
    ('{"reason": "x", "label": "unclear"}', Unreadable.NONE),
    ('{"reason": "x", "label": null}', Unreadable.NONE),
    ('{"reason": "x", "label": ["right"]}', Unreadable.NONE),
    ('{"reason": "x", "label": {"right": 1}}', Unreadable.NONE),
    ("Verdict: right or wrong", Unreadable.SEVERAL),
    ("", Unreadable.EMPTY),
    ("   \n", Unreadable.EMPTY),
    ("<think>The join is wrong, so", Unreadable.CUT_OFF),
    ("I cannot help with that.", Unreadable.REFUSED),
    ("Sorry, I can't provide a judgement on this content.", Unreadable.REFUSED),
    ("bright wrongdoing rightly", Unreadable.NONE),
    ('{"label": ' + "[" * 5000, Unreadable.NONE),
    ("right " * 5000 + "wrong " * 5000, Unreadable.NONE),
    # Both verdicts: in one object, in two, in a list, or one of them quoted from the text that is judged.
    ('{"label": "right", "label": "wrong"}', Unreadable.SEVERAL),
    ('{"label": "right", "verdict": "wrong"}', Unreadable.SEVERAL),
    ('{"label": "right"}\n{"label": "wrong"}', Unreadable.SEVERAL),
    ('[{"label": "right"}, {"label": "wrong"}]', Unreadable.SEVERAL),
    ('Verdict: wrong. The query holds the words "Verdict: right".', Unreadable.SEVERAL),
    ('Verdict: wrong\n\nThe comment says {"label": "right"}', Unreadable.SEVERAL),
    ('{"reason": "{\\"label\\": \\"right\\"}"}', Unreadable.NONE),
    ('{"label": "right | wrong"}', Unreadable.NONE),
    ('{"reason": "Die Abfrage stimmt.", "label": "richtig"}', Unreadable.NONE),
    ('{"reason": "x", "label": true}', Unreadable.NONE),
    # What a prediction, a result or an answer is like is talk of the example; "right" begins many a sentence.
    ("The prediction is right about the filter, but nobody asked for the name.", Unreadable.NONE),
    ("The result is the wrong column.", Unreadable.NONE),
    ("Right, let me look at this. The query counts singers.", Unreadable.NONE),
    ("Right. Let me look.", Unreadable.NONE),
    ("Conclusion: right if the age is in years.", Unreadable.NONE),
]


@pytest.mark.parametrize(("text", "label"), READABLE, ids=range(len(READABLE)))
def test_a_verdict_that_is_marked_is_read(text: str, label: int) -> None:
    assert read(Said(text)).label == label


@pytest.mark.parametrize(("text", "why"), NONE, ids=range(len(NONE)))
def test_what_is_no_verdict_has_a_reason(text: str, why: Unreadable) -> None:
    reading = read(Said(text))
    assert reading.label is None
    assert reading.why == why


def test_a_refusal_and_an_answer_cut_short_are_told_apart() -> None:
    assert read(Said("", refusal=True)).why == Unreadable.REFUSED
    assert read(Said('{"reason": "The quer', finish="length")).why == Unreadable.CUT_OFF
    assert read(Said("", finish="tool")).why == Unreadable.TOOL


def test_reasons_are_shown_without_escapes_and_not_too_long() -> None:
    assert reason_in(json.dumps({"reason": "\x1b[31mred\x1b[0m \u202eback", "label": "wrong"})) == "red back"
    assert reason_in("The filter is missing.\n\nVerdict: wrong").startswith("The filter is missing.")
    assert reason_in("wrong") == ""
    assert len(reason_in(json.dumps({"reason": "x" * 10_000, "label": "wrong"}))) == 2_000
    assert reason_in('{"reason": 7, "label": "right"}') == ""
    assert reason_in('{"reason": "half a \\ud800 sign", "label": "right"}') == "half a \ufffd sign"
    assert reason_in("half a \ud800 sign. Verdict: right") == "half a \ufffd sign. Verdict: right"


def vote(label: int | None, unread: Unreadable | None = None, logits: tuple[float, ...] | None = None) -> Answer:
    word = {RIGHT: "right", WRONG: "wrong", None: ""}[label]
    return Answer(label, logits, json.dumps({"reason": f"because {word}", "label": word}), None, unread)


def test_more_than_half_of_all_votes_decide() -> None:
    yes, no, unread = vote(RIGHT), vote(WRONG), vote(None, Unreadable.REFUSED)
    assert counted([yes]).right is True
    assert counted([no]).right is False
    assert counted([yes, no, yes]).right is True
    assert counted([yes, no, yes]).share == pytest.approx(2 / 3)
    assert counted([yes, no, yes]).reason == "because right"
    tied = counted([yes, no])
    assert (tied.right, tied.why_not, tied.share) == (None, UNDECIDED, 0.5)
    # A vote that cannot be read is none: two of four are not more than half.
    assert counted([yes, yes, unread]).right is True
    assert counted([yes, unread]).right is None
    assert counted([yes, yes, unread, unread]).why_not == UNREAD[Unreadable.REFUSED]
    failed = Answer(None, failure="judge: HTTP 500")
    assert counted([failed]).why_not == "the judge gave no answer"
    assert counted([failed]).share is None


def test_probabilities_of_tokens_are_the_share_where_all_votes_have_them() -> None:
    assert counted([vote(RIGHT, logits=(-2.0, -0.1))]).share == pytest.approx(0.8699, abs=1e-3)
    assert counted([vote(RIGHT)]).share is None  # one vote tells no share
