"""Rates by the rule that made a statement: counted by hand, held to a simulation, and read from files of before."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from sensecheck.cli import main
from sensecheck.models.generators import RuleGenerator, StoredStatements
from sensecheck.report.result import Result, load
from sensecheck.robust import evaluate
from sensecheck.robust.audit import read_back, write_sheet
from sensecheck.robust.by_rule import by_rule, rule_tables, share
from sensecheck.robust.examples import example_page
from sensecheck.robust.records import statements_in_file
from sensecheck.statistics.measurements import Frames


def run(broken: set[tuple[int, int]], pairs: int = 4, out: Path | None = None) -> Result:
    """Statements 0 and 1 of each pair are by "first", 2 by "second"; all are confirmed, `broken` are off."""
    rows = [{"premise": f"P{i}.", "hypothesis": f"H{i}.", "label": 0} for i in range(pairs)]
    made = StoredStatements(
        [(f"H{i}.", True, f"H{i} {k}.", "second" if k == 2 else "first") for i in range(pairs) for k in range(3)]
    )
    slips = {(f"P{i}.", f"H{i} {k}.") for i, k in broken}

    def model(premises: list[str], hypotheses: list[str]) -> list[int]:
        return [2 if pair in slips else 0 for pair in zip(premises, hypotheses, strict=True)]

    return evaluate(rows, model=model, generator=made, keep=3, polarity="positive", check_labels=False, out=out)


def test_rates_by_hand(tmp_path: Path) -> None:
    result = run({(0, 0), (1, 0), (1, 2)}, out=tmp_path / "run")
    found = {line["rule"]: line for line in result.extra["by_rule"]["rules"]}
    assert {rule: line["violation"]["value"] for rule, line in found.items()} == {"first": 2 / 8, "second": 1 / 4}
    assert found["first"]["confirmed"] == pytest.approx({"n": 8, "value": 1.0, "low": 0.5101, "high": 1.0}, abs=1e-4)
    assert result.extra["by_rule"]["macro"]["value"] == pytest.approx((2 / 8 + 1 / 4) / 2)
    assert result.extra["by_rule"]["pooled"]["value"] == pytest.approx(3 / 12) == result["statement_violation"].value
    stored = json.loads((tmp_path / "run" / "summary.json").read_text())["extra"]["by_rule"]
    assert [line["rule"] for line in stored["rules"]] == ["first", "second"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "By the rule that made the statement" in page and "mean over 2 rules" in page
    examples = pl.read_parquet(next((tmp_path / "run").glob("examples-*.parquet")))
    assert examples["made_by"].to_list()[0] == ["first", "first", "second"]


def test_the_mean_over_rules_is_not_carried_by_the_largest() -> None:
    """Of "first" nothing breaks, of "second" everything: pooled 1/3, the mean 1/2."""
    found = run({(i, 2) for i in range(4)}).extra["by_rule"]
    assert found["pooled"]["value"] == pytest.approx(1 / 3)
    assert found["macro"]["value"] == pytest.approx(1 / 2)


def test_none_and_one() -> None:
    assert vars(share(0, 0, float("nan"), 0)) == {"n": 0, "value": None, "low": None, "high": None}
    one = share(1, 1, float("nan"), 1)
    assert (one.n, one.value) == (1, 1.0) and one.low == pytest.approx(0.2065, abs=1e-4) and one.high == 1.0
    all_alike = share(50, 50, 0.0, 10)  # five statements of ten pairs: as ten, not as fifty
    assert all_alike.low == pytest.approx(0.7225, abs=1e-4)
    alone = run(set(), pairs=1).extra["by_rule"]
    assert [line["violation"]["n"] for line in alone["rules"]] == [2, 1]


def test_intervals_cover_where_statements_of_a_pair_break_together() -> None:
    """Of 60 pairs with five statements of one rule each, a quarter break whole: the interval is that of 60, not of 300."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(300):
        broken = rng.random(60) < 0.25
        rows = pl.DataFrame(
            {
                "cluster": [str(i) for i in range(60)],
                "label": "entailment",
                "polarity": "positive",
                "rule": "entailment chain",
            }
        )
        texts = pl.DataFrame({
            "statement": [["a"] * 5] * 60, "said": [[2 * int(b)] * 5 for b in broken],
            "stage": [["judged"] * 5] * 60, "made_by": [["one"] * 5] * 60,
        })  # fmt: skip
        found = by_rule(Frames(rows), Frames(texts))
        line = found["rules"][0]["violation"]
        held += line["low"] <= 0.25 <= line["high"]
        assert found["macro"]["low"] == pytest.approx(line["low"], abs=1e-9)
    assert 0.92 <= held / 300 <= 0.98


