"""The same for DuckDB: its schemas, and tiny databases in memory. Its engine counts no steps, so that a query without
end is ended by the clock of the worker that it runs in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from sensecheck.language.answers import Answer
from sensecheck.stores.outcomes import Failure, Outcome, Reason, decode_cell, encode_cell
from sensecheck.stores.sql_gate import is_reading, machinery, quoted

from .sandbox import ANSWER_BYTES, QUERY_CHARACTERS, ROWS, answer_size
from .schema import Affinity, Column, Link, Schema, Table, parents_before, parents_first

MEMORY = "256MB"
_WHOLE = re.compile(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|BOOLEAN")
_PARTS = re.compile(r"FLOAT|DOUBLE|REAL|DECIMAL.*")
_FOREIGN = re.compile(r"FOREIGN KEY \((.+?)\) REFERENCES (.+?)\((.+?)\)")
_PIECES = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[(),]|[^'"(),]+""")
_CALLS = frozenset(
    """
    random setseed uuid gen_random_uuid uuidv4 uuidv7 now today get_current_time get_current_timestamp current_date
    current_time current_timestamp current_localtime current_localtimestamp localtime localtimestamp
    transaction_timestamp nextval currval current_setting current_user session_user current_schema current_database
    current_query txid_current version getenv
    """.split()  # noqa: SIM905
)
"""Functions whose values do not follow from the data: as calls, since columns may have these names too."""
_WORDS = frozenset(name for name in _CALLS if name.startswith(("current_", "local"))) | {"session_user"}
"""Those that stand without brackets,"""
_ROWS = frozenset(("tablesample", "rowid"))
"""and what picks rows, or tells their place."""


def connect(database: str = ":memory:") -> Any:
    """A connection whose doors to the outside are shut; `lock` shuts the last of them."""
    import duckdb

    config = {
        "threads": 1, "memory_limit": MEMORY, "temp_directory": "", "autoinstall_known_extensions": False,
        "autoload_known_extensions": False, "allow_community_extensions": False, "python_enable_replacements": False,
    }  # fmt: skip
    connection = duckdb.connect(database, config=config)
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _affinity(declared: str) -> Affinity:
    if _WHOLE.fullmatch(declared):
        return "integer"
    return "real" if _PARTS.fullmatch(declared) else "text"


def read_duckdb_schema(connection: Any) -> Schema:
    """The schema of an open DuckDB database: what is in `main`."""
    schema = Schema({})
    found: dict[str, Table] = {}
    where = "schema_name = 'main' AND NOT internal AND database_name = current_database()"
    for name, ddl in connection.execute(
        f"SELECT table_name, sql FROM duckdb_tables() WHERE {where} AND NOT temporary ORDER BY table_oid"
    ).fetchall():
        found[name] = Table(name, [], ddl)
    computed = set(
        connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE is_generated = 'ALWAYS'"
        ).fetchall()
    )
    schema.first = connection.execute(
        "SELECT sequence_name, sql FROM duckdb_sequences() WHERE schema_name = 'main' AND NOT temporary "
        "AND database_name = current_database() ORDER BY sequence_oid"
    ).fetchall()
    for name, column, declared, nullable in connection.execute(
        f"SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() WHERE {where} "
        "ORDER BY table_oid, column_index"
    ).fetchall():
        if name in found and (name, column) not in computed:
            found[name].columns.append(Column(column, _affinity(declared), declared, not nullable))
    for name, kind, text, columns in connection.execute(
        "SELECT table_name, constraint_type, constraint_text, constraint_column_names FROM duckdb_constraints() "
        "WHERE schema_name = 'main' AND database_name = current_database() ORDER BY table_oid, constraint_index"
    ).fetchall():
        table = found.get(name)
        if table is None:
            continue
        places = [table.place(column) for column in columns]
        own = tuple(place for place in places if place is not None)
        if kind == "PRIMARY KEY":
            table.keys.insert(0, own)
            for place in own:
                table.columns[place].not_null = True
        elif kind == "UNIQUE" and own not in table.keys:
            table.keys.append(own)
        elif kind == "FOREIGN KEY":
            _add_link(table, text, found)
    schema.tables = {name: found[name] for name in parents_first(found)}
    for name, text in connection.execute(
        f"SELECT table_name, sql FROM duckdb_indexes() WHERE is_unique AND {where.replace('AND NOT internal ', '')}"
    ).fetchall():
        if text:
            schema.further.append((name, text))
    for name, text in connection.execute(f"SELECT view_name, sql FROM duckdb_views() WHERE {where}").fetchall():
        schema.further.append(("", text))
        schema.views[name.lower()] = text
    return schema


