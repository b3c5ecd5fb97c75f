"""The pictures people expect of query evaluation."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from sensecheck.correct.reasons.counts import Count, counts_of, meaning_of
from sensecheck.plotting.chart import Chart
from sensecheck.plotting.svg import Axes
from sensecheck.statistics.figure import Figure
from sensecheck.statistics.measurements import concatenated

if TYPE_CHECKING:
    from sensecheck.report.result import Result

_MOST_BARS = 24


def plots(result: Result) -> list[Chart]:
    """Figures by question type, and what became of the predictions."""
    charts: list[Chart] = []
    if "as" in result.signature.method:
        return charts
    schema = result.rows.schema
    if "question_type" in schema:
        rows = [row for row in result.slices("question_type") if row and row[0].slice.get("question_type")]
        if len(rows) > 1:
            charts.append(by_type(rows[:_MOST_BARS], result.name))
    if "outcome" in schema:
        charts.append(outcomes(result))
    if counts := counts_of(result.extra):
        charts.append(reasons(counts, result.name))
    return charts


def _of(figures: list[Figure], name: str) -> Figure | None:
    for figure in figures:
        if figure.name == name and isinstance(figure.value, float) and isfinite(figure.value):
            return figure
    return None


def by_type(rows: list[list[Figure]], name: str) -> Chart:
    """Accuracy and exact match for every question type, with intervals."""
    shown = [n for n in ("accuracy", "em_normalised", "em") if any(_of(row, n) for row in rows)]
    labels = [str(row[0].slice["question_type"]) for row in rows]
    left = 62.0
    axes = Axes(left, 50, 40.0 * len(rows) + 60, 260, x_range=(0.0, float(len(rows))))
    axes.text(f"By question type: {name}", left, 20, "p-title")
    axes.frame("", "share of questions", x_ticks=[], y_ticks=[0, 0.2, 0.4, 0.6, 0.8, 1])
    data = []
    width = 0.8 / max(1, len(shown))
    for i, row in enumerate(rows):
        for j, figure_name in enumerate(shown):
            figure = _of(row, figure_name)
            if figure is None:
                continue
            assert isinstance(figure.value, float)
            start = i + 0.1 + j * width
            tip = f"{labels[i]}\n{figure.title} {figure.value:.3f} ({figure.n:,} questions)"
            axes.bar(start, start + width, 0, figure.value, f"p-soft-series{j}", tip)
            if isinstance(figure.low, float) and isinstance(figure.high, float):
                axes.whisker(start + width / 2, figure.low, figure.high, 2)
            data.append({"question_type": labels[i], "figure": figure_name, "value": figure.value, "n": figure.n})
        axes.text(str(i + 1), axes.px(i + 0.5), 326, "p-text", anchor="middle")
    height = 346.0
    for i, text in enumerate(labels):
        axes.text(f"{i + 1}  {text[:80]}", left, height + 15 * i, "p-text")
    for j, figure_name in enumerate(shown):
        axes.parts.append(f'<rect class="p-fill-series{j}" x="{left + 150 * j:g}" y="32" width="10" height="10"/>')
        axes.text(figure_name.replace("_", " "), left + 150 * j + 15, 41, "p-text")
    best = max(data, key=lambda d: float(str(d["value"])), default=None)
    alt = f"{', '.join(shown)} of {name} for {len(rows)} question types."
    if best:
        alt += f" The highest is {best['figure']} of {best['question_type']}."
    size = (left + 40.0 * len(rows) + 90, height + 15 * len(labels) + 10)
    return Chart.of("by_type", "By question type", (max(size[0], 460.0), size[1]), [axes], alt, data)


def outcomes(result: Result) -> Chart:
    """How many predictions were right, answered wrong, or failed, and why."""
    frame = concatenated(result.rows, ["outcome", "correct", "scored"])
    counts: dict[str, int] = {}
    for outcome, correct, scored, rows in (
        frame.group_by("outcome", "correct", "scored").len().sort("outcome").iter_rows()
    ):
        label = "right" if correct else "wrong answer" if outcome == "answered" else outcome
        if correct is None:
            label = "undecided" if scored else "unscored"
        counts[label] = counts.get(label, 0) + rows
    order = sorted(counts.items(), key=lambda item: (item[0] != "right", item[0] != "wrong answer", -item[1]))
    left = 62.0
    axes = Axes(left, 34, 60.0 * len(order) + 40, 220, (0.0, float(len(order))), (0.0, float(max(counts.values()))))
    axes.text(f"What became of the predictions: {result.name}", left, 20, "p-title")
    axes.frame("", "questions", x_ticks=[])
    for i, (label, count) in enumerate(order):
        kind = "series0" if label == "right" else "series1"
        axes.bar(i + 0.1, i + 0.9, 0, count, f"p-soft-{kind}", f"{label}: {count:,} of {len(frame):,}")
        axes.text(f"{i + 1}", axes.px(i + 0.5), 270, "p-text", anchor="middle")
        axes.text(f"{i + 1}  {label}: {count:,}", left, 292 + 15 * i, "p-text")
    alt = f"Of {len(frame):,} predictions of {result.name}: " + ", ".join(f"{n:,} {label}" for label, n in order) + "."
    data = [{"outcome": label, "questions": count} for label, count in order]
    size = (max(460.0, left + 60.0 * len(order) + 60), 300.0 + 15 * len(order))
    return Chart.of("outcomes", "What became of the predictions", size, [axes], alt, data)


def reasons(counts: list[Count], name: str) -> Chart:
    """Why wrong predictions are wrong: how many have each reason, and how many of them one change repairs."""
    shown = counts[:_MOST_BARS]
    wrong = sum(count.wrong for count in counts)
    tried = any(count.repairable is not None for count in counts)
    left = 62.0
    axes = Axes(left, 50, 26.0 * len(shown) + 40, 200, (0.0, float(len(shown))), (0.0, float(shown[0].wrong)))
    axes.text(f"Why predictions are wrong: {name}", left, 20, "p-title")
    axes.frame("", "predictions", x_ticks=[])
    lines = []
    for i, count in enumerate(shown):
        repairable = count.repairable or 0
        says = f"{count.why}: {count.wrong:,} of {wrong:,}" + (f", {repairable:,} repairable" if tried else "")
        tip = f"{says}\n{meaning_of(count.why)}"
        axes.bar(i + 0.1, i + 0.9, 0, repairable, "p-soft-series0", tip)
        axes.bar(i + 0.1, i + 0.9, repairable, count.wrong, "p-soft-series1", tip)
        axes.text(str(i + 1), axes.px(i + 0.5), 266, "p-text", anchor="middle")
        lines.append(f"{i + 1}  {says}")
    if tried:
        for j, label in enumerate(("one change repairs it", "no single change does")):
            axes.parts.append(f'<rect class="p-fill-series{j}" x="{left + 170 * j:g}" y="32" width="10" height="10"/>')
            axes.text(label, left + 170 * j + 15, 41, "p-text")
    for i, line in enumerate(lines):
        axes.text(line, left, 288 + 15 * i, "p-text")
    told = ", ".join(f"{count.wrong:,} {count.why}" for count in shown)
    alt = f"Reasons of {wrong:,} wrong predictions of {name}: {told}."
    data = [{"why": count.why, "predictions": count.wrong, "repairable": count.repairable} for count in counts]
    size = (max(460.0, left + 26.0 * len(shown) + 60), 300.0 + 15 * len(shown))
    return Chart.of("reasons", "Why predictions are wrong", size, [axes], alt, data)
