"""Collecting: tiny models that learned enough for their confidences to vary, checked against plain forward passes."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import sensecheck  # noqa: E402
from sensecheck.compat.calibration_metric import LogitGetter  # noqa: E402
from sensecheck.inputs.errors import InputError  # noqa: E402
from sensecheck.models.device.planning import cost, padded, plan  # noqa: E402
from sensecheck.models.logits import IGNORED, NO_GOLD, collect, records  # noqa: E402
from sensecheck.models.logits.stepping import Stepper  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.xdist_group("collecting")]  # the models are trained once

WORDS = [f"w{i}" for i in range(12)]
SPECIAL = ["<pad>", "</s>", "<unk>"]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {w: i for i, w in enumerate(SPECIAL + WORDS)}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Whitespace()
    inner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def examples(count: int, seed: int) -> list[dict[str, Any]]:
    """Swap neighbours; every fourth word is drawn at random, so that no model can be sure of it."""
    rng = random.Random(seed)
    made = []
    for n in range(count):
        words = [rng.choice(WORDS[:8]) for _ in range(rng.randint(2, 7))]
        answer = words[::-1]
        if len(answer) > 3:
            answer[3] = rng.choice([answer[3], "w8", "w9"])
        kind = "long" if len(words) > 4 else "short"
        made.append({"id": f"e{n}", "input": " ".join(words), "target": " ".join(answer), "kind": kind})
    return made


def trained(model: Any, batches: list[dict[str, Any]], steps: int) -> Any:
    optimiser = torch.optim.AdamW(model.parameters(), lr=4e-3)
    model.train()
    for step in range(steps):
        loss = model(**batches[step % len(batches)]).loss
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model.eval()


def tensors(rows: list[list[int]], fill: int) -> Any:
    width = max(map(len, rows))
    return torch.tensor([r + [fill] * (width - len(r)) for r in rows])


@pytest.fixture(scope="module")
def seq2seq(tokenizer: Any) -> Any:
    torch.manual_seed(1)
    torch.set_num_threads(1)
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model = transformers.T5ForConditionalGeneration(config)
    batches = []
    for seed in range(20):
        rows = examples(32, 100 + seed)
        source = [tokenizer(e["input"])["input_ids"] for e in rows]
        target = [tokenizer(e["target"])["input_ids"] for e in rows]
        ids = tensors(source, 0)
        batches.append({"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": tensors(target, IGNORED)})
    return trained(model, batches, 160)


@pytest.fixture(scope="module")
def causal(tokenizer: Any) -> Any:
    torch.manual_seed(2)
    torch.set_num_threads(1)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=1,
        pad_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config)
    batches = []
    for seed in range(20):
        rows, labels = [], []
        for e in examples(32, 100 + seed):
            source = tokenizer(e["input"])["input_ids"]
            target = tokenizer(e["target"])["input_ids"]
            rows.append(source + target)
            labels.append([IGNORED] * len(source) + target)
        ids = tensors(rows, 0)
        batches.append({"input_ids": ids, "labels": tensors(labels, IGNORED)})
    return trained(model, batches, 160)


@pytest.fixture(scope="module", params=["seq2seq", "causal"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def plainly(model: Any, tokenizer: Any, example: dict[str, Any]) -> tuple[list[int], Any, Any]:
    """Labels, probabilities and raw logits of one example, with no batch, no padding and no top-k."""
    source = tokenizer(example["input"])["input_ids"]
    target = tokenizer(example["target"])["input_ids"]
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            logits = model(input_ids=torch.tensor([source]), labels=torch.tensor([target])).logits[0]
        else:
            logits = model(input_ids=torch.tensor([source + target])).logits[0, len(source) - 1 : -1]
    return target, torch.softmax(logits, dim=-1), logits


def test_forced_is_what_a_plain_pass_says(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    rows = examples(30, 7)
    done = collect(model, rows, tmp_path / "dev.logits", tokenizer=tokenizer, token_budget=200, top_k=4)
    lines = [json.loads(line) for line in (tmp_path / "dev.logits").read_text().splitlines()]
    assert [line["id"] for line in lines] == [r["id"] for r in rows]
    assert done.sequences == 30 and done.tokens == sum(len(line["labels"]) for line in lines)
    for line, example in zip(lines, rows, strict=True):
        labels, expected, logits = plainly(model, tokenizer, example)
        assert line["labels"] == labels and line["kind"] == example["kind"] and line["input_str"] == example["input"]
        best = expected.topk(4).values.flip(-1).numpy()
        np.testing.assert_allclose(line["top_logits"], best, atol=2e-6)
        chosen = expected.gather(1, torch.tensor(line["top_logit_idxs"])).numpy()
        np.testing.assert_allclose(chosen, best, atol=2e-6)
        assert line["tokens"] == tokenizer.convert_ids_to_tokens(labels)
        assert line["predicted"] == tokenizer.convert_ids_to_tokens([r[-1] for r in line["top_logit_idxs"]])
        raw = logits.gather(1, torch.tensor(labels)[:, None])[:, 0].numpy()
        np.testing.assert_allclose(line["logit_at_label"], raw, atol=2e-5)


def test_the_models_learned_and_still_doubt(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    collect(model, examples(60, 8), tmp_path / "dev.logits", tokenizer=tokenizer)
    result = sensecheck.calibrated.evaluate(tmp_path / "dev.logits", slices=["kind"])
    assert "probabilities" in result.signature.method["scale"]
    confidence = result.measurements["confidence"].to_numpy()
    assert confidence.std() > 0.1
    assert 0.4 < result["accuracy"].value < 0.99
    assert {f[0].slice["kind"] for f in result.slices("kind")} == {"long", "short"}


def test_generated_is_what_generate_says(model: Any, tokenizer: Any, tmp_path: Path) -> None:
    rows = examples(25, 9)
    collect(
        model, rows, tmp_path / "said.logits", tokenizer=tokenizer, mode="generated", token_budget=150,
        max_new_tokens=12,
    )  # fmt: skip
    lines = [json.loads(line) for line in (tmp_path / "said.logits").read_text().splitlines()]
    for line, example in zip(lines, rows, strict=True):
        source = torch.tensor([tokenizer(example["input"])["input_ids"]])
        made = model.generate(
            input_ids=source, attention_mask=torch.ones_like(source), do_sample=False, max_new_tokens=12,
            output_logits=True, return_dict_in_generate=True, pad_token_id=0,
        )  # fmt: skip
        steps = len(made.logits)
        said = made.sequences[0, -steps:].tolist()
        assert tokenizer.convert_tokens_to_ids(line["predicted"]) == said
        best = torch.softmax(torch.cat(made.logits), dim=-1).max(dim=-1).values.numpy()
        np.testing.assert_allclose(np.asarray(line["top_logits"])[:, -1], best, atol=2e-6)
        gold = tokenizer(example["target"])["input_ids"]
        assert line["labels"] == (gold + [NO_GOLD] * steps)[:steps]
        assert line["exact"] == (said == gold) == (line["generated"] == line["target"])
    exact = np.mean([line["exact"] for line in lines])
    assert 0 < exact < 1
    result = sensecheck.calibrated.evaluate(tmp_path / "said.logits", level="sequence")
    assert result["accuracy"].value == pytest.approx(exact)


def test_an_interrupted_run_goes_on(seq2seq: Any, tokenizer: Any, tmp_path: Path) -> None:
    rows = examples(40, 10)
    whole, halted = tmp_path / "whole.logits", tmp_path / "halted.logits.gz"
    collect(seq2seq, rows, whole, tokenizer=tokenizer, token_budget=120)
    seen: list[int] = []

    def stop(count: int) -> None:
        seen.append(count)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(seq2seq, rows, halted, tokenizer=tokenizer, token_budget=120, progress=stop)
    part = tmp_path / "halted.logits.gz.part"
    assert part.exists() and not halted.exists()
    with part.open("ab") as stream:
        stream.write(b'7\t{"torn')
    again: list[int] = []
    done = collect(seq2seq, rows, halted, tokenizer=tokenizer, token_budget=120, resume=True, progress=again.append)
    assert done.resumed == sum(seen) == again[0] and sum(again) == 40
    assert not part.exists()
    ours = [json.loads(line) for line in gzip.decompress(halted.read_bytes()).splitlines()]
    wanted = [json.loads(line) for line in whole.read_text().splitlines()]
    for a, b in zip(ours, wanted, strict=True):
        assert a["id"] == b["id"] and a["labels"] == b["labels"]
        np.testing.assert_allclose(a["top_logits"], b["top_logits"], atol=2e-6)
    assert collect(seq2seq, rows, halted, tokenizer=tokenizer, resume=True).resumed == 40


def test_another_run_is_not_resumed(seq2seq: Any, tokenizer: Any, tmp_path: Path) -> None:
    def stop(_count: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(seq2seq, examples(9, 1), tmp_path / "a.logits", tokenizer=tokenizer, progress=stop)
    with pytest.raises(InputError, match=r"a different one; what differs: top_k\."):
        collect(seq2seq, examples(9, 1), tmp_path / "a.logits", tokenizer=tokenizer, top_k=3, resume=True)
    with pytest.raises(InputError, match="sha256"):
        collect(seq2seq, examples(9, 2), tmp_path / "a.logits", tokenizer=tokenizer, resume=True)


def test_an_existing_file_is_kept(seq2seq: Any, tokenizer: Any, tmp_path: Path) -> None:
    (tmp_path / "a.logits").write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        collect(seq2seq, examples(2, 1), tmp_path / "a.logits", tokenizer=tokenizer)
    assert (tmp_path / "a.logits").read_text() == "mine"


def test_a_batch_that_does_not_fit_is_halved(
    seq2seq: Any, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = examples(20, 3)
    whole = list(records(seq2seq, rows, tokenizer=tokenizer))
    inner = Stepper._forced
    sizes: list[int] = []

    def small(self: Any, numbers: list[int], batch: list[Any]) -> Any:
        sizes.append(len(batch))
        if len(batch) > 3:
            raise torch.OutOfMemoryError("too much")
        return inner(self, numbers, batch)

    monkeypatch.setattr(Stepper, "_forced", small)
    parts = list(records(seq2seq, rows, tokenizer=tokenizer))
    assert max(sizes) == 20 and sizes[-1] <= 3
    for a, b in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a["top_logits"], b["top_logits"], atol=2e-6)

    def never(self: Any, numbers: list[int], batch: list[Any]) -> Any:
        raise torch.OutOfMemoryError("too much")

    monkeypatch.setattr(Stepper, "_forced", never)
    with pytest.raises(InputError, match="not enough memory on the device for one example"):
        list(records(seq2seq, rows, tokenizer=tokenizer))


def test_logit_getter_runs_where_the_original_could_not(seq2seq: Any, causal: Any, tokenizer: Any) -> None:
    rows = examples(6, 4)

    class Trainer:
        model = seq2seq
        eval_dataset = [  # noqa: RUF012
            {
                "input_ids": [*tokenizer(e["input"])["input_ids"], 0, 0],
                "attention_mask": [*[1] * len(tokenizer(e["input"])["input_ids"]), 0, 0],
                "labels": [*tokenizer(e["target"])["input_ids"], IGNORED],
            }
            for e in rows
        ]

    got = LogitGetter(Trainer(), tokenizer, 3)()
    assert got is not None
    for line, example in zip(got, rows, strict=True):
        labels, expected, _ = plainly(seq2seq, tokenizer, example)
        assert line["labels"] == labels
        np.testing.assert_allclose(line["top_logits"], expected.topk(3).values.flip(-1).numpy(), atol=2e-6)
        assert line["input_str"] == example["input"]
    # a causal dataset repeats the prompt in its labels, masked
    data = []
    for e in rows:
        source, target = tokenizer(e["input"])["input_ids"], tokenizer(e["target"])["input_ids"]
        data.append({"input_ids": source + target, "labels": [IGNORED] * len(source) + target})
    told = LogitGetter(causal, tokenizer, 3)(data)
    assert told is not None
    for line, example in zip(told, rows, strict=True):
        labels, expected, _ = plainly(causal, tokenizer, example)
        assert line["labels"] == labels
        np.testing.assert_allclose(line["top_logits"], expected.topk(3).values.flip(-1).numpy(), atol=2e-6)
    with pytest.raises(ValueError, match="needs a dataset"):
        LogitGetter(seq2seq, tokenizer, 3)()


@pytest.mark.parametrize(
    ("example", "told"),
    [
        ({"input": "w1"}, "record 1: target: expected a text"),
        ({"input": "w1", "target": "w2", "labels": [1]}, "labels: expected no field of this name"),
        ({"input_ids": [3], "labels": [IGNORED]}, "target: expected at least one token"),
        (("w1", "w2", "w3"), "expected (input, target), got 3 items"),
    ],
)
def test_bad_examples_are_named(seq2seq: Any, tokenizer: Any, tmp_path: Path, example: Any, told: str) -> None:
    with pytest.raises(InputError) as caught:
        collect(seq2seq, [example], tmp_path / "a.logits", tokenizer=tokenizer)
    assert told in str(caught.value)


def test_a_model_that_gives_no_numbers_is_named(seq2seq: Any, tokenizer: Any, tmp_path: Path) -> None:
    import copy

    broken = copy.deepcopy(seq2seq)
    with torch.no_grad():
        broken.shared.weight[5] = float("nan")
    with pytest.raises(InputError, match="not numbers"):
        collect(broken, examples(4, 1), tmp_path / "a.logits", tokenizer=tokenizer)


def test_half_precision_is_near(seq2seq: Any, tokenizer: Any) -> None:
    rows = examples(10, 5)
    full = list(records(seq2seq, rows, tokenizer=tokenizer))
    half = list(records(seq2seq, rows, tokenizer=tokenizer, precision="bfloat16"))
    apart = [np.abs(np.asarray(a["top_logits"])[:, -1] - np.asarray(b["top_logits"])[:, -1]).max()
             for a, b in zip(full, half, strict=True)]  # fmt: skip
    assert 0 < max(apart) < 0.1
    assert next(seq2seq.parameters()).dtype == torch.float32


def test_plans_stay_within_the_budget() -> None:
    rng = random.Random(0)
    lengths = [(rng.randint(1, 90), rng.randint(1, 40)) for _ in range(500)]
    batches = plan(lengths, 1000)
    assert sorted(i for b in batches for i in b) == list(range(500))
    assert all(cost(lengths[i] for i in b) <= 1000 for b in batches)
    real = sum(a + b for a, b in lengths)
    spent = sum(cost(lengths[i] for i in b) for b in batches)
    in_order = sum(cost(lengths[i : i + 8]) for i in range(0, 500, 8))
    assert spent < 1.35 * real < in_order
    assert plan([(5000, 5)], 100) == [[0]]
    assert padded(9) == 16
    with pytest.raises(ValueError, match="at least 1"):
        plan(lengths, 0)
