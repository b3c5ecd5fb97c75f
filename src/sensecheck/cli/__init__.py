"""The command `sensecheck`: parse, call, print.

A command's module is imported only when it is called, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from sensecheck._version import __version__

# Command → what it does, in one line; its module is cli/<command>.py.
COMMANDS = {
    "demo": "run the questions on a small world that comes with the package",
    "faithful": "does the sentence say what the query says, and nothing else?",
    "correct": "does the predicted query give the right answer?",
    "diverse": "do the responses cover the different good answers?",
    "robust": "does the NLI model obey the logic of its own labels?",
    "calibrated": "is the model's confidence the rate at which it is right?",
    "recalibrate": "learn what each confidence is worth; figures before and after",
    "compare": "two runs on the same input: is the difference real?",
    "run": "carry out an evaluation file: systems × questions × data, only what changed",
    "init": "write a commented evaluation file to start from",
    "report": "write a run's HTML report again, or print its figures",
    "explain": "what a figure is: formula, range, direction, what moves it, citation",
}

DONE, GATE_FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 3
_BUG = 70


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        if arguments and arguments[0] == "help" and len(arguments) > 1:
            arguments = [arguments[1], "--help"]
        else:
            sys.stdout.write(_help())
            return DONE if arguments else BAD_INPUT
    if arguments[0] in ("-V", "--version"):
        sys.stdout.write(f"sensecheck {__version__}\n")
        return DONE
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a sign gets another one, not an error after all the work.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        from difflib import get_close_matches

        close = get_close_matches(name, COMMANDS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else f" The commands are {', '.join(COMMANDS)}."
        return _refuse(f"there is no command {name!r}.{hint}")
    return _call(name, rest)


def _call(name: str, rest: Sequence[str]) -> int:
    module = import_module(f"sensecheck.cli.{name}")
    try:
        parser = module.parser()
        code = module.run(parser.parse_args(rest))
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        sys.stderr.write("\nsensecheck: stopped. With --out, the same command with --resume goes on from here.\n")
        return STOPPED
    except Exception as error:
        if os.environ.get("SENSECHECK_DEBUG"):
            raise
        return _explain_failure(error)


def _explain_failure(error: Exception) -> int:
    from sensecheck.report.escaping import visible
    from sensecheck.runs.stopping import Stopped

    if isinstance(error, Stopped):
        sys.stderr.write(f"sensecheck: stopped: {visible(str(error))}\n")
        return STOPPED
    if isinstance(error, (ValueError, KeyError, OSError, ImportError, OverflowError)):
        words = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        return _refuse(words)
    sys.stderr.write(
        f"sensecheck: this is a fault in sensecheck itself: {type(error).__name__}: {visible(str(error), 300)}\n"
        "Run again with SENSECHECK_DEBUG=1 to see where, and please report it.\n"
    )
    return _BUG


def _refuse(words: str) -> int:
    from sensecheck.report.escaping import visible

    sys.stderr.write(f"sensecheck: error: {visible(words)}\n")
    return BAD_INPUT


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [
        "usage: sensecheck COMMAND [OPTIONS]",
        "",
        "Is it faithful, correct, diverse, robust, calibrated? Figures with intervals, slices and a report.",
        "",
        "commands:",
        *(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items()),
        "",
        "  sensecheck COMMAND --help   all options of a command",
        "  sensecheck --version        the version",
        "",
        "exit codes: 0 done, 1 a gate (--fail-under, --fail-over) failed, 2 bad input, 3 stopped but resumable",
        "",
    ]
    return "\n".join(lines)
