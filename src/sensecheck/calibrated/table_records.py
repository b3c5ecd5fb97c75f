"""Tables of (confidence, correct), or of whole distributions with the right label: one row an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sensecheck.calibrated.classwise import PROBABILITY, Distributions, Told, distribution_column
from sensecheck.calibrated.reading import Reading
from sensecheck.calibrated.records import Records
from sensecheck.calibrated.verbalised import CONTESTED, spoken
from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.reasons import Reason, is_fault
from sensecheck.inputs.tables import Format, TableBatch, TableReader
from sensecheck.report.asking import Asked
from sensecheck.report.repeats import check_columns, example_ids, sample_column, samples_in
from sensecheck.runs.collecting import Batch

# Names that people give to the two columns, in the order in which we look for them.
CONFIDENCE_NAMES = (
    "confidence", "conf", "prob", "probability", "score", "confidence_level", "p", "top_prob", "max_prob",
)  # fmt: skip
CORRECT_NAMES = ("correct", "is_correct", "label", "grade", "accuracy", "acc", "hit", "target")
ARRAYS = ("npz", "npy", "safetensors", "pt", "predictions", "generate")
"""Formats of arrays, in files and in memory."""
UNSCORED = "unscored_because"
"""A column that says, of a row that was gathered, why it cannot be scored."""
_MEASURED = {
    "id": pl.String, "scored": pl.Boolean, "reason": pl.String, "confidence": pl.Float64, "correct": pl.Boolean,
}  # fmt: skip
_OF_A_CLASS, _OF_LABELS = ("probability", "prob", "p", "score"), ("label", "target")
"""Names that a binary classifier's probability of class 1 and the labels have as often."""
# float32 softmax may exceed 1 by rounding alone.
_ROUNDING = 1e-6


