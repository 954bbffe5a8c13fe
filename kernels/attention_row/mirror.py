"""One query's attention in NumPy, a step at a time: the kernel's update, instrumented.

o = softmax(x) @ v for one row of scores x [n_cols] and values v [n_cols, head_dim], in one pass.
Source: Dao et al., "FlashAttention" (2022), algorithm 1, for one query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.inputs import ITEMSIZE, round_to
from kernels.trace import (
    Step,
    Trace,
    as_steps,
    blocks,
    load_case,
    max_case,
    output_case,
    rescale_case,
    sum_case,
)

ZERO = np.float32(0)


def update(m, l, acc, scores, v):
    """Take one block into (m, l, acc), yielding (phase, case, values) after each phase.

    m, l scalars, acc [head_dim], scores [lanes], v [lanes, head_dim]; all float32. The order of
    statements is the kernel's. Returns (m, l, acc).
    """
    block_max = np.fmax.reduce(scores)  # fmax skips NaN, as the GPU's max does
    yield "block_max", max_case(m, block_max, scores), {"block_max": block_max}

    m_new = block_max if block_max > m else m
    shift = ZERO if np.isinf(m_new) else m_new
    yield "new_max", max_case(m, block_max, scores), {"m_new": m_new}

    alpha = np.exp(m - shift)
    l_old = l
    l = l * alpha
    acc = acc * alpha
    case = rescale_case(m, m_new, alpha)
    yield "rescale", case, {"alpha": alpha, "l": l, "acc": acc}

    p = np.exp(scores - shift)
    p_sum = p.sum()
    pv_sum = (p[:, None] * v).sum(axis=0)
    l = l + p_sum
    acc = acc + pv_sum
    values = {"p": p, "p_sum": p_sum, "pv_sum": pv_sum, "l": l, "acc": acc, "m": m_new}
    yield "accumulate", sum_case(l_old, l, p), values
    return m_new, l, acc


def run(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of one row."""
    x, v = arrays["x"], arrays["v"]
    n_cols, head_dim = v.shape
    itemsize = ITEMSIZE[dtype]
    m, l, acc = np.float32(-np.inf), ZERO, np.zeros(head_dim, np.float32)

    for b, start, stop in blocks(n_cols, block):
        lanes = stop - start
        moved = {"x": lanes * itemsize, "v": lanes * head_dim * itemsize}
        yield Step("load", 0, b, start, stop, load_case(0, lanes, block), reads=moved)
        updated = update(m, l, acc, x[start:stop], v[start:stop])
        m, l, acc = yield from as_steps(updated, 0, b, start, stop)

    with_weight = l != 0  # a row that is masked everywhere has no weight: o = 0, lse = -inf
    o = acc / l if with_weight else np.zeros_like(acc)
    lse = (ZERO if np.isinf(m) else m) + np.log(l)
    o = round_to(o, dtype)
    case = output_case(o) if with_weight else "masked"
    yield Step("normalize", 0, None, 0, n_cols, case, {"o": o, "lse": lse})
    yield Step("store", 0, None, 0, n_cols, case, writes={"o": head_dim * itemsize, "lse": 4})


def trace(arrays: Mapping[str, np.ndarray], block: int, dtype: str) -> Trace:
    """Return the Trace of o = softmax(x) @ v for one row.

    x [n_cols] and v [n_cols, head_dim] float32, already rounded to ``dtype``.
    """
    with np.errstate(all="ignore"):
        steps = tuple(run(arrays, block, dtype))
    n_cols, head_dim = arrays["v"].shape
    done = steps[-2].values
    return Trace(
        "attention_row",
        dtype,
        {"n_cols": n_cols, "block": block, "head_dim": head_dim},
        arrays,
        steps,
        {"o": done["o"], "lse": np.array([done["lse"]], np.float32)},
    )
