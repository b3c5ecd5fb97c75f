"""Whole distributions: is every class's probability the rate at which that class is the right one?

A table may give `probabilities` (a list, an array, or an object from class to probability) with the gold `label` in the
place of confidence and correct; of a binary classifier, the `probability` of the second class is enough. The top class
then gives these two, and classwise ECE and the scores of whole distributions look at all classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch, kind_and_value
from sensecheck.statistics.binning import bin_index
from sensecheck.statistics.measurements import Measurements
from sensecheck.statistics.statistic import ONE, Explanation, RowStatistic, Statistic, mean_of, ratio

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

NAMES = ("probabilities", "probs", "distribution")
OUTPUT_NAMES = ("predictions", "logits", "scores", "softmax", "y_prob", "y_pred", "y_score")
"""What programs call the same, or what it is made from: one of these, where none of the above is there."""
LABEL_NAMES = (
    "label", "gold", "target", "gold_label", "labels", "label_ids", "y", "y_true", "targets", "references",
)  # fmt: skip
PROBABILITY = "probability"
"""How --columns calls a binary classifier's probability of the second class."""
GOLD = "gold_class"
PREFIX = "p:"
"""Before the name of a class, in the measurements."""
_MOST_CLASSES = 200
_SLACK = 0.02  # how far half precision may put the sum of a distribution from 1
_LOG_SLACK = 0.03  # the same of its logarithms, whose error grows with their size
_TOO_LOW = -1e-6
_BAD_NUMBERS = "probabilities missing or unreadable"
_BAD_LABEL = "label missing or unknown"
_NO_NUMBERS = "no probabilities"
_NO_LABEL = "no gold class"
_FORCED = "Say what they are with --scale (scale=): probabilities, logits or logprobs."


def distribution_column(batch: TableBatch, renamed: Mapping[str, str], *, outputs: bool) -> str | None:
    """The column that holds distributions, where there is one; `outputs`: by the names of programs, too."""
    schema = batch.frame.schema
    there = [name for name, kind in schema.items() if isinstance(kind, pl.List | pl.Struct | pl.Array)]
    for name in (renamed.get("probabilities"), *NAMES):
        if name in there:
            return name
    found = [name for name in OUTPUT_NAMES if outputs and name in there and _holds_numbers(schema[name])]
    if len(found) > 1:
        listed = ", ".join(f"{name} ({_width_of(schema[name])})" for name in found)
        raise InputError(
            f"several columns may hold the probabilities: {listed}", path=batch.path or None,
            hint=f"Say which one does: --columns probabilities={found[0]} (columns=).", reason=Reason.AMBIGUOUS_FORMAT,
        )  # fmt: skip
    return found[0] if found else None


def _holds_numbers(kind: pl.DataType) -> bool:
    if isinstance(kind, pl.Struct):
        return all(field.dtype.is_numeric() for field in kind.fields)
    return isinstance(kind, pl.List | pl.Array) and kind.inner.is_numeric()


def _width_of(kind: pl.DataType) -> str:
    return f"{kind.size} numbers a row" if isinstance(kind, pl.Array) else "numbers"


@dataclass(frozen=True)
class Told:
    """What the user says of distributions."""

    scale: str = "auto"
    classes: tuple[str, ...] | None = None
    skip_bad: bool = False
    may_lack: bool = False
    """Whether rows may lack probabilities or a label without a fault, as in logs of hosts."""


