"""A SQL query as a tree in which only what matters is left, for comparing queries by meaning rather than spelling.

What is levelled: names of table and column aliases; case of identifiers and keywords; spacing; the order of
conjuncts, of inner joins, of IN lists, of GROUP BY, of CTEs; `a > b` and `b < a`; `a = b` and `b = a`; ON against
WHERE for inner joins; UNION, INTERSECT. A column without its table belongs to the only table there is. What stays:
the order of columns and sort keys, DISTINCT, constants (`2` and `2.0` divide differently), and whatever is not
named here: a part of the syntax that this module does not know is kept as it is written, never dropped.

No schema is known here, so two things are taken on trust. The name of a result column, where GROUP BY, HAVING or
WHERE use it, is no column of a table as well; and a name in double quotes that is compared with something, and is no
column elsewhere in the query, is text, as SQLite and the data sets' queries have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any, TypeAlias

import sqlglot
from sqlglot import exp

from .isomorphism import Node, Shape, Tree, bag, node
from .sql_parsing import parse_sql

Outputs: TypeAlias = "list[str] | None"  # names of a query's columns; None where a * hides some

# Spellings of one function. Others keep theirs: sqlglot reads mod(7.5, 2) and 7.5 % 2 alike, SQLite does not.
_SYNONYMS = {"substring": "substr", "ifnull": "coalesce", "power": "pow", "ceiling": "ceil"}
# In these a name is written, and the case of a name does not matter; elsewhere text is text.
_CASELESS = (exp.Identifier, exp.Var, exp.Anonymous, exp.AnonymousAggFunc, exp.HexString, exp.DataType)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.Glob)
_PREDICATES = (*_COMPARISONS, exp.In, exp.Between, exp.Is, exp.Not, exp.Escape, exp.Collate)


class _AmbiguousError(ValueError):
    """The text can be read in more than one way."""


@dataclass(slots=True)
class _Source:
    """A table in FROM. `columns` are those whose place is known; an `open` one may have others."""

    number: int
    columns: dict[str, str]
    open: bool


@dataclass(slots=True)
class _Alias:
    """A result column that other clauses may name."""

    tree: Tree
    aggregate: bool


class _Scope:
    """The tables in reach of a query, and its result columns as far as they can be named where we are."""

    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.tables: dict[str, _Source] = {}
        self.common: dict[str, tuple[int, Outputs]] = {}  # CTEs
        self.aliases: dict[str, _Alias] = {}
        self.naming = ""  # which names win: "" no alias counts; "columns"; "plain": columns, no aggregates; "aliases"
        self.columns: frozenset[str] = frozenset()  # names that can only be columns of tables

    def table(self, name: str) -> _Source | None:
        if name in self.tables:
            return self.tables[name]
        return self.outer.table(name) if self.outer else None

    def cte(self, name: str) -> tuple[int, Outputs] | None:
        if name in self.common:
            return self.common[name]
        return self.outer.cte(name) if self.outer else None

    def known(self, name: str) -> Tree | None:
        """What a bare name certainly or possibly stands for by what the query itself says, or None."""
        if self.naming == "aliases" and name in self.aliases:
            return self.aliases[name].tree
        sources = [source for source in self.tables.values() if name in source.columns]
        if sources:
            columns = [node("column", source.number, source.columns[name]) for source in sources]
            return columns[0] if len(columns) == 1 else bag("column of several", *columns)
        if self.naming and name in self.aliases and not self._is_column(name):
            return self.aliases[name].tree
        return None

    def _is_column(self, name: str) -> bool:
        if not any(source.open for source in self.tables.values()):
            return False
        return name in self.columns or (self.naming == "plain" and self.aliases[name].aggregate)

    def resolve(self, name: str) -> Tree:
        reading = self.known(name)
        if reading is not None:
            return reading
        open_sources = [source for source in self.tables.values() if source.open]
        if not open_sources:
            return self.outer.resolve(name) if self.outer else node("column", "?", name)
        own_reading = node("column", open_sources[0].number if len(open_sources) == 1 else "?", name)
        # It may also be a column of a query around this one: then both readings have to agree.
        enclosing = self.outer
        while enclosing is not None:
            reading = enclosing.known(name)
            if reading is not None:
                return node("either", own_reading, reading)
            enclosing = enclosing.outer
        return own_reading


def sql_normal_form(text: str, dialect: str = "sqlite", *, set_semantics: bool = False) -> Shape | None:
    """The normal form of a query, or None where the text cannot be read.

    With `set_semantics` an outermost DISTINCT makes no difference. A form too large to compare raises OverBudgetError.
    """
    try:
        try:
            statements = parse_sql(text, dialect)
        except ValueError:  # it makes a number of 0xff…, and Python has a bound on the digits of one
            return None
        if len(statements) != 1 or not isinstance(statements[0], exp.Query):
            return None
        return Shape(_Reader(text, dialect, statements[0]).whole(set_semantics))
    except (sqlglot.errors.SqlglotError, _AmbiguousError):
        return None


def _present(tree: Any) -> dict[str, Any]:
    """The arguments of a node that say something; sqlglot writes `with_` or, in older versions, `with`."""
    return {
        name.rstrip("_"): value
        for name, value in tree.args.items()
        if value is not None and value is not False and value != []
    }


def _parts(expression: Any, kind: Any) -> Iterator[Any]:
    while isinstance(expression, exp.Paren):
        expression = expression.this
    if isinstance(expression, kind):
        yield from _parts(expression.this, kind)
        yield from _parts(expression.expression, kind)
    else:
        yield expression


def _bare(expression: Any) -> Any:
    while isinstance(expression, exp.Paren):
        expression = expression.this
    return expression


def _is_star(item: Any) -> bool:
    return isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))


def _unwrapped(tree: Any) -> Any:
    """A query without brackets that only enclose it."""
    while isinstance(tree, exp.Paren | exp.Subquery) and set(_present(tree)) == {"this"}:
        tree = tree.this
    return tree


def _names(query: Any) -> Outputs:
    """The names of a query's columns as far as its text says them."""
    query = _unwrapped(query)
    while isinstance(query, exp.SetOperation):
        query = _unwrapped(query.this)
    if not isinstance(query, exp.Select) or any(_is_star(item) for item in query.expressions):
        return None
    return [item.alias_or_name.lower() for item in query.expressions]


