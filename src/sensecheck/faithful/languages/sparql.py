"""SPARQL → facts: a small reading of patterns, filters, aggregates and order, enough to hold a question against.

Entities and properties are said by their labels (from a graph or a map); without one, by their local names. An
identifier that tells nothing (Q42, P31) is not asked of the sentence.
"""

from __future__ import annotations

import re
from typing import Any

from sensecheck.faithful.facts import NO_NAME, Fact, Name, Reading, UnreadableQueryError, name_of, unreadable
from sensecheck.faithful.languages.context import Context
from sensecheck.inputs.reasons import Reason
from sensecheck.language.numbers import as_number
from sensecheck.language.sparql.errors import SparqlSyntaxError
from sensecheck.language.sparql.tokens import END, IRI, PNAME, STRING, VAR, WORD, Token, tokenise

MAX_DEPTH = 60
_AGGREGATES = {"COUNT": "count", "SUM": "sum", "AVG": "avg", "MIN": "min", "MAX": "max"}
_CONDITIONS = ("FILTER", "HAVING", "BIND")
_NUMBER = "number"  # of any of these kinds, with its sign
_UNSIGNED = ("integer", "decimal", "double")
_NAMED = (IRI, PNAME)
_LITERAL = (STRING, _NUMBER)
_TERMS = (*_NAMED, *_LITERAL, VAR, "blank")
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_DIRECTION = {">": 1, ">=": 1, "<": -1, "<=": -1}
_OPAQUE = re.compile(r"[A-Za-z]{0,2}\d+$|[0-9a-f-]{16,}$")
_TYPES = ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://www.wikidata.org/prop/direct/P31")
_USUAL_PREFIXES = {
    "wd": "http://www.wikidata.org/entity/", "wdt": "http://www.wikidata.org/prop/direct/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "dbo": "http://dbpedia.org/ontology/", "dbr": "http://dbpedia.org/resource/", "dbp": "http://dbpedia.org/property/",
    "foaf": "http://xmlns.com/foaf/0.1/", "xsd": "http://www.w3.org/2001/XMLSchema#",
}  # fmt: skip
_NOT_DATA = ("http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/2000/01/rdf-schema#label")


def _tokens(text: str) -> list[Token]:
    """The tokens of a query; a sign is part of the number that it stands before."""
    try:
        read, gaps = tokenise(text, tolerant=False)
    except SparqlSyntaxError as error:
        near = text[error.position : error.position + 20]
        raise unreadable(f"unexpected text at character {error.position}: {near!r}") from None
    tokens: list[Token] = []
    for token, gap in zip(read, gaps, strict=True):
        if token.kind not in _UNSIGNED:
            tokens.append(token)
        elif tokens and tokens[-1].kind in ("+", "-") and not gap:
            sign = tokens.pop()
            tokens.append(Token(_NUMBER, sign.text + token.text, sign.position))
        else:
            tokens.append(Token(_NUMBER, token.text, token.position))
    return tokens


def _keyword(token: Token) -> str:
    """A word as keywords are written; nothing for what is no word."""
    return token.text.upper() if token.kind == WORD else ""


def _balanced(tokens: list[Token]) -> None:
    pairs = {"}": "{", ")": "(", "]": "["}
    stack: list[str] = []
    for token in tokens:
        if token.kind in ("{", "(", "["):
            stack.append(token.kind)
            if len(stack) > MAX_DEPTH:
                raise UnreadableQueryError(Reason.TOO_DEEP, f"nested more than {MAX_DEPTH} deep")
        elif token.kind in pairs and (not stack or stack.pop() != pairs[token.kind]):
            raise unreadable(f"unmatched {token.text!r} at character {token.position}")
    if stack:
        raise unreadable(f"{stack[-1]!r} is never closed")


