"""What a schema knows: tables and columns, how people call them, which keys connect them, what codes stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sensecheck.faithful.facts import Name, name_of
from sensecheck.faithful.schema.labels import find_labels, spell_out

Place = tuple[str, str]
"""A column of a table, both in lower case."""


@dataclass(slots=True)
class Column:
    name: str
    natural: Name
    type: str = ""  # text, number, time or boolean
    described: tuple[Name, ...] = ()  # further names, from a description
    nullable: bool = True  # also where nobody says
    value_words: Mapping[str, str] = field(default_factory=dict)  # lower-cased stored value → what it stands for


@dataclass(slots=True, eq=False)
class Table:
    name: str
    natural: Name
    columns: dict[str, Column] = field(default_factory=dict)
    described: tuple[Name, ...] = ()
    primary_key: tuple[str, ...] = ()  # columns, lower-cased
    labels: tuple[Name, ...] = ()  # columns by which people mean the row itself: its name, its title


@dataclass(slots=True)
class Schema:
    """Tables by lower-cased name, and the keys between them."""

    db_id: str
    tables: dict[str, Table] = field(default_factory=dict)
    vocabulary: frozenset[str] = frozenset()  # stems of all words in all names
    entities: frozenset[str] = frozenset()  # stems of the words that name tables
    foreign_keys: frozenset[tuple[Place, Place]] = frozenset()  # (what refers, what it refers to), as declared
    surroundings: frozenset[str] = frozenset()  # what it knows beside names: keys, described
    _referred: dict[Place, list[Place]] = field(default_factory=dict, repr=False, compare=False)
    _referring: dict[str, list[Place]] = field(default_factory=dict, repr=False, compare=False)  # by column name

    def finish(self) -> Schema:
        """What follows from tables and keys, once they are all there."""
        spell_out(self.tables.values())
        find_labels(self.tables.values())
        stems: set[str] = set()
        for table in self.tables.values():
            stems.update(table.natural.stems, name_of(table.name).stems)
            for column in table.columns.values():
                stems.update(column.natural.stems, name_of(column.name).stems)
            for key in table.primary_key:
                if key in table.columns:
                    table.columns[key].nullable = False
        described = any(
            table.described or any(column.described or column.value_words for column in table.columns.values())
            for table in self.tables.values()
        )
        self.surroundings = frozenset((["keys"] if self.foreign_keys else []) + (["described"] if described else []))
        if self.surroundings:
            stems.update(name_of(self.db_id).stems)
        self.vocabulary = frozenset(stems)
        self.entities = frozenset(s for table in self.tables.values() for s in table.natural.stems)
        self._referred, self._referring = {}, {}
        for refers, to in sorted(self.foreign_keys):
            self._referred.setdefault(refers, []).append(to)
            self._referring.setdefault(refers[1], []).append(refers)
        return self

    @property
    def has_keys(self) -> bool:
        """Whether any foreign key is declared."""
        return "keys" in self.surroundings

    @property
    def has_descriptions(self) -> bool:
        """Whether any table or column is described, or any stored value explained."""
        return "described" in self.surroundings

    def joinable(self, a: Place, b: Place) -> bool | None:
        """Whether a key connects two columns, each (table, column); None where the schema cannot tell.

        They are connected where one refers to the other or both refer to the same column. People leave keys undeclared,
        so a column that is called like a declared foreign key of another table is taken to refer to the same.
        """
        a, b = (a[0].lower(), a[1].lower()), (b[0].lower(), b[1].lower())
        if not (self.has_keys and self._holds(a) and self._holds(b)):
            return None
        return a == b or not self._reached(a).isdisjoint(self._reached(b))

    def _holds(self, place: Place) -> bool:
        table = self.tables.get(place[0])
        return table is not None and place[1] in table.columns

    def _reached(self, start: Place) -> set[Place]:
        """A column and all that it refers to, in any number of steps."""
        reached = {start}
        todo = [start, *(self._alike(start) if start not in self._referred else ())]
        while todo:
            for place in self._referred.get(todo.pop(), ()):
                if place not in reached:  # keys may go round in a circle
                    reached.add(place)
                    todo.append(place)
        return reached

    def _alike(self, place: Place) -> Iterator[Place]:
        """Declared foreign keys of the same name, if the name says whose key it is: not every `id` is the same id."""
        own = self.tables[place[0]].primary_key == (place[1],)
        if not own or len(name_of(place[1]).words) > 1:
            yield from self._referring.get(place[1], ())


def plain_type(declared: str) -> str:
    """The coarse type of a declared one.

    >>> plain_type("VARCHAR(20)"), plain_type("DOUBLE PRECISION"), plain_type("timestamp"), plain_type("bit")
    ('text', 'number', 'time', 'boolean')
    """
    low = declared.lower().replace("enum", "")  # it is no number
    if any(word in low for word in ("int", "num", "real", "float", "double", "dec", "money")):
        return "number"
    if "date" in low or "time" in low:
        return "time"
    if "bool" in low or low == "bit":
        return "boolean"
    return "text"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A key as it is declared: no columns to refer to means the primary key of that table."""

    columns: tuple[str, ...]
    table: str
    to: tuple[str, ...] = ()


def resolved(table: str, keys: Iterable[ForeignKey], tables: Mapping[str, Table]) -> Iterator[tuple[Place, Place]]:
    """The pairs of columns of a table's foreign keys; none of a key that does not say what it refers to."""
    for key in keys:
        other = tables.get(key.table.lower())
        to = key.to or (other.primary_key if other is not None else ())
        if len(to) == len(key.columns):
            for column, target in zip(key.columns, to, strict=True):
                yield (table.lower(), column.lower()), (key.table.lower(), target.lower())


def merged(schema: Schema, other: Schema) -> Schema:
    """A schema with what another one of the same database knows beside it: keys, descriptions, values, nullability.

    The first says which tables and columns there are, and what they are called.
    """
    tables = {
        name: _merged_table(table, other.tables[name]) if name in other.tables else table
        for name, table in schema.tables.items()
    }
    return Schema(schema.db_id, tables, foreign_keys=schema.foreign_keys | other.foreign_keys).finish()


def _merged_table(table: Table, other: Table) -> Table:
    columns = {key: _merged_column(column, other.columns.get(key)) for key, column in table.columns.items()}
    key = table.primary_key or tuple(key for key in other.primary_key if key in columns)
    return replace(table, columns=columns, described=_joined(table, other), primary_key=key)


def _merged_column(column: Column, other: Column | None) -> Column:
    if other is None:
        return replace(column)
    return replace(
        column,
        described=_joined(column, other),
        nullable=column.nullable and other.nullable,
        value_words={**other.value_words, **column.value_words},
    )


def _joined(one: Table | Column, other: Table | Column) -> tuple[Name, ...]:
    """The further names of both, none twice."""
    natural = () if other.natural.text == other.name else (other.natural,)  # the identifier itself is no further name
    return further_names((*one.described, *natural, *other.described), name_of(one.name), one.natural)


def further_names(names: Iterable[Name], *known: Name) -> tuple[Name, ...]:
    """Those of some names that say more than the names already known, none twice."""
    seen = {_told(name) for name in known} | {()}
    kept = []
    for name in names:
        if _told(name) not in seen:
            seen.add(_told(name))
            kept.append(name)
    return tuple(kept)


def _told(name: Name) -> tuple[str, ...]:
    return tuple(word for word in name.words if word not in ("the", "a", "an"))
