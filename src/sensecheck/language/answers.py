"""What a query answers, wherever it ran or was written down: rows of values, or a yes or no."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias


class Term(NamedTuple):
    """An RDF term: kind is `iri`, `literal` or `blank`."""

    kind: str
    value: str
    datatype: str = ""
    language: str = ""


Cell: TypeAlias = "Term | str | int | float | bool | bytes | None"
Detail: TypeAlias = Literal["full", "plain", "bare"]
DETAILS: tuple[Detail, ...] = ("full", "plain", "bare")
"""From the most that an answer may say of its values to the least."""


@dataclass(slots=True)
class Answer:
    """The rows of a SELECT, or the verdict of an ASK (`boolean` is then set and there are no rows)."""

    columns: list[str] = field(default_factory=list)
    rows: list[tuple[Cell, ...]] = field(default_factory=list)
    boolean: bool | None = None
    seconds: float = 0.0
    detail: Detail = "full"
    """How much the values say of themselves: all; neither type nor language (CSV, QALD's golds); or they are bare
    values and identifiers, such as Q42, in a list."""
