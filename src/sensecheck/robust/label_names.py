"""What the labels of a file mean: by their names, by those the file gives its integers, or as the user says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.hugging_face import ClassNames
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch
from sensecheck.models.classifiers import LABELS, LabelError, is_not_entailment, label_of

BY_NAME = "by name"
FLAG = "--label-names"
GivenNames = str | Sequence[str] | Mapping[Any, str] | None

_WHOLE = re.compile(r"[+-]?[0-9]{1,9}\.0+")
_INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
_MOST_KEPT = 1000


class UnknownNameError(LabelError):
    """An integer whose name in the data is no NLI label."""

    def __init__(self, number: int, told: ClassNames) -> None:
        super().__init__(number)
        self.number, self.told = number, told


@dataclass(frozen=True)
class Meaning:
    """A label of ours; None is "no gold"."""

    label: int | None
    coarse: bool = False
    """it says no more than that the pair is not entailed"""


def meaning_of(name: str) -> Meaning:
    return Meaning(label_of(name), is_not_entailment(name))


class LabelNames:
    """`--label-names`, read: what the data's integers are called in order, or what each label means."""

    def __init__(self, given: GivenNames) -> None:
        self.order: tuple[str, ...] = ()
        self.meanings: dict[str, Meaning] = {}
        self._spelled: list[str] = []
        if given is None:
            return
        pairs: list[tuple[str, str]] | None
        if isinstance(given, Mapping):
            pairs, names = [(str(label), str(name)) for label, name in given.items()], []
        else:
            names = [part.strip() for part in (given.split(",") if isinstance(given, str) else map(str, given))]
            marked = [name.rpartition("=") for name in names]
            pairs = [(label, name) for label, _, name in marked] if all(sign for _, sign, _ in marked) else None
            if pairs is None and any(sign for _, sign, _ in marked):
                raise _bad("either names in order (A,B,C) or what each label means (A=entailment,…)", given)
        if pairs is None:
            self._read_order(names, given)
        else:
            self._read_meanings(pairs, given)

    def _read_order(self, names: Sequence[str], given: GivenNames) -> None:
        if len(names) < 2 or len(set(map(str.lower, names))) < len(names):
            raise _bad("two or more different names, that of the integer 0 first", given)
        for name in names:
            if _INTEGER.fullmatch(name) or not name:
                raise _bad("names of labels", name)
            self._meaning(name)
        self.order = tuple(names)
        self._spelled = [f"{number}={name}" for number, name in enumerate(names)]

    def _read_meanings(self, pairs: Sequence[tuple[str, str]], given: GivenNames) -> None:
        if not pairs:
            raise _bad("at least one label and what it means", given)
        for label, name in pairs:
            key = _key(label)
            if not key or key in self.meanings or _INTEGER.fullmatch(name.strip()):
                raise _bad("LABEL=NAME for different labels, e.g. yes=entailment,maybe=neutral,no=contradiction", given)
            self.meanings[key] = self._meaning(name)
            self._spelled.append(f"{label.strip()}={name.strip()}")

    def _meaning(self, name: str) -> Meaning:
        try:
            return meaning_of(name)
        except LabelError:
            raise _bad(f"{', '.join(LABELS)}, or another common name of one of them", name) from None

    def __bool__(self) -> bool:
        return bool(self._spelled)

    def __str__(self) -> str:
        return ",".join(self._spelled)


def _bad(expected: str, got: object) -> InputError:
    return InputError(
        field=f"{FLAG} (label_names=)", expected=expected, got=shown(got, 80),
        hint=f"E.g. {FLAG} contradiction,entailment,neutral where 0 is contradiction, or "
        f"{FLAG} yes=entailment,maybe=neutral,no=contradiction.", reason=Reason.BAD_OPTION,
    )  # fmt: skip


def _key(label: object) -> str:
    """How a label is looked up: 1, 1.0 and "1.0" (integers beside empty cells) are the same, and so are Yes and yes."""
    text = str(label).strip().lower()
    return text.partition(".")[0] if _WHOLE.fullmatch(text) else text


