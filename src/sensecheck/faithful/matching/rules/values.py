"""Literal strings: what the query states must be said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sensecheck.faithful.facts import Fact, name_of
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.flags import denied_besides, is_flag, side_told, wanted
from sensecheck.faithful.matching.leftover import flag_loosely_told, leftover, spoken
from sensecheck.faithful.matching.names import synonym_positions
from sensecheck.faithful.matching.ruling import Finding, contradicted, missing, rule, said, unsaid
from sensecheck.faithful.matching.values import denied_opposite, find_value, month_of


@rule()
def values(a: Alignment) -> Iterator[Finding]:
    """Literal strings must be said, and a column must not be equal to two at once."""
    for fact in a.reading.texts:
        words = a.said.get(fact)
        if words is not None and fact.way and fact.op == "=" and _wrong_end(a, fact, words.positions):
            yield contradicted(fact, "journey_reversed", words.positions)
        elif words is not None:
            yield said(fact, "value", words.positions)
        elif _unsaid_value(a, fact) or fact in a.elaborations:
            yield unsaid(fact, "value")
        else:
            partly = find_value(a.sentence, (fact.value or "").strip()).positions
            name = "value_missing" if not partly else "value_partial_logic" if a.form else "value_partial"
            if not partly and _loosely_told(a, fact):
                name = "value_loosely_told"
            yield missing(fact, "value_negated_missing" if a.form and fact.op == "!=" else name, partly)
    twice = None if a.form or a.weighed else a.reading.fixed_twice  # with keys, `impossible` tells more of it
    if twice is not None:
        yield contradicted(twice, "fixed_twice")


def _wrong_end(a: Alignment, fact: Fact, positions: Sequence[int]) -> bool:
    """`from Ashley` for a destination."""
    i = min(positions) - 1
    while i >= 0 and (a.sentence.lows[i] in a.guards["journey_links"] or a.sentence.tokens[i].kind == "sign"):
        i -= 1
    return a.sentence.low(i) in a.guards["journey_from" if fact.way == "to" else "journey_to"]


def _unsaid_value(a: Alignment, fact: Fact) -> bool:
    """Values that a sentence says by stating or denying the column."""
    low, vocabulary, by_low = fact.plain_value, a.vocabulary, a.sentence.by_low
    if not low or denied_opposite(a.sentence, low) or month_of(a.sentence, fact):
        return True
    if low in vocabulary.no and any(
        prefix + word in by_low for word in fact.name.words for prefix in a.guards["negative_prefixes"]
    ):
        return True  # unpaid
    if low in vocabulary.yes or low in vocabulary.no:
        if a.form or not fact.name.words or not fact.also:
            return True
        denied = a.first("negation") is not None
        side, words = side_told(a, fact) if is_flag(a, fact) else (0, frozenset())
        if side:  # still owing: not paid
            others = (cue for kind in ("negation", "negation_soft") for cue in a.of(kind) if cue.first not in words)
            return side == wanted(a, fact) or any(others) or denied_besides(a, fact)
        if a.told(fact):
            return True
        if _opposite_said(a, fact) or _unfinished(a, fact):
            return denied == ((low in vocabulary.yes) == (fact.op == "="))  # still outstanding: not paid
        if low in vocabulary.yes and find_value(a.sentence, " ".join(fact.name.words)).score >= 0.9:
            return True  # here half the week: part time
        return flag_loosely_told(a, fact) and (denied == (low in vocabulary.no) or len(leftover(a)) > 1)
    return len(low) == 1 and not low.isdigit() and a.mention(fact.name).score > 0.5


def _loosely_told(a: Alignment, fact: Fact) -> bool:
    """Whether each word of a value may be told by another one: about boats, of the theme ships."""
    if a.form or a.weighed or not (fact.value or "").islower() or not spoken(a):
        return False
    words = name_of(fact.value or "").words
    return bool(words) and all(len(word) > 3 and synonym_positions(a.sentence, word) for word in words)


def _opposite_said(a: Alignment, fact: Fact) -> bool:
    """Whether a word says the opposite of the column of a yes or no."""
    opposites = (a.vocabulary.opposites.get(key, frozenset()) for key in fact.name.stems)
    return any(not words.isdisjoint(a.sentence.by_stem) for words in opposites)


def _unfinished(a: Alignment, fact: Fact) -> bool:
    """Still waiting, still to come: of what a participle says to be done (fixed, paid), the opposite."""
    name = fact.name
    inflected = (word != key and word[-1] != "s" for word, key in zip(name.words, name.stems, strict=True))
    return a.says("unfinished") and any(inflected)
