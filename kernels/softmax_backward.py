"""What both backward passes of softmax share: their reference and their costs.

With y = softmax(x) and an incoming gradient dy, row by row: dx = y * (dy - sum(y * dy)).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels.algorithm import Shape, largest_magnitude


def reference(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return dx [n_rows, n_cols] in float64, from the saved y and the gradient dy."""
    y, dy = arrays["y"].astype(np.float64), arrays["dy"].astype(np.float64)
    with np.errstate(all="ignore"):
        return {"dx": y * (dy - (y * dy).sum(axis=1, keepdims=True))}


def magnitude(arrays: Mapping[str, np.ndarray]) -> float:
    """Return the largest |y| of a row times sum |y * dy|, or times the largest |dy - delta|.

    delta can cancel to nearly 0, and so can dy - delta: float32's rounding is relative to these.
    """
    y, dy = arrays["y"].astype(np.float64), arrays["dy"].astype(np.float64)
    with np.errstate(all="ignore"):
        t = y * dy
        away = np.abs(dy - t.sum(axis=1, keepdims=True)).max(axis=1, initial=0.0)
        factor = np.maximum(np.abs(t).sum(axis=1), away)
        return largest_magnitude(np.abs(y).max(axis=1, initial=0.0) * factor)


def reads_and_one_write(n_reads: int):
    """Return the ``hbm_bytes`` of a schedule that reads y and dy ``n_reads`` times each."""

    def hbm_bytes(shape: Shape) -> dict[str, int]:
        once = shape.n_rows * shape.n_cols * shape.itemsize
        return {"y": n_reads * once, "dy": n_reads * once, "dx": once}

    return hbm_bytes


def naive_bytes(shape: Shape) -> dict[str, int]:
    """y * dy, its sum, dy - delta and the product with y, each a kernel that reads and writes."""
    once = shape.n_rows * shape.n_cols * shape.itemsize
    return {"y": 2 * once, "dy": 2 * once, "product": 2 * once, "difference": 2 * once, "dx": once}


def min_bytes(shape: Shape) -> int:
    """y and dy read once, dx written once."""
    return 3 * shape.n_rows * shape.n_cols * shape.itemsize


def flops(shape: Shape) -> int:
    """For each element: multiply and add for delta, subtract, multiply."""
    return 4 * shape.n_rows * shape.n_cols
