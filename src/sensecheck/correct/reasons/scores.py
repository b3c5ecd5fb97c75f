"""Reasons for the records of a batch: which of them need one, and what is known of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sensecheck.correct.measure import (
    Choices,
    Scored,
    as_table,
    gold_tables,
    in_file,
    predicted_outcome,
    uses_gold_query,
)
from sensecheck.correct.reasons.answers import sparql_reason, table_reason
from sensecheck.correct.reasons.explaining import Case, Explainer
from sensecheck.correct.reasons.failures import failure_reason
from sensecheck.correct.reasons.kinds import Explanation
from sensecheck.correct.records import Record
from sensecheck.correct.sql_compare import GoldPlan, compare
from sensecheck.inputs.guarding import Fault, guarded
from sensecheck.stores import Answer, Outcome, Request


def explain_sql(
    records: Sequence[Record],
    scores: Sequence[Scored],
    files: Mapping[str, Sequence[str]],
    outcomes: Mapping[Request, Outcome],
    plans: Mapping[str, GoldPlan],
    choices: Choices,
    explainer: Explainer | None,
) -> None:
    """Put a reason into every score that is wrong. Repairs are tried where there is an explainer."""
    cases: dict[tuple[str, str, str], Case] = {}
    waiting: list[tuple[Scored, tuple[str, str, str]]] = []
    for record, score in zip(records, scores, strict=True):
        if score.unscored or score.correct is not False:
            continue
        if score.outcome != "answered":
            score.explanation = failure_reason(score.outcome, score.message)
            continue
        own_files = files.get(record.database, ())
        if record.prediction is None or record.gold is None or in_file(record, choices) or explainer is None:
            score.explanation = _of_tables(record, own_files, outcomes, plans, choices)
            continue
        key = (record.prediction, record.gold, record.database)
        case = cases.get(key) or _case(record, own_files, outcomes, plans[record.gold], choices)
        if case is not None:
            cases[key] = case
            waiting.append((score, key))
    if explainer is not None and cases:
        explained = dict(zip(cases, explainer.explain(list(cases.values())), strict=True))
        for score, key in waiting:
            score.explanation = explained[key]


def _case(
    record: Record, files: Sequence[str], outcomes: Mapping[Request, Outcome], plan: GoldPlan, choices: Choices
) -> Case | None:
    assert record.gold is not None and record.prediction is not None
    golds: dict[str, Answer] = {}
    keyed: dict[str, Answer] = {}
    wrong: tuple[str, Answer] | None = None
    for file in files:
        gold, predicted = (outcomes.get(Request(text, file)) for text in (record.gold, record.prediction))
        sorted_gold = outcomes.get(Request(plan.keyed, file)) if plan.keyed else None
        if not isinstance(gold, Answer) or not isinstance(predicted, Answer):
            continue
        golds[file] = gold
        if isinstance(sorted_gold, Answer):
            keyed[file] = sorted_gold
        if wrong is None and (len(files) == 1 or not _is_equal(gold, predicted, plan, keyed.get(file), choices)):
            wrong = (file, predicted)
    if wrong is None:
        return None
    return Case(record.prediction, record.gold, list(golds), wrong[0], golds, keyed, wrong[1], plan)


def _is_equal(gold: Answer, predicted: Answer, plan: GoldPlan, keyed: Answer | None, choices: Choices) -> bool:
    verdict = guarded(
        "comparing answers", compare, gold, predicted, plan, keyed,
        coerce=choices.coerce, strict_ties=choices.ties == "strict",
    )  # fmt: skip
    return not isinstance(verdict, Fault) and verdict.equal


def _of_tables(
    record: Record,
    files: Sequence[str],
    outcomes: Mapping[Request, Outcome],
    plans: Mapping[str, GoldPlan],
    choices: Choices,
) -> Explanation | None:
    """Where an answer in the file is the gold, the prediction or both: from the answers alone."""
    file = files[0] if files else ""
    predicted = predicted_outcome(record, outcomes, file)
    golds = gold_tables(record)
    if uses_gold_query(record, choices) and record.gold is not None:
        gold = outcomes.get(Request(record.gold, file))
        golds = [gold] if isinstance(gold, Answer) else []
    if not isinstance(predicted, Answer) or not golds:
        return None
    plan = plans.get(record.gold or "", GoldPlan())
    reason = guarded("finding a reason", table_reason, as_table(golds[0]), as_table(predicted), plan)
    return None if isinstance(reason, Fault) else reason


def explain_sparql(record: Record, score: Scored, predicted: Outcome | None, gold: Outcome | None) -> None:
    """Put a reason into a score that is wrong: from its outcome, or from the two answers."""
    if score.unscored or score.correct is not False:
        return
    if not isinstance(predicted, Answer):
        score.explanation = failure_reason(score.outcome, score.message)
        return
    golds = [gold] if isinstance(gold, Answer) else [] if record.given is None else list(record.given.golds)
    width = len(golds[0].columns) if len(golds) == 1 and golds[0].columns else None
    score.explanation = sparql_reason(score.kind, score.sets, predicted, width)
