"""Rules for sentences that say the same as a given one, or follow from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sensecheck.language.morphology import plural_phrase
from sensecheck.language.rewriting.clause import Clause, in_lower_case, written
from sensecheck.language.rewriting.lexicon import NUMBERS, Lexicon, listed, said, table_of
from sensecheck.language.rewriting.opposing import affirmation
from sensecheck.language.rewriting.replacing import Swap, allowed, in_compound, spliced, swaps
from sensecheck.language.rewriting.rules import ANY_KIND, CONTRADICTS, EQUIVALENT, FOLLOWS, READABLE, Made, rule, saying
from sensecheck.language.rewriting.wordnet import WordNet

_DIGITS = {str(value): word for word, value in NUMBERS.items() if 2 <= value <= 6}
_OBJECT_FORMS = table_of("object forms")
MAX_PREDICATE = 20
"""What is singled out and what is said of it should be seen together."""
_LOOK_ELSEWHERE = listed("possessives", "conjunctions", "relatives")
# In their scope a narrower word does not give way to a wider one, and nothing may be left out.
_DOWNWARD = listed("negatives", "downward")


def _monotone(clause: Clause) -> bool:
    return _DOWNWARD.isdisjoint(clause.lower)


def _of_place(word: str) -> bool:
    return word in listed("prepositions") or word == "next"


# -- other words ---------------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "synonym", ANY_KIND, negated=None)
def synonym(clause: Clause) -> Iterator[str]:
    """One word by another of the same meaning: a man, a guy."""
    return map(spliced, swaps("synonym", clause, clause.lexicon.synonyms)) if not _unclear(clause) else iter(())


def _unclear(clause: Clause) -> bool:
    """It cannot be read, and names or figures stand in it: what its words mean is anybody's guess."""
    return clause.kind == "unreadable" and not all(word.islower() or word in (",", "I") for word in clause.words[1:])


@rule(EQUIVALENT, "synonym", "progressive simple do", negated=None)
def verb_synonym(clause: Clause) -> Iterator[str]:
    """The main verb by another of the same meaning, in the same form: talks, speaks."""
    for new in clause.lexicon.verb_synonyms.get(clause.verb, ()):
        if not allowed("verb synonym", Swap(clause, clause.verb, new, "", clause.first)):
            continue
        base, *tail = new.split()
        if base == "be" and clause.kind == "do":
            continue
        rest = (*tail, *clause.rest)
        if "…" in tail:
            end = clause.lexicon.noun_phrase_end(clause.rest)
            if not end:
                continue
            rest = (*clause.rest[:end], *tail[1:], *clause.rest[end:])
        yield written(clause.but(verb=base, rest=rest).words)


@rule(EQUIVALENT, "phrase", ANY_KIND, negated=None)
def phrase(clause: Clause) -> Iterator[str]:
    """A phrase by another of the same meaning: next to, beside."""
    text = f" {' '.join(clause.words)} "
    for old, new in clause.lexicon.phrases:
        if text.count(f" {old} ") == 1:
            before, after = (part.split() for part in text.split(f" {old} "))
            if allowed("phrase", Swap(clause, old, new, (before or [""])[-1], (after or [""])[0])):
                yield written([*before, *new.split(), *after])


# -- is eating, eats -----------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "aspect", "progressive", past=False)
def completed_fragment(clause: Clause) -> Iterator[str]:
    """A dog running: a dog is running."""
    if clause.fragment and not clause.momentary:
        yield written(clause.words)


@saying(EQUIVALENT, "aspect", "progressive", "{subject} {finite} {rest}", past=False)
def simple_present(clause: Clause) -> bool:
    """is eating, eats: of a scene the two say the same."""
    if clause.verb == "go" and clause.first == "to":
        return False  # "is going to": it will be so
    if clause.determiner in listed("pronouns"):
        return False  # "he sells": every day
    return not clause.momentary and not clause.coordinated and (clause.fragment or clause.verb not in ("be", "get"))


@saying(EQUIVALENT, "aspect", "simple", "{subject} {be} {ing} {rest}", past=False)
def present_progressive(clause: Clause) -> bool:
    """eats, is eating."""
    in_view = clause.in_view and not clause.shortened and (clause.animate or clause.indefinite)
    becomes = clause.verb == "turn" and clause.first == "out"
    return in_view and not clause.momentary and not clause.coordinated and not clause.stative and not becomes


# -- there is ------------------------------------------------------------------------------------------------------


def _tells_state(clause: Clause) -> bool:
    """There is a man; there is a man in the park; not: there is a man that …"""
    return not clause.rest or (_of_place(clause.first) and listed("relatives").isdisjoint(clause.lower_rest))


def _tells_act(clause: Clause) -> bool:
    return not _tells_state(clause) and clause.first in clause.lexicon.verb_of["ing"]


@rule(EQUIVALENT, "existential", "existential")
def completed_noun_phrase(clause: Clause) -> Iterator[str]:
    """A man in a bar: there is a man in a bar."""
    if clause.fragment and clause.single:
        yield written(clause.words)


