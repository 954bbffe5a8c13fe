"""Attention in three stages in NumPy: s = scale q k^T, p = softmax(s), o = p v, for one head.

Pass 1 is a tiled matrix product that writes s, pass 2 a row softmax that reads s and writes p,
pass 3 a tiled product that reads p. s and p are seq_q by seq_k, and lie in HBM in the inputs' type:
so a score is rounded before its exponential, which the fused kernel never does. A causal mask
skips nothing. Pass 2 shows a block of rows at once; the kernel runs a program a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.attention import mask_of, masked_scores
from kernels.inputs import ITEMSIZE, round_to
from kernels.tiles import Tiles
from kernels.trace import Step, Trace, blocks, output_case


def write_scores(q, k, s, tiles: Tiles, dtype: str) -> Iterator[Step]:
    """Pass 1: fill s, a program a tile."""
    row_bytes = q.shape[1] * ITEMSIZE[dtype]
    scale = tiles.scale_for(q.shape[1])
    seen = mask_of(*s.shape, tiles.is_causal)
    columns = blocks(s.shape[1], tiles.block_n)
    for i, top, bottom in blocks(s.shape[0], tiles.block_m):
        for j, left, right in columns:
            place = {"program": i * len(columns) + j, "tile": (i, j)}
            here = np.s_[top:bottom, left:right]
            moved = {"q": (bottom - top) * row_bytes, "k": (right - left) * row_bytes}
            yield Step("load", 0, j, left, right, reads=moved, **place)
            scores = masked_scores(q[top:bottom], k[left:right], seen[here], scale)
            s[here] = round_to(scores, dtype)  # as the store rounds it
            case = "normal" if seen[here].all() else "masked"
            yield Step("scores", 0, j, left, right, case, {"s": s[here].copy()}, **place)
            moved = {"s": s[here].size * ITEMSIZE[dtype]}
            yield Step("store", 0, j, left, right, case, writes=moved, **place)


def normalize(s: np.ndarray) -> np.ndarray:
    """Return the softmax of each row of s; 0 where a row holds nothing but -inf."""
    m = s.max(axis=1, keepdims=True)
    p = np.exp(s - m)
    return np.where(m == -np.inf, np.float32(0), p / p.sum(axis=1, keepdims=True))


def write_weights(s, p, tiles: Tiles, dtype: str) -> Iterator[Step]:
    """Pass 2: fill p with the softmax of each row of s."""
    seq_k = s.shape[1]
    for i, top, bottom in blocks(len(s), tiles.block_m):
        moved = (bottom - top) * seq_k * ITEMSIZE[dtype]
        yield Step("load", 1, None, 0, seq_k, reads={"s": moved}, program=i)
        p[top:bottom] = round_to(normalize(s[top:bottom]), dtype)
        weights = p[top:bottom].copy()
        case = output_case(weights) if weights.any(axis=1).all() else "masked"
        yield Step("normalize", 1, None, 0, seq_k, case, {"p": weights}, program=i)
        yield Step("store", 1, None, 0, seq_k, case, writes={"p": moved}, program=i)


def write_outputs(p, v, o, tiles: Tiles, dtype: str) -> Iterator[Step]:
    """Pass 3: fill o = p v, a program a block of queries."""
    seq_k, head_dim = v.shape
    itemsize = ITEMSIZE[dtype]
    for i, top, bottom in blocks(len(p), tiles.block_m):
        n_rows = bottom - top
        acc = np.zeros((n_rows, head_dim), np.float32)
        for j, left, right in blocks(seq_k, tiles.block_n):
            place = {"program": i, "tile": (i, j)}
            lanes = right - left
            moved = {"p": n_rows * lanes * itemsize, "v": lanes * head_dim * itemsize}
            yield Step("load", 2, j, left, right, reads=moved, **place)
            acc = acc + p[top:bottom, left:right] @ v[left:right]
            case = "nan" if np.isnan(acc).any() else "first" if j == 0 else "normal"
            yield Step("accumulate", 2, j, left, right, case, {"acc": acc}, **place)
        o[top:bottom] = round_to(acc, dtype)
        values = {"o": o[top:bottom].copy()}
        moved = {"o": n_rows * head_dim * itemsize}
        case = output_case(values["o"])
        yield Step("store", 2, None, 0, seq_k, case, values, writes=moved, program=i)


def trace(arrays: Mapping[str, np.ndarray], tiles: Tiles, dtype: str) -> Trace:
    """Return the Trace of one head.

    q [seq_q, head_dim], k and v [seq_k, head_dim] float32, already rounded to ``dtype``.
    """
    q, k, v = (arrays[name] for name in ("q", "k", "v"))
    s, p = (np.zeros((len(q), len(k)), np.float32) for _ in range(2))
    o = np.zeros(q.shape, np.float32)
    with np.errstate(all="ignore"):
        steps = (
            *write_scores(q, k, s, tiles, dtype),
            *write_weights(s, p, tiles, dtype),
            *write_outputs(p, v, o, tiles, dtype),
        )
    sizes = {"seq_q": len(q), "seq_k": len(k), "head_dim": q.shape[1]}
    sizes |= tiles.sizes("block_m", "block_n", "is_causal")
    return Trace("three_stage", dtype, sizes, {"q": q, "k": k, "v": v}, steps, {"o": o})
