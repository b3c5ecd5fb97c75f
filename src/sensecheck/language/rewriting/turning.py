"""Rules that turn a sentence without new words: passives, short and full forms, modals, comparisons, and what comes
first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from sensecheck.language.rewriting.clause import Clause, in_lower_case, written
from sensecheck.language.rewriting.leaving_out import is_time, may_be_weakened
from sensecheck.language.rewriting.lexicon import listed, table_of
from sensecheck.language.rewriting.plain import is_year
from sensecheck.language.rewriting.rules import ANY_KIND, CONTRADICTS, EQUIVALENT, FOLLOWS, READABLE, rule

_OBJECT_FORMS = table_of("object forms")
_SHORT_FORMS = table_of("short forms")
_SHORT_NOT = table_of("short forms with not")
_MODALS = table_of("modals said otherwise")
_TO = table_of("said otherwise before to")
_ASSERTED = "progressive copular perfect modal simple"


@rule(FOLLOWS, "left out", negated=None)
def plainly_said(clause: Clause) -> Iterator[str]:
    """However, the bus (a red one) also stops: the bus stops."""
    if clause.shortened:
        yield written(clause.words)


# -- short and full forms ------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "contraction", READABLE, negated=None)
def in_full(clause: Clause) -> Iterator[str]:
    """It's late: it is late."""
    yield written(clause.words)


@rule(EQUIVALENT, "contraction", _ASSERTED)
def in_short(clause: Clause) -> Iterator[str]:
    """It is late: it's late."""
    short = _SHORT_FORMS.get(clause.auxiliary)
    agrees = clause.auxiliary != "is" or clause.determiner not in ("i", "we", "they", "you")
    if short and agrees and len(clause.subject) == 1 and clause.determiner in listed("takes short forms"):
        yield written([clause.subject[0] + short, *clause.words[2:]])


@rule(EQUIVALENT, "contraction", "modal perfect copular", negated=True)
def short_not(clause: Clause) -> Iterator[str]:
    """will not rain: won't rain."""
    short = _SHORT_NOT.get(clause.auxiliary)
    if short and clause.denied_by_not:
        yield written([*clause.subject, short, *clause.rest])


@rule(EQUIVALENT, "that", "simple")
def with_that(clause: Clause) -> Iterator[str]:
    """I think he sings: I think that he sings."""
    if clause.verb not in listed("takes that") or len(clause.rest) < 3:
        return
    first, second = clause.lower_rest[:2]
    if first == "that" and second in listed("pronouns") - {"that", "this", "those", "these"}:
        yield clause.say("{subject} {finite} {thing}")
    elif first in listed("surely subjects of a clause") and _is_verb(clause, second):
        yield clause.say("{subject} {finite} that {rest}")


def _is_verb(clause: Clause, word: str) -> bool:
    if word in listed("be", "have", "modals", "do") or word.endswith("n't"):
        return True
    return clause.lexicon.base_of(word, "third", "past", "base") is not None and word not in clause.lexicon.nouns


# -- modals and what stands before "to" ----------------------------------------------------------------------------


@rule(EQUIVALENT, "modal", "modal")
def modal_otherwise(clause: Clause) -> Iterator[str]:
    """can swim: is able to swim; must go: has to go."""
    said = _MODALS.get(clause.auxiliary)
    if said and clause.first not in listed("no verb behind a modal") and not clause.first.endswith("ly"):
        slots = {"are": "{be}", "has": "{has}"}
        yield clause.say(" ".join(slots.get(word, word) for word in ["{subject}", *said.split(), "{rest}"]))


