"""How fast a right prediction is against its gold: BIRD's valid efficiency score, by medians of repeated timings.

Each query runs in the bounded worker, one at a time, gold and prediction in turn; the worker tells how long the engine
took from the start of the query to its last row. This is the one measurement that differs from run to run.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import median

from sensecheck.stores import Answer, Request, SqlStore

RUNS = 5
"""Times that each query is run."""


class Timer:
    """Times pairs of queries, each distinct pair once (the last 50,000 are kept)."""

    def __init__(self, store: SqlStore, runs: int = RUNS) -> None:
        self.store = store
        self.runs = runs
        self._ratio = lru_cache(maxsize=50_000)(self._timed)

    def efficiency(self, gold: str, prediction: str, file: str) -> float | None:
        """The square root of how many times as long the gold takes; None where either cannot be timed.

        The same text takes the same time: it is not run for that.
        """
        return 1.0 if gold == prediction else self._ratio(gold, prediction, file)

    def _timed(self, gold: str, prediction: str, file: str) -> float | None:
        seconds: dict[str, list[float]] = {gold: [], prediction: []}
        for _ in range(self.runs):
            for text, taken in seconds.items():
                outcome = self.store.execute(Request(text, file, timed=True))
                if not isinstance(outcome, Answer):
                    return None
                taken.append(outcome.seconds)
        return math.sqrt(median(seconds[gold]) / max(median(seconds[prediction]), 1e-9))
