"""Vector add in Triton: z = x + y, the smallest kernel that is one: a grid of programs.

Program ``pid`` takes the lanes pid * BLOCK_N to (pid + 1) * BLOCK_N. Lanes past the end are
switched off by the mask: they neither load nor store. No program knows of another.
Source: Triton's vector addition tutorial.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import MAX_NUMEL, check_power_of_two, check_tensor
from kernels.rows import caches, launch_rows


@triton.jit
def vector_add_kernel(
    x_ptr,
    y_ptr,
    z_ptr,
    n_blocks,
    n_cols,
    stride_xm,
    stride_xn,
    stride_ym,
    stride_yn,
    stride_zm,
    stride_zn,
    BLOCK_N: tl.constexpr,
    LOAD_CACHE: tl.constexpr,
    STORE_CACHE: tl.constexpr,
):
    """One program a block of a row."""
    pid = tl.program_id(0)
    # 64 bits: a vector may have more than 2^31 elements.
    row, start = (pid // n_blocks).to(tl.int64), (pid % n_blocks).to(tl.int64) * BLOCK_N
    lanes = tl.arange(0, BLOCK_N)
    offs_n = start + lanes
    mask_n = lanes < n_cols - start
    x_ptrs = x_ptr + row * stride_xm + offs_n * stride_xn
    y_ptrs = y_ptr + row * stride_ym + offs_n * stride_yn
    z_ptrs = z_ptr + row * stride_zm + offs_n * stride_zn
    x = tl.load(x_ptrs, mask_n, 0.0, cache_modifier=LOAD_CACHE)  #: load [BLOCK_N]
    y = tl.load(y_ptrs, mask_n, 0.0, cache_modifier=LOAD_CACHE)  #: load [BLOCK_N]
    z = x.to(tl.float32) + y.to(tl.float32)  #: add [BLOCK_N]
    tl.store(z_ptrs, z, mask_n, cache_modifier=STORE_CACHE)  #: store


INTERPRETED = not isinstance(vector_add_kernel, triton.runtime.JITFunction)


def launch(
    x: torch.Tensor,
    y: torch.Tensor,
    *,
    block: int,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
    load_cache: str = "",
    store_cache: str = "",
) -> Launch:
    """Compute z = x + y, a program for every ``block`` elements of a row.

    x, y [n_rows, n_cols], float16, bfloat16 or float32, any strides; z likewise, float32 inside.
    There is no state to ``capture``. ``out`` receives z if given; the cache modifiers are
    `kernels.rows.caches`'.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_tensor("x", x, 2, interpreted=INTERPRETED)
    check_power_of_two("block", block, MAX_NUMEL)
    n_rows, n_cols = x.shape
    n_blocks = -(-n_cols // block)
    return launch_rows(
        torch,
        vector_add_kernel,
        {"x": x, "y": y},
        "z",
        block=block,
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=0,
        path="blocks",
        interpreted=INTERPRETED,
        constants=caches(load_cache, store_cache),
        leading=(n_blocks,),
        n_programs=n_rows * n_blocks,
    )
