"""A parser for SPARQL 1.1 queries: recursive descent over the tokens, one method per rule.

It is written for speed on the short queries that models write, and it never recurses deeper than MAX_DEPTH:
a few kilobytes of braces cannot bring down the process that reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from urllib.parse import urljoin

from . import tokens as t
from .errors import SparqlSyntaxError, TooDeepError, UnknownPrefixError, UpdateError
from .tree import (
    RDF,
    XSD,
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
    OrderKey,
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

MAX_DEPTH = 64
MAX_CHAIN = 256  # operators in a row: `1+1+1…` is as deep a tree as brackets would make
MAX_PARTS = 1024  # patterns of a group, branches of a union, steps of a path: engines join them into such a tree too

UPDATE_WORDS = frozenset(["INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"])
AGGREGATES = frozenset(["COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT"])
BUILT_IN: dict[str, tuple[int, int]] = {  # name: fewest and most arguments
    "STR": (1, 1), "LANG": (1, 1), "LANGMATCHES": (2, 2), "DATATYPE": (1, 1), "BOUND": (1, 1), "IRI": (1, 1),
    "URI": (1, 1), "BNODE": (0, 1), "RAND": (0, 0), "ABS": (1, 1), "CEIL": (1, 1), "FLOOR": (1, 1),
    "ROUND": (1, 1), "CONCAT": (0, 9999), "STRLEN": (1, 1), "UCASE": (1, 1), "LCASE": (1, 1),
    "ENCODE_FOR_URI": (1, 1), "CONTAINS": (2, 2), "STRSTARTS": (2, 2), "STRENDS": (2, 2), "STRBEFORE": (2, 2),
    "STRAFTER": (2, 2), "YEAR": (1, 1), "MONTH": (1, 1), "DAY": (1, 1), "HOURS": (1, 1), "MINUTES": (1, 1),
    "SECONDS": (1, 1), "TIMEZONE": (1, 1), "TZ": (1, 1), "NOW": (0, 0), "UUID": (0, 0), "STRUUID": (0, 0),
    "MD5": (1, 1), "SHA1": (1, 1), "SHA256": (1, 1), "SHA384": (1, 1), "SHA512": (1, 1),
    "COALESCE": (0, 9999),
    "IF": (3, 3), "STRLANG": (2, 2), "STRDT": (2, 2), "SAMETERM": (2, 2), "ISIRI": (1, 1), "ISURI": (1, 1),
    "ISBLANK": (1, 1), "ISLITERAL": (1, 1), "ISNUMERIC": (1, 1), "REGEX": (2, 3), "SUBSTR": (2, 3),
    "REPLACE": (3, 4),
}  # fmt: skip

_BINDING = {
    "||": 1,
    "&&": 2,
    "=": 3,
    "!=": 3,
    "<": 3,
    ">": 3,
    "<=": 3,
    ">=": 3,
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
}
_NUMBERS = {t.INTEGER: XSD + "integer", t.DECIMAL: XSD + "decimal", t.DOUBLE: XSD + "double"}
_FIRST = Iri(RDF + "first")
_REST = Iri(RDF + "rest")
_NIL = Iri(RDF + "nil")
_TYPE = Iri(RDF + "type")

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", "\\": "\\", '"': '"', "'": "'"}
_LOCAL_ESCAPE = re.compile(r"\\(.)")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


@dataclass(slots=True)
class Parsed:
    """A query, the tokens it was read from, and the prefixes it leaned on."""

    query: Query
    tokens: list[t.Token]
    gaps: list[bool]
    declared: dict[str, str]  # prefixes that the query declares itself
    borrowed: dict[str, str]  # prefixes it used without declaring, taken from the caller

    def strict_text(self) -> str:
        """The query rebuilt from its tokens: names joined, comments gone, borrowed prefixes declared.

        An engine that is given this text runs what was read here, whatever it thinks of comments.
        """
        return self._text(len(self.tokens))

    def text_without_limit(self) -> str:
        """The same without the outermost LIMIT and OFFSET: every row that might have been shown."""
        depth = 0
        end = len(self.tokens)
        for index, token in enumerate(self.tokens):
            if token.kind == "{":
                depth += 1
            elif token.kind == "}":
                depth -= 1
            elif depth == 0 and token.kind == t.WORD and token.text.upper() in ("LIMIT", "OFFSET"):
                end = index
                break
        rest = end
        while rest + 1 < len(self.tokens) and self.tokens[rest].text.upper() in ("LIMIT", "OFFSET"):
            rest += 2
        return self._text(end) + " " + "".join(f" {token.text}" for token in self.tokens[rest:])

    def _text(self, end: int) -> str:
        pieces = [f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in self.borrowed.items()]
        for token, gap in zip(self.tokens[:end], self.gaps, strict=False):
            if gap:
                pieces.append(" ")
            pieces.append(token.text)
        return "".join(pieces)


class Parser:
    def __init__(self, text: str, prefixes: Mapping[str, str], tolerant: bool) -> None:
        self.text = text
        self.tokens, self.gaps = t.tokenise(text, tolerant=tolerant)
        self.kinds = [token.kind for token in self.tokens]
        self.index = 0
        self.depth = 0
        self.prefixes = prefixes  # that the query may use without declaring them
        self.declared: dict[str, str] = {}
        self.borrowed: dict[str, str] = {}
        self.base = ""
        self.blanks = 0

    # ---- small steps

    def fail(self, expected: str) -> SparqlSyntaxError:
        return SparqlSyntaxError(f"expected {expected}", self.text, self.tokens[self.index].position)

    def expect(self, kind: str) -> str:
        if self.kinds[self.index] != kind:
            raise self.fail(f"'{kind}'" if len(kind) < 3 else kind)
        token = self.tokens[self.index]
        self.index += 1
        return token.text

    def accept(self, kind: str) -> bool:
        if self.kinds[self.index] == kind:
            self.index += 1
            return True
        return False

    def word(self) -> str:
        """The keyword at this place, in capitals, or nothing."""
        token = self.tokens[self.index]
        return token.text.upper() if token.kind == t.WORD else ""

    def accept_word(self, word: str) -> bool:
        if self.kinds[self.index] == t.WORD and self.tokens[self.index].text.upper() == word:
            self.index += 1
            return True
        return False

    def expect_word(self, word: str) -> None:
        if not self.accept_word(word):
            raise self.fail(word)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooDeepError(f"nested more than {MAX_DEPTH} deep", self.text, self.tokens[self.index].position)

    def no_more_than(self, parts: Sized, what: str) -> None:
        if len(parts) > MAX_PARTS:
            raise TooDeepError(f"more than {MAX_PARTS:,} {what}", self.text, self.tokens[self.index].position)

    def fresh_blank(self) -> Var:
        self.blanks += 1
        return Var(f"_:b.{self.blanks}")

    # ---- names and literals

    def unescape(self, raw: str, position: int) -> str:
        def expanded(escape: re.Match[str]) -> str:
            four_digits, eight_digits, letter = escape.groups()
            if letter is not None:
                if letter not in _SIMPLE_ESCAPES:
                    raise SparqlSyntaxError(f"unknown escape \\{letter}", self.text, position)
                return _SIMPLE_ESCAPES[letter]
            code = int(four_digits or eight_digits, 16)
            # Some engines expand these before they parse, so an escaped quote would end the string for them
            # and not for us: what we checked would not be what they run.
            if code < 0x80:
                raise SparqlSyntaxError("escaped ASCII character", self.text, position)
            if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                raise SparqlSyntaxError("escape outside Unicode", self.text, position)
            return chr(code)

        return _ESCAPE.sub(expanded, raw)

    def iri_of(self, token: t.Token) -> Iri:
        raw = token.text[1:-1]
        if "\\" in raw:
            raw = self.unescape(raw, token.position)
        if not _ABSOLUTE.match(raw) and self.base:
            raw = urljoin(self.base, raw)
        return Iri(raw)

    def pname_of(self, token: t.Token) -> Iri:
        prefix, _, local = token.text.partition(":")
        namespace = self.declared.get(prefix)
        if namespace is None:
            namespace = self.prefixes.get(prefix)
            if namespace is None:
                raise UnknownPrefixError(prefix, self.text, token.position)
            self.borrowed[prefix] = namespace
        if "\\" in local:
            local = _LOCAL_ESCAPE.sub(r"\1", local)
        return Iri(namespace + local)

    def string(self) -> str:
        token = self.tokens[self.index]
        self.index += 1
        text = token.text
        body = text[3:-3] if text[:3] in ('"""', "'''") else text[1:-1]
        return self.unescape(body, token.position) if "\\" in body else body

    def literal(self) -> Literal:
        value = self.string()
        kind = self.kinds[self.index]
        if kind == t.LANG:
            tag = self.tokens[self.index].text[1:].lower()
            self.index += 1
            return Literal(value, RDF + "langString", tag)
        if kind == "^^":
            self.index += 1
            return Literal(value, self.iri().value)
        return Literal(value)

    def iri(self) -> Iri:
        token = self.tokens[self.index]
        if token.kind == t.PNAME:
            self.index += 1
            return self.pname_of(token)
        if token.kind == t.IRI:
            self.index += 1
            return self.iri_of(token)
        raise self.fail("an IRI")

    def number(self) -> Literal | None:
        sign = ""
        index = self.index
        if self.kinds[index] in ("+", "-"):
            sign = self.kinds[index]
            index += 1
        datatype = _NUMBERS.get(self.kinds[index])
        if datatype is None:
            return None
        value = self.tokens[index].text
        self.index = index + 1
        return Literal(("-" if sign == "-" else "") + value, datatype)

    def constant(self) -> Term | None:
        """An IRI or a literal, or nothing."""
        kind = self.kinds[self.index]
        if kind == t.PNAME or kind == t.IRI:
            return self.iri()
        if kind == t.STRING:
            return self.literal()
        if kind == t.WORD:
            word = self.word()
            if word in ("TRUE", "FALSE"):
                self.index += 1
                return Literal(word.lower(), XSD + "boolean")
            return None
        return self.number()

    def variable(self) -> Var:
        if self.kinds[self.index] != t.VAR:
            raise self.fail("a variable")
        name = self.tokens[self.index].text[1:]
        self.index += 1
        return Var(name)

    # ---- the query

    def query(self) -> Query:
        self.prologue()
        word = self.word()
        if word in UPDATE_WORDS:
            raise UpdateError(f"{word} is an update, not a query", self.text, self.tokens[self.index].position)
        if word == "SELECT":
            query = self.select()
        elif word == "ASK":
            self.index += 1
            datasets = self.datasets()
            query = Query("ASK", self.where())
            query.datasets = datasets
            self.modifiers(query)
        elif word == "CONSTRUCT":
            query = self.construct()
        elif word == "DESCRIBE":
            query = self.describe()
        else:
            raise self.fail("SELECT, ASK, CONSTRUCT or DESCRIBE")
        if self.accept_word("VALUES"):
            query.values = self.data_block()
        if self.accept(";"):
            raise UpdateError("more than one statement", self.text, self.tokens[self.index - 1].position)
        if self.kinds[self.index] != t.END:
            raise self.fail("the end of the query")
        return query

    def prologue(self) -> None:
        while True:
            if self.accept_word("PREFIX"):
                token = self.tokens[self.index]
                if token.kind != t.PNAME or not token.text.endswith(":") or token.text.count(":") != 1:
                    raise self.fail("a prefix and its colon")
                self.index += 1
                if self.kinds[self.index] != t.IRI:
                    raise self.fail("the IRI of the prefix")
                self.declared[token.text[:-1]] = self.iri_of(self.tokens[self.index]).value
                self.index += 1
            elif self.accept_word("BASE"):
                if self.kinds[self.index] != t.IRI:
                    raise self.fail("the base IRI")
                self.base = self.iri_of(self.tokens[self.index]).value
                self.index += 1
            else:
                return

    def select(self) -> Query:
        self.expect_word("SELECT")
        query = Query("SELECT", Group())
        if self.accept_word("DISTINCT"):
            query.distinct = True
        elif self.accept_word("REDUCED"):
            query.reduced = True
        if not self.accept("*"):
            columns: list[Projection] = []
            while True:
                if self.kinds[self.index] == t.VAR:
                    columns.append(Projection(self.variable()))
                elif self.accept("("):
                    expression = self.expression()
                    self.expect_word("AS")
                    columns.append(Projection(self.variable(), expression))
                    self.expect(")")
                else:
                    break
            if not columns:
                raise self.fail("a variable, an expression or '*'")
            query.projection = columns
        query.datasets = self.datasets()
        query.where = self.where()
        self.modifiers(query)
        return query

    def sub_select(self) -> Query:
        self.deeper()
        query = self.select()
        if self.accept_word("VALUES"):
            query.values = self.data_block()
        self.depth -= 1
        return query

    def construct(self) -> Query:
        self.index += 1
        query = Query("CONSTRUCT", Group())
        if self.kinds[self.index] == "{":
            self.index += 1
            while self.kinds[self.index] != "}":
                query.template += self.triples_same_subject()
                if not self.accept("."):
                    break
            self.expect("}")
            query.datasets = self.datasets()
            query.where = self.where()
        else:
            query.datasets = self.datasets()
            self.expect_word("WHERE")
            query.where = self.group()
            for element in query.where.elements:
                if not isinstance(element, Triple):
                    raise self.fail("only triples in the short form of CONSTRUCT")
                query.template.append(element)
        self.modifiers(query)
        return query

    def describe(self) -> Query:
        self.index += 1
        query = Query("DESCRIBE", Group())
        if not self.accept("*"):
            while True:
                if self.kinds[self.index] == t.VAR:
                    query.described.append(self.variable())
                elif self.kinds[self.index] in (t.IRI, t.PNAME):
                    query.described.append(self.iri())
                else:
                    break
            if not query.described:
                raise self.fail("what to describe")
        query.datasets = self.datasets()
        if self.kinds[self.index] == "{" or self.word() == "WHERE":
            query.where = self.where()
        self.modifiers(query)
        return query

    def datasets(self) -> list[str]:
        datasets: list[str] = []
        while self.accept_word("FROM"):
            named = "NAMED " if self.accept_word("NAMED") else ""
            datasets.append(f"{named}<{self.iri().value}>")
        return datasets

    def where(self) -> Group:
        self.accept_word("WHERE")
        return self.group()

    def modifiers(self, query: Query) -> None:
        if self.accept_word("GROUP"):
            self.expect_word("BY")
            while True:
                kind = self.kinds[self.index]
                if kind == t.VAR:
                    query.group_by.append(self.variable())
                elif kind == "(":
                    self.index += 1
                    expression = self.expression()
                    if self.accept_word("AS"):
                        query.group_by.append(Projection(self.variable(), expression))
                    else:
                        query.group_by.append(expression)
                    self.expect(")")
                elif self.starts_call():
                    query.group_by.append(self.call())
                else:
                    break
            if not query.group_by:
                raise self.fail("what to group by")
        if self.accept_word("HAVING"):
            while self.kinds[self.index] == "(" or self.starts_call():
                query.having.append(self.constraint())
            if not query.having:
                raise self.fail("a condition")
        if self.accept_word("ORDER"):
            self.expect_word("BY")
            while True:
                word = self.word()
                if word in ("ASC", "DESC"):
                    self.index += 1
                    self.expect("(")
                    query.order_by.append(OrderKey(self.expression(), word == "DESC"))
                    self.expect(")")
                elif self.kinds[self.index] == t.VAR:
                    query.order_by.append(OrderKey(self.variable(), False))
                elif self.kinds[self.index] == "(" or self.starts_call():
                    query.order_by.append(OrderKey(self.constraint(), False))
                else:
                    break
            if not query.order_by:
                raise self.fail("what to order by")
        seen: set[str] = set()
        while (word := self.word()) in ("LIMIT", "OFFSET") and word not in seen:
            seen.add(word)
            self.index += 1
            number = self.expect(t.INTEGER)
            if len(number) > 18:
                raise self.fail(f"a smaller {word}")
            if word == "LIMIT":
                query.limit = int(number)
            else:
                query.offset = int(number)

    # ---- patterns

    def group(self) -> Group:
        self.deeper()
        self.expect("{")
        group = Group()
        elements = group.elements
        if self.word() == "SELECT":
            elements.append(self.sub_select())
        else:
            dotted = True  # triples must be separated by a dot from triples that follow
            while True:
                kind = self.kinds[self.index]
                if kind == "}":
                    break
                word = self.word() if kind == t.WORD else ""
                if word and word not in ("TRUE", "FALSE", "A"):
                    elements.append(self.keyword_element(word))
                    self.accept(".")
                    dotted = True
                elif kind == "{":
                    elements.append(self.group_or_union())
                    self.accept(".")
                    dotted = True
                else:
                    if not dotted:
                        raise self.fail("'.' or '}'")
                    elements += self.triples_same_subject()
                    dotted = self.accept(".")
                self.no_more_than(elements, "patterns in one group")
        group.end = self.index
        self.expect("}")
        self.depth -= 1
        return group

    def keyword_element(self, word: str) -> Element:
        if word == "FILTER":
            self.index += 1
            return Filter(self.constraint())
        if word == "OPTIONAL":
            self.index += 1
            return Optional(self.group())
        if word == "MINUS":
            self.index += 1
            return Minus(self.group())
        if word == "VALUES":
            self.index += 1
            return self.data_block()
        if word == "BIND":
            self.index += 1
            self.expect("(")
            expression = self.expression()
            self.expect_word("AS")
            variable = self.variable()
            self.expect(")")
            return Bind(expression, variable)
        if word == "GRAPH":
            self.index += 1
            return GraphPattern(self.var_or_iri(), self.group())
        if word == "SERVICE":
            start = self.index
            self.index += 1
            silent = self.accept_word("SILENT")
            service = Service(self.var_or_iri(), self.group(), silent)
            service.place = (start, self.index)
            return service
        raise self.fail("a triple, '{', FILTER, OPTIONAL, MINUS, BIND, VALUES, GRAPH or '}'")

    def group_or_union(self) -> Element:
        first = self.group()
        if self.word() != "UNION":
            return first
        branches = [first]
        while self.accept_word("UNION"):
            branches.append(self.group())
            self.no_more_than(branches, "branches of a UNION")
        return Union(branches)

    def var_or_iri(self) -> Term:
        return self.variable() if self.kinds[self.index] == t.VAR else self.iri()

    def data_block(self) -> Values:
        variables: list[Var] = []
        rows: list[list[Term | None]] = []
        if self.kinds[self.index] == t.VAR:
            variables.append(self.variable())
            self.expect("{")
            while self.kinds[self.index] != "}":
                rows.append([self.data_value()])
            self.expect("}")
            return Values(variables, rows)
        self.expect("(")
        while self.kinds[self.index] == t.VAR:
            variables.append(self.variable())
        self.expect(")")
        self.expect("{")
        while self.accept("("):
            row: list[Term | None] = []
            while self.kinds[self.index] != ")":
                row.append(self.data_value())
            self.expect(")")
            if len(row) != len(variables):
                raise self.fail(f"{len(variables)} values in a row of VALUES, not {len(row)}")
            rows.append(row)
        self.expect("}")
        return Values(variables, rows)

    def data_value(self) -> Term | None:
        if self.accept_word("UNDEF"):
            return None
        value = self.constant()
        if value is None:
            raise self.fail("a value")
        return value

    # ---- triples

    def triples_same_subject(self) -> list[Triple]:
        triples: list[Triple] = []
        kind = self.kinds[self.index]
        if kind == "[" and self.kinds[self.index + 1] != "]":
            subject = self.property_list_node(triples)
            if self.starts_verb():
                self.property_list(subject, triples)
        elif kind == "(" and self.kinds[self.index + 1] != ")":
            subject = self.collection(triples)
            if self.starts_verb():
                self.property_list(subject, triples)
        else:
            subject = self.node(triples)
            self.property_list(subject, triples)
        return triples

    def starts_verb(self) -> bool:
        return self.kinds[self.index] in (t.VAR, t.IRI, t.PNAME, "^", "!", "(") or self.is_a()

    def is_a(self) -> bool:
        token = self.tokens[self.index]
        return token.kind == t.WORD and token.text == "a"

    def property_list(self, subject: Term, triples: list[Triple]) -> None:
        while True:
            verb: Verb
            if self.kinds[self.index] == t.VAR:
                verb = self.variable()
            elif self.starts_verb():
                verb = self.path()
            else:
                raise self.fail("a predicate")
            while True:
                triples.append(Triple(subject, verb, self.node(triples)))
                if not self.accept(","):
                    break
            if not self.accept(";"):
                return
            while self.accept(";"):
                pass
            if not self.starts_verb():
                return

    def node(self, triples: list[Triple]) -> Term:
        """A term of a triple; what stands in brackets adds its own triples."""
        kind = self.kinds[self.index]
        if kind == t.VAR:
            return self.variable()
        if kind == t.PNAME or kind == t.IRI:
            return self.iri()
        if kind == t.BLANK:
            name = self.tokens[self.index].text
            self.index += 1
            return Var(name)
        if kind == "[":
            if self.kinds[self.index + 1] == "]":
                self.index += 2
                return self.fresh_blank()
            return self.property_list_node(triples)
        if kind == "(":
            return self.collection(triples)
        value = self.constant()
        if value is None:
            raise self.fail("a variable, an IRI, a literal or a blank node")
        return value

    def property_list_node(self, triples: list[Triple]) -> Term:
        self.deeper()
        self.expect("[")
        subject = self.fresh_blank()
        self.property_list(subject, triples)
        self.expect("]")
        self.depth -= 1
        return subject

    def collection(self, triples: list[Triple]) -> Term:
        self.deeper()
        self.expect("(")
        items: list[Term] = []
        while self.kinds[self.index] != ")":
            items.append(self.node(triples))
        self.expect(")")
        self.depth -= 1
        tail: Term = _NIL
        for item in reversed(items):
            head = self.fresh_blank()
            triples.append(Triple(head, _FIRST, item))
            triples.append(Triple(head, _REST, tail))
            tail = head
        return tail

    # ---- property paths

    def path(self) -> Verb:
        self.deeper()
        parts = [self.path_sequence()]
        while self.accept("|"):
            parts.append(self.path_sequence())
            self.no_more_than(parts, "alternatives in a path")
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Path("alternative", parts)

    def path_sequence(self) -> Verb:
        parts = [self.path_step()]
        while self.accept("/"):
            parts.append(self.path_step())
            self.no_more_than(parts, "steps in a path")
        return parts[0] if len(parts) == 1 else Path("sequence", parts)

    def path_step(self) -> Verb:
        inverse = self.accept("^")
        step = self.path_primary()
        kind = self.kinds[self.index]
        if kind in ("*", "+", "?"):
            self.index += 1
            step = Path(kind, [step])
        return Path("inverse", [step]) if inverse else step

    def path_primary(self) -> Verb:
        if self.is_a():
            self.index += 1
            return _TYPE
        if self.accept("!"):
            if self.accept("("):
                parts: list[Verb] = []
                while self.kinds[self.index] != ")":
                    parts.append(self.negated_step())
                    if not self.accept("|"):
                        break
                self.expect(")")
                return Path("negated", parts)
            return Path("negated", [self.negated_step()])
        if self.accept("("):
            inner = self.path()
            self.expect(")")
            return inner
        return self.iri()

    def negated_step(self) -> Verb:
        inverse = self.accept("^")
        step: Verb
        if self.is_a():
            self.index += 1
            step = _TYPE
        else:
            step = self.iri()
        return Path("inverse", [step]) if inverse else step

    # ---- expressions

    def constraint(self) -> Expression:
        if self.accept("("):
            expression = self.expression()
            self.expect(")")
            return expression
        if self.starts_call():
            return self.call()
        raise self.fail("'(' or a function")

    def starts_call(self) -> bool:
        kind = self.kinds[self.index]
        if kind == t.WORD:
            word = self.word()
            return word in BUILT_IN or word in AGGREGATES or word in ("EXISTS", "NOT")
        return (kind == t.IRI or kind == t.PNAME) and self.kinds[self.index + 1] == "("

    def expression(self, binding: int = 0) -> Expression:
        """Precedence climbing: operators that bind tighter than `binding`."""
        self.deeper()
        left = self.unary()
        links = 0
        while True:
            operator = self.kinds[self.index]
            strength = _BINDING.get(operator)
            if strength is None:
                if operator == t.WORD and binding < 3 and (membership := self.membership(left)) is not None:
                    left = membership
                    continue
                break
            if strength <= binding:
                break
            self.index += 1
            links += 1
            if links > MAX_CHAIN:
                raise TooDeepError(f"more than {MAX_CHAIN} operators in a row")
            right = self.expression(strength)
            left = Call(operator, [left, right])
        self.depth -= 1
        return left

    def membership(self, left: Expression) -> Expression | None:
        word = self.word()
        if word == "IN":
            self.index += 1
            return Call("IN", [left, *self.argument_list()])
        if word == "NOT" and self.tokens[self.index + 1].text.upper() == "IN":
            self.index += 2
            return Call("NOT IN", [left, *self.argument_list()])
        return None

    def unary(self) -> Expression:
        operators: list[str] = []
        while self.kinds[self.index] in ("!", "-", "+"):
            if self.kinds[self.index] != "!" and self.kinds[self.index + 1] in _NUMBERS:
                break
            operators.append(self.kinds[self.index])
            self.index += 1
        if len(operators) > MAX_DEPTH:
            raise TooDeepError(f"more than {MAX_DEPTH} signs in a row")
        value = self.primary()
        for operator in reversed(operators):
            value = Call(f"unary {operator}", [value])
        return value

    def primary(self) -> Expression:
        kind = self.kinds[self.index]
        if kind == t.VAR:
            return self.variable()
        if kind == "(":
            self.index += 1
            inside = self.expression()
            self.expect(")")
            return inside
        if self.starts_call():
            return self.call()
        value = self.constant()
        if value is None:
            raise self.fail("an expression")
        return value

    def call(self) -> Expression:
        if self.kinds[self.index] != t.WORD:
            name = self.iri().value
            self.expect("(")
            distinct = self.accept_word("DISTINCT")
            return Call(name, self.arguments_until_close(), distinct, is_iri=True)
        name = self.word()
        self.index += 1
        if name == "NOT":
            self.expect_word("EXISTS")
            return Exists(self.group(), True)
        if name == "EXISTS":
            return Exists(self.group(), False)
        # `CONCAT (`: engines differ over the space, so it goes.
        self.gaps[self.index] = False
        self.expect("(")
        if name in AGGREGATES:
            return self.aggregate(name)
        arguments = self.arguments_until_close()
        fewest, most = BUILT_IN[name]
        if not fewest <= len(arguments) <= most:
            raise self.fail(f"{fewest} arguments of {name}" if fewest == most else f"other arguments of {name}")
        if name == "URI":
            name = "IRI"
        elif name == "ISURI":
            name = "ISIRI"
        return Call(name, arguments)

    def aggregate(self, name: str) -> Call:
        distinct = self.accept_word("DISTINCT")
        if name == "COUNT" and self.accept("*"):
            self.expect(")")
            return Call("COUNT", [], distinct)
        argument = self.expression()
        separator: str | None = None
        if name == "GROUP_CONCAT":
            separator = " "
            if self.accept(";"):
                self.expect_word("SEPARATOR")
                self.expect("=")
                if self.kinds[self.index] != t.STRING:
                    raise self.fail("the separator in quotes")
                separator = self.string()
        self.expect(")")
        return Call(name, [argument], distinct, separator)

    def argument_list(self) -> list[Expression]:
        self.expect("(")
        return self.arguments_until_close()

    def arguments_until_close(self) -> list[Expression]:
        arguments: list[Expression] = []
        if self.accept(")"):
            return arguments
        while True:
            arguments.append(self.expression())
            if not self.accept(","):
                break
        self.expect(")")
        return arguments


def parse(text: str, prefixes: Mapping[str, str] | None = None, *, tolerant: bool = True) -> Parsed:
    """Read one SPARQL 1.1 query.

    `prefixes` are those the store declares beforehand. With `tolerant`, spaced names (`wd: Q5`) are joined.
    Raises SparqlSyntaxError, UnknownPrefixError, UpdateError or TooDeepError, each with the place.
    """
    parser = Parser(text, prefixes or {}, tolerant)
    try:
        query = parser.query()
    except RecursionError:
        raise TooDeepError("nested too deep to be read") from None
    return Parsed(query, parser.tokens, parser.gaps, parser.declared, parser.borrowed)