class Distributions:
    """Reads the distributions of an input, batch after batch; what they are is decided once for a file."""

    def __init__(self, told: Told, renamed: Mapping[str, str]) -> None:
        self.told, self.renamed = told, renamed
        self.classes: list[str] | None = None
        self.scales: dict[str, str] = {}
        self._columns: set[str] = set()
        self._tied = 0

    def is_binary(self) -> bool:
        """Whether a column was named as the probability of the second class."""
        return PROBABILITY in self.renamed

    def unpacked(self, batch: TableBatch, name: str) -> tuple[pl.DataFrame, pl.Series]:
        """confidence, correct, the gold class and every class's probability; and why a row cannot be scored."""
        frame = batch.frame
        label = _label_column(batch)
        if isinstance(frame.schema[name], pl.Array) and "label" not in self.renamed:
            _refuse_other_labels(batch, label)
        lacking = pl.select(
            pl.when(_lacks(frame[name])).then(pl.lit(_NO_NUMBERS if self.told.may_lack else _BAD_NUMBERS))
            .when(frame[label].is_null()).then(pl.lit(_NO_LABEL if self.told.may_lack else _BAD_LABEL))
            .alias("reason")
        ).to_series()  # fmt: skip
        lenient = self.told.may_lack or self.told.skip_bad
        if not lenient or not lacking.is_not_null().any() or lacking.null_count() == 0:
            return self._unpacked(batch, name, label)
        kept, at = replace(batch, frame=frame.filter(lacking.is_null())), lacking.is_null().arg_true()
        whole, reason = self._unpacked(kept, name, label)
        rows = pl.DataFrame({"row": pl.int_range(0, len(frame), dtype=pl.UInt32, eager=True)})
        whole = rows.join(whole.with_columns(reason, at.alias("row")), on="row", how="left", maintain_order="left")
        return whole.drop("row", "reason"), whole["reason"].fill_null(lacking)

    def _unpacked(self, batch: TableBatch, name: str, label: str) -> tuple[pl.DataFrame, pl.Series]:
        if self.is_binary():
            table, found = self._of_second_class(batch, name)
        else:
            table, found = self._numbers(batch, name)
        names = self._named(batch, name, found, struct=isinstance(batch.frame.schema[name], pl.Struct))
        table = table[:, [found.index(c) for c in names]] if found != names else table
        table, broken = self._as_probabilities(batch, name, table)
        gold, unknown = self._golds(batch, label, names, isinstance(batch.frame.schema[name], pl.Struct))
        best = table.argmax(axis=1) if len(table) else np.zeros(0, dtype=np.intp)
        bad = broken | unknown
        if len(table):
            tops = table == table[np.arange(len(table)), best][:, None]
            self._tied += int(((tops.sum(axis=1) > 1) & ~bad).sum())
        columns = {
            "confidence": _absent(table[np.arange(len(table)), best], bad),
            "correct": _absent(best == gold, bad),
            GOLD: _absent(gold.astype(np.int64), bad),
            **{PREFIX + c: _absent(table[:, i], bad) for i, c in enumerate(names)},
        }
        why = pl.Series("reason", [None], dtype=pl.String).new_from_index(0, len(table))
        if bad.any():
            why = _absent(np.where(broken, _BAD_NUMBERS, _BAD_LABEL), ~bad).alias("reason")
        return pl.DataFrame(columns), why

    def remarks(self) -> list[str]:
        return [*self._of_scale(), *self._of_ties()]

    def _of_ties(self) -> list[str]:
        if not self._tied:
            return []
        have = "row has" if self._tied == 1 else "rows have"
        return [f"{self._tied:,} {have} several likeliest classes: of these the first counts as the answer"]

    def _of_scale(self) -> list[str]:
        if "logits(softmax)" in self.scales.values() and self.told.scale == "auto":
            names = ", ".join(sorted(self._columns))
            return [f"the numbers of {names} are logits: their softmax is measured (--scale says what they are)"]
        if "logits(sigmoid)" in self.scales.values() and self.told.scale == "auto":
            return ["the numbers are log-odds of the second class: their sigmoid is measured (--scale)"]
        return []

    # -- the numbers -----------------------------------------------------------------------------------------

    def _numbers(self, batch: TableBatch, name: str) -> tuple[Floats, list[str]]:
        """The numbers of a column, a row each, and what its parts are called; what is no number is NaN."""
        column = batch.frame[name]
        if isinstance(column.dtype, pl.Struct):
            found = [f.name for f in column.dtype.fields]
            if not found:
                raise batch.error(
                    0, field=name, expected="a probability for every class", got="an empty object",
                    reason=Reason.BAD_DISTRIBUTION,
                )  # fmt: skip
            parts = column.struct.unnest()
            _refuse_nested(batch, name, parts.dtypes)
            return parts.select([pl.col(c).cast(pl.Float64, strict=False) for c in found]).to_numpy(), found
        if isinstance(column.dtype, pl.Array) and column.dtype.inner.is_numeric() and not column.null_count():
            width = column.dtype.size
            flat = column.explode() if len(column) else pl.Series([], dtype=pl.Float64)
            table = np.asarray(flat.cast(pl.Float64).to_numpy()).reshape(-1, width)
        else:
            if isinstance(column.dtype, pl.Array):
                column = column.arr.to_list()
            _refuse_nested(batch, name, [column.explode().dtype])
            width = self._width(batch, name, column)
            table = np.asarray(column.explode().cast(pl.Float64, strict=False).to_numpy()).reshape(-1, width)
        return table, [str(i) for i in range(width)]

    def _width(self, batch: TableBatch, name: str, column: pl.Series) -> int:
        lengths = column.list.len()
        width = int(lengths.max() or 0)  # type: ignore[arg-type]
        row = int((lengths != width).fill_null(True).arg_max() or 0)
        if (lengths != width).fill_null(True).any():
            raise batch.error(
                row, field=name, expected=f"{width} probabilities, as in other rows", got=kind_and_value(column[row]),
                reason=Reason.BAD_DISTRIBUTION,
            )  # fmt: skip
        if not width:
            raise batch.error(
                0, field=name, expected="a probability for every class", got="an empty list",
                reason=Reason.BAD_DISTRIBUTION,
            )  # fmt: skip
        return width

    def _of_second_class(self, batch: TableBatch, name: str) -> tuple[Floats, list[str]]:
        """Both classes from the probability of the second, of its logarithm or its log-odds."""
        column = batch.frame[name]
        if not (column.dtype.is_numeric() or column.dtype == pl.String):
            raise batch.error(
                0, field=name, expected="one number a row, the probability of the second class",
                got=kind_and_value(column[0]), hint="A row of numbers, one for each class, is probabilities=.",
                reason=Reason.BAD_DISTRIBUTION,
            )  # fmt: skip
        p = column.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        scale = self.scales.get(batch.path)
        if scale is None:
            scale = self.told.scale if self.told.scale != "auto" else _scale_of_one(p)
            scale = "logits(sigmoid)" if scale == "logits" else scale
            self.scales[batch.path] = scale
        if scale == "logits(sigmoid)":
            with np.errstate(over="ignore"):
                p = np.where(np.isnan(p), np.nan, 1 / (1 + np.exp(-p)))
        elif scale == "logprobs":
            p = np.where(p <= 1e-6, np.exp(np.minimum(p, 0.0)), np.nan)
        return np.stack([1 - p, p], axis=1), ["0", "1"]

    def _as_probabilities(self, batch: TableBatch, name: str, table: Floats) -> tuple[Floats, Marks]:
        """The rows as probabilities, and which are none (where bad ones are skipped)."""
        scale = self.scales.get(batch.path)
        if scale is None:
            scale = self.told.scale if self.told.scale != "auto" else _scale_of(batch, name, table)
            scale = "logits(softmax)" if scale == "logits" else scale
            self.scales[batch.path] = scale
        self._columns.add(name)
        given = table
        if not self.is_binary():
            if scale != "probabilities" and table.shape[1] == 1:
                raise _one_column(batch, name)
            if scale == "logits(softmax)":
                table = _softmax(table)
            elif scale == "logprobs":
                table = np.where((table <= 1e-6) | np.isnan(table), np.exp(np.minimum(table, 0.0)), np.nan)
        slack = _LOG_SLACK if scale == "logprobs" else _SLACK
        broken = ~_are_probabilities(table, slack)
        if broken.any() and not self.told.skip_bad:
            row = int(np.argmax(broken))
            if table.shape[1] == 1:
                raise _one_column(batch, name)
            raise batch.error(
                row, field=name, expected=_EXPECTED[scale], got=_row_got(batch, name, given, row), hint=SKIP_HINT,
                reason=Reason.BAD_DISTRIBUTION,
            )  # fmt: skip
        table = np.clip(table, 0.0, 1.0)
        return np.nan_to_num(table) if broken.any() else table, broken

    # -- the classes -----------------------------------------------------------------------------------------

    def _named(self, batch: TableBatch, name: str, found: list[str], *, struct: bool) -> list[str]:
        """The classes' names, in the order of the first batch or of the user."""
        names = list(self.classes) if self.classes is not None else None
        if names is None and self.told.classes is not None:
            names = list(self.told.classes)
        if not struct and self.told.classes is not None:
            if len(self.told.classes) != len(found):
                raise InputError(
                    path=batch.path or None, field="classes",
                    expected=f"a name for each of the {len(found)} columns of {name}",
                    got=f"{len(self.told.classes)}: {_listed(self.told.classes)}", reason=Reason.BAD_OPTION,
                )  # fmt: skip
            found[:] = self.told.classes
        names = list(found) if names is None else names
        if set(names) != set(found):
            raise InputError(
                path=batch.path or None, field=name, expected=f"the classes {_listed(names)}",
                got=_listed(found), reason=Reason.BAD_DISTRIBUTION,
            )  # fmt: skip
        if len(names) > _MOST_CLASSES:
            raise InputError(
                path=batch.path or None, field=name, expected=f"at most {_MOST_CLASSES} classes", got=str(len(names)),
                hint="Give confidence and correct instead.", reason=Reason.BAD_DISTRIBUTION,
            )  # fmt: skip
        self.classes = names
        return names

    def _golds(
        self, batch: TableBatch, label: str, names: Sequence[str], struct: bool
    ) -> tuple[NDArray[np.int64], Marks]:
        """The number of each row's gold class, and which rows have none (where bad ones are skipped)."""
        golds = batch.frame[label]
        if isinstance(golds.dtype, pl.Array | pl.List):
            gold = _from_one_hot(batch, label, golds, len(names))
        else:
            gold = self._numbered(batch, label, golds, names, struct)
        unknown = gold < 0
        if unknown.any() and not self.told.skip_bad:
            row = int(np.argmax(unknown))
            raise batch.error(
                row, field=label, expected=f"one of the classes {_listed(names)}",
                got=shown(golds[row]), hint=self._class_hint(golds), reason=Reason.UNKNOWN_CLASS,
            )  # fmt: skip
        return gold, unknown

    def _class_hint(self, golds: pl.Series) -> str | None:
        if self.told.classes is not None or self.classes is None or not all(c.isdecimal() for c in self.classes):
            return None
        known = golds.drop_nulls()
        if golds.dtype == pl.String or (golds.dtype.is_integer() and len(known) and int(known.min()) < 0):  # type: ignore[arg-type]
            return "Name the columns of the probabilities, in their order: --classes NAME,NAME,… (classes=)."
        return None

    def _numbered(
        self, batch: TableBatch, label: str, golds: pl.Series, names: Sequence[str], struct: bool
    ) -> NDArray[np.int64]:
        if golds.dtype == pl.Boolean and list(names) == ["0", "1"]:
            golds = golds.cast(pl.Int64)
        if golds.dtype.is_float():  # integers, where some are missing
            whole = golds.fill_nan(None)
            if bool((whole == whole.floor()).all()) and bool((whole.abs() < 1e15).all()):
                golds = whole.cast(pl.Int64, strict=False)
        if golds.dtype.is_integer():
            by_number = not struct or self.told.classes is not None
            if struct:
                # Probabilities by name and integers that have names: they meet in the names.
                told = batch.class_names(label)
                golds = batch.named(label, told[0]) if told and set(told[0].names) & set(names) else golds
            if golds.dtype.is_integer() and by_number and not all(_is_integer(c) for c in names):
                numbers = golds.cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
                return np.where((numbers >= 0) & (numbers < len(names)), numbers, -1)
        numbers_of = {c: i for i, c in enumerate(names)}
        if golds.dtype.is_integer() and list(names) == [str(i) for i in range(len(names))]:
            numbers = golds.cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
            return np.where((numbers >= 0) & (numbers < len(names)), numbers, -1)
        spelled = golds if golds.dtype == pl.String else batch.spelled(label) if golds.name == label else golds
        if golds.dtype != pl.String and golds.dtype.is_integer():
            spelled = golds.cast(pl.String)
        found = spelled.replace_strict(numbers_of, default=-1, return_dtype=pl.Int64).fill_null(-1)
        return np.asarray(found.to_numpy())


