"""How often each reason is the first one, over a whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from sensecheck.correct.reasons.kinds import MEANINGS, Why
from sensecheck.statistics.measurements import Measurements

EXTRA = "reasons"
"""The name under which a result holds them."""
MOST_TOLD = 4
"""Reasons that a sentence names."""


@dataclass(slots=True, frozen=True)
class Count:
    why: str
    wrong: int
    repairable: int | None
    """How many of them one change makes right; None where that is not tried."""


def counted(rows: Measurements) -> list[dict[str, Any]]:
    """For every reason how many predictions have it, the most frequent first."""
    if "why" not in rows.schema:
        return []
    wanted = [name for name in ("why", "repairable") if name in rows.schema]
    wrong: Counter[str] = Counter()
    repairable: Counter[str] = Counter()
    for batch in rows.batches(wanted):
        told = batch.filter(pl.col("why").is_not_null())
        wrong.update(dict(told["why"].value_counts().iter_rows()))
        if "repairable" in wanted:
            repairable.update(dict(told.filter(pl.col("repairable"))["why"].value_counts().iter_rows()))
    tried = "repairable" in wanted
    order = sorted(wrong, key=lambda why: (-wrong[why], why))
    return [{"why": why, "wrong": wrong[why], "repairable": repairable[why] if tried else None} for why in order]


def counts_of(extra: Any) -> list[Count]:
    """The counts that a result holds, whoever wrote it."""
    entries = extra.get(EXTRA) if isinstance(extra, dict) else None
    found = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("why"), str) and isinstance(entry.get("wrong"), int):
            repairable = entry.get("repairable")
            found.append(Count(entry["why"], entry["wrong"], repairable if isinstance(repairable, int) else None))
    return found


def sentences(counts: list[Count]) -> Iterator[str]:
    """The most frequent reasons, and how many predictions are one change away from being right."""
    wrong = sum(count.wrong for count in counts)
    if not wrong:
        return
    told = ", ".join([f"{count.why} {count.wrong / wrong:.0%}" for count in counts[:MOST_TOLD]])
    more = f", and {len(counts) - MOST_TOLD} others" if len(counts) > MOST_TOLD else ""
    repairable = sum(count.repairable or 0 for count in counts)
    repaired = f"; one change of a clause repairs {repairable / wrong:.0%}" if repairable else ""
    predictions = "wrong prediction" if wrong == 1 else "wrong predictions"
    yield f"Why {wrong:,} {predictions} {'is' if wrong == 1 else 'are'} wrong: {told}{more}{repaired}."


def meaning_of(why: str) -> str:
    return MEANINGS[Why(why)] if why in set(Why) else ""
