"""Figures corrected by people's labels, as a result keeps and shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from sensecheck.report.tables import Cell, Table, decimal, interval, probability
from sensecheck.statistics.compare import Difference
from sensecheck.statistics.figure import Figure
from sensecheck.statistics.statistic import Explanation, Statistic, mean_of
from sensecheck.statistics.table import Slice

SUFFIX, TITLE = "_corrected", ", corrected"
"""What a corrected figure's name and title end in."""
NAME = rf"\w+{SUFFIX}"
RAW, ALONE, LABELS, WORTH, BELIEVED = "by verdicts", "by labels alone", "labels", "worth", "verdicts believed"
"""What stands beside a corrected figure: the verdicts' own figure, that of the labels by themselves, how many labels
there are, how many they are worth with the verdicts, and how far the verdicts are believed (from 0 to 1)."""
LEFT_OUT = "intervals were left out"
"""Why a figure has no interval that would have one: the user asked for none."""


def explained() -> Statistic:
    """What `sensecheck explain` says of every corrected figure."""
    return mean_of(
        SUFFIX.lstrip("_"), title="a share of right rows, corrected by labels", direction="higher",
        explanation=Explanation(
            "rate of right among the labels + λ · (verdicts of all rows − verdicts of the labelled rows)",
            "How often the system is right as people see it, from all verdicts and the few labels (accuracy_corrected, "
            "consistent_corrected). λ, how far the verdicts are believed, is chosen from the data.",
            "Who labels, and how the examples were drawn: each label counts for as many rows as it stands for.",
            "Angelopoulos, Duchi and Zrnic 2023, PPI++: Efficient Prediction-Powered Inference",
        ),
    )  # fmt: skip


