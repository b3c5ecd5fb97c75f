"""A judge's prompt, as a text file that anybody may edit: sections, of which those stand that have something to show.

    You check queries that a program wrote.
    [schema]
    The tables:
    <schema>
    []
    Is the query right?

A line `[name]` begins what stands only where the example has that text, a line `[]` what always stands. What is put in
for `<name>` is fenced, so that nothing in it can pass for the prompt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.json_arrays import not_utf8
from sensecheck.inputs.reasons import Reason
from sensecheck.models import revisions

Side = tuple[str, ...]
"""Texts that change places with others together."""

_HEAD = re.compile(r"\[([a-z_]*)\]\s*")
_MOST_BYTES = 1 << 20
_TEMPLATE_MARK = re.compile(r"<(?=[|\uff5c]|/s>|(?:start|end)_of_turn>)")
"""Where a mark begins by which chat templates tell who speaks: `<|im_start|>`, `</s>`, `<end_of_turn>`."""


@dataclass(frozen=True)
class Asks:
    """What a judge can be asked of a question's examples."""

    name: str
    package: str
    """where the prompt lies that is asked by default"""
    file: str
    texts: tuple[str, ...]
    """what an example may bring"""
    sides: tuple[Side, ...]
    """what is held against what: of those that an example has, the last two change places when the order is swapped"""

    def template(self, path: str | os.PathLike[str] | None = None) -> Template:
        """The prompt that ships with the question, or the user's own."""
        if path is None:
            text = resources.files(self.package).joinpath(self.file).read_text(encoding="utf-8")
            return Template.read(text, self, self.name, self.file)
        try:
            with Path(path).open("rb") as source:
                raw = source.read(_MOST_BYTES + 1)
        except OSError as error:
            raise InputError(
                f"cannot be read: {error.strerror}", path=str(path), hint="--judge-prompt names a text file.",
                reason=Reason.NOT_FOUND,
            ) from None  # fmt: skip
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise not_utf8(error, str(path)) from None
        if len(raw) > _MOST_BYTES:
            raise InputError(
                path=str(path), expected=f"a prompt of at most {_MOST_BYTES:,} bytes",
                got="a longer file", reason=Reason.BAD_OPTION,
            )  # fmt: skip
        return Template.read(text, self, Path(path).name, str(path))


@dataclass(frozen=True)
class Section:
    """A part of a prompt. `name`: the text that it shows; empty: it always stands."""

    name: str
    before: str
    after: str = ""


@dataclass(frozen=True)
class Template:
    name: str
    sections: tuple[Section, ...]
    sides: tuple[Side, ...]
    digest: str

    @classmethod
    def read(cls, text: str, asks: Asks, name: str, path: str) -> Template:
        sections: list[Section] = []
        begun, head, lines = 1, "", list[str]()
        for number, line in enumerate([*text.splitlines(), "[]"], 1):
            match = _HEAD.fullmatch(line)
            if match is None:
                lines.append(line)
                continue
            if head or any(part.strip() for part in lines):
                sections.append(_section(head, "\n".join(lines).strip("\n"), asks, path, begun))
            begun, head, lines = number, match[1], []
            if head and head not in asks.texts:
                raise InputError(
                    path=path, line=number, expected=f"one of {', '.join(f'[{t}]' for t in asks.texts)}, or []",
                    got=shown(f"[{head}]", 40), hint=did_you_mean(head, asks.texts) or None, reason=Reason.BAD_OPTION,
                )  # fmt: skip
        named = [section.name for section in sections if section.name]
        for text_name in asks.sides[-1][:1]:
            if text_name not in named:
                raise InputError(
                    path=path, expected=f"a section [{text_name}] with <{text_name}>: what is judged", got="none",
                    reason=Reason.BAD_OPTION,
                )  # fmt: skip
        if twice := next((one for one in named if named.count(one) > 1), ""):
            raise InputError(
                path=path, expected="each section once", got=f"[{twice}] twice", reason=Reason.BAD_OPTION
            )  # fmt: skip
        return cls(name, tuple(sections), asks.sides, revisions.of_text(text))

    def filled(self, texts: Mapping[str, str], *, swapped: bool = False) -> str:
        """The prompt about an example's texts."""
        standing = [section for section in self.sections if not section.name or texts.get(section.name)]
        if swapped:
            standing = _swapped(standing, self.sides)
        return "\n\n".join(_written(section, texts) for section in standing)


def _section(name: str, text: str, asks: Asks, path: str, line: int) -> Section:
    places = [place for place in asks.texts if f"<{place}>" in text]
    if not name:
        if places:
            raise InputError(
                path=path, line=line, expected=f"<{places[0]}> within a section [{places[0]}]",
                got="it outside of one", reason=Reason.BAD_OPTION,
            )  # fmt: skip
        return Section("", text)
    if places != [name] or text.count(f"<{name}>") != 1:
        raise InputError(
            path=path, line=line, expected=f"<{name}> once in the section [{name}], and no other text",
            got=", ".join(f"<{place}>" for place in places) or "none", reason=Reason.BAD_OPTION,
        )  # fmt: skip
    before, _, after = text.partition(f"<{name}>")
    return Section(name, before, after)


def _written(section: Section, texts: Mapping[str, str]) -> str:
    if not section.name:
        return section.before
    return f"{section.before}{fenced(texts[section.name])}{section.after}"


def fenced(text: str) -> str:
    """A text between lines of backticks that are longer than any in it: whatever it holds, it cannot end there.

    >>> fenced("SELECT 1")
    '```\\nSELECT 1\\n```'
    >>> fenced("```sql").splitlines()[0]
    '````'

    Marks of chat templates are taken apart by a space: a server that makes tokens of the whole prompt would take them
    for its own.

    >>> fenced("a<|im_end|>").splitlines()[1]
    'a< |im_end|>'
    """
    text = _TEMPLATE_MARK.sub("< ", text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _swapped(sections: Sequence[Section], sides: Sequence[Side]) -> list[Section]:
    """With the last two sides that stand in each other's place; all else stays where it is."""
    there = [side for side in sides if any(section.name in side for section in sections)][-2:]
    if len(there) < 2:
        return list(sections)
    moved = [section for side in reversed(there) for section in sections if section.name in side]
    names = {section.name for section in moved}
    following = iter(moved)
    return [next(following) if section.name in names else section for section in sections]
