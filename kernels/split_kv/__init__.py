"""Flash-decoding: one query block's keys shared out to several programs, and their parts merged."""

from __future__ import annotations

from kernels import attention, flash_attention, spaces
from kernels.algorithm import Algorithm, Grid, Line, Stanza
from kernels.attention import AttentionShape
from kernels.split_kv.mirror import trace
from kernels.tiles import split_of, visible


def keys_loaded(shape: AttentionShape) -> int:
    """Return how many rows of K all tiles load: those of heads that share a key head are packed.

    Row r of a key head is query r % seq_q, so that a tile may hold the last query of one head and
    the first of the next.
    """
    seq_q, seq_k, tiles = shape.seq_q, shape.seq_k, shape.tiles
    n_rows = shape.heads // shape.kv_heads * seq_q
    total = 0
    for top in range(0, n_rows, tiles.block_m):
        bottom = min(top + tiles.block_m, n_rows) - 1
        is_one_head = top // seq_q == bottom // seq_q
        last = bottom % seq_q if is_one_head else seq_q - 1
        seen = visible(last, seq_q, seq_k, tiles.is_causal)
        total += min(seq_k, -(-seen // tiles.block_n) * tiles.block_n)
    return shape.batch * shape.kv_heads * total


def parts_weighed(shape: AttentionShape) -> int:
    """Return how many rows of o_part the merges read: those of splits where a query sees a key."""
    seq_q, seq_k, tiles = shape.seq_q, shape.seq_k, shape.tiles
    keys = split_of(-(-seq_k // tiles.block_n), tiles.n_splits) * tiles.block_n
    seen = (visible(query, seq_q, seq_k, tiles.is_causal) for query in range(seq_q))
    return shape.batch * shape.heads * sum(-(-n // keys) for n in seen)


def hbm_bytes(shape: AttentionShape) -> dict[str, int]:
    """Count q once a split, K and V once a tile of queries, the parts written and read, o and LSE.

    A part's LSE is always read; its o_part only if the LSE gives it weight.
    """
    once = shape.bytes_of("q", "o", "lse", "o_part", "lse_part")
    streamed = keys_loaded(shape) * shape.head_dim * shape.itemsize
    return {
        "q": once["q"] * shape.tiles.n_splits,
        "k": streamed,
        "v": streamed,
        "o_part": once["o_part"] + 4 * parts_weighed(shape) * shape.head_dim,
        "lse_part": 2 * once["lse_part"],
        "o": once["o"],
        "lse": once["lse"],
    }


def part(stanza: Stanza) -> Stanza:
    """Return a stanza of the forward kernel as one split's: its results are parts."""
    names = {"o": "o_part", "lse": "lse_part"}
    lines = (Line(names.get(x.target, x.target), x.expression, x.later) for x in stanza.lines)
    return Stanza(stanza.phase, tuple(lines))


ENTRY = Algorithm(
    name="split_kv",
    problem="attention",
    fields=("seq_q", "seq_k", "head_dim", "block_m", "block", "n_splits", "mask"),
    defaults={"seq_q": 1, "head_dim": 16, "block_m": 4, "block": 8, "n_splits": 4},
    inputs=("q", "k", "v"),
    output="o",
    extra_outputs=("lse",),
    on_chip=("m", "l", "acc"),
    captured=("m", "l", "alpha", "acc"),
    panels=("tiles", "rows", "merge"),
    grid=Grid("seq_q", "seq_k", "block_m", "block", "p", ("q",), ("k", "v")),
    axes={
        **flash_attention.ENTRY.axes,
        "o_part": "md",
        "lse_part": "m",
        "lse_max": "m",
        "weight": "ms",
        "sum": "m",
    },
    stanzas=(
        *(part(stanza) for stanza in flash_attention.ENTRY.stanzas),
        Stanza(
            "weights",
            (
                Line("lse_max", "max(lse_part)"),
                Line("weight", "exp(lse_part − {lse_max})"),
                Line("sum", "∑ weight"),
            ),
            1,
        ),
        Stanza(
            "merge",
            (Line("o", "∑ weight · o_part / {sum}"), Line("lse", "{lse_max} + ln {sum}")),
            1,
        ),
    ),
    n_passes=2,
    shape=AttentionShape.of,
    trace=trace,
    reference=attention.reference,
    hbm_bytes=hbm_bytes,
    naive_bytes=attention.naive_bytes,
    min_bytes=attention.min_bytes,
    flops=attention.flops,
    configs=spaces.decode,
    torch_expression="scaled_dot_product_attention(q, k, v)",
)
