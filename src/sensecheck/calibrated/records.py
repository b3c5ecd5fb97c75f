"""What `calibrated` reads: `.logits` files of tokens, and tables of (confidence, correct)."""

from __future__ import annotations

import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import polars as pl
import zstandard

from sensecheck.calibrated.answers import Answer, answers_of, holds_answers, parsed
from sensecheck.calibrated.classwise import distribution_column, unpacked
from sensecheck.calibrated.logits import LogitsReader, detect_format
from sensecheck.calibrated.measure import AGGREGATES, Aggregate, combined, sequences, tokens
from sensecheck.calibrated.token_kinds import KIND, RANGE, TokenKinds, position_range
from sensecheck.calibrated.verbalised import CONTESTED, spoken
from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.opening import Source, is_path, sources
from sensecheck.inputs.tables import Format, TableBatch, TableReader, check_columns, check_names
from sensecheck.runs.collecting import Batch

InputFormat = Literal["auto", "logits", "miso", "logprobs", "csv", "tsv", "text", "jsonl", "json", "parquet"]
INPUT_FORMATS = ("auto", "logits", "miso", "logprobs", "csv", "tsv", "text", "jsonl", "json", "parquet")
Scale = Literal["auto", "probabilities", "logits", "logprobs"]
SCALES = ("auto", "probabilities", "logits", "logprobs")
Level = Literal["token", "sequence"]

_PEEK = 1 << 20
_LOGITS = ("logits", "miso", "logits-hf", "logits-miso")
# Names that people give to the two columns, in the order in which we look for them.
_CONFIDENCE_NAMES = (
    "confidence", "conf", "prob", "probability", "score", "confidence_level", "p", "top_prob", "max_prob",
)  # fmt: skip
_CORRECT_NAMES = ("correct", "is_correct", "label", "grade", "accuracy", "acc", "hit", "target")
# Fields of a `.logits` line that hold the words behind the numbers of its tokens: gold, then predicted.
_TOKEN_TEXTS = ("tokens", "predicted")
RAW_LOGITS = "raw logits: no probability is known"
# float32 softmax may exceed 1 by rounding alone.
_ROUNDING = 1e-6


@dataclass
class Options:
    """Everything that changes which rows are read and what they mean."""

    input_format: InputFormat = "auto"
    scale: Scale = "auto"
    level: Level = "token"
    aggregate: Aggregate = "product"
    ignore_tokens: Sequence[int | str] = ()
    ignore_by: Literal["gold", "predicted"] = "gold"
    top_k: int = 1
    columns: Mapping[str, str] = field(default_factory=dict)
    keep: Sequence[str] = ()
    """Columns (or fields of a `.logits` line) wanted for slices."""
    weight: str | None = None
    cluster: str | None = None
    limit: int | None = None
    skip_bad: bool = False
    jobs: int = 1
    kinds: TokenKinds | None = None

    def __post_init__(self) -> None:
        for name, known in (("input_format", INPUT_FORMATS), ("scale", SCALES), ("aggregate", AGGREGATES),
                            ("level", ("token", "sequence")), ("ignore_by", ("gold", "predicted"))):  # fmt: skip
            value = getattr(self, name)
            if value not in known:
                raise InputError(
                    field=name, expected=f"one of {', '.join(known)}", got=shown(value), reason="bad_option"
                )


