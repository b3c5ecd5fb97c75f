"""Literal values against a sentence: as written, inflected, misspelt a little, as a demonym, a code, a date."""

from __future__ import annotations

from functools import lru_cache

from sensecheck.faithful.matching.sentence import Sentence, ValueMatch
from sensecheck.faithful.matching.spelling import near
from sensecheck.language.morphology import root
from sensecheck.language.numbers import find_numbers
from sensecheck.language.tokens import Token, tokenize

_ABSENT = ValueMatch(0.0, ())
_FILLER = frozenset(
    (
        "the",
        "of",
        "a",
        "an",
        "and",
        "in",
        "for",
        "to",
        "at",
        "on",
        "de",
        "la",
        "le",
        "vs",
        "v",
        "by",
        "th",
        "st",
        "nd",
        "rd",
    )
)


@lru_cache(maxsize=65_536)
def _value_tokens(text: str) -> tuple[tuple[Token, ...], tuple[bool, ...]]:
    """The tokens of a value without signs, and which of them stand in brackets."""
    tokens, inside, bracketed = [], 0, []
    for token in tokenize(text[:400]):
        if token.kind == "sign":
            inside += (token.text in "([" and 1) or 0
            inside -= (token.text in ")]" and 1) or 0
            continue
        tokens.append(token)
        bracketed.append(inside > 0)
    if all(bracketed):
        bracketed = [False] * len(tokens)
    return tuple(tokens), tuple(bracketed)


def _run_without_signs(sentence: Sentence, stems: tuple[str, ...]) -> tuple[int, ...]:
    """Where the stems stand one after the other, signs between them not counted."""
    size = len(stems)
    for start in sentence.by_stem.get(stems[0], ()):
        i, k = start, 0
        while i < sentence.n and k < size:
            token = sentence.tokens[i]
            if token.kind == "sign":
                i += 1
                continue
            if token.stem != stems[k]:
                break
            i, k = i + 1, k + 1
        if k == size:
            return tuple(range(start, i))
    return ()


def _word_positions(sentence: Sentence, token: Token) -> tuple[int, ...]:
    """Tokens that say one word of a value."""
    positions = sentence.by_stem.get(token.stem)
    if positions:
        return tuple(positions)
    if token.kind == "number":
        value = find_numbers((token,))[0].value
        numbers = [n for n in sentence.numbers if n.value == value]
        return tuple(i for n in numbers for i in range(n.first, n.last))
    low = token.low
    if len(low) >= 4:
        positions = sentence.by_root.get(root(low))
        if positions:
            return tuple(positions)
    for words in sentence.vocabulary.places.get(low, ()):
        start = sentence.find(words)
        if start >= 0:
            return tuple(range(start, start + len(words)))
    for i, other in enumerate(sentence.tokens):
        if other.kind != "word":
            continue
        other_low = other.low
        shorter, longer = (low, other_low) if len(low) < len(other_low) else (other_low, low)
        if (
            len(shorter) >= 3
            and longer.startswith(shorter)
            and (len(shorter) >= 4 or len(longer) <= 12)
            and shorter not in _FILLER
        ):
            return (i,)
        if near(low, other_low) or near(token.stem, other.stem):
            return (i,)
    return ()


def _spelt_out(sentence: Sentence, initials: str) -> tuple[int, ...]:
    """Where words stand one after the other whose first letters are the initials; short words may lie between."""
    for start, low in enumerate(sentence.lows):
        if low[0] != initials[0] or low in _FILLER or len(low) < 3:
            continue
        i, k, places = start + 1, 1, [start]
        while i < sentence.n and k < len(initials):
            word = sentence.lows[i]
            if word[0] == initials[k] and len(word) > 2 and word not in _FILLER:
                places.append(i)
                k += 1
            elif word not in _FILLER:
                break
            i += 1
        if k == len(initials):
            return tuple(places)
    return ()


def find_value(sentence: Sentence, text: str) -> ValueMatch:
    """How a sentence says a literal value."""
    match = sentence.values.get(text)
    if match is None:
        match = sentence.values[text] = _find_value(sentence, text)
    return match


def _find_value(sentence: Sentence, text: str) -> ValueMatch:
    tokens, bracketed = _value_tokens(text)
    if not tokens:
        stripped = text.strip()
        if stripped and stripped in sentence.by_low:
            return ValueMatch(1.0, tuple(sentence.by_low[stripped]))
        return _ABSENT
    stems = tuple(t.stem for t in tokens)
    run_positions = _run_without_signs(sentence, stems)
    if run_positions:
        return ValueMatch(1.0, run_positions)
    low = text.strip().lower()
    folded = " ".join(t.low for t in tokens)
    for forms in (
        sentence.vocabulary.codes.get(low) or sentence.vocabulary.codes.get(folded, ()),
        sentence.vocabulary.places.get(low, ()),
        sentence.vocabulary.places.get(folded, ()),
    ):
        for words in forms:
            start = sentence.find(words)
            if start >= 0:
                return ValueMatch(0.95, tuple(range(start, start + len(words))))
    if len(tokens) == 1 and 2 <= len(low) <= 5 and low.isalpha():
        # Initials in the value, the name in full in the sentence: ge, general electric.
        initial_positions = _spelt_out(sentence, low)
        if initial_positions:
            return ValueMatch(0.9, initial_positions)
    joined = "".join(t.low for t in tokens)
    if len(joined) >= 4:
        # Written together in one place and apart in the other.
        for i, word in enumerate(sentence.lows):
            if word[0] != joined[0]:
                continue
            glued = ""
            for j in range(i, min(i + 4, sentence.n)):
                if sentence.tokens[j].kind != "sign":
                    glued += sentence.lows[j]
                if glued == joined or (glued.endswith("s") and glued[:-1] == joined):
                    return ValueMatch(0.95, tuple(range(i, j + 1)))
                if not joined.startswith(glued):
                    break
    said_weight = total_weight = 0.0
    positions: list[int] = []
    for token, aside in zip(tokens, bracketed, strict=True):
        if token.low in _FILLER:
            continue
        weight = 0.25 if aside else 1.0
        total_weight += weight
        word_positions = _word_positions(sentence, token)
        if word_positions:
            said_weight += weight
            positions.extend(word_positions)
    if not total_weight:
        return _ABSENT
    if said_weight < total_weight and len(tokens) > 1:
        # Initials of a name of several words: National Football League, nfl.
        initials = "".join(t.low[0] for t in tokens)
        if len(initials) > 1 and initials in sentence.by_low:
            return ValueMatch(0.9, tuple(sentence.by_low[initials]))
    return ValueMatch(0.9 * said_weight / total_weight, tuple(positions))
