"""The statement in what a model wrote around it: fences, prose, thinking, JSON, labels and tags.

What is a statement as it stands is never changed, nor is what begins as one, well or badly written, unless something
that is no query clearly follows it: a part of a statement is never taken out of it. Nothing here knows of a gold: of
several statements the last one counts, as it does for a reader.

Every step is linear in the text. Whether something is a statement is asked of a parser; how often, and over how many
characters, has a budget.
"""

from __future__ import annotations

import json
import re
import sqlite3
from bisect import bisect
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sensecheck.inputs.guarding import Fault, OverBudgetError, guarded
from sensecheck.language.sparql import SparqlError, parse
from sensecheck.language.sql_parsing import parse_sql

PARSED_CHARACTERS = 60_000
"""Characters of one text that are given to a parser, all tries together."""
TRIES = 120
"""How often a parser is asked about one text."""
_PLACES = 100  # fences, and places where a statement may begin: the last so many are looked at
_ENDS = 8  # places where one statement may end, and of these the ones that are tried
_MOST_ENDS = 64

# ---- what is cut before anything else

_THINKING = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)\s*+>", re.I)


def without_thinking(text: str) -> str:
    """The text without what stands in think tags; a tag that is never closed, or never opened, counts to the end.

    >>> without_thinking("<think>SELECT 1?</think>SELECT 2")
    'SELECT 2'
    """
    pieces: list[str] = []
    depth = position = 0
    for tag in _THINKING.finditer(text):
        if not depth:
            pieces.append(text[position : tag.start()])
        if not tag[1]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            pieces.clear()
        position = tag.end()
    if not depth:
        pieces.append(text[position:])
    return "\n".join(pieces) if len(pieces) > 1 else "".join(pieces)


# ---- the two languages


class _Tries:
    """How much a parser may still be asked about one text."""

    def __init__(self, is_statement: Callable[[str], bool]) -> None:
        self._is_statement = is_statement
        self._known: dict[str, bool] = {}
        self._left = TRIES
        self._characters = PARSED_CHARACTERS

    def parses(self, text: str) -> bool:
        known = self._known.get(text)
        if known is None:
            if self._left <= 0 or len(text) > self._characters:
                return False
            self._left -= 1
            self._characters -= len(text)
            known = self._known[text] = self._is_statement(text)
        return known


@dataclass(frozen=True)
class _Grammar:
    """How statements of a language begin, go on and end, as far as it takes to find them in prose."""

    lead: re.Pattern[str]
    """Space and comments before a statement."""
    starts: re.Pattern[str]
    """The first word of one that reads."""
    others: re.Pattern[str]
    """The first word of one that does something else: no statement to take, and nothing to look behind."""
    pieces: re.Pattern[str]
    """What must be told apart on the way to the end: literals, comments, brackets, lines, ends."""
    continues: re.Pattern[str]
    """The beginning of a line that goes on with the statement."""
    foreign: re.Pattern[str]
    """Without any of these, what begins as a statement is nothing but one."""
    closes: str
    """What divides statements."""

    def keyword(self, text: str, position: int = 0) -> re.Match[str] | None:
        """The first word of the statement that begins here, past space and comments."""
        lead = self.lead.match(text, position)
        return self.starts.match(text, lead.end() if lead else position)


_WRAPPERS = "sql|sqlite|sparql|query|code|pre|answer|final|final_answer|output|response|result|s|tool_call|INST"
_END_TAG = rf"</(?:{_WRAPPERS})>|\[/(?:{_WRAPPERS})\]|<\|[a-z_]+\|>|<(?:end_of_turn|eos)>"
_COMMON = rf"""
    | (?P<fence>`{{3,}}|~{{3,}})
    | (?P<tag>{_END_TAG})
    | (?P<line>\r?\n[ \t]*+(?P<blank>(?:\r?\n[ \t]*+)*+))
    | (?P<stop>\.(?=\s|\Z))
"""
_SQL_PIECES = rf"""
    (?P<skip>'(?:[^']|'')*+'|"(?:[^"]|"")*+"|`(?!``)[^`\n]*+`|--[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)
    {_COMMON}
    | (?P<semicolon>;)
    | (?P<open>[(\[{{])
    | (?P<shut>[)\]}}])
    | (?P<quote>['"`])
"""
# The length of what stands in a named pair is bounded: a text of nothing but names would be gone over for each of them.
_DOLLAR_PIECES = r"""
    (?P<skip>\$\$(?:[^$]++|\$(?!\$))*+\$\$
        |(?<![\w$])\$(?P<dollar>[A-Za-z_]\w{0,30}+)\$(?:[^$]++|\$(?!(?P=dollar)\$)){0,400}+\$(?P=dollar)\$
        |""" + _SQL_PIECES.lstrip().removeprefix("(?P<skip>")
