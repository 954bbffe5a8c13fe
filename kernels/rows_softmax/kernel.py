"""Several rows a program in Triton: y = softmax(x) for short rows, a tile of rows at a time.

A short row leaves most of a program's threads without work, and a launch of one program a row
spends its time on starting programs. So a program takes BLOCK_M whole rows, [BLOCK_M, BLOCK_N], and
reduces each along its own axis: with as many elements in flight as a long row has. BLOCK_N is the
next power of two at or above n_cols. x is read once and y written once.
Source: PyTorch's persistent softmax gives short rows a warp each likewise.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import check_row_tile, check_tensor
from kernels.rows import caches, launch_rows
from kernels.tiles import next_power_of_two

TILE = 2048  # elements of a program's tile, unless told


@triton.jit
def rows_softmax_kernel(
    x_ptr,
    y_ptr,
    state_ptr,  # [n_rows, 1, 2]: m, l, if CAPTURE
    n_rows,
    n_cols,
    stride_xm,
    stride_xn,
    stride_ym,
    stride_yn,
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
    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + far_n * stride_xn
    y_ptrs = y_ptr + offs_m[:, None] * stride_ym + far_n * stride_yn
    x = tl.load(x_ptrs, mask, float("-inf"), cache_modifier=LOAD_CACHE)  #: load [BLOCK_M, BLOCK_N]
    scores = x.to(tl.float32)
    m = tl.max(scores, 1)  #: block_max [BLOCK_M]
    p = tl.exp(scores - m[:, None])  #: accumulate [BLOCK_M, BLOCK_N]
    l = tl.sum(p, 1)  #: accumulate [BLOCK_M]
    if CAPTURE:
        tl.store(state_ptr + offs_m * 2, m, mask_m)
        tl.store(state_ptr + offs_m * 2 + 1, l, mask_m)
    y = p / l[:, None]  #: normalize [BLOCK_M, BLOCK_N]
    tl.store(y_ptrs, y, mask, cache_modifier=STORE_CACHE)  #: store


INTERPRETED = not isinstance(rows_softmax_kernel, triton.runtime.JITFunction)


def rows_that_fit(n_cols: int) -> int:
    """Return how many rows of ``n_cols`` a tile of `TILE` elements holds; at least one."""
    return max(1, TILE // next_power_of_two(n_cols))


def launch(
    x: torch.Tensor,
    v: None = None,
    *,
    block: int | None = None,
    rows: int | None = None,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
    load_cache: str = "",
    store_cache: str = "",
) -> Launch:
    """Compute y = softmax(x) over the last dimension, ``rows`` rows a program.

    x [n_rows, n_cols], float16, bfloat16 or float32, any strides; y likewise, float32 inside.
    ``block`` is not a choice: a row is a block. ``rows`` is a power of two, as many as fit a tile
    of 2048 elements unless given; rows x n_cols, rounded up, is at most 2^20.
    NaN, +inf and rows all -inf give NaN rows, as in torch. ``out`` receives y if given; the cache
    modifiers are `kernels.rows.caches`'.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_tensor("x", x, 2, interpreted=INTERPRETED)
    n_rows, n_cols = x.shape
    block = next_power_of_two(n_cols)
    rows = rows_that_fit(n_cols) if rows is None else rows
    check_row_tile(rows, block, "split_softmax or online_softmax")
    return launch_rows(
        torch,
        rows_softmax_kernel,
        {"x": x},
        "y",
        block=block,
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=2,
        path="rows",
        interpreted=INTERPRETED,
        constants={"BLOCK_M": rows, **caches(load_cache, store_cache)},
        leading=(n_rows,),
        n_programs=-(-n_rows // rows),
    )
