"""Calibrated: is the model's confidence the rate at which it is right?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensecheck import lazily

if TYPE_CHECKING:
    from sensecheck.calibrated.evaluation import evaluate
    from sensecheck.calibrated.question import QUESTION

__all__ = ["ASKS", "QUESTION", "evaluate"]

ASKS = "Is the model's confidence the rate at which it is right?"
__getattr__ = lazily.names(
    __name__,
    {
        "QUESTION": ".question",
        "evaluate": ".evaluation",
    },
)
