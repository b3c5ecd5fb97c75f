"""Which figures `diverse` reports, each with its formula, what moves it, and the paper it comes from.

The tables below declare them. What `{n}`, `{k}` or `{score}` stands for is filled in once for each order of n-grams,
each number of responses, or each of the two scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import cast

from sensecheck.runs.signature import Choice, Method
from sensecheck.statistics.statistic import AnyStatistic, Explanation, Floats, Statistic, mean_of, ratio

INFINITE = float("inf")

DEFAULT_AT = (1, 2, 3, 5, 10)
DEFAULT_ORDERS = (1, 2, 3)

GIVEN = "given"
"""What a signature says of classes that came with the data."""

PARITY = "lsdscc"
"""The original whose figures `--as` reproduces."""

_LSDSCC = "Xu et al. 2018, LSDSCC: a Large Scale Domain-Specific Conversational Corpus for Response Generation"
_GUPTA = "Gupta et al. 2019, Investigating Evaluation of Open-Domain Dialogue Systems With Human Generated References"

_NOVELTYBENCH = "Zhang et al. 2025, NoveltyBench: Evaluating Language Models for Humanlike Diversity"

_ANY_SCORE = (-INFINITE, INFINITE)
"""The range of an aligner's scores, unless they are BLEU."""


def over_chance(value: Floats, chance: Floats, n: Floats) -> Floats:
    """Where the score lies between what chance reaches (0) and everything (1)."""
    return ratio(value - chance, n - chance)


_ORIGINAL = Explanation("as LSDSCC 0.3.6 computes it", "The original's figure, quirks included.", "", _LSDSCC)
_OF_THE_ORIGINAL = (
    mean_of("max_bleu", title="MaxBLEU", direction="higher", explanation=_ORIGINAL),
    mean_of("mds", title="MDS", direction="higher", explanation=_ORIGINAL),
    mean_of("pds", title="PDS", direction="higher", explanation=_ORIGINAL),
)

_MEANINGS_REACHED = (
    mean_of("mds", title="MDS", direction="higher", explanation=Explanation(
        "mean over queries of (groups that a relevant hypothesis fell in) / groups",
        "The share of the different meanings that the responses reach, each meaning counting the same.",
        "more responses per query (compare at equal k: MDS@k), the relevance threshold, chance",
        _LSDSCC)),
    mean_of("pds", title="PDS", direction="higher", explanation=Explanation(
        "mean over queries of (references in the groups reached) / references",
        "Like MDS, but a meaning counts by how many people expressed it.",
        "more responses per query, large groups, chance",
        _LSDSCC)),
    mean_of("max_score", title="mean best score", direction="higher", range=_ANY_SCORE, explanation=Explanation(
        "mean over queries of the mean over hypotheses of the best score with a group of references",
        "How near the responses come to the references. An empty response scores 0, not 1 as in the original.",
        "short references and, without a brevity penalty, short responses",
        _LSDSCC)),
)  # fmt: skip

_BESIDE_CHANCE = (
    Statistic(
        "{score}_over_chance", ("{score}", "chance_{score}", "1"), over_chance, "{SCORE} over chance", "higher",
        (-INFINITE, 1.0), explanation=Explanation(
            "({SCORE} − chance) / (1 − chance), where chance is the {SCORE} that responses to other queries reach",
            "0: no better than answering another question. 1: every meaning reached.",
            "canned responses, which suit any query equally well, score 0")),
    mean_of("chance_{score}", title="{SCORE} by chance", direction="none", explanation=Explanation(
        "{SCORE} when each query is given the responses to other queries, a seeded draw of them",
        "What overlap in common words reaches by itself.",
        "few or large groups, many responses per query")),
)  # fmt: skip

_FEW_RESPONSES = "queries with fewer than {k} responses, or without references"
_NO_SPREAD = "queries with fewer than two groups, or without a response that reaches one"

