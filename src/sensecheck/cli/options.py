"""Options on the command line: flags read off what a function takes, and those that only a terminal has."""

from __future__ import annotations

import argparse
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from sensecheck.cli.progress import Progress, add_progress
from sensecheck.inputs.addresses import is_address
from sensecheck.network.address import public_text
from sensecheck.options import Parameter, alternatives, default_words, parameters, settings_of
from sensecheck.report.escaping import visible
from sensecheck.report.result import Part, Result
from sensecheck.stages import REPORT, stage

FORMATS = ("table", "json", "markdown", "latex")
_PICTURES = (".svg", ".html", ".png", ".pdf")


class Parser(argparse.ArgumentParser):
    """argparse with our manners: one message and exit code 2, no abbreviated options."""

    def __init__(self, **given: Any) -> None:
        given.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **given)
        self._headings: dict[str, argparse._ArgumentGroup] = {}

    def heading(self, title: str) -> argparse._ArgumentGroup:
        """The group of options under that heading."""
        if title not in self._headings:
            self._headings[title] = self.add_argument_group(title)
        return self._headings[title]

    def error(self, message: str) -> Any:
        if message.startswith("unrecognized arguments:"):
            wrong = (message.split(":", 1)[1].split() or ["''"])[0]  # an empty argument
            known = [o for a in self._actions for o in a.option_strings]
            close = get_close_matches(wrong.split("=")[0], known, n=1)
            if close:
                message += f". Did you mean {close[0]}?"
        sys.stderr.write(f"sensecheck: error: {public_text(message)} (see {self.prog} --help)\n")
        raise SystemExit(2)


# -- flags of a function's parameters ----------------------------------------------------------------------------


def add_parameters(parser: Parser, function: Callable[..., Any], without: Iterable[str] = ()) -> None:
    """A flag for every parameter that has an `Option`; the first parameter is the files.

    without: parameters, and settings (`access.prompt`), that this command does not have.
    """
    for place, parameter in enumerate(parameters(function).values()):
        option = parameter.option
        if option is None or option.hidden or parameter.name in without:
            continue
        if place == 0:
            parser.add_argument(parameter.name, metavar=option.metavar or "FILE", nargs="+", help=_help(parameter))
        elif parameter.settings is not None:
            for field in settings_of(parameter.settings).values():
                dest = f"{parameter.name}.{field.name}"
                if field.option is not None and dest not in without:
                    _add(parser.heading(field.option.group or option.group), field, dest=dest)
        else:
            _add(parser.heading(option.group or "what is measured"), parameter)


def _add(group: argparse._ArgumentGroup, parameter: Parameter, dest: str = "") -> None:
    option = parameter.option
    assert option is not None
    # What is not given is not passed on: the function's own default holds.
    flags = [parameter.flag, *filter(None, [option.short])]
    shared: dict[str, Any] = {"dest": dest or parameter.name, "default": argparse.SUPPRESS, "help": _help(parameter)}
    kind = _kind(parameter)
    if kind is bool:
        group.add_argument(*flags, action="store_false" if parameter.default is True else "store_true", **shared)
        return
    how: dict[str, Any] = {"metavar": option.metavar or None, "required": parameter.required}
    choices = option.choices or (typing.get_args(kind) if typing.get_origin(kind) is Literal else ())
    if choices:
        how |= {"choices": list(choices), "type": type(choices[0])}
    elif option.separator or kind in (int, float):
        how["type"] = _reader(parameter)
    if not option.separator and (option.repeat or _is(kind, Mapping) or _is(kind, Sequence)):
        how["action"] = "append"
    group.add_argument(*flags, **how, **shared)
    for flag, (value, words) in option.others.items():
        # A place of its own: whatever else is given, this flag holds.
        own = {**shared, "dest": f"{shared['dest']} {flag}", "help": words}
        group.add_argument(flag, action="store_const", const=value, **own)