@rule(EQUIVALENT, "existential", "existential")
def without_there(clause: Clause) -> Iterator[str]:
    """There is a man eating; a man is eating; a man can be seen eating."""
    if (
        not clause.single
        or clause.subject[-1].endswith("ing")
        or clause.acted_on
        or clause.determiner in listed("no subject")
    ):
        return
    if _tells_state(clause):
        if clause.may_be_seen:
            yield clause.say("{subject} {can} be seen {rest}")
        if clause.had:
            yield clause.say("{subject} {has} {thing}")
        elif clause.rest:
            yield clause.say("{subject} {be} {rest}")
    elif _tells_act(clause):
        yield clause.say("{subject} {be} {rest}")
        if clause.may_be_seen:
            yield clause.say("{subject} {can} be seen {rest}")
    elif clause.first in listed("relatives") and len(clause.rest) > 2 and clause.lower_rest[1] in listed("be"):
        said_of_all = clause.plural and not (clause.counted or clause.past)  # "areas that are old" exist
        if not said_of_all:
            yield clause.say("{subject} {thing}")


@rule(EQUIVALENT, "relative clause", "existential")
def who_is_there(clause: Clause) -> Iterator[str]:
    """There is a man in the park: there is a man who is in the park."""
    if clause.single and clause.rest and not clause.acted_on:
        if _tells_state(clause) and clause.had:
            yield clause.say("there {be} {subject} {who} {has} {thing}")
        elif _tells_state(clause) or _tells_act(clause):
            yield clause.say("there {be} {subject} {who} {be} {rest}")


@rule(EQUIVALENT, "existential", "existential")
def is_present(clause: Clause) -> Iterator[str]:
    """There is a tree in the park: a tree is located in the park."""
    if (
        not clause.single
        or not _tells_state(clause)
        or clause.had
        or clause.acted_on
        or clause.determiner in ("none", "nothing", "nobody")
    ):
        return
    if not clause.rest and not listed("prepositions").isdisjoint(in_lower_case(clause.subject)):
        return
    if not clause.may_be_seen:
        return
    if clause.rest:
        located = not clause.human and clause.first in listed("where things are located")
        yield clause.say("{subject} {be} {where} {rest}", where="located" if located else "present")
    else:
        yield clause.say("{subject} {be} present")
        yield clause.say("{subject} {be} there")
        yield clause.say("there {exist} {subject}", exist="exist" if clause.plural else "exists")
        yield clause.say("one can see {subject}")


@rule(EQUIVALENT, "aspect", "existential", past=False)
def act_without_there(clause: Clause) -> Iterator[str]:
    """There is a man eating: a man eats."""
    if clause.single and _tells_act(clause):
        verb = clause.lexicon.verb_of["ing"][clause.first]
        yield clause.say("{subject} {verb} {thing}", verb=clause.form_of(verb))


def _may_be_new(clause: Clause) -> bool:
    return clause.indefinite and {"they", "we"}.isdisjoint(in_lower_case(clause.subject))


@rule(EQUIVALENT, "existential", "progressive copular", past=False)
def there_is(clause: Clause) -> Iterator[str]:
    """A man is eating: there is a man eating."""
    if _may_be_new(clause):
        if clause.kind == "progressive":
            yield clause.say("there {be} {subject} {ing} {rest}")
        elif clause.single and _of_place(clause.first):
            yield clause.say("there {be} {subject} {rest}")


@rule(EQUIVALENT, "relative clause", "progressive copular simple")
def there_is_who(clause: Clause) -> Iterator[str]:
    """A man is eating: there is a man who is eating."""
    of_its_kind = not clause.past and (
        (clause.kind == "simple" and not (clause.animate and clause.counted))  # "a habitat means", "rivals spend"
        or (
            clause.kind == "copular"
            and (clause.first in listed("articles") or not (clause.animate or _of_place(clause.first)))
        )
    )
    if _may_be_new(clause) and clause.single and len(clause.subject) > clause.past and not of_its_kind:
        act = {"progressive": "{be} {ing}", "copular": "{be}", "simple": "{finite}"}[clause.kind]
        yield clause.say(f"there {{be}} {{subject}} {{who}} {act} {{rest}}")


# -- passive, numbers ----------------------------------------------------------------------------------------------


def _split_object(clause: Clause) -> tuple[list[str], list[str]] | None:
    """The direct object and what follows it, when the object is plain enough to be moved."""
    rest = list(clause.rest)
    end = clause.lexicon.noun_phrase_end(rest)
    if not end or clause.first in listed("possessives", "prepositions"):
        return None
    after = in_lower_case(rest[end:])
    if after and (after[0] not in listed("prepositions") or after[0] == "of" or not _LOOK_ELSEWHERE.isdisjoint(after)):
        return None
    return rest[:end], rest[end:]


def _is_acted_on(clause: Clause, last: str) -> bool:
    """ "walks a dog", not "walks home" or "takes turns"."""
    if clause.first in listed("never passive subjects") or last in listed("never passive ends"):
        return False
    if clause.verb in listed("passive with an article") and clause.first not in listed("articles"):
        return False
    return clause.verb not in listed("moving verbs") or last not in listed("how far one moves")


