"""The one door for text that a model wrote: whatever reads, normalises, compares or matches it runs behind this.

One item at a time goes through. A fault becomes a `Fault` of that item, with a reason to count it by, and the run goes
on. Work is bounded: algorithms that cannot be shown to be linear count their steps and raise `OverBudgetError`, which
gives the same verdict on every machine; behind them a watchdog ends what is still at work after `SECONDS`, or has
taken `BYTES` more memory.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from sensecheck.inputs.errors import InputError, escaped
from sensecheck.inputs.reasons import Reason

P = ParamSpec("P")
T = TypeVar("T")

SECONDS = 5.0
"""Seconds that one item may take in one stage, of the clock and of the processor: a busy machine is no fault of its."""

BYTES = 300 << 20
"""Memory that one item may add in one stage."""

_SHOWN = 200
_CALL_SECONDS = 1.0  # between two calls to the same item: the first has arrived by then, wherever it fell


class OverBudgetError(RuntimeError):
    """The work on one item was given up: it takes more steps than an item may."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the work on one item ended without a result."""

    reason: Reason
    message: str

    @property
    def over_budget(self) -> bool:
        """Whether the item asked for too much, rather than that it could not be handled at all."""
        return self.reason != Reason.FAULT


def guarded(stage: str, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | Fault:
    """What `work` returns, or its fault; `stage` says in the message what was being done.

    Messages for the user (`InputError`) and the end of the run pass through.

    >>> guarded("halving", lambda number: 1 / number, 2)
    0.5
    >>> guarded("halving", lambda number: 1 / number, 0).message
    'halving: ZeroDivisionError: division by zero'
    """
    return caught(stage, watched, work, *arguments, **named)  # type: ignore[arg-type]


def caught(stage: str, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | Fault:
    """The same without a watchdog: for work that its size bounds, many items at a time."""
    try:
        return work(*arguments, **named)
    except InputError:
        raise
    except Exception as error:
        return _fault(stage, error)


def _fault(stage: str, error: Exception) -> Fault:
    if isinstance(error, OverBudgetError):
        return Fault(Reason.OVER_BUDGET, f"{stage}: {error}")
    if isinstance(error, RecursionError):
        return Fault(Reason.OVER_BUDGET, f"{stage}: nested too deeply")
    if isinstance(error, MemoryError):
        return Fault(Reason.OVER_BUDGET, f"{stage}: there is not enough memory")
    said = escaped(" ".join(str(error).split()))[:_SHOWN]
    return Fault(Reason.FAULT, f"{stage}: {type(error).__name__}: {said}")


# ---- the watchdog


class _CalledOffError(BaseException):
    """Raised in a thread by the watchdog. Not an Exception: what is at work must not take it for one of its own."""


class _Post:
    """What the watchdog knows of a thread."""

    __slots__ = ("__weakref__", "began", "called", "lock", "thread", "verdict")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.began = 0.0
        """When the item at work began; 0 while none is."""
        self.verdict = ""
        """Why the item was called off."""
        self.called = 0.0
        """When it was called off last."""
        self.lock = threading.Lock()


def watched(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What `work` returns, unless it takes more than an item may: then OverBudgetError."""
    post: _Post = getattr(_LOCAL, "post", None) or _new_post()
    if post.began:
        return work(*arguments, **named)  # a part of something that is watched already
    failure: BaseException | None = None
    try:
        try:
            post.began = time.monotonic()
            if _DOG.asleep:
                _DOG.wake()
            result = work(*arguments, **named)
        except BaseException as error:
            failure = error
        with post.lock:
            post.began = 0.0
        if post.verdict and not isinstance(failure, _CalledOffError):
            # Called off at the last moment: the exception is on its way, and must not meet the next item.
            for _ in range(100):
                time.sleep(0.001)
    except _CalledOffError as error:
        failure = error
    if post.verdict:
        verdict, post.verdict, post.began, post.called = post.verdict, "", 0.0, 0.0
        raise OverBudgetError(verdict)
    if failure is not None:
        raise failure
    return result


def _new_post() -> _Post:
    post = _LOCAL.post = _Post()
    _DOG.posts.add(post)
    return post


class _Watchdog:
    """One thread that looks every few milliseconds whether the items at work keep to their budget.

    It sleeps while nothing is at work. An exception reaches a thread between two steps of the interpreter, so a single
    call into C code is not interrupted: what calls such code on text of any length keeps it linear.
    """

    look_seconds = 0.05
    idle_looks = 40

    def __init__(self) -> None:
        self.posts: weakref.WeakSet[_Post] = weakref.WeakSet()
        self.asleep = True
        self._lock = threading.Lock()
        self._alarm = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="sensecheck watchdog", daemon=True)
                self._thread.start()
            self.asleep = False
            self._alarm.set()

    def _watch(self) -> None:
        looks_without_work = 0
        starts: dict[_Post, tuple[float, float, int]] = {}  # what was used when an item was first seen
        while True:
            time.sleep(self.look_seconds)
            working = [post for post in self._all_posts() if post.began]
            looks_without_work = 0 if working else looks_without_work + 1
            starts = {post: self._judged(post, starts.get(post)) for post in working}
            if looks_without_work > self.idle_looks:
                self._alarm.clear()
                self.asleep = True
                # Whoever began before it slept saw it awake, and will not wake it.
                if not any(post.began for post in self._all_posts()):
                    self._alarm.wait()
                self.asleep = False
                looks_without_work = 0

    def _all_posts(self) -> list[_Post]:
        while True:
            try:
                return list(self.posts)
            except RuntimeError:  # a thread came or went meanwhile
                continue

    def _judged(self, post: _Post, start: tuple[float, float, int] | None) -> tuple[float, float, int]:
        began = post.began
        if start is None or start[0] != began:
            return began, time.process_time(), _memory()
        _, processor, memory = start
        verdict = ""
        if min(time.monotonic() - began, time.process_time() - processor) > SECONDS:
            verdict = f"takes more than {SECONDS:g} s"
        elif _memory() - memory > BYTES:
            verdict = f"takes more than {BYTES >> 20:,} MB of memory"
        if verdict:
            with post.lock:
                # Called again as long as it works on: an exception that falls into a finaliser is lost.
                if post.began == began and time.monotonic() - post.called > _CALL_SECONDS:
                    post.verdict, post.called = post.verdict or verdict, time.monotonic()
                    thread = ctypes.c_ulong(post.thread)
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(_CalledOffError))
        return start


def _memory() -> int:
    """Bytes that this process holds; 0 where nobody tells."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


_LOCAL = threading.local()
_DOG = _Watchdog()


def _after_fork() -> None:
    global _LOCAL, _DOG
    _LOCAL, _DOG = threading.local(), _Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
