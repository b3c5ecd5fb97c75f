"""The HTML report: one file, no network, nothing but its own code may run in it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from math import isfinite
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup

from sensecheck._version import __version__
from sensecheck.plotting.svg import COLOURS, themed_style_sheet
from sensecheck.report.comparison import Comparison, Comparisons, unscored
from sensecheck.report.escaping import visible
from sensecheck.report.examples import MAX_EXAMPLES, Listing, choose, listing, listing_of_several
from sensecheck.report.result import Result
from sensecheck.report.tables import (
    Table,
    aside,
    decimal,
    figures_table,
    headed,
    interval,
    of_true_error,
    titled,
    told,
)
from sensecheck.stages import REPORT, at_work
from sensecheck.statistics.figure import Figure

# A page of thousands of slice rows helps nobody and weighs on all: the rest is in summary.json.
MAX_SLICE_ROWS = 500
# To show an example takes about as long as to pass over so many rows.
_EXAMPLE_ROWS = 100


@cache
def _asset(name: str) -> str:
    return resources.files("sensecheck.report").joinpath("assets", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(loader=FunctionLoader(_asset), autoescape=True, trim_blocks=True, lstrip_blocks=True)


@cache
def style(*further: str) -> str:
    """The style sheet of all pages, with those of a page's own."""
    light = "".join(f"--{name}:{pair[0]};" for name, pair in COLOURS.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in COLOURS.items())
    themes = f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}@media print{{:root{{{light}}}}}"
    return themes + "".join(map(_asset, ("page.css", *further))) + themed_style_sheet()


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy(scripts: list[str], style_sheet: str) -> str:
    """Only the page's own style and scripts, by hash; no connection, no frame, no form, no eval."""
    return (
        f"default-src 'none'; script-src {' '.join(_hash(s) for s in scripts)}; style-src {_hash(style_sheet)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def rendered(
    template: str, examples: dict[str, Any] | None, *, script: str = "", style_sheet: str = "", **words: Any
) -> str:
    """A page from its template: style, scripts and the policy that admits only them."""
    own = [script or "examples.js"] if script or examples else []
    scripts = [_asset(name) for name in ("page.js", *own)]
    css = style(*filter(None, [style_sheet]))
    page: str = (
        _environment()
        .get_template(template)
        .render(
            policy=policy(scripts, css),
            version=__version__,
            style=Markup(css),
            scripts=[Markup(s) for s in scripts],
            examples=examples,
            **words,
        )
    )
    return page


def page(result: Result, *, examples: int = MAX_EXAMPLES) -> str:
    """The whole report, with at most so many examples (0: none)."""
    figures = figures_table("", [f for f in result.figures if isinstance(f.value, float)], result.options.level)
    headline = [f for f in result.figures if f.name in result.question.headline]
    charts = [{"title": c.title, "svg": Markup(c.inline())} for c in result.charts()]
    section = _examples(result, examples) if examples and result.rows.height else None
    slices = [
        _slice(by, rows, result.question.headline, linked=section is not None)
        for by, rows in result.estimates.slices.items()
    ]
    samples = [_plain(t) for t in result.repeats.tables()] if result.repeats is not None else []
    corrected = [_plain(t) for t in result.corrected.tables(result.options.level)] if result.corrected else []
    own, heading = [_plain(t) for t in result.own_tables()], result.question.tables_title
    there = [("figures", "Figures", True), ("corrected", "By labels", corrected),
             ("samples", "Samples", samples), ("pictures", "Pictures", charts), ("slices", "Slices", slices),
             ("own", heading, own), ("examples", "Examples", section)]  # fmt: skip
    return rendered(
        "page.html.j2",
        section,
        nav=[(place, words) for place, words, present in there if present],
        title=f"{result.question.name}: {visible(result.name)}",
        question=result.question.name,
        asks=result.question.asks,
        system=", ".join(f"{k}: {visible(str(v))}" for k, v in result.signature.system.items()),
        verdict=[visible(s) for s in result.verdict()],
        cards=[_card(f, result.options.level) for f in headline],
        figures={
            "caption": f"All figures with their {result.options.level:.0%} intervals",
            "columns": figures.columns,
            "rows": figures.rows,
            "notes": figures.notes,
        },
        signature=visible(result.signature.short),
        long_signature=visible(result.signature.long),
        **_unscored(result),
        notes=[visible(n) for n in result.notes],
        charts=charts,
        slices=slices,
        samples=samples,
        corrected=corrected,
        own=own,
        own_heading=heading,
        table=_table,
        rows=f"{result.rows.height:,}",
    )