def values(args: argparse.Namespace, function: Callable[..., Any]) -> dict[str, Any]:
    """What the function is called with: all that was given, in the forms that it takes."""
    given = vars(args)
    call: dict[str, Any] = {}
    for place, parameter in enumerate(parameters(function).values()):
        if place == 0 and parameter.name in given:
            files = given[parameter.name]
            call[parameter.name] = files[0] if len(files) == 1 else [Path(file) for file in files]
        elif parameter.settings is not None:
            fields = settings_of(parameter.settings).values()
            settings = {}
            for field in fields:
                dest = f"{parameter.name}.{field.name}"
                if dest in given:
                    settings[field.name] = _value(given[dest], field)
                for flag in field.option.others if field.option is not None else ():
                    if f"{dest} {flag}" in given:
                        settings[field.name] = given[f"{dest} {flag}"]
            if settings:
                call[parameter.name] = parameter.settings(**settings)
        elif parameter.name in given:
            call[parameter.name] = _value(given[parameter.name], parameter)
    return call


def _value(given: Any, parameter: Parameter) -> Any:
    option, kind = parameter.option, _kind(parameter)
    if _is(kind, Mapping):
        form = (option.metavar if option is not None else "") or "NAME=VALUE"
        return dict(pair(text, parameter.flag, form) for text in given)
    if option is not None and option.repeat and len(given) == 1:
        return given[0]
    return given


def _kind(parameter: Parameter) -> Any:
    """The one kind of value that a flag of this parameter reads: of several, the first that is no path."""
    return alternatives(parameter.hint)[0]


def _is(kind: Any, shape: type) -> bool:
    origin = typing.get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, shape)


def _help(parameter: Parameter) -> str:
    assert parameter.option is not None
    return (parameter.option.help + default_words(parameter)).replace("%", "%%")


def _reader(parameter: Parameter) -> Callable[[str], Any]:
    """From the text behind a flag to the value, or to several."""
    option, kind = parameter.option, _kind(parameter)
    assert option is not None
    part = typing.get_args(kind)[0] if _is(kind, Sequence) else kind
    kinds = alternatives(part)

    def one(text: str) -> Any:
        if kinds == [int]:
            return whole(text, option.at_least) * option.scale
        return number(text) if kinds == [float] else text

    def several(text: str) -> tuple[Any, ...]:
        pieces = [piece for piece in text.split(option.separator) if piece.strip()]
        return tuple(one(piece if option.spaces else piece.strip()) for piece in pieces)

    return several if option.separator else one


def whole(text: str, at_least: int | None = None) -> int:
    expected = "a whole number" if at_least is None else f"a whole number of at least {at_least}"
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected {expected}, got {text!r}") from None
    if at_least is not None and value < at_least:
        raise argparse.ArgumentTypeError(f"expected {expected}, got {value}")
    return value


def positive(text: str) -> int:
    return whole(text, 1)


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {text!r}") from None


