"""How large an error may be: twice torch's own in the same dtype, or a stated floor.

torch's error is the measure: a kernel that rounds as torch does errs as torch does. The floor is
for where torch happens to be exact, or nearly: one key, equal scores, a gradient that is 0.

Forward, o. float32: 1e-6, an argument of exp as large as the scores with the rounding of such a
number, and the roundings of a sum over blocks, which grow like the square root of how many there
are; all of it times the largest |v|, which outputs are averages of. Half types round once more at
the end, half a ULP at the largest output, and P before it meets V: 1.5e-3 in bfloat16 and, with
three bits more, an eighth of that in float16.

Gradients. The same relative error of the terms that are summed, at their largest: for dv of do, for
dq and dk of scale x dp x k and scale x dp x q; dv and dk also times the most weight that one key
gets. In half types, one ULP at the largest gradient: half for the store, and half for P and dS,
which are rounded to the type before the product they go into. On an H200, of 1,752 outputs in half
types, 31 of SDPA's errors were more than twice ours and 8 of ours more than twice SDPA's: by how
much a single largest error differs is luck.

Products, c: 1e-6 of the largest |c|, and half a ULP of it in half types.

lse, which torch does not give: 1e-5 of the larger of 1 and |lse|, and the roundings above.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from benchmarks.ulp import spacing

FLOAT32_FLOOR = 1e-6
LSE_FLOOR = 1e-5
ROUNDING = 2.0**-23
HALF_FORWARD = {"float32": 0.0, "bfloat16": 1.5e-3, "float16": 1.5e-3 / 8}


def tolerance(
    name: str,
    dtype: str,
    largest: float,
    magnitudes: Mapping[str, float],
    scale: float,
    n_blocks: int,
    rivals_error: float | None,
) -> float:
    """Return the largest absolute error of an output that passes.

    ``largest`` is of the output's own reference, ``magnitudes`` as `attention_reference` returns
    them, ``n_blocks`` how many blocks a sum goes over, ``rivals_error`` None where torch has none.
    """
    least = floor(name, dtype, largest, magnitudes, scale, n_blocks)
    return max(least, 2 * rivals_error) if rivals_error is not None else least


def floor(
    name: str,
    dtype: str,
    largest: float,
    magnitudes: Mapping[str, float],
    scale: float,
    n_blocks: int,
) -> float:
    """Return the absolute error that passes even where torch has none."""
    last = 0.0 if dtype == "float32" else float(spacing(np.array(largest), dtype)) / 2
    if name == "c":
        return FLOAT32_FLOOR * largest + last
    roundings = ROUNDING * (2 * magnitudes["score"] + math.sqrt(n_blocks))
    if name == "lse":
        return (LSE_FLOOR + roundings) * max(1.0, largest)
    relative = FLOAT32_FLOOR + roundings
    if name == "o":
        return relative * magnitudes["v"] + last + HALF_FORWARD[dtype]
    of_a_term = {
        "dq": magnitudes["dp"] * magnitudes["k"] * abs(scale),
        "dk": magnitudes["dp"] * magnitudes["q"] * abs(scale) * magnitudes["column"],
        "dv": magnitudes["do"] * magnitudes["column"],
    }
    return relative * of_a_term[name] + 2 * last
