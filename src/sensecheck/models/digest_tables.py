"""What is known by a digest of 128 bits, found again: in sorted arrays while it is little, in a sorted file otherwise.

Rows come one after the other. Up to `HELD_ROWS` of them are sorted in memory. More are sorted piece by piece into a
temporary file, whose pieces are then put in one order, a share of all digests at a time; of that file every 64th
digest is held, and a look-up reads the 64 rows between two of them.
"""

from __future__ import annotations

import hashlib
import tempfile
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

HELD_ROWS = 1 << 21
"""Rows that are sorted in memory: some 60 MB of labels, and three times that while they are sorted."""
BLOCK = 64
"""Rows of a sorted file that are read for a look-up."""
_SHARES = 256

Digests = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Records = NDArray[Any]
"""With the fields `high` and `low` of the digest, `row`, and what else is known."""


def digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def digests_of(texts: Sequence[str]) -> Digests:
    return np.frombuffer(b"".join(map(digest, texts)), dtype=np.uint64).reshape(-1, 2)


class _Sorted(Protocol):
    repeats: int

    def find(self, digests: Digests) -> tuple[NDArray[np.bool_], Records]: ...


class DigestTable:
    """Rows by digest. Of a digest that comes again the first row's number counts, and the last or the first value.

    >>> table = DigestTable([("code", "i8")], keep="last")
    >>> table.extend(digest("a") + digest("b"), [1, 2])
    >>> table.extend(digest("a"), [3])
    >>> table.close(), table.repeats
    (None, 1)
    >>> there, found = table.find(digests_of(["a", "c"]))
    >>> there.tolist(), int(found["row"][0]), int(found["code"][0])
    ([True, False], 0, 3)
    """

    def __init__(self, values: Sequence[tuple[str, str]], keep: str) -> None:
        self._kind = np.dtype([("high", "u8"), ("low", "u8"), ("row", "i8"), *values])
        self._keep = keep
        self._digests = bytearray()
        self._columns = [array("q" if kind == "i8" else "Q") for _, kind in values]
        self._rows = array("q")
        self._count = 0
        self._pieces: _Pieces | None = None
        self._sorted: _Sorted | None = None

    def __len__(self) -> int:
        """How many rows came."""
        return self._count

    def extend(self, digests: bytes, *values: Iterable[int], rows: Iterable[int] = ()) -> None:
        """Some rows more: their digests one after the other, and their numbers where they are not the next ones."""
        self._digests += digests
        for column, given in zip(self._columns, values, strict=True):
            column.extend(given)
        self._rows.extend(rows)
        self._count += len(digests) // 16
        if len(self._digests) >= 16 * HELD_ROWS:
            if self._pieces is None:
                self._pieces = _Pieces(self._kind)
            self._pieces.write(self._taken())

    def close(self) -> None:
        """All rows are there: sort them."""
        if self._pieces is None:
            self._sorted = _Held(self._taken(), self._keep)
            return
        if self._digests:
            self._pieces.write(self._taken())
        self._sorted = _Filed(self._pieces, self._keep)
        self._pieces = None

    @property
    def repeats(self) -> int:
        assert self._sorted is not None
        return self._sorted.repeats

    def find(self, digests: Digests) -> tuple[NDArray[np.bool_], Records]:
        """Which of some digests are there, and the records of those that are (of others: anything)."""
        assert self._sorted is not None
        return self._sorted.find(digests)

    def _taken(self) -> Records:
        """The rows that are held, in the order of their digests; they are held no longer."""
        pairs = np.frombuffer(self._digests, dtype=np.uint64).reshape(-1, 2)
        order = np.argsort(pairs[:, 0], kind="stable")
        records = np.empty(len(pairs), dtype=self._kind)
        records["high"], records["low"] = pairs[order, 0], pairs[order, 1]
        first = self._count - len(pairs)
        records["row"] = np.array(self._rows, dtype=np.int64)[order] if self._rows else order + first
        for name, column in zip(self._kind.names[3:], self._columns, strict=True):  # type: ignore[index]
            records[name] = np.frombuffer(column, dtype=self._kind[name])[order]
        del pairs
        self._digests = bytearray()
        self._columns = [array(column.typecode) for column in self._columns]
        self._rows = array("q")
        return _by_low(records)


