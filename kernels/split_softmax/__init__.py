"""Softmax of long rows: several programs share a row, and merge what each found of it."""

from __future__ import annotations

from kernels import softmax, spaces
from kernels.algorithm import Algorithm, Line, Shape, Stanza
from kernels.split_softmax.mirror import PARTIAL_BYTES, trace


def hbm_bytes(shape: Shape) -> dict[str, int]:
    """x once and y once; each program writes its two partial numbers and reads all programs'."""
    once = shape.n_rows * shape.n_cols * shape.itemsize
    n_splits = -(-shape.n_cols // shape.block)
    partials = shape.n_rows * PARTIAL_BYTES * (n_splits + n_splits**2)
    return {"x": once, "y": once, "partials": partials}


ENTRY = Algorithm(
    name="split_softmax",
    inputs=("x",),
    output="y",
    on_chip=("m", "l"),
    captured=("m_part", "l_part"),
    panels=("scores", "weights", "outputs"),
    stanzas=(
        Stanza("block_max", (Line("m_part", "max(scores)"),)),
        Stanza("accumulate", (Line("p", "exp(scores − {m_part})"), Line("l_part", "∑ p"))),
        Stanza(
            "merge",
            (Line("m", "max(m_part)"), Line("l", "∑ l_part · exp(m_part − {m})")),
            pass_index=1,
        ),
        Stanza("normalize", (Line("y", "exp(scores − {m}) / {l}"),), pass_index=1),
    ),
    n_passes=2,
    trace=trace,
    reference=softmax.reference,
    hbm_bytes=hbm_bytes,
    naive_bytes=softmax.naive_bytes,
    min_bytes=softmax.min_bytes,
    flops=softmax.flops,
    torch_expression="torch.softmax(x, -1)",
    shares_rows=True,
    configs=spaces.row_blocks(1),
)
