"""A run measured in shards: which records are whose, and how the measurements are put together again.

A shard reads everything and measures its own records: those whose ids hash to its number, so that all samples of one
example are in one shard. What it measured lies in a run directory that is marked as a shard, batch by batch as in the
whole run, with the place of each row in its batch. Put together in the order of places, the batches are those that
one run would have written; from there on all goes as if that run had been stopped and resumed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.runs.collecting import Batch
from sensecheck.runs.directory import RunDirectory
from sensecheck.statistics.hashing import hash_ids

PLACE = "_place"
"""The column of a shard's files that says where a row belongs in its batch; merged runs do not have it."""
SLURM = "slurm"


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of a run, numbered from 1."""

    number: int
    count: int
    call: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """What `evaluate` was called with, in the forms of JSON: merging calls it once more."""
    told: str = field(default="", compare=False)
    """Where the number came from, if nobody wrote it."""

    def __str__(self) -> str:
        return f"{self.number} of {self.count}"

    @property
    def marks(self) -> dict[str, Any]:
        """What the manifest says of it."""
        return {"shard": {"number": self.number, "count": self.count}, "call": dict(self.call)}

    def own(self, ids: pl.Series) -> list[int]:
        """The places of the records that are its own."""
        owners = hash_ids(ids.cast(pl.String)) % self.count
        return [int(place) for place in (owners == self.number - 1).nonzero()[0]]

    def part_of(self, batch: Batch) -> Batch:
        """Its rows of a batch that was measured whole."""
        rows, texts = batch.measurements, batch.examples
        places = self.own(rows["id"])
        of_texts = None if texts is None else self.own(texts["id"])
        return Batch(
            rows[places], None if texts is None or of_texts is None else texts[of_texts], places=places,
            text_places=of_texts,
        )  # fmt: skip

    @staticmethod
    def kept(batch: Batch) -> Batch:
        """A batch of its rows as it is kept: with their places."""
        of_texts = batch.places if batch.text_places is None else batch.text_places
        return Batch(
            _placed(batch.measurements, batch.places),
            None if batch.examples is None else _placed(batch.examples, of_texts),
        )


NONE_OWN = Batch(pl.DataFrame(schema={"id": pl.String}), places=[])
"""A batch none of whose records are a shard's own."""


def _placed(frame: pl.DataFrame, places: Sequence[int] | None) -> pl.DataFrame:
    return frame.with_columns(pl.Series(PLACE, list(places or ()), dtype=pl.Int64))


def shard(given: str | Sequence[int] | Shard) -> Shard:
    """A shard as it is asked for: `3/7`, (3, 7), or `slurm` for the task of a job array.

    >>> str(shard("3/7"))
    '3 of 7'
    """
    if isinstance(given, Shard):
        return given
    if given == SLURM:
        return _of_array(os.environ)
    parts = given.split("/") if isinstance(given, str) else list(given)
    try:
        number, count = (int(part) for part in parts)
    except (ValueError, TypeError):
        number = count = 0
    if not 1 <= number <= count:
        raise InputError(
            field="shard", expected="I/N, a number from 1 to N and how many shards there are", got=shown(given, 40),
            hint="The third of seven: --shard 3/7. In a job array of Slurm: --shard slurm.", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    return Shard(number, count)


def _of_array(variables: Mapping[str, str]) -> Shard:
    """The task of a Slurm job array; arrays begin with any number, and may count in steps."""
    names = [f"SLURM_ARRAY_TASK_{part}" for part in ("ID", "COUNT", "MIN", "STEP")]
    try:
        task, count = (int(variables[name]) for name in names[:2])
        first, step = (int(variables.get(name) or default) for name, default in zip(names[2:], ("", "1"), strict=True))
    except (KeyError, ValueError):
        there = ", ".join(f"{name}={variables[name]}" for name in names if variables.get(name)) or "none of them"
        raise InputError(
            field="shard", expected=f"the variables {', '.join(names[:3])} of a job array", got=shown(there, 200)[1:-1],
            hint="Start the job with sbatch --array=1-7, or name the shard: --shard 3/7.", reason=Reason.BAD_OPTION,
        ) from None  # fmt: skip
    number, beside = divmod(task - first, step)
    if beside or not 0 <= number < count:
        raise InputError(
            field="shard", expected=f"a task of an array of {count:,} that begins with {first:,}",
            got=f"task {task:,}", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    return replace(Shard(number + 1, count), told=f"task {task} of the Slurm array")


def join(shards: Sequence[RunDirectory], into: RunDirectory) -> None:
    """Write the batches of all shards, in order, into a run that was begun; those that are there already stay."""
    for number in range(into.completed(), shards[0].completed()):
        rows = _in_order([run.batch("measurements", number) for run in shards])
        assert rows is not None  # a batch has records, and each of them an owner
        into.write_shard(number, rows, _in_order([run.batch("examples", number) for run in shards]))


def _in_order(parts: Sequence[pl.DataFrame | None]) -> pl.DataFrame | None:
    filled = [part for part in parts if part is not None and len(part)]
    if not filled:
        return next((part.drop(PLACE) for part in parts if part is not None and part.width > 2), None)
    return pl.concat(filled, how="diagonal_relaxed").sort(PLACE, maintain_order=True).drop(PLACE)
