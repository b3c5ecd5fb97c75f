"""What the triples of the given graph keep to, as far as two queries ask for it: kinds of values, single values, and
what a node always has. A small graph that breaks one of these is none that could well occur."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from sensecheck.language.sparql.tree import RDF

TYPE = RDF + "type"
_MOST = 20_000
"""Triples of one predicate that are looked at."""
_ENOUGH = 4
"""Nodes on which something must hold without exception before it is taken for a rule."""

Triple: TypeAlias = Any
"""A pyoxigraph Triple: the package is there in the worker alone."""


class Feature(NamedTuple):
    """Something that a node may have: a predicate (`out`), one that points to it (`in`), or a class (`type`)."""

    kind: str
    name: str


class Lore:
    """The graph as the queries see it."""

    def __init__(self, store: Any, predicates: Iterable[str], classes: Iterable[str]) -> None:
        self.store = store
        self.triples: dict[str, list[Triple]] = {}
        self.kinds: dict[str, set[str]] = {}
        """Predicates → the kinds of their objects."""
        self.single: set[str] = set()
        """Predicates with one object for each subject,"""
        self.unique: set[str] = set()
        """and with one subject for each object."""
        self.rules: dict[Feature, list[Feature]] = {}
        nodes: dict[Feature, set[Any]] = {}
        whole = True
        for name in sorted({*predicates, TYPE} if classes else set(predicates)):
            triples = self.triples[name] = list(islice(self._named(name), _MOST))
            triples.sort(key=str)
            whole = whole and len(triples) < _MOST
            self.kinds[name] = {kind_of(triple.object) for triple in triples}
            subjects, objects = {t.subject for t in triples}, {t.object for t in triples}
            if len(triples) >= _ENOUGH and name != TYPE:
                if len(subjects) == len(triples):
                    self.single.add(name)
                if len(objects) == len(triples):
                    self.unique.add(name)
            nodes[Feature("in", name)] = objects
            if name != TYPE:
                nodes[Feature("out", name)] = subjects
        for name in sorted(set(classes)):
            nodes[Feature("type", name)] = {t.subject for t in self.triples[TYPE] if t.object.value == name}
        nodes.pop(Feature("in", TYPE), None)
        for feature, having in nodes.items() if whole else ():
            if len(having) >= _ENOUGH:
                always = [one for one in nodes if one != feature and one.kind != "in" and having <= nodes[one]]
                self.rules[feature] = always

    def _named(self, predicate: str) -> Iterator[Triple]:
        import pyoxigraph

        return self.matching(None, pyoxigraph.NamedNode(predicate), None)

    def matching(self, subject: Any, predicate: Any, target: Any) -> Iterator[Triple]:
        """Triples of the default graph without blank nodes, whose names a file does not keep."""
        import pyoxigraph

        found = self.store.quads_for_pattern(subject, predicate, target, pyoxigraph.DefaultGraph())
        return (quad.triple for quad in found if "blank" not in (kind_of(quad.subject), kind_of(quad.object)))

    def broken(self, triples: Iterable[Triple]) -> Iterator[tuple[Any, Feature]]:
        """Nodes of a small graph that lack what such nodes always have."""
        features: dict[Any, set[Feature]] = {}
        for triple in triples:
            name = triple.predicate.value
            if name == TYPE:
                features.setdefault(triple.subject, set()).add(Feature("type", triple.object.value))
            else:
                features.setdefault(triple.subject, set()).add(Feature("out", name))
                features.setdefault(triple.object, set()).add(Feature("in", name))
        for node, own in features.items():
            for feature in sorted(own):
                for needed in self.rules.get(feature, ()):
                    if needed not in own:
                        yield node, needed

    def is_sound(self, triples: Iterable[Triple]) -> bool:
        """Whether a small graph keeps to what the given one keeps to."""
        triples = list(triples)
        forwards: set[Any] = set()
        backwards: set[Any] = set()
        for triple in triples:
            name = triple.predicate.value
            if self.kinds.get(name) and kind_of(triple.object) not in self.kinds[name]:
                return False
            forward, backward = (triple.subject, name), (triple.object, name)
            if (name in self.single and forward in forwards) or (name in self.unique and backward in backwards):
                return False
            forwards.add(forward)
            backwards.add(backward)
        return next(self.broken(triples), None) is None


def kind_of(term: Any) -> str:
    """`iri`, `blank`, or the datatype of a literal with its language.

    Told by what terms have: named nodes and blank ones have a value alone, and write themselves differently.
    """
    datatype = getattr(term, "datatype", None)
    if datatype is not None:
        return f"{datatype.value} {term.language or ''}"
    return "iri" if str(term).startswith("<") and not str(term).startswith("<<") else "blank"
