"""From a file of pairs to figures, through Python and through the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sensecheck
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.models.generators import StoredStatements
from sensecheck.report.result import load
from sensecheck.robust import evaluate, original
from sensecheck.robust.tables import model_table, published

ROWS: list[dict[str, Any]] = [
    {
        "premise": "A man is playing a guitar on a stage.",
        "hypothesis": "A man is playing a guitar.",
        "label": "entailment",
    },
    {"premise": "Two dogs are running across a field.", "hypothesis": "Two dogs are running.", "label": 0},
    {"premise": "A woman is cooking dinner.", "hypothesis": "A woman is cooking for her family.", "label": "neutral"},
    {"premise": "A man is sleeping on a couch.", "hypothesis": "The man is running.", "label": "2"},
    {"premise": "A boy is riding a bike.", "hypothesis": "A boy is outside.", "label": "-"},
]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps({**row, "label": str(row["label"])}) + "\n" for row in ROWS))
    return path


class Logician:
    """Knows the true labels of stored statements: a model that obeys logic, but for one slip."""

    def __init__(self, slip: bool = False) -> None:
        self.slip = slip

    def __call__(self, premises: list[str], hypotheses: list[str]) -> list[int]:
        return [self.label(p, h) for p, h in zip(premises, hypotheses, strict=True)]

    def label(self, p: str, h: str) -> int:
        if self.slip and p == "P0." and h == "H0 same 3.":
            return 2
        if p == h:
            return 0
        if p[0] == "P":
            number = int(p[1])
            gold = number % 3
            if "not" in h:
                return {0: 2, 1: 1, 2: 1}[gold]
            return gold
        return 2 if ("not" in p) != ("not" in h) else 0


def stored(n: int = 9) -> tuple[list[dict[str, Any]], StoredStatements]:
    rows = [
        {"premise": f"P{i}.", "hypothesis": f"H{i}.", "label": i % 3, "kind": "odd" if i % 2 else "even"}
        for i in range(n)
    ]
    made = [(f"H{i}.", True, f"H{i} same {k}.") for i in range(n) for k in range(6)]
    made += [(f"H{i}.", False, f"H{i} not {k}.") for i in range(n) for k in range(6)]
    return rows, StoredStatements(made)


def test_a_model_that_obeys_breaks_nothing() -> None:
    rows, statements = stored()
    result = evaluate(rows, model=Logician(), generator=statements, check_labels=False)
    assert result["strictly_inequal"].value == 0.0
    assert result["strictly_inequal"].n == 9 + 3
    assert result["accuracy"].value == 1.0
    assert result["symmetry_violation"].value == 0.0
    assert result["unsupported_strictly_inequal"].value == 1.0  # logic says nothing there, and it is not in the overall


def test_one_slip_is_one_pair() -> None:
    rows, statements = stored()
    result = evaluate(
        rows, model=Logician(slip=True), generator=statements, check_labels=False, slices=["kind", "rule"]
    )
    assert result["strictly_inequal"].value == pytest.approx(1 / 12)
    assert result["inequal_positive_entailment"].value == pytest.approx(1 / 3)
    assert result["statement_violation"].value == pytest.approx(1 / 60)
    rules = {row[0].slice["rule"] for row in result.slices("rule")}
    assert rules == {"entailment chain", "equivalence", "contradiction chain", "unsupported", "none"}
    page = sensecheck.robust.QUESTION.example_page
    assert page is not None
    frame = result.examples(50).filter(pl.col("strict"))
    (shown,) = page(frame)
    assert shown["parts"][2]["rows"][3] == ["H0 same 3.", "entailment", "entailment", "contradiction", "opposite label"]


def test_all_pairs_are_held_to_the_models_own_labels() -> None:
    """A pair that the model gets wrong obliges it all the same: by what it said, not by gold."""
    rows, statements = stored()
    wrong = [{**row, "label": (row["label"] + 1) % 3} if i < 3 else row for i, row in enumerate(rows)]
    strict = evaluate(wrong, model=Logician(slip=True), generator=statements, check_labels=False)
    every = evaluate(wrong, model=Logician(slip=True), generator=statements, check_labels=False, only_correct=False)
    assert strict["accuracy"].value == every["accuracy"].value == pytest.approx(6 / 9)
    assert strict["strictly_inequal"].n == 6 + 2 and strict["strictly_inequal"].value == 0.0
    assert every["strictly_inequal"].n == 9 + 3 and every["strictly_inequal"].value == pytest.approx(1 / 12)
    assert every["inequal_positive_entailment"].value == pytest.approx(1 / 3)  # the pair that M calls entailment
    assert strict.extra["funnel"][0]["correct"] == 6
    assert every.extra["funnel"][0]["answered"] == 9 and "correct" not in every.extra["funnel"][0]


def test_the_funnel_counts_everything(pairs: Path) -> None:
    result = evaluate(pairs, model="small", generator="rules", check_labels=False)
    positive = result.extra["funnel"][0]
    assert positive["pairs"] == 5 and positive["with gold"] == 4
    assert result.rows.height == 10
    nothing_asked = "no rule for neutral pairs and contradicting statements"
    assert result.unscored() == {"no gold label": 2, nothing_asked: 1}
    gold = [row["label"] for row in result.measurements.filter(pl.col("polarity") == "positive").iter_rows(named=True)]
    assert result["coverage"].n == gold.count("entailment") * 2 + gold.count("neutral") + gold.count("contradiction")
    assert any("good for a first look" in note for note in result.notes)


def test_compare_two_models() -> None:
    rows, statements = stored()
    a = evaluate(rows, model=Logician(), generator=statements, check_labels=False, system="A")
    b = evaluate(rows, model=Logician(slip=True), generator=statements, check_labels=False, system="B")
    assert a.compare(b)["strictly_inequal"].difference == pytest.approx(1 / 12)
    table = model_table([a, b]).markdown()
    assert "0.0%/0.0%" in table and "33.33%/33.33%" in table


def test_generating_reads_files_as_measuring_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another column, a row without a text, and hypotheses of which nothing follows, each told why."""
    pairs, target = tmp_path / "pairs.csv", tmp_path / "s.csv"
    rows = ["A dog runs in the park.,0", ",1", "Is it a dog?,1", "Un homme dort dans la rue avec sa femme.,1"]
    pairs.write_text("premise,text,label\n" + "".join(f"A dog.,{row}\n" for row in rows))
    given = ["generate", str(pairs), "-o", str(target), "--columns", "hypothesis=text"]
    assert main(["robust", *given]) == 2 and "pass --skip-bad" in capsys.readouterr().err
    assert main(["robust", *given, "--skip-bad", "--quiet"]) == 0
    told = capsys.readouterr().out
    assert "is a question: nothing follows from it (1)" in told and "in another language" in told
    assert set(pl.read_csv(target)["hypothesis"]) == {"A dog runs in the park."}
    assert main(["robust", "accuracy", str(pairs), "--columns", "hypothesis=text", "--skip-bad", "--quiet"]) == 0


