"""Small zip archives as inspect_ai writes them, packed by any method: Python's own writer knows method 93 only from 3.14."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from typing import Any

import zstandard

STORED, DEFLATED, ZSTANDARD = 0, 8, 93


def archive(entries: Iterable[tuple[str, Any]], method: int = ZSTANDARD, **lies: int) -> bytes:
    """An archive of these texts (or values, as JSON).

    lies: what headers say instead of the truth: `flags`, `checksum`, `packed`, `unpacked`, `at`, `method`, `count`.
    """
    body, directory, count = b"", b"", 0
    for name, content in entries:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        packed = data
        if method == ZSTANDARD:
            packed = zstandard.compress(data)
        elif method == DEFLATED:
            packer = zlib.compressobj(wbits=-15)
            packed = packer.compress(data) + packer.flush()
        told = {
            "flags": 0,
            "method": method,
            "checksum": zlib.crc32(data),
            "packed": len(packed),
            "unpacked": len(data),
        }
        told |= {"at": len(body), **lies}
        shared = struct.pack(
            "<3H4x3L2H", 20, told["flags"], told["method"], told["checksum"], told["packed"], told["unpacked"],
            len(name.encode()), 0,
        )  # fmt: skip
        rest = struct.pack("<3H2L", 0, 0, 0, 0, told["at"])  # comment, disk, attributes, place
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + shared + rest + name.encode()
        body += b"PK\x03\x04" + shared + name.encode() + packed
        count += 1
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, lies.get("count", count), lies.get("count", count),
                      len(directory), len(body), 0)  # fmt: skip
    return body + directory + end
