"""Label sheets as one table: what each annotator said of each example, whichever tool they used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.formats.label_sheets import LABELS, by_column
from sensecheck.inputs.formats.registry import AUTO, Format, formats, named, recognised
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.half_characters import whole_value
from sensecheck.inputs.opening import Source, names_files, sources
from sensecheck.inputs.reasons import Reason

SCHEMA = {
    "id": pl.String,
    "annotator": pl.String,
    "question": pl.String,
    "label": pl.String,
    "skipped": pl.Boolean,
    "right": pl.Boolean,
}
_COLUMNS = "annotators"


def read_labels(data: Any, format: str = AUTO, annotators: Sequence[str] | None = None) -> pl.DataFrame:
    """A row for each example, annotator and question, in the order of the files.

    data: files of one or several tools, or a table in memory with a column an annotator. annotators: the columns that
    are annotators'. Columns: id (the example's own, where it has one), annotator, question (which one was judged, if
    there are several), label (the tool's text; none where skipped), skipped, right (what the label says, where it is a
    verdict).

    >>> sheet = [{"id": "q1", "anna": "yes", "ben": "no"}, {"id": "q2", "anna": "no", "ben": None}]
    >>> read_labels(sheet, annotators=["anna", "ben"]).select("id", "annotator", "right").rows()
    [('q1', 'anna', True), ('q1', 'ben', False), ('q2', 'anna', False), ('q2', 'ben', None)]
    """
    if isinstance(annotators, str):
        annotators = [annotators]
    chosen = chosen_format(format, annotators)
    rows: list[Any] = []
    for _, row in label_rows(data, chosen, annotators):
        if isinstance(row, InputError):
            raise row
        rows.append(whole_value({name: row[name] for name in SCHEMA}))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def chosen_format(format: str, annotators: Sequence[str] | None) -> Format | None:
    """The format of labels that is named, if one is."""
    chosen = None if format == AUTO else named(format)
    if chosen is not None and LABELS not in chosen.questions:
        raise InputError(
            field="format", expected=f"a format of labels: {', '.join(_names())}", got=chosen.name,
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    if annotators is not None and chosen is not None and chosen.name != _COLUMNS:
        raise InputError(
            f"annotators= names columns of a table: it has no meaning with {chosen.name}", reason=Reason.BAD_OPTION
        )
    return named(_COLUMNS) if annotators is not None else chosen


def _names() -> list[str]:
    return [one.name for one in formats().values() if LABELS in one.questions]


Placed = tuple[Mapping[str, Any], Mapping[str, Any] | InputError]
"""Where a label stands (path, and line or record), and the label, or what is wrong with it."""


def label_rows(data: Any, chosen: Format | None, annotators: Sequence[str] | None) -> Iterator[Placed]:
    """The labels of files, or of a table in memory, each with its place."""
    if not names_files(data):
        for number, row in by_column(data, "", annotators):
            yield {"record": number}, row
        return
    for source in sources(data):
        layout = chosen or _layout(source)
        place = "line" if layout.counts_lines else "record"
        if layout.name == _COLUMNS:
            rows = by_column(source.path or source.stream, source.name, annotators)
        else:
            assert layout.rows is not None
            rows = layout.rows(source)
        for number, row in rows:
            yield {"path": source.name, place: number}, row


def _layout(source: Source) -> Format:
    found = recognised(Start.of(source), LABELS)
    if found is None or LABELS not in found.format.questions:
        raise InputError(
            path=source.name, expected=f"the export of an annotation tool ({', '.join(_names())})",
            got="something that has the marks of none",
            hint="A table with a column an annotator: format='annotators', or annotators=[...] with their names.",
            reason=Reason.AMBIGUOUS_FORMAT,
        )  # fmt: skip
    return found.format
