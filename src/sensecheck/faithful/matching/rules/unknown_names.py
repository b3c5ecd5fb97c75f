"""Quotations and capitalised words that do not come from the query."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.faithful.matching.alignment import Alignment
from sensecheck.faithful.matching.leftover import spoken
from sensecheck.faithful.matching.ruling import Finding, added, rule


@rule("query", "names")
def quotation_added(a: Alignment) -> Iterator[Finding]:
    """What the sentence quotes must be a value or a name of the query."""
    sentence = a.sentence
    for first, last in sentence.quotes:
        words = range(first, last)
        if any(a.owner[i] == "value" for i in words):
            continue
        if all(sentence.tokens[i].stem in a.reading.vocabulary for i in words):
            continue
        if any(n.first >= first and n.last <= last for i, n in enumerate(sentence.numbers) if i in a.used_numbers):
            continue
        quoted = " ".join(sentence.lows[first:last])
        if not any(f.value is not None and f.value.strip().lower() == quoted for f in a.reading.facts):
            yield added(sentence, "entity", "quotation_added", words)


@rule("query", "names")
def capitalised_added(a: Alignment) -> Iterator[Finding]:
    """Words with a capital letter inside a sentence name something, which must be in the query."""
    if a.sentence.text[1:].islower():
        return
    known, vocabulary = a.guards["capitalised"], a.vocabulary
    said = [(fact.value or "").lower().strip("%").split() for fact in a.said]
    values = [words for words in said if len(words) > 1 or (words and spoken(a))]
    at_start = True
    for i, token in enumerate(a.sentence.tokens):
        if token.kind == "sign":
            at_start = at_start or token.text in ".?!:"
            continue
        first_word, at_start = at_start, False
        if token.kind != "word" or not token.text[0].isupper() or first_word or a.owner[i]:
            continue
        if token.stem in a.reading.vocabulary or token.low in vocabulary.operator_words or token.low[:2] == "i'":
            continue
        if any(token.low in words for words in values):
            continue  # John Rutter, and then Rutter
        if a.weighed and any(token.low in name.text.lower() for name in a.reading.names):
            continue  # SAT in satscores
        if token.low not in known and token.low not in vocabulary.superlatives:
            yield added(a.sentence, "entity", "capitalised_added", range(i, i + 1))
