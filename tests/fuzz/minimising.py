"""Makes an input small while it still shows what was found."""

from __future__ import annotations

import time
from collections.abc import Callable


def smallest(data: bytes, shows: Callable[[bytes], bool], seconds: float) -> bytes:
    """Take out lines, then pieces of halving size, then make bytes plain, as long as it still shows."""
    deadline = time.monotonic() + seconds
    if not shows(data):
        return data  # it needs what came before it
    for separator in (b"\n", b",", b" "):
        parts = data.split(separator)
        size = len(parts) // 2
        while size >= 1:
            at = 0
            while at < len(parts) and len(parts) > 1:
                if time.monotonic() > deadline:
                    return data
                shorter = parts[:at] + parts[at + size :]
                if shorter and shows(separator.join(shorter)):
                    parts, data = shorter, separator.join(shorter)
                else:
                    at += size
            size //= 2
    size = len(data) // 2
    while size >= 1:
        at = 0
        while at < len(data):
            if time.monotonic() > deadline:
                return data
            if shows(data[:at] + data[at + size :]):
                data = data[:at] + data[at + size :]
            else:
                at += size
        size //= 2
    return data
