"""LSDSCC's metrics to the letter (Xu et al. 2018; neural-dialogue-metrics/LSDSCC 0.3.6), quirks included.

Scores, alignments and means equal the original's bit for bit as it runs on Python up to 3.11, whose built-in
`sum` adds floats left to right, and do so on every Python. What a user would rather have is in `measure`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sensecheck.diverse.bleu import (
    NltkBleu,
    by_distinct_ratio,
    combine_like_nltk,
    exact_exp,
    left_to_right,
    nltk_brevity_penalty,
    pair_counts,
    smooth_like_nltk,
)
from sensecheck.diverse.groups import EOS, ordered_keys
from sensecheck.diverse.ngrams import Floats, Ints, NGramIndex, Tokens, index_sets, offsets
from sensecheck.diverse.nist import nist, nist_of_pair

Aligner = Callable[[Tokens, Sequence[Tokens]], float]


class LSDSCCScore(NamedTuple):
    mds: float
    pds: float
    max_bleu: float


# -- data ------------------------------------------------------------------------------------------------------


class HypothesisSet:
    """The hypotheses of one query, each a list of words."""

    def __init__(self, sentences: Sequence[Tokens]) -> None:
        self._sentences = sentences

    def __iter__(self) -> Iterator[Tokens]:
        return iter(self._sentences)

    def __len__(self) -> int:
        return len(self._sentences)

    def __getitem__(self, item: Any) -> Any:
        return self._sentences[item]

    def __str__(self) -> str:
        return "\n".join(f"{i}: {sentence!r}" for i, sentence in enumerate(self._sentences))

    def __repr__(self) -> str:
        return f"<HypothesisSet with {len(self)} hypotheses>"

    @classmethod
    def from_line(cls, line: str, eos: str | None = None) -> HypothesisSet:
        """Cut at every occurrence of eos, inside words too; no piece is dropped, so an empty one is a hypothesis."""
        return cls([piece.split() for piece in line.split(EOS if eos is None else eos)])

    @classmethod
    def load_corpus(cls, filename: str | Path, eos: str | None = None) -> list[HypothesisSet]:
        """One set a line, in the locale's encoding."""
        with Path(filename).open() as lines:
            return [cls.from_line(line, eos) for line in lines]


class ReferenceSet:
    """The references of one query in groups of the same meaning, each reference a list of words."""

    def __init__(self, groups: Sequence[Sequence[Tokens]], query: str | None = None) -> None:
        self._groups = groups
        self.query = query

    def __iter__(self) -> Iterator[Sequence[Tokens]]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, item: Any) -> Any:
        return self._groups[item]

    @property
    def n_references(self) -> int:
        return sum(len(group) for group in self._groups)

    def __str__(self) -> str:
        lines = [f"query: {self.query}"]
        for i, group in enumerate(self._groups):
            lines.append(f"group-{i}:")
            lines.extend(f"    {j}: {reference!r}" for j, reference in enumerate(group))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<ReferenceSet with {len(self)} groups, {self.n_references} references>"

    @classmethod
    def from_json(cls, json_dict: dict[str, list[str]], query: str | None = None) -> ReferenceSet:
        groups = [json_dict[key] for key in ordered_keys(json_dict)]
        return cls([[reference.split() for reference in group] for group in groups], query)

    @classmethod
    def load_json_corpus(cls, filename: str | Path | None = None) -> list[ReferenceSet]:
        """{query: {group: [reference, ...]}}, sets in the order of the queries."""
        if filename is None:
            raise FileNotFoundError(
                "the LSDSCC test references are not shipped with sensecheck: pass a file. They are test.group.json "
                "of the LSDSCC release (https://github.com/neural-dialogue-metrics/LSDSCC)"
            )
        with Path(filename).open() as source:
            corpus = json.load(source)
        return [cls.from_json(groups, query) for query, groups in corpus.items()]


# -- aligners --------------------------------------------------------------------------------------------------


