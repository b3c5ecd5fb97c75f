"""What people can judge of a run: every example that has a verdict, and the digests by which it is known again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.opening import is_path
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableReader
from sensecheck.labelling.judging import DEFAULT, RIGHT, WRONG, Judging
from sensecheck.report.examples import key_column
from sensecheck.report.result import Result
from sensecheck.statistics.arrays import U64
from sensecheck.statistics.hashing import hash_ids, scramble, seed_key
from sensecheck.statistics.measurements import RESERVED, present

VERDICT = "verdict"
"""The name of the verdict among the columns that strata are made of."""
_OWN = ("id", "verdict", "example", "scored", "reason")
_STEP = np.uint64(0x9E3779B97F4A7C15)
_JOINED = "\x1f"


@dataclass(frozen=True)
class Items:
    """All that has a verdict in a run, or in a file of verdicts."""

    name: str
    """What the system is called."""
    question: str
    """Which question the verdicts answer; none: nobody says."""
    judging: Judging
    frame: pl.DataFrame
    """A row each: id, verdict (right or wrong, in our words: whether the system did well), example (its digest),
    cluster where rows have one, and the columns that were asked for. A file of verdicts has no digests."""
    left_out: int
    """Examples without a verdict: unscored."""
    digest: str
    """Of all examples together, in any order: the same predictions have the same, however they were measured."""

    def strata(self, columns: Sequence[str]) -> pl.Series:
        """The stratum of each item, as JSON: column → value."""
        told = self.frame.select(pl.col(name).cast(pl.String).fill_null("(none)") for name in columns)
        distinct = told.unique(maintain_order=True)
        words = [json.dumps(row, sort_keys=True) for row in distinct.iter_rows(named=True)]
        named = distinct.with_columns(pl.Series("stratum", words, dtype=pl.String))
        return told.join(named, on=list(columns), how="left", maintain_order="left")["stratum"]


def items_of(result: Result, columns: Sequence[str] = (), verdict: str = "", about: str = "") -> Items:
    """What has a verdict in a run, with these columns of its measurements.

    verdict: a true/false column of the measurements that takes the place of the question's outcome. about: what else
    of the run is judged (golds), by the name that its labels give it.
    """
    if result.texts is None:
        raise InputError(
            f"{result.name}: this run keeps no texts of its examples, so there is nothing that a person could read",
            hint="Measure records that have texts beside their numbers.", reason=Reason.MISSING_TEXT,
        )  # fmt: skip
    judging = result.question.judging or DEFAULT
    judging = judging.others[about] if about else judging
    if judging.items is not None and not verdict:
        frame = judging.items(result)
        _refuse_unknown(columns, frame.columns)
        frame = frame.with_columns(pl.Series("example", _digests(frame, judged_columns(judging, frame.schema))))
        judged = frame.filter(pl.col("verdict").is_not_null()).with_columns(_in_words("verdict", lower=False))
        digest = _together(frame["example"])
        named = about or result.question.name
        return Items(result.name, named, judging, judged, len(frame) - len(judged), digest)
    return _examples(result, judging, columns, verdict)


def _examples(result: Result, judging: Judging, columns: Sequence[str], verdict: str) -> Items:
    schema = result.rows.schema
    outcome = verdict or result.question.outcome
    if schema.get(outcome) != pl.Boolean:
        known = [name for name, kind in schema.items() if kind == pl.Boolean and name != "scored"]
        raise InputError(
            field="verdict", expected="a column of verdicts, each true or false", got=shown(outcome),
            hint=f"Choose one of the measurements: {', '.join(known) or 'there is none in this run'}.",
            reason=Reason.NO_COLUMN,
        )  # fmt: skip
    _refuse_unknown(columns, list(schema))
    key = key_column(result.rows, result.texts)
    lower = not verdict and result.outcome_direction == "lower"
    wanted = present([key, "scored", outcome, "cluster", *columns], schema)
    parts, rows = [], 0
    for batch in result.rows.batches(wanted):
        batch = batch.with_columns(pl.col(key).cast(pl.String))
        if key != "id":
            # Tokens of a sequence: it is right where all of them are.
            kept = [pl.col(name).first() for name in wanted if name not in (key, "scored", outcome)]
            marks = [pl.col(name).all() for name in ("scored", outcome) if name in wanted]
            batch = batch.group_by(key, maintain_order=True).agg(*marks, *kept)
        rows += len(batch)
        there = pl.col(outcome).is_not_null() & (pl.col("scored") if "scored" in wanted else pl.lit(True))
        # Samples of one example share its id: the second is id~2.
        parts.append(batch.with_columns(_there=there))
    frame = pl.concat(parts, how="vertical_relaxed").rename({key: "id"} if key != "id" else {})
    frame = _numbered(frame).filter(pl.col("_there"))
    frame = frame.rename({outcome: "verdict"}) if outcome != "verdict" else frame
    frame = frame.with_columns(_in_words("verdict", lower)).drop("scored", "_there", strict=False)
    digests = pl.concat(list(_text_digests(result, judging))).with_columns(pl.col("id").cast(pl.String))
    joined = frame.join(_numbered(digests), on=["id", "_nth"], how="inner", maintain_order="left")
    nth = pl.when(pl.col("_nth") == 0).then(pl.lit("")).otherwise(pl.format("~{}", pl.col("_nth") + 1))
    named = joined.with_columns(example_id=pl.col("id"), id=pl.col("id") + nth)
    digest = _together(digests["example"])
    return Items(result.name, result.question.name, judging, named, rows - len(joined), digest)


def _numbered(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(_nth=pl.int_range(pl.len()).over("id"))


def _in_words(column: str, lower: bool) -> pl.Expr:
    good = ~pl.col(column) if lower else pl.col(column)
    return pl.when(good).then(pl.lit(RIGHT)).otherwise(pl.lit(WRONG)).alias(column)


def _refuse_unknown(columns: Sequence[str], known: Sequence[str]) -> None:
    for name in columns:
        if name not in known or name in _OWN:
            raise InputError(
                f"the run has no column {shown(name, 60)} to draw or slice by",
                hint=did_you_mean(name, [c for c in known if c not in RESERVED]) or None, reason=Reason.UNKNOWN_COLUMN,
            )  # fmt: skip


def items_in_file(
    data: Any, verdict: str, columns: Sequence[str] = (), id_column: str = "id"
) -> tuple[Items, pl.DataFrame]:
    """The verdicts in a column of a file, which stand in for a run; and the whole file as text, for the page."""
    reader = TableReader(data)
    parts = []
    for batch in reader:
        batch.require([verdict, *columns])
        texts = [batch.spelled(name) for name in batch.frame.columns[1:] if name != "id"]
        marks = batch.marks(verdict).alias("_verdict")
        parts.append(pl.DataFrame([batch.ids().cast(pl.String), marks, *texts]))
    if not parts:
        raise InputError("there is no row with a verdict", path=_path_of(data), reason=Reason.EMPTY)
    whole = pl.concat(parts, how="diagonal_relaxed")
    twice = whole.filter(pl.col("id").is_duplicated())
    if len(twice):
        raise InputError(
            f"the id {shown(twice['id'][0], 60)} is there twice", path=_path_of(data), reason=Reason.KEY_TWICE,
            hint="Labels are joined by id: each row needs one of its own.",
        )  # fmt: skip
    judged = whole.filter(pl.col("_verdict").is_not_null())
    frame = judged.select("id", *columns, _in_words("_verdict", lower=False).alias("verdict"))
    frame = frame.with_columns(example=pl.lit(None, dtype=pl.String))
    name = reader.files[0].path if reader.files else "verdicts"
    items = Items(f"{verdict} in {Path(name).name or 'memory'}", "", DEFAULT, frame, len(whole) - len(judged), "")
    return items, whole.drop("_verdict")


def _path_of(data: Any) -> str | None:
    return str(data) if is_path(data) else None


# ---- digests


def _together(digests: pl.Series) -> str:
    hashes = np.array([int(one, 16) for one in digests.to_list()], dtype=np.uint64)
    with np.errstate(over="ignore"):
        total = scramble(hashes * _STEP).sum(dtype=np.uint64) + np.uint64(len(hashes)) * _STEP
    return f"{int(scramble(np.array([total], dtype=np.uint64))[0]):016x}"


def _text_digests(result: Result, judging: Judging) -> Iterator[pl.DataFrame]:
    assert result.texts is not None
    for batch in result.texts.batches():
        there = judged_columns(judging, batch.schema)
        yield batch.select("id").with_columns(pl.Series("example", _digests(batch, there), dtype=pl.String))


def judged_columns(judging: Judging, schema: pl.Schema) -> list[str]:
    """The columns of texts that a person reads: those that are named, or all texts and lists of them."""
    kinds = (pl.String(), pl.List(pl.String))
    texts = [name for name, kind in schema.items() if kind in kinds and name not in RESERVED]
    return [name for name in judging.columns if name in texts] or texts


def _digests(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """Of each row's id and texts; no text at all is another thing than an empty one."""
    total: U64 = hash_ids(frame["id"].cast(pl.String)) if len(frame) else np.empty(0, dtype=np.uint64)
    for name in columns:
        column = frame[name]
        text = column.list.join(_JOINED) if column.dtype == pl.List(pl.String) else column.cast(pl.String)
        absent = text.is_null().to_numpy().astype(np.uint64)
        with np.errstate(over="ignore"):
            total = scramble(total * _STEP + hash_ids(text) + absent + seed_key(0, name)) if len(frame) else total
    return [f"{one:016x}" for one in total.tolist()]
