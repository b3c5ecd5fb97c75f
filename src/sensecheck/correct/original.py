"""The SPICE evaluation to the letter: its figures, its buckets, its quirks.

Only parity lives here. Where this differs from `measure`, the difference is deliberate: docs/correct.md says
what the original does that a user would not expect (a null prediction inherits the one before it, an answer
of more than 1,000 entities loses its false positives, …). Queries are run by the caller; `execute` gives
back what the original's transport would have: a boolean or a list of values, and raises where that failed.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack

from sensecheck.correct.question_types import (
    BOOLEAN_TYPE,
    COUNT_TYPES,
    ELLIPSIS_SUBTYPES,
    MULTI_ENTITY_SUBTYPES,
    QUESTION_TYPES,
)

# What the server was configured to declare; the original adds no PREFIX of its own.
SERVER_PREFIXES = {
    "wd": "http://www.wikidata.org/entity/",
    "wds": "http://www.wikidata.org/entity/statement/",
    "wdv": "http://www.wikidata.org/value/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "wikibase": "http://wikiba.se/ontology#",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "bd": "http://www.bigdata.com/rdf#",
}
SUMMARY_FILE = "eval_summary.json"
PHENOMENA = ("multi_entity", "ellipsis", "Ctx=-1", "Ctx<-1")

Result: TypeAlias = "bool | list[str]"
Record: TypeAlias = "dict[str, Any]"
Say: TypeAlias = Callable[[str], None]


# ---- reading


def read_records(file_path: str, read_all: bool) -> list[Record]:
    """The records of one file, or of all that match a pattern. No match is no error."""
    paths = glob.glob(file_path) if read_all else [file_path]  # noqa: PTH207  (the original's own pattern)
    records: list[Record] = []
    for path in paths:
        with Path(path).open(encoding="utf-8") as stream:
            records += json.load(stream)
    return records


def read_distances(path: str) -> dict[str, str]:
    """turnID → distance, as text. A line without a TAB is an IndexError, as it was."""
    distances: dict[str, str] = {}
    with Path(path).open(encoding="utf-8") as stream:
        for line in stream:
            columns = line.strip().split("\t")
            distances[columns[0]] = columns[1]
    return distances


def belongs(record: Record, question_type: str) -> bool:
    kind = record["question_type"]
    return bool(kind == question_type or question_type in kind)


def query_text(prediction: str) -> str:
    """Tokens split at single spaces; what follows `wd:` or `wdt:` is glued to it in capitals."""
    pieces: list[str] = []
    tokens = prediction.split(" ")
    for index, token in enumerate(tokens):
        if index >= 2 and tokens[index - 1].lower() in ("wd:", "wdt:"):
            pieces.append(token.upper())
        else:
            pieces.append(" " + token)
    return "".join(pieces).strip()


def is_executed(prediction: str | None) -> bool:
    """Whether a prediction reaches the server when queries are run at all."""
    return prediction is not None and "entity" not in prediction.split()


# ---- meters


@dataclass(slots=True)
class AccuracyMeter:
    instances: int = 0
    correct: int = 0
    matches: int = 0

    def update(self, gold: object, result: object, exact: bool) -> None:
        self.instances += 1
        self.correct += gold == result
        self.matches += exact

    @property
    def em(self) -> float:
        return self.matches / self.instances

    @property
    def accuracy(self) -> float:
        return self.correct / self.instances

    def figures(self) -> dict[str, float]:
        return {"instances": self.instances, "accuracy": self.accuracy, "em": self.em}


@dataclass(slots=True)
class F1Meter:
    instances: float = 0.0
    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    f1_sum: float = 0.0
    precision_sum: float = 0.0
    matches: int = 0
    mismatches: float = 0.0

    def update(self, gold: set[str], result: set[str], exact: bool) -> None:
        hit = len(gold & result)
        over = len(result - gold)
        missed = len(gold - result)
        self.instances += 1
        self.true_positives += hit
        self.false_positives += over
        self.false_negatives += missed
        precision = hit / (hit + over) if hit + over else 0
        recall = hit / (hit + missed) if hit + missed else 0
        self.precision_sum += precision
        self.f1_sum += _harmonic(precision, recall)
        self.matches += exact
        self.mismatches += exact and gold != result

    @property
    def em(self) -> float:
        return self.matches / self.instances

    @property
    def precision(self) -> float:
        predicted = self.true_positives + self.false_positives
        return self.true_positives / predicted if predicted else 0

    @property
    def recall(self) -> float:
        wanted = self.true_positives + self.false_negatives
        return self.true_positives / wanted if wanted else 0

    @property
    def f1(self) -> float:
        return _harmonic(self.precision, self.recall)

    @property
    def macro_f1(self) -> float:
        return self.f1_sum / self.instances

    @property
    def macro_precision(self) -> float:
        return self.precision_sum / self.instances

    def figures(self) -> dict[str, float]:
        return {
            "instances": self.instances,
            "precision": self.precision,
            "recall": self.recall,
            "f1score": self.f1,
            "macro-f1score": self.macro_f1,
            "em": self.em,
        }


def _harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0


Meter: TypeAlias = AccuracyMeter | F1Meter


# ---- one run


_UNSET: Any = object()


@dataclass(slots=True)
class OriginalRun:
    """One run over one question type, and what it found."""

    question_type: str
    execute: Callable[[str], Result]
    distances: Mapping[str, str] | None = None
    em_only: bool = False
    max_results: Any = 1000
    tell: Say | None = None
    buckets: dict[str, Meter] = field(default_factory=dict)
    unanswered: int = 0
    samples: int = 0
    # What the record before left behind.
    prediction: Any = _UNSET
    context_key: Any = _UNSET

    def add(self, record: Record) -> None:
        """One more record of the question type."""
        self.samples += 1
        if self.tell is not None:
            self.tell(str(record))
        subtype_key = self._begin_buckets(record)
        gold_query = record.get("sparql_delex")
        result = self._result(record)
        try:
            key = self.question_type
            gold, answered = _compare(record, result, self.max_results, self.em_only)
            if isinstance(gold, set):
                kind = record["question_type"]
                key = kind if isinstance(kind, str) else self.question_type
            exact = _exact(gold_query, _defined(self.prediction, "pred_sparql"))
            meters = [self.buckets[key], self.buckets[subtype_key]]
            meters.append(self.buckets[_defined(self.context_key, "meter_key_context")])
            for meter in meters:
                meter.update(gold, answered, exact)
        except Exception as error:
            raise ValueError(error) from error

    def _begin_buckets(self, record: Record) -> str:
        """Sees to it that the record's buckets are there; the key of its sub-type's."""
        fresh: type[AccuracyMeter] | type[F1Meter] = AccuracyMeter if self.is_accuracy else F1Meter
        subtype_key: str = self.question_type + "_" + record["description"]
        self.buckets.setdefault(self.question_type, fresh())
        self.buckets.setdefault(subtype_key, fresh())
        if "turnID" in record:
            distance = (self.distances or {}).get(record["turnID"], "none")
            self.context_key = ("accuracy_" if self.is_accuracy else "fscore_") + distance
            self.buckets.setdefault(self.context_key, fresh())
        return subtype_key

    def _result(self, record: Record) -> Result | set[str] | None:
        """What the prediction answers; None where it does not."""
        if record["actions"] is None:
            self.unanswered += 1
            return None
        self.prediction = record["actions"]
        if self.em_only:
            return set()
        if not is_executed(self.prediction):
            self.prediction = None
            self.unanswered += 1
            return None
        try:
            result = self.execute(query_text(self.prediction))
            if self.tell is not None:
                self.tell(str(result))
        except Exception:
            self.unanswered += 1
            return None
        return result

    @property
    def is_accuracy(self) -> bool:
        return self.question_type == BOOLEAN_TYPE or self.question_type in COUNT_TYPES

    def context(self) -> tuple[dict[str, float], dict[str, float]]:
        """`Ctx=-1` and `Ctx<-1`: the bucket of distance 1; the unweighted mean over all other distances."""
        prefix = "accuracy_" if self.is_accuracy else "fscore_"
        near = self.buckets.get(prefix + "1")
        far = [
            meter
            for key, meter in self.buckets.items()
            if key.startswith(prefix) and key not in (prefix + "1", prefix + "none")
        ]
        return (
            {"instances": near.instances, "em": near.em} if near else {"instances": 0.0, "em": 0.0},
            {
                "instances": float(sum(meter.instances for meter in far)),
                "em": sum(meter.em for meter in far) / len(far) if far else 0,
            },
        )

    def phenomenon(self, subtypes: Iterable[str]) -> dict[str, float] | None:
        """The unweighted mean of exact match over those sub-types that occur."""
        keys = (f"{self.question_type}_{subtype}" for subtype in subtypes)
        meters = [self.buckets[key] for key in keys if key in self.buckets]
        if not meters:
            return None
        return {
            "instances": float(sum(meter.instances for meter in meters)),
            "em": sum(meter.em for meter in meters) / len(meters),
        }

    def figures(self) -> dict[str, dict[str, float]]:
        """The JSON that the original writes."""
        figures = {key: meter.figures() for key, meter in self.buckets.items()}
        if self.distances is not None:
            figures["Ctx=-1"], figures["Ctx<-1"] = self.context()
        for name, subtypes in (("ellipsis", ELLIPSIS_SUBTYPES), ("multi_entity", MULTI_ENTITY_SUBTYPES)):
            value = self.phenomenon(subtypes)
            if value is not None:
                figures[name] = value
        return figures

    def say(self, say: Say) -> None:
        """The report that the original prints."""
        say(self.question_type)
        say(f"NA actions: {self.unanswered}")
        say(f"Total samples: {self.samples}")
        rows: list[list[object]] = []
        for key, meter in self.buckets.items():
            say(key)
            say(f"Number of Instances: {meter.instances}")
            if isinstance(meter, AccuracyMeter):
                say(f"Accuracy: {meter.accuracy}")
                rows.append([key, meter.instances, meter.accuracy, meter.em])
            else:
                say(f"Precision: {meter.precision}")
                say(f"Precision-2: {meter.macro_precision}")
                say(f"Recall: {meter.recall}")
                say(f"F1-score: {meter.f1}")
                say(f"F1-score-2: {meter.macro_f1}")
                rows.append(
                    [
                        key,
                        meter.instances,
                        meter.precision,
                        meter.recall,
                        meter.f1,
                        meter.em,
                        meter.macro_f1,
                        meter.mismatches,
                    ]
                )
        if self.is_accuracy:
            head = ["Type", "#Instances", "Accuracy", "EM"]
        else:
            head = [
                "Type",
                "#Instances",
                "Precision",
                "Recall",
                "F1 Score",
                "EM",
                "Macro F1 Score",
                "Missmatch",
            ]
        say(boxed_table(head, rows))
        if self.distances is not None:
            near, far = self.context()
            say(f"Ctx=-1: {near['em']}")
            say(f"Ctx<-1: {far['em']}")


class Flags(TypedDict, total=False):
    """What the original can be told."""

    distances: Mapping[str, str] | None
    """None without a distance file."""
    em_only: bool
    max_results: Any
    """Compared as it comes: the original's flag stays text, and that fails."""
    say: Say | None


