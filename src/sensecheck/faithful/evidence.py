"""Evidence: hints that come with a question, and what they tie its words to in the database.

"eligible free rate = `Free Meal Count (K-12)` / `Enrollment (K-12)`; female refers to gender = 'F'" is two hints. One
side of a hint is words that people say, the other names columns, conditions and operations. Which side is which is seen
by what stands there: people write "A11 refers to average salary" as often as "average salary refers to A11".
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from sensecheck.faithful.schema import Schema
from sensecheck.language.morphology import stem
from sensecheck.language.tokens import tokenize

MAX_EVIDENCE = 20_000
"""Characters. What is longer explains no question."""

_ENDS = re.compile(r"[;\n]+|(?<=[a-z0-9)'\"])\.\s+(?=[A-Z])")
_LINK = re.compile(
    r"\b(?:refer(?:e?s)?(?:\s+to)?|means?|stands?\s+for|mapp?s\s+to|indicates?|represents?|denotes?|signif(?:y|ies))\b",
    re.IGNORECASE,
)
_IS = re.compile(r"\s(?:is|are)\s+(?:the\s+|an?\s+)?", re.IGNORECASE)
_EQUALS = re.compile(r"(?<![<>!=])=(?!=)")
_NUMBER = re.compile(r"\d[\d,]{0,30}(?:\.\d{1,30})?")
_QUOTED = re.compile(r"`[^`]*`|'(?:[^']|'')*'|\"[^\"]*\"")
_TOKEN = re.compile(
    r"""(?P<tick>`[^`]*`)|(?P<quoted>'(?:[^']|''|(?<=\w)'(?=\w))*'|"[^"]*")|(?P<op><\s*=|>\s*=|<>|!=|==|=|<|>)
    |(?P<number>\d[\d,]*(?:\.\d+)?)|(?P<word>[^\W\d][\w.]*)|(?P<sign>[()\[\],/*+%&-])""",
    re.VERBOSE,
)
_WORD_OPERATORS = {"like": "like", "between": "between", "in": "in", "is": "is", "contains": "like"}
_OPERATIONS = {
    "max": "max", "min": "min", "avg": "avg", "average": "avg", "sum": "sum", "total": "sum", "count": "count",
    "divide": "divide", "subtract": "subtract", "multiply": "multiply",
}  # fmt: skip
_DATE_FUNCTIONS = frozenset(("year", "month", "day", "date", "time", "datetime"))
_JOINTS = frozenset(("and", "or", ",", "&", "+", "both", "the", "column", "columns", "in", "is", "not", "null"))
_SAYS_LITTLE = frozenset(
    stem(word)
    for word in (
        "the", "a", "an", "of", "in", "on", "at", "for", "to", "and", "or", "is", "are", "was", "were", "be", "by",
        "with", "that", "which", "who", "whose", "has", "have", "had", "do", "does", "from", "as", "it", "its", "this",
    )
)  # fmt: skip


MAX_MEMBERS = 60
"""Tokens behind IN that are looked at."""


class Condition(NamedTuple):
    """`column op value`, the column in lower case and without its table."""

    column: str
    op: str  # =, !=, <, <=, >, >=, like, between; null, not null without a value
    value: str = ""


@dataclass(frozen=True, slots=True)
class Hint:
    """One piece of evidence."""

    text: str
    words: tuple[str, ...] = ()  # stems of the words that are explained; none where the hint only states something
    columns: frozenset[str] = frozenset()
    conditions: tuple[Condition, ...] = ()
    values: tuple[str, ...] = ()  # literals of no known column
    operations: frozenset[str] = frozenset()  # max, min, avg, sum, count, divide, subtract, multiply

    def bears_on(self, stems: Container[str]) -> bool:
        """Whether the words that it explains are said, most of them."""
        telling = [word for word in self.words if word not in _SAYS_LITTLE]
        return not telling or 2 * sum(word in stems for word in telling) >= len(telling)


@dataclass(frozen=True)
class Evidence:
    text: str
    hints: tuple[Hint, ...]

    def gives(self, value: str, number: float | None) -> bool:
        """Whether it spells out a literal, or a number."""
        plain = " ".join(value.strip("% ").lower().split())
        if plain and number is None:
            return plain in self.plain
        return number is not None and number in self.numbers

    @cached_property
    def plain(self) -> str:
        """The text in lower case, blanks and doubled quotes made one."""
        return " ".join(self.text.lower().replace("''", "'").split())

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Every number in it, however it is written."""
        return frozenset(float(match.replace(",", "")) for match in _NUMBER.findall(self.text))

    def bearing_on(self, stems: Container[str]) -> Iterator[Hint]:
        """The hints that explain words of a sentence; evidence is often copied along from other questions."""
        return (hint for hint in self.hints if hint.bears_on(stems))


class _Token(NamedTuple):
    kind: str  # tick, quoted, op, number, word, sign
    text: str  # without its quotes


class EvidenceReader:
    """Reads evidence over one schema; without one, only names that are written like identifiers are columns."""

    def __init__(self, schema: Schema | None) -> None:
        tables = schema.tables.values() if schema is not None else ()
        self._columns = frozenset(name for table in tables for name in table.columns)
        spaced = sorted((name for name in self._columns if not name.isidentifier()), key=len, reverse=True)
        # Names such as `Free Meal Count (K-12)` are found wherever they stand, with backticks or without.
        self._spaced = re.compile(f"`?({'|'.join(map(re.escape, spaced))})`?", re.IGNORECASE) if spaced else None

    def read(self, text: str) -> Evidence:
        text = text[:MAX_EVIDENCE]
        parts = (part.strip() for part in _ENDS.split(text))
        return Evidence(text, tuple(self._hint(part) for part in parts if part))

    def _hint(self, text: str) -> Hint:
        left, right, says_is = _sides(text)
        before, behind = self._formal(left), self._formal(right)
        if not left or behind.weight >= before.weight:
            formal, words = behind, left
        else:
            formal, words = before, right
        stated = self._stated(left, right) if says_is and not formal.conditions else None
        if stated is not None:
            return Hint(text, _stems(left), frozenset((stated.column,)), (stated,), (), frozenset(formal.operations))
        return Hint(
            text, _stems(words), frozenset(formal.columns), tuple(formal.conditions), tuple(formal.values),
            frozenset(formal.operations),
        )  # fmt: skip

    def _stated(self, left: str, right: str) -> Condition | None:
        """`"csgillespie" is the DisplayName of user`, `Outliers is the name of the badge`: a value and its column."""
        behind = [token for token in _tokens(right) if token.text.lower() not in ("the", "a", "an")]
        if not behind or behind[0].kind not in ("word", "tick") or not left.strip(" '\"`"):
            return None
        column = _bare(behind[0].text)
        if column not in self._columns or (len(behind) > 1 and behind[1].text.lower() not in ("of", "in", "for")):
            return None
        return Condition(column, "=", left.strip().strip("'\"`").strip())

    def _formal(self, text: str) -> _Formal:
        """Columns, conditions, values and operations of one side."""
        formal = _Formal()
        if self._spaced is not None:
            text = self._spaced.sub(r"`\1`", text)
        tokens = _tokens(text)
        bare_list = all(
            token.text.lower() in _JOINTS or token.kind in ("tick", "sign") or _bare(token.text) in self._columns
            for token in tokens
        )
        column = ""
        for i, token in enumerate(tokens):
            after = tokens[i + 1] if i + 1 < len(tokens) else _NO_TOKEN
            if token.kind == "word" and token.text.lower() in _OPERATIONS and after.text in ("(", "["):
                formal.operations.add(_OPERATIONS[token.text.lower()])
            elif self._is_column(token, tokens[i - 1] if i else _NO_TOKEN, after, bare_list):
                column = _bare(token.text)
                formal.columns.add(column)
            elif token.text == "/" and i and after is not _NO_TOKEN:
                formal.operations.add("divide")
            elif token.kind == "op" or (token.kind == "word" and token.text.lower() in _WORD_OPERATORS):
                formal.conditions.extend(_conditions(column, token.text.lower(), tokens, i + 1))
            elif token.kind == "quoted":
                formal.values.append(token.text)
        compared = {condition.value for condition in formal.conditions}
        formal.values = [value for value in formal.values if value not in compared]
        return formal

    def _is_column(self, token: _Token, before: _Token, after: _Token, bare_list: bool) -> bool:
        """A word of plain English that is a column's name too counts where no sentence would have it."""
        if token.kind not in ("word", "tick", "quoted"):
            return False
        name = _bare(token.text)
        if token.kind == "tick":
            return not self._columns or name in self._columns
        if token.kind == "quoted":
            return False
        if name not in self._columns:
            return not self._columns and _like_identifier(token.text)
        if after.text == "(" and name in _DATE_FUNCTIONS:
            return False
        operator = after.kind == "op" or after.text.lower() in _WORD_OPERATORS
        return bare_list or operator or before.text in ("(", "[") or _like_identifier(token.text)


