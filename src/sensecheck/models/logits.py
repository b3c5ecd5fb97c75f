"""Writes `.logits` files: what a Hugging Face model thought at every step of every answer.

    from sensecheck.models.logits import collect
    collect("t5-small", [{"input": "…", "target": "…"}], "dev.logits")

Each line holds one answer: for every step the `top_k` most likely tokens (`top_logit_idxs`, ascending), their
probabilities under the whole vocabulary (`top_logits`: the name is the format's, the numbers are probabilities),
the gold token (`labels`) and its raw logit (`logit_at_label`). `sensecheck calibrated` reads it.

Teacher-forced (`mode="forced"`): the model sees the gold answer up to each step. One pass an example.
Generated (`mode="generated"`): the model sees what it said itself (greedy decoding), and `labels` holds the gold
token of the same place, `NO_GOLD` beyond the gold answer's end; such a file is meant for `--level sequence`, where
an answer is right when every token is. `generated`, `target` and `exact` tell the texts.

How it is fast: batches are cut by tokens, the longest first; only k numbers a step leave the device; while the
device works on one batch, the one before is written. How it can be stopped: finished answers go to `FILE.part`,
and `resume=True` goes on from there; the file itself appears, in the order of the input, when all are done.

Needs torch and transformers (the extra `models`), and nothing else of sensecheck's own needs.
"""

from __future__ import annotations

import gzip
import hashlib
import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason
from sensecheck.models.fixed_width import integer_rows, probability_rows, stretch
from sensecheck.models.token_budget import padded, plan
from sensecheck.runs.writing import append_to, new_file, refuse_link

Mode = Literal["forced", "generated"]
Precision = Literal["model", "float32", "tf32", "bfloat16", "float16"]
MODES = ("forced", "generated")
PRECISIONS = ("model", "float32", "tf32", "bfloat16", "float16")

IGNORED = -100
"""The label that PyTorch's losses ignore; readers leave such steps out."""
NO_GOLD = -1
"""The label of a generated step beyond the gold answer's end: no token has this number, so it counts as wrong."""

_OWN_FIELDS = (
    "input_str", "top_logits", "top_logit_idxs", "labels", "logit_at_label", "tokens", "predicted", "generated",
    "target", "exact",
)  # fmt: skip
_PART_SCHEMA = "sensecheck.logits-part/1"
_PART_FIELDS_IN_WORDS = {
    "schema": "the format of this file",
    "weights": "the number of weights",
    "examples": "the number of examples",
    "sha256": "the tokens of the examples (sha256)",
}
_MOST_HEADER_BYTES = 1 << 20
_FLOAT32_BYTES = 256 << 20  # float32 copies of logits are made for this many bytes at a time
_MISSING_EXTRA = "collecting logits needs the extra `models`: pip install 'sensecheck[models]'"

Row = list[int]


@dataclass
class Collected:
    """What was written."""

    path: Path
    sequences: int
    tokens: int
    resumed: int = 0
    """Sequences that an interrupted run had already done."""


@dataclass
class Encoded:
    """One example as the model takes it."""

    source: Row
    """Input tokens: the encoder's input, or the prompt."""
    target: Row
    """The gold answer, its end token included."""
    text: str
    gold: str
    other_fields: dict[str, Any] = field(default_factory=dict)
    """Fields of the example that go to its line as they are."""


