"""Logs of inspect_ai: an archive (.eval), one JSON document, or its `EvalLog` and `EvalSample` objects in memory.

Every sample becomes a record: what the model wrote as `prediction`, the target as `gold`, a scorer's verdict as
`correct` (for `calibrated`), the single values of its metadata under their own names. Epochs are repeats of one sample.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sensecheck.inputs.errors import InputError, Unanswered, escaped, shown
from sensecheck.inputs.formats.host_fields import mean, note, picked, single
from sensecheck.inputs.formats.host_marks import is_inspect_log, is_inspect_sample
from sensecheck.inputs.formats.host_verdicts import agreement, is_whole, number_of, own_name, refused_verdict, verdict
from sensecheck.inputs.formats.reading import not_an_object
from sensecheck.inputs.formats.registry import Format, Row, Selection, in_a_line
from sensecheck.inputs.formats.replies import PREDICTION, fields_of_choices
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.json_arrays import read_document
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.zips import MAGIC, Archive, names_at_start

ANSWER_SCORED = "answer_scored"
"""What the scorer took out of the model's text."""

HEADER, STARTED = "header.json", "_journal/start.json"
_OTHERS = ("summaries.json", "reductions.json")
_SAMPLE_NAME = re.compile(r"samples/(.+)_epoch_(\d{1,9})(?:\.json|(/sample\.json))", re.DOTALL)
_ATTACHMENTS_NAME = re.compile(r"(samples/.+/)attachments/([0-9]{1,9})\.json", re.DOTALL)
_ATTACHMENT = re.compile(r"attachment://([0-9a-f]{32}|\d{1,9})(?![0-9a-zA-Z])")
_KIND_OF_ERROR = re.compile(r"\s*((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w{0,80})\s*(?=[(:]|$)")
_TAKEN = (
    "id",
    "epoch",
    "input",
    "choices",
    "gold",
    PREDICTION,
    "correct",
    "confidence",
    ANSWER_SCORED,
    "task",
    "model",
    "query",
)
_CORRECT, _CONFIDENCE = "correct", "confidence"
_NO_SCORE = "no score"
_MOST = 1 << 63
"""Whole numbers that are larger name and count nothing."""
_CALIBRATED, _DIVERSE, _LOOK = "calibrated", "diverse", ""

Fields = Mapping[str, Any]


@dataclass
class _Sample:
    """What is kept of a sample: its events, messages and stores are let go."""

    number: int
    id: str
    epoch: int
    scores: Fields
    error: str = ""
    """What kind of error it ended in."""
    limit: str = ""
    invalidated: bool = False
    input: str = ""
    choices: list[str] | None = None
    gold: str | list[str] | None = None
    answers: list[dict[str, Any]] = field(default_factory=list)
    """The model's answers, with their log-probabilities."""
    metadata: Fields = field(default_factory=dict)
    lost: bool = False
    """Whether its answer or its gold refers to an attachment that is not there."""


# ---- a sample


