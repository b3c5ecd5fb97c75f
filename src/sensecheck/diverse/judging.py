"""What people judge of a run of `diverse`: which of the references' meanings each response has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from sensecheck.labelling.judging import NONE, UNCLEAR, Judging
from sensecheck.report.result import Result
from sensecheck.statistics.measurements import concatenated

_LISTS = {"meanings": pl.List(pl.String), "positive": pl.List(pl.String), "choices": pl.List(pl.String)}
_TEXTS = ("id", "example_id", "query", "response")
_TAKEN = (*_TEXTS, *_LISTS, "reason", "verdict", "example")


def _items(result: Result) -> pl.DataFrame:
    """A row each response to a query with groups of references; its verdict is true where it reached one of them.

    Who names the same group says what the verdict says; where it says that none was reached, who names any group says
    the opposite.
    """
    assert result.texts is not None
    own = [name for name, kind in result.rows.schema.items() if kind == pl.String and name not in _TAKEN]
    rows = [part for row in concatenated(result.texts).iter_rows(named=True) for part in _responses(row)]
    schema: dict[str, Any] = {**dict.fromkeys(_TEXTS, pl.String), "verdict": pl.Boolean, **_LISTS}
    columns = result.measurements.filter(pl.col("scored")).select(pl.col("id").cast(pl.String), *own)
    return pl.DataFrame(rows, schema=schema).join(
        columns, left_on="example_id", right_on="id", how="inner", maintain_order="left"
    )


def _responses(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = [str(name) for name in row.get("group_name") or []]
    if not names:
        return []
    by_group: dict[int, list[str]] = {}
    for number, text in zip(row["reference_group"], row["reference"], strict=True):
        by_group.setdefault(number, []).append(text)
    meanings = [" / ".join(by_group.get(number, [])) for number in range(len(names))]
    told = zip(row["hypothesis"], row["fell_in"], row["counts"], strict=True)
    return [
        {
            "id": f"{row['id']}#{place}", "example_id": str(row["id"]), "query": row.get("query"), "response": text,
            "verdict": bool(reached), "meanings": meanings, "choices": [*names, NONE, UNCLEAR],
            "positive": [names[group]] if reached else names,
        }
        for place, (text, group, reached) in enumerate(told)
    ]  # fmt: skip


def _page(frame: pl.DataFrame) -> Sequence[dict[str, Any]]:
    pages = []
    for row in frame.iter_rows(named=True):
        groups = [name for name in row["choices"] if name not in (NONE, UNCLEAR)]
        parts: list[dict[str, Any]] = []
        if row["query"]:
            parts.append({"label": "query", "spans": [[row["query"], ""]], "code": False})
        parts.append({"label": "response", "spans": [[row["response"] or "(empty)", ""]]})
        rows = [list(pair) for pair in zip(groups, row["meanings"], strict=True)]
        parts.append({"label": "meanings", "head": ["meaning", "references"], "rows": rows})
        pages.append({"parts": parts})
    return pages


JUDGING = Judging(
    "Which of these meanings does the response have?", ("query", "response", "meanings"), _page, items=_items
)
