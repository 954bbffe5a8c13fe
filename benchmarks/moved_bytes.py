"""How many bytes the kernel of ours that a point timed moves by its own formula.

That is not the count of the GB/s, which is the least that any provider has to move: a path that
reads its rows twice moves half as much again. What is read again may come from the L2 cache.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.operations import OPERATIONS
from benchmarks.sweep import point_case
from benchmarks.sweep_results import SweepCase, SweepPoint
from kernels import ALGORITHMS
from kernels.algorithm import Algorithm
from kernels.problems import shape_of
from kernels.softmax.paths import BACKWARD_PATHS, PATHS
from kernels.tile_inputs import tiles_of

_PATHS = {"softmax": PATHS, "softmax_backward": BACKWARD_PATHS}


def moved_bytes(case: SweepCase, point: SweepPoint) -> int | None:
    """Return the bytes of one call by the schedule's formula; None where none is known."""
    entry = _entry(case, point)
    if entry is None:
        return None
    sizes = point_case(case, point.value)
    blocks = {name: n for name, n in point.settings.items() if hasattr(sizes, name)}
    sizes = replace(sizes, **blocks, **({"n_rows": point.n_rows} if point.n_rows else {}))
    shape = shape_of(entry, sizes)
    if entry.problem != "row":
        # How often tiles are read again is a matter of their blocks.
        if "block_m" not in blocks or "block" not in blocks:
            return None
        shape = replace(shape, tiles=tiles_of(entry, sizes))
    return sum(entry.hbm_bytes(shape).values())


def _entry(case: SweepCase, point: SweepPoint) -> Algorithm | None:
    """Return the algorithm that a point ran, None of others' kernels."""
    paths = _PATHS.get(case.operation)
    if paths is not None:
        return ALGORITHMS[paths[point.path]] if point.path in paths else None
    return OPERATIONS[case.operation].algorithm if point.provider == "ours" else None
