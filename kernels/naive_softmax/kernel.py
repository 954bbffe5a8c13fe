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
from kernels.checks import (
    MAX_NUMEL,
    check_inputs,
    check_power_of_two,
    finish_output,
    output_tensor,
)


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
    for start in range(0, n_cols, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N).to(tl.int64)
        x_ptrs = x_row + offs_n * stride_xn
        mask_n = offs_n < n_cols
        x = tl.load(x_ptrs, mask_n, other=float("-inf"))  #: load [BLOCK_N]
        p = exponential(x)  #: accumulate [BLOCK_N]
        l = l + tl.sum(p, 0)  #: accumulate
        if CAPTURE:
            tl.store(state_ptr + row * tl.cdiv(n_cols, BLOCK_N) + start // BLOCK_N, l)
    for start in range(0, n_cols, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N).to(tl.int64)
        x_ptrs = x_row + offs_n * stride_xn
        mask_n = offs_n < n_cols
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
    check_inputs(torch.is_grad_enabled(), INTERPRETED, num_warps, x=x)
    check_power_of_two("block", block, MAX_NUMEL)
    n_rows, n_cols = x.shape
    # The interpreter truncates float32 to bfloat16 where a GPU rounds: there torch rounds instead.
    stored_as = torch.float32 if INTERPRETED else x.dtype
    y = output_tensor(out, x, (n_rows, n_cols), x, stored_as=stored_as)
    state = None
    if capture:
        state = x.new_empty((n_rows, triton.cdiv(n_cols, block), 1), dtype=torch.float32)
    if x.numel():
        with torch.cuda.device_of(x):
            naive_softmax_kernel[(n_rows,)](
                x,
                y,
                state,
                n_cols,
                *x.stride(),
                *y.stride(),
                BLOCK_N=block,
                CAPTURE=capture,
                num_warps=num_warps,
            )
    return Launch({"y": finish_output(y, out, x.dtype)}, state, "naive", n_rows)
