"""What people are asked about a question's examples, and which labels they may give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from sensecheck.report.result import Result

RIGHT, WRONG, UNCLEAR = "right", "wrong", "unclear"
NONE = "none"
"""The label of what belongs to no group."""


@dataclass(frozen=True)
class Choice:
    """A label, and the key that gives it."""

    label: str
    key: str
    words: str = ""
    """What the page calls it, where that is not the label itself."""


VERDICTS = (Choice(RIGHT, "r"), Choice(WRONG, "w"), Choice(UNCLEAR, "u"))


@dataclass(frozen=True)
class Judging:
    """How people judge the examples of a question."""

    asks: str
    """The question that a person answers for each."""
    columns: tuple[str, ...] = ()
    """Texts of an example that a person reads, and that its digest is made of; none: all that are texts."""
    page: Callable[[pl.DataFrame], Sequence[Mapping[str, Any]]] | None = None
    """The example without its verdict, in the form of `Question.example_page`; none: the columns under their names."""
    choices: tuple[Choice, ...] = VERDICTS
    items: Callable[[Result], pl.DataFrame] | None = None
    """What is judged, where that is no example with a verdict of true or false: rows of id, example_id (the example
    that it is a part of), verdict, what `page` and `columns` want, columns to slice by, and `positive`: the labels that
    say what the verdict says, or where it says wrong, the opposite. `expected`: the label under which the verdict was
    true; `choices`: the labels that fit, where they are each row's own; `shown`: what the page calls it, where its id
    would tell what it was made for."""
    flag: str = ""
    """A mark beside the label that takes an example out (not grammatical), by its words; its key is g."""

    others: Mapping[str, Judging] = field(default_factory=dict)
    """What else labels of such a run may be of, by what they call their question."""


DEFAULT = Judging("Is the answer right?")
