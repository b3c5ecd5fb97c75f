"""The pictures: the funnel, the rates with their intervals, and how far predictions move."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any

from sensecheck.plotting.chart import Chart
from sensecheck.plotting.svg import Axes, ticks
from sensecheck.robust.measure import FUNNEL, HISTOGRAM_ENDS

if TYPE_CHECKING:
    from sensecheck.report.result import Result


def plots(result: Result) -> list[Chart]:
    charts = []
    if result.extra.get("funnel"):
        charts.append(funnel(result.extra["funnel"], result.name))
    rates = _rates(result)
    if rates:
        charts.append(rate_chart(rates, result.name))
    rules = _rules(result)
    if rules:
        charts.append(rule_chart(rules, result.name))
    for distance, counts in (result.extra.get("distances") or {}).items():
        charts.append(histogram(distance, counts, result.name))
    return charts


def funnel(rows: list[dict[str, Any]], name: str) -> Chart:
    """How many pairs survived each step."""
    width, row_height = 620.0, 22.0
    height = 40.0 + len(rows) * (len(FUNNEL) * row_height + 34)
    axes = []
    top = 34.0
    most = max((row[FUNNEL[0]] for row in rows), default=1) or 1
    for number, row in enumerate(rows):
        part = Axes(170, top + 18, 380, len(FUNNEL) * row_height, (0, most), (len(FUNNEL), 0))
        steps = [step for step in row if step != "polarity"]
        if number == 0:
            part.text(f"Funnel: {name}", 14, 20, "p-title")
        part.text(f"{row['polarity']} statements", 14, top + 8)
        for i, step in enumerate(steps):
            count = row[step]
            part.text(step, 164, part.py(i + 0.68), "p-tick", anchor="end")
            part.bar(
                0, count, i + 0.15, i + 0.85, f"p-soft-series{number}", f"{step}: {count:,} of {row[FUNNEL[0]]:,} pairs"
            )
            part.text(f"{count:,}", part.px(count) + 5, part.py(i + 0.68), "p-tick")
        axes.append(part)
        top += len(FUNNEL) * row_height + 34
    said = "; ".join(f"{r['polarity']}: {r[FUNNEL[0]]} pairs, {r['judged']} judged" for r in rows)
    return Chart.of("funnel", "How many pairs survive each step", (width, height), axes, said, rows)


def _rates(result: Result) -> list[tuple[str, Any]]:
    names = ["strictly_inequal", "inequal"]
    names += [f.name for f in result.figures if f.name.startswith(("strictly_inequal_", "inequal_"))]
    rates = []
    for name in names:
        try:
            figure = result[name]
        except KeyError:
            continue
        if isinstance(figure.value, float) and isfinite(figure.value):
            rates.append((figure.title, figure))
    return rates


def _rules(result: Result) -> list[tuple[str, Any]]:
    """Every sound rule, of what obliges the model and of all that was shown."""
    rules = []
    for figure in result.figures:
        a_rule = figure.name.endswith(("_violation", "_violation_global")) and not figure.name.startswith("statement_")
        if a_rule and isinstance(figure.value, float) and isfinite(figure.value):
            rules.append((figure.title, figure))
    return rules


def rate_chart(rates: list[tuple[str, Any]], name: str) -> Chart:
    chart = _whiskers(
        rates, f"Broken triangles: {name}", "share of judged pairs", lambda f: f.name.startswith("inequal")
    )
    return Chart.of("rates", "Rates of broken triangles with their intervals", *chart)


def rule_chart(rules: list[tuple[str, Any]], name: str) -> Chart:
    chart = _whiskers(rules, f"Rules broken: {name}", "share", lambda f: f.name.endswith("_global"))
    return Chart.of("rules", "How often each rule of logic is broken, with intervals", *chart)


def _whiskers(
    rates: list[tuple[str, Any]], head: str, axis: str, milder: Callable[[Any], bool]
) -> tuple[tuple[float, float], list[Axes], str, list[dict[str, Any]]]:
    """A dot and its interval for each figure, one below the other."""
    row_height = 26.0
    width, height = 620.0, 70.0 + row_height * len(rates)
    axes = Axes(290, 32, 300, row_height * len(rates), (0, 1), (len(rates), 0))
    axes.text(head, 14, 20, "p-title")
    axes.frame(axis, "", y_ticks=[])
    for i, (title, figure) in enumerate(rates):
        kind = "series0" if milder(figure) else "series1"
        axes.text(title, 284, axes.py(i + 0.62), "p-tick", anchor="end")
        ends = ""
        if isinstance(figure.low, float) and isinstance(figure.high, float) and isfinite(figure.low):
            axes.line([figure.low, figure.high], [i + 0.5, i + 0.5], "p-whisker")
            ends = f", interval {figure.low:.3f} to {figure.high:.3f}"
        axes.dot(figure.value, i + 0.5, f"p-fill-{kind}", 4.5, f"{title}: {figure.value:.3f}{ends}; {figure.n:,} rows")
    said = "; ".join(f"{title}: {figure.value:.3f}" for title, figure in rates)
    data = [{"figure": f.name, "value": f.value, "low": f.low, "high": f.high, "n": f.n} for _, f in rates]
    return (width, height), [axes], said, data


_AXES = {
    "js": "Jensen–Shannon distance of M(p, g) from M(p, h)",
    "tv": "total variation (L∞) between M(p, g) and M(p, h)",
    "kl": "KL divergence of M(p, g) from M(p, h), bits (last bin: and more)",
    "spread": "standard deviation of the three probabilities of M(p, g)",
    "cosine": "cosine distance of the embeddings of h and g (last bin: and more)",
}

_HEADS = {"spread": "How sure the model is", "cosine": "How far the texts are apart for the model"}


def histogram(distance: str, moves: dict[str, list[int]], name: str) -> Chart:
    """How far M(p, g) is from M(p, h), label kept and label changed side by side."""
    width, height = 520.0, 320.0
    same, changed = moves["same"], moves["changed"]
    most = max([*same, *changed, 1])
    bins, end = len(same), HISTOGRAM_ENDS[distance]
    axes = Axes(64, 36, 430, 220, (0, end), (0, most))
    axes.text(f"{_HEADS.get(distance, 'How far predictions move')}: {name}", 14, 20, "p-title")
    axes.frame(_AXES[distance], "statements", y_ticks=ticks(0, most))
    for i in range(bins):
        a, z = i * end / bins, (i + 1) * end / bins
        middle = (a + z) / 2
        axes.bar(a, middle, 0, same[i], "p-fill-series0", f"{a:.2f} to {z:.2f}: {same[i]:,} with the label kept")
        axes.bar(
            middle, z, 0, changed[i], "p-fill-series1", f"{a:.2f} to {z:.2f}: {changed[i]:,} with the label changed"
        )
    axes.text("label kept", 70, height - 12, "p-tick")
    axes.bar(-0.04 * end, -0.015 * end, -most * 0.235, -most * 0.2, "p-fill-series0")
    axes.text("label changed", 190, height - 12, "p-tick")
    axes.bar(0.24 * end, 0.265 * end, -most * 0.235, -most * 0.2, "p-fill-series1")
    data = [{"from": i * end / bins, "same": same[i], "changed": changed[i]} for i in range(bins)]
    said = f"{sum(same)} statements keep the label, {sum(changed)} change it"
    title = _AXES[distance][0].upper() + _AXES[distance][1:]
    return Chart.of(f"distance_{distance}", title, (width, height), [axes], said, data)
