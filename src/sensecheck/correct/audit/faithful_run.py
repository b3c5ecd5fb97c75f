"""What a saved run of `faithful` over the same ids says of golds."""

from __future__ import annotations

import os
from typing import Any

import orjson
import polars as pl

from sensecheck.correct.audit.checks import Doubt
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.guarding import guarded
from sensecheck.inputs.reasons import Reason
from sensecheck.report.result import Result, load
from sensecheck.runs.directory import damage_told
from sensecheck.statistics.measurements import concatenated

_FAULTS = ("contradicted", "missing", "added")
_TOLD = 3  # findings that are repeated


def doubts_of(run: Result | str | os.PathLike[str]) -> dict[str, Doubt]:
    """Of every id whose question that run found unfaithful to its query: how sure it is, and why."""
    result = run if isinstance(run, Result) else load(run)
    if result.question.name != "faithful":
        raise InputError(
            field="faithful", expected="a run of sensecheck faithful", got=f"one of {shown(result.question.name)}",
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    if isinstance(run, Result):
        return _doubts(result)
    with damage_told(result.directory.path if result.directory is not None else run):  # type: ignore[arg-type]
        return _doubts(result)


def _doubts(result: Result) -> dict[str, Doubt]:
    if not {"consistent", "doubt"} <= set(result.rows.schema):
        raise InputError(
            field="faithful", expected="a run with verdicts of its own", got="one of --as, which has none",
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    rows = concatenated(result.rows, ["id", "consistent", "doubt"]).filter(~pl.col("consistent"))
    told: dict[str, tuple[str, str]] = {}
    if result.texts is not None and {"evidence", "query"} <= set(result.texts.schema):
        wanted = set(rows["id"].to_list())
        for batch in result.texts.batches(["id", "evidence", "query"]):
            told |= {
                name: (_words(evidence), query or "") for name, evidence, query in batch.iter_rows() if name in wanted
            }
    doubts: dict[str, Doubt] = {}
    for name, _, doubt in rows.iter_rows():
        words, query = told.get(name, ("", ""))
        doubts[name] = Doubt(float(doubt or 0.0), words or "no reason is kept", query)
    return doubts


def check_same_query(name: str, doubt: Doubt, gold: str) -> None:
    """Refuse a run whose ids are those of other queries: its doubts would be held against the wrong golds."""
    if doubt.query and doubt.query.split() != gold.split():
        raise InputError(
            field="faithful", expected=f"a run over the same queries: {shown(gold, 80)} under the id {shown(name, 40)}",
            got=shown(doubt.query, 80),
            hint="Measure both with the same ids (--columns id=question_id), the golds as queries (--columns query=…).",
            reason=Reason.BAD_OPTION,
        )  # fmt: skip


def _words(evidence: str | None) -> str:
    told = guarded("reading the evidence of a faithful run", _read, evidence or "[]")
    return told if isinstance(told, str) else ""


def _read(evidence: str) -> str:
    findings: list[dict[str, Any]] = orjson.loads(evidence)
    faults = [one for one in findings if one.get("status") in _FAULTS]
    surest = sorted(faults, key=lambda one: -float(one.get("confidence") or 0.0))
    return "; ".join(f"{one['status']} {one['kind']}: {one['text']}" for one in surest[:_TOLD])
