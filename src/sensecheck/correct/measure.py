"""From records and what their queries answered to measurements: pure functions, no I/O.

A prediction that cannot be run is wrong, and its reason is kept in `outcome`. A record whose *gold* cannot be had,
or that could not be asked because the endpoint failed, is unscored: that is not the system's fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar
from zlib import crc32

import polars as pl

from sensecheck.correct.answer_conventions import PROJECTION, SOFT_F1, equal_after_projection, soft_f1
from sensecheck.correct.answer_keys import ANSWER_KEY
from sensecheck.correct.answer_sets import (
    Key,
    Overlap,
    SetF,
    best_column_order,
    count_of,
    flat_relevant,
    least_detail,
    listed_key,
    number_of,
    overlap,
    row_set,
    set_f_range,
    texts_of_digits,
    verdict_of,
)
from sensecheck.correct.figures import NOT_NORMALISED
from sensecheck.correct.given import listed_answer
from sensecheck.correct.hardness import makeup_of
from sensecheck.correct.label_columns import without_label_columns
from sensecheck.correct.question_types import (
    BOOLEAN_TYPE,
    COUNT_TYPES,
    ELLIPSIS_SUBTYPES,
    MULTI_ENTITY_SUBTYPES,
)
from sensecheck.correct.reasons.kinds import Explanation, reason_columns, reason_texts
from sensecheck.correct.records import MADE_OF_GOLD, MEASURED, Language, Record, Records
from sensecheck.correct.spider2 import spider2_equal
from sensecheck.correct.spider_parts import NOT_READ, SPIDER_EXACT, SpiderParts
from sensecheck.correct.sql_compare import GoldPlan, bird_equal, compare, plan_gold, suite_equal, without_distinct
from sensecheck.correct.ties import EVERY_ROW_TIES, TIES, UNDECIDED, TieAtCut, Ties, tie_at_cut, widest
from sensecheck.correct.timing import RUNS
from sensecheck.correct.vacuity import EMPTY, NOTHING_COUNTED, sparql_counts_nothing
from sensecheck.inputs.guarding import Fault, OverBudgetError, guarded
from sensecheck.language.answers import Cell
from sensecheck.language.isomorphism import Shape
from sensecheck.language.query_tokens import same_tokens
from sensecheck.language.sparql import Query, SparqlError, normal_form, parse, same_query, triple_count
from sensecheck.language.sparql.total_order import text_in_total_order
from sensecheck.language.sql_normal_form import sql_normal_form
from sensecheck.stores import STANDARD_PREFIXES, Answer, Failure, Outcome, Reason, Request, Term

T = TypeVar("T", bound=Hashable)
SPIDER2 = "spider2"
VES = "ves"
CONVENTIONS = (
    "test-suite", "test-suite-keep-distinct", "bird", SPIDER2, SPIDER_EXACT, PROJECTION, SOFT_F1, VES, "text2sparql",
)  # fmt: skip
OF_QUERIES = frozenset((SPIDER_EXACT, VES))
"""Conventions that look at the queries rather than at what they answer."""
GIVEN = Request("", "given")
"""What a predicted answer that stands in the file is an outcome of: of nothing that is ever asked."""

_ELLIPSIS = frozenset(ELLIPSIS_SUBTYPES)
_MULTI_ENTITY = frozenset(MULTI_ENTITY_SUBTYPES)
_YES_NO = re.compile(r"\b(yes|no|true|false)\b", re.IGNORECASE)
_ENDPOINT_FAULTS = (Reason.ENDPOINT_ERROR, Reason.ENDPOINT_DEAD)
NO_PREDICTION = "no prediction"
MOST_CHARACTERS = 100_000
"""Characters of a query that is brought into its normal form."""
T2S = "text2sparql"


@dataclass(slots=True, frozen=True)
class Choices:
    """Everything that can change a measurement; part of the signature."""

    language: Language = "sparql"
    normalise: bool = True
    gold: Literal["auto", "query", "answers"] = "auto"
    conventions: tuple[str, ...] = ()
    ignore_distinct: bool = False
    coerce: bool = False
    ignore_labels: bool = False
    extract: bool = True
    ties: Ties = TIES
    answer_keys: bool = False
    """Whether predicted answers get keys, by which samples and systems are grouped; no figure of one row needs them."""
    prefixes: Mapping[str, str] = field(default_factory=lambda: STANDARD_PREFIXES)
    dialect: str = "sqlite"
    ves_runs: int = RUNS
    """How often each query is timed, where it is."""
    parts: bool = False
    """Whether clauses of SQL are compared one by one."""
    subtypes: bool = True
    """Whether records say of which type they are, as those of the SPICE evaluation do."""
    distances: bool = True
    """Whether they say how far back their context lies."""
    reasons: bool = True
    """Why wrong answers are wrong: no figure depends on it."""

    @property
    def compared(self) -> tuple[str, ...]:
        """The conventions that compare answers."""
        return tuple([name for name in self.conventions if name not in OF_QUERIES])


# ---- exact match


def exact_match(gold: str | None, prediction: str | None) -> bool:
    """As in the SPICE evaluation: the same text but for case. A missing prediction matches nothing."""
    if gold is None or prediction is None:
        return False
    if gold == prediction:
        return True
    # Case changes the length of some letters, but of no ASCII one.
    if len(gold) != len(prediction) and gold.isascii() and prediction.isascii():
        return False
    return gold.lower() == prediction.lower()


def token_match(gold: str, prediction: str | None, language: Language) -> bool | None:
    """The same tokens: spacing and the case of keywords make no difference, the case of text does.

    What takes too much to be read matches nothing, as for the normal form.
    """
    if prediction is None or gold == prediction:
        return prediction is not None
    if max(len(gold), len(prediction)) > MOST_CHARACTERS:
        return False
    same = guarded("reading tokens", same_tokens, gold, prediction, language)
    return (False if same.over_budget else None) if isinstance(same, Fault) else same


class Form(NamedTuple):
    """The normal form of a query: nothing where the text is no query, or a fault."""

    shape: Shape | Fault | None
    triples: int | None = None
    """How many triple patterns it has."""


class Match(NamedTuple):
    """Whether a prediction is its gold query, and the fault that stood in the way of telling."""

    same: bool | None
    why: str = ""


class NormalForms:
    """Normal forms of queries, each distinct text read once (the last 50,000 are kept)."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.of = lru_cache(maxsize=50_000)(self._of)

    def _of(self, text: str) -> Form:
        form = guarded("normal form", self._form, text)
        return Form(form) if isinstance(form, Fault) else form

    def _form(self, text: str) -> Form:
        choices = self.choices
        if len(text) > MOST_CHARACTERS:
            raise OverBudgetError(f"a query of {len(text):,} characters, where {MOST_CHARACTERS:,} are allowed")
        if choices.language == "sql":
            return Form(sql_normal_form(text, choices.dialect, set_semantics=choices.ignore_distinct))
        try:
            query = parse(text, choices.prefixes).query
            return Form(normal_form(query, set_semantics=choices.ignore_distinct), triple_count(query))
        except SparqlError:
            return Form(None)

    def match(self, gold: str, prediction: str | None) -> Match:
        """What a prediction asks for too much of is wrong; what only we cannot handle, or the gold's, is not told."""
        if prediction is None or gold == prediction:
            return Match(prediction is not None)
        wanted = self.of(gold).shape
        if wanted is None:
            return Match(exact_match(gold, prediction))
        if isinstance(wanted, Fault):
            return Match(None, f"gold's normal form: {wanted.reason}")
        shown = self.of(prediction).shape
        if shown is None:
            return Match(False)
        if isinstance(shown, Fault):
            return Match(False if shown.over_budget else None, f"normal form: {shown.reason}")
        same = guarded("comparing normal forms", same_query, wanted, shown)
        if isinstance(same, Fault):
            return Match(False if same.over_budget else None, f"comparing normal forms: {same.reason}")
        return Match(same)


