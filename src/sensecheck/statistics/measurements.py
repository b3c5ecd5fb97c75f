"""Measurements: one row for every example, scored or not, in batches that can be read again.

Columns with a meaning of their own:
  id       names the row; first column
  unit     what is paired when two runs are compared (default: the id)
  cluster  what is resampled together: a conversation, a sequence (default: the unit)
  weight   how much a row counts (default: 1)
  scored   false where the row could not be scored …
  reason   … and why; of a row that is scored, why what a model wrote was given up and counts as wrong
All other columns are slices (text) or plain numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import polars as pl

RESERVED = ("id", "unit", "cluster", "weight", "scored", "reason")


class Measurements(Protocol):
    """Anything that gives its rows in batches, as often as asked."""

    @property
    def schema(self) -> pl.Schema: ...

    @property
    def height(self) -> int: ...

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]: ...


class Frames:
    """Measurements held in memory.

    >>> shards = Frames([pl.DataFrame({"id": ["a", "b"], "em": [1, 0]}), pl.DataFrame({"id": ["c"], "em": [1]})])
    >>> shards.height, [len(batch) for batch in shards.batches(["em"])]
    (3, [2, 1])
    """

    def __init__(self, frames: Sequence[pl.DataFrame] | pl.DataFrame) -> None:
        self.frames = [frames] if isinstance(frames, pl.DataFrame) else list(frames)
        if not self.frames:
            raise ValueError("measurements need at least one frame, be it an empty one")

    @property
    def schema(self) -> pl.Schema:
        return _full_schema(self.frames[0])

    @property
    def height(self) -> int:
        return sum(len(f) for f in self.frames)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        for frame in self.frames:
            yield full(frame if columns is None else frame.select(columns))


def lean(frame: pl.DataFrame) -> pl.DataFrame:
    """The same where a column of texts that holds none takes no room: most rows have no `reason`.

    Lean tables may also hold the numbers of records as `id`: few figures ask for the names of rows.
    """
    empty = [c for c, kind in frame.schema.items() if kind == pl.String and frame[c].null_count() == len(frame)]
    return frame.with_columns(pl.col(c).cast(pl.Null) for c in empty) if empty else frame


def full(frame: pl.DataFrame) -> pl.DataFrame:
    """A lean table with its columns of texts."""
    stored = [c for c, kind in frame.schema.items() if _is_lean(c, kind)]
    return frame.with_columns(pl.col(c).cast(pl.String) for c in stored) if stored else frame


def _full_schema(frame: pl.DataFrame) -> pl.Schema:
    return pl.Schema({c: pl.String() if _is_lean(c, kind) else kind for c, kind in frame.schema.items()})


def _is_lean(column: str, kind: pl.DataType) -> bool:
    return kind == pl.Null or (column == "id" and kind.is_integer())


def concatenated(measurements: Measurements, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """All rows in one table (for what needs them side by side)."""
    return pl.concat(list(measurements.batches(columns)), how="vertical_relaxed")


def present(columns: Sequence[str], schema: pl.Schema) -> list[str]:
    """Those of `columns` that the measurements have, without repeats."""
    return [c for c in dict.fromkeys(columns) if c in schema]
