"""FlashAttention-2 backward in NumPy, tile by tile: nothing of size seq_q x seq_k is ever stored.

Gradients of sum(do * o) for one head, o = softmax(scale q k^T) v. The forward pass kept one number
a row, its LSE, and from it every weight is computed again:

    p = exp(scores - lse);   dv = p^T do;   dp = do v^T;   ds = p * (dp - delta)
    dk = scale ds^T q;   dq = scale ds k;   delta = rowsum(do * o)

Pass 1 computes delta; in pass 2 a program owns a key block and sums dk and dv; in pass 3 a program
owns a query block and sums dq. So no two programs add to one number, and no atomics are needed.
Source: Dao, "FlashAttention-2" (2023), algorithm 2, which sums dq with atomics in one loop instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kernels import attention
from kernels.inputs import ITEMSIZE, round_to
from kernels.tiles import Tiles, key_stop, query_start
from kernels.trace import Step, Trace, as_steps, blocks


@dataclass(frozen=True)
class Head:
    """What all programs share: the inputs, the mask and the schedule."""

    arrays: Mapping[str, np.ndarray]
    seen: np.ndarray
    tiles: Tiles
    dtype: str

    @property
    def lengths(self) -> tuple[int, int, bool]:
        """seq_q, seq_k and whether the mask is causal, as `kernels.tiles` takes them."""
        return *self.seen.shape, self.tiles.is_causal

    @property
    def scale(self) -> float:
        """The factor of the scores."""
        return self.tiles.scale_for(self.arrays["q"].shape[1])

    def moved(self, n_rows: int, *tensors: str) -> dict[str, int]:
        """Return the bytes of ``n_rows`` of each tensor; LSE and delta are float32."""
        wide = self.arrays["q"].shape[1] * ITEMSIZE[self.dtype]
        return {name: n_rows * (4 if name in ("lse", "delta") else wide) for name in tensors}


def recompute(head: Head, rows: slice, lanes: slice) -> Iterator[tuple]:
    """Compute the weights p [rows, lanes] of one tile again, yielding (phase, case, values)."""
    q, k, lse = (head.arrays[name] for name in ("q", "k", "lse"))
    seen = head.seen[rows, lanes]
    scores = attention.masked_scores(q[rows], k[lanes], seen, head.scale)
    yield "scores", "normal" if seen.all() else "masked", {"scores": scores}

    # A query that sees no key has lse = -inf: shifted by 0, its weights are exp(-inf) = 0.
    shift = np.where(np.isinf(lse[rows]), np.float32(0), lse[rows])
    p = np.exp(scores - shift[:, None])
    yield "weights", case_of(p), {"p": p}
    return p


def differentiate(head: Head, delta, p, rows: slice, lanes: slice) -> Iterator[tuple]:
    """Compute the gradient of one tile's scores, ds [rows, lanes], from that of its weights."""
    v, do = head.arrays["v"], head.arrays["do"]
    dp = do[rows] @ v[lanes].T
    ds = p * (dp - delta[rows, None])
    yield "ds", case_of(ds), {"dp": dp, "ds": ds}
    return round_to(ds, head.dtype)  # as the tensor cores take it


def case_of(values: np.ndarray) -> str:
    """Say whether there is a NaN."""
    return "nan" if np.isnan(values).any() else "normal"


def sum_rows(head: Head, delta: np.ndarray) -> Iterator[Step]:
    """Pass 1: fill delta [seq_q], a program a query block."""
    o, do = head.arrays["o"], head.arrays["do"]
    seq_k = head.seen.shape[1]
    for i, top, bottom in blocks(len(o), head.tiles.block_m):
        n_rows = bottom - top
        place = {"pass_index": 0, "block": None, "start": 0, "stop": seq_k, "program": i}
        yield Step("load", reads=head.moved(n_rows, "o", "do"), **place)
        delta[top:bottom] = (do[top:bottom] * o[top:bottom]).sum(axis=1)
        here = delta[top:bottom].copy()
        yield Step("delta", case=case_of(here), values={"delta": here}, **place)
        yield Step("store", writes=head.moved(n_rows, "delta"), **place)


