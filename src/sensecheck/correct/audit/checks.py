"""What may be wrong with a gold: each check is a function from a case to findings, with evidence in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple

from sqlglot import exp

from sensecheck.correct.audit.golds import Gold, Group
from sensecheck.correct.audit.outline import Compared, Outline
from sensecheck.correct.audit.schema import Place, Schema, quoted
from sensecheck.correct.audit.weights import ANOTHER_SHAPE, NOTHING_FOUND, ONLY_REPEATS, ONLY_TYPES, WEIGHTS
from sensecheck.correct.measure import shown_answer
from sensecheck.correct.sql_compare import GoldPlan, Verdict, compare, without_distinct
from sensecheck.correct.ties import tie_at_cut
from sensecheck.correct.vacuity import counts_nothing
from sensecheck.inputs.guarding import guarded
from sensecheck.stores import Answer, Failure, Outcome, Request

VALUES = 5_000
"""Distinct values of a column that are looked at."""
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)\s*")
_MOSTLY = 0.8
"""A column of text holds numbers where so many of its values are."""
_SHOWN = 120
_RIVALS = 3  # groups of predictions that are looked at
_NEAR = 0.84


class Finding(NamedTuple):
    kind: str
    evidence: str
    weight: float

    @classmethod
    def of(cls, kind: str, evidence: str, times: float = 1.0) -> Finding:
        return cls(kind, evidence, WEIGHTS[kind].weight * times)


class Doubt(NamedTuple):
    """What a faithful run says of an id."""

    doubt: float
    words: str
    query: str = ""
    """The query that it looked at."""


@dataclass(slots=True)
class Case:
    """A gold with all that is known of it."""

    gold: Gold
    file: str
    dialect: str
    plan: GoldPlan
    schema: Schema
    outline: Outline | None = None
    doubts: Sequence[Doubt] = ()
    outcomes: Mapping[Request, Outcome] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome | None:
        return self.outcomes.get(Request(self.gold.key.text, self.file))

    @property
    def answer(self) -> Answer | None:
        return self.outcome if isinstance(self.outcome, Answer) else None

    def asked(self, text: str) -> Answer | None:
        """What another query on the same database answered."""
        outcome = self.outcomes.get(Request(text, self.file)) if text else None
        return outcome if isinstance(outcome, Answer) else None

    def same(self, other: Answer, *, coerce: bool = False) -> bool:
        """Whether another answer is the gold's, or another choice among rows that tie."""
        assert self.answer is not None
        keyed = self.asked(self.plan.keyed)
        verdict = guarded("comparing answers", compare, self.answer, other, self.plan, keyed, coerce=coerce)
        return isinstance(verdict, Verdict) and verdict.equal

    def spelled(self, place: Place) -> str:
        table = self.schema.tables[place[0]]
        return f"{table.name}.{table.columns[place[1]]}"


# ---- what is asked for the checks


def values_query(case: Case, place: Place) -> str:
    """The distinct values of a column, as many as are looked at."""
    table = case.schema.tables[place[0]]
    column = quoted(table.columns[place[1]])
    return f"SELECT DISTINCT {column} FROM {quoted(table.name)} WHERE {column} IS NOT NULL LIMIT {VALUES}"


def there_query(case: Case, compared: Compared) -> str:
    """Whether a column holds a text: asked where it has more values than are looked at."""
    table = case.schema.tables[compared.place[0]]
    text = "'" + compared.text.replace("'", "''") + "'"
    column = quoted(table.columns[compared.place[1]])
    return f"SELECT 1 FROM {quoted(table.name)} WHERE {column} = {text} LIMIT 1"


def as_numbers_query(case: Case) -> str:
    """The gold with text that holds numbers read as numbers, where it goes by size; empty where there is none."""
    if case.outline is None:
        return ""
    places = [place for place in case.outline.by_size if holds_numbers_as_text(case, place)]
    if not places:
        return ""
    written = guarded("writing the gold query", _as_numbers, case.outline, places, case.dialect)
    return written if isinstance(written, str) else ""


