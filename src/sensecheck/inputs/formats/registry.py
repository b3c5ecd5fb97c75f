"""The one list of formats: what each is called, who writes it, how it is known from its beginning, how it is read.

A format that has `rows` is turned into records here, whatever its layout was; one that has none is a table, or what a
question reads itself. Another package adds formats by an entry point in the group `sensecheck.formats` that names a
`Format` or a list of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason

GROUP = "sensecheck.formats"
AUTO = "auto"

Row = tuple[int, Mapping[str, Any] | InputError]
"""The number of a line or record in its file, and what it holds, or what is wrong with it."""

_MODULES = ("plain", "text_to_sql", "knowledge_graphs", "dialogue", "label_sheets")


@dataclass(frozen=True)
class Format:
    """One way in which predictions, golds or labels lie in files."""

    name: str
    """What --input-format calls it."""
    what: str
    """What it is and who writes it, in one line."""
    questions: tuple[str, ...] = ()
    """The questions that it is for; none: all."""
    known: Callable[[Start], str] | None = None
    """What it is known by, in words, or an empty text; none: only where it is named."""
    rows: Callable[[Source], Iterator[Row]] | None = None
    """Its records, as fields by their usual names; none: a table, or what a question reads itself."""
    in_folder: Callable[[Path], str] | None = None
    """What a folder that is one input is known by, in words, or an empty text."""
    endings: tuple[str, ...] = ()
    """How names of its files end, where their content may not say."""
    counts_lines: bool = False
    """Whether the numbers of its records are lines."""
    example: str = ""
    """A command that reads it."""

    def fits(self, question: str) -> bool:
        return not self.questions or not question or question in self.questions


class FormatWarning(UserWarning):
    """An installed package's format was left out."""


@cache
def formats() -> dict[str, Format]:
    """Every format by its name, those of other packages last."""
    known: dict[str, Format] = {}
    for module in _MODULES:
        for one in import_module(f"sensecheck.inputs.formats.{module}").FORMATS:
            known[one.name] = one
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda point: point.name):
        try:
            given = point.load()
        except (Exception, SystemExit) as error:  # whatever another package does when it is imported
            _left_out(point, f"{type(error).__name__}: {error}")
            continue
        for one in given if isinstance(given, Iterable) else [given]:
            if not isinstance(one, Format):
                _left_out(point, f"{point.value} is no Format")
            elif one.name in known:
                _left_out(point, f"there is a format {one.name!r} already")
            else:
                known[one.name] = one
    return known


def _left_out(point: metadata.EntryPoint, why: str) -> None:
    package = point.dist.name if point.dist is not None else "an installed package"
    warnings.warn(f"the format {point.name!r} of {package} is left out: {why}", FormatWarning, stacklevel=3)


def named(name: str) -> Format:
    """The format of this name."""
    known = formats()
    if name not in known:
        raise InputError(
            field="input_format", expected="the name of a format", got=shown(name, 60),
            hint=did_you_mean(name, known) or "`sensecheck formats` lists them.", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    return known[name]


def folder_format(path: Path, question: str = "") -> Recognised | None:
    """The format of a folder that is one input."""
    for one in formats().values():
        if one.in_folder is not None and one.fits(question) and (reason := one.in_folder(path)):
            return Recognised(one, reason)
    return None


@dataclass(frozen=True)
class Recognised:
    """What a file is, and by what that was seen."""

    format: Format
    reason: str


def recognised(start: Start, question: str = "") -> Recognised | None:
    """The one layout that the text has the marks of; nothing where it is a table, or what a question reads itself.

    Where it has the marks of two, the user is asked: a guess would be a figure of something else.
    """
    found = [
        Recognised(one, reason)
        for one in formats().values()
        if one.known is not None and one.fits(question) and (reason := one.known(start))
    ]
    if len(found) > 1:
        raise _ambiguous(start.name, found)
    return found[0] if found else None


def _ambiguous(name: str, found: Sequence[Recognised]) -> InputError:
    marks = " or ".join(f"{one.format.name} ({one.reason})" for one in found)
    return InputError(
        f"may be {marks}", path=name, hint=f"Say which: --input-format {found[0].format.name} (input_format=).",
        reason=Reason.AMBIGUOUS_FORMAT,
    )  # fmt: skip
