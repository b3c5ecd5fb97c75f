"""Rules for sentences that cannot be true of the scene that a given one describes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sensecheck.language.rewriting.clause import Clause, in_lower_case, written
from sensecheck.language.rewriting.lexicon import NUMBERS, listed, said, table_of
from sensecheck.language.rewriting.opposing import affirmation, may_be_so
from sensecheck.language.rewriting.replacing import Swap, allowed, spliced, swaps
from sensecheck.language.rewriting.rules import ANY_KIND, CONTRADICTS, rule, saying

_OTHER_NUMBERS = table_of("other numbers")
_COMPARED = table_of("compared")
_OTHER_GENDER = table_of("other gender")
_AT_PLACES = table_of("at another place")
_SINGULAR_FORMS = table_of("singular forms")
_PLURAL_FORMS = {singular: plural for plural, singular in _SINGULAR_FORMS.items()}
MAX_OF_SCENE = 14
_ASSERTED = "progressive copular perfect modal simple"
_NOT = {
    "progressive": "{subject} {auxiliary} not {ing} {rest}",
    "simple": "{subject} {does} not {verb} {rest}",
}


def _with(clause: Clause, name: str) -> Iterator[str]:
    """The clause with each of these phrases after the auxiliary."""
    return clause.say_each(said(name), "{subject} {auxiliary} {each} {rest}")


# -- not -----------------------------------------------------------------------------------------------------------


@saying(CONTRADICTS, "negation", _ASSERTED, "not {words}")
def not_all(clause: Clause) -> bool:
    """Everyone is happy: not everyone is happy."""
    titled = clause.subject[1:2] != () and clause.subject[1][:1].isupper()  # "All Stars"
    return clause.universal and not may_be_so(clause) and not titled


@rule(CONTRADICTS, "negation", _ASSERTED)
def is_not(clause: Clause) -> Iterator[str]:
    """is eating: is not eating; eats: does not eat."""
    if clause.universal or clause.partial or may_be_so(clause) or clause.first == "only":
        return
    if clause.verb in listed("hardly denied"):
        return
    if clause.auxiliary == "can":
        yield clause.say("{subject} cannot {rest}")
    elif clause.kind != "simple" or not clause.coordinated:
        yield clause.say(_NOT.get(clause.kind, "{subject} {auxiliary} not {rest}"))


# -- denied already ------------------------------------------------------------------------------------------------


@rule(CONTRADICTS, "affirmation", "existential", negated=True)
def there_are_some(clause: Clause) -> Iterator[str]:
    """There are no dogs: there are some dogs."""
    if clause.determiner in listed("fewer or more"):
        return  # "not more than one"
    there = clause.subject[1:] if clause.determiner in ("no", "any", "a", "an") else clause.subject
    if clause.lower_rest[-2:] == ["at", "all"]:
        clause = clause.but(rest=clause.rest[:-2])
    seen = clause.may_be_seen and (not clause.rest or _is_ing(clause) or _is_place(clause))
    if clause.plural:
        yield from clause.say_each(said("there are some"), "there {auxiliary} {each} {there} {rest}", there=there)
        if seen:
            yield clause.say("some {there} {can} be seen {rest}", there=there)
        yield clause.say("there {auxiliary} a few {there} {rest}", there=there)
    else:
        article = "a" if clause.counts_one else "some"
        yield clause.say("there {auxiliary} {article} {there} {rest}", article=article, there=there)
        yield clause.say("there {auxiliary} indeed {article} {there} {rest}", article=article, there=there)
        if article == "some":
            yield clause.say("there {auxiliary} plenty of {there} {rest}", there=there)
            yield clause.say("there {auxiliary} at least some {there} {rest}", there=there)
        elif clause.noun in clause.lexicon.nouns:
            yield clause.say("there {auxiliary} at least one {there} {rest}", there=there)
            yield clause.say("there {does} exist a {there} {rest}", there=there, does="did" if clause.past else "does")
        if seen:
            yield clause.say("{article} {there} {can} be seen {rest}", article=article, there=there)


@rule(CONTRADICTS, "affirmation", f"{_ASSERTED} do", negated=True)
def somebody_does(clause: Clause) -> Iterator[str]:
    """Nobody is here: somebody is here."""
    if not may_be_so(clause) and listed("negatives", "said under a denial").isdisjoint(clause.lower[1:]):
        who = {"nobody": said("somebody"), "nothing": said("something")}
        there = clause.subject[1:]  # "on board"
        yield from clause.say_each(who.get(clause.determiner, ()), "{each} {there} {predicate}", there=there)


@rule(CONTRADICTS, "affirmation", f"{_ASSERTED} do", negated=True)
def some_do(clause: Clause) -> Iterator[str]:
    """No dog is here: a dog is here."""
    compares = clause.lower[1] in listed("fewer or more", "degrees")  # "no more than two"
    if clause.determiner == "no" and not compares and not may_be_so(clause):
        one = said("a man") if clause.counts_one else said("some water")
        some = said("some men") if clause.plural else one
        yield from clause.say_each(some, "{each} {those} {predicate}", those=clause.subject[1:])
        if not clause.plural and not clause.counts_one:
            yield clause.say("{those} {predicate}", those=clause.subject[1:])


@rule(CONTRADICTS, "affirmation", "progressive", negated=True)
def affirmed_progressive(clause: Clause) -> Iterator[str]:
    """is not eating: is eating."""
    if not clause.denied_by_not or clause.partial:
        return
    yield clause.say("{subject} {auxiliary} {ing} {rest}")
    yield clause.say("{subject} {auxiliary} currently {ing} {rest}")
    if not clause.past:
        if not clause.momentary:
            yield clause.say("{subject} {finite} {rest}")
        yield clause.say("{subject} can be seen {ing} {rest}")
        yield clause.say("{subject} {auxiliary} busy {ing} {rest}")


@rule(CONTRADICTS, "affirmation", "copular perfect modal", negated=True)
def affirmed_state(clause: Clause) -> Iterator[str]:
    """is not tall: is tall."""
    affirmed = affirmation(clause)
    if affirmed is not None and not may_be_so(clause):
        yield affirmed.say("{subject} {auxiliary} {rest}")
        if clause.kind == "copular":
            yield from _with(affirmed, "affirmed")


@rule(CONTRADICTS, "affirmation", "do", negated=True)
def affirmed_act(clause: Clause) -> Iterator[str]:
    """does not eat: eats."""
    if clause.denied_by_not:
        affirmed = affirmation(clause)
        if affirmed is not None:
            yield affirmed.say("{subject} {finite} {rest}")
            yield affirmed.say("{subject} {does} indeed {verb} {rest}")


# -- no, nobody: there is … ----------------------------------------------------------------------------------------


def none_there(clause: Clause) -> dict[str, str | Sequence[str]] | None:
    """The noun phrase of "there is a man" as "no" takes it, and the form of be that goes with it."""
    there, be = list(clause.subject), clause.auxiliary
    if clause.determiner in listed("gives way to no", "numbers") or clause.determiner[:1].isdigit():
        of_a_group = there[:2] in (["a", "lot"], ["a", "group"], ["a", "bunch"])
        there = there[3:] if of_a_group else there[1:]
        last = there[there.index("of") - 1] if "of" in there[1:] else there[-1] if there else ""
        if last.lower() in clause.lexicon.plural_forms:
            be = _PLURAL_FORMS.get(be, be)
    elif not clause.plural or clause.determiner in listed("determiners"):
        return None
    lower = in_lower_case(there)
    if (
        not lower
        or lower[0] in listed("measures")
        or ("of" in lower and clause.determiner not in ("a", "an"))
        or ("of" in lower and lower[lower.index("of") - 1] in listed("measures"))
        or lower[0] in listed("no longer a number")
        or not clause.single
    ):
        return None
    return {"none": there, "be": be}


def _is_ing(clause: Clause) -> bool:
    return clause.first in clause.lexicon.verb_of["ing"]


def _is_place(clause: Clause) -> bool:
    of_place = clause.first in listed("prepositions") and not _is_ing(clause)
    return of_place and listed("relatives").isdisjoint(clause.rest)


@rule(CONTRADICTS, "no", "existential")
def there_is_none(clause: Clause) -> Iterator[str]:
    """There is a man eating: there is no man eating."""
    parts = none_there(clause)
    if parts:
        yield clause.say("there {be} no {none} {rest}", **parts)
        single = "not any" if parts["be"] in listed("plural be") else "not a single"
        yield clause.say("there {be} {single} {none} {rest}", single=single, **parts)


@rule(CONTRADICTS, "contraction", "existential")
def there_is_not(clause: Clause) -> Iterator[str]:
    """There is a man eating: there isn't a man eating; there are men: there aren't any men."""
    if clause.determiner in ("a", "an") and clause.auxiliary in listed("contracts with not"):
        yield clause.say("there {isnt} {subject} {rest}", isnt=clause.auxiliary + "n't")
        yield clause.say("there {auxiliary} not {subject} {rest}")
    elif clause.plural and (parts := none_there(clause)) is not None and parts["be"] in listed("plural be"):
        yield clause.say("there {arent} any {none} {rest}", arent=f"{parts['be']}n't", **parts)


@rule(CONTRADICTS, "no", "existential")
def none_is_there(clause: Clause) -> Iterator[str]:
    """There is a man eating: no man is eating."""
    parts = none_there(clause)
    if parts is None:
        return
    if not clause.rest:
        templates = ["no {none} {can} be seen", "no {none} {be} present", "no {none} {be} there"]
    elif _is_ing(clause):
        templates = ["no {none} {be} {rest}", "no {none} {can} be seen {rest}"]
    elif _is_place(clause):
        templates = ["no {none} {can} be seen {rest}", "no {none} {be} {rest}"][: 1 if clause.first == "with" else 2]
    else:
        return
    for template in templates if clause.may_be_seen else ():
        yield clause.say(template, **parts)


@rule(CONTRADICTS, "negation", "existential")
def who_is_not(clause: Clause) -> Iterator[str]:
    """There is a man eating: a man is not eating."""
    parts = none_there(clause) if not clause.partial else None
    told = _is_ing(clause) or (_is_place(clause) and clause.first != "with")
    if clause.determiner in listed("numbers", "compares degrees", "fewer or more") or clause.determiner.isdigit():
        return  # five are not there, and five others are
    if parts and parts["be"] == clause.auxiliary and told and clause.may_be_seen:
        yield clause.say("{subject} {auxiliary} not {rest}")


@rule(CONTRADICTS, "not begun", "existential")
def has_not_begun(clause: Clause) -> Iterator[str]:
    """There is a man eating: a man has yet to start eating; there is a bench: there is no longer a bench."""
    parts = none_there(clause)
    if not _is_ing(clause) and clause.determiner in ("a", "an"):
        yield clause.say("there {auxiliary} {never} {subject} {rest}", never="never" if clause.past else "no longer")
    elif parts and not _is_ing(clause) and parts["be"] in ("are", "were"):
        yield clause.say("there {be} {never} any {none} {rest}", never="never" if clause.past else "no longer", **parts)
    if parts and not clause.partial and parts["be"] == clause.auxiliary and _is_ing(clause):
        verb = clause.lexicon.verb_of["ing"][clause.first]
        if clause.animate and verb not in listed("stative verbs"):
            yield clause.say("{subject} {have} yet to start {rest}")
        else:
            yield clause.say("{subject} {auxiliary} no longer {rest}")


@rule(CONTRADICTS, "nobody", "existential")
def nobody_is_there(clause: Clause) -> Iterator[str]:
    """There is a man eating: nobody is eating."""
    if not clause.human or none_there(clause) is None:
        return
    if clause.first == "with":
        if clause.had:
            yield clause.say("nobody {has} {thing}", has="had" if clause.past else "has")
    elif not clause.rest or _is_ing(clause) or clause.first in listed("prepositions"):
        rest = clause.rest or ("there",)
        yield clause.say("nobody {was} {rest}", was="was" if clause.past else "is", rest=rest)


# -- no, nobody: a man is eating -----------------------------------------------------------------------------------


def _has_second_clause(clause: Clause) -> bool:
    return any(a == "," and b in ("and", "but") for a, b in itertools.pairwise(clause.lower_rest))


def _is_said_of_many(clause: Clause) -> bool:
    """ "are brothers", "are all here": of nobody alone."""
    if clause.kind != "copular" or not clause.plural:
        return False
    first, lexicon = clause.first, clause.lexicon
    if first in ("both", "all"):
        return True
    if any((w in lexicon.nouns and lexicon.is_plural(w)) or w == "all" for w in clause.lower_rest[:3]):
        return True
    of_one = lexicon.describes(first) or first in listed("prepositions") or first in ("very", "next", "not")
    return not of_one and not first.endswith(("ing", "ed"))


@rule(CONTRADICTS, "nobody", _ASSERTED)
def nobody(clause: Clause) -> Iterator[str]:
    """A man is eating: nobody is eating."""
    if not clause.human or not clause.single or _has_second_clause(clause) or _is_said_of_many(clause):
        return
    if clause.verb in listed("says what is among them") or may_be_so(clause):
        return
    if (
        clause.plural
        and not clause.past
        and any(a == "and" and clause.lexicon.base_of(b, "base") for a, b in itertools.pairwise(clause.lower_rest))
    ):
        return  # "measure and sell": nobody measures and sells
    if not listed("looks back at the subject").isdisjoint(clause.lower_rest):
        return
    auxiliary = _SINGULAR_FORMS.get(clause.auxiliary, clause.auxiliary)
    predicate = clause.but(plural=False, subject=("nobody",), auxiliary=auxiliary).predicate
    yield clause.say("nobody {predicate}", predicate=predicate)
    if clause.kind == "progressive" and not clause.past:
        yield clause.say("there is nobody {doing}", doing=predicate[1:])
    if clause.kind in ("copular", "simple"):
        yield clause.say("not a single person {predicate}", predicate=predicate)


@rule(CONTRADICTS, "no", "progressive copular simple")
def none_of(clause: Clause) -> Iterator[str]:
    """The men are tall: none of the men are tall."""
    if clause.determiner != "the" or not clause.plural or not clause.single or _has_second_clause(clause):
        return
    named = any(word[:1].isupper() for word in clause.subject[1:])  # a team does what not all of it do
    if clause.head and not named and "of" not in clause.subject and clause.noun not in listed("collectives"):
        none = "neither" if clause.subject[1:2] == ("two",) else "none"
        yield clause.say("{none} of {subject} {predicate}", none=none)


@rule(CONTRADICTS, "no", _ASSERTED)
def no_such(clause: Clause) -> Iterator[str]:
    """A man is eating: no man is eating; there is no man eating."""
    if not clause.indefinite or not clause.single or _has_second_clause(clause):
        return
    if not {"each", "every"}.isdisjoint(clause.lower_rest):
        return  # another one each time
    first = clause.determiner
    counted = first in listed("determiners", "numbers") or first.isdigit()
    none = clause.subject[1:] if counted else clause.subject
    lower = in_lower_case(none[:2])
    if (
        not none
        or "of" in lower
        or lower[0] == "%"
        or lower[0] in listed("prepositions", "no number", "names of a time")
        or lower[0][0].isdigit()
    ):
        return
    yield clause.say("no {none} {predicate}", none=none)
    place = clause.kind == "copular" and clause.first in listed("prepositions")
    if not clause.past and (place or clause.kind == "progressive"):
        yield clause.say("there {be} no {none} {after}", none=none, after=clause.predicate[1:])


# -- other words ---------------------------------------------------------------------------------------------------


@rule(CONTRADICTS, "opposite", ANY_KIND)
def opposite(clause: Clause) -> Iterator[str]:
    """tall, short; inside, outside; happy, sad."""
    in_view = len(clause.lower) <= MAX_OF_SCENE and '"' not in clause.lower and _in_view(clause)
    said = len(clause.subject) + 1
    if clause.kind == "modal" or "or" in clause.lower:
        return  # what can be strong can be weak; of two things, the other may be so
    for swap in swaps("opposite", clause, clause.lexicon.opposites):
        several = clause.kind == "existential" and (clause.plural or clause.determiner in listed("numbers"))
        if swap.in_subject and (clause.of_all or several):
            continue  # what holds of tall men may hold of short ones
        # What a report says of many things is not told by the word before one of them.
        told = clause.kind == "copular" and said <= swap.position < said + 3 and _by_a_prefix(swap.old, swap.new)
        if in_view or told:
            yield spliced(swap)


def _by_a_prefix(old: str, new: str) -> bool:
    """ "possible" and "impossible" have the same senses; "rough" and "smooth" have not."""
    short, long = sorted((old, new), key=len)
    return long.endswith(short) and long.removesuffix(short) in ("un", "in", "im", "il", "ir", "dis", "non")


def _in_view(clause: Clause) -> bool:
    if clause.kind == "unreadable":
        return all(word.isalpha() and word.islower() for word in clause.words)
    return clause.kind == "progressive" or (clause.of_a_scene and not clause.past and _shows_itself(clause))


def _shows_itself(clause: Clause) -> bool:
    """ "A man carries a large box", not "the work deals with large firms": it may deal with small ones too."""
    return clause.kind != "simple" or clause.animate or clause.verb == "have"


@rule(CONTRADICTS, "opposite verb", "progressive simple")
def opposite_verb(clause: Clause) -> Iterator[str]:
    """is sitting: is standing."""
    new = clause.lexicon.opposite_verbs.get(clause.verb)
    if not _in_view(clause) and not (clause.verb in listed("opposites for good") and _of_a_certain_one(clause)):
        return
    if new and not clause.partial and allowed("opposite verb", Swap(clause, clause.verb, new, "", clause.first)):
        particle = clause.verb in ("sit", "stand") and clause.first in ("down", "up")
        yield written(clause.but(verb=new, rest=clause.thing if particle else clause.rest).words)


def _of_a_certain_one(clause: Clause) -> bool:
    """ "approved the plan", not "approved some plans": others may have been rejected."""
    if clause.plural and not clause.counted and clause.noun not in listed("pronouns"):
        return False
    return clause.first in ("the", "it", "him", "her", "them", "that", "to", "this", "") or clause.rest[0][:1].isupper()


def _swapped_gender(words: Sequence[str]) -> list[str]:
    """him for her and the other way round; "her" is "his" before a noun and "him" elsewhere."""
    swapped = [_OTHER_GENDER.get(word.lower(), word) for word in words]
    for i, word in enumerate(words):
        after = words[i + 1].lower() if i + 1 < len(words) else ""
        if word.lower() == "her" and (not after[:1].isalnum() or after in _NOT_OWNED):
            swapped[i] = "him"
    return swapped


_NOT_OWNED = listed("prepositions", "conjunctions", "determiners")


@rule(CONTRADICTS, "counterpart")
def counterpart(clause: Clause) -> Iterator[str]:
    """A man is eating: a woman is eating."""
    new = clause.lexicon.counterparts.get(clause.noun)
    if (clause.past or clause.stative or clause.of_all or clause.kind == "modal") and clause.kind != "progressive":
        return  # both may have done so
    if new is None or clause.partial or not clause.single or not (clause.indefinite or clause.determiner == "the"):
        return  # some men and some women may both be there
    position = _only_one_with_a_sex(clause)
    if position is None or clause.words[position][:1].isupper() or not listed("of one sex").isdisjoint(clause.lower):
        return
    aged = not listed("says an age").isdisjoint(clause.lower[:position])
    if not aged or new.split()[-1] not in listed("is of an age"):
        words = clause.words if new in listed("of no sex") else _swapped_gender(clause.words)
        yield written([*words[:position], *new.split(), *words[position + 1 :]])


def _only_one_with_a_sex(clause: Clause) -> int | None:
    """Where the subject's noun stands, if it has a counterpart alone and is not part of a longer name."""
    lower, lexicon = clause.lower, clause.lexicon
    if sum(word in lexicon.counterparts for word in lower) > 1 or clause.noun not in lower:
        return None
    position = lower.index(clause.noun)
    after = clause.at(position + 1)
    verb = after in lexicon.verb_of["third"] or after in lexicon.forms
    return None if after in lexicon.nouns and not verb else position


