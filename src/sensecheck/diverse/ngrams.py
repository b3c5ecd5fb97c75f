"""One n-gram index per batch of sets, from which every figure of this room is counted.

A *set* is one query: some hypotheses and, optionally, references in groups. All sentences of a batch are laid
end to end in one array of integer token ids, hypotheses first, then references. For each order the index keeps,
per position, the identity of the n-gram that starts there. Identities are local to a set: the same words in two
sets are two n-grams, so that one pass counts all sets at once and no set can see another.

Clipped counts become plain set membership by a small change of view. The second `the` of a sentence is another
*element* than the first one: an element is (n-gram, how often it was seen before in this sentence). The clipped
match of a hypothesis with a group, Σ min(count in hypothesis, max over references of the count), is then the
number of the hypothesis's elements that any reference of the group has. Self-BLEU is the number of elements that
another hypothesis has, distinct-n counts n-grams, recall counts the references' elements that are reached.

Everything is arrays: identities come from sorting packed integers, matches from one gather per four columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Tokens = Sequence[Hashable]
Columns = Literal["group", "reference", "hypothesis"]

LONGEST_NGRAM = 100
"""Words: every order up to the longest is indexed, and of longer ones hardly any two are alike."""


def runs_of_equal_keys(keys: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Places in the order of their keys (and of place among equal keys), and where in it a new key begins.

    Key and place ride in one 64-bit word, since sorting numbers is several times as fast as sorting places by
    numbers, and faster than any hash table made of array operations.
    """
    n = len(keys)
    bits = n.bit_length()
    if n and int(keys.max()).bit_length() + bits <= 63:
        packed = (keys << bits) | np.arange(n, dtype=np.int64)
        packed.sort()
        order = packed & ((1 << bits) - 1)
        ordered = packed >> bits
    else:
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
    begins = np.ones(n, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return order, begins


def same_key_places(keys: Ints) -> Ints:
    """For each key the last place that holds the same key."""
    order, begins = runs_of_equal_keys(keys)
    return _last_of_runs(order, begins)


def _last_of_runs(order: Ints, begins: NDArray[np.bool_]) -> Ints:
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(order))[: len(starts)]
    last = np.empty(len(order), dtype=np.int64)
    last[order] = np.repeat(order[ends - 1], ends - starts)
    return last


def running_index(sizes: Ints) -> Ints:
    """0..size-1 for each size, laid end to end."""
    total = int(sizes.sum())
    starts = np.cumsum(sizes) - sizes
    return np.arange(total, dtype=np.int64) - np.repeat(starts, sizes)


def offsets(sizes: Ints) -> Ints:
    """Where each run of these sizes begins, with the total at the end."""
    begins = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=begins[1:])
    return begins


def segment_sums(values: NDArray[Any], starts: Ints, sizes: Ints) -> NDArray[Any]:
    """Sum of each segment; an empty one is 0 (reduceat would give its neighbour)."""
    sums = np.zeros(len(sizes), dtype=values.dtype)
    full = np.flatnonzero(sizes)
    if len(full):
        # Segments lie end to end, so the starts of the non-empty ones bound each other.
        sums[full] = np.add.reduceat(values, starts[full])
    return sums


@dataclass(frozen=True)
class Elements:
    """Positions that start an n-gram of one order, with the identity of the gram and of the element there.

    `gram` is the last position in the batch with the same n-gram in the same set; since references come last, a
    gram that any reference has is named by a position among the references. `element` equals `gram` for the first
    occurrence in a sentence; repetitions have names of their own: at or above the number of tokens when a
    reference has as many, below 0 when only hypotheses do.
    """

    position: Ints
    gram: Ints
    element: Ints
    hypothesis_count: int  # how many of these positions belong to hypotheses (they come first)
    repetitions: tuple[int, int]  # extra names in use: (below 0, at or above the number of tokens)


