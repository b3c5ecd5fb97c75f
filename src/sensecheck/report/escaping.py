"""Text written by models or users, made harmless: for a terminal, and for the page."""

from __future__ import annotations

import re

# C0 and C1 controls (ANSI escapes among them), bidirectional overrides and isolates, zero-width characters, lone
# surrogates: all of them can hide or rearrange what a reader sees.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_HIDDEN_IN_LINES = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_NAMED = {"\n": "⏎", "\t": "→", "\r": "␍"}


def visible(text: str, limit: int | None = None) -> str:
    """The text with every control character shown as what it is, cut to `limit` characters."""
    if limit is not None and len(text) > limit:
        text = text[: max(limit - 1, 0)] + "…"
    return _HIDDEN.sub(_shown, text)


def readable(text: str, limit: int) -> str:
    """The same for the page's examples, where lines may stay lines; says how much was cut."""
    more = len(text) - limit
    if more > 0:
        text = text[:limit]
    if not text.isprintable():
        text = _HIDDEN_IN_LINES.sub(_shown, text)
    return f"{text}… [{more:,} characters more]" if more > 0 else text


def _shown(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _NAMED.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