# ---- the gold answer


def kind_of(record: Record, gold: Answer | None, choices: Choices) -> str:
    """boolean, count, set or table: what is asked for."""
    if choices.language == "sql":
        return "table"
    if record.question_type == BOOLEAN_TYPE:
        return "boolean"
    if record.question_type in COUNT_TYPES:
        return "count"
    if gold is not None:
        return "set" if gold.boolean is None else "boolean"
    # What is listed says it: one true or false, or a YES or NO on its own.
    listed = record.results if record.results is not None else [record.answer]
    if len(listed) == 1 and (isinstance(listed[0], bool) or (record.results is None and _is_verdict(listed[0]))):
        return "boolean"
    return "set"


def _is_verdict(answer: Any) -> bool:
    return isinstance(answer, str) and _YES_NO.fullmatch(answer.strip()) is not None


def uses_gold_query(record: Record, choices: Choices) -> bool:
    """Whether the gold answer comes from running the gold query."""
    if choices.gold != "auto":
        return choices.gold == "query"
    if choices.language == "sql":
        # The query, which knows of order and of ties, unless nothing at all need be run.
        return record.gold is not None and not (is_answered(record) and has_answers(record))
    return record.results is None and not _golds(record) and record.gold is not None


def is_answered(record: Record) -> bool:
    """Whether the prediction is an answer, so that nothing is run for it."""
    return record.given is not None and record.given.predicted is not None


def _golds(record: Record) -> tuple[Answer, ...]:
    return () if record.given is None else record.given.golds


def has_answers(record: Record) -> bool:
    """Whether the file says what is right."""
    return bool(_golds(record)) or record.results is not None or record.answer is not None


def predicted_outcome(record: Record, outcomes: Mapping[Request, Outcome], file: str = "") -> Outcome | None:
    """What the prediction answers: as the file says, or as its query did."""
    if is_answered(record):
        assert record.given is not None
        return outcomes.get(GIVEN, record.given.predicted)
    return None if record.prediction is None else outcomes.get(Request(record.prediction, file))


def _gold_verdict(record: Record) -> tuple[bool, ...] | None:
    """YES and NO in the order in which the answer says them."""
    if isinstance(record.answer, bool):
        return (record.answer,)
    if record.answer is None and record.results and isinstance(record.results[0], bool):
        return tuple(record.results)
    words = _YES_NO.findall(str(record.answer))
    return tuple([word.lower() in ("yes", "true") for word in words]) or None


