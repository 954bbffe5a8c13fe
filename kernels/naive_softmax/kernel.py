"""Naive softmax in Triton: y = exp(x) / sum exp(x), row by row, with no maximum subtracted.

It overflows, and is here to show that. For float16 inputs the exponentials are kept in float16,
whose largest number, 65504, is exp(11.09); for bfloat16 and float32 they are float32, where exp
overflows past 88.72. One infinite exponential makes l infinite: its own output is inf / inf = NaN
and every other output 0.

Pass 1 sums l, pass 2 writes y, so x is read twice and y written once.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import MAX_NUMEL, check_power_of_two
from kernels.rows import launch_rows


@triton.jit
def exponential(x):
    """Return exp(x) [BLOCK_N] as float32, rounded on the way to float16 where x is float16."""
    p = tl.exp(x.to(tl.float32))
    if x.dtype == tl.float16:
        p = p.to(tl.float16).to(tl.float32)
    return p


@triton.jit
def naive_softmax_kernel(
    x_ptr,
    y_ptr,
    state_ptr,  # [n_rows, n_blocks, 1]: l after each block, if CAPTURE
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
    l = 0.0
    lanes = tl.arange(0, BLOCK_N)  # masks take half the work in 32 bits; addresses need 64
    for start in range(0, n_cols, BLOCK_N):
        offs_n = tl.cast(start, tl.int64) + lanes
        x_ptrs = x_row + offs_n * stride_xn
        mask_n = lanes < n_cols - start
        x = tl.load(x_ptrs, mask_n, other=float("-inf"))  #: load [BLOCK_N]
        p = exponential(x)  #: accumulate [BLOCK_N]
        l = l + tl.sum(p, 0)  #: accumulate
        if CAPTURE:
            tl.store(state_ptr + row * tl.cdiv(n_cols, BLOCK_N) + start // BLOCK_N, l)
    for start in range(0, n_cols, BLOCK_N):
        offs_n = tl.cast(start, tl.int64) + lanes
        x_ptrs = x_row + offs_n * stride_xn
        mask_n = lanes < n_cols - start
        x = tl.load(x_ptrs, mask_n, other=float("-inf"))  #: load, pass 2 [BLOCK_N]
        y = exponential(x) / l  #: normalize, pass 2 [BLOCK_N]
        tl.store(y_row + offs_n * stride_yn, y, mask_n)  #: store, pass 2


INTERPRETED = not isinstance(naive_softmax_kernel, triton.runtime.JITFunction)


def launch(
    x: torch.Tensor,
    v: None = None,
    *,
    block: int,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
) -> Launch:
    """Compute y = exp(x) / sum exp(x) over the last dimension, overflow and all.

    x [n_rows, n_cols], float16, bfloat16 or float32, any strides; y likewise.
    ``out`` receives y if given.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_power_of_two("block", block, MAX_NUMEL)
    return launch_rows(
        torch,
        naive_softmax_kernel,
        {"x": x},
        "y",
        block=block,
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=1,
        path="naive",
        interpreted=INTERPRETED,
    )
