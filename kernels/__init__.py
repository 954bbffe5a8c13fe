"""What is taught and run: one folder an algorithm, and this table of them.

To add one, write its folder (see ``algorithm.py`` for the contract) and add a line here.
"""

from __future__ import annotations

from kernels import (
    attention_row,
    block_backward,
    flash_attention,
    flash_backward,
    fused_chain,
    matmul,
    naive_softmax,
    online_softmax,
    rows_softmax,
    safe_softmax,
    single_backward,
    single_softmax,
    split_kv,
    split_softmax,
    three_stage,
    vector_add,
)
from kernels.algorithm import Algorithm

_ENTRIES = (
    attention_row.ENTRY,
    online_softmax.ENTRY,
    safe_softmax.ENTRY,
    single_softmax.ENTRY,
    naive_softmax.ENTRY,
    rows_softmax.ENTRY,
    split_softmax.ENTRY,
    single_backward.ENTRY,
    block_backward.ENTRY,
    vector_add.ENTRY,
    fused_chain.ENTRY,
    flash_attention.ENTRY,
    flash_backward.ENTRY,
    split_kv.ENTRY,
    three_stage.ENTRY,
    matmul.ENTRY,
)

ALGORITHMS: dict[str, Algorithm] = {entry.name: entry for entry in _ENTRIES}
