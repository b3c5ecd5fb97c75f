"""Spider 2.0-lite's folders: a CSV (or a query) for every question, and the golds with what is asked of them.

submission/bq011.csv              gold/spider2lite_eval.jsonl      {"instance_id": "bq011", "condition_cols": [], …}
submission/local003.sql           gold/exec_result/bq011_a.csv     one of the tables that are allowed
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sensecheck.inputs.delimited import comma_separated
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.half_characters import whole
from sensecheck.inputs.json_arrays import is_nested, loads
from sensecheck.inputs.reasons import Reason

MOST_BYTES = 64 << 20
"""Bytes of one table."""
MOST_CELLS = 8_000_000
GOLD_FOLDERS = ("exec_result", "gold/exec_result", "gold_exec_result")
"""Where the gold's tables lie, beside the file that lists the questions."""

_MISSING = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
_WHOLE = re.compile(r"\s*[+-]?\d{1,300}\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(?:(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d{1,5})?|inf(?:inity)?)\s*", re.ASCII | re.I)
_VERDICTS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_VARIANT = re.compile(r"_[a-z]\Z")


def read_submission(folder: str | Path) -> Iterator[dict[str, Any]]:
    """A record for every file of a submission: {"id", "predicted_answers"} of a CSV, {"id", "prediction"} of a query.

    A question with both is taken by its table.
    """
    folder = Path(folder)
    files = _files(folder, (".csv", ".sql"))
    if not files:
        raise InputError(
            path=str(folder), expected="a folder with a CSV or SQL file for every question", got="none",
            hint="Name the folder that holds ID.csv or ID.sql.", reason=Reason.EMPTY,
        )  # fmt: skip
    tables = _by_stem([file for file in files if file.suffix.lower() == ".csv"]).keys()
    _by_stem([file for file in files if file.suffix.lower() == ".sql"])
    for file in files:
        if file.suffix.lower() == ".csv":
            yield {"id": file.stem, "predicted_answers": read_table(file)}
        elif file.stem not in tables:
            yield {"id": file.stem, "prediction": _text(file).strip()}


def read_gold(evaluation: str | Path, folder: str | Path | None = None) -> Iterator[dict[str, Any]]:
    """A record for every question that spider2lite_eval.jsonl lists, with the tables that are allowed for it:
    {"id", "gold_answers", "condition_cols", "ignore_order"}."""
    evaluation = Path(evaluation)
    tables = _gold_folder(evaluation) if folder is None else Path(folder)
    questions: dict[str, tuple[int, dict[str, Any]]] = {}
    for number, line in enumerate(_text(evaluation).split("\n"), 1):
        if not line.strip():
            continue
        row = _row(line, evaluation, number)
        name = row["instance_id"]
        if name in questions:
            raise _bad(evaluation, number, "instance_id", "each question once", shown(name), Reason.KEY_TWICE)
        questions[name] = number, row
    allowed: dict[str, list[Path]] = {}
    for stem, file in _by_stem(_files(tables, (".csv",))).items():
        # q_b.csv is one of the tables of q, unless there is a question q_b.
        allowed.setdefault(stem if stem in questions else _VARIANT.sub("", stem), []).append(file)
    for name, (number, row) in questions.items():
        files = sorted(allowed.get(name, []), key=lambda file: (file.stem != name, file.stem))
        if not files:
            raise InputError(
                path=str(evaluation), line=number, field="instance_id",
                expected="a table ID.csv or ID_a.csv among the golds", got=f"none for {shown(name, 60)}",
                hint="Is this the folder of the same questions?", reason=Reason.NO_GOLD,
            )  # fmt: skip
        yield {
            "id": name,
            "gold_answers": [read_table(file) for file in files],
            "condition_cols": row.get("condition_cols") or [],
            "ignore_order": _verdict(row.get("ignore_order"), evaluation, number),
        }


def read_table(path: str | Path) -> dict[str, Any]:
    """The table in a CSV file, {"columns", "rows"}: a column that holds numbers alone holds numbers, and what pandas
    takes for missing is null."""
    path = Path(path)
    rows: list[list[str]] = []
    width = cells = 0
    try:
        for row in comma_separated(_text(path)):
            if row == [""]:
                continue  # a blank line is no row
            width = width or len(row)
            rows.append(row)
            cells += max(width, len(row))
            if cells > MOST_CELLS:
                raise InputError(
                    path=str(path), expected=f"a table of at most {MOST_CELLS:,} cells", got="more",
                    hint="Is this an answer?", reason=Reason.DOCUMENT_TOO_LARGE,
                )  # fmt: skip
            if len(row) > width:
                raise InputError(
                    path=str(path), expected=f"{width} values in every row, as in the first line",
                    got=f"{len(row)} in row {len(rows) - 1}", hint="A value with a comma needs quotes.",
                    reason=Reason.CELL_COUNT,
                )  # fmt: skip
    except InputError:
        raise
    except ValueError as error:
        raise InputError(
            path=str(path), expected="comma-separated values", got=str(error), hint="Was the file cut short?",
            reason=Reason.OPEN_QUOTE,
        ) from None  # fmt: skip
    if not rows:
        return {"columns": [], "rows": []}
    names, *body = rows
    body = [row + [""] * (width - len(row)) for row in body]
    columns = [_typed([row[place] for row in body]) for place in range(width)]
    return {"columns": names, "rows": [list(row) for row in zip(*columns, strict=True)]}