@rule(EQUIVALENT, "modal", "modal")
def it_is_possible(clause: Clause) -> Iterator[str]:
    """may rain: it is possible that it rains."""
    unsaid = listed("no verb behind a modal") - {"be"} | {"have"}
    if clause.auxiliary not in ("might", "may") or clause.first in unsaid or clause.lower_rest[:2] == ["be", "as"]:
        return
    if not listed("unsure").isdisjoint(clause.lower_rest):
        return
    is_ = "{be}" if clause.first == "be" else "will {verb}"
    verb = clause.first
    yield clause.say(f"it is possible that {{subject}} {is_} {{thing}}", verb=verb)
    yield clause.say(f"perhaps {{subject}} {is_} {{thing}}", verb=verb)


@rule(EQUIVALENT, "verb synonym", "simple")
def to_otherwise(clause: Clause) -> Iterator[str]:
    """began to rain: started to rain."""
    if clause.first == "to" and clause.verb in _TO and not clause.coordinated:
        base, *tail = _TO[clause.verb].split()
        yield written(clause.but(verb=base, rest=(*tail, *clause.rest)).words)


@rule(EQUIVALENT, "modal", "simple", past=False)
def must(clause: Clause) -> Iterator[str]:
    """has to go: must go."""
    if clause.verb in ("have", "need") and clause.first == "to":
        yield clause.say("{subject} must {thing}")


# -- passive and active --------------------------------------------------------------------------------------------


def _participle(clause: Clause) -> str:
    """The base of the verb of a passive: "was built" is of build."""
    base = clause.lexicon.verb_of["participle"].get(clause.first, "")
    return base if base in clause.lexicon.transitive else ""


def _as_object(clause: Clause) -> tuple[str, ...]:
    pronoun = _OBJECT_FORMS.get(clause.determiner) if len(clause.subject) == 1 else None
    return (pronoun,) if pronoun else clause.subject


def _agent_end(clause: Clause) -> int:
    """Where the one who did it ends: "by Ann Lee | in 1998"; 0 where nobody is named."""
    rest, lower = clause.rest, clause.lower_rest
    if lower[1:2] != ["by"] or len(rest) < 3:
        return 0
    end = 2
    while end < len(rest) and lower[end] not in listed("prepositions", "relatives") and lower[end] != ",":
        end += 1
    agent = lower[2:end]
    if not agent or agent[0] in listed("possessives") or agent[0].endswith("ing") or agent[0][0].isdigit():
        return 0
    named = rest[2][:1].isupper() or agent[0] in listed("determiners", "numbers")
    if not named or is_time(agent) or ("and" in agent[:-1] and rest[end - 1][:1].islower()) or "to" in agent:
        return 0
    return end if end == len(rest) or lower[end] in ("in", "on", "at", "during", "after", "before") else 0


@rule(EQUIVALENT, "passive", "copular", past=True)
def active(clause: Clause) -> Iterator[str]:
    """The book was written by Ann: Ann wrote the book."""
    base, end = _participle(clause), _agent_end(clause)
    if base and end and clause.single and not _looks_back(clause):
        did = clause.lexicon.forms[base].past
        yield written([*clause.rest[2:end], did, *_as_object(clause), *clause.rest[end:]])


def _looks_back(clause: Clause) -> bool:
    return not listed("possessives", "reflexives").isdisjoint(clause.lower_rest)


@rule(FOLLOWS, "passive", "copular", past=True)
def somebody_did(clause: Clause) -> Iterator[str]:
    """The bridge was built in 1900: someone built the bridge in 1900."""
    base = _participle(clause)
    done = base in listed("done by people") and clause.lower_rest[1:2] != ["by"] and not _goes_on(clause)
    if done and _may_be_told(clause):
        did = clause.lexicon.forms[base].past
        yield clause.say("someone {did} {it} {thing}", did=did, it=_as_object(clause))


def _goes_on(clause: Clause) -> bool:
    """ "was written and sung in May", "was released, and has ten songs": a second verb has the same subject."""
    lower = clause.lower_rest
    pairs = itertools.pairwise(lower)
    return lower[1:2] == ["and"] or any(
        (a == "," and b == "and") or (a in ("and", "but") and b in _AUXILIARIES) for a, b in pairs
    )


