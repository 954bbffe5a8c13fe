"""Run an algorithm's own ``launch`` with no GPU, and keep what it would have started.

Its tensors are torch's "meta" tensors, which have shape, strides and type but no memory, and say
that they are on a GPU. Triton's driver says that the GPU is the one exported for. So the wrapper
chooses, and Triton binds, specialises and compiles, exactly as they do before a real launch, and
then nothing is launched.

For a process of its own: torch, Triton and the driver stay as they are left here.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchmarks.export_gpus import Gpu
from benchmarks.export_sizes import Size
from kernels.algorithm import Algorithm
from kernels.inputs import Case
from kernels.tile_inputs import tiles_of

ROW = ("n_rows", "n_cols")
QUERIES = ("batch", "heads", "seq_q", "head_dim")
KEYS = ("batch", "kv_heads", "seq_k", "head_dim")
SHAPES = {
    ("row", "values"): ("n_cols", "head_dim"),
    ("attention", "k"): KEYS,
    ("attention", "v"): KEYS,
    ("attention", "lse"): QUERIES[:3],
    ("matmul", "a"): ("size_m", "size_k"),
    ("matmul", "b"): ("size_k", "size_n"),
}
# A field of Tiles -> the field of a Case that it comes from.
BLOCKS = {name: name for name in ("block_m", "block_k", "group_m", "n_splits")}
BLOCKS |= {"block_n": "block"}
FILLED = {"new_zeros": 0, "zeros_like": 0, "zeros": 0, "zero_": 0, "new_ones": 1, "ones": 1}


@dataclass(frozen=True)
class Tensor:
    """A tensor that a launch was given.

    role    ``input``, ``output`` or ``made``, for what the wrapper allocates besides
    fill    the number it holds before the first kernel starts, or None if any will do
    """

    name: str
    role: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    fill: float | None


@dataclass(frozen=True)
class Started:
    """One launch: the kernel's function, what Triton compiled, its grid and its arguments.

    ``arguments`` are the values by name: a `Tensor`, a number (perhaps a Size), a constant.
    """

    function: object
    compiled: object
    grid: tuple[int, ...]
    arguments: Mapping[str, object]


@dataclass
class Recording:
    """All that one call of ``launch`` did: its launches in order, and the path it says it took.

    asked_for_tma   whether it asked what the GPU is, as wrappers do that have a TMA path
    torch_writes    whether torch, too, writes to a tensor between its launches
    """

    started: list[Started] = field(default_factory=list)
    path: str = ""
    asked_for_tma: bool = False
    torch_writes: bool = False


def record(entry: Algorithm, case: Case, gpu: Gpu) -> Recording:
    """Call the ``launch`` of ``entry`` for ``case`` and return what it would start on ``gpu``.

    The wrapper is told that the GPU has no TMA unit: a kernel that reads from plain pointers can be
    launched by any program, one that takes tensor maps needs them encoded first.
    """
    # A function that is jitted for the interpreter cannot be compiled.
    os.environ.pop("TRITON_INTERPRET", None)
    import torch

    recording = Recording()
    stand_ins = _stand_ins(torch)
    _pretend(torch, gpu, recording)
    seen = _listen()
    module = importlib.import_module(entry.kernel_module)
    tensors = {}
    for name in entry.inputs:
        sizes = dimensions_of(entry, name)
        dtype = torch.float32 if name == "lse" else getattr(torch, case.dtype)
        shape = tuple(getattr(case, size) for size in sizes)
        tensors[name] = stand_ins.tensor(shape, sizes, dtype)
    with torch.no_grad(), stand_ins:
        launched = _launch(module, entry, case, tensors)
    recording.path, recording.torch_writes = launched.path, stand_ins.has_written
    named = {name: (tensor, "input") for name, tensor in tensors.items()}
    named |= {name: (tensor, "output") for name, tensor in launched.outputs.items()}
    recording.started = _named(seen, named, stand_ins.fills)
    return recording


def dimensions_of(entry: Algorithm, name: str) -> tuple[str, ...]:
    """Return the fields of a Case that are the sizes of an input."""
    if entry.problem == "row":
        return SHAPES.get(("row", entry.draws.get(name, "")), ROW)
    return SHAPES.get((entry.problem, name), QUERIES)


def _launch(module, entry: Algorithm, case: Case, tensors: Mapping):
    """Call the wrapper as a check does, but capturing nothing."""
    if entry.problem == "row":
        block = None if entry.whole_row else Size(case.block, "block")
        return module.launch(*tensors.values(), block=block, num_warps=case.num_warps)
    tiles = tiles_of(entry, case)
    sizes = {field: Size(getattr(tiles, field), name) for field, name in BLOCKS.items()}
    tiles = replace(tiles, **sizes)
    options = {"num_warps": case.num_warps, "num_stages": case.num_stages}
    return module.launch(tensors, tiles, **options)


def _stand_ins(torch):
    """Return the context in which meta tensors pass for a GPU's, and their sizes are `Size`s."""
    from torch.overrides import TorchFunctionMode

    class StandIns(TorchFunctionMode):
        """``sizes`` and ``fills`` are by tensor and storage; ``kept`` keeps their ids unique."""

        def __init__(self) -> None:
            super().__init__()
            self.sizes: dict[int, tuple[int, ...]] = {}
            self.fills: dict[int, float] = {}
            self.kept: list = []
            self.has_written = False

        def tensor(self, shape: tuple, names: tuple, dtype):
            """Return a tensor whose sizes are called ``names``."""
            made = torch.empty(shape, dtype=dtype, device="meta")
            return self._remember(made, map(Size, shape, names))

        def _remember(self, tensor, sizes):
            self.kept.append(tensor)
            self.sizes[id(tensor)] = tuple(sizes)
            return tensor

        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            name = getattr(func, "__name__", "")
            known = self.sizes.get(id(args[0])) if args else None
            if func == torch.Tensor.device.__get__:
                return torch.device("cuda", 0)
            if known and func == torch.Tensor.shape.__get__:
                return torch.Size(known)
            if known and name == "numel":
                total = 1
                for size in known:
                    total = total * size
                return total
            if "cuda" in str(kwargs.get("device")):
                kwargs["device"] = "meta"
            if name == "__setitem__" and args[0][args[1]].numel():
                self.has_written = True
            made = func(*args, **kwargs)
            if not isinstance(made, torch.Tensor):
                return made
            self.kept.append(made)
            if name in FILLED or name in ("new_full", "full", "fill_"):
                fill = FILLED.get(name, args[-1] if args else kwargs.get("fill_value"))
                self.fills[_storage(made)] = fill
            sizes = _sizes_after(torch, func, name, args, known)
            if sizes and tuple(sizes) == tuple(made.shape):
                self._remember(made, sizes)
            return made

    return StandIns()


