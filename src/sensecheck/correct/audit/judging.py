"""What people judge of an audit: the golds that it doubts, so that its findings have a precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sensecheck.correct.audit.sheet import sheet_of
from sensecheck.labelling.judging import Judging
from sensecheck.report.result import Result

_SHOWN = ("question", "gold", "gold_answer", "evidence")


def _items(result: Result) -> pl.DataFrame:
    """A row each doubted gold, by its database and text, as the sheet has it. The verdict is that it is wrong."""
    frame = sheet_of(result).unique(["database", "gold"], keep="first", maintain_order=True)
    names = pl.format("{}: {}", pl.col("database").fill_null(""), "gold")
    return frame.select("database", "kinds", *_SHOWN, id=names, example_id=names, verdict=pl.lit(False))


def _page(frame: pl.DataFrame) -> Sequence[dict[str, Any]]:
    return [
        {"parts": [{"label": name, "spans": [[row[name], ""]]} for name in _SHOWN if row[name]]}
        for row in frame.iter_rows(named=True)
    ]


GOLDS = Judging("Is the gold query right?", ("question", "gold", "gold_answer"), _page, items=_items)
