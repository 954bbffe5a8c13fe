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
from kernels.tiles import Tiles

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
    inputs        the row inputs by name, [n_cols], where outputs stand in the same columns
    """

    row: int
    outputs: Mapping[str, np.ndarray]
    kernel_state: Mapping[str, np.ndarray]
    mirror_state: Mapping[str, np.ndarray]
    state_ulps: Mapping[str, np.ndarray]
    inputs: Mapping[str, np.ndarray] = field(default_factory=dict)


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
    output      the compared output's name
    n_outside   elements around the output that the kernel wrote by mistake
    softmax_path, softmax_reason  of a softmax, the path that `kernels.softmax.paths` would take for
                these sizes on this device, and why, in English; "" of others
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
    output: str = "y"
    n_outside: int = 0
    softmax_path: str = ""
    softmax_reason: str = ""


@dataclass(frozen=True)
class OutputCheck:
    """One output of an algorithm on tiles, held against float64 and against torch.

    Heads are numbered batch by batch: head h of batch b is b x heads + h, of dk and dv with
    kv_heads. A matrix product is one head. ULPs are of the dtype at the row's largest output; of
    gradients at the head's largest, since the gradient of a query that sees one key is 0 but for
    rounding; of lse float32's at the larger of 1 and |lse|.

    name        "o", "lse", "dq", "dk", "dv" or "c"
    kernel      the kernel's errors against float64
    torch       the rival's; None where torch gives no such output, as for lse
    between     the kernel against the rival; None likewise
    tolerance   the largest absolute error that passes
    n_compared  of ``n_outputs`` elements, those held against the rival: masked rows are not
    n_same_bits of ``n_compared``, those bit-identical to the rival's; a NaN is like any other
    n_unwritten elements that still held the poison they were filled with before the launch
    n_outside   elements next to the output, before and after, that the kernel wrote by mistake
    maps        "kernel" and, where there is a rival, "torch" and "between" -> [rows, cols] ULPs of
                ``worst_head``, as in `CheckResult`; a cell is the largest of ``map_step`` elements
    by_head     "kernel" and "torch" -> [heads] largest ULPs of each head; NaN where one mismatches
    by_block    [row blocks] largest ULPs of the kernel over all heads, NaN where one mismatches
    block_rows  how many rows a row block has
    worst_head  the head with the most mismatches, or else the largest error; ``worst_row`` in it
    histogram   "edges" in ULPs, "kernel" and "torch" counts, over all heads; masked rows left out
    """

    name: str
    kernel: ErrorStats
    torch: ErrorStats | None
    between: ErrorStats | None
    tolerance: float
    passed: bool
    n_outputs: int
    n_compared: int
    n_same_bits: int
    n_unwritten: int
    n_outside: int
    maps: Mapping[str, np.ndarray]
    map_step: tuple[int, int]
    by_head: Mapping[str, np.ndarray]
    by_block: np.ndarray
    block_rows: int
    worst_head: int
    worst_row: int
    histogram: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class TileCheckResult:
    """A kernel on tiles, attention or a matrix product, held against torch and float64.

    tiles       the schedule that ran
    verdict     "passed" or "failed"
    rival       what torch's outputs and the tolerance come from, by its exact name: "SDPA flash",
                "SDPA math", "torch.matmul, ieee" …; for SDPA the dispatcher's own choice here
    outputs     the entry's output first, then its extra outputs
    rivals      every rival by name: its largest error of each output, or a sentence that says why
                it refused
    n_masked_rows  queries of all heads that see no key: their o must be 0, their lse -inf, their
                dq 0; torch is not asked for them
    state_ulps  captured field -> the largest distance from the mirror over ``n_state_heads`` heads;
                empty if the algorithm captures none
    state_maps  field -> [query rows, key blocks] float32 ULPs of ``state_head``: inf where only one
                is finite, NaN where the tile was not visited; a cell is the largest of
                ``state_step`` elements. Of a matrix product: rows of C, k blocks
    state_head  the head whose state is kept: the one where ``outputs[0]`` is worst
    state_row   the first row whose state was compared: not 0 if a head's state is too large
    rows        rows of ``state_head`` in full, in order: outputs are ``outputs[0]``'s; the states
                have an entry for each block that the row's program visited
    """

    case: Case
    algorithm: str
    device: Device
    path: str
    n_programs: int
    tiles: Tiles
    verdict: str
    rival: str
    outputs: tuple[OutputCheck, ...]
    rivals: Mapping[str, Mapping[str, float] | str]
    n_masked_rows: int
    state_ulps: Mapping[str, float]
    state_maps: Mapping[str, np.ndarray]
    state_step: tuple[int, int]
    state_head: int
    state_row: int
    n_state_heads: int
    rows: tuple[RowDetail, ...]

    def output(self, name: str) -> OutputCheck:
        """Return the output of that name."""
        return next(output for output in self.outputs if output.name == name)


@dataclass(frozen=True)
class QuickOutput:
    """One output of a `QuickResult`: `OutputCheck`'s numbers without its evidence.

    rivals_error is None where torch gives no such output.
    """

    name: str
    error: float
    rivals_error: float | None
    tolerance: float
    passed: bool
    n_mismatched: int
    rivals_mismatched: int
    n_unwritten: int
    n_outside: int


@dataclass(frozen=True)
class QuickResult:
    """One case of a matrix of checks on tiles; ``tiles`` is the schedule that ran."""

    case: Case
    algorithm: str
    tiles: Tiles
    verdict: str
    rival: str
    outputs: tuple[QuickOutput, ...]


@dataclass(frozen=True)
class Progress:
    """A stage of a job, for the page: a locale key under ``progress.`` and its details.

    The stages: "queued" (``position``: how many are before), "starting", "inputs", "kernel",
    "compare". A stage is repeated for as long as it lasts.
    """

    stage: str
    details: Mapping[str, object] = field(default_factory=dict)
