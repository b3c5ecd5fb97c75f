"""How good and how fast `faithful` is.

    python -m benchmarks faithful_bench [speed [SHARED]]   pairs a second on one core, and memory
    python -m benchmarks faithful_bench quality [SHARED]   tables beside BLEC, both halves, per class
    python -m benchmarks faithful_bench values [SHARED]    findings of stored values, of right and of wrong predictions
    python -m benchmarks faithful_bench predict SET OUT    predictions for the benchmark's own scorer

SHARED (default: ../shared beside the repository) holds bench/faithful and golden/faithful, and data/sql for values.
Times are CPU time of this process, so that a busy machine tells nearly the same as an idle one; the best of several
rounds is shown.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import resource
import sqlite3
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.golden import SHARED
from sensecheck.faithful import Checker, original
from sensecheck.faithful.measure import Verdict, measure
from sensecheck.faithful.records import Pairs, load_schemas

OPENINGS = ("Please tell me:", "I want to know:", "Here is a question:", "So:", "Well,")
VERDICT = "test_suite_keep_distinct"
FIELDS = {"spider": ("sql", "question"), "logic2text": ("logic", "sentence")}


def rows(shared: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (shared / f"bench/faithful/{name}.jsonl").read_text("utf-8").splitlines()]


def checker_for(language: str, shared: Path) -> Checker:
    if language == "spider":
        return Checker("sql", schemas=load_schemas(shared / "golden/faithful/spider_tables.json"))
    return Checker("logic2text")


def half_of(language: str, row: dict[str, Any]) -> int:
    """0: tuned on, 1: watched. By database for Spider, by pair for Logic2text (a pair is a table of its own)."""
    key = row["db_id"] if language == "spider" else row.get("gold_id") or row["id"]
    return int(hashlib.md5(key.encode()).hexdigest(), 16) % 2


def flag(checker: Checker, query: str, sentence: str, db_id: str | None) -> bool | None:
    consistent = checker.check(query, sentence, db_id).consistent
    return None if consistent is None else not consistent


def share(flags: list[bool]) -> float:
    return sum(flags) / len(flags) if flags else float("nan")


class Outcome:
    """Flags of one language's benchmark."""

    def __init__(self, language: str, shared: Path) -> None:
        query, sentence = FIELDS[language]
        checker = checker_for(language, shared)
        doubtful = json.loads((shared / "bench/faithful/doubtful.json").read_text())[f"{language}_dev"]
        self.doubtful = {i for ids in doubtful.values() for i in ids}
        self.language = language
        self.gold = rows(shared, f"{language}_dev_gold")
        self.mutants = rows(shared, f"{language}_dev_mut")
        self.human = rows(shared, f"human_{language}_dev")
        self.flags: dict[str, bool | None] = {}
        for r in self.gold:
            self.flags[r["id"]] = flag(checker, r[query], r[sentence], r.get("db_id"))
        for r in self.mutants:
            self.flags[r["id"]] = flag(checker, r[f"{query}_mut"], r[f"{sentence}_mut"], r.get("db_id"))
        self.human_flags = {r["id"]: flag(checker, r[query], r[sentence], r.get("db_id")) for r in self.human}

    def alarms(self, half: int | None = None, clean: bool = True) -> tuple[float, float]:
        """False alarms on gold pairs: BLEC's, ours. Unscored counts as an alarm."""
        picked = [
            r
            for r in self.gold
            if (half is None or half_of(self.language, r) == half) and not (clean and r["id"] in self.doubtful)
        ]
        return share([bool(r["blec"]) for r in picked]), share([self.flags[r["id"]] is not False for r in picked])

    def classes(self, half: int | None = None) -> dict[str, tuple[int, float, float]]:
        """Detection of each class: n, BLEC's, ours."""
        by: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for r in self.mutants:
            if half is None or half_of(self.language, r) == half:
                by[r["class"]].append(r)
        return {
            c: (len(rs), share([bool(r["blec_mut"]) for r in rs]), share([self.flags[r["id"]] is True for r in rs]))
            for c, rs in sorted(by.items())
        }

    def detection(self, half: int | None = None) -> tuple[float, float]:
        found = self.classes(half).values()
        return sum(b for _, b, _ in found) / len(found), sum(o for _, _, o in found) / len(found)

    def balanced(self) -> tuple[float, float]:
        """Balanced accuracy on human labels: BLEC's, ours."""
        made = []
        for wrong in (lambda r: bool(r["blec"]), lambda r: self.human_flags[r["id"]]):
            recall = share([wrong(r) is True for r in self.human if r["human_label"] == 0])
            alarm = share([wrong(r) is not False for r in self.human if r["human_label"] == 1])
            made.append((recall + 1 - alarm) / 2)
        return made[0], made[1]


