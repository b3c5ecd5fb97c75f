"""`.logits` files: tokens, or sequences of them, with their confidences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from sensecheck.calibrated.logits import LogitsReader, TokenColumns
from sensecheck.calibrated.measure import sequences, tokens
from sensecheck.calibrated.reading import Reading
from sensecheck.calibrated.records import Records
from sensecheck.calibrated.token_kinds import KIND, RANGE, position_range
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import check_columns, check_names
from sensecheck.report.asking import Asked
from sensecheck.runs.collecting import Batch

# Fields of a `.logits` line that hold the words behind the numbers of its tokens: gold, then predicted.
_TOKEN_TEXTS = ("tokens", "predicted")


class TokenRecords(Records):
    """Lines of a `.logits` file, one a sequence."""

    def __init__(self, data: Any, kind: str, asked: Asked, reading: Reading) -> None:
        super().__init__(data, kind, asked, reading)
        self.level = reading.level
        self._logits: LogitsReader | None = None
        self._worded: dict[str, bool] = {}

    def rows(self) -> Iterator[Batch]:
        asked, reading = self.asked, self.reading
        if asked.weight is not None:
            raise InputError("tokens of a .logits file have no weights", field="weight", reason=Reason.BAD_OPTION)
        names = ["id", *_TOKEN_TEXTS, *asked.wanted]
        check_names(asked.columns, names)
        variants: dict[str, Literal["hf", "miso"]] = {"logits": "hf", "miso": "miso"}
        self._logits = LogitsReader(
            self.data, variant=variants.get(self.kind, "auto"), scale=reading.scale, top_k=reading.top_k,
            ignore_tokens=reading.ignore_tokens, ignore_by=reading.ignore_by, skip_bad=asked.skip_bad,
            limit=asked.limit, fields=[*dict.fromkeys(self.theirs(name) for name in names)], with_input_str=True,
        )  # fmt: skip
        first = True
        for columns in self._logits:
            if first:
                present = [name for name, values in columns.fields.items() if any(v is not None for v in values)]
                check_columns(asked.columns, present, columns.path)
                first = False
            yield self._batch(columns)
        if self.bad():
            yield Batch(self._bad_rows())

    def _batch(self, columns: TokenColumns) -> Batch:
        texts = self._token_columns(columns)
        names = self._names(columns)
        if self.level == "token":
            rows = tokens(columns, names)
            of_row = np.repeat(np.arange(len(columns.lines)), columns.lengths)
            rows = self._with_kinds(rows, texts[0])
        else:
            rows = sequences(columns, self.reading.aggregate, names)
            scored = columns.lengths > 0
            of_row = np.concatenate([np.flatnonzero(scored), np.flatnonzero(~scored)])
        rows = self._with_fields(rows, columns, of_row)
        self.note_range(rows["confidence"])
        inputs = [] if columns.input_str is None else [pl.Series("input", columns.input_str, dtype=pl.String)]
        return Batch(rows, pl.DataFrame([names.alias("id"), *inputs, *texts]))

    def _names(self, columns: TokenColumns) -> pl.Series:
        """What each sequence is called: its own id, or the number of its record."""
        numbers = pl.Series(columns.numbers).cast(pl.String)
        ids = columns.fields.get(self.theirs("id"))
        if not ids or all(name is None for name in ids):
            return numbers
        own = pl.Series([None if name is None else str(name) for name in ids], dtype=pl.String)
        return own.fill_null(numbers)

    def _with_kinds(self, rows: pl.DataFrame, gold: pl.Series) -> pl.DataFrame:
        """With what slices by token ask for: the range that the position falls in, and the gold token's kind."""
        if RANGE in self.asked.sliced:
            rows = rows.with_columns(position_range())
        kinds = self.reading.kinds
        if kinds is not None and KIND in self.asked.sliced:
            words = gold.filter(gold.list.len() > 0).explode().cast(pl.String)
            rows = rows.with_columns(pl.Series(KIND, [kinds(word) for word in words], dtype=pl.String))
        return rows

    def _with_fields(self, rows: pl.DataFrame, columns: TokenColumns, of_row: Any) -> pl.DataFrame:
        """With the fields of each row's sequence: slices and cluster."""
        extra = []
        for name in self.asked.carried:
            if name in rows.columns:
                continue
            values = columns.fields.get(self.theirs(name))
            if values is None or all(value is None for value in values):
                raise InputError(
                    path=columns.path, field=name, expected="a field of this name in the lines, to slice by",
                    got="none", reason=Reason.NO_COLUMN,
                )  # fmt: skip
            extra.append(_texts(name, values).gather(of_row))
        if self.asked.cluster:
            owners = columns.fields.get(self.theirs(self.asked.cluster))
            if owners is None or any(owner is None for owner in owners):
                raise InputError(
                    path=columns.path, field=self.asked.cluster, expected="this field in every line, to cluster by",
                    got="lines without it", reason=Reason.NO_COLUMN,
                )  # fmt: skip
            if self.level == "token":
                extra.append(rows["cluster"].alias("unit"))
            extra.append(_texts("cluster", owners).gather(of_row))
        return rows.with_columns(extra)

    def _token_columns(self, columns: TokenColumns) -> list[pl.Series]:
        """For the report: each sequence's tokens as words where its line has them, otherwise as numbers."""
        ends = np.cumsum(columns.lengths)
        starts = ends - columns.lengths
        lists = []
        for name, field_name, numbers in (
            ("gold", "tokens", columns.label),
            ("predicted", "predicted", columns.predicted),
        ):
            words = columns.fields.get(self.theirs(field_name))
            if name not in self._worded:
                # Decided by the first batch: a column has one type in all shards.
                self._worded[name] = numbers.dtype == object or (words is not None and any(words))
            if not self._worded[name]:
                lists.append(_lists(name, pl.Series(numbers), columns.lengths))
                continue
            spelled: list[str] = []
            for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
                line = words[i] if words is not None else None
                at = columns.position[start:end].tolist()
                if isinstance(line, list) and (not at or at[-1] < len(line)):
                    spelled += [str(line[k]) for k in at]
                else:
                    spelled += [str(t) for t in numbers[start:end].tolist()]
            lists.append(_lists(name, pl.Series(spelled, dtype=pl.String), columns.lengths))
        if self.level == "sequence":
            confidence = pl.Series(columns.confidence).cast(pl.Float32)
            lists.append(_lists("each_confidence", confidence, columns.lengths))
            lists.append(_lists("each_correct", pl.Series(columns.correct), columns.lengths))
        return lists

    def _bad_rows(self) -> pl.DataFrame:
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
        texts = dict.fromkeys(c for c in self.asked.carried if c not in ("position", "length"))
        empty: dict[str, pl.Expr] = {
            **({"position": pl.lit(None, dtype=pl.Int32)} if self.level == "token" else {}),
            **({"length": pl.lit(None, dtype=pl.Int64)} if self.level != "token" else {}),
            "confidence": pl.lit(None, dtype=pl.Float64),
            "correct": pl.lit(None, dtype=pl.Boolean),
            **{column: pl.lit(None, dtype=pl.String) for column in texts},
        }
        own = [pl.col("id")]
        if self.level == "token":
            own.append(pl.col("id").alias("cluster"))
        rows = pl.DataFrame({"id": ids, "scored": [False] * len(ids), "reason": reasons})
        rows = rows.select(*own, "scored", "reason", *(value.alias(name) for name, value in empty.items()))
        if self.asked.cluster:
            rows = rows.with_columns(cluster=pl.col("id"))
            if self.level == "token":
                rows = rows.with_columns(unit=pl.col("id"))
        return rows

    # -- what was read ---------------------------------------------------------------------------------------

    def own_remarks(self) -> list[str]:
        remarks = self.range_remarks()
        files = self._logits.files if self._logits is not None else []
        for report in files:
            if report.scale is not None and report.scale.caveat:
                remarks.append(f"{Path(report.path).name}: {report.scale.caveat}")
        padding, ignored = sum(r.padding for r in files), sum(r.ignored for r in files)
        if padding:
            remarks.append(f"{padding:,} padding tokens (label -100) were left out")
        if ignored:
            remarks.append(f"{ignored:,} ignored tokens were left out")
        return remarks

    def bad(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for report in self._logits.files if self._logits is not None else []:
            for reason, count in report.bad.items():
                counts[reason] = counts.get(reason, 0) + count
        return counts

    def scale(self) -> str:
        scales = []
        for report in self._logits.files if self._logits is not None else []:
            if report.scale is not None:
                norm = report.scale.normaliser
                scales.append(report.scale.scale + (f"({norm})" if norm != "none" else ""))
        return "+".join(dict.fromkeys(scales)) or "probabilities"

    def inputs(self) -> list[dict[str, Any]]:
        return [
            {"path": r.path or "(memory)", "sha256": r.sha256, "bytes": r.raw_bytes, "format": self.kind}
            for r in (self._logits.files if self._logits is not None else [])
        ]


def _texts(name: str, values: list[Any]) -> pl.Series:
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _lists(name: str, flat: pl.Series, lengths: Any) -> pl.Series:
    """Values that follow one another, as one list for each of the lengths."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    grouped = pl.DataFrame({"_of": owner, name: flat}).group_by("_of", maintain_order=True).agg(name)
    if len(grouped) == len(lengths):
        return grouped[name]
    everyone = pl.DataFrame({"_of": np.arange(len(lengths))})
    return everyone.join(grouped, on="_of", how="left", maintain_order="left")[name]
