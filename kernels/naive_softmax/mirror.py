"""Naive softmax in NumPy, a step at a time: no maximum is subtracted, so exp can overflow.

y = exp(x) / sum exp(x) for one row x [n_cols], in two passes. In float16 the exponentials are kept
in float16, whose largest number, 65504, is exp(11.09); in float32 exp overflows past 88.72.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.trace import Step, Trace, blocks, gather, load_case, output_case, sum_case


def exp_in(dtype: str, x: np.ndarray) -> np.ndarray:
    """Return exp(x) as float32, rounded on the way to float16 where that is the dtype."""
    p = np.exp(x)
    return round_to(p, dtype) if dtype == "float16" else p


def run(x: np.ndarray, block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of one row, both passes."""
    itemsize = ITEMSIZE[dtype]
    l = np.float32(0)

    for b, start, stop in blocks(len(x), block):
        lanes = stop - start
        case = load_case(0, lanes, block)
        yield Step("load", 0, b, start, stop, case, reads={"x": lanes * itemsize})
        p = exp_in(dtype, x[start:stop])
        p_sum = p.sum()
        l_old = l
        l = l + p_sum
        values = {"p": p, "p_sum": p_sum, "l": l}
        yield Step("accumulate", 0, b, start, stop, sum_case(l_old, l, p), values)

    for b, start, stop in blocks(len(x), block):
        lanes = stop - start
        case = load_case(1, lanes, block)
        yield Step("load", 1, b, start, stop, case, reads={"x": lanes * itemsize})
        y = round_to(exp_in(dtype, x[start:stop]) / l, dtype)
        case = output_case(y)
        yield Step("normalize", 1, b, start, stop, case, {"y": y})
        yield Step("store", 1, b, start, stop, case, writes={"y": lanes * itemsize})


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of y = exp(x) / sum exp(x) for one row x [n_cols], float32."""
    steps = run(arrays["x"], block, dtype)
    return gather("naive_softmax", arrays, "y", block, dtype, steps)
