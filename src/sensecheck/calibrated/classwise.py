"""Whole distributions: is every class's probability the rate at which that class is the right one?

A table may give `probabilities` (a list, or an object from class to probability) with the gold `label` instead of
confidence and correct. The top class then gives these two, and classwise ECE looks at all classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.inputs.errors import SKIP_HINT, InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch
from sensecheck.statistics.binning import bin_index
from sensecheck.statistics.statistic import Explanation, RowStatistic

Floats = NDArray[np.float64]

NAMES = ("probabilities", "probs", "distribution")
LABEL_NAMES = ("label", "gold", "target", "gold_label")
GOLD = "gold_class"
_PREFIX = "p:"
_MOST_CLASSES = 200
_SLACK = 0.02  # how far half precision may put the sum of a distribution from 1


def distribution_column(batch: TableBatch, renamed: Mapping[str, str]) -> str | None:
    """The column that holds distributions, where there is one."""
    for name in (renamed.get("probabilities"), *NAMES):
        if name in batch.frame.columns and isinstance(batch.frame.schema[name], (pl.List, pl.Struct, pl.Array)):
            return name
    return None


def unpacked(batch: TableBatch, name: str, classes: Sequence[str] | None) -> tuple[pl.DataFrame, list[str]]:
    """confidence, correct, the gold class and every class's probability; and the classes' names."""
    column = batch.frame[name]
    label = next((c for c in LABEL_NAMES if c in batch.frame.columns), None)
    if label is None:
        raise InputError(
            path=batch.path or None, field="label", expected="a column with the gold class beside the probabilities",
            got=f"the columns {', '.join(batch.frame.columns[1:])}", reason=Reason.NO_COLUMN,
        )  # fmt: skip
    if isinstance(column.dtype, pl.Struct):
        column_classes = [f.name for f in column.dtype.fields]
        table = (
            column.struct.unnest().select([pl.col(c).cast(pl.Float64, strict=False) for c in column_classes]).to_numpy()
        )
    else:
        lengths = column.list.len()
        width = int(lengths.max() or 0)  # type: ignore[arg-type]
        row = int((lengths != width).fill_null(True).arg_max() or 0)
        if (lengths != width).fill_null(True).any():
            raise batch.error(
                row, field=name, expected=f"{width} probabilities, as in other rows", got=shown(column[row]),
                reason=Reason.BAD_DISTRIBUTION,
            )  # fmt: skip
        column_classes = [str(i) for i in range(width)]
        table = np.asarray(column.explode().cast(pl.Float64, strict=False).to_numpy()).reshape(-1, width)
    names = list(classes) if classes is not None else column_classes
    if set(names) != set(column_classes):
        raise InputError(
            path=batch.path or None, field=name, expected=f"the classes {', '.join(names)}",
            got=", ".join(column_classes), reason=Reason.BAD_DISTRIBUTION,
        )  # fmt: skip
    if len(names) > _MOST_CLASSES:
        raise InputError(
            path=batch.path or None, field=name, expected=f"at most {_MOST_CLASSES} classes", got=str(len(names)),
            hint="Give confidence and correct instead.", reason=Reason.BAD_DISTRIBUTION,
        )  # fmt: skip
    table = table[:, [column_classes.index(c) for c in names]]
    broken = ~(np.isfinite(table).all(1) & (table >= -1e-6).all(1) & (np.abs(table.sum(1) - 1) <= _SLACK))
    if broken.any():
        row = int(np.argmax(broken))
        raise batch.error(
            row, field=name, expected="probabilities that sum to 1", got=shown(column[row]), hint=SKIP_HINT,
            reason=Reason.BAD_DISTRIBUTION,
        )  # fmt: skip
    table = np.clip(table, 0.0, 1.0)
    number_of = {c: i for i, c in enumerate(names)}
    gold = [number_of.get(str(v), -1) for v in batch.frame[label]]
    if -1 in gold:
        row = gold.index(-1)
        raise batch.error(
            row, field=label, expected=f"one of the classes {', '.join(names[:10])}",
            got=shown(batch.frame[label][row]), reason=Reason.UNKNOWN_CLASS,
        )  # fmt: skip
    best = table.argmax(axis=1)
    columns = {
        "confidence": table[np.arange(len(table)), best],
        "correct": best == np.asarray(gold),
        GOLD: np.asarray(gold, dtype=np.int64),
        **{_PREFIX + c: table[:, i] for i, c in enumerate(names)},
    }
    return pl.DataFrame(columns), names


class _Classes:
    """For every class: rows in the order of their bins, and what each adds to its bin's gap."""

    def __init__(self, columns: Mapping[str, NDArray[Any]], names: Sequence[str], bins: int) -> None:
        edges = np.linspace(0.0, 1.0, bins + 1)
        self.parts = []
        for k, name in enumerate(names):
            p = np.asarray(columns[_PREFIX + name], dtype=np.float64)
            index = bin_index(p, edges)
            order = np.argsort(index, kind="stable")
            sorted_bins = index[order]
            starts = np.flatnonzero(np.concatenate([[True], sorted_bins[1:] != sorted_bins[:-1]]))
            self.parts.append((order, starts, (p - (columns[GOLD] == k))[order]))


def _classwise(state: _Classes, weights: Floats) -> Floats:
    total = np.zeros(len(weights))
    for order, starts, gap in state.parts:
        total += np.abs(np.add.reduceat(weights[:, order] * gap, starts, axis=1)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(total / (weights.sum(axis=1) * len(state.parts)))


def _prepared(names: Sequence[str], bins: int, columns: Mapping[str, NDArray[Any]]) -> _Classes:
    return _Classes(columns, names, bins)


def classwise_figure(names: Sequence[str], bins: int) -> RowStatistic:
    return RowStatistic(
        "classwise_ece", (GOLD, *(_PREFIX + c for c in names)), partial(_prepared, tuple(names), bins), _classwise,
        "classwise ECE", "lower", noise_power=2, explanation=Explanation(
            f"mean over classes of Σ_b (n_b/N)·|mean probability_b − share of the class_b|, {bins} bins",
            "ECE of the probability of every class, not only of the likeliest, averaged over classes.",
            "Many classes with probabilities near 0 make it small: compare it for the same classes only.",
            "Kull, Perello Nieto, Kängsepp, Silva Filho, Song and Flach 2019, Beyond Temperature Scaling, NeurIPS"),
    )  # fmt: skip
