"""The pictures people expect of calibration."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt
from typing import TYPE_CHECKING

from sensecheck.calibrated.classwise import CURVES
from sensecheck.calibrated.ranking import curve_coverages
from sensecheck.plotting.chart import Chart
from sensecheck.plotting.svg import Axes

if TYPE_CHECKING:
    from sensecheck.report.result import Result

_Z = 1.96
_MOST_SERIES = 6
_FEWEST = 0.001
"""A line joins bins that hold at least this share of the rows; dots show all of them."""


def plots(result: Result) -> list[Chart]:
    """Reliability diagram and confidence histogram, where the run has the bins for them."""
    try:
        figure = result["reliability"]
    except KeyError:
        return []
    if not isinstance(figure.value, tuple) or figure.n == 0:
        return []
    curve = Curve.of(figure.value, figure.low, figure.high)
    charts = [reliability(curve, result.name), histogram(curve, result.name)]
    earlier = result.extra.get("before")
    if earlier and earlier.get("reliability"):
        pair = [(str(earlier["name"]), Curve.of(_numbers(earlier["reliability"]))), (result.name, curve)]
        charts.append(_overlaid(pair, "before-after", "Before and after recalibration"))
    return [*charts, *_risk_of(result), *_of_classes(result)]


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [float("nan") if v is None else float(v) for v in values]


def _risk_of(result: Result) -> list[Chart]:
    try:
        return [risk_coverage([result])]
    except (KeyError, ValueError):
        return []


def overlay(results: Sequence[Result], *, name: str = "reliability-of-several", title: str = "") -> Chart:
    """The reliability curves of several systems (or of one before and after) in one diagram."""
    pairs = []
    for result in results:
        figure = result["reliability"]
        if not isinstance(figure.value, tuple) or figure.n == 0:
            raise ValueError(f"{result.name} has no rows to draw a reliability curve from")
        pairs.append((result.name, Curve.of(figure.value)))
    return _overlaid(pairs, name, title or "Reliability of several systems")


def _overlaid(pairs: Sequence[tuple[str, Curve]], name: str, title: str) -> Chart:
    if not 1 <= len(pairs) <= _MOST_SERIES:
        raise ValueError(f"one diagram holds up to {_MOST_SERIES} systems, got {len(pairs)}")
    axes = Axes(62, 34, 380, 300)
    axes.text(title, 62, 20, "p-title")
    unit = [0, 0.2, 0.4, 0.6, 0.8, 1]
    axes.frame("confidence", "accuracy", x_ticks=unit, y_ticks=unit)
    axes.line([0, 1], [0, 1], "p-ideal")
    data: list[dict[str, object]] = []
    summaries = []
    for i, (system, curve) in enumerate(pairs):
        # A bin with hardly any rows would send the line anywhere.
        shown = [b for b in curve.filled() if curve.n[b] >= _FEWEST * curve.total]
        xs, ys = [curve.confidence[b] for b in shown], [curve.accuracy[b] for b in shown]
        axes.line(xs, ys, f"p-line-series{i}")
        for b in curve.filled():
            tip = (
                f"{system}\nconfidence {curve.confidence[b]:.3f}, accuracy {curve.accuracy[b]:.3f}\n"
                f"{curve.n[b]:,.0f} rows"
            )
            size = 2.0 + 4.0 * sqrt(curve.n[b] / max(curve.n))
            axes.dot(curve.confidence[b], curve.accuracy[b], f"p-fill-series{i}", size, tip)
            data.append({"system": system, "confidence": curve.confidence[b], "accuracy": curve.accuracy[b],
                         "rows": curve.n[b]})  # fmt: skip
        ece = sum(abs(curve.confidence[b] - curve.accuracy[b]) * curve.n[b] for b in curve.filled()) / curve.total
        axes.parts.append(f'<rect class="p-fill-series{i}" x="70" y="{42 + 18 * i}" width="10" height="10"/>')
        axes.text(f"{_short(system)} (ECE {ece:.3f})", 86, 51 + 18 * i)
        summaries.append(f"{system}: ECE {ece:.3f}")
    alt = f"{title}: accuracy by confidence. {'; '.join(summaries)}. On the dashed line, confidence equals accuracy."
    return Chart.of(name, title, (460.0, 390.0), [axes], alt, data)


def risk_coverage(results: Sequence[Result]) -> Chart:
    """The error rate among the surest answers, by the share answered; with intervals where one system is drawn."""
    if not 1 <= len(results) <= _MOST_SERIES:
        raise ValueError(f"one diagram holds up to {_MOST_SERIES} systems, got {len(results)}")
    xs = curve_coverages()
    curves = []
    for result in results:
        figure = result["risk_coverage"]
        if not isinstance(figure.value, tuple) or not figure.value:
            raise ValueError(f"{result.name} has no rows to rank")
        curves.append((result.name, figure))
    drawn = [end for _, f in curves for end in (f.value, f.high) if isinstance(end, tuple)]
    highest = max((v for values in drawn for v in values if isfinite(v)), default=1.0)
    axes = Axes(62, 34, 380, 240, y_range=(0.0, max(0.05, min(1.0, highest * 1.1))))
    title = f"Risk and coverage: {_short(results[0].name)}" if len(results) == 1 else "Risk and coverage"
    axes.text(title, 62, 20, "p-title")
    axes.frame("share of questions answered, the surest first", "error rate", x_ticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
    data: list[dict[str, object]] = []
    summaries = []
    for i, (system, figure) in enumerate(curves):
        values = figure.value
        assert isinstance(values, tuple)
        if len(curves) == 1 and isinstance(figure.low, tuple) and isinstance(figure.high, tuple):
            axes.band(xs, figure.low, figure.high)
        axes.line(xs, values, f"p-line-series{i}")
        for x, value in zip(xs, values, strict=True):
            tip = f"{system}\nthe {x:.0%} surest: error rate {value:.3f}"
            axes.dot(x, value, f"p-fill-series{i}", 2.5, tip)
            data.append({"system": system, "coverage": x, "risk": value})
        # Right answers first, then wrong ones: no ranking of the same answers can do better.
        error = values[-1]
        best = [max(0.0, (x - (1 - error)) / x) for x in xs]
        axes.line(xs, best, "p-ideal")
        half = values[len(values) // 2 - 1]
        summaries.append(f"{system}: {error:.3f} of all answers are wrong, {half:.3f} of the surer half")
        if len(curves) > 1:
            axes.parts.append(f'<rect class="p-fill-series{i}" x="70" y="{42 + 18 * i}" width="10" height="10"/>')
            axes.text(_short(system), 86, 51 + 18 * i)
    axes.text("dashed: a perfect ranking", 70, 51 + (18 * len(curves) if len(curves) > 1 else 0), "p-tick")
    alt = f"Error rate by coverage. {'; '.join(summaries)}."
    return Chart.of("risk-coverage", "Risk–coverage curve", (460.0, 330.0), [axes], alt, data)


def _short(name: str, longest: int = 44) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


class Curve:
    """Accuracy, confidence and rows of each bin, as the vector figure `reliability` stores them."""

    def __init__(
        self, accuracy: Sequence[float], confidence: Sequence[float], n: Sequence[float], variance: Sequence[float]
    ) -> None:
        self.accuracy, self.confidence, self.n, self.variance = accuracy, confidence, n, variance
        self.low: Sequence[float] | None = None
        self.high: Sequence[float] | None = None

    @classmethod
    def of(cls, values: Sequence[float], low: object = None, high: object = None) -> Curve:
        bins = len(values) // 4
        curve = cls(*(values[i * bins : (i + 1) * bins] for i in range(4)))
        if isinstance(low, tuple) and isinstance(high, tuple):
            curve.low, curve.high = low[:bins], high[:bins]
        return curve

    @property
    def total(self) -> float:
        return sum(self.n) or 1.0

    def edges(self, b: int) -> tuple[float, float]:
        bins = len(self.n)
        return b / bins, (b + 1) / bins

    def consistency(self, b: int) -> tuple[float, float]:
        """Where a calibrated model's accuracy would fall 19 times in 20, given this bin's confidences and rows."""
        deviation = sqrt(max(self.variance[b], 0.0)) / self.n[b]
        return max(0.0, self.confidence[b] - _Z * deviation), min(1.0, self.confidence[b] + _Z * deviation)

    def filled(self) -> list[int]:
        return [b for b in range(len(self.n)) if self.n[b] > 0 and isfinite(self.accuracy[b])]


def reliability(curve: Curve, name: str) -> Chart:
    """Accuracy against confidence; the grey bars are what a calibrated model would show."""
    width, height = 460.0, 500.0
    top = Axes(62, 34, 380, 300)
    top.text(f"Reliability: {name}", 62, 20, "p-title")
    top.frame("", "accuracy", x_ticks=[0, 0.2, 0.4, 0.6, 0.8, 1], y_ticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
    data = _bars(top, curve, 3.5)
    top.line([0, 1], [0, 1], "p-ideal")
    _legend(top, 70, 42, across=False)
    counts = _counts(curve, 62, 366, 380, 84)
    counts.frame("confidence", "rows", x_ticks=[0, 0.2, 0.4, 0.6, 0.8, 1], y_ticks=_two_ticks(curve))
    gaps = [curve.confidence[b] - curve.accuracy[b] for b in curve.filled()]
    worst = max(gaps, key=abs, default=0.0)
    alt = (
        f"Reliability diagram of {name}: accuracy by confidence in {len(curve.n)} bins over {curve.total:,.0f} rows. "
        f"The largest gap is {worst:+.3f} (confidence minus accuracy)."
    )
    return Chart.of("reliability", "Reliability diagram", (width, height), [top, counts], alt, data)


def _bars(top: Axes, curve: Curve, dot: float) -> list[dict[str, object]]:
    """The bars, bands and dots of a reliability diagram, and the numbers behind them."""
    data: list[dict[str, object]] = []
    for b in curve.filled():
        a, z = curve.edges(b)
        low, high = curve.consistency(b)
        kind = "series1" if curve.accuracy[b] < low else "series2" if curve.accuracy[b] > high else "series0"
        tip = (
            f"confidence {curve.confidence[b]:.3f}, accuracy {curve.accuracy[b]:.3f}\n"
            f"{curve.n[b]:,.0f} rows; a calibrated model: {low:.3f} to {high:.3f}"
        )
        top.bar(a, z, 0, curve.accuracy[b], f"p-soft-{kind}", tip)
        top.bar(a + (z - a) * 0.15, z - (z - a) * 0.15, low, high, "p-band")
        if curve.low is not None and curve.high is not None and isfinite(curve.low[b]) and isfinite(curve.high[b]):
            top.whisker((a + z) / 2, curve.low[b], curve.high[b], 3)
        top.dot(curve.confidence[b], curve.accuracy[b], f"p-fill-{kind}", dot, tip)
        data.append(
            {
                "bin_low": a, "bin_high": z, "confidence": curve.confidence[b], "accuracy": curve.accuracy[b],
                "rows": curve.n[b], "consistent_low": low, "consistent_high": high,
            }
        )  # fmt: skip
    return data


_LEGEND = (
    ("p-band", "a calibrated model"), ("p-fill-series1", "over-confident"), ("p-fill-series2", "under-confident"),
)  # fmt: skip


def _legend(axes: Axes, x: int, y: int, *, across: bool = True) -> None:
    for i, (kind, words) in enumerate(_LEGEND):
        left, top = (x + 142 * i, y) if across else (x, y + 18 * i)
        axes.parts.append(f'<rect class="{kind}" x="{left}" y="{top}" width="10" height="10"/>')
        axes.text(words, left + 16, top + 9)


_PANEL = 150.0
_BESIDE = 3
"""How many small diagrams stand in a row."""


def _of_classes(result: Result) -> list[Chart]:
    told = result.extra.get(CURVES)
    if not told or not told.get("drawn"):
        return []
    return [by_class([(str(one["name"]), Curve.of(_numbers(one["curve"]))) for one in told["drawn"]], int(told["of"]))]


def by_class(curves: Sequence[tuple[str, Curve]], classes: int) -> Chart:
    """A small diagram for each class: how often it is the right one against its probability, the worst first."""
    beside = min(_BESIDE, len(curves))
    width = max(62 + beside * (_PANEL + 40) + 8.0, 480.0)
    height = 84 + -(-len(curves) // beside) * (_PANEL + 56)
    unit = [0.0, 0.5, 1.0]
    head = Axes(62, 34, 0, 0)
    more = classes - len(curves)
    head.text("Reliability of each class", 62, 20, "p-title")
    shown = f"the {len(curves)} of {classes} classes with the largest error, the worst first"
    head.text(shown if more else "the class with the largest error first", 62, 38, "p-tick")
    _legend(head, 62, 50)
    panels, data, errors = [head], [], []
    for at, (name, curve) in enumerate(curves):
        left, row = at % beside, at // beside
        axes = Axes(62 + left * (_PANEL + 40), 96 + row * (_PANEL + 56), _PANEL, _PANEL)
        bottom = at + beside >= len(curves)
        axes.frame(
            "probability" if bottom else "", "share of the class" if not left else "", x_ticks=unit, y_ticks=unit
        )
        data += [{"class": name, **one} for one in _bars(axes, curve, 2.5)]
        axes.line([0, 1], [0, 1], "p-ideal")
        error = sum(abs(curve.confidence[b] - curve.accuracy[b]) * curve.n[b] for b in curve.filled()) / curve.total
        axes.text(f"{_short(name, 12)} · ECE {error:.3f}", axes.x, axes.y - 8)
        errors.append(f"{name} {error:.3f}")
        panels.append(axes)
    left_out = f" {more} more classes with smaller errors are not drawn." if more else ""
    alt = (
        f"Reliability diagrams of single classes: the share of rows of the class by its probability. ECE of each: "
        f"{', '.join(errors)}.{left_out}"
    )
    return Chart.of("classes", "Reliability of each class", (width, height), panels, alt, data)


def histogram(curve: Curve, name: str) -> Chart:
    """How the confidences are spread."""
    axes = _counts(curve, 62, 34, 380, 200)
    axes.text(f"Confidences: {name}", 62, 20, "p-title")
    axes.frame("confidence", "rows", x_ticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
    filled = curve.filled()
    mean = sum(curve.confidence[b] * curve.n[b] for b in filled) / curve.total
    right = sum(curve.accuracy[b] * curve.n[b] for b in filled) / curve.total
    axes.line([mean, mean], [0, axes.y_range[1]], "p-line-series1", f"mean confidence {mean:.3f}")
    axes.line([right, right], [0, axes.y_range[1]], "p-line-series2", f"accuracy {right:.3f}")
    axes.parts.append('<rect class="p-fill-series1" x="70" y="42" width="10" height="10"/>')
    axes.text(f"mean confidence {mean:.3f}", 86, 51, "p-text")
    axes.parts.append('<rect class="p-fill-series2" x="70" y="60" width="10" height="10"/>')
    axes.text(f"accuracy {right:.3f}", 86, 69, "p-text")
    alt = f"Histogram of {curve.total:,.0f} confidences of {name}: mean confidence {mean:.3f}, accuracy {right:.3f}."
    return Chart.of("confidences", "Confidence histogram", (460.0, 290.0), [axes], alt)


def _counts(curve: Curve, x: float, y: float, width: float, height: float) -> Axes:
    axes = Axes(x, y, width, height, y_range=(0.0, max(curve.n, default=1.0) or 1.0))
    for b in curve.filled():
        low, high = curve.edges(b)
        axes.bar(low, high, 0, curve.n[b], "p-soft-series0", f"{curve.n[b]:,.0f} rows from {low:.2f} to {high:.2f}")
    return axes


def _two_ticks(curve: Curve) -> list[float]:
    return [0.0, max(curve.n, default=1.0) or 1.0]