def _sample(item: Any, number: int, path: str, common: Fields) -> _Sample | InputError:
    """A sample of a log; `common` are the attachments of the whole log."""
    if not isinstance(item, Mapping):
        return not_an_object(item, path, record=number)
    name, epoch = item.get("id"), item.get("epoch", 1)
    if not (isinstance(name, str) or (is_whole(name) and abs(name) < _MOST)):
        return _bad_sample(path, number, "id", "a text or a whole number", name)
    if not (is_whole(epoch) and abs(epoch) < _MOST):
        return _bad_sample(path, number, "epoch", "a whole number", epoch)
    scores, output = item.get("scores"), item.get("output")
    if scores is None and isinstance(item.get("score"), Mapping):  # logs of 2024, with one scorer
        scores = {"score": item["score"]}
    if scores is not None and not (isinstance(scores, Mapping) and all(_is_score(one) for one in scores.values())):
        return _bad_sample(path, number, "scores", "scores by the names of scorers", scores)
    held = item.get("attachments")
    texts = _Texts({**common, **(held if isinstance(held, Mapping) else {})})
    told = _Sample(number, str(name), epoch, {str(name): one for name, one in (scores or {}).items()})
    told.error, told.limit = _error_kind(item.get("error")), _limit(item.get("limit"))
    told.invalidated = bool(item.get("invalidation"))
    told.gold = _gold(item.get("target"), texts)
    choices = output.get("choices") if isinstance(output, Mapping) else None
    try:
        told.answers = _answers(choices, texts)
    except InputError as error:
        return InputError(**{**error.parts(), "path": path or None, "record": number})
    if not told.answers and isinstance(output, Mapping) and isinstance(output.get("completion"), str):
        told.answers = [{PREDICTION: texts.resolved(output["completion"])}] if output["completion"] else []
    told.lost = texts.missing > 0
    told.input = _input(item.get("input"), texts)
    options = item.get("choices")
    told.choices = [str(one) for one in options] if isinstance(options, list) and options else None
    metadata = item.get("metadata")
    told.metadata = {
        str(name): texts.resolved(held) if isinstance(held, str) else held
        for name, value in (metadata.items() if isinstance(metadata, Mapping) else ())
        if (held := single(value)) is not None
    }
    return told


class _Texts:
    """Texts with what they refer to in its place."""

    def __init__(self, attachments: Fields) -> None:
        self._attachments = attachments
        self.missing = 0

    def resolved(self, text: str) -> str:
        return _ATTACHMENT.sub(self._one, text) if "attachment://" in text else text

    def _one(self, found: re.Match[str]) -> str:
        content = self._attachments.get(found[1])
        if isinstance(content, str):
            return content
        # What is no number of this log may be the model's own words.
        self.missing += len(found[1]) == 32 or bool(self._attachments)
        return found[0]


def _is_score(one: Any) -> bool:
    return one is None or (isinstance(one, Mapping) and "value" in one)


def _error_kind(error: Any) -> str:
    """The kind of error a sample ended in: few words, so that samples that failed alike are counted together."""
    if not error:
        return ""
    message = error.get("message") if isinstance(error, Mapping) else error
    found = _KIND_OF_ERROR.match(message) if isinstance(message, str) else None
    return f"error: {escaped(found[1])}" if found is not None else "error"


def _limit(limit: Any) -> str:
    kind = limit.get("type") if isinstance(limit, Mapping) else None
    return escaped(kind[:40]) if isinstance(kind, str) else ""


def _gold(target: Any, texts: _Texts) -> str | list[str] | None:
    if isinstance(target, list):
        golds = [texts.resolved(one) for one in target if isinstance(one, str)]
        return golds[0] if len(golds) == 1 else golds or None
    return texts.resolved(target) if isinstance(target, str) and target else None


def _answers(choices: Any, texts: _Texts) -> list[dict[str, Any]]:
    kept = []
    for choice in choices if isinstance(choices, list) else []:
        message = choice.get("message") if isinstance(choice, Mapping) else None
        if not isinstance(message, Mapping):
            continue
        content = texts.resolved(_text(message.get("content")))
        kept.append({"message": {"content": content}, "logprobs": choice.get("logprobs")})
    return fields_of_choices(kept)


def _text(content: Any) -> str:
    """The text of a message: its parts that are texts, without what was thought."""
    if isinstance(content, list):
        parts = [one for one in content if isinstance(one, Mapping) and one.get("type", "text") == "text"]
        return "".join(str(one.get("text") or "") for one in parts)
    return content if isinstance(content, str) else ""


def _input(given: Any, texts: _Texts) -> str:
    """What was asked: of messages, those of the user."""
    if isinstance(given, list):
        asked = [one for one in given if isinstance(one, Mapping) and one.get("role") in ("user", None)]
        return texts.resolved("\n\n".join(_text(one.get("content")) for one in asked))
    return texts.resolved(given) if isinstance(given, str) else ""


