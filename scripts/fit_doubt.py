"""Fit the weights by which findings of `faithful` add up to doubt.

    python scripts/fit_doubt.py PAIRS.jsonl SCHEMA.json [--write] [--out PREDICTIONS.jsonl]

PAIRS.jsonl holds one pair a line: id, db_id, question, evidence, sql, and right (true or false). The weights are those
of a logistic regression over the names of findings, none below 0, drawn towards what the confidence of each finding
(lexicon/confidence.json) says: a finding that few pairs show keeps about the weight that it had before anybody counted.
What is printed, and written to --out, comes from databases left out one after the other: no database is judged with
weights that have seen it. --write stores the weights of all pairs in lexicon/doubt.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from sensecheck.faithful.doubt import names_of
from sensecheck.faithful.matching.ruling import CONFIDENCE
from sensecheck.faithful.measure import Checker
from sensecheck.faithful.records import load_schemas

WEIGHTS = Path(__file__).parents[1] / "src/sensecheck/faithful/lexicon/doubt.json"
PULL = 8.0
"""How hard weights are drawn towards their confidence."""
ABOUT = (
    "Log-odds by which findings add up to doubt, where a schema has keys and is described, or the question has "
    "evidence; fitted by scripts/fit_doubt.py. Findings that are not named here tell nothing."
)


def findings_of(pairs: list[dict[str, Any]], schema: str) -> tuple[list[str], np.ndarray]:
    """The names of all findings, and which pair shows which."""
    checker = Checker("sql", schemas=load_schemas(schema))
    shown = []
    for pair in pairs:
        findings = checker.findings(pair["sql"], pair["question"], pair["db_id"], pair.get("evidence"))
        shown.append(names_of(findings))
    names = sorted(frozenset().union(*shown))
    return names, np.array([[name in one for name in names] for one in shown], dtype=np.float64)


def fit(shown: np.ndarray, wrong: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """The bias and the weights."""
    table = np.column_stack([np.ones(len(shown)), shown])
    pull = np.full(table.shape[1], PULL)
    pull[0] = 1e-6
    centre = np.concatenate([[0.0], expected])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds, away = table @ weights, weights - centre
        value = np.logaddexp(0, odds).sum() - (wrong * odds).sum() + 0.5 * (pull * away * away).sum()
        return float(value), table.T @ (1 / (1 + np.exp(-odds)) - wrong) + pull * away

    bounds = [(None, None)] + [(0, None)] * shown.shape[1]
    fitted: np.ndarray = minimize(loss, np.zeros(table.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B").x
    return fitted


def expected_weights(names: list[str]) -> np.ndarray:
    """What the confidence of each finding says of its weight; nothing is known of risks."""
    sure = np.array([CONFIDENCE.get(name, 0.5) for name in names])
    return np.maximum(0.0, np.log(sure / (1 - sure)))


def left_out(shown: np.ndarray, wrong: np.ndarray, places: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Log-odds of each pair by weights that have not seen its database."""
    odds = np.zeros(len(wrong))
    for place in sorted(set(places)):
        here = places == place
        weights = fit(shown[~here], wrong[~here], expected)
        odds[here] = weights[0] + shown[here] @ weights[1:]
    return odds


def area(scores: np.ndarray, wrong: np.ndarray) -> float:
    """How often a wrong pair is doubted more than a right one."""
    less = scores[wrong == 1][:, None] - scores[wrong == 0][None, :]
    return float((less > 0).mean() + 0.5 * (less == 0).mean())


def told(name: str, odds: np.ndarray, wrong: np.ndarray) -> str:
    flagged = odds >= 0
    return (
        f"{name:24s} n {len(wrong):5d}  accuracy {(flagged == wrong).mean():.3f}  "
        f"false alarms {flagged[wrong == 0].mean():.3f}  detection {flagged[wrong == 1].mean():.3f}  "
        f"AUROC {area(odds, wrong):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs")
    parser.add_argument("schema")
    parser.add_argument("--write", action="store_true", help="store the weights of all pairs")
    parser.add_argument("--out", help="where the doubts of databases left out go, one line a pair")
    args = parser.parse_args()
    pairs = [json.loads(line) for line in Path(args.pairs).read_text("utf-8").splitlines() if line.strip()]
    names, shown = findings_of(pairs, args.schema)
    wrong = np.array([not pair["right"] for pair in pairs], dtype=np.float64)
    places = np.array([pair["db_id"] for pair in pairs])
    expected = expected_weights(names)
    odds = left_out(shown, wrong, places, expected)
    print(told("databases left out", odds, wrong))
    for place in sorted(set(places)):
        print(told("  " + place, odds[places == place], wrong[places == place]))
    weights = fit(shown, wrong, expected)
    print(told("all, in sample", weights[0] + shown @ weights[1:], wrong))
    print("\n| finding | right | wrong | weight | accuracy without it |\n|---|---|---|---|---|")
    counts = {name: (shown[wrong == 0, i].sum(), shown[wrong == 1, i].sum()) for i, name in enumerate(names)}
    for i, name in sorted(enumerate(names), key=lambda item: -sum(counts[item[1]])):
        others = np.arange(len(names)) != i
        without = left_out(shown[:, others], wrong, places, expected[others])
        cells = (f"`{name}`", *(f"{n:.0f}" for n in counts[name]), f"{weights[1 + i]:.2f}")
        print(f"| {' | '.join(cells)} | {((without >= 0) == wrong).mean():.3f} |")
    if args.out:
        doubts = 1 / (1 + np.exp(-odds))
        lines = [
            json.dumps(
                {"id": pair["id"], "flagged": bool(doubt >= 0.5), "doubt": float(doubt), "wrong": not pair["right"]}
            )
            for pair, doubt in zip(pairs, doubts, strict=True)
        ]
        Path(args.out).write_text("\n".join(lines) + "\n")
    if args.write:
        stored = {
            name: round(float(weight), 3) for name, weight in zip(names, weights[1:], strict=True) if weight > 0.005
        }
        unseen = {n: round(float(w), 3) for n, w in zip(CONFIDENCE, expected_weights(list(CONFIDENCE)), strict=True)}
        stored |= {name: weight for name, weight in unseen.items() if name not in names and weight > 0}
        document = {"about": ABOUT, "bias": round(float(weights[0]), 3), "weights": dict(sorted(stored.items()))}
        WEIGHTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
