"""Which tiles and how many warps a kernel takes unless told: a table, with what it was chosen by.

Blocks are (BLOCK_M, BLOCK_N, num_warps, num_stages) by the bytes of an element and the padded head
size.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernels.tiles import Tiles, padded

Blocks = tuple[int, int, int, int]

ATTENTION: Mapping[tuple[str, int], Mapping[int, Blocks]] = {
    ("forward", 2): {64: (64, 128, 4, 2), 128: (64, 64, 4, 3), 256: (128, 64, 8, 2)},
    ("forward", 4): {64: (64, 32, 4, 2), 128: (32, 32, 4, 1), 256: (32, 32, 4, 1)},
    ("backward", 2): {64: (128, 64, 4, 2), 128: (64, 64, 4, 2), 256: (64, 32, 4, 1)},
    ("backward", 4): {64: (32, 32, 4, 1), 128: (32, 32, 4, 1), 256: (16, 16, 4, 1)},
}


def attention_schedule(
    which: str, seq_q: int, seq_k: int, head_dim: int, itemsize: int
) -> tuple[Tiles, dict[str, int]]:
    """Return the tiles and options of the ``forward`` or ``backward`` kernel.

    Blocks are no longer than the sequences need, and at least 16.
    """
    table = ATTENTION[which, itemsize]
    width = next((known for known in sorted(table) if head_dim <= known), max(table))
    block_m, block_n, num_warps, num_stages = table[width]
    tiles = Tiles(min(block_m, padded(seq_q)), min(block_n, padded(seq_k)))
    return tiles, {"num_warps": num_warps, "num_stages": num_stages}