_AUXILIARIES = listed("be", "have", "modals", "do")


def _may_be_told(clause: Clause) -> bool:
    return clause.single and may_be_weakened(clause) and "by" not in clause.lower_rest and not _looks_back(clause)


@rule(CONTRADICTS, "nobody", "copular", past=True)
def nobody_did(clause: Clause) -> Iterator[str]:
    """The bridge was built in 1900: nobody built the bridge in 1900."""
    base = _participle(clause)
    done = base in listed("done by people") and not _goes_on(clause)
    if done and clause.single and not clause.partial and not _looks_back(clause):
        did = clause.lexicon.forms[base].past
        end = _agent_end(clause)
        if end or "by" not in clause.lower_rest:
            yield clause.say("nobody {did} {it} {after}", did=did, it=_as_object(clause), after=clause.rest[end or 1 :])


def _object_end(clause: Clause) -> int:
    """Where a plain object ends that may come first: "the Sun | in 1998"; 0 where there is none."""
    rest, lower = clause.rest, clause.lower_rest
    end = 0
    while (
        end < len(rest) and lower[end] not in listed("prepositions", "conjunctions", "relatives") and lower[end] != ","
    ):
        end += 1
    named = bool(end) and all(word[:1].isupper() or word[:1].isdigit() for word in rest[:end])
    described = (
        bool(end) and lower[0] in ("a", "an", "the", "this") and clause.lexicon.noun_phrase_end(rest) in (0, end)
    )
    if not (named or described) or any(_is_verb(clause, w) or w.endswith(("ing", "ly")) for w in lower[1:end]):
        return 0
    after = lower[end : end + 1]
    return end if not after or after[0] in ("in", "on", "at", "for", "from", "during", "after", "before") else 0


def _names_in_full(clause: Clause, end: int) -> bool:
    """ "the Nobel Prize in Physics": what follows may belong to the name."""
    return clause.lower_rest[end : end + 1] == ["in"] and any(word[:1].isupper() for word in clause.rest[:end])


@rule(EQUIVALENT, "passive", "simple", past=True)
def passive_past(clause: Clause) -> Iterator[str]:
    """Ann wrote the book: the book was written by Ann."""
    end = _object_end(clause)
    if not end or clause.verb not in clause.lexicon.transitive or not clause.single or clause.coordinated:
        return
    if not _joined(clause) or _looks_back(clause) or _names_in_full(clause, end):
        return
    if clause.verb in listed("acts without an actor"):
        return
    moved, last = clause.rest[:end], clause.lower_rest[end - 1]
    many = clause.rest[0][:1].islower() and clause.lexicon.is_plural(last)
    yield clause.say(
        "{moved} {was} {participle} by {actor} {after}",
        moved=moved,
        was="were" if many else "was",
        participle=clause.lexicon.forms[clause.verb].participle,
        actor=_as_object(clause),
        after=clause.rest[end:],
    )


def _joined(clause: Clause) -> bool:
    """A subject that may stand behind "by": no phrase hangs on it that would be read with what follows."""
    return listed("prepositions").isdisjoint(in_lower_case(clause.subject[1:])) or clause.named


# -- comparisons ---------------------------------------------------------------------------------------------------


def _compared(clause: Clause) -> tuple[str, tuple[str, ...]] | None:
    """("larger", the other one) of "is larger than Rome"."""
    rest, lower = clause.rest, clause.lower_rest
    if len(rest) < 3 or lower[1] != "than" or not lower[0].endswith("er") or not clause.single:
        return None
    other = rest[2:]
    named = all(word[:1].isupper() for word in other)
    whole = clause.lexicon.noun_phrase_end(other) == len(other)
    if not (named or whole) or other[0].lower() in listed("no other side", "pronouns", "possessives", "numbers"):
        return None
    return lower[0], other


