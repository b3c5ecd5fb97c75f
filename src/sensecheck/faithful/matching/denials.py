"""Denials that deny nothing, and denials that turn a comparison round.

`Not above 500` is at most 500, `nobody is older than Ann` makes Ann the oldest, `not even ten` is less than ten; and
who says `I can't remember` or `isn't it?` denies nothing of what is asked. Which of them a denial is depends on whether
the query denies something itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from sensecheck.faithful.facts import Name, Reading
from sensecheck.faithful.matching.sentence import Sentence
from sensecheck.faithful.matching.signals import DIRECTION, Signal
from sensecheck.language.morphology import lemma

_REACH = 8
"""How many words a denial may stand before what it turns round; one that opens its clause, half as many again."""
_MOST_DENIALS = 12
"""Nobody who means something denies more often; what does is taken as it stands, so that it takes no time."""


def without_idle(sentence: Sentence, signals: Sequence[Signal], owner: Sequence[str], reading: Reading) -> list[Signal]:
    """The signals without denials that belong to the talk around a question: I can't remember, isn't it."""
    if sum(s.kind == "negation" for s in signals) > _MOST_DENIALS:
        return list(signals)
    return [
        s
        for s in signals
        if s.kind != "negation"
        or not (_of_talk(sentence, s) or _apart(sentence, s, owner, reading) or _of_repeats(sentence, s, reading))
    ]


def _apart(sentence: Sentence, cue: Signal, owner: Sequence[str], reading: Reading) -> bool:
    """Whether a denial stands in a sentence of its own that says nothing of the query: I don't have all day."""
    ends = [i for i in range(sentence.n) if sentence.lows[i] in ".?!;"]
    first = max((i + 1 for i in ends if i < cue.first), default=0)
    last = min((i for i in ends if i >= cue.last), default=sentence.n)
    inside = range(first, last)
    if not ends or len(inside) + 1 >= sentence.n:
        return False
    if any(owner[i] for i in inside) or any(number.first in inside for number in sentence.numbers):
        return False
    guards, opening = sentence.vocabulary.guards, sentence.low(first)
    if opening in guards["asides"] or (opening == "not" and sentence.low(first + 1).endswith("ing")):
        return True
    # Man never stops: told after a question, of nothing in the schema. But `the ones without` goes on with it.
    told = sentence.low(last) != "?" and "?" in sentence.lows[:first] and opening not in guards["going_on"]
    return told and all(sentence.tokens[i].stem not in reading.vocabulary for i in inside)


def _of_repeats(sentence: Sentence, cue: Signal, reading: Reading) -> bool:
    """Do not say the same one two times, of what is given once each."""
    behind = sentence.lows[cue.last : cue.last + _REACH]
    return bool(reading.of("distinct")) and not sentence.vocabulary.guards["again"].isdisjoint(behind)


def _of_talk(sentence: Sentence, cue: Signal) -> bool:
    guards, low, after = sentence.vocabulary.guards, sentence.low(cue.first), sentence.low(cue.last)
    if low == "no" and after in (",", "-") and sentence.low(cue.first - 1) in ("", *",-.?!"):
        return True  # no, how many I mean
    if low in ("no", "nothing", "never") and after in guards["talk_after_no"]:
        return True  # no rush
    if low == "nothing" and after == "more" and sentence.low(cue.last + 1) != "than":
        return True  # the ids, nothing more
    if low == "not" and after in guards["talk_after_not"]:
        return True  # not sure
    ahead = sentence.lows[cue.last : cue.last + 6]
    if any(lemma(word) in guards["repeating"] for word in ahead[:4]) or (
        "twice" in ahead and not guards["any_twice"].isdisjoint(ahead)
    ):
        return True  # don't repeat yourself: each of them once
    contracted = sentence.words[cue.first].negative
    if contracted and after in guards["pronouns"]:
        behind = sentence.low(cue.last + 1)
        if behind in ("", *"?,.!-–—"):
            return True  # isn't it?
        if after in ("you", "we") and sentence.low(cue.first - 1) in ("", "why", ",", ".", "?", "-"):
            return True  # couldn't you tell me
    if not contracted and low != "not":
        return False
    speaker = sentence.low(cue.first - (1 if contracted else 2))
    if speaker not in ("i", "you", "we", "it", "that", "", "if", ",", "-"):
        return False
    return any(lemma(word) in guards["talk_verbs"] for word in sentence.lows[cue.last : cue.last + 2])


def turned(sentence: Sentence, signals: Sequence[Signal], reading: Reading) -> list[Signal]:
    """The signals of a sentence whose query compares or ranks: what a denial turns round is turned, and the denial is
    gone. As many denials are left as the query has itself, the first ones."""
    names = [fact.name for fact in (*reading.directed, *reading.of("order"))]
    if not names or sum(_denies(sentence, s) for s in signals) > _MOST_DENIALS:
        return list(signals)
    found, denied = list(signals), _denied(reading)
    makes: list[Signal] = []  # what denials have made: no other one turns them
    for cue in reversed(signals):
        if _denies(sentence, cue) and sum(_denies(sentence, s) for s in found) > denied:
            made = _equal_to(sentence, cue) or _short_of(sentence, cue, found)
            if made is not None:
                makes.append(made)
                inside = range(made.first, made.last)
                found = [s for s in found if s is not cue and (s.first not in inside or _denies(sentence, s))] + [made]
                continue
            twice = _turned_already(sentence, cue, found)
            if twice is not None:
                found = [s._replace(turned=False) if s is twice else s for s in found if s is not cue]
                continue
            after = _next_comparison(sentence, cue, [s for s in found if s not in makes], names)
            ranks = _opens(sentence, cue) and not reading.directed
            found = [
                s if s not in after else _turn(sentence, cue, s, ranks) for s in found if s is not cue or not after
            ]
    return sorted(found, key=lambda s: s.first)


