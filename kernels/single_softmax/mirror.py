"""Single-block softmax in NumPy, a step at a time: the whole row on chip, read once.

y = softmax(x) for one row x [n_cols]. The block is the next power of two at or above n_cols, and
its lanes past the end are masked to -inf. Source: Triton's fused softmax tutorial.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.softmax import largest_lane
from kernels.tiles import next_power_of_two
from kernels.trace import Step, Trace, gather, load_case, max_case, output_case, sum_case


def run(x: np.ndarray, block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of one row."""
    n_cols, itemsize = len(x), ITEMSIZE[dtype]
    whole = (0, 0, 0, n_cols)  # pass, block, start, stop
    yield Step("load", *whole, load_case(0, n_cols, block), reads={"x": n_cols * itemsize})
    m = largest_lane(x, block)
    yield Step("block_max", *whole, max_case(np.float32(-np.inf), m, x), {"m": m})
    p = np.exp(x - m)
    l = p.sum()
    case = sum_case(np.float32(0), l, p)
    yield Step("accumulate", *whole, case, {"p": p, "l": l})
    y = round_to(p / l, dtype)
    yield Step("normalize", *whole, output_case(y), {"y": y})
    yield Step("store", *whole, output_case(y), writes={"y": n_cols * itemsize})


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of y = softmax(x) for one row; ``block`` is not a choice here."""
    x = arrays["x"]
    block = next_power_of_two(len(x))
    return gather("single_softmax", arrays, "y", block, dtype, run(x, block, dtype))
