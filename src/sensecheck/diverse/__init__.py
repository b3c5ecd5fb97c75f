"""Diverse: do the responses cover the different good answers?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sensecheck import lazily

if TYPE_CHECKING:
    from sensecheck.diverse.evaluation import alignments, evaluate
    from sensecheck.diverse.question import QUESTION

__all__ = ["ASKS", "QUESTION", "alignments", "evaluate"]

ASKS = "Do the responses cover the different good answers?"
__getattr__ = lazily.names(
    __name__,
    {
        "QUESTION": ".question",
        "evaluate": ".evaluation",
        "alignments": ".evaluation",
    },
)
