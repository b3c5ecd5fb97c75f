"""What both directions of rewriting share: a rewrite, and putting a clause back into words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sensecheck.language.rewriting.clause import Clause, sentence
from sensecheck.language.rewriting.lexicon import (
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    NUMBERS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    Lexicon,
    one_of,
)

OBJECT_FORM = {"he": "him", "she": "her", "they": "them", "we": "us", "i": "me", "it": "it", "you": "you"}
INDEFINITE = {"a", "an", "some", "several", "many", "one", "another", "multiple", "few"}
# States rather than acts: no progressive, no refusing, no starting.
STATIVE = one_of(
    "have like love know want need own contain seem live see hear appear be remain wish hope "
    "understand hate enjoy feel smell lose win think suffer belong consist represent notice "
    "realize miss let care"
)


@dataclass(frozen=True)
class Rewrite:
    """A sentence made from another: by which rule, and how the two stand to each other."""

    text: str
    rule: str
    relation: str
    """equivalent, follows (from the original, not the other way round) or contradicts"""
    frame: bool = False
    """the whole original stands inside it unchanged: "It is not true that …" """


def say(*parts: str | Sequence[str]) -> str:
    """One sentence out of words and lists of words."""
    words: list[str] = []
    for part in parts:
        words += part.split() if isinstance(part, str) else part
    return sentence(words)


def finite(clause: Clause, verb: str, lexicon: Lexicon) -> str:
    """The verb's finite form for this subject and tense."""
    if verb == "be":
        return clause.be
    forms = lexicon.forms[verb]
    if clause.past:
        return forms.past
    first = clause.subject[0].lower() if clause.subject else ""
    return verb if clause.plural or first in ("i", "you") else forms.third


def do_not(clause: Clause) -> str:
    if clause.past:
        return "did not"
    first = clause.subject[0].lower() if clause.subject else ""
    return "do not" if clause.plural or first in ("i", "you") else "does not"


def plain(clause: Clause, lexicon: Lexicon) -> list[str]:
    """The clause as written, fragment completed."""
    subject, rest = list(clause.subject), list(clause.rest)
    not_ = (
        ["not"]
        if clause.negated
        and clause.auxiliary
        and subject[0].lower() not in ("no", "nobody", "none", "nothing", "neither")
        and "never" not in rest[:1]
        else []
    )
    if clause.kind == "existential":
        return [
            "there",
            clause.auxiliary,
            *(["not"] if clause.negated and subject[0].lower() != "no" else []),
            *subject,
            *rest,
        ]
    if clause.kind == "progressive":
        assert clause.verb
        return [*subject, clause.auxiliary, *not_, lexicon.forms[clause.verb].ing, *rest]
    if clause.kind == "simple":
        assert clause.verb
        return [*subject, finite(clause, clause.verb, lexicon), *rest]
    if clause.kind == "do":
        assert clause.verb
        return [*subject, clause.auxiliary, "not", clause.verb, *rest]
    return [*subject, clause.auxiliary, *not_, *rest]


def is_indefinite(clause: Clause, lexicon: Lexicon) -> bool:
    """A subject that brings someone new into the scene: a man, two men, people."""
    first = clause.determiner
    if first in INDEFINITE or first in NUMBERS or first.isdigit():
        return True
    if first in DETERMINERS or first in PRONOUNS:
        return False
    return clause.plural and (first in lexicon.nouns or first in lexicon.adjectives or first in lexicon.colors)


def _simple_phrase(words: Sequence[str]) -> bool:
    return not any(w.lower() in CONJUNCTIONS or w in (",", ";", ":") or w.lower() in RELATIVES for w in words)


def is_human(clause: Clause, lexicon: Lexicon) -> bool:
    head = clause.head.lower()
    if clause.head[:1].isupper():
        return False  # a name may be anything
    if head in ("he", "she", "they", "we", "someone", "somebody", "everyone", "everybody"):
        return True
    return lexicon.nouns.get(head) in lexicon.people and head not in ("nobody", "police")


def is_animal(clause: Clause, lexicon: Lexicon) -> bool:
    return clause.head[:1].islower() and lexicon.nouns.get(clause.head.lower()) in lexicon.animals


def is_single_subject(clause: Clause) -> bool:
    """One noun phrase, not "a man and his dog"."""
    return _simple_phrase(clause.subject)


def noun_phrase_end(words: Sequence[str], lexicon: Lexicon) -> int:
    """How many words from the start make a noun phrase with determiner, adjectives and a noun; 0 if they do
    not.
    """
    lower = [w.lower() for w in words]
    if not lower:
        return 0
    i = 0
    if lower[0] in DETERMINERS or lower[0] in NUMBERS:
        i = 1
    noun_seen = 0
    while i < len(lower):
        word = lower[i]
        if word in PREPOSITIONS or word in CONJUNCTIONS or word in RELATIVES or word in DETERMINERS or word == ",":
            break
        if word in lexicon.verb_of["ing"] and noun_seen:
            break
        if lexicon.is_noun(word):
            noun_seen = i + 1
        elif word in lexicon.adjectives or word in lexicon.colors or word in NUMBERS:
            if noun_seen:
                break
        else:
            break
        i += 1
    return noun_seen


