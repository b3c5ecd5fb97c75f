"""Literal values against a sentence: as written, inflected, misspelt a little, as a demonym, a code, a date."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sensecheck.faithful.facts import Fact
from sensecheck.faithful.matching.sentence import Sentence, ValueMatch
from sensecheck.faithful.matching.spelling import near
from sensecheck.language.morphology import root
from sensecheck.language.numbers import find_numbers
from sensecheck.language.tokens import Token, tokenize

_ABSENT = ValueMatch(0.0, ())
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip


@lru_cache(maxsize=65_536)
def _value_tokens(text: str) -> tuple[tuple[Token, ...], tuple[bool, ...]]:
    """The tokens of a value without signs, and which of them stand in brackets."""
    tokens, inside, bracketed = [], 0, []
    for token in tokenize(text[:400]):
        if token.kind == "sign":
            inside += (token.text in "([") - (token.text in ")]")
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
        numbers = [n for n in sentence.numbers if n.value == value and (n.form != "decade" or value >= 100)]
        return tuple(i for n in numbers for i in range(n.first, n.last))
    low = token.low
    if len(low) >= 4:
        positions = sentence.with_root(root(low))
        if positions:
            return tuple(positions)
    for words in sentence.vocabulary.places.get(low, ()):
        start = sentence.find(words)
        if start >= 0:
            return tuple(range(start, start + len(words)))
    beginning, key = low[:3], token.stem
    for i, (_, other, other_key, _, _, kind) in enumerate(sentence.tokens):
        if kind == "word" and (
            (other[:3] == beginning and _begins(sentence, low, other))
            or (len(other) > 4 and near(low, other))
            or (len(other_key) > 4 and near(key, other_key))
        ):
            return (i,)
    return ()


def _begins(sentence: Sentence, low: str, other: str) -> bool:
    """Whether one of two words is the beginning of the other, and long enough to tell."""
    shorter, longer = sorted((low, other), key=len)
    if len(shorter) < 3 or not longer.startswith(shorter) or shorter in sentence.vocabulary.guards["filler"]:
        return False
    return len(shorter) >= 4 or len(longer) <= 12


def _spelt_out(sentence: Sentence, initials: str) -> tuple[int, ...]:
    """Where words stand one after the other whose first letters are the initials; short words may lie between."""
    filler = sentence.vocabulary.guards["filler"]
    for start, low in enumerate(sentence.lows):
        if low[0] != initials[0] or low in filler or len(low) < 3:
            continue
        i, k, places = start + 1, 1, [start]
        while i < sentence.n and k < len(initials):
            word = sentence.lows[i]
            if word[0] == initials[k] and len(word) > 2 and word not in filler:
                places.append(i)
                k += 1
            elif word not in filler:
                break
            i += 1
        if k == len(initials):
            return tuple(places)
    return ()


def month_of(sentence: Sentence, fact: Fact) -> bool:
    """`in august` for a date that begins with 8/ or is 08."""
    digits = (fact.value or "").strip(" /-.")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 2 or not 1 <= int(digits) <= 12:
        return False
    return _MONTHS[int(digits) - 1] in sentence.by_low and "time" in sentence.vocabulary.kinds_of(fact.name)


def denied_opposite(sentence: Sentence, low: str) -> bool:
    """`not paved` for unpaved."""
    for prefix in sentence.vocabulary.guards["negative_prefixes"]:
        rest = low.removeprefix(prefix).lstrip(" -")
        if rest != low and len(rest) > 3 and rest in sentence.by_low:
            return any(
                word.negative or (word.alone is not None and "negation" in word.alone[1]) for word in sentence.words
            )
    return False


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
        return ValueMatch(1.0, tuple(sentence.by_low[stripped])) if stripped in sentence.by_low else _ABSENT
    run = _run_without_signs(sentence, tuple(t.stem for t in tokens))
    if run:
        return ValueMatch(1.0, run)
    found = _otherwise(sentence, text.strip().lower(), tokens)
    return found if found is not None else _word_by_word(sentence, tokens, bracketed)


def _otherwise(sentence: Sentence, low: str, tokens: Sequence[Token]) -> ValueMatch | None:
    """A value said by other words, by the words that its letters begin, or written together or apart."""
    vocabulary, folded = sentence.vocabulary, " ".join(t.low for t in tokens)
    codes = vocabulary.codes.get(low) or vocabulary.codes.get(folded, ())
    for words in (*codes, *vocabulary.places.get(low, ()), *vocabulary.places.get(folded, ())):
        start = sentence.find(words)
        if start >= 0:
            return ValueMatch(0.95, tuple(range(start, start + len(words))))
    if len(tokens) == 1 and 2 <= len(low) <= 5 and low.isalpha():
        positions = _spelt_out(sentence, low)  # ge, general electric
        if positions:
            return ValueMatch(0.9, positions)
    joined = "".join(t.low for t in tokens)
    positions = _glued(sentence, joined) if len(joined) >= 4 else ()
    return ValueMatch(0.95, positions) if positions else None


def _glued(sentence: Sentence, joined: str) -> tuple[int, ...]:
    """Where a value stands that is written together in one place and apart in the other."""
    for i, word in enumerate(sentence.lows):
        if word[0] != joined[0]:
            continue
        glued = ""
        for j in range(i, min(i + 4, sentence.n)):
            if sentence.tokens[j].kind != "sign":
                glued += sentence.lows[j]
            if glued in (joined, joined + "s"):
                return tuple(range(i, j + 1))
            if not joined.startswith(glued):
                break
    return ()


def _word_by_word(sentence: Sentence, tokens: Sequence[Token], bracketed: Sequence[bool]) -> ValueMatch:
    """How much of a value is said, by the weight of its words."""
    said_weight = total_weight = 0.0
    positions: list[int] = []
    for token, aside in zip(tokens, bracketed, strict=True):
        if token.low in sentence.vocabulary.guards["filler"]:
            continue
        weight = 0.25 if aside else 1.0
        total_weight += weight
        word_positions = _word_positions(sentence, token)
        said_weight += weight if word_positions else 0.0
        positions.extend(word_positions)
    if not total_weight:
        return _ABSENT
    if said_weight < total_weight and len(tokens) > 1:
        initials = "".join(t.low[0] for t in tokens)  # National Football League, nfl
        if initials in sentence.by_low:
            return ValueMatch(0.9, tuple(sentence.by_low[initials]))
    return ValueMatch(0.9 * said_weight / total_weight, tuple(positions))
