"""What a tiled matrix product is, however it is scheduled: its reference, its costs, its order.

c = a b for a [size_m, size_k] and b [size_k, size_n]; a program computes one tile of c, block_m by
block_n, and goes through size_k in blocks of block_k.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kernels.tiles import Tiles


@dataclass(frozen=True)
class MatmulShape:
    """The sizes and the schedule that decide cost; ``itemsize`` is bytes an element."""

    size_m: int
    size_n: int
    size_k: int
    itemsize: int
    tiles: Tiles

    @classmethod
    def of(cls, sizes: Mapping[str, int], itemsize: int) -> MatmulShape:
        """Return the shape of one traced product."""
        return cls(sizes["size_m"], sizes["size_n"], sizes["size_k"], itemsize, Tiles.of(sizes))

    @property
    def n_blocks_m(self) -> int:
        """How many rows of tiles c has."""
        return -(-self.size_m // self.tiles.block_m)

    @property
    def n_blocks_n(self) -> int:
        """How many columns of tiles c has."""
        return -(-self.size_n // self.tiles.block_n)

    def bytes_of(self, *tensors: str) -> dict[str, int]:
        """Return the size of each matrix."""
        sizes = {
            "a": self.size_m * self.size_k,
            "b": self.size_k * self.size_n,
            "c": self.size_m * self.size_n,
        }
        return {name: sizes[name] * self.itemsize for name in tensors}


def grouped(pid: int, n_blocks_m: int, n_blocks_n: int, group_m: int) -> tuple[int, int]:
    """Return the tile (pid_m, pid_n) of program ``pid``.

    Programs go down ``group_m`` rows of tiles, then one column to the right: those that run at
    about the same time share rows of a and columns of b. The last group may have fewer rows.
    """
    per_group = group_m * n_blocks_n
    first = pid // per_group * group_m
    height = min(n_blocks_m - first, group_m)
    return first + pid % per_group % height, pid % per_group // height


def reference(arrays: Mapping[str, np.ndarray], tiles: Tiles) -> dict[str, np.ndarray]:
    """Return c [size_m, size_n] in float64; the schedule does not change it."""
    with np.errstate(all="ignore"):
        return {"c": arrays["a"].astype(np.float64) @ arrays["b"].astype(np.float64)}


def hbm_bytes(shape: MatmulShape) -> dict[str, int]:
    """Read a once for each column of tiles, b once for each row of tiles, c written once.

    What programs ask for. Where neighbours share it, the L2 cache may answer instead of HBM.
    """
    once = shape.bytes_of("a", "b", "c")
    return {
        "a": once["a"] * shape.n_blocks_n,
        "b": once["b"] * shape.n_blocks_m,
        "c": once["c"],
    }


def naive_bytes(shape: MatmulShape) -> dict[str, int]:
    """Use no tiles: each element of c reads its own row of a and column of b."""
    once = shape.bytes_of("a", "b", "c")
    return {"a": once["a"] * shape.size_n, "b": once["b"] * shape.size_m, "c": once["c"]}


def min_bytes(shape: MatmulShape) -> int:
    """Read a and b once, write c once."""
    return sum(shape.bytes_of("a", "b", "c").values())


def flops(shape: MatmulShape) -> int:
    """A multiply and an add for each of size_k, in each element of c."""
    return 2 * shape.size_m * shape.size_n * shape.size_k
