"""The small NLI model that ships with the package: word-pair features, one hidden layer, numpy alone.

It exists so that a first run, the demo and the tests do the real thing without a download. It is no match for a
transformer: its accuracy is on its card (`small_nli.md` beside this file) and is said wherever it is used.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sensecheck.language.rewriting.lexicon import NUMBERS, Lexicon, english

LABELS = ("entailment", "neutral", "contradiction")
NAME = "sensecheck/small-nli"

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_STOP = frozenset(
    [
        "a",
        "an",
        "the",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "of",
        "to",
        "in",
        "on",
        "at",
        "for",
        "with",
        "and",
        "or",
        "by",
        "from",
        "as",
        "that",
        "this",
        "it",
        "its",
        "his",
        "her",
        "their",
        "he",
        "she",
        "they",
        "there",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "while",
        "who",
        "which",
        "some",
        "can",
        "currently",
        "indeed",
    ]
)
_NEGATIVE = frozenset(
    [
        "no",
        "not",
        "nobody",
        "nothing",
        "never",
        "none",
        "neither",
        "nor",
        "without",
        "isn't",
        "aren't",
        "doesn't",
        "don't",
        "wasn't",
        "weren't",
        "cannot",
        "refusing",
        "refuses",
        "refused",
        "yet",
        "far",
        "anything",
        "hardly",
        "failed",
        "lacks",
        "lack",
        "nowhere",
        "longer",
        "false",
    ]
)
_ALONE = {"one": "1", **{word: str(value) for word, value in NUMBERS.items()}}

Floats = npt.NDArray[np.float32]


def _stem(word: str, lexicon: Lexicon) -> str:
    """A word's base as the lexicon knows it, or its spelling with the commonest endings cut."""
    known = lexicon.nouns.get(word)
    if known is not None:
        return known
    base = lexicon.base_of(word, "ing", "third", "past", "participle", "base")
    if base is not None:
        return base
    if len(word) > 5 and word.endswith("ing"):
        return word[:-3].rstrip("e")
    if len(word) > 4 and word.endswith("ed"):
        return word[:-2]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


@cache
def _relations() -> dict[tuple[str, str], str]:
    """(premise word, hypothesis word) → how the lexicon relates them, over base forms."""
    lexicon = english()
    table: dict[tuple[str, str], str] = {}
    for name, source in (("opposite", lexicon.opposites), ("exclusive", lexicon.exclusive)):
        for word, others in source.items():
            for other in others:
                table.setdefault((word, other), name)
    for word, other in lexicon.counterparts.items():
        table.setdefault((word, other), "counterpart")
    for word, other in lexicon.opposite_verbs.items():
        table[word, other] = "opposite"
    for source in (lexicon.kinds, lexicon.wider_verbs):
        for word, others in source.items():
            for other in others:
                head = other.split()[-1]
                table[word, head] = "wider"
                table.setdefault((head, word), "narrower")
    for source in (lexicon.synonyms, lexicon.verb_synonyms):
        for word, others in source.items():
            for other in others:
                if " " not in other:
                    table[word, other] = table[other, word] = "same"
    return table


def _bucket(value: float, edges: Sequence[float]) -> int:
    return sum(value > edge for edge in edges)


