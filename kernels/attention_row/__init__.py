"""One query's attention: softmax(x) @ v in one pass, with m, l and o kept on chip."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels.algorithm import Algorithm, Line, Shape, Stanza, largest_magnitude
from kernels.attention import RESCALE
from kernels.attention_row.mirror import trace


def reference(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return o [n_rows, head_dim] and lse [n_rows] in float64, from x [n_rows, n_cols] and v.

    A row that is -inf everywhere gives o = 0 and lse = -inf; NaN and +inf behave as in torch.
    """
    x, v = arrays["x"].astype(np.float64), arrays["v"].astype(np.float64)
    if x.shape[1] == 0:
        return {"o": np.zeros((len(x), v.shape[1])), "lse": np.full(len(x), -np.inf)}
    with np.errstate(all="ignore"):
        m = x.max(axis=1)
        shift = np.where(np.isinf(m), 0.0, m)
        p = np.exp(x - shift[:, None])
        l = p.sum(axis=1)
        o = np.where(l[:, None] == 0, 0.0, (p @ v) / l[:, None])
        return {"o": o, "lse": shift + np.log(l)}


def magnitude(arrays: Mapping[str, np.ndarray]) -> float:
    """Return the largest |v|, which outputs are averages of and can cancel in."""
    return largest_magnitude(arrays["v"])


def hbm_bytes(shape: Shape) -> dict[str, int]:
    """x once; v once a row, since each row's program reads it; o and a float32 LSE written."""
    rows, cols, width, size = shape.n_rows, shape.n_cols, shape.head_dim, shape.itemsize
    return {
        "x": rows * cols * size,
        "v": rows * cols * width * size,
        "o": rows * width * size,
        "lse": rows * 4,
    }


def naive_bytes(shape: Shape) -> dict[str, int]:
    """Three passes over x for p, p written and read again, v read, o written."""
    rows, cols, width, size = shape.n_rows, shape.n_cols, shape.head_dim, shape.itemsize
    return {
        "x": 3 * rows * cols * size,
        "p": 2 * rows * cols * size,
        "v": rows * cols * width * size,
        "o": rows * width * size,
    }


def min_bytes(shape: Shape) -> int:
    """Each input read once, v shared by all rows; each output written once."""
    rows, cols, width, size = shape.n_rows, shape.n_cols, shape.head_dim, shape.itemsize
    return (rows * cols + cols * width + rows * width) * size + rows * 4


def flops(shape: Shape) -> int:
    """For each element: max, subtract, exp, add; and a multiply and an add for each of v."""
    return shape.n_rows * shape.n_cols * (4 + 2 * shape.head_dim)


ENTRY = Algorithm(
    name="attention_row",
    inputs=("x", "v"),
    draws={"x": "scores", "v": "values"},
    output="o",
    extra_outputs=("lse",),
    on_chip=("m", "l", "acc"),
    captured=("m", "l", "alpha", "acc"),
    panels=("scores", "weights", "weighted_values"),
    stanzas=(
        Stanza("block_max", (Line("block_max", "max(scores)"),)),
        Stanza("new_max", (Line("m_new", "max({m}, {block_max})"),)),
        RESCALE,
        Stanza(
            "accumulate",
            (
                Line("p", "exp(scores − {m_new})"),
                Line("l", "{l} + {p_sum}"),
                Line("acc", "{acc} + {pv_sum}"),
            ),
        ),
        Stanza(
            "normalize",
            (Line("o", "{acc} / {l}"), Line("lse", "{m} + ln {l}")),
        ),
    ),
    n_passes=1,
    trace=trace,
    reference=reference,
    hbm_bytes=hbm_bytes,
    naive_bytes=naive_bytes,
    min_bytes=min_bytes,
    flops=flops,
    magnitude=magnitude,
    torch_expression="torch.softmax(x, -1) @ v",
)
