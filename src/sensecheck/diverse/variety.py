"""How varied the hypotheses of each set are, and how much of the references they reach: one column a measure.

Every function takes the n-gram index of a batch and returns one number per set, NaN where the set cannot have
one (a single hypothesis has no pairs). The papers are named in docs/diverse.md.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence

import numpy as np

from sensecheck.diverse.bleu import PairCounts, SentenceBleu, hypothesis_by_reference, pair_counts
from sensecheck.diverse.ngrams import Floats, Ints, NGramIndex, offsets, running_index, segment_sums

EAD_VOCABULARY = 30_522
"""Words that could have been chosen, for EAD: the size of BERT's vocabulary, as in Liu et al. (2022)."""


def _quotient(above: Floats | Ints, below: Floats | Ints) -> Floats:
    above, below = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    quotient: Floats = np.divide(above, below, out=np.full(len(above), np.nan), where=below != 0)
    return quotient


def gram_totals(index: NGramIndex, order: int) -> tuple[Ints, Ints]:
    """Per set: distinct n-grams of the hypotheses, and all of them."""
    _, sets = _gram_counts(index, order)
    totals = np.bincount(index.hypothesis_set, weights=index.hypothesis_totals(order), minlength=index.n_sets)
    return np.bincount(sets, minlength=index.n_sets), totals.astype(np.int64)


def _gram_counts(index: NGramIndex, order: int) -> tuple[Ints, Ints]:
    """How often each distinct n-gram occurs among the hypotheses of its set, and the set."""
    elements = index.elements(order)
    counts = np.bincount(elements.gram[: elements.hypothesis_count], minlength=len(index.tokens))
    grams = np.flatnonzero(counts)
    return counts[grams], index.token_set[grams]


def distinct(index: NGramIndex, order: int) -> Floats:
    """Distinct n-grams per n-gram (Li et al. 2016, within one set)."""
    return _quotient(*gram_totals(index, order))


def expected_adjusted_distinct(index: NGramIndex, order: int, vocabulary: int = EAD_VOCABULARY) -> Floats:
    """Distinct n-grams per expected distinct ones, were as many drawn evenly from the vocabulary."""
    types, totals = gram_totals(index, order)
    expected = -vocabulary * np.expm1(totals * np.log1p(-1 / vocabulary))
    return _quotient(types, expected)


def entropy(index: NGramIndex, order: int) -> Floats:
    """Entropy, in nats, of the set's n-gram frequencies (Ent-n)."""
    counts, sets = _gram_counts(index, order)
    totals = np.bincount(sets, weights=counts, minlength=index.n_sets)
    weighted = np.bincount(sets, weights=counts * np.log(counts), minlength=index.n_sets)
    with np.errstate(divide="ignore", invalid="ignore"):
        entropies: Floats = np.where(totals > 0, np.log(totals) - weighted / totals, np.nan)
    return np.maximum(entropies, 0.0)


def self_repetition(index: NGramIndex, order: int = 4) -> Floats:
    """Share of the hypotheses' n-grams that another hypothesis of the set has too."""
    elements = index.elements(order)
    gram = elements.gram[: elements.hypothesis_count]
    first = elements.element[: elements.hypothesis_count] == gram  # one per hypothesis and n-gram
    holders = np.bincount(gram[first], minlength=len(index.tokens))
    sets = index.token_set[elements.position[: elements.hypothesis_count]]
    shared = np.bincount(sets, weights=holders[gram] > 1, minlength=index.n_sets)
    share = _quotient(shared, np.bincount(sets, minlength=index.n_sets))
    share[index.hypotheses_per_set < 2] = np.nan
    return share


def _mean_of_sets(values: Floats, sets: Ints, n_sets: int) -> Floats:
    return _quotient(np.bincount(sets, weights=values, minlength=n_sets), np.bincount(sets, minlength=n_sets))


def nearest_other_length(index: NGramIndex) -> Ints:
    """For each hypothesis the length nearest to its own among the others of its set (0 if it is alone)."""
    by_length = np.lexsort((index.hypothesis_length, index.hypothesis_set))
    length, sets = index.hypothesis_length[by_length], index.hypothesis_set[by_length]
    far = np.iinfo(np.int64).max
    same = np.zeros(len(length) + 1, dtype=bool)
    if len(length):
        same[1:-1] = sets[1:] == sets[:-1]
    before = np.where(same[:-1], length - np.roll(length, 1), far)
    after = np.where(same[1:], np.roll(length, -1) - length, far)
    nearest = np.where(before <= after, length - before, length + after)
    nearest[(before == far) & (after == far)] = 0
    by_hypothesis = np.empty_like(nearest)
    by_hypothesis[by_length] = nearest
    return by_hypothesis


def self_bleu(index: NGramIndex, bleu: SentenceBleu) -> Floats:
    """Mean BLEU of each hypothesis against all others of its set (Zhu et al. 2018).

    A hypothesis's element is matched when a second hypothesis has it, so no pair is ever looked at.
    """
    matches = []
    for order in range(1, bleu.order + 1):
        elements = index.elements(order)
        low, high = elements.repetitions
        element = elements.element[: elements.hypothesis_count] + low
        holders = np.bincount(element, minlength=low + len(index.tokens) + high)
        totals = index.hypothesis_totals(order)
        matches.append(segment_sums((holders[element] > 1).astype(np.int64), offsets(totals)[:-1], totals))
    scores = bleu(PairCounts(tuple(matches), index.hypothesis_length, nearest_other_length(index)))
    means = _mean_of_sets(scores, index.hypothesis_set, index.n_sets)
    means[index.hypotheses_per_set < 2] = np.nan
    return means


