"""Correct: does the predicted query give the right answer?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensecheck import lazily

if TYPE_CHECKING:
    from sensecheck.correct.evaluation import evaluate
    from sensecheck.correct.proving.telling import tell_apart
    from sensecheck.correct.question import QUESTION

__all__ = ["ASKS", "QUESTION", "evaluate", "tell_apart"]

ASKS = "Does the predicted query give the right answer?"
__getattr__ = lazily.names(
    __name__,
    {
        "QUESTION": ".question",
        "evaluate": ".evaluation",
        "tell_apart": ".proving.telling",
    },
)
