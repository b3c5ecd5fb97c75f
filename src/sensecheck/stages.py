"""Which part of a run is at work: what a progress line and `--verbose` are told.

    with stage("resampling", total=12, unit="slices") as advance:
        ...
        advance(1)

Nobody watches unless a `Watch` is set by `watching`; without one, all of this costs next to nothing. Stages nest, as
measuring pulls what reading yields: the time of an inner stage is not counted in the outer one. A generator is marked
by `staged`, never by a `with` around its `yield`, as its caller's work would be counted too.

How much there is to read is known in bytes alone: readers say how large their inputs are (`to_read`) and how far they
are (`have_read`), or which share of all their records they have handed out (`handed`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self, TypeVar

T = TypeVar("T")

READING, MEASURING, QUERYING, SUMMING, RESAMPLING, COMPARING, REPORT = STAGES = (
    "reading", "measuring", "querying", "summing", "resampling", "comparing", "report",
)  # fmt: skip
"""In the order in which a run comes to them. Querying is the part of measuring that waits for a store."""


class Stage:
    """One stage at work. Called, it is told that so many things more are done, and how many of them had no score.

    Opened again within the same outer stage, it goes on; then it is over when the outer one is.
    """

    __slots__ = (
        "_watch",
        "before",
        "begun",
        "done",
        "finished",
        "first",
        "fresh",
        "moved",
        "name",
        "nested",
        "parts",
        "pulled",
        "skips",
        "total",
        "unit",
        "unscored",
        "until",
    )

    def __init__(self, watch: Watch, name: str, unit: str, pulled: bool = False) -> None:
        self._watch = watch
        self.name, self.unit = name, unit
        self.total: int | None = None
        self.done = self.unscored = 0
        self.before = 0
        """Of what is done, what an earlier run did."""
        self.skips = 0
        """Batches of an earlier run that are still being passed over, if they are: how many there are in all."""
        self.first = 0.0
        """The share that an earlier run did, where there is no total; an estimate while it is passed over."""
        self.begun = self.fresh = self.moved = 0.0
        """When it began, when it began with work of its own, and when it was last told of anything, on the clock of
        `time.perf_counter`."""
        self.until: float | None = None
        """Since when it is not at work."""
        self.finished = False
        """Whether it came to its end, and not to an error."""
        self.pulled = pulled
        """Whether it works whenever another stage asks for its next item."""
        self.nested = False
        """Whether it is over when the stage around it is."""
        self.parts: dict[str, Stage] = {}
        """The stages that are nested in it."""

    def __call__(self, count: int = 1, /, unscored: int = 0) -> None:
        self._watch.advance(self, count, unscored)

    def already(self, count: int, /, unscored: int = 0, batches: int = 0) -> None:
        """So many things were done before this run began; they will be passed over in so many batches."""
        self._watch.already(self, count, unscored, batches)

    def __enter__(self) -> Self:
        self._watch.begin(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.finished = kind is None
        self._watch.end(self)


class _Unwatched:
    """What `stage` gives where nobody watches."""

    __slots__ = ()

    def __call__(self, count: int = 1, /, unscored: int = 0) -> None:
        pass

    def already(self, count: int, /, unscored: int = 0, batches: int = 0) -> None:
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


class Reading:
    """How far the inputs of a run are read."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._at: dict[str, tuple[int, int]] = {}
        self._within: tuple[str, float] = ("", 0.0)
        self._endless = False
        self._handed: float | None = None
        self._share: float | None = None
        self.items = 0
        """Batches that were handed out; the last of them is at work."""
        self.an_item: float | None = None
        """The share that a batch is on average, as far as that can be told."""

    def to_read(self, name: str, size: int | None) -> None:
        if size is None:
            self._endless = True
        else:
            self._sizes[name] = size

    def have_read(self, name: str, position: int) -> None:
        # What was read last is at work; what was read before it is done.
        before = self._at.get(name, (0, 0))[1]
        self._at[name] = (min(before, position), position)
        self._within = (name, 0.0)

    def within(self, done: int, of: int) -> None:
        self._within = (self._within[0], min(max(done / max(of, 1), 0.0), 1.0))

    def handed(self, done: int, of: int) -> None:
        self._handed = max(done / max(of, 1), 0.0)

    def hand_out(self) -> None:
        before, self._share = self._share, self.share()
        # Of a large piece that holds many batches, nobody may know which part is handed out.
        if self._share is not None and self._share != before and self.items:
            self.an_item = self._share / self.items
        self.items += 1

    def share(self, at_work_too: bool = False) -> float | None:
        """The share of all that is read and no longer at work (or with what is); None where nobody can tell."""
        if self._handed is not None:
            return min(self._handed, 1.0)
        total = sum(list(self._sizes.values()))  # another thread may be adding to them
        if self._endless or not total or not self._at:
            return None
        done = 0.0
        name, part = self._within
        for one, (before, now) in list(self._at.items()):
            done += now if at_work_too else before + (now - before) * (part if one == name else 1.0)
        return min(done / total, 1.0)


