"""LSDSCC's names, its edge cases and its command."""

from __future__ import annotations

import json
import math
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sensecheck.compat import lsdscc
from sensecheck.compat.lsdscc import (
    HypothesisSet,
    LSDSCCScore,
    ReferenceSet,
    compute_score_on_corpus,
    compute_score_on_hypothesis_set,
)
from sensecheck.compat.lsdscc.__main__ import main
from sensecheck.compat.lsdscc.align import BleuAligner, NLTKBleuAligner, NLTKNistAligner
from sensecheck.diverse import original

FIVE = [["a", "b", "c", "d", "e"], ["f", "g", "h", "i", "j"]]


def test_surface() -> None:
    assert lsdscc.__all__ == [
        "HypothesisSet",
        "LSDSCCScore",
        "ReferenceSet",
        "align",
        "compute_score_on_corpus",
        "compute_score_on_hypothesis_set",
    ]
    assert LSDSCCScore._fields == ("mds", "pds", "max_bleu")


def test_hypothesis_set() -> None:
    one = HypothesisSet.from_line("1;2;3", eos=";")
    assert list(one) == [["1"], ["2"], ["3"]]
    assert len(one) == 3
    assert one[1] == ["2"]
    assert repr(one) == "<HypothesisSet with 3 hypotheses>"
    assert str(one) == "0: ['1']\n1: ['2']\n2: ['3']"
    assert list(HypothesisSet.from_line("a</s>b </s> ")) == [["a"], ["b"], []]
    assert list(HypothesisSet.from_line("")) == [[]]
    assert list(HypothesisSet.from_line("a\u00a0b\u3000c\x85d\x1ce")) == [["a", "b", "c", "d", "e"]]
    with pytest.raises(ValueError, match="empty separator"):
        HypothesisSet.from_line("a", eos="")


def test_only_newlines_end_a_line(tmp_path: Path) -> None:
    path = tmp_path / "h.txt"
    path.write_bytes("a\x0bb\x0cc\x1cd\x85e\u2028f\r\ng\rh\n\ni".encode())
    sets = HypothesisSet.load_corpus(path)
    assert [list(one) for one in sets] == [[["a", "b", "c", "d", "e", "f"]], [["g"]], [["h"]], [[]], [["i"]]]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["null", "10", "20"], ["null", "10", "20"]),
        (["null", "3", "1"], ["1", "null", "3"]),
        (["3", "null", "1"], ["1", "3", "null"]),
        (["a", "b", "3"], ["a", "3", "b"]),
        (["01", "1", "-1", "+1", " 2 ", "1_0", "٣"], ["-1", "01", "1", "+1", " 2 ", "٣", "1_0"]),
        (["1.5", "", "0"], ["0", "1.5", ""]),
    ],
)
def test_group_order(keys: list[str], expected: list[str]) -> None:
    references = ReferenceSet.from_json({key: [f"k{i}"] for i, key in enumerate(keys)})
    assert [group[0][0] for group in references] == [f"k{keys.index(key)}" for key in expected]


