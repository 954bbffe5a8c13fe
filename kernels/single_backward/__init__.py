"""Softmax backward in one block: y and dy read once, delta and dx computed from registers."""

from __future__ import annotations

from kernels import softmax_backward, spaces
from kernels.algorithm import Algorithm, Line, Stanza
from kernels.single_backward.mirror import trace

ENTRY = Algorithm(
    name="single_backward",
    inputs=("y", "dy"),
    draws={"y": "softmax", "dy": "normal"},
    output="dx",
    on_chip=("delta",),
    captured=("delta",),
    panels=("operands", "products", "outputs"),
    stanzas=(
        Stanza("dot", (Line("t", "y · dy"), Line("delta", "∑ t"))),
        Stanza("gradient", (Line("dx", "y · (dy − {delta})"),)),
    ),
    n_passes=1,
    trace=trace,
    reference=softmax_backward.reference,
    hbm_bytes=softmax_backward.reads_and_one_write(1),
    naive_bytes=softmax_backward.naive_bytes,
    min_bytes=softmax_backward.min_bytes,
    flops=softmax_backward.flops,
    magnitude=softmax_backward.magnitude,
    torch_expression="aten._softmax_backward_data(dy, y, -1)",
    whole_row=True,
    configs=spaces.whole_rows(2, several=True),
)
