"""One judgement of one example."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Opinion:
    """What came of asking a judge about one example."""

    right: bool | None
    why_not: str = ""
    """why there is no verdict"""
    share: float | None = None
    """how likely it is right: by the tokens' probabilities, else the share of votes"""
    reason: str = ""
