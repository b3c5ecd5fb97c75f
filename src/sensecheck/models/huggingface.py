"""Hugging Face models as M and G. Nothing here is imported before it is used: torch and transformers are an extra."""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sensecheck.models import nli_words, revisions
from sensecheck.models.calls import Identity
from sensecheck.models.classifiers import Answer, Batch, Pair, label_of
from sensecheck.models.device.encoder import SUPPORTED, PackedEncoder
from sensecheck.models.device.packing import Ints, Packed, join, pack
from sensecheck.models.device.planning import plan
from sensecheck.models.generators import Request, StatementBatch
from sensecheck.models.prompts import NLI_PROMPT, STATEMENT_PROMPTS, fill
from sensecheck.models.reading_answers import Reads
from sensecheck.models.said import Said

Floats = npt.NDArray[np.float32]

_NOISE_SAMPLE = 64  # pairs on which the error of 16 bits is measured
_NOISE_WIDTHS = 2.0  # of these root mean squares, within which a call is close: about one pair in a hundred
_BATCHES_AHEAD = 2  # batches the device has before it while the host reads one back
_NO_LIMIT = 10**9  # tokenizers without a longest text say 10^30
_RECHECKED_AT_ONCE = 512  # close calls are collected up to this many: float32 is slow enough without small batches


class MissingExtraError(ImportError):
    """torch and transformers are not installed."""


def libraries() -> tuple[Any, Any]:
    """torch and transformers, or which extra brings them."""
    try:
        import torch
        import transformers
    except ImportError as missing:
        raise MissingExtraError(
            f"{missing.name} is not installed: Hugging Face models need the extra `models`: "
            "pip install 'sensecheck[models]'"
        ) from missing
    return torch, transformers


def configuration(path: str, revision: str | None = None, offline: bool = False) -> Any:
    """A model's configuration; a name that leads nowhere is said in one sentence."""
    _, transformers = libraries()
    options: dict[str, Any] = {"local_files_only": offline}
    if revision is not None:
        options["revision"] = revision
    # The hub's client warns at every one of its own tries; what is wrong is said once, below.
    log = logging.getLogger("huggingface_hub")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        return transformers.AutoConfig.from_pretrained(path, **options)
    except OSError as error:
        raise ValueError(
            f"{path!r} is not a model folder here and could not be loaded from the hub ({type(error).__name__}); "
            "give a folder that has a config.json, or a model's name when the hub can be reached"
        ) from None
    finally:
        log.setLevel(level)


def _revision(path: str, config: Any, requested: str | None) -> str:
    """The hub's commit, or a digest of the folder's files."""
    commit: str | None = getattr(config, "_commit_hash", None)
    return commit or (revisions.of_folder(path) if Path(path).is_dir() else requested or "")


def label_order(id2label: dict[int, str], given: Sequence[str] | None = None) -> list[int]:
    """order[k] = our label for the model's class k. From the names the model itself gives, or those that are given."""
    names = list(given) if given is not None else [str(id2label[k]) for k in sorted(id2label)]
    try:
        order = [label_of(name) for name in names]
    except ValueError:
        order = []
    if len(names) not in (2, 3) or None in order or len(set(order)) != len(names) or 0 not in order:
        raise ValueError(
            f"the model calls its classes {names}, which does not say which is entailment, neutral or contradiction; "
            "give their order yourself (--label-order entailment,neutral,contradiction)"
        )
    return [int(k) for k in order if k is not None]


@dataclass
class Truncated:
    """Pairs that were longer than the model's positions; they are cut, and counted."""

    pairs: int = 0


@dataclass
class _Launched:
    """A batch the device is working on, where its logits will be, and what says that they are there."""

    batch: Packed
    close_calls: list[Packed] | None  # where close calls are put; None: these are the last word
    logits: Any
    copied: Any


