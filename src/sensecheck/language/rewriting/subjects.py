"""Rules about whom or what a sentence is: someone for a name, a company for the company; and nobody, no company,
something else altogether.
"""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.language.rewriting.clause import Clause, in_lower_case, written
from sensecheck.language.rewriting.constructions import speaks_of_the_speaker
from sensecheck.language.rewriting.leaving_out import subject_may_be_weakened
from sensecheck.language.rewriting.lexicon import listed, table_of
from sensecheck.language.rewriting.rules import ANY_KIND, CONTRADICTS, EQUIVALENT, FOLLOWS, READABLE, rule

_ASSERTED = "progressive copular perfect modal simple"
_OTHER_KINDS = table_of("another kind")
_OWNERS = {"my": "I", "his": "he", "her": "she", "our": "we", "your": "you"}
_OFTEN = table_of("how often")
_MOST = table_of("how many first")


def _predicate_of(clause: Clause, subject: str) -> list[str]:
    """What is said, as it agrees with another subject of one: I am, someone is."""
    if clause.determiner in ("i", "you") and len(clause.subject) == 1:
        singular = {"am": "is", "are": "is", "have": "has", "were": "was", "do": "does"}
        clause = clause.but(auxiliary=singular.get(clause.auxiliary, clause.auxiliary))
    return clause.but(subject=(subject,)).predicate


def _speaks_of_itself(clause: Clause) -> bool:
    return not listed("looks back").isdisjoint(clause.lower_rest)


# -- less certain subjects -----------------------------------------------------------------------------------------


@rule(FOLLOWS, "wider subject", _ASSERTED)
def someone(clause: Clause) -> Iterator[str]:
    """He left; Ann Lee left: someone left."""
    alone = len(clause.subject) == 1
    if not subject_may_be_weakened(clause) or speaks_of_the_speaker(clause):
        return
    if alone and clause.determiner == "we":
        if clause.kind != "copular" or clause.first not in listed("articles"):
            yield clause.say("some people {predicate}")
    elif (alone and clause.determiner in ("he", "she", "i", "you")) or (clause.named_person and not clause.plural):
        yield clause.say("someone {predicate}", predicate=_predicate_of(clause, "someone"))


@rule(FOLLOWS, "wider subject", _ASSERTED)
def somebody_of(clause: Clause) -> Iterator[str]:
    """My sister left: someone's sister left."""
    owned = clause.determiner in ("my", "his", "her") and subject_may_be_weakened(clause)
    titled = clause.subject[1:2] != () and clause.subject[1][:1].isupper()  # "My Fair Lady"
    if owned and len(clause.subject) > 1 and not titled and not speaks_of_the_speaker(clause):
        yield clause.say("someone's {owned} {predicate}", owned=clause.subject[1:])


def _kind_of_subject(clause: Clause) -> tuple[str, ...]:
    """The noun phrase of "the old bridge", where there may be others; nothing for "the sun", "the only bridge"."""
    if (
        clause.verb in listed("says what is among them")
        or clause.determiner not in listed("a certain determiner")
        or not clause.single
        or len(clause.subject) < 2
    ):
        return ()
    phrase = clause.subject[1:]
    lower = in_lower_case(phrase)
    if any(word[:1].isupper() for word in phrase) or not listed("only with the").isdisjoint(lower):
        return ()
    if any(word.endswith(("est", "'s", "’s")) or word[0].isdigit() for word in lower) or "of" in lower:
        return ()
    plain = clause.lexicon.noun_phrase_end(phrase) == len(phrase) and clause.noun == lower[-1]
    return phrase if plain else ()


@rule(FOLLOWS, "wider subject", _ASSERTED)
def some_such(clause: Clause) -> Iterator[str]:
    """The bridge was built: a bridge was built; the bridges were built: some bridges were built."""
    phrase = _kind_of_subject(clause)
    if not phrase or not subject_may_be_weakened(clause) or clause.universal:
        return
    if clause.determiner in listed("possessives") and clause.noun in listed("of an age or kin"):
        return  # "my kid" may be forty
    noun = clause.noun
    if clause.plural and clause.lexicon.is_plural(noun):
        yield clause.say("some {phrase} {predicate}", phrase=phrase)
    elif not clause.plural and _counts_one(noun, clause):
        yield clause.say("a {phrase} {predicate}", phrase=phrase)


