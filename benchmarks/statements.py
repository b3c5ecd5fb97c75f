"""What the sentence rules make of real hypotheses: how many get enough statements, by what rules, and how fast.

    python -m benchmarks.statements                 # a fixed half of each data set: hypotheses of even index
    python -m benchmarks.statements --part odd      # the half that readings drew from
    python -m benchmarks.statements --rules         # and how often each rule is chosen
    python -m benchmarks.statements --sheet         # what two readers said of statements: docs/robust-audit.csv

`frames` is the share of chosen statements that hold the sentence unchanged or denied ("It is true that …", "It is not
true that … not"), `put in` of those with words that say nothing of their own ("in fact", "by no means").
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))
from benchmarks.golden import SHARED
from sensecheck.language.rewriting.engine import DENIED_TWICE, INSERTED, rewrite
from sensecheck.language.rewriting.rules import RULES
from sensecheck.robust.measure import wilson

DATA_SETS = {
    "SNLI": "snli_dev_2000", "SICK": "sick_2000", "ANLI": "anli_r1_dev_1000", "ConTRoL": "control_dev_300",
    "MNLI": "mnli_dev_2000", "QNLI": "qnli_dev_500",
}  # fmt: skip
SHEET = ROOT / "docs" / "robust-audit.csv"
ENOUGH = 5
SOUND = frozenset(("ok", "slip"))
"""A slip is the hypothesis's own ("Three baker sing"), which stands in the statement as it was: not held against it."""


def hypotheses(name: str) -> list[str]:
    """The distinct hypotheses of a data set, in the order of its file: the sheet's index counts these, from 0."""
    lines = (SHARED / "data" / "nli" / f"{DATA_SETS[name]}.jsonl").read_text("utf-8").splitlines()
    return list(dict.fromkeys(json.loads(line)["hypothesis"] for line in lines))


def coverage(texts: Sequence[str]) -> dict[str, float]:
    """Shares of hypotheses with enough statements, of statements that are frames or put in a word, and the time."""
    start = time.process_time()
    made = {positive: [rewrite(text, positive, ENOUGH) for text in texts] for positive in (True, False)}
    seconds = time.process_time() - start
    statements = [statement for several in made.values() for each in several for statement in each]
    return {
        **{f"{positive}": sum(len(m) >= ENOUGH for m in made[positive]) / len(texts) for positive in (True, False)},
        "frames": sum(s.frame or s.family == DENIED_TWICE for s in statements) / len(statements),
        "put in": sum(s.family in INSERTED for s in statements) / len(statements),
        "a second": len(texts) / seconds,
    }


def agreement(pairs: Sequence[tuple[str, str]]) -> tuple[float, float]:
    """The share of statements of which two readings say the same, and Cohen's kappa."""
    n = len(pairs)
    same = sum(a == b for a, b in pairs) / n
    kinds = {verdict for pair in pairs for verdict in pair}
    by_chance = sum(sum(a == kind for a, _ in pairs) * sum(b == kind for _, b in pairs) for kind in kinds) / n**2
    return same, (same - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0


def sheet() -> list[dict[str, str]]:
    with SHEET.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def readings(rows: Sequence[dict[str, str]]) -> list[tuple[str, str]]:
    return [(row["reading 1"], row["reading 2"]) for row in rows]


def two_readers(rows: Sequence[dict[str, str]]) -> list[tuple[str, str]]:
    """The first reader's first reading and the second reader's, word for word."""
    return [(row["reading 1"], row["reader 2"]) for row in rows]


def sound_or_not(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """What is left of two readings when slips are no matter, nor why something is unsound."""
    return [(str(first in SOUND), str(second in SOUND)) for first, second in pairs]


def kappa_told(pairs: Sequence[tuple[str, str]]) -> str:
    """Cohen's kappa; where all are of one kind there is nothing to tell apart, and chance agrees as well."""
    return f"{agreement(pairs)[1]:.2f}" if len({verdict for pair in pairs for verdict in pair}) > 1 else "–"


def _said(name: str, rows: Sequence[dict[str, str]]) -> str:
    pairs = readings(rows)
    sound = [sum(pair[k] in SOUND for pair in pairs) for k in (0, 1)]
    both = sum(SOUND.issuperset(pair) for pair in pairs)
    low, high = wilson(both, len(pairs))
    same, kappa = agreement(pairs)
    between = sound_or_not(two_readers(rows))
    other = sum(second == "True" for _, second in between)
    return (
        f"{name:32}{len(pairs):5}{sound[0]:6}{sound[1]:6}{both:6}  [{low:.3f}, {high:.3f}]{same:8.3f}{kappa:8.2f}"
        f"{other:8}{agreement(between)[0]:8.3f}{kappa_told(between):>8}"
    )


def _show_sheet() -> None:
    rows = sheet()
    print(f"{'':37}{'first reader':51}second reader")
    print(
        f"{'':32}{'n':>5}{'1st':>6}{'2nd':>6}{'both':>6}  {'interval':14}{'agree':>8}{'kappa':>8}"
        f"{'sound':>8}{'agree':>8}{'kappa':>8}"
    )
    for name in dict.fromkeys(row["data set"] for row in rows):
        print(_said(name, [row for row in rows if row["data set"] == name]))
    print(_said("all", rows))
    family_of = {rule.name: rule.family for rule in RULES}
    families = [f"family: {family_of[row['rule'].removesuffix(', denied')]}" for row in rows]
    for family, _ in Counter(families).most_common():
        print(_said(family, [row for row, its in zip(rows, families, strict=True) if its == family]))
    for rule, _ in Counter(row["rule"] for row in rows).most_common():
        print(_said(rule, [row for row in rows if row["rule"] == rule]))


def _show_rules(texts: Iterable[str]) -> None:
    for positive in (True, False):
        made = Counter(s.rule for text in texts for s in rewrite(text, positive, ENOUGH))
        print(
            "  " + ("positive: " if positive else "negative: ") + ", ".join(f"{r} {n}" for r, n in made.most_common())
        )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("even", "odd", "all"), default="even", help="which of the hypotheses")
    parser.add_argument("--rules", action="store_true", help="how often each rule is chosen")
    parser.add_argument(
        "--sheet", action="store_true", help="soundness as two readers found it, the first in two readings"
    )
    args = parser.parse_args(argv)
    if args.sheet:
        _show_sheet()
        return 0
    rewrite("A man is eating.", True)  # what is read once is not timed
    print(f"{'':9}{'n':>6}{'positive':>10}{'negative':>10}{'frames':>8}{'put in':>8}{'a second':>10}")
    for name in DATA_SETS:
        texts = hypotheses(name)
        texts = {"even": texts[::2], "odd": texts[1::2], "all": texts}[args.part]
        found = coverage(texts)
        print(
            f"{name:9}{len(texts):6}{found['True']:10.3f}{found['False']:10.3f}{found['frames']:8.2f}"
            f"{found['put in']:8.2f}{found['a second']:10,.0f}"
        )
        if args.rules:
            _show_rules(texts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
