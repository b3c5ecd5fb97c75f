"""Reading and checking an evaluation file: every key, with the line of what is wrong."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sensecheck import instruments
from sensecheck.evaluation.lines import Lines, Place, parsed
from sensecheck.evaluation.options import OWN, Setting, intervals, options, takes_anything
from sensecheck.inputs.errors import InputError, did_you_mean, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.network.address import public_text
from sensecheck.report import corrected
from sensecheck.report.question import question
from sensecheck.report.repeats import NAME
from sensecheck.statistics.figure import IntervalOptions

TOP = {
    "title": "what the overview page is called",
    "systems": "names of the systems, in the order in which they are shown; others are compared with the first",
    "out": "directory for runs and pages, relative to this file (default: runs)",
    "compare": "whether systems are compared (default: true)",
    "intervals": "how intervals are made, for all questions",
    "evaluate": "what is asked, of which data",
}
GATES = ("fail_under", "fail_over")
ENTRY = ("question", "name", *GATES)

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# Only what must not stand in a file may come from the environment; everything else belongs into the file, or two
# people with the same file would measure different things.
_SECRET = re.compile(r"(?:^|_)(?:api_?key|key|token|secret|password|auth|authorization|headers?)$", re.IGNORECASE)
_PLACEHOLDER = "{system}"
_LONGEST_NAME = 60
_ANY_PLACEHOLDER = re.compile(r"\{\w*\}")


class EvaluationError(ValueError):
    """Everything that is wrong with an evaluation file."""

    def __init__(self, problems: Sequence[InputError]) -> None:
        self.problems = list(problems)
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{problems[0]}{more}")


@dataclass(frozen=True)
class Entry:
    """One question asked of some data."""

    name: str
    question: str
    given: Mapping[str, Any]
    """Options as the file has them."""
    gates: Mapping[str, Mapping[str, float]]
    line: int
    lines: Mapping[str, int]

    def options_for(self, system: str, systems: Sequence[str]) -> dict[str, Any]:
        """The options for one system: per-system values chosen, `{system}` replaced; secrets still as `${NAME}`."""
        return {key: _filled(_chosen(value, system, systems), system) for key, value in self.given.items()}


@dataclass(frozen=True)
class Evaluation:
    path: Path
    title: str
    systems: tuple[str, ...]
    out: str
    compared: bool
    intervals: IntervalOptions
    entries: tuple[Entry, ...] = field(default_factory=tuple)

    @property
    def folder(self) -> Path:
        """What paths in the file are relative to."""
        return self.path.resolve().parent


def read(path: str | os.PathLike[str]) -> Evaluation:
    """Read and check an evaluation file; raises `EvaluationError` with all that is wrong."""
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            "there is no such file", path=str(place), hint="`sensecheck init` writes one to start from."
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=shown(str(place), 200)[1:-1]) from None
    except UnicodeDecodeError as error:
        raise InputError(
            path=str(place), expected="UTF-8 text", got=f"byte {error.object[error.start]:#04x}", reason=Reason.ENCODING
        ) from None
    content, lines = parsed(text, str(place))
    checker = _Checker(str(place), content, lines)
    evaluation = checker.evaluation(place)
    if checker.problems:
        raise EvaluationError(sorted(checker.problems, key=lambda p: p.line or 0))
    return evaluation


class _Checker:
    def __init__(self, path: str, content: Mapping[str, Any], lines: Lines) -> None:
        self.path, self.content, self.lines = path, content, lines
        self.problems: list[InputError] = []

    def wrong(self, place: Place, problem: str | None = None, **parts: Any) -> None:
        line = next((self.lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in self.lines), None)
        # A value that is repeated may be an address with a password in it.
        told: dict[str, Any] = {name: public_text(part) for name, part in parts.items()}
        problem = None if problem is None else public_text(problem)
        self.problems.append(InputError(problem, path=self.path, line=line, field=_spelled(place), **told))

    def evaluation(self, path: Path) -> Evaluation:
        for key in self.content:
            if key not in TOP:
                self.unknown((key,), TOP)
        title = self.text("title", path.stem)
        systems = self.systems()
        entries = tuple(self.entries(systems))
        return Evaluation(
            path,
            title,
            tuple(systems),
            self.text("out", "runs"),
            self.truth("compare", True),
            self.intervals(),
            entries,
        )

    def unknown(self, place: Place, known: Any, what: str = "key") -> None:
        name = str(place[-1])
        hint = did_you_mean(name, known) or f"Choose from: {', '.join(known)}."
        self.wrong((*place[:-1], name), f"there is no {what} {shown(name)}", hint=hint)

    def text(self, key: str, usual: str) -> str:
        value = self.content.get(key, usual)
        if not isinstance(value, str) or not value:
            self.wrong((key,), expected="text", got=shown(value))
            return usual
        if _VARIABLE.search(value):
            self.wrong((key,), _ENVIRONMENT)
        return value

    def truth(self, key: str, usual: bool) -> bool:
        value = self.content.get(key, usual)
        if not isinstance(value, bool):
            self.wrong((key,), expected="true or false", got=shown(value))
            return usual
        return value

    def systems(self) -> list[str]:
        value = self.content.get("systems", ["system"])
        if not isinstance(value, list) or not value or not all(isinstance(v, str) and v for v in value):
            self.wrong(("systems",), expected='names, as in ["A", "B"]', got=shown(value))
            return ["system"]
        for i, name in enumerate(value):
            if name in value[:i]:
                self.wrong(("systems", i), f"the system {shown(name)} is named twice")
        return list(value)

    def intervals(self) -> IntervalOptions:
        given = self.content.get("intervals", {})
        if not isinstance(given, Mapping):
            self.wrong(("intervals",), expected="a table", got=shown(given))
            return IntervalOptions()
        kept: dict[str, Any] = {}
        known = intervals()
        for key, value in given.items():
            if key not in known:
                self.unknown(("intervals", key), known)
            elif not known[key].accepts(value):
                self.wrong(("intervals", key), expected=known[key].expected(), got=shown(value))
            else:
                kept[key] = value
        options = IntervalOptions()
        for key, value in kept.items():
            try:
                options = IntervalOptions(**{**vars(options), key: value})
            except ValueError as error:
                self.wrong(("intervals", key), str(error))
        return options

    def entries(self, systems: Sequence[str]) -> Iterator[Entry]:
        given = self.content.get("evaluate")
        if not isinstance(given, list) or not given:
            self.wrong(
                ("evaluate",), expected="at least one [[evaluate]] with a question and its data",
                got="none" if given is None else shown(given),
            )  # fmt: skip
            return
        names: set[str] = set()
        for i, entry in enumerate(given):
            if not isinstance(entry, Mapping):
                self.wrong(("evaluate", i), expected="a table with a question and its data", got=shown(entry))
                continue
            checked = self.entry(("evaluate", i), entry, systems)
            if checked is None:
                continue
            if checked.name in names:
                self.wrong(
                    ("evaluate", i, "name" if "name" in entry else "question"),
                    f"two entries are called {shown(checked.name)}", hint="Give each a name of its own.",
                )  # fmt: skip
            names.add(checked.name)
            yield checked

    def entry(self, place: Place, entry: Mapping[str, Any], systems: Sequence[str]) -> Entry | None:
        asked = entry.get("question")
        if not isinstance(asked, str) or asked not in instruments.names():
            names = ", ".join(instruments.names())
            if asked is None:
                self.wrong(place, "the entry has no question", hint=f"One of {names}.")
            else:
                hint = did_you_mean(str(asked), instruments.names())
                self.wrong((*place, "question"), expected=f"one of {names}", got=shown(asked), hint=hint)
            return None
        try:
            instruments.room(asked)
        except instruments.InstrumentError as error:
            self.wrong((*place, "question"), str(error))
            return None
        name = entry.get("name", asked)
        if not isinstance(name, str) or not name:
            self.wrong((*place, "name"), expected="text", got=shown(name))
            name = asked
        known = options(asked)
        given = {k: v for k, v in entry.items() if k not in ENTRY}
        for key, value in given.items():
            self.option((*place, key), asked, key, value, systems)
        for key, option in known.items():
            if option.required and key not in given:
                self.wrong(place, f"{asked} needs {key}", hint=f"Add {key} = … here.")
        gates = {kind: self.gate((*place, kind), asked, entry[kind]) for kind in GATES if kind in entry}
        lines = {k: self.lines.get((*place, k), 0) for k in entry}
        return Entry(name, asked, given, gates, self.lines.get(place, 0), lines)

    def option(self, place: Place, asked: str, key: str, value: Any, systems: Sequence[str]) -> None:
        known = options(asked)
        if key in OWN:
            self.wrong(place, f"{key} is set by `sensecheck run`", hint=_INSTEAD.get(key, ""))
            return
        if key not in known:
            if not takes_anything(asked):
                self.unknown(place, [*known, *ENTRY], what=f"option of {asked}")
            return
        values = [value]
        if _by_system(value, systems):
            missing = [s for s in systems if s not in value]
            if missing:
                self.wrong(place, f"no value for the system {shown(missing[0])}", hint="Name every system.")
            values = list(value.values())
        for one in values:
            if self.settings(place, key, known[key], one):
                continue
            if not known[key].accepts(one):
                self.wrong(place, expected=known[key].expected(), got=shown(one))
                break
        for inner, text in _texts(value, place):
            if known[key].reads_files:
                self.placeholders(inner, text)
            if _VARIABLE.search(text) and not any(_SECRET.search(str(step)) for step in inner[len(place) - 1 :]):
                self.wrong(inner, _ENVIRONMENT)

    def settings(self, place: Place, key: str, option: Setting, value: Any) -> bool:
        """Check a table of settings one by one; false where the option is no such table."""
        parts = option.parts
        if not parts or not isinstance(value, Mapping):
            return False
        before = len(self.problems)
        for name, one in value.items():
            if name not in parts:
                self.unknown((*place, name), parts, what=f"setting of {key}")
            elif not parts[name].accepts(one):
                self.wrong((*place, name), expected=parts[name].expected(), got=shown(one))
        if len(self.problems) == before:
            try:
                option.built(value)
            except ValueError as error:
                self.wrong(place, str(error))
        return True

    def placeholders(self, place: Place, text: str) -> None:
        """`{system}` is all that is filled in; a file may still be called by another one."""
        for placeholder in _ANY_PLACEHOLDER.findall(_VARIABLE.sub("", text)):
            if placeholder != _PLACEHOLDER and not _is_there(Path(self.path).resolve().parent, text):
                self.wrong(
                    place, expected=f"no placeholder but {_PLACEHOLDER}", got=f"{_short(placeholder)} in {shown(text)}",
                    hint=did_you_mean(placeholder, [_PLACEHOLDER]) or "Give each system its own: { A = …, B = … }.",
                )  # fmt: skip
                return

    def gate(self, place: Place, asked: str, value: Any) -> Mapping[str, float]:
        if not isinstance(value, Mapping):
            self.wrong(place, expected="figures and numbers, as in { accuracy = 0.9 }", got=shown(value))
            return {}
        figures = [s.name for s in question(asked).statistics({}) if not s.vector]
        for name, limit in value.items():
            if name not in figures and not re.fullmatch(f"{NAME}|{corrected.NAME}", name):
                self.unknown((*place, name), figures, what="figure")
            elif isinstance(limit, bool) or not isinstance(limit, (int, float)):
                self.wrong((*place, name), expected="a number", got=shown(limit))
        return dict(value)


_ENVIRONMENT = (
    "environment variables are for secrets only (api_key, token, password, headers): write the value itself, so that "
    "the file says what was measured"
)
_INSTEAD = {
    "options": "Set [intervals] at the top of the file.",
    "out": "Set out at the top of the file.",
    "system": "Name the systems at the top of the file.",
    "resume": "It continues an interrupted run by itself.",
    "overwrite": "It measures again only what changed; --force measures everything again.",
}


def _spelled(place: Place) -> str:
    said = ""
    for step in place:
        name = str(step) if len(str(step)) <= _LONGEST_NAME else f"{str(step)[: _LONGEST_NAME - 1]}…"
        said += f"[{step + 1}]" if isinstance(step, int) else f".{name}" if said else name
    return said


def _texts(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*place, str(key)))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _texts(inner, (*place, i))


def _is_there(folder: Path, name: str) -> bool:
    try:
        return (folder / name).exists()
    except (OSError, ValueError):  # no file can be called so
        return False


def _by_system(value: Any, systems: Sequence[str]) -> bool:
    return isinstance(value, Mapping) and bool(value) and all(key in systems for key in value)


def _chosen(value: Any, system: str, systems: Sequence[str]) -> Any:
    return value[system] if _by_system(value, systems) else value


def _filled(value: Any, system: str) -> Any:
    if isinstance(value, str):
        return value.replace(_PLACEHOLDER, system)
    if isinstance(value, Mapping):
        return {k: _filled(v, system) for k, v in value.items()}
    if isinstance(value, list):
        return [_filled(v, system) for v in value]
    return value


def with_secrets(value: Any) -> Any:
    """Options with `${NAME}` replaced from the environment; called last, so that no secret is ever written down."""
    if isinstance(value, str):
        return _VARIABLE.sub(_secret, value)
    if isinstance(value, Mapping):
        return {k: with_secrets(v) for k, v in value.items()}
    if isinstance(value, list):
        return [with_secrets(v) for v in value]
    return value


def _secret(match: re.Match[str]) -> str:
    try:
        return os.environ[match[1]]
    except KeyError:
        raise InputError(
            f"the environment variable {match[1]} is not set", hint=f"export {match[1]}=… and run again."
        ) from None


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"
