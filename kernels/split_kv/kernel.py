"""Split-KV attention in Triton (flash-decoding): several programs share the keys of one query.

With few queries there are too few programs to fill a GPU. Here each takes a share of the keys and
leaves a partial result, o_part and lse_part in float32; a second kernel merges them:

    lse_max = max(lse_part);   weight = exp(lse_part - lse_max)
    o = sum(weight * o_part) / sum weight;   lse = lse_max + ln sum weight

That the parts can be cut and merged anywhere is the associativity that all of online softmax rests
on. A share without keys has lse_part = -inf and weighs nothing, whatever its o_part holds.
The queries of all heads that share a key head are rows of one tile: their keys are read once.
Source: Dao et al., "Flash-Decoding for long-context inference" (2023).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import check_attention, check_schedule, finish_output, output_tensor
from kernels.flash_attention.kernel import (
    LN_2,
    LOG2_E,
    descriptor,
    load_tile,
    lse_tensor,
    update,
)
from kernels.tiles import Tiles, cdiv, next_power_of_two, padded


@triton.jit(
    do_not_specialize=["kv_heads", "group", "seq_q", "seq_k", "n_splits", "split_keys"]
)
def split_kernel(
    q_ptr, k_ptr, v_ptr,
    o_part_ptr,  # [batch, heads, seq_q, n_splits, head_dim], float32
    lse_part_ptr,  # [batch, heads, seq_q, n_splits], float32
    state_ptr,  # [batch, heads, seq_q, n_blocks, 3 + head_dim]: m, l, alpha, acc, if CAPTURE
    scale_log2, kv_heads, group, seq_q, seq_k, n_splits,
    split_keys,  # keys a split, whole blocks
    k_desc, v_desc,  # tensor descriptors of k and v where the GPU has a TMA unit, or None
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    IS_CAUSAL: tl.constexpr, CAPTURE: tl.constexpr, BF16_BY_HAND: tl.constexpr,
):
    """One program a split of one tile of queries; row r of a key head is head r // seq_q of it."""
    n_rows = group * seq_q
    n_blocks_m = tl.cdiv(n_rows, BLOCK_M)
    split = tl.program_id(0) % n_splits
    pid_m = tl.program_id(0) // n_splits % n_blocks_m
    pid_h = (tl.program_id(0) // n_splits // n_blocks_m).to(tl.int64)
    batch, kv_head = pid_h // kv_heads, pid_h % kv_heads
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    mask_m = rows < n_rows
    head, query = kv_head * group + rows // seq_q, rows % seq_q
    offs_d = tl.arange(0, BLOCK_D).to(tl.int64)
    mask_d = offs_d < HEAD_DIM
    mask = mask_m[:, None] & mask_d[None, :]
    q_rows = q_ptr + batch * stride_qb + head * stride_qh + query.to(tl.int64) * stride_qm
    q = tl.load(q_rows[:, None] + offs_d[None, :] * stride_qd, mask, other=0.0)  #: load_q
    if BF16_BY_HAND:
        q = q.to(tl.float32)
    keys = tl.arange(0, BLOCK_N).to(tl.int64)[:, None]
    k_ptrs = k_ptr + batch * stride_kb + kv_head * stride_kh
    v_ptrs = v_ptr + batch * stride_vb + kv_head * stride_vh
    k_ptrs += keys * stride_kn + offs_d[None, :] * stride_kd
    v_ptrs += keys * stride_vn + offs_d[None, :] * stride_vd
    out_row = batch * (kv_heads * group) * seq_q + head * seq_q + query  # [BLOCK_M]

    m_log2 = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    first = split * split_keys
    stop = tl.minimum(first + split_keys, seq_k)
    if IS_CAUSAL:  # no key is loaded that no query of the tile sees
        last = tl.max(tl.where(mask_m, query, 0), 0)
        stop = tl.minimum(stop, tl.maximum(last + 1 + seq_k - seq_q, 0))
    CHECK_D: tl.constexpr = HEAD_DIM != BLOCK_D
    for start in range(first, stop, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < seq_k
        k = load_tile(k_desc, k_ptrs, batch, kv_head, start, stride_kn,  #: load
                      mask_n, mask_d, True, CHECK_D)  #: load [BLOCK_N, BLOCK_D]
        v = load_tile(v_desc, v_ptrs, batch, kv_head, start, stride_vn,  #: load
                      mask_n, mask_d, True, CHECK_D)  #: load [BLOCK_N, BLOCK_D]
        if BF16_BY_HAND:
            k, v = k.to(tl.float32), v.to(tl.float32)
        scores_log2 = tl.dot(q, k.T, input_precision="ieee") * scale_log2  #: scores
        visible = mask_n[None, :]
        if IS_CAUSAL:
            visible = visible & (offs_n[None, :] <= query[:, None] + seq_k - seq_q)
        scores_log2 = tl.where(visible, scores_log2, float("-inf"))  #: scores [BLOCK_M, BLOCK_N]
        m_log2, l, acc, alpha = update(m_log2, l, acc, scores_log2, v, BF16_BY_HAND)
        if CAPTURE:
            n_blocks = tl.cdiv(seq_k, BLOCK_N)
            state = state_ptr + (out_row * n_blocks + start // BLOCK_N) * (3 + HEAD_DIM)
            tl.store(state, m_log2 * LN_2, mask_m)
            tl.store(state + 1, l, mask_m)
            tl.store(state + 2, alpha, mask_m)
            tl.store(state[:, None] + 3 + offs_d, acc, mask)
    o_part = tl.where(l[:, None] == 0.0, 0.0, acc / l[:, None])  #: normalize [BLOCK_M, BLOCK_D]
    shift = tl.where(tl.abs(m_log2) == float("inf"), 0.0, m_log2)  #: normalize
    lse_part = (shift + tl.log2(l)) * LN_2  #: normalize [BLOCK_M], natural
    out = out_row * n_splits + split
    tl.store(o_part_ptr + out[:, None] * HEAD_DIM + offs_d[None, :], o_part, mask)  #: store
    tl.store(lse_part_ptr + out, lse_part, mask_m)  #: store


@triton.jit(do_not_specialize=["heads", "seq_q", "n_splits"])
def merge_kernel(
    o_part_ptr,  # [n_rows, n_splits, head_dim], float32
    lse_part_ptr,  # [n_rows, n_splits], float32
    o_ptr,
    lse_ptr,  # [n_rows], float32
    heads, seq_q, n_splits,
    stride_ob, stride_oh, stride_om, stride_od,
    HEAD_DIM: tl.constexpr,
    BLOCK_S: tl.constexpr,  # n_splits, padded to a power of two
    BLOCK_D: tl.constexpr,
):
    """One program a query of one head: its partial results, weighed by their LSE."""
    row = tl.program_id(0).to(tl.int64)
    offs_s, offs_d = tl.arange(0, BLOCK_S), tl.arange(0, BLOCK_D)
    mask_s, mask_d = offs_s < n_splits, offs_d < HEAD_DIM
    lse_ptrs = lse_part_ptr + row * n_splits + offs_s
    o_ptrs = o_part_ptr + (row * n_splits + offs_s)[:, None] * HEAD_DIM + offs_d[None, :]
    lse_part = tl.load(lse_ptrs, mask_s, other=float("-inf"))  #: load, pass 2 [BLOCK_S]
    some = lse_part != float("-inf")  # the others weigh nothing, NaN in their buffer or not
    mask = some[:, None] & mask_d[None, :]
    o_part = tl.load(o_ptrs, mask, other=0.0)  #: load, pass 2 [BLOCK_S, BLOCK_D]
    lse_max = tl.max(lse_part, 0)  #: weights, pass 2
    shift = tl.where(tl.abs(lse_max) == float("inf"), 0.0, lse_max)  #: weights, pass 2
    weight = tl.exp(lse_part - shift)  #: weights, pass 2 [BLOCK_S]
    total = tl.sum(weight, 0)  #: weights, pass 2
    o = tl.sum(weight[:, None] * o_part, 0)  #: merge, pass 2 [BLOCK_D]
    o = tl.where(total == 0.0, 0.0, o / total)  #: merge, pass 2
    lse = shift + tl.log(total)  #: merge, pass 2
    batch, head, query = row // seq_q // heads, row // seq_q % heads, row % seq_q
    o_row = o_ptr + batch * stride_ob + head * stride_oh + query * stride_om
    tl.store(o_row + offs_d.to(tl.int64) * stride_od, o, mask_d)  #: store, pass 2
    tl.store(lse_ptr + row, lse)  #: store, pass 2


INTERPRETED = not isinstance(split_kernel, triton.runtime.JITFunction)


def launch(
    tensors: Mapping[str, torch.Tensor],
    tiles: Tiles,
    *,
    num_warps: int | None = None,
    num_stages: int | None = None,
    capture: bool = False,
    out: Mapping[str, torch.Tensor] | None = None,
) -> Launch:
    """Compute o = softmax(scale q k^T) v and lse, ``tiles.n_splits`` programs a tile of queries.

    Shapes, types, masks, outputs and errors as in `kernels.flash_attention.kernel.launch`; more
    splits than key blocks are fine. Captured state: as there, each split's own m, l, alpha and acc.
    """
    q, k, v = (tensors[name] for name in ("q", "k", "v"))
    check_attention(torch.is_grad_enabled(), INTERPRETED, q=q, k=k, v=v)
    check_schedule(tiles, num_warps, num_stages, "block_m", "block_n")
    (batch, heads, seq_q, head_dim), (kv_heads, seq_k) = q.shape, k.shape[1:3]
    n_splits, n_blocks = tiles.n_splits, cdiv(seq_k, tiles.block_n)
    given = out or {}
    o_part = q.new_empty((batch, heads, seq_q, n_splits, head_dim), dtype=torch.float32)
    lse_part = q.new_empty((batch, heads, seq_q, n_splits), dtype=torch.float32)
    state = None
    if capture:
        shape = (batch, heads, seq_q, n_blocks, 3 + head_dim)
        state = q.new_full(shape, float("nan"), dtype=torch.float32)
    group = heads // kv_heads if kv_heads else 1
    n_programs = batch * kv_heads * cdiv(group * seq_q, tiles.block_m) * n_splits
    compiled = None
    if n_programs:
        with torch.cuda.device_of(q):
            compiled = split_kernel[(n_programs,)](
                q, k, v, o_part, lse_part, state,
                tiles.scale_for(head_dim) * LOG2_E.value, kv_heads, group, seq_q, seq_k, n_splits,
                cdiv(n_blocks, n_splits) * tiles.block_n,
                *(descriptor(tensor, tiles.block_n) for tensor in (k, v)),
                *q.stride(), *k.stride(), *v.stride(),
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
    o, lse = merge(o_part, lse_part, q.dtype, given.get("o"), given.get("lse"), (q, k, v))
    n_merges = batch * heads * seq_q
    return Launch({"o": o, "lse": lse}, state, "split", n_programs + n_merges, compiled)


def merge(
    o_part: torch.Tensor,
    lse_part: torch.Tensor,
    dtype: torch.dtype,
    o: torch.Tensor | None = None,
    lse: torch.Tensor | None = None,
    inputs: tuple[torch.Tensor, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor]:
    """Merge partial results of attention over disjoint sets of keys, in any order.

    o_part [batch, heads, seq_q, n_splits, head_dim] and lse_part [batch, heads, seq_q, n_splits],
    float32 contiguous, lse_part natural. A part whose lse is -inf weighs nothing, even if its
    o_part is NaN. Returns o in ``dtype`` and lse [batch, heads, seq_q] float32.
    """
    (batch, heads, seq_q, n_splits), head_dim = lse_part.shape, o_part.shape[-1]
    like = o_part.new_empty((), dtype=dtype)
    stored_as = torch.float32 if INTERPRETED else dtype
    shape = (batch, heads, seq_q, head_dim)
    written = output_tensor(o, like, shape, *inputs, stored_as=stored_as)
    lse = lse_tensor(lse, written)
    if lse.numel():
        with torch.cuda.device_of(o_part):
            merge_kernel[(lse.numel(),)](
                o_part, lse_part, written, lse, heads, seq_q, n_splits, *written.stride(),
                HEAD_DIM=head_dim,
                BLOCK_S=next_power_of_two(n_splits),
                BLOCK_D=next_power_of_two(head_dim),
                num_warps=4,
            )
    return finish_output(written, o, dtype), lse
