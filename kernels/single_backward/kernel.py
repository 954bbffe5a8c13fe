"""Softmax backward in Triton, one block: dx = y * (dy - delta), the whole row in registers.

    delta = sum y * dy

y, the forward's output, is all that is needed of the forward. y and dy are read once and dx is
written once. A program takes BLOCK_M rows: one, or several where rows are short. Lanes past the
end hold 0 and weigh nothing. Source: the derivative of softmax; torch computes the same.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import check_row_tile, check_tensor
from kernels.rows import caches, launch_rows
from kernels.tiles import next_power_of_two


@triton.jit
def single_backward_kernel(
    y_ptr,
    dy_ptr,
    dx_ptr,
    state_ptr,  # [n_rows, 1, 1]: delta, if CAPTURE
    n_rows,
    n_cols,
    stride_ym,
    stride_yn,
    stride_dym,
    stride_dyn,
    stride_dxm,
    stride_dxn,
    BLOCK_N: tl.constexpr,
    BLOCK_M: tl.constexpr,
    CAPTURE: tl.constexpr,
    LOAD_CACHE: tl.constexpr,
    STORE_CACHE: tl.constexpr,
):
    """One program for BLOCK_M rows."""
    # rows x stride can pass 2^31
    offs_m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    far_n = offs_n.to(tl.int64)[None, :]  # for addresses; masks take half the work in 32 bits
    mask_m = offs_m < n_rows
    mask = mask_m[:, None] & (offs_n < n_cols)[None, :]
    y_ptrs = y_ptr + offs_m[:, None] * stride_ym + far_n * stride_yn
    dy_ptrs = dy_ptr + offs_m[:, None] * stride_dym + far_n * stride_dyn
    dx_ptrs = dx_ptr + offs_m[:, None] * stride_dxm + far_n * stride_dxn
    y = tl.load(y_ptrs, mask, 0.0, cache_modifier=LOAD_CACHE)  #: load [BLOCK_M, BLOCK_N]
    dy = tl.load(dy_ptrs, mask, 0.0, cache_modifier=LOAD_CACHE)  #: load [BLOCK_M, BLOCK_N]
    y, dy = y.to(tl.float32), dy.to(tl.float32)
    t = y * dy  #: dot [BLOCK_M, BLOCK_N]
    delta = tl.sum(t, 1)  #: dot [BLOCK_M]
    if CAPTURE:
        tl.store(state_ptr + offs_m, delta, mask_m)
    dx = y * (dy - delta[:, None])  #: gradient [BLOCK_M, BLOCK_N]
    tl.store(dx_ptrs, dx, mask, cache_modifier=STORE_CACHE)  #: store


INTERPRETED = not isinstance(single_backward_kernel, triton.runtime.JITFunction)


def launch(
    y: torch.Tensor,
    dy: torch.Tensor,
    *,
    block: int | None = None,
    rows: int = 1,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
    load_cache: str = "",
    store_cache: str = "",
) -> Launch:
    """Compute dx = y * (dy - sum y * dy) row by row, each row read once, ``rows`` rows a program.

    y, dy [n_rows, n_cols], float16, bfloat16 or float32, any strides; dx likewise, float32 inside.
    ``block`` is not a choice: the row is the block, and rows x n_cols, rounded up to a power of
    two, at most 2^20. ``out`` receives dx if given; the cache modifiers are `kernels.rows.caches`'.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_tensor("y", y, 2, interpreted=INTERPRETED)
    n_rows, n_cols = y.shape
    block = next_power_of_two(n_cols)
    check_row_tile(rows, block, "block_backward")
    return launch_rows(
        torch,
        single_backward_kernel,
        {"y": y, "dy": dy},
        "dx",
        block=block,
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=1,
        path="rows" if rows > 1 else "single",
        interpreted=INTERPRETED,
        constants={"BLOCK_M": rows, **caches(load_cache, store_cache)},
        leading=(n_rows,),
        n_programs=-(-n_rows // rows),
    )
