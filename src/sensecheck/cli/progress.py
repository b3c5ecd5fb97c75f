"""What a run says of itself on standard error: a line that is redrawn, plain lines, JSON lines, and a table at its end.

A thread of its own draws, so that a stage that takes a minute over one call does not stand still, and those who work
only count. Whatever happens to standard error (closed, a broken pipe, no terminal), the figures are not touched by it.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, Literal, TextIO

from sensecheck import cli
from sensecheck.report.escaping import visible
from sensecheck.stages import MEASURING, STAGES, Stage, Tally, Watch, watching

Style = Literal["line", "plain", "json", "none"]
STYLES: tuple[Style, ...] = ("line", "plain", "json", "none")

_WORDS = {
    "reading": "reading",
    "measuring": "reading and measuring",
    "querying": "running queries",
    "summing": "summing",
    "resampling": "resampling",
    "comparing": "comparing",
    "report": "writing the report",
}
# Style → seconds before the first word, and between two.
_RHYTHM = {"line": (1.0, 0.2), "plain": (5.0, 10.0), "json": (1.0, 1.0)}
# A stage that counted nothing is worth a last word from so many seconds on.
_TOLD_SECONDS = 0.5
# Not `progress`: that is a parameter of `evaluate`, which is called with all that was given under its names.
_STYLE = "progress_style"


class Progress(Watch):
    """A watch that tells what it sees."""

    def __init__(self, style: Style, stream: TextIO | None, words: str = "", unit: str = "") -> None:
        super().__init__()
        self.helped = _by_others()
        """CPU seconds of other processes that were ended before."""
        self.label = ""
        """Which of several runs this is."""
        self._style = style
        self._words = {**_WORDS, MEASURING: words or _WORDS[MEASURING]}
        self._unit = unit
        self._out = _Out(stream) if style != "none" and stream is not None else None
        self._drawn = 0
        self._drawing = threading.RLock()
        self._over = threading.Event()
        self._teller: threading.Thread | None = None
        self._begun = time.perf_counter()
        if self._out is not None:
            self._teller = threading.Thread(target=self._tell, name="sensecheck progress", daemon=True)
            self._teller.start()

    # ---- what happens

    def over(self, stage: Stage) -> None:
        super().over(stage)
        worth_it = stage.done or (not stage.pulled and time.perf_counter() - stage.begun >= _TOLD_SECONDS)
        # Where a reader reads through another one, the outer one has the last word.
        if self._style == "json" and worth_it and not any(outer.name == stage.name for outer in self.open):
            with self._drawing:
                self._write(json.dumps(self._state(stage) | {"ended": True}) + "\n")

    def stop(self) -> None:
        """Say no more: what comes now is figures, or an error."""
        self._over.set()
        if self._teller is not None:
            self._teller.join(1.0)
            self._teller = None
        with self._drawing:
            self._wipe()
            if self._out is not None:
                self._out.close()
                self._out = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """For the time in which something else is written: the line makes room for it."""
        with self._drawing:
            self._wipe()
            yield

    # ---- what is said

    def _tell(self) -> None:
        patience, every = _RHYTHM[self._style]
        wait = patience
        while not self._over.wait(wait):
            wait = every
            with self._drawing:
                if self._over.is_set():
                    return
                if self._style == "line":
                    self._draw()
                elif self._style == "json":
                    if (stage := self._shown()) is not None:
                        self._write(json.dumps(self._state(stage)) + "\n")
                else:
                    self._write(self.sentence() + "\n")

    def _shown(self) -> Stage | None:
        """The stage to speak of: the innermost, unless it only serves another that has come further, or counts nothing
        for another: a shard that is kept is no report that is written.
        """
        stages = list(self.open)
        for at, stage in reversed(list(enumerate(stages))):
            if not stage.pulled or not at or (stage.unit and not any(outer.done for outer in stages[:at])):
                return stage
        return None

    def _state(self, stage: Stage) -> dict[str, Any]:
        now = stage.until or time.perf_counter()
        spent, idle = now - stage.fresh, now - stage.moved
        # What is done was done up to the last word; a stage that says nothing for longer than all its time is slower.
        worked = max(spent - idle, idle)
        share = self.share(stage)
        rate = (stage.done - stage.before) / worked if worked > 0 else 0.0
        # What an earlier run did took no time now.
        first = share if stage.skips else stage.before / stage.total if stage.total else stage.first
        left = None
        # Steps that are no things of one kind are uneven: nobody knows how long a long one takes.
        uneven = not stage.unit and idle > spent - idle
        if share is not None and first is not None and share > first and stage.done > stage.before and not uneven:
            left = max(worked * (1 - share) / (share - first) - idle, 0.0)
        resumed = {"resumed_done": stage.before, "resumed_fraction": None if first is None else round(first, 4)}
        return {
            "stage": stage.name,
            "done": stage.done,
            "total": stage.total,
            "unit": self._unit_of(stage),
            "fraction": None if share is None else round(share, 4),
            "rate": round(rate, 3),
            "seconds_left": None if left is None else round(left, 1),
            "unscored": self.unscored,
            "elapsed": round(now - stage.begun, 3),
            **(resumed if stage.before else {}),
            **({"of": visible(self.label)} if self.label else {}),
        }

    def sentence(self, width: int | None = None) -> str:
        """How things stand, in words; of what a terminal's width does not hold, whole parts are left out."""
        stage = self._shown()
        if stage is None:
            return _fitted(["working"], {"elapsed": f"for {duration(time.perf_counter() - self._begun)}"}, width)
        state = self._state(stage)
        parts = {}
        if state["fraction"] is not None:
            parts["fraction"] = f"{int(100 * state['fraction'])}%"
        if state["unit"] and (stage.done or stage.total):
            of = f"{stage.done:,} of " if stage.total else ""
            parts["count"] = of + counted(stage.total or stage.done, visible(state["unit"]))
            if state["rate"] > 0:
                parts["rate"] = per_time(state["rate"])
        if state["seconds_left"] is not None:
            parts["left"] = f"{duration(state['seconds_left'])} left"
        elif not parts:
            parts["elapsed"] = f"for {duration(state['elapsed'])}"
        if self.unscored:
            parts["unscored"] = f"{self.unscored:,} unscored"
        if stage.before:
            share = state["resumed_fraction"]
            after = counted(stage.before, visible(state["unit"]))
            parts["resumed"] = f"resumed after {after}" if share is None else f"resumed at {int(100 * share)}%"
        words = visible(self._words.get(stage.name, stage.name))
        label = f"{visible(self.label, 60)}: " if self.label else ""
        heads = [f"{label}{words}:", f"{label}{stage.name}:", f"{stage.name}:"]
        return _fitted(heads if label else heads[::2], parts, width)

    def _unit_of(self, stage: Stage) -> str:
        return self._unit if self._unit and stage.name == MEASURING and stage.unit == "rows" else stage.unit

    # ---- how it is written

    def _draw(self) -> None:
        if self._out is None:
            return
        line = self.sentence(self._out.width() - 1)
        columns = _columns(line)
        self._write("\r" + line + " " * (self._drawn - columns) + "\b" * (self._drawn - columns))
        self._drawn = columns

    def _wipe(self) -> None:
        if self._drawn:
            self._write("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def _write(self, text: str) -> None:
        if self._out is not None and not self._out.write(text):
            self._out.close()
            self._out = None  # nobody reads it any more


class _Out:
    """Standard error, as it was when the run began: reading Parquet holds the descriptor itself back for a while."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "ascii"
        self._descriptor: int | None = None
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
            self._descriptor = os.dup(stream.fileno())

    def width(self) -> int:
        columns = 0
        with suppress(OSError, ValueError):
            columns = os.get_terminal_size(self._descriptor if self._descriptor is not None else 2).columns
        if not columns:
            with suppress(ValueError):
                columns = int(os.environ.get("COLUMNS", ""))
        return columns if columns > 1 else 80

    def write(self, text: str) -> bool:
        """Whether it could be written."""
        try:
            if self._descriptor is None:
                self._stream.write(text.encode(self._encoding, "replace").decode(self._encoding))
                self._stream.flush()
            else:
                # Past Python's buffer: what a broken pipe leaves there would be raised again with the next message.
                data = memoryview(text.encode(self._encoding, "replace"))
                while data:
                    data = data[os.write(self._descriptor, data) :]
        except (OSError, ValueError):
            return False
        return True

    def close(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


# What a narrow terminal goes without, the first first: the percentage is what stays.
_DROPPED = ("left", "rate", "unscored", "resumed", "count", "elapsed")


def _fitted(heads: Sequence[str], parts: Mapping[str, str], width: int | None) -> str:
    """The parts under the first head, or as many of them under the shortest as fit; no number or word is ever cut.

    >>> parts = {"fraction": "75%", "count": "150 of 200 rows", "left": "9 s left"}
    >>> [_fitted(["reading and measuring:", "measuring:"], parts, width) for width in (41, 31, 20, 6, 2)]
    ['measuring: 75%, 150 of 200 rows, 9 s left', 'measuring: 75%, 150 of 200 rows', 'measuring: 75%', '75%', '']
    """
    kept = dict(parts)
    tried = [(head, kept.copy()) for head in heads[:2]]
    for name in _DROPPED:
        if kept.pop(name, None) is not None:
            tried.append((heads[min(1, len(heads) - 1)], kept.copy()))
    tried += [(heads[-1], kept), ("", kept)]
    lines = (f"{head} {', '.join(some.values())}".strip(" :") for head, some in tried)
    return next((line for line in lines if width is None or _columns(line) <= width), "")


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes: letters of some scripts take two."""
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def counted(number: int, unit: str) -> str:
    """
    >>> counted(1, "slices"), counted(1, "queries"), counted(1200, "rows")
    ('1 slice', '1 query', '1,200 rows')
    """
    one = unit[:-3] + "y" if unit.endswith("ies") else unit.removesuffix("s")
    return f"{number:,} {one if number == 1 else unit}"


def duration(seconds: float) -> str:
    """
    >>> duration(4.2), duration(200), duration(7500)
    ('4 s', '3 min 20 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def per_time(rate: float) -> str:
    """
    >>> per_time(1234.5), per_time(2.5), per_time(0.05)
    ('1,234 a second', '2.5 a second', '3.0 a minute')
    """
    if rate >= 10:
        return f"{rate:,.0f} a second"
    return f"{rate:.1f} a second" if rate >= 0.5 else f"{60 * rate:.1f} a minute"


# ---- on the command line


def add_progress(group: argparse._ArgumentGroup) -> None:
    """The options on what a run says of itself."""
    one = group.add_mutually_exclusive_group()
    one.add_argument(
        "--progress",
        dest=_STYLE,
        choices=STYLES,
        help="how progress is told on standard error: a line redrawn in place (line), a line every few seconds (plain),"
        " a JSON object a second (json), or not at all (none) (default: line in a terminal, plain elsewhere)",
    )
    one.add_argument("--quiet", action="store_true", help="tell no progress; figures and errors are still printed")
    group.add_argument(
        "--verbose", action="store_true", help="after the run, print the time of each of its stages on standard error"
    )


@contextmanager
def progress(args: argparse.Namespace, words: str = "", unit: str = "") -> Iterator[Progress]:
    """Tell how the run goes until `stop` is called, and with --verbose at the end where its time went.

    words, unit: what measuring is called, and what it counts.
    """
    global _current
    stream = _standard_error()
    redrawn = _is_terminal(stream) and os.environ.get("TERM") != "dumb"  # which has no way back in a line
    style: Style = getattr(args, _STYLE, None) or ("line" if redrawn else "plain")
    watch = Progress("none" if getattr(args, "quiet", False) else style, stream, words, unit)
    before, _current = _current, watch
    try:
        with watching(watch):
            yield watch
    finally:
        _current = before
        watch.stop()
    if getattr(args, "verbose", False) and stream is not None:
        with suppress(OSError, ValueError):
            stream.write(times(watch.tallies, watch.outside, _by_others() - watch.helped))
            stream.flush()


_current: Progress | None = None


def aside() -> Any:
    """For the time in which something is written beside the progress, such as a warning."""
    return nullcontext() if _current is None else _current.aside()


def times(tallies: Mapping[str, Tally], outside: Tally, by_others: float = 0.0) -> str:
    """Where the time went, stage by stage; by_others: CPU seconds of processes that this one started."""
    order = [*(name for name in STAGES if name in tallies), *(name for name in tallies if name not in STAGES)]
    rows = [(name, tallies[name].cpu, tallies[name].wall, _counted(tallies[name])) for name in order]
    wall, cpu = time.perf_counter() - cli.begun[0], time.process_time() - cli.begun[1]
    rest_cpu, rest_wall = cpu - sum(row[1] for row in rows), wall - sum(row[2] for row in rows)
    rows.append(("the rest", max(rest_cpu, outside.cpu), max(rest_wall, outside.wall), ""))
    rows.append(("total", max(cpu, 0.0), max(wall, 0.0), ""))
    lines = [f"{'stage':<12} {'CPU s':>9} {'wall s':>9}  done"]
    lines += [f"{visible(name):<12} {cpu:>9.2f} {wall:>9.2f}  {done}".rstrip() for name, cpu, wall, done in rows]
    lines += _memory(by_others)
    return "".join(f"  {line}\n" for line in lines)


def _counted(tally: Tally) -> str:
    if not tally.count or not tally.unit:
        return ""
    unscored = f", {tally.unscored:,} unscored" if tally.unscored else ""
    return counted(tally.count, visible(tally.unit)) + unscored


def _by_others() -> float:
    used = os.times()
    return used.children_user + used.children_system


def _memory(by_others: float) -> list[str]:
    try:
        import resource
    except ImportError:  # Windows
        return []
    unit = 1 if sys.platform == "darwin" else 1024
    own = resource.getrusage(resource.RUSAGE_SELF)
    lines = [f"peak memory {own.ru_maxrss * unit / 1e6:,.0f} MB"]
    if by_others > 0:
        largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1e6
        lines.append(f"other processes: {by_others:.2f} CPU s, peak memory {largest:,.0f} MB")
    return lines


def _standard_error() -> TextIO | None:
    stream = sys.stderr
    return None if stream is None or getattr(stream, "closed", False) else stream


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError, AttributeError):
        return False