def _add_link(table: Table, text: str, found: Mapping[str, Table]) -> None:
    match = _FOREIGN.match(text)
    parent = found.get(match[2].strip('"')) if match is not None else None
    if match is None or parent is None:
        return
    columns = [table.place(name.strip().strip('"')) for name in match[1].split(",")]
    targets = [parent.place(name.strip().strip('"')) for name in match[3].split(",")]
    if None not in columns and None not in targets and len(columns) == len(targets):
        own = tuple(place for place in columns if place is not None)
        theirs = tuple(place for place in targets if place is not None)
        table.links.append(Link(table.name, own, parent.name, theirs))


def select_list(table: Table) -> str:
    """The columns of a table as plain numbers and text, which is what goes back in."""
    shown = []
    for column in table.columns:
        name = quoted(column.name)
        kind = {"integer": "BIGINT", "real": "DOUBLE"}.get(column.affinity, "VARCHAR")
        if column.declared in ("HUGEINT", "UHUGEINT", "UBIGINT"):
            kind = "HUGEINT"
        shown.append(f"CAST({name} AS {kind})")
    return ", ".join(shown)


class DuckdbSandbox:
    """One schema in memory. While it is searched, foreign keys are ours to keep: rows then go in in any order."""

    def __init__(self, schema: Schema, *, foreign_keys: bool = False) -> None:
        self.schema = schema
        self._foreign_keys = foreign_keys
        self.connection = connect()
        for _, statement in schema.first:
            self.connection.execute(statement)
        for table in schema.tables.values():
            self.connection.execute(table.ddl if foreign_keys else _without_links(table.ddl))
        for _, statement in schema.further:
            self.connection.execute(statement)
        self._open = False

    def close(self) -> None:
        self.connection.close()

    def fresh(self) -> DuckdbSandbox:
        return DuckdbSandbox(self.schema, foreign_keys=True)

    def fill(self, rows: Mapping[str, Sequence[Sequence[Any]]]) -> str:
        import duckdb

        try:
            self.connection.execute("BEGIN")
            self._open = True
            for name, lines in rows.items():
                table = self.schema.tables[name]
                itself = self._foreign_keys and any(link.parent == name for link in table.links)
                # Of one statement, no row can name another.
                for at_once in (
                    [[line] for line in parents_before(table, lines)] if itself else [lines] if lines else []
                ):
                    columns = ", ".join(quoted(column.name) for column in table.columns)
                    places = f"({', '.join('?' * len(table.columns))})"
                    statement = f"INSERT INTO {quoted(name)} ({columns}) VALUES {', '.join([places] * len(at_once))}"
                    self.connection.execute(statement, [cell for line in at_once for cell in line])
        except duckdb.Error as error:
            return str(error) or type(error).__name__
        return ""

    def seal(self) -> str:
        import duckdb

        try:
            self.connection.execute("COMMIT")
            self._open = False
        except duckdb.Error as error:
            return str(error)
        return ""

    def clear(self) -> None:
        import duckdb

        if self._open:
            self._open = False
            with suppress(duckdb.TransactionException):  # an error has ended it already
                self.connection.execute("ROLLBACK")

    def reverse(self, backwards: bool) -> None:
        """DuckDB goes through tables in one way only."""

    def ask(self, text: str) -> Outcome:
        import duckdb

        try:
            if len(text) > QUERY_CHARACTERS:
                return Failure(Reason.REFUSED, f"the query is too long: {len(text):,} characters")
            if "\0" in text:
                return Failure(Reason.SYNTAX, "the query contains a null character")
            statements = self.connection.extract_statements(text)
            if len(statements) != 1:
                return Failure(Reason.REFUSED, "more than one statement" if statements else "no statement")
            if not is_reading(self.connection, text, statements[0]):
                return Failure(Reason.REFUSED, f"only SELECT statements are run, not {statements[0].type.name}")
            if objection := machinery(text):
                return Failure(Reason.REFUSED, f"not allowed: {objection}")
            self.connection.execute(statements[0])
            columns = [column[0] for column in self.connection.description or ()]
            rows: list[tuple[Any, ...]] = []
            size = 0
            while more := self.connection.fetchmany(200):
                rows += [tuple([decode_cell(encode_cell(cell)) for cell in row]) for row in more]
                size += answer_size(rows[-len(more) :])
                if len(rows) > ROWS or size > ANSWER_BYTES:
                    return Failure(Reason.TOO_LARGE, "an answer that is too large for a database with a few rows")
            return Answer(columns, rows)
        except duckdb.Error as error:
            # An error inside a transaction ends it for DuckDB: what follows has to begin anew.
            return Failure(Reason.ENGINE_ERROR, str(error).split("\n")[0])

    def look(self, text: str) -> tuple[Outcome, set[tuple[str, str]], set[tuple[str, str]]]:
        outcome = self.ask(text)
        if isinstance(outcome, Failure):
            return outcome, set(), set()
        names = {name.lower() for name in self.connection.get_table_names(text)}
        read = {
            (name, column.name)
            for name, table in self.schema.tables.items()
            if name.lower() in names
            for column in table.columns
        }
        called = {(name, "") for name in _called(text)}
        todo = [text]
        views = dict(self.schema.views)
        while todo:
            words = {word for word, _ in _words(todo.pop())}
            for view in sorted(words & set(views)):
                todo.append(views[view])
                called |= {(name, view) for name in _called(views.pop(view))}
        return outcome, read, called


