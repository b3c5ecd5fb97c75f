"""What may be changed in a predicted query to make it more like the gold: one clause, or one part of one, at a time.

Both queries have been resolved (`reading`), so that parts of the gold fit into the prediction. A change is made in the
tree, the text is taken, and the change is taken back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sqlglot import exp

from sensecheck.correct.reasons.conditions import (
    Leaf,
    equalities,
    filters,
    is_excluding,
    is_joining,
    joining,
    leaf_kind,
    leaves,
    leaves_in,
    superlative,
)
from sensecheck.correct.reasons.kinds import Why
from sensecheck.correct.reasons.reading import (
    Query,
    conjuncts,
    key_of,
    name_of,
    needs,
    queries_in,
    source_nodes,
    sql_of,
    unwrapped,
)

MOST_PARTS = 12
"""Conditions of one clause that are tried one by one."""
MOST_DEPTH = 3
"""Subqueries within subqueries that are looked into."""
_SHOWN = 90
_NUMBERED = re.compile(r"__\d+\b")
_COUNT = re.compile(r"\bcount\((?!distinct)[^()]*\)")
_COLUMN = re.compile(r"\b\w+\.\w+\b")


class Edit:
    """Changes to a tree that can be taken back."""

    def __init__(self) -> None:
        self._log: list[tuple[Any, str, Any]] = []

    def set(self, node: Any, name: str, value: Any) -> None:
        self._log.append((node, name, node.args.get(name)))
        node.set(name, value)

    def exchange(self, node: Any, other: Any) -> None:
        """Put another node in the place of one."""
        parent, name, held = node.parent, node.arg_key, node.parent.args[node.arg_key]
        self.set(parent, name, [other if part is node else part for part in held] if isinstance(held, list) else other)

    def undo(self) -> None:
        for node, name, value in reversed(self._log):
            node.set(name, value)
        self._log.clear()


def exchanging(node: Any, other: Any) -> Callable[[Edit], None]:
    """Puts another node in the place of one."""
    return lambda edit: edit.exchange(node, other)


@dataclass(slots=True)
class Change:
    """One thing that is made as in the gold."""

    why: Why
    clause: str
    words: str
    size: float
    apply: Callable[[Edit], None]
    whole: bool = False
    """Whether it is a whole clause of the outermost query, which may be changed together with another."""
    exact: bool = False
    """Whether it is so small that the answers being equal is no accident."""
    never_alone: bool = False
    """Whether an answer that this change alone makes equal would be an accident."""


def _compared(leaf: Leaf) -> tuple[str, str]:
    """What a condition compares, and how: conditions on the same things stand side by side."""
    return leaf.left_key, leaf.operator


class Pair:
    """A predicted query and its gold."""

    def __init__(self, predicted: Query, gold: Query) -> None:
        self.predicted = predicted
        self.gold = gold
        self.dialect = gold.dialect
        self._ties = equalities(gold)
        """Columns that the gold sets equal."""
        self._groups = grouped([*equalities(predicted), *self._ties])
        select = first_select(predicted.tree)
        there = set(map(name_of, source_nodes(select)))
        self._has_all_tables = predicted.tables.keys() | gold.tables.keys() <= there
        """Whether every part of the gold, and every part that is left, finds its tables wherever it is put."""
        self.has_star = any(item.is_star for item in select.expressions)
        self.is_cut = bool(predicted.nodes(exp.Limit) or gold.nodes(exp.Limit))
        """Whether either query says LIMIT anywhere."""
        self._leaf_pairs: tuple[list[tuple[Leaf, Leaf]], list[Leaf], list[Leaf]] | None = None
        self._keys: dict[int, str] = {}
        self._texts: dict[int, str] = {}
        self._held: list[Any] = []
        """Nodes whose texts are known by their identity: they must stay alive."""

    # ---- texts

    def text(self, changes: Sequence[Change]) -> str | None:
        """The prediction with these changes, or None where they do not fit into it."""
        edit = Edit()
        try:
            for change in changes:
                change.apply(edit)
            if changes and not self._has_all_tables and needs(self.predicted.tree):
                return None
            return sql_of(self.predicted.tree, self.dialect)
        finally:
            edit.undo()

    def changed(self, changes: Sequence[Change]) -> Any:
        """A copy of the prediction's tree with these changes."""
        edit = Edit()
        try:
            for change in changes:
                change.apply(edit)
            return self.predicted.tree.copy()
        finally:
            edit.undo()

    def key(self, node: Any) -> str:
        known = self._keys.get(id(node))
        if known is None:
            known = self._keys[id(node)] = key_of(node, self._text(node))
        return known

    def _text(self, node: Any) -> str:
        known = self._texts.get(id(node))
        if known is None:
            known = self._texts[id(node)] = sql_of(node, self.dialect)
            self._held.append(node)
        return known

    def soft(self, node: Any) -> str:
        """Equal for parts that hardly ever differ in what they give: count(*) and count(id), columns set equal."""
        key = _COUNT.sub("count(*)", _NUMBERED.sub("", self.key(node)))
        return _COLUMN.sub(lambda column: self._groups.get(column[0], column[0]), key)

    def shown(self, *nodes: Any) -> str:
        text = ", ".join(map(self._text, nodes))
        return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"

    # ---- one change at a time

    def single(self) -> list[Change]:
        """Every change that is worth trying, the smallest first."""
        p, g = unwrapped(self.predicted.tree), unwrapped(self.gold.tree)
        found = [*self._leaf_changes(), *self._queries(p, g, 0)]
        return sorted([change for change in found if not change.never_alone], key=lambda change: change.size)

    def double(self) -> list[tuple[Change, Change]]:
        """Two whole clauses at a time; tables first, which others may need."""
        p, g = unwrapped(self.predicted.tree), unwrapped(self.gold.tree)
        g = self._opposite(p, g)
        if g is None:
            return []
        whole = [change for change in self._clauses(p, g) if change.whole]
        whole.sort(key=lambda change: change.clause != "from")
        pairs = [(a, b) for a, b in combinations(whole, 2) if a.clause != b.clause]
        return sorted(pairs, key=lambda pair: pair[0].size + pair[1].size)

    @staticmethod
    def _opposite(p: Any, g: Any) -> Any | None:
        """The SELECT that a SELECT is held against: of a set operation, the first."""
        if not isinstance(p, exp.Select):
            return None
        g = first_select(g)
        return g if isinstance(g, exp.Select) else None

    def _queries(self, p: Any, g: Any, depth: int) -> Iterator[Change]:
        if isinstance(p, exp.SetOperation):
            yield from self._set_operations(p, g, depth)
            return
        opposite = self._opposite(p, g)
        if opposite is None:
            return
        if isinstance(g, exp.SetOperation):
            yield self._set_operation_missing(p, g)
            if depth == 0:
                yield from self._distinct(p, wanted=True)
        for change in self._clauses(p, opposite):
            change.size += depth / 10
            yield change
        yield from self._conditions(p, opposite, depth)
        if depth < MOST_DEPTH:
            for inner_p, inner_g in self._inner(p, opposite):
                yield from self._queries(inner_p, inner_g, depth + 1)

    def _inner(self, p: Any, g: Any) -> list[tuple[Any, Any]]:
        """Subqueries that stand for one another: at the same place, one after the other."""
        pairs = []
        for clause in ("where", "having", "expressions", "from_"):
            sides = []
            for select in (p, g):
                node = select.args.get(clause)
                nodes = node if isinstance(node, list) else [] if node is None else [node]
                sides.append([query for part in nodes for query in queries_in(part)])
            if sides[0] and sides[1]:
                pairs += list(zip(*sides, strict=False))[:MOST_PARTS]
        return [(a, b) for a, b in pairs if self.key(a) != self.key(b)]

    def _set_operations(self, p: Any, g: Any, depth: int) -> Iterator[Change]:
        if isinstance(g, exp.SetOperation):
            if type(p) is not type(g) or bool(p.args.get("distinct")) != bool(g.args.get("distinct")):
                yield Change(
                    Why.SET_OPERATION, "set operation", f"It says {_operation(p)} where {_operation(g)} is right.", 4,
                    exchanging(p, _combined(g, p.this, p.expression)),
                )  # fmt: skip
            for side in ("this", "expression"):
                if depth < MOST_DEPTH:
                    yield from self._queries(unwrapped(p.args[side]), unwrapped(g.args[side]), depth + 1)
        else:
            for side, size in (("this", 6.5), ("expression", 6.6)):
                yield Change(
                    Why.SET_OPERATION, "set operation", f"{_operation(p)} is added.", size,
                    exchanging(p, p.args[side].copy()),
                )  # fmt: skip
        yield from self._ordering(p, g)

    def _set_operation_missing(self, p: Any, g: Any) -> Change:
        return Change(
            Why.SET_OPERATION, "set operation", f"{_operation(g)} {self.shown(g.expression)} is missing.", 9,
            exchanging(p, _combined(g, p, g.expression)),
        )  # fmt: skip

    # ---- conditions that compare with a value, wherever they stand

    def leaf_pairs(self) -> tuple[list[tuple[Leaf, Leaf]], list[Leaf], list[Leaf]]:
        """Conditions that differ, put together by what they have in common; and those that have no partner."""
        if self._leaf_pairs is None:
            self._leaf_pairs = self._paired_leaves()
        return self._leaf_pairs

    def _paired_leaves(self) -> tuple[list[tuple[Leaf, Leaf]], list[Leaf], list[Leaf]]:
        wrong, right = leaves(self.predicted), leaves(self.gold)
        common = Counter(self._leaf_key(leaf) for leaf in wrong) & Counter(self._leaf_key(leaf) for leaf in right)
        wrong, right = self._without(wrong, common), self._without(right, common)
        pairs: list[tuple[Leaf, Leaf]] = []
        rules: tuple[Callable[[Leaf, Leaf], bool], ...] = (
            lambda a, b: a.left_key == b.left_key and a.operator == b.operator,
            lambda a, b: self.soft(a.left) == self.soft(b.left),
            lambda a, b: a.value == b.value and a.place == b.place,
            lambda a, b: a.value == b.value and a.operator == b.operator and "having" in (a.place, b.place),
        )
        for alike in rules:
            for leaf in list(wrong)[:MOST_PARTS]:
                other = next((other for other in right if alike(leaf, other)), None)
                if other is not None:
                    pairs.append((leaf, other))
                    wrong.remove(leaf)
                    right.remove(other)
        return pairs, wrong, right

    def _leaf_key(self, leaf: Leaf) -> tuple[str, str, str]:
        return self.soft(leaf.left), leaf.operator, leaf.value

    def _without(self, found: Sequence[Leaf], common: Counter[tuple[str, str, str]]) -> list[Leaf]:
        left = Counter(common)
        kept = []
        for leaf in found:
            key = self._leaf_key(leaf)
            if left[key]:
                left[key] -= 1
            else:
                kept.append(leaf)
        return kept

    def _leaf_changes(self) -> Iterator[Change]:
        sizes = {Why.SPELLING: 2.0, Why.WRONG_VALUE: 3.0, Why.WRONG_OPERATOR: 3.0, Why.OTHER_WHERE: 4.0}
        pairs, _, _ = self.leaf_pairs()
        for leaf, other in pairs:
            why = leaf_kind(leaf, other)
            words = f"{self.shown(leaf.node)} stands where the gold has {self.shown(other.node)}."
            clause = "having" if leaf.place == "having" else "where"
            new = None if is_excluding(leaf, other) else self._leaf_in_place(leaf, other)
            if new is not None:
                yield Change(why, clause, words, sizes.get(why, 4.0), exchanging(leaf.node, new), exact=True)
        for own, wanted in self.aggregate_pairs():
            words = f"{self.shown(own)} stands where the gold has {self.shown(wanted)}."
            yield Change(
                Why.WRONG_AGGREGATE, "where", words, 4, exchanging(own, type(wanted)(this=own.this.copy())), exact=True,
            )  # fmt: skip

    def aggregate_pairs(self) -> list[tuple[Any, Any]]:
        """MIN of something in a subquery where the gold has MAX of it."""
        sides = []
        for query in (self.predicted, self.gold):
            found = query.nodes(exp.Min, exp.Max, exp.Avg, exp.Sum)
            sides.append([function for function in found if function.find_ancestor(exp.Subquery) is not None])
        extra, missing = _leftover(sides[0], sides[1], self.soft)
        pairs = []
        for own in extra[:MOST_PARTS]:
            same = [o for o in missing if self.soft(o.this) == self.soft(own.this) and type(o) is not type(own)]
            pairs += [(own, same[0])] if same else []
        return pairs

    def _leaf_in_place(self, leaf: Leaf, other: Leaf) -> Any:
        """The gold's condition; on the prediction's own column, where that is the same."""
        new = other.node.copy()
        if leaf.left_key == other.left_key or self.soft(leaf.left) == self.soft(other.left):
            left = new.this if not isinstance(new, exp.Not) else new.find(type(other.left.parent)).this
            left.replace(leaf.left.copy())
        return new

    # ---- clauses

    def _clauses(self, p: Any, g: Any) -> Iterator[Change]:
        wanted = g.args.get("distinct") is not None
        if wanted != (p.args.get("distinct") is not None):
            yield from self._distinct(p, wanted=wanted)
        yield from self._items(p, g)
        yield from self._from(p, g)
        yield from self._where(p, g)
        yield from self._grouping(p, g)
        yield from self._ordering(p, g)

    def _distinct(self, p: Any, *, wanted: bool) -> Iterator[Change]:
        if wanted == (p.args.get("distinct") is not None):
            return
        words = "DISTINCT is missing." if wanted else "DISTINCT is added."
        value = exp.Distinct() if wanted else None
        yield Change(Why.DUPLICATES, "distinct", words, 1, lambda e: e.set(p, "distinct", value), True, True)

    def _items(self, p: Any, g: Any) -> Iterator[Change]:
        if [self.key(item) for item in p.expressions] == [self.key(item) for item in g.expressions]:
            return
        why, words = self.items_kind(p.expressions, g.expressions)
        items = self._adapted(g.expressions, p)
        if p.find_ancestor(exp.Select) is not None and any(map(needs, items)):
            there = set(map(name_of, source_nodes(p)))
            if any(not needs(item) <= there for item in items):
                return  # a subquery that gives what stands outside it is nobody's meaning
        yield Change(why, "select", words, 5, lambda e: e.set(p, "expressions", items), True, True)

    def items_kind(self, p: Sequence[Any], g: Sequence[Any]) -> tuple[Why, str]:
        """How a SELECT list differs from the gold's, and in words."""
        extra, missing = _leftover(p, g, self.soft)
        if not missing:
            return Why.EXTRA_COLUMN, f"It returns {self.shown(*extra) or 'a column'} too."
        if not extra:
            return Why.MISSING_COLUMN, f"It does not return {self.shown(*missing)}."
        words = f"It returns {self.shown(*extra)} where the gold returns {self.shown(*missing)}."
        if any(isinstance(item, exp.Star) or item.is_star for item in p):
            return Why.EXTRA_COLUMN, words
        functions = [Counter(type(f) for item in side for f in item.find_all(exp.AggFunc)) for side in (extra, missing)]
        if functions[0] != functions[1]:
            return Why.WRONG_AGGREGATE, words
        once = [sum(1 for item in side for _ in item.find_all(exp.Distinct)) for side in (extra, missing)]
        if once[0] != once[1]:
            bare = [sorted(self.key(item).replace("distinct ", "") for item in side) for side in (extra, missing)]
            return Why.DUPLICATES if bare[0] == bare[1] else Why.WRONG_AGGREGATE, words
        return Why.OTHER_SELECT, words

    def _adapted(self, items: Sequence[Any], p: Any) -> list[Any]:
        """Copies in which columns of tables that the prediction lacks are those that the gold sets equal to them."""
        there = {name_of(source) for source in source_nodes(p)}
        copies = [item.copy() for item in items]
        for place, item in enumerate(copies):
            lacking = needs(item) - there
            for column in list(item.find_all(exp.Column)) if lacking else []:
                if column.table not in lacking:
                    continue
                for left, right in self._ties:
                    for one, other in ((left, right), (right, left)):
                        same = one.table == column.table and one.name == column.name and other.table in there
                        if same and column.parent is not None:
                            column.replace(other.copy())
                        elif same:
                            copies[place] = other.copy()
        return copies

    def _from(self, p: Any, g: Any) -> Iterator[Change]:
        if self._from_key(p) == self._from_key(g):
            return
        why, words = self.from_kind(p, g)

        def apply(edit: Edit) -> None:
            key = "from_" if "from_" in g.arg_types else "from"
            edit.set(p, key, g.args[key].copy() if g.args.get(key) is not None else None)
            edit.set(p, "joins", [join.copy() for join in g.args.get("joins") or []])
            own = g.args.get("where")
            tied = [part.copy() for part in joining_in_where(own)]
            kept = [part.copy() for part in filters(p)]
            edit.set(p, "where", _where(tied + kept))
            self._renamed(edit, p)

        yield Change(why, "from", words, 10, apply, whole=True)

    def _from_key(self, select: Any) -> Any:
        """The same for tables that are joined in the same way, in whichever order."""
        joins = select.args.get("joins") or []
        sources = Counter(self.key(source) for source in source_nodes(select))
        kinds = Counter(f"{join.side} {join.method}".upper() for join in joins)
        tied = Counter(self.key(part) for part in joining(select))
        named = [self.key(join) for join in joins if join.args.get("using")]
        conditions = [join.args["on"] for join in joins if join.args.get("on") is not None]
        return sources, kinds, tied, named, [self.key(on) for on in conditions if not is_joining(on)]

    def from_kind(self, p: Any, g: Any) -> tuple[Why, str]:
        extra, missing = _leftover(source_nodes(p), source_nodes(g), lambda node: _NUMBERED.sub("", self.key(node)))
        elsewhere = [{table for table in query.tables.values() if table} for query in (self.predicted, self.gold)]
        looked_up = [node for node in missing if node.name.lower() in elsewhere[0]]
        joined = [node for node in extra if node.name.lower() in elsewhere[1]]
        extra = [node for node in extra if node not in joined]
        missing = [node for node in missing if node not in looked_up]
        if extra and missing:
            return Why.OTHER_TABLE, f"It reads {self.shown(*extra)} where the gold reads {self.shown(*missing)}."
        if missing:
            return Why.MISSING_JOIN, f"The table {self.shown(*missing)} is missing."
        if extra:
            return Why.EXTRA_JOIN, f"The table {self.shown(*extra)} is joined without need."
        if joined:
            return Why.WRONG_JOIN, f"{self.shown(*joined)} is joined where the gold looks it up apart."
        if looked_up:
            return Why.WRONG_JOIN, f"{self.shown(*looked_up)} is looked up apart where the gold joins it."
        sides = [" and ".join(sorted({f"{j.side} JOIN".strip() for j in s.args.get("joins") or []})) for s in (p, g)]
        if sides[0] != sides[1] and sides[0] and sides[1]:
            return Why.WRONG_JOIN, f"It says {sides[0]} where the gold says {sides[1]}."
        ties = _leftover(joining(p), joining(g), self.key)
        told = [self.shown(*tie) or "no condition" for tie in ties]
        return Why.WRONG_JOIN, f"The tables are joined by {told[0]} where the gold joins them by {told[1]}."

    def _renamed(self, edit: Edit, p: Any) -> None:
        """Give columns of tables that are gone to the table of the gold that has a column of that name."""
        there = [name_of(source) for source in source_nodes(p)]
        known = {(column.table, column.name) for column in self.gold.nodes(exp.Column)}
        for column in list(p.find_all(exp.Column)):
            if not column.table or column.table not in self.predicted.tables or column.table in there:
                continue
            if column.find_ancestor(exp.Select) is not p:
                continue
            owners = [name for name in there if (name, column.name) in known]
            if len(owners) == 1:
                edit.set(column, "table", exp.to_identifier(owners[0]))

    def _where(self, p: Any, g: Any) -> Iterator[Change]:
        extra, missing = _leftover(filters(p), filters(g), self.key)
        if not extra and not missing:
            return
        why, words = self.where_kind(extra, missing)

        def apply(edit: Edit) -> None:
            tied = [part.copy() for part in joining_in_where(p.args.get("where"))]
            edit.set(p, "where", _where(tied + self._adapted(filters(g), p)))

        by_accident = not missing and not all(map(self._is_foreign, extra))
        yield Change(why, "where", words, 9, apply, whole=True, never_alone=by_accident)

    def where_kind(self, extra: Sequence[Any], missing: Sequence[Any]) -> tuple[Why, str]:
        """How conditions differ, by the first of those that have no equal."""
        if not extra:
            return Why.CONDITION_MISSING, f"The condition {self.shown(*missing)} is missing."
        if not missing:
            return Why.CONDITION_ADDED, f"The condition {self.shown(*extra)} is added."
        words = f"{self.shown(*extra)} stands where the gold has {self.shown(*missing)}."
        sides = [[leaf for part in side for leaf in leaves_in(part, self.dialect)] for side in (extra, missing)]
        keys = [Counter(self._leaf_key(leaf) for leaf in side) for side in sides]
        if keys[0] == keys[1] and keys[0]:
            return Why.WRONG_OPERATOR, words
        if len(extra) == len(missing) == 1:
            most = [superlative(side[0]) for side in (extra, missing)]
            if most[0] is not None and most[1] is not None:
                other = self.soft(most[0][0]) != self.soft(most[1][0])
                return Why.OTHER_WHERE if other else Why.WRONG_AGGREGATE, words
            inner = [list(queries_in(side[0])) for side in (extra, missing)]
            if len(inner[0]) == len(inner[1]) == 1:
                selects = [first_select(queries[0]) for queries in inner]
                read = [{source.name.lower() for source in source_nodes(select)} for select in selects]
                if read[0] and read[1] and not read[0] & read[1]:
                    return Why.OTHER_TABLE, words
            left = [self._without(side, keys[0] & keys[1]) for side in sides]
            if len(left[0]) == len(left[1]) == 1:
                return leaf_kind(left[0][0], left[1][0]), words
        own, wanted = (sorted(side, key=_compared) for side in sides)
        kinds = {leaf_kind(leaf, other) for leaf, other in zip(own, wanted, strict=False)}
        if len(own) == len(wanted) and kinds <= {Why.WRONG_VALUE, Why.SPELLING}:
            return Why.WRONG_VALUE if Why.WRONG_VALUE in kinds else Why.SPELLING, words
        gone, lacking = keys[0] - keys[1], keys[1] - keys[0]
        if lacking and not gone:
            return Why.CONDITION_MISSING, words
        if gone and not lacking:
            return Why.CONDITION_ADDED, words
        return Why.WRONG_CONDITION, words

    def _conditions(self, p: Any, g: Any, depth: int) -> Iterator[Change]:
        """Conditions of WHERE one by one: put in, left out, put in the place of another."""
        own, wanted = filters(p), filters(g)
        extra, missing = _leftover(own, wanted, self.key)
        if len(own) > MOST_PARTS or len(wanted) > MOST_PARTS:
            return
        size = 5 + depth / 10

        def with_conditions(parts: Sequence[Any]) -> Callable[[Edit], None]:
            def apply(edit: Edit) -> None:
                tied = joining_in_where(p.args.get("where"))
                edit.set(p, "where", _where([part.copy() for part in [*tied, *parts]]))

            return apply

        for part in extra:
            if not self._is_foreign(part):
                continue
            rest = [other for other in own if other is not part]
            words = f"The condition {self.shown(part)} is added."
            yield Change(Why.CONDITION_ADDED, "where", words, size, with_conditions(rest))
        for part in missing:
            if extra and not self._is_new(part):
                continue  # it is to be exchanged for one of those
            adapted = self._adapted([part], p)
            words = f"The condition {self.shown(part)} is missing."
            behind = 3 if extra else 0
            yield Change(Why.CONDITION_MISSING, "where", words, size + behind, with_conditions([*own, *adapted]))
        for part in extra:
            for other in missing:
                why, words = self.where_kind([part], [other])
                if why not in (Why.SPELLING, Why.WRONG_VALUE, Why.WRONG_OPERATOR):  # tried by themselves
                    rest = [*(kept for kept in own if kept is not part), *self._adapted([other], p)]
                    yield Change(why, "where", words, size + 2, with_conditions(rest))

    def _is_new(self, condition: Any) -> bool:
        """Whether the prediction has nothing in the place of a condition of the gold's."""
        alone = {id(leaf.node) for leaf in self.leaf_pairs()[2]}
        own = leaves_in(condition, self.dialect)
        return bool(own) and not list(queries_in(condition)) and all(id(leaf.node) in alone for leaf in own)

    def _is_foreign(self, condition: Any) -> bool:
        """Whether the gold has nothing like a condition; otherwise, being right without it is an accident."""
        _, extra, _ = self.leaf_pairs()
        alone = {id(leaf.node) for leaf in extra}
        if any(id(leaf.node) not in alone for leaf in leaves_in(condition, self.dialect)):
            return False
        tables = {table.name.lower() for query in queries_in(condition) for table in query.find_all(exp.Table)}
        return not tables & set(self.gold.tables.values())

    def _grouping(self, p: Any, g: Any) -> Iterator[Change]:
        keys = [self.parts(select, "group") for select in (p, g)]
        having = [Counter(self.key(part) for part in filters(select, "having")) for select in (p, g)]
        is_other = Counter(map(self.key, keys[0])) != Counter(map(self.key, keys[1]))
        if is_other:
            why, words = self.group_kind(keys[0], keys[1])
            parts = self._adapted(keys[1], p)

            def group(edit: Edit) -> None:
                edit.set(p, "group", exp.Group(expressions=parts) if parts else None)

            yield Change(why, "group", words, 6, group, whole=True)
        if having[0] != having[1]:
            why, words = self.having_kind(p, g)

            def have(edit: Edit) -> None:
                node = g.args.get("having")
                edit.set(p, "having", exp.Having(this=self._adapted([node.this], p)[0]) if node is not None else None)

            yield Change(why, "having", words, 6, have, whole=True)

    @staticmethod
    def parts(select: Any, clause: str) -> list[Any]:
        node = select.args.get(clause)
        return [] if node is None else list(node.expressions)

    def group_kind(self, p: Sequence[Any], g: Sequence[Any]) -> tuple[Why, str]:
        if not p:
            return Why.GROUP, f"GROUP BY {self.shown(*g)} is missing."
        if not g:
            return Why.GROUP, f"GROUP BY {self.shown(*p)} is added."
        words = f"It groups by {self.shown(*p)} where the gold groups by {self.shown(*g)}."
        return Why.OTHER_GROUP if len(p) == len(g) else Why.GROUP, words

    def having_kind(self, p: Any, g: Any) -> tuple[Why, str]:
        extra, missing = _leftover(filters(p, "having"), filters(g, "having"), self.key)
        if not extra:
            return Why.HAVING, f"HAVING {self.shown(*missing)} is missing."
        if not missing:
            return Why.HAVING, f"HAVING {self.shown(*extra)} is added."
        words = f"HAVING {self.shown(*extra)} stands where the gold has {self.shown(*missing)}."
        sides = [[leaf for part in side for leaf in leaves_in(part, self.dialect)] for side in (extra, missing)]
        if len(sides[0]) == len(sides[1]) == 1:
            return leaf_kind(sides[0][0], sides[1][0]), words
        return Why.HAVING, words

    def _ordering(self, p: Any, g: Any) -> Iterator[Change]:
        orders = [self._order_key(query) for query in (p, g)]
        limits = [self.limit_key(query) for query in (p, g)]

        if orders[0] == orders[1] and limits[0] == limits[1]:
            return
        parts = self._adapted(self.parts(g, "order"), p)

        def order(edit: Edit) -> None:
            edit.set(p, "order", exp.Order(expressions=parts) if parts else None)

        def limit(edit: Edit) -> None:
            for name in ("limit", "offset"):
                edit.set(p, name, g.args[name].copy() if g.args.get(name) is not None else None)

        def both(edit: Edit) -> None:
            order(edit)
            limit(edit)

        if orders[0] != orders[1]:
            why, words = self.order_kind(p, g)
            yield Change(why, "order", words, 3, order, whole=True)
        if limits[0] != limits[1]:
            words = self.limit_words(p, g)
            yield Change(Why.LIMIT, "limit", words, 3.5, limit, whole=orders[0] == orders[1])
            if orders[0] != orders[1]:
                why, words = self.order_kind(p, g)
                if not orders[0] or not orders[1]:
                    why = Why.LIMIT
                    missing = self.shown(*(g.args[n] for n in ("order", "limit") if g.args.get(n) is not None))
                    words = f"{missing} is missing." if missing and not orders[0] else self.limit_words(p, g)
                yield Change(why, "order", words, 6, both, whole=True)

    def _order_key(self, query: Any) -> list[str]:
        return [self.key(part) for part in self.parts(query, "order")]

    def limit_key(self, query: Any) -> list[str]:
        return [self.key(query.args[name]) for name in ("limit", "offset") if query.args.get(name) is not None]

    def order_kind(self, p: Any, g: Any) -> tuple[Why, str]:
        own, wanted = self.parts(p, "order"), self.parts(g, "order")
        if not own:
            return Why.ORDER, f"ORDER BY {self.shown(*wanted)} is missing."
        if not wanted:
            return Why.ORDER, f"ORDER BY {self.shown(*own)} is added."
        words = f"It sorts by {self.shown(*own)} where the gold sorts by {self.shown(*wanted)}."
        keys = [[self.soft(part.this) for part in side] for side in (own, wanted)]
        functions = [[type(part.this) for part in side if isinstance(part.this, exp.AggFunc)] for side in (own, wanted)]
        if functions[0] and functions[1] and functions[0] != functions[1]:
            return Why.WRONG_AGGREGATE, words
        return Why.ORDER if keys[0] == keys[1] else Why.OTHER_ORDER, words

    def limit_words(self, p: Any, g: Any) -> str:
        own, wanted = (self.shown(*(q.args[n] for n in ("limit", "offset") if q.args.get(n))) for q in (p, g))
        if not own:
            return f"{wanted} is missing."
        return f"{own} stands where the gold has {wanted}." if wanted else f"{own} is added."

    def joins_differ(self, p: Any, g: Any) -> bool:
        """Whether the same tables are joined, but not in the same way."""
        ties = [{self.key(part) for part in joining(select)} for select in (p, g)]
        sides = [Counter((join.side or "").upper() for join in s.args.get("joins") or []) for s in (p, g)]
        return ties[0] != ties[1] or sides[0] != sides[1]

    def names(self) -> Query:
        """The prediction's names, and those of the gold for what only that has."""
        p, g = self.predicted, self.gold
        taken = {alias.lower() for alias in p.aliases.values()}
        others = {name: alias for name, alias in g.aliases.items() if alias.lower() not in taken}
        return Query(
            p.holder, p.dialect, {**others, **p.aliases}, {**g.spellings, **p.spellings}, {**g.tables, **p.tables}
        )

    @property
    def names_are_apart(self) -> bool:
        """Whether no two tables go by one name, so that `names` changes nothing else."""
        names = self.names()
        called = [names.aliases.get(name, name).lower() for name in names.tables]
        return len(called) == len(set(called))

    # ---- leaving columns out

    def projection(self, kept: Sequence[int]) -> Change | None:
        """The prediction with some of its columns alone; None where its columns are not written out."""
        p = unwrapped(self.predicted.tree)
        items = list(p.expressions) if isinstance(p, exp.Select) else []
        if not items or any(item.is_star for item in items) or len(items) <= max(kept, default=0):
            return None
        chosen = [items[place] for place in kept]
        dropped = [item for place, item in enumerate(items) if place not in kept]
        return Change(
            Why.EXTRA_COLUMN, "select", f"It returns {self.shown(*dropped)} too.", 0,
            lambda edit: edit.set(p, "expressions", [item.copy() for item in chosen]), exact=True,
        )  # fmt: skip

    def toggled_distinct(self, wanted: bool) -> list[Change]:
        p = unwrapped(self.predicted.tree)
        return list(self._distinct(p, wanted=wanted)) if isinstance(p, exp.Select) else []


