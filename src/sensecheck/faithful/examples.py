"""How a pair is shown: both sides with the parts that agree, miss or contradict one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import polars as pl

from sensecheck.judges.figures import part as judge_part

SHOWN = 2_000
"""Characters of a text that a page shows."""

_QUERY_KIND = {"said": "good", "missing": "missing", "contradicted": "bad", "unsaid": "muted"}
_SENTENCE_KIND = {"said": "good", "added": "added", "contradicted": "bad", "missing": "mark"}
_RANK = {"": 0, "muted": 1, "mark": 2, "good": 3, "added": 4, "missing": 5, "bad": 6}


def example_page(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """One entry a row: the pair with both sides marked, and the findings in a table."""
    return [_example(row) for row in frame.iter_rows(named=True)]


def _example(row: dict[str, Any]) -> dict[str, Any]:
    findings: list[dict[str, Any]] = orjson.loads(row["evidence"]) if row.get("evidence") else []
    query, sentence = str(row.get("query") or ""), str(row.get("sentence") or "")
    title = sentence[:200] if row.get("scored", True) else f"unscored: {row['reason']}"
    in_query = [(tuple(f["query"]), _QUERY_KIND.get(f["status"], "")) for f in findings if f["query"]]
    in_sentence = [
        (tuple(span), _SENTENCE_KIND.get(f["status"], ""))
        for f in findings
        for span in f["sentence"]
        if f["status"] != "unsaid"
    ]
    against = [f for f in findings if f["status"] in ("missing", "contradicted", "added")]
    if row.get("consistent") is False:
        # What only goes with wrong pairs adds to their doubt, each kind once, and may be all that there is.
        risks = {f["rule"]: f for f in reversed(findings) if f["status"] == "risk" and f["confidence"] is not None}
        against += reversed(risks.values())
    rows = [
        [f["status"], f["kind"], f["text"][:120], f"{f['confidence']:.2f}", f["rule"].replace("_", " ")]
        for f in against
    ]
    parts: list[dict[str, Any]] = [
        {"label": "query", "spans": painted(query, in_query)},
        {"label": "sentence", "spans": painted(sentence, in_sentence)},
    ]
    if row.get("written"):
        parts.append({"label": "as written", "spans": painted(str(row["written"]), [])})
    if row.get("hint"):
        parts.append({"label": "evidence", "spans": painted(str(row["hint"]), [])})
    if rows:
        parts.append({"label": "findings", "head": ["status", "kind", "what", "confidence", "rule"], "rows": rows})
    return {"title": title, "parts": [*parts, *judge_part(row)]}


def painted(text: str, spans: Sequence[tuple[tuple[int, ...], str]]) -> list[list[str]]:
    """A text cut where its marking changes; where spans overlap, the gravest wins."""
    cut = text[:SHOWN]
    marks = [""] * len(cut)
    for (start, end), kind in spans:
        for i in range(max(0, start), min(end, len(cut))):
            if _RANK[kind] > _RANK[marks[i]]:
                marks[i] = kind
    pieces: list[list[str]] = []
    for char, kind in zip(cut, marks, strict=True):
        if pieces and pieces[-1][1] == kind:
            pieces[-1][0] += char
        else:
            pieces.append([char, kind])
    if len(text) > SHOWN:
        pieces.append([f" … ({len(text):,} characters)", "muted"])
    return pieces
