"""The result of an evaluation: figures, and everything behind them."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, isfinite
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson
import polars as pl

from sensecheck.inputs.addresses import faults_told
from sensecheck.inputs.errors import did_you_mean, shown
from sensecheck.judges.figures import under
from sensecheck.plotting.chart import Chart
from sensecheck.report.corrected import Corrected
from sensecheck.report.question import Question, question, slicings
from sensecheck.report.repeats import Repeats
from sensecheck.report.stored import ShapeError, check_inputs, check_summary
from sensecheck.report.tables import Table, decimal, figures_table, interval, slices_table, titled, told
from sensecheck.runs.collecting import Collected
from sensecheck.runs.directory import REPORT, SUMMARY, RunDirectory, Shards, damage_told, damaged
from sensecheck.runs.shards import Shard
from sensecheck.runs.signature import Signature
from sensecheck.runs.writing import MANIFEST, RunError, write_named
from sensecheck.statistics.compare import ALPHA, ComparisonError, compare, flips, scored_differences
from sensecheck.statistics.estimate import Estimates, estimate
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.measurements import Measurements, concatenated
from sensecheck.statistics.shared_rows import PairedRuns
from sensecheck.statistics.statistic import INFINITE, AnyStatistic, Statistic
from sensecheck.statistics.table import Slice

if TYPE_CHECKING:
    from sensecheck.report.comparison import Comparison

SUMMARY_SCHEMA = "sensecheck.summary/1"


class NothingScored(UserWarning):
    """An evaluation in which no row could be scored. The command line ends with exit code 2 instead."""


@dataclass
class Result:
    """What `evaluate` returns and what a run directory holds."""

    question: Question
    signature: Signature
    estimates: Estimates
    rows: Measurements
    """All measurements, in batches."""
    texts: Measurements | None = None
    options: IntervalOptions = field(default_factory=IntervalOptions)
    notes: list[str] = field(default_factory=list)
    """What a reader must know: warnings, choices made for them."""
    inputs: list[dict[str, Any]] = field(default_factory=list)
    directory: RunDirectory | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """What the question's plots need beyond the figures (curves, bins); part of summary.json."""
    repeats: Repeats | None = None
    """Figures of several samples per example, where there are several."""
    corrected: Corrected | None = None
    """Figures corrected by people's labels, where there are labels."""
    read_back: bool = False
    """Whether it was read from its directory, whose files anybody may have changed since."""
    cause: str = ""
    """Why rows have no answer, where the question knows more than their reasons: what a server said."""

    _further_slices: dict[Slice, list[list[Figure]]] = field(default_factory=dict, repr=False)
    """Slices that somebody looked at; they are no part of the summary."""

    @cached_property
    def statistics(self) -> Sequence[AnyStatistic]:
        """The statistics behind the figures."""
        return self.question.statistics(self.signature.method)

    @property
    def compared(self) -> list[AnyStatistic]:
        """The statistics that two runs are compared by."""
        return [s for s in self.statistics if s.compared]

    def __getstate__(self) -> dict[str, Any]:
        # Statistics hold functions, which no pickle takes; they follow from the signature.
        return {name: value for name, value in vars(self).items() if name != "statistics"}

    @property
    def outcome_direction(self) -> str:
        """Whether the outcome of a row is better when it is higher or when it is lower."""
        for statistic in self.statistics:
            if isinstance(statistic, Statistic) and statistic.sums and statistic.sums[0] == self.question.outcome:
                return statistic.direction
        return "higher"

    # -- figures ---------------------------------------------------------------------------------------------

    @property
    def figures(self) -> list[Figure]:
        return self.estimates.overall

    def __getitem__(self, name: str) -> Figure:
        try:
            return self.estimates.figure(name)
        except KeyError:
            if self.repeats is not None and name in self.repeats.names:
                return self.repeats.figure(name)
            if self.corrected is not None and name in self.corrected.names:
                return self.corrected.figure(name)
            known = self.names
            hint = did_you_mean(name.lower(), known) or f"Choose from: {', '.join(known)}."
            raise KeyError(f"there is no figure {name!r}. {hint}") from None

    @property
    def names(self) -> list[str]:
        """The names of all figures, those of several samples per example and those corrected by labels included."""
        further = [*(self.repeats.names if self.repeats is not None else ())]
        further += self.corrected.names if self.corrected is not None else ()
        return [*(f.name for f in self.figures), *further]

    @property
    def summary(self) -> dict[str, Any]:
        """summary.json: the figures with everything that makes them readable, and no times."""
        return {
            "schema": SUMMARY_SCHEMA,
            "question": self.question.name,
            "signature": self.signature.to_dict(),
            "rows": self.rows.height,
            "level": self.options.level,
            "intervals": self.options.to_dict(),
            "figures": [f.to_dict() for f in self.figures],
            "slices": [
                {"by": list(by), "values": [[f.to_dict() for f in figures] for figures in rows]}
                for by, rows in self.estimates.slices.items()
            ],
            "anchors": {k: v.tolist() for k, v in sorted(self.estimates.anchors.items())},
            "notes": list(self.notes),
            "extra": self.extra,
            **({} if self.repeats is None else {"repeats": self.repeats.to_dict()}),
            **({} if self.corrected is None else {"corrected": self.corrected.to_dict()}),
        }

    def to_dict(self) -> dict[str, Any]:
        plain: dict[str, Any] = orjson.loads(orjson.dumps(self.summary, option=orjson.OPT_SERIALIZE_NUMPY))
        return plain

    def to_pandas(self) -> Any:
        """The measurements as a pandas table."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_pandas() needs pandas: pip install pandas (`.measurements` is a Polars table)"
            ) from None
        frame = self.measurements
        return pd.DataFrame({c: frame[c].to_list() for c in frame.columns})

    @property
    def measurements(self) -> pl.DataFrame:
        """All measurements in one Polars table."""
        return concatenated(self.rows)

    def slices(self, by: str | Sequence[str]) -> list[list[Figure]]:
        """All figures for every value of a column (or of several, crossed)."""
        (key,) = slicings([by])
        if key in self.estimates.slices:
            return self.estimates.slices[key]
        if key not in self._further_slices:
            further = estimate(
                self.rows, self.statistics, slices=[key], options=self.options, anchors=self.estimates.anchors
            )
            self._further_slices[key] = further.slices[key]
        return self._further_slices[key]

    def sliced(self, by: Sequence[str | Sequence[str]]) -> Result:
        """The same result that shows further slices in its tables and on its page."""
        slices = {key: self.slices(key) for key in slicings(by)}
        return replace(self, estimates=replace(self.estimates, slices={**self.estimates.slices, **slices}))

    def examples(self, worst: int = 20, by: str | None = None) -> pl.DataFrame:
        """The worst examples with their texts: unscored first, then wrong ones, or by the lowest `by`.

        `by` is a column of the measurements; for a figure that is better when lower, the highest come first.
        """
        from sensecheck.report.examples import MAX_EXAMPLES, choose, in_reading_order

        column = by or self.question.outcome
        if by is not None and by not in self.rows.schema:
            close = difflib.get_close_matches(by, self.rows.schema, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"their columns are {', '.join(self.rows.schema)}"
            raise KeyError(f"the measurements have no column {by!r}: {hint}")
        whole = by is not None or self.rows.schema.get(column) != pl.Boolean
        chosen = choose(self, limit=self.rows.height + 1 if whole else max(worst, MAX_EXAMPLES)).frame
        if whole and column in chosen.columns:
            down = self.outcome_direction == "lower" if by is None else False
            order = [c for c in ("scored", column) if c in chosen.columns]
            chosen = chosen.sort(order, descending=[c == column and down for c in order], maintain_order=True)
        else:
            chosen = in_reading_order(self, chosen)
        return chosen.head(worst).select(pl.exclude("^each_.*$"))

    def corrected_by(self, labels: Any) -> Result:
        """The same result with the figure that people's labels correct: files of labels, or a table of them."""
        from sensecheck.labelling.correcting import corrected_by

        return corrected_by(self, labels)

    # -- comparing -------------------------------------------------------------------------------------------

    def compare(self, other: Result, *, options: IntervalOptions | None = None) -> Comparison:
        """`other` minus this, on the same units and by the same method."""
        from sensecheck.report.comparison import Comparison

        differing = self.signature.differences(other.signature)
        # Labels change no figure but the one that they correct, and each run has its own.
        ignored = self.question.ignored_in_comparison | {"human"}
        words = [f"{name}: {how}" for name, how in differing.items() if name not in ignored]
        if words:
            raise ComparisonError("the two runs were not measured the same way: " + "; ".join(words))
        names = (self.name, other.name) if self.name != other.name else ("A", "B")
        chosen = options or self.options
        # A verdict is drawn at one level, whatever that of the runs' own intervals.
        chosen = replace(chosen, level=1 - ALPHA, method="auto" if chosen.method == "none" else chosen.method)
        paired = PairedRuns(self.rows, other.rows, names)
        headline = self.question.headline
        shared = {statistic.name for statistic in other.statistics}
        differences = compare(
            self.rows,
            other.rows,
            [statistic for statistic in self.compared if statistic.name in shared],
            options=chosen,
            headline=headline,
            names=names,
            paired=paired,
        )
        own = [statistic for statistic in self.statistics if statistic.name in shared]
        scored = scored_differences(paired, own, headline, chosen)
        outcome = self.question.outcome
        # A method may leave the outcome out (exact match alone, say): there is then nothing to flip.
        both = bool(outcome) and outcome in self.rows.schema and outcome in other.rows.schema
        changed = flips(self.rows, other.rows, outcome) if both else None
        return Comparison(
            self,
            other,
            names,
            differences,
            changed,
            scored,
            paired.overlap,
            tuple(paired.repeated.get(n) for n in names),
        )

    @property
    def name(self) -> str:
        """What the system is called."""
        return self.signature.system.get("name", "system")

    # -- showing ---------------------------------------------------------------------------------------------

    def tables(self) -> list[Table]:
        notes = [f"signature: {self.signature.short}", *self.notes]
        common, own = self.unscored_by_figures()
        if common:
            notes.append("unscored: " + told(common))
        # The other figures' reasons would fill a screen: the page and summary.json have them.
        headline = [group for group in own if group[0][0].name in self.question.headline]
        notes += [f"not counted in {titled(figures)}: {told(reasons)}" for figures, reasons in headline]
        others = sum(len(figures) for figures, _ in own) - sum(len(figures) for figures, _ in headline)
        if others:
            lack = "s lack rows of their" if others > 1 else " lacks rows of its"
            notes.append(f"{others:,} {'other ' if headline else ''}figure{lack} own: the report says which and why")
        tables = [figures_table(f"{self.question.name}: {self.question.asks}", self.figures, self.options.level, notes)]
        tables += self.corrected.tables(self.options.level) if self.corrected is not None else []
        for by, rows in self.estimates.slices.items():
            tables.append(slices_table(by, rows, self.question.headline))
        tables += self.repeats.tables() if self.repeats is not None else []
        return [*tables, *self.own_tables()]

    def own_tables(self) -> Sequence[Table]:
        """Tables that only this question has."""
        return self.question.tables(self) if self.question.tables is not None else ()

    def unscored(self) -> dict[str, int]:
        """Rows that no figure could score, by reason."""
        if not self.figures:
            return {}
        fewest = min(self.figures, key=lambda f: f.unscored_total)
        return dict(fewest.unscored)

    def unscored_by_figures(self) -> tuple[dict[str, int], list[tuple[list[Figure], dict[str, int]]]]:
        """Rows that no figure counts, by reason; and what some figures lack beyond those, figures that lack the same
        together, those of the headline first.
        """
        shown = [f for f in self.figures if not isinstance(f.value, tuple)]
        reasons = dict.fromkeys(why for f in shown for why in f.unscored)
        common = {why: n for why in reasons if (n := min(f.unscored.get(why, 0) for f in shown))}
        groups: dict[tuple[tuple[str, int], ...], list[Figure]] = {}
        for figure in shown:
            own = {why: n - common.get(why, 0) for why, n in figure.unscored.items() if n > common.get(why, 0)}
            if own:
                groups.setdefault(tuple(sorted(own.items())), []).append(figure)
        for figures in groups.values():
            figures.sort(key=lambda f: f.name not in self.question.headline)
        return common, [(figures, dict(own)) for own, figures in groups.items()]

    def verdict(self) -> list[str]:
        verdict = self.question.verdict(self) if self.question.verdict else []
        said = [verdict] if isinstance(verdict, str) else list(verdict)
        if nothing := self._nothing():
            said.insert(0, nothing)
        return [*said, *(self.corrected.sentences() if self.corrected is not None else ())]

    def nothing_scored(self) -> str:
        """Where no row counts in any figure: a sentence that says so, with the reasons and how many rows have each.

        An original's figures are what they are: of a run under `--as`, nothing is said.
        """
        return "" if "as" in self.signature.method else self._nothing()

    def _nothing(self) -> str:
        if not self.figures or any(f.n for f in self.figures):
            return ""
        reasons = max((f.unscored for f in self.figures), key=lambda u: sum(u.values()), default={})
        why = ", ".join(f"{reason} ({count:,})" for reason, count in sorted(reasons.items(), key=lambda r: -r[1])[:3])
        why += f"; {self.cause}" if self.cause and why else ""
        return f"Nothing could be scored{': ' + why if why else ''}. Are the file and the options the right ones?"

    def show(self, form: str = "table", stream: IO[str] | None = None) -> None:
        """Print the figures: table, json, markdown or latex."""
        import sys

        out = stream or sys.stdout
        if form == "json":
            out.write(orjson.dumps(self.to_dict(), option=orjson.OPT_INDENT_2).decode() + "\n")
            return
        with self._damage_told():
            tables = self.tables()
        for table in tables:
            if form == "markdown":
                out.write(table.markdown() + "\n")
            elif form == "latex":
                out.write(table.latex() + "\n")
            elif form == "table":
                table.print(out)
            else:
                raise ValueError(f"unknown form {form!r}: table, json, markdown or latex")

    def plot(self, name: str | None = None) -> Chart:
        """One of the question's pictures (the first one unless named)."""
        charts = self.charts()
        if not charts:
            raise ValueError(f"{self.question.name} has no pictures for this result")
        for chart in charts:
            if name is None or chart.name == name:
                return chart
        raise KeyError(f"no picture {name!r}; choose from: {', '.join(c.name for c in charts)}")

    def charts(self) -> list[Chart]:
        with self._damage_told():
            return list(self.question.plots(self)) if self.question.plots else []

    def _damage_told(self) -> AbstractContextManager[None]:
        """What fails over files that were changed is told as damage to them."""
        return damage_told(self.directory.path) if self.read_back and self.directory is not None else nullcontext()

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the report: one file that opens from disk."""
        from sensecheck.report.page import page

        with self._damage_told():
            return write_named(path, page(self).encode("utf-8"))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write the whole run directory."""
        return self.save_to(RunDirectory.begin(path, {"question": self.question.name}, overwrite=overwrite))

    def save_to(self, run: RunDirectory) -> Path:
        """Write everything into a run directory that has been begun."""
        texts = self.texts.batches() if self.texts is not None else iter(())
        for index, frame in enumerate(self.rows.batches()):
            run.write_shard(index, frame, next(texts, None))
        self.directory = run
        self.store()
        return run.path

    def store(self) -> None:
        """Write summary and report into the run directory."""
        from sensecheck.report.page import page

        assert self.directory is not None
        self.directory.write_text(REPORT, page(self))
        self.directory.finish(self.summary, inputs=self.inputs)

    def __repr__(self) -> str:
        lines = [f"{self.question.name} · {self.rows.height:,} rows"]
        for f in self.figures:
            if isinstance(f.value, float) and (isfinite(f.value) or f.value == inf):
                lines.append(f"  {f.title:<28} {decimal(f.value):>8}  {interval(f)}")
        return "\n".join([*lines, f"  {self.signature.short}"])

    def _repr_html_(self) -> str:
        from sensecheck.report.page import fragment

        return fragment(self)


