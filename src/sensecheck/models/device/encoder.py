"""BERT-family encoders without padding: all tokens of a batch in one row, attention cut at the sequence borders.

Padding is what a classifier of short texts spends most of its time on. Here a batch is a flat list of tokens with the
places where sequences begin; every matrix product sees real tokens only, query, key and value are one product, and the
last layer computes nothing but the first token of each sequence, which is all the classification head reads.

In 16 bits only the matrix products and attention are rounded: embeddings, the residual stream, layer norms and the
classification head stay in float32, which costs nothing where the norm is one fused kernel and nearly halves the
error of the logits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SUPPORTED = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra")


@dataclass
class _Linear:
    weight: Any
    bias: Any


@dataclass
class _Layer:
    qkv: _Linear
    out: _Linear
    attention_norm: Any
    up: _Linear
    down: _Linear
    output_norm: Any


class PackedEncoder:
    """The forward pass of a Hugging Face sequence classifier (float32, on its device) over packed tokens.

    With `dtype` in 16 bits it holds its own copies of the matrices; everything else is shared with the model.
    """

    def __init__(self, model: Any, dtype: Any = None) -> None:
        import torch

        kind = model.config.model_type
        if kind not in SUPPORTED:
            raise ValueError(
                f"{kind!r} models cannot run without padding, only {', '.join(SUPPORTED)}: pass packed=False"
            )
        config = model.config
        self.kind = kind
        self.dtype = dtype or torch.float32
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
        position_type = getattr(config, "position_embedding_type", "absolute") or "absolute"
        if position_type != "absolute":
            raise ValueError(f"models with {position_type} positions cannot run without padding: pass packed=False")
        if activation != "gelu":
            raise ValueError(f"models with the activation {activation!r} cannot run without padding: pass packed=False")
        self.heads = heads
        self.embeddings = body.embeddings
        self.project = getattr(body, "embeddings_project", None)

        def linear(*parts: Any) -> _Linear:
            weights, biases = [p.weight.detach() for p in parts], [p.bias.detach() for p in parts]
            if len(parts) > 1:
                weights, biases = [torch.cat(weights)], [torch.cat(biases)]
            return _Linear(weights[0].to(self.dtype), biases[0].to(self.dtype))

        self.layers = [
            _Layer(linear(q, k, v), linear(out), attention_norm, linear(up), linear(down), output_norm)
            for q, k, v, out, attention_norm, up, down, output_norm in blocks
        ]
        self.model = model
        weight = self.layers[0].qkv.weight
        self.width = weight.shape[1]
        self._kernels = self._fused(weight)
        self._attend = self._attention(weight)

    def _fused(self, weight: Any) -> Any:
        """Our own kernels, where there is a GPU and they do what plain torch does."""
        import torch

        if not (weight.is_cuda and weight.dtype in (torch.bfloat16, torch.float16)):
            return None
        try:
            from sensecheck.models.device import kernels

            kernels_work = kernels.works(self.heads, self.width // self.heads, weight.dtype, weight.device)
        except (ImportError, RuntimeError, OSError, ValueError, TypeError, AttributeError):
            return None  # no Triton, no compiler for it, or another version of it: torch's own operations do as well
        return kernels if kernels_work else None

    def _attention(self, weight: Any) -> Callable[..., Any]:
        """(qkv, queries of first tokens or None, starts, longest) → mixed values, one row a query."""
        import torch

        heads, head = self.heads, self.width // self.heads
        if self._kernels is not None:
            kernels = self._kernels
            return lambda qkv, queries, starts, longest: kernels.attention(qkv, queries, starts, longest, heads)
        if weight.is_cuda and weight.dtype in (torch.bfloat16, torch.float16):
            from torch.nn.attention.varlen import varlen_attn

            def varlen(qkv: Any, queries: Any, starts: Any, longest: int) -> Any:
                q, k, v = (part.contiguous() for part in qkv.view(-1, 3, heads, head).unbind(1))
                q_starts, q_longest = starts, longest
                if queries is not None:
                    q = queries.view(-1, heads, head)
                    q_starts = torch.arange(len(starts), device=starts.device, dtype=starts.dtype)
                    q_longest = 1
                return varlen_attn(q, k, v, q_starts, starts, q_longest, longest).reshape(-1, self.width)

            return varlen

        def padded(qkv: Any, queries: Any, starts: Any, longest: int) -> Any:
            lengths = (starts[1:] - starts[:-1]).long()
            count = len(lengths)
            sequence = torch.repeat_interleave(torch.arange(count, device=qkv.device), lengths)
            place = torch.arange(len(qkv), device=qkv.device) - starts[:-1].long()[sequence]
            grid = qkv.new_zeros((count, longest, 3 * self.width))
            grid[sequence, place] = qkv
            q, k, v = grid.view(count, longest, 3, heads, head).permute(2, 0, 3, 1, 4)
            inside = (torch.arange(longest, device=qkv.device) < lengths[:, None])[:, None, None, :]
            if queries is not None:
                q = queries.view(count, 1, heads, head).transpose(1, 2)
            mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=inside).transpose(1, 2)
            mixed = mixed[:, 0] if queries is not None else mixed[sequence, place]
            return mixed.reshape(-1, self.width)

        return padded

    def _embed(self, ids: Any, types: Any, positions: Any) -> Any:
        embeddings = self.embeddings
        hidden = embeddings.word_embeddings(ids) + embeddings.position_embeddings(positions + self.positions_from)
        if hasattr(embeddings, "token_type_embeddings"):
            hidden = hidden + embeddings.token_type_embeddings(types)
        hidden = embeddings.LayerNorm(hidden)
        return hidden if self.project is None else self.project(hidden)

    def _add_norm(self, residual: Any, branch: Any, norm: Any) -> tuple[Any, Any]:
        if self._kernels is not None:
            residual_and_hidden: tuple[Any, Any] = self._kernels.add_norm(residual, branch, norm)
            return residual_and_hidden
        normed = norm(residual + branch)
        return normed, normed.to(self.dtype)

    def logits(self, ids: Any, types: Any, positions: Any, starts: Any, longest: int) -> Any:
        """Packed tokens → one row of logits a sequence. `starts` has one entry more than there are sequences."""
        from torch.nn import functional

        residual = self._embed(ids, types, positions)
        hidden = residual.to(self.dtype)
        firsts = starts[:-1].long()
        for number, layer in enumerate(self.layers):
            qkv = functional.linear(hidden, layer.qkv.weight, layer.qkv.bias)
            queries = None
            if number == len(self.layers) - 1:
                # Only the first token of each sequence is read from here on.
                queries, residual = qkv[firsts, : self.width].contiguous(), residual[firsts]
            mixed = self._attend(qkv, queries, starts, longest)
            branch = functional.linear(mixed, layer.out.weight, layer.out.bias)
            residual, hidden = self._add_norm(residual, branch, layer.attention_norm)
            expanded = functional.gelu(functional.linear(hidden, layer.up.weight, layer.up.bias))
            branch = functional.linear(expanded, layer.down.weight, layer.down.bias)
            residual, hidden = self._add_norm(residual, branch, layer.output_norm)
        return self._classify(residual)

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
