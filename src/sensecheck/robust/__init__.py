"""Robust: does the NLI model obey the logic of its own labels?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensecheck import lazily

if TYPE_CHECKING:
    from sensecheck.robust.evaluation import evaluate
    from sensecheck.robust.question import QUESTION

__all__ = ["ASKS", "QUESTION", "evaluate"]

ASKS = "Does the NLI model obey the logic of its own labels?"
__getattr__ = lazily.names(
    __name__,
    {
        "QUESTION": ".question",
        "evaluate": ".evaluation",
    },
)
