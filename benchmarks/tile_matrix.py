"""The cases that a full check of the algorithms on tiles goes through.

On a GPU: types x head sizes x lengths x masks x shared key heads, forward and backward, lengths
that differ, splits, blocks of every size, and awkward matrix products. On the interpreter the same
kinds of cases, few and small.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from benchmarks.jobs import QuickJob
from kernels import ALGORITHMS
from kernels.algorithm import Algorithm
from kernels.inputs import DTYPES, Case
from kernels.tile_inputs import MASKS

HEAD_DIMS = (16, 40, 64, 80, 96, 128, 256)
LENGTHS = (1, 3, 15, 65, 127, 128, 1000, 4096)
LONG = 4096
UNEQUAL = ((1, 128), (3, 1000), (127, 65), (65, 127), (1000, 128), (200, 1), (1, 4096))
SPLITS = (1, 2, 3, 7, 128)  # 128 is more than any of these lengths has blocks
PRODUCTS = (
    (1, 1, 1),
    (511, 511, 511),
    (379, 258, 543),
    (1000, 999, 1001),
    (64, 96, 1),
    (1, 70, 33),
)
GROUPS = (1, 4, 8)


def jobs(on_gpu: bool) -> Iterator[QuickJob]:
    """Yield every check: a few minutes' worth on a GPU, about one on the interpreter."""
    for name, entry in ALGORITHMS.items():
        if entry.problem == "attention":
            cases = _attention_on_gpu(entry) if on_gpu else _small_attention(entry)
        elif entry.problem == "matmul":
            cases = _products(on_gpu)
        else:
            continue
        for case, own_schedule in cases:
            yield QuickJob(name, case, own_schedule)


def _attention_on_gpu(entry: Algorithm) -> Iterator[tuple[Case, bool]]:
    """Yield (case, whether the kernel takes its own schedule) of one attention."""
    if "n_splits" in entry.fields:
        yield from _splits((40, 64, 128), ((1, 1), (1, 127), (1, 1000), (3, 128), (1, 4096)))
        return
    if not (entry.captured or "do" in entry.inputs):  # the baseline: less will do
        lengths, head_dims = (1, 65, 1000), (40, 64, 128)
    else:
        lengths, head_dims = LENGTHS, HEAD_DIMS
        yield from _blocks(128 if entry.captured else 64)
    kinds = itertools.product(DTYPES, head_dims, MASKS, (1, 2))
    for dtype, head_dim, mask, group in kinds:
        for length in lengths:
            yield _attention(dtype, head_dim, length, length, mask, group), True
        if head_dim in (40, 64):
            for seq_q, seq_k in UNEQUAL:
                yield _attention(dtype, head_dim, seq_q, seq_k, mask, group), True


def _attention(
    dtype: str, head_dim: int, seq_q: int, seq_k: int, mask: str, group: int, **others: int
) -> Case:
    """Return a case of two batches of four heads, or of two heads where the lengths are long."""
    batch, heads = (1, 2) if max(seq_q, seq_k) >= LONG else (2, 4)
    sizes = {"batch": batch, "heads": heads, "kv_heads": heads // group, "block": 64, **others}
    lengths = {"seq_q": seq_q, "seq_k": seq_k, "head_dim": head_dim}
    return Case(dtype=dtype, mask=mask, **lengths, **sizes)


def _blocks(largest: int) -> Iterator[tuple[Case, bool]]:
    """Yield a case for every pair of block sizes up to ``largest``, edges masked and not."""
    sizes = [size for size in (16, 32, 64, 128) if size <= largest]
    for block_m, block in itertools.product(sizes, sizes):
        for length, mask in itertools.product((128, 200), MASKS):
            schedule = {"block_m": block_m, "block": block}
            yield _attention("float16", 64, length, length, mask, 2, **schedule), False


def _splits(
    head_dims: tuple[int, ...], lengths: tuple[tuple[int, int], ...]
) -> Iterator[tuple[Case, bool]]:
    """Yield every number of splits, more than there are blocks among them."""
    for dtype, head_dim, (seq_q, seq_k) in itertools.product(DTYPES, head_dims, lengths):
        for n_splits, group in itertools.product(SPLITS, (1, 2)):
            mask = "causal" if n_splits == 3 else "none"
            case = _attention(dtype, head_dim, seq_q, seq_k, mask, group, n_splits=n_splits)
            yield case, True


def _small_attention(entry: Algorithm) -> Iterator[tuple[Case, bool]]:
    """Yield what the interpreter does in seconds."""
    sizes = {"batch": 1, "heads": 2, "kv_heads": 1, "block": 32}
    if "n_splits" in entry.fields:
        for dtype, n_splits in itertools.product(DTYPES, (1, 3, 7)):
            yield _attention(dtype, 16, 1, 80, "none", 2, n_splits=n_splits, **sizes), False
        return
    baseline = not (entry.captured or "do" in entry.inputs)
    pairs = ((1, 1), (17, 17)) if baseline else ((1, 1), (3, 3), (33, 33), (5, 20), (20, 5))
    for dtype, mask, (seq_q, seq_k) in itertools.product(DTYPES, MASKS, pairs):
        head_dim = 40 if seq_q == seq_k else 16
        yield _attention(dtype, head_dim, seq_q, seq_k, mask, 2, **sizes), False


def _products(on_gpu: bool) -> Iterator[tuple[Case, bool]]:
    """Yield matrix products (M, N, K) in every order of programs."""
    sizes = PRODUCTS if on_gpu else ((1, 1, 1), (70, 33, 1), (75, 50, 37))
    block = 64 if on_gpu else 32
    for dtype, (m, n, k), group_m in itertools.product(DTYPES, sizes, GROUPS):
        if group_m > 1 and m <= block and on_gpu:
            continue  # one row of tiles: there is no other order
        yield (
            Case(
                dtype=dtype,
                size_m=m,
                size_n=n,
                size_k=k,
                block_m=block,
                block=block,
                block_k=32,
                group_m=group_m,
            ),
            False,
        )