def _as_numbers(outline: Outline, places: Sequence[Place], dialect: str) -> str:
    chosen = [column for place in places for column in outline.by_size[place]]
    kept = [column.copy() for column in chosen]
    cast = [exp.Cast(this=column, to=exp.DataType.build("REAL", dialect=dialect)) for column in kept]
    for column, number in zip(chosen, cast, strict=True):
        column.replace(number)
    text = str(outline.tree.sql(dialect=dialect))
    for column, number in zip(chosen, cast, strict=True):
        number.replace(column)
    return text


def arbitrary_query(case: Case) -> str:
    """Whether a column that is neither grouped by nor aggregated differs within a group."""
    if case.outline is None or not case.outline.bare:
        return ""
    written = guarded("writing the gold query", _arbitrary, case.outline, case.dialect)
    return written if isinstance(written, str) else ""


def _arbitrary(outline: Outline, dialect: str) -> str:
    select = outline.select
    assert select is not None
    probe = select.copy()
    counts = [
        exp.GT(this=exp.Count(this=exp.Distinct(expressions=[column.copy()])), expression=exp.Literal.number(1))
        for column in outline.bare
    ]
    having = probe.args.get("having")
    conditions = [exp.or_(*counts), *([having.this] if having is not None else [])]
    probe.set("expressions", [exp.Literal.number(1)])
    probe.set("having", exp.Having(this=exp.and_(*conditions)))
    for part in ("order", "distinct", "limit", "offset"):
        probe.set(part, None)
    return f"{probe.sql(dialect=dialect)} LIMIT 1"


def first_queries(case: Case) -> list[str]:
    """What is asked of every gold, once it is read."""
    outline = case.outline
    texts = [case.gold.key.text, case.plan.keyed, arbitrary_query(case)]
    if "distinct" in case.gold.key.text.lower():
        texts.append(without_distinct(case.gold.key.text))
    if outline is not None:
        looked_at = [*(one.place for one in outline.compared), *(p for p in outline.by_size if _is_text(case, p))]
        texts += [values_query(case, place) for place in dict.fromkeys(looked_at)]
    texts += [group.example for group in rivals(case.gold)]
    return [text for text in dict.fromkeys(texts) if text]


def second_queries(case: Case) -> list[str]:
    """What the first answers give reason to ask."""
    texts = [as_numbers_query(case)]
    for one in case.outline.compared if case.outline is not None else ():
        values = case.asked(values_query(case, one.place))
        if values is not None and len(values.rows) == VALUES:
            texts.append(there_query(case, one))
    return [text for text in dict.fromkeys(texts) if text]


def _is_text(case: Case, place: Place) -> bool:
    return place[1] in case.schema.tables[place[0]].texts


def holds_numbers_as_text(case: Case, place: Place) -> bool:
    """Whether a column that is declared as text holds numbers."""
    if not _is_text(case, place):
        return False
    values = case.asked(values_query(case, place))
    texts = [str(row[0]) for row in values.rows if isinstance(row[0], str)] if values is not None else []
    numbers = sum(_NUMBER.fullmatch(text) is not None for text in texts)
    # Dates, codes of one length and the like sort as text as they do as numbers.
    widths = {len(text.strip().partition(".")[0]) for text in texts if _NUMBER.fullmatch(text)}
    return len(texts) > 1 and numbers >= _MOSTLY * len(texts) and len(widths) > 1


# ---- the checks


def runs(case: Case) -> Iterator[Finding]:
    if isinstance(case.outcome, Failure):
        yield Finding.of("does not run", f"{case.outcome.reason}: {_cut(case.outcome.message)}")


def answers_something(case: Case) -> Iterator[Finding]:
    answer = case.answer
    if answer is None:
        return
    if not answer.rows:
        yield Finding.of("empty", "its answer is empty")
    elif counts_nothing(answer, case.gold.key.text, case.dialect):
        if all(cell is None for cell in answer.rows[0]):
            yield Finding.of("NULL answer", "its answer is NULL: no row meets the condition")
        else:
            yield Finding.of("nothing counted", "it counts 0")
    elif len(answer.rows) == 1 and all(cell is None for cell in answer.rows[0]):
        yield Finding.of("NULL answer", "its one row holds NULL alone")


