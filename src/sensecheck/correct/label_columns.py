"""Leaving label columns of a prediction out (`--ignore-labels`): which columns may go, and no others.

A column is a label's by its name: it ends in Label, AltLabel or Description, stands next to the variable that it is
named after (`?cityLabel` beside `?city`) and holds text. Or by its values alone: all of them are text, plain or with a
language. A column that the gold has too, by its name, is none. What is tried is fixed beforehand: all columns that are
labels by name; then, if the answer has still more columns than the gold, also all that are labels by their values,
which counts only where it makes the answers equal. No choice among columns is ever searched for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from sensecheck.correct.answer_sets import TEXT_TYPES, Key, best_column_order, overlap
from sensecheck.correct.given import with_columns
from sensecheck.language.answers import Answer, Cell, Detail, Term

_NAMED = re.compile(r"(.+?)_?(?:[aA]ltLabel|[lL]abel|[dD]escription)")


def without_label_columns(
    wanted: set[Key],
    answered: set[Key],
    predicted: Answer,
    gold_columns: Sequence[str],
    detail: Detail,
    width: int,
    texts: Collection[float] = frozenset(),
) -> set[Key]:
    """The rows of a prediction without its extra label columns; as they were where there are none to leave out.

    `answered` are its rows with all columns, `width` says how many columns the gold has, `texts` which numbers are
    compared as text.
    """
    by_name = [place for place in range(len(predicted.columns)) if _is_named_label(place, predicted, gold_columns)]
    rest = _without(predicted, by_name)
    if by_name and len(rest.columns) >= width:
        shown = best_column_order(wanted, rest, detail=detail, texts=texts)
        if overlap(wanted, shown).f1 >= overlap(wanted, answered).f1:
            answered = shown
    else:
        rest = predicted
    if answered == wanted or len(rest.columns) <= width:
        return answered
    by_value = [place for place in range(len(rest.columns)) if _holds_text(place, rest, gold_columns)]
    if not by_value or len(rest.columns) - len(by_value) != width:
        return answered
    shown = best_column_order(wanted, _without(rest, by_value), detail=detail, texts=texts)
    return shown if shown == wanted else answered


def _without(answer: Answer, places: Sequence[int]) -> Answer:
    return with_columns(answer, [place for place in range(len(answer.columns)) if place not in places])


def _is_named_label(place: int, answer: Answer, gold_columns: Sequence[str]) -> bool:
    name = answer.columns[place]
    named = _NAMED.fullmatch(name)
    if named is None or name in gold_columns or named[1] not in answer.columns:
        return False
    # A label may be missing, and a table says of none what it is; but neither an IRI nor a number is one.
    return all(
        _is_text(cell) or (isinstance(cell, str) and not cell.startswith("http")) for cell in _cells(place, answer)
    )


def _holds_text(place: int, answer: Answer, gold_columns: Sequence[str]) -> bool:
    if answer.columns[place] in gold_columns:
        return False
    cells = _cells(place, answer)
    return bool(cells) and all(map(_is_text, cells))


def _cells(place: int, answer: Answer) -> list[Cell]:
    return [row[place] for row in answer.rows if row[place] is not None]


def _is_text(cell: Cell) -> bool:
    return isinstance(cell, Term) and cell.kind == "literal" and cell.datatype in TEXT_TYPES
