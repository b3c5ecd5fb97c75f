"""Rows that tie where a gold's LIMIT cuts: how many there are, and whether they leave anything to be decided."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from sensecheck.correct.sql_compare import GoldPlan
from sensecheck.stores import Answer

Ties: TypeAlias = Literal["right", "undecided", "strict"]
"""Another choice among tied rows is right; is right unless every row ties, which decides nothing; is wrong."""

TIES: Ties = "undecided"
"""What is done where nobody says."""
UNDECIDED = "undecided"
"""The column that says why a pair has no verdict."""
EVERY_ROW_TIES = "undecided: every row ties at the gold's LIMIT"


class TieAtCut(NamedTuple):
    """What LIMIT cuts through."""

    width: int
    """Rows that share the sort key at which LIMIT cuts, shown or not; 1 where it cuts between two keys."""
    every_row: bool = False
    """All rows share it, there are more than LIMIT, and they differ: any of them would pass."""


def tie_at_cut(gold: Answer, plan: GoldPlan, keyed: Answer | None) -> TieAtCut | None:
    """The tie at the LIMIT of a gold. `keyed` is the outcome of `plan.keyed`; None where nothing is cut or known."""
    kept, width = len(gold.rows), len(gold.columns)
    if keyed is None or plan.limit is None or kept != plan.limit or not kept or not plan.keys:
        return None
    if len(keyed.columns) != width + plan.keys or len(keyed.rows) < kept:
        return None
    cut = keyed.rows[kept - 1][width:]
    if len(keyed.rows) == kept or keyed.rows[kept][width:] != cut:
        return TieAtCut(1)
    tied = [row for row in keyed.rows if row[width:] == cut]
    every = len(tied) == len(keyed.rows) and _differ(row[:width] for row in tied)
    return TieAtCut(len(tied), every)


def _differ(rows: Iterable[tuple[object, ...]]) -> bool:
    """Whether it makes a difference which of some rows is shown."""
    rows = iter(rows)
    first = next(rows, None)
    return any(row != first for row in rows)


def widest(found: Iterable[TieAtCut | None]) -> TieAtCut | None:
    """The tie of a gold over several databases: the widest; nothing is decided only where none of them decides."""
    known = list(found)
    there = [tie for tie in known if tie is not None]
    if not there:
        return None
    return TieAtCut(max(tie.width for tie in there), all(tie is not None and tie.every_row for tie in known))
