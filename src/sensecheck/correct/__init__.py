"""Correct: does the predicted query give the right answer?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensecheck import lazily

if TYPE_CHECKING:
    from sensecheck.correct.evaluation import evaluate
    from sensecheck.correct.question import QUESTION

__all__ = ["ASKS", "QUESTION", "evaluate"]

ASKS = "Does the predicted query give the right answer?"
__getattr__ = lazily.names(
    __name__,
    {
        "QUESTION": ".question",
        "evaluate": ".evaluation",
    },
)
