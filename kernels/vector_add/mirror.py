"""Vector addition in NumPy, a program at a time: z = x + y, x and y [n_cols].

Program b adds the lanes [b * block, (b + 1) * block), and masks those past the end. No program
knows of another, so they may run in any order, or all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.trace import Step, Trace, blocks, gather, load_case, output_case


def run(x: np.ndarray, y: np.ndarray, block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of every program."""
    for b, start, stop in blocks(len(x), block):
        n_bytes, place = (stop - start) * ITEMSIZE[dtype], (0, b, start, stop)
        case, moved = load_case(0, stop - start, block), {"x": n_bytes, "y": n_bytes}
        yield Step("load", *place, case, reads=moved, program=b)
        z = round_to(x[start:stop] + y[start:stop], dtype)
        yield Step("add", *place, output_case(z), {"z": z}, program=b)
        yield Step("store", *place, output_case(z), writes={"z": n_bytes}, program=b)


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of z = x + y for x and y [n_cols], float32 rounded to ``dtype``."""
    steps = run(arrays["x"], arrays["y"], block, dtype)
    return gather("vector_add", arrays, "z", block, dtype, steps)