_OF_K_RESPONSES = (
    mean_of("mds_at_{k}", title="MDS@{k}", direction="higher", absent=_FEW_RESPONSES, explanation=Explanation(
        "1 − C(n − hits, k) / C(n, k) for each group, averaged over groups, then over queries with n ≥ k",
        "The MDS expected of {k} of the responses taken at random: comparable between systems that give "
        "different numbers of responses.",
        "queries with fewer than k responses have no value",
        _LSDSCC)),
)  # fmt: skip

_ALIGNMENT = (
    mean_of("best_score", title="best response's score", direction="higher", range=_ANY_SCORE,
        explanation=Explanation(
            "mean over queries of the best score of any hypothesis with any group",
            "The other reading of the paper's MaxBLEU: the score of the best response of each query.",
            "more responses per query",
            _LSDSCC)),
    mean_of("coverage_entropy", title="coverage entropy", direction="higher", absent=_NO_SPREAD,
        explanation=Explanation(
        "mean over queries of H(hits per group) / ln(groups), where there are two groups or more and a hit",
        "Whether the responses spread evenly over the meanings (1) or crowd into one of them (0).",
        "few responses cannot spread over many groups")),
    Statistic(
        "relevant", ("relevant", "hypotheses"), ratio, "relevant hypotheses", "higher", explanation=Explanation(
            "hypotheses at or above the relevance threshold / hypotheses",
            "The share of responses that count at all: by default those with a BLEU of at least 0.1.",
            "--relevance, common words")),
    Statistic(
        "ties", ("tied", "with_choice"), ratio, "ties", "none", explanation=Explanation(
            "hypotheses whose best score two groups share / hypotheses with a choice of groups",
            "How often the aligner could not tell which meaning a response has.",
            "responses without any overlap tie at 0")),
    Statistic(
        "margin", ("margin", "with_choice"), ratio, "margin", "none", _ANY_SCORE, explanation=Explanation(
            "mean of (best score − second best) over hypotheses with a choice of groups",
            "How clearly responses belong to their group.")),
)  # fmt: skip

_BLEU_NAMES = {"max_score": ("max_bleu", "MaxBLEU"), "best_score": ("best_bleu", "best response's BLEU")}
"""Name and title where the aligner's scores are BLEU."""

_DISTINCT_NGRAMS = (
    mean_of("distinct_{n}", title="distinct-{n}", direction="higher", explanation=Explanation(
        "distinct {n}-grams / {n}-grams of a query's hypotheses, mean over queries",
        "How little the responses to a query repeat each other's words.",
        "length: longer responses repeat more (see EAD)",
        "Li et al. 2016, A Diversity-Promoting Objective Function for Neural Conversation Models")),
    mean_of("ead_{n}", title="EAD-{n}", direction="higher", range=(0, INFINITE), explanation=Explanation(
        "distinct {n}-grams / V(1 − ((V − 1)/V)^C), C {n}-grams, V words to choose from",
        "distinct-n relative to what the same number of even draws from the vocabulary would give.",
        "V (--vocabulary, in the signature)",
        "Liu et al. 2022, Rethinking and Refining the Distinct Metric")),
    mean_of("ent_{n}", title="Ent-{n}", direction="higher", range=(0, INFINITE), explanation=Explanation(
        "entropy, in nats, of the {n}-gram frequencies of a query's hypotheses, mean over queries",
        "Like distinct-n, but it also shows how evenly the n-grams repeat.",
        "the number of words",
        "Zhang et al. 2018, Generating Informative and Diverse Conversational Responses via AIM")),
)  # fmt: skip

