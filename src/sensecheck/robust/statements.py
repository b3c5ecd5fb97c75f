"""Which statements of a pair count: distinct ones, confirmed by the model, filled up by asking again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

KEEP = 5
"""Statements that are judged a pair."""
CANDIDATES = 14
"""Statements that a generator is asked for at once."""
TRIES = 15
"""How often a pair that is short of statements is tried again."""

_ENDINGS = ".?!\"'”’»)…"


def standardise(text: str) -> str:
    """One space between words, and a full stop where the text ends without any mark of an ending."""
    text = " ".join(text.split())
    return text if not text or text[-1] in _ENDINGS else text + "."


def folded(text: str) -> str:
    """What two statements share when they are the same to a reader: case, spaces and final marks aside."""
    return " ".join(text.split()).rstrip(_ENDINGS + " ").casefold()


def distinct(statements: Iterable[str], hypothesis: str) -> list[str]:
    """Full texts, no repeats, without the hypothesis itself and without empty ones."""
    seen = {folded(hypothesis), ""}
    kept = []
    for statement in statements:
        key = folded(statement)
        if key not in seen:
            seen.add(key)
            kept.append(statement.strip())
    return kept


@dataclass
class Filling:
    """The statements of one pair on their way to `keep`: first those that passed, then new ones, `tries` calls at most.

    Every generator call counts as a try, also one that repeats a known statement or the hypothesis.
    """

    hypothesis: str
    statements: list[str]
    accepted: list[str]
    keep: int = KEEP
    tries: int = TRIES
    calls: int = 0
    _known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._known = {folded(text) for text in (*self.statements, self.hypothesis)} | {""}

    @property
    def wants_more(self) -> bool:
        return len(self.accepted) < self.keep and self.calls < self.tries

    def offer(self, text: str) -> bool:
        """Take a generated text; True if it is new and the model should be asked about it."""
        self.calls += 1
        key = folded(text)
        if key in self._known:
            return False
        self._known.add(key)
        self.statements.append(text.strip())
        return True

    def accept(self, text: str) -> None:
        self.accepted.append(text.strip())

    @property
    def chosen(self) -> list[str]:
        """The statements that are judged: the first `keep`, or none if there are fewer."""
        return self.accepted[: self.keep] if len(self.accepted) >= self.keep else []
