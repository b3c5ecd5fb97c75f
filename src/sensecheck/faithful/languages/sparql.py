"""SPARQL → facts: a small reading of patterns, filters, aggregates and order, enough to hold a question against.

Entities and properties are said by their labels (from a graph or a map); without one, by their local names. An
identifier that tells nothing (Q42, P31) is not asked of the sentence.
"""

from __future__ import annotations

import re

from sensecheck.faithful.facts import NO_NAME, Fact, Name, Reading, UnreadableQueryError, name_of, unique_names
from sensecheck.faithful.languages.context import Context
from sensecheck.inputs.reasons import Reason
from sensecheck.language.numbers import as_number

MAX_DEPTH = 60
_TOKEN = re.compile(
    r"""\s+|\#[^\n]*
    |(?P<iri><[^<>"{}|^`\\\s]*>)|(?P<var>[?$]\w+)
    |(?P<string>\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<lang>@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)|(?P<typed>\^\^)
    |(?P<number>[-+]?(?:\d+\.\d+|\.\d+|\d+)(?:[eE][-+]?\d+)?)
    |(?P<name>(?:[A-Za-z_][\w.-]*)?:(?:[\w%-][\w.%:-]*[\w%-]|[\w%-])?)
    |(?P<word>[A-Za-z_]\w*)|(?P<blank>_:\w+)
    |(?P<op>&&|\|\||!=|<=|>=|[{}()\[\].;,=<>!+*/|^?-])""",
    re.VERBOSE,
)
_AGGREGATES = {"COUNT": "count", "SUM": "sum", "AVG": "avg", "MIN": "min", "MAX": "max"}
_CONDITIONS = ("FILTER", "HAVING", "BIND")
_TERMS = ("iri", "name", "var", "blank", "string", "number")
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


class _Token:
    __slots__ = ("end", "kind", "start", "text", "upper")

    def __init__(self, kind: str, text: str, start: int, end: int) -> None:
        self.kind, self.text, self.start, self.end = kind, text, start, end
        self.upper = text.upper() if kind == "word" else text


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    for match in _TOKEN.finditer(text):
        if match.start() != position:
            break
        position = match.end()
        if match.lastgroup:
            tokens.append(_Token(match.lastgroup, match.group(), *match.span()))
    if position != len(text):
        raise UnreadableQueryError(
            Reason.UNREADABLE_QUERY, f"unexpected text at character {position}: {text[position : position + 20]!r}"
        )
    return tokens


def _balanced(tokens: list[_Token]) -> None:
    pairs = {"}": "{", ")": "(", "]": "["}
    stack: list[str] = []
    for token in tokens:
        if token.kind != "op":
            continue
        if token.text in "{([":
            stack.append(token.text)
            if len(stack) > MAX_DEPTH:
                raise UnreadableQueryError(Reason.TOO_DEEP, f"nested more than {MAX_DEPTH} deep")
        elif token.text in pairs and (not stack or stack.pop() != pairs[token.text]):
            raise UnreadableQueryError(Reason.UNREADABLE_QUERY, f"unmatched {token.text!r} at character {token.start}")
    if stack:
        raise UnreadableQueryError(Reason.UNREADABLE_QUERY, f"{stack[-1]!r} is never closed")


