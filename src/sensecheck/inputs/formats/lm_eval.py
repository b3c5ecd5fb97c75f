"""Samples of lm-evaluation-harness (`--log_samples`): a line for every document and filter.

Multiple choice becomes the probabilities of the choices (softmax over their log-likelihoods) with the right one, or,
where documents have different choices, the probability of the chosen one. Generated answers have no confidence; their
verdict is the task's own metric. In memory, `simple_evaluate(...)`, its `["samples"]` and the samples of one task are
read alike.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

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
    unwrapped,
    verdict,
    verdict_names,
    with_fields,
)
from sensecheck.inputs.formats.registry import Format, Row, Selection, in_a_line
from sensecheck.inputs.formats.start import UNFINISHED, Start
from sensecheck.inputs.reasons import Reason

Fields = Mapping[str, Any]

_OWN = frozenset(
    (
        "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash",
        "prompt_hash", "target_hash",
    )
)  # fmt: skip
"""Parts of a line that are no metrics."""
_NO_FILTER = "none"
_MOST_CLASSES = 200
_ROUNDING = 1e-6
"""By so much, rounding may lift a log-likelihood above 0."""
_FILE = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT[\d.:-]+?)\.jsonl(?:\.(?:gz|zst|zstd))?$")
_RESULTS_FILE = re.compile(r"results_(\d{4}-\d\d-\d\dT[\d.:-]+?)\.json(?:\.(?:gz|zst|zstd))?$")
_INTEGER = re.compile(r"-?\d{1,9}")

Kind = Literal["choice", "generated", "likelihood", "rolling"]


@dataclass(slots=True)
class _Line:
    """What is kept of one line: prompts are long, and the same for all choices."""

    number: int
    name: str
    filter: str
    kind: Kind
    scores: dict[str, Any]
    target: Any
    doc: Fields
    prompt: str | None = None
    choices: list[str] = field(default_factory=list)
    of_contexts: bool = False
    """Whether the choices stand in the prompts, before one and the same continuation."""
    likelihoods: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    """Log-likelihoods of the choices without a prompt, where the task asked for them."""
    kept: list[str] = field(default_factory=list)
    """Responses that the filter kept."""
    responses: list[str] = field(default_factory=list)
    """All responses, before any filter."""
    by_text: bool = False
    """Whether a target of digits is a choice's text, and not its place."""
    pick: int | None = None
    """The choice that the metric took; none where that cannot be told from the log."""


# ---- what a line holds


def _line(item: Fields, number: int, path: str) -> _Line:
    try:
        return _taken(item, number)
    except InputError as error:
        raise placed(error, path, **_where(path, number)) from None


def _where(path: str, number: int) -> dict[str, int]:
    lines = re.search(r"\.jsonl(\.gz|\.zstd?)?$", path)
    return {"line" if lines else "record": number}


def _taken(item: Fields, number: int) -> _Line:
    name = item.get("doc_id")
    if isinstance(name, bool) or not isinstance(unwrapped(name), int | str):
        raise _wrong("doc_id", "the number of the document", name)
    filtered = item.get("filtered_resps")
    if not isinstance(filtered, list | tuple) or not filtered:
        raise _wrong("filtered_resps", "a list with a response for every request", filtered)
    requests = _requests(item.get("arguments"))
    kind = _kind(filtered, requests)
    doc = item.get("doc")
    kept_filter = item.get("filter")
    line = _Line(
        number, spelled(name, "doc_id"), kept_filter if isinstance(kept_filter, str) else _NO_FILTER, kind,
        _scores(item), _target(item), doc if isinstance(doc, Mapping) else {"text": doc},
    )  # fmt: skip
    if requests and requests[0] and isinstance(requests[0][0], str):
        line.prompt = requests[0][0]
    if kind == "choice":
        _take_choices(line, filtered, requests)
    elif kind == "generated":
        line.kept = _texts(filtered[0] if len(filtered) == 1 else filtered, "filtered_resps")
        line.responses = _all_responses(item.get("resps"), line.kept)
    return line


def _target(item: Fields) -> Any:
    """What is right; numbers in it can be written out."""
    target = item.get("target")
    for one in target if isinstance(target, list | tuple) else [target]:
        spelled(one, "target")
    return target


