"""A run of the real lm-evaluation-harness, offline, on a tiny model and tiny tasks: its samples read end to end."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sensecheck
from sensecheck.statistics.figure import IntervalOptions

pytestmark = [pytest.mark.torch, pytest.mark.slow]

if any(importlib.util.find_spec(name) is None for name in ("lm_eval", "torch", "accelerate")):
    pytest.skip(
        "lm_eval[hf] is not installed: no run of it can be read (pip install 'lm_eval[hf]')", allow_module_level=True
    )

CITIES = ["paris", "lima", "oslo", "cairo", "tokyo", "rome"]
LANDS = ["france", "peru", "norway", "egypt", "japan", "italy"]
ANSWERS = ["yes", "no", "maybe"]
NO_INTERVALS = IntervalOptions(method="none")

GEO = """
task: geo
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/geo.jsonl}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "the capital of {{{{land}}}} is"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: answer
metric_list: [{{metric: acc}}, {{metric: acc_norm}}]
"""
WORDS = """
task: words
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/words.jsonl}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "is {{{{city}}}} in {{{{land}}}} ?"
doc_to_choice: ["yes", "no", "maybe"]
doc_to_target: label
metric_list: [{{metric: acc}}, {{metric: brier_score}}]
"""
SAID = """
task: said
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/geo.jsonl}}}}
test_split: test
output_type: generate_until
repeats: 3
doc_to_text: "the capital of {{{{land}}}} is"
doc_to_target: "{{{{city}}}}"
generation_kwargs: {{until: ["</s>"], do_sample: true, temperature: 1.0, max_gen_toks: 2}}
filter_list:
  - {{name: first, filter: [{{function: regex, regex_pattern: "([a-z]+)"}}, {{function: take_first}}]}}
  - {{name: vote, filter: [{{function: regex, regex_pattern: "([a-z]+)"}}, {{function: majority_vote}}, {{function: take_first}}]}}