@dataclass
class NGramIndex:
    """N-grams of a batch of sets. Build it with `index_sets`."""

    tokens: NDArray[np.int64]
    vocabulary: int
    hypothesis_length: Ints
    hypothesis_set: Ints
    reference_length: Ints
    reference_group: Ints  # group number within the batch
    group_set: Ints
    n_sets: int
    _cache: dict[tuple[int, bool], Elements] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        lengths = np.concatenate([self.hypothesis_length, self.reference_length])
        self.n_hypotheses = len(self.hypothesis_length)
        self.n_groups = len(self.group_set)
        self.n_references = len(self.reference_length)
        self.sentence_length = lengths
        self.sentence_start = offsets(lengths)
        self.first_reference_token = int(self.sentence_start[self.n_hypotheses])
        self.hypotheses_per_set = np.bincount(self.hypothesis_set, minlength=self.n_sets)
        self.groups_per_set = np.bincount(self.group_set, minlength=self.n_sets)
        self.references_per_group = np.bincount(self.reference_group, minlength=self.n_groups)
        self.reference_set = self.group_set[self.reference_group]
        self.references_per_set = np.bincount(self.reference_set, minlength=self.n_sets)
        self.sentence_of = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        self._ends_sentence = np.zeros(len(self.tokens), dtype=bool)
        self._ends_sentence[self.sentence_start[1:][lengths > 0] - 1] = True

    @cached_property
    def token_set(self) -> Ints:
        """The set that each token belongs to."""
        return np.concatenate([self.hypothesis_set, self.reference_set])[self.sentence_of]

    # -- identities --------------------------------------------------------------------------------------------

    def elements(self, order: int) -> Elements:
        """The n-grams of this order, counted once and kept."""
        return self._elements(order, shared=False)

    def _elements(self, order: int, *, shared: bool) -> Elements:
        """With `shared`, n-grams that cannot be on both sides, hypotheses and references, may be left out."""
        if order < 1:
            raise ValueError(f"n-gram order must be 1 or more, not {order}")
        key = (order, shared and order > 1)
        if key not in self._cache:
            self._cache[key] = self._first_order() if order == 1 else self._next_order(order, shared)
        return self._cache[key]

    def _first_order(self) -> Elements:
        position = np.arange(len(self.tokens), dtype=np.int64)
        sentence_sets = np.concatenate([self.hypothesis_set, self.reference_set])
        words = max(1, self.vocabulary)
        return self._named(position, np.repeat(sentence_sets * words, self.sentence_length) + self.tokens)

    def _next_order(self, order: int, shared: bool) -> Elements:
        below = self._elements(order - 1, shared=shared)
        # An n-gram is two (n-1)-grams that start one word apart in a sentence: together they name it.
        starts_ngram = below.position[1:] == below.position[:-1] + 1
        starts_ngram &= ~self._ends_sentence[below.position[:-1]]
        if shared:
            shareable = self._on_both_sides(below)
            starts_ngram &= shareable[:-1]
            starts_ngram &= shareable[1:]
        starts = np.flatnonzero(starts_ngram)
        return self._named(below.position[starts], below.gram[starts] * len(self.tokens) + below.gram[starts + 1])

    def _on_both_sides(self, elements: Elements) -> NDArray[np.bool_]:
        first = self.first_reference_token
        in_references = elements.gram[: elements.hypothesis_count] >= first
        in_hypotheses = np.zeros(len(self.tokens) - first, dtype=bool)
        in_hypotheses[elements.gram[: elements.hypothesis_count][in_references] - first] = True
        return np.concatenate([in_references, in_hypotheses[elements.gram[elements.hypothesis_count :] - first]])

    def _named(self, position: Ints, keys: Ints) -> Elements:
        """Name the n-grams that start at these positions, and the repetitions among them."""
        order, begins = runs_of_equal_keys(keys)
        gram = position[_last_of_runs(order, begins)]
        hypothesis_count = int(np.searchsorted(position, self.first_reference_token))
        # Equal n-grams now lie side by side, in order of place: two neighbours of one sentence are a repetition.
        sentence = self.sentence_of[position[order]]
        again = np.flatnonzero(~begins[1:] & (sentence[1:] == sentence[:-1])) + 1
        if len(again) == 0:
            return Elements(position, gram, gram, hypothesis_count, (0, 0))
        # The k-th repetition in a row has been seen k times before.
        first = np.ones(len(again), dtype=bool)
        first[1:] = again[1:] != again[:-1] + 1
        starts = np.flatnonzero(first)
        seen = np.arange(len(again)) - np.repeat(starts, np.diff(np.append(starts, len(again)))) + 1
        where = order[again]
        by_place = np.argsort(where)
        where, seen = where[by_place], seen[by_place]
        named = same_key_places(gram[where] * len(self.tokens) + seen)
        split = int(np.searchsorted(where, hypothesis_count))
        element = gram.copy()
        element[where] = np.where(named >= split, len(self.tokens) + named - split, -1 - named)
        return Elements(position, gram, element, hypothesis_count, (split, len(where) - split))

    # -- counts ------------------------------------------------------------------------------------------------

    def hypothesis_totals(self, order: int) -> Ints:
        """How many n-grams of this order each hypothesis has."""
        return np.maximum(self.hypothesis_length - (order - 1), 0)

    def columns_per_set(self, columns: Columns) -> Ints:
        """How many columns each set has; pairs lie set by set, hypothesis by hypothesis, column by column."""
        if columns == "group":
            return self.groups_per_set
        if columns == "reference":
            return self.references_per_set
        return self.hypotheses_per_set

    def _column_of_sentences(self, columns: Columns) -> tuple[Ints, bool]:
        """Column number within its set of each sentence on the far side, and whether that side is references."""
        if columns == "hypothesis":
            return running_index(self.hypotheses_per_set), False
        if columns == "reference":
            return running_index(self.references_per_set), True
        return running_index(self.groups_per_set)[self.reference_group], True

    def matches(self, order: int, columns: Columns = "group") -> Ints:
        """Clipped n-gram matches of every hypothesis with every column of its set, as one flat array.

        Four columns ride in one 64-bit word, 16 bits each, so that one gather and one running sum serve four.
        """
        return self._gathered(order, columns, clipped=True)

    def products(self, order: int) -> Ints:
        """Σ over n-grams of count × count for every pair of hypotheses of a set (the n-gram kernel)."""
        return self._gathered(order, "hypothesis", clipped=False)

    def _gathered(self, order: int, columns: Columns, *, clipped: bool) -> Ints:
        elements = self._elements(order, shared=clipped and columns != "hypothesis")
        width = self.columns_per_set(columns)[self.hypothesis_set]
        pair_start = offsets(width)
        counts = np.zeros(int(pair_start[-1]), dtype=np.int64)
        column_of, far_is_reference = self._column_of_sentences(columns)
        near = slice(0, elements.hypothesis_count)
        far = slice(elements.hypothesis_count, None) if far_is_reference else near
        if clipped:
            low, high = elements.repetitions
            floor = self.first_reference_token if far_is_reference else -low
            rows = (len(self.tokens) + high) - floor
            near_row = elements.element[near] - floor
            far_row = elements.element[far] - floor
            if far_is_reference:
                # What no reference has is named below the references: it reads the empty last row.
                np.maximum(near_row, -1, out=near_row)
        else:
            rows = len(self.tokens)
            near_row = elements.gram[near]
            far_row = elements.gram[far]
        far_sentence = self.sentence_of[elements.position[far]]
        if far_is_reference:
            far_sentence = far_sentence - self.n_hypotheses
        far_column = column_of[far_sentence]
        totals = np.diff(np.searchsorted(elements.position[near], self.sentence_start[: self.n_hypotheses + 1]))
        longest = int(totals.max(initial=0))
        # The widest lane a sum may need; sentences of more than 65,535 n-grams ride two in a word, or alone.
        highest = longest if clipped else longest * int(self.hypothesis_length.max(initial=0))
        lane_type: Any = np.uint16 if highest < 1 << 16 else np.uint32 if highest < 1 << 32 else np.uint64
        lanes = 8 // np.dtype(lane_type).itemsize
        starts = offsets(totals)
        alive = np.flatnonzero(totals > 0)
        for first in range(0, int(width.max(initial=0)), lanes):
            if first:
                # Later rounds serve only the sets that have so many columns.
                alive = alive[width[alive] > first]
                if len(alive) == 0:
                    break
                near_index = np.repeat(starts[alive], totals[alive]) + running_index(totals[alive])
                round_rows = near_row[near_index]
                in_round = np.flatnonzero((far_column >= first) & (far_column < first + lanes))
                cells = far_row[in_round] * lanes + (far_column[in_round] - first)
            else:
                round_rows = near_row
                if int(width.max()) > lanes:
                    in_round = np.flatnonzero(far_column < lanes)
                    cells = far_row[in_round] * lanes + far_column[in_round]
                else:
                    cells = far_row * lanes + far_column
            if clipped:
                table = np.zeros((rows + 1) * lanes, dtype=lane_type)
                table[cells] = 1
            else:
                table = np.bincount(cells, minlength=(rows + 1) * lanes).astype(lane_type)
            words = table.view(np.uint64)[round_rows]
            begin = offsets(totals[alive])[:-1]
            sums = np.add.reduceat(words, begin).view(lane_type).reshape(-1, lanes)
            for lane in range(lanes):
                has = width[alive] > first + lane
                counts[pair_start[alive[has]] + first + lane] = sums[has, lane]
        return counts


