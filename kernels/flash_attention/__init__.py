"""FlashAttention-2 forward: a program a block of queries, m, l and acc of its rows on chip."""

from __future__ import annotations

from kernels import attention, spaces
from kernels.algorithm import Algorithm, Grid, Line, Stanza
from kernels.attention import RESCALE, AttentionShape
from kernels.flash_attention.mirror import trace


def hbm_bytes(shape: AttentionShape) -> dict[str, int]:
    """q once; K and V once for each query block that sees them; o and a float32 LSE written."""
    once = shape.bytes_of("q", "o", "lse")
    streamed = shape.keys_loaded() * shape.head_dim * shape.itemsize
    return {"q": once["q"], "k": streamed, "v": streamed, "o": once["o"], "lse": once["lse"]}


ENTRY = Algorithm(
    name="flash_attention",
    problem="attention",
    fields=("seq_q", "seq_k", "head_dim", "block_m", "block", "mask"),
    defaults={"head_dim": 16, "block": 8, "mask": "causal"},
    inputs=("q", "k", "v"),
    output="o",
    extra_outputs=("lse",),
    on_chip=("m", "l", "acc"),
    captured=("m", "l", "alpha", "acc"),
    panels=("tiles", "rows"),
    grid=Grid("seq_q", "seq_k", "block_m", "block", "p", ("q",), ("k", "v")),
    axes={
        "scores": "mn",
        "block_max": "m",
        "m_new": "m",
        "m": "m",
        "alpha": "m",
        "l": "m",
        "p": "mn",
        "p_sum": "m",
        "acc": "md",
        "o": "md",
        "lse": "m",
    },
    stanzas=(
        Stanza("scores", (Line("scores", "scale · q · Kᵀ"),)),
        Stanza("new_max", (Line("m_new", "max({m}, {block_max})"),)),
        RESCALE,
        Stanza(
            "accumulate",
            (
                Line("p", "exp(scores − {m_new})"),
                Line("l", "{l} + {p_sum}"),
                Line("acc", "{acc} + p · V"),
            ),
        ),
        Stanza("normalize", (Line("o", "{acc} / {l}"), Line("lse", "{m} + ln {l}"))),
    ),
    n_passes=1,
    shape=AttentionShape.of,
    trace=trace,
    reference=attention.reference,
    hbm_bytes=hbm_bytes,
    naive_bytes=attention.naive_bytes,
    min_bytes=attention.min_bytes,
    flops=attention.flops,
    torch_expression="scaled_dot_product_attention(q, k, v)",
    configs=spaces.attention,
)