def _gold_count(record: Record) -> float | None:
    if isinstance(record.answer, int | float) and not isinstance(record.answer, bool):
        return float(record.answer)
    number = number_of(str(record.answer)) if record.answer is not None else None
    if number is not None:
        return number
    return float(len(set(map(str, record.results)))) if record.results is not None else None


# ---- one record


@dataclass(slots=True)
class Scored:
    """What was measured of one record's answer. None: does not apply."""

    kind: str
    outcome: str = "answered"
    message: str = ""
    unscored: str = ""
    correct: bool | None = None
    sets: Overlap | None = None
    vacuous: bool | None = None
    vacuous_kind: str = ""
    """In which way a right answer shows little (`vacuity.KINDS`)."""
    tie: bool | None = None
    tie_at_cut: TieAtCut | None = None
    undecided: str = ""
    """Why there is no verdict though both queries answered."""
    counted_rows: bool | None = None
    named: dict[str, Any] = field(default_factory=dict)  # verdicts of named conventions
    gold_text: str = ""
    answer_text: str = ""
    answer_key: str = ""
    explanation: Explanation | None = None
    """Why it is wrong, where it is and reasons are asked for."""


def _failed(outcome: Outcome | None) -> str:
    """Why there is no answer, or nothing."""
    if outcome is None:
        return NO_PREDICTION
    return str(outcome.reason) if isinstance(outcome, Failure) else ""


def score_sparql(record: Record, predicted: Outcome | None, gold: Outcome | None, choices: Choices) -> Scored:
    """`predicted` is None without a prediction; `gold` is the gold query's outcome where that is what counts."""
    if gold is None and _golds(record) and not uses_gold_query(record, choices):
        # Any of them is right; of several that are not met, the one that is met best is told.
        each = [score_sparql(replace(record, given=None), predicted, one, choices) for one in _golds(record)]
        return max(each, key=lambda scored: (bool(scored.correct), scored.sets.f1 if scored.sets is not None else 0.0))
    if isinstance(gold, Failure):
        failed = f"gold query: {gold.reason}"
        return Scored("set", _failed(predicted) or "answered", unscored=failed, message=gold.message)
    if gold is None and uses_gold_query(record, choices):
        return Scored("set", _failed(predicted) or "answered", unscored="no gold query")
    kind = kind_of(record, gold, choices)
    scored = Scored(kind, outcome=_failed(predicted) or "answered")
    if isinstance(predicted, Failure):
        scored.message = predicted.message
        if predicted.reason in _ENDPOINT_FAULTS:
            scored.unscored = str(predicted.reason)
            return scored
    answer = predicted if isinstance(predicted, Answer) else None
    if answer is not None:
        scored.answer_text = shown_answer(answer)
    if kind == "boolean":
        _score_boolean(scored, record, answer, gold)
    elif kind == "count" and gold is None:
        _score_count(scored, record, answer)
    elif kind == "count":
        assert isinstance(gold, Answer)
        wanted = count_of(gold)
        scored.gold_text = shown_answer(gold)
        _compare_count(scored, wanted.value, answer)
    else:
        _score_set(scored, record, answer, gold, ignore_labels=choices.ignore_labels)
        if scored.correct and gold is not None and record.gold is not None and _counts_nothing(gold, record, choices):
            scored.vacuous, scored.vacuous_kind = True, NOTHING_COUNTED
    return scored


def _counts_nothing(gold: Answer, record: Record, choices: Choices) -> bool:
    if len(gold.rows) != 1 or not uses_gold_query(record, choices):
        return False
    counts = guarded(
        "reading the gold query",
        lambda: sparql_counts_nothing(gold, parse(record.gold or "", choices.prefixes).query),
    )
    return counts is True


@dataclass(slots=True, frozen=True)
class Cut:
    """A query with LIMIT or OFFSET, and what to ask to see what its choice among tied rows is worth."""

    query: Query
    ordered: str | None  # with ties in the order of their values
    whole: str  # every row that might have been shown


def cut_of(text: str, choices: Choices) -> Cut | None:
    """None where nothing is cut, or nothing can be read."""
    cut = guarded("reading LIMIT", _cut_of, text, choices)
    return None if isinstance(cut, Fault) else cut


def _cut_of(text: str, choices: Choices) -> Cut | None:
    try:
        parsed = parse(text, choices.prefixes)
    except SparqlError:
        return None
    if parsed.query.form != "SELECT" or (parsed.query.limit is None and not parsed.query.offset):
        return None
    return Cut(parsed.query, text_in_total_order(parsed), parsed.text_without_limit())


