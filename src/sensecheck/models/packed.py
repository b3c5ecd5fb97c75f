"""BERT-family encoders without padding: all tokens of a batch in one row, attention cut at the sequence borders.

Padding is what a classifier of short texts spends most of its time on. Here a batch is a flat list of tokens with the
places where sequences begin; every matrix product sees real tokens only, query, key and value are one product, and the
last layer computes nothing but the first token of each sequence, which is all the classification head reads.

Needs torch; on CUDA attention is `torch.nn.attention.varlen`, elsewhere each sequence is attended to by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SUPPORTED = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra")


@dataclass
class _Layer:
    qkv_weight: Any
    qkv_bias: Any
    out: Any
    attention_norm: Any
    up: Any
    down: Any
    output_norm: Any


class PackedEncoder:
    """The forward pass of a Hugging Face sequence classifier over packed tokens, sharing the model's own weights."""

    def __init__(self, model: Any) -> None:
        import torch

        kind = model.config.model_type
        if kind not in SUPPORTED:
            raise ValueError(f"no packed path for {kind!r} models: they are {', '.join(SUPPORTED)}")
        config = model.config
        self.kind = kind
        self.positions_from = 0
        if kind == "distilbert":
            body = model.distilbert
            blocks = [
                (b.attention.q_lin, b.attention.k_lin, b.attention.v_lin, b.attention.out_lin, b.sa_layer_norm,
                 b.ffn.lin1, b.ffn.lin2, b.output_layer_norm)
                for b in body.transformer.layer
            ]  # fmt: skip
            heads, activation = config.n_heads, config.activation
        else:
            body = getattr(model, model.base_model_prefix)
            blocks = [
                (b.attention.self.query, b.attention.self.key, b.attention.self.value, b.attention.output.dense,
                 b.attention.output.LayerNorm, b.intermediate.dense, b.output.dense, b.output.LayerNorm)
                for b in body.encoder.layer
            ]  # fmt: skip
            heads, activation = config.num_attention_heads, config.hidden_act
            if kind in ("roberta", "xlm-roberta", "camembert"):
                self.positions_from = config.pad_token_id + 1
        kind_of_positions = getattr(config, "position_embedding_type", "absolute") or "absolute"
        if kind_of_positions != "absolute":
            raise ValueError(f"no packed path for {kind_of_positions} positions")
        if activation != "gelu":
            raise ValueError(f"no packed path for the activation {activation!r}")
        self.heads = heads
        self.embeddings = body.embeddings
        self.project = getattr(body, "embeddings_project", None)
        self.layers = [
            _Layer(
                torch.cat([q.weight, k.weight, v.weight]).detach(), torch.cat([q.bias, k.bias, v.bias]).detach(),
                out, norm, up, down, last,
            )
            for q, k, v, out, norm, up, down, last in blocks
        ]  # fmt: skip
        self.model = model
        self._attend = self._attention()

    def _attention(self) -> Callable[..., Any]:
        import torch

        weight = self.layers[0].qkv_weight
        if weight.is_cuda and weight.dtype in (torch.bfloat16, torch.float16):
            from torch.nn.attention.varlen import varlen_attn

            def varlen(q: Any, k: Any, v: Any, q_starts: Any, k_starts: Any, q_longest: int, k_longest: int) -> Any:
                return varlen_attn(q, k, v, q_starts, k_starts, q_longest, k_longest)

            def copied(q: Any, k: Any, v: Any, *rest: Any) -> Any:
                return varlen(q.contiguous(), k.contiguous(), v.contiguous(), *rest)

            # Query, key and value lie side by side in one product. Kernels that read them there save three copies.
            sample = torch.randn(64, 3, self.heads, weight.shape[1] // self.heads, device=weight.device).to(
                weight.dtype
            )
            starts = torch.tensor([0, 40, 64], device=weight.device, dtype=torch.int32)
            parts = (*sample.unbind(1), starts, starts, 40, 40)
            try:
                apart = float((varlen(*parts).float() - copied(*parts).float()).abs().max())
            except RuntimeError:
                return copied
            return varlen if apart < 1e-2 else copied

        def one_by_one(q: Any, k: Any, v: Any, q_starts: Any, k_starts: Any, q_longest: int, k_longest: int) -> Any:
            out = torch.empty_like(q)
            q_at, k_at = q_starts.tolist(), k_starts.tolist()
            for i in range(len(q_at) - 1):
                part = torch.nn.functional.scaled_dot_product_attention(
                    q[q_at[i] : q_at[i + 1]].transpose(0, 1).unsqueeze(0),
                    k[k_at[i] : k_at[i + 1]].transpose(0, 1).unsqueeze(0),
                    v[k_at[i] : k_at[i + 1]].transpose(0, 1).unsqueeze(0),
                )
                out[q_at[i] : q_at[i + 1]] = part.squeeze(0).transpose(0, 1)
            return out

        return one_by_one

    def _embed(self, ids: Any, types: Any, positions: Any) -> Any:
        e = self.embeddings
        hidden = e.word_embeddings(ids) + e.position_embeddings(positions + self.positions_from)
        if hasattr(e, "token_type_embeddings"):
            hidden = hidden + e.token_type_embeddings(types)
        hidden = e.LayerNorm(hidden)
        return hidden if self.project is None else self.project(hidden)

    def logits(self, ids: Any, types: Any, positions: Any, starts: Any, longest: int) -> Any:
        """Packed tokens → one row of logits a sequence. `starts` has one entry more than there are sequences."""
        import torch
        from torch.nn import functional

        hidden = self._embed(ids, types, positions)
        width = hidden.shape[-1]
        head = width // self.heads
        firsts = starts[:-1].long()
        q_starts, q_longest = starts, longest
        for number, layer in enumerate(self.layers):
            qkv = functional.linear(hidden, layer.qkv_weight, layer.qkv_bias)
            q, k, v = qkv.view(-1, 3, self.heads, head).unbind(1)
            if number == len(self.layers) - 1:
                # Only the first token of each sequence is read from here on.
                q, hidden = q[firsts], hidden[firsts]
                q_starts = torch.arange(len(firsts) + 1, device=starts.device, dtype=starts.dtype)
                q_longest = 1
            mixed = self._attend(q, k, v, q_starts, starts, q_longest, longest)
            hidden = layer.attention_norm(hidden + layer.out(mixed.reshape(-1, width)))
            hidden = layer.output_norm(hidden + layer.down(functional.gelu(layer.up(hidden))))
        return self._classify(hidden)

    def _classify(self, first: Any) -> Any:
        import torch

        model = self.model
        if self.kind == "distilbert":
            return model.classifier(torch.relu(model.pre_classifier(first)))
        if self.kind == "electra":
            return model.classifier.out_proj(torch.nn.functional.gelu(model.classifier.dense(first)))
        if self.kind == "bert":
            return model.classifier(torch.tanh(model.bert.pooler.dense(first)))
        return model.classifier.out_proj(torch.tanh(model.classifier.dense(first)))
