"""Records that can be gone over and looked up again: a list while they are few, a temporary file otherwise."""

from __future__ import annotations

import pickle
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import IO, Any, overload

HELD_BYTES = 32_000_000
"""What records may take when they are written down; in memory, as objects, it is three to six times that."""
_AT_ONCE, _SAMPLED = 256, 32

Row = Mapping[str, Any]


def kept(rows: Iterable[Row]) -> Sequence[Row]:
    """The records, held or in a file. Those of a file are made anew each time: nothing may be changed in them."""
    source = iter(rows)
    held: list[Row] = []
    size = 0
    while some := list(islice(source, _AT_ONCE)):
        held += some
        # A few tell how much the others take.
        size += sum(_SAMPLED * len(pickle.dumps(row, pickle.HIGHEST_PROTOCOL)) for row in some[::_SAMPLED])
        if size > HELD_BYTES:
            return _Filed(chain(held, source))
    return held


class _Filed(Sequence[Row]):
    """Records in a temporary file, eight bytes held for each: where it begins."""

    def __init__(self, rows: Iterable[Row]) -> None:
        # Ours alone, and without a name: nobody else could have written what is unpickled.
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="sensecheck-")  # noqa: SIM115
        self._begins = array("q", [0])
        at = 0
        for row in rows:
            at += self._file.write(pickle.dumps(row, pickle.HIGHEST_PROTOCOL))
            self._begins.append(at)
        self._file.flush()

    def __len__(self) -> int:
        return len(self._begins) - 1

    @overload
    def __getitem__(self, place: int) -> Row: ...

    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...

    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            if step != 1:
                return [self[at] for at in range(start, stop, step)]
            return self._between(start, max(start, stop))
        at = range(len(self))[place]
        return self._between(at, at + 1)[0]

    def __iter__(self) -> Iterator[Row]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self._between(start, min(start + _AT_ONCE, len(self)))

    def _between(self, start: int, stop: int) -> list[Row]:
        first = self._begins[start]
        self._file.seek(first)
        text = memoryview(self._file.read(self._begins[stop] - first))
        return [
            pickle.loads(text[self._begins[at] - first : self._begins[at + 1] - first]) for at in range(start, stop)
        ]
