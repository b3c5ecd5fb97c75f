"""Do two versions of sensecheck give the same figures, digit for digit?

    python scripts/same_digits.py BEFORE AFTER [--only WORD]

BEFORE and AFTER are checkouts. Every case below is run with both, and all that a summary says (values, intervals, n,
unscored, slices, notes, the printed signature) is compared. Cases that need data beside the repository are left out
where there are none. Exit code 1 when anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Parts of a summary that say how it is stored, not what it says.
IGNORED = ("schema", "intervals", "signature.method", "signature.defaults", "signature.version")
ABSENT = "(absent)"


def cases(demo: Path, shared: Path) -> Iterator[tuple[str, list[str]]]:
    """Name and command of every case."""
    for system in "ab":
        sentences = [str(demo / f"sentences_{system}.jsonl"), "--schema", str(demo / "tables.json")]
        yield f"demo faithful {system}", ["faithful", *sentences]
        yield f"demo faithful {system} strict", ["faithful", *sentences, "--strict", "--slice", "db_id"]
        yield f"demo faithful {system} as blec", ["faithful", *sentences, "--as", "blec"]
        queries = str(demo / f"sparql_{system}.jsonl.gz")
        yield f"demo correct {system}", ["correct", queries, "--graph", str(demo / "kg.nt")]
        yield f"demo correct {system} text alone", ["correct", queries, "--slice", "question_type"]
        dialogue = [str(demo / f"dialogue_{system}.txt"), "--references", str(demo / "dialogue_refs.json")]
        yield f"demo diverse {system}", ["diverse", *dialogue]
        yield f"demo diverse {system} as lsdscc", ["diverse", *dialogue, "--as", "lsdscc"]
        logits = str(demo / f"parser_{system}.logits.gz")
        yield f"demo calibrated {system}", ["calibrated", logits, "--slice", "question_type", "--slice", "novelty"]
        yield f"demo calibrated {system} sequences", ["calibrated", logits, "--level", "sequence", "--ci", "bca"]
        yield f"demo calibrated {system} as original", ["calibrated", logits, "--as", "calibration_metric"]
    pairs = next(iter(sorted(demo.glob("nli*"))), None)
    if pairs is not None:
        yield "demo robust", ["robust", str(pairs)]
        yield "demo robust one direction", ["robust", str(pairs), "--directions", "1", "--all-pairs"]
        yield "demo robust as breaknli", ["robust", str(pairs), "--as", "breaknli"]
    if not shared.is_dir():
        return
    golden = shared / "golden"
    for name in ("spider_dev_gold", "spider_dev_mutated", "spider_generated"):
        file = golden / "faithful" / f"{name}.jsonl"
        yield (
            f"golden faithful {name}",
            ["faithful", str(file), "--schema", str(golden / "faithful/spider_tables.json")],
        )
    yield "golden faithful logic2text", [
        "faithful", str(golden / "faithful/logic2text_dev.jsonl"), "--language", "logic2text",
    ]  # fmt: skip
    preds = sorted(str(p) for p in (golden / "correct/preds").glob("*.json"))
    graph = ["--graph", str(golden / "correct/kg.nt")]
    distances = ["--distances", str(golden / "correct/context_distance.log")]
    yield "golden correct", ["correct", *preds, *graph, *distances]
    yield "golden correct as spice", ["correct", *preds, *graph, *distances, "--as", "spice"]
    sql = shared / "data/sql"
    yield "six systems of SQL", [
        "correct", str(sql / "predictions.jsonl.gz"), "--database", str(sql / "databases"),
        "--convention", "test-suite", "--convention", "bird", "--slice", "model",
    ]  # fmt: skip
    for file in sorted((golden / "calibrated/readers").glob("*.logits"))[:6]:
        yield f"golden calibrated {file.name}", ["calibrated", str(file), "--skip-bad"]
    arc = shared / "data/calibration/llama13b_arc"
    for file in sorted(arc.glob("*"))[:3] if arc.is_dir() else []:
        yield f"real calibrated {file.name}", ["calibrated", str(file)]
    for file in sorted((golden / "diverse/synthetic").glob("*.hyp.txt")):
        references = ["--references", str(file).replace(".hyp.txt", ".ref.json")]
        yield f"golden diverse {file.name}", ["diverse", str(file), *references]
        yield f"golden diverse {file.name} as lsdscc", ["diverse", str(file), *references, "--as", "lsdscc"]
    yield "real robust", ["robust", str(shared / "data/nli/snli_dev_2000.jsonl"), "--limit", "300"]
    for name in ("gpt4_top_logprobs.jsonl", "openai_completion_logprobs.json"):
        yield f"real calibrated {name}", ["calibrated", str(shared / "data/calibration" / name)]


def summary(checkout: Path, command: list[str]) -> tuple[int, dict[str, Any] | str]:
    """What a version says: its summary, or its message."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "sensecheck", *command, "--format", "json"], capture_output=True, text=True,
        env=environment, check=False,
    )  # fmt: skip
    try:
        return done.returncode, json.loads(done.stdout)
    except ValueError:
        return done.returncode, done.stderr


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value of a summary with its place."""
    if place.lstrip(".") in IGNORED:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{place}.{index}")
    else:
        yield place.lstrip("."), value


def differences(before: Any, after: Any) -> list[str]:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return [] if before == after else [f"before: {str(before)[:300]}", f"after: {str(after)[:300]}"]
    was, now = dict(leaves(before)), dict(leaves(after))
    return [
        f"{place}: {was.get(place, ABSENT)!r} → {now.get(place, ABSENT)!r}"
        for place in dict.fromkeys([*was, *now])
        if was.get(place, ABSENT) != now.get(place, ABSENT)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", default="", help="cases whose name holds this word")
    args = parser.parse_args()
    shared = args.after.resolve().parent / "shared"
    wrong = count = values = 0
    with tempfile.TemporaryDirectory() as folder:
        demo = args.after.resolve() / "src/sensecheck/demo"
        os.chdir(folder)
        for name, command in cases(demo, shared):
            if args.only not in name:
                continue
            (was, before), (now, after) = (summary(c.resolve(), command) for c in (args.before, args.after))
            told = differences(before, after) + ([f"exit code {was} → {now}"] if was != now else [])
            count += 1
            values += sum(1 for _ in leaves(after)) if isinstance(after, dict) else 0
            wrong += bool(told)
            print(f"{'differs' if told else 'same':8} {name}", flush=True)
            for line in told[:12]:
                print(f"           {line}")
    print(f"{count} cases, {values:,} values compared, {wrong} cases differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
