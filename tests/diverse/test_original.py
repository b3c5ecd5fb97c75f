"""Parity with LSDSCC: every golden score, alignment and pair matrix, bit for bit, batch and plain loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensecheck.diverse import original
from sensecheck.diverse.original import (
    BleuAligner,
    HypothesisSet,
    NLTKBleuAligner,
    NLTKNistAligner,
    ReferenceSet,
    compute_score_on_corpus,
    compute_score_on_hypothesis_set,
)

ALIGNERS = {
    "bleu": BleuAligner(),
    "bleu_n2": BleuAligner(2),
    "bleu_n5": BleuAligner(5),
    "nltk_bleu": NLTKBleuAligner(),
    "nltk_bleu_m1": NLTKBleuAligner("method1"),
    "nltk_nist": NLTKNistAligner(),
    "nltk_nist_n3": NLTKNistAligner(3),
}
LSDSCC = [
    "fake_hypo", "sampled5", "corrupt20", "corrupt60", "cross5", "generic6", "truncated", "concat", "nistsafe8",
]  # fmt: skip
SYNTHETIC = ["short", "ties", "keys", "odd"]
CASES = [
    *((("lsdscc", name, aligner)) for name in LSDSCC for aligner in ALIGNERS),
    *(("lsdscc", "beam50", aligner) for aligner in ("bleu", "nltk_bleu")),
    *(("synthetic", name, aligner) for name in SYNTHETIC for aligner in ALIGNERS),
]


def corpora(folder: Path, name: str) -> tuple[list[HypothesisSet], list[ReferenceSet]]:
    kind = folder.name
    references = folder / ("references.json" if kind == "lsdscc" else f"{name}.ref.json")
    return HypothesisSet.load_corpus(folder / f"{name}.hyp.txt"), ReferenceSet.load_json_corpus(references)


@pytest.fixture
def folder(request: pytest.FixtureRequest, kind: str) -> Path:
    """Invented words are copied into the repository; the replies of Reddit's users are not."""
    if kind == "lsdscc":
        return Path(request.getfixturevalue("shared")) / "golden" / "diverse" / kind
    return Path(request.getfixturevalue("golden")) / "diverse" / kind


@pytest.mark.golden
@pytest.mark.parametrize(("kind", "name", "aligner"), CASES)
def test_batch_equals_golden(folder: Path, kind: str, name: str, aligner: str) -> None:
    expected = json.loads((folder / "expected" / f"{name}.{aligner}.json").read_text())
    hypotheses, references = corpora(folder, name)
    good = [i for i, one in enumerate(expected["sets"]) if "error" not in one]
    for i, one in enumerate(expected["sets"]):
        if "error" in one:
            with pytest.raises(Exception) as raised:
                compute_score_on_hypothesis_set(hypotheses[i], references[i], ALIGNERS[aligner])
            assert type(raised.value).__name__ == one["error"]
    if good:
        table = original.score_table([hypotheses[i] for i in good], [references[i] for i in good], ALIGNERS[aligner])
        assert table is not None
        wanted = [expected["sets"][i] for i in good]
        assert table.mds.tolist() == [one["mds"] for one in wanted]
        assert table.pds.tolist() == [one["pds"] for one in wanted]
        assert table.max_bleu.tolist() == [one["max_bleu"] for one in wanted]
        assert table.alignment.tolist() == [k for one in wanted for k in one["align"]]
        assert table.matrix.tolist() == [s for one in wanted for row in one["scores"] for s in row]
    if "error" in expected["corpus"]:
        with pytest.raises(Exception) as raised:
            compute_score_on_corpus(hypotheses, references, ALIGNERS[aligner])
        assert type(raised.value).__name__ == expected["corpus"]["error"]
    else:
        score = compute_score_on_corpus(hypotheses, references, ALIGNERS[aligner])
        assert score._asdict() == expected["corpus"]


@pytest.mark.golden
@pytest.mark.parametrize("aligner", list(ALIGNERS))
@pytest.mark.parametrize(("kind", "name"), [("lsdscc", "fake_hypo"), *(("synthetic", n) for n in SYNTHETIC)])
def test_plain_loop_equals_golden(folder: Path, kind: str, name: str, aligner: str) -> None:
    expected = json.loads((folder / "expected" / f"{name}.{aligner}.json").read_text())
    hypotheses, references = corpora(folder, name)
    for one, hypothesis_set, reference_set in zip(expected["sets"][:40], hypotheses, references, strict=False):
        if "error" in one:
            continue
        score, alignment, matrix = original._score_with_alignment(hypothesis_set, reference_set, ALIGNERS[aligner])
        got: dict[str, Any] = {**score._asdict(), "align": alignment, "scores": matrix}
        assert got == one
        assert isinstance(score.mds, float)
        assert isinstance(score.max_bleu, np.float64)


@pytest.mark.golden
@pytest.mark.parametrize("aligner", list(ALIGNERS))
def test_no_sum_of_floats_by_the_built_in(golden: Path, aligner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The built-in sum compensates since Python 3.12: where it never sees a float, every Python gives these bits."""
    folder = golden / "diverse" / "synthetic"
    expected = json.loads((folder / "expected" / f"short.{aligner}.json").read_text())
    hypotheses, references = corpora(folder, "short")
    plain_sum = sum

    def strict(values: Any, start: Any = 0) -> Any:
        listed = list(values)
        assert not any(isinstance(value, (float, np.floating)) for value in listed)
        return plain_sum(listed, start)

    monkeypatch.setattr("builtins.sum", strict)
    for one, hypothesis_set, reference_set in zip(expected["sets"][:15], hypotheses, references, strict=False):
        if "error" not in one:
            assert compute_score_on_hypothesis_set(hypothesis_set, reference_set, ALIGNERS[aligner]).mds == one["mds"]
    good = [i for i, one in enumerate(expected["sets"]) if "error" not in one]
    table = original.score_table([hypotheses[i] for i in good], [references[i] for i in good], ALIGNERS[aligner])
    assert table is not None
    assert table.max_bleu.tolist() == [expected["sets"][i]["max_bleu"] for i in good]
