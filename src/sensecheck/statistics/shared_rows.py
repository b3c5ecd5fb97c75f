"""Two runs on the same input: which of their rows go together, and which could be scored in both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import polars as pl

from sensecheck.statistics.arrays import U64, Flags
from sensecheck.statistics.hashing import hash_ids, scramble
from sensecheck.statistics.measurements import Frames, Measurements, concatenated
from sensecheck.statistics.table import defined_mask

_SHOWN = 3
_TELLS_APART = ("unit", "sample", "epoch")
"""Columns that say why several rows have one id."""


class ComparisonError(ValueError):
    """Two runs that cannot be compared, with what differs."""


class KeptRows:
    """Some rows of a set of measurements, in their order."""

    def __init__(self, measurements: Measurements, kept: Flags) -> None:
        self.measurements = measurements
        self.kept = kept

    @property
    def schema(self) -> pl.Schema:
        return self.measurements.schema

    @property
    def height(self) -> int:
        return int(np.count_nonzero(self.kept))

    @property
    def digest(self) -> bytes:
        """The same for the same rows."""
        return blake2b(np.packbits(self.kept).tobytes(), digest_size=16).digest()

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        start = 0
        for batch in self.measurements.batches(columns):
            kept = self.kept[start : start + len(batch)]
            start += len(batch)
            yield batch if kept.all() else batch.filter(pl.Series(kept))


@dataclass(frozen=True)
class Overlap:
    """How many units two runs have, and how many of them in common."""

    in_a: int
    in_b: int
    in_both: int

    @property
    def same(self) -> bool:
        return self.in_a == self.in_b == self.in_both


class PairedRuns:
    """The rows of two runs by what they are called: a unit where several rows make one, else the row's id.

    Where ids repeat, the first of one run goes with the first of the other, and so on.
    """

    def __init__(self, a: Measurements, b: Measurements, names: tuple[str, str] = ("A", "B")) -> None:
        self.runs = (a, b)
        by_unit = "unit" in a.schema and "unit" in b.schema
        self.repeated: dict[str, tuple[int, str]] = {}
        """Of each run in which rows have the same id and nothing says why: how many such ids, and the first of them."""
        self.keys = tuple(self._keys(run, name, by_unit) for run, name in zip(self.runs, names, strict=True))
        distinct = [np.unique(keys) for keys in self.keys]
        common = np.intersect1d(distinct[0], distinct[1], assume_unique=True)
        self.overlap = Overlap(len(distinct[0]), len(distinct[1]), len(common))
        if not len(common):
            shown = (", ".join(repr(x) for x in _some_names(run)) for run in self.runs)
            examples = "; ".join(f"{name} has {names}" for name, names in zip(names, shown, strict=True))
            raise ComparisonError(
                f"the two runs have no {'units' if by_unit else 'rows'} in common ({examples}). "
                "Compare runs over the same input."
            )
        self.in_both: tuple[Flags, Flags] = (np.isin(self.keys[0], common), np.isin(self.keys[1], common))
        for role in ("cluster", "weight"):
            self._check_alike(role, names)

    def _keys(self, run: Measurements, name: str, by_unit: bool) -> U64:
        if by_unit:
            return np.concatenate([hash_ids(batch["unit"]) for batch in run.batches(["unit"])])
        names = concatenated(run, ["id"])
        keys = hash_ids(names["id"])
        if names["id"].n_unique() == len(names):
            return keys
        nth = names.select(pl.int_range(pl.len()).over("id")).to_series()
        if not any(column in run.schema for column in _TELLS_APART):
            again = names["id"].filter(nth == 1)
            self.repeated[name] = len(again), str(again[0])
        order = nth.to_numpy().astype(np.uint64)
        return np.where(order > 0, scramble(keys ^ scramble(order)), keys)

    def _check_alike(self, role: str, names: tuple[str, str]) -> None:
        """Refuse runs that put the same unit into another cluster, or give it another weight."""
        has_role = [role in run.schema for run in self.runs]
        if not any(has_role):
            return
        if not all(has_role):
            if role == "weight":
                raise ComparisonError(f"only {names[has_role.index(True)]} has weights. Compare runs weighted alike.")
            return
        by_key = []
        for run, keys in zip(self.runs, self.keys, strict=True):
            called = "unit" if "unit" in run.schema else "id"
            rows = concatenated(run, [called, role]).with_columns(pl.Series("_key", keys))
            by_key.append(
                rows.group_by("_key").agg(
                    name=pl.col(called).first().cast(pl.String), least=pl.col(role).min(), most=pl.col(role).max()
                )
            )
        joined = by_key[0].join(by_key[1], on="_key")
        differs = (pl.col("least") != pl.col("least_right")) | (pl.col("most") != pl.col("most_right"))
        unlike = joined.filter(differs).sort("name")
        if len(unlike):
            unit, in_a, in_b = unlike["name"][0], unlike["least"][0], unlike["least_right"][0]
            raise ComparisonError(
                f"the two runs have different {role}s for {len(unlike):,} of the same units: {unit!r} has {in_a!r} in "
                f"{names[0]} and {in_b!r} in {names[1]}. Compare runs over the same input."
            )

    def scored(self, columns: Sequence[str], derived: Mapping[str, pl.Expr]) -> tuple[Flags, Flags]:
        """Which rows of either run have all these columns."""
        a, b = (defined_mask(run, columns, derived) for run in self.runs)
        return a, b

    def shared(self, columns: Sequence[str], derived: Mapping[str, pl.Expr]) -> tuple[KeptRows, KeptRows]:
        """Of both runs: the rows that have all these columns, and whose counterpart has them too."""
        flags = self.scored(columns, derived)
        common = np.intersect1d(self.keys[0][flags[0]], self.keys[1][flags[1]])
        a, b = (
            KeptRows(run, flag & np.isin(keys, common))
            for run, keys, flag in zip(self.runs, self.keys, flags, strict=True)
        )
        return a, b

    def could_be_scored(self, columns: Sequence[str], derived: Mapping[str, pl.Expr]) -> tuple[Frames, Frames]:
        """Of every unit in both runs: whether it could be scored for these columns."""
        sides = []
        flags = self.scored(columns, derived)
        for run, keys, flag, both in zip(self.runs, self.keys, flags, self.in_both, strict=True):
            owner = next(c for c in ("cluster", "unit", "id") if c in run.schema)
            read = [owner, *(["weight"] if "weight" in run.schema else [])]
            rows = concatenated(run, read).with_columns(
                pl.Series("scored_here", flag), pl.Series("_key", keys), pl.col(owner).cast(pl.String).alias(owner)
            )
            by_key = rows.filter(pl.Series(both)).group_by("_key").agg(
                pl.col("scored_here").any(), *(pl.col(c).first() for c in read)
            )  # fmt: skip
            sides.append(
                Frames(by_key.sort("_key").with_columns(pl.col("_key").cast(pl.String).alias("id")).drop("_key"))
            )
        return sides[0], sides[1]


def _some_names(run: Measurements) -> list[str]:
    column = "unit" if "unit" in run.schema else "id"
    for batch in run.batches([column]):
        if len(batch):
            return batch[column].head(_SHOWN).cast(pl.String).to_list()
    return []