def _is_of(other: tuple[str, ...], clause: Clause) -> str:
    many = other[0].islower() and clause.lexicon.is_plural(other[-1].lower())
    return (("is", "are"), ("was", "were"))[clause.past][many]


@rule(EQUIVALENT, "comparison", "copular")
def the_other_way_round(clause: Clause) -> Iterator[str]:
    """Rome is larger than Pisa: Pisa is smaller than Rome."""
    found = _compared(clause)
    for less in clause.lexicon.opposites.get(found[0], ())[:1] if found else ():
        is_ = _is_of(found[1], clause) if found else ""
        yield clause.say("{other} {is_} {less} than {subject}", other=found[1] if found else "", is_=is_, less=less)


@rule(CONTRADICTS, "comparison", "copular")
def the_other_is_more(clause: Clause) -> Iterator[str]:
    """Rome is larger than Pisa: Pisa is larger than Rome."""
    found = _compared(clause)
    if found:
        more, other = found
        yield clause.say("{other} {is_} {more} than {subject}", other=other, is_=_is_of(other, clause), more=more)


@rule(CONTRADICTS, "opposite", "copular")
def less_not_more(clause: Clause) -> Iterator[str]:
    """is more popular than tea: is less popular than tea."""
    if "than" not in clause.lower_rest or clause.first not in ("more", "less"):
        return
    quality = clause.lower_rest[1]
    counted = clause.lexicon.is_plural(quality) and not clause.lexicon.describes(quality)
    if quality not in ("than", "of") and not counted:
        yield clause.say("{subject} {be} {less} {thing}", less="less" if clause.first == "more" else "more")


# -- what comes first ----------------------------------------------------------------------------------------------


def time_at_the_end(clause: Clause) -> int:
    """Where the last words begin, if they say when or in which named place: "in 1998", "in Rome"; 0 if they do not."""
    lower = clause.lower_rest
    for i in range(len(lower) - 2, 0, -1):
        if lower[i] in ("in", "on", "during"):
            named = lower[i] == "in" and all(word[:1].isupper() for word in clause.rest[i + 1 :])
            return i if (is_time(lower[i + 1 :]) or named) and lower[i - 1] not in listed("prepositions") else 0
        if lower[i] in listed("prepositions") and lower[i] not in ("of",):
            return 0
    return 0


@rule(EQUIVALENT, "adjunct cleft", "copular simple", past=True)
def it_was_then(clause: Clause) -> Iterator[str]:
    """The bridge was built in 1900: it was in 1900 that the bridge was built."""
    start = time_at_the_end(clause)
    if start and clause.verb not in listed("verbs that need their end") and _ends_whole(clause, start):
        main = clause.but(rest=clause.rest[:start])
        yield written(["it", "was", *clause.rest[start:], "that", *main.words])


def _ends_whole(clause: Clause, start: int) -> bool:
    """Does the time belong to the whole, and not to the last noun of a list or of an aside?"""
    lower = clause.lower_rest[:start]
    if not (listed("conjunctions", "relatives") | {",", "after", "before"}).isdisjoint(lower):
        return False
    if lower[-1] in listed("no last word", "articles"):
        return False
    return clause.kind == "simple" or _participle_base(clause) not in (None, *listed("verbs that need their end"))


def _participle_base(clause: Clause) -> str | None:
    return clause.lexicon.verb_of["participle"].get(clause.first)


@rule(EQUIVALENT, "fronting", "copular simple", past=True)
def time_first(clause: Clause) -> Iterator[str]:
    """The bridge was built on May 8: on May 8, the bridge was built."""
    start = time_at_the_end(clause)
    if start and is_time(clause.lower_rest[start + 1 :]) and _ends_whole(clause, start):
        yield written([*clause.rest[start:], ",", *clause.but(rest=clause.rest[:start]).words])


