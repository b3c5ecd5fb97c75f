"""What differs between two queries, where no single change makes the one as good as the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from sqlglot import exp

from sensecheck.correct.reasons.changes import Pair, column_name, first_select, grouped, grouped_names
from sensecheck.correct.reasons.conditions import equalities, filters, is_excluding, leaf_kind, superlative
from sensecheck.correct.reasons.kinds import Why
from sensecheck.correct.reasons.reading import Query, conjuncts, queries_in, source_nodes, table_names, unwrapped

Difference = tuple[str, Why, str]
"""The clause, the reason, and the sentence."""

CLAUSES = ("select", "distinct", "from", "where", "group", "having", "order", "limit", "set operation")


def differences(pair: Pair) -> list[Difference]:
    """What differs, the largest first: sets, a missing LIMIT, tables, conditions, joins, columns, groups, order. Of the
    whole queries, so that a subquery in one and a join in the other are no difference."""
    p, g = unwrapped(pair.predicted.tree), unwrapped(pair.gold.tree)
    first_p, first_g = first_select(p), first_select(g)
    found = [
        *_sets(pair, certain=True), *_no_limit(pair, first_p, first_g), *_tables(pair), *_conditions(pair),
        *_superlatives(pair, first_p, first_g), *_joins(pair), *_clauses(pair, first_p, first_g),
    ]  # fmt: skip
    return found or [*_sets(pair, certain=False), *_not_null(pair), *_columns(pair)]


def _sets(pair: Pair, *, certain: bool) -> Iterator[Difference]:
    p, g = pair.predicted, pair.gold
    own, wanted = ({type(node).__name__.upper(): node for node in query.nodes(exp.SetOperation)} for query in (p, g))
    missing, added = wanted.keys() - own.keys(), own.keys() - wanted.keys()
    if missing and not (certain and any(_says_otherwise(wanted[name], p) for name in missing)):
        yield "set operation", Why.SET_OPERATION, f"{', '.join(sorted(missing))} is missing."
    elif added and not (certain and any(_says_otherwise(own[name], g) for name in added)):
        yield "set operation", Why.SET_OPERATION, f"{', '.join(sorted(added))} is added."


def _says_otherwise(operation: Any, query: Query) -> bool:
    """Whether a query may mean a set operation without saying it."""
    if isinstance(operation, exp.Except):
        excluding = any(node.find(exp.Query) is not None for node in query.nodes(exp.Not))
        return excluding or any(join.side for join in query.nodes(exp.Join))
    if isinstance(operation, exp.Intersect):
        sides = [table_names(side) for side in (operation.this, operation.expression)]
        if sides[0] != sides[1]:
            return bool(query.nodes(exp.Join)) or len(query.nodes(exp.Select)) > 1
        several = any(len(list(queries_in(where))) > 1 for where in query.nodes(exp.Where))
        twice = any("__" in name for name in query.tables)
        return several or twice or bool(query.nodes(exp.Having)) or _joins_itself(query)
    return bool(query.nodes(exp.Or, exp.In))


def _joins_itself(query: Query) -> bool:
    for select in query.nodes(exp.Select):
        names = [source.name.lower() for source in source_nodes(select)]
        if len(names) != len(set(names)):
            return True
    return False


def _no_limit(pair: Pair, p: Any, g: Any) -> Iterator[Difference]:
    """The first of something is asked for, and the prediction gives all of them."""
    if not isinstance(p, exp.Select) or not isinstance(g, exp.Select):
        return
    if g.args.get("limit") is None or p.args.get("limit") is not None or pair.predicted.nodes(exp.Max, exp.Min):
        return
    nodes = [g.args[name] for name in ("order", "limit") if g.args.get(name) is not None]
    if pair.predicted.nodes(exp.Limit):
        return
    yield "limit", Why.LIMIT, f"{' '.join(pair.shown(node).strip() for node in nodes)} is missing."


def _tables(pair: Pair) -> Iterator[Difference]:
    own, wanted = _own_tables(pair, 0), _own_tables(pair, 1)
    extra, missing = own - wanted, wanted - own
    firsts = [first_select(query.tree) for query in (pair.predicted, pair.gold)]
    outer = [{source.name.lower() for source in source_nodes(select)} for select in firsts]
    if extra and not missing and outer[0] and not outer[0] & outer[1]:
        extra, missing = outer[0], outer[1]  # it reads another table, and the right one only in a subquery
    names = [", ".join(sorted(side)) for side in (extra, missing)]
    if extra and missing:
        yield "from", Why.OTHER_TABLE, f"It reads {names[0]} where the gold reads {names[1]}."
    elif missing:
        yield "from", Why.MISSING_JOIN, f"The table {names[1]} is missing."
    elif extra:
        yield from _joins(pair)
        yield "from", Why.EXTRA_JOIN, f"The table {names[0]} is joined without need."


def _own_tables(pair: Pair, side: int) -> set[str]:
    """The tables of the database that the prediction (0) or the gold (1) reads."""
    query = (pair.predicted, pair.gold)[side]
    common = {cte.alias.lower() for cte in query.nodes(exp.CTE)}
    return {table for table in query.tables.values() if table} - common


_LEAF_KINDS = (
    Why.HAVING, Why.OTHER_WHERE, Why.WRONG_AGGREGATE, Why.WRONG_CONDITION, Why.WRONG_OPERATOR, Why.WRONG_VALUE,
    Why.SPELLING,
)  # fmt: skip


def _conditions(pair: Pair) -> Iterator[Difference]:
    for own, wanted in pair.aggregate_pairs():
        yield "where", Why.WRONG_AGGREGATE, f"{pair.shown(own)} stands where the gold has {pair.shown(wanted)}."
    pairs, extra, missing = pair.leaf_pairs()
    for kind in _LEAF_KINDS:
        for leaf, other in pairs:
            if leaf_kind(leaf, other) == kind and not (kind == Why.HAVING and leaf.left_key.startswith("derived.")):
                clause = "having" if "having" in (leaf.place, other.place) else "where"
                has = "leaves out what has" if is_excluding(leaf, other) else "has"
                yield clause, kind, f"{pair.shown(leaf.node)} stands where the gold {has} {pair.shown(other.node)}."
    for leaf in missing:
        clause, why = _placed(leaf.place, Why.CONDITION_MISSING)
        yield clause, why, f"The condition {pair.shown(leaf.node)} is missing."
    for leaf in extra:
        if not leaf.asks_for_null:  # how an outer join says NOT IN, or said to be safe
            clause, why = _placed(leaf.place, Why.CONDITION_ADDED)
            yield clause, why, f"The condition {pair.shown(leaf.node)} is added."


def _not_null(pair: Pair) -> Iterator[Difference]:
    for leaf in pair.leaf_pairs()[1]:
        if leaf.asks_for_null:
            yield "where", Why.CONDITION_ADDED, f"The condition {pair.shown(leaf.node)} is added."


def _placed(place: str, why: Why) -> tuple[str, Why]:
    return ("having", Why.HAVING) if place == "having" else ("where", why)


def _superlatives(pair: Pair, p: Any, g: Any) -> Iterator[Difference]:
    """`age = (SELECT MAX(age) …)` in the one and ORDER BY age DESC LIMIT 1 in the other."""
    if not isinstance(p, exp.Select) or not isinstance(g, exp.Select):
        return
    for one, other, wrong in ((p, g, True), (g, p, False)):
        order, most = pair.parts(other, "order"), [s for s in map(superlative, filters(one)) if s is not None]
        if len(most) == 1 and len(order) == 1 and other.args.get("limit") is not None:
            column, aggregate = most[0]
            said = [f"the {'largest' if isinstance(aggregate, exp.Max) else 'least'} {pair.shown(column)}"]
            said.append(f"the first by {pair.shown(order[0])}")
            words = "It asks for {} where the gold asks for {}.".format(*(said if wrong else reversed(said)))
            if pair.soft(column) != pair.soft(order[0].this):
                yield "order", Why.OTHER_ORDER, words
            elif isinstance(aggregate, exp.Max) != bool(order[0].args.get("desc")):
                yield "order", Why.ORDER, words


def _joins(pair: Pair) -> Iterator[Difference]:
    """How tables that both read are tied together, wherever that is said."""
    both = _own_tables(pair, 0) & _own_tables(pair, 1)
    queries = (pair.predicted, pair.gold)
    groups = [grouped(equalities(query)) for query in queries]
    ties = [_ties(query, group, both) for query, group in zip(queries, groups, strict=True)]
    apart = [
        [tie for tie in ties[own] if len({groups[other].get(name, name) for name in tie}) > 1]
        for own, other in ((0, 1), (1, 0))
    ]
    loose = [
        [part for join in query.nodes(exp.Join) for part in conjuncts(join.args.get("on")) if isinstance(part, exp.Or)]
        for query in queries
    ]
    outer = [any(join.side for join in query.nodes(exp.Join)) for query in queries]
    if apart[0] or apart[1]:
        told = [", ".join(" = ".join(tie) for tie in side) or "no condition" for side in apart]
        words = f"The tables are joined by {told[0]} where the gold joins them by {told[1]}."
        joined = {column_name(side) for tie in equalities(pair.predicted) if _is_join(tie) for side in tie}
        looked_up = bool(apart[0]) and not any(set(tie) <= joined for tie in apart[0])
        if looked_up and apart[1]:
            yield "where", Why.OTHER_WHERE, words
        elif looked_up and ties[1]:
            yield "where", Why.CONDITION_ADDED, f"It asks for {told[0]} too."
        else:
            yield "from", Why.WRONG_JOIN, words
    elif {pair.soft(part) for part in loose[0]} != {pair.soft(part) for part in loose[1]}:
        told = [pair.shown(*side) or "no such condition" for side in loose]
        yield "from", Why.WRONG_JOIN, f"The tables are joined by {told[0]} where the gold joins them by {told[1]}."
    elif outer[0] and not outer[1] and not any(leaf.asks_for_null for leaf in pair.leaf_pairs()[1]):
        yield "from", Why.WRONG_JOIN, "It keeps rows without a partner (LEFT JOIN), which the gold does not."
    elif outer[1] and not outer[0]:
        yield "from", Why.WRONG_JOIN, "It drops rows without a partner, which the gold keeps (LEFT JOIN)."


def _is_join(tie: tuple[Any, Any]) -> bool:
    return isinstance(tie[0].parent, exp.EQ) and tie[0].parent is tie[1].parent


def _ties(query: Query, groups: Mapping[str, str], tables: set[str]) -> list[tuple[str, str]]:
    """Columns of some tables that are set equal: as the query says, and by way of tables that are none of them."""
    said = {frozenset(map(column_name, tie)): (column_name(tie[0]), column_name(tie[1])) for tie in equalities(query)}
    ties = [tie for tie in said.values() if {name.partition(".")[0] for name in tie} <= tables]
    together = grouped_names(ties)
    members: dict[str, list[str]] = {}
    for name, group in groups.items():
        if name.partition(".")[0] in tables:
            members.setdefault(group, []).append(name)
    others = [tie for group in members.values() for tie in pairwise(group)]
    return ties + [(a, b) for a, b in others if together.get(a, a) != together.get(b, b)]


def _clauses(pair: Pair, p: Any, g: Any) -> Iterator[Difference]:
    if not isinstance(p, exp.Select) or not isinstance(g, exp.Select):
        return
    own, wanted = ([pair.soft(item) for item in select.expressions] for select in (p, g))
    if sorted(own) != sorted(wanted):
        yield "select", *pair.items_kind(p.expressions, g.expressions)
    keys = [_group_keys(pair, query) for query in (pair.predicted, pair.gold)]
    if keys[0].keys() != keys[1].keys():
        yield "group", *pair.group_kind(list(keys[0].values()), list(keys[1].values()))
    means_order = any(superlative(part) for select in (p, g) for part in filters(select))
    orders = [[pair.soft(part) for part in pair.parts(select, "order")] for select in (p, g)]
    if orders[0] != orders[1] and not means_order:
        yield "order", *pair.order_kind(p, g)
    if pair.limit_key(p) != pair.limit_key(g) and not means_order:
        yield "limit", Why.LIMIT, pair.limit_words(p, g)
    if bool(p.args.get("distinct")) != bool(g.args.get("distinct")):
        words = "DISTINCT is missing." if g.args.get("distinct") else "DISTINCT is added."
        yield "distinct", Why.DUPLICATES, words


def _group_keys(pair: Pair, query: Query) -> dict[str, Any]:
    return {pair.soft(key): key for group in query.nodes(exp.Group) for key in group.expressions}


def _columns(pair: Pair) -> Iterator[Difference]:
    """Columns that only the one or only the other names."""
    sides = []
    for query in (pair.predicted, pair.gold):
        sides.append({pair.soft(column): column for column in query.nodes(exp.Column)})
    extra, missing = ([own[key] for key in own if key not in other] for own, other in (sides, sides[::-1]))
    if extra and missing:
        words = f"It uses {pair.shown(*extra)} where the gold uses {pair.shown(*missing)}."
        yield "where", Why.OTHER_WHERE, words
