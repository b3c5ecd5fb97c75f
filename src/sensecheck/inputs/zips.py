"""Entries of a zip archive, one at a time, in bounded memory: stored, deflated, or packed with Zstandard (method 93).

Python's own reader knows method 93 only from 3.14 on. Nothing is ever written to disk. Whatever an archive says of
itself is checked: where its entries lie, how long they are, what they hold.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import zstandard

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.opening import MAX_DOCUMENT_BYTES, MAX_EXPANSION, MAX_UNPACKED_BYTES, Source
from sensecheck.inputs.reasons import Reason

MAGIC = b"PK\x03\x04"
MOST_ENTRIES = 1_000_000

_DIRECTORY_ENTRY = struct.Struct("<4s4x2H4x3L5H2L")
_LOCAL_ENTRY = struct.Struct("<4s2x2H16x2H")
_END = struct.Struct("<4s4x2H2LH")
_END_64 = struct.Struct("<4s28xQQQ")
_LOCATOR_64 = struct.Struct("<4s4xQ4x")
_LONGEST_END = _END.size + 0xFFFF
_FULL = 0xFFFFFFFF
"""A size or place that does not fit: it stands in the extra field."""
_PIECE_BYTES = 1024 * 1024
_STORED, _DEFLATED, _ZSTANDARD = 0, 8, 93
_ENCRYPTED = 0x2041  # the entry, strongly, or its place in the directory
_REMAKE = "Make or fetch the file again."


class Entry(NamedTuple):
    """What the directory says of an entry."""

    name: str
    method: int
    flags: int
    checksum: int
    packed: int
    unpacked: int
    at: int
    """Where its own header begins."""
    end: int
    """Where the next entry or the directory begins."""


def names_at_start(data: bytes) -> Iterator[str]:
    """The names of the first entries, as far as the beginning of an archive tells where the next one lies."""
    at = 0
    while len(data) >= at + 30 and data[at : at + 4] == MAGIC:
        flags, (packed,) = data[at + 6], struct.unpack_from("<L", data, at + 18)
        name, extra = struct.unpack_from("<2H", data, at + 26)
        yield data[at + 30 : at + 30 + name].decode("utf-8", "replace")
        if flags & 8 or packed == _FULL:
            return
        at += 30 + name + extra + packed


class Archive:
    """A zip archive that is open for reading."""

    def __init__(self, source: Source) -> None:
        self.path = source.name
        self._file: BinaryIO
        if source.path is not None:
            source.digest_file()
            self._file = source.path.open("rb")
        else:
            assert source.stream is not None
            data = source.stream.read(MAX_DOCUMENT_BYTES + 1)
            if len(data) > MAX_DOCUMENT_BYTES:
                raise self._bad(
                    f"is larger than {MAX_DOCUMENT_BYTES:,} bytes",
                    "Name the file: what comes through a pipe is held whole.", Reason.DOCUMENT_TOO_LARGE,
                )  # fmt: skip
            source.sha256, source.raw_bytes = hashlib.sha256(data).hexdigest(), len(data)
            self._file = io.BytesIO(data)
        self._bytes = source.raw_bytes
        self._left = max(MAX_UNPACKED_BYTES, MAX_EXPANSION * source.raw_bytes)
        self.entries = {entry.name: entry for entry in self._directory()}

    def close(self) -> None:
        self._file.close()

    # ---- the directory at the end

    def _directory(self) -> list[Entry]:
        count, size, start = self._end()
        if count > MOST_ENTRIES or size > 512 * MOST_ENTRIES:
            raise self._bad(f"has more than {MOST_ENTRIES:,} entries", "Is this the right file?", Reason.TOO_LARGE)
        if start + size > self._bytes:
            raise self._cut_off()
        directory = self._at(start, size)
        found: list[Entry] = []
        at = 0
        while at < size:
            if size - at < _DIRECTORY_ENTRY.size or len(found) >= MOST_ENTRIES:
                raise self._damaged("its directory ends in the middle of an entry")
            fields = _DIRECTORY_ENTRY.unpack_from(directory, at)
            magic, flags, method, checksum, packed, unpacked, name, extra, comment, _, _, _, place = fields
            if magic != b"PK\x01\x02":
                raise self._damaged("its directory holds something that is no entry")
            begin = at + _DIRECTORY_ENTRY.size
            at = begin + name + extra + comment
            if at > size:
                raise self._damaged("its directory ends in the middle of an entry")
            called = directory[begin : begin + name].decode("utf-8" if flags & 0x800 else "cp437", "replace")
            unpacked, packed, place = self._wide(
                directory[begin + name : begin + name + extra], unpacked, packed, place, called
            )
            found.append(Entry(called, method, flags, checksum, packed, unpacked, place, 0))
        if len(found) != count:
            raise self._damaged(f"its directory has {len(found):,} entries and says {count:,}")
        twice = next((name for name, times in Counter(one.name for one in found).items() if times > 1), None)
        if twice is not None:
            raise self._damaged(f"two entries have the name {shown(twice, 80)}", Reason.NAME_TWICE)
        return self._placed(found, start)

    def _placed(self, found: list[Entry], start: int) -> list[Entry]:
        """The entries in the order in which they lie, none of them over another."""
        found.sort(key=lambda one: one.at)
        placed = []
        ends = [*(one.at for one in found[1:]), start][: len(found)]  # of an archive without entries there are none
        for entry, end in zip(found, ends, strict=True):
            if entry.at + _LOCAL_ENTRY.size + entry.packed > end:
                raise self._damaged(f"the entry {shown(entry.name, 80)} reaches into what follows it")
            placed.append(entry._replace(end=end))
        return placed

    def _end(self) -> tuple[int, int, int]:
        """How many entries there are, how long the directory is, where it begins."""
        begin = max(0, self._bytes - _LONGEST_END)
        tail = self._at(begin, self._bytes - begin)
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) - at < _END.size:
            raise self._cut_off()
        _, _, count, size, start, _ = _END.unpack_from(tail, at)
        locator = begin + at - _LOCATOR_64.size
        if locator >= 0 and (magic := self._at(locator, _LOCATOR_64.size)).startswith(b"PK\x06\x07"):
            _, place = _LOCATOR_64.unpack(magic)
            if place + _END_64.size > self._bytes:
                raise self._damaged("the end of its directory lies outside of it")
            magic, count, size, start = _END_64.unpack(self._at(place, _END_64.size))
            if magic != b"PK\x06\x06":
                raise self._damaged("the end of its directory is not where it says")
        return count, size, start

    def _wide(self, extra: bytes, unpacked: int, packed: int, place: int, name: str) -> tuple[int, int, int]:
        """Sizes and the place with those of the extra field where they are too large for their own."""
        numbers = [unpacked, packed, place]
        wanted = [index for index, number in enumerate(numbers) if number == _FULL]
        at = 0
        while wanted and at + 4 <= len(extra):
            kind, length = struct.unpack_from("<2H", extra, at)
            if kind == 1 and length >= 8 * len(wanted) and at + 4 + length <= len(extra):
                for index, number in zip(wanted, struct.unpack_from(f"<{len(wanted)}Q", extra, at + 4), strict=True):
                    numbers[index] = number
                wanted = []
            at += 4 + length
        if wanted:
            raise self._damaged(f"the entry {shown(name, 80)} has no size")
        return numbers[0], numbers[1], numbers[2]

    # ---- one entry

    def read(self, name: str) -> bytes:
        """The content of an entry."""
        entry = self.entries[name]
        if entry.flags & _ENCRYPTED:
            raise self._bad(
                f"the entry {shown(name, 80)} is encrypted", "Decrypt the archive first.", Reason.UNREADABLE
            )
        if entry.method not in (_STORED, _DEFLATED, _ZSTANDARD):
            raise self._bad(
                f"the entry {shown(name, 80)} is packed by method {entry.method}, which is not known here",
                "Pack it again with deflate (8) or Zstandard (93).", Reason.UNREADABLE,
            )  # fmt: skip
        if entry.unpacked > min(self._left, MAX_DOCUMENT_BYTES):
            raise self._too_much()
        header = self._at(entry.at, _LOCAL_ENTRY.size)
        magic, _, _, length, extra = _LOCAL_ENTRY.unpack(header) if len(header) == _LOCAL_ENTRY.size else (b"",) * 5
        if magic != MAGIC:
            raise self._damaged(f"the entry {shown(name, 80)} is not where the directory says")
        begin = entry.at + _LOCAL_ENTRY.size + length + extra
        if begin + entry.packed > entry.end:
            raise self._damaged(f"the entry {shown(name, 80)} reaches into what follows it")
        pieces: list[bytes] = []
        total = checksum = 0
        try:
            for piece in self._unpacked(entry, begin):
                total += len(piece)
                if total > entry.unpacked:
                    break
                checksum = zlib.crc32(piece, checksum)
                pieces.append(piece)
        except (zlib.error, zstandard.ZstdError, MemoryError):
            raise self._damaged(f"the entry {shown(name, 80)} cannot be unpacked") from None
        self._left -= total
        if total != entry.unpacked:
            more = "more" if total > entry.unpacked else f"{total:,}"
            raise self._damaged(f"the entry {shown(name, 80)} says {entry.unpacked:,} bytes and unpacks to {more}")
        if checksum != entry.checksum:
            raise self._damaged(f"the entry {shown(name, 80)} does not have its checksum")
        return b"".join(pieces)

    def _unpacked(self, entry: Entry, begin: int) -> Iterator[bytes]:
        """Its content in pieces: no more than one is unpacked ahead."""
        if entry.method == _ZSTANDARD:
            packed = io.BytesIO(self._at(begin, entry.packed))
            with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
                while piece := reader.read(_PIECE_BYTES):
                    yield piece
            return
        decoder = zlib.decompressobj(wbits=-15)
        at, end = begin, begin + entry.packed
        while at < end:
            chunk = self._at(at, min(_PIECE_BYTES, end - at))
            if not chunk:
                return
            at += len(chunk)
            if entry.method == _STORED:
                yield chunk
                continue
            while chunk and not decoder.eof:
                if piece := decoder.decompress(chunk, _PIECE_BYTES):
                    yield piece
                chunk = decoder.unconsumed_tail
        while entry.method == _DEFLATED and not decoder.eof and (piece := decoder.decompress(b"", _PIECE_BYTES)):
            yield piece

    def _at(self, place: int, length: int) -> bytes:
        try:
            self._file.seek(place)
            return self._file.read(length)
        except OSError as error:
            raise InputError(
                f"reading failed ({error.strerror or error})", path=self.path, reason=Reason.UNREADABLE
            ) from None

    # ---- what can be wrong

    def _bad(self, problem: str, hint: str, reason: Reason) -> InputError:
        return InputError(problem, path=self.path, hint=hint, reason=reason)

    def _cut_off(self) -> InputError:
        problem = "the zip archive ends too early: the file is cut off, or still being written"
        return self._bad(problem, _REMAKE, Reason.TRUNCATED_COMPRESSION)

    def _damaged(self, what: str, reason: Reason = Reason.CORRUPT_COMPRESSION) -> InputError:
        return self._bad(f"the zip archive is damaged: {what}", _REMAKE, reason)

    def _too_much(self) -> InputError:
        return InputError(
            path=self.path, expected=f"an archive that unpacks to at most {MAX_EXPANSION} times its size, or "
            f"{MAX_UNPACKED_BYTES:,} bytes", got="one that unpacks to more", hint="Is this the right file?",
            reason=Reason.DOCUMENT_TOO_LARGE,
        )  # fmt: skip