@rule(EQUIVALENT, "fronting", ANY_KIND, negated=None)
def clause_first(clause: Clause) -> Iterator[str]:
    """We read because it rains: because it rains, we read."""
    lower = clause.lower_rest
    openers = [i for i, word in enumerate(lower) if word in listed("clause that may come first")]
    if len(openers) != 1 or clause.kind == "unreadable" or not listed("relatives").isdisjoint(lower) or "," in lower:
        return
    start = openers[0]
    begun = start and start + 2 < len(lower) and lower[start + 1] in listed("surely subjects of a clause")
    if not begun or clause.lower[0] == "it" or clause.verb in listed("takes that", "asks") or "that" in lower[:start]:
        return
    if not listed("surely subjects of a clause").isdisjoint(lower[:start]):
        return  # "are certain they sang when they were young"
    if any(_is_verb(clause, word) for word in lower[start + 2 :]):
        main = clause.but(rest=clause.rest[:start])
        yield written([*clause.rest[start:], ",", *main.words])


@rule(EQUIVALENT, "adjunct cleft", "copular simple", past=True)
def the_year_in_which(clause: Clause) -> Iterator[str]:
    """The bridge was built in 1900: 1900 was the year in which the bridge was built."""
    start = time_at_the_end(clause)
    if start and len(clause.rest) == start + 2 and is_year(clause.rest[-1]) and _ends_whole(clause, start):
        main = clause.but(rest=clause.rest[:start])
        yield written([clause.rest[-1], "was", "the", "year", "in", "which", *main.words])


# -- what one does, what one is ------------------------------------------------------------------------------------


@rule(EQUIVALENT, "what", "simple do modal progressive", negated=None)
def what_one_did(clause: Clause) -> Iterator[str]:
    """Ann wrote a book: what Ann did was write a book."""
    if clause.kind == "modal":
        if clause.auxiliary not in ("can", "will", "should", "must"):
            return
        verb, rest = clause.first, clause.thing
    else:
        verb, rest = clause.verb, clause.rest
    if verb not in clause.lexicon.forms or verb in listed("nothing one does") or not clause.single or not rest:
        return
    if verb == "go" and clause.first == "to" and clause.kind == "progressive":
        return  # "is going to": that it will be so
    if clause.coordinated or "," in clause.rest or (clause.negated and not clause.denied_by_not):
        return
    if (verb, *(word.lower() for word in rest[:1])) in (("take", "place"), ("make", "up")):
        return
    if clause.determiner in listed("not singled out") or len(clause.predicate) > 20:
        return
    never = ["not"] if clause.negated else []
    if clause.kind == "modal":
        yield clause.say("what {subject} {auxiliary} {never} do is {act}", never=never, act=clause.rest)
    elif clause.kind == "progressive":
        if not clause.fragment:
            was = "was" if clause.past else "is"
            yield clause.say("what {subject} {auxiliary} {never} doing {was} {ing} {rest}", never=never, was=was)
    else:
        did = [clause.does, *never, "do"] if clause.negated else [clause.form_of("do")]
        was = "was" if clause.past else "is"
        yield clause.say("what {subject} {did} {was} {verb} {rest}", did=did, was=was)


@rule(FOLLOWS, "what", "simple", past=True)
def was_able_to(clause: Clause) -> Iterator[str]:
    """Ann wrote a book: Ann was able to write a book."""
    acts = clause.human or clause.named or clause.determiner == "i"
    if not acts or clause.verb in listed("nothing one does", "nothing one is able to"):
        return
    if not clause.coordinated and may_be_weakened(clause):
        yield clause.say("{subject} {be} able to {verb} {rest}")


@rule(EQUIVALENT, "described", "copular", negated=None)
def can_be_described(clause: Clause) -> Iterator[str]:
    """The soup is hot: the soup can be described as hot."""
    of_it = clause.determiner in listed("not singled out") or clause.lower[0] in ("it", "what", "there")
    if not clause.single or of_it or (clause.negated and not clause.denied_by_not):
        return
    if not _is_quality(clause) or len(clause.rest) > 12 or "," in clause.rest:
        return
    can = "could" if clause.past else "can"
    yield clause.say("{subject} {can} {not_} be described as {rest}", can=can, not_=["not"] if clause.negated else [])


