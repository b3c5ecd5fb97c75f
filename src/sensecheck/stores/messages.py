"""Messages between the pool and its workers: a length, then JSON."""

from __future__ import annotations

import socket
import struct
from typing import Any

import orjson

LENGTH = struct.Struct("<I")
MOST_BYTES = 64 << 20
"""Of a message that is no answer: a request, a setting, a report of how a process fares."""


class MessageError(ValueError):
    """A message that the other side cannot have meant."""


def receive(channel: socket.socket) -> Any:
    """One message, or None at the end of the stream."""
    header = _receive_exactly(channel, LENGTH.size)
    if header is None:
        return None
    size = LENGTH.unpack(header)[0]
    if size > MOST_BYTES:
        raise MessageError(f"a message of {size:,} bytes")
    body = _receive_exactly(channel, size)
    if body is None:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MessageError(str(error)) from None


def _receive_exactly(channel: socket.socket, size: int) -> bytes | None:
    pieces: list[bytes] = []
    while size:
        piece = channel.recv(min(size, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def send(channel: socket.socket, message: Any) -> None:
    body = orjson.dumps(message)
    channel.sendall(LENGTH.pack(len(body)) + body)
