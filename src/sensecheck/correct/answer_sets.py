"""Comparing what two queries answer: sets of values, booleans, counts; and the conventions of the field.

Values are compared by value and kind: an IRI equals an IRI, a number equals a number however it is written, text
equals text. Precision and recall of nothing are a matter of convention, so each convention has its name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import Any, TypeAlias

from sensecheck.correct.column_orders import same_blocks
from sensecheck.language.answers import DETAILS, Detail
from sensecheck.language.sparql import Query
from sensecheck.language.sparql.results import is_json_term
from sensecheck.language.sparql.tree import RDF, XSD, Var
from sensecheck.stores import Answer, Term
from sensecheck.stores.outcomes import Cell

_NUMERIC_NAMES = """
integer decimal double float int long short byte nonNegativeInteger positiveInteger negativeInteger
nonPositiveInteger unsignedInt unsignedLong unsignedShort unsignedByte
"""
NUMERIC_TYPES = frozenset(XSD + name for name in _NUMERIC_NAMES.split())
TEXT_TYPES = frozenset(["", XSD + "string", RDF + "langString"])
_NONE: frozenset[float] = frozenset()
_MOST_STEPS = 500_000  # rows turned while orders of columns are tried: about a second
_MOST_STARTS = 100_000  # beginnings of such orders
_MOST_PICKS = 400_000  # row comparisons spent on the range of one score
_NUMBER = re.compile(r"[+-]?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:[eE][+-]?\d{1,3})?")

Key: TypeAlias = Hashable


def number_of(text: str) -> float | None:
    """The number that a text writes, or None."""
    bare = text.strip()  # of more kinds of blanks than `float` knows
    return float(bare) if _NUMBER.fullmatch(bare) else None


def number_key(text: str) -> float | None:
    """What a number is compared by: whole ones digit for digit (an ISBN has thirteen), others by twelve digits."""
    number = number_of(text)
    if number is None or not math.isfinite(number):
        return number
    exact = Decimal(text.strip())
    return int(exact) if exact == exact.to_integral_value() else float(f"{number:.12g}")


# ---- values


def least_detail(*answers: Answer) -> Detail:
    """What answers are compared by that do not all say as much of their values: what all of them say.

    >>> least_detail(Answer(), Answer(detail="plain"))
    'plain'
    """
    return max((answer.detail for answer in answers), key=DETAILS.index)


def texts_of_digits(*answers: Answer | None) -> frozenset[float]:
    """The numbers that are written in values of which some answer says that they are text ("007", a string).

    Where another answer says nothing of its values, what reads as one of these numbers is compared as text too: "7"
    is then not "007", though 7 and 7.0 are the same elsewhere.
    """
    numbers = set()
    for answer in answers:
        if answer is None or answer.detail != "full":
            continue
        for row in answer.rows:
            for cell in row:
                if isinstance(cell, Term) and cell.kind == "literal" and cell.datatype in TEXT_TYPES:
                    number = number_key(cell.value)
                    if number is not None:
                        numbers.add(number)
    return frozenset(numbers)


def value_key(cell: Cell, *, detail: Detail = "full", texts: Collection[float] = _NONE) -> Key:
    """What a cell is compared by. `bare`: answers are bare identifiers (Q42) or text, which say nothing of their kind,
    so IRIs shrink to their last part and every literal is its text. `plain`: IRIs are whole, the rest as before.
    `texts`: numbers that are compared as they are written (`texts_of_digits`)."""
    if detail != "full":
        if not isinstance(cell, Term):
            return listed_key(cell, texts)
        if detail == "plain":
            return bare_key(cell.value, texts) if cell.value else None
        return bare_key(cell.value.rsplit("/", 1)[-1] if cell.kind == "iri" else cell.value, texts)
    if isinstance(cell, Term):
        if cell.kind == "iri":
            return ("iri", cell.value)
        if cell.datatype in NUMERIC_TYPES:
            number = number_key(cell.value)
            if number is not None:
                return ("number", number)
        if cell.language:
            return ("text", cell.value, cell.language.lower())
        if cell.datatype == XSD + "boolean":
            return ("boolean", cell.value in ("true", "1"))
        if cell.datatype in ("", XSD + "string"):
            return ("text", cell.value, "")
        return ("typed", cell.value, cell.datatype)
    if isinstance(cell, bool):
        return ("boolean", cell)
    if isinstance(cell, float):
        return ("number", number_key(repr(cell)) or cell)
    return ("number", cell) if isinstance(cell, int) else cell


def bare_key(text: str, texts: Collection[float] = _NONE) -> Key:
    """The key of a gold answer that is only text: the counterpart of value_key for bare answers."""
    number = number_key(text)
    return ("number", number) if number is not None and number not in texts else text


def listed_key(value: Any, texts: Collection[float] = _NONE) -> Key:
    """The key of one gold answer as JSON has it: a value, a row of values (a list, or an object by column), or a
    term of SPARQL's own JSON. Nothing at all is None."""
    if isinstance(value, Mapping):
        # Names decide which value is in which column, and not the order in which a row has them.
        value = value["value"] if is_json_term(value) else [value[name] for name in sorted(value, key=str)]
    if isinstance(value, list | tuple):
        keys = [listed_key(part, texts) for part in value]
        if all(key is None for key in keys):
            return None
        return keys[0] if len(keys) == 1 else tuple(keys)
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    text = value if isinstance(value, str) else repr(value) if isinstance(value, int | float) else str(value)
    return bare_key(text.rsplit("/", 1)[-1] if text.startswith("http") else text, texts)