def _bad_sample(path: str, number: int, name: str, expected: str, got: Any) -> InputError:
    return InputError(
        path=path or None, record=number, field=name, expected=expected, got=shown(got, 80), reason=Reason.BAD_RECORD,
    )  # fmt: skip


# ---- a log


def _of_log(
    header: Fields, items: Iterable[tuple[int, Any]], path: str, selection: Selection, several: bool
) -> Iterator[Row]:
    """The records of one log. `header` is empty for samples by themselves.

    several: whether other logs are read with it, whose tasks may call their samples by the same ids.
    """
    if not _is_asked_about(header, path, selection, several):
        return
    try:
        _refuse_unfinished(header, path)
    except InputError as error:
        if selection.question != _LOOK:
            raise
        selection.notes.append(str(error.problem))
    common = _part(header, "attachments")
    held = [(number, _sample(item, number, path, common)) for number, item in items]
    if not held:
        raise _without_samples(header, path)
    yield from ((number, one) for number, one in held if isinstance(one, InputError))
    samples = [one for _, one in held if isinstance(one, _Sample)]
    if not samples:
        return
    shape = _shape(header, samples, several)
    _refuse_twice(samples, shape, path, selection)
    note(selection, _how_many_are_missing(header, samples, shape))
    judge = _judge(samples, header, path, selection, several)
    if selection.question == _DIVERSE:
        yield from _responses(samples, shape)
        return
    lost = 0
    for sample in samples:
        lost += sample.lost
        yield sample.number, _row(sample, judge, shape, path, selection)
    if lost:
        selection.notes.append(
            f"{lost:,} sample{'s refer' if lost > 1 else ' refers'} to attachments that the log does not hold"
        )
    if judge is not None:
        note(selection, *(f"{shape.told}{one}" for one in judge.notes()))


def _is_asked_about(header: Fields, path: str, selection: Selection, several: bool) -> bool:
    """Whether the log is of the model that is asked about: answers of several models are never mixed."""
    model = _evaluated(header).get("model")
    if not isinstance(model, str) or not model or selection.question == _LOOK:
        return True
    selection.seen.setdefault(("model", model), path)
    models = _models(selection)
    if selection.filter is not None:
        if not several or selection.filter == model:
            selection.pick("filter", [model], path)
            selection.method["provider"] = selection.method.pop("filter")  # another system, and no other yardstick
        selection.used.add("filter")
        return selection.filter == model
    if len(models) > 1:
        raise InputError(
            f"several models: {in_a_line(models, shown)}", path=path or None,
            hint=f"Say whose answers are meant: --filter {in_a_line(models[:1])} (filter=). `sensecheck compare A B` "
            "sets the logs of two models side by side.", reason=Reason.AMBIGUOUS_FORMAT,
        )  # fmt: skip
    return True


def _models(selection: Selection) -> list[str]:
    return [key[1] for key in selection.seen if key[0] == "model"]


def _refuse_unknown_model(path: str, selection: Selection) -> None:
    """After the last of several files: one of them must have been of the model that is asked about."""
    selection.seen["file", path] = path
    models = _models(selection)
    read = sum(key[0] == "file" for key in selection.seen)
    if selection.filter is not None and models and selection.filter not in models and read >= selection.together:
        selection.pick("filter", models, "")


def _refuse_twice(samples: Sequence[_Sample], shape: _Shape, path: str, selection: Selection) -> None:
    """A sample that counts twice would be a figure of something else."""
    for sample in samples:
        key = ("sample", f"{shape.prefix}{sample.id}", str(sample.epoch))
        before = selection.seen.get(key)
        if before is None:
            selection.seen[key] = f"{path}, record {sample.number:,}" if path else f"record {sample.number:,}"
            continue
        error = InputError(
            f"the sample {shown(sample.id, 60)} of epoch {sample.epoch:,} is there twice, first in {escaped(before)}",
            path=path or None, record=sample.number, hint="Are two runs of one task read together? Give one of them.",
            reason=Reason.KEY_TWICE,
        )  # fmt: skip
        if selection.question != _LOOK:
            raise error
        note(selection, str(error.problem))
        return


