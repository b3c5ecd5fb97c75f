"""Whether a sentence is in another language than English, told by its small words.

Only where that is plain: of a sentence without any small word of a language that is known here, nothing is said. A name
("Juan de la Cruz sang") tells no language, nor does a borrowed word ("a beret").
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources

_WORDS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
MAX_LETTERS = 400
"""What comes later says no more."""
_LATIN_ENDS = 0x0250
FOREIGN_SCRIPT = 0.5


@cache
def _small_words() -> tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]:
    data = json.loads(resources.files("sensecheck.language").joinpath("data", "small_words.json").read_text("utf-8"))
    english, shared = frozenset(data["english"].split()), frozenset(data["english too"].split())
    others = frozenset(word for words in data["others"].values() for word in words.split())
    return english, shared, others - english - shared, frozenset(data["in names"].split())


def in_other_language(text: str) -> bool:
    """Whether a sentence is plainly not English.

    >>> [in_other_language(t) for t in ("Un homme dort.", "A man in a beret eats croissants.", "Мужчина спит.")]
    [True, False, True]
    """
    text = text[:MAX_LETTERS]
    if not text.isascii():
        letters = [letter for letter in text if letter.isalpha()]
        foreign = sum(not _latin(letter) for letter in letters)
        if letters and foreign / len(letters) > FOREIGN_SCRIPT:
            return True
    english, shared, others, in_names = _small_words()
    words = _WORDS.findall(text)
    told = {True: 0.0, False: 0.0}
    for i, word in enumerate(words):
        lower = word.lower()
        if lower in english:
            told[True] += 0.5 if lower in shared else 1  # "is" and "in" are Dutch too
            if told[True] >= 3:
                return False  # enough for any sentence of a few words; it is asked of every one
        elif (lower in others or _elided(lower)) and not _in_a_name(words, i, in_names):
            told[False] += 1
        elif not word.isascii() and i and word.islower():
            told[False] += 0.5
    return told[False] >= 1 and told[False] > told[True]


def _latin(letter: str) -> bool:
    return ord(letter) < _LATIN_ENDS or 0x1E00 <= ord(letter) < 0x1F00


def _elided(word: str) -> bool:
    """ "l'homme", "c'est", "dell'acqua"."""
    return word.replace("’", "'").startswith(("l'", "d'", "c'", "j'", "n'", "s'", "qu'", "dell'", "un'", "all'"))


def _in_a_name(words: list[str], i: int, in_names: frozenset[str]) -> bool:
    """ "de la" between words with a capital; a capital elsewhere than at the start is a name's as well."""
    if i and words[i][0].isupper():
        return True
    if words[i].lower() not in in_names:
        return False
    if not i:  # "Les Misérables", "El Niño"
        return len(words) > 1 and words[1][0].isupper()
    before, after = i - 1, i + 1
    while before > 0 and words[before] in in_names:
        before -= 1
    while after < len(words) - 1 and words[after] in in_names:
        after += 1
    return words[before][0].isupper() and after < len(words) and words[after][0].isupper()
