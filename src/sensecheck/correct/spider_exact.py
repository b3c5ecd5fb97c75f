"""Spider's exact-set match: are two queries the same, clause by clause, but for values, DISTINCT and what commutes?

What is disregarded: values, DISTINCT, how much LIMIT lets through, conditions of joins, names of aliases, and which of
two columns that a foreign key connects is named. What counts although it need not: the order of sort keys and of
conditions in HAVING, and everything in a query within a condition or in FROM, which is compared as it stands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from sensecheck.correct.spider_query import (
    SET_OPERATIONS,
    ColumnUse,
    Condition,
    Conditions,
    Selected,
    SpiderQuery,
    Term,
)
from sensecheck.stores.schemas import Place, Schema

Partners: TypeAlias = "Mapping[str, str]"
"""Columns that a foreign key connects, each with the one that stands for them all."""


def partners(schema: Schema) -> dict[str, str]:
    """Which columns count as one. Of two groups that a later key connects, each stays what it is."""
    groups: list[set[Place]] = []
    for refers, to in schema.foreign_keys:
        group = next((group for group in groups if refers in group or to in group), None)
        if group is None:
            group = set()
            groups.append(group)
        group |= {refers, to}
    places = {(table, column): None for table, columns in schema.tables.items() for column in columns}
    ranks = {place: rank for rank, place in enumerate(places)}
    stands_for: dict[str, str] = {}
    for group in groups:
        known = sorted([place for place in group if place in ranks], key=ranks.__getitem__)
        stands_for |= {".".join(place): ".".join(known[0]) for place in known}
    return stands_for


# ---- what makes no difference


def levelled(query: SpiderQuery, partners: Partners) -> SpiderQuery:
    """The query without values and DISTINCT, and with one name for columns that a key connects.

    Only columns of tables in the outermost FROM get that name; queries within conditions keep theirs, and their
    DISTINCT; queries in FROM are left as they are, values and all.
    """
    own = {table for table in query.tables if isinstance(table, str)}
    names = {column: one for column, one in partners.items() if column.partition(".")[0] in own}
    return _levelled(_without_values(query), names)


def _without_values(query: SpiderQuery) -> SpiderQuery:
    return replace(
        query,
        joins=_valueless(query.joins),
        where=_valueless(query.where),
        having=_valueless(query.having),
        intersect=query.intersect and _without_values(query.intersect),
        union=query.union and _without_values(query.union),
        other=query.other and _without_values(query.other),
    )


def _valueless(conditions: Conditions) -> Conditions:
    def kept(condition: Condition) -> Condition:
        values = [
            _without_values(v) if isinstance(v, SpiderQuery) else None for v in (condition.value, condition.second)
        ]
        return condition._replace(value=values[0], second=values[1])

    return Conditions(tuple(map(kept, conditions.units)), conditions.connectives)


def _levelled(query: SpiderQuery, names: Mapping[str, str]) -> SpiderQuery:
    def use(one: ColumnUse) -> ColumnUse:
        return ColumnUse(one.aggregate, names.get(one.column, one.column))

    def term(one: Term) -> Term:
        return Term(one.operator, use(one.left), one.right and use(one.right))

    def conditions(given: Conditions) -> Conditions:
        units = tuple([unit._replace(term=term(unit.term)) for unit in given.units])
        return Conditions(units, given.connectives)

    return replace(
        query,
        select=tuple([Selected(aggregate, term(one)) for aggregate, one in query.select]),
        distinct=False,
        joins=conditions(query.joins),
        where=conditions(query.where),
        group=tuple(map(use, query.group)),
        having=conditions(query.having),
        order=tuple(map(term, query.order)),
        intersect=query.intersect and _levelled(query.intersect, names),
        union=query.union and _levelled(query.union, names),
        other=query.other and _levelled(query.other, names),
    )


# ---- clause by clause


class Part(NamedTuple):
    """How a clause of a prediction stands to the gold's."""

    predicted: int
    """How many components the prediction has in it,"""
    gold: int
    """how many the gold,"""
    shared: int
    """and how many are in both."""

    @property
    def same(self) -> bool:
        return self.predicted == self.gold == self.shared


