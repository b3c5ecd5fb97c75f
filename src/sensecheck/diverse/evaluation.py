"""`sensecheck.diverse.evaluate`: from records to a result."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Any

import numpy as np
import polars as pl

from sensecheck.diverse import original, plots
from sensecheck.diverse.aligners import Aligner, as_aligner
from sensecheck.diverse.bleu import NLTK_METHODS
from sensecheck.diverse.corpus import corpus_figures
from sensecheck.diverse.figures import DEFAULT_AT, DEFAULT_ORDERS, numbers, statistics
from sensecheck.diverse.measure import Alignment, MeasureOptions, Sets, measure
from sensecheck.diverse.ngrams import Tokens, offsets
from sensecheck.diverse.records import DONORS, SetReader, SetRecord
from sensecheck.diverse.tokens import TOKENIZERS, tokenizer
from sensecheck.diverse.variety import EAD_VOCABULARY
from sensecheck.inputs.errors import InputError
from sensecheck.report.question import Question
from sensecheck.report.result import Result, conduct
from sensecheck.runs.collecting import Batch, collect
from sensecheck.runs.signature import Signature
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure, IntervalOptions

BATCH_SETS = 512

PARITY = "lsdscc"
NO_INTERVAL = "parity with the original: no interval"


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
    crossed = [(one,) if isinstance(one, str) else tuple(one) for one in slices]
    seed = (options or IntervalOptions()).seed
    if parity is not None:
        if parity != PARITY:
            raise InputError(field="parity", expected=PARITY, got=repr(parity), reason="bad_option")
        return _as_lsdscc(
            data, references, eos, aligner, out=out, overwrite=overwrite, system=system, limit=limit,
            options=options, progress=progress,
        )  # fmt: skip
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
            held["any"] = held["any"] or any(record.groups for record in some)
            if number >= done:
                yield measured(some, chosen, slices=kept, weight=weight, cluster=cluster, donors=donors)
            number += 1
        if number == 0:
            raise InputError("there is no query to measure", path=_path(data), reason="empty_input")
        notes.extend(f"{how_many:,} {rule}" for rule, how_many in sorted(reader.counts.items()))
        if reader.flat:
            notes.append("references came as flat lists: each is a group of its own, so MDS equals PDS")
        if not held["any"]:
            notes.append("no references: only figures of the responses themselves")

    return conduct(
        QUESTION, batches, method=method,
        defaults={**_method(MeasureOptions(at=DEFAULT_AT), DONORS, seed), "references": "grouped"},
        system={"name": system or _name_of(data)}, slices=crossed, options=options, out=out, resume=resume,
        overwrite=overwrite, plan={"inputs": [_path(data), _path(references), _path(queries)]},
        inputs=lambda: list(reader.files), notes=notes, progress=progress,
        late_method=lambda: {"references": "flat" if reader.flat else "grouped" if held["any"] else "none"},
        extra=lambda result: _with_corpus_figures(result, chosen),
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
    result.estimates.overall.extend(corpus_figures(sets, options.orders, options.repetition_order))
    return {}


def _path(data: Any) -> str | None:
    return os.fspath(data) if isinstance(data, (str, os.PathLike)) else None


def _name_of(data: Any) -> str:
    path = _path(data)
    return os.path.basename(path).split(".")[0] if path else "system"  # noqa: PTH119


# -- parity --------------------------------------------------------------------------------------------------------


def _as_lsdscc(
    data: Any,
    references: Any,
    eos: str | None,
    aligner: Any,
    *,
    out: str | os.PathLike[str] | None,
    overwrite: bool,
    system: str | None,
    limit: int | None,
    options: IntervalOptions | None,
    progress: Callable[[int], None] | None,
) -> Result:
    """The original's three figures: read, aligned and averaged as it does. Where it raises, there is no value."""
    hypotheses = original.HypothesisSet.load_corpus(data, eos) if _path(data) else data
    if references is None or _path(references):
        sets: Any = original.ReferenceSet.load_json_corpus(references)
    else:
        sets = references
    if len(hypotheses) != len(sets):
        raise InputError(
            f"{_path(data) or 'the hypotheses'} has {len(hypotheses):,} sets, "
            f"{_path(references) or 'the references'} has {len(sets):,}",
            hint="The original matches them by position and stops with an AssertionError.",
            reason="unequal_corpora",
        )
    hypotheses, sets = list(hypotheses)[:limit], list(sets)[:limit]
    if not sets:
        raise InputError("there is no query to measure", path=_path(data), reason="empty_input")
    align = _original_aligner(aligner)
    names = ("mds", "pds", "max_bleu")
    columns: dict[str, list[Any]] = {name: [] for name in ("id", "scored", "reason", *names)}
    first_error = ""
    for number, (score, reason) in enumerate(_original_scores(hypotheses, sets, align), start=1):
        first_error = first_error or reason
        for name, value in zip(columns, (str(number), not reason, reason or None, *score), strict=True):
            columns[name].append(value)
    types: dict[str, Any] = {"id": pl.String, "scored": pl.Boolean, "reason": pl.String}
    frame = pl.DataFrame(columns, schema={name: types.get(name, pl.Float64) for name in columns})
    figures = []
    # One row a set, as the original lays them out: numpy then adds row after row, which decides the last bits.
    score_rows = np.array(list(zip(*(columns[name] for name in names), strict=True)), dtype=np.float64)
    means = np.mean(score_rows, axis=0) if not first_error else np.full(3, np.nan)
    failed = {first_error: len(frame)} if first_error else {}
    for name, title, value in (
        ("max_bleu", "MaxBLEU", means[2]),
        ("mds", "MDS", means[0]),
        ("pds", "PDS", means[1]),
    ):
        n = 0 if first_error else len(frame)
        why = f"{NO_INTERVAL}; a set raised {first_error}" if first_error else NO_INTERVAL
        figures.append(Figure(name, title, float(value), n, unscored=failed, absent=why, direction="higher"))
    method = {"as": PARITY, "aligner": _original_signature(align)}
    signature = Signature("diverse", method, {"name": system or _name_of(data)}, {})
    collected = collect(
        lambda done: iter([Batch(frame)][done:]), out=out, plan={"question": "diverse", "method": method},
        overwrite=overwrite, progress=progress,
    )  # fmt: skip
    result = Result(
        QUESTION, signature, Estimates(figures), collected.measurements, None,
        IntervalOptions(method="none", level=(options or IntervalOptions()).level), [], [], collected.directory,
    )  # fmt: skip
    if collected.directory is not None:
        result.store()
    return result