def _counts_one(noun: str, clause: Clause) -> bool:
    """ "a bridge", not "a water"."""
    if noun in clause.lexicon.mass or clause.lexicon.is_plural(noun):
        return False
    return noun in clause.lexicon.nouns or not noun.endswith(
        (
            "ing",
            "ness",
            "ment",
            "tion",
            "sion",
            "ism",
            "ance",
            "ence",
            "ity",
            "cy",
            "ics",
            "ship",
            "hood",
            "dom",
            "th",
            "s",
        )
    )


@rule(FOLLOWS, "wider subject", _ASSERTED)
def something(clause: Clause) -> Iterator[str]:
    """It was old: something was old; this works: something works."""
    pronoun = clause.lower[0] in ("it", "this", "that") and len(clause.subject) == 1
    if pronoun and subject_may_be_weakened(clause) and not _says_nothing_of_it(clause):
        yield clause.say("something {predicate}")


@rule(FOLLOWS, "wider subject", _ASSERTED)
def something_known(clause: Clause) -> Iterator[str]:
    """The bridge was long: something was long."""
    if not subject_may_be_weakened(clause) or speaks_of_the_speaker(clause) or clause.plural or not clause.single:
        return
    known = clause.of_a_thing and not clause.indefinite and clause.determiner not in listed("not singled out")
    if known or (clause.kind == "copular" and clause.first in listed("said of things alone")):
        yield clause.say("something {predicate}")


def _says_nothing_of_it(clause: Clause) -> bool:
    """ "it is raining", "it is late", "it is clear that"."""
    if clause.kind == "progressive" or clause.first in listed("said of no thing", "prepositions", "adverbs"):
        return True
    lower = clause.lower_rest
    if clause.lower[0] == "it" and not listed("of no thing here").isdisjoint(lower):
        return True
    if clause.kind != "copular" and clause.lower[0] == "it":
        verb = clause.verb or clause.lexicon.base_of(clause.first, "base", "participle") or "be"
        if verb in listed("stands for no thing"):
            return True
    if speaks_of_the_speaker(clause) or not (listed("it stands for more") - {"for"}).isdisjoint(lower):
        return True
    return "for" in lower and "to" in lower


@rule(EQUIVALENT, "relative clause", f"{_ASSERTED} do", negated=None)
def someone_who(clause: Clause) -> Iterator[str]:
    """He left: he is someone who left; the bridge was built: the bridge is something that was built."""
    if clause.kind == "progressive" or not clause.single or clause.indefinite or "," in clause.rest or clause.fragment:
        return
    if clause.determiner in listed("not singled out") or len(clause.predicate) > 18 or "i" in clause.lower_rest:
        return
    if clause.negated and not clause.denied_by_not:
        return
    if clause.kind == "copular" and (clause.first in ("the", "that", "to", "what") or clause.rest[0][:1].isupper()):
        return  # "the first film was Hair": which it was, not what
    alone = len(clause.subject) == 1
    slots = {"was": clause.but(plural=clause.plural or clause.determiner == "you").be}
    if alone and clause.determiner == "you":
        return  # anybody, as often as not
    if alone and clause.determiner == "i":
        yield clause.say("{subject} {was} someone who {told}", told=_predicate_of(clause, "someone"), **slots)
    elif (alone and clause.determiner in ("he", "she")) or clause.human:
        if clause.determiner == "they" or clause.noun in listed("of people"):
            return
        one = "people who" if clause.plural else "someone who"
        yield clause.say("{subject} {was} {one} {predicate}", one=one, **slots)
    elif clause.of_a_thing and not clause.plural:
        yield clause.say("{subject} {was} something that {predicate}", **slots)


