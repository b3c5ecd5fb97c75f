"""Many lines of a `.logits` file at once, where they are written alike.

Programs write their lines alike: the same keys in the same order with the same spaces. Then a few looks for the next
quotation mark tell where each value of a line begins and ends, and the values of many lines can be joined into one
JSON document, which is parsed once and whose numbers are copied out with one call for each key.

Nothing is taken on trust. The text between the values is compared byte by byte with the layout, and simdjson reads
all the rest; together they prove that each line is what it would be if it were read by itself:

- A matrix is joined to the next as its own rows are joined. Each of its closing brackets must be followed by an
  opening one, the last excepted. They are all the closing ones, and in a JSON document there are as many opening
  ones, so no list is hidden in a row, though flattening would not show it. (Strings, which may hold brackets, are
  no numbers, and are refused when the numbers are copied.)
- Its rows are as wide as their commas say. The commas are counted modulo 256, and a row without commas may be
  empty, but either would show in the number of all values.
- Lists hold no closing bracket of their own, so they are flat by the same reasoning; simdjson tells their lengths.
- Line ends, which no line holds and no JSON string may hold, lie between the lists of two lines, so a string cannot
  reach from one line into the next.
- Whatever comes before and after these values on a line is parsed by itself as an object with the expected keys.

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

MATRICES = ("top_logits", "top_logit_idxs")

_INTEGERS = ("top_logit_idxs", "labels")
_JOINED_BYTES = 256 * 1024  # what stays in the cache until its numbers are out
_FEWEST = 8  # lines that are tried again together when more of them could not be read
_WIDEST = 126
_BETWEEN_LISTS = b"],\n["
_BETWEEN_KEYS = b"]],[["
_CLOSING, _OPENING, _COMMA = b"][,"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a line is written: fixed text, and the values that are read between it."""

    keys: tuple[str, ...]
    """The keys of these values, each a matrix or a list."""
    glue: tuple[bytes, ...]
    """The fixed text before each of them, and after the last, with all brackets around them."""
    between_rows: bytes
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


def learn_layout(line: bytes, number_keys: Sequence[str]) -> Layout | None:
    """The layout that a line shows, if it is one that can be read at once.

    number_keys: the keys whose numbers are needed, the matrices among them. They may lie apart only by other lists.
    """
    document: Any = None
    try:
        document = simdjson.Parser().parse(line)
        keys = list(document)
        positions = [keys.index(key) for key in number_keys]
        begin, end = min(positions), max(positions) + 1
        inner = keys[begin:end]
        if len(set(keys)) != len(keys) or not all(isinstance(document[key], simdjson.Array) for key in inner):
            return None
    except (ValueError, TypeError, LookupError, RuntimeError, AttributeError):
        return None
    finally:
        document = None
    glue: list[bytes] = []
    between_rows = b""
    at = 0
    closing = rb"\{\s*" if begin == 0 else rb",\s*"
    for place, key in enumerate(inner):
        matrix = key in MATRICES
        opening = re.escape(b'"%b"' % key.encode()) + rb"\s*:\s*\[" + (rb"\s*\[" if matrix else b"")
        pattern = re.compile(closing + opening)
        match = pattern.match(line, at) if place or begin == 0 else pattern.search(line)
        if match is None:
            return None
        glue.append(match[0])
        if matrix and not between_rows and (row := re.compile(rb"[^]]*(\]\s*,\s*\[)").match(line, match.end())):
            between_rows = row[1]
        closing = rb"\]\s*\]" if matrix else rb"\]"
        match = re.compile(closing).search(line, match.end())
        if match is None:
            return None
        at = match.start()
        closing += rb"\s*,\s*"
    after = keys[end:]
    match = re.compile(closing + rb'"' if after else closing.removesuffix(rb",\s*") + rb"\}").match(line, at)
    if match is None:
        return None
    glue.append(match[0])
    # one row shows no gap, but the text before a value shows what is usual
    between_rows = between_rows or (b"], [" if b": " in glue[0] else b"],[")
    return Layout(tuple(inner), tuple(glue), between_rows, keys[:begin] if begin else None, after)


@dataclass(slots=True)
class _Stretch:
    """Neighbouring lines that keep to the layout."""

    first: int
    cuts: list[int]
    """Line by line, where the first value begins and ends, where the second does, ..., where the rest begins."""
    before: list[int]
    """Line by line, where the part before the first value ends; empty if there is none."""
    count: int = 0


