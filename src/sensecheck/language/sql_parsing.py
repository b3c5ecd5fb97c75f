"""SQL read by sqlglot, in a bounded number of steps.

Its parser goes back where a reading fails and tries another; where readings nest (`JOIN a JOIN b JOIN …` without ON)
the tries double with every table. Every step forth and back is one call of `_advance`: there they are counted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlglot.dialects.dialect import Dialect

from sensecheck.inputs.guarding import OverBudgetError

STEPS = 50_000
"""Steps that any text may take,"""
STEPS_A_TOKEN = 100
"""and for each of its tokens; queries that people write take fewer than ten."""


@lru_cache(maxsize=64)
def _bounded(parser: type[Any]) -> type[Any]:
    def advance(self: Any, times: int = 1) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise OverBudgetError("sqlglot goes back too often to read it")
        parser._advance(self, times)

    def say_nothing(self: Any) -> None:
        """Of a statement that is kept as text sqlglot would tell the terminal, in the words of whoever wrote it."""

    own = {"_advance": advance, "_warn_unsupported": say_nothing, "steps": 0}
    return type(parser.__name__, (parser,), own)


def parse_sql(text: str, dialect: str | None = None) -> list[Any]:
    """The statements of a text, as `sqlglot.parse` gives them. A text that takes too many steps: OverBudgetError."""
    found = Dialect.get_or_raise(dialect)
    tokens = found.tokenize(text)
    parser = _bounded(found.parser_class)(dialect=found)
    parser.steps = STEPS + STEPS_A_TOKEN * len(tokens)
    statements: list[Any] = parser.parse(tokens, text)
    return statements
