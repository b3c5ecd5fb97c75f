"""Diverse beam search (Vijayakumar et al., 2016) over any Hugging Face model: transformers 5 no longer has it.

The beams are split into groups. At each step the groups choose in turn, and a group pays `penalty` for every time an
earlier group has just chosen the same token at this step.
"""

from __future__ import annotations

from typing import Any


def diverse_beams(
    model: Any,
    inputs: Any,
    *,
    beams: int,
    groups: int,
    penalty: float,
    max_new_tokens: int,
    length_penalty: float = 1.0,
) -> list[list[int]]:
    """The best `beams` continuations of one input, `beams // groups` of each group, as token lists without the
    input.
    """
    import torch

    if beams % groups:
        raise ValueError(f"{beams} beams cannot be split into {groups} equal groups")
    width = beams // groups
    device = model.device
    config = model.generation_config
    ends = config.eos_token_id
    end_ids = set(ends if isinstance(ends, list) else [ends] if ends is not None else [])
    seq2seq = bool(model.config.is_encoder_decoder)
    if seq2seq:
        encoder = model.get_encoder()(**inputs)
        start = config.decoder_start_token_id
        if start is None:
            start = model.config.decoder_start_token_id
        prefix = torch.tensor([[start]], device=device)
        memory = encoder.last_hidden_state.expand(beams, -1, -1)
        mask = inputs["attention_mask"].expand(beams, -1)
    else:
        prefix = inputs["input_ids"]
    length = prefix.shape[1]
    tokens = prefix.expand(beams, -1).clone()
    # Within a group all but the first beam start out impossible, or they would all be the same.
    scores = torch.full((groups, width), float("-inf"), device=device)
    scores[:, 0] = 0.0
    finished: list[list[tuple[float, list[int]]]] = [[] for _ in range(groups)]

    for step in range(max_new_tokens):
        if seq2seq:
            out = model(encoder_outputs=(memory,), attention_mask=mask, decoder_input_ids=tokens)
        else:
            out = model(input_ids=tokens, attention_mask=torch.ones_like(tokens))
        logp = torch.log_softmax(out.logits[:, -1].float(), dim=-1).view(groups, width, -1)
        vocabulary = logp.shape[-1]
        used = torch.zeros(vocabulary, device=device)
        rows: list[int] = []
        chosen_tokens: list[int] = []
        new_scores = torch.full_like(scores, float("-inf"))
        for group in range(groups):
            total = scores[group][:, None] + logp[group]
            # The penalty steers the choice; the score that is kept is the model's own.
            ranked = (total - penalty * used[None, :]).view(-1)
            best = torch.topk(ranked, min(2 * width + len(end_ids), ranked.numel())).indices.tolist()
            kept = 0
            for place in best:
                beam, token = divmod(place, vocabulary)
                value = float(total[beam, token])
                if value == float("-inf"):
                    continue
                if token in end_ids:
                    text = tokens[group * width + beam, length:].tolist()
                    finished[group].append((value / (step + 1) ** length_penalty, [*text, token]))
                    continue
                if kept < width:
                    rows.append(group * width + beam)
                    chosen_tokens.append(token)
                    new_scores[group, kept] = value
                    used[token] += 1
                    kept += 1
            while kept < width:  # too few continuations in a tiny vocabulary: repeat the last with no chance
                rows.append(group * width)
                chosen_tokens.append(next(iter(end_ids), 0))
                kept += 1
        tokens = torch.cat([tokens[rows], torch.tensor(chosen_tokens, device=device)[:, None]], dim=1)
        scores = new_scores
        if all(len(done) >= width and _cannot_improve(done, scores[g], step + 1, length_penalty, width)
               for g, done in enumerate(finished)):  # fmt: skip
            break

    results: list[list[int]] = []
    for group in range(groups):
        done = finished[group]
        for beam in range(width):
            value = float(scores[group, beam])
            if value > float("-inf"):
                text = tokens[group * width + beam, length:].tolist()
                done.append((value / max(len(text), 1) ** length_penalty, text))
        done.sort(key=lambda pair: pair[0], reverse=True)
        results += [text for _, text in done[:width]]
    return results


def _cannot_improve(
    done: list[tuple[float, list[int]]], scores: Any, length: int, length_penalty: float, width: int
) -> bool:
    worst = sorted((value for value, _ in done), reverse=True)[width - 1]
    return bool(float(scores.max()) / length**length_penalty < worst)
