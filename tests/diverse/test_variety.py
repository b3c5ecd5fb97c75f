"""Every measure against a plain reading of its definition, on random sets, and against peers where one is installed."""

from __future__ import annotations

import gzip
import math
import random
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from sensecheck.diverse import variety
from sensecheck.diverse.bleu import NltkBleu, SentenceBleu, pair_counts
from sensecheck.diverse.ngrams import index_sets, same_key_places

Sentence = list[str]


def random_sets(seed: int, sets: int = 40) -> tuple[list[list[Sentence]], list[list[list[Sentence]]]]:
    rng = random.Random(seed)

    def sentence() -> Sentence:
        return [rng.choice("abcdefgh"[: rng.choice((2, 4, 8))]) for _ in range(rng.choice((0, 1, 2, 3, 6, 12)))]

    hypotheses = [[sentence() for _ in range(rng.randint(0, 9))] for _ in range(sets)]
    references = [
        [[sentence() for _ in range(rng.randint(1, 4))] for _ in range(rng.randint(0, 7))] for _ in range(sets)
    ]
    return hypotheses, references


def grams(sentence: Sentence, order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sentence[i : i + order]) for i in range(len(sentence) - order + 1))


def clipped(hypothesis: Sentence, references: list[Sentence], order: int) -> int:
    highest: Counter[tuple[str, ...]] = Counter()
    for reference in references:
        highest |= grams(reference, order)
    return (grams(hypothesis, order) & highest).total()


def same(found: Any, expected: list[float | None]) -> None:
    assert len(found) == len(expected)
    for i, (got, wanted) in enumerate(zip(found, expected, strict=True)):
        if wanted is None:
            assert math.isnan(got), i
        else:
            assert got == pytest.approx(wanted, rel=1e-12, abs=1e-12), i


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_matches_are_clipped_counts(seed: int, order: int) -> None:
    hypotheses, references = random_sets(seed)
    index = index_sets(hypotheses, references)
    by_group = [clipped(h, g, order) for hs, gs in zip(hypotheses, references, strict=True) for h in hs for g in gs]
    assert index.matches(order).tolist() == by_group
    by_reference = [
        clipped(h, [r], order) for hs, gs in zip(hypotheses, references, strict=True) for h in hs for g in gs for r in g
    ]
    assert index.matches(order, "reference").tolist() == by_reference
    pairs = [(h, other) for hs in hypotheses for h in hs for other in hs]
    assert index.matches(order, "hypothesis").tolist() == [clipped(h, [o], order) for h, o in pairs]
    products = [sum(n * grams(o, order)[g] for g, n in grams(h, order).items()) for h, o in pairs]
    assert index.products(order).tolist() == products


def test_long_sentences_do_not_overflow_their_lanes() -> None:
    long = ["a"] * 70_000
    index = index_sets([[long, ["a", "b"]]], [[[["a"] * 69_000], [["b"]]]])
    assert index.matches(1).tolist() == [69_000, 0, 1, 1]
    assert index.products(1).tolist() == [70_000**2, 70_000, 70_000, 2]


def test_many_columns() -> None:
    references = [[[str(i)]] for i in range(1000)]
    index = index_sets([[[str(i) for i in range(0, 1000, 3)]], [["x"]]], [references, [[["x"]]]])
    assert index.matches(1).tolist() == [int(i % 3 == 0) for i in range(1000)] + [1]


