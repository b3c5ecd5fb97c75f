"""The rules that hold a reading of a query against a sentence, both ways, one after the other.

Every rule gives findings: a fact that is said, missing or contradicted, or something that the sentence adds. A finding
against the sentence carries a confidence from `lexicon/confidence.json`: how sure such a finding is on its own. The
rules stand in the modules beside this one, each building on the one before: evidence, literals, denials, degrees,
amounts, connectives, attributes, forms.
"""

from __future__ import annotations

from sensecheck.faithful.facts import Reading
from sensecheck.faithful.matching.evidence import CONFIDENCE, Finding, spans_of
from sensecheck.faithful.matching.forms import Forms
from sensecheck.faithful.matching.sentence import Sentence

__all__ = ["CONFIDENCE", "Check", "Finding", "check", "spans_of"]


class Check(Forms):
    """One query against one sentence."""

    def run(self) -> list[Finding]:
        self.claim_names()
        self.elaborations = [] if self.sql else self.unsaid_elaborations()
        self.values()
        self.claim_quotes()
        self.sentence.read_signals()
        for signal in self.sentence.signals:
            self.kinds.setdefault(signal.kind, []).append(signal)
        self.numbers()
        self.negations()
        self.comparisons()
        self.extremes()
        self.aggregates()
        self.connectives()
        if self.sql:
            self.ordering()
            self.columns()
            if not self.reading.opaque:
                self.entities()
            self.tables()
            self.misfits()
            self.question_form()
        else:
            self.differences()
            self.quantifiers()
            self.logic_columns()
        return self.findings


def check(reading: Reading, sentence: Sentence) -> list[Finding]:
    """All findings of a query against a sentence."""
    return Check(reading, sentence).run()
