"""What `correct` brings so that runs, tables, pages and comparisons work for it."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from sensecheck.correct import ASKS
from sensecheck.correct.audit.judging import GOLDS
from sensecheck.correct.audit.sheet import tables
from sensecheck.correct.examples import example_page, judged_page
from sensecheck.correct.fields import NAMES
from sensecheck.correct.figures import statistics
from sensecheck.correct.plots import plots
from sensecheck.correct.reasons.counts import counts_of, sentences
from sensecheck.judges.figures import sentences as judge_sentences
from sensecheck.labelling.judging import Judging
from sensecheck.report.question import Question
from sensecheck.report.result import Result

FEW_VACUOUS = 0.01
"""A share of right answers that show little is worth a sentence from here on."""


def verdict(result: Result) -> list[str]:
    """What to take away, in plain words."""
    return [*_sentences(result), *judge_sentences(result)]


def _sentences(result: Result) -> Iterator[str]:
    values = {f.name: f.value for f in result.figures if isinstance(f.value, float) and isfinite(f.value)}
    if "accuracy" in values and "em" in values:
        right, same = values["accuracy"], values["em"]
        yield f"{right:.1%} of the questions get the right answer; {same:.1%} get exactly the gold query."
    elif "accuracy" in values:
        yield f"{values['accuracy']:.1%} of the questions get the right answer."
    elif "em_normalised" in values and "em" in values:
        more = values["em_normalised"] - values["em"]
        yield f"{values['em']:.1%} are the gold text; {more:.1%} more are the gold query, written differently."
    if "answered" in values and values["answered"] < 1:
        yield f"{1 - values['answered']:.1%} of the predictions gave no answer; the report says why, one by one."
    yield from sentences(counts_of(result.extra))
    if values.get("vacuous", 0) > FEW_VACUOUS:
        yield f"{values['vacuous']:.1%} are right where that shows little: {_vacuous(result)}."


def _vacuous(result: Result) -> str:
    """The kinds of answers that show little, in words."""
    words = ["nothing is found", "nothing is counted"]
    words += ["the gold's condition changes nothing"] if result.signature.method.get("language") == "sql" else []
    if "vacuous" not in result.signature.method:
        return "gold and prediction both find nothing"  # a run from before there were further kinds
    return f"{', '.join(words[:-1])} or {words[-1]}"


QUESTION = Question(
    name="correct",
    asks=ASKS,
    statistics=statistics,
    headline=(
        "accuracy",
        "macro_f1",
        "em",
        "em_normalised",
        "em_unweighted",
        "test_suite",
        "test_suite_keep_distinct",
        "bird",
        "spider2",
        "spider_exact",
        "projection",
        "soft_f1",
        "ves",
        "text2sparql",
    ),
    outcome="correct",
    # Whether records have sub-types is no choice: what both runs have is compared.
    ignored_in_comparison=frozenset({"ci", "provider", "subtypes"}),
    given=("question", "gold"),
    plots=plots,
    tables=tables,
    tables_title="Golds",
    example_page=example_page,
    judging=Judging(
        "Does the predicted query give the right answer to the question?",
        ("question", "gold", "prediction", "taken", "gold_answer", "predicted_answer"),
        judged_page,
        others={"golds": GOLDS},
    ),
    verdict=verdict,
    fields=NAMES,
    needs=(("prediction", "predicted_answers"), ("gold", "answer", "results")),
    reads="Reads predicted SPARQL or SQL with gold queries or gold answers: the SPICE evaluation's JSON, or JSONL, "
    "CSV,\n"
    "Parquet with named columns (prediction, gold, results, question_type, database, …). Queries run in killable,\n"
    "read-only worker processes; each that fails has a named reason. Predictions that are answers already\n"
    "(predicted_answers) are compared as they are.",
    usage=(
        "preds/*.json --graph kg.nt --distances context_distance.log --out run/",
        "preds.jsonl --endpoint http://localhost:8890/sparql --out run/ --resume",
        "predictions.jsonl --database databases/ --convention test-suite --slice model",
        "predictions.jsonl --database databases/ --audit --audit-out golds.csv",
        "preds/*.json                       only exact match; no query is run",
        "preds/*.json --graph kg.nt --as spice",
    ),
    working=("reading and measuring", "records"),
)
