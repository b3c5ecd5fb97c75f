"""Hugging Face models of every kind as M and G, from a folder, through the command: tiny ones, built and saved here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from sensecheck.cli import main  # noqa: E402
from sensecheck.models.classifiers import Asked  # noqa: E402
from sensecheck.models.device.beams import diverse_beams  # noqa: E402
from sensecheck.models.generators import Request  # noqa: E402
from sensecheck.models.huggingface import PromptedModel  # noqa: E402
from sensecheck.models.probe import PROBE  # noqa: E402
from sensecheck.models.prompts import NLI_PROMPT, STATEMENT_PROMPTS  # noqa: E402
from sensecheck.report.result import load  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("language models")]  # the models are made once
torch.set_num_threads(1)  # tiny models: more threads only wait for each other

LABELS = ("entailment", "neutral", "contradiction")
WORDS = ("a", "the", "man", "woman", "dog", "cat", "is", "not", "runs", "sleeps", "eats", "park", "street", "big")
KINDS = ("gpt2", "llama", "t5")
PAIRS = [
    ("A man sleeps.", "The man is not big."),
    ("The dog runs the street, not the park.", "A dog runs."),
    ("A woman eats.", "A big cat sleeps."),
    ("The cat is big.", "The woman eats a dog in the park on the big street."),
    ("A man is a man.", "A man."),
]


def save_words(folder: Path, texts: Sequence[str], pad: bool = True, pairs: bool = False) -> dict[str, int]:
    """A tokenizer over the words of some texts."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    splitter = pre_tokenizers.Sequence([pre_tokenizers.Whitespace()])
    words = [w for text in texts for w, _ in splitter.pre_tokenize_str(text.lower())]
    vocabulary = {w: i for i, w in enumerate(dict.fromkeys(["<pad>", "<unk>", "<s>", "</s>", *words]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = splitter
    if pairs:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 2), ("</s>", 3)]
        )
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>",
        **({"pad_token": "<pad>"} if pad else {}), **({"cls_token": "<s>", "sep_token": "</s>"} if pairs else {}),
    )  # fmt: skip
    made.save_pretrained(folder)
    return vocabulary


def save_language_model(folder: Path, kind: str, says: Sequence[str]) -> Path:
    """A random model that can only say some words, or end; which one depends on all it has read."""
    texts = [NLI_PROMPT, *STATEMENT_PROMPTS.values(), " ".join(WORDS), " ".join(LABELS)]
    vocabulary = save_words(folder, texts, pad=kind != "gpt2")  # GPT-2 has no padding token of its own
    torch.manual_seed(3 if kind == "t5" else 11)
    shared: dict[str, Any] = {"vocab_size": len(vocabulary), "eos_token_id": 3, "tie_word_embeddings": False}
    if kind == "gpt2":
        config = transformers.GPT2Config(
            n_embd=32, n_layer=2, n_head=4, n_positions=256, bos_token_id=2, initializer_range=0.4, **shared
        )
        model = transformers.GPT2LMHeadModel(config)
    elif kind == "llama":
        config = transformers.LlamaConfig(
            hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, bos_token_id=2,
            max_position_embeddings=256, initializer_range=0.4, pad_token_id=0, **shared,
        )  # fmt: skip
        model = transformers.LlamaForCausalLM(config)
    else:
        config = transformers.T5Config(
            d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, pad_token_id=0, decoder_start_token_id=0,
            initializer_factor=2.0, **shared,
        )  # fmt: skip
        model = transformers.T5ForConditionalGeneration(config)
    allowed = [vocabulary[word] for word in says]
    with torch.no_grad():
        if kind == "t5":  # as it is built, what it reads hardly moves what it says
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.8)
        rows = model.lm_head.weight
        kept = torch.randn(len(allowed), rows.shape[1]) * (1.0 if says == LABELS else 0.15)  # sure, or in doubt
        rows.zero_()
        rows[allowed] = kept - kept.mean(0)  # they sum to nothing: one of them always beats what may not be said
    model.generation_config.eos_token_id = 3
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """ "gpt2-m" answers with label names, "gpt2-g" writes words; the same of the other kinds."""
    made = {}
    for kind in KINDS:
        for role, says in (("m", LABELS), ("g", (*WORDS, "</s>"))):
            made[f"{kind}-{role}"] = save_language_model(tmp_path_factory.mktemp(f"{kind}-{role}"), kind, says)
    return made


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        "".join(json.dumps({"premise": p, "hypothesis": h, "label": i % 3}) + "\n" for i, (p, h) in enumerate(PAIRS))
    )
    return path


