"""What each kind of finding is worth: how often a gold that has it, and nothing else, is wrong or leaves a choice open.

The numbers are judgements by the reasons beside them, made while reading golds of ten Spider databases;
none was fitted.
Kinds of findings add up as if they were independent, each by its weightiest finding: score = 1 − Π (1 − weight).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple


class Weight(NamedTuple):
    weight: float
    why: str


WEIGHTS: dict[str, Weight] = {
    "does not run": Weight(0.95, "nothing can be right by it"),
    "contradicted": Weight(0.9, "times the share of predictions that agree on another answer less that of right ones: "
                                "systems err, but seldom in the same way"),
    "number as text": Weight(0.8, "text sorts 95 above 100: read as numbers, they give another answer"),
    "number as text, same answer": Weight(0.15, "the fault is there, but does not show in these data"),
    "NULL decides": Weight(0.7, "a row without a value is no highest or lowest one"),
    "NULL sorted": Weight(0.05, "rows without a value stand first; nobody is hurt where all rows are listed"),
    "arbitrary value": Weight(0.6, "a column that differs within a group shows whichever row comes first"),
    "LIMIT without ORDER BY": Weight(0.6, "which rows are shown is left to the engine"),
    "every row ties": Weight(0.6, "any row would do; the question presumes that one stands out"),
    "tie": Weight(0.4, "several rows would do; the question presumes fewer"),
    "literal nearly there": Weight(0.6, "the column holds the same words in another spelling: a slip of the pen"),
    "literal not there": Weight(0.2, "a question may ask for what is not there, but seldom does"),
    "empty": Weight(0.25, "few people ask for what is not there; a wrong condition finds nothing too"),
    "nothing counted": Weight(0.25, "as an empty answer"),
    "NULL answer": Weight(0.35, "an answer without a value is seldom meant"),
    "duplicates": Weight(0.15, "a list of names repeats some; most people want each once, not all golds say so"),
    "DISTINCT changes the answer": Weight(0.03, "mostly right; kept for the reader, as it decides the verdict"),
    "undeclared join": Weight(0.1, "people leave keys undeclared; few such joins are wrong"),
    "unfaithful": Weight(0.7, "times the doubt of the faithful run, which errs in about one of four pairs"),
}  # fmt: skip
ANOTHER_SHAPE = 0.4
"""What agreement of systems is worth where their answer has another number of columns: they like to show more."""
NOTHING_FOUND = 0.5
"""And where their answer is empty: whoever guesses how a value is spelled finds nothing, as others do who guess."""
ONLY_TYPES = 0.2
"""And where only numbers that are text differ: no answer in the world would be another one."""
ONLY_REPEATS = 0.7
"""And where only repetition differs: whether a name is listed twice is a matter of taste more often than of truth."""


def score_of(weights: Iterable[float]) -> float:
    """The findings of a gold together.

    >>> round(score_of([0.5, 0.5]), 2), score_of([])
    (0.75, 0.0)
    """
    return 1.0 - prod(1.0 - weight for weight in weights)