def _requests(arguments: Any) -> list[list[Any]]:
    """The arguments of every request; files number them (gen_args_0, arg_0), objects in memory list them."""
    if isinstance(arguments, Mapping):
        arguments = list(arguments.values())
    if not isinstance(arguments, list | tuple):
        return []
    return [
        list(one.values()) if isinstance(one, Mapping) else list(one) if isinstance(one, list | tuple) else [one]
        for one in arguments
    ]


def _kind(filtered: Sequence[Any], requests: Sequence[Sequence[Any]]) -> Kind:
    """What was asked: requests for texts come with settings, those for log-likelihoods with a continuation."""
    asked = requests[0] if requests else []
    if len(asked) > 1 and isinstance(asked[1], Mapping):
        return "generated"
    if _is_pair(filtered[0]) and (not asked or len(asked) > 1):
        return "choice" if len(filtered) > 1 else "likelihood"
    if len(asked) == 1 or isinstance(unwrapped(filtered[0]), int | float):
        return "rolling"
    return "generated"


def _is_pair(response: Any) -> bool:
    """A log-likelihood and whether its text is the likeliest, both perhaps as text."""
    if not isinstance(response, list | tuple) or len(response) != 2:
        return False
    return _likelihood(response[0]) is not None and str(unwrapped(response[1])) in ("True", "False", "true", "false")


