"""Which part of a run is at work: what a progress line and `--verbose` are told.

    with stage("resampling", total=12, unit="slices") as advance:
        ...
        advance(1)

Nobody watches unless a `Watch` is set by `watching`; without one, `stage` costs next to nothing. Stages nest, as
measuring pulls what reading yields: the time of an inner stage is not counted in the outer one. A generator is marked
by `staged`, never by a `with` around its `yield`, as its caller's work would be counted too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, Self, TypeVar

T = TypeVar("T")

STAGES = ("reading", "measuring", "summing", "resampling", "report")
"""In the order in which a run comes to them."""


class Advance(Protocol):
    """Says that so many things more are done; `unscored` of them could not be scored."""

    def __call__(self, count: int = 1, /, unscored: int = 0) -> None: ...


class Stage:
    """One stage at work."""

    __slots__ = ("_watch", "begun", "done", "name", "total", "unit", "unscored")

    def __init__(self, watch: Watch, name: str, total: int | None, unit: str) -> None:
        self._watch = watch
        self.name, self.total, self.unit = name, total, unit
        self.done = self.unscored = 0
        self.begun = 0.0
        """When it began, on the clock of `time.perf_counter`."""

    def __call__(self, count: int = 1, /, unscored: int = 0) -> None:
        self._watch.advance(self, count, unscored)

    def __enter__(self) -> Self:
        self._watch.begin(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.end(self)


class _Unwatched:
    """What `stage` gives where nobody watches."""

    __slots__ = ()

    def __call__(self, count: int = 1, /, unscored: int = 0) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


_UNWATCHED = _Unwatched()


class Tally:
    """What all stages of one name came to: their own seconds, and what they counted."""

    __slots__ = ("count", "cpu", "unit", "unscored", "wall")

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self.count = self.unscored = 0
        self.unit = ""


class Watch:
    """Keeps the times and counts of stages.

    The stages that follow one another are those of the thread that made the watch. Another thread's stage takes its
    time from the one that waits for it, so it only counts.
    """

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.open: list[Stage] = []
        """The stages at work, the outermost first."""
        self._lock = threading.Lock()
        self._thread = threading.get_ident()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        self.outside = Tally()
        """What no stage did: starting, checking options."""

    def tally(self, name: str) -> Tally:
        found = self.tallies.get(name)
        if found is None:
            found = self.tallies[name] = Tally()
        return found

    def begin(self, stage: Stage) -> None:
        with self._lock:
            self._charge()
            stage.begun = self._wall
            tally = self.tally(stage.name)
            tally.unit = tally.unit or stage.unit
            if threading.get_ident() == self._thread:
                self.open.append(stage)

    def end(self, stage: Stage) -> None:
        with self._lock:
            self._charge()
            if stage in self.open:
                self.open.remove(stage)

    def advance(self, stage: Stage, count: int, unscored: int) -> None:
        with self._lock:
            stage.done += count
            stage.unscored += unscored
            tally = self.tally(stage.name)
            tally.count += count
            tally.unscored += unscored

    def resumed(self, stage: Stage) -> None:
        """A stage that was begun before is at work again: it goes on counting where it was."""
        with self._lock:
            self._charge()
            if threading.get_ident() == self._thread:
                self.open.append(stage)

    def settle(self) -> None:
        """Count the time up to now."""
        with self._lock:
            self._charge()

    def _charge(self) -> None:
        """The time since the last change belongs to the innermost stage."""
        wall, cpu = time.perf_counter(), time.process_time()
        tally = self.tally(self.open[-1].name) if self.open else self.outside
        tally.wall += wall - self._wall
        tally.cpu += cpu - self._cpu
        self._wall, self._cpu = wall, cpu


_watch: Watch | None = None
"""One for the process and not for the context: worker threads advance the stages of the thread that started them."""


@contextmanager
def watching(watch: Watch | None) -> Iterator[None]:
    """Have this watch told; what was told before is told again afterwards."""
    global _watch
    before, _watch = _watch, watch
    try:
        yield
    finally:
        if watch is not None:
            watch.settle()
        _watch = before


def stage(name: str, total: int | None = None, unit: str = "rows") -> Stage | _Unwatched:
    """A stage of the run, for the time of a `with`; gives the function that is told what is done."""
    watch = _watch
    return _UNWATCHED if watch is None else Stage(watch, name, total, unit)


def staged(name: str, items: Iterator[T], unit: str = "rows", count: Callable[[T], int] | None = None) -> Iterator[T]:
    """The same items; the time in which each is made is that stage's.

    count: how many things an item holds (default: the items are not counted).
    """
    watch = _watch
    return items if watch is None else _staged(watch, Stage(watch, name, None, unit), items, count)


def _staged(watch: Watch, at_work: Stage, items: Iterator[T], count: Callable[[T], int] | None) -> Iterator[T]:
    begun = False
    while True:
        if begun:
            watch.resumed(at_work)
        else:
            watch.begin(at_work)
            begun = True
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            watch.end(at_work)
        if count is not None:
            at_work(count(item))
        yield item
