"""The configurations that are worth trying, by kind of kernel, with what each one needs.

What a configuration needs is counted as the compiler lays it out: tiles that feed the tensor cores
lie in shared memory, once for every stage of the pipeline; what is computed lies in registers.
"""

from __future__ import annotations

from itertools import product

from kernels.attention import AttentionShape
from kernels.product import MatmulShape
from kernels.schedules import attention_shared_bytes
from kernels.tiles import next_power_of_two, padded
from kernels.tuning import Config

ROW_BLOCKS = (256, 512, 1024, 2048, 4096, 8192, 16_384)
ROW_WARPS = (2, 4, 8, 16, 32)
# Blocks of several rows a program: elements of the whole tile.
TILES = (1024, 2048, 4096, 8192)
FLOAT32 = 4


def row_blocks(n_inputs: int):
    """Return the space of a kernel that goes over a row in blocks, ``n_inputs`` rows at once."""

    def configs(shape) -> list[Config]:
        longest = max(next_power_of_two(shape.n_cols), ROW_BLOCKS[0])
        return [
            Config({"block": block, "num_warps": warps}, values=n_inputs * block)
            for block in ROW_BLOCKS
            for warps in ROW_WARPS
            if block <= longest and 1 <= block // (32 * warps) <= 64
        ]

    return configs


def whole_rows(n_inputs: int, *, several: bool = False):
    """Return the space of a kernel that holds a row, or ``several`` if they are short."""

    def configs(shape) -> list[Config]:
        columns = next_power_of_two(shape.n_cols)
        counts = {1} if not several else {max(1, tile // columns) for tile in TILES}
        return [
            Config(
                {"rows": rows, "num_warps": warps} if several else {"num_warps": warps},
                values=n_inputs * rows * columns,
            )
            for rows in sorted(counts)
            for warps in (1, *ROW_WARPS)
        ]

    return configs


def _tiled(blocks_m: tuple[int, ...], blocks_n: tuple[int, ...], needs) -> list[Config]:
    """Return every pair of blocks with every number of warps and stages.

    ``needs`` takes (block_m, block_n, stages) and returns bytes of shared memory, and values.
    """
    found = []
    for block_m, block_n, warps, stages in product(blocks_m, blocks_n, (4, 8), (1, 2, 3)):
        shared_bytes, values = needs(block_m, block_n, stages)
        settings = {"block_m": block_m, "block": block_n, "num_warps": warps, "num_stages": stages}
        found.append(Config(settings, shared_bytes, values))
    return found


def attention(shape: AttentionShape) -> list[Config]:
    """Return the space of attention's forward."""
    width = padded(shape.head_dim)

    def needs(block_m: int, block_n: int, stages: int) -> tuple[int, int]:
        tiles = attention_shared_bytes("forward", block_m, block_n, stages, width, shape.itemsize)
        return tiles, block_m * (width + block_n)

    return _tiled((64, 128, 256), (32, 64, 128, 256), needs)


def attention_backward(shape: AttentionShape) -> list[Config]:
    """Return the space of attention's backward."""
    width = padded(shape.head_dim)

    def needs(block_m: int, block_n: int, stages: int) -> tuple[int, int]:
        tiles = attention_shared_bytes("backward", block_m, block_n, stages, width, shape.itemsize)
        return tiles, 2 * block_n * width + 2 * block_m * block_n

    return _tiled((32, 64, 128), (32, 64, 128), needs)


def decode(shape: AttentionShape) -> list[Config]:
    """Return the space of split-KV attention: how many splits share the keys, in which blocks."""
    width, item = padded(shape.head_dim), shape.itemsize
    block_m = padded(shape.tiles.block_m)
    return [
        Config(
            {"block": block, "n_splits": n_splits, "num_warps": warps, "num_stages": stages},
            shared_bytes=(block_m + 2 * block * stages) * width * item,
            values=block_m * (width + block),
        )
        for block, n_splits, warps, stages in product(
            (32, 64, 128), (1, 4, 16, 32, 64), (2, 4), (2, 3)
        )
    ]


def matmul(shape: MatmulShape) -> list[Config]:
    """Return the space of a tiled product."""
    return [
        Config(
            {
                "block_m": block_m,
                "block": block_n,
                "block_k": block_k,
                "group_m": 8,
                "num_warps": warps,
                "num_stages": stages,
            },
            shared_bytes=(block_m + block_n) * block_k * shape.itemsize * stages,
            values=block_m * block_n,
        )
        for block_m in (64, 128, 256)
        for block_n in (64, 128, 256)
        for block_k in (32, 64)
        for warps in (4, 8)
        for stages in (2, 3, 4)
    ]
