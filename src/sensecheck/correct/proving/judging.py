"""Do two queries differ on a database, how, and is it a fair one?"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from sensecheck.correct.sql_compare import GoldPlan, compare, plan_gold, same_bag
from sensecheck.language.answers import Answer
from sensecheck.stores.outcomes import Failure, Outcome, Reason

from .hints import Hints, Limited

Rows: TypeAlias = "Mapping[str, Sequence[Sequence[Any]]]"
Difference: TypeAlias = Literal["different rows", "other columns", "repeated rows", "order"]

ORDERS = 4
"""Orders of insertion under which a verdict has to be the same."""
_MOST_FAILURES = 3


class Engine(Protocol):
    """A place where small databases are made and asked."""

    def fill(self, rows: Rows) -> str: ...
    def clear(self) -> None: ...
    def reverse(self, backwards: bool) -> None: ...
    def ask(self, text: str) -> Outcome: ...
    def look(self, text: str) -> tuple[Outcome, set[tuple[str, str]], set[tuple[str, str]]]: ...
    def seal(self) -> str: ...
    def close(self) -> None: ...
    def fresh(self) -> Engine: ...


@dataclass(slots=True)
class Trial:
    """What two queries answer on one database, where that differs."""

    gold: Answer
    predicted: Answer
    difference: Difference


class GivenUpError(RuntimeError):
    """A query that takes too much on databases with a few rows: looking for more of them would not end."""


class Judge:
    """Runs one pair of queries on one database after the other."""

    def __init__(self, engine: Engine, gold: str, prediction: str, hints: Sequence[Hints], dialect: str) -> None:
        self.engine = engine
        self.texts = (gold, prediction)
        self.plan = plan_gold(gold, dialect)
        self.limited = [_Limit(limited, dialect) for own in hints for limited in own.limited]
        self.failures = [0, 0]
        self.built = 0
        """Databases that could be made."""
        self.refusal = ""
        """Why the engine did not take the rows of the last one that could not."""
        self.reply: tuple[Answer, Answer] | None = None
        """What the queries answered last."""

    def differ(self, rows: Rows) -> Trial | None:
        """How the queries differ on these rows; None where they do not, or where one of them fails."""
        self.reply = None
        try:
            refusal = self.engine.fill(rows)
            if refusal:
                self.refusal = refusal
                return None
            self.built += 1
            return self._differ()
        finally:
            self.engine.clear()

    def _differ(self) -> Trial | None:
        answers = []
        for number, text in enumerate(self.texts):
            outcome = self.engine.ask(text)
            if isinstance(outcome, Failure):
                self._fail(number, outcome)
                return None
            answers.append(outcome)
        gold, predicted = answers
        self.reply = (gold, predicted)
        if gold.rows == predicted.rows:
            return None
        if self._same(gold, predicted) or (is_vacuous(gold) and is_vacuous(predicted)):
            return None
        return Trial(gold, predicted, _difference(gold, predicted, self.plan))

    def replayed(self, engine: Engine) -> Trial | None:
        """How the queries differ on what is in another engine."""
        own, self.engine = self.engine, engine
        try:
            return self._differ()
        finally:
            self.engine = own

    def _same(self, gold: Answer, other: Answer) -> bool:
        keyed = self.engine.ask(self.plan.keyed) if self.plan.keyed else None
        return compare(gold, other, self.plan, keyed if isinstance(keyed, Answer) else None).equal

    def _fail(self, number: int, failure: Failure) -> None:
        if failure.reason in (Reason.OVER_BUDGET, Reason.TOO_LARGE, Reason.TIMEOUT):
            self.failures[number] += 1
            if self.failures[number] >= _MOST_FAILURES:
                raise GivenUpError(f"the {('gold', 'prediction')[number]}: {failure.message}")

    def is_fair(self, rows: Rows, trial: Trial) -> bool:
        """Whether nothing that a database leaves open makes the difference: ties at a LIMIT, the order of rows."""
        try:
            if self.engine.fill(rows) or any(limit.is_open(self.engine) for limit in self.limited):
                return False
        finally:
            self.engine.clear()
        for number in range(1, ORDERS):
            chance = random.Random(number)
            turned = {}
            for name, lines in rows.items():
                turned[name] = list(lines)[::-1] if number == 1 else chance.sample(list(lines), len(lines))
            self.engine.reverse(number % 2 == 1)
            try:
                if self.engine.fill(turned):
                    return False
                gold = self.engine.ask(self.texts[0])
                if isinstance(gold, Failure) or not self._same(gold, trial.gold):
                    return False
                again = self._differ()
                if again is None or again.difference != trial.difference:
                    return False
            finally:
                self.engine.clear()
                self.engine.reverse(False)
        return True


def compared(
    gold: Answer, predicted: Answer, text: str, ask: Callable[[str], Outcome], dialect: str = "sqlite"
) -> bool:
    """Whether two answers are the same by the comparison of `correct`; `text` is the gold."""
    plan = plan_gold(text, dialect)
    keyed = ask(plan.keyed) if plan.keyed else None
    return compare(gold, predicted, plan, keyed if isinstance(keyed, Answer) else None).equal


def is_vacuous(answer: Answer) -> bool:
    """Whether an answer says nothing: no rows, or NULL and 0 alone."""
    return all(cell is None or cell == 0 for row in answer.rows for cell in row)


def _difference(gold: Answer, predicted: Answer, plan: GoldPlan) -> Difference:
    if gold.rows and predicted.rows and len(gold.columns) != len(predicted.columns):
        return "other columns"
    if same_bag(list(dict.fromkeys(gold.rows)), list(dict.fromkeys(predicted.rows))):
        return (
            "order"
            if len(gold.rows) == len(predicted.rows) and same_bag(gold.rows, predicted.rows)
            else "repeated rows"
        )
    return "different rows"


class _Limit:
    """A query with a LIMIT: which rows it keeps may be left open."""

    def __init__(self, limited: Limited, dialect: str) -> None:
        self.limited = limited
        self.plan = plan_gold(limited.text, dialect) if limited.sorts else GoldPlan()

    def is_open(self, engine: Engine) -> bool:
        kept, width = self.limited.kept, self.plan.keys
        if self.plan.keyed and width:
            outcome = engine.ask(self.plan.keyed)
            if isinstance(outcome, Failure) or len(outcome.rows) <= kept or not kept:
                return False
            rows = outcome.rows
            cut = rows[kept - 1][-width:]
            return rows[kept][-width:] == cut and len({row for row in rows if row[-width:] == cut}) > 1
        if self.limited.sorts:
            return False  # whether it is open shows where rows come in other orders
        outcome = engine.ask(self.limited.whole)
        return isinstance(outcome, Answer) and len(outcome.rows) > kept and len(set(outcome.rows)) > 1
