"""Options that every question shares, and what they mean."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any

from sensecheck.report.question import slicings
from sensecheck.report.result import Result
from sensecheck.statistics.figure import DEFAULT_SEED, IntervalOptions

FORMATS = ("table", "json", "markdown", "latex")


class Parser(argparse.ArgumentParser):
    """argparse with our manners: one message and exit code 2, no abbreviated options."""

    def __init__(self, **given: Any) -> None:
        given.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **given)

    def error(self, message: str) -> Any:
        if message.startswith("unrecognized arguments:"):
            wrong = message.split(":", 1)[1].split()[0]
            known = [o for a in self._actions for o in a.option_strings]
            close = get_close_matches(wrong.split("=")[0], known, n=1)
            if close:
                message += f". Did you mean {close[0]}?"
        sys.stderr.write(f"sensecheck: error: {message} (see {self.prog} --help)\n")
        raise SystemExit(2)


def add_common(parser: argparse.ArgumentParser, *, parity: Sequence[str] = (), weighted: bool = True) -> None:
    """Options of every question. `parity` names the originals that `--as` can reproduce here; `weighted` says
    whether rows may have weights and clusters of the user's."""
    out = parser.add_argument_group("output")
    out.add_argument("--out", metavar="DIR", help="keep the run here: measurements, summary.json, report.html")
    out.add_argument("--resume", action="store_true", help="go on with the interrupted run in --out")
    out.add_argument("--overwrite", action="store_true", help="replace the run in --out")
    out.add_argument("--format", choices=FORMATS, default="table", help="how figures are printed (default: table)")
    out.add_argument("--report", metavar="FILE", help="write the HTML report to this file")
    out.add_argument(
        "--plot",
        metavar="FILE",
        action="append",
        default=[],
        help="save a picture: .svg, .html, .png or .pdf; NAME=FILE chooses which (repeatable)",
    )
    out.add_argument("--system", metavar="NAME", help="what to call the system in tables and reports")
    what = parser.add_argument_group("what is measured")
    what.add_argument(
        "--slice",
        metavar="COLUMN",
        action="append",
        default=[],
        help="figures for every value of a column; 'a×b' (or 'a*b') crosses two (repeatable)",
    )
    what.add_argument(
        "--columns",
        metavar="NAME=COLUMN",
        action="append",
        default=[],
        help="the input calls NAME by another name: COLUMN (repeatable)",
    )
    what.add_argument("--limit", metavar="N", type=positive, help="only the first N records")
    what.add_argument("--skip-bad", action="store_true", help="count bad records as unscored instead of stopping")
    if weighted:
        what.add_argument("--weight", metavar="COLUMN", help="how much each row counts")
        what.add_argument("--cluster", metavar="COLUMN", help="rows that belong together and are resampled together")
    if parity:
        what.add_argument(
            "--as",
            dest="parity",
            choices=list(parity),
            metavar="ORIGINAL",
            help=f"reproduce an original's figures, quirks included: {', '.join(parity)}",
        )
    sure = parser.add_argument_group("intervals")
    sure.add_argument(
        "--ci",
        choices=("percentile", "bca"),
        default="percentile",
        help="how bootstrap intervals are made (default: percentile)",
    )
    sure.add_argument("--no-ci", action="store_true", help="no intervals")
    sure.add_argument(
        "--ci-level", type=float, default=0.95, metavar="P", help="coverage of the intervals (default: 0.95)"
    )
    sure.add_argument(
        "--resamples", type=positive, default=1000, metavar="N", help="bootstrap replicates (default: 1000)"
    )
    sure.add_argument(
        "--seed", type=int, default=DEFAULT_SEED, metavar="N", help=f"of resampling (default: {DEFAULT_SEED})"
    )
    sure.add_argument(
        "--jobs",
        type=positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="threads; figures do not depend on it (default: all cores)",
    )
    gate = parser.add_argument_group("gates for continuous integration (exit code 1 when one fails)")
    gate.add_argument(
        "--fail-under",
        metavar="FIGURE=VALUE",
        action="append",
        default=[],
        help="fail when the figure is below the value (repeatable)",
    )
    gate.add_argument(
        "--fail-over",
        metavar="FIGURE=VALUE",
        action="append",
        default=[],
        help="fail when the figure is above the value (repeatable)",
    )
    gate.add_argument(
        "--gate-on",
        choices=("point", "bound"),
        default="point",
        help="judge the value, or the interval's worse end (default: point)",
    )


def positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {value}")
    return value


