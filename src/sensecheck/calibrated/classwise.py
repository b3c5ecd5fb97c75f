"""Whole distributions: is every class's probability the rate at which that class is the right one?

A table may give `probabilities` (a list, or an object from class to probability) with the gold `label` instead of
confidence and correct. The top class then gives these two, and classwise ECE and the scores of whole distributions look
at all classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from sensecheck.statistics.statistic import ONE, Explanation, RowStatistic, Statistic, mean_of, ratio

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
            got=f"the columns {', '.join(shown(c, 40) for c in batch.frame.columns[1:13])}", reason=Reason.NO_COLUMN,
        )  # fmt: skip
    if isinstance(column.dtype, pl.Struct):
        column_classes = [f.name for f in column.dtype.fields]
        _refuse_nested(batch, name, column.struct.unnest().dtypes)
        table = (
            column.struct.unnest().select([pl.col(c).cast(pl.Float64, strict=False) for c in column_classes]).to_numpy()
        )
    else:
        if isinstance(column.dtype, pl.Array):
            column = column.arr.to_list()
        _refuse_nested(batch, name, [column.explode().dtype])
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
        column_classes = [str(i) for i in range(width)]
        table = np.asarray(column.explode().cast(pl.Float64, strict=False).to_numpy()).reshape(-1, width)
    names = list(classes) if classes is not None else column_classes
    if set(names) != set(column_classes):
        raise InputError(
            path=batch.path or None, field=name, expected=f"the classes {_listed(names)}",
            got=_listed(column_classes), reason=Reason.BAD_DISTRIBUTION,
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
            row, field=name, expected="probabilities that sum to 1", got=kind_and_value(column[row]), hint=SKIP_HINT,
            reason=Reason.BAD_DISTRIBUTION,
        )  # fmt: skip
    table = np.clip(table, 0.0, 1.0)
    number_of = {c: i for i, c in enumerate(names)}
    golds = batch.frame[label]
    if isinstance(column.dtype, pl.Struct) and golds.dtype.is_integer():
        # Probabilities by name and integers that have names: they meet in the names.
        told = batch.class_names(label)
        golds = batch.named(label, told[0]) if told and set(told[0].names) & set(names) else golds
    gold = [number_of.get(str(v), -1) for v in golds]
    if -1 in gold:
        row = gold.index(-1)
        raise batch.error(
            row, field=label, expected=f"one of the classes {_listed(names)}",
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


# -- proper scores of whole distributions ----------------------------------------------------------------------


def infinite_mean(finite: Floats, n: Floats, infinite: Floats) -> Floats:
    """The mean of a loss from the sum of its finite terms, and infinity where there are others."""
    return np.where(infinite > 0, np.inf, ratio(finite, n))


def distribution_scores(names: Sequence[str], clip: float) -> list[Statistic]:
    """Log loss and Brier score over all classes, as scikit-learn defines them."""
    classes = [(pl.col(GOLD) == k, pl.col(_PREFIX + name)) for k, name in enumerate(names)]
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
