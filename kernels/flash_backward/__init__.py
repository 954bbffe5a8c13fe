"""FlashAttention-2 backward: weights recomputed from the LSE, gradients summed tile by tile."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels import attention, spaces
from kernels.algorithm import Algorithm, Grid, Line, Stanza
from kernels.attention import AttentionShape
from kernels.flash_backward.mirror import trace
from kernels.tiles import Tiles


def reference(arrays: Mapping[str, np.ndarray], tiles: Tiles) -> dict[str, np.ndarray]:
    """Return dq, dk, dv of sum(do * o) in float64, from q, k, v and do and whole matrices.

    o and lse among ``arrays`` are not used. A query that sees no key gives and gets no gradient.
    """
    q, k, v, do = (arrays[name].astype(np.float64) for name in ("q", "k", "v", "do"))
    scale = tiles.scale_for(q.shape[1])
    with np.errstate(all="ignore"):
        forward = attention.reference(arrays, tiles)
        seen = attention.mask_of(len(q), len(k), tiles.is_causal)
        lse = np.where(np.isinf(forward["lse"]), 0.0, forward["lse"])
        p = np.exp(attention.masked_scores(q, k, seen, scale) - lse[:, None])
        ds = p * (do @ v.T - (do * forward["o"]).sum(axis=1, keepdims=True))
        return {"dq": scale * ds @ k, "dk": scale * ds.T @ q, "dv": p.T @ do}


def hbm_bytes(shape: AttentionShape) -> dict[str, int]:
    """Count three kernels: delta; a key block against its queries; a query block against its keys.

    The second reads k and v once and streams q, do, lse and delta; the third the other way round.
    """
    once = shape.bytes_of("q", "k", "o", "lse", "do", "delta", "dq", "dk", "dv")
    wide = shape.head_dim * shape.itemsize
    queries, keys = shape.queries_loaded(), shape.keys_loaded()
    return {
        "q": queries * wide + once["q"],
        "k": once["k"] + keys * wide,
        "v": once["k"] + keys * wide,
        "o": once["o"],
        "lse": 4 * queries + once["lse"],
        "do": queries * wide + 2 * once["do"],
        "delta": 4 * queries + 2 * once["delta"],
        "dq": once["dq"],
        "dk": once["dk"],
        "dv": once["dv"],
    }


def naive_bytes(shape: AttentionShape) -> dict[str, int]:
    """Four products and a row-wise step, p kept by the forward pass, dp and ds through HBM.

    dv = p^T do; dp = do v^T; ds = p (dp - rowsum(p dp)); dq = ds k; dk = ds^T q.
    """
    once = shape.bytes_of("q", "k", "v", "do", "p", "dq", "dk", "dv")
    square = once.pop("p")
    twice = {"do": 2 * once["do"], "p": 2 * square, "dp": 2 * square, "ds": 3 * square}
    return once | twice


def min_bytes(shape: AttentionShape) -> int:
    """q, k, v, o, lse and do read once; dq, dk and dv written once."""
    names = ("q", "k", "v", "o", "lse", "do", "dq", "dk", "dv")
    return sum(shape.bytes_of(*names).values())


def flops(shape: AttentionShape) -> int:
    """Five products of visible pairs x head_dim, 2.5 x forward's two.

    This schedule computes seven: the scores and dp a second time, for dq. As elsewhere, work that
    is done again earns no credit.
    """
    return 10 * shape.pairs() * shape.head_dim


SCORES = Line("scores", "scale · q · Kᵀ")
WEIGHTS = Line("p", "exp(scores − lse)")
D_SCORES = (Line("dp", "do · Vᵀ"), Line("ds", "p · (dp − delta)"))

ENTRY = Algorithm(
    name="flash_backward",
    problem="attention",
    fields=("seq_q", "seq_k", "head_dim", "block_m", "block", "mask"),
    defaults={"seq_q": 32, "seq_k": 32, "head_dim": 8, "block": 8, "mask": "causal"},
    inputs=("q", "k", "v", "o", "lse", "do"),
    output="dq",
    extra_outputs=("dk", "dv"),
    on_chip=("dk", "dv", "dq"),
    captured=(),
    panels=("tiles", "matrices"),
    grid=Grid("seq_q", "seq_k", "block_m", "block", "p", ("q", "do"), ("k", "v")),
    axes={
        **{name: "md" for name in ("q", "o", "do", "dq")},
        **{name: "nd" for name in ("k", "v", "dk", "dv")},
        **{name: "mn" for name in ("scores", "p", "dp", "ds")},
        **{name: "m" for name in ("lse", "delta")},
    },
    matrices=("scores", "p", "dp", "ds", "dv", "dk", "dq"),
    stanzas=(
        Stanza("delta", (Line("delta", "∑ do · o"),)),
        Stanza("scores", (SCORES,), 1),
        Stanza("weights", (WEIGHTS,), 1),
        Stanza("dv", (Line("dv", "{dv} + pᵀ · do"),), 1),
        Stanza("ds", D_SCORES, 1),
        Stanza("dk", (Line("dk", "{dk} + dsᵀ · q"),), 1),
        Stanza("store", (Line("dk", "scale · {dk}"),), 1),
        Stanza("scores", (SCORES,), 2),
        Stanza("weights", (WEIGHTS,), 2),
        Stanza("ds", D_SCORES, 2),
        Stanza("dq", (Line("dq", "{dq} + ds · K"),), 2),
        Stanza("store", (Line("dq", "scale · {dq}"),), 2),
    ),
    n_passes=3,
    shape=AttentionShape.of,
    trace=trace,
    reference=reference,
    hbm_bytes=hbm_bytes,
    naive_bytes=naive_bytes,
    min_bytes=min_bytes,
    flops=flops,
    configs=spaces.attention_backward,
    torch_expression="torch.autograd.grad(scaled_dot_product_attention(q, k, v), (q, k, v), do)",
)
