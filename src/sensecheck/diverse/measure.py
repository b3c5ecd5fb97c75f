"""From a batch of sets to measurements: one row a query, plain numbers, pure functions.

The reading of LSDSCC's three scores that a user expects. An empty or irrelevant hypothesis reaches no group (the
original credits it to the first one); scores as near as rounding noise are ties; and the rate that responses of
*other* queries reach stands beside the system's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.diverse import variety
from sensecheck.diverse.aligners import Aligner, BleuAligner, SetBatch
from sensecheck.diverse.bleu import SentenceBleu
from sensecheck.diverse.ngrams import Floats, Ints, NGramIndex, index_sets, offsets, running_index
from sensecheck.diverse.tokens import tokenizer

MAX_PAIRED = 1000
"""Pairwise BLEU and the Vendi score look at every pair: sets of more hypotheses than this have neither."""

TIE = 1e-12
"""Scores that differ by less (relative to the larger) are the same number up to rounding."""


@dataclass(frozen=True)
class MeasureOptions:
    """Every choice that changes a measurement."""

    aligner: Aligner = field(default_factory=BleuAligner)
    tokenize: str = "whitespace"
    lowercase: bool = False
    relevance: float | None = None  # a hypothesis counts from this score on; None: the aligner's own threshold
    at: tuple[int, ...] = (1, 2, 3, 5, 10)  # k of MDS@k
    orders: tuple[int, ...] = (1, 2, 3)  # n of distinct-n, EAD, Ent-n and n-gram recall
    repetition_order: int = 4
    vocabulary: int = variety.EAD_VOCABULARY
    variety: bool = True  # the figures beside MaxBLEU, MDS and PDS
    between: SentenceBleu = field(default_factory=SentenceBleu)  # BLEU among hypotheses and with single references


@dataclass(frozen=True)
class Sets:
    """A batch of records, by column.

    `chance` holds, for each query, the hypothesis sets of some other queries, drawn when records were read. `classes`
    says of each query's hypotheses which of them mean the same, where someone said so of any query.
    """

    ids: Sequence[str]
    hypotheses: Sequence[Sequence[str]]
    references: Sequence[Sequence[Sequence[str]]]
    chance: Sequence[Sequence[Sequence[str]]] | None = None
    classes: Sequence[Sequence[str] | None] | None = None


@dataclass(frozen=True)
class Alignment:
    """Which group each hypothesis fell in; arrays over the hypotheses of a batch unless said otherwise."""

    index: NGramIndex
    group: Ints  # number within the set; -1 where there is no group to fall in
    score: Floats  # NaN where no group could be scored
    margin: Floats  # to the next best group; NaN with fewer than two groups
    tied: NDArray[np.bool_]
    relevant: NDArray[np.bool_]
    hits: Ints  # per group of the batch: relevant hypotheses that fell in it


def align(batch: SetBatch, aligner: Aligner, relevance: float | None = None) -> Alignment:
    """Give each hypothesis to its best group: the first of those that are equal up to rounding."""
    index = batch.index
    matrix = np.asarray(aligner.scores(batch), dtype=np.float64)
    width = index.groups_per_set[index.hypothesis_set]
    if len(matrix) != int(width.sum()):
        raise ValueError(
            f"aligner {aligner.signature} returned {len(matrix)} scores for {int(width.sum())} pairs "
            "of a hypothesis and a group"
        )
    n = index.n_hypotheses
    group = np.full(n, -1, dtype=np.int64)
    score = np.full(n, np.nan)
    margin = np.full(n, np.nan)
    tied = np.zeros(n, dtype=bool)
    rows = np.flatnonzero(width)
    if len(rows):
        comparable = np.where(np.isnan(matrix), -np.inf, matrix)
        width = width[rows]
        starts = offsets(width)[:-1]
        best = np.maximum.reduceat(comparable, starts)
        slack = np.where(np.isfinite(best), np.abs(best) * TIE, 0.0)
        as_good = comparable >= np.repeat(best - slack, width)
        at = np.flatnonzero(as_good)
        row_of = np.repeat(np.arange(len(rows)), width)
        first = np.ones(len(at), dtype=bool)
        first[1:] = row_of[at][1:] != row_of[at][:-1]
        chosen = at[first]
        rest = comparable.copy()
        rest[chosen] = -np.inf
        second = np.maximum.reduceat(rest, starts)
        scored = np.isfinite(best)
        group[rows] = np.where(scored, chosen - starts, -1)
        score[rows] = np.where(scored, best, np.nan)
        tied[rows] = scored & (np.add.reduceat(as_good, starts, dtype=np.int64) > 1)
        has_second = scored & np.isfinite(second)
        margin[rows[has_second]] = np.where(
            tied[rows[has_second]], 0.0, (best - np.where(has_second, second, 0.0))[has_second]
        )
    with np.errstate(invalid="ignore"):
        relevant = (score > 0) & (score >= (aligner.relevance if relevance is None else relevance)) & (group >= 0)
    hits = np.bincount(
        (offsets(index.groups_per_set)[:-1][index.hypothesis_set] + group)[relevant], minlength=index.n_groups
    )
    return Alignment(index, group, score, margin, tied, relevant, hits)


def reached_by(hits: Ints, drawn: Ints, k: Ints | int) -> Floats:
    """Chance that k hypotheses, taken at random from `drawn` of which `hits` fell in a group, include such a one.

    1 − C(drawn − hits, k) / C(drawn, k), as a product that never overflows.
    """
    k = np.broadcast_to(np.asarray(k, dtype=np.int64), hits.shape)
    missed = np.ones(len(hits))
    for j in range(int(k.max(initial=0))):
        going = j < k
        missed[going] *= np.maximum(drawn[going] - hits[going] - j, 0) / np.maximum(drawn[going] - j, 1)
    return 1.0 - missed


def coverage(index: NGramIndex, reached: Floats) -> tuple[Floats, Floats]:
    """MDS and PDS of each set from how surely each group is reached; NaN without groups."""
    groups = np.bincount(index.group_set, weights=reached, minlength=index.n_sets)
    members = np.bincount(index.group_set, weights=reached * index.references_per_group, minlength=index.n_sets)
    with np.errstate(invalid="ignore", divide="ignore"):
        return groups / index.groups_per_set, members / index.references_per_set


def coverage_entropy(index: NGramIndex, hits: Ints) -> Floats:
    """Entropy of the hits over the groups, as a share of the highest; NaN below two groups or without a hit."""
    total = np.bincount(index.group_set, weights=hits, minlength=index.n_sets)
    logs = np.log(hits, out=np.zeros(len(hits)), where=hits > 0)
    weighted = np.bincount(index.group_set, weights=hits * logs, minlength=index.n_sets)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (np.log(total) - weighted / total) / np.log(index.groups_per_set)
    share[(index.groups_per_set < 2) | (total == 0)] = np.nan
    return np.clip(share, 0.0, 1.0)


def _set_sum(index: NGramIndex, values: NDArray[Any]) -> Floats:
    sums: Floats = np.bincount(index.hypothesis_set, weights=values, minlength=index.n_sets).astype(np.float64)
    return sums


def measure(sets: Sets, options: MeasureOptions | None = None) -> tuple[pl.DataFrame, Alignment]:
    """One row for every query, and where each hypothesis fell.

    Null says that a figure does not exist for this query (no second hypothesis to compare with, fewer than k
    hypotheses, no references); a query without hypotheses scores 0 on the coverage figures.
    """
    options = options or MeasureOptions()
    split = _remembering(tokenizer(options.tokenize, lowercase=options.lowercase))
    batch = SetBatch.tokenized(sets.hypotheses, sets.references, split)
    index = batch.index
    alignment = align(batch, options.aligner, options.relevance)
    columns: dict[str, NDArray[Any]] = {
        "hypotheses": index.hypotheses_per_set,
        "groups": index.groups_per_set,
        "references": index.references_per_set,
        "empty_hypotheses": _set_sum(index, index.hypothesis_length == 0).astype(np.int64),
        "words": _set_sum(index, index.hypothesis_length).astype(np.int64),
    }
    columns |= _coverage_columns(alignment, options)
    if sets.chance is not None:
        columns |= _chance_columns(sets, options, split, index)
    if sets.classes is not None:
        columns |= _class_columns(sets.classes, options)
    if options.variety:
        columns |= _variety_columns(sets, batch, options)
    frame = pl.DataFrame({"id": pl.Series("id", list(sets.ids), dtype=pl.String)} | columns)
    frame = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
    return frame.with_columns(pl.when(pl.col("groups") > 0).then(pl.col(_NEED_GROUPS)).otherwise(None)), alignment


_NEED_GROUPS = ("relevant", "tied", "with_choice", "margin")


def _remembering(split: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The same words for the same text, cut once a batch: references serve twice, donors several times."""
    remembered: dict[str, list[str]] = {}

    def words(text: str) -> list[str]:
        tokens = remembered.get(text)
        if tokens is None:
            tokens = remembered[text] = split(text)
        return tokens

    return words


