"""English inflection by rule: verb forms, plurals, a and an."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_VOWELS = "aeiou"
# Stress falls on the last syllable of these, or there is only one: the final consonant doubles.
_DOUBLED = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][bdgklmnprtvz]$")
_IRREGULAR_PLURALS = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet",
    "tooth": "teeth", "mouse": "mice", "goose": "geese", "wife": "wives", "knife": "knives",
    "life": "lives", "leaf": "leaves", "wolf": "wolves", "shelf": "shelves", "scarf": "scarves",
    "half": "halves", "sheep": "sheep", "deer": "deer", "fish": "fish", "aircraft": "aircraft",
    "footwear": "footwear", "food": "food", "fruit": "fruit", "meat": "meat", "clothing": "clothing",
}  # fmt: skip
_SILENT_H = ("hour", "honest", "honor", "heir")
_SOUNDS_LIKE_YOU = re.compile(r"^(?:uni(?!n|m)|use|usu|util|europ|eu|one\b|once)")


@dataclass(frozen=True)
class VerbForms:
    """The forms of one verb."""

    base: str
    third: str
    ing: str
    past: str
    participle: str


def third_person(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return base[:-1] + "ies"
    return base + "s"


def _doubles(base: str) -> bool:
    return bool(_DOUBLED.match(base)) or base in ("begin", "forget", "unzip", "admit", "patrol", "prefer")


def ing_form(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be":
        return base[:-1] + "ing"
    if _doubles(base):
        return base + base[-1] + "ing"
    if base.endswith("ic"):
        return base + "king"
    return base + "ing"


def past_form(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2:-1] not in _VOWELS:
        return base[:-1] + "ied"
    if _doubles(base):
        return base + base[-1] + "ed"
    if base.endswith("ic"):
        return base + "ked"
    return base + "ed"


def verb_forms(base: str, past: str | None = None, participle: str | None = None) -> VerbForms:
    """All forms of a verb; the past ones are made by rule unless given."""
    regular = past_form(base)
    return VerbForms(base, third_person(base), ing_form(base), past or regular, participle or past or regular)


def plural(noun: str) -> str:
    if noun in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[noun]
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def plural_phrase(phrase: str, plurals: Mapping[str, str]) -> str:
    """The plural of a noun phrase: its head is the last word, or the one before "of"."""
    words = phrase.split()
    head = words.index("of") - 1 if "of" in words else len(words) - 1
    words[head] = plurals.get(words[head]) or plural(words[head])
    return " ".join(words)


def indefinite_article(next_word: str) -> str:
    """a or an, by the sound the next word begins with."""
    word = next_word.lower()
    if word.startswith(_SILENT_H):
        return "an"
    if _SOUNDS_LIKE_YOU.match(word):
        return "a"
    if word[:1].isdigit():
        return "an" if word.startswith(("8", "11", "18")) else "a"
    return "an" if word[:1] in _VOWELS else "a"