class BleuAligner:
    """Geometric mean of (matches + 1) / (n-grams + 1) over orders 1..n: no brevity penalty, 1.0 for no words."""

    def __init__(self, n: int | None = None) -> None:
        self.n = n or 4

    def __call__(self, hypothesis: Tokens, references: Sequence[Tokens]) -> float:
        if not len(references):
            raise ValueError("a group without references cannot be scored")
        length = len(hypothesis)
        total: float = 0
        for order in range(1, self.n + 1):
            matched = clipped_matches(hypothesis, references, order)
            precision = (matched + 1.0) / (max(0, length - order + 1) + 1.0)
            total = total + (1.0 / self.n) * math.log(precision)
        return math.exp(total)

    def of_index(self, index: NGramIndex) -> Floats:
        """The same score of every (hypothesis, group) of a batch."""
        counts = pair_counts(index, self.n, lengths=False)
        terms = [
            (1.0 / self.n)
            * by_distinct_ratio(counts.matches[o - 1], counts.totals(o), lambda m, t: math.log((m + 1.0) / (t + 1.0)))
            for o in range(1, self.n + 1)
        ]
        return exact_exp(left_to_right(terms))


class NLTKBleuAligner:
    """nltk's sentence_bleu. `smooth_function` is any of nltk's smoothing functions, or the name of one ("method1")."""

    def __init__(self, smooth_function: Callable[..., Any] | str | None = None) -> None:
        self.smooth_function = smooth_function

    def __call__(self, hypothesis: Tokens, references: Sequence[Tokens]) -> float:
        length = len(hypothesis)
        if not len(references):
            # nltk looks a word up among no references, or takes the least of no lengths.
            if length:
                raise KeyError(tuple(hypothesis[:1]))
            raise ValueError("a group without references cannot be scored")
        matches = [clipped_matches(hypothesis, references, order) for order in range(1, 6)]
        totals = [max(0, length - order + 1) for order in range(1, 6)]
        if matches[0] == 0:
            return 0
        nearest = min((abs(len(reference) - length), len(reference)) for reference in references)[1]
        penalty = nltk_brevity_penalty(nearest, length)
        smooth = self.smooth_function or "method0"
        precisions: list[Any]
        if isinstance(smooth, str):
            orders = 5 if smooth in ("method5", "method7") else 4
            precisions = list(smooth_like_nltk(smooth, matches[:orders], totals[:orders], length))
        else:
            exact = [_unreduced(m, max(1, t)) for m, t in zip(matches[:4], totals[:4], strict=True)]
            precisions = smooth(exact, references=references, hypothesis=hypothesis, hyp_len=length)
        return combine_like_nltk(precisions, penalty, (0.25, 0.25, 0.25, 0.25))

    def of_index(self, index: NGramIndex) -> Floats | None:
        """The same score of every pair of a batch, or None where only the plain call can tell."""
        if not (self.smooth_function is None or isinstance(self.smooth_function, str)):
            return None
        score = NltkBleu(self.smooth_function or "method0")
        values = score(pair_counts(index, score.order))
        return None if np.isnan(values).any() else values


class NLTKNistAligner:
    """nltk's sentence_nist: raises ZeroDivisionError for a hypothesis of fewer than n words."""

    def __init__(self, n: int = 5) -> None:
        self.n = n

    def __call__(self, hypothesis: Tokens, references: Sequence[Tokens]) -> float:
        return nist_of_pair(hypothesis, references, self.n)

    def of_index(self, index: NGramIndex) -> Floats | None:
        if (index.hypothesis_length < self.n).any():
            return None
        words = np.bincount(index.reference_group, weights=index.reference_length, minlength=index.n_groups)
        return None if (words == 0).any() else nist(index, self.n)[0]


class _Unreduced(Fraction):
    """A fraction that keeps its terms: nltk's smoothing functions read numerator and denominator as counts."""

    __slots__ = ()


def _unreduced(numerator: int, denominator: int) -> Fraction:
    fraction = object.__new__(_Unreduced)
    # Fraction's own slots; its constructor would reduce 2/4 to 1/2.
    object.__setattr__(fraction, "_numerator", numerator)
    object.__setattr__(fraction, "_denominator", denominator)
    return fraction


def clipped_matches(hypothesis: Tokens, references: Sequence[Tokens], order: int) -> int:
    """Σ over distinct n-grams of min(count in the hypothesis, highest count in one reference)."""
    own_counts = _ngram_counts(hypothesis, order)
    highest: Counter[Any] = Counter()
    for reference in references:
        highest |= _ngram_counts(reference, order)
    return sum(min(times, highest[gram]) for gram, times in own_counts.items())


def _ngram_counts(tokens: Tokens, order: int) -> Counter[Any]:
    words = tuple(tokens)
    return Counter(words[i : i + order] for i in range(len(words) - order + 1))


# -- scores ----------------------------------------------------------------------------------------------------


def compute_score_on_hypothesis_set(
    hypothesis_set: Iterable[Tokens], reference_set: Any, aligner: Aligner | None = None
) -> LSDSCCScore:
    """MDS, PDS and MaxBLEU of one query."""
    return _score_with_alignment(hypothesis_set, reference_set, aligner)[0]


