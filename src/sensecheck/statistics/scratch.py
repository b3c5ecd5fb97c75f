"""Buffers of each thread's own: fresh memory would cost more than the arithmetic done in it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LOCAL = threading.local()
_PAGE = 4096


def scratch(name: str, size: int, dtype: type[np.generic] = np.float64) -> NDArray[Any]:
    """`size` elements that hold whatever was left there; the next call under the same name gets the same memory.

    It starts at a page: vectors that lie across cache lines take twice as long.
    """
    buffers: dict[str, NDArray[np.uint8]] = _LOCAL.__dict__.setdefault("buffers", {})
    buffer = buffers.get(name)
    needed = size * np.dtype(dtype).itemsize
    if buffer is None or len(buffer) < needed:
        raw = np.empty(needed + _PAGE, dtype=np.uint8)
        first = -raw.ctypes.data % _PAGE
        buffer = buffers[name] = raw[first : first + needed]
    return buffer[:needed].view(dtype)
