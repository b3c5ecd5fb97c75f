"""What a sentence says: its tokens, numbers, quotations, and the signals its words give."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from sensecheck.faithful.matching.vocabulary import Phrase, Vocabulary
from sensecheck.language.morphology import root
from sensecheck.language.numbers import NUMBER_WORDS, Number, find_numbers
from sensecheck.language.tokens import Token, tokenize

_QUOTES = re.compile(r"\"([^\"]{1,200})\"|(?<![\w'])'([^'\"]{1,200})'(?!\w)|“([^”]{1,200})”|`([^`']{1,200})[`']")


_QUOTE_SIGNS = frozenset("\"'“`")
# What an `at least` may be followed by when it compares.
_AMOUNTS = NUMBER_WORDS | {"average", "a", "an", "some", "any", "half", "as", "the", "that", "all"}


class Signal(NamedTuple):
    """A phrase that says something about the query: tokens[first:last]."""

    kind: str
    first: int
    last: int
    word: str = ""  # the gradable word behind a comparative or superlative
    sign: int = 1  # -1 for less X, least X


class ValueMatch(NamedTuple):
    """How a sentence says a literal value."""

    score: float  # 0 not said … 1 said word for word
    positions: tuple[int, ...]


class Sentence:
    """A sentence read once, before it is held against a query."""

    __slots__ = (
        "_by_root", "by_low", "by_stem", "gradable", "literal", "lows", "n", "numbers", "owner", "quotes", "signals",
        "synonymous", "text", "tokens", "values", "vocabulary", "words",
    )  # fmt: skip

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.vocabulary = vocabulary
        self.tokens: list[Token] = tokenize(text)
        self.n = len(self.tokens)
        self.lows = [t.low for t in self.tokens]
        word_info = vocabulary.word
        self.words = [word_info(low) for low in self.lows]
        self.by_stem: dict[str, list[int]] = {}
        self.by_low: dict[str, list[int]] = {}
        self.gradable: dict[str, list[int]] = {}  # stem of a gradable word, in any degree → where
        self.literal: dict[str, list[int]] = {}  # look-ups of names.literal_positions
        self.synonymous: dict[str, list[int]] = {}  # look-ups of names.synonym_positions
        self.values: dict[str, ValueMatch] = {}  # look-ups of values.find_value
        self._by_root: dict[str, list[int]] | None = None
        by_stem, by_low = self.by_stem, self.by_low
        for i, (_, low, key, _, _, _) in enumerate(self.tokens):
            if key in by_stem:
                by_stem[key].append(i)
            else:
                by_stem[key] = [i]
            if low in by_low:
                by_low[low].append(i)
            else:
                by_low[low] = [i]
            if self.words[i].gradable:
                self.gradable.setdefault(self.words[i].gradable, []).append(i)
        self.numbers: list[Number] = find_numbers(self.tokens)
        self.quotes: list[tuple[int, int]] = []
        if not _QUOTE_SIGNS.isdisjoint(text):
            self.quotes = self._quotations()
        # What has claimed each token: "" free, "value", "name", "quote".
        self.owner: list[str] = [""] * self.n
        self.signals: list[Signal] = []

    @property
    def by_root(self) -> dict[str, list[int]]:
        """Where each root stands; made on the first look, since most sentences never need it."""
        if self._by_root is None:
            self._by_root = {}
            for i, token in enumerate(self.tokens):
                if token.kind == "word" and len(token.low) >= 4:
                    self._by_root.setdefault(root(token.low), []).append(i)
        return self._by_root

    def _quotations(self) -> list[tuple[int, int]]:
        quotations = []
        starts = [token.start for token in self.tokens]
        for match in _QUOTES.finditer(self.text):
            start, end = match.span(match.lastindex or 1)
            first, last = bisect_left(starts, start), bisect_left(starts, end)
            if first < last:
                quotations.append((first, last))
        return quotations

    def claim(self, first: int, last: int, owner: str) -> None:
        for i in range(first, last):
            if not self.owner[i]:
                self.owner[i] = owner

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

    def read_signals(self) -> None:
        """Find the signals among the tokens that no value or quotation has claimed."""
        tokens, lows, owner, n = self.tokens, self.lows, self.owner, self.n
        signals, words = self.signals, self.words
        i = 0
        while i < n:
            token = tokens[i]
            if owner[i] in ("value", "quote") or token.kind == "number":
                i += 1
                continue
            low = token.low
            info = words[i]
            best: Phrase | None = None
            for phrase in info.phrases:
                keys = phrase[0]
                size = len(keys)
                if size == 1:
                    best = phrase
                    break
                if i + size <= n:
                    for d in range(1, size):
                        k = keys[d]
                        if k != lows[i + d] and (k[0] != "~" or k[1:] != tokens[i + d].stem):
                            break
                    else:
                        best = phrase
                        break
            if (
                best is not None
                and len(best[0]) == 2
                and low in ("and", "or")
                and best[1][0] in ("at_least", "at_most")
            ):
                follower = i + 2
                if follower < n and (
                    tokens[follower].kind == "number" or lows[follower] in NUMBER_WORDS or lows[follower] == "than"
                ):
                    best = ((low,), ("or",) if low == "or" else ("and",))  # below 100 and above 500
            if best is not None and low in ("not", "no") and best[1][0] in ("at_least", "at_most"):
                ahead = range(i + len(best[0]), min(i + len(best[0]) + 4, n))
                if not any(
                    tokens[k].kind == "number" or lows[k] in NUMBER_WORDS or lows[k] == "average" for k in ahead
                ):
                    best = ((low,), ("negation",))  # not under the label of
            if best is not None and low == "at" and best[1][0] in ("at_least", "at_most"):
                ahead = range(i + 2, min(i + 4, n))
                if not any(tokens[k].kind == "number" or lows[k] in _AMOUNTS for k in ahead):
                    best = None  # at most games, at least partly
            step = 1
            if best is not None:
                step = len(best[0])
                for name in best[1]:
                    signals.append(Signal(name, i, i + step))
            if info.negative:
                signals.append(Signal("negation", i, i + 1))
            if info.degree and (
                step == 1
                or (
                    best is not None
                    and best[1][0] in ("maximum", "minimum", "most_quantifier")
                    and low not in ("more", "less")  # more than half
                )
            ):
                step = max(step, self._degree(i))
            i += step

    def _degree(self, i: int) -> int:
        """Comparative or superlative at a token; how many tokens it takes."""
        vocabulary, lows = self.vocabulary, self.lows
        low = lows[i]
        follower = lows[i + 1] if i + 1 < self.n else ""
        if low in ("more", "less", "most", "least"):
            kind = "comparative" if low in ("more", "less") else "superlative"
            if follower in vocabulary.classes and follower not in ("many", "much", "few", "little"):
                self.signals.append(Signal(kind, i, i + 2, follower, 1 if low in ("more", "most") else -1))
                return 2
        if low in vocabulary.superlatives:
            self.signals.append(Signal("superlative", i, i + 1, vocabulary.superlatives[low]))
        elif low in vocabulary.comparatives:
            self.signals.append(Signal("comparative", i, i + 1, vocabulary.comparatives[low]))
        elif low.endswith("est"):
            if self.tokens[i].text[0].islower():  # not Budapest
                self.signals.append(Signal("superlative", i, i + 1, low[:-3]))
        elif follower == "than":
            self.signals.append(Signal("comparative", i, i + 1, low[:-2]))
        return 1
