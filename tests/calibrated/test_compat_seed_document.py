"""Every Python block of calibration_metric's document runs with only the import changed, or fails as it did.

| block                                 | there and here                                                     |
|---------------------------------------|--------------------------------------------------------------------|
| `ece_metric(accs, probs)`             | lists: AttributeError; arrays: IndexError (arguments swapped)      |
| `ECEMetric(..., return_df=True)(...)` | the same                                                           |
| `plt.subplot(1, 1, figsize=...)`      | TypeError of matplotlib: `subplots` is meant                       |

With the confidences first, and with `subplots`, all three run.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

IMPORTS = """
from sensecheck.compat.calibration_metric.metric import ECEMetric
from sensecheck.compat.calibration_metric.vis.calibration_plot import get_df_from_file, plot_df
"""
SOURCE = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def blocks(shared: Path) -> list[str]:
    (document,) = (shared / "seeds").glob("004*")
    fenced = re.findall(r"```\n(.*?)```", document.read_text(), re.DOTALL)
    python = [block for block in fenced if "ECEMetric" in block or "plot_df" in block]
    assert len(fenced) == 7
    assert len(python) == 3
    return python


@pytest.fixture
def names() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    probs = np.concatenate([[0.0, 1.0], rng.random(2000)])
    return {"probs": probs, "accs": (rng.random(2002) < probs).astype(int)}


def run(block: str, names: dict[str, Any]) -> dict[str, Any]:
    exec(IMPORTS + block, names)
    return names


@pytest.mark.golden
def test_the_metric_blocks_fail_as_they_did(blocks: list[str], names: dict[str, Any]) -> None:
    for block in blocks[:2]:
        with pytest.raises(IndexError, match="index 2 is out of bounds for axis 0 with size 2"):
            run(block, dict(names))
        with pytest.raises(AttributeError, match="'list' object has no attribute 'shape'"):
            run(block, {name: values.tolist() for name, values in names.items()})


@pytest.mark.golden
def test_the_metric_blocks_run_with_the_confidences_first(blocks: list[str], names: dict[str, Any]) -> None:
    pytest.importorskip("pandas")
    ece, table = (run(block.replace("(accs, probs)", "(probs, accs)"), dict(names)) for block in blocks[:2])
    assert 0 < ece["ece_score"] < 0.05
    assert table["ece_metric"] == ece["ece_score"]
    assert len(table["df"]) == 20


@pytest.mark.golden
def test_the_plot_block_fails_as_it_did_and_runs_once_mended(blocks: list[str], names: dict[str, Any]) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("Agg")
    run(blocks[1].replace("(accs, probs)", "(probs, accs)"), names)
    with pytest.raises(TypeError, match="subplot"):
        run(blocks[2], names)
    run(blocks[2].replace("plt.subplot(", "plt.subplots("), names)
    dots = names["ax"].collections[0].get_offsets()
    assert np.array_equal(np.asarray(dots), names["df"][["prob_correct", "prob_model"]].to_numpy())
    assert (names["ax"].get_xlabel(), names["ax"].get_ylabel()) == ("Accuracy", "Model Prob.")


@pytest.mark.golden
def test_a_file_to_a_data_frame_to_a_plot(golden: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib").use("Agg")
    from sensecheck.compat.calibration_metric import (
        ECEMetric,
        TopKTopLogitFormatSequenceReader,
        TopLogitFormatSequenceReader,
        get_df_from_file,
        plot_df,
    )

    path = golden / "calibrated/readers/hf_sorted.logits"
    df, percent = get_df_from_file(path, binning_strategy="adaptive")
    metric = ECEMetric(binning_strategy="adaptive")
    assert percent == 100 * metric(*TopLogitFormatSequenceReader(path).read())
    easier, _ = get_df_from_file(
        path, n_bins=5, reader_cls=TopKTopLogitFormatSequenceReader, ignore_tokens=[1], reader_kwargs={"k": 3}
    )
    assert easier["count"].sum() == 372

    df["log_count"] = 0.0
    figure = plot_df(df, title="dev", metric_value=percent, metric_value_kwargs={"x": 0.1, "color": "red"})
    assert capsys.readouterr().out == "ax is None\n"
    (ax,) = figure.axes
    assert np.array_equal(df["log_count"], np.log(df["count"]))
    (text,) = ax.texts
    assert (text.get_text(), text.get_position()) == (f"ECE: {percent:.2f}", (0.1, 0.5))
    assert ax.get_title() == "dev"
    assert plot_df(df, ax=ax, use_log_count=False, show_legend=False) is None


def test_a_metric_of_ones_own_inherits_the_binning() -> None:
    from sensecheck.compat.calibration_metric.metric import Metric

    class RootMeanSquare(Metric):
        def __call__(self, top_preds: np.ndarray, is_correct: np.ndarray) -> float:
            values, edges, _ = self.bin_preds(top_preds, is_correct)
            return float(np.sqrt(np.mean(((edges[1:] + edges[:-1]) / 2 - values) ** 2)))

    metric = RootMeanSquare("RMS", n_bins=2, weighted=True)
    assert metric.name == "Weighted RMS"
    assert metric(np.array([0.0, 0.2, 0.8, 1.0]), np.array([0, 0, 1, 1])) == 0.25
    with pytest.raises(NotImplementedError, match="Metric does not define __call__"):
        Metric()(np.array([0.5]), np.array([1]))


def test_names_and_wrong_calls_as_recorded() -> None:
    from sensecheck.compat.calibration_metric import (
        ECEMetric,
        MCEMetric,
        MeanErrorAbove,
        MeanErrorBelow,
        PearsonMetric,
        Report,
    )

    metrics = [
        ECEMetric(),
        ECEMetric(weighted=False),
        MCEMetric(),
        MCEMetric(weighted=True),
        MeanErrorAbove(),
        MeanErrorBelow(weighted=True),
        PearsonMetric(),
    ]
    assert [metric.name for metric in metrics] == [
        "Weighted ECE",
        "ECE",
        "MCE",
        "Weighted MCE",
        "Mean Error (overconfident)",
        "Weighted Mean Error (underconfident)",
        "Pearson",
    ]
    probs, accs = np.array([0.1, 0.2, 0.9]), np.array([0, 1, 1])
    same_length = r"top_probs and is_correct must have the same length, got \(3,\) and \(2,\) respectively\."
    with pytest.raises(AssertionError, match=same_length):
        ECEMetric()(probs, accs[:2])
    with pytest.raises(ValueError, match="Invalid binning strategy: quantile"):
        ECEMetric(binning_strategy="quantile")(probs, accs)
    with pytest.raises(ValueError, match=r"too many values to unpack \(expected 2\)"):
        ECEMetric()(np.array([probs, probs, probs]), accs)
    with pytest.raises(ValueError, match="zero-size array to reduction operation minimum which has no identity"):
        ECEMetric(n_bins=0)(probs, accs)
    with pytest.warns(RuntimeWarning, match="less than 3 active bins"), pytest.raises(KeyError, match="nope"):
        ECEMetric(n_bins=2, weight_key="nope")(probs, accs)
    with pytest.warns(RuntimeWarning, match="less than 3 active bins"):
        counted = ECEMetric(n_bins=2, weight_key="count")(probs, accs)
        assert counted == pytest.approx(2 * abs(0.3 - 0.5) + abs(0.7 - 1.0))
        lines = Report({"ece": ECEMetric(n_bins=2), "max": MCEMetric(n_bins=2)}).create_report(probs, accs)
        assert lines == "uniform ece: 0.2333\nuniform max: 0.3000"
        with pytest.raises(TypeError, match="unsupported format string"):
            Report({"ece": ECEMetric(n_bins=2, return_df=True)}).create_report(probs, accs)


def test_importing_the_shell_imports_nothing_heavy() -> None:
    code = (
        "import sys, sensecheck.compat.calibration_metric.main\n"
        "print(sorted({'polars', 'pandas', 'scipy', 'matplotlib', 'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
