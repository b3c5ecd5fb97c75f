"""What a reader sees of one question: the two queries with their differences, and the two answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import polars as pl

from sensecheck.correct.vacuity import CONDITION_IDLE, EMPTY, NOTHING_COUNTED
from sensecheck.judges.figures import part as judge_part
from sensecheck.language.alignment import aligned
from sensecheck.language.query_tokens import Piece, pieces

_LONGEST = 4000
_SHOWS_LITTLE = {
    EMPTY: "both empty",
    NOTHING_COUNTED: "nothing is counted",
    CONDITION_IDLE: "the same without the gold's condition",
}


def example_page(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [_example(row) for row in frame.iter_rows(named=True)]


def judged_page(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """The same for a person who judges: nothing that tells the verdict, or leans to one."""
    return [{"parts": _to_judge(row)} for row in frame.iter_rows(named=True)]


def _to_judge(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    texts = [("question", row.get("question")), ("gold", row.get("gold"))]
    texts += [("prediction", row.get("taken") or row.get("prediction") or "(none)")]
    parts: list[dict[str, Any]] = [{"label": name, "spans": [[str(text), ""]]} for name, text in texts if text]
    if row.get("gold_answer") is not None or row.get("predicted_answer") is not None:
        parts.append({"label": "answers", "head": ["gold", "predicted"], "rows": _answers(row)})
    return parts


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
    if row.get("because"):
        parts.append({"label": "why", "spans": _why(row)})
    if row.get("message") and not (row.get("because") and row.get("outcome") != "answered"):
        what = row.get("outcome") if row.get("scored", True) else row.get("reason")
        label = "message" if row.get("because") else "why"
        parts.append({"label": label, "spans": [[f"{what}: {row['message']}", "bad"]]})
    if row.get("repaired"):
        _, repaired = _diff(str(taken or row.get("prediction") or ""), str(row["repaired"]))
        parts.append({"label": "repaired", "spans": repaired})
    if "gold_answer" in row:
        if _tied(row):
            tied = f"{row['tie_width']:,} rows tie where the gold's LIMIT cuts"
            parts.append({"label": "tie", "spans": [[tied, "muted"]]})
        parts.append({"label": "answers", "head": ["gold", "predicted"], "rows": _answers(row)})
    if row.get("counterexample"):
        where = "database" if row.get("kind", "table") == "table" else "graph"
        shown = str(row["counterexample"])[:_LONGEST]
        told = f"The answers agree, but on the {where} below they do not: prediction or gold asks for something else."
        parts.append({"label": "proof", "spans": [["proven another query: ", "bad"], [told, ""]]})
        parts.append({"label": f"a {where} on which they differ", "spans": [[shown, ""]]})
    return {"title": f"{row['id']} · {_verdict(row)}", "parts": [*parts, *judge_part(row)]}


def _why(row: Mapping[str, Any]) -> list[list[str]]:
    """The reason in words; where no single change repairs a query, what differs."""
    spans = [[f"{row.get('why')}: ", "bad"], [str(row["because"]), ""]]
    if row.get("several"):
        spans.append([f" No single change repairs it; what differs: {row['several']}.", "muted"])
    return spans


def _verdict(row: Mapping[str, Any]) -> str:
    if not row.get("scored", True):
        return f"unscored: {row.get('reason')}"
    if row.get("undecided"):
        return f"{row['undecided']}{_tied(row)}"
    if row.get("correct") is not None:
        verdict = "right" if row["correct"] else "wrong"
        if row.get("vacuous"):
            verdict += f", {_SHOWS_LITTLE.get(row.get('vacuous_kind') or EMPTY, 'vacuous')}"
        if row.get("tie"):
            verdict += f", by a tie{_tied(row)}"
        if row.get("proven_different"):
            verdict += ", but proven another query"
        return verdict + (f" ({row['outcome']})" if row.get("outcome") not in (None, "answered") else "")
    if row.get("em_normalised") is not None:
        why = f" ({row['not_normalised']})" if row.get("not_normalised") else ""
        return ("the same query" if row["em_normalised"] else "another query") + why
    return "the same text" if row.get("em") else "another text"


def _tied(row: Mapping[str, Any]) -> str:
    """How many rows tie where the gold's LIMIT cuts."""
    return f" of {row['tie_width']:,} rows" if (row.get("tie_width") or 0) > 1 else ""


def _diff(gold: str, predicted: str) -> tuple[list[list[str]], list[list[str]]]:
    """Both texts in spans: what only the gold has is missing, what only the prediction has was added.

    Spacing and the case of keywords are no difference, as for exact match by tokens.
    """
    if gold == predicted:
        same = [[gold[:_LONGEST], ""]] if gold else []
        return same, same
    a, b = (pieces(text[:_LONGEST], "sparql" if "{" in (gold or predicted) else "sql") for text in (gold, predicted))
    told = [[place for place, piece in enumerate(side) if piece.key] for side in (a, b)]
    pairs = aligned([a[place].key for place in told[0]], [b[place].key for place in told[1]])
    missing = set(told[0]) - {told[0][i] for i, _ in pairs}
    added = set(told[1]) - {told[1][j] for _, j in pairs}
    return _spans(a, missing, "missing"), _spans(b, added, "added")


def _spans(tokens: Sequence[Piece], marked: set[int], mark: str) -> list[list[str]]:
    """Neighbours of one kind make one span; spaces between two that are marked are marked with them."""
    between = {place for place in range(1, len(tokens) - 1) if not tokens[place].key}
    marked = marked | {place for place in between if {place - 1, place + 1} <= marked}
    kinds = groupby(range(len(tokens)), key=lambda place: place in marked)
    return [["".join([tokens[place].text for place in places]), mark if differs else ""] for differs, places in kinds]


def _answers(row: Mapping[str, Any]) -> list[Sequence[str]]:
    gold = str(row.get("gold_answer") or "").split("\n")
    predicted = str(row.get("predicted_answer") or "").split("\n")
    length = max(len(gold), len(predicted))
    gold += [""] * (length - len(gold))
    predicted += [""] * (length - len(predicted))
    return [[g, p] for g, p in zip(gold, predicted, strict=True)]