# -- other numbers -------------------------------------------------------------------------------------------------


def _number_position(clause: Clause) -> int | None:
    plain = listed("numbers") - {"hundred"} if listed("compares numbers").isdisjoint(clause.lower) else ()
    neighbours, no_number = enumerate(itertools.pairwise(clause.lower)), listed("after no plain number")
    return next(
        (
            i
            for i, (word, after) in neighbours
            if word in plain and after not in no_number and clause.at(i - 1) not in listed("one of a row")
            and not clause.words[i + 1][:1].isupper()
        ),
        None,
    )  # fmt: skip


@rule(CONTRADICTS, "number", ANY_KIND)
def other_number(clause: Clause) -> Iterator[str]:
    """two men: five men."""
    position = _number_position(clause)
    if position is not None:
        number = clause.lower[position]
        for wrong in _OTHER_NUMBERS.get(number, "two three").split():
            if not clause.in_view and NUMBERS[wrong] < NUMBERS[number]:
                continue  # who opened five shops opened two
            yield clause.with_words(position, position + 1, wrong)


@rule(CONTRADICTS, "number", "progressive copular")
def three_not_one(clause: Clause) -> Iterator[str]:
    """Only one man is eating: three men are eating."""
    only_one = clause.lower[:2] == ["only", "one"] and len(clause.lower) > 3 and len(clause.subject) == 3
    many = clause.lexicon.plurals.get(clause.noun)
    if only_one and many and clause.auxiliary == "is" and _number_position(clause) is None:
        yield clause.say("three {many} are {after}", many=many, after=clause.words[4:])


