"""`sensecheck.diverse.evaluate`: from records to a result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any

import polars as pl

from sensecheck.diverse.aligners import Aligner, as_aligner
from sensecheck.diverse.corpus import MAX_WORDS, corpus_figures
from sensecheck.diverse.figures import DEFAULT_AT, DEFAULT_ORDERS, PARITY
from sensecheck.diverse.measure import MAX_PAIRED, Alignment, MeasureOptions, Sets, measure
from sensecheck.diverse.ngrams import Tokens, offsets
from sensecheck.diverse.parity import evaluate_as_original
from sensecheck.diverse.question import QUESTION
from sensecheck.diverse.records import DONORS, SetReader, SetRecord, files_behind, name_of, path_of
from sensecheck.diverse.tokens import TOKENIZERS, tokenizer
from sensecheck.diverse.variety import EAD_VOCABULARY
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.report.question import slicings
from sensecheck.report.result import Result, conduct
from sensecheck.runs.collecting import Batch
from sensecheck.statistics.figure import IntervalOptions

BATCH_SETS = 512
PORTION = 1_500_000
"""Pairs and words that are held at once while a batch is measured."""


def evaluate(
    data: Any,
    references: Any = None,
    *,
    eos: str | None = None,
    queries: Any = None,
    aligner: Aligner | str | Callable[[Tokens, Sequence[Tokens]], float] | None = None,
    tokenize: str = "whitespace",
    lowercase: bool = False,
    relevance: float | None = None,
    at: Sequence[int] = DEFAULT_AT,
    orders: Sequence[int] = DEFAULT_ORDERS,
    vocabulary: int = EAD_VOCABULARY,
    donors: int = DONORS,
    variety: bool = True,
    parity: str | None = None,
    columns: Mapping[str, str] | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    slices: Sequence[str | Sequence[str]] = (),
    options: IntervalOptions | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    system: str | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Do the responses cover the different good answers?

    data: hypotheses (LSDSCC's text file, JSONL, Parquet, CSV, a frame, records, lists), see `records`.
    references: where the data do not bring their own: LSDSCC's JSON, a text file, a table, lists.
    queries: a file or list of queries, one a line of the hypotheses: references are then found by text.
    aligner: bleu[:ORDER[:SMOOTHING]] (default), nltk-bleu[:METHOD], nist[:ORDER], embedding:MODEL, vectors:FILE, an
    aligner object, or a function of (hypothesis words, list of reference words).
    relevance: the score from which a hypothesis counts (default: 0.1 for BLEU, else any above 0).
    at: the k of MDS@k. orders: the n of distinct-n, EAD, Ent-n and recall. vocabulary: EAD's V.
    donors: how many other queries' responses make the chance baseline of each query; 0 for none.
    parity="lsdscc" gives the original's three figures, bit for bit, instead.
    """
    if tokenize not in TOKENIZERS:
        raise InputError(
            field="tokenize", expected=f"one of {', '.join(TOKENIZERS)}", got=repr(tokenize), reason="bad_option"
        )
    crossed = slicings(slices)
    seed = (options or IntervalOptions()).seed
    if parity is not None:
        if parity != PARITY:
            raise InputError(field="parity", expected=PARITY, got=repr(parity), reason="bad_option")
        return evaluate_as_original(
            data, references, eos=eos, aligner=aligner, out=out, overwrite=overwrite, system=system, limit=limit
        )
    for name, values in (("at", at), ("orders", orders)):
        if not values or any(not isinstance(v, int) or v < 1 for v in values):
            raise InputError(field=name, expected="whole numbers from 1 on", got=repr(values), reason="bad_option")
    chosen = MeasureOptions(
        aligner=as_aligner(aligner), tokenize=tokenize, lowercase=lowercase, relevance=relevance,
        at=tuple(dict.fromkeys(at)), orders=tuple(dict.fromkeys(orders)), vocabulary=vocabulary, variety=variety,
    )  # fmt: skip
    kept = [c for group in crossed for c in group if c != "n_groups"]
    kept += [c for c in (weight, cluster) if c]
    reader = SetReader(
        data, references, eos=eos, queries=queries, columns=columns, keep=kept, limit=limit, skip_bad=skip_bad,
        donors=donors, seed=seed,
    )  # fmt: skip
    plan = {
        "inputs": [file for one in (data, references, queries) for file in files_behind(one)],
        "columns": dict(columns or {}), "slices": crossed, "limit": limit,
        "skip_bad": skip_bad, "eos": eos, "weight": weight, "cluster": cluster,
    }  # fmt: skip
    held = {"any": False}
    notes: list[str] = []
    method = _method(chosen, donors, seed)

    def batches(done: int) -> Iterator[Batch]:
        number = 0
        records = iter(reader)
        while True:
            some = list(islice(records, BATCH_SETS))
            if not some:
                break
            if number == 0:
                reader.check_columns()
                _check_columns(kept, some, reader)
            held["any"] = held["any"] or any(record.groups for record in some)
            if number >= done:
                yield measured(some, chosen, slices=kept, weight=weight, cluster=cluster, donors=donors)
            number += 1
        if number == 0:
            raise InputError("there is no query to measure", path=path_of(data), reason="empty_input")
        notes.extend(f"{how_many:,} {rule}" for rule, how_many in sorted(reader.counts.items()))
        if reader.flat:
            notes.append("references came as flat lists: each is a group of its own, so MDS equals PDS")
        if not held["any"]:
            notes.append("no references: only figures of the responses themselves")

    return conduct(
        QUESTION, batches, method=method,
        defaults={**_method(MeasureOptions(at=DEFAULT_AT), DONORS, seed), "references": "grouped"},
        system={"name": system or name_of(data)}, slices=crossed, options=options, out=out, resume=resume,
        overwrite=overwrite, plan=plan,
        inputs=lambda: list(reader.files), notes=notes, progress=progress,
        late_method=lambda: {"references": "flat" if reader.flat else "grouped" if held["any"] else "none"},
        extra=lambda result: _with_corpus_figures(result, chosen),
    )  # fmt: skip