def pair(text: str, option: str, form: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name or not value:
        raise ValueError(f"{option} takes {form}, got {text!r}")
    return name.strip(), value.strip()


# -- what only a terminal has ------------------------------------------------------------------------------------


def add_output(parser: Parser) -> None:
    """How figures are shown, and the gates."""
    out = parser.heading("output")
    out.add_argument("--format", choices=FORMATS, default="table", help="how figures are printed (default: table)")
    out.add_argument("--report", metavar="FILE", help="write the HTML report to this file")
    add_progress(out)
    out.add_argument(
        "--plot",
        metavar="FILE",
        action="append",
        default=[],
        help="save a picture: .svg, .html, .png or .pdf; NAME=FILE chooses which (repeatable)",
    )
    gate = parser.heading("gates for continuous integration (exit code 1 when one fails)")
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


def check_targets(args: argparse.Namespace) -> None:
    """Refuse what could not be written after all the work."""
    targets = [("--plot", p.partition("=")[2] or p) for p in args.plot]
    for option in ("report", "save", "write"):
        if target := getattr(args, option, None):
            targets.append((f"--{option}", target))
    for option, target in targets:
        place = Path(target)
        if is_address(target):
            raise ValueError(f"{option} {target}: is written on this machine; name a file here")
        if option == "--plot" and place.suffix.lower() not in _PICTURES:
            raise ValueError(f"--plot: cannot save a picture as {target}: pictures are {', '.join(_PICTURES)}")
        if not place.parent.is_dir():
            raise ValueError(f"{option} {target}: there is no folder {str(place.parent)!r}; make it first")


def finish(result: Result, args: argparse.Namespace, told: Progress) -> int:
    """Print the figures, write what was asked for, and judge the gates."""
    if isinstance(result, Part):
        told.stop()
        return _of_part(result)
    gates = read_gates(result, args)
    with told.aside():
        result.show(args.format)
        said: Callable[[str], Any] = sys.stderr.write if args.format != "table" else sys.stdout.write
        for sentence in result.verdict() if args.format == "table" else []:
            said(f"  {sentence}\n")
        sys.stdout.flush()
    written = []
    with stage(REPORT, unit=""):
        if args.report:
            written.append(f"  report: {result.to_html(args.report)}\n")
        for wanted in args.plot:
            name, sign, target = wanted.partition("=")
            chart = result.plot(name) if sign else result.plot()
            written.append(f"  picture: {chart.save(target if sign else wanted)}\n")
    told.stop()
    said("".join(written))
    if result.directory is not None:
        said(f"  run: {result.directory.shown}\n  report: {result.directory.shown.rstrip('/')}/report.html\n")
    failed = [words for words in (gate(result) for gate in gates) if words]
    for words in failed:
        sys.stderr.write(f"sensecheck: gate failed: {words}\n")
    if nothing := result.nothing_scored():
        sys.stderr.write(f"sensecheck: error: {visible(nothing)}\n")
        return 2
    return 1 if failed else 0


def _of_part(part: Part) -> int:
    """A shard has no figures: what was measured is said, and how to go on."""
    assert part.shard is not None and part.directory is not None
    rows = f"{part.rows.height:,} row{'' if part.rows.height == 1 else 's'}"
    told = f" ({part.shard.told})" if part.shard.told else ""
    sys.stdout.write(
        f"shard {part.shard}{told}: {rows} measured, kept in {part.directory.shown}\n"
        "  when all shards are measured: sensecheck merge SHARD … --out RUN\n"
    )
    return 0


def read_gates(result: Result, args: argparse.Namespace) -> list[Callable[[Result], str]]:
    gates = []
    for option, texts in (("--fail-under", args.fail_under), ("--fail-over", args.fail_over)):
        for text in texts:
            name, value = pair(text, option, "FIGURE=VALUE")
            try:
                limit = float(value)
                if not isfinite(limit):
                    raise ValueError
            except ValueError:
                raise ValueError(f"{option} {name}: expected a number, got {value!r}") from None
            known = result.names
            if name not in known:
                close = get_close_matches(name, known, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else f" Choose from: {', '.join(known)}."
                raise ValueError(f"{option}: there is no figure {name!r}.{hint}")
            gates.append(_gate(name, limit, option == "--fail-under", args.gate_on))
    return gates


def _gate(name: str, limit: float, under: bool, on: str) -> Callable[[Result], str]:
    def judge(result: Result) -> str:
        figure = result[name]
        ends = figure.bounds or (figure.low, figure.high)
        end = ends[0] if under else ends[1]
        if on == "bound" and not isinstance(end, float):
            return f"{name} has no interval to judge ({figure.absent or 'none was made'})"
        value = end if on == "bound" else figure.value
        if not isinstance(value, float) or not isfinite(value):
            return f"{name} has no value"
        if (value < limit) if under else (value > limit):
            what = f"the {'lower' if under else 'upper'} bound of {name}" if on == "bound" else name
            return f"{what} is {value:.6g}, {'under' if under else 'over'} {limit:g}"
        return ""

    return judge
