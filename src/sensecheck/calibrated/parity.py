"""`--as calibration_metric`: the original's figures as a result, taken from `original` and from nowhere else."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from sensecheck.calibrated import original
from sensecheck.calibrated.question import QUESTION
from sensecheck.calibrated.reading import Reading
from sensecheck.calibrated.records import opened
from sensecheck.calibrated.token_records import TokenRecords
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.opening import file_sources, sources
from sensecheck.inputs.reasons import Reason
from sensecheck.report.asking import Asked
from sensecheck.report.instrument import Instrument
from sensecheck.report.result import Result
from sensecheck.runs.collecting import Batch
from sensecheck.runs.signature import Method
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure, IntervalOptions

_TITLES = {
    "ece": "ECE",
    "me_above": "Mean Error (overconfident)",
    "me_below": "Mean Error (underconfident)",
    "pearson": "Pearson",
    "max": "MCE",
}
NO_INTERVAL = "parity with the original: it gives no interval"


@dataclass(frozen=True)
class Choices:
    """How the original is asked."""

    bins: int = 20
    binning: Literal["uniform", "adaptive"] = "uniform"
    weighted: bool = False
    weight_key: str = "normalized_count"
    mended: bool = False


def _original_fails(makes: str) -> InputError:
    return InputError(
        f"the original's reader makes {makes}",
        hint="Without --as, the file is read with a message for the line at fault.",
        reason=Reason.ORIGINAL_FAILS,
    )


class CalibrationMetric(Instrument):
    """calibration_metric's five figures; where it raises, the figure is unscored with that reason."""

    question = QUESTION

    def __init__(self, data: Any, asked: Asked, reading: Reading, choices: Choices) -> None:
        _refuse_intervals(asked.intervals)
        super().__init__(data, asked)
        self.original = "calibration_metric" + ("-mended" if choices.mended else "")
        self.reading, self.choices = reading, choices
        self.confidence: Any = None
        self.correct: Any = None

    def method(self) -> Method:
        chosen = self.choices
        return {
            "binning": chosen.binning, "bins": chosen.bins, "weighted": chosen.weighted,
            "weight-key": chosen.weight_key, "top-k": self.reading.top_k,
            "ignore": [str(token) for token in self.reading.ignore_tokens] or None,
        }  # fmt: skip

    def batches(self, done: int) -> Iterator[Batch]:
        self.confidence, self.correct = self._read()
        if np.ndim(self.confidence) != 1 or np.shape(self.confidence) != np.shape(self.correct):
            raise _original_fails(
                f"{np.size(self.confidence):,} confidences and {np.size(self.correct):,} marks of being right from "
                "this input, which it cannot pair"
            )
        try:
            confidence = self.confidence.astype(np.float64)
        except (ValueError, TypeError, OverflowError):
            raise _original_fails("confidences from this input that are no numbers") from None
        count = len(self.confidence)
        yield Batch(
            pl.DataFrame(
                {
                    "id": [str(i) for i in range(1, count + 1)],
                    "scored": np.ones(count, dtype=bool),
                    "reason": pl.Series([None] * count, dtype=pl.String),
                    "confidence": confidence,
                    "correct": self.correct,
                }
            )
        )

    def _read(self) -> tuple[Any, Any]:
        records = opened(self.data, self.asked, self.reading)
        if isinstance(records, TokenRecords):
            if self.asked.limit is not None:
                raise InputError(
                    "the original reads whole files", field="limit (--limit)", hint="Cut the file first.",
                    reason=Reason.BAD_OPTION,
                )  # fmt: skip
            return _read_as_original(self.data, records.kind, self.reading)
        table = pl.concat([batch.measurements for batch in records.batches()])
        return table["confidence"].to_numpy(), table["correct"].to_numpy()

    def estimates(self, result: Result) -> Estimates:
        chosen = self.choices
        compute = original.mended_figures if chosen.mended else original.parity_figures
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            values = compute(
                self.confidence, self.correct, n_bins=chosen.bins, binning=chosen.binning, weighted=chosen.weighted,
                weight_key=chosen.weight_key,
            )  # fmt: skip
        self.notes += [f"original: {warning.message}" for warning in caught]
        return Estimates([_figure(key, value, len(self.confidence)) for key, value in values.items()])

    def inputs(self) -> list[dict[str, Any]]:
        files = []
        for source in file_sources(self.data):
            source.digest_file()
            files.append({"path": source.name, "sha256": source.sha256, "bytes": source.raw_bytes})
        return files


def _refuse_intervals(intervals: IntervalOptions) -> None:
    """The original gives no intervals: what would shape them has no meaning."""
    usual = IntervalOptions()
    idle = {
        "--ci": intervals.method not in (usual.method, "none"),
        "--ci-level": intervals.level != usual.level,
        "--resamples": intervals.replicates != usual.replicates,
    }
    for flag, given in idle.items():
        if given:
            raise InputError(
                f"{flag} has no meaning with --as calibration_metric: leave one out", reason=Reason.BAD_OPTION
            )


def _read_as_original(data: Any, kind: str, reading: Reading) -> tuple[Any, Any]:
    """By the original's readers, one file after the other."""
    ignored = [int(t) if str(t).lstrip("-").isdigit() else t for t in reading.ignore_tokens] or None
    parts = []
    for source in sources(data):
        if source.path is None:
            raise InputError("the original reads files only", hint="Save standard input to a file for --as.")
        with tempfile.TemporaryDirectory(prefix="sensecheck-") as folder:
            path = source.path
            if source.head(2) == b"\x1f\x8b" or source.head(4) == b"\x28\xb5\x2f\xfd":
                # The original knows no compression; what is inside is read as it would be read unpacked.
                path = Path(folder) / "unpacked.logits"
                path.write_bytes(source.read())
            try:
                reader: Any
                if kind in ("miso", "logits-miso"):
                    reader = original.MisoTopLogitFormatSequenceReader(str(path), ignored)
                elif reading.top_k > 1:
                    reader = original.TopKTopLogitFormatSequenceReader(str(path), ignored, k=reading.top_k)
                else:
                    reader = original.TopLogitFormatSequenceReader(str(path), ignored)
                parts.append(reader.read())
            except (ValueError, LookupError, TypeError, AssertionError, OverflowError, RuntimeError) as failure:
                raise InputError(
                    f"the original's reader fails here: {type(failure).__name__}: {failure}",
                    path=source.name,
                    hint="Without --as (with evaluate), the file is read with a message for the line at fault.",
                    reason=Reason.ORIGINAL_FAILS,
                ) from None
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _figure(key: str, value: float | Exception, n: int) -> Figure:
    if isinstance(value, Exception):
        reason = f"the original raises {type(value).__name__}: {value}"
        return Figure(key, _TITLES[key], float("nan"), 0, unscored={reason: n}, absent=reason)
    direction = "higher" if key == "pearson" else "lower"
    low = -1.0 if key in ("pearson", "me_above", "me_below") else 0.0
    high = 1.0 if isfinite(value) and value <= 1 else float("inf")
    return Figure(key, _TITLES[key], value, n, absent=NO_INTERVAL, direction=direction, range=(low, high))
