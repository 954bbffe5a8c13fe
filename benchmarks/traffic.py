"""Traffic of attention over its length T, counted from the schedules: claim and count.

"FlashAttention moves O(T) bytes" is not so: each block of queries reads the K and V that it sees,
so K and V are read ceil(T / BLOCK_M) times, half as often when causal. That is quadratic in T as S
and P are, with another constant: K and V cost 2 head_dim / BLOCK_M numbers a score, S and P cost 4.
The counts are the entries' own `hbm_bytes`, which the steps of a trace sum to. They are what the
programs ask for; part of it the L2 cache answers.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.memory import shape_of
from benchmarks.memory_results import MemoryCase, Traffic, TrafficLine
from kernels import ALGORITHMS
from kernels.inputs import ITEMSIZE
from kernels.schedules import attention_schedule
from kernels.tiles import Tiles, key_stop

BLOCKS_M = (16, 32, 64, 128, 256)


def count(case: MemoryCase) -> Traffic:
    """Return what the fused kernel and the three stages move at every length of ``case``.

    Studied is the BLOCK_M that the fused kernel takes unless told; BLOCK_N is its own too.
    """
    longest, itemsize = case.lengths[-1], ITEMSIZE[case.dtype]
    own, _ = attention_schedule("forward", longest, longest, case.head_dim, itemsize)
    stages = [_moved("three_stage", case, n, own) for n in case.lengths]
    once = [shape_of(case, n).bytes_of("k", "v") for n in case.lengths]
    return Traffic(
        case,
        own.block_n,
        own.block_m,
        tuple(_line(case, Tiles(block_m, own.block_n)) for block_m in BLOCKS_M),
        tuple(moved["s"] + moved["p"] for moved in stages),
        tuple(sum(tensors.values()) for tensors in once),
    )


def _line(case: MemoryCase, tiles: Tiles) -> TrafficLine:
    """Return the counts for one height of tiles."""
    fused = [_moved("flash_attention", case, n, tiles) for n in case.lengths]
    stages = [_moved("three_stage", case, n, tiles) for n in case.lengths]
    blocks, is_causal = (tiles.block_m, tiles.block_n), case.mask == "causal"
    return TrafficLine(
        tiles.block_m,
        tuple(moved["k"] + moved["v"] for moved in fused),
        tuple(sum(moved.values()) for moved in fused),
        tuple(sum(moved.values()) for moved in stages),
        tuple(reads_of_keys(n, *blocks, is_causal) for n in case.lengths),
    )


def _moved(name: str, case: MemoryCase, length: int, tiles: Tiles) -> dict[str, int]:
    """Return what an algorithm moves, by tensor."""
    tiles = replace(tiles, is_causal=case.mask == "causal")
    return ALGORITHMS[name].hbm_bytes(shape_of(case, length, tiles))


def reads_of_keys(length: int, block_m: int, block_n: int, is_causal: bool) -> tuple[int, int]:
    """Return how many blocks of queries read the first block of keys, and how many the last."""
    stops = [
        key_stop(start, block_m, length, length, is_causal) for start in range(0, length, block_m)
    ]
    last = (length - 1) // block_n * block_n
    return sum(stop > 0 for stop in stops), sum(stop > last for stop in stops)