_NO_TOKEN = _Token("end", "")


class _Formal:
    """What one side of a hint names."""

    __slots__ = ("columns", "conditions", "operations", "values")

    def __init__(self) -> None:
        self.columns: set[str] = set()
        self.conditions: list[Condition] = []
        self.values: list[str] = []
        self.operations: set[str] = set()

    @property
    def weight(self) -> int:
        return len(self.columns) + len(self.conditions) + len(self.operations)


def _sides(text: str) -> tuple[str, str, bool]:
    """What stands left and right of the word that ties them, and whether that word is `is`; nothing is left where there
    is none."""
    link = _LINK.search(text)
    if link is None:
        quoted = _QUOTED.sub(lambda name: " " * len(name.group()), text)
        link = _EQUALS.search(quoted)
        first = _TOKEN.search(text, link.end()) if link is not None else None
        if first is not None and _is_literal(_token(first)):
            return "", text, False  # a plain condition: Title = 'Detecting a given face'
    says_is = link is None
    if link is None:
        link = _IS.search(text)
    return (text[: link.start()], text[link.end() :], says_is) if link is not None else ("", text, False)


def _tokens(text: str) -> list[_Token]:
    return [_token(match) for match in _TOKEN.finditer(text)]


def _token(match: re.Match[str]) -> _Token:
    kind, value = match.lastgroup or "", match.group()
    if kind in ("tick", "quoted"):
        value = value[1:-1].replace("''", "'")
    elif kind == "number":
        value = value.replace(",", "")
    elif kind == "op":
        value = {"==": "=", "<>": "!="}.get(value, re.sub(r"\s", "", value))
    return _Token(kind, value)


