"""Answers of servers, engines and hosts: one row an answer, its confidence put together from its tokens' probabilities.

An answer is right where its record says so (`correct`), or where its text equals the gold one, or one of several, but
for white space at the ends. One without log-probabilities has no part in figures of confidence, and has in accuracy;
where none has any and answers end by saying how sure they are, that is taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sensecheck.calibrated.measure import Aggregate, combined
from sensecheck.calibrated.reading import Reading
from sensecheck.calibrated.table_records import CORRECT_NAMES, UNSCORED, TableRecords
from sensecheck.calibrated.verbalised import spoken
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.formats.replies import (
    GIVES_NONE,
    MEAN_LOGPROB,
    PREDICTION,
    SAMPLE,
    STOP_LOGPROBS,
    TOKEN_LOGPROBS,
    TOKENS,
    UNALIGNED,
)
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import MARKS, check_columns, check_names
from sensecheck.report.asking import Asked
from sensecheck.runs.collecting import Batch

GOLD_NAMES = (
    "gold", "gold_answer", "target", "reference", "answer", "expected", "ground_truth", "ideal", "expected_output",
)  # fmt: skip
_HELD = {TOKEN_LOGPROBS, STOP_LOGPROBS, MEAN_LOGPROB, TOKENS, GIVES_NONE, UNALIGNED}
NO_LOGPROBS = "no log-probabilities"
ONLY_A_MEAN = "only a mean log-probability is known, and not of how many tokens"
_LONGEST_STATEMENT = 200
_STATED = re.compile(
    r"(?:\n|[(\[])[\s*_]*(?:my\s+)?(?:confidence|probability|certainty)[ \t]*(?:level|score)?[ \t*_]*[:=][ \t*_]*"
    r"([^\n]+?)[*_.)\]\s]*\Z",
    re.IGNORECASE,
)


def are_answers(data: Any) -> bool:
    """Whether gathered records hold answers with the log-probabilities of their tokens, or of a server without any."""
    if not isinstance(data, Gathered):
        return False
    if isinstance(data.rows, pl.DataFrame):
        return data.may_lack and TOKEN_LOGPROBS in data.rows.columns
    return data.format in ("replies", "logprobs") or any(name in row for row in data.rows for name in _HELD)


class AnswerRecords(TableRecords):
    """Answers with the log-probabilities of their tokens."""

    level = "answer"

    def __init__(self, data: Gathered, kind: str, asked: Asked, reading: Reading) -> None:
        self._said: list[str] = []
        self._stated = False
        self._unjudged = 0
        self._textless = False
        if asked.weight is not None:
            raise InputError("answers with log-probabilities have no weights", field="weight", reason=Reason.BAD_OPTION)
        columns = dict(asked.columns)
        check_names(columns, ["id", "correct", "gold", *asked.wanted])
        check_columns(columns, data.names, data.path)
        table = self._table_of(data, columns, reading)
        # What the user calls the two is in the table by our names.
        rest = {ours: theirs for ours, theirs in columns.items() if ours not in ("correct", "gold", "confidence")}
        super().__init__(table, kind, replace(asked, columns=rest), reading)

    def _table_of(self, data: Gathered, columns: Mapping[str, str], reading: Reading) -> Gathered:
        rows = data.dictionaries()
        confidence, reasons = self._confidences(rows, reading)
        texts = [str(row.get(PREDICTION) or "") for row in rows]
        self._textless = not any(PREDICTION in row for row in rows)
        if not any(value is not None for value in confidence) and not any(row.get(MEAN_LOGPROB) for row in rows):
            confidence, reasons, texts = self._stated_confidences(rows, texts)
        else:
            texts = self._without_statements(texts)
        correct = [
            self._is_right(row, text, columns, data, at) for at, (row, text) in enumerate(zip(rows, texts, strict=True))
        ]
        # What is known of an answer is measured: only where nothing is, it is unscored, and for what reason.
        lacking = Counter(why for why in reasons if why)
        self._said += [f"{n:,} answer{'s' if n > 1 else ''} without a confidence: {why}" for why, n in lacking.items()]
        reasons = [None if mark is not None else why for mark, why in zip(correct, reasons, strict=True)]
        known = zip(correct, confidence, strict=True)
        self._unjudged = sum(1 for mark, value in known if mark is None and value is not None)
        gone = {*_HELD, PREDICTION, "correct", "confidence", columns.get("correct", ""), "length"}
        names = [name for name in data.names if name not in gone]
        fields = {name: [_single(row.get(name)) for row in rows] for name in names}
        frame = pl.DataFrame(
            {
                **{name: _series(name, values) for name, values in fields.items()},
                "answer": pl.Series(texts, dtype=pl.String),
                "length": pl.Series([len(_steps(row, reading)) for row in rows], dtype=pl.Int64),
                "confidence": pl.Series(confidence, dtype=pl.Float64),
                "correct": _marks(correct),
                UNSCORED: pl.Series(reasons, dtype=pl.String),
            }
        )
        return replace(data, rows=frame)

    def _confidences(self, rows: Any, reading: Reading) -> tuple[list[float | None], list[str | None]]:
        confidence: list[float | None] = [None] * len(rows)
        reasons: list[str | None] = [None] * len(rows)
        steps = [_steps(row, reading) for row in rows]
        if sum(map(len, steps)) > 1 and not any(value for values in steps for value in values):
            self._said.append("every log-probability is 0.0, which stands for none: it is no confidence of 1")
            steps = [[] for _ in rows]
        known = [at for at, values in enumerate(steps) if values]
        lengths = np.asarray([len(steps[at]) for at in known], dtype=np.int64)
        if known:
            flat = np.exp(np.asarray([value for at in known for value in steps[at]]))
            starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
            for at, value in zip(known, combined(flat, starts, lengths, reading.aggregate), strict=True):
                confidence[at] = float(value)
        for at, row in enumerate(rows):
            if confidence[at] is not None:
                continue
            confidence[at], why = _of_mean(row, reading.aggregate)
            reasons[at] = None if confidence[at] is not None else why
        loose = sum(1 for row in rows if row.get(UNALIGNED))
        if loose:
            self._said.append(
                f"{loose:,} answer{'s have' if loose > 1 else ' has'} tokens that do not spell the text: all of them "
                "count, the one that ended it too"
            )
        if any(row.get(MEAN_LOGPROB) is not None for row in rows):
            self._said.append(
                "where only a sum or mean of log-probabilities is known, the token that ended the text is in it"
            )
        if reading.with_stop and not any(row.get(STOP_LOGPROBS) or row.get(UNALIGNED) for row in rows):
            self._said.append(
                "no token that ended an answer is among those that were told: --with-stop changes nothing"
            )
        if not loose and not reading.with_stop and any(row.get(STOP_LOGPROBS) for row in rows):
            self._said.append("tokens that end an answer and are no part of its text do not count (--with-stop)")
        return confidence, reasons

    def _stated_confidences(
        self, rows: Any, texts: list[str]
    ) -> tuple[list[float | None], list[str | None], list[str]]:
        """Where no answer has log-probabilities: how sure answers say they are, if most end by saying it."""
        silent = next((str(row[GIVES_NONE]) for row in rows if row.get(GIVES_NONE)), "")
        told = f"{silent} gives no log-probabilities" if silent else "there are no log-probabilities"
        bare, heard = _statements(texts)
        if not rows or 2 * sum(1 for one in heard if one) < len(rows):
            self._said += [f"{told}: no confidence is known"] if rows else []
            return [None] * len(rows), [None] * len(rows), texts
        self._stated = True
        self._said.append(
            f"{told}: confidences are what the answers say at their end (Confidence: …), which is no part of the answer"
        )
        return (
            [one[0] if one else None for one in heard],
            [None if one else "no confidence stated" for one in heard],
            bare,
        )

    def _without_statements(self, texts: list[str]) -> list[str]:
        """Answers that have log-probabilities and end by saying how sure they are: what they say is not judged."""
        bare, heard = _statements(texts)
        if not texts or 2 * sum(1 for one in heard if one) < len(texts):
            return texts
        self._said.append("what the answers say of their confidence at their end (Confidence: …) is not judged")
        return bare

    def _is_right(
        self, row: Mapping[str, Any], text: str, columns: Mapping[str, str], data: Gathered, at: int
    ) -> bool | float | None:
        name = columns.get("correct") or next((n for n in CORRECT_NAMES[:2] if row.get(n) is not None), "correct")
        value = row.get(name)
        if value is not None:
            if isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value <= 1:
                return float(value)
            if (mark := str(value).strip().lower()) in MARKS:
                return MARKS[mark]
            raise data.error(
                at, field=name, expected="right or wrong (true/false, 1/0, Correct/Wrong, yes/no)", got=shown(value),
                reason=Reason.NOT_A_MARK,
            )  # fmt: skip
        names = (columns["gold"],) if "gold" in columns else GOLD_NAMES
        gold = next((row[n] for n in names if isinstance(row.get(n), str | int | float | list)), None)
        if gold is None or PREDICTION not in row:  # arrays hold the numbers of tokens, and no text
            return None
        return any(_is_same(text, one) for one in (gold if isinstance(gold, list) else [gold]))

    def rows(self) -> Iterator[Batch]:
        for batch in super().rows():
            frame = batch.measurements
            if self.asked.cluster is None and "cluster" not in frame.columns and SAMPLE in frame.columns:
                frame = frame.with_columns(cluster=pl.col("id"))
            yield replace(batch, measurements=frame)

    def own_remarks(self) -> list[str]:
        remarks = list(self._said)
        if self._unjudged and self._textless:
            remarks.append(
                "the texts of the answers are not known, only the numbers of their tokens: what is right must come as "
                "`correct` (--gold FILE)"
            )
        elif self._unjudged:
            remarks.append(
                f"{self._unjudged:,} answer{'s have' if self._unjudged > 1 else ' has'} neither a gold text nor "
                "`correct`: only confidence is known"
            )
        return [*remarks, *self.range_remarks()]

    def scale(self) -> str:
        return "verbalised" if self._stated else "logprobs"


def _statements(texts: list[str]) -> tuple[list[str], list[tuple[float, str] | None]]:
    """Texts without what they say at their end of how sure they are, and what that is."""
    bare, heard = [], []
    for text in texts:
        tail = max(0, len(text) - _LONGEST_STATEMENT)  # a search through a long text of white space would be quadratic
        found = _STATED.search(text, tail)
        bare.append(text if found is None else text[: found.start()].rstrip())
        heard.append(None if found is None else spoken(found[1].strip().rstrip(".")))
    return bare, heard


def _is_same(text: str, gold: Any) -> bool:
    """The gold's text but for white space at the ends; a gold that is a number is that number."""
    if text.strip() == str(gold).strip():
        return True
    if isinstance(gold, bool) or not isinstance(gold, int | float):
        return False
    try:
        return float(text) == gold
    except (ValueError, OverflowError):
        return False


