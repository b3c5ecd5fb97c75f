"""The one walk from a file to figures, and what a question implements to be walked.

    records ──▶ batches of measurements ──▶ statistics ──▶ result

`Instrument` is that walk for any question; `TableInstrument` is one whose records are rows of a table, so that only
`measure` is left to write. docs/extending.md builds one from scratch.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any

import polars as pl

from sensecheck import instruments
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.gathered import Gathered
from sensecheck.inputs.opening import file_sources
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import WEIGHT_HINT, TableBatch, TableReader
from sensecheck.instruments import InstrumentError
from sensecheck.judges.figures import under
from sensecheck.report.asking import Asked
from sensecheck.report.question import Question
from sensecheck.report.repeats import check_columns, example_ids, repeats, sample_column, samples_in, taken
from sensecheck.report.result import NothingScored, Part, Result
from sensecheck.runs.collecting import Batch, Collected, collect
from sensecheck.runs.directory import RunDirectory, damage_told
from sensecheck.runs.shards import NONE_OWN
from sensecheck.runs.signature import Method, Signature
from sensecheck.stages import MEASURING, REPORT, SUMMING, at_work, stage, watched
from sensecheck.statistics.estimate import Estimates, estimate
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.grid import GRID
from sensecheck.statistics.measurements import RESERVED, Measurements


class Instrument(ABC):
    """One run of a question. `batches` and `method` must be written; the rest has an answer that often fits."""

    question: Question
    original: str = ""
    """The original whose figures this reproduces: its figures are point values, and nothing is resampled."""
    anew: bool = False
    """Whether all is measured again when a run is resumed: what costs time (answers of a model) is kept elsewhere."""

    asks: bool = False
    """Whether measuring asks a model or a store, whose answers are kept in the run's folder: then `check` refuses
    columns that are not there, before anything is asked."""

    tells: bool = False
    """Whether it says itself what is measured, to whoever watches: where batches are few and take long."""

    def __init__(self, data: Any, asked: Asked) -> None:
        self.data = data
        self.asked = asked
        self.notes: list[str] = []
        """What a reader must know, filled while reading and measuring."""
        self.of_parts: Sequence[Mapping[str, Any]] = ()
        """Of a run that was merged: what each of its parts gave as its `cost`."""

    @abstractmethod
    def batches(self, done: int) -> Iterator[Batch]:
        """The measurements from batch number `done` on, always cut the same way, so that a stopped run can go on."""

    @abstractmethod
    def method(self) -> Method:
        """Every choice that can change a figure."""

    def defaults(self) -> Method:
        """Choices as they usually are: these are left out of the short signature."""
        return {}

    def learnt(self) -> Method:
        """Choices that only the data decide (a scale recognised while reading), known after the last batch."""
        return {}

    def system(self) -> Mapping[str, str]:
        """Whose predictions these are; two runs that are compared may differ in it."""
        return {"name": self.asked.name_of(self.data)}

    def plan(self) -> Mapping[str, Any]:
        """What else must be the same for an interrupted run to be resumed: a model, a store."""
        return {}

    def inputs(self) -> list[dict[str, Any]]:
        """The files that were read, with their digests."""
        return []

    def divisible(self) -> bool:
        """Whether what a record is measured to be depends on no other record: then shards may be measured apart."""
        return not self.original

    def own(self, ids: Sequence[str]) -> list[int] | None:
        """Which of some records this run has to measure, by their places; None: all. Whoever measures no others says
        where they belong (`Batch.places`); of what is measured whole, a shard takes its rows by `id`.
        """
        return None if self.asked.shard is None else self.asked.shard.own(pl.Series(ids, dtype=pl.String))

    def cost(self) -> Mapping[str, Any]:
        """What calls to a model cost, in the forms of JSON. A shard keeps it, merging gives it back (`of_parts`)."""
        return {}

    def check(self) -> None:  # noqa: B027 - most have nothing to check
        """Refuse what cannot be measured, before anything is written."""

    def estimates(self, result: Result) -> Estimates:
        """The figures of the rows that were measured, overall and by slice."""
        return estimate(result.rows, result.statistics, slices=self.asked.slices, options=result.options)

    def finish(self, result: Result) -> None:  # noqa: B027 - most questions have nothing to add
        """Add what only the whole result shows: notes, further figures, `result.extra` for the pictures."""

    def _clustered(self, done: int) -> Iterator[Batch]:
        """The batches; samples of one example are a cluster where nothing else says what belongs together."""
        shard = self.asked.shard
        for number, batch in enumerate(self.batches(done)):
            if shard is not None and batch.places is None:
                batch = shard.part_of(batch)
            rows = batch.measurements
            if number == 0 and rows.width > 1 and not self.original:
                _refuse_missing(rows, self.asked.sliced)
            if self.asked.repeat is not None and not {"cluster", "unit"} & set(rows.columns):
                batch = replace(batch, measurements=rows.with_columns(cluster=pl.col("id").cast(pl.String)))
            yield batch if shard is None else shard.kept(batch)

    def _told(self, done: int) -> Iterator[Batch]:
        """The batches; whoever watches is told of each once it is kept, and of those that an earlier run kept."""
        if done and not self.tells and watched() and self.asked.out is not None:
            kept = RunDirectory(self.asked.out).measurements()
            with suppress(Exception):  # damage is told where the rows are needed
                flags = kept.batches(["scored"]) if "scored" in kept.schema else ()
                at_work(MEASURING).already(kept.height, unscored=sum(map(_unscored, flags)), batches=done)
        for batch in self._clustered(done):
            yield batch
            if not self.tells and watched():
                at_work(MEASURING)(len(batch.measurements), unscored=_unscored(batch.measurements))

    def run(self) -> Result:
        """Measure, estimate, and keep; of a shard only the measurements."""
        asked = self.asked
        if asked.shard is not None and not self.divisible():
            raise InputError(
                f"the figures of --as {self.original} (parity=) come of all records in one piece: leave --shard "
                "(shard=) and --engine (engine=) out",
                reason=Reason.BAD_OPTION,
            )
        self.check()
        gathered = self.data.method if isinstance(self.data, Gathered) else {}
        method = {**({"as": self.original} if self.original else {}), **self.method(), **gathered}
        version = instruments.version(self.question.name)
        plan = {
            "question": self.question.name, "version": version, "method": method,
            **asked.plan(self.data), **self.plan(), **({} if asked.shard is None else {"shard": str(asked.shard)}),
        }  # fmt: skip
        labels = None
        if asked.human is not None and not self.original:
            from sensecheck.labelling.reading import read

            labels = read(asked.human)  # what cannot be read is told before anything is measured
        with stage(MEASURING):
            collected = collect(
                self._told, out=asked.out, plan=plan, resume=asked.resume, overwrite=asked.overwrite, anew=self.anew,
                asks=self.asks, progress=asked.progress, shard=None if asked.shard is None else asked.shard.marks,
            )  # fmt: skip
        if asked.shard is not None:
            return Part.of(
                self.question, self._signature(method, {}, version), collected, asked.shard, cost=self.cost()
            )
        if asked.resume and collected.directory is not None:
            self.of_parts = collected.directory.costs_of_parts()
        # What an interrupted run left may have been changed since.
        old = collected.directory if asked.resume else None
        with nullcontext() if old is None else damage_told(old.path):
            return self._result(collected, method, version, labels)

    def _signature(self, method: Method, usual: Method, version: str) -> Signature:
        return Signature(self.question.name, dict(method), dict(self.system()), dict(usual), version)

    def _result(
        self, collected: Collected, method: dict[str, Any], version: str, labels: pl.DataFrame | None
    ) -> Result:
        asked = self.asked
        rows = collected.measurements
        if asked.weight is not None:
            _refuse_weightless(rows, asked.weight)
        method |= self.learnt()
        samples, unsure = (None, []) if self.original else taken(rows, asked.repeat, asked.cluster)
        if samples is not None:
            method["repeat"] = samples.column
        usual = dict(self.defaults())
        intervals = asked.intervals
        if self.original:
            intervals = IntervalOptions(method="none")
        else:
            method["ci"], usual["ci"] = ci_text(intervals, rows), ci_text(IntervalOptions(), rows)
        result = Result(
            under(self.question, method),
            self._signature(method, usual, version),
            Estimates([]),
            rows,
            collected.examples,
            options=intervals,
            directory=collected.directory,
        )
        _refuse_repeated(self.question.name, [statistic.name for statistic in result.statistics])
        with stage(SUMMING):
            result.estimates = self.estimates(result)
            if result.estimates.counted:
                signature = result.signature
                result.signature = replace(signature, method={**signature.method, "grid": GRID})
            # An original's figures are point values: it does not matter to them which rows belong together.
            gathered = self.data.notes if isinstance(self.data, Gathered) else []
            result.notes = [
                *gathered,
                *self.notes,
                *result.estimates.notes,
                *unsure,
                *([] if self.original or samples else _shared_ids(collected)),
            ]
            if samples is not None:
                result.repeats = repeats(
                    rows, result.statistics, result.question.headline, samples, slices=asked.slices, options=intervals,
                    outcome=result.question.outcome,
                )  # fmt: skip
            result.inputs = self.inputs()
            self.finish(result)
        result.notes += [*given_up(rows), *asked.mended.notes()]
        if labels is not None:
            try:
                result = result.corrected_by(labels)
            except InputError:
                if collected.directory is not None:
                    result.store()  # labels of another run are no reason to measure again
                raise
        if collected.directory is not None:
            with stage(REPORT, unit=""):
                result.store()
        if nothing := result.nothing_scored():
            warnings.warn(nothing, NothingScored, stacklevel=2)
        return result


def _unscored(rows: pl.DataFrame) -> int:
    return int((~rows["scored"]).sum()) if rows.schema.get("scored") == pl.Boolean else 0


def _refuse_missing(rows: pl.DataFrame, sliced: Sequence[str]) -> None:
    """Refuse a slice by what is not measured with these options, before the rest is."""
    for name in sliced:
        if name not in rows.columns:
            raise InputError(
                f"cannot slice by {shown(name)}: the measurements have no such column",
                hint=did_you_mean(name, [c for c in rows.columns if c not in RESERVED]) or None,
                reason=Reason.UNKNOWN_COLUMN,
            )


def _refuse_weightless(rows: Measurements, name: str) -> None:
    """Refuse rows of which none that is scored counts for anything."""
    if "weight" not in rows.schema:
        return
    scored = 0
    for batch in rows.batches([c for c in ("weight", "scored") if c in rows.schema]):
        weights = batch["weight"].filter(batch["scored"]) if "scored" in batch.columns else batch["weight"]
        if bool((weights > 0).any()):
            return
        scored += len(weights)
    if scored:
        raise InputError(
            field=name, expected="at least one scored row with a weight above 0", got=f"0 in all {scored:,}",
            hint=WEIGHT_HINT, reason=Reason.BAD_WEIGHT,
        )  # fmt: skip


def _refuse_repeated(question: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InstrumentError(f"{question}: two statistics are called {name!r}")


def ci_text(options: IntervalOptions, rows: Measurements) -> str:
    """The interval's part of the signature."""
    if options.method == "none":
        return "none"
    cluster = next((c for c in ("cluster", "unit") if c in rows.schema), "row")
    return f"{options.method}-{options.level:g}-{options.replicates}x-by-{cluster}-seed{options.seed}"


