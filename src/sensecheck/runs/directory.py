"""A run is a directory.

    manifest.json               options, signature, versions, inputs and shards with their sha256, times, state
    measurements-00000.parquet  one row for every example; first column `id`
    examples-00000.parquet      the examples' texts, for reading and for the report
    summary.json                the figures; no times, so that equal runs give equal files
    report.html

Every file is written under another name, then renamed: a killed run leaves whole files only. A shard is the
result of one batch of input, so the shards that exist say where to go on.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from sensecheck._version import __version__
from sensecheck.inputs.addresses import is_address, plain
from sensecheck.network.address import public_text
from sensecheck.runs.stopping import Stopped
from sensecheck.runs.writing import MANIFEST, RunError, remove, replace_file, replacing
from sensecheck.statistics.measurements import full, lean

HELD_BYTES = 300_000_000
"""Measurements that take more are read from their files again each time they are needed."""
MOST_BYTES = 256 * 1024 * 1024
"""A longer manifest or summary is none of ours."""
SUMMARY = "summary.json"
REPORT = "report.html"
MANIFEST_SCHEMA = "sensecheck.manifest/1"
RUNNING, MEASURED = "running", "measured"
"""States of a run that is not complete: at work or interrupted, and a shard with nothing left to measure."""
_KEPT_ANSWERS = re.compile(r".+\.(?:sqlite|db)(?:-wal|-shm|-journal)?")
_PLAIN = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY


KINDS = ("measurements", "examples")
REMEDY = "measure again with --overwrite (overwrite=True)"
"""What to do about a run that cannot be read."""
MOST_CHANGES = 8
"""Differences between a run and its resumption that are told."""


def damaged(path: Path, what: str) -> RunError:
    """A file of a run that is not as it was written."""
    return RunError(f"{path} is damaged: {what}; {REMEDY}")


@contextlib.contextmanager
def damage_told(*runs: Path) -> Iterator[None]:
    """Figures are made of files that anybody may have changed: what nobody foresaw is told as damage to them."""
    try:
        yield
    except (ValueError, OSError, ImportError, MemoryError, Stopped):
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        which = " or ".join(map(str, runs))
        raise RunError(
            f"{which} cannot be read as a run of this version: a file in it was changed or is damaged "
            f"({type(error).__name__}); {REMEDY}"
        ) from error


class DifferentPlanError(RunError):
    """A run that was begun as other work than it is to be resumed as."""

    def __init__(self, path: Path, changes: str) -> None:
        super().__init__(
            f"{path} was started differently and cannot be resumed: {changes}. Resume with the same inputs and "
            "options, or choose another directory."
        )
        self.changes = changes


class RunDirectory:
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.address = ""
        """Where it is kept, or was fetched from, if that is not on this machine."""

    @property
    def shown(self) -> str:
        """Where a reader finds it."""
        return self.address or str(self.path)

    # -- opening ---------------------------------------------------------------------------------------------

    @classmethod
    def begin(
        cls,
        path: str | os.PathLike[str],
        plan: Mapping[str, Any],
        *,
        resume: bool = False,
        overwrite: bool = False,
        marks: Mapping[str, Any] | None = None,
    ) -> RunDirectory:
        """Create a run directory, or open one that was interrupted.

        `plan` is what makes two runs the same work (question, method, inputs); a run is resumed only under the
        plan it was begun with. `marks` is what else its manifest says, of a shard that is a part of a run.
        """
        run = cls(path)
        occupied = run._refuse(resume=resume, overwrite=overwrite)
        if occupied and resume:
            run._check_plan(plan)
            run._clear_leftovers()
            # The plan anew: an earlier version may have written an address with its password into it.
            begun = {**run.manifest(), "state": RUNNING, "plan": _jsonable(plan), **_jsonable(marks or {})}
            run._write(MANIFEST, begun)
            return run
        if occupied:
            run._clear()
        run.path.mkdir(parents=True, exist_ok=True)
        run._write(
            MANIFEST,
            {
                "schema": MANIFEST_SCHEMA,
                "state": RUNNING,
                "plan": _jsonable(plan),
                "sensecheck": __version__,
                "python": platform.python_version(),
                "polars": pl.__version__,
                "started": _now(),
                **_jsonable(marks or {}),
            },
        )
        return run

    def _refuse(self, *, resume: bool, overwrite: bool) -> bool:
        """Refuse a place that cannot be used as asked, and change nothing; whether a run is there already."""
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"{self.path} is a file; --out (out=) takes a directory")
        # A run that was stopped before anything was measured (a bad option, say) is in nobody's way.
        occupied = self.path.is_dir() and any(self.path.iterdir()) and not self._is_bare(answers=not resume)
        if occupied and not self.is_run():
            if os.path.lexists(self.path / MANIFEST):
                raise RunError(
                    f"{self.path} is not empty, and its {MANIFEST} cannot be read as that of a run; "
                    "choose another directory for --out (out=), or remove this one"
                )
            raise RunError(f"{self.path} is not empty and holds no run; choose another directory for --out (out=)")
        if occupied and not resume and not overwrite:
            replaced = "--overwrite (overwrite=True) to replace it"
            if self.manifest().get("state") == RUNNING:
                what, advice = "an unfinished run", f"--resume (resume=True) to complete it, {replaced}"
            else:
                what, advice = "a complete run", replaced
            raise RunError(f"{self.path} already holds {what}; pass {advice}, or choose another directory")
        return occupied

    @classmethod
    def check(cls, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Refuse what `begin` would refuse for a new run, before anything is read or written."""
        cls(path)._refuse(resume=False, overwrite=overwrite)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunDirectory:
        """Open a finished or interrupted run for reading; one at an address (`s3://…`) is fetched."""
        if is_address(path):
            from sensecheck.runs.at_address import opened_at

            return opened_at(str(path))
        run = cls(plain(path))
        if not run.path.exists():
            raise RunError(f"no such run: {run.path}")
        if not run.is_run():
            raise RunError(f"{run.path} is not a run directory: it has no readable {MANIFEST}")
        return run

    def is_run(self) -> bool:
        try:
            return str(self.manifest().get("schema", "")).startswith("sensecheck.manifest/")
        except (OSError, ValueError):
            return False

    def _is_bare(self, *, answers: bool) -> bool:
        """Whether nothing but the manifest of an unfinished run is here (and `answers`, which are good for any run)."""
        names = {p.name for p in self.path.iterdir() if not (p.name.startswith(".") and p.name.endswith(".partial"))}
        if answers and MANIFEST in names:
            names = {name for name in names if not _KEPT_ANSWERS.fullmatch(name)}
        return not names or (names == {MANIFEST} and self.is_run() and self.manifest().get("state") == RUNNING)

    def _check_plan(self, plan: Mapping[str, Any]) -> None:
        begun = self.manifest().get("plan", {})
        if not isinstance(begun, dict):
            raise damaged(self.path / MANIFEST, f"its plan is no JSON object but {_kind(begun)}")
        changes = _changes(begun, _jsonable(plan))
        if changes:
            raise DifferentPlanError(self.path, _some(changes))

    def _clear(self) -> None:
        """Remove a run that is to be replaced. If that is cut off, an unfinished run is left, which can be begun again
        or replaced: the manifest, without which the folder would be somebody else's, stays until the next one takes
        its place.
        """
        self._write(MANIFEST, {**self.manifest(), "state": RUNNING})
        # From the first one on: a run without it has nothing that could be taken up.
        shards = [*self.shards("measurements"), *self.shards("examples")]
        for path in [self.path / SUMMARY, *shards, self.path / REPORT, *self.path.glob(".*.partial")]:
            remove(path)

    def _clear_leftovers(self) -> None:
        for leftover in self.path.glob(".*.partial"):
            remove(leftover)
        # Texts are renamed before measurements: a shard of texts alone belongs to a batch that was cut off. Shards
        # behind one that is missing are of a run that was being removed.
        completed = self.completed()
        for kind in KINDS:
            for extra in self.shards(kind)[completed:]:
                remove(extra)

    # -- files -----------------------------------------------------------------------------------------------

    def manifest(self) -> dict[str, Any]:
        return self._read(MANIFEST)

    def summary(self) -> dict[str, Any]:
        if (shard := self.manifest().get("shard")) is not None:
            number, count = (shard.get(part) if isinstance(shard, dict) else "?" for part in ("number", "count"))
            raise RunError(
                f"{self.path} is shard {number} of {count} of a run and has no figures of its own; put them together "
                "first: sensecheck merge SHARD … --out RUN"
            )
        if not os.path.lexists(self.path / SUMMARY):
            raise RunError(
                f"{self.path} has no {SUMMARY}: the run did not finish; complete it with --resume (resume=True)"
            )
        return self._read(SUMMARY)

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        # What is no plain file (a pipe, a device) could be read forever.
        if not path.is_file():
            raise damaged(path, "it is no plain file" if os.path.lexists(path) else "it is missing")
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise damaged(path, f"it has more than {MOST_BYTES:,} bytes")
        try:
            loaded = orjson.loads(content)
        except ValueError:
            raise damaged(path, "it is no JSON") from None
        if not isinstance(loaded, dict):
            raise damaged(path, f"it holds no JSON object but {_kind(loaded)}")
        return loaded

    def shards(self, kind: str) -> list[Path]:
        return sorted(self.path.glob(f"{kind}-[0-9]*.parquet"))

    def completed(self) -> int:
        """How many batches are measured: the length of the unbroken row of shards."""
        count = 0
        while (self.path / f"measurements-{count:05d}.parquet").exists():
            count += 1
        return count

    def write_shard(self, index: int, measurements: pl.DataFrame, examples: pl.DataFrame | None = None) -> Path:
        """Keep a batch; gives the file of its measurements."""
        if measurements.columns[0] != "id":
            raise ValueError("the first column of measurements is `id`")
        if examples is not None:
            _write_parquet(self.path / f"examples-{index:05d}.parquet", full(examples))
        target = self.path / f"measurements-{index:05d}.parquet"
        _write_parquet(target, full(measurements))
        return target

    def batch(self, kind: str, index: int) -> pl.DataFrame | None:
        """What one batch left of a kind, if it left any."""
        path = self.path / f"{kind}-{index:05d}.parquet"
        return _frame_of(path) if os.path.lexists(path) else None

    def finish_shard(self, cost: Mapping[str, Any]) -> None:
        """All batches of this part of a run are measured; `cost` is what calls to a model took."""
        shards = {path.name: _digest(path) for kind in KINDS for path in self.shards(kind)}
        done = {"state": MEASURED, "shards": shards, "cost": _jsonable(cost), "finished": _now()}
        self._write(MANIFEST, {**self.manifest(), **done})

    def costs_of_parts(self) -> list[dict[str, Any]]:
        """Of a run that was merged: what the calls of each of its parts took."""
        parts = self.manifest().get("parts")
        costs = parts.get("cost") if isinstance(parts, dict) else None
        return [cost for cost in costs if isinstance(cost, dict)] if isinstance(costs, list) else []

    def finish(self, summary: Mapping[str, Any], *, inputs: Sequence[Mapping[str, Any]]) -> None:
        self._write(SUMMARY, _jsonable(summary))
        self._write(
            MANIFEST,
            {
                **self.manifest(),
                "state": "complete",
                "signature": _jsonable(summary.get("signature")),
                "inputs": _jsonable(list(inputs)),
                "shards": {path.name: _digest(path) for kind in KINDS for path in self.shards(kind)},
                "finished": _now(),
            },
        )

    def write_text(self, name: str, text: str) -> Path:
        replace_file(self.path / name, text.encode("utf-8"))
        return self.path / name

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        replace_file(self.path / name, orjson.dumps(content, option=_PLAIN))

    # -- reading ---------------------------------------------------------------------------------------------

    def measurements(self) -> Shards:
        shards = Shards(self.shards("measurements"), held_bytes=HELD_BYTES, digests=self._digests())
        shards.run = self
        return shards

    def examples(self) -> Shards | None:
        shards = self.shards("examples")
        return Shards(shards, digests=self._digests()) if shards else None

    def _digests(self) -> Mapping[str, str]:
        """What a complete run says of its shards; an unfinished one says nothing."""
        manifest = self.manifest()
        known = manifest.get("shards") if manifest.get("state") in ("complete", MEASURED) else None
        return known if isinstance(known, dict) else {}

    def discard(self) -> None:
        """Remove the whole directory (used for temporary runs only)."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.path)


class Shards:
    """Measurements (or texts) in Parquet files, read one file at a time.

    A column that was read or written is held, up to `held_bytes` in all, so that no file is read twice for it.
    """

    run: RunDirectory | None = None
    """Whose they are: what was fetched is there for as long as somebody has it."""

    def __init__(self, paths: Sequence[Path], *, held_bytes: int = 0, digests: Mapping[str, str] | None = None) -> None:
        if not paths:
            raise RunError("the run holds no measurements yet")
        for path in paths:
            if not path.is_file():
                raise damaged(path, "it is no plain file")
            # A byte that was changed need not be met by the reader of Parquet: it would be another figure.
            if digests and digests.get(path.name) != _digest(path):
                raise damaged(path, f"it is not the file that {MANIFEST} speaks of")
        self.paths = list(paths)
        self._held: dict[Path, pl.DataFrame] = {}
        self._bytes_left = held_bytes
        self._schema: pl.Schema | None = None
        self._height: int | None = None

    def hold(self, frames: Mapping[Path, pl.DataFrame]) -> None:
        """Take what was just written to some of the files, so that it is not read back."""
        for path, frame in frames.items():
            self._hold(path, frame, frame)

    def _hold(self, path: Path, frame: pl.DataFrame, new: pl.DataFrame) -> None:
        """Hold a file's columns, of which some are new, if there is room for these."""
        size = int(new.estimated_size())
        if size <= self._bytes_left:
            self._bytes_left -= size
            self._held[path] = frame

    @property
    def schema(self) -> pl.Schema:
        if self._schema is None:
            self._schema = _schema_of(self.paths[0])
        return self._schema

    @property
    def height(self) -> int:
        if self._height is None:
            try:
                self._height = int(pl.scan_parquet(self.paths).select(pl.len()).collect().item())
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
                self._height = sum(map(_height_of, self.paths))  # says which of them
        return self._height

    def rewrite(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        """Change every shard: the last first, as the first one's columns stand for all."""
        for path in reversed(self.paths):
            changed = change(_frame_of(path))
            _write_parquet(path, changed)
            if path in self._held:
                self._held[path] = changed
        self._schema = None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        # Texts of two inputs may differ in their columns: without names, each file has its own.
        for path in self.paths:
            wanted = list(_schema_of(path) if columns is None else columns)
            held = self._held.get(path, pl.DataFrame())
            missing = [column for column in wanted if column not in held.columns]
            if missing:
                read = lean(_frame_of(path, missing))
                held = pl.DataFrame([*held.get_columns(), *read.get_columns()])
                self._hold(path, held, read)
            yield full(held.select(wanted))


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _frame_of(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    with _shard_read(path):
        return pl.read_parquet(path, columns=None if columns is None else list(columns), memory_map=False)


def _schema_of(path: Path) -> pl.Schema:
    with _shard_read(path):
        return pl.Schema(pl.read_parquet_schema(path))


def _height_of(path: Path) -> int:
    with _shard_read(path):
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())


def _write_parquet(target: Path, frame: pl.DataFrame) -> None:
    with replacing(target) as stream:
        frame.write_parquet(stream, compression="zstd", compression_level=1, statistics=False)


@contextlib.contextmanager
def _shard_read(path: Path) -> Iterator[None]:
    """A file that is no Parquet, or not the one that was written, is told by its name."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if not path.is_file():
            raise damaged(path, "it is missing" if not os.path.lexists(path) else "it is no plain file") from None
        if isinstance(error, OSError) and error.errno is not None:
            raise
        words = " ".join(str(error).split())
        raise damaged(path, f"it cannot be read as Parquet ({words[:200]})") from None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _jsonable(value: Any) -> Any:
    """What the value is after a trip through JSON, so that it compares equal to what is read back."""
    return orjson.loads(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS, default=str))


def _changes(begun: Mapping[str, Any], current: Mapping[str, Any]) -> list[str]:
    """What differs between two plans, each in a few words: the option, what it was, what it is now."""
    changes = []
    for key in dict.fromkeys([*begun, *current]):
        was, now = _public(begun.get(key)), _public(current.get(key))
        if was == now:
            continue
        if key == "method" and isinstance(was, dict) and isinstance(now, dict):
            changes += _changes(was, now)
        elif key == "inputs" and _are_files(was or []) and _are_files(now or []):
            changes += _changed_files({i["path"]: i for i in was or []}, {i["path"]: i for i in now or []})
        else:
            name = key if len(key) <= 60 else f"{key[:60]}…"  # anybody may have changed the manifest
            changes.append(f"{name} was {_spelled(was)}, now {_spelled(now)}")
    return changes


def changes_told(begun: Mapping[str, Any], current: Mapping[str, Any]) -> str:
    """What differs between two plans in a few words; nothing where they are the same."""
    return _some(_changes(begun, current))


def _some(changes: Sequence[str]) -> str:
    more = len(changes) - MOST_CHANGES
    return "; ".join(changes[:MOST_CHANGES]) + (f"; and {more:,} more" if more > 0 else "")


def _public(value: Any) -> Any:
    """A part of a plan as it may be told: who asks an endpoint is no part of the work."""
    return public_text(value) if isinstance(value, str) else value


def _are_files(listed: Any) -> bool:
    """Whether these are files as a plan lists them: what somebody changed is not."""
    return isinstance(listed, list) and all(
        isinstance(file, dict)
        and isinstance(file.get("path"), str)
        and all(type(file.get(name)) is int and 0 <= file[name] < 1 << 62 for name in ("bytes", "modified"))
        for file in listed
    )


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), "an object" if value else "nothing")


def _changed_files(was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    changes = [f"{path} is no longer read" for path in was if path not in now]
    changes += [f"{path} was not read before" for path in now if path not in was]
    for path in was:
        if path in now and was[path] != now[path]:
            changes.append(f"{path} was {_version(was[path])}, now {_version(now[path])}")
    return changes or ["the inputs are in a different order"]


def _version(file: Mapping[str, Any]) -> str:
    changed = datetime.fromtimestamp(file["modified"] / 1e9, UTC).isoformat(sep=" ", timespec="milliseconds")
    return f"{file['bytes']:,} bytes (last changed {changed})"


def _spelled(value: Any, limit: int = 80) -> str:
    if value is None or value == [] or value == {}:
        return "not set"
    if isinstance(value, dict):
        text = ", ".join(f"{k}={v}" for k, v in value.items())
    elif isinstance(value, list):
        text = ", ".join("×".join(map(str, v)) if isinstance(v, list) else str(v) for v in value)
    else:
        text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
