"""Logic2text forms → facts: `most_eq { all_rows ; day power ( w ) ; 1000 } = true`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sensecheck.faithful.facts import NO_NAME, Fact, Name, Reading, Span, UnreadableQueryError, name_of, unreadable
from sensecheck.faithful.languages.context import Context
from sensecheck.inputs.reasons import Reason
from sensecheck.language.numbers import as_number

MAX_DEPTH = 60
_PIECE = re.compile(r"[{};]|[^{};]+")
_END = re.compile(r"\s*=\s*(true|false)\s*$", re.IGNORECASE)

# name → (number of arguments); what each means is in _Facts.
_OPERATORS = {
    **dict.fromkeys(("count", "only"), 1),
    **dict.fromkeys(("hop", "str_hop", "num_hop", "avg", "sum", "max", "min", "argmax", "argmin"), 2),
    **dict.fromkeys(("eq", "not_eq", "str_eq", "not_str_eq", "round_eq", "greater", "less", "diff", "and", "or"), 2),
    **dict.fromkeys(("nth_max", "nth_min", "nth_argmax", "nth_argmin"), 3),
    "filter_all": 2,
    "not": 1,
}
_FILTER = re.compile(r"(filter|all|most)_(?:str_)?(eq|not_eq|greater|less|greater_eq|less_eq)$")
_EQUALITIES = frozenset(("eq", "str_eq", "round_eq", "not_eq", "not_str_eq"))
_EXTREMES = frozenset(("max", "min", "argmax", "argmin", "nth_max", "nth_min", "nth_argmax", "nth_argmin"))
_OPS = {"eq": "=", "not_eq": "!=", "greater": ">", "less": "<", "greater_eq": ">=", "less_eq": "<="}
_DIRECTION = {">": 1, ">=": 1, "<": -1, "<=": -1}
_LEADING_NUMBER = re.compile(r"^\s*([-+]?[\d,]*\.?\d+)\s*(%|[a-z' ./$-]*)$", re.IGNORECASE)
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}


@dataclass(slots=True)
class Node:
    text: str
    start: int = field(compare=False)
    end: int = field(compare=False)
    args: list[Node] | None = None  # None: a leaf

    @property
    def span(self) -> Span:
        return self.start, self.end


def parse(text: str) -> Node:
    """The tree of a form. Raises UnreadableQueryError."""
    end = _END.search(text)
    stack: list[Node] = []
    pending: Node | None = None
    for match in _PIECE.finditer(text, 0, end.start() if end else len(text)):
        piece = match.group()
        if piece == "{":
            if pending is None or not pending.text:
                raise unreadable(f"an operator is missing before '{{' at character {match.start()}")
            pending.args = []
            stack.append(pending)
            if len(stack) > MAX_DEPTH:
                raise UnreadableQueryError(Reason.TOO_DEEP, f"nested more than {MAX_DEPTH} deep")
            pending = None
        elif piece in ";}":
            if not stack:
                raise unreadable(f"'{piece}' without '{{' at character {match.start()}")
            owner = stack[-1]
            assert owner.args is not None
            # A column without a name is written as nothing.
            owner.args.append(pending or Node("", match.start(), match.start()))
            pending = None
            if piece == "}":
                pending = stack.pop()
                pending.end = match.end()
        elif stripped := piece.strip():
            if pending is not None:
                raise unreadable(f"unexpected {stripped[:30]!r} at character {match.start()}")
            start = match.start() + len(piece) - len(piece.lstrip())
            pending = Node(stripped, start, start + len(stripped))
    if stack or pending is None or pending.args is None:
        raise unreadable("not a Logic2text form: operators and braces do not match")
    return pending


@lru_cache(maxsize=65_536)
def literal_number(text: str) -> float | None:
    """`1,200`, `7.9 billion`, `22.6 %`, `6 points`, `-2` by value; None for anything else."""
    plain = as_number(text)
    if plain is not None:
        return plain
    match = _LEADING_NUMBER.match(text)
    if not match:
        return None
    value, unit = as_number(match.group(1)), match.group(2).strip().lower()
    words = unit.split()
    if (len(words) > 1 and words[0] not in _SCALES) or len(words) > 2 or unit.startswith(("-", "/", ".")):
        return None  # a name that begins with a number
    for word in words:
        value = value * _SCALES.get(word, 1.0) if value is not None else None
    return value


class _Facts:
    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.names: list[Name] = []
        self.seen: set[tuple[Any, ...]] = set()

    def add(self, kind: str, text: str, span: Span, **fields: Any) -> None:
        # Forms repeat a filter for every hop; the sentence says it once.
        key = (kind, text, *fields.values())
        if key not in self.seen:
            self.seen.add(key)
            self.facts.append(Fact(kind, text, span, **fields))

    def name(self, node: Node) -> Name:
        if node.args is not None:
            return NO_NAME
        name = name_of(node.text)
        self.names.append(name)
        return name

    def literal(self, node: Node, name: Name, op: str, role: str, aggregate: str = "") -> None:
        if node.args is not None:
            self.visit(node)
            return
        number = literal_number(node.text)
        self.add(
            "comparison", f"{name.text} {op} {node.text}".strip(), node.span, name=name, op=op,
            role=role, value=node.text, number=number, direction=_DIRECTION.get(op, 0), aggregate=aggregate,
            integral=aggregate == "count" or (number is not None and number.is_integer() and op in _DIRECTION),
        )  # fmt: skip
        if op == "!=":
            self.add("negation", "not " + node.text, node.span, op="!=", value=node.text)

    def column(self, node: Node, role: str) -> Name:
        """The name of a column, which the form uses in this role."""
        name = self.name(node)
        self.add("column", name.text, node.span, name=name, role=role)
        return name

    def visit(self, node: Node) -> None:
        """The facts of an operator and of everything inside it."""
        if node.args is None:
            return
        operator, args = node.text, node.args
        filtering = _FILTER.match(operator)
        expected = 3 if filtering else _OPERATORS.get(operator)
        if expected is None:
            raise UnreadableQueryError(
                Reason.UNKNOWN_OPERATOR, f"unknown operator {operator[:40]!r} at character {node.start}"
            )
        if len(args) != expected:
            raise unreadable(f"{operator} takes {expected} parts, found {len(args)}, at character {node.start}")
        span = (node.start, node.start + len(operator))
        if filtering:
            self.filter_rows(operator, args, span, *filtering.groups())
        elif operator in _EQUALITIES:
            self.equality(operator, args, span)
        elif operator in _EXTREMES:
            self.extreme(operator, args, span)
        elif operator in ("greater", "less", "diff"):
            self.two_values(operator, args, span)
        elif operator in ("avg", "sum"):
            self.visit(args[0])
            name = self.name(args[1])
            self.add("aggregate", operator, span, name=name, aggregate=operator)
            self.add("column", name.text, args[1].span, name=name, role="aggregate")
        elif operator in ("hop", "str_hop", "num_hop"):
            self.visit(args[0])
            self.column(args[1], "result")
        elif operator == "count":
            self.visit(args[0])
            self.add("aggregate", operator, span, aggregate="count", optional=True)
        elif operator == "only":
            self.visit(args[0])
            self.add("quantifier", operator, span, op="only")
        elif operator == "filter_all":
            self.visit(args[0])
            self.name(args[1])
        else:
            if operator == "not":
                self.add("negation", operator, span, op="!=")
            if operator == "or":
                self.add("connective", operator, span, op="or")
            for arg in args:
                self.visit(arg)

    def filter_rows(self, operator: str, args: list[Node], span: Span, quantity: str, comparison: str) -> None:
        """Rows picked by a column, or what holds of all or most rows."""
        self.visit(args[0])
        name = self.column(args[1], "filter")
        if quantity in ("all", "most"):
            self.add("quantifier", operator, span, op=quantity)
        self.literal(args[2], name, _OPS[comparison], "filter")

    def equality(self, operator: str, args: list[Node], span: Span) -> None:
        """An expression that gives a value, or gives the same as another."""
        left, right = args
        op = "!=" if operator.startswith("not") else "="
        if op == "!=" and right.args is not None:
            self.add("negation", operator, span, op="!=")
        self.visit(left)
        name, aggregate = self.result_of(left)
        role = "approximate" if operator == "round_eq" else "result"
        self.literal(right, name, op, role, aggregate)
        if op == "=" and right.args is not None:
            self.add("comparison", "the same", span, name=name, op="=", role="values")

    def extreme(self, operator: str, args: list[Node], span: Span) -> None:
        """The largest or smallest value of a column, or the n-th of them; or the row that has it."""
        self.visit(args[0])
        name = self.column(args[1], "order")
        direction = 1 if operator.endswith("max") else -1
        rank = literal_number(args[2].text) if len(args) == 3 else None
        self.add(
            "order", operator, span, name=name, direction=direction, limited=True, number=rank,
            role="nth" if len(args) == 3 else "extreme",
        )  # fmt: skip
        if rank is not None:
            self.add("ordinal", args[2].text, args[2].span, number=rank, name=name, direction=direction)

    def two_values(self, operator: str, args: list[Node], span: Span) -> None:
        """One value against another: which is larger, or by how much."""
        self.visit(args[0])
        self.visit(args[1])
        (name, _), pair = self.result_of(args[0]), _pair(args)
        if operator == "diff":
            self.add("aggregate", operator, span, name=name, aggregate="diff", optional=True, pair=pair)
        else:
            op = _OPS[operator]
            self.add("comparison", operator, span, name=name, op=op, role="values", direction=_DIRECTION[op], pair=pair)

    def conflict(self, node: Node) -> None:
        """Parts of a form that must speak of the same rows or the same column, and do not."""
        if node.args is None:
            return
        if node.text in ("greater", "less", "diff", "eq", "not_eq") and all(a.args is not None for a in node.args):
            left, right = node.args
            if left.text in _HOPS and right.text in _HOPS and _column(left) != _column(right):
                self.add("misfit", f"{_column(left)} against {_column(right)}", node.span, role="columns")
            elif _filter_columns(left) != _filter_columns(right):
                self.add("misfit", "rows picked by different columns", node.span, role="rows")
        if node.text == "and":
            operators = {inner.text for inner in _nodes(node)}
            if not operators & {"greater", "less", "diff"}:
                rows = _row_sets(node)
                ends = {(_column(n), n.text.endswith("max")) for n in _nodes(node) if n.text in _EXTREMES}
                if any((column, not largest) in ends for column, largest in ends):
                    self.add("misfit", "the parts speak of both ends", node.span, role="rows")
                if "only" in operators and any(other != rows[0] for other in rows):
                    self.add("misfit", "the parts speak of different rows", node.span, role="rows")
        for arg in node.args:
            self.conflict(arg)

    def result_of(self, node: Node) -> tuple[Name, str]:
        """The column whose value an expression gives, and the aggregate that makes it."""
        if node.args is None or node.text == "count":
            return NO_NAME, node.text if node.args is not None else ""
        if node.text == "diff":
            return self.result_of(node.args[0])[0], "diff"
        if len(node.args) < 2 or node.args[1].args is not None or node.text in ("eq", "greater", "less"):
            return NO_NAME, ""
        aggregate = node.text.removeprefix("nth_")
        return name_of(node.args[1].text), aggregate if aggregate in ("avg", "sum", "max", "min") else ""


_HOPS = ("hop", "str_hop", "num_hop", "max", "min", "avg", "sum")


def _pair(args: list[Node]) -> tuple[str, str] | None:
    """The values that pick the two rows of a comparison."""
    values = []
    for node in args:
        while node.args and not node.text.startswith("filter"):
            node = node.args[0]
        if not node.args or len(node.args) < 3 or node.args[2].args is not None:
            return None
        values.append(node.args[2].text)
    return values[0], values[1]


def _column(node: Node) -> str:
    return node.args[1].text if node.args and len(node.args) > 1 else ""


def _nodes(node: Node) -> list[Node]:
    """The operators of a form, itself first."""
    nodes = [node] if node.args is not None else []
    for current in nodes:
        nodes.extend(arg for arg in current.args or () if arg.args is not None)
    return nodes


def _filter_columns(node: Node) -> list[str]:
    """The columns by which the rows of an expression are picked, in order."""
    columns = []
    while node.args:
        if node.text.startswith("filter"):
            columns.append(_column(node))
        node = node.args[0]
    return sorted(columns)


def _row_sets(node: Node) -> list[Node]:
    """What `only` and `hop` are taken of."""
    if node.args is None:
        return []
    if node.text == "only" or node.text in _HOPS[:3]:
        return [node.args[0]]
    return [row for arg in node.args for row in _row_sets(arg)]


def read(text: str, context: Context) -> Reading:
    """The facts of a form. Raises UnreadableQueryError with a reason."""
    if not text or not text.strip():
        raise UnreadableQueryError(Reason.EMPTY_QUERY, "the form is empty")
    collector = _Facts()
    tree = parse(text)
    collector.visit(tree)
    collector.conflict(tree)
    return Reading(collector.facts, collector.names, language="logic2text")