def ties(case: Case) -> Iterator[Finding]:
    keyed = case.asked(case.plan.keyed)
    tie = tie_at_cut(case.answer, case.plan, keyed) if case.answer is not None else None
    if tie is None or keyed is None or tie.width == 1 or case.answer is None:
        return
    width = len(case.answer.columns)
    cut = keyed.rows[len(case.answer.rows) - 1][width:]
    if len({row[:width] for row in keyed.rows if row[width:] == cut}) == 1:
        return  # whichever is shown, it is the same
    key = ", ".join(_shown(value) for value in cut)
    if tie.every_row:
        yield Finding.of(
            "every row ties", f"all {tie.width:,} rows have the sort key {key}; LIMIT {case.plan.limit} shows any"
        )
    else:
        yield Finding.of("tie", f"{tie.width:,} rows have the sort key {key} where LIMIT {case.plan.limit} cuts")


def nulls(case: Case) -> Iterator[Finding]:
    keyed, answer = case.asked(case.plan.keyed), case.answer
    if keyed is None or answer is None or not answer.rows or len(keyed.columns) != len(answer.columns) + case.plan.keys:
        return
    width, kept = len(answer.columns), len(answer.rows)
    empty = sum(row[width] is None for row in keyed.rows[:kept])
    if case.plan.limit is not None and empty:
        yield Finding.of("NULL decides", f"{empty:,} of the {kept:,} rows shown are sorted by NULL")
    elif keyed.rows[0][width] is None and kept > 1:
        yield Finding.of("NULL sorted", f"{empty:,} rows without a sort key stand first")


def limits(case: Case) -> Iterator[Finding]:
    select = case.outline.select if case.outline is not None else None
    if (
        select is None
        or case.answer is None
        or select.args.get("limit") is None
        or select.args.get("order") is not None
        or not case.answer.rows
        or str(select.args["limit"].expression) != str(len(case.answer.rows))
    ):
        return  # nothing is cut
    if not select.find(exp.AggFunc) or select.args.get("group"):
        yield Finding.of("LIMIT without ORDER BY", f"LIMIT {select.args['limit'].expression} of rows in no order")


def numbers_as_text(case: Case) -> Iterator[Finding]:
    if case.outline is None or case.answer is None:
        return
    places = [place for place in case.outline.by_size if holds_numbers_as_text(case, place)]
    if not places:
        return
    named = ", ".join(case.spelled(place) for place in places)
    other = case.asked(as_numbers_query(case))
    if other is not None and not case.same(other, coerce=True):
        yield Finding.of(
            "number as text", f"{named}: text that holds numbers; read as numbers, the answer is {_told(other)}"
        )
    else:
        yield Finding.of("number as text, same answer", f"{named}: text that holds numbers, sorted or compared as text")


def literals(case: Case) -> Iterator[Finding]:
    for one in case.outline.compared if case.outline is not None else ():
        values = case.asked(values_query(case, one.place))
        if values is None:
            continue
        held = [str(row[0]) for row in values.rows]
        if one.text in held or (
            len(values.rows) == VALUES and (found := case.asked(there_query(case, one))) and found.rows
        ):
            continue
        near = _nearest(one.text, held)
        where = f"{case.spelled(one.place)} holds no {_shown(one.text)}"
        if near:
            yield Finding.of("literal nearly there", f"{where}, but {_shown(near)}")
        else:
            yield Finding.of("literal not there", where)


def _nearest(text: str, held: Sequence[str]) -> str:
    """A value that is the text but for case and blanks, or for a letter or two."""
    plain = " ".join(text.split()).lower()
    for value in held:
        if " ".join(value.split()).lower() == plain:
            return value
    by_small = {value.lower(): value for value in reversed(held)}
    if len(plain) < 4 or _NUMBER.fullmatch(plain):
        return ""
    close = get_close_matches(plain, by_small, n=1, cutoff=_NEAR)
    return by_small[close[0]] if close else ""


def joins(case: Case) -> Iterator[Finding]:
    for one, other in case.outline.joins if case.outline is not None else ():
        if not case.schema.connected(one, other):
            yield Finding.of(
                "undeclared join", f"no declared key connects {case.spelled(one)} and {case.spelled(other)}"
            )