@pytest.mark.golden
def test_published_table_by_our_own_table_code(golden: Path) -> None:
    """Every cell in its place: the raw strings of the published table, models across with their accuracies."""
    stored_table = json.loads((golden / "robust" / "published_table.json").read_text())
    table = published(stored_table)
    models = [m["model"] for m in stored_table["models"]]
    assert list(table.columns[3:]) == [f"{m['model']} ({m['accuracy_mnli_percent']}%)" for m in stored_table["models"]]
    words = {"contradicting": "Contradictive generation", "entailed": "Entailed generation"}
    wanted = {
        (c["dataset"], words[c["generation"]], c["pair_class"], c["model"]): c["raw"] for c in stored_table["cells"]
    }
    drawn = {(*row[:3], model): cell for row in table.rows for model, cell in zip(models, row[3:], strict=True)}
    assert drawn == wanted and len(drawn) == 126
    lines = [line.strip("| ").split(" | ") for line in table.markdown().splitlines() if line.startswith("| ")][2:]
    assert lines == [list(row) for row in table.rows]
    assert r"18.27\%/25.7\%" in table.latex()
    assert original.rate_string(18.27, 25.7) == "18.27%/25.7%"


def test_a_second_model_costs_only_its_own_calls(tmp_path: Path) -> None:
    rows, statements = stored()
    calls: list[int] = []

    def counted(premises: list[str], hypotheses: list[str]) -> list[int]:
        calls.append(len(premises))
        return Logician()(premises, hypotheses)

    cache = tmp_path / "calls.sqlite"
    evaluate(rows, model=counted, generator=statements, check_labels=False, cache=cache)
    asked = sum(calls)
    assert asked > 0
    evaluate(rows, model=counted, generator=statements, check_labels=False, cache=cache)
    assert sum(calls) == asked


