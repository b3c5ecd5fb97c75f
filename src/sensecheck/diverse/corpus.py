"""Figures of all responses together: what repeats from query to query.

They count distinct n-grams over everything a system said, so they are no sums over queries: they come as values
without an interval, from the texts of a run, and only while those fit in memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np

from sensecheck.diverse import variety
from sensecheck.diverse.ngrams import index_sets
from sensecheck.statistics.figure import Figure

MAX_WORDS = 5_000_000
ABSENT = "counted over all queries at once: no interval"


def corpus_figures(
    sets: Iterable[tuple[Sequence[str], Sequence[Sequence[str]]]], orders: Sequence[int], repetition_order: int = 4
) -> list[Figure]:
    """distinct-n, compression ratio and self-repetition across queries; `sets` gives texts and words of each query."""
    sentences: list[Sequence[str]] = []
    owner: list[int] = []
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    plain = packed = words = queries = 0
    for texts, tokens in sets:
        words += sum(map(len, tokens))
        if words > MAX_WORDS:
            return []
        data = "".join(text + "\n" for text in texts).encode("utf-8", "surrogatepass")
        plain += len(data)
        packed += len(packer.compress(data))
        sentences.extend(tokens)
        owner.extend([queries] * len(tokens))
        queries += 1
    packed += len(packer.flush())
    if not words or queries < 2:
        return []
    index = index_sets([sentences])
    found = [
        _figure(f"corpus_distinct_{n}", f"distinct-{n} of all responses", float(variety.distinct(index, n)[0]), queries)
        for n in orders
    ]
    grams = index.elements(repetition_order)
    query = np.array(owner)[index.sentence_of[grams.position]] if len(grams.position) else np.zeros(0, dtype=int)
    # A gram is shared when the first and the last query that have it differ.
    first = np.full(len(index.tokens), queries)
    last = np.full(len(index.tokens), -1)
    np.minimum.at(first, grams.gram, query)
    np.maximum.at(last, grams.gram, query)
    shared = float((first != last)[grams.gram].mean()) if len(query) else float("nan")
    found.append(_figure("corpus_self_repetition", "self-repetition across queries", shared, queries, "lower"))
    ratio = plain / packed
    found.append(_figure("corpus_compression_ratio", "compression ratio of all", ratio, queries, "lower"))
    return found


def _figure(name: str, title: str, value: float, queries: int, direction: str = "higher") -> Figure:
    top = float("inf") if name.endswith("ratio") else 1.0
    return Figure(name, title, value, queries, absent=ABSENT, direction=direction, range=(0.0, top))