metric_list: [{{metric: exact_match}}]
"""
GOLD = """
task: gold
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/geo.jsonl}}}}
test_split: test
output_type: loglikelihood
doc_to_text: "the capital of {{{{land}}}} is"
doc_to_target: " {{{{city}}}}"
metric_list: [{{metric: perplexity}}, {{metric: acc}}]
"""


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def save_model(folder: Path) -> None:
    """A random model over a few words."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<pad>", "<unk>", "<s>", "</s>", "the", "capital", "of", "is", "in", "?", *LANDS, *CITIES, *ANSWERS]
    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    ).save_pretrained(folder)
    torch.manual_seed(7)
    config = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=64, initializer_range=0.4, bos_token_id=2, eos_token_id=3, pad_token_id=0,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files that lm_eval wrote: samples by task, and its results."""
    folder = tmp_path_factory.mktemp("lm_eval")
    save_model(folder / "tiny")
    tasks = folder / "tasks"
    tasks.mkdir()
    for name, text in {"geo": GEO, "words": WORDS, "said": SAID, "gold": GOLD}.items():
        (tasks / f"{name}.yaml").write_text(text.format(folder=folder))
    geo = [
        {"land": land, "city": city, "choices": sorted({city, CITIES[at - 1], CITIES[at - 2]}),
         "answer": sorted({city, CITIES[at - 1], CITIES[at - 2]}).index(city), "half": "first" if at < 3 else "second"}
        for at, (land, city) in enumerate(zip(LANDS, CITIES, strict=True))
    ]  # fmt: skip
    lines(folder / "geo.jsonl", geo)
    lines(folder / "words.jsonl", [{"city": city, "land": land, "label": int(city != CITIES[at])}
                                   for at, land in enumerate(LANDS) for city in CITIES])  # fmt: skip
    quiet = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hub"),
             "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ""}  # fmt: skip
    command = [
        sys.executable, "-m", "lm_eval", "--model", "hf",
        "--model_args", f"pretrained={folder / 'tiny'},dtype=float32", "--device", "cpu",
        "--include_path", str(tasks), "--tasks", "geo,words,said,gold", "--batch_size", "8", "--log_samples",
        "--output_path", str(folder / "out"),
    ]  # fmt: skip
    done = subprocess.run(
        command, env={**os.environ, **quiet}, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    written = list((folder / "out").rglob("*.json*"))
    named = {path.name.split("_")[1]: path for path in written if path.name.startswith("samples_")}
    (results,) = (path for path in written if path.name.startswith("results_"))
    assert set(named) == {"geo", "words", "said", "gold"}
    return {**named, "results": results}


def evaluated(data: Any, **options: Any) -> Any:
    return sensecheck.calibrated.evaluate(data, options=NO_INTERVALS, **options)


def own(run: dict[str, Path], task: str, figure: str) -> float:
    return float(json.loads(run["results"].read_text())["results"][task][figure])


@pytest.mark.parametrize("metric", ["acc", "acc_norm"])
def test_choices_that_differ(run, metric):
    result = evaluated(run["geo"], scorer=metric, slices=["half"])
    assert (result["accuracy"].value, result["accuracy"].n) == (own(run, "geo", f"{metric},none"), 6)
    assert 1 / 3 <= result["mean_confidence"].value <= 1 and result["mean_confidence"].n == 6
    assert any(note.startswith(f"agrees with {run['results'].name}: {metric} ") for note in result.notes)


def test_choices_that_are_the_same_are_classes(run):
    result = evaluated(run["words"])
    assert (result["accuracy"].value, result["accuracy"].n) == (own(run, "words", "acc,none"), 36)
    assert result["brier_multiclass"].value == pytest.approx(own(run, "words", "brier_score,none"), abs=1e-7)
    assert result["classwise_ece"].n == 36


@pytest.mark.parametrize("filter", ["first", "vote"])
def test_generated_answers_under_each_filter(run, filter):
    result = evaluated(run["said"], filter=filter)
    assert (result["accuracy"].value, result["accuracy"].n) == (own(run, "said", f"exact_match,{filter}"), 6)
    assert result["mean_confidence"].n == 0


def test_all_repeats_are_responses(run):
    result = sensecheck.diverse.evaluate(run["said"])
    assert result.measurements["id"].to_list() == [str(at) for at in range(6)]
    assert result.measurements["hypotheses"].to_list() == [3] * 6


def test_the_golds_likelihood_is_no_confidence(run):
    result = evaluated(run["gold"])
    assert (result["accuracy"].value, result["accuracy"].n) == (own(run, "gold", "acc,none"), 6)
    assert result["mean_confidence"].n == 0 and any("no confidence in an answer" in note for note in result.notes)


def test_tasks_side_by_side(run):
    result = evaluated([run["geo"], run["words"]], slices=["task"])
    assert result["accuracy"].n == 42 and result.measurements["id"].n_unique() == 42


def test_results_alone_name_the_samples(run):
    with pytest.raises(sensecheck.InputError, match="samples_geo_"):
        evaluated(run["results"])


def test_in_memory(run):
    """What simple_evaluate returns, with its tuples and NumPy numbers, gives the same figures as the files."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    folder = run["results"].parents[2]
    tasks = TaskManager(include_path=str(folder / "tasks"), include_defaults=False)
    returned = lm_eval.simple_evaluate(
        model="hf", model_args=f"pretrained={folder / 'tiny'},dtype=float32", device="cpu", tasks=["geo", "words"],
        task_manager=tasks, log_samples=True, bootstrap_iters=0,
    )  # fmt: skip
    for data, name in ((returned["samples"]["geo"], "geo"), (returned["samples"]["words"], "words")):
        there, here = evaluated(run[name]), evaluated(data)
        for figure in ("accuracy", "mean_confidence", "brier"):
            assert here[figure].value == pytest.approx(there[figure].value, abs=1e-6)
    for whole in (returned, returned["samples"]):
        assert evaluated(whole, slices=["task"])["accuracy"].n == 42