class Records:
    """An input opened: iterate its batches, then ask what was found."""

    def __init__(self, data: Any, options: Options) -> None:
        self.options = options
        self.notes: list[str] = []
        self.data, self.kind = _recognised(data, options.input_format)
        self.tokens = self.kind in _LOGITS
        self.answers = self.kind == "logprobs"
        self._sources: list[Source] = []
        self._bad_answers: dict[str, int] = {}
        self._contested: set[str] = set()
        self._verbalised: set[str] = set()
        self._unjudged = 0
        self.classes: list[str] | None = None
        self._logits: LogitsReader | None = None
        self._table: TableReader | None = None
        self._scales: dict[str, str] = {}
        self._raw_logits = False
        self._worded: dict[str, bool] = {}
        self._rows = 0
        self._seen: tuple[float, float] | None = None
        self._only_marks = True
        if not self.tokens and options.level == "sequence":
            raise InputError(
                "a table of (confidence, correct) has no tokens to put together",
                field="level",
                hint="--level sequence (level='sequence') needs a .logits file.",
                reason="bad_option",
            )

    def batches(self, done: int = 0) -> Iterator[Batch]:
        made = (
            self._token_batches() if self.tokens else self._answer_batches() if self.answers else self._table_batches()
        )
        count = 0
        for count, batch in enumerate(made, start=1):
            if count > done:
                yield batch
        if count == 0:
            place = self._paths()
            raise InputError(
                path=place[0] if len(place) == 1 else None,
                expected="at least one record",
                got="none" if not self.bad() else "only bad ones",
                hint="The input holds nothing to measure.",
                reason="empty",
            )
        self._remark()

    # -- .logits ---------------------------------------------------------------------------------------------

    def _token_batches(self) -> Iterator[Batch]:
        o = self.options
        variant: Literal["auto", "hf", "miso"] = "auto"
        if self.kind in ("logits", "miso"):
            variant = "hf" if self.kind == "logits" else "miso"
        if o.weight is not None:
            raise InputError("tokens of a .logits file have no weights", field="weight", reason="bad_option")
        check_names(o.columns, self._asked("id", *_TOKEN_TEXTS))
        self._logits = LogitsReader(
            self.data, variant=variant, scale=o.scale, top_k=o.top_k, ignore_tokens=o.ignore_tokens,
            ignore_by=o.ignore_by, skip_bad=o.skip_bad, limit=o.limit, jobs=o.jobs,
            fields=[*dict.fromkeys(self._theirs(n) for n in self._asked("id", *_TOKEN_TEXTS))],
            with_input_str=True,
        )  # fmt: skip
        several = len(_listed(self.data)) > 1
        for columns in self._logits:
            prefix = f"{Path(columns.path).name}:" if several else ""
            frame = tokens(columns, prefix) if o.level == "token" else sequences(columns, o.aggregate, prefix)
            frame = self._with_kinds(frame, columns)
            if not self._rows:
                met = [name for name, values in columns.fields.items() if any(v is not None for v in values)]
                check_columns(o.columns, met, columns.path)
            frame, texts = self._with_fields(frame, columns, prefix)
            self._rows += len(frame)
            self._note_range(frame["confidence"])
            yield Batch(frame, texts)
        if (bad := self.bad()) and self._logits is not None:
            yield Batch(self._bad_rows(bad))

    def _with_kinds(self, frame: pl.DataFrame, columns: Any) -> pl.DataFrame:
        """Add what slices by token ask for: the gold token's kind, and the range its position falls in."""
        o = self.options
        if o.level != "token":
            return frame
        if RANGE in o.keep:
            frame = frame.with_columns(position_range())
        if o.kinds is not None and KIND in o.keep:
            words = self._token_columns(columns)[0]
            spelled = words.filter(words.list.len() > 0).explode().cast(pl.String)
            frame = frame.with_columns(pl.Series(KIND, [o.kinds(w) for w in spelled], dtype=pl.String))
        return frame

    def _with_fields(self, frame: pl.DataFrame, columns: Any, prefix: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Add the fields of each sequence to its rows: its id, slices, cluster."""
        o = self.options
        lines = pl.Series(columns.lines).cast(pl.String)
        per = pl.DataFrame({"_key": prefix + lines if prefix else lines})
        ids = columns.fields.get(self._theirs("id"))
        named = ids is not None and all(i is not None for i in ids)
        per = per.with_columns(
            pl.Series("_name", [str(i) for i in ids], dtype=pl.String)
            if named and ids
            else pl.col("_key").alias("_name")
        )
        for name in o.keep:
            found = columns.fields.get(self._theirs(name))
            if name in frame.columns:
                continue
            if found is None or all(v is None for v in found):
                raise InputError(
                    path=columns.path, field=name, expected="a field of this name in the lines, to slice by",
                    got="none", reason="no_column",
                )  # fmt: skip
            per = per.with_columns(pl.Series(name, [None if v is None else str(v) for v in found], dtype=pl.String))
        own = "cluster" if "cluster" in frame.columns else "id"
        if o.cluster:
            owners = columns.fields.get(self._theirs(o.cluster))
            if owners is None or any(v is None for v in owners):
                raise InputError(
                    path=columns.path, field=o.cluster, expected="this field in every line, to cluster by",
                    got="lines without it", reason="no_column",
                )  # fmt: skip
            per = per.with_columns(pl.Series("_cluster", [str(v) for v in owners], dtype=pl.String))
        joined = frame.join(per, left_on=own, right_on="_key", how="left", maintain_order="left")
        if own == "cluster":
            joined = joined.with_columns(
                pl.concat_str([pl.col("_name"), pl.lit(":"), pl.col("position").cast(pl.String)]).alias("id"),
                pl.col("_name").alias("cluster"),
            )
            if o.cluster:
                joined = joined.with_columns(pl.col("cluster").alias("unit"), pl.col("_cluster").alias("cluster"))
        else:
            joined = joined.with_columns(pl.col("_name").alias("id"))
            if o.cluster:
                joined = joined.with_columns(pl.col("_cluster").alias("cluster"))
        texts = pl.DataFrame({"id": per["_name"]})
        if columns.input_str is not None:
            texts = texts.with_columns(pl.Series("input", columns.input_str, dtype=pl.String))
        texts = texts.with_columns(self._token_columns(columns))
        return joined.drop([c for c in ("_name", "_cluster") if c in joined.columns]), texts

    def _token_columns(self, columns: Any) -> list[pl.Series]:
        """For the report: each sequence's tokens as words where its line has them, otherwise as numbers."""
        ends = np.cumsum(columns.lengths)
        starts = ends - columns.lengths
        made = []
        for name, field_name, numbers in (
            ("gold", "tokens", columns.label),
            ("predicted", "predicted", columns.predicted),
        ):
            words = columns.fields.get(self._theirs(field_name))
            if name not in self._worded:
                # Decided by the first batch: a column has one type in all shards.
                self._worded[name] = numbers.dtype == object or (words is not None and any(words))
            if not self._worded[name]:
                made.append(_lists(name, pl.Series(numbers), columns.lengths))
                continue
            spelled: list[str] = []
            for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
                line = words[i] if words is not None else None
                at = columns.position[start:end].tolist()
                if isinstance(line, list) and (not at or at[-1] < len(line)):
                    spelled += [str(line[k]) for k in at]
                else:
                    spelled += [str(t) for t in numbers[start:end].tolist()]
            made.append(_lists(name, pl.Series(spelled, dtype=pl.String), columns.lengths))
        if self.options.level == "sequence":
            confidence = pl.Series(columns.confidence).cast(pl.Float32)
            made.append(_lists("each_confidence", confidence, columns.lengths))
            made.append(_lists("each_correct", pl.Series(columns.correct), columns.lengths))
        return made

    def _asked(self, *names: str) -> list[str]:
        o = self.options
        return [*names, *o.keep, *filter(None, [o.weight, o.cluster])]

    def _theirs(self, name: str) -> str:
        """What the input calls a field of ours."""
        return self.options.columns.get(name, name)

    def _bad_rows(self, bad: Mapping[str, int]) -> pl.DataFrame:
        """A row for every line that could not be scored, so that it is counted and not lost."""
        assert self._logits is not None
        ids, reasons = [], []
        for report in self._logits.files:
            for record in report.bad_records:
                ids.append(f"{Path(record.path).name}:{record.line} (bad)")
                reasons.append(record.reason)
            for reason, count in report.bad.items():
                more = count - sum(1 for r in report.bad_records if r.reason == reason)
                ids += [f"{Path(report.path).name}:{reason}-{i} (bad)" for i in range(more)]
                reasons += [reason] * more
        frame = pl.DataFrame({"id": ids, "scored": [False] * len(ids), "reason": reasons})
        if self.options.level == "token":
            empty = {"cluster": pl.col("id"), "position": pl.lit(None, dtype=pl.Int32)}
        else:
            empty = {"length": pl.lit(None, dtype=pl.Int64)}
        keep = [c for c in self.options.keep if c not in ("position", "length")]
        if self.options.cluster:
            empty["cluster"] = pl.col("id")
        made = frame.with_columns(
            **empty,
            confidence=pl.lit(None, dtype=pl.Float64),
            correct=pl.lit(None, dtype=pl.Boolean),
            **{c: pl.lit(None, dtype=pl.String) for c in keep},
        )
        order = (
            ["id", "cluster", "scored", "reason", "position", "confidence", "correct"]
            if self.options.level == "token"
            else ["id", "scored", "reason", "length", "confidence", "correct"]
        )
        rest = [c for c in made.columns if c not in order]
        made = made.select([*order, *rest])
        if self.options.level == "token" and self.options.cluster:
            made = made.with_columns(unit=pl.col("id"))
        return made

    # -- answers with log-probabilities ------------------------------------------------------------------------

    def _answer_batches(self) -> Iterator[Batch]:
        o = self.options
        if o.weight is not None:
            raise InputError("answers with log-probabilities have no weights", field="weight", reason="bad_option")
        check_names(o.columns, self._asked("id", "correct", "gold"))
        self._sources = list(sources(self.data))
        left = o.limit
        for source in self._sources:
            text = b"".join(bytes(block.data) for block in source.blocks(_PEEK))
            prefix = f"{Path(source.name).name}:" if len(self._sources) > 1 else ""
            found: list[Answer] = []
            for number, item, error in parsed(text, source.name, o.skip_bad):
                if left is not None and left <= 0:
                    break
                try:
                    if error is not None:
                        raise error
                    found += answers_of(item, number, source.name, o.columns)
                except InputError as bad:
                    if not o.skip_bad:
                        raise
                    self._bad_answers[bad.reason] = self._bad_answers.get(bad.reason, 0) + 1
                    found.append(Answer(f"{number} (bad)", str(number), "", [], None, None, {}, bad.reason))
                left = None if left is None else left - 1
            if found:
                check_columns(o.columns, dict.fromkeys(name for a in found for name in a.fields), source.name)
                yield self._answered(found, prefix)

    def _answered(self, found: list[Answer], prefix: str) -> Batch:
        o = self.options
        lengths = np.asarray([len(a.logprobs) for a in found], dtype=np.int64)
        known = lengths > 0
        confidence = np.full(len(found), np.nan)
        flat = np.exp(np.asarray([v for a in found for v in a.logprobs]))
        starts = np.concatenate([[0], np.cumsum(lengths[known])[:-1]]).astype(np.intp)
        if known.any():
            confidence[known] = combined(flat, starts, lengths[known], o.aggregate)
        frame = pl.DataFrame(
            {
                "id": [prefix + a.id for a in found],
                "scored": known,
                "reason": pl.Series([a.reason or None for a in found], dtype=pl.String),
                "length": lengths,
                "confidence": pl.Series(confidence).fill_nan(None),
                "correct": pl.Series([a.correct for a in found], dtype=pl.Boolean),
            }
        )
        if len({a.group for a in found}) < len(found):
            frame = frame.with_columns(pl.Series("cluster", [prefix + a.group for a in found]))
        for name in (*o.keep, *([o.cluster] if o.cluster else [])):
            if name in frame.columns:
                continue
            values = [a.fields.get(self._theirs(name)) for a in found]
            if all(v is None for v in values):
                raise InputError(
                    field=name, expected="a field of this name beside the log-probabilities", got="none",
                    reason="no_column",
                )  # fmt: skip
            column = "cluster" if name == o.cluster else name
            frame = frame.with_columns(
                pl.Series(column, [None if v is None else str(v) for v in values], dtype=pl.String)
            )
        self._unjudged += sum(1 for a in found if a.correct is None and not a.reason)
        self._rows += len(frame)
        self._note_range(frame["confidence"])
        texts = pl.DataFrame(
            {
                "id": frame["id"],
                "answer": [a.text for a in found],
                "gold": pl.Series([a.gold for a in found], dtype=pl.String),
            }
        )
        return Batch(frame, texts)

    # -- tables ----------------------------------------------------------------------------------------------

    def _table_batches(self) -> Iterator[Batch]:
        o = self.options
        self._table = TableReader(
            self.data,
            format=_table_format(self.kind),
            columns=o.columns,
            asked=self._asked("id", "confidence", "correct", "probabilities", "label"),
            limit=o.limit,
            skip_bad=o.skip_bad,
        )
        several = len(_listed(self.data)) > 1
        for batch in self._table:
            prefix = f"{Path(batch.path).name}:" if several and batch.path else ""
            frame, texts = self._measured(batch, prefix)
            self._rows += len(frame)
            yield Batch(frame, texts)
        if self._rows and (lost := self._lost_lines(frame)) is not None:
            yield Batch(lost)

    def _lost_lines(self, like: pl.DataFrame) -> pl.DataFrame | None:
        """A row for every line that is no row of the table, so that it is counted and not lost."""
        assert self._table is not None
        ids, reasons = [], []
        for file in self._table.files:
            name = Path(file.path).name or "data"
            ids += [f"{name}:{record.line} (bad)" for record in file.bad_records]
            reasons += [record.reason for record in file.bad_records]
            more = file.bad - len(file.bad_records)
            ids += [f"{name}: unreadable line {i} (bad)" for i in range(1, more + 1)]
            reasons += ["unreadable line"] * more
        if not ids:
            return None
        rows = pl.DataFrame({"id": ids, "scored": [False] * len(ids), "reason": reasons})
        if "cluster" in like.columns:
            rows = rows.with_columns(cluster=pl.col("id"))
        if "weight" in like.columns:
            rows = rows.with_columns(weight=pl.lit(1.0))
        return pl.concat([like.clear(), rows], how="diagonal_relaxed")

    def _measured(self, batch: TableBatch, prefix: str) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        o = self.options
        packed = distribution_column(batch, o.columns)
        whole: pl.DataFrame | None = None
        if packed is not None and "confidence" not in batch.frame.columns:
            whole, self.classes = unpacked(batch, packed, self.classes)
            batch = TableBatch(batch.frame.with_columns(whole["confidence"], whole["correct"]), batch.path)
        confidence_name = _column(batch, "confidence", _CONFIDENCE_NAMES)
        correct_name = _column(batch, "correct", _CORRECT_NAMES, taken=confidence_name)
        scored = pl.Series("scored", [True] * len(batch.frame))
        reason = pl.Series("reason", [None] * len(batch.frame), dtype=pl.String)
        values, scored, reason = self._careful(batch, confidence_name, "numbers", scored, reason)
        right, scored, reason = self._careful(batch, correct_name, "marks", scored, reason)
        self._refuse_swapped(batch, values, right)
        given = values
        values, scored, reason = self._scaled(batch, confidence_name, values, scored, reason)
        place = batch.frame[batch.place]
        names = batch.frame["id"].cast(pl.String) if "id" in batch.frame.columns else place.cast(pl.String)
        frame = pl.DataFrame(
            {
                "id": prefix + names if prefix else names,
                "scored": scored,
                "reason": reason,
                "confidence": values,
                "correct": right,
            }
        )
        if whole is not None:
            frame = frame.with_columns(whole.drop("confidence", "correct"))
        if self._raw_logits:
            # They still say which answer is surer than which.
            frame = frame.with_columns(given.cast(pl.Float64).alias("score"))
        for name in o.keep:
            batch.require([name])
            if name not in frame.columns:
                frame = frame.with_columns(batch.frame[name].cast(pl.String))
        if o.cluster:
            batch.require([o.cluster])
            frame = frame.with_columns(batch.frame[o.cluster].cast(pl.String).alias("cluster"))
        if o.weight:
            frame = frame.with_columns(_weights(batch, o.weight))
        rest = [
            c for c in batch.frame.columns[1:] if c not in frame.columns and c not in (confidence_name, correct_name)
        ]
        texts = batch.frame.select(rest).insert_column(0, frame["id"]) if rest else None
        self._note_range(values)
        return frame, texts

    def _careful(
        self, batch: TableBatch, name: str, how: str, scored: pl.Series, reason: pl.Series
    ) -> tuple[pl.Series, pl.Series, pl.Series]:
        """A column as numbers or marks; with --skip-bad, a cell that is neither makes its row unscored."""
        try:
            values = self._cells(batch, name, how)
        except InputError as error:
            if not self.options.skip_bad:
                raise _with_skip_hint(error) from None
            rows = []
            for i in range(len(batch.frame)):
                one = TableBatch(batch.frame[i : i + 1], batch.path)
                try:
                    rows.append(self._cells(one, name, how)[0])
                except InputError:
                    rows.append(None)
            values = pl.Series(name, rows, dtype=pl.Float64 if how == "numbers" else None, strict=False)
            if values.dtype == pl.Null:
                values = values.cast(pl.Float64 if how == "numbers" else pl.Boolean)
        missing = values.is_null()
        if missing.any() and not self.options.skip_bad:
            row = int(missing.arg_max() or 0)
            raise _with_skip_hint(batch.error(row, field=name, expected="a value", got="none", reason=f"no_{how}"))
        bad = f"{'confidence' if how == 'numbers' else 'correct'} missing or unreadable"
        reason = pl.select(pl.when(missing & scored).then(pl.lit(bad)).otherwise(reason)).to_series()
        return values, scored & ~missing, reason

    def _cells(self, batch: TableBatch, name: str, how: str) -> pl.Series:
        """Numbers or marks; a confidence may also be said in words."""
        if how != "numbers" or batch.frame[name].dtype != pl.String:
            return _read_cells(batch, name, how)
        try:
            return _read_cells(batch, name, how)
        except InputError:
            heard = [None if cell is None else spoken(cell) for cell in batch.frame[name]]
            missing = [i for i, (h, cell) in enumerate(zip(heard, batch.frame[name], strict=True)) if not h and cell]
            if len(missing) == len(heard):
                raise
            if missing:
                raise batch.error(
                    missing[0], field=name, expected="a confidence such as 0.85, 85% or 'very likely'",
                    got=shown(batch.frame[name][missing[0]]), hint=SKIP_HINT, reason="not_a_confidence",
                ) from None  # fmt: skip
        self._verbalised.add(batch.path)
        self._contested |= {h[1] for h in heard if h and h[1] in CONTESTED}
        return pl.Series(name, [h[0] if h else None for h in heard], dtype=pl.Float64)

    def _scaled(
        self, batch: TableBatch, name: str, values: pl.Series, scored: pl.Series, reason: pl.Series
    ) -> tuple[pl.Series, pl.Series, pl.Series]:
        """Confidences in [0, 1], or none where the numbers are no probabilities. Decided once for a file."""
        scale = self._scales.get(batch.path)
        if scale is None:
            scale = self.options.scale if self.options.scale != "auto" else _table_scale(values)
            self._scales[batch.path] = scale
        array = values.fill_null(0.5).to_numpy()
        if scale == "logprobs":
            self._check(batch, name, values, array > _ROUNDING, "a log-probability of at most 0")
            return pl.Series(np.exp(np.minimum(array, 0.0))).set(values.is_null(), None), scored, reason
        if scale == "logits":
            # One logit alone says nothing of the others it competed with, unless the user says that it is the
            # logit of being right.
            if self.options.scale == "logits":
                return pl.Series(1 / (1 + np.exp(-array))).set(values.is_null(), None), scored, reason
            self._raw_logits = True
            self._note_range(values)
            if any(s != "logits" for s in self._scales.values()):
                raise InputError(
                    "some files hold probabilities and some raw logits", path=batch.path or None,
                    hint="Read them in separate runs.", reason="mixed",
                )  # fmt: skip
            gone = pl.Series([None] * len(values), dtype=pl.Float64)
            return gone, scored, reason
        outside = (array < -_ROUNDING) | (array > 1 + _ROUNDING)
        if outside.any():
            self._check(batch, name, values, outside, "a confidence from 0 to 1")
            marked = pl.Series(outside)
            reason = pl.select(
                pl.when(marked & scored).then(pl.lit("confidence outside [0, 1]")).otherwise(reason)
            ).to_series()
            values = values.set(marked, None)
            scored = scored & ~marked
            array = values.fill_null(0.5).to_numpy()
        return pl.Series(np.clip(array, 0.0, 1.0)).set(values.is_null(), None), scored, reason

    def _check(self, batch: TableBatch, name: str, values: pl.Series, wrong: Any, expected: str) -> None:
        if not wrong.any() or self.options.skip_bad:
            return
        row = int(np.argmax(wrong))
        raise batch.error(
            row,
            field=name,
            expected=expected,
            got=f"{values[row]:g}",
            hint=f"Say what the numbers are with --scale (scale=). {SKIP_HINT}",
            reason="outside_unit_interval",
        )

    def _refuse_swapped(self, batch: TableBatch, values: pl.Series, right: pl.Series) -> None:
        """0/1 given as confidences with fractions as correctness: the two columns are the wrong way round."""
        if right.dtype == pl.Boolean:
            return
        marks = values.drop_nulls()
        fractions = right.drop_nulls()
        if len(marks) and bool(marks.is_in([0.0, 1.0]).all()) and not bool(fractions.is_in([0.0, 1.0]).all()):
            raise InputError(
                "the confidences are all 0 or 1 and the correctness holds fractions: the two look swapped",
                path=batch.path or None,
                hint="Swap the two: --columns confidence=… --columns correct=… (columns={'confidence': …, …}).",
                reason="swapped",
            )

    # -- what was found --------------------------------------------------------------------------------------

    def _note_range(self, values: pl.Series) -> None:
        known = values.drop_nulls()
        if not len(known):
            return
        low, high = float(known.min()), float(known.max())  # type: ignore[arg-type]
        self._seen = (low, high) if self._seen is None else (min(low, self._seen[0]), max(high, self._seen[1]))
        self._only_marks = self._only_marks and bool(known.is_in([0.0, 1.0]).all())

    def _like_percentages(self) -> bool:
        return self._seen is not None and self._seen[0] >= 0 and 1 < self._seen[1] <= 100

    def _remark(self) -> None:
        """Say once what a reader should know of these data."""
        if self._raw_logits:
            self.notes.append(
                "the confidences are raw logits, not probabilities: figures that need probabilities are unscored, "
                "and only those of the order (AUROC, AURC, accuracy at coverage) are made. "
                "Give normalised ones, or --scale logits (scale='logits') where each is the log-odds of being right."
                + (" Percentages are read as such with their sign: 85%." if self._like_percentages() else "")
            )
        if self._verbalised:
            words = f", among them some that readers understand very differently: {', '.join(sorted(self._contested))}"
            self.notes.append(
                "confidences are read from words and percentages (the scale is in docs/calibrated.md)"
                + (words if self._contested else "")
            )
        if self._unjudged:
            self.notes.append(
                f"{self._unjudged:,} answer{'s have' if self._unjudged > 1 else ' has'} neither a gold text nor "
                "`correct`: only confidence is known"
            )
        if self._seen is not None and self._seen[0] == self._seen[1]:
            self.notes.append(f"all confidences are equal ({self._seen[0]:g}): every binned figure has one bin")
        elif self._seen is not None and self._only_marks:
            self.notes.append("all confidences are 0 or 1: are confidence and correct the right way round?")
        if self._logits is not None:
            for report in self._logits.files:
                if report.scale is not None and report.scale.caveat:
                    self.notes.append(f"{Path(report.path).name}: {report.scale.caveat}")
            padding = sum(r.padding for r in self._logits.files)
            ignored = sum(r.ignored for r in self._logits.files)
            if padding:
                self.notes.append(f"{padding:,} padding tokens (label -100) were left out")
            if ignored:
                self.notes.append(f"{ignored:,} ignored tokens were left out")
        if bad := self.bad():
            self.notes.append("bad records: " + ", ".join(f"{n:,} {why}" for why, n in bad.items()))
        self.notes = list(dict.fromkeys(self.notes))

    def bad(self) -> dict[str, int]:
        found: dict[str, int] = {}
        if self._logits is not None:
            for report in self._logits.files:
                for reason, count in report.bad.items():
                    found[reason] = found.get(reason, 0) + count
        for reason, count in self._bad_answers.items():
            found[reason] = found.get(reason, 0) + count
        if self._table is not None:
            for table in self._table.files:
                if table.bad:
                    found["unreadable line"] = found.get("unreadable line", 0) + table.bad
        return found

    def scale(self) -> str:
        """The scale(s) found, for the signature."""
        found = []
        if self._logits is not None:
            for report in self._logits.files:
                if report.scale is not None:
                    norm = report.scale.normaliser
                    found.append(report.scale.scale + (f"({norm})" if norm != "none" else ""))
        elif self.answers:
            found.append("logprobs")
        elif self._scales:
            if self._verbalised:
                found.append("verbalised")
            for scale in self._scales.values():
                raw = scale == "logits" and self.options.scale == "auto"
                found.append("raw-logits" if raw else "logits(sigmoid)" if scale == "logits" else scale)
        return "+".join(dict.fromkeys(found)) or "probabilities"

    def inputs(self) -> list[dict[str, Any]]:
        reports: list[Any] = []
        if self.answers:
            return [
                {"path": r.name, "sha256": r.sha256, "bytes": r.raw_bytes, "format": self.kind} for r in self._sources
            ]
        if self._logits is not None:
            reports = list(self._logits.files)
        elif self._table is not None:
            reports = list(self._table.files)
        return [
            {"path": r.path or "(memory)", "sha256": r.sha256, "bytes": r.raw_bytes, "format": self.kind}
            for r in reports
        ]

    def _paths(self) -> list[str]:
        return [p.name if isinstance(p, Source) else str(p) for p in _listed(self.data)]


def _recognised(data: Any, wanted: InputFormat) -> tuple[Any, str]:
    """The input and its format; standard input is looked at without being used up."""
    if not _names_files(data):
        return data, "memory"
    if isinstance(data, (str, os.PathLike)) and str(data) == "-":
        data = io.BufferedReader(sys.stdin.buffer, buffer_size=_PEEK)
    if isinstance(data, io.BufferedIOBase):
        stream = data if isinstance(data, io.BufferedReader) else io.BufferedReader(data, _PEEK)
        head = stream.peek(_PEEK)
        start = _inflated(head)
        kind = wanted if wanted != "auto" else "logprobs" if holds_answers(start) else str(detect_format(start))
        return stream, _logits_kind(kind)
    if wanted != "auto":
        return data, wanted
    kinds: dict[str, str] = {}
    for source in sources(data):
        if source.path is not None and source.head(4) == b"PAR1":
            kinds.setdefault("parquet", source.name)
            continue
        first = next(iter(source.blocks(_PEEK, digest=False)), None)
        start = bytes(first.data) if first else b""
        kinds.setdefault("logprobs" if holds_answers(start) else str(detect_format(start)), source.name)
    named = {k: v for k, v in kinds.items() if k != "empty"}
    families = {"logits" if k.startswith("logits") else k if k == "logprobs" else "table" for k in named}
    if len(families) > 1:
        told = ", ".join(f"{name} holds {kind}" for kind, name in named.items())
        raise InputError(
            expected="files of one kind", got=told, hint="Read tokens and tables in separate runs.", reason="mixed"
        )
    if not named:
        name = next(iter(kinds.values()), "the input")
        raise InputError(path=name, expected="at least one record", got="an empty file", reason="empty")
    if families == {"logits"}:
        return data, "logits-hf" if "logits-hf" in named else "logits-miso"
    return data, next(iter(named)) if len(named) == 1 else "auto"


def _table_format(kind: str) -> Format:
    known: dict[str, Format] = {
        "csv": "csv", "tsv": "tsv", "text": "text", "jsonl": "jsonl", "json": "json", "parquet": "parquet",
    }  # fmt: skip
    return known.get(kind, "auto")


def _logits_kind(kind: str) -> str:
    if kind == "empty":
        raise InputError(path="-", expected="at least one record", got="an empty input", reason="empty")
    return kind


def _inflated(head: bytes) -> bytes:
    """The text behind the first bytes of a stream that may be compressed."""
    if head[:2] == b"\x1f\x8b":
        return zlib.decompressobj(wbits=31).decompress(head, _PEEK)
    if head[:4] == b"\x28\xb5\x2f\xfd":
        return zstandard.ZstdDecompressor().decompressobj().decompress(head[: 1 << 14])
    return head


def _names_files(data: Any) -> bool:
    if is_path(data) or isinstance(data, io.IOBase):
        return True
    return isinstance(data, (list, tuple)) and bool(data) and all(is_path(d) or isinstance(d, io.IOBase) for d in data)


def _listed(data: Any) -> list[Source | BinaryIO]:
    if isinstance(data, io.IOBase) or not _names_files(data):
        return []
    return list(sources(data))


def _column(batch: TableBatch, ours: str, known: Iterable[str], taken: str | None = None) -> str:
    """The column that plays the part `ours`: by its name, or by a name people commonly use."""
    lowered = {c.lower(): c for c in batch.frame.columns[1:]}
    for name in known:
        if name in lowered and lowered[name] != taken:
            return lowered[name]
    raise InputError(
        path=batch.path or None,
        field=ours,
        expected=f"a column named {ours!r}",
        got=f"the columns {', '.join(shown(c, 40) for c in batch.frame.columns[1:]) or 'none'}",
        hint=f"Say which one it is: --columns {ours}=NAME (columns=).",
        reason="no_column",
    )


def _read_cells(batch: TableBatch, name: str, how: str) -> pl.Series:
    return batch.numbers(name) if how == "numbers" else _marks_or_fractions(batch, name)


def _marks_or_fractions(batch: TableBatch, name: str) -> pl.Series:
    """Right or wrong, or a share of right in [0, 1] (soft labels)."""
    column = batch.frame[name]
    if column.dtype.is_float() or column.dtype == pl.String:
        numbers = column if column.dtype.is_float() else column.str.strip_chars().cast(pl.Float64, strict=False)
        known = numbers.drop_nulls()
        plain = known.is_in([0.0, 1.0])
        inside = known.is_between(0.0, 1.0)
        if len(known) and not bool(plain.all()) and bool(inside.all()) and numbers.null_count() == column.null_count():
            return numbers.cast(pl.Float64).alias(name)
    return batch.marks(name)


def _table_scale(values: pl.Series) -> str:
    """What a column of confidences holds, by its values."""
    known = values.drop_nulls()
    if not len(known):
        return "probabilities"
    outside = (known < -_ROUNDING) | (known > 1 + _ROUNDING)
    if not bool(outside.any()):
        return "probabilities"
    if bool((known <= _ROUNDING).all()):
        return "logprobs"
    # A few values outside [0, 1] are mistakes to be pointed at; many of them are another scale.
    return "logits" if int(outside.sum()) * 2 > len(known) else "probabilities"


def _weights(batch: TableBatch, name: str) -> pl.Series:
    weights = batch.numbers(name)
    wrong = (weights < 0) | weights.is_null()
    if bool(wrong.any()):
        row = int(wrong.arg_max() or 0)
        raise batch.error(
            row, field=name, expected="a weight of at least 0", got=shown(batch.frame[name][row]), reason="bad_weight"
        )
    return weights.alias("weight")


def _with_skip_hint(error: InputError) -> InputError:
    return InputError(**{**error.parts(), "hint": error.hint or SKIP_HINT})


def _lists(name: str, flat: pl.Series, lengths: Any) -> pl.Series:
    """Values that follow one another, as one list for each of the lengths."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    grouped = pl.DataFrame({"_of": owner, name: flat}).group_by("_of", maintain_order=True).agg(name)
    if len(grouped) == len(lengths):
        return grouped[name]
    everyone = pl.DataFrame({"_of": np.arange(len(lengths))})
    return everyone.join(grouped, on="_of", how="left", maintain_order="left")[name]
