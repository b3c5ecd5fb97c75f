"""A question: what a room brings so that runs, tables, pages and comparisons work for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from sensecheck.inputs.errors import InputError, shown
from sensecheck.plotting.chart import Chart
from sensecheck.statistics.statistic import AnyStatistic

if TYPE_CHECKING:
    from sensecheck.report.result import Result

QUESTIONS = ("faithful", "correct", "diverse", "robust", "calibrated")


@dataclass(frozen=True)
class Question:
    name: str
    asks: str
    statistics: Callable[[Mapping[str, str]], Sequence[AnyStatistic]]
    """The statistics under a signature's method part, so that a stored run can be read again."""
    headline: tuple[str, ...]
    """The figures that slices and comparisons show first."""
    outcome: str = ""
    """The measurement column whose changes are the flips of a comparison."""
    outcome_words: tuple[str, str] | None = None
    """What the page calls a true/false outcome of 0 and of 1 (default: "not correct", "correct")."""
    plots: Callable[[Result], Sequence[Chart]] | None = None
    example_page: Callable[[pl.DataFrame], Sequence[Mapping[str, Any]]] | None = None
    """Texts of some examples (rows of measurements joined with their texts) → parts to show, see `report.examples`."""
    verdict: Callable[[Result], Sequence[str]] | None = None
    """One to three plain sentences that a reader should take away."""
    given: tuple[str, ...] = ()
    """Text columns of the examples that are the input's and not the system's: two runs of one input share them."""
    ignored_in_comparison: frozenset[str] = field(default=frozenset({"ci"}))
    """Choices of the method that change no value."""


def question(name: str) -> Question:
    """The question of that name; its room is imported only now."""
    if name not in QUESTIONS:
        raise KeyError(name)
    found = import_module(f"sensecheck.{name}").QUESTION
    assert isinstance(found, Question)
    return found


def available() -> list[str]:
    """The questions whose rooms are furnished."""
    return [name for name in QUESTIONS if hasattr(import_module(f"sensecheck.{name}"), "QUESTION")]


def slicings(given: str | Sequence[str | Sequence[str]]) -> list[tuple[str, ...]]:
    """What to slice by, as a user may write it: one column, several, and crossings of some ('a×b' or 'a*b').

    A column whose own name holds such a sign is given as a tuple of one.
    """
    found = []
    for one in [given] if isinstance(given, str) else given:
        parts = tuple(p.strip() for p in one.replace("*", "×").split("×")) if isinstance(one, str) else tuple(one)
        if not parts or not all(parts):
            raise InputError(
                field="slices (--slice)", expected="a column, or columns crossed as in a×b", got=shown(one),
                reason="bad_option",
            )  # fmt: skip
        found.append(parts)
    return list(dict.fromkeys(found))
