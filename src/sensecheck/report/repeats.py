"""Several samples per example: how often one of k is right, how often all are, and where the variance lies.

Rows that share an id are samples of one example. A table with one row an example is made of them, and every figure is a
statistic over that table, so that each has its n, its unscored examples, an interval and slices like any other:

    pass@k   1 − C(n−c, k) / C(n, k)    at least one of k samples is right     (any@k where true is bad)
    pass^k   C(c, k) / C(n, k)          all of k samples are right             (all@k where true is bad)
    flips    0 < c < n                  neither all right nor all wrong
    majority                            the answer that most samples give is right (where answers have keys)

with n the scored samples of an example and c those that are right; and the variance of a row, split into that between
and that within examples by the analysis of variance for unequal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import frexp, inf, isfinite
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.joining import SAMPLE_NAMES
from sensecheck.inputs.opening import is_path, names_files
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import Format, TableBatch, TableReader
from sensecheck.report.tables import Table, decimal, interval
from sensecheck.statistics.arrays import Floats
from sensecheck.statistics.estimate import estimate
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.measurements import RESERVED, Frames, Measurements
from sensecheck.statistics.statistic import ONE, AnyStatistic, Explanation, Statistic, mean_of, ratio
from sensecheck.statistics.table import Slice, is_defined, slice_text

SAMPLE_COLUMNS = SAMPLE_NAMES
"""Columns that tell the samples of an example apart where nobody names one."""

NAME = (
    r"(?:\w+\.)?(?:(?:pass@|pass\^|any@|all@)[1-9][0-9]*|flips|majority|between|within|icc|se|se_one_sample|"
    r"se_many_samples)"
)
"""How a figure of several samples per example is called: which numbers k there are, only the data say."""

ANSWER_KEY = "answer_key"
"""A measurement column: equal answers have the same text there, samples that gave none have nothing."""
_MOST_LOOKED_AT = 5_000_000
"""Up to so many rows are looked at for repeats that nobody named."""
_FRACTION_BITS = 40
"""Numbers are added on a grid of so many bits below the largest, so that no order of rows changes a digit."""
_CHEN = "Chen et al. 2021, Evaluating Large Language Models Trained on Code"
_YAO = "Yao, Shinn, Razavi and Narasimhan 2024, τ-bench: A Benchmark for Tool-Agent-User Interaction"
_SEARLE = "Searle, Casella and McCulloch 1992, Variance Components"
_WANG = (
    "Wang, Wei, Schuurmans, Le, Chi, Narang, Chowdhery and Zhou 2023, Self-Consistency Improves Chain of Thought "
    "Reasoning in Language Models, ICLR"
)
_MILLER = "Miller 2024, Adding Error Bars to Evals"


# -- which rows are samples of one example ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Samples:
    """What the rows of a run say of themselves: how many examples they are samples of."""

    column: str
    rows: int
    examples: int
    same: int
    """Rows that have both the id and the sample of another."""
    split: str
    """An example whose rows are in different clusters, or nothing."""


def check_repeat(repeat: str | None) -> None:
    """Refuse what cannot tell samples apart."""
    if repeat in RESERVED:
        raise InputError(
            field="repeat", expected="the column that tells the samples of one example apart", got=shown(repeat),
            hint="Rows with the same id are samples of one example; name the column in which they differ.",
            reason=Reason.BAD_OPTION,
        )  # fmt: skip


def check_columns(
    data: Any, repeat: str | None, columns: Mapping[str, str], *, ids: Sequence[str] = ("id",), format: Format = "auto"
) -> None:
    """Refuse a table without that column, or without ids, before a run is begun. A stream is not looked at: it can be
    read only once.
    """
    if repeat is None or not _rereadable(data):
        return
    first = next(iter(TableReader(data, columns=columns, limit=1, skip_bad=True, format=format)), None)
    if first is not None:
        first.require([repeat])
        if not any(name in first.frame.columns for name in ids):
            raise without_ids(first.path)


def without_ids(path: str | None = None) -> InputError:
    return InputError(
        path=path or None, field="id", expected="a column that names the example, as --repeat (repeat=) needs",
        got="none", hint="Rows with the same id are samples of one example. Name yours with --columns id=COLUMN.",
        reason=Reason.NO_COLUMN,
    )  # fmt: skip


def sample_column(first: TableBatch) -> str | None:
    """The column by which rows that share an id may be samples, by the first rows of a table."""
    named = "id" in first.frame.columns
    return next((name for name in SAMPLE_COLUMNS if named and name in first.frame.columns), None)


def samples_in(batch: TableBatch, column: str) -> pl.Series:
    """That column of some rows, as text; of rows from a file without it, nothing."""
    if column in batch.frame.columns:
        return batch.spelled(column)
    return pl.Series(column, [None], dtype=pl.String).new_from_index(0, len(batch.frame))


def example_ids(batch: TableBatch, names: pl.Series) -> pl.Series:
    """The ids as they stand in the input, without the file's name: samples of one example may be in several files."""
    if "id" not in batch.frame.columns:
        raise without_ids(batch.path)
    return batch.spelled("id").fill_null(names).alias("id")


