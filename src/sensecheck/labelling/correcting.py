"""`--human`: a run's figure corrected by what people say of some of its examples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.fingerprints import of_value
from sensecheck.inputs.reasons import Reason
from sensecheck.judges.figures import JUDGE_UNCHECKED, UNCHECKED, checked
from sensecheck.labelling.items import VERDICT as STRATUM_OF_VERDICT
from sensecheck.labelling.items import Items, items_of
from sensecheck.labelling.judging import RIGHT as SAID_RIGHT
from sensecheck.labelling.matching import Matched, matched
from sensecheck.labelling.reading import place_of, read
from sensecheck.report.corrected import (
    ALONE,
    BELIEVED,
    LABELS,
    LEFT_OUT,
    RAW,
    SUFFIX,
    TITLE,
    WORTH,
    Corrected,
    CorrectedDifference,
)
from sensecheck.report.examples import key_column
from sensecheck.report.result import Result
from sensecheck.statistics.compare import ALPHA, Difference
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.labelled_rows import (
    RIGHT,
    STANDS_FOR,
    UNIT,
    VERDICT,
    WEIGHT,
    LabelledRows,
    SliceCorrected,
    paired_difference,
)
from sensecheck.statistics.limits import Limits
from sensecheck.statistics.statistic import ONE, Statistic, ratio
from sensecheck.statistics.table import Slice

NO_LABELS = "no label here says right or wrong"
METHOD, NORMAL = "PPI++", "PPI++, normal interval"
_KEPT_NAMES = ("id", "verdict", "example", "scored", "reason")


def corrected_by(result: Result, labels: Any, *, options: IntervalOptions | None = None) -> Result:
    """The same result with the figure that these labels correct: files, a table in memory, or what `read` gave."""
    said = _Said.of(result, _labels(labels))
    corrected = said.corrected(options or result.options)
    way = "ppi++-normal" if corrected.method == NORMAL else "ppi++"
    signature = replace(result.signature, method={**result.signature.method, "human": f"{corrected.digest}-{way}"})
    if any(figure.low is not None or figure.absent == LEFT_OUT for figure in corrected.figures):
        result = _checked(result)
    return replace(result, corrected=corrected, signature=signature)


def _checked(result: Result) -> Result:
    """A judge's figure that stands beside what people say is no longer marked as unchecked."""
    found = result.estimates
    slices = {by: [checked(row) for row in rows] for by, rows in found.slices.items()}
    notes = [note for note in result.notes if not note.startswith(JUDGE_UNCHECKED)]
    return replace(result, estimates=replace(found, overall=checked(found.overall), slices=slices), notes=notes)


def corrected_statistic(result: Result) -> Statistic:
    """The figure that a person's right and wrong speak of: the share of rows that the run calls right."""
    question = result.question
    if question.judging is not None and question.judging.items is not None:
        raise InputError(
            f"no figure of {question.name} is corrected by labels: what people judge there is not a whole example with "
            "one verdict", hint="`sensecheck agree` says how far its verdicts can be believed.",
            reason=Reason.BAD_OPTION,
        )  # fmt: skip
    for statistic in result.statistics:
        if not isinstance(statistic, Statistic) or statistic.finish is not ratio or statistic.bins is not None:
            continue
        if statistic.sums == (question.outcome, ONE) and statistic.name in question.headline:
            if key_column(result.rows, result.texts) == "id":
                return statistic
            raise InputError(
                f"{statistic.label} is a share of tokens, and people judge whole answers",
                hint="Measure answers: with --level sequence, a label speaks of one row.", reason=Reason.BAD_OPTION,
            )  # fmt: skip
    raise InputError(
        f"this run of {question.name} has no figure that is the share of rows with a true verdict: labels of right and "
        "wrong correct none of its figures", reason=Reason.BAD_OPTION,
    )  # fmt: skip


