"""From a model and examples to a file of logits."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.models.logits.examples import Example, encode
from sensecheck.models.logits.lines import Lines
from sensecheck.models.logits.part_file import Collected, PartFile, already_collected
from sensecheck.models.logits.stepping import MODES, PRECISIONS, Mode, Precision, Settings, Stepper, needed


def collect(
    model: Any,
    examples: Iterable[Example],
    out: str | os.PathLike[str],
    *,
    tokenizer: Any = None,
    mode: Mode = "forced",
    top_k: int = 5,
    token_budget: int | None = None,
    precision: Precision = "model",
    device: str | None = None,
    max_new_tokens: int | None = None,
    max_source_tokens: int | None = None,
    texts: bool = True,
    resume: bool = False,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Collected:
    """Write `out` (`.logits`, or `.logits.gz`) from a model and examples.

    `model` is a name or path for Auto classes, or a loaded seq2seq or causal model (with its `tokenizer`, which may
    be None when all examples are already tokens). An example is `(input, target)` or a mapping with `input` and
    `target` (text), or `input_ids` and `labels` (tokens); other fields (`id`, slices) go to its line as they are.
    A causal model sees input and target tokenised one after the other: put the space between them into one of them.
    `token_budget` bounds the padded tokens of a batch; a batch that does not fit is halved, and the budget with it.
    """
    torch = needed("torch")
    _check_options(mode, precision, top_k)
    out_path = Path(out)
    if out_path.exists() and not overwrite:
        if resume:
            return already_collected(out_path)
        raise InputError(
            f"{out_path} already exists",
            hint="Pass overwrite (--overwrite) to replace it, or resume (--resume) to keep it.",
            reason=Reason.EXISTS,
        )
    model, tokenizer = _load(model, tokenizer, precision, torch)
    torch_device = torch.device(device or _best_device(torch))
    if next(model.parameters()).device != torch_device:
        model = model.to(torch_device)
    training = model.training
    model.eval()
    try:
        encoded = [encode(one, number, model, tokenizer, max_source_tokens) for number, one in enumerate(examples, 1)]
        if not encoded:
            raise InputError(expected="at least one example", got="none", reason=Reason.EMPTY)
        settings = Settings(mode, top_k, precision, max_new_tokens)
        stepper = Stepper(model, tokenizer, torch_device, settings)
        part_file = PartFile(out_path, stepper.fingerprint(encoded), resume=resume)
        resumed = part_file.resumed
        if progress is not None and resumed:
            progress(resumed)
        with part_file:
            remaining = [i for i in range(len(encoded)) if i not in part_file.line_positions]
            budget = token_budget or (16384 if torch_device.type == "cuda" else 2048)
            lines = Lines(tokenizer, texts)
            for steps in stepper.steps(encoded, remaining, budget):
                part_file.add(steps.numbers, lines.of(steps, encoded))
                if progress is not None:
                    progress(len(steps.numbers))
        part_file.finish(len(encoded))
        return Collected(out_path, len(encoded), sum(len(e.target) for e in encoded), resumed)
    finally:
        model.train(training)


def records(model: Any, examples: Iterable[Example], **options: Any) -> Iterator[dict[str, Any]]:
    """The same lines as objects, in the order of the input and without a file."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "records.logits"
        collect(model, examples, path, **options)
        with path.open(encoding="utf-8") as stream:
            for line in stream:
                yield json.loads(line)


def _load(model: Any, tokenizer: Any, precision: Precision, torch: Any) -> tuple[Any, Any]:
    if not isinstance(model, (str, os.PathLike)):
        return model, tokenizer
    transformers, name = needed("transformers"), os.fspath(model)
    seq2seq = transformers.AutoConfig.from_pretrained(name).is_encoder_decoder
    model_class = transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM
    weights_dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision, torch.float32)
    options = {} if precision == "model" else {"torch_dtype": weights_dtype}
    return model_class.from_pretrained(name, **options), tokenizer or transformers.AutoTokenizer.from_pretrained(name)


def _best_device(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def _check_options(mode: str, precision: str, top_k: int) -> None:
    for name, value, allowed in (("mode", mode, MODES), ("precision", precision, PRECISIONS)):
        if value not in allowed:
            raise InputError(
                field=name, expected=f"one of {', '.join(allowed)}", got=shown(value), reason=Reason.BAD_OPTION
            )
    if top_k < 1:
        raise InputError(field="top_k", expected="at least 1", got=str(top_k), reason=Reason.BAD_OPTION)
