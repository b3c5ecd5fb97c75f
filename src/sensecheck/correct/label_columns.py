"""Leaving label columns of a prediction out (`--ignore-labels`): which columns may go, and no others.

A column is a label's by its name: it ends in Label, AltLabel or Description and stands next to the variable that it is
named after (`?cityLabel` beside `?city`). Or by its values: all of them are text, plain or with a language. A column
that the gold has too, by its name, is none. What is tried is fixed beforehand: all columns that are labels by name;
then, if the answer has still more columns than the gold, also all that are labels by their values, which counts only
where it makes the answers equal. No choice among columns is ever searched for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sensecheck.correct.answer_sets import Key, best_column_order, overlap
from sensecheck.correct.given import with_columns
from sensecheck.language.answers import Answer, Detail, Term
from sensecheck.language.sparql.tree import RDF, XSD

_NAMED = re.compile(r"(.+?)_?(?:[aA]ltLabel|[lL]abel|[dD]escription)")
_TEXT_TYPES = ("", XSD + "string", RDF + "langString")


def without_label_columns(
    wanted: set[Key],
    answered: set[Key],
    predicted: Answer,
    gold_columns: Sequence[str],
    detail: Detail,
    width: int,
) -> set[Key]:
    """The rows of a prediction without its extra label columns; as they were where there are none to leave out.

    `answered` are its rows with all columns, `width` says how many columns the gold has.
    """
    by_name = [place for place in range(len(predicted.columns)) if _is_named_label(place, predicted, gold_columns)]
    rest = _without(predicted, by_name)
    if by_name and len(rest.columns) >= width:
        shown = best_column_order(wanted, rest, detail=detail)
        if overlap(wanted, shown).f1 >= overlap(wanted, answered).f1:
            answered = shown
    else:
        rest = predicted
    if answered == wanted or len(rest.columns) <= width:
        return answered
    by_value = [place for place in range(len(rest.columns)) if _holds_text(place, rest, gold_columns)]
    if not by_value or len(rest.columns) - len(by_value) != width:
        return answered
    shown = best_column_order(wanted, _without(rest, by_value), detail=detail)
    return shown if shown == wanted else answered


def _without(answer: Answer, places: Sequence[int]) -> Answer:
    return with_columns(answer, [place for place in range(len(answer.columns)) if place not in places])


def _is_named_label(place: int, answer: Answer, gold_columns: Sequence[str]) -> bool:
    name = answer.columns[place]
    named = _NAMED.fullmatch(name)
    return named is not None and name not in gold_columns and named[1] in answer.columns


def _holds_text(place: int, answer: Answer, gold_columns: Sequence[str]) -> bool:
    if answer.columns[place] in gold_columns:
        return False
    cells = [row[place] for row in answer.rows if row[place] is not None]
    return bool(cells) and all(
        isinstance(cell, Term) and cell.kind == "literal" and cell.datatype in _TEXT_TYPES for cell in cells
    )