def _label_column(batch: TableBatch) -> str:
    label = next((c for c in LABEL_NAMES if c in batch.frame.columns), None)
    if label is None:
        raise InputError(
            path=batch.path or None, field="label", expected="a column with the gold class beside the probabilities",
            got=f"the columns {', '.join(shown(c, 40) for c in batch.frame.columns[1:13])}",
            hint="Say which one it is with --columns label=NAME (columns=), or bring the golds by --gold FILE.",
            reason=Reason.NO_COLUMN,
        )  # fmt: skip
    return label


def _refuse_other_labels(batch: TableBatch, label: str) -> None:
    """Arrays are called as each program likes: two that may be the gold class, and differ, are not chosen from."""
    frame = batch.frame
    for other in LABEL_NAMES:
        if other == label or other not in frame.columns or not _are_alike(frame.schema[label], frame.schema[other]):
            continue
        differ = frame[label].cast(pl.String) != frame[other].cast(pl.String)
        if differ.any():
            row = int(differ.arg_max() or 0)
            raise batch.error(
                row, expected=f"one gold class, or the same in {label} and {other}",
                got=f"{shown(frame[label][row], 40)} and {shown(frame[other][row], 40)}",
                hint=f"Say which one it is: --columns label={label}, or label={other} (columns=).",
                reason=Reason.AMBIGUOUS_FORMAT,
            )  # fmt: skip