def is_of_this_moment(clause: Clause) -> bool:
    """ "is running at the moment": the simple present would not go with it."""
    rest = [w.lower() for w in clause.rest]
    return rest[-2:] in (["the", "moment"], ["right", "now"]) or bool(rest[-1:] and rest[-1] in ("now", "currently"))


def is_coordinated(clause: Clause, lexicon: Lexicon) -> bool:
    """A second verb hangs on the same subject ("sits and reads"): changing the first one's form would break
    it.
    """
    rest = [w.lower() for w in clause.rest]
    for i, word in enumerate(rest[:-1]):
        if word in ("and", "or", "but") or word == ",":
            following = [w for w in rest[i + 1 : i + 3] if w not in ("and", "then", "also", "is", "are")]
            if (
                following
                and lexicon.base_of(following[0], "third", "ing", "base", "past")
                and (following[0] not in lexicon.nouns or following[0] in lexicon.verb_of["ing"])
            ):
                return True
            if rest[i + 1] in BE or rest[i + 1] in ("has", "have"):
                return True
    return False


def split_object(clause: Clause, lexicon: Lexicon) -> tuple[list[str], list[str]] | None:
    """The direct object and what follows it, when the object is plain enough to be moved."""
    rest = list(clause.rest)
    end = noun_phrase_end(rest, lexicon)
    if not end or rest[0].lower() in POSSESSIVES or rest[0].lower() in PREPOSITIONS:
        return None
    after = rest[end:]
    if after and (after[0].lower() not in PREPOSITIONS or after[0].lower() == "of"):
        return None
    if any(w.lower() in POSSESSIVES or w.lower() in CONJUNCTIONS or w.lower() in RELATIVES for w in after):
        return None
    return rest[:end], after


def phrase_plural(words: Sequence[str], lexicon: Lexicon) -> bool:
    if words[0].lower() in ("a", "an", "one", "another", "this", "that"):
        return False
    return lexicon.is_plural(words[-1].lower()) or words[0].lower() in NUMBERS


_OTHER_GENDER = {
    "his": "her", "he": "she", "him": "her", "himself": "herself", "she": "he", "herself": "himself", "her": "his",
}  # fmt: skip


def swap_gender(words: Sequence[str]) -> list[str]:
    """him for her and the other way round; "her" is "his" before a noun and "him" elsewhere."""
    swapped = [_OTHER_GENDER.get(w.lower(), w) for w in words]
    for i, word in enumerate(words):
        after = words[i + 1].lower() if i + 1 < len(words) else ""
        if word.lower() == "her" and (
            not after[:1].isalnum() or after in PREPOSITIONS or after in CONJUNCTIONS or after in DETERMINERS
        ):
            swapped[i] = "him"
    return swapped


def each_replaced(words: Sequence[str], table: dict[str, list[str]]) -> Iterator[tuple[int, str, str]]:
    """(position, old, new) for each word, or pair or triple of words, that the table has an entry for."""
    lower = [w.lower() for w in words]
    for i in range(len(words)):
        for width in (3, 2, 1):
            if any(w[:1].isupper() for w in words[i : i + width]):
                continue  # a name keeps its words
            key = " ".join(lower[i : i + width])
            if i + width <= len(words) and key in table:
                for new in table[key]:
                    yield i, key, new


def is_had(rest: Sequence[str], lexicon: Lexicon) -> bool:
    """ "with long hair": something one has, not company."""
    lower = [w.lower() for w in rest]
    return (
        lower[:1] == ["with"]
        and len(lower) > 1
        and lower[1] not in POSSESSIVES
        and not any(w in PRONOUNS or lexicon.nouns.get(w) in lexicon.people for w in lower[1:])
    )


def splice(words: Sequence[str], position: int, old: str, new: str) -> list[str]:
    return [*words[:position], *new.split(), *words[position + len(old.split()) :]]


def in_compound(words: Sequence[str], position: int, lexicon: Lexicon, width: int = 1) -> bool:
    """Is the word there part of a longer name ("ice cream", "soccer ball", "police man")? Then leave it."""
    lower = [w.lower() for w in words]
    after = lower[position + width] if position + width < len(words) else ""
    before = lower[position - 1] if position else ""
    if after and after in lexicon.nouns and after not in PREPOSITIONS and after not in lexicon.verb_of["third"]:
        return True
    if (
        after
        and lexicon.is_noun(after)
        and after not in BE
        and after not in lexicon.verb_of["third"]
        and after not in lexicon.verb_of["base"]
        and after not in lexicon.verb_of["past"]
    ):
        return True
    if (
        before
        and before in lexicon.nouns
        and lower[position] in lexicon.nouns
        and before not in lexicon.verb_of["base"]
    ):
        return True
    return lower[position] in lexicon.fixed
