"""What people said of examples, as annotation tools export it: rows of id, annotator, question, label, skipped, right.

The label is the tool's own text. `right` is what it says where it is a verdict (correct, Wrong, yes, 0): the tools
spell one judgement in different ways. A row is skipped where the annotator gave no label: cancelled, ignored, or left
empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from sensecheck.inputs.errors import SKIP_HINT, InputError, did_you_mean, shown
from sensecheck.inputs.formats.reading import document, not_an_object, objects
from sensecheck.inputs.formats.registry import Format, Row
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import MARKS, TableReader, kind_and_value

LABELS = "labels"
"""What these formats are for: no question takes them for predictions."""

Fields = Mapping[str, Any]

_OWN_IDS = (
    "example_id", "external_id", "question_id", "item_id", "custom_id", "instance_id", "query_id", "sample_id", "qid",
    "uid",
)  # fmt: skip
"""Names of an example's own id, before that of the tool's rows."""


class _Sheet(NamedTuple):
    """A record of a sheet and where it stands."""

    row: Fields
    where: Mapping[str, Any]

    def wrong(self, field: str, expected: str, got: Any) -> InputError:
        return InputError(
            **self.where, field=field, expected=expected, got=kind_and_value(got), hint=SKIP_HINT,
            reason=Reason.WRONG_TYPE,
        )  # fmt: skip

    def listed(self, field: str, holder: Fields | None = None) -> list[Any]:
        """A list of the record, or of an object in it; nothing stands for an empty one."""
        value = (self.row if holder is None else holder).get(field)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(field, "a list", value)
        return value

    def object(self, value: Any, field: str) -> Fields:
        if not isinstance(value, dict):
            raise self.wrong(field, "an object", value)
        return value


Reading = Callable[[_Sheet], Iterator[Fields]]


def _rows(source: Source, of_record: Reading, expected: str) -> Iterator[Row]:
    """The labels of all records, whether they stand in one JSON list or on lines."""
    yield from _each(_records(source, expected), source, of_record)


def _each(records: Iterable[Row], source: Source, of_record: Reading) -> Iterator[Row]:
    for number, row in records:
        if isinstance(row, InputError):
            yield number, row
            continue
        try:
            labels = list(of_record(_Sheet(row, {"path": source.name, "record": number})))
        except InputError as error:
            yield number, error
        else:
            yield from ((number, label) for label in labels)


def _records(source: Source, expected: str) -> Iterator[Row]:
    if not _is_document(source):
        yield from objects(source)
        return
    value = document(source, expected)
    for number, row in enumerate(value if isinstance(value, list) else [value], 1):
        yield number, row if isinstance(row, dict) else not_an_object(row, source.name, record=number)


def _is_document(source: Source) -> bool:
    return source.path is not None and Start.of(source).kind in ("array", "object")


def _label(
    id: Any, annotator: Any, label: Any, *, question: str = "", skipped: bool = False, right: bool | None = None
) -> Fields:
    text = None if skipped else label_text(label)
    skipped = text is None
    return {
        "id": _text(id),
        "annotator": _text(annotator),
        "question": question,
        "label": text,
        "skipped": skipped,
        "right": None if text is None else verdict(text) if right is None else right,
    }


def label_text(value: Any) -> str | None:
    """A label as text; several in the order of the alphabet, so that the same choice is the same text."""
    if isinstance(value, list):
        texts = [text for text in map(label_text, value) if text is not None]
        return "; ".join(sorted(texts)) if texts else None
    if isinstance(value, dict):
        inner = next((value[name] for name in ("value", "label", "text") if name in value), None)
        return label_text(inner) if isinstance(inner, str | int | float) else json.dumps(value, sort_keys=True)
    text = _text(value).strip()
    return text or None


def verdict(label: str) -> bool | None:
    """Right or wrong, where a label says one of them."""
    return MARKS.get(label.strip().lower())


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else "" if value is None else str(value)


def _own_id(*holders: Any, names: Sequence[str] = _OWN_IDS, otherwise: Any = None) -> Any:
    """The example's own id in the first of the objects that has one."""
    for holder in holders:
        if isinstance(holder, dict):
            for name in names:
                if isinstance(holder.get(name), str | int | float) and holder[name] != "":
                    return holder[name]
    return otherwise


def stem(path: str) -> str:
    """What an annotator is called who is named nowhere: by the file."""
    return re.sub(r"(\.(gz|zst|zstd))?$", "", Path(path).name, count=1).split(".")[0] or "annotator"


