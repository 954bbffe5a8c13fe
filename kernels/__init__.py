"""What is taught and run: one folder an algorithm, and this table of them.

To add one, write its folder (see ``algorithm.py`` for the contract) and add a line here.
"""

from __future__ import annotations

from kernels import (
    attention_row,
    flash_attention,
    flash_backward,
    matmul,
    naive_softmax,
    online_softmax,
    safe_softmax,
    single_softmax,
    split_kv,
    three_stage,
)
from kernels.algorithm import Algorithm

_ENTRIES = (
    attention_row.ENTRY,
    online_softmax.ENTRY,
    safe_softmax.ENTRY,
    single_softmax.ENTRY,
    naive_softmax.ENTRY,
    flash_attention.ENTRY,
    flash_backward.ENTRY,
    split_kv.ENTRY,
    three_stage.ENTRY,
    matmul.ENTRY,
)

ALGORITHMS: dict[str, Algorithm] = {entry.name: entry for entry in _ENTRIES}
