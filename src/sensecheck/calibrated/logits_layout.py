"""Many lines of a `.logits` file at once, where they are written alike.

Programs write their lines alike: the same keys in the same order with the same spaces. Then the places of the
closing brackets tell where each value of each line begins and ends, and the values of hundreds of lines can be
joined into one JSON document, which is parsed once and whose numbers are copied out with one call for each key.

Nothing is taken on trust. What the text shows is compared byte by byte with the layout, and simdjson reads every
byte between; the two together prove that each line is what it would be if it were read by itself:

- The values are joined with a line end between them, which no line holds and no JSON string may hold, so a string
  cannot reach from one line into the next.
- A list of numbers runs to the next `]`, so its text holds none, and a matrix has its `]` where rows end. So all
  closing brackets of the document are known, and there are as many opening ones as the layout puts there. Hence
  no list is hidden in another, though flattening would not show it.
- Rows are as wide as their commas say. The commas are counted modulo 256, and a row without commas may be empty,
  but either would show in the number of all values.
- Whatever comes before and after these values, on each line, is parsed by itself as an object with the expected
  keys.

Whoever calls this reads the lines that are refused here one by one.
"""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simdjson
from numpy.typing import NDArray

Places = NDArray[np.int64]

MATRICES = ("top_logits", "top_logit_idxs")

_INTEGERS = ("top_logit_idxs", "labels")
_SCANNED_BYTES = 256 * 1024
_JOINED_BYTES = 256 * 1024
_WIDEST = 126
_BETWEEN = b"],\n["
_CLOSING, _OPENING, _COMMA = b"][,"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a line is written: fixed text, with the values that are read in a row between it."""

    keys: tuple[str, ...]
    """The keys of those values, each a matrix or a list."""
    glue: tuple[bytes, ...]
    """The fixed text before each of them: from `{` or a comma, and after the first from the last value's `]`."""
    row_gap: int
    """From the `]` of a row to the `[` of the next one."""
    before: list[str] | None
    """The keys of the line before the values; None where the line begins with them."""
    after: list[str]


@dataclass(slots=True)
class Lines:
    """Neighbouring lines, read: numbers as buffers of all lines together, in the order of the lines."""

    first: int
    """The first line's index in its block."""
    lengths: list[int]
    width: int
    numbers: dict[str, Any]
    """By key: float64, and int64 for tokens and labels."""
    others: list[dict[str, Any]]
    """One entry for each line: those of the other keys that were asked for. Empty if none were."""

    def cut(self, count: int) -> None:
        """Keep the first lines only."""
        self.lengths, self.others = self.lengths[:count], self.others[:count]
        tokens = sum(self.lengths)
        for key, buffer in self.numbers.items():
            size = tokens * (self.width if key in MATRICES else 1)
            self.numbers[key] = np.frombuffer(buffer, np.int64 if key in _INTEGERS else np.float64, size)


@dataclass(frozen=True, slots=True)
class _Located:
    """Where the values of the lines lie, as far as lines are regular; one entry for each line of a block."""

    layout: Layout
    regular: NDArray[np.bool_]
    rows: Places
    width: int
    spans: list[tuple[Places, Places]]
    """For each key, where its values begin and end."""
    before: tuple[Places, Places]
    after: tuple[Places, Places]


def learn_layout(line: bytes, wanted: Sequence[str]) -> Layout | None:
    """The layout that a line shows, if it is one that can be read at once.

    wanted: the keys whose numbers are needed, the matrices among them. They may lie apart only by other lists.
    """
    document: Any = None
    try:
        document = simdjson.Parser().parse(line)
        keys = list(document)
        found = [keys.index(key) for key in wanted]
        begin, end = min(found), max(found) + 1
        inner = keys[begin:end]
        if len(set(keys)) != len(keys) or not all(isinstance(document[key], simdjson.Array) for key in inner):
            return None
    except (ValueError, TypeError, LookupError, RuntimeError, AttributeError):
        return None
    finally:
        document = None
    glue: list[bytes] = []
    row_gap = 0
    at = 0
    for place, key in enumerate(inner):
        quoted = re.escape(b'"%b"' % key.encode())
        opening = rb"\s*:\s*\[\s*\[" if key in MATRICES else rb"\s*:\s*\["
        start = rb"\]\s*,\s*" if place else rb"\{\s*" if begin == 0 else rb",\s*"
        pattern = re.compile(start + quoted + opening)
        match = pattern.search(line) if place == 0 else pattern.match(line, at)
        if match is None or (place == 0 and begin == 0 and match.start() != 0):
            return None
        glue.append(match[0])
        at = line.find(b"]", match.end())
        if key in MATRICES:
            if row := re.compile(rb"\]\s*,\s*\[").match(line, at):
                row_gap = row_gap or len(row[0]) - 1
            at = line.find(b"]]", at) + 1
        if at <= 0:
            return None
    if row_gap == 0:  # one row shows no gap; the text before a value shows what is usual
        row_gap = 3 if b": " in glue[0] else 2
    return Layout(tuple(inner), tuple(glue), row_gap, keys[:begin] if begin else None, keys[end:])


