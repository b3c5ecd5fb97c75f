"""Negation, both ways: not, never, without, except against !=, NOT IN, EXCEPT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from sensecheck.faithful.facts import Fact, name_of
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.flags import is_flag, side_told, wanted
from sensecheck.faithful.matching.leftover import declined_words, flag_loosely_told
from sensecheck.faithful.matching.names import stands
from sensecheck.faithful.matching.ruling import Finding, added, contradicted, missing, rule, said, unsaid
from sensecheck.faithful.matching.signals import Signal
from sensecheck.faithful.matching.values import denied_opposite
from sensecheck.language.morphology import lemma

_AROUND = 7
"""How many words around a denial tell what is left out."""
_EXCLUDED = 3
"""How many words may stand between `anything but` and the value that is left out."""
_MISPLACED = 4
"""How many words may stand between a denial and the value that it denies."""


@rule()
def negations(a: Alignment) -> Iterator[Finding]:
    """What the query denies, the sentence must deny."""
    facts = _required(a)
    cues = (_cues(a) or a.of("negation_soft")) if facts else ()
    for fact in facts:
        if cues:
            yield said(fact, "negation", cues[0].words)
        elif _sounds_negative(a, "negative_openings", longer_than=5):
            yield unsaid(fact, "negation")
        else:
            yield missing(fact, "negation_missing")


def _cues(a: Alignment) -> list[Signal]:
    return [s for s in a.of("negation") if a.owner[s.first] not in ("value", "quote")]


def _required(a: Alignment) -> list[Fact]:
    """Denials that must be said: not of a value that is asked for too, nor of one that means no and goes unsaid."""
    facts = a.reading.of("negation")
    if not facts:
        return facts
    asserted = {f.value for f in a.reading.of("comparison") if f.op == "="}
    worded = set() if a.form else {f.value for f in a.reading.facts if a.worded(f)}
    stored_no = {f.value for f in facts if f.plain_value in a.vocabulary.no} - worded
    return [f for f in facts if not f.optional and (f.value is None or f.value not in asserted | stored_no)]


def _sounds_negative(a: Alignment, openings: str, longer_than: int = 0) -> bool:
    """Whether a word begins like a denial: unpaved, nonfiction; not like under or include."""
    prefixes, innocent = tuple(a.guards[openings]), a.guards["not_negative"]
    return any(len(low) > longer_than and low.startswith(prefixes) and low not in innocent for low in a.sentence.lows)


@rule("query")
def negation_misplaced(a: Alignment) -> Iterator[Finding]:
    """A grade of B but not from Brno: the town is denied, not the grade."""
    if a.weighed or len(a.reading.of("negation")) != 1 or "negation_soft" in a.signals:
        return
    compared = [f for f in a.reading.of("comparison") if f.op in ("=", "!=") and a.worded(f) and a.said[f].positions]
    denied, cues = [f for f in compared if f.op == "!="], _cues(a)
    if len(denied) != 1 or not cues:
        return
    asserted = [f for f in compared if f.op == "=" and f.name != denied[0].name]
    last = max(a.said[denied[0]].positions)
    if all(cue.first > last and (_of_flag(a, cue) or _before_any(a, cue, asserted)) for cue in cues):
        yield contradicted(denied[0], "negation_misplaced", cues[0].words)


def _before_any(a: Alignment, cue: Signal, facts: Sequence[Fact]) -> bool:
    """Whether a denial stands right before the value of one of the facts."""
    reach = range(cue.last, cue.last + _MISPLACED)
    return not _idle(a, cue) and any(min(a.said[fact].positions) in reach for fact in facts)


@rule("query")
def value_excluded(a: Alignment) -> Iterator[Finding]:
    """From anywhere but Linz, where the query asks for Linz."""
    if "negation_soft" not in a.signals or a.weighed or a.reading.of("negation"):
        return
    for cue in a.of("negation_soft"):
        if " ".join(a.sentence.lows[cue.first : cue.last]) not in a.guards["excluding"]:
            continue
        for fact in a.reading.of("comparison"):
            positions = a.said[fact].positions if fact.op == "=" and a.worded(fact) else ()
            if positions and 0 <= min(positions) - cue.last < _EXCLUDED and not _denies(a, fact):
                yield contradicted(fact, "value_excluded", cue.words)
                return


@rule("query")
def negation_counts(a: Alignment) -> Iterator[Finding]:
    """Two denials are not one."""
    facts = _required(a)
    cues = _cues(a) if facts else []
    if not cues:
        return
    lows = a.sentence.lows
    said_count = sum(1 for cue in cues if lows[cue.first] != "nor" and not _in_concord(a, cue) and not _idle(a, cue))
    asked_count = len({(f.op, f.value) if f.op != "!=" else ("!=", "") for f in facts})
    value_count = len({f.value for f in facts if f.op == "!="})
    if asked_count >= 2 and said_count == 1 and "nor" not in lows:
        yield missing(facts[-1], "negation_count", cues[0].words)
    elif (
        asked_count == 1 and said_count > max(1, value_count) and any(y.first - x.last <= 1 for x, y in pairwise(cues))
    ):
        yield added(a.sentence, "negation", "negation_doubled", cues[-1].words)


@rule("query")
def naught_denied(a: Alignment) -> Iterator[Finding]:
    """Out of stock, free: there is none, and the query asks for what there is some of."""
    if 0 not in a.reading.numbers or a.weighed or _cues(a) or "negation_soft" in a.signals:
        return
    if 0 in {number.value for number in a.sentence.numbers}:
        return
    fact = next((f for f in a.reading.of("comparison") if f.op == "!=" and f.number == 0), None)
    if fact is not None and any(stands(a.sentence, tuple(phrase.split())) for phrase in a.guards["none_left"]):
        yield contradicted(fact, "nothing_denied")


def _nothing_denied(a: Alignment, cues: list[Signal]) -> Iterator[Finding]:
    """`!= 0` or `!= 'none'` is that there is some: a sentence that denies it says the opposite."""
    facts = [f for f in a.reading.of("comparison") if f.op == "!=" and _means_none(a, f)]
    if not facts or 0 in {number.value for number in a.sentence.numbers}:
        return
    others = {(f.op, f.value) for f in a.reading.of("negation") if f.value not in {fact.value for fact in facts}}
    others |= {(f.op, f.value) for f in a.reading.of("comparison") if f.op == "=" and _denies(a, f)}
    if len(cues) > len(others):
        yield contradicted(facts[0], "nothing_denied", cues[0].words)


def _means_none(a: Alignment, fact: Fact) -> bool:
    return fact.number == 0 or (fact.plain_value in a.guards["denials"] and not a.worded(fact))


def _surplus(a: Alignment, cues: list[Signal]) -> Iterator[Finding]:
    """More denials than the query has to be told by."""
    facts = a.reading.of("negation")
    denied = {(f.op, f.value) for f in facts} | {(f.op, f.value) for f in a.reading.of("comparison") if _denies(a, f)}
    said = [cue for cue in cues if not _failure(a, cue)]
    if denied and len(said) > len(denied):
        yield added(a.sentence, "negation", "negation_surplus", said[-1].words)


def _repeats(a: Alignment, cue: Signal) -> bool:
    """Neither … nor; never, not one of them; nobody, no drivers at all; nothing spicy, what is there that isn't: the
    same denial once more."""
    if a.sentence.lows[cue.first] == "nor" or a.sentence.low(cue.first - 1) in (",", "-"):
        return True
    if _in_concord(a, cue):
        return True
    elliptic = a.sentence.words[cue.first].negative and a.sentence.low(cue.last) in ("", *".?!,")
    return elliptic and a.of("negation")[0] is not cue


def _in_concord(a: Alignment, cue: Signal) -> bool:
    """Nobody never, never nothing: where people deny twice to deny once."""
    nobody, before, low = a.guards["nobody"], a.sentence.low(cue.first - 1), a.sentence.lows[cue.first]
    return low in nobody and before in nobody and low != before


@rule("form")
def denial_missing(a: Alignment) -> Iterator[Finding]:
    """A stored value that means no wants a denial, unless it is said itself."""
    stored = (f for f in a.reading.of("comparison") if f.op == "=" and f.plain_value in a.guards["denials"])
    fact = next((f for f in stored if not a.worded(f)), None)
    if fact is None or a.first("negation_soft") or a.reading.of("negation") or _cues(a):
        return
    if not _sounds_negative(a, "negative_prefixes"):
        yield missing(fact, "denial_missing")


@rule()
def negation_added(a: Alignment) -> Iterator[Finding]:
    """A denial that the query does not have, that it has the other way round, or fewer times."""
    cues = _cues(a) if "negation" in a.signals else ()
    if not cues:
        return
    said = [cue for cue in cues if not _idle(a, cue) and not _repeats(a, cue)]
    if a.reading.of("negation"):
        yield from _nothing_denied(a, said)
    if len(said) > 1:
        yield from _surplus(a, said)
    if a.reading.of("negation") or any(_denies(a, f) for f in a.reading.of("comparison")):
        return
    if any(f not in a.said and not a.told(f) and flag_loosely_told(a, f) for f in a.reading.of("comparison")):
        return
    if len(cues) == 2 and any(f.op == "all" for f in a.reading.of("quantifier")):
        return  # there is none without: all with
    for cue in cues:
        explained = _idle(a, cue) or _failure(a, cue) or _opposite(a, cue) or _of_flag(a, cue)
        if not explained and a.owner[cue.first] != "hint":
            yield added(a.sentence, "negation", "negation_added", cue.words)
            return


def _denies(a: Alignment, fact: Fact) -> bool:
    """Whether a value denies by itself."""
    if fact.value is None:
        return False
    low = fact.plain_value
    return (
        not low
        or (low in a.vocabulary.no and (a.form or low == "no" or not a.worded(fact)))
        or denied_opposite(a.sentence, low)
        or fact.number == 0
        or (fact.op == "<" and fact.number == 1)
        or any(low.startswith(start) for start in a.guards["negative_starts"])
        or any(part in low for part in a.guards["negative_parts"])
    )


def _failure(a: Alignment, cue: Signal) -> bool:
    """`did not make`, `never won` for a stored missed cut, loss or retired."""
    if not any(lemma(low) in a.guards["successes"] for low in a.sentence.lows[cue.last : cue.last + 3]):
        return False
    return any(
        not a.guards["failures"].isdisjoint((*fact.value.lower().split(), *fact.name.words))
        for fact in a.reading.of("comparison")
        if fact.op == "=" and fact.value is not None
    )


def _opposite(a: Alignment, cue: Signal) -> bool:
    """`Do not open on Monday` for a closed day."""
    stems = (token.stem for token in a.sentence.tokens[cue.last : cue.last + 4])
    denied = {opposite for key in stems for opposite in a.vocabulary.opposites.get(key, ())}
    given = () if a.weighed else (f for f in a.reading.of("column") if f.role == "select")  # the day it is closed
    compared = (f for f in a.reading.of("comparison") if f.op == "=")
    return bool(denied) and any(
        not denied.isdisjoint((*fact.name.stems, *name_of(fact.value or "").stems)) for fact in (*compared, *given)
    )


def _of_flag(a: Alignment, cue: Signal) -> bool:
    """What the kids can't have is age restricted; what is not free is taken."""
    for fact in a.reading.of("comparison"):
        side, words = side_told(a, fact) if is_flag(a, fact) else (0, frozenset())
        if side and side == wanted(a, fact) and cue.first in words:
            return True
    return False


