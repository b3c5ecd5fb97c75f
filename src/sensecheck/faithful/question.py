"""What `faithful` brings so that runs, tables, pages and comparisons work for it."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from sensecheck.faithful import ASKS
from sensecheck.faithful.columns import (
    DB_NAMES,
    EVIDENCE_NAMES,
    PREDICTED,
    PREDICTED_QUERIES,
    PREDICTED_SENTENCES,
    QUERY_NAMES,
    REFERENCE_NAMES,
    SENTENCE_NAMES,
    fields_of,
)
from sensecheck.faithful.examples import example_page
from sensecheck.faithful.figures import statistics
from sensecheck.faithful.measure import HINT
from sensecheck.faithful.plots import plots
from sensecheck.judges.figures import sentences as judge_sentences
from sensecheck.labelling.judging import Judging
from sensecheck.report.question import Question
from sensecheck.report.result import Result

FEW_FACTS = 10
"""A kind of fact with fewer is not called the weakest."""


def verdict(result: Result) -> list[str]:
    """What to take away, in plain words."""
    return [*_sentences(result), *judge_sentences(result)]


def _sentences(result: Result) -> Iterator[str]:
    figures = {figure.name: figure for figure in result.figures}
    rate = figures.get("consistent")
    if rate is None or not isinstance(rate.value, float) or not isfinite(rate.value):
        return
    yield f"{rate.value:.1%} of {rate.n:,} sentences say what their query says and nothing else."
    faults = [
        (figure.value, what)
        for name, what in (
            ("missing", "leave something out"),
            ("contradicted", "say the opposite of something"),
            ("added", "add something"),
        )
        if (figure := figures.get(name)) is not None and isinstance(figure.value, float) and figure.value > 0
    ]
    if faults:
        share, what = max(faults)
        yield f"The commonest fault: {share:.1%} {what}."
    kinds = [
        (figure.value, name.removesuffix("_kept"), figure.beside["facts"])
        for name, figure in figures.items()
        if name.endswith("_kept") and name != "facts_kept" and isinstance(figure.value, float)
        and isfinite(figure.value) and figure.beside.get("facts", 0) >= FEW_FACTS
    ]  # fmt: skip
    if kinds and min(kinds)[0] < 1:
        share, kind, facts = min(kinds)
        yield f"The weakest kind of fact: {kind}; of {facts:,} such facts {share:.1%} are kept."


QUESTION = Question(
    name="faithful",
    asks=ASKS,
    statistics=statistics,
    headline=("consistent", "missing", "contradicted", "added"),
    outcome="consistent",
    given=(("query", "sentence"),),
    beside={HINT: "evidence"},
    plots=plots,
    example_page=example_page,
    judging=Judging(ASKS, ("query", "sentence", HINT)),
    verdict=verdict,
    fields={
        "query": (*PREDICTED_QUERIES, *QUERY_NAMES, *PREDICTED),
        "sentence": (*PREDICTED_SENTENCES, *SENTENCE_NAMES, *PREDICTED),
        "db_id": DB_NAMES,
        "reference": REFERENCE_NAMES,
        "evidence": EVIDENCE_NAMES,
        "id": ("id",),
    },
    fields_of=fields_of,
    needs=(("sentence",), ("query",)),
    reads="Reads pairs of a formal query and a sentence (columns query, sentence, and for SQL db_id and evidence) in\n"
    "JSONL, JSON, CSV, TSV or Parquet, plain or compressed with gzip or zstd. Every pair gets a verdict and, for\n"
    "every part of the query, which words of the sentence cover it, what is missing, contradicted or added.",
    usage=(
        "pairs.jsonl --language sql --schema tables.json --out run/",
        "pairs.csv --columns query=gold_sql --columns sentence=generated --schema db.sqlite",
        "forms.jsonl --language logic2text --slice action",
        "questions.jsonl --language sparql --labels graph.nt",
        "predict_dev.json --gold dev.json --schema dev_tables.json --schema dev_databases/",
        "pairs.jsonl --schema tables.json --as blec",
        "new.jsonl --schema tables.json --fail-under consistent=0.9 --gate-on bound",
    ),
    working=("reading and checking", "pairs"),
)