_SPARQL_PIECES = rf"""
    (?P<tag>{_END_TAG})
    | (?P<skip>\"{{3}}(?:[^"\\]++|\\.|"(?!""))*+\"{{3}}|'{{3}}(?:[^'\\]++|\\.|'(?!''))*+'{{3}}
        |"(?:[^"\\\r\n]++|\\.)*+"|'(?:[^'\\\r\n]++|\\.)*+'|<[^<>"{{}}|^`\x00-\x20]*+>|\#[^\r\n]*+)
    {_COMMON.replace("tag>", "tag_>")}
    | (?P<open>[({{\[])
    | (?P<shut>[)}}\]])
    | (?P<quote>["'`])
"""
_SQL_GOES_ON = (
    "SELECT|DISTINCT|FROM|WHERE|AND|OR|NOT|ON|USING|AS|JOIN|INNER|LEFT|RIGHT|FULL|OUTER|CROSS|NATURAL|GROUP|ORDER|BY|"
    "HAVING|LIMIT|OFFSET|FETCH|UNION|INTERSECT|EXCEPT|ALL|WITH|RECURSIVE|VALUES|CASE|WHEN|THEN|ELSE|END|IN|IS|NULL|LIKE|GLOB|"
    "BETWEEN|EXISTS|WINDOW|OVER|PARTITION|QUALIFY|ASC|DESC|NULLS|COLLATE|FILTER|LATERAL|CAST|COUNT|SUM|AVG|MIN|MAX|ROUND|"
    "COALESCE|SUBSTR|STRFTIME|IIF|TABLESAMPLE|ILIKE|PIVOT|UNPIVOT|ESCAPE|REGEXP|MATCH|ISNULL|NOTNULL|INDEXED|ROWS|RANGE|GROUPS|"
    "EXCLUDE|MATERIALIZED"
)
_SPARQL_GOES_ON = (
    "SELECT|DISTINCT|REDUCED|ASK|CONSTRUCT|DESCRIBE|PREFIX|BASE|FROM|NAMED|WHERE|GROUP|ORDER|BY|HAVING|LIMIT|OFFSET|VALUES|ASC|"
    "DESC|FILTER|OPTIONAL|UNION|MINUS|BIND|GRAPH|SERVICE|COUNT|AS"
)
_OTHER_SQL = (
    "ALTER|ANALYZE|ATTACH|BEGIN|COMMIT|CREATE|DELETE|DETACH|DROP|EXPLAIN|INSERT|PRAGMA|REINDEX|REPLACE|ROLLBACK|SAVEPOINT|UPDATE|"
    "VACUUM|COPY|TRUNCATE|MERGE|GRANT|REVOKE|INSTALL|LOAD|CALL|SET|RESET|USE|EXPORT|IMPORT|EXECUTE|PREPARE|CHECKPOINT"
)
_OTHER_SPARQL = "INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|ADD|MOVE|COPY|WITH"
_SENTENCES_BEGIN = frozenset(
    [
        "use",
        "set",
        "call",
        "load",
        "begin",
        "import",
        "export",
        "prepare",
        "execute",
        "explain",
        "copy",
        "reset",
        "add",
        "move",
    ]
)
"""Words of these that prose begins with, too: in capitals alone they are commands."""
_FOREIGN = rf"[\r\n]\s*+\S|```|~~~|{_END_TAG}|</think"


def _grammar(lead: str, starts: str, others: str, pieces: str, goes_on: str, foreign: str, closes: str) -> _Grammar:
    return _Grammar(
        re.compile(lead),
        re.compile(rf"(?:{starts})\b", re.I),
        re.compile(rf"(?:{others})\b", re.I),
        re.compile(pieces, re.VERBOSE | re.DOTALL | re.I),
        re.compile(rf"(?:(?:{goes_on})\b(?!['’])|--|/\*|[,)|=<>{{}}])", re.I),
        re.compile(foreign, re.I),
        closes,
    )


_SQL_LEAD = r"(?:\s++|--[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+"
_SPARQL_LEAD = r"(?:\s++|\#[^\n]*+)*+"
_SQL = _grammar(_SQL_LEAD, "SELECT|WITH|VALUES", _OTHER_SQL, _SQL_PIECES, _SQL_GOES_ON, _FOREIGN + r"|;\s*+[^\s;]", ";")
_DUCKDB_STARTS = "SELECT|WITH|VALUES|FROM|PIVOT|UNPIVOT|SUMMARIZE|DESCRIBE|SHOW"
_POSTGRES = _grammar(
    _SQL_LEAD, "SELECT|WITH|VALUES", _OTHER_SQL, _DOLLAR_PIECES, _SQL_GOES_ON, _FOREIGN + r"|;\s*+[^\s;]", ";",
)  # fmt: skip
_DUCKDB = _grammar(_SQL_LEAD, _DUCKDB_STARTS, _OTHER_SQL, _DOLLAR_PIECES, _SQL_GOES_ON, _FOREIGN + r"|;\s*+[^\s;]", ";")
_SPARQL = _grammar(
    _SPARQL_LEAD, "PREFIX|BASE|SELECT|ASK|CONSTRUCT|DESCRIBE", _OTHER_SPARQL, _SPARQL_PIECES, _SPARQL_GOES_ON,
    _FOREIGN, "",
)  # fmt: skip
_SPARQL_TAIL = re.compile(
    r"(?:\s|\b(?:ORDER|BY|LIMIT|OFFSET|GROUP|HAVING|ASC|DESC|COUNT|SUM|AVG|MIN|MAX)\b|[?$]\w++|[()<>=!;]|\d++)*+\Z",
    re.I,
)


class _AnyPrefix(dict[str, str]):
    """A prefix that nobody declared is another matter than text that is no query."""

    def get(self, key: str, default: Any = None) -> str:
        return "urn:prefix:"


_ANY_PREFIX = _AnyPrefix({"": "urn:prefix:"})


def _is_sparql(text: str) -> bool:
    try:
        parse(text, _ANY_PREFIX)
    except SparqlError:
        return False
    return True


def _is_sql(text: str, dialect: str) -> bool:
    """One reading statement. A SELECT of names without FROM is a sentence more often than a query."""
    grammar = _grammar_of("sql", dialect)
    if _DANGLING.search(_blanked(text, grammar).rstrip()[-40:]) is not None:
        return False  # sqlglot lets `GROUP BY` pass without anything behind it
    ends = _ends(text, 0, grammar)
    if any(
        end.kind == "closed"
        and text[end.place :].strip("; \t\r\n")
        and _SQL.lead.fullmatch(text, end.place + 1) is None
        for end in ends
    ):
        return False  # sqlglot would warn of every second statement that it does not know
    try:
        statements = [statement for statement in parse_sql(text, dialect) if statement is not None]
    except (SqlglotError, OverBudgetError, RecursionError, ValueError):
        return False
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return False
    statement = statements[0]
    if isinstance(statement, exp.Select) and not statement.args.get("from_", statement.args.get("from")):
        return bool(statement.expressions) and not any(
            isinstance(item.unalias(), exp.Column) for item in statement.expressions
        )
    return True


def _is_sqlite(text: str) -> bool:
    """Whether SQLite itself reads it as one statement that reads, for what sqlglot does not know.

    SQLite parses all of a statement before it looks at any name, and is refused at the first of them: nothing is run.
    """
    if _SQL.keyword(text) is None or _FROM.search(text) is None or _wraps(text, _SQL):
        return False
    body = _before_last_semicolon(text, _SQL)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.set_authorizer(lambda *_: sqlite3.SQLITE_DENY)
        # Behind a semicolon, and in a comment that is never closed, SQLite reads nothing: there it lets a bracket pass.
        return _refused(connection, body) and not _refused(connection, f"{body}\n)")


def _refused(connection: sqlite3.Connection, text: str) -> bool:
    try:
        connection.execute(f"EXPLAIN {text}")
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        return str(error) == "not authorized"
    return False


