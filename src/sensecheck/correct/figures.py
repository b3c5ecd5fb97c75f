"""The figures of `correct`, all from sums over per-record columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sensecheck.correct.part_figures import SPIDER, part_figures
from sensecheck.correct.proving.figures import proven_figures
from sensecheck.correct.spider_parts import NOT_READ
from sensecheck.correct.ties import UNDECIDED
from sensecheck.judges.figures import figure as judged_figure
from sensecheck.runs.signature import Method
from sensecheck.statistics.statistic import (
    ONE,
    Anchor,
    AnyStatistic,
    Bins,
    Explanation,
    Share,
    Statistic,
    mean_of,
    ratio,
)

NOT_NORMALISED = "not_normalised"
"""The column that says why two normal forms were not made or not compared."""

Floats = NDArray[np.float64]

_SPICE = "Perez-Beltrachini, Jain, Monti and Lapata 2023, Semantic Parsing for Conversational Question Answering, EACL"
_GERBIL = "Usbeck et al. 2019, Benchmarking Question Answering Systems, Semantic Web 10(2)"
_SUITE = "Zhong, Yu and Klein 2020, Semantic Evaluation for Text-to-SQL with Distilled Test Suites, EMNLP"
_BIRD = "Li et al. 2023, Can LLM Already Serve as a Database Interface? (BIRD), NeurIPS"
_MINI_DEV = "BIRD mini-dev, Soft F1-Score Evaluation (README); Li et al. 2023 as for BIRD"
_SPIDER2 = "Lei et al. 2025, Spider 2.0: Language Models on Real-World Enterprise Text-to-SQL Workflows, ICLR"
_T2S = "TEXT2SPARQL'25 challenge, First International Workshop on TEXT2SPARQL, ESWC 2025"


def _f1_parts(tp: Floats, fp: Floats, fn: Floats) -> tuple[Floats, Floats]:
    return 2 * tp, 2 * tp + fp + fn


def _of_all(tp: Floats, others: Floats) -> tuple[Floats, Floats]:
    return tp, tp + others


def _pooled(
    name: str, sums: tuple[str, ...], parts: Callable[..., tuple[Floats, Floats]], title: str, explanation: Explanation
) -> Statistic:
    """A quotient of sums over all questions."""
    return Statistic(
        name, sums, lambda *sums: ratio(*parts(*sums)), title, "higher", share=Share(parts), explanation=explanation
    )


def _harmonic(precision: Floats, recall: Floats, n: Floats) -> Floats:
    p, r = ratio(precision, n), ratio(recall, n)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p + r > 0, 2 * p * r / (p + r), np.where(n > 0, 0.0, np.nan))


def _mean_over_groups(total: Floats, n: Floats, **_: Any) -> Floats:
    """The mean of the groups' means: every group that has rows counts the same."""
    filled = n > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(filled, total / n, 0.0)
        return np.asarray(means.sum(-1) / filled.sum(-1))


def _group_edges(rows: Mapping[str, NDArray[Any]]) -> Floats:
    """One bin for every sub-type that occurs, in bins that hold every code: rows may all be unscored."""
    return np.unique(np.concatenate([[0.0], rows["type_code"].astype(np.float64), [2.0**32]]))


_BY_SUBTYPE = Bins("type_code", "subtype_edges")
_EDGES = (Anchor("subtype_edges", ("type_code",), _group_edges),)


def _unweighted(column: str, name: str, title: str, meaning: str, absent_column: str = "") -> Statistic:
    return Statistic(
        name,
        (column, ONE),
        _mean_over_groups,
        title,
        "higher",
        (0.0, 1.0),
        _BY_SUBTYPE,
        _EDGES,
        means_of_bins=True,
        absent_column=absent_column,
        explanation=Explanation(
            f"mean over sub-types of the mean of {column} within each",
            meaning,
            "A sub-type of three questions weighs as much as one of three thousand: read it beside the pooled figure.",
            _SPICE,
        ),
    )


