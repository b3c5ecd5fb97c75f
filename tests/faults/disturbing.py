"""One fault, from the undisturbed run that it is held against to what must be true after it."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.models import faulty_server
from tests.runs.five_questions import demo_database

from sensecheck import demo

MARK = "SENSECHECK_FAULT"
"""A variable of the environment by which every process of a run is known, however it was started."""
_PATIENCE = 120
_FEW, _MANY = 16, 96
"""Pairs: with an engine, processes take their time to start, and then there must be something to disturb."""


class Ground:
    """What all faults share: the server, the data, and how an undisturbed run of each kind went."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        for pairs in (_FEW, _MANY):
            lines = demo.path("nli.jsonl").read_text(encoding="utf-8").splitlines()[:pairs]
            (folder / f"nli-{pairs}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.database = demo_database(folder)
        self._undisturbed: dict[str, tuple[str, float]] = {}
        self._numbered = 0
        self._known: set[int] = set()

    def __enter__(self) -> Ground:
        self.server = faulty_server.serve(self.folder / "answered.jsonl")
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()

    def place(self) -> Path:
        self._numbered += 1
        self._known = set()
        return self.folder / f"run-{self._numbered}"

    def command(self, kind: str, out: Path, engine: str = "") -> list[str]:
        room = [sys.executable, "-m", "sensecheck"]
        if KINDS[kind].asks_database:
            pairs, database = str(self.database / "pairs.jsonl"), str(self.database / "db.sqlite")
            work = ["correct", pairs, "--database", database, "--workers", "2", "--convention", "bird"]
        else:
            url = f"http://127.0.0.1:{self.server.server_port}/v1#m"
            work = [
                "robust",
                str(self.folder / f"nli-{KINDS[kind].pairs}.jsonl"),
                "--model",
                url,
                "--generator",
                url,
                "--concurrency",
                "4",
                "--candidates",
                "3",
            ]
        spread = ["--engine", engine] if engine else []
        return [*room, *work, *spread, "--resamples", "60", "--out", str(out), "--quiet", "--format", "json"]

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), MARK: self.mark, "TMPDIR": str(self.temporary),
            "OPENAI_API_KEY": "k" * 12, "DASK_TEMPORARY_DIRECTORY": str(self.folder / "dask"),
        }  # fmt: skip
        return subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )

    @property
    def mark(self) -> str:
        return f"{os.getpid()}-{self._numbered}"

    def undisturbed(self, kind: str, engine: str = "") -> tuple[str, float]:
        """The figures of a run that nothing happened to, and how long it took."""
        question = "correct" if KINDS[kind].asks_database else "robust"
        done = f"{question} {KINDS[kind].pairs} {engine}"
        if done not in self._undisturbed:
            out = self.place()
            begun = time.monotonic()
            said = self.start(self.command(kind, out, engine)).communicate(timeout=_PATIENCE)
            assert (out / "summary.json").exists(), said
            self._undisturbed[done] = _figures(out), time.monotonic() - begun
        return self._undisturbed[done]

    def processes(self) -> list[int]:
        """All processes of the run at hand: workers of stores have no environment, and are known by their parents."""
        parents, found = {}, set()
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
                if state == "Z":
                    continue
                parents[int(place.name)] = int(parent)
                if f"{MARK}={self.mark}".encode() in (place / "environ").read_bytes().split(b"\0"):
                    found.add(int(place.name))
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        self._known = (self._known & parents.keys()) | found
        return sorted(self._known)


@dataclass
class Fault:
    """What came of one."""

    hit: bool = False
    """whether there was something to disturb at that moment"""
    code: int = 0
    """how the disturbed process ended"""
    answered: int = 0
    """answers that a model had given by then"""
    again: int = 0
    """answers asked for a second time: they were under way when the fault came"""
    wrong: str = ""
    """what must not be, if anything is"""