@dataclass
class Corrected:
    """The figures that labels correct, over all rows and by slice."""

    digest: str
    """Of the labels."""
    method: str
    figures: list[Figure] = field(default_factory=list)
    slices: dict[Slice, list[list[Figure]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def figure(self, name: str) -> Figure:
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise KeyError(name)

    @property
    def names(self) -> list[str]:
        return [figure.name for figure in self.figures]

    def to_dict(self) -> dict[str, Any]:
        return {
            "labels": self.digest,
            "method": self.method,
            "figures": [f.to_dict() for f in self.figures],
            "slices": [
                {"by": list(by), "values": [[f.to_dict() for f in figures] for figures in rows]}
                for by, rows in self.slices.items()
            ],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any], figure: Callable[[Mapping[str, Any]], Figure]) -> Corrected:
        return cls(
            plain["labels"], plain["method"], [figure(f) for f in plain["figures"]],
            {tuple(s["by"]): [[figure(f) for f in row] for row in s["values"]] for s in plain["slices"]},
            list(plain["notes"]),
        )  # fmt: skip

    # -- showing ---------------------------------------------------------------------------------------------

    def tables(self, level: float) -> list[Table]:
        """The figures beside those of the verdicts, and a table for every slicing."""
        whole = _table("corrected by labels", "figure", self.figures, [f.title for f in self.figures], level)
        whole.notes = [f"labels {self.digest}, {self.method}", *self.notes]
        return [whole, *(self._by(by, rows, level) for by, rows in self.slices.items())]

    def _by(self, by: Slice, rows: Sequence[Sequence[Figure]], level: float) -> Table:
        figures = [figure for row in rows for figure in row]
        names = [" × ".join(map(str, figure.slice.values())) for figure in figures]
        return _table(f"corrected by labels, by {' × '.join(by)}", " × ".join(by), figures, names, level)

    def sentences(self) -> list[str]:
        """What to take away."""
        said = []
        for figure in self.figures:
            labels = figure.beside.get(LABELS, 0)
            if not _is_number(figure.value) or (figure.low is None and figure.absent != LEFT_OUT):
                why = f": {figure.absent}" if figure.absent else ""
                said.append(f"The labels correct no figure{why}.")
                continue
            title, raw, worth = figure.title.removesuffix(TITLE), figure.beside[RAW], figure.beside[WORTH]
            said.append(
                f"With {labels:,.0f} labels, {title} is {figure.value:.1%}{_percent(figure)}; the verdicts by "
                f"themselves say {raw:.1%}. Together with the verdicts, the labels are worth {worth:,.0f}."
            )
        return said


@dataclass(frozen=True)
class CorrectedDifference:
    """B minus A by labels of both runs, or why there is none."""

    names: tuple[str, str]
    difference: Difference | None = None
    notes: Sequence[str] = ()
    labels: tuple[int, int] = (0, 0)
    worth: tuple[float, float] = (0.0, 0.0)
    digests: tuple[str, str] = ("", "")

    def to_dict(self) -> dict[str, Any]:
        return {
            "difference": None if self.difference is None else self.difference.to_dict(),
            "labels": list(self.labels), "worth": list(self.worth), "digests": list(self.digests),
            "notes": list(self.notes),
        }  # fmt: skip

    def table(self) -> Table:
        a, b = self.names
        columns = ["figure", a, b, "difference", "95% interval", "labels", "worth", "n", "p", "p (Holm)"]
        table = Table(f"{b} minus {a}, corrected by labels", columns, notes=list(self.notes))
        d = self.difference
        if d is not None:
            labels, worth = (f"{one:,.0f}/{other:,.0f}" for one, other in (self.labels, self.worth))
            table.rows.append(
                [d.title, Cell(decimal(d.a), bold=d.better == "a"), Cell(decimal(d.b), bold=d.better == "b"),
                 decimal(d.difference), f"[{decimal(d.low)}, {decimal(d.high)}]", labels, worth, f"{d.n_a:,}",
                 probability(d.p), probability(d.p_corrected)]
            )  # fmt: skip
            told = ", ".join(f"{name}: {digest}" for name, digest in zip(self.names, self.digests, strict=True))
            table.notes.insert(0, f"labels {told}; PPI++, MOVER of the corrected intervals")
        return table

    def sentence(self) -> str:
        d, (a, b) = self.difference, self.names
        if d is None:
            return f"Labels tell no difference of {b} and {a}: {'; '.join(self.notes)}."
        title = d.title.removesuffix(TITLE)
        if not d.better:
            return f"Corrected by labels, no difference of {b} and {a} can be shown on {title}."
        who, values = (b, (d.b, d.a)) if d.better == "b" else (a, (d.a, d.b))
        return f"Corrected by labels, {who} is better on {title}: {decimal(values[0])} against {decimal(values[1])}."


def _table(title: str, first: str, figures: Sequence[Figure], names: Sequence[str], level: float) -> Table:
    columns = [first, RAW, "corrected", f"{level:.0%} interval", ALONE, LABELS, WORTH, BELIEVED, "n"]
    table = Table(title, columns)
    absent: dict[str, list[str]] = {}
    for name, figure in zip(names, figures, strict=True):
        beside = figure.beside
        table.rows.append(
            [name, decimal(beside.get(RAW)), decimal(figure.value), interval(figure), decimal(beside.get(ALONE)),
             f"{beside.get(LABELS, 0):,.0f}", _whole(beside.get(WORTH)), decimal(beside.get(BELIEVED), 2),
             f"{figure.n:,}"]
        )  # fmt: skip
        if figure.absent:
            absent.setdefault(figure.absent, []).append(name)
    table.notes = [f"{', '.join(those[:8])}{', …' if len(those) > 8 else ''}: {why}" for why, those in absent.items()]
    return table


def _whole(value: float | None) -> str:
    return "–" if value is None or not isfinite(value) else f"{value:,.0f}"


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and isfinite(value)


def _percent(figure: Figure) -> str:
    return "" if figure.low is None else f" [{figure.low:.1%}, {figure.high:.1%}]"
