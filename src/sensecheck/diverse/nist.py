"""Sentence NIST (Doddington 2002) of every hypothesis with every group, as nltk computes it.

The information weights come from the group's own references. Sums run over a hypothesis's distinct n-grams in
the order of their first occurrence, left to right, since the best reference of an order is chosen among floats:
another order of addition flips ties and with them the length penalty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from sensecheck.diverse.bleu import (
    by_distinct_ratio,
    hypothesis_by_reference,
    left_to_right,
    pair_group,
    pair_hypothesis,
)
from sensecheck.diverse.ngrams import Floats, Ints, NGramIndex, Tokens, offsets, running_index

_BETA = math.log(0.5) / math.log(1.5) ** 2


def length_penalty(reference_length: int, length: int) -> float:
    """½ when the hypothesis has two thirds of the references' words, 1 when it is as long; reference_length > 0."""
    ratio = length / reference_length
    if 0 < ratio < 1:
        return math.exp(_BETA * math.log(ratio) ** 2)
    return max(min(ratio, 1.0), 0.0)


def nist(index: NGramIndex, order: int = 5) -> tuple[Floats, Ints]:
    """Scores of all (hypothesis, group) pairs, and the lowest order at which each lacks n-grams (0: none).

    An order that a hypothesis is too short for adds nothing (mteval's rule; nltk raises ZeroDivisionError). A
    group without any word scores 0 (nltk raises).
    """
    if order < 1:
        raise ValueError(f"NIST's order must be 1 or more, not {order}")
    hypothesis, reference = hypothesis_by_reference(index)
    groups = pair_group(index)
    sizes = index.references_per_group[groups]
    full = np.flatnonzero(sizes)
    starts = offsets(sizes)[:-1][full]
    group_words = np.bincount(index.reference_group, weights=index.reference_length, minlength=index.n_groups).astype(
        np.int64
    )
    pairs_per_hypothesis = index.references_per_set[index.hypothesis_set]
    first_pair = offsets(pairs_per_hypothesis)[:-1]
    first_reference = offsets(index.references_per_set)[:-1][index.hypothesis_set]
    reference_length = index.reference_length[reference]

    parts: list[Floats] = []
    chosen_length = np.zeros(len(groups), dtype=np.int64)
    for o in range(1, order + 1):
        pair, values = _contributions(index, o, group_words, first_pair, first_reference)
        # bincount adds in the order given, each bin from 0: the left-to-right sum.
        numerator = np.bincount(pair, weights=values, minlength=len(hypothesis))
        denominator = np.maximum(index.hypothesis_length - (o - 1), 0)[hypothesis]
        precision = np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator > 0)
        part = np.zeros(len(groups))
        if len(full):
            # Best reference: highest precision, then numerator, then length.
            best = np.maximum.reduceat(precision, starts)
            within = np.repeat(best, sizes[full]) == precision
            top = np.maximum.reduceat(np.where(within, numerator, -np.inf), starts)
            within &= np.repeat(top, sizes[full]) == numerator
            chosen_length[full] += np.maximum.reduceat(np.where(within, reference_length, -1), starts)
            part[full] = best
        parts.append(part)
    length = index.hypothesis_length[pair_hypothesis(index, "group")]
    has_words = chosen_length > 0
    penalty = np.zeros(len(groups))
    penalty[has_words] = by_distinct_ratio(chosen_length[has_words], order * length[has_words], length_penalty)
    missing = np.where(length < order, length + 1, 0)
    return left_to_right(parts) * penalty, missing