def official_set_f(
    record: Record, outcomes: Mapping[Request, Outcome], cuts: Mapping[str, Cut | None], choices: Choices
) -> SetF | None:
    """TEXT2SPARQL's set-F, tied rows taken in the order of their values, with the range that ties leave open."""

    def answer_of(text: str | None) -> Answer | None:
        if text is None:
            return None
        cut = cuts.get(text)
        shown = outcomes.get(Request(cut.ordered)) if cut is not None and cut.ordered is not None else None
        outcome = shown if isinstance(shown, Answer) else outcomes.get(Request(text))
        return outcome if isinstance(outcome, Answer) else None

    if uses_gold_query(record, choices):
        gold = answer_of(record.gold)
        if gold is None:
            return None
        relevant = flat_relevant(gold)
    elif _golds(record):
        relevant = flat_relevant(_golds(record)[0])
    elif record.results is not None:
        relevant = set(map(str, record.results))
    else:
        return None
    if is_answered(record):
        given = predicted_outcome(record, outcomes)
        return set_f_range(relevant, given) if isinstance(given, Answer) else SetF(0.0, 0.0, 0.0)
    answer = answer_of(record.prediction)
    if answer is None or record.prediction is None:
        return SetF(0.0, 0.0, 0.0)
    cut = cuts.get(record.prediction)
    if cut is None:
        return set_f_range(relevant, answer)
    whole = outcomes.get(Request(cut.whole))
    return set_f_range(relevant, answer, cut.query, whole if isinstance(whole, Answer) else None)


def add_official(
    scored: Scored,
    record: Record,
    outcomes: Mapping[Request, Outcome],
    cuts: Mapping[str, Cut | None],
    choices: Choices,
) -> None:
    score = official_set_f(record, outcomes, cuts, choices)
    if score is not None:
        scored.named |= {T2S: score.value, f"{T2S}_low": score.low, f"{T2S}_high": score.high}


def _score_boolean(scored: Scored, record: Record, answer: Answer | None, gold: Answer | None) -> None:
    wanted: tuple[bool, ...] | None
    if gold is not None:
        verdict = verdict_of(gold)
        wanted = None if verdict is None else (verdict,)
    else:
        wanted = _gold_verdict(record)
    if wanted is None:
        scored.unscored = "gold answer is no yes or no"
        return
    scored.gold_text = " and ".join("yes" if w else "no" for w in wanted)
    shown_verdict = None if answer is None else verdict_of(answer)
    # Several verdicts ("YES and NO respectively") are not met by one.
    scored.correct = shown_verdict is not None and wanted == (shown_verdict,)


def _score_count(scored: Scored, record: Record, answer: Answer | None) -> None:
    wanted = _gold_count(record)
    if wanted is None:
        scored.unscored = "gold answer is no number"
        return
    scored.gold_text = f"{wanted:g}"
    _compare_count(scored, wanted, answer)


def _compare_count(scored: Scored, wanted: float | None, answer: Answer | None) -> None:
    if answer is None:
        scored.correct = False
        return
    count = count_of(answer)
    scored.counted_rows = count.from_rows
    scored.correct = count.value is not None and wanted is not None and abs(count.value - wanted) <= 1e-9 * abs(wanted)
    scored.vacuous = scored.correct and wanted == 0
    scored.vacuous_kind = NOTHING_COUNTED if scored.vacuous else ""


def _listed_text(value: Any) -> str:
    if isinstance(value, Mapping):
        value = list(value.values())
    return " | ".join(map(_listed_text, value)) if isinstance(value, list | tuple) else str(value)


def _score_set(
    scored: Scored, record: Record, answer: Answer | None, gold: Answer | None, *, ignore_labels: bool = False
) -> None:
    answered: set[Key] = set()
    if gold is not None:
        detail = gold.detail if answer is None else least_detail(gold, answer)
        texts = texts_of_digits(gold, answer) if detail != "full" else frozenset()
        wanted = row_set(gold, detail=detail, texts=texts)
        scored.gold_text = shown_answer(gold)
        if answer is not None and answer.boolean is None:
            answered = best_column_order(wanted, answer, detail=detail, texts=texts)
            if ignore_labels and answered != wanted:
                width = len(gold.columns) or 1
                answered = without_label_columns(wanted, answered, answer, gold.columns, detail, width, texts)
    elif record.results is not None or record.answer is not None:
        listed = record.results if record.results is not None else [record.answer]
        texts = texts_of_digits(answer)
        wanted = {listed_key(value, texts) for value in listed} - {None}
        scored.gold_text = "\n".join(sorted(map(_listed_text, listed))[:_SHOWN_ROWS])
        if answer is not None and answer.boolean is None:
            answered = best_column_order(wanted, answer, detail="bare", texts=texts)
            if ignore_labels and answered != wanted:
                width = max([len(row) for row in listed_answer(listed).rows], default=1)
                answered = without_label_columns(wanted, answered, answer, (), "bare", width, texts)
    else:
        scored.unscored = "no gold answer"
        return
    # A failed query answered nothing; even where nothing is right, it gets no credit for that.
    scored.sets = overlap(wanted, answered) if answer is not None or wanted else Overlap(0, 0, 1)
    scored.correct = answer is not None and answer.boolean is None and scored.sets.fp == scored.sets.fn == 0
    scored.vacuous = scored.correct and not wanted
    scored.vacuous_kind = EMPTY if scored.vacuous else ""


