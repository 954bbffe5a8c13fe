"""A kernel to take away: its binary for one GPU, its PTX, and what a program needs to launch it.

`export` runs in a process of its own that compiles and launches nothing; `export_process` starts
it. The facts are plain JSON, format `FORMAT`:

symbol      the function's name inside the cubin
target      the GPU; sizes, dtype: what the kernel was specialised for; constants: its constexprs
launch      warps, threads a block, bytes of shared memory to ask for, registers, stack
grid        how many programs, as a rule over the names in ``sizes`` and as the numbers here
arguments   in the order of the cubin, scratch pointers included: a type, and what it was given
fixed       parameters that are no arguments any more: their values are compiled in
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.export_gpus import Gpu
from benchmarks.export_record import Recording, Started, Tensor, record
from benchmarks.export_sizes import Size, rule_of
from benchmarks.messages import JobFailed
from kernels.algorithm import Algorithm
from kernels.inputs import Case

FORMAT = "blockwise-kernel-1"
WARP = 32
TMA_SM = 90  # the first GPU with a tensor memory accelerator
C_TYPES = {"i1": "bool", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t"}
C_TYPES |= {"u32": "uint32_t", "u64": "uint64_t", "fp32": "float", "fp64": "double"}
ELEMENTS = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
ELEMENTS |= {"i8": "int8", "i32": "int32", "i64": "int64", "u8": "uint8"}
SCRATCH = ("global_scratch", "profile_scratch")  # Triton's own, after all other arguments
USAGE = re.compile(r"REG:(\d+) STACK:(\d+)")
NOTES = {
    "pointers": "On this GPU the project's own launch reads some inputs by the tensor memory "
    "accelerator. This binary is the same kernel reading them from plain pointers, as on GPUs "
    "without one.",
    "torch_writes": "Between its kernels the project's own launch also writes to a tensor with "
    "torch: see the source of the algorithm's launch.",
}
HOW = (
    "cuModuleLoadData(&module, bytes of the cubin); cuModuleGetFunction(&f, module, symbol).",
    "If launch.dynamic_shared_bytes is above 49152: cuFuncSetAttribute(f, "
    "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.dynamic_shared_bytes).",
    "void* params[] holds a pointer to each of arguments, in order: 0 for a scratch pointer of 0 "
    "bytes; a tensor with filled_with must hold that number before each run.",
    "Sizes and strides may change while every divisible_by, every fixed value and all constants "
    "still fit them; take the grid from grid.rule.",
    "cuLaunchKernel(f, grid, launch.threads_per_block, 1, 1, launch.dynamic_shared_bytes, stream, "
    "params, 0), or cuLaunchCooperativeKernel if launch.cooperative; the kernels by launch_number.",
)


@dataclass(frozen=True)
class Exported:
    """One kernel taken away; ``stem`` names its three files."""

    stem: str
    cubin: bytes
    ptx: str
    facts: Mapping[str, object]


def export(entry: Algorithm, case: Case, gpu: Gpu) -> tuple[Exported, ...]:
    """Return every kernel that the ``launch`` of ``entry`` starts for ``case``, in its order.

    Raise JobFailed where one needs more shared memory than ``gpu`` has, and what Triton raises
    where it cannot be compiled.
    """
    recording = record(entry, case, gpu)
    made: list[Exported] = []
    for number, started in enumerate(recording.started, 1):
        shared = started.compiled.metadata.shared
        if shared > gpu.max_shared:
            raise JobFailed(
                "out_of_resources", what="shared memory", required=shared, limit=gpu.max_shared
            )
        symbol = started.compiled.metadata.name
        n_before = sum(kernel.facts["symbol"] == symbol for kernel in made)
        stem = f"{symbol}-{n_before + 1}" if n_before else symbol
        facts = {
            "format": FORMAT,
            "algorithm": entry.name,
            "source": f"{started.function.fn.__module__.replace('.', '/')}.py",
            "symbol": symbol,
            "files": {"cubin": f"{stem}.cubin", "ptx": f"{stem}.ptx"},
            "target": {"arch": f"sm_{gpu.sm}", "gpus": list(gpu.names)},
            "launch_number": number,
            "launches": len(recording.started),
            "path": recording.path,
            "dtype": case.dtype,
            "sizes": sizes_of(entry, case),
            "constants": _constants(started),
            "launch": _launch(started),
            "grid": _grid(started),
            "arguments": list(_arguments(started)),
            "fixed": dict(_fixed(started)),
            "notes": {key: NOTES[key] for key in _notes(recording, started, gpu)},
            "built_with": _versions(gpu),
            "how_to_launch": list(HOW),
        }
        asm = started.compiled.asm
        made.append(Exported(stem, asm["cubin"], asm["ptx"], facts))
    return tuple(made)


def files_of(kernels: tuple[Exported, ...]) -> dict[str, bytes]:
    """Return the files of all kernels by name: cubin, PTX and facts of each."""
    files = {}
    for kernel in kernels:
        files[f"{kernel.stem}.cubin"] = kernel.cubin
        files[f"{kernel.stem}.ptx"] = kernel.ptx.encode()
        files[f"{kernel.stem}.json"] = _written(kernel.facts).encode()
    return files


def _written(facts: Mapping[str, object]) -> str:
    """Return facts as JSON with a line for each, and for each item of a list."""

    def dumped(value: object) -> str:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)

    lines = []
    for name, value in facts.items():
        if isinstance(value, list) and value:
            items = ",\n".join(f"  {dumped(item)}" for item in value)
            lines.append(f" {dumped(name)}: [\n{items}\n ]")
        else:
            lines.append(f" {dumped(name)}: {dumped(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def sizes_of(entry: Algorithm, case: Case) -> dict[str, object]:
    """Return the sizes and blocks that the wrapper was called with, by their names in rules."""
    names = entry.fields
    if entry.problem == "attention":
        names = ("batch", "heads", "kv_heads", *names)
    elif entry.problem == "row":
        kept = ("n_cols", *(("block",) if not entry.whole_row else ()))
        names = ("n_rows", *kept, *(("head_dim",) if entry.has_values else ()))
    return {name: getattr(case, name) for name in names}


def _constants(started: Started) -> dict[str, object]:
    """Return the constexprs by name."""
    return {
        parameter.name: _json(started.arguments[parameter.name])
        for parameter in started.function.params
        if parameter.is_constexpr
    }


def _launch(started: Started) -> dict[str, object]:
    """Return what a launch must be given, and what each thread takes."""
    metadata = started.compiled.metadata
    return {
        "num_warps": metadata.num_warps,
        "threads_per_block": WARP * metadata.num_warps,
        "num_stages": metadata.num_stages,
        "blocks_per_cluster": metadata.num_ctas,
        "cooperative": metadata.launch_cooperative_grid,
        "dynamic_shared_bytes": metadata.shared,
        **_usage(started.compiled.asm["cubin"]),
    }


def _usage(cubin: bytes) -> dict[str, int | None]:
    """Return registers and stack bytes a thread, None where Triton's wheel has no cuobjdump.

    Spilled registers are on the stack; a kernel with none there has spilled nothing.
    """
    from triton import knobs

    found = None
    if knobs.nvidia.cuobjdump:
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            command = [knobs.nvidia.cuobjdump.path, "-res-usage", file.name]
            said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
            found = USAGE.search(said.stdout)
    registers, stack = (int(n) for n in found.groups()) if found else (None, None)
    return {"registers_per_thread": registers, "stack_bytes_per_thread": stack}


def _grid(started: Started) -> dict[str, object]:
    """Return the three dimensions of the grid as rules and as numbers."""
    grid = (*started.grid, 1, 1)[:3]
    says = " ".join((started.function.fn.__doc__ or "").split("\n\n")[0].split())
    return {"rule": [rule_of(n) for n in grid], "here": [int(n) for n in grid], "meaning": says}


def _arguments(started: Started) -> Iterator[dict[str, object]]:
    """Yield the cubin's arguments in order."""
    source, metadata = started.compiled.src, started.compiled.metadata
    for at, (name, kind) in enumerate(source.signature.items()):
        if kind == "constexpr":
            continue
        value = started.arguments[name]
        attributes = dict(map(tuple, source.attrs.get((at,), ())))
        told = {"name": name, "c_type": "CUdeviceptr" if kind[0] == "*" else C_TYPES[kind]}
        if kind[0] == "*":
            told["points_to"] = ELEMENTS.get(kind[1:], kind[1:])
        if "tt.divisibility" in attributes:
            told["divisible_by"] = attributes["tt.divisibility"]
        if isinstance(value, Tensor):
            told |= {"tensor": value.name, "role": value.role}
            told |= {"shape": list(value.shape), "strides": list(value.strides)}
            if value.fill is not None:
                told["filled_with"] = value.fill
        else:
            told["value"] = _json(value)
            if isinstance(value, Size):
                told["rule"] = value.rule
        yield told
    for name in SCRATCH:
        size = getattr(metadata, f"{name}_size", 0) or 0
        yield {"name": name, "c_type": "CUdeviceptr", "role": "scratch", "bytes_per_program": size}


