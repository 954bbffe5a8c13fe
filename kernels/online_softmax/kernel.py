"""Online softmax in Triton: y = softmax(x), row by row, in blocks of BLOCK_N columns.

Pass 1 keeps a running maximum and a sum that is rescaled whenever the maximum rises:

    m_new = max(m, max(scores));  alpha = exp(m - m_new);  l = l * alpha + sum exp(scores - m_new)

Pass 2 reads the row again and writes y = exp(x - m) / l. So x is read twice and y written once,
however long the row is. Source: Milakov and Gimelshein, "Online normalizer calculation for
softmax" (2018), algorithm 3; they write d for l.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import MAX_NUMEL, check_power_of_two
from kernels.rows import caches, launch_rows


@triton.jit
def update(m, l, scores):
    """Take one block of scores [BLOCK_N] into m and l. alpha is returned for the capture."""
    block_max = tl.max(scores, 0)  #: block_max
    # where, not tl.maximum: that one's rule for NaN differs between the GPU and the interpreter.
    m_new = tl.where(block_max > m, block_max, m)  #: new_max
    # exp(-inf - -inf) is NaN: while all scores so far are -inf, shift by 0 instead.
    shift = tl.where(m_new == float("-inf"), 0.0, m_new)  #: new_max
    alpha = tl.exp(m - shift)  #: rescale
    l = l * alpha  #: rescale
    p = tl.exp(scores - shift)  #: accumulate [BLOCK_N]
    l = l + tl.sum(p, 0)  #: accumulate
    return m_new, l, alpha


@triton.jit
def online_softmax_kernel(
    x_ptr,
    y_ptr,
    state_ptr,  # [n_rows, n_blocks, 3]: m, l, alpha after each block, if CAPTURE
    n_cols,
    stride_xm,
    stride_xn,
    stride_ym,
    stride_yn,
    BLOCK_N: tl.constexpr,
    CAPTURE: tl.constexpr,
    LOAD_CACHE: tl.constexpr,
    STORE_CACHE: tl.constexpr,
):
    """One program a row."""
    row = tl.program_id(0).to(tl.int64)  # rows x stride can pass 2^31
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    m = float("-inf")
    l = 0.0
    lanes = tl.arange(0, BLOCK_N)  # masks take half the work in 32 bits; addresses need 64
    for start in range(0, n_cols, BLOCK_N):
        offs_n = tl.cast(start, tl.int64) + lanes
        x_ptrs = x_row + offs_n * stride_xn
        mask_n = lanes < n_cols - start
        x = tl.load(
            x_ptrs, mask_n, other=float("-inf"), cache_modifier=LOAD_CACHE
        )  #: load [BLOCK_N]
        m, l, alpha = update(m, l, x.to(tl.float32))
        if CAPTURE:
            state = state_ptr + (row * tl.cdiv(n_cols, BLOCK_N) + start // BLOCK_N) * 3
            tl.store(state, m)
            tl.store(state + 1, l)
            tl.store(state + 2, alpha)
    for start in range(0, n_cols, BLOCK_N):
        offs_n = tl.cast(start, tl.int64) + lanes
        x_ptrs = x_row + offs_n * stride_xn
        mask_n = lanes < n_cols - start
        x = tl.load(
            x_ptrs, mask_n, other=float("-inf"), cache_modifier=LOAD_CACHE
        )  #: load, pass 2 [BLOCK_N]
        y = tl.exp(x.to(tl.float32) - m) / l  #: normalize, pass 2 [BLOCK_N]
        tl.store(
            y_row + offs_n * stride_yn, y, mask_n, cache_modifier=STORE_CACHE
        )  #: store, pass 2


INTERPRETED = not isinstance(online_softmax_kernel, triton.runtime.JITFunction)


def launch(
    x: torch.Tensor,
    v: None = None,
    *,
    block: int,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
    load_cache: str = "",
    store_cache: str = "",
) -> Launch:
    """Compute y = softmax(x) over the last dimension.

    x [n_rows, n_cols], float16, bfloat16 or float32, any strides; y likewise, float32 inside.
    NaN, +inf and rows all -inf give NaN rows, as in torch. ``out`` receives y if given;
    the cache modifiers are `kernels.rows.caches`'.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_power_of_two("block", block, MAX_NUMEL)
    return launch_rows(
        torch,
        online_softmax_kernel,
        {"x": x},
        "y",
        block=block,
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=3,
        path="online",
        interpreted=INTERPRETED,
        constants=caches(load_cache, store_cache),
    )
