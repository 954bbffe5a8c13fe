"""Flash-decoding in NumPy, tile by tile: the keys of one query block shared out, then merged.

o = softmax(scale q k^T) v for one head. Pass 1: each split runs the forward kernel's update over
its own key blocks and leaves o_part and lse_part, in float32. Pass 2 merges them: a part weighs
exp(lse_part - lse_max), so that the order of the parts does not matter. Splits are runs of whole
key blocks; a split without any leaves o_part = 0 and lse_part = -inf, and weighs nothing.
Source: Dao et al., "Flash-Decoding for long-context inference" (2023).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kernels.attention import gather, mask_of, masked_scores
from kernels.flash_attention.mirror import update
from kernels.inputs import ITEMSIZE, round_to
from kernels.tiles import Tiles, key_stop, split_of
from kernels.trace import Step, Trace, as_steps, blocks, output_case

ZERO = np.float32(0)


def run_split(arrays, tiles: Tiles, dtype: str, row, split: int) -> Iterator[Step]:
    """Yield what one split of query block ``row`` does; return its o_part and lse_part."""
    q, k, v = (arrays[name] for name in ("q", "k", "v"))
    (i, top, bottom), (seq_q, head_dim), seq_k = row, q.shape, len(k)
    n_rows, row_bytes = bottom - top, head_dim * ITEMSIZE[dtype]
    program = i * tiles.n_splits + split
    seen = mask_of(seq_q, seq_k, tiles.is_causal)[top:bottom]
    stop = key_stop(top, tiles.block_m, seq_q, seq_k, tiles.is_causal)
    columns = blocks(seq_k, tiles.block_n)
    share = split_of(len(columns), tiles.n_splits)
    columns = [c for c in columns[split * share : (split + 1) * share] if c[1] < stop]

    moved = {"q": n_rows * row_bytes}
    yield Step("load_q", 0, None, 0, seq_k, reads=moved, program=program)
    m = np.full(n_rows, -np.inf, np.float32)
    l = np.zeros(n_rows, np.float32)
    acc = np.zeros((n_rows, head_dim), np.float32)
    for j, left, right in columns:
        place = {"program": program, "tile": (i, j)}
        moved = dict.fromkeys("kv", (right - left) * row_bytes)
        yield Step("load", 0, j, left, right, reads=moved, **place)
        inside = seen[:, left:right]
        scores = masked_scores(q[top:bottom], k[left:right], inside, tiles.scale_for(head_dim))
        case = "normal" if inside.all() else "masked"
        yield Step("scores", 0, j, left, right, case, {"scores": scores}, **place)
        updated = update(m, l, acc, scores, v[left:right], dtype)
        m, l, acc = yield from as_steps(updated, 0, j, left, right, **place)

    o_part = np.where(l[:, None] == 0, ZERO, acc / l[:, None])
    lse_part = np.where(np.isinf(m), ZERO, m) + np.log(l)
    case = "empty" if not columns else output_case(o_part) if l.all() else "masked"
    values = {"o_part": o_part, "lse_part": lse_part}
    yield Step("normalize", 0, None, 0, seq_k, case, values, program=program)
    moved = {"o_part": 4 * o_part.size, "lse_part": 4 * n_rows}
    yield Step("store", 0, None, 0, seq_k, case, writes=moved, program=program)
    return o_part, lse_part


def weighs(lse_part: np.ndarray) -> np.ndarray:
    """Return which parts saw a key."""
    return lse_part != -np.inf


def merge(o_part: np.ndarray, lse_part: np.ndarray) -> Iterator[tuple]:
    """Merge parts [n_splits, rows, head_dim] and [n_splits, rows], yielding (phase, case, values).

    The kernel's order. Return o and lse, in float32.
    """
    lse_max = np.fmax.reduce(lse_part, axis=0)
    shift = np.where(np.isinf(lse_max), ZERO, lse_max)
    weight = np.exp(lse_part - shift)
    total = weight.sum(axis=0)
    case = "nan" if np.isnan(total).any() else "normal" if total.all() else "masked"
    yield "weights", case, {"lse_max": lse_max, "weight": weight.T, "sum": total}

    # A part without keys is not even read: 0 times a NaN in its buffer would be NaN.
    parts = np.where(weighs(lse_part)[:, :, None], weight[:, :, None] * o_part, ZERO)
    o = np.where(total[:, None] == 0, ZERO, parts.sum(axis=0) / total[:, None])
    lse = shift + np.log(total)
    yield "merge", "nan" if np.isnan(o).any() else case, {"o": o, "lse": lse}
    return o, lse


def run(arrays: Mapping[str, np.ndarray], tiles: Tiles, dtype: str) -> Iterator[Step]:
    """Yield every sub-step of every split, then of every merge."""
    (seq_q, head_dim), seq_k = arrays["q"].shape, len(arrays["k"])
    rows = blocks(seq_q, tiles.block_m)
    parts = []
    for row in rows:
        for split in range(tiles.n_splits):
            parts.append((yield from run_split(arrays, tiles, dtype, row, split)))
    for i, top, bottom in rows:
        n_rows = bottom - top
        mine = parts[i * tiles.n_splits : (i + 1) * tiles.n_splits]
        o_part, lse_part = (np.stack(side) for side in zip(*mine, strict=True))
        n_read = int(weighs(lse_part).sum())
        moved = {"o_part": 4 * n_read * head_dim, "lse_part": 4 * lse_part.size}
        yield Step("load", 1, None, 0, seq_k, reads=moved, program=i)
        for phase, case, values in merge(o_part, lse_part):
            if phase == "merge":
                values["o"] = round_to(values["o"], dtype)
            yield Step(phase, 1, None, 0, seq_k, case, values, program=i)
        moved = {"o": n_rows * head_dim * ITEMSIZE[dtype], "lse": 4 * n_rows}
        yield Step("store", 1, None, 0, seq_k, case, writes=moved, program=i)


def trace(arrays: Mapping[str, np.ndarray], tiles: Tiles, dtype: str) -> Trace:
    """Return the Trace of one head.

    q [seq_q, head_dim], k and v [seq_k, head_dim] float32, already rounded to ``dtype``.
    """
    schedule = ("block_m", "block_n", "n_splits", "is_causal")
    return gather("split_kv", arrays, tiles, dtype, run, "merge", *schedule)
