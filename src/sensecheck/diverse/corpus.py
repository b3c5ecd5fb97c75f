"""Figures of all responses together: what repeats from query to query.

They count distinct n-grams over everything a system said, so they are no sums over queries: they come as values
without an interval, from the texts of a run, and only while those fit in memory.
"""

from __future__ import annotations

import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import count

import numpy as np

from sensecheck.diverse import variety
from sensecheck.diverse.ngrams import NGramIndex
from sensecheck.statistics.figure import Figure

MAX_WORDS = 2_000_000
ABSENT = "counted over all queries at once: no interval"


def corpus_figures(
    sets: Iterable[tuple[Sequence[str], Sequence[Sequence[str]]]], orders: Sequence[int], repetition_order: int = 4
) -> list[Figure] | None:
    """distinct-n, compression ratio and self-repetition across queries; `sets` gives texts and words of each query.

    None above MAX_WORDS words.
    """
    # Numbers instead of texts: eight bytes a word, whatever its length.
    ids: defaultdict[str, int] = defaultdict(count().__next__)
    words, lengths, owner = array("q"), array("q"), array("q")
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    plain_bytes = packed_bytes = queries = 0
    for texts, tokens in sets:
        for sentence in tokens:
            words.extend(map(ids.__getitem__, sentence))
            lengths.append(len(sentence))
            owner.append(queries)
        if len(words) > MAX_WORDS:
            return None
        data = "".join(text + "\n" for text in texts).encode("utf-8", "surrogatepass")
        plain_bytes += len(data)
        packed_bytes += len(packer.compress(data))
        queries += 1
    packed_bytes += len(packer.flush())
    if not words or queries < 2:
        return []
    none = np.zeros(0, dtype=np.int64)
    length = np.array(lengths)
    index = NGramIndex(np.array(words), len(ids), length, np.zeros_like(length), none, none, none, n_sets=1)
    figures = [
        _figure(f"corpus_distinct_{n}", f"distinct-{n} of all responses", float(variety.distinct(index, n)[0]), queries)
        for n in orders
    ]
    grams = index.elements(repetition_order)
    query = np.array(owner)[index.sentence_of[grams.position]]
    # A gram is shared when the first and the last query that have it differ.
    first = np.full(len(index.tokens), queries)
    last = np.full(len(index.tokens), -1)
    np.minimum.at(first, grams.gram, query)
    np.maximum.at(last, grams.gram, query)
    shared = float((first != last)[grams.gram].mean()) if len(query) else float("nan")
    figures.append(_figure("corpus_self_repetition", "self-repetition across queries", shared, queries, "lower"))
    ratio = plain_bytes / packed_bytes
    figures.append(_figure("corpus_compression_ratio", "compression ratio of all", ratio, queries, "lower"))
    return figures


def _figure(name: str, title: str, value: float, queries: int, direction: str = "higher") -> Figure:
    top = float("inf") if name.endswith("ratio") else 1.0
    return Figure(name, title, value, queries, absent=ABSENT, direction=direction, range=(0.0, top))