def _is_quality(clause: Clause) -> bool:
    """ "hot", "a good singer": not "outside", "ready to go", "a week long"."""
    lexicon, first = clause.lexicon, clause.first
    if first in ("a", "an"):
        end = lexicon.noun_phrase_end(clause.rest)
        return end > 1 and clause.lower_rest[end - 1] not in listed("names of a time", "no kind of thing")
    if not lexicon.describes(first) or first in listed("no quality of its own") or first in listed("prepositions"):
        return False
    return len(clause.rest) == 1 or (clause.lower_rest[1] in ("and", "in", "for") and "to" not in clause.lower_rest)


@rule(EQUIVALENT, "identity", "copular", negated=None)
def the_one_is(clause: Clause) -> Iterator[str]:
    """Rome is the capital: the capital is Rome."""
    if clause.first != "the" or not clause.single or clause.noun in listed("pronouns") or "," in clause.rest:
        return
    if clause.plural or len(clause.rest) < 2 or len(clause.rest) > 12 or clause.determiner in listed("not singled out"):
        return
    if (clause.negated and not clause.denied_by_not) or not listed("no kind of thing").isdisjoint(
        clause.lower_rest[:3]
    ):
        return
    if not listed("relatives", "be", "have").isdisjoint(clause.lower_rest) or clause.lexicon.is_plural(
        clause.lower_rest[1]
    ):
        return
    yield clause.say("{rest} {be} {not_} {subject}", not_=["not"] if clause.negated else [])


@rule(FOLLOWS, "wider word", "copular")
def one_of_many(clause: Clause) -> Iterator[str]:
    """is one of the three rivers: is a river."""
    lower = clause.lower_rest
    if lower[:2] != ["one", "of"] or clause.plural or not may_be_weakened(clause.but(rest=clause.rest[2:])):
        return
    end = next((i for i in range(2, len(lower)) if lower[i] in clause.lexicon.plural_forms), 0)
    inside = lower[2:end]
    if end and all(word in listed("determiners", "numbers") or clause.lexicon.describes(word) for word in inside):
        kept = [word for word in clause.rest[2:end] if word.lower() not in listed("determiners", "numbers")]
        if end + 1 == len(lower) or lower[end + 1] in listed("prepositions"):
            yield clause.say("{subject} {be} a {kept} {one}", kept=kept, one=clause.lexicon.nouns[lower[end]])


# -- less said of what is acted on ---------------------------------------------------------------------------------


@rule(FOLLOWS, "wider word", "simple progressive")
def did_something(clause: Clause) -> Iterator[str]:
    """Ann wrote a book in Rome: Ann wrote something in Rome."""
    if not may_be_weakened(clause) or clause.coordinated:
        return
    verb = "{auxiliary} {ing}" if clause.kind == "progressive" else "{finite}"
    if clause.first == "that" and clause.verb in listed("says something") and len(clause.rest) > 3:
        yield clause.say(f"{{subject}} {verb} something")
        return
    end = _object_end(clause)
    noun = clause.lower_rest[end - 1] if end else ""
    if not end or clause.verb not in clause.lexicon.transitive or noun not in clause.lexicon.nouns:
        return
    if clause.lower_rest[end : end + 1] in (["of"], ["to"], ["for"]) or clause.lexicon.is_animal(noun):
        return
    what = "someone" if clause.lexicon.is_person(noun) and not clause.lexicon.is_plural(noun) else "something"
    if (what == "something" and clause.lexicon.is_person(noun)) or clause.rest[end - 1][:1].isupper():
        return
    yield clause.say(f"{{subject}} {verb} {{what}} {{after}}", what=what, after=clause.rest[end:])


