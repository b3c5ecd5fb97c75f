"""Running predictions as the SPICE evaluation did: strict text, one variable, the last part of a value."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from sensecheck.stores import (
    Answer,
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
)

from . import original

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


__all__ = ["SPICE_LIMITS", "Answer", "as_original_result", "open_strict", "run_queries", "strict_results"]