def _before_last_semicolon(text: str, grammar: _Grammar) -> str:
    """Without a semicolon at the end and the comments behind it."""
    for end in _ends(text, 0, grammar):
        if end.kind == "closed" and re.fullmatch(rf"(?:;|{_SQL_LEAD[3:-3]})*+", text[end.place :]):
            return text[: end.place]
    return text


def _wraps(text: str, grammar: _Grammar) -> bool:
    """Whether a fence on a line of its own, or an end tag, stands outside literals: to SQLite both may be names."""
    position = 0
    while (piece := grammar.pieces.search(text, position)) is not None:
        if piece.lastgroup in ("tag", "tag_"):
            return True
        if piece.lastgroup == "fence" and not text[text.rfind("\n", 0, piece.start()) + 1 : piece.start()].strip():
            return True
        position = piece.end()
    return False


def _blanked(text: str, grammar: _Grammar, start: int = 0) -> str:
    """The text with comments blank and literals filled, each sign in its place; what is never closed stays."""
    pieces: list[str] = []
    position = done = start
    while (piece := grammar.pieces.search(text, position)) is not None:
        position = piece.end()
        if piece.lastgroup == "skip":
            comment = piece[0].startswith(("--", "/*", "#"))
            pieces += [text[done : piece.start()], (" " if comment else "0") * len(piece[0])]
            done = position
    return text[:start] + "".join(pieces) + text[done:]


# ---- where a statement ends

_DANGLING = re.compile(
    r"(?:\b(?:SELECT|DISTINCT|FROM|WHERE|AND|OR|NOT|ON|USING|AS|JOIN|INNER|LEFT|RIGHT|CROSS|BY|HAVING|LIMIT|OFFSET|UNION|INTERSECT|"
    r"EXCEPT|WITH|WHEN|THEN|ELSE|CASE|IN|IS|LIKE|BETWEEN|OVER|ALL|RECURSIVE|EXISTS|VALUES|INTO|ESCAPE|RETURN)|[,({=<>+*/|-])\s*+\Z",
    re.I,
)


class _End(NamedTuple):
    place: int
    kind: Literal["closed", "fence", "tag", "prose", "words", "other line", "sentence", "bracket", "quote", "end"]
    blank: bool = False
    """Whether a blank line follows."""


_MARKUP = r"(?:[#>*_(\"“]|[-•]\s|\d+[.)]\s)*+\s*+"
_PROSE = re.compile(rf"{_MARKUP}(?:[A-Z][\w’'-]*+|I|A)(?:[ ,:.!]|\s*\*\*|\Z|\n)|[#>]|\*\*|---|[-•*][ \t]+[A-Za-z*`\"]")
"""How a paragraph of prose begins behind a semicolon."""
_LABEL = re.compile(
    rf"\s*+(?:{_MARKUP}[A-Z]\w*+(?:[ \t]\w++){{0,4}}+(?:\*\*)?:(?:\*\*)?(?!\S)|\*\*[A-Z][^*\n]*+\*\*|\#{{1,6}}[ \t]+\w)"
)
_WORD = r"[a-z’'-]++|`[^`\n]*+`"
_SENTENCE = re.compile(
    rf"\s*+{_MARKUP}(?P<first>[A-Z][a-z]*+(?:[’'][a-z]++)?),?[ ](?P<second>{_WORD}),?[ ](?P<third>{_WORD}|[A-Z]++)"
    r"(?P<rest>[^\n]*+)"
)
"""What prose behind a statement looks like: a label, a heading, or a line of words that ends as a sentence does."""
_ONE_WORD = re.compile(r"\s*+[A-Z][a-z]++[.!][ \t]*+(?:\r?\n|\Z)")
_WORDS = re.compile(rf"{_MARKUP}(?P<first>[A-Z]\w*+),?[ ](?P<second>{_WORD}),?[ ](?P<third>{_WORD})(?=[\s,.])[^\n]")
"""Words one after the other, as in no statement: prose where a whole statement and a blank line stand before them."""
_FULL_STOP = re.compile(r"[.:!?…][\s*_)\"'”`]*+\Z")


def _is_sentence(text: str, position: int, grammar: _Grammar) -> bool:
    """Whether a label, a heading or a sentence begins here, and nothing that a statement goes on with."""
    if _LABEL.match(text, position) is not None:
        return True
    if _ONE_WORD.match(text, position) is not None and not grammar.continues.match(text, position):
        return True
    found = _SENTENCE.match(text, position)
    if found is None or any(grammar.continues.match(word) for word in (found["first"], found["second"])):
        return False
    if _FULL_STOP.search(found["rest"] or found["third"]) is not None:
        return True
    # A sentence may take several lines: then it ends with the paragraph, and no line of it goes on with a statement.
    paragraph = re.split(r"\n[ \t]*\n", text[position : position + 1000].lstrip(), maxsplit=1)[0]
    lines = paragraph.split("\n")
    return (
        len(lines) > 1
        and _FULL_STOP.search(paragraph) is not None
        and not any(grammar.continues.match(line.strip()) for line in lines)
    )


def _ends(text: str, start: int, grammar: _Grammar) -> Iterator[_End]:
    """Where the statement that begins at `start` may end, in the order of the text; what comes last ends it surely."""
    depth = 0
    position = start
    before = ""  # the last signs before this place that no comment holds
    seen = start
    while (piece := grammar.pieces.search(text, position)) is not None:
        kind = piece.lastgroup
        position = piece.end()
        if piece.start() > seen:
            before = (before + text[max(seen, piece.start() - 40) : piece.start()])[-40:]
        seen = position
        if kind == "skip":
            before += " " if piece[0].startswith(("--", "/*", "#")) else "x"
            continue
        if kind in ("open", "shut", "stop"):
            before += piece[0]
        if kind == "open":
            depth += 1
        elif kind == "shut":
            depth -= 1
            if depth < 0:
                yield _End(piece.start(), "bracket")
                return
            if depth == 0 and not grammar.closes:
                yield _End(position, "prose" if _is_sentence(text, position, grammar) else "other line")
        elif kind == "semicolon":
            yield _End(piece.start(), "closed")
            return
        elif kind == "fence":
            yield _End(piece.start(), "fence")
            return
        elif kind in ("tag", "tag_"):
            yield _End(piece.start(), "tag")
            return
        elif kind == "quote":
            yield _End(piece.start(), "quote")
            return
        elif kind == "stop":
            if depth <= 0:
                yield _End(piece.start(), "sentence")
        elif depth <= 0 and position < len(text):
            if not _DANGLING.search(before) and not grammar.continues.match(text, position):
                blank = bool(piece["blank"])
                if _is_sentence(text, position, grammar):
                    yield _End(piece.start(), "prose", blank)
                else:
                    words = _WORDS.match(text, position) if blank else None
                    meant = words is not None and not any(map(grammar.continues.match, words.group("second", "third")))
                    yield _End(piece.start(), "words" if meant else "other line", blank)
            before += " "
    yield _End(len(text), "end")