def _original_scores(hypotheses: Sequence[Any], sets: Sequence[Any], align: Any) -> Iterator[tuple[Sequence[Any], str]]:
    """(MDS, PDS, MaxBLEU) of each set, or what the original raises for it."""
    table = original.score_table(hypotheses, sets, align)
    if table is not None:
        for score in zip(table.mds.tolist(), table.pds.tolist(), table.max_bleu.tolist(), strict=True):
            yield score, ""
        return
    for one, its in zip(hypotheses, sets, strict=True):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # the mean of no hypotheses
                yield original.compute_score_on_hypothesis_set(one, its, align), ""
        except Exception as error:  # whatever the original raises for a set is the set's reason
            yield (None, None, None), f"{type(error).__name__} in the original"


def _original_aligner(aligner: Any) -> Any:
    if aligner is None or callable(aligner):
        return aligner or original.BleuAligner()
    kind, _, rest = str(aligner).partition(":")
    if kind == "bleu" and (not rest or rest.isdecimal()):
        return original.BleuAligner(int(rest) if rest else None)
    if kind == "nltk-bleu" and (not rest or rest in NLTK_METHODS):
        return original.NLTKBleuAligner(rest or None)
    if kind == "nist" and (not rest or rest.isdecimal()):
        return original.NLTKNistAligner(int(rest) if rest else 5)
    raise InputError(
        field="aligner",
        expected="one that the original has: bleu[:N], nltk-bleu[:METHOD] or nist[:N]",
        got=repr(aligner),
        reason="bad_option",
    )


def _original_signature(aligner: Any) -> str:
    if isinstance(aligner, original.BleuAligner):
        return f"BleuAligner-{aligner.n}"
    if isinstance(aligner, original.NLTKBleuAligner):
        return f"NLTKBleuAligner-{aligner.smooth_function or 'method0'}"
    if isinstance(aligner, original.NLTKNistAligner):
        return f"NLTKNistAligner-{aligner.n}"
    return f"callable-{getattr(aligner, '__qualname__', type(aligner).__name__)}"


