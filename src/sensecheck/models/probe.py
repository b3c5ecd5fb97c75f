"""Does a model's label order look permuted? Six pairs whose labels nobody doubts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

from sensecheck.models.classifiers import LABELS, Asked

PROBE: tuple[tuple[str, str, int], ...] = (
    ("A man is playing a guitar on a stage.", "A man is playing a guitar.", 0),
    ("Two dogs are running across a green field.", "Two dogs are running.", 0),
    ("A woman is cooking dinner in her kitchen.", "The woman's mother taught her how to cook.", 1),
    ("A boy is riding his bike down the street.", "The boy is riding to his friend's house for a party.", 1),
    ("A man is sleeping on a couch.", "The man is awake.", 2),
    ("The street is completely empty.", "There are many people on the street.", 2),
)


@dataclass(frozen=True)
class ProbeResult:
    """How the model did on the probe, and which renaming of its labels would do better."""

    labels: tuple[int | None, ...]
    right: int
    better: tuple[int, int, int] | None = None
    """better[k] = the label that the model's k seems to mean; None when its order looks right"""

    @property
    def warning(self) -> str | None:
        if self.better is None:
            return None
        renamings = ", ".join(f"{LABELS[k]} → {LABELS[v]}" for k, v in enumerate(self.better) if k != v)
        return (
            f"the model's labels look permuted: {self.right} of 6 sanity pairs are right as they are, but renaming "
            f"{renamings} makes more of them right"
        )

    def label_order(self, classes: Sequence[int]) -> str:
        """What --label-order would have to be; classes[c] = the label that the model's class c is taken for now."""
        return ",".join(LABELS[k if self.better is None else self.better[k]] for k in classes)


def judge(labels: Sequence[int | None]) -> ProbeResult:
    """Compare the labels given to the probe with the true ones under every renaming."""
    gold = [y for _, _, y in PROBE]

    def right(order: Sequence[int]) -> int:
        return sum(label is not None and order[label] == y for label, y in zip(labels, gold, strict=True))

    right_as_named = right((0, 1, 2))
    best = max(permutations(range(3)), key=right)
    # Two more of six: chance alone seldom does that, and a weak but rightly labelled model is not accused.
    better = tuple(best) if right(best) >= right_as_named + 2 and right(best) >= 4 else None
    return ProbeResult(tuple(labels), right_as_named, better)  # type: ignore[arg-type]


def probe(model: Asked) -> ProbeResult:
    """Ask the model about the probe pairs."""
    return judge(model.labels([(p, h) for p, h, _ in PROBE]))
