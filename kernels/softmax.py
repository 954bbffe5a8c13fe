"""What every row softmax shares, however it is scheduled: its reference, its costs, its record.

y = exp(x - max x) / sum exp(x - max x), row by row, x [n_rows, n_cols].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.algorithm import Shape
from kernels.trace import Step, Trace


def reference(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return y [n_rows, n_cols] in float64; NaN, +inf and rows all -inf give NaN, as in torch."""
    x = arrays["x"].astype(np.float64)
    if x.shape[1] == 0:
        return {"y": x}
    with np.errstate(all="ignore"):
        p = np.exp(x - x.max(axis=1, keepdims=True))
        return {"y": p / p.sum(axis=1, keepdims=True)}


def reads_and_one_write(n_reads: int):
    """Return the ``hbm_bytes`` of a schedule that reads x ``n_reads`` times and writes y once."""

    def hbm_bytes(shape: Shape) -> dict[str, int]:
        once = shape.n_rows * shape.n_cols * shape.itemsize
        return {"x": n_reads * once, "y": once}

    return hbm_bytes


# The schedule that every softmax is compared with: a pass each for max, sum and output.
naive_bytes = reads_and_one_write(3)


def min_bytes(shape: Shape) -> int:
    """x read once, y written once."""
    return 2 * shape.n_rows * shape.n_cols * shape.itemsize


def flops(shape: Shape) -> int:
    """For each element: max, subtract, exp, add, divide."""
    return 5 * shape.n_rows * shape.n_cols


def gather(name: str, x: np.ndarray, block: int, dtype: str, run: Iterator[Step]) -> Trace:
    """Run a mirror to its end and return its Trace, with the y of all blocks put together."""
    with np.errstate(all="ignore"):
        steps = tuple(run)
    y = np.concatenate([step.values["y"] for step in steps if step.phase == "normalize"])
    sizes = {"n_cols": len(x), "block": block}
    return Trace(name, dtype, sizes, {"x": x}, steps, {"y": y})
