"""The sheet of doubted golds: ranked, shown, and written for people who label it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from sensecheck.correct.audit.auditing import Audited
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.formulas import marked_csv
from sensecheck.inputs.reasons import Reason
from sensecheck.report.result import Result
from sensecheck.report.tables import Table
from sensecheck.runs.writing import write_named

TOP = 20
"""Golds that the terminal and the page show."""
KEPT = 10_000
"""Golds that a run keeps: the most doubtful."""
COLUMNS = {
    "rank": pl.Int64, "score": pl.Float64, "kinds": pl.String, "evidence": pl.String, "database": pl.String,
    "question": pl.String, "gold": pl.String, "gold_answer": pl.String, "ids": pl.String, "rows": pl.Int64,
    "label": pl.String, "remark": pl.String,
}  # fmt: skip
"""The columns of a sheet; `label` and `remark` are for the reader."""
ENDINGS = (".csv", ".jsonl")
EXTRA = "audit"


def ranked(audited: Iterable[Audited]) -> list[dict[str, Any]]:
    """The rows of the sheet, the most doubtful gold first; of equal ones, the first in the input."""
    order = sorted(audited, key=lambda one: (-one.score, one.gold.number))
    return [
        {
            "rank": rank,
            "score": round(one.score, 4),
            "kinds": "; ".join(dict.fromkeys(finding.kind for finding in one.findings)),
            "evidence": "\n".join(f"{finding.kind}: {finding.evidence}" for finding in one.findings),
            "database": one.gold.key.database,
            "question": "\n".join(one.gold.questions),
            "gold": one.gold.key.text,
            "gold_answer": one.answer,
            "ids": " ".join(one.gold.ids) + (" …" if one.gold.rows > len(one.gold.ids) else ""),
            "rows": one.gold.rows,
            "label": "",
            "remark": "",
        }
        for rank, one in enumerate(order, 1)
    ]


def kept(rows: Sequence[Mapping[str, Any]], golds: int, systems: str | None) -> dict[str, Any]:
    """What a run keeps of its audit."""
    kinds = Counter(kind for row in rows for kind in str(row["kinds"]).split("; "))
    return {
        "golds": golds, "doubted": len(rows), "systems": systems, "kinds": dict(kinds.most_common()),
        "rows": [dict(row) for row in rows[:KEPT]],
    }  # fmt: skip


def sheet_of(result: Result) -> pl.DataFrame:
    """The sheet of a run that was made with `audit=True`, now or earlier."""
    audit = result.extra.get(EXTRA)
    if not isinstance(audit, dict):
        raise InputError("this run has no audit", hint="Measure with --audit (audit=True).", reason=Reason.BAD_OPTION)
    return frame_of(audit["rows"])


def frame_of(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of a sheet as a table."""
    return pl.DataFrame([dict(row) for row in rows], schema=COLUMNS, orient="row")


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written after all the work."""
    target = Path(path)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(
            field="audit_out", expected=f"a file that ends in {' or '.join(ENDINGS)}", got=shown(str(path), 60),
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    if not target.parent.is_dir():
        raise InputError(
            field="audit_out", expected="a file in a folder that is there", got=shown(str(path), 60),
            hint=f"Make the folder {shown(str(target.parent), 60)} first.", reason=Reason.BAD_OPTION,
        )  # fmt: skip


def write_sheet(sheet: pl.DataFrame, path: str | os.PathLike[str]) -> Path:
    """Write a sheet: as CSV, whose cells no spreadsheet runs, or as JSON lines."""
    check_target(path)
    if Path(path).suffix.lower() == ".jsonl":
        return write_named(path, b"".join(orjson.dumps(row) + b"\n" for row in sheet.iter_rows(named=True)))
    return write_named(path, marked_csv(sheet))


def tables(result: Result) -> list[Table]:
    """The top of the sheet, where the run has one."""
    audit = result.extra.get(EXTRA)
    if not isinstance(audit, dict):
        return []
    doubted = f"{audit['doubted']:,} of {audit['golds']:,} golds have findings"
    table = Table(f"golds that may be wrong: {doubted}", ["gold, and what was found", "score", "database"], left=3)
    for row in audit["rows"][:TOP]:
        gold = " ".join(str(row["gold"]).split())
        table.rows.append([_cut(f"{row['rank']}. {gold}"), f"{row['score']:.2f}", str(row["database"])])
        table.rows += [[_cut(f"   – {line}"), "", ""] for line in str(row["evidence"]).split("\n")]
    told = ", ".join(f"{count:,} {kind}" for kind, count in audit["kinds"].items())
    table.notes = [f"findings: {told}"] if told else []
    if audit["doubted"] > TOP:
        table.notes.append(f"the {TOP} most doubtful; --audit-out FILE writes all")
    if audit.get("systems") is None:
        table.notes.append(
            "no column tells systems apart (--systems COLUMN): whether they contradict a gold is not known"
        )
    return [table]


def _cut(text: str, most: int = 200) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
