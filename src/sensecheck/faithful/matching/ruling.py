"""What rules are made of: the findings that they give, and the list that they stand in.

A rule is a plain function from an alignment to findings, with what it needs of the query. A finding is a fact that is
said or not, or something that the sentence adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sensecheck.faithful.facts import Fact, Span
from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.sentence import Sentence
from sensecheck.language.lexicon import read_package_lexicon

OFFERS = frozenset(
    (
        "sql", "sparql", "logic2text", "query", "form", "names", "opaque", "keys", "described", "evidence", "weighed",
        "values",
    )
)  # fmt: skip
"""What a reading may offer: its language, whether it is a query or a logic form, whether all its names are known; keys
and descriptions of a schema; evidence beside the question; whether findings are weighed together; the values of a
database."""

_LEXICON = read_package_lexicon("sensecheck.faithful", "lexicon", "confidence.json")
CONFIDENCE: dict[str, float] = _LEXICON["rules"]
"""How sure a finding against the sentence is on its own, by the name it goes by."""

BESIDE: float = _LEXICON["beside"]
"""How sure an addition is at most that stands in a clause of mere talk."""


class Finding(NamedTuple):
    """One piece of evidence. status: said, unsaid (allowed), missing, contradicted, added; risk for what says nothing
    against the pair but goes with wrong ones."""

    status: str
    kind: str
    rule: str
    confidence: float
    text: str
    query_span: Span | None
    positions: Sequence[int]  # tokens of the sentence that bear on it
    fact: Fact | None = None  # None for what the sentence adds


def said(fact: Fact, rule: str, positions: Sequence[int] = ()) -> Finding:
    return Finding("said", fact.kind, rule, 1.0, fact.text, fact.span, positions, fact)


def unsaid(fact: Fact, rule: str, positions: Sequence[int] = ()) -> Finding:
    """Not said, as people would not say it."""
    return Finding("unsaid", fact.kind, rule, 1.0, fact.text, fact.span, positions, fact)


def missing(fact: Fact, rule: str, positions: Sequence[int] = ()) -> Finding:
    return Finding("missing", fact.kind, rule, _weight(rule), fact.text, fact.span, positions, fact)


def contradicted(fact: Fact, rule: str, positions: Sequence[int] = ()) -> Finding:
    return Finding("contradicted", fact.kind, rule, _weight(rule), fact.text, fact.span, positions, fact)


def added(sentence: Sentence, kind: str, rule: str, words: range) -> Finding:
    start, end = sentence.span(words.start, words.stop)
    return Finding("added", kind, rule, _weight(rule), sentence.text[start:end], None, words)


def against(kind: str, rule: str, text: str, span: Span | None = None) -> Finding:
    """Something that the query has and nobody would mean, whatever the sentence says."""
    return Finding("contradicted", kind, rule, _weight(rule), text, span, ())


def demanded(rule: str, text: str, positions: Sequence[int] = ()) -> Finding:
    """Something that is asked for and the query lacks."""
    return Finding("added", "demand", rule, _weight(rule), text, None, positions)


def risk(rule: str, text: str, span: Span | None = None) -> Finding:
    return Finding("risk", "risk", rule, 0.0, text, span, ())


def _weight(rule: str) -> float:
    """A finding without a weight would never count, and nobody would notice."""
    if rule not in CONFIDENCE:
        raise LookupError(f"the finding {rule!r} has no weight in faithful/lexicon/confidence.json")
    return CONFIDENCE[rule]


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

    unknown = sorted(set(needs) - OFFERS)
    if unknown:
        raise ValueError(f"no reading offers {', '.join(map(repr, unknown))}: {', '.join(sorted(OFFERS))}")

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


def spans_of(sentence: Sentence, positions: Sequence[int]) -> list[Span]:
    """Characters of token positions, neighbours joined."""
    spans: list[Span] = []
    previous = -2
    for i in sorted(set(positions)):
        token = sentence.tokens[i]
        if i == previous + 1 and spans:
            spans[-1] = (spans[-1][0], token.end)
        else:
            spans.append((token.start, token.end))
        previous = i
    return spans
