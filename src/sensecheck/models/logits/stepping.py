"""A model step by step: what it thought of each token of an answer, the k best at a time."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import chain, pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.models.device.planning import padded, plan
from sensecheck.models.logits.examples import IGNORED, NO_GOLD, Encoded, Row

Mode = Literal["forced", "generated"]
Precision = Literal["model", "float32", "tf32", "bfloat16", "float16"]
MODES: tuple[str, ...] = get_args(Mode)
PRECISIONS: tuple[str, ...] = get_args(Precision)
_FLOAT32_BYTES = 256 << 20  # float32 copies of logits are made for this many bytes at a time


def needed(package: str) -> Any:
    """torch or transformers, or what to install."""
    try:
        return import_module(package)
    except ImportError:
        raise ImportError("collecting logits needs the extra `models`: pip install 'sensecheck[models]'") from None


@dataclass(frozen=True)
class Settings:
    """What a run writes of every step, and how its numbers are computed."""

    mode: Mode
    top_k: int
    precision: Precision
    max_new_tokens: int | None


@dataclass
class Steps:
    """The k best of every step of a batch, on their way to this machine."""

    numbers: list[int]
    values: Any
    """Probabilities, steps × k, ascending; beside them the raw logit at the label: steps × (k + 1)."""
    tokens: Any
    labels: list[Row]
    generated: Sequence[Row] = ()
    """Generated tokens, where they were generated."""
    ready: Any = None
    """An event that says when values and tokens have arrived; None where they are here."""

    @property
    def lengths(self) -> list[int]:
        return [len(row) for row in self.labels]


class Stepper:
    """A model with everything that decides which numbers come out."""

    def __init__(self, model: Any, tokenizer: Any, device: Any, settings: Settings) -> None:
        self.torch = needed("torch")
        self.model, self.device, self.settings = model, device, settings
        self.seq2seq = bool(model.config.is_encoder_decoder)
        pads = (getattr(known, "pad_token_id", None) for known in (model.config, tokenizer))
        self.pad = next((int(pad) for pad in pads if pad is not None), 0)
        self.cuts_logits = "logits_to_keep" in inspect.signature(model.forward).parameters

    def fingerprint(self, encoded: Sequence[Encoded]) -> dict[str, Any]:
        """What must be the same for an interrupted run to go on."""
        digest = hashlib.sha256()
        for e in encoded:
            digest.update(f"{e.source}{e.target}".encode())
        return {
            "model": f"{type(self.model).__name__} {getattr(self.model.config, '_name_or_path', '')}".strip(),
            "weights": sum(p.numel() for p in self.model.parameters()),
            **asdict(self.settings),
            "examples": len(encoded),
            "sha256": digest.hexdigest(),
        }

    def steps(self, encoded: Sequence[Encoded], remaining: Sequence[int], budget: int) -> Iterator[Steps]:
        """Batch after batch; each is handed over when the next one is under way, and may be written meanwhile."""
        with self.torch.inference_mode(), self._in_precision():
            # A pair is there when its second is: the next batch has begun.
            for steps, _ in pairwise(chain(self._batches(encoded, remaining, budget), (None,))):
                assert steps is not None
                yield steps

    def _batches(self, encoded: Sequence[Encoded], remaining: Sequence[int], budget: int) -> Iterator[Steps]:
        queue = [[remaining[i] for i in batch] for batch in plan([encoded[i].lengths for i in remaining], budget)]
        read = self._forced if self.settings.mode == "forced" else self._generated
        while queue:
            numbers = queue.pop(0)
            batch = [encoded[i] for i in numbers]
            try:
                yield read(numbers, batch)
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
                queue = [half for waiting in (numbers, *queue) for half in _halves(waiting)]

    @contextmanager
    def _in_precision(self) -> Iterator[None]:
        torch, precision = self.torch, self.settings.precision
        half = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision)
        rounds = half is not None and next(self.model.parameters()).dtype != half
        precision_before = torch.get_float32_matmul_precision()
        if precision in ("tf32", "float32"):
            torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        try:
            with torch.autocast(self.device.type, dtype=half) if rounds else nullcontext():
                yield
        finally:
            torch.set_float32_matmul_precision(precision_before)

    # -- teacher-forced --------------------------------------------------------------------------------------

    def _forced(self, numbers: list[int], batch: list[Encoded]) -> Steps:
        targets = [e.target for e in batch]
        if self.seq2seq:
            ids, mask = self._padded([e.source for e in batch], self.pad)
            gold, _ = self._padded(targets, IGNORED)
            logits = self.model(
                input_ids=ids, attention_mask=mask, decoder_input_ids=self._shifted(gold), use_cache=False
            ).logits
            starts = [0] * len(batch)
        else:
            # Padding on the right: no token sees what follows it, so nothing can see the padding.
            ids, mask = self._padded([e.source + e.target for e in batch], self.pad)
            first = min(len(e.source) for e in batch) - 1
            logits_option = {"logits_to_keep": ids.shape[1] - first} if self.cuts_logits else {}
            logits = self.model(input_ids=ids, attention_mask=mask, use_cache=False, **logits_option).logits
            # The step before a token predicts it.
            offset = ids.shape[1] - logits.shape[1]
            starts = [len(e.source) - 1 - offset for e in batch]
        width = logits.shape[1]
        firsts = [row * width + start for row, start in enumerate(starts)]
        step_rows = np.concatenate([at + np.arange(len(row)) for at, row in zip(firsts, targets, strict=True)])
        values, tokens = self._reduced(logits.reshape(-1, logits.shape[-1]), step_rows, np.concatenate(targets))
        return self._start_copy(Steps(numbers, values, tokens, targets))

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

    def _generated(self, numbers: list[int], batch: list[Encoded]) -> Steps:
        torch = self.torch
        ids, mask = self._padded([e.source for e in batch], self.pad, left=not self.seq2seq)
        longest_gold = max(len(e.target) for e in batch)
        reduced_steps: list[tuple[Any, Any]] = []
        golds = [e.target for e in batch]

        def watch(_ids: Any, scores: Any) -> Any:
            step = len(reduced_steps)
            gold = np.asarray([g[step] if step < len(g) else NO_GOLD for g in golds])
            reduced_steps.append(self._reduced(scores, np.arange(len(batch)), gold))
            return scores

        output_ids = self.model.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=False,
            num_beams=1,
            # Room for the whole gold answer, or a right answer could not be finished.
            max_new_tokens=max(self.settings.max_new_tokens or longest_gold + 16, longest_gold),
            pad_token_id=self.pad,
            logits_processor=needed("transformers").LogitsProcessorList([watch]),
        )
        steps = len(reduced_steps)
        ends = self.model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, (list, tuple)) else [ends])
        generated = [_until(row, stops) for row in output_ids[:, output_ids.shape[1] - steps :].tolist()]
        rows = self._tensor(np.concatenate([i * steps + np.arange(len(row)) for i, row in enumerate(generated)]))
        values, tokens = (
            torch.stack(part, dim=1).flatten(0, 1).index_select(0, rows) for part in zip(*reduced_steps, strict=True)
        )
        labels = [(gold + [NO_GOLD] * len(row))[: len(row)] for gold, row in zip(golds, generated, strict=True)]
        return self._start_copy(Steps(numbers, values, tokens, labels, generated))

    # -- to and from the device ------------------------------------------------------------------------------

    def _tensor(self, values: Any) -> Any:
        tensor = self.torch.as_tensor(np.asarray(values, dtype=np.int64))
        if self.device.type == "cuda":
            return tensor.pin_memory().to(self.device, non_blocking=True)
        return tensor.to(self.device)

    def _padded(self, rows: Sequence[Row], fill: int, left: bool = False) -> tuple[Any, Any]:
        """The rows at one width, and where they stand in it."""
        width = padded(max(map(len, rows)))
        ids = np.full((len(rows), width), fill, dtype=np.int64)
        mask = np.zeros((len(rows), width), dtype=np.int64)
        for i, row in enumerate(rows):
            filled = slice(width - len(row), width) if left else slice(0, len(row))
            ids[i, filled], mask[i, filled] = row, 1
        return self._tensor(ids), self._tensor(mask)

    def _start_copy(self, steps: Steps) -> Steps:
        """Start the copy to this machine and do not wait for it."""
        on_device = (steps.values, steps.tokens)
        if self.device.type == "cuda":
            steps.values, steps.tokens = (
                self.torch.empty(t.shape, dtype=t.dtype, pin_memory=True).copy_(t, non_blocking=True) for t in on_device
            )
            steps.ready = self.torch.cuda.Event()
            steps.ready.record()
        else:
            steps.values, steps.tokens = (t.cpu() for t in on_device)
        return steps


def _halves(batch: list[int]) -> list[list[int]]:
    middle = (len(batch) + 1) // 2
    return [half for half in (batch[:middle], batch[middle:]) if half]


def _until(row: Row, stops: set[Any]) -> Row:
    """The row up to and with its first end token."""
    return next((row[: i + 1] for i, token in enumerate(row) if token in stops), row)
