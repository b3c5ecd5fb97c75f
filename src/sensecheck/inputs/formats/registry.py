"""The one list of formats: what each is called, who writes it, how it is known from its beginning, how it is read.

A format that has `rows` is turned into records here, whatever its layout was; one that has none is a table, or what a
question reads itself. Another package adds formats by an entry point in the group `sensecheck.formats` that names a
`Format` or a list of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Literal

from sensecheck.inputs.errors import InputError, did_you_mean, escaped, shown
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
    holds: Literal["predictions", "golds", "either"] = "either"
    """Whose records these are, where nothing in them says so."""
    options: str = ""
    """What a command that reads it needs besides."""
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
        for one in given if isinstance(given, list | tuple) else [given]:
            if not isinstance(one, Format) or not all(
                isinstance(text, str) for text in (one.name, one.what, one.example)
            ):
                _left_out(point, f"{point.value} is no Format with a name and words")
            elif one.name in known:
                _left_out(point, f"there is a format {one.name!r} already")
            else:
                known[one.name] = _careful(one, _package(point))
    return known


def _left_out(point: metadata.EntryPoint, why: str) -> None:
    warnings.warn(f"the format {point.name!r} of {_package(point)} is left out: {why}", FormatWarning, stacklevel=3)


def _package(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an installed package"


def _careful(one: Format, package: str) -> Format:
    """A format of another package, whose faults are told as its own."""

    def fault(error: BaseException) -> InputError:
        return InputError(
            f"the format {one.name!r} of {package} failed: {type(error).__name__}: {escaped(str(error))[:200]}",
            hint="Please tell its authors; --input-format NAME reads the file as another.", reason=Reason.FAULT,
        )  # fmt: skip

    def known(start: Start) -> str:
        assert one.known is not None
        try:
            return str(one.known(start) or "")
        except (Exception, SystemExit) as error:
            warnings.warn(str(fault(error)), FormatWarning, stacklevel=2)
            return ""

    def rows(source: Source) -> Iterator[Row]:
        assert one.rows is not None
        try:
            for number, row in one.rows(source):
                yield int(number), row if isinstance(row, InputError) else dict(row)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            raise fault(error) from error

    def in_folder(path: Path) -> str:
        assert one.in_folder is not None
        try:
            return str(one.in_folder(path) or "")
        except (Exception, SystemExit) as error:
            warnings.warn(str(fault(error)), FormatWarning, stacklevel=2)
            return ""

    return replace(
        one,
        what=escaped(one.what),
        example=escaped(one.example),
        known=None if one.known is None else known,
        rows=None if one.rows is None else rows,
        in_folder=None if one.in_folder is None else in_folder,
    )


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