def features(premise: str, hypothesis: str) -> Iterator[str]:
    """What the model sees of a pair."""
    lexicon, relations = english(), _relations()
    p_raw, h_raw = _WORD.findall(premise.lower()), _WORD.findall(hypothesis.lower())
    p_all = [_ALONE.get(w) or _stem(w, lexicon) for w in p_raw]
    h_all = [_ALONE.get(w) or _stem(w, lexicon) for w in h_raw]
    p_set, h_set = set(p_all), set(h_all)
    p_words = [w for w in dict.fromkeys(p_all) if w not in _STOP]
    h_words = [w for w in dict.fromkeys(h_all) if w not in _STOP]
    new = [w for w in h_words if w not in p_set]
    gone = [w for w in p_words if w not in h_set]

    for word in dict.fromkeys(h_raw):
        yield "h " + word
    for left, right in zip(["<", *h_all], [*h_all, ">"], strict=True):
        yield f"b {left} {right}"
    for word in new:
        yield "n " + word
    for word in gone:
        yield "g " + word
    for word in h_words:
        if word in p_set:
            yield "m " + word
    for word in new:
        for other in gone:
            yield f"x {other} {word}"

    # how the new words of the hypothesis stand to the premise
    found: dict[str, int] = {}
    open_words = 0
    for word in new:
        names = {relations[other, word] for other in p_words if (other, word) in relations}
        for name in names:
            found[name] = found.get(name, 0) + 1
        if not names & {"same", "wider"}:
            open_words += 1
    for name, count in found.items():
        yield f"r {name} {min(count, 2)}"
    p_neg = any(w in _NEGATIVE for w in p_raw)
    h_neg = any(w in _NEGATIVE for w in h_raw)
    clash = "c" if found.keys() & {"opposite", "exclusive", "counterpart"} else "-"
    polarity = f"{int(p_neg)}{int(h_neg)}"
    covered = _bucket(open_words / max(len(h_words), 1), (0.0, 0.2, 0.34, 0.5, 0.75))
    yield f"o {covered} {polarity} {clash}"
    yield f"o {covered}"
    yield f"u {min(open_words, 4)} {min(len(h_words), 6)}"
    yield f"u {min(len(new), 5)} {polarity}"
    yield f"w {min(len(gone), 10)} {min(len(new), 3)} {polarity}"
    yield "l " + str(_bucket(len(h_all), (3, 5, 7, 9, 12, 16)))
    pairs = list(pairwise(h_all))
    kept = sum(pair in set(pairwise(p_all)) for pair in pairs)
    yield f"k {_bucket(kept / max(len(pairs), 1), (0.0, 0.2, 0.4, 0.6, 0.8))} {polarity}"
    if p_all == h_all:
        yield "same text"
    h_numbers = {w for w in h_set if w.isdigit()}
    p_numbers = {w for w in p_set if w.isdigit()}
    if h_numbers:
        yield f"d {'in' if h_numbers <= p_numbers else 'other' if p_numbers else 'none'}"
    p_heads = [w for w in p_words if w in lexicon.people or w in lexicon.animals][:1]
    h_heads = [w for w in h_words if w in lexicon.people or w in lexicon.animals][:1]
    if h_heads:
        relation = "none"
        if p_heads:
            relation = "equal" if h_heads[0] in p_set else relations.get((p_heads[0], h_heads[0]), "other")
        yield f"s {relation}"
        yield f"s {relation} {covered} {polarity}"


def hashed(premise: str, hypothesis: str, buckets: int) -> list[int]:
    """Feature numbers of a pair, the same on every machine."""
    return [zlib.crc32(name.encode()) % buckets for name in features(premise, hypothesis)]


class SmallNli:
    """M(premise, hypothesis) → logits in the order of LABELS."""

    name = NAME

    def __init__(self) -> None:
        folder = resources.files("sensecheck.models")
        with folder.joinpath("small_nli.npz").open("rb") as file, np.load(file) as stored:
            self._direct = stored["direct"]
            self._hidden = stored["hidden"]
            self._scales = stored["scales"].astype(np.float32)
            self._output = stored["output"].astype(np.float32)
            self._bias = stored["bias"].astype(np.float32)
            self._hidden_bias = stored["hidden_bias"].astype(np.float32)
            self.card = json.loads(str(stored["card"]))
        self.revision: str = self.card["revision"]

    def logits(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """n × 3, one row a pair."""
        out = np.empty((len(pairs), 3), dtype=np.float32)
        for row, (premise, hypothesis) in enumerate(pairs):
            index = hashed(premise, hypothesis, len(self._direct))
            root = np.float32(1.0 / np.sqrt(max(len(index), 1)))
            direct = self._direct[index].sum(axis=0, dtype=np.float32) * self._scales[0]
            hidden = self._hidden[index].sum(axis=0, dtype=np.float32) * self._scales[1] * root
            out[row] = direct + np.tanh(hidden + self._hidden_bias) @ self._output + self._bias
        return out

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """The best label of each pair, as an index into LABELS."""
        return [int(k) for k in self.logits(pairs).argmax(axis=1)]