def _are_alike(one: pl.DataType, other: pl.DataType) -> bool:
    return (one.is_integer() and other.is_integer()) or (one == other and one in (pl.String, pl.Boolean))


def _lacks(column: pl.Series) -> pl.Series:
    """Where there is nothing: no list, or an object all of whose members are missing."""
    if isinstance(column.dtype, pl.Struct):
        return column.struct.unnest().select(pl.all_horizontal(pl.all().is_null())).to_series() | column.is_null()
    return column.is_null()


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdecimal()


def _from_one_hot(batch: TableBatch, label: str, golds: pl.Series, classes: int) -> NDArray[np.int64]:
    """The class of each row, where every row marks exactly one of them."""
    inner = golds.dtype.inner  # type: ignore[attr-defined]
    flat = golds.explode().cast(pl.Float64, strict=False) if inner.is_numeric() or inner == pl.Boolean else None
    if flat is not None and len(flat) == classes * len(golds):
        table = flat.to_numpy().reshape(-1, classes)
        if bool((np.isin(table, (0.0, 1.0)).all(1) & (table.sum(1) == 1)).all()):
            return np.asarray(table.argmax(1), dtype=np.int64)
    raise batch.error(
        0, field=label, expected=f"one class a row, or {classes} numbers of which one is 1 and the others 0",
        got=kind_and_value(golds[0]),
        hint="Labels that are shares, or several at once, have no one gold class: give confidence and correct instead.",
        reason=Reason.UNKNOWN_CLASS,
    )  # fmt: skip