@rule(EQUIVALENT, "passive", "progressive simple")
def passive(clause: Clause) -> Iterator[str]:
    """A man walks a dog: a dog is walked by a man."""
    if clause.verb not in clause.lexicon.transitive or not clause.single or not clause.animate:
        return
    if "by" in clause.lower_rest or not listed("reflexives").isdisjoint(clause.lower_rest):
        return
    object_and_rest = _split_object(clause)
    if object_and_rest is None or not listed("prepositions").isdisjoint(in_lower_case(clause.subject[1:])):
        return
    moved, after = object_and_rest
    if after[:1] == ["in"] and any(word[:1].isupper() for word in moved):
        return  # "the Nobel Prize in Physics"
    last = moved[-1].lower()
    if not _is_acted_on(clause, last):
        return
    many = clause.first in NUMBERS or clause.lexicon.is_plural(last)
    plural = many and clause.first not in listed("singular determiners")
    yield clause.say(
        "{moved} {is_} {being} {participle} by {actor} {after}",
        moved=moved,
        is_=(("is", "are"), ("was", "were"))[clause.past][plural],
        being="being" if clause.kind == "progressive" else "",
        participle=clause.lexicon.forms[clause.verb].participle,
        actor=_OBJECT_FORMS.get(clause.determiner, clause.subject) if len(clause.subject) == 1 else clause.subject,
        after=after,
    )


@rule(EQUIVALENT, "number", ANY_KIND, negated=None)
def number_otherwise(clause: Clause) -> Iterator[str]:
    """two: 2, a pair of."""
    for i, word in enumerate(clause.lower):
        after = clause.at(i + 1)
        named = i + 1 < len(clause.words) and clause.words[i + 1][:1].isupper() and len(after) > 1
        if (
            named
            or after in ("/", "%")
            or (after in listed("names of a time") and clause.words[i + 1][:1].isupper())
            or clause.at(i - 1) in ("/", "$", "£", "€", "-", "#", "(")
            or (i and clause.words[i - 1][:1].isupper())
        ):
            continue  # part of a sum, a date or a name
        if word in _DIGITS:
            yield clause.with_words(i, i + 1, _DIGITS[word])
        elif word in NUMBERS and after and after not in listed("large numbers") and word != "hundred":
            yield clause.with_words(i, i + 1, str(NUMBERS[word]))
            if i == 0:
                yield from _counted_first(clause, word, clause.lexicon.is_plural(after))


def _counted_first(clause: Clause, word: str, plural: bool) -> Iterator[str]:
    group = {"two": "pair", "three": "trio"}.get(word)
    if group and plural:
        yield clause.say("a {group} of {counted}", group=group, counted=clause.words[1:])
    if word in ("three", "four") and plural:
        yield clause.say("a group of {words}")
    elif word in ("two", "three", "four"):
        yield clause.say("exactly {words}")


# -- wearing and having --------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "phrase", "progressive simple", past=False)
def has_on(clause: Clause) -> Iterator[str]:
    """is wearing a hat: has a hat on."""
    end = clause.lexicon.noun_phrase_end(clause.rest) if clause.verb == "wear" else 0
    if end and clause.lower_rest[end : end + 1] not in (["to"], ["for"]):
        yield clause.say("{subject} {has} {worn} on {after}", worn=clause.rest[:end], after=clause.rest[end:])
        if clause.kind == "simple":
            yield clause.say("{subject} {be} dressed in {rest}")


def _has_a_thing(clause: Clause) -> bool:
    if clause.verb != "have" or clause.first in listed("had but no thing"):
        return False
    return 0 < clause.lexicon.noun_phrase_end(clause.rest) == len(clause.rest)


def _shows_a_thing(clause: Clause) -> bool:
    if clause.first not in ("a", "an") or clause.determiner in listed("pronouns"):
        return False
    return listed("not seen with someone").isdisjoint(clause.lower_rest)


@saying(EQUIVALENT, "phrase", "simple", "{subject} {be} in possession of {rest}", past=False)
def in_possession(clause: Clause) -> bool:
    """has a hat: is in possession of a hat."""
    return _has_a_thing(clause) and listed("not possessed").isdisjoint(clause.lower_rest)


@saying(EQUIVALENT, "existential", "simple", "there {be} {subject} with {rest}", past=False)
def there_is_with(clause: Clause) -> bool:
    """A man has a hat: there is a man with a hat."""
    return _has_a_thing(clause) and clause.indefinite and clause.single


@saying(FOLLOWS, "passive", "simple", "{rest} can be seen with {subject}", past=False)
def seen_with(clause: Clause) -> bool:
    """The man has a hat: a hat can be seen with the man."""
    return clause.of_a_scene and _has_a_thing(clause) and _shows_a_thing(clause)


@saying(EQUIVALENT, "adverb", "simple", "{subject} indeed {has} {rest}", past=False)
def indeed_has(clause: Clause) -> bool:
    """He has the hat: he indeed has the hat."""
    return _has_a_thing(clause) and not _shows_a_thing(clause)


# -- order ---------------------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "fronting", "progressive copular simple existential", negated=None)
def fronting(clause: Clause) -> Iterator[str]:
    """A man is running in the park: in the park, a man is running."""
    words, lower, lexicon = clause.words, clause.lower, clause.lexicon
    if (
        len(words) > 14
        or (clause.negated and clause.kind == "copular")
        or "to" in clause.lower_rest
        or not listed("relatives", "question words").isdisjoint(clause.lower_rest)
    ):
        return
    position = _last_preposition(clause, len(clause.subject))
    if position is None or position + 1 + lexicon.noun_phrase_end(words[position + 1 :]) != len(words):
        return
    if lower[position + 1] in listed("possessives") or not _may_come_first(clause, position):
        return
    preposition, noun = lower[position], lexicon.nouns.get(lower[-1], lower[-1])
    if noun not in lexicon.places or preposition not in listed("prepositions of a place"):
        return
    if preposition == "on" and noun not in listed("places one is on"):
        return
    if clause.kind != "existential" or clause.rest or position >= 3 + len(clause.subject):
        yield written([*words[position:], ",", *words[:position]])


