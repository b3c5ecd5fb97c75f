"""Wikidata's `SERVICE wikibase:label` for graphs that have no such service: labels are looked up in the graph itself.

The block goes, and at the end of its group every label that the query wants is an OPTIONAL for each language, in the
order in which the block prefers them, then for a label without a language. A thing without any label is called by
the last part of its IRI, as Wikidata does. The query is taken apart by its tokens and its tree; a piece of text that
only looks like a service is never touched. What comes out is read and checked again like any query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from . import tokens as t
from .errors import SparqlError
from .grammar import Parsed
from .tree import (
    Bind,
    Call,
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

LABEL_SERVICE = "http://wikiba.se/ontology#label"
_PARAMETER = "http://www.bigdata.com/rdf#serviceParam"
_LANGUAGE = "http://wikiba.se/ontology#language"
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
_KINDS = {
    "AltLabel": "http://www.w3.org/2004/02/skos/core#altLabel",
    "Label": _LABEL,
    "Description": "http://schema.org/description",
}
"""How the name of a variable ends that the service fills by itself, and with what."""
_AUTOMATIC = "[AUTO_LANGUAGE]"  # the reader's own on Wikidata's page, which is English where nobody says another
_TAG = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*+")
_MOST_LOOKUPS = 256


class LabelServiceError(SparqlError):
    """A label service that asks for something else than labels."""


@dataclass(slots=True)
class Relabelled:
    """A query that takes its labels from the graph."""

    text: str
    hidden: frozenset[str]
    """Variables of ours, which `SELECT *` would show."""


@dataclass(slots=True)
class _Level:
    """One SELECT with what its own pattern says: a subquery is a level of its own."""

    services: list[tuple[Service, Group]] = field(default_factory=list)
    bound: dict[str, None] = field(default_factory=dict)
    mentioned: dict[str, None] = field(default_factory=dict)
    inner: list[Query] = field(default_factory=list)


def uses_label_service(query: Query) -> bool:
    return any(level.services for level in _levels(query))


def labels_from_graph(parsed: Parsed) -> Relabelled | None:
    """The query with its label services answered by the graph; None where it has none. Raises LabelServiceError."""
    levels = [level for level in _levels(parsed.query) if level.services]
    if not levels:
        return None
    names = {token.text[1:] for token in parsed.tokens if token.kind == t.VAR}
    stem = "label"
    while any(name.startswith(f"{stem}_") for name in names):
        stem += "_"
    hidden: list[str] = []
    cut: dict[int, int] = {}
    put: dict[int, list[str]] = {}
    for level in levels:
        filled: set[str] = set()
        for service, group in level.services:
            start, end = service.place
            cut[start] = end
            languages, wanted = _asked(service.pattern)
            wanted = wanted or [label for label in _automatic(level) if label[2] not in filled]
            if len(wanted) * len(languages) + len(hidden) > _MOST_LOOKUPS:
                raise LabelServiceError(f"more than {_MOST_LOOKUPS} labels and languages in one query")
            for subject, predicate, name in wanted:
                filled.add(name)
                found = f"{stem}_{len(hidden) + 1}"
                if predicate == _LABEL and name not in level.bound:
                    hidden.append(found)
                    put.setdefault(group.end, []).append(_label(subject, found, name, languages))
                else:
                    put.setdefault(group.end, []).append(_lookups(subject, predicate, name, languages))
    return Relabelled(_text(parsed, cut, put), frozenset(hidden))


# ---- what the block asks for


def _asked(block: Group) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Languages in order of preference, and labels that are asked for by hand: subject, predicate, variable."""
    languages: list[str] = []
    wanted: list[tuple[str, str, str]] = []
    for element in block.elements:
        if not isinstance(element, Triple) or not isinstance(element.verb, Iri):
            raise LabelServiceError("the label service takes parameters and labels, and nothing else")
        subject, predicate, value = element.subject, element.verb.value, element.object
        if subject == Iri(_PARAMETER):
            if predicate == _LANGUAGE and isinstance(value, Literal):
                languages += [part.strip() for part in value.value.split(",")]
        elif predicate in _KINDS.values() and isinstance(value, Var) and not value.name.startswith("_:"):
            wanted.append((_written(subject), predicate, value.name))
        else:
            raise LabelServiceError("the label service takes parameters and labels, and nothing else")
    tags = ["en" if language == _AUTOMATIC else language.lower() for language in languages or ["en"]]
    return list(dict.fromkeys(tag for tag in tags if _TAG.fullmatch(tag))), wanted


def _written(subject: Term) -> str:
    if isinstance(subject, Var) and not subject.name.startswith("_:"):
        return f"?{subject.name}"
    if isinstance(subject, Iri) and re.fullmatch(r"[^<>\"{}|^`\\\x00-\x20]+", subject.value):
        return f"<{subject.value}>"
    raise LabelServiceError("the label service labels variables and IRIs")


