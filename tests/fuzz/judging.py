"""What a reader made of an input: fine, a message of ours, or a finding."""

from __future__ import annotations

import linecache
import os
import re
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import sensecheck

SLOWEST_SECONDS = float(os.environ.get("FUZZ_SLOWEST_SECONDS", "1"))
"""CPU seconds that a small input may take."""
HARD_SECONDS = 5.0
"""CPU seconds after which it is stopped; and it may not wait for longer than so many times that, by the clock."""
_PATIENT = 20
MEMORY_BYTES = 500 * 1024 * 1024
"""Address space that a target may take beyond what it holds when it is warm."""
LONGEST_MESSAGE = 4000

SOURCE = str(Path(sensecheck.__file__).parent)

RAW = re.compile(
    r"object is not|object has no|has no attribute|'NoneType'|NoneType|unhashable|not iterable|not subscriptable|not callable"
    r"|not supported between|unsupported operand|unsupported format string|must be (?:a )?(?:str|int|real number|string)\b|bytes-like"
    r"|index out of range|list assignment index|pop from|out of bounds|dictionary changed|dictionary update sequence"
    r"|invalid literal for|could not convert|cannot convert float|too large to convert|int too (?:large|big)|integer string conversion"
    r"|Exceeds the limit|set_int_max_str_digits|math domain|math range|Result too large|division by zero"
    r"|Expecting value|Expecting property name|Expecting ['‘]|Extra data: line|Invalid control character at|Unterminated string starting"
    r"|Invalid \\+(?:u|x)?[A-Za-z]* ?escape:|\(char \d+\)|codec can.t (?:de|en)code|surrogates not allowed|invalid (?:start|continuation) byte|ordinal not in range"
    r"|unexpected keyword argument|positional argument|missing \d+ required|argument of type|expected str, bytes|embedded null"
    r"|unpack \(expected|values to unpack|not enough values|too many values|argument is not|maximum recursion"
    r"|<class '|Traceback|\bdtype\(|polars\.exceptions|ComputeError|SchemaError|ShapeError|called `\w+::\w+\(\)`|thread '|panicked"
    r"|orjson|tomllib|simdjson|sqlglot|pyo3|numpy\.|ufunc|broadcast|inhomogeneous|setting an array element|buffer size must"
    r"|JSONDecodeError|(?:Type|Value|Key|Index|Attribute|Unicode\w+|Recursion|Overflow|Assertion|Memory)Error\b|^'[^']*'$|Errno|File is not a zip"
    r"|file is not a database|disk image is malformed|no such table|sqlite3\.|while (?:parsing|scanning) a|unacceptable character|line 1 column \d+ \(char"
)  # fmt: skip
"""Words of Python and of libraries that no message of ours repeats."""


@dataclass(frozen=True)
class Finding:
    """Something that a user should never see."""

    kind: str
    """`fault` (exit 70), `raw` (a library's words in our message), `slow`, `memory`, `warning` or `death`."""
    place: str
    """Where in the code, and what kind of exception: findings of one place are one finding."""
    words: str

    @property
    def key(self) -> tuple[str, str]:
        return self.kind, self.place


@dataclass
class Verdict:
    finding: Finding | None
    seconds: float
    message: str = ""
    """What a user is told, where something is wrong with the input."""


class OverTimeError(BaseException):
    """The alarm went off. Nothing in the code under test may catch it."""


def judge(target: Callable[[], object], clock_seconds: float | None = None) -> Verdict:
    """Call a target and look at what came. `clock_seconds`: of one whose work is done by another process."""
    said: list[warnings.WarningMessage] = []
    started = time.process_time()
    message = ""
    finding: Finding | None = None
    try:
        with warnings.catch_warnings(record=True) as said, _alarm(clock_seconds):
            warnings.simplefilter("always")
            target()
    except OverTimeError as error:
        finding = Finding("slow", _innermost(error), f"not done after {clock_seconds or HARD_SECONDS:g} s")
    except MemoryError as error:
        finding = Finding("memory", _innermost(error), f"asked for more than {MEMORY_BYTES:,} bytes: {error}"[:300])
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # panics of Rust are no Exceptions
        message = _told(error)
        finding = _fault(error, message)
    seconds = time.process_time() - started
    if finding is None and seconds > SLOWEST_SECONDS:
        finding = Finding("slow", "", f"{seconds:.1f} CPU seconds")
    if finding is None:
        for warning in said:
            if warning.filename.startswith(SOURCE) and issubclass(warning.category, (RuntimeWarning, SyntaxWarning)):
                line = linecache.getline(warning.filename, warning.lineno).strip()
                place = f"{Path(warning.filename).name}:{warning.lineno} {warning.category.__name__}"
                finding = Finding("warning", place, f"{warning.message} at {line}")
                break
    return Verdict(finding, seconds, message)


def _told(error: BaseException) -> str:
    """As the command line says it."""
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def _fault(error: BaseException, message: str) -> Finding | None:
    place = f"{_innermost(error)} {type(error).__name__}"
    if not _is_ours(error):
        return Finding("fault", place, f"{type(error).__name__}: {message}"[:300])
    raw = RAW.search(message)
    if raw is not None and "the original" not in message.lower():  # what an original raises is told as what it is
        return Finding("raw", f"{place} {raw[0]}", message[:300])
    if not message.strip() or "\n" in message or len(message) > LONGEST_MESSAGE:
        return Finding("raw", f"{place} form", f"{len(message)} characters: {message[:200]!r}")
    return None


def _is_ours(error: BaseException) -> bool:
    """An exception of one of our own types, or one that a line of ours raises on purpose, of a kind that is told."""
    if isinstance(error, SystemExit):  # argparse has said why
        return True
    if not isinstance(error, (ValueError, KeyError, OSError, ImportError, OverflowError)):
        return type(error).__name__ == "Stopped"
    if type(error).__module__.startswith("sensecheck"):
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    return last.filename.startswith(SOURCE) and (last.line or "").startswith("raise ")


def _innermost(error: BaseException) -> str:
    """The last line of ours that an exception came through."""
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(SOURCE)]
    if not ours:
        return "outside"
    return f"{Path(ours[-1].filename).relative_to(SOURCE)}:{ours[-1].name}"


@contextmanager
def _alarm(clock_seconds: float | None) -> Iterator[None]:
    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise OverTimeError

    # Other work on the machine, or a pause, is not the target's time.
    timers = [(signal.ITIMER_REAL, signal.SIGALRM, clock_seconds or _PATIENT * HARD_SECONDS)]
    if clock_seconds is None:
        timers.append((signal.ITIMER_PROF, signal.SIGPROF, HARD_SECONDS))
    before = [signal.signal(told_by, ring) for _, told_by, _ in timers]
    for timer, _, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (timer, told_by, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(told_by, handler)


@contextmanager
def bounded_memory(more: int = MEMORY_BYTES) -> Iterator[None]:
    """A bound on the address space, so that an input that makes a reader ask for too much is found."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
