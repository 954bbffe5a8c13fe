"""A size keeps its number and the rule that gives it, whichever way a wrapper computes it."""

from __future__ import annotations

import pytest

from benchmarks.export_sizes import Size, rule_of

SEQ, HEADS, BLOCK = Size(70, "seq"), Size(6, "heads"), Size(16, "block")


@pytest.mark.parametrize(
    "size, value, rule",
    [
        ((SEQ + BLOCK - 1) // BLOCK, 5, "ceil(seq / block)"),
        (-(-SEQ // BLOCK), 5, "ceil(seq / block)"),
        ((SEQ + 1 - 1) // 1, 70, "seq"),
        ((SEQ * HEADS + 64 - 1) // 64, 7, "ceil(seq * heads / 64)"),
        ((SEQ + BLOCK - 1) // HEADS, 14, "floor((seq + block - 1) / heads)"),
        (SEQ // (HEADS * 2), 5, "floor(seq / (heads * 2))"),
        ((SEQ - 1) * HEADS, 414, "(seq - 1) * heads"),
        (SEQ - (HEADS - BLOCK), 80, "seq - (heads - block)"),
        (1 * SEQ * 1, 70, "seq"),
        (3 * SEQ, 210, "3 * seq"),
        (SEQ * 0.5, 35.0, "35.0"),
        (SEQ % 16, 6, "6"),
    ],
)
def test_a_size_knows_its_rule(size, value, rule):
    assert size == value and rule_of(size) == rule
