"""A small English morphology: enough to see that prices, priced and price are one word, and organizer and
organization are near.

`stem` undoes inflection, `root` also undoes common derivation. Irregular forms are data (`data/irregular.json`).
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources

_VOWELS = frozenset("aeiouy")


def _irregular() -> dict[str, str]:
    text = resources.files("sensecheck.language").joinpath("data", "irregular.json").read_text("utf-8")
    forms: dict[str, str] = {}
    for base, inflected in json.loads(text)["forms"].items():
        for form in inflected:
            forms[form] = base
    return forms


_IRREGULAR = _irregular()


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
    if n > 5 and base.endswith("ing") and not _VOWELS.isdisjoint(base[:-3]):
        base = _undouble(_silent_e(base[:-3]))
        base = _IRREGULAR.get(base, base)
    elif n > 4 and base.endswith("ed") and not base.endswith("eed") and not _VOWELS.isdisjoint(base[:-2]):
        base = _undouble(_silent_e(base[:-2]))
    if len(base) > 4 and base.endswith("e"):
        base = base[:-1]
    if len(base) > 2 and base.endswith("y") and base[-2] not in "aeiou":
        base = base[:-1] + "i"
    return base


_DERIVATIONS = (
    "ational", "ization", "isation", "ability", "ation", "ition", "ative", "itive", "ement", "ality", "ional",
    "ment", "ness", "ance", "ence", "ator", "itor", "iti", "ion", "ant", "ent", "ful", "ist", "ism", "ous",
    "iv", "er", "or", "al", "li", "ic", "at", "an", "ur", "iz", "is", "ag", "i",
)  # fmt: skip


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