def _check_columns(wanted: Sequence[str], some: Sequence[SetRecord], reader: SetReader) -> None:
    """A slice, weight or cluster that no record has is a slip of the pen, not a column of nothing."""
    for name in wanted:
        if not any(name in record.columns for record in some):
            known = [*reader.known, "n_groups"]
            raise InputError(
                field="columns", expected=f"a column {shown(name, 60)}",
                got=f"the columns {', '.join(shown(one, 40) for one in known[:12])}",
                hint=did_you_mean(name, known) or None, reason="unknown_column",
            )  # fmt: skip


def _method(options: MeasureOptions, donors: int, seed: int) -> dict[str, str]:
    threshold = options.aligner.relevance if options.relevance is None else options.relevance
    return {
        "aligner": options.aligner.signature,
        "tok": options.tokenize,
        "case": "lower" if options.lowercase else "mixed",
        "relevance": f">={threshold:g}" if threshold > 0 else ">0",
        "at": ",".join(map(str, options.at)),
        "n": ",".join(map(str, options.orders)),
        "vocabulary": str(options.vocabulary),
        "chance": f"{donors}-other-queries-seed{seed}" if donors else "none",
        "variety": "yes" if options.variety else "no",
    }


def measured(
    records: Sequence[SetRecord],
    options: MeasureOptions,
    *,
    slices: Sequence[str] = (),
    weight: str | None = None,
    cluster: str | None = None,
    donors: int = DONORS,
) -> Batch:
    """Measure one batch of records and keep the texts that the report shows."""
    parts = [
        _measured(some, options, slices, weight, cluster, donors) for some in _in_portions(records, options.variety)
    ]
    if len(parts) == 1:
        return parts[0]
    return Batch(
        pl.concat([part.measurements for part in parts]),
        pl.concat([part.examples for part in parts if part.examples is not None]),
    )


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