def sum_keys(head: Head, delta, dk, dv) -> Iterator[Step]:
    """Pass 2: fill dk and dv, a program a key block, a loop over the query blocks that see it."""
    q, do = head.arrays["q"], head.arrays["do"]
    seq_q, seq_k, is_causal = head.lengths
    for j, left, right in blocks(seq_k, head.tiles.block_n):
        lanes = np.s_[left:right]
        whole = {"pass_index": 1, "block": None, "start": 0, "stop": seq_q, "program": j}
        yield Step("load_kv", reads=head.moved(right - left, "k", "v"), **whole)
        dk_sum, dv_sum = (np.zeros((right - left, q.shape[1]), np.float32) for _ in range(2))
        first = query_start(left, seq_q, seq_k, is_causal)

        for i, top, bottom in blocks(seq_q, head.tiles.block_m):
            if bottom <= first:
                continue
            rows = np.s_[top:bottom]
            at = (1, i, top, bottom)
            place = {"program": j, "tile": (i, j)}
            moved = head.moved(bottom - top, "q", "do", "lse", "delta")
            yield Step("load", *at, reads=moved, **place)
            p = yield from as_steps(recompute(head, rows, lanes), *at, **place)
            dv_sum = dv_sum + round_to(p, head.dtype).T @ do[rows]
            yield Step("dv", *at, case_of(dv_sum), {"dv": dv_sum}, **place)
            ds = yield from as_steps(differentiate(head, delta, p, rows, lanes), *at, **place)
            dk_sum = dk_sum + ds.T @ q[rows]
            yield Step("dk", *at, case_of(dk_sum), {"dk": dk_sum}, **place)

        dk[lanes] = round_to(np.float32(head.scale) * dk_sum, head.dtype)
        dv[lanes] = round_to(dv_sum, head.dtype)
        values = {"dk": dk[lanes].copy(), "dv": dv[lanes].copy()}
        moved = head.moved(right - left, "dk", "dv")
        yield Step("store", case=case_of(dk[lanes]), values=values, writes=moved, **whole)


def sum_queries(head: Head, delta, dq) -> Iterator[Step]:
    """Pass 3: fill dq, a program a query block, a loop over the key blocks that it sees."""
    k = head.arrays["k"]
    seq_q, seq_k, is_causal = head.lengths
    for i, top, bottom in blocks(seq_q, head.tiles.block_m):
        rows = np.s_[top:bottom]
        n_rows = bottom - top
        whole = {"pass_index": 2, "block": None, "start": 0, "stop": seq_k, "program": i}
        yield Step("load_q", reads=head.moved(n_rows, "q", "do", "lse", "delta"), **whole)
        dq_sum = np.zeros((n_rows, k.shape[1]), np.float32)
        stop = key_stop(top, head.tiles.block_m, seq_q, seq_k, is_causal)

        for j, left, right in blocks(seq_k, head.tiles.block_n):
            if left >= stop:
                break
            lanes = np.s_[left:right]
            at = (2, j, left, right)
            place = {"program": i, "tile": (i, j)}
            yield Step("load", *at, reads=head.moved(right - left, "k", "v"), **place)
            p = yield from as_steps(recompute(head, rows, lanes), *at, **place)
            ds = yield from as_steps(differentiate(head, delta, p, rows, lanes), *at, **place)
            dq_sum = dq_sum + ds @ k[lanes]
            yield Step("dq", *at, case_of(dq_sum), {"dq": dq_sum}, **place)

        dq[rows] = round_to(np.float32(head.scale) * dq_sum, head.dtype)
        values = {"dq": dq[rows].copy()}
        moved = head.moved(n_rows, "dq")
        yield Step("store", case=case_of(dq[rows]), values=values, writes=moved, **whole)


def trace(arrays: Mapping[str, np.ndarray], tiles: Tiles, dtype: str) -> Trace:
    """Return the Trace of one head.

    q, do [seq_q, head_dim], k, v [seq_k, head_dim] float32, already rounded to ``dtype``; o and
    lse are computed here, as a forward pass would have left them.
    """
    q, k, v, do = (arrays[name] for name in ("q", "k", "v", "do"))
    forward = attention.reference(arrays, tiles, np.float32)
    o = round_to(forward["o"], dtype)
    arrays = {"q": q, "k": k, "v": v, "o": o, "lse": forward["lse"], "do": do}
    seen = attention.mask_of(len(q), len(k), tiles.is_causal)
    head = Head(arrays, seen, tiles, dtype)
    delta = np.zeros(len(q), np.float32)
    dq, dk, dv = (np.zeros(one.shape, np.float32) for one in (q, k, v))
    with np.errstate(all="ignore"):
        steps = (
            *sum_rows(head, delta),
            *sum_keys(head, delta, dk, dv),
            *sum_queries(head, delta, dq),
        )
    sizes = {"seq_q": len(q), "seq_k": len(k), "head_dim": q.shape[1]}
    sizes |= tiles.sizes("block_m", "block_n", "is_causal")
    outputs = {"dq": dq, "dk": dk, "dv": dv}
    return Trace("flash_backward", dtype, sizes, arrays, steps, outputs)
