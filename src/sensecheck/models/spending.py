"""What calls cost, counted while they are made, and the limits at which a run stops."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sensecheck.models.calls import CallCache


class SpentError(Exception):
    """A limit that the user set is reached."""


@dataclass
class Spending:
    """Counted by one endpoint; for many threads."""

    requests: int = 0
    """calls sent, tries included"""
    retries: dict[str, int] = field(default_factory=dict)
    """tries that failed, by what went wrong"""
    tokens_in: int = 0
    tokens_out: int = 0
    uncounted: int = 0
    """answers that came without a count of tokens"""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def answered(self, tokens: tuple[int, int] | None) -> None:
        with self._lock:
            if tokens is None:
                self.uncounted += 1
            else:
                self.tokens_in += tokens[0]
                self.tokens_out += tokens[1]

    def failed(self, why: str) -> None:
        with self._lock:
            self.retries[why] = self.retries.get(why, 0) + 1

    def counts(self) -> dict[str, int]:
        with self._lock:
            return {
                "requests": self.requests, "failed_tries": sum(self.retries.values()), "tokens_in": self.tokens_in,
                "tokens_out": self.tokens_out, "answers_without_token_counts": self.uncounted,
            }  # fmt: skip


class Spent:
    """What was spent on a model, now and by earlier runs whose answers lie in the same cache."""

    def __init__(self, model: Any, cache: CallCache) -> None:
        self.now: Spending | None = getattr(getattr(model, "endpoint", None), "spending", None)
        self._before = {} if self.now is None else cache.spent(model.identity)
        self._kept: dict[str, int] = {}

    def counts(self) -> dict[str, int] | None:
        """In all; None where a model costs nothing that is counted."""
        if self.now is None:
            return None
        return {name: count + self._before.get(name, 0) for name, count in self.now.counts().items()}

    def to_keep(self) -> dict[str, int] | None:
        """What was spent since this was asked last: others may add to the same file."""
        if self.now is None:
            return None
        counts = self.now.counts()
        more = {name: count - self._kept.get(name, 0) for name, count in counts.items()}
        self._kept = counts
        return more


@dataclass
class Budget:
    """What a run may spend on all its endpoints together; None: no limit."""

    calls: int | None = None
    tokens: int | None = None
    names: tuple[str, str] = ("--max-calls", "--max-tokens-total")
    """what the limits are called where the user set them"""
    _of: list[Spending] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def opened(self) -> Spending:
        """The spending of one more endpoint."""
        spending = Spending()
        self._of.append(spending)
        return spending

    def take(self, spending: Spending) -> None:
        """Counts one call, or raises SpentError before it is made."""
        with self._lock:
            if self.calls is not None and sum(s.requests for s in self._of) >= self.calls:
                raise SpentError(f"{self.calls:,} calls were made, as many as {self.names[0]} allows")
            if self.tokens is not None and (spent := sum(s.tokens_in + s.tokens_out for s in self._of)) >= self.tokens:
                raise SpentError(f"{spent:,} tokens were used, and {self.names[1]} allows {self.tokens:,}")
            spending.requests += 1
