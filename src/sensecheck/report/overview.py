"""The overview of an evaluation: all questions, all systems, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from sensecheck.report.comparison import DAGGER, Comparisons, best
from sensecheck.report.escaping import visible
from sensecheck.report.page import rendered, spark
from sensecheck.report.question import question
from sensecheck.report.result import Result
from sensecheck.report.tables import Cell as Marked
from sensecheck.report.tables import Table, decimal, headed, interval
from sensecheck.statistics.figure import Figure


@dataclass
class Cell:
    """One question asked of one system."""

    system: str
    result: Result | None
    link: str = ""
    """Its report, relative to the overview."""
    problem: str = ""
    """Why there is no result."""


@dataclass
class Row:
    """One question asked of all systems."""

    name: str
    question: str
    cells: list[Cell]
    comparison: Comparisons | None = None
    link: str = ""
    """The comparison page, relative to the overview."""
    note: str = ""

    def headline(self) -> list[Figure]:
        first = next((c.result for c in self.cells if c.result is not None), None)
        if first is None:
            return []
        return [f for f in first.figures if f.name in first.question.headline and isinstance(f.value, float)]

    def figure(self, cell: Cell, name: str) -> Figure | None:
        if cell.result is None:
            return None
        return next((f for f in cell.result.figures if f.name == name), None)

    def best(self, figure: Figure) -> float | None:
        if self.comparison is not None and not self.comparison.over_the_same_rows(figure.name):
            return None
        figures = [self.figure(c, figure.name) for c in self.cells]
        return best([_value(f) for f in figures], figure.direction)

    def surely(self, cell: Cell, name: str) -> bool:
        """Whether the system differs from the first on this figure."""
        if self.comparison is None:
            return False
        return any(p.names[1] == cell.system and d.better for p in self.comparison.pairs for d in p if d.name == name)


def _value(figure: Figure | None) -> float | None:
    value = figure.value if figure is not None else None
    return value if isinstance(value, float) and isfinite(value) else None


def glance(systems: Sequence[str], rows: Sequence[Row]) -> Table:
    """The first headline figure of every question for every system."""
    table = Table("", ["question", "figure", *systems], left=2)
    for row in rows:
        first = next(iter(row.headline()), None)
        if first is None:
            table.rows.append([row.name, "–", *("–" for _ in systems)])
            continue
        top = row.best(first)
        cells: list[str] = []
        for cell in row.cells:
            figure = row.figure(cell, first.name)
            mark = DAGGER if row.surely(cell, first.name) else ""
            several = len(row.cells) > 1
            best_one = several and _value(figure) is not None and _value(figure) == top
            cells.append(Marked(decimal(figure.value) if figure else "–", bold=best_one, mark=mark))
        arrow = {"higher": " ↑", "lower": " ↓"}.get(first.direction, "")
        table.rows.append([row.name, first.title + arrow, *cells])
    if any(getattr(c, "mark", "") for line in table.rows for c in line):
        table.notes.append(f"{DAGGER} differs from {systems[0]} at p < 0.05 after Holm's correction")
    return table


def overview_page(title: str, systems: Sequence[str], rows: Sequence[Row]) -> str:
    return rendered(
        "overview.html.j2",
        None,
        title=visible(title),
        nav=[(f"q{i}", visible(row.name)) for i, row in enumerate(rows, start=1)],
        systems=[visible(s) for s in systems],
        glance=_glance(systems, rows),
        notes=[visible(n) for n in glance(systems, rows).notes],
        rows=[_section(row) for row in rows],
    )


def _glance(systems: Sequence[str], rows: Sequence[Row]) -> list[dict[str, Any]]:
    lines = []
    for i, (row, line) in enumerate(zip(rows, glance(systems, rows).rows, strict=True), start=1):
        first = next(iter(row.headline()), None)
        cells = []
        for cell, text in zip(row.cells, line[2:], strict=True):
            figure = row.figure(cell, first.name) if first else None
            ends = interval(figure) if figure else "–"
            cells.append(
                {
                    "text": str(text), "bold": getattr(text, "bold", False), "mark": getattr(text, "mark", ""),
                    "small": "" if ends == "–" else ends, "link": cell.link if cell.result else "",
                    "problem": visible(cell.problem, 120),
                    "bar": spark(figure, _scale(row, first.name)) if figure and first else None,
                }
            )  # fmt: skip
        lines.append({"name": visible(row.name), "place": f"q{i}", "figure": line[1], "cells": cells})
    return lines


def _scale(row: Row, name: str) -> tuple[float, float]:
    ends = [0.0]
    for cell in row.cells:
        f = row.figure(cell, name)
        if f is not None:
            ends += [x for x in (f.value, f.low, f.high) if isinstance(x, float) and isfinite(x)]
    return min(ends), max(ends)


def _section(row: Row) -> dict[str, Any]:
    headline = row.headline()
    arrows = {"higher": " ↑", "lower": " ↓"}
    lines = []
    for cell in row.cells:
        figures = []
        for f in headline:
            own = row.figure(cell, f.name)
            ends = interval(own) if own else "–"
            several = len(row.cells) > 1
            figures.append(
                {
                    "text": decimal(own.value) if own else "–", "small": "" if ends == "–" else ends,
                    "bold": several and _value(own) is not None and _value(own) == row.best(f),
                    "mark": DAGGER if row.surely(cell, f.name) else "",
                }
            )  # fmt: skip
        unscored = sum(cell.result.unscored().values()) if cell.result else 0
        lines.append(
            {
                "system": visible(cell.system), "link": cell.link if cell.result else "", "figures": figures,
                "rows": f"{cell.result.rows.height:,}" if cell.result else "–", "unscored": f"{unscored:,}",
                "problem": visible(cell.problem, 600), "said": _said(cell),
            }
        )  # fmt: skip
    return {
        "name": visible(row.name),
        "asks": question(row.question).asks,
        "question": row.question,
        "columns": [headed(f) + arrows.get(f.direction, "") for f in headline],
        "lines": lines,
        "verdict": [visible(s) for s in row.comparison.verdict()] if row.comparison else [],
        "link": row.link,
        "note": visible(row.note),
    }


def _said(cell: Cell) -> list[str]:
    return [visible(s) for s in cell.result.verdict()] if cell.result else []
