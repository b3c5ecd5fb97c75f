"""`sensecheck demo`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sensecheck.cli.options import Parser
from sensecheck.demo import names, path
from sensecheck.demo.story import SCENES, SYSTEMS
from sensecheck.report.comparison import Comparison, compare
from sensecheck.report.overview import Cell, Row, overview_page
from sensecheck.report.page import comparison_page
from sensecheck.report.result import Result
from sensecheck.report.tables import Table, figures_table
from sensecheck.runs.writing import replace_file
from sensecheck.statistics.compare import Difference


def parser() -> argparse.ArgumentParser:
    command = Parser(
        prog="sensecheck demo",
        description="Two small systems on a small town's data, which come with the package: figures with intervals\n"
        "and slices in the terminal, and an HTML report. Needs no network.",
    )
    command.add_argument("--out", metavar="DIR", default="demo-run", help="where the runs go (default: demo-run)")
    command.add_argument("--overwrite", action="store_true", help="replace the runs in --out")
    command.add_argument(
        "--only", metavar="QUESTION", choices=[s.question for s in SCENES], help="ask only this question"
    )
    command.add_argument("--files", metavar="DIR", help="copy the demo's data files to DIR instead of running")
    return command


def run(args: argparse.Namespace) -> int:
    if args.files:
        target = Path(args.files)
        target.mkdir(parents=True, exist_ok=True)
        for name in names():
            replace_file(target / name, path(name).read_bytes())
        sys.stdout.write(f"{len(names())} files in {target}\n")
        return 0
    out = Path(args.out)
    if out.exists() and any(out.iterdir()) and not args.overwrite:
        raise ValueError(f"{out} is not empty; pass --overwrite to replace the demo's runs there")
    judged: list[tuple[str, Difference]] = []
    rows: list[Row] = []
    for scene in SCENES:
        if args.only and scene.question != args.only:
            continue
        sys.stdout.write(f"── {scene.question}: {scene.about}\n\n")
        results = [scene.evaluate(system, out / f"{scene.question}-{system}") for system in SYSTEMS]
        for result in results if args.only else []:
            sys.stdout.write(f"system {result.name}\n")
            result.show()
        if not args.only:
            _summary(results[1]).print()
            for table in results[1].tables()[1:2] if scene.question == "calibrated" else []:
                table.print()
        comparisons = compare(results)
        compared = comparisons.pairs[0]
        _briefly(compared, args.only is not None).print()
        judged += [(scene.question, d) for d in compared.differences if d.name in compared.a.question.headline]
        page = out / f"{scene.question}-comparison.html"
        replace_file(page, comparison_page(comparisons).encode("utf-8"))
        cells = [
            Cell(system, result, f"{scene.question}-{system}/report.html")
            for system, result in zip(SYSTEMS, results, strict=True)
        ]
        rows.append(Row(scene.question, scene.question, cells, comparisons, page.name))
    sys.stdout.write("What to take away:\n")
    for sentence in takeaways(judged):
        sys.stdout.write(f"  {sentence}\n")
    index = out / "index.html"
    replace_file(index, overview_page("Larkhaven: two systems, five questions", SYSTEMS, rows).encode("utf-8"))
    reports = [out / cell.link for row in rows for cell in row.cells]
    sys.stdout.write(f"\nOverview, with links to everything: {index}\n")
    sys.stdout.write("\nReports:\n" + "".join(f"  {report}\n" for report in reports))
    sys.stdout.write("\nNow point the same command at a file of your own:\n")
    sys.stdout.write("  sensecheck calibrated your.logits --slice question_type --out my-run/\n")
    return 0


def _summary(result: Result) -> Table:
    """The headline figures of one system, and its first slicing."""
    shown = [f for f in result.figures if f.name in result.question.headline]
    return figures_table(f"system {result.name}", shown, result.options.level, [f"signature: {result.signature.short}"])


def _briefly(compared: Comparison, everything: bool) -> Table:
    """The comparison; of all five questions, the headline figures are enough."""
    table = compared.table()
    if not everything:
        kept = {d.title for d in compared.differences if d.name in compared.a.question.headline}
        table.rows = [row for row in table.rows if row[0] in kept]
        table.notes = table.notes[:1]
    return table


def takeaways(judged: list[tuple[str, Difference]]) -> list[str]:
    """What a person should remember: where B wins, where A does, and what cannot be told."""
    said = []
    for which, words in (("b", "B is better:"), ("a", "A is better:"), ("", "No difference can be shown:")):
        titles: dict[str, list[str]] = {}
        for question, d in judged:
            if d.better == which and d.direction != "none" and not d.repeats:
                titles.setdefault(question, []).append(d.title)
        if titles:
            said.append(
                f"{words} " + "; ".join(f"{name} ({' · '.join(figures)})" for name, figures in titles.items()) + "."
            )
    return said