def test_every_time_the_same_digits() -> None:
    """Sums in another order would differ in their last digit, by which a run that was killed is told from one that was not."""
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 6, 60).tolist()
    rows = pl.DataFrame({"cluster": [f"c{i}" for i in range(60)], "label": "entailment", "polarity": "positive",
                         "rule": "entailment chain"})  # fmt: skip
    texts = pl.DataFrame({
        "statement": [["a"] * n for n in counts], "said": [(2 * (rng.random(n) < 0.3)).tolist() for n in counts],
        "stage": [["judged"] * n for n in counts], "made_by": [["one", "two", "one", "two", "two"][:n] for n in counts],
    })  # fmt: skip
    assert len({json.dumps(by_rule(Frames(rows), Frames(texts))) for _ in range(300)}) == 1


def test_every_rule_is_named_through_the_csv(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text(
        json.dumps({"premise": "A baker cuts bread.", "hypothesis": "A baker is cutting bread.", "label": 0})
    )
    target = tmp_path / "statements.csv"
    assert main(["robust", "generate", str(pairs), "-o", str(target), "-s", "4"]) == 0
    frame = pl.read_csv(target)
    assert frame.columns == ["hypothesis", "polarity", "statement", "rule"]
    assert dict(frame.select("statement", "rule").iter_rows())["A baker is not cutting bread."] == "is not"
    result = evaluate(str(pairs), generator=f"file:{target}", model=lambda p, h: [0] * len(p), keep=2,
        check_labels=False, polarity="positive")  # fmt: skip
    assert {line["rule"] for line in result.extra["by_rule"]["rules"]} == set(
        frame.filter(pl.col("polarity") == "positive")["rule"]
    )
    # A file from before the column was there.
    frame.drop("rule").write_csv(target)
    assert [row[3] for row in statements_in_file(str(target))] == [""] * len(frame)
    before = evaluate(
        str(pairs), generator=f"file:{target}", model=lambda p, h: [0] * len(p), keep=2, check_labels=False
    )
    assert "by_rule" not in before.extra and rule_tables(before) == []


def test_a_run_from_before_is_still_read(tmp_path: Path) -> None:
    run({(0, 0)}, out=tmp_path / "run")
    stored = load(tmp_path / "run")
    assert stored.texts is not None and by_rule(stored.rows, stored.texts)["macro_of"] == 2
    texts = Frames([frame.drop("made_by") for frame in stored.texts.batches()])
    assert by_rule(stored.rows, texts) == {}
    [rows] = stored.rows.batches()
    assert len(example_page(rows.join(texts.frames[0], on="id"))) == 4


def test_many_statements_in_a_file_keep_their_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    from sensecheck.models import generators

    monkeypatch.setattr(generators, "HELD_CHARACTERS", 10)
    stored = StoredStatements([("H.", True, "One.", "first"), ("H.", True, "Two."), ("H.", False, "No.", "third")])
    assert stored.rules(generators.Request("H.", True)) == {"One.": "first"}


def test_rules_name_what_they_made() -> None:
    from sensecheck.models.generators import Request

    generator, request = RuleGenerator(), Request("A baker is cutting bread.", False, 5)
    [(_, made)] = next(generator.stream([request]))
    assert made and list(generator.rules(request)) == made


def test_soundness_by_rule_from_a_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = run({(0, 0)}, out=tmp_path / "run")
    sheet = tmp_path / "sheet.csv"
    assert write_sheet(result, sheet, n=12) == 12
    frame = pl.read_csv(sheet, infer_schema=False)
    assert set(frame["made_by"]) == {"first", "second"}
    right = pl.when(pl.col("statement") == "H1 2.").then(pl.lit("no")).otherwise(pl.lit("yes"))
    frame.with_columns(grammatical=pl.lit("yes"), polarity_right=right).write_csv(sheet)
    found = read_back(result, sheet)["sound_by_rule"]
    assert {rule: (of["sound"], of["checked"]) for rule, of in found.items()} == {"first": (8, 8), "second": (3, 4)}
    assert main(["robust", "audit", str(tmp_path / "run"), "--read", str(sheet)]) == 0
    assert "second: 3 of 4 valid, 95% [0.301, 0.954]" in capsys.readouterr().out
