"""Hugging Face models as M and G. Nothing here is imported before it is used: torch and transformers are an extra."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from sensecheck.models.calls import Identity
from sensecheck.models.classifiers import Answer, Batch, Pair, label_of, read_answer
from sensecheck.models.generators import Request, StatementBatch
from sensecheck.models.packed import SUPPORTED, PackedEncoder
from sensecheck.models.prompts import NLI_PROMPT, STATEMENT_PROMPTS, fill

Floats = npt.NDArray[np.float32]


class MissingExtraError(ImportError):
    """torch and transformers are not installed."""


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as missing:
        raise MissingExtraError(
            f"{missing.name} is not installed: Hugging Face models need the extra, pip install 'sensecheck[models]'"
        ) from missing
    return torch, transformers


def configuration(path: str, revision: str | None = None, offline: bool = False) -> Any:
    """A model's configuration; a name that leads nowhere is said in one sentence."""
    _, transformers = _libraries()
    options: dict[str, Any] = {"local_files_only": offline}
    if revision is not None:
        options["revision"] = revision
    try:
        return transformers.AutoConfig.from_pretrained(path, **options)
    except OSError as error:
        raise ValueError(
            f"{path!r} is no model folder here and could not be had from the hub ({type(error).__name__}); "
            "give a folder with config.json, or a name while the hub can be reached"
        ) from None


def label_order(id2label: dict[int, str], given: Sequence[str] | None = None) -> list[int]:
    """order[k] = our label for the model's class k. From the names the model itself gives, or those that are given."""
    names = list(given) if given is not None else [str(id2label[k]) for k in sorted(id2label)]
    try:
        order = [label_of(name) for name in names]
    except ValueError:
        order = []
    if len(names) not in (2, 3) or None in order or len(set(order)) != len(names) or 0 not in order:
        raise ValueError(
            f"the model's classes are called {names}: that is no order of entailment, neutral and contradiction; "
            "pass the order yourself (--label-order entailment,neutral,contradiction)"
        )
    return [int(k) for k in order if k is not None]


@dataclass
class Truncated:
    """Pairs that were longer than the model's positions; they are cut, and counted."""

    pairs: int = 0


