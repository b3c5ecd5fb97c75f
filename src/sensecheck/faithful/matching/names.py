"""Whether a sentence speaks of a column or table: through its words, their inflections, synonyms and short forms."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.facts import Name
from sensecheck.faithful.matching.sentence import Mention, Sentence
from sensecheck.faithful.matching.spelling import near
from sensecheck.faithful.matching.vocabulary import Tellings
from sensecheck.language.morphology import root, stem


def literal_positions(sentence: Sentence, word: str) -> list[int]:
    """Tokens that are the word itself, an inflection or derivation of it, or what it abbreviates."""
    positions = sentence.literal.get(word)
    if positions is None:
        positions = sentence.literal[word] = _literal_positions(sentence, word)
    return positions


def _literal_positions(sentence: Sentence, word: str) -> list[int]:
    positions = sentence.by_stem.get(stem(word)) or (sentence.with_root(key) if len(key := root(word)) >= 4 else [])
    if positions:
        return positions
    full = sentence.vocabulary.abbreviations.get(word)
    if full is not None:
        return sentence.by_stem.get(stem(full), [])
    if 3 <= len(word) <= 5:  # a short form that nobody listed: the beginning of a word
        return [i for i, low in enumerate(sentence.lows) if len(low) > len(word) + 2 and low.startswith(word)]
    return []


def synonym_positions(sentence: Sentence, word: str) -> list[int]:
    """Tokens that stand for the word by the lexicon: its synonyms, and gradable words that speak of it."""
    positions = sentence.synonymous.get(word)
    if positions is None:
        positions = sentence.synonymous[word] = _synonym_positions(sentence, word)
    return positions


def _synonym_positions(sentence: Sentence, word: str) -> list[int]:
    vocabulary, by_stem = sentence.vocabulary, sentence.by_stem
    key = stem(vocabulary.abbreviations.get(word, word))
    synonyms = vocabulary.synonyms.get(key, ())
    positions = [i for synonym in synonyms if synonym in by_stem for i in by_stem[synonym]]
    for adjective, adjective_positions in sentence.gradable.items():
        if key in vocabulary.about_stems.get(adjective, ()) or adjective in synonyms:
            positions.extend(adjective_positions)
    return positions


def joined_positions(sentence: Sentence, name: Name) -> list[int]:
    """A name of several words written as one, or a name of one word that the sentence writes apart."""
    if len(name.words) > 1:
        joined = "".join(name.words)
        return sentence.by_stem.get(stem(joined), [])
    word = name.words[0]
    if len(word) < 7:
        return []
    return [i for i, low in enumerate(sentence.lows) if len(low) >= 4 and (word.startswith(low) or word.endswith(low))]


def share_told(sentence: Sentence, name: Name, entities: frozenset[str]) -> float:
    """How much of what sets a column apart is said: words that also name tables tell little, `id` tells much."""
    vocabulary = sentence.vocabulary
    total_weight = said_weight = 0.0
    behind_per = False  # hours per week are hours
    for word, key in zip(name.words, name.stems, strict=True):
        behind_per = behind_per or word == "per"
        if word in vocabulary.guards["function_words"]:
            continue
        if behind_per or key in vocabulary.units:
            weight = 0.1
        elif key in entities:
            weight = 0.2
        elif word in vocabulary.guards["modifiers"]:
            weight = 0.4
        elif key in vocabulary.generic and key != "id":
            weight = 0.6
        else:
            weight = 1.0
        total_weight += weight
        if literal_positions(sentence, word):
            said_weight += weight
        elif synonym_positions(sentence, word):
            said_weight += 0.8 * weight
    if not total_weight:
        return 1.0
    if said_weight / total_weight < 0.4 and (joined_positions(sentence, name) or _misspelt(sentence, name)):
        return 0.8
    return said_weight / total_weight


def _misspelt(sentence: Sentence, name: Name) -> bool:
    for word, key in zip(name.words, name.stems, strict=True):
        if len(word) < 5 or key in sentence.vocabulary.generic:
            continue
        for low in sentence.by_low:
            if low[0] == word[0] and len(low) > 4 and near(word, low):
                return True
    return False


def told_by_kind(sentence: Sentence, name: Name) -> bool:
    """Whether a column is told by what people say of its kind: what they charge, of a price."""
    words, stems, phrases, openings = sentence.vocabulary.tellings_of(name)
    if not words.isdisjoint(sentence.by_low) or not stems.isdisjoint(sentence.by_stem):
        return True
    if openings.isdisjoint(sentence.by_low) and openings.isdisjoint(sentence.by_stem):
        return False
    return any(stands(sentence, keys) for keys in phrases)


def runs(sentence: Sentence, tellings: Tellings) -> Iterator[range]:
    """Where the words and phrases stand that tell of something."""
    for words, places in ((tellings.words, sentence.by_low), (tellings.stems, sentence.by_stem)):
        for key in words.intersection(places):
            yield from (range(i, i + 1) for i in places[key])
    if not (tellings.openings.isdisjoint(sentence.by_low) and tellings.openings.isdisjoint(sentence.by_stem)):
        for keys in tellings.phrases:
            yield from (range(i, i + len(keys)) for i in _starts(sentence, keys))


def stands(sentence: Sentence, keys: tuple[str, ...]) -> bool:
    """Whether a phrase stands in a sentence; `~stem` stands for inflections, `*` for any word."""
    return any(True for _ in _starts(sentence, keys))


def _starts(sentence: Sentence, keys: tuple[str, ...]) -> Iterator[int]:
    """Where a phrase begins."""
    first = keys[0]
    starts = sentence.by_stem.get(first[1:], ()) if first[0] == "~" else sentence.by_low.get(first, ())
    return (
        i
        for i in starts
        if i + len(keys) <= sentence.n
        and all(
            key == "*" or key == sentence.lows[i + k] or (key[0] == "~" and key[1:] == sentence.tokens[i + k].stem)
            for k, key in enumerate(keys)
        )
    )


def mention(sentence: Sentence, name: Name) -> Mention:
    """How a sentence mentions a name."""
    found = sentence.mentions.get(name.text)
    if found is None:
        found = sentence.mentions[name.text] = _mention(sentence, name)
    return found


def _mention(sentence: Sentence, name: Name) -> Mention:
    if not name.words:
        return Mention(0.0, 0.0, [])
    generic, literal = sentence.vocabulary.generic, sentence.literal
    total_weight = said_weight = literal_weight = 0.0
    positions: list[int] = []
    for word, key in zip(name.words, name.stems, strict=True):
        weight = 0.35 if key in generic else 1.0
        total_weight += weight
        word_positions = literal[word] if word in literal else literal_positions(sentence, word)
        if word_positions:
            said_weight += weight
            literal_weight += weight
        else:
            word_positions = synonym_positions(sentence, word)
            said_weight += 0.8 * weight if word_positions else 0.0
        positions.extend(word_positions)
    return Mention(said_weight / total_weight, literal_weight / total_weight, positions)
