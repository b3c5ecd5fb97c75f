"""A finished picture: shows itself in a notebook and saves itself as SVG, PNG, PDF or HTML."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import escaped
from sensecheck.plotting.svg import Axes, number, safe, style_sheet
from sensecheck.runs.writing import write_named


@dataclass(frozen=True)
class Chart:
    name: str
    title: str
    width: float
    height: float
    body: str
    alt: str
    """What the picture says, for those who do not see it."""
    data: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    """The numbers behind it."""

    @classmethod
    def of(
        cls,
        name: str,
        title: str,
        size: tuple[float, float],
        axes: Sequence[Axes],
        alt: str,
        data: Sequence[Mapping[str, Any]] = (),
        extra: Sequence[str] = (),
    ) -> Chart:
        body = "".join([part for a in axes for part in a.parts] + list(extra))
        return cls(name, title, size[0], size[1], body, alt, data)

    def inline(self) -> str:
        """For the page: coloured by the page's style sheet."""
        return self._drawn(self.body)

    def svg(self) -> str:
        """A file of its own, on white."""
        return self._drawn(
            f"<title>{safe(self.title)}</title><style>{style_sheet()}</style>"
            f'<rect class="p-paper" width="100%" height="100%"/>{self.body}'
        )

    def _drawn(self, content: str) -> str:
        """This content, in a drawing of the picture's size that says what it shows."""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{safe(self.alt)}" '
            f'viewBox="0 0 {number(self.width)} {number(self.height)}" width="{number(self.width)}" '
            f'height="{number(self.height)}">{content}</svg>'
        )

    def save(self, path: str | os.PathLike[str], *, scale: float = 2.0) -> Path:
        """Write the picture; the ending says how: .svg, .html, .png or .pdf (the last two need the extra `plots`)."""
        target = Path(path)
        kind = target.suffix.lower()
        if kind == ".svg":
            write_named(target, self.svg().encode("utf-8"))
        elif kind in (".html", ".htm"):
            page = (
                f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{safe(self.title)}</title></head>'
                f"<body>{self.svg()}</body></html>"
            )
            write_named(target, page.encode("utf-8"))
        elif kind in (".png", ".pdf"):
            converter = _converter()
            data = converter.svg_to_png(self.svg(), scale=scale) if kind == ".png" else converter.svg_to_pdf(self.svg())
            write_named(target, data)
        else:
            raise ValueError(
                f"cannot save a picture as {kind or 'a file without ending'}: use .svg, .html, .png or .pdf"
            )
        return target

    def __repr__(self) -> str:
        # What the picture says, not its markup.
        description = escaped(self.alt)
        return f"<Chart {self.name!r}: {description if len(description) <= 200 else description[:199] + '…'}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise ImportError(
            "saving PNG or PDF needs the extra `plots`: pip install 'sensecheck[plots]' (SVG and HTML need nothing)"
        ) from None
    return vl_convert
