"""Literals that find nothing in the database: no row can meet what the query asks for."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.ruling import Finding, against, rule

_FINDINGS = {
    "otherwise": ("stored_otherwise", "stored is {}"),
    "beside": ("stored_beside", "{} holds it"),
    "elsewhere": ("stored_elsewhere", "{} holds it"),
    "nowhere": ("stored_nowhere", "no column holds it"),
    "number": ("stored_nowhere_number", "the column does not hold it"),
    "unlike": ("stored_unlike", "no value is like it"),
}
"""Kind of lack → what the finding is called, and what is told of it."""


@rule("values")
def stored_values(a: Alignment) -> Iterator[Finding]:
    """A literal must be found where the query looks for it."""
    for lack in a.reading.lacks:
        literal = lack.literal
        name, told = _FINDINGS[lack.kind]
        condition = f"{literal.column.column.name} {literal.op} {literal.text}"
        instead = repr(lack.instead) if lack.kind == "otherwise" else lack.instead
        yield against("value", name, f"{condition}: {told.format(instead)}", literal.span)