def row_set(answer: Answer, *, detail: Detail = "full", texts: Collection[float] = _NONE) -> set[Key]:
    """The rows as a set; a row of one value is that value, a row with nothing bound is left out.

    Such a row answers nothing: it is what an aggregate gives of no rows at all (`SELECT (MAX(?x) AS ?m)`), where
    another query for the same thing gives no row.

    Several columns make a tuple whose order of columns is kept: `columns_permuted` tries the others.
    """
    rows: set[Key] = set()
    for row in answer.rows:
        keys = [value_key(cell, detail=detail, texts=texts) for cell in row]
        if all(key is None for key in keys):
            continue
        rows.add(keys[0] if len(keys) == 1 else tuple(keys))
    return rows


def best_column_order(
    wanted: set[Key], predicted: Answer, *, detail: Detail = "full", texts: Collection[float] = _NONE
) -> set[Key]:
    """The predicted rows under the order of columns that has most in common with the gold's.

    Whether some order makes the sets equal is always decided, or OverBudgetError raised; of sets that differ under
    every order, the best of the orders tried is taken.
    """
    shown = row_set(predicted, detail=detail, texts=texts)
    width = len(predicted.columns)
    golds = [row for row in wanted if isinstance(row, tuple) and len(row) == width]
    if width < 2 or wanted == shown or not golds:
        return shown
    rows = [row for row in shown if isinstance(row, tuple)]
    if not rows:
        return shown
    if len(rows) == len(golds) == len(wanted) and same_blocks(golds, rows):
        return wanted
    best = shown
    most = len(wanted & shown)
    for order in islice(_orders(golds, rows), _MOST_STEPS // len(rows) + 1):
        turned: set[Key] = {tuple([row[i] for i in order]) for row in rows}
        common = len(wanted & turned)
        if common > most:
            best, most = turned, common
    return best


def _orders(golds: Sequence[tuple[Key, ...]], rows: Sequence[tuple[Key, ...]]) -> Iterator[list[int]]:
    """Orders of the columns under which some rows may be gold rows: each column shares a value with its gold column.
    Columns that share most come first; of very many orders, the first are given."""
    columns = [set(column) for column in zip(*rows, strict=True)]
    fitting: list[list[int]] = []
    for gold in zip(*golds, strict=True):
        shared = [len(values.intersection(gold)) for values in columns]
        fitting.append(sorted([j for j, count in enumerate(shared) if count], key=shared.__getitem__, reverse=True))
    starts = 0

    def orders(chosen: list[int]) -> Iterator[list[int]]:
        nonlocal starts
        starts += 1
        if len(chosen) == len(fitting):
            yield chosen
            return
        for j in fitting[len(chosen)]:
            if j not in chosen and starts < _MOST_STARTS:
                yield from orders([*chosen, j])

    return orders([])


# ---- sets


@dataclass(slots=True, frozen=True)
class Overlap:
    """How two sets of answers meet. `precision_qald` differs where nothing was answered."""

    tp: int
    fp: int
    fn: int

    @property
    def vacuous(self) -> bool:
        return not (self.tp or self.fp or self.fn)

    @property
    def precision(self) -> float:
        if self.tp + self.fp:
            return self.tp / (self.tp + self.fp)
        return 1.0 if self.vacuous else 0.0

    @property
    def recall(self) -> float:
        if self.tp + self.fn:
            return self.tp / (self.tp + self.fn)
        return 1.0 if self.vacuous else 0.0

    @property
    def f1(self) -> float:
        """GERBIL's rule and ours: nothing asked and nothing answered is right."""
        if self.vacuous:
            return 1.0
        return 2 * self.tp / (2 * self.tp + self.fp + self.fn)

    @property
    def precision_qald(self) -> float:
        """QALD: no answer to a question that has one is precise, but recalls nothing."""
        return 1.0 if not self.tp + self.fp else self.precision

    @property
    def f1_spice(self) -> float:
        """SPICE: nothing against nothing is 0."""
        return 0.0 if self.vacuous else self.f1

    @property
    def jaccard(self) -> float:
        return 1.0 if self.vacuous else self.tp / (self.tp + self.fp + self.fn)


def overlap(gold: set[Key], predicted: set[Key]) -> Overlap:
    common = len(gold & predicted)
    return Overlap(common, len(predicted) - common, len(gold) - common)


# ---- counts and booleans

_VERDICTS = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(slots=True, frozen=True)
class Counted:
    """The number that an answer gives. `from_rows`: it gave rows, not a number, and those were counted."""

    value: float | None
    from_rows: bool = False


def count_of(answer: Answer) -> Counted:
    """One row of one number is that number; other rows are counted once each; a boolean is no number."""
    if answer.boolean is not None:
        return Counted(None)
    if len(answer.rows) == 1 and len(answer.rows[0]) == 1:
        cell = answer.rows[0][0]
        if isinstance(cell, Term) and cell.kind == "literal":
            number = number_of(cell.value)
            if number is not None:
                return Counted(number)
        elif isinstance(cell, str):
            number = number_of(cell)
            if number is not None:
                return Counted(number)
        elif isinstance(cell, int | float):
            return Counted(float(cell))
    return Counted(float(len(row_set(answer, detail=answer.detail))), from_rows=True)


def verdict_of(answer: Answer) -> bool | None:
    """Yes or no: of ASK, or of a SELECT that returns one boolean."""
    if answer.boolean is not None:
        return answer.boolean
    if len(answer.rows) == 1 and len(answer.rows[0]) == 1:
        cell = answer.rows[0][0]
        if isinstance(cell, Term) and cell.datatype == XSD + "boolean":
            return cell.value in ("true", "1")
        if answer.detail != "full":
            # Of a value that says nothing of its kind, the word must do.
            return _VERDICTS.get(str(cell.value if isinstance(cell, Term) else cell).strip().lower())
    return None


# ---- TEXT2SPARQL: one flat set of values


def flat_values(answer: Answer) -> set[str]:
    """Every value of every variable of every row in one set; an ASK is the one value `true`, whatever it says."""
    if answer.boolean is not None:
        return {"true"}
    return {text for row in answer.rows for text in _values_of(row)}


def flat_relevant(answer: Answer) -> set[str]:
    """The gold side: an ASK that is false has nothing relevant, so nothing can score."""
    return set() if answer.boolean is False else flat_values(answer)


def set_f(relevant: set[str], retrieved: set[str]) -> float:
    """The official measure of TEXT2SPARQL'25: no credit for an empty gold, none for an empty answer."""
    common = len(relevant & retrieved)
    return 2 * common / (len(relevant) + len(retrieved)) if common else 0.0


@dataclass(slots=True, frozen=True)
class SetF:
    """A score and, where LIMIT cuts rows that no ORDER BY tells apart, the range of scores it may take.

    The range is None where it cannot be known: the rows are sorted by what they do not show.
    """

    value: float
    low: float | None
    high: float | None

    @property
    def open(self) -> bool:
        """Whether another choice among the tied rows has another score."""
        return self.low is not None and self.high is not None and self.high - self.low > 1e-9


def set_f_range(relevant: set[str], predicted: Answer, query: Query | None = None, uncut: Answer | None = None) -> SetF:
    """Set-F of an answer. `uncut` is the answer to the same query without its LIMIT and OFFSET.

    Which rows a server shows of those that tie at the cut is its own affair, so an official score may be any of
    several. The ends of the range are scores that some choice of rows does have.
    """
    value = set_f(relevant, flat_values(predicted))
    if query is None or (query.limit is None and not query.offset):
        return SetF(value, value, value)
    if uncut is None or uncut.boolean is not None:
        return SetF(value, None, None)
    start, shown = query.offset, len(predicted.rows)
    if shown == 0 or len(uncut.rows) <= shown:
        return SetF(value, value, value)
    keys = _sort_keys(query, uncut)
    if keys is None:
        return SetF(value, None, None)
    fixed: list[set[str]] = []
    loose: list[tuple[list[set[str]], int]] = []  # rows that tie, and how many of them are shown
    position = 0
    while position < len(uncut.rows):
        end = position + 1
        while end < len(uncut.rows) and keys[end] == keys[position]:
            end += 1
        inside = max(0, min(end, start + shown) - max(position, start))
        block = [_values_of(row) for row in uncut.rows[position:end]]
        if inside == len(block):
            fixed += block
        elif inside:
            loose.append((block, inside))
        position = end
    scores = [value]
    for greedy in (True, False):
        chosen: set[str] = set().union(*fixed) if fixed else set()
        for block, count in loose:
            chosen = _pick(block, count, relevant, chosen, greedy)
        scores.append(set_f(relevant, chosen))
    return SetF(value, min(scores), max(scores))


def _values_of(row: Sequence[Cell]) -> set[str]:
    return {cell.value if isinstance(cell, Term) else str(cell) for cell in row if cell is not None}


def _pick(block: list[set[str]], count: int, relevant: set[str], chosen: set[str], best: bool) -> set[str]:
    """Add `count` rows of the block, the most (or least) rewarding first."""

    def worth(row: set[str]) -> tuple[int, int]:
        fresh = row - chosen
        return len(fresh & relevant), -len(fresh - relevant)

    if count * len(block) > _MOST_PICKS:
        rows = sorted(block, key=worth, reverse=best)
        return chosen.union(*rows[:count])
    left = list(block)
    chosen = set(chosen)
    for _ in range(count):
        row = max(left, key=worth) if best else min(left, key=worth)
        left.remove(row)
        chosen |= row
    return chosen


def _sort_keys(query: Query, answer: Answer) -> list[tuple[Cell, ...]] | None:
    """The sort key of each row, where the keys are columns; rows of an unsorted query all have the same."""
    places: list[int] = []
    for key in query.order_by:
        if not isinstance(key.expression, Var) or key.expression.name not in answer.columns:
            return None
        places.append(answer.columns.index(key.expression.name))
    return [tuple([row[place] for place in places]) for row in answer.rows]
