"""`sensecheck.calibrated.evaluate`: from confidences to a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal, Unpack

import numpy as np
import polars as pl

from sensecheck.calibrated.classwise import CURVES, class_curves
from sensecheck.calibrated.figures import DEFAULT_BINS, DEFAULT_COVERAGES, DEFAULT_NLL_CLIP
from sensecheck.calibrated.question import QUESTION
from sensecheck.calibrated.reading import ReadConfidences, Reading, reading
from sensecheck.calibrated.records import Records, opened
from sensecheck.calibrated.table_records import CORRECT_NAMES
from sensecheck.calibrated.token_kinds import KIND
from sensecheck.inputs.arrays import column, is_array
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.formats.plain import TABLES
from sensecheck.inputs.needs import Judged, Needs
from sensecheck.inputs.reasons import Reason
from sensecheck.options import Option
from sensecheck.report.asking import FILES, Asked, as_original, asked, evaluator
from sensecheck.report.instrument import Instrument
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method

_reading = partial(Option, group="reading")
_original = partial(Option, group="with --as calibration_metric")
# What the original does not know, and what only the original knows.
_NOT_THE_ORIGINALS = (
    "scale", "level", "aggregate", "ignore_by", "with_stop", "token_kinds", "coverages", "nll_clip", "slices",
    "skip_bad", "weight", "cluster", "resume", "probabilities", "probability", "label", "classes",
)  # fmt: skip
_ORIGINALS = ("binning", "weighted", "weight_key", "mended")


_NEEDS = Needs(
    "calibrated",
    own=("logprobs", "replies"),
    told=TABLES,
    decided=[CORRECT_NAMES],
    of_runs=True,
    judged=Judged(
        ("prediction", "predicted", "answer", "output", "response", "pred", "text"),
        ("gold", "gold_answer", "gold_label", "target", "reference", "expected", "answer", "label"),
        CORRECT_NAMES,
    ),
)


@evaluator(only_as_original=_ORIGINALS, never_as_original=_NOT_THE_ORIGINALS, needs=_NEEDS)
def evaluate(
    data: Annotated[Any, FILES] = None,
    *,
    confidence: Any = None,
    correct: Any = None,
    probabilities: Any = None,
    probability: Any = None,
    label: Any = None,
    classes: Annotated[
        Sequence[str] | None,
        _reading("names of the columns of probabilities, in their order", metavar="NAME,NAME,…", separator=","),
    ] = None,
    bins: Annotated[int, _reading("equal-width bins on [0, 1]", metavar="N", at_least=1)] = DEFAULT_BINS,
    coverages: Annotated[
        Sequence[float],
        _reading("shares of the surest answers whose accuracy is reported", metavar="C,C,…", separator=","),
    ] = DEFAULT_COVERAGES,
    nll_clip: Annotated[
        float,
        _reading("nll_clipped brings confidences into [E, 1 − E]", metavar="E"),
    ] = DEFAULT_NLL_CLIP,
    parity: Annotated[Literal["calibration_metric"] | None, as_original("calibration_metric")] = None,
    binning: Annotated[Literal["uniform", "adaptive"], _original("the original's binning")] = "uniform",
    weighted: Annotated[bool, _original("the original's weighted metrics")] = False,
    weight_key: Annotated[
        Literal["normalized_count", "normalized_log_count"], _original("the original's weights")
    ] = "normalized_count",
    mended: Annotated[bool, _original("the original's choices with only its failures mended")] = False,
    **shared: Unpack[ReadConfidences],
) -> Result:
    """Calibration figures of predictions.

    `data` is a `.logits` file, a table with the columns `confidence` and `correct` (path, glob, list of paths, or a
    table in memory), a file of answers with log-probabilities, or what a model gave in memory; or give arrays:
    `evaluate(confidence=…, correct=…)`, whole distributions as `evaluate(probabilities=…, label=…)` (a row an example,
    a column a class), of a binary classifier `evaluate(probability=…, label=…)` (the probability of class 1). The
    slice `position_range` is always there for tokens.
    """
    given = {"confidence": confidence, "correct": correct, "probabilities": probabilities, "probability": probability,
             "label": label}  # fmt: skip
    arrays = {name: value for name, value in given.items() if value is not None}
    if (data is None) == (not arrays) or (arrays and tuple(arrays) not in _TOGETHER):
        raise InputError(
            "give either data, or both confidence=… and correct=…, or both probabilities=… and label=…, or both "
            "probability=… and label=…",
            hint="See help(sensecheck.calibrated.evaluate).", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    if arrays:
        data = _columns(arrays)
        if "probability" in arrays:
            shared["columns"] = {**(shared.get("columns") or {}), "probability": "probability"}
    if bins < 1:
        raise InputError(field="bins", expected="at least 1", got=str(bins), reason=Reason.BAD_OPTION)
    settled, how = asked(shared), replace(reading(shared), classes=_names(classes))
    if parity is not None:
        if parity != "calibration_metric":
            raise InputError(field="parity", expected="calibration_metric", got=shown(parity), reason=Reason.BAD_OPTION)
        from sensecheck.calibrated.parity import CalibrationMetric, Choices

        return CalibrationMetric(data, settled, how, Choices(bins, binning, weighted, weight_key, mended)).run()
    for share in coverages:
        if not 0 < share <= 1:
            raise InputError(
                field="coverages", expected="shares above 0 and up to 1", got=str(share), reason=Reason.BAD_OPTION
            )
    if not 0 < nll_clip < 0.5:
        raise InputError(
            field="nll_clip", expected="a number above 0 and below 0.5", got=str(nll_clip), reason=Reason.BAD_OPTION
        )
    if how.kinds is not None:
        settled = settled.also_by(KIND)
    return Calibrated(data, settled, how, bins, coverages, nll_clip, shared.get("token_kinds")).run()


_TOGETHER = (("confidence", "correct"), ("probabilities", "label"), ("probability", "label"))


def _columns(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of the user's as columns of one table."""
    if "confidence" in arrays and not any(is_array(one) and not isinstance(one, np.ndarray) for one in arrays.values()):
        return dict(arrays)
    columns = {name: column(name, value) for name, value in arrays.items()}
    matrix = columns.get("probabilities")
    if matrix is not None and not matrix.dtype.is_nested():
        raise InputError(
            field="probabilities", expected="a row of numbers for each example, one for each class",
            got="one number for each" if matrix.dtype.is_numeric() else f"values of the kind {matrix.dtype}",
            hint="A binary classifier's probability of class 1 is probability=… with label=….", reason=Reason.SHAPE,
        )  # fmt: skip
    lengths = {name: len(one) for name, one in columns.items()}
    if len(set(lengths.values())) > 1:
        raise InputError(
            expected="as many labels as rows of probabilities" if "label" in arrays else "columns of the same length",
            got=" and ".join(f"{length:,} in {name}" for name, length in lengths.items()), reason=Reason.RAGGED_COLUMNS,
        )  # fmt: skip
    return {name: _flat(name, one) for name, one in columns.items()}