def evaluate(
    records: Sequence[Record], question_type: str, execute: Callable[[str], Result], **flags: Unpack[Flags]
) -> OriginalRun:
    """One run of the original: the records of one question type, in order, quirks included."""
    run = OriginalRun(
        question_type, execute, flags.get("distances"), flags.get("em_only", False), flags.get("max_results", 1000),
        flags.get("say"),
    )  # fmt: skip
    for record in records:
        if not belongs(record, question_type):
            continue
        if question_type not in QUESTION_TYPES:
            raise NotImplementedError(question_type)
        run.add(record)
    return run


def _defined(value: Any, name: str) -> Any:
    if value is _UNSET:
        raise NameError(f"name '{name}' is not defined")
    return value


def _exact(gold: str | None, prediction: str | None) -> bool:
    if gold is None or prediction is None:
        return False
    return gold.lower() == prediction.lower()


def _compare(record: Record, result: Any, max_results: Any, em_only: bool) -> tuple[Any, Any]:
    """The gold answer and what is compared with it."""
    kind = record["question_type"]
    if kind == BOOLEAN_TYPE:
        return record["answer"] == "YES", result
    if isinstance(kind, str) and kind in COUNT_TYPES:
        answer = record["answer"]
        gold = int(answer) if answer.isnumeric() else len(record["results"])
        if result is None:
            return gold, None
        if len(result) == 1 and next(iter(result)).isnumeric():
            return gold, int(next(iter(result)))
        return gold, len(result)
    wanted = set(record["results"])
    if em_only:  # nothing was asked, nothing is compared
        return set(), set()
    answered = set() if result is None or isinstance(result, bool | int) else set(result)
    # The original pads the cut answer in a loop that never adds anything, so all false positives vanish.
    if answered != wanted and len(answered) > max_results:
        answered &= wanted
    return wanted, answered