class Watch:
    """Keeps the times and counts of stages.

    The stages that follow one another are those of the thread that made the watch. Another thread's stage takes its
    time from the one that waits for it, so it only counts.
    """

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.open: list[Stage] = []
        """The stages at work, the outermost first."""
        self.reading = Reading()
        self.outside = Tally()
        """What no stage did: checking options, printing."""
        self.unscored = 0
        """Of what is measured, what had no score."""
        self._lock = threading.RLock()
        self._thread = threading.get_ident()
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stage(self, name: str, total: int | None, unit: str, pulled: bool) -> Stage:
        """A new stage, or the one of that name that was at work in the same outer one."""
        outer = self.open[-1] if self.open and threading.get_ident() == self._thread else None
        found = outer.parts.get(name) if outer is not None else None
        if found is None:
            found = Stage(self, name, unit, pulled)
            if outer is not None:
                outer.parts[name] = found
                found.nested = True
        if total is not None:
            found.total = found.done + total
        return found

    def begin(self, stage: Stage) -> None:
        """A stage begins, or goes on."""
        with self._lock:
            if not self.open and stage.name in (READING, MEASURING, COMPARING):
                self.unscored = 0
            self.enter(stage)
            stage.finished = False
            if not stage.begun:
                stage.begun = stage.fresh = stage.moved = self._wall
            tally = self._tally(stage.name)
            tally.unit = tally.unit or stage.unit

    def end(self, stage: Stage) -> None:
        """A stage is over, and those within it; what was read for it is no longer to be read."""
        with self._lock:
            self.leave(stage)
            if not stage.nested:
                self.over(stage)
            if stage.name in (READING, MEASURING) and not self.open:
                self.reading = Reading()

    def over(self, stage: Stage) -> None:
        """Nothing more comes of a stage: those within it first."""
        for part in stage.parts.values():
            self.over(part)

    def enter(self, stage: Stage) -> None:
        """From now on the time is this stage's."""
        with self._lock:
            self.settle()
            stage.until = None
            if threading.get_ident() == self._thread:
                self.open.append(stage)

    def leave(self, stage: Stage) -> None:
        """From now on the time is no longer this stage's."""
        with self._lock:
            self.settle()
            stage.until = self._wall
            if stage in self.open:
                self.open.remove(stage)

    def advance(self, stage: Stage, count: int, unscored: int) -> None:
        with self._lock:
            self._begin_fresh(stage)
            stage.moved = time.perf_counter()
            stage.done += count
            stage.unscored += unscored
            self.unscored += unscored
            tally = self._tally(stage.name)
            tally.count += count
            tally.unscored += unscored

    def already(self, stage: Stage, count: int, unscored: int, batches: int) -> None:
        with self._lock:
            stage.done += count
            stage.before += count
            stage.unscored += unscored
            self.unscored += unscored
            stage.skips = batches
            stage.fresh = stage.moved = time.perf_counter()

    def handed_out(self) -> None:
        """Readers handed out a batch: the first that no earlier run had is where work begins."""
        with self._lock:
            self.reading.hand_out()
            for stage in self.open:
                if self.reading.items > stage.skips:
                    self._begin_fresh(stage)

    def _begin_fresh(self, stage: Stage) -> None:
        if stage.skips:
            stage.skips = 0
            stage.first = self.share(stage) or 0.0
            stage.fresh = stage.moved = time.perf_counter()

    def share(self, stage: Stage) -> float | None:
        """How much of a stage is done, where that can be told."""
        share = None
        if stage.total:
            share = stage.done / stage.total
        elif stage.name in (READING, MEASURING):
            share = self.reading.share(at_work_too=stage.name == READING)
            if stage.skips:
                # Batches are about alike: some of those that are passed over tell how much all of them are.
                share = None if self.reading.an_item is None else self.reading.an_item * stage.skips
        return None if share is None else 1.0 if stage.finished else min(share, 1.0)

    def settle(self) -> None:
        """The time since the last change belongs to the innermost stage."""
        with self._lock:
            wall, cpu = time.perf_counter(), time.process_time()
            tally = self._tally(self.open[-1].name) if self.open else self.outside
            tally.wall += wall - self._wall
            tally.cpu += cpu - self._cpu
            self._wall, self._cpu = wall, cpu

    def _tally(self, name: str) -> Tally:
        found = self.tallies.get(name)
        if found is None:
            found = self.tallies[name] = Tally()
        return found


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


