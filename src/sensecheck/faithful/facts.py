"""What a query says, one fact at a time, whatever the query's language.

A language module turns a query into a `Reading`; the matching holds the reading against a sentence. Nothing in here
knows a language.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import resources
from typing import Any

from sensecheck.inputs.reasons import Reason
from sensecheck.language.morphology import stem
from sensecheck.language.tokens import split_identifier

Span = tuple[int, int]

_SHORT_FORMS: dict[str, str] = json.loads(
    resources.files("sensecheck.language").joinpath("data", "short_forms.json").read_text("utf-8")
)["short_forms"]
"""How databases shorten words that nobody says so: nm, dt."""


class UnreadableQueryError(ValueError):
    """The query could not be read. `reason` is one word for counting, the message says more."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def unreadable(message: str) -> UnreadableQueryError:
    """The error for text that is not of the language."""
    return UnreadableQueryError(Reason.UNREADABLE_QUERY, message)


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A column, table or property as people would say it: its words and their stems, which follow from its text."""

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Name) and self.text == other.text)

    def __hash__(self) -> int:
        return hash(self.text)


@lru_cache(maxsize=65_536)
def name_of(text: str) -> Name:
    """The words of an identifier or of a natural-language name."""
    words = tuple(_SHORT_FORMS.get(word, word) for word in split_identifier(text)[:12])
    return Name(text, words, tuple(stem(w) for w in words))


NO_NAME = Name("", (), ())


@dataclass(slots=True, eq=False)
class Fact:
    """One thing the query says.

    kind: column, table, aggregate, comparison, negation, order, limit, setop, connective, distinct, group, quantifier,
    ordinal, entity, misfit. The other fields are used as the kind needs them.
    """

    kind: str
    text: str
    span: Span | None = None
    name: Name = NO_NAME
    also: tuple[Name, ...] = ()  # other names of the same thing: the identifier beside the schema's natural name
    table: Name = NO_NAME  # of a column: the table that it was found in
    role: str = ""  # the clause: select, where, having, order, group, result, filter
    op: str = ""  # =, !=, >, >=, <, <=, like, between; or, and; union, intersect, except; all, most, only
    aggregate: str = ""  # count, sum, avg, max, min
    direction: int = 0  # 1 towards the large end, -1 towards the small
    value: str | None = None  # a literal as text
    number: float | None = None  # a literal as number
    limited: bool = False  # an order that a limit cuts
    optional: bool = False  # people need not say it
    way: str = ""  # from or to: which end of a journey the value stands for
    pair: tuple[str, str] | None = None  # what is compared with what: the values that pick the two rows
    whole: bool = False  # what a literal is held against is the column itself, not something made of it
    integral: bool = False  # the number counts things: more than one is at least two

    @property
    def names(self) -> tuple[Name, ...]:
        """Every name that the thing goes by."""
        return (self.name, *self.also)

    @property
    def plain_value(self) -> str:
        """The literal as it is looked up in word lists."""
        return (self.value or "").strip().lower().replace(" / ", "/")

    @property
    def in_digits(self) -> bool:
        """Whether the literal is a number written in digits."""
        return self.number is not None and any(c.isdigit() for c in self.value or "")


@dataclass
class Reading:
    """All facts of a query, and the names that its surroundings (the schema) know but it does not use.

    What follows from the facts alone is made once: a query may come with many sentences.
    """

    facts: list[Fact]
    names: list[Name] = field(default_factory=list)  # used in the query
    other_names: list[Name] = field(default_factory=list)  # columns of its tables that it does not use
    other_tables: list[Name] = field(default_factory=list)  # tables that it does not use
    vocabulary: frozenset[str] = frozenset()  # stems of every name in the schema
    entities: frozenset[str] = frozenset()  # stems of the words that name tables
    textual: frozenset[Name] = frozenset()  # names of columns that hold text, as the schema says
    timed: frozenset[Name] = frozenset()  # names of columns that hold dates and times, as the schema says
    labelled: tuple[tuple[Name, tuple[Name, ...]], ...] = ()  # tables, each with the columns that stand for its rows
    language: str = "sql"
    joins: list[tuple[Name, Name]] = field(default_factory=list)  # columns that must be equal in a row
    opaque: bool = False  # it holds identifiers that nobody could say, so what the sentence names may be them
    surroundings: frozenset[str] = frozenset()  # what is known beside the query: keys, described
    make_outline: Callable[[], Any] | None = None  # how the language tells which column stands where, when asked
    lacks: Sequence[Any] = ()  # literals that find nothing in the database, where one is given

    def __post_init__(self) -> None:
        self.names = list(dict.fromkeys(self.names))
        self._by_kind: dict[str, list[Fact]] = {}
        self.texts: list[Fact] = []
        """Facts whose literal is words."""
        self.numerals: list[Fact] = []
        """Facts whose literal is a number."""
        for fact in self.facts:
            self._by_kind.setdefault(fact.kind, []).append(fact)
            if fact.kind in ("limit", "ordinal"):
                self.numerals += [fact] if fact.number is not None else []
            elif fact.kind in ("comparison", "entity") and fact.value is not None:
                (self.numerals if fact.in_digits else self.texts).append(fact)
        self.numbers = frozenset(f.number for f in self.facts if f.number is not None)
        self.aggregates = frozenset(f.aggregate for f in self.facts)
        self.directed = [f for f in self.of("comparison") if f.direction]
        """Comparisons of more and less."""
        form = "form" if self.language == "logic2text" else "query"
        self.offers = frozenset((self.language, form, "opaque" if self.opaque else "names", *self.surroundings))
        """What a rule may need: the language, whether it is a query or a logic form, names that can be said, what is
        known beside the query."""

    def looked_up(self, lacks: Sequence[Any]) -> None:
        """Note which literals find nothing in the database: rules that need values are held to this query from now."""
        self.lacks = lacks
        self.offers |= {"values"}

    def of(self, kind: str) -> list[Fact]:
        """The facts of a kind."""
        return self._by_kind.get(kind, [])

    @cached_property
    def outline(self) -> Any:
        """Which column stands where, for languages that tell; made when a rule first asks."""
        assert self.make_outline is not None
        return self.make_outline()

    @cached_property
    def _labels(self) -> frozenset[tuple[str, str]]:
        return frozenset((table.text, label.text) for table, labels in self.labelled for label in labels)

    def is_label(self, fact: Fact) -> bool:
        """Whether the column of a fact is one by which people mean the row itself."""
        return (fact.table.text, fact.name.text) in self._labels

    def labels_of(self, table: Name) -> tuple[Name, ...]:
        """The columns by which people mean the rows of a table."""
        return next((labels for name, labels in self.labelled if name is table or name == table), ())

    @cached_property
    def fixed_twice(self) -> Fact | None:
        """What a column must be equal to, or not, beside another value in one row: no table is read twice, and nothing
        is said of one of two."""
        compared = self.of("comparison")
        if len(compared) < 2 or self.of("connective") or self.of("setop"):
            return None
        if any(fact.value is None for fact in self.of("negation")):
            return None
        tables = [fact.name for fact in self.of("table")]
        fixed: dict[tuple[Name, Name], Fact] = {}
        alone = [f for f in compared if f.role == "where" and f.value is not None and f.whole]
        for fact in alone if len(set(tables)) == len(tables) else ():
            if fact.op == "=":
                first = fixed.setdefault((fact.table, fact.name), fact)
                if first.value != fact.value:
                    return fact
        # In Linz and not in Wels: the second follows from the first.
        return next((f for f in alone if f.op == "!=" and f.value and (f.table, f.name) in fixed), None)

    @cached_property
    def other_stems(self) -> frozenset[str]:
        """Stems of unused columns that no table and no used name has: words that tell of something else."""
        used = {key for name in self.names for key in name.stems}
        stems = {key for name in self.other_names for key in name.stems if len(key) > 2}
        return frozenset(stems - used - self.entities)

    @cached_property
    def other_index(self) -> dict[str, list[Name]]:
        """Unused columns by the stem of their first word. Nouns for the rows of a table are left out: they name no
        attribute."""
        index: dict[str, list[Name]] = {}
        for name in self.other_names:
            if name.stems and not self.entities.issuperset(name.stems):
                index.setdefault(name.stems[0], []).append(name)
        return index
