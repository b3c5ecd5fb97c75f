"""From one sentence to many: run the rules, drop repeats, and pick so that no one rule fills the list."""

from __future__ import annotations

from collections.abc import Iterator

# Imported for their rules, which are listed in this order.
from sensecheck.language.rewriting import contradicting, following  # noqa: F401
from sensecheck.language.rewriting.lexicon import Lexicon, english, listed
from sensecheck.language.rewriting.reading import read, tokens_of
from sensecheck.language.rewriting.rules import RULES, Rewrite

MAX_LETTERS = 2_000
_DENIALS = listed("negatives") - {"without"}
_RULES = {positive: [rule for rule in RULES if rule.positive is positive] for positive in (True, False)}


def _key(text: str) -> str:
    return " ".join(tokens_of(text.lower()))


def _all(text: str, positive: bool, lexicon: Lexicon) -> Iterator[Rewrite]:
    if len(text) > MAX_LETTERS:
        return  # no sentence, and every rule would walk through it
    clause = read(text, lexicon)
    half_denied = not clause.negated and not _DENIALS.isdisjoint(clause.lower)
    for rule in _RULES[bool(positive)]:
        # Denying what is half denied already is seldom the opposite.
        if rule.half_denied or not half_denied:
            yield from rule.rewrites(clause)


def rewrites(text: str, positive: bool, lexicon: Lexicon | None = None) -> list[Rewrite]:
    """Every distinct rewrite of a sentence, equivalents before consequences, in the order of the rules."""
    distinct: dict[str, Rewrite] = {}
    for rewrite in _all(text, positive, lexicon or english()):
        distinct.setdefault(_key(rewrite.text), rewrite)
    return [rewrite for key, rewrite in distinct.items() if key not in ("", _key(text))]


def pick(candidates: list[Rewrite], n: int) -> list[Rewrite]:
    """Up to n rewrites, taking the families of rules in turn; one sentence frame at most, and last."""
    by_family: dict[str, list[Rewrite]] = {}
    for rewrite in candidates:
        by_family.setdefault(rewrite.family, []).append(rewrite)
    frames = by_family.pop("frame", [])[:1]
    chosen: list[Rewrite] = []
    while len(chosen) < n and any(by_family.values()):
        for queue in by_family.values():
            if queue and len(chosen) < n:
                chosen.append(queue.pop(0))
    return (chosen + frames)[:n]


def rewrite(text: str, positive: bool, n: int = 5, lexicon: Lexicon | None = None) -> list[Rewrite]:
    """n different statements that follow from a sentence (positive) or contradict it; fewer where the rules
    have no more.
    """
    return pick(rewrites(text, positive, lexicon), n)