def _fixed(started: Started) -> Iterator[tuple[str, object]]:
    """Yield the parameters that Triton compiled in, constexprs aside: None, or a size that is 1."""
    constexprs = {p.name for p in started.function.params if p.is_constexpr}
    for name, kind in started.compiled.src.signature.items():
        if kind == "constexpr" and name not in constexprs:
            yield name, _json(started.arguments[name])


def _notes(recording: Recording, started: Started, gpu: Gpu) -> Iterator[str]:
    """Yield the keys of what is different from a launch by the project itself."""
    descriptors = [name for name in started.arguments if name.endswith("_desc")]
    if recording.asked_for_tma and gpu.sm >= TMA_SM and descriptors:
        yield "pointers"
    if recording.torch_writes:
        yield "torch_writes"


def _versions(gpu: Gpu) -> dict[str, str]:
    """Return what built the cubin."""
    from triton import knobs

    tool = getattr(knobs.nvidia, "ptxas_blackwell", None) if gpu.sm >= 100 else None
    tool = tool or knobs.nvidia.ptxas
    return {"triton": importlib.metadata.version("triton"), "ptxas": tool.version if tool else ""}


def _json(value: object) -> object:
    """Return a number, word or None as JSON holds it."""
    if isinstance(value, Size):
        return int(value)
    return value if isinstance(value, bool | int | float | str | None) else str(value)
