"""SPARQL 1.1 tokens, read tolerantly: models often write `wd: Q5` where they mean `wd:Q5`.

A prefix followed by space and a bare word cannot be SPARQL, so joining the two never changes the meaning of a
query that was right. Every join is kept as an edit of the text, so that what runs is what was read.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .errors import SparqlSyntaxError

# Kinds of token; punctuation and operators are their own kind.
END, IRI, VAR, PNAME, BLANK, STRING, LANG, INTEGER, DECIMAL, DOUBLE, WORD = (
    "end", "iri", "var", "pname", "blank", "string", "lang", "integer", "decimal", "double", "word",
)  # fmt: skip

# Possessive quantifiers (`*+`) keep every pattern linear: no text, however hostile, makes it backtrack.
_ESCAPED_LOCAL = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
_TOKEN = re.compile(
    r"""
    (?:[ \t\r\n\f\ufeff]++|\#[^\r\n]*+)*+
    (?:
      (?P<var>[?$]\w++)
    | (?P<iri><[^<>"{}|^`\x00-\x20]*+>)
    | (?P<blank>_:\w(?:[\w.\-]*[\w\-])?)
    | (?P<pname>(?:[^\W\d_](?:[\w.\-]*[\w\-])?)?:(?:(?:[\w:]|ESC)(?:(?:[\w\-:.]|ESC)*(?:[\w\-:]|ESC))?)?)
    | (?P<double>(?:\d++\.\d*+|\.\d++|\d++)[eE][+\-]?\d++)
    | (?P<decimal>\d*+\.\d++)
    | (?P<integer>\d++)
    | (?P<string>\"{3}(?:[^"\\]++|\\.|"(?!""))*+\"{3}
        |'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}
        |"(?!"")(?:[^"\\\r\n]++|\\.)*+"
        |'(?!'')(?:[^'\\\r\n]++|\\.)*+')
    | (?P<lang>@[A-Za-z]++(?:-[A-Za-z0-9]++)*+)
    | (?P<word>[^\W\d]\w*+)
    | (?P<mark>\^\^|&&|\|\||!=|<=|>=|[{}()\[\],;.=<>!+\-*/|^?])
    | (?P<end>\Z)
    )
    """.replace("ESC", _ESCAPED_LOCAL),
    re.VERBOSE | re.DOTALL,
)

_WIKIDATA_ID = re.compile(r"[qp]\d++\Z")

# A word after a bare prefix is a local name, unless the word can only be the language's own.
KEYWORDS = frozenset(
    [
        "ASK",
        "AS",
        "ASC",
        "BASE",
        "BIND",
        "BY",
        "CONSTRUCT",
        "DESC",
        "DESCRIBE",
        "DISTINCT",
        "EXISTS",
        "FILTER",
        "FROM",
        "GRAPH",
        "GROUP",
        "HAVING",
        "IN",
        "LIMIT",
        "MINUS",
        "NAMED",
        "NOT",
        "OFFSET",
        "OPTIONAL",
        "ORDER",
        "PREFIX",
        "REDUCED",
        "SELECT",
        "SEPARATOR",
        "SERVICE",
        "SILENT",
        "UNDEF",
        "UNION",
        "VALUES",
        "WHERE",
    ]
)


class Token(NamedTuple):
    kind: str
    text: str
    position: int


class Edit(NamedTuple):
    """Replace text[start:end] by `text`: what the tolerant reading changed."""

    start: int
    end: int
    text: str


def tokenise(text: str, *, tolerant: bool = True) -> tuple[list[Token], list[Edit]]:
    """Tokens of a query, ending with one of kind END, and the edits that make the text strict SPARQL."""
    tokens: list[Token] = []
    edits: list[Edit] = []
    append = tokens.append
    match = _TOKEN.match
    position, length = 0, len(text)
    bare_prefix = False  # the previous token was a prefix with nothing after its colon
    while True:
        found = match(text, position)
        if found is None:
            raise SparqlSyntaxError("unexpected character", text, _after_space(text, position))
        kind: str = found.lastgroup  # type: ignore[assignment]
        value = found[kind]
        position = found.end()
        if kind == "mark":
            append(Token(value, value, position - len(value)))
            bare_prefix = False
        elif kind == "pname":
            bare_prefix = value[-1] == ":"
            append(Token(PNAME, value, position - len(value)))
        elif kind == "end":
            break
        elif bare_prefix and kind == "word" and tolerant and value != "a" and value.upper() not in KEYWORDS:
            prefix = tokens[-1]
            # Delexicalised output is often lower-cased; Wikidata's identifiers never are.
            local = value.upper() if _WIKIDATA_ID.match(value) else value
            tokens[-1] = Token(PNAME, prefix.text + local, prefix.position)
            edits.append(Edit(prefix.position, position, prefix.text + local))
            bare_prefix = False
        else:
            append(Token(kind, value, position - len(value)))
            bare_prefix = False
    append(Token(END, "", length))
    return tokens, edits


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def apply_edits(text: str, edits: list[Edit]) -> str:
    pieces: list[str] = []
    last = 0
    for edit in edits:
        pieces += (text[last : edit.start], edit.text)
        last = edit.end
    pieces.append(text[last:])
    return "".join(pieces)
