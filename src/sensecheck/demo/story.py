"""The story of two small systems, A and B, told by every question whose room is furnished."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sensecheck.demo import path

if TYPE_CHECKING:
    from sensecheck.report.result import Result

SYSTEMS = ("A", "B")


@dataclass(frozen=True)
class Scene:
    """One question asked of both systems."""

    question: str
    about: str
    evaluate: Callable[[str, Path], Result]
    """(system, directory of the run) → result."""


def _calibrated(system: str, out: Path) -> Result:
    from sensecheck import calibrated

    return calibrated.evaluate(
        path(f"parser_{system.lower()}.logits.gz"), slices=["question_type"], out=out, overwrite=True, system=system
    )


def _diverse(system: str, out: Path) -> Result:
    from sensecheck import diverse

    return diverse.evaluate(
        path(f"dialogue_{system.lower()}.txt"), path("dialogue_refs.json"), out=out, overwrite=True, system=system
    )


SCENES = (
    Scene("diverse", "two systems' answers at Larkhaven's information desk", _diverse),
    Scene("calibrated", "two small text-to-SQL parsers, trained on questions about the town of Larkhaven", _calibrated),
)
