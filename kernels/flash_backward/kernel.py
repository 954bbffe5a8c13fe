"""FlashAttention-2 backward in Triton: dq, dk and dv, the weights recomputed from the LSE.

Nothing of the seq_q x seq_k matrices was kept; lse, one number a query, gives them back:

    p = exp(scores - lse);   dp = do @ v^T;   delta = sum(do * o);   ds = p * (dp - delta)
    dv = p^T @ do;           dk = scale * ds^T @ q;                  dq = scale * ds @ k

Three kernels. The first computes delta. The second gives every program a block of keys and walks
the queries that see it; the third a block of queries and walks its keys. Every gradient is summed
by one program in a fixed order, without atomics: runs are bitwise repeatable, at the price of
recomputing p and dp twice (seven products where five would do). Source: Dao,
"FlashAttention-2" (2023), algorithm 2; two loops as in Triton's tutorial on fused attention.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import check_attention, check_schedule, finish_output, output_tensor
from kernels.flash_attention.kernel import (
    LOG2_E,
    as_operand,
    descriptor,
    keys_of,
    load_tile,
    lse_tensor,
)
from kernels.tiles import Tiles, cdiv, padded

# A length of 1, or one that 16 divides, is no reason to compile again.
SIZES = ["heads", "kv_heads", "seq_q", "seq_k"]


@triton.jit(do_not_specialize=["heads", "seq_q"])
def delta_kernel(
    o_ptr, do_ptr, dlse_ptr, delta_ptr, heads, seq_q,
    stride_ob, stride_oh, stride_om, stride_od,
    stride_db, stride_dh, stride_dm, stride_dd,
    stride_lb, stride_lh, stride_lm,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr, HAS_DLSE: tl.constexpr,
):
    """One program a block of queries: delta = sum(do * o) - dlse, in float32."""
    n_blocks_m = tl.cdiv(seq_q, BLOCK_M)
    pid_h = (tl.program_id(0) // n_blocks_m).to(tl.int64)
    batch, head = pid_h // heads, pid_h % heads
    rows = (tl.program_id(0) % n_blocks_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    offs_d = tl.arange(0, BLOCK_D).to(tl.int64)
    mask_m = rows < seq_q
    mask = mask_m[:, None] & (offs_d < HEAD_DIM)[None, :]
    o_ptrs = o_ptr + batch * stride_ob + head * stride_oh + rows[:, None] * stride_om
    do_ptrs = do_ptr + batch * stride_db + head * stride_dh + rows[:, None] * stride_dm
    o = tl.load(o_ptrs + offs_d[None, :] * stride_od, mask, other=0.0)  #: load [BLOCK_M, BLOCK_D]
    do = tl.load(do_ptrs + offs_d[None, :] * stride_dd, mask, other=0.0)  #: load
    delta = tl.sum(o.to(tl.float32) * do.to(tl.float32), 1)  #: delta [BLOCK_M]
    if HAS_DLSE:  # lse moves with every score by p: its gradient joins in here
        dlse_ptrs = dlse_ptr + batch * stride_lb + head * stride_lh + rows * stride_lm
        delta -= tl.load(dlse_ptrs, mask_m, other=0.0).to(tl.float32)
    tl.store(delta_ptr + pid_h * seq_q + rows, delta, mask_m)  #: store


@triton.jit
def add_queries(
    dk, dv, k, v, q_desc, q_ptrs, do_desc, do_ptrs, lse_ptr, delta_ptr, batch, head, start,
    stride_qm, stride_dm, scale_log2, offs_n, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_D: tl.constexpr, MASKED: tl.constexpr,
    BF16_BY_HAND: tl.constexpr,
):
    """Add to dk and dv [BLOCK_N, BLOCK_D] what the queries from ``start`` give, transposed."""
    offs_m = start + tl.arange(0, BLOCK_M)
    mask_m, mask_d = offs_m < seq_q, tl.arange(0, BLOCK_D) < HEAD_DIM
    CHECK_D: tl.constexpr = HEAD_DIM != BLOCK_D
    q = load_tile(q_desc, q_ptrs, batch, head, start, stride_qm,  #: load, pass 2
                  mask_m, mask_d, True, CHECK_D)  #: load, pass 2 [BLOCK_M, BLOCK_D]
    do = load_tile(do_desc, do_ptrs, batch, head, start, stride_dm,  #: load, pass 2
                   mask_m, mask_d, True, CHECK_D)  #: load, pass 2 [BLOCK_M, BLOCK_D]
    # Rows past the end weigh exp(-inf) = 0.
    lse = tl.load(lse_ptr + offs_m, mask_m, other=float("inf"))  #: load, pass 2 [BLOCK_M]
    lse_log2 = lse * LOG2_E
    delta = tl.load(delta_ptr + offs_m, mask_m, other=0.0)  #: load, pass 2
    if BF16_BY_HAND:
        q, do = q.to(tl.float32), do.to(tl.float32)
    scores_log2 = tl.dot(k, q.T, input_precision="ieee") * scale_log2  #: scores, pass 2
    p = tl.exp2(scores_log2 - lse_log2[None, :])  #: weights, pass 2 [BLOCK_N, BLOCK_M]
    if MASKED:
        visible = offs_n[:, None] <= offs_m[None, :] + seq_k - seq_q
        p = tl.where(visible, p, 0.0)  #: weights, pass 2
    dv = tl.dot(as_operand(p, do, BF16_BY_HAND), do, dv, input_precision="ieee")  #: dv, pass 2
    dp = tl.dot(v, do.T, input_precision="ieee")  #: ds, pass 2 [BLOCK_N, BLOCK_M]
    ds = p * (dp - delta[None, :])  #: ds, pass 2
    if MASKED:
        ds = tl.where(visible, ds, 0.0)
    dk = tl.dot(as_operand(ds, q, BF16_BY_HAND), q, dk, input_precision="ieee")  #: dk, pass 2
    return dk, dv


@triton.jit(do_not_specialize=SIZES)
def dkdv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, q_desc, do_desc, dk_ptr, dv_ptr,
    scale, heads, kv_heads, seq_q, seq_k,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_db, stride_dh, stride_dm, stride_dd,
    stride_gkb, stride_gkh, stride_gkn, stride_gkd,
    stride_gvb, stride_gvh, stride_gvn, stride_gvd,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    IS_CAUSAL: tl.constexpr, BF16_BY_HAND: tl.constexpr,
):
    """One program a block of keys of one key head: its dk and dv, over all queries that see it."""
    n_blocks_n = tl.cdiv(seq_k, BLOCK_N)
    pid_n = tl.program_id(0) % n_blocks_n
    pid_h = (tl.program_id(0) // n_blocks_n).to(tl.int64)
    batch, kv_head = pid_h // kv_heads, pid_h % kv_heads
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_m = tl.arange(0, BLOCK_M).to(tl.int64)
    offs_d = tl.arange(0, BLOCK_D).to(tl.int64)
    keys, cols = offs_n.to(tl.int64)[:, None], offs_d[None, :]
    mask = (offs_n < seq_k)[:, None] & (offs_d < HEAD_DIM)[None, :]
    k_ptrs = k_ptr + batch * stride_kb + kv_head * stride_kh + keys * stride_kn + cols * stride_kd
    v_ptrs = v_ptr + batch * stride_vb + kv_head * stride_vh + keys * stride_vn + cols * stride_vd
    k = tl.load(k_ptrs, mask, other=0.0)  #: load_kv, pass 2 [BLOCK_N, BLOCK_D]
    v = tl.load(v_ptrs, mask, other=0.0)  #: load_kv, pass 2
    if BF16_BY_HAND:
        k, v = k.to(tl.float32), v.to(tl.float32)
    dk = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    dv = tl.zeros([BLOCK_N, BLOCK_D], tl.float32)
    scale_log2 = scale * LOG2_E  # in base 2, as the forward
    # Queries before first see none of these keys; from whole on they see them all.
    first, whole = 0, 0
    if IS_CAUSAL:
        first = tl.maximum(pid_n * BLOCK_N + seq_q - seq_k, 0) // BLOCK_M * BLOCK_M
        last_key = tl.minimum((pid_n + 1) * BLOCK_N, seq_k) - 1
        whole = tl.cdiv(tl.maximum(last_key + seq_q - seq_k, 0), BLOCK_M) * BLOCK_M
    group = heads // kv_heads
    for shared in range(0, group):
        head = kv_head * group + shared
        q_ptrs = q_ptr + batch * stride_qb + head * stride_qh
        q_ptrs += offs_m[:, None] * stride_qm + cols * stride_qd
        do_ptrs = do_ptr + batch * stride_db + head * stride_dh
        do_ptrs += offs_m[:, None] * stride_dm + cols * stride_dd
        row = (batch * heads + head) * seq_q
        if IS_CAUSAL:
            for start in range(first, tl.minimum(whole, seq_q), BLOCK_M):
                dk, dv = add_queries(
                    dk, dv, k, v, q_desc, q_ptrs, do_desc, do_ptrs, lse_ptr + row, delta_ptr + row,
                    batch, head, start, stride_qm, stride_dm, scale_log2, offs_n, seq_q, seq_k,
                    HEAD_DIM, BLOCK_M, BLOCK_D, True, BF16_BY_HAND)
        for start in range(whole, seq_q, BLOCK_M):
            dk, dv = add_queries(
                dk, dv, k, v, q_desc, q_ptrs, do_desc, do_ptrs, lse_ptr + row, delta_ptr + row,
                batch, head, start, stride_qm, stride_dm, scale_log2, offs_n, seq_q, seq_k,
                HEAD_DIM, BLOCK_M, BLOCK_D, False, BF16_BY_HAND)
    dk_ptrs = dk_ptr + batch * stride_gkb + kv_head * stride_gkh
    dv_ptrs = dv_ptr + batch * stride_gvb + kv_head * stride_gvh
    tl.store(dk_ptrs + keys * stride_gkn + cols * stride_gkd, dk * scale, mask)  #: store, pass 2
    tl.store(dv_ptrs + keys * stride_gvn + cols * stride_gvd, dv, mask)  #: store, pass 2


@triton.jit
def add_keys(
    dq, q, do, lse_log2, delta, k_desc, k_ptrs, v_desc, v_ptrs, batch, kv_head, start,
    stride_kn, stride_vn, scale_log2, offs_m, seq_q, seq_k,
    HEAD_DIM: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    IS_CAUSAL: tl.constexpr, MASKED: tl.constexpr, BF16_BY_HAND: tl.constexpr,
):
    """Add to dq [BLOCK_M, BLOCK_D] what the keys from ``start`` give."""
    offs_n = start + tl.arange(0, BLOCK_N)
    mask_n, mask_d = offs_n < seq_k, tl.arange(0, BLOCK_D) < HEAD_DIM
    CHECK_D: tl.constexpr = HEAD_DIM != BLOCK_D
    k = load_tile(k_desc, k_ptrs, batch, kv_head, start, stride_kn,  #: load, pass 3
                  mask_n, mask_d, MASKED, CHECK_D)  #: load, pass 3 [BLOCK_N, BLOCK_D]
    v = load_tile(v_desc, v_ptrs, batch, kv_head, start, stride_vn,  #: load, pass 3
                  mask_n, mask_d, MASKED, CHECK_D)  #: load, pass 3 [BLOCK_N, BLOCK_D]
    if BF16_BY_HAND:
        k, v = k.to(tl.float32), v.to(tl.float32)
    scores_log2 = tl.dot(q, k.T, input_precision="ieee") * scale_log2  #: scores, pass 3
    p = tl.exp2(scores_log2 - lse_log2[:, None])  #: weights, pass 3 [BLOCK_M, BLOCK_N]
    dp = tl.dot(do, v.T, input_precision="ieee")  #: ds, pass 3
    ds = p * (dp - delta[:, None])  #: ds, pass 3
    if MASKED:
        visible = mask_n[None, :]
        if IS_CAUSAL:
            visible = visible & (offs_n[None, :] <= offs_m[:, None] + seq_k - seq_q)
        ds = tl.where(visible, ds, 0.0)  #: ds, pass 3
    return tl.dot(as_operand(ds, k, BF16_BY_HAND), k, dq, input_precision="ieee")  #: dq, pass 3


@triton.jit(do_not_specialize=SIZES)
def dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, k_desc, v_desc, dq_ptr,
    scale, heads, kv_heads, seq_q, seq_k,
    stride_qb, stride_qh, stride_qm, stride_qd,
    stride_kb, stride_kh, stride_kn, stride_kd,
    stride_vb, stride_vh, stride_vn, stride_vd,
    stride_db, stride_dh, stride_dm, stride_dd,
    stride_gqb, stride_gqh, stride_gqm, stride_gqd,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    IS_CAUSAL: tl.constexpr, BF16_BY_HAND: tl.constexpr,
):
    """One program a block of queries of one head: its dq, over all keys that it sees."""
    n_blocks_m = tl.cdiv(seq_q, BLOCK_M)
    pid_m = tl.program_id(0) % n_blocks_m
    if IS_CAUSAL:  # the longest rows first
        pid_m = n_blocks_m - 1 - pid_m
    pid_h = (tl.program_id(0) // n_blocks_m).to(tl.int64)
    batch, head = pid_h // heads, pid_h % heads
    kv_head = head // (heads // kv_heads)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N).to(tl.int64)
    offs_d = tl.arange(0, BLOCK_D).to(tl.int64)
    rows, cols = offs_m.to(tl.int64)[:, None], offs_d[None, :]
    mask_m = offs_m < seq_q
    mask = mask_m[:, None] & (offs_d < HEAD_DIM)[None, :]
    q_ptrs = q_ptr + batch * stride_qb + head * stride_qh + rows * stride_qm + cols * stride_qd
    do_ptrs = do_ptr + batch * stride_db + head * stride_dh + rows * stride_dm + cols * stride_dd
    k_ptrs = k_ptr + batch * stride_kb + kv_head * stride_kh
    k_ptrs += offs_n[:, None] * stride_kn + cols * stride_kd
    v_ptrs = v_ptr + batch * stride_vb + kv_head * stride_vh
    v_ptrs += offs_n[:, None] * stride_vn + cols * stride_vd
    row = pid_h * seq_q + offs_m
    q = tl.load(q_ptrs, mask, other=0.0)  #: load_q, pass 3 [BLOCK_M, BLOCK_D]
    do = tl.load(do_ptrs, mask, other=0.0)  #: load_q, pass 3
    lse = tl.load(lse_ptr + row, mask_m, other=float("inf"))  #: load_q, pass 3 [BLOCK_M]
    lse_log2 = lse * LOG2_E
    delta = tl.load(delta_ptr + row, mask_m, other=0.0)  #: load_q, pass 3
    if BF16_BY_HAND:
        q, do = q.to(tl.float32), do.to(tl.float32)
    dq = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)
    scale_log2 = scale * LOG2_E
    whole, stop = keys_of(pid_m, seq_q, seq_k, BLOCK_M, BLOCK_N, IS_CAUSAL)
    for start in range(0, whole, BLOCK_N):
        dq = add_keys(
            dq, q, do, lse_log2, delta, k_desc, k_ptrs, v_desc, v_ptrs, batch, kv_head, start,
            stride_kn, stride_vn, scale_log2, offs_m, seq_q, seq_k,
            HEAD_DIM, BLOCK_N, BLOCK_D, IS_CAUSAL, False, BF16_BY_HAND)
    for start in range(whole, stop, BLOCK_N):
        dq = add_keys(
            dq, q, do, lse_log2, delta, k_desc, k_ptrs, v_desc, v_ptrs, batch, kv_head, start,
            stride_kn, stride_vn, scale_log2, offs_m, seq_q, seq_k,
            HEAD_DIM, BLOCK_N, BLOCK_D, IS_CAUSAL, True, BF16_BY_HAND)
    dq_ptrs = dq_ptr + batch * stride_gqb + head * stride_gqh
    tl.store(dq_ptrs + rows * stride_gqm + cols * stride_gqd, dq * scale, mask)  #: store, pass 3


INTERPRETED = not isinstance(dq_kernel, triton.runtime.JITFunction)


def launch(
    tensors: Mapping[str, torch.Tensor],
    tiles: Tiles,
    *,
    num_warps: int | None = None,
    num_stages: int | None = None,
    capture: bool = False,
    out: Mapping[str, torch.Tensor] | None = None,
    dlse: torch.Tensor | None = None,
) -> Launch:
    """Compute dq, dk and dv of o = softmax(scale q k^T) v for the gradient do of o.

    tensors: q, o, do [batch, heads, seq_q, head_dim], k and v [batch, kv_heads, seq_k, head_dim],
    any strides, expanded ones too; lse [batch, heads, seq_q] float32 contiguous, from the forward.
    ``dlse``, float32 like lse, is the gradient of lse if there is one. dk and dv are summed over
    the query heads that share a key head. A query that sees no key has no gradient.
    ``out`` receives dq, dk and dv if given; nothing is captured. Raises TypeError or ValueError.
    """
    q, k, v, o, do, lse = (tensors[name] for name in ("q", "k", "v", "o", "do", "lse"))
    check_attention(torch.is_grad_enabled(), INTERPRETED, q=q, k=k, v=v, o=o, do=do)
    check_schedule(tiles, num_warps, num_stages, "block_m", "block_n")
    (batch, heads, seq_q, head_dim), (kv_heads, seq_k) = q.shape, k.shape[1:3]
    lse = lse_tensor(lse, q)
    stored_as = torch.float32 if INTERPRETED else q.dtype
    given, made = out or {}, {}
    inputs = (q, k, v, o, do, lse)
    for name, like in (("dq", q), ("dk", k), ("dv", v)):
        given_one, shape = given.get(name), tuple(like.shape)
        made[name] = output_tensor(given_one, like, shape, *inputs, stored_as=stored_as)
    delta, has_dlse = torch.empty_like(lse), dlse is not None
    n_q = batch * heads * cdiv(seq_q, tiles.block_m)
    n_k = batch * kv_heads * cdiv(seq_k, tiles.block_n)
    shape = {"HEAD_DIM": head_dim, "BLOCK_M": tiles.block_m, "BLOCK_D": padded(head_dim)}
    walk = {
        **shape,
        "BLOCK_N": tiles.block_n,
        "IS_CAUSAL": tiles.is_causal,
        "BF16_BY_HAND": INTERPRETED and q.dtype == torch.bfloat16,
        "num_warps": num_warps or 4,
        "num_stages": num_stages or 2,
    }
    sizes = tiles.scale_for(head_dim), heads, kv_heads, seq_q, seq_k
    strides = (*q.stride(), *k.stride(), *v.stride(), *do.stride())
    q_descs = [descriptor(tensor, tiles.block_m) for tensor in (q, do)]
    k_descs = [descriptor(tensor, tiles.block_n) for tensor in (k, v)]
    dq, dk, dv = made.values()
    compiled = None
    with torch.cuda.device_of(q):
        if n_q:
            delta_kernel[(n_q,)](
                o, do, dlse, delta, heads, seq_q,
                *o.stride(), *do.stride(), *(dlse.stride() if has_dlse else (0, 0, 0)),
                **shape, HAS_DLSE=has_dlse)
        if n_k:
            compiled = dkdv_kernel[(n_k,)](
                q, k, v, do, lse, delta, *q_descs, dk, dv, *sizes, *strides,
                *dk.stride(), *dv.stride(), **walk)
        if n_q:
            dq_kernel[(n_q,)](
                q, k, v, do, lse, delta, *k_descs, dq, *sizes, *strides, *dq.stride(), **walk)
    outputs = {name: finish_output(made[name], given.get(name), q.dtype) for name in made}
    return Launch(outputs, None, "flash", 2 * n_q + n_k, compiled)
