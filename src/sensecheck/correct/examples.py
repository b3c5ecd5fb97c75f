"""What a reader sees of one question: the two queries with their differences, and the two answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import polars as pl

from sensecheck.language.alignment import aligned

_TOKENS = re.compile(r"\s+|[\w:?$.#/-]+|.", re.DOTALL)
_LONGEST = 4000


def example_page(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [_example(row) for row in frame.iter_rows(named=True)]


def _example(row: Mapping[str, Any]) -> dict[str, Any]:
    taken = row.get("taken")
    gold, predicted = _diff(str(row.get("gold") or ""), str(taken or row.get("prediction") or ""))
    parts: list[dict[str, Any]] = []
    if row.get("question"):
        parts.append({"label": "question", "spans": [[str(row["question"]), ""]]})
    parts.append({"label": "gold", "spans": gold or [["(none)", "muted"]]})
    shown = "(no prediction)" if row.get("prediction") is None else "(empty)"
    if row.get("prediction") is None and row.get("outcome") == "answered":
        shown = "(an answer, without a query)"
    parts.append({"label": "prediction", "spans": predicted or [[shown, "muted"]]})
    if taken:
        parts.append({"label": "as written", "spans": [[str(row["prediction"])[:_LONGEST], "muted"]]})
    if row.get("message"):
        what = row.get("outcome") if row.get("scored", True) else row.get("reason")
        parts.append({"label": "why", "spans": [[f"{what}: {row['message']}", "bad"]]})
    if "gold_answer" in row:
        parts.append({"label": "answers", "head": ["gold", "predicted"], "rows": _answers(row)})
    return {"title": f"{row['id']} · {_verdict(row)}", "parts": parts}


def _verdict(row: Mapping[str, Any]) -> str:
    if not row.get("scored", True):
        return f"unscored: {row.get('reason')}"
    if row.get("correct") is not None:
        verdict = "right" if row["correct"] else "wrong"
        if row.get("vacuous"):
            verdict += ", both empty"
        if row.get("tie"):
            verdict += ", by a tie"
        return verdict + (f" ({row['outcome']})" if row.get("outcome") not in (None, "answered") else "")
    if row.get("em_normalised") is not None:
        why = f" ({row['not_normalised']})" if row.get("not_normalised") else ""
        return ("the same query" if row["em_normalised"] else "another query") + why
    return "the same text" if row.get("em") else "another text"


def _diff(gold: str, predicted: str) -> tuple[list[list[str]], list[list[str]]]:
    """Both texts in spans: what only the gold has is missing, what only the prediction has was added."""
    if gold == predicted:
        same = [[gold[:_LONGEST], ""]] if gold else []
        return same, same
    a, b = (_TOKENS.findall(text[:_LONGEST]) for text in (gold, predicted))
    pairs = aligned(a, b)
    return _spans(a, {i for i, _ in pairs}, "missing"), _spans(b, {j for _, j in pairs}, "added")


def _spans(tokens: Sequence[str], shared: set[int], mark: str) -> list[list[str]]:
    """Neighbours of one kind make one span."""
    kinds = groupby(range(len(tokens)), key=lambda place: place in shared)
    return [["".join([tokens[place] for place in places]), "" if same else mark] for same, places in kinds]


def _answers(row: Mapping[str, Any]) -> list[Sequence[str]]:
    gold = str(row.get("gold_answer") or "").split("\n")
    predicted = str(row.get("predicted_answer") or "").split("\n")
    length = max(len(gold), len(predicted))
    gold += [""] * (length - len(gold))
    predicted += [""] * (length - len(predicted))
    return [[g, p] for g, p in zip(gold, predicted, strict=True)]
