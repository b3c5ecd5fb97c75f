"""The rules that hold a reading of a query against a sentence, both ways.

A rule is a function with the decorator `rule` in a module of this folder, which is found by itself. It gives findings:
a fact that is said, missing or contradicted, or something that the sentence adds. How sure a finding against the
sentence is on its own stands in `lexicon/confidence.json`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from sensecheck.faithful.evidence import Evidence
from sensecheck.faithful.facts import Reading
from sensecheck.faithful.matching.alignment import align
from sensecheck.faithful.matching.leftover import talk_beside
from sensecheck.faithful.matching.ruling import BESIDE, Finding, rules_for
from sensecheck.faithful.matching.sentence import Sentence

_ORDER = (
    "values", "numbers", "negation", "comparisons", "superlatives", "aggregates", "connectives", "orders", "columns",
    "unknown_names", "tables", "quantifiers", "form_columns",
)  # fmt: skip
"""The order in which findings are told; modules that are not named come last."""

_TALKED_OF = frozenset(("negation", "number", "comparison", "connective", "entity"))
"""Kinds of additions that talk beside a question may hold; `on average` is a clause that belongs to it."""

_found = {module.name: len(_ORDER) for module in iter_modules(__path__)} | {n: i for i, n in enumerate(_ORDER)}
for _module in sorted(_found, key=lambda name: (_found[name], name)):
    import_module(f"{__name__}.{_module}")


def offered(reading: Reading, evidence: Evidence | None) -> frozenset[str]:
    """What rules may need of a query and what comes with it. Keys and words for names make findings many and weak, so
    they are weighed together."""
    offers = reading.offers
    if "keys" not in offers or (evidence is None and "described" not in offers):
        return offers
    return offers | {"weighed"} if evidence is None else offers | {"weighed", "evidence"}


def check(
    reading: Reading, sentence: Sentence, without: frozenset[str] = frozenset(), evidence: Evidence | None = None
) -> list[Finding]:
    """All findings of a query against a sentence, less those of rules that are switched off."""
    alignment = align(reading, sentence, evidence)
    offers = offered(reading, evidence)
    findings = [finding for rule in rules_for(offers, without) for finding in rule.find(alignment)]
    if not alignment.form and not alignment.weighed and any(_may_be_talk(finding) for finding in findings):
        talk = talk_beside(alignment)
        findings = [
            f._replace(confidence=BESIDE) if _may_be_talk(f) and talk.issuperset(f.positions) else f for f in findings
        ]
    return [finding for finding in findings if finding.rule not in without] if without else findings


def _may_be_talk(finding: Finding) -> bool:
    return finding.status == "added" and finding.kind in _TALKED_OF and finding.confidence > BESIDE
