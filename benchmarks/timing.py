"""One way to time: CPU seconds of the fastest of a few runs, and peak memory of a child process."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from typing import Any


def cpu_seconds(work: Callable[[], Any], repeat: int = 3) -> float:
    """CPU time (all threads) of the fastest run: other work on the machine stretches the wall clock, not this."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def in_turns(ways: Mapping[str, Callable[[], Any]], turns: int = 5) -> dict[str, float]:
    """CPU seconds of each way, the fastest of some turns that all take one after the other: what else the machine does
    then meets all of them alike.
    """
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(turns):
        for name, work in ways.items():
            best[name] = min(best[name], cpu_seconds(work, 1))
    return best


def wall_seconds(work: Callable[[], Any], repeat: int = 3) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def peak_megabytes() -> float:
    """The most memory this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
