"""What a reader sees of a run: the sentences to take away, and each query with its groups, hit or missed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from sensecheck.report.result import Result


def verdict(result: Result) -> list[str]:
    """What to take away, in plain words."""
    figures = {figure.name: figure for figure in result.figures}
    if "as" in result.signature.method or "mds" not in figures or not figures["mds"].n:
        return []
    mds = figures["mds"]
    sentences = [f"The responses reach {_percent(mds.value)} of the meanings that the references hold."]
    over = figures.get("mds_over_chance")
    if over is not None and over.n:
        by_chance = _percent(figures["chance_mds"].value)
        if isinstance(over.low, float) and over.low > 0:
            sentences.append(
                f"Responses to other queries would reach {by_chance}; these go {_percent(over.value)} of the way "
                "from there to 100%."
            )
        elif isinstance(over.low, float):
            sentences.append(f"Responses to other queries would reach {by_chance}; these are not demonstrably better.")
    repeated = figures.get("corpus_self_repetition")
    if repeated is not None and isinstance(repeated.value, float) and repeated.value > 0.5:
        sentences.append(
            f"{_percent(repeated.value)} of all four-word phrases come back in responses to other queries: "
            "are they canned?"
        )
    return sentences


def _percent(value: Any) -> str:
    return f"{100 * value:.0f}%" if isinstance(value, float) and value == value else "–"


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
