"""Sentences that cannot be true of the scene that a given one describes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from sensecheck.language.rewriting.assembling import (
    STATIVE,
    Rewrite,
    do_not,
    each_replaced,
    finite,
    in_compound,
    is_animal,
    is_coordinated,
    is_had,
    is_human,
    is_indefinite,
    is_of_this_moment,
    is_single_subject,
    noun_phrase_end,
    plain,
    say,
    splice,
    swap_gender,
)
from sensecheck.language.rewriting.clause import Clause
from sensecheck.language.rewriting.lexicon import (
    COLLECTIVES,
    CONJUNCTIONS,
    DETERMINERS,
    NUMBERS,
    PREPOSITIONS,
    RELATIVES,
    Lexicon,
    one_of,
)

Rule = Callable[[Clause, list[str], Lexicon], Iterator[Rewrite]]
NO_SUBJECT = ("no", "nobody", "none", "nothing", "neither")
SOME = {
    "some",
    "someone",
    "somebody",
    "something",
    "several",
    "many",
    "few",
    "most",
    "multiple",
    "other",
    "others",
    "another",
}
SPORTS = {
    "soccer",
    "basketball",
    "tennis",
    "baseball",
    "football",
    "hockey",
    "volleyball",
    "golf",
    "rugby",
    "cricket",
}
COATS = {"black", "white", "brown", "gray"}
OTHER_NUMBERS = {
    "two": ("five", "seven"),
    "three": ("six", "eight"),
    "four": ("two", "nine"),
    "five": ("two", "eight"),
}


_ANY = {"something": "anything", "someone": "anyone", "somebody": "anybody", "some": "any"}
_DENIALS = one_of("no nobody negation quantifier refusal") | {"not begun"}


def _contradicts(text: str, rule: str, frame: bool = False) -> Rewrite:
    if rule in _DENIALS or (rule == "far from" and "never" in text):
        first, *rest = text.split(" ")
        words = [_ANY.get(w.rstrip("."), w.rstrip(".")) + w[len(w.rstrip(".")) :] for w in rest]
        text = " ".join([first, *words])
    return Rewrite(text, rule, "contradicts", frame)


def _after_subject(clause: Clause, lexicon: Lexicon) -> list[str]:
    return plain(clause, lexicon)[len(clause.subject) :]


def negation(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """is not, does not; and the other way round where the sentence is negative already."""
    if clause.kind == "unreadable" or clause.auxiliary in ("might", "may"):
        return  # it may be so and it may not: both can be true
    if clause.negated:
        yield from _affirmation(clause, lexicon)
        return
    if clause.kind == "existential":
        return
    if clause.determiner in ("all", "every", "each", "both") or clause.head.lower() in (
        "everyone",
        "everybody",
    ):
        yield _contradicts(say("not", words), "negation")
        return
    if clause.determiner in SOME:
        return  # some people do not, and some do: no contradiction
    if clause.kind == "progressive":
        assert clause.verb
        ing = lexicon.forms[clause.verb].ing
        yield _contradicts(say(clause.subject, clause.auxiliary, "not", ing, clause.rest), "negation")
    elif clause.kind in ("copular", "modal", "perfect"):
        auxiliary = "cannot" if clause.auxiliary == "can" else f"{clause.auxiliary} not"
        yield _contradicts(say(clause.subject, auxiliary, clause.rest), "negation")
    elif clause.kind == "simple" and not is_coordinated(clause, lexicon):
        assert clause.verb
        yield _contradicts(say(clause.subject, do_not(clause), clause.verb, clause.rest), "negation")


def _affirmation(clause: Clause, lexicon: Lexicon) -> Iterator[Rewrite]:
    first = clause.determiner
    if clause.kind == "existential":
        phrase = clause.subject[1:] if first in ("no", "any", "a", "an") else clause.subject
        if clause.plural:
            yield _contradicts(say("there", clause.auxiliary, "some", phrase, clause.rest), "affirmation")
            yield _contradicts(say("there", clause.auxiliary, "many", phrase, clause.rest), "affirmation")
            yield _contradicts(say("there", clause.auxiliary, "several", phrase, clause.rest), "affirmation")
            yield _contradicts(say("some", phrase, "can be seen", clause.rest), "affirmation")
            yield _contradicts(say("there", clause.auxiliary, "a few", phrase, clause.rest), "affirmation")
        else:
            mass = clause.head.lower() in lexicon.mass
            yield _contradicts(
                say("there", clause.auxiliary, "some" if mass else "a", phrase, clause.rest), "affirmation"
            )
            yield _contradicts(say("some" if mass else "a", phrase, "can be seen", clause.rest), "affirmation")
        return
    if first in ("nobody", "nothing"):
        affirmative = {"nobody": "somebody", "nothing": "something"}[first]
        tail = list(_after_subject(clause, lexicon))
        yield _contradicts(say(affirmative, tail), "affirmation")
        if first == "nobody":
            yield _contradicts(say("someone", tail), "affirmation")
            yield _contradicts(say("everybody", tail), "affirmation")
            yield _contradicts(say("a person", tail), "affirmation")
            yield _contradicts(say("at least one person", tail), "affirmation")
            yield _contradicts(say("everyone", tail), "affirmation")
        return
    if first == "no":
        tail = _after_subject(clause, lexicon)
        for affirmative in ("some", "several", "many", "all the") if clause.plural else ("a", "every", "at least one"):
            yield _contradicts(say(affirmative, clause.subject[1:], tail), "affirmation")
        return
    if first in NO_SUBJECT or clause.rest[:1] == ("never",):
        return
    if clause.kind == "progressive":
        assert clause.verb
        ing = lexicon.forms[clause.verb].ing
        yield _contradicts(say(clause.subject, clause.auxiliary, ing, clause.rest), "affirmation")
        yield _contradicts(say(clause.subject, clause.auxiliary, "currently", ing, clause.rest), "affirmation")
        if not clause.past:
            if not is_of_this_moment(clause):
                form = finite(clause, clause.verb, lexicon)
                yield _contradicts(say(clause.subject, form, clause.rest), "affirmation")
            yield _contradicts(say(clause.subject, "can be seen", ing, clause.rest), "affirmation")
            yield _contradicts(say(clause.subject, clause.auxiliary, "busy", ing, clause.rest), "affirmation")
    elif clause.kind in ("copular", "modal", "perfect"):
        yield _contradicts(say(clause.subject, clause.auxiliary, clause.rest), "affirmation")
        if clause.kind == "copular":
            yield _contradicts(say(clause.subject, clause.auxiliary, "indeed", clause.rest), "affirmation")
            yield _contradicts(say(clause.subject, clause.auxiliary, "certainly", clause.rest), "affirmation")
    elif clause.kind == "do":
        assert clause.verb
        form = finite(clause, clause.verb, lexicon)
        rest = ("some", *clause.rest[1:]) if clause.rest[:1] == ("any",) else clause.rest
        yield _contradicts(say(clause.subject, form, rest), "affirmation")
        yield _contradicts(say(clause.subject, "clearly", form, rest), "affirmation")
        yield _contradicts(say(clause.subject, clause.auxiliary, "indeed", clause.verb, rest), "affirmation")


def nobody(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """No man is eating; nobody is eating; there is no man eating."""
    if clause.negated or clause.kind == "unreadable":
        return
    if clause.kind == "existential":
        phrase = list(clause.subject)
        if not is_single_subject(clause):
            return
        if phrase[0].lower() in ("a", "an", "some", "one", "many", "several") or phrase[0].lower() in NUMBERS:
            bare_phrase = (
                phrase[1:]
                if phrase[:2] != ["a", "lot"] and phrase[:2] != ["a", "group"] and phrase[:2] != ["a", "bunch"]
                else phrase[3:]
            )
            be = clause.auxiliary
            if (bare_phrase and bare_phrase != phrase[1:]) or (
                bare_phrase and bare_phrase[-1].lower() in lexicon.plural_forms and be == "is"
            ):
                be = "are"
        elif clause.plural and phrase[0].lower() not in DETERMINERS:
            bare_phrase, be = phrase, clause.auxiliary
        else:
            return
        if (
            not bare_phrase
            or "of" in [w.lower() for w in bare_phrase]
            or bare_phrase[0].lower() in ("few", "lot", "couple", "more", "other")
        ):
            return
        yield _contradicts(say("there", be, "no", bare_phrase, clause.rest), "no")
        if be == "are":
            yield _contradicts(say("there", be, "not any", bare_phrase, clause.rest), "no")
        else:
            yield _contradicts(say("there", be, "not a single", bare_phrase, clause.rest), "no")
        first = clause.rest[0].lower() if clause.rest else ""
        if not first:
            yield _contradicts(say("no", bare_phrase, "can be seen"), "no")
            yield _contradicts(say("no", bare_phrase, be, "present"), "no")
            yield _contradicts(say("no", bare_phrase, be, "there"), "no")
        elif first in lexicon.verb_of["ing"]:
            yield _contradicts(say("no", bare_phrase, be, clause.rest), "no")
            yield _contradicts(say("no", bare_phrase, "can be seen", clause.rest), "no")
            if be == clause.auxiliary:
                yield _contradicts(say(clause.subject, be, "not", clause.rest), "negation")
                if lexicon.verb_of["ing"][first] not in STATIVE and (
                    is_human(clause, lexicon) or is_animal(clause, lexicon)
                ):
                    yield _contradicts(
                        say(clause.subject, "have yet to start" if clause.plural else "has yet to start", clause.rest),
                        "not begun",
                    )
                else:
                    yield _contradicts(say(clause.subject, be, "no longer", clause.rest), "not begun")
        elif first in PREPOSITIONS and not any(w in RELATIVES for w in clause.rest):
            yield _contradicts(say("no", bare_phrase, "can be seen", clause.rest), "no")
            if first != "with":
                yield _contradicts(say("no", bare_phrase, be, clause.rest), "no")
            if be == clause.auxiliary and first != "with":
                yield _contradicts(say(clause.subject, be, "not", clause.rest), "negation")
        if is_human(clause, lexicon) and (not first or first in lexicon.verb_of["ing"] or first in PREPOSITIONS):
            singular_be = "was" if clause.past else "is"
            if first != "with":
                yield _contradicts(say("nobody", singular_be, clause.rest or ["there"]), "nobody")
            elif is_had(clause.rest, lexicon):
                yield _contradicts(say("nobody", "had" if clause.past else "has", clause.rest[1:]), "nobody")
        return
    after_subject = _after_subject(clause, lexicon)
    nobody_clause = clause.but(
        plural=False,
        subject=("nobody",),
        auxiliary={"are": "is", "were": "was", "have": "has"}.get(clause.auxiliary, clause.auxiliary),
    )
    lower_rest = [w.lower() for w in clause.rest]
    reflexive = one_of("their his her themselves himself herself he she they each eachother themself together") & set(
        lower_rest
    )
    second_clause = any(a == "," and b in ("and", "but") for a, b in itertools.pairwise(lower_rest))
    if second_clause:
        return
    plural_predicate = (
        clause.kind == "copular"
        and clause.plural
        and (
            any((lexicon.is_plural(w) and w in lexicon.nouns) or w == "all" for w in lower_rest[:3])
            or not (
                lower_rest[0] in lexicon.adjectives
                or lower_rest[0] in PREPOSITIONS
                or lower_rest[0] in lexicon.colors
                or lower_rest[0].endswith(("ing", "ed"))
                or lower_rest[0] in ("very", "next", "not")
            )
            or lower_rest[0] in ("both", "all")
        )
    )
    if is_human(clause, lexicon) and is_single_subject(clause) and not reflexive and not plural_predicate:
        yield _contradicts(say("nobody", _after_subject(nobody_clause, lexicon)), "nobody")
        if not clause.past and clause.kind in ("progressive",):
            yield _contradicts(say("there", "is nobody", _after_subject(nobody_clause, lexicon)[1:]), "nobody")
        if clause.kind in ("copular", "simple"):
            yield _contradicts(say("not a single person", _after_subject(nobody_clause, lexicon)), "nobody")
    if not is_indefinite(clause, lexicon) or not is_single_subject(clause):
        if (
            clause.determiner == "the"
            and clause.plural
            and is_single_subject(clause)
            and clause.head
            and "of" not in clause.subject
            and clause.head.lower() not in COLLECTIVES
        ) and clause.kind in ("progressive", "copular", "simple"):
            yield _contradicts(
                say("neither of" if "two" in clause.subject[1:2] else "none of", clause.subject, after_subject), "no"
            )
        return
    phrase = list(clause.subject)
    bare_phrase = (
        phrase[1:]
        if phrase[0].lower() in DETERMINERS or phrase[0].lower() in NUMBERS or phrase[0].isdigit()
        else phrase
    )
    if (
        not bare_phrase
        or "of" in [w.lower() for w in bare_phrase[:2]]
        or bare_phrase[0].lower() in ("few", "lots", "lot", "other", "couple", "more")
        or reflexive & {"each"}
    ):
        return
    yield _contradicts(say("no", bare_phrase, after_subject), "no")
    if (clause.kind == "progressive" and not clause.past) or (
        clause.kind == "copular" and not clause.past and clause.rest[0].lower() in PREPOSITIONS
    ):
        yield _contradicts(say("there", clause.be, "no", bare_phrase, after_subject[1:]), "no")


def opposites(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """tall, short; inside, outside; happy, sad."""
    lower = [w.lower() for w in words]
    for position, old, new in each_replaced(words, lexicon.opposites):
        width = len(old.split())
        before = lower[position - 1] if position else ""
        after = lower[position + width] if position + width < len(words) else ""
        attributive = after in lexicon.nouns
        in_predicate = clause.kind == "copular" and position > len(clause.subject)
        if old in PREPOSITIONS or old in ("on top of", "in front of"):
            if old in ("with", "without"):
                if after not in ("a", "an", "no") or (clause.negated and old == "without"):
                    continue
                if not (position and lexicon.is_noun(before)):
                    continue
            elif old in ("up", "down", "over", "under", "above", "below", "before", "after", "near", "far"):
                if old in ("up", "down") and not (
                    clause.verb in one_of("walk run climb go ride drive hike jog ski slide march come look")
                    and after in ("the", "a", "stairs", "")
                ):
                    continue
                if (old in ("over", "under", "above", "below") and after not in ("the", "a")) or old in (
                    "before",
                    "after",
                ):
                    continue
                if old == "over" and clause.verb not in ("fly", "jump", "hang"):
                    continue
                if old == "near":
                    new = "far from"
                    if after == "" or before in DETERMINERS:
                        continue
                if old in ("far",):
                    continue
            elif old in ("inside", "outside") and after == "of" and new in ("inside", "outside"):
                pass
        elif old in one_of(
            "light left right hard fast like last first late early full present "
            "short single open high low long still dead fat"
        ):
            if not (
                (in_predicate and position == len(words) - width)
                or (
                    attributive
                    and old in ("long", "short", "fast", "high", "dead", "fat", "open", "full")
                    and after not in ("hair", "shorts", "time", "line", "jump", "way", "school", "sleeves")
                )
            ):
                continue
        elif old in ("alone", "together"):
            if old == "alone" and not clause.plural:
                new = "with a large crowd" if not in_predicate else "in a large crowd"
            elif old == "together":
                new = "separately"
            elif old == "alone":
                new = "in a large crowd"
            if position != len(words) - 1 or clause.verb in ("put", "get", "come"):
                continue
        elif not attributive and not (
            position == len(words) - width or after in CONJUNCTIONS or after in PREPOSITIONS or after == ","
        ):
            continue
        if (
            new in one_of("naked dressed full hungry empty energetic alive awake asleep absent shod hidden")
            or old in ("naked", "asleep", "awake", "alone")
        ) and attributive:
            continue
        if (
            attributive
            and in_compound(words, position + width, lexicon)
            and old not in ("young", "old", "tall", "big", "small", "large", "little")
        ):
            continue
        if old in ("dressed", "clothed") and after:
            continue  # "dressed like a clown": the word is about the dress
        if old in ("old", "new") and before in ("year", "years"):
            continue
        if old in ("little", "big", "large", "small") and after == "league":
            continue
        if (
            old == "little"
            and new == "big"
            and after in ("boy", "girl", "kid", "child", "boys", "girls", "kids", "children")
        ):
            new = "teenage"
            if lexicon.nouns.get(after) in ("kid", "child"):
                continue
        if old == "young" and after in one_of("child children kid kids boy boys girl girls baby toddler"):
            continue
        if old == "old" and new == "new" and lexicon.nouns.get(after) in lexicon.people | lexicon.animals:
            continue
        if (
            old == "old"
            and new == "young"
            and attributive
            and lexicon.nouns.get(after) not in lexicon.people | lexicon.animals
        ):
            continue
        if (
            old == "old"
            and new in ("young", "new", "modern")
            and in_predicate
            and (new == "young") != (is_human(clause, lexicon) or is_animal(clause, lexicon))
        ):
            continue
        if old == "young" and new == "elderly" and after not in lexicon.nouns and not in_predicate:
            continue
        if old in ("male", "female") and not attributive:
            continue
        if before in ("very", "so", "too") and new in ("tiny", "asleep", "awake", "huge"):
            continue
        if (
            old in ("inside", "outside", "indoors", "outdoors")
            and position == len(words) - 1
            and before in ("from", "the")
        ):
            continue
        if old == "full" and new == "hungry" and not is_human(clause, lexicon):
            continue
        if (
            old in ("short", "long", "thin", "light", "dark")
            and new in ("tall", "long", "thick", "heavy", "bright", "fat", "dark", "short")
            and attributive
        ):
            continue
        if clause.negated or (after == "to" and in_predicate):
            continue
        yield _contradicts(say(splice(words, position, old, new)), "opposite")


def wordnet_opposites(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """Adjectives that only WordNet knows the opposite of."""
    if lexicon.wordnet is None or clause.negated:
        return
    for i, word in enumerate(w.lower() for w in words):
        predicate = clause.kind == "copular" and i == len(words) - 1
        if word in lexicon.opposites or not (word in lexicon.adjectives or predicate):
            continue
        for opposite in lexicon.wordnet.opposites(word, "adj")[:1]:
            yield _contradicts(say(words[:i], opposite, words[i + 1 :]), "wordnet")


def opposite_verbs(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """is sitting: is standing."""
    new = lexicon.opposite_verbs.get(clause.verb or "")
    if new is None or clause.negated or clause.kind not in ("progressive", "simple"):
        return
    rest = list(clause.rest)
    likes_a_thing = clause.verb == "like" and rest and rest[0].lower() != "to"
    if clause.verb in one_of("sleep hug catch start begin stop leave like arrive rise") and not likes_a_thing:
        return
    if clause.verb in ("sit", "stand") and rest[:1] in (["down"], ["up"]):
        rest = rest[1:]
    needs_object = clause.verb in one_of("love buy sell push pull watch fix repair open")
    if needs_object and (not rest or rest[0].lower() in PREPOSITIONS):
        return
    yield _contradicts(say(plain(clause.but(verb=new, rest=tuple(rest)), lexicon)), "opposite verb")


def counterpart(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """The same of a woman instead of a man."""
    head = clause.head.lower()
    if clause.determiner in SOME:
        return  # some men and some women may both be there
    if (
        clause.negated
        or head not in lexicon.counterparts
        or not is_single_subject(clause)
        or (not is_indefinite(clause, lexicon) and clause.determiner != "the")
    ):
        return
    lower = [w.lower() for w in words]
    gendered_words = [w for w in lower if w in lexicon.counterparts]
    if len(gendered_words) > 1 or clause.kind == "unreadable" or lower.count(head) != 1:
        return
    if one_of("bride groom beard bearded dress shirtless mustache topless pregnant bikini skirt") & set(lower):
        return
    head_position = lower.index(head)
    if (
        head_position + 1 < len(words)
        and lower[head_position + 1] in lexicon.nouns
        and lower[head_position + 1] not in lexicon.verb_of["third"]
        and lower[head_position + 1] not in lexicon.verb_of["base"]
    ):
        return
    if {"old", "young", "little", "elderly", "older"} & set(lower[:head_position]) and lexicon.counterparts[head] in (
        "adult",
        "adults",
        "child",
        "children",
        "old dog",
        "old dogs",
        "grown-up",
    ):
        return
    ages = {"adult", "adults", "child", "children", "kid", "kids"}
    words_swapped = words if lexicon.counterparts[head] in ages else swap_gender(words)
    yield _contradicts(say(splice(words_swapped, head_position, head, lexicon.counterparts[head])), "counterpart")


def other_number(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """two men: five men."""
    if clause.negated:
        return
    lower = [w.lower() for w in words]
    for i, word in enumerate(lower):
        after = lower[i + 1] if i + 1 < len(words) else ""
        if (
            word in NUMBERS
            and after
            and after not in ("hundred", "thousand", "of", "year", "years", "or", "piece")
            and "least" not in lower
            and word != "hundred"
        ):
            for wrong_number in OTHER_NUMBERS.get(word, ("two", "three")):
                yield _contradicts(say(words[:i], wrong_number, words[i + 1 :]), "number")
            return
    if (
        lower[:2] == ["only", "one"]
        and len(lower) > 3
        and (clause.kind in ("progressive", "copular") and clause.auxiliary == "is" and len(clause.subject) == 3)
    ):
        plural_noun = lexicon.plurals.get(clause.head.lower())
        if plural_noun:
            yield _contradicts(say("three", plural_noun, "are", plain(clause, lexicon)[4:]), "number")
    first = clause.determiner
    if (
        first in ("a", "an", "one")
        and len(clause.subject) == 2
        and clause.kind == "progressive"
        and clause.auxiliary in ("is", "was")
        and (is_human(clause, lexicon) or is_animal(clause, lexicon))
    ):
        plural_noun = lexicon.plurals.get(clause.head.lower())
        lower_rest = {w.lower() for w in clause.rest}
        if (
            plural_noun
            and plural_noun != clause.head.lower()
            and not lower_rest & one_of("his her he she alone himself herself its itself a an who that")
            and clause.head.lower() in lexicon.nouns
            and clause.head.lower() not in ("group", "couple", "crowd", "team", "family", "band")
        ):
            plural_be = "are" if clause.auxiliary == "is" else "were"
            if clause.rest or clause.verb:
                yield _contradicts(say("four", plural_noun, plural_be, plain(clause, lexicon)[3:]), "number")


def exclusive_words(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """red, blue; soccer, tennis; beach, kitchen."""
    if clause.negated:
        return
    lower = [w.lower() for w in words]
    for position, old, new in each_replaced(words, lexicon.exclusive):
        before = lower[position - 1] if position else ""
        after = lower[position + 1] if position + 1 < len(words) else ""
        is_noun = old in lexicon.nouns
        if old in lexicon.colors:
            if (
                new not in lexicon.colors
                or before == "and"
                or after in ("and", "or")
                or (old == "orange" and after not in lexicon.nouns)
                or (old in ("black", "white", "brown") and lexicon.nouns.get(after) in lexicon.people)
            ):
                continue
            if after in ("hair", "haired", "belt", "water", "wine", "dressed") or after == "hair":
                continue
            if before in ("a", "an", "the") and after in ("", "shirted"):
                continue
            if lexicon.nouns.get(after) in lexicon.animals and (new not in COATS or old not in COATS):
                continue
        elif (
            new in lexicon.colors
            or (position < len(clause.subject) and lexicon.nouns.get(old) not in lexicon.animals)
            or ("ball" in old and before in ("the", "a", "his", "her", "their"))
            or lower.count(old) > 1
            or new in lower
            or (
                is_noun
                and in_compound(words, position, lexicon)
                and old not in one_of("soccer basketball tennis baseball football hockey volleyball golf")
            )
            or (
                old in lexicon.places
                and (
                    before not in ("the", "a")
                    or position < 2
                    or lower[position - 2] not in ("in", "at", "on", "inside")
                )
            )
        ):
            continue
        elif old in lexicon.places:
            preposition = {"at": "at the", "on": "at the", "in": "in a", "inside": "in a"}[lower[position - 2]]
            afoot = clause.verb in one_of("swim surf dive drive walk ski row")
            if new == "beach" and (lower[position - 2] == "in" or afoot):
                continue
            yield _contradicts(say(words[: position - 2], preposition, new, words[position + 1 :]), "exclusive word")
            continue
        elif (
            (
                old in ("ride", "car", "bike", "bus", "train", "boat", "bicycle", "motorcycle")
                and (
                    clause.verb in one_of("drive fix repair race park row catch board jump build wash")
                    or clause.verb is None
                )
            )
            or (
                old in ("dog", "cat", "horse", "cow", "elephant", "dogs", "cats", "horses", "cows", "elephants")
                and (clause.verb in ("ride", "bark", "fetch", "herd") or old != clause.head.lower())
            )
            or (
                old in ("shirt", "hat", "couch", "snow", "sand", "drum")
                and (before not in ("a", "an", "the") or clause.verb in ("build", "shovel", "put", "take"))
            )
            or (
                old in SPORTS
                and after
                and after not in (*PREPOSITIONS, *CONJUNCTIONS, "game", "match", "team", "player", "players")
            )
        ):
            continue
        yield _contradicts(say(splice(words, position, old, new)), "exclusive word")


def exclusive_acts(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """is eating: is fast asleep."""
    if clause.negated or clause.kind not in ("progressive", "simple") or clause.past:
        return
    if (
        not (is_human(clause, lexicon) or is_animal(clause, lexicon))
        or clause.determiner in ("every", "each", "only")
        or clause.determiner in SOME
    ):
        return
    acts = lexicon.exclusive_acts.get(clause.verb or "")
    if acts is None:
        acts = ["fast asleep"] if clause.verb in lexicon.animate_acts else []
    if {"asleep", "sleep", "bed", "dreaming", "pretending"} & {w.lower() for w in words}:
        return
    if clause.verb == "play" and {"dead"} & {w.lower() for w in words}:
        return
    for act in acts:
        if is_animal(clause, lexicon) and act in (
            "sitting on a couch",
            "riding a bicycle",
            "fighting",
            "dancing",
            "driving",
            "walking on foot",
            "blindfolded",
            "running a race",
            "completely silent",
        ):
            continue
        yield _contradicts(say(clause.subject, clause.be, act), "exclusive act")


def not_begun(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """has yet to start eating; refuses to eat; is no longer eating."""
    if clause.negated or clause.kind not in ("progressive", "simple") or clause.past or clause.verb is None:
        return
    if clause.verb in STATIVE or not (is_human(clause, lexicon) or is_animal(clause, lexicon)):
        return
    if (
        clause.determiner in ("every", "each", "only", "all", "both")
        or clause.determiner in SOME
        or clause.head.lower() in ("everyone", "everybody")
    ):
        return
    coordinated = is_coordinated(clause, lexicon)
    if coordinated and clause.kind == "simple":
        return
    ing = lexicon.forms[clause.verb].ing
    have = "have" if clause.plural else "has"
    yield _contradicts(say(clause.subject, clause.be, "no longer", ing, clause.rest), "not begun")
    yield _contradicts(say(clause.subject, have, "yet to start", ing, clause.rest), "not begun")
    if (
        not coordinated
        and is_human(clause, lexicon)
        and clause.verb
        not in ("fall", "get", "lose", "win", "go", "drown", "enjoy", "seem", "crash", "pass", "wear", "hold")
    ):
        yield _contradicts(say(clause.subject, clause.be, "refusing to", clause.verb, clause.rest), "refusal")


def far_from(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """is anything but tall; is nowhere near the park; has no hat."""
    if clause.negated or clause.determiner in SOME:
        return
    if clause.kind == "copular":
        rest = [w.lower() for w in clause.rest]
        if (
            (rest[0] in lexicon.adjectives or rest[0] in lexicon.opposites)
            and rest[0] not in PREPOSITIONS
            and rest[0] not in NUMBERS
            and rest[0]
            not in one_of(
                "only alone all both ready outdoors indoors together other several another many few female male"
            )
        ):
            if len(rest) == 1 or rest[1] in PREPOSITIONS or rest[1] in CONJUNCTIONS:
                yield _contradicts(say(clause.subject, clause.auxiliary, "anything but", clause.rest), "far from")
                if not rest[0].endswith("er") and rest[0] not in one_of(
                    "asleep awake dead alive married naked inside outside seated dressed closed open"
                ):
                    yield _contradicts(say(clause.subject, clause.auxiliary, "far from", clause.rest), "far from")
                yield _contradicts(say(clause.subject, clause.auxiliary, "by no means", clause.rest), "far from")
                yield _contradicts(say(clause.subject, clause.auxiliary, "not at all", clause.rest), "far from")
        elif rest[0] in ("in", "at", "on", "near", "inside", "by", "beside", "next") and len(rest) > 1:
            preposition_width = 2 if rest[:2] in (["next", "to"], ["on", "top"], ["in", "front"]) else 1
            if rest[:2] in (["on", "top"], ["in", "front"]):
                preposition_width = 3
            phrase = clause.rest[preposition_width:]
            end = noun_phrase_end(phrase, lexicon)
            if (
                end == len(phrase)
                and phrase
                and phrase[0].lower() in ("a", "an", "the", "his", "her", "their")
                and phrase[-1].lower()
                not in one_of("line love air trouble background foreground middle mood hurry picture photo way phone")
            ):
                yield _contradicts(say(clause.subject, clause.auxiliary, "nowhere near", phrase), "far from")
                yield _contradicts(say(clause.subject, clause.auxiliary, "far away from", phrase), "far from")
            yield _contradicts(say(clause.subject, clause.auxiliary, "by no means", clause.rest), "far from")
            if not clause.past:
                yield _contradicts(say(clause.subject, clause.auxiliary, "no longer", clause.rest), "not begun")
        elif rest[0] in ("a", "an"):
            yield _contradicts(say(clause.subject, clause.auxiliary, "by no means", clause.rest), "far from")
            yield _contradicts(say(clause.subject, clause.auxiliary, "anything but", clause.rest), "far from")
        elif (
            rest[0] in ("outdoors", "indoors", "outside", "inside", "together", "alone", "ready")
            or rest[0] in lexicon.verb_of["participle"]
            or rest[0] in ("about", "all")
        ):
            if not clause.past:
                if rest[0] not in ("all",):
                    yield _contradicts(say(clause.subject, clause.auxiliary, "no longer", clause.rest), "not begun")
                elif clause.determiner in ("all",):
                    yield _contradicts(say("not", clause.subject, clause.auxiliary, clause.rest), "negation")
                else:
                    yield _contradicts(say(clause.subject, clause.auxiliary, "by no means", clause.rest), "far from")
            yield _contradicts(say(clause.subject, clause.auxiliary, "by no means", clause.rest), "far from")
            if rest[0] in ("outdoors", "indoors", "alone", "ready", "together"):
                yield _contradicts(say(clause.subject, clause.auxiliary, "not at all", clause.rest), "far from")
            else:
                denial = "never" if clause.past else "certainly not"
                yield _contradicts(say(clause.subject, clause.auxiliary, denial, clause.rest), "far from")
    if clause.kind == "simple" and clause.verb == "have" and clause.rest and not clause.past:
        rest = list(clause.rest)
        if (
            rest[0].lower() in ("a", "an", "some", "the", "many", "several", "his", "her", "their", "long", "short")
            or rest[0].lower() in lexicon.colors
            or rest[0].lower() in NUMBERS
            or rest[0].lower() in lexicon.nouns
        ):
            if rest[0].lower() in ("to", "been"):
                return
            bare_phrase = (
                rest[1:]
                if rest[0].lower() in ("a", "an", "some", "many", "several") or rest[0].lower() in NUMBERS
                else rest
            )
            if (
                bare_phrase
                and rest[0].lower() not in ("the", "his", "her", "their")
                and bare_phrase[0].lower() not in ("lot", "few", "of")
            ):
                yield _contradicts(say(clause.subject, finite(clause, "have", lexicon), "no", bare_phrase), "no")
            elif rest[0].lower() in ("the", "his", "her", "their"):
                yield _contradicts(say(clause.subject, clause.be, "without", rest), "no")
            if noun_phrase_end(rest, lexicon) == len(rest):
                yield _contradicts(say(clause.subject, "lack" if clause.plural else "lacks", rest), "far from")
                yield _contradicts(say(clause.subject, "never", finite(clause, "have", lexicon), rest), "far from")
    if clause.kind == "simple" and clause.verb not in ("have", None) and clause.verb in STATIVE and not clause.past:
        yield _contradicts(say(clause.subject, "certainly", do_not(clause), clause.verb or "", clause.rest), "far from")
        yield _contradicts(
            say(clause.subject, "no longer", finite(clause, clause.verb or "", lexicon), clause.rest),
            "not begun",
        )
    if clause.kind in ("simple", "progressive") and clause.past and clause.verb:
        forms = lexicon.forms[clause.verb]
        if clause.auxiliary:
            yield _contradicts(say(clause.subject, clause.auxiliary, "never", forms.ing, clause.rest), "far from")
        else:
            yield _contradicts(say(clause.subject, "never", forms.past, clause.rest), "far from")
        if not clause.auxiliary and (is_human(clause, lexicon) or is_animal(clause, lexicon)) and clause.verb != "have":
            yield _contradicts(say(clause.subject, "refused to", clause.verb, clause.rest), "refusal")
            yield _contradicts(say(clause.subject, "failed to", clause.verb, clause.rest), "refusal")


def never(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """was never founded; is certainly not a teacher; has by no means stopped; is unable to; no longer runs."""
    if clause.negated or clause.determiner in SOME or clause.head.lower() in ("everyone", "everybody"):
        return
    if clause.determiner in ("every", "each", "all", "both") or words[1:2] == ["than"]:
        return
    subject, auxiliary, rest = clause.subject, clause.auxiliary, clause.rest
    if clause.kind in ("copular", "perfect"):
        if rest[0].lower() not in one_of("never always already just"):
            # What holds of someone for good is not denied by "never": "the boys are never brothers".
            denial = "never" if clause.past or clause.kind == "perfect" else "certainly not"
            for denial_phrase in (denial, "by no means", "in no way"):
                yield _contradicts(say(subject, auxiliary, denial_phrase, rest), "far from")
    elif clause.kind == "modal" and auxiliary not in ("might", "may"):
        for denial_phrase in ("never", "by no means", "under no circumstances"):
            yield _contradicts(say(subject, auxiliary, denial_phrase, rest), "far from")
        if auxiliary == "can" and rest[0].lower() != "be":
            yield _contradicts(say(subject, clause.be, "unable to", rest), "refusal")
    elif clause.kind == "simple" and clause.verb not in ("have", "be", None) and not is_coordinated(clause, lexicon):
        assert clause.verb
        if is_human(clause, lexicon) or is_animal(clause, lexicon) or clause.verb in STATIVE or clause.past:
            return
        verb = finite(clause, clause.verb, lexicon)
        yield _contradicts(say(subject, "never", verb, rest), "far from")
        yield _contradicts(say(subject, "no longer", verb, rest), "not begun")
        yield _contradicts(say(subject, "in no way", verb, rest), "far from")


def compared(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """more than ten: fewer than ten."""
    if clause.negated:
        return
    opposite = {"more than": "fewer than", "fewer than": "more than", "at least": "fewer than", "at most": "more than",
             "less than": "more than"}  # fmt: skip
    lower = [w.lower() for w in words]
    for i, pair in enumerate(itertools.pairwise(lower)):
        number = lower[i + 2] if i + 2 < len(lower) else ""
        if " ".join(pair) in opposite and (number.isdigit() or number in NUMBERS):
            yield _contradicts(say(splice(words, i, " ".join(pair), opposite[" ".join(pair)])), "number")


def quantifiers(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """all: none of; everyone: no one; many: few."""
    lower = [w.lower() for w in words]
    if clause.kind == "unreadable" or clause.negated or not lower:
        return
    if lower[0] in ("everyone", "everybody"):
        yield _contradicts(say("no one", words[1:]), "quantifier")
        yield _contradicts(say("nobody", words[1:]), "quantifier")
        yield _contradicts(say("hardly anyone", words[1:]), "quantifier")
        yield _contradicts(
            say(
                "only a few people",
                plain(
                    clause.but(
                        plural=True,
                        auxiliary={"is": "are", "was": "were"}.get(clause.auxiliary, clause.auxiliary),
                    ),
                    lexicon,
                )[1:],
            ),
            "quantifier",
        )
    elif lower[0] in ("someone", "somebody"):
        yield _contradicts(say("no one", words[1:]), "quantifier")
        yield _contradicts(say("nobody at all", words[1:]), "quantifier")
    elif lower[0] == "all" and lower[1:2] in (["the"], ["of"]):
        rest = words[2:] if lower[1] == "of" else words[1:]
        yield _contradicts(say("none of", rest), "quantifier")
        yield _contradicts(say("not all of", rest), "quantifier")
        yield _contradicts(say("only a few of", rest), "quantifier")
    elif lower[0] == "both":
        yield _contradicts(say("not", words), "quantifier")
    elif lower[0] in ("many", "several", "multiple") and lexicon.is_plural(clause.head.lower()):
        yield _contradicts(say("hardly any", words[1:]), "quantifier")
    elif lower[:2] == ["a", "group"] and "of" in lower[:3]:
        if clause.auxiliary in ("are", "were"):
            yield _contradicts(say("no", words[3:]), "quantifier")
        else:
            yield _contradicts(say("no group", words[2:]), "quantifier")
    elif lower[0] in ("he", "she") and clause.kind != "unreadable":
        table = {"he": "she", "she": "he"}
        if not one_of("man woman boy girl him beard wife husband girlfriend boyfriend") & set(lower):
            yield _contradicts(say(table[lower[0]], swap_gender(words[1:])), "counterpart")


def has_none(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """has no arms: has arms."""
    if clause.kind == "simple" and clause.verb == "have" and clause.rest[0].lower() == "no" and len(clause.rest) > 1:
        form, thing = finite(clause, "have", lexicon), clause.rest[1:]
        plural = lexicon.is_plural(clause.rest[-1].lower())
        for quantity in ("some", "many", "plenty of") if plural else ("a",):
            yield _contradicts(say(clause.subject, form, quantity, thing), "affirmation")


def frames(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    if clause.kind != "unreadable":
        yield _contradicts(say("it is not true that", plain(clause, lexicon)), "frame", frame=True)
        yield _contradicts(say("it is not the case that", plain(clause, lexicon)), "frame", frame=True)


RULES: tuple[Rule, ...] = (
    negation, nobody, opposites, opposite_verbs, counterpart, other_number, exclusive_words, exclusive_acts,
    compared, quantifiers, far_from, never, not_begun, has_none, wordnet_opposites,
    frames,
)  # fmt: skip