def _coverage_columns(alignment: Alignment, options: MeasureOptions) -> dict[str, NDArray[Any]]:
    index = alignment.index
    n_hypotheses = index.hypotheses_per_set
    mds, pds = coverage(index, (alignment.hits > 0).astype(np.float64))
    score_or_zero = np.nan_to_num(alignment.score, nan=0.0)
    best = np.zeros(index.n_sets)
    np.maximum.at(best, index.hypothesis_set, score_or_zero)
    no_groups = index.groups_per_set == 0
    with np.errstate(invalid="ignore"):
        mean = _set_sum(index, score_or_zero) / np.maximum(n_hypotheses, 1)
    has_choice = (index.groups_per_set > 1)[index.hypothesis_set]
    columns: dict[str, NDArray[Any]] = {
        "mds": mds,
        "pds": pds,
        "max_score": np.where(no_groups, np.nan, mean),
        "best_score": np.where(no_groups, np.nan, best),
        "relevant": _set_sum(index, alignment.relevant).astype(np.int64),
        "tied": _set_sum(index, alignment.tied & has_choice).astype(np.int64),
        "with_choice": _set_sum(index, has_choice & (alignment.group >= 0)).astype(np.int64),
        "margin": _set_sum(index, np.nan_to_num(alignment.margin)),
        "coverage_entropy": coverage_entropy(index, alignment.hits),
    }
    per_group = n_hypotheses[index.group_set]
    for k in options.at:
        at_mds, _ = coverage(index, reached_by(alignment.hits, per_group, k))
        columns[f"mds_at_{k}"] = np.where(n_hypotheses >= k, at_mds, np.nan)
    return columns


