"""Tiled matrix product: a program a tile of c, blocks of a and b on chip, summed in float32."""

from __future__ import annotations

from kernels import product, spaces
from kernels.algorithm import Algorithm, Grid, Line, Stanza
from kernels.matmul.mirror import trace
from kernels.product import MatmulShape

ENTRY = Algorithm(
    name="matmul",
    problem="matmul",
    fields=("size_m", "size_n", "size_k", "block_m", "block", "block_k", "group_m"),
    defaults={"block": 8, "group_m": 2},
    inputs=("a", "b"),
    output="c",
    on_chip=("acc",),
    captured=("acc",),
    panels=("tiles", "matrices"),
    grid=Grid("size_m", "size_n", "block_m", "block", "acc", ("a",), ("b",)),
    axes={"a": "mk", "b": "kn", "acc": "mn", "c": "mn"},
    matrices=("a", "b", "acc"),
    stanzas=(
        Stanza("accumulate", (Line("acc", "{acc} + a · b"),)),
        Stanza("store", (Line("c", "{acc}"),)),
    ),
    n_passes=1,
    shape=MatmulShape.of,
    trace=trace,
    reference=product.reference,
    hbm_bytes=product.hbm_bytes,
    naive_bytes=product.naive_bytes,
    min_bytes=product.min_bytes,
    flops=product.flops,
    torch_expression="torch.matmul(a, b)",
    configs=spaces.matmul,
)
