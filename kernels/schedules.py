"""Which tiles and how many warps a kernel takes unless told: tables, with what they were chosen by.

All were chosen on an H200, over lengths, head sizes and masks: at one size another may be a little
faster. Where a program may use less shared memory than there, attention takes fewer stages and then
shorter blocks, so that it runs; what would be fastest there is not known.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernels.tiles import Tiles, cdiv, padded

# Attention: (BLOCK_M, BLOCK_N, num_warps, num_stages) by the bytes of an element and the padded
# head size.
Blocks = tuple[int, int, int, int]

ATTENTION: Mapping[tuple[str, int], Mapping[int, Blocks]] = {
    ("forward", 2): {64: (64, 128, 4, 2), 128: (64, 64, 4, 3), 256: (128, 64, 8, 2)},
    ("forward", 4): {64: (64, 32, 4, 2), 128: (32, 32, 4, 1), 256: (32, 32, 4, 1)},
    ("backward", 2): {64: (128, 64, 4, 2), 128: (64, 64, 4, 2), 256: (64, 32, 4, 1)},
    ("backward", 4): {64: (32, 32, 4, 1), 128: (32, 32, 4, 1), 256: (16, 16, 4, 1)},
}
# What the compiler adds to the tiles: barriers and scratch, up to this as it was recorded.
OVERHEAD_BYTES = 2560
SMALLEST = 16  # the least that tensor cores take

# A matrix product: (BLOCK_M, BLOCK_N, BLOCK_K, num_warps, num_stages) by the bytes of an element,
# large tiles first: they read A and B less often, and too few of them leave processors idle.
MATMUL: Mapping[int, tuple[tuple[int, int, int, int, int], ...]] = {
    2: ((128, 256, 32, 8, 4), (64, 128, 64, 4, 4), (64, 64, 64, 4, 4)),
    4: ((64, 64, 16, 4, 3),),
}
BUSY = 0.75  # share of the processors that must have a tile: 128 tiles are enough for 132


def attention_shared_bytes(
    which: str, block_m: int, block_n: int, num_stages: int, width: int, itemsize: int
) -> int:
    """Return how many bytes of shared memory the tiles of attention take, for heads of ``width``.

    In the forward q stays, k and v stream. The backward has a kernel for dk and dv, where k and v
    stay while q and do stream, and one for dq, where it is the reverse: the larger counts.
    """
    if which == "forward":
        rows = block_m + 2 * block_n * num_stages
    else:
        stays, streams = min(block_m, block_n), max(block_m, block_n)
        rows = max(2 * stays + 2 * streams * num_stages, 2 * streams + 2 * stays * num_stages)
    return rows * width * itemsize


def attention_schedule(
    which: str,
    seq_q: int,
    seq_k: int,
    head_dim: int,
    itemsize: int,
    shared_bytes: int | None = None,
) -> tuple[Tiles, dict[str, int]]:
    """Return the tiles and options of the ``forward`` or ``backward`` kernel.

    Blocks are no longer than the sequences need, and at least 16. ``shared_bytes`` is what a
    program may use, None where that is no limit.
    """
    table = ATTENTION[which, itemsize]
    width = next((known for known in sorted(table) if head_dim <= known), max(table))
    block_m, block_n, num_warps, num_stages = table[width]
    blocks = min(block_m, padded(seq_q)), min(block_n, padded(seq_k))
    block_m, block_n, num_stages = _fitting(
        which, *blocks, num_stages, padded(head_dim), itemsize, shared_bytes
    )
    return Tiles(block_m, block_n), {"num_warps": num_warps, "num_stages": num_stages}


def _fitting(
    which: str,
    block_m: int,
    block_n: int,
    num_stages: int,
    width: int,
    itemsize: int,
    shared_bytes: int | None,
) -> tuple[int, int, int]:
    """Return blocks and stages that fit: fewer stages first, then a shorter longer block."""

    def fits() -> bool:
        tiles = attention_shared_bytes(which, block_m, block_n, num_stages, width, itemsize)
        return shared_bytes is None or tiles + OVERHEAD_BYTES <= shared_bytes

    while not fits() and max(num_stages - 1, block_m - SMALLEST, block_n - SMALLEST) > 0:
        if num_stages > 1:
            num_stages -= 1
        elif block_n >= block_m or block_m == SMALLEST:
            block_n //= 2
        else:
            block_m //= 2
    return block_m, block_n, num_stages


DECODE: Blocks = (16, 64, 4, 3)


def decode_schedule(
    head_dim: int, itemsize: int, shared_bytes: int | None = None
) -> tuple[int, dict[str, int]]:
    """Return BLOCK_N and the options of split-KV attention, for ``shared_bytes`` as above."""
    block_m, block_n, num_warps, num_stages = DECODE
    _, block_n, num_stages = _fitting(
        "forward", block_m, block_n, num_stages, padded(head_dim), itemsize, shared_bytes
    )
    return block_n, {"num_warps": num_warps, "num_stages": num_stages}


def matmul_schedule(
    size_m: int, size_n: int, itemsize: int, n_processors: int
) -> tuple[Tiles, dict[str, int]]:
    """Return the tiles and options of a matrix product on a GPU of ``n_processors``."""
    known = MATMUL[itemsize]
    enough = (
        blocks
        for blocks in known
        if cdiv(size_m, blocks[0]) * cdiv(size_n, blocks[1]) >= BUSY * n_processors
    )
    block_m, block_n, block_k, num_warps, num_stages = next(enough, known[-1])
    tiles = Tiles(block_m, block_n, block_k, group_m=8)
    return tiles, {"num_warps": num_warps, "num_stages": num_stages}
