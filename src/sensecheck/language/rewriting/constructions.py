"""Rules that put what a sentence says into another construction: what it is said of comes first, there is someone of
whom it holds, a that-clause stands for "it", fewer are said to be so.
"""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.language.rewriting.clause import Clause, in_lower_case, written
from sensecheck.language.rewriting.contradicting import none_there
from sensecheck.language.rewriting.leaving_out import is_time, may_be_weakened, subject_may_be_weakened
from sensecheck.language.rewriting.lexicon import listed, table_of
from sensecheck.language.rewriting.opposing import denial
from sensecheck.language.rewriting.rules import EQUIVALENT, FOLLOWS, READABLE, Made, rule, saying

_ASSERTED = "progressive copular perfect modal simple"
_FEWER = table_of("some of them for")
_SOMEONE = ("someone", "somebody", "something")
_SINGULAR_FORMS = table_of("singular forms")
MAX_PREDICATE = 20


def speaks_of_the_speaker(clause: Clause) -> bool:
    """ "I hurt myself", "I think I do": of someone else it cannot be said so. His and its may stay: who they are is as
    open, or as plain, behind "someone".
    """
    itself = "itself" in clause.lower_rest and clause.human
    return itself or not listed("says who speaks").isdisjoint(clause.lower_rest)


def _is_name(clause: Clause) -> bool:
    """A name of one, of whom or what nobody can say: Muscat, the Old Tower, NATO."""
    if clause.plural or not clause.single or clause.named_person:
        return False
    named = clause.subject[1:] if clause.determiner == "the" else clause.subject
    return bool(named) and all(word[:1].isupper() for word in named) and clause.determiner not in _NO_NAMES


_NO_NAMES = listed("pronouns", "determiners", "numbers", "no subject", "not singled out") - {"the"}


# -- whom or what it holds of --------------------------------------------------------------------------------------


@rule(FOLLOWS, "wider subject", _ASSERTED)
def someone_or_something(clause: Clause) -> Iterator[str]:
    """Muscat lies in Oman: someone or something lies in Oman."""
    looks_back = not listed("of one sex that is told").isdisjoint(clause.lower_rest)
    if _is_name(clause) and subject_may_be_weakened(clause) and not speaks_of_the_speaker(clause) and not looks_back:
        yield clause.say("someone or something {predicate}")


@rule(FOLLOWS, "existential", _ASSERTED)
def there_is_someone_who(clause: Clause) -> Iterator[Made]:
    """Ann left: there was someone who left; the bridge is long: there is something that is long."""
    if clause.lower[0] in _SOMEONE and len(clause.subject) == 1:
        who = "that" if clause.lower[0] == "something" else "who"
        was = "was" if clause.past else "is"
        yield clause.say("there {was} {subject} {who} {predicate}", was=was, who=who), EQUIVALENT
        return
    if (
        clause.fragment
        or clause.indefinite
        or not clause.single
        or not subject_may_be_weakened(clause)
        or speaks_of_the_speaker(clause)
    ):
        return
    if "," in clause.rest or len(clause.predicate) > MAX_PREDICATE or clause.determiner in listed("not singled out"):
        return
    was = "was" if clause.past else "is"
    alone = len(clause.subject) == 1
    if clause.kind == "copular" and clause.first in listed("articles") and clause.determiner == "we":
        return  # "we are a family": each of us is none
    if clause.auxiliary == "will" and clause.first == "be":
        return  # what will be something need not be there
    if clause.noun in listed("of people"):
        return
    if (alone and clause.determiner in ("he", "she")) or (clause.human and not clause.plural and not alone):
        yield clause.say("there {was} someone who {predicate}", was=was)
    elif alone and clause.determiner == "we":
        yield clause.say("there {were} people who {predicate}", were="were" if clause.past else "are")
    elif clause.of_a_thing and not clause.plural:
        yield clause.say("there {was} something that {predicate}", was=was)


@rule(EQUIVALENT, "topic", READABLE, negated=None)
def as_for_it(clause: Clause) -> Iterator[str]:
    """The bridge was long: as for the bridge, it was long."""
    if clause.kind == "existential" or clause.fragment or (clause.indefinite and not _generic(clause)):
        return
    if not clause.single or len(clause.predicate) > MAX_PREDICATE or (clause.negated and not clause.denied_by_not):
        return
    if clause.determiner == "you":
        return  # anybody, as often as not
    if len(clause.subject) == 1 and clause.determiner in _AS_FOR:
        about, who = _AS_FOR[clause.determiner], clause.determiner
        yield clause.say("as for {about} , {who} {predicate}", about=about, who="I" if who == "i" else who)
        return
    if clause.determiner in listed("not singled out", "partial", "universal") or clause.lower[0] == "what":
        return
    if clause.noun in listed("pronouns", "everyone"):
        return
    if clause.plural and clause.head[:1].islower() and clause.lexicon.is_plural(clause.noun):
        yield clause.say("as for {subject} , they {predicate}")
    elif not clause.plural and "their" not in clause.rest and (_is_a_thing(clause) or _is_abbreviation(clause)):
        yield clause.say("as for {subject} , it {predicate}")


