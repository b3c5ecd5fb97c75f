"""Diverse beam search (Vijayakumar et al., 2016) over any Hugging Face model: transformers 5 no longer has it.

The beams are split into groups. At each step the groups choose in turn, and a group pays `penalty` for every time an
earlier group has just chosen the same token at this step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

_IMPOSSIBLE = float("-inf")


def diverse_beams(
    model: Any, inputs: Any, *, beams: int, groups: int, penalty: float, max_new_tokens: int
) -> list[list[int]]:
    """The best `beams` continuations of one input, `beams // groups` of each group, as token lists without the
    input.
    """
    if beams % groups:
        raise ValueError(f"{beams} beams cannot be split into {groups} equal groups")
    search = _Search(model, inputs, beams // groups, groups, penalty)
    for _ in range(max_new_tokens):
        search.extend()
        if search.is_settled():
            break
    return search.best()


class _Finished(NamedTuple):
    """A continuation that ended, and the sum of its log-probabilities divided by its length."""

    score: float
    tokens: list[int]


class _Extension(NamedTuple):
    """A beam by its row, the token that is put behind it, and the log-probability of the two together."""

    row: int
    token: int
    score: float


class _Search:
    """All beams as they grow token by token; the rows of a group lie together."""

    def __init__(self, model: Any, inputs: Any, width: int, groups: int, penalty: float) -> None:
        import torch

        self._torch = torch
        self._width, self._groups, self._penalty = width, groups, penalty
        self._device = model.device
        ends = model.generation_config.eos_token_id
        self._end_ids = set(ends if isinstance(ends, list) else [ends] if ends is not None else [])
        prefix, self._next_logits = _decoder(model, inputs, width * groups)
        self._prefix_length = prefix.shape[1]
        self._tokens = prefix.expand(width * groups, -1).clone()
        # Within a group all but the first beam start out impossible, or they would all be the same.
        self._scores = torch.full((groups, width), _IMPOSSIBLE, device=self._device)
        self._scores[:, 0] = 0.0
        self._finished: list[list[_Finished]] = [[] for _ in range(groups)]

    def extend(self) -> None:
        """Put one token behind every beam."""
        torch = self._torch
        log_probabilities = torch.log_softmax(self._next_logits(self._tokens).float(), dim=-1)
        log_probabilities = log_probabilities.view(self._groups, self._width, -1)
        times_chosen = torch.zeros(log_probabilities.shape[-1], device=self._device)
        extensions: list[_Extension] = []
        for group in range(self._groups):
            extensions += self._extended(group, log_probabilities[group], times_chosen)
        new_tokens = torch.tensor([extension.token for extension in extensions], device=self._device)
        rows = [extension.row for extension in extensions]
        self._tokens = torch.cat([self._tokens[rows], new_tokens[:, None]], dim=1)
        scores = torch.tensor([extension.score for extension in extensions], device=self._device)
        self._scores = scores.view(self._groups, self._width)

    def _extended(self, group: int, log_probabilities: Any, times_chosen: Any) -> list[_Extension]:
        """The best extensions of a group's beams, counted in `times_chosen`; what ends here is put aside."""
        total = self._scores[group][:, None] + log_probabilities
        # The penalty steers the choice; the score that is kept is the model's own.
        ranked = (total - self._penalty * times_chosen[None, :]).view(-1)
        most = min(2 * self._width + len(self._end_ids), ranked.numel())
        extensions: list[_Extension] = []
        for place in self._torch.topk(ranked, most).indices.tolist():
            beam, token = divmod(place, total.shape[-1])
            score = float(total[beam, token])
            if score == _IMPOSSIBLE:
                continue
            row = group * self._width + beam
            if token in self._end_ids:
                ended = [*self._new_tokens(row), token]
                self._finished[group].append(_Finished(score / len(ended), ended))
            elif len(extensions) < self._width:
                extensions.append(_Extension(row, token, score))
                times_chosen[token] += 1
        # Too few continuations in a tiny vocabulary: the first beam again, with no chance.
        filler = _Extension(group * self._width, next(iter(self._end_ids), 0), _IMPOSSIBLE)
        return extensions + [filler] * (self._width - len(extensions))

    def _new_tokens(self, row: int) -> list[int]:
        tokens: list[int] = self._tokens[row, self._prefix_length :].tolist()
        return tokens

    def is_settled(self) -> bool:
        """Whether no open beam of any group can still overtake the finished ones."""
        length = self._tokens.shape[1] - self._prefix_length
        for finished, scores in zip(self._finished, self._scores, strict=True):
            if len(finished) < self._width:
                return False
            worst = sorted((one.score for one in finished), reverse=True)[self._width - 1]
            beaten = float(scores.max()) / length < worst
            if not beaten:
                return False
        return True

    def best(self) -> list[list[int]]:
        """The best continuations of each group, ended or not."""
        continuations: list[list[int]] = []
        for group, scores in enumerate(self._scores.tolist()):
            candidates = list(self._finished[group])
            for beam, score in enumerate(scores):
                if score > _IMPOSSIBLE:
                    tokens = self._new_tokens(group * self._width + beam)
                    candidates.append(_Finished(score / max(len(tokens), 1), tokens))
            candidates.sort(key=lambda candidate: candidate.score, reverse=True)
            continuations += [candidate.tokens for candidate in candidates[: self._width]]
        return continuations


def _decoder(model: Any, inputs: Any, beams: int) -> tuple[Any, Callable[[Any], Any]]:
    """The tokens that every beam starts with, and what gives the logits of the token after those so far."""
    import torch

    if not model.config.is_encoder_decoder:

        def after_prompt(tokens: Any) -> Any:
            return model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits[:, -1]

        return inputs["input_ids"], after_prompt

    start = model.generation_config.decoder_start_token_id
    if start is None:
        start = model.config.decoder_start_token_id
    encoded = model.get_encoder()(**inputs).last_hidden_state.expand(beams, -1, -1)
    mask = inputs["attention_mask"].expand(beams, -1)

    def after_start(tokens: Any) -> Any:
        return model(encoder_outputs=(encoded,), attention_mask=mask, decoder_input_ids=tokens).logits[:, -1]

    return torch.tensor([[start]], device=model.device), after_start
