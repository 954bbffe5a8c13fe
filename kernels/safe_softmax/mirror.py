"""Safe softmax in NumPy, a step at a time: three passes over the row, instrumented.

y = softmax(x) for one row x [n_cols]. Pass 1 finds m, pass 2 sums exp(x - m), pass 3 writes y.
Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.trace import Step, Trace, blocks, gather, load_case, max_case, output_case, sum_case


def run(x: np.ndarray, block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of one row, all three passes."""
    itemsize = ITEMSIZE[dtype]
    m, l = np.float32(-np.inf), np.float32(0)

    def load(pass_index: int, b: int, start: int, stop: int) -> Step:
        lanes = stop - start
        case = load_case(pass_index, lanes, block)
        return Step("load", pass_index, b, start, stop, case, reads={"x": lanes * itemsize})

    for b, start, stop in blocks(len(x), block):
        yield load(0, b, start, stop)
        scores = x[start:stop]
        block_max = np.fmax.reduce(scores)  # fmax skips NaN, as the GPU's max does
        case = max_case(m, block_max, scores)
        yield Step("block_max", 0, b, start, stop, case, {"block_max": block_max})
        m = block_max if block_max > m else m
        yield Step("new_max", 0, b, start, stop, case, {"m": m})

    for b, start, stop in blocks(len(x), block):
        yield load(1, b, start, stop)
        p = np.exp(x[start:stop] - m)
        p_sum = p.sum()
        l_old = l
        l = l + p_sum
        values = {"p": p, "p_sum": p_sum, "l": l}
        yield Step("accumulate", 1, b, start, stop, sum_case(l_old, l, p), values)

    for b, start, stop in blocks(len(x), block):
        yield load(2, b, start, stop)
        y = round_to(np.exp(x[start:stop] - m) / l, dtype)
        case = output_case(y)
        yield Step("normalize", 2, b, start, stop, case, {"y": y})
        moved = {"y": (stop - start) * itemsize}
        yield Step("store", 2, b, start, stop, case, writes=moved)


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of y = softmax(x) for one row x [n_cols], float32 rounded to ``dtype``."""
    steps = run(arrays["x"], block, dtype)
    return gather("safe_softmax", arrays, "y", block, dtype, steps)