def _last_preposition(clause: Clause, start: int) -> int | None:
    positions = range(len(clause.words) - 2, start, -1)
    return next((i for i in positions if clause.lower[i] in listed("prepositions")), None)


def _may_come_first(clause: Clause, position: int) -> bool:
    """Not where the phrase belongs to the verb or the noun before it: "next to", "looks at"."""
    before = clause.lower[position - 1]
    if before in listed("prepositions", "belongs to a phrase of place"):
        return False
    if before in listed("be") and clause.kind != "existential":
        return False
    verb_end = len(clause.subject) + {"simple": 0, "progressive": 1}.get(clause.kind, -1)
    return position > verb_end or clause.lower[position] in ("in", "near")


@rule(EQUIVALENT, "conjuncts", ANY_KIND, negated=None)
def conjuncts(clause: Clause) -> Iterator[str]:
    """A man and a woman: a woman and a man."""
    lower, subject = clause.lower, clause.subject
    position = lower.index("and") if lower.count("and") == 1 else len(subject)
    first, second = subject[:position], subject[position + 1 :]
    phrase_end = clause.lexicon.noun_phrase_end
    if not first or not second or phrase_end(first) != len(first) or phrase_end(second) != len(second):
        return
    articles = [side[0].lower() in listed("articles") for side in (first, second)]
    if second[0].lower() in listed("possessives") or articles[0] != articles[1]:
        return
    of_both = (
        not any(articles) and len(first) > 1 and first[1][:1].isupper() and clause.lexicon.is_plural(first[0].lower())
    )
    if (
        of_both
        or (not any(articles) and len(first) > 1 and clause.lexicon.describes(first[0].lower()))
        or (not any(articles) and first[0][:1].isupper() and len(first) > 1 and first[1][:1].islower())
    ):
        return  # "actors Ann Lee and Bob Ray"
    if any(_says_which_kind(side, clause.lexicon) for side in (first, second)):
        return
    start = 2 if clause.kind == "existential" else 0
    if not start or "not" not in lower[:3]:
        words = clause.words
        yield written([*words[:start], *second, "and", *first, *words[start + len(subject) :]])


def _says_which_kind(side: Sequence[str], lexicon: Lexicon) -> bool:
    """ "computer and video games": one thing without an article may be no thing of its own."""
    word = side[0]
    return len(side) == 1 and word in lexicon.plurals and word not in lexicon.mass | lexicon.plural_forms


# -- how many ------------------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "quantifier", ANY_KIND, negated=None)
def at_least_some(clause: Clause) -> Iterator[str]:
    """some people: people; at least some people."""
    if clause.lower[:1] == ["some"] and len(clause.lower) > 1 and clause.lexicon.is_plural(clause.lower[1]):
        if clause.kind in ("progressive", "existential") or clause.past:
            yield written(clause.words[1:])
        yield clause.say("at least {words}")


@rule(EQUIVALENT, "quantifier", ANY_KIND, negated=None)
def all_of(clause: Clause) -> Iterator[str]:
    """all the men: all of the men."""
    if clause.lower[:2] in (["all", "of"], ["all", "the"]):
        those = clause.words[2:] if clause.lower[1] == "of" else clause.words[1:]
        opening = "every single one of" if clause.kind == "unreadable" else "all of"
        yield clause.say("{opening} {those}", opening=opening, those=those)


@saying(FOLLOWS, "quantifier", "progressive copular simple", "some {words}")
def some_of_them(clause: Clause) -> bool:
    """Dogs run: some dogs run."""
    return clause.plural and clause.lower[0] in clause.lexicon.plural_forms


@rule(FOLLOWS, "quantifier", negated=None)
def without_group(clause: Clause) -> Iterator[str]:
    """A group of people are eating: people are eating."""
    lower = clause.lower
    of_a_group = " ".join(lower[:2]) in listed("a group of") and "of" in lower[:4]
    if of_a_group and (clause.auxiliary in listed("plural be") or (clause.kind == "simple" and clause.plural)):
        members = clause.words[lower.index("of") + 1 :]
        yield written(members)
        yield clause.say("several {members}", members=members)


@rule(EQUIVALENT, "quantifier", ANY_KIND, negated=None)
def not_a_single_person(clause: Clause) -> Iterator[str]:
    """Nobody is here: not a single person is here."""
    if clause.lower[:1] == ["nobody"]:
        yield clause.say("not a single person {after}", after=clause.words[1:])


@rule(EQUIVALENT, "quantifier", "existential", negated=None)
def not_any(clause: Clause) -> Iterator[str]:
    """There is no dog: there is not any dog; no dog can be seen."""
    if clause.lower[2] != "no" or clause.lower[3:4] == ["one"]:
        return
    none = clause.words[3:]
    yield clause.say("there {auxiliary} not any {none}", none=none)
    if not clause.plural:
        yield clause.say("there {auxiliary} not a single {none}", none=none)
    if not clause.rest:
        yield clause.say("no {none} {are} present", none=none, are="are" if clause.plural else "is")
        yield clause.say("no {none} can be seen", none=none)
    elif clause.first in clause.lexicon.verb_of["ing"] or clause.first in listed("prepositions") - {
        "with",
        "to",
        "for",
    }:
        yield clause.say("no {none} {be} {rest}", none=clause.subject[1:])


# -- what is said of the subject -----------------------------------------------------------------------------------