def _measured(
    records: Sequence[SetRecord],
    options: MeasureOptions,
    slices: Sequence[str],
    weight: str | None,
    cluster: str | None,
    donors: int,
) -> Batch:
    sets = Sets(
        [record.id for record in records],
        [record.hypotheses for record in records],
        [record.groups for record in records],
        [record.chance for record in records] if donors else None,
    )
    frame, found = measure(sets, options)
    numbers_ = [name for name in frame.columns if name != "id"]
    scored = pl.Series("scored", [not record.reason for record in records])
    frame = frame.with_columns(scored, pl.Series("reason", [record.reason or None for record in records], pl.String))
    # A record that could not be read has no numbers at all, rather than zeros.
    frame = frame.with_columns(pl.when("scored").then(pl.col(numbers_)).otherwise(None))
    extra = [pl.Series("n_groups", [_bucket(len(record.groups)) for record in records], pl.String)]
    for name in dict.fromkeys(slices):
        if name not in (weight, cluster):
            extra.append(pl.Series(name, [_text(record.columns.get(name)) for record in records], pl.String))
    if weight:
        extra.append(pl.Series("weight", [_weight(record, weight) for record in records], pl.Float64))
    if cluster:
        extra.append(pl.Series("cluster", [_text(record.columns.get(cluster)) for record in records], pl.String))
    first = ["id", "scored", "reason", *(series.name for series in extra)]
    frame = frame.with_columns(extra).select(*first, *numbers_)
    return Batch(frame, _examples(records, found))


def _bucket(groups: int) -> str:
    return str(groups) if groups < 6 else "6 or more"


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _weight(record: SetRecord, name: str) -> float:
    value = record.columns.get(name)
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if not number >= 0:
        raise InputError(
            f"record {record.id!r}: weight column {name!r} holds {value!r}, not a number from 0 on", reason="bad_weight"
        )
    return number


def _examples(records: Sequence[SetRecord], found: Alignment) -> pl.DataFrame:
    ends = offsets(found.index.hypotheses_per_set).tolist()

    def cut(values: Any) -> list[list[Any]]:
        flat = values.tolist()
        return [flat[a:b] for a, b in pairwise(ends)]

    texts = pl.List(pl.String)
    return pl.DataFrame(
        {
            "id": pl.Series([record.id for record in records], dtype=pl.String),
            "query": pl.Series([record.query for record in records], dtype=pl.String),
            "hypothesis": pl.Series([list(record.hypotheses) for record in records], dtype=texts),
            "fell_in": pl.Series(cut(found.group), dtype=pl.List(pl.Int64)),
            "score": pl.Series(cut(found.score), dtype=pl.List(pl.Float64)),
            "margin_of": pl.Series(cut(found.margin), dtype=pl.List(pl.Float64)),
            "counts": pl.Series(cut(found.relevant), dtype=pl.List(pl.Boolean)),
            "group_name": pl.Series([list(record.group_names) for record in records], dtype=texts),
            # References flat with the number of their group: lists of lists are slow to build and to read.
            "reference": pl.Series([list(chain.from_iterable(record.groups)) for record in records], dtype=texts),
            "reference_group": pl.Series(
                [[g for g, group in enumerate(record.groups) for _ in group] for record in records],
                dtype=pl.List(pl.Int64),
            ),
        }
    )


def alignments(result: Result) -> pl.DataFrame:
    """One row a hypothesis: its query, its group (null: none to fall in), score, margin, and whether it counts."""
    if result.texts is None:
        return pl.DataFrame(schema={"id": pl.String})
    columns = ["id", "query", "hypothesis", "fell_in", "score", "margin_of", "counts", "group_name"]
    frames = []
    for frame in result.texts.batches(columns):
        per_hypothesis = frame.filter(pl.col("hypothesis").list.len() > 0).explode(
            "hypothesis", "fell_in", "score", "margin_of", "counts"
        )
        frames.append(
            per_hypothesis.with_columns(
                group=pl.when(pl.col("fell_in") >= 0).then("fell_in"),
                group_name=pl.when(pl.col("fell_in") >= 0).then(
                    pl.col("group_name").list.get(pl.col("fell_in").clip(0), null_on_oob=True)
                ),
                score=pl.col("score").fill_nan(None),
                margin=pl.col("margin_of").fill_nan(None),
            ).select("id", "query", "hypothesis", "group", "group_name", "score", "margin", "counts")
        )
    return pl.concat(frames)


def _with_corpus_figures(result: Result, options: MeasureOptions) -> dict[str, Any]:
    if not options.variety or result.texts is None:
        return {}
    split = tokenizer(options.tokenize, lowercase=options.lowercase)
    sets = (
        (texts, [split(text) for text in texts])
        for frame in result.texts.batches(["hypothesis"])
        for texts in frame["hypothesis"].to_list()
    )
    found = corpus_figures(sets, options.orders, options.repetition_order)
    if found is None:
        result.notes.append(f"figures of all responses together are left out above {MAX_WORDS:,} words")
    result.estimates.overall.extend(found or [])
    return {}