@dataclass(frozen=True)
class Shared:
    """The shared options, understood."""

    options: IntervalOptions
    slices: list[tuple[str, ...]]
    columns: dict[str, str]

    @classmethod
    def of(cls, args: argparse.Namespace) -> Shared:
        options = IntervalOptions(
            "none" if args.no_ci else args.ci, args.ci_level, args.resamples, args.seed, args.jobs
        )
        return cls(options, slicings(args.slice), dict(pair(c, "--columns", "NAME=COLUMN") for c in args.columns))


def every_question(args: argparse.Namespace) -> dict[str, Any]:
    """What every question's `evaluate` is told alike. What cannot be written later is refused now."""
    shared = Shared.of(args)
    check_targets(args)
    return {
        "columns": shared.columns,
        "slices": shared.slices,
        "options": shared.options,
        **{name: getattr(args, name) for name in ("limit", "skip_bad", "out", "resume", "overwrite", "system")},
    }


_PICTURES = (".svg", ".html", ".png", ".pdf")


def refuse_idle(args: argparse.Namespace, parser: argparse.ArgumentParser, idle: Sequence[str], why: str) -> None:
    """Refuse options that were given and would do nothing: a figure must not look as if they had been heeded."""
    flags = {a.dest: a.option_strings[0] for a in parser._actions if a.option_strings}
    for name in idle:
        if getattr(args, name) != parser.get_default(name):
            raise ValueError(f"{flags[name]} {why}")


def check_targets(args: argparse.Namespace) -> None:
    """Refuse what could not be written after all the work."""
    targets = [("--plot", p.partition("=")[2] or p) for p in args.plot]
    for option in ("report", "save", "write"):
        if target := getattr(args, option, None):
            targets.append((f"--{option}", target))
    for option, target in targets:
        place = Path(target)
        if option == "--plot" and place.suffix.lower() not in _PICTURES:
            raise ValueError(f"--plot: cannot save a picture as {target}: pictures are {', '.join(_PICTURES)}")
        if not place.parent.is_dir():
            raise ValueError(f"{option} {target}: there is no folder {str(place.parent)!r}; make it first")


def pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name or not value:
        raise ValueError(f"{option} takes {form}, got {text!r}")
    return name.strip(), value.strip()


def finish(result: Result, args: argparse.Namespace) -> int:
    """Print the figures, write what was asked for, and judge the gates."""
    gates = read_gates(result, args)
    result.show(args.format)
    said: Callable[[str], Any] = sys.stderr.write if args.format != "table" else sys.stdout.write
    for sentence in result.verdict() if args.format == "table" else []:
        said(f"  {sentence}\n")
    if args.report:
        said(f"  report: {result.to_html(args.report)}\n")
    for wanted in args.plot:
        name, sign, target = wanted.partition("=")
        chart = result.plot(name) if sign else result.plot()
        said(f"  picture: {chart.save(target if sign else wanted)}\n")
    if result.directory is not None:
        said(f"  run: {result.directory.path}\n  report: {Path(result.directory.path) / 'report.html'}\n")
    failed = [words for words in (gate(result) for gate in gates) if words]
    for words in failed:
        sys.stderr.write(f"sensecheck: gate failed: {words}\n")
    return 1 if failed else 0


def read_gates(result: Result, args: argparse.Namespace) -> list[Callable[[Result], str]]:
    gates = []
    for option, texts in (("--fail-under", args.fail_under), ("--fail-over", args.fail_over)):
        for text in texts:
            name, value = pair(text, option, "FIGURE=VALUE")
            try:
                limit = float(value)
            except ValueError:
                raise ValueError(f"{option} {name}: expected a number, got {value!r}") from None
            known = [f.name for f in result.figures]
            if name not in known:
                close = get_close_matches(name, known, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else f" There are {', '.join(known)}."
                raise ValueError(f"{option}: there is no figure {name!r}.{hint}")
            gates.append(_gate(name, limit, option == "--fail-under", args.gate_on))
    return gates


def _gate(name: str, limit: float, under: bool, on: str) -> Callable[[Result], str]:
    def judge(result: Result) -> str:
        figure = result[name]
        end = figure.low if under else figure.high
        if on == "bound" and not isinstance(end, float):
            return f"{name} has no interval to judge ({figure.absent or 'none was made'})"
        value = end if on == "bound" else figure.value
        if not isinstance(value, float) or not isfinite(value):
            return f"{name} has no value"
        if (value < limit) if under else (value > limit):
            what = f"the interval's {'lower' if under else 'upper'} end of {name}" if on == "bound" else name
            return f"{what} is {value:.6g}, {'under' if under else 'over'} {limit:g}"
        return ""

    return judge
