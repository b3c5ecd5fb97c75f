"""Which figures `diverse` reports, each with its formula, what moves it, and the paper it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from sensecheck.runs.signature import Choice, Method
from sensecheck.statistics.statistic import AnyStatistic, Explanation, Floats, Statistic, mean_of, ratio

INFINITE = float("inf")

DEFAULT_AT = (1, 2, 3, 5, 10)
DEFAULT_ORDERS = (1, 2, 3)

PARITY = "lsdscc"
"""The original whose figures `--as` reproduces."""

_LSDSCC = "Xu et al. 2018, LSDSCC: a Large Scale Domain-Specific Conversational Corpus for Response Generation"

_ORIGINAL = Explanation("as LSDSCC 0.3.6 computes it", "The original's figure, quirks included.", "", _LSDSCC)


def over_chance(value: Floats, chance: Floats, n: Floats) -> Floats:
    """Where the score lies between what chance reaches (0) and everything (1)."""
    return ratio(value - chance, n - chance)


def numbers(chosen: Choice, otherwise: tuple[int, ...]) -> tuple[int, ...]:
    return otherwise if chosen is None else tuple(cast("Iterable[int]", chosen))


def statistics(method: Method) -> list[AnyStatistic]:
    """The figures of a run, from the choices in its signature alone."""
    if method.get("as") == PARITY:
        return [
            mean_of("max_bleu", title="MaxBLEU", direction="higher", explanation=_ORIGINAL),
            mean_of("mds", title="MDS", direction="higher", explanation=_ORIGINAL),
            mean_of("pds", title="PDS", direction="higher", explanation=_ORIGINAL),
        ]
    found: list[AnyStatistic] = []
    if method.get("references") != "none":
        found += _coverage(method)
    if method.get("variety", True):
        found += _variety(method)
    found += [
        Statistic(
            "words", ("words", "hypotheses"), ratio, "words per hypothesis", "none", (0, INFINITE),
            explanation=Explanation(
                "words of all hypotheses / hypotheses",
                "How long the responses are: n-gram figures are only comparable between systems of similar length.",
            ),
        ),
        Statistic(
            "empty", ("empty_hypotheses", "hypotheses"), ratio, "empty hypotheses", "lower",
            explanation=Explanation(
                "hypotheses without a word / hypotheses",
                "The share of responses that say nothing. They score 0 and reach no group.",
                "trailing or doubled separators, a model that stops at once",
            ),
        ),
    ]  # fmt: skip
    return found


def _coverage(method: Method) -> list[AnyStatistic]:
    is_bleu = "bleu" in str(method.get("aligner", "bleu")).split(":", 1)[0]
    top = (0.0, 1.0) if is_bleu else (-INFINITE, INFINITE)
    at = numbers(method.get("at"), DEFAULT_AT)
    found: list[AnyStatistic] = [
        mean_of(
            "mds", title="MDS", direction="higher",
            explanation=Explanation(
                "mean over queries of (groups that a relevant hypothesis fell in) / groups",
                "The share of the different meanings that the responses reach, all meanings alike.",
                "more responses a query (compare at equal k: MDS@k), the relevance threshold, chance", _LSDSCC,
            ),
        ),
        mean_of(
            "pds", title="PDS", direction="higher",
            explanation=Explanation(
                "mean over queries of (references in the groups reached) / references",
                "Like MDS, but a meaning counts by how many people expressed it.",
                "more responses a query, large groups, chance", _LSDSCC,
            ),
        ),
        mean_of(
            "max_score", "max_bleu" if is_bleu else "max_score", title="MaxBLEU" if is_bleu else "mean best score",
            direction="higher", range=top,
            explanation=Explanation(
                "mean over queries of the mean over hypotheses of the best score with a group of references",
                "How near the responses come to the references. One empty response is 0, not 1 as in the original.",
                "short references and, without a brevity penalty, short responses", _LSDSCC,
            ),
        ),
    ]  # fmt: skip
    if method.get("chance", "drawn") is not None:
        found += _chance()
    found += [
        Statistic(
            f"mds_at_{k}", (f"mds_at_{k}", "1"), ratio, f"MDS@{k}", "higher",
            explanation=Explanation(
                "1 − C(n − hits, k) / C(n, k) for each group, averaged over groups, then over queries with n ≥ k",
                f"The MDS expected of {k} of the responses taken at random: comparable between systems that give "
                "different numbers of responses.",
                "queries with fewer than k responses have no value", _LSDSCC,
            ),
        )
        for k in at
    ]  # fmt: skip
    best = "best_bleu" if is_bleu else "best_score"
    found += [
        mean_of(
            "best_score", best, title="best response's BLEU" if is_bleu else "best response's score",
            direction="higher", range=top,
            explanation=Explanation(
                "mean over queries of the best score of any hypothesis with any group",
                "The other reading of the paper's MaxBLEU: the score of the best response of each query.",
                "more responses a query", _LSDSCC,
            ),
        ),
        mean_of(
            "coverage_entropy", title="coverage entropy", direction="higher",
            explanation=Explanation(
                "mean over queries of H(hits per group) / ln(groups), for two groups or more with a hit",
                "Whether the responses spread evenly over the meanings (1) or crowd in one of them (0).",
                "few responses cannot spread over many groups",
            ),
        ),
        Statistic(
            "relevant", ("relevant", "hypotheses"), ratio, "relevant hypotheses", "higher",
            explanation=Explanation(
                "hypotheses at or above the relevance threshold / hypotheses",
                "The share of responses that count at all: by default those with a BLEU of at least 0.1.",
                "--relevance, common words",
            ),
        ),
        Statistic(
            "ties", ("tied", "with_choice"), ratio, "ties", "lower",
            explanation=Explanation(
                "hypotheses whose best score two groups share / hypotheses with a choice of groups",
                "How often the aligner could not tell which meaning a response has.",
                "responses without any overlap tie on 0",
            ),
        ),
        Statistic(
            "margin", ("margin", "with_choice"), ratio, "margin", "higher", top,
            explanation=Explanation(
                "mean of (best score − second best) over hypotheses with a choice of groups",
                "How clearly responses belong to their group.",
            ),
        ),
    ]  # fmt: skip
    return found


def _chance() -> list[AnyStatistic]:
    found: list[AnyStatistic] = []
    for name, what in (("mds", "MDS"), ("pds", "PDS")):
        found.append(
            Statistic(
                f"{name}_over_chance", (name, f"chance_{name}", "1"), over_chance, f"{what} over chance", "higher",
                (-INFINITE, 1.0),
                explanation=Explanation(
                    f"({what} − chance) / (1 − chance), where chance is the {what} of other queries' responses here",
                    "0: no better than answering another question. 1: every meaning reached.",
                    "canned responses, which are as good for any query, score 0",
                ),
            )
        )  # fmt: skip
        found.append(
            mean_of(
                f"chance_{name}", title=f"{what} by chance", direction="none",
                explanation=Explanation(
                    f"{what} when each query is given the responses to other queries, a seeded draw of them",
                    "What overlap in common words reaches by itself.",
                    "few or large groups, many responses a query",
                ),
            )
        )  # fmt: skip
    return found


def _variety(method: Method) -> list[AnyStatistic]:
    orders = numbers(method.get("n"), DEFAULT_ORDERS)
    found: list[AnyStatistic] = []
    for n in orders:
        found += [
            mean_of(
                f"distinct_{n}", title=f"distinct-{n}", direction="higher",
                explanation=Explanation(
                    f"distinct {n}-grams / {n}-grams of a query's hypotheses, mean over queries",
                    "How little the responses to a query repeat each other's words.",
                    "length: longer responses repeat more (see EAD)",
                    "Li et al. 2016, A Diversity-Promoting Objective Function for Neural Conversation Models",
                ),
            ),
            mean_of(
                f"ead_{n}", title=f"EAD-{n}", direction="higher", range=(0, INFINITE),
                explanation=Explanation(
                    f"distinct {n}-grams / V(1 − ((V − 1)/V)^C), C {n}-grams, V words to choose from",
                    "distinct-n against what as many even draws from the vocabulary would give.",
                    "V (--vocabulary, in the signature)",
                    "Liu et al. 2022, Rethinking and Refining the Distinct Metric",
                ),
            ),
            mean_of(
                f"ent_{n}", title=f"Ent-{n}", direction="higher", range=(0, INFINITE),
                explanation=Explanation(
                    f"entropy, in nats, of the {n}-gram frequencies of a query's hypotheses, mean over queries",
                    "Like distinct-n, but it sees how even the repetition is.",
                    "the number of words",
                    "Zhang et al. 2018, Generating Informative and Diverse Conversational Responses via AIM",
                ),
            ),
        ]  # fmt: skip
    found += [
        mean_of(
            "self_bleu", title="Self-BLEU", direction="lower",
            explanation=Explanation(
                "BLEU of each hypothesis against the others of its query, mean over hypotheses, then queries",
                "How much the responses repeat each other; 1 for copies.",
                "more responses: more to resemble", "Zhu et al. 2018, Texygen",
            ),
        ),
        mean_of(
            "pairwise_bleu", title="pairwise BLEU", direction="lower",
            explanation=Explanation(
                "BLEU of every ordered pair of different hypotheses of a query, mean over pairs, then queries",
                "Like Self-BLEU, one pair at a time, so the number of responses matters less.",
                "", "Shen et al. 2019, Mixture Models for Diverse Machine Translation",
            ),
        ),
        mean_of(
            "self_repetition", title="self-repetition", direction="lower",
            explanation=Explanation(
                "4-grams that another hypothesis of the query has too / 4-grams, mean over queries",
                "Long phrases that come back within a query.",
                "short responses have no 4-grams",
                "Salkar et al. 2022, Self-Repetition in Abstractive Neural Summarizers",
            ),
        ),
        mean_of(
            "vendi", title="Vendi score", direction="higher", range=(0, INFINITE),
            explanation=Explanation(
                "exp of the entropy of the eigenvalues of K/n, K the mean cosine of uni- and bigram counts",
                "The effective number of different responses a query gets.",
                "the number of responses", "Friedman and Dieng 2023, The Vendi Score",
            ),
        ),
        Statistic(
            "compression_ratio", ("bytes", "gzip_bytes"), ratio, "compression ratio", "lower", (0, INFINITE),
            explanation=Explanation(
                "bytes of each query's hypotheses / their bytes after gzip, as a ratio of sums",
                "What a compressor can save: high means repetitive.",
                "length: gzip's own header weighs on short texts",
                "Shaib et al. 2024, Standardizing the Measurement of Text Diversity",
            ),
        ),
    ]  # fmt: skip
    if method.get("references") == "none":
        return found
    for n in orders:
        found.append(
            mean_of(
                f"reference_recall_{n}", title=f"reference {n}-gram recall", direction="higher",
                explanation=Explanation(
                    f"{n}-grams of the references (highest count in one) that a hypothesis has / all, over queries",
                    "How much of what could be said is said, meanings aside.",
                    "more responses a query",
                ),
            )
        )  # fmt: skip
    what = "Gupta et al. 2019, Investigating Evaluation of Open-Domain Dialogue Systems With Human Generated References"
    found += [
        mean_of(
            "multi_reference_recall", title="multi-reference recall", direction="higher",
            explanation=Explanation(
                "for each reference the best BLEU of any hypothesis with it, mean over references, then queries",
                "Whether each reference is met by some response.", "more responses a query", what,
            ),
        ),
        mean_of(
            "multi_reference_precision", title="multi-reference precision", direction="higher",
            explanation=Explanation(
                "for each hypothesis the best BLEU with a single reference, mean over hypotheses, then queries",
                "Whether each response is like some reference.", "more references a query", what,
            ),
        ),
    ]  # fmt: skip
    return found
