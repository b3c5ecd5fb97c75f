"""SQL cut into words as PostgreSQL and MySQL cut it: what is code, what is a name, what is text.

A gate that reads a query otherwise than the server does lets through what it did not see. These follow the servers'
own rules for comments, quotes and escapes, and nothing else; what they cannot cut is an error.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Token(NamedTuple):
    kind: str
    """word (in small letters), name (quoted), text, escaped (a text with backslashes), mark (one sign or a number), or
    hidden (what a server reads and nobody can look into)."""
    text: str


class LexicalError(ValueError):
    """A text that ends inside quotes or a comment."""


_SPACE = re.compile(r"[ \t\n\r\f\v]++")  # others are letters of names to both servers
_LINE = re.compile(r"[^\n\r]*+")
_LINE_OF_MYSQL = re.compile(r"[^\n]*+")
_PG_TEXT = re.compile(r"'(?:[^']|'')*+'")
_PG_ESCAPED = re.compile(r"'(?:[^'\\]|''|\\.)*+'", re.S)
_QUOTED = re.compile(r'"((?:[^"]|"")*+)"')
_PG_WORD = re.compile(r"[A-Za-z_\u0080-\U0010ffff][\w$\u0080-\U0010ffff]*+")
_DOLLAR = re.compile(r"\$(?:[A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff]*+)?\$")
_NUMBER = re.compile(r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
_COMMENT_MARK = re.compile(r"/\*|\*/")


def postgres_tokens(text: str) -> list[Token]:
    """
    >>> [str(token.text) for token in postgres_tokens('SELECT "a b", $$x$$ /* no */ FROM T')]
    ['select', 'a b', ',', '$$x$$', 'from', 't']
    """
    tokens: list[Token] = []
    at, end = 0, len(text)
    while at < end:
        sign = text[at]
        if space := _SPACE.match(text, at):
            at = space.end()
        elif text.startswith("--", at):
            at = _end(_LINE, text, at)
        elif text.startswith("/*", at):
            at = _nested_comment_end(text, at)
        elif sign == "'":
            at = _text(tokens, _PG_TEXT, text, at)
        elif sign == '"':
            at = _name(tokens, _QUOTED, '"', text, at)
        elif sign == "$" and (tag := _DOLLAR.match(text, at)):
            closing = text.find(tag[0], tag.end())
            if closing < 0:
                raise LexicalError(f"a text that starts with {tag[0][:20]} and does not end")
            tokens.append(Token("text", text[at : closing + len(tag[0])]))
            at = closing + len(tag[0])
        elif word := _PG_WORD.match(text, at):
            at = word.end()
            letters = word[0].lower()
            if letters == "e" and text.startswith("'", at):
                at = _text(tokens, _PG_ESCAPED, text, at, "escaped")
            elif letters == "u" and text.startswith(("&'", '&"'), at):
                tokens.append(Token("hidden", "U&"))  # a name or text in code points: nothing in it can be looked for
                at += 1
            else:
                tokens.append(Token("word", letters))
        else:
            at = _sign(tokens, text, at)
    return tokens


_MYSQL_WORD = re.compile(r"[\w$\u0080-\U0010ffff]++")
_MYSQL_NAME_END = re.compile(r"[\w$`\"\u0080-\U0010ffff]")
_MYSQL_SINGLE = re.compile(r"'(?:[^'\\]|''|\\.)*+'", re.S)
_MYSQL_DOUBLE = re.compile(r'"(?:[^"\\]|""|\\.)*+"', re.S)
_MYSQL_DOUBLE_PLAIN = re.compile(r'"(?:[^"]|"")*+"')
_BACKTICKS = re.compile(r"`((?:[^`]|``)*+)`")
_MYSQL_DASHES = re.compile(r"--(?=[\x00-\x20\x7f]|\Z)")


def mysql_tokens(text: str, *, quoted_names: bool = False, backslashes: bool = True) -> list[Token]:
    """`quoted_names` and `backslashes` are the server's settings ANSI_QUOTES and (not) NO_BACKSLASH_ESCAPES.

    >>> [str(token.text) for token in mysql_tokens('SELECT `a b`, "x" # no')]
    ['select', 'a b', ',', '"x"']
    """
    single = _MYSQL_SINGLE if backslashes else _PG_TEXT
    double = _MYSQL_DOUBLE if backslashes else _MYSQL_DOUBLE_PLAIN
    tokens: list[Token] = []
    at, end = 0, len(text)
    while at < end:
        sign = text[at]
        if space := _SPACE.match(text, at):
            at = space.end()
        elif sign == "#" or _MYSQL_DASHES.match(text, at):
            at = _end(_LINE_OF_MYSQL, text, at)
        elif text.startswith("/*", at):
            if text.startswith(("/*!", "/*M!", "/*+"), at):
                tokens.append(Token("hidden", text[at : at + 4]))  # what stands in these is run, or is a setting
            closing = text.find("*/", at + 2)
            if closing < 0:
                raise LexicalError("a comment that does not end")
            at = closing + 2
        elif sign == "'":
            at = _text(tokens, single, text, at)
        elif sign == '"' and quoted_names:
            at = _name(tokens, _QUOTED, '"', text, at)
        elif sign == '"':
            at = _text(tokens, double, text, at)
        elif sign == "`":
            at = _name(tokens, _BACKTICKS, "`", text, at)
        elif sign == "." and _MYSQL_NAME_END.match(text, at - 1) and tokens and tokens[-1].kind in ("word", "name"):
            tokens.append(Token("mark", "."))  # what follows a name and a dot is a name, whatever it looks like
            at += 1
            if word := _MYSQL_WORD.match(text, at):
                tokens.append(Token("word", word[0].lower()))
                at = word.end()
        elif (number := _NUMBER.match(text, at)) and not _MYSQL_WORD.match(text, number.end()):
            tokens.append(Token("mark", number[0]))
            at = number.end()
        elif word := _MYSQL_WORD.match(text, at):
            tokens.append(Token("word", word[0].lower()))
            at = word.end()
        else:
            at = _sign(tokens, text, at)
    return tokens


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return len(text) if match is None else match.end()


def _nested_comment_end(text: str, at: int) -> int:
    depth = 0
    while mark := _COMMENT_MARK.search(text, at):
        depth += 1 if mark[0] == "/*" else -1
        at = mark.end()
        if not depth:
            return at
    raise LexicalError("a comment that does not end")


def _text(tokens: list[Token], pattern: re.Pattern[str], text: str, at: int, kind: str = "text") -> int:
    match = pattern.match(text, at)
    if match is None:
        raise LexicalError("a text in quotes that does not end")
    tokens.append(Token(kind, match[0]))
    return match.end()


def _name(tokens: list[Token], pattern: re.Pattern[str], mark: str, text: str, at: int) -> int:
    match = pattern.match(text, at)
    if match is None:
        raise LexicalError("a name in quotes that does not end")
    tokens.append(Token("name", match[1].replace(mark * 2, mark)))
    return match.end()


def _sign(tokens: list[Token], text: str, at: int) -> int:
    number = _NUMBER.match(text, at)
    tokens.append(Token("mark", number[0] if number else text[at]))
    return number.end() if number else at + 1