def parts(predicted: SpiderQuery, gold: SpiderQuery) -> dict[str, Part]:
    """Every clause that is compared, by Spider's names. Both queries are levelled."""
    return {name: compare(predicted, gold) for name, compare in _PARTS.items()}


def exact(predicted: SpiderQuery, gold: SpiderQuery) -> bool:
    """Whether every clause is the same, and the tables are."""
    if not all(compare(predicted, gold).same for compare in _PARTS.values()):
        return False
    return not gold.tables or Counter(predicted.tables) == Counter(gold.tables)


def _shared(predicted: Sequence[Hashable], gold: Sequence[Hashable]) -> Part:
    return Part(len(predicted), len(gold), sum((Counter(predicted) & Counter(gold)).values()))


def _select(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    return _shared(predicted.select, gold.select)


def _select_terms(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    return _shared([one.term for one in predicted.select], [one.term for one in gold.select])


def _where(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    return _shared(predicted.where.units, gold.where.units)


def _where_terms(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    return _shared([unit.term for unit in predicted.where.units], [unit.term for unit in gold.where.units])


def _group_columns(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    """By the names of columns alone, whichever table they are of."""
    names = [[use.column.rpartition(".")[2] for use in query.group] for query in (predicted, gold)]
    return _shared(*names)


def _group(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    """With HAVING, as a whole."""
    columns = [[use.column for use in query.group] for query in (predicted, gold)]
    same = bool(gold.group) and columns[0] == columns[1] and predicted.having == gold.having
    return Part(bool(predicted.group), bool(gold.group), same)


def _order(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    """As a whole, with whether there is a LIMIT."""
    sorts = [(query.order, query.direction, query.limit) for query in (predicted, gold)]
    return Part(bool(predicted.order), bool(gold.order), bool(gold.order) and sorts[0] == sorts[1])


def _and_or(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    """Which of AND and OR connect the conditions of WHERE."""
    shown, wanted = set(predicted.where.connectives), set(gold.where.connectives)
    return Part(1, 1, 1) if shown == wanted else Part(len(shown), len(wanted), 0)


def _set_operations(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    """What INTERSECT, UNION and EXCEPT bring, each matched in turn."""
    shown, wanted = ((query.intersect, query.union, query.other) for query in (predicted, gold))
    shared = [a is not None and b is not None and exact(a, b) for a, b in zip(shown, wanted, strict=True)]
    return Part(3 - shown.count(None), 3 - wanted.count(None), sum(shared))


def _keywords(predicted: SpiderQuery, gold: SpiderQuery) -> Part:
    return _shared(sorted(keywords_of(predicted)), sorted(keywords_of(gold)))


def keywords_of(query: SpiderQuery) -> set[str]:
    """Of the query itself, not of those within it."""
    clauses = (query.joins, query.where, query.having)
    units = [unit for conditions in clauses for unit in conditions.units]
    there = {
        "where": query.where,
        "group": query.group,
        "having": query.having,
        "order": query.order,
        query.direction: query.order,
        "limit": query.limit,
        **dict(zip(SET_OPERATIONS, (query.intersect, query.union, query.other), strict=True)),
        "or": any("or" in conditions.connectives for conditions in clauses),
        "not": any(unit.negated for unit in units),
        "in": any(unit.comparison == "in" for unit in units),
        "like": any(unit.comparison == "like" for unit in units),
    }
    return {word for word, found in there.items() if found}


_PARTS: dict[str, Callable[[SpiderQuery, SpiderQuery], Part]] = {
    "select": _select,
    "select_no_aggregate": _select_terms,
    "where": _where,
    "where_no_operator": _where_terms,
    "group_no_having": _group_columns,
    "group": _group,
    "order": _order,
    "and_or": _and_or,
    "iuen": _set_operations,
    "keywords": _keywords,
}
PARTS = tuple(_PARTS)
