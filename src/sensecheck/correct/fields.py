"""What a record may hold: the names of its fields, and every rule about them, once.

Rules are checked column by column over many rows, since it costs a fraction of what going record by record does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

import polars as pl

from sensecheck.correct.given import (
    Given,
    is_query_text,
    parsed_text,
    predicted_answer,
    several_answers,
    wanted_columns,
)
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import MARKS
from sensecheck.language.answers import Answer

# Our name → the names it is known by in files, the first that is there wins.
NAMES: dict[str, tuple[str, ...]] = {
    "id": ("id", "qname", "question_id", "turnID", "instance_id", "_id", "custom_id"),
    "prediction": (
        "prediction",
        "predicted",
        "actions",
        "pred",
        "predicted_query",
        "generated_query",
        "predicted_sql",
        "pred_sql",
        "generated_sql",
        "predicted_sparql",
        "generated_sparql",
        "generated",
        "output",
        "response",
        "completion",
        "model_output",
        "generation",
    ),
    "gold": (
        "gold",
        "sparql_delex",
        "gold_query",
        "gold_sparql",
        "gold_sql",
        "golden",
        "query",
        "sql",
        "sparql",
        "sparql_query",
    ),
    "question_type": ("question_type", "type"),
    "subtype": ("description", "subtype", "sub_type"),
    "question": ("question", "spidersynquestion", "utterance", "nl", "nlq", "corrected_question"),
    "answer": ("answer",),
    "results": ("results", "gold_answers", "answers"),
    "turn": ("turnID", "turn_id", "turn"),
    "distance": ("distance", "context_distance"),
    "database": ("database", "gold_db_id", "db_id", "db", "db_name"),
    "conversation": ("conversation", "conversation_id", "dialogue"),
    "predicted_answers": ("predicted_answers", "predicted_results", "pred_answers"),
    "condition_cols": ("condition_cols",),
    "ignore_order": ("ignore_order",),
}
PLACES = {ours: place for place, ours in enumerate(NAMES)}
PREDICTED = {
    "prediction": (*NAMES["prediction"], *NAMES["gold"]),
    "predicted_answers": (*NAMES["predicted_answers"], *NAMES["results"]),
}
"""What only predictions bring where golds stand in another file: there, a field `query` is what was predicted."""
DECIDED = [
    NAMES[name] for name in ("gold", "answer", "results", "database", "conversation", "question_type", "subtype")
]
"""What golds decide where they stand in another file, whatever predictions say."""

Rows = Sequence[Any] | pl.DataFrame
"""Rows as they come: dictionaries, with an error in the place of one that could not be read; or a table."""
Names = Sequence[int | str]
"""What records are called that have no id."""
FieldNames = tuple[str | None, ...]
"""The fields that hold what NAMES lists, in its order; None for what a record does not have."""

_NOTHING = type(None)
_TEXT = {str, _NOTHING}
_LISTED = {list, dict, str, Answer, _NOTHING}
_SEVERAL: set[type] = {list, dict}
_GIVEN: set[type] = {list, dict, Answer}


class SeveralGolds(str):
    """Gold queries that a record lists, any of which is right, as one text."""

    queries: tuple[str, ...]

    @classmethod
    def of(cls, queries: Sequence[str]) -> SeveralGolds:
        golds = cls(";\n".join(queries))
        golds.queries = tuple(queries)
        return golds


class Piece(NamedTuple):
    """Rows of one input, one after the other."""

    rows: Rows
    path: str
    first: int
    """The place of the first of them in its input."""
    names: Names
    """What each is called that has no id: the number of its record over all inputs."""

    def part(self, start: int, stop: int) -> Piece:
        return Piece(self.rows[start:stop], self.path, self.first + start, self.names[start:stop])


def fields_of(rows: Rows) -> list[str]:
    """The names of all fields of some rows."""
    if isinstance(rows, pl.DataFrame):
        return rows.columns
    return list(dict.fromkeys(name for row in rows if isinstance(row, Mapping) for name in row))


class Column(NamedTuple):
    """The values of a field, one for each row, and their types, which are looked at once."""

    values: list[Any]
    kinds: set[type]

    @classmethod
    def of(cls, values: list[Any]) -> Column:
        return cls(values, set(map(type, values)))

    def spelled(self, nothing: str = "") -> list[str]:
        """As text; `nothing` stands for None."""
        if self.kinds == {str}:
            return self.values
        if self.kinds == {_NOTHING}:
            return [nothing] * len(self.values)
        return [nothing if value is None else str(value) for value in self.values]


_EXPECTED = {
    "condition_cols": "the numbers of columns, or a list of them for each gold", "ignore_order": "true or false",
}  # fmt: skip


def _listed(value: Any) -> Any:
    """A gold answer as a list: of values, or of tables or results."""
    parsed = parsed_text(value)
    return parsed if isinstance(parsed, list) else [parsed]


def _may_be_whole(value: Any) -> bool:
    """Whether gold answers may be tables or results: a look at the first is enough for almost all."""
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], dict | Answer)


def _mark(value: Any) -> bool | None:
    """A mark as true or false; nothing where it is not given. ValueError for what is neither."""
    if value is None:
        return None
    word = str(value).strip().lower()
    if not isinstance(value, str | bool | int | float) or word not in MARKS:
        raise ValueError(shown(value, 60))
    return MARKS[word]


def _listed_golds(listed: list[Any]) -> Any:
    """The one text of a list, or all of them; a list of anything else as it is."""
    if not listed or set(map(type, listed)) != {str}:
        return listed
    return listed[0] if len(listed) == 1 else SeveralGolds.of(listed)


@lru_cache(maxsize=256)
def _told(wanted: str, fields: tuple[str, ...]) -> tuple[str, str]:
    """The fields that are there, and the one that may have been meant: the same for thousands of records."""
    return ", ".join(shown(name, 30) for name in fields[:12]), did_you_mean(wanted, fields)


class Fields:
    """The fields of some rows by our names. Each method gives a column, and notes rows that break its rule."""

    def __init__(self, piece: Piece, names_of: Callable[[tuple[str, ...]], FieldNames]) -> None:
        self.piece = piece
        self.faults: dict[int, InputError] = {}
        """Row (from 0) → what is wrong with it: of several things, the first that was looked at."""
        self.predicted: dict[int, Any] = {}
        """Row → the prediction that is an answer, not a query."""
        self.rows = piece.rows
        self.alike = True
        if isinstance(self.rows, pl.DataFrame):
            self.names = [names_of(tuple(self.rows.columns))] * len(self.rows)
        elif set(map(type, self.rows)) == {dict} and len(set(map(tuple, self.rows))) == 1:
            self.names = [names_of(tuple(self.rows[0]))] * len(self.rows)
        else:
            self.alike = False
            self.rows = [self._mapping(row, value) for row, value in enumerate(self.rows)]
            self.names = [names_of(tuple(row)) for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    def record_name(self, row: int) -> str:
        """What a record is called that has no id."""
        return str(self.piece.names[row])

    # ---- columns

    def ids(self) -> list[str]:
        ids = self.labels("id")
        if _NOTHING not in ids.kinds:
            return ids.spelled()
        return [self.record_name(row) if value is None else str(value) for row, value in enumerate(ids.values)]

    def predictions(self, called: str | None) -> Column:
        """The predictions: a record may have none, but not without a field for it."""
        wanted = called or NAMES["prediction"][0]
        answered = self._column("predicted_answers")
        self.predicted = {row: value for row, value in enumerate(answered.values) if value is not None}
        with_answers = self._rows_without("predicted_answers")
        for row in self._rows_without("prediction"):
            if row not in with_answers:
                continue  # it has a field for the predicted answer
            there, nearest = _told(wanted, tuple(self._fields(row)))
            self._refuse(
                row, field=wanted, expected="a field for the prediction",
                got=f"the fields {there}" if there else "no field at all",
                hint=nearest or "Name it with --columns prediction=COLUMN (columns=); golds in another file: --gold.",
                reason=Reason.NO_PREDICTION_FIELD,
            )  # fmt: skip
        return self._queries()

    def _queries(self) -> Column:
        """The predictions that are queries. One that is results, a table or a list is an answer already."""
        column = self._column("prediction")
        if not column.kinds & _GIVEN:
            self._refuse_kinds("prediction", column, column.kinds - _TEXT, "text")
            return column
        queries: list[Any] = []
        for row, value in enumerate(column.values):
            if type(value) in _GIVEN:
                if isinstance(value, list) and any(map(is_query_text, value)):
                    self._refuse_value(row, self.names[row][PLACES["prediction"]], "one query", value)
                else:
                    self.predicted.setdefault(row, value)
                value = None
            queries.append(value)
        column = Column.of(queries)
        self._refuse_kinds("prediction", column, column.kinds - _TEXT, "text")
        return column

    def texts(self, ours: str) -> Column:
        """Texts, or None. The type of a question may be the one item of a list."""
        column = self._column(ours)
        if ours == "question_type" and list in column.kinds:
            column = Column.of([(v[0] if v else "") if type(v) is list else v for v in column.values])
        self._refuse_kinds(ours, column, column.kinds - _TEXT, "text")
        return column

    def golds(self) -> Column:
        """Gold queries, or None; several of one question may come as a list."""
        column = self._column("gold")
        if list in column.kinds:
            values = [_listed_golds(value) if type(value) is list else value for value in column.values]
            column = Column.of(values)
        self._refuse_kinds("gold", column, column.kinds - _TEXT - {SeveralGolds}, "text")
        return column

    def labels(self, ours: str) -> Column:
        """Texts or numbers, or None."""
        column = self._column(ours)
        self._refuse_kinds(ours, column, column.kinds & _SEVERAL, "text or a number")
        return column

    def answers(self) -> tuple[list[Any], list[Any]]:
        """The answers and the lists of results; an answer that is a list is the results."""
        (answers, kinds), results = self._column("answer"), self._column("results")
        if list in kinds:
            for row, (answer, listed) in enumerate(zip(answers, results.values, strict=True)):
                if type(answer) is list and listed is None:
                    answers[row], results.values[row] = None, answer
        self._refuse_kinds("results", results, results.kinds - _LISTED, "a list of answers")
        if results.kinds - {list, _NOTHING}:
            return answers, [value if value is None else _listed(value) for value in results.values]
        return answers, results.values

    def given(self, results: list[Any]) -> list[Given | None]:
        """What each record brings as answers: a prediction, golds that are tables or results. These golds are taken
        out of `results`, where values are left."""
        golds = {row: value for row, value in enumerate(results) if _may_be_whole(value)}
        found: list[Given | None] = [None] * len(self)
        if not golds and not self.predicted:
            return found
        wanted, order = self._column("condition_cols"), self._column("ignore_order")
        for row in sorted({*golds, *self.predicted}):
            names = self.names[row]
            field, value = names[PLACES["predicted_answers"]] or names[PLACES["prediction"]], self.predicted.get(row)
            try:
                predicted = predicted_answer(value)
                field, value = names[PLACES["results"]] or names[PLACES["answer"]], golds.get(row)
                allowed = several_answers(value) or ()
                field, value = names[PLACES["condition_cols"]], wanted.values[row]
                columns = wanted_columns(value, allowed) if allowed else ()
                field, value = names[PLACES["ignore_order"]], order.values[row]
                ignored = _mark(value)
            except ValueError as error:
                self._refuse(
                    row, field=field,
                    expected=_EXPECTED.get(field or "", "an answer: values, rows, a table or results"),
                    got=str(error), hint="Fix the record or pass --skip-bad (skip_bad=True) to count it as unscored.",
                    reason=Reason.OTHER_KIND,
                )  # fmt: skip
                continue
            if allowed:
                results[row] = None
            found[row] = Given(predicted, allowed, columns, ignored)
        return found

    def require_gold(self, golds: Column, answers: list[Any], results: list[Any]) -> None:
        """Every record has something to be measured by."""
        if _NOTHING not in golds.kinds:
            return
        looked_for = ", ".join(NAMES["gold"][:4])
        for row, (gold, answer, listed) in enumerate(zip(golds.values, answers, results, strict=True)):
            if gold is None and answer is None and listed is None:
                self._refuse(
                    row, expected="a gold query or a gold answer", got="neither",
                    hint=f"Looked for {looked_for}, …; name it with --columns gold=COLUMN (columns=), or give the file "
                    "that has them: --gold FILE (gold=). Without golds, a language model can judge: --judge URL#name.",
                    reason=Reason.NO_GOLD,
                )  # fmt: skip

    def conversations(self, named: Column, turns: list[str]) -> list[str]:
        """What a field says, or without such a field the turn less its number."""
        unnamed = self._rows_without("conversation")
        if len(unnamed) == len(turns):
            # `test#QA_81#QA_16#2` is turn 2 of a conversation; its turns are resampled together.
            return [turn.rpartition("#")[0] for turn in turns]
        conversations = named.spelled()
        for row in unnamed:
            conversations[row] = turns[row].rpartition("#")[0]
        return conversations

    def others(self, name: str, *, required: bool = True) -> list[str]:
        """A field of the input's own, which a slice, a cluster or a weight needs, as text."""
        if self.alike and name in self._fields(0):
            return Column.of(self._field(name)).spelled()
        values = []
        for row in range(len(self)):
            fields = self._fields(row)
            values.append(self.rows[row][name] if name in fields else None)
            if required and name not in fields:
                there, nearest = _told(name, tuple(fields))
                error = InputError(
                    field=name, expected="a column of that name to slice by", got=f"the columns {there}", hint=nearest,
                    reason=Reason.UNKNOWN_COLUMN,
                )  # fmt: skip
                self.faults.setdefault(row, error)
        return Column.of(values).spelled()

    # ---- where values lie

    def _mapping(self, row: int, value: Any) -> Mapping[str, Any]:
        if isinstance(value, Mapping):
            return value
        if isinstance(value, InputError):
            self.faults[row] = value
        else:
            self._refuse_value(row, None, "an object", value)
        return {}

    def _column(self, ours: str) -> Column:
        place = PLACES[ours]
        if not self.alike:
            pairs = zip(self.rows, self.names, strict=True)
            return Column.of([None if names[place] is None else row[names[place]] for row, names in pairs])
        name = self.names[0][place]
        return Column([None] * len(self), {_NOTHING}) if name is None else Column.of(self._field(name))

    def _field(self, name: str) -> list[Any]:
        if isinstance(self.rows, pl.DataFrame):
            return self.rows[name].to_list()
        return list(map(itemgetter(name), self.rows))

    def _fields(self, row: int) -> list[str]:
        return self.rows.columns if isinstance(self.rows, pl.DataFrame) else list(self.rows[row])

    def _rows_without(self, ours: str) -> Sequence[int]:
        place = PLACES[ours]
        if self.alike:
            return range(len(self)) if self.names[0][place] is None else ()
        return [row for row, names in enumerate(self.names) if names[place] is None]

    # ---- what is wrong

    def _refuse(self, row: int, **parts: Any) -> None:
        number = self.piece.first + row
        self.faults.setdefault(row, InputError(path=self.piece.path or None, record=number, **parts))

    def _refuse_value(self, row: int, name: str | None, expected: str, got: object) -> None:
        self._refuse(
            row, field=name, expected=expected, got=shown(got, 60),
            hint="Fix the record or pass --skip-bad (skip_bad=True) to count it as unscored.",
            reason=Reason.OTHER_KIND,
        )  # fmt: skip

    def _refuse_kinds(self, ours: str, column: Column, wrong: set[type], expected: str) -> None:
        for row, value in enumerate(column.values if wrong else ()):
            if type(value) in wrong:
                self._refuse_value(row, self.names[row][PLACES[ours]], expected, value)