@dataclass(frozen=True)
class Kind:
    engine: str
    strike: Callable[[Ground, subprocess.Popen[str], Path], bool]
    asks_database: bool = False
    cluster: bool = False
    pairs: int = _FEW
    missing: Callable[[], str] = lambda: "" if sys.platform == "linux" else "needs Linux (/proc)"


def disturbed(ground: Ground, kind: str, rng: random.Random) -> Fault:
    """A run that something happens to at a random moment, and what must be true of it."""
    expected, seconds = ground.undisturbed(kind)
    how, fault = KINDS[kind], Fault()
    if how.engine:  # other processes have to start first
        seconds = ground.undisturbed(kind, "processes:2")[1]
    out = ground.place()
    log = ground.folder / "answered.jsonl"
    log.write_text("")
    with contextlib.ExitStack() as ending:
        if kind == "full disk":
            out = ending.enter_context(_small_disk(ground.folder / f"disk-{out.name}")) / "run"
        cluster = ending.enter_context(_Cluster(ground)) if how.cluster else None
        command = ground.command(kind, out, cluster.address if cluster is not None else how.engine)
        process = ground.start(command)
        if kind != "full disk":
            time.sleep(rng.uniform(0.2, 1.1) * seconds)
        ground.processes()
        fault.answered = len(_answered(log))
        fault.hit = process.poll() is None and how.strike(ground, process, out)
        try:
            told = process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            fault.wrong = f"{kind}: it did not end"
            return fault
        fault.code = process.returncode
        if fault.code not in (0, 2, 3, -signal.SIGKILL) or "Traceback" in told[1]:
            fault.wrong = f"{kind}: status {fault.code}, {told[1][-600:]}"
        recorded, before = _recorded(out), _answered(log)
        if kind == "full disk":
            subprocess.run(["mount", "-o", "remount,size=64m", str(out.parent)], check=True)
        if cluster is not None:
            cluster.restore()
        again = ground.start([*command, *(["--resume"] if _was_begun(out) else [])])
        said = again.communicate(timeout=_PATIENCE)[1]
        if cluster is not None:
            cluster.stop()
        fault.again = len(set(before) & set(_answered(log)[len(before) :]))
        if again.returncode != 0:
            fault.wrong = fault.wrong or f"{kind}: taken up again, it ended with {again.returncode}: {said[-600:]}"
        elif (found := _figures(out)) != expected:
            fault.wrong = (
                fault.wrong or f"{kind}: other figures: {_difference(json.loads(expected), json.loads(found))}"
            )
        twice = recorded & set(_answered(log)[len(before) :])
        if twice:
            fault.wrong = fault.wrong or f"{kind}: {len(twice)} answers that were on disk were asked for again"
        fault.wrong = fault.wrong or _leftovers(ground, out)
        shutil.rmtree(out, ignore_errors=True)
    return fault


def _figures(out: Path) -> str:
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    summary["extra"].pop("cost", None)  # what was asked now, and what before, is of the run that was stopped
    return json.dumps({name: value for name, value in summary.items() if name != "notes"}, sort_keys=True)


def _difference(expected: Any, found: Any, at: str = "") -> str:
    """Where two summaries differ first."""
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        return next((_difference(expected[k], found[k], f"{at}.{k}") for k in expected if expected[k] != found[k]), "")
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return next((_difference(x, y, f"{at}[{i}]") for i, (x, y) in pairs if x != y), "")
    return f"{at} was {str(expected)[:200]}, is {str(found)[:200]}"


def _answered(log: Path) -> list[str]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def _was_begun(out: Path) -> bool:
    return (out / "manifest.json").exists() or out.with_name(f"{out.name}.shards").exists()


def _recorded(out: Path) -> set[str]:
    """Prompts whose answers are on disk. The texts of calls are what is asked about; a prompt holds all of them."""
    found: set[str] = set()
    for path in [out / "calls.sqlite", *out.parent.glob(f"{out.name}.shards/shard-*/calls.sqlite")]:
        if path.exists():
            with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as database:
                found |= {str(text) for (text,) in database.execute("SELECT text FROM calls")}
    return {_prompt(text) for text in found} - {""}


