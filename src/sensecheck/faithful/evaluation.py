"""`sensecheck.faithful.evaluate`: from pairs of a query and a sentence to a result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Unpack

from sensecheck.faithful.languages import LANGUAGES, read_labels
from sensecheck.faithful.measure import STRICT_THRESHOLD, THRESHOLD, Checker, measure
from sensecheck.faithful.question import QUESTION
from sensecheck.faithful.records import FIELDS, identity_of, load_schemas, pairs_of, schema_print
from sensecheck.inputs import fingerprints
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.needs import Needs
from sensecheck.inputs.reasons import Reason
from sensecheck.inputs.tables import TableBatch
from sensecheck.options import Option
from sensecheck.report.asking import FILES, Asked, WeighedRows, as_original, asked, evaluator
from sensecheck.report.instrument import TableInstrument
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method

_reading = partial(Option, group="reading")
_judging = partial(Option, group="judging")
_as_blec = partial(Option, group="with --as blec")


@evaluator(needs=Needs("faithful"))
def evaluate(
    data: Annotated[Any, FILES] = None,
    *,
    queries: Sequence[str] | None = None,
    sentences: Sequence[str] | None = None,
    language: Annotated[str, _reading("the language of the queries", choices=tuple(LANGUAGES))] = "sql",
    schema: Annotated[
        Any,
        _reading(
            "SQL: Spider's tables.json, a SQLite file or folder of them, or CREATE TABLE in a .sql file (repeatable)",
            metavar="FILE", repeat=True,
        ),
    ] = None,
    dialect: Annotated[
        str | None, _reading("SQL: a dialect that sqlglot knows (default: found by trying)", metavar="NAME")
    ] = None,
    labels: Annotated[
        Any, _reading("SPARQL: a graph with rdfs:label, or a JSON map of IRIs to labels", metavar="FILE")
    ] = None,
    lexicon: Annotated[
        Sequence[str | os.PathLike[str]],
        _judging("your own word lists, as JSON: they extend or override the shipped ones (repeatable)", metavar="FILE"),
    ] = (),
    threshold: Annotated[
        float | None, _judging("how sure a finding must be to count, from 0 to 1 (default: 0.5)", metavar="P")
    ] = None,
    strict: Annotated[
        bool, _judging("also count doubtful findings, and things that people usually leave unsaid (threshold 0.25)")
    ] = False,
    parity: Annotated[Literal["blec"] | None, as_original("blec")] = None,
    template: Annotated[
        str | os.PathLike[str] | None,
        _as_blec("the original's template file (slots of every query)", metavar="FILE"),
    ] = None,
    translate: Annotated[bool, _as_blec("use the template's translated queries")] = False,
    **shared: Unpack[WeighedRows],
) -> Result:  # fmt: skip
    """Verdicts for pairs of a formal query and a sentence.

    `data` is a table with the columns `query` and `sentence`, and for SQL over several databases `db_id` (path, glob,
    list of paths, or a table in memory); or give the two as lists: `evaluate(queries=…, sentences=…)`.
    """
    if (queries is None) != (sentences is None) or (data is None) == (queries is None):
        raise InputError(
            "give either data, or both queries=… and sentences=…", hint="See help(sensecheck.faithful.evaluate)."
        )
    if data is None:
        data = {"query": list(queries or ()), "sentence": list(sentences or ())}
    if language not in LANGUAGES:
        raise InputError(
            field="language", expected=f"one of {', '.join(LANGUAGES)}", got=shown(language), reason=Reason.BAD_OPTION
        )
    if parity is not None:
        if parity != "blec":
            raise InputError(field="parity", expected="blec", got=shown(parity), reason=Reason.BAD_OPTION)
        from sensecheck.faithful.parity import Blec, Slots

        return Blec(data, asked(shared), language, Slots(language, schema, template, translate)).run()
    surest = threshold if threshold is not None else STRICT_THRESHOLD if strict else THRESHOLD
    _check_choices(dialect, surest)
    schemas, names = load_schemas(schema, dialect), _labels(labels)
    checker = Checker(
        language, schemas=schemas, dialect=dialect, labels=names, lexicon=[os.fspath(path) for path in lexicon],
        threshold=surest,
    )  # fmt: skip
    return Faithful(data, asked(shared), checker, {
        "language": language,
        "threshold": surest,
        "schema": schema_print(schemas),
        "labels": None if labels is None else fingerprints.of_value(dict(names)),
        "lexicon": [identity_of(path) for path in lexicon] or None,
        "dialect": dialect,
    }).run()  # fmt: skip


class Faithful(TableInstrument):
    """Pairs of a query and a sentence, each with a verdict."""

    question = QUESTION
    fields = FIELDS
    block_bytes = 1 << 21
    batch_rows = 8192

    def __init__(self, data: Any, asked: Asked, checker: Checker, choices: Method) -> None:
        super().__init__(data, asked)
        self.checker = checker
        self.choices = choices

    def method(self) -> Method:
        return {**self.choices, "cluster": self.asked.cluster, "weight": self.asked.weight}

    def defaults(self) -> Method:
        """The language is always said."""
        names = ("schema", "labels", "lexicon", "dialect", "cluster", "weight")
        return {"threshold": THRESHOLD, **dict.fromkeys(names)}

    def measure(self, batch: TableBatch) -> Batch:
        return measure(self.checker, pairs_of(batch, self.asked))


def _check_choices(dialect: str | None, threshold: float) -> None:
    if dialect is not None:
        _check_dialect(dialect)
    if not 0 < threshold <= 1:
        raise InputError(
            field="threshold", expected="a number over 0 and up to 1", got=str(threshold), reason=Reason.BAD_OPTION
        )


def _check_dialect(name: str) -> None:
    from sqlglot.dialects.dialect import Dialect, Dialects

    if Dialect.get(name.split(",")[0].strip().lower()) is None:
        known = sorted(d.value for d in Dialects if d.value)
        raise InputError(
            field="dialect", expected=f"a dialect of SQL: {', '.join(known)}", got=repr(name),
            hint=did_you_mean(name, known), reason=Reason.BAD_OPTION,
        )  # fmt: skip


def _labels(given: Any) -> Mapping[str, str]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return given
    return read_labels(given)
