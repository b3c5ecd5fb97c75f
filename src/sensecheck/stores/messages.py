"""Messages between the pool and its workers: a length, then JSON."""

from __future__ import annotations

import socket
import struct
from typing import Any

import orjson

LENGTH = struct.Struct("<I")


def receive(channel: socket.socket) -> Any:
    """One message, or None at the end of the stream."""
    header = _receive_exactly(channel, LENGTH.size)
    if header is None:
        return None
    body = _receive_exactly(channel, LENGTH.unpack(header)[0])
    return None if body is None else orjson.loads(body)


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