def test_equal_keys_find_their_last_place() -> None:
    rng = np.random.default_rng(0)
    for size in (0, 1, 7, 5000):
        keys = rng.integers(0, max(1, size // 2), size) * rng.choice([1, 2**20, 2**45])
        last = {key: i for i, key in enumerate(keys.tolist())}
        assert same_key_places(keys).tolist() == [last[key] for key in keys.tolist()]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_counts_of_grams(order: int) -> None:
    hypotheses, references = random_sets(7)
    index = index_sets(hypotheses, references)
    distinct, adjusted, entropies, repetition, recall = [], [], [], [], []
    for hs, gs in zip(hypotheses, references, strict=True):
        counts: Counter[Any] = Counter()
        for h in hs:
            counts += grams(h, order)
        total = counts.total()
        distinct.append(len(counts) / total if total else None)
        adjusted.append(len(counts) / (50 * (1 - (49 / 50) ** total)) if total else None)
        entropies.append(-sum(c / total * math.log(c / total) for c in counts.values()) if total else None)
        holders = Counter(g for h in hs for g in set(grams(h, order)))
        again = sum(c for g, c in counts.items() if holders[g] > 1)
        repetition.append(again / total if total and len(hs) > 1 else None)
        wanted: Counter[Any] = Counter()
        for g in gs:
            for r in g:
                wanted |= grams(r, order)
        reached: Counter[Any] = Counter()
        for h in hs:
            reached |= grams(h, order)
        recall.append((wanted & reached).total() / wanted.total() if wanted else None)
    same(variety.distinct(index, order), distinct)
    same(variety.expected_adjusted_distinct(index, order, vocabulary=50), adjusted)
    same(variety.entropy(index, order), entropies)
    same(variety.self_repetition(index, order), repetition)
    same(variety.reference_recall(index, order), recall)


def plain_bleu(hypothesis: Sentence, references: list[Sentence], order: int = 4) -> float:
    """sacrebleu's sentence BLEU with exponential smoothing on effective order, written out."""
    if not hypothesis or not clipped(hypothesis, references, 1):
        return 0.0
    logs = []
    step = 1
    for o in range(1, min(order, len(hypothesis)) + 1):
        matched, total = clipped(hypothesis, references, o), len(hypothesis) - o + 1
        if not matched:
            step *= 2
        logs.append(math.log(matched / total if matched else 1 / (step * total)))
    nearest = min((abs(len(r) - len(hypothesis)), len(r)) for r in references)[1]
    penalty = 1.0 if len(hypothesis) >= nearest else math.exp(1 - nearest / len(hypothesis))
    return penalty * math.exp(sum(logs) / len(logs))


def test_bleu_between_sentences() -> None:
    hypotheses, references = random_sets(11)
    index = index_sets(hypotheses, references)
    bleu = SentenceBleu()
    self_bleu, pairwise, recall, precision = [], [], [], []
    for hs, gs in zip(hypotheses, references, strict=True):
        rs = [r for g in gs for r in g]
        many = len(hs) > 1
        others = [plain_bleu(h, hs[:i] + hs[i + 1 :]) for i, h in enumerate(hs)] if many else []
        self_bleu.append(sum(others) / len(others) if many else None)
        pairs = [plain_bleu(a, [b]) for a, b in permutations(hs, 2)]
        pairwise.append(sum(pairs) / len(pairs) if many else None)
        recall.append(sum(max(plain_bleu(h, [r]) for h in hs) for r in rs) / len(rs) if hs and rs else None)
        precision.append(sum(max(plain_bleu(h, [r]) for r in rs) for h in hs) / len(hs) if hs and rs else None)
    same(variety.self_bleu(index, bleu), self_bleu)
    same(variety.pairwise_bleu(index, bleu), pairwise)
    found = variety.single_reference_scores(index, bleu)
    same(found[0], recall)
    same(found[1], precision)


@pytest.mark.parametrize("smoothing", ["exp", "floor", "add-k", "none"])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_equal_to_sacrebleu(smoothing: str, order: int) -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    peer = sacrebleu.BLEU(
        tokenize="none", effective_order=True, smooth_method=smoothing, max_ngram_order=order, force=True
    )
    hypotheses, references = random_sets(13)
    # A reference of no words is dropped by sacrebleu's own reader only at corpus level; leave those out.
    references = [[[r or ["z"] for r in g] for g in gs] for gs in references]
    index = index_sets(hypotheses, references)
    found = SentenceBleu(order, smoothing)(pair_counts(index, order))
    wanted = [
        peer.sentence_score(" ".join(h), [" ".join(r) for r in g]).score / 100
        for hs, gs in zip(hypotheses, references, strict=True)
        for h in hs
        for g in gs
    ]
    assert found.tolist() == pytest.approx(wanted, rel=1e-12, abs=1e-15)


def test_vendi() -> None:
    same(variety.vendi(np.eye(3).ravel(), np.array([3])), [3.0])
    same(variety.vendi(np.ones(16), np.array([4])), [1.0])
    index = index_sets([[["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"]], [], [["x"], ["x"]], [[], []], [["a"], []]])
    scores = variety.vendi(variety.ngram_kernels(index), index.hypotheses_per_set)
    same(scores, [2.0, None, 1.0, 1.0, 2.0])
    hypotheses, _ = random_sets(17)
    index = index_sets(hypotheses)
    kernels = variety.ngram_kernels(index)
    start = 0
    for hs in hypotheses:
        block = kernels[start : start + len(hs) ** 2].reshape(len(hs), len(hs))
        start += len(hs) ** 2
        assert np.allclose(block, block.T)
        assert np.allclose(np.diag(block), 1.0)
        for i, a in enumerate(hs):
            for j, b in enumerate(hs):
                if len(a) > 1 and len(b) > 1:
                    assert block[i, j] == pytest.approx((cosine(a, b, 1) + cosine(a, b, 2)) / 2)


def cosine(a: Sentence, b: Sentence, order: int) -> float:
    x, y = grams(a, order), grams(b, order)
    dot = sum(n * y[g] for g, n in x.items())
    return dot / math.sqrt(sum(n * n for n in x.values()) * sum(n * n for n in y.values()))


def test_compression() -> None:
    plain, packed = variety.compressed_sizes([["ab ab ab"] * 40, ["é"], []])
    assert plain.tolist() == [40 * 9 - 1, 2, 0]
    assert packed.tolist()[0] == len(gzip.compress(("ab ab ab\n" * 40)[:-1].encode(), 9, mtime=0))
    assert plain[0] / packed[0] > 5
    assert packed[2] == 0


def test_unknown_smoothing_is_refused() -> None:
    with pytest.raises(ValueError, match="not one of exp, floor, add-k, none"):
        SentenceBleu(smoothing="method1")
    with pytest.raises(ValueError, match="not one of method0"):
        NltkBleu("exp")
    with pytest.raises(ValueError, match="1 or more"):
        SentenceBleu(order=0)
