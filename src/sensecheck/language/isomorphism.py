"""Are two expressions the same but for the names of their variables and the order of what commutes?

An expression is a tree: text is a constant, an integer is a variable, and a node says whether the order of
its children matters. Colour refinement gives each variable a colour from the places where it stands; where
that tells all variables apart the two trees are compared outright, otherwise one variable is singled out on
one side and tried against each of its colour on the other (individualise, refine, backtrack). So a yes is
always proved by a renaming, never guessed from equal hashes.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from sensecheck.inputs.guarding import OverBudgetError

MOST_PLACES = 100_000
"""Places of a tree, what it repeats counted each time: more of them are no query that somebody wrote by hand."""


class Node(NamedTuple):
    label: str
    children: tuple[Tree, ...]
    ordered: bool = True


Tree: TypeAlias = "str | int | Node"


class UndecidedError(OverBudgetError):
    """The search for a renaming was given up: both trees are large and highly symmetric."""


def node(label: str, *children: Tree) -> Node:
    """A node whose children keep their order."""
    return Node(label, children)


def bag(label: str, *children: Tree) -> Node:
    """A node whose children may come in any order."""
    return Node(label, children, False)


class Purse:
    """The steps that a search may take."""

    __slots__ = ("budget", "left")

    def __init__(self, budget: int) -> None:
        self.budget = self.left = budget

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise UndecidedError(f"no renaming found or excluded within {self.budget:,} steps")


class Shape:
    """A tree compiled for refinement: variables, then constants, then nodes, children before parents."""

    __slots__ = ("_names", "_plan", "_start", "_values", "root", "tree", "variables")

    def __init__(self, tree: Tree) -> None:
        places = _places(tree, {})
        if places > MOST_PLACES:
            raise OverBudgetError(f"a normal form of {places:,} places, where {MOST_PLACES:,} are allowed")
        self.tree = tree
        names: dict[int, int] = {}
        constants: dict[str, int] = {}
        _collect(tree, names, constants)
        self.variables = start = len(names)
        for text in constants:
            constants[text] = start
            start += 1
        plan: list[tuple[int, bool, list[int]]] = []

        def place(item: Tree) -> int:
            if type(item) is Node:
                label, kids, ordered = item
                children = [place(child) for child in kids]
                plan.append((hash((label, len(children))), ordered, children))
                return start + len(plan) - 1
            return names[item] if type(item) is int else constants[item]  # type: ignore[index]

        self.root = place(tree)
        self._names = names
        self._plan = plan
        self._start = start
        self._values = [0] * len(names) + [hash(("constant", text)) for text in constants] + [0] * len(plan)

    def numbered(self, numbers: list[int]) -> dict[int, int]:
        """For each variable of the tree the number at its place in `numbers`."""
        return {name: numbers[place] for name, place in self._names.items()}

    def evaluate(self, colours: list[int]) -> list[int]:
        """The hash of every place, from the leaves up."""
        values = self._values
        values[: self.variables] = colours
        position = self._start
        for label, ordered, children in self._plan:
            kids = [values[child] for child in children]
            if not ordered:
                kids.sort()
            kids.append(label)
            values[position] = hash(tuple(kids))
            position += 1
        return values

    def refine(self, colours: list[int], purse: Purse) -> tuple[list[int], int]:
        """Refine until no colour splits further; the stable colours and the hash of the whole tree."""
        count = len(set(colours))
        total = self.variables
        while True:
            purse.spend(len(self._values))
            values = self.evaluate(colours)
            if count == total:
                return colours, values[self.root]
            contexts = [0] * total
            down = [0] * len(values)
            position = len(values) - 1
            for _, ordered, children in reversed(self._plan):
                node_context = hash((down[position], values[position]))
                for index, child in enumerate(children):
                    context = hash((node_context, index)) if ordered else node_context
                    if child < total:
                        contexts[child] += hash((context, 7))
                    else:
                        down[child] = context
                position -= 1
            finer = [hash((old, context)) for old, context in zip(colours, contexts, strict=True)]
            finer_count = len(set(finer))
            if finer_count == count:
                return finer, self.evaluate(finer)[self.root]
            colours, count = finer, finer_count


def _places(tree: Tree, known: dict[int, int]) -> int:
    """How many places a tree has. Parts that it shares are counted each time, but looked at once: a column that is
    named by the next, which is named by the next, doubles a tree with every name."""
    if type(tree) is not Node:
        return 1
    places = known.get(id(tree))
    if places is None:
        places = known[id(tree)] = 1 + sum([_places(child, known) for child in tree.children])
    return places


def _collect(tree: Tree, names: dict[int, int], constants: dict[str, int]) -> None:
    if type(tree) is Node:
        for child in tree.children:
            _collect(child, names, constants)
    elif type(tree) is int:
        if tree not in names:
            names[tree] = len(names)
    else:
        constants[tree] = 0  # type: ignore[index]


def _sorted_form(tree: Tree, names: dict[int, int]) -> object:
    """The tree with variables named by `names` and unordered children sorted: equal when the trees are."""
    if isinstance(tree, int):
        return ("?", names[tree])
    if isinstance(tree, str):
        return ("'", tree)
    forms = [_sorted_form(child, names) for child in tree.children]
    if not tree.ordered:
        forms.sort(key=repr)
    return (tree.label, tree.ordered, tuple(forms))


def same_up_to_renaming(left: Shape, right: Shape, *, budget: int = 1_000_000) -> bool:
    """Is there a one-to-one renaming of variables that makes the two trees equal?

    `budget` bounds the places looked at while symmetric trees are searched; beyond it UndecidedError is raised.
    """
    if left.tree == right.tree:
        return True
    if left.variables != right.variables:
        return False
    purse = Purse(budget)

    def matches(left_colours: list[int], right_colours: list[int]) -> bool:
        left_colours, left_hash = left.refine(left_colours, purse)
        right_colours, right_hash = right.refine(right_colours, purse)
        if left_hash != right_hash or sorted(left_colours) != sorted(right_colours):
            return False
        cells: dict[int, list[int]] = {}
        for variable, colour in enumerate(left_colours):
            cells.setdefault(colour, []).append(variable)
        open_cells = [(len(members), colour) for colour, members in cells.items() if len(members) > 1]
        if not open_cells:
            order = {colour: index for index, colour in enumerate(left_colours)}
            return _sorted_form(left.tree, left.numbered([order[c] for c in left_colours])) == _sorted_form(
                right.tree, right.numbered([order[c] for c in right_colours])
            )
        _, colour = min(open_cells)
        chosen = cells[colour][0]
        single = hash((colour, "single"))
        left_colours = left_colours.copy()
        left_colours[chosen] = single
        for candidate, other in enumerate(right_colours):
            if other == colour:
                trial = right_colours.copy()
                trial[candidate] = single
                if matches(left_colours, trial):
                    return True
        return False

    start = [0] * left.variables
    return matches(start, start.copy())
