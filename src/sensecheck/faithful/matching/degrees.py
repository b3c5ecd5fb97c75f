"""Which way the words for more and less, most and least, up and down point on a column, and whether they tell of it."""

from __future__ import annotations

from collections.abc import Sequence

from sensecheck.faithful.facts import Fact, Name
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.signals import DIRECTION, Signal
from sensecheck.faithful.matching.values import find_value

_ADJECTIVAL = ("able", "ent", "ful", "ible", "ic", "ing", "ive", "ous")
_COMPARING = (*DIRECTION, "comparative")
_ONLY_ONE = 5
"""How many words may name the only one that is ahead."""


def way(a: Alignment, signal: Signal, name: Name) -> int:
    """1 towards more, -1 towards less, 0 either."""
    if signal.kind in DIRECTION:
        if a.form and signal.kind not in ("after", "before") and "rank" in a.vocabulary.kinds_of(name):
            return 0  # at least third: third or a smaller number
        return -DIRECTION[signal.kind] if signal.turned else DIRECTION[signal.kind]
    if a.form and not a.guards["ranks"].isdisjoint(a.sentence.lows[signal.last : signal.last + 2]):
        return 0  # a higher position on the chart
    return a.vocabulary.points(signal.word, name) * (-signal.sign if signal.turned else signal.sign)


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


def names_things(a: Alignment, name: Name) -> bool:
    """Whether a column holds names, keys or other text: nothing that one compares by size."""
    return name in a.reading.textual or name.words[-1] in a.guards["keys"] or name.stems[-1] in a.vocabulary.named


def told_by_adjective(a: Alignment, fact: Fact) -> bool:
    """The busiest, the most valuable, from the most experienced on: the adjective stands for the measure, whatever
    its column is called. High, large or most do not: they want a noun, and it should be the column's."""
    if names_things(a, fact.name) or fact.name.stems[-1] in a.vocabulary.dated:
        return False
    return any(
        (s.word not in a.guards["plain_degrees"] and not _of_time(a, s.word)) or _unlisted(a, s)
        for s in a.of("superlative")
    )


def _unlisted(a: Alignment, signal: Signal) -> bool:
    """The most fattening: the degree of an adjective that no list has."""
    low, after = a.sentence.lows[signal.first], a.sentence.low(signal.last)
    if low not in ("most", "least") or not after.endswith(_ADJECTIVAL) or after in a.guards["talk"]:
        return False
    return not a.owner[signal.last] and a.sentence.tokens[signal.last].stem not in a.reading.vocabulary


def told_by_age(a: Alignment, fact: Fact) -> bool:
    """The oldest, the latest, for longest, in chronological order: any column of times."""
    if fact.name not in a.reading.timed and a.vocabulary.kinds_of(fact.name).isdisjoint(("time", "age")):
        return False
    if a.says("chronological") or any(s.word == "long" or _of_time(a, s.word) for s in a.of("superlative")):
        return True
    return any((s.word == "long" or _of_time(a, s.word)) and _than_all(a, s) for s in a.of("comparative"))


def _than_all(a: Alignment, signal: Signal) -> bool:
    """Longer than anyone."""
    behind = a.sentence.lows[signal.last : signal.last + 5]
    return "than" in behind and not a.guards["than_all"].isdisjoint(behind)


def _of_time(a: Alignment, adjective: str) -> bool:
    return a.vocabulary.classes.get(adjective, "").startswith(("time", "age"))


def one_ahead(a: Alignment) -> bool:
    """Only Ann is older than Bob; Bob is older than anyone bar Ann; after Ann, Bob is the oldest: Bob comes second."""
    lows, only = a.sentence.lows, a.first("only")
    for signal in comparators(a):
        than = next((i for i in range(signal.first, min(signal.last + 5, a.sentence.n)) if lows[i] == "than"), None)
        if than is None:
            continue
        if only is not None and 0 < signal.first - only.last <= _ONLY_ONE:
            return True
        if lows[than + 1 : than + 2] and lows[than + 1] in a.guards["than_all"]:
            return not a.guards["exceptions"].isdisjoint(lows[than + 2 : than + 6])
    if lows[0] in ("after", "behind", "bar", "barring") or lows[:2] in (["apart", "from"], ["next", "to"]):
        return bool(a.of("superlative"))  # after Ann, Bob scored the most
    if any(lows[i - 1] in a.guards["exceptions"] for i in a.sentence.by_low.get("one", ())):
        return bool(a.of("superlative"))  # the newest but one
    return False