@rule(EQUIVALENT, "double negation", "copular")
def not_the_opposite(clause: Clause) -> Iterator[Made]:
    """is tall: is not short."""
    if len(clause.rest) > 1:
        return
    relation = EQUIVALENT if clause.first in listed("without a middle") else FOLLOWS
    for opposite in clause.lexicon.opposites.get(clause.first, ()):
        if opposite != "together":  # one man is not together, and not apart either
            yield clause.say("{subject} {auxiliary} not {opposite}", opposite=opposite), relation


def _describes(clause: Clause) -> bool:
    """Is it said what the subject is like: tall, inside, dressed?"""
    first, lexicon = clause.first, clause.lexicon
    if first in listed("describes nothing alone"):
        return False
    return first in lexicon.adjectives or first in lexicon.opposites or first in lexicon.verb_of["participle"]


@rule(EQUIVALENT, "predicate", "copular")
def can_be_found(clause: Clause) -> Iterator[str]:
    """A man is in the park: a man can be found in the park."""
    second = clause.rest[1] if clause.thing else ""
    certain = clause.animate or second.lower() in listed("determiners") or second[:1].isupper()
    if clause.named and not clause.animate:
        certain = clause.first == "in" and second[:1].isupper()  # "was in the race" may be of a person
    if clause.first in listed("where things are found") and certain:
        can = "could" if clause.past else "can"
        yield clause.say("{subject} {can} be found {rest}", can=can)
        if clause.animate:
            yield clause.say("{subject} {can} be seen {rest}", can=can)
        else:
            yield clause.say("{subject} {be} located {rest}")


@saying(EQUIVALENT, "adverb", "copular", "{subject} {be} currently {rest}", past=False)
def currently_there(clause: Clause) -> bool:
    """A man is in the park: a man is currently in the park."""
    return clause.first in listed("where things are found")


@rule(EQUIVALENT, "adverb", "copular")
def indeed(clause: Clause) -> Iterator[str]:
    """The men are tall: the men are indeed tall."""
    described = not _of_place(clause.first) and _describes(clause)
    if described or (clause.first in listed("articles") and not clause.past):
        yield clause.say("{subject} {auxiliary} indeed {rest}")


@rule(EQUIVALENT, "predicate", "copular", past=False)
def someone_who_is(clause: Clause) -> Iterator[str]:
    """The men are tall: the men are people who are tall."""
    if _of_place(clause.first) or not _describes(clause) or clause.first not in clause.lexicon.adjectives:
        return
    if (
        clause.animate
        and clause.determiner not in ("a", "an")
        and clause.noun not in listed("persons already", "of people")
    ):
        kinds = ("a person", "people") if clause.human else ("an animal", "animals")
        yield clause.say("{subject} {be} {kind} {who} {be} {rest}", kind=kinds[clause.plural])


# -- emphasis ------------------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "fronting", "copular perfect modal simple")
def year_first(clause: Clause) -> Iterator[str]:
    """It was founded in 2014: in 2014, it was founded."""
    words = clause.words
    another = not (listed("conjunctions", "relatives") | {"after", "before", "than"}).isdisjoint(clause.lower_rest)
    before = words[-3].lower() if len(words) > 3 else ""
    hangs_on_a_noun = before in clause.lexicon.verb_of["participle"] and len(clause.rest) > 3  # "a band formed in"
    whole = (len(clause.rest) > 2 or clause.kind != "copular") and not hangs_on_a_noun
    if whole and len(words) > 3 and words[-2].lower() == "in" and words[-1].isdigit() and not another:
        yield written([*words[-2:], ",", *words[:-2]])


@rule(EQUIVALENT, "relative clause", "perfect")
def there_is_who_has(clause: Clause) -> Iterator[str]:
    """A man has left: there is a man who has left."""
    if clause.single and clause.determiner not in listed("pronouns") and clause.indefinite:
        are = "are" if clause.plural else "is"
        yield clause.say("there {are} {subject} {who} {auxiliary} {rest}", are=are)


@saying(EQUIVALENT, "emphasis", "simple", "{subject} {does} {verb} {rest}", "{subject} in fact {finite} {rest}")
def emphatic_do(clause: Clause) -> bool:
    """The bus runs: the bus does run."""
    return not clause.animate and clause.verb not in ("have", "be") and not clause.coordinated


@rule(EQUIVALENT, "emphasis", "copular perfect modal")
def in_fact(clause: Clause) -> Iterator[str]:
    """It was founded: it was in fact founded."""
    if not listed("unsure").isdisjoint(clause.lower_rest):
        return iter(())
    emphasis = said("emphasis") if clause.auxiliary not in ("would", "could", "should") else said("emphasis")[:2]
    return clause.say_each(emphasis, "{subject} {auxiliary} {each} {rest}")


@saying(EQUIVALENT, "emphasis", "simple", "{subject} in fact {finite} {rest}")
def in_fact_has(clause: Clause) -> bool:
    """She had a boat: she in fact had a boat."""
    return clause.verb == "have" and not clause.coordinated and not clause.of_a_scene


@saying(EQUIVALENT, "emphasis", "copular modal perfect", "{subject} {auxiliary} in fact not {rest}", negated=True)
def in_fact_not(clause: Clause) -> bool:
    """It was not late: it was in fact not late."""
    return clause.auxiliary not in ("may", "might") and clause.denied_by_not and clause.auxiliary != "can"