def _words(text: str) -> list[tuple[str, str]]:
    """The names and keywords of a statement in small letters, each with the sign or word behind it."""
    import duckdb

    raw = text.encode()
    tokens = [(start, kind) for start, kind in duckdb.tokenize(text) if kind.name != "comment"]
    found = []
    for number, (start, kind) in enumerate(tokens):
        word = re.match(rb'"?(\w+)', raw[start : start + 64])
        if word is not None and kind.name != "string_const":
            behind = tokens[number + 1][0] if number + 1 < len(tokens) else len(raw)
            following = re.match(rb"\w+|.?", raw[behind : behind + 64], re.S)
            named = word[1].decode("utf-8", "replace").lower()
            found.append((named, following[0].decode("utf-8", "replace").lower() if following is not None else ""))
    return found


def _called(text: str) -> set[str]:
    """What a statement calls that does not follow from the data."""
    found = set()
    for word, following in _words(text):
        if (word in _CALLS and following == "(") or word in _WORDS or word in _ROWS:
            found.add(word)
        elif word == "using" and following == "sample":
            found.add("sample")
    return found


def _without_links(ddl: str) -> str:
    """The statement that makes a table, as DuckDB writes it, without its foreign keys: these stand by themselves.

    >>> _without_links("CREATE TABLE c(n INTEGER CHECK((n < 3)), r INTEGER, FOREIGN KEY (r) REFERENCES p(id));")
    'CREATE TABLE c(n INTEGER CHECK((n < 3)), r INTEGER)'
    """
    pieces = [""]
    depth = 0
    for token in _PIECES.findall(ddl.strip().rstrip(";")):
        depth += (token == "(") - (token == ")")
        if token == "," and depth == 1:
            pieces.append("")
        else:
            pieces[-1] += token
    kept = [piece for piece in pieces if not piece.lstrip().startswith("FOREIGN KEY (")]
    return ",".join(kept) + (")" if len(kept) < len(pieces) and kept[-1] is not pieces[-1] else "")