@rule(EQUIVALENT, "existential", "copular")
def there_is_one_named(clause: Clause) -> Iterator[str]:
    """Ann Lee is a nurse: there is a nurse named Ann Lee."""
    if not clause.named or clause.first not in ("a", "an") or not clause.single or clause.plural:
        return
    if clause.lexicon.noun_phrase_end(clause.rest) == len(clause.rest) > 1 and not clause.rest[-1][:1].isupper():
        yield clause.say("there {be} {rest} named {subject}")


@rule(FOLLOWS, "existential", _ASSERTED, negated=None)
def there_is_the_one(clause: Clause) -> Iterator[str]:
    """The bridge was long: there was a bridge."""
    phrase = _kind_of_subject(clause) if clause.determiner in ("the", "this", "these", "that", "those") else ()
    if not phrase or clause.noun in clause.lexicon.verb_of["ing"] or clause.noun not in clause.lexicon.nouns:
        return
    if clause.plural and clause.lexicon.is_plural(clause.noun):
        yield clause.say("there {were} {phrase}", were="were" if clause.past else "are", phrase=phrase)
    elif not clause.plural and _counts_one(clause.noun, clause):
        yield clause.say("there {was} a {phrase}", was="was" if clause.past else "is", phrase=phrase)


@rule(FOLLOWS, "existential", _ASSERTED, negated=None)
def someone_has_it(clause: Clause) -> Iterator[str]:
    """His sister left: he had a sister."""
    owner = _OWNERS.get(clause.determiner)
    phrase = _kind_of_subject(clause) if owner else ()
    if not phrase or len(phrase) > 2 or clause.noun in listed("not had") or clause.noun not in clause.lexicon.nouns:
        return
    if clause.noun not in listed("not had") and not clause.noun.endswith(
        ("tion", "ment", "ness", "ity", "sion", "ance", "ence", "al")
    ):
        has = "had" if clause.past else "has" if owner in ("he", "she") else "have"
        many = clause.lexicon.is_plural(clause.noun)
        if many or _counts_one(clause.noun, clause):
            yield clause.say(
                "{owner} {has} {a} {phrase}", owner=owner or "", has=has, a=[] if many else ["a"], phrase=phrase
            )


# -- nobody, none --------------------------------------------------------------------------------------------------


@rule(CONTRADICTS, "no", _ASSERTED)
def no_such_one(clause: Clause) -> Iterator[str]:
    """The bridge was built: no bridge was built."""
    phrase = _kind_of_subject(clause)
    agrees = not clause.plural or clause.lexicon.is_plural(clause.noun)
    measured = not {"so", "such", "as"}.isdisjoint(clause.lower_rest)
    if phrase and agrees and not measured and not clause.universal and not _speaks_of_itself(clause):
        yield clause.say("no {phrase} {predicate}", phrase=phrase)


@rule(CONTRADICTS, "nobody", _ASSERTED)
def no_one_at_all(clause: Clause) -> Iterator[str]:
    """I left: nobody left."""
    if clause.determiner == "i" and len(clause.subject) == 1 and not _speaks_of_itself(clause):
        yield clause.say("nobody {predicate}", predicate=_predicate_of(clause, "nobody"))


@rule(CONTRADICTS, "no", "copular")
def nothing(clause: Clause) -> Iterator[str]:
    """It was old: nothing was old."""
    pronoun = clause.lower[0] in ("it", "this", "that") and len(clause.subject) == 1 and len(clause.rest) < 9
    if pronoun and not _speaks_of_itself(clause) and not _says_nothing_of_it(clause):
        yield clause.say("nothing {predicate}")


@rule(CONTRADICTS, "quantifier", READABLE)
def few_not_most(clause: Clause) -> Iterator[str]:
    """Most buses stop: few buses stop; none of the buses stop."""
    lower = clause.lower
    opening = next((width for width in (2, 1) if " ".join(lower[:width]) in _MOST), 0)
    if opening and len(lower) > opening + 1 and clause.plural:
        for other in _MOST[" ".join(lower[:opening])].split(" or "):
            yield clause.say("{other} {after}", other=other, after=clause.words[opening:])


# -- something else ------------------------------------------------------------------------------------------------