def collect(
    model: Any,
    examples: Iterable[Mapping[str, Any] | tuple[str, str]],
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
    torch = _torch()
    _check_options(mode, precision, top_k)
    out_path = Path(out)
    if out_path.exists() and not overwrite:
        if resume:
            return _already_collected(out_path)
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
        encoded = [
            _encode(example, number, model, tokenizer, max_source_tokens)
            for number, example in enumerate(examples, start=1)
        ]
        if not encoded:
            raise InputError(expected="at least one example", got="none", reason=Reason.EMPTY)
        settings = _Settings(mode, top_k, precision, max_new_tokens, texts)
        worker = _Worker(model, tokenizer, torch_device, settings)
        part_file = _PartFile(out_path, worker.fingerprint(encoded), resume=resume)
        resumed = part_file.resumed
        if progress is not None and resumed:
            progress(resumed)
        with part_file:
            remaining = [i for i in range(len(encoded)) if i not in part_file.line_positions]
            budget = token_budget or (16384 if torch_device.type == "cuda" else 2048)
            for numbers, lines in worker.lines(encoded, remaining, budget):
                part_file.add(numbers, lines)
                if progress is not None:
                    progress(len(numbers))
        part_file.finish(len(encoded))
        return Collected(out_path, len(encoded), sum(len(e.target) for e in encoded), resumed)
    finally:
        model.train(training)


def records(
    model: Any, examples: Iterable[Mapping[str, Any] | tuple[str, str]], **options: Any
) -> Iterator[dict[str, Any]]:
    """The same lines as objects, in the order of the input and without a file."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "records.logits"
        collect(model, examples, path, **options)
        with path.open(encoding="utf-8") as stream:
            for line in stream:
                yield json.loads(line)


# -- examples ------------------------------------------------------------------------------------------------


def _encode(
    example: Mapping[str, Any] | tuple[str, str], number: int, model: Any, tokenizer: Any, max_source_tokens: int | None
) -> Encoded:
    if isinstance(example, tuple):
        if len(example) != 2:
            raise InputError(
                record=number, expected="(input, target)", got=f"{len(example)} items", reason=Reason.EXAMPLE
            )
        example = {"input": example[0], "target": example[1]}
    if "labels" in example and "input_ids" in example:
        return _encoded_tokens(example, number, model, tokenizer, max_source_tokens)
    for name in ("input", "target"):
        if not isinstance(example.get(name), str):
            got = shown(example.get(name)) if name in example else f"the fields {', '.join(map(str, example))}"
            raise InputError(
                record=number, field=name, expected="a text (or tokens as input_ids and labels)", got=got,
                reason=Reason.EXAMPLE,
            )  # fmt: skip
    if tokenizer is None:
        raise InputError(
            "an example given as text needs the model's tokenizer",
            record=number,
            hint="Pass tokenizer=…",
            reason=Reason.NO_TOKENIZER,
        )
    other_fields = _other_fields(example, ("input", "target"), number)
    source = list(tokenizer(example["input"])["input_ids"])
    if model.config.is_encoder_decoder:
        target = list(tokenizer(text_target=example["target"])["input_ids"])
    else:
        target = list(tokenizer(example["target"], add_special_tokens=False)["input_ids"])
        if tokenizer.eos_token_id is not None:
            target.append(tokenizer.eos_token_id)
        if not source:
            start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
            source = [start] if start is not None else source
    return _not_empty(
        Encoded(_cut(source, max_source_tokens), target, example["input"], example["target"], other_fields), number
    )


def _encoded_tokens(
    example: Mapping[str, Any], number: int, model: Any, tokenizer: Any, max_source_tokens: int | None
) -> Encoded:
    """An example that is already tokens, padded or not, as a Trainer's dataset holds it."""
    source = list(map(int, example["input_ids"]))
    mask = example.get("attention_mask")
    if mask is not None:
        source = [t for t, seen in zip(source, mask, strict=True) if int(seen)]
    labels = list(map(int, example["labels"]))
    target = [t for t in labels if t != IGNORED] if IGNORED in labels else labels
    if not model.config.is_encoder_decoder and len(labels) == len(example["input_ids"]):
        # A causal model's labels repeat its input, with the prompt masked out.
        unmasked = [t for t, seen in zip(labels, mask, strict=True) if int(seen)] if mask is not None else labels
        target = [t for t in unmasked if t != IGNORED]
        source = source[: len(source) - len(target)]
    text = gold = ""
    if tokenizer is not None:
        text = tokenizer.decode(source, skip_special_tokens=True)
        gold = tokenizer.decode(target, skip_special_tokens=True)
    other_fields = _other_fields(
        example, ("input_ids", "attention_mask", "labels", "decoder_input_ids", "token_type_ids"), number
    )
    return _not_empty(Encoded(_cut(source, max_source_tokens), target, text, gold, other_fields), number)


def _other_fields(example: Mapping[str, Any], used: Sequence[str], number: int) -> dict[str, Any]:
    other_fields = {str(k): v for k, v in example.items() if k not in used}
    for name in other_fields:
        if name in _OWN_FIELDS:
            raise InputError(
                record=number, field=name, expected="no field of this name", got="one",
                hint="The output has a field of this name of its own: rename yours.", reason=Reason.RESERVED_NAME,
            )  # fmt: skip
    return other_fields


def _cut(source: Row, max_source_tokens: int | None) -> Row:
    return source if max_source_tokens is None or len(source) <= max_source_tokens else source[:max_source_tokens]


def _not_empty(encoded: Encoded, number: int) -> Encoded:
    if not encoded.target:
        raise InputError(record=number, field="target", expected="at least one token", got="none", reason=Reason.EMPTY)
    if not encoded.source:
        raise InputError(record=number, field="input", expected="at least one token", got="none", reason=Reason.EMPTY)
    return encoded


# -- the model -----------------------------------------------------------------------------------------------


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise ImportError(_MISSING_EXTRA) from None
    return torch


def _load(model: Any, tokenizer: Any, precision: Precision, torch: Any) -> tuple[Any, Any]:
    if not isinstance(model, (str, os.PathLike)):
        return model, tokenizer
    try:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer
    except ImportError:
        raise ImportError(_MISSING_EXTRA) from None
    name = os.fspath(model)
    config = AutoConfig.from_pretrained(name)
    model_class = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    weights_dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision, torch.float32)
    options = {} if precision == "model" else {"torch_dtype": weights_dtype}
    return model_class.from_pretrained(name, **options), tokenizer or AutoTokenizer.from_pretrained(name)


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


