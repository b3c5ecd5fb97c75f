"""What a sentence says: its tokens, numbers, quotations, and the signals its words give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from sensecheck.faithful.matching.vocabulary import Vocabulary
from sensecheck.language.morphology import root, stem
from sensecheck.language.numbers import NUMBER_WORDS, Number, find_numbers
from sensecheck.language.tokens import Token, tokenize

_QUOTES = re.compile(r"\"([^\"]{1,200})\"|(?<![\w'])'([^'\"]{1,200})'(?!\w)|“([^”]{1,200})”|`([^`']{1,200})[`']")


class Signal(NamedTuple):
    """A phrase that says something about the query: tokens[first:last]."""

    kind: str
    first: int
    last: int
    word: str = ""  # the gradable word behind a comparative or superlative
    sign: int = 1  # -1 for less X, least X


class Sentence:
    """A sentence read once, before it is held against a query."""

    __slots__ = ("by_low", "by_root", "by_stem", "gradable", "lows", "n", "numbers", "owner", "quotes", "signals", "text", "tokens", "vocabulary")

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.text = text
        self.vocabulary = vocabulary
        self.tokens: list[Token] = tokenize(text)
        self.n = len(self.tokens)
        self.lows = [t.low for t in self.tokens]
        self.by_stem: dict[str, list[int]] = {}
        self.by_root: dict[str, list[int]] = {}
        self.by_low: dict[str, list[int]] = {}
        self.gradable: dict[str, list[int]] = {}  # stem of a gradable word, in any degree → where
        superlatives, comparatives = vocabulary.superlatives, vocabulary.comparatives
        for i, token in enumerate(self.tokens):
            self.by_stem.setdefault(token.stem, []).append(i)
            self.by_low.setdefault(token.low, []).append(i)
            if token.kind == "word" and len(token.low) >= 4:
                self.by_root.setdefault(root(token.low), []).append(i)
            base = superlatives.get(token.low) or comparatives.get(token.low)
            if base is not None:
                self.gradable.setdefault(stem(base), []).append(i)
            elif token.low in vocabulary.classes:
                self.gradable.setdefault(token.stem, []).append(i)
        self.numbers: list[Number] = find_numbers(self.tokens)
        self.quotes: list[tuple[int, int]] = self._quotations() if '"' in text or "'" in text or "“" in text or "`" in text else []
        # What has claimed each token: "" free, "value", "name", "quote".
        self.owner: list[str] = [""] * self.n
        self.signals: list[Signal] = []

    def _quotations(self) -> list[tuple[int, int]]:
        found = []
        for match in _QUOTES.finditer(self.text):
            group = match.lastindex or 1
            start, end = match.span(group)
            first = last = -1
            for i, token in enumerate(self.tokens):
                if token.start >= start and token.end <= end:
                    first = i if first < 0 else first
                    last = i + 1
            if first >= 0:
                found.append((first, last))
        return found

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
        vocabulary, tokens, lows, owner, n = self.vocabulary, self.tokens, self.lows, self.owner, self.n
        phrases = vocabulary.phrases
        signals = self.signals
        i = 0
        while i < n:
            token = tokens[i]
            if owner[i] in ("value", "quote") or token.kind == "number":
                i += 1
                continue
            low = token.low
            best: tuple[tuple[str, ...], tuple[str, ...]] | None = None
            for key in (low, "~" + token.stem):
                for phrase in phrases.get(key, ()):
                    keys = phrase[0]
                    size = len(keys)
                    if best is not None and size <= len(best[0]):
                        break
                    if i + size <= n and all(
                        k == lows[i + d] or (k[0] == "~" and k[1:] == tokens[i + d].stem) for d, k in enumerate(keys) if d
                    ):
                        best = phrase
                        break
            if best is not None and len(best[0]) == 2 and low in ("and", "or") and best[1][0] in ("at_least", "at_most"):
                follower = i + 2
                if follower < n and (tokens[follower].kind == "number" or lows[follower] in NUMBER_WORDS or lows[follower] == "than"):
                    best = ((low,), ("or",) if low == "or" else ("and",))  # below 100 and above 500
            if best is not None and low in ("not", "no") and best[1][0] in ("at_least", "at_most"):
                ahead = range(i + len(best[0]), min(i + len(best[0]) + 4, n))
                if not any(tokens[k].kind == "number" or lows[k] in NUMBER_WORDS or lows[k] == "average" for k in ahead):
                    best = ((low,), ("negation",))  # not under the label of
            step = 1
            if best is not None:
                step = len(best[0])
                for name in best[1]:
                    signals.append(Signal(name, i, i + step))
            if low.endswith("n't") or low == "cannot":
                signals.append(Signal("negation", i, i + 1))
            if step == 1 or best is not None and best[1][0] in ("maximum", "minimum", "most_quantifier"):
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
        return 1
