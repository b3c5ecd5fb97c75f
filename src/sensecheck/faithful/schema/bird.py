"""BIRD's descriptions of a database: one `database_description/TABLE.csv` for each table.

`column_name` and `column_description` are further names of a column; `value_description` says what its values mean.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from sensecheck.faithful.facts import name_of
from sensecheck.faithful.schema.describing import describe, value_words
from sensecheck.faithful.schema.model import Column, Schema, Table, plain_type
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.field_names import folded
from sensecheck.inputs.reasons import Reason

FOLDER = "database_description"
_FIELDS = ("original_column_name", "column_name", "column_description", "data_format", "value_description")
_LONGEST = 131_072
"""Characters of a cell: the limit that the csv module starts with, which any other code of a process may raise."""


def from_descriptions(folder: Path) -> Schema:
    """The tables that a folder `database_description` describes; the database is called like the folder around it."""
    files = [file for file in sorted(folder.iterdir()) if file.suffix.lower() == ".csv" and is_data(file)]
    if not files:
        raise InputError(
            path=str(folder), expected="BIRD's descriptions of tables (TABLE.csv)", got="no .csv file",
            reason=Reason.NO_SCHEMA,
        )  # fmt: skip
    tables = {file.stem.lower(): Table(file.stem, name_of(file.stem), _columns(file)) for file in files}
    return Schema(folder.resolve().parent.name, tables).finish()


def is_data(path: Path) -> bool:
    """Whether a file is the user's: archives made on a Mac bring one called `._NAME` beside each."""
    return not path.name.startswith(".") and "__MACOSX" not in path.parts


def _columns(path: Path) -> dict[str, Column]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", path=str(path), field="schema", reason=Reason.NO_SCHEMA
        ) from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")  # as some of BIRD's files are
    columns: dict[str, Column] = {}
    rows = csv.reader(io.StringIO(text.replace("\0", ""), newline=""))
    try:
        places = _places(next(rows, []), path)
        for row in rows:
            if max(map(len, row), default=0) > _LONGEST:
                raise csv.Error
            column = _column(row, places)
            if column.name:
                columns.setdefault(column.name.lower(), column)
    except csv.Error:
        raise InputError(
            path=str(path), line=max(rows.line_num, 1), expected="a row of CSV",
            got=f"a cell of over {_LONGEST:,} characters, or a quotation mark that is never closed",
            reason=Reason.BAD_SCHEMA,
        ) from None  # fmt: skip
    return columns


def _places(header: list[str], path: Path) -> dict[str, int]:
    places: dict[str, int] = {}
    for i, name in enumerate(header):
        places.setdefault(folded(name), i)
    if _FIELDS[0] not in places:
        raise InputError(
            path=str(path), line=1, expected=f"the columns of BIRD's descriptions ({', '.join(_FIELDS)})",
            got=f"the columns {', '.join(shown(name, 30) for name in header[:8])}" if header else "an empty file",
            reason=Reason.BAD_SCHEMA,
        )  # fmt: skip
    return places


def _column(row: list[str], places: Mapping[str, int]) -> Column:
    def cell(field: str) -> str:
        at = places.get(field)
        return row[at].strip() if at is not None and at < len(row) else ""

    name = cell("original_column_name")
    column = Column(name, name_of(name), plain_type(cell("data_format")))
    describe(column, cell("column_name"), cell("column_description"))
    # Some rows have one comma too many before the description of the values.
    known = {places[field] for field in _FIELDS if field in places}
    unnamed = [text for at, text in enumerate(row) if at not in known]
    column.value_words = {**column.value_words, **value_words("\n".join([cell("value_description"), *unnamed]))}
    return column