def _sizes_after(torch, func, name: str, args: tuple, known: tuple | None) -> tuple | None:
    """Return the sizes of what ``func`` makes where they follow from those known."""
    if name in ("new_empty", "new_zeros", "new_full", "view", "reshape"):
        return args[1] if isinstance(args[1], tuple | list) else args[1:]
    if known and name in ("empty_like", "zeros_like", "to", "contiguous"):
        return known
    if known and name == "__getitem__" and args[1] == (None,) * len(args[1]):
        return (*(1 for _ in args[1]), *known)
    if known and func == torch.Tensor.mT.__get__:
        return (*known[:-2], known[-1], known[-2])
    return None


def _storage(tensor) -> int:
    """Return what tells one allocation from another: views share it."""
    return tensor.untyped_storage()._cdata


def _pretend(torch, gpu: Gpu, recording: Recording) -> None:
    """Answer what torch and Triton are asked about the GPU."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    class Driver:
        """As much of a driver as compiling asks for."""

        def get_current_target(self):
            return GPUTarget("cuda", gpu.sm, 32)

        def get_current_device(self) -> int:
            return 0

        def get_current_stream(self, device: int = 0) -> int:
            return 0

    def capability(device=None) -> tuple[int, int]:
        recording.asked_for_tma = True
        return 8, 0

    class Properties:
        """As much of a GPU's properties as a grid depends on."""

        multi_processor_count = gpu.n_sms
        major, minor = divmod(gpu.sm, 10)

    driver.set_active(Driver())
    torch.cuda.get_device_capability = capability
    torch.cuda.get_device_properties = lambda device=None: Properties()


def _listen() -> list[tuple]:
    """Make Triton compile instead of launching; what it is asked to launch gathers in the list."""
    from triton.runtime import JITFunction

    seen: list[tuple] = []
    compile_only = JITFunction.run

    def run(self, *args, grid, warmup, **kwargs):
        names = [name for name in kwargs if name in self.arg_names]
        bound = inspect.signature(self.fn).bind(*args, **{name: kwargs[name] for name in names})
        bound.apply_defaults()
        plain = {name: _plain(value) for name, value in kwargs.items()}
        compiled = compile_only(self, *map(_plain, args), grid=grid, warmup=True, **plain)
        grid = grid(bound.arguments) if callable(grid) else grid
        seen.append((self, compiled, tuple(grid), dict(bound.arguments)))
        return compiled

    JITFunction.run = run
    return seen


def _plain(value: object) -> object:
    """Return a Size as the number it is: Triton looks at an argument's type."""
    return int(value) if isinstance(value, Size) else value


def _named(seen: list[tuple], named: Mapping, fills: Mapping[int, float]) -> list[Started]:
    """Return the launches with every tensor under one name, by where it is stored."""
    known = {_storage(tensor): (name, role) for name, (tensor, role) in named.items()}
    started = []
    for function, compiled, grid, bound in seen:
        arguments = {}
        for argument, value in bound.items():
            if not hasattr(value, "untyped_storage"):
                arguments[argument] = value
                continue
            where = _storage(value)
            taken = {name for name, _ in known.values()}
            bare = argument.removesuffix("_ptr")
            name, role = known.setdefault(
                where, (bare if bare not in taken else f"{function.__name__}.{bare}", "made")
            )
            sizes = tuple(value.shape), tuple(value.stride())
            dtype = str(value.dtype).removeprefix("torch.")
            arguments[argument] = Tensor(name, role, dtype, *sizes, fills.get(where))
        started.append(Started(function, compiled, grid, arguments))
    return started