class LabelReader:
    """Reads labels batch by batch, and knows afterwards how they were read."""

    def __init__(self, given: GivenNames = None) -> None:
        self.given = LabelNames(given)
        self._batch: TableBatch | None = None
        self._column = ""
        self._told: list[ClassNames] | None = None
        self._known: dict[tuple[type, Any], Meaning] = {}
        self._assumed = False
        self._used_order = self._used_meanings = False
        self._numbers_by: dict[str, str] = {}
        self._contradicted: dict[str, None] = {}

    def begin(self, batch: TableBatch, column: str) -> None:
        """The labels that follow are of this batch."""
        self._batch, self._column, self._told = batch, column, None
        self._known.clear()

    def names(self) -> list[ClassNames]:
        """What the data call the integers of the column; looked up only where there are any."""
        if self._told is None:
            assert self._batch is not None
            try:
                self._told = self._batch.class_names(self._column)
            except InputError:
                if not self.given:
                    raise
                self._told = []  # whatever is wrong with them: the user has said what holds
        return self._told

    def read(self, value: Any) -> Meaning:
        """What a label means; a LabelError where it means nothing."""
        kept = self._known.get((type(value), value)) if isinstance(value, (str, int, float)) else None
        if kept is None:
            kept = self._read(value)
            if isinstance(value, (str, int, float)) and len(self._known) < _MOST_KEPT:
                self._known[type(value), value] = kept
        return kept

    def _read(self, value: Any) -> Meaning:
        if value is None:
            return Meaning(None)
        if isinstance(value, bool):
            return meaning_of(value)  # type: ignore[arg-type]  # a LabelError
        text = _key(value)
        if text in self.given.meanings:
            self._used_meanings = True
            if _INTEGER.fullmatch(text):
                self._compare_one(int(text), self.given.meanings[text])
            return self.given.meanings[text]
        if not _INTEGER.fullmatch(text):
            return Meaning(label_of(value), is_not_entailment(text))
        return self._read_number(int(text))

    def _read_number(self, number: int) -> Meaning:
        if number == -1:
            return Meaning(None)
        told = self.names()
        if self.given.order:
            self._used_order = True
            if told:
                self._compare(ClassNames(self.given.order, FLAG), told[0])
            return meaning_of(_named(number, self.given.order))
        if not told or all(_INTEGER.fullmatch(name.strip()) for name in told[0].names):
            meaning = meaning_of(str(number))
            self._assumed = True
            return meaning
        for other in told[1:]:
            self._compare(told[0], other)
        name = _named(number, told[0].names)
        if _key(name) in self.given.meanings:
            self._used_meanings = True
            return self.given.meanings[_key(name)]
        try:
            meaning = meaning_of(name)
        except LabelError:
            raise UnknownNameError(number, told[0]) from None
        self._numbers_by.setdefault(_numbered(told[0].names), told[0].source)
        return meaning

    def _compare(self, used: ClassNames, other: ClassNames) -> None:
        """Note names that say something else of the same integers."""
        if [_safe_meaning(name) for name in used.names] != [_safe_meaning(name) for name in other.names]:
            self._contradicted[
                f"{used.source} says {_numbered(used.names)}, {other.source} says {_numbered(other.names)}: "
                f"{used.source} was heeded"
            ] = None

    def _compare_one(self, number: int, meaning: Meaning) -> None:
        told = self.names()[:1]
        name = next((names.names[number] for names in told if 0 <= number < len(names.names)), None)
        if name is not None and _safe_meaning(name) not in (meaning, name):
            source = told[0].source
            what = f"{FLAG} says {self.given}, {source} says {_numbered(told[0].names)}: {FLAG} was heeded"
            self._contradicted[what] = None

    @property
    def by_names_in_data(self) -> bool:
        """Whether integers were read by the names that the data give them."""
        return bool(self._numbers_by)

    def choice(self, two_labels: bool = False) -> str:
        """How labels were read, for the signature."""
        parts = [f"{self.given} (given)"] if self._used_order or self._used_meanings else []
        if self._assumed:
            parts.append(f"{_numbered(('entailment', 'not_entailment') if two_labels else LABELS)} (assumed)")
        return "; ".join(parts) or BY_NAME

    def plan(self) -> dict[str, Any]:
        """What must be the same for a run to be resumed: as the user says, and as the data's integers are called."""
        told = [] if self._told is None else [list(names.names) for names in self._told[:1]]
        return {**({"label_names": str(self.given)} if self.given else {}), **({"class_names": told} if told else {})}

    def notes(self, two_labels: bool = False) -> list[str]:
        notes = []
        if self._assumed:
            order = _numbered(("entailment", "not_entailment") if two_labels else LABELS, ", ")
            notes.append(
                f"labels are integers without names, taken as {order}; where they mean something else, say so with "
                f"{FLAG} A,B,C (label_names=)"
            )
        for order, source in self._numbers_by.items():
            notes.append(f"labels are integers, read by the names in {source}: {order.replace(',', ', ')}")
        if self.given and not (self._used_order or self._used_meanings):
            notes.append(f"{FLAG} {self.given} changed nothing: no label is one of these")
        return [*notes, *(f"warning: label names differ: {what}" for what in self._contradicted)]


def _named(number: int, names: Sequence[str]) -> str:
    if not 0 <= number < len(names):
        raise LabelError(f"label {number} is none of 0 to {len(names) - 1}")
    return names[number]


def _safe_meaning(name: str) -> Meaning | str:
    try:
        return meaning_of(name)
    except LabelError:
        return name


def _numbered(names: Sequence[str], mark: str = ",") -> str:
    told = mark.join(f"{number}={shown(name, 40)[1:-1]}" for number, name in enumerate(names[:12]))
    return told + (", …" if len(names) > 12 else "")