# -- what excludes it ----------------------------------------------------------------------------------------------


@rule(CONTRADICTS, "exclusive word", ANY_KIND)
def exclusive_word(clause: Clause) -> Iterator[str]:
    """red, blue; soccer, tennis; beach, kitchen."""
    if (
        clause.past
        or clause.partial
        or '"' in clause.lower
        or not (clause.of_a_scene or clause.kind == "progressive")
        or len(clause.lower) > MAX_OF_SCENE
    ):
        return  # what is one thing today may be another tomorrow, and reports tell of many days
    for swap in swaps("exclusive word", clause, clause.lexicon.exclusive):
        if swap.old in clause.lexicon.places:
            at = f"{_AT_PLACES[swap.two_before]} {swap.new}"
            yield clause.with_words(swap.position - 2, swap.position + 1, at)
        else:
            yield spliced(swap)


@rule(CONTRADICTS, "exclusive act", "progressive simple", past=False)
def exclusive_act(clause: Clause) -> Iterator[str]:
    """is eating: is fast asleep."""
    if not clause.animate or clause.partial or clause.determiner in ("every", "each", "only"):
        return
    if clause.named or (clause.kind == "simple" and not clause.of_a_scene):
        return  # he works, and sleeps at night
    if not listed("half asleep").isdisjoint(clause.lower) or (clause.verb == "play" and "dead" in clause.lower):
        return
    by_default = ["fast asleep"] if clause.verb in clause.lexicon.animate_acts else []
    for act in clause.lexicon.exclusive_acts.get(clause.verb, by_default):
        if not clause.animal or act not in listed("acts of people only"):
            yield clause.say("{subject} {be} {act}", act=act)