@dataclass(frozen=True)
class _Said:
    """What labels say of a run."""

    result: Result
    statistic: Statistic
    rows: LabelledRows
    ids: pl.Series
    """Of the rows."""
    digest: str
    notes: list[str]
    why_not: str
    """Why there is no figure, where labels leave a part of the run out."""

    @classmethod
    def of(cls, result: Result, labels: pl.DataFrame) -> _Said:
        statistic = corrected_statistic(result)
        schema = result.rows.schema
        strata = [name for name in _strata(labels) if name in schema]
        wanted = [c for by in result.estimates.slices for c in by] + strata
        wanted += [c for c in ("weight", "unit") if c in schema]
        items = items_of(result, [c for c in dict.fromkeys(wanted) if c not in _KEPT_NAMES])
        fits = matched(labels, items)
        judged, notes = majority(fits)
        weights, more = fits.weighed(judged["id"])
        told = judged.join(weights.select("id", "stands_for"), on="id", how="left", maintain_order="left")
        frame = _rows(items, told, lower=result.outcome_direction == "lower")
        clustered = frame[UNIT].n_unique() < len(frame)
        return cls(
            result, statistic, LabelledRows(frame, clustered), frame["id"], digest_of(fits), [*notes, *more],
            _left_out(fits, judged),
        )  # fmt: skip

    def corrected(self, options: IntervalOptions) -> Corrected:
        normal = options.method == "normal"
        notes = list(self.notes)
        if normal and self.rows.clustered:
            notes.append("the normal interval of PPI++ takes rows that belong together as independent")
        method = NORMAL if normal else METHOD
        figures = [self._figure(one, options) for one in self.rows.by((), options.level, normal=normal)]
        found = Corrected(self.digest, method, figures, {}, notes)
        for by, rows in self.result.estimates.slices.items():
            if any(c in _KEPT_NAMES for c in by):
                notes.append(f"not by {' × '.join(by)}, which says what became of a row")
                continue
            there = {one.key: self._figure(one, options, by) for one in self.rows.by(by, options.level, normal=normal)}
            keys = [tuple(str(v) for v in row[0].slice.values()) for row in rows if row]
            found.slices[by] = [[there.get(key) or self._nothing(by, key)] for key in keys]
        return found

    def _nothing(self, by: Slice, key: tuple[str, ...]) -> Figure:
        """Of a slice in which no row has a verdict."""
        return replace(self._figure(SliceCorrected(key, 0, 0, 0, None, None), IntervalOptions(), by), absent="no rows")

    def _figure(self, one: SliceCorrected, options: IntervalOptions, by: Slice = ()) -> Figure:
        raw = _raw(self.result, self.statistic.name, dict(zip(by, one.key, strict=True)))
        plain = Figure(
            self.statistic.name + SUFFIX, self.statistic.label.removesuffix(UNCHECKED) + TITLE, float("nan"), one.rows,
            one.units if self.rows.clustered else None, raw.unscored if raw is not None else {},
            beside={LABELS: one.labels}, direction=self.statistic.direction, slice=dict(zip(by, one.key, strict=True)),
        )  # fmt: skip
        if self.why_not or one.found is None:
            return replace(plain, absent=self.why_not or NO_LABELS)
        found = one.found
        beside = {
            RAW: float(found.raw), ALONE: float(found.alone), LABELS: one.labels, WORTH: float(found.worth),
            BELIEVED: float(found.believed),
        }  # fmt: skip
        if options.method == "none":
            return replace(plain, value=float(found.value), beside=beside, absent=LEFT_OUT)
        if one.normal is not None:
            own = one.normal
            limits = Limits(own.low, own.high, own.low, own.high)
            beside[BELIEVED] = float(own.believed)
            return _with_interval(plain, float(own.value), limits, NORMAL, beside)
        told = "mid-P, labels and verdicts" + (", clusters" if self.rows.clustered else "")
        return _with_interval(plain, float(found.value), found.limits, told, beside)


def _with_interval(figure: Figure, value: float, limits: Limits, method: str, beside: dict[str, float]) -> Figure:
    low, high, surely_low, surely_high = (float(end) for end in limits)
    if not (np.isfinite(low) and np.isfinite(high)):
        return replace(figure, value=value, beside=beside, absent="too few labels")
    return replace(
        figure, value=value, low=low, high=high, method=method, beside=beside, bounds=(surely_low, surely_high)
    )


def _raw(result: Result, name: str, chosen: dict[str, str]) -> Figure | None:
    rows = [result.figures] if not chosen else result.estimates.slices.get(tuple(chosen), [])
    for figures in rows:
        for figure in figures:
            if figure.name == name and dict(figure.slice) == chosen:
                return figure
    return None


def _labels(labels: Any) -> pl.DataFrame:
    return labels if isinstance(labels, pl.DataFrame) and "who" in labels.columns else read(labels)


def _strata(labels: pl.DataFrame) -> list[str]:
    """The columns by which the labels were drawn."""
    told = labels["stratum"].drop_nulls().unique().to_list()
    return sorted({name for text in told for name in json.loads(text)} - {STRATUM_OF_VERDICT})


def digest_of(fits: Matched) -> str:
    """Of labels: whose they are of which examples, and what they say."""
    return of_value(fits.labels.select("id", "who", "label").sort("id", "who").rows())


def majority(fits: Matched) -> tuple[pl.DataFrame, list[str]]:
    """What most people say of each example, and what a reader must know of labels that say nothing."""
    clear = fits.labels.filter(pl.col("fair") & pl.col("right").is_not_null())
    votes = clear.group_by("id", maintain_order=True).agg(share=pl.col("right").mean())
    judged = votes.filter(pl.col("share") != 0.5).select("id", right=(pl.col("share") > 0.5).cast(pl.Float64))
    examples = fits.labels["id"].n_unique()
    notes = []
    if unclear := examples - len(votes):
        notes.append(f"{unclear:,} of {examples:,} labelled examples are unclear or taken out: they correct nothing")
    if apart := len(votes) - len(judged):
        notes.append(f"on {apart:,} examples as many people say right as wrong: they correct nothing")
    return judged, notes