def length_batches(lengths: Sequence[int], tokens: int, padded: bool) -> list[list[int]]:
    """Indices in batches of about `tokens` tokens, longest first; padded batches count their longest row for each."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    batches: list[list[int]] = []
    current: list[int] = []
    used = 0
    for i in order:
        cost = (len(current) + 1) * lengths[current[0]] if padded and current else used + lengths[i]
        if current and cost > tokens:
            batches.append(current)
            current, used = [], 0
        current.append(i)
        used += lengths[i]
    if current:
        batches.append(current)
    return batches


class SequenceClassifier:
    """A Hugging Face sequence classifier as M: packed without padding where the architecture allows it, sorted by
    length in batches of a token budget elsewhere. Tokenising runs ahead in a thread; an out-of-memory batch is
    halved.
    """

    def __init__(
        self, path: str, *, revision: str | None = None, device: str | None = None, dtype: str | None = None,
        label_names: Sequence[str] | None = None, tokens: int | None = None, packed: bool | None = None,
        chunk: int = 8192, compile: bool = False, recheck: float = 0.0, offline: bool = False,
    ) -> None:  # fmt: skip
        """`recheck`: pairs whose two best logits are closer than this are computed again in float32 (16-bit runs
        only).
        """
        torch, transformers = _libraries()
        self._torch = torch
        options: dict[str, Any] = {"local_files_only": offline}
        if revision is not None:
            options["revision"] = revision
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if dtype is None:
            dtype = "bfloat16" if self.device.type == "cuda" else "float32"
        self.dtype = getattr(torch, dtype)
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
        loaded = transformers.AutoModelForSequenceClassification.from_pretrained(path, dtype=torch.float32, **options)
        loaded.eval()
        self.order = label_order(loaded.config.id2label, label_names)
        self._exact = loaded if recheck and self.dtype != torch.float32 else None
        self._recheck = recheck
        if self._exact is not None:
            import copy

            self._exact = self._exact.to(self.device)
            loaded = copy.deepcopy(loaded)
        self._model = loaded.to(self.device, self.dtype)
        kind = loaded.config.model_type
        self.packed = (kind in SUPPORTED and self.device.type == "cuda") if packed is None else packed
        self._encoder = PackedEncoder(self._model) if self.packed else None
        self._run = self._encoder.logits if self._encoder is not None else None
        if compile and self._run is not None:
            self._run = torch.compile(self._run, dynamic=True)
        self.tokens = tokens or (32768 if self.device.type == "cuda" else 2048)
        self._chunk = chunk
        positions = getattr(loaded.config, "max_position_embeddings", 512)
        if kind in ("roberta", "xlm-roberta", "camembert"):
            positions -= loaded.config.pad_token_id + 1
        self._longest = min(positions, getattr(self._tokenizer, "model_max_length", positions) or positions)
        self._fast = getattr(self._tokenizer, "backend_tokenizer", None)
        # RoBERTa has one token type and its tokenizers may count two; models without types ignore what stands here.
        self._typed = (
            "token_type_ids" in self._tokenizer.model_input_names and getattr(loaded.config, "type_vocab_size", 0) > 1
        )
        self.truncated = Truncated()
        self.halved = 0
        self.rechecked = 0
        commit = getattr(loaded.config, "_commit_hash", None) or revision or ""
        # Precision is part of what an answer depends on: a close call may fall the other way.
        self.identity = Identity(path, commit, f"sequence classifier, {dtype}, order {self.order}")

    # -- tokens -----------------------------------------------------------------------------------------------

    def _encode(self, pairs: Sequence[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        if self._fast is not None:
            # The wrapper of transformers spends several times as long on a pair as the tokenizer itself.
            self._fast.no_padding()
            self._fast.enable_truncation(self._longest, strategy="longest_first")
            encodings = self._fast.encode_batch_fast(list(pairs), add_special_tokens=True)
            ids = [e.ids for e in encodings]
            types = [e.type_ids for e in encodings] if self._typed else ids
        else:
            out = self._tokenizer(
                [p for p, _ in pairs], [h for _, h in pairs], truncation="longest_first", max_length=self._longest
            )
            ids = out["input_ids"]
            types = out.get("token_type_ids") if self._typed else ids
        self.truncated.pairs += sum(len(row) >= self._longest for row in ids)
        return ids, types

    def _prepare(self, pairs: Sequence[Pair]) -> Iterator[tuple[list[int], list[list[int]], list[list[int]]]]:
        """(indices, ids, types) of every batch, chunk by chunk: the file is never tokenised as a whole."""
        for start in range(0, len(pairs), self._chunk):
            ids, types = self._encode(pairs[start : start + self._chunk])
            for rows in length_batches([len(row) for row in ids], self.tokens, padded=not self.packed):
                yield [start + i for i in rows], [ids[i] for i in rows], [types[i] for i in rows]

    # -- logits -----------------------------------------------------------------------------------------------

    def _tensors(self, ids: list[list[int]], types: list[list[int]]) -> tuple[Any, ...]:
        torch = self._torch
        lengths = np.fromiter(map(len, ids), dtype=np.int64, count=len(ids))
        starts = np.zeros(len(ids) + 1, dtype=np.int32)
        np.cumsum(lengths, out=starts[1:])
        total = int(starts[-1])
        flat = np.fromiter(chain.from_iterable(ids), dtype=np.int64, count=total)
        kinds = np.zeros(total, dtype=np.int64)
        if self._typed:
            kinds = np.fromiter(chain.from_iterable(types), dtype=np.int64, count=total)
        places = np.arange(total, dtype=np.int64) - np.repeat(starts[:-1].astype(np.int64), lengths)
        packed = torch.from_numpy(np.stack([flat, kinds, places]))
        marks = torch.from_numpy(starts)
        if self.device.type == "cuda":
            packed = packed.pin_memory().to(self.device, non_blocking=True)
            marks = marks.pin_memory().to(self.device, non_blocking=True)
        return packed[0], packed[1], packed[2], marks, int(lengths.max())

    def _forward(self, ids: list[list[int]], types: list[list[int]], exact: bool = False) -> Any:
        torch = self._torch
        if self._run is not None and not exact:
            return self._run(*self._tensors(ids, types))
        model = self._exact if exact and self._exact is not None else self._model
        longest = max(map(len, ids))
        pad = self._tokenizer.pad_token_id or 0
        grid = np.full((len(ids), longest), pad, dtype=np.int64)
        kinds = np.zeros_like(grid)
        mask = np.zeros_like(grid)
        for row, (tokens, parts) in enumerate(zip(ids, types, strict=True)):
            grid[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
            if self._typed:
                kinds[row, : len(tokens)] = parts
        inputs = {
            "input_ids": torch.from_numpy(grid).to(self.device),
            "attention_mask": torch.from_numpy(mask).to(self.device),
        }
        if "token_type_ids" in self._tokenizer.model_input_names:
            inputs["token_type_ids"] = torch.from_numpy(kinds).to(self.device)
        return model(**inputs).logits

    def _careful(self, ids: list[list[int]], types: list[list[int]]) -> Any:
        """The forward pass; a batch that does not fit in memory is halved until it does."""
        torch = self._torch
        try:
            return self._forward(ids, types)
        except torch.OutOfMemoryError:
            if len(ids) == 1:
                raise
        torch.cuda.empty_cache()
        self.halved += 1
        middle = len(ids) // 2
        return torch.cat([self._careful(ids[:middle], types[:middle]), self._careful(ids[middle:], types[middle:])])

    def _finished(self, indices: list[int], ids: list[list[int]], types: list[list[int]], raw: Any) -> Batch:
        values = raw.float().cpu().numpy()
        if self._exact is not None:
            two = np.sort(values, axis=1)[:, -2:]
            close = np.flatnonzero(two[:, 1] - two[:, 0] < self._recheck)
            for start in range(0, len(close), 256):
                part = close[start : start + 256]
                again = self._forward([ids[i] for i in part], [types[i] for i in part], exact=True)
                values[part] = again.float().cpu().numpy()
            self.rechecked += len(close)
        ours = np.full((len(values), 3), -np.inf, dtype=np.float32)
        ours[:, self.order] = values
        labels = ours.argmax(axis=1).tolist()
        rows = ours.tolist()
        return [(i, Answer(label, tuple(row))) for i, label, row in zip(indices, labels, rows, strict=True)]

    def stream(self, pairs: Sequence[Pair]) -> Iterator[Batch]:
        torch = self._torch
        ready: queue.Queue[Any] = queue.Queue(maxsize=8)
        stop = threading.Event()

        def tokenise() -> None:
            try:
                for item in self._prepare(pairs):
                    while not stop.is_set():
                        try:
                            ready.put(item, timeout=0.2)
                            break
                        except queue.Full:
                            continue
                    if stop.is_set():
                        return
                ready.put(None)
            except BaseException as error:
                ready.put(error)

        worker = threading.Thread(target=tokenise, name="tokenise", daemon=True)
        worker.start()
        try:
            waiting: tuple[list[int], list[list[int]], list[list[int]], Any] | None = None
            with torch.inference_mode():
                while (item := ready.get()) is not None:
                    if isinstance(item, BaseException):
                        raise item
                    indices, ids, types = item
                    raw = self._careful(ids, types)
                    # The device works on this batch while the one before it is read back.
                    if waiting is not None:
                        yield self._finished(*waiting)
                    waiting = (indices, ids, types, raw)
                if waiting is not None:
                    yield self._finished(*waiting)
        finally:
            stop.set()

    def embeddings(self, texts: Sequence[str]) -> Floats:
        """The first position of the last layer on each text alone, as the distance analyses use it."""
        torch = self._torch
        body = getattr(self._model, self._model.base_model_prefix)
        out: list[Floats | None] = [None] * len(texts)
        lengths = [len(text) for text in texts]
        for rows in length_batches(lengths, 20_000, padded=True):
            inputs = self._tokenizer(
                [texts[i] for i in rows], padding=True, truncation=True, max_length=self._longest, return_tensors="pt"
            ).to(self.device)
            with torch.inference_mode():
                first = body(**inputs)[0][:, 0].float().cpu().numpy()
            for i, vector in zip(rows, first, strict=True):
                out[i] = vector
        return np.array(out, dtype=np.float32)


class PromptedModel:
    """A seq2seq or causal language model as M (by prompt) and as G (by prompt and decoding)."""

    def __init__(
        self, path: str, *, revision: str | None = None, device: str | None = None, dtype: str | None = None,
        prompt: str = NLI_PROMPT, read: Callable[[str], int | None] = read_answer,
        prompts: dict[bool, str] | None = None, batch: int = 16, max_new_tokens: int = 40, offline: bool = False,
    ) -> None:  # fmt: skip
        torch, transformers = _libraries()
        self._torch = torch
        options: dict[str, Any] = {"local_files_only": offline}
        if revision is not None:
            options["revision"] = revision
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if dtype is None:
            dtype = "bfloat16" if self.device.type == "cuda" else "float32"
        config = transformers.AutoConfig.from_pretrained(path, **options)
        self.encoder_decoder = bool(config.is_encoder_decoder)
        kind = transformers.AutoModelForSeq2SeqLM if self.encoder_decoder else transformers.AutoModelForCausalLM
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
        self._tokenizer.padding_side = "right" if self.encoder_decoder else "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._model = kind.from_pretrained(path, dtype=getattr(torch, dtype), **options).to(self.device).eval()
        self._prompt, self._read = prompt, read
        self._prompts = prompts or STATEMENT_PROMPTS
        self._batch, self._new = batch, max_new_tokens
        commit = getattr(config, "_commit_hash", None) or revision or ""
        settings = f"{prompt}\n[{read.__name__} greedy max_new_tokens={max_new_tokens} {dtype}]"
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
        return self._tokenizer(prompts, padding=True, truncation=True, return_tensors="pt").to(self.device)

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
            with self._torch.inference_mode():
                output = self._model.generate(**inputs, do_sample=False, max_new_tokens=self._new)
            texts = self._texts(output, inputs)
            yield [(i, Answer(self._read(text), text=text)) for i, text in zip(rows, texts, strict=True)]

    def generator(self) -> PromptedGenerator:
        """The same weights as G."""
        return PromptedGenerator(self)

    def generate(self, request: Request) -> list[str]:
        """n texts for a request: plain beam search, our diverse beam search, or sampling with its own seed."""
        from sensecheck.models.decoding import diverse_beams

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
                    max_new_tokens=self._new,
                )
            elif request.mode == "sample":
                torch.manual_seed(request.seed or 0)
                output = self._model.generate(
                    **inputs, do_sample=True, top_k=40, temperature=0.9, num_return_sequences=request.n,
                    max_new_tokens=self._new,
                )  # fmt: skip
            elif request.mode == "diverse":
                groups = request.n // 2 if request.n % 2 == 0 else request.n
                found = diverse_beams(
                    self._model, inputs, beams=request.n, groups=groups, penalty=0.9, max_new_tokens=self._new
                )
                return [text.strip() for text in self._tokenizer.batch_decode(found, skip_special_tokens=True)]
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