def _idle(a: Alignment, cue: Signal) -> bool:
    """Words of negation that deny nothing."""
    guards, lows = a.guards, a.sentence.lows
    low, before, after = lows[cue.first], a.sentence.low(cue.first - 1), a.sentence.low(cue.last)
    if low in guards["idle_anywhere"] or before in guards["idle_before"] or a.owner[cue.first] == "name":
        return True
    if any(a.owner[i] == "value" and lows[i] == "no" for i in range(cue.last, min(cue.last + 3, a.sentence.n))):
        return True  # haven't got no heating
    if low == "not" and (before == "or" or after in guards["idle_after_not"]):
        return True  # whether or not, not only
    if a.first("hardly_any") is not None and a.first("most_quantifier") is not None:
        return any(signal.first == cue.first for signal in a.of("hardly_any"))  # not many are red, most are blue
    if declined_words(a, cue):
        return True  # just the plates, not the owners
    if _of_empty_groups(a, cue):
        return True
    if low == "not" and after in guards["everything"] and any(f.op == "most" for f in a.reading.of("quantifier")):
        return True
    if low == "outside" and after in ("", *".?!,"):
        return True  # where can we sit outside
    if (low == "no" and after in guards["idle_after_no"]) or (low == "outside" and "top" in lows[cue.last :][:3]):
        return True
    return a.form and (low in guards["idle_in_forms"] or _turns_comparison(a, cue))


def _of_empty_groups(a: Alignment, cue: Signal) -> bool:
    """Leaving out any with none at all: a join leaves them out by itself."""
    if not a.reading.joins or not a.reading.of("group"):
        return False
    around = a.sentence.lows[max(0, cue.first - _AROUND) : cue.last + _AROUND]
    return not a.guards["leaving_out"].isdisjoint(around) and not a.guards["emptiness"].isdisjoint(around)


def _turns_comparison(a: Alignment, cue: Signal) -> bool:
    """Not in the top 15, neither scored more than 3: the denial turns the comparison round."""
    return bool(a.reading.directed) and not a.guards["turned_degrees"].isdisjoint(
        a.sentence.lows[cue.last : cue.last + 6]
    )