def score_sql(
    record: Record,
    files: Sequence[str],
    outcomes: Mapping[Request, Outcome],
    plan: GoldPlan,
    choices: Choices,
) -> Scored:
    """Right when equal on every database of the schema (one, or several as in test suites)."""
    assert record.gold is not None
    scored = Scored("table", correct=True, vacuous=True, tie=False)
    for name in choices.compared:
        scored.named[name] = True
    ties: list[TieAtCut | None] = []
    for number, file in enumerate(files):
        gold = outcomes[Request(record.gold, file)]
        if isinstance(gold, Failure):
            scored.unscored, scored.message = f"gold query: {gold.reason}", gold.message
            scored.outcome = _failed(outcomes.get(Request(record.prediction or "", file))) or "answered"
            return scored
        outcome = outcomes.get(Request(record.prediction, file)) if record.prediction is not None else None
        if not number:
            scored.gold_text = shown_answer(gold)
            scored.answer_text = shown_answer(outcome) if isinstance(outcome, Answer) else ""
        if not number or (scored.outcome == "answered" and isinstance(outcome, Failure)):
            scored.outcome = _failed(outcome) or "answered"
            scored.message = outcome.message if isinstance(outcome, Failure) else ""
        asked = outcomes.get(Request(plan.keyed, file)) if plan.keyed else None
        keyed = asked if isinstance(asked, Answer) else None
        ties.append(tie_at_cut(gold, plan, keyed))
        if isinstance(outcome, Answer):
            strict = choices.ties == "strict"
            verdict = compare(gold, outcome, plan, keyed, coerce=choices.coerce, strict_ties=strict)
            if number and scored.correct and not verdict.equal:
                scored.message = f"right on {Path(files[0]).name}, other rows on {Path(file).name}"
            scored.correct = bool(scored.correct and verdict.equal)
            scored.vacuous = bool(scored.vacuous and verdict.vacuous)
            scored.tie = bool(scored.tie or verdict.tie)
        else:
            scored.correct, scored.vacuous = False, False
        for name in choices.compared:
            if name in (SOFT_F1, PROJECTION):
                value = _by_tables(name, [gold], outcome, plan, outcomes.get(Request(plan.keyed, file)), choices)
                worst = scored.named[name]  # of several databases
                scored.named[name] = None if value is None or worst is None else min(value, worst)
                continue
            if name == SPIDER2:
                held = isinstance(outcome, Answer) and spider2_equal(gold, outcome, ignore_order=not plan.sorts)
                scored.named[name] = bool(scored.named[name] and held)
                continue
            scored.named[name] = bool(
                scored.named[name] and _by_convention(name, record, file, gold, outcome, outcomes)
            )
    scored.tie = bool(scored.tie and scored.correct)
    _judge_ties(scored, ties, choices)
    return scored


def _judge_ties(scored: Scored, ties: Sequence[TieAtCut | None], choices: Choices) -> None:
    """Take the verdict back where the gold decides nothing: for every prediction alike, those that fail included."""
    scored.tie_at_cut = widest(ties)
    if choices.ties == "undecided" and scored.tie_at_cut is not None and scored.tie_at_cut.every_row:
        scored.correct, scored.tie, scored.vacuous, scored.undecided = None, None, False, EVERY_ROW_TIES


def gold_tables(record: Record) -> list[Answer]:
    """The gold answers in the file as tables, each with the columns that are asked for; any of them is right."""
    if record.given is not None and record.given.golds:
        return [record.given.wanted(number) for number in range(len(record.given.golds))]
    if record.results is not None:
        return [listed_answer(record.results)]
    return [] if record.answer is None else [listed_answer([record.answer])]


def score_tables(
    record: Record, file: str, outcomes: Mapping[Request, Outcome], plan: GoldPlan, choices: Choices
) -> Scored:
    """Where an answer in the file is the gold, the prediction or both: it is that of one database, the first."""
    scored = Scored("table", correct=False, vacuous=False, tie=False)
    predicted = predicted_outcome(record, outcomes, file)
    scored.outcome = _failed(predicted) or "answered"
    keyed = None
    if uses_gold_query(record, choices):
        gold = outcomes[Request(record.gold or "", file)]
        if isinstance(gold, Failure):
            scored.unscored, scored.message = f"gold query: {gold.reason}", gold.message
            return scored
        golds = [gold]
        keyed = outcomes.get(Request(plan.keyed, file)) if plan.keyed else None
    else:
        golds = gold_tables(record)
        if not golds:
            scored.unscored = "no gold answer"
            return scored
    scored.gold_text = shown_answer(golds[0])
    ignore_order = None if record.given is None else record.given.ignore_order
    if ignore_order is not None:
        plan = GoldPlan() if ignore_order else GoldPlan(sorts=True) if not plan.sorts else plan
    if isinstance(predicted, Failure):
        scored.message = predicted.message
    kept = keyed if isinstance(keyed, Answer) else None
    ties = [tie_at_cut(gold, plan, kept) for gold in golds]
    if not isinstance(predicted, Answer):
        scored.named = dict.fromkeys(choices.compared, False)
        _judge_ties(scored, ties, choices)
        return scored
    scored.answer_text = shown_answer(predicted)
    shown, golds = as_table(predicted), list(map(as_table, golds))
    for gold in golds:
        verdict = compare(gold, shown, plan, kept, coerce=choices.coerce, strict_ties=choices.ties == "strict")
        if verdict.equal:
            scored.correct, scored.vacuous, scored.tie = True, verdict.vacuous, verdict.tie
            scored.vacuous_kind = EMPTY if verdict.vacuous else ""
            scored.gold_text = shown_answer(gold)
            break
    for name in choices.compared:
        if name in (SOFT_F1, PROJECTION):
            scored.named[name] = _by_tables(name, golds, shown, plan, kept, choices)
            continue
        scored.named[name] = _by_rule_of(name, golds, shown, record.gold or "", not plan.sorts)
    _judge_ties(scored, ties, choices)
    return scored


