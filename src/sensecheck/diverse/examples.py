"""How a query is shown: its groups of references, hit or missed, and the responses that fell in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl


def example_page(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Each query with its groups, hit or missed, and the hypotheses that fell in them (the paper's Figure 4)."""
    return [_example(row) for row in frame.iter_rows(named=True)]


def _example(row: Mapping[str, Any]) -> dict[str, Any]:
    title = row.get("query") or f"query {row['id']}"
    if not row.get("scored", True):
        return {"title": title, "parts": [{"label": "not scored", "spans": [[row.get("reason") or "", "bad"]]}]}
    hypotheses, fell_in = row.get("hypothesis") or [], row.get("fell_in") or []
    scores, counts = row.get("score") or [], row.get("counts") or []
    parts: list[dict[str, Any]] = []
    groups: dict[int, list[str]] = {}
    for number, text in zip(row.get("reference_group") or [], row.get("reference") or [], strict=True):
        groups.setdefault(number, []).append(text)
    for number, references in groups.items():
        inside = [i for i, k in enumerate(fell_in) if k == number and counts[i]]
        name = row["group_name"][number]
        state = f"hit by {len(inside)}" if inside else "missed"
        spans = [[text + "\n", "muted"] for text in references]
        spans += [[f"→ {_shown(hypotheses[i])} ({_score(scores[i])})\n", "good"] for i in inside]
        if not inside:
            spans.append(["→ no response\n", "bad"])
        parts.append({"label": f"meaning {name}: {state}", "spans": spans})
    given = row.get("class")
    if given and not groups:
        for name in dict.fromkeys(given):
            members = [text for text, its in zip(hypotheses, given, strict=True) if its == name]
            spans = [[f"{_shown(text)}\n", "muted"] for text in members]
            parts.append({"label": f"class {name}: {len(members)} of {len(given)}", "spans": spans})
        return {"title": title, "parts": parts}
    outside = [i for i in range(len(hypotheses)) if not counts[i]]
    if outside:
        spans = [[f"{_shown(hypotheses[i])} ({_score(scores[i])})\n", "bad"] for i in outside]
        parts.append({"label": "reached no meaning" if groups else "responses", "spans": spans})
    if not hypotheses:
        parts.append({"label": "responses", "spans": [["none", "bad"]]})
    return {"title": title, "parts": parts}


def _shown(text: str) -> str:
    return text or "(empty)"


def _score(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) and value == value else "–"