def test_parity_runs_both_versions(tmp_path: Path) -> None:
    rows, _ = stored()
    made = [
        (f"H{i}.", pos, f"H{i} {'same' if pos else 'not'} {k}.")
        for i in range(9)
        for pos in (True, False)
        for k in range(12)
    ]
    for name in ("breaknli", "breaknli-april"):
        result = evaluate(rows, model=Logician(), generator=StoredStatements(made), parity=name, out=tmp_path / name)  # type: ignore[arg-type]
        assert result["inequal_positive_overall"].value == 0.0
        assert result["relaxed_inequal_negative_contradiction"].value == 100.0  # the unsupported triangle, as published
        assert result["inequal_positive_overall"].absent.startswith("parity")
        assert load(tmp_path / name)["inequal_positive_overall"].value == 0.0


def test_bad_input_is_told_in_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("premise,hypothesis,label\nA man.,A dog.,entailment\nA cat.,A bird.,perhaps\n")
    assert main(["robust", str(bad)]) == 2
    said = capsys.readouterr().err
    assert "bad.csv:3" in said and "label" in said and "perhaps" in said
    assert main(["robust", str(bad), "--skip-bad", "--no-ci"]) == 0
    assert "a label that is no NLI label" in capsys.readouterr().out
    missing = tmp_path / "missing.csv"
    missing.write_text("premise,hypotheses,label\na,b,0\n")
    assert main(["robust", str(missing)]) == 2
    assert "hypothesis" in capsys.readouterr().err
    with pytest.raises(InputError):
        evaluate(tmp_path / "none.jsonl")


def test_the_command(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    assert main(["robust", str(pairs), "--out", str(out), "--slice", "label", "--resamples", "50"]) == 0
    said = capsys.readouterr().out
    assert "Strictly inequal pairs" in said and "funnel, positive: 5 pairs" in said
    assert (out / "report.html").exists() and (out / "calls.sqlite").exists()
    assert main(["report", str(out)]) == 0
    assert main(["robust", "generate", str(pairs), "-o", str(tmp_path / "s.csv"), "-s", "4"]) == 0
    assert (
        main(["robust", "break", str(pairs), "--generator", f"file:{tmp_path / 's.csv'}", "--keep", "2", "--no-ci"])
        == 0
    )
    assert main(["robust", "accuracy", str(pairs)]) == 0
    assert "1 without gold" in capsys.readouterr().out
    assert main(["robust", "table", str(out), "--data-set", "TOWN", "--format", "markdown"]) == 0
    assert "TOWN" in capsys.readouterr().out
    assert main(["robust", "audit", str(out), "-o", str(tmp_path / "sheet.csv")]) == 0
    capsys.readouterr()
    assert main(["robust", str(pairs), "--as", "breaknli", "--format", "json"]) == 0
    parity = {f["name"]: (f["value"], f["n"]) for f in json.loads(capsys.readouterr().out)["figures"]}
    # The small model gets all four pairs with gold right; the original leaves neutral pairs out of the negative ones.
    assert parity["inequal_positive_overall"][1] == 4 and parity["inequal_negative_overall"][1] == 3
    assert parity["inequal_negative_contradiction"] == (100.0, 1)  # the unsupported triangle, as published
    assert "inequal_negative_neutrality" not in parity
    assert main(["explain", "symmetry_violation"]) == 0
    assert "If a contradicts b" in capsys.readouterr().out


def test_fetch_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import builtins

    real = builtins.__import__

    def no_datasets(name: str, *rest: Any, **named: Any) -> Any:
        if name == "datasets":
            raise ImportError("No module named 'datasets'")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", no_datasets)
    assert main(["robust", "fetch", "mnli", "-o", str(tmp_path / "m.jsonl")]) == 2
    assert "pip install datasets" in capsys.readouterr().err


def test_a_table_of_predictions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, _ = stored(3)
    pl.DataFrame(rows).write_csv(tmp_path / "pairs.csv")
    pl.DataFrame(
        [{"premise": r["premise"], "hypothesis": r["hypothesis"], "prediction": "entailment"} for r in rows]
    ).write_csv(tmp_path / "predictions.csv")
    table = f"table:{tmp_path / 'predictions.csv'}"
    assert main(["robust", "accuracy", str(tmp_path / "pairs.csv"), "--model", table]) == 0
    assert "accuracy 0.3333" in capsys.readouterr().out
