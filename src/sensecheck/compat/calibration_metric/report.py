"""The report of several metrics: one line each."""

from __future__ import annotations

from sensecheck.calibrated.original import Report

__all__ = ["Report"]
