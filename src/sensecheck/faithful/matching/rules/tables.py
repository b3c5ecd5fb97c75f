"""Tables of a query, names that its schema lacks, and the form of the question."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.names import literal_positions, synonym_positions
from sensecheck.faithful.matching.ruling import Finding, added, contradicted, rule, said, unsaid


@rule("query")
def tables(a: Alignment) -> Iterator[Finding]:
    """Tables that are spoken of."""
    for fact in a.reading.of("table"):
        mention = a.mention_of(fact)
        yield (said if mention.score >= 0.5 else unsaid)(fact, "table", mention.positions)


@rule("query")
def table_swapped(a: Alignment) -> Iterator[Finding]:
    """No table or column of the query is spoken of, another table is."""
    sentence, facts = a.sentence, a.reading.of("table")
    if not facts or not a.reading.other_tables or any(a.mention(f.name).score >= 0.5 for f in a.reading.of("column")):
        return
    words = (word for fact in facts for name in fact.names for word in name.words)
    if any(literal_positions(sentence, w) or synonym_positions(sentence, w) for w in words):
        return
    covered = {i for name in a.reading.names for w in name.words for i in literal_positions(sentence, w)}
    for name in a.reading.other_tables:
        places = [
            [i for i in sentence.by_stem.get(key, ()) if i not in covered and not a.owner[i]] for key in name.stems
        ]
        if places and all(places):
            yield contradicted(facts[0], "table_swapped", [place[0] for place in places])
            return


@rule("query")
def misfits(a: Alignment) -> Iterator[Finding]:
    """Tables and columns that the schema does not have."""
    for fact in a.reading.of("misfit"):
        yield contradicted(fact, "misfit")


@rule("sql")
def yes_no_question(a: Alignment) -> Iterator[Finding]:
    """A question that wants yes or no for a query that gives values."""
    if a.sentence.low(0) in a.guards["auxiliaries"] and "or" not in a.sentence.by_low and not _requests(a):
        yield added(a.sentence, "question", "yes_no_question", range(1))


def _requests(a: Alignment) -> bool:
    """Whether it only sounds so (can you list), or asks for more in a sentence of its own: are there any? Give me their
    names."""
    if a.sentence.low(1) == "you" or a.sentence.low(1) in a.guards["requests"]:
        return True  # do let me have
    given = [fact for fact in a.reading.of("column") if fact.role == "select"]
    if not a.weighed and any(any(a.vocabulary.flag_of(fact.name).yes) for fact in given):
        return True  # has the inn breakfast
    if not a.weighed and not a.guards["some"].isdisjoint(a.sentence.lows[1:5]):
        return True  # is there any ground: which
    ends = [i for sign in "?.!," for i in a.sentence.by_low.get(sign, ())]
    if not a.weighed and any(a.sentence.low(i + 1) in a.guards["asking"] for i in ends):
        return True  # is there a museum with it, which one
    return any(a.sentence.low(i + 1) in a.guards["requests"] for i in ends)
