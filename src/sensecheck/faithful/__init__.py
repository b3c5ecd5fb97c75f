"""Does the sentence say what the query says, and nothing else?"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from sensecheck.faithful import figures
from sensecheck.faithful.examples import example_page
from sensecheck.faithful.languages import LANGUAGES, read_labels
from sensecheck.faithful.measure import STRICT_THRESHOLD, THRESHOLD, Checker, Verdict
from sensecheck.faithful.plots import plots
from sensecheck.faithful.records import Options, Records, identity_of, load_schemas
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.opening import identity
from sensecheck.report.question import Question, slicings
from sensecheck.report.result import Result, conduct
from sensecheck.runs.collecting import Batch
from sensecheck.statistics.figure import IntervalOptions

__all__ = ["QUESTION", "Checker", "Verdict", "evaluate"]


def _verdict(result: Result) -> list[str]:
    return list(_sentences(result))


def _sentences(result: Result) -> Iterator[str]:
    figures_by_name = {f.name: f for f in result.figures}
    rate = figures_by_name.get("consistent")
    if rate is None or not isinstance(rate.value, float) or not isfinite(rate.value):
        return
    yield f"{rate.value:.1%} of {rate.n:,} sentences say what their query says and nothing else."
    faults = [
        (f.value, what)
        for name, what in (
            ("missing", "leave something out"),
            ("contradicted", "turn something round"),
            ("added", "add something"),
        )
        if (f := figures_by_name.get(name)) is not None and isinstance(f.value, float) and f.value > 0
    ]
    if faults:
        share, what = max(faults)
        yield f"The commonest fault: {share:.1%} {what}."
    kinds = [
        (f.value, name.removesuffix("_kept"), f.beside["facts"])
        for name, f in figures_by_name.items()
        if name.endswith("_kept") and name != "facts_kept" and isinstance(f.value, float) and isfinite(f.value)
        and f.beside.get("facts", 0) >= FEW_FACTS
    ]  # fmt: skip
    if kinds and min(kinds)[0] < 1:
        share, kind, facts = min(kinds)
        yield f"The weakest kind of fact: {kind}; of {facts:,} such facts {share:.1%} are kept."


FEW_FACTS = 10
"""A kind of fact with fewer is not called the weakest."""


QUESTION = Question(
    name="faithful",
    asks="Does the sentence say what the query says, and nothing else?",
    statistics=figures.statistics,
    headline=("consistent", "missing", "contradicted", "added"),
    outcome="consistent",
    given=("query",),
    plots=plots,
    example_page=example_page,
    verdict=_verdict,
)

# Left out of the short signature where nobody changed them; the language is always said.
DEFAULTS = {
    "threshold": f"{THRESHOLD:g}", "schema": "none", "labels": "none", "lexicon": "none", "dialect": "none",
    "cluster": "none",
    "weight": "none",
}  # fmt: skip


def evaluate(
    data: Any = None,
    *,
    queries: Sequence[str] | None = None,
    sentences: Sequence[str] | None = None,
    language: str = "sql",
    schema: Any = None,
    dialect: str | None = None,
    labels: Any = None,
    lexicon: Sequence[str | os.PathLike[str]] = (),
    threshold: float | None = None,
    strict: bool = False,
    parity: str | None = None,
    template: str | os.PathLike[str] | None = None,
    translate: bool = False,
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
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Verdicts for pairs of a formal query and a sentence.

    `data` is a table with the columns `query` and `sentence`, and for SQL over several databases `db_id` (path, glob,
    list of paths, or a table in memory); or give the two as lists: `evaluate(queries=…, sentences=…)`.

    language: sql, logic2text or sparql. schema: Spider's tables.json, a SQLite file, a folder of them, or a .sql file
    with CREATE TABLE. labels: for SPARQL, a graph or a JSON map from IRIs to labels. lexicon: JSON files of your own,
    laid over the shipped word lists. strict: count doubtful findings too. parity="blec": the original metric.
    """
    if language not in LANGUAGES:
        raise InputError(
            field="language", expected=f"one of {', '.join(LANGUAGES)}", got=shown(language), reason="bad_option"
        )
    if (queries is None) != (sentences is None) or (data is None) == (queries is None):
        raise InputError(
            "give either data, or both queries=… and sentences=…", hint="See help(sensecheck.faithful.evaluate)."
        )
    if data is None:
        data = {"query": list(queries or ()), "sentence": list(sentences or ())}
    by = slicings(slices)
    if dialect is not None:
        _check_dialect(dialect)
    read = Options(dict(columns or {}), list(dict.fromkeys(c for s in by for c in s)), weight, cluster, limit, skip_bad)
    name = system or _name(data)
    if parity is not None:
        if parity != "blec":
            raise InputError(field="parity", expected="blec", got=shown(parity), reason="bad_option")
        from sensecheck.faithful.parity import evaluate_as_original

        return evaluate_as_original(
            QUESTION, data, language=language, schema=schema, template=template, translate=translate, options=read,
            slices=by, out=out, overwrite=overwrite, system=name,
        )  # fmt: skip
    limit_of_doubt = threshold if threshold is not None else STRICT_THRESHOLD if strict else THRESHOLD
    if not 0 < limit_of_doubt <= 1:
        raise InputError(
            field="threshold", expected="a number over 0 and up to 1", got=str(limit_of_doubt), reason="bad_option"
        )
    checker = Checker(
        language,
        schemas=load_schemas(schema, dialect),
        dialect=dialect,
        labels=_labels(labels),
        lexicon=[os.fspath(p) for p in lexicon],
        threshold=limit_of_doubt,
    )
    records = Records(data, read)
    method = {
        "language": language,
        "threshold": f"{limit_of_doubt:g}",
        "schema": identity_of(schema),
        "labels": identity_of(labels),
        "lexicon": ",".join(identity_of(p) for p in lexicon) or "none",
        "dialect": dialect or "none",
        "cluster": cluster or "none",
        "weight": weight or "none",
    }

    def batches(done: int) -> Iterator[Batch]:
        return records.batches(checker, done)

    return conduct(
        QUESTION, batches, method=method, defaults=DEFAULTS, system={"name": name}, slices=by, options=options, out=out,
        resume=resume, overwrite=overwrite,
        plan={
            "inputs": identity(data), "columns": dict(columns or {}), "slices": by, "limit": limit,
            "skip_bad": skip_bad,
        },
        inputs=records.inputs, progress=progress, notes=records.notes,
    )  # fmt: skip


def _check_dialect(name: str) -> None:
    from sqlglot.dialects.dialect import Dialect, Dialects

    if Dialect.get(name.split(",")[0].strip().lower()) is None:
        known = sorted(d.value for d in Dialects if d.value)
        raise InputError(
            field="dialect", expected=f"a dialect of SQL: {', '.join(known)}", got=repr(name),
            hint=did_you_mean(name, known), reason="bad_option",
        )  # fmt: skip


def _labels(given: Any) -> Mapping[str, str]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    return read_labels(given)


def _name(data: Any) -> str:
    if isinstance(data, (str, os.PathLike)):
        text = os.path.basename(os.fspath(data)) or os.fspath(data)  # noqa: PTH119
        return "stdin" if text == "-" else text
    if isinstance(data, (list, tuple)) and data and all(isinstance(d, (str, os.PathLike)) for d in data):
        first = _name(data[0])
        return first if len(data) == 1 else f"{first} and {len(data) - 1} more"
    return "system"