def test_reference_set(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text('{"q1": {"1": ["x"], "0": ["a b", "c"]}, "q2": {"0": ["y"]}, "q1": {"0": ["z"]}}')
    first, second = ReferenceSet.load_json_corpus(path)  # a query given twice: the last, at the first's place
    assert first.query == "q1"
    assert list(first) == [[["z"]]]
    assert second.query == "q2"
    references = ReferenceSet.from_json({"1": ["x"], "0": ["a b", "c"]}, "who?")
    assert references.n_references == 3
    assert repr(references) == "<ReferenceSet with 2 groups, 3 references>"
    assert str(references).splitlines()[:3] == ["query: who?", "group-0:", "    0: ['a', 'b']"]
    with pytest.raises(FileNotFoundError, match="not shipped"):
        ReferenceSet.load_json_corpus()


@pytest.mark.parametrize(
    ("hypothesis", "bleu"),
    [([], 1.0), (["z"], 0.8409), (["z"] * 2, 0.639), (["z"] * 4, 0.302), (["z"] * 10, 0.106), (["a"], 1.0)],
)
def test_short_hypotheses(hypothesis: list[str], bleu: float) -> None:
    assert BleuAligner()(hypothesis, FIVE) == pytest.approx(bleu, abs=5e-4)
    assert BleuAligner(0).n == 4
    assert NLTKBleuAligner()(hypothesis, FIVE) == (0 if hypothesis != ["a"] else pytest.approx(3.3e-233, rel=0.02))
    if len(hypothesis) < 5:
        with pytest.raises(ZeroDivisionError):
            NLTKNistAligner()(hypothesis, FIVE)
    else:
        assert NLTKNistAligner()(hypothesis, FIVE) == 0.0


def test_ties_are_judged_on_the_exponential() -> None:
    hypothesis = [f"w{i}" for i in range(7)]
    groups = [[["w0", "w1", "w2", "w3"]], [["w0", "w1", "w2"], ["w3", "w4", "w5"], ["w6"]]]
    for corpus in (False, True):
        table = original.score_table([[hypothesis]], [groups]) if corpus else None
        if table is not None:
            assert table.matrix.tolist() == [0.5169731539571706] * 2
            assert table.alignment.tolist() == [0]
        else:
            assert [BleuAligner()(hypothesis, group) for group in groups] == [0.5169731539571706] * 2
            assert compute_score_on_hypothesis_set([hypothesis], groups).pds == 0.25


def test_sets_that_raise_and_sets_that_poison() -> None:
    with pytest.warns(RuntimeWarning):
        score = compute_score_on_hypothesis_set([], [FIVE])
    assert score[:2] == (0, 0)
    assert math.isnan(score.max_bleu)
    with pytest.raises(ValueError, match="empty"):
        compute_score_on_hypothesis_set([["a"]], [])
    with pytest.raises(ZeroDivisionError):
        compute_score_on_hypothesis_set([], [])
    with pytest.raises(ValueError, match="without references"):
        compute_score_on_hypothesis_set([["a"]], [FIVE, []])
    with pytest.raises(KeyError):
        compute_score_on_hypothesis_set([["a"]], [FIVE, []], NLTKBleuAligner())
    with pytest.raises(ValueError, match="without references"):
        compute_score_on_hypothesis_set([[]], [[]], NLTKBleuAligner())
    with pytest.raises(ValueError, match="without references"):
        compute_score_on_hypothesis_set([["a"]], [[]], NLTKNistAligner())
    with pytest.raises(ZeroDivisionError):
        compute_score_on_hypothesis_set([["a"] * 5], [[[]]], NLTKNistAligner())
    with pytest.raises(AssertionError):
        compute_score_on_corpus([[["a"]]], [])
    with pytest.raises(TypeError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compute_score_on_corpus([], [])
    # One failing set fails the corpus, with its own error.
    with pytest.raises(ZeroDivisionError):
        compute_score_on_corpus([[["a"] * 5], [["a"]]], [[FIVE], [FIVE]], NLTKNistAligner())


def test_empty_references_count_as_members() -> None:
    score = compute_score_on_hypothesis_set([["a", "b"]], [[["a", "b"], []], [["x"]]])
    assert score.pds == 2 / 3
    assert compute_score_on_corpus([[["a", "b"]]], [[[["a", "b"], []], [["x"]]]]) == score


def test_any_callable_aligns() -> None:
    def shared_words(hypothesis: Any, references: Any) -> float:
        return max(len(set(hypothesis) & set(reference)) for reference in references)

    hypotheses = [[["a", "b"], ["f"]]]
    assert compute_score_on_corpus(hypotheses, [[[FIVE[0]], [FIVE[1]]]], shared_words) == (1.0, 1.0, 1.5)


def random_pair(rng: random.Random) -> tuple[list[str], list[list[str]]]:
    words = "abcdefg"[: rng.randint(2, 7)]
    sentence = [rng.choice(words) for _ in range(rng.randint(0, 14))]
    references = []
    for _ in range(rng.randint(1, 4)):
        base = sentence[:] if rng.random() < 0.5 else [rng.choice(words) for _ in range(rng.randint(0, 14))]
        for i in range(len(base)):
            if rng.random() < 0.2:
                base[i] = rng.choice(words)
        references.append(base)
    return sentence, references


@pytest.mark.parametrize("method", [f"method{i}" for i in range(8)])
def test_equal_to_installed_nltk_bleu(method: str) -> None:
    bleu_score = pytest.importorskip("nltk.translate.bleu_score")
    smooth = getattr(bleu_score.SmoothingFunction(), method)
    rng = random.Random(method)
    pairs = [random_pair(rng) for _ in range(100)]
    defined = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for hypothesis, references in pairs:
            try:
                wanted = bleu_score.sentence_bleu(references, hypothesis, smoothing_function=smooth)
            except AssertionError:
                with pytest.raises(AssertionError):
                    NLTKBleuAligner(method)(hypothesis, references)
                with pytest.raises(AssertionError):
                    NLTKBleuAligner(smooth)(hypothesis, references)
                continue
            assert NLTKBleuAligner(method)(hypothesis, references) == wanted
            assert NLTKBleuAligner(smooth)(hypothesis, references) == wanted
            defined.append((hypothesis, references, wanted))
    assert len(defined) > 30
    table = original.score_table([[h] for h, _, _ in defined], [[r] for _, r, _ in defined], NLTKBleuAligner(method))
    assert table is not None
    assert table.matrix.tolist() == [wanted for _, _, wanted in defined]


@pytest.mark.parametrize("order", [1, 3, 5])
def test_equal_to_installed_nltk_nist(order: int) -> None:
    nist_score = pytest.importorskip("nltk.translate.nist_score")
    import sys

    if sys.version_info >= (3, 12):
        pytest.skip("the built-in sum compensates since 3.12, nltk's NIST with it")
    rng = random.Random(order)
    pairs = [(h, r) for h, r in (random_pair(rng) for _ in range(300)) if len(h) >= order and any(r)]
    wanted = [nist_score.sentence_nist(references, hypothesis, order) for hypothesis, references in pairs]
    assert [NLTKNistAligner(order)(hypothesis, references) for hypothesis, references in pairs] == wanted
    table = original.score_table([[h] for h, _ in pairs], [[r] for _, r in pairs], NLTKNistAligner(order))
    assert table is not None
    assert table.matrix.tolist() == wanted


@pytest.mark.golden
def test_command_prints_three_lines(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shared / "golden" / "diverse" / "lsdscc"
    main([str(folder / "fake_hypo.hyp.txt"), "-r", str(folder / "references.json")])
    assert capsys.readouterr().out == "MaxBLEU: 0.303435\nMDS: 0.787960\nPDS: 0.852787\n"


@pytest.mark.golden
@pytest.mark.parametrize("name", ["short", "ties", "keys", "odd"])
def test_command_prints_the_stored_figures(golden: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    folder = golden / "diverse" / "synthetic"
    stored = json.loads((folder / "expected" / f"{name}.bleu.json").read_text())["corpus"]
    main([str(folder / f"{name}.hyp.txt"), "-r", str(folder / f"{name}.ref.json")])
    wanted = f"MaxBLEU: {stored['max_bleu']:.6f}\nMDS: {stored['mds']:.6f}\nPDS: {stored['pds']:.6f}\n"
    assert capsys.readouterr().out == wanted


def test_command_with_another_eos(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "h.txt").write_text("a b c d ; x y\n")
    (tmp_path / "r.json").write_text(json.dumps({"q": {"0": ["a b c d"], "1": ["x y", "z"]}}))
    main([str(tmp_path / "h.txt"), "--eos", ";", "--reference_file", str(tmp_path / "r.json")])
    assert capsys.readouterr().out == "MaxBLEU: 1.000000\nMDS: 1.000000\nPDS: 1.000000\n"


def test_seed_document_blocks() -> None:
    """The Python blocks of LSDSCC's README with only the import changed."""
    hypothesis_set = HypothesisSet(
        [["if", "a", "thing", "quakes", "like", "a", "duck"], ["then", "it", "must", "be", "a", "duck"]]
    )
    assert str(hypothesis_set).startswith("0: ['if', 'a'")
    reference_set = ReferenceSet(
        [
            [["A", "man", "can", "never", "have", "too", "many", "ties"]],
            [["And", "a", "woman", "can", "never", "have", "too", "many", "shoes"]],
        ]
    )
    assert reference_set.n_references == 2
    score = compute_score_on_hypothesis_set(hypothesis_set, reference_set)
    assert score == compute_score_on_hypothesis_set(list(hypothesis_set), list(reference_set))
    assert isinstance(score.max_bleu, np.float64)