def _by_tables(
    name: str,
    golds: Sequence[Answer],
    predicted: Outcome | None,
    plan: GoldPlan,
    keyed: Outcome | None,
    choices: Choices,
) -> float | None:
    """What soft F1 or projection make of a prediction, by the gold that suits it best."""
    if not isinstance(predicted, Answer):
        return False
    if name == SOFT_F1:
        return max(soft_f1(gold, predicted) for gold in golds)
    kept = keyed if isinstance(keyed, Answer) else None
    held = [equal_after_projection(gold, predicted, plan, kept, coerce=choices.coerce) for gold in golds]
    return None if None in held and True not in held else True in held


def as_table(answer: Answer) -> Answer:
    """A verdict, as a list of one true or false is read, is a table of one cell for SQL; terms are their values."""
    if answer.boolean is not None:
        return Answer(["column 1"], [(answer.boolean,)])
    if not any(isinstance(cell, Term) for row in answer.rows for cell in row):
        return answer
    rows: list[tuple[Cell, ...]] = [
        tuple([cell.value if isinstance(cell, Term) else cell for cell in row]) for row in answer.rows
    ]
    return Answer(answer.columns, rows)


def _by_rule_of(
    name: str, golds: Sequence[Answer], predicted: Answer, gold_query: str, ignore_order: bool
) -> bool | None:
    """The verdict of a convention on tables. DISTINCT is taken out of queries, which tables are not."""
    if name == "test-suite":
        return None
    if name == SPIDER2:
        return any(spider2_equal(gold, predicted, ignore_order=ignore_order) for gold in golds)
    if name == "bird":
        return any(bird_equal(gold, predicted) for gold in golds)
    return any(suite_equal(gold, predicted, gold_query) for gold in golds)


def _by_convention(
    name: str, record: Record, file: str, gold: Answer, outcome: Outcome | None, outcomes: Mapping[Request, Outcome]
) -> bool:
    assert record.gold is not None
    if name == "test-suite":
        stripped = outcomes.get(Request(without_distinct(record.gold), file))
        answer = outcomes.get(Request(without_distinct(record.prediction or ""), file))
        return (
            isinstance(stripped, Answer) and isinstance(answer, Answer) and suite_equal(stripped, answer, record.gold)
        )
    if not isinstance(outcome, Answer):
        return False
    return bird_equal(gold, outcome) if name == "bird" else suite_equal(gold, outcome, record.gold)


# ---- what has to be asked


def sparql_requests(
    records: Iterable[Record], choices: Choices, cuts: Mapping[str, Cut | None] | None = None
) -> list[Request]:
    asked: dict[Request, None] = {}
    for record in records:
        if record.fault:
            continue
        gold = record.gold if uses_gold_query(record, choices) else None
        for text in (None if is_answered(record) else record.prediction, gold):
            if text is None:
                continue
            asked[Request(text)] = None
            cut = cuts.get(text) if cuts is not None else None
            if cut is not None:
                asked.update((Request(other), None) for other in (cut.ordered, cut.whole) if other is not None)
    return list(asked)


def sql_requests(
    records: Iterable[Record], files: Mapping[str, Sequence[str]], plans: Mapping[str, GoldPlan], choices: Choices
) -> list[Request]:
    asked: dict[Request, None] = {}
    for record in records:
        if record.fault:
            continue
        if in_file(record, choices):
            asked.update((request, None) for request in _table_requests(record, files, plans, choices))
            continue
        if record.gold is None:
            continue
        texts = [record.gold, plans[record.gold].keyed]
        if record.prediction is not None:
            texts.append(record.prediction)
        if "test-suite" in choices.conventions:
            texts += [without_distinct(text) for text in (record.gold, record.prediction) if text is not None]
        for file in files.get(record.database, ()):
            asked.update((Request(text, file), None) for text in texts if text)
    return list(asked)


def in_file(record: Record, choices: Choices) -> bool:
    """SQL: whether the gold or the prediction is an answer in the file."""
    return is_answered(record) or (has_answers(record) and not uses_gold_query(record, choices))


def _table_requests(
    record: Record, files: Mapping[str, Sequence[str]], plans: Mapping[str, GoldPlan], choices: Choices
) -> Iterable[Request]:
    """What must be run of such a record, on the first database of its schema."""
    texts: list[str | None] = [None if is_answered(record) else record.prediction]
    if record.gold is not None and uses_gold_query(record, choices):
        texts += [record.gold, plans[record.gold].keyed]
    return [Request(text, file) for file in files.get(record.database, ())[:1] for text in texts if text]


