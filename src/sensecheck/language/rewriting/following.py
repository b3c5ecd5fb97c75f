"""Sentences that say the same as a given one, or follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sensecheck.language.morphology import plural_phrase
from sensecheck.language.rewriting.assembling import (
    OBJECT_FORM,
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
    phrase_plural,
    plain,
    say,
    splice,
    split_object,
)
from sensecheck.language.rewriting.clause import Clause
from sensecheck.language.rewriting.lexicon import (
    BE,
    COLLECTIVES,
    CONJUNCTIONS,
    NEGATIVES,
    NUMBERS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    Lexicon,
    one_of,
)

Rule = Callable[[Clause, list[str], Lexicon], Iterator[Rewrite]]
# In their scope a narrower word does not give way to a wider one, and nothing may be left out.
_DOWNWARD = NEGATIVES | one_of("all every each few only everyone everybody most any if first last same than")


def _monotone(words: list[str]) -> bool:
    return not any(w.lower() in _DOWNWARD for w in words)


def synonyms(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """One word by another of the same meaning."""
    for position, old, new in each_replaced(words, lexicon.synonyms):
        width = len(old.split())
        before = words[position - 1].lower() if position else ""
        after = words[position + width].lower() if position + width < len(words) else ""
        if old in lexicon.nouns and (
            in_compound(words, position, lexicon, width) or (before in ("to", "not") and old in lexicon.forms)
        ):
            continue
        if old in lexicon.verb_of["base"] and before in ("to", "can", "will", "they", "people"):
            continue
        if (
            old in ("outside", "inside")
            and after
            and after not in CONJUNCTIONS
            and after != ","
            and after not in PREPOSITIONS
        ):
            continue
        if old in ("outdoors", "indoors", "outside", "inside") and (before in ("the", "an", "a") or after == "of"):
            continue
        if old == "alone" and not clause.plural:
            new = "without company"
        if old in ("many", "several", "multiple") and before in one_of("the how so too very as these his her their"):
            continue
        if old in one_of("little old young pretty fast quick mad aged silent quiet") and (
            before in ("year", "years", "a" if old == "little" and after not in lexicon.nouns else "year", "how")
            or after in ("bit", "fashioned", "much", "more", "big", "small", "little")
            or (old == "pretty" and after not in lexicon.nouns)
        ):
            continue
        if (
            old in lexicon.adjectives
            and after not in lexicon.nouns
            and len(new.split()) == 1
            and new in ("aged", "youthful", "little")
        ):
            continue
        if len(new.split()) > 2 and after in lexicon.nouns:
            continue
        if old == "home" and before not in ("the", "a", "his", "her", "their"):
            continue
        if old in ("couple",) and after in ("of",):
            continue
        if old == "couple" and clause.plural and clause.head.lower() == "couple":
            continue
        yield Rewrite(say(splice(words, position, old, new)), "synonym", "equivalent")


def wordnet_words(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """Nouns and adjectives that only WordNet knows a synonym or a wider word of: its commonest sense is taken."""
    if lexicon.wordnet is None:
        return
    lower = [w.lower() for w in words]
    for i, word in enumerate(lower):
        singular = lexicon.nouns.get(word, word)
        if word in lexicon.adjectives and lower[i + 1 : i + 2] and lower[i + 1] in lexicon.nouns:
            equivalents, wider, plural = lexicon.wordnet.synonyms(word, "adj"), [], False
        elif lexicon.is_noun(word) and word not in lexicon.verb_of["base"] and not in_compound(words, i, lexicon):
            plural = lexicon.is_plural(word)
            singular = singular if not plural or singular != word else word.removesuffix("s")
            equivalents = lexicon.wordnet.synonyms(singular, "noun")
            wider = lexicon.wordnet.wider(singular, "noun") if _monotone(words) else []
        else:
            continue
        listed = lexicon.synonyms.get(word, []) + lexicon.kinds.get(word, [])
        for candidates, relation in ((equivalents[:1], "equivalent"), (wider[:1], "follows")):
            for candidate in candidates:
                new = plural_phrase(candidate, lexicon.plurals) if plural else candidate
                if new not in listed and len(new.split()) <= 2:
                    yield Rewrite(say(words[:i], new, words[i + 1 :]), "wordnet", relation)


def verb_synonyms(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """The main verb by another of the same meaning, in the same form."""
    if clause.verb not in lexicon.verb_synonyms or clause.kind not in ("progressive", "simple", "do"):
        return
    rest = [w.lower() for w in clause.rest]
    without_object = (
        not rest
        or rest[0] in PREPOSITIONS
        or rest[0] in CONJUNCTIONS
        or rest[0] in ("outside", "together", "alone", "outdoors", ",")
    )
    for new in lexicon.verb_synonyms[clause.verb]:
        base, *tail = new.split()
        takes_object = clause.verb in lexicon.transitive or clause.verb in one_of(
            "buy purchase start begin construct embrace enjoy consume pursue "
            "complete discuss finish repair assist display"
        )
        if len(tail) > 1 and tail[-1] not in ("of", "in", "on", "about", "sale") and not without_object:
            continue  # "prepare food" has its object already
        if tail and tail[-1] in ("of", "in", "on", "about") and without_object:
            continue
        if clause.verb in ("look", "gaze", "stare") and rest[:1] not in (["at"], ["into"]):
            continue
        if tail and (rest[:1] == ["with"] or set(tail) & set(rest) - {"the", "a"}):
            continue
        if tail[-1:] == ["sale"]:
            if not rest or (end := noun_phrase_end(clause.rest, lexicon)) == 0:
                continue
            rest_with_phrase = [*clause.rest[:end], *tail, *clause.rest[end:]]
            yield Rewrite(
                say(plain(clause.but(verb=base, rest=tuple(rest_with_phrase)), lexicon)), "synonym", "equivalent"
            )
            continue
        if (
            takes_object
            and without_object
            and base in one_of("consume grasp observe purchase pursue construct complete bear assist")
        ):
            continue
        if (
            clause.verb in ("watch", "start", "begin", "help", "prepare", "get")
            and rest[:1]
            and rest[0] in ("to", "for")
        ) and clause.verb not in ("start", "begin", "prepare"):
            continue
        if clause.verb == "work" and rest[:1] in (["on"], ["at"], ["for"]):
            continue
        if (
            clause.verb in one_of("play study practice perform sing paint cook read listen wait speak talk")
            and not without_object
        ) and (clause.verb in ("play", "sing", "paint", "cook", "listen", "wait") or tail):
            continue
        if clause.verb in one_of("play listen wait race ride carry drink prepare talk") and (
            rest[:1] == ["for"] or (clause.verb == "play" and rest[:1] != [])
        ):
            continue
        if clause.verb == "drink" and without_object:
            continue
        new_rest = (*tail, *clause.rest)
        yield Rewrite(say(plain(clause.but(verb=base, rest=new_rest), lexicon)), "synonym", "equivalent")


def phrases(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """A phrase by another of the same meaning: next to, beside."""
    text = " " + " ".join(words) + " "
    for old, new in lexicon.phrases:
        offset = text.find(f" {old} ")
        if offset < 0 or text.count(f" {old} ") > 1:
            continue
        after = text[offset + len(old) + 2 :].split()[:1]
        if not after and old.split()[-1] in ("the", "to", "of", "at", "for", "in", "near", "beside"):
            continue
        if new in ("many", "lots of", "a lot of", "two", "a couple of") and text[:offset].split()[-1:] not in (
            [],
            ["are"],
            ["with"],
            ["have"],
            ["has"],
        ):
            continue
        if old == "many" and (after == ["of"] or text[:offset].strip().endswith(("how", "so", "too", "the"))):
            continue
        if old in ("two", "near", "to", "since", "together", "since") or new in (
            "lots of",
            "in order to",
            "in to the",
        ):
            continue
        if old in ("by the", "through the", "above the", "into the", "over the", "across the"):
            continue
        if old in ("atop", "ahead of", "cycling", "wearing") and old != "wearing":
            continue
        if old == "wearing" and text[:offset].split()[-1:] not in (["is"], ["are"], ["was"], ["were"]):
            continue
        if old == "a group of" and after[:1] not in (
            ["people"],
            ["men"],
            ["women"],
            ["children"],
            ["kids"],
            ["boys"],
            ["girls"],
            ["friends"],
            ["dogs"],
            ["students"],
        ):
            continue
        if old == "a group of" and clause.auxiliary == "is" and clause.kind != "existential":
            continue
        yield Rewrite(say(text[:offset], new, text[offset + len(old) + 2 :]), "phrase", "equivalent")


def aspect(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """is eating, eats: of a scene the two say the same."""
    if clause.negated or clause.verb is None or clause.past or is_of_this_moment(clause):
        return
    if is_coordinated(clause, lexicon):
        if clause.fragment and clause.kind == "progressive":
            yield Rewrite(say(plain(clause, lexicon)), "aspect", "equivalent")
        return
    if clause.kind == "progressive" and not clause.fragment:
        if clause.verb in ("be", "get", "have") and clause.verb != "have":
            return
        yield Rewrite(say(clause.subject, finite(clause, clause.verb, lexicon), clause.rest), "aspect", "equivalent")
    elif clause.kind == "progressive":
        yield Rewrite(say(plain(clause, lexicon)), "aspect", "equivalent")
        yield Rewrite(say(clause.subject, finite(clause, clause.verb, lexicon), clause.rest), "aspect", "equivalent")
    elif clause.kind == "simple" and clause.verb not in STATIVE:
        yield Rewrite(
            say(clause.subject, clause.be, lexicon.forms[clause.verb].ing, clause.rest),
            "aspect",
            "equivalent",
        )


def existential(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """A man is eating; there is a man eating; a man can be seen eating."""
    if clause.negated or not clause.subject:
        return
    who = "who" if is_human(clause, lexicon) else "that"
    be, there_is = clause.be, ["there", clause.be]
    if clause.kind == "existential":
        rest = [w.lower() for w in clause.rest]
        if not is_single_subject(clause):
            return
        if clause.fragment:
            yield Rewrite(say(words), "existential", "equivalent")
        if not rest or ((rest[0] in PREPOSITIONS or rest[0] == "next") and not any(w in RELATIVES for w in rest)):
            yield Rewrite(say(clause.subject, "can be seen", clause.rest), "existential", "equivalent")
            if is_had(rest, lexicon):
                have = finite(clause, "have", lexicon)
                yield Rewrite(say(clause.subject, have, clause.rest[1:]), "existential", "equivalent")
                yield Rewrite(
                    say("there", be, clause.subject, who, have, clause.rest[1:]), "relative clause", "equivalent"
                )
            elif rest:
                yield Rewrite(say(clause.subject, be, clause.rest), "existential", "equivalent")
                yield Rewrite(say("there", be, clause.subject, who, be, clause.rest), "relative clause", "equivalent")
                if rest[0] in ("in", "on", "at", "near", "inside", "behind", "under", "next", "outside") and (
                    not is_human(clause, lexicon)
                ):
                    yield Rewrite(say(clause.subject, be, "located", clause.rest), "existential", "equivalent")
                else:
                    yield Rewrite(say(clause.subject, be, "present", clause.rest), "existential", "equivalent")
            else:
                yield Rewrite(say(clause.subject, be, "present"), "existential", "equivalent")
                yield Rewrite(say(clause.subject, be, "there"), "existential", "equivalent")
                yield Rewrite(
                    say("there exist" if clause.plural else "there exists", clause.subject),
                    "existential",
                    "equivalent",
                )
                yield Rewrite(say("one can see", clause.subject), "existential", "equivalent")
        elif rest[0] in lexicon.verb_of["ing"]:
            base = lexicon.verb_of["ing"][rest[0]]
            yield Rewrite(say(clause.subject, be, clause.rest), "existential", "equivalent")
            yield Rewrite(say(clause.subject, "can be seen", clause.rest), "existential", "equivalent")
            yield Rewrite(say("there", be, clause.subject, who, be, clause.rest), "relative clause", "equivalent")
            if not clause.past:
                yield Rewrite(
                    say(clause.subject, finite(clause, base, lexicon), clause.rest[1:]),
                    "aspect",
                    "equivalent",
                )
        elif rest[0] in RELATIVES and len(rest) > 2 and rest[1] in BE:
            yield Rewrite(say(clause.subject, clause.rest[1:]), "existential", "equivalent")
        return
    if not is_indefinite(clause, lexicon) or clause.past:
        return
    pronouns = {"they", "we"} & {w.lower() for w in clause.subject}
    if pronouns:
        return
    if clause.kind == "progressive":
        assert clause.verb
        ing = lexicon.forms[clause.verb].ing
        yield Rewrite(say(there_is, clause.subject, ing, clause.rest), "existential", "equivalent")
        if is_single_subject(clause):
            yield Rewrite(say(there_is, clause.subject, who, be, ing, clause.rest), "relative clause", "equivalent")
    elif clause.kind == "copular" and is_single_subject(clause):
        first = clause.rest[0].lower()
        if first in PREPOSITIONS or first == "next":
            yield Rewrite(say(there_is, clause.subject, clause.rest), "existential", "equivalent")
        yield Rewrite(say(there_is, clause.subject, who, be, clause.rest), "relative clause", "equivalent")
    elif clause.kind == "simple" and is_single_subject(clause):
        assert clause.verb
        yield Rewrite(
            say(there_is, clause.subject, who, finite(clause, clause.verb, lexicon), clause.rest),
            "relative clause",
            "equivalent",
        )


def seen(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """The man can be seen eating; the man is in the process of eating; right now."""
    if clause.negated or clause.past or clause.verb is None or clause.kind not in ("progressive", "simple"):
        return
    if clause.verb in STATIVE or (clause.kind == "simple" and clause.verb in ("wear",)):
        return
    if clause.kind == "simple" and is_coordinated(clause, lexicon):
        return
    ing = lexicon.forms[clause.verb].ing
    if is_human(clause, lexicon) or is_animal(clause, lexicon):
        yield Rewrite(say(clause.subject, "can be seen", ing, clause.rest), "seen", "equivalent")
    if clause.kind == "progressive":
        yield Rewrite(say(clause.subject, clause.be, "currently", ing, clause.rest), "adverb", "equivalent")
        if clause.verb not in one_of(
            "sit stand lie wear hold sleep wait look lay go watch smile rest stay lean try use do make"
        ):
            yield Rewrite(say(clause.subject, clause.be, "in the process of", ing, clause.rest), "seen", "equivalent")
        elif clause.verb == "sit" and clause.rest[:1] != ("down",):
            yield Rewrite(say(clause.subject, clause.be, "seated", clause.rest), "synonym", "equivalent")


def wearing(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """is wearing a hat: has a hat on."""
    if clause.verb == "wear" and not clause.negated and not clause.past:
        end = noun_phrase_end(clause.rest, lexicon)
        if end:
            yield Rewrite(
                say(
                    clause.subject,
                    "have" if clause.plural else "has",
                    clause.rest[:end],
                    "on",
                    clause.rest[end:],
                ),
                "phrase",
                "equivalent",
            )
            if clause.kind == "simple":
                yield Rewrite(say(clause.subject, clause.be, "dressed in", clause.rest), "phrase", "equivalent")


def cleft(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """It is the men who are tall."""
    if clause.negated or clause.kind not in ("progressive", "copular", "simple") or not is_single_subject(clause):
        return
    if clause.determiner in PRONOUNS or clause.determiner in NEGATIVES or clause.determiner in ("every", "each"):
        return
    who = "who" if is_human(clause, lexicon) else "that"
    after_subject = plain(clause, lexicon)[len(clause.subject) :]
    yield Rewrite(say("it", "was" if clause.past else "is", clause.subject, who, after_subject), "cleft", "equivalent")


def fronting(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """In the park, a man is running."""
    full_words = plain(clause, lexicon)
    if clause.kind not in ("progressive", "copular", "simple", "existential"):
        return
    lower = [w.lower() for w in full_words]
    for position in range(len(full_words) - 2, len(clause.subject), -1):
        if lower[position] not in PREPOSITIONS:
            continue
        end = noun_phrase_end(full_words[position + 1 :], lexicon)
        place = lower[-1]
        noun = lexicon.nouns.get(place, place)
        if position + 1 + end != len(full_words) or lower[position + 1] in POSSESSIVES:
            return
        if (
            lower[position - 1] in PREPOSITIONS
            or lower[position - 1] in ("next", "front", "top", "middle", "side")
            or (lower[position - 1] in BE and clause.kind != "existential")
        ):
            return
        if (
            clause.kind in ("progressive", "simple")
            and position <= len(clause.subject) + (1 if clause.kind == "simple" else 2) - 1
            and lower[position] not in ("in", "near")
        ):
            return
        if (
            noun in lexicon.places
            and lower[position] in ("in", "at", "near", "inside", "outside", "on")
            and (
                lower[position] != "on"
                or noun in one_of("street road beach sidewalk farm field track playground bridge porch")
            )
        ):
            if clause.kind == "existential" and position < 3 + len(clause.subject) and not clause.rest:
                return
            yield Rewrite(say(full_words[position:], ",", full_words[:position]), "fronting", "equivalent")
        return


def passive(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """A dog is being walked by a man."""
    if clause.verb not in lexicon.transitive or clause.kind not in ("progressive", "simple") or clause.negated:
        return
    object_and_rest = split_object(clause, lexicon)
    if object_and_rest is None or not is_single_subject(clause):
        return
    object_words, after = object_and_rest
    first, last = object_words[0].lower(), object_words[-1].lower()
    if clause.verb in one_of("climb walk run swing move perform help present play") and first not in ("a", "an", "the"):
        return
    if clause.verb in ("walk", "ride", "drive", "fly") and last in ("home", "miles", "laps"):
        return
    if first in one_of("each another himself herself themselves something no"):
        return
    if last in ("other", "way", "time", "turns"):
        return
    if any(w.lower() in PREPOSITIONS for w in clause.subject[1:]) or not (
        is_human(clause, lexicon) or is_animal(clause, lexicon)
    ):
        return
    plural = phrase_plural(object_words, lexicon)
    participle = lexicon.forms[clause.verb].participle
    subject = [OBJECT_FORM.get(w.lower(), w) if len(clause.subject) == 1 else w for w in clause.subject]
    if clause.past:
        be = "were" if plural else "was"
    else:
        be = "are" if plural else "is"
    being = ["being"] if clause.kind == "progressive" else []
    yield Rewrite(say(object_words, be, being, participle, "by", subject, after), "passive", "equivalent")


def numbers(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """two: 2, a pair of."""
    for i, word in enumerate(words):
        lower = word.lower()
        after = words[i + 1].lower() if i + 1 < len(words) else ""
        if lower in NUMBERS and after not in ("", "hundred", "thousand") and lower != "hundred":
            yield Rewrite(say(words[:i], str(NUMBERS[lower]), words[i + 1 :]), "number", "equivalent")
            if lower in ("two", "three") and i == 0 and lexicon.is_plural(after):
                yield Rewrite(say("a pair of" if lower == "two" else "a trio of", words[1:]), "number", "equivalent")
            if lower in ("two", "three", "four") and i == 0:
                if lower != "two" and lexicon.is_plural(after):
                    yield Rewrite(say("a group of", words), "number", "equivalent")
                else:
                    yield Rewrite(say("exactly", words), "number", "equivalent")
        elif lower in ("2", "3", "4", "5", "6"):
            name = next(k for k, v in NUMBERS.items() if v == int(lower))
            yield Rewrite(say(words[:i], name, words[i + 1 :]), "number", "equivalent")


def conjuncts(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """A man and a woman: a woman and a man."""
    lower = [w.lower() for w in words]
    if lower.count("and") != 1:
        return
    and_position = lower.index("and")
    subject = list(clause.subject)
    if and_position < len(subject):
        first, second = subject[:and_position], subject[and_position + 1 :]
        if (
            noun_phrase_end(first, lexicon) == len(first)
            and noun_phrase_end(second, lexicon) == len(second)
            and first
            and second
        ):
            if second[0].lower() in POSSESSIVES or (first[0].lower() in ("the", "a", "an")) != (
                second[0].lower() in ("the", "a", "an")
            ):
                return
            start = 2 if clause.kind == "existential" else 0
            opening = words[:start]
            if clause.kind == "existential" and "not" in lower[:3]:
                return
            yield Rewrite(say(opening, second, "and", first, words[start + len(subject) :]), "conjuncts", "equivalent")


def double_negation(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """is tall: is not short."""
    if clause.kind == "copular" and not clause.negated and len(clause.rest) == 1:
        word = clause.rest[0].lower()
        no_middle = one_of(
            "asleep awake alive dead open closed inside outside indoors outdoors married visible present"
        )
        for opposite in lexicon.opposites.get(word, []):
            if opposite == "together":
                continue  # one man is not together, and not apart either
            yield Rewrite(
                say(clause.subject, clause.auxiliary, "not", opposite),
                "double negation",
                "equivalent" if word in no_middle else "follows",
            )


def predicate(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """What can be said again of a state: the men are indeed tall; they are people who are tall."""
    if clause.negated or clause.kind != "copular":
        return
    first = clause.rest[0].lower()
    who = "who" if is_human(clause, lexicon) else "that"
    if (
        first in lexicon.adjectives
        or first in lexicon.opposites
        or first in PREPOSITIONS
        or first == "next"
        or first in lexicon.verb_of["participle"]
    ):
        if first not in one_of("all both very about like of from for as being over only out off up"):
            if first in PREPOSITIONS or first == "next":
                if first in one_of("in on at near inside outside behind beside under next by indoors"):
                    yield Rewrite(
                        say(
                            clause.subject,
                            "can be found" if not clause.past else "could be found",
                            clause.rest,
                        ),
                        "predicate",
                        "equivalent",
                    )
                    if is_human(clause, lexicon) or is_animal(clause, lexicon):
                        yield Rewrite(
                            say(
                                clause.subject,
                                "can be seen" if not clause.past else "could be seen",
                                clause.rest,
                            ),
                            "predicate",
                            "equivalent",
                        )
                    else:
                        yield Rewrite(say(clause.subject, clause.be, "located", clause.rest), "predicate", "equivalent")
                    if not clause.past:
                        yield Rewrite(say(clause.subject, clause.be, "currently", clause.rest), "adverb", "equivalent")
            else:
                yield Rewrite(say(clause.subject, clause.auxiliary, "indeed", clause.rest), "adverb", "equivalent")
                kind = (
                    {True: "people", False: "a person"}[clause.plural]
                    if is_human(clause, lexicon)
                    else {True: "animals", False: "an animal"}[clause.plural]
                    if is_animal(clause, lexicon)
                    else ""
                )
                if (
                    kind
                    and clause.head.lower() not in ("someone", "somebody", "everyone", "everybody", "person", "people")
                    and first in lexicon.adjectives
                    and not clause.past
                ):
                    yield Rewrite(
                        say(clause.subject, clause.be, kind, who, clause.be, clause.rest),
                        "predicate",
                        "equivalent",
                    )
    elif first in ("a", "an", "the") and not clause.past:
        yield Rewrite(say(clause.subject, clause.auxiliary, "indeed", clause.rest), "adverb", "equivalent")


def emphasis(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """was in fact founded; does run on Sundays; in 2014, it was founded."""
    if clause.negated or clause.kind not in ("copular", "perfect", "modal", "simple"):
        return
    full_words = plain(clause, lexicon)
    if len(full_words) > 3 and full_words[-2].lower() == "in" and full_words[-1].isdigit():
        yield Rewrite(say(full_words[-2:], ",", full_words[:-2]), "fronting", "equivalent")
    if clause.kind == "perfect" and is_single_subject(clause) and clause.determiner not in PRONOUNS:
        who = "who" if is_human(clause, lexicon) else "that"
        yield Rewrite(say("it is", clause.subject, who, full_words[len(clause.subject) :]), "cleft", "equivalent")
        if is_indefinite(clause, lexicon):
            there_is = "there are" if clause.plural else "there is"
            yield Rewrite(
                say(there_is, clause.subject, who, clause.auxiliary, clause.rest), "relative clause", "equivalent"
            )
    if clause.kind == "simple":
        assert clause.verb
        animate = is_human(clause, lexicon) or is_animal(clause, lexicon)
        if not animate and clause.verb not in ("have", "be") and not is_coordinated(clause, lexicon):
            do = do_not(clause).removesuffix(" not")
            yield Rewrite(say(clause.subject, do, clause.verb, clause.rest), "emphasis", "equivalent")
            yield Rewrite(
                say(clause.subject, "in fact", finite(clause, clause.verb, lexicon), clause.rest),
                "emphasis",
                "equivalent",
            )
    else:
        for added in ("in fact", "indeed", "certainly"):
            yield Rewrite(say(clause.subject, clause.auxiliary, added, clause.rest), "emphasis", "equivalent")


def having(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """has a hat: is in possession of a hat."""
    if clause.kind != "simple" or clause.verb != "have" or clause.negated or clause.past:
        return
    first = clause.rest[0].lower()
    if first in ("to", "been", "no", "fun"):
        return
    end = noun_phrase_end(clause.rest, lexicon)
    if end == len(clause.rest) and end:
        if not {w.lower() for w in clause.rest} & one_of(
            "hair beard dinner lunch party picnic fight meal conversation breakfast time day race"
        ):
            yield Rewrite(say(clause.subject, clause.be, "in possession of", clause.rest), "phrase", "equivalent")
        if is_indefinite(clause, lexicon) and is_single_subject(clause):
            yield Rewrite(say("there", clause.be, clause.subject, "with", clause.rest), "existential", "equivalent")
        if (
            first in ("a", "an")
            and (not {w.lower() for w in clause.rest} & {"hair", "beard", "party", "conversation", "picnic"})
            and (clause.determiner not in PRONOUNS)
        ):
            yield Rewrite(say(clause.rest, "can be seen with", clause.subject), "passive", "follows")
        else:
            yield Rewrite(
                say(clause.subject, "indeed", finite(clause, "have", lexicon), clause.rest), "adverb", "equivalent"
            )


def wider_words(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """A dog runs: an animal runs."""
    if not _monotone(words):
        return
    for position, old, new in each_replaced(words, lexicon.kinds):
        if in_compound(words, position, lexicon, len(old.split())):
            continue
        before = words[position - 1].lower() if position else ""
        new_words = list(new.split())
        if new_words[0] == "a" and (
            before in ("a", "the", "his", "her", "their", "some", "professional") or before in lexicon.adjectives
        ):
            continue
        if before in NUMBERS and not (lexicon.is_plural(new_words[-1]) or new_words[-1] == "people"):
            continue
        if (
            before in ("a", "an")
            and new_words[-1] in ("food", "fruit", "footwear", "meat", "material")
            and len(new_words) == 1
        ):
            continue
        if before in ("a", "an", "one") and new == "people":
            continue
        yield Rewrite(say(splice(words, position, old, new)), "wider word", "follows")
    if clause.verb in lexicon.wider_verbs and clause.kind in ("progressive", "simple") and not clause.negated:
        for new in lexicon.wider_verbs[clause.verb]:
            if (
                clause.rest
                and clause.rest[0].lower() not in PREPOSITIONS
                and clause.rest[0].lower() not in ("outside", "together", "alone", "quickly", "slowly", "outdoors")
            ):
                continue
            base, *tail = new.split()
            yield Rewrite(
                say(plain(clause.but(verb=base, rest=(*tail, *clause.rest)), lexicon)),
                "wider word",
                "follows",
            )


def wider_subject(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """Someone is eating."""
    if clause.negated or not _monotone(words) or clause.kind not in ("progressive", "copular", "simple"):
        return
    if clause.head.lower() in ("someone", "somebody", "everyone", "everybody") or clause.head.lower() in PRONOUNS:
        return
    if any(w.lower() in ("himself", "herself", "themselves", "itself") for w in clause.rest):
        return
    subject_nouns = {lexicon.nouns[w.lower()] for w in clause.subject if w.lower() in lexicon.nouns}
    if "and" in clause.subject and not (subject_nouns <= lexicon.people or subject_nouns <= lexicon.animals):
        return
    after_subject = plain(clause, lexicon)[len(clause.subject) :]
    if is_human(clause, lexicon):
        if clause.plural and [w.lower() for w in clause.subject] != ["some", "people"]:
            yield Rewrite(say("some people", after_subject), "wider subject", "follows")
        elif not clause.plural and clause.head.lower() not in COLLECTIVES | {"people"}:
            yield Rewrite(say("someone", after_subject), "wider subject", "follows")
    elif is_animal(clause, lexicon) and clause.head.lower() not in ("animal", "animals"):
        yield Rewrite(say("some animals" if clause.plural else "an animal", after_subject), "wider subject", "follows")


def left_out(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """Without an adjective, or without the last phrase of place."""
    if clause.negated or not _monotone(words):
        return
    lower = [w.lower() for w in words]
    for i, word in enumerate(lower[:-1]):
        describes = word in lexicon.adjectives or word in lexicon.colors
        if describes and lower[i + 1] in lexicon.nouns and word not in NUMBERS:
            before = lower[i - 1] if i else ""
            if (
                word
                in one_of("other another same only several many few both first last next ready alone various single")
                or before in ("very", "and", "or", "most", "more", "is", "are")
                or (not before and i == 0 and not lexicon.is_plural(lower[i + 1]))
            ):
                continue
            if word in ("stone", "plastic", "metal", "human", "police", "hot", "high", "stray", "orange"):
                continue
            yield Rewrite(say(words[:i], words[i + 1 :]), "left out", "follows")
    full_words = plain(clause, lexicon)
    lowered = [w.lower() for w in full_words]
    start = len(clause.subject) + (2 if clause.kind in ("progressive", "existential") else 1)
    for position in range(len(full_words) - 2, start, -1):
        if lowered[position] in PREPOSITIONS and clause.kind in ("progressive", "simple"):
            before = lowered[position - 1]
            phrase_end = position + 1 + noun_phrase_end(full_words[position + 1 :], lexicon)
            if phrase_end != len(full_words) or lowered[position] in one_of(
                "of to for with like as about than without"
            ):
                return
            if before in PREPOSITIONS or before in one_of("next front top close middle out at not and"):
                return
            if (
                clause.verb in one_of("look stare put lay place take get gaze point have be go lean")
                and position <= start + 1
            ):
                return
            if (
                position <= start
                and clause.verb in lexicon.transitive
                and clause.verb
                not in one_of(
                    "walk play climb read eat drink sing study ride row dig cook swing "
                    "clean paint drive fly perform write"
                )
            ):
                return
            yield Rewrite(say(full_words[:position]), "left out", "follows")
            return
    if (
        lowered
        and lowered[-1]
        in one_of("outside outdoors inside indoors together alone quickly slowly quietly happily loudly")
        and clause.kind in ("progressive", "simple")
        and len(full_words) > start
        and lowered[-2] not in CONJUNCTIONS
        and lowered[-2] not in ("each", "other")
    ):
        yield Rewrite(say(full_words[:-1]), "left out", "follows")


def frames(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    if clause.kind != "unreadable":
        yield Rewrite(say("it is true that", plain(clause, lexicon)), "frame", "equivalent", frame=True)
        yield Rewrite(say("it is the case that", plain(clause, lexicon)), "frame", "equivalent", frame=True)


def quantifiers(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """some people: a few people; all the men: every one of the men; a group of people: people."""
    lower = [w.lower() for w in words]
    if not lower:
        return
    if lower[0] == "some" and len(lower) > 1 and lexicon.is_plural(lower[1]):
        yield Rewrite(say(words[1:]), "quantifier", "equivalent")
        yield Rewrite(say("at least some", words[1:]), "quantifier", "equivalent")
    elif lower[:2] == ["all", "of"] or lower[:2] == ["all", "the"]:
        if clause.kind == "unreadable":
            yield Rewrite(
                say("every single one of", words[2:] if lower[1] == "of" else words[1:]), "quantifier", "equivalent"
            )
        else:
            yield Rewrite(say("all of", words[1:] if lower[1] == "the" else words[2:]), "quantifier", "equivalent")
    elif (
        clause.kind != "existential"
        and clause.plural
        and lower[0] in lexicon.plural_forms
        and not clause.negated
        and clause.kind in ("progressive", "copular", "simple")
    ):
        yield Rewrite(say("some", words), "quantifier", "follows")
    elif lower[:2] in (["a", "group"], ["group", "of"], ["a", "bunch"], ["a", "crowd"]) and "of" in lower[:4]:
        of_position = lower.index("of")
        if clause.auxiliary in ("are", "were") or (clause.kind == "simple" and clause.plural):
            yield Rewrite(say(words[of_position + 1 :]), "quantifier", "follows")
            yield Rewrite(say("several", words[of_position + 1 :]), "quantifier", "follows")
    elif lower[0] in ("nobody",):
        yield Rewrite(say("not a single person", words[1:]), "quantifier", "equivalent")
    elif clause.kind == "existential" and lower[2:3] == ["no"]:
        yield Rewrite(say(words[:2], "not any", words[3:]), "quantifier", "equivalent")
        if not clause.plural:
            yield Rewrite(say(words[:2], "not a single", words[3:]), "quantifier", "equivalent")
        if not clause.rest:
            yield Rewrite(
                say("no", words[3:], "are present" if clause.plural else "is present"),
                "quantifier",
                "equivalent",
            )
            yield Rewrite(say("no", words[3:], "can be seen"), "quantifier", "equivalent")
        elif clause.rest[0].lower() in lexicon.verb_of["ing"] or clause.rest[0].lower() in PREPOSITIONS:
            yield Rewrite(say("no", clause.subject[1:], clause.be, clause.rest), "quantifier", "equivalent")


def negative_again(clause: Clause, words: list[str], lexicon: Lexicon) -> Iterator[Rewrite]:
    """is not eating: isn't eating; it is not the case."""
    if not clause.negated or clause.determiner in ("no", "nobody", "none", "nothing", "neither"):
        return
    if clause.kind in ("progressive", "copular") and clause.rest[:1] != ("never",):
        tail = [lexicon.forms[clause.verb].ing] if clause.verb else []
        if clause.auxiliary in ("is", "are", "was", "were"):
            yield Rewrite(say(clause.subject, clause.auxiliary + "n't", tail, clause.rest), "contraction", "equivalent")
        yield Rewrite(say(clause.subject, clause.auxiliary, "not currently", tail, clause.rest), "adverb", "equivalent")
        if clause.kind == "copular" and len(clause.rest) == 1:
            for opposite in lexicon.opposites.get(clause.rest[0].lower(), []):
                if clause.rest[0].lower() in one_of(
                    "asleep awake alive dead open closed inside outside indoors outdoors"
                ):
                    yield Rewrite(say(clause.subject, clause.auxiliary, opposite), "double negation", "equivalent")
    if clause.kind == "do":
        yield Rewrite(
            say(clause.subject, clause.auxiliary + "n't", clause.verb or "", clause.rest),
            "contraction",
            "equivalent",
        )
    if clause.kind == "existential" and clause.subject[0].lower() in ("a", "an", "any"):
        yield Rewrite(say("there", clause.auxiliary, "no", clause.subject[1:], clause.rest), "quantifier", "equivalent")


RULES: tuple[Rule, ...] = (
    synonyms, verb_synonyms, phrases, aspect, existential, passive, numbers, wearing, having, fronting,
    conjuncts, quantifiers, double_negation, predicate, emphasis, negative_again, seen, cleft, wider_subject,
    wider_words, left_out, wordnet_words, frames,
)  # fmt: skip
