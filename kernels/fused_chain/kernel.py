"""A fused chain in Triton: z = softmax(x) + x * y in one kernel, the row in registers.

torch runs three kernels for it, softmax, multiply and add, and writes what one leaves for the
next: eight passes over [n_rows, n_cols]. Here x and y are read once, z is written once, and what
is between stays in registers: three passes. Source: the element-wise fusion that compilers do.
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
def fused_chain_kernel(
    x_ptr,
    y_ptr,
    z_ptr,
    state_ptr,  # [n_rows, 1, 2]: m, l, if CAPTURE
    n_cols,
    stride_xm,
    stride_xn,
    stride_ym,
    stride_yn,
    stride_zm,
    stride_zn,
    BLOCK_N: tl.constexpr,
    CAPTURE: tl.constexpr,
    LOAD_CACHE: tl.constexpr,
    STORE_CACHE: tl.constexpr,
):
    """One program a row."""
    row = tl.program_id(0).to(tl.int64)  # rows x stride can pass 2^31
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    x_ptrs = x_ptr + row * stride_xm + offs_n.to(tl.int64) * stride_xn
    y_ptrs = y_ptr + row * stride_ym + offs_n.to(tl.int64) * stride_yn
    z_ptrs = z_ptr + row * stride_zm + offs_n.to(tl.int64) * stride_zn
    x = tl.load(x_ptrs, mask_n, float("-inf"), cache_modifier=LOAD_CACHE)  #: load [BLOCK_N]
    y = tl.load(y_ptrs, mask_n, 0.0, cache_modifier=LOAD_CACHE)  #: load [BLOCK_N]
    scores = x.to(tl.float32)
    m = tl.max(scores, 0)  #: block_max
    p = tl.exp(scores - m)  #: accumulate [BLOCK_N]
    l = tl.sum(p, 0)  #: accumulate
    if CAPTURE:
        tl.store(state_ptr + row * 2, m)
        tl.store(state_ptr + row * 2 + 1, l)
    z = p / l + scores * y.to(tl.float32)  #: combine [BLOCK_N]
    tl.store(z_ptrs, z, mask_n, cache_modifier=STORE_CACHE)  #: store


INTERPRETED = not isinstance(fused_chain_kernel, triton.runtime.JITFunction)


def launch(
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    block: int | None = None,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
    load_cache: str = "",
    store_cache: str = "",
) -> Launch:
    """Compute z = softmax(x) + x * y over the last dimension, each row read once.

    x, y [n_rows, n_cols], float16, bfloat16 or float32, any strides; z likewise, float32 inside and
    rounded once. ``block`` is not a choice: the row is the block, and n_cols at most 2^20.
    NaN, +inf and rows of x all -inf give NaN rows, as in torch. ``out`` receives z if given; the
    cache modifiers are `kernels.rows.caches`'.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_tensor("x", x, 2, interpreted=INTERPRETED)
    check_one_block(x.shape[1])
    return launch_rows(
        torch,
        fused_chain_kernel,
        {"x": x, "y": y},
        "z",
        block=next_power_of_two(x.shape[1]),
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=2,
        path="single",
        interpreted=INTERPRETED,
        constants=caches(load_cache, store_cache),
    )
