"""What people judge of a run of `robust`: how each statement stands to its premise, and whether it is grammatical."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from sensecheck.labelling.judging import UNCLEAR, Choice, Judging
from sensecheck.report.result import Result
from sensecheck.robust.audit import judged_statements
from sensecheck.robust.measure import LABELS, expected


def _items(result: Result) -> pl.DataFrame:
    """A row each judged statement; its verdict is true where the model's label is the one that logic expects."""
    own = [name for name, kind in result.rows.schema.items() if kind == pl.String and name not in _TAKEN]
    rows = []
    for row in judged_statements(result):
        wanted = LABELS[expected(LABELS.index(row["label"]), row["polarity"]) or 0]
        rows.append(
            {
                "id": f"{row['row']}#{row['slot']}", "example_id": row["row"], "premise": row["premise"],
                "statement": row["statement"], "verdict": row["model_says"] == wanted, "expected": wanted,
                "positive": [row["model_says"]],
                # Whoever reads that a statement was made to be "negative" takes it for one.
                "shown": f"{row['row'].removesuffix('/' + row['polarity'])}#{row['slot']}",
            }
        )  # fmt: skip
    texts = ("id", "example_id", "premise", "statement", "expected", "shown")
    schema: dict[str, Any] = {**dict.fromkeys(texts, pl.String), "verdict": pl.Boolean, "positive": pl.List(pl.String)}
    columns = result.measurements.select("id", *own)
    return pl.DataFrame(rows, schema=schema).join(
        columns, left_on="example_id", right_on="id", how="left", maintain_order="left"
    )


_TAKEN = ("id", "reason", "premise", "statement", "verdict", "expected", "positive", "example", "example_id", "shown")


def _page(frame: pl.DataFrame) -> Sequence[dict[str, Any]]:
    return [
        {"parts": [{"label": name, "spans": [[row[name], ""]]} for name in ("premise", "statement")]}
        for row in frame.iter_rows(named=True)
    ]


JUDGING = Judging(
    "If the premise is true, is the statement true (entailment), false (contradiction), or neither (neutral)?",
    ("premise", "statement"),
    _page,
    (*(Choice(label, str(key)) for key, label in enumerate(LABELS, 1)), Choice(UNCLEAR, "u")),
    _items,
    "not grammatical",
)
