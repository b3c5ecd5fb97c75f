"""The one list of formats: what each is called, who writes it, how it is known from its beginning, how it is read.

A format that has `rows`, `records`, `log` or `table` is turned into records here, whatever its layout was; one that has
none is a table, or what a question reads itself. Another package adds formats by an entry point in the group
`sensecheck.formats` that names a `Format` or a list of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sensecheck.inputs.errors import InputError, Unanswered, did_you_mean, escaped, shown
from sensecheck.inputs.formats.start import Start
from sensecheck.inputs.opening import Source
from sensecheck.inputs.reasons import Reason

if TYPE_CHECKING:
    import polars as pl

GROUP = "sensecheck.formats"
_MOST_NAMES = 20
"""Of what a log holds, so many are named in a message."""
AUTO = "auto"

Row = tuple[int, Mapping[str, Any] | InputError]
"""The number of a line or record in its file, and what it holds, or what is wrong with it."""

_MODULES = (
    "plain", "replies", "lm_eval", "inspect_logs", "every_eval_ever", "helm", "promptfoo", "mlflow_tables",
    "text_to_sql", "knowledge_graphs", "dialogue", "label_sheets", "label_records", "arrays",
)  # fmt: skip


def in_a_line(names: Sequence[str], how: Callable[[str, int], str] | None = None) -> str:
    """Names that a log holds, fit for a message: however many there are, and whatever they hold."""
    told = [how(name, 60) if how is not None else escaped(name)[:60] for name in names[:_MOST_NAMES]]
    return ", ".join(told) + (", …" if len(names) > _MOST_NAMES else "")


@dataclass
class Selection:
    """What is read of a log that holds several things under one name, and what is to be said of that."""

    question: str = ""
    filter: str | None = None
    """Of answers that were filtered in several ways, these."""
    scorer: str | None = None
    """Of several verdicts on each answer, this."""
    used: set[str] = field(default_factory=set)
    """Which of the two were heeded: one that was given for nothing is refused."""
    notes: list[str] = field(default_factory=list)
    method: dict[str, Any] = field(default_factory=dict)
    """What a signature says of it."""
    together: int = 1
    """How many files are read as one: what names an example in each must then name its file's task too."""
    seen: dict[tuple[str, ...], str] = field(default_factory=dict)
    """What was read of these files so far, by kind and name, and where it stood: nothing is counted twice."""

    def pick(self, what: Literal["filter", "scorer"], there: Iterable[str], path: str, preferred: str = "") -> str:
        """The filter or scorer that is read: the named one, else the only one, or the preferred one of several."""
        names = list(dict.fromkeys(there))
        given: str | None = getattr(self, what)
        self.used.add(what)
        if given is not None and given not in names:
            raise InputError(
                path=path or None, field=what, expected=f"one of the {what}s of this log: {in_a_line(names)}",
                got=shown(given, 60), hint=did_you_mean(given, names), reason=Reason.BAD_OPTION,
            )  # fmt: skip
        picked = given or (names[0] if len(names) == 1 else preferred if preferred in names else "")
        if not picked:
            raise InputError(
                f"holds several {what}s: {in_a_line(names, shown)}", path=path or None,
                hint=f"Say which one is meant: --{what} {in_a_line(names[:1])} ({what}=).",
                reason=Reason.AMBIGUOUS_FORMAT,
            )  # fmt: skip
        self.method[what] = picked
        return picked


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
    """Its records, as fields by their usual names."""
    records: Callable[[Iterable[Row], str, Selection], Iterator[Row]] | None = None
    """The same from JSON objects, a line each, in a list, one alone or in memory; with the name of their file."""
    log: Callable[[Source, Selection], Iterator[Row]] | None = None
    """The same from a whole file of which something may be selected."""
    table: Callable[[Source, Selection], pl.DataFrame] | None = None
    """The same as columns, where a file holds arrays."""
    in_folder: Callable[[Path], str] | None = None
    """What a folder that is one input is known by, in words, or an empty text."""
    endings: tuple[str, ...] = ()
    """How names of its files end, where their content may not say."""
    counts_lines: bool = False
    """Whether the numbers of its records are lines."""
    holds: Literal["predictions", "golds", "either", "requests"] = "either"
    """Whose records these are, where nothing in them says so; requests stand beside the replies to them."""
    options: str = ""
    """What a command that reads it needs besides."""
    example: str = ""
    """A command that reads it."""

    @property
    def is_read_here(self) -> bool:
        """Whether it becomes records here; else it is a table, or what a question reads itself."""
        return any((self.rows, self.records, self.log, self.table))

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

    def guarded(rows: Callable[..., Iterator[Row]]) -> Callable[..., Iterator[Row]]:
        def read(*given: Any) -> Iterator[Row]:
            try:
                for number, row in rows(*given):
                    yield int(number), row if isinstance(row, InputError | Unanswered) else dict(row)
            except InputError:
                raise
            except (Exception, SystemExit) as error:
                raise fault(error) from error

        return read

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
        rows=None if one.rows is None else guarded(one.rows),
        records=None if one.records is None else guarded(one.records),
        log=None if one.log is None else guarded(one.log),
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
