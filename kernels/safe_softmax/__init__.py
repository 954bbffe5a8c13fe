"""Safe softmax in three passes: the baseline, one pass each for maximum, sum and output."""

from __future__ import annotations

from kernels import softmax
from kernels.algorithm import Algorithm, Line, Stanza
from kernels.safe_softmax.mirror import trace

ENTRY = Algorithm(
    name="safe_softmax",
    inputs=("x",),
    output="y",
    on_chip=("m", "l"),
    captured=("m", "l"),
    panels=("scores", "weights", "outputs"),
    stanzas=(
        Stanza("block_max", (Line("block_max", "max(scores)"),)),
        Stanza("new_max", (Line("m", "max({m}, {block_max})"),)),
        Stanza(
            "accumulate",
            (Line("p", "exp(scores − {m})"), Line("l", "{l} + {p_sum}")),
            pass_index=1,
        ),
        Stanza("normalize", (Line("y", "exp(scores − {m}) / {l}"),), pass_index=2),
    ),
    n_passes=3,
    trace=trace,
    reference=softmax.reference,
    hbm_bytes=softmax.reads_and_one_write(3),
    naive_bytes=softmax.naive_bytes,
    min_bytes=softmax.min_bytes,
    flops=softmax.flops,
    torch_expression="torch.softmax(x, -1)",
)
