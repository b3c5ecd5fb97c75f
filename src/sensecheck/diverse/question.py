"""What `diverse` brings so that runs, tables, pages and comparisons work for it."""

from __future__ import annotations

from typing import Any

from sensecheck.diverse import ASKS
from sensecheck.diverse.examples import example_page
from sensecheck.diverse.figures import statistics
from sensecheck.diverse.judging import JUDGING
from sensecheck.diverse.plots import plots
from sensecheck.diverse.rows import HYPOTHESES_NAMES, REFERENCES_NAMES
from sensecheck.report.question import Question
from sensecheck.report.result import Result


def verdict(result: Result) -> list[str]:
    """What to take away, in plain words."""
    figures = {figure.name: figure for figure in result.figures}
    classes = figures.get("distinct_classes")
    if classes is not None and classes.n and "mds" not in figures:
        return [f"The responses to a query fall in {classes.value:.1f} classes on average."]
    if "as" in result.signature.method or "mds" not in figures or not figures["mds"].n:
        return []
    mds = figures["mds"]
    sentences = [f"The responses reach {_percent(mds.value)} of the meanings that the references hold."]
    over = figures.get("mds_over_chance")
    if over is not None and over.n:
        by_chance = _percent(figures["chance_mds"].value)
        if isinstance(over.low, float) and over.low > 0:
            sentences.append(
                f"Responses to other queries would reach {by_chance}; these go {_percent(over.value)} of the way "
                "from there to 100%."
            )
        elif isinstance(over.low, float):
            sentences.append(f"Responses to other queries would reach {by_chance}; these are not demonstrably better.")
    repeated = figures.get("corpus_self_repetition")
    if repeated is not None and isinstance(repeated.value, float) and repeated.value > 0.5:
        sentences.append(
            f"{_percent(repeated.value)} of all four-word phrases are repeated in responses to other queries: "
            "are they canned?"
        )
    return sentences


def _percent(value: Any) -> str:
    return f"{100 * value:.0f}%" if isinstance(value, float) and value == value else "–"


QUESTION = Question(
    name="diverse",
    asks=ASKS,
    statistics=statistics,
    headline=("mds", "mds_over_chance", "pds", "max_bleu", "max_score", "distinct_classes"),
    outcome="mds",
    given=("query",),
    plots=plots,
    example_page=example_page,
    judging=JUDGING,
    verdict=verdict,
    fields={
        "hypotheses": HYPOTHESES_NAMES,
        "references": REFERENCES_NAMES,
        "query": ("query",),
        "id": ("id",),
    },
    needs=(("hypotheses",),),
    reads="How many of the different good answers do the responses reach, how near do they come, and is that better\n"
    "than chance?",
    usage=(
        "hyps.txt --references refs.json --out run/",
        "responses.jsonl --tokenize 13a --slice topic",
        "hyps.txt --references refs.json --as lsdscc",
    ),
    working=("reading and measuring", "queries"),
)
