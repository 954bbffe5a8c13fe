"""Run a kernel on tiles once, into outputs that would show what it left out or wrote too far.

Every output is filled with a NaN of a known bit pattern before the launch, and lies between guards
of the same pattern: what still holds it was not written, a guard that does not was written by
mistake. Every input lies between NaNs, so that a lane that reads past the end shows in the result.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.results import Device
from benchmarks.row_run import POISON, quiet, wait
from kernels.algorithm import Algorithm
from kernels.tiles import Tiles

GUARD = 4096  # elements on either side, a multiple of every alignment
_AS_INTEGER = {4: "int32", 2: "int16"}


@dataclass(frozen=True)
class TileRan:
    """What a kernel gave: tensors, or NumPy arrays in float32 after `in_numpy`.

    state       the captured state, or None
    n_unwritten, n_outside  by output: elements that still hold the poison, guards that do not
    """

    outputs: Mapping[str, object]
    state: object | None
    path: str
    n_programs: int
    n_unwritten: Mapping[str, int]
    n_outside: Mapping[str, int]


def on_device(entry: Algorithm, arrays: Mapping, dtype: str, device: Device) -> dict:
    """Return the arrays that ``entry`` is given as tensors between NaNs; lse stays float32."""
    import torch

    where = "cuda" if device.kind == "gpu" else "cpu"
    tensors = {}
    for name, array in arrays.items():
        if name in entry.inputs:
            as_tensor = array if torch.is_tensor(array) else torch.from_numpy(array)
            tensors[name] = between_nans(as_tensor.to(where, getattr(torch, dtype)))
    return tensors


def between_nans(tensor):
    """Return a copy of ``tensor`` that lies, contiguous, between NaNs."""
    buffer = tensor.new_full((tensor.numel() + 2 * GUARD,), float("nan"))
    placed = buffer[GUARD:-GUARD].view(tensor.shape)
    return placed.copy_(tensor)


def with_forward(
    entry: Algorithm, tensors: Mapping, tiles: Tiles, options: Mapping, device: Device
) -> dict:
    """Return ``tensors`` with o and lse from our own forward kernel, where ``entry`` reads them."""
    if not {"o", "lse"} & set(entry.inputs):
        return dict(tensors)
    forward = importlib.import_module("kernels.flash_attention.kernel")
    with quiet():
        done = forward.launch({name: tensors[name] for name in "qkv"}, tiles, **options)
        wait(device)
    return {**tensors, **{name: between_nans(t) for name, t in done.outputs.items()}}


def run_kernel(
    entry: Algorithm,
    tensors: Mapping,
    tiles: Tiles,
    options: Mapping,
    device: Device,
    capture: bool,
) -> TileRan:
    """Launch once and wait. ``options`` are num_warps and num_stages."""
    launch = importlib.import_module(entry.kernel_module).launch
    names = (entry.output, *entry.extra_outputs)
    buffers = {name: _poisoned(name, tensors) for name in names}
    out = {name: _inside(buffer, shape) for name, (buffer, shape) in buffers.items()}
    with quiet():
        ran = launch(
            {name: tensors[name] for name in entry.inputs},
            tiles,
            capture=capture,
            out=out,
            **options,
        )
        # A fault is reported by whichever call comes next: let it be this one.
        wait(device)
    held = {name: _holds_poison(buffer) for name, (buffer, _) in buffers.items()}
    inside = {name: int(flags[GUARD:-GUARD].sum()) for name, flags in held.items()}
    outside = {name: 2 * GUARD - (int(held[name].sum()) - inside[name]) for name in names}
    outputs = {name: ran.outputs[name] for name in names}
    return TileRan(outputs, ran.state, ran.path, ran.n_programs, inside, outside)


def output_shape(name: str, tensors: Mapping) -> tuple[int, ...]:
    """Return the shape of an output: that of the input it is a gradient of, or like."""
    if name == "c":
        return len(tensors["a"]), tensors["b"].shape[1]
    if name == "lse":
        return tuple(tensors["q"].shape[:3])
    return tuple(tensors[{"dk": "k", "dv": "v"}.get(name, "q")].shape)


def as_arrays(tensors: Mapping) -> dict[str, np.ndarray]:
    """Return tensors as NumPy arrays: float64 as it is, all others in float32."""
    import torch

    return {
        name: (t if t.dtype == torch.float64 else t.float()).detach().cpu().numpy()
        for name, t in tensors.items()
    }


def in_numpy(ran: TileRan) -> TileRan:
    """Return what a kernel gave as arrays, without its state: that is asked for by head."""
    return replace(ran, outputs=as_arrays(ran.outputs), state=None)


def _poisoned(name: str, tensors: Mapping) -> tuple:
    """Return a flat buffer full of poison that holds an output and its guards, and its shape."""
    import torch

    like = next(iter(tensors.values()))
    dtype = torch.float32 if name == "lse" else like.dtype
    shape = output_shape(name, tensors)
    buffer = like.new_empty((int(np.prod(shape)) + 2 * GUARD,), dtype=dtype)
    _as_integers(buffer).fill_(_pattern(dtype))
    return buffer, shape


def _inside(buffer, shape: tuple[int, ...]):
    """Return the output that lies between a buffer's guards."""
    return buffer[GUARD:-GUARD].view(shape)


def _holds_poison(buffer):
    """Return which elements of a buffer hold the poison, to the bit."""
    return _as_integers(buffer) == _pattern(buffer.dtype)


def _as_integers(buffer):
    """Return the buffer's bits as integers of its width."""
    import torch

    return buffer.view(getattr(torch, _AS_INTEGER[buffer.element_size()]))


def _pattern(dtype) -> int:
    """Return the poison of a torch dtype."""
    return POISON[str(dtype).removeprefix("torch.")]