@saying(EQUIVALENT, "emphasis", "modal", "{subject} {auxiliary} not in fact {rest}", negated=True)
def cannot_in_fact(clause: Clause) -> bool:
    """She cannot swim: she cannot in fact swim."""
    return clause.denied_by_not and clause.auxiliary == "can"


@saying(EQUIVALENT, "emphasis", "do", "{subject} in fact {auxiliary} not {verb} {rest}", negated=True)
def in_fact_does_not(clause: Clause) -> bool:
    """She did not sing: she in fact did not sing."""
    return clause.denied_by_not


@rule(EQUIVALENT, "emphasis", READABLE, negated=None)
def in_fact_so(clause: Clause) -> Iterator[str]:
    """The statue has no arms: in fact, the statue has no arms."""
    if not clause.of_a_scene or clause.negated or clause.past:
        yield clause.say("in fact , {words}")


@rule(EQUIVALENT, "double negation", "copular progressive perfect modal do", negated=True)
def it_is_false(clause: Clause) -> Iterator[str]:
    """The boy does not swim: it is not the case that the boy swims."""
    affirmed = affirmation(clause)
    if affirmed is not None:
        yield affirmed.say("it is not the case that {words}")


# -- denied already ------------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "contraction", "progressive copular do", negated=True)
def contracted(clause: Clause) -> Iterator[str]:
    """is not eating: isn't eating."""
    if clause.determiner in listed("no subject"):
        return
    if clause.kind == "do" or (clause.auxiliary in listed("contracts with not") and clause.denied_by_not):
        verb = {"progressive": "{ing}", "copular": "", "do": "{verb}"}[clause.kind]
        yield clause.say(f"{{subject}} {{auxiliary_not}} {verb} {{rest}}", auxiliary_not=clause.auxiliary + "n't")


@rule(EQUIVALENT, "adverb", "progressive copular", negated=True, past=False)
def not_currently(clause: Clause) -> Iterator[str]:
    """is not eating: is not currently eating."""
    if clause.denied_by_not:
        verb = "{ing}" if clause.verb else ""
        yield clause.say(f"{{subject}} {{auxiliary}} not currently {verb} {{rest}}")


@rule(EQUIVALENT, "double negation", "copular", negated=True)
def opposite_of_denied(clause: Clause) -> Iterator[str]:
    """is not asleep: is awake."""
    if clause.denied_by_not and len(clause.rest) == 1 and clause.first in listed("without a middle when denied"):
        yield from clause.say_each(clause.lexicon.opposites.get(clause.first, ()), "{subject} {auxiliary} {each}")


@rule(EQUIVALENT, "quantifier", "existential", negated=True)
def there_is_no_such(clause: Clause) -> Iterator[str]:
    """There is not a dog: there is no dog."""
    if clause.determiner in ("a", "an", "any"):
        yield clause.say("there {auxiliary} no {none} {rest}", none=clause.subject[1:])


# -- seen, now -----------------------------------------------------------------------------------------------------


def _is_act(clause: Clause) -> bool:
    if clause.stative:
        return False
    return clause.kind == "progressive" or (clause.verb != "wear" and not clause.coordinated)


@saying(EQUIVALENT, "seen", "progressive simple", "{subject} can be seen {ing} {rest}", past=False)
def can_be_seen(clause: Clause) -> bool:
    """The man is eating: the man can be seen eating."""
    if clause.kind == "simple" and not listed("question words", "relatives", "pronouns").isdisjoint(clause.lower_rest):
        return False
    if (clause.verb == "go" and clause.first == "to") or clause.determiner in ("i", "we", "you"):
        return False
    shown = clause.of_a_scene or (clause.kind == "progressive" and not clause.named)
    return _is_act(clause) and clause.animate and shown


@saying(EQUIVALENT, "adverb", "progressive", "{subject} {be} currently {ing} {rest}", past=False)
def currently(clause: Clause) -> bool:
    """The man is eating: the man is currently eating."""
    going_to = clause.verb == "go" and clause.first == "to"
    return _is_act(clause) and not going_to


@saying(EQUIVALENT, "seen", "progressive", "{subject} {be} in the process of {ing} {rest}", past=False)
def in_the_process(clause: Clause) -> bool:
    """The man is cooking: the man is in the process of cooking."""
    return _is_act(clause) and clause.verb not in listed("no process")


@saying(EQUIVALENT, "synonym", "progressive", "{subject} {be} seated {rest}", past=False)
def seated(clause: Clause) -> bool:
    """The man is sitting on a bench: the man is seated on a bench."""
    return clause.verb == "sit" and clause.rest[:1] != ("down",)


@rule(EQUIVALENT, "cleft", "progressive copular simple perfect modal do", negated=None)
def it_is_who(clause: Clause) -> Iterator[str]:
    """The men are tall: it is the men who are tall."""
    if _may_be_singled_out(clause) and clause.determiner not in _NOT_IN_A_CLEFT:
        yield clause.say("it {was} {subject} {who} {predicate}", **_of_a_cleft(clause))


@rule(CONTRADICTS, "other cleft", "progressive copular simple perfect modal do", negated=None, half_denied=True)
def it_is_another(clause: Clause) -> Iterator[str]:
    """The pilot left: it was not the pilot who left."""
    if not _may_be_singled_out(clause) or clause.determiner in _NOT_IN_A_CLEFT:
        return
    if any(word.endswith("est") or word in ("best", "worst", "most") for word in clause.lower_rest[:4]):
        return  # "we were the safest at night"
    if (
        clause.partial
        or clause.universal
        or clause.fragment
        or clause.indefinite
        or clause.auxiliary in ("may", "might")
    ):
        return
    yield clause.say("it {was} not {subject} {who} {predicate}", **_of_a_cleft(clause))