_AS_FOR = {who: whom for who, whom in table_of("object forms").items() if who != "it"}


def _generic(clause: Clause) -> bool:
    """ "Simulations", said of all of them."""
    return clause.plural and not clause.counted and clause.noun == clause.determiner


def _is_a_thing(clause: Clause) -> bool:
    """By a noun that is no part of a name."""
    return clause.of_a_thing and not any(word[:1].isupper() for word in clause.subject)


def _is_abbreviation(clause: Clause) -> bool:
    """ "the FBI", "NASA": what is written so is no person."""
    named = clause.subject[1:] if clause.determiner == "the" else clause.subject
    return len(named) == 1 and len(named[0]) > 2 and named[0].isupper() and named[0].isalpha()


@rule(EQUIVALENT, "identity", "copular")
def none_other_than(clause: Clause) -> Iterator[str]:
    """Ann is the owner: Ann is none other than the owner."""
    the = clause.first == "the" or clause.first in listed("possessives")
    if not the or clause.plural or not clause.single or len(clause.rest) < 2 or clause.noun in listed("pronouns"):
        return
    if clause.determiner in listed("not singled out") or not listed("no one that one is").isdisjoint(
        clause.lower_rest[1:3]
    ):
        return
    end = clause.lexicon.noun_phrase_end(clause.rest)
    of_people = clause.human or (end > 1 and clause.named and clause.lexicon.is_person(clause.lower_rest[end - 1]))
    if end > 1 and of_people and not clause.lexicon.is_plural(clause.lower_rest[end - 1]):
        yield clause.say("{subject} {be} none other than {rest}")


@rule(EQUIVALENT, "existential", "existential")
def there_exists(clause: Clause) -> Iterator[str]:
    """There are caves near Rome: there exist caves near Rome."""
    told = clause.first in listed("relatives") or (clause.first in listed("prepositions") and clause.first != "with")
    plain = not clause.rest or told
    if plain and not (clause.fragment or clause.animate or clause.determiner in (*listed("negatives"), "so")):
        exist = "existed" if clause.past else "exist" if clause.plural else "exists"
        yield clause.say("there {exist} {subject} {rest}", exist=exist)


@rule(EQUIVALENT, "contraction", "existential", negated=None)
def there_are_not_any(clause: Clause) -> Iterator[str]:
    """There are no caves: there aren't any caves."""
    if clause.determiner == "no" and len(clause.subject) > 1 and clause.auxiliary in listed("contracts with not"):
        yield clause.say("there {not_} any {none} {rest}", not_=clause.auxiliary + "n't", none=clause.subject[1:])


# -- that, to ------------------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "that", "copular perfect", negated=None)
def that_first(clause: Clause) -> Iterator[str]:
    """It is clear that he sings: that he sings is clear; it is wrong to lie: to lie is wrong."""
    if clause.lower[0] != "it" or len(clause.subject) != 1:
        return
    lower = clause.lower_rest
    start = next((i for i, word in enumerate(lower[:6]) if word in ("that", "to")), 0)
    if not start or len(lower) < start + 3 or not {",", '"'}.isdisjoint(clause.rest):
        return
    said, told, last = lower[:start], clause.rest[start:], lower[start - 1]
    opening = said[:-1]
    plain = all(
        word in ("a", "the", "been", "not", "very", "quite") or clause.lexicon.describes(word) for word in opening
    )
    if not plain:
        return
    if lower[start] == "that":
        first = told[1]
        begins = lower[start + 1] in listed("begins a clause") or first[:1].isupper() or clause.lexicon.is_plural(first)
        if last in listed("said of a clause") and begins:
            yield clause.say("{told} {auxiliary} {denied} {said}", told=told, denied=_denied(clause), said=said)
    elif last in listed("said of an act") and lower[start + 1] in clause.lexicon.forms:
        # "it is easy to use": what is used is "it"
        behind = told[2:]
        if last not in listed("said of what is acted on") or clause.lexicon.noun_phrase_end(behind):
            yield clause.say("{told} {auxiliary} {denied} {said}", told=told, denied=_denied(clause), said=said)


def _denied(clause: Clause) -> list[str]:
    return ["not"] if clause.negated else []


# -- less said -----------------------------------------------------------------------------------------------------


