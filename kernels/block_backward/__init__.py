"""Softmax backward in blocks: a pass over y and dy for delta, and a second one for dx."""

from __future__ import annotations

from kernels import softmax_backward, spaces
from kernels.algorithm import Algorithm, Line, Stanza
from kernels.block_backward.mirror import trace

ENTRY = Algorithm(
    name="block_backward",
    inputs=("y", "dy"),
    draws={"y": "softmax", "dy": "normal"},
    output="dx",
    on_chip=("delta",),
    captured=("delta",),
    panels=("operands", "products", "outputs"),
    stanzas=(
        Stanza("dot", (Line("t", "y · dy"), Line("delta", "{delta} + {t_sum}"))),
        Stanza("gradient", (Line("dx", "y · (dy − {delta})"),), pass_index=1),
    ),
    n_passes=2,
    trace=trace,
    reference=softmax_backward.reference,
    hbm_bytes=softmax_backward.reads_and_one_write(2),
    naive_bytes=softmax_backward.naive_bytes,
    min_bytes=softmax_backward.min_bytes,
    flops=softmax_backward.flops,
    magnitude=softmax_backward.magnitude,
    torch_expression="aten._softmax_backward_data(dy, y, -1)",
    configs=spaces.row_blocks(2),
)