def test_prompts_beyond_the_positions_are_cut_and_counted(folders: dict[str, Path]) -> None:
    model = PromptedModel(str(folders["gpt2-m"]), device="cpu", max_new_tokens=1)
    answers = Asked(model).answers([PAIRS[0], (" ".join([PAIRS[0][0]] * 200), PAIRS[0][1])])
    assert all(a.label is not None for a in answers)
    assert model.truncated.pairs == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_answers_whatever_the_batch(folders: dict[str, Path], kind: str) -> None:
    """Prompts of different lengths in one batch: padding (on the left for causal models) changes no answer."""
    folder = str(folders[f"{kind}-m"])
    asked = [(p, h) for p, _ in PAIRS for _, h in PAIRS]
    alone = [a.text for a in Asked(PromptedModel(folder, device="cpu", batch=1, max_new_tokens=1)).answers(asked)]
    for batch in (2, 7, 64):
        model = PromptedModel(folder, device="cpu", batch=batch, max_new_tokens=1)
        answers = Asked(model).answers(asked)
        assert [a.text for a in answers] == alone, batch
        assert all(a.label is not None for a in answers)
    assert len({text.split()[0] for text in alone if text}) > 1, "a model that always says the same shows nothing"
    # Without any of our code: one prompt at a time, greedily.
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    loader = transformers.AutoModelForSeq2SeqLM if kind == "t5" else transformers.AutoModelForCausalLM
    plain = loader.from_pretrained(folder).eval()
    for (premise, hypothesis), text in list(zip(asked, alone, strict=True))[:6]:
        prompt = NLI_PROMPT.replace("<premise>", premise).replace("<hypothesis>", hypothesis)
        inputs = tokenizer(prompt, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        tokens = plain.generate(**inputs, do_sample=False, max_new_tokens=1, pad_token_id=0)[0]
        start = 0 if kind == "t5" else inputs["input_ids"].shape[1]
        assert tokenizer.decode(tokens[start:], skip_special_tokens=True).strip() == text


@pytest.mark.parametrize("kind", KINDS)
def test_decoding_is_reproducible(folders: dict[str, Path], kind: str) -> None:
    model = PromptedModel(str(folders[f"{kind}-g"]), device="cpu", max_new_tokens=8)
    for mode in ("beam", "diverse", "sample"):
        first = model.generate(Request("The man runs.", True, 6, mode, seed=5))
        assert len(first) == 6
        assert first == model.generate(Request("The man runs.", True, 6, mode, seed=5)), mode
    seeds = {tuple(model.generate(Request("The man runs.", True, 4, "sample", seed=s))) for s in range(6)}
    assert len(seeds) == 6
    beam = model.generate(Request("The man runs.", True, 6, "beam"))
    diverse = model.generate(Request("The man runs.", True, 6, "diverse"))
    assert len({text.split()[0] for text in diverse if text}) >= len({text.split()[0] for text in beam if text})


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_one_group_of_diverse_beams_is_plain_beam_search(folders: dict[str, Path], kind: str) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[f"{kind}-g"])
    model = transformers.AutoModelForCausalLM.from_pretrained(folders[f"{kind}-g"]).eval()
    inputs = tokenizer("the big dog runs", return_tensors="pt")
    inputs.pop("token_type_ids", None)
    start = inputs["input_ids"].shape[1]
    with torch.inference_mode():
        plain = model.generate(
            **inputs, num_beams=4, num_return_sequences=4, do_sample=False, max_new_tokens=5, pad_token_id=0
        )
        ours = diverse_beams(model, inputs, beams=4, groups=1, penalty=0.0, max_new_tokens=5)
        apart = diverse_beams(model, inputs, beams=4, groups=4, penalty=1e6, max_new_tokens=5)

    def bare(rows: Any) -> list[list[int]]:
        return [[t for t in row if t not in (0, 3)] for row in rows]

    assert bare(ours) == bare(plain[:, start:].tolist())
    assert len({row[0] for row in apart}) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_as_model_and_as_generator_by_command(
    folders: dict[str, Path], pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    # One word is all that the model may say; a generator of four words has a model that needs none.
    for model, generator, tokens in ((f"{kind}-m", "rules", "1"), ("small", f"{kind}-g", "4")):
        _run_twice(
            str(folders.get(model, model)), str(folders.get(generator, generator)), tokens, pairs, tmp_path / model
        )
        capsys.readouterr()


def _run_twice(model: str, generator: str, tokens: str, pairs: Path, tmp_path: Path) -> None:
    command = [
        "robust", str(pairs), "--model", model, "--generator", generator,
        "--device", "cpu", "--offline", "--all-pairs", "--keep", "1", "--directions", "1", "--candidates", "4",
        "--no-label-check", "--resamples", "50", "--format", "json", "--max-tokens", tokens,
    ]  # fmt: skip
    for name in ("a", "b"):
        assert main([*command, "--out", str(tmp_path / name)]) == 0
    first, second = load(tmp_path / "a"), load(tmp_path / "b")
    assert repr(first.figures) == repr(second.figures)
    judged = sum(line["judged"] for line in first.extra["funnel"])
    assert judged > 0, first.extra["funnel"]
    assert first.texts is not None
    texts = pl.concat(first.texts.batches())
    made = [t for row in texts["statement"].to_list() for t in row]
    assert len(set(made)) > 5
    assert model == "small" or first.signature.system["model"] == model
    # A second look costs no call: everything is in the cache of the first.
    assert main([*command, "--cache", str(tmp_path / "a" / "calls.sqlite")]) == 0


def test_parity_reads_answers_by_the_originals_rule(
    folders: dict[str, Path], pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither exactly yes nor exactly no: the original takes every label name for neutral."""
    command = ["robust", str(pairs), "--model", str(folders["t5-m"]), "--generator", "rules", "--device", "cpu"]
    assert main([*command, "--offline", "--max-tokens", "3", "--as", "breaknli-april", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    lines = {line["polarity"]: line for line in found["extra"]["original_funnel"]}
    assert lines["positive"]["correct"] == sum(i % 3 == 1 for i in range(len(PAIRS)))  # the neutral ones
    assert lines["positive"]["judged"] == lines["negative"]["judged"] == 0


# ---- sequence classifiers ------------------------------------------------------------------------------------------


def save_taught_classifier(folder: Path, names: dict[int, str]) -> Path:
    """A tiny BERT that knows the six pairs nobody doubts; class k of its head means label k."""
    texts = [text for p, h, _ in PROBE for text in (p, h)] + [text for pair in PAIRS for text in pair]
    vocabulary = save_words(folder, texts, pairs=True)
    torch.manual_seed(2)
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=len(vocabulary),
        max_position_embeddings=64, pad_token_id=0, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        id2label=names, label2id={v: k for k, v in names.items()},
    )  # fmt: skip
    model = transformers.BertForSequenceClassification(config)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer([p for p, _, _ in PROBE], [h for _, h, _ in PROBE], padding=True, return_tensors="pt")
    gold = torch.tensor([y for _, _, y in PROBE])
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(60):
        loss = model(**inputs, labels=gold).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert model(**inputs).logits.argmax(1).tolist() == gold.tolist()
    model.save_pretrained(folder)
    return folder


ORDERS = {
    "right": dict(enumerate(LABELS)),
    "permuted": {0: "contradiction", 1: "entailment", 2: "neutral"},
    "swapped": {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"},
    "unnamed": {k: f"LABEL_{k}" for k in range(3)},
}


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: save_taught_classifier(tmp_path_factory.mktemp(name), order) for name, order in ORDERS.items()}


def test_labels_that_look_permuted_are_warned_of(
    taught: dict[str, Path], pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(name: str, *more: str) -> str:
        command = ["robust", str(pairs), "--model", str(taught[name]), "--device", "cpu", "--offline", "--no-ci"]
        assert main([*command, "--all-pairs", "--keep", "1", *more]) == 0
        return " ".join(capsys.readouterr().out.split())

    assert "look permuted" not in said("right")
    told = said("permuted")
    assert "warning: the model's labels look permuted: 0 of 6 sanity pairs are right as they are" in told
    assert "entailment → neutral" in told and "--label-order entailment,neutral,contradiction" in told
    told = said("swapped")
    assert "2 of 6 sanity pairs" in told and "entailment → contradiction" in told and "neutral →" not in told
    # What the warning advises mends it.
    for name in ("permuted", "swapped"):
        assert "look permuted" not in said(name, "--label-order", "entailment,neutral,contradiction")
    assert "look permuted" not in said("permuted", "--no-label-check")


def test_classes_without_names_say_what_to_do(
    taught: dict[str, Path], pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["robust", str(pairs), "--model", str(taught["unnamed"]), "--device", "cpu", "--offline", "--no-ci"]
    assert main(command) == 2
    said = capsys.readouterr().err
    assert "['LABEL_0', 'LABEL_1', 'LABEL_2']" in said and "--label-order entailment,neutral,contradiction" in said
    assert main([*command, "--label-order", "entailment,neutral,contradiction"]) == 0
    assert "look permuted" not in capsys.readouterr().out
    assert main([*command, "--label-order", "neutral,contradiction,entailment"]) == 0
    assert "look permuted" in capsys.readouterr().out
    assert main([*command, "--label-order", "entailment,neutral"]) == 2


def test_cosine_of_embeddings_end_to_end(
    taught: dict[str, Path], pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The figures are the mean cosine distances of the first position of each text alone, by plain transformers."""
    folder, out = taught["right"], tmp_path / "run"
    command = [
        "robust", str(pairs), "--model", str(folder), "--device", "cpu", "--offline", "--all-pairs", "--keep", "2",
        "--directions", "1", "--resamples", "50", "--cosine", "--out", str(out),
    ]  # fmt: skip
    assert main(command) == 0
    assert "Cosine distance of embeddings" in capsys.readouterr().out
    result = load(out)
    assert result.texts is not None
    frame = pl.concat(result.texts.batches()).join(result.measurements.select("id", "label", "rule"), on="id")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()

    def embedding(text: str) -> Any:
        with torch.inference_mode():
            return model.bert(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0].double().numpy()

    groups: dict[str, list[float]] = {"same": [], "changed": []}
    for row in frame.filter(~pl.col("rule").is_in(["none", "unsupported"])).iter_rows(named=True):
        h = embedding(row["hypothesis"])
        for text, said, stage in zip(row["statement"], row["said"], row["stage"], strict=True):
            if stage == "judged":
                g = embedding(text)
                distance = 1 - h @ g / np.linalg.norm(h) / np.linalg.norm(g)
                groups["same" if LABELS[said] == row["label"] else "changed"].append(float(distance))
    assert groups["same"] or groups["changed"]
    for group, values in groups.items():
        figure = result[f"cosine_{group}"]
        if values:
            assert figure.value == pytest.approx(np.mean(values), abs=1e-5)
    counts = result.extra["distances"]["cosine"]
    assert sum(counts["same"]) == len(groups["same"]) and sum(counts["changed"]) == len(groups["changed"])
    page = (out / "report.html").read_text()
    for words in (
        "Cosine distance of the embeddings",
        "Jensen–Shannon distance of M(p, g)",
        "total variation (L∞)",
        "KL divergence",
        "standard deviation of the three",
    ):
        assert words in page, words


def test_cosine_without_embeddings_is_refused(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["robust", str(pairs), "--cosine"]) == 2
    assert "--cosine: sensecheck/small-nli gives no embeddings" in capsys.readouterr().err


def test_a_folder_that_is_no_model(tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in ("nowhere", "empty"):
        folder = tmp_path / place
        if place == "empty":
            folder.mkdir()
        for option in ("--model", "--generator"):
            assert main(["robust", str(pairs), option, str(folder), "--offline"]) == 2, (place, option)
            said = capsys.readouterr().err
            assert len(said.strip().splitlines()) == 1, said
            assert place in said and "config.json" in said
