"""What the sentence rules make of real hypotheses: how many get enough statements, by what rules, and how fast.

    python -m benchmarks.statements                 # a fixed half of each data set: hypotheses of even index
    python -m benchmarks.statements --part odd      # the half that readings drew from
    python -m benchmarks.statements --rules         # and how often each rule is chosen
    python -m benchmarks.statements --sheet         # what three readers said of statements: docs/robust-audit.csv

`frames` is the share of chosen statements that hold the sentence unchanged or denied ("It is true that …", "It is not
true that … not"), `put in` of those with words that say nothing of their own ("in fact", "by no means").
"""

from __future__ import annotations

import argparse
import csv
import itertools
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


READERS = ("reader 1", "reader 2", "reader 3")


def sound_to(rows: Sequence[dict[str, str]], reader: str) -> list[str]:
    """What is left of a reading when slips are no matter, nor why something is unsound."""
    return [str(row[reader] in SOUND) for row in rows]


def sound_to_all(rows: Sequence[dict[str, str]]) -> int:
    return sum(all(row[reader] in SOUND for reader in READERS) for row in rows)


def two_by_two(rows: Sequence[dict[str, str]]) -> list[list[tuple[str, str]]]:
    """What each two of the readers said as to sound or not: the first and the second, the first and the third, …"""
    sides = itertools.combinations([sound_to(rows, reader) for reader in READERS], 2)
    return [list(zip(one, other, strict=True)) for one, other in sides]


def kappa_told(pairs: Sequence[tuple[str, str]]) -> str:
    """Cohen's kappa; where all are of one kind there is nothing to tell apart, and chance agrees as well."""
    return f"{agreement(pairs)[1]:.2f}" if len({verdict for pair in pairs for verdict in pair}) > 1 else "–"


def _said(name: str, rows: Sequence[dict[str, str]]) -> str:
    by_reader = "".join(f"{sound_to(rows, reader).count('True'):6}" for reader in READERS)
    low, high = wilson(sound_to_all(rows), len(rows))
    agreed = "".join(f"{agreement(pairs)[0]:7.3f}" for pairs in two_by_two(rows))
    kappas = "".join(f"{kappa_told(pairs):>7}" for pairs in two_by_two(rows))
    return f"{name:32}{len(rows):5}{by_reader}{sound_to_all(rows):6}  [{low:.3f}, {high:.3f}]{agreed}{kappas}"


def _show_sheet() -> None:
    rows = sheet()
    print(f"{'':37}{'sound to reader':18}{'all':>6}  {'interval':14}{'agreement of two':>21}{'kappa of two':>21}")
    print(f"{'':32}{'n':>5}{'1':>6}{'2':>6}{'3':>6}{'three':>6}{'':16}" + f"{'1, 2':>7}{'1, 3':>7}{'2, 3':>7}" * 2)
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
    parser.add_argument("--sheet", action="store_true", help="soundness as three readers found it")
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
