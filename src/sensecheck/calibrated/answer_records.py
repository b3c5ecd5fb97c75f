"""Answers with log-probabilities, as servers write them: one row an answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl

from sensecheck.calibrated.answers import Answer, answers_of, parsed
from sensecheck.calibrated.measure import combined
from sensecheck.calibrated.reading import Reading
from sensecheck.calibrated.records import Records
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.opening import Source, sources
from sensecheck.inputs.reasons import UNMATCHED, Reason
from sensecheck.inputs.tables import check_columns, check_names
from sensecheck.report.asking import Asked
from sensecheck.runs.collecting import Batch

_BLOCK = 1 << 20


class AnswerRecords(Records):
    """Objects that hold answers with the log-probabilities of their tokens."""

    level = "answer"

    def __init__(self, data: Any, kind: str, asked: Asked, reading: Reading) -> None:
        super().__init__(data, kind, asked, reading)
        self._sources: list[Source] = []
        self._bad: dict[str, int] = {}
        self._unjudged = 0

    def rows(self) -> Iterator[Batch]:
        asked = self.asked
        if asked.weight is not None:
            raise InputError("answers with log-probabilities have no weights", field="weight", reason=Reason.BAD_OPTION)
        check_names(asked.columns, ["id", "correct", "gold", *asked.wanted])
        left = asked.limit
        record = 0
        for path, items in self._files():
            answers: list[Answer] = []
            for number, item, error in items:
                if left is not None and left <= 0:
                    break
                record += 1
                try:
                    if error is not None:
                        raise error
                    answers += answers_of(item, number, path, asked.columns, str(record))
                except InputError as bad:
                    if not asked.skip_bad and bad.reason not in UNMATCHED:
                        raise
                    self._bad[bad.reason] = self._bad.get(bad.reason, 0) + 1
                    answers.append(Answer(f"{record} (bad)", str(record), "", [], None, None, {}, bad.reason))
                left = None if left is None else left - 1
            if answers:
                check_columns(asked.columns, dict.fromkeys(name for a in answers for name in a.fields), path)
                yield self._batch(answers)

    def _files(self) -> Iterator[tuple[str, Iterable[tuple[int, Any, InputError | None]]]]:
        """The objects of every file, with their places; those without a partner among golds come as their error."""
        if isinstance(self.data, Gathered):
            given = self.data
            objects = [(given.place_of(row), item, None) for row, item in enumerate(given.dictionaries())]
            lost = [(one.line or 0, None, InputError(reason=Reason(one.reason))) for one in given.bad]
            yield given.path, [*objects, *lost]
            return
        self._sources = list(sources(self.data))
        for source in self._sources:
            text = b"".join(bytes(block.data) for block in source.blocks(_BLOCK))
            yield source.name, parsed(text, source.name, self.asked.skip_bad)

    def _batch(self, answers: list[Answer]) -> Batch:
        lengths = np.asarray([len(a.logprobs) for a in answers], dtype=np.int64)
        known = lengths > 0
        confidence = np.full(len(answers), np.nan)
        flat = np.exp(np.asarray([v for a in answers for v in a.logprobs]))
        starts = np.concatenate([[0], np.cumsum(lengths[known])[:-1]]).astype(np.intp)
        if known.any():
            confidence[known] = combined(flat, starts, lengths[known], self.reading.aggregate)
        frame = pl.DataFrame(
            {
                "id": [a.id for a in answers],
                "scored": known,
                "reason": pl.Series([a.reason or None for a in answers], dtype=pl.String),
                "length": lengths,
                "confidence": pl.Series(confidence).fill_nan(None),
                "correct": pl.Series([a.correct for a in answers], dtype=pl.Boolean),
            }
        )
        if len({a.group for a in answers}) < len(answers):
            frame = frame.with_columns(pl.Series("cluster", [a.group for a in answers]))
        for name in self.asked.wanted:
            if name in frame.columns:
                continue
            values = [a.fields.get(self.theirs(name)) for a in answers]
            if all(v is None for v in values):
                raise InputError(
                    field=name, expected="a field of this name beside the log-probabilities", got="none",
                    reason=Reason.NO_COLUMN,
                )  # fmt: skip
            column = "cluster" if name == self.asked.cluster else name
            frame = frame.with_columns(
                pl.Series(column, [None if v is None else str(v) for v in values], dtype=pl.String)
            )
        self._unjudged += sum(1 for a in answers if a.correct is None and not a.reason)
        self.note_range(frame["confidence"])
        texts = pl.DataFrame(
            {
                "id": frame["id"],
                "answer": [a.text for a in answers],
                "gold": pl.Series([a.gold for a in answers], dtype=pl.String),
            }
        )
        return Batch(frame, texts)

    # -- what was read ---------------------------------------------------------------------------------------

    def own_remarks(self) -> list[str]:
        remarks = []
        if self._unjudged:
            remarks.append(
                f"{self._unjudged:,} answer{'s have' if self._unjudged > 1 else ' has'} neither a gold text nor "
                "`correct`: only confidence is known"
            )
        return [*remarks, *self.range_remarks()]

    def bad(self) -> dict[str, int]:
        return dict(self._bad)

    def scale(self) -> str:
        return "logprobs"

    def inputs(self) -> list[dict[str, Any]]:
        if isinstance(self.data, Gathered):
            return self.data.inputs
        return [{"path": s.name, "sha256": s.sha256, "bytes": s.raw_bytes, "format": self.kind} for s in self._sources]
