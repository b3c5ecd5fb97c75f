"""Doubt: how likely a pair is wrong, all that speaks against it taken together.

Where a schema has keys, and the question comes with evidence or the schema with descriptions, findings are many and
each is weak. Their weights are log-odds, fitted by `scripts/fit_doubt.py` on pairs whose truth is known; they add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp

from sensecheck.faithful.matching.ruling import Finding
from sensecheck.language.lexicon import read_package_lexicon

_COUNTED = frozenset(("missing", "contradicted", "added", "risk"))
_MOST = 30.0  # log-odds beyond which nothing changes

_FITTED = read_package_lexicon("sensecheck.faithful", "lexicon", "doubt.json")
BIAS: float = _FITTED["bias"]
WEIGHTS: Mapping[str, float] = _FITTED["weights"]


def names_of(findings: Iterable[Finding]) -> frozenset[str]:
    """The findings that add to the doubt, by their names: one that is made twice counts once."""
    return frozenset(finding.rule for finding in findings if finding.status in _COUNTED)


def doubt_of(findings: Iterable[Finding]) -> float:
    """How likely the pair is wrong, from 0 to 1."""
    return _share(BIAS + sum(WEIGHTS.get(name, 0.0) for name in names_of(findings)))


def weighed(finding: Finding) -> Finding:
    """A finding as sure as it would be alone. One that tells nothing is no fault, and no risk."""
    if finding.status not in _COUNTED:
        return finding
    weight = WEIGHTS.get(finding.rule, 0.0)
    if weight <= 0:
        return finding._replace(status="unsaid", confidence=1.0)
    return finding._replace(confidence=_share(BIAS + weight))


def _share(log_odds: float) -> float:
    return 1 / (1 + exp(-max(-_MOST, min(_MOST, log_odds))))
