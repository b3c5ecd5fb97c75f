"""Records measured a batch at a time, in bounded memory, with the texts that the report shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from sensecheck.diverse.measure import MAX_PAIRED, Alignment, MeasureOptions, Sets, measure
from sensecheck.diverse.records import N_GROUPS, SetRecord
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.guarding import Fault, caught
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch
from sensecheck.report.asking import Asked
from sensecheck.runs.collecting import Batch
from sensecheck.runs.list_columns import column_of_lists, list_column

MOST_CHARACTERS = 10_000_000
"""Characters of all hypotheses of one query."""

MOST_PAIRED_CHARACTERS = 2_000_000_000
"""Characters times hypotheses, where every pair is looked at: some seconds."""

PORTION = 1_500_000
"""Pairs and words that are held at once while a batch is measured."""

MANY_GROUPS = 6
"""From this number of groups on, queries are one slice."""


class _Also(NamedTuple):
    """What is measured beside the rest."""

    chance: bool
    classes: bool


def measured(
    records: Sequence[SetRecord],
    options: MeasureOptions,
    asked: Asked | None = None,
    *,
    chance: bool = True,
    classes: bool = False,
) -> Batch:
    """Measure one batch of records and keep the texts that the report shows.

    chance: the baseline as well. classes: the figures of given classes as well.
    """
    also = _Also(chance, classes)
    asked = asked or Asked()
    bounded = [_within_budget(record) for record in records]
    parts = [part for some in _in_portions(bounded, options.variety) for part in _guarded(some, options, asked, also)]
    if len(parts) == 1:
        return parts[0]
    return Batch(
        pl.concat([part.measurements for part in parts]),
        pl.concat([part.examples for part in parts if part.examples is not None]),
    )


def _within_budget(record: SetRecord) -> SetRecord:
    """The record without hypotheses that take too much to measure: they reach no group."""
    if any(map(_too_large, record.chance)):
        record = replace(record, chance=tuple([() if _too_large(donor) else donor for donor in record.chance]))
    if not _too_large(record.hypotheses):
        return record
    return replace(record, hypotheses=(), given_up=str(Reason.OVER_BUDGET))


def _too_large(hypotheses: Sequence[str]) -> bool:
    size = sum(map(len, hypotheses))
    paired = len(hypotheses) if len(hypotheses) <= MAX_PAIRED else 1
    return size > MOST_CHARACTERS or size * paired > MOST_PAIRED_CHARACTERS


def _guarded(records: Sequence[SetRecord], options: MeasureOptions, asked: Asked, also: _Also) -> list[Batch]:
    """The portion measured; where that fails, record by record, so that one of them fails alone."""
    portion = caught("measuring", _portion, records, options, asked, also)
    if not isinstance(portion, Fault):
        return [portion]
    if len(records) > 1:
        return [part for record in records for part in _guarded([record], options, asked, also)]
    record = replace(records[0], hypotheses=(), groups=(), group_names=(), chance=(), reason=str(portion.reason))
    return [_portion([record], options, asked, also)]


def _in_portions(records: Sequence[SetRecord], variety: bool) -> Iterator[Sequence[SetRecord]]:
    """Records in portions of bounded work: what is held at once grows with pairs and words, not with records."""
    portion: list[SetRecord] = []
    load = 0
    for record in records:
        n = len(record.hypotheses)
        references = sum(map(len, record.groups))
        cost = n * (references + 1) + sum(map(len, record.hypotheses)) // 4
        cost += sum(map(len, record.chance)) * len(record.groups)
        cost += min(n, MAX_PAIRED) ** 2 if variety else 0
        if portion and load + cost > PORTION:
            yield portion
            portion, load = [], 0
        portion.append(record)
        load += cost
    yield portion


def _portion(records: Sequence[SetRecord], options: MeasureOptions, asked: Asked, also: _Also) -> Batch:
    sets = Sets(
        [record.id for record in records],
        [record.hypotheses for record in records],
        [record.groups for record in records],
        [record.chance for record in records] if also.chance else None,
        [record.classes for record in records] if also.classes else None,
    )
    numbers, alignment = measure(sets, options)
    _check_slices(asked, numbers.columns)
    scored = pl.Series("scored", [not record.reason for record in records])
    if not scored.all():
        # A record that could not be read has no numbers at all, rather than zeros.
        numbers = numbers.with_columns(pl.when(scored).then(pl.exclude("id")).otherwise(None))
    reason = pl.Series("reason", [record.reason or record.given_up or None for record in records], pl.String)
    columns = {N_GROUPS: pl.Series([_group_count(len(record.groups)) for record in records], dtype=pl.String)}
    for name in asked.carried:
        if name not in (N_GROUPS, "id"):
            columns[name] = pl.Series([_text(record.columns.get(name)) for record in records], dtype=pl.String)
    if asked.weight is not None:
        columns["weight"] = _weights(records, asked.weight)
    if asked.cluster is not None:
        columns["cluster"] = pl.Series([_cluster(record, asked.cluster) for record in records], dtype=pl.String)
    named = [column.alias(name) for name, column in columns.items()]
    return Batch(numbers.select("id", scored, reason, *named, pl.exclude("id")), _texts(records, alignment, also))


def _check_slices(asked: Asked, measured_columns: Sequence[str]) -> None:
    """Refuse a column of the input whose name a column of the measurements has: one would stand for the other."""
    taken = {"scored", "reason", *measured_columns} - {"id"}
    taken |= {
        ours for ours, theirs in (("weight", asked.weight), ("cluster", asked.cluster)) if theirs not in (None, ours)
    }
    for name in asked.carried:
        if name in taken:
            raise InputError(
                field="slices (--slice)", expected="a column whose name the measurements do not have", got=shown(name),
                hint=f"Call it by another name: --columns my_{name}={name} --slice my_{name} (columns=, slices=).",
                reason=Reason.BAD_OPTION,
            )  # fmt: skip


def _group_count(groups: int) -> str:
    return str(groups) if groups < MANY_GROUPS else f"{MANY_GROUPS} or more"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _cluster(record: SetRecord, name: str) -> str | None:
    """A line that could not be read is a cluster of its own."""
    return record.id if record.reason and name not in record.columns else _text(record.columns.get(name))


def _weights(records: Sequence[SetRecord], name: str) -> pl.Series:
    """Weights by the rule of all tables, whose message names the file and the line; an unreadable line counts 1."""
    parts = []
    for (path, counts), some in groupby(records, key=lambda record: (record.place.path, record.place.counts)):
        rows = list(some)
        weights = pl.Series([row.columns.get(name, 1.0 if row.reason else None) for row in rows], strict=False)
        table = pl.DataFrame({counts: [row.place.number for row in rows], name: weights})
        parts.append(TableBatch(table, path).weights(name))
    return pl.concat(parts)


def _texts(records: Sequence[SetRecord], alignment: Alignment, also: _Also) -> pl.DataFrame:
    per_set = np.asarray(alignment.index.hypotheses_per_set, dtype=np.int64)

    def by_set(values: NDArray[Any], dtype: type[pl.DataType]) -> pl.Series:
        return list_column(pl.Series(values, dtype=dtype), per_set)

    classes = [None if record.classes is None else list(record.classes) for record in records]
    return pl.DataFrame(
        {
            "id": pl.Series([record.id for record in records], dtype=pl.String),
            "query": pl.Series([record.query for record in records], dtype=pl.String),
            "hypothesis": column_of_lists([record.hypotheses for record in records], pl.String),
            "fell_in": by_set(alignment.group, pl.Int64),
            "score": by_set(alignment.score, pl.Float64),
            "margin_of": by_set(alignment.margin, pl.Float64),
            "counts": by_set(alignment.relevant, pl.Boolean),
            "group_name": column_of_lists([record.group_names for record in records], pl.String),
            # References flat with the number of their group: lists of lists are slow to build and to read.
            "reference": column_of_lists([list(chain.from_iterable(record.groups)) for record in records], pl.String),
            "reference_group": column_of_lists(
                [[g for g, group in enumerate(record.groups) for _ in group] for record in records], pl.Int64
            ),
            **({"class": pl.Series(classes, dtype=pl.List(pl.String))} if also.classes else {}),
        }
    )