def _how_many_are_missing(header: Fields, samples: Sequence[_Sample], shape: _Shape) -> str:
    """What is said where the log counts more samples than it holds."""
    there, ids = len(samples), len({sample.id for sample in samples})
    results, told = _part(header, "results"), _evaluated(header)
    counted = max((_count(results.get(name)) for name in ("total_samples", "completed_samples")), default=0)
    dataset, config = _part(told, "dataset"), _part(told, "config")
    chosen = config.get("limit") is not None or config.get("sample_id") is not None
    in_dataset = 0 if chosen else _count(dataset.get("samples"))
    if counted > there:
        return f"{shape.told}the log counts {counted:,} samples and holds {there:,}: what is said is of those alone"
    if in_dataset > ids:
        return (
            f"{shape.told}the log is of a dataset of {in_dataset:,} samples and holds {ids:,} of them: what is said is "
            "of those alone"
        )
    return ""


def _count(value: Any) -> int:
    return value if is_whole(value) and 0 <= value < _MOST else 0


def _part(whole: Fields, name: str) -> Fields:
    part = whole.get(name)
    return part if isinstance(part, Mapping) else {}


def _evaluated(header: Fields) -> Fields:
    """What the log says was evaluated: task, model, dataset."""
    return _part(header, "eval")


def _refuse_unfinished(header: Fields, path: str) -> None:
    status = header.get("status", "success")
    if status == "success":
        return
    why = _error_kind(header.get("error"))
    raise InputError(
        f"is the log of a run that did not finish: its status is {shown(status, 40)}{f' ({why})' if why else ''}, "
        "and what it holds is no result", path=path or None,
        hint="Finish it with `inspect eval-retry FILE` and read the new log.", reason=Reason.REFUSED,
    )  # fmt: skip


def _without_samples(header: Fields, path: str) -> InputError:
    metrics = [
        f"{name}: {metric} {value:g}"
        for score in _scores_of(header)
        for name in [str(score.get("name"))]
        for metric, value in _metrics(score).items()
        if metric in ("accuracy", "mean")
    ]
    told = f" (its results say {escaped(', '.join(metrics[:3]))[:200]})" if metrics else ""
    return InputError(
        f"is the header of a log, without samples{told}", path=path or None,
        hint="Read the whole log: `inspect log dump FILE` writes it, or read_eval_log(FILE) without header_only.",
        reason=Reason.EMPTY,
    )  # fmt: skip


@dataclass
class _Shape:
    """What all rows of a log have in common."""

    fields: dict[str, str]
    epochs: bool
    golds_are_lists: bool
    choices: bool
    renamed: dict[str, str]
    """Fields of the metadata → what they are called here."""
    prefix: str = ""
    """What ids begin with, so that those of several tasks are told apart."""
    told: str = ""
    """Of which of several logs something is said."""


def _shape(header: Fields, samples: Sequence[_Sample], several: bool) -> _Shape:
    told = _evaluated(header)
    fields = {name: told[name] for name in ("task", "model", "query") if isinstance(told.get(name), str)}
    task = fields.get("task") if several else None
    names = dict.fromkeys(name for sample in samples for name in sample.metadata)
    return _Shape(
        fields,
        len({sample.epoch for sample in samples}) > 1,
        any(isinstance(sample.gold, list) for sample in samples),
        any(sample.choices for sample in samples),
        {name: own_name(name, _TAKEN) for name in names},
        f"{task}/" if task else "",
        f"{escaped(task)[:60]}: " if task else "",
    )


