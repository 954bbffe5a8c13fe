"""The ceiling of a measurement: how fast its bytes can be moved, by kernels that compute nothing.

They take turns with what is measured, in the same caches and at the same clock.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from benchmarks.operations import OPERATIONS
from benchmarks.own_providers import Call
from benchmarks.sweep_results import SweepPoint
from kernels.tiles import STEP

COPY = "copy"
COPY_WAYS = ((512, ""), (512, "evict_first"), (4096, ""))  # each is the fastest at some size


def copies(operation: str, blank: SweepPoint) -> list[tuple[SweepPoint, Call]]:
    """Return the points of the copies, and their calls."""
    point = replace(blank, provider=COPY, flops=0)
    calls = copy_calls(blank.n_bytes, OPERATIONS[operation].reads)
    return [(point, call) for call in calls]


def copy_calls(n_bytes: int, reads: int, where: str = "cuda") -> list[Call]:
    """Return ways to move ``n_bytes`` and compute nothing, ``reads`` bytes read for each written.

    A few bytes more where that is no multiple. The driver's copy is one where it does the same; it
    is not the fastest below some tens of megabytes.
    """
    import torch

    launch = importlib.import_module("kernels.copy.kernel").launch
    n = STEP * math.ceil(n_bytes / (4 * STEP * (reads + 1)))
    settings = {"dtype": torch.int32, "device": where}
    source = torch.randint(2**31 - 1, (reads, n), **settings)
    target = torch.empty(n, **settings)
    calls = [
        Call(partial(launch, source, target, block=block, eviction=eviction))
        for block, eviction in COPY_WAYS
    ]
    return [*calls, Call(lambda: target.copy_(source[0]))] if reads == 1 else calls


def fastest_copy(pairs: Iterable[tuple]) -> Iterator[tuple]:
    """Yield ((point, call), time) of all but the copies, then of the copy that took least."""
    moved = []
    for pair in pairs:
        if pair[0][0].provider == COPY:
            moved.append(pair)
        else:
            yield pair
    if moved:
        yield min(moved, key=lambda pair: pair[1].median_ms)
