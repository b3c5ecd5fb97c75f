"""One run measured by several processes: shards go out, their measurements come back, and are merged.

The shards lie beside the run, in OUT.shards, until all are measured: a run that was stopped goes on with what is there.
A worker that sees this folder works in it, so that what it was answered is safe at once; one that does not sends the
files of its shard back.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sensecheck.engine.executors import Engine, opened
from sensecheck.engine.workers import alone_in, is_copy, new_process, one_at_a_time, scratch, watch_parent
from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.network.address import holds_secrets
from sensecheck.report.calls import OF_ONE_RUN
from sensecheck.report.merging import merge, take_answers
from sensecheck.report.result import Result
from sensecheck.runs.directory import MEASURED, RunDirectory
from sensecheck.runs.shards import Shard
from sensecheck.runs.stopping import Stopped
from sensecheck.runs.writing import MANIFEST, RunError, remove, replace_file
from sensecheck.stages import MEASURING, stage

_MARK = "spread.json"
"""Says that a folder holds the shards of a run, how many there are, and by what a worker knows that it sees it."""


def spread(evaluate: Callable[..., Any], call: Mapping[str, Any]) -> Result:
    """What `evaluate` gives for the call, measured by its engine."""
    if call.get("shard") is not None:
        raise InputError("--shard (shard=) and --engine (engine=) both cut a run into parts: leave one out")
    given = {name: value for name, value in call.items() if name not in OF_ONE_RUN}
    if call.get("out") is not None:
        return _into(Path(os.path.abspath(call["out"])), evaluate, given, call)  # noqa: PTH100 - links stay links
    holder = tempfile.TemporaryDirectory(prefix="sensecheck-")
    try:
        result = _into(Path(holder.name) / "run", evaluate, given, call)
    except BaseException:
        holder.cleanup()
        raise
    result.directory = None
    weakref.finalize(result.rows, holder.cleanup)
    return result


def _into(out: Path, evaluate: Callable[..., Any], given: Mapping[str, Any], call: Mapping[str, Any]) -> Result:
    resume, overwrite = bool(call.get("resume")), bool(call.get("overwrite"))
    shards = out.with_name(out.name + ".shards")
    if not (shards / _MARK).exists():
        _remove_rest(shards)
        if resume and out.exists():
            # All was measured, or no engine was at work then.
            result: Result = evaluate(**given, out=out, resume=True)
            return result
    elif overwrite and not resume:
        _clear(shards)
    elif not resume:
        raise RunError(
            f"{shards} holds shards of an unfinished run; pass --resume (resume=True) to complete it, or --overwrite "
            "(overwrite=True) to begin again"
        )
    if not resume:
        RunDirectory.check(out, overwrite=overwrite)
    with opened(call["engine"]) as engine:
        if engine.afar:
            _refuse_secrets(given)
        marks = _begun(shards, engine.parts, overwrite=overwrite)
        tasks = [
            Task(evaluate, given, number, int(marks["count"]), str(shards), str(marks["token"]), str(out))
            for number in range(1, int(marks["count"]) + 1)
        ]
        try:
            _measure([task for task in tasks if not _is_measured(task.place)], len(tasks), engine)
        except ValueError:
            if {path.name for path in shards.glob("shard-*/*")} <= {MANIFEST}:
                _clear(shards)  # a slip of the pen leaves nothing behind
            raise
    again = bool(marks["overwrite"])
    merged = merge([task.place for task in tasks], out, resume=not again, overwrite=again, call=given)
    _clear(shards)
    return merged


def _begun(shards: Path, parts: int, *, overwrite: bool) -> dict[str, Any]:
    """What is said of the shards: as they were begun, or from now on."""
    if not (shards / _MARK).exists():
        shards.mkdir(parents=True, exist_ok=True)
        marks = {"count": parts, "token": secrets.token_hex(16), "overwrite": overwrite}
        replace_file(shards / _MARK, orjson.dumps(marks))
    try:
        marks = orjson.loads((shards / _MARK).read_bytes())
        if (
            type(marks["count"]) is not int
            or not 1 <= marks["count"] <= 1_000_000
            or not isinstance(marks["token"], str)
        ):
            raise ValueError("no marks of ours")
        return {"overwrite": False, **marks}
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{shards / _MARK} is damaged; remove {shards} and begin again with --overwrite") from None


def _clear(shards: Path) -> None:
    """Remove the folder; its mark goes first, so that what is left of it if that is cut off is known as waste."""
    remove(shards / _MARK)
    _remove_rest(shards)


def _remove_rest(shards: Path) -> None:
    if shards.is_dir() and not shards.is_symlink():
        for place in shards.glob("shard-*"):
            shutil.rmtree(place)
        remove(shards / f".{_MARK}.partial")
        with contextlib.suppress(OSError):  # somebody's own file is in it
            shards.rmdir()


def _is_measured(place: Path) -> bool:
    run = RunDirectory(place)
    return run.is_run() and run.manifest().get("state") == MEASURED


def _refuse_secrets(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        for text in _texts(value):
            if holds_secrets(text):
                raise InputError(
                    "holds a password or key, which is not sent to the workers of a cluster", field=name,
                    hint="Write ${NAME} in its place: workers take it from their own environment.",
                    reason=Reason.BAD_OPTION,
                )  # fmt: skip


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)


# ---- going out and coming back


@dataclass(frozen=True)
class Task:
    """One shard to be measured, wherever."""

    evaluate: Callable[..., Any]
    call: Mapping[str, Any]
    number: int
    count: int
    folder: str
    token: str
    out: str

    @property
    def place(self) -> Path:
        return Path(self.folder) / f"shard-{self.number:05d}"


@dataclass(frozen=True)
class Done:
    """What came of a task: the files of its shard, where its worker does not see the folder, or an error."""

    files: Mapping[str, bytes] | None = None
    error: Exception | None = None


def measure(task: Task) -> Done:
    """Measure a shard, in a process of its own."""
    watch_parent()
    if is_copy():
        with new_process() as pool:
            return pool.submit(measure, task).result()
    with one_at_a_time:
        try:
            return _measured(task)
        except Exception as error:
            return Done(error=_sendable(error))


def _measured(task: Task) -> Done:
    if _sees(task):
        task.place.mkdir(exist_ok=True)
        with alone_in(task.place):
            take_answers(Path(task.out), task.place)
            _evaluate(task, task.place)
        return Done()
    with tempfile.TemporaryDirectory(prefix="sensecheck-", dir=scratch()) as folder:
        place = Path(folder) / "shard"
        _evaluate(task, place)
        return Done({path.name: path.read_bytes() for path in place.iterdir() if path.is_file()})


def _evaluate(task: Task, place: Path) -> None:
    if not _is_measured(place):
        task.evaluate(**task.call, shard=Shard(task.number, task.count), out=place, resume=True)


def _sees(task: Task) -> bool:
    """Whether this process sees the folder of shards, and not another one that is called so."""
    try:
        return bool(orjson.loads((Path(task.folder) / _MARK).read_bytes())["token"] == task.token)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _sendable(error: Exception) -> Exception:
    """The error, or its words where it does not survive the way back."""
    with contextlib.suppress(Exception):
        if str(pickle.loads(pickle.dumps(error))) == str(error):
            return error
    return RunError(str(error)) if isinstance(error, ValueError) else RuntimeError(f"{type(error).__name__}: {error}")


def _measure(tasks: list[Task], count: int, engine: Engine) -> None:
    with stage(MEASURING, total=count, unit="shards") as advance:
        advance(count - len(tasks))
        futures: dict[Future[Done], Task] = {}
        try:
            for task in tasks:
                futures[engine.submit(measure, task)] = task
            for future in as_completed(futures):
                _take(future.result(), futures[future])
                advance(1)
        except (InputError, RunError, Stopped, ImportError):
            raise
        except BrokenProcessPool:
            raise Stopped("a worker process ended before its shard was measured (killed, or out of memory?)") from None
        except (CancelledError, TimeoutError, ConnectionError) as error:
            raise Stopped(f"the engine is gone ({type(error).__name__})") from None
        except Exception as error:
            if type(error).__module__.partition(".")[0] in ("distributed", "dask"):
                raise Stopped(f"the Dask cluster gave up: {type(error).__name__}: {error}") from None
            raise
        finally:
            for future in futures:
                future.cancel()


def _take(done: Done, task: Task) -> None:
    if done.error is not None:
        raise done.error
    if done.files is None:
        return
    coming = task.place.with_name(f"{task.place.name}.coming")
    for place in (coming, task.place):
        if place.exists():
            shutil.rmtree(place)
    coming.mkdir()
    for name, content in done.files.items():
        replace_file(coming / Path(name).name, content)
    coming.rename(task.place)
