"""Tables of figures in any form: terminal, Markdown, LaTeX."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import IO

from sensecheck.report.escaping import visible
from sensecheck.statistics.figure import Figure


@dataclass
class Table:
    """Rows of text; numbers are aligned to the right."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    left: int = 1
    """How many columns, from the first, hold words rather than numbers."""
    notes: list[str] = field(default_factory=list)

    def markdown(self) -> str:
        marks = [":--" if i < self.left else "--:" for i in range(len(self.columns))]
        lines = [f"**{_md(self.title)}**", ""] if self.title else []
        lines += ["| " + " | ".join(_md(c) for c in self.columns) + " |", "| " + " | ".join(marks) + " |"]
        lines += ["| " + " | ".join(_md(c) for c in row) + " |" for row in self.rows]
        lines += ["", *(_md(n) for n in self.notes)] if self.notes else []
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        spec = "".join("l" if i < self.left else "r" for i in range(len(self.columns)))
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{spec}}}",
            r"\toprule",
            " & ".join(_tex(c) for c in self.columns) + r" \\",
            r"\midrule",
            *(" & ".join(_tex(c) for c in row) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        caption = " ".join([self.title, *self.notes]).strip()
        if caption:
            lines.append(rf"\caption{{{_tex(caption)}}}")
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def print(self, stream: IO[str] | None = None) -> None:
        """To a terminal (or a file, without colours)."""
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
        from rich.text import Text

        out = stream or sys.stdout
        console = Console(file=out, no_color=bool(os.environ.get("NO_COLOR")) or None, highlight=False, soft_wrap=False)
        if not console.is_terminal:
            # A file or a pipe has no width of its own: never cut a figure there.
            console.width = max(console.width, 160)
        shown = RichTable(title=Text(visible(self.title)), title_justify="left", title_style="bold", box=box.SIMPLE)
        for i, column in enumerate(self.columns):
            number = i >= self.left
            shown.add_column(
                Text(visible(column)), justify="right" if number else "left", no_wrap=number, overflow="fold"
            )
        for row in self.rows:
            shown.add_row(*(Text(visible(cell)) for cell in row))
        console.print(shown)
        for note in self.notes:
            console.print(Text("  " + visible(note), style="dim"))


def decimal(value: float | tuple[float, ...] | None, digits: int = 4) -> str:
    """A figure as text: four decimals, or a dash where there is none."""
    if isinstance(value, tuple):
        return " ".join(decimal(v, digits) for v in value)
    if value is None or not isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    return f"{value:.{digits}f}"


def interval(figure: Figure) -> str:
    if figure.low is None or isinstance(figure.low, tuple):
        return "–"
    return f"[{decimal(figure.low)}, {decimal(figure.high)}]"


def figures_table(title: str, figures: Sequence[Figure], level: float, notes: Sequence[str] = ()) -> Table:
    """One row a figure: value, interval, what to read beside it, n, unscored."""
    beside = list(dict.fromkeys(k for f in figures for k in f.beside))
    clustered = any(f.clusters is not None for f in figures)
    columns = ["figure", "value", f"{level:.0%} interval", *beside, "n"]
    columns += (["clusters"] if clustered else []) + ["unscored"]
    table = Table(title, columns, notes=list(notes))
    for f in figures:
        if isinstance(f.value, tuple):
            continue
        row = [f.title, decimal(f.value), interval(f), *(decimal(f.beside.get(k)) for k in beside), f"{f.n:,}"]
        row += ([f"{f.clusters:,}" if f.clusters is not None else "–"] if clustered else []) + [f"{f.unscored_total:,}"]
        table.rows.append(row)
    return table


def slices_table(by: Sequence[str], rows: Sequence[Sequence[Figure]], headline: Sequence[str]) -> Table:
    """One row a slice value, with the headline figures and their intervals."""
    first = [f for f in rows[0] if f.name in headline] if rows else []
    columns = [" × ".join(by), "n"]
    for f in first:
        columns += [f.title, "interval"]
    table = Table("by " + " × ".join(by), columns)
    for figures in rows:
        chosen = [f for f in figures if f.name in headline]
        name = " × ".join(str(v) for v in figures[0].slice.values())
        row = [name, f"{max((f.n for f in figures), default=0):,}"]
        for f in chosen:
            row += [decimal(f.value), interval(f)]
        table.rows.append(row)
    return table


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "×": r"$\times$",
}  # fmt: skip


def _tex(text: str) -> str:
    return "".join(_TEX.get(c, c) for c in visible(text))


def _md(text: str) -> str:
    safe = visible(text).replace("\\", "\\\\").replace("|", "\\|")
    return safe.replace("<", "&lt;").replace("*", "\\*").replace("`", "\\`")
