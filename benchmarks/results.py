"""What a job finds out: frozen, picklable records of NumPy arrays and plain numbers.

No torch tensor ever leaves the worker. Errors are against a float64 reference. "ULP" is the spacing
of the output dtype at *the row's largest output*: the raw spacing at an output near 0 would say
thousands and mean nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kernels.inputs import Case

# Below this magnitude a relative error is taken against the floor instead of the value.
REL_FLOOR = 1e-6


@dataclass(frozen=True)
class Device:
    """What runs the kernels here. No GPU is a value, not an error.

    kind        "gpu" or "interpreter"; "none" where no kernel can run at all
    name        the GPU's exact name; "CPU" for the interpreter; "" for none
    capability  (major, minor) of the GPU in use, or None
    reason      why it is not a GPU, or "" on one; a locale key under ``device.reason.``:
                "asked" (BLOCKWISE_DEVICE or TRITON_INTERPRET), "no_driver", "no_gpu", "cpu_torch",
                "old_driver", "old_gpu", "no_compiler", "self_test"; for none also "no_triton" (not
                Linux, say) and "no_torch"
    details     what the reason's sentence names: ``name``, ``capability``, ``wanted`` of a GPU;
                ``driver``, ``cuda``, ``wanted`` of a driver; ``message`` of a self-test
    versions    torch, triton, numpy, python, and cuda and driver where there are such
    """

    kind: str
    name: str
    capability: tuple[int, int] | None = None
    reason: str = ""
    details: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ErrorStats:
    """How far one result is from another, over all finite pairs.

    max_rel uses max(|reference|, REL_FLOOR) as its denominator. ``n_mismatched`` counts elements
    where one side is finite and the other is not, or their NaN and infinities differ: any such
    element fails a check, and it is never averaged away.
    """

    max_abs: float
    rms: float
    max_rel: float
    max_ulp: float
    median_ulp: float
    n_mismatched: int


@dataclass(frozen=True)
class RowDetail:
    """One row in full: outputs, and the state after each block from the kernel and its mirror.

    outputs       "kernel", "torch", "float64" -> [out_cols]
    kernel_state, mirror_state   field -> [n_blocks], and "acc" -> [n_blocks, head_dim]
    state_ulps    field -> [n_blocks] float32 ULPs between the two, the largest over acc's columns;
                  inf where one is finite and the other not
    """

    row: int
    outputs: Mapping[str, np.ndarray]
    kernel_state: Mapping[str, np.ndarray]
    mirror_state: Mapping[str, np.ndarray]
    state_ulps: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class CheckResult:
    """A kernel's outputs held against torch and float64.

    verdict     "passed"; "failed"; or "overflowed" where a kernel that subtracts no maximum gave
                NaN or infinities that the reference does not have, or its sum became infinite
    tolerance   the largest absolute error that passes: twice torch's own, or a stated floor
    maps        "kernel", "torch", "between" -> [map_rows, map_cols] errors in ULPs, NaN where
                mismatched, 0 where both are the same NaN or infinity and where a masked row is left
                out; a cell is the largest of ``map_step`` = (rows, cols) elements
    histogram   "edges" [n + 1] in ULPs, "kernel" and "torch" [n] counts
    rows        the rows kept in full: the worst, and others spread evenly; in order
    n_outputs   elements of the output
    n_compared  of them, those held against torch: all but the masked rows'
    n_same_bits of ``n_compared`` are bit-identical to torch's; a NaN is like any other
    n_unwritten outputs that still held the poison they were filled with before the launch
    n_masked_rows rows that are -inf everywhere, where attention gives 0 and torch gives NaN: left
                out of every comparison with torch, and checked to be 0
    state_ulps  field -> the largest distance over all ``n_state_rows`` rows that were compared
    extra       the extra outputs, such as "lse": errors against float64, in float32 ULPs of each
                value; these must be right too for a check to pass
    """

    case: Case
    algorithm: str
    device: Device
    path: str
    n_programs: int
    block: int
    n_blocks: int
    verdict: str
    tolerance: float
    kernel: ErrorStats
    torch: ErrorStats
    between: ErrorStats
    torch_expression: str
    maps: Mapping[str, np.ndarray]
    map_step: tuple[int, int]
    histogram: Mapping[str, np.ndarray]
    rows: tuple[RowDetail, ...]
    worst_row: int
    n_outputs: int
    n_same_bits: int
    n_unwritten: int
    n_masked_rows: int
    n_state_rows: int
    state_ulps: Mapping[str, float]
    n_compared: int = 0
    extra: Mapping[str, ErrorStats] = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """A stage of a job, for the page: a locale key under ``progress.`` and its details.

    The stages: "queued" (``position``: how many are before), "starting", "inputs", "kernel",
    "compare". A stage is repeated for as long as it lasts.
    """

    stage: str
    details: Mapping[str, object] = field(default_factory=dict)