_EXPECTED = {
    "probabilities": "probabilities that sum to 1",
    "logprobs": "log-probabilities whose exponentials sum to 1",
    "logits(softmax)": "a finite logit for every class",
    "logits(sigmoid)": "finite log-odds",
}


def _row_got(batch: TableBatch, name: str, given: Floats, row: int) -> str:
    value = batch.frame[name][row]
    return kind_and_value(value) if not isinstance(value, float) else f"{value:g}"


def _one_column(batch: TableBatch, name: str) -> InputError:
    return batch.error(
        0, field=name, expected="a probability for every class",
        got=f"one number a row, {kind_and_value(batch.frame[name][0])}",
        hint="A binary classifier's probability of the second class is probability= (--columns probability=NAME).",
        reason=Reason.BAD_DISTRIBUTION,
    )  # fmt: skip


def _absent(values: NDArray[Any], bad: Marks) -> pl.Series:
    series = pl.Series(values)
    return series.set(pl.Series(bad), None) if bad.any() else series


def _are_probabilities(table: Floats, slack: float = _SLACK) -> Marks:
    with np.errstate(invalid="ignore"):
        return np.asarray(np.isfinite(table).all(1) & (table >= _TOO_LOW).all(1) & (np.abs(table.sum(1) - 1) <= slack))


