"""The signature: every choice that can change a figure, in one line.

The *method* part must match for two runs to be compared; the *system* part (whose predictions, which file) may
differ. The short form names only what is not the default; the long form names all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sensecheck._version import __version__


@dataclass(frozen=True)
class Signature:
    question: str
    method: Mapping[str, str]
    system: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    version: str = __version__

    @property
    def short(self) -> str:
        kept = {k: v for k, v in self.method.items() if self.defaults.get(k) != v}
        return _line(self.question, kept, self.version)

    @property
    def long(self) -> str:
        return _line(self.question, self.method, self.version)

    def __str__(self) -> str:
        return self.short

    def to_dict(self) -> dict[str, Any]:
        return {
            "short": self.short,
            "long": self.long,
            "question": self.question,
            "method": dict(self.method),
            "system": dict(self.system),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Signature:
        method = dict(plain["method"])
        shown = dict(part.split(":", 1) for part in str(plain["short"]).split("|")[1:])
        return cls(
            str(plain["question"]),
            method,
            dict(plain["system"]),
            {k: v for k, v in method.items() if k not in shown},
            str(plain["version"]),
        )

    def differences(self, other: Signature) -> list[str]:
        """What keeps two runs from being compared: one line for every choice that is not the same."""
        found = []
        if self.question != other.question:
            found.append(f"question: {self.question} against {other.question}")
        if self.version != other.version:
            found.append(f"sensecheck version: {self.version} against {other.version}")
        for key in dict.fromkeys([*self.method, *other.method]):
            a, b = self.method.get(key, "(not set)"), other.method.get(key, "(not set)")
            if a != b:
                found.append(f"{key}: {a} against {b}")
        return found


def _line(question: str, method: Mapping[str, str], version: str) -> str:
    parts = [question, *(f"{k}:{v}" for k, v in method.items()), f"version:{version}"]
    # The separator must not appear inside a value, or the line could not be read back.
    return "|".join(p.replace("|", "¦").replace("\n", " ") for p in parts)