class _Facts:
    def __init__(self, tokens: list[Token], context: Context) -> None:
        self.tokens = tokens
        self.context = context
        self.prefixes = dict(_USUAL_PREFIXES)
        self.facts: list[Fact] = []
        self.names: list[Name] = []
        self.opaque = False

    def add(self, kind: str, token: Token, **fields: Any) -> None:
        span = (token.position, token.position + len(token.text))
        self.facts.append(Fact(kind, fields.pop("text", token.text), span, **fields))

    def iri(self, token: Token) -> str:
        if token.kind == IRI:
            return token.text[1:-1]
        prefix, _, local = token.text.partition(":")
        return self.prefixes.get(prefix, prefix + ":") + local

    def label(self, token: Token) -> str | None:
        """How people call what a token names; None when nobody can tell."""
        iri, labels = self.iri(token), self.context.labels
        local = re.split(r"[/#:]", iri.rstrip("/#"))[-1]
        label = labels.get(iri) or labels.get(token.text)
        if not label and local and not _OPAQUE.match(local):
            return local.replace("_", " ")
        # A property's label may be stored under the entity of the same number.
        label = label or labels.get("http://www.wikidata.org/entity/" + local) or None
        self.opaque = self.opaque or label is None
        return label

    def read(self) -> None:
        tokens = self.tokens
        i = 0
        while (word := _keyword(tokens[i])) in ("PREFIX", "BASE"):
            if word == "BASE":
                i = min(i + 2, len(tokens) - 1)
                continue
            if [t.kind for t in tokens[i + 1 : i + 3]] != [PNAME, IRI]:
                raise unreadable(f"a broken PREFIX at character {tokens[i].position}")
            self.prefixes[tokens[i + 1].text.rstrip(":")] = tokens[i + 2].text[1:-1]
            i += 3
        if word not in ("SELECT", "ASK", "DESCRIBE", "CONSTRUCT"):
            raise unreadable("expected SELECT, ASK, DESCRIBE or CONSTRUCT")
        if not any(t.kind == "{" for t in tokens):
            raise unreadable("the query has no pattern in braces")
        self.body(i)

    def body(self, i: int) -> None:
        tokens = self.tokens
        predicates: dict[str, Name] = {}  # variable → the property that gives it
        subject: Token | None = None
        predicate: Token | None = None
        in_pattern = False
        while tokens[i].kind != END:
            token, word = tokens[i], _keyword(tokens[i])
            after = self.keyword(i, predicates, in_pattern) if word else i
            if after > i:
                if word in _CONDITIONS:
                    subject = predicate = None
                i = after
                continue
            if token.kind in ("{", "}", "."):
                in_pattern = in_pattern or token.kind == "{"
                subject = predicate = None
            elif token.kind == ";":
                predicate = None
            elif in_pattern and (token.kind in _TERMS or word == "A"):
                if subject is None:
                    subject = token
                    self.entity(token, NO_NAME)
                elif predicate is None or tokens[i - 1].text in ("/", "|", "^"):
                    predicate = token
                    self.property(token)
                else:
                    self.object(token, predicate, predicates)
            i += 1

    def keyword(self, i: int, predicates: dict[str, Name], in_pattern: bool) -> int:
        """The facts of a keyword with what belongs to it; where reading goes on, which is `i` for any other word."""
        tokens, token, word = self.tokens, self.tokens[i], _keyword(self.tokens[i])
        if word in _CONDITIONS:
            return self.condition(i + 1, predicates)
        if word == "VALUES":
            return self.value_list(i + 1)
        if word == "ORDER":
            return self.order(min(i + 2, len(tokens) - 1), predicates)
        if word == "LIMIT" and tokens[i + 1].kind == _NUMBER:
            digits = tokens[i + 1]
            number = as_number(digits.text)
            self.add("limit", digits, text=f"LIMIT {digits.text}", number=number, optional=number == 1)
            return i + 2
        if word == "MINUS":
            self.add("negation", token, op="not in")
        elif word == "UNION":
            self.add("setop", token, op="union")
        elif word == "DISTINCT":
            self.add("distinct", token, optional=True)
        elif word in _AGGREGATES:
            variable = next((t.text for t in tokens[i + 1 : i + 5] if t.kind == VAR), "")
            self.add(
                "aggregate", token, text=word.lower(), aggregate=_AGGREGATES[word],
                role="inner" if in_pattern else "select", direction={"MAX": 1, "MIN": -1}.get(word, 0),
                name=predicates.get(variable, NO_NAME),
            )  # fmt: skip
        else:
            return i
        return i + 1

    def is_type(self, token: Token) -> bool:
        """Whether a predicate says of what class things are."""
        return _keyword(token) == "A" or (token.kind in _NAMED and self.iri(token) in _TYPES)

    def property(self, token: Token) -> None:
        if token.kind == VAR or self.is_type(token) or self.iri(token).startswith(_NOT_DATA):
            return
        label = self.label(token)
        if label:
            name = name_of(label)
            self.names.append(name)
            self.add("column", token, text=label, name=name, role="property")

    def object(self, token: Token, predicate: Token, predicates: dict[str, Name]) -> None:
        is_type = self.is_type(predicate)
        label = None if predicate.kind == VAR or is_type else self.label(predicate)
        name = name_of(label) if label else NO_NAME
        if token.kind == VAR:
            predicates[token.text] = name
        elif is_type:
            class_label = self.label(token) if token.kind in _NAMED else None
            if class_label:
                self.names.append(name_of(class_label))
                self.add("table", token, text=class_label, name=name_of(class_label), optional=True)
        else:
            self.entity(token, name)

    def entity(self, token: Token, name: Name, op: str = "=") -> None:
        """A literal or a thing that a pattern holds; variables, datatypes and what nobody can tell are none."""
        literal = token.kind in _LITERAL
        if not literal and (token.kind not in _NAMED or self.iri(token).startswith(_NOT_DATA)):
            return
        value = token.text.strip("\"'") if literal else self.label(token)
        if not value:
            return
        number = as_number(value) if literal else None
        self.add(
            "comparison" if literal else "entity", token, text=value, name=name, value=value, number=number, op=op,
            role="entity", direction=_DIRECTION.get(op, 0), integral=number is not None and number.is_integer(),
        )  # fmt: skip
        if op == "!=":
            self.add("negation", token, op="!=", value=value)

    def value_list(self, i: int) -> int:
        depth = 0
        while (token := self.tokens[i]).kind != END:
            depth += (token.kind in ("{", "(")) - (token.kind in ("}", ")"))
            if token.kind in ("}", ")") and depth == 0:
                return i + 1
            self.entity(token, NO_NAME)
            i += 1
        return i

    def condition(self, i: int, predicates: dict[str, Name]) -> int:
        """A filter up to its closing bracket, or up to the pattern of an EXISTS."""
        tokens = self.tokens
        negated = False
        depth = 0
        name, op, aggregate = NO_NAME, "", ""
        while (token := tokens[i]).kind != END:
            kind, word = token.kind, _keyword(token)
            if word == "NOT" or kind == "!":
                negated = True
                if _keyword(tokens[i + 1]) == "EXISTS":
                    self.add("negation", token, text="NOT EXISTS", op="not in")
                    return i + 2
                if kind == "!":
                    self.add("negation", token, op="!=", optional=True)
            elif word == "EXISTS":
                return i + 1
            elif kind in ("(", ")"):
                depth += 1 if kind == "(" else -1
                if kind == ")" and depth <= 0:
                    return i + 1
            elif kind in _COMPARISONS:
                op = kind
                if op in _DIRECTION and tokens[i + 1].kind == VAR:
                    self.add("comparison", token, name=name, op=op, direction=_DIRECTION[op], role="columns")
            elif kind == "||":
                self.add("connective", token, op="or", optional=True)
            elif word in _AGGREGATES:
                aggregate = _AGGREGATES[word]
            elif word in ("CONTAINS", "REGEX", "STRSTARTS", "STRENDS"):
                op = "like"
            elif word == "IN":
                op = "!=" if negated else "="
            elif kind == VAR:
                name = predicates.get(token.text, NO_NAME)
            elif op and kind in (*_NAMED, *_LITERAL):
                self.compared(token, name, op, aggregate)
            i += 1
        return i

    def compared(self, token: Token, name: Name, op: str, aggregate: str) -> None:
        """The value on one side of a comparison; the name of a datatype is none."""
        if token.kind == PNAME and self.iri(token).startswith(_NOT_DATA):
            return
        self.entity(token, name, op)
        if aggregate and self.facts and self.facts[-1].kind == "comparison":
            self.facts[-1].aggregate = aggregate

    def order(self, i: int, predicates: dict[str, Name]) -> int:
        direction, explicit, aggregate = -1, False, ""
        limited = any(_keyword(t) == "LIMIT" for t in self.tokens[i:])
        while (token := self.tokens[i]).kind != END:
            word = _keyword(token)
            if word in ("ASC", "DESC"):
                direction, explicit = (1 if word == "DESC" else -1), True
            elif word in _AGGREGATES:
                aggregate = _AGGREGATES[word]
            elif token.kind == VAR:
                name = predicates.get(token.text, NO_NAME)
                self.add(
                    "order", token, text=("DESC " if direction > 0 else "ASC ") + (name.text or token.text), name=name,
                    direction=direction, limited=limited, role="order", aggregate=aggregate, optional=not explicit,
                )  # fmt: skip
            elif word in ("LIMIT", "OFFSET", "HAVING", "GROUP", "VALUES") or token.kind == "}":
                return i
            i += 1
        return i


def read(text: str, context: Context) -> Reading:
    """The facts of a SPARQL query. Raises UnreadableQueryError with a reason."""
    if not text or not text.strip():
        raise UnreadableQueryError(Reason.EMPTY_QUERY, "the query is empty")
    tokens = _tokens(text)
    _balanced(tokens)
    collector = _Facts(tokens, context)
    collector.read()
    return Reading(collector.facts, collector.names, language="sparql", opaque=collector.opaque)
