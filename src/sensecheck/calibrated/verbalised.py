"""Confidence in words: "85%", "0.85", "8/10", "very likely".

Numbers are taken at their word. Phrases are put on a scale of our own choosing, printed in docs/calibrated.md; surveys
since Kent's and Mosteller and Youtz's (1990, Quantifying Probabilistic Expressions, Statistical Science) agree that
readers differ, and most about the phrases marked `CONTESTED`, which runs that meet them say.
"""

from __future__ import annotations

import re

PHRASES: dict[str, float] = {
    "certain": 0.99,
    "certainly": 0.99,
    "definitely": 0.99,
    "absolutely certain": 0.99,
    "almost certain": 0.95,
    "almost certainly": 0.95,
    "nearly certain": 0.95,
    "highly likely": 0.9,
    "very likely": 0.9,
    "very probable": 0.9,
    "very confident": 0.9,
    "highly confident": 0.9,
    "very good chance": 0.8,
    "confident": 0.8,
    "we believe": 0.75,
    "likely": 0.7,
    "probable": 0.7,
    "probably": 0.7,
    "good chance": 0.7,
    "fairly confident": 0.7,
    "better than even": 0.6,
    "somewhat likely": 0.6,
    "somewhat confident": 0.6,
    "moderately confident": 0.6,
    "about even": 0.5,
    "even chance": 0.5,
    "fifty-fifty": 0.5,
    "toss-up": 0.5,
    "unsure": 0.5,
    "not sure": 0.5,
    "uncertain": 0.5,
    "possible": 0.4,
    "possibly": 0.4,
    "maybe": 0.4,
    "perhaps": 0.4,
    "might": 0.4,
    "somewhat unlikely": 0.35,
    "probably not": 0.25,
    "unlikely": 0.2,
    "improbable": 0.2,
    "not confident": 0.2,
    "doubtful": 0.2,
    "little chance": 0.1,
    "very unlikely": 0.1,
    "highly unlikely": 0.05,
    "almost no chance": 0.03,
    "almost impossible": 0.02,
    "impossible": 0.01,
    "no chance": 0.01,
    "high": 0.9,
    "medium": 0.6,
    "low": 0.3,
    "very high": 0.95,
    "very low": 0.1,
}
CONTESTED = frozenset(
    {
        "possible", "possibly", "maybe", "perhaps", "might", "likely", "probable", "probably", "good chance",
        "we believe", "uncertain", "unsure", "not sure", "doubtful", "high", "medium", "low", "confident",
    }
)  # fmt: skip
"""Phrases that readers put more than some 30 points apart."""

_LONGEST = 200
_NUMBER = r"(\d{1,3}(?:\.\d{1,10})?|\.\d{1,10})"
_PERCENT = re.compile(_NUMBER + r" ?(?:%|per ?cent\b)")
_OUT_OF = re.compile(_NUMBER + r" ?(?:/|out of) ?(10|100|5)\b")
_BARE = re.compile(
    r"(?:^|confidence|probability|score|about|around|roughly|approximately|[:=~≈])[\s:=~≈]*" + _NUMBER + r"\s*\.?$"
)
_BY_LENGTH = sorted(PHRASES, key=len, reverse=True)
_WORDS = re.compile(r"(?<![\w-])(" + "|".join(map(re.escape, _BY_LENGTH)) + r")(?![\w-])")


def spoken(text: str) -> tuple[float, str] | None:
    """The confidence that a text states, with the phrase it was read from ("" for a number); None where it states none.

    A text that states two different numbers states none.
    """
    lowered = text.strip().lower()[:_LONGEST]
    percents = {float(m) / 100 for m in _PERCENT.findall(lowered)}
    shares = {float(a) / float(b) for a, b in _OUT_OF.findall(lowered)}
    stated = percents | shares
    if len(stated) == 1:
        value = stated.pop()
        return (value, "") if 0 <= value <= 1 else None
    if stated:
        return None
    bare = _BARE.search(lowered)
    if bare:
        value = float(bare.group(1))
        # A whole number above 1 can only be a percentage here.
        value = value / 100 if 1 < value <= 100 and value == int(value) else value
        return (value, "") if 0 <= value <= 1 else None
    phrases = _WORDS.findall(lowered)
    if phrases and len({PHRASES[p] for p in phrases}) == 1:
        return PHRASES[phrases[0]], phrases[0]
    return None
