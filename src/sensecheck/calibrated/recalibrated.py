"""Recalibrate and report: fit a map on some answers, show figures before and after on others."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Annotated, Any, Unpack, cast

import numpy as np
import polars as pl

from sensecheck.calibrated import figures
from sensecheck.calibrated.evaluation import evaluate
from sensecheck.calibrated.plots import overlay
from sensecheck.calibrated.question import QUESTION
from sensecheck.calibrated.reading import ReadConfidences
from sensecheck.calibrated.recalibration import METHODS, Method, Recalibration, fit, load
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.options import Option
from sensecheck.plotting.chart import Chart
from sensecheck.report.asking import Asked, asked, evaluator
from sensecheck.report.comparison import Comparison
from sensecheck.report.instrument import Instrument
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method as Choices
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.hashing import hash_ids, scramble, seed_key


@dataclass
class Recalibrated:
    """A map with what it does to answers it was not fitted on."""

    fitted: Recalibration
    before: Result
    after: Result
    flattered: bool = False
    """Fitted and reported on the same rows, because that was asked for."""

    def compare(self) -> Comparison:
        """After minus before, on the same rows."""
        return self.before.compare(self.after)

    def plot(self) -> Chart:
        """Both reliability curves in one picture."""
        return overlay([self.before, self.after], name="before-after", title="Before and after recalibration")

    def table(self) -> pl.DataFrame:
        """Every row with its stated and its recalibrated confidence."""
        rows = self.before.measurements
        return rows.with_columns(pl.Series("recalibrated", self.after.measurements["confidence"])).select(
            ["id", "confidence", "recalibrated", *(["correct"] if "correct" in rows.columns else [])]
        )

    def verdict(self) -> list[str]:
        said = list(self.fitted.notes)
        old, new = self.before["ece"], self.after["ece"]
        if (
            isinstance(old.value, float)
            and isinstance(new.value, float)
            and isfinite(old.value)
            and isfinite(new.value)
        ):
            floor = new.beside.get("noise floor")
            near = f" (noise floor {floor:.3f})" if floor is not None else ""
            which = "the rows it was fitted on, which flatters it" if self.flattered else f"{new.n:,} rows"
            which += "" if self.flattered or not self.fitted.source else " that it was not fitted on"
            said.append(f"ECE {old.value:.3f} before, {new.value:.3f} after{near}, on {which}.")
        return said


_map = partial(Option, group="the map")


@evaluator(needs=None)
def recalibrate(
    data: Annotated[Any, Option("answers to report on: files or globs; - is standard input", metavar="FILE")],
    *,
    method: Annotated[Method, _map("form of the map", choices=METHODS)] = "temperature",
    fit_on: Annotated[Any, _map("fit on these answers", metavar="FILE")] = None,
    split: Annotated[
        float | None, _map("fit on this share of the answers, report on the others", metavar="SHARE")
    ] = None,
    fitted: Annotated[
        str | os.PathLike[str] | Recalibration | None,
        _map("use a map that was saved", flag="--map", metavar="FILE"),
    ] = None,
    same_rows: Annotated[bool, _map("fit and report on the same rows: flatters the map")] = False,
    seed: int | None = None,
    bins: Annotated[
        int, Option("equal-width bins on [0, 1]", group="reading", metavar="N", at_least=1)
    ] = figures.DEFAULT_BINS,
    nll_clip: Annotated[
        float, Option("nll_clipped brings confidences into [E, 1 − E]", group="reading", metavar="E")
    ] = figures.DEFAULT_NLL_CLIP,
    **shared: Unpack[ReadConfidences],
) -> Recalibrated:
    """Fit on `fit_on`, or on a share `split` of `data`, or take a `fitted` map; report on (the rest of) `data`.

    A split keeps clusters whole and follows from their names and `seed` alone (default: the intervals' seed). To fit
    and report on the same rows flatters the map: it is refused unless `same_rows` says that you want it.
    """
    ways = sum(x is not None for x in (fit_on, split, fitted)) + bool(same_rows and fit_on is None and fitted is None)
    if ways != 1:
        raise InputError(
            "say where the map comes from: another file to fit on, a share to split off, or a saved map",
            hint="One of --fit-on FILE (fit_on=), --split SHARE (split=), --map FILE (fitted=), or, to fit and report "
            "on all rows, --same-rows (same_rows=True).",
            reason=Reason.BAD_OPTION,
        )
    settled = asked(shared)
    if settled.resume:
        raise InputError(
            "--resume has no meaning here: a recalibration is not resumed, run it again", reason=Reason.BAD_OPTION
        )
    # Measured in memory and without intervals first: what is kept and reported is made of these rows.
    quick = cast(ReadConfidences, {**shared, "options": IntervalOptions(method="none"), "out": None})
    measured = evaluate(data, bins=bins, nll_clip=nll_clip, **quick)
    reported = measured.measurements
    if fitted is not None:
        recalibration = fitted if isinstance(fitted, Recalibration) else load(fitted)
        if not same_rows:
            _refuse_fitted_on(measured, recalibration)
    else:
        source: dict[str, Any]
        if split is not None:
            drawn = settled.intervals.seed if seed is None else seed
            learned, reported = _parted(reported, split, drawn)
            source = {"split": split, "seed": drawn, "inputs": measured.inputs}
        elif fit_on is not None:
            other = evaluate(fit_on, bins=bins, nll_clip=nll_clip, **cast(ReadConfidences, {**quick, "slices": ()}))
            learned = other.measurements
            source = {"inputs": other.inputs}
            if not same_rows:
                _refuse_same(measured, other)
        else:
            learned, source = reported, {"same_rows": True, "inputs": measured.inputs}
        recalibration = replace(_fitted(method, learned), source=source)
    before = Remeasured(reported, replace(settled, out=None), measured).run()
    after = Remeasured(_mapped(reported, recalibration), settled, measured, recalibration, before).run()
    before.texts = after.texts = measured.texts
    return Recalibrated(recalibration, before, after, same_rows)


class Remeasured(Instrument):
    """Figures of rows that were measured already, with their confidences as they were or as a map makes them."""

    question = QUESTION

    def __init__(
        self,
        rows: pl.DataFrame,
        asked: Asked,
        measured: Result,
        recalibration: Recalibration | None = None,
        before: Result | None = None,
    ) -> None:
        super().__init__(None, asked)
        self.rows, self.measured, self.recalibration, self.before = rows, measured, recalibration, before
        self.notes += [*measured.notes, *(recalibration.notes if recalibration is not None else ())]

    def batches(self, done: int) -> Iterator[Batch]:
        if done == 0:
            yield Batch(self.rows)

    def method(self) -> Choices:
        return {name: choice for name, choice in self.measured.signature.method.items() if name != "ci"}

    def defaults(self) -> Choices:
        return self.measured.signature.defaults

    def system(self) -> Mapping[str, str]:
        name = self.measured.name
        how = {"name": name, "recalibrated": "no"}
        if self.recalibration is not None:
            how = {"name": f"{name}, recalibrated", "recalibrated": str(self.recalibration)}
        return {**self.measured.signature.system, **how}

    def inputs(self) -> list[dict[str, Any]]:
        return self.measured.inputs

    def finish(self, result: Result) -> None:
        if self.before is not None:
            result.extra = {"before": _curve_of(self.before)}


def _curve_of(result: Result) -> dict[str, Any]:
    value = result["reliability"].value
    return {"name": result.name, "reliability": list(value) if isinstance(value, tuple) else []}


def _usable(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("scored") & pl.col("confidence").is_not_null() & pl.col("correct").is_not_null())


def _fitted(method: Method, rows: pl.DataFrame) -> Recalibration:
    used = _usable(rows)
    weight = used["weight"].to_numpy() if "weight" in used.columns else None
    return fit(method, used["confidence"].to_numpy(), used["correct"].cast(pl.Float64).to_numpy(), weight)


def _mapped(rows: pl.DataFrame, fitted: Recalibration) -> pl.DataFrame:
    values = rows["confidence"].fill_null(0.5).to_numpy()
    return rows.with_columns(pl.Series("confidence", fitted(values)).set(rows["confidence"].is_null(), None))


def _parted(rows: pl.DataFrame, share: float, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows to fit on and rows to report on; what belongs together stays together."""
    if not 0 < share < 1:
        raise InputError(field="split", expected="a share between 0 and 1", got=f"{share:g}", reason=Reason.BAD_OPTION)
    owner = next(c for c in ("cluster", "unit", "id") if c in rows.columns)
    keys = scramble(hash_ids(rows[owner].cast(pl.String)) ^ seed_key(seed, "recalibration"))
    chosen = pl.Series(keys.astype(np.float64) / 2.0**64 < share)
    fit_rows, rest = rows.filter(chosen), rows.filter(~chosen)
    if not len(_usable(fit_rows)) or not len(rest):
        raise InputError(
            f"a split of {share:g} leaves nothing to {'fit on' if len(rest) else 'report on'}",
            hint=f"There are {rows[owner].n_unique():,} separate {owner}s.", reason=Reason.EMPTY,
        )  # fmt: skip
    return fit_rows, rest


def _refuse_same(reported: Result, learned: Result) -> None:
    a, b = (_usable(r.measurements).select("confidence", "correct") for r in (reported, learned))
    # The same file, or the same rows in another one (compressed, in another format, in memory).
    if _digests(reported.inputs) & _digests(learned.inputs) or a.equals(b):
        raise InputError(
            "the map would be fitted on the rows it is reported on, which flatters it",
            hint="Fit on another file or use --split (split=); --same-rows (same_rows=True) does it anyway.",
            reason=Reason.SAME_ROWS,
        )


def _refuse_fitted_on(reported: Result, fitted: Recalibration) -> None:
    """A saved map remembers the files that it was fitted on (or on a part of)."""
    if _digests(reported.inputs) & _digests(fitted.source.get("inputs", [])):
        raise InputError(
            "the map was fitted on rows of this file, which flatters it here",
            hint="Report on another file; --same-rows (same_rows=True) does it anyway.",
            reason=Reason.SAME_ROWS,
        )


def _digests(inputs: Sequence[Mapping[str, Any]]) -> set[str]:
    return {str(i["sha256"]) for i in inputs if i.get("sha256")}


__all__ = ["Recalibrated", "recalibrate"]
