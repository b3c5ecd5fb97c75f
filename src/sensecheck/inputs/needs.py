"""What a question says of the records it needs, so that they can be gathered for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Judged:
    """A mark that predictions may lack, and that their golds give: whether a predicted text is the gold's."""

    texts: Sequence[str]
    """Names that the predicted text may have."""
    golds: Sequence[str]
    """Names that the gold may have, beside it."""
    marks: Sequence[str]
    """Names that such a mark may have; the first is given to ours."""


@dataclass(frozen=True)
class Needs:
    """Of one question."""

    question: str = ""
    nested: bool = False
    """Whether its records may hold lists and objects of any kind: then they are not made into columns."""
    predicted: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Beside golds: our name of what only predictions bring → names it may have in their file."""
    decided: Collection[Collection[str]] = ()
    """Groups of names for one thing that golds bring: where they do, the predictions' own is set aside."""
    own: Collection[str] = ()
    """Formats that the question reads itself and whose records golds can be joined to."""
    told: Collection[str] = ()
    """Formats of tables that the question is told, and reads itself."""
    parted_by: str = ""
    """An option that says what parts the texts of a line: where it is given, the question reads the lines itself."""
    judged: Judged | None = None
    texts_are_data: bool = False
    """Whether a list of plain texts is data, and not the names of files."""
    of_runs: bool = False
    """Whether a run of another question, with people's labels, is an input: its doubt and what they say."""


NEEDS_NOTHING = Needs()
"""Of a question that says nothing of its records."""