class SequenceClassifier:
    """A Hugging Face sequence classifier as M: packed without padding where the architecture allows it, sorted by
    length in batches of a token budget elsewhere. Tokenising runs ahead in a thread; an out-of-memory batch is
    halved.

    On a GPU the model runs in 16 bits. How far its logits stray from float32's is measured on the first pairs, and
    every pair whose two best labels lie closer than that is asked again in float32, so that the labels are float32's.
    """

    def __init__(
        self, path: str, *, revision: str | None = None, device: str | None = None, dtype: str | None = None,
        label_names: Sequence[str] | None = None, tokens: int | None = None, packed: bool | None = None,
        chunk: int = 8192, recheck: float | None = None, offline: bool = False,
    ) -> None:  # fmt: skip
        """`recheck` (16-bit runs only): pairs whose two best logits are closer than this are computed again in
        float32; None measures the margin, 0 switches it off.
        """
        torch, transformers = libraries()
        self._torch = torch
        options: dict[str, Any] = {"local_files_only": offline}
        if revision is not None:
            options["revision"] = revision
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(path, dtype=torch.float32, **options)
        model.eval()
        architecture = model.config.model_type
        if dtype is None:
            # float16 has eight times bfloat16's precision; T5 is known to leave its range.
            half_precision = "bfloat16" if "t5" in architecture else "float16"
            dtype = half_precision if self.device.type == "cuda" else "float32"
        self.dtype = getattr(torch, dtype)
        self.order = label_order(model.config.id2label, label_names)
        in_16_bits = self.dtype != torch.float32
        self._margin = recheck if in_16_bits else 0.0
        self.packed = (architecture in SUPPORTED and self.device.type == "cuda") if packed is None else packed
        self._model = model.to(self.device)
        self._packed_logits: Callable[..., Any] | None = None
        self._packed_exact_logits: Callable[..., Any] | None = None
        self._exact_model = self._model if in_16_bits and self._margin != 0 else None
        if self.packed:
            self._packed_logits = PackedEncoder(self._model, self.dtype).logits
            if self._exact_model is not None:
                self._packed_exact_logits = PackedEncoder(self._model).logits
        elif in_16_bits:
            if self._exact_model is not None:
                import copy

                model = copy.deepcopy(model)
            self._model = model.to(self.dtype)
        self.tokens = tokens or (65536 if self.device.type == "cuda" else 2048)
        self._chunk = chunk
        positions = getattr(model.config, "max_position_embeddings", 512)
        if architecture in ("roberta", "xlm-roberta", "camembert"):
            positions -= model.config.pad_token_id + 1
        self._max_tokens = min(positions, getattr(self._tokenizer, "model_max_length", positions) or positions)
        self._fast_tokenizer = getattr(self._tokenizer, "backend_tokenizer", None)
        # RoBERTa has one token type and its tokenizers may count two; models without types ignore what stands here.
        self._has_token_types = (
            "token_type_ids" in self._tokenizer.model_input_names and getattr(model.config, "type_vocab_size", 0) > 1
        )
        self.truncated = Truncated()
        self.halved = 0
        self.rechecked = 0
        self.offset: Any = np.zeros(len(self.order), dtype=np.float32)  # of all logits in 16 bits against float32
        self.noise = 0.0  # root mean square of what else 16 bits do to the difference of the two best logits
        commit = _revision(path, model.config, revision)
        # Precision is part of what an answer depends on: a close call may fall the other way.
        check = "" if not in_16_bits else ", close calls in float32" if self._exact_model is not None else ", unchecked"
        self.identity = Identity(path, commit, f"sequence classifier, {dtype}{check}, order {self.order}")

    # -- tokens -----------------------------------------------------------------------------------------------

    def _encode(self, pairs: Sequence[Pair], first_row: int) -> Packed:
        if self._fast_tokenizer is not None:
            # The wrapper of transformers spends several times as long on a pair as the tokenizer itself.
            self._fast_tokenizer.no_padding()
            self._fast_tokenizer.enable_truncation(self._max_tokens, strategy="longest_first")
            encodings = self._fast_tokenizer.encode_batch_fast(list(pairs), add_special_tokens=True)
            ids = [e.ids for e in encodings]
            types = [e.type_ids for e in encodings] if self._has_token_types else None
        else:
            encoding = self._tokenizer(
                [p for p, _ in pairs], [h for _, h in pairs], truncation="longest_first", max_length=self._max_tokens
            )
            ids = encoding["input_ids"]
            types = encoding.get("token_type_ids") if self._has_token_types else None
        packed = pack(ids, types, first_row)
        self.truncated.pairs += int((packed.lengths >= self._max_tokens).sum())
        return packed

    def _prepare(self, pairs: Sequence[Pair]) -> Iterator[Packed]:
        """Batch after batch, chunk by chunk: the file is never tokenised as a whole, and the first chunk is small, so
        that the device need not wait for it.
        """
        start, size = 0, max(1, self._chunk // 8)
        while start < len(pairs):
            chunk = self._encode(pairs[start : start + size], start)
            for rows in plan(chunk.one_length(), self.tokens, step=1, packed=self.packed):
                yield chunk.take(rows)
            start, size = start + size, self._chunk

    # -- logits -----------------------------------------------------------------------------------------------

    def _forward(self, batch: Packed, exact: bool = False) -> Any:
        torch = self._torch
        packed_logits = self._packed_exact_logits if exact else self._packed_logits
        if packed_logits is not None:
            flat_inputs = torch.from_numpy(np.stack([batch.ids, batch.types, batch.places()]))
            starts = torch.from_numpy(batch.starts.astype(np.int32))
            if self.device.type == "cuda":
                flat_inputs = flat_inputs.pin_memory().to(self.device, non_blocking=True)
                starts = starts.pin_memory().to(self.device, non_blocking=True)
            return packed_logits(flat_inputs[0], flat_inputs[1], flat_inputs[2], starts, int(batch.lengths.max()))
        model = self._exact_model if exact else self._model
        ids, types, mask = (torch.from_numpy(part) for part in batch.grid(self._tokenizer.pad_token_id or 0))
        inputs = {"input_ids": ids.to(self.device), "attention_mask": mask.to(self.device)}
        if "token_type_ids" in self._tokenizer.model_input_names:
            inputs["token_type_ids"] = types.to(self.device)
        assert model is not None
        return model(**inputs).logits

    def _forward_halving(self, batch: Packed, exact: bool = False) -> Any:
        """The forward pass; a batch that does not fit in memory is halved until it does."""
        torch = self._torch
        try:
            return self._forward(batch, exact)
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
        torch.cuda.empty_cache()
        self.halved += 1
        middle = len(batch) // 2
        halves = (batch.take(range(middle)), batch.take(range(middle, len(batch))))
        return torch.cat([self._forward_halving(half, exact) for half in halves])

    def _measure_noise(self, batch: Packed, device_logits: Any) -> None:
        """What 16 bits do to the logits, from a sample of one batch: an offset that all pairs share (weights are
        rounded the same way for all), which is taken off, and a scatter, which tells how close a call is too close.
        """
        sample = np.unique(np.linspace(0, len(batch) - 1, _NOISE_SAMPLE).astype(np.int64))
        rounded = device_logits[self._torch.from_numpy(sample).to(device_logits.device)].float().cpu().numpy()
        exact = self._forward_halving(batch.take(sample), exact=True).float().cpu().numpy()
        errors = (rounded - exact)[np.isfinite(rounded).all(axis=1)]
        two_best = np.argsort(exact[np.isfinite(rounded).all(axis=1)], axis=1)[:, -2:]
        if len(errors) >= _NOISE_SAMPLE // 2:
            self.offset = errors.mean(axis=0)
        errors_of_gap = np.diff(np.take_along_axis(errors - self.offset, two_best, axis=1), axis=1)
        self.noise = float(np.sqrt(np.mean(errors_of_gap**2))) if len(errors_of_gap) else 0.0
        self._margin = _NOISE_WIDTHS * self.noise

    def _answers(self, rows: Ints, model_logits: Floats) -> Batch:
        logits = np.full((len(model_logits), 3), -np.inf, dtype=np.float32)
        logits[:, self.order] = model_logits
        labels = logits.argmax(axis=1).tolist()
        return [
            (i, Answer(label, tuple(row)))
            for i, label, row in zip(rows.tolist(), labels, logits.tolist(), strict=True)
        ]  # fmt: skip

    def _launch(self, batch: Packed, close_calls: list[Packed] | None, device_logits: Any = None) -> _Launched:
        """Queue a batch and the copy of its logits: a copy queued later would wait for the batches after this one."""
        torch = self._torch
        device_logits = (
            self._forward_halving(batch, exact=close_calls is None) if device_logits is None else device_logits
        )
        if self.device.type != "cuda":
            return _Launched(batch, close_calls, device_logits.float(), None)
        host_logits = torch.empty(device_logits.shape, dtype=torch.float32, pin_memory=True)
        host_logits.copy_(device_logits, non_blocking=True)
        copied = torch.cuda.Event()
        copied.record()
        return _Launched(batch, close_calls, host_logits, copied)

    def _finish(self, launched: _Launched) -> Batch:
        """The answers of a batch; in 16 bits close calls, and numbers that left their range, are held back."""
        batch, close_calls = launched.batch, launched.close_calls
        if launched.copied is not None:
            launched.copied.synchronize()
        logits = launched.logits.numpy()
        if close_calls is None:
            return self._answers(batch.rows, logits)
        logits -= self.offset
        with np.errstate(invalid="ignore"):
            two_best = np.sort(logits, axis=1)[:, -2:]
            is_close = ~np.isfinite(logits).all(axis=1) | (two_best[:, 1] - two_best[:, 0] < (self._margin or 0.0))
        if not is_close.any():
            return self._answers(batch.rows, logits)
        if self._exact_model is None:
            raise ValueError(
                f"the logits of {int(is_close.sum())} pairs are outside the range of {self.dtype}: "
                "choose another precision (bfloat16 or float32)"
            )
        close_calls.append(batch.take(np.flatnonzero(is_close)))
        return self._answers(batch.rows[~is_close], logits[~is_close])

    def _recheck_batches(self, close_calls: list[Packed]) -> Iterator[Packed]:
        batch = join(close_calls)
        close_calls.clear()
        self.rechecked += len(batch)
        for rows in plan(batch.one_length(), self.tokens // 2, step=1):
            yield batch.take(rows)

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        torch = self._torch
        prepared: queue.Queue[Packed | BaseException | None] = queue.Queue(maxsize=8)
        stop = threading.Event()

        def tokenise() -> None:
            try:
                for item in self._prepare(pairs):
                    while not stop.is_set():
                        try:
                            prepared.put(item, timeout=0.2)
                            break
                        except queue.Full:
                            continue
                    if stop.is_set():
                        return
                prepared.put(None)
            except BaseException as error:
                prepared.put(error)

        tokenising = threading.Thread(target=tokenise, name="tokenise", daemon=True)
        tokenising.start()
        try:
            # The device works on what was launched last while what was launched before is read back.
            launched: deque[_Launched] = deque()
            close_calls: list[Packed] = []
            collect_in = close_calls if self.dtype != torch.float32 else None
            with torch.inference_mode():
                while (item := prepared.get()) is not None:
                    if isinstance(item, BaseException):
                        raise item
                    device_logits = self._forward_halving(item, exact=False)
                    if self._margin is None:
                        self._measure_noise(item, device_logits)
                    launched.append(self._launch(item, collect_in, device_logits))
                    if sum(map(len, close_calls)) >= _RECHECKED_AT_ONCE:
                        launched.extend(self._launch(part, None) for part in self._recheck_batches(close_calls))
                    while len(launched) > _BATCHES_AHEAD:
                        yield self._finish(launched.popleft())
                while launched:
                    yield self._finish(launched.popleft())
                    if close_calls and not launched:
                        launched.extend(self._launch(part, None) for part in self._recheck_batches(close_calls))
        finally:
            stop.set()

    def embeddings(self, texts: Sequence[str]) -> Floats:
        """The first position of the last layer on each text alone, as the distance analyses use it."""
        torch = self._torch
        body = getattr(self._model, self._model.base_model_prefix)
        vectors: list[Floats | None] = [None] * len(texts)
        for rows in plan([(len(text),) for text in texts], 20_000, step=1):
            inputs = self._tokenizer(
                [texts[i] for i in rows],
                padding=True,
                truncation=True,
                max_length=self._max_tokens,
                return_tensors="pt",
            ).to(self.device)
            with torch.inference_mode():
                first = body(**inputs)[0][:, 0].float().cpu().numpy()
            for i, vector in zip(rows, first, strict=True):
                vectors[i] = vector
        return np.array(vectors, dtype=np.float32)


class PromptedModel:
    """A seq2seq or causal language model as M (by prompt) and as G (by prompt and decoding)."""

    def __init__(
        self, path: str, *, revision: str | None = None, device: str | None = None, dtype: str | None = None,
        prompt: str = NLI_PROMPT, read: Reads | None = None,
        prompts: dict[bool, str] | None = None, batch: int = 16, max_new_tokens: int = 40, offline: bool = False,
    ) -> None:  # fmt: skip
        torch, transformers = libraries()
        self._torch = torch
        options: dict[str, Any] = {"local_files_only": offline}
        if revision is not None:
            options["revision"] = revision
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if dtype is None:
            dtype = "bfloat16" if self.device.type == "cuda" else "float32"
        config = transformers.AutoConfig.from_pretrained(path, **options)
        self.encoder_decoder = bool(config.is_encoder_decoder)
        model_class = transformers.AutoModelForSeq2SeqLM if self.encoder_decoder else transformers.AutoModelForCausalLM
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
        self._tokenizer.padding_side = "right" if self.encoder_decoder else "left"
        # A prompt that is too long loses the beginning of the premise, not the question that stands at its end.
        self._tokenizer.truncation_side = "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._model = model_class.from_pretrained(path, dtype=getattr(torch, dtype), **options).to(self.device).eval()
        self._prompt, self.read = prompt, read or nli_words.reader(prompt)
        self.truncated = Truncated()
        self._prompts = prompts or STATEMENT_PROMPTS
        self._batch, self._max_new_tokens = batch, max_new_tokens
        # What a causal model writes takes up positions too; a tokenizer may not know how many there are.
        positions = None if self.encoder_decoder else getattr(config, "max_position_embeddings", None)
        prompt_room = self._tokenizer.model_max_length if positions is None else max(1, positions - max_new_tokens)
        self._max_tokens = min(self._tokenizer.model_max_length, prompt_room)
        commit = _revision(path, config, revision)
        settings = f"{prompt}\n[greedy max_new_tokens={max_new_tokens} {dtype}]"
        self.identity = Identity(path, commit, settings)
        self._as_generator = Identity(
            path, commit, f"{self._prompts[True]}\n{self._prompts[False]}\n[max_new_tokens={max_new_tokens} {dtype}]"
        )

    def _inputs(self, prompts: list[str]) -> Any:
        if not self.encoder_decoder and getattr(self._tokenizer, "chat_template", None):
            prompts = [
                self._tokenizer.apply_chat_template(
                    [{"role": "user", "content": prompt}], tokenize=False, add_generation_prompt=True
                )
                for prompt in prompts
            ]
        truncation = {"truncation": True, "max_length": self._max_tokens} if self._max_tokens < _NO_LIMIT else {}
        return self._tokenizer(prompts, padding=True, return_tensors="pt", **truncation).to(self.device)

    def _texts(self, output: Any, inputs: Any) -> list[str]:
        if not self.encoder_decoder:
            output = output[:, inputs["input_ids"].shape[1] :]
        return [text.strip() for text in self._tokenizer.batch_decode(output, skip_special_tokens=True)]

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        prompts = [fill(self._prompt, *pair) for pair in pairs]
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]), reverse=True)
        for start in range(0, len(order), self._batch):
            rows = order[start : start + self._batch]
            inputs = self._inputs([prompts[i] for i in rows])
            inputs.pop("token_type_ids", None)
            lengths = inputs["attention_mask"].sum(1).tolist()
            self.truncated.pairs += sum(length >= self._max_tokens for length in lengths)
            with self._torch.inference_mode():
                output = self._model.generate(**inputs, do_sample=False, max_new_tokens=self._max_new_tokens)
            texts = self._texts(output, inputs)
            yield [(i, Answer.of(Said(text), self.read)) for i, text in zip(rows, texts, strict=True)]

    def read_again(self, kept: Answer) -> Answer:
        """An answer that was kept, by the rules of today."""
        return kept.read_again(self.read)

    def generator(self) -> PromptedGenerator:
        """The same weights as G."""
        return PromptedGenerator(self)

    def generate(self, request: Request) -> list[str]:
        """n texts for a request: plain beam search, our diverse beam search, or sampling with its own seed."""
        from sensecheck.models.device.beams import diverse_beams

        inputs = self._inputs([self._prompts[request.positive].replace("<hypothesis>", request.text)])
        inputs.pop("token_type_ids", None)
        torch = self._torch
        with torch.inference_mode():
            if request.mode == "beam":
                output = self._model.generate(
                    **inputs,
                    num_beams=request.n,
                    num_return_sequences=request.n,
                    do_sample=False,
                    max_new_tokens=self._max_new_tokens,
                )
            elif request.mode == "sample":
                torch.manual_seed(request.seed or 0)
                output = self._model.generate(
                    **inputs, do_sample=True, top_k=40, temperature=0.9, num_return_sequences=request.n,
                    max_new_tokens=self._max_new_tokens,
                )  # fmt: skip
            elif request.mode == "diverse":
                groups = request.n // 2 if request.n % 2 == 0 else request.n
                token_ids = diverse_beams(
                    self._model,
                    inputs,
                    beams=request.n,
                    groups=groups,
                    penalty=0.9,
                    max_new_tokens=self._max_new_tokens,
                )
                return [text.strip() for text in self._tokenizer.batch_decode(token_ids, skip_special_tokens=True)]
            else:
                raise ValueError(f"unknown decoding {request.mode!r}: expected beam, diverse or sample")
        return self._texts(output, inputs)


class PromptedGenerator:
    """A prompted model as G."""

    decodes = True

    def __init__(self, model: PromptedModel) -> None:
        self._model = model
        self.identity = model._as_generator

    def stream(self, requests: Sequence[Request]) -> Iterator[StatementBatch]:
        for i, request in enumerate(requests):
            yield [(i, self._model.generate(request))]
