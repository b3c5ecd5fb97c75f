"""`sensecheck demo`."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from sensecheck.cli.options import Parser
from sensecheck.demo import names, path
from sensecheck.demo.story import SCENES, SYSTEMS


def parser() -> argparse.ArgumentParser:
    made = Parser(
        prog="sensecheck demo",
        description="Two small systems on a small town's data, which come with the package: figures with intervals\n"
        "and slices in the terminal, and an HTML report. Needs no network.",
    )
    made.add_argument("--out", metavar="DIR", default="demo-run", help="where the runs go (default: demo-run)")
    made.add_argument("--overwrite", action="store_true", help="replace the runs in --out")
    made.add_argument(
        "--only", metavar="QUESTION", choices=[s.question for s in SCENES], help="ask one of the questions only"
    )
    made.add_argument("--files", metavar="DIR", help="copy the demo's data files to DIR instead of running")
    return made


def run(args: argparse.Namespace) -> int:
    if args.files:
        target = Path(args.files)
        target.mkdir(parents=True, exist_ok=True)
        for name in names():
            shutil.copy(path(name), target / name)
        sys.stdout.write(f"{len(names())} files in {target}\n")
        return 0
    out = Path(args.out)
    if out.exists() and any(out.iterdir()) and not args.overwrite:
        raise ValueError(f"{out} is not empty; pass --overwrite to replace the demo's runs there")
    reports, takeaways = [], []
    for scene in SCENES:
        if args.only and scene.question != args.only:
            continue
        sys.stdout.write(f"── {scene.question}: {scene.about}\n\n")
        results = [scene.evaluate(system, out / f"{scene.question}-{system}") for system in SYSTEMS]
        for result in results:
            sys.stdout.write(f"system {result.name}\n")
            result.show()
        compared = results[0].compare(results[1])
        compared.table().print()
        takeaways += [f"{scene.question}: {sentence}" for sentence in compared.verdict()[:1]]
        reports += [out / f"{scene.question}-{system}" / "report.html" for system in SYSTEMS]
    sys.stdout.write("What to take away:\n")
    for sentence in takeaways:
        sys.stdout.write(f"  {sentence}\n")
    sys.stdout.write("\nReports:\n" + "".join(f"  {report}\n" for report in reports))
    sys.stdout.write("\nNow point the same command at a file of your own:\n")
    sys.stdout.write("  sensecheck calibrated your.logits --slice question_type --out my-run/\n")
    return 0
