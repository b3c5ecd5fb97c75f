"""Hugging Face models, with tiny random weights saved and loaded through transformers itself: no hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from sensecheck.models.classifiers import Asked  # noqa: E402
from sensecheck.models.device.packing import join, pack  # noqa: E402
from sensecheck.models.device.planning import plan  # noqa: E402
from sensecheck.models.generators import Request  # noqa: E402
from sensecheck.models.huggingface import PromptedModel, SequenceClassifier, label_order  # noqa: E402

pytestmark = pytest.mark.torch

WORDS = [
    "a",
    "the",
    "man",
    "woman",
    "dog",
    "cat",
    "is",
    "not",
    "runs",
    "sleeps",
    "eats",
    "in",
    "park",
    "on",
    "street",
    "big",
    "small",
    "two",
    "three",
    "people",
    "no",
    "one",
]
SMALL = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 40}
NAMES = {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}


def save_tokenizer(folder: Path, pair: str = "[CLS] $A [SEP] $B:1 [SEP]:1", types: bool = True) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "</s>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=pair, special_tokens=[("[CLS]", 2), ("[SEP]", 3), ("</s>", 4)]
    )
    names = ["input_ids", "attention_mask"] + (["token_type_ids"] if types else [])
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        eos_token="</s>", model_input_names=names, model_max_length=64,
    ).save_pretrained(folder)  # fmt: skip


def save_classifier(folder: Path, kind: str) -> None:
    torch.manual_seed(1)
    config: Any
    if kind == "distilbert":
        config = transformers.DistilBertConfig(
            dim=32, n_layers=3, n_heads=4, hidden_dim=48, vocab_size=40, max_position_embeddings=64, pad_token_id=0,
            id2label=NAMES,
        )  # fmt: skip
    elif kind == "bart":
        config = transformers.BartConfig(
            d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
            encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=40, max_position_embeddings=64, pad_token_id=0,
            bos_token_id=2, eos_token_id=3, decoder_start_token_id=3, id2label=NAMES,
        )  # fmt: skip
    elif kind == "t5":
        config = transformers.T5Config(
            d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=40, pad_token_id=0, eos_token_id=4,
            decoder_start_token_id=0, id2label=NAMES,
        )  # fmt: skip
    else:
        made = {"bert": transformers.BertConfig, "roberta": transformers.RobertaConfig,
                "electra": transformers.ElectraConfig, "deberta-v2": transformers.DebertaV2Config}[kind]  # fmt: skip
        extra = {"embedding_size": 16} if kind == "electra" else {}
        config = made(**SMALL, **extra, max_position_embeddings=66, pad_token_id=0, id2label=NAMES, type_vocab_size=2)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    if kind == "t5":  # every sequence ends with one </s>, by which T5 finds what to classify
        save_tokenizer(folder, "$A [SEP] $B </s>", types=False)
    else:
        save_tokenizer(folder, types=kind not in ("distilbert", "bart"))


def some_pairs(n: int, seed: int = 0) -> list[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    return [
        (" ".join(rng.choice(WORDS, rng.integers(1, 25))), " ".join(rng.choice(WORDS, rng.integers(1, 10))))
        for _ in range(n)
    ]


def plain_logits(folder: Path, pairs: list[tuple[str, str]]) -> np.ndarray:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        rows = [model(**tokenizer(p, h, return_tensors="pt")).logits[0].numpy() for p, h in pairs]
    return np.array(rows)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "electra", "bart", "deberta-v2", "t5"])
def test_same_logits_as_one_pair_at_a_time(kind: str, tmp_path: Path) -> None:
    save_classifier(tmp_path, kind)
    pairs = some_pairs(40)
    expected = plain_logits(tmp_path, pairs)[:, [2, 1, 0]]  # the model's order is contradiction, neutral, entailment
    paths = (False, True) if kind in ("bert", "roberta", "distilbert", "electra") else (False,)
    for packed in paths:
        model = SequenceClassifier(str(tmp_path), device="cpu", packed=packed, tokens=120, chunk=16)
        answers = Asked(model).answers(pairs)
        np.testing.assert_allclose([a.logits for a in answers], expected, atol=2e-4, err_msg=f"{kind} packed={packed}")
        assert [a.label for a in answers] == expected.argmax(1).tolist()


def test_long_pairs_are_cut_and_counted(tmp_path: Path) -> None:
    save_classifier(tmp_path, "roberta")
    model = SequenceClassifier(str(tmp_path), device="cpu")
    answers = Asked(model).answers([(" ".join(["man"] * 200), "a man"), ("a man", "a dog")])
    assert all(answer.label is not None for answer in answers)
    assert model.truncated.pairs == 1


def test_a_batch_that_does_not_fit_is_halved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_classifier(tmp_path, "bert")
    pairs = some_pairs(30)
    expected = [a.label for a in Asked(SequenceClassifier(str(tmp_path), device="cpu")).answers(pairs)]
    model = SequenceClassifier(str(tmp_path), device="cpu", tokens=10_000)
    forward = model._forward

    def small_memory(batch: Any, exact: bool = False) -> Any:
        if len(batch) > 4:
            raise torch.OutOfMemoryError("no room")
        return forward(batch, exact)

    monkeypatch.setattr(model, "_forward", small_memory)
    assert [a.label for a in Asked(model).answers(pairs)] == expected
    assert model.halved > 0


def test_close_calls_are_computed_again_in_float32(tmp_path: Path) -> None:
    save_classifier(tmp_path, "roberta")
    pairs = some_pairs(30)
    exact = [a.label for a in Asked(SequenceClassifier(str(tmp_path), device="cpu")).answers(pairs)]
    model = SequenceClassifier(str(tmp_path), device="cpu", dtype="bfloat16", recheck=1e9)
    assert [a.label for a in Asked(model).answers(pairs)] == exact
    assert model.rechecked == len(set(pairs))


@pytest.mark.parametrize("packed", [True, False])
def test_labels_in_16_bits_are_those_of_float32(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an error of known size on top, so that many labels would change: its size is found, the labels are kept."""
    save_classifier(tmp_path, "roberta")
    pairs = some_pairs(700)
    plain = Asked(SequenceClassifier(str(tmp_path), device="cpu")).answers(pairs)
    logits = np.array([a.logits for a in plain])
    centre, spread = logits.mean(axis=0), float(logits.std(axis=0).mean())
    exact = (logits - centre).argmax(axis=1).tolist()  # centred, so that every label has its share of close calls
    shift = torch.from_numpy(centre[[2, 1, 0]].copy())
    differing = {}
    for recheck in (0.0, None):
        model = SequenceClassifier(str(tmp_path), device="cpu", dtype="bfloat16", packed=packed, recheck=recheck)
        forward, drawn = model._forward, torch.Generator().manual_seed(0)

        def noisy(batch: Any, exact: bool = False, forward: Any = forward, drawn: Any = drawn) -> Any:
            logits = forward(batch, exact).float() - shift
            return logits if exact else logits + 0.1 * spread * torch.randn(logits.shape, generator=drawn)

        monkeypatch.setattr(model, "_forward", noisy)
        answers = Asked(model).answers(pairs)
        differing[recheck] = sum(a.label != b for a, b in zip(answers, exact, strict=True))
    assert differing[0.0] >= 10, "the check below would show nothing"
    assert differing[None] <= 2
    assert model.noise == pytest.approx(0.1 * spread * 2**0.5, rel=0.3)
    assert differing[0.0] < model.rechecked < len(pairs) / 2
    assert "close calls in float32" in model.identity.prompt


