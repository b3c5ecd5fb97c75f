"""Every recorded call of the three readers: the same arrays to the bit, or the same error."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.golden_files import THEIR_FILE

from sensecheck.compat.calibration_metric import reader

pytestmark = pytest.mark.golden

READERS = {
    "top_logit": reader.TopLogitFormatSequenceReader,
    "top_k": reader.TopKTopLogitFormatSequenceReader,
    "miso": reader.MisoTopLogitFormatSequenceReader,
}
ODD = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@pytest.mark.parametrize(
    ("theirs", "expected_tally"),
    [
        (False, {"readings": 146, "steps": 55573, "errors": 97}),
        (True, {"readings": 8, "steps": 1659}),
    ],
    ids=["our files", "the original's own file"],
)
def test_every_recorded_reading(
    readers_of: Callable[[str], Path], golden: Path, theirs: bool, expected_tally: dict[str, int]
) -> None:
    tally: Counter[str] = Counter()
    for call in json.loads((golden / "calibrated/readers/expected.json").read_text()):
        if (call["file"] == THEIR_FILE) != theirs:
            continue
        folder = readers_of(call["file"])
        where = f"{call['file']} {call['reader']} {call['kwargs']}"
        reading: Any
        try:
            reading = READERS[call["reader"]](folder / call["file"], **call["kwargs"]).read()
        except Exception as failure:
            reading = failure
        want = call["result"]
        if "error" in want:
            assert isinstance(reading, Exception), where
            assert type(reading).__name__ == want["error"], where
            assert str(reading)[:200] == want["message"], where
            tally["errors"] += 1
            continue
        assert not isinstance(reading, Exception), f"{where}: {reading!r}"
        conf, correct = reading
        value = want["value"]
        assert (str(conf.dtype), str(correct.dtype)) == (value["conf_dtype"], value["correct_dtype"]), where
        expected = np.array([ODD.get(x, x) if isinstance(x, str) else x for x in value["conf"]], dtype=float)
        assert np.array_equal(conf, expected, equal_nan=True), where
        assert correct.tolist() == value["correct"], where
        tally["readings"] += 1
        tally["steps"] += len(conf)
    assert tally == expected_tally
