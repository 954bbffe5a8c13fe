"""Single-block softmax: the whole row in one program's registers, read once, written once."""

from __future__ import annotations

from kernels import softmax, spaces
from kernels.algorithm import Algorithm, Line, Stanza
from kernels.single_softmax.mirror import trace

ENTRY = Algorithm(
    name="single_softmax",
    inputs=("x",),
    output="y",
    on_chip=("m", "l"),
    captured=("m", "l"),
    panels=("scores", "weights", "outputs"),
    stanzas=(
        Stanza("block_max", (Line("m", "max(scores)"),)),
        Stanza("accumulate", (Line("p", "exp(scores − {m})"), Line("l", "∑ p"))),
        Stanza("normalize", (Line("y", "p / {l}"),)),
    ),
    n_passes=1,
    trace=trace,
    reference=softmax.reference,
    hbm_bytes=softmax.reads_and_one_write(1),
    naive_bytes=softmax.naive_bytes,
    min_bytes=softmax.min_bytes,
    flops=softmax.flops,
    torch_expression="torch.softmax(x, -1)",
    whole_row=True,
    configs=spaces.whole_rows(1),
)