def test_numbers_out_of_range_are_asked_again_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_classifier(tmp_path, "bert")
    pairs = some_pairs(40)
    exact = [a.label for a in Asked(SequenceClassifier(str(tmp_path), device="cpu")).answers(pairs)]
    for recheck in (None, 0.0):
        model = SequenceClassifier(str(tmp_path), device="cpu", dtype="bfloat16", recheck=recheck)
        forward = model._forward

        def overflowing(batch: Any, exact: bool = False, forward: Any = forward) -> Any:
            logits = forward(batch, exact)
            if not exact:
                logits[::3] = float("inf")
                logits[1::3, 1] = float("nan")
            return logits

        monkeypatch.setattr(model, "_forward", overflowing)
        if recheck is None:
            assert [a.label for a in Asked(model).answers(pairs)] == exact
        else:
            with pytest.raises(ValueError, match=r"are outside the range of torch\.bfloat16"):
                Asked(model).answers(pairs)


def test_packed_sequences_are_taken_and_joined_whole() -> None:
    sequences = [[5, 6, 7], [8], [9, 10], [11, 12, 13, 14]]
    types = [[0, 0, 1], [0], [0, 1], [0, 1, 1, 1]]
    whole = pack(sequences, types, first_row=100)
    part = whole.take([3, 1])
    assert part.rows.tolist() == [103, 101]
    assert part.ids.tolist() == [11, 12, 13, 14, 8]
    assert part.types.tolist() == [0, 1, 1, 1, 0]
    assert part.places().tolist() == [0, 1, 2, 3, 0]
    again = join([whole.take([1]), whole.take([0, 2])])
    assert again.rows.tolist() == [100, 102, 101]
    assert again.ids.tolist() == [5, 6, 7, 9, 10, 8]
    ids, kinds, mask = again.grid(pad=-1)
    assert ids.tolist() == [[5, 6, 7], [9, 10, -1], [8, -1, -1]]
    assert kinds.tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 1, 0], [1, 0, 0]]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the kernels need a GPU")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_kernels_do_what_torch_does(dtype: str) -> None:
    from sensecheck.models.device import kernels

    assert kernels.works(4, 32, getattr(torch, dtype), torch.device("cuda"))


