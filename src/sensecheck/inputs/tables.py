"""Tables with named columns: CSV, TSV, JSONL, JSON, Parquet, Arrow, white-space text, or data already in memory.

They come as batches of Polars frames with the number of each row's line (text) or record (everything else),
so that whatever is found wrong later can still name its place. Beside it, records are numbered 1, 2, 3 … as they come,
over all inputs of a reader: that is what a record without an id is called, and it is the same in every format (a
header and blank lines take no number, a record that cannot be read takes its own). Cells of CSV, TSV and white-space
text stay text until a question asks for numbers or marks (`TableBatch.numbers`, `TableBatch.marks`): a type guessed
from the first rows would be wrong for some later one.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import tempfile
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from sensecheck.inputs.errors import SKIP_HINT, BadRecord, InputError, did_you_mean, shown
from sensecheck.inputs.formulas import OUR_HEADERS, unmarked_cells
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.half_characters import whole, whole_value
from sensecheck.inputs.hugging_face import (
    FILE_MAGIC,
    KEY,
    ArrowStream,
    ClassLabels,
    ClassNames,
    DamagedError,
    class_labels_beside,
    class_labels_in,
    class_labels_of,
    features_of_file,
    is_arrow,
)
from sensecheck.inputs.json_arrays import (
    DEEPEST,
    OURS,
    in_words,
    is_deep,
    is_nested,
    loads,
    many_objects,
    not_utf8,
    objects_of_lines,
    read_document,
)
from sensecheck.inputs.opening import BLOCK_BYTES, Block, Source, document_too_large, file_sources, names_files
from sensecheck.inputs.parquet_pages import check_pages
from sensecheck.inputs.places import PLACE as PLACE
from sensecheck.inputs.places import RECORD as RECORD
from sensecheck.inputs.places import line_or_record
from sensecheck.inputs.reasons import Reason
from sensecheck.stages import READING, handed, have_read, staged

FORMATS = ("auto", "csv", "tsv", "text", "jsonl", "json", "parquet", "arrow")
Format = Literal["auto", "csv", "tsv", "text", "jsonl", "json", "parquet", "arrow"]

BATCH_ROWS = 65_536
"""Rows per batch of what does not come in blocks of text."""

_KEPT_BAD_RECORDS = 1000
_MAX_DOCUMENT_BYTES = 4 * 1024**3
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE | re.ASCII)
_TRUE = ("true", "correct", "right", "yes", "y", "t", "1", "1.0")
_FALSE = ("false", "wrong", "incorrect", "no", "n", "f", "0", "0.0")
MARKS = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
"""How right and wrong are written, in small letters."""
# What else parts cells in files called CSV; no name of a column that any question reads holds one.
_OTHER_MARKS = (";", "|", "\t")


Numbered = tuple[pl.DataFrame, pl.Series]
"""Some rows of one input, and the numbers of their records in it."""

# Sums of weights and of their squares stay exact within these.
# Bytes of a Parquet file, as they are packed, that are read together.
_UNPACKED_AT_ONCE = 8_000_000
# From 1970 in days: the years 1 to 9999, which Python has dates for, less a day for time zones; and its longest spans.
_CALENDAR = (-719_161, 2_932_896)
_FARTHEST_SPAN = (-999_999_999, 999_999_999)
_UNITS_OF_DAY = {"d": 1, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-6, 1e6
WEIGHT_HINT = (
    "Weights are finite numbers, and a row of weight 0 does not count. Correct them, or leave out --weight (weight=)."
)


class TableFormat(NamedTuple):
    """A recognised format and what it was recognised by."""

    name: Literal["csv", "tsv", "text", "jsonl", "json", "parquet"]
    reason: str


def detect_table_format(first_block: bytes, name: str = "") -> TableFormat:
    """The format of a table by its first bytes, and by the file's name only where those leave a doubt.

    >>> detect_table_format(b"confidence,correct\\n0.9,1\\n")
    TableFormat(name='csv', reason='its first line holds commas')
    """
    if first_block.startswith(b"PAR1"):
        return TableFormat("parquet", "it begins with Parquet's magic bytes")
    start = first_block.lstrip()
    if start.startswith(b"["):
        return TableFormat("json", "it begins with '['")
    if start.startswith(b"{"):
        line = start.split(b"\n", 1)[0]
        if line.rstrip().endswith(b"}") or b"\n" not in start or name.endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")):
            return TableFormat("jsonl", "its first line is a JSON object")
        return TableFormat("json", "it begins with '{' and the object continues over several lines")
    line = start.split(b"\n", 1)[0]
    stem = re.sub(r"\.(gz|zst|zstd)$", "", name.lower())
    if stem.endswith((".tsv", ".tab")) or (b"\t" in line and not stem.endswith(".csv")):
        return TableFormat("tsv", "its first line holds tabs" if b"\t" in line else "its name ends in .tsv")
    if stem.endswith(".csv") or b"," in line:
        return TableFormat("csv", "its first line holds commas" if b"," in line else "its name ends in .csv")
    return TableFormat("text", "its first line holds neither tabs nor commas: cells are separated by white space")


@dataclass(frozen=True, slots=True)
class TableBatch:
    """Some rows of one input. The frame's first column is `_line` or `_record`, counted from 1."""

    frame: pl.DataFrame
    path: str
    record_numbers: pl.Series | None = None
    """The number of each row's record, counted from 1 over all inputs (default: its line or record in this one)."""
    class_labels: Sequence[ClassLabels] = ()
    """What is said of integers that stand for classes, by whatever says it, the nearest first."""

    def taking(self, rows: Sequence[int]) -> TableBatch:
        """Only these rows, counted from 0."""
        numbers = self.record_numbers
        return replace(self, frame=self.frame[rows], record_numbers=None if numbers is None else numbers[rows])

    def class_names(self, name: str) -> list[ClassNames]:
        """What the integers of a column are called: the names that hold first, then what others say."""
        found: list[ClassNames] = []
        for labels in self.class_labels:
            # What cannot be understood matters only where nothing nearer says the names.
            if not (found and labels.fault) and (names := labels.of(name)) is not None:
                found.append(names)
        return found

    def named(self, name: str, told: ClassNames) -> pl.Series:
        """A column of integers by the names of its classes; what has no name, -1 above all, is null."""
        numbers = dict(enumerate(told.names))
        return self.frame[name].replace_strict(numbers, default=None, return_dtype=pl.String).alias(name)

    @property
    def place(self) -> str:
        """The column that says where a row comes from."""
        return self.frame.columns[0]

    def error(self, row: int, **parts: Any) -> InputError:
        """An `InputError` about a row of this batch (counted from 0), with its line or record filled in."""
        at = int(self.frame[self.place][row])
        return InputError(path=self.path or None, **line_or_record(self.place, at), **parts)

    def require(self, names: Iterable[str]) -> None:
        """Raise for a column that is not there, with the nearest name that is."""
        for name in names:
            if name not in self.frame.columns:
                raise _unknown_column(name, self.frame.columns[1:], self.path)

    def ids(self) -> pl.Series:
        """The rows' names: the column `id`, or where a row has none, the number of its record."""
        numbers = (self.frame[self.place] if self.record_numbers is None else self.record_numbers).cast(pl.String)
        names = self.spelled("id").fill_null(numbers) if "id" in self.frame.columns else numbers
        return names.alias("id")

    def lean_ids(self) -> pl.Series:
        """The same for measurements, which spell out the numbers of records only where they are asked for their ids."""
        if "id" in self.frame.columns:
            return self.ids()
        numbers = self.frame[self.place] if self.record_numbers is None else self.record_numbers
        return numbers.cast(pl.Int64).alias("id")

    def spelled(self, name: str) -> pl.Series:
        """A column of texts, numbers, dates or marks as text; nulls stay. Lists and objects have no such form."""
        self.require([name])
        column = self.frame[name]
        if column.dtype == pl.String:
            return column
        try:
            return column.cast(pl.String)
        except pl.exceptions.PolarsError:
            row = int(column.is_not_null().arg_max() or 0)
            raise self.error(
                row, field=name, expected="a text or a number", got=kind_and_value(column[row]),
                hint="Give one value to each record.", reason=Reason.NOT_A_TEXT,
            ) from None  # fmt: skip

    def texts(self, name: str, *, skip_bad: bool = False) -> pl.Series:
        """A column as text. A cell without one is an error of its line, or null where bad records are skipped."""
        texts = self.spelled(name)
        missing = texts.is_null()
        if missing.any() and not skip_bad:
            raise self.error(
                int(missing.arg_max() or 0), field=name, expected="a text", got="none",
                hint="Fill it in, or pass --skip-bad (skip_bad=True) to count the record as unscored.",
                reason=Reason.MISSING_TEXT,
            )  # fmt: skip
        return texts

    def weights(self, name: str) -> pl.Series:
        """A column as weights: finite numbers of at least 0."""
        expected, reason = "a weight of at least 0", Reason.BAD_WEIGHT
        self.require([name])
        try:
            weights = self.numbers(name, expected, reason)
        except InputError as error:
            raise InputError(**{**error.parts(), "expected": expected, "hint": WEIGHT_HINT, "reason": reason}) from None
        extreme = (weights > 0) & ((weights < _LEAST_WEIGHT) | (weights > _LARGEST_WEIGHT))
        if bool(extreme.any()):
            row = int(extreme.arg_max() or 0)
            raise self.error(
                row, field=name, expected=f"a weight of 0, or from {_LEAST_WEIGHT:g} to {_LARGEST_WEIGHT:g}",
                got=shown(self.frame[name][row]), hint="Only ratios of weights matter: divide all by the same number.",
                reason=reason,
            )  # fmt: skip
        wrong = (weights < 0) | weights.is_null()
        if bool(wrong.any()):
            row = int(wrong.arg_max() or 0)
            got = shown(self.frame[name][row])
            raise self.error(row, field=name, expected=expected, got=got, hint=WEIGHT_HINT, reason=reason)
        return weights.alias("weight")

    def numbers(self, name: str, expected: str = "a finite number", reason: Reason = Reason.NOT_A_NUMBER) -> pl.Series:
        """A column as float64; a cell that is no finite number is an error of its line. Nulls stay."""
        self.require([name])
        column = self.frame[name]
        if column.dtype == pl.Boolean:
            column = column.cast(pl.Float64)
        if column.dtype.is_numeric():
            numbers = column.cast(pl.Float64)
        elif column.dtype in (pl.String, pl.Null):
            numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        else:
            raise self.error(0, field=name, expected="a number", got=shown(column[0]), reason=Reason.NOT_A_NUMBER)
        wrong = (numbers.is_null() & column.is_not_null()) | numbers.is_nan().fill_null(False) | numbers.is_infinite()
        if wrong.fill_null(False).any():
            row = int(wrong.fill_null(False).arg_max() or 0)
            got = shown(column[row])
            raise self.error(row, field=name, expected=expected, got=got, reason=reason)
        return numbers.alias(name)

    def marks(self, name: str) -> pl.Series:
        """A column of right and wrong as Booleans: true/false, 1/0, Correct/Wrong, yes/no. Nulls stay."""
        self.require([name])
        column = self.frame[name]
        if column.dtype == pl.Boolean:
            return column
        if column.dtype.is_integer() and (told := self.class_names(name)):
            column = self.named(name, told[0])
        words = column if column.dtype == pl.String else self.spelled(name)
        words = words.str.strip_chars().str.to_lowercase()
        marks = words.replace_strict(MARKS, default=None, return_dtype=pl.Boolean)
        wrong = marks.is_null() & column.is_not_null()
        if wrong.any():
            row = int(wrong.arg_max() or 0)
            raise self.error(
                row,
                field=name,
                expected="right or wrong (true/false, 1/0, Correct/Wrong, yes/no)",
                got=shown(column[row]),
                reason=Reason.NOT_A_MARK,
            )
        return marks.alias(name)


