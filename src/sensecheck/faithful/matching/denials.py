"""Words that deny, and values that deny by themselves."""

from __future__ import annotations

from sensecheck.faithful.matching.sentence import Sentence


def denied_opposite(sentence: Sentence, low: str) -> bool:
    """`not paved` for unpaved."""
    for prefix in sentence.vocabulary.negative_prefixes:
        rest = low.removeprefix(prefix).lstrip(" -")
        if rest != low and len(rest) > 3 and rest in sentence.by_low:
            return any(
                word.negative or any(len(keys) == 1 and "negation" in kinds for keys, kinds in word.phrases)
                for word in sentence.words
            )
    return False


def sounds_negative(sentence: Sentence, longer_than: int = 0) -> bool:
    """Whether a word begins like a denial: unpaved, nonfiction; not like under or include."""
    prefixes, innocent = sentence.vocabulary.negative_prefixes, sentence.vocabulary.guards["not_negative"]
    return any(len(low) > longer_than and low.startswith(prefixes) and low not in innocent for low in sentence.lows)
