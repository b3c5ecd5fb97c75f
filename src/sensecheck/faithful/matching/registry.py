"""The list of rules: plain functions from an alignment to findings, each with what it needs of the query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.findings import CONFIDENCE, Finding

Find = Callable[[Alignment], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. It is held against a query only if the query's reading offers all that the rule needs."""

    name: str
    find: Find
    needs: frozenset[str]


RULES: dict[str, Rule] = {}
"""Every rule by its name, in the order in which their findings are told."""


def rule(*needs: str) -> Callable[[Find], Find]:
    """Make a function a rule by its own name. `needs`: what `Reading.offers` must hold (query, form, sql, names)."""

    def register(find: Find) -> Find:
        name = find.__name__
        if name in RULES:
            raise ValueError(f"there is a rule {name!r} already")
        RULES[name] = Rule(name, find, frozenset(needs))
        rules_for.cache_clear()
        return find

    return register


@lru_cache(maxsize=256)
def rules_for(offers: frozenset[str], without: frozenset[str] = frozenset()) -> tuple[Rule, ...]:
    """The rules that a reading can be held to. `without`: names of rules, or of the findings that they give."""
    unknown = sorted(without - RULES.keys() - CONFIDENCE.keys())
    if unknown:
        raise ValueError(f"no rule or finding is called {', '.join(map(repr, unknown))}: {', '.join(RULES)}")
    return tuple(rule for rule in RULES.values() if rule.needs <= offers and rule.name not in without)