@dataclass(frozen=True)
class _Settings:
    """What a run writes of every step, and how its numbers are computed."""

    mode: Mode
    top_k: int
    precision: Precision
    max_new_tokens: int | None
    texts: bool
    """Tokens are written as text too."""


@dataclass
class _Steps:
    """The k best of every step of a batch, on their way to this machine."""

    numbers: list[int]
    lengths: list[int]
    values: Any
    """Probabilities, steps × k, ascending; beside them the raw logit at the label: steps × (k + 1)."""
    tokens: Any
    ready: Any = None
    """An event that says when the two have arrived; None where they are here."""
    labels: list[Row] = field(default_factory=list)
    generated: list[Row] = field(default_factory=list)
    """Generated tokens, where they were generated."""


class _Worker:
    """A model with everything that decides which numbers come out."""

    def __init__(self, model: Any, tokenizer: Any, device: Any, settings: _Settings) -> None:
        self.torch = _torch()
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self.settings = settings
        self.seq2seq = bool(model.config.is_encoder_decoder)
        self.pad = _first_given(
            getattr(model.config, "pad_token_id", None), getattr(tokenizer, "pad_token_id", None), 0
        )
        accepted = inspect.signature(model.forward).parameters
        self.cuts_logits = "logits_to_keep" in accepted
        self.words = _Words(tokenizer) if settings.texts and tokenizer is not None else None

    def fingerprint(self, encoded: Sequence[Encoded]) -> dict[str, Any]:
        """What must be the same for an interrupted run to go on."""
        digest = hashlib.sha256()
        for e in encoded:
            digest.update(f"{e.source}{e.target}".encode())
        weights = sum(p.numel() for p in self.model.parameters())
        return {
            "model": f"{type(self.model).__name__} {getattr(self.model.config, '_name_or_path', '')}".strip(),
            "weights": weights,
            "mode": self.settings.mode,
            "top_k": self.settings.top_k,
            "precision": self.settings.precision,
            "max_new_tokens": self.settings.max_new_tokens,
            "examples": len(encoded),
            "sha256": digest.hexdigest(),
        }

    def lines(
        self, encoded: Sequence[Encoded], remaining: Sequence[int], budget: int
    ) -> Iterator[tuple[list[int], list[bytes]]]:
        """Finished lines, batch after batch; each batch is written out while the next one is computed."""
        previous: _Steps | None = None
        with self.torch.inference_mode(), self._in_precision():
            for steps in self._batches(encoded, remaining, budget):
                if previous is not None:
                    yield previous.numbers, self._lines_of(previous, encoded)
                previous = steps
            if previous is not None:
                yield previous.numbers, self._lines_of(previous, encoded)

    def _batches(self, encoded: Sequence[Encoded], remaining: Sequence[int], budget: int) -> Iterator[_Steps]:
        queue = [[remaining[i] for i in batch] for batch in plan([_lengths(encoded[i]) for i in remaining], budget)]
        queue.reverse()
        while queue:
            numbers = queue.pop()
            batch = [encoded[i] for i in numbers]
            try:
                yield (
                    self._forced(numbers, batch) if self.settings.mode == "forced" else self._generated(numbers, batch)
                )
            except self.torch.OutOfMemoryError:
                if len(numbers) == 1:
                    raise InputError(
                        f"not enough memory on the device for one example of {len(batch[0].source):,} + "
                        f"{len(batch[0].target):,} tokens",
                        record=numbers[0] + 1,
                        hint="Shorten the inputs with max_source_tokens, or choose a lower precision.",
                        reason=Reason.MEMORY,
                    ) from None
                if self.device.type == "cuda":
                    self.torch.cuda.empty_cache()
                rest = [numbers, *reversed(queue)]
                queue = [half for waiting in rest for half in _halves(waiting)]
                queue.reverse()

    @contextmanager
    def _in_precision(self) -> Iterator[None]:
        torch = self.torch
        weights_dtype = next(self.model.parameters()).dtype
        autocast_dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(self.settings.precision)
        precision_before = torch.get_float32_matmul_precision()
        if self.settings.precision in ("tf32", "float32"):
            torch.set_float32_matmul_precision("high" if self.settings.precision == "tf32" else "highest")
        try:
            if autocast_dtype is not None and weights_dtype != autocast_dtype:
                with torch.autocast(self.device.type, dtype=autocast_dtype):
                    yield
            else:
                yield
        finally:
            torch.set_float32_matmul_precision(precision_before)

    # -- teacher-forced --------------------------------------------------------------------------------------

    def _forced(self, numbers: list[int], batch: list[Encoded]) -> _Steps:
        sources = self._padded([e.source for e in batch]) if self.seq2seq else None
        lengths = [len(e.target) for e in batch]
        if sources is not None:
            ids, mask = sources
            gold = self._tensor(_padded_right([e.target for e in batch], IGNORED))
            logits = self.model(
                input_ids=ids, attention_mask=mask, decoder_input_ids=self._shifted(gold), use_cache=False
            ).logits
            starts = [0] * len(batch)
        else:
            # Padding on the right: no token sees what follows it, so nothing can see the padding.
            ids, mask = self._padded([e.source + e.target for e in batch])
            first = min(len(e.source) for e in batch) - 1
            logits_option = {"logits_to_keep": ids.shape[1] - first} if self.cuts_logits else {}
            logits = self.model(input_ids=ids, attention_mask=mask, use_cache=False, **logits_option).logits
            # The step before a token predicts it.
            offset = ids.shape[1] - logits.shape[1]
            starts = [len(e.source) - 1 - offset for e in batch]
        width = logits.shape[1]
        step_rows = np.concatenate([row * width + start + np.arange(n) for row, (start, n) in enumerate(
            zip(starts, lengths, strict=True))])  # fmt: skip
        labels = np.concatenate([np.asarray(e.target) for e in batch])
        values, tokens = self._reduced(logits.reshape(-1, logits.shape[-1]), step_rows, labels)
        return self._start_copy(numbers, lengths, values, tokens, [e.target for e in batch])

    def _shifted(self, gold: Any) -> Any:
        """What the decoder sees before each gold token."""
        shift = getattr(self.model, "prepare_decoder_input_ids_from_labels", None)
        if shift is not None:
            return shift(labels=gold)
        start = self.model.config.decoder_start_token_id
        shifted = gold.new_full(gold.shape, self.pad)
        shifted[:, 1:] = gold[:, :-1]
        shifted[:, 0] = self.pad if start is None else start
        return shifted.masked_fill(shifted == IGNORED, self.pad)

    def _reduced(self, logits: Any, step_rows: NDArray[np.int64], labels: NDArray[np.int64]) -> tuple[Any, Any]:
        """The k best of the steps `where`, as probabilities under the whole vocabulary; and the logit at the label."""
        torch = self.torch
        vocabulary = logits.shape[-1]
        k = min(self.settings.top_k, vocabulary)
        rows = self._tensor(step_rows)
        gold = self._tensor(labels)
        rows_at_once = max(1, _FLOAT32_BYTES // (4 * vocabulary))
        values, tokens = [], []
        for start in range(0, len(step_rows), rows_at_once):
            part = logits.index_select(0, rows[start : start + rows_at_once])
            best, best_tokens = part.topk(k, dim=-1, sorted=True)
            log_total = torch.logsumexp(part.float(), dim=-1, keepdim=True)
            label = gold[start : start + rows_at_once, None]
            # A gold token that the vocabulary has not (an added one, or none at all) has no logit.
            in_vocabulary = (label >= 0) & (label < vocabulary)
            at_label = part.gather(1, label.clamp(0, vocabulary - 1)).float().masked_fill(~in_vocabulary, float("-inf"))
            values.append(torch.cat([(best.float() - log_total).exp().flip(-1), at_label], dim=1))
            tokens.append(best_tokens.flip(-1))
        return torch.cat(values), torch.cat(tokens)

    # -- generated -------------------------------------------------------------------------------------------

    def _generated(self, numbers: list[int], batch: list[Encoded]) -> _Steps:
        torch = self.torch
        ids, mask = self._padded([e.source for e in batch], left=not self.seq2seq)
        longest_gold = max(len(e.target) for e in batch)
        reduced_steps: list[tuple[Any, Any]] = []
        golds = [e.target for e in batch]

        def watch(_ids: Any, scores: Any) -> Any:
            step = len(reduced_steps)
            gold = np.asarray([g[step] if step < len(g) else NO_GOLD for g in golds])
            reduced_steps.append(self._reduced(scores, np.arange(len(batch)), gold))
            return scores

        from transformers import LogitsProcessorList

        output_ids = self.model.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=False,
            num_beams=1,
            # Room for the whole gold answer, or a right answer could not be finished.
            max_new_tokens=max(self.settings.max_new_tokens or longest_gold + 16, longest_gold),
            pad_token_id=self.pad,
            logits_processor=LogitsProcessorList([watch]),
        )
        steps = len(reduced_steps)
        generated = output_ids[:, output_ids.shape[1] - steps :].tolist()
        ends = self.model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, (list, tuple)) else [ends])
        generated = [_until(row, stops) for row in generated]
        lengths = [len(row) for row in generated]
        real_steps = [row * steps + np.arange(n) for row, n in enumerate(lengths)]
        rows = self._tensor(np.concatenate(real_steps))
        values = torch.stack([v for v, _ in reduced_steps], dim=1).flatten(0, 1).index_select(0, rows)
        tokens = torch.stack([t for _, t in reduced_steps], dim=1).flatten(0, 1).index_select(0, rows)
        labels = [(gold + [NO_GOLD] * n)[:n] for gold, n in zip(golds, lengths, strict=True)]
        return self._start_copy(numbers, lengths, values, tokens, labels, generated)

    # -- to and from the device ------------------------------------------------------------------------------

    def _tensor(self, values: Any) -> Any:
        tensor = self.torch.as_tensor(np.asarray(values, dtype=np.int64))
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)

    def _padded(self, rows: Sequence[Row], left: bool = False) -> tuple[Any, Any]:
        width = padded(max(map(len, rows)))
        ids = np.full((len(rows), width), self.pad, dtype=np.int64)
        mask = np.zeros((len(rows), width), dtype=np.int64)
        for i, row in enumerate(rows):
            filled = slice(width - len(row), width) if left else slice(0, len(row))
            ids[i, filled], mask[i, filled] = row, 1
        return self._tensor(ids), self._tensor(mask)

    def _start_copy(
        self,
        numbers: list[int],
        lengths: list[int],
        values: Any,
        tokens: Any,
        labels: list[Row],
        generated: list[Row] | None = None,
    ) -> _Steps:
        """Start the copy to this machine and do not wait for it."""
        ready = None
        if self.device.type == "cuda":
            host_copies = [self.torch.empty(t.shape, dtype=t.dtype, pin_memory=True) for t in (values, tokens)]
            for host_copy, on_device in zip(host_copies, (values, tokens), strict=True):
                host_copy.copy_(on_device, non_blocking=True)
            values, tokens = host_copies
            ready = self.torch.cuda.Event()
            ready.record()
        else:
            values, tokens = values.cpu(), tokens.cpu()
        return _Steps(numbers, lengths, values, tokens, ready, labels, generated or [])

    # -- lines -----------------------------------------------------------------------------------------------

    def _lines_of(self, steps: _Steps, encoded: Sequence[Encoded]) -> list[bytes]:
        if steps.ready is not None:
            steps.ready.synchronize()
        values = steps.values.numpy()
        k = values.shape[1] - 1
        if not np.isfinite(values[:, :k]).all():
            bad_step = int(np.flatnonzero(~np.isfinite(values[:, :k]).all(axis=1))[0])
            place = int(np.searchsorted(np.cumsum(steps.lengths), bad_step, side="right"))
            raise InputError(
                "the model's probabilities are not numbers (NaN or infinite)",
                record=steps.numbers[place] + 1,
                hint="Half precision may overflow: try precision float32 or bfloat16.",
                reason=Reason.NOT_A_NUMBER,
            )
        probability_text, token_text = probability_rows(values[:, :k]), integer_rows(steps.tokens.numpy())
        predicted = steps.tokens.numpy()[:, -1]
        at_label = values[:, k].tolist()
        lines = []
        start = 0
        for place, (number, length) in enumerate(zip(steps.numbers, steps.lengths, strict=True)):
            stop = start + length
            example = encoded[number]
            labels = steps.labels[place]
            parts = [
                json.dumps({**example.other_fields, "input_str": example.text}, ensure_ascii=False, default=str)[:-1]
            ]
            if self.words is not None:
                answer = steps.generated[place] if steps.generated else predicted[start:stop].tolist()
                parts.append(f'"tokens":[{self.words.joined(labels)}],"predicted":[{self.words.joined(answer)}]')
            if steps.generated:
                parts.append(self._answer_fields(example, steps.generated[place]))
            parts.append(f'"labels":{labels},"logit_at_label":{_json_numbers(at_label[start:stop])},"top_logits":[')
            lines.append(
                b"".join(
                    [
                        ",".join(parts).encode(),
                        stretch(probability_text, start, stop),
                        b'],"top_logit_idxs":[',
                        stretch(token_text, start, stop),
                        b"]}",
                    ]
                )
            )
            start = stop
        return lines

    def _answer_fields(self, example: Encoded, generated: Row) -> str:
        fields: dict[str, Any] = {"exact": generated == example.target}
        if self.tokenizer is not None:
            text = self.tokenizer.decode(generated, skip_special_tokens=True)
            fields = {"generated": text, "target": example.gold, "exact": text.strip() == example.gold.strip()}
        return json.dumps(fields, ensure_ascii=False)[1:-1]


