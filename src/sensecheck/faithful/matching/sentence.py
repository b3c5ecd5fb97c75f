"""What a sentence holds: its tokens, numbers and quotations, each found once."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from sensecheck.faithful.matching.vocabulary import Vocabulary
from sensecheck.language.numbers import Number, find_numbers
from sensecheck.language.tokens import Token, tokenize

_QUOTES = re.compile(r"\"([^\"]{1,200})\"|(?<![\w'])'([^'\"]{1,200})'(?!\w)|“([^”]{1,200})”|`([^`']{1,200})[`']")

_QUOTE_SIGNS = frozenset("\"'“`")


class ValueMatch(NamedTuple):
    """How a sentence says a literal value."""

    score: float  # 0 not said … 1 said word for word
    positions: tuple[int, ...]


class Mention(NamedTuple):
    """How well a sentence mentions a name, and where."""

    score: float  # share of the name's words said, in any way
    literal: float  # share said by the words themselves
    positions: list[int]


class Sentence:
    """A sentence read once, before it is held against a query."""

    __slots__ = (
        "by_low", "by_stem", "gradable", "literal", "lows", "mentions", "n", "numbers", "quotes",
        "synonymous", "telling", "text", "tokens", "values", "vocabulary", "words",
    )  # fmt: skip

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.vocabulary = vocabulary
        self.tokens: list[Token] = tokenize(text)
        self.n = len(self.tokens)
        self.lows = [t.low for t in self.tokens]
        known, look_up = vocabulary.known, vocabulary.word
        self.words = [known.get(low) or look_up(low) for low in self.lows]
        self.telling = [i for i, word in enumerate(self.words) if word.telling]  # words that the lexicon knows
        self.by_stem: dict[str, list[int]] = {}
        self.by_low: dict[str, list[int]] = {}
        self.gradable: dict[str, list[int]] = {}  # stem of a gradable word, in any degree → where
        self.literal: dict[str, list[int]] = {}  # look-ups of names.literal_positions
        self.synonymous: dict[str, list[int]] = {}  # look-ups of names.synonym_positions
        self.values: dict[str, ValueMatch] = {}  # look-ups of values.find_value
        self.mentions: dict[str, Mention] = {}  # look-ups of names.mention, by the text of the name
        by_stem, by_low = self.by_stem, self.by_low
        for i, (_, low, key, _, _, _) in enumerate(self.tokens):
            by_stem.setdefault(key, []).append(i)
            by_low.setdefault(low, []).append(i)
        for i in self.telling:
            if self.words[i].gradable:
                self.gradable.setdefault(self.words[i].gradable, []).append(i)
        self.numbers: list[Number] = find_numbers(self.tokens)
        self.quotes: list[tuple[int, int]] = []
        if not _QUOTE_SIGNS.isdisjoint(text):
            self.quotes = self._quotations()

    def with_root(self, key: str) -> list[int]:
        """Where words of a root stand, which four letters at least tell."""
        return [i for i, word in enumerate(self.words) if word.root == key and self.tokens[i].kind == "word"]

    def _quotations(self) -> list[tuple[int, int]]:
        quotations = []
        starts = [token.start for token in self.tokens]
        for match in _QUOTES.finditer(self.text):
            start, end = match.span(match.lastindex or 1)
            first, last = bisect_left(starts, start), bisect_left(starts, end)
            if first < last:
                quotations.append((first, last))
        return quotations

    def low(self, i: int) -> str:
        """A word by its place; nothing before the first and behind the last."""
        return self.lows[i] if 0 <= i < self.n else ""

    def says(self, words: str) -> bool:
        """Whether the sentence has a word of a list of the lexicon."""
        return not self.vocabulary.guards[words].isdisjoint(self.by_low)

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Characters of tokens[first:last]."""
        return self.tokens[first].start, self.tokens[last - 1].end

    def find(self, stems: Sequence[str]) -> int:
        """Where a run of stems stands, or -1."""
        if not stems:
            return -1
        size = len(stems)
        for i in self.by_stem.get(stems[0], ()):
            if i + size <= self.n and all(self.tokens[i + k].stem == stems[k] for k in range(1, size)):
                return i
        return -1
