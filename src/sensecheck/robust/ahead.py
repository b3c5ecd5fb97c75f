"""How many calls a run would make at most, before any is made: `--dry-run`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sensecheck.models.probe import PROBE
from sensecheck.robust.measure import NEUTRAL
from sensecheck.robust.pipeline import Pair, Pipeline, Plan
from sensecheck.robust.systems import Systems
from sensecheck.runs.stopping import Stopped


@dataclass(frozen=True)
class CallsAhead:
    """Bounds: texts that are alike are asked about once, and answers that are kept not at all."""

    pairs: int
    model: int | None
    """None: it is not at a URL"""
    generator: int | None
    tokens_out: int
    """what all answers may take together"""

    def __str__(self) -> str:
        told = [
            f"{calls:,} calls to the {name}"
            for name, calls in (("model", self.model), ("generator", self.generator))
            if calls is not None
        ]
        if not told:
            return f"{self.pairs:,} pairs; neither model nor generator is at a URL: no call is made"
        return (
            f"{self.pairs:,} pairs; at most {' and '.join(told)}, with at most {self.tokens_out:,} tokens of answers "
            "(retries and answers that are kept already are not counted)"
        )


class DryRun(Stopped):
    """Raised in place of a run that was only to be counted."""

    def __init__(self, calls: CallsAhead) -> None:
        super().__init__(str(calls))
        self.calls = calls


def calls_ahead(pairs: Iterable[Pair], systems: Systems, choices: Plan, check_labels: bool) -> CallsAhead:
    decodes = bool(getattr(systems.generator, "decodes", False))
    again = choices.tries if choices.regenerate and Pipeline.resamples(systems.generator) else 0
    # Two lists by decoders, one that is twice as long by others; then one statement a try.
    statements = 2 * choices.candidates + again
    of_model, of_generator, count = len(PROBE) if check_labels else 0, 0, 0
    for pair in pairs:
        count += 1
        if pair.bad or pair.gold is None:
            continue
        of_model += 2 if choices.reflexive else 1
        for polarity in choices.polarities:
            if polarity == "negative" and choices.only_correct and pair.gold == NEUTRAL and not pair.coarse:
                continue  # there is no rule for it
            of_generator += (2 if decodes else 1) + again
            of_model += 2 * statements + choices.keep
    model, generator = (_tokens(system) for system in (systems.model, systems.generator))
    return CallsAhead(
        count, None if model is None else of_model, None if generator is None else of_generator,
        of_model * (model or 0) + of_generator * (generator or 0),
    )  # fmt: skip


def _tokens(system: Any) -> int | None:
    """Tokens that an answer may have; None where a system is not at a URL."""
    endpoint = getattr(system, "endpoint", None)
    return None if endpoint is None else int(endpoint.max_tokens)
