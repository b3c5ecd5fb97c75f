"""HELM's runs: `scenario_state.json` (what was asked and answered) and `per_instance_stats.json` (its verdicts).

The folder of a run is one input; so is its scenario_state.json. Log-probabilities that are all 0.0 are those of a
client that has none: they are no confidence of 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import SKIP_HINT, InputError, Unanswered, shown
from sensecheck.inputs.formats.host_fields import note, number, picked, to_choose, verdict_names, with_fields
from sensecheck.inputs.formats.reading import document
from sensecheck.inputs.formats.registry import Format, Row, Selection, in_a_line
from sensecheck.inputs.formats.replies import STOP_LOGPROBS, TOKEN_LOGPROBS, UNALIGNED, own_tokens
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason

Fields = Mapping[str, Any]
Key = tuple[str, str, int]
"""An instance, how it was perturbed, and the trial with its in-context examples."""

_STATE = "scenario_state.json"
_STATS = "per_instance_stats.json"
_ORIGINAL = "original"
_PREFERRED = ("exact_match", "quasi_exact_match")
_COUNTS = (
    "num_", "finish_reason_", "inference_", "training_", "batch_size", "prompt_truncated", "max_prob", "logprob",
    "predicted_index", "perplexity", "bits_per_byte",
)  # fmt: skip
"""How the names of stats begin that count or time something: they judge no answer."""


@dataclass
class _Asked:
    """One instance in one trial, with the answers to its requests."""

    number: int
    key: Key
    instance: Fields
    variant: str
    prediction: str | None = None
    completion: str | None = None
    completions: list[str] = field(default_factory=list)
    tokens: list[tuple[str | None, Any]] = field(default_factory=list)
    by_reference: bool = False
    """Whether there was a request for every reference."""
    echoed: bool = False
    failed: str = ""


# ---- the state of a scenario


def _asked(states: Sequence[Any], path: str) -> Iterator[tuple[int, _Asked | InputError]]:
    known: dict[Key, _Asked] = {}
    for at, state in enumerate(states, 1):
        try:
            one = _of_state(state, at)
        except InputError as error:
            yield at, InputError(**{**error.parts(), "path": path, "record": at})
            continue
        before = known.get(one.key)
        if before is None:
            known[one.key] = one
        elif before.by_reference and one.by_reference:
            before.failed = before.failed or one.failed
        else:
            raise InputError(
                f"the instance {shown(one.key[0], 60)} is there twice, first as record {before.number:,}", path=path,
                record=at, hint="Is this the state of one run?", reason=Reason.KEY_TWICE,
            )  # fmt: skip
    yield from ((one.number, one) for one in known.values())


def _of_state(state: Any, at: int) -> _Asked:
    instance = state.get("instance") if isinstance(state, Mapping) else None
    if not isinstance(state, Mapping) or not isinstance(instance, Mapping):
        raise _wrong("instance", "an object with an instance", state)
    key, variant = _key(instance.get("id"), instance.get("perturbation"), state.get("train_trial_index"))
    one = _Asked(at, key, instance, variant, by_reference=state.get("reference_index") is not None)
    result = state.get("result")
    request = state.get("request")
    one.echoed = isinstance(request, Mapping) and request.get("echo_prompt") is True
    completions = result.get("completions") if isinstance(result, Mapping) else None
    if not isinstance(result, Mapping) or result.get("success") is False or not completions:
        one.failed = "no result" if not isinstance(result, Mapping) else "request failed"
        return one
    if not isinstance(completions, list) or not all(isinstance(each, Mapping) for each in completions):
        raise _wrong("completions", "a list of completions", completions)
    texts = [each.get("text") for each in completions]
    if not all(isinstance(text, str) for text in texts):
        raise _wrong("completions", "completions with a text", completions)
    one.completions = [str(text) for text in texts]
    one.completion = one.completions[0]
    mapping = state.get("output_mapping")
    said = one.completion.strip()
    chosen = mapping.get(said) if isinstance(mapping, Mapping) else None
    one.prediction = chosen if isinstance(chosen, str) else said
    tokens = completions[0].get("tokens")
    for token in tokens if isinstance(tokens, list) else []:
        if not isinstance(token, Mapping):
            raise _wrong("tokens", "tokens with a text and a logprob", token)
        text = token.get("text")
        one.tokens.append((text if isinstance(text, str) else None, token.get("logprob")))
    return one


def _key(name: Any, perturbation: Any, trial: Any) -> tuple[Key, str]:
    if not isinstance(name, str | int) or isinstance(name, bool):
        raise _wrong("id", "what the instance is called", name)
    variant, spelled = _ORIGINAL, ""
    if isinstance(perturbation, Mapping):
        told = perturbation.get("name")
        variant = told if isinstance(told, str) else "perturbed"
        spelled = json.dumps(perturbation, sort_keys=True, default=str)
    number_of_trial = trial if isinstance(trial, int) and not isinstance(trial, bool) else 0
    return (str(name), spelled, number_of_trial), variant


def _wrong(name: str, expected: str, got: Any) -> InputError:
    return InputError(field=name, expected=expected, got=shown(got, 80), hint=SKIP_HINT, reason=Reason.BAD_RECORD)


# ---- verdicts


def _stats(place: Path | None) -> dict[Key, dict[str, Any]] | None:
    """The stats of each instance by name; nothing where the file is not there."""
    try:
        if place is None or not place.is_file():
            return None
    except (OSError, ValueError):
        return None
    path = str(place)
    value = document(Source(path, path=place), "a JSON list of stats")
    found: dict[Key, dict[str, Any]] = {}
    for at, item in enumerate(value if isinstance(value, list) else [], 1):
        stats = item.get("stats") if isinstance(item, Mapping) else None
        if not isinstance(item, Mapping) or not isinstance(stats, list):
            raise InputError(
                path=path,
                record=at,
                expected="an instance with its stats",
                got=shown(item, 80),
                reason=Reason.BAD_RECORD,
            )
        try:
            key, _ = _key(item.get("instance_id"), item.get("perturbation"), item.get("train_trial_index"))
        except InputError as error:
            raise InputError(**{**error.parts(), "path": path, "record": at, "hint": None}) from None
        of_instance = found.setdefault(key, {})
        for one in stats:
            named = one.get("name") if isinstance(one, Mapping) else None
            name = named.get("name") if isinstance(named, Mapping) else None
            if isinstance(one, Mapping) and isinstance(name, str) and not name.startswith(_COUNTS):
                mean = _mean_of(one)
                # One verdict cannot be two numbers: such a stat is none.
                if of_instance.setdefault(name, mean) not in (mean, None):
                    of_instance[name] = [of_instance[name], mean]
    return found


def _mean_of(stat: Fields) -> Any:
    count, total = number(stat.get("count")), number(stat.get("sum"))
    if stat.get("mean") is not None or not count:
        return stat.get("mean")
    return None if total is None else total / count


# ---- records


def _log(source: Source, selection: Selection) -> Iterator[Row]:
    folder = source.path is not None and source.path.is_dir()
    place = source.path / _STATE if folder and source.path is not None else source.path
    state = Source(str(place), path=place) if folder and place is not None else source
    value = document(state, "HELM's scenario_state.json")
    if folder:
        source.sha256, source.raw_bytes = state.sha256, state.raw_bytes
    path = state.name
    states = value.get("request_states") if isinstance(value, Mapping) else None
    if not isinstance(states, list):
        raise _not_a_state(path)
    asked: list[_Asked] = []
    for at, one in _asked(states, path):
        if isinstance(one, InputError):
            yield at, one
        else:
            asked.append(one)
    if asked:
        yield from _rows(asked, path, place, selection)


def _not_a_state(path: str) -> InputError:
    return InputError(
        "holds no answers: they are in scenario_state.json", path=path,
        hint=f"Give the folder of the run, with {_STATE} and {_STATS} in it.", reason=Reason.NOT_AN_INPUT,
    )  # fmt: skip


def _rows(asked: list[_Asked], path: str, place: Path | None, selection: Selection) -> Iterator[Row]:
    variants = list(dict.fromkeys(one.variant for one in asked))
    if not selection.question:
        to_choose(selection, "filter", variants)
    if len(variants) > 1 and selection.question:
        variant = picked(selection, "filter", variants, path, (_ORIGINAL,))
        kept = [one for one in asked if one.variant == variant]
        left = in_a_line([name for name in variants if name != variant])
        note(
            selection,
            f"{len(asked) - len(kept):,} of {len(asked):,} are left out, perturbed otherwise: {left} (--filter)",
        )
        asked = kept
    splits = list(dict.fromkeys(str(one.instance.get("split")) for one in asked))
    if len(splits) > 1 and selection.question:
        note(selection, f"instances of several splits are measured together: {in_a_line(splits)} (--slice split)")
    if selection.question == "diverse":
        yield from _responses(asked)
        return
    verdicts = _verdicts(asked, path, place, selection) if selection.question in ("", "calibrated") else None
    with_logprobs = _has_logprobs(asked, selection)
    times: dict[str, int] = {}
    for one in asked:
        times[one.key[0]] = times.get(one.key[0], 0) + 1
    repeated = any(count > 1 for count in times.values())
    seen: dict[str, int] = {}
    run = place.parent.name if place is not None and selection.together > 1 else ""
    for one in asked:
        row: dict[str, Any] = {"id": f"{run}/{one.key[0]}" if run else one.key[0], **_about(one)}
        if run:
            row["run"] = run
        if repeated:
            row["sample"] = seen.get(one.key[0], 0)
            seen[one.key[0]] = row["sample"] + 1
        if one.failed:
            yield one.number, Unanswered(with_fields(row, one.instance, "instance_"), one.failed)
            continue
        row |= {"prediction": None if one.by_reference else one.prediction, "completion": one.completion}
        row["gold"] = _golds(one.instance)
        if verdicts is not None:
            row["correct"] = verdicts.get(one.key)
            if with_logprobs:
                row |= _logprobs(one, path)
            else:
                row["confidence"] = None
        yield one.number, with_fields(row, one.instance, "instance_")


def _about(one: _Asked) -> dict[str, Any]:
    given = one.instance.get("input")
    text = given.get("text") if isinstance(given, Mapping) else given
    return {"question": text if isinstance(text, str) else None, "perturbation": one.variant, "trial": one.key[2]}


def _golds(instance: Fields) -> list[str]:
    """The texts of the references that are tagged as correct."""
    references = instance.get("references")
    golds = []
    for one in references if isinstance(references, list) else []:
        output = one.get("output") if isinstance(one, Mapping) else None
        text = output.get("text") if isinstance(output, Mapping) else output
        tags = one.get("tags") if isinstance(one, Mapping) else None
        if isinstance(text, str) and isinstance(tags, list) and "correct" in tags:
            golds.append(text)
    return golds


def _responses(asked: Sequence[_Asked]) -> Iterator[Row]:
    by_name: dict[str, list[_Asked]] = {}
    for one in asked:
        by_name.setdefault(one.key[0], []).append(one)
    for name, same in by_name.items():
        texts = [text for one in same for text in one.completions]
        about = _about(same[0])
        row = {"id": name, "query": about["question"] or "", "responses": texts}
        yield same[0].number, with_fields(row, same[0].instance, "instance_", taken=("hypotheses", "references"))


def _verdicts(asked: Sequence[_Asked], path: str, place: Path | None, selection: Selection) -> dict[Key, float | None]:
    stats = _stats(place.parent / _STATS if place is not None else None)
    if stats is None:
        if selection.scorer is not None:
            selection.used.add("scorer")
            raise InputError(
                f"has no {_STATS} beside it, which holds the verdicts", path=path, field="scorer",
                hint="Give the folder of the run as HELM wrote it.", reason=Reason.NOT_FOUND,
            )  # fmt: skip
        note(
            selection,
            f"no {_STATS} is beside {_STATE}: an answer is right where its text is that of a reference tagged correct",
        )
        return {one.key: float(one.prediction in [gold.strip() for gold in _golds(one.instance)]) for one in asked
                if one.prediction is not None and not one.by_reference}  # fmt: skip
    of_asked = [stats.get(one.key, {}) for one in asked]
    names, others = verdict_names(of_asked)
    if not names or selection.scorer in others:
        if not selection.question:
            return {}
        told = shown(selection.scorer, 60) if selection.scorer in others else f"{_STATS} holds no stat that"
        raise InputError(
            f"{told} is no verdict on an answer, a number from 0 to 1", path=path, field="scorer",
            hint=f"Verdicts here: {in_a_line(names) or 'none'}.", reason=Reason.NO_MARKS,
        )  # fmt: skip
    if selection.question:
        scorer = picked(selection, "scorer", names, path, _PREFERRED)
    else:
        scorer = next((name for name in _PREFERRED if name in names), names[0])
        to_choose(selection, "scorer", names)
    return {one.key: number(held.get(scorer)) for one, held in zip(asked, of_asked, strict=True)}


def _has_logprobs(asked: Sequence[_Asked], selection: Selection) -> bool:
    """Whether the client gave log-probabilities of the answers."""
    if any(one.by_reference for one in asked):
        note(selection, "every reference was a request of its own: no confidence is made of these")
        return False
    values = [value for one in asked if not one.echoed for _, value in one.tokens]
    if values and all(value == 0 for value in values):
        note(selection, "every token's log-probability is 0.0: the client had none, and no confidence is known")
        return False
    return any(value is not None for value in values)


def _logprobs(one: _Asked, path: str) -> dict[str, Any]:
    values = []
    for _, value in one.tokens:
        known = number(value)
        if known is None or known > 1e-6:
            raise InputError(
                path=path, record=one.number, field="logprob", got=shown(value, 60),
                expected="a log-probability of at most 0 for every token", reason=Reason.BAD_LOGPROBS,
            )  # fmt: skip
        values.append(min(known, 0.0))
    if one.echoed or not values:
        return {}
    pieces = [None if text is None else text.encode("utf-8", "replace") for text, _ in one.tokens]
    spelled = own_tokens(one.completion or "", pieces)
    if spelled is None:
        return {TOKEN_LOGPROBS: values, STOP_LOGPROBS: [], UNALIGNED: True}
    kept = spelled[1] or len(values)
    return {TOKEN_LOGPROBS: values[:kept], STOP_LOGPROBS: values[kept:]}


# ---- recognition


def _is_helm(start: Start) -> str:
    if start.kind == "array":
        first = start.first
        return "it holds stats of instances" if {"instance_id", "stats"} <= first.keys() else ""
    if {"adapter_spec", "request_states"} <= start.members.keys():
        return "it holds the states of requests"
    return ""


def _is_run(folder: Path) -> str:
    try:
        return f"it holds {_STATE}" if (folder / _STATE).is_file() else ""
    except OSError:
        return ""


FORMATS = (
    Format(
        "helm",
        f"HELM's runs: a folder with {_STATE} and {_STATS}, or the first of them",
        known=_is_helm,
        log=_log,
        in_folder=_is_run,
        holds="predictions",
        example="sensecheck calibrated runs/SUITE/RUN/ --scorer exact_match",
    ),
)
