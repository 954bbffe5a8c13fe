"""Softmax backward in blocks: a pass over y and dy for delta, and a second one for dx."""

from __future__ import annotations

from dataclasses import replace

from kernels import single_backward, softmax_backward, spaces
from kernels.algorithm import Line, Stanza
from kernels.block_backward.mirror import trace

# Inputs, output, panels and costs are the same function's; the schedule is another.
ENTRY = replace(
    single_backward.ENTRY,
    name="block_backward",
    stanzas=(
        Stanza("dot", (Line("t", "y · dy"), Line("delta", "{delta} + {t_sum}"))),
        Stanza("gradient", (Line("dx", "y · (dy − {delta})"),), pass_index=1),
    ),
    n_passes=2,
    trace=trace,
    hbm_bytes=softmax_backward.reads_and_one_write(2),
    whole_row=False,
    configs=spaces.row_blocks(2),
)