# ---- Label Studio


def _is_label_studio(start: Start) -> str:
    row = start.first if start.kind == "array" else {}
    tasks = next((row[name] for name in ("annotations", "completions") if name in row), None)
    if isinstance(tasks, list) and isinstance(row.get("data"), dict):
        made = all(isinstance(one, dict) and "result" in one for one in tasks)
        return "it is a list of tasks with annotations" if made else ""
    if "annotator" in row and "annotation_id" in row:
        return "it is a list of records with annotator and annotation_id"
    return ""


def _label_studio(source: Source) -> Iterator[Row]:
    records = list(_records(source, "a JSON list of tasks"))
    rows = [row for _, row in records if not isinstance(row, InputError)]
    if any("annotation_id" in row and "annotations" not in row for row in rows):
        names = _choice_fields(rows)
        yield from _each(records, source, lambda sheet: _of_small_record(sheet, names))
    else:
        names = _questions(rows)
        yield from _each(records, source, lambda sheet: _of_task(sheet, names))


_VALUES = ("choices", "rating", "number", "taxonomy")


def _questions(tasks: Sequence[Fields]) -> list[str]:
    """What annotators were asked, by the names of the controls: someone who cancels has answered none of it."""
    names: dict[str, None] = {}
    for task in tasks:
        for annotation in _annotations(task):
            results = annotation.get("result") if isinstance(annotation, dict) else None
            for result in results if isinstance(results, list) else ():
                if isinstance(result, dict) and _chosen(result) is not None:
                    names[_text(result.get("from_name"))] = None
    return list(names) or [""]


def _annotations(task: Fields) -> list[Any]:
    found: Any = next((task[name] for name in ("annotations", "completions") if task.get(name) is not None), [])
    return found if isinstance(found, list) else []


def _chosen(result: Fields) -> Any:
    value = result.get("value")
    if not isinstance(value, dict):
        return None
    return next((value[name] for name in _VALUES if value.get(name) is not None), None)


def _of_task(sheet: _Sheet, questions: Sequence[str]) -> Iterator[Fields]:
    task = sheet.row
    name = "annotations" if task.get("annotations") is not None or "completions" not in task else "completions"
    data, meta = task.get("data"), task.get("meta")
    id = _own_id(data, meta, otherwise=_own_id(data, meta, names=("id",), otherwise=task.get("id")))
    for annotation in sheet.listed(name):
        made = sheet.object(annotation, name)
        who = made.get("completed_by")
        if isinstance(who, dict):
            who = next((who[key] for key in ("email", "username", "id") if who.get(key) not in (None, "")), None)
        annotator = stem(sheet.where["path"]) if who is None else who
        results = [sheet.object(result, "result") for result in sheet.listed("result", made)]
        cancelled = bool(made.get("was_cancelled"))
        for question in questions:
            said = [_chosen(result) for result in results if _text(result.get("from_name")) == question]
            label = [one for one in said if one is not None]
            yield _label(
                id, annotator, label[0] if len(label) == 1 else label, question=question, skipped=cancelled
            )  # fmt: skip