@rule(FOLLOWS, "left out", "copular simple perfect")
def one_of_two(clause: Clause) -> Iterator[str]:
    """Ann and Bob left: Ann left."""
    lower = in_lower_case(clause.subject)
    if not clause.plural:
        return  # "Salt and Stone was a film"
    if lower.count("and") != 1 or "," in lower or not may_be_weakened(clause) or lower[0] == "both":
        return
    if clause.verb in listed("takes two together") or not listed("of several").isdisjoint(clause.lower_rest):
        return
    position = lower.index("and")
    first, second = clause.subject[:position], clause.subject[position + 1 :]
    for side in (first, second):
        plain = all(word[:1].isupper() for word in side) or (
            side[0].lower() in listed("articles", "possessives") and clause.lexicon.noun_phrase_end(side) == len(side)
        )
        if not side or not plain:
            return
    many = clause.lexicon.is_plural(in_lower_case(first)[-1])
    if "of" in lower or any(clause.lexicon.is_plural(word) for word in clause.lower_rest):
        return  # "are small shops", "play bakers"
    if not many:
        forms = {"are": "is", "were": "was", "have": "has"}
        yield written(
            clause.but(subject=first, plural=False, auxiliary=forms.get(clause.auxiliary, clause.auxiliary)).words
        )


@rule(FOLLOWS, "tense", "perfect")
def past_of_perfect(clause: Clause) -> Iterator[str]:
    """Ann has written a book: Ann wrote a book."""
    base = clause.lexicon.verb_of["participle"].get(clause.first, "")
    if not base or not may_be_weakened(clause) or not listed("goes with the perfect").isdisjoint(clause.lower_rest):
        return
    if base in listed("stative verbs", "goes on for long") or clause.shortened:
        return
    if base == "be" and len(clause.rest) > 1:
        yield clause.say(
            "{subject} {was} {thing}", was="were" if clause.plural or clause.determiner == "you" else "was"
        )
    elif base not in ("be", "have", "get", "become") and clause.thing:
        yield clause.say("{subject} {did} {thing}", did=clause.lexicon.forms[base].past)


@rule(EQUIVALENT, "modal", "modal")
def it_is_possible_for(clause: Clause) -> Iterator[str]:
    """can swim: it is possible for her to swim."""
    necessary = {"can": "possible", "must": "necessary"}.get(clause.auxiliary)
    if not necessary or not clause.single or clause.determiner in ("one", "there", "that", "this", "it"):
        return
    if clause.auxiliary == "must" and clause.first in ("be", "have"):
        return  # what must have been so is no duty
    if clause.first not in listed("no verb behind a modal") - {"be"} and not clause.first.endswith("ly"):
        yield clause.say("it is {how} for {them} to {rest}", how=necessary, them=_as_object(clause))


@rule(EQUIVALENT, "object cleft", "simple do", negated=None)
def it_is_what(clause: Clause) -> Iterator[str]:
    """Ann bought the car in Rome: it was the car that Ann bought in Rome."""
    end = _object_end(clause)
    if not end or not clause.single or clause.coordinated or clause.determiner in listed("not singled out"):
        return
    if _names_in_full(clause, end) or not listed("reflexives").isdisjoint(clause.lower_rest):
        return
    outdoes = any(word.endswith("est") or word in ("most", "best", "worst") for word in clause.lower_rest[:end])
    if (
        outdoes
        or clause.first in listed("negatives", "not singled out")
        or clause.lower_rest[end - 1] in listed("names of a time")
    ):
        return
    if (
        clause.verb == "be"
        or (clause.negated and not clause.denied_by_not)
        or clause.lower_rest[end : end + 1] == ["for"]
    ):
        return
    did = [clause.does, "not", clause.verb] if clause.negated else [clause.finite]
    was = "was" if clause.past else "is"
    yield clause.say(
        "it {was} {it} that {subject} {did} {after}", was=was, it=clause.rest[:end], did=did, after=clause.rest[end:]
    )
