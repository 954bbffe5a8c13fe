"""FlashAttention-2 forward in Triton: o = softmax(scale q k^T) v, one block of queries a program.

The online softmax on tiles: every row of the block has its own m, l and alpha, acc is a matrix.

    scores = scale * q @ k^T;     m_new = max(m, max(scores));    alpha = exp(m - m_new)
    p = exp(scores - m_new);      l = l * alpha + sum p;          acc = acc * alpha + p @ v

After the last key block o = acc / l and lse = m + ln l, natural. Inside, scores and m are in base
2, log2(e) folded into the scale, and exp is exp2. q is read once; K and V once for
every block of queries that sees them; no score or weight is ever written. Tiles that are masked
for every row are not visited, tiles that no row has masked are not masked.
Source: Dao, "FlashAttention-2" (2023), algorithm 1 and section 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from kernels.algorithm import Launch
from kernels.checks import check_attention, check_schedule, finish_output, output_tensor
from kernels.tiles import Tiles, cdiv, padded

LOG2_E = tl.constexpr(math.log2(math.e))
LN_2 = tl.constexpr(math.log(2))


@triton.jit
def load_tile(
    desc, ptrs, batch, head, start, stride, mask_rows, mask_d,
    CHECK_ROWS: tl.constexpr, CHECK_D: tl.constexpr,
):
    """Load rows [start, start + rows) of one head, 0 outside: [rows, BLOCK_D].

    By the tensor memory accelerator where there is a descriptor, which knows the edges; else from
    ``ptrs``, which stand at row 0, checking only the edges that can be passed.
    """
    if desc is not None:
        tile = desc.load([batch.to(tl.int32), head.to(tl.int32), start, 0])
        return tile.reshape([desc.block_shape[2], desc.block_shape[3]])
    ptrs += tl.cast(start, tl.int64) * stride
    if CHECK_ROWS and CHECK_D:
        return tl.load(ptrs, mask_rows[:, None] & mask_d[None, :], other=0.0)
    elif CHECK_ROWS:
        return tl.load(ptrs, mask_rows[:, None], other=0.0)
    elif CHECK_D:
        return tl.load(ptrs, mask_d[None, :], other=0.0)
    else:
        return tl.load(ptrs)


@triton.jit
def keys_of(
    pid_m, seq_q, seq_k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, IS_CAUSAL: tl.constexpr
):
    """Return (whole, stop) for a block of queries.

    Keys before whole, a multiple of BLOCK_N, are seen by all of its queries, none from stop on by
    any.
    """
    stop = seq_k
    whole = seq_k // BLOCK_N * BLOCK_N
    if IS_CAUSAL:
        last = tl.minimum((pid_m + 1) * BLOCK_M, seq_q)
        stop = tl.maximum(last + seq_k - seq_q, 0)
        seen_by_first = tl.maximum(pid_m * BLOCK_M + 1 + seq_k - seq_q, 0)
        whole = tl.minimum(seen_by_first // BLOCK_N * BLOCK_N, whole)
    return whole, stop


@triton.jit
def as_operand(x, like, BF16_BY_HAND: tl.constexpr):
    """Return x in the type of ``like``, as the tensor cores take it.

    The interpreter has no right bfloat16: there it is float32, rounded by hand to nearest even.
    """
    if BF16_BY_HAND:
        bits = x.to(tl.int32, bitcast=True)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & -65536
        return tl.where(x == x, bits.to(tl.float32, bitcast=True), x)
    else:
        return x.to(like.dtype)


@triton.jit
def update(m, l, acc, scores, v, BF16_BY_HAND: tl.constexpr):
    """Take one tile, scores [BLOCK_M, BLOCK_N] and v [BLOCK_N, BLOCK_D], into m, l and acc.

    m and l are [BLOCK_M], acc [BLOCK_M, BLOCK_D]. alpha is returned for the capture. scores and m
    are in base 2, scaled by log2(e): that is what the hardware's exponential takes.
    """
    block_max = tl.max(scores, 1)  #: new_max [BLOCK_M]
    # where, not tl.maximum: that one's rule for NaN differs between the GPU and the interpreter.
    m_new = tl.where(block_max > m, block_max, m)  #: new_max
    # inf - inf is NaN: a row that saw only -inf so far, or holds +inf, is shifted by 0 instead.
    shift = tl.where(tl.abs(m_new) == float("inf"), 0.0, m_new)  #: new_max
    alpha = tl.exp2(m - shift)  #: rescale [BLOCK_M]
    l = l * alpha  #: rescale
    acc = acc * alpha[:, None]  #: rescale [BLOCK_M, BLOCK_D]
    p = tl.exp2(scores - shift[:, None])  #: accumulate [BLOCK_M, BLOCK_N]
    l = l + tl.sum(p, 1)  #: accumulate
    p = as_operand(p, v, BF16_BY_HAND)
    acc = tl.dot(p, v, acc, input_precision="ieee")  #: accumulate
    return m_new, l, acc, alpha


@triton.jit
def attend(
    m_log2, l, acc, q, k_desc, k_ptrs, v_desc, v_ptrs, state_ptrs, batch, kv_head, start,
    stride_kn, stride_vn, scale_log2, offs_m, mask_m, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    IS_CAUSAL: tl.constexpr, MASKED: tl.constexpr, CAPTURE: tl.constexpr,
    BF16_BY_HAND: tl.constexpr,
):
    """Visit the tile of the keys from ``start``; mask it only if MASKED."""
    offs_n = start + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, BLOCK_D)
    mask_n, mask_d = offs_n < seq_k, offs_d < HEAD_DIM
    CHECK_D: tl.constexpr = HEAD_DIM != BLOCK_D
    k = load_tile(k_desc, k_ptrs, batch, kv_head, start, stride_kn,  #: load
                  mask_n, mask_d, MASKED, CHECK_D)  #: load [BLOCK_N, BLOCK_D]
    v = load_tile(v_desc, v_ptrs, batch, kv_head, start, stride_vn,  #: load
                  mask_n, mask_d, MASKED, CHECK_D)  #: load [BLOCK_N, BLOCK_D]
    if BF16_BY_HAND:
        k, v = k.to(tl.float32), v.to(tl.float32)
    scores_log2 = tl.dot(q, k.T, input_precision="ieee") * scale_log2  #: scores [BLOCK_M, BLOCK_N]
    if MASKED:
        visible = mask_n[None, :]
        if IS_CAUSAL:  # bottom-right: the last query sees the last key
            visible = visible & (offs_n[None, :] <= offs_m[:, None] + seq_k - seq_q)
        scores_log2 = tl.where(visible, scores_log2, float("-inf"))  #: scores
    m_log2, l, acc, alpha = update(m_log2, l, acc, scores_log2, v, BF16_BY_HAND)
    if CAPTURE:
        state = state_ptrs + (start // BLOCK_N) * (3 + HEAD_DIM)  # [BLOCK_M]
        tl.store(state, m_log2 * LN_2, mask_m)
        tl.store(state + 1, l, mask_m)
        tl.store(state + 2, alpha, mask_m)
        tl.store(state[:, None] + 3 + offs_d, acc, mask_m[:, None] & mask_d[None, :])
    return m_log2, l, acc


# A length of 1, or one that 16 divides, is no reason to compile again.
@triton.jit(do_not_specialize=["heads", "group", "seq_q", "seq_k"])
def flash_attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr,
    k_desc, v_desc,  # tensor descriptors of k and v where the GPU has a TMA unit, or None
    lse_ptr,  # [batch, heads, seq_q], float32
    state_ptr,  # [batch, heads, seq_q, n_blocks, 3 + head_dim]: m, l, alpha, acc, if CAPTURE
    scale_log2,  # of the scores, log2(e) folded in
    heads,
    group,  # query heads that share a key head
    seq_q, seq_k,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_ob, stride_oh, stride_om, stride_od,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr,  # HEAD_DIM, padded to a power of two
    IS_CAUSAL: tl.constexpr, CAPTURE: tl.constexpr, BF16_BY_HAND: tl.constexpr,
):
    """One program a block of queries of one head."""
    n_blocks_m = tl.cdiv(seq_q, BLOCK_M)
    pid_m = tl.program_id(0) % n_blocks_m
    if IS_CAUSAL:  # the longest rows first, so that no multiprocessor is left with one at the end
        pid_m = n_blocks_m - 1 - pid_m
    pid_h = (tl.program_id(0) // n_blocks_m).to(tl.int64)  # heads x stride can pass 2^31
    batch, head = pid_h // heads, pid_h % heads
    q_ptr += batch * stride_qb + head * stride_qh
    kv_head = head // group
    k_ptr += batch * stride_kb + kv_head * stride_kh
    v_ptr += batch * stride_vb + kv_head * stride_vh
    o_ptr += batch * stride_ob + head * stride_oh

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, BLOCK_D).to(tl.int64)
    mask_m, mask_d = offs_m < seq_q, offs_d < HEAD_DIM
    rows = offs_m.to(tl.int64)[:, None]
    q_ptrs = q_ptr + rows * stride_qm + offs_d[None, :] * stride_qd
    k_ptrs = k_ptr + offs_n[:, None] * stride_kn + offs_d[None, :] * stride_kd
    v_ptrs = v_ptr + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vd
    state_ptrs = state_ptr
    if CAPTURE:
        row = pid_h * seq_q + offs_m
        state_ptrs = state_ptr + row * tl.cdiv(seq_k, BLOCK_N) * (3 + HEAD_DIM)
    q = tl.load(q_ptrs, mask_m[:, None] & mask_d[None, :], other=0.0)  #: load_q [BLOCK_M, BLOCK_D]
    if BF16_BY_HAND:
        q = q.to(tl.float32)

    m_log2 = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    whole, stop = keys_of(pid_m, seq_q, seq_k, BLOCK_M, BLOCK_N, IS_CAUSAL)
    for start in range(0, whole, BLOCK_N):
        m_log2, l, acc = attend(
            m_log2, l, acc, q, k_desc, k_ptrs, v_desc, v_ptrs, state_ptrs, batch, kv_head, start,
            stride_kn, stride_vn, scale_log2, offs_m, mask_m, seq_q, seq_k,
            HEAD_DIM, BLOCK_N, BLOCK_D, IS_CAUSAL, False, CAPTURE, BF16_BY_HAND)
    for start in range(whole, stop, BLOCK_N):
        m_log2, l, acc = attend(
            m_log2, l, acc, q, k_desc, k_ptrs, v_desc, v_ptrs, state_ptrs, batch, kv_head, start,
            stride_kn, stride_vn, scale_log2, offs_m, mask_m, seq_q, seq_k,
            HEAD_DIM, BLOCK_N, BLOCK_D, IS_CAUSAL, True, CAPTURE, BF16_BY_HAND)

    # A query that sees no key has no weight: o = 0 and lse = ln 0 = -inf.
    o = tl.where(l[:, None] == 0.0, 0.0, acc / l[:, None])  #: normalize [BLOCK_M, BLOCK_D]
    shift = tl.where(tl.abs(m_log2) == float("inf"), 0.0, m_log2)  #: normalize
    lse = (shift + tl.log2(l)) * LN_2  #: normalize [BLOCK_M], natural
    o_ptrs = o_ptr + rows * stride_om + offs_d[None, :] * stride_od
    tl.store(o_ptrs, o, mask_m[:, None] & mask_d[None, :])  #: store
    tl.store(lse_ptr + pid_h * seq_q + offs_m, lse, mask_m)  #: store


INTERPRETED = not isinstance(flash_attention_kernel, triton.runtime.JITFunction)


def launch(
    tensors: Mapping[str, torch.Tensor],
    tiles: Tiles,
    *,
    num_warps: int | None = None,
    num_stages: int | None = None,
    capture: bool = False,
    out: Mapping[str, torch.Tensor] | None = None,
) -> Launch:
    """Compute o = softmax(scale q k^T) v and lse, the natural log of the sum of exp of the scores.

    tensors: q [batch, heads, seq_q, head_dim], k and v [batch, kv_heads, seq_k, head_dim], any
    strides; float16, bfloat16 or float32, one dtype and device; heads a multiple of kv_heads,
    head_dim at most 256. Outputs: o like q, lse [batch, heads, seq_q] float32. A query that sees no
    key gives o = 0 and lse = -inf. Captured state: m, l, alpha, acc of every query after every key
    block it visited, [batch, heads, seq_q, n_blocks, 3 + head_dim] float32, NaN elsewhere.
    ``out`` receives o and lse if given. Raises TypeError or ValueError for what cannot be computed.
    """
    q, k, v = (tensors[name] for name in ("q", "k", "v"))
    check_attention(torch.is_grad_enabled(), INTERPRETED, q=q, k=k, v=v)
    check_schedule(tiles, num_warps, num_stages, "block_m", "block_n")
    (batch, heads, seq_q, head_dim), (kv_heads, seq_k) = q.shape, k.shape[1:3]
    out = out or {}
    # The interpreter truncates float32 to bfloat16 where a GPU rounds: there torch rounds instead.
    stored_as = torch.float32 if INTERPRETED else q.dtype
    o = output_tensor(out.get("o"), q, tuple(q.shape), q, k, v, stored_as=stored_as)
    lse = lse_tensor(out.get("lse"), q)
    state = None
    if capture:
        shape = (batch, heads, seq_q, cdiv(seq_k, tiles.block_n), 3 + head_dim)
        state = q.new_full(shape, float("nan"), dtype=torch.float32)
    n_programs = batch * heads * cdiv(seq_q, tiles.block_m)
    compiled = None
    if n_programs:
        with torch.cuda.device_of(q):
            compiled = flash_attention_kernel[(n_programs,)](
                q, k, v, o,
                *(descriptor(tensor, tiles.block_n) for tensor in (k, v)),
                lse, state, tiles.scale_for(head_dim) * LOG2_E.value,
                heads, heads // kv_heads, seq_q, seq_k,
                *q.stride(), *k.stride(), *v.stride(), *o.stride(),
                HEAD_DIM=head_dim,
                BLOCK_M=tiles.block_m,
                BLOCK_N=tiles.block_n,
                BLOCK_D=padded(head_dim),
                IS_CAUSAL=tiles.is_causal,
                CAPTURE=capture,
                BF16_BY_HAND=INTERPRETED and q.dtype == torch.bfloat16,
                num_warps=num_warps or 4,
                num_stages=num_stages or 2,
            )
    outputs = {"o": finish_output(o, out.get("o"), q.dtype), "lse": lse}
    return Launch(outputs, state, "flash", n_programs, compiled)


def descriptor(x: torch.Tensor, block_rows: int) -> TensorDescriptor | None:
    """Return a descriptor of x [batch, heads, length, head_dim] for tiles of ``block_rows`` rows.

    None where there is no TMA unit (before compute capability 9.0) or it cannot read x: the last
    dimension must be dense, the others 16-byte steps from a 16-byte address.
    """
    if INTERPRETED or not x.numel() or torch.cuda.get_device_capability(x.device) < (9, 0):
        return None
    size = x.element_size()
    width = padded(x.shape[3])
    # The step along a dimension of length 1 is never taken: it may be anything legal.
    strides = [s if n > 1 else width * 16 for n, s in zip(x.shape[:3], x.stride())]
    is_dense = x.stride(3) == 1 or x.shape[3] == 1
    is_aligned = x.data_ptr() % 16 == 0 and all(s > 0 and s * size % 16 == 0 for s in strides)
    if not (is_dense and is_aligned):
        return None
    return TensorDescriptor(x, list(x.shape), [*strides, 1], [1, 1, block_rows, width])


def lse_tensor(out: torch.Tensor | None, q: torch.Tensor) -> torch.Tensor:
    """Return the float32 tensor for a value a query: ``out``, or a new one."""
    shape = tuple(q.shape[:3])
    if out is None:
        return q.new_empty(shape, dtype=torch.float32)
    if out.dtype != torch.float32 or tuple(out.shape) != shape or not out.is_contiguous():
        raise ValueError(
            f"out for lse must be contiguous float32 {list(shape)}, got {str(out.dtype)[6:]} "
            f"{list(out.shape)}."
        )
    return out
