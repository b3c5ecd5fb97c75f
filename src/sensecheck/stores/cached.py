"""A store behind a cache: each distinct query runs once, and what was answered is never asked again."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Protocol

from .cache import ResultCache, request_key
from .embedded import Graph
from .endpoint import Endpoint
from .limits import Limits
from .outcomes import Outcome, Request
from .sql_store import SqlStore


class Store(Protocol):
    """Where queries run."""

    limits: Limits

    @property
    def fingerprint(self) -> str: ...

    @property
    def language(self) -> str: ...

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, Outcome]]: ...

    def close(self) -> None: ...


def limit_notes(store: Store) -> list[str]:
    """What a run must say where the system did not let the workers have all their bounds."""
    limits_not_set = getattr(store, "limits_not_set", None)  # an endpoint is bounded elsewhere
    unset = limits_not_set() if callable(limits_not_set) else []
    notes = [f"this system lets queries run only with {'; and with '.join(unset)} (docs/safety.md)"] if unset else []
    return [*notes, *store.warnings()] if isinstance(store, SqlStore) else notes


_BATCH = 64


def answers(
    store: Store, requests: Iterable[Request], cache: ResultCache | None = None, seconds: float | None = None
) -> Generator[tuple[Request, Outcome], None, None]:
    """Each distinct request with its outcome, from the cache where it is there. `seconds` is a shorter time for each
    than the limits of the store, which must be one with workers.

    Outcomes are written to the cache as they come, before they are yielded: whatever stops the run, nothing
    that was answered is asked again.
    """
    distinct = list(dict.fromkeys(requests))
    limits = store.limits
    run: Callable[[list[Request]], Iterator[tuple[int, Outcome]]] = store.run
    if seconds is not None and isinstance(store, SqlStore | Graph):
        limits = replace(limits, seconds=min(seconds, limits.seconds))
        run = partial(store.run, seconds=seconds)
    if cache is None:
        for index, outcome in run(distinct):
            yield distinct[index], outcome
        return
    keys: list[bytes] = []
    missing: list[Request] = []
    for request in distinct:
        key = request_key(_fingerprint(store, request), request)
        stored = cache.get(key, limits)
        if stored is not None:
            yield request, stored
        else:
            missing.append(request)
            keys.append(key)
    unstored: list[tuple[int, Outcome]] = []
    # A server is asked over the network: what it answered is on disk before the next answer is looked at.
    most = 1 if isinstance(store, Endpoint) else _BATCH
    try:
        for numbered_outcome in run(missing):
            unstored.append(numbered_outcome)
            if len(unstored) >= most:
                cache.put_many(((keys[i], outcome) for i, outcome in unstored), limits)
                batch, unstored = unstored, []
                for i, outcome in batch:
                    yield missing[i], outcome
    finally:
        cache.put_many(((keys[i], outcome) for i, outcome in unstored), limits)
    for i, outcome in unstored:
        yield missing[i], outcome


def _fingerprint(store: Store, request: Request) -> str:
    if isinstance(store, SqlStore):
        return f"{store.dialect} {store.file_print(request.database)}"
    if isinstance(store, Graph) and "SERVICE" in request.text.upper():
        # Such queries were refused before labels could be looked up in the graph; what was kept of that is not asked.
        return f"{store.fingerprint} labels"
    return store.fingerprint
