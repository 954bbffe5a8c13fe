"""Run one kernel on rows, and torch on the same rows: what each gave, as NumPy arrays.

The output is filled with a NaN of a known bit pattern before the launch, and lies between guards of
the same pattern: what a kernel left out shows, and what it wrote beside its output. Inputs that are
not contiguous have NaN where a kernel must not read.
"""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks import layouts
from benchmarks.results import Device
from kernels.algorithm import Algorithm
from kernels.inputs import Case

Arrays = Mapping[str, np.ndarray]

# NaNs that no arithmetic gives, as integers of the output's width.
POISON = {"float32": 0x7FC0BEEF, "float16": 0x7E5A, "bfloat16": 0x7FDA}
_AS_INTEGER = {"float32": "int32", "float16": "int16", "bfloat16": "int16"}

# The expressions an entry may name, each written out: nothing is evaluated from text. Each takes
# the entry's inputs, in the order the kernel does.
TORCH: Mapping[str, Callable] = {
    "torch.softmax(x, -1)": lambda torch, x: torch.softmax(x, -1),
    "torch.softmax(x, -1) @ v": lambda torch, x, v: torch.softmax(x, -1) @ v,
    "torch.softmax(x, -1) + x * y": lambda torch, x, y: torch.softmax(x, -1) + x * y,
    "aten._softmax_backward_data(dy, y, -1)": lambda torch, y, dy: (
        torch.ops.aten._softmax_backward_data(dy, y, -1, y.dtype)
    ),
    "x + y": lambda torch, x, y: x + y,
}


@dataclass(frozen=True)
class Ran:
    """What a kernel gave, as NumPy arrays; outputs in float32, which holds every dtype exactly.

    n_unwritten is of the output's elements, n_outside of those around it that were overwritten.
    """

    outputs: Arrays
    state: np.ndarray | None
    path: str
    n_programs: int
    n_unwritten: int
    n_outside: int = 0


def run_kernel(entry: Algorithm, case: Case, arrays: Arrays, device: Device) -> Ran:
    """Launch the kernel once, capturing, into a poisoned output, and wait for it."""
    import torch

    launch = importlib.import_module(entry.kernel_module).launch
    tensors = _tensors(entry, case, arrays, device)
    width = case.head_dim if entry.has_values else case.n_cols
    integer, poison = getattr(torch, _AS_INTEGER[case.dtype]), POISON[case.dtype]
    buffer, out = layouts.room(tensors[0], (case.n_rows, width), case.layout)
    buffer.view(integer).fill_(poison)
    with quiet():
        launched = launch(
            *tensors,
            block=None if entry.whole_row else case.block,
            num_warps=case.num_warps,
            capture=bool(entry.captured),
            out=out,
        )
        # A fault is reported by whichever call comes next: let it be this one.
        wait(device)
    n_unwritten = int((out.view(integer) == poison).sum())
    n_kept = int((buffer.view(integer) == poison).sum())
    outputs = {name: _numpy(tensor) for name, tensor in launched.outputs.items()}
    return Ran(
        outputs,
        None if launched.state is None else _numpy(launched.state),
        launched.path,
        launched.n_programs,
        n_unwritten,
        n_outside=buffer.numel() - out.numel() - (n_kept - n_unwritten),
    )


def run_torch(entry: Algorithm, case: Case, arrays: Arrays, device: Device) -> np.ndarray:
    """Return what torch gives for ``entry.torch_expression``, in float32."""
    import torch

    torch.set_float32_matmul_precision("highest")  # no TF32: a float32 product is one
    tensors = _tensors(entry, case, arrays, device)
    with torch.no_grad(), quiet():
        result = TORCH[entry.torch_expression](torch, *tensors)
        wait(device)
    return _numpy(result)


def _tensors(entry: Algorithm, case: Case, arrays: Arrays, device: Device) -> list:
    """Return the inputs in the kernel's order; the values are already rounded to the dtype."""
    import torch

    where = "cuda" if device.kind == "gpu" else "cpu"
    dtype = getattr(torch, case.dtype)
    return [
        layouts.placed(
            torch.from_numpy(arrays[name]).to(where, dtype),
            layouts.of_input(entry.rows, name, case.layout),
        )
        for name in entry.inputs
    ]


def _numpy(tensor) -> np.ndarray:
    """Return a tensor's values in float32."""
    return tensor.detach().float().cpu().numpy()


def wait(device: Device) -> None:
    """Wait for the GPU, where there is one."""
    if device.kind == "gpu":
        import torch

        torch.cuda.synchronize()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence NumPy, which is the interpreter's arithmetic: NaN and infinities are wanted here."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
