"""From the name of an engine to an executor: the one interface that all of them have is `concurrent.futures`.

Who runs what and when, what is tried again when a worker dies, and how data travel is the executor's business.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from sensecheck.engine.workers import watch_parent
from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.runs.stopping import Stopped

PROCESSES, DASK = "processes", "dask"
_ADDRESSES = ("tcp://", "tls://", "ucx://", "ws://", "wss://")
_PARTS_A_WORKER = 4
"""Of a cluster: workers that join while the run is on find something to do, and one that dies loses little."""
_SECONDS_TO_CONNECT = 10
_SECONDS_FOR_WORKERS = 20
_SECONDS_TO_LEAVE = 5
"""A scheduler that is gone is not waited for."""


@dataclass(frozen=True)
class Engine:
    """An executor, and how many parts make good use of it."""

    executor: Executor
    parts: int
    afar: bool
    """Whether its tasks are handed to a scheduler, which others may look into."""

    def submit(self, function: Any, task: Any) -> Future[Any]:
        return self.executor.submit(function, task)


@contextlib.contextmanager
def opened(engine: Any) -> Iterator[Engine]:
    """An executor as it is given, or one made by its name; what is made here ends here."""
    if isinstance(engine, Executor):
        afar = not type(engine).__module__.startswith("concurrent.futures")
        yield Engine(engine, _width(engine), afar)
        return
    name, colon, number = engine.partition(":") if isinstance(engine, str) else ("", "", "")
    if isinstance(engine, str) and engine.startswith(_ADDRESSES):
        with _cluster(engine) as made:
            yield made
    elif name in (PROCESSES, DASK) and (not colon or (number.isdecimal() and int(number) > 0)):
        count = int(number) if number else _cores()
        with _processes(count) if name == PROCESSES else _local_cluster(count) as made:
            yield made
    else:
        raise InputError(
            field="engine",
            expected="processes[:N], dask[:N], tcp://HOST:8786 of a scheduler, or an Executor from Python",
            got=shown(engine, 60), reason=Reason.BAD_OPTION,
        )  # fmt: skip


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _width(executor: Executor) -> int:
    """How many tasks it runs at once, where it says so."""
    workers = getattr(executor, "_max_workers", None)
    return workers if isinstance(workers, int) and workers > 0 else _cores()


@contextlib.contextmanager
def _processes(count: int) -> Iterator[Engine]:
    # New programs: a copy of this one would copy locks that its threads hold.
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), initializer=watch_parent)
    try:
        yield Engine(pool, count, afar=False)
    except BaseException:
        # What is under way is of no use to anybody; its answers are on disk.
        for process in list((getattr(pool, "_processes", None) or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _local_cluster(count: int) -> Iterator[Engine]:
    distributed = _distributed()
    # One thread each: a shard uses the cores as it is, and one is measured at a time in a process.
    with (
        _quiet(),
        distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield _engine(client)


@contextlib.contextmanager
def _cluster(address: str) -> Iterator[Engine]:
    distributed = _distributed()
    with _quiet():
        try:
            client = distributed.Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(
                field="engine", expected=f"a Dask scheduler at {address}",
                got=" ".join(str(error).split())[:120] or "no answer", hint="Start one with: dask scheduler",
                reason=Reason.BAD_OPTION,
            ) from None  # fmt: skip
        try:
            yield _engine(client)
        finally:
            with contextlib.suppress(Exception):
                client.close(timeout=_SECONDS_TO_LEAVE)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What Dask and its event loop log of connections that break, with their own tracebacks, is told by us in one
    message.
    """
    loggers = [logging.getLogger(name) for name in (*_LOGGERS, *logging.root.manager.loggerDict) if _is_dasks(name)]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        gc.collect()  # a task that nobody waits for says so when it is thrown away
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


_LOGGERS = ("distributed", "asyncio", "tornado.application", "tornado.general")


def _is_dasks(name: str) -> bool:
    return name in _LOGGERS or name.startswith("distributed.")


def _engine(client: Any) -> Engine:
    try:
        # Those that were started a moment ago are on their way.
        client.wait_for_workers(1, timeout=_SECONDS_FOR_WORKERS)
    except TimeoutError:
        workers = 0
    else:
        workers = sum(client.nthreads().values())
    if not workers:
        raise Stopped("the Dask scheduler has no workers; start some with: dask worker --nthreads 1 ADDRESS")
    return Engine(client.get_executor(pure=False), workers * _PARTS_A_WORKER, afar=True)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError("--engine dask (engine=) needs Dask: pip install 'sensecheck[dask]'") from None
    return distributed
