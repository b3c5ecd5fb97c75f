"""The figures of `faithful`, all from sums over pairs."""

from __future__ import annotations

import polars as pl

from sensecheck.faithful.measure import GROUP_NAMES, THRESHOLD
from sensecheck.judges.figures import figure as judged_figure
from sensecheck.runs.signature import Method, spelled
from sensecheck.statistics.statistic import AnyStatistic, Explanation, Statistic, mean_of, ratio

_BLEC = (
    "Shu, Zhang, Dong, Shi, Yu and Zhang 2021, Logic-Consistency Text Generation from Semantic Parses, Findings of ACL"
)
_MOVED = "The language, the schema given or not, the threshold and the lexicon; sentences that depend on their context."

DERIVED = {
    "any_missing": pl.col("missing") > 0,
    "any_contradicted": pl.col("contradicted") > 0,
    "any_added": pl.col("added") > 0,
    "all_facts": pl.sum_horizontal([f"{g}_facts" for g in GROUP_NAMES], ignore_nulls=False),
    "all_kept": pl.sum_horizontal([f"{g}_kept" for g in GROUP_NAMES], ignore_nulls=False),
}

_GROUP_MEANING = {
    "values": "strings, numbers, comparisons and limits",
    "negation": "negations and exclusions",
    "aggregates": "counts, sums, averages, maxima and minima",
    "order": "orders and superlatives",
    "connectives": "or, union, intersection and difference",
    "columns": "columns, tables and groups",
    "quantifiers": "all, most and only (logic forms)",
}


def statistics(method: Method) -> list[AnyStatistic]:
    """All figures under a signature's choices."""
    threshold = spelled(method.get("threshold", THRESHOLD))
    figures: list[AnyStatistic] = [
        mean_of("consistent", title="consistent", direction="higher", explanation=Explanation(
            "pairs without a finding against them / scored pairs",
            "The share of sentences that say what their query says and nothing else, as far as rules can see. "
            f"A finding counts at or above a confidence of {threshold}.",
            _MOVED,
            _BLEC)),
        Statistic("facts_kept", ("all_kept", "all_facts"), ratio, "facts kept", "higher", (0.0, 1.0), derived=DERIVED,
            out_of="facts", explanation=Explanation(
                "facts of the queries neither missing nor contradicted / facts of the queries",
                "How much of what the queries say is in the sentences too; long queries weigh more than short ones.",
                _MOVED)),
    ]  # fmt: skip
    for status, meaning in (
        ("missing", "something that the query says and the sentence does not"),
        ("contradicted", "something of the query that the sentence contradicts"),
        ("added", "something that the sentence says and the query does not"),
    ):
        figures.append(
            mean_of(
                f"any_{status}",
                name=status,
                title=f"something {status}",
                direction="lower",
                derived=DERIVED,
                explanation=Explanation(
                    f"pairs with at least one finding '{status}' / scored pairs",
                    f"The share of sentences with {meaning}. One pair may count under several of the three.",
                    _MOVED,
                ),
            )
        )
    for group in GROUP_NAMES:
        figures.append(
            Statistic(
                f"{group}_kept",
                (f"{group}_kept", f"{group}_facts"),
                ratio,
                f"{group} kept",
                "higher",
                (0.0, 1.0),
                out_of="facts",
                explanation=Explanation(
                    f"facts of the kind {group} neither missing nor contradicted / all facts of the kind",
                    f"How reliably {_GROUP_MEANING[group]} get into the sentence; no value where no query has any. "
                    "n counts pairs; the number of such facts in their queries stands beside it.",
                    _MOVED,
                ),
            )
        )
    if not method or method.get("judge"):
        of = figures[0]
        assert isinstance(of, Statistic)
        figures.insert(0, judged_figure(method, of))
    return figures
