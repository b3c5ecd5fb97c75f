"""Does the predicted query give the right answer?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sensecheck.correct import figures
from sensecheck.correct.answering import CACHE_NAME, Asker
from sensecheck.correct.examples import example_page
from sensecheck.correct.measure import CONVENTIONS, T2S, Choices, Language
from sensecheck.correct.plots import plots
from sensecheck.correct.records import UNASKED_RECORDS, Reader, read_distances
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.opening import identity
from sensecheck.report.question import Question, slicings
from sensecheck.report.result import Result, conduct
from sensecheck.runs.collecting import Batch
from sensecheck.statistics.figure import IntervalOptions
from sensecheck.statistics.measurements import concatenated
from sensecheck.stores import STANDARD_PREFIXES, Databases, Endpoint, Graph, Limits, Store

__all__ = ["QUESTION", "evaluate"]


def _verdict(result: Result) -> list[str]:
    return list(_sentences(result))


def _sentences(result: Result) -> Iterator[str]:
    values = {f.name: f.value for f in result.figures if isinstance(f.value, float) and isfinite(f.value)}
    if "accuracy" in values and "em" in values:
        yield f"{values['accuracy']:.1%} of the questions get the right answer; {values['em']:.1%} the very gold query."
    elif "em_normalised" in values and "em" in values:
        more = values["em_normalised"] - values["em"]
        yield f"{values['em']:.1%} are the gold text; {more:.1%} more are the gold query, written otherwise."
    if "answered" in values and values["answered"] < 1:
        yield f"{1 - values['answered']:.1%} of the predictions gave no answer; the report says why, one by one."
    if values.get("vacuous", 0) > 0.01:
        yield f"{values['vacuous']:.1%} are right only because gold and prediction both find nothing."


QUESTION = Question(
    name="correct",
    asks="Does the predicted query give the right answer?",
    statistics=figures.statistics,
    headline=(
        "accuracy",
        "macro_f1",
        "em",
        "em_normalised",
        "em_unweighted",
        "test_suite",
        "test_suite_keep_distinct",
        "bird",
        "text2sparql",
    ),
    outcome="correct",
    given=("question", "gold"),
    plots=plots,
    example_page=example_page,
    verdict=_verdict,
)

# Left out of the short signature where nobody changed them; language and execution are always said.
DEFAULTS = {
    "normalise": "yes", "gold": "auto", "conventions": "", "ignore-distinct": "no", "coerce": "no",
    "limits": Limits().key(), "prefixes": "standard", "distances": "none", "cluster": "conversation", "weight": "none",
}  # fmt: skip
SPICE_SLICES = ("question_type", "subtype", "context", "ellipsis", "multi_entity")


def evaluate(
    data: Any,
    *,
    graph: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    endpoint: str | None = None,
    database: str | os.PathLike[str] | None = None,
    store: Store | None = None,
    language: Language | None = None,
    conventions: Sequence[str] = (),
    gold: Literal["auto", "query", "answers"] = "auto",
    normalise: bool = True,
    ignore_distinct: bool = False,
    coerce: bool = False,
    prefixes: Mapping[str, str] | None = None,
    distances: str | os.PathLike[str] | Mapping[str, str] | None = None,
    limits: Limits | None = None,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    columns: Mapping[str, str] | None = None,
    slices: Sequence[str | Sequence[str]] = (),
    weight: str | None = None,
    cluster: str | None = None,
    limit: int | None = None,
    skip_bad: bool = False,
    options: IntervalOptions | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    system: str | None = None,
    parity: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Figures of predicted queries against gold queries or gold answers.

    `data` is files (paths, patterns), a table in memory or a list of dictionaries. Queries run on `graph` (RDF files
    or an Oxigraph folder), on `endpoint` (a SPARQL address) or on `database` (SQLite or DuckDB files); with none of
    them, exact match alone is measured. `store` is one that is open already; it stays open.
    """
    if parity is not None:
        from sensecheck.correct.parity import evaluate_as_spice

        if parity != "spice":
            raise InputError(field="parity", expected="spice", got=shown(parity), reason="bad_option")
        link = endpoint or graph
        return evaluate_as_spice(
            data, link, distances=distances, workers=workers, limit=limit, out=out, overwrite=overwrite, system=system
        )
    for name in conventions:
        if name not in CONVENTIONS:
            hint = did_you_mean(name, CONVENTIONS) or f"There are {', '.join(CONVENTIONS)}."
            raise InputError(field="conventions", expected="a known convention", got=shown(name), hint=hint)
    bounds = limits or (store.limits if store is not None else Limits())
    known = dict(STANDARD_PREFIXES if prefixes is None else {**STANDARD_PREFIXES, **prefixes})
    opened = store if store is not None else _open(graph, endpoint, database, bounds, known, workers)
    spoken: Language = "sparql"
    if opened is not None:
        spoken = "sql" if opened.language == "sql" else "sparql"
    by = slicings(slices)
    made = {"question_type", "subtype", "distance", "context", "ellipsis", "multi_entity", "triples", "kind", "outcome"}
    wanted = [*(c for s in by for c in s), *(c for c in (weight, cluster) if c is not None)]
    reader = Reader(
        data,
        columns=dict(columns or {}),
        keep=[c for c in dict.fromkeys(wanted) if c not in made],
        limit=limit,
        skip_bad=skip_bad,
        distances=_distances(distances),
        batch_records=UNASKED_RECORDS if opened is None else None,
    )
    if language is None:
        language = spoken if opened is not None else _sniff(reader)
    choices = Choices(
        language, opened is not None, normalise, gold, _fitting(conventions, language), ignore_distinct, coerce, known,
        getattr(opened, "dialect", "sqlite"),
    )  # fmt: skip
    if cache is None and out is not None:
        cache = Path(out) / CACHE_NAME
    asker = Asker(reader, choices, opened, Path(cache) if cache is not None else None, cluster=cluster, weight=weight)

    def batches(done: int) -> Iterator[Batch]:
        return asker.batches(done)

    method = _method(choices, opened, bounds, prefixes, distances)
    method |= {"cluster": cluster or "conversation", "weight": weight or "none"}
    notes = [] if opened is not None else ["no store was given: exact match alone, nothing was run"]
    try:
        result = conduct(
            QUESTION,
            batches,
            method=method,
            defaults=DEFAULTS,
            system={"name": system or _name(data)},
            slices=by,
            options=options,
            out=out,
            resume=resume,
            overwrite=overwrite,
            plan={
                "inputs": identity(data),
                "columns": dict(columns or {}),
                "slices": by,
                "limit": limit,
                "skip_bad": skip_bad,
                "store": opened.state() if isinstance(opened, Databases) else getattr(opened, "fingerprint", "none"),
            },
            inputs=lambda: reader.files,
            notes=notes,
            progress=progress,
            extra=lambda result: _last_notes(result, reader, asker),
        )
    finally:
        if opened is not None and store is None:
            opened.close()
    return result


