"""The real inspect_ai, run here on a mock model, and its logs read end to end."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import sensecheck
from sensecheck.cli import main
from sensecheck.inputs.errors import InputError
from sensecheck.statistics.figure import IntervalOptions

if find_spec("inspect_ai") is None:
    pytest.skip("inspect_ai is not installed: its logs are not made and read here", allow_module_level=True)

PLAIN = IntervalOptions(method="none")
KINDS = ("-as-written.eval", ".eval", ".json")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inspect")
    script = Path(__file__).with_name("inspect_tasks.py")
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    paths = os.pathsep.join([str(Path(sensecheck.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(script), str(folder)], env={**os.environ, **home, "PYTHONPATH": paths}, timeout=300,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return folder


@pytest.fixture(scope="module")
def theirs(logs):
    return json.loads((logs / "figures.json").read_text())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("task", "options", "metric", "value", "n", "unscored"),
    [
        ("choice", {}, "choice accuracy", 2 / 3, 3, {}),
        ("epochs", {}, "match accuracy", 0.5, 6, {}),
        ("error", {}, "match accuracy", 0.5, 2, {"error: RuntimeError": 1}),
        ("logprobs", {"scorer": "match"}, "match accuracy", 2 / 3, 3, {}),
        ("object", {}, "correct accuracy", 2 / 3, 3, {}),
    ],
)
def test_accuracy_is_inspects_own(logs, theirs, kind, task, options, metric, value, n, unscored):
    result = sensecheck.calibrated.evaluate(str(logs / f"{task}{kind}"), options=PLAIN, **options)
    assert theirs[task]["metrics"][metric] == pytest.approx(value)
    assert result["accuracy"].value == pytest.approx(value)
    assert (result["accuracy"].n, result["accuracy"].unscored) == (n, unscored)
    assert f"agrees with the log's own accuracy: {value:.4g}" in result.notes
    assert theirs[task]["log"] == theirs[task]["samples"] == pytest.approx(value)  # the objects in memory


@pytest.mark.parametrize("kind", KINDS)
def test_epochs_are_samples_of_one_example(logs, kind):
    result = sensecheck.calibrated.evaluate(str(logs / f"epochs{kind}"))
    assert (result["accuracy"].n, result["accuracy"].clusters) == (6, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_confidences(logs, kind):
    scored = sensecheck.calibrated.evaluate(str(logs / f"object{kind}"), options=PLAIN)
    assert scored["mean_confidence"].value == pytest.approx((0.75 + 0.75 + 0.5) / 3)
    products = [math.exp(-0.25 * 4 * 2), math.exp(-0.25), math.exp(-0.25 * 4 * 2)]  # two tokens, one, two
    answered = sensecheck.calibrated.evaluate(str(logs / f"logprobs{kind}"), scorer="match", options=PLAIN)
    assert answered["mean_confidence"].value == pytest.approx(sum(products) / 3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_did_not_finish_is_no_result(logs, theirs, kind):
    with pytest.raises(InputError, match=r"did not finish: its status is 'error' \(error: RuntimeError\)"):
        sensecheck.calibrated.evaluate(str(logs / f"unfinished{kind}"))
    assert theirs["unfinished"]["status"] == "error" and "did not finish" in theirs["unfinished"]["log"]


def test_two_logs_in_one_command(logs, capsys):
    assert main(["compare", str(logs / "error.eval"), str(logs / "epochs.json")]) == 2  # epochs are a method
    assert "repeat" in capsys.readouterr().err
    assert main(["compare", str(logs / "choice.eval"), str(logs / "choice.json")]) == 0
    assert "Both runs are the same on accuracy, on all 3 independent units" in capsys.readouterr().out