def first_select(query: Any) -> Any:
    """The first SELECT of a query, which may be a set operation."""
    query = unwrapped(query)
    while isinstance(query, exp.SetOperation):
        query = unwrapped(query.this)
    return query


def joining_in_where(where: Any) -> list[Any]:
    return [] if where is None else [part for part in conjuncts(where.this) if is_joining(part)]


def _where(parts: Sequence[Any]) -> Any | None:
    if not parts:
        return None
    bracketed = [exp.Paren(this=part) if isinstance(part, exp.Or) else part for part in parts]
    condition = bracketed[0]
    for part in bracketed[1:]:
        condition = exp.And(this=condition, expression=part)
    return exp.Where(this=condition)


def _leftover(own: Sequence[Any], wanted: Sequence[Any], key: Callable[[Any], str]) -> tuple[list[Any], list[Any]]:
    """What only the one and what only the other has."""
    sides = []
    keys = [[key(node) for node in side] for side in (own, wanted)]
    common = Counter(keys[0]) & Counter(keys[1])
    for nodes, names in zip((own, wanted), keys, strict=True):
        left = Counter(common)
        kept = []
        for node, name in zip(nodes, names, strict=True):
            if left[name]:
                left[name] -= 1
            else:
                kept.append(node)
        sides.append(kept)
    return sides[0], sides[1]


def column_name(column: Any) -> str:
    return _NUMBERED.sub("", f"{column.table}.{column.name}".lower())


def grouped(pairs: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    """Columns that are set equal → one of them."""
    return grouped_names((column_name(left), column_name(right)) for left, right in pairs)


def grouped_names(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    for left, right in pairs:
        a, b = root(left), root(right)
        parent[max(a, b)] = min(a, b)
    return {name: root(name) for name in list(parent)}


def _operation(node: Any) -> str:
    return type(node).__name__.upper() + ("" if node.args.get("distinct", True) else " ALL")


def _combined(like: Any, left: Any, right: Any) -> Any:
    return type(like)(this=left.copy(), expression=right.copy(), distinct=like.args.get("distinct"))
