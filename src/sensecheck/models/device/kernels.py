"""Two Triton kernels for packed encoders on CUDA: attention over short sequences, and residual plus layer norm.

Library attention works in tiles of 128 rows, three quarters of which are empty on a sentence pair of 35 tokens; here a
tile is as small as the sequences of the batch. The norm reads the residual stream in float32, adds a 16-bit branch,
and writes both the new residual (float32) and its 16-bit copy in one pass.

Imported on CUDA only, where torch brings Triton along; `works` compares both kernels with plain torch on the device at
hand, and the packed encoder falls back to torch's own operations where they are missing or differ.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def _attention(
    qkv, queries, out, starts, scale,
    heads: tl.constexpr, width: tl.constexpr, row_tile: tl.constexpr, key_tile: tl.constexpr, first: tl.constexpr,
):  # fmt: skip
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    begin = tl.load(starts + sequence)
    length = tl.load(starts + sequence + 1) - begin
    if first:  # one query a sequence, from a matrix of its own
        row_begin = sequence
        row_count = 1
    else:
        row_begin = begin
        row_count = length
    if tl.program_id(2) * row_tile >= row_count:
        return
    rows = tl.program_id(2) * row_tile + tl.arange(0, row_tile)
    columns = tl.arange(0, width)
    line = heads * width
    at = (row_begin + rows[:, None]).to(tl.int64)
    if first:
        query_at = queries + at * line + head * width + columns[None, :]
    else:
        query_at = qkv + at * (3 * line) + head * width + columns[None, :]
    query = tl.load(query_at, mask=rows[:, None] < row_count, other=0.0)
    highest = tl.full([row_tile], float("-inf"), tl.float32)
    total = tl.zeros([row_tile], tl.float32)
    mixed = tl.zeros([row_tile, width], tl.float32)
    for key_begin in range(0, length, key_tile):
        keys = key_begin + tl.arange(0, key_tile)
        inside = keys < length
        key_at = qkv + (begin + keys[:, None]).to(tl.int64) * (3 * line) + line + head * width + columns[None, :]
        key = tl.load(key_at, mask=inside[:, None], other=0.0)
        value = tl.load(key_at + line, mask=inside[:, None], other=0.0)
        score = tl.where(inside[None, :], tl.dot(query, tl.trans(key)) * scale, float("-inf"))
        peak = tl.maximum(highest, tl.max(score, 1))
        share = tl.exp2(score - peak[:, None])
        kept = tl.exp2(highest - peak)
        total = total * kept + tl.sum(share, 1)
        mixed = mixed * kept[:, None] + tl.dot(share.to(value.dtype), value)
        highest = peak
    mixed = mixed / total[:, None]
    out_at = out + at * line + head * width + columns[None, :]
    tl.store(out_at, mixed.to(out.dtype.element_ty), mask=rows[:, None] < row_count)


@triton.jit
def _add_norm(residual, branch, weight, bias, out, out_half, eps, width: tl.constexpr, tile: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * width
    at = tl.arange(0, tile)
    inside = at < width
    value = tl.load(residual + row + at, mask=inside, other=0.0).to(tl.float32)
    value += tl.load(branch + row + at, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, value - tl.sum(value, 0) / width, 0.0)
    scaled = centred * tl.rsqrt(tl.sum(centred * centred, 0) / width + eps)
    scaled = scaled * tl.load(weight + at, mask=inside, other=0.0) + tl.load(bias + at, mask=inside, other=0.0)
    tl.store(out + row + at, scaled, mask=inside)
    tl.store(out_half + row + at, scaled.to(out_half.dtype.element_ty), mask=inside)


def attention(qkv: Any, queries: Any | None, starts: Any, longest: int, heads: int) -> Any:
    """Attention within each sequence. `qkv` (tokens, 3 · width); `queries` (sequences, width) when only the first
    token of each sequence asks.
    """
    width = qkv.shape[1] // 3
    sequences = len(starts) - 1
    first = queries is not None
    out = torch.empty((sequences if first else len(qkv), width), device=qkv.device, dtype=qkv.dtype)
    # Measured on an H200: small tiles for short sequences, where most batches of sentence pairs are.
    row_tile, key_tile, warps = (32, 32, 2) if longest <= 32 else (64, 64, 4)
    if first:
        row_tile = 16
    grid = (sequences, heads, 1 if first else triton.cdiv(longest, row_tile))
    scale = math.log2(math.e) / math.sqrt(width // heads)
    _attention[grid](
        qkv, queries if first else qkv, out, starts, scale,
        heads=heads, width=width // heads, row_tile=row_tile, key_tile=key_tile, first=first, num_warps=warps,
    )  # fmt: skip
    return out


def add_norm(residual: Any, branch: Any, norm: Any) -> tuple[Any, Any]:
    """LayerNorm(residual + branch) in float32 and in the branch's own type."""
    width = residual.shape[1]
    out = torch.empty(residual.shape, device=residual.device, dtype=torch.float32)
    half = torch.empty(residual.shape, device=residual.device, dtype=branch.dtype)
    _add_norm[(len(residual),)](
        residual, branch, norm.weight, norm.bias, out, half, norm.eps,
        width=width, tile=triton.next_power_of_2(width), num_warps=4,
    )  # fmt: skip
    return out, half


def works(heads: int, head_width: int, dtype: Any, device: Any) -> bool:
    """Whether both kernels agree with plain torch here, for sequences shorter and longer than a tile."""
    functional = torch.nn.functional
    if head_width not in (16, 32, 64, 128):
        return False
    width = heads * head_width
    random_source = torch.Generator(device=device).manual_seed(0)
    for lengths in ((5, 1, 32, 17), (70, 3, 200)):
        starts = torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], device=device, dtype=torch.int32)
        total, longest = sum(lengths), max(lengths)
        qkv = torch.randn((total, 3 * width), device=device, generator=random_source).to(dtype)
        firsts = starts[:-1].long()
        of_all_tokens = attention(qkv, None, starts, longest, heads)
        of_first_tokens = attention(qkv, qkv[firsts, :width].contiguous(), starts, longest, heads)
        begin = 0
        for number, length in enumerate(lengths):
            q, k, v = qkv[begin : begin + length].float().view(length, 3, heads, head_width).permute(1, 2, 0, 3)
            expected = functional.scaled_dot_product_attention(q, k, v).transpose(0, 1).reshape(length, width)
            mixed = of_all_tokens[begin : begin + length].float()
            if (
                float((mixed - expected).abs().max()) > 2e-2
                or float((of_first_tokens[number] - expected[0]).abs().max()) > 2e-2
            ):
                return False
            begin += length
    residual = torch.randn((7, width), device=device, generator=random_source)
    branch = torch.randn((7, width), device=device, generator=random_source).to(dtype)
    norm = torch.nn.LayerNorm(width, device=device)
    with torch.no_grad():
        norm.weight.uniform_(0.5, 2.0)
        norm.bias.uniform_(-1.0, 1.0)
        normed, half = add_norm(residual, branch, norm)
        expected = norm(residual + branch.float())
    return bool(float((normed - expected).abs().max()) < 1e-4 and torch.equal(half, normed.to(dtype)))