def _asked(sample: _Sample, shape: _Shape) -> dict[str, Any]:
    """What is known of a sample before anything was answered."""
    row: dict[str, Any] = {shape.renamed[name]: value for name, value in sample.metadata.items()}
    row |= {**shape.fields, "id": f"{shape.prefix}{sample.id}", "input": sample.input}
    if shape.epochs:
        row["epoch"] = sample.epoch
    if shape.choices:
        row["choices"] = sample.choices
    gold = sample.gold
    row["gold"] = [gold] if isinstance(gold, str) and shape.golds_are_lists else gold
    return row


def _row(sample: _Sample, judge: _Judge | None, shape: _Shape, path: str, selection: Selection) -> Any:
    row = _asked(sample, shape)
    judged = selection.question == _CALIBRATED
    if sample.invalidated:
        return Unanswered(row, "invalidated")
    if judge is not None:
        row[ANSWER_SCORED] = judge.answer(sample)
    if selection.question == _LOOK and sample.scores:
        row |= {_CORRECT: None, _CONFIDENCE: None}  # which verdict is meant is not asked here
    if judge is not None and judge.asked:
        right, confidence = judge.of(sample)
        if right is None and judged:
            limit = f" ({sample.limit} limit)" if sample.limit else ""
            return Unanswered(row, sample.error or f"{_NO_SCORE}{limit}")
        row |= {_CORRECT: right, _CONFIDENCE: confidence}
    if sample.error and not judged:
        return Unanswered(row, sample.error)
    if sample.lost and selection.question not in (_CALIBRATED, _LOOK):
        return InputError(
            "refers to an attachment that the log does not hold", path=path or None, record=sample.number,
            hint="Read the log as inspect wrote it, or resolve its attachments when it is read.",
            reason=Reason.MISSING_TEXT,
        )  # fmt: skip
    answer = dict(sample.answers[0]) if sample.answers else {PREDICTION: ""}
    if row.get(_CONFIDENCE) is not None:
        answer = {PREDICTION: answer[PREDICTION]}  # the scorer's own confidence is what is asked about
    return {**row, **answer}


def _responses(samples: Sequence[_Sample], shape: _Shape) -> Iterator[Row]:
    """For `diverse`: a record a sample, with the answers of all its epochs."""
    by_id: dict[str, list[_Sample]] = {}
    for sample in samples:
        by_id.setdefault(sample.id, []).append(sample)
    for together in by_id.values():
        first = together[0]
        row = {name: value for name, value in _asked(first, shape).items() if name != "epoch"}
        row["query"] = first.input
        texts = [answer[PREDICTION] for one in together if not one.error for answer in one.answers]
        if texts:
            yield first.number, {**row, "responses": texts}
        else:
            yield first.number, Unanswered(row, first.error or "no answer")


# ---- verdicts