def _places(own_names: Outputs, renamed: Sequence[str]) -> tuple[dict[str, str], bool]:
    """The place of each column by its name, and whether there may be others; an alias has `renamed` the first."""
    places: dict[str, str] = {}
    for place, name in enumerate([*renamed, *(own_names or ())[len(renamed) :]]):
        if name:
            places.setdefault(name, f"#{place}")
    return places, own_names is None


class _Reader:
    def __init__(self, text: str, dialect: str, statement: Any) -> None:
        self.text = text
        self.sqlite = dialect == "sqlite"
        self.statement = statement
        self.count = 0
        self.numbers: dict[int, int] = {}  # of the tables, by the identity of their nodes
        columns = statement.find_all(exp.Column)
        self.written = {c.name.lower() for c in columns if c.table or not self._double_quoted(c)}

    def whole(self, set_semantics: bool) -> Tree:
        tree = self.statement if self.sqlite else _unwrapped(self.statement)
        if (
            set_semantics
            and isinstance(tree, exp.Select)
            and not tree.args.get("limit")
            and not tree.args.get("offset")
        ):
            distinct = tree.args.get("distinct")
            if distinct is not None and not distinct.args.get("on"):
                tree.set("distinct", None)
        return self.query(tree, _Scope(None))

    def new(self) -> int:
        self.count += 1
        return self.count - 1

    # ---- queries

    def query(self, tree: Any, outer: _Scope, *, shows: bool = False) -> Tree:
        """`shows`: a query around this one may name its columns."""
        tree = _unwrapped(tree)
        if isinstance(tree, exp.Select):
            return self.select(tree, outer, shows)
        if not isinstance(tree, exp.SetOperation | exp.Subquery):
            return self.generic(tree, _Scope(outer))
        scope = _Scope(outer)
        common = self.with_(tree, scope)
        order = tree.args.get("order")
        shows = shows or order is not None
        handled = {"with", "this", "expression", "distinct", "by_name", "order", "limit", "offset"}
        if isinstance(tree, exp.SetOperation):
            branches = list(self.branches(tree, tree))
            label = type(tree).__name__.upper() + ("" if tree.args.get("distinct", True) else " ALL")
            by_name = bool(tree.args.get("by_name"))
            sides = [self.query(branch, scope, shows=shows or by_name) for branch in branches]
            if self.sqlite:  # it cannot read a branch in brackets
                sides = [
                    node("brackets", side) if isinstance(branch, exp.Subquery) else side
                    for branch, side in zip(branches, sides, strict=True)
                ]
            if by_name:
                names = [_names(branch) for branch in branches]
                combined = node(f"{label} BY NAME", *sides, *(repr(outputs) for outputs in names))
            elif isinstance(tree, exp.Except):
                combined = node(label, *sides)
            else:
                combined = bag(label, *sides)
        else:
            branches = [tree.this]
            combined = node("query", self.query(tree.this, scope, shows=shows))
            handled.add("alias")
        for branch in branches:  # the names of the first branch win
            for place, name in enumerate(_names(branch) or ()):
                scope.aliases.setdefault(name, _Alias(f"#{place}", False))
        return node("sorted", *common, combined, *self.rest(tree, handled, scope), *self.modifiers(tree, scope))

    def branches(self, tree: Any, kind: Any) -> Iterator[Any]:
        """The sides of a chain of the same commuting operation: (a UNION b) UNION c has three."""
        for side in (tree.this, tree.expression):
            inner = side if self.sqlite else _unwrapped(side)
            if (
                type(inner) is type(kind)
                and not isinstance(kind, exp.Except)
                and not set(_present(inner)) - {"this", "expression", "distinct"}
                and not kind.args.get("by_name")
                and inner.args.get("distinct") == kind.args.get("distinct")
            ):
                yield from self.branches(inner, kind)
            else:
                yield side

    def with_(self, tree: Any, scope: _Scope) -> list[Tree]:
        with_ = _present(tree).get("with")
        if with_ is None:
            return []
        tables: list[Tree] = []
        recursive = bool(with_.args.get("recursive"))
        for cte in with_.expressions:
            number = self.new()
            name = cte.alias.lower()
            renamed = [column.name.lower() for column in cte.args["alias"].columns]
            own_names = _names(cte.this)
            outputs = renamed + own_names[len(renamed) :] if own_names is not None else (renamed or None)
            # SQLite needs no RECURSIVE for a table that reads itself.
            if recursive or self.sqlite:
                scope.common[name] = (number, outputs)
            body = self.query(cte.this, scope, shows=True)
            scope.common[name] = (number, outputs)
            tables.append(node("cte", number, body, *([repr(renamed)] if own_names is None else [])))
        return [bag("with recursive" if recursive and not self.sqlite else "with", *tables)]

    def select(self, tree: Any, outer: _Scope, shows: bool) -> Tree:
        scope = _Scope(outer)
        common = self.with_(tree, scope)
        parts: list[Tree] = []
        conditions: list[Tree] = []
        from_ = _present(tree).get("from")
        joins = tree.args.get("joins") or []
        scope.columns = self.certain_columns(tree, joins)
        numbers: list[int] = []
        if from_ is not None:
            numbers = self.declare(from_.this, joins, scope)
            parts += self.sources(from_.this, joins, scope, conditions)
        stars = any(_is_star(item) for item in tree.expressions)
        columns: list[Tree] = []
        for item in tree.expressions:
            # DuckDB lets a later column name an earlier one.
            scope.naming = "" if self.sqlite else "columns"
            column_tree = self.expression(item.unalias(), scope)
            if isinstance(item, exp.Alias):
                aggregate = item.find(exp.AggFunc) is not None
                scope.aliases.setdefault(item.alias.lower(), _Alias(column_tree, aggregate))
            if stars and shows:
                column_tree = node("as", column_tree, item.alias_or_name.lower())
            columns.append(column_tree)
        parts.append(node("columns", *columns))
        if any(isinstance(item, exp.Star) for item in tree.expressions) and len(numbers) > 1:
            parts.append(node("tables in order", *numbers))
        if stars and shows:
            for source in scope.tables.values():
                parts.append(node("names", source.number, *(f"{n} {c}" for n, c in sorted(source.columns.items()))))
        scope.naming = "plain"
        where = tree.args.get("where")
        if where is not None:
            conditions += [self.expression(part, scope) for part in _parts(where.this, exp.And)]
        if conditions:
            parts.append(bag("where", *conditions))
        group = tree.args.get("group")
        if group is not None:
            keys = bag("keys", *(self.expression(key, scope) for key in group.expressions))
            parts.append(node("group", keys, *self.rest(group, {"expressions"}, scope)))
        scope.naming = "columns"
        having = tree.args.get("having")
        if having is not None:
            parts.append(bag("having", *(self.expression(part, scope) for part in _parts(having.this, exp.And))))
        distinct = tree.args.get("distinct")
        if distinct is not None:
            parts.append(node("distinct", *self.rest(distinct, set(), scope)))
        handled = {"with", "from", "joins", "expressions", "where", "group", "having", "distinct"}
        handled |= {"order", "limit", "offset"}
        parts += self.rest(tree, handled, scope)
        return node("select", *common, *parts, *self.modifiers(tree, scope))

    def certain_columns(self, tree: Any, joins: Sequence[Any]) -> frozenset[str]:
        """Names that stand where no result column can be named, so that they are columns of a table."""
        columns = {column.name.lower() for join in joins for column in join.find_all(exp.Column)}
        columns |= {column.name.lower() for column in tree.find_all(exp.Column) if column.table}
        earlier_aliases: set[str] = set()
        for item in tree.expressions:
            columns |= {column.name.lower() for column in item.find_all(exp.Column)} - earlier_aliases
            if not self.sqlite:
                earlier_aliases.add(item.alias.lower())
        return frozenset(columns)

    def modifiers(self, tree: Any, scope: _Scope) -> Iterator[Tree]:
        order = tree.args.get("order")
        if order is not None:
            keys = []
            for key in order.expressions:
                inner = _bare(key.this if isinstance(key, exp.Ordered) else key)
                scope.naming = "aliases" if isinstance(inner, exp.Column) and not inner.table else "columns"
                key_tree = self.expression(inner, scope)
                keys.append(node("key", key_tree, *(self.rest(key, {"this"}, scope) if inner is not key else ())))
            yield node("order", *keys, *self.rest(order, {"expressions"}, scope))
        scope.naming = ""
        for name in ("limit", "offset"):
            bound = tree.args.get(name)
            if bound is not None:
                yield node(name, self.generic(bound, scope))

    def rest(self, tree: Any, handled: set[str], scope: _Scope) -> list[Tree]:
        """Every argument of a node that is not handled elsewhere."""
        caseless = isinstance(tree, _CASELESS)
        arguments = sorted(_present(tree).items())
        return [self.argument(name, value, scope, caseless) for name, value in arguments if name not in handled]

    # ---- tables

    def declare(self, first: Any, joins: Sequence[Any], scope: _Scope) -> list[int]:
        """Numbers for the tables of a FROM: names first, so that conditions can refer to later tables."""
        numbers: list[int] = []
        for source in (first, *(join.this for join in joins)):
            nested = _nested(source)
            if nested is not None:
                numbers += self.declare(nested, nested.args.get("joins") or (), scope)
                continue
            number = self.numbers[id(source)] = self.new()
            numbers.append(number)
            alias = source.args.get("alias")
            renamed = [column.name.lower() for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
            names: Outputs = None
            if isinstance(source, exp.Subquery):
                names = _names(source.this)
            elif isinstance(source, exp.Table) and not source.args.get("db"):
                names = (scope.cte(source.name.lower()) or (0, None))[1]
            columns, unknown = _places(names, renamed)
            scope.tables[source.alias_or_name.lower() or f" {number}"] = _Source(number, columns, unknown)
        return numbers

    def sources(self, first: Any, joins: Sequence[Any], scope: _Scope, conditions: list[Tree]) -> list[Tree]:
        """The tables of a FROM; conditions of inner joins go where WHERE's are.

        Inner joins commute with one another and with LEFT joins, whose conditions see only what stands before them.
        Any other join keeps all of them in their places.
        """
        tables = [self.table(first, scope)]
        if any(_unusual(join) for join in joins):
            for join in joins:
                other_arguments = self.rest(join, {"this", "on"}, scope)
                tables.append(node("join", self.table(join.this, scope), *self.on(join, scope), *other_arguments))
            return [node("joins", *tables)]
        outer_joins: list[Tree] = []
        for join in joins:
            table = self.table(join.this, scope)
            if join.side:
                outer_joins.append(node("left join", table, *self.on(join, scope)))
                continue
            tables.append(table)
            if join.args.get("on") is not None:
                conditions += [self.expression(part, scope) for part in _parts(join.args["on"], exp.And)]
        return [bag("tables", *tables), *([node("outer joins", *outer_joins)] if outer_joins else [])]

    def on(self, join: Any, scope: _Scope) -> list[Tree]:
        on = join.args.get("on")
        return [] if on is None else [bag("on", *(self.expression(part, scope) for part in _parts(on, exp.And)))]

    def table(self, source: Any, scope: _Scope) -> Tree:
        nested = _nested(source)
        if nested is not None:
            conditions: list[Tree] = []
            inner = self.sources(nested, nested.args.get("joins") or (), scope, conditions)
            return node("brackets", *inner, bag("where", *conditions))
        number = self.numbers[id(source)]
        alias = source.args.get("alias")
        if isinstance(source, exp.Subquery):
            inside = self.query(source.this, scope, shows=True)
            # Where the places of columns are not known, the names that are given to them matter.
            hidden = [repr([c.name.lower() for c in alias.columns])] if alias is not None and alias.columns else []
            named = hidden if _names(source.this) is None else []
            return node("table", number, inside, *named, *self.rest(source, {"this", "alias"}, scope))
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            name: Tree = ".".join(part.name.lower() for part in source.parts)
            common = scope.cte(source.name.lower()) if not source.args.get("db") else None
            if common is not None:
                name = common[0]
            handled = {"this", "db", "catalog", "alias", "joins"}
            return node("table", number, name, *self.rest(source, handled, scope))
        return node("table", number, type(source).__name__, *self.rest(source, {"alias"}, scope))

    # ---- expressions

    def expression(self, expression: Any, scope: _Scope) -> Tree:
        inner = _bare(expression)
        tree = self.plain(inner, scope)
        # sqlglot and SQLite do not agree on `a = b LIKE c`: without brackets it is equal to its like alone.
        if inner is expression and isinstance(inner, _PREDICATES):
            parent = inner.parent
            is_operand = isinstance(parent, exp.Binary) and not isinstance(parent, exp.Connector)
            if is_operand and isinstance(inner, exp.Not):
                raise _AmbiguousError("NOT inside an operation reaches as far as each reader likes")
            if is_operand or (isinstance(parent, _PREDICATES) and not isinstance(parent, exp.Not)):
                return node("unbracketed", tree)
        return tree

    def plain(self, expression: Any, scope: _Scope) -> Tree:
        if isinstance(expression, exp.Column):
            return self.column(expression, scope)
        if isinstance(expression, exp.Literal):
            return _literal(expression)
        if isinstance(expression, exp.And | exp.Or):
            kind = type(expression)
            return bag(kind.__name__, *(self.expression(part, scope) for part in _parts(expression, kind)))
        if isinstance(expression, _COMPARISONS):
            left = self.operand(expression.this, expression.expression, scope)
            right = self.operand(expression.expression, expression.this, scope)
            if isinstance(expression, exp.EQ | exp.NEQ):
                return bag(type(expression).__name__, left, right)
            if isinstance(expression, exp.GT | exp.GTE):
                return node("LT" if isinstance(expression, exp.GT) else "LTE", right, left)
            return node(type(expression).__name__, left, right, *self.rest(expression, {"this", "expression"}, scope))
        if isinstance(expression, exp.Add | exp.Mul):
            sides = (self.expression(expression.this, scope), self.expression(expression.expression, scope))
            return bag(type(expression).__name__, *sides)
        if isinstance(expression, exp.Between):
            tested = expression.this
            ends = [self.operand(expression.args[end], tested, scope) for end in ("low", "high")]
            more = self.rest(expression, {"this", "low", "high"}, scope)
            return node("Between", self.expression(tested, scope), *ends, *more)
        if isinstance(expression, exp.In):
            return self.membership(expression, scope)
        if isinstance(expression, exp.Subquery | exp.Select | exp.SetOperation):
            return self.query(expression, scope)
        return self.generic(expression, scope)

    def membership(self, expression: Any, scope: _Scope) -> Tree:
        tested = self.expression(expression.this, scope)
        field = expression.args.get("field")
        if isinstance(field, exp.Column):  # SQLite: IN a table
            name = ".".join(part.name.lower() for part in field.parts)
            common = scope.cte(name)
            return node("In table", tested, name if common is None else common[0])
        listed = [self.operand(item, expression.this, scope) for item in expression.expressions]
        return node("In", tested, bag("list", *listed), *self.rest(expression, {"this", "expressions"}, scope))

    def operand(self, side: Any, other: Any, scope: _Scope) -> Tree:
        """One side of a comparison, where a name in double quotes may be meant as text."""
        quoted, other = _bare(side), _bare(other)
        if self._double_quoted(quoted) and not isinstance(other, exp.Literal) and not self._double_quoted(other):
            name = quoted.name.lower()
            if name not in self.written and scope.known(name) is None:
                return f"text {quoted.name!r}"
        return self.expression(side, scope)

    def _double_quoted(self, expression: Any) -> bool:
        if not self.sqlite or not isinstance(expression, exp.Column) or expression.table:
            return False
        name = expression.this
        if not isinstance(name, exp.Identifier) or not name.quoted:
            return False
        return self.text[name.meta["start"]] == '"' if "start" in name.meta else True

    def column(self, column: Any, scope: _Scope) -> Tree:
        name = self.expression(column.this, scope) if isinstance(column.this, exp.Star) else column.name.lower()
        table = column.table.lower()
        if not table:
            return scope.resolve(name) if isinstance(name, str) else name
        more = self.rest(column, {"this", "table"}, scope)
        source = scope.table(table)
        if source is None:
            return node("column", table, name, *more)
        return node("column", source.number, source.columns.get(name, name) if isinstance(name, str) else name, *more)

    def generic(self, expression: Any, scope: _Scope) -> Tree:
        """Any other node: its kind and its parts, in their places."""
        if not isinstance(expression, exp.Expression):
            return repr(expression)
        label = type(expression).__name__
        if "start" in expression.meta and not isinstance(expression, exp.Identifier):
            spelt = self.text[expression.meta["start"] : expression.meta["end"] + 1].lower()
            label += f" {_SYNONYMS.get(spelt, spelt)}"
        return Node(label, tuple(self.rest(expression, set(), scope)))

    def argument(self, name: str, value: Any, scope: _Scope, caseless: bool = False) -> Tree:
        if isinstance(value, exp.Expression):
            return node(name, self.expression(value, scope))
        if isinstance(value, list):
            return node(name, *(self.expression(item, scope) for item in value))
        return f"{name}={str(value).lower() if caseless else value}"


def _nested(source: Any) -> Any:
    """The first table of a join in brackets, whose tables are seen outside them; or None."""
    if isinstance(source, exp.Subquery) and isinstance(source.this, exp.Table) and set(_present(source)) == {"this"}:
        return source.this
    return None


def _unusual(join: Any) -> bool:
    """Does a join do more than pair rows under a condition, and keep those of its left that find none?"""
    inner = not join.side and join.kind.upper() in ("", "INNER", "CROSS")
    left = join.side.upper() == "LEFT" and join.kind.upper() in ("", "OUTER")
    return not (inner or left) or bool(set(_present(join)) - {"this", "on", "side", "kind"})


def _literal(literal: Any) -> Tree:
    if literal.is_string:
        return f"text {literal.this!r}"
    written = str(literal.this)
    if written.isascii() and written.isdigit():
        return f"integer {written.lstrip('0') or '0'}"
    try:
        # Unlimited exponents and as many digits as are written: no number overflows, and none is rounded.
        return f"number {Decimal(written).normalize(Context(prec=len(written), Emax=MAX_EMAX, Emin=MIN_EMIN))}"
    except ArithmeticError:
        return f"number {written}"
