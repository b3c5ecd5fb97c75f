"""Cells of a CSV file that a spreadsheet would run: marked as text when we write them, taken as they were when we read.

A spreadsheet takes a cell that begins with = + - @ (or with a tab or a carriage return before one) for a formula, and a
model or a data set may have written it. An apostrophe before it says that it is text. A cell that has apostrophes there
already gets one more, so that taking one off always gives back what was written.
"""

from __future__ import annotations

import re

import polars as pl

OUR_HEADERS = frozenset({("id", "confidence", "recalibrated"), ("id", "confidence", "recalibrated", "correct")})
"""The headers of tables that we write and that are read like any other: in these, marks are ours and are taken off."""
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_MARKED = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def marked(cell: str) -> str:
    """The cell as it is written, so that no spreadsheet runs it; a number stays one.

    >>> [marked(cell) for cell in ("=1+1", "-0.5", "plain", "'=1+1")]
    ["'=1+1", '-0.5', 'plain', "''=1+1"]
    """
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def unmarked(cell: str) -> str:
    """What was written, from the cell.

    >>> [unmarked(marked(cell)) for cell in ("=1+1", "-0.5", "plain", "'=1+1", "'quoted'")]
    ['=1+1', '-0.5', 'plain', "'=1+1", "'quoted'"]
    """
    return cell[1:] if _MARKED.match(cell) else cell


def marked_csv(frame: pl.DataFrame) -> bytes:
    """A table as CSV for people."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    harmless = frame.with_columns(pl.col(name).map_elements(marked, return_dtype=pl.String) for name in texts)
    return harmless.rename(marked).write_csv().encode("utf-8")


def unmarked_cells(frame: pl.DataFrame) -> pl.DataFrame:
    """A table that was read from CSV that we wrote."""
    texts = [name for name, kind in frame.schema.items() if kind == pl.String]
    return frame.with_columns(pl.col(name).str.replace(r"^'('*[=+\-@\t\r])", "${1}") for name in texts)
