"""A small English morphology: enough to see that prices, priced and price are one word, and organizer and
organization are near; and to inflect: run, runs, running.

`stem` undoes inflection, `root` also undoes common derivation, `verb_forms` and `plural` inflect. Irregular forms are
data (`data/irregular.json`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

_DATA = json.loads(resources.files("sensecheck.language").joinpath("data", "irregular.json").read_text("utf-8"))
_IRREGULAR: dict[str, str] = {form: base for base, forms in _DATA["forms"].items() for form in forms}
_PLURALS: dict[str, str] = _DATA["plurals"]
_DOUBLING = frozenset(_DATA["doubling"])
_DERIVATIONS: list[str] = _DATA["derivations"]
_VOWELS_OR_Y = frozenset("aeiouy")
_VOWELS = "aeiou"
# Stress falls on the last syllable of these, or there is only one: the final consonant doubles.
_DOUBLED = re.compile(r"^[^aeiou]*(?:qu)?[aeiou][bdgklmnprtvz]$")
_SIBILANTS = ("s", "x", "z", "ch", "sh")
_SILENT_H = ("hour", "honest", "honor", "heir")
_SOUNDS_LIKE_YOU = re.compile(r"^(?:uni(?!n|m)|use|usu|util|europ|eu|one\b|once)")


@lru_cache(maxsize=131_072)
def lemma(word: str) -> str:
    """The dictionary form as far as spelling tells: plural and -'s undone, irregular forms looked up."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    n = len(word)
    if n > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if n > 4 and word.endswith(("sses", "xes", "ches", "shes", "zzes")):
        return word[:-2]
    if n > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _undouble(base: str) -> str:
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
        return base[:-1]
    return base


def _silent_e(base: str) -> str:
    """rat of rated → rate: a short word that ended on its consonant would have doubled it. So note is not not."""
    if len(base) == 3 and base[1] in "aeiouy" and base[0] not in "aeiou" and base[2] not in "aeiouwxy":
        return base + "e"
    return base


@lru_cache(maxsize=131_072)
def stem(word: str) -> str:
    """A key shared by the inflections of a word: price, prices, priced, pricing → pric."""
    base = lemma(word)
    n = len(base)
    if n > 5 and base.endswith("ing") and not _VOWELS_OR_Y.isdisjoint(base[:-3]):
        base = _undouble(_silent_e(base[:-3]))
        base = _IRREGULAR.get(base, base)
    elif n > 4 and base.endswith("ed") and not base.endswith("eed") and not _VOWELS_OR_Y.isdisjoint(base[:-2]):
        base = _undouble(_silent_e(base[:-2]))
    if len(base) > 4 and base.endswith("e"):
        base = base[:-1]
    if len(base) > 2 and base.endswith("y") and base[-2] not in "aeiou":
        base = base[:-1] + "i"
    return base


@lru_cache(maxsize=131_072)
def root(word: str) -> str:
    """A coarser key shared by derivations: organizer, organized, organization → organ."""
    base = stem(word)
    for _ in range(2):
        for suffix in _DERIVATIONS:
            if base.endswith(suffix) and len(base) - len(suffix) >= 4:
                base = base[: -len(suffix)]
                break
        else:
            break
    return base


class VerbForms(NamedTuple):
    """The forms of one verb."""

    base: str
    third: str
    ing: str
    past: str
    participle: str


def _y_becomes_i(word: str) -> bool:
    return word.endswith("y") and word[-2:-1] not in _VOWELS


def third_person(base: str) -> str:
    if base == "have":
        return "has"
    if base.endswith((*_SIBILANTS, "o")):
        return base + "es"
    return base[:-1] + "ies" if _y_becomes_i(base) else base + "s"


def _lengthened(base: str) -> str:
    """The base as -ing and -ed hang on it: runn, picnick."""
    if _DOUBLED.match(base) or base in _DOUBLING:
        return base + base[-1]
    return base + "k" if base.endswith("ic") else base


def ing_form(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and base != "be":
        return base[:-1] + "ing"
    return _lengthened(base) + "ing"


def past_form(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if _y_becomes_i(base) else _lengthened(base) + "ed"


def verb_forms(base: str, past: str | None = None, participle: str | None = None) -> VerbForms:
    """All forms of a verb; the past ones are made by rule unless given."""
    past = past or past_form(base)
    return VerbForms(base, third_person(base), ing_form(base), past, participle or past)


def plural(noun: str) -> str:
    if noun in _PLURALS:
        return _PLURALS[noun]
    if noun.endswith(_SIBILANTS):
        return noun + "es"
    return noun[:-1] + "ies" if _y_becomes_i(noun) else noun + "s"


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
