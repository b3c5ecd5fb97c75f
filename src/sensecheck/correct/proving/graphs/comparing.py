"""Whether two queries answer the same on a graph, by the comparison of `correct` (`measure.score_sparql`).

Kept apart from it: a worker loads no tables.
"""

from __future__ import annotations

from typing import NamedTuple

from sensecheck.correct.answer_sets import best_column_order, count_of, number_of, row_set, verdict_of
from sensecheck.correct.label_columns import without_label_columns
from sensecheck.language.answers import Answer, Term


class Comparison(NamedTuple):
    """What is asked for, and whether further columns of labels are let pass."""

    kind: str = ""
    """`boolean`, `count` or `set`; nothing: as the gold answers."""
    ignore_labels: bool = False

    def same(self, gold: Answer, predicted: Answer) -> bool:
        if self.kind == "boolean" or gold.boolean is not None:
            wanted = verdict_of(gold)
            return wanted is None or verdict_of(predicted) is wanted  # a gold that is no yes or no decides nothing
        if self.kind == "count":
            number, shown = count_of(gold).value, count_of(predicted).value
            return number is None or (shown is not None and abs(shown - number) <= 1e-9 * abs(number))
        if predicted.boolean is not None:
            return False
        rows = row_set(gold)
        answered = best_column_order(rows, predicted)
        if self.ignore_labels and answered != rows:
            answered = without_label_columns(rows, answered, predicted, gold.columns, "full", len(gold.columns) or 1)
        return answered == rows


def says_nothing(answer: Answer) -> bool:
    """Whether an answer is a no, empty, or counts nothing."""
    if answer.boolean is not None:
        return not answer.boolean
    return all(
        cell is None or (isinstance(cell, Term) and cell.kind == "literal" and number_of(cell.value) == 0)
        for row in answer.rows for cell in row
    )  # fmt: skip
