"""Softmax backward in blocks in NumPy, a step at a time: delta in one pass, dx in a second.

dx = y * (dy - delta), delta = sum(y * dy), for one row of y and dy [n_cols]. Only delta is kept on
chip between blocks, so a row may be of any length; y and dy are read twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.trace import Step, Trace, blocks, gather, load_case, output_case


def run(y: np.ndarray, dy: np.ndarray, block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of one row, both passes."""
    itemsize = ITEMSIZE[dtype]
    delta = np.float32(0)

    def load(pass_index: int, b: int, start: int, stop: int) -> Step:
        lanes = stop - start
        case = load_case(pass_index, lanes, block)
        moved = {"y": lanes * itemsize, "dy": lanes * itemsize}
        return Step("load", pass_index, b, start, stop, case, reads=moved)

    for b, start, stop in blocks(len(y), block):
        yield load(0, b, start, stop)
        t = y[start:stop] * dy[start:stop]
        t_sum = t.sum()
        delta = delta + t_sum
        values = {"t": t, "t_sum": t_sum, "delta": delta}
        yield Step("dot", 0, b, start, stop, output_case(delta), values)

    for b, start, stop in blocks(len(y), block):
        yield load(1, b, start, stop)
        dx = round_to(y[start:stop] * (dy[start:stop] - delta), dtype)
        case = output_case(dx)
        yield Step("gradient", 1, b, start, stop, case, {"dx": dx})
        yield Step("store", 1, b, start, stop, case, writes={"dx": (stop - start) * itemsize})


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of dx for one row of y and dy [n_cols], float32 rounded to ``dtype``."""
    steps = run(arrays["y"], arrays["dy"], block, dtype)
    return gather("block_backward", arrays, "dx", block, dtype, steps)
