"""Where a record stands in its input: the names of the two columns that count."""

from __future__ import annotations

from typing import Any

PLACE = "_line"
RECORD = "_record"


def line_or_record(place: str, at: int) -> dict[str, Any]:
    """The part of an `InputError` that says where."""
    return {"line": at} if place == PLACE else {"record": at}