def _tidy(statement: str) -> str:
    return statement.strip().rstrip("; \t\r\n").strip()


def _capitalised(word: str) -> bool:
    """`Select` begins a sentence more often than a query."""
    return word[:1].isupper() and not word.isupper()


# ---- one text


def _grammar_of(language: str, dialect: str) -> _Grammar:
    if language != "sql":
        return _SPARQL
    return {"duckdb": _DUCKDB, "postgres": _POSTGRES, "postgresql": _POSTGRES}.get(dialect, _SQL)


def _plainly_stands(text: str, grammar: _Grammar) -> bool:
    """Whether nothing but a statement is there, by its look alone: most are told by this, at next to no cost."""
    keyword = grammar.starts.match(text) or grammar.keyword(text)
    if keyword is None:
        return False
    # One sign after the other is found faster than any of them by a pattern.
    suspect = (
        "\n" in text or "\r" in text or "```" in text or "~~~" in text or "</" in text or "[/" in text or "<|" in text
        or "<e" in text or "<E" in text or (grammar.closes and ";" in text[:-1])
    )  # fmt: skip
    # Space at the end says nothing, and would be gone over again from every line of it.
    if suspect and grammar.foreign.search(text, keyword.start(), len(text.rstrip())) is not None:
        return False
    return bool(grammar.closes) or _SPARQL_TAIL.match(text, text.rfind("}") + 1) is not None


