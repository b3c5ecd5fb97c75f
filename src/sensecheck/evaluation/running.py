"""Carrying out an evaluation file: only what changed is measured again."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from sensecheck import instruments
from sensecheck.evaluation.file import Entry, Evaluation, with_secrets
from sensecheck.evaluation.options import evaluator, options
from sensecheck.inputs.addresses import are_addresses, is_address, version
from sensecheck.inputs.errors import shown
from sensecheck.inputs.gathering import is_folder_input
from sensecheck.inputs.opening import sources
from sensecheck.network.address import public_text
from sensecheck.options import parameters
from sensecheck.report.comparison import Comparison, Comparisons, compare
from sensecheck.report.overview import Cell, Row, overview_page
from sensecheck.report.page import comparison_page
from sensecheck.report.question import slicings
from sensecheck.report.result import NothingScored, Result, load
from sensecheck.runs.directory import RunDirectory
from sensecheck.runs.stopping import Stopped
from sensecheck.runs.writing import MANIFEST, RunError, replace_file
from sensecheck.statistics.compare import ComparisonError, Difference

STATE = "evaluation.json"
INDEX = "index.html"
COMPARISON = "comparison.html"
_SCHEMA = "sensecheck.evaluation/1"
_BLOCK = 1 << 20


@dataclass
class Done:
    """What came of it."""

    rows: list[Row]
    index: Path
    measured: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    stopped: dict[str, str] = field(default_factory=dict)
    gates: list[str] = field(default_factory=list)


def run(
    evaluation: Evaluation,
    *,
    only: tuple[str, ...] = (),
    force: bool = False,
    dry: bool = False,
    say: Callable[[str], None] = lambda words: None,
    begin: Callable[[str], None] = lambda label: None,
) -> Done:
    """Measure what changed, compare, write the pages. Paths are relative to the file's folder.

    say: told what came of each run. begin: told of each run before it is measured, and of none once all are.
    """
    folder = evaluation.folder
    with contextlib.chdir(folder):
        done = _Work(evaluation, only, force, dry, say, begin).done()
    return replace(done, index=folder / evaluation.out / INDEX)


class _Work:
    def __init__(
        self,
        evaluation: Evaluation,
        only: tuple[str, ...],
        force: bool,
        dry: bool,
        say: Callable[[str], None],
        begin: Callable[[str], None],
    ) -> None:
        self.begin = begin
        self.evaluation, self.only, self.force, self.dry, self.say = evaluation, only, force, dry, say
        self.out = Path(evaluation.out)
        self.state: dict[str, Any] = self._read_state()
        self.hashes: dict[str, str] = {}
        self.versions: dict[str, Any] = {}
        self.result = Done([], self.out / INDEX)

    def done(self) -> Done:
        folders = _distinct([e.name for e in self.evaluation.entries])
        systems = _distinct(list(self.evaluation.systems))
        for entry, folder in zip(self.evaluation.entries, folders, strict=True):
            cells = []
            fresh = False
            for system, part in zip(self.evaluation.systems, systems, strict=True):
                cell, new = self._cell(entry, system, self.out / folder / part)
                cells.append(cell)
                fresh = fresh or new
            row = Row(entry.name, entry.question, cells)
            self.begin(f"{entry.name} · comparing")
            self._compare(row, self.out / folder, fresh)
            self._gates(entry, row)
            self.result.rows.append(row)
        self.begin("")
        if not self.dry:
            self.out.mkdir(parents=True, exist_ok=True)
            replace_file(
                self.out / INDEX,
                overview_page(self.evaluation.title, self.evaluation.systems, self.result.rows).encode(),
            )
        return self.result

    def _cell(self, entry: Entry, system: str, folder: Path) -> tuple[Cell, bool]:
        label = f"{entry.name} · {system}"
        given = entry.options_for(system, self.evaluation.systems)
        mark = self._fingerprint(entry, system, given)
        kept = self.state["cells"].get(folder.as_posix(), {})
        complete = kept.get("fingerprint") == mark and _state_of(folder) == "complete"
        wanted = not self.only or entry.name in self.only
        result = self._stored(folder) if complete or not wanted else None
        # A run that an earlier version wrote, and this one cannot read, is measured again.
        complete = complete and result is not None
        if not wanted or (complete and not self.force):
            if complete:
                self.result.unchanged.append(label)
                self.say(f"{label}: unchanged")
                self._tell_nothing(entry, label, result)
            return Cell(system, result, _link(folder, self.out), "" if result else "not measured yet"), False
        if self.dry:
            if lacking := _lacking(entry, given):
                line, problem = lacking
                self.result.failed[label] = f"{self.evaluation.path}:{line}: {label}: {problem}"
                return Cell(system, None, "", problem), False
            self.result.measured.append(label)
            self.say(f"{label}: would be measured")
            return Cell(system, None, "", "would be measured"), False
        if linked := next((place for place in (folder.parent, folder) if place.is_symlink()), None):
            problem = f"{linked} is a link, and nothing is written through links in a folder of runs; remove it"
            self.result.failed[label] = f"{self.evaluation.path}:{entry.line}: {label}: {problem}"
            return Cell(system, None, "", problem), False
        started = time.monotonic()
        going_on = kept.get("fingerprint") == mark and _state_of(folder) == "running" and not self.force
        self._remember(folder, mark)
        self.begin(label)
        try:
            result = self._measure(entry, system, given, folder, going_on)
        except Stopped as error:
            self.result.stopped[label] = str(error)
            return Cell(system, None, "", f"stopped: {error}"), False
        except (ValueError, KeyError, OSError, ImportError, OverflowError) as error:
            words = public_text(str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error))
            where = f"{self.evaluation.path}:{entry.line}: {label}: {words}"
            self.result.failed[label] = where
            return Cell(system, None, "", words), False
        self.result.measured.append(label)
        self.say(f"{label}: measured in {time.monotonic() - started:.1f} s")
        self._tell_nothing(entry, label, result)
        return Cell(system, result, _link(folder, self.out), ""), True

    def _tell_nothing(self, entry: Entry, label: str, result: Result | None) -> None:
        """A run that scored nothing failed, though its pages are there to be looked at."""
        if result is not None and (nothing := result.nothing_scored()):
            self.result.failed[label] = f"{self.evaluation.path}:{entry.line}: {label}: {nothing}"

    def _measure(self, entry: Entry, system: str, given: Mapping[str, Any], folder: Path, going_on: bool) -> Result:
        function = evaluator(entry.question)
        known = parameters(function)
        slices = given.get("slices")
        own: dict[str, Any] = {
            "options": self.evaluation.intervals,
            "out": folder,
            "system": system,
            "resume": going_on,
            "overwrite": not going_on,
        }
        kinds = options(entry.question)
        told = {k: kinds[k].built(v) if k in kinds else v for k, v in with_secrets(dict(given)).items()}
        if told.get("parity") is not None:
            own.pop("options")  # an original makes no intervals: those of the file are for the other entries
        call = {**told, **{k: v for k, v in own.items() if k in known}}
        if isinstance(slices, list):
            call["slices"] = slicings(slices)
        try:
            result = _called(function, call)
        except RunError:
            if not going_on:
                raise
            result = _called(function, {**call, "resume": False, "overwrite": True})
        assert isinstance(result, Result)
        if result.directory is None:
            result.save(folder, overwrite=True)
        return result

    def _stored(self, folder: Path) -> Result | None:
        try:
            return load(folder)
        except (ValueError, OSError, KeyError):
            return None

    def _compare(self, row: Row, folder: Path, fresh: bool) -> None:
        there = [c for c in row.cells if c.result is not None]
        if not self.evaluation.compared or len(there) < 2 or self.dry:
            return
        page = folder / COMPARISON
        runs = [c.result for c in there if c.result is not None]
        names = [c.system for c in there]
        mark = self._comparison_mark(runs)
        kept = self.state["comparisons"].get(folder.as_posix(), {})
        if kept.get("mark") == mark and page.exists() and not fresh and not self.force:
            # What was remembered may have been changed: then the runs are compared again.
            with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
                pairs = [
                    Comparison(runs[0], other, (names[0], name), [_restored(d) for d in differences])
                    for other, name, differences in zip(runs[1:], names[1:], kept["differences"], strict=True)
                ]
                row.comparison, row.link = Comparisons(runs, names, pairs), _link(page, self.out)
                return
        try:
            comparisons: Comparisons = compare(runs)
        except ComparisonError as error:
            row.note = f"not compared: {error}"
            return
        comparisons.names = names
        for pair, name in zip(comparisons.pairs, names[1:], strict=True):
            pair.names = (names[0], name)
        row.comparison, row.link = comparisons, _link(page, self.out)
        replace_file(page, comparison_page(comparisons).encode("utf-8"))
        self.state["comparisons"][folder.as_posix()] = {
            "mark": mark,
            "differences": [[d.to_dict() for d in pair.differences] for pair in comparisons.pairs],
        }
        self._write_state()

    def _comparison_mark(self, runs: Sequence[Result]) -> str:
        """Changes when one of the runs does: their summaries hold every figure, and no times."""
        told = [orjson.dumps(r.summary, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_SORT_KEYS) for r in runs]
        return hashlib.sha256(b"\n".join(told)).hexdigest()

    def _gates(self, entry: Entry, row: Row) -> None:
        for cell in row.cells:
            for kind, limits in entry.gates.items():
                for name, limit in limits.items():
                    words = _judged(cell, name, limit, kind == "fail_under")
                    if words:
                        self.result.gates.append(f"{entry.name} · {cell.system}: {words}")

    # -- what changed ----------------------------------------------------------------------------------------

    def _fingerprint(self, entry: Entry, system: str, given: Mapping[str, Any]) -> str:
        """Changes when a figure could: options, interval choices, the version, the content of every file named."""
        files = {path: self._hash(path) for value in _strings(given) for path in _files(value)}
        intervals = {k: v for k, v in vars(self.evaluation.intervals).items() if k != "jobs"}
        # What lies at addresses is not fetched to be looked at: its store says when it was changed.
        afar = {text: self._version(text) for text in _strings(given) if is_address(text)}
        told = [instruments.version(entry.question), entry.question, system, _public(given), intervals, files]
        told += [afar] if afar else []
        return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()

    def _version(self, address: str) -> Any:
        if address not in self.versions:
            try:
                self.versions[address] = version(address)
            except (ValueError, OSError, ImportError):
                self.versions[address] = None  # told when it is measured
        return self.versions[address]

    def _hash(self, path: str) -> str:
        if path not in self.hashes:
            digest = hashlib.sha256()
            with open(path, "rb") as stream:  # noqa: PTH123
                while block := stream.read(_BLOCK):
                    digest.update(block)
            self.hashes[path] = digest.hexdigest()
        return self.hashes[path]

    def _read_state(self) -> dict[str, Any]:
        try:
            state = orjson.loads((self.out / STATE).read_bytes())
        except (OSError, ValueError):
            state = {}
        if not isinstance(state, dict) or state.get("schema") != _SCHEMA:
            state = {"schema": _SCHEMA}
        # Without what was remembered, or with what somebody wrote in its place, all is measured again.
        return {
            "schema": _SCHEMA,
            "cells": _remembered(state, "cells"),
            "comparisons": _remembered(state, "comparisons"),
        }

    def _remember(self, folder: Path, mark: str) -> None:
        self.state["cells"][folder.as_posix()] = {"fingerprint": mark}
        self._write_state()

    def _write_state(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        replace_file(self.out / STATE, orjson.dumps(self.state, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _called(function: Callable[..., Any], call: Mapping[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingScored)  # it is told with the label of the entry
        return function(**call)


def _remembered(state: Mapping[str, Any], part: str) -> dict[str, Any]:
    kept = state.get(part)
    return {k: v for k, v in kept.items() if isinstance(v, dict)} if isinstance(kept, dict) else {}


def _restored(plain: Mapping[str, Any]) -> Difference:
    """A difference as it was written down; a number that does not exist was written as null."""
    nan = {k: float("nan") for k in ("a", "b", "difference") if plain.get(k) is None}
    return Difference(**{k: v for k, v in {**plain, **nan}.items() if k in Difference.__dataclass_fields__})


def _judged(cell: Cell, name: str, limit: float, under: bool) -> str:
    """Why a gate failed, or nothing."""
    if cell.result is None:
        return f"{name} has no value: {cell.problem}"
    try:
        value = cell.result[name].value
    except KeyError:
        return f"there is no figure {name!r} in this run"
    if not isinstance(value, float) or value != value:
        return f"{name} has no value"
    if (value < limit) if under else (value > limit):
        return f"{name} is {value:.6g}, {'under' if under else 'over'} {limit:g}"
    return ""


def _lacking(entry: Entry, given: Mapping[str, Any]) -> tuple[int, str] | None:
    """What a run would miss before it reads anything, with its line: a file, a secret."""
    known = options(entry.question)
    for key, value in given.items():
        line = entry.lines.get(key) or entry.line
        try:
            with_secrets(value)
        except ValueError as error:
            return line, f"{key}: {error}"
        named = isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value))
        if key == "data" and named and not are_addresses(value):
            try:
                if not is_folder_input(value, entry.question):
                    sources(value)
            except ValueError as error:
                return line, f"{key}: {error}"
        elif key in known and known[key].reads_files:
            absent = next((text for text in _strings(value) if not _there(key, text)), None)
            if absent is not None:
                return (
                    line,
                    f"{key}: there is no such file: {shown(absent)}. Paths are relative to the evaluation file.",
                )
    return None


def _there(key: str, text: str) -> bool:
    # Kinds of tokens that come with the package are called by name.
    named = key == "token_kinds" and not any(c in text for c in "./")
    return named or "://" in text or Path(text).exists() or bool(_files(text))


def _public(value: Any) -> Any:
    """Options without what an address says of who asks: with another password the same is measured."""
    if isinstance(value, Mapping):
        return {key: _public(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_public(inner) for inner in value]
    return public_text(value) if isinstance(value, str) else value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _files(text: str) -> list[str]:
    """The files that a text names: a path, a folder's content, what a pattern matches; also behind `kind:`."""
    files: list[str] = []
    for candidate in dict.fromkeys([text, text.partition(":")[2]]):
        if not candidate or len(candidate) > 1_000 or "\0" in candidate:
            continue
        if os.path.isfile(candidate):  # noqa: PTH113
            files.append(candidate)
        elif os.path.isdir(candidate):  # noqa: PTH112
            files += sorted(p.as_posix() for p in Path(candidate).rglob("*") if p.is_file())[:10_000]
        elif any(c in candidate for c in "*?["):
            files += sorted(p for p in glob.glob(candidate, recursive=True) if os.path.isfile(p))  # noqa: PTH113, PTH207
    return files


def _distinct(names: list[str]) -> list[str]:
    """A folder's name for each, all different."""
    distinct: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "unnamed"
        chosen, count = plain, 2
        while chosen.lower() in {m.lower() for m in distinct}:
            chosen, count = f"{plain}-{count}", count + 1
        distinct.append(chosen)
    return distinct


def _state_of(folder: Path) -> str:
    if not (folder / MANIFEST).exists():
        return ""
    try:
        return str(RunDirectory(folder).manifest().get("state", ""))
    except (OSError, ValueError):
        return ""


def _link(path: Path, out: Path) -> str:
    target = path / "report.html" if path.suffix != ".html" else path
    return target.relative_to(out).as_posix()