@dataclass
class Part(Result):
    """A shard of a run: its measurements, without figures. `sensecheck.merge` makes a result of all of them."""

    shard: Shard | None = None

    @classmethod
    def of(
        cls, question: Question, signature: Signature, collected: Collected, shard: Shard, *, cost: Mapping[str, Any]
    ) -> Part:
        """What a shard measured, its directory marked as finished."""
        assert collected.directory is not None
        collected.directory.finish_shard(cost)
        return cls(
            question, signature, Estimates([]), collected.measurements, directory=collected.directory, shard=shard
        )


def load(path: str | os.PathLike[str]) -> Result:
    """Read a run directory back as a result, also one at an address (`s3://…`)."""
    with faults_told():
        return _loaded(RunDirectory.open(path))


def _loaded(run: RunDirectory) -> Result:
    stored = run.summary()
    if str(stored.get("schema")) != SUMMARY_SCHEMA:
        raise RunError(
            f"{run.path}: {SUMMARY} has schema {shown(stored.get('schema'))}; this version reads {SUMMARY_SCHEMA!r}. "
            "Measure again with this version (--overwrite), or read it with the one that wrote it."
        )
    if "intervals" not in stored:
        raise RunError(
            f"{run.path} was written by an earlier version, which recorded less about how it measured; "
            "measure again with --overwrite (overwrite=True)"
        )
    rows, inputs = _checked(run, stored)
    with damage_told(run.path):
        estimates = Estimates(
            [_figure(f) for f in stored["figures"]],
            {tuple(s["by"]): [[_figure(f) for f in row] for row in s["values"]] for s in stored["slices"]},
            {name: _anchor(run, name, values) for name, values in stored.get("anchors", {}).items()},
        )
        signature = Signature.from_dict(stored["signature"])
        result = Result(
            under(question(str(stored["question"])), signature.method), signature, estimates, rows,
            run.examples(), IntervalOptions(**{**stored["intervals"], "seed": int(stored["intervals"]["seed"])}),
            stored["notes"], inputs, run, dict(stored.get("extra", {})),
            Repeats.from_dict(stored["repeats"], _figure) if "repeats" in stored else None,
            Corrected.from_dict(stored["corrected"], _figure) if "corrected" in stored else None, read_back=True,
        )  # fmt: skip
        assert result.statistics is not None  # made now, so that a method that was changed is told here
    return result


