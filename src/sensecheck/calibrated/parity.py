"""`--as calibration_metric`: the original's figures as a result, taken from `original` and from nowhere else."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from sensecheck.calibrated import original
from sensecheck.calibrated.evaluation import QUESTION
from sensecheck.calibrated.records import InputFormat, Options, Records
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.opening import sources
from sensecheck.report.result import Result
from sensecheck.runs.signature import Signature
from sensecheck.statistics.estimate import Estimates
from sensecheck.statistics.figure import Figure, IntervalOptions
from sensecheck.statistics.measurements import Frames

_TITLES = {
    "ece": "ECE",
    "me_above": "Mean Error (overconfident)",
    "me_below": "Mean Error (underconfident)",
    "pearson": "Pearson",
    "max": "MCE",
}
NO_INTERVAL = "parity with the original: it gives no interval"


def evaluate_as_original(
    data: Any,
    *,
    n_bins: int = 20,
    binning: Literal["uniform", "adaptive"] = "uniform",
    weighted: bool = False,
    weight_key: str = "normalized_count",
    mended: bool = False,
    ignore_tokens: Sequence[int | str] = (),
    columns: Mapping[str, str] | None = None,
    input_format: InputFormat = "auto",
    top_k: int = 1,
    limit: int | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    system: str | None = None,
) -> Result:
    """calibration_metric's five figures; where it raises, the figure is unscored with that reason."""
    records = Records(data, Options(input_format=input_format, columns=dict(columns or {}), top_k=top_k, limit=limit))
    if records.tokens:
        if limit is not None:
            raise InputError(
                "the original reads whole files", field="limit (--limit)", hint="Cut the file first.",
                reason="bad_option",
            )  # fmt: skip
        confidence, correct = _read_as_original(data, records.kind, ignore_tokens, top_k)
    else:
        frames = [batch.measurements for batch in records.batches()]
        table = pl.concat(frames)
        confidence, correct = table["confidence"].to_numpy(), table["correct"].to_numpy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compute = original.mended_figures if mended else original.parity_figures
        found = compute(confidence, correct, n_bins=n_bins, binning=binning, weighted=weighted, weight_key=weight_key)
    figures = [_figure(key, value, len(confidence)) for key, value in found.items()]
    name = "calibration_metric" + ("-mended" if mended else "")
    method = {
        "as": name,
        "binning": binning,
        "bins": str(n_bins),
        "weighted": "yes" if weighted else "no",
        "weight-key": weight_key,
        "top-k": str(top_k),
        "ignore": ",".join(map(str, ignore_tokens)) or "none",
    }
    rows = pl.DataFrame(
        {
            "id": [str(i) for i in range(1, len(confidence) + 1)],
            "scored": np.ones(len(confidence), dtype=bool),
            "reason": pl.Series([None] * len(confidence), dtype=pl.String),
            "confidence": confidence.astype(np.float64),
            "correct": correct,
        }
    )
    result = Result(
        QUESTION, Signature("calibrated", method, {"name": system or str(data)}), Estimates(figures), Frames(rows),
        options=IntervalOptions(method="none"), notes=[f"original: {w.message}" for w in caught],
        inputs=_digested(data),
    )  # fmt: skip
    if out is not None:
        result.save(out, overwrite=overwrite)
    return result


def _read_as_original(data: Any, kind: str, ignore_tokens: Sequence[int | str], top_k: int) -> tuple[Any, Any]:
    """By the original's readers, one file after the other."""
    ignored = [int(t) if str(t).lstrip("-").isdigit() else t for t in ignore_tokens] or None
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
                elif top_k > 1:
                    reader = original.TopKTopLogitFormatSequenceReader(str(path), ignored, k=top_k)
                else:
                    reader = original.TopLogitFormatSequenceReader(str(path), ignored)
                parts.append(reader.read())
            except (ValueError, LookupError, TypeError, AssertionError, NotImplementedError) as failure:
                raise InputError(
                    f"the original's reader fails here: {type(failure).__name__}: {failure}",
                    path=source.name,
                    hint="Without --as (with evaluate), the file is read with a message for the line at fault.",
                    reason="original_fails",
                ) from None
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _digested(data: Any) -> list[dict[str, Any]]:
    found = []
    if isinstance(data, (str, os.PathLike, list, tuple)):
        for source in sources(data):
            source.digest_file()
            found.append({"path": source.name, "sha256": source.sha256, "bytes": source.raw_bytes})
    return found


def _figure(key: str, value: float | Exception, n: int) -> Figure:
    if isinstance(value, Exception):
        reason = f"the original raises {type(value).__name__}: {value}"
        return Figure(key, _TITLES[key], float("nan"), 0, unscored={reason: n}, absent=reason)
    direction = "higher" if key == "pearson" else "lower"
    low = -1.0 if key in ("pearson", "me_above", "me_below") else 0.0
    high = 1.0 if isfinite(value) and value <= 1 else float("inf")
    return Figure(key, _TITLES[key], value, n, absent=NO_INTERVAL, direction=direction, range=(low, high))