def _rereadable(data: Any) -> bool:
    if isinstance(data, pl.LazyFrame):
        return False
    if is_path(data):
        return str(data) != "-"
    if isinstance(data, list | tuple):
        return all(not is_path(item) or str(item) != "-" for item in data)
    return not names_files(data) and (isinstance(data, Mapping | pl.DataFrame) or hasattr(data, "columns"))


def samples_of(rows: Measurements, column: str) -> Samples:
    """Whether rows share ids, whether samples differ in the column, whether clusters keep them together."""
    key = _example_column(rows)
    clustered = "cluster" in rows.schema
    parts = []
    for batch in rows.batches([key, column, *(["cluster"] if clustered else [])]):
        # Hashes, not names: what is held does not grow with their length.
        marks = [
            pl.col(name).cast(pl.String).fill_null("").hash(seed).alias(mark)
            for seed, (name, mark) in enumerate([(key, "example"), (column, "sample"), *([("cluster", "owner")])])
            if name in batch.columns
        ]
        parts.append(batch.select(marks))
    hashed = pl.concat(parts)
    examples = hashed["example"].n_unique()
    distinct = hashed.select("example", "sample").n_unique()
    split = ""
    if clustered and hashed.select("example", "owner").n_unique() > examples:
        owners = hashed.select("example", "owner").unique().group_by("example").len().filter(pl.col("len") > 1)
        split = _named(rows, key, owners["example"])
    return Samples(column, len(hashed), examples, len(hashed) - distinct, split)


def _named(rows: Measurements, key: str, hashes: pl.Series) -> str:
    """The first example with one of these hashes."""
    for batch in rows.batches([key]):
        names = batch[key].cast(pl.String).fill_null("")
        found = names.filter(names.hash(0).is_in(hashes.implode()))
        if len(found):
            return str(found[0])
    return ""


def taken(rows: Measurements, repeat: str | None, cluster: str | None) -> tuple[Samples | None, list[str]]:
    """The samples, where there are any, and what to say where something looks like them and is not."""
    if repeat is not None:
        samples = samples_of(rows, repeat)
        if samples.split:
            raise InputError(
                field="cluster", expected="the samples of one example in one cluster",
                got=f"several clusters for the example {shown(samples.split, 60)}",
                hint="Leave out --cluster (samples of an example then belong together), or --repeat.",
                reason=Reason.BAD_OPTION,
            )  # fmt: skip
        return samples, []
    column = next((name for name in SAMPLE_COLUMNS if name in rows.schema), None)
    if column is None or "unit" in rows.schema or rows.height > _MOST_LOOKED_AT:
        return None, []
    samples = samples_of(rows, column)
    if samples.examples == samples.rows:
        return None, []
    if samples.split:
        why = f"--cluster {cluster} puts some of them apart" if cluster else "they are in different clusters"
        return None, [f"rows with the same id have a column {column!r}, but {why}: they are not taken as samples"]
    if samples.same:
        return None, [
            f"rows with the same id have a column {column!r}, but {samples.same:,} have the same value there too: they "
            f"are not taken as samples of one example (--repeat {column} counts each as one)"
        ]
    return samples, []


def _example_column(rows: Measurements) -> str:
    return "unit" if "unit" in rows.schema else "id"


# -- the figures -----------------------------------------------------------------------------------------------------