@rule(CONTRADICTS, "number", ANY_KIND)
def compared(clause: Clause) -> Iterator[str]:
    """more than ten: fewer than ten."""
    for i, number in enumerate(clause.lower[2:]):
        opposite = _COMPARED.get(f"{clause.at(i)} {clause.at(i + 1)}")
        if opposite and (number.isdigit() or number in NUMBERS):
            measured = opposite == "fewer than" and clause.at(i + 3) in listed("measured by less")
            yield clause.with_words(i, i + 2, "less than" if measured else opposite)


# -- how many ------------------------------------------------------------------------------------------------------


@rule(CONTRADICTS, "quantifier")
def no_one(clause: Clause) -> Iterator[str]:
    """Everyone is happy: no one is happy."""
    who, after = clause.lower[0], clause.words[1:]
    if who in ("someone", "somebody"):
        yield clause.say("no one {after}", after=after)
        yield clause.say("nobody at all {after}", after=after)
    elif who in listed("everyone"):
        yield from clause.say_each(said("no one"), "{each} {after}", after=after)
        auxiliary = _PLURAL_FORMS.get(clause.auxiliary, clause.auxiliary)
        few = clause.but(plural=True, auxiliary=auxiliary)
        yield clause.say("only a few people {after}", after=few.words[1:])


