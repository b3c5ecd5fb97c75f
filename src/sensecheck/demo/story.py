"""The story of two small systems, A and B, told by every question whose room is furnished."""

from __future__ import annotations

import re
import sqlite3
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


def _faithful(system: str, out: Path) -> Result:
    from sensecheck import faithful

    return faithful.evaluate(
        path(f"sentences_{system.lower()}.jsonl"), schema=path("tables.json"), slices=["question_type"], out=out,
        overwrite=True, system=system,
    )  # fmt: skip


def _correct(system: str, out: Path) -> Result:
    from sensecheck import correct

    databases = out.parent / "databases"
    _build_databases(databases)
    return correct.evaluate(
        path(f"sql_{system.lower()}.jsonl.gz"), database=databases, slices=["question_type"], out=out, overwrite=True,
        system=system,
    )  # fmt: skip


def _build_databases(folder: Path) -> None:
    """The town's two SQLite files, from the SQL text that comes with the package."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("larkhaven_transit", "larkhaven_museums"):
        target = folder / f"{name}.sqlite"
        if target.exists():
            continue
        connection = sqlite3.connect(target)
        connection.executescript(path(f"{name}.sql").read_text(encoding="utf-8"))
        connection.commit()
        connection.close()


def _robust(system: str, out: Path) -> Result:
    from sensecheck import robust

    model = by_shared_words if system == "A" else "small"
    return robust.evaluate(path("nli.jsonl"), model=model, out=out, overwrite=True, system=system)


def by_shared_words(premises: list[str], hypotheses: list[str]) -> list[str]:
    """System A of `robust`: no model at all. Many shared words entail, a stray negation contradicts."""
    labels = []
    for premise, hypothesis in zip(premises, hypotheses, strict=True):
        p, h = (set(re.findall(r"\w+", text.lower())) for text in (premise, hypothesis))
        negated = bool({"no", "not", "nobody", "nothing", "never", "none"} & (p ^ h))
        shared = len(p & h) / max(1, len(h))
        labels.append("contradiction" if negated else "entailment" if shared >= 0.6 else "neutral")
    return labels


SCENES = (
    Scene("faithful", "two verbalisers put SQL about the town of Larkhaven into words", _faithful),
    Scene("correct", "two small trained text-to-SQL parsers, their queries run on Larkhaven's databases", _correct),
    Scene("diverse", "two systems' answers at Larkhaven's information desk", _diverse),
    Scene("robust", "a rule that counts shared words (A) and the small NLI model of the package (B)", _robust),
    Scene("calibrated", "the token probabilities of the same two parsers", _calibrated),
)