class _Search:
    def __init__(self, language: str, dialect: str) -> None:
        self.sql = language == "sql"
        self.grammar = _grammar_of(language, dialect)
        self.tries = _Tries(self._is_statement if self.sql else _is_sparql)
        self.dialect = dialect

    def _is_statement(self, text: str) -> bool:
        return _is_sql(text, self.dialect) or (self.dialect == "sqlite" and _is_sqlite(text))

    def taken(self, text: str) -> str | None:
        """The statement in a text that is more than one; nothing where there is none, or the text is one."""
        if self.tries.parses(text) or self._does_other_things(text):
            return None
        rest = without_thinking(text)
        if (
            rest != text
            and (self._attempt(text) is not None or self._is_misspelt(text))
            and _THINKING.search(_blanked(text, self.grammar)) is None
        ):
            rest = text  # the tags are in its literals
        if rest != text and (_plainly_stands(rest, self.grammar) or self.tries.parses(rest.strip())):
            return _tidy(rest)
        if (keyword := self._attempt(rest)) is not None:
            return self._of_attempt(rest, keyword) or (self._standing(rest) if rest != text else None)
        if self._is_misspelt(rest):
            return _tidy(rest) if rest != text else None
        for stage in (self._of_json, self._of_fences, self._of_prose):
            statement = stage(rest)
            if statement is not None:
                return statement
            if stage == self._of_json and _NOTHING_DECLARED.search(rest) is not None:
                break
        return self._standing(rest) if rest != text else None

    # ---- what is meant as a statement from its first word on

    def _attempt(self, text: str) -> re.Match[str] | None:
        """The first word of a text that is meant as a statement, however badly; nothing where a sentence begins so."""
        keyword = self.grammar.keyword(text)
        if keyword is None or self._opens_prose(text, keyword.start()):
            return None
        if not _capitalised(keyword[0]):
            return keyword
        return keyword if self._has_shape(text, keyword) else None

    def _opens_prose(self, text: str, start: int) -> bool:
        """Whether the first line ends as a sentence does, and is no statement but for that."""
        said = _NOTE.sub(lambda note: " " * len(note[0]), text[start : start + 2000]) if self.sql else text[start:]
        line = said[:2000].split("\n", 1)[0].split("```", 1)[0].split("--", 1)[0].rstrip()
        ending = _FULL_STOP.search(line)
        if ending is None or re.search(r"(?:\W|^)[?:]\Z", line):  # a parameter
            return False
        return not self.tries.parses(line[: ending.start()]) and self._is_worded(line)

    def _is_worded(self, line: str) -> bool:
        return re.search(r"[=<>;{]|\w\(", line) is None

    def _has_shape(self, text: str, keyword: re.Match[str]) -> bool:
        """Whether what follows a first word that is not in capitals is what follows it in a statement."""
        rest = _blanked(text[keyword.start() : keyword.start() + 4000], self.grammar)
        return (_SQL_SHAPE if self.sql else _SPARQL_SHAPE).match(rest) is not None

    def _is_misspelt(self, text: str) -> bool:
        """Whether the first word is one of a statement with a slip in it: what the statement holds is not taken out."""
        lead = self.grammar.lead.match(text)
        word = re.compile(r"[A-Za-z]{3,12}+(?=\s)").match(text, lead.end() if lead else 0)
        if word is None or self._opens_prose(text, word.start()):
            return False
        rest = _blanked(text[word.end() : word.end() + 4000], self.grammar)
        if self.sql and _CTE_SHAPE.match(rest) is not None:
            return True
        wanted = ["SELECT"] if self.sql else ["SELECT", "CONSTRUCT", "DESCRIBE", "PREFIX"]
        if all(SequenceMatcher(None, word[0].upper(), name).ratio() < 0.76 for name in wanted):
            return False
        return (_SQL_SHAPE if self.sql else _SPARQL_SHAPE).match("SELECT" + rest) is not None

    def _of_attempt(self, text: str, keyword: re.Match[str]) -> str | None:
        """The statement at the beginning where it clearly ends, or one that clearly corrects it."""
        if len(text) > PARSED_CHARACTERS:
            return self._of_fences(text) if _FENCE.search(text) else None
        end = self._clear_end(text, keyword)
        if end is None:
            return None
        if _FENCE.search(text, end) is not None and (fenced := self._of_fences(text)) is not None:
            return fenced
        return self._of_prose(text)

    def is_complete(self, text: str) -> bool:
        """Whether a text is a statement that reads: what no parser of ours reads must at least look like one."""
        keyword = self.grammar.keyword(text)
        if keyword is None:
            return False
        if self.tries.parses(text):
            return True
        last = list(islice(_ends(text, keyword.start(), self.grammar), _MOST_ENDS))[-1]
        return last.kind == "end" and _DANGLING.search(text) is None and self._asks_something(text)

    def _asks_something(self, text: str) -> bool:
        return _FROM.search(text) is not None if self.sql else "{" in text

    def _does_other_things(self, text: str) -> bool:
        """Whether it begins with a statement that does not read, and is nothing else: refused, not searched."""
        lead = self.grammar.lead.match(text)
        word = self.grammar.others.match(text, lead.end() if lead else 0)
        if word is None:
            return False
        if _COMMAND.match(_blanked(text[word.start() : word.start() + 4000], self.grammar)) is not None:
            fence = _FENCE.search(_blanked(text, self.grammar))
            return fence is None or not self._opens_prose(text, word.start())
        if "```" in text:
            return False
        return word[0].isupper() or (word[0].islower() and word[0] not in _SENTENCES_BEGIN)

    def _standing(self, text: str) -> str | None:
        """The statement that a text begins with, where it is all there is, or clearly ends."""
        keyword = self.grammar.keyword(text)
        if keyword is None:
            return _tidy(text) if text.lstrip().startswith("(") and self.tries.parses(text.strip()) else None
        if self.tries.parses(text.strip()):
            return _tidy(text)
        end = self._clear_end(text, keyword)
        if end is None:
            return None if _capitalised(keyword[0]) else _tidy(text)
        return _tidy(text[:end])

    def _clear_end(self, text: str, keyword: re.Match[str]) -> int | None:
        """Where something that is no query follows the statement at the beginning of a text."""
        ends = list(islice(_ends(text, keyword.start(), self.grammar), _MOST_ENDS))
        last = ends[-1]
        if last.kind == "closed" and self.tries.parses(text[: last.place].strip()):
            return last.place if self._is_prose(text, last.place + 1) else None
        for end in [end for end in ends[:-1] if end.kind in ("prose", "words") or self._new_sentence(text, end)][
            :_ENDS
        ]:
            if self.tries.parses(text[: end.place].strip()):
                return end.place
            # What sqlglot cannot read may be a query all the same: a paragraph of prose ends it.
            if end.kind == "prose" and end.blank and not _capitalised(keyword[0]):
                return end.place
        if last.kind == "closed":
            return last.place if self._is_prose(text, last.place + 1) else None
        if last.kind == "bracket":  # one too many: only a fence tells where it ends
            fence = _fence_after(text, last.place + 1, self.grammar)
            return fence if fence is not None and fence < len(text) else None
        return last.place if last.kind in ("fence", "tag") else None

    def _new_sentence(self, text: str, end: _End) -> bool:
        return end.kind == "sentence" and _is_sentence(text, end.place + 1, self.grammar)

    def _is_prose(self, text: str, position: int) -> bool:
        """Whether what follows a semicolon is something else than further statements."""
        lead = self.grammar.lead.match(text, position)
        place = lead.end() if lead else position
        while text[place : place + 1] == ";":
            lead = self.grammar.lead.match(text, place + 1)
            place = lead.end() if lead else place + 1
        if place >= len(text):
            return False
        if _FENCE.match(text, place) is not None or _CLOSING_TAG.match(text, place) is not None:
            return True
        word = self.grammar.starts.match(text, place) or self.grammar.others.match(text, place)
        if word is None:
            return _PROSE.match(text, place) is not None
        return (
            _capitalised(word[0]) and not self.tries.parses(text[place:].strip()) and not self._is_command(text, place)
        )

    def _is_command(self, text: str, place: int) -> bool:
        return bool(re.match(r"\w+\s+(?:TABLE|INTO|FROM|VIEW|INDEX|DATABASE)\b", text[place : place + 80], re.I))

    # ---- JSON

    def _of_json(self, text: str) -> str | None:
        stripped = text.strip()
        if stripped[:1] not in ("{", "["):
            found = list(_JSON_FIELD.finditer(text))[-_ENDS:]
            return self._last(_unquoted(match["value"]) for match in found) if found else None
        try:
            value = json.loads(stripped, strict=False)
        except (ValueError, RecursionError):
            found = list(_JSON_FIELD.finditer(text))[-_ENDS:]
            return self._last(_unquoted(match["value"]) for match in found)
        return self._last(_fields_of(value))

    def _last(self, candidates: Iterator[str]) -> str | None:
        for candidate in reversed(list(candidates)):
            statement = self._standing(candidate)
            if statement is None:
                statement = self._of_fences(candidate)
            if statement is not None:
                return statement
        return None

    # ---- fences

    def _of_fences(self, text: str) -> str | None:
        """What stands in the last fence that holds a statement; the text's own beginning may be in one, too."""
        found: str | None = None
        doubtful: str | None = None
        for content in self._fenced(text):
            body = _TAG_LINE.sub("", content, count=1) if self.grammar.keyword(content) is None else content
            if body.lstrip()[:1] in ("{", "[") and (in_json := self._of_json(body)) is not None:
                found = in_json
                continue
            statement = self._standing(body)
            if statement is None:
                continue
            if self.tries.parses(statement):
                found = statement
            else:
                doubtful = statement
        return found or doubtful

    def _fenced(self, text: str) -> Iterator[str]:
        """What stands between one fence and the next, and before the first where that begins as a statement."""
        noted = _within([(note.start(), note.end()) for note in _NOTE.finditer(text)])
        fences = [fence for fence in _FENCE.finditer(text) if not noted(fence.start())]
        if not fences:
            return
        places = [0 if self.grammar.keyword(text) is not None else -1]
        places += [fence.end() for fence in fences]
        ends = [fence.start() for fence in fences] + [len(text)]
        position = 0
        lexed = 0
        for number, (start, end) in enumerate(zip(places, ends, strict=True)):
            if start < position or (number and number < len(places) - _PLACES):
                continue
            content = text[start:end]
            if lexed < _ENDS and (content.count("'") % 2 or content.count('"') % 2) and self._begins(content):
                # A literal may hold a fence.
                lexed += 1
                whole = _fence_after(text, start, self.grammar)
                if whole is None and not number and (keyword := self.grammar.keyword(text)) is not None:
                    whole = self._clear_end(text, keyword)  # an apostrophe in the prose behind it
                if whole is not None:
                    if not number and whole == len(text):
                        return
                    content, position = text[start:whole], whole
            yield content

    def _begins(self, content: str) -> bool:
        untagged = _TAG_LINE.sub("", content, count=1)
        return self.grammar.keyword(content) is not None or self.grammar.keyword(untagged) is not None

    # ---- prose

    def _of_prose(self, text: str) -> str | None:
        text = _unwrapped(text)
        keyword = self.grammar.keyword(text)
        own: str | None = None
        begin = 0
        if keyword is not None and not _capitalised(keyword[0]):
            if self.tries.parses(text):
                return _tidy(text)
            end = self._clear_end(text, keyword) if len(text) <= PARSED_CHARACTERS else None
            if end is None:
                return None
            own, begin = _tidy(text[:end]), end
            if (further := _NEXT_QUESTION.search(text, end)) is not None:
                text = text[: further.start()]  # a model that goes on with questions of its own
        best: tuple[int, str] | None = None if own is None else (3, own)
        for grade, statement in self._statements(text, begin):
            if best is None or grade >= best[0]:
                best = grade, statement
        return None if best is None else best[1]

    def _statements(self, text: str, begin: int) -> Iterator[tuple[int, str]]:
        """Statements in prose, each with how surely it is meant as one."""
        starts = list(self._starts().finditer(text, begin))
        position = begin
        inside = _inside_brackets(text)
        for match in starts[-_PLACES:]:
            if match.start() < position or inside(match.start()):
                continue
            grade = _grade(text, match)
            if grade is None:
                continue
            end = self._end_in_prose(text, match.start())
            if end is not None:
                position = end
                yield grade, _tidy(text[match.start() : end])
            elif grade == 3 and (end := self._unread_end(text, match.start())) is not None:
                yield 0, _tidy(text[match.start() : end])  # the engine will say

    def _starts(self) -> re.Pattern[str]:
        return _SPARQL_STARTS if not self.sql else _SQL_STARTS

    def _end_in_prose(self, text: str, start: int) -> int | None:
        opener = text[start - 1 : start]
        if opener in _CLOSERS:
            place = start
            for _ in range(_ENDS):
                place = text.find(_CLOSERS[opener], place + 1)
                if place < 0:
                    break
                if self.tries.parses(text[start:place].strip().rstrip(";")):
                    return place
        ends = list(islice(_ends(text, start, self.grammar), _MOST_ENDS))
        last = ends[-1]
        if last.kind in ("closed", "fence", "tag", "bracket") and self.tries.parses(text[start : last.place].strip()):
            return last.place
        prose = [end for end in ends if end.kind in ("prose", "words")][:_ENDS]
        # Another line is another statement's, or a slip in this one; only brackets that close tell where SPARQL ends.
        others = [
            end
            for end in ends[:-1]
            if end.kind not in ("prose", "words") and (not self.sql or end.kind != "other line")
        ][:_ENDS]
        for end in (*prose, last, *others):
            if self.tries.parses(text[start : end.place].strip()):
                return end.place
        return None

    def _unread_end(self, text: str, start: int) -> int | None:
        """Where something clearly ends that looks like a statement, and that no parser of ours reads."""
        if not text[start : start + 4].isupper():
            return None
        for end in islice(_ends(text, start, self.grammar), _MOST_ENDS):
            if end.kind in ("closed", "end", "fence", "tag") or (end.kind == "prose" and end.blank):
                held = text[start : end.place]
                return end.place if self._asks_something(held) and "\n- " not in held else None
        return None


