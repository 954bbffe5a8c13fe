"""What every row softmax shares, however it is scheduled: its reference and its costs.

y = exp(x - max x) / sum exp(x - max x), row by row, x [n_rows, n_cols].
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels.algorithm import Shape


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


def largest_lane(scores: np.ndarray, block: int) -> np.float32:
    """Return the maximum of a block's lanes: NaN is skipped, as by the GPU's max, if it can be.

    Lanes past the end hold -inf, so a short block of nothing but NaN gives -inf.
    """
    short = len(scores) < block
    return np.fmax.reduce(scores, initial=-np.inf) if short else np.fmax.reduce(scores)
