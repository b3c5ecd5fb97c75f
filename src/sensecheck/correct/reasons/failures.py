"""Reasons of predictions that gave no answer: from the outcome and from what the engine says."""

from __future__ import annotations

import re

from sensecheck.correct.reasons.kinds import MEANINGS, Explanation, Why

# In the words of SQLite and of DuckDB. The first that is found counts.
_MESSAGES = (
    (Why.AMBIGUOUS_COLUMN, r"ambiguous"),
    (Why.UNKNOWN_FUNCTION, r"no such function|wrong number of arguments to function|"
     r"function with name .* does not exist|no function matches|not a known function|unknown function"),
    (Why.MISUSED_AGGREGATE, r"misuse of|aggregate functions are not allowed|must appear in the group by|"
     r"group by clause is required|cannot contain aggregates|cannot contain window|having clause on a non-aggregate"),
    (Why.NO_TABLE, r"no such table|table with name .* does not exist|referenced table .* not found"),
    (Why.NO_COLUMN, r"no such column|no such field|referenced column .* not found|does not have a column|"
     r"column .* does not exist|cannot join using column|values list .* does not have"),
    (Why.WRONG_TYPES, r"conversion error|could not convert|cannot compare|type mismatch|mismatch type|cannot cast|"
     r"out of range error"),
    (Why.SYNTAX, r"syntax error|unrecognized token|incomplete input|parser error"),
)  # fmt: skip
_COMPILED = tuple((why, re.compile(pattern, re.IGNORECASE)) for why, pattern in _MESSAGES)
_OUTCOMES = {
    "no prediction": Why.NO_PREDICTION,
    "syntax": Why.SYNTAX,
    "refused": Why.REFUSED,
    "timeout": Why.TIMEOUT,
    "memory": Why.MEMORY,
    "too large": Why.TOO_LARGE,
    "unknown prefix": Why.UNKNOWN_PREFIX,
    "over budget": Why.OVER_BUDGET,
}


def failure_reason(outcome: str, message: str) -> Explanation:
    """Of a prediction whose outcome is not `answered`."""
    why = _OUTCOMES.get(outcome)
    if why is None:
        why = next((why for why, pattern in _COMPILED if pattern.search(message)), Why.ENGINE_ERROR)
    told = " ".join(message.split())[:200]
    return Explanation(why, f"{_sentence(MEANINGS[why])}{f' ({told})' if told else ''}.")


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
