"""`--as spice`: the original's figures for all question types at once, from `original` and from nowhere else.

Predictions run as the original ran them: strict text, one variable, the last part of each value.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from sensecheck.correct import QUESTION, original
from sensecheck.correct.question_types import QUESTION_TYPES
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.opening import sources
from sensecheck.report.result import Result
from sensecheck.runs.signature import Signature
from sensecheck.runs.stopping import Stopped
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.measurements import Frames
from sensecheck.stores import (
    Endpoint,
    EndpointDeadError,
    Failure,
    Graph,
    Limits,
    Outcome,
    Reason,
    Request,
    ResultCache,
    Store,
    Term,
    answers,
)

NO_INTERVAL = "parity with the original: it gives no interval"
_TITLES = {
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1score": "F1",
    "macro-f1score": "macro F1",
    "em": "exact match",
}

# The original waits for ever; what has no answer in this time has none.
SPICE_LIMITS = Limits(seconds=5.0, rows=2_000_000, bytes=512 << 20, memory=4 << 30)


class NoAnswerError(Exception):
    """The query has no answer that the original could have read."""


def open_strict(link: str, *, limits: Limits = SPICE_LIMITS, workers: int | None = None) -> Endpoint | Graph:
    """An endpoint's address or a graph file, set to run exactly what is written."""
    if link.startswith(("http://", "https://")):
        return Endpoint(link, limits=limits, prefixes=original.SERVER_PREFIXES, tolerant=False, retries=0)
    return Graph(link, limits=limits, prefixes=original.SERVER_PREFIXES, tolerant=False, workers=workers)


def as_original_result(outcome: Outcome) -> original.Result:
    """A boolean, or the values of the one variable; anything else the original could not read."""
    if isinstance(outcome, Failure):
        raise NoAnswerError(f"{outcome.reason}: {outcome.message}")
    if outcome.boolean is not None:
        return outcome.boolean
    if len(outcome.columns) != 1:
        raise NoAnswerError(f"{len(outcome.columns)} variables")
    values: list[str] = []
    for (cell,) in outcome.rows:
        if isinstance(cell, Term):
            values.append(cell.value.split("/")[-1])
    return values


def run_queries(
    store: Store, records: Iterable[dict[str, Any]], cache: ResultCache | None = None
) -> dict[str, Outcome]:
    """Outcomes of all predictions that the original would send, by the text it would send."""
    texts = [
        original.query_text(record["actions"])
        for record in records
        if record.get("actions") is not None and original.is_executed(record["actions"])
    ]
    return {request.text: outcome for request, outcome in answers(store, map(Request, texts), cache)}


def strict_results(link: str, records: list[dict[str, Any]]) -> Callable[[str], original.Result]:
    """A function from query text to result, all queries having been run beforehand, several at a time."""
    found: dict[str, Outcome] = {}
    if records:
        store = open_strict(link)
        try:
            # A server that is down leaves every query unanswered, as it did.
            with contextlib.suppress(EndpointDeadError):
                found = run_queries(store, records)
        finally:
            store.close()

    def execute(text: str) -> original.Result:
        if text not in found:
            raise NoAnswerError("no answer")
        return as_original_result(found[text])

    return execute


def _check(records: Any, path: str) -> None:
    """What the original could make nothing of is told before anything runs."""
    if not isinstance(records, list):
        raise InputError(path=path, expected="a JSON list of records", got=shown(records, 60), reason="not_a_list")
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(path=path, record=number, expected="an object", got=shown(record, 60), reason="bad_record")
        if not isinstance(record.get("actions"), str | None):
            got = shown(record["actions"], 60)
            raise InputError(path=path, record=number, field="actions", expected="text", got=got, reason="bad_record")


def evaluate_as_spice(
    data: Any,
    link: Any,
    *,
    distances: str | os.PathLike[str] | Mapping[str, str] | None = None,
    workers: int | None = None,
    limit: int | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    system: str | None = None,
) -> Result:
    """Every bucket of every question type; where the original raises, that type is unscored with its words."""
    records: list[dict[str, Any]] = []
    inputs = []
    if isinstance(data, list) and data and isinstance(data[0], dict):
        records = list(data)
    else:
        for source in sources(data):
            listed = original.read_records(source.name, False)
            _check(listed, source.name)
            records += listed
            source.digest_file()
            inputs.append({"path": source.name, "sha256": source.sha256, "bytes": source.raw_bytes})
    records = records[:limit]
    if isinstance(distances, str | os.PathLike):
        distances = original.read_distances(os.fspath(distances))
    outcomes: dict[str, Outcome] = {}
    if link:
        if isinstance(link, list | tuple):
            if len(link) != 1:
                raise InputError("the original asks one server", hint="Give one graph file, or one endpoint.")
            link = link[0]
        store = open_strict(os.fspath(link), workers=workers)
        try:
            outcomes = run_queries(store, records)
        except EndpointDeadError as error:
            raise Stopped(f"{error}. Start the server again and repeat the command.") from None
        finally:
            store.close()
    missing = Failure(Reason.ENGINE_ERROR, "not run")

    def execute(text: str) -> original.Result:
        return as_original_result(outcomes.get(text, missing))

    figures: list[Figure] = []
    notes: list[str] = []
    found: dict[str, dict[str, dict[str, float]]] = {}
    for kind in QUESTION_TYPES:
        try:
            run = original.evaluate(records, kind, execute, distances=distances, em_only=not link)
        except Exception as error:
            reason = f"the original raises {type(error).__name__}: {error}"
            held = sum(original.belongs(record, kind) for record in records)
            figures.append(
                Figure(f"{kind}/em", f"{kind}: exact match", float("nan"), 0, unscored={reason: held}, absent=reason)
            )
            notes.append(f"{kind}: {reason}")
            continue
        if not run.samples:
            continue
        found[kind] = run.figures()
        for bucket, values in found[kind].items():
            n = int(values["instances"])
            for name, value in values.items():
                if name == "instances" or (not link and name != "em"):
                    continue
                label = bucket if bucket.startswith(kind) else f"{kind}/{bucket}"
                figures.append(
                    Figure(f"{label}/{name}", f"{label}: {_TITLES[name]}", float(value), n, absent=NO_INTERVAL,
                           direction="higher")
                )  # fmt: skip
    for name in original.PHENOMENA:
        parts = [values[name]["em"] for values in found.values() if name in values]
        value = sum(parts) / len(parts) if parts else 0.0
        figures.append(
            Figure(
                f"summary/{name}", f"summary: {name}", float(value), len(parts), absent=NO_INTERVAL, direction="higher"
            )
        )
    rows = pl.DataFrame(
        {
            "id": [str(record.get("turnID") or i) for i, record in enumerate(records, 1)],
            "scored": [True] * len(records),
            "reason": [None] * len(records),
            "question_type": [str(record.get("question_type")) for record in records],
        },
        schema={"id": pl.String, "scored": pl.Boolean, "reason": pl.String, "question_type": pl.String},
    )
    method = {
        "as": "spice",
        "execute": "none" if not link else "endpoint" if str(link).startswith("http") else "oxigraph",
        "distances": "none" if distances is None else "given",
    }
    name = system or (str(data) if isinstance(data, str | os.PathLike) else "system")
    result = Result(
        QUESTION, Signature("correct", method, {"name": name}), Estimates(figures), Frames(rows),
        options=IntervalOptions(method="none"), notes=notes, inputs=inputs, extra={"spice": found},
    )  # fmt: skip
    if out is not None:
        result.save(out, overwrite=overwrite)
    return result
