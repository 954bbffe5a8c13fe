"""The configurations that are worth trying, by kind of kernel, with what each one needs.

What a configuration needs is counted as the compiler lays it out: tiles that feed the tensor cores
lie in shared memory, once for every stage of the pipeline; what is computed lies in registers.
"""

from __future__ import annotations

from kernels.attention import AttentionShape
from kernels.product import MatmulShape
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


def attention(n_accumulators: int):
    """Return the space of an attention kernel that keeps so many [BLOCK, head_dim] sums."""

    def configs(shape: AttentionShape) -> list[Config]:
        width, item = padded(shape.head_dim), shape.itemsize
        found = []
        for block_m in (32, 64, 128):
            for block_n in (32, 64, 128):
                for warps in (4, 8):
                    for stages in (1, 2, 3):
                        streamed = 2 * block_n * width * item * stages
                        found.append(
                            Config(
                                {
                                    "block_m": block_m,
                                    "block": block_n,
                                    "num_warps": warps,
                                    "num_stages": stages,
                                },
                                shared_bytes=block_m * width * item + streamed,
                                values=n_accumulators * max(block_m, block_n) * width
                                + block_m * block_n,
                            )
                        )
        return found

    return configs


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