def _flat(name: str, series: pl.Series) -> pl.Series:
    """A matrix of one column, where one number a row is asked for, as these numbers."""
    one = isinstance(series.dtype, pl.Array) and series.dtype.size == 1 and name in ("probability", "confidence")
    return series.explode() if one else series


def _names(classes: Sequence[Any] | None) -> tuple[str, ...] | None:
    if classes is None:
        return None
    names = () if isinstance(classes, str) else tuple(str(name) for name in classes)
    if not names or len(set(names)) < len(names):
        raise InputError(
            field="classes", expected="a list of different names, one for each column of probabilities",
            got=shown(classes, 60), reason=Reason.BAD_OPTION,
        )  # fmt: skip
    return names


class Calibrated(Instrument):
    """Confidences of tokens, answers or rows, each with whether it was right."""

    question = QUESTION

    def __init__(
        self,
        data: Any,
        asked: Asked,
        reading: Reading,
        bins: int,
        coverages: Sequence[float],
        nll_clip: float,
        token_kinds: Any,
    ) -> None:
        super().__init__(data, asked)
        self.reading, self.token_kinds = reading, token_kinds
        self.bins, self.coverages, self.nll_clip = bins, tuple(coverages), float(nll_clip)
        self.records: Records = opened(data, asked, reading)

    def check(self) -> None:
        if self.asked.repeat is None:
            return
        if self.records.level == "token":
            raise InputError(
                "--repeat (repeat=) is about samples of whole answers; the rows of this input are tokens",
                field="repeat", hint="Give --level sequence (level='sequence') as well.", reason=Reason.BAD_OPTION,
            )  # fmt: skip
        self.records.check_repeat(self.data)

    def batches(self, done: int) -> Iterator[Batch]:
        yield from self.records.batches(done)
        self.notes += self.records.remarks()

    def method(self) -> Method:
        own, level = self.reading, self.records.level
        ignored = ",".join(str(token) for token in own.ignore_tokens)
        return {
            "level": level,
            **({"aggregate": own.aggregate} if level in ("sequence", "answer") else {}),
            **({"with-stop": own.with_stop} if level == "answer" else {}),
            "bins": self.bins,
            "scale": own.scale,
            "ignore": f"{own.ignore_by}:{ignored}" if ignored else None,
            "top-k": own.top_k,
            "cluster": self.asked.cluster or ("sequence" if level == "token" else None),
            "weight": self.asked.weight,
            "nll-clip": self.nll_clip,
            **({"coverages": self.coverages} if self.coverages != DEFAULT_COVERAGES else {}),
        }

    def defaults(self) -> Method:
        """Level, bins and scale are always said."""
        cluster = "sequence" if self.records.level == "token" else None
        return {
            "ignore": None,
            "top-k": 1,
            "with-stop": False,
            "cluster": cluster,
            "weight": None,
            "nll-clip": DEFAULT_NLL_CLIP,
        }

    def learnt(self) -> Method:
        classes = self.records.classes
        return {"scale": self.records.scale(), **({} if classes is None else {"classes": classes})}

    def finish(self, result: Result) -> None:
        if self.records.classes is not None:
            result.extra[CURVES] = class_curves(result.rows, self.records.classes, self.bins)

    def plan(self) -> Mapping[str, Any]:
        return {"input_format": self.reading.input_format, "token_kinds": self.token_kinds}

    def inputs(self) -> list[dict[str, Any]]:
        return self.records.inputs()
