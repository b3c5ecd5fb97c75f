"""NLI models behind one face: pairs in, answers out, whatever stands behind it.

Labels are 0 entailment, 1 neutral, 2 contradiction everywhere; what a model calls them is translated at its door.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from sensecheck.models import revisions
from sensecheck.models.calls import CallCache, Identity
from sensecheck.models.reading_answers import Reads
from sensecheck.models.recorded import RecordedPairs
from sensecheck.models.said import Said, Unreadable, shortened
from sensecheck.models.spending import Spent

LABELS = ("entailment", "neutral", "contradiction")
Pair = tuple[str, str]

_SPELLINGS = {
    "entailment": 0, "entail": 0, "entails": 0, "entailed": 0, "e": 0, "0": 0, "support": 0,
    "supports": 0, "supported": 0, "implies": 0, "neutral": 1, "neutrality": 1, "n": 1, "1": 1, "unknown": 1,
    "nei": 1, "not_entailment": 1, "not-entailment": 1, "not entailment": 1, "undetermined": 1,
    "unrelated": 1, "contradiction": 2, "contradict": 2, "contradicts": 2, "contradicted": 2, "c": 2, "2": 2,
    "refute": 2, "refutes": 2, "refuted": 2, "contradictory": 2,
}  # fmt: skip
# What data sets call their labels beside these; words are joined by a line, a hyphen or a space.
_NAMES = _SPELLINGS | {
    "entailing": 0, "implied": 0, "not_enough_info": 1, "not_enough_information": 1, "not_enough_evidence": 1,
    "notenoughinfo": 1, "no_info": 1, "noinfo": 1, "contradicting": 2, "contradictions": 2, "refuting": 2,
}  # fmt: skip
_NOT_ENTAILMENT = frozenset({
    "not_entailment", "not_entailed", "not_entail", "not_entails", "non_entailment", "non_entailed", "nonentailment",
    "no_entailment",
})  # fmt: skip
_BETWEEN_WORDS = re.compile(r"[\s_-]+")
NO_GOLD = frozenset({"-", "-1", "", "none", "null", "nan", "no gold", "_"})


_LONGEST_NAME = 100


class LabelError(ValueError):
    """A label that is no NLI label."""


def label_of(spelling: object) -> int | None:
    """The label behind any common spelling; None for "no gold" ('-', -1, empty). Anything else is a LabelError."""
    if isinstance(spelling, bool):
        raise LabelError(f"label {spelling!r} is not an NLI label")
    if isinstance(spelling, float) and spelling.is_integer():
        spelling = int(spelling)
    if spelling is None:
        return None
    text = str(spelling).strip().lower()
    if text in NO_GOLD:
        return None
    if text in _SPELLINGS:
        return _SPELLINGS[text]
    name = _BETWEEN_WORDS.sub("_", text[:_LONGEST_NAME])
    if name in _NAMES:
        return _NAMES[name]
    if name in _NOT_ENTAILMENT:
        return 1
    raise LabelError(
        f"label {spelling!r} is not an NLI label: expected entailment, neutral, contradiction, 0, 1, 2 or '-' (no gold)"
    )


def is_not_entailment(spelling: object) -> bool:
    """Whether a label says that a pair is not entailed and no more: neutral and contradiction are then both right.

    >>> is_not_entailment("Not entailment"), is_not_entailment("neutral")
    (True, False)
    """
    return _BETWEEN_WORDS.sub("_", str(spelling)[:_LONGEST_NAME].strip().lower()) in _NOT_ENTAILMENT


@dataclass(frozen=True)
class Answer:
    """What a model said of one pair. `label` is None when it could not be had, and `failure` says why."""

    label: int | None
    logits: tuple[float, ...] | None = None
    """in the order entailment, neutral, contradiction"""
    text: str | None = None
    failure: str | None = None
    unread: Unreadable | None = None
    """why no label could be read from the text"""
    finish: str | None = None
    """why a language model stopped writing"""
    reasoned: bool = False
    """whether it reasoned beside its text"""
    refused: bool = False

    @classmethod
    def of(cls, said: Said, read: Reads) -> Answer:
        """What a language model said of a pair."""
        said = shortened(said)
        reading = read(said)
        return cls(
            reading.label, reading.scores, said.text, None, reading.why, said.finish or None, bool(said.reasoning),
            said.refusal,
        )  # fmt: skip

    def read_again(self, read: Reads) -> Answer:
        """The same by another rule, or by the rules of today where it was kept; what was not said in words stays."""
        if self.text is None:
            return self
        reading = read(Said(self.text, "…" if self.reasoned else "", self.finish or "", self.refused))
        return replace(self, label=reading.label, unread=reading.why)

    def stored(self) -> dict[str, Any]:
        parts = (
            ("l", self.label), ("s", self.logits), ("t", self.text), ("e", self.finish), ("r", self.reasoned or None),
            ("n", self.refused or None),
        )  # fmt: skip
        return {name: part for name, part in parts if part is not None}

    @classmethod
    def restored(cls, value: Any, labels: int = len(LABELS)) -> Answer | None:
        """An answer that was kept; None where it is none, as anybody may have written the file."""
        if not isinstance(value, Mapping):
            return None
        label, logits, text, failure, finish, reasoned, refused = (value.get(name) for name in "lstfern")
        sound = (
            (label is None or (type(label) is int and 0 <= label < labels))
            and (
                logits is None or (isinstance(logits, list) and len(logits) == labels and all(map(_is_number, logits)))
            )
            and all(words is None or isinstance(words, str) for words in (text, failure, finish))
            and all(mark in (None, True) for mark in (reasoned, refused))
            and not (label is None and text is None and failure is None)
        )
        if not sound:
            return None
        scores = None if logits is None else tuple(logits)
        return cls(label, scores, text, failure, None, finish, bool(reasoned), bool(refused))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


Batch = list[tuple[int, Answer]]


@runtime_checkable
class Classifier(Protocol):
    """M. `stream` yields answers with the index of their pair, in any order, as soon as they are there."""

    identity: Identity

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]: ...


def pair_text(pair: Pair) -> str:
    """A pair as one text for the cache; no other pair has the same, whatever a model writes."""
    return json.dumps(pair) if "\x1f" in pair[0] + pair[1] else f"{pair[0]}\x1f{pair[1]}"


class Asked:
    """A classifier behind the cache: equal pairs are asked once, known answers not at all."""

    def __init__(self, model: Classifier, cache: CallCache | None = None) -> None:
        self.model = model
        self.cache = cache if cache is not None else CallCache()
        # What is at hand is not held a second time; a file of calls has all that were made.
        self._keeps = self.cache.path is not None or not getattr(model, "at_hand", False)
        self._read_again: Callable[[Answer], Answer] | None = getattr(model, "read_again", None)
        self._labels: int = getattr(model, "labels", len(LABELS))
        self.spending = Spent(model, self.cache)
        self.asked = 0
        """pairs the model itself was asked about"""
        self.kept = 0
        """pairs whose answer was known"""
        self.failures: dict[str, int] = {}
        self.example = ""
        """an answer in words that no label could be read from"""

    @property
    def identity(self) -> Identity:
        return self.model.identity

    def answers(self, pairs: Sequence[Pair], progress: Callable[[int], None] | None = None) -> list[Answer]:
        """One answer a pair, in order. A failed call is an answer without a label, and is not kept."""
        texts = [pair_text(pair) for pair in pairs]
        pair_by_text: dict[str, Pair] = dict(zip(texts, pairs, strict=True))
        answer_by_text: dict[str, Answer] = {}
        for text, kept in (self.cache.get(self.identity, pair_by_text) if self._keeps else {}).items():
            restored = Answer.restored(kept, self._labels)
            if restored is None:
                self.cache.unreadable += 1
            else:
                answer_by_text[text] = restored if self._read_again is None else self._read_again(restored)
        self.kept += len(answer_by_text)
        if progress is not None:
            progress(sum(text in answer_by_text for text in texts))
        unanswered = [text for text in pair_by_text if text not in answer_by_text]
        for batch in self.model.stream([pair_by_text[text] for text in unanswered]) if unanswered else ():
            new_answers = {unanswered[i]: answer for i, answer in batch}
            storable = {
                text: answer.stored() for text, answer in new_answers.items() if self._keeps and answer.failure is None
            }
            if storable:
                self.cache.put(self.identity, storable, self.spending.to_keep())
            self.asked += len(new_answers)
            for answer in new_answers.values():
                if answer.failure is not None:
                    self.failures[answer.failure] = self.failures.get(answer.failure, 0) + 1
            answer_by_text.update(new_answers)
            if progress is not None:
                progress(len(new_answers))
        if not self.example:
            self.example = next((a.text for a in answer_by_text.values() if a.label is None and a.text), "")
        missing = Answer(None, failure="the model returned no answer")
        return [answer_by_text.get(text, missing) for text in texts]

    def labels(self, pairs: Sequence[Pair]) -> list[int | None]:
        return [answer.label for answer in self.answers(pairs)]


class CallableClassifier:
    """A Python function as M: takes two lists of texts, or a list of pairs, and gives a label or three scores each."""

    def __init__(
        self, function: Callable[..., Iterable[Any]], name: str | None = None, revision: str = "", batch: int = 256
    ) -> None:
        self._function = function
        self._batch = batch
        self._takes_two_lists = _takes_two_lists(function)
        self.identity = Identity(name or name_of(function), revision or revisions.of_function(function), "callable")

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        for start in range(0, len(pairs), self._batch):
            part = list(pairs[start : start + self._batch])
            outputs = (
                self._function([p for p, _ in part], [h for _, h in part])
                if self._takes_two_lists
                else self._function(part)
            )
            answers = [_as_answer(value) for value in outputs]
            if len(answers) != len(part):
                raise ValueError(f"{self.identity.model} gave {len(answers)} answers for {len(part)} pairs")
            yield [(start + i, answer) for i, answer in enumerate(answers)]


def name_of(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def _takes_two_lists(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters) >= 2


def _as_answer(value: Any) -> Answer:
    if isinstance(value, Answer):
        return value
    if hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
        scores = tuple(float(x) for x in value)
        if len(scores) != 3:
            raise ValueError(f"expected three scores (entailment, neutral, contradiction), got {len(scores)}")
        return Answer(max(range(3), key=scores.__getitem__), scores)
    label = label_of(value.item() if hasattr(value, "item") else value)
    return Answer(label, failure=None if label is not None else "no label")


class TableClassifier:
    """Stored predictions as M: a pair that is not in the table has no answer, and that is counted."""

    at_hand = True

    def __init__(
        self,
        rows: Iterable[tuple[str, str, object]],
        name: str = "table",
        revision: str = "",
        written: Callable[[str], str] | None = None,
    ) -> None:
        """`written`: how texts are written when the model is asked (final full stop, spaces); a pair that is not in the
        table to the letter is looked up in that form. What can be gone over only once is held until all is read.
        """
        rows = list(rows) if isinstance(rows, Iterator) else rows
        self._table = RecordedPairs(rows, pair_text, written)
        self.identity = Identity(name, revision or self._table.revision, "table")

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        absent = Answer(None, failure="not in the table of predictions")
        predictions = self._table.look_up(pairs)
        yield [
            (i, absent if prediction is None else _as_answer(prediction)) for i, prediction in enumerate(predictions)
        ]


class SmallClassifier:
    """The model that ships with the package."""

    def __init__(self, batch: int = 512) -> None:
        from sensecheck.models.small_nli import SmallNli

        self._model = SmallNli()
        self._batch = batch
        self.card: dict[str, Any] = self._model.card
        self.identity = Identity(self._model.name, self._model.revision, "features")

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        for start in range(0, len(pairs), self._batch):
            logits = self._model.logits(pairs[start : start + self._batch])
            yield [
                (start + i, Answer(int(row.argmax()), tuple(round(float(x), 6) for x in row)))
                for i, row in enumerate(logits)
            ]
