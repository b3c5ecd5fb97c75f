"""`--as lsdscc`: the original's three figures as a result, without intervals."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sensecheck.diverse import original
from sensecheck.diverse.bleu import NLTK_METHODS
from sensecheck.diverse.figures import PARITY
from sensecheck.diverse.question import QUESTION
from sensecheck.diverse.rows import are_files, called, stems
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.json_arrays import read_as_original
from sensecheck.inputs.opening import identity, is_path, sources
from sensecheck.inputs.reasons import Reason
from sensecheck.report.asking import Asked
from sensecheck.report.instrument import Instrument
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure
from sensecheck.statistics.measurements import concatenated

NO_INTERVAL = "parity with the original: no interval"
SCORES = ("mds", "pds", "max_bleu")
"""What the original gives for a set, in its order."""


class Lsdscc(Instrument):
    """Read, aligned and averaged as the original does. Where it raises for a set, there is no value."""

    question = QUESTION
    original = PARITY

    def __init__(self, data: Any, asked: Asked, references: Any, *, eos: str | None, aligner: Any) -> None:
        super().__init__(data if are_files(data) else None, asked)
        self.hypotheses, self.references, self.eos = data, references, eos
        self.aligner = _aligner(aligner)

    def batches(self, done: int) -> Iterator[Batch]:
        """All sets at once."""
        if done:
            return
        hypotheses, references = self._sets()
        rows = [
            (str(number), not reason, reason or None, *scores)
            for number, (scores, reason) in enumerate(_scores(hypotheses, references, self.aligner), start=1)
        ]
        schema = {"id": pl.String, "scored": pl.Boolean, "reason": pl.String, **dict.fromkeys(SCORES, pl.Float64)}
        yield Batch(pl.DataFrame(rows, schema=schema, orient="row"))

    def _sets(self) -> tuple[list[Any], list[Any]]:
        data, given = self.hypotheses, self.references
        hypotheses: Any = data
        if is_path(data):
            with read_as_original(called(data, ""), "the original's text: a set of hypotheses on each line"):
                hypotheses = original.HypothesisSet.load_corpus(Path(data), self.eos)
        references: Any = given
        if given is None or is_path(given):
            with read_as_original(called(given, "the references"), "a JSON object {query: {group: [reference]}}"):
                references = original.ReferenceSet.load_json_corpus(None if given is None else Path(given))
        if len(hypotheses) != len(references):
            raise InputError(
                f"{called(data, 'the hypotheses')} has {len(hypotheses):,} sets, "
                f"{called(given, 'the references')} has {len(references):,}",
                hint="The original matches them by position and stops with an AssertionError.",
                reason=Reason.UNEQUAL_CORPORA,
            )
        hypotheses, references = list(hypotheses)[: self.asked.limit], list(references)[: self.asked.limit]
        if not references:
            raise InputError("there is no query to measure", path=called(data, "") or None, reason=Reason.EMPTY)
        return hypotheses, references

    def method(self) -> Method:
        return {"aligner": _signature(self.aligner)}

    def system(self) -> Mapping[str, str]:
        return {"name": self.asked.name_of(stems(self.data))}

    def plan(self) -> Mapping[str, Any]:
        return {"references": identity(self.references) if are_files(self.references) else [], "eos": self.eos}

    def inputs(self) -> list[dict[str, Any]]:
        digested = []
        for data in (self.hypotheses, self.references):
            for source in sources(data) if is_path(data) else ():
                source.digest_file()
                digested.append({"path": source.name, "sha256": source.sha256, "bytes": source.raw_bytes})
        return digested

    def estimates(self, result: Result) -> Estimates:
        sets = concatenated(result.rows)
        failure = next(iter(sets["reason"].drop_nulls()), "")
        means = dict.fromkeys(SCORES, float("nan"))
        if not failure:
            # One row a set, as the original lays them out: numpy then adds row after row, which decides the last bits.
            by_set = np.array(sets.select(SCORES).rows(), dtype=np.float64)
            means = dict(zip(SCORES, np.mean(by_set, axis=0).tolist(), strict=True))
        unscored = {failure: len(sets)} if failure else {}
        absent = f"{NO_INTERVAL}; a set raised {failure}" if failure else NO_INTERVAL
        return Estimates(
            [
                Figure(
                    name, title, means[name], len(sets) - sum(unscored.values()), unscored=unscored, absent=absent,
                    direction="higher",
                )
                for name, title in (("max_bleu", "MaxBLEU"), ("mds", "MDS"), ("pds", "PDS"))
            ]
        )  # fmt: skip


def _scores(
    hypotheses: Sequence[Any], references: Sequence[Any], aligner: Any
) -> Iterator[tuple[Sequence[float | None], str]]:
    """(MDS, PDS, MaxBLEU) of each set, or what the original raises for it."""
    table = original.score_table(hypotheses, references, aligner)
    if table is not None:
        for scores in zip(table.mds.tolist(), table.pds.tolist(), table.max_bleu.tolist(), strict=True):
            yield scores, ""
        return
    for one, its in zip(hypotheses, references, strict=True):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # the mean of no hypotheses
                yield original.compute_score_on_hypothesis_set(one, its, aligner), ""
        except Exception as error:  # whatever the original raises for a set is the set's reason
            yield (None, None, None), f"{type(error).__name__} in the original"


def _aligner(given: Any) -> Any:
    if given is None or callable(given):
        return given or original.BleuAligner()
    kind, _, rest = str(given).partition(":")
    if kind == "bleu" and (not rest or rest.isdecimal()):
        return original.BleuAligner(int(rest) if rest else None)
    if kind == "nltk-bleu" and (not rest or rest in NLTK_METHODS):
        return original.NLTKBleuAligner(rest or None)
    if kind == "nist" and (not rest or rest.isdecimal()):
        return original.NLTKNistAligner(int(rest) if rest else 5)
    raise InputError(
        field="aligner",
        expected="one that the original has: bleu[:N], nltk-bleu[:METHOD] or nist[:N]",
        got=repr(given),
        reason=Reason.BAD_OPTION,
    )


def _signature(aligner: Any) -> str:
    if isinstance(aligner, original.BleuAligner):
        return f"BleuAligner-{aligner.n}"
    if isinstance(aligner, original.NLTKBleuAligner):
        return f"NLTKBleuAligner-{aligner.smooth_function or 'method0'}"
    if isinstance(aligner, original.NLTKNistAligner):
        return f"NLTKNistAligner-{aligner.n}"
    return f"callable-{getattr(aligner, '__qualname__', type(aligner).__name__)}"
