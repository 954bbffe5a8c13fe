"""A copy in Triton: y = x, and the least that a kernel with several inputs can do: y = x0 | x1 …

Every byte of x is read once and every byte of y written once, sixteen a thread at a time. HBM is
faster at reading than at writing, so what reads twice as much as it writes is not held against a
copy but against two reads and a write. No order of work is the fastest at all sizes: which part of
y is still in the L2 cache at the end decides over some percent.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.tiles import cdiv


@triton.jit
def copy_kernel(
    x_ptr, y_ptr, n, N_READS: tl.constexpr, BLOCK_N: tl.constexpr, EVICTION: tl.constexpr
):
    """One program a block of y [n]; x is [N_READS, n]."""
    offs = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = offs < n
    y = tl.load(x_ptr + offs, mask, 0, eviction_policy=EVICTION)
    for k in tl.static_range(1, N_READS):
        y |= tl.load(x_ptr + k * n.to(tl.int64) + offs, mask, 0, eviction_policy=EVICTION)
    tl.store(y_ptr + offs, y, mask)


def launch(x: torch.Tensor, y: torch.Tensor, *, block: int, eviction: str = "") -> torch.Tensor:
    """Write x [n_reads, n], or with several reads their bitwise or, to y [n] and return y.

    Both int32 and contiguous. ``block`` is a power of two, in elements. ``eviction`` is what the L2
    cache does with x: "" or "evict_first", which leaves more of it to y.
    """
    grid = (cdiv(y.numel(), block),)
    with torch.cuda.device_of(y):
        copy_kernel[grid](x, y, y.numel(), len(x), block, eviction, num_warps=4)
    return y
