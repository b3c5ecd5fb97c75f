"""A run is a directory.

    manifest.json               options, signature, versions, inputs with their sha256, times, state
    measurements-00000.parquet  one row for every example; first column `id`
    examples-00000.parquet      the examples' texts, for reading and for the report
    summary.json                the figures; no times, so that equal runs give equal files
    report.html

Every file is written under another name, then renamed: a killed run leaves whole files only. A shard is the
result of one batch of input, so the shards that exist say where to go on.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from sensecheck._version import __version__
from sensecheck.network.address import public_text

HELD_ROWS = 1_000_000
"""Rows of measurements that are held in memory; more are read from their files each time."""
MANIFEST = "manifest.json"
SUMMARY = "summary.json"
REPORT = "report.html"
MANIFEST_SCHEMA = "sensecheck.manifest/1"
_PLAIN = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY


class RunError(ValueError):
    """A run directory that cannot be used as asked; the message says what to do."""


class RunDirectory:
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    # -- opening ---------------------------------------------------------------------------------------------

    @classmethod
    def begin(
        cls, path: str | os.PathLike[str], plan: Mapping[str, Any], *, resume: bool = False, overwrite: bool = False
    ) -> RunDirectory:
        """Create a run directory, or open one that was interrupted.

        `plan` is what makes two runs the same work (question, method, inputs); a run is resumed only under the
        plan it was begun with.
        """
        run = cls(path)
        if run.path.exists() and not run.path.is_dir():
            raise RunError(f"{run.path} is a file; --out (out=) takes a directory")
        # A run that was stopped before anything was measured (a bad option, say) is in nobody's way.
        occupied = run.path.is_dir() and any(run.path.iterdir()) and not run._is_bare()
        if occupied and not run.is_run():
            raise RunError(f"{run.path} is not empty and holds no run; choose another directory for --out (out=)")
        if occupied and resume:
            run._check_plan(plan)
            run._clear_leftovers()
            # The plan anew: an earlier version may have written an address with its password into it.
            run._write(MANIFEST, {**run.manifest(), "state": "running", "plan": _jsonable(plan)})
            return run
        if occupied and overwrite:
            for name in [MANIFEST, SUMMARY, REPORT]:
                (run.path / name).unlink(missing_ok=True)
            for shard in [*run.shards("measurements"), *run.shards("examples")]:
                shard.unlink()
        elif occupied:
            state = run.manifest().get("state")
            advice = (
                "--resume (resume=True) to complete it"
                if state == "running"
                else "--overwrite (overwrite=True) to replace it"
            )
            raise RunError(f"{run.path} already holds a {state} run; pass {advice}, or choose another directory")
        run.path.mkdir(parents=True, exist_ok=True)
        run._write(
            MANIFEST,
            {
                "schema": MANIFEST_SCHEMA,
                "state": "running",
                "plan": _jsonable(plan),
                "sensecheck": __version__,
                "python": platform.python_version(),
                "polars": pl.__version__,
                "started": _now(),
            },
        )
        return run

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> RunDirectory:
        """Open a finished or interrupted run for reading."""
        run = cls(path)
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

    def _is_bare(self) -> bool:
        """Whether nothing but the manifest of an unfinished run is here."""
        names = {p.name for p in self.path.iterdir() if not (p.name.startswith(".") and p.name.endswith(".partial"))}
        return not names or (names == {MANIFEST} and self.is_run() and self.manifest().get("state") == "running")

    def _check_plan(self, plan: Mapping[str, Any]) -> None:
        changes = _changes(self.manifest().get("plan", {}), _jsonable(plan))
        if changes:
            raise RunError(
                f"{self.path} was started differently and cannot be resumed: {'; '.join(changes)}. "
                "Resume with the same inputs and options, or choose another directory."
            )

    def _clear_leftovers(self) -> None:
        for leftover in self.path.glob(".*.partial"):
            leftover.unlink()
        # Texts are renamed before measurements: a shard of texts alone belongs to a batch that was cut off.
        for extra in self.shards("examples")[self.completed() :]:
            extra.unlink()

    # -- files -----------------------------------------------------------------------------------------------

    def manifest(self) -> dict[str, Any]:
        loaded = orjson.loads((self.path / MANIFEST).read_bytes())
        if not isinstance(loaded, dict):
            raise ValueError(f"{self.path / MANIFEST} does not hold a JSON object")
        return loaded

    def summary(self) -> dict[str, Any]:
        try:
            loaded: dict[str, Any] = orjson.loads((self.path / SUMMARY).read_bytes())
        except FileNotFoundError:
            raise RunError(
                f"{self.path} has no {SUMMARY}: the run did not finish; complete it with --resume (resume=True)"
            ) from None
        except ValueError:
            raise RunError(f"{self.path / SUMMARY} is damaged; run again with --overwrite (overwrite=True)") from None
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
            _write_parquet(self.path / f"examples-{index:05d}.parquet", examples)
        target = self.path / f"measurements-{index:05d}.parquet"
        _write_parquet(target, measurements)
        return target

    def finish(self, summary: Mapping[str, Any], *, inputs: Sequence[Mapping[str, Any]]) -> None:
        self._write(SUMMARY, _jsonable(summary))
        self._write(
            MANIFEST,
            {
                **self.manifest(),
                "state": "complete",
                "signature": _jsonable(summary.get("signature")),
                "inputs": _jsonable(list(inputs)),
                "finished": _now(),
            },
        )

    def write_text(self, name: str, text: str) -> Path:
        with _replacing(self.path / name) as partial:
            partial.write_text(text, encoding="utf-8")
        return self.path / name

    def _write(self, name: str, content: Mapping[str, Any]) -> None:
        with _replacing(self.path / name) as partial:
            partial.write_bytes(orjson.dumps(content, option=_PLAIN))

    # -- reading ---------------------------------------------------------------------------------------------

    def measurements(self) -> Shards:
        return Shards(self.shards("measurements"), held_rows=HELD_ROWS)

    def examples(self) -> Shards | None:
        shards = self.shards("examples")
        return Shards(shards) if shards else None

    def discard(self) -> None:
        """Remove the whole directory (used for temporary runs only)."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.path)