@rule(FOLLOWS, "left out", READABLE)
def without_degree(clause: Clause) -> Iterator[str]:
    """is extremely tall: is tall."""
    if not may_be_weakened(clause):
        return
    for i, word in enumerate(clause.lower):
        before, after = clause.at(i - 1), clause.at(i + 1)
        measured = word in listed("degrees") and before not in listed("degrees", "compares degrees")
        if i and measured and clause.lexicon.describes(after) and after not in listed("no quality"):
            yield clause.with_words(i, i + 1, "")


@rule(FOLLOWS, "wider word", "copular")
def of_a_kind(clause: Clause) -> Iterator[str]:
    """is the oldest bridge in Rome: is a bridge."""
    lexicon, lower = clause.lexicon, clause.lower_rest
    if clause.first not in listed("articles", "possessives") or clause.plural or not _says_which_one(clause):
        return
    end = next((i + 1 for i, word in enumerate(lower[:5]) if word.endswith(("'s", "’s"))), 1)
    while end < len(lower) and _only_says_which(lower[end], clause):
        end += 1
    start = end
    while end < len(lower) and lexicon.is_noun(lower[end]) and clause.rest[end][:1].islower():
        end += 1
    kind = clause.rest[start:end]
    if not kind or len(kind) > 2 or lower[end - 1] not in lexicon.nouns or lexicon.is_plural(lower[end - 1]):
        return
    after = lower[end] if end < len(lower) else ""
    if (after and after not in listed("behind a kind")) or kind[0].lower() in ("right", "wrong"):
        return
    noun = lexicon.nouns[lower[end - 1]]
    whole = start == 1 and not after and clause.first in ("a", "an")
    known = noun in lexicon.people or noun in lexicon.places or noun in listed("another kind")
    if not whole and known and noun not in listed("no kind of thing"):
        yield clause.say("{subject} {be} a {kind}", kind=kind)


def _says_which_one(clause: Clause) -> bool:
    """Nothing denies it; "only", "first" and the like say which one it is."""
    return listed("negatives").isdisjoint(clause.lower) and "if" not in clause.lower


def _only_says_which(word: str, clause: Clause) -> bool:
    if word in listed("of another kind"):
        return False
    return word in listed("says which") or (clause.lexicon.describes(word) and word not in clause.lexicon.nouns)


@rule(FOLLOWS, "quantifier", _ASSERTED)
def some_of_many(clause: Clause) -> Iterator[str]:
    """Many buses stop: some buses stop; all of the buses stop: some of the buses stop."""
    lower = clause.lower
    width = next((width for width in (3, 2, 1) if " ".join(lower[:width]) in _FEWER), 0)
    if not width or not clause.plural or not clause.single or width >= len(clause.subject):
        return
    if "except" in clause.lower:
        return
    together = not listed("of several").isdisjoint(clause.lower_rest) or clause.verb in listed("takes two together")
    noun = in_lower_case(clause.subject)[width:]
    if together or not any(clause.lexicon.is_plural(word) for word in noun):
        return
    rest = clause.but(subject=clause.subject[width:])
    if may_be_weakened(rest) and not speaks_of_the_speaker(clause):
        yield clause.say("{some} {after}", some=_FEWER[" ".join(lower[:width])], after=clause.words[width:])


@rule(FOLLOWS, "quantifier", "modal perfect")
def some_of_all(clause: Clause) -> Iterator[str]:
    """Dogs can swim: some dogs can swim."""
    if _generic(clause) and clause.lexicon.is_plural(clause.noun) and may_be_weakened(clause):
        yield clause.say("some {words}")


# -- nobody, none --------------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "existential", f"{_ASSERTED} do", negated=None)
def there_is_none_who(clause: Clause) -> Iterator[str]:
    """No bus stops here: there is no bus that stops here; nobody left: there was nobody who left."""
    if not clause.single or len(clause.predicate) > MAX_PREDICATE or not clause.predicate:
        return
    if "," in clause.predicate or not (listed("negatives") - {"no"}).isdisjoint(clause.lower_rest):
        return
    was = (("is", "are"), ("was", "were"))[clause.past][clause.plural]
    if clause.determiner in ("nobody", "nothing") and len(clause.subject) == 1:
        who = "who" if clause.determiner == "nobody" else "that"
        yield clause.say("there {was} {subject} {who} {predicate}", was="was" if clause.past else "is", who=who)
    elif clause.determiner == "no" and len(clause.subject) > 1 and clause.noun:
        yield clause.say("there {was} {subject} {who} {predicate}", was=was)