def _left_out(fits: Matched, judged: pl.DataFrame) -> str:
    """Why there can be no figure: some of the run is stood for by no label that says something."""
    if not len(judged):
        return NO_LABELS
    there = fits.examples.filter(pl.col("id").is_in(judged["id"].implode()))["stratum"].unique()
    idle = fits.examples.filter(~pl.col("stratum").is_in(there.implode()))["stratum"].unique(maintain_order=True)
    if not len(idle):
        return ""
    words = [", ".join(f"{k} {shown(v, 40)}" for k, v in json.loads(one).items()) for one in idle.to_list()[:3]]
    return f"no label says right or wrong of the stratum {'; '.join(words)}, so that no figure speaks of the whole run"


def _rows(items: Items, judged: pl.DataFrame, *, lower: bool) -> pl.DataFrame:
    """The rows that have a verdict, with what labels say of them."""
    frame = items.frame.join(judged, on="id", how="left", maintain_order="left")
    owner = next((c for c in ("cluster", "unit", "example_id") if c in frame.columns), "id")
    verdict, right = (pl.col("verdict") == SAID_RIGHT).cast(pl.Float64), pl.col("right")
    return frame.with_columns(
        (1 - verdict if lower else verdict).alias(VERDICT),
        (1 - right if lower else right).alias(RIGHT),
        (pl.col("weight").cast(pl.Float64) if "weight" in frame.columns else pl.lit(1.0)).alias(WEIGHT),
        pl.col("stands_for").fill_null(0.0).alias(STANDS_FOR),
        pl.col(owner).cast(pl.String).alias(UNIT),
    )


# ---- two runs


def compared_by(
    a: Result, b: Result, given: Sequence[pl.DataFrame | None], names: tuple[str, str]
) -> CorrectedDifference:
    """The corrected difference over the rows that have a verdict in both runs; each run is given its own labels."""
    labels = [own for own in given if own is not None]
    if len(labels) < 2:
        missing = " and ".join(name for name, own in zip(names, given, strict=True) if own is None)
        return CorrectedDifference(names, notes=[f"there are no labels of {missing}, and both runs need some"])
    sides = [_Said.of(run, own) for run, own in zip((a, b), labels, strict=True)]
    told = [f"{name}: {note}" for name, side in zip(names, sides, strict=True) for note in side.notes]
    why_not = [f"{name}: {side.why_not}" for name, side in zip(names, sides, strict=True) if side.why_not]
    common = sides[0].ids.filter(sides[0].ids.is_in(sides[1].ids.implode()))
    kept = [side.rows.kept(common) for side in sides]
    found = None if why_not else paired_difference(kept[0], kept[1], 1 - ALPHA)
    if found is None:
        why_not = why_not or ["no label of one of them speaks of a row that both runs have a verdict on"]
        return CorrectedDifference(names, notes=[*told, *why_not])
    in_a, in_b, judged = found
    statistic, units = sides[0].statistic, kept[0].frame[UNIT].n_unique()
    difference = Difference(
        statistic.name + SUFFIX, statistic.label.removesuffix(UNCHECKED) + TITLE, float(in_a.value), float(in_b.value),
        float(in_b.value) - float(in_a.value), float(judged.low), float(judged.high), float(judged.p), None, None, None,
        None, len(common), len(common), units, statistic.direction, standard_error=float(judged.error),
    )  # fmt: skip
    return CorrectedDifference(
        names, difference, told, (int(in_a.labels), int(in_b.labels)), (float(in_a.worth), float(in_b.worth)),
        (sides[0].digest, sides[1].digest),
    )  # fmt: skip


def labels_of_each(results: Sequence[Result], labels: Any) -> list[pl.DataFrame | None]:
    """The labels of each run: which run a label is of, the digests that travel with it say."""
    given = _labels(labels)
    if given["run"].is_null().any():
        row = given.filter(pl.col("run").is_null()).row(0, named=True)
        raise InputError(
            f"the label at {place_of(row)} does not say of which run it is", reason=Reason.OTHER_RUN,
            hint="Correct each run by its own labels first (sensecheck report RUN --human FILE), or label a sheet of "
            "`sensecheck label`.",
        )  # fmt: skip
    items = [items_of(result) for result in results]
    owners: dict[str, list[int]] = {}
    for run, own in given.group_by("run", maintain_order=True):
        owners[str(run[0])] = list(_owners(own, str(run[0]), items))
        if not owners[str(run[0])]:
            row = own.row(0, named=True)
            raise InputError(
                f"the labels at {place_of(row)} were made for a run that is not compared here (the digest of its "
                f"examples is {row['run']})", hint="Give the labels of the runs that are compared.",
                reason=Reason.OTHER_RUN,
            )  # fmt: skip
    return [_those(given, [run for run, at in owners.items() if k in at]) for k in range(len(results))]


def _owners(labels: pl.DataFrame, run: str, items: Sequence[Items]) -> Iterator[int]:
    exact = [k for k, own in enumerate(items) if own.digest == run]
    if exact:
        yield from exact
        return
    for k, own in enumerate(items):
        same = labels.join(own.frame.select("id", "example"), on=["id", "example"], how="inner")
        if len(same) == len(labels):
            yield k


def _those(labels: pl.DataFrame, runs: Sequence[str]) -> pl.DataFrame | None:
    own = labels.filter(pl.col("run").is_in(runs))
    return own if len(own) else None