_REPETITION = (
    mean_of("self_bleu", title="Self-BLEU", direction="lower", explanation=Explanation(
        "BLEU of each hypothesis against the others of its query, mean over hypotheses, then queries",
        "How much the responses repeat each other; 1 for copies.",
        "more responses per query: there is more to resemble",
        "Zhu et al. 2018, Texygen")),
    mean_of("pairwise_bleu", title="pairwise BLEU", direction="lower", explanation=Explanation(
        "BLEU of every ordered pair of different hypotheses of a query, mean over pairs, then queries",
        "Like Self-BLEU, one pair at a time, so the number of responses matters less.",
        "",
        "Shen et al. 2019, Mixture Models for Diverse Machine Translation")),
    mean_of("self_repetition", title="self-repetition", direction="lower", explanation=Explanation(
        "4-grams that another hypothesis of the query has too / 4-grams, mean over queries",
        "Long phrases that are repeated among a query's responses.",
        "short responses have no 4-grams",
        "Salkar et al. 2022, Self-Repetition in Abstractive Neural Summarizers")),
    mean_of("vendi", title="Vendi score", direction="higher", range=(0, INFINITE), explanation=Explanation(
        "exp of the entropy of the eigenvalues of K/n, K the mean cosine of uni- and bigram counts",
        "The effective number of different responses a query gets.",
        "the number of responses",
        "Friedman and Dieng 2023, The Vendi Score")),
    Statistic(
        "compression_ratio", ("bytes", "gzip_bytes"), ratio, "compression ratio", "lower", (0, INFINITE),
        explanation=Explanation(
            "bytes of each query's hypotheses / their bytes after gzip, as a ratio of sums",
            "What a compressor can save: high means repetitive.",
            "length: gzip's own header weighs on short texts",
            "Shaib et al. 2024, Standardizing the Measurement of Text Diversity")),
)  # fmt: skip

_NO_CLASSES = "queries whose responses nobody put into classes"

_CLASSES = (
    mean_of("classes", "distinct_classes", title="distinct classes", direction="higher", range=(0, INFINITE),
        absent=_NO_CLASSES, explanation=Explanation(
            "number of different classes among a query's hypotheses, mean over queries",
            "How many different answers the responses to a query are, by the classes that the data give.",
            "more responses per query (compare at equal k: classes@k), whoever made the classes",
            _NOVELTYBENCH)),
    mean_of("class_share", title="classes per response", direction="higher", absent=_NO_CLASSES,
        explanation=Explanation(
            "(classes of a query's hypotheses) / hypotheses, mean over queries",
            "1: every response is an answer of its own.",
            "more responses per query")),
    mean_of("class_entropy", title="class entropy", direction="higher", range=(0, INFINITE), absent=_NO_CLASSES,
        explanation=Explanation(
            "entropy, in nats, of the classes of a query's hypotheses, mean over queries",
            "Like the number of classes, but it also shows how evenly the responses spread over them.",
            "more responses per query")),
)  # fmt: skip

_CLASSES_OF_K = (
    mean_of("classes_at_{k}", title="classes@{k}", direction="higher", range=(0, INFINITE),
        absent="queries with fewer than {k} responses, or without classes", explanation=Explanation(
            "Σ over classes of 1 − C(n − members, k) / C(n, k), averaged over queries with n ≥ k",
            "The number of classes expected of {k} of the responses taken at random: comparable between systems that "
            "give different numbers of responses.",
            "queries with fewer than k responses have no value",
            _NOVELTYBENCH)),
)  # fmt: skip

_RECALLED_NGRAMS = (
    mean_of("reference_recall_{n}", title="reference {n}-gram recall", direction="higher", explanation=Explanation(
        "{n}-grams of the references (highest count in one) that a hypothesis has / all of them, mean over queries",
        "How much of what could be said is said, meanings aside.",
        "more responses per query")),
)  # fmt: skip

_SINGLE_REFERENCES = (
    mean_of("multi_reference_recall", title="multi-reference recall", direction="higher", explanation=Explanation(
        "for each reference the best BLEU of any hypothesis with it, mean over references, then queries",
        "Whether each reference is met by some response.",
        "more responses per query",
        _GUPTA)),
    mean_of("multi_reference_precision", title="multi-reference precision", direction="higher",
        explanation=Explanation(
            "for each hypothesis the best BLEU with a single reference, mean over hypotheses, then queries",
            "Whether each response is like some reference.",
            "more references per query",
            _GUPTA)),
)  # fmt: skip