# -- the question --------------------------------------------------------------------------------------------------


def _statistics(method: Mapping[str, str]) -> Sequence[Any]:
    if method.get("as") == PARITY:
        from sensecheck.statistics.statistic import mean_of

        return [
            mean_of("max_bleu", title="MaxBLEU", direction="higher"),
            mean_of("mds", title="MDS", direction="higher"),
            mean_of("pds", title="PDS", direction="higher"),
        ]
    return statistics(method)


def verdict(result: Result) -> list[str]:
    """What to take away, in plain words."""
    known = {figure.name: figure for figure in result.figures}
    if "as" in result.signature.method or "mds" not in known or not known["mds"].n:
        return []
    mds = known["mds"]
    said = [f"The responses reach {_percent(mds.value)} of the meanings that the references hold."]
    over = known.get("mds_over_chance")
    if over is not None and over.n:
        by_chance = _percent(known["chance_mds"].value)
        if isinstance(over.low, float) and over.low > 0:
            said.append(
                f"Responses to other queries would reach {by_chance}: of the way from there to all, "
                f"they go {_percent(over.value)}."
            )
        elif isinstance(over.low, float):
            said.append(
                f"Responses to other queries would reach {by_chance}: that these do better cannot be told from chance."
            )
    repeated = known.get("corpus_self_repetition")
    if repeated is not None and isinstance(repeated.value, float) and repeated.value > 0.5:
        said.append(
            f"{_percent(repeated.value)} of all four-word phrases come back at other queries: canned responses?"
        )
    return said


def _percent(value: Any) -> str:
    return f"{100 * value:.0f}%" if isinstance(value, float) and value == value else "–"


def example_page(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Each query with its groups, hit or missed, and the hypotheses that fell in them (the paper's Figure 4)."""
    return [_example(row) for row in frame.iter_rows(named=True)]


def _example(row: Mapping[str, Any]) -> dict[str, Any]:
    title = row.get("query") or f"query {row['id']}"
    if not row.get("scored", True):
        return {"title": title, "parts": [{"label": "not scored", "spans": [[row.get("reason") or "", "bad"]]}]}
    hypotheses, fell_in = row.get("hypothesis") or [], row.get("fell_in") or []
    scores, counts = row.get("score") or [], row.get("counts") or []
    parts: list[dict[str, Any]] = []
    groups: dict[int, list[str]] = {}
    for number, text in zip(row.get("reference_group") or [], row.get("reference") or [], strict=True):
        groups.setdefault(number, []).append(text)
    for number, references in groups.items():
        inside = [i for i, k in enumerate(fell_in) if k == number and counts[i]]
        name = row["group_name"][number]
        state = f"hit by {len(inside)}" if inside else "missed"
        spans = [[text + "\n", "muted"] for text in references]
        spans += [[f"→ {_shown(hypotheses[i])} ({_score(scores[i])})\n", "good"] for i in inside]
        if not inside:
            spans.append(["→ no response\n", "missing"])
        parts.append({"label": f"meaning {name}: {state}", "spans": spans})
    outside = [i for i in range(len(hypotheses)) if not counts[i]]
    if outside:
        spans = [[f"{_shown(hypotheses[i])} ({_score(scores[i])})\n", "bad"] for i in outside]
        parts.append({"label": "reached no meaning" if groups else "responses", "spans": spans})
    if not hypotheses:
        parts.append({"label": "responses", "spans": [["none", "bad"]]})
    return {"title": title, "parts": parts}


def _shown(text: str) -> str:
    return text or "(empty)"


def _score(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) and value == value else "–"


QUESTION = Question(
    name="diverse",
    asks="do the responses cover the different good answers?",
    statistics=_statistics,
    headline=("max_bleu", "max_score", "mds", "pds", "mds_over_chance"),
    outcome="mds",
    plots=plots.plots,
    example_page=example_page,
    verdict=verdict,
)

__all__ = ["PARITY", "QUESTION", "alignments", "evaluate", "measured", "numbers"]
