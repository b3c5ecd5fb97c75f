"""Statements out of a list that a language model wrote."""

from __future__ import annotations

import json
import re

# A number needs its own mark and a space after it: "Dr. Smith" and "3.5 metres" are no list numbers.
_ITEM = re.compile(r"^\s{0,8}(?:\*\*)?(?:[(\[]?(\d{1,3})[.):\]]|[-*•–‣])(?:\*\*)?\s+(\S.*)$")
_QUOTES = "\"'“”‘’`*_ \t"


def _clean(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] in _QUOTES and text[-1] in _QUOTES + "," and text[0] not in " \t":
        text = text.strip(_QUOTES + ",")
    return text.strip().strip("*_").strip()


def _from_json(text: str) -> list[str]:
    start, end = text.find("["), text.rfind("]")
    if start < 0 or end <= start:
        return []
    try:
        values = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return []
    if not isinstance(values, list):
        return []
    items = []
    for value in values:
        if isinstance(value, dict):
            value = next((v for v in value.values() if isinstance(v, str)), None)
        if isinstance(value, str):
            items.append(value)
    return items


def statements_in(text: str) -> list[str]:
    """The items of a numbered, bulleted or JSON list, or the lines of a plain one; talk around the list is left out.

    A line that continues an item is joined to it. Items keep every full stop they have.
    """
    text = text[:100_000]
    items = _from_json(text)
    if not items:
        open_item = False
        for line in text.splitlines():
            match = _ITEM.match(line)
            if match:
                items.append(match.group(2))
                open_item = True
            elif not line.strip():
                open_item = False
            elif open_item and line[:1] in " \t":
                items[-1] += " " + line.strip()
            else:
                open_item = False
    if not items:
        lines = [line for line in text.splitlines() if line.strip()]
        items = [line for line in lines if not line.rstrip().endswith(":")]
    cleaned = [_clean(item) for item in items]
    return list(dict.fromkeys(item for item in cleaned if item))