@dataclass
class Repeats:
    """The figures of several samples per example."""

    column: str
    """What tells the samples of an example apart."""
    examples: int
    samples: tuple[int, int, int]
    """Samples of an example: the fewest, as many as most have, the most."""
    at: list[int]
    """The numbers k of pass@k."""
    figures: list[Figure] = field(default_factory=list)
    slices: dict[Slice, list[list[Figure]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def figure(self, name: str) -> Figure:
        """By the whole name (`accuracy.pass@4`), or by its last part: the first figure that has it."""
        for figure in self.figures:
            if figure.name == name:
                return figure
        for figure in self.figures:
            if figure.name.endswith(f".{name}"):
                return figure
        raise KeyError(name)

    @property
    def names(self) -> list[str]:
        """All names that `figure` knows."""
        whole = [f.name for f in self.figures]
        return list(dict.fromkeys([*whole, *(name.rpartition(".")[2] for name in whole)]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "examples": self.examples,
            "samples": list(self.samples),
            "at": list(self.at),
            "figures": [f.to_dict() for f in self.figures],
            "slices": [
                {"by": list(by), "values": [[f.to_dict() for f in figures] for figures in rows]}
                for by, rows in self.slices.items()
            ],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], figure: Callable[[Mapping[str, Any]], Figure]) -> Repeats:
        fewest, usual, most = plain["samples"]
        return cls(
            str(plain["column"]), int(plain["examples"]), (fewest, usual, most), list(plain["at"]),
            [figure(f) for f in plain["figures"]],
            {tuple(s["by"]): [[figure(f) for f in row] for row in s["values"]] for s in plain["slices"]},
            list(plain["notes"]),
        )  # fmt: skip

    def tables(self) -> list[Table]:
        """One of k samples and all of k; where the variance lies; the first true/false figure by slice."""
        by_name = {f.name: f for f in self.figures}
        of = list(dict.fromkeys(f.name.rpartition(".")[0] for f in self.figures))
        reached = Table(
            f"several samples per example: {self.examples:,} examples, up to {self.samples[2]:,} samples each",
            ["figure", "k", "at least one of k", "all of k", "n", "unscored"],
            notes=list(self.notes),
        )
        signs: dict[str, None] = {}
        for name in of:
            for k in self.at:
                parts = _parts(by_name, name, k)
                one, every = (by_name.get(f"{name}.{part}") for part in parts)
                if one is not None and every is not None:
                    signs.setdefault(" and ".join(part.removesuffix(str(k)) + "k" for part in parts))
                    row = [_subject(one), str(k), _with_ends(one), _with_ends(every), f"{one.n:,}"]
                    reached.rows.append([*row, f"{one.unscored_total:,}"])
        if signs:
            reached.notes.append(
                f"at least one and all of k samples: {', '.join(signs)}; unscored: examples with fewer than k scored "
                "samples"
            )
        spread = Table("where the variance of a row lies", _SPREAD)
        for name in of:
            between, within, icc, *errors = (by_name[f"{name}.{part}"] for part, *_ in _VARIANCES)
            flips = by_name.get(f"{name}.flips")
            cells = ["–" if flips is None else f"{_with_ends(flips)} of {flips.n:,}"]
            cells += [
                decimal(between.value),
                decimal(within.value),
                _with_ends(icc),
                *(decimal(e.value) for e in errors),
            ]
            spread.rows.append([_subject(between), *cells, f"{between.n:,}", f"{between.unscored_total:,}"])
        if not reached.rows:
            spread.notes, reached.notes = reached.notes, []
        return [table for table in (reached, self._majorities(of), spread) if table.rows] + self._slice_tables(of)

    def _majorities(self, of: Sequence[str]) -> Table:
        """What the answer is worth that most samples give."""
        known = {f.name: f for f in self.figures}
        table = Table("the answer that most samples of an example give", ["figure", "right", "n", "unscored"])
        for figure in (known[f"{name}.majority"] for name in of if f"{name}.majority" in known):
            table.rows.append([_subject(figure), _with_ends(figure), f"{figure.n:,}", f"{figure.unscored_total:,}"])
        return table

    def _slice_tables(self, of: Sequence[str]) -> list[Table]:
        tables = []
        for by, rows in self.slices.items():
            shown_parts = [part for part in self._sliced_parts(of) if rows]
            if not shown_parts:
                continue
            first = [f for f in rows[0] if f.name in shown_parts]
            head = " × ".join(by)
            table = Table(f"several samples, by {head}", [head, "n", *(f.title for f in first)])
            for figures in rows:
                chosen = [f for f in figures if f.name in shown_parts]
                name = " × ".join(str(v) for v in chosen[0].slice.values())
                table.rows.append([name, f"{max(f.n for f in chosen):,}", *map(_with_ends, chosen)])
            tables.append(table)
        return tables

    def _sliced_parts(self, of: Sequence[str]) -> list[str]:
        known = {f.name for f in self.figures}
        for name in of:
            one, every = _parts(known, name, self.at[-1])
            if f"{name}.{one}" in known:
                parts = (one, every, "flips", *(["majority"] if f"{name}.majority" in known else []))
                return [f"{name}.{part}" for part in parts]
        return []


_SPREAD = (
    "figure", "examples that flip", "between examples", "within", "ICC", "standard error", "with one sample",
    "with very many", "n", "unscored",
)  # fmt: skip


def _parts(known: Any, name: str, k: int) -> tuple[str, str]:
    """The last parts of the names of a figure in one of k samples and in all of k."""
    return (f"pass@{k}", f"pass^{k}") if f"{name}.pass@{k}" in known else (f"any@{k}", f"all@{k}")


def _subject(figure: Figure) -> str:
    return figure.title.rpartition(": ")[0]


def _with_ends(figure: Figure) -> str:
    ends = interval(figure)
    return decimal(figure.value) if ends == "–" else f"{decimal(figure.value)} {ends}"


def repeats(
    rows: Measurements,
    statistics: Sequence[AnyStatistic],
    headline: Sequence[str],
    samples: Samples,
    *,
    slices: Sequence[Slice] = (),
    options: IntervalOptions | None = None,
    outcome: str = "",
) -> Repeats:
    """The figures of several samples per example, for every headline figure that is a mean; that of the column
    `outcome` has a majority where answers have keys."""
    means = [s for s in statistics if isinstance(s, Statistic) and s.name in headline and is_mean(s)]
    by_example = _ByExample(rows, means, slices)
    counts = np.sort(by_example.frame["_rows"].to_numpy())[::-1]
    usual = int(counts[(len(counts) + 1) // 2 - 1])
    found = Repeats(samples.column, len(counts), (int(counts[-1]), usual, int(counts[0])), numbers_of_samples(usual))
    found.notes = _notes(samples, found, by_example.coarser)
    made: list[Statistic] = []
    columns: dict[str, pl.Series] = {}
    for mean in means:
        n, right = (by_example.frame[f"{mean.name}.{part}"].to_numpy() for part in ("n", "sum"))
        if mean.name in by_example.marks:
            for k in found.at:
                one, every = _reached(mean, k)
                made += [one, every]
                columns[one.sums[0]], columns[every.sums[0]] = _of_k(n, right, k)
            made.append(_flips(mean))
            flipping = pl.Series((right > 0) & (right < n))
            columns[made[-1].sums[0]] = pl.select(pl.when(pl.Series(n >= 2)).then(flipping)).to_series()
            if mean.sums[0] == outcome and ANSWER_KEY in rows.schema:
                made.append(_majority(mean))
                columns[made[-1].sums[0]] = by_example.majority(rows, outcome)
        made += _variances(mean)
    table = Frames(by_example.table(columns))
    crossings = [by for by in slices if all(column in by_example.constant for column in by)]
    estimates = estimate(table, made, slices=crossings, options=options)
    found.figures, found.slices = estimates.overall, estimates.slices
    if len(crossings) < len(slices):
        left_out = ", ".join(" × ".join(by) for by in slices if by not in crossings)
        found.notes.append(
            f"by {left_out}: samples of one example differ there, so that examples cannot be sliced by it"
        )
    # True/false figures first: theirs are the samples that people count.
    told = sorted(means, key=lambda mean: mean.name not in by_example.marks)[:1]
    found.notes += [sentence for mean in told if (sentence := _advice(mean, found, by_example.coarser))]
    return found


def is_mean(statistic: Statistic) -> bool:
    """Whether the figure is the mean of one column over rows."""
    plain = statistic.bins is None and not statistic.vector and not statistic.anchors
    return plain and len(statistic.sums) == 2 and statistic.sums[1] == ONE and statistic.finish is ratio


def numbers_of_samples(usual: int) -> list[int]:
    """1, 2, 4, 8 … and the number of samples that most examples have.

    >>> numbers_of_samples(10), numbers_of_samples(8), numbers_of_samples(1)
    ([1, 2, 4, 8, 10], [1, 2, 4, 8], [1])
    """
    powers = [1 << power for power in range(usual.bit_length()) if 1 << power < usual]
    return [*powers, usual]


class _ByExample:
    """What is summed over the samples of each example: one row an example, whatever batch its samples are in."""

    def __init__(self, rows: Measurements, means: Sequence[Statistic], slices: Sequence[Slice]) -> None:
        self.means = list(means)
        self.derived: dict[str, pl.Expr] = {}
        for mean in means:
            self.derived.update({mean.sums[0]: mean.derived[mean.sums[0]]} if mean.sums[0] in mean.derived else {})
        self.by = list(dict.fromkeys(column for crossing in slices for column in crossing))
        self.key = _example_column(rows)
        schema = rows.schema
        roots = [root for mean in means for root in self._roots(mean.sums[0])]
        own = [self.key, *(c for c in ("scored", "weight", "cluster") if c in schema)]
        self.columns = list(dict.fromkeys([*own, *self.by, *roots]))
        kinds = rows_schema(rows, self.columns, self.derived)
        self.marks = {mean.name for mean in means if kinds[mean.sums[0]] == pl.Boolean}
        self.scales = {mean.name: self._scale(rows, mean) for mean in means if mean.name not in self.marks}
        self.frame = self._summed(rows, kinds)
        self.constant = {
            column for column in self.by if (self.frame[f"_least {column}"] == self.frame[f"_most {column}"]).all()
        }
        self.coarser = "cluster" in schema and not (self.frame["_cluster"] == self.frame["_example"]).all()

    def _roots(self, column: str) -> list[str]:
        return self.derived[column].meta.root_names() if column in self.derived else [column]

    def _scale(self, rows: Measurements, mean: Statistic) -> float:
        """A power of two above all values, which the grid of the sums hangs from."""
        largest = max(map(abs, mean.range))
        if not isfinite(largest):
            column, largest = mean.sums[0], 0.0
            for batch in rows.batches(list(dict.fromkeys([*self._roots(column)]))):
                values = batch.select(self.derived.get(column, pl.col(column)).cast(pl.Float64).alias(column))[column]
                known = values.filter(values.is_finite()).abs().max()
                largest = max(largest, float(known or 0.0))  # type: ignore[arg-type]
        return float(2.0 ** frexp(largest)[1]) if largest > 0 else 1.0

    def _summed(self, rows: Measurements, kinds: pl.Schema) -> pl.DataFrame:
        first = [pl.len().cast(pl.Int64).alias("_rows")]
        again = [pl.col("_rows").sum()]
        for column in self.by:
            text = slice_text(column)
            first += [text.min().alias(f"_least {column}"), text.max().alias(f"_most {column}")]
            again += [pl.col(f"_least {column}").min(), pl.col(f"_most {column}").max()]
        if "cluster" in kinds:
            first.append(pl.col("cluster").cast(pl.String).fill_null("").first().alias("_cluster"))
            again.append(pl.col("_cluster").first())
        if "weight" in kinds:
            weight = pl.col("weight").cast(pl.Float64)
            first += [weight.min().alias("_lightest"), weight.max().alias("_heaviest")]
            again += [pl.col("_lightest").min(), pl.col("_heaviest").max()]
        scored = pl.col("scored") if "scored" in kinds else pl.lit(True)
        for mean in self.means:
            column, name = mean.sums[0], mean.name
            counts = scored & is_defined(column, kinds)
            if name in self.marks:
                total = squares = pl.col(column).cast(pl.Int64)
            else:
                grid = 2.0**_FRACTION_BITS
                value = pl.col(column).cast(pl.Float64) / self.scales[name]
                total, squares = ((part * grid).round().cast(pl.Int64, strict=False) for part in (value, value * value))
            first += [
                counts.sum().cast(pl.Int64).alias(f"{name}.n"),
                pl.when(counts).then(total).sum().alias(f"{name}.sum"),
                pl.when(counts).then(squares).sum().alias(f"{name}.squares"),
            ]
            again += [pl.col(f"{name}.{part}").sum() for part in ("n", "sum", "squares")]
        parts = []
        for batch in rows.batches(self.columns):
            values = batch.with_columns(**self.derived) if self.derived else batch
            parts.append(values.group_by(pl.col(self.key).cast(pl.String).fill_null("").alias("_example")).agg(first))
        summed = pl.concat(parts, how="vertical_relaxed")
        if len(parts) > 1:
            summed = summed.group_by("_example").agg(again)
        return summed.sort("_example")

    def majority(self, rows: Measurements, outcome: str) -> pl.Series:
        """By example: whether the answer that most of its scored samples give is right. Of answers given as often, the
        one that came first counts; no answer at all only where no sample has one."""
        parts, seen = [], 0
        scored = pl.col("scored") if "scored" in rows.schema else pl.lit(True)
        for batch in rows.batches([self.key, outcome, ANSWER_KEY, *(["scored"] if "scored" in rows.schema else [])]):
            votes = batch.with_row_index("_place", offset=seen).filter(scored & pl.col(outcome).is_not_null())
            seen += len(batch)
            example = pl.col(self.key).cast(pl.String).fill_null("").alias("_example")
            parts.append(votes.group_by(example, ANSWER_KEY).agg(
                pl.len().alias("_votes"), pl.col("_place").min(), pl.col(outcome).sort_by("_place").first()
            ))  # fmt: skip
        groups = pl.concat(parts).group_by("_example", ANSWER_KEY).agg(
            pl.col("_votes").sum(), pl.col("_place").min(), pl.col(outcome).sort_by("_place").first()
        )  # fmt: skip
        ranked = groups.sort(
            pl.col(ANSWER_KEY).is_null(), pl.col("_votes"), pl.col("_place"), descending=[False, True, False]
        )
        chosen = ranked.group_by("_example", maintain_order=True).agg(pl.col(outcome).first())
        return self.frame.select("_example").join(chosen, on="_example", how="left", maintain_order="left")[outcome]

    def table(self, columns: Mapping[str, pl.Series]) -> pl.DataFrame:
        """Measurements with one row an example."""
        frame = self.frame
        made: dict[str, Any] = {"id": frame["_example"]}
        if self.coarser:
            made["cluster"] = frame["_cluster"]
        if "_lightest" in frame.columns:
            # Weights of an example's samples are alike as a rule; where not, it weighs as much as their middle.
            weights = (frame["_lightest"] + frame["_heaviest"]) / 2
            usual = float(weights.to_numpy().mean())
            made["weight"] = weights / usual if usual > 0 else weights
        made |= {column: frame[f"_least {column}"] for column in sorted(self.constant)}
        for mean in self.means:
            name = mean.name
            n, total, squares = (frame[f"{name}.{part}"].to_numpy() for part in ("n", "sum", "squares"))
            grid, scale = (1.0, 1.0) if name in self.marks else (2.0**_FRACTION_BITS, self.scales[name])
            sums = total / grid * scale
            there = pl.Series(n > 0)
            numbers = {
                "n": n.astype(np.float64),
                "n²": n.astype(np.float64) ** 2,
                "sum": sums,
                "sum²/n": sums**2 / np.maximum(n, 1),
                "squares": squares / grid * scale**2,
            }
            made |= {f"{name} {part}": pl.Series(values).set(~there, None) for part, values in numbers.items()}
        return pl.DataFrame({**made, **columns})


def rows_schema(rows: Measurements, columns: Sequence[str], derived: Mapping[str, pl.Expr]) -> pl.Schema:
    """The kinds of some columns, derived ones included."""
    empty = pl.DataFrame(schema={column: rows.schema[column] for column in columns})
    return (empty.with_columns(**derived) if derived else empty).schema


def _of_k(n: NDArray[np.int64], right: NDArray[np.int64], k: int) -> tuple[pl.Series, pl.Series]:
    """The chance that k of an example's samples hold one that is right, and that all are; null with fewer samples."""
    # Few pairs (n, c) occur: the products are made once for each.
    pairs, of_example = np.unique(np.column_stack([n, right]), axis=0, return_inverse=True)
    total, some = pairs[:, 0].astype(np.float64), pairs[:, 1].astype(np.float64)
    none_right = np.ones(len(pairs))
    all_right = np.ones(len(pairs))
    for drawn in range(k):
        left = np.maximum(total - drawn, 1.0)
        none_right *= np.maximum(total - some - drawn, 0.0) / left
        all_right *= np.maximum(some - drawn, 0.0) / left
    enough = pl.Series(n >= k)
    of_example = of_example.reshape(-1)
    return tuple(  # type: ignore[return-value]
        pl.Series(values[of_example]).set(~enough, None) for values in (1.0 - none_right, all_right)
    )


# -- what each figure is ---------------------------------------------------------------------------------------------


def _reached(mean: Statistic, k: int | str) -> tuple[Statistic, Statistic]:
    """A true/false figure in one of k samples, and in all of k. "Pass" is said only where true is good."""
    good = mean.direction == "higher"
    one, every = (f"pass@{k}", f"pass^{k}") if good else (f"any@{k}", f"all@{k}")
    word = "right" if good else "true"
    lacking = f"fewer than {k} scored samples" if k != 1 else "no scored sample"
    told = partial(mean_of, direction=mean.direction, absent=lacking)
    moved = "How alike the samples are (temperature), and the number k."
    return (
        told(f"{mean.name} {one}", f"{mean.name}.{one}", title=f"{mean.label}: {one}", explanation=Explanation(
            f"mean over examples of 1 − C(n−c, {k}) / C(n, {k}); n scored samples of an example, c of them {word}",
            f"How often at least one of {k} samples of an example is {word}. Unbiased, from all n samples of each "
            f"example; examples with fewer than {k} are unscored.",
            moved, _CHEN)),
        told(f"{mean.name} {every}", f"{mean.name}.{every}", title=f"{mean.label}: {every}", explanation=Explanation(
            f"mean over examples of C(c, {k}) / C(n, {k}); n scored samples of an example, c of them {word}",
            f"How often all of {k} samples of an example are {word}. Unbiased; examples with fewer than {k} are "
            "unscored.",
            moved, _YAO)),
    )  # fmt: skip


def _flips(mean: Statistic) -> Statistic:
    return mean_of(
        f"{mean.name} flips", f"{mean.name}.flips", title=f"{mean.label}: flips", absent="fewer than 2 scored samples",
        explanation=Explanation(
            "examples with 0 < c < n / examples with n ≥ 2; n scored samples of an example, c of them true",
            "The share of examples that come out now one way, now the other: neither all samples true nor all false.",
            "The number of samples: the more there are, the more examples flip at least once."),
    )  # fmt: skip


def _majority(mean: Statistic) -> Statistic:
    return mean_of(
        f"{mean.name} majority", f"{mean.name}.majority", title=f"{mean.label}: majority", direction=mean.direction,
        absent="no scored sample", explanation=Explanation(
            "examples whose most frequent answer is right / examples with a scored sample",
            "Self-consistency: the samples of an example vote with their answers, equal answers together. Of answers "
            "given as often, the one of the first sample counts; samples without an answer win only where all are.",
            "How alike the samples are (temperature), and their number.", _WANG),
    )  # fmt: skip


def _components(
    n2: Floats, total: Floats, between: Floats, squares: Floats, k: Floats, n: Floats
) -> tuple[Floats, Floats]:
    """The variance between examples and that within, by the analysis of variance for unequal numbers of samples."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_square_between = (between - total**2 / n) / (k - 1)
        within = np.where(n > k, np.maximum(squares - between, 0.0) / (n - k), np.nan)
        size = (n - n2 / n) / (k - 1)
        between_examples = np.where(k > 1, np.maximum((mean_square_between - within) / size, 0.0), np.nan)
    return np.asarray(between_examples), np.asarray(within)


def _between(*sums: Floats) -> Floats:
    return _components(*sums)[0]


def _within(*sums: Floats) -> Floats:
    return _components(*sums)[1]


def _icc(*sums: Floats) -> Floats:
    between, within = _components(*sums)
    return ratio(between, between + within)


def _error(*sums: Floats) -> Floats:
    between, within = _components(*sums)
    n2, n = sums[0], sums[-1]
    return np.asarray(np.sqrt(ratio(between * n2, n**2) + ratio(within, n)))


def _error_of_one(*sums: Floats) -> Floats:
    between, within = _components(*sums)
    return np.asarray(np.sqrt(ratio(between + within, sums[-2])))


def _error_of_many(*sums: Floats) -> Floats:
    return np.asarray(np.sqrt(ratio(_components(*sums)[0], sums[-2])))


_VARIANCES: tuple[tuple[str, str, Callable[..., Floats], float, Explanation], ...] = (
    ("between", "variance between examples", _between, inf, Explanation(
        "max(0, (MS between − MS within) / n₀), n₀ = (N − Σ n_i² / N) / (examples − 1)",
        "How much examples differ in what they give on average: some are hard, some easy. Estimated by the one-way "
        "analysis of variance with random effects, for unequal numbers of samples.", "Which examples were chosen.",
        _SEARLE)),
    ("within", "variance within examples", _within, inf, Explanation(
        "MS within: Σ (x − mean of its example)² / (N − examples)",
        "How much samples of one example differ from each other.", "Temperature, and whatever else makes samples vary.",
        _SEARLE)),
    ("icc", "intraclass correlation", _icc, 1.0, Explanation(
        "between / (between + within)",
        "The share of the variance of a row that lies between examples. Near 1, further samples of the same examples "
        "say little; near 0, a sample says as much as another example.", "Temperature.", _SEARLE)),
    ("se", "standard error", _error, inf, Explanation(
        "√(between · Σ n_i² / N² + within / N)",
        "Of the mean over all rows, with the samples that there are; examples are taken as independent of each other.",
        "The number of examples, and of samples.", _MILLER)),
    ("se_one_sample", "standard error with one sample", _error_of_one, inf, Explanation(
        "√((between + within) / examples)", "What it would be with one sample of each of these examples.",
        "The number of examples.", _MILLER)),
    ("se_many_samples", "standard error with very many samples", _error_of_many, inf, Explanation(
        "√(between / examples)",
        "What it would be with infinitely many samples of each of these examples: below this, only more examples help.",
        "The number of examples.", _MILLER)),
)  # fmt: skip


def _variances(mean: Statistic) -> list[Statistic]:
    parts = ("n²", "sum", "sum²/n", "squares")
    sums = (*(f"{mean.name} {part}" for part in parts), ONE, f"{mean.name} n")
    return [
        Statistic(
            f"{mean.name}.{name}", sums, finish, f"{mean.label}: {title}", range=(0.0, most), out_of="samples",
            absent="no scored sample", explanation=explanation,
        )
        for name, title, finish, most, explanation in _VARIANCES
    ]  # fmt: skip


def explained() -> list[Statistic]:
    """What `sensecheck explain` says of all these, for any figure."""
    good = replace(mean_of("right"), name="", title="", direction="higher")
    bad = replace(good, direction="lower")
    figures = [*_reached(good, "k"), *_reached(bad, "k"), _flips(good), _majority(good), *_variances(good)]
    return [replace(f, name=f.name.lstrip("."), title=f.label.lstrip(": ")) for f in figures]


# -- in words --------------------------------------------------------------------------------------------------------


def _notes(samples: Samples, found: Repeats, coarser: bool) -> list[str]:
    fewest, _, most = found.samples
    each = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    together = "one cluster" if coarser else "one example"
    notes = [
        f"{samples.rows:,} rows are samples of {samples.examples:,} examples, {each} each (they differ in "
        f"{samples.column!r}): rows of {together} are resampled together"
    ]
    if samples.same:
        notes.append(
            f"{samples.same:,} rows have the id and the {samples.column!r} of another row: each counts as a sample"
        )
    if most == 1:
        notes.append("no two rows have the same id: there is one sample an example")
    return notes


def _advice(mean: Statistic, found: Repeats, coarser: bool) -> str:
    """Whether more samples or more examples would help, in figures."""
    parts = ("icc", "se", "se_one_sample", "se_many_samples")
    numbers = [figure.value for figure in (found.figure(f"{mean.name}.{part}") for part in parts)]
    share, error, one, many = (value if isinstance(value, float) else float("nan") for value in numbers)
    if not all(map(isfinite, (share, error, one, many))):
        return ""
    return (
        f"{mean.label}: {share:.0%} of the variance of a row lies between examples; its standard error is "
        f"{decimal(error)}, with one sample an example it would be {decimal(one)}, with very many {decimal(many)}: for "
        "less, take more examples" + (" (clusters of examples are not counted in this)" if coarser else "")
    )