@rule(EQUIVALENT, "quantifier", "copular perfect simple", negated=None)
def not_one_of(clause: Clause) -> Iterator[str]:
    """None of the lamps were bright: not one of the lamps was bright."""
    if clause.lower[:2] != ["none", "of"] or not clause.single or (clause.kind == "simple" and not clause.past):
        return
    auxiliary = _SINGULAR_FORMS.get(clause.auxiliary, clause.auxiliary)
    if not _is_plural_said(clause):
        predicate = clause.but(auxiliary=auxiliary).predicate
        yield clause.say("not one of {those} {predicate}", those=clause.subject[2:], predicate=predicate)


@rule(EQUIVALENT, "quantifier", "copular progressive perfect modal simple", negated=None)
def not_a_single(clause: Clause) -> Iterator[str]:
    """No buses are late: not a single bus is late."""
    nothing = clause.determiner == "nothing" and len(clause.subject) == 1
    plain = clause.determiner == "no" and clause.single and clause.lexicon.noun_phrase_end(clause.subject[1:]) > 0
    if not nothing and not (plain and clause.noun == clause.lower[len(clause.subject) - 1]):
        return
    singular = "thing" if nothing else clause.lexicon.nouns.get(clause.noun, "")
    if not singular or singular in clause.lexicon.mass or not singular.isalpha() or _is_plural_said(clause):
        return
    one = clause.but(plural=False, auxiliary=_SINGULAR_FORMS.get(clause.auxiliary, clause.auxiliary))
    phrase = [*clause.subject[1:-1], singular]
    yield one.say("not a single {phrase} {predicate}", phrase=phrase)


def _is_plural_said(clause: Clause) -> bool:
    """ "are brothers": of one alone it cannot be said."""
    return clause.kind == "copular" and any(clause.lexicon.is_plural(word) for word in clause.lower_rest[:2])


@rule(EQUIVALENT, "double negation", READABLE, negated=None)
def not_so_that_any(clause: Clause) -> Iterator[str]:
    """No bus stops here: it is not true that any bus stops here; nobody left: it is not true that anybody left."""
    if "," in clause.rest or not (listed("negatives") - {"no"}).isdisjoint(clause.lower_rest):
        return
    if clause.kind == "existential":
        if clause.determiner == "no" and len(clause.subject) > 1:
            yield clause.say("it is not true that there {auxiliary} any {none} {rest}", none=clause.subject[1:])
    elif clause.determiner in _ANY and clause.single and (len(clause.subject) > 1) == (clause.determiner in _OF_MANY):
        any_ = _ANY[clause.determiner]
        yield clause.say("it is not true that {any} {of} {predicate}", any=any_, of=clause.subject[1:])


_ANY = {"no": "any", "nobody": "anybody", "nothing": "anything", "none": "any"}
_OF_MANY = ("no", "none")


@saying(EQUIVALENT, "quantifier", _ASSERTED, "without exception , {words}")
def without_exception(clause: Clause) -> bool:
    """All the lamps are bright: without exception, all the lamps are bright."""
    titled = len(clause.subject) > 1 and clause.subject[1][:1].isupper()
    return (clause.determiner in ("all", "every") or clause.noun in listed("everyone")) and not titled


# -- denied twice --------------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "denied twice", f"{_ASSERTED} existential")
def not_so_that_not(clause: Clause) -> Iterator[str]:
    """The bridge is long: it is not true that the bridge is not long."""
    if clause.kind == "existential":
        parts = none_there(clause)
        if parts is not None and may_be_weakened(clause):
            yield clause.say("it is not true that there {be} no {none} {rest}", **parts)
        return
    # What must not be need not be, and of two things that are not both so, one may be.
    if clause.auxiliary in ("must", "should", "may", "might") or not {"and", "or", "but"}.isdisjoint(clause.lower_rest):
        return
    denied = None if clause.fragment or "," in clause.rest else denial(clause)
    if denied is not None and may_be_weakened(clause) and listed("needs a denial").isdisjoint(clause.lower_rest):
        words = [_UNDER_A_DENIAL.get(word, word) for word in denied.words]
        yield written(["it", "is", "not", "true", "that", *words])


_UNDER_A_DENIAL = table_of("under a denial")


# -- when ----------------------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "fronting", "copular simple perfect", negated=None)
def that_day_first(clause: Clause) -> Iterator[str]:
    """The shop closed last year: last year, the shop closed."""
    lower = clause.lower_rest
    for width in (2, 3):
        time = lower[-width:]
        if len(lower) > width and time[0] in ("last", "this", "that", "next") and is_time(time[1:]):
            before = lower[-width - 1]
            whole = before not in listed("prepositions", "conjunctions", "be", "determiners") and before.isalpha()
            if whole and (listed("relatives", "conjunctions") | {","}).isdisjoint(lower[:-width]):
                main = clause.but(rest=clause.rest[:-width])
                yield written([*clause.rest[-width:], ",", *main.words])
