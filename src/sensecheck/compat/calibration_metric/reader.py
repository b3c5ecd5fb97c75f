"""`calibration_metric.utils.reader`; the folder is flat here, since no module is called utils."""

from __future__ import annotations

from sensecheck.calibrated.original import (
    MisoTopLogitFormatSequenceReader,
    TopKTopLogitFormatSequenceReader,
    TopLogitFormatSequenceReader,
)

__all__ = [
    "MisoTopLogitFormatSequenceReader",
    "TopKTopLogitFormatSequenceReader",
    "TopLogitFormatSequenceReader",
]