@rule(CONTRADICTS, "quantifier")
def not_all_of(clause: Clause) -> Iterator[str]:
    """All the men are tall: none of the men are tall."""
    if clause.lower[:2] in (["all", "the"], ["all", "of"]):
        those = clause.words[2:] if clause.lower[1] == "of" else clause.words[1:]
        yield from clause.say_each(said("not all"), "{each} {those}", those=those)


@rule(CONTRADICTS, "quantifier")
def hardly_any(clause: Clause) -> Iterator[str]:
    """Many men are tall: hardly any men are tall; both are: not both are."""
    if clause.lower[0] == "both":
        yield clause.say("not {words}")
    elif clause.lower[0] in ("many", "several", "multiple") and clause.lexicon.is_plural(clause.noun):
        yield clause.say("hardly any {those}", those=clause.words[1:])


@rule(CONTRADICTS, "quantifier")
def no_group(clause: Clause) -> Iterator[str]:
    """A group of men is eating: no group of men is eating."""
    if clause.lower[:3] == ["a", "group", "of"]:
        if clause.auxiliary in listed("plural be"):
            yield clause.say("no {members}", members=clause.words[3:])
        else:
            yield clause.say("no group {of}", of=clause.words[2:])


@rule(CONTRADICTS, "counterpart")
def she_not_he(clause: Clause) -> Iterator[str]:
    """He rides his bike: she rides her bike."""
    other = {"he": "she", "she": "he"}.get(clause.lower[0])
    if (clause.past or clause.stative or clause.kind in ("perfect", "modal")) and clause.kind != "progressive":
        return  # both may have done so
    if clause.kind == "copular" and clause.first not in listed("prepositions", "articles", "conditions"):
        return
    if other and listed("of one sex beside a pronoun").isdisjoint(clause.lower):
        yield clause.say("{other} {after}", other=other, after=_swapped_gender(clause.words[1:]))


