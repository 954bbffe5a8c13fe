"""Several rows a program in NumPy: what the tile does to one of its rows, a step at a time.

y = softmax(x) for one row x [n_cols]. The kernel's tile holds several rows, and reduces each along
its own columns only: a row sees nothing of its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels.single_softmax.mirror import run
from kernels.tiles import next_power_of_two
from kernels.trace import Trace, gather


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of y = softmax(x) for one row; ``block`` is not a choice here."""
    x = arrays["x"]
    block = next_power_of_two(len(x))
    return gather("rows_softmax", arrays, "y", block, dtype, run(x, block, dtype))
