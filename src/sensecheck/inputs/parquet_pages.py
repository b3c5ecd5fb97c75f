"""Whether the counts and sizes in a Parquet file can be true, before anything is allocated by them.

A reader that believes a count of −4 values asks for 2·10^18 bytes, and the process ends. The headers of all pages are
read here, some 30 µs each, and nothing of their content.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from sensecheck.inputs.hugging_face import DamagedError

_MARK = b"PAR1"
_HEADER_BYTES = 512
_MOST_HEADER_BYTES = 1 << 24
_MOST_FOOTER_BYTES = 1 << 30
_MOST_DEPTH = 32
_PAGES = {0: 5, 2: 7, 3: 8}
"""The type of a page → the field of its header that holds its own: data, dictionary, data of the second version."""
_INDEX_PAGE = 1
_UNCOMPRESSED, _SNAPPY, _ZSTD = 0, 1, 6
_ZSTD_MARK = b"\x28\xb5\x2f\xfd"


def check_pages(path: Path) -> None:
    """Refuse a file whose counts and sizes cannot be true."""
    size = path.stat().st_size
    with path.open("rb") as file:
        for chunk in _chunks(file, size):
            _check_chunk(file, size, chunk)


def _chunks(file: BinaryIO, size: int) -> Iterator[dict[int, Any]]:
    """What the footer says of each column of each group of rows."""
    if size < 12:
        raise DamagedError("shorter than any Parquet file")
    file.seek(size - 8)
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MARK or not 0 < length <= min(size - 12, _MOST_FOOTER_BYTES):
        raise DamagedError("no footer")
    file.seek(size - 8 - length)
    footer = _Compact(file.read(length)).struct()
    for group in _list(footer, 4):
        rows = _whole(group, 3)
        for column in _list(group, 1):
            chunk = column.get(3)
            if column.get(1):
                raise DamagedError("columns in another file")
            if not isinstance(chunk, dict):
                raise DamagedError("a column that is not described")
            if _whole(chunk, 5) < rows:
                raise DamagedError("fewer values than rows")
            yield chunk


def _list(fields: dict[int, Any], number: int) -> list[dict[int, Any]]:
    value = fields.get(number)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise DamagedError("a list of the footer is missing")
    return value


def _whole(fields: dict[int, Any], number: int) -> int:
    """A count or a size: a whole number that is not negative."""
    value = fields.get(number)
    if type(value) is not int or value < 0:
        raise DamagedError("a count or size that is none")
    return value


def _check_chunk(file: BinaryIO, size: int, chunk: dict[int, Any]) -> None:
    values, codec = _whole(chunk, 5), _whole(chunk, 4)
    start = _whole(chunk, 9)
    if type(chunk.get(11)) is int and 0 < chunk[11] < start:  # its dictionary stands before its data
        start = chunk[11]
    end = start + _whole(chunk, 7)
    if end > size:
        raise DamagedError("a column behind the end of the file")
    counted, at = 0, start
    while at < end and counted < values:
        header, length = _header(file, at, end)
        packed, unpacked = _whole(header, 3), _whole(header, 2)
        at += length
        if at + packed > end:
            raise DamagedError("a page behind the end of its column")
        kind = _whole(header, 1)
        own = header.get(_PAGES.get(kind, -1))
        if kind != _INDEX_PAGE and not isinstance(own, dict):
            raise DamagedError("a page that is not described")
        if isinstance(own, dict):
            held = _whole(own, 1)
            if kind == 2:
                if held > unpacked:
                    raise DamagedError("a dictionary of more values than bytes")
            else:
                counted += held
                if counted > values:
                    raise DamagedError("more values than the column has")
            levels = _whole(own, 5) + _whole(own, 6) if kind == 3 else 0
            if levels > min(packed, unpacked):
                raise DamagedError("levels longer than their page")
            is_packed = not (kind == 3 and own.get(7) is False)
            _check_size(file, at + levels, packed - levels, unpacked - levels, codec if is_packed else _UNCOMPRESSED)
        at += packed


def _check_size(file: BinaryIO, at: int, packed: int, unpacked: int, codec: int) -> None:
    """Whether a page unpacks to what its header says, as far as the packed bytes themselves say."""
    if codec == _UNCOMPRESSED:
        told: int | None = packed
    elif codec in (_SNAPPY, _ZSTD) and packed:
        file.seek(at)
        begin = file.read(min(packed, 18))
        told = _snappy_length(begin) if codec == _SNAPPY else _zstd_length(begin)
    else:
        told = None
    if told is not None and told != unpacked:
        raise DamagedError("a page that unpacks to another size")


def _snappy_length(begin: bytes) -> int:
    value = 0
    for place, byte in enumerate(begin[:5]):
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            return value
    raise DamagedError("a packed page without its length")


def _zstd_length(begin: bytes) -> int | None:
    """The length in the header of a zstd frame, where it is the only one that can be told without unpacking."""
    if begin[:4] != _ZSTD_MARK or len(begin) < 6:
        return None
    described = begin[4]
    single = bool(described & 0x20)
    at = 5 + (0 if single else 1) + (0, 1, 2, 4)[described & 3]
    flag = described >> 6
    width = (1 if single else 0, 2, 4, 8)[flag]
    if not width or len(begin) < at + width:
        return None
    return int.from_bytes(begin[at : at + width], "little") + (256 if width == 2 else 0)


def _header(file: BinaryIO, at: int, end: int) -> tuple[dict[int, Any], int]:
    """The header of a page, and how long it is."""
    wanted = _HEADER_BYTES
    while True:
        file.seek(at)
        text = file.read(min(wanted, end - at))
        reader = _Compact(text)
        try:
            return reader.struct(), reader.at
        except _CutError:
            if len(text) < wanted or wanted >= _MOST_HEADER_BYTES:
                raise DamagedError("a page whose header does not end") from None
            wanted *= 16


class _CutError(DamagedError):
    """The text ends before the value does."""


class _Compact:
    """Thrift's compact protocol: fields by their numbers, and how far was read."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at = text, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _MOST_DEPTH:
            raise DamagedError("nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while (first := self._byte()) != 0:
            step, kind = first >> 4, first & 15
            number = number + step if step else self._zigzag()
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            return self._items(depth)
        if kind == 12:
            return self.struct(depth + 1)
        raise DamagedError("a field of no known kind")

    def _items(self, depth: int) -> list[Any]:
        if depth > _MOST_DEPTH:
            raise DamagedError("nested too deeply")
        first = self._byte()
        count, kind = first >> 4, first & 15
        count = self._varint() if count == 15 else count
        if count > len(self.text) - self.at:  # each item has at least a byte
            raise _CutError("a list longer than the text")
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        if self.at >= len(self.text):
            raise _CutError("the text ends early")
        self.at += 1
        return self.text[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        if count > len(self.text) - self.at:
            raise _CutError("the text ends early")
        self.at += count
        return self.text[self.at - count : self.at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise DamagedError("a number of too many bytes")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