# -- far from it ---------------------------------------------------------------------------------------------------


def _said(clause: Clause) -> str:
    """What is said of the subject after a copula: a quality, a place, a class or a condition."""
    first, lexicon = clause.first, clause.lexicon
    if clause.partial:
        return ""
    known = first in lexicon.adjectives or first in lexicon.opposites
    if known and first not in listed("prepositions", "numbers", "no quality"):
        return "quality"
    if first in listed("where one is not near") and clause.thing:
        return "place"
    if first in ("a", "an"):
        return "class"
    return "condition" if first in listed("conditions") or first in lexicon.verb_of["participle"] else ""


@rule(CONTRADICTS, "far from", "copular")
def anything_but(clause: Clause) -> Iterator[str]:
    """is tall: is anything but tall; is far from tall."""
    if _said(clause) == "class":
        yield from _with(clause, "not of a class")
    if _said(clause) != "quality":
        return
    if clause.thing and clause.lower_rest[1] not in listed("prepositions", "conjunctions"):
        return
    by_degrees = not clause.first.endswith("er") and clause.first not in listed("no degrees")
    yield from _with(clause, "not of a quality" if by_degrees else "not of a quality without degrees")


@rule(CONTRADICTS, "far from", "copular")
def nowhere_near(clause: Clause) -> Iterator[str]:
    """is in the park: is nowhere near the park."""
    if _said(clause) != "place":
        return
    width = {"next to": 2, "on top": 3, "in front": 3}.get(" ".join(clause.lower_rest[:2]), 1)
    place = clause.rest[width:]
    whole = place and clause.lexicon.noun_phrase_end(place) == len(place)
    if whole and place[0].lower() in listed("a certain") and place[-1].lower() not in listed("no real places"):
        yield clause.say("{subject} {auxiliary} nowhere near {place}", place=place)
        yield clause.say("{subject} {auxiliary} far away from {place}", place=place)
    yield clause.say("{subject} {auxiliary} by no means {rest}")