class _Facts:
    def __init__(self, tokens: list[_Token], context: Context) -> None:
        self.tokens = tokens
        self.context = context
        self.prefixes = dict(_USUAL_PREFIXES)
        self.facts: list[Fact] = []
        self.names: list[Name] = []
        self.opaque = False

    def add(self, kind: str, token: _Token, **fields: object) -> None:
        self.facts.append(Fact(kind, str(fields.pop("text", token.text)), (token.start, token.end), **fields))  # type: ignore[arg-type]

    def iri(self, token: _Token) -> str:
        if token.kind == "iri":
            return token.text[1:-1]
        prefix, _, local = token.text.partition(":")
        return self.prefixes.get(prefix, prefix + ":") + local

    def label(self, token: _Token) -> str | None:
        """How people call what a token names; None when nobody can tell."""
        iri = self.iri(token)
        label = self.context.labels.get(iri) or self.context.labels.get(token.text)
        if label:
            return label
        local = re.split(r"[/#:]", iri.rstrip("/#"))[-1]
        if not local or _OPAQUE.match(local):
            # A property's label may be stored under the entity of the same number.
            entity_label = self.context.labels.get("http://www.wikidata.org/entity/" + local)
            if entity_label:
                return entity_label
            self.opaque = True
            return None
        return local.replace("_", " ")

    def read(self) -> None:
        tokens = self.tokens
        i, n = 0, len(tokens)
        while i < n and tokens[i].upper in ("PREFIX", "BASE"):
            if tokens[i].upper == "PREFIX":
                if i + 2 >= n or tokens[i + 1].kind != "name" or tokens[i + 2].kind != "iri":
                    raise UnreadableQueryError(
                        Reason.UNREADABLE_QUERY, f"a broken PREFIX at character {tokens[i].start}"
                    )
                self.prefixes[tokens[i + 1].text.rstrip(":")] = tokens[i + 2].text[1:-1]
                i += 3
            else:
                i += 2
        if i >= n or tokens[i].upper not in ("SELECT", "ASK", "DESCRIBE", "CONSTRUCT"):
            raise UnreadableQueryError(Reason.UNREADABLE_QUERY, "expected SELECT, ASK, DESCRIBE or CONSTRUCT")
        if not any(t.text == "{" for t in tokens):
            raise UnreadableQueryError(Reason.UNREADABLE_QUERY, "the query has no pattern in braces")
        self.body(i)

    def body(self, i: int) -> None:
        tokens, n = self.tokens, len(self.tokens)
        predicates: dict[str, Name] = {}  # variable → the property that gives it
        subject: _Token | None = None
        predicate: _Token | None = None
        in_pattern = False
        while i < n:
            token = tokens[i]
            if token.kind == "word":
                after = self.keyword(i, predicates, in_pattern)
                if after > i:
                    if token.upper in _CONDITIONS:
                        subject = predicate = None
                    i = after
                    continue
            if token.kind == "op":
                if token.text in ("{", "}"):
                    in_pattern = in_pattern or token.text == "{"
                    subject = predicate = None
                elif token.text in (".", ";"):
                    predicate = None
                    if token.text == ".":
                        subject = None
            elif in_pattern and (token.kind in _TERMS or (token.kind == "word" and token.upper == "A")):
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
        tokens, token, word = self.tokens, self.tokens[i], self.tokens[i].upper
        if word in _CONDITIONS:
            return self.condition(i + 1, predicates)
        if word == "VALUES":
            return self.value_list(i + 1)
        if word == "ORDER":
            return self.order(i + 2, predicates)
        if word == "LIMIT" and i + 1 < len(tokens) and tokens[i + 1].kind == "number":
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
            variable = next((t.text for t in tokens[i + 1 : i + 5] if t.kind == "var"), "")
            self.add(
                "aggregate", token, text=word.lower(), aggregate=_AGGREGATES[word],
                role="inner" if in_pattern else "select", direction={"MAX": 1, "MIN": -1}.get(word, 0),
                name=predicates.get(variable, NO_NAME),
            )  # fmt: skip
        else:
            return i
        return i + 1

    def property(self, token: _Token) -> None:
        if (
            token.kind == "var"
            or token.upper == "A"
            or self.iri(token).startswith(_NOT_DATA)
            or self.iri(token) in _TYPES
        ):
            return
        label = self.label(token)
        if label:
            name = name_of(label)
            self.names.append(name)
            self.add("column", token, text=label, name=name, role="property")

    def object(self, token: _Token, predicate: _Token, predicates: dict[str, Name]) -> None:
        is_type = predicate.upper == "A" or (predicate.kind in ("iri", "name") and self.iri(predicate) in _TYPES)
        label = None if predicate.kind == "var" or is_type else self.label(predicate)
        name = name_of(label) if label else NO_NAME
        if token.kind == "var":
            predicates[token.text] = name
        elif is_type:
            class_label = self.label(token) if token.kind in ("iri", "name") else None
            if class_label:
                self.names.append(name_of(class_label))
                self.add("table", token, text=class_label, name=name_of(class_label), optional=True)
        else:
            self.entity(token, name)

    def entity(self, token: _Token, name: Name, op: str = "=") -> None:
        if token.kind == "string":
            value: str | None = token.text.strip("\"'")
        elif token.kind == "number":
            value = token.text
        elif token.kind in ("iri", "name"):
            if self.iri(token).startswith(_NOT_DATA):
                return
            value = self.label(token)
        else:
            return
        if not value:
            return
        number = as_number(value) if token.kind in ("string", "number") else None
        kind = "comparison" if token.kind in ("string", "number") else "entity"
        self.add(
            kind, token, text=value, name=name, value=value, number=number, op=op, role="entity",
            direction=_DIRECTION.get(op, 0), integral=number is not None and number.is_integer(),
        )  # fmt: skip
        if op == "!=":
            self.add("negation", token, op="!=", value=value)

    def value_list(self, i: int) -> int:
        depth = 0
        while i < len(self.tokens):
            token = self.tokens[i]
            depth += token.text in "{(" and token.kind == "op"
            if token.text in "})" and token.kind == "op":
                depth -= 1
                if depth == 0:
                    return i + 1
            elif token.kind in ("iri", "name", "string", "number"):
                self.entity(token, NO_NAME)
            i += 1
        return i

    def condition(self, i: int, predicates: dict[str, Name]) -> int:
        """A filter up to its closing bracket, or up to the pattern of an EXISTS."""
        tokens, n = self.tokens, len(self.tokens)
        negated = False
        depth = 0
        name, op, aggregate = NO_NAME, "", ""
        while i < n:
            token = tokens[i]
            word = token.upper if token.kind == "word" else ""
            if word == "NOT" or (token.text == "!" and token.kind == "op"):
                negated = True
                if i + 1 < n and tokens[i + 1].upper == "EXISTS":
                    self.add("negation", token, text="NOT EXISTS", op="not in")
                    return i + 2
                if token.text == "!":
                    self.add("negation", token, op="!=", optional=True)
            elif word == "EXISTS":
                return i + 1
            elif token.text == "(" and token.kind == "op":
                depth += 1
            elif token.text == ")" and token.kind == "op":
                depth -= 1
                if depth <= 0:
                    return i + 1
            elif token.text in ("=", "!=", "<", "<=", ">", ">=") and token.kind == "op":
                op = token.text
                if op in _DIRECTION and i + 1 < n and tokens[i + 1].kind == "var":
                    self.add("comparison", token, name=name, op=op, direction=_DIRECTION[op], role="columns")
            elif token.text == "||":
                self.add("connective", token, text="||", op="or", optional=True)
            elif word in _AGGREGATES:
                aggregate = _AGGREGATES[word]
            elif word in ("CONTAINS", "REGEX", "STRSTARTS", "STRENDS"):
                op = "like"
            elif word == "IN":
                op = "!=" if negated else "="
            elif token.kind == "var":
                name = predicates.get(token.text, NO_NAME)
            elif token.kind in ("string", "number", "iri", "name") and op:
                self.compared(token, name, op, aggregate)
            i += 1
        return i

    def compared(self, token: _Token, name: Name, op: str, aggregate: str) -> None:
        """The value on one side of a comparison; the name of a datatype is none."""
        if token.kind == "name" and self.iri(token).startswith(_NOT_DATA):
            return
        self.entity(token, name, op)
        if aggregate and self.facts and self.facts[-1].kind == "comparison":
            self.facts[-1].aggregate = aggregate

    def order(self, i: int, predicates: dict[str, Name]) -> int:
        tokens, n = self.tokens, len(self.tokens)
        direction, explicit, aggregate = -1, False, ""
        limited = any(t.upper == "LIMIT" and t.kind == "word" for t in tokens[i:])
        while i < n:
            token = tokens[i]
            word = token.upper if token.kind == "word" else ""
            if word in ("ASC", "DESC"):
                direction, explicit = (1 if word == "DESC" else -1), True
            elif word in _AGGREGATES:
                aggregate = _AGGREGATES[word]
            elif token.kind == "var":
                name = predicates.get(token.text, NO_NAME)
                self.add(
                    "order", token, text=("DESC " if direction > 0 else "ASC ") + (name.text or token.text), name=name,
                    direction=direction, limited=limited, role="order", aggregate=aggregate, optional=not explicit,
                )  # fmt: skip
            elif word in ("LIMIT", "OFFSET", "HAVING", "GROUP", "VALUES") or token.text == "}":
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
    return Reading(collector.facts, unique_names(collector.names), language="sparql", opaque=collector.opaque)
