"""Attention and its gradients in float64 with torch, where the inputs are: what errors are against.

The same function as `kernels.attention.reference`, for whole batches and on any device, with the
gradients in closed form:

    P = softmax(scale q k^T);   o = P v;   delta = rowsum(do * o)
    dv = P^T do;   ds = P * (do v^T - delta);   dq = scale ds k;   dk = scale ds^T q

Causal masks align bottom-right. A query that sees no key has o = 0, lse = -inf and no gradient.
Nothing as large as all heads' scores is ever held: heads and queries are worked through in parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

# Scores held at once, in float64, a few times over.
MAX_SCORES = 2**24


def attention(tensors: Mapping, is_causal: bool, scale: float) -> tuple[dict, dict[str, float]]:
    """Return the outputs in float64, and the magnitudes that errors grow with.

    tensors     q [batch, heads, seq_q, head_dim], k and v [batch, kv_heads, seq_k, head_dim], and
                do like q if gradients are wanted
    outputs     o, lse [batch, heads, seq_q], and dq, dk, dv
    magnitudes  the largest of q, k, v, do, of any visible "score" and any "dp", and "column": the
                largest weight that one key gets from all queries together
    """
    with_gradients = "do" in tensors
    q, k, v = (tensors[name].flatten(0, 1) for name in ("q", "k", "v"))
    do = tensors["do"].flatten(0, 1) if with_gradients else None
    out = _empty(q, k, with_gradients)
    largest = dict.fromkeys(("score", "dp", "column"), 0.0)
    column = k.new_zeros(k.shape[:2]).double()
    owner = owners(tensors["q"], tensors["k"])
    for heads, rows in _parts(len(q), q.shape[1], k.shape[1]):
        q_part, k_part, v_part = (
            t.double() for t in (q[heads, rows], k[owner[heads]], v[owner[heads]])
        )
        p, lse, score = _weights(q_part, k_part, rows, q.shape[1], is_causal, scale)
        o = p @ v_part
        out["o"][heads, rows], out["lse"][heads, rows] = o, lse
        largest["score"] = max(largest["score"], score)
        if not with_gradients:
            continue
        do_part = do[heads, rows].double()
        dp = do_part @ v_part.mT
        largest["dp"] = max(largest["dp"], largest_of(dp))
        ds = p * (dp - (do_part * o).sum(-1, keepdim=True))
        out["dq"][heads, rows] = ds @ k_part * scale
        out["dk"].index_add_(0, owner[heads], ds.mT @ q_part * scale)
        out["dv"].index_add_(0, owner[heads], p.mT @ do_part)
        column.index_add_(0, owner[heads], p.sum(1))
    largest["column"] = largest_of(column)
    names = ("q", "k", "v", "do") if with_gradients else ("q", "k", "v")
    largest |= {name: largest_of(tensors[name]) for name in names}
    shapes = {name: tensors["k" if name in ("dk", "dv") else "q"].shape for name in out}
    outputs = {name: t.unflatten(0, shapes[name][:2]) for name, t in out.items()}
    return outputs, largest


def product(a, b) -> tuple[dict, dict[str, float]]:
    """Return c = a @ b in float64, and the largest of a, b and c."""
    c = a.double() @ b.double()
    return {"c": c}, {"a": largest_of(a), "b": largest_of(b), "c": largest_of(c)}


def _empty(q, k, with_gradients: bool) -> dict:
    """Return the outputs of all heads, to be filled."""
    import torch

    names = ("dq", "dk", "dv") if with_gradients else ()
    out = {"o": q, "lse": q[..., 0]}
    out |= {name: q if name == "dq" else k for name in names}
    return {name: torch.zeros_like(like, dtype=torch.float64) for name, like in out.items()}


def owners(q, k):
    """Return which of k's heads, all batches together, each of q's heads reads."""
    import torch

    (batch, heads), kv_heads = q.shape[:2], k.shape[1]
    index = torch.arange(batch * heads, device=q.device)
    return index // heads * kv_heads + index % heads // (heads // kv_heads)


def _parts(n_heads: int, seq_q: int, seq_k: int) -> Iterator[tuple[slice, slice]]:
    """Yield (heads, queries) that have at most MAX_SCORES scores together."""
    n_rows = min(seq_q, max(1, MAX_SCORES // max(seq_k, 1)))
    n_at_once = max(1, MAX_SCORES // max(n_rows * seq_k, 1))
    for head in range(0, n_heads, n_at_once):
        for row in range(0, seq_q, n_rows):
            yield slice(head, head + n_at_once), slice(row, row + n_rows)


def _weights(q, k, rows: slice, seq_q: int, is_causal: bool, scale: float) -> tuple:
    """Return P [heads, rows, seq_k], lse [heads, rows] and the largest finite visible |score|."""
    import torch

    scores = q @ k.mT * scale
    if is_causal:
        query = torch.arange(rows.start, rows.start + q.shape[1], device=q.device)
        key = torch.arange(k.shape[1], device=q.device)
        hidden = key > query[:, None] + k.shape[1] - seq_q
        scores.masked_fill_(hidden, -torch.inf)
    largest = largest_of(scores)
    m = scores.amax(-1, keepdim=True)
    shift = m.masked_fill(m.isinf(), 0.0)
    p = scores.sub_(shift).exp_()
    l = p.sum(-1, keepdim=True)
    lse = (shift + l.log()).squeeze(-1)
    p /= l.masked_fill(l == 0, 1.0)
    return p, lse, largest


def largest_of(tensor) -> float:
    """Return the largest finite magnitude, 0 if there is none."""
    if not tensor.numel():
        return 0.0
    magnitude = tensor.abs()
    return magnitude.masked_fill(~magnitude.isfinite(), 0.0).amax().item()