def statistics(method: Method) -> list[AnyStatistic]:
    """All figures under a signature's choices; under no choices, every figure there is."""
    everything = not method
    runs = everything or method.get("execute") is not None
    language = method.get("language")
    chosen = method.get("conventions")
    conventions = list(chosen) if isinstance(chosen, list | tuple) else []
    # Pairs without a verdict; a run from before there were any has no such column.
    judged = bool(method.get("judge"))
    undecided = UNDECIDED if judged or (method.get("ties") == UNDECIDED and language == "sql") else ""
    figures: list[AnyStatistic] = []
    if runs:
        figures.append(mean_of("correct", "accuracy", title="accuracy", direction="higher", absent_column=undecided,
            explanation=Explanation(
            "share of questions whose predicted query gives the right answer",
            "Yes or no and counts are compared by value; sets must be equal; SQL tables must hold the same rows, with "
            "repeats, under any order of columns; the order of rows counts only where the gold sorts. A prediction "
            "that fails to run is wrong.",
            "Answers that show little (see vacuous). For SQL, another choice among rows that tie at the gold's LIMIT "
            "is right; where every row ties, the pair is undecided and not counted (--ties).",
            _SPICE)))  # fmt: skip
    figures.append(mean_of("em", title="exact match", direction="higher", explanation=Explanation(
        "share of predictions that equal the gold query but for case",
        "The same text as the gold. A query written differently is wrong here, even if its answer is right.",
        "Names of variables, order of triples, spacing.", _SPICE)))  # fmt: skip
    figures.append(mean_of("em_tokens", title="exact match by tokens", direction="higher", explanation=Explanation(
        "share of predictions whose tokens are the gold query's",
        "Spacing, comments, the case of keywords and a semicolon at the end make no difference; for SQL, neither does "
        "the case of names. Text in quotation marks must be the same to the letter.",
        "Names of variables and aliases, order of conditions.", "")))  # fmt: skip
    if everything or method.get("normalise", True):
        figures.append(mean_of("em_normalised", title="normalised exact match", direction="higher",
            absent_column=NOT_NORMALISED,
            explanation=Explanation(
                "share of predictions that are the gold query but for names of variables and order of what commutes",
                "The same query: renamed variables and aliases, permuted triples and conjuncts, prefixes, spacing and "
                "case make no difference; every match is proved by a renaming.",
                "Queries that mean the same in another shape (a join for a subquery) still differ.", "")))  # fmt: skip
    subtypes = method.get("subtypes", True)
    if subtypes:
        figures.append(_unweighted("em", "em_unweighted", "exact match, mean over sub-types", "Exact match where every "
            "sub-type counts the same, as the SPICE evaluation averages phenomena."))  # fmt: skip
    if runs and subtypes:
        figures.append(_unweighted("correct", "accuracy_unweighted", "accuracy, mean over sub-types",
            "Accuracy where every sub-type counts the same.", undecided))  # fmt: skip
    if runs and (everything or language == "sparql"):
        figures += _set_figures()
    if runs:
        figures += [
            mean_of("answered", title="answered", direction="higher", explanation=Explanation(
                "share of predictions that ran and gave an answer",
                "The rest have a reason each: syntax, refused, timeout, memory, too large, unknown prefix, an error.",
                "Limits on time, memory and rows.", "")),
            mean_of("vacuous", title="vacuous", explanation=Explanation(
                "share of questions that are right where that shows little: nothing is found, nothing is counted, or "
                "the gold's condition changes nothing",
                "Counted as right, though a wrong query often passes too. The column vacuous_kind says which: empty "
                "(both find nothing), nothing counted (COUNT is 0, or another aggregate of no rows), condition idle "
                "(SQL: the gold answers the same without its WHERE).",
                "Golds that find nothing in this store, and small stores, where conditions change nothing.", "")),
        ]  # fmt: skip
    if runs and (everything or language == "sql"):
        figures.append(mean_of("tie", title="right by a tie", absent_column=undecided, explanation=Explanation(
            "share of questions that are right only because rows tie under ORDER BY",
            "The gold keeps one of several rows that tie at its LIMIT; the prediction shows another, or all. The "
            "column tie_width says how many tie there.",
            "Ties in the data, and --ties.", "")))  # fmt: skip
    if everything or method.get("prove") is not None:
        figures += proven_figures(undecided)
    for name, title, citation, meaning in _CONVENTIONS:
        if everything or name in conventions:
            figures.append(mean_of(name.replace("-", "_"), title=title, direction="higher",
                explanation=Explanation(_FORMULAS[name], meaning, _MOVED_BY.get(name, ""), citation),
                range=(0.0, math.inf) if name == "ves" else (0.0, 1.0),
                absent="whose queries were not timed" if name == "ves" else "",
                absent_column=NOT_READ if name == "spider-exact" else ""))  # fmt: skip
    if everything or method.get("parts"):
        figures += part_figures()
    if judged:
        # What has no gold has a judge's verdict alone; every other figure says why it has none.
        figures = [
            replace(f, absent_column=UNDECIDED) if isinstance(f, Statistic) and not f.absent_column else f
            for f in figures
        ]
    if everything or judged:
        figures.insert(0, judged_figure(method, mean_of("correct", "accuracy", title="accuracy")))
    return figures


