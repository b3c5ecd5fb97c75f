"""Which way the words for more and less, most and least, up and down point on a column."""

from __future__ import annotations

from collections.abc import Sequence

from sensecheck.faithful.facts import Fact, Name
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.signals import DIRECTION, Signal
from sensecheck.faithful.matching.values import find_value

_COMPARING = (*DIRECTION, "comparative")


def way(a: Alignment, signal: Signal, name: Name) -> int:
    """1 towards more, -1 towards less, 0 either."""
    if signal.kind in DIRECTION:
        if a.form and signal.kind not in ("after", "before") and "rank" in a.vocabulary.kinds_of(name):
            return 0  # at least third: third or a smaller number
        return DIRECTION[signal.kind]
    if a.form and not a.guards["ranks"].isdisjoint(a.sentence.lows[signal.last : signal.last + 2]):
        return 0  # a higher position on the chart
    return a.vocabulary.points(signal.word, name) * signal.sign


def pointing(a: Alignment, signals: Sequence[Signal], name: Name, *ways: int) -> list[Signal]:
    """Those of the signals that point one of these ways."""
    return [s for s in signals if way(a, s, name) in ways]


def comparators(a: Alignment) -> list[Signal]:
    """Words that compare, of their own."""
    signals = a.signals
    return best_known(a, [s for kind in _COMPARING if kind in signals for s in signals[kind] if a.free(s)])


def best_known(a: Alignment, signals: Sequence[Signal]) -> list[Signal]:
    """Words that no list knows count only where they stand alone: steeper than, not more silver than."""
    known = [s for s in signals if not s.word or s.word in a.vocabulary.classes]
    return known or list(signals)


def told_the_other_way(a: Alignment, fact: Fact) -> bool:
    """Whether the sentence names the second row first: B had fewer than A."""
    if fact.pair is None or fact.pair[0] == fact.pair[1]:
        return False
    one, other = (find_value(a.sentence, value).positions for value in fact.pair)
    return bool(one and other and min(other) < min(one))