@dataclass
class _Judge:
    """The scorer whose verdicts are read, or the part of its values that is one."""

    scorer: str
    part: str
    header: Fields
    path: str
    asked: bool = True
    """Whether its verdicts are asked for, and not only what it took for the answer."""
    given: dict[str, list[float]] = field(default_factory=dict)
    """The verdicts by sample."""
    despite_error: int = 0

    def of(self, sample: _Sample) -> tuple[float | None, Any]:
        """The verdict on a sample, or none, and how sure the scorer says that the answer was."""
        score = sample.scores.get(self.scorer)
        value = score.get("value") if isinstance(score, Mapping) else None
        confidence = None
        if self.part:
            if not isinstance(value, Mapping) or self.part not in value:
                return None, None
            confidence = value.get(_CONFIDENCE) if self.part != _CONFIDENCE else None
            value = value[self.part]
        try:
            right = verdict(value)
        except ValueError as error:
            raise self._no_verdict(sample, value, str(error)) from None
        if right is not None:
            self.given.setdefault(sample.id, []).append(right)
            self.despite_error += bool(sample.error)
        return right, _confidence(confidence)

    def answer(self, sample: _Sample) -> str | None:
        score = sample.scores.get(self.scorer)
        answer = score.get("answer") if isinstance(score, Mapping) else None
        return answer if isinstance(answer, str) else None

    def _no_verdict(self, sample: _Sample, value: Any, why: str) -> InputError:
        others = [name for name in sample.scores if name != self.scorer]
        hint = "A verdict is C, I, P, N, yes or no, true or false, or a number from 0 to 1."
        if others:
            listed = ", ".join(shown(one, 60) for one in others[:10])
            hint = f"Another scorer may be meant: {listed} (--scorer NAME)."
        return refused_verdict(self.named, value, why, hint, self.path, sample.number)

    @property
    def named(self) -> str:
        return f"{self.scorer}/{self.part}" if self.part else self.scorer

    def notes(self) -> list[str]:
        notes = []
        if self.despite_error:
            notes.append(
                f"{self.despite_error:,} sample{'s' if self.despite_error > 1 else ''} ended in an error and "
                f"{'have' if self.despite_error > 1 else 'has'} a score all the same, which counts"
            )
        if not self.given:
            return notes
        ours, _ = mean(value for values in self.given.values() for value in values)
        # As the log reduces epochs: first those of one sample.
        by_sample, _ = mean(mean(values)[0] for values in self.given.values())
        assert ours is not None and by_sample is not None
        return [*notes, *self._agreement(ours, by_sample)]

    def _agreement(self, ours: float, by_sample: float) -> list[str]:
        """Whether the log's own figure is the same."""
        reduced = ""
        for score in _scores_of(self.header):
            name, scorer = score.get("name"), score.get("scorer")
            mine = (name == self.part and scorer == self.scorer) if self.part else name == self.scorer
            metrics = _metrics(score)
            metric = next((one for one in ("accuracy", "mean") if one in metrics), "")
            if not mine or not metric:
                continue
            if score.get("reducer") in (None, "", "mean"):
                return [agreement(ours, by_sample, metrics[metric], metric)]
            reduced = f"the log's own {metric} {metrics[metric]:.4g} is of epochs reduced by {score['reducer']!s:.60}"
        return [escaped(reduced)] if reduced else []


def _confidence(value: Any) -> Any:
    if isinstance(value, str):
        return value
    number = number_of(value)
    return None if number is None or math.isnan(number) else number


def _scores_of(header: Fields) -> list[Fields]:
    scores = _part(header, "results").get("scores")
    return [one for one in scores if isinstance(one, Mapping)] if isinstance(scores, list) else []


def _metrics(score: Fields) -> dict[str, float]:
    """The figures of a score, by the last part of their names."""
    metrics = score.get("metrics")
    found: dict[str, float] = {}
    for name, metric in metrics.items() if isinstance(metrics, Mapping) else ():
        value = number_of(metric.get("value") if isinstance(metric, Mapping) else metric)
        if value is not None:
            found.setdefault(str(name).rpartition("/")[2], value)
    return found