# ---- the summary over question types


def summarise(folder: str | Path) -> dict[str, dict[str, float]]:
    """Unweighted means of exact match over the files that have each phenomenon; empty ones count as 0."""
    sums = dict.fromkeys(PHENOMENA, 0.0)
    counts = dict.fromkeys(PHENOMENA, 0)
    for path in sorted(Path(folder).glob("*.json")):
        if SUMMARY_FILE in str(path):
            continue
        figures = json.loads(path.read_text(encoding="utf-8"))
        for name in PHENOMENA:
            if name in figures:
                sums[name] += figures[name]["em"]
                counts[name] += 1
    return {name: {"em": sums[name] / counts[name] if counts[name] else 0} for name in PHENOMENA}


# ---- the table


def boxed_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in plus signs and bars, its cells centred."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *texts]) for i in range(len(head))]
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"

    def line(cells: Sequence[str]) -> str:
        return "|" + "|".join(f" {_centred(c, w)} " for c, w in zip(cells, widths, strict=True)) + "|"

    return "\n".join([rule, line(head), rule, *(line(row) for row in texts), rule])


def _centred(text: str, width: int) -> str:
    spare = width - len(text)
    # An odd space goes left of even text and right of odd text.
    left = spare // 2 + (spare % 2 if len(text) % 2 == 0 else 0)
    return " " * left + text + " " * (spare - left)
