"""Which rows a slicing has, how many of them each figure scores, and why others are not scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from sensecheck.statistics.arrays import Flags, Floats, Indexes
from sensecheck.statistics.figure import Figure, as_number
from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.intervals import Interval
from sensecheck.statistics.statistic import AnyStatistic, Statistic
from sensecheck.statistics.table import Slice, SliceError, Table, added_up, defined_rows, lacks, slice_text

MAX_SLICE_VALUES = 1000

SliceValue = tuple[Any, ...]
"""What the columns of a slicing hold in one of its slices: nothing in the slice of all rows."""


@dataclass
class _Tallies:
    """What one pass over the rows counts."""

    rows: list[pl.DataFrame] = field(default_factory=list)
    """By piece: how often each slice, reason and set of missing columns occurs."""
    clusters: list[pl.DataFrame] = field(default_factory=list)
    """By piece: the clusters of each slice, of pieces in which every row is scored for every figure."""
    clusters_by_mask: dict[int, list[pl.DataFrame]] = field(default_factory=dict)
    """By mask, then piece: those of other pieces that have a row scored for its figures."""
    complete: int = 0
    """Rows of pieces in which every row is scored for every figure."""


class Census:
    """Which values a slicing has, how many rows each figure scores there, and why others are not scored."""

    def __init__(self, table: Table, by: Slice) -> None:
        self.table = table
        self.by = by
        self.keys = [f"_by{i}" for i in range(len(by))]
        # Figures of the same columns score the same rows: they are counted by these, the masks.
        self.masks = list(dict.fromkeys(s.columns for s in table.statistics))
        # In words, or by a column that says it row by row; figures of the same columns lack them for the same reason.
        self.absent = {s.columns: (s.absent, s.absent_column) for s in table.statistics if isinstance(s, Statistic)}
        self.whys = [f"_why {c}" for c in table.absences]
        self.cross = table.crossed(by)
        tallies = self._tallied()
        merged = self._merged(tallies.rows)
        self.rows = int(merged["len"].sum()) if len(merged) else 0
        self.complete = tallies.complete == self.rows > 0
        self.values = self._slice_values(merged)
        self.code = (
            pl.DataFrame(self.values, schema=dict.fromkeys(self.keys, pl.String), orient="row").with_row_index("_code")
            if by
            else None
        )
        # Of one column, looking its values up is quicker than joining them.
        self._kinds = pl.Enum([value[0] for value in self.values]) if len(by) == 1 else None
        self.cluster_counts = self._clusters_by_slice(tallies)
        """By mask: how many clusters each slice has."""
        # One small dictionary a slice, by the number of the mask, rather than a filter for every figure of every slice.
        self.scored_rows: dict[SliceValue, dict[int, int]] = {}
        self.unscored_rows: dict[SliceValue, dict[int, dict[str, int]]] = {}
        self._split_by_mask(merged)
        self.alike = self._alike()

    def _tallied(self) -> _Tallies:
        """Pass over the rows: how many there are of each kind, and whose they are."""
        table, by = self.table, self.by
        columns = list(dict.fromkeys(c for mask in self.masks for c in mask))
        owner = table.cluster if table.clustered else None
        told_by = {c: table.told_by[c] for c in columns}
        looked_at = list(dict.fromkeys(root for roots in told_by.values() for root in roots))
        read = [*by, "scored", "reason", *looked_at, *([owner] if owner else []), *table.absences]
        tallies = _Tallies()
        for batch in table.batches(read) if self.cross is None else [self.cross]:
            absent = {c: ~defined_rows(batch, c) for c in looked_at if lacks(batch, c)}
            missing = {
                c: np.any([absent[root] for root in roots if root in absent], axis=0)
                for c, roots in told_by.items()
                if any(root in absent for root in roots)
            }
            all_scored = "scored" not in batch.columns or bool(batch["scored"].all())
            slices = pl.DataFrame()
            if by:
                slices = batch.select([slice_text(c).alias(k) for c, k in zip(by, self.keys, strict=True)])
            if self.cross is None and not missing and all_scored:
                # The usual case, at little cost: every row of the piece is scored for every figure.
                tallies.complete += len(batch)
                if by:
                    tallies.rows.append(slices.group_by(self.keys).len())
            else:
                tallies.rows.append(self._counted(batch, slices, missing))
            if owner:
                # Hashes of eight bytes rather than names: there may be very many clusters.
                owned = pl.DataFrame([*slices.get_columns(), pl.Series("_owner", hash_ids(batch[owner]))])
                if not missing and all_scored:
                    tallies.clusters.append(owned.unique())
                else:
                    self._owners_by_mask(tallies, batch, owned, missing)
        if tallies.complete and not by:
            tallies.rows.append(pl.DataFrame({"len": [tallies.complete]}, schema={"len": pl.UInt64}))
        return tallies

    def _owners_by_mask(
        self, tallies: _Tallies, batch: pl.DataFrame, owned: pl.DataFrame, missing: Mapping[str, Flags]
    ) -> None:
        scored = batch["scored"].to_numpy() if "scored" in batch.columns else np.ones(len(batch), dtype=np.bool_)
        by_missing: dict[tuple[str, ...], pl.DataFrame] = {}
        for i, mask in enumerate(self.masks):
            lacking = tuple(c for c in mask if c in missing)
            if lacking not in by_missing:
                has_all = scored & ~np.any([missing[c] for c in lacking], axis=0) if lacking else scored
                by_missing[lacking] = owned.filter(pl.Series(has_all)).unique()
            tallies.clusters_by_mask.setdefault(i, []).append(by_missing[lacking])

    def _counted(self, batch: pl.DataFrame, slices: pl.DataFrame, missing: Mapping[str, Flags]) -> pl.DataFrame:
        """How often each slice, reason and set of missing columns occurs."""
        sets = np.zeros(len(batch), dtype=np.int64)
        names = [""]
        for column, is_missing in missing.items():
            # Few sets occur: they are numbered anew after each column, so that any number of columns will do.
            occurring, sets = np.unique(2 * sets + is_missing, return_inverse=True)
            names = [f"{names[k // 2]}\x1f{column}" if k & 1 else names[k // 2] for k in occurring.tolist()]
        nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(batch))
        scored = batch["scored"] if "scored" in batch.columns else pl.repeat(True, len(batch), eager=True)
        reason = batch["reason"].cast(pl.String) if "reason" in batch.columns else nothing
        keyed = pl.DataFrame(
            [
                *slices.get_columns(),
                scored.alias("_scored"),
                # Why a row is not scored; of rows that are, nobody asks.
                nothing.zip_with(scored, reason).alias("_reason"),
                *(batch[c].cast(pl.String).alias(why) for c, why in zip(self.table.absences, self.whys, strict=True)),
                pl.Series("_set", sets.astype(np.int64)),
            ]
        )
        keys = [*self.keys, "_scored", "_reason", *self.whys, "_set"]
        if "len" in batch.columns and batch is self.cross:
            counts = keyed.with_columns(batch["len"]).group_by(keys).agg(pl.col("len").sum())
        else:
            counts = keyed.group_by(keys).len()
        return counts.with_columns(
            pl.Series("_missing", [names[k] for k in counts["_set"].to_list()], dtype=pl.String)
        ).drop("_set")

    def _merged(self, counts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """All counts together; where a piece does not say, its rows are scored and lack nothing."""
        kinds = {
            **dict.fromkeys(self.keys, pl.String()), "_scored": pl.Boolean(), "_reason": pl.String(),
            **dict.fromkeys(self.whys, pl.String()), "_missing": pl.String(), "len": pl.UInt64(),
        }  # fmt: skip
        usual = {"_scored": True, "_reason": None, "_missing": "", **dict.fromkeys(self.whys)}
        full = [
            f.select([
                (pl.col(c) if c in f.columns else pl.lit(usual[c])).cast(kind).alias(c) for c, kind in kinds.items()
            ])
            for f in counts
        ] or [pl.DataFrame(schema=kinds)]  # fmt: skip
        keys = [c for c in kinds if c != "len"]
        return added_up(full, keys).sort(keys)

    def _slice_values(self, merged: pl.DataFrame) -> list[SliceValue]:
        """The slices that occur, in order; too many are refused."""
        if not self.by:
            return [()]
        values = [tuple(row) for row in merged.select(self.keys).unique().sort(self.keys).rows()]
        if len(values) > MAX_SLICE_VALUES:
            raise SliceError(
                f"cannot slice by {'×'.join(self.by)}: it has {len(values):,} values; a column to slice by may "
                f"have at most {MAX_SLICE_VALUES:,}. Bin it, or choose another column."
            )
        return values

    def _clusters_by_slice(self, tallies: _Tallies) -> list[dict[SliceValue, int]]:
        everywhere: dict[SliceValue, int] | None = None
        counts = []
        for i in range(len(self.masks)):
            own = tallies.clusters_by_mask.get(i)
            if own is None:
                # Nothing is left out for these figures: they share one count.
                everywhere = self._distinct_owners(tallies.clusters) if everywhere is None else everywhere
                counts.append(everywhere)
            else:
                counts.append(self._distinct_owners([*tallies.clusters, *own]))
        return counts

    def _distinct_owners(self, owned: Sequence[pl.DataFrame]) -> dict[SliceValue, int]:
        if not owned:
            return {}
        distinct = pl.concat(owned).unique()
        if not self.by:
            return {(): len(distinct)}
        return {tuple(row[:-1]): int(row[-1]) for row in distinct.group_by(self.keys).len().rows()}

    def _split_by_mask(self, merged: pl.DataFrame) -> None:
        """Which of the counted rows are scored where, and why the others are not."""
        for line in merged.iter_rows(named=True):
            value = tuple(line[k] for k in self.keys)
            missing = set((line["_missing"] or "").split("\x1f"))
            for i, mask in enumerate(self.masks):
                if line["_scored"] and missing.isdisjoint(mask):
                    scored = self.scored_rows.setdefault(value, {})
                    scored[i] = scored.get(i, 0) + line["len"]
                else:
                    why = self._absence(mask, line) if line["_scored"] else line["_reason"] or "no reason given"
                    reasons = self.unscored_rows.setdefault(value, {}).setdefault(i, {})
                    reasons[why] = reasons.get(why, 0) + line["len"]

    def _absence(self, mask: tuple[str, ...], line: Mapping[str, Any]) -> str:
        """Why rows that are scored have nothing for a figure."""
        words, column = self.absent.get(mask, ("", ""))
        return (column and line[f"_why {column}"]) or words or f"no {'/'.join(mask)}"

    def _alike(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Figures that need more columns and yet score as many rows score the same ones: one mask serves them all."""
        scored = [sum(of_slice.get(i, 0) for of_slice in self.scored_rows.values()) for i in range(len(self.masks))]
        stand_ins: dict[tuple[str, ...], tuple[str, ...]] = {}
        apart: list[int] = []
        # By the columns that tell whether a row has a value: those of a loss and of a squared error are the same.
        told_by = [{root for c in mask for root in self.table.told_by[c]} for mask in self.masks]
        for i in sorted(range(len(self.masks)), key=lambda i: len(told_by[i])):
            # Fewer columns can only score more rows. Rows that all are scored need no mask to be compared.
            same = (k for k in apart if scored[k] == scored[i] and (scored[i] == self.rows or told_by[k] <= told_by[i]))
            first = next(same, None)
            if first is None:
                apart.append(i)
            else:
                stand_ins[self.masks[i]] = self.masks[first]
        return stand_ins

    def n(self, statistic: AnyStatistic, value: SliceValue) -> int:
        return self.scored_rows.get(value, {}).get(self.masks.index(statistic.columns), 0)

    def unscored(self, statistic: AnyStatistic, value: SliceValue) -> dict[str, int]:
        return self.unscored_rows.get(value, {}).get(self.masks.index(statistic.columns), {})

    def clusters(self, statistic: AnyStatistic, value: SliceValue) -> int | None:
        """How many clusters have a row that is scored for this figure; None where rows are not clustered."""
        if not self.table.clustered:
            return None
        return self.cluster_counts[self.masks.index(statistic.columns)].get(value, 0)

    def units(self, statistic: AnyStatistic) -> Floats:
        """How many independent units each slice has for this figure: clusters, or rows where there are none."""
        return np.array([self.independent(statistic, value) for value in self.values], dtype=np.float64)

    def independent(self, statistic: AnyStatistic, value: SliceValue) -> int:
        """The same for one slice."""
        clusters = self.clusters(statistic, value)
        return self.n(statistic, value) if clusters is None else clusters

    def within(self, batch: pl.DataFrame, chosen: range) -> tuple[Indexes | None, pl.DataFrame]:
        """The rows of the chosen slices, with their slices counted from the first chosen one."""
        codes = self.codes(batch)
        if codes is None or len(chosen) == len(self.values):
            return codes, batch
        inside = (codes >= chosen.start) & (codes < chosen.stop)
        if inside.all():
            return codes - chosen.start, batch
        return codes[inside] - chosen.start, batch.filter(pl.Series(inside))

    def codes(self, batch: pl.DataFrame) -> Indexes | None:
        """The number of each row's slice; None where all rows are one."""
        if self.code is None:
            return None
        if self._kinds is not None:
            kinds = batch.select(slice_text(self.by[0]).cast(self._kinds)).to_series()
            return np.asarray(kinds.to_physical().to_numpy(), dtype=np.intp)
        text = batch.select([slice_text(c) for c in self.by]).rename(dict(zip(self.by, self.keys, strict=True)))
        joined = text.join(self.code, on=self.keys, how="left", maintain_order="left")
        return joined["_code"].to_numpy().astype(np.intp)

    def figure(self, statistic: AnyStatistic, value: SliceValue, number: Floats, interval: Interval) -> Figure:
        """The number that a statistic has in a slice, with what is counted there."""
        return Figure(
            statistic.name,
            statistic.label,
            as_number(number),
            self.n(statistic, value),
            self.clusters(statistic, value),
            self.unscored(statistic, value),
            interval.low,
            interval.high,
            interval.method,
            interval.absent,
            interval.beside,
            statistic.direction,
            statistic.range,
            dict(zip(self.by, value, strict=True)),
            interval.bounds,
        )