def _softmax(table: Floats) -> Floats:
    """−inf leaves a class out; a row of nothing else, or with what is no number, has none."""
    with np.errstate(invalid="ignore", over="ignore"):
        top = table.max(axis=1, keepdims=True) if table.shape[1] else table
        powers = np.exp(table - top)
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _scale_of_one(p: Floats) -> str:
    """What single numbers are: a few outside [0, 1] are mistakes to be pointed at, many of them another scale."""
    known = p[np.isfinite(p)]
    outside = (known < _TOO_LOW) | (known > 1 - _TOO_LOW)
    if not outside.any():
        return "probabilities"
    if bool((known <= -_TOO_LOW).all()):
        return "logprobs"
    return "logits" if 2 * int(outside.sum()) > len(known) else "probabilities"


def _scale_of(batch: TableBatch, name: str, table: Floats) -> str:
    """What rows of numbers are, by most of them. Where that is in doubt the user is asked."""
    known = table[~(np.isnan(table).any(1) | (table == np.inf).any(1))]
    if not len(known):
        return "probabilities"
    if _most(_are_probabilities(known)):
        return "probabilities"
    with np.errstate(over="ignore"):
        if bool((known <= -_TOO_LOW).all()) and _most(np.abs(np.exp(known).sum(1) - 1) <= _LOG_SLACK):
            return "logprobs"
    inside = ((known >= _TOO_LOW) & (known <= 1 - _TOO_LOW)).all(1)
    percent = (known >= _TOO_LOW).all(1) & (np.abs(known.sum(1) - 100) <= 100 * _SLACK) & (known.max(1) > 1)
    if not _most(inside) and not _most(percent):
        return "logits"
    row = int(np.argmax(~_are_probabilities(table)))
    if table.shape[1] == 1:
        raise _one_column(batch, name)
    why = (
        "They look like percentages: divide them by 100." if _most(percent)
        else "Scores of a model with several labels at once (a sigmoid each) are no distribution: measure each label "
        "by itself (probability=, label=)."
    )  # fmt: skip
    raise batch.error(
        row, field=name, expected="probabilities that sum to 1", got=kind_and_value(batch.frame[name][row]),
        hint=f"{why} {_FORCED}", reason=Reason.BAD_DISTRIBUTION,
    )  # fmt: skip


def _most(marks: Marks) -> bool:
    return 2 * int(marks.sum()) >= len(marks)


