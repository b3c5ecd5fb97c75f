"""promptfoo's results: one JSON document (all its versions), or a result a line.

Every result becomes a record: the provider's output as `prediction`, whether all assertions held as `correct` (or one
assertion's verdict, by `--scorer`), the variables of the test under their own names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import InputError, Unanswered, escaped, shown
from sensecheck.inputs.formats.host_fields import note, placed, single
from sensecheck.inputs.formats.host_marks import is_promptfoo_document, is_promptfoo_result
from sensecheck.inputs.formats.host_verdicts import is_whole, own_name, refused_verdict, verdict
from sensecheck.inputs.formats.reading import not_an_object
from sensecheck.inputs.formats.registry import Format, Row, Selection
from sensecheck.inputs.formats.replies import PREDICTION, fields_of_choices
from sensecheck.inputs.formats.start import UNFINISHED, Start
from sensecheck.inputs.reasons import Reason

SUCCESS, SCORE = "success", "score"
_TAKEN = ("id", "test", "prompt", "provider", PREDICTION, "input", "correct", "confidence", "description", "query")
_CALIBRATED, _DIVERSE, _LOOK = "calibrated", "diverse", ""
_CALL_FAILED = 2
"""promptfoo's number for a result that ended in an error and not in an assertion."""
_NO_ASSERTIONS = "no assertions"
_STATUS = re.compile(r"\b([45]\d\d)\b")

Fields = Mapping[str, Any]


@dataclass
class _Result:
    """What is kept of a result."""

    number: int
    test: str
    provider: str
    prompt: str
    asked: str
    """The prompt with the variables filled in."""
    output: str | None
    logprobs: Any
    failed: str
    """Why there is no answer."""
    verdicts: dict[str, Any]
    """By the name of an assertion."""
    asserted: bool | None = None
    """Whether anything was asserted of the answer; none where the result does not say."""
    fields: dict[str, Any] = field(default_factory=dict)


# ---- one result


