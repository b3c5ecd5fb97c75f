"""Which SPARQL may run: SELECT and ASK over the store itself, and nothing that reaches beyond it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sensecheck.inputs.guarding import Fault, guarded
from sensecheck.language.sparql import (
    Query,
    SparqlError,
    TooDeepError,
    UnknownPrefixError,
    UpdateError,
    parse,
)
from sensecheck.language.sparql.label_service import LabelServiceError, labels_from_graph
from sensecheck.language.sparql.tree import (
    XSD,
    Bind,
    Call,
    Exists,
    Expression,
    Filter,
    GraphPattern,
    Group,
    Iri,
    Minus,
    Optional,
    Projection,
    Service,
    Union,
)

from .limits import Limits
from .outcomes import HALF_CHARACTER, Failure, Reason

WIKIDATA_PREFIXES: dict[str, str] = {
    "wd": "http://www.wikidata.org/entity/",
    "wds": "http://www.wikidata.org/entity/statement/",
    "wdv": "http://www.wikidata.org/value/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "wikibase": "http://wikiba.se/ontology#",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
    "bd": "http://www.bigdata.com/rdf#",
}
STANDARD_PREFIXES: dict[str, str] = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": XSD,
    "owl": "http://www.w3.org/2002/07/owl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "schema": "http://schema.org/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "dct": "http://purl.org/dc/terms/",
    **WIKIDATA_PREFIXES,
}


def prefixes_print(prefixes: Mapping[str, str]) -> str:
    """What a store's fingerprint says of the prefixes that its queries may use: nothing of the usual ones.

    `ex:Q1` is another query under another `ex`, and one that failed without a prefix may run with it.
    """
    if dict(prefixes) == STANDARD_PREFIXES:
        return ""
    sorted_prefixes = repr(sorted(prefixes.items())).encode("utf-8", "surrogatepass")
    return f" prefixes {hashlib.blake2b(sorted_prefixes, digest_size=8).hexdigest()}"


@dataclass(slots=True)
class Admitted:
    """A query that may run, in the text that will."""

    text: str
    query: Query
    hidden: frozenset[str] = frozenset()
    """Variables that the query did not ask for."""


def admit(
    text: str,
    prefixes: Mapping[str, str],
    limits: Limits,
    *,
    tolerant: bool = True,
    services: frozenset[str] = frozenset(),
    own_labels: bool = False,
) -> Admitted | Failure:
    """The text to run, or why not. `services` are endpoints that a SERVICE may name all the same; with `own_labels`,
    Wikidata's label service is answered from the labels of the store itself."""
    admitted = guarded("reading the query", _admitted, text, prefixes, limits, tolerant, services, own_labels)
    return Failure(admitted.reason, admitted.message) if isinstance(admitted, Fault) else admitted


def _admitted(
    text: str,
    prefixes: Mapping[str, str],
    limits: Limits,
    tolerant: bool,
    services: frozenset[str],
    own_labels: bool,
) -> Admitted | Failure:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return Failure(Reason.SYNTAX, HALF_CHARACTER)
    if size > limits.query_bytes:
        most = limits.query_bytes
        return Failure(Reason.REFUSED, f"the query is too long: {size:,} bytes; at most {most:,} are allowed")
    hidden: frozenset[str] = frozenset()
    try:
        parsed = parse(text, prefixes, tolerant=tolerant)
        relabelled = labels_from_graph(parsed) if own_labels else None
        if relabelled is not None:
            # Read again, and checked below, as if the model had written it so.
            parsed, hidden = parse(relabelled.text, prefixes, tolerant=tolerant), relabelled.hidden
    except LabelServiceError as error:
        return Failure(Reason.REFUSED, str(error))
    except UpdateError as error:
        return Failure(Reason.REFUSED, str(error))
    except TooDeepError as error:
        return Failure(Reason.REFUSED, str(error))
    except UnknownPrefixError as error:
        return Failure(Reason.UNKNOWN_PREFIX, str(error))
    except SparqlError as error:
        return Failure(Reason.SYNTAX, str(error))
    try:
        objection = next(_objections(parsed.query, services), "")
    except RecursionError:
        objection = "nested too deeply to be checked"
    if objection:
        return Failure(Reason.REFUSED, objection)
    return Admitted(parsed.strict_text(), parsed.query, hidden)


def _objections(query: Query, services: frozenset[str]) -> Iterator[str]:
    if query.form not in ("SELECT", "ASK"):
        yield f"only SELECT and ASK queries are run, not {query.form}"
    yield from _in_select(query, services)


def _in_select(query: Query, services: frozenset[str]) -> Iterator[str]:
    if query.datasets:
        yield f"FROM {query.datasets[0]} names another graph"
    yield from _in_group(query.where, services)
    for column in query.projection or ():
        if column.expression is not None:
            yield from _in_expression(column.expression, services)
    for key in query.group_by:
        expression = key.expression if isinstance(key, Projection) else key
        if expression is not None:
            yield from _in_expression(expression, services)
    for condition in query.having:
        yield from _in_expression(condition, services)
    for sort in query.order_by:
        yield from _in_expression(sort.expression, services)


def _in_group(group: Group, services: frozenset[str]) -> Iterator[str]:
    for element in group.elements:
        if isinstance(element, Service):
            if not isinstance(element.endpoint, Iri) or element.endpoint.value not in services:
                yield "SERVICE asks another server"
            yield from _in_group(element.pattern, services)
        elif isinstance(element, Optional | Minus | GraphPattern):
            yield from _in_group(element.pattern, services)
        elif isinstance(element, Union):
            for branch in element.branches:
                yield from _in_group(branch, services)
        elif isinstance(element, Group):
            yield from _in_group(element, services)
        elif isinstance(element, Query):
            yield from _in_select(element, services)
        elif isinstance(element, Filter):
            yield from _in_expression(element.condition, services)
        elif isinstance(element, Bind):
            yield from _in_expression(element.expression, services)


def _in_expression(expression: Expression, services: frozenset[str]) -> Iterator[str]:
    if isinstance(expression, Exists):
        yield from _in_group(expression.pattern, services)
    elif isinstance(expression, Call):
        # Casts are named by their datatype; any other IRI is an extension of the server's own.
        if expression.is_iri and not expression.name.startswith(XSD):
            yield f"function <{expression.name}> is not part of standard SPARQL"
        for argument in expression.arguments:
            yield from _in_expression(argument, services)
