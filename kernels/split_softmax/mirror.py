"""Several programs a row in NumPy, a step at a time: publish a part's (m, l), merge all parts.

y = softmax(x) for one row x [n_cols]. Program b takes the columns of block b: it publishes its
m_part and l_part, waits for the others', merges all of them, and writes its own outputs. Its scores
stay on chip while it waits, so x is read once.
Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.softmax import largest_lane
from kernels.trace import Step, Trace, blocks, gather, load_case, max_case, output_case, sum_case

ZERO = np.float32(0)
PARTIAL_BYTES = 8  # m_part and l_part, float32 each


def shift_of(m: np.float32) -> np.float32:
    """Return what is subtracted: ``m``, or 0 while every score is -inf, as -inf - -inf is NaN."""
    return ZERO if m == -np.inf else m


def merge(m_parts: np.ndarray, l_parts: np.ndarray) -> tuple[np.float32, np.float32]:
    """Return (m, l) of the whole row from those of its parts [n_splits], added in their order."""
    m = np.fmax.reduce(m_parts)  # fmax skips NaN, as the GPU's max does; l_part carries it
    l = ZERO
    for m_part, l_part in zip(m_parts, l_parts, strict=True):
        l = l + l_part * np.exp(m_part - shift_of(m))
    return m, l


def run(x: np.ndarray, block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of one row: all programs until they publish, then all to their end."""
    itemsize = ITEMSIZE[dtype]
    parts = blocks(len(x), block)
    m_parts, l_parts = np.empty((2, len(parts)), np.float32)

    for b, start, stop in parts:
        scores, place = x[start:stop], (0, b, start, stop)
        lanes = stop - start
        case, moved = load_case(0, lanes, block), {"x": lanes * itemsize}
        yield Step("load", *place, case, reads=moved, program=b)
        m_part = largest_lane(scores, block)
        case = max_case(np.float32(-np.inf), m_part, scores)
        yield Step("block_max", *place, case, {"m_part": m_part}, program=b)
        p = np.exp(scores - shift_of(m_part))
        l_part = p.sum()
        case = sum_case(ZERO, l_part, p)
        yield Step("accumulate", *place, case, {"p": p, "l_part": l_part}, program=b)
        m_parts[b], l_parts[b] = m_part, l_part
        case = "normal" if case == "first" else case
        yield Step("publish", *place, case, writes={"partials": PARTIAL_BYTES}, program=b)

    m, l = merge(m_parts, l_parts)  # every program merges the same numbers, to the same bits
    for b, start, stop in parts:
        place = (1, b, start, stop)
        case, moved = merge_case(m, l, m_parts[b]), {"partials": PARTIAL_BYTES * len(parts)}
        values = {"m_part": m_parts[b], "m": m, "l": l}  # its own m_part is on chip still
        yield Step("merge", *place, case, values, reads=moved, program=b)
        y = round_to(np.exp(x[start:stop] - m) / l, dtype)
        yield Step("normalize", *place, output_case(y), {"y": y}, program=b)
        moved = {"y": (stop - start) * itemsize}
        yield Step("store", *place, output_case(y), writes=moved, program=b)


def merge_case(m: np.float32, l: np.float32, m_part: np.float32) -> str:
    """Say what the merge found: no weight at all, a NaN, or whose part has the maximum."""
    if m == -np.inf:
        return "nan" if np.isnan(l) else "masked"
    if np.isnan(l):
        return "inf" if m == np.inf else "nan"
    return "own" if m_part == m else "normal"


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of y = softmax(x) for one row x [n_cols], float32 rounded to ``dtype``."""
    steps = run(arrays["x"], block, dtype)
    return gather("split_softmax", arrays, "y", block, dtype, steps)
