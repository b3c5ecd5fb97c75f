"""A SQL query as a tree in which the same things have the same names, so that a clause of one query fits into another.

Every table goes by its own name (a second one of that name by `name__2`), every column has its table, names of result
columns are replaced by what they stand for, and what SQLite takes for text is text. Which columns a table has is told
by the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from sensecheck.inputs.guarding import Fault, OverBudgetError, guarded
from sensecheck.language.sql_parsing import parse_sql

MOST_CHARACTERS = 10_000
"""Of a query that is taken apart; those of people have a few hundred."""

Columns = Mapping[str, Sequence[str]]
"""Of each table, in small letters."""

_PIECES = re.compile(r"'(?:[^']|'')*'|[^']+")
_PLAIN = re.compile(r"[A-Za-z_]\w*")


@dataclass(slots=True)
class Query:
    """A query that was taken apart."""

    holder: Any
    """Brackets around the tree, so that it can be exchanged as a whole."""
    dialect: str
    aliases: dict[str, str] = field(default_factory=dict)
    """The name of a table here → what it is called in the text, where that is one thing."""
    spellings: dict[str, str] = field(default_factory=dict)
    """A name in small letters → as the text writes it."""
    tables: dict[str, str] = field(default_factory=dict)
    """The name of a table here → its name in the database; none for a subquery in FROM."""

    kept: dict[str, list[Any]] = field(default_factory=dict)
    """What was found in the tree: the gold of several predictions is searched once."""

    @property
    def tree(self) -> Any:
        return self.holder.this

    def nodes(self, *kinds: type[Any]) -> list[Any]:
        """The nodes of these kinds. Changes to a tree are taken back before it is searched."""
        if "nodes" not in self.kept:
            self.kept["nodes"] = list(self.tree.walk())
        return [node for node in self.kept["nodes"] if isinstance(node, kinds)]


def parsed(text: str, dialect: str) -> Any | None:
    """The tree of a query, or None: it cannot be read, is no query, or is too long to be taken apart."""
    tree = guarded("reading for a reason", _parsed, text, dialect)
    return None if isinstance(tree, Fault) else tree


def _parsed(text: str, dialect: str) -> Any | None:
    if len(text) > MOST_CHARACTERS:
        return None
    try:
        statements = [statement for statement in parse_sql(text, dialect) if statement is not None]
    except (sqlglot.errors.SqlglotError, ValueError):
        return None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return None
    return statements[0]


def table_names(tree: Any) -> set[str]:
    """The tables that a tree names, in small letters."""
    return {table.name.lower() for table in tree.find_all(exp.Table) if table.name}


def resolved(tree: Any, dialect: str, columns: Columns) -> Query | None:
    """The query with every name resolved; the tree is changed."""
    query = Query(exp.Paren(this=tree), dialect)
    done = guarded("resolving names", _Resolver(query, columns).whole)
    return None if isinstance(done, Fault) else query


@lru_cache(maxsize=8)
def _generator(dialect: str) -> Any:
    return Dialect.get_or_raise(dialect).generator(comments=False)


def sql_of(tree: Any, dialect: str) -> str:
    """The text of a tree, which is not copied first as sqlglot does: nothing is rewritten for another dialect."""
    text: str = _generator(dialect).generate(tree, copy=False)
    return text


def key_of(tree: Any, text: str) -> str:
    """The same for parts that say the same: without case, quotes of names, and the order of the sides of `=`."""
    sides = (tree.this, tree.expression) if isinstance(tree, exp.EQ | exp.NEQ) else ()
    if sides and all(isinstance(side, exp.Column) for side in sides):
        names = sorted(f"{column.table}.{column.name}".lower() for column in sides)
        return f" {'=' if isinstance(tree, exp.EQ) else '<>'} ".join(names)
    return plain_key(text)


def plain_key(text: str) -> str:
    pieces = []
    for piece in _PIECES.findall(caseless(text)):
        inner = piece[1:-1]
        if piece[0] == "'":
            pieces.append(inner if inner.isdigit() else piece)
        else:
            pieces.append(piece.replace('"', "").replace("`", ""))
    return "".join(pieces)


def caseless(text: str) -> str:
    """In small letters but for what stands in quotes."""
    if "'" not in text:
        return text.lower()
    return "".join([piece if piece[0] == "'" else piece.lower() for piece in _PIECES.findall(text)])


def conjuncts(condition: Any) -> list[Any]:
    """The conditions that AND joins, without brackets around them."""
    found: list[Any] = []
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        while isinstance(part, exp.Paren):
            part = part.this
        if isinstance(part, exp.And):
            waiting += [part.expression, part.this]
        elif part is not None:
            found.append(part)
    return found


def unwrapped(query: Any) -> Any:
    """A query without brackets that only enclose it."""
    while isinstance(query, exp.Paren | exp.Subquery) and isinstance(query.this, exp.Query | exp.Paren):
        query = query.this
    return query


def source_nodes(select: Any) -> list[Any]:
    """What stands in FROM and its joins."""
    from_ = select.args.get("from_") or select.args.get("from")
    return [] if from_ is None else [from_.this, *(join.this for join in select.args.get("joins") or [])]


def name_of(source: Any) -> str:
    return str(source.alias_or_name).lower()


def output_names(query: Any) -> list[str] | None:
    query = unwrapped(query)
    while isinstance(query, exp.SetOperation):
        query = unwrapped(query.this)
    if not isinstance(query, exp.Select) or query.is_star:
        return None
    return [item.alias_or_name.lower() for item in query.expressions]


@dataclass(slots=True)
class _Source:
    name: str
    columns: frozenset[str] | None  # None: not known


@dataclass(slots=True)
class _Scope:
    sources: dict[str, _Source]  # by what the text calls them
    order: list[_Source]
    outer: _Scope | None

    def names(self) -> set[str]:
        own = {source.name for source in self.order}
        return own | self.outer.names() if self.outer is not None else own


class _Resolver:
    def __init__(self, query: Query, columns: Columns) -> None:
        self.query = query
        self.columns = {name: frozenset(column.lower() for column in own) for name, own in columns.items()}
        self.ambiguous: set[str] = set()

    def whole(self) -> None:
        self._query(self.query.tree, None, keeps_names=False)
        for name in self.ambiguous:
            self.query.aliases.pop(name, None)

    def _query(self, query: Any, outer: _Scope | None, *, keeps_names: bool) -> None:
        with_ = query.args.get("with_") or query.args.get("with")
        if with_ is not None:
            for cte in with_.expressions:
                self._query(cte.this, outer, keeps_names=True)
                renamed = [column.name.lower() for column in cte.args["alias"].columns]
                outputs = renamed or output_names(cte.this)
                if outputs is not None:
                    self.columns = {**self.columns, cte.alias.lower(): frozenset(outputs)}
        inner = unwrapped(query)
        if inner is not query:
            self._query(inner, outer, keeps_names=keeps_names)
        elif isinstance(inner, exp.Select):
            self._select(inner, outer, keeps_names=keeps_names)
        elif isinstance(inner, exp.SetOperation):
            for branch in (inner.this, inner.expression):
                self._query(branch, outer, keeps_names=True)

    def _select(self, select: Any, outer: _Scope | None, *, keeps_names: bool) -> None:
        scope = _Scope({}, [], outer)
        taken = outer.names() if outer is not None else set()
        for node in source_nodes(select):
            self._declare(node, scope, taken)
        named: dict[str, Any] = {}
        items = list(select.expressions)
        for item in items:
            self._walk(item, scope)
            if isinstance(item, exp.Alias) and item.alias:
                named.setdefault(item.alias.lower(), item.this)
        for join in select.args.get("joins") or []:
            if join.args.get("kind") == "INNER":
                join.set("kind", None)
            if join.args.get("on") is not None:
                self._walk(join.args["on"], scope)
        for clause in ("where", "group", "having"):
            node = select.args.get(clause)
            if node is not None:
                self._walk(node, scope, named if clause != "where" else {**named})
        order = select.args.get("order")
        if order is not None:
            self._walk(order, scope, named, named_first=True)
        for clause in ("group", "order"):
            node = select.args.get(clause)
            for part in node.expressions if node is not None else []:
                _spell_out(part, items)
        if not keeps_names:
            select.set("expressions", [item.this if isinstance(item, exp.Alias) else item for item in items])

    def _declare(self, node: Any, scope: _Scope, taken: set[str]) -> None:
        called = name_of(node)
        columns: frozenset[str] | None = None
        table = ""
        if isinstance(node, exp.Table) and node.name:
            table = node.name.lower()
            columns = self.columns.get(table)
            self.query.spellings.setdefault(table, node.name)
        elif isinstance(node, exp.Subquery) and isinstance(unwrapped(node), exp.Query):
            inner = unwrapped(node)
            self._query(inner, None, keeps_names=True)
            outputs = output_names(inner)
            columns = None if outputs is None else frozenset(outputs)
        else:
            raise OverBudgetError("a source that is neither a table nor a query")
        name = base = table or "derived"
        number = 1
        while name in taken:
            number += 1
            name = f"{base}__{number}"
        taken.add(name)
        alias = node.args.get("alias")
        if name == table:
            node.set("alias", None)
        elif alias is not None and alias.args.get("columns"):
            raise OverBudgetError("columns that an alias renames")
        else:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(name)))
        source = _Source(name, columns)
        scope.sources.setdefault(called, source)
        scope.order.append(source)
        written = node.name if called == table else called
        spelt = str(alias.name) if alias is not None and alias.name else written
        if self.query.aliases.setdefault(name, spelt or name) != (spelt or name):
            self.ambiguous.add(name)
        self.query.tables[name] = table

    def _walk(
        self, node: Any, scope: _Scope, named: Mapping[str, Any] | None = None, named_first: bool = False
    ) -> None:
        if isinstance(node, exp.Query):
            self._query(node, scope, keeps_names=False)
            return
        if isinstance(node, exp.Column):
            self._column(node, scope, named or {}, named_first)
            return
        for part in list(node.iter_expressions()):
            self._walk(part, scope, named, named_first)
        if isinstance(node, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE):
            _flip(node)

    def _column(self, column: Any, scope: _Scope, named: Mapping[str, Any], named_first: bool) -> None:
        name = column.name.lower()
        self.query.spellings.setdefault(name, column.name)
        table = column.table.lower()
        if table:
            source = _by_alias(scope, table)
            if source is not None:
                column.set("table", exp.to_identifier(source.name))
                _small(column, name)
            return
        if isinstance(column.this, exp.Star):
            return
        if named_first and name in named:
            column.replace(named[name].copy())
            return
        source = _by_column(scope, name)
        if source is not None:
            column.set("table", exp.to_identifier(source.name))
            _small(column, name)
        elif name in named:
            column.replace(named[name].copy())
        elif self.query.dialect == "sqlite" and column.this.args.get("quoted"):
            column.replace(exp.Literal.string(column.name))


def _small(column: Any, name: str) -> None:
    if isinstance(column.this, exp.Identifier) and column.this.this != name:
        column.set("this", exp.Identifier(this=name, quoted=column.this.args.get("quoted")))


def _by_alias(scope: _Scope | None, name: str) -> _Source | None:
    while scope is not None:
        if name in scope.sources:
            return scope.sources[name]
        scope = scope.outer
    return None


def _by_column(scope: _Scope | None, name: str) -> _Source | None:
    """The source of a column without a table: the nearest that is known to have it, or the only one there is."""
    nearest = scope
    while scope is not None:
        for source in scope.order:
            if source.columns is not None and name in source.columns:
                return source
        scope = scope.outer
    if nearest is not None and len(nearest.order) == 1 and nearest.order[0].columns is None:
        return nearest.order[0]
    return None


def _flip(node: Any) -> None:
    """`5 < age` as `age > 5`."""
    if not isinstance(node.this, exp.Literal) or isinstance(node.expression, exp.Literal):
        return
    turned = {exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE}
    kind = turned.get(type(node))
    left, right = node.this, node.expression
    if kind is None:
        node.set("this", right)
        node.set("expression", left)
    else:
        node.replace(kind(this=right, expression=left))


def _spell_out(part: Any, items: Sequence[Any]) -> None:
    """ORDER BY 2 as what the second column is."""
    key = part.this if isinstance(part, exp.Ordered) else part
    if isinstance(key, exp.Literal) and not key.is_string and str(key.this).isdigit():
        place = int(key.this) - 1
        if 0 <= place < len(items):
            key.replace(items[place].unalias().copy())


# ---- what a query consists of, wherever it stands


def queries_in(node: Any) -> Iterator[Any]:
    """The queries that stand in a part, but not those within them."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, exp.Query) and part is not node:
            yield unwrapped(part)
            continue
        waiting += reversed(list(part.iter_expressions()))


