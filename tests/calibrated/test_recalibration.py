"""Maps: what they find, how they are kept, and where they refuse."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import sensecheck
from sensecheck.calibrated.recalibrated import recalibrate
from sensecheck.calibrated.recalibration import METHODS, Recalibration, fit, load, pooled
from sensecheck.cli import main
from sensecheck.statistics.figure import IntervalOptions

QUICK = IntervalOptions(replicates=100)


def logit(p: np.ndarray) -> np.ndarray:
    return np.log(p) - np.log1p(-p)


def overconfident(n: int, seed: int, temperature: float = 2.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = np.clip(rng.beta(6, 1.2, n), 1e-6, 1 - 1e-6)
    return p, rng.random(n) < 1 / (1 + np.exp(-logit(p) / temperature))


def table(path: Path, n: int, seed: int) -> Path:
    p, y = overconfident(n, seed)
    path.write_text("confidence,correct\n" + "\n".join(f"{a:.9f},{int(b)}" for a, b in zip(p, y, strict=True)) + "\n")
    return path


def test_the_temperature_that_made_the_data_is_found() -> None:
    p, y = overconfident(40_000, 0)
    found = fit("temperature", p, y)
    assert found.parameters["T"][0] == pytest.approx(2.5, rel=0.04) and not found.notes


@pytest.mark.parametrize("method", METHODS)
def test_maps_rise_and_calibrate(method: str) -> None:
    p, y = overconfident(20_000, 1)
    found = fit(method, p, y)
    grid = found(np.linspace(0, 1, 501))
    assert (np.diff(grid) >= -1e-12).all() and grid.min() >= 0 and grid.max() <= 1
    new, truth = overconfident(20_000, 2)
    before = sensecheck.calibrated.evaluate(confidence=new, correct=truth, options=IntervalOptions(method="none"))
    after = sensecheck.calibrated.evaluate(confidence=found(new), correct=truth, options=IntervalOptions(method="none"))
    assert after["ece"].value < before["ece"].value / 5
    assert after["nll_clipped"].value < before["nll_clipped"].value


def test_bounds_of_the_temperature_are_said() -> None:
    p, y = overconfident(500, 3)
    assert "upper bound" in fit("temperature", p, ~y).notes[0]
    sure = np.array([0.6, 0.7, 0.9])
    assert "lower bound" in fit("temperature", sure, np.ones(3)).notes[0]


def test_confidences_of_0_and_1_are_no_trouble() -> None:
    p = np.array([0.0, 1.0, 1.0, 0.5, 0.0, 1.0])
    y = np.array([0, 1, 0, 1, 1, 1])
    for method in METHODS:
        assert np.isfinite(fit(method, p, y)(p)).all()


def test_pooling_is_the_nearest_rising_sequence() -> None:
    values, weights, starts = pooled(np.array([1.0, 0.0, 2.0, 1.0, 3.0]), np.array([1.0, 1.0, 1.0, 3.0, 1.0]))
    np.testing.assert_allclose(values, [0.5, 1.25, 3.0])
    assert weights.tolist() == [2, 4, 1] and starts.tolist() == [0, 2, 4]


def test_weights_are_rows_that_repeat() -> None:
    p, y = overconfident(300, 4)
    times = np.random.default_rng(0).integers(0, 3, 300)
    for method in METHODS:
        a, b = fit(method, p, y, times), fit(method, np.repeat(p, times), np.repeat(y, times))
        np.testing.assert_allclose(a(p), b(p), atol=1e-7)


def test_a_saved_map_is_the_same_map(tmp_path: Path) -> None:
    p, y = overconfident(400, 5)
    for method in METHODS:
        found = fit(method, p, y)
        again = load(found.save(tmp_path / "map.json"))
        assert isinstance(again, Recalibration) and again.method == method
        assert (again(p) == found(p)).all()


@pytest.mark.parametrize(
    "text",
    ["[]", "not json", '{"schema": "sensecheck.recalibration/1", "method": "magic"}',
     '{"schema": "sensecheck.recalibration/1", "method": "platt", "parameters": {"a": [1]}}',
     '{"schema": "sensecheck.recalibration/1", "method": "temperature", "parameters": {"T": ["x"]}}'],
)  # fmt: skip
def test_what_is_no_map_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "map.json").write_text(text)
    with pytest.raises(sensecheck.InputError):
        load(tmp_path / "map.json")


def test_fit_on_one_file_report_on_another(tmp_path: Path) -> None:
    dev, test = table(tmp_path / "dev.csv", 3000, 6), table(tmp_path / "test.csv", 2000, 7)
    found = recalibrate(test, fit_on=dev, options=QUICK)
    assert found.fitted.rows == 3000 and found.after.rows.height == 2000
    assert found.after["ece"].value < found.before["ece"].value / 3
    assert found.after["accuracy"].value == found.before["accuracy"].value
    assert found.compare()["ece"].high < 0
    assert found.fitted.source["inputs"][0]["sha256"]
    assert {c.name for c in found.after.charts()} >= {"before-after", "risk-coverage", "reliability"}
    assert "before-after" not in {c.name for c in found.before.charts()}


def test_a_split_keeps_clusters_whole_and_is_the_same_again(tmp_path: Path) -> None:
    p, y = overconfident(900, 8)
    rows = {"confidence": p, "correct": y, "talk": [f"t{i // 9}" for i in range(900)]}
    one = recalibrate(rows, split=0.5, cluster="talk", options=QUICK)
    two = recalibrate(rows, split=0.5, cluster="talk", options=QUICK)
    assert one.fitted.parameters == two.fitted.parameters
    assert one.fitted.rows + one.after.rows.height == 900
    left = one.after.measurements["cluster"].value_counts()
    assert (left["count"] == 9).all() and 20 < len(left) < 80
    assert recalibrate(rows, split=0.5, seed=1, cluster="talk", options=QUICK).fitted != one.fitted


def test_the_same_rows_are_refused_unless_asked_for(tmp_path: Path) -> None:
    dev = table(tmp_path / "dev.csv", 300, 9)
    copy = tmp_path / "copy.csv"
    copy.write_bytes(dev.read_bytes())
    with pytest.raises(sensecheck.InputError, match="flatters"):
        recalibrate(copy, fit_on=dev)
    assert recalibrate(copy, fit_on=dev, same_rows=True, options=QUICK).fitted.rows == 300
    assert recalibrate(copy, same_rows=True, options=QUICK).fitted.rows == 300
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(dev.read_bytes()))
    with pytest.raises(sensecheck.InputError, match="fitted on the rows it is reported on"):
        recalibrate(packed, fit_on=dev, options=QUICK)
    kept = recalibrate(dev, split=0.5, options=QUICK).fitted.save(tmp_path / "map.json")
    with pytest.raises(sensecheck.InputError, match="the map was fitted on rows of this file"):
        recalibrate(dev, fitted=kept, options=QUICK)
    assert recalibrate(dev, fitted=kept, same_rows=True, options=QUICK).flattered
    with pytest.raises(sensecheck.InputError, match="where the map comes from"):
        recalibrate(copy)
    with pytest.raises(sensecheck.InputError, match="where the map comes from"):
        recalibrate(copy, fit_on=dev, split=0.5)
    with pytest.raises(sensecheck.InputError, match="share between 0 and 1"):
        recalibrate(copy, split=1.5)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dev, test = table(tmp_path / "dev.csv", 800, 10), table(tmp_path / "test.csv", 600, 11)
    kept = tmp_path / "map.json"
    code = main(
        ["recalibrate", str(test), "--fit-on", str(dev), "--method", "platt", "--save", str(kept), "--resamples", "60",
         "--plot", str(tmp_path / "ba.svg"), "--report", str(tmp_path / "r.html"), "--out", str(tmp_path / "run"),
         "--fail-over", "ece=0.2"]
    )  # fmt: skip
    said = capsys.readouterr().out
    assert code == 0 and "recalibrated: platt" in said and "before" in said
    assert "Before and after" in (tmp_path / "ba.svg").read_text()
    assert "Before and after" in (tmp_path / "r.html").read_text()
    assert sensecheck.load(tmp_path / "run")["ece"].value < 0.1
    assert main(["recalibrate", str(test), "--map", str(kept), "--write", str(tmp_path / "new.jsonl"), "--no-ci"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    assert len(rows) == 600
    np.testing.assert_allclose([r["recalibrated"] for r in rows], load(kept)([r["confidence"] for r in rows]))
    assert main(["recalibrate", str(test), "--fit-on", str(test)]) == 2
    assert "flatters" in capsys.readouterr().err
