"""The pictures of `faithful`."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from sensecheck.faithful.measure import GROUP_NAMES
from sensecheck.plotting.chart import Chart
from sensecheck.plotting.svg import Axes

if TYPE_CHECKING:
    from sensecheck.report.result import Result
    from sensecheck.statistics.figure import Figure


def plots(result: Result) -> list[Chart]:
    """How reliably each kind of fact gets into the sentence, and what is wrong with those that fail."""
    charts = []
    figures = {f.name: f for f in result.figures}
    kept = [figures[f"{g}_kept"] for g in GROUP_NAMES if f"{g}_kept" in figures]
    if any(isinstance(f.value, float) and isfinite(f.value) for f in kept):
        charts.append(_bars("facts", f"Facts kept: {result.name}", kept, "share kept", "series0"))
    faults = [figures[n] for n in ("missing", "contradicted", "added") if n in figures]
    if faults:
        charts.append(_bars("faults", f"What goes wrong: {result.name}", faults, "share of pairs", "series1"))
    return charts


def _bars(name: str, title: str, figures: list[Figure], y_title: str, colour: str) -> Chart:
    there = [f for f in figures if isinstance(f.value, float) and isfinite(f.value)]
    width = 90.0 + 84 * max(len(there), 1)
    axes = Axes(62, 34, width - 82, 240, (0.0, float(max(len(there), 1))), (0.0, 1.0))
    axes.text(title, 62, 20, "p-title")
    labels = [f.title.removesuffix(" kept").removeprefix("something ") for f in there]
    axes.frame("", y_title, x_ticks=[i + 0.5 for i in range(len(there))], x_labels=labels)
    data = []
    for i, figure in enumerate(there):
        value = float(figure.value) if isinstance(figure.value, float) else 0.0
        tip = f"{figure.title}: {value:.3f}\n{figure.n:,} pairs"
        axes.bar(i + 0.2, i + 0.8, 0, value, f"p-soft-{colour}", tip)
        if isinstance(figure.low, float) and isinstance(figure.high, float):
            axes.whisker(i + 0.5, figure.low, figure.high)
        data.append({"figure": figure.name, "value": value, "low": figure.low, "high": figure.high, "n": figure.n})
    said = "; ".join(f"{label} {d['value']:.3f}" for label, d in zip(labels, data, strict=True))
    return Chart.of(name, title, (width, 320.0), [axes], f"{title}. {said}.", data)
