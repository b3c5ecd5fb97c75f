"""Labels as one table, whoever wrote them: our own sheets, and the exports of annotation tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.half_characters import whole_value
from sensecheck.inputs.label_sheets import chosen_format, label_rows
from sensecheck.inputs.reasons import Reason

COLUMNS = {
    "id": pl.String, "who": pl.String, "label": pl.String, "right": pl.Boolean, "grammatical": pl.String,
    "note": pl.String, "question": pl.String, "example": pl.String, "run": pl.String, "stratum": pl.String,
    "probability": pl.Float64, "size": pl.Int64, "of": pl.Int64, "path": pl.String, "line": pl.Int64,
}  # fmt: skip
"""One row a label. Of other tools' labels, what only ours say is null; `line` is a line or a record."""


def read(data: Any, format: str = "auto", annotators: Sequence[str] | None = None) -> pl.DataFrame:
    """Every label that was given, in the order of the files; examples that nobody labelled are left out.

    format, annotators: as `inputs.label_sheets.read_labels` takes them.
    """
    rows: list[Any] = []
    seen = 0
    for place, row in label_rows(data, chosen_format(format, annotators), annotators):
        if isinstance(row, InputError):
            raise row
        seen += 1
        if row["skipped"] and row.get("grammatical") != "no":
            continue
        told = {name: row.get(name) for name in COLUMNS}
        told |= {"who": row["annotator"], "path": place.get("path", ""), "line": place.get("line", place.get("record"))}
        rows.append(whole_value(told))
    if not rows:
        got = f"{seen:,} examples without one" if seen else "none"
        raise InputError(
            "there is no label to read", got=None, hint=f"The files hold {got}: label some, and export them.",
            reason=Reason.EMPTY,
        )  # fmt: skip
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def place_of(row: dict[str, Any]) -> str:
    """Where a label stands, for a message."""
    return f"{row['path']}:{row['line']}" if row["path"] else f"record {row['line']}"
