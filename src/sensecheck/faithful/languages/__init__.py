"""The formal languages whose queries can be held against a sentence.

A language is one module with `read(text, context) -> Reading`; it is listed here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable

from sensecheck.faithful.facts import Reading
from sensecheck.faithful.languages import logic2text, sparql, sql
from sensecheck.faithful.languages.context import Context, read_labels

LANGUAGES: dict[str, Callable[[str, Context], Reading]] = {
    "sql": sql.read,
    "logic2text": logic2text.read,
    "sparql": sparql.read,
}

__all__ = ["LANGUAGES", "Context", "read_labels"]
