"""Runs of the same question on the same input, side by side: differences, verdict, flips, tables for a paper."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from sensecheck.judges.figures import checked
from sensecheck.report.corrected import CorrectedDifference
from sensecheck.report.escaping import visible
from sensecheck.report.examples import outcome_words
from sensecheck.report.pairing import Pairing, pairing
from sensecheck.report.result import Result
from sensecheck.report.tables import Cell, Table, decimal, probability
from sensecheck.runs.writing import write_named
from sensecheck.stages import COMPARING, stage
from sensecheck.statistics.compare import ALPHA, ComparisonError, Difference, holm, steps
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.measurements import RESERVED, concatenated
from sensecheck.statistics.shared_rows import Overlap

DAGGER = "†"
# More values than this make no table that anyone reads.
_SLICE_VALUES = 40
_SLICE_COLUMNS = 4


@dataclass
class Comparison:
    """B minus A."""

    a: Result
    b: Result
    names: tuple[str, str]
    differences: list[Difference]
    flips: pl.DataFrame | None = None
    scored: list[Difference] = field(default_factory=list)
    """What could be scored in one run and not in the other, where a headline figure lost rows."""
    overlap: Overlap | None = None
    """Units of either run, and of both."""
    repeated: tuple[tuple[int, str] | None, ...] = (None, None)
    """Of either run, where several rows have one id and nothing tells them apart: how many ids, and the first."""
    corrected: CorrectedDifference | None = None
    """By people's labels of both, where there are labels."""

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __getitem__(self, name: str) -> Difference:
        for d in self.differences:
            if d.name == name:
                return d
        raise KeyError(name)

    @cached_property
    def pairing(self) -> Pairing:
        """By what examples are paired, and whether their texts agree."""
        return pairing(self.a, self.b)

    def lines(self) -> list[Difference]:
        """The family that a verdict is drawn from, then what could be scored, then what is exploratory."""
        family = [d for d in self.differences if not d.exploratory]
        return [*family, *self.scored, *(d for d in self.differences if d.exploratory)]

    def table(self) -> Table:
        a, b = self.names
        columns = ["figure", a, b, "difference", "95% interval", "n", "p", "p (Holm)", "detectable", "better"]
        table = Table(f"{self.a.question.name}: {b} minus {a}, over rows scored in both", columns)
        for d in self.lines():
            ends = f"[{decimal(d.low)}, {decimal(d.high)}]" if d.low is not None else "–"
            better = {"a": a, "b": b, "": "–"}[d.better]
            sure = DAGGER if d.better else ""
            n = f"{d.n_a:,}" if d.n_a == d.n_b else f"{d.n_a:,}/{d.n_b:,}"
            table.rows.append(
                [d.title, Cell(decimal(d.a), bold=d.better == "a"), Cell(decimal(d.b), bold=d.better == "b", mark=sure),
                 decimal(d.difference), ends, n, probability(d.p), probability(d.p_corrected), decimal(d.detectable),
                 better]
            )  # fmt: skip
        if any(d.better for d in self.differences):
            table.notes.append(f"{DAGGER} differs from {a} at p < 0.05 after Holm's correction")
        if any(d.exploratory for d in self.differences):
            table.notes.append(
                "figures without p (Holm) are exploratory: nothing corrects for looking at many, and none has a verdict"
            )
        table.notes += self.coverage()
        table.notes += self.pairing.notes()
        if (said := self._changes()) is not None:
            table.notes.append(said)
        lost = [f"{name}: {k:,}" for name, r in zip(self.names, (self.a, self.b), strict=True) if (k := _lost(r))]
        if lost:
            table.notes.append("rows that could not be scored: " + ", ".join(lost))
        # A remark that several figures share is made once.
        remarks: dict[str, list[str]] = {}
        for d in self.differences:
            remark = f"the same numbers as {d.repeats}" if d.repeats else d.note
            if remark:
                remarks.setdefault(remark, []).append(d.title)
        table.notes += [f"{', '.join(titles)}: {remark}" for remark, titles in remarks.items()]
        return table

    def coverage(self) -> list[str]:
        """Where the comparison is not over all rows of both runs."""
        a, b = self.names
        said = []
        if self.overlap is not None and not self.overlap.same:
            said.append(
                f"{self.overlap.in_both:,} units are in both runs, of {self.overlap.in_a:,} in {a} and "
                f"{self.overlap.in_b:,} in {b}; only those are compared"
            )
        return said

    def _perhaps_misplaced(self) -> str:
        """Runs of different length whose rows are called 1, 2, 3 …, where no text shows which go together."""
        checked = any(text.pairs and not text.differing for text in self.pairing.texts)
        if self.overlap is None or self.overlap.same or not self.pairing.numbered or checked:
            return ""
        a, b = self.names
        return (
            f"Careful: {a} has {self.overlap.in_a:,} records and {b} {self.overlap.in_b:,}, all called by number. "
            "If a number is the place in a file and no id, the pairs are not the same examples."
        )

    def _told_apart_by_order(self) -> str:
        """Where one id names several rows of a run: which of them goes with which of the other is a guess."""
        told = []
        for name, run, again in zip(self.names, (self.a, self.b), self.repeated, strict=True):
            if again is not None and not run.signature.method.get("repeat"):
                many, first = again
                told.append(f"{name} has {many:,} id{'s' if many > 1 else ''} more than once ({visible(first, 60)})")
        if not told:
            return ""
        return (
            f"Careful: {' and '.join(told)}, and no column sample or epoch tells these rows apart: they are paired in "
            "their order, and one without a counterpart is left out."
        )

    def _few_shared(self) -> str:
        """Said first where less than half of a run takes part in its own comparison."""
        a, b = self.names
        shares = []
        if self.overlap is not None:
            shares.append((self.overlap.in_both, self.overlap.in_a, a, "units are in both runs"))
            shares.append((self.overlap.in_both, self.overlap.in_b, b, "units are in both runs"))
        first = next((d for d in self.differences if d.name in self.a.question.headline), None)
        if first is not None:
            shares.append((first.n_a, self.a.rows.height, a, f"rows are scored in both runs for {first.title}"))
            shares.append((first.n_b, self.b.rows.height, b, f"rows are scored in both runs for {first.title}"))
        few = [(shared / total, shared, total, name, how) for shared, total, name, how in shares if 2 * shared < total]
        if not few:
            return ""
        _, shared, total, name, how = min(few, key=lambda one: one[0])
        return f"Careful: only {shared:,} of {name}'s {total:,} {how}: what follows is about those alone."

    def _changes(self) -> str | None:
        if self.flips is None or not len(self.flips):
            return None
        column, (a, b) = self.a.question.outcome.replace("_", " "), self.names
        if self.flips["a"].dtype == pl.Boolean:
            gained = int((~self.flips["a"]).sum())
            column = outcome_words(self.a.question)[1]
            return f"{column}: {gained:,} only in {b}, {len(self.flips) - gained:,} only in {a}"
        up = int((self.flips["b"] > self.flips["a"]).sum())
        return f"{column}: higher in {b} for {up:,} examples, lower for {len(self.flips) - up:,}"

    def verdict(self) -> list[str]:
        """What the comparison shows, in plain sentences."""
        a, b = self.names
        said = [
            words
            for words in (
                self._few_shared(),
                self._perhaps_misplaced(),
                self.pairing.doubt,
                self.pairing.unlike,
                self._told_apart_by_order(),
            )
            if words
        ]
        for d in self.differences:
            if d.direction == "none" or d.name not in self.a.question.headline:
                continue
            if d.better:
                who, other = (b, a) if d.better == "b" else (a, b)
                values = (d.b, d.a) if d.better == "b" else (d.a, d.b)
                said.append(
                    f"{who} is better on {d.title}: {decimal(values[0])} against {other}'s {decimal(values[1])}."
                )
            elif d.repeats:
                continue
            elif not isfinite(d.difference):
                said.append(f"{d.title} has no value on the rows that were scored in both runs.")
            elif d.differing == 0:
                said.append(f"Both runs are the same on {d.title}, on all {d.units:,} independent units.")
            elif d.exploratory and d.differing is not None:
                units = f"{d.differing:,} unit{'s' if d.differing > 1 else ''}"
                said.append(f"The runs differ on {units} for {d.title}: too few for a test to tell the better.")
            elif d.p is None:
                said.append(f"{d.title} cannot be tested: {d.note or 'too few units'}.")
            else:
                enough = ""
                if d.units_needed is not None and d.units_needed > d.units:
                    enough = f": you would need about {_round(d.units_needed):,}"
                said.append(f"No difference can be shown on {d.title} with {d.units:,} independent units{enough}.")
        for d in self.scored:
            if d.p is not None and d.p < ALPHA and d.difference != 0:
                more, less, values = (b, a, (d.b, d.a)) if d.difference > 0 else (a, b, (d.a, d.b))
                said.append(
                    f"More {d.title.removeprefix('could be ')} in {more} than in {less}: {values[0]:.1%} against "
                    f"{values[1]:.1%} (p {probability(d.p)}); the figures above leave such rows out."
                )
        return [*said, *([self.corrected.sentence()] if self.corrected is not None else [])]

    # -- flips -----------------------------------------------------------------------------------------------

    def slice_columns(self) -> list[str]:
        """The columns that flips are told apart by: the slices of the runs, or text columns with few values."""
        asked = [c for by in self.a.estimates.slices for c in by]
        texts = [c for c, t in self.a.rows.schema.items() if t == pl.String and c not in RESERVED]
        columns = []
        for column in dict.fromkeys([*asked, *texts]):
            if column in self.a.rows.schema and self.a.rows.schema[column] == pl.String:
                values = concatenated(self.a.rows, [column])[column].n_unique()
                if 1 < values <= _SLICE_VALUES:
                    columns.append(column)
        return columns[:_SLICE_COLUMNS]

    def flips_by(self, column: str) -> pl.DataFrame:
        """For every value of a column: rows in both runs, how many got better and how many worse."""
        outcome = self.a.question.outcome
        if not outcome:
            raise ComparisonError(f"{self.a.question.name} names no outcome whose changes could be counted")
        if column not in self.a.rows.schema:
            raise KeyError(f"the measurements have no column {column!r}")
        sides = []
        for run, name in ((self.a, "_a"), (self.b, "_b")):
            kept = ["id", outcome, *(["scored"] if "scored" in run.rows.schema else [])]
            kept += [column] if name == "_a" else []
            frame = concatenated(run.rows, list(dict.fromkeys(kept)))
            # Where ids repeat, the first of one run goes with the first of the other, and so on.
            frame = frame.with_columns(pl.int_range(pl.len()).over("id").alias("_nth"))
            if "scored" in frame.columns:
                frame = frame.filter(pl.col("scored")).drop("scored")
            sides.append(frame.rename({outcome: name}).drop_nulls(name))
        joined = sides[0].join(
            sides[1].select("id", "_nth", "_b"), on=["id", "_nth"], how="inner", maintain_order="left"
        )
        change = pl.col("_b").cast(pl.Float64) - pl.col("_a").cast(pl.Float64)
        if self.a.outcome_direction == "lower":
            change = -change
        return (
            joined.group_by(column, maintain_order=True)
            .agg(rows=pl.len(), better=(change > 0).sum(), worse=(change < 0).sum())
            .with_columns(net=pl.col("better").cast(pl.Int64) - pl.col("worse").cast(pl.Int64))
            .sort([pl.col("net").abs(), pl.col("rows")], descending=True, maintain_order=True)
        )

    def _shared(self, column: str) -> bool:
        """Whether a column says the same of every row in both runs."""
        if column not in self.b.rows.schema:
            return False
        a, b = (
            concatenated(run.rows, ["id", column]).with_columns(pl.int_range(pl.len()).over("id").alias("_nth"))
            for run in (self.a, self.b)
        )
        joined = a.join(b, on=["id", "_nth"], how="inner", maintain_order="left")
        return bool(joined[column].eq_missing(joined[f"{column}_right"]).all())

    def flip_tables(self) -> list[Table]:
        if self.flips is None or not len(self.flips):
            return []
        a, b = self.names
        tables = []
        for column in self.slice_columns():
            # What a system did itself (its errors, say) is no slice of the input: it is the first run's.
            of = "" if self._shared(column) else f" of {a}"
            heads = [column, "rows", f"{b} better", f"{a} better", "net", "net share"]
            table = Table(f"changes by {column}{of}", heads)
            changes = self.flips_by(column)
            if len(changes) < 2:
                continue
            for row in changes.iter_rows(named=True):
                share = row["net"] / row["rows"] if row["rows"] else float("nan")
                table.rows.append(
                    [str(row[column]) if row[column] is not None else "(none)", f"{row['rows']:,}",
                     f"{row['better']:,}", f"{row['worse']:,}", f"{row['net']:+,}", f"{share:+.1%}"]
                )  # fmt: skip
            tables.append(table)
        return tables

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the comparison page."""
        return Comparisons([self.a, self.b], list(self.names), [self]).to_html(path)

    def to_dict(self) -> dict[str, Any]:
        return {
            "schema": "sensecheck.comparison/2",
            "question": self.a.question.name,
            "a": {"name": self.names[0], "signature": self.a.signature.to_dict()},
            "b": {"name": self.names[1], "signature": self.b.signature.to_dict()},
            "pairing": self.pairing.to_dict(),
            "overlap": None if self.overlap is None else vars(self.overlap),
            "differences": [d.to_dict() for d in self.differences],
            "scored": [d.to_dict() for d in self.scored],
            "verdict": self.verdict(),
            **({} if self.corrected is None else {"corrected": self.corrected.to_dict()}),
            "flips": [] if self.flips is None else self.flips.to_dicts(),
            "flips_by": {} if self.flips is None else {c: self.flips_by(c).to_dicts() for c in self.slice_columns()},
        }

    def __repr__(self) -> str:
        return "\n".join([f"{self.names[1]} minus {self.names[0]}", *("  " + s for s in self.verdict())])


@dataclass
class Comparisons:
    """Several runs, each compared with the first."""

    results: list[Result]
    names: list[str]
    pairs: list[Comparison] = field(default_factory=list)

    def __iter__(self) -> Iterator[Comparison]:
        return iter(self.pairs)

    def __getitem__(self, name: str) -> Comparison:
        for pair in self.pairs:
            if pair.names[1] == name:
                return pair
        raise KeyError(f"no system {name!r} is compared with {self.names[0]!r}, only {', '.join(self.names[1:])}")

    @property
    def question(self) -> Any:
        return self.results[0].question

    def over_the_same_rows(self, name: str) -> bool:
        """Whether every run's own figure is over the rows that all of them were scored on."""
        for pair in self.pairs:
            d = next((d for d in pair if d.name == name), None)
            if d is None or (d.n_a, d.n_b) != (pair.a[name].n, pair.b[name].n):
                return False
        return True

    def verdict(self) -> list[str]:
        said = []
        for pair in self.pairs:
            for sentence in pair.verdict():
                several = len(self.pairs) > 1 and not sentence.startswith((pair.names[0], pair.names[1]))
                said.append(f"{pair.names[1]} and {pair.names[0]}: {_lowered(sentence)}" if several else sentence)
        return said

    def systems_table(self) -> Table:
        """Systems in rows, headline figures in columns: the best in bold, a dagger where one differs from the first."""
        headline = self._headline()
        arrows = {"higher": " ↑", "lower": " ↓"}
        units = max((d.units for pair in self.pairs for d in pair.differences), default=0)
        tests = sum(not d.exploratory for pair in self.pairs for d in pair.differences)
        table = Table(self.question.name, ["system", *(f.title + arrows.get(f.direction, "") for f in headline)])
        values = {f.name: self._values(f.name) for f in headline}
        for i, name in enumerate(self.names):
            row = [name]
            for f in headline:
                shown, alike = values[f.name]
                top = best(shown, f.direction) if alike else None
                sure = bool(i) and bool(_difference(self.pairs[i - 1], f.name))
                bold = shown[i] is not None and shown[i] == top
                row.append(Cell(decimal(shown[i]), bold=bold, mark=DAGGER if sure else ""))
            table.rows.append(row)
        table.notes.append(
            f"Best in bold; {DAGGER} differs from {self.names[0]} at p < 0.05 (paired test, Holm's correction over "
            f"{tests} tests); {units:,} independent units."
        )
        apart = [f.title for f in headline if not values[f.name][1]]
        if apart:
            table.notes.append(
                f"{', '.join(apart)}: each system over the rows that it was scored on, which differ, so none is best; "
                "the differences are over rows scored in both."
            )
        return table

    def _values(self, name: str) -> tuple[list[float | None], bool]:
        """The figure of every system, and whether all are over the same rows.

        They are those of the comparison, over rows scored in both; of several pairs that share different rows, each
        system's own.
        """
        try:
            found = [pair[name] for pair in self.pairs]
        except KeyError:
            return [_value(r, name) for r in self.results], False
        of_first = [(d.a, d.n_a) for d in found]
        if all(of == of_first[0] for of in of_first):
            values = (found[0].a, *(d.b for d in found))
            return [v if isfinite(v) else None for v in values], True
        return [_value(r, name) for r in self.results], False

    def _headline(self) -> list[Figure]:
        return [
            f
            for f in self.results[0].figures
            if f.name in self.question.headline and isinstance(f.value, float)
        ]  # fmt: skip

    def tables(self) -> list[Table]:
        tables = [self.systems_table()] if len(self.pairs) > 1 else []
        for pair in self.pairs:
            tables += [pair.table(), *self.corrected_tables([pair]), *pair.flip_tables()]
        return tables

    def corrected_tables(self, pairs: Sequence[Comparison] | None = None) -> list[Table]:
        """What labels say of the differences, where there are labels."""
        return [pair.corrected.table() for pair in pairs or self.pairs if pair.corrected is not None]

    def paper_tables(self, narrow: bool = False) -> list[Table]:
        """For Markdown and LaTeX: the systems first, then the differences.

        narrow: for a page, without what bold and the dagger say already, and without the power.
        """
        left_out = ("p", "detectable", "better") if narrow else ()
        return [
            self.systems_table(), *(pair.table().without(*left_out) for pair in self.pairs), *self.corrected_tables()
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        if len(self.pairs) == 1:
            return self.pairs[0].to_dict()
        return {
            "schema": "sensecheck.comparisons/2",
            "question": self.question.name,
            "systems": [
                {"name": n, "signature": r.signature.to_dict()} for n, r in zip(self.names, self.results, strict=True)
            ],
            "baseline": self.names[0],
            "verdict": self.verdict(),
            "pairs": [pair.to_dict() for pair in self.pairs],
        }

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the comparison page: one file that opens from disk."""
        from sensecheck.report.page import comparison_page

        return write_named(path, comparison_page(self).encode("utf-8"))

    def __repr__(self) -> str:
        return "\n".join(repr(pair) for pair in self.pairs)


def compare(results: Sequence[Result], *, options: IntervalOptions | None = None, human: Any = None) -> Comparisons:
    """The first run against each of the others; p-values are corrected over the headline figures of all pairs.

    With `options` the first run's own are not used. `human`: labels of the runs, each of which says whose it is; what
    they correct is a family of its own.
    """
    if len(results) < 2:
        raise ComparisonError(f"a comparison needs at least two runs, got {len(results)}")
    given = [r.name for r in results]
    names = given if len(set(given)) == len(given) else [chr(ord("A") + i) for i in range(len(given))]
    pairs = []
    with stage(COMPARING, len(results[1:]) * steps(results[0].compared), unit=""):
        for i, other in enumerate(results[1:], start=1):
            try:
                pairs.append(replace(results[0].compare(other, options=options), names=(names[0], names[i])))
            except ComparisonError as error:
                raise ComparisonError(f"{names[0]} and {names[i]}: {error}") from None
    flat = holm([d for pair in pairs for d in pair.differences], results[0].question.headline)
    for pair in pairs:
        pair.differences, flat = flat[: len(pair.differences)], flat[len(pair.differences) :]
    if human is not None:
        _correct(pairs, results, human)
    return Comparisons(list(results), names, pairs)


def _correct(pairs: Sequence[Comparison], results: Sequence[Result], human: Any) -> None:
    """What labels say of every pair."""
    from sensecheck.labelling.correcting import compared_by, labels_of_each

    labels = labels_of_each(results, human)
    found = [
        compared_by(pair.a, pair.b, (labels[0], labels[i]), pair.names) for i, pair in enumerate(pairs, start=1)
    ]  # fmt: skip
    told = iter(holm([one.difference for one in found if one.difference is not None]))
    for pair, one in zip(pairs, found, strict=True):
        pair.corrected = one if one.difference is None else replace(one, difference=next(told))
        if one.difference is not None:
            pair.differences, pair.scored = checked(pair.differences), checked(pair.scored)
    if all(one.difference is None for one in found):
        raise ComparisonError("; ".join(dict.fromkeys(one.sentence().rstrip(".") for one in found)))


def _lost(result: Result) -> int:
    """Rows that have no part in the first headline figure."""
    return sum(unscored(result).values())


def unscored(result: Result) -> dict[str, int]:
    """Why rows have no part in the first headline figure: what a reader of it must know."""
    first = next((f for f in result.figures if f.name in result.question.headline), None)
    return dict(first.unscored) if first is not None else result.unscored()


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:] if sentence.startswith(("No ", "Both ", "The ")) else sentence


def _value(result: Result, name: str) -> float | None:
    try:
        value = result[name].value
    except KeyError:
        return None
    return value if isinstance(value, float) and isfinite(value) else None


def best(values: Sequence[float | None], direction: str) -> float | None:
    known = [v for v in values if v is not None]
    if not known or direction == "none":
        return None
    return max(known) if direction == "higher" else min(known)


def _difference(pair: Comparison, name: str) -> str:
    try:
        return pair[name].better
    except KeyError:
        return ""


def _round(n: int) -> int:
    """Two significant digits: an estimate should look like one."""
    digits = max(0, len(str(n)) - 2)
    return round(n, -digits)
