"""The small NLI model that ships with the package: word-pair features, one hidden layer, numpy alone.

It exists so that a first run, the demo and the tests do the real thing without a download. It is no match for a
transformer: its accuracy is on its card (`small_nli.md` beside this file) and is said wherever it is used.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sensecheck.language.rewriting.lexicon import NUMBERS, Lexicon, everyday

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
    noun = lexicon.nouns.get(word)
    if noun is not None:
        return noun
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
    lexicon = everyday()
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


class _Words:
    """The words of one sentence of a pair."""

    __slots__ = ("bases", "content", "distinct", "written")

    def __init__(self, sentence: str, lexicon: Lexicon) -> None:
        self.written: list[str] = _WORD.findall(sentence.lower())
        self.bases = bases = [_ALONE.get(w) or _stem(w, lexicon) for w in self.written]
        self.distinct = set(bases)
        self.content = [w for w in dict.fromkeys(bases) if w not in _STOP]
        """distinct bases in their order, without words that every sentence has"""

    def negated(self) -> bool:
        return any(w in _NEGATIVE for w in self.written)

    def numbers(self) -> set[str]:
        return {w for w in self.distinct if w.isdigit()}

    def subject(self, lexicon: Lexicon) -> str | None:
        """The first word for a person or an animal."""
        return next((w for w in self.content if w in lexicon.people or w in lexicon.animals), None)


@dataclass(slots=True)
class _Coverage:
    """How the words that only the hypothesis has relate to the premise."""

    relation_counts: dict[str, int]
    unrelated: int
    """words for which the premise has neither a synonym nor a narrower word"""


def features(premise: str, hypothesis: str) -> list[str]:
    """What the model sees of a pair."""
    lexicon, relations = everyday(), _relations()
    p, h = _Words(premise, lexicon), _Words(hypothesis, lexicon)
    added = [w for w in h.content if w not in p.distinct]
    dropped = [w for w in p.content if w not in h.distinct]
    coverage = _coverage(p, added, relations)
    clash = "c" if coverage.relation_counts.keys() & {"opposite", "exclusive", "counterpart"} else "-"
    polarity = f"{int(p.negated())}{int(h.negated())}"
    uncovered = _bucket(coverage.unrelated / max(len(h.content), 1), (0.0, 0.2, 0.34, 0.5, 0.75))
    names = _word_features(p, h, added, dropped)
    names += [f"r {relation} {min(count, 2)}" for relation, count in coverage.relation_counts.items()]
    names += (
        f"o {uncovered} {polarity} {clash}",
        f"o {uncovered}",
        f"u {min(coverage.unrelated, 4)} {min(len(h.content), 6)}",
        f"u {min(len(added), 5)} {polarity}",
        f"w {min(len(dropped), 10)} {min(len(added), 3)} {polarity}",
        f"l {_bucket(len(h.bases), (3, 5, 7, 9, 12, 16))}",
        f"k {_bucket(_share_of_neighbours(p, h), (0.0, 0.2, 0.4, 0.6, 0.8))} {polarity}",
    )
    if p.bases == h.bases:
        names.append("same text")
    h_numbers, p_numbers = h.numbers(), p.numbers()
    if h_numbers:
        names.append(f"d {'in' if h_numbers <= p_numbers else 'other' if p_numbers else 'none'}")
    subjects = _relation_of_subjects(p, h, lexicon, relations)
    if subjects is not None:
        names += (f"s {subjects}", f"s {subjects} {uncovered} {polarity}")
    return names


def _word_features(p: _Words, h: _Words, added: list[str], dropped: list[str]) -> list[str]:
    """The words themselves: of the hypothesis, with their neighbours, and those that only one sentence has."""
    return [
        *["h " + word for word in dict.fromkeys(h.written)],
        *[f"b {left} {right}" for left, right in zip(["<", *h.bases], [*h.bases, ">"], strict=True)],
        *["n " + word for word in added],
        *["g " + word for word in dropped],
        *["m " + word for word in h.content if word in p.distinct],
        *[f"x {other} {word}" for word in added for other in dropped],
    ]


def _coverage(p: _Words, added: list[str], relations: dict[tuple[str, str], str]) -> _Coverage:
    relation_counts: dict[str, int] = {}
    unrelated = 0
    for word in added:
        names = {relations[other, word] for other in p.content if (other, word) in relations}
        for name in names:
            relation_counts[name] = relation_counts.get(name, 0) + 1
        if not names & {"same", "wider"}:
            unrelated += 1
    return _Coverage(relation_counts, unrelated)


def _share_of_neighbours(p: _Words, h: _Words) -> float:
    """Of the hypothesis' pairs of neighbouring words, those that are neighbours in the premise too."""
    pairs, premise_pairs = list(pairwise(h.bases)), set(pairwise(p.bases))
    return sum(pair in premise_pairs for pair in pairs) / max(len(pairs), 1)


def _relation_of_subjects(p: _Words, h: _Words, lexicon: Lexicon, relations: dict[tuple[str, str], str]) -> str | None:
    """How whom the hypothesis is about relates to whom the premise is about; None if it is about nobody."""
    p_subject, h_subject = p.subject(lexicon), h.subject(lexicon)
    if h_subject is None:
        return None
    if p_subject is None:
        return "none"
    return "equal" if h_subject in p.distinct else relations.get((p_subject, h_subject), "other")


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
        logits = np.empty((len(pairs), 3), dtype=np.float32)
        for row, (premise, hypothesis) in enumerate(pairs):
            feature_ids = hashed(premise, hypothesis, len(self._direct))
            scale = np.float32(1.0 / np.sqrt(max(len(feature_ids), 1)))
            direct = self._direct[feature_ids].sum(axis=0, dtype=np.float32) * self._scales[0]
            hidden = self._hidden[feature_ids].sum(axis=0, dtype=np.float32) * self._scales[1] * scale
            logits[row] = direct + np.tanh(hidden + self._hidden_bias) @ self._output + self._bias
        return logits

    def predict(self, pairs: Sequence[tuple[str, str]]) -> list[int]:
        """The best label of each pair, as an index into LABELS."""
        return [int(k) for k in self.logits(pairs).argmax(axis=1)]