class _Tests:
    """Which test a result belongs to: by promptfoo's own number, or else by its variables, in their order."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def of(self, item: Fields, variables: Fields) -> str:
        number = item.get("testIdx")
        if is_whole(number) and abs(number) < 1 << 63:
            return str(number)
        return str(self._seen.setdefault(_written(variables, "vars", sort_keys=True), len(self._seen)))


def _written(value: Any, name: str, **how: Any) -> str:
    """A value as JSON. What is in memory may hold itself, or what JSON does not know."""
    if isinstance(value, Mapping):
        value = {str(key): member for key, member in value.items()}
    try:
        return json.dumps(value, ensure_ascii=False, default=str, **how)
    except (TypeError, ValueError, RecursionError):
        raise InputError(
            field=name, expected="a value that JSON can hold", got=f"one that it cannot ({type(value).__name__})",
            reason=Reason.BAD_RECORD,
        ) from None  # fmt: skip


def _result(item: Any, number: int, path: str, tests: _Tests) -> _Result | InputError:
    if not isinstance(item, Mapping):
        return not_an_object(item, path, record=number)
    case = _mapping(item.get("testCase"))
    variables = _mapping(item.get("vars")) or _mapping(case.get("vars"))
    response = _mapping(item.get("response")) or _mapping(item.get("providerResponse"))
    prompt = item.get("prompt")
    asked, label = prompt if isinstance(prompt, str) else "", prompt if isinstance(prompt, str) else ""
    if isinstance(prompt, Mapping):
        asked = _text_of(prompt.get("raw"))
        label = next((prompt[name] for name in ("label", "display", "raw") if isinstance(prompt.get(name), str)), "")
    output = response.get("output")
    try:
        test = tests.of(item, variables)
        text = output if output is None or isinstance(output, str) else _written(output, "output")
    except InputError as error:
        return placed(error, path, record=number)
    told = _Result(
        number, test, _provider(item.get("provider")), label, asked, text, response.get("logProbs"),
        _failure(item, response), _verdicts(item), _asserted(item, case),
    )  # fmt: skip
    told.fields = {
        str(name): one
        for held in (_mapping(case.get("metadata")), variables)
        for name, value in held.items()
        if (one := single(value)) is not None
    }
    if isinstance(case.get("description"), str):
        told.fields["description"] = case["description"]
    return told


def _mapping(value: Any) -> Fields:
    return value if isinstance(value, Mapping) else {}


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _provider(provider: Any) -> str:
    if isinstance(provider, Mapping):
        return next((provider[name] for name in ("label", "id") if _text_of(provider.get(name))), "")
    return _text_of(provider)


def _failure(item: Fields, response: Fields) -> str:
    """Why there is no answer, in few words. An assertion that did not hold is no such reason."""
    error = response.get("error") or item.get("error")
    failed = item.get("failureReason") == _CALL_FAILED or response.get("error")
    if not failed and not (response.get("output") is None and error):
        return "" if response.get("output") is not None else "no output"
    status = _STATUS.search(error) if isinstance(error, str) else None
    if status is not None:
        return f"call failed: status {status[1]}"
    first = error.strip().split("\n")[0] if isinstance(error, str) else ""
    return f"call failed: {escaped(first[:60])}" if first else "call failed"


def _verdicts(item: Fields) -> dict[str, Any]:
    """The overall verdict, the score, and those of the assertions by their metric, or else by their type."""
    grading = _mapping(item.get("gradingResult"))
    overall = item.get("success", grading.get("pass"))
    found: dict[str, Any] = {SUCCESS: overall, SCORE: item.get("score", grading.get("score"))}
    for name, value in _mapping(item.get("namedScores")).items():
        found.setdefault(str(name), value)
    components = grading.get("componentResults")
    passed: dict[str, list[Any]] = {}
    for one in components if isinstance(components, list) else []:
        assertion = _mapping(one.get("assertion")) if isinstance(one, Mapping) else {}
        name = next((assertion[part] for part in ("metric", "type") if _text_of(assertion.get(part))), "")
        if name:
            passed.setdefault(name, []).append(one.get("pass"))
    for name, marks in passed.items():
        # Several assertions of one name hold where all of them do.
        found[name] = None if None in marks else all(bool(mark) for mark in marks)
    return found


def _asserted(item: Fields, case: Fields) -> bool | None:
    """Without assertions promptfoo calls every answer a success, which is no verdict on it."""
    grading, asserted = item.get("gradingResult"), case.get("assert")
    if not isinstance(grading, Mapping):
        return bool(asserted) if isinstance(asserted, list) else None
    reason = grading.get("reason")
    if isinstance(reason, str) and reason.strip().lower() == _NO_ASSERTIONS:
        return False
    return bool(asserted or reason or grading.get("componentResults")) or not isinstance(asserted, list)


# ---- a whole evaluation


def _of(items: Iterable[tuple[int, Any]], path: str, selection: Selection, run: str) -> Iterator[Row]:
    """The records of one evaluation. `run` is what it is called where several are read together: each numbers its tests
    from 0."""
    tests = _Tests()
    held = [(number, _result(item, number, path, tests)) for number, item in items]
    yield from ((number, one) for number, one in held if isinstance(one, InputError))
    results = [one for _, one in held if isinstance(one, _Result)]
    if not results:
        return
    for one in results:
        one.test = f"{run}/{one.test}" if run else one.test
        selection.seen.setdefault(("provider", one.provider), path)
    providers = [key[1] for key in selection.seen if key[0] == "provider"]
    if selection.question != _LOOK and (len(providers) > 1 or selection.filter is not None):
        if selection.filter is None:
            raise InputError(
                f"holds the answers of several providers: {', '.join(shown(one, 60) for one in providers[:20])}",
                path=path or None, hint=f"Say whose are meant: --filter {escaped(providers[0][:60])} (filter=).",
                reason=Reason.AMBIGUOUS_FORMAT,
            )  # fmt: skip
        selection.used.add("filter")
        results = [one for one in results if one.provider == selection.filter]
        if not results:
            return
        selection.method["provider"] = selection.filter  # another system, and no other yardstick
    elif selection.question == _LOOK and any(providers):
        listed = ", ".join(shown(one, 60) for one in providers[:20])
        note(selection, f"several providers: {listed} (--filter NAME)" if len(providers) > 1 else f"provider: {listed}")
    prompts = list(dict.fromkeys(one.prompt for one in results))
    _tell_what_was_asserted(results, path, selection, alone=not run)
    scorer = _scorer(results, path, selection)
    if selection.question == _DIVERSE:
        yield from _responses(results, prompts)
        return
    if len(prompts) > 1 and selection.question != _LOOK:
        note(
            selection,
            f"{len(prompts):,} prompts are read together: tell them apart with --slice prompt; --cluster test keeps "
            "the answers to one test together",
        )
    ids = [_id(one, prompts) for one in results]
    several = len(set(zip(ids, [one.provider for one in results], strict=True))) < len(ids)
    counted: dict[str, int] = {}
    for name, one in zip(ids, results, strict=True):
        row = _asked(one, name)
        if several:
            row["sample"] = counted[name] = counted.get(name, -1) + 1
        yield one.number, _row(one, row, scorer, path, selection)


def _id(one: _Result, prompts: Sequence[str]) -> str:
    """What the example is called: its test, and which of several prompts asked for it."""
    return one.test if len(prompts) < 2 else f"{one.test}/{prompts.index(one.prompt)}"


def _asked(one: _Result, name: str) -> dict[str, Any]:
    row: dict[str, Any] = {n if n == "description" else own_name(n, _TAKEN): value for n, value in one.fields.items()}
    return row | {"id": name, "test": one.test, "prompt": one.prompt, "provider": one.provider, "input": one.asked}


def _row(one: _Result, row: dict[str, Any], scorer: str, path: str, selection: Selection) -> Any:
    if one.failed:
        return Unanswered(row, one.failed)
    if one.asserted is False and selection.question == _CALIBRATED:
        return Unanswered(row, _NO_ASSERTIONS)
    if scorer:
        value = one.verdicts.get(scorer)
        try:
            right = verdict(value)
        except ValueError as error:
            hint = "--scorer success is whether all assertions held."
            raise refused_verdict(scorer, value, str(error), hint, path, one.number) from None
        if right is None and selection.question == _CALIBRATED:
            return Unanswered(row, "no verdict")
        row |= {"correct": None if one.asserted is False else right, "confidence": None}
    elif selection.question == _LOOK:
        row |= {"correct": None if one.asserted is False else one.verdicts[SUCCESS], "confidence": None}
    try:
        choice = {"text": one.output or "", "logprobs": one.logprobs if isinstance(one.logprobs, list) else None}
        (answer,) = fields_of_choices([choice])
    except InputError as error:
        return placed(error, path, record=one.number)
    return {**row, **answer}


def _responses(results: Sequence[_Result], prompts: Sequence[str]) -> Iterator[Row]:
    """For `diverse`: a record a test and prompt, with all answers to it."""
    together: dict[str, list[_Result]] = {}
    for one in results:
        together.setdefault(_id(one, prompts), []).append(one)
    for name, group in together.items():
        row = {**_asked(group[0], name), "query": group[0].asked}
        texts = [one.output for one in group if not one.failed and one.output is not None]
        if texts:
            yield group[0].number, {**row, "responses": texts}
        else:
            yield group[0].number, Unanswered(row, group[0].failed or "no output")


def _tell_what_was_asserted(results: Sequence[_Result], path: str, selection: Selection, *, alone: bool) -> None:
    """A success of which nobody knows what it means is told; where none can mean anything, nothing is measured."""
    answered = [one for one in results if not one.failed]
    without = sum(one.asserted is False for one in answered)
    told = f"{without:,} of {len(answered):,} answers were run without assertions: their success is no verdict"
    if selection.question == _LOOK and without:
        note(selection, told)
    if selection.question != _CALIBRATED:
        return
    if alone and answered and without == len(answered):
        raise InputError(
            f"was run without assertions: none of its {without:,} answers has a verdict", path=path or None,
            hint="Say in the tests of promptfoo what is right (assert) and run it again; other questions read its "
            "answers as they are.", reason=Reason.NO_MARKS,
        )  # fmt: skip
    if any(one.asserted is None for one in answered):
        note(selection, "nothing in the log says what was asserted: `success` is taken for the verdict as it stands")


def _scorer(results: Sequence[_Result], path: str, selection: Selection) -> str:
    """Whose verdicts are read; none where no verdict is asked for."""
    if selection.question != _CALIBRATED and selection.scorer is None:
        return ""
    names = dict.fromkeys(
        name
        for one in results
        for name, value in one.verdicts.items()
        if value is not None and (one.asserted is not False or name in (SUCCESS, SCORE))
    )
    return selection.pick("scorer", names or [SUCCESS], path, preferred=SUCCESS)


# ---- documents and lines


def _records(objects: Iterable[Row], path: str, selection: Selection) -> Iterator[Row]:
    """Of whole evaluations, or of results a line."""
    alone: list[tuple[int, Any]] = []
    held = list(objects)
    several = selection.together > 1 or sum(_is_whole_evaluation(item) for _, item in held) > 1
    for number, item in held:
        if isinstance(item, InputError):
            yield number, item
        elif _is_whole_evaluation(item):
            run = _run(item.get("evalId"), path, selection) if several else ""
            yield from _of(enumerate(_results(item, path), 1), path, selection, run)
        else:
            alone.append((number, item))
    if alone:
        yield from _of(alone, path, selection, _run(None, path, selection) if several else "")
    _refuse_unknown_provider(path, selection)


def _is_whole_evaluation(item: Any) -> bool:
    return isinstance(item, Mapping) and "results" in item and not is_promptfoo_result(item)


def _run(name: Any, path: str, selection: Selection) -> str:
    """What one of several evaluations is called: as promptfoo calls it, or else by its file."""
    given = isinstance(name, str) and bool(name)
    called = str(name) if given else Path(path).stem if path else "evaluation"
    if given and ("run", called) in selection.seen:
        raise InputError(
            f"the evaluation {shown(called, 60)} is there twice", path=path or None, hint="Give it once.",
            reason=Reason.KEY_TWICE,
        )  # fmt: skip
    if ("run", called) in selection.seen:  # files of one name in several folders
        called = f"{called}#{1 + sum(key[0] == 'run' for key in selection.seen)}"
    selection.seen["run", called] = path
    return called


def _refuse_unknown_provider(path: str, selection: Selection) -> None:
    """After the last of several files: one of them must hold answers of the provider that is asked about."""
    selection.seen["file", path] = path
    providers = [key[1] for key in selection.seen if key[0] == "provider"]
    read = sum(key[0] == "file" for key in selection.seen)
    unknown = selection.filter not in providers and read >= selection.together
    if selection.filter is not None and selection.question != _LOOK and providers and unknown:
        selection.pick("filter", providers, path if selection.together < 2 else "")


def _results(document: Fields, path: str) -> list[Any]:
    results = document["results"]
    if isinstance(results, Mapping):
        results = results.get("results", results.get("outputs"))
    if not isinstance(results, list):
        raise InputError(
            path=path or None, field="results", expected="a list of results", got=shown(results, 60),
            reason=Reason.NOT_A_LIST,
        )  # fmt: skip
    if not results:
        raise InputError(path=path or None, expected="at least one result", got="none", reason=Reason.EMPTY)
    return results


# ---- recognition

_FIRST_RESULT = re.compile(r'"(?:results|outputs)"\s*:\s*\[\s*(?=\{)')


def _is_promptfoo(start: Start) -> str:
    if start.kind == "text":
        return ""
    first = start.first
    if is_promptfoo_result(first):
        return "its records are results of promptfoo"
    if is_promptfoo_document(first) or (first.get("results") is UNFINISHED and _begins_with_a_result(start.text)):
        return "it holds results of promptfoo"
    return ""


def _begins_with_a_result(text: str) -> bool:
    """Of a document that is longer than what is looked at: whether the first of its results is one of promptfoo."""
    found = _FIRST_RESULT.search(text)
    if found is None:
        return False
    try:
        first, _ = json.JSONDecoder().raw_decode(text, found.end())
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and is_promptfoo_result(first)


FORMATS = (
    Format(
        "promptfoo",
        "promptfoo's results, as JSON or JSON lines: outputs, whether assertions held, variables of the tests",
        known=_is_promptfoo,
        records=_records,
        example="sensecheck calibrated results.json --slice provider",
    ),
)