@rule(CONTRADICTS, "not begun", "copular", past=False)
def no_longer_there(clause: Clause) -> Iterator[str]:
    """is in the park: is no longer in the park."""
    said = _said(clause)
    if said == "place" or (said == "condition" and clause.first != "all"):
        yield clause.say("{subject} {auxiliary} no longer {rest}")


@rule(CONTRADICTS, "denying adverb", "copular")
def by_no_means(clause: Clause) -> Iterator[str]:
    """is dressed in blue: is by no means dressed in blue."""
    if _said(clause) == "condition":
        if clause.first in listed("conditions at all"):
            yield from _with(clause, "not at all")
        else:
            yield from _with(clause, "not so then" if clause.past else "not so now")


def _has_a_thing(clause: Clause) -> bool:
    if clause.verb != "have" or clause.partial or clause.universal:
        return False
    first, lexicon = clause.first, clause.lexicon
    return first in listed("before a thing had", "numbers") or first in lexicon.colors or first in lexicon.nouns


@rule(CONTRADICTS, "no", "simple", past=False)
def has_no(clause: Clause) -> Iterator[str]:
    """has a hat: has no hat; has the hat: is without the hat."""
    if not _has_a_thing(clause):
        return
    if clause.first in listed("a certain one"):
        yield clause.say("{subject} {be} without {rest}")
        return
    counted = clause.first in listed("quantities", "numbers")
    thing = clause.thing if counted else clause.rest
    if thing and thing[0].lower() not in ("lot", "few", "of"):
        yield clause.say("{subject} {has} no {none}", none=thing)


@rule(CONTRADICTS, "far from", "simple", past=False)
def lacks(clause: Clause) -> Iterator[str]:
    """has a hat: lacks a hat."""
    if _has_a_thing(clause) and clause.lexicon.noun_phrase_end(clause.rest) == len(clause.rest):
        yield clause.say("{subject} {lack} {rest}", lack="lack" if clause.plural else "lacks")
        yield clause.say("{subject} never {has} {rest}")


@saying(CONTRADICTS, "denying adverb", "simple", "{subject} certainly {does} not {verb} {rest}", past=False)
def certainly_not(clause: Clause) -> bool:
    """likes tea: certainly does not like tea."""
    return clause.stative and clause.verb != "have" and not clause.partial


@saying(CONTRADICTS, "not begun", "simple", "{subject} no longer {finite} {rest}", past=False)
def no_longer_so(clause: Clause) -> bool:
    """likes tea: no longer likes tea."""
    return clause.stative and clause.verb != "have" and not clause.partial


@rule(CONTRADICTS, "denying adverb", "progressive simple", past=True)
def never_did(clause: Clause) -> Iterator[str]:
    """ate: never ate; was eating: was never eating."""
    if not clause.partial and (clause.auxiliary or not clause.coordinated):
        verb = "{auxiliary} never {ing}" if clause.auxiliary else "never {finite}"
        yield clause.say(f"{{subject}} {verb} {{rest}}")


@rule(CONTRADICTS, "refusal", "simple", past=True)
def refused(clause: Clause) -> Iterator[str]:
    """ate: refused to eat; failed to eat."""
    if clause.verb in listed("not refused before"):
        return
    if clause.animate and not clause.stative and not clause.partial and not clause.coordinated:
        yield clause.say("{subject} refused to {verb} {rest}")
        yield clause.say("{subject} failed to {verb} {rest}")


# -- never ---------------------------------------------------------------------------------------------------------


def _may_be_denied_whole(clause: Clause) -> bool:
    return not clause.partial and not clause.universal and clause.words[1:2] != ["than"]


@rule(CONTRADICTS, "denying adverb", "copular perfect")
def in_no_way(clause: Clause) -> Iterator[str]:
    """was founded: was never founded; is a teacher: is certainly not a teacher."""
    if _may_be_denied_whole(clause) and clause.first not in listed("says when"):
        # What holds of someone for good is not denied by "never": "the boys are never brothers".
        never = clause.past or clause.kind == "perfect"
        yield from _with(clause, "never so" if never else "certainly not so")


