"""Words of a sentence that nothing explains, and how closely a sentence keeps to the names of the query.

A column can be told in words that no list has. It needs words for that: where every word says something else, a column
that is not named is missing; where words are left over, they may tell of it. People who speak leave more unsaid than
people who write, and say it in more ways.
"""

from __future__ import annotations

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.names import literal_positions, stands, synonym_positions
from sensecheck.faithful.matching.signals import Signal

_DEGREES = ("comparative", "superlative")
_CLAUSE_ENDS = frozenset((".", ",", ";", ":", "?", "!", "(", ")", "-"))
_LEAST_ASIDE = 4
"""How many words a clause of mere talk has at least."""
_CUT_SHORT = ("n't", "'ve", "'re", "'ll", "'d", "'m")


def loosely_told(a: Alignment, fact: Fact) -> bool:
    """Whether words are left over that may tell of the column of a fact: two in a question, or one in what is spoken;
    and none that tell of a column in its place."""
    if "id" in fact.name.words or a.reading.is_label(fact) or _other_instead(a) or not _enough_left(a, fact):
        return False
    return not _row_instead(a, fact)


def flag_loosely_told(a: Alignment, fact: Fact) -> bool:
    """Whether the column of a yes or no may be told in words that no list has; then nobody knows which of them says
    yes: who mustn't have a sip of water, for `nil_by_mouth = 'yes'`."""
    flags = a.vocabulary.yes | a.vocabulary.no
    if a.form or a.weighed or fact.plain_value not in flags or not fact.name.words or not fact.also:
        return False
    return spoken(a) and loosely_told(a, fact)


def _enough_left(a: Alignment, fact: Fact) -> bool:
    if a.form:  # in a longer one that is written, words that nothing explains name the column in its place
        return spoken(a) or len(leftover(a)) < 2
    left = len(leftover(a))
    if not a.reading.vocabulary:  # without a schema, nobody knows which words name other columns
        return left > 0 and spoken(a)
    return left > 1 or (left == 1 and spoken(a)) or _asked_by_kind(a, fact)


def _asked_by_kind(a: Alignment, fact: Fact) -> bool:
    """How much, how long, in what: a number or a text is asked for, and the column is of that sort."""
    if fact.kind != "column":
        return False
    asks = a.guards["text_asks" if fact.name in a.reading.textual else "number_asks"]
    return any(stands(a.sentence, tuple(ask.split())) for ask in asks)


def _row_instead(a: Alignment, fact: Fact) -> bool:
    """Whether the rows themselves are asked for, and the query gives something of theirs and not their name."""
    if fact.kind != "column" or fact.role != "select" or not (a.says("who_words") or asked_by_noun(a, fact)):
        return False
    if not a.reading.labels_of(fact.table):
        return False
    selected = (f for f in a.reading.of("column") if f.role == "select")
    return not any(a.reading.is_label(f) or a.told(f) for f in selected)


def asked_by_noun(a: Alignment, fact: Fact) -> bool:
    """Which members, what animals."""
    places = {i for word in fact.table.words for i in literal_positions(a.sentence, word)}
    asking = (i for word in a.guards["question_words"] for i in a.sentence.by_low.get(word, ()))
    return any(i + 1 in places or i + 2 in places for i in asking)


def _other_instead(a: Alignment) -> bool:
    """Whether a word tells of a column of the tables that the query does not use."""
    by_stem, generic = a.sentence.by_stem, a.vocabulary.generic
    rows = {key for _, names in a.reading.labelled for name in names for key in name.stems}  # going over all the firms
    telling = (key for key in a.reading.other_stems.intersection(by_stem) if key not in generic and key not in rows)
    return any(not a.owner[i] for key in telling for i in by_stem[key])


def declined_words(a: Alignment, cue: Signal) -> list[int]:
    """The columns that a denial of its own declines: just the plates, not the owners."""
    lows, tokens = a.sentence.lows, a.sentence.tokens
    if not a.reading.other_stems or a.sentence.low(cue.first - 1) not in (",", "-", ".", ";", "("):
        return []
    behind = range(cue.last, min(cue.last + 7, a.sentence.n))
    end = next((i for i in behind if lows[i] in ".?!;:,)"), min(behind.stop, a.sentence.n))
    named = [i for i in range(cue.last, end) if tokens[i].stem in a.reading.other_stems and not a.owner[i]]
    rest = (lows[i] for i in range(cue.last, end) if i not in named)
    return named if all(low in a.guards["talk"] for low in rest) else []


def leftover(a: Alignment) -> list[int]:
    """Words that say no fact, give no signal, name nothing in the schema, and are not mere talk."""
    sentence, talk, operators = a.sentence, a.guards["talk"], a.vocabulary.operator_words
    owner, known = a.owner, a.reading.vocabulary
    left = [
        i
        for i, (_, low, key, _, _, kind) in enumerate(sentence.tokens)
        if low not in talk
        and not owner[i]
        and key not in known
        and kind == "word"
        and len(low) > 2
        and low not in operators
    ]
    if left:
        degrees = (s for kind in _DEGREES if kind in a.signals for s in a.signals[kind])
        taken = {i for signal in degrees for i in range(signal.first, signal.last)}  # other signals are operators
        for word in {word for name in a.reading.names for word in name.words}:
            taken.update(literal_positions(sentence, word), synonym_positions(sentence, word))
        left = [i for i in left if i not in taken]
    return left


def talk_beside(a: Alignment) -> set[int]:
    """Words of what sounds spoken that stand in a clause which neither asks nor says anything of the query: my hip
    won't stand for them."""
    if not spoken(a):
        return set()
    lows, telling = a.sentence.lows, _telling_words(a)
    talk: set[int] = set()
    first = 0
    for last in (*(i for i, low in enumerate(lows) if low in _CLAUSE_ENDS), len(lows)):
        clause, first = range(first, last), last + 1
        if len(clause) < _LEAST_ASIDE or not telling.isdisjoint(clause):
            continue
        again = lows[last : last + 1] == [","] and " ".join(lows[last + 1 : last + 3]) in a.guards["said_again"]
        if again or not _asks_or_goes_on(a, clause):
            talk.update(clause)
    return talk


def _telling_words(a: Alignment) -> set[int]:
    """Words that say something of the query or name something of the schema."""
    sentence, known, vague = a.sentence, a.reading.vocabulary, a.guards["parts_of_names"]
    found = {number.first for i, number in enumerate(sentence.numbers) if i in a.used_numbers}
    found.update(i for fact in a.reading.of("table") for i in a.mention(fact.name).positions)
    found.update(signal.first for kind in _DEGREES for signal in a.of(kind))
    found.update(
        i for i, token in enumerate(sentence.tokens) if a.owner[i] or (token.stem in known and token.low not in vague)
    )
    return found


def _asks_or_goes_on(a: Alignment, clause: range) -> bool:
    """Whether a clause asks, or tells more of the rows: anything nobody wants; only those without."""
    lows = a.sentence.lows[clause.start : clause.stop]
    if lows[0] in a.guards["row_words"] or (clause.start and lows[0] in a.guards["going_on"]):
        return True
    return not a.guards["asking"].isdisjoint(lows)


def spoken(a: Alignment) -> bool:
    """Whether a sentence sounds spoken: somebody speaks of himself or to somebody, or cuts words short."""
    if a.says("speaking"):
        return True
    text = a.sentence.text
    if "'" not in text:
        return False
    if any(low.endswith(_CUT_SHORT) for low in a.sentence.by_low):
        return True
    return any(word in text.lower() for word in a.guards["cut_short"])