def watched() -> bool:
    """Whether somebody is told: what only a progress line needs is not worked out otherwise."""
    return _watch is not None


def stage(name: str, total: int | None = None, unit: str = "rows", pulled: bool = False) -> Stage | _Unwatched:
    """A stage of the run, for the time of a `with`; gives the function that is told what is done.

    total: how many things are to come, all that the stage will be opened for again included.
    pulled: it serves another stage again and again, which is the one to be spoken of.
    """
    watch = _watch
    return _UNWATCHED if watch is None else watch.stage(name, total, unit, pulled)


def at_work(name: str, total: int | None = None, unit: str = "") -> Stage | _Unwatched:
    """The stage of that name that is at work, for those who did not begin it; total and unit, once they are known."""
    watch = _watch
    for found in reversed(watch.open) if watch is not None else ():
        if found.name == name:
            if watch is not None and unit:
                found.unit = watch.tallies[name].unit = unit
            if total is not None:
                found.total = total
            return found
    return _UNWATCHED


def staged(name: str, items: Iterator[T], unit: str = "rows", count: Callable[[T], int] | None = None) -> Iterator[T]:
    """The same items; the time in which each is made is that stage's.

    count: how many things an item holds (default: the items are not counted).
    """
    watch = _watch
    return items if watch is None else _staged(watch, Stage(watch, name, unit, pulled=True), items, count)


def _staged(watch: Watch, pulled: Stage, items: Iterator[T], count: Callable[[T], int] | None) -> Iterator[T]:
    watch.begin(pulled)
    while True:
        try:
            item = next(items)
        except BaseException as error:
            pulled.finished = isinstance(error, StopIteration)
            watch.end(pulled)
            if pulled.finished:
                return
            raise
        watch.leave(pulled)
        # Where a reader reads through another one, the outer one counts.
        if count is not None and not any(outer.name == pulled.name for outer in watch.open):
            pulled(count(item))
            watch.handed_out()
        yield item
        watch.enter(pulled)


# ---- how far inputs are read


def to_read(name: str, size: int | None) -> None:
    """An input of so many bytes will be read; None: nobody knows how many."""
    if _watch is not None:
        _watch.reading.to_read(name, size)


def have_read(name: str, position: int) -> None:
    """An input was read up to this byte, and what was read last is handed out."""
    if _watch is not None:
        _watch.reading.have_read(name, position)


def within(done: int, of: int) -> None:
    """So much of what was read last is handed out, where that is done in parts."""
    if _watch is not None:
        _watch.reading.within(done, of)


def handed(done: int, of: int) -> None:
    """So many of all records are handed out, where their number is known."""
    if _watch is not None:
        _watch.reading.handed(done, of)
