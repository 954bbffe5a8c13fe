"""Attention in three stages: S = scale q k^T, P = softmax(S), o = P v, each a kernel of its own.

The unfused baseline, made of our own matrix product and row softmax. S and P are seq_q x seq_k
matrices, written to memory and read back: what FlashAttention saves. They have the inputs' type,
so a score is rounded once more than in the fused kernel. A causal mask is applied as S is written,
after every product has been computed: nothing is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch

from kernels.algorithm import Launch
from kernels.checks import check_attention, check_schedule
from kernels.matmul.kernel import INTERPRETED, product
from kernels.online_softmax.kernel import launch as online_softmax
from kernels.single_softmax.kernel import launch as single_softmax
from kernels.three_stage import LONGEST_SINGLE, WIDEST
from kernels.tiles import Tiles, next_power_of_two, padded

ONLINE_BLOCK = 4096


def three_stages(q, k, v, o, tiles: Tiles, **options) -> tuple[torch.Tensor, int]:
    """Return o [batch, heads, seq_q, head_dim] and how many programs ran, over all three stages."""
    (batch, heads, seq_q, head_dim), seq_k = q.shape, k.shape[2]
    n_rows = batch * heads * seq_q
    wide = padded(head_dim)
    first = replace(tiles, block_k=min(64, wide))
    last = Tiles(tiles.block_m, min(WIDEST, wide), tiles.block_n)
    scale = tiles.scale_for(head_dim)
    s, _, n_first, _ = product(q, k.mT, None, first, scale=scale, **options)  #: any
    p = softmax_rows(s.view(n_rows, seq_k)).view(s.shape)  #: any, pass 2
    del s
    if tiles.is_causal:  # a softmax of nothing is NaN; a query that sees no key gives o = 0
        p[:, :, : max(0, seq_q - seq_k)] = 0
    o, _, n_last, _ = product(p, v, o, last, **options)  #: any, pass 3
    return o, n_first + n_rows + n_last


def softmax_rows(s: torch.Tensor) -> torch.Tensor:
    """Return the softmax of every row of s [n_rows, n_cols]: in one block where a row fits."""
    n_cols = s.shape[1]
    if n_cols <= LONGEST_SINGLE:
        block = next_power_of_two(n_cols)
        num_warps = min(16, max(4, block // 512))
        return single_softmax(s, block=block, num_warps=num_warps).outputs["y"]
    return online_softmax(s, block=ONLINE_BLOCK, num_warps=8).outputs["y"]


def launch(
    tensors: Mapping[str, torch.Tensor],
    tiles: Tiles,
    *,
    num_warps: int | None = None,
    num_stages: int | None = None,
    capture: bool = False,
    out: Mapping[str, torch.Tensor] | None = None,
) -> Launch:
    """Compute o = softmax(scale q k^T) v with S and P in memory.

    Shapes, types, masks and errors as in ``kernels.flash_attention.kernel.launch``. Nothing is
    captured: S and P are there to see.
    """
    q, k, v = (tensors[name] for name in ("q", "k", "v"))
    check_attention(torch.is_grad_enabled(), INTERPRETED, q=q, k=k, v=v)
    check_schedule(tiles, num_warps, num_stages, "block_m", "block_n")
    given = (out or {}).get("o")
    o, n_programs = three_stages(
        q, k, v, given, tiles, num_warps=num_warps, num_stages=num_stages
    )
    return Launch({"o": o if given is None else given}, None, "three stages", n_programs)