def _contributions(
    index: NGramIndex, order: int, group_words: Ints, first_pair: Ints, first_reference: Ints
) -> tuple[Ints, Floats]:
    """(pair of hypothesis and reference) and (information × clipped count), in first-occurrence order."""
    elements = index.elements(order)
    near = elements.hypothesis_count
    size = len(index.tokens)
    sentence = index.sentence_of[elements.position]
    far_reference = sentence[near:] - index.n_hypotheses
    far_gram = elements.gram[near:]
    if near == 0 or len(far_gram) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    # Postings of the references: gram → (reference, count).
    posting, posting_count = np.unique(far_gram * index.n_references + far_reference, return_counts=True)
    posting_gram, posting_reference = posting // index.n_references, posting % index.n_references
    # Occurrences in a whole group, of the gram and of its prefix.
    in_group, group_count = _group_counts(index, order)
    posting_group = index.reference_group[posting_reference]
    count = group_count[np.searchsorted(in_group, posting_group * size + posting_gram)]
    if order == 1:
        before = group_words[posting_group]
    else:
        shorter = index.elements(order - 1)
        prefix_of = np.empty(size, dtype=np.int64)
        prefix_of[shorter.position] = shorter.gram
        in_group, group_count = _group_counts(index, order - 1)
        before = group_count[np.searchsorted(in_group, posting_group * size + prefix_of[posting_gram])]
    information = by_distinct_ratio(before, count, lambda above, below: math.log(above / below, 2))
    # Distinct grams of each hypothesis, in the order of their first occurrence.
    _, first, own_count = np.unique(
        sentence[:near] * size + elements.gram[:near], return_index=True, return_counts=True
    )
    by_occurrence = np.argsort(first, kind="stable")
    first, own_count = first[by_occurrence], own_count[by_occurrence]
    gram = elements.gram[first]
    low = np.searchsorted(posting_gram, gram, side="left")
    n_postings = np.searchsorted(posting_gram, gram, side="right") - low
    row = np.repeat(low, n_postings) + running_index(n_postings)
    hypothesis = np.repeat(sentence[first], n_postings)
    clipped = np.minimum(np.repeat(own_count, n_postings), posting_count[row])
    pair = first_pair[hypothesis] + posting_reference[row] - first_reference[hypothesis]
    return pair, information[row] * clipped


def _group_counts(index: NGramIndex, order: int) -> tuple[Ints, Ints]:
    elements = index.elements(order)
    sentence = index.sentence_of[elements.position[elements.hypothesis_count :]]
    group = index.reference_group[sentence - index.n_hypotheses]
    keys, counts = np.unique(group * len(index.tokens) + elements.gram[elements.hypothesis_count :], return_counts=True)
    return keys, counts


def nist_of_pair(hypothesis: Tokens, references: Sequence[Tokens], order: int = 5) -> float:
    """nltk's sentence_nist of one hypothesis, raising where it raises: the plain reading of the formula."""
    counts_by_reference = [[_ngrams(reference, o) for o in range(1, order + 1)] for reference in references]
    occurrences: Counter[Tokens] = Counter()
    for per_order in counts_by_reference:
        for grams in per_order:
            occurrences.update(grams)
    words = sum(len(reference) for reference in references)
    total: float = 0
    chosen_length = 0
    for o in range(1, order + 1):
        own_counts = _ngrams(hypothesis, o)
        denominator = sum(own_counts.values())
        candidates = []
        for reference, per_order in zip(references, counts_by_reference, strict=True):
            reference_counts = per_order[o - 1]
            numerator: float = 0
            for gram, times in own_counts.items():
                if gram in reference_counts:
                    above = occurrences[gram[:-1]] if o > 1 else words
                    numerator = numerator + math.log(above / occurrences[gram], 2) * min(times, reference_counts[gram])
            precision = numerator / denominator if denominator else 0
            candidates.append((precision, numerator, len(reference)))
        if not candidates:
            raise ValueError("a group without references cannot be scored by NIST")
        _, numerator, length = max(candidates)
        if not denominator:
            raise ZeroDivisionError(f"NIST of order {order} needs {order} words, the hypothesis has {len(hypothesis)}")
        total = total + numerator / denominator
        chosen_length += length
    if not chosen_length:
        raise ZeroDivisionError("NIST needs a reference with at least one word")
    return total * length_penalty(chosen_length, order * len(hypothesis))


def _ngrams(tokens: Tokens, order: int) -> Counter[Tokens]:
    words = tuple(tokens)
    return Counter(words[i : i + order] for i in range(len(words) - order + 1))
