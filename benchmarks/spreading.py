"""One run by one process, by several and by a Dask cluster: the same digits however it is cut, and rows per second.

python -m benchmarks spreading --digits    ways of measuring × sizes of batches × questions, each against one process
python -m benchmarks spreading --constants processor time and bytes a row, of which a cluster's time follows
python -m benchmarks spreading --speed     rows per second of two questions, by 1 and N processes and by Dask
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import orjson
from tests.runs.five_questions import calls, digits

import sensecheck
from sensecheck.report.result import Result
from sensecheck.statistics.figure import IntervalOptions

OPTIONS = IntervalOptions(replicates=100)
SIZES = {"small": (17, 1 << 11), "middle": (64, 1 << 14), "usual": (None, None)}
"""Records and bytes of text in a batch."""


def cut(records: int | None, block: int | None) -> None:
    """Cut the batches of this process otherwise than usual."""
    if records is None or block is None:
        return
    from sensecheck.calibrated.logits import LogitsReader
    from sensecheck.correct import records as of_correct
    from sensecheck.diverse import evaluation as diverse
    from sensecheck.faithful.evaluation import Faithful
    from sensecheck.robust import evaluation as robust

    Faithful.block_bytes, Faithful.batch_rows = block, records
    of_correct.BATCH_RECORDS = of_correct.UNASKED_RECORDS = records
    diverse.BATCH_SETS = records
    robust.ASKED_PAIRS, robust.BATCH_ASKS = records, 1
    LogitsReader.__init__.__kwdefaults__["block_bytes"] = block  # type: ignore[index]


def evaluate(name: str, **call: Any) -> Result:
    result: Result = getattr(sensecheck, name).evaluate(**{"options": OPTIONS, **call})
    return result


def _alone(name: str, call: dict[str, Any], folder: Path) -> Result:
    return evaluate(name, **call)


def _seven_shards(name: str, call: dict[str, Any], folder: Path) -> Result:
    places = [folder / f"shard-{number}" for number in range(1, 8)]
    for number, place in enumerate(places, 1):
        evaluate(name, **call, shard=(number, 7), out=place)
    return sensecheck.merge(places, folder / "run")


@contextmanager
def _cluster(size: tuple[int | None, int | None]) -> Iterator[Any]:
    import distributed

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as made,
        distributed.Client(made) as client,
    ):
        client.run(cut, *size)
        yield client.get_executor(pure=False)


@contextmanager
def _pool(size: tuple[int | None, int | None]) -> Iterator[Any]:
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, spawn, initializer=cut, initargs=size) as pool:
        yield pool


def others(given: dict[str, dict[str, Any]], folder: Path) -> dict[str, dict[str, Any]]:
    """A second system for each question, to compare the first with."""
    from sensecheck import demo

    pairs = [json.loads(line) for line in Path(given["correct"]["data"]).read_text().splitlines()]
    for number, pair in enumerate(pairs):
        pair["prediction"] = pair["gold"] if number % 4 else "SELECT port FROM ship"
    (folder / "others.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    changed = {
        "faithful": {"data": demo.path("sentences_b.jsonl")},
        "correct": {"data": folder / "others.jsonl"},
        "diverse": {"data": demo.path("dialogue_b.txt")},
        "robust": {"model": "py:benchmarks.spreading:by_length"},
        "calibrated": {"data": demo.path("parser_b.logits.gz")},
    }
    return {name: {**call, **changed[name]} for name, call in given.items()}


def by_length(premises: list[str], hypotheses: list[str]) -> list[int]:
    """A classifier that any process can import."""
    return [len(p) % 3 if len(h) % 4 else len(h) % 3 for p, h in zip(premises, hypotheses, strict=True)]


def told(measure: Callable[..., Result], name: str, calls_of_both: tuple[dict[str, Any], dict[str, Any]]) -> list[str]:
    """The digits of a question's figures, and of what comparing two systems by it gives: differences, intervals, p."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        results = [measure(name, call, Path(at)) for call, at in zip(calls_of_both, (one, other), strict=True)]
        differences = [d.to_dict() for d in sensecheck.compare(results).pairs[0].differences]
        assert any(d["p"] is not None and d["p"] < 1 for d in differences), "nothing to compare"
        return [digits(results[0]), json.dumps(differences, sort_keys=True)]


def _by(engine: Any, name: str, call: dict[str, Any], folder: Path) -> Result:
    return evaluate(name, **call, engine=engine, out=folder / "run")


