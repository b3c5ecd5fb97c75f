"""calibration_metric under its own names: a thin shell over `sensecheck.calibrated.original`.

    from sensecheck.compat.calibration_metric import ECEMetric
    ECEMetric(n_bins=20, weighted=True)(confidences, correct)

Where the original's modules are found:

| calibration_metric             | here                                          |
|--------------------------------|-----------------------------------------------|
| `.metric`                      | `.metric`                                     |
| `.utils.reader`                | `.reader` (no module here is called utils)    |
| `.utils.report`                | `.report`                                     |
| `.vis.calibration_plot`        | `.vis.calibration_plot`                       |
| `.utils.hf_utils`              | `.hf_logits` (its LogitGetter never ran; ours does) |
| `python -m calibration_metric.main` | `python -m sensecheck.compat.calibration_metric.main` |

Everything fails where the original fails; `sensecheck.calibrated` has the figures that do not.
"""

from __future__ import annotations

from sensecheck.calibrated.original import (
    ECEMetric,
    MCEMetric,
    MeanErrorAbove,
    MeanErrorBelow,
    Metric,
    MisoTopLogitFormatSequenceReader,
    PearsonMetric,
    Report,
    TopKTopLogitFormatSequenceReader,
    TopLogitFormatSequenceReader,
)
from sensecheck.compat.calibration_metric.hf_logits import LogitGetter
from sensecheck.compat.calibration_metric.vis.calibration_plot import get_df_from_file, plot_df

__all__ = [
    "ECEMetric",
    "LogitGetter",
    "MCEMetric",
    "MeanErrorAbove",
    "MeanErrorBelow",
    "Metric",
    "MisoTopLogitFormatSequenceReader",
    "PearsonMetric",
    "Report",
    "TopKTopLogitFormatSequenceReader",
    "TopLogitFormatSequenceReader",
    "get_df_from_file",
    "plot_df",
]
