"""MLflow's evaluation tables (`eval_results_table.json`), and other tables that pandas wrote with orient="split"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.field_names import found
from sensecheck.inputs.formats.host_fields import (
    note,
    number,
    picked,
    placed,
    single,
    spelled,
    to_choose,
    unwrapped,
    verdict,
)
from sensecheck.inputs.formats.registry import Format, Row, Selection, in_a_line
from sensecheck.inputs.formats.start import UNFINISHED, Start
from sensecheck.inputs.reasons import Reason

_SCORES = ("/score", "/value")
"""How the columns of metrics end: those of `mlflow.evaluate`, and those of judges."""
_OF_TEXT = ("toxicity", "flesch_kincaid_grade_level", "ari_grade_level")
"""How metrics begin that `mlflow.evaluate` adds to every table of texts: none of them says what is right."""
_MARKS = {"yes": 1.0, "no": 0.0, "true": 1.0, "false": 0.0, "pass": 1.0, "fail": 0.0}
_PREDICTIONS = ("prediction", "predictions", "outputs", "output", "response", "responses", "model_output")
_GOLDS = (
    "gold", "ground_truth", "ground_truths", "target", "targets", "expected_response", "expected_output", "expected",
    "reference", "label",
)  # fmt: skip
_NAMES = ("id", "example_id", "request_id", "client_request_id", "trace_id")
_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_PARTS = frozenset(("columns", "data", "index"))


def _is_split(start: Start) -> str:
    if start.kind not in ("object", "lines") or not start.is_one_object:
        return ""
    members = start.members
    columns, data = members.get("columns"), members.get("data")
    if not members.keys() <= _PARTS or not isinstance(columns, list) or not columns:
        return ""
    if not all(isinstance(one, str) for one in columns):
        return ""
    rows = data is UNFINISHED or (isinstance(data, list) and all(isinstance(row, list) for row in data[:1]))
    return "it holds columns and data apart, as MLflow's tables do" if rows else ""


def _records(objects: Iterable[Row], path: str, selection: Selection) -> Iterator[Row]:
    for at, item in objects:
        if isinstance(item, InputError):
            yield at, item
        else:
            yield from _table(item, path, selection)


def _table(item: Mapping[str, Any], path: str, selection: Selection) -> Iterator[Row]:
    columns, data = item.get("columns"), item.get("data")
    if not isinstance(columns, list) or not isinstance(data, list):
        raise InputError(
            path=path or None,
            expected='a table with "columns" and "data"',
            got=shown(item, 80),
            reason=Reason.NOT_A_TABLE,
        )
    names = [str(one) for one in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the column {shown(twice, 60)} is there twice", path=path or None, reason=Reason.NAME_TWICE)
    rows: list[tuple[int, dict[str, Any]]] = []
    for at, cells in enumerate(data, 1):
        if isinstance(cells, list) and len(cells) == len(names):
            rows.append((at, dict(zip(names, cells, strict=True))))
        else:
            got = f"{len(cells)} of them" if isinstance(cells, list) else shown(cells, 60)
            yield (
                at,
                InputError(
                    path=path or None, record=at, expected=f"{len(names)} values, one a column", got=got,
                    hint=SKIP_HINT, reason=Reason.CELL_COUNT,
                ),
            )  # fmt: skip
    scorer = _scorer(names, rows, path, selection)
    said, gold, name = (found(known, names) for known in (_PREDICTIONS, _GOLDS, _NAMES))
    judged = not scorer and "correct" not in names and said is not None and gold is not None
    if judged and selection.question == "calibrated":
        note(selection, f"an answer is right where {said} equals {gold}, but for white space at the ends")
    # Rows without names of their own are called by their places: those of another file are other examples.
    place = f"{path}/" if selection.together > 1 and path else ""
    for at, row in rows:
        try:
            known = f"{place}{at}" if name is None or row[name] is None else spelled(row[name], name)
            texts = {one: _text(row[one], one) for one in (said, gold) if one is not None}
        except InputError as error:
            yield at, placed(error, path, record=at)
            continue
        fields = {one: held for one, value in row.items() if (held := single(value)) is not None or value is None}
        fields |= {"id": known}
        if said is not None:
            fields["prediction"] = texts[said]
        if gold is not None and gold != "label":
            fields["gold"] = texts[gold]
        if selection.question in ("", "calibrated"):
            fields.setdefault("confidence", None)
            if scorer:
                fields["correct"] = _mark(row[scorer])
            elif judged and said is not None and gold is not None:
                fields["correct"] = _is_same(row[said], row[gold])
        yield at, fields


def _text(value: Any, name: str) -> str | None:
    return None if value is None else spelled(value, name)


def _is_same(said: Any, gold: Any) -> float | None:
    """Whether an answer is the right one: numbers as numbers, for pandas writes 1.0 in a column with a blank."""
    if said is None or gold is None:
        return None
    numbers = _as_number(said), _as_number(gold)
    if None not in numbers and not (isinstance(said, str) and isinstance(gold, str)):
        return float(numbers[0] == numbers[1])
    return float(str(said).strip() == str(gold).strip())


def _as_number(value: Any) -> float | int | None:
    """A number, or a text that is one."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    held = unwrapped(value)
    return held if isinstance(held, int) or number(held) is not None else None


def _mark(value: Any) -> float | None:
    if isinstance(value, str):
        return _MARKS.get(value.strip().lower())
    return verdict(value)


def _scorer(
    names: Sequence[str], rows: Sequence[tuple[int, Mapping[str, Any]]], path: str, selection: Selection
) -> str:
    """The column of verdicts; metrics are named without their ending."""
    columns = {
        name.removesuffix(ending): name
        for ending in _SCORES
        for name in names
        if name.endswith(ending) and name != ending
    }
    good = {
        metric: name
        for metric, name in columns.items()
        if any(row[name] is not None for _, row in rows)
        and all(row[name] is None or _mark(row[name]) is not None for _, row in rows)
    }
    if selection.question not in ("", "calibrated"):
        return ""
    if selection.scorer is None and all(metric.startswith(_OF_TEXT) for metric in good):
        columns, good = {metric: name for metric, name in columns.items() if not metric.startswith(_OF_TEXT)}, {}
    if selection.scorer in columns.values():  # the name of the whole column
        selection.scorer = next(metric for metric, name in columns.items() if name == selection.scorer)
    others = [metric for metric in columns if metric not in good]
    if selection.scorer in others or (others and not good and selection.question and "correct" not in names):
        wrong = selection.scorer if selection.scorer in others else others[0]
        values = [row[columns[wrong]] for _, row in rows if row[columns[wrong]] is not None]
        odd = next((value for value in values if _mark(value) is None), None)
        raise InputError(
            path=path or None, field=columns[wrong],
            expected="verdicts: numbers from 0 (wrong) to 1 (right), or yes and no",
            got=shown(odd, 40) if number(odd) is None else f"a score of {number(odd):g}",
            hint=f"Verdicts here: {in_a_line(list(good)) or 'none'}.", reason=Reason.NO_MARKS,
        )  # fmt: skip
    if not good:
        return ""
    if not selection.question:
        to_choose(selection, "scorer", list(good))
        return next(iter(good.values()))
    return good[picked(selection, "scorer", list(good), path)]


FORMATS = (
    Format(
        "mlflow",
        'MLflow\'s tables of evaluations (eval_results_table.json), and others that pandas writes with orient="split"',
        known=_is_split,
        records=_records,
        holds="predictions",
        example="sensecheck calibrated eval_results_table.json --scorer exact_match",
    ),
)