class Shards:
    """Measurements (or texts) in Parquet files, read one file at a time.

    Up to `held_rows` rows in all, a column that was read or written is held, so that no file is read twice for it.
    """

    def __init__(self, paths: Sequence[Path], *, held_rows: int = 0) -> None:
        if not paths:
            raise RunError("the run holds no measurements yet")
        self.paths = list(paths)
        self._held_rows = held_rows
        self._held: dict[Path, pl.DataFrame] = {}
        self._schema: pl.Schema | None = None
        self._height: int | None = None

    def hold(self, frames: Mapping[Path, pl.DataFrame]) -> None:
        """Take what was just written to some of the files, so that it is not read back."""
        self._held.update(frames)

    @property
    def schema(self) -> pl.Schema:
        if self._schema is None:
            self._schema = pl.Schema(pl.read_parquet_schema(self.paths[0]))
        return self._schema

    @property
    def height(self) -> int:
        if self._height is None:
            self._height = int(pl.scan_parquet(self.paths).select(pl.len()).collect().item())
        return self._height

    def rewrite(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
        """Change every shard: the last first, as the first one's columns stand for all."""
        for path in reversed(self.paths):
            changed = change(pl.read_parquet(path, memory_map=False))
            _write_parquet(path, changed)
            if path in self._held:
                self._held[path] = changed
        self._schema = None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        # Texts of two inputs may differ in their columns: without names, each file has its own.
        holds = bool(self._held_rows) and self.height <= self._held_rows
        for path in self.paths:
            if not holds:
                yield pl.read_parquet(path, columns=None if columns is None else list(columns), memory_map=False)
                continue
            wanted = list(pl.read_parquet_schema(path) if columns is None else columns)
            if path not in self._held:
                self._held[path] = pl.read_parquet(path, columns=wanted, memory_map=False)
            held = self._held[path]
            missing = [column for column in wanted if column not in held.columns]
            if missing:
                held = held.hstack(pl.read_parquet(path, columns=missing, memory_map=False).get_columns())
                self._held[path] = held
            yield held.select(wanted)


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Another name to write a file under; it is renamed once it is whole."""
    partial = target.with_name(f".{target.name}.partial")
    yield partial
    partial.replace(target)


def _write_parquet(target: Path, frame: pl.DataFrame) -> None:
    with _replacing(target) as partial:
        frame.write_parquet(partial, compression="zstd", compression_level=1, statistics=False)


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
        elif key == "inputs" and all(isinstance(i, dict) for i in [*(was or []), *(now or [])]):
            changes += _changed_files({i["path"]: i for i in was or []}, {i["path"]: i for i in now or []})
        else:
            changes.append(f"{key} was {_spelled(was)}, now {_spelled(now)}")
    return changes


def _public(value: Any) -> Any:
    """A part of a plan as it may be told: who asks an endpoint is no part of the work."""
    return public_text(value) if isinstance(value, str) else value


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
