"""LSDSCC's own names: `from sensecheck.compat.lsdscc import HypothesisSet, ReferenceSet, compute_score_on_corpus`."""

from sensecheck.compat.lsdscc import align
from sensecheck.diverse.original import (
    HypothesisSet,
    LSDSCCScore,
    ReferenceSet,
    compute_score_on_corpus,
    compute_score_on_hypothesis_set,
)

__all__ = [
    "HypothesisSet",
    "LSDSCCScore",
    "ReferenceSet",
    "align",
    "compute_score_on_corpus",
    "compute_score_on_hypothesis_set",
]
