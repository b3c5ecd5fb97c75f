"""A question: what a room brings so that runs, tables, pages, comparisons and the command line work for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from sensecheck import instruments
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.plotting.chart import Chart
from sensecheck.runs.signature import Method
from sensecheck.statistics.statistic import AnyStatistic

if TYPE_CHECKING:
    from sensecheck.labelling.judging import Judging
    from sensecheck.report.result import Result
    from sensecheck.report.tables import Table


@dataclass(frozen=True)
class Question:
    name: str
    asks: str
    """The question itself, as the report's title has it."""
    statistics: Callable[[Method], Sequence[AnyStatistic]]
    """The statistics under a signature's method part, so that a stored run can be read again. An empty method means
    all figures that the question knows."""
    headline: tuple[str, ...]
    """The figures that slices and comparisons show first."""
    outcome: str = ""
    """The measurement column whose changes are the flips of a comparison."""
    outcome_words: tuple[str, str] | None = None
    """What the page calls a true/false outcome of 0 and of 1 (default: "not correct", "correct")."""
    plots: Callable[[Result], Sequence[Chart]] | None = None
    example_page: Callable[[pl.DataFrame], Sequence[Mapping[str, Any]]] | None = None
    """Texts of some examples (rows of measurements joined with their texts) → parts to show, see `report.examples`."""
    judging: Judging | None = None
    """How people judge its examples, where that takes more than their texts and right or wrong."""
    verdict: Callable[[Result], Sequence[str]] | None = None
    """One to three plain sentences that a reader should take away."""
    tables: Callable[[Result], Sequence[Table]] | None = None
    """Tables of its own, behind those of figures and slices; made from the figures and `Result.extra` alone."""
    tables_title: str = ""
    """The heading above them on the page."""
    given: tuple[str | tuple[str, ...], ...] = ()
    """Text columns of the examples that are the input's and not the system's: two runs of one input share them. Of
    several in a tuple either may be, and the others are the system's."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Text columns that come with examples and move figures, and what they are called: a comparison says where they
    are not the same."""
    ignored_in_comparison: frozenset[str] = frozenset({"ci", "provider"})
    """Choices of the method that change no value, or say whose answers are measured."""
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Our name of what it reads → the names that it may have in files, the first that is there wins."""
    fields_of: Callable[[Sequence[Mapping[str, Any]]], Mapping[str, str]] | None = None
    """Where what records hold says more than their names: our name → theirs, by the first records."""
    needs: tuple[tuple[str, ...], ...] = ()
    """What records must bring, one of each group; the first group is what a system predicts."""
    reads: str = ""
    """What --help says of the files it reads, below the question."""
    usage: tuple[str, ...] = ()
    """Commands that --help shows as examples, without `sensecheck NAME` in front."""
    working: tuple[str, str] = ("reading and measuring", "rows")
    """What the progress line says is being done, and what it counts."""


def question(name: str) -> Question:
    """The question of that name; its room is imported only now."""
    declared = instruments.room(name).QUESTION
    if not isinstance(declared, Question):
        raise instruments.InstrumentError(f"the QUESTION of {name!r} is not a Question but a {type(declared).__name__}")
    return declared


def slicings(given: str | Sequence[str | Sequence[str]]) -> list[tuple[str, ...]]:
    """What to slice by, as a user may write it: one column, several, and crossings of some ('a×b' or 'a*b').

    A column whose own name holds such a sign is given as a tuple of one.

    >>> slicings(["model", "model×hardness"])
    [('model',), ('model', 'hardness')]
    """
    crossings = []
    for one in [given] if isinstance(given, str) else given:
        columns = tuple(p.strip() for p in one.replace("*", "×").split("×")) if isinstance(one, str) else tuple(one)
        if not columns or not all(columns):
            raise InputError(
                field="slices (--slice)", expected="a column, or columns crossed as in a×b", got=shown(one),
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
        crossings.append(columns)
    return list(dict.fromkeys(crossings))