_LENGTH = (
    Statistic(
        "words", ("words", "hypotheses"), ratio, "words per hypothesis", "none", (0, INFINITE),
        explanation=Explanation(
            "words of all hypotheses / hypotheses",
            "How long the responses are: n-gram figures are only comparable between systems of similar length.")),
    Statistic(
        "empty", ("empty_hypotheses", "hypotheses"), ratio, "empty hypotheses", "lower", explanation=Explanation(
            "hypotheses without a word / hypotheses",
            "The share of responses that say nothing. They score 0 and reach no group.",
            "trailing or doubled separators, a model that stops at once")),
)  # fmt: skip


def statistics(method: Method) -> list[AnyStatistic]:
    """The figures of a run, from the choices in its signature alone."""
    if method.get("as") == PARITY:
        return [*_OF_THE_ORIGINAL]
    with_references = method.get("references") != "none"
    figures: list[AnyStatistic] = []
    if with_references:
        figures += _coverage(method)
    # A run says of its references what they are; where nothing is said of them, all figures are listed.
    if method.get("classes") == GIVEN or "references" not in method:
        # One response is always one class.
        sizes = [k for k in numbers(method.get("at"), DEFAULT_AT) if k > 1]
        figures += [*_CLASSES, *_for_each("k", sizes, _CLASSES_OF_K)]
    if method.get("variety", True):
        orders = numbers(method.get("n"), DEFAULT_ORDERS)
        figures += [*_for_each("n", orders, _DISTINCT_NGRAMS), *_REPETITION]
        if with_references:
            figures += [*_for_each("n", orders, _RECALLED_NGRAMS), *_SINGLE_REFERENCES]
    return [*figures, *_LENGTH]


def _coverage(method: Method) -> list[Statistic]:
    """What the responses reach of the references."""
    figures = [*_MEANINGS_REACHED]
    if method.get("chance", "drawn") is not None:
        figures += [
            _filled(figure, score=name, SCORE=name.upper()) for name in ("mds", "pds") for figure in _BESIDE_CHANCE
        ]
    figures += [*_for_each("k", numbers(method.get("at"), DEFAULT_AT), _OF_K_RESPONSES), *_ALIGNMENT]
    is_bleu = "bleu" in str(method.get("aligner", "bleu")).split(":", 1)[0]
    return [_of_bleu(figure) for figure in figures] if is_bleu else figures


def numbers(chosen: Choice, otherwise: tuple[int, ...]) -> tuple[int, ...]:
    return otherwise if chosen is None else tuple(cast("Iterable[int]", chosen))


def _for_each(letter: str, values: Iterable[int], figures: Sequence[Statistic]) -> list[Statistic]:
    """The figures once for each value of the letter."""
    return [_filled(figure, **{letter: str(value)}) for value in values for figure in figures]


def _filled(figure: Statistic, **values: str) -> Statistic:
    """A figure of a table with the values of its letters in their places."""
    text = figure.explanation
    assert text is not None
    explanation = Explanation(
        text.formula.format(**values), text.meaning.format(**values), text.moved_by.format(**values), text.citation
    )
    sums = tuple(column.format(**values) for column in figure.sums)
    name, title = figure.name.format(**values), figure.title.format(**values)
    absent = figure.absent.format(**values)
    return replace(figure, name=name, sums=sums, title=title, explanation=explanation, absent=absent)


def _of_bleu(figure: Statistic) -> Statistic:
    """A figure of scores that are BLEU: they lie between 0 and 1, and two figures have names of their own."""
    if figure.range != _ANY_SCORE:
        return figure
    name, title = _BLEU_NAMES.get(figure.name, (figure.name, figure.title))
    return replace(figure, name=name, title=title, range=(0.0, 1.0))
