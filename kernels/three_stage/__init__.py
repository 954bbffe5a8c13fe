"""Attention unfused: s = scale q k^T, p = softmax(s), o = p v, three kernels joined by HBM."""

from __future__ import annotations

from kernels import attention
from kernels.algorithm import Algorithm, Grid, Line, Stanza
from kernels.attention import AttentionShape
from kernels.three_stage.mirror import trace

LONGEST_SINGLE = 16_384  # keys in a row: the softmax reads a longer one twice
WIDEST = 128  # columns of a tile of o: p is read again for each further one


def hbm_bytes(shape: AttentionShape) -> dict[str, int]:
    """Every tile of s loads its own blocks of q and k; s and p are written and read whole.

    Nothing is skipped, causal or not: a masked score is computed, written as -inf and read.
    """
    once = shape.bytes_of("q", "k", "v", "s", "p", "o")
    heads_sharing = shape.heads // shape.kv_heads
    n_blocks_m = -(-shape.seq_q // shape.tiles.block_m)
    n_blocks_n = -(-shape.seq_k // shape.tiles.block_n)
    s_reads = 1 if shape.seq_k <= LONGEST_SINGLE else 2
    return {
        "q": once["q"] * n_blocks_n,
        "k": once["k"] * n_blocks_m * heads_sharing,
        "v": once["v"] * n_blocks_m * heads_sharing,
        "s": once["s"] * (1 + s_reads),
        "p": once["p"] * (1 + -(-shape.head_dim // WIDEST)),
        "o": once["o"],
    }


def min_bytes(shape: AttentionShape) -> int:
    """q, k and v read once, o written once."""
    return sum(shape.bytes_of("q", "k", "v", "o").values())


ENTRY = Algorithm(
    name="three_stage",
    problem="attention",
    fields=("seq_q", "seq_k", "head_dim", "block_m", "block", "mask"),
    defaults={"head_dim": 16, "block": 8, "mask": "causal"},
    inputs=("q", "k", "v"),
    output="o",
    on_chip=("acc",),
    captured=(),
    panels=("tiles", "matrices"),
    grid=Grid("seq_q", "seq_k", "block_m", "block", "s", ("q",), ("k", "v")),
    axes={
        "q": "md",
        "k": "nd",
        "v": "nd",
        "s": "mn",
        "p": "mn",
        "acc": "md",
        "o": "md",
    },
    matrices=("s", "p", "acc"),
    stanzas=(
        Stanza("scores", (Line("s", "scale · q · Kᵀ"),)),
        Stanza("normalize", (Line("p", "exp(s − max(s)) / ∑ exp(s − max(s))"),), 1),
        Stanza("accumulate", (Line("acc", "{acc} + p · V"),), 2),
        Stanza("store", (Line("o", "{acc}"),), 2),
    ),
    n_passes=3,
    shape=AttentionShape.of,
    trace=trace,
    reference=lambda arrays, tiles: {"o": attention.reference(arrays, tiles)["o"]},
    hbm_bytes=hbm_bytes,
    naive_bytes=hbm_bytes,  # this is the unfused schedule
    min_bytes=min_bytes,
    flops=attention.flops,
    torch_expression="torch.softmax(scale * q @ k.mT, -1) @ v",
)