def _is_literal(token: _Token) -> bool:
    return token.kind in ("quoted", "number") or (token.kind == "word" and len(token.text) == 1)


def _conditions(column: str, op: str, tokens: Sequence[_Token], first: int) -> list[Condition]:
    """What an operator and the tokens behind it, from `first` on, say of a column."""
    behind = tokens[first : first + MAX_MEMBERS]
    if not column or not behind:
        return []
    words = [token.text.lower() for token in behind[:2]]
    if op == "is":
        nothing = "null" if words[0] in ("null", "empty") else "not null" if words in _NOT_NULL else ""
        return [Condition(column, nothing)] if nothing else []
    op = _WORD_OPERATORS.get(op, op)
    if op == "between":
        ends = [token.text for token in behind[:3] if _is_literal(token)]
        return [Condition(column, "between", end) for end in ends]
    if op == "in":
        members = []
        for token in behind:
            if token.text == ")":
                break
            members += [Condition(column, "=", token.text)] if token.kind == "quoted" else []
        return members
    return [Condition(column, op, behind[0].text)] if _is_literal(behind[0]) else []


_NOT_NULL = (["not", "null"], ["not", "empty"])


def _bare(name: str) -> str:
    """A column's name without its table."""
    return name.rpartition(".")[2].lower() if " " not in name else name.lower()


def _like_identifier(text: str) -> bool:
    """Written as no English word is: inner capitals, underscores, digits, a table in front."""
    return "_" in text or "." in text.rstrip(".") or any(c.isdigit() for c in text) or text[1:] != text[1:].lower()


def _stems(text: str) -> tuple[str, ...]:
    return tuple(token.stem for token in tokenize(text) if token.kind != "sign")
