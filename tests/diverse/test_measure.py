"""From sets to measurements: coverage, chance, ties, MDS@k, and the aligners."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sensecheck.diverse.aligners import (
    BleuAligner,
    CallableAligner,
    EmbeddingAligner,
    NistAligner,
    SetBatch,
    aligner_named,
    as_aligner,
    hugging_face_encoder,
    read_vectors,
    stored_vectors,
)
from sensecheck.diverse.batches import measured
from sensecheck.diverse.bleu import NltkBleu, SentenceBleu
from sensecheck.diverse.measure import MeasureOptions, Sets, align, measure, reached_by
from sensecheck.diverse.records import SetRecord
from sensecheck.inputs.errors import InputError

GROUPS = (("the kitchen", "went to the cinema"), ("somewhere",), ("i do not know", "god knows"))


def one(hypotheses: list[str], groups: Any = GROUPS, chance: Any = None, **options: Any) -> dict[str, Any]:
    sets = Sets(["q"], [hypotheses], [groups], None if chance is None else [chance])
    frame, _ = measure(sets, MeasureOptions(**options))
    assert frame.height == 1
    return frame.row(0, named=True)


def test_coverage() -> None:
    row = one(["the kitchen", "somewhere", "the cinema"])
    assert row["mds"] == 2 / 3
    assert row["pds"] == 3 / 5
    assert row["best_score"] == 1.0
    assert row["relevant"] == 3
    assert row["hypotheses"] == 3
    assert row["coverage_entropy"] == pytest.approx((math.log(3) - 2 / 3 * math.log(2)) / math.log(3))


def test_nothing_said_reaches_nothing() -> None:
    for hypotheses in ([""], ["zzz"], [], ["", "", ""]):
        row = one(hypotheses)
        assert (row["mds"], row["pds"], row["max_score"], row["relevant"]) == (0, 0, 0, 0), hypotheses
        assert row["coverage_entropy"] is None
    assert one([""])["empty_hypotheses"] == 1


def test_relevance_threshold() -> None:
    hypotheses = ["the kitchen", "god only knows what"]
    assert one(hypotheses)["mds"] == 2 / 3
    strict = one(hypotheses, relevance=0.9)
    assert strict["mds"] == 1 / 3
    assert strict["relevant"] == 1


def test_ties_and_margins() -> None:
    row = one(["zzz", "the kitchen", "a b"], groups=(("a x",), ("a y",), ("the kitchen",)))
    assert row["with_choice"] == 3
    assert row["tied"] == 2  # no overlap at all, and one word of two groups alike
    single = one(["a"], groups=(("a",),))
    assert single["with_choice"] == 0
    assert single["mds"] == 1.0


def test_ties_up_to_rounding_go_to_the_first() -> None:
    noisy = CallableAligner(lambda hypothesis, group: 0.3 if group[0] == ["b"] else 0.1 + 0.2)
    batch = SetBatch.tokenized(
        [["x"]],
        [
            [["a"], ["b"]],
        ][:1],
        str.split,
    )
    found = align(batch, noisy)
    assert found.group.tolist() == [0]
    assert found.tied.tolist() == [True]
    batch = SetBatch.tokenized([["x"]], [[["b"], ["a"]]], str.split)
    assert align(batch, noisy).group.tolist() == [0]


def test_expected_coverage_of_k_is_the_mean_over_subsets() -> None:
    rng = random.Random(0)
    for _ in range(20):
        n, groups = rng.randint(1, 7), rng.randint(1, 4)
        fell = [rng.randint(-1, groups - 1) for _ in range(n)]
        hits = np.array([fell.count(g) for g in range(groups)])
        for k in range(1, n + 1):
            subsets = list(itertools.combinations(fell, k))
            wanted = sum(len(set(s) - {-1}) / groups for s in subsets) / len(subsets)
            assert reached_by(hits, np.full(groups, n), k).mean() == pytest.approx(wanted)
    row = one(["the kitchen", "somewhere"], at=(1, 2, 3))
    assert row["mds_at_1"] == pytest.approx(1 / 3)
    assert row["mds_at_2"] == row["mds"] == 2 / 3
    assert row["mds_at_3"] is None


def test_chance_is_what_other_responses_reach() -> None:
    canned = ["i do not know", "somewhere"]
    row = one(canned, chance=[canned, canned])
    assert row["chance_mds"] == row["mds"] == 2 / 3
    assert row["chance_pds"] == row["pds"]
    assert row["chance_donors"] == 2
    half = one(canned, chance=[["zzz", "yyy"], canned])
    assert half["chance_mds"] == pytest.approx(1 / 3)
    # A donor with more responses is taken at this query's number: one of two, in expectation.
    assert one(["somewhere"], chance=[canned])["chance_mds"] == pytest.approx(1 / 3)
    assert one(canned, chance=[])["chance_mds"] is None
    assert "chance_mds" not in one(canned)


def test_without_references() -> None:
    row = one(["a b", "a c"], groups=())
    assert row["mds"] is None
    assert row["max_score"] is None
    assert row["relevant"] is None
    assert row["distinct_1"] == 3 / 4


def test_columns_are_numbers_for_every_batch() -> None:
    """A batch of odd sets has the same columns of the same kinds as any other."""
    usual, _ = measure(Sets(["a"], [["x y", "z"]], [GROUPS], [[["x"]]]), MeasureOptions())
    odd, _ = measure(Sets(["b", "c"], [[], [""]], [(), GROUPS], [[], []]), MeasureOptions())
    assert usual.schema == odd.schema
    pl.concat([usual, odd])


def test_batches_do_not_see_each_other() -> None:
    rng = random.Random(5)
    words = ["a", "b", "c", "d", "e", "f", "g"]
    sets = [[" ".join(rng.choices(words, k=rng.randint(0, 9))) for _ in range(rng.randint(0, 5))] for _ in range(60)]
    groups = [
        [[" ".join(rng.choices(words, k=rng.randint(1, 9))) for _ in range(rng.randint(1, 3))] for _ in range(3)]
        for _ in range(60)
    ]
    ids = [str(i) for i in range(60)]
    whole, _ = measure(Sets(ids, sets, groups))
    parts = [measure(Sets(ids[i : i + 7], sets[i : i + 7], groups[i : i + 7]))[0] for i in range(0, 60, 7)]
    assert whole.equals(pl.concat(parts))


def test_portions_give_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [SetRecord(str(i), ("a b", "c d e", "f"), (("a",), ("c d",)), ("0", "1")) for i in range(30)]
    whole = measured(records, MeasureOptions())
    monkeypatch.setattr("sensecheck.diverse.batches.PORTION", 50)
    parts = measured(records, MeasureOptions())
    assert whole.measurements.equals(parts.measurements)
    assert whole.examples is not None
    assert parts.examples is not None
    assert whole.examples.equals(parts.examples)


def test_sets_too_large_for_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    sets = Sets(["a", "b"], [["x y", "x z", "w"], ["x y", "x z"]], [(), ()])
    usual, _ = measure(sets)
    monkeypatch.setattr("sensecheck.diverse.measure.MAX_PAIRED", 2)
    limited, _ = measure(sets)
    assert limited["pairwise_bleu"].to_list() == [None, usual["pairwise_bleu"][1]]
    assert limited["vendi"].to_list() == [None, usual["vendi"][1]]
    assert limited["self_bleu"].to_list() == usual["self_bleu"].to_list()


# -- aligners ------------------------------------------------------------------------------------------------------


def batch(hypotheses: list[str]) -> SetBatch:
    return SetBatch.tokenized([hypotheses], [GROUPS], str.split)


def test_named_aligners() -> None:
    assert aligner_named("bleu") == BleuAligner()
    assert aligner_named("bleu:2:floor") == BleuAligner(SentenceBleu(2, "floor"))
    assert aligner_named("nltk-bleu:method3") == BleuAligner(NltkBleu("method3"))
    assert aligner_named("nist:3") == NistAligner(3)
    assert as_aligner(None).signature == "bleu:4,smooth:exp,eff:yes,bp:yes"
    for wrong in ("blue", "bleu:x", "bleu:4:method1", "nltk-bleu:exp", "nist:0", "embedding:", "vectors:"):
        with pytest.raises(ValueError, match="aligner"):
            aligner_named(wrong)
    with pytest.raises(TypeError):
        as_aligner(3)  # type: ignore[arg-type]


def test_nist_of_short_hypotheses_is_defined() -> None:
    scores = NistAligner().scores(batch(["the kitchen", ""]))
    assert scores[0] > 0
    assert scores[3:].tolist() == [0.0, 0.0, 0.0]


def letters(texts: list[str]) -> Any:
    return [[text.count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


def test_embedding_aligners(tmp_path: Path) -> None:
    hypotheses = ["kitchen the", "knows god", ""]
    aligner = EmbeddingAligner(letters, "letters")
    scores = aligner.scores(batch(hypotheses)).reshape(3, 3)
    assert scores[0].argmax() == 0
    assert scores[0, 0] == pytest.approx(1.0)
    assert scores[1].argmax() == 2
    assert scores[2].tolist() == [0, 0, 0]  # no words, no vector
    texts = [*hypotheses[:2], *itertools.chain.from_iterable(GROUPS)]
    stored = dict(zip(texts, letters(texts), strict=True))
    assert stored_vectors(stored).scores(batch(hypotheses)) == pytest.approx(scores.ravel())
    np.savez(tmp_path / "v.npz", texts=np.array(texts), vectors=np.array(letters(texts)))
    pl.DataFrame({"text": texts, "vector": letters(texts)}).write_parquet(tmp_path / "v.parquet")
    for name in ("v.npz", "v.parquet"):
        assert read_vectors(tmp_path / name).scores(batch(hypotheses)) == pytest.approx(scores.ravel())
    with pytest.raises(ValueError, match="1 of 8 texts have no stored vector, the first is 'new'"):
        stored_vectors(stored).scores(batch([*hypotheses, "new"]))
    with pytest.raises(ValueError, match="must return a matrix of as many rows"):
        EmbeddingAligner(lambda texts: [1.0]).scores(batch(["a"]))
    with pytest.raises(ValueError, match="not finite"):
        EmbeddingAligner(lambda texts: [[math.nan]] * len(texts)).scores(batch(["a"]))
    np.savez(tmp_path / "w.npz", texts=np.array(["a"]))
    with pytest.raises(ValueError, match="expected arrays 'texts' and 'vectors'"):
        read_vectors(tmp_path / "w.npz")
    with pytest.raises(InputError, match=r"x\.npz: no such file"):
        read_vectors(tmp_path / "x.npz")
    for name, words in (
        ("b.npz", "it is not an archive"),
        ("b.parquet", "vectors in Parquet"),
        ("b.jsonl", "vectors in JSON lines"),
    ):
        (tmp_path / name).write_text('{"text": ')
        with pytest.raises(InputError, match=f"cannot be read as .*{words}|{words}"):
            read_vectors(tmp_path / name)


def test_an_aligner_of_ones_own() -> None:
    seen = []

    def overlap(hypothesis: Any, references: Any) -> float:
        seen.append((hypothesis, references))
        return max(len(set(hypothesis) & set(reference)) for reference in references)

    row = one(["the kitchen", "god"], aligner=as_aligner(overlap))
    assert row["mds"] == 2 / 3
    assert row["max_score"] == 1.5
    assert seen[0] == (["the", "kitchen"], [["the", "kitchen"], ["went", "to", "the", "cinema"]])
    wrong = CallableAligner(lambda hypothesis, group: math.nan)
    assert one(["a"], aligner=wrong)["mds"] == 0.0


def test_aligner_of_the_wrong_length_is_refused() -> None:
    class Short:
        signature = "short"
        is_bleu = False
        relevance = 0.0

        def scores(self, batch: SetBatch) -> Any:
            return np.zeros(1)

    with pytest.raises(ValueError, match="aligner short returned 1 scores for 3 pairs"):
        align(batch(["a"]), Short())


@pytest.mark.torch
def test_hugging_face_encoder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch")
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "kitchen", "the", "god"])
    )
    tokenizer = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
    config = transformers.BertConfig(
        vocab_size=8, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    scores = hugging_face_encoder(str(tmp_path)).scores(batch(["the kitchen", "god"])).reshape(2, 3)
    assert scores[0, 0] == pytest.approx(1.0, abs=1e-6)
    assert scores[0].argmax() == 0