def _likelihood(value: Any) -> float | None:
    value = unwrapped(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(found) or found == math.inf else found


def _take_choices(line: _Line, filtered: Sequence[Any], requests: Sequence[Sequence[Any]]) -> None:
    values = []
    for one in filtered:
        value = _likelihood(one[0]) if _is_pair(one) else None
        if value is None:
            raise _wrong("filtered_resps", "[log-likelihood, whether it is greedy] for every choice", one)
        if value > _ROUNDING:
            raise InputError(
                field="filtered_resps", expected="log-likelihoods, which are at most 0", got=shown(one[0], 60),
                hint=SKIP_HINT, reason=Reason.BAD_LOGPROBS,
            )  # fmt: skip
        values.append(value)
    texts = [[part if isinstance(part, str) else "" for part in [*one, "", ""][:2]] for one in requests]
    if len(texts) != len(values):
        raise _wrong("arguments", f"a prompt and a choice for each of {len(values)} responses", f"{len(texts)} of them")
    half = len(values) // 2
    if (
        2 * half == len(values)
        and all(not prompt for prompt, _ in texts[half:])
        and any(prompt for prompt, _ in texts[:half])
        and [choice for _, choice in texts[half:]] == [choice for _, choice in texts[:half]]
    ):
        line.alone, values, texts = values[half:], values[:half], texts[:half]
    if len(values) < 2:
        raise _wrong("filtered_resps", "responses to two choices or more", f"{len(values)} of them")
    if max(values) == -math.inf:
        raise _wrong("filtered_resps", "a choice that is possible", "log-likelihoods of -inf alone")
    line.likelihoods = values
    line.of_contexts = len({choice for _, choice in texts}) == 1
    line.choices = [prompt if line.of_contexts else choice for prompt, choice in texts]
    if line.of_contexts:
        line.prompt = None


def _texts(value: Any, name: str) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        return list(value)
    raise _wrong(name, "a text, or a list of texts", value)


def _all_responses(value: Any, kept: list[str]) -> list[str]:
    """The responses of every request, one after the other: a list for each, which holds the repeats."""
    if not isinstance(value, list | tuple) or not value:
        return kept
    return [text for one in value for text in _texts(one, "resps")]


def _scores(item: Fields) -> dict[str, Any]:
    named = item.get("metrics")
    if isinstance(named, list | tuple) and all(isinstance(name, str) for name in named):
        return {name: item[name] for name in named if name in item}
    return {name: value for name, value in item.items() if name not in _OWN}


def _wrong(name: str, expected: str, got: Any) -> InputError:
    told = got if isinstance(got, str) and got.endswith("of them") else shown(got, 80)
    return InputError(field=name, expected=expected, got=told, hint=SKIP_HINT, reason=Reason.BAD_RECORD)


# ---- what is right

_QUOTED = re.compile(r"""\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(-?\d{1,9}))\s*(?:,|$)""", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _listed(target: str) -> list[str | int] | None:
    """A list of texts or integers as Python prints it, which is how files hold targets that are lists."""
    if not (target.startswith("[") and target.endswith("]")):
        return None
    inner, at, items = target[1:-1], 0, []
    while at < len(inner):
        found = _QUOTED.match(inner, at)
        if found is None:
            return None
        text = found[1] if found[1] is not None else found[2]
        items.append(int(found[3]) if text is None else _ESCAPED.sub(lambda one: _ESCAPES.get(one[1], one[1]), text))
        at = found.end()
    return items


def _right_choices(line: _Line) -> list[int] | None:
    """The places of the right choices; nothing where the line does not say which they are."""
    if line.of_contexts:
        return None  # the target is the continuation that all of them share
    target = unwrapped(line.target)
    if isinstance(target, str):
        target = _listed(target) or target
    right = []
    for one in target if isinstance(target, list | tuple) else [target]:
        place = _place(unwrapped(one), line.choices, line.by_text)
        if place is None:
            return None
        right.append(place)
    return [place for place in right if 0 <= place < len(line.choices)]


def _place(target: Any, choices: Sequence[str], by_text: bool) -> int | None:
    if isinstance(target, int):
        return int(target)
    if not isinstance(target, str):
        return None
    text = target.strip()
    texts = [choice.strip() for choice in choices]
    if _INTEGER.fullmatch(text) and not (by_text and text in texts):
        return int(text)
    return texts.index(text) if text in texts else None


def _gold(line: _Line) -> str | list[str] | None:
    """The right text or texts."""
    if line.kind == "choice":
        right = _right_choices(line)
        texts = [line.choices[place].strip() for place in right or []]
        return None if right is None else texts[0] if len(texts) == 1 else texts
    target = unwrapped(line.target)
    if isinstance(target, str):
        items = _listed(target)
        return [str(one) for one in items] if items and any(isinstance(one, str) for one in items) else target
    if isinstance(target, list | tuple):
        return [str(unwrapped(one)) for one in target]
    return None if target is None else str(target)


# ---- which choice a metric takes


def _first_best(values: Sequence[float]) -> int:
    return max(range(len(values)), key=values.__getitem__)


def _lengths(how: Callable[[str], str], in_bytes: bool, line: _Line) -> list[int]:
    texts = [how(choice) for choice in line.choices]
    return [len(text.encode("utf-8", "replace")) if in_bytes else len(text) for text in texts]


_SPELLINGS: tuple[Callable[[str], str], ...] = (lambda text: text.removeprefix(" "), lambda text: text, str.strip)
"""How long a choice is: as the task spells it, before which a space was put, or none; or without any white space."""


def _pickers(scorer: str) -> list[Callable[[_Line], int | None]]:
    """Ways in which a metric may have taken a choice, the likeliest way first."""
    if scorer in ("acc_norm", "acc_bytes"):

        def by_length(line: _Line, how: Callable[[str], str]) -> int:
            lengths = _lengths(how, scorer == "acc_bytes", line)
            pairs = zip(line.likelihoods, lengths, strict=True)
            return _first_best([value / length if length else -math.inf for value, length in pairs])

        return [lambda line, how=how: by_length(line, how) for how in _SPELLINGS]  # type: ignore[misc]
    if scorer == "acc_mutual_info":
        return [_by_information]
    return [lambda line: _first_best(line.likelihoods)]


def _by_information(line: _Line) -> int | None:
    if len(line.alone) != len(line.likelihoods):
        return None
    gains = [a - b if b > -math.inf else math.nan for a, b in zip(line.likelihoods, line.alone, strict=True)]
    return None if any(math.isnan(gain) for gain in gains) else _first_best(gains)


def _contradicts(line: _Line, pick: int | None, scorer: str) -> bool:
    """Whether the logged verdict is not what the taken choice and the target say."""
    right, logged = _right_choices(line), verdict(line.scores.get(scorer))
    if right is None or logged is None:
        return False
    return pick is None or (pick in right) != (logged == 1) or logged not in (0, 1)


def _softmax(values: Sequence[float]) -> list[float]:
    most = max(values)
    parts = [math.exp(value - most) for value in values]
    total = math.fsum(parts)
    return [part / total for part in parts]


# ---- records


def _records(objects: Iterable[Row], path: str, selection: Selection) -> Iterator[Row]:
    tasks: dict[str, list[_Line]] = {}
    seen: dict[tuple[str, str, str], int] = {}
    falling: dict[str, set[str]] = {}
    count = 0
    for at, item in objects:
        if isinstance(item, InputError):
            yield at, item
            continue
        held = _held(item, path)
        for task in held or ():
            falling.setdefault(str(task), set()).update(_where_less_is_better(item, str(task)))
        for task, sample in _samples(item, path, held):
            count += 1
            # Of several samples in one object, the place among all; a file of lines is told by its lines.
            place = at if held is None or "line" in _where(path, at) else count
            try:
                line = _line(sample, place, path)
            except InputError as error:
                yield place, error
                continue
            key = (task, line.name, line.filter)
            if key in seen:
                raise _twice(line, seen[key], path)
            if ("document", *key) in selection.seen and selection.question:
                raise _in_two_files(line, task, selection.seen["document", *key], path)
            seen[key] = place
            tasks.setdefault(task, []).append(line)
    if selection.together > 1:
        selection.seen |= {("document", *key): path for key in seen}
    several = selection.together > 1 or len(tasks) > 1
    for task, lines in tasks.items():
        worse = falling[task] if task in falling else _where_less_is_better(_summary(path), task)
        for line, row in _of_task(lines, task, path, selection, several, worse):
            name = f"{task}/{line.name}" if several and task else line.name
            fields = {"id": name, **row, **({"task": task} if task else {})}
            yield line.number, Unanswered(fields, row.why) if isinstance(row, Unanswered) else fields


def _task(path: str) -> str:
    found = _FILE.search(Path(path).name) if path else None
    return found[1] if found else ""


def _held(item: Fields, path: str) -> Mapping[str, Any] | None:
    """The samples of several tasks by their names, where the object holds such; a summary alone is refused."""
    if "doc_id" in item:
        return None
    if isinstance(samples := item.get("samples"), Mapping) and samples:
        return samples
    if isinstance(item.get("results"), Mapping):
        raise _only_results(path)
    return item if _is_by_task(item) else None


def _samples(item: Fields, path: str, held: Mapping[str, Any] | None) -> Iterator[tuple[str, Fields]]:
    if held is None:
        yield _task(path), item
        return
    for task, samples in held.items():
        if not isinstance(samples, list | tuple):
            raise InputError(
                path=path or None, field=f"samples of {shown(task, 60)}", expected="a list of samples",
                got=shown(samples, 60), reason=Reason.BAD_RECORD,
            )  # fmt: skip
        for sample in samples:
            yield str(task), sample if isinstance(sample, Mapping) else {}


def _only_results(path: str) -> InputError:
    found = _RESULTS_FILE.search(Path(path).name) if path else None
    names: list[str] = []
    if found:
        try:
            names = sorted(one.name for one in Path(path).parent.glob("samples_*") if f"_{found[1]}." in one.name)
        except (OSError, ValueError):
            names = []
    there = f" Beside it: {', '.join(escaped(name) for name in names[:3])}{', …' if len(names) > 3 else ''}."
    return InputError(
        "holds the figures of a run of lm-evaluation-harness, and none of its answers", path=path or None,
        hint="Give the samples, samples_TASK_TIME.jsonl, which lm_eval writes with --log_samples."
        + (there if names else ""), reason=Reason.NOT_AN_INPUT,
    )  # fmt: skip


def _twice(line: _Line, before: int, path: str) -> InputError:
    where = _where(path, line.number)
    return InputError(
        f"doc_id {shown(line.name, 40)} with the filter {shown(line.filter, 40)} is there twice, "
        f"first in {next(iter(where))} {before:,}", path=path or None, **where,  # type: ignore[arg-type]
        hint="Are two runs in one file? Give the samples of one run; files of several tasks are given side by side.",
        reason=Reason.KEY_TWICE,
    )  # fmt: skip


def _in_two_files(line: _Line, task: str, before: str, path: str) -> InputError:
    of = f" of {shown(task, 60)}" if task else ""
    both = " ".join(shlex.quote(escaped(one)) for one in (before, path))
    return InputError(
        f"doc_id {shown(line.name, 40)}{of} with the filter {shown(line.filter, 40)} is in {escaped(before)} too",
        path=path or None, **_where(path, line.number),  # type: ignore[arg-type]
        hint=f"Two runs of one task are not one run: read one file at a time, or `sensecheck compare {both}`.",
        reason=Reason.KEY_TWICE,
    )  # fmt: skip


def _of_task(
    lines: Sequence[_Line], task: str, path: str, selection: Selection, several: bool, falling: Collection[str]
) -> Iterator[tuple[_Line, Fields]]:
    if selection.question == "diverse":
        return _all_responses_of(lines, path)
    filters = list(dict.fromkeys(line.filter for line in lines))
    if selection.question:
        chosen = picked(selection, "filter", filters, path, several=several)
    else:
        chosen = filters[0]
        to_choose(selection, "filter", [] if filters == [_NO_FILTER] else filters)
    kept = [line for line in lines if line.filter == chosen]
    documents = {line.name for line in lines}
    if selection.question and (left := len(documents) - len(kept)):
        of = f" of {escaped(task)[:60]}" if several and task else ""
        note(
            selection,
            f"{left:,} of {len(documents):,} documents{of} have no line of the filter {escaped(chosen)[:60]} and are "
            "left out",
        )
    if selection.question not in ("", "calibrated"):
        return _predictions(kept)
    return _judged(kept, task, chosen, path, selection, several, falling)


def _all_responses_of(lines: Sequence[_Line], path: str) -> Iterator[tuple[_Line, Fields]]:
    """All that was generated for each document, whatever filters made of it."""
    done: set[str] = set()
    for line in lines:
        if line.kind != "generated":
            raise InputError(
                "holds log-likelihoods of given texts: nothing was generated whose diversity could be measured",
                path=path or None, hint="`sensecheck calibrated` measures multiple choice.", reason=Reason.NOT_AN_INPUT,
            )  # fmt: skip
        if line.name not in done:
            done.add(line.name)
            row = {"query": line.prompt or "", "responses": line.responses}
            yield line, with_fields(row, line.doc, "doc_", taken=("hypotheses", "references", "classes", "partition"))


def _predictions(lines: Sequence[_Line]) -> Iterator[tuple[_Line, Fields]]:
    """What was written or chosen, for questions that judge it themselves."""
    for line in lines:
        if line.kind == "generated":
            texts: list[str | None] = [*line.kept]
        elif line.kind == "choice":
            texts = [line.choices[_first_best(line.likelihoods)].strip()]
        else:
            texts = [None]
        for at, text in enumerate(texts):
            row: dict[str, Any] = {"prediction": text, "gold": _gold(line)}
            if len(texts) > 1:
                row["sample"] = at
            # Nothing but these is read from the log itself: an NLI document's label keeps its name.
            own = {name: value for name, value in line.doc.items() if name in ("label", "correct", "confidence")}
            yield line, with_fields({**row, **own, **_prompt(line)}, line.doc, "doc_")


def _prompt(line: _Line) -> dict[str, Any]:
    return {} if line.prompt is None or "prompt" in line.doc else {"prompt": line.prompt}


def _judged(
    lines: Sequence[_Line], task: str, filter: str, path: str, selection: Selection, several: bool,
    falling: Collection[str],
) -> Iterator[tuple[_Line, Fields]]:  # fmt: skip
    scorer = _scorer(lines, path, selection, several, falling)
    if scorer and selection.question:
        _compare(lines, task, filter, scorer, path, selection)
    choices = [line for line in lines if line.kind == "choice"]
    _take_picks(choices, scorer, selection)
    # Without a verdict the target decides; one outside the choices marks a document whose answer nobody gave.
    unlabelled = [not scorer and line.kind == "choice" and _right_choices(line) == [] for line in lines]
    labelled = [line for line, none in zip(lines, unlabelled, strict=True) if not none]
    classes = [] if several or len(choices) < len(lines) or not labelled else _classes(labelled, scorer)
    if any(line.kind in ("likelihood", "rolling") for line in lines):
        note(
            selection,
            "log-likelihoods of this task are those of given texts: they are no confidence in an answer of the model",
        )
    golds = [_gold(line) for line in lines]
    golds = golds if classes else even_golds(golds, several=several)
    for line, gold, none in zip(lines, golds, unlabelled, strict=True):
        row: dict[str, Any] = {}
        pick = line.pick
        if line.kind == "choice":
            probabilities = _softmax(line.likelihoods)
            likeliest = _first_best(line.likelihoods) if pick is None else pick
            row["prediction"] = line.choices[likeliest].strip()
            if classes and not none:
                by_name = dict(zip((text.strip() for text in line.choices), probabilities, strict=True))
                row |= {"probabilities": {name: by_name[name] for name in classes}, "label": gold}
            else:
                row["confidence"] = None if pick is None else probabilities[pick]
        else:
            row |= {"prediction": line.kept[0] if line.kept else None, "confidence": None}
        row["gold"] = gold
        if not classes:
            row["correct"] = _verdict(line, scorer, pick)
        fields = with_fields({**row, **_prompt(line)}, line.doc, "doc_", taken=("task",) if task else ())
        yield line, Unanswered(fields, "target is none of the choices") if none else fields


def _verdict(line: _Line, scorer: str, pick: int | None) -> float | None:
    if scorer:
        return verdict(line.scores.get(scorer))
    right = _right_choices(line) if line.kind == "choice" else None
    return None if right is None or pick is None else float(pick in right)


def _scorer(lines: Sequence[_Line], path: str, selection: Selection, several: bool, falling: Collection[str]) -> str:
    """The metric whose values are the verdicts; nothing where none is one and choices have targets."""
    names, others = verdict_names([line.scores for line in lines])
    others += [name for name in names if name in falling]
    names = [name for name in names if name not in falling]
    is_choice = all(line.kind == "choice" for line in lines)
    told = in_a_line(others, shown)
    rising = ", or such of which less is better" if any(name in falling for name in others) else ""
    if selection.scorer in others:
        raise InputError(
            f"{shown(selection.scorer, 40)} is no verdict on an answer: "
            + ("less of it is better" if selection.scorer in falling else "its values are no numbers from 0 to 1"),
            path=path or None, field="scorer",
            hint=f"Verdicts of this log: {in_a_line(names) or 'none'}.", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    preferred = ("acc", "exact_match") if is_choice else ("exact_match", "acc")
    if names and selection.question:
        return picked(selection, "scorer", names, path, preferred, several=several)
    if names:
        to_choose(selection, "scorer", names)
        return next((name for name in preferred if name in names), names[0])
    if several and selection.scorer is not None and selection.question:
        raise InputError(
            path=path or None, field="scorer", expected="a metric that this log holds", got=shown(selection.scorer, 60),
            hint="None of its metrics is a verdict on an answer: read it by itself.", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    targets = is_choice and all(_right_choices(line) is not None for line in lines)
    if not targets and selection.question:
        raise InputError(
            "holds no verdict on answers: "
            + (f"{told}: no numbers from 0 to 1{rising}" if others else "no metric was logged"),
            path=path or None, reason=Reason.NO_MARKS,
            hint="A metric such as acc or exact_match, in the task's metric_list, says which are right.",
        )  # fmt: skip
    if targets and others:
        note(
            selection,
            f"no metric here is a verdict ({told}): a choice is right where it is the likeliest and the target",
        )
    return ""


def _take_picks(lines: Sequence[_Line], scorer: str, selection: Selection) -> None:
    """Find the choice that the metric took in each line."""
    if not lines:
        return
    best, fewest = _fewest_contradictions(lines, scorer)
    if fewest and any(isinstance(line.target, str) for line in lines):
        # Choices may be numbers: whether targets are their places or their texts, the verdicts say.
        for line in lines:
            line.by_text = True
        other, wrong = _fewest_contradictions(lines, scorer)
        if wrong < fewest:
            best, fewest = other, wrong
        else:
            for line in lines:
                line.by_text = False
    if fewest:
        note(
            selection,
            f"{fewest:,} of {len(lines):,} verdicts ({escaped(scorer)}) are not what log-likelihoods and targets say: "
            "which choice the task took is not known there, and so no confidence",
        )
    for line, pick in zip(lines, best, strict=True):
        line.pick = None if _contradicts(line, pick, scorer) else pick


def _fewest_contradictions(lines: Sequence[_Line], scorer: str) -> tuple[list[int | None], int]:
    """The choices taken, in the way that the verdicts bear out best, and how many verdicts do not."""
    ways = []
    for way in _pickers(scorer):
        taken = [way(line) for line in lines]
        ways.append((taken, sum(_contradicts(line, pick, scorer) for line, pick in zip(lines, taken, strict=True))))
    return min(ways, key=lambda one: one[1])


def _classes(lines: Sequence[_Line], scorer: str) -> list[str]:
    """The choices as classes, where all documents have the same and the likeliest is what was taken."""
    classes = [choice.strip() for choice in lines[0].choices]
    if len(set(classes)) != len(classes) or "" in classes or len(classes) > _MOST_CLASSES:
        return []
    for line in lines:
        texts = [choice.strip() for choice in line.choices]
        right = _right_choices(line)
        if sorted(texts) != sorted(classes) or right is None or len(right) != 1:
            return []
        probabilities = dict(zip(texts, _softmax(line.likelihoods), strict=True))
        top = classes[_first_best([probabilities[name] for name in classes])]
        if line.pick is None or texts[line.pick] != top or (scorer and verdict(line.scores.get(scorer)) is None):
            return []
    return classes


def _summary_name(path: str) -> str:
    found = _FILE.search(Path(path).name) if path else None
    return f"results_{found[2]}.json" if found else ""


def _summary(path: str) -> Fields:
    """The results of the run whose samples these are, where they lie beside them."""
    name = _summary_name(path)
    found = beside(path, name) if name else None
    return found if isinstance(found, Mapping) else {}


def _where_less_is_better(summary: Fields, task: str) -> set[str]:
    tasks = summary.get("higher_is_better")
    of_task = tasks.get(task) if isinstance(tasks, Mapping) else None
    return {str(name) for name, higher in of_task.items() if higher is False} if isinstance(of_task, Mapping) else set()


def _compare(lines: Sequence[_Line], task: str, filter: str, scorer: str, path: str, selection: Selection) -> None:
    """Say whether the run's own summary, beside the samples, has the same figure."""
    summary = _summary(path)
    results = summary.get("results")
    figures = results.get(task) if isinstance(results, Mapping) else None
    if not isinstance(figures, Mapping):
        return
    counted = figures.get("sample_len")
    if number(counted) is None:
        counts = summary.get("n-samples")
        of_task = counts.get(task) if isinstance(counts, Mapping) else None
        counted = of_task.get("effective") if isinstance(of_task, Mapping) else None
    ours, n = mean(verdict(line.scores.get(scorer)) for line in lines)
    told = f"{scorer} of {task}" if selection.together > 1 else scorer
    note(selection, agreement(_summary_name(path), told, figures.get(f"{scorer},{filter}"), counted, ours, n))


# ---- recognition


def _is_samples(start: Start) -> str:
    if start.kind == "text":
        return ""
    first = start.first
    if {"doc_id", "filtered_resps", "resps"} <= first.keys() or {
        "doc_id",
        "doc",
        "target",
        "arguments",
    } <= first.keys():
        return "its records hold a document, its requests and responses"
    if isinstance(samples := first.get("samples"), Mapping) and _is_by_task(samples):
        return "it holds the samples of tasks"
    if isinstance(first.get("results"), Mapping) and {"configs", "versions", "samples"} & first.keys():
        held = any("," in str(name) for one in first["results"].values() if isinstance(one, Mapping) for name in one)
        return "it holds the results of tasks" if held else ""
    return "it holds the samples of tasks" if _is_by_task(first) else ""


def _is_by_task(members: Fields) -> bool:
    """Whether every member is a list of samples."""
    known = [value for value in members.values() if value is not UNFINISHED]
    firsts = [value[0] if isinstance(value, list | tuple) and value else None for value in known]
    return bool(firsts) and all(isinstance(one, Mapping) and {"doc_id", "resps"} <= one.keys() for one in firsts)


FORMATS = (
    Format(
        "lm-eval",
        "samples of lm-evaluation-harness (--log_samples): a line for every document and filter",
        known=_is_samples,
        records=_records,
        holds="predictions",
        example="sensecheck calibrated samples_TASK_TIME.jsonl --slice subject",
    ),
)
