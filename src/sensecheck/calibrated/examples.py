"""An example of `calibrated`: what was asked, and its tokens coloured by confidence and correctness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sensecheck.report.examples import plain_pages

# Confidences at which the colour grows stronger.
_STEPS = (0.5, 0.7, 0.9, 0.99)


def example_page(frame: pl.DataFrame) -> Sequence[Mapping[str, Any]]:
    """One entry for every row of `frame`: a sequence with its tokens, or the texts of a table's row."""
    if not {"gold", "predicted", "each_confidence", "each_correct"} <= set(frame.columns):
        return plain_pages(frame)
    return [_sequence(row) for row in frame.iter_rows(named=True)]


def _sequence(row: Mapping[str, Any]) -> Mapping[str, Any]:
    asked = row.get("input")
    gold, predicted = row["gold"] or [], row["predicted"] or []
    columns = gold, predicted, row["each_confidence"] or [], row["each_correct"] or []
    # A short input is the title already.
    parts: list[Mapping[str, Any]] = [{"label": "input", "spans": [[asked, ""]]}] if len(asked or "") > 200 else []
    if len({len(c) for c in columns}) == 1 and gold:
        spans = [_token(*token) for token in zip(*columns, strict=True)]
        wrong = sum(not right for right in columns[3])
        label = f"tokens: {wrong} of {len(gold)} wrong" if wrong else f"tokens: all {len(gold)} right"
        parts.append({"label": label, "spans": spans})
    elif row.get("reason"):
        parts.append({"label": "not scored", "spans": [[row["reason"], "bad"]]})
    return {"title": asked or " ".join(str(t) for t in gold) or str(row["id"]), "parts": parts}


def _token(gold: Any, predicted: Any, confidence: float | None, right: bool | None) -> list[str]:
    sure = "no confidence" if confidence is None else f"{confidence:.2f}"
    level = sum((confidence or 0.0) >= step for step in _STEPS)
    if right:
        return [str(predicted), f"right{level}", sure]
    return [str(predicted), f"wrong{level}", f"{sure} · gold {gold}"]