@dataclass(slots=True)
class TableReport:
    """What was read of one input, filled while reading."""

    path: str
    format: str
    reason: str
    rows: int = 0
    records: int = 0
    """Records that were met, bad ones too; their numbers go on in the next input."""
    bad: int = 0
    bad_records: list[BadRecord] = field(default_factory=list)
    sha256: str | None = None
    raw_bytes: int = 0
    class_labels: list[ClassLabels] = field(default_factory=list)


class TableReader:
    """Reads tables batch by batch: iterate over it for `TableBatch`, then look at `files`.

    columns: our name -> the input's name, e.g. `{"confidence": "conf"}`; the column is handed out as ours.
    asked: all names of ours that the caller will ask for; a name in `columns` that is none of them is refused.
    names: the column names of text without a header.
    header: whether the first line of CSV, TSV or text holds names; "auto" looks.
    limit: read at most this many rows in all.
    skip_bad: count lines that cannot be read instead of raising an `InputError`.
    marked: CSV is a table that we wrote, with marks before what looks like a formula (known by its header, or said).
    spelled: columns of names that some write as numbers (labels): both may stand in one column, and become text.

    >>> reader = TableReader(io.BytesIO(b"conf,right\\n0.9,yes\\n0.4,no\\n"), columns={"confidence": "conf"})
    >>> [(batch.numbers("confidence").to_list(), batch.marks("right").to_list()) for batch in reader]
    [([0.9, 0.4], [True, False])]
    >>> reader.files[0].format, reader.files[0].rows
    ('csv', 2)
    """

    def __init__(
        self,
        data: Any,
        *,
        format: Format = "auto",
        columns: Mapping[str, str] | None = None,
        asked: Iterable[str] | None = None,
        names: Sequence[str] | None = None,
        header: bool | Literal["auto"] = "auto",
        limit: int | None = None,
        skip_bad: bool = False,
        spelled: Sequence[str] = (),
        marked: bool = False,
        block_bytes: int = BLOCK_BYTES,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        if format not in FORMATS:
            raise InputError(
                field="format",
                expected=f"one of {', '.join(FORMATS)}",
                got=shown(format),
                reason=Reason.BAD_OPTION,
            )
        self._data = data
        self._format = format
        self._columns = dict(columns or {})
        self._asked = None if asked is None else list(asked)
        if self._asked is not None:
            check_names(self._columns, self._asked)
        self._names = list(names) if names is not None else None
        self._header = header
        self._limit = limit
        self._skip_bad = skip_bad
        self._spelled = frozenset(spelled)
        self._marked = marked
        self._block_bytes = block_bytes
        self._batch_rows = batch_rows
        self.files: list[TableReport] = []
        """One report per input, in order, complete once the reader is exhausted."""

    def __iter__(self) -> Iterator[TableBatch]:
        return staged(READING, self._batches(), count=lambda batch: len(batch.frame))

    def _batches(self) -> Iterator[TableBatch]:
        remaining = self._limit
        before = 0
        for report, frames in self._inputs():
            self.files.append(report)
            if remaining is not None and remaining <= 0:
                return
            for frame, numbers in frames:
                if remaining is not None:
                    taken = min(remaining, len(frame))
                    frame, numbers = frame.head(taken), numbers.head(taken)
                    remaining -= taken
                report.rows += len(frame)
                if len(frame):
                    if remaining is not None and self._limit:
                        handed(self._limit - remaining - len(frame), self._limit)
                    labels = [found.renamed(self._columns) for found in report.class_labels]
                    yield TableBatch(self._renamed(frame, report.path), report.path, numbers + before, labels)
                if remaining is not None and remaining <= 0:
                    break
            before += report.records

    def inputs(self) -> list[dict[str, Any]]:
        """What was read, for a run's manifest: each input with its digest and its counts."""
        if isinstance(self._data, Gathered):
            return self._data.inputs
        return [
            {
                "path": file.path or "(memory)", "sha256": file.sha256, "bytes": file.raw_bytes, "format": file.format,
                "rows": file.rows, "bad": file.bad,
            }
            for file in self.files
        ]  # fmt: skip

    def only_bad(self) -> str:
        """What there was where every record was bad: how many, and why; nothing where there was none at all."""
        bad = sum(file.bad for file in self.files)
        if not bad:
            return ""
        reasons: dict[str, int] = {}
        for file in self.files:
            for record in file.bad_records:
                reasons[record.reason] = reasons.get(record.reason, 0) + 1
        most = sorted(reasons.items(), key=_second, reverse=True)[:3]
        return f"only bad ones: {', '.join(f'{reason} ({count:,})' for reason, count in most)}, {bad:,} in all"

    def lost_lines(self, like: pl.DataFrame | None = None) -> pl.DataFrame | None:
        """A row of measurements for every line that could not be read, where bad ones are skipped: counted, not lost.

        like: measurements whose columns they get (default: id, scored and reason alone).
        """
        ids: list[str] = []
        reasons: list[str] = []
        for file in self.files:
            name = Path(file.path).name or "data"
            ids += [record.id or f"{name}:{record.line} (bad)" for record in file.bad_records]
            reasons += [record.reason for record in file.bad_records]
            unnamed = file.bad - len(file.bad_records)
            ids += [f"{name}: unreadable line {number} (bad)" for number in range(1, unnamed + 1)]
            reasons += [str(Reason.UNREADABLE_LINE)] * unnamed
        if not ids:
            return None
        lost = pl.DataFrame({"id": ids, "scored": [False] * len(ids), "reason": reasons})
        if like is None:
            return lost
        if "cluster" in like.columns:
            lost = lost.with_columns(cluster=pl.col("id"))
        if "weight" in like.columns:
            lost = lost.with_columns(weight=pl.lit(1.0))
        return pl.concat([like.clear(), lost], how="diagonal_relaxed")

    def _inputs(self) -> Iterator[tuple[TableReport, Iterator[Numbered]]]:
        if isinstance(self._data, Gathered):
            yield self._gathered(self._data)
        elif names_files(self._data):
            for source in file_sources(self._data):
                report, frames = self._file(source)
                report.class_labels = class_labels_beside(source.path)
                yield report, frames
        else:
            report = TableReport("", "memory", type(self._data).__name__, class_labels=class_labels_of(self._data))
            yield report, self._in_memory(self._data)

    def _renamed(self, frame: pl.DataFrame, path: str) -> pl.DataFrame:
        check_columns(self._columns, frame.columns[1:], path)
        # what the caller calls `confidence` wins over a column that happens to have that name
        moved = set(self._columns.values())
        clash = [ours for ours in self._columns if ours in frame.columns and ours not in moved]
        renamed = frame.drop(clash).rename({theirs: ours for ours, theirs in self._columns.items()})
        return renamed.with_columns(_written(column) for column in renamed if _beyond_calendar(column))

    # --- files ---

    def _file(self, source: Source) -> tuple[TableReport, Iterator[Numbered]]:
        if self._format == "parquet" or (self._format == "auto" and source.head(4) == b"PAR1"):
            report = TableReport(source.name, "parquet", "it begins with Parquet's magic bytes")
            return report, self._parquet(source, report)
        if self._format == "arrow" or (self._format == "auto" and is_arrow(source.head(8))):
            report = TableReport(source.name, "arrow", "it begins as Arrow files and streams do")
            return report, self._arrow(source, report)
        if self._format == "json":
            report = TableReport(source.name, "json", "as given")
            return report, self._json(source.read, source, report)
        blocks = source.blocks(self._block_bytes)
        first = next(blocks, None)
        if first is None:
            report = TableReport(source.name, "empty", "the input holds no text", sha256=source.sha256)
            return report, iter(())
        if self._format == "auto":
            kind, reason = detect_table_format(first.data, source.name)
        else:
            kind, reason = self._format, "as given"
        report = TableReport(source.name, kind, reason)
        blocks = chain([first], blocks)
        if kind == "json":
            return report, self._json(lambda: _joined(blocks, source), source, report)
        if kind == "jsonl":
            return report, self._finish(self._jsonl(blocks, report), source, report)
        return report, self._finish(self._delimited(blocks, kind, report), source, report)

    def _finish(self, frames: Iterator[Numbered], source: Source, report: TableReport) -> Iterator[Numbered]:
        yield from frames
        report.sha256, report.raw_bytes = source.sha256, source.raw_bytes

    def _refuse(self, report: TableReport, error: InputError) -> None:
        """Raise the error, or count it where bad lines are skipped."""
        if not self._skip_bad:
            raise error
        report.bad += 1
        if len(report.bad_records) < _KEPT_BAD_RECORDS:
            report.bad_records.append(error.as_bad_record())

    def _refuse_blanks(self, report: TableReport, blank: list[int]) -> None:
        """Blank lines are bad once a record follows them; at the end of a file they are nothing."""
        for number in blank:
            self._refuse(report, _blank_line(report.path, number))
        blank.clear()

    def _parquet(self, source: Source, report: TableReport) -> Iterator[Numbered]:
        path = _on_disk(source, "Parquet")
        record = 1
        with reading_parquet(source.name):
            check_pages(path)
            lazy = pl.scan_parquet(path, glob=False)
            rows = lazy.select(pl.len()).collect().item()
        size = path.stat().st_size
        report.class_labels = [*_labels_in_parquet(path, source.name), *report.class_labels]
        have_read(source.name, 0)
        # A slice unpacks the whole pages that it lies in: of a file that is one large group, many times over.
        batches = max(1, int(_UNPACKED_AT_ONCE * rows / max(size, 1)) // self._batch_rows)
        for start in range(0, rows, self._batch_rows * batches):
            with reading_parquet(source.name):
                several = lazy.slice(start, self._batch_rows * batches).collect()
            for frame in several.iter_slices(self._batch_rows):
                have_read(source.name, size * min(record + len(frame) - 1, rows) // rows)
                yield _with_place(frame, RECORD, record, source.name)
                record += len(frame)
                report.records += len(frame)
        source.digest_file()
        report.sha256, report.raw_bytes = source.sha256, source.raw_bytes

    def _arrow(self, source: Source, report: TableReport) -> Iterator[Numbered]:
        path = _on_disk(source, "Arrow")
        record = 1
        for frame in _arrow_frames(path, source.name, report, self._batch_rows):
            for start in range(0, len(frame), self._batch_rows):
                part = frame.slice(start, self._batch_rows)
                yield _with_place(part, RECORD, record, source.name)
                record += len(part)
                report.records += len(part)
        source.digest_file()
        report.sha256, report.raw_bytes = source.sha256, source.raw_bytes

    def _json(self, read: Callable[[], bytes], source: Source, report: TableReport) -> Iterator[Numbered]:
        text = read()
        report.sha256, report.raw_bytes = source.sha256, source.raw_bytes
        hint = "Is the file complete? One object per line (JSONL) is read too."
        document = read_document(text, source.name, "a JSON array of objects", hint=hint)
        if is_deep(text, document):
            raise too_deep(path=source.name)
        if isinstance(document, dict):
            if document and all(isinstance(column, list) for column in document.values()):
                yield from self._columns_of(document, source.name, report)
                return
            lists = [key for key, value in document.items() if isinstance(value, list)]
            where = (
                f"Its records may be under {', '.join(map(shown, lists[:5]))}: save that list by itself."
                if lists
                else None
            )
            raise InputError(
                path=source.name,
                expected="a JSON array of objects, or an object of equally long lists",
                got=f"an object with the keys {', '.join(shown(key, 40) for key in list(document)[:8])}",
                hint=where,
                reason=Reason.BAD_JSON,
            )
        if not isinstance(document, list):
            raise InputError(
                path=source.name,
                expected="a JSON array of objects",
                got=shown(document, 60),
                reason=Reason.BAD_JSON,
            )
        have_read(source.name, 0)
        for frame in self._rows(iter(document), source.name, report):
            have_read(source.name, source.raw_bytes * report.records // len(document))
            yield frame
        have_read(source.name, source.raw_bytes)

    def _jsonl(self, blocks: Iterator[Block], report: TableReport) -> Iterator[Numbered]:
        blank: list[int] = []
        for block in blocks:
            rows: list[dict[str, Any]] = []
            places: list[int] = []
            numbers: list[int] = []
            lines = block.data.split(b"\n")
            with many_objects():
                good = None if blank or self._skip_bad else objects_of_lines(lines if lines[-1] else lines[:-1])
                if good is not None:
                    where = range(block.first_line, block.first_line + len(good))
                    frame = _frame_of(good, where, PLACE, report.path, self._spelled)
            if good is not None:
                first = report.records + 1
                report.records += len(good)
                yield frame, pl.Series(range(first, first + len(good)), dtype=pl.Int64)
                continue
            for number, line in enumerate(lines, block.first_line):
                if not line.strip():
                    blank.append(number)
                    continue
                if blank:
                    self._refuse_blanks(report, blank)
                report.records += 1
                try:
                    row = loads(line)
                except (json.JSONDecodeError, UnicodeDecodeError) as error:
                    self._refuse(report, bad_json_line(report.path, number, error))
                    continue
                if not isinstance(row, dict):
                    got = shown(row, 60)
                    self._refuse(
                        report,
                        InputError(
                            path=report.path,
                            line=number,
                            expected="a JSON object",
                            got=got,
                            hint=SKIP_HINT,
                            reason=Reason.NOT_AN_OBJECT,
                        ),
                    )
                    continue
                if is_deep(line, row):
                    self._refuse(report, too_deep(path=report.path, line=number, hint=SKIP_HINT))
                    continue
                rows.append(row)
                places.append(number)
                numbers.append(report.records)
            if blank and block.data.endswith(b"\n"):
                blank.pop()  # the empty part after the last line end is no line
            for at, fault in self._odd_rows(rows, places, PLACE, report.path):
                self._refuse(report, fault)
                del rows[at], places[at], numbers[at]
            if rows:
                frame = _frame_of(rows, places, PLACE, report.path, self._spelled)
                yield frame, pl.Series(numbers, dtype=pl.Int64)

    def _rows(self, rows: Iterator[Any], path: str, report: TableReport) -> Iterator[Numbered]:
        record = 1
        while batch := list(islice(rows, self._batch_rows)):
            good: list[dict[str, Any]] = []
            places: list[int] = []
            for row in batch:
                if isinstance(row, Mapping):
                    good.append(dict(row))
                    places.append(record)
                else:
                    self._refuse(
                        report,
                        InputError(
                            path=path or None,
                            record=record,
                            expected="an object with named values",
                            got="nothing" if row is None else f"{type(row).__name__} {shown(row, 60)}",
                            reason=Reason.NOT_AN_OBJECT,
                        ),
                    )
                record += 1
            report.records += len(batch)
            for at, error in self._odd_rows(good, places, RECORD, path):
                self._refuse(report, error)
                del good[at], places[at]
            if good:
                frame = _frame_of(good, places, RECORD, path, self._spelled)
                yield frame, frame[RECORD]

    def _odd_rows(
        self, rows: list[dict[str, Any]], places: list[int], place: str, path: str
    ) -> list[tuple[int, InputError]]:
        """Where bad records are skipped: those whose values are of another kind than most, the last of them first."""
        odd: dict[int, InputError] = {}
        if self._skip_bad:
            for name in dict.fromkeys(name for row in rows for name in row):
                for at, error in _other_kinds(name, [row.get(name) for row in rows], places, place, path):
                    if not (name in self._spelled and isinstance(rows[at][name], str | int | float)):
                        odd.setdefault(at, error)
        return sorted(odd.items(), reverse=True)

    def _columns_of(self, columns: Mapping[str, Any], path: str, report: TableReport) -> Iterator[Numbered]:
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            (short, few), (long, many) = min(lengths.items(), key=_second), max(lengths.items(), key=_second)
            raise InputError(
                path=path or None,
                expected="columns of the same length",
                got=f"{few} in {shown(short, 40)} and {many} in {shown(long, 40)}",
                reason=Reason.RAGGED_COLUMNS,
            )
        for name, column in columns.items():
            if _holds_parts(column) and is_nested(column):
                raise too_deep(path=path or None, field=name)
        frame = _polars(columns, strict=True)
        if frame is None:
            records = list(range(1, max(lengths.values(), default=0) + 1))
            for name, column in columns.items():
                _one_kind(name, list(column), records, RECORD, path)
            listed = {RECORD: records, **{str(name): list(column) for name, column in columns.items()}}
            raise _no_column(listed, RECORD, path, strict=True)
        yield from self._slices(frame, path, report)

    def _slices(self, frame: pl.DataFrame, path: str, report: TableReport) -> Iterator[Numbered]:
        report.records += len(frame)
        for start in range(0, len(frame), self._batch_rows):
            handed(start, len(frame))
            yield _with_place(frame.slice(start, self._batch_rows), RECORD, start + 1, path)

    # --- CSV, TSV, white-space text ---

    def _delimited(self, blocks: Iterator[Block], kind: str, report: TableReport) -> Iterator[Numbered]:
        separator = {"csv": ",", "tsv": "\t"}.get(kind)
        names: list[str] | None = None
        # text without a header gets its first line back as data
        for lines, places in self._lines_of(blocks, separator, report):
            if names is None:
                names, is_header = self._header_of(lines, places, separator, report)
                if is_header:
                    lines, places = lines.slice(1), places.slice(1)
            if len(lines):
                numbers = pl.int_range(report.records + 1, report.records + len(lines) + 1, eager=True)
                report.records += len(lines)
                frame, good = self._cells(lines, places, names, separator, report)
                if kind == "csv" and (self._marked or tuple(names) in OUR_HEADERS):
                    frame = unmarked_cells(frame)
                yield frame, numbers.filter(good)

    def _lines_of(
        self, blocks: Iterator[Block], separator: str | None, report: TableReport
    ) -> Iterator[tuple[pl.Series, pl.Series]]:
        """Records of delimited text with the lines they begin on; a quoted cell may hold line ends."""
        csv.field_size_limit(max(csv.field_size_limit(), BLOCK_BYTES))
        open_part, open_from, cells = "", 0, 0
        blank: list[int] = []
        for block in blocks:
            text = _decoded(block, report.path)
            parts = text.split("\n")
            if parts[-1] == "":
                parts.pop()
            lines: list[str] = []
            numbers: list[int] = []
            has_quotes = separator is not None and ('"' in text or bool(open_part))
            for number, part in enumerate(parts, block.first_line):
                at = number
                if has_quotes and separator is not None:
                    if open_part:
                        part, at = f"{open_part}\n{part}", open_from
                    # An even number of quotes closes all that it opens; the exact look is for the others.
                    if part.count('"') % 2 and _ends_in_quotes(part, separator, cells):
                        open_part, open_from = part, at
                        continue
                    open_part = ""
                if not part.strip():
                    blank.append(at)
                    continue
                if blank:
                    self._refuse_blanks(report, blank)
                if not cells and separator is not None:
                    cells = len(_split(part, separator))
                lines.append(part.rstrip("\r"))
                numbers.append(at)
            if lines:
                yield pl.Series(lines, dtype=pl.String), pl.Series(numbers, dtype=pl.Int64)
        if open_part:
            self._refuse(report, _open_quote(report.path, open_from, open_part))
            report.records += 1

    def _header_of(
        self, lines: pl.Series, numbers: pl.Series, separator: str | None, report: TableReport
    ) -> tuple[list[str], bool]:
        def cells(row: int) -> list[str]:
            return _split(lines[row], separator)

        def has_number(row: int) -> bool:
            return any(_NUMBER.fullmatch(cell) for cell in cells(row))

        first = cells(0)
        if len(first) == 1 and (mark := next((m for m in _OTHER_MARKS if m in first[0]), None)) is not None:
            raise InputError(
                path=report.path,
                line=int(numbers[0]),
                expected="cells separated by commas or tabs",
                got=f"{shown(lines[0], 60)}, separated by {mark!r}",
                hint="Save the table with commas or tabs (and numbers with a point), "
                f"e.g. polars.read_csv(FILE, separator={mark!r}).write_csv(NEW).",
                reason=Reason.OTHER_SEPARATOR,
            )
        if self._names is not None:
            if self._header == "auto":
                # a header is a first line without numbers above lines with them
                is_header = first == self._names or (len(lines) > 1 and not has_number(0) and has_number(1))
            else:
                is_header = self._header
            return self._names, is_header
        if self._header is False or (self._header == "auto" and has_number(0)):
            names = [name for name in self._asked or () if name != "id"][: len(first)] or ["confidence", "correct"]
            example = (separator or " ").join(names).replace("\t", "<TAB>")
            raise InputError(
                path=report.path,
                line=int(numbers[0]),
                expected="a header with the names of the columns",
                got=shown(lines[0], 60),
                hint=f"Put a line with the {len(first)} names before it, e.g. {example}",
                reason=Reason.NO_HEADER,
            )
        named = [cell or f"column_{at}" for at, cell in enumerate(first, 1)]
        for name, times in Counter(named).items():
            if times > 1:
                raise InputError(
                    path=report.path,
                    line=int(numbers[0]),
                    expected="different column names",
                    got=f"{shown(name, 60)} {times} times",
                    reason=Reason.NAME_TWICE,
                )
        return named, True

    def _cells(
        self,
        lines: pl.Series,
        numbers: pl.Series,
        names: list[str],
        separator: str | None,
        report: TableReport,
    ) -> tuple[pl.DataFrame, pl.Series]:
        """The lines that have as many cells as there are names as rows, and which lines those are."""
        width = len(names)
        if separator is not None and lines.str.contains('"', literal=True).any():
            rows = [_split_tabs(line, width) if separator == "\t" else _split(line, separator) for line in lines]
            counts = pl.Series([len(row) for row in rows], dtype=pl.UInt32)
            good = counts == width
            split = pl.DataFrame(
                [row for row in rows if len(row) == width],
                schema=dict.fromkeys(names, pl.String),
                orient="row",
            )
        else:
            if separator is None:
                lines = lines.str.strip_chars().str.replace_all(r"[ \t]+", " ")
            counts = lines.str.count_matches(separator or " ", literal=True) + 1
            good = counts == width
            split = (
                lines.filter(good)
                .str.split_exact(separator or " ", width - 1)
                .struct.rename_fields(names)
                .struct.unnest()
                .with_columns(pl.all().str.strip_chars())
            )
        if not good.all():
            for row in (~good).arg_true():
                self._refuse(
                    report,
                    InputError(
                        path=report.path,
                        line=int(numbers[row]),
                        expected=f"{width} cells ({', '.join(shown(name, 30) for name in names[:8])})",
                        got=f"{counts[row]} in {shown(lines[row], 60)}",
                        hint=SKIP_HINT,
                        reason=Reason.CELL_COUNT,
                    ),
                )
        empty_as_null = split.with_columns(pl.when(pl.all() != "").then(pl.all()))
        place = numbers.filter(good).alias(PLACE)
        _refuse_own_name(names, PLACE, report.path)
        return empty_as_null.insert_column(0, place), good

    # --- gathered before, or in memory ---

    def _gathered(self, data: Gathered) -> tuple[TableReport, Iterator[Numbered]]:
        report = TableReport(data.path, data.format, "as gathered", bad=len(data.bad), bad_records=list(data.bad))
        report.class_labels = data.class_labels
        return report, self._gathered_frames(data, report)

    def _gathered_frames(self, data: Gathered, report: TableReport) -> Iterator[Numbered]:
        for start in range(0, len(data), self._batch_rows):
            stop = min(start + self._batch_rows, len(data))
            numbers = list(range(start + 1, stop + 1))
            places = list(data.places[start:stop]) if len(data.places) else list(numbers)
            report.records += stop - start
            handed(start, len(data))
            if isinstance(data.rows, pl.DataFrame):
                _refuse_own_name(data.rows.columns, data.place, data.path)
                frame = data.rows[start:stop].insert_column(0, pl.Series(data.place, places, dtype=pl.Int64))
                yield frame, pl.Series(numbers, dtype=pl.Int64)
                continue
            rows = [dict(row) for row in data.rows[start:stop]]
            for at, error in self._odd_rows(rows, places, data.place, data.path):
                self._refuse(report, error)
                del rows[at], places[at], numbers[at]
            if rows:
                frame = _frame_of(rows, places, data.place, data.path, self._spelled)
                yield frame, pl.Series(numbers, dtype=pl.Int64)

    def _in_memory(self, data: Any) -> Iterator[Numbered]:
        if isinstance(data, pl.LazyFrame):
            data = data.collect()
        report = self.files[-1]
        if isinstance(data, pl.DataFrame):
            yield from self._slices(data, "", report)
        elif isinstance(data, Mapping):
            if any(not hasattr(column, "__len__") or isinstance(column, (str, bytes)) for column in data.values()):
                got = f"a dict with the keys {', '.join(shown(str(key), 40) for key in list(data)[:8])}"
                raise InputError(
                    expected="a dict of columns (lists or arrays of the same length)",
                    got=got,
                    hint="Put a single record in a list.",
                    reason=Reason.NOT_A_TABLE,
                )
            if any(_frame_from(column) is not None for column in data.values()):
                raise InputError(
                    expected="one table",
                    got=f"a dict of tables ({', '.join(shown(str(key), 40) for key in list(data)[:8])})",
                    hint="Pass one of them, e.g. data['test'].",
                    reason=Reason.NOT_A_TABLE,
                )
            yield from self._columns_of(data, "", report)
        elif (frame := _frame_from(data)) is not None:
            yield from self._slices(frame, "", report)
        elif isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
            yield from self._rows(iter(data), "", report)
        else:
            raise InputError(
                expected="a path, a list of dicts, a dict of columns, or a Polars, pandas, Arrow or HF table",
                got="nothing" if data is None else type(data).__name__,
                reason=Reason.NOT_A_TABLE,
            )


_one_reader = threading.Lock()


@contextmanager
def reading_parquet(path: str, kind: str = "Parquet", reason: Reason = Reason.BAD_PARQUET) -> Iterator[None]:
    """Around every read of Parquet, and of Arrow: a damaged file is one InputError.

    Polars is sure of what it reads and panics where the bytes are not so. A panic is told on standard error, stack and
    all, before Python hears of it: what is written there meanwhile is held back, and dropped only where there was one.
    """
    with _one_reader, _standard_error_held() as drop:
        try:
            yield
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, DamagedError, OSError) as error:
            drop()
            raise InputError(
                f"cannot be read as {kind} (it is damaged or cut short)"
                if not isinstance(error, OSError) or not error.strerror
                else f"cannot be read as {kind} ({error.strerror})",
                path=path,
                hint="Is the file complete? Make or fetch it again.",
                reason=reason,
            ) from None


def _holds_parts(column: Any) -> bool:
    """Whether a column is a list in which lists or objects stand."""
    return isinstance(column, list) and not {dict, list}.isdisjoint(map(type, column))


@contextmanager
def _panics_caught(columns: Iterable[Any]) -> Iterator[None]:
    """Around the making of columns: Polars panics over some that hold objects, one with a list of nothing and one with
    a list of texts under the same key. It is then a TypeError, as of other values that fit no column.
    """
    if not any(map(_holds_parts, columns)):
        yield
        return
    with _one_reader, _standard_error_held() as drop:
        try:
            yield
        except pl.exceptions.PanicException:
            drop()
            raise TypeError("these values fit no column") from None


def _on_disk(source: Source, kind: str) -> Path:
    """Where a file lies that is read at random."""
    if source.path is None:
        raise InputError(
            f"{kind} can only be read from a file", path=source.name, hint="Save the stream first.",
            reason=Reason.PARQUET_STREAM,
        )  # fmt: skip
    return source.path


def _labels_in_parquet(path: Path, name: str) -> list[ClassLabels]:
    """The class labels that a Parquet file itself names."""
    source = f"the schema of {name}"
    try:
        with reading_parquet(name):
            text = pl.read_parquet_metadata(path).get(KEY)
    except InputError:  # its rows can be read: it matters only to who asks for these names
        return [ClassLabels(source, fault="metadata that cannot be read")]
    return [] if text is None else [class_labels_in(text, source)]


def _arrow_frames(path: Path, name: str, report: TableReport, rows: int) -> Iterator[pl.DataFrame]:
    """The rows of an Arrow file or stream, in parts of bounded size; what it says of labels goes to the report."""

    def damage_told() -> AbstractContextManager[None]:
        return reading_parquet(name, "Arrow", Reason.BAD_ARROW)

    with damage_told():
        file = path.open("rb")
    with file:
        with damage_told():
            whole_file = file.read(len(FILE_MAGIC)) == FILE_MAGIC
            file.seek(0)
            stream = None if whole_file else ArrowStream(file)
            features = features_of_file(file) if stream is None else stream.features
        if features is not None:
            # dataset_info.json holds for a saved folder, as it does for who saved it.
            report.class_labels = [*report.class_labels, class_labels_in(features, f"the schema of {name}")]
        if stream is None:
            with damage_told():
                file.seek(0)
                lazy = pl.scan_ipc(file)  # opened: a path would be taken for a pattern
                count = lazy.select(pl.len()).collect().item()
            for start in range(0, count, rows):
                with damage_told():
                    frame = lazy.slice(start, rows).collect()
                yield frame
            return
        parts = stream.parts()
        while True:
            with damage_told():
                part = next(parts, None)
                if part is None:
                    return
                frame = pl.read_ipc_stream(io.BytesIO(part))
            yield frame


@contextmanager
def _standard_error_held() -> Iterator[Callable[[], None]]:
    """Holds back what is written to standard error; gives a function that drops it."""
    dropped = False

    def drop() -> None:
        nonlocal dropped
        dropped = True

    try:
        sys.stderr.flush()
        kept = os.dup(2)
    except (OSError, ValueError, AttributeError):  # there is none
        yield drop
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield drop
        finally:
            os.dup2(kept, 2)
            if not dropped and held.seek(0, os.SEEK_END):
                held.seek(0)
                os.write(kept, held.read())
            os.close(kept)


def check_names(columns: Mapping[str, str], asked: Iterable[str]) -> None:
    """Refuse a renaming of what nobody asks for: it would be passed over, and another column measured."""
    known = list(dict.fromkeys(asked))
    for ours, theirs in columns.items():
        if ours in known:
            continue
        swapped = f"The name that is asked for comes first: {theirs}={ours}." if theirs in known else ""
        raise InputError(
            field="columns (--columns NAME=COLUMN)",
            expected=f"one of the names that are asked for here ({', '.join(known)})",
            got=shown(ours, 60),
            hint=swapped or did_you_mean(ours, known),
            reason=Reason.BAD_OPTION,
        )


def check_columns(columns: Mapping[str, str], known: Collection[str], path: str) -> None:
    """Refuse a renaming of a column that is not there."""
    for ours, theirs in columns.items():
        if theirs not in known:
            raise _unknown_column(theirs, list(known), path, ours)


def read_table(data: Any, **options: Any) -> pl.DataFrame:
    """Everything as one frame; the options are those of `TableReader`, which reads in bounded memory.

    >>> read_table([{"confidence": 0.9}, {"confidence": 0.4}]).rows()
    [(1, 0.9), (2, 0.4)]
    """
    frames = [batch.frame for batch in TableReader(data, **options)]
    if not frames:
        return pl.DataFrame(schema={PLACE: pl.Int64})
    return pl.concat(frames, how="diagonal_relaxed")


def _frame_from(data: Any) -> pl.DataFrame | None:
    """A table of another library, recognised by what it can do rather than by importing that library."""
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, (pl.Series, list, tuple, str, bytes)) or not hasattr(data, "__class__"):
        return None
    if hasattr(data, "columns") and hasattr(data, "iloc"):  # pandas
        index = [
            name for name in getattr(data.index, "names", ()) if isinstance(name, str) and name not in data.columns
        ]
        if index:  # a named index is a column that pandas keeps apart
            data = data.reset_index(level=index)
        named = {str(name): data[name] for name in data.columns}
        try:
            return pl.DataFrame({name: pl.from_pandas(column) for name, column in named.items()})
        except (ImportError, pl.exceptions.PolarsError, TypeError, ValueError):
            # without pyarrow, or for objects it refuses
            return pl.DataFrame({name: column.tolist() for name, column in named.items()}, strict=False)
    if callable(getattr(data, "to_polars", None)):
        table = data.to_polars()
        if isinstance(table, pl.LazyFrame):
            return table.collect()
        return table if isinstance(table, pl.DataFrame) else None
    if hasattr(data, "__arrow_c_stream__") and hasattr(data, "schema"):
        return pl.DataFrame(data)
    if callable(getattr(data, "to_pandas", None)):
        return _frame_from(data.to_pandas())
    return None


def _with_place(frame: pl.DataFrame, place: str, first: int, path: str) -> Numbered:
    _refuse_own_name(frame.columns, place, path)
    numbers = pl.Series(place, range(first, first + len(frame)), dtype=pl.Int64)
    return frame.clone().insert_column(0, numbers), numbers


def _refuse_own_name(names: Sequence[str], place: str, path: str) -> None:
    if place in names:
        raise InputError(
            path=path or None,
            expected=f"no column called {place} (it holds each row's place)",
            got="one",
            hint="Rename that column.",
            reason=Reason.RESERVED_NAME,
        )


def _unknown_column(name: str, known: Sequence[str], path: str, ours: str | None = None) -> InputError:
    listed = ", ".join(shown(other, 40) for other in known[:12]) + (", ..." if len(known) > 12 else "")
    return InputError(
        path=path or None,
        field=ours,
        expected=f"a column {shown(name, 60)}",
        got=f"the columns {listed}" if known else "none of those asked for",
        hint=did_you_mean(name, known) or "Name the right one with --columns NAME=COLUMN (columns= in Python).",
        reason=Reason.UNKNOWN_COLUMN,
    )


def _second(pair: tuple[str, int]) -> int:
    return pair[1]


def _joined(blocks: Iterator[Block], source: Source) -> bytes:
    """The text of all blocks, as long as it fits in memory."""
    pieces: list[bytes] = []
    total = 0
    for block in blocks:
        total += len(block.data)
        source.check_expansion(total)
        if total > _MAX_DOCUMENT_BYTES:
            raise document_too_large(source.name, "a JSON document", _MAX_DOCUMENT_BYTES)
        pieces.append(block.data)
    return b"".join(pieces)


def bad_json_line(path: str, number: int, error: ValueError, always: Reason | None = None) -> InputError:
    """The error of a line that `loads` refused; `always` is its reason, whatever is wrong with the line."""

    def bad_line(reason: Reason, expected: str, got: str) -> InputError:
        return InputError(path=path, line=number, expected=expected, got=got, hint=SKIP_HINT, reason=always or reason)

    if isinstance(error, json.JSONDecodeError):
        if error.msg in OURS:
            return bad_line(Reason.BAD_JSON, "a JSON object", f"a line that cannot be read ({error.msg})")
        rest = error.doc[error.pos :].strip()
        if not rest or error.msg.startswith("Unterminated string"):
            return bad_line(
                Reason.TRUNCATED,
                "a complete JSON object",
                f"a line that ends too early, at {shown(error.doc.rstrip()[-30:])}",
            )
        return bad_line(
            Reason.BAD_JSON, "a JSON object", f"{shown(rest, 40)} at column {error.colno} ({in_words(error)})"
        )
    assert isinstance(error, UnicodeDecodeError)
    return bad_line(
        Reason.ENCODING, "text in UTF-8", f"the byte 0x{error.object[error.start]:02x} at byte {error.start + 1}"
    )


def too_deep(**place: Any) -> InputError:
    deepest = f"lists and objects at most {DEEPEST} deep inside one another"
    return InputError(expected=deepest, got="deeper ones", reason=Reason.BAD_JSON, **place)


def _blank_line(path: str, number: int) -> InputError:
    return InputError(
        path=path,
        line=number,
        expected="a record",
        got="a blank line between records",
        hint=SKIP_HINT,
        reason=Reason.BLANK_LINE,
    )


def _frame_of(
    rows: list[dict[str, Any]], places: Sequence[int], place: str, path: str, spelled: frozenset[str] = frozenset()
) -> pl.DataFrame:
    """Rows as a frame, each column of one kind: Polars would turn a stray text into a column of text."""
    names: dict[str, None] = dict.fromkeys(rows[0]) if rows else {}
    alike = True
    for row in rows:
        if row.keys() != names.keys():
            names.update(dict.fromkeys(row))
            alike = False
    _refuse_own_name(list(names), place, path)
    columns: dict[str, Any] = {place: places}
    for name in names:
        column = [*map(itemgetter(name), rows)] if alike else [row.get(name) for row in rows]
        if name in spelled and str in set(map(type, column)):
            column = [
                _spelled(value) if isinstance(value, int | float) and type(value) is not bool else value
                for value in column
            ]
        _one_kind(name, column, places, place, path)
        columns[name] = column
    frame = _polars(columns, schema_overrides={place: pl.Int64}, strict=False)
    if frame is None:
        raise _no_column(columns, place, path)
    return frame


def _polars(columns: Mapping[str, Any], **options: Any) -> pl.DataFrame | None:
    """The columns as a frame; None where they cannot be columns."""
    try:
        with _panics_caught(columns.values()):
            frame = pl.DataFrame(dict(columns), nan_to_null=False, **options)
    except UnicodeEncodeError:  # half a character; files have none any more
        return _polars({whole(name): whole_value(list(column)) for name, column in columns.items()}, **options)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return None
    return None if pl.Object in frame.dtypes else frame


def _no_column(columns: Mapping[str, list[Any]], place: str, path: str, *, strict: bool = False) -> InputError:
    """The error of records whose nested values are too different to stand in one column."""
    places = columns[place]
    for name, column in columns.items():
        row = _first_misfit(column, strict)
        if row is None:
            continue
        return InputError(
            path=path or None,
            **line_or_record(place, places[row]),
            field=name,
            expected="values built alike in all records",
            got=kind_and_value(column[row]),
            hint="Give all values of the column the same kind, inside lists and objects too.",
            reason=Reason.MIXED_KINDS,
        )
    return InputError("the records do not form a table", path=path or None, reason=Reason.BAD_COLUMNS)


def _first_misfit(column: list[Any], strict: bool = False) -> int | None:
    """The first value that cannot stand in one column with those before it. Mostly it is near the top: look there."""
    rows = 1
    while _fits(column[:rows], strict):
        if rows >= len(column):
            return None
        rows *= 2
    return bisect_left(range(1, rows), True, lo=rows // 2, key=lambda first: not _fits(column[:first], strict))


def _spelled(number: float) -> str:
    try:
        return f"{number:g}"
    except OverflowError:  # an integer beyond all floats
        return shown(number, 40)


def _fits(column: list[Any], strict: bool) -> bool:
    """Whether values can stand in one column."""
    try:
        with _panics_caught([column]):
            series = pl.Series(column, strict=strict)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return False
    return len(series) == len(column) and series.dtype != pl.Object


def _one_kind(name: str, column: list[Any], places: Sequence[int], place: str, path: str) -> None:
    """Refuse a column whose values are not all of the kind of the first."""
    first = next((type(value) for value in column if value is not None), None)
    for _, error in _other_kinds(name, column, places, place, path, usual=first):
        raise error


def _other_kinds(
    name: str, column: list[Any], places: Sequence[int], place: str, path: str, usual: type | None = None
) -> Iterator[tuple[int, InputError]]:
    """The values that are not of the usual kind (default: the most frequent), each with its error."""
    kinds = set(map(type, column)) - {type(None)}
    if len(kinds) <= 1 or kinds <= {int, float}:
        return
    found = [float if type(value) is int else type(value) for value in column]
    usual = float if usual is int else usual
    usual = usual or Counter(kind for kind in found if kind is not type(None)).most_common(1)[0][0]
    for at, (kind, value) in enumerate(zip(found, column, strict=True)):
        if value is not None and kind is not usual:
            yield (
                at,
                InputError(
                    path=path or None,
                    **line_or_record(place, places[at]),
                    field=name,
                    expected=f"{_KINDS.get(usual, usual.__name__)}, as before",
                    got=f"{_KINDS.get(kind, kind.__name__)} {shown(value, 60)}",
                    hint="Give all values of the column the same kind, or pass --skip-bad (skip_bad=True).",
                    reason=Reason.MIXED_KINDS,
                ),
            )


_KINDS: dict[type, str] = {
    float: "a number",
    str: "text",
    bool: "a boolean",
    dict: "an object",
    list: "a list",
}


def _beyond_calendar(column: pl.Series) -> bool:
    """Whether a column holds, maybe within lists or objects, a moment that cannot be written down as a date."""
    kind = column.dtype
    if isinstance(kind, pl.List | pl.Array):
        return _beyond_calendar(column.explode()) if _may_hold_moments(kind) else False
    if isinstance(kind, pl.Struct):
        return any(map(_beyond_calendar, column.struct.unnest())) if _may_hold_moments(kind) else False
    if not isinstance(kind, pl.Date | pl.Datetime | pl.Duration):
        return False
    first, last = _FARTHEST_SPAN if isinstance(kind, pl.Duration) else _CALENDAR
    unit = _UNITS_OF_DAY["d" if isinstance(kind, pl.Date) else kind.time_unit]
    moments = column.to_physical().cast(pl.Int64).drop_nulls()
    return bool(len(moments)) and not (first * unit <= moments.min() <= moments.max() < last * unit)  # type: ignore[operator]


def _may_hold_moments(kind: pl.DataType) -> bool:
    if isinstance(kind, pl.Struct):
        return any(_may_hold_moments(field.dtype) for field in kind.fields)  # type: ignore[arg-type]
    if isinstance(kind, pl.List | pl.Array):
        return _may_hold_moments(kind.inner)  # type: ignore[arg-type]
    return kind.is_temporal()


def _written(column: pl.Series) -> pl.Series:
    """Such a column as the numbers that stand in the file: Polars ends a run that looks at the dates."""
    numbers = column.to_physical()
    if column.dtype.is_nested():
        return numbers
    unit = "d" if isinstance(column.dtype, pl.Date) else column.dtype.time_unit  # type: ignore[attr-defined]
    since = "" if isinstance(column.dtype, pl.Duration) else " since 1970"
    return numbers.cast(pl.String) + f" {unit}{since}"


def kind_and_value(value: object) -> str:
    """What a message says of a value that is of the wrong kind.

    >>> kind_and_value([1, 2])
    'a list [1, 2]'
    """
    if isinstance(value, pl.Series):
        value = value.to_list()
    if value is None or isinstance(value, (str, bytes)):
        return (
            "nothing" if value is None else shown(value, 60) if isinstance(value, str) else f"bytes {shown(value, 60)}"
        )
    kind = type(value) if type(value) is not int else float
    return f"{_KINDS[kind]} {shown(value, 60)}" if kind in _KINDS else shown(value, 60)


def _split(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    # newline="" keeps line ends inside quotes as they are; a carriage return by itself parts cells, and loses none
    rows = csv.reader(io.StringIO(line, newline=""), delimiter=separator)
    return [cell.strip() for row in rows for cell in row]


def _split_tabs(line: str, width: int) -> list[str]:
    """The cells of a line of TSV. Two customs share the name: cells quoted as in CSV, and cells as they are.

    A line that has the right number of tabs and a quote that quotes nothing (`the 5" pipe`, `"Yes," he said`) is of
    the second kind; its quotes are part of the text.
    """
    plain = line.split("\t")
    if len(plain) == width and not all(_well_quoted(cell) for cell in plain if '"' in cell):
        return [cell.strip() for cell in plain]
    return _split(line, "\t")


def _well_quoted(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', "")


def _ends_in_quotes(record: str, separator: str, cells: int) -> bool:
    """Whether the record goes on in the next line: it ends inside a cell that began with a quote."""
    if separator == "\t" and record.count("\t") + 1 == cells and not record.rpartition("\t")[2].startswith('"'):
        return False  # all its cells are there: a quote that is never closed is text, see _split_tabs
    at = 0
    while True:
        if record[at : at + 1] == '"':
            at += 1
            while True:
                at = record.find('"', at)
                if at < 0:
                    return True
                if record[at + 1 : at + 2] != '"':
                    break
                at += 2
        at = record.find(separator, at)
        if at < 0:
            return False
        at += 1


def _decoded(block: Block, path: str) -> str:
    try:
        return block.data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise not_utf8(error, path, block.first_line) from None


def _open_quote(path: str, number: int, record: str) -> InputError:
    return InputError(
        path=path,
        line=number,
        expected="a closing quote for every opening one",
        got=f"the end of the file inside {shown(record, 60)}",
        hint=SKIP_HINT,
        reason=Reason.OPEN_QUOTE,
    )