_ABOUT = frozenset({"annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "id"})
_FEW_VALUES = 20


def _choice_fields(rows: Sequence[Fields]) -> list[str]:
    """Which fields of small records are labels: they stand between the data with the id and the annotator.

    Data that have an id of their own put it first, and the rest of them behind it: a field of texts that hardly ever
    repeat is data.
    """
    names: dict[str, None] = {}
    for row in rows:
        keys = list(row)
        begin = keys.index("id") + 1 if "id" in row else 0
        end = keys.index("annotator") if "annotator" in row else len(keys)
        names.update(dict.fromkeys(keys[begin:end]))
    there = [name for name in names if name not in _ABOUT and name not in _OWN_IDS]
    return [name for name in there if _is_choice(name, rows)] or there or [""]


def _is_choice(name: str, rows: Sequence[Fields]) -> bool:
    values = [label_text(_plain_choice(row[name])) for row in rows if row.get(name) is not None]
    distinct = set(values)
    return len(distinct) <= max(2, min(_FEW_VALUES, len(values) // 2))


def _plain_choice(value: Any) -> Any:
    """A choice as a small record holds it: a text, {"choices": [...]}, or a list of those."""
    if isinstance(value, dict) and "choices" in value:
        return value["choices"]
    return [_plain_choice(one) for one in value] if isinstance(value, list) else value


def _of_small_record(sheet: _Sheet, questions: Sequence[str]) -> Iterator[Fields]:
    row = sheet.row
    if "annotator" not in row:
        raise InputError(
            **sheet.where, expected="a field 'annotator'",
            got=f"the fields {', '.join(shown(name, 30) for name in list(row)[:10])}", hint=SKIP_HINT,
            reason=Reason.MISSING_KEY,
        )  # fmt: skip
    who = row["annotator"]
    annotator = stem(sheet.where["path"]) if who is None else who
    for question in questions:
        yield _label(
            _own_id(row, otherwise=row.get("id")), annotator, _plain_choice(row.get(question)), question=question
        )


# ---- Prodigy

_ANSWERS = ("accept", "reject", "ignore")
_OF_PRODIGY = ("_input_hash", "_task_hash", "_session_id", "_annotator_id", "_view_id")


def _is_prodigy(start: Start) -> str:
    row = start.first if start.kind in ("lines", "array") else {}
    held = row.get("answer") in _ANSWERS and any(name in row for name in _OF_PRODIGY)
    return "its records have an answer (accept, reject or ignore) and Prodigy's hashes" if held else ""


def _prodigy(source: Source) -> Iterator[Row]:
    yield from _rows(source, _of_prodigy, "a JSON list of Prodigy's tasks")


def _of_prodigy(sheet: _Sheet) -> Iterator[Fields]:
    row = sheet.row
    answer = row.get("answer")
    if answer not in _ANSWERS:
        raise sheet.wrong("answer", "accept, reject or ignore", answer)
    who = next((row[name] for name in ("_annotator_id", "_session_id") if row.get(name) not in (None, "")), None)
    annotator = stem(sheet.where["path"]) if who is None else who
    names = (*_OWN_IDS, "id")
    id = _own_id(row.get("meta"), row, names=names, otherwise=row.get("_input_hash", sheet.where["record"]))
    ignored = answer == "ignore"
    if "accept" in row or "options" in row:
        chosen: Any = sheet.listed("accept") if not isinstance(row.get("accept"), str) else row["accept"]
        yield _label(id, annotator, "reject" if answer == "reject" else chosen, skipped=ignored)
        return
    offered = row.get("label")
    question = offered if isinstance(offered, str) else ""
    # To accept the label WRONG is to say that the answer is wrong.
    meant = verdict(question)
    right = (answer == "accept") == (True if meant is None else meant)
    yield _label(id, annotator, answer, question=question, skipped=ignored, right=right)


# ---- Argilla

_FLAT_RESPONSES = ".responses"
_NOT_SUBMITTED = ("discarded", "draft")


def _is_argilla(start: Start) -> str:
    row = start.first if start.kind in ("array", "lines") else {}
    if isinstance(row.get("fields"), dict) and isinstance(row.get("responses"), dict | list):
        return "its records have fields and responses"
    if any(f"{name}.users" in row for name in row if name.endswith(_FLAT_RESPONSES)):
        return "its records have responses and their users"
    if "annotation" in row and "annotation_agent" in row:
        return "its records have an annotation and an annotation_agent"
    return ""


def _argilla(source: Source) -> Iterator[Row]:
    yield from _rows(source, _of_argilla, "a JSON list of records")


def _of_argilla(sheet: _Sheet) -> Iterator[Fields]:
    row = sheet.row
    id = _own_id(row, row.get("metadata"), otherwise=row.get("id"))
    if id is None:
        id = sheet.where["record"]
    responses = row.get("responses")
    if isinstance(responses, dict):
        for question in responses:
            for given in sheet.listed(question, responses):
                one = sheet.object(given, question)
                yield _response(sheet, id, question, one.get("value"), one.get("user_id"), one.get("status"))
    elif isinstance(responses, list):
        for given in responses:
            one = sheet.object(given, "responses")
            values = one.get("values") or {}
            for question, value in sheet.object(values, "values").items():
                inner = value.get("value") if isinstance(value, dict) else value
                yield _response(sheet, id, question, inner, one.get("user_id"), one.get("status"))
    elif responses is not None:
        raise sheet.wrong("responses", "responses by question, or a list of them", responses)
    elif "annotation" in row:
        given_up = row.get("status") == "Discarded"
        yield _response(sheet, id, "", row["annotation"], row.get("annotation_agent"), "draft" if given_up else None)
    else:
        yield from _flat_responses(sheet, id)


def _flat_responses(sheet: _Sheet, id: Any) -> Iterator[Fields]:
    for name in [name for name in sheet.row if name.endswith(_FLAT_RESPONSES)]:
        values, users = sheet.listed(name), sheet.listed(f"{name}.users")
        states = sheet.listed(f"{name}.status") or [None] * len(values)
        if not len(values) == len(users) == len(states):
            raise sheet.wrong(f"{name}.users", f"{len(values)} users, one for each response", users)
        for value, user, state in zip(values, users, states, strict=True):
            yield _response(sheet, id, name.removesuffix(_FLAT_RESPONSES), value, user, state)


def _response(sheet: _Sheet, id: Any, question: str, value: Any, user: Any, status: Any) -> Fields:
    annotator = stem(sheet.where["path"]) if user is None else user
    return _label(id, annotator, value, question=question, skipped=status in _NOT_SUBMITTED)


# ---- doccano

_OF_DOCCANO = ("Comments", "annotation_approver")
_LABEL_LISTS = ("label", "labels", "cats")
_ANNOTATORS = ("annotator", "username", "user")
_KNOWN_TO_DOCCANO = frozenset(
    {
        *_LABEL_LISTS,
        *_OF_DOCCANO,
        *_ANNOTATORS,
        *_OWN_IDS,
        "id",
        "text",
        "data",
        "entities",
        "relations",
        "comments",
        "meta",
    }
)


def _is_doccano(start: Start) -> str:
    row = start.first if start.kind in ("lines", "array") else {}
    if not any(isinstance(row.get(name), str) for name in ("text", "data")):
        return ""
    annotations = row.get("annotations")
    if isinstance(annotations, list) and annotations:
        users = all(isinstance(one, dict) and "label" in one and "user" in one for one in annotations)
        return "its records have a text and annotations by users" if users else ""
    lists = [row[name] for name in _LABEL_LISTS if name in row]
    if not lists or not all(isinstance(held, list) and all(map(_is_doccano_label, held)) for held in lists):
        return ""
    if any(name in row for name in _OF_DOCCANO) or row.keys() <= _KNOWN_TO_DOCCANO:
        return "its records have a text and a list of labels"
    return ""


def _is_doccano_label(value: Any) -> bool:
    """A name, or a stretch of the text with its name."""
    return isinstance(value, str) or (isinstance(value, list) and len(value) == 3 and isinstance(value[2], str))


def _doccano(source: Source) -> Iterator[Row]:
    yield from _rows(source, _of_doccano, "a JSON list of documents")


def _of_doccano(sheet: _Sheet) -> Iterator[Fields]:
    row = sheet.row
    own = _own_id(row, row.get("meta"), otherwise=_own_id(row.get("meta"), names=("id",), otherwise=row.get("id")))
    id = sheet.where["record"] if own is None else own
    if isinstance(row.get("annotations"), list):
        by_user: dict[str, list[Any]] = {}
        for given in sheet.listed("annotations"):
            one = sheet.object(given, "annotations")
            by_user.setdefault(_text(one.get("user")), []).append(one.get("label"))
        for user, labels in by_user.items():
            yield _label(id, user or stem(sheet.where["path"]), labels)
        return
    named = next((row[name] for name in _ANNOTATORS if isinstance(row.get(name), str | int)), None)
    annotator = stem(sheet.where["path"]) if named is None else named
    there = [name for name in _LABEL_LISTS if name in row]
    if not there:
        raise InputError(
            **sheet.where, expected="a list of labels: label, labels or cats",
            got=f"the fields {', '.join(shown(name, 30) for name in list(row)[:10])}", hint=SKIP_HINT,
            reason=Reason.MISSING_KEY,
        )  # fmt: skip
    for name in there:
        labels = [row[name]] if isinstance(row[name], str) else sheet.listed(name)
        yield _label(
            id, annotator, [_spelled(sheet, name, one) for one in labels], question=name if len(there) > 1 else ""
        )


def _spelled(sheet: _Sheet, field: str, label: Any) -> str:
    if isinstance(label, str):
        return label
    if not _is_doccano_label(label):
        raise sheet.wrong(field, "names, or stretches of the text with their names", label)
    return f"{label[2]} {label[0]}-{label[1]}"


# ---- a column an annotator

_NO_ANNOTATORS = re.compile(
    r"(.*[_\W])?(consensus|avg|average|mean|median|majority|mode|sum|total|count|n|agreement|kappa|gold|label|truth|"
    r"adjudicated|final|vote|votes)", re.IGNORECASE,
)  # fmt: skip
"""Columns that are made of the annotators', or stand beside them."""
_ROW_NAMES = (*_OWN_IDS, "id", "index", "no", "nr", "number", "row")


def _annotators(source: Source) -> Iterator[Row]:
    yield from by_column(source.path or source.stream, source.name)


def by_column(data: Any, path: str, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """Labels of a table with a column an annotator: those that are named, or those of few different values.

    Columns that are called KIND_NAME, for several kinds and the same names, are several questions to the same people.
    """
    reader = TableReader(data)
    held: dict[str, list[str | None]] = {}
    places: list[int] = []
    ids: list[str] = []
    for batch in reader:
        for name in batch.frame.columns[1:]:
            held.setdefault(name, [None] * len(places)).extend(batch.spelled(name).to_list())
        places += batch.frame[batch.place].to_list()
        ids += batch.ids().to_list()
        for column in held.values():
            column += [None] * (len(places) - len(column))
    if not places:
        raise InputError("there is no row of labels", path=path or None, reason=Reason.EMPTY)
    own = next((name for wanted in _ROW_NAMES for name in held if name.lower() == wanted), None)
    chosen = _chosen_columns(held, own, columns, path)
    split = _kinds(chosen)
    for row, number in enumerate(places):
        for name in chosen:
            question, annotator = split.get(name, ("", name))
            yield (
                number,
                _label(ids[row] if own is None else held[own][row], annotator, held[name][row], question=question),
            )


def _chosen_columns(
    held: Mapping[str, Sequence[str | None]], own: str | None, columns: Sequence[str] | None, path: str
) -> list[str]:
    if columns is not None:
        for name in columns:
            if name not in held:
                raise InputError(
                    path=path or None, field="annotators", expected=f"a column {shown(name, 60)}",
                    got=f"the columns {', '.join(shown(one, 40) for one in list(held)[:12])}",
                    hint=did_you_mean(name, held) or None, reason=Reason.UNKNOWN_COLUMN,
                )  # fmt: skip
        return list(columns)
    found = [name for name in held if name != own and not _NO_ANNOTATORS.fullmatch(name) and _has_few(held[name])]
    if not found:
        raise InputError(
            path=path or None, expected="a column for each annotator, with a few different labels",
            got=f"the columns {', '.join(shown(one, 40) for one in list(held)[:12])}",
            hint="Name them: read_labels(..., annotators=[...]).", reason=Reason.NO_COLUMN,
        )  # fmt: skip
    return found


def _has_few(values: Sequence[str | None]) -> bool:
    """Whether these may be labels: few different ones, each of them short."""
    said = [value.strip() for value in values if value and value.strip()]
    distinct = set(said)
    return bool(said) and len(distinct) <= max(2, min(_FEW_VALUES, len(said) // 3)) and max(map(len, distinct)) <= 60


def _kinds(columns: Sequence[str]) -> dict[str, tuple[str, str]]:
    """(question, annotator) by column, where columns are every kind crossed with every name."""
    parted = {name: (kind, who) for name in columns for kind, mark, who in [name.rpartition("_")] if mark}
    kinds = dict.fromkeys(kind for kind, _ in parted.values())
    people = dict.fromkeys(who for _, who in parted.values())
    crossed = {f"{kind}_{who}" for kind, who in product(kinds, people)}
    return parted if len(kinds) > 1 and len(people) > 1 and crossed == set(columns) else {}


FORMATS = (
    Format(
        "label-studio",
        "Label Studio's export (JSON, JSON-MIN): tasks with the annotations of several people",
        (LABELS,),
        _is_label_studio,
        _label_studio,
        example="sensecheck look export.json",
    ),
    Format(
        "prodigy",
        "Prodigy's tasks: answers accept, reject and ignore, or the options that were chosen",
        (LABELS,),
        _is_prodigy,
        _prodigy,
        example="sensecheck look annotations.jsonl",
    ),
    Format(
        "argilla",
        "Argilla's records with the responses of users (2.x, nested and flat; 1.x; older annotations)",
        (LABELS,),
        _is_argilla,
        _argilla,
        example="sensecheck look records.json",
    ),
    Format(
        "doccano",
        "doccano's export: a text a line with its labels; a file an annotator, or the annotator in a field",
        (LABELS,),
        _is_doccano,
        _doccano,
        example="sensecheck look admin.jsonl",
    ),
    Format(
        "annotators",
        "a table (CSV, TSV) with a column an annotator; known only by name",
        (LABELS,),
        rows=_annotators,
        counts_lines=True,
        example="sensecheck look verdicts.csv --input-format annotators",
    ),
)