def _automatic(level: _Level) -> Iterator[tuple[str, str, str]]:
    """Variables that nothing binds and that are named after one that something does: `?cityLabel` after `?city`."""
    for name in level.mentioned:
        if name in level.bound:
            continue
        for ending, predicate in _KINDS.items():
            base = name.removesuffix(ending)
            if base and base != name and base in level.bound:
                yield f"?{base}", predicate, name
                break


# ---- the text that takes its place


def _lookups(subject: str, predicate: str, variable: str, languages: list[str]) -> str:
    """One OPTIONAL for each language: once one has found something, the following find nothing else."""
    filters = [f'LCASE(LANG(?{variable})) = "{language}"' for language in languages] + [f'LANG(?{variable}) = ""']
    return " ".join(f"OPTIONAL {{ {subject} <{predicate}> ?{variable} . FILTER({one}) }}" for one in filters)


def _label(subject: str, found: str, name: str, languages: list[str]) -> str:
    own = f'IF(ISIRI({subject}), REPLACE(STR({subject}), "^.*[/#]", ""), STR({subject}))'
    return f"{_lookups(subject, _LABEL, found, languages)} BIND(COALESCE(?{found}, {own}) AS ?{name})"


def _text(parsed: Parsed, cut: dict[int, int], put: dict[int, list[str]]) -> str:
    pieces: list[str] = []
    index = 0
    while index < len(parsed.tokens):
        if index in cut:
            pieces.append(" {} ")  # the empty group, which may stand wherever the service did
            index = cut[index]
            continue
        pieces += [f" {text} " for text in put.get(index, ())]
        pieces.append(" " * parsed.gaps[index] + parsed.tokens[index].text)
        index += 1
    return "".join(pieces)


# ---- the levels of a query


def _levels(query: Query) -> list[_Level]:
    level = _Level()
    # What is projected comes first: labels are then looked up in the order of the columns.
    for column in query.projection or ():
        if column.expression is None:
            level.mentioned[column.variable.name] = None
        else:
            level.bound[column.variable.name] = None
            _in_expression(column.expression, level)
    for key in query.group_by:
        if isinstance(key, Projection):
            level.bound[key.variable.name] = None
        _in_expression(key.expression if isinstance(key, Projection) else key, level)
    for condition in query.having:
        _in_expression(condition, level)
    for sort in query.order_by:
        _in_expression(sort.expression, level)
    _in_group(query.where, level)
    if query.values is not None:
        level.bound.update((variable.name, None) for variable in query.values.variables)
    found = [level]
    for inner in level.inner:
        found += _levels(inner)
    return found


def _in_group(group: Group, level: _Level) -> None:
    for element in group.elements:
        if isinstance(element, Service):
            if element.endpoint == Iri(LABEL_SERVICE):
                level.services.append((element, group))
            else:
                _in_group(element.pattern, level)
        elif isinstance(element, Triple):
            _in_triple(element, level)
        elif isinstance(element, Optional | Minus | GraphPattern):
            if isinstance(element, GraphPattern) and isinstance(element.name, Var):
                level.bound[element.name.name] = None
            _in_group(element.pattern, level)
        elif isinstance(element, Union):
            for branch in element.branches:
                _in_group(branch, level)
        elif isinstance(element, Group):
            _in_group(element, level)
        elif isinstance(element, Filter):
            _in_expression(element.condition, level)
        elif isinstance(element, Bind):
            level.bound[element.variable.name] = None
            _in_expression(element.expression, level)
        elif isinstance(element, Values):
            level.bound.update((variable.name, None) for variable in element.variables)
        elif isinstance(element, Query):
            level.inner.append(element)
            level.bound.update(dict.fromkeys(_projected(element)))


def _projected(query: Query) -> list[str]:
    if query.projection is not None:
        return [column.variable.name for column in query.projection]
    within = _Level()
    _in_group(query.where, within)
    return list(within.bound)


def _in_triple(triple: Triple, level: _Level) -> None:
    for term in (triple.subject, triple.object):
        if isinstance(term, Var):
            level.bound[term.name] = None
    verb: Verb = triple.verb
    if isinstance(verb, Var) and not isinstance(verb, Path):
        level.bound[verb.name] = None


def _in_expression(expression: Expression | None, level: _Level) -> None:
    if isinstance(expression, Var):
        level.mentioned[expression.name] = None
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            _in_expression(argument, level)
    elif isinstance(expression, Exists):
        within = _Level()
        _in_group(expression.pattern, within)
        if within.services:
            raise LabelServiceError("a label service inside EXISTS")
        level.inner += within.inner