def _judge(samples: Sequence[_Sample], header: Fields, path: str, selection: Selection, several: bool) -> _Judge | None:
    """The scorer that is read: the named one, or the only one; none where no verdict is asked for."""
    names = list(dict.fromkeys(name for sample in samples for name in sample.scores))
    judged = selection.question == _CALIBRATED
    if not names:
        if selection.scorer is not None:
            selection.pick("scorer", [], path)
        if judged and not any(sample.error for sample in samples):
            raise InputError(
                f"was never scored: none of its {len(samples):,} samples has a score", path=path or None,
                hint="Score it with `inspect score FILE`; other questions read its answers as they are.",
                reason=Reason.NO_MARKS,
            )  # fmt: skip
        return _Judge("", "", header, path) if judged else None
    if selection.question == _LOOK:
        listed = ", ".join(shown(name, 60) for name in names[:20])
        note(selection, f"several scorers: {listed} (--scorer NAME)" if len(names) > 1 else f"scorer: {listed}")
    if selection.scorer is None and not judged:
        return _Judge(names[0], "", header, path, asked=False) if len(names) == 1 else None
    parts = _parts(samples, names)
    offered = names
    if selection.scorer is not None:
        offered = [*names, *(f"{name}/{part}" for name in names for part in parts[name])]
    before = selection.method.get("scorer")
    chosen = picked(selection, "scorer", offered, path, several=several)
    scorer, part = (chosen, "") if chosen in names else _split(chosen, names)
    if not part and parts[scorer]:
        part = _CORRECT if _CORRECT in parts[scorer] else parts[scorer][0] if len(parts[scorer]) == 1 else ""
        if not part:
            told = [f"{scorer}/{one}" for one in parts[scorer]]
            listed = ", ".join(shown(one, 60) for one in told[:20])
            raise InputError(
                f"the scorer {shown(scorer, 60)} gives several values: {listed}",
                path=path or None, hint=f"Say which one is meant: --scorer {escaped(told[0][:60])} (scorer=).",
                reason=Reason.AMBIGUOUS_FORMAT,
            )  # fmt: skip
        named = f"{scorer}/{part}"
        known = str(before or named).split("+")
        selection.method["scorer"] = "+".join(known if named in known else [*known, named])
    return _Judge(scorer, part, header, path)


def _parts(samples: Sequence[_Sample], names: Sequence[str]) -> dict[str, list[str]]:
    """Of every scorer, the parts that its values have."""
    parts: dict[str, dict[str, None]] = {name: {} for name in names}
    for sample in samples:
        for name, score in sample.scores.items():
            if isinstance(score, Mapping) and isinstance(score["value"], Mapping):
                parts[name].update(dict.fromkeys(map(str, score["value"])))
    return {name: list(found) for name, found in parts.items()}


def _split(picked: str, names: Sequence[str]) -> tuple[str, str]:
    """A scorer and a part of its values; names may hold slashes themselves."""
    scorer = max((name for name in names if picked.startswith(f"{name}/")), key=len)
    return scorer, picked[len(scorer) + 1 :]


# ---- documents, and objects in memory


def _records(objects: Iterable[Row], path: str, selection: Selection) -> Iterator[Row]:
    """Of whole logs, or of samples by themselves."""
    alone: list[tuple[int, Any]] = []
    held = list(objects)
    several = selection.together > 1 or sum(isinstance(one, Mapping) and is_inspect_log(one) for _, one in held) > 1
    for number, item in held:
        if isinstance(item, InputError):
            yield number, item
        elif is_inspect_log(item):
            samples = item.get("samples")
            if samples is not None and not isinstance(samples, list):
                raise InputError(
                    path=path or None,
                    field="samples",
                    expected="a list",
                    got=shown(samples, 60),
                    reason=Reason.NOT_A_LIST,
                )
            yield from _of_log(item, enumerate(samples or [], 1), path, selection, several)
        else:
            alone.append((number, item))
    if alone:
        yield from _of_log({}, alone, path, selection, several)
    _refuse_unknown_model(path, selection)


# ---- archives


def _log(source: Source, selection: Selection) -> Iterator[Row]:
    if source.head(2) == b"\x1f\x8b" or source.head(4) == b"\x28\xb5\x2f\xfd":
        raise InputError(
            "is a log that was packed once more", path=source.name, hint="Unpack it first (gunzip, zstd -d).",
            reason=Reason.NOT_TEXT,
        )  # fmt: skip
    archive = Archive(source)
    try:
        header = _header(archive)
        yield from _of_log(header, _members(archive, _json), source.name, selection, selection.together > 1)
        _refuse_unknown_model(source.name, selection)
    finally:
        archive.close()