def gold_plans(records: Iterable[Record], dialect: str, known: dict[str, GoldPlan]) -> dict[str, GoldPlan]:
    for record in records:
        if record.gold is not None and record.gold not in known:
            known[record.gold] = plan_gold(record.gold, dialect)
    return known


# ---- the table


_SHOWN_ROWS = 12


def shown_answer(answer: Answer) -> str:
    """The first rows as text, for reading."""
    if answer.boolean is not None:
        return "yes" if answer.boolean else "no"
    lines = []
    for row in answer.rows[:_SHOWN_ROWS]:
        cells = [("" if cell is None else str(getattr(cell, "value", cell)))[:200] for cell in row]
        lines.append(" | ".join(cells))
    if len(answer.rows) > _SHOWN_ROWS:
        lines.append(f"… {len(answer.rows) - _SHOWN_ROWS:,} more rows")
    return "\n".join(lines) or "(nothing)"


def context_of(distance: str) -> str:
    """How far back the conversation must be remembered; 0 is a bucket of its own."""
    if distance == "1":
        return "Ctx=-1"
    if distance.isdigit() and distance != "0":
        return "Ctx<-1"
    return "Ctx=0" if distance == "0" else "none"


def _each(values: Sequence[T], make: Callable[[T], Any]) -> list[Any]:
    """make(value) of every value, made once for those that repeat."""
    results = {value: make(value) for value in set(values)}
    return list(map(results.__getitem__, values))


def measure(
    records: Records,
    scores: Sequence[Scored] | None,
    choices: Choices,
    forms: NormalForms | None = None,
    parts: SpiderParts | None = None,
) -> pl.DataFrame:
    """One row for every record. Without `scores`, exact match alone."""
    reasons: list[str | None] = [fault or None for fault in records.fault]
    if scores is not None:
        reasons = [fault or score.unscored or None for fault, score in zip(records.fault, scores, strict=True)]
    scored = [reason is None for reason in reasons]
    columns: dict[str, list[Any]] = {
        "id": records.id,
        "cluster": [talk or own for talk, own in zip(records.conversation, records.id, strict=True)],
        "scored": scored,
        "reason": reasons,
        **_groups(records, choices),
        **_matches(records, choices, forms),
        **({} if choices.language == "sparql" else _makeups(records, choices)),
        **({} if parts is None else parts.columns(records, exact=SPIDER_EXACT in choices.conventions)),
        **({"extracted": extracted_rows(records)} if choices.extract else {}),
        **({} if scores is None else _answer_columns(scores, scored, choices)),
    }
    others = {name: texts for name, texts in records.extra.items() if name not in columns}
    schema = {name: _DTYPES.get(name, pl.Boolean) for name in columns} | dict.fromkeys(others, pl.String)
    return pl.DataFrame(columns | others, schema=schema)


def extracted_rows(records: Records) -> list[bool]:
    """Of which predictions a part was taken."""
    if records.written is None:
        return [False] * len(records)
    return [told != text for told, text in zip(records.written, records.prediction, strict=True)]


def _makeups(records: Records, choices: Choices) -> dict[str, list[Any]]:
    """How hard the gold is by Spider's rules, and what it is made of."""
    makeups = [None if gold is None else makeup_of(gold, choices.dialect) for gold in records.gold]
    return {
        name: [None if made is None else str(getattr(made, name)) for made in makeups]
        for name in MADE_OF_GOLD
        if name not in records.extra
    }


def _groups(records: Records, choices: Choices) -> dict[str, list[Any]]:
    """What slices are made of, and the code of each sub-type, where records say it."""
    distances: dict[str, list[Any]] = {}
    if choices.distances or choices.subtypes:
        distances = {"distance": records.distance, "context": _each(records.distance, context_of)}
    if not choices.subtypes:
        return distances
    # Tuples are not kept in a list: thousands of them at a time wake the garbage collector.
    kinds = partial(zip, records.question_type, records.subtype, strict=True)
    codes = {kind: float(crc32("_".join(kind).encode("utf-8", "replace"))) for kind in set(kinds())}
    return {
        "question_type": _each(records.question_type, lambda kind: kind or None),
        "subtype": _each(records.subtype, lambda subtype: subtype or None),
        **distances,
        "ellipsis": _each(records.subtype, lambda subtype: "yes" if subtype in _ELLIPSIS else "no"),
        "multi_entity": _each(records.subtype, lambda subtype: "yes" if subtype in _MULTI_ENTITY else "no"),
        "type_code": list(map(codes.__getitem__, kinds())),
    }


