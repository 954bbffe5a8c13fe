"""softmax(x) + x * y: how many kernels it takes, and what they move, by formula.

torch's chain launches a kernel for every operation, and one more inside softmax's backward. The
softmax s and the product t go to memory and come back, forward; backward, so do g = dz * s and both
parts of dx. One kernel reads each input once and writes each output once: nothing can move less.
All tensors have the size of x, so a pass over one is n_rows * n_cols numbers, and every kernel
reads its inputs once and writes its outputs once.

`benchmarks.launches_timing` measures the same on a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.launches_results import Kernel, LaunchCase, LaunchLine, LaunchRun, passes
from kernels.inputs import DTYPES, ITEMSIZE, at_most, one_of, whole_number

# Two where the kernels' own time counts, one where the time between launches does.
SIZES = ((4096, 1024), (4096, 4096), (64, 256))
DIRECTIONS = ("forward", "backward")
MAX_ROWS = 65_536
MAX_COLS = 16_384  # a whole row is one block of the fused kernel
MAX_ELEMENTS = 2**25  # the check holds a handful of tensors of them in float64
REASONS = ("failed", "out_of_memory", "wrong", "unseen")

ONE_KERNEL: Mapping[str, tuple[Kernel, ...]] = {
    "forward": (Kernel("fused", ("x", "y"), ("z",)),),
    "backward": (Kernel("fused", ("x", "y", "dz"), ("dx", "dy")),),
}
# By aten's names. x has two uses, so autograd adds the two parts of its gradient. On a GPU aten's
# softmax backward is two kernels: grad * output is written by one of its own, and read by the next.
CHAIN: Mapping[str, tuple[Kernel, ...]] = {
    "forward": (
        Kernel("_softmax", ("x",), ("s",)),
        Kernel("mul", ("x", "y"), ("t",)),
        Kernel("add", ("s", "t"), ("z",)),
    ),
    "backward": (
        Kernel("mul", ("dz", "x"), ("dy",)),
        Kernel("mul", ("dz", "y"), ("dx_t",)),
        Kernel("mul", ("dz", "s"), ("g",)),
        Kernel("_softmax_backward_data", ("g", "s"), ("dx_s",)),
        Kernel("add", ("dx_t", "dx_s"), ("dx",)),
    ),
}
# Of as many bytes as the one kernel moves, half read and half written.
COPY: Mapping[str, tuple[Kernel, ...]] = dict.fromkeys(DIRECTIONS, (Kernel("copy_", (), ()),))


@dataclass(frozen=True)
class Provider:
    """Who computes the chain; fields as in `LaunchLine`, ``kernels`` by direction."""

    name: str
    role: str
    exact: str
    kernels: Mapping[str, tuple[Kernel, ...]]
    least: bool = False


PROVIDERS = (
    Provider("eager", "rival", "torch eager", CHAIN),
    Provider("compile", "rival", "torch.compile", ONE_KERNEL, least=True),
    Provider("fused", "fused", "Blockwise fused_chain", ONE_KERNEL),
    Provider("copy", "ceiling", "Tensor.copy_", COPY),
)


def choose_launches(
    n_rows: object = SIZES[0][0], n_cols: object = SIZES[0][1], dtype: object = "bfloat16"
) -> LaunchCase:
    """Check every field and return the case. Raise InputError, one sentence, at the first fault."""
    case = LaunchCase(
        whole_number("n_rows", n_rows, 1, MAX_ROWS),
        whole_number("n_cols", n_cols, 1, MAX_COLS),
        one_of("dtype", dtype, DTYPES),
    )
    at_most("n_rows × n_cols", case.n_rows * case.n_cols, MAX_ELEMENTS)
    return case


def tensor_bytes(case: LaunchCase) -> int:
    """Return the size of x, and of every other tensor."""
    return case.n_rows * case.n_cols * ITEMSIZE[case.dtype]


def moved_bytes(case: LaunchCase, kernels: tuple[Kernel, ...]) -> dict[str, int]:
    """Return what ``kernels`` read and write, by tensor."""
    return {name: n * tensor_bytes(case) for name, n in passes(kernels).items()}


def least_bytes(case: LaunchCase, direction: str) -> int:
    """Return the size of all inputs and outputs: each must cross once."""
    return sum(moved_bytes(case, ONE_KERNEL[direction]).values())


def lines(case: LaunchCase, direction: str, run: LaunchRun | None) -> tuple[LaunchLine, ...]:
    """Return a line for each provider: the formula's, with what ``run`` measured of ``case``."""
    kept = run.runs if run is not None and run.case == case else ()
    found = {one.provider: one for one in kept if one.direction == direction}
    return tuple(
        _line(provider, case, direction, found.get(provider.name)) for provider in PROVIDERS
    )


def _line(provider: Provider, case: LaunchCase, direction: str, run) -> LaunchLine:
    """Return one provider's line."""
    kernels = provider.kernels[direction]
    n_bytes = sum(moved_bytes(case, kernels).values()) or least_bytes(case, direction)
    about = provider.name, provider.role, provider.exact
    return LaunchLine(*about, kernels, provider.least, n_bytes, run)