def _typed(cells: Sequence[str]) -> list[Any]:
    """The values of a column: numbers or yes and no where all of it is, else its text."""
    told = [cell for cell in cells if cell not in _MISSING]
    if told and all(map(_WHOLE.fullmatch, told)):
        return [None if cell in _MISSING else int(cell) for cell in cells]
    if told and all(map(_NUMBER.fullmatch, told)):
        return [None if cell in _MISSING else float(cell) for cell in cells]
    if told and all(cell in _VERDICTS for cell in told):
        return [_VERDICTS.get(cell) for cell in cells]
    return [None if cell in _MISSING else cell for cell in cells]


# ---- files


def _files(folder: Path, endings: Sequence[str]) -> list[Path]:
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix.lower() in endings and file.is_file())
        inside = folder.resolve()
        strays = [file for file in files if file.is_symlink() and not file.resolve().is_relative_to(inside)]
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", path=str(folder), hint="Name a folder.", reason=Reason.UNREADABLE
        ) from None
    if strays:
        raise InputError(
            path=str(strays[0]), expected="a file of this folder", got="a link to a file outside it",
            hint="Put the file itself there.", reason=Reason.UNREADABLE,
        )  # fmt: skip
    return files


def _by_stem(files: Sequence[Path]) -> dict[str, Path]:
    """Files of one ending by the name before it, which no two have: q.csv and q.CSV are two tables of one question."""
    named: dict[str, Path] = {}
    for file in files:
        other = named.setdefault(file.stem, file)
        if other is not file:
            raise InputError(
                path=str(file), expected="one file for each question", got=f"{shown(other.name, 60)} as well",
                hint="Take one of them away.", reason=Reason.KEY_TWICE,
            )  # fmt: skip
    return named


def _gold_folder(evaluation: Path) -> Path:
    for name in GOLD_FOLDERS:
        if (evaluation.parent / name).is_dir():
            return evaluation.parent / name
    raise InputError(
        path=str(evaluation), expected=f"the gold's tables beside it, in {', '.join(GOLD_FOLDERS)}",
        got="no such folder", hint="Put the folder of CSV files there.", reason=Reason.NO_GOLD,
    )  # fmt: skip


def _text(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", path=str(path), hint="Name a file.", reason=Reason.UNREADABLE
        ) from None
    if len(data) > MOST_BYTES:
        raise InputError(
            path=str(path), expected=f"at most {MOST_BYTES:,} bytes", got="more", hint="Is this an answer?",
            reason=Reason.DOCUMENT_TOO_LARGE,
        )  # fmt: skip
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            path=str(path), expected="text in UTF-8", got=f"something else at byte {error.start:,}",
            hint="Save the file as UTF-8.", reason=Reason.ENCODING,
        ) from None  # fmt: skip


def _row(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        row = loads(line.encode("utf-8", "surrogatepass"))
    except ValueError:
        raise _bad(path, number, None, "an object of JSON", shown(line.strip(), 60), Reason.BAD_JSON) from None
    if not isinstance(row, dict) or is_nested(row):
        raise _bad(path, number, None, "an object of JSON", shown(row, 60), Reason.OTHER_KIND)
    name = row.get("instance_id")
    if not isinstance(name, str) or not name:
        raise _bad(path, number, "instance_id", "the question's id", shown(name, 60), Reason.OTHER_KIND)
    return {**row, "instance_id": whole(name)}


def _verdict(value: Any, path: Path, number: int) -> bool:
    """Whether order is ignored: true or false, or their texts; nothing is false."""
    if value is None or isinstance(value, bool):
        return bool(value)
    read = _VERDICTS.get(value.strip()) if isinstance(value, str) else None
    if read is None:
        raise _bad(path, number, "ignore_order", "true or false", shown(value, 60), Reason.OTHER_KIND)
    return read


def _bad(path: Path, number: int, field: str | None, expected: str, got: str, reason: Reason) -> InputError:
    hint = "Take the file as Spider 2.0 publishes it."
    return InputError(path=str(path), line=number, field=field, expected=expected, got=got, hint=hint, reason=reason)
