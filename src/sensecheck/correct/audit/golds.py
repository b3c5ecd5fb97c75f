"""The distinct golds of a run, each with its questions and with what systems answered to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sensecheck.correct.measure import Scored
from sensecheck.correct.records import Records

SHOWN_IDS = 20
"""Ids of one gold that are told; the others are counted."""
SHOWN_QUESTIONS = 5


class GoldKey(NamedTuple):
    database: str
    text: str


@dataclass(slots=True)
class Group:
    """Predictions that give one answer."""

    predictions: int = 0
    systems: set[str] = field(default_factory=set)
    example: str = ""
    """One of them."""


@dataclass(slots=True)
class Gold:
    """One gold query on one database."""

    key: GoldKey
    number: int
    """Its place among the golds of the input."""
    ids: list[str] = field(default_factory=list)
    rows: int = 0
    """How many rows of the input have it."""
    questions: dict[str, None] = field(default_factory=dict)
    right: int = 0
    groups: dict[str, Group] = field(default_factory=dict)
    """By the key of the answer: predictions that are not right."""
    systems: set[str] = field(default_factory=set)


class Golds:
    """Gathers golds batch by batch; what is held grows with the distinct golds and the answers to them."""

    def __init__(self, systems: str | None = None) -> None:
        self.systems = systems
        """The column that tells systems apart."""
        self._golds: dict[GoldKey, Gold] = {}

    def __len__(self) -> int:
        return len(self._golds)

    def __iter__(self) -> Iterator[Gold]:
        return iter(self._golds.values())

    def add(self, records: Records, scores: Sequence[Scored]) -> None:
        told = records.extra.get(self.systems or "", [""] * len(records))
        for row, (record, score) in enumerate(zip(records, scores, strict=True)):
            for text in records.golds.get(row) or ([record.gold] if record.gold is not None else []):
                if not record.fault:
                    self._add(GoldKey(record.database, text), record.id, record.question).answered(
                        told[row], record.prediction, score
                    )

    def _add(self, key: GoldKey, name: str, question: str) -> _Adding:
        gold = self._golds.get(key)
        if gold is None:
            gold = self._golds[key] = Gold(key, len(self._golds))
        gold.rows += 1
        if len(gold.ids) < SHOWN_IDS and name not in gold.ids:
            gold.ids.append(name)
        if question and len(gold.questions) < SHOWN_QUESTIONS:
            gold.questions.setdefault(question)
        return _Adding(gold)


class _Adding(NamedTuple):
    gold: Gold

    def answered(self, system: str, prediction: str | None, score: Scored) -> None:
        self.gold.systems.add(system)
        if score.correct:
            self.gold.right += 1
        elif score.answer_key:
            group = self.gold.groups.setdefault(score.answer_key, Group())
            group.predictions += 1
            group.systems.add(system)
            group.example = group.example or prediction or ""
