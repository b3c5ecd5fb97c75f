"""Records that were gathered from files before a question sees them: read from some layout, or joined with golds.

Every room takes them in place of paths; messages still name the file and line, manifests the files and their digests.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.inputs.errors import BadRecord, InputError, Unanswered
from sensecheck.inputs.hugging_face import ClassLabels
from sensecheck.inputs.kept_rows import kept
from sensecheck.inputs.places import RECORD, line_or_record

GOLD_FILE = "gold-file"
"""What a signature calls the file of golds that predictions were joined with."""

Fields = Sequence[Mapping[str, Any]] | pl.DataFrame


@dataclass
class Gathered:
    """Records in the order of their files. An empty one is a blank line, which means something in some layouts."""

    rows: Fields
    path: str = ""
    """The file, where it is one."""
    place: str = RECORD
    places: Sequence[int] = ()
    """The line or record of each; none: they are numbered from 1."""
    format: str = "table"
    inputs: list[dict[str, Any]] = field(default_factory=list)
    """The files, with their digests."""
    bad: list[BadRecord] = field(default_factory=list)
    """What could not be read, where bad records are skipped, or has no partner."""
    unanswered: list[Unanswered] = field(default_factory=list)
    """What was asked and has nothing to score."""
    files: list[Path] = field(default_factory=list)
    """All files behind them, golds too."""
    class_labels: list[ClassLabels] = field(default_factory=list)
    """What is said of integers that stand for classes, the nearest first."""
    notes: list[str] = field(default_factory=list)
    may_lack: bool = False
    """Whether records may lack a confidence or a verdict without a fault, as in logs of hosts and servers."""
    renamed: dict[str, str] = field(default_factory=dict)
    """A gold's field → what it is called here, where predictions have one of its name."""
    method: dict[str, Any] = field(default_factory=dict)
    """What a signature says of how they were made."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> list[str]:
        if isinstance(self.rows, pl.DataFrame):
            return self.rows.columns
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def place_of(self, row: int) -> int:
        return int(self.places[row]) if len(self.places) else row + 1

    def column(self, name: str) -> list[Any]:
        if isinstance(self.rows, pl.DataFrame):
            return self.rows[name].to_list()
        return [row.get(name) for row in self.rows]

    def dictionaries(self) -> Sequence[Mapping[str, Any]]:
        return self.rows.to_dicts() if isinstance(self.rows, pl.DataFrame) else self.rows

    def first(self, count: int) -> Sequence[Mapping[str, Any]]:
        return self.rows[:count].to_dicts() if isinstance(self.rows, pl.DataFrame) else self.rows[:count]

    def taken(self, rows: Sequence[int]) -> Gathered:
        """These rows alone."""
        if isinstance(self.rows, pl.DataFrame):
            return self.in_place_of(rows, self.rows[list(rows)])
        return self.in_place_of(rows, kept(self.rows[row] for row in rows))

    def in_place_of(self, rows: Sequence[int], others: Fields) -> Gathered:
        """Other records in the places of these rows."""
        places = array("q", map(self.place_of, rows))
        return replace(self, rows=others, places=places, notes=[], renamed={}, method={}, files=[], class_labels=[])

    def with_unanswered(self) -> Gathered:
        """With the records that have nothing to score in their places: they have golds like all others."""
        if not self.unanswered:
            return self
        rows, places = self.dictionaries(), [self.place_of(row) for row in range(len(self))]
        between: dict[int, list[Unanswered]] = {}
        for one in self.unanswered:
            between.setdefault(len(rows) if one.before is None else one.before, []).append(one)
        every = array("q")

        def whole() -> Iterator[Mapping[str, Any]]:
            for at in range(len(rows) + 1):
                for one in between.get(at, ()):
                    every.append(one.place)
                    yield one
                if at < len(rows):
                    every.append(places[at])
                    yield rows[at]

        return replace(self, rows=kept(whole()), places=every, unanswered=[])

    def is_unanswered(self, row: int) -> bool:
        return not isinstance(self.rows, pl.DataFrame) and isinstance(self.rows[row], Unanswered)

    def without_blanks(self) -> Gathered:
        blank = self.blanks()
        return self if not blank else self.taken([row for row in range(len(self)) if row not in blank])

    def blanks(self) -> set[int]:
        if isinstance(self.rows, pl.DataFrame):
            return set()
        return {row for row, fields in enumerate(self.rows) if not fields}

    def error(self, row: int, problem: str | None = None, **parts: Any) -> InputError:
        return InputError(problem, path=self.path or None, **line_or_record(self.place, self.place_of(row)), **parts)