def _anchor(run: RunDirectory, name: str, values: Any) -> Any:
    import numpy as np

    try:
        return np.asarray(values, dtype=np.float64)
    except ValueError:
        raise damaged(run.path / SUMMARY, f"anchors.{shown(name, 40)} is not a table of numbers") from None


def _checked(run: RunDirectory, stored: Mapping[str, Any]) -> tuple[Shards, list[dict[str, Any]]]:
    """The measurements and the inputs of a run, once all that is said of them fits together."""
    inputs = run.manifest().get("inputs", [])
    for name, check, content in ((SUMMARY, check_summary, stored), (MANIFEST, check_inputs, inputs)):
        try:
            check(content)
        except ShapeError as error:
            raise damaged(run.path / name, str(error)) from None
    question_name, signed = stored["question"], stored["signature"]
    if signed["question"] != question_name or not set(signed["defaults"]) <= set(signed["method"]):
        raise damaged(run.path / SUMMARY, "its signature does not fit it")
    if not 0.5 <= stored["intervals"]["level"] < 1 or stored["intervals"]["replicates"] < 20:
        raise damaged(run.path / SUMMARY, "its intervals cannot have been made")
    rows = run.measurements()
    if rows.height != stored["rows"]:
        raise damaged(
            run.path / SUMMARY, f"it speaks of {stored['rows']:,} rows, and the files beside it hold {rows.height:,}"
        )
    return rows, inputs


def _figure(plain: Mapping[str, Any]) -> Figure:
    nan = float("nan")

    def number(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(number(v) for v in value)
        return nan if value is None else float(value)

    ends = plain["interval"]
    value = number(plain["value"])
    if plain["value"] is None and str(plain["interval_absent"]).startswith(INFINITE):
        value = inf
    return Figure(
        plain["name"], plain["title"], value, int(plain["n"]), plain["clusters"],
        dict(plain["unscored"]), None if ends is None else number(ends[0]), None if ends is None else number(ends[1]),
        plain["interval_method"] or "", plain["interval_absent"] or "",
        {k: v if isinstance(v, int) else number(v) for k, v in plain["beside"].items()}, plain["direction"],
        (_bound(plain["range"][0], -1), _bound(plain["range"][1], 1)), dict(plain["slice"]),
        None if (bounds := plain.get("bounds")) is None else (number(bounds[0]), number(bounds[1])),
    )  # fmt: skip


def _bound(value: Any, sign: int) -> float:
    return sign * float("inf") if value is None else float(value)
