"""What a process that works for another keeps to: it ends with it, and puts what it makes where nothing is left."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

one_at_a_time = threading.Lock()
"""A process measures one shard at a time, however many threads its executor gives it."""
_watching = threading.Event()


def watch_parent() -> None:
    """End this process when the one that started it is gone: nobody waits for its work any more."""
    parent = multiprocessing.parent_process()
    if parent is None or _watching.is_set():
        return
    _watching.set()

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, name="sensecheck-parent", daemon=True).start()


def is_copy() -> bool:
    """Whether this process was forked from another, which had threads that the copy has not, and waits for."""
    return type(multiprocessing.current_process()).__name__ == "ForkProcess"


def new_process() -> ProcessPoolExecutor:
    """A process that began as a new program."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=watch_parent)


def scratch() -> str | None:
    """Where a worker's passing files go: a Dask worker has a folder that is removed with it, also when it is killed."""
    distributed: Any = sys.modules.get("distributed")
    with contextlib.suppress(Exception):
        return str(distributed.get_worker().local_directory)
    return None


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process works in this folder: a task that was given away may still be at work."""
    try:
        import fcntl
    except ImportError:  # there is no such lock on Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
