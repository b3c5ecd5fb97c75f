"""The parts of a SPARQL query as the grammar names them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@dataclass(slots=True, unsafe_hash=True)
class Var:
    """A variable; a blank node of a pattern is one too, its name starting with `_:`."""

    name: str


@dataclass(slots=True, unsafe_hash=True)
class Iri:
    value: str


@dataclass(slots=True, unsafe_hash=True)
class Literal:
    value: str
    datatype: str = XSD + "string"
    language: str = ""


Term: TypeAlias = Var | Iri | Literal


@dataclass(slots=True)
class Path:
    """A property path: `inverse`, `sequence`, `alternative`, `negated`, or a repetition `*`, `+`, `?`."""

    kind: str
    parts: list[Verb]


Verb: TypeAlias = "Iri | Var | Path"


@dataclass(slots=True)
class Triple:
    subject: Term
    verb: Verb
    object: Term


@dataclass(slots=True)
class Call:
    """An operator, a built-in, an aggregate or a function named by its IRI, with its arguments."""

    name: str
    arguments: list[Expression]
    distinct: bool = False
    separator: str | None = None
    is_iri: bool = False


@dataclass(slots=True)
class Exists:
    pattern: Group
    negated: bool


Expression: TypeAlias = "Term | Call | Exists"


@dataclass(slots=True)
class Filter:
    condition: Expression


@dataclass(slots=True)
class Optional:
    pattern: Group


@dataclass(slots=True)
class Minus:
    pattern: Group


@dataclass(slots=True)
class Union:
    branches: list[Group]


@dataclass(slots=True)
class GraphPattern:
    name: Term
    pattern: Group


@dataclass(slots=True)
class Service:
    endpoint: Term
    pattern: Group
    silent: bool
    place: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)
    """Where it stands among the tokens: its first, and the one after its last."""


@dataclass(slots=True)
class Bind:
    expression: Expression
    variable: Var


@dataclass(slots=True)
class Values:
    variables: list[Var]
    rows: list[list[Term | None]]


@dataclass(slots=True)
class Group:
    elements: list[Element] = field(default_factory=list)
    end: int = field(default=0, compare=False, repr=False)
    """Which token is its closing brace."""


@dataclass(slots=True)
class Projection:
    """One result column: a variable, with the expression it names if any."""

    variable: Var
    expression: Expression | None = None


@dataclass(slots=True)
class OrderKey:
    expression: Expression
    descending: bool


@dataclass(slots=True)
class Query:
    form: str  # SELECT, ASK, CONSTRUCT, DESCRIBE
    where: Group
    projection: list[Projection] | None = None  # None is SELECT *
    distinct: bool = False
    reduced: bool = False
    group_by: list[Projection | Expression] = field(default_factory=list)
    having: list[Expression] = field(default_factory=list)
    order_by: list[OrderKey] = field(default_factory=list)
    limit: int | None = None
    offset: int = 0
    values: Values | None = None
    template: list[Triple] = field(default_factory=list)  # CONSTRUCT
    described: list[Term] = field(default_factory=list)  # DESCRIBE
    datasets: list[str] = field(default_factory=list)  # FROM and FROM NAMED: `<iri>`, `NAMED <iri>`


Element: TypeAlias = (
    "Triple | Filter | Optional | Minus | Union | GraphPattern | Service | Bind | Values | Group | Query"
)
