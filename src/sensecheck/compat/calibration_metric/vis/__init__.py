"""Plots of calibration."""
