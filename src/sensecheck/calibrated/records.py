"""What `calibrated` reads: `.logits` files of tokens, answers with log-probabilities, tables of (confidence, correct).

`opened` recognises which of them an input is; each has a reader of its own with the same interface, `Records`.
"""

from __future__ import annotations

import io
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import polars as pl

from sensecheck.calibrated.logits import detect_format
from sensecheck.calibrated.reading import InputFormat, Reading
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.hugging_face import is_arrow
from sensecheck.inputs.opening import file_sources, names_files, sources, unpacked_start
from sensecheck.inputs.reasons import Reason
from sensecheck.report.asking import Asked
from sensecheck.runs.collecting import Batch

_PEEK = 1 << 20
_LOGITS = ("logits", "miso", "logits-hf", "logits-miso")


def opened(data: Any, asked: Asked, reading: Reading) -> Records:
    """The reader that fits the data."""
    from sensecheck.calibrated.answer_records import AnswerRecords, are_answers
    from sensecheck.calibrated.table_records import TableRecords
    from sensecheck.calibrated.token_records import TokenRecords

    data, kind = _recognised(data, reading.input_format)
    if kind in _LOGITS:
        return TokenRecords(data, kind, asked, reading)
    if reading.level == "sequence":
        raise InputError(
            "a table of (confidence, correct) has no tokens to put together",
            field="level",
            hint="--level sequence (level='sequence') needs a .logits file.",
            reason=Reason.BAD_OPTION,
        )
    records = AnswerRecords if are_answers(data) else TableRecords
    return records(data, kind, asked, reading)


class Records(ABC):
    """An input opened: iterate its batches, then ask what was read."""

    level: str
    """What a row is: token, sequence, answer or row."""

    def __init__(self, data: Any, kind: str, asked: Asked, reading: Reading) -> None:
        self.data, self.kind = data, kind
        self.asked, self.reading = asked, reading
        self.classes: list[str] | None = None
        """The classes of whole distributions, where those were given."""
        self._range: tuple[float, float] | None = None
        self._only_marks = True

    @abstractmethod
    def rows(self) -> Iterator[Batch]:
        """The measurements, batch after batch."""

    @abstractmethod
    def scale(self) -> str:
        """The scale(s) that the numbers were read in, for the signature."""

    @abstractmethod
    def bad(self) -> dict[str, int]:
        """How many records could not be read, by reason."""

    @abstractmethod
    def inputs(self) -> list[dict[str, Any]]:
        """The files with their digests."""

    def own_remarks(self) -> list[str]:
        """What a reader should know of this kind of input."""
        return []

    def check_repeat(self, data: Any) -> None:  # noqa: B027 - only tables can be looked at beforehand
        """Refuse an input without the column that tells samples apart."""

    def batches(self, done: int = 0) -> Iterator[Batch]:
        """The measurements from batch number `done` on."""
        count = 0
        for count, batch in enumerate(self.rows(), start=1):
            if count > done:
                yield batch
        if count == 0:
            places = self._places()
            raise InputError(
                path=places[0] if len(places) == 1 else None,
                expected="at least one record",
                got="none" if not self.bad() else "only bad ones",
                hint="The input holds nothing to measure.",
                reason=Reason.EMPTY,
            )

    def remarks(self) -> list[str]:
        """What a reader should know of these data, once all of them were read."""
        remarks = self.own_remarks()
        if bad := self.bad():
            remarks.append("bad records: " + ", ".join(f"{n:,} {why}" for why, n in bad.items()))
        return list(dict.fromkeys(remarks))

    def range_remarks(self) -> list[str]:
        """What the confidences seen so far give cause to say."""
        if self._range is not None and self._range[0] == self._range[1]:
            return [f"all confidences are equal ({self._range[0]:g}): every binned figure has one bin"]
        if self._range is not None and self._only_marks:
            return ["all confidences are 0 or 1: are confidence and correct the right way round?"]
        return []

    def note_range(self, confidences: pl.Series) -> None:
        known = confidences.drop_nulls()
        if not len(known):
            return
        low, high = float(known.min()), float(known.max())  # type: ignore[arg-type]
        self._range = (low, high) if self._range is None else (min(low, self._range[0]), max(high, self._range[1]))
        self._only_marks = self._only_marks and bool(known.is_in([0.0, 1.0]).all())

    def theirs(self, name: str) -> str:
        """What the input calls a field of ours."""
        return self.asked.columns.get(name, name)

    def _places(self) -> list[str]:
        return [] if isinstance(self.data, io.IOBase) else [source.name for source in file_sources(self.data)]


def _recognised(data: Any, wanted: InputFormat) -> tuple[Any, str]:
    """The input and its format; standard input is looked at without being used up."""
    if isinstance(data, Gathered):
        return data, data.format if data.format in ("logprobs", "replies") else "memory"
    if not names_files(data):
        return data, "memory"
    if isinstance(data, (str, os.PathLike)) and str(data) == "-":
        data = io.BufferedReader(sys.stdin.buffer, buffer_size=_PEEK)
    if isinstance(data, io.BufferedIOBase):
        stream = data if isinstance(data, io.BufferedReader) else io.BufferedReader(data, _PEEK)
        head = stream.peek(_PEEK)
        start = unpacked_start(head, _PEEK)
        kind = wanted if wanted != "auto" else str(detect_format(start))
        return stream, _logits_kind(kind)
    if wanted != "auto":
        return data, wanted
    kinds: dict[str, str] = {}
    for source in sources(data):
        if source.path is not None and source.head(4) == b"PAR1":
            kinds.setdefault("parquet", source.name)
            continue
        if source.path is not None and is_arrow(source.head(8)):
            kinds.setdefault("arrow", source.name)
            continue
        first = next(iter(source.blocks(_PEEK, digest=False)), None)
        start = bytes(first.data) if first else b""
        kinds.setdefault(str(detect_format(start)), source.name)
    named = {k: v for k, v in kinds.items() if k != "empty"}
    families = {"logits" if k.startswith("logits") else "table" for k in named}
    if len(families) > 1:
        told = ", ".join(f"{name} holds {kind}" for kind, name in named.items())
        raise InputError(
            expected="files of one kind", got=told, hint="Read tokens and tables in separate runs.", reason=Reason.MIXED
        )
    if not named:
        name = next(iter(kinds.values()), "the input")
        raise InputError(path=name, expected="at least one record", got="an empty file", reason=Reason.EMPTY)
    if families == {"logits"}:
        return data, "logits-hf" if "logits-hf" in named else "logits-miso"
    return data, next(iter(named)) if len(named) == 1 else "auto"


def _logits_kind(kind: str) -> str:
    if kind == "empty":
        raise InputError(path="-", expected="at least one record", got="an empty input", reason=Reason.EMPTY)
    return kind
