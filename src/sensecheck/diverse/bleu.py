"""Sentence BLEU of every hypothesis with every column of its set, from the counts of one n-gram index.

Three families, each with the float operations of its origin in the same sequence, so that equal counts give
equal bits: sacrebleu's (`exp`, `floor`, `add-k`, `none`, on effective order: this room's default), nltk's
(`method0` ... `method7` of Chen and Cherry 2014), and LSDSCC's, which lives in `original`.
Logarithms and exponentials are libm's (`math`), taken once per distinct argument: numpy's differ in the last bit.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sensecheck.diverse.ngrams import Columns, Floats, Ints, NGramIndex, offsets, running_index

NLTK_METHODS = tuple(f"method{i}" for i in range(8))
SACREBLEU_METHODS = ("exp", "floor", "add-k", "none")
_LARGE_TABLE = 1 << 20


def exact_exp(values: Floats) -> Floats:
    """math.exp of each value."""
    return np.fromiter(map(math.exp, values.tolist()), dtype=np.float64, count=len(values))


def by_distinct_ratio(numerator: Ints, denominator: Ints, function: Callable[[int, int], float]) -> Floats:
    """function(numerator, denominator) for each pair of counts, called once per distinct pair."""
    if len(numerator) == 0:
        return np.zeros(0)
    stride = int(denominator.max()) + 1
    keys = numerator * stride + denominator
    size = int(keys.max()) + 1
    if size <= max(_LARGE_TABLE, 4 * len(keys)):
        used = np.zeros(size, dtype=bool)
        used[keys] = True
        distinct = np.flatnonzero(used)
        table = np.zeros(size)
        table[distinct] = [function(key // stride, key % stride) for key in distinct.tolist()]
        looked_up: Floats = table[keys]
        return looked_up
    distinct, inverse = np.unique(keys, return_inverse=True)
    values = np.array([function(key // stride, key % stride) for key in distinct.tolist()])
    return values[inverse]


def left_to_right(columns: Sequence[Floats]) -> Floats:
    """Column after column added to 0, as a plain loop adds (the built-in sum compensates since Python 3.12)."""
    total = np.zeros(len(columns[0]))
    for column in columns:
        total = total + column
    return total


def pair_hypothesis(index: NGramIndex, columns: Columns) -> Ints:
    """The hypothesis of each pair."""
    width = index.columns_per_set(columns)[index.hypothesis_set]
    return np.repeat(np.arange(index.n_hypotheses), width)


def pair_group(index: NGramIndex) -> Ints:
    """The group, numbered within the batch, of each (hypothesis, group) pair."""
    width = index.groups_per_set[index.hypothesis_set]
    first = offsets(index.groups_per_set)[:-1][index.hypothesis_set]
    return np.repeat(first, width) + running_index(width)


def hypothesis_by_reference(index: NGramIndex) -> tuple[Ints, Ints]:
    """Every (hypothesis, reference of its set): the two numbers within the batch."""
    width = index.references_per_set[index.hypothesis_set]
    first = offsets(index.references_per_set)[:-1][index.hypothesis_set]
    return np.repeat(np.arange(index.n_hypotheses), width), np.repeat(first, width) + running_index(width)


def closest_length(index: NGramIndex, columns: Columns) -> Ints:
    """For each pair the length of the column's sentence nearest to the hypothesis's; of two as near, the shorter."""
    if columns == "reference":
        single: Ints = index.reference_length[hypothesis_by_reference(index)[1]]
        return single
    if columns == "hypothesis":
        width = index.hypotheses_per_set[index.hypothesis_set]
        first = offsets(index.hypotheses_per_set)[:-1][index.hypothesis_set]
        other: Ints = index.hypothesis_length[np.repeat(first, width) + running_index(width)]
        return other
    hypothesis, reference = hypothesis_by_reference(index)
    length = index.reference_length[reference]
    stride = int(length.max(initial=0)) + 1
    rank = np.abs(length - index.hypothesis_length[hypothesis]) * stride + length
    sizes = index.references_per_group[pair_group(index)]
    full = np.flatnonzero(sizes)
    nearest = np.zeros(len(sizes), dtype=np.int64)
    if len(full):
        nearest[full] = np.minimum.reduceat(rank, offsets(sizes)[:-1][full]) % stride
    return nearest


@dataclass(frozen=True)
class PairCounts:
    """What any BLEU of a pair is a function of."""

    matches: tuple[Ints, ...]  # per order
    length: Ints  # of the hypothesis
    reference_length: Ints  # the nearest; zeros when no brevity penalty is asked for

    def totals(self, order: int) -> Ints:
        return np.maximum(self.length - (order - 1), 0)


def pair_counts(index: NGramIndex, order: int, columns: Columns = "group", *, lengths: bool = True) -> PairCounts:
    length = index.hypothesis_length[pair_hypothesis(index, columns)]
    nearest = closest_length(index, columns) if lengths else np.zeros_like(length)
    return PairCounts(tuple(index.matches(o, columns) for o in range(1, order + 1)), length, nearest)


@dataclass(frozen=True)
class SentenceBleu:
    """sacrebleu's sentence BLEU on effective order, between 0 and 1.

    An order that the hypothesis is too short for is left out; an order without a match is smoothed; without any
    match the score is 0, and an empty hypothesis scores 0.
    """

    order: int = 4
    smoothing: str = "exp"
    value: float | None = None  # what `floor` (0.1) and `add-k` (1) add
    brevity_penalty: bool = True

    def __post_init__(self) -> None:
        if self.order < 1:
            raise ValueError(f"BLEU's order must be 1 or more, not {self.order}")
        if self.smoothing not in SACREBLEU_METHODS:
            raise ValueError(f"smoothing {self.smoothing!r} is not one of {', '.join(SACREBLEU_METHODS)}")

    @property
    def signature(self) -> str:
        added = f"[{self._added:g}]" if self.smoothing in ("floor", "add-k") else ""
        penalty = "yes" if self.brevity_penalty else "no"
        return f"bleu:{self.order},smooth:{self.smoothing}{added},eff:yes,bp:{penalty}"

    @property
    def _added(self) -> float:
        return self.value if self.value is not None else {"floor": 0.1, "add-k": 1.0}.get(self.smoothing, 0.0)

    def __call__(self, counts: PairCounts) -> Floats:
        added = self._added
        halvings = np.zeros(len(counts.length), dtype=np.int64)
        logs = np.zeros(len(counts.length))
        zero = counts.matches[0] == 0 if len(counts.matches) else np.ones(len(counts.length), dtype=bool)
        effective = np.minimum(counts.length, self.order)
        if self.smoothing == "add-k":  # the added count makes every order present
            effective = np.where(counts.length > 0, self.order, 0)
        for o, matched in enumerate(counts.matches, start=1):
            total = counts.totals(o)
            present = effective >= o
            missing = (matched == 0) & present
            if self.smoothing == "add-k" and o > 1:
                logs[present] += by_distinct_ratio(
                    matched[present], total[present], lambda m, t: math.log((m + added) / (t + added))
                )
                continue
            has_match = present & ~missing
            logs[has_match] += by_distinct_ratio(matched[has_match], total[has_match], lambda m, t: math.log(m / t))
            if self.smoothing == "exp":
                halvings[missing] += 1
                logs[missing] += by_distinct_ratio(
                    halvings[missing], total[missing], lambda h, t: math.log(1.0 / (2.0**h * t))
                )
            elif self.smoothing == "floor":
                logs[missing] += by_distinct_ratio(
                    matched[missing], total[missing], lambda m, t: math.log(added / t) if added > 0 else -math.inf
                )
            else:
                zero = zero | missing
        score = exact_exp(np.where(zero, 0.0, logs / np.maximum(effective, 1)))
        if self.brevity_penalty:
            short = counts.length < counts.reference_length
            penalty = np.ones(len(score))
            penalty[short] = by_distinct_ratio(
                counts.reference_length[short],
                counts.length[short],
                lambda r, c: math.exp(1 - r / c) if c else 0.0,
            )
            score = score * penalty
        score[zero | (counts.length == 0)] = 0.0
        return score


# -- nltk ------------------------------------------------------------------------------------------------------

Precision = Fraction | float


class SmoothingError(AssertionError):
    """A smoothing method that cannot serve these counts (nltk's method6 without a matched trigram)."""


@dataclass(frozen=True)
class NltkConstants:
    """What nltk's smoothings take besides counts: `method1` epsilon, `method6` alpha, `method4` and `method7` k."""

    epsilon: float = 0.1
    alpha: float = 5
    k: float = 5


_USUAL = NltkConstants()


def smooth_like_nltk(
    method: str, matches: Sequence[int], totals: Sequence[int], length: int, constants: NltkConstants = _USUAL
) -> list[Precision]:
    """Chen and Cherry's seven smoothings as nltk takes them.

    `matches` and `totals` are counts per order; `method5` and `method7` need those of order 5 at the end as well,
    whatever the number of orders scored.
    """
    orders = len(matches) - (method in ("method5", "method7"))
    bottoms = [max(1, total) for total in totals]
    exact: list[Precision] = [Fraction(m, b) for m, b in zip(matches, bottoms, strict=True)]
    smoothed = exact[:orders]
    if method == "method0":
        return [p if p else sys.float_info.min for p in smoothed]
    if method == "method1":
        return [p if m else (m + constants.epsilon) / b for p, m, b in zip(smoothed, matches, bottoms, strict=True)]
    if method == "method2":
        return [
            smoothed[0],
            *(Fraction(m + 1, b + 1) for m, b in zip(matches[1:], bottoms[1:], strict=True)),
        ]
    if method in ("method3", "method4", "method7"):
        step = 1
        for i in range(orders):
            if matches[i]:
                continue
            if method == "method3":
                smoothed[i] = 1 / (2**step * bottoms[i])
                step += 1
            elif length > 1:
                smoothed[i] = (1 / (2**step * constants.k / math.log(length))) / bottoms[i]
                step += 1
    if method in ("method5", "method7"):
        following: list[Precision] = [*smoothed[1:], exact[-1]]
        before: Precision = smoothed[0] + 1
        for i in range(orders):
            before = smoothed[i] = (before + smoothed[i] + following[i]) / 3
    if method == "method6":
        if orders < 3 or not smoothed[2]:
            raise SmoothingError("method6 needs a matched trigram")
        for i in range(2, orders):
            prior = 0 if smoothed[i - 2] == 0 else smoothed[i - 1] ** 2 / smoothed[i - 2]
            smoothed[i] = (matches[i] + constants.alpha * prior) / (totals[i] + constants.alpha)
    return smoothed


def nltk_brevity_penalty(reference_length: int, length: int) -> float:
    if length > reference_length:
        return 1
    return math.exp(1 - reference_length / length) if length else 0


def combine_like_nltk(precisions: Sequence[Any], penalty: float, weights: Sequence[float]) -> float:
    """Weighted geometric mean with an exact sum of logarithms; a precision of 0 is passed over, as in nltk."""
    logs = (w * math.log(p) for w, p in zip(weights, precisions, strict=False) if p > 0)
    return penalty * math.exp(math.fsum(logs))


@dataclass(frozen=True)
class NltkBleu:
    """nltk's sentence_bleu (weights ¼ × 4) with one of its smoothing methods, bit for bit.

    Where nltk raises (`method6` without a matched trigram) the score is NaN.
    """

    smoothing: str = "method0"
    epsilon: float = 0.1
    alpha: float = 5
    k: float = 5
    weights: tuple[float, ...] = (0.25, 0.25, 0.25, 0.25)

    def __post_init__(self) -> None:
        if self.smoothing not in NLTK_METHODS:
            raise ValueError(f"smoothing {self.smoothing!r} is not one of {', '.join(NLTK_METHODS)}")

    @property
    def order(self) -> int:
        """How many orders of n-grams must be counted."""
        return max(len(self.weights), 5 if self.smoothing in ("method5", "method7") else 0)

    @property
    def signature(self) -> str:
        return f"nltk-bleu:{len(self.weights)},smooth:{self.smoothing},bp:yes"

    def __call__(self, counts: PairCounts) -> Floats:
        score = np.zeros(len(counts.length))
        alive = np.flatnonzero(counts.matches[0])
        if len(alive) == 0:
            return score
        length, nearest = counts.length[alive], counts.reference_length[alive]
        if self.smoothing in ("method0", "method1", "method2"):
            terms = np.empty((len(alive), len(self.weights)))
            for o in range(1, len(self.weights) + 1):
                bottom = np.maximum(counts.totals(o)[alive], 1)
                terms[:, o - 1] = self.weights[o - 1] * by_distinct_ratio(
                    counts.matches[o - 1][alive], bottom, self._log_of_order(o)
                )
            sums = np.fromiter(map(math.fsum, terms.tolist()), dtype=np.float64, count=len(alive))
            penalty = by_distinct_ratio(nearest, length, nltk_brevity_penalty)
            score[alive] = penalty * exact_exp(sums)
            return score
        columns = [length.tolist(), nearest.tolist(), *(m[alive].tolist() for m in counts.matches)]
        score_of_counts: dict[tuple[int, ...], float] = {}
        values = []
        for key in zip(*columns, strict=True):
            value = score_of_counts.get(key)
            if value is None:
                value = score_of_counts[key] = self._from_counts(*key)
            values.append(value)
        score[alive] = values
        return score

    @cached_property
    def _constants(self) -> NltkConstants:
        return NltkConstants(self.epsilon, self.alpha, self.k)

    def _log_of_order(self, order: int) -> Callable[[int, int], float]:
        if self.smoothing == "method2" and order > 1:
            return lambda m, b: math.log((m + 1) / (b + 1))
        if self.smoothing == "method1":
            return lambda m, b: math.log(m / b if m else self.epsilon / b)
        return lambda m, b: math.log(m / b if m else sys.float_info.min)

    def _from_counts(self, length: int, nearest: int, *matches: int) -> float:
        totals = [max(0, length - o) for o in range(len(matches))]
        try:
            precisions = smooth_like_nltk(self.smoothing, matches, totals, length, self._constants)
        except SmoothingError:
            return math.nan
        return combine_like_nltk(precisions, nltk_brevity_penalty(nearest, length), self.weights)