def test_label_order() -> None:
    assert label_order({0: "contradiction", 1: "entailment", 2: "neutral"}) == [2, 0, 1]
    assert label_order({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, ["neutral", "entailment", "contradiction"]) == [
        1,
        0,
        2,
    ]
    assert label_order({0: "entailment", 1: "not_entailment"}) == [0, 1]
    with pytest.raises(ValueError, match="--label-order"):
        label_order({0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"})


def test_batches_keep_to_the_budget_and_lose_nothing() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 500).tolist()
    for packed in (False, True):
        batches = plan([(length,) for length in lengths], 300, step=1, packed=packed)
        assert sorted(i for batch in batches for i in batch) == list(range(500))
        for batch in batches:
            cost = sum(lengths[i] for i in batch) if packed else len(batch) * max(lengths[i] for i in batch)
            assert cost <= 300 or len(batch) == 1


@pytest.fixture(scope="module")
def tiny_t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("t5")
    torch.manual_seed(3)
    config = transformers.T5Config(
        d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=40, pad_token_id=0, eos_token_id=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    model.save_pretrained(folder)
    save_tokenizer(folder, types=False)
    return folder


def test_prompted_model_answers_and_generates(tiny_t5: Path) -> None:
    model = PromptedModel(str(tiny_t5), device="cpu", max_new_tokens=6)
    answers = Asked(model).answers([("a man sleeps", "the man eats"), ("two dog", "no cat")])
    assert all(isinstance(answer.text, str) for answer in answers)
    for mode in ("beam", "diverse", "sample"):
        first = model.generate(Request("a man sleeps", True, 6, mode, seed=5))
        assert len(first) == 6
        assert first == model.generate(Request("a man sleeps", True, 6, mode, seed=5)), mode


def test_diverse_beams_of_one_group_are_plain_beams(tiny_t5: Path) -> None:
    from sensecheck.models.device.beams import diverse_beams

    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_t5)
    model = transformers.T5ForConditionalGeneration.from_pretrained(tiny_t5).eval()
    inputs = tokenizer("a man sleeps in the park", return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.inference_mode():
        plain = model.generate(**inputs, num_beams=4, num_return_sequences=4, do_sample=False, max_new_tokens=5)
        ours = diverse_beams(model, inputs, beams=4, groups=1, penalty=0.0, max_new_tokens=5)
        apart = diverse_beams(model, inputs, beams=4, groups=4, penalty=1e6, max_new_tokens=5)
    strip = [[t for t in row if t != 0] for row in plain[:, 1:].tolist()]
    assert [[t for t in row if t != 0] for row in ours] == strip
    firsts = [row[0] for row in apart]
    assert len(set(firsts)) == 4, "an overwhelming penalty keeps every group off the others' first token"


def test_what_a_folder_holds_decides_how_it_is_asked(tiny_t5: Path, tmp_path: Path) -> None:
    from sensecheck.robust.systems import Access, classifier, generator

    save_classifier(tmp_path, "bert")
    access = Access(device="cpu", offline=True)
    assert isinstance(classifier(str(tmp_path), access), SequenceClassifier)
    assert isinstance(classifier(str(tiny_t5), access), PromptedModel)
    assert generator(str(tiny_t5), access).identity.model == str(tiny_t5)
    with pytest.raises(ValueError, match="not a model folder here"):
        classifier(str(tmp_path / "nowhere"), access)


def test_embeddings_are_of_the_text_alone(tmp_path: Path) -> None:
    save_classifier(tmp_path, "roberta")
    model = SequenceClassifier(str(tmp_path), device="cpu")
    vectors = model.embeddings(["a man runs", "two dog", "a man runs"])
    assert vectors.shape == (3, 32)
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-5)
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3
