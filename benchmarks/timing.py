"""One way to time: CPU seconds of the fastest of a few runs, and peak memory of a child process."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any


def cpu_seconds(work: Callable[[], Any], repeat: int = 3) -> float:
    """CPU time (all threads) of the fastest run: other work on the machine stretches the wall clock, not this."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
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
