"""SPARQL 1.1 tokens, read tolerantly: models often write `wd: Q5` where they mean `wd:Q5`.

A prefix followed by space and a bare word cannot be SPARQL, so joining the two never changes the meaning of a
query that was right.
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
_PREFIX = r"(?:[^\W\d_](?:[\w.\-]*[\w\-])?)?"
_RUN = re.compile(r"[\w.\-]*+")  # what a prefix is written with
_PATTERN = r"""
    (?:[ \t\r\n\f\ufeff]++|\#[^\r\n]*+)*+
    (?:
      (?P<var>[?$]\w++)
    | (?P<iri><[^<>"{}|^`\x00-\x20]*+>)
    | (?P<blank>_:\w(?:[\w.\-]*[\w\-])?)
    | (?P<pname>PREFIX:(?:(?:[\w:]|ESC)(?:(?:[\w\-:.]|ESC)*(?:[\w\-:]|ESC))?)?)
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
    """.replace("ESC", _ESCAPED_LOCAL)
_TOKEN = re.compile(_PATTERN.replace("PREFIX", _PREFIX), re.VERBOSE | re.DOTALL)
_TOKEN_IN_RUN = re.compile(_PATTERN.replace("PREFIX", ""), re.VERBOSE | re.DOTALL)
"""Within a run that no colon ends there is no prefix; looking for one at each word would take quadratic time."""

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


def tokenise(text: str, *, tolerant: bool = True) -> tuple[list[Token], list[bool]]:
    """Tokens of a query, ending with one of kind END, and for each whether space or a comment precedes it."""
    tokens: list[Token] = []
    gaps: list[bool] = []
    append = tokens.append
    position = 0
    run_end = looked_at = 0
    bare_prefix = False  # the previous token was a prefix with nothing after its colon
    while True:
        match = (_TOKEN_IN_RUN if position < run_end else _TOKEN).match(text, position)
        if match is None:
            raise SparqlSyntaxError("unexpected character", text, _after_space(text, position))
        kind: str = match.lastgroup  # type: ignore[assignment]
        value = match[kind]
        end = match.end()
        start = end - len(value)
        if kind == "mark":
            append(Token(value, value, start))
            bare_prefix = False
        elif kind == "pname":
            bare_prefix = value[-1] == ":"
            append(Token(PNAME, value, start))
        elif kind == "end":
            break
        elif bare_prefix and kind == "word" and tolerant and value != "a" and value.upper() not in KEYWORDS:
            prefix = tokens[-1]
            # Delexicalised output is often lower-cased; Wikidata's identifiers never are.
            local = value.upper() if _WIKIDATA_ID.match(value) else value
            tokens[-1] = Token(PNAME, prefix.text + local, prefix.position)
            bare_prefix = False
            position = end
            continue
        else:
            append(Token(kind, value, start))
            bare_prefix = False
            if kind == "word" and end >= looked_at:
                looked_at = _RUN.match(text, end).end()  # type: ignore[union-attr]
                if text[looked_at : looked_at + 1] != ":" or text[looked_at - 1] == ".":
                    run_end = looked_at
        gaps.append(start > position)
        position = end
    append(Token(END, "", len(text)))
    gaps.append(False)
    return tokens, gaps


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position