def _refuse_nested(batch: TableBatch, name: str, kinds: Sequence[pl.DataType]) -> None:
    """A probability is one number: neither a list nor an object."""
    if any(kind.is_nested() or kind in (pl.Object, pl.Binary) for kind in kinds):
        column = batch.frame[name]
        row = int(column.is_not_null().arg_max() or 0)
        raise batch.error(
            row, field=name, expected="a list of numbers, or an object of them", got=kind_and_value(column[row]),
            reason=Reason.BAD_DISTRIBUTION,
        )  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shown(name, 40)[1:-1] for name in names[:10]) + (", …" if len(names) > 10 else "")


class _Classes:
    """For every class: rows in the order of their bins, and what each adds to its bin's gap."""

    def __init__(self, columns: Mapping[str, NDArray[Any]], names: Sequence[str], bins: int) -> None:
        edges = np.linspace(0.0, 1.0, bins + 1)
        self.parts = []
        for k, name in enumerate(names):
            p = np.asarray(columns[PREFIX + name], dtype=np.float64)
            index = bin_index(p, edges)
            order = np.argsort(index, kind="stable")
            sorted_bins = index[order]
            starts = np.flatnonzero(np.concatenate([[True], sorted_bins[1:] != sorted_bins[:-1]]))
            self.parts.append((order, starts, (p - (columns[GOLD] == k))[order]))


def _classwise(state: _Classes, weights: Floats) -> Floats:
    total = np.zeros(len(weights))
    with np.errstate(invalid="ignore"):
        counts = weights.astype(np.uint8)
    # Resampled rows count a few times: as bytes they are put in order several times as fast, and the sums are the same.
    given = counts if weights.size and bool((counts == weights).all()) else weights
    ordered, terms = np.empty(weights.shape[1], given.dtype), np.empty(weights.shape[1])
    for order, starts, gap in state.parts:
        for row, one in enumerate(given):
            np.take(one, order, out=ordered, mode="clip")
            total[row] += np.abs(np.add.reduceat(np.multiply(ordered, gap, out=terms), starts)).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(total / (weights.sum(axis=1) * len(state.parts)))


def _prepared(names: Sequence[str], bins: int, columns: Mapping[str, NDArray[Any]]) -> _Classes:
    return _Classes(columns, names, bins)


def classwise_figure(names: Sequence[str], bins: int) -> RowStatistic:
    return RowStatistic(
        "classwise_ece", (GOLD, *(PREFIX + c for c in names)), partial(_prepared, tuple(names), bins), _classwise,
        "classwise ECE", "lower", noise_power=2, explanation=Explanation(
            f"mean over classes of Σ_b (n_b/N)·|mean probability_b − share of the class_b|, {bins} bins",
            "ECE of the probability of every class, not only of the likeliest, averaged over classes.",
            "Many classes with probabilities near 0 make it small: compare it for the same classes only.",
            "Kull, Perello Nieto, Kängsepp, Silva Filho, Song and Flach 2019, Beyond Temperature Scaling, NeurIPS"),
    )  # fmt: skip


# -- what the pictures of single classes draw ------------------------------------------------------------------

CURVES = "classes"
"""What a result's `extra` calls them."""
_MOST_CURVES = 9


def class_curves(rows: Measurements, names: Sequence[str], bins: int) -> dict[str, Any]:
    """Of the classes with the largest error: share of the class, mean probability, rows and variance of every bin."""
    columns = [GOLD, *(PREFIX + name for name in names)]
    edges = np.linspace(0.0, 1.0, bins + 1)
    sums = np.zeros((len(names), 4, bins))
    for batch in rows.batches([*columns, *(c for c in ("weight", "scored") if c in rows.schema)]):
        kept = batch.filter("scored") if "scored" in batch.columns else batch
        kept = kept.drop_nulls(columns)
        weights = kept["weight"].to_numpy().astype(np.float64) if "weight" in kept.columns else np.ones(len(kept))
        gold = kept[GOLD].to_numpy()
        for k, name in enumerate(names):
            p = kept[PREFIX + name].to_numpy()
            index = bin_index(p, edges)
            for part, values in enumerate((gold == k, p, np.ones(len(p)), p * (1 - p))):
                sums[k, part] += np.bincount(index, weights * values, bins)
    errors = np.abs(sums[:, 0] - sums[:, 1]).sum(axis=1)
    order = sorted(range(len(names)), key=lambda k: (-round(float(errors[k]), 9), k))
    drawn = []
    for k in order[:_MOST_CURVES]:
        right, p, n, variance = sums[k]
        parts = ratio(right, n), ratio(p, n), n, variance
        curve = [round(float(x), 9) if np.isfinite(x) else None for part in parts for x in part]
        drawn.append({"name": names[k], "curve": curve})
    return {"of": len(names), "drawn": drawn}


