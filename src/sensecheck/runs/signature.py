"""The signature: every choice that can change a figure, in one line.

Choices are plain data (text, numbers, true/false, lists) that print; nothing is ever read back out of a printed line.
The *method* part must match for two runs to be compared; the *system* part (whose predictions, which file) may
differ. The short form names only what is not the default; the long form names all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sensecheck._version import __version__

Choice = str | int | float | bool | None | Sequence[Any] | Mapping[str, Any]
"""What a choice may be: anything that JSON can say."""
Method = Mapping[str, Choice]

OF_ITS_SIZE = ("grid",)
"""Choices that follow from how many rows a run has: a comparison looks at the rows of both anew."""
MEANINGS = {
    "store": "queries ran on other data",
    "schema": "queries were read with another schema",
    "lexicon": "sentences were read with other word lists",
    "labels": "queries or pairs were read with other labels",
    "distances": "turns have other context distances",
    "reference-files": "responses were measured by other references",
}
"""What another fingerprint means, for choices whose values say nothing to a reader."""


@dataclass(frozen=True)
class Signature:
    question: str
    method: Method
    system: Mapping[str, str] = field(default_factory=dict)
    defaults: Method = field(default_factory=dict)
    version: str = __version__

    def __post_init__(self) -> None:
        for part in ("method", "defaults"):
            object.__setattr__(self, part, {name: _plain(choice) for name, choice in getattr(self, part).items()})

    @property
    def short(self) -> str:
        return _line(self.question, {k: v for k, v in self.method.items() if not self._is_default(k)}, self.version)

    @property
    def long(self) -> str:
        return _line(self.question, self.method, self.version)

    def _is_default(self, name: str) -> bool:
        return name in self.defaults and self.defaults[name] == self.method[name]

    def __str__(self) -> str:
        return self.short

    def to_dict(self) -> dict[str, Any]:
        return {
            "short": self.short,
            "long": self.long,
            "question": self.question,
            "method": dict(self.method),
            "defaults": [name for name in self.method if self._is_default(name)],
            "system": dict(self.system),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Signature:
        method = dict(plain["method"])
        defaults = {name: method[name] for name in plain["defaults"]}
        return cls(str(plain["question"]), method, dict(plain["system"]), defaults, str(plain["version"]))

    def differences(self, other: Signature) -> dict[str, str]:
        """What keeps two runs from being compared: each choice that is not the same, and in which way."""
        differing: dict[str, str] = {}
        if self.question != other.question:
            differing["question"] = f"{self.question} against {other.question}"
        if self.version != other.version:
            differing["sensecheck version"] = f"{self.version} against {other.version}"
        for name in dict.fromkeys([*self.method, *other.method]):
            if name in OF_ITS_SIZE:
                continue
            if name not in self.method or name not in other.method or self.method[name] != other.method[name]:
                a, b = (spelled(s.method[name]) if name in s.method else "(not set)" for s in (self, other))
                differing[name] = f"{MEANINGS[name]} ({a} against {b})" if name in MEANINGS else f"{a} against {b}"
        return differing


def spelled(choice: Choice) -> str:
    """A choice as the signature prints it.

    >>> [spelled(choice) for choice in (True, None, 0.5, ["a", "b"], "logits")]
    ['yes', 'none', '0.5', 'a,b', 'logits']
    """
    if isinstance(choice, bool):
        return "yes" if choice else "no"
    if choice is None:
        return "none"
    if isinstance(choice, float):
        return f"{choice:g}"
    if isinstance(choice, Mapping):
        return ",".join(f"{name}={spelled(part)}" for name, part in choice.items())
    if isinstance(choice, Sequence) and not isinstance(choice, str):
        return ",".join(spelled(part) for part in choice)
    return str(choice)


def _plain(choice: Choice) -> Any:
    """The choice as it is after a trip through JSON, so that a stored one equals a new one."""
    if isinstance(choice, Mapping):
        return {str(name): _plain(part) for name, part in choice.items()}
    if isinstance(choice, Sequence) and not isinstance(choice, str):
        return [_plain(part) for part in choice]
    if isinstance(choice, int) and abs(choice) >= 1 << 63:
        return str(choice)  # JSON writers stop at 64 bits
    return choice


def _line(question: str, method: Method, version: str) -> str:
    parts = [question, *(f"{name}:{spelled(choice)}" for name, choice in method.items()), f"version:{version}"]
    # The separator must not appear inside a part, or a reader could not tell the parts.
    return "|".join(part.replace("|", "¦").replace("\n", " ") for part in parts)
