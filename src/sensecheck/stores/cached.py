"""A store behind a cache: each distinct query runs once, and what was answered is never asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from .cache import ResultCache, request_key
from .embedded import Databases
from .limits import Limits
from .outcomes import Outcome, Request


class Store(Protocol):
    """Where queries run."""

    limits: Limits

    @property
    def fingerprint(self) -> str: ...

    @property
    def language(self) -> str: ...

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, Outcome]]: ...

    def close(self) -> None: ...


_BATCH = 64


def answers(
    store: Store, requests: Iterable[Request], cache: ResultCache | None = None
) -> Iterator[tuple[Request, Outcome]]:
    """Each distinct request with its outcome, from the cache where it is there.

    Outcomes are written to the cache as they come, before they are yielded: whatever stops the run, nothing
    that was answered is asked again.
    """
    distinct = list(dict.fromkeys(requests))
    if cache is None:
        for index, outcome in store.run(distinct):
            yield distinct[index], outcome
        return
    keys: list[bytes] = []
    missing: list[Request] = []
    for request in distinct:
        key = request_key(_fingerprint(store, request), request)
        known = cache.get(key, store.limits)
        if known is not None:
            yield request, known
        else:
            missing.append(request)
            keys.append(key)
    waiting: list[tuple[int, Outcome]] = []
    try:
        for index, outcome in store.run(missing):
            waiting.append((index, outcome))
            if len(waiting) >= _BATCH:
                cache.put_many(((keys[i], found) for i, found in waiting), store.limits)
                done, waiting = waiting, []
                for i, found in done:
                    yield missing[i], found
    finally:
        cache.put_many(((keys[i], found) for i, found in waiting), store.limits)
    for i, found in waiting:
        yield missing[i], found


def _fingerprint(store: Store, request: Request) -> str:
    if isinstance(store, Databases):
        return f"{store.dialect} {store.file_print(request.database)}"
    return store.fingerprint
