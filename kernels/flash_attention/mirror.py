"""FlashAttention-2 forward in NumPy, tile by tile: the kernel's update, instrumented.

o = softmax(scale q k^T) v for one head, a program a block of queries, a loop over blocks of keys.
Source: Dao, "FlashAttention-2" (2023), algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.attention import gather, mask_of, masked_scores
from kernels.inputs import ITEMSIZE, round_to
from kernels.tiles import Tiles, key_stop
from kernels.trace import Step, Trace, as_steps, blocks, output_case


def update(m, l, acc, scores, v, dtype="float32"):
    """Take one tile into (m, l, acc), yielding (phase, case, values) after each phase.

    m, l [rows], acc [rows, head_dim], scores [rows, lanes], v [lanes, head_dim]; all float32. The
    order of statements is the kernel's. Returns (m, l, acc).
    """
    block_max = np.fmax.reduce(scores, axis=1)  # fmax skips NaN, as the GPU's max does
    m_new = np.where(block_max > m, block_max, m)
    shift = np.where(np.isinf(m_new), np.float32(0), m_new)
    case = rise_case(m, m_new, scores)
    yield "new_max", case, {"block_max": block_max, "m_new": m_new}

    alpha = np.exp(m - shift)
    l = l * alpha
    acc = acc * alpha[:, None]
    yield "rescale", case, {"alpha": alpha, "l": l, "acc": acc}

    p = np.exp(scores - shift[:, None])
    p_sum = p.sum(axis=1)
    l = l + p_sum
    # The tensor cores take p in the inputs' type, and add up in float32.
    acc = acc + round_to(p, dtype) @ v
    case = "nan" if np.isnan(l).any() else "normal" if p.any() else "masked"
    yield "accumulate", case, {"p": p, "p_sum": p_sum, "l": l, "acc": acc, "m": m_new}
    return m_new, l, acc


def rise_case(m, m_new, scores) -> str:
    """Say what a tile does to the maxima of its rows: nothing, something, or the first of all."""
    if np.isnan(scores).any():
        return "nan"
    if (m_new == -np.inf).all():
        return "masked"
    if (m == -np.inf).all():
        return "first"
    return "rise" if (m_new > m).any() else "same"


def run(arrays: Mapping[str, np.ndarray], tiles: Tiles, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of every query block."""
    q, k, v = (arrays[name] for name in ("q", "k", "v"))
    (seq_q, head_dim), seq_k = q.shape, len(k)
    row_bytes = head_dim * ITEMSIZE[dtype]
    scale = tiles.scale_for(head_dim)
    seen = mask_of(seq_q, seq_k, tiles.is_causal)

    for i, top, bottom in blocks(seq_q, tiles.block_m):
        n_rows = bottom - top
        stop = key_stop(top, tiles.block_m, seq_q, seq_k, tiles.is_causal)
        moved = {"q": n_rows * row_bytes}
        yield Step("load_q", 0, None, 0, seq_k, reads=moved, program=i)
        m = np.full(n_rows, -np.inf, np.float32)
        l = np.zeros(n_rows, np.float32)
        acc = np.zeros((n_rows, head_dim), np.float32)

        for j, left, right in blocks(seq_k, tiles.block_n):
            if left >= stop:
                break
            place = {"program": i, "tile": (i, j)}
            lanes = right - left
            moved = {"k": lanes * row_bytes, "v": lanes * row_bytes}
            yield Step("load", 0, j, left, right, reads=moved, **place)
            inside = seen[top:bottom, left:right]
            scores = masked_scores(q[top:bottom], k[left:right], inside, scale)
            case = "normal" if inside.all() else "masked"
            yield Step("scores", 0, j, left, right, case, {"scores": scores}, **place)
            updated = update(m, l, acc, scores, v[left:right], dtype)
            m, l, acc = yield from as_steps(updated, 0, j, left, right, **place)

        # A query that sees no key has no weight: o = 0 and lse = ln 0 = -inf.
        o = np.where(l[:, None] == 0, np.float32(0), acc / l[:, None])
        lse = np.where(np.isinf(m), np.float32(0), m) + np.log(l)
        o = round_to(o, dtype)
        case = "masked" if not l.all() else output_case(o)
        values = {"o": o, "lse": lse}
        yield Step("normalize", 0, None, 0, seq_k, case, values, program=i)
        moved = {"o": n_rows * row_bytes, "lse": 4 * n_rows}
        yield Step("store", 0, None, 0, seq_k, case, writes=moved, program=i)


def trace(arrays: Mapping[str, np.ndarray], tiles: Tiles, dtype: str) -> Trace:
    """Return the Trace of one head.

    q [seq_q, head_dim], k and v [seq_k, head_dim] float32, already rounded to ``dtype``.
    """
    schedule = ("block_m", "block_n", "is_causal")
    return gather("flash_attention", arrays, tiles, dtype, run, "normalize", *schedule)