class AlikeLines:
    """The lines of a block, and those of them that can be read at once because they are written alike."""

    def __init__(self, data: bytes, number_keys: Sequence[str], other_keys: Sequence[str]) -> None:
        """number_keys: the keys whose numbers are needed; other_keys: further keys to hand out."""
        self._data = data
        self._number_keys = number_keys
        self._other_keys = other_keys
        self._view = memoryview(data)
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
        # by the layout of the first line, or of one in the middle, should the first be an odd one
        for index in (0, len(self) // 2):
            layout = learn_layout(self.line(index), self._number_keys)
            if layout is None or not set(layout.keys).isdisjoint(self._other_keys):
                continue
            stretches = self._stretches(layout)
            if index or 2 * sum(stretch.count for stretch in stretches) >= len(self):
                break
        else:
            return
        for stretch in stretches:
            start = 0
            while start < stretch.count:
                first, last = stretch.first + start, stretch.first + stretch.count
                stop = bisect_right(self.ends, self.begins[first] + _JOINED_BYTES, first + 1, last) - stretch.first
                yield from self._joined(layout, stretch, start, stop)
                start = stop

    def _joined(self, layout: Layout, stretch: _Stretch, start: int, stop: int) -> Iterator[Lines]:
        """These lines at once, or a part of them if that cannot be."""
        lines = self._join(layout, stretch, start, stop)
        if lines is not None:
            yield lines
        elif stop - start > _FEWEST:
            middle = (start + stop) // 2
            first_half = list(self._joined(layout, stretch, start, middle))
            yield from first_half
            if first_half:
                yield from self._joined(layout, stretch, middle, stop)
            elif (lines := self._join(layout, stretch, middle, stop)) is not None:
                yield lines

    def _stretches(self, layout: Layout) -> list[_Stretch]:
        """The lines whose fixed text is that of the layout."""
        data, find, startswith = self._data, self._data.find, self._data.startswith
        head, *inner, tail = layout.glue
        # values that are read hold no quotation mark, so the next one belongs to the key that follows
        steps = [(glue, glue.index(b'"'), len(glue)) for glue in (*inner, *([tail] if layout.after else []))]
        width = len(head)
        stretches: list[_Stretch] = []
        stretch: _Stretch | None = None
        for index, (begin, end) in enumerate(zip(self.begins, self.ends, strict=True)):
            start = begin
            if layout.before is not None:
                start = find(head, begin, end)
                if not startswith(b"{", begin):  # simdjson skips a byte order mark
                    start = -1
            if start >= 0 and startswith(head, start):
                if stretch is None:
                    stretch = _Stretch(index, [], [])
                    stretches.append(stretch)
                append = stretch.cuts.append
                at = start + width
                append(at)
                for glue, quote, size in steps:
                    stop = find(b'"', at, end) - quote
                    if stop < at or not startswith(glue, stop):
                        break
                    append(stop)
                    at = stop + size
                    append(at)
                else:
                    if not layout.after:
                        stop = end - len(tail) - data.endswith(b"\r", at, end)
                        if stop < at or not startswith(tail, stop):
                            at = -1
                        stretch.cuts += (stop, end)
                    if at >= 0:
                        stretch.count += 1
                        if layout.before is not None:
                            stretch.before.append(start)
                        continue
                del stretch.cuts[(2 * len(layout.keys) + 1) * stretch.count :]
            stretch = None
        return [stretch for stretch in stretches if stretch.count]

    def _join(self, layout: Layout, stretch: _Stretch, start: int, stop: int) -> Lines | None:
        """The chosen lines, if their values are numbers in lists and rows, and whatever else they hold is sound."""
        view, count = self._view, stop - start
        step = 2 * len(layout.keys) + 1
        cuts = stretch.cuts[start * step : stop * step]
        pieces: list[bytes | memoryview] = [b"[[["]
        for place, key in enumerate(layout.keys):
            between = layout.between_rows if key in MATRICES else _BETWEEN_LISTS
            values: list[bytes | memoryview] = [between] * (2 * count)
            bounds = zip(cuts[2 * place :: step], cuts[2 * place + 1 :: step], strict=True)
            values[::2] = [view[begin:end] for begin, end in bounds]
            values[-1] = _BETWEEN_KEYS
            pieces += values
        pieces[-1] = b"]]]"
        text = b"".join(pieces)
        shape = self._shape(text, layout, np.array(cuts).reshape(count, step))
        if shape is None:
            return None
        rows, width = shape
        total = sum(rows)
        numbers: dict[str, Any] = {}
        document: Any = None
        array: Any = None
        try:
            parser = _KEPT.values if len(text) <= 2 * _JOINED_BYTES else simdjson.Parser()
            document = parser.parse(text)
            for key, array in zip(layout.keys, document, strict=True):
                if key not in self._number_keys:
                    continue
                numbers[key] = array.as_buffer(of_type="i" if key in _INTEGERS else "d")
                if numbers[key].size != 8 * total * (width if key in MATRICES else 1):
                    return None
                if key not in MATRICES and list(map(len, array)) != rows:
                    return None
            others = self._rest(layout, stretch, start, stop)
        except (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError, AttributeError):
            return None
        finally:
            # a parser may be used again only when nothing points into its last document
            document = array = None
        return Lines(stretch.first + start, rows, width, numbers, others)

    def _shape(self, text: bytes, layout: Layout, cuts: NDArray[np.int64]) -> tuple[list[int], int] | None:
        """The rows of each line and the width of all rows, if they have one, and the lists are flat."""
        count, keys = len(cuts), layout.keys
        # where the pieces of each key end in the text
        sizes = (cuts[:, 1::2] - cuts[:, :-1:2]).T
        gaps = np.array([len(layout.between_rows if key in MATRICES else _BETWEEN_LISTS) for key in keys])
        sizes += gaps[:, None]
        sizes[:, -1] += len(_BETWEEN_KEYS) - gaps
        ends = sizes.cumsum().reshape(len(keys), count) + (3 - gaps[:, None])
        ends[:, -1] += gaps - len(_BETWEEN_KEYS)
        starts = np.empty(len(keys), np.int64)
        starts[0], starts[1:] = 2, ends[:-1, -1] + (len(_BETWEEN_KEYS) - 1)
        scratch = _KEPT.scratch if len(text) <= len(_KEPT.scratch) else np.empty(len(text), bool)
        marked = scratch[: len(text)]
        codes = np.frombuffer(text, np.uint8)
        np.equal(codes, _CLOSING, out=marked)
        marked[starts] = True  # commas are counted from there, too
        marks = marked.nonzero()[0]
        np.equal(codes, _COMMA, out=marked)
        commas = np.add.reduceat(marked.view(np.uint8), marks, dtype=np.uint8)
        row_starts = codes.take(marks + (len(layout.between_rows) - 1), mode="clip")
        firsts = marks.searchsorted(starts).tolist()
        places = marks.searchsorted(ends)
        rows: list[int] = []
        width = 0
        for index, key in enumerate(keys):
            first, last = firsts[index], int(places[index, -1])
            if key not in MATRICES:
                if last - first != count:
                    return None
                continue
            width = width or int(commas[first]) + 1
            if width > _WIDEST or commas[first] != width - 1 or (commas[first + 1 : last] != width).any():
                return None
            if (row_starts[first + 1 : last] != _OPENING).any():
                return None
            lengths = places[index]
            lengths[1:] -= lengths[:-1].copy()
            lengths[0] -= first
            if rows and lengths.tolist() != rows:
                return None
            rows = lengths.tolist()
        return rows, width

    def _rest(self, layout: Layout, stretch: _Stretch, start: int, stop: int) -> list[dict[str, Any]]:
        """What else the lines hold, each part an object of its own; a ValueError if one is not."""
        others: list[dict[str, Any]] = [{} for _ in range(stop - start)] if self._other_keys else []
        first, last = stretch.first + start, stretch.first + stop
        if layout.after:
            step = 2 * len(layout.keys) + 1
            # from the quotation mark of the first key
            begins = [at - 1 for at in stretch.cuts[start * step + step - 1 : stop * step : step]]
            self._objects(layout.after, begins, self.ends[first:last], b"{", b"", others)
        if layout.before is not None:
            self._objects(layout.before, self.begins[first:last], stretch.before[start:stop], b"", b"}", others)
        return others

    def _objects(
        self,
        keys: list[str],
        begins: list[int],
        ends: list[int],
        opening: bytes,
        closing: bytes,
        others: list[dict[str, Any]],
    ) -> None:
        data, parse = self._data, _KEPT.objects.parse
        asked_keys = [key for key in keys if key in self._other_keys]
        document: Any = None
        try:
            for index, (begin, end) in enumerate(zip(begins, ends, strict=True)):
                document = None
                document = parse(b"%b%b%b" % (opening, data[begin:end], closing))
                if list(document) != keys:
                    raise ValueError
                for key in asked_keys:
                    others[index][key] = value = plain_value(document[key])
                    if key == "input_str" and value is not None and type(value) is not str:
                        raise ValueError
        finally:
            document = None


class _Kept(threading.local):
    """What is used again from block to block: fresh memory costs more than the work that is done in it."""

    def __init__(self) -> None:
        self.values = simdjson.Parser()
        self.objects = simdjson.Parser()
        self.scratch = np.empty(2 * _JOINED_BYTES, bool)


_KEPT = _Kept()


def plain_value(value: Any) -> Any:
    """A value that outlives its document: arrays and objects of the parser point into it."""
    if isinstance(value, simdjson.Array):
        return value.as_list()
    return value.as_dict() if isinstance(value, simdjson.Object) else value
