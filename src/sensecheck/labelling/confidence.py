"""`calibrated RUN --human`: how sure a run of another question was of its verdicts, held against what people say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.opening import is_path, sources
from sensecheck.inputs.reasons import Reason
from sensecheck.judges.figures import SURE
from sensecheck.labelling.correcting import digest_of, majority
from sensecheck.labelling.items import items_of
from sensecheck.labelling.matching import matched
from sensecheck.labelling.reading import read
from sensecheck.report.result import Result, load
from sensecheck.runs.directory import SUMMARY, RunDirectory
from sensecheck.statistics.measurements import RESERVED

STANDS_FOR = "stands_for"
"""The column that says how many rows of the run a labelled one stands for."""
_DOUBT, _CONFIDENCE = "doubt", "confidence"
_WHEN_A_JUDGE_SAYS = "A judge says how sure it is where it has several votes (--judge-votes) or with --judge-logprobs."


def is_run(data: Any) -> bool:
    """Whether this is a run, and no input of one."""
    return isinstance(data, Result) or (is_path(data) and RunDirectory(Path(os.fspath(data))).is_run())


def labelled_confidences(data: Any, human: Any, columns: Mapping[str, str]) -> Gathered:
    """The labelled rows of a run: `confidence` that the example is right (1 − doubt), and `correct` as people say.

    columns: `confidence` may name another column of the run's measurements.
    """
    result = data if isinstance(data, Result) else load(data)
    schema = result.rows.schema
    column = columns.get(_CONFIDENCE) or next((c for c in (_DOUBT, _CONFIDENCE) if c in schema), "")
    numbers = [name for name, kind in schema.items() if kind.is_numeric() and name not in RESERVED]
    if column not in numbers:
        got = f"{shown(column)}, which is none of its numbers" if column else "a run that keeps neither"
        raise InputError(
            f"{result.name}: expected a run with a doubt or a confidence, got {got}", reason=Reason.NO_COLUMN,
            hint=did_you_mean(column, numbers)
            or f"Name one of its numbers: --columns confidence=COLUMN ({', '.join(numbers[:12]) or 'it has none'}).",
        )  # fmt: skip
    slices = [name for name, kind in schema.items() if kind == pl.String and name not in RESERVED]
    labels = read(human)
    owner = [name for name in ("unit",) if name in schema and "cluster" not in schema]
    items = items_of(result, [column, *slices, *owner])
    fits = matched(labels, items)
    judged, notes = majority(fits)
    weights, more = fits.weighed(judged["id"])
    sure = pl.col(column).cast(pl.Float64)
    frame = items.frame.join(judged, on="id", how="inner", maintain_order="left").join(
        weights.select("id", STANDS_FOR), on="id", how="left", maintain_order="left"
    )
    if not len(frame):
        raise InputError("no label says right or wrong", hint="Label some, and export them.", reason=Reason.EMPTY)
    sured = frame.filter(pl.col(column).is_not_null())
    if not len(sured):
        raise InputError(
            f"{result.name}: none of the {len(frame):,} labelled examples has a {column}", reason=Reason.NO_COLUMN,
            hint=_WHEN_A_JUDGE_SAYS if column == SURE else None,
        )  # fmt: skip
    if lacking := len(frame) - len(sured):
        more = [*more, f"{lacking:,} of {len(frame):,} labelled examples have no {column}: no figure speaks of them"]
        frame = sured
    cluster = next((c for c in ("cluster", "unit") if c in frame.columns), None)
    rows = frame.select(
        "id", (1 - sure if column == _DOUBT else sure).alias("confidence"),
        pl.col("right").cast(pl.Int64).alias("correct"), STANDS_FOR,
        *([pl.col(cluster).alias("cluster")] if cluster else []), *slices,
    )  # fmt: skip
    rows = rows.join(_texts(result, rows.columns), on="id", how="left", maintain_order="left")
    told = f"{len(rows):,} labelled examples of a run of {result.question.name} ({result.name})"
    sure_of = "1 − doubt" if column == _DOUBT else column
    return Gathered(
        rows, path=str(result.directory.path) if result.directory is not None else "",
        inputs=_inputs(result, human), files=[],
        notes=[f"{told}: the confidence is {sure_of}, right is what people say", *notes, *more],
        method={"of": result.signature.short, "confidence": sure_of, "human": digest_of(fits)},
    )  # fmt: skip


def _texts(result: Result, known: list[str]) -> pl.DataFrame:
    """What the examples say, for the page."""
    if result.texts is None:
        return pl.DataFrame(schema={"id": pl.String})
    kept = [c for c, kind in result.texts.schema.items() if kind == pl.String and c not in (*known, *RESERVED)]
    parts = [batch.select(pl.col("id").cast(pl.String), *kept) for batch in result.texts.batches()]
    return pl.concat(parts, how="diagonal_relaxed").unique("id", keep="first", maintain_order=True)


def _inputs(result: Result, human: Any) -> list[dict[str, Any]]:
    paths = list(human) if isinstance(human, list | tuple) else [human]
    files = [os.fspath(path) for path in paths if is_path(path)]
    if result.directory is not None:
        files.insert(0, str(result.directory.path / SUMMARY))
    told = []
    for source in sources(files) if files else []:
        source.digest_file()
        told.append({"path": source.name, "sha256": source.sha256})
    return told
