"""softmax(x) + x * y in NumPy, a step at a time: one kernel, nothing in between written to memory.

z = softmax(x) + x * y for one row of x and y [n_cols], both on chip at once. The block is the next
power of two at or above n_cols.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.softmax import largest_lane
from kernels.tiles import next_power_of_two
from kernels.trace import Step, Trace, gather, load_case, max_case, output_case, sum_case


def run(x: np.ndarray, y: np.ndarray, block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of one row."""
    n_bytes = len(x) * ITEMSIZE[dtype]
    whole = (0, 0, 0, len(x))  # pass, block, start, stop
    yield Step("load", *whole, load_case(0, len(x), block), reads={"x": n_bytes, "y": n_bytes})
    m = largest_lane(x, block)
    yield Step("block_max", *whole, max_case(np.float32(-np.inf), m, x), {"m": m})
    p = np.exp(x - m)
    l = p.sum()
    yield Step("accumulate", *whole, sum_case(np.float32(0), l, p), {"p": p, "l": l})
    z = round_to(p / l + x * y, dtype)
    yield Step("combine", *whole, output_case(z), {"z": z})
    yield Step("store", *whole, output_case(z), writes={"z": n_bytes})


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of z = softmax(x) + x * y for one row; ``block`` is not a choice here."""
    block = next_power_of_two(len(arrays["x"]))
    steps = run(arrays["x"], arrays["y"], block, dtype)
    return gather("fused_chain", arrays, "z", block, dtype, steps)
