"""Softmax backward in Triton, in blocks: two passes over a row of any length.

Pass 1 sums delta = sum y * dy, block by block. Pass 2 reads y and dy again and writes
dx = y * (dy - delta). y, the forward's output, is all that is needed of the forward.
Source: the derivative of softmax, in the two passes that a row longer than a block needs.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import MAX_NUMEL, check_power_of_two
from kernels.rows import caches, launch_rows


@triton.jit
def block_backward_kernel(
    y_ptr,
    dy_ptr,
    dx_ptr,
    state_ptr,  # [n_rows, n_blocks, 1]: delta after each block, if CAPTURE
    n_cols,
    stride_ym,
    stride_yn,
    stride_dym,
    stride_dyn,
    stride_dxm,
    stride_dxn,
    BLOCK_N: tl.constexpr,
    CAPTURE: tl.constexpr,
    LOAD_CACHE: tl.constexpr,
    STORE_CACHE: tl.constexpr,
):
    """One program a row."""
    row = tl.program_id(0).to(tl.int64)  # rows x stride can pass 2^31
    y_row = y_ptr + row * stride_ym
    dy_row = dy_ptr + row * stride_dym
    dx_row = dx_ptr + row * stride_dxm
    delta = 0.0
    lanes = tl.arange(0, BLOCK_N)  # masks take half the work in 32 bits; addresses need 64
    for start in range(0, n_cols, BLOCK_N):
        offs_n = tl.cast(start, tl.int64) + lanes
        mask_n = lanes < n_cols - start
        y_ptrs, dy_ptrs = y_row + offs_n * stride_yn, dy_row + offs_n * stride_dyn
        y = tl.load(y_ptrs, mask_n, 0.0, cache_modifier=LOAD_CACHE)  #: load [BLOCK_N]
        dy = tl.load(dy_ptrs, mask_n, 0.0, cache_modifier=LOAD_CACHE)  #: load [BLOCK_N]
        t = y.to(tl.float32) * dy.to(tl.float32)  #: dot [BLOCK_N]
        delta = delta + tl.sum(t, 0)  #: dot
        if CAPTURE:
            tl.store(state_ptr + row * tl.cdiv(n_cols, BLOCK_N) + start // BLOCK_N, delta)
    for start in range(0, n_cols, BLOCK_N):
        offs_n = tl.cast(start, tl.int64) + lanes
        mask_n = lanes < n_cols - start
        y_ptrs, dy_ptrs = y_row + offs_n * stride_yn, dy_row + offs_n * stride_dyn
        y = tl.load(y_ptrs, mask_n, 0.0, cache_modifier=LOAD_CACHE)  #: load, pass 2 [BLOCK_N]
        dy = tl.load(dy_ptrs, mask_n, 0.0, cache_modifier=LOAD_CACHE)  #: load, pass 2 [BLOCK_N]
        dx = y.to(tl.float32) * (dy.to(tl.float32) - delta)  #: gradient, pass 2 [BLOCK_N]
        dx_ptrs = dx_row + offs_n * stride_dxn
        tl.store(dx_ptrs, dx, mask_n, cache_modifier=STORE_CACHE)  #: store, pass 2


INTERPRETED = not isinstance(block_backward_kernel, triton.runtime.JITFunction)


def launch(
    y: torch.Tensor,
    dy: torch.Tensor,
    *,
    block: int,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
    load_cache: str = "",
    store_cache: str = "",
) -> Launch:
    """Compute dx = y * (dy - sum y * dy) row by row, in blocks of ``block`` columns.

    y, dy [n_rows, n_cols], float16, bfloat16 or float32, any strides; dx likewise, float32 inside.
    ``out`` receives dx if given; the cache modifiers are `kernels.rows.caches`'.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_power_of_two("block", block, MAX_NUMEL)
    return launch_rows(
        torch,
        block_backward_kernel,
        {"y": y, "dy": dy},
        "dx",
        block=block,
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=1,
        path="blocks",
        interpreted=INTERPRETED,
        constants=caches(load_cache, store_cache),
    )