class _Words:
    """The tokenizer's tokens as JSON strings, each looked up once."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.json_by_token: dict[int, str] = {NO_GOLD: '""'}

    def joined(self, tokens: Row) -> str:
        missing = {t for t in tokens if t not in self.json_by_token}
        for t in missing:
            word = self.tokenizer.convert_ids_to_tokens(t)
            self.json_by_token[t] = json.dumps(word if isinstance(word, str) else str(t), ensure_ascii=False)
        return ",".join(map(self.json_by_token.__getitem__, tokens))


def _json_numbers(values: list[float]) -> str:
    """A JSON list; a token outside the vocabulary has no logit."""
    if -np.inf in values:
        return "[" + ",".join("null" if v == -np.inf else f"{v:.7g}" for v in values) + "]"
    return "[" + ",".join(["%.7g"] * len(values)) % tuple(values) + "]"


def _lengths(example: Encoded) -> tuple[int, int]:
    return len(example.source), len(example.target)


def _halves(batch: list[int]) -> list[list[int]]:
    middle = (len(batch) + 1) // 2
    return [half for half in (batch[:middle], batch[middle:]) if half]


def _padded_right(rows: Sequence[Row], fill: int) -> NDArray[np.int64]:
    grid = np.full((len(rows), padded(max(map(len, rows)))), fill, dtype=np.int64)
    for i, row in enumerate(rows):
        grid[i, : len(row)] = row
    return grid


def _until(row: Row, stops: set[Any]) -> Row:
    """The row up to and with its first end token."""
    for i, token in enumerate(row):
        if token in stops:
            return row[: i + 1]
    return row


def _first_given(*values: Any) -> int:
    return next(int(v) for v in values if v is not None)


# -- the file ------------------------------------------------------------------------------------------------


class _PartFile:
    """Finished lines in the order in which they came: `NUMBER<tab>LINE`, after a first line that says of what."""

    def __init__(self, target: Path, fingerprint: dict[str, Any], *, resume: bool) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".part")
        self.header = json.dumps({"schema": _PART_SCHEMA, **fingerprint}, sort_keys=True).encode() + b"\n"
        self.line_positions: dict[int, tuple[int, int]] = {}
        self.size = 0
        if resume and self.path.exists():
            self._read_finished_lines(fingerprint)
        else:
            with new_file(self.path) as stream:
                stream.write(self.header)
            self.size = len(self.header)
        self.resumed = len(self.line_positions)
        self.stream: BinaryIO | None = None

    def _read_finished_lines(self, fingerprint: dict[str, Any]) -> None:
        refuse_link(self.path)
        with self.path.open("rb") as stream:
            first_line = stream.readline(_MOST_HEADER_BYTES)
            try:
                stored = json.loads(first_line)
            except (ValueError, RecursionError):
                stored = {}
            stored = stored if isinstance(stored, dict) else {}
            expected = {"schema": _PART_SCHEMA, **fingerprint}
            differing = [name for name, value in expected.items() if stored.get(name) != value]
            if differing:
                in_words = ", ".join(_PART_FIELDS_IN_WORDS.get(name, name) for name in differing)
                difference = f"what differs: {in_words}" if stored else "its first line cannot be read"
                raise InputError(
                    f"the interrupted run was a different one; {difference}",
                    path=str(self.path),
                    hint="Delete this file to start again.",
                    reason=Reason.OTHER_RUN,
                )
            self.size = len(first_line)
            for line in stream:
                if not line.endswith(b"\n"):
                    break  # the interruption came in the middle of this one
                number, _, body = line.partition(b"\t")
                if not number.isdigit() or len(number) > 18 or not body.startswith(b"{"):
                    raise InputError(
                        path=str(self.path), line=len(self.line_positions) + 2,
                        expected="a finished answer of the interrupted run", got=shown(line, 40),
                        hint="Delete this file to start again.", reason=Reason.OTHER_RUN,
                    )  # fmt: skip
                self.line_positions[int(number)] = (self.size + len(number) + 1, len(body))
                self.size += len(line)
        with append_to(self.path) as stream:
            stream.truncate(self.size)

    def __enter__(self) -> _PartFile:
        self.stream = append_to(self.path)
        return self

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.close()

    def add(self, numbers: Sequence[int], lines: Sequence[bytes]) -> None:
        assert self.stream is not None
        block = []
        for number, line in zip(numbers, lines, strict=True):
            number_text = b"%d\t" % number
            self.line_positions[number] = (self.size + len(number_text), len(line) + 1)
            self.size += len(number_text) + len(line) + 1
            block += [number_text, line, b"\n"]
        self.stream.write(b"".join(block))
        self.stream.flush()

    def finish(self, count: int) -> None:
        """Put the lines in the order of the input, and let the file appear whole."""
        sorted_path = self.target.with_name(self.target.name + ".sorting")
        compressed = self.target.suffix == ".gz"
        with self.path.open("rb") as source, new_file(sorted_path) as raw:
            out: Any = gzip.GzipFile("", "wb", 6, raw, mtime=0) if compressed else raw
            for number in range(count):
                start, size = self.line_positions[number]
                source.seek(start)
                out.write(source.read(size))
            if compressed:
                out.close()
        sorted_path.replace(self.target)
        self.path.unlink()


def _already_collected(path: Path) -> Collected:
    sequences = tokens = 0
    with _opened(path) as stream:
        for line in stream:
            sequences += 1
            try:
                tokens += len(json.loads(line)["labels"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise InputError(
                    path=str(path), line=sequences, expected="a line of .logits", got=shown(line, 40),
                    hint="Pass overwrite (--overwrite) to collect it again.", reason=Reason.EXISTS,
                ) from None  # fmt: skip
    return Collected(path, sequences, tokens, sequences)


def _opened(path: Path) -> Any:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
