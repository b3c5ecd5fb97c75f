"""Batches of measurements on their way to a run: kept in memory while small, in shards otherwise."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.runs.directory import HELD_BYTES, RunDirectory, Shards, damage_told
from sensecheck.stages import REPORT, stage
from sensecheck.statistics.measurements import Frames, Measurements, full, lean

# Rows up to which ids are looked at for repeats.
CHECKED_ROWS = 5_000_000


@dataclass
class Batch:
    """The measurements of one batch of input, and the texts that go with them."""

    measurements: pl.DataFrame
    examples: pl.DataFrame | None = None
    places: Sequence[int] | None = None
    """Where the rows belong in the whole batch, if they are those of a shard."""
    text_places: Sequence[int] | None = None
    """The same for examples, where those are not one a row."""


@dataclass
class Collected:
    """All measurements of a run, wherever they are."""

    measurements: Measurements
    examples: Measurements | None
    directory: RunDirectory | None = None
    ids: int | None = None
    """How many ids there are, where rows share them and vary together for that."""
    named: int = 0
    """How many rows share them, or sequences where rows are tokens (`of_tokens`)."""
    of_tokens: bool = False


def collect(
    batches: Callable[[int], Iterator[Batch]],
    *,
    out: str | os.PathLike[str] | None = None,
    plan: Mapping[str, Any] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    anew: bool = False,
    asks: bool = False,
    progress: Callable[[int], None] | None = None,
    shard: Mapping[str, Any] | None = None,
) -> Collected:
    """Measure everything. `batches(done)` yields the batches from number `done` on, always cut the same way; with
    `anew`, a run that is resumed starts with the first again. With `asks`, measuring asks others, whose answers are
    kept in the run's folder; without, the folder is made once the first batch is there: a slip of the pen leaves none.
    `shard` is what the manifest says of a part of a run: what needs all rows is left to merging.
    """
    if out is not None and not resume and not asks:
        RunDirectory.check(out, overwrite=overwrite)
        source = batches(0)
        first = list(islice(source, 1))
        run = RunDirectory.begin(out, plan or {}, overwrite=overwrite, marks=shard)
        collected = _into(run, lambda done: chain(first, source), 0, progress)
    elif out is not None:
        run = RunDirectory.begin(out, plan or {}, resume=resume, overwrite=overwrite, marks=shard)
        collected = _into(run, batches, 0 if anew else run.completed(), progress)
    else:
        collected = _held(batches, progress)
    # A column that the user names says it all.
    if (plan or {}).get("cluster") or shard is not None:
        return collected
    old = collected.directory if resume else None
    with nullcontext() if old is None else damage_told(old.path):
        return _by_id(collected)


def _by_id(collected: Collected) -> Collected:
    """Rows that share an id become a cluster: their weights come from the id, so they are resampled together.

    Where a question makes clusters of its own (a conversation, a sequence), rows that share an id are in the same one.
    """
    rows = collected.measurements
    if "unit" in rows.schema or rows.height > CHECKED_ROWS:
        return collected
    texts = collected.examples
    of_tokens = texts is not None and "cluster" in rows.schema and texts.height < rows.height
    named = texts if texts is not None and of_tokens else rows
    if _are_counted(named):
        return collected
    names = _names(named)
    distinct = names["id"].n_unique()
    if distinct == len(names) or not _in_one_cluster(names):
        return collected
    collected.ids, collected.named, collected.of_tokens = distinct, len(names), of_tokens
    if "cluster" not in rows.schema:
        if isinstance(rows, Frames):
            rows.frames = [frame.with_columns(cluster=pl.col("id").cast(pl.String)) for frame in rows.frames]
        elif isinstance(rows, Shards):
            rows.rewrite(lambda frame: frame.with_columns(cluster=pl.col("id")))
    return collected


def _are_counted(rows: Measurements) -> bool:
    """Whether ids are numbers that only rise, as those of rows without a name are: then none is there twice."""
    last = -1
    for batch in rows.frames if isinstance(rows, Frames) else rows.batches(["id"]):
        numbers = batch["id"].cast(pl.Int64, strict=False).to_frame()
        if not len(numbers):
            continue
        if (
            numbers["id"].null_count()
            or numbers["id"][0] <= last
            or numbers.select(pl.col("id").diff() <= 0)["id"].any()
        ):
            return False
        last = int(numbers["id"][-1])
    return True


def _names(rows: Measurements) -> pl.DataFrame:
    """The ids of rows, with their clusters where a question makes some: then of scored ones, as a bad record is called
    by its number, which may be the id of another.
    """
    if "cluster" not in rows.schema:
        return pl.concat([batch.select("id") for batch in rows.batches(["id"])])
    columns = [name for name in ("id", "cluster", "scored") if name in rows.schema]
    parts = (batch.filter("scored") if "scored" in columns else batch for batch in rows.batches(columns))
    return pl.concat([part.select("id", "cluster") for part in parts])


def _in_one_cluster(names: pl.DataFrame) -> bool:
    """Whether all that share an id share a cluster."""
    if "cluster" not in names.columns:
        return True
    return bool(names.group_by("id").agg((pl.col("cluster").n_unique() == 1).alias("one"))["one"].all())


def _held(batches: Callable[[int], Iterator[Batch]], progress: Callable[[int], None] | None) -> Collected:
    held: list[Batch] = []
    size = 0
    source = batches(0)
    for batch in source:
        held.append(Batch(lean(batch.measurements), batch.examples))
        size += _bytes(held[-1])
        if progress is not None:
            progress(len(batch.measurements))
        if size > HELD_BYTES:
            return _spill(held, source, progress)
    if not held:
        raise ValueError("no batch was measured; a reader of an empty input raises an error of its own")
    texts = [batch.examples for batch in held if batch.examples is not None]
    return Collected(Frames([batch.measurements for batch in held]), Frames(texts) if texts else None)


def _bytes(batch: Batch) -> int:
    """What a batch takes; the ids of texts are those of the measurements."""
    texts = 0 if batch.examples is None else batch.examples.drop("id", strict=False).estimated_size()
    return int(batch.measurements.estimated_size() + texts)


def _into(
    run: RunDirectory, batches: Callable[[int], Iterator[Batch]], done: int, progress: Callable[[int], None] | None
) -> Collected:
    written: dict[Path, pl.DataFrame] = {}
    size = 0
    for index, batch in enumerate(batches(done), start=done):
        with stage(REPORT, unit="", pulled=True):
            path = run.write_shard(index, batch.measurements, batch.examples)
        kept = lean(batch.measurements)
        size += int(kept.estimated_size())
        if size <= HELD_BYTES:
            written[path] = kept
        else:
            written.clear()
        if progress is not None:
            progress(len(batch.measurements))
    shards = run.measurements()
    shards.hold(written)
    return Collected(shards, run.examples(), run)


def _spill(held: list[Batch], rest: Iterator[Batch], progress: Callable[[int], None] | None) -> Collected:
    """Too many rows for memory and no directory named: use a temporary one, removed with the result."""
    holder = tempfile.TemporaryDirectory(prefix="sensecheck-")
    run = RunDirectory.begin(os.path.join(holder.name, "run"), {"temporary": True})  # noqa: PTH118
    count = 0
    while held:
        first = held.pop(0)
        run.write_shard(count, full(first.measurements), first.examples)
        count += 1
    for batch in rest:
        run.write_shard(count, batch.measurements, batch.examples)
        count += 1
        if progress is not None:
            progress(len(batch.measurements))
    shards = run.measurements()
    weakref.finalize(shards, holder.cleanup)
    return Collected(shards, run.examples(), None)
