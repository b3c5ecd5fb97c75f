"""`--as spice`: the original's figures for all question types at once, from `original` and from nowhere else.

Predictions run as the original ran them: strict text, one variable, the last part of each value.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.correct import original
from sensecheck.correct.evaluation import ENDPOINT_WORKERS
from sensecheck.correct.question import QUESTION
from sensecheck.correct.question_types import QUESTION_TYPES
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.json_arrays import read_as_original
from sensecheck.inputs.opening import identity, sources
from sensecheck.inputs.reasons import Reason
from sensecheck.network.address import public_address
from sensecheck.report.asking import Asked
from sensecheck.report.instrument import Instrument
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method
from sensecheck.runs.stopping import Stopped
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure
from sensecheck.stores import (
    Endpoint,
    EndpointDeadError,
    Failure,
    Graph,
    Limits,
    Outcome,
    Request,
    ResultCache,
    Store,
    Term,
    answers,
    limit_notes,
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


_NOT_RUN = Failure(Reason.ENGINE_ERROR, "not run")


class NoAnswerError(Exception):
    """The query has no answer that the original could have read."""


def open_strict(link: str, *, limits: Limits = SPICE_LIMITS, workers: int | None = None) -> Endpoint | Graph:
    """An endpoint's address or a graph file, set to run exactly what is written."""
    if not link.startswith(("http://", "https://")):
        return Graph(link, limits=limits, prefixes=original.SERVER_PREFIXES, tolerant=False, workers=workers)
    return Endpoint(
        link, limits=limits, prefixes=original.SERVER_PREFIXES, tolerant=False, retries=0,
        concurrency=workers or ENDPOINT_WORKERS,
    )  # fmt: skip


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
    outcomes: dict[str, Outcome] = {}
    if records:
        store = open_strict(link)
        try:
            # A server that is down leaves every query unanswered, as it did.
            with contextlib.suppress(EndpointDeadError):
                outcomes = run_queries(store, records)
        finally:
            store.close()

    def execute(text: str) -> original.Result:
        if text not in outcomes:
            raise NoAnswerError("no answer")
        return as_original_result(outcomes[text])

    return execute


def _check(records: Any, path: str) -> None:
    """What the original could make nothing of is told before anything runs."""
    if not isinstance(records, list):
        raise InputError(path=path, expected="a JSON list of records", got=shown(records, 60), reason=Reason.NOT_A_LIST)
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            raise InputError(
                path=path, record=number, expected="an object", got=shown(record, 60), reason=Reason.BAD_RECORD
            )
        if not isinstance(record.get("actions"), str | None):
            got = shown(record["actions"], 60)
            raise InputError(
                path=path, record=number, field="actions", expected="text", got=got, reason=Reason.BAD_RECORD
            )


