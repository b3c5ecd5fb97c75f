"""`--as breaknli` and `--as breaknli-april` through the command, on golden data: stored predictions as the model, stored
statements as the generator.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sensecheck.cli import main
from sensecheck.robust import original

pytestmark = pytest.mark.golden
VERSIONS = [("breaknli", "current"), ("breaknli-april", "april_2023")]


def recorded(golden: Path, name: str) -> Any:
    return json.loads((golden / "robust" / f"{name}.json").read_text())


class Files:
    """A golden case as the three files a user would have: pairs, predictions, statements."""

    def __init__(self, folder: Path, case: Any) -> None:
        folder.mkdir()
        self.pairs, self.table, self.statements = (folder / f"{n}.csv" for n in ("pairs", "predictions", "statements"))
        n, positive = len(case["gold"]), bool(case["positive"])
        pairs = [{"premise": f"p{i}.", "hypothesis": f"h{i}.", "label": case["gold"][i]} for i in range(n)]
        said, made = [], []
        for i in range(n):
            p, h = f"p{i}.", f"h{i}."
            said.append((p, h, case["pred_ph"][i]))
            for j in range(10):
                g = f"g{i}-{j}"
                made += [
                    (h, "positive" if positive else "negative", g),
                    (h, "negative" if positive else "positive", "x" + g),
                ]
                said += [(h, g, case["pred_h_g"][i][j]), (g, h, case["pred_g_h"][i][j]), (p, g, case["pred_p_g"][i][j])]
        pl.DataFrame(pairs).write_csv(self.pairs)
        pl.DataFrame(said, schema=["premise", "hypothesis", "prediction"], orient="row").write_csv(self.table)
        pl.DataFrame(made, schema=["hypothesis", "polarity", "statement"], orient="row").write_csv(self.statements)
        self.polarity = "positive" if positive else "negative"

    def command(self, name: str, *more: str) -> list[str]:
        return [
            "robust", str(self.pairs), "--as", name, "--model", f"table:{self.table}", "--generator",
            f"file:{self.statements}", "--polarity", self.polarity, "--format", "json", *more,
        ]  # fmt: skip


def rates(found: Any, polarity: str) -> list[str]:
    """The figures of a run as the original prints them: each class that occurs, then overall."""
    values = {f["name"]: f["value"] for f in found["figures"]}
    classes = [
        c for c in ("entailment", "neutrality", "contradiction", "overall") if f"inequal_{polarity}_{c}" in values
    ]
    return [
        original.rate_string(values[f"inequal_{polarity}_{c}"], values[f"relaxed_inequal_{polarity}_{c}"])
        for c in classes
    ]


@pytest.mark.parametrize(("name", "key"), VERSIONS)
def test_the_filter_by_command(
    golden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, key: str
) -> None:
    for case in recorded(golden, "filter"):
        files = Files(tmp_path / case["id"], case)
        out = tmp_path / f"{case['id']}-run"
        assert main(files.command(name, "--out", str(out))) == 0
        found = json.loads(capsys.readouterr().out)
        assert rates(found, files.polarity) == case[key]["results"], case["id"]
        # The pairs that were kept, in the original's order, and the statements by their slots.
        texts = pl.read_parquet(out / "examples-00000.parquet")
        kept = [
            {"pair": int(h[1:-1]), "statements": [int(g.split("-")[1]) for g in gs]}
            for h, gs in texts.select("hypothesis", "statement").iter_rows()
        ]
        assert kept == case[key]["selected"], case["id"]
        assert texts["said"].to_list() == case[key]["pred_labels"], case["id"]


@pytest.mark.parametrize(("name", "key"), VERSIONS)
def test_the_scoring_by_command(
    golden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, key: str
) -> None:
    """Every statement confirmed: what comes out is the scoring alone. (Negative statements never meet a neutral pair.)"""
    checked = 0
    for case in recorded(golden, "scoring"):
        if not case["positive"] and 1 in case["labels"]:
            continue
        target = original.target_label(case["positive"])
        n = len(case["labels"])
        full = {
            "positive": case["positive"], "gold": case["labels"], "pred_ph": case["labels"],
            "pred_h_g": [[target] * 10] * n, "pred_g_h": [[target] * 10] * n,
            "pred_p_g": [[*row, *[1] * 5] for row in case["pred_labels"]],
        }  # fmt: skip
        files = Files(tmp_path / case["id"], full)
        assert main(files.command(name)) == 0
        assert rates(json.loads(capsys.readouterr().out), files.polarity) == case["result_strings"], case["id"]
        checked += 1
    assert checked >= 18


def test_parity_runs_side_by_side(golden: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two models in the published form, from stored runs: the cells are the golden strings."""
    (case,) = (c for c in recorded(golden, "filter") if c["id"] == "filter1")
    runs = []
    for name, _ in VERSIONS:
        files = Files(tmp_path / name, case)
        runs.append(str(tmp_path / f"{name}-run"))
        assert main(files.command("breaknli", "--out", runs[-1], "--system", name)) == 0
    capsys.readouterr()
    assert main(["robust", "table", *runs, "--data-set", "TOWN", "--format", "markdown"]) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| TOWN")]
    classes = ("entailment", "neutrality", "contradiction", "overall")
    assert rows == [
        ["TOWN", "positive", c, cell, cell] for c, cell in zip(classes, case["current"]["results"], strict=True)
    ]
    april = Files(tmp_path / "april", case)
    assert main(april.command("breaknli-april", "--out", str(tmp_path / "april-run"))) == 0
    capsys.readouterr()
    assert main(["robust", "table", runs[0], str(tmp_path / "april-run")]) == 2
    assert "not measured the same way" in capsys.readouterr().err


def test_no_pair_selected_is_said_and_not_divided_by(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = {
        "positive": True, "gold": [0, 1], "pred_ph": [2, 2], "pred_h_g": [[0] * 10] * 2, "pred_g_h": [[0] * 10] * 2,
        "pred_p_g": [[0] * 10] * 2,
    }  # fmt: skip
    files = Files(tmp_path / "none", case)
    assert main(files.command("breaknli")) == 0
    found = json.loads(capsys.readouterr().out)
    assert [f["value"] for f in found["figures"]] == [None, None]
    assert "the original raises ZeroDivisionError: no pair was selected" in json.dumps(found["figures"])
