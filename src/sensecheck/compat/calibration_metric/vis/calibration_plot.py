"""`calibration_metric.vis.calibration_plot`: bins of a file as a data frame, and their picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from sensecheck.calibrated.original import ECEMetric, TopLogitFormatSequenceReader

__all__ = ["get_df_from_file", "plot_df"]

DOT_AREA = 12.0  # square points per unit of the size column; ln(count) alone would draw dots too small to see


def get_df_from_file(
    path: str | PathLike[str],
    n_bins: int = 20,
    reader_cls: type[TopLogitFormatSequenceReader] = TopLogitFormatSequenceReader,
    ignore_tokens: Sequence[Any] | None = None,
    binning_strategy: str = "uniform",
    reader_kwargs: Mapping[str, Any] | None = None,
) -> tuple[Any, float]:
    """The bins of a file of logits as a pandas data frame, and the weighted ECE in percent."""
    reader = reader_cls(path, ignore_tokens=ignore_tokens, **(reader_kwargs or {}))
    metric = ECEMetric(n_bins=n_bins, weighted=True, return_df=True, binning_strategy=binning_strategy)
    ece, df = metric(*reader.read())
    return df, ece * 100


def plot_df(
    df: Any,
    use_log_count: bool = True,
    figsize: tuple[float, float] = (5, 5),
    ax: Any = None,
    title: str | None = None,
    show_legend: bool = True,
    metric_value: float | None = None,
    metric_value_kwargs: Mapping[str, Any] | None = None,
    xlabel: str = "Accuracy",
    ylabel: str = "Model Prob.",
) -> Any:
    """One dot per bin, its size the (logarithm of the) count, with the line of perfect calibration.

    Accuracy is across and confidence up, so dots above the line are overconfident. `df["log_count"]` is
    written anew. `metric_value` is printed on the plot as an ECE, at x = y = 0.5 or where
    `metric_value_kwargs` say; other entries of it style that text. The figure comes back only if `ax` was
    not given.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError as missing:
        raise ImportError("plot_df needs matplotlib: pip install matplotlib") from missing
    figure = None
    if ax is None:
        print("ax is None")
        figure, ax = plt.subplots(1, 1, figsize=figsize)
    df["log_count"] = np.log(df["count"])
    size = df["log_count"] if use_log_count else df["count"]
    dots = ax.scatter(df["prob_correct"], df["prob_model"], s=DOT_AREA * size)
    ax.plot([0, 1], [0, 1], color="black")
    if show_legend:
        handles, labels = dots.legend_elements(prop="sizes", num=4, func=lambda area: area / DOT_AREA)
        ax.legend(handles, labels, title="log count" if use_log_count else "count", loc="upper left")
    if metric_value is not None:
        style = {"x": 0.5, "y": 0.5, **(metric_value_kwargs or {})}
        ax.text(style.pop("x"), style.pop("y"), f"ECE: {metric_value:.2f}", **style)
    if title is not None:
        ax.set_title(title)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    return figure
