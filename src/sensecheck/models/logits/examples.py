"""Examples as a model takes them: the tokens of an input, and of its gold answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sensecheck.inputs.errors import InputError, shown
from sensecheck.inputs.reasons import Reason

Row = list[int]
Example = Mapping[str, Any] | tuple[str, str]

IGNORED = -100
"""The label that PyTorch's losses ignore; readers leave such steps out."""
NO_GOLD = -1
"""The label of a generated step beyond the gold answer's end: no token has this number, so it counts as wrong."""

_OWN_FIELDS = (
    "input_str", "top_logits", "top_logit_idxs", "labels", "logit_at_label", "tokens", "predicted", "generated",
    "target", "exact",
)  # fmt: skip


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

    @property
    def lengths(self) -> tuple[int, int]:
        return len(self.source), len(self.target)


def encode(example: Example, number: int, model: Any, tokenizer: Any, max_source_tokens: int | None) -> Encoded:
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
    source = source[:max_source_tokens]
    return _not_empty(Encoded(source, target, example["input"], example["target"], other_fields), number)


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
    return _not_empty(Encoded(source[:max_source_tokens], target, text, gold, other_fields), number)


def _other_fields(example: Mapping[str, Any], used: Sequence[str], number: int) -> dict[str, Any]:
    other_fields = {str(k): v for k, v in example.items() if k not in used}
    for name in other_fields:
        if name in _OWN_FIELDS:
            raise InputError(
                record=number, field=name, expected="no field of this name", got="one",
                hint="The output has a field of this name of its own: rename yours.", reason=Reason.RESERVED_NAME,
            )  # fmt: skip
    return other_fields


def _not_empty(encoded: Encoded, number: int) -> Encoded:
    for name, row in (("target", encoded.target), ("input", encoded.source)):
        if not row:
            raise InputError(record=number, field=name, expected="at least one token", got="none", reason=Reason.EMPTY)
    return encoded
