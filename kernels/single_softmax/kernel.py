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
from kernels.checks import check_one_block, check_tensor
from kernels.rows import caches, launch_rows
from kernels.tiles import next_power_of_two


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
    LOAD_CACHE: tl.constexpr,
    STORE_CACHE: tl.constexpr,
):
    """One program a row."""
    row = tl.program_id(0).to(tl.int64)  # rows x stride can pass 2^31
    x_row = x_ptr + row * stride_xm
    y_row = y_ptr + row * stride_ym
    offs_n = tl.arange(0, BLOCK_N)
    x_ptrs = x_row + offs_n.to(tl.int64) * stride_xn
    mask_n = offs_n < n_cols
    x = tl.load(x_ptrs, mask_n, other=float("-inf"), cache_modifier=LOAD_CACHE)  #: load [BLOCK_N]
    scores = x.to(tl.float32)
    m = tl.max(scores, 0)  #: block_max
    p = tl.exp(scores - m)  #: accumulate [BLOCK_N]
    l = tl.sum(p, 0)  #: accumulate
    if CAPTURE:
        tl.store(state_ptr + row * 2, m)
        tl.store(state_ptr + row * 2 + 1, l)
    y = p / l  #: normalize [BLOCK_N]
    tl.store(y_row + offs_n * stride_yn, y, mask_n, cache_modifier=STORE_CACHE)  #: store


INTERPRETED = not isinstance(single_softmax_kernel, triton.runtime.JITFunction)


def launch(
    x: torch.Tensor,
    v: None = None,
    *,
    block: int | None = None,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
    load_cache: str = "",
    store_cache: str = "",
) -> Launch:
    """Compute y = softmax(x) over the last dimension, each row read once.

    x [n_rows, n_cols], float16, bfloat16 or float32, any strides; y likewise, float32 inside.
    ``block`` is not a choice: the row is the block, and n_cols at most 2^20.
    NaN, +inf and rows all -inf give NaN rows, as in torch. ``out`` receives y if given;
    the cache modifiers are `kernels.rows.caches`'.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_tensor("x", x, 2, interpreted=INTERPRETED)
    check_one_block(x.shape[1], ": use online_softmax for longer rows")
    return launch_rows(
        torch,
        single_softmax_kernel,
        {"x": x},
        "y",
        block=next_power_of_two(x.shape[1]),
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=2,
        path="single",
        interpreted=INTERPRETED,
        constants=caches(load_cache, store_cache),
    )
