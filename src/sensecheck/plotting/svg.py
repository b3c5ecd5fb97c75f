"""Drawing: axes, lines, bars and marks as SVG.

Pictures carry class names, not colours: the report's style sheet colours them for light and dark, and a saved file
gets the light colours inlined. No style attributes and no scripts, so that a strict Content-Security-Policy holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil, floor, isfinite, log10

from sensecheck.inputs.errors import escaped

# The only colours there are: name → (light, dark). Series colours are told apart by people who see no red or green.
COLOURS: dict[str, tuple[str, str]] = {
    "ink": ("#1b1f24", "#e8eaed"),
    "muted": ("#57606a", "#a6adb7"),
    "grid": ("#d8dee4", "#3a4149"),
    "paper": ("#ffffff", "#14181d"),
    "series0": ("#0b62a8", "#6cb6f5"),
    "series1": ("#b8470b", "#f5a35c"),
    "series2": ("#0f766e", "#5fd3c4"),
    "series3": ("#8a2f8f", "#dd9be2"),
    "series4": ("#6b5900", "#dccb5c"),
    "series5": ("#3d4a5c", "#b4c0d0"),
    "good": ("#1a7f37", "#5fd17c"),
    "bad": ("#b42318", "#ff8f85"),
}


def style_sheet(dark: bool = False) -> str:
    """The classes that pictures use, with literal colours (saved files cannot rely on variables)."""
    c = {name: pair[1 if dark else 0] for name, pair in COLOURS.items()}
    return _rules(c)


def themed_style_sheet() -> str:
    """The same classes for the page, where variables switch between light and dark."""
    return _rules({name: f"var(--{name})" for name in COLOURS})


def _rules(c: dict[str, str]) -> str:
    font = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"
    rules = [
        f".p-text{{fill:{c['ink']};font-size:12px;{font}}}",
        f".p-title{{fill:{c['ink']};font-size:14px;font-weight:600;{font}}}",
        f".p-tick{{fill:{c['muted']};font-size:11px;{font}}}",
        f".p-axis{{stroke:{c['muted']};stroke-width:1;fill:none}}",
        f".p-grid{{stroke:{c['grid']};stroke-width:1;fill:none}}",
        f".p-ideal{{stroke:{c['muted']};stroke-width:1.2;stroke-dasharray:5 4;fill:none}}",
        f".p-paper{{fill:{c['paper']}}}",
        f".p-whisker{{stroke:{c['ink']};stroke-width:1.2;fill:none}}",
        f".p-band{{fill:{c['muted']};fill-opacity:0.22}}",
    ]
    for name in [k for k in c if k.startswith("series")] + ["good", "bad"]:
        rules += [
            f".p-fill-{name}{{fill:{c[name]}}}",
            f".p-soft-{name}{{fill:{c[name]};fill-opacity:0.3}}",
            f".p-line-{name}{{stroke:{c[name]};stroke-width:2;fill:none;stroke-linejoin:round}}",
        ]
    return "".join(rules)


def safe(words: str) -> str:
    """A text as markup: controls and bidirectional marks spelled out, lines kept, the rest escaped."""
    return escape("\n".join(escaped(line) for line in words.split("\n")), quote=True)


def number(x: float) -> str:
    """A coordinate: two decimals at most."""
    return f"{x:z.2f}".rstrip("0").rstrip(".") if isfinite(x) else "0"


def label(value: float, step: float) -> str:
    """A tick's text with just the decimals its step needs."""
    if abs(value) >= 1e5 or (value and abs(value) < 1e-4):
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-")
    decimals = max(0, -floor(log10(step) + 1e-9)) if step > 0 else 2
    if step > 0 and abs(round(step, decimals) - step) > step * 1e-6:
        decimals += 1  # steps of 2.5: 0.025 must not read 0.03
    return f"{value:z,.{decimals}f}"


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers that cover [low, high]."""
    if not (isfinite(low) and isfinite(high)) or high <= low:
        return [low]
    raw = (high - low) / count
    power = 10 ** floor(log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first = ceil(low / step - 1e-9)
    last = floor(high / step + 1e-9)
    return [i * step for i in range(first, last + 1)]


@dataclass
class Axes:
    """A rectangle of the picture with its two scales."""

    x: float
    y: float
    width: float
    height: float
    x_range: tuple[float, float] = (0.0, 1.0)
    y_range: tuple[float, float] = (0.0, 1.0)
    parts: list[str] = field(default_factory=list)

    def px(self, value: float) -> float:
        low, high = self.x_range
        return self.x + (value - low) / ((high - low) or 1.0) * self.width

    def py(self, value: float) -> float:
        low, high = self.y_range
        return self.y + self.height - (value - low) / ((high - low) or 1.0) * self.height

    def frame(
        self,
        x_title: str = "",
        y_title: str = "",
        *,
        x_ticks: Sequence[float] | None = None,
        y_ticks: Sequence[float] | None = None,
        x_labels: Sequence[str] | None = None,
        grid: bool = True,
    ) -> None:
        xs = list(ticks(*self.x_range) if x_ticks is None else x_ticks)
        ys = list(ticks(*self.y_range) if y_ticks is None else y_ticks)
        bottom, right = self.y + self.height, self.x + self.width
        y_step = abs(ys[1] - ys[0]) if len(ys) > 1 else 1.0
        x_step = abs(xs[1] - xs[0]) if len(xs) > 1 else 1.0
        for v in ys:
            at = number(self.py(v))
            if grid:
                self.parts.append(f'<path class="p-grid" d="M{number(self.x)} {at}H{number(right)}"/>')
            self.text(label(v, y_step), self.x - 6, self.py(v) + 4, "p-tick", anchor="end")
        for i, v in enumerate(xs):
            if grid and x_labels is None:
                self.parts.append(f'<path class="p-grid" d="M{number(self.px(v))} {number(self.y)}V{number(bottom)}"/>')
            words = label(v, x_step) if x_labels is None else x_labels[i]
            self.text(words, self.px(v), bottom + 16, "p-tick", anchor="middle")
        self.parts.append(
            f'<path class="p-axis" d="M{number(self.x)} {number(self.y)}V{number(bottom)}H{number(right)}"/>'
        )
        if x_title:
            self.text(x_title, self.x + self.width / 2, bottom + 34, "p-text", anchor="middle")
        if y_title:
            at_x, at_y = self.x - 44, self.y + self.height / 2
            self.parts.append(
                f'<text class="p-text" text-anchor="middle" '
                f'transform="translate({number(at_x)} {number(at_y)}) rotate(-90)">{safe(y_title)}</text>'
            )

    def text(self, words: str, x: float, y: float, kind: str = "p-text", *, anchor: str = "start") -> None:
        self.parts.append(
            f'<text class="{kind}" text-anchor="{anchor}" x="{number(x)}" y="{number(y)}">{safe(words)}</text>'
        )

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str, tip: str = "") -> None:
        points = " ".join(f"{number(self.px(a))},{number(self.py(b))}" for a, b in zip(xs, ys, strict=True))
        self.parts.append(f'<polyline class="{kind}" points="{points}"{_tip(tip)}/>')

    def band(self, xs: Sequence[float], lows: Sequence[float], highs: Sequence[float], kind: str = "p-band") -> None:
        along_highs = [(self.px(x), self.py(y)) for x, y in zip(xs, highs, strict=True)]
        back_along_lows = [(self.px(x), self.py(y)) for x, y in zip(reversed(xs), reversed(lows), strict=True)]
        points = " ".join(f"{number(x)},{number(y)}" for x, y in [*along_highs, *back_along_lows])
        self.parts.append(f'<polygon class="{kind}" points="{points}"/>')

    def bar(self, x0: float, x1: float, y0: float, y1: float, kind: str, tip: str = "") -> None:
        a, b = sorted((self.px(x0), self.px(x1)))
        top, bottom = sorted((self.py(y0), self.py(y1)))
        self.parts.append(
            f'<rect class="{kind}" x="{number(a)}" y="{number(top)}" width="{number(max(b - a, 0.5))}" '
            f'height="{number(max(bottom - top, 0))}"{_tip(tip)}/>'
        )

    def whisker(self, x: float, low: float, high: float, cap: float = 4.0) -> None:
        at, a, b = self.px(x), self.py(low), self.py(high)
        self.parts.append(
            f'<path class="p-whisker" d="M{number(at)} {number(a)}V{number(b)}'
            f'M{number(at - cap)} {number(a)}h{number(2 * cap)}M{number(at - cap)} {number(b)}h{number(2 * cap)}"/>'
        )

    def dot(self, x: float, y: float, kind: str, radius: float = 4.0, tip: str = "") -> None:
        self.parts.append(
            f'<circle class="{kind}" cx="{number(self.px(x))}" cy="{number(self.py(y))}" '
            f'r="{number(radius)}"{_tip(tip)}/>'
        )


def _tip(words: str) -> str:
    """Text shown when the mark is pointed at or focused; the page's script reads the attribute."""
    return f' data-tip="{safe(words)}" tabindex="0"' if words else ""
