"""Online softmax: maximum and sum in one pass, block by block, then a pass for the output."""

from __future__ import annotations

from kernels import softmax, spaces
from kernels.algorithm import Algorithm, Line, Stanza
from kernels.online_softmax.mirror import trace

ENTRY = Algorithm(
    name="online_softmax",
    inputs=("x",),
    output="y",
    on_chip=("m", "l"),
    captured=("m", "l", "alpha"),
    panels=("scores", "weights", "outputs"),
    stanzas=(
        Stanza("block_max", (Line("block_max", "max(scores)"),)),
        Stanza("new_max", (Line("m_new", "max({m}, {block_max})"),)),
        Stanza(
            "rescale",
            (
                Line("alpha", "exp({m} − {m_new})"),
                Line("l", "{l} · {alpha}", later="+ ∑ p"),
            ),
        ),
        Stanza(
            "accumulate",
            (Line("p", "exp(scores − {m_new})"), Line("l", "{l} + {p_sum}")),
        ),
        Stanza("normalize", (Line("y", "exp(scores − {m}) / {l}"),), pass_index=1),
    ),
    n_passes=2,
    trace=trace,
    reference=softmax.reference,
    hbm_bytes=softmax.reads_and_one_write(2),
    naive_bytes=softmax.naive_bytes,
    min_bytes=softmax.min_bytes,
    flops=softmax.flops,
    torch_expression="torch.softmax(x, -1)",
    configs=spaces.row_blocks(1),
)