def _unscored(result: Result) -> dict[str, Any]:
    """Rows that no figure counts, and those that some figures lack: of the headline's figures in full view."""
    common, own = result.unscored_by_figures()
    lines: dict[bool, list[str]] = {True: [], False: []}
    for figures, reasons in own:
        lines[figures[0].name in result.question.headline].append(visible(f"{titled(figures)}: {told(reasons)}"))
    return {
        "unscored": [(visible(why), f"{n:,}") for why, n in common.items()],
        "lacking": lines[True],
        "also_lacking": lines[False],
    }


def _examples(result: Result, limit: int) -> dict[str, Any]:
    _expect([result], limit)
    chosen = choose(result, limit=limit)
    notes = [f"Shown: {chosen.sampled} (seed {result.options.seed})."] if chosen.sampled else []
    return examples_section("Examples", listing(result, chosen), notes)


def _expect(results: Sequence[Result], limit: int) -> None:
    """Tell whoever watches how much there is to do: rows are passed over twice, and examples shown and packed."""
    rows = sum(result.rows.height for result in results)
    at_work(REPORT, 2 * rows + 2 * _EXAMPLE_ROWS * min(limit, rows))


def examples_section(heading: str, shown: Listing, notes: list[str]) -> dict[str, Any]:
    advance = at_work(REPORT)
    advance(_EXAMPLE_ROWS * len(shown.ids))
    data, cut = shown.payload()
    advance(_EXAMPLE_ROWS * len(shown.ids))
    return {"heading": heading, "notes": [*notes, *([cut] if cut else [])], "data": data}


def comparison_page(comparisons: Comparisons) -> str:
    """Several runs side by side, the examples that changed first."""
    _expect(comparisons.results, MAX_EXAMPLES // 2)
    shown, note = listing_of_several(comparisons.results, comparisons.names)
    section = examples_section("Examples: what changed first", shown, [note] if note else [])
    many = len(comparisons.pairs) > 1
    named = list(zip(comparisons.names, comparisons.results, strict=True))
    flips = [_plain(t) for pair in comparisons.pairs for t in _titled(pair, many)]
    first, *others = [visible(n) for n in comparisons.names]
    corrected = any(pair.corrected is not None for pair in comparisons.pairs)
    there = [("figures", "Systems" if many else "Differences", True), ("corrected", "By labels", corrected),
             ("changes", "Changes by slice", flips), ("examples", "Examples", True)]  # fmt: skip
    return rendered(
        "comparison.html.j2",
        section,
        nav=[(place, words) for place, words, present in there if present],
        title=f"{comparisons.question.name}: {', '.join(others)} against {first}",
        heading=f"{', '.join(others)} against {first}",
        question=comparisons.question.name,
        asks=comparisons.question.asks,
        verdict=[visible(s) for s in comparisons.verdict()],
        several=_plain(comparisons.systems_table()) if many else None,
        pairs=[_pair(pair) for pair in comparisons.pairs],
        corrected=[_plain(t) for t in comparisons.corrected_tables()],
        signatures=[(visible(name), visible(result.signature.short)) for name, result in named],
        unscored=[
            (visible(n), [(visible(why), f"{count:,}") for why, count in unscored(r).items()])
            for n, r in named
            if unscored(r)
        ],
        flips=flips,
        table=_table,
    )


def _titled(pair: Comparison, many: bool) -> list[Table]:
    tables = pair.flip_tables()
    for table in tables:
        table.title = f"{pair.names[1]} against {pair.names[0]}: {table.title}" if many else table.title
    return tables


def _plain(table: Table) -> dict[str, Any]:
    """A table for the template: cells with their emphasis."""
    return {
        "title": visible(table.title),
        "columns": [visible(c) for c in table.columns],
        "rows": [[_cell(c) for c in row] for row in table.rows],
        "notes": [visible(n) for n in table.notes],
    }


def _cell(text: str) -> dict[str, Any]:
    return {"text": visible(text, 300), "bold": getattr(text, "bold", False), "mark": getattr(text, "mark", "")}


def _table(plain: Mapping[str, Any]) -> Markup:
    return Markup(_environment().get_template("table.html.j2").render(**plain))


def _pair(pair: Comparison) -> dict[str, Any]:
    table = pair.table()
    plain = _plain(table)
    for d, row in zip(pair.lines(), plain["rows"], strict=True):
        for cell, value in zip(row, [None, d.a, d.b, d.difference, d.difference], strict=False):
            cell["sort"] = value if value is not None and isfinite(value) else None
        row[4]["bar"] = _whisker(d.difference, d.low, d.high)
        for cell in row[5:]:
            cell["sort"] = None
    return plain


def _whisker(value: float, low: float | None, high: float | None) -> Markup | None:
    """A difference and its interval on a small scale of their own with 0 in it."""
    if low is None or high is None or not all(isfinite(x) for x in (value, low, high)):
        return None
    reach = max(abs(low), abs(high), abs(value)) or 1.0

    def at(x: float) -> float:
        return round(55 + 52 * x / reach, 1)

    return Markup(
        '<svg class="spark" width="110" height="10" viewBox="0 0 110 10" aria-hidden="true">'
        f'<path class="p-grid" d="M55 0V10"/><path class="p-whisker" d="M{at(low)} 5H{at(high)}"/>'
        f'<circle class="p-fill-series0" cx="{at(value)}" cy="5" r="3"/></svg>'
    )


def fragment(result: Result) -> str:
    """For a notebook: the table of figures and the first picture."""
    table = figures_table("", [f for f in result.figures if isinstance(f.value, float)], result.options.level)
    head = Markup("").join(Markup("<th>{}</th>").format(c) for c in table.columns)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(visible(c)) for c in row))
        for row in table.rows
    )
    charts = result.charts()
    picture = Markup(charts[0].svg()) if charts else Markup("")
    return str(
        Markup(
            "<div><p><b>{}</b></p><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table><p>{}</p>{}</div>"
        ).format(result.question.asks, head, body, visible(result.signature.short), picture)
    )


