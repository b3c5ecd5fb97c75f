"""A progress line on anything over a second; silent when nobody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE = 1.0
_EVERY = 0.2


@contextmanager
def progress(what: str, unit: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yields a function to call with the number of things done."""
    if not sys.stderr.isatty():
        yield lambda _count: None
        return
    start = shown = time.monotonic()
    done = 0
    drawn = False

    def advance(count: int) -> None:
        nonlocal done, shown, drawn
        done += count
        now = time.monotonic()
        if now - start < _PATIENCE or now - shown < _EVERY:
            return
        shown, drawn = now, True
        rate = done / (now - start)
        of = f" of {total:,}" if total else ""
        left = f", {(total - done) / rate:,.0f} s left" if total and rate else ""
        sys.stderr.write(f"\r\x1b[K{what}: {done:,}{of} {unit}, {rate:,.0f} a second{left}")
        sys.stderr.flush()

    try:
        yield advance
    finally:
        if drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