_NEXT_QUESTION = re.compile(r"^[#>*\s]*+(?:Question|Q\d*|User|Human|Input|Example)\b[^\n:]{0,20}:", re.M | re.I)
_FENCE = re.compile(r"`{3,}|~{3,}")
_CLOSING_TAG = re.compile(_END_TAG, re.I)
_TAG_LINE = re.compile(
    r"\A[ \t]*+(?:[\w+#.-]{0,20}[ \t]*+)?(?:\r?\n\s*+(?:sql|sqlite|sparql|postgresql|duckdb|mysql)[ \t]*+(?=\r?\n))?",
    re.I,
)
_SQL_STARTS = re.compile(r"(?<![\w.(])\b(?:SELECT|WITH|VALUES)\b(?!['’])", re.I)
_SPARQL_STARTS = re.compile(r"(?<![\w.({?$:])\b(?:PREFIX|BASE|SELECT|ASK|CONSTRUCT|DESCRIBE)\b(?!['’])", re.I)
_FROM = re.compile(r"\bFROM\b", re.I)
_CTE_SHAPE = re.compile(
    r"\s++(?:RECURSIVE\s++)?[\w\"`\[\]]++\s*+(?:\([^()]*+\)\s*+)?AS\s*+(?:(?:NOT\s++)?MATERIALIZED\s*+)?\(", re.I
)
_SQL_WORDS = (
    "AS|CASE|WHEN|THEN|ELSE|END|DISTINCT|ALL|IS|NOT|NULL|AND|OR|IN|LIKE|BETWEEN|OVER|COLLATE|"
    "ESCAPE|PARTITION|ORDER|GROUP|BY|SELECT|WHERE|LEFT|INNER|NATURAL|JOIN|ON|USING"
)
_SQL_SHAPE = re.compile(
    rf"""SELECT\b(?!\s++(?-i:the|every|each|all|those|only)\s)(?:(?!\bFROM\b)(?!(?:\s++(?!(?:{_SQL_WORDS}|FROM)\b)[a-z]++\b(?=\s)){{3}})[^;])*?\bFROM\s*+(?!the\b|this\b|each\b|a\b|all\b)[\w"`\[(]
    |SELECT\s++(?:(?:DISTINCT|ALL)\s++)?(?:\*|\(|0|\w++\(|CASE\s++WHEN\b)
    |WITH{_CTE_SHAPE.pattern.replace("#", chr(92) + "#")}
    |VALUES\s*+\(""",
    re.I | re.VERBOSE,
)
_SPARQL_SHAPE = re.compile(
    r"SELECT\s++(?:(?:DISTINCT|REDUCED)\s++)?(?:[?$]\w|\*|\()|(?:ASK|CONSTRUCT|SELECT)\s*+(?:WHERE\s*+)?\{|DESCRIBE\s++[?$<]"
    r"|(?:PREFIX|SELECT)\s++[\w.-]*+:\s*+<|BASE\s*+<",
    re.I,
)
_COMMAND = re.compile(
    r"INSERT\s++(?:OR\s++\w++\s++)?(?:INTO|DATA|\{)|REPLACE\s++INTO|MERGE\s++INTO|DELETE\s++(?:FROM|DATA|WHERE|\{)"
    r"|UPDATE\s++(?:OR\s++\w++\s++)?\S++\s++SET\b|(?:CREATE|DROP|ALTER)\s++(?:OR\s++REPLACE\s++)?(?:TEMP\s++|TEMPORARY\s++|UNIQUE\s++)?"
    r"(?:TABLE|VIEW|INDEX|TRIGGER|DATABASE|SCHEMA|MACRO|FUNCTION|SEQUENCE|GRAPH)\b",
    re.I,
)
_NOTHING_DECLARED = re.compile(
    r"[\"'](?:sql|query|sparql|(?:sql|sparql)[ _]?query|(?:final|predicted|generated)[ _]?(?:sql|sparql|query))[\"']"
    r"\s*+:\s*+(?:null\b|None\b|\"\s*+\"|'\s*+')",
    re.I,
)
_CLOSERS = {"`": "`", '"': '"', "'": "'", "“": "”", "*": "*"}
_LINE_START = re.compile(r"[\s>*`\"'“_#•)(.\d\-]*+\Z")
_LABELLED = re.compile(r"(?:[^\n]{0,100}[:>\]]|\s*+[\w.]{1,30}\s*+=)[^\w()=]{0,6}\Z", re.DOTALL)
_LISTED = re.compile(r"\s*+(?:\d++[.)]|[-*•])\s")
_QUOTED = re.compile(r"(?:.*[^=(,<>|+\s]\s*+|\s*+)[`\"'“*]{1,3}\Z", re.DOTALL)
_JSON_FIELD = re.compile(
    r"[\"'](?:sql|query|sparql|(?:sql|sparql)[ _]?query|(?:final|predicted|generated)[ _]?(?:sql|sparql|query))[\"']"
    r"\s*+:\s*+"
    r"(?P<value>\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+')",
    re.I | re.DOTALL,
)
_FIELD = re.compile(r"(?:final|predicted|generated)?(?:sql|sparql)?(?:sql|sparql|query)", re.I)


