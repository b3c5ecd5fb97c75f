"""Whether a sentence speaks of a column or table: through its words, their inflections, synonyms and short forms."""

from __future__ import annotations

from sensecheck.faithful.facts import Name
from sensecheck.faithful.matching.sentence import Sentence
from sensecheck.faithful.matching.spelling import near
from sensecheck.language.morphology import root, stem


def literal_positions(sentence: Sentence, word: str) -> list[int]:
    """Tokens that are the word itself, an inflection or derivation of it, or what it abbreviates."""
    known = sentence.literal.get(word)
    if known is None:
        known = sentence.literal[word] = _literal_positions(sentence, word)
    return known


def _literal_positions(sentence: Sentence, word: str) -> list[int]:
    found = sentence.by_stem.get(stem(word))
    if found:
        return found
    key = root(word)
    if len(key) >= 4:
        found = sentence.by_root.get(key)
        if found:
            return found
    full = sentence.vocabulary.abbreviations.get(word)
    if full is not None:
        return sentence.by_stem.get(stem(full), [])
    if 3 <= len(word) <= 5:  # a short form that nobody listed: the beginning of a word
        return [i for i, low in enumerate(sentence.lows) if len(low) > len(word) + 2 and low.startswith(word)]
    return []


def synonym_positions(sentence: Sentence, word: str) -> list[int]:
    """Tokens that stand for the word by the lexicon: its synonyms, and gradable words that speak of it."""
    known = sentence.synonymous.get(word)
    if known is None:
        known = sentence.synonymous[word] = _synonym_positions(sentence, word)
    return known


def _synonym_positions(sentence: Sentence, word: str) -> list[int]:
    vocabulary = sentence.vocabulary
    key = stem(vocabulary.abbreviations.get(word, word))
    others = vocabulary.synonyms.get(key)
    found: list[int] = []
    by_stem = sentence.by_stem
    if others:
        for other in others:
            if other in by_stem:
                found.extend(by_stem[other])
    if sentence.gradable:
        for adjective, where in sentence.gradable.items():
            if key in vocabulary.about_stems.get(adjective, ()) or (others and adjective in others):
                found.extend(where)
    return found


def joined_positions(sentence: Sentence, name: Name) -> list[int]:
    """A name of several words written as one, or a name of one word that the sentence writes apart."""
    if len(name.words) > 1:
        joined = "".join(name.words)
        return sentence.by_stem.get(stem(joined), [])
    word = name.words[0]
    if len(word) < 7:
        return []
    return [i for i, low in enumerate(sentence.lows) if len(low) >= 4 and (word.startswith(low) or word.endswith(low))]


_MODIFIERS = frozenset(("max", "maximum", "min", "minimum", "avg", "average", "mean", "total", "overall", "current"))
_UNTOLD = frozenset(("the", "of", "in", "for", "and", "to", "by", "at", "on", "a", "an", "is", "as", "with", "from"))


def told(sentence: Sentence, name: Name, entities: frozenset[str]) -> float:
    """How much of what sets a column apart is said: words that also name tables tell little, `id` tells much."""
    total = said = 0.0
    measured = False  # behind per: hours per week are hours
    for word, key in zip(name.words, name.stems, strict=True):
        measured = measured or word == "per"
        if word in _UNTOLD:
            continue
        if measured or key in sentence.vocabulary.units:
            weight = 0.1
        elif key in entities:
            weight = 0.2
        elif word in _MODIFIERS:
            weight = 0.4
        elif key in sentence.vocabulary.generic and key != "id":
            weight = 0.6
        else:
            weight = 1.0
        total += weight
        if literal_positions(sentence, word):
            said += weight
        elif synonym_positions(sentence, word):
            said += 0.8 * weight
    if not total:
        return 1.0
    if said / total < 0.4 and (joined_positions(sentence, name) or _misspelt(sentence, name)):
        return 0.8
    return said / total


def _misspelt(sentence: Sentence, name: Name) -> bool:
    return any(
        len(word) >= 5
        and key not in sentence.vocabulary.generic
        and any(near(word, low) for low in sentence.by_low if -3 < len(low) - len(word) < 3 and low[0] == word[0])
        for word, key in zip(name.words, name.stems, strict=True)
    )


class Mention:
    """How well a sentence mentions a name, and where."""

    __slots__ = ("literal", "positions", "score")

    def __init__(self, score: float, literal: float, positions: list[int]) -> None:
        self.score = score  # share of the name's words said, in any way
        self.literal = literal  # share said by the words themselves
        self.positions = positions


_NOTHING = Mention(0.0, 0.0, [])


def mention(sentence: Sentence, name: Name) -> Mention:
    """How a sentence mentions a name."""
    if not name.words:
        return _NOTHING
    generic = sentence.vocabulary.generic
    total = said = literal = 0.0
    positions: list[int] = []
    for word, key in zip(name.words, name.stems, strict=True):
        weight = 0.35 if key in generic else 1.0
        total += weight
        found = literal_positions(sentence, word)
        if found:
            said += weight
            literal += weight
            positions.extend(found)
            continue
        found = synonym_positions(sentence, word)
        if found:
            said += weight * 0.8
            positions.extend(found)
    return Mention(said / total, literal / total, positions)
