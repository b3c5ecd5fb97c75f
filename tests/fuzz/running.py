"""Runs targets: a child for each, whose death, hang or hunger is a finding too."""

from __future__ import annotations

import hashlib
import mmap
import os
import random
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.fuzz.judging import HARD_SECONDS, MEMORY_BYTES, Finding, Verdict, bounded_memory, judge
from tests.fuzz.minimising import smallest
from tests.fuzz.mutating import Case, mutated
from tests.fuzz.targets import TARGETS, Target

CORPUS = Path(__file__).parent / "corpus"
PROCESS_MUTATIONS = 2_000
PROCESS_SECONDS = 60.0
"""Of the clock, for a process of its own: it may have to load a large library first."""
PATIENCE = float(os.environ.get("FUZZ_PATIENCE", "10"))
"""Seconds spent on making one finding small."""
_SILENT_SECONDS = 4 * HARD_SECONDS
_INPUTS_OF_A_CHILD = 20_000
"""Memory is bounded by what one input may take: what is left of very many before it must not count."""


@dataclass
class Outcome:
    """What came of many inputs to one target."""

    target: str
    inputs: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    findings: dict[tuple[str, str], tuple[Finding, Case, int]] = field(default_factory=dict)
    """Kind and place → what it is, the smallest input found that shows it, and how many inputs did."""


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder in memory, where there is one."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="sensecheck-fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def case_of(target: Target, seed: int, number: int) -> Case:
    """Input number `number` of a seed, whatever came before it."""
    rng = random.Random(f"{target.name}/{seed}/{number}")
    return mutated(rng, target.seeds())


def judged(target: Target, case: Case, folder: Path) -> Verdict:
    path = folder / case.name
    path.write_bytes(case.data)
    with _standard_error() as said:
        verdict = judge(lambda: target.call(path), PROCESS_SECONDS if target.process else None)
    noise = said()
    if verdict.finding is None and "panicked at" in noise:
        verdict.finding = Finding("noise", "standard error", noise[:200])
    return verdict


@contextmanager
def _standard_error() -> Iterator[Callable[[], str]]:
    """What libraries write there by themselves, past Python."""
    words = ""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield lambda: words
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            held.seek(0)
            words = held.read(4000).decode("utf-8", "replace")


def warm(target: Target, folder: Path) -> list[Finding]:
    """Valid files first: they are read without a word, and what is loaded once is loaded."""
    found = []
    for case in target.seeds():
        finding = judged(target, case, folder).finding
        if finding is not None and finding.kind != "slow":  # the first call loads modules
            found.append(finding)
    return found


def run(
    target: Target, mutations: int, seed: int = 1, first: int = 0, minimise: bool = True, place: Any = None
) -> Outcome:
    """Judge so many damaged inputs in this process."""
    outcome = Outcome(target.name)
    with workplace() as folder:
        for finding in warm(target, folder):
            outcome.findings[finding.key] = (finding, target.seeds()[0], 1)
        # A process has its own address space, and would be given what is left of ours.
        with bounded_memory() if not target.process else nullcontext():
            started = time.process_time()
            for number in range(first, first + mutations):
                if place is not None:
                    place[:8] = struct.pack("q", number)
                case = case_of(target, seed, number)
                verdict = judged(target, case, folder)
                outcome.inputs += 1
                outcome.slowest = max(outcome.slowest, verdict.seconds)
                if verdict.finding is None:
                    continue
                known = outcome.findings.get(verdict.finding.key)
                if known is None:
                    outcome.findings[verdict.finding.key] = (verdict.finding, case, 1)
                else:
                    kept = min(known[1], case, key=lambda one: len(one.data))
                    outcome.findings[verdict.finding.key] = (known[0], kept, known[2] + 1)
            outcome.seconds = time.process_time() - started
            if minimise:
                for key, (finding, case, times) in list(outcome.findings.items()):
                    outcome.findings[key] = (finding, shrunk(target, finding, case, folder), times)
    return outcome


def shrunk(target: Target, finding: Finding, case: Case, folder: Path) -> Case:
    """The smallest form of an input that still shows the finding."""
    seconds = 4 * PATIENCE if finding.kind == "slow" else PATIENCE

    def shows(data: bytes) -> bool:
        again = judged(target, Case(case.name, data), folder).finding
        return again is not None and again.key == finding.key

    return Case(case.name, smallest(case.data, shows, seconds))