def repeats(case: Case) -> Iterator[Finding]:
    answer = case.answer
    if answer is None or case.outline is None:
        return
    select = case.outline.select
    if case.outline.lists_rows and len(set(answer.rows)) < len(answer.rows):
        row, count = Counter(answer.rows).most_common(1)[0]
        if any(isinstance(cell, str) for cell in row):
            yield Finding.of(
                "duplicates", f"the list repeats rows: ({', '.join(map(_shown, row))}) stands {count:,} times"
            )
    elif select is not None and select.args.get("distinct"):
        whole = case.asked(without_distinct(case.gold.key.text))
        if whole is not None and len(whole.rows) != len(answer.rows):
            yield Finding.of(
                "DISTINCT changes the answer", f"{len(answer.rows):,} rows; without DISTINCT {len(whole.rows):,}"
            )


def groups(case: Case) -> Iterator[Finding]:
    probe = case.asked(arbitrary_query(case))
    if probe is not None and probe.rows and case.outline is not None and case.answer is not None and case.answer.rows:
        named = ", ".join(column.sql(dialect=case.dialect) for column in case.outline.bare)
        yield Finding.of("arbitrary value", f"{named} differs within a group, and is neither grouped by nor aggregated")


def rivals(gold: Gold) -> list[Group]:
    """Groups of predictions that agree on an answer that did not count as right, of at least two systems each: the
    largest ones."""
    several = [group for group in gold.groups.values() if len(group.systems) > 1]
    return sorted(several, key=lambda group: (-len(group.systems), -group.predictions))[:_RIVALS]


def systems(case: Case) -> Iterator[Finding]:
    answer = case.answer
    if answer is None:
        return
    answers = [(group, case.asked(group.example)) for group in rivals(case.gold)]
    known = [(group, other) for group, other in answers if other is not None]
    # Where every row ties no prediction counts as right, those that give the gold's answer among them.
    right = case.gold.right + sum(group.predictions for group, other in known if case.same(other))
    others = [(group, other) for group, other in known if not case.same(other)]
    if not others or others[0][0].predictions <= right:
        return
    group, other = others[0]
    lead = (group.predictions - right) / case.gold.rows
    words = "another answer"
    times = lead
    if case.same(other, coerce=True):
        times, words = times * ONLY_TYPES, "the same but for numbers that are text"
    elif not other.rows:
        times *= NOTHING_FOUND
    elif answer.rows and len(other.columns) != len(answer.columns):
        times, words = times * ANOTHER_SHAPE, f"{len(other.columns)} columns, not {len(answer.columns)}"
    elif len(other.columns) == len(answer.columns) and set(other.rows) == set(answer.rows):
        order = len(other.rows) == len(answer.rows)
        times, words = (
            times * ONLY_REPEATS,
            "the same rows in another order" if order else "the same rows, repeated otherwise",
        )
    yield Finding.of(
        "contradicted",
        f"{group.predictions:,} of {case.gold.rows:,} predictions, of {len(group.systems):,} systems, agree on {words} "
        f"({_told(other)}); {right:,} give the gold's ({_told(answer)})",
        times,
    )


def faithfulness(case: Case) -> Iterator[Finding]:
    if case.doubts:
        most = max(case.doubts, key=lambda one: one.doubt)
        share = sum(one.doubt for one in case.doubts) / len(case.doubts)
        yield Finding.of("unfaithful", f"the faithful run doubts it ({most.doubt:.2f}): {_cut(most.words)}", share)


CHECKS: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    runs, answers_something, ties, nulls, limits, numbers_as_text, literals, joins, repeats, groups, systems,
    faithfulness,
)  # fmt: skip


def findings_of(case: Case) -> list[Finding]:
    """What all checks find, the weightiest first; a check that cannot handle a gold finds nothing."""
    found: list[Finding] = []
    for check in CHECKS:
        made = guarded("auditing a gold", lambda one=check: list(one(case)))  # type: ignore[misc]
        found += made if isinstance(made, list) else []
    distinct = {(one.kind, one.evidence): one for one in found}
    return sorted(distinct.values(), key=lambda one: -one.weight)


# ---- words


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _shown(value: object) -> str:
    if value is None:
        return "NULL"
    return _cut(repr(value) if isinstance(value, str) else str(value))


def _told(answer: Answer) -> str:
    if not answer.rows:
        return "nothing"
    rows = f"{len(answer.rows):,} rows: " if len(answer.rows) > 1 else ""
    return rows + _cut("; ".join(shown_answer(answer).split("\n")[:3]) or "''")