def given_up(rows: Measurements) -> list[str]:
    """Rows that are scored and yet have a reason: what a model wrote took too much to be looked at, and is wrong."""
    if "reason" not in rows.schema or "scored" not in rows.schema:
        return []
    counts: Counter[str] = Counter()
    for batch in rows.batches(["scored", "reason"]):
        if batch["reason"].null_count() < len(batch):
            counts.update(batch.filter(pl.col("scored") & pl.col("reason").is_not_null())["reason"].to_list())
    return [f"{count:,} counted as wrong: {why}" for why, count in counts.most_common()]


def _shared_ids(collected: Collected) -> list[str]:
    if collected.ids is None:
        return []
    ids = f"{collected.ids:,} id{'s' if collected.ids > 1 else ''}"
    rows = "sequences" if collected.of_tokens else "rows"
    return [f"{collected.named:,} {rows} share {ids}: {rows} with the same id are resampled together"]


class TableInstrument(Instrument):
    """An instrument whose records are rows of a table: CSV, TSV, JSONL, JSON, Parquet, or a table in memory."""

    fields: Sequence[str] = ("id",)
    """Columns of the input that `measure` asks for, by our names; `--columns` maps others to them."""
    block_bytes: int | None = None
    """Bytes of text measured at a time (default: the reader's)."""
    batch_rows: int | None = None
    """Rows measured at a time of what does not come as text (default: the reader's)."""

    def __init__(self, data: Any, asked: Asked) -> None:
        super().__init__(data, asked)
        sizes = {"block_bytes": self.block_bytes, "batch_rows": self.batch_rows}
        self.sampled: str | None = None
        """A column that may tell samples of one example apart, though nobody named it."""
        self.table = TableReader(
            data,
            columns=asked.columns,
            asked=["id", *self.fields, *asked.wanted],
            limit=asked.limit,
            skip_bad=asked.skip_bad,
            **{name: size for name, size in sizes.items() if size is not None},  # type: ignore[arg-type]
        )

    def check(self) -> None:
        check_columns(self.data, self.asked.repeat, self.asked.columns)

    def look_at(self, first: TableBatch) -> None:
        """Decide what the first rows show (which columns are meant), before any is measured; also of a resumed run."""

    def texts(self, batch: TableBatch, name: str) -> pl.Series:
        """A column of some rows as text; a missing one is an error of its line, or null with --skip-bad."""
        return batch.texts(name, skip_bad=self.asked.skip_bad)

    @abstractmethod
    def measure(self, batch: TableBatch) -> pl.DataFrame | Batch:
        """The measurements of some rows, one for each, without id; with texts for the report: a `Batch`.

        A row that cannot be scored has `scored` false and a `reason`; without these columns all are scored.
        """

    def batches(self, done: int) -> Iterator[Batch]:
        count = number = 0
        rows: pl.DataFrame | None = None
        batch: TableBatch | None = None
        for number, batch in enumerate(self.table, start=1):
            if number == 1:
                self.sampled = None if self.original or self.asked.repeat else sample_column(batch)
                self.look_at(batch)
            count += len(batch.frame)
            if number > done:
                measured = self._own_measured(batch)
                rows = measured.measurements if measured.measurements.width > 1 else rows
                yield measured
        if not count:
            files = file_sources(self.data)
            raise InputError(
                path=files[0].name if len(files) == 1 else None, expected="at least one record",
                got=self.table.only_bad() or "none", hint="The input holds nothing to measure.", reason=Reason.EMPTY,
            )  # fmt: skip
        # Lines that could not be read are nobody's: merging adds them.
        whole = self.asked.shard is None
        if whole and done <= number and batch is not None and any(file.bad for file in self.table.files):
            # A resumed run may have measured all but these: the last batch says which columns they have.
            like = rows if rows is not None else self._measured(batch).measurements
            lost = self.table.lost_lines(like=like)
            if lost is not None:
                yield Batch(lost)

    def divisible(self) -> bool:
        return True

    def _own_measured(self, batch: TableBatch) -> Batch:
        own = self.own(batch.ids().to_list()) if self.asked.shard is not None else None
        if own is None:
            return self._measured(batch)
        return replace(self._measured(batch.taking(own)), places=own) if own else NONE_OWN

    def _measured(self, batch: TableBatch) -> Batch:
        """A batch measured, with the ids of its rows and what slices, clusters and weights need."""
        measured = self.measure(batch)
        if isinstance(measured, pl.DataFrame):
            measured = Batch(measured)
        if len(measured.measurements) != len(batch.frame):
            raise InstrumentError(
                f"{self.question.name}: measure gave {len(measured.measurements):,} rows for {len(batch.frame):,}"
            )
        ids = batch.ids()
        if self.asked.repeat is not None:
            ids = example_ids(batch, ids)
        return Batch(self._complete(measured.measurements, batch, ids), _named(measured.examples, ids))

    def _complete(self, measured: pl.DataFrame, batch: TableBatch, ids: pl.Series) -> pl.DataFrame:
        """With id, scored and reason in front, and with what slices, clusters and weights need."""
        marks = [] if "scored" in measured.columns else [pl.lit(True).alias("scored")]
        marks += [] if "reason" in measured.columns else [pl.lit(None, dtype=pl.String).alias("reason")]
        rows = measured.with_columns(ids, *marks).select("id", "scored", "reason", pl.exclude("id", "scored", "reason"))
        extra = []
        for name in self.asked.carried:
            if name not in rows.columns:
                batch.require([name])
                extra.append(batch.spelled(name))
        if self.sampled is not None and self.sampled not in [*rows.columns, *self.asked.carried]:
            extra.append(samples_in(batch, self.sampled))
        if self.asked.cluster is not None:
            batch.require([self.asked.cluster])
            extra.append(batch.spelled(self.asked.cluster).alias("cluster"))
        if self.asked.weight is not None:
            extra.append(batch.weights(self.asked.weight))
        return rows.with_columns(extra)

    def inputs(self) -> list[dict[str, Any]]:
        return self.table.inputs()


def _named(texts: pl.DataFrame | None, ids: pl.Series) -> pl.DataFrame | None:
    return None if texts is None else texts.with_columns(ids).select("id", pl.exclude("id"))