def show_digits(size_name: str) -> bool:
    """One size of batches: every way against the usual batches in one process."""
    size, same = SIZES[size_name], True
    with tempfile.TemporaryDirectory() as temporary:
        given = calls(Path(temporary))
        both = {name: (given[name], other) for name, other in others(given, Path(temporary)).items()}
        usual = {name: told(_alone, name, two) for name, two in both.items()}
        cut(*size)
        with _pool(size) as pool, _cluster(size) as cluster:
            ways: dict[str, Callable[..., Result]] = {
                "1 process": _alone,
                "2 processes": partial(_by, pool),
                "Dask, 2 workers": partial(_by, cluster),
                "7 shards": _seven_shards,
            }
            for way, measure in ways.items():
                cells = []
                for name, two in both.items():
                    found = told(measure, name, two)
                    wrong = [what for what, x, y in zip(("figures", "p"), found, usual[name], strict=True) if x != y]
                    cells.append("same" if not wrong else f"DIFFERENT {' and '.join(wrong)}")
                same = same and set(cells) == {"same"}
                print(f"| {size_name} | {way} | {' | '.join(cells)} |", flush=True)
    return same


def _rows(folder: Path, count: int) -> Path:
    rng = random.Random(0)
    path = folder / "rows.csv"
    with path.open("w") as out:
        out.write("id,confidence,correct\n")
        out.writelines(f"r{i},{rng.random():.4f},{rng.random() < 0.6:d}\n" for i in range(count))
    return path


def _sentences(folder: Path, count: int) -> Path:
    from sensecheck import demo

    lines = demo.path("sentences_a.jsonl").read_text(encoding="utf-8").splitlines()
    path = folder / "sentences.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for number in range(count):
            out.write(json.dumps({**orjson.loads(lines[number % len(lines)]), "id": f"s{number}"}) + "\n")
    return path


def show_speed(processes: int, confidences: int, sentences: int) -> None:
    from sensecheck import demo

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        work = {
            "calibrated": (confidences, {"data": _rows(folder, confidences)}),
            "faithful": (
                sentences,
                {"data": _sentences(folder, sentences), "schema": demo.path("tables.json"), "dialect": "sqlite"},
            ),
        }
        for name, (count, call) in work.items():
            engines = {"1 process": None, f"{processes} processes": f"processes:{processes}"}
            engines[f"Dask, {processes} workers"] = f"dask:{processes}"
            for way, engine in engines.items():
                begun = time.perf_counter()
                evaluate(name, **call, out=folder / "run", overwrite=True, engine=engine)
                seconds = time.perf_counter() - begun
                print(f"| {name} | {count:,} | {way} | {seconds:.1f} s | {count / seconds:,.0f} |", flush=True)


def show_constants(confidences: int, sentences: int) -> None:
    """Processor time a row: what every shard pays for reading, what is shared, and what merging takes."""
    from sensecheck import demo

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        schema = {"schema": demo.path("tables.json"), "dialect": "sqlite"}
        work = {
            "calibrated": (confidences, {"data": _rows(folder, confidences)}),
            "faithful": (sentences, {"data": _sentences(folder, sentences), **schema}),
        }
        for name, (count, call) in work.items():
            evaluate(name, **{**call, "limit": 100})  # what is imported once
            spent = {}
            for shards in (1, 64):
                begun = time.process_time()
                evaluate(name, **call, shard=(1, shards), out=folder / f"{name}-{shards}")
                spent[shards] = (time.process_time() - begun) / count
            begun = time.process_time()
            sensecheck.merge([folder / f"{name}-1"], folder / f"{name}-run")
            merging = (time.process_time() - begun) / count
            shared = (spent[1] - spent[64]) * 64 / 63
            size = sum(path.stat().st_size for path in (folder / f"{name}-1").glob("*.parquet")) / count
            micro = [1e6 * seconds for seconds in (spent[1] - shared, shared, merging)]
            print(f"| {name} | {count:,} | {' | '.join(f'{m:.1f} µs' for m in micro)} | {size:.0f} B |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--digits", nargs="*", metavar="SIZE", help="the table of digits, of these sizes or all")
    parser.add_argument("--speed", action="store_true", help="rows per second")
    parser.add_argument("--constants", action="store_true", help="processor time and bytes a row")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of calibrated")
    parser.add_argument("--sentences", type=int, default=20_000, help="rows of faithful")
    given = parser.parse_args()
    same = True
    everything = given.digits is None and not given.speed and not given.constants
    if given.digits is not None or everything:
        print("| batches | measured by | faithful | correct | diverse | robust | calibrated |")
        print("|---|---|---|---|---|---|---|", flush=True)
        # Sizes cannot be put back: each has a process of its own.
        for size in given.digits or SIZES:
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as one:
                same = one.submit(show_digits, size).result() and same
    if given.constants or everything:
        print("| question | rows | reading | measuring | merging | kept |\n|---|---|---|---|---|---|")
        show_constants(given.rows, given.sentences)
    if given.speed or everything:
        print("| question | rows | measured by | time | rows per second |\n|---|---|---|---|---|")
        show_speed(given.processes, given.rows, given.sentences)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
