"""Softmax of short rows: one program holds several of them, and a warp finishes each alone."""

from __future__ import annotations

from dataclasses import replace

from kernels import single_softmax, spaces
from kernels.rows_softmax.mirror import trace

# Of each row it is the single-block softmax: the same steps, bytes and formula.
ENTRY = replace(
    single_softmax.ENTRY,
    name="rows_softmax",
    trace=trace,
    configs=spaces.whole_rows(1, several=True),
)
