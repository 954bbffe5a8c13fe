"""Softmax backward in one block in NumPy, a step at a time: y and dy on chip, each read once.

dx = y * (dy - delta), delta = sum(y * dy), for one row of y and dy [n_cols]. The block is the next
power of two at or above n_cols; its lanes past the end hold 0 and add nothing to delta.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.tiles import next_power_of_two
from kernels.trace import Step, Trace, gather, load_case, output_case


def run(y: np.ndarray, dy: np.ndarray, block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of one row."""
    n_bytes = len(y) * ITEMSIZE[dtype]
    whole = (0, 0, 0, len(y))  # pass, block, start, stop
    moved = {"y": n_bytes, "dy": n_bytes}
    yield Step("load", *whole, load_case(0, len(y), block), reads=moved)
    t = y * dy
    delta = t.sum()
    yield Step("dot", *whole, output_case(delta), {"t": t, "delta": delta})
    dx = round_to(y * (dy - delta), dtype)
    yield Step("gradient", *whole, output_case(dx), {"dx": dx})
    yield Step("store", *whole, output_case(dx), writes={"dx": n_bytes})


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of dx for one row; ``block`` is not a choice here."""
    block = next_power_of_two(len(arrays["y"]))
    steps = run(arrays["y"], arrays["dy"], block, dtype)
    return gather("single_backward", arrays, "dx", block, dtype, steps)
