"""Tables of figures in any form: terminal, Markdown, LaTeX."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import IO
from unicodedata import combining, east_asian_width

from sensecheck.report.escaping import visible
from sensecheck.statistics.figure import Figure

_PAGE_POINTS = 345  # the text of LaTeX's article class is so wide


class Cell(str):
    """A cell with an emphasis: bold where it is the best, marked where it differs for sure."""

    __slots__ = ("bold", "mark")
    bold: bool
    mark: str

    def __new__(cls, text: str, *, bold: bool = False, mark: str = "") -> Cell:
        cell = super().__new__(cls, text)
        cell.bold, cell.mark = bold, mark
        return cell


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
        for note in self.notes:
            lines += ["", _md(note)]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """With booktabs, and narrow enough for a page of one column where a smaller size can make it so."""
        spec = "".join("l" if i < self.left else "r" for i in range(len(self.columns)))
        cells = [max((len(str(row[i])) for row in self.rows), default=0) for i in range(len(self.columns))]
        heads = [[c] for c in self.columns]
        if _size(sum(max(len(c), cell) for c, cell in zip(self.columns, cells, strict=True)), len(cells)):
            # Too wide: heads of several words above narrow numbers are stacked first.
            heads = [[c] if i < self.left else _stacked(c, cells[i]) for i, c in enumerate(self.columns)]
        widest = [max(*map(len, head), cell) for head, cell in zip(heads, cells, strict=True)]
        lines = [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            *_size(sum(widest), len(widest)),
            rf"\begin{{tabular}}{{{spec}}}",
            r"\toprule",
            " & ".join(map(_tex_head, heads)) + r" \\",
            r"\midrule",
            *(" & ".join(_tex(c) for c in row) + r" \\" for row in self.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        said = [part if part[-1] in ".?!" else part + "." for part in [self.title, *self.notes] if part]
        if said:
            lines.append(rf"\caption{{{_tex(' '.join(said))}}}")
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def without(self, *names: str) -> Table:
        """The table less some columns."""
        kept = [i for i, column in enumerate(self.columns) if column not in names]
        rows: list[Sequence[str]] = [[row[i] for i in kept] for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in kept], rows=rows)

    def print(self, stream: IO[str] | None = None) -> None:
        """To a terminal (or a file, without colours), no wider than it is."""
        out = stream or sys.stdout
        watched = out.isatty()
        coloured = watched and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        # A file or a pipe has no width of its own: never cut a figure there.
        room = shutil.get_terminal_size().columns if watched else 10_000
        out.write("\n".join(self.lines(room, coloured)) + "\n")

    def lines(self, room: int = 10_000, coloured: bool = False) -> list[str]:
        """The table as lines of at most `room` characters; columns that do not fit are named below it."""
        cells = [[visible(str(c)) + getattr(c, "mark", "") for c in row] for row in [self.columns, *self.rows]]
        widths = [max(_width(row[i]) for row in cells) for i in range(len(self.columns))]
        shown = len(widths)
        while shown > self.left + 1 and sum(widths[:shown]) + 2 * shown > room:
            shown -= 1
        spare = room - sum(widths[1:shown]) - 2 * shown
        widths[0] = max(min(widths[0], spare), min(widths[0], 12))
        lines = [_bold(visible(self.title), coloured)] if self.title else []
        for number, row in enumerate(cells):
            padded = []
            for i in range(shown):
                text = _cut(row[i], widths[i])
                gap = " " * (widths[i] - _width(text))
                padded.append(text + gap if i < self.left else gap + text)
            line = "  " + "  ".join(padded)
            lines.append(_bold(line.rstrip(), coloured) if number == 0 else line.rstrip())
            if number == 0:
                lines.append("  " + "─" * min(room - 2, sum(widths[:shown]) + 2 * (shown - 1)))
        if shown < len(self.columns):
            hidden = ", ".join(visible(c) for c in self.columns[shown:])
            lines += textwrap.wrap(
                f"not shown for lack of space: {hidden}", room - 2, initial_indent="  ", subsequent_indent="  "
            )
        for note in self.notes:
            wrapped = textwrap.wrap(visible(note), max(room - 2, 40), initial_indent="  ", subsequent_indent="    ")
            lines += [_dim(line, coloured) for line in wrapped]
        return [*lines, ""]


def _width(text: str) -> int:
    """Columns that the text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    while text and _width(text) > width - 1:
        text = text[:-1]
    return text + "…"


def _bold(text: str, coloured: bool) -> str:
    return f"\x1b[1m{text}\x1b[0m" if coloured else text


def _dim(text: str, coloured: bool) -> str:
    return f"\x1b[2m{text}\x1b[0m" if coloured else text


def decimal(value: float | tuple[float, ...] | None, digits: int = 4) -> str:
    """A figure as text: four decimals, or a dash where there is none. What rounds to zero has no sign."""
    if isinstance(value, tuple):
        return " ".join(decimal(v, digits) for v in value)
    if value == inf:
        return "∞"
    if value is None or not isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    return f"{value:z.{digits}f}"