def _score_with_alignment(
    hypothesis_set: Iterable[Tokens], reference_set: Any, aligner: Aligner | None
) -> tuple[LSDSCCScore, list[int], list[list[float]]]:
    align = aligner or BleuAligner()
    matrix = [[align(hypothesis, group) for group in reference_set] for hypothesis in hypothesis_set]
    alignment = [int(np.argmax(row)) for row in matrix]
    best = [row[k] for row, k in zip(matrix, alignment, strict=True)]
    covered = set(alignment)
    mds = len(covered) / len(reference_set)
    total = sum(len(group) for group in reference_set)
    pds = sum(len(reference_set[k]) for k in covered) / total
    mean: Any = np.mean(best)
    return LSDSCCScore(mds, pds, mean), alignment, matrix


def compute_score_on_corpus(
    hypothesis_corpus: Sequence[Any], reference_corpus: Sequence[Any], aligner: Aligner | None = None
) -> LSDSCCScore:
    """Unweighted means over sets, which are matched by position."""
    assert len(hypothesis_corpus) == len(reference_corpus)
    table = score_table(hypothesis_corpus, reference_corpus, aligner)
    if table is not None:
        return LSDSCCScore(*np.mean(np.stack([table.mds, table.pds, table.max_bleu], axis=1), axis=0))
    scores = [
        compute_score_on_hypothesis_set(hypotheses, references, aligner)
        for hypotheses, references in zip(hypothesis_corpus, reference_corpus, strict=True)
    ]
    return LSDSCCScore(*np.mean(scores, axis=0))


@dataclass(frozen=True)
class ScoreTable:
    """The scores of all sets of a batch, and what they were made from."""

    mds: Floats
    pds: Floats
    max_bleu: Floats
    alignment: Ints  # per hypothesis, the number of its group within the set
    best: Floats  # per hypothesis
    matrix: Floats  # per (hypothesis, group), flat
    index: NGramIndex


def score_table(
    hypothesis_corpus: Sequence[Any], reference_corpus: Sequence[Any], aligner: Aligner | None = None
) -> ScoreTable | None:
    """All sets at once on one n-gram index; None where an aligner or a set needs the plain loop (or raises in it)."""
    align: Any = aligner or BleuAligner()
    if type(align) not in (BleuAligner, NLTKBleuAligner, NLTKNistAligner) or not len(hypothesis_corpus):
        return None
    index = index_sets(hypothesis_corpus, reference_corpus)
    if (
        (index.hypotheses_per_set == 0).any()
        or (index.groups_per_set == 0).any()
        or (index.references_per_group == 0).any()
    ):
        return None
    matrix = align.of_index(index)
    if matrix is None:
        return None
    alignment, best = first_best(matrix, index.groups_per_set[index.hypothesis_set])
    group = offsets(index.groups_per_set)[:-1][index.hypothesis_set] + alignment
    covered = np.zeros(index.n_groups, dtype=bool)
    covered[group] = True
    covered_groups = np.bincount(index.group_set, weights=covered, minlength=index.n_sets)
    covered_references = np.bincount(
        index.group_set, weights=covered * index.references_per_group, minlength=index.n_sets
    )
    return ScoreTable(
        mds=covered_groups / index.groups_per_set,
        pds=covered_references / index.references_per_set,
        max_bleu=set_means(best, index.hypotheses_per_set),
        alignment=alignment,
        best=best,
        matrix=matrix,
        index=index,
    )


def first_best(matrix: Floats, width: Ints) -> tuple[Ints, Floats]:
    """Per row of a ragged matrix (every width > 0) the first column that holds the maximum, and the maximum."""
    starts = offsets(width)[:-1]
    best = np.maximum.reduceat(matrix, starts)
    at_best = np.flatnonzero(matrix == np.repeat(best, width))
    row = np.repeat(np.arange(len(width)), width)[at_best]
    first = np.ones(len(row), dtype=bool)
    first[1:] = row[1:] != row[:-1]
    return at_best[first] - starts, best


def set_means(values: NDArray[np.float64], sizes: Ints) -> Floats:
    """np.mean of each set's values: numpy adds eight or more pairwise, so sets of one size are stacked as rows."""
    starts = offsets(sizes)[:-1]
    means = np.empty(len(sizes))
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        means[rows] = values[starts[rows][:, None] + np.arange(size)].mean(axis=1)
    return means
