"""Vector addition: a grid of programs, each with a block of lanes of its own, and a masked tail."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels import spaces
from kernels.algorithm import Algorithm, Line, Shape, Stanza
from kernels.vector_add.mirror import trace


def reference(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return z = x + y in float64."""
    with np.errstate(all="ignore"):
        return {"z": arrays["x"].astype(np.float64) + arrays["y"].astype(np.float64)}


def hbm_bytes(shape: Shape) -> dict[str, int]:
    """x and y read once, z written once: no schedule moves more or less."""
    once = shape.n_rows * shape.n_cols * shape.itemsize
    return {"x": once, "y": once, "z": once}


def min_bytes(shape: Shape) -> int:
    """x and y read once, z written once."""
    return 3 * shape.n_rows * shape.n_cols * shape.itemsize


def flops(shape: Shape) -> int:
    """One addition an element."""
    return shape.n_rows * shape.n_cols


ENTRY = Algorithm(
    name="vector_add",
    inputs=("x", "y"),
    draws={"x": "scores", "y": "normal"},
    output="z",
    on_chip=(),
    captured=(),
    panels=("operands", "outputs"),
    stanzas=(Stanza("add", (Line("z", "x + y"),)),),
    n_passes=1,
    trace=trace,
    reference=reference,
    hbm_bytes=hbm_bytes,
    naive_bytes=hbm_bytes,
    min_bytes=min_bytes,
    flops=flops,
    torch_expression="x + y",
    configs=spaces.row_blocks(2),
)