class TableRecords(Records):
    """Rows of a table, in a file or in memory."""

    level = "row"

    def __init__(self, data: Any, kind: str, asked: Asked, reading: Reading) -> None:
        super().__init__(data, kind, asked, reading)
        self._table: TableReader | None = None
        self._scales: dict[str, str] = {}
        self._raw_logits = False
        self._sampled: str | None = None
        self._contested: set[str] = set()
        self._verbalised: set[str] = set()
        self._lenient = isinstance(data, Gathered) and data.may_lack
        """Whether rows may lack a confidence or a verdict without being a fault of the file."""
        self._no_confidences = False
        self._may_be_binary = ""
        told = Told(reading.scale, reading.classes, asked.skip_bad, self._lenient)
        self._distributions = Distributions(told, asked.columns)

    def check_repeat(self, data: Any) -> None:
        check_columns(data, self.asked.repeat, self.asked.columns, format=_table_format(self.kind))

    def rows(self) -> Iterator[Batch]:
        asked = self.asked
        self._table = TableReader(
            self.data,
            format=_table_format(self.kind),
            columns=asked.columns,
            asked=["id", "confidence", "correct", "probabilities", PROBABILITY, "label", *asked.wanted],
            limit=asked.limit,
            skip_bad=asked.skip_bad,
        )
        frame: pl.DataFrame | None = None
        for number, batch in enumerate(self._table):
            if number == 0:
                self._sampled = None if asked.repeat else sample_column(batch)
            frame, texts = self._measured(batch)
            yield Batch(frame, texts)
        if frame is None and self._lenient:
            frame = pl.DataFrame(schema=_MEASURED)  # of a log in which every call failed, each is told
        lost = self._table.lost_lines(like=frame) if frame is not None else None
        if lost is not None:
            yield Batch(lost)

    def _measured(self, batch: TableBatch) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        asked = self.asked
        packed = self._packed(batch)
        whole: pl.DataFrame | None = None
        if packed is not None:
            whole, unreadable = self._distributions.unpacked(batch, packed)
            self.classes = self._distributions.classes
            batch = replace(batch, frame=batch.frame.with_columns(whole["confidence"], whole["correct"]))
        confidence_name = _column(batch, "confidence", CONFIDENCE_NAMES)
        correct_name = _column(batch, "correct", CORRECT_NAMES, taken=confidence_name)
        if confidence_name.lower() in _OF_A_CLASS and correct_name.lower() in _OF_LABELS and whole is None:
            self._may_be_binary = (
                f"{confidence_name!r} is read as confidence in an answer, {correct_name!r} as whether it was right; "
                f"of a binary classifier's probability of class 1: --columns probability={confidence_name} "
                f"--columns label={correct_name}"
            )
        scored = pl.Series("scored", [True]).new_from_index(0, len(batch.frame))
        reason = pl.Series("reason", [None], dtype=pl.String).new_from_index(0, len(batch.frame))
        if self.level == "answer" and UNSCORED in batch.frame.columns:
            reason = batch.frame[UNSCORED].alias("reason")
            scored = reason.is_null().alias("scored")
            batch = replace(batch, frame=batch.frame.drop(UNSCORED))
        if whole is not None:
            reason = reason.fill_null(unreadable).alias("reason")
            scored = reason.is_null().alias("scored")
        values, scored, reason = self._careful(batch, confidence_name, "numbers", scored, reason)
        right, scored, reason = self._careful(batch, correct_name, "marks", scored, reason)
        self._refuse_swapped(batch, values, right)
        given = values
        if whole is None:
            values, scored, reason = self._scaled(batch, confidence_name, values, scored, reason)
        frame = pl.DataFrame(
            {
                "id": batch.lean_ids() if asked.repeat is None else example_ids(batch, batch.ids()),
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
        for name in asked.carried:
            batch.require([name])
            if name not in frame.columns:
                frame = frame.with_columns(batch.spelled(name))
        if self._sampled is not None and self._sampled not in frame.columns:
            frame = frame.with_columns(samples_in(batch, self._sampled))
        if asked.cluster:
            batch.require([asked.cluster])
            frame = frame.with_columns(batch.spelled(asked.cluster).alias("cluster"))
        if asked.weight:
            frame = frame.with_columns(batch.weights(asked.weight))
        rest = [
            c for c in batch.frame.columns[1:] if c not in frame.columns and c not in (confidence_name, correct_name)
        ]
        texts = batch.frame.select(rest).insert_column(0, frame["id"]) if rest else None
        self.note_range(values)
        return frame, texts

    def _packed(self, batch: TableBatch) -> str | None:
        """The column of whole distributions, or of the probability of one of two classes."""
        if "confidence" in batch.frame.columns:
            self._refuse_idle_classes()
            return None
        if self._distributions.is_binary():
            return PROBABILITY
        lowered = {c.lower() for c in batch.frame.columns[1:] if not batch.frame.schema[c].is_nested()}
        named = distribution_column(batch, self.asked.columns, outputs=not lowered & set(CONFIDENCE_NAMES))
        if named is None:
            self._refuse_idle_classes()
            self._refuse_unnamed_arrays(batch)
        return named

    def _refuse_unnamed_arrays(self, batch: TableBatch) -> None:
        """One number a row may be two things in a file of arrays: nothing but the user knows which."""
        if not isinstance(self.data, Gathered) or self.data.format not in ARRAYS or "confidence" in self.asked.columns:
            return
        listed = ", ".join(
            f"{shown(name, 40)[1:-1]} ({kind.size} numbers a row)" if isinstance(kind, pl.Array) else f"{name} ({kind})"
            for name, kind in list(batch.frame.schema.items())[1:13]
        )
        raise InputError(
            f"the arrays do not say what they are: {listed}", path=batch.path or None,
            hint="Whole distributions (or logits): --columns probabilities=NAME --columns label=NAME; a binary "
            "classifier's probability of class 1: --columns probability=NAME --columns label=NAME; the confidence in "
            "an answer and whether it was right: --columns confidence=NAME --columns correct=NAME (columns=).",
            reason=Reason.AMBIGUOUS_FORMAT,
        )  # fmt: skip

    def _refuse_idle_classes(self) -> None:
        if self.reading.classes is not None:
            raise InputError(
                "--classes (classes=) names the columns of `probabilities`, and this input has none", field="classes",
                hint="Leave it out, or say which column holds them: --columns probabilities=NAME (columns=).",
                reason=Reason.BAD_OPTION,
            )  # fmt: skip

    def _careful(
        self, batch: TableBatch, name: str, how: str, scored: pl.Series, reason: pl.Series
    ) -> tuple[pl.Series, pl.Series, pl.Series]:
        """A column as numbers or marks; with --skip-bad, a cell that is neither makes its row unscored."""
        try:
            values = self._cells(batch, name, how)
        except InputError as error:
            if not self.asked.skip_bad:
                raise _with_skip_hint(error) from None
            rows = []
            for i in range(len(batch.frame)):
                one = replace(batch, frame=batch.frame[i : i + 1], record_numbers=None)
                try:
                    rows.append(self._cells(one, name, how)[0])
                except InputError:
                    rows.append(None)
            values = pl.Series(name, rows, dtype=pl.Float64 if how == "numbers" else None, strict=False)
            if values.dtype == pl.Null:
                values = values.cast(pl.Float64 if how == "numbers" else pl.Boolean)
        missing = values.is_null()
        if self._lenient:
            return self._lacking(values, how, scored, reason)
        if missing.any() and not self.asked.skip_bad:
            row = int(missing.arg_max() or 0)
            raise _with_skip_hint(
                batch.error(
                    row,
                    field=name,
                    expected="a value",
                    got="none",
                    reason=Reason.NO_NUMBERS if how == "numbers" else Reason.NO_MARKS,
                )
            )
        if not missing.any():
            return values, scored, reason
        bad = f"{'confidence' if how == 'numbers' else 'correct'} missing or unreadable"
        reason = pl.select(pl.when(missing & scored).then(pl.lit(bad)).otherwise(reason)).to_series()
        return values, scored & ~missing, reason

    def _lacking(
        self, values: pl.Series, how: str, scored: pl.Series, reason: pl.Series
    ) -> tuple[pl.Series, pl.Series, pl.Series]:
        """A log's rows without a confidence (or verdict) have no part in figures of it, and in others they do."""
        if values.is_null().all():
            self._no_confidences = self._no_confidences or how == "numbers"
            values = pl.Series([None] * len(values), dtype=pl.Float64 if how == "numbers" else pl.Boolean)
        return values, scored, reason

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
                    got=shown(batch.frame[name][missing[0]]), hint=SKIP_HINT, reason=Reason.NOT_A_CONFIDENCE,
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
            scale = self.reading.scale if self.reading.scale != "auto" else _table_scale(values)
            self._scales[batch.path] = scale
        array = values.fill_null(0.5).to_numpy()
        if scale == "logprobs":
            self._check(batch, name, values, array > _ROUNDING, "a log-probability of at most 0")
            return pl.Series(np.exp(np.minimum(array, 0.0))).set(values.is_null(), None), scored, reason
        if scale == "logits":
            # One logit alone says nothing of the others it competed with, unless the user says that it is the
            # logit of being right.
            if self.reading.scale == "logits":
                return pl.Series(1 / (1 + np.exp(-array))).set(values.is_null(), None), scored, reason
            self._raw_logits = True
            self.note_range(values)
            if any(s != "logits" for s in self._scales.values()):
                raise InputError(
                    "some files hold probabilities and some raw logits", path=batch.path or None,
                    hint="Read them in separate runs.", reason=Reason.MIXED,
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
        if not wrong.any() or self.asked.skip_bad:
            return
        row = int(np.argmax(wrong))
        raise batch.error(
            row,
            field=name,
            expected=expected,
            got=f"{values[row]:g}",
            hint=f"Say what the numbers are with --scale (scale=). {SKIP_HINT}",
            reason=Reason.OUTSIDE_UNIT_INTERVAL,
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
                reason=Reason.SWAPPED,
            )

    # -- what was read ---------------------------------------------------------------------------------------

    def own_remarks(self) -> list[str]:
        remarks = []
        if self._no_confidences:
            remarks.append("no confidences are known: of what is measured, only accuracy is there")
        if self._may_be_binary:
            remarks.append(self._may_be_binary)
        if self._raw_logits:
            remarks.append(
                "the confidences are raw logits, not probabilities: figures that need probabilities are unscored, "
                "and only those of the order (AUROC, AURC, accuracy at coverage) are made. "
                "Give normalised ones, or --scale logits (scale='logits') where each is the log-odds of being right."
                + (" Percentages are read as such with their sign: 85%." if self._like_percentages() else "")
            )
        if self._verbalised:
            words = f", among them some that readers understand very differently: {', '.join(sorted(self._contested))}"
            remarks.append(
                "confidences are read from words and percentages (the scale is in docs/calibrated.md)"
                + (words if self._contested else "")
            )
        return [*remarks, *self._distributions.remarks(), *self.range_remarks()]

    def _like_percentages(self) -> bool:
        return self._range is not None and self._range[0] >= 0 and 1 < self._range[1] <= 100

    def bad(self) -> dict[str, int]:
        files = self._table.files if self._table is not None else []
        no_fault = sum(1 for file in files for one in file.bad_records if not is_fault(one.reason))
        unreadable = sum(file.bad for file in files) - no_fault
        return {str(Reason.UNREADABLE_LINE): unreadable} if unreadable else {}

    def scale(self) -> str:
        if self._no_confidences and self._range is None:
            return "none"
        scales = ["verbalised"] if self._verbalised else []
        scales += self._distributions.scales.values()
        for scale in self._scales.values():
            raw = scale == "logits" and self.reading.scale == "auto"
            scales.append("raw-logits" if raw else "logits(sigmoid)" if scale == "logits" else scale)
        return "+".join(dict.fromkeys(scales)) or "probabilities"

    def inputs(self) -> list[dict[str, Any]]:
        files = self._table.inputs() if self._table is not None else []
        if isinstance(self.data, Gathered) and self.data.format in ARRAYS:
            return files
        return [{**file, "format": self.kind} for file in files]


def _table_format(kind: str) -> Format:
    known: dict[str, Format] = {
        "csv": "csv", "tsv": "tsv", "text": "text", "jsonl": "jsonl", "json": "json", "parquet": "parquet",
        "arrow": "arrow",
    }  # fmt: skip
    return known.get(kind, "auto")


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
        reason=Reason.NO_COLUMN,
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


def _with_skip_hint(error: InputError) -> InputError:
    return InputError(**{**error.parts(), "hint": error.hint or SKIP_HINT})
