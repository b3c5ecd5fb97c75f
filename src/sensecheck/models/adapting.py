"""What a server refuses of how it is asked, and what is asked instead, from then on and for the whole run.

Servers that call themselves compatible differ in their fields, and say so only by refusing. A refusal that names a
field of ours is met by the next best way; anything else is the caller's to tell.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, replace

from sensecheck.models.dialects import GRAMMAR, GUIDED, SCHEMA, Dialect, Question

LIKELY = (20, 5, 0)
"""How many likely tokens are asked for: servers allow 20, or 5, or none."""
_ABOUT_LIMIT = re.compile(r"max_(?:completion_|output_)?tokens|in the completion|completion tokens")
_CONTEXT = re.compile(r"context (?:length|window|size)[^0-9]{0,40}([0-9]{2,9})")
_ALLOWED = re.compile(r"(?:at most|less than or equal to|<=|>)\s{0,2}([0-9]{2,9})")
_STRUCTURE_WORDS = {
    SCHEMA: ("response_format", "json_schema", "text.format", "structured output"),
    GUIDED: ("guided_choice",),
    GRAMMAR: ("grammar",),
}
_LEAST_TOKENS = 16


@dataclass(frozen=True)
class Manner:
    """How this server is asked."""

    limit_name: str = ""
    structure: str = ""
    likely: int = 0
    takes_temperature: bool = True
    takes_seed: bool = True
    most_tokens: int | None = None

    def of(self, question: Question) -> Question:
        return replace(
            question,
            max_tokens=min(question.max_tokens, self.most_tokens or question.max_tokens),
            temperature=question.temperature if self.takes_temperature else None,
            seed=question.seed if self.takes_seed else None,
            structure=self.structure if question.choices else "",
            likely=self.likely if question.choices else 0,
            limit_name=self.limit_name,
        )


class Adapting:
    """The manner in which a server is asked, changed by what it refuses; for many threads."""

    def __init__(self, dialect: Dialect, structure: str = "auto", likely: bool = False) -> None:
        self._dialect = dialect
        self._left = list(dialect.structures) if structure == "auto" else [s for s in (structure,) if s != "off"]
        self._lock = threading.Lock()
        self.manner = Manner(
            structure=self._left.pop(0) if self._left else "",
            likely=LIKELY[0] if likely and dialect.tells_likely else 0,
        )
        self.changes: dict[str, None] = {}
        """what was changed, in words, in the order in which it happened"""
        if likely and not dialect.tells_likely:
            self.changes["this interface tells no log-probabilities"] = None

    def refused(self, words: str, manner: Manner) -> bool:
        """Whether a call that was asked in this manner and refused in these words can be asked in another one now."""
        words = words.lower()
        with self._lock:
            if manner != self.manner:
                return True  # another thread has met the same already
            changed = self._changed(words, manner)
            if changed is None:
                return False
            self.manner, said = changed
            self.changes[said] = None
            return True

    def _changed(self, words: str, manner: Manner) -> tuple[Manner, str] | None:
        limit = manner.limit_name or self._dialect.limit_name
        most = _most(words)
        if most is not None and (manner.most_tokens is None or most < manner.most_tokens):
            return replace(manner, most_tokens=most), f"answers may have {most:,} tokens at most: no more fit there"
        other = self._dialect.other_limit_name
        if limit in words and most is None and other and not manner.limit_name:
            return replace(manner, limit_name=other), f"{limit} was refused: {other} is sent"
        if manner.structure and any(word in words for word in _STRUCTURE_WORDS[manner.structure]):
            following = self._left.pop(0) if self._left else ""
            instead = f"{following} is asked for" if following else "answers are free text"
            return replace(manner, structure=following), f"{manner.structure} was refused: {instead}"
        if manner.likely and ("logprob" in words or "message.output_text" in words):
            fewer = next(n for n in LIKELY if n < manner.likely)
            instead = f"{fewer} are asked for" if fewer else "answers come without probabilities"
            return replace(manner, likely=fewer), f"{manner.likely} log-probabilities were refused: {instead}"
        if manner.takes_temperature and "temperature" in words:
            return replace(manner, takes_temperature=False), (
                "temperature was refused and is not sent: answers may differ when they are asked for again"
            )
        if manner.takes_seed and re.search(r"\bseed\b", words):
            return replace(manner, takes_seed=False), "seed was refused and is not sent"
        return None


def _most(words: str) -> int | None:
    """The tokens that an answer may have, where a refusal says that it was to have too many.

    >>> _most("max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens")
    8192
    """
    if not _ABOUT_LIMIT.search(words):
        return None  # a prompt that is too long by itself is no fault of the limit
    if context := _CONTEXT.search(words):
        return max(_LEAST_TOKENS, int(context[1]) // 2)  # the other half is left to the prompt
    allowed = _ALLOWED.search(words)
    return None if allowed is None else max(_LEAST_TOKENS, int(allowed[1]))