def _header(archive: Archive) -> Fields:
    if HEADER in archive.entries:
        header = _json(archive, HEADER)
        if not isinstance(header, Mapping):
            raise not_an_object(header, f"{archive.path}/{HEADER}")
        if "status" not in header:
            raise InputError(
                f"does not say how the run ended: {HEADER} has no status", path=archive.path,
                hint="Is the log complete?", reason=Reason.UNREADABLE,
            )  # fmt: skip
        return header
    if STARTED in archive.entries:
        return {"status": "started"}
    raise InputError(
        "is a zip archive without header.json, and so no log of inspect", path=archive.path,
        hint="Is this the right file?", reason=Reason.UNREADABLE,
    )  # fmt: skip


def _json(archive: Archive, name: str) -> Any:
    return read_document(archive.read(name), f"{archive.path}/{name}", "a JSON document", hint="Is the log complete?")


def _members(archive: Archive, read: Callable[[Archive, str], Any]) -> Iterator[tuple[int, Any]]:
    """The samples of an archive by epoch and id, whatever the order in which they ended."""
    found = [(name, match) for name in archive.entries if (match := _SAMPLE_NAME.fullmatch(name)) is not None]
    found.sort(key=lambda one: (int(one[1][2]), _natural(one[1][1])))
    beside = _attachments(archive) if any(match[3] for _, match in found) else {}
    for number, (name, match) in enumerate(found, 1):
        sample = read(archive, name)
        if match[3] is not None and isinstance(sample, dict):
            folder = name.removesuffix("sample.json")
            sample |= _beside(archive, folder, beside.get(folder, ()), read)
        yield number, sample


def _natural(name: str) -> tuple[int, int, str]:
    """Numbers by their size, before texts."""
    return (0, int(name), "") if name.isdecimal() and len(name) < 19 else (1, 0, name)


def _attachments(archive: Archive) -> dict[str, list[tuple[int, str]]]:
    """By the folder of a sample: the number of the first text in each file of its attachments, and its name."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name in archive.entries:
        if (match := _ATTACHMENTS_NAME.fullmatch(name)) is not None:
            found.setdefault(match[1], []).append((int(match[2]), name))
    return found


def _beside(
    archive: Archive, folder: str, attached: Iterable[tuple[int, str]], read: Callable[[Archive, str], Any]
) -> dict[str, Any]:
    """What lies beside a sample that is kept in pieces: its metadata, and its attachments by number."""
    more: dict[str, Any] = {}
    if f"{folder}metadata.json" in archive.entries:
        more["metadata"] = read(archive, f"{folder}metadata.json")
    attachments: dict[str, str] = {}
    for first, name in attached:
        texts = read(archive, name)
        for at, text in enumerate(texts if isinstance(texts, list) else [], first):
            attachments[str(at)] = text
    return {**more, "attachments": attachments}


# ---- recognition


def _is_document(start: Start) -> str:
    if start.kind == "text":
        return ""
    if is_inspect_log(start.first):
        return f"it has the parts of inspect's logs, with the status {start.first['status']}"
    return "its records are samples of inspect's logs" if is_inspect_sample(start.first) else ""


def _is_archive(start: Start) -> str:
    if not start.data.startswith(MAGIC):
        return ""
    for name in names_at_start(start.data):
        if name in (HEADER, STARTED, *_OTHERS) or _SAMPLE_NAME.fullmatch(name):
            return f"it is a zip archive with {name}"
        return ""
    return ""


FORMATS = (
    Format(
        "inspect",
        "inspect_ai's logs as JSON, and its EvalLog and EvalSample objects: verdicts, answers, targets, metadata",
        known=_is_document,
        records=_records,
        example="sensecheck calibrated log.json --scorer match",
    ),
    Format(
        "inspect-eval",
        "inspect_ai's logs as it writes them (.eval, a zip archive)",
        known=_is_archive,
        log=_log,
        endings=("eval",),
        example="sensecheck compare a.eval b.eval",
    ),
)