def _prompt(text: str) -> str:
    """What the model was sent for a kept call about a pair, but for those few that every part asks for itself."""
    from sensecheck.models.probe import PROBE
    from sensecheck.models.prompts import NLI_PROMPT, fill

    premise, sign, hypothesis = text.partition("\x1f")
    of_every_part = any((premise, hypothesis) == (p, h) for p, h, _ in PROBE)
    return fill(NLI_PROMPT, premise, hypothesis) if sign and not of_every_part else ""


def _leftovers(ground: Ground, out: Path) -> str:
    until = time.monotonic() + 10
    while ground.processes() and time.monotonic() < until:
        time.sleep(0.1)
    if ground.processes():
        return f"processes are left: {[Path(f'/proc/{pid}/cmdline').read_bytes() for pid in ground.processes()]}"
    passing = [path.name for path in ground.temporary.iterdir()]
    beside = [path.name for path in out.parent.glob(f"{out.name}.*")] + [path.name for path in out.glob(".*")]
    return f"files are left: {passing + beside}" if passing or beside else ""


# ---- what happens


def _kill_main(ground: Ground, process: subprocess.Popen[str], out: Path) -> bool:
    process.kill()
    return True


def _kill_child(*names: str) -> Callable[[Ground, subprocess.Popen[str], Path], bool]:
    def strike(ground: Ground, process: subprocess.Popen[str], out: Path) -> bool:
        for pid in ground.processes():
            with contextlib.suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
                if pid != process.pid and any(name.encode() in line for name in names):
                    os.kill(pid, signal.SIGKILL)
                    return True
        return False

    return strike


def _fill_nothing(ground: Ground, process: subprocess.Popen[str], out: Path) -> bool:
    return True  # the disk is too small from the start


@contextlib.contextmanager
def _small_disk(place: Path):  # type: ignore[no-untyped-def]
    place.mkdir()
    size = random.Random(place.name).randrange(40, 130)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=False)
        place.rmdir()


def _without_mounts() -> str:
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux (a small tmpfs)"
    return ""


def _without_dask() -> str:
    return "" if importlib.util.find_spec("distributed") else "needs Dask: pip install 'sensecheck[dask]'"


class _Cluster:
    """A scheduler and two workers, each a process with its nanny off, in folders of their own."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> _Cluster:
        self.restore()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def restore(self) -> None:
        """Start what is not running."""
        program = [sys.executable, "-m", "dask"]
        local = str(self.ground.temporary / "dask")
        wanted = {
            "scheduler": [*program, "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"],
            **{
                name: [
                    *program, "worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--name", name,
                    "--death-timeout", "20", "--local-directory", local,
                ]
                for name in ("one", "two")
            },
        }  # fmt: skip
        if self.processes and self.processes["scheduler"].poll() is not None:
            self.stop()
        for name, command in wanted.items():
            if name not in self.processes or self.processes[name].poll() is not None:
                self.processes[name] = self.ground.start(command)

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.communicate()
        self.processes = {}
        shutil.rmtree(self.ground.temporary / "dask", ignore_errors=True)


KINDS = {
    "main process": Kind("", _kill_main),
    "main of a pool": Kind("processes:2", _kill_main, pairs=_MANY),
    "pool worker": Kind("processes:2", _kill_child("spawn_main"), pairs=_MANY),
    "dask worker": Kind("cluster", _kill_child("dask\0worker"), cluster=True, pairs=_MANY, missing=_without_dask),
    "dask scheduler": Kind("cluster", _kill_child("dask\0scheduler"), cluster=True, pairs=_MANY, missing=_without_dask),
    "store worker": Kind("", _kill_child("sensecheck.stores.worker"), asks_database=True),
    "full disk": Kind("", _fill_nothing, missing=_without_mounts),
}