def quality(shared: Path) -> None:
    for language in FIELDS:
        found = Outcome(language, shared)
        print(f"\n## {language}\n\n| | BLEC | all | tuned half | watched half |\n|---|---|---|---|---|")
        for label, clean in (("false alarms, clean gold", True), ("false alarms, all gold", False)):
            (blec, ours), (_, a), (_, b) = (found.alarms(h, clean) for h in (None, 0, 1))
            print(f"| {label} | {blec:.1%} | {ours:.1%} | {a:.1%} | {b:.1%} |")
        (blec, ours), (_, a), (_, b) = (found.detection(h) for h in (None, 0, 1))
        print(f"| detection, mean over classes | {blec:.1%} | {ours:.1%} | {a:.1%} | {b:.1%} |")
        blec, ours = found.balanced()
        print(f"| human labels, balanced accuracy | {blec:.3f} | {ours:.3f} | | |")
        print("\n| class | n | BLEC | all | tuned half | watched half |\n|---|---|---|---|---|---|")
        halves = found.classes(0), found.classes(1)
        for c, (n, blec, ours) in found.classes().items():
            a, b = (h[c][2] if c in h else float("nan") for h in halves)
            print(f"| {c} | {n} | {blec:.2f} | {ours:.2f} | {a:.2f} | {b:.2f} |")


def values(shared: Path) -> None:
    """Predictions that are right or wrong by their answers, and what is found of their literals; then against questions
    that people judged to say what the gold queries say. *Empty*: the right answer is nothing, or 0."""
    home = shared / "data/sql"
    with gzip.open(home / "predictions.jsonl.gz", "rt") as stream:
        predictions = [json.loads(line) for line in stream]
    schemas, databases = load_schemas(home / "tables.json"), home / "databases"
    empty = {key: _is_empty(databases, *key) for key in {(r["db_id"], r["gold"]) for r in predictions}}
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    both = Checker("sql", schemas=schemas, database=databases)
    for r in predictions:
        column = 2 * empty[r["db_id"], r["gold"]] + (not r[VERDICT])
        found = {f.rule for f in both.findings(r["pred"] or "", "x", r["db_id"]) if f.rule.startswith("stored_")}
        for name in ("all predictions", *found):
            counts[name][column] += 1
    print("| finding | right | wrong | right, empty | wrong, empty |\n|---|---|---|---|---|")
    for name, row in sorted(counts.items(), key=lambda item: -sum(item[1])):
        print(f"| {name} | {' | '.join(map(str, row))} |")
    asked: dict[tuple[str, str], str] = {}
    for r in rows(shared, "human_spider_dev"):
        if r["human_label"] == 1:
            asked.setdefault((r["db_id"], _squeezed(r["sql"])), r["question"])
    judged = [(r, asked.get((r["db_id"], _squeezed(r["gold"])))) for r in predictions]
    print("\n| | n | accuracy | false alarms | detection | AUROC of doubt |\n|---|---|---|---|---|---|")
    for name, checker in (
        ("schema", Checker("sql", schemas=schemas)),
        ("schema and database", both),
        ("database alone", Checker("sql", database=databases)),
    ):
        verdicts = [
            (r, checker.check(r["pred"] or "", question, r["db_id"])) for r, question in judged if question is not None
        ]
        for part, kept in (
            ("", verdicts),
            (", right answer not empty", [v for v in verdicts if not empty[_key(v[0])]]),
        ):
            wrong = [not r[VERDICT] for r, _ in kept]
            flagged = [verdict.consistent is not True for _, verdict in kept]
            hits = share([a == b for a, b in zip(flagged, wrong, strict=True)])
            alarms = share([a for a, b in zip(flagged, wrong, strict=True) if not b])
            seen = share([a for a, b in zip(flagged, wrong, strict=True) if b])
            area = _area([_surest(verdict) for _, verdict in kept], wrong)
            print(f"| {name}{part} | {len(kept)} | {hits:.3f} | {alarms:.3f} | {seen:.3f} | {area:.3f} |")


def _key(r: dict[str, Any]) -> tuple[str, str]:
    return r["db_id"], r["gold"]


def _squeezed(sql: str) -> str:
    return " ".join(sql.lower().replace(";", " ").replace(" ,", ",").split())