def probability(p: float | None) -> str:
    """A p-value as text: how far below one in a thousand it lies is nobody's to say.

    >>> probability(0.03217), probability(1e-9)
    ('0.032', '< 0.001')
    """
    return "–" if p is None or not isfinite(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def told(reasons: Mapping[str, int]) -> str:
    """Why rows are not counted, and how many for each reason."""
    return ", ".join(f"{n:,} {why}" for why, n in sorted(reasons.items(), key=lambda reason: -reason[1]))


def titled(figures: Sequence[Figure], most: int = 4) -> str:
    """The titles of some figures, the first of many."""
    titles = [f.title for f in figures]
    if len(titles) > most + 1:
        titles = [*titles[:most], f"{len(titles) - most:,} more"]
    return " · ".join(titles)  # titles may hold commas


def aside(value: float | None) -> str:
    """What stands beside a figure: a count as it is, a figure with its decimals."""
    return f"{value:,}" if isinstance(value, int) else decimal(value)


def interval(figure: Figure) -> str:
    if figure.low is None or isinstance(figure.low, tuple):
        return "–"
    return f"[{decimal(figure.low)}, {decimal(figure.high)}]"


TRUE_ERROR = (
    "Noise pushes up a calibration error: its interval is of the true error, less noise, and the figure itself may lie "
    "above it."
)


def of_true_error(figure: Figure) -> bool:
    """Whether the interval is one of the error without the noise that the figure shows."""
    return figure.low is not None and ("debiased" in figure.beside or figure.method.endswith("noise taken out"))


def headed(figure: Figure) -> str:
    """A figure's title where intervals stand in its column, saying what they are of."""
    return f"{figure.title} [true error]" if of_true_error(figure) else figure.title


def figures_table(title: str, figures: Sequence[Figure], level: float, notes: Sequence[str] = ()) -> Table:
    """One row a figure: value, interval, what to read beside it, n, unscored."""
    # A count that is 0 throughout says nothing: no column for it.
    beside = list(dict.fromkeys(k for f in figures for k, v in f.beside.items() if v != 0 or isinstance(v, float)))
    clustered = any(f.clusters is not None for f in figures)
    columns = ["figure", "value", f"{level:.0%} interval", *beside, "n"]
    columns += (["clusters"] if clustered else []) + ["unscored"]
    table = Table(title, columns, notes=list(notes))
    if any(map(of_true_error, figures)):
        table.notes.append(TRUE_ERROR)
    for f in figures:
        if isinstance(f.value, tuple):
            continue
        row = [f.title, decimal(f.value), interval(f), *(aside(f.beside.get(k)) for k in beside), f"{f.n:,}"]
        row += ([f"{f.clusters:,}" if f.clusters is not None else "–"] if clustered else []) + [f"{f.unscored_total:,}"]
        table.rows.append(row)
    return table


def slices_table(by: Sequence[str], rows: Sequence[Sequence[Figure]], headline: Sequence[str]) -> Table:
    """One row a slice value, with the headline figures and their intervals."""
    first = [f for f in rows[0] if f.name in headline] if rows else []
    table = Table("by " + " × ".join(by), [" × ".join(by), "n", *map(headed, first)])
    for figures in rows:
        name = " × ".join(str(v) for v in figures[0].slice.values())
        row = [name, f"{max((f.n for f in figures), default=0):,}"]
        for f in (f for f in figures if f.name in headline):
            ends = interval(f)
            row.append(decimal(f.value) if ends == "–" else f"{decimal(f.value)} {ends}")
        table.rows.append(row)
    if any(map(of_true_error, first)):
        table.notes.append(TRUE_ERROR)
    return table


_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "×": r"$\times$", "−": "$-$", "†": r"$^\dagger$",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$", "→": r"$\rightarrow$", "…": r"\dots{}", "·": r"$\cdot$",
    "α": r"$\alpha$", "ρ": r"$\rho$", "≥": r"$\geq$", "≤": r"$\leq$", "∞": r"$\infty$", "≠": r"$\neq$",
    "±": r"$\pm$", "Δ": r"$\Delta$", "ε": r"$\epsilon$", "λ": r"$\lambda$", "σ": r"$\sigma$", "χ": r"$\chi$",
    "≈": r"$\approx$", "²": "$^2$", "√": r"$\surd$", "∈": r"$\in$", "⊂": r"$\subset$", "—": "---",
    "<": "$<$", ">": "$>$", "|": "$|$",  # text fonts of the old encoding have other signs in these places
}  # fmt: skip


# A hyphen before a digit, where no word or number ends: a minus sign in print.
_NEGATIVE = re.compile(r"(?<![\w.-])-(?=\d)")


def _tex(text: str) -> str:
    printed = "".join(_TEX.get(c, c) for c in visible(text) + getattr(text, "mark", ""))
    printed = _NEGATIVE.sub("$-$", printed)
    return rf"\textbf{{{printed}}}" if getattr(text, "bold", False) else printed


def _tex_head(lines: Sequence[str]) -> str:
    if len(lines) == 1:
        return _tex(lines[0])
    stack = r" \\ ".join(map(_tex, lines))
    return rf"\shortstack[r]{{{stack}}}"


def _stacked(head: str, room: int) -> list[str]:
    """The words of a head in lines no longer than the cells below, or than its longest word."""
    room = max(room, *(len(word) for word in head.split()), 1)
    lines: list[str] = []
    for word in head.split():
        # An arrow stays with its word.
        if lines and (word in "↑↓" or len(lines[-1]) + 1 + len(word) <= room):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [head]


def _size(characters: int, columns: int) -> list[str]:
    """Commands that bring a table to the width of a page, as far as readable type can."""
    sizes = (("", 5.0, 6), (r"\small", 4.5, 6), (r"\small", 4.5, 4), (r"\footnotesize", 4.0, 4))
    fitting = (size for size in sizes if characters * size[1] + 2 * size[2] * columns <= _PAGE_POINTS)
    command, _, gap = next(fitting, sizes[-1])
    return [*([command] if command else []), *([rf"\setlength{{\tabcolsep}}{{{gap}pt}}"] if gap != 6 else [])]


def _md(text: str) -> str:
    safe = visible(text).replace("\\", "\\\\").replace("|", "\\|")
    safe = safe.replace("<", "&lt;").replace("*", "\\*").replace("`", "\\`").replace("](", "]\\(")
    return (f"**{safe}**" if getattr(text, "bold", False) else safe) + getattr(text, "mark", "")
