"""A tiled matrix product in NumPy, block by block: the kernel's sum, instrumented.

c = a b, a program a tile of c, a loop over blocks of size_k, the sum in float32. Programs are
numbered in grouped order (`kernels.product.grouped`).
Source: Triton's tutorial "Matrix Multiplication", for the order of the programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.product import MatmulShape, grouped
from kernels.tiles import Tiles
from kernels.trace import Step, Trace, blocks, output_case


def run(arrays: Mapping[str, np.ndarray], shape: MatmulShape, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of every tile of c."""
    a, b = arrays["a"], arrays["b"]
    tiles, itemsize = shape.tiles, shape.itemsize
    rows, columns = blocks(shape.size_m, tiles.block_m), blocks(shape.size_n, tiles.block_n)

    for pid in range(len(rows) * len(columns)):
        tile = grouped(pid, len(rows), len(columns), tiles.group_m)
        (_, top, bottom), (_, left, right) = rows[tile[0]], columns[tile[1]]
        height, width = bottom - top, right - left
        place = {"program": pid, "tile": tile}
        acc = np.zeros((height, width), np.float32)

        for step, start, stop in blocks(shape.size_k, tiles.block_k):
            depth = stop - start
            moved = {"a": height * depth * itemsize, "b": depth * width * itemsize}
            yield Step("load", 0, step, start, stop, reads=moved, **place)
            acc = acc + a[top:bottom, start:stop] @ b[start:stop, left:right]
            case = "nan" if np.isnan(acc).any() else "first" if step == 0 else "normal"
            yield Step("accumulate", 0, step, start, stop, case, {"acc": acc}, **place)

        c = round_to(acc, dtype)
        moved = {"c": height * width * itemsize}
        case = output_case(c)
        yield Step("store", 0, None, 0, shape.size_k, case, {"c": c}, writes=moved, **place)


def trace(arrays: Mapping[str, np.ndarray], tiles: Tiles, dtype: str) -> Trace:
    """Return the Trace of one product.

    a [size_m, size_k] and b [size_k, size_n] float32, already rounded to ``dtype``.
    """
    arrays = {name: arrays[name] for name in ("a", "b")}
    (size_m, size_k), size_n = arrays["a"].shape, arrays["b"].shape[1]
    shape = MatmulShape(size_m, size_n, size_k, ITEMSIZE[dtype], tiles)
    with np.errstate(all="ignore"):
        steps = tuple(run(arrays, shape, dtype))
    c = np.zeros((size_m, size_n), np.float32)
    for step in steps:
        if step.phase == "store":
            top, left = step.tile[0] * tiles.block_m, step.tile[1] * tiles.block_n
            c[top : top + tiles.block_m, left : left + tiles.block_n] = step.values["c"]
    sizes = {"size_m": size_m, "size_n": size_n, "size_k": size_k}
    sizes |= tiles.sizes("block_m", "block_n", "block_k", "group_m")
    return Trace("matmul", dtype, sizes, arrays, steps, {"c": c})
