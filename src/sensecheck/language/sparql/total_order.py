"""A query whose LIMIT leaves no choice: rows that tie under its ORDER BY come in the order of their values."""

from __future__ import annotations

from . import tokens as t
from .grammar import Parsed

_CUTS = ("LIMIT", "OFFSET")


def text_in_total_order(parsed: Parsed, *, backwards: bool = False) -> str | None:
    """The query with its columns added to ORDER BY, or None where nothing is cut or the columns are not listed.

    `backwards`: the last of the rows that tie come first. Where that shows other rows, LIMIT cuts through a tie.
    """
    query = parsed.query
    if query.form != "SELECT" or query.projection is None or (query.limit is None and not query.offset):
        return None
    place = _first_cut(parsed)
    columns = " ".join(
        f"DESC(?{column.variable.name})" if backwards else f"?{column.variable.name}" for column in query.projection
    )
    order = columns if query.order_by else f"ORDER BY {columns}"
    rest = "".join(f" {token.text}" for token in parsed.tokens[place:])
    prefixes = "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in parsed.borrowed.items())
    head = "".join(
        f" {token.text}" if gap else token.text for token, gap in zip(parsed.tokens[:place], parsed.gaps, strict=False)
    )
    return f"{prefixes}{head} {order}{rest}"


def _first_cut(parsed: Parsed) -> int:
    """Where the outermost LIMIT or OFFSET stands: right after ORDER BY, if there is one."""
    depth = 0
    for index, token in enumerate(parsed.tokens):
        if token.kind == "{":
            depth += 1
        elif token.kind == "}":
            depth -= 1
        elif depth == 0 and token.kind == t.WORD and token.text.upper() in _CUTS:
            return index
    raise ValueError("the query has neither LIMIT nor OFFSET")