def pairwise_bleu(index: NGramIndex, bleu: SentenceBleu) -> Floats:
    """Mean BLEU over ordered pairs of different hypotheses of a set (Shen et al. 2019)."""
    scores = bleu(pair_counts(index, bleu.order, "hypothesis"))
    width = index.hypotheses_per_set[index.hypothesis_set]
    scores[offsets(width)[:-1] + running_index(index.hypotheses_per_set)] = 0.0  # a hypothesis with itself
    sums = np.bincount(np.repeat(index.hypothesis_set, width), weights=scores, minlength=index.n_sets)
    return _quotient(sums, index.hypotheses_per_set * (index.hypotheses_per_set - 1))


def reference_recall(index: NGramIndex, order: int) -> Floats:
    """Share of the references' n-grams (the highest count in one reference) that some hypothesis has."""
    elements = index.elements(order)
    first = index.first_reference_token
    repetitions = elements.repetitions[1]
    rows = len(index.tokens) - first + repetitions
    hypothesis_elements = elements.element[: elements.hypothesis_count] - first
    reference_elements = elements.element[elements.hypothesis_count :] - first
    reached = np.zeros(rows, dtype=bool)
    reached[hypothesis_elements[hypothesis_elements >= 0]] = True
    in_references = np.zeros(rows, dtype=bool)
    in_references[reference_elements] = True
    owner = np.zeros(rows, dtype=np.int64)
    owner[reference_elements] = index.token_set[elements.position[elements.hypothesis_count :]]
    distinct_elements = np.flatnonzero(in_references)
    totals = np.bincount(owner[distinct_elements], minlength=index.n_sets)
    return _quotient(
        np.bincount(owner[distinct_elements], weights=reached[distinct_elements], minlength=index.n_sets), totals
    )


def single_reference_scores(index: NGramIndex, bleu: SentenceBleu) -> tuple[Floats, Floats]:
    """Multi-reference recall and precision (Gupta et al. 2019): the best hypothesis of each reference, and back."""
    scores = bleu(pair_counts(index, bleu.order, "reference"))
    hypothesis, reference = hypothesis_by_reference(index)
    best_hypothesis = np.full(index.n_references, -1.0)
    np.maximum.at(best_hypothesis, reference, scores)
    best_reference = np.full(index.n_hypotheses, -1.0)
    np.maximum.at(best_reference, hypothesis, scores)
    recall = _mean_of_sets(best_hypothesis, index.reference_set, index.n_sets)
    precision = _mean_of_sets(best_reference, index.hypothesis_set, index.n_sets)
    neither = (index.hypotheses_per_set == 0) | (index.references_per_set == 0)
    recall[neither] = precision[neither] = np.nan
    return recall, precision


def ngram_kernels(index: NGramIndex, orders: Sequence[int] = (1, 2)) -> Floats:
    """Similarity of every two hypotheses of a set, flat: the mean over orders of the cosine of n-gram counts.

    Where one of the two is too short for an order, the order below it stands in, so that equal hypotheses have
    similarity 1 at any length; two empty ones are equal.
    """
    width = index.hypotheses_per_set[index.hypothesis_set]
    one = np.repeat(np.arange(index.n_hypotheses), width)
    first = offsets(index.hypotheses_per_set)[:-1][index.hypothesis_set]
    other = np.repeat(first, width) + running_index(width)
    length = index.hypothesis_length
    previous = ((length[one] == 0) & (length[other] == 0)).astype(np.float64)
    kernel = np.zeros(len(one))
    for order in range(1, max(orders) + 1):
        products = index.products(order).astype(np.float64)
        norm = np.sqrt(products[offsets(width)[:-1] + running_index(index.hypotheses_per_set)])
        scale = norm[one] * norm[other]
        previous = np.divide(products, scale, out=previous.copy(), where=scale > 0)
        if order in orders:
            kernel += previous
    return kernel / len(orders)


def vendi(kernel: Floats, sizes: Ints) -> Floats:
    """Effective number of different items in each set (Friedman and Dieng 2023), from its similarity matrix.

    `kernel` holds the sets' square matrices end to end; sets of one size are solved together.
    """
    starts = offsets(sizes * sizes)[:-1]
    scores = np.full(len(sizes), np.nan)
    for size in np.unique(sizes[sizes > 0]).tolist():
        rows = np.flatnonzero(sizes == size)
        for chunk in np.array_split(rows, max(1, len(rows) * size * size // 4_000_000)):
            matrices = kernel[starts[chunk][:, None] + np.arange(size * size)].reshape(len(chunk), size, size)
            values = np.clip(np.linalg.eigvalsh(matrices / size), 0.0, None)
            logs = np.log(values, out=np.zeros_like(values), where=values > 0)
            scores[chunk] = np.exp(-(values * logs).sum(axis=1))
    return scores


def compressed_sizes(sets: Iterable[Sequence[str]]) -> tuple[Ints, Ints]:
    """Bytes of each set's hypotheses as text, one a line, plain and gzipped."""
    plain_sizes, packed_sizes = [], []
    for texts in sets:
        data = "\n".join(texts).encode("utf-8", "surrogatepass")
        plain_sizes.append(len(data))
        packed_sizes.append(len(gzip.compress(data, compresslevel=9, mtime=0)) if data else 0)
    return np.array(plain_sizes, dtype=np.int64), np.array(packed_sizes, dtype=np.int64)
