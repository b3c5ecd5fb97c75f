"""Which SQL may run: one reading statement, and nothing that tells where on the machine the data lie.

A list of forbidden words refuses a column called drop_date and lets two thirds of hostile queries through, so
the judge is the engine's own compiler. SQLite's tells an authorizer each thing that a statement would do, and
whatever is not on a short list of reading actions is denied before a row is touched. DuckDB's says of what type a
statement is; what must be known by its name (the few tables that show the path of the file) is looked for here.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import suppress
from itertools import pairwise
from typing import Any

READING_STATEMENTS = frozenset(("SELECT", "WITH", "VALUES"))

_LEADING = re.compile(r"(?:\s++|--[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/|;)*+([A-Za-z]*)")

# Every function of SQLite that computes from its arguments alone, and those that say how a row of a full-text
# table matches. Not here: load_extension, fts3_tokenizer, fts5, optimize, rtreecheck, readfile, writefile, edit,
# randomblob and whatever else an unusual build may add.
SAFE_FUNCTIONS = frozenset(
    name
    for line in (
        "abs avg ceil ceiling changes char coalesce concat concat_ws count cume_dist date datetime degrees",
        "dense_rank exp first_value floor format glob group_concat hex ifnull iif instr julianday lag",
        "last_value lead length like likelihood likely ln log log10 log2 lower ltrim max median min mod",
        "nth_value ntile nullif octet_length percent_rank pi pow power printf quote radians random rank",
        "replace round row_number rtrim sign soundex sqlite_version sqrt strftime string_agg substr",
        "substring sum time timediff total total_changes trim trunc typeof unhex unicode unixepoch unlikely",
        "upper zeroblob acos acosh asin asinh atan atan2 atanh cos cosh sin sinh tan tanh current_date",
        "current_time current_timestamp subtype match -> ->> json json_array json_array_length",
        "json_error_position json_extract json_group_array json_group_object json_insert json_object",
        "json_patch json_quote json_remove json_replace json_set json_type json_valid",
        "bm25 highlight matchinfo offsets snippet",
        # of later versions
        "if json_array_insert json_pretty jsonb jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array",
        "jsonb_group_object jsonb_insert jsonb_object jsonb_patch jsonb_remove jsonb_replace jsonb_set percentile",
        "percentile_cont percentile_disc unistr unistr_quote",
    )
    for name in line.split()
)

# Tables that show the machinery rather than the data.
_HIDDEN_TABLES = re.compile(r"pragma_|dbstat|sqlite_dbpage|sqlite_stmt|bytecode|tables_used|fsdir|zipfile", re.I)

# Kinds of virtual tables that hold data of their own and read nothing but the database.
_VIRTUAL = re.compile(r"(?:fts[345]|fts4aux|fts5vocab|rtree|rtree_i32|geopoly)", re.I)

_ACTIONS = {
    getattr(sqlite3, name): name.removeprefix("SQLITE_").replace("_", " ")
    for name in dir(sqlite3)
    if re.fullmatch(
        r"SQLITE_(?:CREATE_\w+|DROP_\w+|INSERT|UPDATE|DELETE|PRAGMA|ATTACH|DETACH|TRANSACTION|ALTER_TABLE|"
        r"REINDEX|ANALYZE|SAVEPOINT)",
        name,
    )
}


def leading_keyword(sql: str) -> str:
    """The first word of a statement, in capitals, past space and comments."""
    match = _LEADING.match(sql)
    return match.group(1).upper() if match else ""


class Authorizer:
    """Says yes to reading and remembers the first thing it said no to."""

    def __init__(self) -> None:
        self.denied = ""

    def __call__(self, action: int, first: str | None, second: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_SELECT or action == sqlite3.SQLITE_RECURSIVE:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            if first is not None and _HIDDEN_TABLES.match(first):
                return self._deny(f"reading {first}")
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION:
            if second is not None and second.lower() in SAFE_FUNCTIONS:
                return sqlite3.SQLITE_OK
            return self._deny(f"function {second}")
        if action == sqlite3.SQLITE_PRAGMA and first == "data_version" and second is None:
            return sqlite3.SQLITE_OK  # full-text tables ask for it before each read: a number that says nothing
        return self._deny(f"{_ACTIONS.get(action, f'action {action}')} {first or ''}".strip())

    def _deny(self, denied: str) -> int:
        self.denied = self.denied or denied
        return sqlite3.SQLITE_DENY


def declare_virtual_tables(connection: sqlite3.Connection) -> None:
    """Make full-text and spatial tables known to a connection that has no authorizer yet.

    Such a table declares itself and prepares its own statements, for writing too, when a query names it for the
    first time. To the authorizer that looks as if the query did so. Once it is known, queries on it only read.
    """
    # A table-valued function declares itself on first use as well.
    connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").fetchall()
    with suppress(sqlite3.Error):  # a file that is no database: the query says so
        tables = connection.execute("SELECT name, sql FROM sqlite_master WHERE rootpage = 0 AND type = 'table'")
        for name, sql in tables.fetchall():
            module = re.search(r"\bUSING\s+[\"`\[]?(\w+)", sql or "", re.I)
            if module is not None and _VIRTUAL.fullmatch(module[1]):
                with suppress(sqlite3.Error):  # of a kind that this build does not know
                    connection.execute(f"SELECT 1 FROM {quoted(name)} LIMIT 0").fetchall()


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# ---- DuckDB

# What shows the settings, files and secrets of the engine rather than data. A name may stand in quotes of either kind
# where a table is expected, so it is refused wherever it stands.
_MACHINERY = re.compile(
    r"\b(?:duckdb_(?:databases|settings|profiling_settings|secrets|extensions|logs|logs_parsed|log_contexts|"
    r"temporary_files|external_\w+)|\w+_external_resource\w*|pragma_database_list|pg_settings|current_setting|"
    r"which_secret|allowed_paths|allowed_directories)\b",
    re.I,
)
# Functions that run a text as a query. A text can be put together from pieces, so no name in it can be looked for.
_RUNS_TEXT = frozenset((b"query", b"query_table", b"json_execute_serialized_sql"))
_WORD = re.compile(rb'"?(\w+)')


def machinery(text: str) -> str:
    """What a DuckDB statement names that tells of the machine rather than of the data, in words; "" for nothing."""
    import duckdb

    match = _MACHINERY.search(text)
    if match is not None:
        return f"reading {match[0].lower()}"
    raw = text.encode()
    tokens = [(start, kind) for start, kind in duckdb.tokenize(text) if kind.name != "comment"]
    for (start, kind), (following, following_kind) in pairwise(tokens):
        if kind.name == following_kind.name == "string_const":
            return "a text in several pieces"  # the engine joins them, and they may name a table
        word = _WORD.match(raw, start)
        if word is not None and word[1].lower() in _RUNS_TEXT and raw[following : following + 1] == b"(":
            return f"function {word[1].decode().lower()}"
    return ""


def is_reading(cursor: Any, text: str, statement: Any) -> bool:
    """Whether DuckDB takes a statement, the only one in the text, for reading.

    A PIVOT whose columns follow from the data counts as several statements: DuckDB lists the values in a temporary
    type, reads, and drops the type. So does a COPY or CREATE TABLE with such a PIVOT in it. Only what reads can
    stand in the brackets of a FROM.
    """
    import duckdb

    if statement.type.name != "MULTI":
        return bool(statement.type.name == "SELECT")
    try:
        bracketed = cursor.extract_statements(f"SELECT * FROM (\n{text.rstrip().rstrip(';')}\n)")
    except duckdb.Error:
        return False
    return len(bracketed) == 1 and bracketed[0].type.name == "MULTI"
