"""Launch an exported kernel by the CUDA driver alone, from what its JSON says: needs a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

MAX_SHARED_ATTRIBUTE = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
C_TYPES = {
    "CUdeviceptr": ctypes.c_uint64,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "float": ctypes.c_float,
}


def run(kernels: Sequence[tuple[bytes, Mapping]], tensors: Mapping) -> dict:
    """Launch (cubin, facts) in order on the current context and return every tensor by name.

    ``tensors`` are torch's inputs by name; whatever else the facts name is allocated here, full of
    NaN unless they say otherwise.
    """
    import torch

    made = dict(tensors)
    for _, facts in kernels:
        for argument in facts["arguments"]:
            if "tensor" in argument and argument["tensor"] not in made:
                fill = argument.get("filled_with", float("nan"))
                kind = {"dtype": getattr(torch, argument["points_to"]), "device": "cuda"}
                made[argument["tensor"]] = torch.full(argument["shape"], fill, **kind)
    torch.cuda.synchronize()
    for binary, facts in kernels:
        _launch(binary, facts, made)
    torch.cuda.synchronize()
    return made


def _launch(binary: bytes, facts: Mapping, tensors: Mapping) -> None:
    """Load one cubin and launch its kernel on the default stream."""
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _check(cuda, cuda.cuModuleLoadData(ctypes.byref(module), binary))
    symbol = facts["symbol"].encode()
    _check(cuda, cuda.cuModuleGetFunction(ctypes.byref(function), module, symbol))
    launch = facts["launch"]
    shared = launch["dynamic_shared_bytes"]
    if shared > 48 * 1024:
        _check(cuda, cuda.cuFuncSetAttribute(function, MAX_SHARED_ATTRIBUTE, shared))
    values = [_value(argument, tensors) for argument in facts["arguments"]]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    grid, threads = facts["grid"]["here"], launch["threads_per_block"]
    ended = cuda.cuLaunchKernel(function, *grid, threads, 1, 1, shared, None, pointers, None)
    _check(cuda, ended)


def _value(argument: Mapping, tensors: Mapping):
    """Return an argument as the C value that it is; Triton's scratch is not used here."""
    kind = C_TYPES[argument["c_type"]]
    if argument.get("role") == "scratch":
        assert argument["bytes_per_program"] == 0
        return kind(0)
    return kind(
        tensors[argument["tensor"]].data_ptr() if "tensor" in argument else argument["value"]
    )


def _check(cuda, code: int) -> None:
    """Fail with the driver's own words unless ``code`` is 0."""
    if code:
        words = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(words))
        raise AssertionError(f"CUDA error {code}: {words.value}")
