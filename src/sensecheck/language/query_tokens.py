"""The tokens of a query, SQL or SPARQL: where two queries differ in spacing or in the case of keywords alone, nowhere.

Any text has tokens, also one that is no query: what no rule knows is a token of one character. The patterns are linear.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

_SQL = re.compile(
    r"""
      (?P<space>\s++|--[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z))
    | (?P<text>'(?:[^']++|'')*+'|"(?:[^"]++|"")*+")
    | (?P<name>`(?:[^`]++|``)*+`|\[[^\]\[]*+\])
    | (?P<word>[^\W\d][\w$]*+)
    | (?P<number>(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+\-]?\d++)?[^\W\d]*+)
    | (?P<sign><=|>=|<>|!=|==|\|\||<<|>>|->>|->|::|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SPARQL = re.compile(
    r"""
      (?P<space>[\s\ufeff]++|\#[^\r\n]*+)
    | (?P<text>\"{3}(?:[^"\\]++|\\.|"(?!""))*+\"{3}|'{3}(?:[^'\\]++|\\.|'(?!''))*+'{3}
        |"(?:[^"\\\r\n]++|\\.)*+"|'(?:[^'\\\r\n]++|\\.)*+')
    | (?P<iri><[^<>"{}|^`\x00-\x20]*+>|[?$]\w++|_:\w++|@[A-Za-z]++(?:-[A-Za-z0-9]++)*+)
    | (?P<prefix>(?:[^\W\d_][\w\-]*+)?:)
    | (?P<word>[^\W\d][\w\-]*+)
    | (?P<number>(?:\d++(?:\.\d++)?|\.\d++)(?:[eE][+\-]?\d++)?)
    | (?P<sign><=|>=|!=|&&|\|\||\^\^|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CASELESS = frozenset(("word", "name", "number"))
_COMMENTS = re.compile(r"--|/\*|;|#")


class Piece(NamedTuple):
    """A token as it is written, and what it is compared by: nothing for spaces, comments and a semicolon at the end."""

    text: str
    key: str


def pieces(query: str, language: Literal["sparql", "sql"]) -> list[Piece]:
    """The whole text in pieces, spaces and all.

    Names and keywords of SQL are compared without case, as engines do; what stands in quotation marks as it is. Of
    SPARQL, keywords alone are compared so.

    >>> [piece.key for piece in pieces("SELECT Name FROM t WHERE x='A'", "sql") if piece.key]
    ['select', 'name', 'from', 't', 'where', 'x', '=', "'A'"]
    >>> [piece.key for piece in pieces("Ask { ?X wdt:P31 wd: Q5 }", "sparql") if piece.key]
    ['ask', '{', '?X', 'wdt:', 'P31', 'wd:', 'Q5', '}']
    """
    found: list[Piece] = []
    pattern = _SQL if language == "sql" else _SPARQL
    local = False  # whether what comes next is the local part of a name with a prefix
    for match in pattern.finditer(query):
        text, kind = match[0], match.lastgroup
        if kind == "space":
            found.append(Piece(text, ""))
            continue
        caseless = kind in _CASELESS and not local
        found.append(Piece(text, text.lower() if caseless else text))
        local = kind == "prefix"
    # A semicolon that ends a query says nothing.
    for place in range(len(found) - 1, -1, -1):
        if found[place].key not in ("", ";"):
            break
        found[place] = found[place]._replace(key="")
    return found


@lru_cache(maxsize=50_000)
def _keys(query: str, language: Literal["sparql", "sql"]) -> tuple[str, ...]:
    return tuple([piece.key for piece in pieces(query, language) if piece.key])


def same_tokens(a: str, b: str, language: Literal["sparql", "sql"]) -> bool:
    """Whether two queries have the same tokens. Comments are spaces, and a semicolon at the end is nothing.

    >>> same_tokens("SELECT a FROM t", "select  A\\nfrom T;", "sql")
    True
    >>> same_tokens("SELECT a FROM t WHERE b = 'X'", "SELECT a FROM t WHERE b = 'x'", "sql")
    False
    """
    if a == b:
        return True
    # Most pairs differ in more than spaces and case, which costs little to see.
    if _squeezed(a) != _squeezed(b) and not (_COMMENTS.search(a) or _COMMENTS.search(b)):
        return False
    return _keys(a, language) == _keys(b, language)


def _squeezed(query: str) -> str:
    return "".join(query.split()).lower()
