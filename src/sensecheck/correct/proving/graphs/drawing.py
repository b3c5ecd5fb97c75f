"""Small graphs: triples of the given graph that meet the patterns of a query, and near-misses of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import islice
from typing import Any, TypeAlias

from sensecheck.correct.answer_sets import NUMERIC_TYPES, number_of
from sensecheck.language.sparql.tree import XSD, Iri, Literal, Var

from .lore import TYPE, Feature, Lore, Triple, kind_of
from .patterns import Asked, Pattern, Way

Draft: TypeAlias = "dict[Triple, None]"
"""A set of triples that keeps its order."""

_CHOICES = 60
"""Triples among which one is drawn that meets a pattern."""
_CLOSING = 40
MOST = 40
"""Triples of a small graph."""


class Drawer:
    """Draws graphs for one pair of queries."""

    def __init__(self, lore: Lore, gold: Asked, prediction: Asked, chance: random.Random) -> None:
        self.lore, self.chance = lore, chance
        self.sides = (gold, prediction)
        self.way = Way(chance)
        self.invented_kinds: dict[str, Any] = {}

    # ---- drafts

    def witness(self, *, inventing: bool) -> Draft:
        """Triples that meet one way of one of the queries, and perhaps a few more."""
        draft: Draft = {}
        for _ in range(self.chance.choice((1, 1, 2, 3))):
            side = self.chance.choice(self.sides)
            patterns = self.way.patterns(side.query)
            # Patterns that hold a constant leave least to choose.
            patterns.sort(key=lambda one: isinstance(one.subject, Var) + isinstance(one.object, Var))
            draft |= self._met(patterns, side, inventing=inventing)
        return draft

    def varied(self, draft: Draft, times: int) -> Draft:
        """The graph with some triples dropped, or with other values."""
        triples = list(draft)
        for _ in range(times):
            if not triples:
                break
            place = self.chance.randrange(len(triples))
            step = self.chance.random()
            if step < 0.3:
                triples.pop(place)
            elif step < 0.8:
                triples[place] = self._other_object(triples[place])
            else:
                triples.append(self._other_object(triples[place]))
        return dict.fromkeys(triples)

    def closed(self, draft: Draft) -> Draft | None:
        """With what its nodes always have, or None where that does not end."""
        for _ in range(_CLOSING):
            lack = next(self.lore.broken(draft), None)
            if lack is None or len(draft) > MOST:
                break
            added = self._having(*lack)
            if added is None or added in draft:
                return None
            draft = {**draft, added: None}
        return draft if len(draft) <= MOST and self.lore.is_sound(draft) else None

    # ---- triples

    def _met(self, patterns: Sequence[Pattern], side: Asked, *, inventing: bool) -> Draft:
        bound: dict[str, Any] = {}
        draft: Draft = {}
        for pattern in patterns:
            subject, verb, target = (self._bound(part, bound) for part in pattern)
            found = self._some(subject, verb, target)
            # What the graph does not have is made up, and now and then what it has as well: constants at the edge.
            if not found or (inventing and self.chance.random() < 0.3):
                if not inventing or verb is None:
                    continue
                triple = self._invented(pattern, subject, verb, target, side)
            else:
                triple = self.chance.choice(found)
            for part, term in zip(pattern, (triple.subject, triple.predicate, triple.object), strict=True):
                if isinstance(part, Var):
                    bound[part.name] = term
            draft[triple] = None
        return draft

    def _bound(self, part: Any, bound: dict[str, Any]) -> Any:
        return bound.get(part.name) if isinstance(part, Var) else term_of(part)

    def _some(self, subject: Any, verb: Any, target: Any) -> list[Triple]:
        if kind_of(subject) not in ("iri", "blank") and subject is not None:
            return []
        if verb is not None and subject is None and target is None:
            known = self.lore.triples.get(verb.value, [])
            return self.chance.sample(known, min(len(known), _CHOICES))
        return sorted(islice(self.lore.matching(subject, verb, target), _CHOICES), key=str)

    def _invented(self, pattern: Pattern, subject: Any, verb: Any, target: Any, side: Asked) -> Triple:
        import pyoxigraph

        known = self.lore.triples.get(verb.value, [])
        if subject is None or kind_of(subject) != "iri":
            held = self._held(pattern.subject, side, iri=True)
            subject = held or (self.chance.choice(known).subject if known else self._node())
        if target is None:
            held = self._held(pattern.object, side, iri=False)
            sample = self.chance.choice(known).object if known else self._first_object(verb.value, held)
            target = sample if held is None else fitted(held, sample, self.chance)
        return pyoxigraph.Triple(subject, verb, target)

    def _held(self, part: Any, side: Asked, *, iri: bool) -> Any:
        """A constant that a variable is held against in the query."""
        constants = side.compared.get(part.name, []) if isinstance(part, Var) else []
        constants = [one for one in constants if isinstance(one, Iri) or not iri]
        return term_of(self.chance.choice(constants)) if constants and self.chance.random() < 0.8 else None

    def _first_object(self, predicate: str, held: Any) -> Any:
        """A value for a predicate that the graph does not have: of one kind for the whole search."""
        import pyoxigraph

        kind = self.invented_kinds.setdefault(predicate, held)
        if kind is not None and kind_of(kind) != "iri":
            return kind
        return self._node() if kind is None else pyoxigraph.NamedNode(kind.value)

    def _node(self) -> Any:
        import pyoxigraph

        subjects = [triples for triples in self.lore.triples.values() if triples]
        if subjects and self.chance.random() < 0.7:
            return self.chance.choice(self.chance.choice(subjects)).subject
        return pyoxigraph.NamedNode(f"http://example.org/thing{self.chance.randint(1, 3)}")

    def _other_object(self, triple: Triple) -> Triple:
        """The triple with another object of its predicate, a constant of the queries, or a number beside its own."""
        import pyoxigraph

        name = triple.predicate.value
        known = self.lore.triples.get(name, [])
        constants = [one for side in self.sides for held in side.compared.values() for one in held]
        value = triple.object
        step = self.chance.random()
        if step < 0.4 and constants:
            value = fitted(term_of(self.chance.choice(constants)), value, self.chance)
        elif step < 0.5 and _number(value) is not None:
            value = _moved(value, value, self.chance)
        elif known:
            value = self.chance.choice(known).object
        return pyoxigraph.Triple(triple.subject, triple.predicate, value)

    def _having(self, node: Any, feature: Feature) -> Triple | None:
        """A triple that gives a node what it lacks: its own in the given graph, or that of another."""
        import pyoxigraph

        if kind_of(node) != "iri":
            return None
        predicate = pyoxigraph.NamedNode(TYPE if feature.kind == "type" else feature.name)
        if feature.kind == "type":
            return pyoxigraph.Triple(node, predicate, pyoxigraph.NamedNode(feature.name))
        own = self._some(node, predicate, None)
        if own:
            return self.chance.choice(own)
        known = self.lore.triples.get(feature.name, [])
        return pyoxigraph.Triple(node, predicate, self.chance.choice(known).object) if known else None


# ---- terms


def term_of(part: Iri | Literal) -> Any:
    """A constant of a query as the engine has it. Text that is no IRI stays a text: such a pattern meets nothing."""
    import pyoxigraph

    try:
        if isinstance(part, Iri):
            return pyoxigraph.NamedNode(part.value)
        if part.language:
            return pyoxigraph.Literal(part.value, language=part.language)
        return pyoxigraph.Literal(part.value, datatype=pyoxigraph.NamedNode(part.datatype))
    except ValueError:
        return pyoxigraph.Literal(part.value)


def fitted(constant: Any, sample: Any, chance: random.Random) -> Any:
    """A constant as a value of the sample's kind: a number with its datatype (or one beside it), text in its language.
    Where the two do not go together, the sample."""
    import pyoxigraph

    wanted = kind_of(sample)
    if wanted == "iri" or kind_of(constant) == "iri":
        return constant if kind_of(constant) == wanted else sample
    if _number(sample) is not None:
        return _moved(constant, sample, chance) if number_of(constant.value) is not None else sample
    if sample.language:
        return pyoxigraph.Literal(constant.value, language=sample.language)
    if sample.datatype.value == XSD + "string" or kind_of(constant) == wanted:
        return pyoxigraph.Literal(constant.value, datatype=sample.datatype)
    return sample


def _number(term: Any) -> float | None:
    datatype = getattr(term, "datatype", None)
    return number_of(term.value) if datatype is not None and datatype.value in NUMERIC_TYPES else None


def _moved(number: Any, sample: Any, chance: random.Random) -> Any:
    """The number, or one beside it, written as the sample is; nothing goes below 0 that was not."""
    import pyoxigraph

    value = number_of(number.value) or 0.0
    moved = value + chance.choice((0, 0, 1, -1))
    if moved < 0 <= value:
        moved = value
    whole = moved == int(moved) and abs(moved) < 1e15
    text = str(int(moved)) if whole else repr(moved)
    return pyoxigraph.Literal(text, datatype=sample.datatype)