def _steps(row: Mapping[str, Any], reading: Reading) -> list[float]:
    own = row.get(TOKEN_LOGPROBS) or []
    ended = row.get(STOP_LOGPROBS) or []
    # An answer of nothing is the token that ended it.
    return [*own, *ended] if reading.with_stop or not own else list(own)


def _of_mean(row: Mapping[str, Any], how: Aggregate) -> tuple[float | None, str]:
    mean, tokens = row.get(MEAN_LOGPROB), row.get(TOKENS)
    if mean is None:
        return None, NO_LOGPROBS
    if how == "mean-logprob":
        return float(np.exp(mean)), ""
    if how == "product" and tokens is not None:
        return float(np.exp(mean * tokens)), ""
    return None, f"{ONLY_A_MEAN}: --aggregate mean-logprob" if how == "product" else NO_LOGPROBS


def _single(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else None if value is None else str(value)


def _series(name: str, values: list[Any]) -> pl.Series:
    """A column of one kind; numbers too large for one are texts."""
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _marks(correct: list[bool | float | None]) -> pl.Series:
    if any(isinstance(mark, float) and mark not in (0.0, 1.0) for mark in correct):
        return pl.Series([None if mark is None else float(mark) for mark in correct], dtype=pl.Float64)
    return pl.Series([None if mark is None else bool(mark) for mark in correct], dtype=pl.Boolean)