def _grade(text: str, start: re.Match[str]) -> int | None:
    """3 for what stands on a line of its own or behind a label, 2 for what is quoted, 1 for what a list or prose holds.

    Nothing where it goes on with what stands before it, or a comment holds it.
    """
    line = text.rfind("\n", 0, start.start()) + 1
    before = text[max(line, start.start() - 120) : start.start()]
    if _COMMENTED.search(before) is not None:
        return None
    plain = not _capitalised(start[0])
    if _LISTED.match(before) or _LISTED.match(_line_before(text, start.start() - len(before))):
        return 2 if plain else 1  # a step of an explanation
    if _LINE_START.match(before):
        return None if _goes_on(text, line) else 3 if plain else 2
    if _LABELLED.match(before) or _CALLED.search(before) or _LATEX.search(before.rstrip("{")):
        return 3 if plain else 2
    if before.endswith("'") and _DANGLING.search(before[:-1]) is not None:
        return None  # a literal that something is compared with
    if _QUOTED.match(before):
        return 2 if plain else 1
    return 1 if start[0].isupper() and _LEADS_TO.match(before) is not None else None


_LEADS_TO = re.compile(r"\W*+[A-Z][^\n(){}=<>;*|]*(?:\b(?:is|be|use|run|try)|\w[.!])[ ]\Z")
_COMMENTED = re.compile(r"--|/\*")
_CODE = re.compile(r"[(){}=<>|+;]|[^*]\*[^*]")
_ASSIGNED = re.compile(r"\s*+[\w.]{1,40}\s*+=\s*+[fr]?(?:\"{3}|'{3})\s*+\Z")
_FIRST_WORD = re.compile(r"\W*+([A-Za-z]++)")
_STATEMENT_WORDS = frozenset((_OTHER_SQL + "|SELECT|WITH|VALUES|CONSTRUCT|DESCRIBE|MATCH|RETURN").split("|"))


def _like_a_statement(line: str) -> bool:
    """Whether the first word of a line is that of a statement, or nearly."""
    word = _FIRST_WORD.match(line)
    if word is None:
        return False
    said = word[1].upper()
    if said in _STATEMENT_WORDS:
        return word[1].isupper() or _CODE.search(line) is not None
    return len(said) < 14 and any(
        abs(len(said) - len(name)) < 3 and SequenceMatcher(None, said, name).ratio() > 0.76
        for name in _STATEMENT_WORDS
        if len(name) > 3
    )


def _goes_on(text: str, line: int) -> bool:
    """Whether the line that begins here may belong to what the line before it began."""
    end = len(text[max(0, line - 400) : line].rstrip()) + max(0, line - 400)
    last = text[max(text.rfind("\n", 0, end) + 1, end - 200) : end]
    if not last.strip() or last.strip().upper() in _TAG_WORDS or re.match(r"\s*+(?:```|~~~|<|\[|#|\*\*)", last):
        return False
    if _FULL_STOP.search(last) is not None or _ASSIGNED.match(last) is not None:
        return False
    if _like_a_statement(last):
        return True
    blank = text.count("\n", end, line) > 1
    worded = _CODE.search(last) is None and re.match(r"\W*+[A-Z]\S*+\s++\S", last) is not None
    if _DANGLING.search(last) is not None:
        return not (blank and worded and last.endswith(",") and len(last.split()) > 3)
    return re.search(r"\w", last) is None or not (worded or (blank and len(last.split()) > 1))


