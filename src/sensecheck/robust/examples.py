"""How a triangle is shown: its three texts, and what the model said along each side."""

from __future__ import annotations

from typing import Any

import polars as pl

from sensecheck.robust.measure import LABELS, marks


def example_page(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """One entry a row: the pair, and its judged statements in a table."""
    return [_example(row) for row in frame.iter_rows(named=True)]


def _example(row: dict[str, Any]) -> dict[str, Any]:
    predicted = row.get("predicted")
    answer = LABELS[predicted] if predicted is not None else "no label"
    gold = row.get("gold") or row.get("label", "")
    parts: list[dict[str, Any]] = [
        {"label": "premise", "spans": [[row.get("premise") or "", ""]]},
        {
            "label": "hypothesis",
            "spans": [[row.get("hypothesis") or "", ""], [f"  M(p, h): {answer}, gold: {gold}", "muted"]],
        },
    ]
    statements = _judged_statements(row)
    if statements:
        by = ["made by"] if any(row.get("made_by") or ()) else []
        head = ["statement", *by, "M(h, g)", "M(g, h)", "M(p, g)", "triangle"]
        parts.append({"label": "statements", "head": head, "rows": statements})
    else:
        parts.append({"label": "not judged", "spans": [[str(row.get("left") or row.get("reason") or ""), "muted"]]})
    return {"title": f"{row['id']} · {row.get('rule', row['polarity'])}", "parts": parts}


def _judged_statements(row: dict[str, Any]) -> list[list[str]]:
    """A line for every judged statement: what the model said of it, and whether the triangle holds."""
    texts, said = row.get("statement") or [], row.get("said") or []
    # The original keeps judged statements alone, and not what confirmed them.
    stages = row.get("stage") or ["judged"] * len(texts)
    forth, back = row.get("forth") or [None] * len(texts), row.get("back") or [None] * len(texts)
    made_by = row.get("made_by") or [""] * len(texts)
    known = any(made_by)
    return [
        [
            text,
            *([maker or "–"] if known else []),
            _name(forwards),
            _name(backwards),
            LABELS[label],
            _triangle(row, label),
        ]
        for text, label, stage, forwards, backwards, maker in zip(
            texts, said, stages, forth, back, made_by, strict=False
        )
        if stage == "judged" and label is not None
    ]


def _triangle(row: dict[str, Any], said: int) -> str:
    held = row.get("label", "")
    inequal, strict = marks(LABELS.index(held), row["polarity"], said) if held in LABELS else (False, False)
    return "opposite label" if inequal else "off the expected label" if strict else "kept"


def _name(label: int | None) -> str:
    return "–" if label is None else LABELS[label]
