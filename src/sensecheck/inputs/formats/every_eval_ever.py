"""every_eval_ever's samples (`X_samples.jsonl`): a line for every sample and metric, whatever host they came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import SKIP_HINT, InputError, Unanswered, escaped, shown
from sensecheck.inputs.formats.host_fields import (
    agreement,
    beside,
    even_golds,
    mean,
    note,
    number,
    picked,
    placed,
    spelled,
    to_choose,
    verdict,
    verdict_names,
    with_fields,
)
from sensecheck.inputs.formats.registry import Format, Row, Selection, in_a_line
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.reasons import Reason

Fields = Mapping[str, Any]

_PREFERRED = ("acc", "accuracy", "exact_match")
"""Metrics that say which answers are right, where a sample has several."""
_PLACE = re.compile(r"[0-9]{1,9}")
_ENDINGS = ("_samples.jsonl", "_samples.jsonl.gz", "_samples.jsonl.zst")


@dataclass(slots=True)
class _Sample:
    """One line: a sample under one metric."""

    number: int
    name: str
    metric: str
    evaluation: str
    model: str
    item: Fields
    epoch: str | None


def _sample(item: Fields, number: int) -> _Sample:
    name = item.get("sample_id")
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise _wrong("sample_id", "what the sample is called", name)
    evaluation = item.get("evaluation_name")
    metric = item.get("evaluation_result_id") or evaluation
    if not isinstance(metric, str):
        raise _wrong("evaluation_result_id", "the name of a metric", metric)
    given = item.get("input")
    reference = given.get("reference") if isinstance(given, Mapping) else None
    for one in reference if isinstance(reference, list) else [reference]:
        spelled(one, "reference")
    metadata = item.get("metadata")
    epoch = metadata.get("epoch") if isinstance(metadata, Mapping) else None
    return _Sample(
        number, spelled(name, "sample_id"), metric, evaluation if isinstance(evaluation, str) else "",
        spelled(item.get("model_id") or "", "model_id"), item,
        spelled(epoch, "epoch") if isinstance(epoch, str | int) else None,
    )  # fmt: skip


def _wrong(name: str, expected: str, got: Any) -> InputError:
    return InputError(field=name, expected=expected, got=shown(got, 80), hint=SKIP_HINT, reason=Reason.BAD_RECORD)


def _outputs(item: Fields) -> list[str]:
    """What the model said; of several turns, what it said last."""
    output = item.get("output")
    raw = output.get("raw") if isinstance(output, Mapping) else None
    if isinstance(raw, str):
        return [raw]
    if isinstance(raw, list) and raw and all(isinstance(one, str) for one in raw):
        return list(raw)
    messages = item.get("messages")
    said = [
        one["content"]
        for one in (messages if isinstance(messages, list) else [])
        if isinstance(one, Mapping) and one.get("role") == "assistant" and isinstance(one.get("content"), str)
    ]
    return said[-1:]


def _score(item: Fields) -> Any:
    """The score; where it is no number from 0 to 1, whether the answer was right."""
    given = item.get("evaluation")
    if not isinstance(given, Mapping):
        return None
    score = given.get("score")
    if score is None or (number(score) is None and isinstance(given.get("is_correct"), bool)):
        return given.get("is_correct")
    return score


def _gold(item: Fields, said: str | None) -> str | list[str] | None:
    """The right text or texts; of choices, what stands at the place that the reference names."""
    given = item.get("input")
    if not isinstance(given, Mapping):
        return None
    reference, choices = given.get("reference"), given.get("choices")
    golds = [reference] if isinstance(reference, str | int) else reference
    if not isinstance(golds, list) or not golds or not all(isinstance(one, str | int) for one in golds):
        return None
    texts = [str(one) for one in golds]
    if isinstance(choices, list) and all(isinstance(one, str) for one in choices):
        placed_texts = [_at(one, choices) for one in texts]
        # A choice may itself be a number: then the reading holds that the verdict bears out.
        is_right = verdict(_score(item)) == 1
        as_texts, as_places = ((said in reading) == is_right for reading in (texts, placed_texts))
        if not all(one in choices for one in texts) or (as_places and not as_texts):
            texts = placed_texts
    return texts[0] if len(texts) == 1 else texts


def _at(reference: str, choices: Sequence[str]) -> str:
    """The choice whose place the reference is; else the reference."""
    place = int(reference) if _PLACE.fullmatch(reference) else len(choices)
    return choices[place] if place < len(choices) else reference


def _records(objects: Iterable[Row], path: str, selection: Selection) -> Iterator[Row]:
    samples: list[_Sample] = []
    for at, item in objects:
        if isinstance(item, InputError):
            yield at, item
            continue
        if "sample_id" not in item and isinstance(item.get("evaluation_results"), list):
            raise _only_figures(item, path)
        try:
            samples.append(_sample(item, at))
        except InputError as error:
            yield at, placed(error, path, line=at)
    if samples:
        yield from _chosen(samples, path, selection)


def _only_figures(item: Fields, path: str) -> InputError:
    details = item.get("detailed_evaluation_results")
    named = details.get("file_path") if isinstance(details, Mapping) else None
    stem = Path(path).name.removesuffix(".json") if path else ""
    wanted = f"{stem}_samples.jsonl" if stem else "X_samples.jsonl"
    if isinstance(named, str) and stem and not (Path(path).parent / wanted).is_file():
        wanted = f"{wanted} (it calls them {escaped(named)[:200]})"
    return InputError(
        "holds the figures of an evaluation (every_eval_ever), and none of its answers", path=path or None,
        hint=f"Give its samples: {wanted}.", reason=Reason.NOT_AN_INPUT,
    )  # fmt: skip


def _chosen(samples: Sequence[_Sample], path: str, selection: Selection) -> Iterator[Row]:
    models = list(dict.fromkeys(one.model for one in samples))
    if len(models) > 1 and selection.question:
        raise InputError(
            f"holds answers of several models: {in_a_line(models, shown)}", path=path or None,
            hint="Give the samples of one model; two files of samples are compared with `sensecheck compare`.",
            reason=Reason.MIXED,
        )  # fmt: skip
    metric = _metric(samples, path, selection)
    kept = [one for one in samples if one.metric == metric] if metric else _first_of_each(samples)
    several = selection.together > 1 or len({one.evaluation for one in kept}) > 1
    seen: dict[tuple[str, str | None], int] = {}
    epochs = len({one.epoch for one in kept}) > 1
    golds = [_gold(one.item, next(iter(_outputs(one.item)), None)) for one in kept]
    for one, gold in zip(kept, even_golds(golds, several=several), strict=True):
        name = f"{one.evaluation}/{one.name}" if several and one.evaluation else one.name
        key = (f"{one.model}\0{name}", one.epoch)
        if key in seen:
            raise InputError(
                f"the sample {shown(one.name, 60)} is there twice with the metric {shown(one.metric, 60)}, "
                f"first in line {seen[key]:,}", path=path or None, line=one.number,
                hint="Are two runs in one file? Give the samples of one run.", reason=Reason.KEY_TWICE,
            )  # fmt: skip
        seen[key] = one.number
        yield one.number, _row(one, name, gold, epochs, selection)
    if selection.question:
        _tell_left_out(samples, kept, metric, selection)
    if metric and selection.question == "calibrated":
        judged = [one for one in kept if not _has_failed(one.item)]
        _tell_contradictions(judged, metric, selection)
        _compare(judged, metric, path, selection)


def _tell_left_out(samples: Sequence[_Sample], kept: Sequence[_Sample], metric: str, selection: Selection) -> None:
    """Say what is not read because it was judged by other metrics alone."""
    read = {(one.evaluation, one.name, one.epoch) for one in kept}
    left = {(one.evaluation, one.name, one.epoch): one.evaluation for one in samples}
    names = [evaluation for key, evaluation in left.items() if key not in read]
    if names:
        of = in_a_line([name for name in dict.fromkeys(names) if name], shown)
        note(
            selection,
            f"{len(names):,} of {len(left):,} samples{f' (of {of})' if of else ''} have no line of the metric "
            f"{escaped(metric)[:60]} and are left out (--scorer)",
        )


def _tell_contradictions(samples: Sequence[_Sample], metric: str, selection: Selection) -> None:
    """Say where a score and the mark beside it are of two minds: less may be better there."""
    odd = 0
    for one in samples:
        given = one.item.get("evaluation")
        is_right = given.get("is_correct") if isinstance(given, Mapping) else None
        odd += isinstance(is_right, bool) and verdict(_score(one.item)) == float(not is_right)
    if odd:
        note(
            selection,
            f"{odd:,} of {len(samples):,} scores ({escaped(metric)[:60]}) are the contrary of is_correct beside them: "
            "the scores are taken",
        )


def _has_failed(item: Fields) -> bool:
    return bool(item.get("error")) and not _outputs(item)


def _first_of_each(samples: Sequence[_Sample]) -> list[_Sample]:
    """A line for every sample and evaluation, whatever metrics it has."""
    metrics = {one.evaluation: one.metric for one in reversed(samples)}
    return [one for one in samples if metrics[one.evaluation] == one.metric]


def _metric(samples: Sequence[_Sample], path: str, selection: Selection) -> str:
    """The metric that is read."""
    names = list(dict.fromkeys(one.metric for one in samples))
    if selection.question in ("", "diverse") and selection.scorer is None:
        if not selection.question:
            to_choose(selection, "scorer", names)
        return next((name for name in _PREFERRED if name in names), names[0])
    if selection.question == "calibrated":
        good, others = verdict_names([{one.metric: _score(one.item)} for one in samples])
        falling = _where_less_is_better(path)
        others += [name for name in good if name in falling]
        names = [name for name in good if name not in falling]
        if selection.scorer in others or not names:
            told = in_a_line(others, shown) or "there are no scores"
            raise InputError(
                f"{told}: no verdict on answers, which is a number from 0 (wrong) to 1 (right)", path=path or None,
                field="scorer", hint=f"Verdicts here: {in_a_line(names) or 'none'}.", reason=Reason.NO_MARKS,
            )  # fmt: skip
    return picked(selection, "scorer", names, path, _PREFERRED)


def _row(one: _Sample, name: str, gold: str | list[str] | None, epochs: bool, selection: Selection) -> Fields:
    item = one.item
    given = item.get("input")
    asked = given.get("raw") if isinstance(given, Mapping) else None
    about: dict[str, Any] = {"id": name}
    if isinstance(asked, str):
        about["question"] = asked
    if epochs and one.epoch is not None:
        about["epoch"] = one.epoch
    if one.evaluation:
        about["evaluation_name"] = one.evaluation
    said = _outputs(item)
    if _has_failed(item):
        return Unanswered(_with_metadata(about, item), "sample ended in an error")
    if selection.question == "diverse":
        return _with_metadata({**about, "query": asked if isinstance(asked, str) else "", "responses": said}, item)
    text = said[0] if said else None
    row = {**about, "prediction": text, "gold": gold}
    if selection.question in ("", "calibrated"):
        row |= {"confidence": None, "correct": verdict(_score(item))}
    return _with_metadata(row, item)


def _with_metadata(row: Fields, item: Fields) -> dict[str, Any]:
    fields = with_fields(row, item.get("metadata"), "metadata_", taken=("hypotheses", "references"))
    # What another host logged besides, packed into one text.
    return {name: value for name, value in fields.items() if name != "lm_eval_metrics" and not name.endswith("_hash")}


# ---- the aggregate beside it


def _aggregate(path: str) -> tuple[str, list[Fields]]:
    """The results in the file whose samples these are, with its name."""
    file = Path(path).name if path else ""
    ending = next((one for one in _ENDINGS if file.endswith(one)), "")
    name = f"{file.removesuffix(ending)}.json" if ending else ""
    whole = beside(path, name) if name else None
    results = whole.get("evaluation_results") if isinstance(whole, Mapping) else None
    return name, [one for one in results if isinstance(one, Mapping)] if isinstance(results, list) else []


def _where_less_is_better(path: str) -> set[str]:
    falling = set()
    for one in _aggregate(path)[1]:
        config = one.get("metric_config")
        if isinstance(config, Mapping) and config.get("lower_is_better") is True:
            falling |= {str(one.get("evaluation_result_id")), str(one.get("evaluation_name"))}
    return falling


def _compare(samples: Sequence[_Sample], metric: str, path: str, selection: Selection) -> None:
    name, results = _aggregate(path)
    found = [one for one in results if metric in (one.get("evaluation_result_id"), one.get("evaluation_name"))]
    if len(found) != 1:
        return
    details = found[0].get("score_details")
    if not isinstance(details, Mapping):
        return
    uncertainty = details.get("uncertainty")
    counted = uncertainty.get("num_samples") if isinstance(uncertainty, Mapping) else None
    ours, n = mean(verdict(_score(one.item)) for one in samples)
    note(selection, agreement(name, metric, details.get("score"), counted, ours, n))


# ---- recognition


def _is_every_eval_ever(start: Start) -> str:
    if start.kind == "text":
        return ""
    first = start.first
    if {"schema_version", "evaluation_id", "sample_id", "evaluation"} <= first.keys():
        return "its records are samples of an evaluation, each under one metric"
    if {"schema_version", "evaluation_id", "evaluation_results"} <= first.keys():
        return "it holds the results of an evaluation"
    return ""


FORMATS = (
    Format(
        "every-eval-ever",
        "every_eval_ever's samples (X_samples.jsonl): a line for every sample and metric",
        known=_is_every_eval_ever,
        records=_records,
        holds="predictions",
        example="sensecheck calibrated X_samples.jsonl --scorer acc",
    ),
)