def index_sets(
    hypotheses: Sequence[Iterable[Tokens]],
    references: Sequence[Iterable[Iterable[Tokens]]] | None = None,
) -> NGramIndex:
    """Index a batch: hypotheses[set][hypothesis][token], references[set][group][reference][token]."""
    hypothesis_sets = [list(sentences) for sentences in hypotheses]
    reference_sets = [[list(group) for group in groups] for groups in references or [()] * len(hypothesis_sets)]
    if len(hypothesis_sets) != len(reference_sets):
        raise ValueError(f"{len(hypothesis_sets)} hypothesis sets but {len(reference_sets)} reference sets")
    all_hypotheses = list(chain.from_iterable(hypothesis_sets))
    all_groups = list(chain.from_iterable(reference_sets))
    all_references = list(chain.from_iterable(all_groups))
    n_sets = len(hypothesis_sets)
    hypothesis_length = _sizes(all_hypotheses)
    reference_length = _sizes(all_references)
    # A word's id is the number of words met before it; the dictionary hands it out on first sight.
    ids: defaultdict[Hashable, int] = defaultdict(count().__next__)
    total = int(hypothesis_length.sum() + reference_length.sum())
    words = chain(chain.from_iterable(all_hypotheses), chain.from_iterable(all_references))
    tokens = np.fromiter(map(ids.__getitem__, words), dtype=np.int64, count=total)
    set_numbers = np.arange(n_sets, dtype=np.int64)
    group_numbers = np.arange(len(all_groups), dtype=np.int64)
    return NGramIndex(
        tokens=tokens,
        vocabulary=len(ids),
        hypothesis_length=hypothesis_length,
        hypothesis_set=np.repeat(set_numbers, _sizes(hypothesis_sets)),
        reference_length=reference_length,
        reference_group=np.repeat(group_numbers, _sizes(all_groups)),
        group_set=np.repeat(set_numbers, _sizes(reference_sets)),
        n_sets=n_sets,
    )


def _sizes(items: Sequence[Any]) -> Ints:
    return np.fromiter(map(len, items), dtype=np.int64, count=len(items))