# -- proper scores of whole distributions ----------------------------------------------------------------------


def infinite_mean(finite: Floats, n: Floats, infinite: Floats) -> Floats:
    """The mean of a loss from the sum of its finite terms, and infinity where there are others."""
    return np.where(infinite > 0, np.inf, ratio(finite, n))


def distribution_scores(names: Sequence[str], clip: float) -> list[Statistic]:
    """Log loss and Brier score over all classes, as scikit-learn defines them."""
    classes = [(pl.col(GOLD) == k, pl.col(PREFIX + name)) for k, name in enumerate(names)]
    of_gold = reduce(add, (pl.when(gold).then(p).otherwise(0.0 * p) for gold, p in classes), pl.lit(0.0))
    squares = reduce(add, ((p - gold.cast(pl.Float64)) ** 2 for gold, p in classes), pl.lit(0.0))
    loss = -of_gold.log()
    columns = {
        "nll_multiclass": pl.when(loss.is_infinite()).then(0.0).otherwise(loss),
        "gold_impossible": loss.is_infinite(),
        "nll_multiclass_clipped": -of_gold.clip(clip, 1 - clip).log(),
        "brier_multiclass": squares,
    }
    good = "Good 1952, Rational Decisions, Journal of the Royal Statistical Society B"
    return [
        Statistic(
            "nll_multiclass", ("nll_multiclass", ONE, "gold_impossible"), infinite_mean, "NLL of the gold class",
            "lower", (0.0, float("inf")), derived=columns, out_of="gold class at 0", compared=False,
            infinite="rows give their gold class a probability of 0, which costs infinitely much",
            explanation=Explanation(
                "mean of −ln(probability of the gold class)",
                "Log loss of the whole distribution (cross-entropy, as scikit-learn's log_loss). One gold class with "
                "probability 0 makes it infinite: how many there are stands beside it.",
                "A single row can decide it. Comparisons take nll_multiclass_clipped.", good)),
        mean_of(
            "nll_multiclass_clipped", title=f"NLL of the gold class, clipped at {clip:g}", direction="lower",
            range=(0.0, float("inf")), derived=columns, explanation=Explanation(
                f"mean of −ln(p), p the gold class's probability brought into [{clip:g}, 1 − {clip:g}]",
                f"Log loss where no single answer costs infinitely much: a gold class at 0 costs −ln({clip:g}). "
                "scikit-learn clips at 2.2e-16.",
                "Where some gold classes have a probability of 0, the choice of the clip (--nll-clip).", good)),
        mean_of(
            "brier_multiclass", title="Brier score of all classes", direction="lower", range=(0.0, 2.0),
            derived=columns, explanation=Explanation(
                "mean of Σ_k (probability_k − 1 where k is the gold class, else 0)²",
                "Brier's own score of whole distributions: from 0 to 2 (scikit-learn's brier_score_loss with "
                "scale_by_half=False).",
                "Accuracy as much as calibration: compare it between systems on the same rows only.",
                "Brier 1950, Verification of Forecasts Expressed in Terms of Probability, Monthly Weather Review")),
    ]  # fmt: skip
