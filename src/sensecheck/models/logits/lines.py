"""The lines of a `.logits` file, one an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from sensecheck.inputs.errors import InputError
from sensecheck.inputs.reasons import Reason
from sensecheck.models.logits.examples import NO_GOLD, Encoded, Row
from sensecheck.models.logits.fixed_width import integer_rows, probability_rows, stretch
from sensecheck.models.logits.stepping import Steps


class Lines:
    """Writes the steps of answers as lines; with a tokenizer its tokens and texts too."""

    def __init__(self, tokenizer: Any, texts: bool) -> None:
        self.tokenizer = tokenizer
        self.words = _Words(tokenizer) if texts and tokenizer is not None else None

    def of(self, steps: Steps, encoded: Sequence[Encoded]) -> list[bytes]:
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
            fields = {**example.other_fields, "input_str": example.text}
            parts = [json.dumps(fields, ensure_ascii=False, default=str)[:-1]]
            if self.words is not None:
                answer = steps.generated[place] if steps.generated else predicted[start:stop].tolist()
                parts.append(f'"tokens":[{self.words.joined(labels)}],"predicted":[{self.words.joined(answer)}]')
            if steps.generated:
                parts.append(self._answer_fields(example, steps.generated[place]))
            parts.append(f'"labels":{labels},"logit_at_label":{_json_numbers(at_label[start:stop])},"top_logits":[')
            probabilities, tokens = (stretch(text, start, stop) for text in (probability_text, token_text))
            lines.append(b'%b%b],"top_logit_idxs":[%b]}' % (",".join(parts).encode(), probabilities, tokens))
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
