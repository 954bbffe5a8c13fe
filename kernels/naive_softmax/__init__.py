"""Naive softmax: exp(x) / sum exp(x), with no maximum subtracted. It overflows, and shows it."""

from __future__ import annotations

from kernels import softmax
from kernels.algorithm import Algorithm, Line, Stanza
from kernels.naive_softmax.mirror import trace

ENTRY = Algorithm(
    name="naive_softmax",
    inputs=("x",),
    output="y",
    on_chip=("l",),
    captured=("l",),
    panels=("scores", "weights", "outputs"),
    stanzas=(
        Stanza("accumulate", (Line("p", "exp(scores)"), Line("l", "{l} + {p_sum}"))),
        Stanza("normalize", (Line("y", "exp(scores) / {l}"),), pass_index=1),
    ),
    n_passes=2,
    trace=trace,
    reference=softmax.reference,
    hbm_bytes=softmax.reads_and_one_write(2),
    naive_bytes=softmax.naive_bytes,
    min_bytes=softmax.min_bytes,
    flops=softmax.flops,
    torch_expression="torch.softmax(x, -1)",
)