def _matches(records: Records, choices: Choices, forms: NormalForms | None) -> dict[str, list[Any]]:
    """Exact match. Without a gold query there is nothing to match; a bad record has none."""
    # Nor is there anything to match where the prediction is an answer without a query.
    queries = [
        None if told is None and given is not None and given.predicted is not None else gold
        for gold, told, given in zip(records.gold, records.prediction, records.given, strict=True)
    ]
    pairs = partial(zip, queries, records.prediction, strict=True)
    columns: dict[str, list[Any]] = {
        "em": [None if gold is None else exact_match(gold, told) for gold, told in pairs()],
        "em_tokens": [None if gold is None else token_match(gold, told, choices.language) for gold, told in pairs()],
    }
    if forms is not None:
        matches = [_NO_MATCH if gold is None else forms.match(gold, told) for gold, told in pairs()]
        columns["em_normalised"] = [match.same for match in matches]
        columns[NOT_NORMALISED] = [match.why or None for match in matches]
    for row, golds in records.golds.items():
        _match_any(columns, row, golds, records.prediction[row], forms, choices)
    if forms is not None and choices.language == "sparql":
        counts = [None if gold is None else forms.of(gold).triples for gold in records.gold]
        columns["triples"] = [None if count is None else str(count) for count in counts]
    return columns


def _match_any(
    columns: dict[str, list[Any]],
    row: int,
    golds: Sequence[str],
    told: str | None,
    forms: NormalForms | None,
    choices: Choices,
) -> None:
    """Of several golds, the one that the prediction is counts."""
    columns["em"][row] = any(exact_match(gold, told) for gold in golds)
    columns["em_tokens"][row] = any(bool(token_match(gold, told, choices.language)) for gold in golds)
    if forms is not None:
        matches = [forms.match(gold, told) for gold in golds]
        best = max(matches, key=lambda match: (match.same is True, match.same is False))
        columns["em_normalised"][row], columns[NOT_NORMALISED][row] = best.same, best.why or None


_NO_MATCH = Match(None)
_COUNTS = ("tp", "fp", "fn")
_RATES = ("precision", "recall", "f1", "jaccard", "precision_qald", "f1_spice")
_T2S_COLUMNS = (T2S, f"{T2S}_low", f"{T2S}_high")
# All others are true or false.
_DTYPES: dict[str, Any] = {
    **dict.fromkeys(
        ("id", "cluster", "reason", NOT_NORMALISED, NOT_READ, UNDECIDED, ANSWER_KEY, *MEASURED, *MADE_OF_GOLD),
        pl.String,
    ),
    **dict.fromkeys(("type_code", "soft_f1", VES, *_RATES, *_T2S_COLUMNS), pl.Float64),
    **dict.fromkeys((*_COUNTS, "tie_width"), pl.Int64),
}


def _answer_columns(scores: Sequence[Scored], usable: Sequence[bool], choices: Choices) -> dict[str, list[Any]]:
    good = [score if ok else None for score, ok in zip(scores, usable, strict=True)]
    sets = [None if score is None else score.sets for score in good]
    columns: dict[str, list[Any]] = {
        "kind": [score.kind for score in scores],
        "outcome": [score.outcome for score in scores],
        "correct": [None if score is None else score.correct for score in good],
        "answered": [None if score is None else score.outcome == "answered" for score in good],
        "vacuous": [None if score is None else bool(score.vacuous) for score in good],
        "vacuous_kind": [None if score is None else score.vacuous_kind or None for score in good],
    }
    if choices.answer_keys:
        columns[ANSWER_KEY] = [score.answer_key or None for score in scores]
    if choices.language == "sparql":
        columns["counted_rows"] = [None if score is None else score.counted_rows for score in good]
        for name in (*_COUNTS, *_RATES):
            columns[name] = [None if overlap is None else getattr(overlap, name) for overlap in sets]
    else:
        columns["tie"] = [None if score is None or score.undecided else bool(score.tie) for score in good]
        ties = [None if score is None else score.tie_at_cut for score in good]
        columns["tie_width"] = [None if tie is None else tie.width for tie in ties]
        if choices.ties == "undecided":
            columns[UNDECIDED] = [None if score is None else score.undecided or None for score in good]
    if choices.reasons:
        columns |= reason_columns([None if score is None else score.explanation for score in good], choices.language)
    named = [name for name in choices.conventions if name != SPIDER_EXACT]
    for name in (*named, *(_T2S_COLUMNS[1:] if T2S in choices.conventions else ())):
        values = [None if score is None else score.named.get(name) for score in good]
        if name in (SOFT_F1, VES):
            values = [None if value is None else float(value) for value in values]
        columns[name.replace("-", "_")] = values
    return columns


def texts(records: Records, scores: Sequence[Scored] | None) -> pl.DataFrame:
    """What a reader wants to see of each record."""
    columns: dict[str, list[Any]] = {
        "id": records.id,
        "question": records.question,
        "gold": [";\n".join(records.golds.get(row, [])) or gold for row, gold in enumerate(records.gold)],
        "prediction": records.prediction if records.written is None else records.written,
    }
    if records.written is not None:
        marks = extracted_rows(records)
        columns["taken"] = [text if mark else None for text, mark in zip(records.prediction, marks, strict=True)]
    if scores is not None:
        columns["gold_answer"] = [score.gold_text for score in scores]
        columns["predicted_answer"] = [score.answer_text for score in scores]
        columns["message"] = [score.message for score in scores]
        if any(score.explanation is not None for score in scores):
            columns |= reason_texts([score.explanation for score in scores])
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
