"""Faithful: does the sentence say what the query says, and nothing else?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensecheck import lazily

if TYPE_CHECKING:
    from sensecheck.faithful.evaluation import evaluate
    from sensecheck.faithful.measure import Checker, Verdict
    from sensecheck.faithful.question import QUESTION

__all__ = ["ASKS", "QUESTION", "Checker", "Verdict", "evaluate"]

ASKS = "Does the sentence say what the query says, and nothing else?"
__getattr__ = lazily.names(
    __name__,
    {
        "QUESTION": ".question",
        "evaluate": ".evaluation",
        "Checker": ".measure",
        "Verdict": ".measure",
    },
)
