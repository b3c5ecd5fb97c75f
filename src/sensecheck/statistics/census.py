"""Which rows a slicing has, how many of them each figure scores, and why others are not scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.statistics.hashing import hash_ids
from sensecheck.statistics.statistic import AnyStatistic, Statistic
from sensecheck.statistics.table import Slice, SliceError, Table, defined_rows, lacks, slice_text

MAX_SLICE_VALUES = 1000


class Census:
    """Which values a slicing has, how many rows each figure scores there, and why others are not scored."""

    def __init__(self, table: Table, by: Slice) -> None:
        self.table = table
        self.by = by
        self.masks = list(dict.fromkeys(s.columns for s in table.statistics))
        self.keys = [f"_by{i}" for i in range(len(by))]
        columns = list(dict.fromkeys(c for mask in self.masks for c in mask))
        owner = [table.cluster] if table.clustered and table.cluster else []
        self.cross = table.crossed(by)
        counts: list[pl.DataFrame] = []
        clusters: list[pl.DataFrame] = []
        complete = 0
        # In words, or by a column that says it row by row; figures of the same columns lack them for the same reason.
        self.absent = {s.columns: (s.absent, s.absent_column) for s in table.statistics if isinstance(s, Statistic)}
        self.whys = [f"_why {c}" for c in table.absences]
        wanted = [*by, "scored", "reason", *columns, *owner, *table.absences]
        for batch in table.batches(wanted) if self.cross is None else [self.cross]:
            missing = {c: ~defined_rows(batch, c) for c in columns if lacks(batch, c)}
            all_scored = "scored" not in batch.columns or bool(batch["scored"].all())
            told = pl.DataFrame()
            if by:
                told = batch.select([slice_text(c).alias(k) for c, k in zip(by, self.keys, strict=True)])
            if self.cross is None and not missing and all_scored:
                # The usual case, at little cost: every row of the piece is scored for every figure.
                complete += len(batch)
                if by:
                    counts.append(told.group_by(self.keys).len())
            else:
                counts.append(self._counted(batch, told, columns, missing))
            if owner:
                # Hashes of eight bytes rather than names: there may be very many clusters.
                told = pl.DataFrame([*told.get_columns(), pl.Series("_owner", hash_ids(batch[owner[0]]))])
                told = told if all_scored else told.filter(batch["scored"])
                clusters.append(told.unique())
        if complete and not by:
            counts.append(pl.DataFrame({"len": [complete]}, schema={"len": pl.UInt64}))
        merged = self._merged(counts)
        self.rows = int(merged["len"].sum()) if len(merged) else 0
        self.complete = complete == self.rows > 0
        self.values = [tuple(row) for row in merged.select(self.keys).unique().sort(self.keys).rows()] if by else [()]
        if len(self.values) > MAX_SLICE_VALUES:
            raise SliceError(
                f"cannot slice by {'×'.join(by)}: it has {len(self.values):,} values; a slice is a category with "
                f"at most {MAX_SLICE_VALUES:,}. Bin it, or choose another column."
            )
        self.code = (
            pl.DataFrame(self.values, schema=dict.fromkeys(self.keys, pl.String), orient="row").with_row_index("_code")
            if by
            else None
        )
        self.cluster_counts: dict[tuple[Any, ...], int] = {}
        if clusters:
            distinct = pl.concat(clusters).unique()
            if by:
                grouped = distinct.group_by(self.keys).len()
                self.cluster_counts = {tuple(r[:-1]): int(r[-1]) for r in grouped.rows()}
            else:
                self.cluster_counts = {(): len(distinct)}
        # One small dictionary a slice, rather than a filter for every figure of every slice.
        self.scored_rows: dict[tuple[Any, ...], dict[str, int]] = {}
        self.unscored_rows: dict[tuple[Any, ...], dict[str, dict[str, int]]] = {}
        for line in merged.iter_rows(named=True):
            value = tuple(line[k] for k in self.keys)
            absent = set((line["_missing"] or "").split("\x1f"))
            for i, mask in enumerate(self.masks):
                flag = f"_ok{i}"
                if line["_scored"] and absent.isdisjoint(mask):
                    per = self.scored_rows.setdefault(value, {})
                    per[flag] = per.get(flag, 0) + line["len"]
                else:
                    why = (line["_reason"] or "no reason given") if not line["_scored"] else self._absence(mask, line)
                    reasons = self.unscored_rows.setdefault(value, {}).setdefault(flag, {})
                    reasons[why] = reasons.get(why, 0) + line["len"]
        self.alike = self._alike()

    def _absence(self, mask: tuple[str, ...], line: Mapping[str, Any]) -> str:
        """Why rows that are scored have nothing for a figure."""
        words, column = self.absent.get(mask, ("", ""))
        return words or (column and line[f"_why {column}"]) or f"no {'/'.join(mask)}"

    def _counted(
        self, batch: pl.DataFrame, told: pl.DataFrame, columns: Sequence[str], missing: Mapping[str, NDArray[np.bool_]]
    ) -> pl.DataFrame:
        """How often each slice, reason and set of missing columns occurs."""
        sets = np.zeros(len(batch), dtype=np.int64)
        names = [""]
        for column in columns:
            if column not in missing:
                continue
            # Few sets occur: they are numbered anew after each column, so that any number of columns will do.
            found, sets = np.unique(2 * sets + missing[column], return_inverse=True)
            names = [f"{names[k // 2]}\x1f{column}" if k & 1 else names[k // 2] for k in found.tolist()]
        nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(batch))
        scored = batch["scored"] if "scored" in batch.columns else pl.repeat(True, len(batch), eager=True)
        reason = batch["reason"].cast(pl.String) if "reason" in batch.columns else nothing
        keyed = pl.DataFrame(
            [
                *told.get_columns(),
                scored.alias("_scored"),
                # Why a row is not scored; of rows that are, nobody asks.
                nothing.zip_with(scored, reason).alias("_reason"),
                *(batch[c].cast(pl.String).alias(why) for c, why in zip(self.table.absences, self.whys, strict=True)),
                pl.Series("_set", sets.astype(np.int64)),
            ]
        )
        keys = [*self.keys, "_scored", "_reason", *self.whys, "_set"]
        if "len" in batch.columns and batch is self.cross:
            grouped = keyed.with_columns(batch["len"]).group_by(keys).agg(pl.col("len").sum())
        else:
            grouped = keyed.group_by(keys).len()
        return grouped.with_columns(
            pl.Series("_missing", [names[k] for k in grouped["_set"].to_list()], dtype=pl.String)
        ).drop("_set")

    def _merged(self, counts: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """All counts together; where a piece does not say, its rows are scored and lack nothing."""
        known = {
            **dict.fromkeys(self.keys, pl.String()), "_scored": pl.Boolean(), "_reason": pl.String(),
            **dict.fromkeys(self.whys, pl.String()), "_missing": pl.String(), "len": pl.UInt64(),
        }  # fmt: skip
        usual = {"_scored": True, "_reason": None, "_missing": "", **dict.fromkeys(self.whys)}
        full = [
            f.select([
                (pl.col(c) if c in f.columns else pl.lit(usual[c])).cast(kind).alias(c) for c, kind in known.items()
            ])
            for f in counts
        ] or [pl.DataFrame(schema=known)]  # fmt: skip
        keys = [c for c in known if c != "len"]
        return pl.concat(full).group_by(keys).agg(pl.col("len").sum()).sort(keys)

    def _alike(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Figures that need more columns and yet score as many rows score the same ones: one mask serves them all."""
        scored = [
            sum(per.get(f"_ok{i}", 0) for per in self.scored_rows.values()) for i, _ in enumerate(self.masks)
        ]  # fmt: skip
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        kept: list[int] = []
        for i in sorted(range(len(self.masks)), key=lambda i: len(self.masks[i])):
            mine = set(self.masks[i])
            # Fewer columns can only score more rows. Rows that all are scored need no mask to be compared.
            same = (
                k for k in kept if scored[k] == scored[i] and (scored[i] == self.rows or set(self.masks[k]) <= mine)
            )
            first = next(same, None)
            if first is None:
                kept.append(i)
            else:
                found[self.masks[i]] = self.masks[first]
        return found

    def n(self, statistic: AnyStatistic, value: tuple[Any, ...]) -> int:
        return self.scored_rows.get(value, {}).get(self._flag(statistic), 0)

    def unscored(self, statistic: AnyStatistic, value: tuple[Any, ...]) -> dict[str, int]:
        return self.unscored_rows.get(value, {}).get(self._flag(statistic), {})

    def clusters(self, value: tuple[Any, ...]) -> int | None:
        return self.cluster_counts.get(value, 0) if self.table.clustered else None

    def _flag(self, statistic: AnyStatistic) -> str:
        return f"_ok{self.masks.index(statistic.columns)}"

    def codes(self, batch: pl.DataFrame) -> NDArray[np.intp] | None:
        if self.code is None:
            return None
        text = batch.select([slice_text(c) for c in self.by]).rename({c: f"_by{i}" for i, c in enumerate(self.by)})
        joined = text.join(self.code, on=self.keys, how="left", maintain_order="left")
        return joined["_code"].to_numpy().astype(np.intp)
