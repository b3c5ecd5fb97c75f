"""The reasons there are: their names, which are values of the column `why`, and what each means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Why(StrEnum):
    """Short and stable: people slice by these names."""

    # the columns and rows that are returned
    EXTRA_COLUMN = "extra column"
    MISSING_COLUMN = "missing column"
    OTHER_SELECT = "other column in SELECT"
    DUPLICATES = "duplicates"
    ORDER = "order"
    OTHER_ORDER = "other column in ORDER BY"
    LIMIT = "limit"
    # values
    SPELLING = "spelling"
    ROUNDING = "rounding"
    NUMBER_AS_TEXT = "number as text"
    WRONG_VALUE = "wrong value"
    # conditions
    CONDITION_MISSING = "condition missing"
    CONDITION_ADDED = "condition added"
    WRONG_CONDITION = "wrong condition"
    WRONG_OPERATOR = "wrong operator"
    OTHER_WHERE = "other column in WHERE"
    # tables, groups and sets
    OTHER_TABLE = "other table"
    MISSING_JOIN = "missing join"
    EXTRA_JOIN = "extra join"
    WRONG_JOIN = "wrong join"
    WRONG_AGGREGATE = "wrong aggregate"
    GROUP = "group"
    OTHER_GROUP = "other column in GROUP BY"
    HAVING = "having"
    SET_OPERATION = "set operation"
    # the answer alone
    EMPTY = "empty answer"
    MISSING_ROWS = "missing rows"
    EXTRA_ROWS = "extra rows"
    SOME_OTHER_ROWS = "some other rows"
    OTHER_ROWS = "all other rows"
    NUMBER_OFF = "number off"
    FLIPPED = "yes/no flipped"
    OTHER_KIND = "other kind of answer"
    # no answer
    NO_PREDICTION = "no prediction"
    NO_COLUMN = "no such column"
    NO_TABLE = "no such table"
    AMBIGUOUS_COLUMN = "ambiguous column"
    UNKNOWN_FUNCTION = "unknown function"
    MISUSED_AGGREGATE = "misused aggregate"
    WRONG_TYPES = "wrong types"
    SYNTAX = "syntax error"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    TOO_LARGE = "too large"
    UNKNOWN_PREFIX = "unknown prefix"
    OVER_BUDGET = "over budget"
    ENGINE_ERROR = "engine error"


MEANINGS: dict[Why, str] = {
    Why.EXTRA_COLUMN: "it returns a column that is not asked for",
    Why.MISSING_COLUMN: "it does not return a column that is asked for",
    Why.OTHER_SELECT: "it returns another column",
    Why.DUPLICATES: "rows (or what is counted) are repeated where they should not be, or the other way round: DISTINCT",
    Why.ORDER: "the rows come in another order: ORDER BY is missing, added, or goes the other way",
    Why.OTHER_ORDER: "the rows are sorted by something else",
    Why.LIMIT: "LIMIT is missing, added, or another number",
    Why.SPELLING: "a value is the gold's but for case, spaces, wildcards or a letter or two",
    Why.ROUNDING: "numbers are the gold's but for rounding",
    Why.NUMBER_AS_TEXT: "numbers are text, or the other way round (`--coerce` takes them as equal)",
    Why.WRONG_VALUE: "a condition compares with another value",
    Why.CONDITION_MISSING: "a condition is missing",
    Why.CONDITION_ADDED: "there is a condition that the gold does not have",
    Why.WRONG_CONDITION: "a condition is another one, in more than one part",
    Why.WRONG_OPERATOR: "a condition compares in another way: > for >=, LIKE for =, OR for AND",
    Why.OTHER_WHERE: "a condition is on another column",
    Why.OTHER_TABLE: "it reads another table",
    Why.MISSING_JOIN: "a table is missing",
    Why.EXTRA_JOIN: "a table is joined that the gold does not need",
    Why.WRONG_JOIN: "the same tables are joined in another way",
    Why.WRONG_AGGREGATE: "it counts, sums or averages in another way, or not at all",
    Why.GROUP: "GROUP BY is missing or added, or groups more or less finely",
    Why.OTHER_GROUP: "it groups by another column",
    Why.HAVING: "HAVING is missing, added or another one",
    Why.SET_OPERATION: "UNION, INTERSECT or EXCEPT is missing, added or another one",
    Why.EMPTY: "it finds nothing where there is something to find",
    Why.MISSING_ROWS: "it finds only a part of the gold's answer",
    Why.EXTRA_ROWS: "it finds the gold's answer, and more",
    Why.SOME_OTHER_ROWS: "it finds a part of the gold's answer, and others",
    Why.OTHER_ROWS: "nothing that it finds is in the gold's answer",
    Why.NUMBER_OFF: "one number is asked for, and it is another",
    Why.FLIPPED: "yes for no, or no for yes",
    Why.OTHER_KIND: "a table where yes or no is asked for, or a verdict where a table is",
    Why.NO_PREDICTION: "there is none",
    Why.NO_COLUMN: "it names a column that is not there",
    Why.NO_TABLE: "it names a table that is not there",
    Why.AMBIGUOUS_COLUMN: "it names a column that several of its tables have",
    Why.UNKNOWN_FUNCTION: "it calls a function of another dialect, or with other arguments",
    Why.MISUSED_AGGREGATE: "an aggregate where none may stand, or a column outside GROUP BY",
    Why.WRONG_TYPES: "values of types that do not go together",
    Why.SYNTAX: "it cannot be read as a query",
    Why.REFUSED: "it would do more than read this store, or is absurdly long or deep",
    Why.TIMEOUT: "it takes longer than the limit",
    Why.MEMORY: "it takes more memory than the limit",
    Why.TOO_LARGE: "its answer is larger than the limit",
    Why.UNKNOWN_PREFIX: "a prefix that is neither declared nor known",
    Why.OVER_BUDGET: "its answer takes too much to compare",
    Why.ENGINE_ERROR: "the engine cannot run it",
}


@dataclass(slots=True, frozen=True)
class Explanation:
    """Why one prediction is wrong."""

    why: Why
    words: str
    """A sentence for people."""
    repaired: str = ""
    """The prediction with the one change that makes it right, where there is one."""
    several: str = ""
    """The clauses that differ, where no single change makes it right."""


def reason_columns(explanations: Sequence[Explanation | None], language: str) -> dict[str, list[Any]]:
    """The columns of measurements: nothing where a prediction is right, or has no score."""
    columns: dict[str, list[Any]] = {"why": [None if told is None else str(told.why) for told in explanations]}
    if language == "sql":
        columns["several"] = [None if told is None else told.several or None for told in explanations]
        columns["repairable"] = [None if told is None else bool(told.repaired) for told in explanations]
    return columns


def reason_texts(explanations: Sequence[Explanation | None]) -> dict[str, list[Any]]:
    """What a reader is shown."""
    return {
        "because": [None if told is None else told.words for told in explanations],
        "repaired": [None if told is None else told.repaired or None for told in explanations],
    }
