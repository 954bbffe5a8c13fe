"""Online softmax in NumPy, a step at a time: the kernel's two passes, instrumented.

y = softmax(x) for one row x [n_cols]. Pass 1 keeps (m, l); pass 2 reads x again and writes y.
Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.trace import (
    Step,
    Trace,
    as_steps,
    blocks,
    gather,
    load_case,
    max_case,
    output_case,
    rescale_case,
    sum_case,
)

ZERO = np.float32(0)


def update(m, l, scores):
    """Take one block into (m, l), yielding (phase, case, values) after each phase.

    m and l scalars, scores [lanes], all float32. The order of statements is the kernel's.
    Returns (m, l).
    """
    block_max = np.fmax.reduce(scores)  # fmax skips NaN, as the GPU's max does
    yield "block_max", max_case(m, block_max, scores), {"block_max": block_max}

    m_new = block_max if block_max > m else m
    shift = ZERO if m_new == -np.inf else m_new
    yield "new_max", max_case(m, block_max, scores), {"m_new": m_new}

    alpha = np.exp(m - shift)
    l_old = l
    l = l * alpha
    yield "rescale", rescale_case(m, m_new, alpha), {"alpha": alpha, "l": l}

    p = np.exp(scores - shift)
    p_sum = p.sum()
    l = l + p_sum
    values = {"p": p, "p_sum": p_sum, "l": l, "m": m_new}
    yield "accumulate", sum_case(l_old, l, p), values
    return m_new, l


def run(x: np.ndarray, block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of one row, both passes."""
    itemsize = ITEMSIZE[dtype]
    m, l = np.float32(-np.inf), ZERO

    for b, start, stop in blocks(len(x), block):
        lanes = stop - start
        case = load_case(0, lanes, block)
        yield Step("load", 0, b, start, stop, case, reads={"x": lanes * itemsize})
        m, l = yield from as_steps(update(m, l, x[start:stop]), 0, b, start, stop)

    for b, start, stop in blocks(len(x), block):
        lanes = stop - start
        case = load_case(1, lanes, block)
        yield Step("load", 1, b, start, stop, case, reads={"x": lanes * itemsize})
        y = round_to(np.exp(x[start:stop] - m) / l, dtype)
        yield Step("normalize", 1, b, start, stop, output_case(y), {"y": y})
        yield Step("store", 1, b, start, stop, output_case(y), writes={"y": lanes * itemsize})


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of y = softmax(x) for one row x [n_cols], float32 rounded to ``dtype``."""
    steps = run(arrays["x"], block, dtype)
    return gather("online_softmax", arrays, "y", block, dtype, steps)