def _by_low(records: Records) -> Records:
    """Records in the order of the whole digest, where they are in that of its first half, and of equal ones by row."""
    high, low = records["high"], records["low"]
    same = high[1:] == high[:-1]
    if bool((same & (low[1:] < low[:-1])).any()) or bool((same & (records["row"][1:] < records["row"][:-1])).any()):
        records = records[np.lexsort((records["row"], low, high))]
    return records


def _distinct(records: Records, keep: str) -> tuple[Records, int]:
    """Each digest once, and how many came again."""
    same = (records["high"][1:] == records["high"][:-1]) & (records["low"][1:] == records["low"][:-1])
    repeats = int(same.sum())
    if not repeats:
        return records, 0
    first = np.r_[True, ~same]
    kept = records[first] if keep == "first" else records[np.r_[~same, True]]
    kept["row"] = records["row"][first]
    return kept, repeats


class DigestSet:
    """Which texts came before: 16 bytes for each, in sorted pieces of which none is smaller than the next.

    >>> names = DigestSet()
    >>> names.add(["a", "b"])
    >>> names.known(["b", "c"]), len(names)
    ({'b'}, 2)
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[Digests, Digests]] = []

    def __len__(self) -> int:
        return sum(len(high) for high, _ in self._pieces)

    def known(self, texts: Sequence[str]) -> set[str]:
        """Those that were added."""
        if not self._pieces or not texts:
            return set()
        digests = digests_of(texts)
        there = np.zeros(len(digests), dtype=np.bool_)
        for high, low in self._pieces:
            there |= _places(high, low, digests) >= 0
        return {texts[place] for place in np.flatnonzero(there).tolist()}

    def add(self, texts: Collection[str]) -> None:
        """Some that were not there, each once."""
        if not texts:
            return
        high, low = (np.ascontiguousarray(half) for half in digests_of(list(texts)).T)
        while True:
            order = np.lexsort((low, high))
            high, low = high[order], low[order]
            if not self._pieces or len(self._pieces[-1][0]) > len(high):
                break
            before = self._pieces.pop()
            high, low = np.concatenate([before[0], high]), np.concatenate([before[1], low])
        self._pieces.append((high, low))


class _Held:
    """Sorted records in memory, by column: what is searched must lie side by side."""

    def __init__(self, records: Records, keep: str) -> None:
        records, self.repeats = _distinct(records, keep)
        self._kind = records.dtype
        self._high, self._low = np.ascontiguousarray(records["high"]), np.ascontiguousarray(records["low"])
        assert records.dtype.names is not None
        self._others = {name: _narrow(records[name]) for name in records.dtype.names[2:]}

    def find(self, digests: Digests) -> tuple[NDArray[np.bool_], Records]:
        places = _places(self._high, self._low, digests)
        there = places >= 0
        found = np.zeros(len(digests), dtype=self._kind)
        for name, column in self._others.items():
            found[name][there] = column[places[there]]
        return there, found


def _narrow(column: Records) -> Records:
    """Numbers in half the room, where they fit."""
    if column.dtype == np.int64 and (not len(column) or max(-int(column.min()), int(column.max())) < 1 << 31):
        return column.astype(np.int32)
    return np.ascontiguousarray(column)


def _places(highs: Digests, lows: Digests, digests: Digests) -> Numbers:
    """Where each of some digests stands, or -1."""
    high, low = digests[:, 0], digests[:, 1]
    found = np.full(len(digests), -1, dtype=np.int64)
    at = np.searchsorted(highs, high)
    open_ = np.arange(len(digests))
    while len(open_):  # twice in a blue moon: two digests that begin alike
        open_ = open_[at[open_] < len(highs)]
        open_ = open_[highs[at[open_]] == high[open_]]
        hit = lows[at[open_]] == low[open_]
        found[open_[hit]] = at[open_[hit]]
        open_ = open_[~hit]
        at[open_] += 1
    return found


class _Pieces:
    """Sorted pieces, one after the other in a temporary file; of each is known where the shares of digests begin."""

    def __init__(self, kind: np.dtype[Any]) -> None:
        self.kind = kind
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="sensecheck-", buffering=0)  # noqa: SIM115
        self._begins: list[Numbers] = []
        self._rows = 0

    def write(self, records: Records) -> None:
        steps = np.arange(1, _SHARES, dtype=np.uint64) << np.uint64(56)
        inner = np.searchsorted(np.ascontiguousarray(records["high"]), steps)
        self._begins.append(self._rows + np.r_[0, inner, len(records)].astype(np.int64))
        self._rows += len(records)
        self._file.seek(0, 2)
        _write(self._file, records)

    def shares(self) -> Iterator[Records]:
        """All records in order, the first 256th of all digests first."""
        for share in range(_SHARES):
            parts = [
                _read(self._file, self.kind, int(begins[share]), int(begins[share + 1] - begins[share]))
                for begins in self._begins
            ]
            records = np.concatenate(parts)
            yield records[np.lexsort((records["row"], records["low"], records["high"]))]
        self._file.close()


class _Filed:
    """Sorted records in a temporary file, of which every 64th digest is held."""

    def __init__(self, pieces: _Pieces, keep: str) -> None:
        self._kind = pieces.kind
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="sensecheck-", buffering=0)  # noqa: SIM115
        self.repeats = 0
        marks: list[Digests] = []
        self._count = 0
        for share in pieces.shares():
            records, repeats = _distinct(share, keep)
            self.repeats += repeats
            marks.append(records["high"][-self._count % BLOCK :: BLOCK].copy())
            self._count += len(records)
            _write(self._file, records)
        self._marks = np.concatenate(marks)

    def find(self, digests: Digests) -> tuple[NDArray[np.bool_], Records]:
        found = np.zeros(len(digests), dtype=self._kind)
        # The block that begins last before the digest, and all that begin as it does, which may be the next ones too.
        first = np.maximum(np.searchsorted(self._marks, digests[:, 0], side="left") - 1, 0)
        last = np.maximum(np.searchsorted(self._marks, digests[:, 0], side="right") - 1, 0)
        many = [np.arange(*ends) for ends in zip(first[last > first + 1], last[last > first + 1], strict=True)]
        wanted = np.unique(np.concatenate([first, last, *many]))
        if not len(wanted):
            return np.zeros(0, dtype=np.bool_), found
        parts = [
            _read(self._file, self._kind, BLOCK * at, min(BLOCK, self._count - BLOCK * at)) for at in wanted.tolist()
        ]
        records = np.concatenate(parts)
        places = _places(np.ascontiguousarray(records["high"]), np.ascontiguousarray(records["low"]), digests)
        there = places >= 0
        found[there] = records[places[there]]
        return there, found


def _write(file: IO[bytes], records: Records) -> None:
    rest = memoryview(np.ascontiguousarray(records).tobytes())
    while len(rest):  # a file without a buffer may take less than it is given
        rest = rest[file.write(rest) :]


def _read(file: IO[bytes], kind: np.dtype[Any], first: int, count: int) -> Records:
    file.seek(first * kind.itemsize)
    left = count * kind.itemsize
    parts = []
    while left:
        part = file.read(left)
        if not part:
            raise OSError("a temporary file of recorded predictions was cut short")
        parts.append(part)
        left -= len(part)
    return np.frombuffer(b"".join(parts), dtype=kind)
