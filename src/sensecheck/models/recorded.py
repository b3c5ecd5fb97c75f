"""Predictions that were recorded, found again by their pair: 24 bytes for each, however long the texts are, and of more
than two million in a file (`digest_tables`).

A pair is known by a digest of 128 bits; digests are sorted, and a few thousand are looked up at a time.
"""

from __future__ import annotations

import hashlib
import tempfile
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import IO

import numpy as np

from sensecheck.models import digest_tables
from sensecheck.models.digest_tables import DigestTable, digest, digests_of

Pair = tuple[str, str]
_AT_ONCE = 4096


class _Values:
    """Predictions by a code: three scores by their place in a row of numbers, others by that among few values."""

    def __init__(self) -> None:
        self._scores = array("d")
        self._file: IO[bytes] | None = None
        self._filed = 0
        """How many predictions' scores are in the file, before those in memory."""
        self._others: list[object] = []
        self._known: dict[tuple[type, object], int] = {}

    def code(self, value: object) -> int:
        """A number for the prediction, below 0 where it is no three scores."""
        if type(value) is tuple and len(value) == 3 and all(type(score) is float for score in value):
            self._scores.extend(value)
            place = self._filed + len(self._scores) // 3 - 1
            if len(self._scores) >= 3 * digest_tables.HELD_ROWS:
                self._file_scores()
            return place
        try:
            place = self._known.setdefault((type(value), value), len(self._others))
        except TypeError:  # a list, say: it cannot be known again
            place = len(self._others)
        if place == len(self._others):
            self._others.append(value)
        return -1 - place

    def _file_scores(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="sensecheck-")  # noqa: SIM115
        self._file.seek(0, 2)
        self._scores.tofile(self._file)
        self._filed += len(self._scores) // 3
        self._scores = array("d")

    def __getitem__(self, code: int) -> object:
        if code < 0:
            return self._others[-1 - code]
        if code < self._filed:
            assert self._file is not None
            self._file.seek(24 * code)
            scores = array("d", self._file.read(24))
            return tuple(scores)
        place = 3 * (code - self._filed)
        return tuple(self._scores[place : place + 3])


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
        self._own = DigestTable([("code", "i8")], keep="last")
        self._forms = DigestTable([("own_high", "u8"), ("own_low", "u8")], keep="first")
        """Pairs that are written otherwise when they are looked up, by that form. Of several the first row is also the
        first one of its pair."""
        whole = hashlib.sha256()
        source = iter(rows)
        while some := list(islice(source, _AT_ONCE)):
            self._take(some, whole)
        self._own.close()
        self._forms.close()
        if self._own.repeats:
            whole = self._digest_again(rows)
        self.revision = whole.hexdigest()[:12]

    def _take(self, rows: Sequence[tuple[str, str, object]], whole: hashlib._Hash) -> None:
        text_of, written, code = self._text_of, self._written, self._values.code
        own, forms = [], []
        of_forms: list[int] = []
        for place, (premise, hypothesis, prediction) in enumerate(rows):
            text = text_of((premise, hypothesis))
            whole.update(repr((text, prediction)).encode())
            own.append(digest(text))
            if written is not None:
                parts = text.partition("\x1f")
                form = text_of((written(parts[0]), written(parts[2])))
                if form != text:
                    forms.append(digest(form))
                    of_forms.append(place)
        together = b"".join(own)
        if forms:
            pairs = np.frombuffer(together, dtype=np.uint64).reshape(-1, 2)[of_forms]
            before = len(self._own)
            self._forms.extend(
                b"".join(forms), pairs[:, 0].tolist(), pairs[:, 1].tolist(), rows=[before + i for i in of_forms]
            )
        self._own.extend(together, [code(prediction) for _, _, prediction in rows])

    def _digest_again(self, rows: Iterable[tuple[str, str, object]]) -> hashlib._Hash:
        """The digest of the pairs as they count: each once, with its last prediction."""
        whole = hashlib.sha256()
        source = iter(rows)
        number = 0
        while some := list(islice(source, _AT_ONCE)):
            texts = [self._text_of((premise, hypothesis)) for premise, hypothesis, _ in some]
            there, found = self._own.find(digests_of(texts))
            if not there.all():
                break
            for text, first, code in zip(texts, found["row"].tolist(), found["code"].tolist(), strict=True):
                if first == number:
                    whole.update(repr((text, self._values[code])).encode())
                number += 1
        if number != len(self._own):
            raise ValueError("the recorded predictions changed while they were read")
        return whole

    def look_up(self, pairs: Sequence[Pair]) -> list[object]:
        """The prediction for each pair; None where there is none."""
        if not len(self._own):
            return [None] * len(pairs)
        there, records = self._own.find(digests_of([self._text_of(pair) for pair in pairs]))
        found = [
            self._values[code] if known else None
            for known, code in zip(there.tolist(), records["code"].tolist(), strict=True)
        ]
        if self._written is not None and (missing := [i for i, value in enumerate(found) if value is None]):
            forms = [(self._written(pairs[i][0]), self._written(pairs[i][1])) for i in missing]
            for i, value in zip(missing, self._by_form(forms), strict=True):
                found[i] = value
        return found

    def _by_form(self, forms: Sequence[Pair]) -> list[object]:
        """What is known of each pair in the form in which it is looked up: of all that take it, the first counts."""
        digests = digests_of([self._text_of(form) for form in forms])
        # To write a text twice changes nothing: a row that is there in this form takes it.
        there, records = self._own.find(digests)
        if len(self._forms):
            otherwise, of_forms = self._forms.find(digests)
            takes = otherwise & (~there | (of_forms["row"] < records["row"]))
            if takes.any():
                own = np.stack([of_forms["own_high"][takes], of_forms["own_low"][takes]], axis=1)
                records[takes] = self._own.find(own)[1]
                there = there | takes
        return [
            self._values[code] if known else None
            for known, code in zip(there.tolist(), records["code"].tolist(), strict=True)
        ]