def _last_notes(result: Result, reader: Reader, asker: Asker) -> dict[str, Any]:
    """What is known only after everything was read and asked."""
    if asker.missing:
        first = next(iter(asker.missing.values()))
        others = len(asker.missing) - 1
        result.notes.append(first + (f"; nor are {others:,} others there" if others else ""))
    result.notes += [
        f"{count:,} bad {'record' if count == 1 else 'records'}: {why}" for why, count in sorted(reader.bad.items())
    ]
    if f"{T2S}_low" not in result.rows.schema:
        return {}
    ends = concatenated(result.rows, [T2S, f"{T2S}_low", f"{T2S}_high"])
    low, high = ends[f"{T2S}_low"], ends[f"{T2S}_high"]
    tied = int((high - low > 1e-9).sum())
    unknown = int((ends[T2S].is_not_null() & low.is_null()).sum())
    value, least, most = (
        float(np.mean(column.drop_nulls().to_numpy())) if column.null_count() < len(column) else 0.0
        for column in (ends[T2S], low.fill_null(ends[T2S]), high.fill_null(ends[T2S]))
    )
    if tied:
        result.notes.append(
            f"{tied:,} of {len(ends):,} examples leave set-F open: LIMIT cuts rows that ORDER BY does not tell apart; "
            f"{value:.4f} takes tied rows in the order of their values, other choices give {least:.4f} to {most:.4f}"
        )
    if unknown:
        result.notes.append(
            f"{unknown:,} examples sort by what they do not show, or answer too much without their LIMIT: "
            "whether ties change their set-F is not known"
        )
    return {T2S: {"tied": tied, "unknown": unknown, "low": least, "high": most}}


