"""`sensecheck explain FIGURE`."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches

from sensecheck.cli.options import Parser
from sensecheck.report.question import available, question
from sensecheck.statistics.statistic import AnyStatistic


def parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck explain", description="What a figure is: formula, range, direction, what moves it, citation."
    )
    made.add_argument("figure", metavar="FIGURE", nargs="?", help="its name; without one, all figures are listed")
    return made


def run(args: argparse.Namespace) -> int:
    known: dict[str, list[tuple[str, AnyStatistic]]] = {}
    for name in available():
        for statistic in question(name).statistics({}):
            known.setdefault(statistic.name, []).append((name, statistic))
    if args.figure is None:
        for figure, homes in known.items():
            sys.stdout.write(f"{figure:<28} {', '.join(h for h, _ in homes):<12} {homes[0][1].label}\n")
        return 0
    if args.figure not in known:
        close = get_close_matches(args.figure, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else " `sensecheck explain` lists them all."
        raise ValueError(f"there is no figure {args.figure!r}.{hint}")
    for home, statistic in known[args.figure]:
        sys.stdout.write(explanation(home, statistic))
    return 0


def explanation(home: str, statistic: AnyStatistic) -> str:
    low, high = statistic.range
    better = {"higher": "higher is better", "lower": "lower is better", "none": "neither end is better"}
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
