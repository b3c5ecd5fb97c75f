"""A query as a tree in which only what matters is left, to compare queries by meaning, not by spelling.

What is levelled: names of variables, blank nodes and aliases; the order of triples, joins, unions, filters,
VALUES rows, IN lists; `a > b` and `b < a`; `&&` and repeated FILTER; prefixes, spacing, case of keywords;
`p1/p2` and `^p` in paths; OPTIONALs that cannot influence one another. What stays: DISTINCT, the order of
columns and sort keys, numbers, constants, and the place of BIND.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..isomorphism import Node, Shape, Tree, bag, node, same_up_to_renaming
from .errors import TooDeepError
from .tree import (
    Bind,
    Call,
    Exists,
    Expression,
    Filter,
    GraphPattern,
    Group,
    Iri,
    Minus,
    Optional,
    Path,
    Projection,
    Query,
    Service,
    Term,
    Triple,
    Union,
    Values,
    Var,
    Verb,
)

_COMMUTATIVE = frozenset(("=", "!=", "+", "*"))
_MIRRORED = {">": "<", ">=": "<="}


class _Scope:
    """Numbers for the variables of one SELECT; a subquery shares only what it projects."""

    __slots__ = ("counter", "distinct_rows", "numbers")

    def __init__(self, counter: list[int]) -> None:
        self.numbers: dict[str, int] = {}
        self.counter = counter
        self.distinct_rows = False  # COUNT(DISTINCT *) was met: all variables count, not those that are named alone

    def number(self, name: str) -> int:
        number = self.numbers.get(name)
        if number is None:
            number = self.numbers[name] = self.counter[0]
            self.counter[0] += 1
        return number

    def fresh(self) -> int:
        self.counter[0] += 1
        return self.counter[0] - 1


def _term(term: Term, scope: _Scope) -> Tree:
    if isinstance(term, Var):
        return scope.number(term.name)
    if isinstance(term, Iri):
        return f"<{term.value}>"
    return f"{term.value!r}@{term.language}^^{term.datatype}"


# ---- expressions


def _conjuncts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.name == "&&":
        for argument in expression.arguments:
            yield from _conjuncts(argument)
    else:
        yield expression


def _disjuncts(expression: Expression) -> Iterator[Expression]:
    if isinstance(expression, Call) and expression.name == "||":
        for argument in expression.arguments:
            yield from _disjuncts(argument)
    else:
        yield expression


def _expression(expression: Expression, scope: _Scope) -> Tree:
    if isinstance(expression, Call):
        name = expression.name
        if name == "&&":
            return bag("&&", *(_expression(part, scope) for part in _conjuncts(expression)))
        if name == "||":
            return bag("||", *(_expression(part, scope) for part in _disjuncts(expression)))
        arguments = [_expression(argument, scope) for argument in expression.arguments]
        if name in _MIRRORED:
            return node(_MIRRORED[name], *reversed(arguments))
        if name in _COMMUTATIVE:
            return bag(name, *arguments)
        if name in ("IN", "NOT IN"):
            return node(name, arguments[0], bag("list", *arguments[1:]))
        label = f"<{name}>" if expression.is_iri else name
        if expression.distinct:
            label += " DISTINCT"
            scope.distinct_rows = scope.distinct_rows or not arguments
        if expression.separator is not None:
            arguments.append(f"separator {expression.separator!r}")
        return Node(label, tuple(arguments))
    if isinstance(expression, Exists):
        return node("NOT EXISTS" if expression.negated else "EXISTS", _pattern(expression.pattern, scope))
    return _term(expression, scope)


# ---- patterns


def _verb(verb: Verb, scope: _Scope) -> Tree:
    if isinstance(verb, Path):
        parts = [_verb(part, scope) for part in verb.parts]
        if verb.kind in ("alternative", "negated"):
            return bag(verb.kind, *parts)
        return Node(verb.kind, tuple(parts))
    return _term(verb, scope)


def _triples(subject: Tree, verb: Verb, object_: Tree, scope: _Scope) -> Iterator[Tree]:
    """One pattern, its path unrolled as far as that keeps its meaning."""
    if isinstance(verb, Path):
        if verb.kind == "inverse":
            yield from _triples(object_, verb.parts[0], subject, scope)
            return
        if verb.kind == "sequence":
            step_subject = subject
            for part in verb.parts[:-1]:
                middle = scope.fresh()
                yield from _triples(step_subject, part, middle, scope)
                step_subject = middle
            yield from _triples(step_subject, verb.parts[-1], object_, scope)
            return
    yield node("triple", subject, _verb(verb, scope), object_)


def _join(items: list[Tree]) -> Tree:
    """Joins flatten into one bag; a triple pattern said twice is said once, unless its path counts ways."""
    flat: list[Tree] = []
    seen: set[Tree] = set()
    for item in items:
        if isinstance(item, Node) and item.label == "join":
            parts = item.children
        else:
            parts = (item,)
        for part in parts:
            if isinstance(part, Node) and part.label == "triple":
                if part in seen and not _counts_ways(part.children[1]):
                    continue
                seen.add(part)
            flat.append(part)
    return flat[0] if len(flat) == 1 else Node("join", tuple(flat), False)


def _counts_ways(verb: Tree) -> bool:
    """Whether a path matches a pair as often as there are ways, so that joining it with itself gives more rows."""
    return isinstance(verb, Node) and verb.label in ("alternative", "negated")


def _variables(tree: Tree, variables: set[int]) -> set[int]:
    if isinstance(tree, int):
        variables.add(tree)
    elif not isinstance(tree, str):
        for child in tree.children:
            _variables(child, variables)
    return variables


def _certain(tree: Tree) -> set[int]:
    """Variables that every solution of the pattern binds."""
    if isinstance(tree, int):
        return {tree}
    if isinstance(tree, str):
        return set()
    label = tree.label
    if label in ("join", "triple"):
        return set().union(*(_certain(child) for child in tree.children)) if tree.children else set()
    if label == "union":
        return set.intersection(*(_certain(child) for child in tree.children))
    if label in ("optional", "minus", "filter", "extend"):
        return _certain(tree.children[0])
    return set()


def _left_join(base: Tree, optional: Tree) -> Tree:
    """OPTIONALs in a row commute when they share only variables that are bound before them."""
    if isinstance(base, Node) and base.label == "optional":
        first, later = base.children[0], base.children[1]
        assert isinstance(later, Node)
        optional_variables = _variables(optional, set())
        bound = _certain(first)
        if all(_variables(other, set()) & optional_variables <= bound for other in later.children):
            return node("optional", first, bag("optionals", *later.children, optional))
    return node("optional", base, bag("optionals", optional))


def _values(values: Values, scope: _Scope) -> Tree:
    rows: list[Tree] = []
    for row in values.rows:
        cells = [
            node("cell", scope.number(variable.name), "UNDEF" if value is None else _term(value, scope))
            for variable, value in zip(values.variables, row, strict=True)
        ]
        rows.append(bag("row", *cells))
    return bag("values", *rows)


def _pattern(group: Group, scope: _Scope, *, optional: bool = False) -> Tree:
    """`optional`: the group is that of an OPTIONAL, whose own filters, and no inner ones, see what stands before it."""
    items: list[Tree] = []
    filters: list[Tree] = []
    for element in group.elements:
        if isinstance(element, Triple):
            items += _triples(_term(element.subject, scope), element.verb, _term(element.object, scope), scope)
        elif isinstance(element, Filter):
            filters += [_expression(part, scope) for part in _conjuncts(element.condition)]
        elif isinstance(element, Optional):
            items = [_left_join(_join(items), _pattern(element.pattern, scope, optional=True))]
        elif isinstance(element, Minus):
            removed = _pattern(element.pattern, scope)
            base = _join(items)
            if isinstance(base, Node) and base.label == "minus":
                first, later = base.children
                assert isinstance(later, Node)
                items = [node("minus", first, bag("removed", *later.children, removed))]
            else:
                items = [node("minus", base, bag("removed", removed))]
        elif isinstance(element, Bind):
            variable = scope.number(element.variable.name)
            items = [node("extend", _join(items), variable, _expression(element.expression, scope))]
        elif isinstance(element, Union):
            branches: list[Tree] = []
            for branch in element.branches:
                tree = _pattern(branch, scope)
                if isinstance(tree, Node) and tree.label == "union":
                    branches += tree.children
                else:
                    branches.append(tree)
            items.append(bag("union", *branches))
        elif isinstance(element, Values):
            items.append(_values(element, scope))
        elif isinstance(element, GraphPattern):
            items.append(node("graph", _term(element.name, scope), _pattern(element.pattern, scope)))
        elif isinstance(element, Service):
            label = "service silent" if element.silent else "service"
            items.append(node(label, _term(element.endpoint, scope), _pattern(element.pattern, scope)))
        elif isinstance(element, Query):
            items.append(_select(element, scope))
        else:
            items.append(_pattern(element, scope))
    joined = _join(items)
    if optional and isinstance(joined, Node) and joined.label == "filter":
        joined = node("group", joined)
    if filters:
        # A filter over a filtered group is one filter with both conditions.
        if isinstance(joined, Node) and joined.label == "filter":
            inner, conditions = joined.children
            assert isinstance(conditions, Node)
            return node("filter", inner, bag("conditions", *conditions.children, *filters))
        return node("filter", joined, bag("conditions", *filters))
    return joined


# ---- whole queries


def _visible(tree: Tree, variables: set[int]) -> set[int]:
    """Variables that SELECT * would show: all but those inside filters, MINUS and unprojected ones."""
    if isinstance(tree, int):
        variables.add(tree)
    elif isinstance(tree, Node):
        if tree.label in ("filter", "minus"):
            _visible(tree.children[0], variables)
        elif tree.label == "extend":
            _visible(tree.children[0], variables)
            _visible(tree.children[1], variables)
        elif tree.label == "select" or tree.label == "column":
            _visible(tree.children[0], variables)
        else:
            for child in tree.children:
                _visible(child, variables)
    return variables


def _shown_by_star(where: Tree, scope: _Scope) -> list[int]:
    blank = {number for name, number in scope.numbers.items() if name.startswith("_:")}
    return sorted(_visible(where, set()) & (set(scope.numbers.values()) - blank))


def _select(query: Query, outer: _Scope, *, set_semantics: bool = False) -> Tree:
    if query.projection is None:
        scope = outer
    else:
        scope = _Scope(outer.counter)
        for column in query.projection:
            name = column.variable.name
            scope.numbers[name] = outer.number(name)
    where = _pattern(query.where, scope)
    if query.values is not None:
        where = _join([where, _values(query.values, scope)])

    columns: list[Tree] = []
    if query.projection is None:
        star = [node("column", number) for number in _shown_by_star(where, scope)]
        shown = bag("columns", *star) if len(star) > 1 else node("columns", *star)
    else:
        for column in query.projection:
            number = scope.number(column.variable.name)
            if column.expression is None:
                columns.append(node("column", number))
            else:
                columns.append(node("column", number, _expression(column.expression, scope)))
        shown = node("columns", *columns)

    parts: list[Tree] = [shown, where]
    if query.group_by:
        keys: list[Tree] = []
        for key in query.group_by:
            if isinstance(key, Projection):
                assert key.expression is not None
                keys.append(node("as", scope.number(key.variable.name), _expression(key.expression, scope)))
            else:
                keys.append(_expression(key, scope))
        parts.append(bag("group", *keys))
    if query.having:
        having = [_expression(part, scope) for whole in query.having for part in _conjuncts(whole)]
        parts.append(bag("having", *having))
    if query.order_by:
        parts.append(
            node(
                "order",
                *(node("desc" if k.descending else "asc", _expression(k.expression, scope)) for k in query.order_by),
            )
        )
    if scope.distinct_rows:
        parts.append(bag("counted", *_shown_by_star(where, scope)))
    if query.limit is not None:
        parts.append(f"limit {query.limit}")
    if query.offset:
        parts.append(f"offset {query.offset}")
    if not set_semantics or query.limit is not None or query.offset:
        if query.distinct:
            parts.append("distinct")
        elif query.reduced:
            parts.append("reduced")
    parts += [f"from {name}" for name in sorted(query.datasets)]
    return Node("select", tuple(parts))


def normal_form(query: Query, *, set_semantics: bool = False) -> Shape:
    """The query ready for comparison. With `set_semantics` an outermost DISTINCT makes no difference.

    Raises TooDeepError on a query that nests too deep to be walked.
    """
    try:
        return Shape(_whole(query, set_semantics))
    except RecursionError:
        raise TooDeepError("nested too deep to be compared") from None


def _whole(query: Query, set_semantics: bool) -> Tree:
    scope = _Scope([0])
    if query.form == "SELECT":
        tree = _select(query, scope, set_semantics=set_semantics)
    else:
        where = _pattern(query.where, scope)
        if query.values is not None:
            where = _join([where, _values(query.values, scope)])
        parts: list[Tree] = [where]
        if query.template:
            parts.append(
                bag(
                    "template",
                    *(
                        node("triple", _term(x.subject, scope), _verb(x.verb, scope), _term(x.object, scope))
                        for x in query.template
                    ),
                )
            )
        if query.described:
            parts.append(bag("described", *(_term(term, scope) for term in query.described)))
        if query.form != "ASK":
            if query.order_by:
                parts.append(node("order", *(_expression(key.expression, scope) for key in query.order_by)))
            parts += [f"limit {query.limit}", f"offset {query.offset}"]
        parts += [f"from {name}" for name in sorted(query.datasets)]
        tree = Node(query.form.lower(), tuple(parts))
    return tree


def same_query(left: Shape, right: Shape) -> bool:
    """Do the two normal forms differ in names and order alone? A search that is given up raises OverBudgetError."""
    return same_up_to_renaming(left, right)


def triple_count(query: Query) -> int:
    """How many triple patterns a query has, those of subqueries, unions and EXISTS included."""
    return _count_group(query.where)


def _count_group(group: Group) -> int:
    total = 0
    for element in group.elements:
        if isinstance(element, Triple):
            total += 1
        elif isinstance(element, Query):
            total += _count_group(element.where)
        elif isinstance(element, Union):
            total += sum(_count_group(branch) for branch in element.branches)
        elif isinstance(element, Optional | Minus | GraphPattern | Service):
            total += _count_group(element.pattern)
        elif isinstance(element, Filter):
            total += _count_expression(element.condition)
        elif isinstance(element, Bind):
            total += _count_expression(element.expression)
        elif isinstance(element, Group):
            total += _count_group(element)
    return total


def _count_expression(expression: Expression) -> int:
    if isinstance(expression, Exists):
        return _count_group(expression.pattern)
    if isinstance(expression, Call):
        return sum(_count_expression(argument) for argument in expression.arguments)
    return 0