@rule(CONTRADICTS, "another kind", "copular")
def another_kind(clause: Clause) -> Iterator[str]:
    """Ann Lee is a nurse: Ann Lee is a river."""
    if clause.first not in ("a", "an") or not clause.single or clause.plural:
        return
    if not (clause.named or clause.determiner in ("he", "she")):
        return
    end = clause.lexicon.noun_phrase_end(clause.rest)
    kind = clause.lower_rest[end - 1] if end else ""
    kind = "person" if clause.lexicon.is_person(kind) else kind
    for other in _OTHER_KINDS.get(kind, "").split():
        yield clause.say("{subject} {be} a {other}", other=other)


@rule(CONTRADICTS, "another place", ANY_KIND)
def another_nation(clause: Clause) -> Iterator[str]:
    """is a French singer: is a Japanese singer."""
    nations = table_of("another nation")
    words = clause.words
    found = [
        i
        for i, word in enumerate(clause.lower)
        if word in nations
        and not words[i - 1][:1].isupper()
        and not (i + 1 < len(words) and words[i + 1][:1].isupper())
    ]
    if len(found) == 1 and clause.kind == "copular" and clause.first in ("a", "an") and found[0] > len(clause.subject):
        for other in nations[clause.lower[found[0]]].split():
            yield clause.with_words(found[0], found[0] + 1, other.capitalize())


@rule(CONTRADICTS, "another place", "copular simple")
def another_place(clause: Clause) -> Iterator[str]:
    """was born in France: was born in Japan."""
    places = table_of("another place")
    if clause.plural or not (clause.first in listed("in one place alone") and clause.kind == "copular"):
        return
    found = [i for i, word in enumerate(clause.lower) if word in places and clause.words[i][:1].isupper()]
    if len(found) == 1 and clause.at(found[0] - 1) == "in" and not clause.at(found[0] + 1).isalpha():
        for other in places[clause.lower[found[0]]].split():
            yield clause.with_words(found[0], found[0] + 1, other.replace("_", " "))


@rule(CONTRADICTS, "how often", ANY_KIND, negated=None, half_denied=True)
def how_often(clause: Clause) -> Iterator[str]:
    """He always sings: he never sings."""
    lower = in_lower_case(clause.tokens)
    found = [i for i, word in enumerate(lower) if word in _OFTEN]
    if len(found) != 1 or clause.partial or not _NO_OTHER_DENIAL.isdisjoint(lower) or clause.kind == "unreadable":
        return
    if lower[found[0]] == "never" and not listed("needs a denial").isdisjoint(lower):
        return
    if lower[found[0]] == "never" and not _ANY.isdisjoint(lower):
        return
    i = found[0]
    if clause.kind == "simple" and clause.finite in lower[:i] and clause.finite in clause.tokens:
        return  # "they sing often": never would stand before the verb
    after = lower[i + 1] if i + 1 < len(lower) else ""
    if lower[i - 1].endswith("ly") or lower[i - 1] in listed("measures how often"):
        return
    if (
        i == 0
        or after in listed("fixed behind how often", "determiners")
        or lower[i - 1] in listed("determiners", "prepositions")
    ):
        return
    for other in _OFTEN[lower[i]].split(" or "):
        yield written([*clause.tokens[:i], *other.split(), *clause.tokens[i + 1 :]])


_ANY = frozenset(("any", "anyone", "anything", "anybody", "anywhere", "ever", "either"))
_NO_OTHER_DENIAL = listed("negatives") - {"never"} | {"if", "unless", "or"}


@rule(CONTRADICTS, "refusal", "modal")
def need_not(clause: Clause) -> Iterator[str]:
    """must go: does not have to go; will go: will refuse to go."""
    if clause.first in listed("no verb behind a modal") or clause.partial or clause.universal:
        return
    if clause.auxiliary == "must" and clause.first not in ("be", "have"):
        yield clause.say("{subject} {does} not have to {rest}")
    elif clause.auxiliary == "will" and clause.human and clause.first not in listed("be", "have", "not refused"):
        yield clause.say("{subject} will refuse to {rest}")
    elif clause.auxiliary == "could" and clause.first not in ("have", "be"):
        yield clause.say("{subject} {was} unable to {rest}", was="were" if clause.plural else "was")
