"""From one sentence to many: run the rules, drop repeats, and pick so that no one rule fills the list."""

from __future__ import annotations

from collections.abc import Iterator

from sensecheck.language.rewriting import contradicting, following
from sensecheck.language.rewriting.assembling import Rewrite, plain
from sensecheck.language.rewriting.clause import lower_first, read, tokens_of
from sensecheck.language.rewriting.lexicon import NEGATIVES, Lexicon, english

MAX_LETTERS = 2_000


def _key(text: str) -> str:
    return " ".join(tokens_of(text.lower()))


def _all(text: str, positive: bool, lexicon: Lexicon) -> Iterator[Rewrite]:
    if len(text) > MAX_LETTERS:
        return  # no sentence, and every rule would walk through it
    clause = read(text, lexicon)
    if clause.kind == "unreadable":
        words = lower_first(tokens_of(text), lexicon)
    else:
        words = plain(clause, lexicon)
    negative_inside = not clause.negated and any(w.lower() in NEGATIVES - {"without"} for w in words)
    for rule in following.RULES if positive else contradicting.RULES:
        if negative_inside and not positive and rule not in (contradicting.frames, contradicting.has_none):
            continue  # denying what is half denied already is seldom the opposite
        yield from rule(clause, words, lexicon)


def rewrites(text: str, positive: bool, lexicon: Lexicon | None = None) -> list[Rewrite]:
    """Every distinct rewrite of a sentence, equivalents before consequences, in the order of the rules."""
    lexicon = lexicon or english()
    seen = {_key(text)}
    distinct: list[Rewrite] = []
    for rewrite in _all(text, positive, lexicon):
        key = _key(rewrite.text)
        if key and key not in seen:
            seen.add(key)
            distinct.append(rewrite)
    return distinct


def pick(candidates: list[Rewrite], n: int) -> list[Rewrite]:
    """Up to n rewrites, taking the rules in turn; one sentence frame at most, and last."""
    by_rule: dict[str, list[Rewrite]] = {}
    for rewrite in candidates:
        by_rule.setdefault(rewrite.rule, []).append(rewrite)
    frames = by_rule.pop("frame", [])[:1]
    chosen: list[Rewrite] = []
    while len(chosen) < n and any(by_rule.values()):
        for queue in by_rule.values():
            if queue and len(chosen) < n:
                chosen.append(queue.pop(0))
    return (chosen + frames)[:n]


def rewrite(text: str, positive: bool, n: int = 5, lexicon: Lexicon | None = None) -> list[Rewrite]:
    """n different statements that follow from a sentence (positive) or contradict it; fewer where the rules
    have no more.
    """
    return pick(rewrites(text, positive, lexicon), n)
