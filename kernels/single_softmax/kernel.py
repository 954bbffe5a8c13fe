"""Single-block softmax in Triton: y = softmax(x), the whole row in one program's registers.

BLOCK_N is the next power of two at or above n_cols; the lanes past the end are masked to -inf and
weigh nothing. x is read once and y written once: no schedule moves less. The price is registers: a
row too long for them spills to local memory. Source: Triton's fused softmax tutorial.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import MAX_NUMEL, check_inputs, finish_output, output_tensor


@triton.jit
def single_softmax_kernel(
    x_ptr,
    y_ptr,
    state_ptr,  # [n_rows, 1, 2]: m, l, if CAPTURE
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
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    x_ptrs = x_row + offs_n * stride_xn
    mask_n = offs_n < n_cols
    x = tl.load(x_ptrs, mask_n, other=float("-inf"))  #: load [BLOCK_N]
    scores = x.to(tl.float32)
    m = tl.max(scores, 0)  #: block_max
    p = tl.exp(scores - m)  #: accumulate [BLOCK_N]
    l = tl.sum(p, 0)  #: accumulate
    if CAPTURE:
        tl.store(state_ptr + row * 2, m)
        tl.store(state_ptr + row * 2 + 1, l)
    y = p / l  #: normalize [BLOCK_N]
    tl.store(y_row + offs_n * stride_yn, y, mask_n)  #: store


INTERPRETED = not isinstance(single_softmax_kernel, triton.runtime.JITFunction)


def launch(
    x: torch.Tensor,
    v: None = None,
    *,
    block: int | None = None,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
) -> Launch:
    """Compute y = softmax(x) over the last dimension, each row read once.

    x [n_rows, n_cols], float16, bfloat16 or float32, any strides; y likewise, float32 inside.
    ``block`` is not a choice: the row is the block, and n_cols at most 2^20.
    NaN, +inf and rows all -inf give NaN rows, as in torch. ``out`` receives y if given.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_inputs(torch.is_grad_enabled(), INTERPRETED, num_warps, x=x)
    n_rows, n_cols = x.shape
    block = triton.next_power_of_2(max(n_cols, 1))
    if block > MAX_NUMEL:
        raise ValueError(
            f"a single block holds a row of up to {MAX_NUMEL} columns, got {n_cols}: "
            "use online_softmax for longer rows."
        )
    # The interpreter truncates float32 to bfloat16 where a GPU rounds: there torch rounds instead.
    stored_as = torch.float32 if INTERPRETED else x.dtype
    y = output_tensor(out, x, (n_rows, n_cols), x, stored_as=stored_as)
    state = None
    if capture:
        state = x.new_empty((n_rows, 1, 2), dtype=torch.float32)
    if x.numel():
        with torch.cuda.device_of(x):
            single_softmax_kernel[(n_rows,)](
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
    return Launch({"y": finish_output(y, out, x.dtype)}, state, "single", n_rows)
