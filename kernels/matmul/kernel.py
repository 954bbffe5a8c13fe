"""Tiled matrix product in Triton: C = scale * A @ B, one tile of C a program.

    acc = 0;     for each block of K:  acc = acc + A[tile row, block] @ B[block, tile column]

acc stays on chip in float32; C is written once, in the inputs' type. A is read once for every
column of tiles and B once for every row of tiles, mostly from the L2 cache: programs are numbered
so that GROUP_M rows of tiles are finished column by column and share what they read. All edges are
masked. float32 products are exact float32 ("ieee") unless TF32 is asked for.
Source: Triton's tutorial on matrix multiplication, for the grouped order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
import triton
import triton.language as tl

from kernels.algorithm import Launch
from kernels.checks import check_matrices, check_schedule, finish_output, output_tensor
from kernels.tiles import STEP, Tiles, cdiv

PRECISIONS = ("ieee", "tf32")


@triton.jit
def grouped(pid, n_blocks_m, n_blocks_n, GROUP_M: tl.constexpr):
    """Return the tile (pid_m, pid_n) of program ``pid``: down GROUP_M rows, then right."""
    per_group = GROUP_M * n_blocks_n
    first = pid // per_group * GROUP_M
    height = tl.minimum(n_blocks_m - first, GROUP_M)  # the last group may be lower
    return first + pid % per_group % height, pid % per_group // height


# A length of 1 is no reason to compile again; what 16 divides is told by SIZE_STEP.
@triton.jit(do_not_specialize=["size_m", "size_n", "size_k", "heads", "group"])
def matmul_kernel(
    a_ptr, b_ptr, c_ptr,
    state_ptr,  # [size_m, size_n, n_blocks_k]: acc after each block of K, if CAPTURE
    size_m, size_n, size_k, scale, heads,
    group,  # heads of A that share a head of B
    stride_ab, stride_ah, stride_am, stride_ak,
    stride_bb, stride_bh, stride_bk, stride_bn,
    stride_cb, stride_ch, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    IS_CAUSAL: tl.constexpr,  # entries right of the diagonal, aligned bottom-right, become -inf
    SIZE_STEP: tl.constexpr,  # that all sizes are multiples of: by 16, masks do not split a load
    PRECISION: tl.constexpr, CAPTURE: tl.constexpr,
    BF16_BY_HAND: tl.constexpr,  # the interpreter has no right bfloat16: compute in float32
):
    """One program a tile of C, in grouped order; matrices of a batch one after another."""
    # The same numbers; so the compiler learns what divides them.
    size_m, size_n = size_m // SIZE_STEP * SIZE_STEP, size_n // SIZE_STEP * SIZE_STEP
    size_k = size_k // SIZE_STEP * SIZE_STEP
    n_blocks_m, n_blocks_n = tl.cdiv(size_m, BLOCK_M), tl.cdiv(size_n, BLOCK_N)
    n_tiles = n_blocks_m * n_blocks_n
    pid_m, pid_n = grouped(tl.program_id(0) % n_tiles, n_blocks_m, n_blocks_n, GROUP_M)
    pid_h = (tl.program_id(0) // n_tiles).to(tl.int64)
    batch, head = pid_h // heads, pid_h % heads
    a_ptr += batch * stride_ab + head * stride_ah
    b_ptr += batch * stride_bb + head // group * stride_bh
    c_ptr += batch * stride_cb + head * stride_ch

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M).to(tl.int64)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N).to(tl.int64)
    offs_k = tl.arange(0, BLOCK_K).to(tl.int64)
    mask_m, mask_n = offs_m < size_m, offs_n < size_n
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, size_k, BLOCK_K):
        mask_k = offs_k < size_k - start
        a = tl.load(a_ptrs, mask_m[:, None] & mask_k[None, :], other=0.0)  #: load [BM, BK]
        b = tl.load(b_ptrs, mask_k[:, None] & mask_n[None, :], other=0.0)  #: load [BK, BN]
        if BF16_BY_HAND:
            a, b = a.to(tl.float32), b.to(tl.float32)
        acc = tl.dot(a, b, acc, input_precision=PRECISION)  #: accumulate [BLOCK_M, BLOCK_N]
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
        if CAPTURE:
            n_blocks_k = tl.cdiv(size_k, BLOCK_K)
            state = state_ptr + (offs_m[:, None] * size_n + offs_n[None, :]) * n_blocks_k
            tl.store(state + start // BLOCK_K, acc, mask_m[:, None] & mask_n[None, :])
    c = acc * scale  #: store
    if IS_CAUSAL:
        visible = offs_n[None, :] <= offs_m[:, None] + size_n - size_m
        c = tl.where(visible, c, float("-inf"))
    c_ptrs = c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, c, mask_m[:, None] & mask_n[None, :])  #: store [BLOCK_M, BLOCK_N]


INTERPRETED = not isinstance(matmul_kernel, triton.runtime.JITFunction)


def launch(
    tensors: Mapping[str, torch.Tensor],
    tiles: Tiles,
    *,
    num_warps: int | None = None,
    num_stages: int | None = None,
    capture: bool = False,
    out: Mapping[str, torch.Tensor] | None = None,
    precision: str = "ieee",
) -> Launch:
    """Compute c = a @ b for a [M, K] and b [K, N], any strides, and return c [M, N] in their type.

    float16, bfloat16 or float32, one dtype and device; K = 0 gives zeros. Captured state: acc after
    each block of K, [M, N, n_blocks, 1] float32. ``out`` receives c if given.
    Raises TypeError or ValueError for what cannot be computed.
    """
    a, b = tensors["a"], tensors["b"]
    check_matrices(torch.is_grad_enabled(), INTERPRETED, a, b)
    given = (out or {}).get("c")
    c, state, n_programs, compiled = product(
        a[None, None],
        b[None, None],
        None if given is None else given[None, None],
        tiles,
        num_warps=num_warps,
        num_stages=num_stages,
        capture=capture,
        precision=precision,
    )
    outputs = {"c": c[0, 0] if given is None else given}
    return Launch(outputs, state, "tiles", n_programs, compiled)


def product(
    a: torch.Tensor,
    b: torch.Tensor,
    out: torch.Tensor | None,
    tiles: Tiles,
    *,
    scale: float = 1.0,
    num_warps: int | None = None,
    num_stages: int | None = None,
    capture: bool = False,
    precision: str = "ieee",
) -> tuple[torch.Tensor, torch.Tensor | None, int, object]:
    """Return scale * a @ b over a batch, then a Launch's state, n_programs and compiled.

    a [batch, heads, M, K]; b [batch, b_heads, K, N], heads a multiple of b_heads. With
    ``tiles.is_causal`` entries that a causal mask hides become -inf.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}.")
    check_schedule(tiles, num_warps, num_stages, "block_m", "block_n", "block_k")
    if not isinstance(tiles.group_m, int) or tiles.group_m < 1:
        raise ValueError(f"GROUP_M must be a positive integer, got {tiles.group_m}.")
    (batch, heads, size_m, size_k), size_n = a.shape, b.shape[3]
    # The interpreter truncates float32 to bfloat16 where a GPU rounds: there torch rounds instead.
    stored_as = torch.float32 if INTERPRETED else a.dtype
    c = output_tensor(out, a, (batch, heads, size_m, size_n), a, b, stored_as=stored_as)
    state = None
    if capture:
        shape = (size_m, size_n, cdiv(size_k, tiles.block_k), 1)
        state = a.new_empty(shape, dtype=torch.float32)
    n_tiles = cdiv(size_m, tiles.block_m) * cdiv(size_n, tiles.block_n)
    n_programs = batch * heads * n_tiles
    compiled = None
    if n_programs:
        with torch.cuda.device_of(a):
            compiled = matmul_kernel[(n_programs,)](
                a,
                b,
                c,
                state,
                size_m,
                size_n,
                size_k,
                scale,
                heads,
                heads // b.shape[1],
                *a.stride(),
                *b.stride(),
                *c.stride(),
                BLOCK_M=tiles.block_m,
                BLOCK_N=tiles.block_n,
                BLOCK_K=tiles.block_k,
                GROUP_M=tiles.group_m,
                IS_CAUSAL=tiles.is_causal,
                SIZE_STEP=STEP if math.gcd(size_m, size_n, size_k) % STEP == 0 else 1,
                PRECISION=precision,
                CAPTURE=capture,
                BF16_BY_HAND=INTERPRETED and a.dtype == torch.bfloat16,
                num_warps=num_warps or 4,
                num_stages=num_stages or 3,
            )
    return finish_output(c, out, a.dtype), state, n_programs, compiled
