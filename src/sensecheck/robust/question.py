"""What `robust` brings so that runs, tables, pages and comparisons work for it."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from sensecheck.report.question import Question
from sensecheck.report.result import Result
from sensecheck.robust import ASKS
from sensecheck.robust.examples import example_page
from sensecheck.robust.figures import statistics
from sensecheck.robust.judging import JUDGING
from sensecheck.robust.plots import plots
from sensecheck.robust.records import ALIASES

FEW_PAIRS = 50
"""With fewer judged pairs the values say little by themselves."""


def verdict(result: Result) -> list[str]:
    """What to take away, in plain words."""
    return list(_sentences(result))


def _sentences(result: Result) -> Iterator[str]:
    try:
        strict, inequal, covered = result["strictly_inequal"], result["inequal"], result["coverage"]
    except KeyError:  # the original has other figures
        return
    if not isinstance(strict.value, float) or not isfinite(strict.value):
        yield "No triangle could be judged: see where the pairs were lost in the funnel."
        return
    yield (
        f"{strict.value:.1%} of {strict.n:,} judged pair trials break the logic of the model's own labels, "
        f"{inequal.value:.1%} with the opposite label."
    )
    if isinstance(covered.value, float) and covered.value < 0.5:
        yield f"Only {covered.value:.0%} of the eligible pairs could be judged: the rates are about those only."
    if isinstance(strict.low, float) and strict.n < FEW_PAIRS:
        yield f"Fewer than {FEW_PAIRS} judged pairs: read the intervals, not the values."


QUESTION = Question(
    name="robust",
    asks=ASKS,
    statistics=statistics,
    headline=("strictly_inequal", "inequal", "statement_violation", "accuracy", "coverage"),
    outcome="strict",
    outcome_words=("keeps the logic", "breaks the logic"),
    given=("premise", "hypothesis"),
    plots=plots,
    example_page=example_page,
    judging=JUDGING,
    verdict=verdict,
    fields=ALIASES,
    needs=(("premise",), ("hypothesis",), ("label",)),
    reads="Reads pairs (premise, hypothesis, label) from JSONL, CSV, TSV, Parquet, Arrow or a folder of Hugging Face\n"
    "datasets, makes statements that follow from or contradict each hypothesis, keeps those the model itself\n"
    "confirms, and checks its labels for (premise, statement).",
    usage=(
        "pairs.jsonl --out run/",
        "pairs.jsonl --model roberta-large-mnli --generator google/flan-t5-xl --out run/",
        "pairs.csv --model http://localhost:8000/v1#qwen3 --generator rules --slice label",
        "pairs.jsonl --model table:predictions.csv --generator file:statements.csv",
        "pairs.jsonl --as breaknli",
    ),
    working=("asking and judging", "pairs"),
)