_NOT_IN_A_CLEFT = ("it", "this", "that", "these", "those", "there")


def _of_a_cleft(clause: Clause) -> dict[str, str]:
    of_people = (clause.human and clause.determiner != "they") or clause.determiner in ("i", "you")
    return {"was": "was" if clause.past else "is", "who": "who" if of_people else "that"}


_OPENS_A_SUBJECT = listed("determiners", "pronouns")


def _may_be_singled_out(clause: Clause) -> bool:
    if not {"also", "too"}.isdisjoint(in_lower_case(clause.tokens)):
        return False  # "Ann also came": and not Ann alone
    if not clause.single or clause.determiner in listed("not singled out") or clause.noun in listed("everyone"):
        return False
    if "," in clause.predicate or len(clause.predicate) > MAX_PREDICATE:
        return False
    # "is old and points have been made": two sentences, of which the second has its own subject
    for word in {"and", "but"}.intersection(clause.lower_rest):
        opening, *after = clause.lower_rest[clause.lower_rest.index(word) + 1 :][:4] or [""]
        own = opening in _OPENS_A_SUBJECT
        acts = own and any(w in clause.lexicon.verb_of["past"] and w not in clause.lexicon.nouns for w in after)
        if acts or not listed("be", "have", "modals").isdisjoint(after):
            return False
    if clause.kind == "copular" and clause.first in ("that", "to", "what", "how", "why", "where", "when"):
        return False  # "the rule was that you had to"
    return not clause.negated or clause.denied_by_not


@rule(EQUIVALENT, "among", "progressive copular simple perfect modal do", negated=None)
def one_who(clause: Clause) -> Iterator[str]:
    """The boss left: one person who left is the boss."""
    short = len(clause.predicate) < 10 and not clause.fragment and clause.kind != "progressive"
    short = short and clause.verb not in listed("says what is among them")
    if not short or not _may_be_singled_out(clause) or clause.noun in listed("pronouns") or clause.indefinite:
        return
    known = clause.named_person or clause.human or (clause.of_a_thing and not clause.subject[0][:1].isupper())
    if not known or (clause.kind == "copular" and clause.first in listed("determiners", "pronouns", "numbers")):
        return
    slots = {"was": "was" if clause.past else "is", "were": "were" if clause.past else "are"}
    if clause.noun in listed("of people"):
        return
    if clause.plural and clause.human:
        yield clause.say("among those who {predicate} {were} {subject}", **slots)
    elif clause.plural and clause.lexicon.is_plural(clause.noun):
        yield clause.say("among the things that {predicate} {were} {subject}", **slots)
    elif not clause.plural and clause.human:
        yield clause.say("one person who {predicate} {was} {subject}", **slots)
    elif not clause.plural and clause.of_a_thing:
        yield clause.say("one thing that {predicate} {was} {subject}", **slots)


# -- less said -----------------------------------------------------------------------------------------------------


@rule(FOLLOWS, "wider subject", "progressive copular simple")
def wider_subject(clause: Clause) -> Iterator[str]:
    """A man is eating: someone is eating."""
    lexicon, reflexives = clause.lexicon, listed("reflexives")
    if clause.verb in listed("says what is among them"):
        return
    if not _monotone(clause) or clause.noun in listed("pronouns") or not reflexives.isdisjoint(clause.lower_rest):
        return
    subject_nouns = {lexicon.nouns[w] for w in in_lower_case(clause.subject) if w in lexicon.nouns}
    if "and" in clause.subject and not (subject_nouns <= lexicon.people or subject_nouns <= lexicon.animals):
        return
    wider = _wider_name(clause)
    if wider:
        yield clause.say("{wider} {predicate}", wider=wider)


def _wider_name(clause: Clause) -> str:
    if clause.human:
        if clause.plural:
            return "" if in_lower_case(clause.subject) == ["some", "people"] else "some people"
        return "" if clause.noun in listed("collectives") or clause.noun == "people" else "someone"
    if clause.animal and clause.noun not in ("animal", "animals"):
        return "some animals" if clause.plural else "an animal"
    return ""


@rule(FOLLOWS, "wider word", ANY_KIND, negated=None)
def wider_word(clause: Clause) -> Iterator[str]:
    """A boy paints a horse: a boy paints an animal."""
    if _monotone(clause) and not _unclear(clause) and clause.at(1) != ",":
        for swap in swaps("wider word", clause, clause.lexicon.kinds):
            if not (swap.in_subject and clause.of_all):
                yield spliced(swap)


@rule(FOLLOWS, "wider word", "progressive simple")
def wider_verb(clause: Clause) -> Iterator[str]:
    """A dog runs: a dog moves."""
    whole = (not clause.rest or clause.first in listed("prepositions", "no object now")) and clause.animate
    if whole and _monotone(clause) and whole and clause.first not in ("for", "out", "of", "as", "like"):
        for new in clause.lexicon.wider_verbs.get(clause.verb, ()):
            base, *tail = new.split()
            yield written(clause.but(verb=base, rest=(*tail, *clause.rest)).words)


