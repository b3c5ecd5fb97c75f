"""`calibration_metric.metric`: the base class to inherit from, and the five metrics."""

from __future__ import annotations

from sensecheck.calibrated.original import (
    ECEMetric,
    MCEMetric,
    MeanErrorAbove,
    MeanErrorBelow,
    Metric,
    PearsonMetric,
)

__all__ = ["ECEMetric", "MCEMetric", "MeanErrorAbove", "MeanErrorBelow", "Metric", "PearsonMetric"]
