"""Every figure that the SPICE evaluation wrote, from the same files."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.golden_files import read_packed

from sensecheck.correct import original, question_types
from sensecheck.correct.parity import as_original_result, open_strict, run_queries
from sensecheck.stores import Failure, Outcome, Reason

pytestmark = [pytest.mark.golden, pytest.mark.xdist_group("spice")]  # the queries run once


def close(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    return type(a) is type(b) and math.isclose(a, b, rel_tol=0, abs_tol=1e-12)


@pytest.fixture(scope="module")
def folder(golden: Path) -> Path:
    return golden / "correct"


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[str, Outcome]:
    """Every prediction of the golden files, run once on the embedded graph."""
    records: list[dict[str, Any]] = []
    for name in ("all_types.json", "all_types_quirks.json"):
        records += json.loads((folder / name).read_text())
    for path in (folder / "quirks").glob("*/input.json"):
        records += json.loads(path.read_text())
    store = open_strict(str(folder / "kg.nt"))
    try:
        return run_queries(store, records)
    finally:
        store.close()


def execute_with(outcomes: dict[str, Outcome]) -> Any:
    return lambda text: as_original_result(outcomes[text])


MODES = ["em_only", "em_only_noctx", "endpoint", "em_only_quirks", "endpoint_quirks"]


@pytest.mark.parametrize("mode", MODES)
def test_figures_and_tables(mode: str, folder: Path, outcomes: dict[str, Outcome], tmp_path: Path) -> None:
    expected = folder / "expected" / mode
    distances = None if mode.endswith("noctx") else original.read_distances(str(folder / "context_distance.log"))
    figures = 0
    for kind in question_types.QUESTION_TYPES:
        if mode.endswith("quirks"):
            records = original.read_records(str(folder / "all_types_quirks.json"), False)
        else:
            records = original.read_records(str(folder / "preds" / f"*_{kind}.json"), True)
            assert records
        run = original.evaluate(
            records,
            kind,
            execute_with(outcomes),
            distances=distances,
            em_only=mode.startswith("em_only"),
        )
        want = json.loads((expected / "json" / f"{kind}.json").read_text())
        assert close(run.figures(), want), kind
        figures += sum(len(bucket) for bucket in want.values())
        (tmp_path / f"{kind}.json").write_text(json.dumps(run.figures()))
        said: list[str] = []
        run.say(said.append)
        lines = "\n".join(said).split("\n")
        assert sorted(lines) == sorted((expected / "tables" / f"{kind}.txt").read_text().rstrip("\n").split("\n"))
    assert figures > 300
    assert close(original.summarise(tmp_path), json.loads((expected / "eval_summary.json").read_text()))


@pytest.mark.parametrize("name", sorted(json.loads(read_packed("correct", "quirks/index.json"))))
def test_quirk(
    name: str, folder: Path, outcomes: dict[str, Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Return code, message and figures of each micro-case, through the command itself."""
    from sensecheck.compat.spice import run_subtype_lf

    case = json.loads((folder / "quirks" / "index.json").read_text())[name]
    out = tmp_path / "out.json"
    arguments = [
        str(out)
        if a == "{dir}/out.json"
        else a.replace("{dir}", str(folder / "quirks" / name)).replace("{server}", "kg.nt")
        for a in case["args"]
    ]
    missing = Failure(Reason.SYNTAX, "not among the golden predictions")
    monkeypatch.setattr(
        run_subtype_lf,
        "strict_results",
        lambda link, records: lambda text: as_original_result(outcomes.get(text, missing)),
    )
    said: list[str] = []
    error = None
    try:
        code = run_subtype_lf.main(arguments, say=said.append)
    except Exception as raised:
        code = 1
        error = f"{type(raised).__name__}: {raised}"
    assert code == case["rc"]
    assert error == case["error"]
    text = "\n".join(said) + "\n"
    if case["na"] is not None:
        assert case["na"] in text.split("\n")
    if case["note"]:
        assert case["note"] in text
    if case["out"] is None:
        assert not out.exists()
    else:
        assert close(json.loads(out.read_text()), case["out"])


def test_command_runs_from_the_shell(folder: Path, tmp_path: Path) -> None:
    """The commands as a user types them, against a graph file."""
    out = tmp_path / "results" / "direct.json"
    out.parent.mkdir()
    kind = "Simple Question (Direct)"
    command = [
        sys.executable,
        "-m",
        "sensecheck.compat.spice.run_subtype_lf",
        "--file_path",
        str(folder / "preds" / f"baseline.*.100000.test_{kind}.json"),
        "--read_all",
        "--question_type",
        kind,
        "--context_dist_file",
        str(folder / "context_distance.log"),
        "--server_link",
        str(folder / "kg.nt"),
        "--out_eval_file",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=_environment())
    want = json.loads((folder / "expected" / "endpoint" / "json" / f"{kind}.json").read_text())
    assert close(json.loads(out.read_text()), want)
    assert "Macro F1 Score" in done.stdout
    command[2] = "sensecheck.compat.spice.summarise_results"
    subprocess.run([*command[:3], "--file_path", str(out.parent)], check=True, env=_environment())
    assert set(json.loads((out.parent / "eval_summary.json").read_text())) == set(original.PHENOMENA)


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