def needs(node: Any) -> set[str]:
    """The tables from outside that a part names."""
    named: set[str] = set()
    there: set[str] = set()
    for part in node.walk():
        if isinstance(part, exp.Column):
            named.add(part.table)
        elif isinstance(part, exp.Select):
            there.update(map(name_of, source_nodes(part)))
    return named - there - {""}


def shown(query: Query, tree: Any) -> str:
    """A tree in the names and the case of the query that it comes from; the tree is changed."""
    tables = list(tree.find_all(exp.Table))
    alone = len(tables) == 1 and len(list(tree.find_all(exp.Select))) == 1
    for column in list(tree.find_all(exp.Column)):
        if alone and column.table in query.tables:
            column.set("table", None)
        elif column.table in query.aliases:
            column.set("table", exp.to_identifier(query.aliases[column.table]))
        if isinstance(column.this, exp.Identifier):
            spelt = query.spellings.get(column.name, column.name)
            column.set("this", exp.Identifier(this=spelt, quoted=column.this.args.get("quoted")))
    for source in list(tree.find_all(exp.Table, exp.Subquery)):
        name = name_of(source)
        if name not in query.tables:
            continue
        called = query.aliases.get(name, name)
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            spelt = query.spellings.get(source.name.lower(), source.name)
            source.set("this", exp.Identifier(this=spelt, quoted=source.this.args.get("quoted")))
        if called.lower() == source.name.lower() and isinstance(source, exp.Table):
            source.set("alias", None)
        else:
            source.set("alias", exp.TableAlias(this=exp.to_identifier(called)))
    return sql_of(tree, query.dialect)
