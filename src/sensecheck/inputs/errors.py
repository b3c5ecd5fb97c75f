"""What a bad input gets: one message that says where, what was expected, what came and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sensecheck.inputs.reasons import Reason

SHOWN = 120
"""Longest piece of file content that a message repeats, in characters."""

_LONGEST_NAME = 200
"""Longest name of a field that a message repeats."""

_LONGEST_PATH = 1000

SKIP_HINT = "Fix the line or pass --skip-bad (skip_bad=True) to count it as unscored."
"""The hint of every error that concerns one line and that skipping can get past."""


def escaped(text: str) -> str:
    """The text with all that a terminal could act on (controls, bidi marks, lone surrogates) spelled out.

    >>> print(escaped("red \\x1b[31m"))
    red \\x1b[31m
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "backslashreplace").decode("ascii")
        for char in text
    )


def shown(content: object, limit: int = SHOWN) -> str:
    """File content made fit for a message: quoted if text, control characters escaped, cut at `limit`.

    >>> print(shown("a rather long line", limit=12), shown(0.5))
    'a rather ...' 0.5
    """
    if isinstance(content, (bytes, bytearray, memoryview)):
        # a few bytes more than are shown, so that decoding never touches a huge line
        content = bytes(content[: 4 * limit]).decode("utf-8", "backslashreplace")
    if isinstance(content, str):
        text = escaped(content[: limit + 1])
        return f"'{text[: limit - 3]}...'" if len(text) > limit else f"'{text}'"
    try:
        text = escaped(repr(content))
    except (RecursionError, ValueError):  # nested a thousand deep, or a number of over 4,300 digits
        text = f"something of type {type(content).__name__}"
    return f"{text[: limit - 3]}..." if len(text) > limit else text


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`Did you mean 'conf'?` where a known name is close, otherwise an empty string.

    >>> did_you_mean("confidnce", ["confidence", "correct"])
    "Did you mean 'confidence'?"
    """
    folded = {other.casefold(): other for other in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    if not close:
        # a short form or a longer one: conf for confidence
        close = [other for other in folded if len(other) > 2 and other in name.casefold()][:1]
        close = close or [other for other in folded if len(name) > 2 and name.casefold() in other][:1]
    return f"Did you mean {shown(folded[close[0]])}?" if close else ""


@dataclass(frozen=True, slots=True)
class BadRecord:
    """One record that could not be scored, as `--skip-bad` counts it."""

    path: str
    line: int | None
    reason: str
    message: str
    id: str = ""
    """What it is called, where that is known."""


class Unanswered(dict[str, Any]):
    """A record of an example that was asked and has nothing to score: a failed call, a sample that ended in an error.

    Its fields name it, so that its gold is known; it is unscored for the reason `why`, and no fault of the file.
    """

    def __init__(self, fields: Mapping[str, Any], why: str, place: int = 0, before: int | None = None) -> None:
        super().__init__(fields)
        self.why = why
        self.place = place
        """Its line or record."""
        self.before = before
        """How many records that can be scored stand before it; nothing where it has no place among them."""


class InputError(ValueError):
    """A file, line or record that cannot be read as asked.

    The parts are attributes; `str()` is one message made of them:
    `path:line: field: expected ..., got .... hint`. Where `problem` is given it takes the place of
    "expected ..., got ...". `reason` is a short code by which skipped records are counted.

    >>> print(InputError(path="dev.csv", line=3, field="confidence", expected="a number", got="'high'"))
    dev.csv:3: confidence: expected a number, got 'high'.
    """

    def __init__(
        self,
        problem: str | None = None,
        *,
        path: str | None = None,
        line: int | None = None,
        record: int | None = None,
        field: str | None = None,
        expected: str | None = None,
        got: str | None = None,
        hint: str | None = None,
        reason: Reason | str = Reason.BAD_INPUT,
    ) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        self.record = record
        self.field = field
        self.expected = expected
        self.got = got
        self.hint = hint
        self.reason = str(reason)
        super().__init__(self._message())

    def _message(self) -> str:
        path = self.path or ""
        where = escaped(path if len(path) <= _LONGEST_PATH else f"{path[: _LONGEST_PATH - 3]}...")
        if self.line is not None:
            where = f"{where}:{self.line}" if where else f"line {self.line}"
        if self.record is not None:
            where = f"{where}: record {self.record}" if where else f"record {self.record}"
        if self.problem is not None:
            what = self.problem
        else:
            what = f"expected {self.expected}"
            if self.got is not None:
                what += f", got {self.got}"
        field = self.field or ""
        if len(field) > _LONGEST_NAME:
            field = f"{field[: _LONGEST_NAME - 3]}..."
        parts = [part for part in (where, escaped(field), what) if part]
        message = ": ".join(parts)
        if not message.endswith((".", "?", "!")):
            message += "."
        return f"{message} {self.hint}" if self.hint else message

    def parts(self) -> dict[str, Any]:
        """Everything the error was made of, by name."""
        return {
            "problem": self.problem,
            "path": self.path,
            "line": self.line,
            "record": self.record,
            "field": self.field,
            "expected": self.expected,
            "got": self.got,
            "hint": self.hint,
            "reason": self.reason,
        }

    def as_bad_record(self) -> BadRecord:
        """What is counted in place of the error when bad records are skipped."""
        place = self.line if self.line is not None else self.record
        return BadRecord(self.path or "", place, self.reason, str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        # keyword-only parts do not survive the default pickling, and errors cross process boundaries
        return _rebuilt, (type(self), self.parts())


def _rebuilt(kind: type[InputError], parts: dict[str, Any]) -> InputError:
    return kind(**parts)