class Spice(Instrument):
    """Every bucket of every question type; where the original raises, that type is unscored with its words."""

    question = QUESTION
    original = "spice"

    def __init__(
        self,
        data: Any,
        asked: Asked,
        link: Any,
        distances: str | os.PathLike[str] | Mapping[str, str] | None,
        workers: int | None,
    ) -> None:
        super().__init__(data, asked)
        self.link = _one_server(link)
        self.distances_file = os.fspath(distances) if isinstance(distances, str | os.PathLike) else None
        if isinstance(distances, str | os.PathLike):
            with read_as_original(os.fspath(distances), "lines of turnID, TAB, distance"):
                distances = original.read_distances(os.fspath(distances))
        self.distances = distances
        self.workers = workers
        self.records: list[dict[str, Any]] = []
        self.outcomes: dict[str, Outcome] = {}
        self.files: list[dict[str, Any]] = []
        self.written: dict[str, dict[str, dict[str, float]]] = {}
        """Question type → what the original writes for it."""

    def method(self) -> Method:
        execute = None
        if self.link:
            execute = "endpoint" if self.link.startswith("http") else "oxigraph"
        return {"execute": execute, "distances": None if self.distances is None else "given"}

    def plan(self) -> Mapping[str, Any]:
        files = [place for place in (self.link, self.distances_file) if place and Path(place).is_file()]
        return {"asked": public_address(self.link) if self.link else None, "read": identity(files) if files else []}

    def inputs(self) -> list[dict[str, Any]]:
        return self.files

    def batches(self, done: int) -> Iterator[Batch]:
        """All records in one batch: what the original makes of one depends on those before it."""
        self.records = list(self._read())[: self.asked.limit]
        if self.link:
            self.outcomes = self._run(self.link)
        if not done:
            yield Batch(_rows(self.records))

    def estimates(self, result: Result) -> Estimates:
        figures = [figure for kind in QUESTION_TYPES for figure in self._of_type(kind)]
        return Estimates([*figures, *map(self._summary, original.PHENOMENA)])

    def finish(self, result: Result) -> None:
        result.extra["spice"] = self.written

    def _read(self) -> Iterator[dict[str, Any]]:
        if isinstance(self.data, list) and self.data and isinstance(self.data[0], dict):
            yield from self.data
            return
        for source in sources(self.data):
            with read_as_original(source.name, "a JSON list of records, as the original's data"):
                records = original.read_records(source.name, False)
            _check(records, source.name)
            yield from records
            source.digest_file()
            self.files.append({"path": source.name, "sha256": source.sha256, "bytes": source.raw_bytes})

    def _run(self, link: str) -> dict[str, Outcome]:
        store = open_strict(link, workers=self.workers)
        try:
            outcomes = run_queries(store, self.records)
            self.notes += limit_notes(store)
            return outcomes
        except EndpointDeadError as error:
            raise Stopped(f"{error}. Start the server again and repeat the command.") from None
        finally:
            store.close()

    def _execute(self, text: str) -> bool | list[str]:
        return as_original_result(self.outcomes.get(text, _NOT_RUN))

    def _of_type(self, kind: str) -> Iterator[Figure]:
        try:
            run = original.evaluate(self.records, kind, self._execute, distances=self.distances, em_only=not self.link)
        except Exception as error:
            reason = f"the original raises {type(error).__name__}: {error}"
            held = sum(original.belongs(record, kind) for record in self.records)
            self.notes.append(f"{kind}: {reason}")
            nan = float("nan")
            yield Figure(f"{kind}/em", f"{kind}: exact match", nan, 0, unscored={reason: held}, absent=reason)
            return
        if not run.samples:
            return
        self.written[kind] = run.figures()
        for bucket, values in self.written[kind].items():
            label = bucket if bucket.startswith(kind) else f"{kind}/{bucket}"
            for name, value in values.items():
                if name != "instances" and (self.link or name == "em"):
                    yield _figure(f"{label}/{name}", f"{label}: {_TITLES[name]}", value, int(values["instances"]))

    def _summary(self, phenomenon: str) -> Figure:
        """The unweighted mean over the question types that have the phenomenon."""
        parts = [buckets[phenomenon]["em"] for buckets in self.written.values() if phenomenon in buckets]
        mean = sum(parts) / len(parts) if parts else 0.0
        return _figure(f"summary/{phenomenon}", f"summary: {phenomenon}", mean, len(parts))


def _figure(name: str, title: str, value: float, n: int) -> Figure:
    return Figure(name, title, float(value), n, absent=NO_INTERVAL, direction="higher")


def _one_server(link: Any) -> str | None:
    if isinstance(link, list | tuple):
        if len(link) != 1:
            raise InputError("the original asks one server", hint="Give one graph file, or one endpoint.")
        link = link[0]
    return os.fspath(link) if link else None


def _rows(records: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": [str(record.get("turnID") or number) for number, record in enumerate(records, 1)],
            "scored": [True] * len(records),
            "reason": [None] * len(records),
            "question_type": [str(record.get("question_type")) for record in records],
        },
        schema={"id": pl.String, "scored": pl.Boolean, "reason": pl.String, "question_type": pl.String},
    )
