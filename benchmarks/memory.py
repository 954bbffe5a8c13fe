"""Peak memory of attention over its length T: by formula, and measured on a GPU.

Three stages keep two T x T matrices: while P is made from S, q, k, v, s and p exist together. The
fused kernel keeps none: q, k, v, o and a float32 LSE are all there is. So doubling T doubles the
one and nearly quadruples the other. Tiles, masks and warps change neither.

Measured is what torch's allocator had given out at most during one launch (`max_memory_allocated`),
inputs included. Compiling, and the workspaces that torch keeps, come before and do not count.
"""

from __future__ import annotations

import gc
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from benchmarks.failures import classify
from benchmarks.memory_results import MemoryCase, MemoryLine, MemoryPoint, MemoryRun
from benchmarks.results import Progress
from kernels import ALGORITHMS
from kernels.attention import AttentionShape
from kernels.errors import InputError
from kernels.inputs import DTYPES, ITEMSIZE, one_of, whole_number
from kernels.tile_inputs import MASKS
from kernels.tiles import Tiles

LENGTHS = tuple(2**k for k in range(8, 15))  # 256 … 16384
MAX_HEADS = 64
MAX_HEAD_DIM = 256  # at most the shortest length: then s is never smaller than o
REASONS = ("too_large", "out_of_memory", "out_of_resources", "unsupported")


@dataclass(frozen=True)
class Provider:
    """Who computes attention.

    name     a kernel of ours, or "sdpa_" and one of torch's backends
    role     as `MemoryLine.role`
    alive    the tensors that exist at the peak; () where torch decides
    backend  torch's own name for it, of ``torch.nn.attention.SDPBackend``
    """

    name: str
    role: str
    alive: tuple[str, ...] = ()
    backend: str = ""

    @property
    def exact(self) -> str:
        """torch's own name for it, "" for a kernel of ours."""
        return f"SDPBackend.{self.backend}" if self.backend else ""


PROVIDERS = (
    Provider("flash_attention", "fused", ("q", "k", "v", "o", "lse")),
    # The peak is in the second stage: s is given back before o is made.
    Provider("three_stage", "stages", ("q", "k", "v", "s", "p")),
    Provider("sdpa_math", "torch", backend="MATH"),
    Provider("sdpa_flash", "torch", backend="FLASH_ATTENTION"),
)


def choose_memory(
    heads: object = 16,
    head_dim: object = 128,
    dtype: object = "bfloat16",
    mask: object = "none",
) -> MemoryCase:
    """Check every field and return the case. Raise InputError, one sentence, at the first fault."""
    return MemoryCase(
        whole_number("heads", heads, 1, MAX_HEADS),
        whole_number("head_dim", head_dim, 1, MAX_HEAD_DIM),
        one_of("dtype", dtype, DTYPES),
        one_of("mask", mask, MASKS),
        LENGTHS,
    )


def shape_of(case: MemoryCase, length: int, tiles: Tiles | None = None) -> AttentionShape:
    """Return the shape of ``case`` at one length, as the cost functions take it."""
    sizes = case.batch, case.heads, case.heads, length, length, case.head_dim
    return AttentionShape(*sizes, ITEMSIZE[case.dtype], tiles or Tiles())


def predicted_bytes(provider: Provider, case: MemoryCase, length: int) -> int:
    """Return the size of all tensors that exist at the peak. ``provider`` must be one of ours."""
    return sum(shape_of(case, length).bytes_of(*provider.alive).values())


def inputs_bytes(case: MemoryCase, length: int) -> int:
    """Return the size of q, k and v: no attention can take less."""
    return sum(shape_of(case, length).bytes_of("q", "k", "v").values())


def estimated_bytes(provider: Provider, case: MemoryCase, length: int) -> int:
    """Return about what ``provider`` will take, to see whether it can fit before it is tried."""
    if provider.alive:
        return predicted_bytes(provider, case, length)
    if provider.backend != "MATH":
        return 2 * inputs_bytes(case, length)
    # torch computes in float32, with a byte a score beside: on an H200 within 0.001 of measured.
    wide = replace(shape_of(case, length), itemsize=4).bytes_of("q", "k", "v", "s", "p", "o")
    return inputs_bytes(case, length) + sum(wide.values()) + wide["s"] // 4


def lines(case: MemoryCase, run: MemoryRun | None) -> tuple[MemoryLine, ...]:
    """Return a line for each provider: the formula's, with what ``run`` measured of ``case``."""
    kept = run.points if run is not None and run.case == case else ()
    found = {(point.provider, point.length): point for point in kept}
    return tuple(
        MemoryLine(
            provider.name,
            provider.role,
            provider.alive,
            tuple(predicted_bytes(provider, case, n) for n in case.lengths if provider.alive),
            tuple(found.get((provider.name, n)) for n in case.lengths),
            provider.exact,
        )
        for provider in PROVIDERS
    )


def measure(case: MemoryCase, device_kind: str) -> Iterator[Progress | MemoryPoint]:
    """Yield a Progress and a MemoryPoint for every length and provider, the shortest first."""
    if device_kind != "gpu":
        raise InputError("needs_gpu", "This is measured on a GPU, and there is none here.")
    import torch

    for length in case.lengths:
        for provider in PROVIDERS:
            details = {"provider": provider.name, "exact": provider.exact, "length": length}
            yield Progress("memory", details)
            yield point(torch, provider, case, length)


def point(torch, provider: Provider, case: MemoryCase, length: int) -> MemoryPoint:
    """Measure one provider at one length. What does not fit ends this point only."""
    gc.collect()
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    if estimated_bytes(provider, case, length) > free:
        return MemoryPoint(provider.name, length, None, "too_large")
    try:
        return MemoryPoint(provider.name, length, peak_bytes(torch, provider, case, length))
    except Exception as error:
        reason = reason_of(error)
        if not reason:
            raise
        return MemoryPoint(provider.name, length, None, reason)


def peak_bytes(torch, provider: Provider, case: MemoryCase, length: int) -> int:
    """Launch twice and return the most memory that was given out during the second launch."""
    shape = (case.batch, case.heads, length, case.head_dim)
    settings = {"device": "cuda", "dtype": getattr(torch, case.dtype)}
    tensors = {name: torch.randn(shape, **settings) for name in ("q", "k", "v")}
    with torch.no_grad():
        attend(torch, provider, tensors, case)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        attend(torch, provider, tensors, case)
        torch.cuda.synchronize()
    added = torch.cuda.max_memory_allocated() - before
    return added + sum(tensor.nbytes for tensor in tensors.values())


def attend(torch, provider: Provider, tensors: Mapping[str, object], case: MemoryCase) -> object:
    """Compute attention of q, k and v once; return o."""
    is_causal = case.mask == "causal"
    if not provider.backend:
        kernel = importlib.import_module(ALGORITHMS[provider.name].kernel_module)
        # Tiles that fit the shared memory of every GPU; no tile changes what is allocated.
        block = 64 if case.head_dim * ITEMSIZE[case.dtype] <= 256 else 32
        tiles = Tiles(block, block, is_causal=is_causal)
        return kernel.launch(tensors, tiles, num_stages=1).outputs["o"]
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, provider.backend)):
        return torch.nn.functional.scaled_dot_product_attention(
            *(tensors[name] for name in ("q", "k", "v")), is_causal=is_causal
        )


def reason_of(error: Exception) -> str:
    """Return why a point has no number, one of `REASONS`; "" for what must end the run."""
    if re.search(r"No available kernel", str(error)):
        return "unsupported"
    kind = classify(error, on_gpu=True).kind
    return kind if kind in REASONS else ""
