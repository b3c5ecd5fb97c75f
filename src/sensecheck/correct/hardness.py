"""How hard a SQL query is by Spider's rules, and what it is made of.

Spider counts components: WHERE, GROUP BY, ORDER BY, LIMIT, every further table, OR and LIKE (1); set operations and
queries within conditions (2); and, as others, more than one aggregate, selected column, condition of WHERE and column
of GROUP BY. Only the outermost query is looked at; of set operations, the first. As in its evaluator, a query in FROM
counts as a table, ORDER BY and LIMIT behind a set operation belong to its last query, aggregates in HAVING do not
count, and a negated condition and every AND or OR in HAVING count as aggregates do.

The evaluator reads a part of SQL; this reads all of it, and gives the same levels where both do.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sensecheck.inputs.guarding import Fault, OverBudgetError, guarded
from sensecheck.language.sql_parsing import parse_sql

MOST_CHARACTERS = 100_000
"""Characters of a query that is read for this."""


class Makeup(NamedTuple):
    """What a query is made of."""

    hardness: str
    joins: int
    """Tables beyond the first of each FROM, in the whole query."""
    nesting: int
    """How deep queries stand in one another; 0 where none does."""
    aggregates: int
    """Aggregates in the whole query."""


@lru_cache(maxsize=50_000)
def makeup_of(text: str, dialect: str = "sqlite") -> Makeup | None:
    """None where the text cannot be read.

    >>> makeup_of("SELECT name FROM singer WHERE age > (SELECT avg(age) FROM singer)")
    Makeup(hardness='hard', joins=0, nesting=1, aggregates=1)
    """
    made = guarded("reading the gold query", _makeup, text, dialect)
    return None if isinstance(made, Fault) else made


def _makeup(text: str, dialect: str) -> Makeup | None:
    if len(text) > MOST_CHARACTERS:
        raise OverBudgetError(f"a query of {len(text):,} characters")
    try:
        statements = [statement for statement in parse_sql(text, dialect) if statement is not None]
    except (SqlglotError, ValueError):
        return None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        return None
    tree = statements[0]
    joins = nesting = aggregates = 0
    for found, depth in _walk(tree):
        nesting = max(nesting, depth)
        joins += isinstance(found, exp.Join)
        aggregates += isinstance(found, exp.AggFunc)
    return Makeup(_hardness(tree), joins, nesting, aggregates)


def _walk(tree: Any) -> Iterator[tuple[Any, int]]:
    """Every part of a query with how many queries it stands in. What a set operation joins stands side by side."""
    todo: list[tuple[Any, int, bool]] = [(tree, 0, True)]
    while todo:
        found, depth, beside = todo.pop()
        is_query = isinstance(found, exp.Select | exp.SetOperation)
        depth += is_query and not beside
        yield found, depth
        brackets = isinstance(found, exp.Subquery | exp.Paren)
        for name, value in found.args.items():
            stands_beside = (isinstance(found, exp.SetOperation) and name in ("this", "expression")) or (
                brackets and beside and name == "this"
            )
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, exp.Expression):
                    todo.append((part, depth, stands_beside))


# ---- Spider's rules


def _hardness(tree: Any) -> str:
    operations = 0
    while not isinstance(tree, exp.Select):
        if isinstance(tree, exp.SetOperation):
            operations = 1
        elif not isinstance(tree, exp.Subquery):
            break
        tree = tree.this
    ones, others = _counted(tree, in_operation=bool(operations))
    twos = operations + sum(map(_queries_in, _clauses(tree)))
    if ones <= 1 and not others and not twos:
        return "easy"
    if not twos and ((others <= 2 and ones <= 1) or (ones <= 2 and others < 2)):
        return "medium"
    if not twos and ((others > 2 and ones <= 2) or (2 < ones <= 3 and others <= 2)):
        return "hard"
    return "hard" if ones <= 1 and not others and twos <= 1 else "extra"


def _counted(query: Any, *, in_operation: bool) -> tuple[int, int]:
    """Components of the first kind, and others."""
    where, group, having, order = (query.args.get(name) for name in ("where", "group", "having", "order"))
    limit = query.args.get("limit")
    joined = query.args.get("joins") or []
    if in_operation and not isinstance(query.parent, exp.Subquery):
        order = limit = None
    conditions = [one for clause in _clauses(query) for one in _conditions(clause)]
    ones = sum(part is not None for part in (where, group, order, limit)) + len(joined)
    ones += sum(isinstance(_positive(one), exp.Like | exp.ILike) for one in conditions)
    ones += sum(_connectives(clause, exp.Or) for clause in _clauses(query))
    in_where = list(_conditions(where.this)) if where is not None else []
    in_having = list(_conditions(having.this)) if having is not None else []
    keys = order.expressions if order is not None else []
    aggregates = sum(map(_aggregated, query.expressions)) + sum(_aggregates(key) for key in keys)
    aggregates += sum(isinstance(one, exp.Not) for one in [*in_where, *in_having]) + max(0, len(in_having) - 1)
    columns = group.expressions if group is not None else []
    others = (aggregates > 1) + (len(query.expressions) > 1) + (len(in_where) > 1) + (len(columns) > 1)
    return ones, others


def _clauses(query: Any) -> list[Any]:
    """The conditions of FROM, WHERE and HAVING; and what is selected, for the queries that stand in it."""
    joined = [join.args.get("on") for join in query.args.get("joins") or []]
    held = [query.args.get(name) for name in ("where", "having")]
    return [part for part in (*joined, *(one.this for one in held if one is not None)) if part is not None]


def _conditions(tree: Any) -> Iterator[Any]:
    """What AND and OR connect."""
    todo = [tree]
    while todo:
        found = todo.pop()
        if isinstance(found, exp.And | exp.Or):
            todo += [found.expression, found.this]
        elif isinstance(found, exp.Paren):
            todo.append(found.this)
        else:
            yield found


def _connectives(tree: Any, kind: Any) -> int:
    todo, count = [tree], 0
    while todo:
        found = todo.pop()
        if isinstance(found, exp.And | exp.Or):
            count += isinstance(found, kind)
            todo += [found.expression, found.this]
        elif isinstance(found, exp.Paren):
            todo.append(found.this)
    return count


def _positive(condition: Any) -> Any:
    while isinstance(condition, exp.Not | exp.Paren):
        condition = condition.this
    return condition


def _own(tree: Any) -> Iterator[Any]:
    """The parts of a tree without those of the queries in it, of which only the outermost are given."""
    todo = [tree]
    while todo:
        found = todo.pop()
        yield found
        if not isinstance(found, exp.Query):
            todo.extend(found.iter_expressions())


def _queries_in(tree: Any) -> int:
    return sum(isinstance(found, exp.Query) for found in _own(tree))


def _aggregates(tree: Any) -> int:
    return sum(isinstance(found, exp.AggFunc) for found in _own(tree))


def _aggregated(tree: Any) -> bool:
    return _aggregates(tree) > 0