def _is_empty(databases: Path, name: str, gold: str) -> bool:
    with closing(sqlite3.connect(f"file:{databases}/{name}/{name}.sqlite?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return not any(value not in (0, None) for row in connection.execute(gold) for value in row)


def _surest(verdict: Verdict) -> float:
    """How doubtful a pair is; one that cannot be read is as doubtful as can be."""
    if verdict.consistent is None or verdict.doubt is not None:
        return 1.0 if verdict.doubt is None else verdict.doubt
    faults = (f.confidence for f in verdict.findings if f.status in ("missing", "contradicted", "added"))
    return max(faults, default=0.0)


def _area(doubts: list[float], wrong: list[bool]) -> float:
    """How often a wrong pair is doubted more than a right one."""
    scores, marks = np.array(doubts), np.array(wrong)
    less = scores[marks][:, None] - scores[~marks][None, :]
    return float((less > 0).mean() + 0.5 * (less == 0).mean())


def predict(name: str, out: Path, shared: Path) -> None:
    language = name.removeprefix("human_").removesuffix("_dev")
    found = Outcome(language, shared)
    flags = found.human_flags if name.startswith("human") else found.flags
    with out.open("w") as lines:
        for i, f in flags.items():
            lines.write(json.dumps({"id": i, "flagged": f}) + "\n")


def best(work: Callable[[], int], rounds: int = 5) -> float:
    """Things done a second of CPU, in the best round."""
    rates = []
    for _ in range(rounds):
        begin = time.process_time()
        done = work()
        rates.append(done / (time.process_time() - begin))
    return max(rates)


def loop() -> int:
    """A plain piece of Python, to tell a slow machine from slow code."""
    total = 0
    for i in range(300_000):
        total += i & 7
    return 300_000 if total else 0


def speed(shared: Path) -> None:
    golden = shared / "golden/faithful"
    tables = {e["db_id"]: e for e in json.loads((golden / "spider_tables.json").read_text())}
    gold = rows(shared, "spider_dev_gold")
    logic = rows(shared, "logic2text_dev_gold")
    slots = {r["sql"]: original.name_dict(r["sql"], tables[r["db_id"]]) for r in gold}
    pairs = [(r["sql"], r["question"]) for r in gold]
    forms, sentences = [r["logic"] for r in logic], [r["sentence"] for r in logic]
    spider_rate = best(lambda: len(original.spider_errors_many(pairs, slots)))
    logic_rate = best(lambda: len(original.logic2text_errors_many(forms, sentences)))
    slot_rate = best(lambda: len([original.name_dict(r["sql"], tables[r["db_id"]]) for r in gold]))
    print(f"plain Python, additions a second     {best(loop):>12,.0f}")
    print(f"BLEC Spider verdicts a second        {spider_rate:>12,.0f}")
    print(f"BLEC Logic2text verdicts a second    {logic_rate:>12,.0f}")
    print(f"BLEC slot dictionaries a second      {slot_rate:>12,.0f}")

    def new_queries(language: str, data: list[dict[str, Any]], repeats: int) -> int:
        query, sentence = FIELDS[language]
        checker = checker_cache[language]
        checker._readings.clear()
        done = 0
        for index, r in enumerate(data):
            for k in range(repeats):
                # ten sentences a query: half of them its own in other words, half of them those of its neighbours
                own = r[sentence] if k == 0 else f"{OPENINGS[k % len(OPENINGS)]} {r[sentence]}"
                said = own if k % 2 == 0 else data[(index + k) % len(data)][sentence]
                checker.check(r[query], said, r.get("db_id"))
                done += 1
        return done

    checker_cache = {language: checker_for(language, shared) for language in FIELDS}
    for language, data in (("spider", gold), ("logic2text", logic)):
        one = best(lambda language=language, data=data: new_queries(language, data, 1))
        ten = best(lambda language=language, data=data: new_queries(language, data[:300], 10))
        print(f"{language}: every query new, pairs a second       {one:>10,.0f}")
        print(f"{language}: ten sentences a query, pairs a second {ten:>10,.0f}")
    wild = shared / "bench/faithful_bird"
    if wild.is_dir():
        asked = [json.loads(line) for line in (wild / "pairs.jsonl").read_text("utf-8").splitlines()]
        described = Checker("sql", schemas=load_schemas(wild / "schema.json"))

        def with_evidence() -> int:
            described._readings.clear()
            for r in asked:
                described.check(r["sql"], r["question"], r["db_id"], r["evidence"])
            return len(asked)

        print(f"keys, descriptions and evidence, every query new, pairs a second {best(with_evidence):>8,.0f}")
    memory(gold)


def memory(gold: list[dict[str, Any]], batches: int = 30) -> None:
    """Peak memory must not grow with the number of batches."""
    checker = Checker("sql")
    peaks = []
    for batch in stream(gold, batches):
        measure(checker, batch)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    early, late = peaks[len(peaks) // 3], peaks[-1]
    print(f"peak memory after {len(peaks) // 3},000 pairs {early:,.0f} MiB, after {len(peaks)},000 {late:,.0f} MiB")


def stream(gold: list[dict[str, Any]], batches: int) -> Iterator[Pairs]:
    for b in range(batches):
        part = [gold[(b * 1000 + i) % len(gold)] for i in range(1000)]
        yield Pairs(
            [f"{r['sql'].rstrip('; ')} -- {b}" for r in part],  # every query new
            [r["question"] for r in part],
        )


def main() -> None:
    command, *rest = sys.argv[1:] or ["speed"]
    if command == "quality":
        quality(Path(rest[0]) if rest else SHARED)
    elif command == "values":
        values(Path(rest[0]) if rest else SHARED)
    elif command == "predict" and len(rest) >= 2:
        predict(rest[0], Path(rest[1]), Path(rest[2]) if len(rest) > 2 else SHARED)
    elif command == "speed":
        speed(Path(rest[0]) if rest else SHARED)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
