"""Reads the files of WordNet's own distribution, where Debian or NLTK have put them: no other software
needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


@dataclass
class WordNet:
    """Synonyms, opposites and wider words of the first, commonest sense of a word."""

    folder: Path
    _index: dict[str, dict[str, int]] = field(default_factory=dict)

    def _first_offset(self, word: str, part: str) -> int | None:
        if part not in self._index:
            offsets: dict[str, int] = {}
            with (self.folder / f"index.{part}").open(encoding="utf-8", errors="replace") as lines:
                for line in lines:
                    if line.startswith(" "):
                        continue  # the licence at the head of the file
                    columns = line.split()
                    pointers = int(columns[3])
                    offsets[columns[0]] = int(columns[6 + pointers])
            self._index[part] = offsets
        return self._index[part].get(word.replace(" ", "_"))

    def _record(self, offset: int, part: str) -> tuple[list[str], list[tuple[str, int, int]]]:
        """The words of a synset, and its pointers as (symbol, offset, source word or 0)."""
        with (self.folder / f"data.{part}").open("rb") as data:
            data.seek(offset)
            columns = data.readline().decode("utf-8", "replace").split("|")[0].split()
        count = int(columns[3], 16)
        words = [columns[4 + 2 * k].split("(")[0].replace("_", " ") for k in range(count)]
        pointer_start = 4 + 2 * count
        pointers = []
        for k in range(int(columns[pointer_start])):
            symbol, target, _, ends = columns[pointer_start + 1 + 4 * k : pointer_start + 5 + 4 * k]
            pointers.append((symbol, int(target), int(ends[:2], 16)))
        return words, pointers

    def synonyms(self, word: str, part: str) -> list[str]:
        offset = self._first_offset(word, part)
        if offset is None:
            return []
        words, _ = self._record(offset, part)
        return [w for w in words if w.lower() != word and w == w.lower()]

    def _pointed(self, word: str, part: str, symbol: str) -> Iterator[str]:
        offset = self._first_offset(word, part)
        if offset is None:
            return
        words, pointers = self._record(offset, part)
        for pointer_symbol, target, source in pointers:
            if pointer_symbol == symbol and (source == 0 or words[source - 1].lower() == word):
                yield from self._record(target, part)[0][:1]

    def opposites(self, word: str, part: str) -> list[str]:
        return list(self._pointed(word, part, "!"))

    def wider(self, word: str, part: str) -> list[str]:
        return list(self._pointed(word, part, "@"))


def find_wordnet() -> WordNet | None:
    """The WordNet of this machine: $WNSEARCHDIR, Debian's wordnet-base, or the unpacked corpus of
    nltk_data.
    """
    places = [Path("/usr/share/wordnet")]
    if os.environ.get("WNSEARCHDIR"):
        places.insert(0, Path(os.environ["WNSEARCHDIR"]))
    roots = [Path(p) for p in os.environ.get("NLTK_DATA", "").split(os.pathsep) if p]
    roots += [Path.home() / "nltk_data", Path("/usr/share/nltk_data"), Path("/usr/local/share/nltk_data")]
    places += [root / "corpora" / "wordnet" for root in roots]
    for place in places:
        if all((place / f"{kind}.{part}").is_file() for kind in ("index", "data") for part in _PARTS):
            return WordNet(place)
    return None
