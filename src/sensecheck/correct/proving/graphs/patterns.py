"""What a SPARQL query asks of a graph: its triple patterns in the ways they may be met, its constants, its objections.

What is missed here costs a find, never a verdict: finds are judged by running the queries.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from sensecheck.language.sparql.tree import (
    Bind,
    Call,
    Element,
    Exists,
    Expression,
    Filter,
    GraphPattern,
    Group,
    Iri,
    Literal,
    Minus,
    Optional,
    Path,
    Projection,
    Query,
    Service,
    Term,
    Triple,
    Union,
    Values,
    Var,
    Verb,
)

_NOT_OF_THE_GRAPH = frozenset(("RAND", "NOW", "UUID", "STRUUID", "BNODE"))
_ANY_ORDER = frozenset(("SAMPLE", "GROUP_CONCAT"))
_COMPARISONS = frozenset(
    ("=", "!=", "<", "<=", ">", ">=", "IN", "NOT IN", "REGEX", "CONTAINS", "STRSTARTS", "STRENDS", "SAMETERM")
)


class Pattern(NamedTuple):
    """A triple to be met."""

    subject: Term
    verb: Iri | Var
    object: Term


@dataclass(slots=True)
class Asked:
    """What is read of one query."""

    query: Query
    predicates: set[str] = field(default_factory=set)
    compared: dict[str, list[Iri | Literal]] = field(default_factory=dict)
    """Variables → constants that they are held against."""
    objection: str = ""
    """Why no search is made for it."""


def read(query: Query) -> Asked:
    asked = Asked(query)
    for part in parts(query):
        _look(part, asked)
    return asked


def _look(part: object, asked: Asked) -> None:
    if isinstance(part, Triple):
        asked.predicates |= {verb.value for verb in _verbs(part.verb) if isinstance(verb, Iri)}
    elif isinstance(part, Call):
        name = part.name.upper()
        if name in _NOT_OF_THE_GRAPH:
            asked.objection = asked.objection or f"it calls {name}(), which does not follow from the graph"
        elif name in _ANY_ORDER:
            asked.objection = asked.objection or f"it calls {name}, which may take values in any order"
        elif name in _COMPARISONS:
            variables = [one.name for one in _leaves(part) if isinstance(one, Var)]
            constants = [one for one in _leaves(part) if isinstance(one, Iri | Literal)]
            for variable in variables:
                asked.compared.setdefault(variable, []).extend(constants)
    elif isinstance(part, Values):
        for row in part.rows:
            for held, value in zip(part.variables, row, strict=False):
                if isinstance(value, Iri | Literal):
                    asked.compared.setdefault(held.name, []).append(value)
    elif isinstance(part, GraphPattern):
        asked.objection = asked.objection or "it asks named graphs (GRAPH)"
    elif isinstance(part, Service):
        asked.objection = asked.objection or "it asks another server (SERVICE)"
    elif isinstance(part, Query) and part is not asked.query and (part.limit is not None or part.offset):
        asked.objection = asked.objection or "LIMIT in an inner query may cut rows that tie"


def parts(part: Query | Element | Expression | Values) -> Iterator[object]:
    """Everything that a query holds, itself first."""
    yield part
    if isinstance(part, Query):
        yield from parts(part.where)
        inner: list[Expression | None] = [column.expression for column in part.projection or ()]
        inner += [key.expression if isinstance(key, Projection) else key for key in part.group_by]
        inner += [*part.having, *(key.expression for key in part.order_by)]
        for expression in inner:
            if expression is not None:
                yield from parts(expression)
        if part.values is not None:
            yield part.values
    elif isinstance(part, Group):
        for element in part.elements:
            yield from parts(element)
    elif isinstance(part, Optional | Minus | GraphPattern | Service | Exists):
        yield from parts(part.pattern)
    elif isinstance(part, Union):
        for branch in part.branches:
            yield from parts(branch)
    elif isinstance(part, Filter):
        yield from parts(part.condition)
    elif isinstance(part, Bind):
        yield from parts(part.expression)
    elif isinstance(part, Call):
        for argument in part.arguments:
            yield from parts(argument)


def _leaves(call: Call) -> list[Term]:
    return [part for part in parts(call) if isinstance(part, Var | Iri | Literal)]


def _verbs(verb: Verb) -> Iterator[Iri | Var]:
    if isinstance(verb, Path):
        for part in verb.parts:
            yield from _verbs(part)
    else:
        yield verb


# ---- one way to meet a query


class Way:
    """Draws patterns that together may meet a query: a branch of each UNION, a step or two of each path, and with or
    without what is OPTIONAL, subtracted or asked to (not) exist."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.fresh = 0

    def patterns(self, query: Query) -> list[Pattern]:
        return list(self._of_group(query.where))

    def _of_group(self, group: Group) -> Iterator[Pattern]:
        for element in group.elements:
            yield from self._of(element)

    def _of(self, element: Element) -> Iterator[Pattern]:
        if isinstance(element, Triple):
            yield from self._steps(element.subject, element.verb, element.object)
        elif isinstance(element, Group):
            yield from self._of_group(element)
        elif isinstance(element, Query):
            yield from self._of_group(element.where)
        elif isinstance(element, Union):
            yield from self._of_group(self.chance.choice(element.branches))
        elif isinstance(element, Optional | Minus):
            if self.chance.random() < 0.5:
                yield from self._of_group(element.pattern)
        elif isinstance(element, Filter):
            for part in parts(element.condition):
                if isinstance(part, Exists) and self.chance.random() < 0.5:
                    yield from self._of_group(part.pattern)

    def _steps(self, subject: Term, verb: Verb, target: Term) -> Iterator[Pattern]:
        if not isinstance(verb, Path):
            yield Pattern(subject, verb, target)
        elif verb.kind == "inverse":
            yield from self._steps(target, verb.parts[0], subject)
        elif verb.kind == "sequence":
            places = [subject, *(self._variable() for _ in verb.parts[1:]), target]
            for part, start, end in zip(verb.parts, places, places[1:], strict=False):
                yield from self._steps(start, part, end)
        elif verb.kind == "alternative":
            yield from self._steps(subject, self.chance.choice(verb.parts), target)
        elif verb.kind == "negated":
            yield Pattern(subject, self._variable(), target)
        elif verb.kind in "*+" and self.chance.random() < 0.5:
            middle = self._variable()
            yield from self._steps(subject, verb.parts[0], middle)
            yield from self._steps(middle, verb.parts[0], target)
        else:
            yield from self._steps(subject, verb.parts[0], target)

    def _variable(self) -> Var:
        self.fresh += 1
        return Var(f"_:step.{self.fresh}")