class AlikeLines:
    """The lines of a block, and those of them that can be read at once because they are written alike."""

    def __init__(self, data: bytes, wanted: Sequence[str], others: Sequence[str]) -> None:
        """wanted: the keys whose numbers are needed; others: further keys to hand out."""
        self._data = data
        self._text = np.frombuffer(data, np.uint8)
        self._wanted = wanted
        self._others = others
        self.begins: list[int] = []
        self.ends: list[int] = []
        find, begin, size = data.find, 0, len(data)
        while begin < size:
            end = find(b"\n", begin)
            end = size if end < 0 else end
            self.begins.append(begin)
            self.ends.append(end)
            begin = end + 1

    def __len__(self) -> int:
        return len(self.begins)

    def line(self, index: int) -> bytes:
        return self._data[self.begins[index] : self.ends[index]]

    def read(self) -> Iterator[Lines]:
        """Stretches of lines, in order; lines that are in none must be read one by one."""
        located = self._located()
        if located is None:
            return
        edges = np.flatnonzero(np.diff(located.regular, prepend=False, append=False)).tolist()
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            while first < last:
                # what is joined should stay in the cache until its numbers are out
                stop = bisect_right(self.ends, self.begins[first] + _JOINED_BYTES, first + 1, last)
                if (lines := self._join(located, slice(first, stop))) is not None:
                    yield lines
                first = stop

    def _located(self) -> _Located | None:
        """By the layout of the first line, or of one in the middle, should the first be an odd one."""
        best: _Located | None = None
        tried: list[Layout] = []
        for index in (0, len(self) // 2):
            layout = learn_layout(self.line(index), self._wanted)
            if layout is None or layout in tried or not set(layout.keys).isdisjoint(self._others):
                continue
            tried.append(layout)
            found = self._locate(layout)
            if found is not None and (best is None or found.regular.sum() > best.regular.sum()):
                best = found
            if best is not None and 2 * best.regular.sum() >= len(self):
                break
        return best

    def _locate(self, layout: Layout) -> _Located | None:
        data, glue = self._data, layout.glue[0]
        begins, ends = np.array(self.begins), np.array(self.ends)
        if layout.before is None:
            at = begins
            regular = self._holds(glue, at)
        else:
            at = np.array([data.find(glue, *line) for line in zip(self.begins, self.ends, strict=True)], np.int64)
            regular = at >= 0
        # in lines without the first value, the end stands in for it
        heads = np.minimum(np.where(regular, at + (len(glue) - 1), ends), len(data) - 1)
        marks, commas = self._marks(heads)
        here = np.searchsorted(marks, heads)
        if not regular.any():
            return None

        last = len(marks) - 1
        rows: Places | None = None
        others = doubles = here
        width = 0
        spans: list[tuple[Places, Places]] = []
        for place, key in enumerate(layout.keys):
            begin = marks[here] + (len(layout.glue[place]) if place else 1)
            if key in MATRICES:
                # the first row comes after fixed text, which lies before the mark only for the first value
                inner = commas[here] - np.uint8(layout.glue[place].count(b",") if place else 0)
                if not width:
                    width = int(inner[regular.argmax()]) + 1
                    if width > _WIDEST:
                        return None
                    others = self._not_between_rows(marks, commas, width, layout.row_gap)
                    # a matrix ends where two closing brackets meet, the first of them that of its last row
                    doubles = others[marks[np.minimum(others + 1, last)] == marks[others] + 1]
                    if not len(doubles):
                        return None
                double = doubles.take(np.searchsorted(doubles, here + 1), mode="clip")
                if rows is None:
                    rows = double - here
                regular &= (rows > 0) & (double - here == rows)
                regular &= inner == width - 1
                regular &= np.searchsorted(others, double) == np.searchsorted(others, here + 1)
                end = marks[double]
                here = double + 1
            else:
                here = np.minimum(here + 1, last)
                end = marks[here]
            spans.append((begin, end))
            if place + 1 < len(layout.glue):
                regular &= self._holds(layout.glue[place + 1], marks[here])
        regular &= marks[here] < ends
        assert rows is not None
        return _Located(layout, regular, rows, width, spans, (begins, at), (marks[here] + 1, ends))

    def _not_between_rows(self, marks: Places, commas: NDArray[np.uint8], width: int, row_gap: int) -> Places:
        """The marks that do not lie between two rows, the second of them `width` wide: few, if lines are regular."""
        other = commas != width
        other |= self._text.take(marks + row_gap, mode="clip") != _OPENING
        return np.flatnonzero(other)

    def _marks(self, heads: Places) -> tuple[Places, NDArray[np.uint8]]:
        """All closing brackets and `heads`, and how many commas follow each before the next, modulo 256."""
        size = len(self._data)
        scratch = np.empty(min(size, _SCANNED_BYTES), bool)
        places: list[Places] = []
        counts: list[NDArray[np.uint8]] = []
        starts = range(0, size, _SCANNED_BYTES)  # pieces that stay in the cache for the second look
        edges = [*np.searchsorted(heads, np.array(starts)).tolist(), len(heads)]
        for index, start in enumerate(starts):
            text = self._text[start : start + _SCANNED_BYTES]
            found = scratch[: len(text)]
            np.equal(text, _CLOSING, out=found)
            found[heads[edges[index] : edges[index + 1]] - start] = True
            marks = found.nonzero()[0]
            np.equal(text, _COMMA, out=found)
            first = int(marks[0]) if len(marks) else len(text)
            if counts and first:
                counts[-1][-1:] += np.uint8(np.count_nonzero(found[:first]) % 256)
            if len(marks):
                counts.append(np.add.reduceat(found.view(np.uint8), marks, dtype=np.uint8))
                marks += start
                places.append(marks)
        return np.concatenate(places), np.concatenate(counts)

    def _holds(self, glue: bytes, at: Places) -> NDArray[np.bool_]:
        """Where the text holds some fixed text, of these places."""
        room = len(self._data) - len(glue)
        if room < 0:
            return np.zeros(len(at), bool)
        windows: NDArray[np.bytes_] = np.ndarray((room + 1,), f"S{len(glue)}", self._data, 0, (1,))
        held: NDArray[np.bool_] = (windows[np.minimum(at, room)] == glue) & (at <= room)
        return held

    def _join(self, located: _Located, chosen: slice) -> Lines | None:
        """The chosen lines, if their values are numbers, and whatever else they hold is sound."""
        data, layout = self._data, located.layout
        lengths = located.rows[chosen].tolist()
        between = [_BETWEEN] * (2 * len(lengths) - 1)
        pieces: list[bytes] = []
        for place, (begin, end) in enumerate(located.spans):
            between[::2] = [data[a:b] for a, b in zip(begin[chosen].tolist(), end[chosen].tolist(), strict=True)]
            pieces.append(b"]],[[" if place else b"[[[")
            pieces += between
        pieces.append(b"]]]")
        total = sum(lengths)
        numbers: dict[str, Any] = {}
        document: Any = None
        column: Any = None
        try:
            text = b"".join(pieces)
            parser = _PARSERS.values if len(text) <= 2 * _JOINED_BYTES else simdjson.Parser()
            document = parser.parse(text)
            for key, column in zip(layout.keys, document, strict=True):
                if key not in self._wanted:
                    continue
                numbers[key] = column.as_buffer(of_type="i" if key in _INTEGERS else "d")
                if numbers[key].size != 8 * total * (located.width if key in MATRICES else 1):
                    return None
                if key not in MATRICES and list(map(len, column)) != lengths:
                    return None
            others = self._rest(located, chosen)
        except (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, AttributeError):
            return None
        finally:
            # a parser may be used again only when nothing points into its last document
            document = column = None
        return Lines(chosen.start, lengths, located.width, numbers, others)

    def _rest(self, located: _Located, chosen: slice) -> list[dict[str, Any]]:
        """What else the lines hold, each part an object of its own; a ValueError if one is not."""
        data, parse, layout = self._data, _PARSERS.objects.parse, located.layout
        others: list[dict[str, Any]] = [{} for _ in range(chosen.stop - chosen.start)] if self._others else []
        parts = [(layout.after, located.after, _COMMA, b"")]
        if layout.before is not None:
            parts.append((layout.before, located.before, ord("{"), b"}"))
        found: Any = None
        try:
            for keys, (begin, end), first, closing in parts:
                bounds = enumerate(zip(begin[chosen].tolist(), end[chosen].tolist(), strict=True))
                if not keys:
                    if any(data[a:b] not in (b"}", b"}\r") for _, (a, b) in bounds):
                        raise ValueError
                    continue
                asked = [key for key in keys if key in self._others]
                for index, (a, b) in bounds:
                    if data[a] != first:
                        raise ValueError
                    found = parse(b"{" + data[a + 1 : b] + closing)
                    if list(found) != keys:
                        raise ValueError
                    for key in asked:
                        others[index][key] = value = plain_value(found[key])
                        if key == "input_str" and value is not None and type(value) is not str:
                            raise ValueError
                    found = None
        finally:
            found = None
        return others


class _Parsers(threading.local):
    """A parser keeps its memory for the next document, and fresh memory is what costs most in a short parse."""

    def __init__(self) -> None:
        self.values = simdjson.Parser()
        self.objects = simdjson.Parser()


_PARSERS = _Parsers()


def plain_value(value: Any) -> Any:
    """A value that outlives its document: arrays and objects of the parser point into it."""
    if isinstance(value, simdjson.Array):
        return value.as_list()
    return value.as_dict() if isinstance(value, simdjson.Object) else value
