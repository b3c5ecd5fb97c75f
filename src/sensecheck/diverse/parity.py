"""`--as lsdscc`: the original's three figures as a result, without intervals."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from sensecheck.diverse import original
from sensecheck.diverse.bleu import NLTK_METHODS
from sensecheck.diverse.figures import PARITY
from sensecheck.diverse.question import QUESTION
from sensecheck.diverse.records import name_of, path_of
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.opening import sources
from sensecheck.report.result import Result
from sensecheck.runs.signature import Signature
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.measurements import Frames

NO_INTERVAL = "parity with the original: no interval"


def evaluate_as_original(
    data: Any,
    references: Any = None,
    *,
    eos: str | None = None,
    aligner: Any = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    system: str | None = None,
    limit: int | None = None,
) -> Result:
    """The original's three figures: read, aligned and averaged as it does. Where it raises, there is no value."""
    hypotheses = original.HypothesisSet.load_corpus(data, eos) if path_of(data) else data
    if references is None or path_of(references):
        sets: Any = original.ReferenceSet.load_json_corpus(references)
    else:
        sets = references
    if len(hypotheses) != len(sets):
        raise InputError(
            f"{path_of(data) or 'the hypotheses'} has {len(hypotheses):,} sets, "
            f"{path_of(references) or 'the references'} has {len(sets):,}",
            hint="The original matches them by position and stops with an AssertionError.",
            reason="unequal_corpora",
        )
    hypotheses, sets = list(hypotheses)[:limit], list(sets)[:limit]
    if not sets:
        raise InputError("there is no query to measure", path=path_of(data), reason="empty_input")
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
    result = Result(
        QUESTION, Signature("diverse", method, {"name": system or name_of(data)}), Estimates(figures), Frames(frame),
        options=IntervalOptions(method="none"), inputs=_digested(data, references),
    )  # fmt: skip
    if out is not None:
        result.save(out, overwrite=overwrite)
    return result


def _digested(*inputs: Any) -> list[dict[str, Any]]:
    found = []
    for data in inputs:
        if path_of(data):
            for source in sources(data):
                source.digest_file()
                found.append({"path": source.name, "sha256": source.sha256, "bytes": source.raw_bytes})
    return found


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