_TAG_WORDS = frozenset(
    ["SQL", "SQLITE", "SPARQL", "QUERY", "ANSWER", "CODE", "OUTPUT", "RESULT", "SQL QUERY", "FINAL ANSWER"]
)
_CALLED = re.compile(r"(?:\bexecute|\bread_sql|\bread_sql_query)\([\"'`]+\Z")
_LATEX = re.compile(r"\\[a-z]{2,12}\Z")


_NOTE = re.compile(r"/\*(?:[^*]++|\*(?!/))*+\*/")


def _within(spans: list[tuple[int, int]]) -> Callable[[int], bool]:
    """Whether a place stands in one of these spans, which follow one another."""

    def within(position: int) -> bool:
        at = bisect(spans, (position, 0)) - 1
        return at >= 0 and spans[at][0] < position <= spans[at][1]

    return within


def _inside_brackets(text: str) -> Callable[[int], bool]:
    """Whether a place stands in a bracket that was opened before it and is not closed there, or in a comment."""
    spans: list[tuple[int, int]] = []
    opened: list[tuple[str, int]] = []
    for bracket in re.finditer(r"[(){}]", text):
        sign, place = bracket[0], bracket.start()
        if sign in "({":
            # Braces of JSON and of formulas hold what is wrapped.
            holds = sign == "{" and (
                text[place + 1 : place + 40].lstrip()[:1] in ("'", '"')
                or _LATEX.search(text[max(0, place - 14) : place]) is not None
            )
            holds = holds or text[place - 1 : place] == ":"  # a face
            holds = holds or _CALLED.search(text[max(0, place - 24) : place + 2]) is not None
            opened.append(("" if holds else sign, place))
        elif opened:
            mark, begin = opened.pop()
            if mark and not opened:
                spans.append((begin, place))
    open_from = next((place for mark, place in opened if mark), len(text))
    in_brackets, noted = _within(spans), _within([(note.start(), note.end()) for note in _NOTE.finditer(text)])
    return lambda position: position > open_from or in_brackets(position) or noted(position)


def _line_before(text: str, line: int) -> str:
    """The last line with anything in it before the line that begins here: its first characters."""
    end = len(text[max(0, line - 400) : line].rstrip()) + max(0, line - 400)
    return text[text.rfind("\n", 0, end) + 1 : end][:20]


def _fence_after(text: str, start: int, grammar: _Grammar) -> int | None:
    """The first fence from `start` on that no literal holds, or the end; nothing where a literal is never closed."""
    position = start
    while (piece := grammar.pieces.search(text, position)) is not None:
        if piece.lastgroup == "fence":
            return piece.start()
        if piece.lastgroup == "quote":
            return None
        position = piece.end()
    return len(text)


def _unwrapped(text: str) -> str:
    """Without quotes or back-ticks around the whole."""
    stripped = text.strip()
    while len(stripped) > 1 and stripped[0] in _CLOSERS and stripped[-1] == _CLOSERS[stripped[0]]:
        stripped = stripped[1:-1].strip()
    return stripped


def _unquoted(value: str) -> str:
    if value.startswith("'"):
        return value[1:-1].replace("\\'", "'").replace("\\n", "\n")
    try:
        return str(json.loads(value, strict=False))
    except ValueError:
        return value[1:-1]


def _fields_of(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts under names that say that a query is there."""
    if isinstance(value, list):
        for item in value[-_ENDS:]:
            yield from _fields_of(item, depth + 1)
    elif isinstance(value, dict) and depth < 4:
        for name, item in value.items():
            if isinstance(item, str) and _FIELD.fullmatch(re.sub(r"[ _-]", "", name)):
                yield item
            elif isinstance(item, dict | list):
                yield from _fields_of(item, depth + 1)


# ---- the one door


def statement_in(text: str, language: str, dialect: str = "sqlite") -> str:
    """The statement that a text holds; the text itself where it is one as it stands, or holds none.

    >>> statement_in("Here it is:\\n```sql\\nSELECT 1\\n```", "sql")
    'SELECT 1'
    >>> statement_in("SELECT 1;", "sql")
    'SELECT 1;'
    """
    if _plainly_stands(text, _grammar_of(language, dialect)) or not _may_hold(language, dialect).search(text):
        return text
    taken = guarded("looking for a statement", _settled, text, language, dialect)
    return text if isinstance(taken, Fault) else taken


def _settled(text: str, language: str, dialect: str) -> str:
    """What is taken may itself be wrapped once more: taken again, it stays as it is."""
    for _ in range(3):
        search = _Search(language, dialect)
        if _plainly_stands(text, search.grammar):
            return text
        taken = search.taken(text)
        if not taken or taken == text:
            return text
        text = taken
    return text


@lru_cache(maxsize=4)
def _may_hold(language: str, dialect: str) -> re.Pattern[str]:
    """Without one of these words there is nothing to look for."""
    words = "ASK|CONSTRUCT|DESCRIBE|SELECT"
    if language == "sql":
        words = _DUCKDB_STARTS if dialect == "duckdb" else "SELECT|VALUES"
    return re.compile(words, re.I)  # a letter may stand before it: JSON writes a new line as \\n


def statements_of(text: str, dialect: str = "sqlite") -> list[str]:
    """The SQL statements of a text that holds several, divided by semicolons; nothing where it holds one, or others.

    >>> statements_of("SELECT a FROM t; SELECT 'x;y' FROM t;")
    ['SELECT a FROM t', "SELECT 'x;y' FROM t"]
    >>> statements_of("SELECT a FROM t;")
    []
    """
    if ";" not in text.rstrip("; \t\r\n"):
        return []
    divided = guarded("dividing the gold queries", _divided, text, dialect)
    return [] if isinstance(divided, Fault) else divided


def _divided(text: str, dialect: str) -> list[str]:
    search = _Search("sql", dialect)
    parts = []
    start = position = 0
    while (piece := search.grammar.pieces.search(text, position)) is not None:
        position = piece.end()
        if piece.lastgroup == "semicolon":
            parts.append(text[start : piece.start()])
            start = position
        elif piece.lastgroup == "quote":
            return []
    parts.append(text[start:])
    # A comment behind the last semicolon is no statement.
    parts = [part.strip() for part in parts if search.grammar.lead.fullmatch(part) is None]
    if len(parts) < 2 or len(parts) > MOST_STATEMENTS or not all(map(search.is_complete, parts)):
        return []
    return parts


MOST_STATEMENTS = 64
"""Statements into which a text is divided: a longer list is a script."""
