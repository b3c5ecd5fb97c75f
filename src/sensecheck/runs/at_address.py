"""A run that is kept at an address of an object store.

Stores hold whole objects and know no renaming: a run is measured in a folder of this machine and put there when it is
whole. Its manifest goes first, as that of an unfinished run, and last, as that of a complete one; so what is at the
address is never taken for more than it is, however far the putting came. The folder stays where the run was stopped or
could not be put, and the same command with --resume goes on from it; on another machine, from what is at the address.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import weakref
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import orjson

from sensecheck._version import __version__
from sensecheck.inputs.addresses import Fetching, faults_told, is_of_store, locked, renamed, store_faults, system_of
from sensecheck.inputs.errors import InputError
from sensecheck.runs.directory import KINDS, MANIFEST_SCHEMA, REPORT, RUNNING, SUMMARY, RunDirectory
from sensecheck.runs.stopping import Stopped
from sensecheck.runs.writing import MANIFEST, RunError

_Made = TypeVar("_Made")


def kept_at(
    address: str, make: Callable[[Path, bool, bool], _Made], *, resume: bool, overwrite: bool
) -> tuple[_Made, Callable[[], None]]:
    """What `make(folder, resume, overwrite)` makes of a run in a folder of this machine, which is then put at the
    address; and what removes that folder, once nobody reads from it.
    """
    place = _Place(address)
    folder = _folder_of(address)
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = locked(_lock_of(folder), make=True)
    if lock is None:
        raise RunError(f"{place.address} is being measured by another process of this machine; wait for it")
    remove = _Removing(folder, lock)
    try:
        with renamed({str(folder): place.address}), faults_told():
            if not resume:
                place.refuse_occupied(overwrite=overwrite)
                here = RunDirectory(folder)
                if here.is_run() and here.manifest().get("state") != RUNNING and not overwrite:
                    raise RunError(
                        f"the run for {place.address} is measured and could not be put there; pass --resume "
                        "(resume=True) to put it there, or --overwrite (overwrite=True) to measure again"
                    )
                RunDirectory.check(folder, overwrite=overwrite)
            elif not RunDirectory(folder).is_run():
                place.take_up(folder)
            claimed = place.claim()
            try:
                made = make(folder, resume, overwrite)
            except ValueError:
                if not resume and _is_bare(folder):
                    remove()
                    if claimed:
                        place.give_up()
                raise
            except Stopped as error:
                raise Stopped(f"{error} Until the run is complete, it lies in {folder}.") from None
        place.put(folder)
    except BaseException:
        remove.unlock()
        raise
    return made, remove


class _Removing:
    """Removes a folder that one process works in."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock: int | None = lock

    def __call__(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.unlock()

    def unlock(self) -> None:
        if self._lock is not None:
            with contextlib.suppress(OSError):
                _lock_of(self.folder).unlink()
            os.close(self._lock)
            self._lock = None


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def _folder_of(address: str) -> Path:
    """Where a run that goes to an address is measured: the same for the same address, so that it can be taken up."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "sensecheck" / f"out-{hashlib.sha256(address.rstrip('/').encode()).hexdigest()[:20]}"


def _is_bare(folder: Path) -> bool:
    """Whether nothing was measured or answered."""
    return not folder.is_dir() or {path.name for path in folder.iterdir()} <= {MANIFEST}


class _Place:
    """An address and what lies there."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self.system, self.path = system_of(self.address)

    def names(self) -> list[str]:
        """The files of the run that is there."""
        with store_faults(self.address):
            self.system.invalidate_cache()
            try:
                found = self.system.find(self.path, maxdepth=1)
            except FileNotFoundError as error:
                if is_of_store(error):
                    raise
                return []
            return [name.rpartition("/")[2] for name in found if not name.endswith("/")]

    def manifest(self) -> dict[str, Any] | None:
        with store_faults(self.address):
            try:
                content = self.system.cat_file(f"{self.path}/{MANIFEST}")
            except FileNotFoundError:
                return None
        with contextlib.suppress(ValueError):
            manifest = orjson.loads(content)
            if isinstance(manifest, dict) and str(manifest.get("schema", "")).startswith("sensecheck.manifest/"):
                return manifest
        return None

    def refuse_occupied(self, *, overwrite: bool) -> None:
        """As for a folder: nothing of somebody else is replaced, and a run only if that is asked for."""
        names = self.names()
        if not names:
            return
        manifest = self.manifest() if MANIFEST in names else None
        if manifest is None:
            raise RunError(f"{self.address} is not empty and holds no run; choose another address for --out (out=)")
        unfinished = manifest.get("state") == RUNNING
        if overwrite or (unfinished and names == [MANIFEST]):
            return
        if unfinished:
            raise RunError(
                f"{self.address} already holds an unfinished run; pass --resume (resume=True) to complete it, "
                "--overwrite (overwrite=True) to replace it, or choose another address"
            )
        raise RunError(
            f"{self.address} already holds a complete run; pass --overwrite (overwrite=True) to replace it, or choose "
            "another address"
        )

    def take_up(self, folder: Path) -> None:
        """Fetch what is at the address into a folder of this machine, to go on from it."""
        if set(self.names()) <= {MANIFEST} or self.manifest() is None:
            return
        with Fetching() as fetch:
            fetched = fetch.fetched(self.address)
            assert isinstance(fetched, str)
            folder.mkdir(parents=True, exist_ok=True)
            for file in sorted(Path(fetched).iterdir(), key=lambda file: file.name == MANIFEST):
                if file.is_file():
                    shutil.copyfile(file, folder / file.name)

    def claim(self) -> bool:
        """Say that a run will be here, where nothing is: whoever may not write is told now, and not after all work."""
        if self.names():
            return False
        started = datetime.now(UTC).isoformat(timespec="seconds")
        with store_faults(self.address, "written"):
            self._pipe({"schema": MANIFEST_SCHEMA, "state": RUNNING, "sensecheck": __version__, "started": started})
        return True

    def give_up(self) -> None:
        with contextlib.suppress(Exception):
            self.system.rm_file(f"{self.path}/{MANIFEST}")

    def put(self, folder: Path) -> None:
        """Put a run there, whole and last."""
        try:
            self._put(RunDirectory(folder))
        except (InputError, RunError) as error:
            raise Stopped(
                f"{error} The run is measured and kept in {folder}; the same command with --resume (resume=True) puts "
                "it there"
            ) from None

    def _put(self, run: RunDirectory) -> None:
        final = run.manifest()
        with store_faults(self.address, "written"):
            before = self.manifest()
            if before is not None:
                self._pipe({**before, "state": RUNNING})
            # Nothing of another run may be taken for a part of this one; without a summary there are no figures.
            for name in sorted(self.names(), key=lambda name: name != SUMMARY):
                if name != MANIFEST:
                    self.system.rm_file(f"{self.path}/{name}")
            self._pipe({**final, "state": RUNNING})
            for name in _in_order(run):
                target = f"{self.path}/{name}"
                self.system.put_file(str(run.path / name), target)
            self.system.invalidate_cache()
            for name in _in_order(run):
                size = self.system.info(f"{self.path}/{name}").get("size")
                if size != (run.path / name).stat().st_size:
                    raise OSError(f"{name} did not arrive whole")
            self._pipe(final)

    def _pipe(self, manifest: Mapping[str, Any]) -> None:
        self.system.pipe_file(f"{self.path}/{MANIFEST}", orjson.dumps(manifest, option=orjson.OPT_INDENT_2))


def _in_order(run: RunDirectory) -> list[str]:
    """A run's files as they are put: kept answers, texts before the measurements of their batch, figures last."""
    names = [path.name for path in run.path.iterdir() if path.is_file() and not path.name.startswith(".")]
    batches = [name for name in names if name.startswith(KINDS) and name.endswith(".parquet")]
    batches.sort(key=lambda name: (name.partition("-")[2], name))
    last = [name for name in (REPORT, SUMMARY) if name in names]
    first = sorted({*names} - {*batches, *last, MANIFEST})
    return [*first, *batches, *last]


def opened_at(address: str) -> RunDirectory:
    """A run at an address, fetched for as long as somebody reads from it."""
    place = _Place(address)
    if place.manifest() is None:
        raise RunError(f"no such run: {place.address} (there is no readable {MANIFEST})")
    fetch = Fetching()
    try:
        fetched = fetch.fetched(place.address)
        assert isinstance(fetched, str)
        run = RunDirectory(fetched)
    except BaseException:
        fetch.close()
        raise
    run.address = place.address
    weakref.finalize(run, fetch.close)
    return run


def put_report(run: RunDirectory) -> str:
    """Put a report that was written anew beside its run; gives its address."""
    assert run.address is not None
    place = _Place(run.address)
    with store_faults(place.address, "written"):
        place.system.put_file(str(run.path / REPORT), f"{place.path}/{REPORT}")
    return f"{place.address}/{REPORT}"
