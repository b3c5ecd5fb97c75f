"""The sums behind a rate that labels correct, from rows of which some are labelled; by slice, as every figure has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from sensecheck.statistics.corrected import (
    Correction,
    LabelledUnits,
    Normal,
    OtherUnits,
    RowSums,
    corrected,
    corrected_difference,
    normal_interval,
)
from sensecheck.statistics.limits import Judged
from sensecheck.statistics.table import slice_text

Key = tuple[str, ...]
VERDICT, RIGHT, WEIGHT, STANDS_FOR, UNIT = "_verdict", "_right", "_weight", "_stands_for", "_unit"
"""Columns of the rows: the verdict (from 0 to 1), what a label says (null: none), the row's own weight, how many rows
a label stands for, and whom the row belongs to."""
_SUMS = {name: f"_{name}" for name in LabelledUnits._fields[1:]}


class SliceCorrected(NamedTuple):
    """A slice's rate, and what it is made of."""

    key: Key
    rows: int
    units: int
    labels: int
    found: Correction | None
    """None: no row of the slice has a label."""
    normal: Normal | None


@dataclass(frozen=True)
class LabelledRows:
    """Rows with a verdict, and what labels say of some."""

    frame: pl.DataFrame
    clustered: bool

    def by(self, columns: Sequence[str], level: float, *, normal: bool = False) -> Iterator[SliceCorrected]:
        """The corrected rate of every value of a slicing (of all rows, where it names no column)."""
        by = [f"_by{i}" for i in range(len(columns))]
        sliced = self.frame.with_columns(slice_text(c).alias(name) for c, name in zip(columns, by, strict=True))
        there = sliced.group_by(by or pl.lit("").alias("_all"), maintain_order=True).agg(
            rows=pl.len(), units=pl.col(UNIT).n_unique() if self.clustered else pl.len(), labels=pl.col(RIGHT).count()
        )
        units = self._units(sliced, by)
        labelled = _parts(_with_labels(units), by)
        others = _others(units.filter(pl.col(_SUMS["labels"]) == 0), by)
        of_rows = _row_sums(sliced, by) if normal else {}
        for row in there.iter_rows(named=True):
            key = tuple(row[name] for name in by)
            found = None
            if key in labelled:
                found = corrected(
                    _labelled_units(labelled[key]), others.get(key, _NO_OTHERS), level, clustered=self.clustered
                )
            as_normal = normal_interval(*of_rows[key], level) if found is not None and key in of_rows else None
            yield SliceCorrected(key, row["rows"], row["units"], row["labels"], found, as_normal)

    def kept(self, ids: pl.Series) -> LabelledRows:
        """Of these ids alone."""
        return replace(self, frame=self.frame.filter(pl.col("id").is_in(ids.implode())))

    def _units(self, frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
        """What each unit adds to the sums."""
        f, stands = pl.col(VERDICT), pl.col(WEIGHT) * pl.col(STANDS_FOR)
        labelled = pl.when(pl.col(RIGHT).is_not_null()).then(stands).otherwise(0.0)
        called = labelled * (f >= 0.5).cast(pl.Float64)
        columns = (
            pl.col(WEIGHT), pl.col(WEIGHT) * f, labelled, labelled * pl.col(RIGHT).fill_null(0.0), labelled * f, called,
            labelled**2, labelled * called, (labelled > 0).cast(pl.Float64),
        )  # fmt: skip
        of_rows = frame.select(*by, UNIT, *(c.alias(name) for c, name in zip(columns, _SUMS.values(), strict=True)))
        if self.clustered:
            of_rows = of_rows.group_by([*by, UNIT], maintain_order=True).agg(pl.col(list(_SUMS.values())).sum())
        return of_rows

    @cached_property
    def whole(self) -> pl.DataFrame:
        return self._units(self.frame, ())

    def errors(self, found: Correction) -> pl.DataFrame:
        """What each unit adds to the error of the rate of all rows: its name, and that."""
        labelled = _with_labels(self.whole).select(UNIT, error=pl.Series(found.influence, dtype=pl.Float64))
        moved = pl.col(_SUMS["verdicts"]) - float(found.raw) * pl.col(_SUMS["rows"])
        return pl.concat(
            [
                labelled,
                self.whole.filter(pl.col(_SUMS["labels"]) == 0).select(UNIT, error=float(found.per_verdict) * moved),
            ]
        )


def paired_difference(a: LabelledRows, b: LabelledRows, level: float) -> tuple[Correction, Correction, Judged] | None:
    """B − A of two corrected rates over the same rows; none where one of them has no label."""
    (in_a,), (in_b,) = a.by((), level), b.by((), level)
    if in_a.found is None or in_b.found is None:
        return None
    joined = a.errors(in_a.found).join(b.errors(in_b.found), on=UNIT, how="inner", suffix="_b", maintain_order="left")
    covariance = float((joined["error"] * joined["error_b"]).sum())
    return in_a.found, in_b.found, corrected_difference(in_a.found, in_b.found, covariance, level)


_NO_OTHERS = OtherUnits(*(np.zeros(()) for _ in OtherUnits._fields))


def _with_labels(units: pl.DataFrame) -> pl.DataFrame:
    """Those that hold a label, always in the same order."""
    return units.filter(pl.col(_SUMS["labels"]) > 0).sort(UNIT)


def _parts(frame: pl.DataFrame, by: Sequence[str]) -> dict[Key, pl.DataFrame]:
    if not by:
        return {(): frame} if len(frame) else {}
    return {tuple(map(str, key)): part for key, part in frame.partition_by(by, as_dict=True).items()}


def _labelled_units(frame: pl.DataFrame) -> LabelledUnits:
    columns = (frame[name].to_numpy() for name in _SUMS.values())
    return LabelledUnits(np.ones(len(frame)), *columns)


def _others(frame: pl.DataFrame, by: Sequence[str]) -> dict[Key, OtherUnits]:
    d, v = pl.col(_SUMS["rows"]), pl.col(_SUMS["verdicts"])
    sums = [x.sum().alias(name) for name, x in zip(OtherUnits._fields, (d, v, d * d, d * v, v * v), strict=True)]
    return {key: OtherUnits(*map(np.asarray, values)) for key, values in _by(frame, by, sums, OtherUnits._fields)}


def _row_sums(frame: pl.DataFrame, by: Sequence[str]) -> dict[Key, tuple[RowSums, RowSums]]:
    """For PPI++ as its authors have it: the labelled rows, and the others; where rows were not equally likely to be
    labelled the others are no sample of all, and all rows take their place."""
    there = pl.col(RIGHT).is_not_null()
    even = frame.filter(there)[STANDS_FOR].n_unique() < 2
    sides = []
    for rows, weight in (
        (frame.filter(there), pl.col(WEIGHT) * pl.col(STANDS_FOR)),
        (frame.filter(~there) if even else frame, pl.col(WEIGHT)),
    ):
        f, y, w = pl.col(VERDICT), pl.col(RIGHT).fill_null(0.0), weight
        columns = (
            w * 0 + 1, w, w * f, w**2, w**2 * f, w**2 * f**2, w * y, w**2 * y, w**2 * y**2, w**2 * y * f,
        )  # fmt: skip
        sums = [x.sum().alias(name) for name, x in zip(RowSums._fields, columns, strict=True)]
        sides.append({key: RowSums(*map(np.asarray, values)) for key, values in _by(rows, by, sums, RowSums._fields)})
    nothing = RowSums(*(np.zeros(()) for _ in RowSums._fields))
    return {key: (own, sides[1].get(key, nothing)) for key, own in sides[0].items()}


def _by(
    frame: pl.DataFrame, by: Sequence[str], sums: Sequence[pl.Expr], names: Sequence[str]
) -> Iterator[tuple[Key, list[float]]]:
    table = frame.group_by(by, maintain_order=True).agg(sums) if by else frame.select(sums)
    for row in table.iter_rows(named=True):
        yield tuple(row[name] for name in by), [float(row[name]) for name in names]