_FORMULAS = {
    "test-suite": "share of queries equal on every database after DISTINCT is taken out of both",
    "test-suite-keep-distinct": "share of queries equal on every database, DISTINCT kept",
    "bird": "share of queries whose set of rows equals the gold's",
    "spider2": "share of answers that hold every column of a gold that is asked for",
    "spider-exact": "share of queries whose clauses are all the gold's, but for values",
    "projection": "share of queries equal to the gold once columns that they have too many are dropped",
    "soft-f1": "mean of 2·tp / (2·tp + fp + fn) over cells, rows held against each other in their order",
    "ves": "mean of sqrt(seconds of the gold / seconds of the prediction), medians of several runs; 0 where wrong",
    "text2sparql": "mean of 2·|relevant ∩ retrieved| / (|relevant| + |retrieved|), all variables in one flat set",
}
_MOVED_BY = {
    "spider-exact": "What the evaluator cannot read counts as wrong: aliases without AS, names after AS in SELECT, "
    "LEFT JOIN, lists after IN, IS NULL.",
    "soft-f1": "The order of rows: one row more at the top moves all others, also where the gold does not sort.",
    "ves": "The machine, what else runs on it, and chance: this figure alone differs from run to run.",
}
_CONVENTIONS = (
    ("test-suite", "test-suite accuracy", _SUITE,
     "test-suite-sql-eval's default: bags of rows under column permutation, order if the gold says ORDER BY anywhere."),
    ("test-suite-keep-distinct", "test-suite accuracy, DISTINCT kept", _SUITE,
     "test-suite-sql-eval with --keep_distinct."),
    ("bird", "BIRD execution accuracy", _BIRD,
     "Columns must be in the gold's order; order and repetition of rows make no difference."),
    ("spider2", "Spider 2.0-lite", _SPIDER2,
     "Any of several golds will do. Each wanted column must have its values in some predicted column, numbers within "
     "0.01, nothing as 0; further columns do no harm, and rows need not hang together."),
    ("spider-exact", "Spider exact-set match", SPIDER,
     "Each clause is compared as a set; values, DISTINCT, conditions of joins and aliases make no difference, nor "
     "which of two columns that a foreign key connects is named."),
    ("projection", "right after projection", "",
     "As accuracy, but columns beyond the gold's do no harm."),
    ("soft-f1", "soft F1", _MINI_DEV,
     "Credit for rows that are right in part: the n-th rows of both are held against each other as sets of cells, "
     "repeated rows counted once. The order of columns makes no difference."),
    ("ves", "valid efficiency score", _BIRD,
     "1 where a right prediction is as fast as the gold, more where it is faster: BIRD's first VES, not R-VES."),
    ("text2sparql", "TEXT2SPARQL set-F", _T2S,
     "The challenge's official measure; an empty gold or a false ASK can never score. Rows that tie at a LIMIT are "
     "taken in the order of their values; text2sparql_low and text2sparql_high are what other choices give."),
)  # fmt: skip


def _set_figures() -> list[AnyStatistic]:
    """Of questions whose answer is a set."""
    figures = [
        mean_of("precision", "macro_precision", title="precision (macro)", direction="higher", explanation=Explanation(
            "mean over questions of tp / (tp + fp)",
            "Of what was answered, how much is right. No answer to a question that has answers counts 0.",
            "Over-generation: a thousand wrong answers beside three right ones give 0.003.", _GERBIL)),
        mean_of("recall", "macro_recall", title="recall (macro)", direction="higher", explanation=Explanation(
            "mean over questions of tp / (tp + fn)", "Of what should be answered, how much was.", "", _GERBIL)),
        mean_of("f1", "macro_f1", title="F1 (macro)", direction="higher", explanation=Explanation(
            "mean over questions of 2·tp / (2·tp + fp + fn); 1 where both are empty",
            "GERBIL's macro F1: each question counts the same.",
            "It is not the harmonic mean of macro precision and macro recall: macro_f1_qald is.", _GERBIL)),
        Statistic("macro_f1_qald", ("precision_qald", "recall", ONE), _harmonic, "F1 (macro, QALD)", "higher",
            explanation=Explanation(
                "harmonic mean of mean precision and mean recall; giving no answer has precision 1 and recall 0",
                "The QALD convention for systems that decline to answer.",
                "Declining to answer costs less here than elsewhere.", _GERBIL)),
        mean_of("f1_spice", "macro_f1_spice", title="F1 (macro, SPICE)", direction="higher", explanation=Explanation(
            "as F1 (macro), but 0 where both are empty", "The SPICE evaluation's convention.", "", _SPICE)),
        _pooled("micro_precision", ("tp", "fp"), _of_all, "precision (micro)", Explanation(
            "Σ tp / (Σ tp + Σ fp)", "Answers pooled over questions.",
            "One question with a huge answer outweighs all others.", _GERBIL)),
        _pooled("micro_recall", ("tp", "fn"), _of_all, "recall (micro)", Explanation(
            "Σ tp / (Σ tp + Σ fn)", "Answers pooled over questions.",
            "One question with a huge gold set outweighs all others.", _GERBIL)),
        _pooled("micro_f1", ("tp", "fp", "fn"), _f1_parts, "F1 (micro)", Explanation(
            "2·Σ tp / (2·Σ tp + Σ fp + Σ fn)", "Answers pooled over questions, as the SPICE evaluation's F1.",
            "One question with a huge answer outweighs all others.", _SPICE)),
        mean_of("jaccard", title="Jaccard", direction="higher", explanation=Explanation(
            "mean over questions of |gold ∩ predicted| / |gold ∪ predicted|; 1 where both are empty",
            "Overlap of the two answer sets.", "", "")),
    ]  # fmt: skip
    return [replace(figure, absent="whose answer is no set (yes or no, or a count)") for figure in figures]