def _card(figure: Figure, level: float) -> dict[str, Any]:
    ends = interval(figure)
    return {
        "title": figure.title,
        "value": decimal(figure.value),
        "interval": f"{'true error, ' if of_true_error(figure) else ''}{level:.0%} {ends}"
        if ends != "–"
        else figure.absent,
        "beside": [(k, aside(v)) for k, v in figure.beside.items()],
    }


def _slice(
    by: tuple[str, ...], rows: list[list[Figure]], headline: tuple[str, ...], *, linked: bool = False
) -> dict[str, Any]:
    shown = rows[:MAX_SLICE_ROWS]
    names = [f for f in (shown[0] if shown else []) if f.name in headline]
    scales = {f.name: _scale([g for figures in shown for g in figures if g.name == f.name]) for f in names}
    lines = []
    for figures in shown:
        line: list[dict[str, Any]] = [
            {
                "text": visible(" × ".join(figures[0].slice.values()), 120),
                "sort": None,
                "link": _link(figures[0].slice) if linked else "",
            },
            {"text": f"{max(f.n for f in figures):,}", "sort": max(f.n for f in figures)},
        ]
        for f in (f for f in figures if f.name in headline):
            value = f.value if isinstance(f.value, float) and isfinite(f.value) else None
            ends = interval(f)
            line.append(
                {
                    "text": decimal(f.value),
                    "small": "" if ends == "–" else ends,
                    "bar": spark(f, scales[f.name]),
                    "sort": value,
                }
            )
        lines.append(line)
    title = "by " + " × ".join(by)
    if len(rows) > len(shown):
        title += f" (the first {len(shown):,} of {len(rows):,}; all are in summary.json)"
    return {"title": title, "columns": [" × ".join(by), "n", *map(headed, names)], "rows": lines}


def _link(chosen: Mapping[str, str]) -> str:
    """The address of a slice's examples inside the page; names are cut there as they are in the examples' columns."""
    return "#examples?" + urlencode({f"by.{visible(k, 80)}": visible(v, 80) for k, v in chosen.items()})


def _scale(figures: list[Figure]) -> tuple[float, float]:
    """From 0 (or the lowest end) to the highest end in a column: small figures must be told apart too."""
    ends = [0.0]
    for f in figures:
        ends += [x for x in (f.value, f.low, f.high) if isinstance(x, float) and isfinite(x)]
    return min(ends), max(ends)


def spark(figure: Figure, scale: tuple[float, float]) -> Markup | None:
    """A small bar with the interval drawn on it."""
    low, high = scale
    if not isinstance(figure.value, float) or not isfinite(figure.value) or high <= low:
        return None

    def at(x: float) -> float:
        return round(110 * min(1.0, max(0.0, (x - low) / (high - low))), 1)

    ends = ""
    if isinstance(figure.low, float) and isinstance(figure.high, float):
        ends = f'<path class="p-whisker" d="M{at(figure.low)} 4H{at(figure.high)}"/>'
    first, last = sorted((at(0.0), at(figure.value)))
    return Markup(
        f'<svg class="spark" width="110" height="8" viewBox="0 0 110 8" aria-hidden="true">'
        f'<rect class="p-soft-series0" x="{first}" width="{round(last - first, 1)}" height="8"/>{ends}</svg>'
    )
