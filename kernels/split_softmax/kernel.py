"""Several programs a row in Triton: y = softmax(x) for the longest rows, each element read once.

A row too long for one program's registers is dealt out in parts of BLOCK_N columns. Each program
keeps its part in registers, publishes the part's (m, l), waits until all parts of the row are
published, merges them, and writes its part of y:

    m = max m_part;   l = sum l_part * exp(m_part - m);   y = exp(x - m) / l

What is kept is x as it is stored, not exp(x - m_part): half the registers in half types, so twice
the programs that wait at once, for an exp more. The merge is the one that joins splits of
attention, without the o. The wait cannot deadlock.
Which part a program takes is decided by a ticket, drawn when it starts: so the parts that run are
always the first ones that are not finished, in whatever order the GPU starts programs. And a
program that has waited POLLS times reads the other parts itself, and goes on: with the same
arithmetic, so with the same bits. Source: Milakov and Gimelshein (2018), section 3.1, for the
merge; Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back" (2016), for
tickets.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import MAX_NUMEL, check_power_of_two, check_tensor
from kernels.inputs import MAX_SPLITS
from kernels.rows import caches, launch_rows
from kernels.tiles import next_power_of_two

POLLS = 10_000  # some milliseconds: long beside a part, short beside a user's patience


@triton.jit
def load_part(x_row, part, n_cols, stride_xn, BLOCK_N: tl.constexpr, LOAD_CACHE: tl.constexpr):
    """Return part ``part`` of a row as it is stored, -inf past its end: [BLOCK_N]."""
    # 32 bits hold a column; to compare in 64 would halve the speed of rows of odd lengths.
    offs_n = part * BLOCK_N + tl.arange(0, BLOCK_N)
    x_ptrs = x_row + offs_n.to(tl.int64) * stride_xn
    return tl.load(x_ptrs, offs_n < n_cols, float("-inf"), cache_modifier=LOAD_CACHE)


@triton.jit
def summarize(x):
    """Return the m_part and l_part of a part x [BLOCK_N]."""
    scores = x.to(tl.float32)
    m_part = tl.max(scores, 0)  #: block_max
    # exp(-inf - -inf) is NaN: a part that is all -inf is shifted by 0 instead, and sums to 0.
    p = tl.exp(scores - tl.where(m_part == float("-inf"), 0.0, m_part))  #: accumulate [BLOCK_N]
    l_part = tl.sum(p, 0)  #: accumulate
    return m_part, l_part


@triton.jit
def split_softmax_kernel(
    x_ptr,
    y_ptr,
    state_ptr,  # [n_rows, n_splits, 2]: m_part, l_part, if CAPTURE
    part_ptr,  # [n_rows, n_splits, 2]: the same, for the other programs of the row
    count_ptr,  # [1 + n_rows]: tickets drawn, and parts published of each row; 0 before the launch
    n_rows,
    n_splits,
    n_cols,
    stride_xm,
    stride_xn,
    stride_ym,
    stride_yn,
    BLOCK_N: tl.constexpr,
    BLOCK_S: tl.constexpr,  # n_splits, rounded up
    POLLS: tl.constexpr,
    SCATTERED: tl.constexpr,  # deal a row's parts far apart: the worst order, for tests
    CAPTURE: tl.constexpr,
    LOAD_CACHE: tl.constexpr,
    STORE_CACHE: tl.constexpr,
):
    """One program a part."""
    ticket = tl.atomic_add(count_ptr, 1, sem="relaxed")
    if SCATTERED:
        row, part = (ticket % n_rows).to(tl.int64), ticket // n_rows
    else:
        row, part = (ticket // n_splits).to(tl.int64), ticket % n_splits
    x_row = x_ptr + row * stride_xm  # rows x stride can pass 2^31
    parts = part_ptr + row * n_splits * 2
    x = load_part(x_row, part, n_cols, stride_xn, BLOCK_N, LOAD_CACHE)  #: load
    m_part, l_part = summarize(x)
    tl.store(parts + part * 2, m_part)  #: publish
    tl.store(parts + part * 2 + 1, l_part)  #: publish
    if CAPTURE:
        tl.store(state_ptr + (row * n_splits + part) * 2, m_part)
        tl.store(state_ptr + (row * n_splits + part) * 2 + 1, l_part)
    tl.debug_barrier()  # both stores come before the release below, whichever threads do them
    n_published = tl.atomic_add(count_ptr + 1 + row, 1, sem="acq_rel") + 1  #: publish
    n_polls = 0
    while (n_published < n_splits) & (n_polls < POLLS):
        n_published = tl.atomic_add(count_ptr + 1 + row, 0, sem="acquire")
        n_polls += 1

    offs_s = tl.arange(0, BLOCK_S)
    if n_published == n_splits:
        # From L2: another program's number may lie beside one that this core has cached.
        mask_s = offs_s < n_splits
        m_parts = tl.load(parts + offs_s * 2, mask_s, float("-inf"), cache_modifier=".cg")
        l_parts = tl.load(parts + offs_s * 2 + 1, mask_s, 0.0, cache_modifier=".cg")
    else:
        m_parts = tl.full([BLOCK_S], float("-inf"), tl.float32)
        l_parts = tl.zeros([BLOCK_S], tl.float32)
        for other in range(n_splits):
            theirs = load_part(x_row, other, n_cols, stride_xn, BLOCK_N, LOAD_CACHE)
            m_other, l_other = summarize(theirs)
            m_parts = tl.where(offs_s == other, m_other, m_parts)
            l_parts = tl.where(offs_s == other, l_other, l_parts)
        # Read again, so that it need not be kept beside another part.
        x = load_part(x_row, part, n_cols, stride_xn, BLOCK_N, LOAD_CACHE)
    m = tl.max(m_parts, 0)  #: merge, pass 2
    weights = tl.exp(m_parts - tl.where(m == float("-inf"), 0.0, m))  #: merge, pass 2 [BLOCK_S]
    l = tl.sum(l_parts * weights, 0)  #: merge, pass 2
    y = tl.exp(x.to(tl.float32) - m) / l  #: normalize, pass 2 [BLOCK_N]
    offs_n = part * BLOCK_N + tl.arange(0, BLOCK_N)
    y_ptrs = y_ptr + row * stride_ym + offs_n.to(tl.int64) * stride_yn
    tl.store(y_ptrs, y, offs_n < n_cols, cache_modifier=STORE_CACHE)  #: store, pass 2


INTERPRETED = not isinstance(split_softmax_kernel, triton.runtime.JITFunction)


def launch(
    x: torch.Tensor,
    v: None = None,
    *,
    block: int,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
    load_cache: str = "",
    store_cache: str = "",
    polls: int = POLLS,
    scattered: bool = False,
) -> Launch:
    """Compute y = softmax(x) over the last dimension, a program for every ``block`` columns.

    x [n_rows, n_cols], float16, bfloat16 or float32, any strides; y likewise, float32 inside.
    n_cols / block is at most 1024. ``polls`` is how often a program looks whether the others are
    done before it does their work as well; ``scattered`` deals out a row's parts as far apart as
    can be. Neither changes a bit of the result. NaN, +inf and rows all -inf give NaN rows, as in
    torch. ``out`` receives y if given; the cache modifiers are `kernels.rows.caches`'.
    Raises TypeError or ValueError, one sentence, for what cannot be computed.
    """
    check_tensor("x", x, 2, interpreted=INTERPRETED)
    check_power_of_two("block", block, MAX_NUMEL)
    n_rows, n_cols = x.shape
    n_splits = -(-n_cols // block)
    if n_splits > MAX_SPLITS:
        raise ValueError(
            f"a row may be shared by at most {MAX_SPLITS} programs, got {n_splits}: take a larger "
            "block."
        )
    if INTERPRETED:
        polls = 1  # programs run one after another: whoever waits, waits in vain
    parts = x.new_empty((n_rows, n_splits, 2), dtype=torch.float32)
    counts = torch.zeros(1 + n_rows, dtype=torch.int32, device=x.device)
    return launch_rows(
        torch,
        split_softmax_kernel,
        {"x": x},
        "y",
        block=block,
        num_warps=num_warps,
        capture=capture,
        out=out,
        n_fields=2,
        path="split",
        interpreted=INTERPRETED,
        constants={
            "BLOCK_S": next_power_of_two(n_splits),
            "POLLS": polls,
            "SCATTERED": scattered,
            **caches(load_cache, store_cache),
        },
        leading=(parts, counts, n_rows, n_splits),
        n_programs=n_rows * n_splits,
    )
