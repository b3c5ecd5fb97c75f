"""Orders that no limit cuts: which way the rows run."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Fact, Name
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.degrees import way
from sensecheck.faithful.matching.ruling import Finding, added, contradicted, missing, rule, said, unsaid
from sensecheck.faithful.matching.signals import Signal

_MOST_ENDS = 20  # of a sentence that goes from one thing to another
_PLACED = frozenset(("at", "on"))
_HEADS = frozenset(("top", "head"))
Runs = tuple[Signal | None, Signal | None]  # what says that rows ascend, and that they descend


def _uncut(a: Alignment) -> list[Fact]:
    return [f for f in a.reading.of("order") if not f.limited]


def _stated(a: Alignment) -> Runs:
    """What says outright which way rows run."""
    ascending, descending = a.first("ascending"), a.first("descending")
    return (ascending if ascending or descending else a.first("alphabetical")), descending


@rule("query")
def orders(a: Alignment) -> Iterator[Finding]:
    """Rows must run as the query orders them."""
    facts = _uncut(a)
    if not facts:
        return
    miscounted = _miscounted(a, facts)
    if miscounted is not None:
        yield miscounted
        return
    runs = _stated(a)
    if runs == (None, None):
        shown = _from_to(a, facts[0].name) or _first_comes(a, facts[0].name)
        if shown is not None:
            runs = (shown, None) if shown.sign < 0 else (None, shown)
    for fact in facts:
        yield _descending(a, fact, runs) if fact.direction > 0 else _ascending(a, fact, runs, facts)


def _miscounted(a: Alignment, facts: list[Fact]) -> Finding | None:
    """Several orders, of which fewer or more descend than the sentence says."""
    ascending, descending = _stated(a)
    if len(facts) < 2 or descending is None:
        return None
    said_count, count = len(a.of("descending")), sum(f.direction > 0 for f in facts)
    if ascending is None:
        return contradicted(facts[-1], "order_opposite", descending.words) if said_count > count > 0 else None
    if said_count != count and said_count + len(a.of("ascending")) == len(facts):
        return contradicted(facts[0], "order_opposite", descending.words)
    return None


def _descending(a: Alignment, fact: Fact, runs: Runs) -> Finding:
    ascending, descending = runs
    if descending is not None:
        return said(fact, "order", descending.words)
    if ascending is not None:
        return contradicted(fact, "order_opposite", ascending.words)
    return unsaid(fact, "order") if a.of("superlative") else missing(fact, "descending_missing")


def _ascending(a: Alignment, fact: Fact, runs: Runs, facts: list[Fact]) -> Finding:
    ascending, descending = runs
    if ascending is not None:
        return said(fact, "order", ascending.words)
    if descending is not None and not any(f.direction > 0 for f in facts):
        return contradicted(fact, "order_opposite", descending.words)
    if a.first("sorting", "each") or any(way(a, s, fact.name) for s in a.of("superlative")):
        return unsaid(fact, "order")
    return missing(fact, "order_missing")


@rule("query")
def order_added(a: Alignment) -> Iterator[Finding]:
    """An order that the query does not have."""
    signal = next((s for s in _stated(a) if s is not None and a.free(s)), None)
    if signal is not None and not a.reading.of("order"):
        yield added(a.sentence, "order", "order_added", signal.words)


def _first_comes(a: Alignment, name: Name) -> Signal | None:
    """`highest first`, `the best paid at the top`, `starting with the oldest`: which way a list runs."""
    lows = a.sentence.lows
    for signal in a.of("superlative"):
        direction = way(a, signal, name)
        if not direction or signal.word == "first":
            continue
        behind, before = lows[signal.last : signal.last + 5], lows[max(0, signal.first - 4) : signal.first]
        leads = "first" in behind[:3] or (not _HEADS.isdisjoint(behind) and not _PLACED.isdisjoint(behind))
        if leads or not a.guards["beginnings"].isdisjoint(before):
            return Signal("order", signal.first, signal.last, signal.word, direction)
        if (
            not a.guards["endings"].isdisjoint(before)
            or ("bottom" in behind and not _PLACED.isdisjoint(behind))
            or "last" in behind[:2]
        ):
            return Signal("order", signal.first, signal.last, signal.word, -direction)
    return None


def _from_to(a: Alignment, name: Name) -> Signal | None:
    """`from old to young`, `from the most recent to the oldest`, `oldest to youngest`: which way it runs."""
    lows, vocabulary = a.sentence.lows, a.vocabulary
    for i in a.sentence.by_low.get("to", [])[:_MOST_ENDS]:
        after = next((w for w in lows[i + 1 : i + 4] if w not in a.guards["between_ends"]), "")
        ends = [vocabulary.superlatives.get(w, w) for w in (a.sentence.low(i - 1), after)]
        if all(end in vocabulary.classes for end in ends):
            direction = vocabulary.points(ends[0], name) * (-1 if a.sentence.low(i - 2) == "least" else 1)
            if direction:
                return Signal("order", i - 1, i + 2, lows[i - 1], direction)
        before = [s for s in a.of("superlative") if s.last <= i < s.last + 5 and way(a, s, name)]
        behind = [s for s in a.of("superlative") if i < s.first <= i + 3 and way(a, s, name)]
        if before and behind and way(a, before[-1], name) == -way(a, behind[0], name):
            start = before[-1]  # from the most recently opened back to the oldest
            return Signal("order", start.first, start.last, start.word, way(a, start, name))
    return None