def _chance_columns(
    sets: Sets, options: MeasureOptions, split: Callable[[str], list[str]], own_index: NGramIndex
) -> dict[str, NDArray[Any]]:
    """What the responses to other queries would reach here, the mean over the donors drawn for each query.

    A donor with more hypotheses than the query has is taken at the query's size, expected over all choices.
    """
    assert sets.chance is not None
    batch = SetBatch.tokenized([list(chain.from_iterable(donors)) for donors in sets.chance], sets.references, split)
    index = batch.index
    alignment = align(batch, options.aligner, options.relevance)
    donors = _sizes(sets.chance)
    donor_size = _sizes(list(chain.from_iterable(sets.chance)))
    donor_set = np.repeat(np.arange(index.n_sets), donors)
    donor_of_hypothesis = np.repeat(np.arange(len(donor_size)), donor_size)
    # One cell for every (donor, group of the query it was drawn for).
    width = index.groups_per_set[donor_set]
    cells = offsets(width)
    hits = np.bincount(
        (cells[:-1][donor_of_hypothesis] + alignment.group)[alignment.relevant], minlength=int(cells[-1])
    )
    cell_donor = np.repeat(np.arange(len(donor_size)), width)
    cell_group = np.repeat(offsets(index.groups_per_set)[:-1][donor_set], width) + running_index(width)
    take = np.minimum(own_index.hypotheses_per_set[donor_set], donor_size)
    reached = reached_by(hits, donor_size[cell_donor], take[cell_donor])
    per_group = np.bincount(cell_group, weights=reached, minlength=index.n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        mds, pds = coverage(index, per_group / donors[index.group_set])
    return {"chance_donors": donors, "chance_mds": mds, "chance_pds": pds}


def _class_columns(classes: Sequence[Sequence[str] | None], options: MeasureOptions) -> dict[str, NDArray[Any]]:
    """How many classes the hypotheses of each query fall in, and how evenly; NaN where nobody said."""
    sizes = [np.array(list(Counter(given or ()).values()), dtype=np.int64) for given in classes]
    said = np.array([given is not None for given in classes])
    responses = np.array([one.sum() for one in sizes], dtype=np.float64)
    number = np.array([len(one) for one in sizes], dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = number / responses
        entropy = np.log(responses) - np.array([(one * np.log(one)).sum() for one in sizes]) / responses
    columns: dict[str, NDArray[Any]] = {
        "classes": np.where(said, number, np.nan),
        "class_share": np.where(said & (responses > 0), share, np.nan),
        "class_entropy": np.where(said & (responses > 0), np.maximum(entropy, 0.0), np.nan),
    }
    for k in options.at:
        # As many classes as some of k responses, taken at random, are expected to fall in.
        expected = np.array([reached_by(one, np.full(len(one), one.sum()), k).sum() for one in sizes])
        columns[f"classes_at_{k}"] = np.where(said & (responses >= k), expected, np.nan)
    return columns


def _sizes(items: Sequence[Sequence[Any]]) -> Ints:
    return np.fromiter(map(len, items), dtype=np.int64, count=len(items))


def _variety_columns(sets: Sets, batch: SetBatch, options: MeasureOptions) -> dict[str, NDArray[Any]]:
    index = batch.index
    columns: dict[str, NDArray[Any]] = {}
    for n in options.orders:
        columns[f"distinct_{n}"] = variety.distinct(index, n)
        columns[f"ead_{n}"] = variety.expected_adjusted_distinct(index, n, options.vocabulary)
        columns[f"ent_{n}"] = variety.entropy(index, n)
        columns[f"reference_recall_{n}"] = variety.reference_recall(index, n)
    columns["self_bleu"] = variety.self_bleu(index, options.between)
    columns["multi_reference_recall"], columns["multi_reference_precision"] = variety.single_reference_scores(
        index, options.between
    )
    columns["pairwise_bleu"], columns["vendi"] = _pairwise_columns(batch, options)
    columns["self_repetition"] = variety.self_repetition(index, options.repetition_order)
    columns["bytes"], columns["gzip_bytes"] = variety.compressed_sizes(sets.hypotheses)
    return columns


def _pairwise_columns(batch: SetBatch, options: MeasureOptions) -> tuple[Floats, Floats]:
    index = batch.index
    small_sets = np.flatnonzero(index.hypotheses_per_set <= MAX_PAIRED)
    bleu, vendi = np.full(index.n_sets, np.nan), np.full(index.n_sets, np.nan)
    if len(small_sets) < index.n_sets:
        index = index_sets([batch.hypotheses[i] for i in small_sets.tolist()])
    if len(small_sets):
        bleu[small_sets] = variety.pairwise_bleu(index, options.between)
        vendi[small_sets] = variety.vendi(variety.ngram_kernels(index), index.hypotheses_per_set)
    return bleu, vendi
