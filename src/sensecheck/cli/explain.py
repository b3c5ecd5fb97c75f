"""`sensecheck explain FIGURE`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from sensecheck.cli.options import Parser
from sensecheck.inputs.errors import shown
from sensecheck.instruments import BESIDE, available
from sensecheck.report import corrected
from sensecheck.report.question import question
from sensecheck.report.repeats import explained
from sensecheck.statistics.statistic import AnyStatistic


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck explain", description="What a figure is: formula, range, direction, what moves it, citation."
    )
    command.add_argument(
        "figure", metavar="FIGURE", nargs="?", help="the figure's name; without one, all figures are listed"
    )
    return command


def run(args: argparse.Namespace) -> int:
    known: dict[str, list[tuple[str, AnyStatistic]]] = {}
    for name in [*available(), *BESIDE]:
        for statistic in question(name).statistics({}):
            known.setdefault(statistic.name, []).append((name, statistic))
    for statistic in explained():
        known.setdefault(statistic.name, []).append(("samples", statistic))
    by_labels = corrected.explained()
    known[by_labels.name] = [("labels", by_labels)]
    if args.figure is None:
        for figure, homes in known.items():
            sys.stdout.write(f"{figure:<28} {', '.join(h for h, _ in homes):<12} {homes[0][1].label}\n")
        return 0
    for home, statistic in known[meant(args.figure, known)]:
        sys.stdout.write(explanation(home, statistic))
    return 0


def meant(text: str, known: Mapping[str, Sequence[tuple[str, AnyStatistic]]]) -> str:
    """The figure that is meant: by its name or by what tables call it, in any spelling of case and signs."""
    # Of several samples per example, names end in a part of their own: accuracy.pass@4.
    part = re.sub(r"([@^])[0-9]+$", r"\1k", text.rpartition(".")[2])
    # What labels correct is called after the figure that it corrects: accuracy_corrected.
    for written in (text, part, corrected.SUFFIX.lstrip("_") if text.endswith(corrected.SUFFIX) else text):
        if written in known:
            return written
    spelled: dict[str, str] = {}
    for name, homes in known.items():
        for _, statistic in homes:
            for written in (name, statistic.label):
                spelled.setdefault(_letters(written), name)
    wanted = _letters(text)
    if wanted in spelled:
        return spelled[wanted]
    close = get_close_matches(wanted, spelled, n=5) or [s for s in spelled if len(wanted) > 2 and wanted in s][:5]
    names = list(dict.fromkeys(repr(spelled[s]) for s in close))[:3]
    hint = f" Did you mean {' or '.join(names)}?" if names else ""
    raise ValueError(f"there is no figure {shown(text)}.{hint} `sensecheck explain` lists them all.")


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def explanation(home: str, statistic: AnyStatistic) -> str:
    low, high = statistic.range
    better = {"higher": "higher is better", "lower": "lower is better", "none": "neither higher nor lower is better"}
    lines = [f"{statistic.name} — {statistic.label} ({home})"]
    told = statistic.explanation
    if told is not None:
        lines += [f"  formula    {told.formula}", f"  meaning    {told.meaning}"]
    lines.append(f"  range      {low:g} to {high:g}; {better[statistic.direction]}")
    if told is not None and told.moved_by:
        lines.append(f"  moved by   {told.moved_by}")
    if told is not None and told.citation:
        lines.append(f"  citation   {told.citation}")
    return "\n".join(lines) + "\n"
