"""Each sound rule as a figure of its own: hand-counted, with intervals that resample whole pairs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sensecheck.cli import main
from sensecheck.models.generators import StoredStatements
from sensecheck.report.result import Result
from sensecheck.robust import evaluate
from sensecheck.statistics.figure import IntervalOptions

PAIRS = 12
STATEMENTS = 6  # made of each polarity; three are judged


class Model:
    """Keeps to logic but for what `slips` says of (premise, hypothesis)."""

    def __init__(self, slips: dict[tuple[str, str], int]) -> None:
        self.slips = slips

    def __call__(self, premises: list[str], hypotheses: list[str]) -> list[int]:
        return [self.slips.get(pair, self.logical(*pair)) for pair in zip(premises, hypotheses, strict=True)]

    def logical(self, p: str, h: str) -> int:
        gold = int(p[1:].split(".")[0].split()[0]) % 3 if p[0] == "P" else 0
        if p[0] == "P":
            return {0: 2, 1: 1, 2: 1}[gold] if "not" in h else gold
        return 2 if ("not" in p) != ("not" in h) else 0


SLIPS: dict[tuple[str, str], int] = {
    # entailment chain: pair 0, two of three statements; pair 3, one
    ("P0.", "H0 so 0."): 1, ("P0.", "H0 so 1."): 2, ("P3.", "H3 so 2."): 1,
    # contradiction chain: pair 6, one
    ("P6.", "H6 not 0."): 0,
    # equivalence: a neutral pair and a contradiction pair, one each
    ("P1.", "H1 so 0."): 0, ("P2.", "H2 so 1."): 0,
    # contradiction one way only, of statements that are then not confirmed
    ("H9 not 4.", "H9."): 1, ("H9 not 5.", "H9."): 1,
    # a text that does not entail itself
    ("H4.", "H4."): 1, ("H5.", "H5."): 2,
}  # fmt: skip


def run(slips: dict[tuple[str, str], int], **options: object) -> Result:
    rows = [{"premise": f"P{i}.", "hypothesis": f"H{i}.", "label": i % 3} for i in range(PAIRS)]
    made = [
        (f"H{i}.", follows, f"H{i} {'so' if follows else 'not'} {k}.")
        for i in range(PAIRS)
        for follows in (True, False)
        for k in range(STATEMENTS)
    ]
    return evaluate(rows, model=Model(slips), generator=StoredStatements(made), keep=3, check_labels=False, **options)  # type: ignore[arg-type]


def test_every_rule_counts_its_own() -> None:
    found = run(SLIPS)
    # Four pairs of each label; three statements judged a pair, of which each pair was shown six, three unjudged.
    assert found["entailment_chain_violation"].value == pytest.approx(3 / 12)
    assert found["contradiction_chain_violation"].value == pytest.approx(1 / 12)
    assert found["equivalence_violation"].value == pytest.approx(2 / 24)
    assert found["statement_violation"].value == pytest.approx(6 / 48)
    assert found["reflexivity_violation"].value == pytest.approx(2 / 12)
    # Contradiction pairs are in it too: 8 pairs × 6 statements that are contradictory at least one way, two slips.
    assert found["symmetry_violation"].value == pytest.approx(2 / 48)
    assert found["symmetry_violation_global"].value == pytest.approx(2 / (48 + 12 * 6))
    assert [found[f"{rule}_violation"].n for rule in ("entailment_chain", "contradiction_chain", "equivalence")] == [
        4,
        4,
        8,
    ]


def test_global_rates_count_what_did_not_oblige() -> None:
    refused = {("H0.", f"H0 so {k}."): 1 for k in range(4)}  # pair 0 confirms two of six: it is shown and not judged
    some = {("H3.", "H3 so 0."): 1}  # pair 3 confirms five of six and is judged on three
    found = run({**refused, **some, ("P3.", "H3 so 1."): 2})
    assert found["entailment_chain_violation"].value == pytest.approx(1 / 9)
    # Shown and decided: pair 0 its four refused (two accepted ones were never asked about p), pair 3 one refused and
    # three judged, pairs 6 and 9 three each.
    assert found["entailment_chain_violation_global"].value == pytest.approx(1 / (4 + 4 + 3 + 3))
    assert found["statement_violation_global"].value < found["statement_violation"].value


def test_a_model_that_obeys_breaks_no_rule() -> None:
    found = run({})
    rules = [f for f in found.figures if f.name.endswith(("_violation", "_violation_global"))]
    assert len(rules) == 2 + 2 + 1 + 6
    assert all(f.value == 0.0 for f in rules)


def test_intervals_resample_whole_pairs() -> None:
    """The interval is the percentile bootstrap over pairs, done here by hand; statements are not independent."""
    pairs, bad = 60, 15
    rows = [{"premise": f"P{3 * i}.", "hypothesis": f"H{i}.", "label": 0} for i in range(pairs)]
    made = StoredStatements([(f"H{i}.", True, f"H{i} so {k}.") for i in range(pairs) for k in range(3)])
    slips = {(f"P{3 * i}.", f"H{i} so {k}."): 1 for i in range(bad) for k in range(3)}
    found = evaluate(
        rows, model=Model(slips), generator=made, keep=3, polarity="positive", check_labels=False,
        options=IntervalOptions(method="percentile", replicates=4000, seed=7),
    )  # fmt: skip
    figure = found["entailment_chain_violation"]
    assert figure.value == pytest.approx(bad / pairs)
    rng = np.random.default_rng(0)
    rates = rng.binomial(pairs, bad / pairs, 20_000) / pairs  # all three statements of a pair break together
    low, high = np.quantile(rates, [0.025, 0.975])
    assert figure.low == pytest.approx(low, abs=0.02) and figure.high == pytest.approx(high, abs=0.02)
    naive = np.quantile(rng.binomial(3 * pairs, bad / pairs, 20_000) / (3 * pairs), [0.025, 0.975])
    assert figure.high - figure.low > 1.4 * (naive[1] - naive[0])  # √3 wider than if statements were independent


def test_one_polarity_has_its_rules_alone() -> None:
    names = {f.name for f in run(SLIPS, polarity="negative").figures}
    assert "contradiction_chain_violation" in names
    assert not names & {"entailment_chain_violation", "equivalence_violation"}


def test_rules_in_the_report_and_in_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(SLIPS, out=tmp_path / "run", slices=["rule"])
    charts = {chart.name: chart for chart in result.charts()}
    assert [row["figure"] for row in charts["rules"].data][:3] == [
        "symmetry_violation", "symmetry_violation_global", "reflexivity_violation",
    ]  # fmt: skip
    shown = {row["figure"]: row["value"] for row in charts["rules"].data}
    assert shown["entailment_chain_violation"] == pytest.approx(0.25)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Rules broken" in page and "Entailment chain broken" in page
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    stored = {f["name"]: f for f in summary["figures"]}
    assert stored["equivalence_violation"]["interval"] is not None
    for name in ("entailment_chain_violation", "contradiction_chain_violation_global", "equivalence_violation"):
        assert main(["explain", name]) == 0
        said = capsys.readouterr().out
        assert "M(p,g)" in said and ("Global" in said) == name.endswith("_global")


def test_histograms_count_statements() -> None:
    """Two statements of one pair that move differently fall in different bins."""

    def scores(premises: list[str], hypotheses: list[str]) -> list[tuple[float, float, float]]:
        out = []
        for p, h in zip(premises, hypotheses, strict=True):
            logits = [0.0, 0.0, 0.0]
            logits[Model({}).logical(p, h)] = 8.0
            if (p, h) == ("P0.", "H0 so 0."):
                logits = [0.5, 0.0, 0.0]  # the same label, hardly sure
            if (p, h) == ("P0.", "H0 so 1."):
                logits = [0.0, 0.0, 8.0]
            out.append(tuple(logits))
        return out  # type: ignore[return-value]

    rows = [{"premise": "P0.", "hypothesis": "H0.", "label": 0}]
    made = StoredStatements([("H0.", True, f"H0 so {k}.") for k in range(3)])
    found = evaluate(rows, model=scores, generator=made, polarity="positive", keep=3, check_labels=False)
    moves = found.extra["distances"]
    assert set(moves) == {"js", "tv", "kl", "spread"}
    for counts in moves.values():
        assert (sum(counts["same"]), sum(counts["changed"])) == (2, 1)
    assert moves["js"]["same"][0] == 1 and sum(moves["js"]["same"][1:]) == 1
    assert moves["js"]["changed"][-1] == 1 and moves["kl"]["changed"][-1] == 1
    names = [chart.name for chart in found.charts()]
    assert names[-4:] == ["distance_js", "distance_tv", "distance_kl", "distance_spread"]
    texts = pl.concat(found.texts.batches() if found.texts is not None else [])
    assert texts["tv"].to_list()[0][2] == pytest.approx(0.0) and texts["tv"].to_list()[0][1] > 0.99