def _open(
    graph: Any,
    endpoint: str | None,
    database: Any,
    limits: Limits,
    prefixes: Mapping[str, str],
    workers: int | None,
) -> Store | None:
    given = [name for name, value in (("graph", graph), ("endpoint", endpoint), ("database", database)) if value]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are given; queries run in one place", hint="Leave one of them out.")
    if graph:
        return Graph(graph, limits=limits, prefixes=prefixes, workers=workers)
    if endpoint:
        return Endpoint(endpoint, limits=limits, prefixes=prefixes, concurrency=workers or 4)
    if database:
        return Databases(database, limits=limits, workers=workers)
    return None


def _fitting(conventions: Sequence[str], language: Language) -> tuple[str, ...]:
    wrong = [name for name in conventions if (name == "text2sparql") != (language == "sparql")]
    if wrong:
        raise InputError(
            field="conventions",
            expected=f"conventions for {language.upper()}",
            got=shown(wrong[0]),
            reason="bad_option",
        )
    return tuple(dict.fromkeys(conventions))


def _sniff(reader: Reader) -> Language:
    """SPARQL or SQL, by the first gold query or prediction that can tell."""
    if hasattr(reader.data, "read") or reader.data == "-":
        return "sparql"  # a stream can be read only once
    for batch in Reader(reader.data, reader.columns, reader.keep, limit=50, skip_bad=True).batches():
        for record in batch:
            text = record.gold or record.prediction
            if text:
                return "sparql" if "{" in text else "sql"
    return "sparql"


def _distances(given: str | os.PathLike[str] | Mapping[str, str] | None) -> Mapping[str, str] | None:
    if given is None or isinstance(given, Mapping):
        return given
    return read_distances(os.fspath(given))


def _method(
    choices: Choices, store: Store | None, limits: Limits, prefixes: Mapping[str, str] | None, distances: Any
) -> dict[str, str]:
    method = {"language": choices.language, "execute": "none"}
    if store is not None:
        kind = type(store).__name__.lower()
        method["execute"] = getattr(store, "dialect", {"graph": "oxigraph"}.get(kind, kind))
    return {
        **method,
        "normalise": "yes" if choices.normalise else "no",
        "gold": choices.gold,
        "conventions": ",".join(choices.conventions),
        "ignore-distinct": "yes" if choices.ignore_distinct else "no",
        "coerce": "yes" if choices.coerce else "no",
        "limits": limits.key() if store is not None else DEFAULTS["limits"],
        "prefixes": "standard" if prefixes is None else "standard+" + "+".join(sorted(prefixes)),
        "distances": "none" if distances is None else "given",
    }


def _identity(data: Any) -> list[str]:
    if isinstance(data, str | os.PathLike):
        return [os.fspath(data)]
    if isinstance(data, list | tuple) and all(isinstance(d, str | os.PathLike) for d in data):
        return [os.fspath(d) for d in data]
    return [type(data).__name__]


def _name(data: Any) -> str:
    names = _identity(data)
    if not isinstance(data, str | os.PathLike | list | tuple) or not isinstance(names[0], str):
        return "system"
    if isinstance(data, list | tuple) and not all(isinstance(d, str | os.PathLike) for d in data):
        return "system"
    first = Path(names[0]).name or names[0]
    return first if len(names) == 1 else f"{first} and {len(names) - 1} more"
