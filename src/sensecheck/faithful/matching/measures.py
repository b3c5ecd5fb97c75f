"""What sort of thing a column holds, and whether an adjective tells of it."""

from __future__ import annotations

from sensecheck.faithful.facts import Fact, Name
from sensecheck.faithful.matching.alignment import Alignment


def names_things(a: Alignment, name: Name) -> bool:
    """Whether a column holds names, keys or other text: nothing that one compares by size."""
    return name in a.reading.textual or name.words[-1] in a.guards["keys"] or name.stems[-1] in a.vocabulary.named


def told_by_adjective(a: Alignment, fact: Fact) -> bool:
    """The busiest, the most valuable, from the most experienced on: the adjective stands for the measure, whatever
    its column is called. High, large or most do not: they want a noun, and it should be the column's."""
    if names_things(a, fact.name) or fact.name.stems[-1] in a.vocabulary.dated:
        return False
    return any(s.word not in a.guards["plain_degrees"] and not _of_time(a, s.word) for s in a.of("superlative"))


def told_by_age(a: Alignment, fact: Fact) -> bool:
    """The oldest, the latest, for longest, in chronological order: any column of times."""
    if fact.name not in a.reading.timed and a.vocabulary.kinds_of(fact.name).isdisjoint(("time", "age")):
        return False
    return a.says("chronological") or any(s.word == "long" or _of_time(a, s.word) for s in a.of("superlative"))


def _of_time(a: Alignment, adjective: str) -> bool:
    return a.vocabulary.classes.get(adjective, "").startswith(("time", "age"))
