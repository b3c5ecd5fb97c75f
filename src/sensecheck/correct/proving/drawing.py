"""Small databases, drawn at random: rows of the given one, and rows near to them that it could hold as well."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from .hints import Hints, Slot, Test
from .knowledge import Knowledge, kept_links
from .schema import Link, Value, converted
from .values import as_number, fitted, holds, like_text, moved, near, sign_of

MOST_ROWS = 60
"""Rows of a drawn database, over all tables; where so many tables need each other, two of each."""
_MOST_COUNT = 8
"""Numbers of rows above this are not built."""
_TRIES = 6

Line: TypeAlias = "list[Any]"


class Draft:
    """A database in the making: lines that may still change."""

    __slots__ = ("rows", "taken")

    def __init__(self, tables: Iterable[str]) -> None:
        self.rows: dict[str, list[Line]] = {name: [] for name in tables}
        self.taken: set[tuple[str, int]] = set()
        """Which given rows are in."""

    def copy(self) -> Draft:
        other = Draft(())
        other.rows = {name: [line[:] for line in lines] for name, lines in self.rows.items()}
        other.taken = set(self.taken)
        return other

    def size(self) -> int:
        return sum(map(len, self.rows.values()))


class Drawer:
    """Draws databases for one pair of queries."""

    def __init__(
        self,
        knowledge: Knowledge,
        queried: Sequence[str],
        read: Iterable[tuple[str, str]],
        gold: Hints,
        prediction: Hints,
        chance: random.Random,
    ) -> None:
        self.schema = knowledge.schema
        self.lore = knowledge.lore
        self.data_given = knowledge.data_given
        self.queried = list(queried)
        self.tables = knowledge.schema.with_parents(queried)
        self.most_rows = max(MOST_ROWS, 2 * len(self.tables))
        self.gold, self.prediction = gold, prediction
        self.chance = chance
        inside = set(self.tables)
        self.links: dict[str, list[Link]] = {name: list(self.schema.tables[name].links) for name in self.tables}
        pairs: dict[tuple[str, int, str, int], None] = {}
        for join in (*gold.joins, *prediction.joins):
            pairs[join.left.table, join.left_column, join.right.table, join.right_column] = None
            pairs[join.right.table, join.right_column, join.left.table, join.left_column] = None
        wanted = [pair for pair in pairs if pair[0] in inside and pair[2] in inside]
        for link in kept_links(wanted, self.lore):
            same = [own for own in self.links[link.child] if (own.columns, own.parent) == (link.columns, link.parent)]
            back = [own for own in self.links[link.parent] if (own.columns, own.parent) == (link.targets, link.child)]
            if not same and not back:
                self.links[link.child].append(link)
        self.children: dict[str, list[Link]] = {name: [] for name in self.tables}
        for links in self.links.values():
            for link in links:
                self.children[link.parent].append(link)
        self.shared = [where for where in sorted(gold.repeated) if where[0] in inside and self._is_shared(*where)]
        """Columns that hold no value twice in the data, though the gold is about rows that share one."""
        self.unique = {
            name: [key for key in self.lore[name].unique if (name, key[0]) not in self.shared or len(key) > 1]
            for name in self.tables
        }
        """What no two rows of a table share."""
        self.linked = {(name, place) for name, links in self.links.items() for link in links for place in link.columns}
        self.tests: dict[str, list[Test]] = {name: [] for name in self.tables}
        for test in dict.fromkeys((*gold.tests, *prediction.tests)):
            if test.slot.table in inside:
                self.tests[test.slot.table].append(test)
        self._learn_constants(pairs)
        self.usable = {name: self._usable(name) for name in self.tables}
        self.classes = {name: self._classes(name) for name in self.tables}
        self._columns(read)
        self.counts = [n for n in dict.fromkeys((*gold.counts, *prediction.counts)) if 0 <= n <= _MOST_COUNT]
        self.limit = max((n for n in (*gold.limits, *prediction.limits) if n <= _MOST_COUNT), default=0)
        self.moves = self._moves()
        self.fitting: dict[Slot, list[int]] = {}
        self.always_parents = self._always_parents()

    # ---- what is known beforehand

    def _learn_constants(self, pairs: Iterable[tuple[str, int, str, int]]) -> None:
        """The constants that either query, and that the gold holds against each column; also over joins."""
        every: dict[tuple[str, int], dict[Value, None]] = {}
        golden: dict[tuple[str, int], dict[Value, None]] = {}
        for hints, kept in ((self.gold, (every, golden)), (self.prediction, (every,))):
            for test in hints.tests:
                if test.value is None or test.slot.table not in self.links:
                    continue
                value: Value = like_text(str(test.value)) if test.operator == "like" else test.value
                for known in kept:
                    known.setdefault((test.slot.table, test.column), {})[value] = None
        equal: dict[tuple[str, int], set[tuple[str, int]]] = {}
        for child, column, parent, target in pairs:
            equal.setdefault((child, column), set()).add((parent, target))
        for links in self.links.values():
            for link in links:
                for column, target in zip(link.columns, link.targets, strict=True):
                    equal.setdefault((link.child, column), set()).add((link.parent, target))
        for known in (every, golden):
            for where, constants in list(known.items()):
                for other in sorted(equal.get(where, ())):
                    if other[0] in self.links:
                        known.setdefault(other, {}).update(constants)
        if not self.data_given:
            golden = every
        self.near: dict[tuple[str, int], list[Value]] = {}
        """What lies at or beside the constants of a column."""
        self.free: dict[tuple[str, int], set[Value]] = {}
        """Of that, what a column may hold though the data do not: it lies at or beside a constant of the gold."""
        self.lacking: list[tuple[str, int, Value]] = []
        """Constants of the gold that the data lack."""
        for (name, place), constants in every.items():
            lore = self.lore[name]
            self.near[name, place] = near(constants, lore.table.columns[place], lore.domains[place])
        for (name, place), constants in golden.items():
            lore = self.lore[name]
            home, domain = lore.table.columns[place], lore.domains[place]
            beside = near(constants, home, domain)
            if domain.low >= 0 and domain.values:
                # Nothing is below zero only because a constant is zero.
                beside = [value for value in beside if value in constants or not _above(0, value)]
            self.free[name, place] = set(beside)
            for constant in constants:
                value = fitted(constant, home, domain)
                if value is None or value in domain.known:
                    continue
                if domain.closed and str(value).lower() in {str(known).lower() for known in domain.known}:
                    self.free[name, place].discard(value)  # one of its few words, misspelt
                else:
                    self.lacking.append((name, place, value))

    def _is_shared(self, name: str, place: int) -> bool:
        """Whether no key, but the data alone make a column hold no value twice."""
        lore = self.lore[name]
        named = any(place in link.targets for link in self.children[name])
        return (place,) in lore.unique and (place,) not in lore.table.keys and not named

    def _usable(self, name: str) -> list[int]:
        """The rows whose parents are there; where most lack theirs, all rows, which then get other parents."""
        lore, links = self.lore[name], self.links[name]
        if not links:
            return list(range(len(lore.rows)))
        numbers = []
        for number, row in enumerate(lore.rows):
            if all(self._loose(link, row) or self._parent_row(link, row) is not None for link in links):
                numbers.append(number)
        return numbers if 2 * len(numbers) >= len(lore.rows) else list(range(len(lore.rows)))

    @staticmethod
    def _loose(link: Link, row: Sequence[Any]) -> bool:
        return any(row[place] is None for place in link.columns)

    def key_of(self, link: Link, row: Sequence[Any]) -> tuple[Any, ...]:
        """The values by which a row names its parent, as the parent holds them."""
        columns = self.lore[link.parent].table.columns
        return tuple(
            [
                converted(row[place], columns[target].affinity)
                for place, target in zip(link.columns, link.targets, strict=True)
            ]
        )

    def _parent_row(self, link: Link, row: Sequence[Any]) -> tuple[Any, ...] | None:
        return self.lore[link.parent].find(link.targets, self.key_of(link, row))

    def _classes(self, name: str) -> list[list[list[int]]]:
        """For each test the rows by how they stand to it."""
        lore = self.lore[name]
        found = []
        for test in self.tests[name]:
            classes: dict[int, list[int]] = {}
            for number in self.usable[name]:
                sign = sign_of(lore.rows[number][test.column], test.operator, test.value)
                classes.setdefault(sign, []).append(number)
            if len(classes) > 1:
                found.append(list(classes.values()))
        return found

    def _columns(self, read: Iterable[tuple[str, str]]) -> None:
        """Which columns may change: those that a query reads and that are neither keys nor links."""
        self.renumbered = [
            (name, key[0])
            for name in self.tables
            for key in self.lore[name].table.keys[:1]
            if len(key) == 1
            and (name, key[0]) in self.near
            and (name, key[0]) not in self.linked
            and self.lore[name].domains[key[0]].kind == "number"
        ]
        """Keys that are plain numbers, and that a query holds against one."""
        self.numbers: list[tuple[str, int]] = []
        self.words: list[tuple[str, int]] = []
        self.nullable: list[tuple[str, int]] = []
        asked = {(t.slot.table, t.column) for t in (*self.gold.tests, *self.prediction.tests) if t.operator == "null"}
        for name, column_name in sorted(set(read)):
            if name not in self.lore:
                continue
            lore = self.lore[name]
            place = lore.table.place(column_name)
            if place is None or (name, place) in self.linked:
                continue
            domain = lore.domains[place]
            if any(place in key for key in self.unique[name]):
                continue
            if domain.kind in ("number", "digits", "date"):
                self.numbers.append((name, place))
            elif domain.kind == "text":
                self.words.append((name, place))
            wanted = (name, place) in asked and not self.data_given
            if (domain.nulls or wanted) and not lore.table.columns[place].not_null:
                self.nullable.append((name, place))

    def _always_parents(self) -> list[Link]:
        """Links by which every parent in the data has a child."""
        found = []
        for name in self.queried:
            for link in self.links[name]:
                child, parent = self.lore[name], self.lore[link.parent]
                if link.parent not in self.queried or child.invented or parent.invented or link.parent == name:
                    continue
                keys = {self.key_of(link, row) for row in child.rows}
                if all(tuple([row[target] for target in link.targets]) in keys for row in parent.rows):
                    found.append(link)
        return found

    def _moves(self) -> list[Callable[[Draft], bool]]:
        """What can be done to a draft, the more often the more of it there is to do."""
        moves: list[Callable[[Draft], bool]] = []
        if self.numbers:
            moves += [self._change_number] * 4
        if self.words:
            moves += [self._change_word] * 2
        if any(self.links.values()):
            moves += [self._change_link] * 3
        if self.lacking:
            moves += [self._put_constant] * 3
        if self.nullable:
            moves += [self._put_null]
        if self.renumbered:
            moves += [self._renumber] * 2
        if self.counts or self.gold.groups or self.prediction.groups:
            moves += [self._make_group] * 3
        moves += [self._add_like] * 2 + [self._add_row, self._drop_row]
        return moves

    # ---- rows of the given database

    def _pick(self, name: str) -> int:
        """The number of a row, or -1: evenly over the classes of some test."""
        usable = self.usable[name]
        if not usable:
            return -1
        classes = self.classes[name]
        if classes and self.chance.random() < 0.75:
            return self.chance.choice(self.chance.choice(self.chance.choice(classes)))
        return self.chance.choice(usable)

    def _add(self, draft: Draft, name: str, number: int) -> Line | None:
        """Put a given row in, with its parents; None where it is in already or there is no room."""
        if number < 0 or (name, number) in draft.taken:
            return None
        todo, first = [(name, number)], None
        while todo:
            name, number = todo.pop()
            if (name, number) in draft.taken or draft.size() >= self.most_rows:
                continue
            draft.taken.add((name, number))
            row = self.lore[name].rows[number]
            line = list(row)
            draft.rows[name].append(line)
            first = first or line
            for link in self.links[name]:
                if not self._loose(link, row):
                    parent = self.lore[link.parent]
                    self._parent_row(link, row)
                    index = parent.by_key[link.targets].get(self.key_of(link, row), -1)
                    if index >= 0:
                        todo.append((link.parent, index))
        return first

    def subset(self, largest: int) -> Draft | None:
        """Some of the given rows, with all their parents."""
        draft = Draft(self.tables)
        chance = self.chance
        order = self.queried[:]
        chance.shuffle(order)
        for name in order:
            wanted = chance.randint(1, largest)
            if self.limit and chance.random() < 0.7:
                wanted = max(wanted, self.limit + chance.randint(0, 2))
            for _ in range(wanted):
                self._add(draft, name, self._pick(name))
        for _ in range(chance.randint(0, 3)):
            self._add_children(draft)
        return draft if self.repaired(draft) else None

    def _add_children(self, draft: Draft) -> None:
        """Rows that belong to one that is in."""
        parents = [name for name in self.tables if draft.rows[name] and self.children[name]]
        if not parents:
            return
        name = self.chance.choice(parents)
        link = self.chance.choice(self.children[name])
        line = self.chance.choice(draft.rows[name])
        child = self.lore[link.child]
        affinities = [child.table.columns[place].affinity for place in link.columns]
        key = tuple([converted(line[t], a) for t, a in zip(link.targets, affinities, strict=True)])
        numbers = child.holding(link.columns, key)
        if not numbers:
            return
        usable = set(self.usable[link.child]) if len(numbers) > 1 else None
        for _ in range(self.chance.randint(1, 3)):
            number = self.chance.choice(numbers)
            if usable is None or number in usable:
                self._add(draft, link.child, number)

    # ---- rows near to them

    def varied(self, draft: Draft, times: int) -> Draft | None:
        """A copy of a draft with some changes that leave it a database that could be; None where that fails."""
        for _ in range(_TRIES):
            other = draft.copy()
            for _ in range(times):
                self.chance.choice(self.moves)(other)
            if self.repaired(other):
                return other
        return None

    def witness(self, draft: Draft) -> Draft | None:
        """A copy of a draft with rows for which all that a query asks holds."""
        hints = self.gold if self.chance.random() < 0.6 else self.prediction
        for _ in range(_TRIES):
            other = draft.copy()
            self._bear_witness(other, hints)
            if self.repaired(other):
                return other
        return None

    def _bear_witness(self, draft: Draft, hints: Hints) -> None:
        chance = self.chance
        places: dict[Slot, Line] = {}
        by_table: dict[str, list[Line]] = {}
        for slot in hints.slots:
            if slot.table not in draft.rows:
                continue
            own = by_table.setdefault(slot.table, [])
            line: Line | None = None
            if own and chance.random() < 0.5:
                line = chance.choice(own)
            elif draft.rows[slot.table] and chance.random() < 0.3:
                line = chance.choice(draft.rows[slot.table])
            if line is None:
                line = self._add(draft, slot.table, self._pick_witness(slot, hints))
            if line is None:
                line = chance.choice(draft.rows[slot.table]) if draft.rows[slot.table] else None
            if line is not None:
                own.append(line)
                places[slot] = line
        for test in hints.tests:
            line = places.get(test.slot)
            if line is not None and chance.random() < 0.9:
                self._satisfy(draft, test, line)
        joins = hints.joins[:]
        chance.shuffle(joins)
        for join in joins:
            left, right = places.get(join.left), places.get(join.right)
            if left is None or right is None or left is right or chance.random() < 0.1:
                continue
            one, other = (join.left.table, join.left_column), (join.right.table, join.right_column)
            if any(link.columns == (one[1],) and link.parent == other[0] for link in self.links[one[0]]):
                self._set(draft, one, left, right[other[1]])
            elif any(link.columns == (other[1],) and link.parent == one[0] for link in self.links[other[0]]):
                self._set(draft, other, right, left[one[1]])
            elif one in self.linked or other not in self.linked:
                self._set(draft, one, left, right[other[1]])
            else:
                self._set(draft, other, right, left[one[1]])

    def _pick_witness(self, slot: Slot, hints: Hints) -> int:
        """A row for which all that is asked of its place in a query holds, or most of it."""
        fitting = self.fitting.get(slot)
        if fitting is None:
            lore = self.lore[slot.table]
            tests = [test for test in hints.tests if test.slot == slot]
            best, fitting = 1, []
            for number in self.usable[slot.table] if tests else ():
                row = lore.rows[number]
                held = sum(holds(row[test.column], test.operator, test.value) for test in tests)
                if held > best:
                    best, fitting = held, []
                if held == best:
                    fitting.append(number)
            self.fitting[slot] = fitting
        if fitting and self.chance.random() < 0.9:
            return self.chance.choice(fitting)
        return self._pick(slot.table)

    def _satisfy(self, draft: Draft, test: Test, line: Line) -> None:
        """Have a test hold of a line, or barely not."""
        name, place = test.slot.table, test.column
        if holds(line[place], test.operator, test.value) and self.chance.random() < 0.7:
            return
        lore = self.lore[name]
        column, domain = lore.table.columns[place], lore.domains[place]
        if test.operator == "null":
            if (name, place) in self.nullable:
                line[place] = None
            return
        constant: Value = like_text(str(test.value)) if test.operator == "like" else test.value
        value = fitted(constant, column, domain)
        choices: list[Value] = []
        if test.operator in ("=", "<=", ">=", "like") and value is not None:
            choices.append(value)
        step = {"<": -1, "<=": -1, ">": 1, ">=": 1}.get(test.operator)
        if step is not None and constant is not None:
            choices.append(moved(constant, step, column, domain))
        if test.operator != "=" and domain.values:
            for _ in range(4):
                known = self.chance.choice(domain.values)
                if holds(known, test.operator, test.value):
                    choices.append(known)
        choices = [choice for choice in choices if choice is not None]
        if choices:
            self._set(draft, (name, place), line, self.chance.choice(choices))

    def _allowed(self, where: tuple[str, int], value: Value) -> bool:
        """Whether a column could hold a value: one that it holds, a number in its range, or near a gold constant."""
        domain = self.lore[where[0]].domains[where[1]]
        if value in domain.known or value in self.free.get(where, ()) or not domain.values:
            return True
        return not domain.closed and self.is_usual(*where, value)

    def is_usual(self, name: str, place: int, value: Value) -> bool:
        """Whether a number or a date lies in the range of its column."""
        domain = self.lore[name].domains[place]
        if domain.kind in ("number", "digits"):
            number = as_number(value)
            return number is not None and domain.low <= number <= domain.high
        if domain.kind == "date" and domain.values:
            return min(map(str, domain.values)) <= str(value) <= max(map(str, domain.values))
        return False

    def _set(self, draft: Draft, where: tuple[str, int], line: Line, value: Value) -> bool:
        """Give a line another value in one column, if the column could hold it; rows that belong to it follow."""
        name, place = where
        lore = self.lore[name]
        column, domain = lore.table.columns[place], lore.domains[place]
        value = fitted(value, column, domain)
        if value is None or value == line[place]:
            return False
        links = [link for link in self.links[name] if place in link.columns]
        if links:
            for link in links:
                if not self._has_parent(draft, link, line, place, value):
                    return False
        elif not self._allowed(where, value):
            return False
        # What is unique names its row: a row of the data that bears this name is not this one.
        taken = any(other[place] == value for other in draft.rows[name]) or (not links and value in domain.known)
        if (place,) in self.unique[name] and taken:
            return False
        followers = self._followers(draft, name, place, line) if not links or self.children[name] else []
        if domain.tied and value in domain.known:
            # What goes with the value comes with it.
            source = lore.rows[self.chance.choice(lore.holding((place,), (value,)))]
            for partner in sorted(domain.tied):
                line[partner] = source[partner]
        line[place] = value
        for child, columns, other in followers:
            other[columns] = converted(value, self.lore[child].table.columns[columns].affinity)
        return True

    def _followers(self, draft: Draft, name: str, place: int, line: Line) -> list[tuple[str, int, Line]]:
        found = []
        for link in self.children[name]:
            if place in link.targets:
                key = [line[target] for target in link.targets]
                for other in draft.rows[link.child]:
                    if list(self.key_of(link, other)) == key:
                        found.append((link.child, link.columns[link.targets.index(place)], other))
        return found

    def _has_parent(self, draft: Draft, link: Link, line: Line, place: int, value: Value) -> bool:
        """Whether there is a parent with this value, or one can be brought in."""
        changed = line[:]
        changed[place] = value
        key = self.key_of(link, changed)
        for other in draft.rows[link.parent]:
            if tuple([other[target] for target in link.targets]) == key:
                return True
        parent = self.lore[link.parent]
        if parent.find(link.targets, key) is not None:
            return self._add(draft, link.parent, parent.by_key[link.targets][key]) is not None
        if len(key) > 1 or key[0] not in self.free.get((link.parent, link.targets[0]), ()):
            return False
        # A constant of the gold that no parent has: some parent gets it.
        number = self._pick(link.parent)
        bearer = self._add(draft, link.parent, number)
        if bearer is None and draft.rows[link.parent]:
            bearer = self.chance.choice(draft.rows[link.parent])
        return bearer is not None and self._set(draft, (link.parent, link.targets[0]), bearer, key[0])

    # ---- single changes

    def _some_line(self, draft: Draft, places: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], Line] | None:
        there = [where for where in places if draft.rows[where[0]]]
        if not there:
            return None
        where = self.chance.choice(there)
        return where, self.chance.choice(draft.rows[where[0]])

    def _change_number(self, draft: Draft) -> bool:
        """A number becomes that of a constant, of another row, or one right beside."""
        picked = self._some_line(draft, self.numbers)
        if picked is None:
            return False
        where, line = picked
        lore = self.lore[where[0]]
        column, domain = lore.table.columns[where[1]], lore.domains[where[1]]
        kind = self.chance.random()
        constants = self.near.get(where)
        value: Value
        if constants and kind < 0.6:
            value = self.chance.choice(constants)
        elif kind < 0.85:
            value = self.chance.choice(draft.rows[where[0]])[where[1]]
            if not domain.closed and self.chance.random() < 0.6:
                value = moved(value, self.chance.choice((-1, 1)), column, domain)
        else:
            value = self.chance.choice(domain.values) if domain.values else None
        return value is not None and self._set(draft, where, line, value)

    def _change_word(self, draft: Draft) -> bool:
        """A word becomes another that the column knows."""
        picked = self._some_line(draft, self.words)
        if picked is None:
            return False
        where, line = picked
        domain = self.lore[where[0]].domains[where[1]]
        constants = (
            [value for value in self.near.get(where, ()) if value in domain.known or value in self.free[where]]
            if where in self.free
            else []
        )
        kind = self.chance.random()
        if constants and kind < 0.5:
            value = self.chance.choice(constants)
        elif kind < 0.8:
            value = self.chance.choice(draft.rows[where[0]])[where[1]]
        else:
            value = self.chance.choice(domain.values) if domain.values else None
        return value is not None and self._set(draft, where, line, value)

    def _change_link(self, draft: Draft) -> bool:
        """A row belongs to another parent."""
        links = [link for name, own in self.links.items() if draft.rows[name] for link in own]
        if not links:
            return False
        link = self.chance.choice(links)
        line = self.chance.choice(draft.rows[link.child])
        parents = draft.rows[link.parent]
        if not parents or self.chance.random() < 0.2:
            self._add(draft, link.parent, self._pick(link.parent))
        return bool(parents) and self._point(draft, link, line, self.chance.choice(parents))

    def _point(self, draft: Draft, link: Link, line: Line, parent: Line) -> bool:
        if parent is line or any(parent[target] is None for target in link.targets):
            return False
        columns = self.lore[link.child].table.columns
        if len(link.columns) == 1:
            value = converted(parent[link.targets[0]], columns[link.columns[0]].affinity)
            for pair in self.lore[link.child].apart:
                if link.columns[0] in pair and line[pair[pair[0] == link.columns[0]]] == value:
                    return False
        for place, target in zip(link.columns, link.targets, strict=True):
            line[place] = converted(parent[target], columns[place].affinity)
        return True

    def _put_constant(self, draft: Draft) -> bool:
        name, place, value = self.chance.choice(self.lacking)
        if not draft.rows[name]:
            return False
        return self._set(draft, (name, place), self.chance.choice(draft.rows[name]), value)

    def _renumber(self, draft: Draft) -> bool:
        """Two rows change their numbers, or one gets another: numbers that rows merely go by could be others."""
        name, place = self.chance.choice(self.renumbered)
        lines = draft.rows[name]
        if not lines:
            return False
        line = self.chance.choice(lines)
        other = self.chance.choice(lines)
        followers = [self._followers(draft, name, place, line), self._followers(draft, name, place, other)]
        values = [other[place], line[place]]
        if other is line:
            used = {row[place] for row in lines}
            spare = [number for number in self.lore[name].domains[place].values if number not in used]
            if not spare:
                return False
            values[0] = self.chance.choice(spare)
        line[place], other[place] = values[0], values[0] if other is line else values[1]
        for found, value in zip(followers, values, strict=True):
            if value is values[0] or other is not line:
                for child, column, row in found:
                    row[column] = converted(value, self.lore[child].table.columns[column].affinity)
        return True

    def _put_null(self, draft: Draft) -> bool:
        picked = self._some_line(draft, self.nullable)
        if picked is None:
            return False
        picked[1][picked[0][1]] = None
        return True

    def _make_group(self, draft: Draft) -> bool:
        """As many rows with one value as a count asks for, one more or one less."""
        groups = [group for group in (*self.gold.groups, *self.prediction.groups) if group[0] in draft.rows]
        wanted = self.chance.choice(self.counts) + self.chance.choice((-1, 0, 0, 1)) if self.counts else 2
        links = [link for own in self.links.values() for link in own]
        if links and (not groups or self.chance.random() < 0.7):
            link = self.chance.choice(links)
            if not draft.rows[link.parent]:
                return False
            parent = self.chance.choice(draft.rows[link.parent])
            members = [line for line in draft.rows[link.child] if self._belongs(link, line, parent)]
            others = [line for line in draft.rows[link.child] if not self._belongs(link, line, parent)]
            while len(members) < wanted:
                line = self._add(draft, link.child, self._pick(link.child)) if self.chance.random() < 0.6 else None
                if line is None and others:
                    line = others.pop()
                if line is None or not self._point(draft, link, line, parent):
                    return False
                members.append(line)
            return True
        if not groups:
            return False
        name, place = self.chance.choice(groups)
        lore = self.lore[name]
        if not draft.rows[name] or (place,) in self.unique[name] or (name, place) in self.linked:
            return False
        value = self.chance.choice(draft.rows[name])[place]
        while sum(line[place] == value for line in draft.rows[name]) < wanted:
            number = self._pick(name)
            numbers = lore.holding((place,), (value,))
            if numbers and self.chance.random() < 0.7:
                number = self.chance.choice(numbers)
            line = self._add(draft, name, number)
            if line is None or value is None:
                return False
            if line[place] != value and not self._set(draft, (name, place), line, value):
                return False
        return True

    def _belongs(self, link: Link, line: Line, parent: Line) -> bool:
        return list(self.key_of(link, line)) == [parent[target] for target in link.targets]

    def _add_like(self, draft: Draft) -> bool:
        """One more row that is as one that is there, in all but its keys and what is unique."""
        names = [name for name in self.queried if draft.rows[name]]
        if not names:
            return False
        name = self.chance.choice(names)
        model = self.chance.choice(draft.rows[name])
        line = self._add(draft, name, self._pick(name))
        if line is None:
            return False
        lore = self.lore[name]
        kept = {place for key in self.unique[name] for place in key}
        done: set[int] = set()
        for place, domain in enumerate(lore.domains):
            if place in kept or place in done:
                continue
            together = {place, *domain.tied} - kept
            done |= together
            if self.chance.random() < 0.8:
                for other in together:
                    line[other] = model[other]
        return True

    def _add_row(self, draft: Draft) -> bool:
        name = self.chance.choice(self.queried)
        return self._add(draft, name, self._pick(name)) is not None

    def _drop_row(self, draft: Draft) -> bool:
        names = [name for name in self.queried if len(draft.rows[name]) > 1]
        if not names:
            return False
        lines = draft.rows[self.chance.choice(names)]
        lines.pop(self.chance.randrange(len(lines)))
        return True

    def without(self, draft: Draft, name: str, place: int) -> list[Draft]:
        """Copies of a draft without one row: it alone, it and what belongs to it, it and what it leaves bare."""
        alone = draft.copy()
        alone.rows[name].pop(place)
        copies = [alone]
        if self.children[name]:
            cascade = alone.copy()
            for child in self.tables:
                for link in self.links[child]:
                    present = {tuple([line[t] for t in link.targets]) for line in cascade.rows[link.parent]}
                    cascade.rows[child] = [
                        line
                        for line in cascade.rows[child]
                        if self._loose(link, line) or self.key_of(link, line) in present
                    ]
            if cascade.size() < alone.size():
                copies.insert(0, cascade)
        if self.always_parents and self.links[name]:
            bare = self.without_childless(alone)
            if bare.size() < alone.size():
                copies.insert(0, bare)
        return copies

    def without_childless(self, draft: Draft) -> Draft:
        """A copy without the rows that, in the data, would have had others that belong to them."""
        other = draft.copy()
        for _ in range(len(self.tables)):
            before = other.size()
            for link in self.always_parents:
                keys = {self.key_of(link, line) for line in other.rows[link.child]}
                lines = other.rows[link.parent]
                lines[:] = [line for line in lines if tuple([line[target] for target in link.targets]) in keys]
            if other.size() == before:
                break
        return other

    # ---- what has to hold

    def repaired(self, draft: Draft) -> bool:
        """Make keys hold again where changes broke them; whether that did it."""
        for _ in range(3):
            self._drop_repeated(draft)
            if not self._close(draft):
                return self.is_sound(draft)
        return False

    def _drop_repeated(self, draft: Draft) -> None:
        for name, lines in draft.rows.items():
            lore = self.lore[name]
            keys = self.unique[name] or ([tuple(range(len(lore.table.columns)))] if lore.distinct else [])
            for key in keys:
                if len(lines) < 2:
                    break
                seen: set[tuple[Any, ...]] = set()
                kept = []
                for line in lines:
                    values = tuple([line[place] for place in key])
                    if values not in seen or None in values:
                        seen.add(values)
                        kept.append(line)
                if len(kept) < len(lines):
                    lines[:] = kept

    def _close(self, draft: Draft) -> bool:
        """Bring in the parents that lack, or take out rows whose parents cannot be had; whether anything was done."""
        changed = False
        for name in reversed(self.tables):
            for link in self.links[name]:
                present = {tuple([line[target] for target in link.targets]) for line in draft.rows[link.parent]}
                for line in draft.rows[name][:]:
                    if self._loose(link, line):
                        continue
                    key = self.key_of(link, line)
                    if key in present:
                        continue
                    changed = True
                    number = self._number_of(link, key)
                    if number >= 0 and self._add(draft, link.parent, number) is not None:
                        present.add(key)
                        continue
                    parents = draft.rows[link.parent]
                    if len(parents) < 2 or self.chance.random() < 0.3:
                        self._add(draft, link.parent, self._pick(link.parent))
                    if not any(self._point(draft, link, line, self.chance.choice(parents)) for _ in parents):
                        draft.rows[name] = [other for other in draft.rows[name] if other is not line]
        return changed

    def _number_of(self, link: Link, key: tuple[Any, ...]) -> int:
        lore = self.lore[link.parent]
        lore.find(link.targets, key)
        return lore.by_key[link.targets].get(key, -1)

    def is_sound(self, draft: Draft) -> bool:
        """Whether all that is known of the data holds: rows in every queried table, parents, keys, order of numbers."""
        if draft.size() > self.most_rows or not all(draft.rows[name] for name in self.queried):
            return False
        for name, lines in draft.rows.items():
            lore = self.lore[name]
            for link in self.links[name]:
                present = {tuple([line[target] for target in link.targets]) for line in draft.rows[link.parent]}
                if any(not self._loose(link, line) and self.key_of(link, line) not in present for line in lines):
                    return False
            for key in self.unique[name]:
                values = [tuple([line[place] for place in key]) for line in lines]
                whole = [value for value in values if None not in value]
                if len(set(whole)) < len(whole):
                    return False
            if lore.distinct and not self.unique[name] and len(set(map(tuple, lines))) < len(lines):
                return False
            for one, other in lore.apart:
                if any(line[one] is not None and line[one] == line[other] for line in lines):
                    return False
            for low, high in lore.ordered:
                if any(_above(line[low], line[high]) for line in lines):
                    return False
        return True


def _above(left: Value, right: Value) -> bool:
    if left is None or right is None:
        return False
    try:
        return float(left) > float(right)
    except ValueError:
        return False