@rule(CONTRADICTS, "denying adverb", "modal")
def under_no_circumstances(clause: Clause) -> Iterator[str]:
    """can swim: can under no circumstances swim."""
    if _may_be_denied_whole(clause) and not may_be_so(clause):
        yield from _with(clause, "never can")


@saying(CONTRADICTS, "refusal", "modal", "{subject} {be} unable to {rest}")
def unable(clause: Clause) -> bool:
    """can swim: is unable to swim."""
    return _may_be_denied_whole(clause) and clause.auxiliary == "can" and clause.first != "be"


def _goes_on_by_itself(clause: Clause) -> bool:
    if not _may_be_denied_whole(clause) or clause.coordinated or clause.animate:
        return False
    return not clause.stative and clause.verb not in ("have", "be")


@saying(CONTRADICTS, "denying adverb", "simple", "{subject} never {finite} {rest}", past=False)
def never_does(clause: Clause) -> bool:
    """The bus runs: the bus never runs."""
    if clause.lower_rest[-1:] in (["today"], ["now"]):
        return False
    return _goes_on_by_itself(clause)


@saying(CONTRADICTS, "not begun", "simple", "{subject} no longer {finite} {rest}", past=False)
def no_longer_does(clause: Clause) -> bool:
    """The bus runs: the bus no longer runs."""
    return _goes_on_by_itself(clause)


@saying(CONTRADICTS, "denying adverb", "simple", "{subject} in no way {finite} {rest}", past=False)
def in_no_way_does(clause: Clause) -> bool:
    """The bus runs: the bus in no way runs."""
    return _goes_on_by_itself(clause)


# -- not begun -----------------------------------------------------------------------------------------------------


def _may_not_begin(clause: Clause) -> bool:
    if clause.verb == "go" and clause.first == "to" and clause.thing[:1] and clause.thing[0] in clause.lexicon.forms:
        return False  # "is going to sing"
    if clause.stative or not clause.animate or clause.partial or clause.universal or clause.determiner == "only":
        return False
    if clause.kind == "simple" and not clause.of_a_scene:
        return False
    return clause.kind == "progressive" or not clause.coordinated


@rule(CONTRADICTS, "not begun", "progressive simple", past=False)
def not_begun(clause: Clause) -> Iterator[str]:
    """is eating: is no longer eating; has yet to start eating."""
    if _may_not_begin(clause):
        yield clause.say("{subject} {be} no longer {ing} {rest}")
        yield clause.say("{subject} {have} yet to start {ing} {rest}")


@saying(CONTRADICTS, "refusal", "progressive simple", "{subject} {be} refusing to {verb} {rest}", past=False)
def refuses(clause: Clause) -> bool:
    """is eating: is refusing to eat."""
    return (
        _may_not_begin(clause) and clause.human and not clause.coordinated and clause.verb not in listed("not refused")
    )


@rule(CONTRADICTS, "affirmation", "simple", negated=None, half_denied=True)
def has_some(clause: Clause) -> Iterator[str]:
    """has no arms: has some arms."""
    if (
        clause.first == "no"
        and clause.thing
        and clause.thing[0].lower() not in listed("no number", "no longer a number")
        and clause.lower_rest[-2:] != ["at", "all"]
    ):
        end = clause.lexicon.noun_phrase_end(clause.thing) or len(clause.thing)
        noun = clause.thing[end - 1].lower()
        counted = noun in clause.lexicon.nouns and noun not in clause.lexicon.mass
        one = said("an arm") if counted else said("some water")
        some = said("some arms") if clause.lexicon.is_plural(noun) else one
        yield from clause.say_each(some, "{subject} {finite} {each} {thing}")
        if clause.verb == "have":
            yield clause.say("{subject} {does} have {each} {thing}", each=some[0])


# -- WordNet, frames -----------------------------------------------------------------------------------------------


@rule(CONTRADICTS, "wordnet", ANY_KIND)
def wordnet_opposite(clause: Clause) -> Iterator[str]:
    """Adjectives that only WordNet knows the opposite of."""
    lexicon = clause.lexicon
    for i, word in enumerate(clause.lower):
        last = clause.kind == "copular" and i == len(clause.lower) - 1
        if lexicon.wordnet and word not in lexicon.opposites and (last or word in lexicon.adjectives):
            for new in lexicon.wordnet.opposites(word, "adj")[:1]:
                yield clause.with_words(i, i + 1, new)


@rule(CONTRADICTS, "frame", negated=None, half_denied=True)
def it_is_not_true(clause: Clause) -> Iterator[str]:
    """It is not true that a man is eating."""
    return clause.say_each(said("not true"), "{each} {words}")
