"""The names of BreakNLI, with its behaviour to the letter; everything is done in
`sensecheck.robust.original`.
"""

from __future__ import annotations

from sensecheck.robust.original import (
    batch_it,
    draw_statements,
    evaluate,
    flan_answer,
    label_converter,
    overall_analysis,
    parse_numbered_lists,
    select,
    show_results,
    standardise,
)

__all__ = [
    "batch_it",
    "draw_statements",
    "evaluate",
    "flan_answer",
    "label_converter",
    "overall_analysis",
    "parse_numbered_lists",
    "select",
    "show_results",
    "standardise",
]