@rule(FOLLOWS, "left out", READABLE)
def without_adjective(clause: Clause) -> Iterator[str]:
    """A tall man runs: a man runs."""
    lower, lexicon = clause.lower, clause.lexicon
    for i, word in enumerate(lower[:-1] if _monotone(clause) and '"' not in lower else ()):
        if clause.words[i][:1].isupper():
            continue  # of a name
        known = lexicon.describes(word) or (word.endswith(_OF_KIND) and word not in lexicon.nouns and i)
        if not known or lower[i + 1] not in lexicon.nouns or word in listed("not to be left out"):
            continue
        after = clause.at(i + 2)
        if after in lexicon.nouns or after in lexicon.verb_of["ing"] or lexicon.describes(after) or after == "of":
            continue  # "white water rafting", "the eastern part of the town"
        if not (clause.in_view and (clause.animate or clause.kind != "simple")) and (
            clause.at(i - 1) not in _BEFORE_A_QUALITY or clause.at(i + 1) in listed("names of a time")
        ):
            continue  # "built during ancient times", "56 years old actress"
        # The first word may go only where no article would be missed.
        needed = lower[i - 1] in listed("before what is not left out") if i else not lexicon.is_plural(lower[i + 1])
        if not needed:
            yield clause.with_words(i, i + 1, "")


_BEFORE_A_QUALITY = listed("indefinite")
_OF_KIND = ("ical", "ional", "ous", "ible", "ental", "istic")
"""Endings of adjectives that leave a thing what it is."""


def _verb_end(clause: Clause) -> int:
    return len(clause.subject) + (2 if clause.kind == "progressive" else 1)


@rule(FOLLOWS, "left out", "progressive simple")
def without_place(clause: Clause) -> Iterator[str]:
    """A man is running in the park: a man is running."""
    start = _verb_end(clause)
    position = _last_preposition(clause, start)
    if position is None or not _monotone(clause):
        return
    if clause.verb in ("have", "live") and clause.first in listed("possessives"):
        return  # "has her hand in a sock", "lived his life in Rome"
    if position > start and clause.lower[position - 1] in clause.lexicon.verb_of["ing"]:
        return  # "before playing in Rome"
    words, before = clause.words, clause.lower[position - 1]
    inner = clause.lower[start:position]
    if not (listed("relatives", "question words", "opens a clause") | {"to"}).isdisjoint(inner) or _needs_place(
        inner, clause
    ):
        return
    if position > start and before in clause.lexicon.verb_of["participle"] and before not in clause.lexicon.nouns:
        return  # "a film based on a book"
    if clause.lower[position] == "by" and clause.lower[position - 1] in clause.lexicon.verb_of["participle"]:
        return
    if position + 1 + clause.lexicon.noun_phrase_end(words[position + 1 :]) != len(words):
        return
    if clause.lower[position] in listed("not only of place") or before in listed("prepositions", "needs a place"):
        return
    if position > start + 1 or clause.verb not in listed("verbs that need a place"):
        yield written(words[:position])


def _needs_place(inner: list[str], clause: Clause) -> bool:
    """ "by putting the troops in harm's way"."""
    return any(clause.lexicon.verb_of["ing"].get(word, "") in listed("verbs that need a place") for word in inner)


@rule(FOLLOWS, "left out", "progressive simple")
def without_adverb(clause: Clause) -> Iterator[str]:
    """A man is running outside: a man is running."""
    words, lower, start = clause.words, clause.lower, _verb_end(clause)
    if not _monotone(clause) or _last_preposition(clause, start) is not None or len(words) <= start:
        return
    if lower[-1] in listed("last adverbs") and lower[-2] not in listed("conjunctions", "each other"):
        yield written(words[:-1])


# -- WordNet, frames -----------------------------------------------------------------------------------------------


@rule(EQUIVALENT, "wordnet", ANY_KIND, negated=None)
def wordnet_word(clause: Clause) -> Iterator[Made]:
    """Nouns and adjectives that only WordNet knows a synonym or a wider word of: its commonest sense is taken."""
    lexicon, wordnet = clause.lexicon, clause.lexicon.wordnet
    if wordnet is None:
        return
    for i, word in enumerate(clause.lower):
        known = lexicon.synonyms.get(word, []) + lexicon.kinds.get(word, [])
        if word in lexicon.adjectives and clause.at(i + 1) in lexicon.nouns:
            found = [(new, EQUIVALENT) for new in wordnet.synonyms(word, "adj")[:1]]
        elif lexicon.is_noun(word) and word not in lexicon.forms and not in_compound(clause, i):
            found = _nouns_in_wordnet(word, lexicon, wordnet, _monotone(clause))
        else:
            continue
        for new, relation in found:
            if new not in known and len(new.split()) <= 2:
                yield clause.with_words(i, i + 1, new), relation


def _nouns_in_wordnet(word: str, lexicon: Lexicon, wordnet: WordNet, may_widen: bool) -> list[tuple[str, str]]:
    plural, singular = lexicon.is_plural(word), lexicon.nouns.get(word, word)
    if plural and singular == word:
        singular = word.removesuffix("s")
    found = [(new, EQUIVALENT) for new in wordnet.synonyms(singular, "noun")[:1]]
    if may_widen:
        found += [(new, FOLLOWS) for new in wordnet.wider(singular, "noun")[:1]]
    return [(plural_phrase(new, lexicon.plurals) if plural else new, relation) for new, relation in found]


@rule(EQUIVALENT, "frame", negated=None)
def it_is_true(clause: Clause) -> Iterator[str]:
    """It is true that a man is eating."""
    return clause.say_each(said("true"), "{each} {words}")
