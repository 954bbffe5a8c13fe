"""One query's attention in Triton: o = softmax(x) @ v in one pass, m, l and acc kept on chip.

The online softmax with one more accumulator, the output not yet divided by l:

    m_new = max(m, max(scores));  alpha = exp(m - m_new);  p = exp(scores - m_new)
    l = l * alpha + sum p;        acc = acc * alpha + p @ v

After the last block o = acc / l and lse = m + ln l. Each score and each row of v is read once, and
no weight is ever written to memory. Source: Dao et al., "FlashAttention" (2022), algorithm 1; Dao,
"FlashAttention-2" (2023), section 3.1, for dividing by l only once, at the end.
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
from kernels.tiles import cdiv, next_power_of_two


@triton.jit
def update(m, l, acc, scores, v):
    """Take one block, scores [BLOCK_N] and v [BLOCK_N, BLOCK_D], into m, l and acc [BLOCK_D].

    alpha is returned for the capture.
    """
    block_max = tl.max(scores, 0)  #: block_max
    # where, not tl.maximum: that one's rule for NaN differs between the GPU and the interpreter.
    m_new = tl.where(block_max > m, block_max, m)  #: new_max
    # inf - inf is NaN: a row that is all -inf so far, or holds +inf, is shifted by 0 instead.
    shift = tl.where(tl.abs(m_new) == float("inf"), 0.0, m_new)  #: new_max
    alpha = tl.exp(m - shift)  #: rescale
    l = l * alpha  #: rescale
    acc = acc * alpha  #: rescale [BLOCK_D]
    p = tl.exp(scores - shift)  #: accumulate [BLOCK_N]
    l = l + tl.sum(p, 0)  #: accumulate
    acc = acc + tl.sum(p[:, None] * v, 0)  #: accumulate [BLOCK_D]
    return m_new, l, acc, alpha


@triton.jit
def attention_row_kernel(
    x_ptr,
    v_ptr,
    o_ptr,
    lse_ptr,  # [n_rows], float32
    state_ptr,  # [n_rows, n_blocks, 3 + head_dim]: m, l, alpha, acc after each block, if CAPTURE
    n_cols,
    head_dim,
    stride_xm,
    stride_xn,
    stride_vn,
    stride_vd,
    stride_om,
    stride_od,
    BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,  # head_dim, padded to a power of two
    CAPTURE: tl.constexpr,
):
    """One program a row of scores."""
    row = tl.program_id(0).to(tl.int64)  # rows x stride can pass 2^31
    x_row = x_ptr + row * stride_xm
    offs_d = tl.arange(0, BLOCK_D).to(tl.int64)
    mask_d = offs_d < head_dim
    m = float("-inf")
    l = 0.0
    acc = tl.zeros([BLOCK_D], tl.float32)
    for start in range(0, n_cols, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N).to(tl.int64)
        mask_n = offs_n < n_cols
        x_ptrs = x_row + offs_n * stride_xn
        v_ptrs = v_ptr + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vd
        mask_v = mask_n[:, None] & mask_d[None, :]
        x = tl.load(x_ptrs, mask_n, other=float("-inf"))  #: load [BLOCK_N]
        v = tl.load(v_ptrs, mask_v, other=0.0)  #: load [BLOCK_N, BLOCK_D]
        scores = x.to(tl.float32)
        m, l, acc, alpha = update(m, l, acc, scores, v.to(tl.float32))
        if CAPTURE:
            n_blocks = tl.cdiv(n_cols, BLOCK_N)
            state = state_ptr + (row * n_blocks + start // BLOCK_N) * (3 + head_dim)
            tl.store(state, m)
            tl.store(state + 1, l)
            tl.store(state + 2, alpha)
            tl.store(state + 3 + offs_d, acc, mask_d)
    # A row that is -inf everywhere has no weight: o = 0 and lse = ln 0 = -inf.
    o = tl.where(l == 0.0, 0.0, acc / l)  #: normalize [BLOCK_D]
    shift = tl.where(tl.abs(m) == float("inf"), 0.0, m)  #: normalize
    lse = shift + tl.log(l)  #: normalize
    tl.store(o_ptr + row * stride_om + offs_d * stride_od, o, mask_d)  #: store
    tl.store(lse_ptr + row, lse)  #: store


INTERPRETED = not isinstance(attention_row_kernel, triton.runtime.JITFunction)


def launch(
    x: torch.Tensor,
    v: torch.Tensor,
    *,
    block: int,
    num_warps: int = 4,
    capture: bool = False,
    out: torch.Tensor | None = None,
) -> Launch:
    """Compute o = softmax(x) @ v and lse = ln sum exp(x), the natural log, for every row of x.

    x [n_rows, n_cols] scores and v [n_cols, head_dim] values: float16, bfloat16 or float32, the
    same dtype and device, any strides. o [n_rows, head_dim] in that dtype, lse [n_rows] float32.
    A row that is -inf everywhere gives o = 0 and lse = -inf; NaN and +inf give NaN, as in torch.
    ``out`` receives o if given. Raises TypeError or ValueError for what cannot be computed.
    """
    check_inputs(torch.is_grad_enabled(), INTERPRETED, num_warps, x=x, v=v)
    n_rows, n_cols = x.shape
    head_dim = v.shape[1]
    if len(v) != n_cols:
        raise ValueError(f"v must have a row for each of x's {n_cols} columns, got {len(v)}.")
    block_d = next_power_of_two(head_dim)
    check_power_of_two("block", block, MAX_NUMEL // block_d)
    # The interpreter truncates float32 to bfloat16 where a GPU rounds: there torch rounds instead.
    stored_as = torch.float32 if INTERPRETED else x.dtype
    o = output_tensor(out, x, (n_rows, head_dim), x, v, stored_as=stored_as)
    lse = x.new_empty((n_rows,), dtype=torch.float32)
    state = None
    if capture:
        shape = (n_rows, cdiv(n_cols, block), 3 + head_dim)
        state = x.new_empty(shape, dtype=torch.float32)
    if n_rows:
        with torch.cuda.device_of(x):
            attention_row_kernel[(n_rows,)](
                x,
                v,
                o,
                lse,
                state,
                n_cols,
                head_dim,
                *x.stride(),
                *v.stride(),
                *o.stride(),
                BLOCK_N=block,
                BLOCK_D=block_d,
                CAPTURE=capture,
                num_warps=num_warps,
            )
    outputs = {"o": finish_output(o, out, x.dtype), "lse": lse}
    return Launch(outputs, state, "online", n_rows)
