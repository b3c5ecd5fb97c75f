"""How many of a language model's answers could be read, for the reader of the headline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sensecheck.robust.measure import UNREAD
from sensecheck.statistics.measurements import Measurements

TOLD_FROM = 0.02
"""The share of unreadable answers from which on they are told beside the headline."""


def read_share(rows: Measurements) -> dict[str, Any]:
    """Answers that were asked for, and those from which no label could be read, by why."""
    sums = dict.fromkeys(("answers", *UNREAD.values()), 0)
    for batch in rows.batches(list(sums)):
        for name in sums:
            sums[name] += int(batch[name].sum() or 0)
    unreadable = {why.value: sums[column] for why, column in UNREAD.items() if sums[column]}
    return {"answers": sums["answers"], "unreadable": unreadable}


def unreadable_told(answers: Mapping[str, Any]) -> str:
    """What to say of them; nothing where they are few."""
    asked, by_reason = answers.get("answers", 0), answers.get("unreadable", {})
    count = sum(by_reason.values())
    if not asked or count <= TOLD_FROM * asked:
        return ""
    why = ", ".join(f"{reason} ({n:,})" for reason, n in sorted(by_reason.items(), key=lambda item: -item[1]))
    advice = "; more of them may fit with a larger --max-tokens" if "cut off before the answer" in by_reason else ""
    return f"{count / asked:.1%} of {asked:,} answers hold no label that could be read: {why}{advice}"