def _turned_already(sentence: Sentence, cue: Signal, found: Sequence[Signal]) -> Signal | None:
    """What a second denial turns back: nothing that isn't under a fiver."""
    if not _opens(sentence, cue):
        return None
    return next((s for s in found if s.turned and cue.last <= s.first < _end(sentence, cue)), None)


def _denied(reading: Reading) -> int:
    """How many things a query denies; that there is none of something is a denial too."""
    denied = {(f.op, f.value) for f in reading.of("negation") if not f.optional}
    return len(denied | {(f.op, f.value) for f in reading.of("comparison") if f.number == 0})


def _denies(sentence: Sentence, signal: Signal) -> bool:
    return signal.kind == "negation" or (signal.kind == "only" and sentence.lows[signal.first] == "no")  # no other


def _opens(sentence: Sentence, cue: Signal) -> bool:
    """Whether nobody or nothing is what is spoken of: nobody, none of them, no hive, not one."""
    low, after = sentence.low(cue.first), sentence.low(cue.last)
    if low in sentence.vocabulary.guards["nobody"] or (low == "not" and after in ("one", "any")):
        return True
    searched = lemma(after) in sentence.vocabulary.guards["searching"]
    return searched or sentence.low(cue.last + 1) == "any"  # you won't find older, they don't come any older


def _end(sentence: Sentence, cue: Signal) -> int:
    """Where the words end that a denial bears on."""
    reach = _REACH + _REACH // 2 if _opens(sentence, cue) else _REACH
    end = min(cue.last + reach, sentence.n)
    return next((i for i in range(cue.last, end) if sentence.lows[i] in ".?!;:"), end)


def _equal_to(sentence: Sentence, cue: Signal) -> Signal | None:
    """Not as much as, none … as far as, no other has so many."""
    lows, classes, end = sentence.lows, sentence.vocabulary.classes, _end(sentence, cue)
    for i in range(cue.last, end - 1):
        if lows[i] not in ("as", "so"):
            continue
        word = lows[i + 1]
        if word not in classes or (lows[i] == "as" and "as" not in lows[i + 2 : i + 6]):
            continue
        behind = next((k + 1 for k in range(i + 2, min(i + 6, sentence.n)) if lows[k] == "as"), i + 2)
        if _opens(sentence, cue) and not _number_at(sentence, behind):
            return Signal("superlative", cue.first, behind, word)
        return Signal("comparative", cue.first, behind, word, -1)
    return None


def _short_of(sentence: Sentence, cue: Signal, signals: Sequence[Signal]) -> Signal | None:
    """Not even ten, not yet 3, didn't reach 50, never got as far as five."""
    words = sentence.vocabulary.guards["falling_short"]
    for number in sentence.numbers:
        if not 0 < number.first - cue.last <= 6 or number.form == "ordinal":
            continue
        between, around = range(cue.last, number.first), range(cue.last, number.last + 3)
        if any(s.first in around and (s.kind in DIRECTION or s.kind == "comparative") for s in signals):
            return None
        short = any(lemma(sentence.lows[i]) in words for i in between)
        yet = "yet" in sentence.lows[number.last : number.last + 3]
        return Signal("less", cue.first, number.first) if short or yet else None
    return None


def _next_comparison(sentence: Sentence, cue: Signal, signals: Sequence[Signal], names: Sequence[Name]) -> list[Signal]:
    """What compares next behind a denial, if it tells a direction on a column of the query; one word may give two."""
    end = _end(sentence, cue)
    for signal in signals:
        if cue.last <= signal.first < end and _compares(sentence, cue, signal, names):
            return [s for s in signals if s.first == signal.first and _compares(sentence, cue, s, names)]
    return []


def _compares(sentence: Sentence, cue: Signal, signal: Signal, names: Sequence[Name]) -> bool:
    if signal.turned or sentence.low(signal.last) == "-":
        return False  # under-21
    if signal.kind in DIRECTION:
        return signal.kind != "multiple"
    than = "than" in sentence.lows[signal.last : signal.last + 5] or _with_all(sentence, cue, signal)
    if signal.kind != "comparative" or not than:
        return False
    return any(sentence.vocabulary.points(signal.word, name) for name in names)


def _with_all(sentence: Sentence, cue: Signal, signal: Signal) -> bool:
    """Nobody missed fewer: what is compared with is everybody else, and goes unsaid."""
    return _opens(sentence, cue) and sentence.low(signal.last) in ("", *".?!;:,-")


def _turn(sentence: Sentence, cue: Signal, signal: Signal, ranks: bool) -> Signal:
    """Nobody is older than 30: at most 30; nobody is older than Ann: the oldest. `ranks`: the query compares with no
    limit, so that it is always the oldest."""
    compares = signal.kind == "comparative" or sentence.lows[signal.last - 1] == "than"
    if compares and _opens(sentence, cue) and signal.kind not in ("after", "before"):
        places = range(signal.last - 1, min(signal.last + 5, sentence.n))
        than = next((i for i in places if sentence.lows[i] == "than"), -1)
        limit = _number_at(sentence, than + 1) or "average" in sentence.lows[than : than + 4]
        alone = than < 0 and ranks and _with_all(sentence, cue, signal)
        if alone or (than >= 0 and (ranks or not limit)):
            word = signal.word or ("many" if DIRECTION[signal.kind] > 0 else "few")
            return Signal("superlative", signal.first, signal.last, word, signal.sign)
    return signal._replace(turned=True)


def _number_at(sentence: Sentence, position: int) -> bool:
    return any(position <= number.first <= position + 2 for number in sentence.numbers)
