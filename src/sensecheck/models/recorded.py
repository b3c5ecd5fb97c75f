"""Predictions that were recorded, found again by their pair: some fifty bytes for each, however long the texts are.

A pair is known by a digest of 128 bits; digests are sorted, and a few thousand are looked up at a time.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Pair = tuple[str, str]
Numbers = NDArray[np.int64]
_Digests = NDArray[np.uint64]
_NONE = -1


class _Values:
    """Predictions by their number: three scores each in a row of numbers, other ones by their few different values."""

    def __init__(self) -> None:
        self._scores = array("d")
        self._kinds = array("q")
        """Of each prediction: where its scores begin, or, below 0, which of the others it is."""
        self._others: list[object] = []
        self._known: dict[tuple[type, object], int] = {}

    def __len__(self) -> int:
        return len(self._kinds)

    def append(self, value: object) -> None:
        if type(value) is tuple and len(value) == 3 and all(type(score) is float for score in value):
            self._kinds.append(len(self._scores))
            self._scores.extend(value)
            return
        try:
            place = self._known.setdefault((type(value), value), len(self._others))
        except TypeError:  # a list, say: it cannot be known again
            place = len(self._others)
        if place == len(self._others):
            self._others.append(value)
        self._kinds.append(-1 - place)

    def __getitem__(self, number: int) -> object:
        place = self._kinds[number]
        return tuple(self._scores[place : place + 3]) if place >= 0 else self._others[-1 - place]


class _Sorted:
    """Digests in order, each with the number of a row; of equal ones the first or the last row."""

    def __init__(self, digests: bytearray, rows: Numbers, keep: str) -> None:
        pairs = np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)
        order = np.lexsort((rows, pairs[:, 1], pairs[:, 0]))
        ordered, rows = pairs[order], rows[order]
        same = (ordered[1:] == ordered[:-1]).all(axis=1)
        self.repeats = int(same.sum())
        if self.repeats:
            first, last = np.r_[True, ~same], np.r_[~same, True]
            self.firsts = rows[first]
            ordered, rows = ordered[first], rows[first if keep == "first" else last]
        self.high, self.low = np.ascontiguousarray(ordered[:, 0]), np.ascontiguousarray(ordered[:, 1])
        self.rows = rows

    def places(self, digests: _Digests) -> Numbers:
        """Where each of some digests stands, or -1."""
        high, low = digests[:, 0], digests[:, 1]
        found = np.full(len(digests), _NONE, dtype=np.int64)
        at = np.searchsorted(self.high, high)
        open_ = np.arange(len(digests))
        while len(open_):  # twice in a blue moon: two digests that begin alike
            open_ = open_[at[open_] < len(self.high)]
            open_ = open_[self.high[at[open_]] == high[open_]]
            hit = self.low[at[open_]] == low[open_]
            found[open_[hit]] = at[open_[hit]]
            open_ = open_[~hit]
            at[open_] += 1
        return found


class RecordedPairs:
    """Predictions by pair. Of a pair that is there twice the last one counts; its place is that of the first."""

    def __init__(
        self,
        rows: Iterable[tuple[str, str, object]],
        text_of: Callable[[Pair], str],
        written: Callable[[str], str] | None = None,
    ) -> None:
        """`rows` are gone over twice where a pair is there twice. `text_of`: a pair as one text. `written`: how texts
        are written when they are looked up; a pair that is not there to the letter is found in that form.
        """
        self._text_of, self._written = text_of, written
        self._values = _Values()
        whole = hashlib.sha256()
        own, others, of_others = bytearray(), bytearray(), array("q")
        for number, (premise, hypothesis, prediction) in enumerate(rows):
            text = text_of((premise, hypothesis))
            whole.update(repr((text, prediction)).encode())
            own += _digest(text)
            self._values.append(prediction)
            if written is not None:
                parts = text.partition("\x1f")
                form = text_of((written(parts[0]), written(parts[2])))
                if form != text:
                    others += _digest(form)
                    of_others.append(number)
        numbers = np.arange(len(self._values), dtype=np.int64)
        self._own = _Sorted(own, numbers, "last")
        self._firsts = self._own.firsts if self._own.repeats else self._own.rows
        """The first row of each pair, in the order of its digest."""
        if self._own.repeats and len(of_others):
            of_others = array("q", self._first_rows(own, np.array(of_others)).tolist())
        self._others = _Sorted(others, np.array(of_others, dtype=np.int64), "first") if others else None
        self._final: Numbers | None = None
        if self._own.repeats:
            self._final = np.full(len(numbers), _NONE, dtype=np.int64)
            self._final[self._firsts] = self._own.rows
            whole = self._digest_again(rows)
        self.revision = whole.hexdigest()[:12]

    def _first_rows(self, own: bytearray, rows: Numbers) -> Numbers:
        digests = np.frombuffer(own, dtype=np.uint64).reshape(-1, 2)[rows]
        return self._firsts[self._own.places(digests)]

    def _digest_again(self, rows: Iterable[tuple[str, str, object]]) -> hashlib._Hash:
        """The digest of the pairs as they count: each once, with its last prediction."""
        assert self._final is not None
        whole = hashlib.sha256()
        for (premise, hypothesis, _), final in zip(rows, self._final.tolist(), strict=True):
            if final != _NONE:
                whole.update(repr((self._text_of((premise, hypothesis)), self._values[final])).encode())
        return whole

    def look_up(self, pairs: Sequence[Pair]) -> list[object]:
        """The prediction for each pair; None where there is none."""
        if not len(self._values):
            return [None] * len(pairs)
        places = self._own.places(self._digests(pairs))
        rows = np.where(places == _NONE, _NONE, self._own.rows[places])
        found = [None if row == _NONE else self._values[row] for row in rows.tolist()]
        if self._written is not None and (missing := [i for i, value in enumerate(found) if value is None]):
            forms = [(self._written(pairs[i][0]), self._written(pairs[i][1])) for i in missing]
            for i, row in zip(missing, self._rows_by_form(forms), strict=True):
                found[i] = None if row == _NONE else self._values[row]
        return found

    def _rows_by_form(self, forms: Sequence[Pair]) -> list[int]:
        """The row that counts for each pair in the form in which it is looked up: of all that take it, the first."""
        digests = self._digests(forms)
        places = self._own.places(digests)
        # To write a text twice changes nothing: a row that is there in this form takes it.
        first = np.where(places == _NONE, _NONE, self._firsts[places])
        if self._others is not None:
            at = self._others.places(digests)
            other = np.where(at == _NONE, _NONE, self._others.rows[at])
            first = np.where((other != _NONE) & ((first == _NONE) | (other < first)), other, first)
        counts = first if self._final is None else np.where(first == _NONE, _NONE, self._final[first])
        return [int(row) for row in counts]

    def _digests(self, pairs: Sequence[Pair]) -> _Digests:
        digests = b"".join([_digest(self._text_of(pair)) for pair in pairs])
        return np.frombuffer(digests, dtype=np.uint64).reshape(-1, 2)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
