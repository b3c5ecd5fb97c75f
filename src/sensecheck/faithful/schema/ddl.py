"""CREATE TABLE text in any dialect, with its keys and comments.

Read by a scanner of our own rather than by sqlglot: people write the comma of a column into the comment behind it
(`a INT -- the age,`), which no parser of SQL can get past; sqlglot also loses a comment above a column; and one
statement that a dialect does not know, or backticks where no dialect was given, would cost all tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import NamedTuple

from sensecheck.faithful.facts import name_of
from sensecheck.faithful.schema.describing import describe
from sensecheck.faithful.schema.model import Column, ForeignKey, Schema, Table, plain_type, resolved


class _Token(NamedTuple):
    kind: str  # word, name (quoted), text (a string), sign, comment
    text: str  # without quotes or comment signs
    line: int
    column: int  # where it begins in its line
    ahead: bool  # nothing but blanks before it in its line

    def says(self, *words: str) -> bool:
        return self.kind == "word" and self.text.upper() in words


@dataclass(slots=True)
class ColumnText:
    """A column as it is declared."""

    name: str
    type: str = ""
    nullable: bool = True
    comments: list[str] = field(default_factory=list)
    above: list[str] = field(default_factory=list)  # comments on lines of their own before it


@dataclass(slots=True)
class TableText:
    """A table as CREATE TABLE declares it, and what ALTER TABLE and COMMENT ON add."""

    name: str
    columns: dict[str, ColumnText] = field(default_factory=dict)
    primary_key: tuple[str, ...] = ()
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    def remarks(self) -> Iterator[tuple[ColumnText, list[str]]]:
        """Each column with what is said of it."""
        # A comment above one column in many is a heading of several; above most of them, it is about the column.
        above = 2 * sum(bool(column.above) for column in self.columns.values()) > len(self.columns)
        for column in self.columns.values():
            yield column, column.comments or (column.above if above else [])


def from_create_table(text: str, db_id: str = "", dialect: str | None = None) -> Schema:
    """From CREATE TABLE statements; `dialect` only says how strings are written."""
    tables: dict[str, Table] = {}
    texts = list(declared_tables(text, dialect))
    for declared in texts:
        table = tables[declared.name.lower()] = Table(declared.name, name_of(declared.name))
        table.primary_key = declared.primary_key
        describe(table, *declared.comments)
        for part, said in declared.remarks():
            column = Column(part.name, name_of(part.name), plain_type(part.type), nullable=part.nullable)
            describe(column, " ".join(said))
            table.columns[part.name.lower()] = column
    keys = frozenset(pair for declared in texts for pair in resolved(declared.name, declared.foreign_keys, tables))
    return Schema(db_id, tables, foreign_keys=keys).finish()


def comments_of(text: str, dialect: str | None = None) -> dict[str, tuple[list[str], dict[str, str]]]:
    """What the comments of CREATE TABLE text say: of each table, and of each of its columns; lower-cased names."""
    return {
        table.name.lower(): (
            table.comments,
            {column.name.lower(): " ".join(said) for column, said in table.remarks() if said},
        )
        for table in declared_tables(text, dialect)
    }


def declared_keys(text: str) -> tuple[tuple[str, ...], list[ForeignKey]]:
    """The primary key and the foreign keys that some constraints declare.

    >>> declared_keys("FOREIGN KEY (home) REFERENCES port(id)")[1]
    [ForeignKey(columns=('home',), table='port', to=('id',))]
    """
    table = TableText("")
    _keys(table, [token for token in _tokens(text, None) if token.kind != "comment"], None)
    return table.primary_key, table.foreign_keys


def declared_tables(text: str, dialect: str | None = None) -> Sequence[TableText]:
    """The tables of CREATE TABLE text, in order."""
    tables: dict[str, TableText] = {}
    for statement in _statements(_tokens(text, dialect)):
        words = [token for token in statement if token.kind != "comment"]
        if words[0].says("CREATE"):
            table = _created(statement)
            if table is not None:
                tables[table.name.lower()] = table
        elif words[0].says("ALTER"):
            _altered(words, tables)
        elif words[0].says("COMMENT"):
            _commented(words, tables)
    return list(tables.values())


# ------------------------------------------------------------------------------------------------- tokens

_TOKEN = re.compile(
    r"""(?P<blank>\s+)
    |(?P<comment>--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z))
    |(?P<dollar>\$(?P<tag>\w{0,40})\$)
    |(?P<name>"(?:[^"]|"")*(?:"|\Z)|`(?:[^`]|``)*(?:`|\Z))
    |(?P<word>[^\W\d][\w$\#@]*|[@\#]+\w+)
    |(?P<number>\d[\w.]*)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_STRING = re.compile(r"'(?:[^']|'')*(?:'|\Z)")
_ESCAPED_STRING = re.compile(r"'(?:[^'\\]|''|\\.)*(?:'|\Z)", re.DOTALL)
_BRACKETED = re.compile(r"\[(?:[^\]\n]|\]\]){1,200}\]")
_HASH = re.compile(r"#[^\n]*")
_COPY = re.compile(r"^COPY [^;\n]{1,2000}?FROM stdin\b[^;\n]{0,200};", re.I | re.M)
_BACKSLASHES = ("mysql", "bigquery", "spark", "hive", "databricks", "snowflake", "clickhouse", "doris", "starrocks")


def _tokens(text: str, dialect: str | None) -> Iterator[_Token]:
    """Linear in the text: every expression either takes what it looks at, or looks at a bounded piece."""
    text = _without_rows(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    spoken = (dialect or "").split(",")[0].strip().lower()
    backslashes = spoken in _BACKSLASHES or (not spoken and "`" in text)  # MySQL's strings and comments
    string = _ESCAPED_STRING if backslashes else _STRING
    at, line, start, fresh = 0, 0, 0, True
    while at < len(text):
        char = text[at]
        found: re.Match[str] | None = None
        kind = ""
        if char == "'":
            found, kind = string.match(text, at), "text"
        elif char == "[" and (at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_]")):
            found, kind = _BRACKETED.match(text, at), "name"
        elif char == "#" and backslashes:
            found, kind = _HASH.match(text, at), "comment"
        if found is None:
            found = _TOKEN.match(text, at)
            assert found is not None  # the last alternative takes anything
            kind = found.lastgroup or ""
        end, written = found.end(), found[0]
        if kind == "dollar":  # PostgreSQL's quotes
            close = text.find(written, end)
            end = len(text) if close < 0 else close + len(written)
            written, kind = text[at:end], "body"
        if kind != "blank":
            yield _Token(kind, _bare(kind, written), line, at - start, fresh)
            fresh = False
        lines = written.count("\n")
        if lines:
            line += lines
            start = at + written.rindex("\n") + 1
            fresh = True
        at = end


def _without_rows(text: str) -> str:
    """Without the rows that PostgreSQL's dumps hold between COPY and a line with a full stop: they are no SQL."""
    kept, at = [], 0
    for copy in _COPY.finditer(text):
        if copy.start() < at:
            continue
        end = text.find("\n\\.", copy.end())
        if end < 0:
            break
        kept.append(text[at : copy.end()])
        at = end + 3
    return "".join((*kept, text[at:])) if kept else text


def _bare(kind: str, written: str) -> str:
    if kind == "comment":
        inner = written[2:].removesuffix("*/") if written.startswith("/*") else written.lstrip("-#")
        # What MySQL alone executes, and hints, are no words.
        return "" if inner.startswith(("!", "+")) else inner.strip().strip("*").strip()
    if kind in ("text", "name"):
        quote = "]" if written[0] == "[" else written[0]
        inner = written[1:-1] if len(written) > 1 and written.endswith(quote) else written[1:]
        return inner.replace(quote * 2, quote).replace(f"\\{quote}", quote)
    return written


def _statements(tokens: Iterator[_Token]) -> Iterator[list[_Token]]:
    """Cut at semicolons and GO, and before a CREATE that begins a line: tables are often listed without semicolons."""
    statement: list[_Token] = []
    said: _Token | None = None  # the last token that is no comment
    depth = 0
    for token in tokens:
        ends = _is(token, ";") or (depth <= 0 and token.ahead and token.says("GO"))
        if ends or (depth <= 0 and token.ahead and token.says("CREATE")):
            if said is not None:
                yield statement
            statement, said, depth = [], None, 0
        if not ends:
            statement.append(token)
            if token.kind != "comment":
                said = token
                depth += (token.text == "(") - (token.text == ")") if token.kind == "sign" else 0
    if said is not None:
        yield statement


# ------------------------------------------------------------------------------------------------- statements

_BEFORE_TABLE = 6  # words between CREATE and TABLE, at most


def _is(token: _Token | None, sign: str) -> bool:
    return token is not None and token.kind == "sign" and token.text == sign


def _named(tokens: Sequence[_Token], at: int) -> tuple[list[str], int]:
    """The parts of a name (`schema.table`) that begins at a token, and where it ends."""
    parts: list[str] = []
    while at < len(tokens) and tokens[at].kind in ("word", "name", "text"):
        parts.append(tokens[at].text)
        at += 1
        if at < len(tokens) and _is(tokens[at], "."):
            at += 1
        else:
            break
    return parts, at


def _created(statement: Sequence[_Token]) -> TableText | None:
    """The table of a CREATE TABLE statement; None of any other CREATE."""
    words = [token for token in statement if token.kind != "comment"]
    at = next((i for i, token in enumerate(words[:_BEFORE_TABLE]) if token.says("TABLE")), 0)
    if not at or any(token.kind != "word" or token.says("VIRTUAL", "VIEW", "INDEX", "TRIGGER") for token in words[:at]):
        return None
    at += 1
    if at + 2 < len(words) and words[at].says("IF") and words[at + 1].says("NOT") and words[at + 2].says("EXISTS"):
        at += 3
    parts, at = _named(words, at)
    if not parts:
        return None
    table = TableText(parts[-1])
    while at < len(words) and not _is(words[at], "("):
        if words[at].says("AS", "LIKE", "SELECT", "CLONE", "OF", "USING"):
            return table
        at += 1
    if at == len(words):
        return table
    opening = next(i for i, token in enumerate(statement) if token is words[at])
    table.comments += [token.text for token in statement[:opening] if token.kind == "comment" and _inside(token, words)]
    end = _body(table, statement, opening + 1)
    table.comments += _spoken([token for token in statement[end:] if token.kind != "comment"])
    table.comments = [text for text in table.comments if text]
    return table


def _inside(comment: _Token, words: Sequence[_Token]) -> bool:
    """Whether a comment stands behind the first word: one before CREATE may be about anything."""
    return (comment.line, comment.column) > (words[0].line, words[0].column)


def _body(table: TableText, statement: Sequence[_Token], at: int) -> int:
    """Read the definitions between the parentheses; where they end."""
    definition: list[_Token] = []
    said = table.comments  # where a comment behind the last comma belongs; behind the parenthesis, to the table
    behind: list[str] = []  # comments of the definition at work
    upon: list[str] = []  # comments on lines of their own before it
    above: list[str] = []  # the same of the next definition
    continued: tuple[int, int, list[str]] | None = None  # where the next line of the last comment would stand
    depth = angles = 0

    def close() -> None:
        nonlocal definition, said, behind, upon
        if definition:
            column = _defined(table, definition)
            said = []
            if column is not None:
                said = column.comments
                said += behind
                column.above += upon
        definition, behind, upon = [], [], []

    while at < len(statement):
        token = statement[at]
        at += 1
        if token.kind == "comment":
            words = token.text.rstrip()
            swallowed = words.endswith(",") and bool(definition) and depth == 0
            words = words.rstrip(", ")
            if token.ahead and continued is not None and continued[:2] == (token.line, token.column):
                home = continued[2]
            elif definition:
                home = behind
            elif token.ahead:
                home = above
            else:
                home = said
            if words:
                home.append(words)
            continued = (token.line + 1, token.column, home)
            if swallowed and not _goes_on(statement, at):
                close()
            continue
        if depth == 0 and not angles and _is(token, ","):
            close()
        elif depth == 0 and _is(token, ")"):
            close()
            return at
        else:
            if not definition:
                upon, above = above, []
            definition.append(token)
            if token.kind == "sign":
                depth += (token.text == "(") - (token.text == ")")
                generic = token.text == "<" and len(definition) > 1 and definition[-2].says("ARRAY", "MAP", "STRUCT")
                angles = max(0, angles + (generic or (angles > 0 and token.text == "<")) - (token.text == ">"))
    close()
    return at


_CONTINUES = ("NOT", "NULL", "DEFAULT", "REFERENCES", "COLLATE", "GENERATED", "AUTO_INCREMENT", "AUTOINCREMENT", "ON")


def _goes_on(statement: Sequence[_Token], at: int) -> bool:
    """Whether a definition goes on behind a comment that ends in a comma, so that the comma is only the comment's."""
    token = next((token for token in statement[at : at + 50] if token.kind != "comment"), None)
    return token is None or _is(token, ",") or _is(token, ")") or token.says(*_CONTINUES)


# ------------------------------------------------------------------------------------------------- definitions

_CONSTRAINTS = ("CONSTRAINT", "PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "EXCLUDE", "LIKE", "SELECT", "WITH")
_INDEXES = ("KEY", "INDEX", "FULLTEXT", "SPATIAL")
_BEHIND_TYPE = (
    "NOT", "NULL", "DEFAULT", "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "CONSTRAINT", "COMMENT", "COLLATE",
    "GENERATED", "AS", "AUTO_INCREMENT", "AUTOINCREMENT", "IDENTITY", "ON", "ENCODE", "OPTIONS", "KEY", "STORED",
    "VIRTUAL", "INVISIBLE", "CODEC", "MATERIALIZED", "ALIAS", "SPARSE", "ROWGUIDCOL", "FOREIGN", "CHARSET",
)  # fmt: skip


def _defined(table: TableText, tokens: Sequence[_Token]) -> ColumnText | None:
    """Read one definition: a column, which is given back, or a constraint of the table."""
    first = tokens[0]
    if first.kind not in ("word", "name", "text"):
        return None
    if first.says(*_CONSTRAINTS) or (first.says(*_INDEXES) and _lists_names(tokens)):
        _keys(table, tokens, None)
        return None
    if first.says("PERIOD") and len(tokens) > 1 and tokens[1].says("FOR"):
        return None
    column = ColumnText(first.text)
    # What stands in parentheses (a length, the members of an ENUM) says nothing of the type.
    kinds = takewhile(lambda token: token.kind in ("word", "name") and not token.says(*_BEHIND_TYPE), tokens[1:])
    column.type = " ".join(token.text for token in kinds)
    outside = [token for token, depth in _depths(tokens) if depth == 0]
    column.nullable = not any(a.says("NOT") and b.says("NULL") for a, b in pairwise(outside))
    column.comments += _spoken(tokens)
    _keys(table, tokens, column.name)
    table.columns[column.name.lower()] = column
    return column


def _depths(tokens: Sequence[_Token]) -> Iterator[tuple[_Token, int]]:
    """Each token with the number of parentheses around it."""
    depth = 0
    for token in tokens:
        closes = _is(token, ")")
        depth -= closes
        yield token, max(depth, 0) + closes
        depth += _is(token, "(")


def _lists_names(tokens: Sequence[_Token]) -> bool:
    """Whether `KEY age_index (age)` is an index and not a column called `key`, whose parentheses hold a length."""
    opening = next((i for i, token in enumerate(tokens[:4]) if _is(token, "(")), None)
    return opening is not None and opening + 1 < len(tokens) and tokens[opening + 1].kind in ("word", "name")


def _listed(tokens: Sequence[_Token], at: int) -> tuple[tuple[str, ...], int]:
    """The columns in the parentheses that open at a token (none if they do not), and where they end."""
    if at >= len(tokens) or not _is(tokens[at], "("):
        return (), at
    columns: list[str] = []
    first, depth = True, 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if _is(token, "("):
            depth += 1
        elif _is(token, ")"):
            depth -= 1
            if depth == 0:
                break
        elif depth == 1 and _is(token, ","):
            first = True
        elif depth == 1 and first and token.kind in ("word", "name", "text"):
            columns.append(token.text.lower())
            first = False
    return tuple(columns), at


def _keys(table: TableText, tokens: Sequence[_Token], column: str | None) -> None:
    """Read the keys of a definition, or of what ALTER TABLE adds; `column` is the one that it defines."""
    own: tuple[str, ...] = () if column is None else (column.lower(),)
    from_columns = own
    at = 0
    depth = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind == "sign":
            depth += (token.text == "(") - (token.text == ")")
        if depth or at == len(tokens):
            continue
        if token.says("PRIMARY") and tokens[at].says("KEY"):
            at += 1
            while at < len(tokens) and tokens[at].says("CLUSTERED", "NONCLUSTERED", "USING", "BTREE", "HASH"):
                at += 1
            columns, at = _listed(tokens, at)
            table.primary_key = columns or own or table.primary_key
        elif token.says("FOREIGN") and tokens[at].says("KEY"):
            at += 1
            while at < len(tokens) and not _is(tokens[at], "("):
                at += 1
            from_columns, at = _listed(tokens, at)
        elif token.says("REFERENCES"):
            parts, at = _named(tokens, at)
            to, at = _listed(tokens, at)
            if parts and from_columns:
                table.foreign_keys.append(ForeignKey(from_columns, parts[-1], to))
            from_columns = own


def _spoken(tokens: Sequence[_Token]) -> list[str]:
    """Words of `COMMENT 'words'` (MySQL), and of `OPTIONS (description = 'words')` (BigQuery)."""
    found = []
    outer = [(token, depth) for token, depth in _depths(tokens)]
    for i, (token, depth) in enumerate(outer):
        if (token.says("COMMENT") and depth == 0) or (token.says("DESCRIPTION") and depth == 1):
            at = i + 1 + (i + 1 < len(outer) and _is(outer[i + 1][0], "="))
            if at < len(outer) and outer[at][0].kind in ("text", "name"):
                found.append(outer[at][0].text)
    return found


def _altered(words: Sequence[_Token], tables: dict[str, TableText]) -> None:
    """`ALTER TABLE name ADD … KEY …`, as dumps write keys behind all tables."""
    if len(words) < 3 or not words[1].says("TABLE"):
        return
    at = 2
    while at < len(words) - 1 and words[at].says("ONLY", "IF", "EXISTS"):
        at += 1
    parts, at = _named(words, at)
    if parts and parts[-1].lower() in tables:
        _keys(tables[parts[-1].lower()], words[at:], None)


def _commented(words: Sequence[_Token], tables: dict[str, TableText]) -> None:
    """`COMMENT ON COLUMN table.column IS 'words'`, and the same of a table."""
    if len(words) < 6 or not words[1].says("ON") or not words[2].says("TABLE", "COLUMN"):
        return
    parts, at = _named(words, 3)
    if at + 1 >= len(words) or not words[at].says("IS") or words[at + 1].kind != "text":
        return
    said = words[at + 1].text
    if words[2].says("TABLE"):
        if parts and parts[-1].lower() in tables:
            tables[parts[-1].lower()].comments.append(said)
    elif len(parts) > 1 and parts[-2].lower() in tables:
        column = tables[parts[-2].lower()].columns.get(parts[-1].lower())
        if column is not None:
            column.comments.append(said)
