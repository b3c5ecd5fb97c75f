"""The command `sensecheck`: parse, call, print.

A command's module is imported only when it is called, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import time
import warnings
from argparse import ArgumentParser
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from sensecheck import instruments
from sensecheck._version import __version__

# Command → what it does, in one line; its module is cli/<command>.py. Questions have a command of their own each.
BEFORE_QUESTIONS = {
    "demo": "run the questions on a small data set that comes with the package",
}
AFTER_QUESTIONS = {
    "recalibrate": "learn what each confidence is worth; figures before and after",
    "compare": "two runs on the same input: is the difference real?",
    "label": "a sheet on which a person labels some of a run's examples",
    "agree": "how far a run's verdicts, and people among themselves, agree with people's labels",
    "merge": "one run made of the shards that were measured apart (--shard)",
    "run": "run an evaluation file: systems × questions × data; measures only what changed",
    "init": "write a commented evaluation file to start from",
    "look": "what a file is, how many examples it holds, and which command fits",
    "formats": "the formats that are read",
    "report": "write a run's HTML report again, or print its figures",
    "explain": "what a figure is: formula, range, direction, what moves it, citation",
}
OTHERS = {**BEFORE_QUESTIONS, **AFTER_QUESTIONS}


def commands() -> dict[str, str]:
    """Every command with what it does, in the order in which --help shows them."""
    questions = {name: instruments.summary(name) for name in instruments.names() if name not in OTHERS}
    lower = {name: words[:1].lower() + words[1:] for name, words in questions.items()}
    return {**BEFORE_QUESTIONS, **lower, **AFTER_QUESTIONS}


DONE, GATE_FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 3
_BUG = 70

begun = (time.perf_counter(), time.process_time())
"""When the command began, on the clocks of the wall and of the processor."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    of_main_thread = threading.current_thread() is threading.main_thread()
    if of_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    warnings.showwarning = _say_warning
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
    if name not in OTHERS and name not in instruments.OWN and name not in commands():
        from difflib import get_close_matches

        close = get_close_matches(name, commands(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else f" The commands are {', '.join(commands())}."
        return _refuse(f"there is no command {name!r}.{hint}")
    code = _call(name, rest)
    if code == STOPPED and argv is None and of_main_thread:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process ends: there is nothing left to be stopped
    return code


_interrupted = -1.0


def _interrupt(*_: object) -> None:
    """Ctrl-C. What comes within a second of it is the same one: `timeout` and some shells send it to a process and to
    its group, and a second exception would meet files that are being closed because of the first.
    """
    global _interrupted
    now = time.monotonic()
    # Of the last one that was heard, not of the last key: whoever presses again and again is heard every second.
    if _interrupted < 0 or now - _interrupted > 1:
        _interrupted = now
        raise KeyboardInterrupt


def _say_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """A warning in one line, without the place in our code that gave it."""
    if category.__name__ == "NothingScored":
        return  # the last line says so, and the exit code
    from sensecheck.cli.progress import aside

    with aside():
        if issubclass(category, instruments.InstrumentWarning):
            sys.stderr.write(f"sensecheck: note: {message}\n")
        else:
            sys.stderr.write(warnings.formatwarning(message, category, *where[:2]))


def _call(name: str, rest: Sequence[str]) -> int:
    global begun
    begun = (time.perf_counter(), time.process_time())
    try:
        args = parser_of(name).parse_args(rest)
        code = _module(name).run(args)
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is wrong, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        # Python ends as if killed where the interrupt met code that is made from text (any dataclass), unless more of
        # it is run: then the exit code is ours.
        exec("")
        sys.stderr.write("\nsensecheck: stopped. With --out, the same command with --resume continues from here.\n")
        return STOPPED
    except Exception as error:
        if os.environ.get("SENSECHECK_DEBUG"):
            raise
        return _explain_failure(error, instruments.origin(name))


def _has_module(name: str) -> bool:
    """Whether a command has a module of its own; questions share one, unless they have further steps."""
    return find_spec(f"sensecheck.cli.{name}") is not None


def _module(name: str) -> ModuleType:
    return import_module(f"sensecheck.cli.{name if _has_module(name) else 'question'}")


def parser_of(name: str) -> ArgumentParser:
    """The options of a command."""
    parser: ArgumentParser = _module(name).parser() if _has_module(name) else _module(name).parser(name)
    return parser


def _explain_failure(error: Exception, package: str) -> int:
    from sensecheck.report.escaping import visible
    from sensecheck.runs.stopping import Stopped

    if isinstance(error, Stopped):
        sys.stderr.write(f"sensecheck: stopped: {visible(str(error))}\n")
        return STOPPED
    # A key that a plugin did not find is its own fault; ours are checked, and say what is wrong with an input.
    told = (
        (ValueError, OSError, ImportError) if package else (ValueError, KeyError, OSError, ImportError, OverflowError)
    )
    if isinstance(error, told):
        words = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
        if isinstance(error, OSError) and error.strerror and error.filename is not None:
            from sensecheck.inputs.errors import shown

            # The system's own error, which nobody met on the way: its number says nothing to anyone.
            words = f"{shown(str(error.filename), 300)[1:-1]}: {error.strerror}. Check the path and its permissions."
        return _refuse(words)
    sys.stderr.write(
        f"sensecheck: this is a fault in {package or 'sensecheck itself'}: "
        f"{type(error).__name__}: {visible(str(error), 300)}\n"
        "Run again with SENSECHECK_DEBUG=1 to see where, and please report it.\n"
    )
    return _BUG


def _refuse(words: str) -> int:
    from sensecheck.network.address import public_text
    from sensecheck.report.escaping import visible

    sys.stderr.write(f"sensecheck: error: {visible(public_text(words))}\n")
    return BAD_INPUT


def _help() -> str:
    known = commands()
    width = max(map(len, known))
    lines = [
        "usage: sensecheck COMMAND [OPTIONS]",
        "",
        "Is it faithful, correct, diverse, robust, calibrated? Figures with intervals, slices and a report.",
        "",
        "commands:",
        *(f"  {name:<{width}}  {what}" for name, what in known.items()),
        "",
        "  sensecheck COMMAND --help   all options of a command",
        "  sensecheck --version        the version",
        "",
        "exit codes: 0 done, 1 a gate (--fail-under, --fail-over) failed, 2 bad input, 3 stopped but resumable",
        "",
    ]
    return "\n".join(lines)
