"""What a sentence rule is. Rules put themselves on the list, in the order in which their modules define them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any

from sensecheck.language.rewriting.clause import Clause
from sensecheck.language.rewriting.lexicon import table_of

EQUIVALENT, FOLLOWS, CONTRADICTS = "equivalent", "follows", "contradicts"
READABLE = "existential progressive copular perfect modal simple do"
ANY_KIND = READABLE + " unreadable"
Made = str | tuple[str, str]
"""A statement, or a statement and how it stands to the sentence where that differs from the rule's relation."""
Make = Callable[[Clause], Iterable[Made]]
Holds = Callable[[Clause], bool]

_ANY = table_of("under a denial")
_SOME = re.compile(rf"(?<= )(?:{'|'.join(_ANY)})(?=\.*(?: (?!\d)|$))")
_DENIALS = frozenset(("no", "nobody", "negation", "quantifier", "refusal", "not begun"))


@dataclass(frozen=True)
class Rewrite:
    """A sentence made from another: by which rule, and how the two stand to each other."""

    text: str
    rule: str
    family: str
    """rules of one family take turns as one when statements are picked"""
    relation: str
    """equivalent, follows (from the original, not the other way round) or contradicts"""

    @property
    def frame(self) -> bool:
        """The whole original stands inside it unchanged: "It is not true that …"."""
        return self.family == "frame"


@dataclass(frozen=True)
class Rule:
    """One way to make statements of a clause, and the clauses it is for."""

    name: str
    relation: str
    family: str
    description: str
    make: Make
    kinds: frozenset[str]
    negated: bool | None
    """only for negated clauses, only for others, or None: for both"""
    past: bool | None
    half_denied: bool
    """also where a denial stands inside: "has no arms" """

    @property
    def positive(self) -> bool:
        return self.relation != CONTRADICTS

    def rewrites(self, clause: Clause) -> Iterable[Rewrite]:
        """What this rule alone makes of a clause."""
        if clause.kind not in self.kinds or self.negated not in (None, clause.negated):
            return ()
        made = self.make(clause) if self.past in (None, clause.past) else ()
        return (self._rewrite(statement, clause.shortened) for statement in made)

    def _rewrite(self, made: Made, shortened: bool) -> Rewrite:
        text, relation = (made, self.relation) if isinstance(made, str) else made
        if shortened and relation == EQUIVALENT:
            relation = FOLLOWS
        denies = self.family in _DENIALS or (self.family in ("far from", "denying adverb") and "never" in text)
        if denies and not self.positive:
            text = _SOME.sub(lambda found: _ANY[found.group()], text)
        return Rewrite(text, self.name, self.family, relation)


RULES: list[Rule] = []


def rule(
    relation: str,
    family: str,
    kinds: str = READABLE,
    *,
    negated: bool | None = False,
    past: bool | None = None,
    half_denied: bool = False,
) -> Callable[[Make], Make]:
    """Put a function on the list of rules: its name is the rule's, its docstring says what it does."""

    def listing(make: Make) -> Make:
        name, description = make.__name__.replace("_", " "), (make.__doc__ or "").strip()
        inside = half_denied or relation != CONTRADICTS
        RULES.append(Rule(name, relation, family, description, make, frozenset(kinds.split()), negated, past, inside))
        return make

    return listing


def saying(relation: str, family: str, kinds: str, *templates: str, **only: Any) -> Callable[[Holds], Holds]:
    """Make a rule of a function that tells of which clauses the templates may be said."""

    def listing(holds: Holds) -> Holds:
        def make(clause: Clause) -> Iterable[Made]:
            return map(clause.say, templates) if holds(clause) else ()

        rule(relation, family, kinds, **only)(update_wrapper(make, holds))
        return holds

    return listing
