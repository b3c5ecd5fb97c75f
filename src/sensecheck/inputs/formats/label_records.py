"""Labels as sensecheck's own sheets hold them: what a person said of an example, and how that example was drawn.

One JSON object a line (the page's export), or the same columns of a CSV sheet:

    sensecheck    "labels/1"
    question      what was asked: faithful, correct, …
    id            the example's
    label         right, wrong or unclear; of responses their group, of statements their relation. Empty: not labelled
    grammatical   of statements alone: yes or no
    note          a remark
    who           the person; where it is empty, the file's name stands for it
    example       digest of the texts that were shown: another version of the prediction has another one
    run           digest of all examples of the run
    stratum       column → value: the part of the run that the example was drawn from
    probability   how likely an example of that stratum was to be drawn
    size, of      how many examples that stratum has, and the run

In a CSV sheet the last four are one column `draw`, in base64: strata are made of verdicts, and whoever labels should
not see them.

The sheets of `robust audit` and of `correct --audit-out` are read here too; they say nothing of how they were drawn.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from math import isfinite
from typing import Any

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.formats.label_sheets import LABELS, label_text, stem, verdict
from sensecheck.inputs.formats.reading import objects
from sensecheck.inputs.formats.registry import Format, Row
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableReader, kind_and_value

SCHEMA = "labels/1"
FIELDS = (
    "sensecheck", "question", "id", "label", "grammatical", "note", "who", "example", "run", "stratum", "probability",
    "size", "of",
)  # fmt: skip
"""The fields of a label, in the order in which they are written."""
GOLDS = "golds"
"""The question that a sheet of doubted golds answers."""
AS_EXPECTED = "as expected"
"""The relation of a statement that the person left as the rule has it."""
_TEXTS = ("question", "id", "label", "grammatical", "note", "who", "example", "run")
_HINT = "Export the labels again from the page, or correct the line."
_DRAW = ("stratum", "probability", "size", "of")
_MARKS_OF_SHEET = frozenset({"sensecheck", "id", "label", "example", "run", "draw"})
_MOST = 10**15
"""Examples of a run at most: floats tell whole numbers apart up to there."""
_PLAIN = frozenset({"id", "label", "who", "note"})
_HINT_PLAIN = "A label is an id, what the person says (right, wrong, unclear), and perhaps who and a note."
_MARKS_OF_STATEMENTS = frozenset({"row", "slot", "grammatical", "polarity_right", "true_label"})
_MARKS_OF_GOLDS = frozenset({"rank", "kinds", "evidence", "ids", "label", "remark"})


def _columns(start: Start) -> frozenset[str]:
    """The cells of a CSV header: ours need no quotes."""
    return frozenset(start.text.partition("\n")[0].strip().split(",")) if start.kind == "text" else frozenset()


# ---- our own labels


def _is_ours(start: Start) -> str:
    if start.kind == "lines" and str(start.first.get("sensecheck", "")).startswith("labels/"):
        return "its records are marked as sensecheck's labels"
    return "it has the columns of sensecheck's label sheet" if _columns(start) >= _MARKS_OF_SHEET else ""


def _ours(source: Source) -> Iterator[Row]:
    if Start.of(source).kind == "lines":
        for number, row in objects(source):
            yield number, row if isinstance(row, InputError) else _label(row, {"path": source.name, "line": number})
    else:
        yield from _lines(source, _label)


def _lines(source: Source, read: Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]) -> Iterator[Row]:
    for batch in TableReader(source.path or source.stream, marked=True):
        for number, *cells in batch.frame.iter_rows():
            row = {name: cell for name, cell in zip(batch.frame.columns[1:], cells, strict=True) if cell is not None}
            yield number, read(row, {"path": source.name, "line": number})


def packed_draw(row: Mapping[str, Any]) -> str:
    """How an example was drawn, as a cell of the CSV sheet."""
    return base64.b64encode(json.dumps({name: row[name] for name in _DRAW}).encode()).decode()


def _unpacked_draw(cell: Any) -> dict[str, Any] | None:
    try:
        draw = json.loads(base64.b64decode(str(cell), validate=True))
    except (ValueError, RecursionError):
        return None
    return draw if isinstance(draw, dict) else None


def _label(row: Mapping[str, Any], where: Mapping[str, Any]) -> dict[str, Any]:
    """A label as the rest of us reads it; anything else is an error of its line."""

    def wrong(field: str, expected: str) -> InputError:
        return InputError(
            **where, field=field, expected=expected, got=kind_and_value(row.get(field)), hint=_HINT,
            reason=Reason.WRONG_TYPE,
        )  # fmt: skip

    if row.get("sensecheck") != SCHEMA:
        raise wrong("sensecheck", f"{SCHEMA!r}, which this version reads")
    texts = {}
    for name in _TEXTS:
        value = row.get(name)
        if value is not None and not isinstance(value, str):
            raise wrong(name, "a text")
        texts[name] = (value or "").strip() if name != "id" else value or ""
    for name in ("id", "question", "example", "run"):
        if not texts[name]:
            raise wrong(name, "a text that is not empty")
    if "draw" in row:
        draw = _unpacked_draw(row["draw"])
        if draw is None:
            raise wrong("draw", "the cell as the sheet had it")
        row = {**row, **draw}
    stratum = row.get("stratum", {})
    if not isinstance(stratum, dict) or not all(isinstance(value, str) for value in stratum.values()):
        raise wrong("stratum", 'column and value, as in {"verdict": "right"}')
    numbers = {name: _number(row.get(name)) for name in ("probability", "size", "of")}
    probability, size, of = (numbers[name] for name in ("probability", "size", "of"))
    if probability is None or not 0 < probability <= 1:
        raise wrong("probability", "a number over 0, of at most 1")
    for name, count in (("size", size), ("of", of)):
        if count is None or not 1 <= count <= _MOST or not count.is_integer():
            raise wrong(name, f"a whole number from 1 to {_MOST:,}")
    assert size is not None and of is not None
    if size > of:
        raise wrong("size", f"at most the {of:,.0f} examples of the run")
    return {
        **_said(texts["id"], texts["who"] or stem(where["path"]), texts["label"]),
        "question": texts["question"], "grammatical": texts["grammatical"], "note": texts["note"],
        "example": texts["example"], "run": texts["run"], "stratum": json.dumps(stratum, sort_keys=True),
        "probability": probability, "size": int(size), "of": int(of),
    }  # fmt: skip


def _said(id: str, annotator: str, label: str) -> dict[str, Any]:
    text = label_text(label)
    return {
        "id": id, "annotator": annotator, "question": "", "label": text, "skipped": text is None,
        "right": None if text is None else verdict(text),
    }  # fmt: skip


def _number(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and isfinite(number) else None


# ---- labels that somebody wrote by hand


def _is_plain(start: Start) -> str:
    """Columns `id` and `label`, and nothing that other tools have; what labels are called differs by question."""
    names = frozenset(start.first) if start.kind == "lines" else _columns(start)
    if not ({"id", "label"} <= names <= _PLAIN) or isinstance(start.first.get("label"), list | dict):
        return ""
    return "it has columns id and label, and no others than who and note"


def _plain(source: Source) -> Iterator[Row]:
    if Start.of(source).kind == "lines":
        for number, row in objects(source):
            where = {"path": source.name, "line": number}
            yield number, row if isinstance(row, InputError) else _plain_label(row, where)
    else:
        yield from _lines(source, _plain_label)


def _plain_label(row: Mapping[str, Any], where: Mapping[str, Any]) -> dict[str, Any]:
    told: dict[str, str] = {}
    for name in _PLAIN:
        value = row.get(name)
        if value is not None and not isinstance(value, str | int | float):
            raise InputError(
                **where, field=name, expected="a text", got=kind_and_value(value), hint=_HINT_PLAIN,
                reason=Reason.WRONG_TYPE,
            )  # fmt: skip
        plain = int(value) if isinstance(value, float) and value.is_integer() else value
        told[name] = "" if plain is None else str(plain).strip() if name != "id" else str(plain)
    if not told["id"]:
        raise InputError(
            **where, field="id", expected="the id of an example", got="none", hint=_HINT_PLAIN, reason=Reason.WRONG_TYPE
        )
    return {**_said(told["id"], told["who"] or stem(where["path"]), told["label"]), "note": told["note"]}


# ---- sheets of other steps of ours


def _is_of_statements(start: Start) -> str:
    return "it has the columns of a sheet of robust audit" if _columns(start) >= _MARKS_OF_STATEMENTS else ""


def _of_statements(source: Source) -> Iterator[Row]:
    yield from _lines(source, _of_statement)


def _of_statement(row: Mapping[str, Any], where: Mapping[str, Any]) -> dict[str, Any]:
    """A statement that is not grammatical, or not of its polarity, is no fair test, whatever its relation."""
    cells = {name: str(row.get(name) or "").strip() for name in _MARKS_OF_STATEMENTS}
    marks = [_yes_or_no(cells[name], name, where) for name in ("grammatical", "polarity_right")]
    filled = any(marks) or bool(cells["true_label"])
    return {
        **_said(f"{cells['row']}#{cells['slot']}", stem(where["path"]), cells["true_label"] or AS_EXPECTED * filled),
        "question": "robust", "grammatical": "no" if "no" in marks else "yes" * filled,
        "note": str(row.get("remark") or ""),
    }  # fmt: skip


def _yes_or_no(cell: str, field: str, where: Mapping[str, Any]) -> str:
    if not cell:
        return ""
    said = verdict(cell)
    if said is None:
        raise InputError(**where, field=field, expected="yes or no", got=shown(cell, 40), reason=Reason.NOT_A_MARK)
    return "yes" if said else "no"


def _is_of_golds(start: Start) -> str:
    marks = _columns(start) if start.kind == "text" else frozenset(start.first if start.kind == "lines" else ())
    return "it has the columns of a sheet of correct --audit-out" if marks >= _MARKS_OF_GOLDS else ""


def _of_golds(source: Source) -> Iterator[Row]:
    if Start.of(source).kind == "lines":
        for number, row in objects(source):
            yield number, row if isinstance(row, InputError) else _of_gold(row, {"path": source.name, "line": number})
    else:
        yield from _lines(source, _of_gold)


def _of_gold(row: Mapping[str, Any], where: Mapping[str, Any]) -> dict[str, Any]:
    name = f"{row.get('database') or ''}: {row.get('gold') or ''}"
    return {
        **_said(name, stem(where["path"]), str(row.get("label") or "")),
        "question": GOLDS, "note": str(row.get("remark") or ""),
    }  # fmt: skip


FORMATS = (
    Format(
        "labels",
        "sensecheck's own labels: JSONL of the labelling page, or its CSV sheet",
        (LABELS,),
        _is_ours,
        _ours,
        counts_lines=True,
        example="sensecheck agree run/ labels.jsonl",
    ),
    Format(
        "plain-labels",
        "labels written by hand: JSONL or CSV with id and label, and perhaps who and note",
        (LABELS,),
        _is_plain,
        _plain,
        counts_lines=True,
        example="sensecheck agree run/ labels.csv",
    ),
    Format(
        "statement-sheet",
        "the sheet of robust audit, filled in",
        (LABELS,),
        _is_of_statements,
        _of_statements,
        counts_lines=True,
        example="sensecheck agree run/ sheet.csv",
    ),
    Format(
        "gold-sheet",
        "the sheet of correct --audit-out, filled in: labels of golds",
        (LABELS,),
        _is_of_golds,
        _of_golds,
        counts_lines=True,
        example="sensecheck agree run/ golds.csv",
    ),
)
