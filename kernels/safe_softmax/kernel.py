"""Safe softmax in Triton: y = softmax(x), row by row, three passes over the row.

Pass 1 finds m = max(x), pass 2 sums l = sum exp(x - m), pass 3 writes y = exp(x - m) / l. So x is
read three times and y written once. Source: Milakov and Gimelshein, "Online normalizer calculation
for softmax" (2018), algorithm 2; they write d for l.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import MAX_NUMEL, check_power_of_two
from kernels.rows import launch_rows


@triton.jit
def safe_softmax_kernel(
    x_ptr,
    y_ptr,
    state_ptr,  # [n_rows, n_blocks, 2]: m, l after each block, if CAPTURE
    n_cols,
    stride_xm,
    stride_xn,
    stride_ym,
    stride_yn,
    BLOCK_N: tl.constexpr,
    CAPTURE: tl.constexpr,
):
    """One program a row."""
    row = tl.program_id(0).to(tl.int64)  # rows x stride can pass 2^31
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    n_blocks = tl.cdiv(n_cols, BLOCK_N)
    m = float("-inf")
    lanes = tl.arange(0, BLOCK_N)  # masks take half the work in 32 bits; addresses need 64
    for start in range(0, n_cols, BLOCK_N):
        offs_n = tl.cast(start, tl.int64) + lanes
        x_ptrs = x_row + offs_n * stride_xn
        mask_n = lanes < n_cols - start
        x = tl.load(x_ptrs, mask_n, other=float("-inf"))  #: load [BLOCK_N]
        block_max = tl.max(x.to(tl.float32), 0)  #: block_max
        # where, not tl.maximum: that one's rule for NaN differs between GPU and interpreter.
        m = tl.where(block_max > m, block_max, m)  #: new_max
        if CAPTURE:
            tl.store(state_ptr + (row * n_blocks + start // BLOCK_N) * 2, m)
    l = 0.0
    for start in range(0, n_cols, BLOCK_N):
        offs_n = tl.cast(start, tl.int64) + lanes
        x_ptrs = x_row + offs_n * stride_xn
        mask_n = lanes < n_cols - start
        x = tl.load(x_ptrs, mask_n, other=float("-inf"))  #: load, pass 2 [BLOCK_N]
        p = tl.exp(x.to(tl.float32) - m)  #: accumulate, pass 2 [BLOCK_N]
        l = l + tl.sum(p, 0)  #: accumulate, pass 2
        if CAPTURE:
            tl.store(state_ptr + (row * n_blocks + start // BLOCK_N) * 2 + 1, l)
    for start in range(0, n_cols, BLOCK_N):
        offs_n = tl.cast(start, tl.int64) + lanes
        x_ptrs = x_row + offs_n * stride_xn
        mask_n = lanes < n_cols - start
        x = tl.load(x_ptrs, mask_n, other=float("-inf"))  #: load, pass 3 [BLOCK_N]
        y = tl.exp(x.to(tl.float32) - m) / l  #: normalize, pass 3 [BLOCK_N]
        tl.store(y_row + offs_n * stride_yn, y, mask_n)  #: store, pass 3


INTERPRETED = not isinstance(safe_softmax_kernel, triton.runtime.JITFunction)


def launch(
    x: torch.Tensor,
    v: None = None,
    *,
    block: int,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
) -> Launch:
    """Compute y = softmax(x) over the last dimension.

    x [n_rows, n_cols], float16, bfloat16 or float32, any strides; y likewise, float32 inside.
    NaN, +inf and rows all -inf give NaN rows, as in torch. ``out`` receives y if given.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_power_of_two("block", block, MAX_NUMEL)
    return launch_rows(
        torch,
        safe_softmax_kernel,
        {"x": x},
        "y",
        block=block,
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=2,
        path="safe",
        interpreted=INTERPRETED,
    )
