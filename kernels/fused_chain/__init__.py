"""softmax(x) + x * y in one kernel: three launches and eight passes become one and three."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels import softmax, spaces
from kernels.algorithm import Algorithm, Line, Shape, Stanza, largest_magnitude
from kernels.fused_chain.mirror import trace


def reference(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return z = softmax(x) + x * y in float64, x and y [n_rows, n_cols]."""
    x, y = arrays["x"].astype(np.float64), arrays["y"].astype(np.float64)
    with np.errstate(all="ignore"):
        return {"z": softmax.reference(arrays)["y"] + x * y}


def magnitude(arrays: Mapping[str, np.ndarray]) -> float:
    """Return the largest of softmax(x) and |x * y|: each can cancel the other in z."""
    with np.errstate(all="ignore"):
        product = arrays["x"].astype(np.float64) * arrays["y"]
    return max(largest_magnitude(softmax.reference(arrays)["y"]), largest_magnitude(product))


def hbm_bytes(shape: Shape) -> dict[str, int]:
    """x and y read once, z written once; softmax and product never leave the chip."""
    once = shape.n_rows * shape.n_cols * shape.itemsize
    return {"x": once, "y": once, "z": once}


def naive_bytes(shape: Shape) -> dict[str, int]:
    """A kernel each for softmax(x), x * y and their sum, with both results in memory between."""
    once = shape.n_rows * shape.n_cols * shape.itemsize
    return {"x": 2 * once, "y": once, "softmax": 2 * once, "product": 2 * once, "z": once}


def min_bytes(shape: Shape) -> int:
    """x and y read once, z written once."""
    return 3 * shape.n_rows * shape.n_cols * shape.itemsize


def flops(shape: Shape) -> int:
    """For each element: those of a softmax, a multiply and an add."""
    return softmax.flops(shape) + 2 * shape.n_rows * shape.n_cols


ENTRY = Algorithm(
    name="fused_chain",
    inputs=("x", "y"),
    draws={"x": "scores", "y": "normal"},
    output="z",
    on_chip=("m", "l"),
    captured=("m", "l"),
    panels=("scores", "weights", "operands", "outputs"),
    stanzas=(
        Stanza("block_max", (Line("m", "max(scores)"),)),
        Stanza("accumulate", (Line("p", "exp(scores − {m})"), Line("l", "∑ p"))),
        Stanza("combine", (Line("z", "p / {l} + x · y"),)),
    ),
    n_passes=1,
    trace=trace,
    reference=reference,
    hbm_bytes=hbm_bytes,
    naive_bytes=naive_bytes,
    min_bytes=min_bytes,
    flops=flops,
    magnitude=magnitude,
    torch_expression="torch.softmax(x, -1) + x * y",
    whole_row=True,
    configs=spaces.whole_rows(2),
)
