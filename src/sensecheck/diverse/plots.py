"""The pictures of `diverse`: coverage by number of responses, MaxBLEU against MDS, hits by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from sensecheck.plotting.chart import Chart
from sensecheck.plotting.svg import Axes, ticks
from sensecheck.statistics.figure import Figure

if TYPE_CHECKING:
    from sensecheck.report.result import Result

_SERIES = 6


def plots(result: Result) -> list[Chart]:
    """The pictures of one system."""
    charts = [coverage_by_k([result]), systems([result]), by_query(result)]
    return [chart for chart in charts if chart is not None]


def _figures(result: Result) -> Mapping[str, Figure]:
    return {figure.name: figure for figure in result.figures}


def _has_value(figure: Figure | None) -> bool:
    return figure is not None and isinstance(figure.value, float) and isfinite(figure.value)


def coverage_by_k(results: Sequence[Result]) -> Chart | None:
    """MDS expected of k responses, a line a system, with its interval."""
    curves: list[tuple[str, list[tuple[int, Figure]]]] = []
    for result in results:
        points = [
            (int(name.rsplit("_", 1)[1]), figure)
            for name, figure in _figures(result).items()
            if name.startswith("mds_at_") and _has_value(figure)
        ]
        if points:
            curves.append((result.name, sorted(points, key=lambda point: point[0])))
    if not curves:
        return None
    ks = sorted({k for _, points in curves for k, _ in points})
    top = max(ks)
    axes = Axes(70, 30, 480, 280, (0.0, float(top)), (0.0, 1.0))
    axes.frame("responses taken (k)", "MDS@k", x_ticks=[float(k) for k in ks])
    data: list[dict[str, Any]] = []
    for number, (name, points) in enumerate(curves):
        kind = f"series{number % _SERIES}"
        xs = [float(k) for k, _ in points]
        ends = [(f.low, f.high) for _, f in points]
        if all(isinstance(low, float) and isinstance(high, float) for low, high in ends):
            axes.band(xs, [float(low) for low, _ in ends], [float(high) for _, high in ends], f"p-soft-{kind}")  # type: ignore[arg-type]
        axes.line(xs, [float(f.value) for _, f in points], f"p-line-{kind}")  # type: ignore[arg-type]
        for k, figure in points:
            tip = f"{name}: MDS@{k} {figure.value:.3f}, {figure.n:,} queries"
            axes.dot(float(k), float(figure.value), f"p-fill-{kind}", tip=tip)  # type: ignore[arg-type]
            data.append({"system": name, "k": k, "mds": figure.value, "low": figure.low, "high": figure.high})
        if len(curves) > 1:
            axes.dot(top * 0.03, 0.96 - 0.07 * number, f"p-fill-{kind}")
            axes.text(name, axes.px(top * 0.05), axes.py(0.96 - 0.07 * number) + 4)
    alt = "Share of meanings reached by k responses: " + "; ".join(
        f"{name} " + ", ".join(f"{f.value:.2f} at {k}" for k, f in points) for name, points in curves
    )
    return Chart.of("coverage_by_k", "Meanings reached by k responses", (580, 360), [axes], alt, data)


def systems(results: Sequence[Result]) -> Chart | None:
    """MaxBLEU against MDS, a cross of intervals a system; the tick on its stem is what chance reaches."""
    shown: list[tuple[str, Figure, Figure, Figure | None]] = []
    for result in results:
        figures = _figures(result)
        x, y = figures.get("max_bleu") or figures.get("max_score"), figures.get("mds")
        if x is not None and y is not None and _has_value(x) and _has_value(y):
            chance = figures.get("chance_mds")
            shown.append((result.name, x, y, chance if _has_value(chance) else None))
    if not shown:
        return None
    right = max(_high(x) for _, x, _, _ in shown)
    right = ticks(0.0, max(right * 1.15, 0.05))[-1] if right < 1 else right * 1.1
    right = max(right, max(_high(x) for _, x, _, _ in shown) * 1.05)
    axes = Axes(70, 30, 480, 280, (0.0, right), (0.0, 1.0))
    axes.frame(shown[0][1].title, "MDS")
    data: list[dict[str, Any]] = []
    for number, (name, x, y, chance) in enumerate(shown):
        kind = f"series{number % _SERIES}"
        at_x, at_y = float(x.value), float(y.value)  # type: ignore[arg-type]
        if isinstance(y.low, float) and isinstance(y.high, float):
            axes.whisker(at_x, y.low, y.high)
        if isinstance(x.low, float) and isinstance(x.high, float):
            axes.line([x.low, x.high], [at_y, at_y], "p-whisker")
        tip = f"{name}: {x.title} {at_x:.3f}, MDS {at_y:.3f}"
        if chance is not None:
            reached = float(chance.value)  # type: ignore[arg-type]
            axes.line([at_x, at_x], [reached, at_y], "p-ideal")
            half = right * 0.015
            axes.line([at_x - half, at_x + half], [reached, reached], "p-ideal", tip=f"{name}: chance {reached:.3f}")
            tip += f", {reached:.3f} by chance"
        axes.dot(at_x, at_y, f"p-fill-{kind}", 5.0, tip)
        left = at_x > right * 0.75  # keep the name inside the picture
        axes.text(name, axes.px(at_x) + (-9 if left else 9), axes.py(at_y) - 7, anchor="end" if left else "start")
        data.append(
            {"system": name, "score": at_x, "mds": at_y, "chance_mds": None if chance is None else chance.value}
        )
    alt = "; ".join(f"{name}: {x.title} {x.value:.2f}, MDS {y.value:.2f}" for name, x, y, _ in shown)
    return Chart.of("systems", "Nearness against coverage (dashed: down to chance)", (580, 360), [axes], alt, data)


def _high(figure: Figure) -> float:
    return figure.high if isinstance(figure.high, float) else float(figure.value)  # type: ignore[arg-type]


def by_query(result: Result) -> Chart | None:
    """How many queries have which share of their meanings reached."""
    if "mds" not in result.rows.schema:
        return None
    bins = 10
    counts = [0] * (bins + 1)
    for frame in result.rows.batches(["mds"]):
        for value in frame["mds"].drop_nulls().to_list():
            counts[min(bins, int(value * bins + 1e-9))] += 1
    total = sum(counts)
    if not total:
        return None
    axes = Axes(70, 30, 480, 220, (0.0, 1.1), (0.0, max(counts) / total * 1.1))
    axes.frame("share of a query's meanings reached", "share of queries", x_ticks=[i / 10 + 0.05 for i in range(11)],
               x_labels=["0", *(f"{i / 10:.1f}" for i in range(1, 10)), "all"])  # fmt: skip
    data = []
    for i, count in enumerate(counts):
        low, high = i / bins, (i + 1) / bins
        words = "all meanings" if i == bins else f"{low:.0%} to under {high:.0%}"
        kind = "p-fill-good" if i == bins else "p-fill-series0"
        axes.bar(low + 0.008, high - 0.008, 0.0, count / total, kind, f"{words}: {count:,} queries")
        data.append({"from": low, "queries": count})
    alt = (
        f"{counts[bins]:,} of {total:,} queries have all their meanings reached; "
        f"{counts[0]:,} have fewer than a tenth reached"
    )
    return Chart.of("by_query", "Meanings reached, by query", (580, 300), [axes], alt, data)