def corpus_name(case: Case) -> str:
    return f"{hashlib.sha256(case.data).hexdigest()[:8]}-{case.name}"


def corpus(target: str) -> list[Case]:
    """What was found, each in its smallest form."""
    folder = CORPUS / target.replace(" ", "_")
    return [Case(path.name.partition("-")[2], path.read_bytes()) for path in sorted(folder.glob("*"))]


def keep(target: str, case: Case) -> Path:
    folder = CORPUS / target.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / corpus_name(case)
    path.write_bytes(case.data)
    return path


_LOOKS = 3


def first_look(name: str, seed: int, number: int) -> Finding | None:
    """What is found of one input in a process of its own, where nothing is remembered that would make it quick.

    An input that takes long does so every time; one that seems slow once shared the machine with something else.
    """
    context = get_context("spawn")
    finding: Finding | None = None
    for _ in range(_LOOKS):
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            finding = pool.submit(_look, name, seed, number).result()
        if finding is None or finding.kind != "slow":
            break
    return finding


def _look(name: str, seed: int, number: int) -> Finding | None:
    target = TARGETS[name]
    with workplace() as folder:
        warm(target, folder)
        with bounded_memory():
            return judged(target, case_of(target, seed, number), folder).finding


# -- children ----------------------------------------------------------------------------------------------------


def _child(name: str, mutations: int, seed: int, first: int, place: mmap.mmap, pipe: Any) -> None:
    try:
        pipe.send(run(TARGETS[name], mutations, seed, first, place=place))
    except BaseException:
        pipe.send(traceback.format_exc())


def _case_apart(name: str, seed: int, number: int) -> Case:
    """An input made in a child: making it may start threads, and what has threads must not fork again."""
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=lambda: theirs.send(case_of(TARGETS[name], seed, number)))
    child.start()
    theirs.close()
    try:
        case = ours.recv()
    except EOFError:
        case = Case(f"input {number} of seed {seed}", b"")
    child.join()
    assert isinstance(case, Case)
    return case


def guarded(name: str, mutations: int, seed: int = 1) -> Outcome:
    """As `run`, in a child: where an input kills it or makes it hang, that is a finding and the next child goes on."""
    whole = Outcome(name)
    first = 0
    context = get_context("fork")
    while first < mutations:
        place = mmap.mmap(-1, 8)
        place[:8] = struct.pack("q", first)
        ours, theirs = context.Pipe(duplex=False)
        portion = min(mutations - first, _INPUTS_OF_A_CHILD)
        child = context.Process(target=_child, args=(name, portion, seed, first, place, theirs))
        child.start()
        theirs.close()
        at, since, result = first, time.monotonic(), None
        while result is None:
            if ours.poll(0.5):
                try:
                    result = ours.recv()
                except EOFError:
                    result = ""
                break
            now = struct.unpack("q", place[:8])[0]
            if now != at:
                at, since = now, time.monotonic()
            elif time.monotonic() - since > 20 * _SILENT_SECONDS or (not child.is_alive() and not ours.poll()):
                break
        if isinstance(result, Outcome):
            child.join()
            _add(whole, result)
            first += portion
            continue
        at = struct.unpack("q", place[:8])[0]
        if child.is_alive() and child.pid is not None and result is None:
            os.kill(child.pid, signal.SIGKILL)
        child.join()
        if result:
            sys.stderr.write(str(result))
        status = f"status {child.exitcode}"
        finding = Finding("death", status, f"the process ended with {status} (a limit of {MEMORY_BYTES:,} bytes holds)")
        case = _case_apart(name, seed, at)
        known = whole.findings.get(finding.key)
        whole.findings[finding.key] = (finding, case, 1) if known is None else (known[0], known[1], known[2] + 1)
        whole.inputs += at + 1 - first
        first = at + 1
        if sum(times for _, _, times in whole.findings.values()) > 200:
            break
    return whole


def _add(whole: Outcome, part: Outcome) -> None:
    whole.inputs += part.inputs
    whole.seconds += part.seconds
    whole.slowest = max(whole.slowest, part.slowest)
    for key, (finding, case, times) in part.findings.items():
        known = whole.findings.get(key)
        whole.findings[key] = (finding, case, times + (known[2] if known is not None else 0))
