"""How large the error of a kernel on rows may be: twice torch's own, or a stated floor.

torch's error in the same dtype is the measure. The floor is for where torch happens to be exact, or
nearly. What it is comes from an entry's fields:

Nothing is kept between blocks (`on_chip` is empty), so each output is one operation, correctly
rounded: half a ULP at the largest output.

All others sum in float32: 1e-6 and 2^-23 an addition, relative to the largest output, or to the
largest of the terms that cancel in one (`magnitude`): |v| of attention, the larger of softmax and
|x y| where both are added, and of a gradient |y| times sum |y dy| or |dy - delta|. A long row is
more additions. Half types round once more at the end: one ULP at the largest output is added.

Where no maximum is subtracted, exp takes x as large as it is, with the rounding of an argument of
that size, and float16 exponentials are rounded as well.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from benchmarks.ulp import spacing
from kernels.algorithm import Algorithm, largest_magnitude

# A float32 result may be off by this much of its scale, and by two roundings an addition: the
# sum's, and the rescale's.
FLOAT32_FLOOR = 1e-6
ROUNDING = 2.0**-23
# ln l and l's own error, as a share of the larger of 1 and |lse|.
EXTRA_FLOOR = 1e-5
THREADS_A_WARP = 32


def has_no_maximum(entry: Algorithm) -> bool:
    """Whether exponentials are summed as they are, so that they overflow."""
    return "l" in entry.on_chip and "m" not in entry.on_chip


def n_additions(n_cols: int, block: int, num_warps: int, rows_a_program: int) -> int:
    """Return how many roundings a row's sum has: one thread's share of a block, then the blocks.

    The threads of a program that holds several rows are shared out to those.
    """
    n_threads = max(1, THREADS_A_WARP * num_warps // rows_a_program)
    return -(-n_cols // block) + -(-block // n_threads)


def floor(
    entry: Algorithm,
    dtype: str,
    arrays: Mapping[str, np.ndarray],
    expected: np.ndarray,
    n_additions: int,
) -> float:
    """Return the absolute error that passes even where torch has none; see the module."""
    largest = largest_magnitude(expected)
    one_ulp = float(spacing(np.array(largest), dtype))
    if not entry.on_chip:
        return one_ulp / 2
    relative = FLOAT32_FLOOR + n_additions * ROUNDING
    if has_no_maximum(entry):
        relative += largest_magnitude(arrays[entry.rows[0]]) * ROUNDING
    arithmetic = relative * (entry.magnitude(arrays) if entry.magnitude else largest)
    if dtype == "float32":
        return arithmetic
    n_roundings = 2 if has_no_maximum(entry) and dtype == "float16" else 1
    return arithmetic + n_roundings * one_ulp


def extra_floor(expected: np.ndarray, n_additions: int) -> float:
    """Return the absolute error that passes of an output beside the main one, such as lse."""
    largest = max(1.0, largest_magnitude(expected))
    return largest * (EXTRA_FLOOR + n_additions * ROUNDING)
